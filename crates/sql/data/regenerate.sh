#!/bin/sh
# Makes postgres_names.txt anew from PostgreSQL 15: regenerate.sh [psql options].
# What its pg_catalog has: functions by argument types, types, operators by operand types. What operators, casts and aggregates are
# made of, and what nobody is expected to call by name, are `inner` functions.
cd "$(dirname "$0")" || exit 1
psql -X -q -A -t "$@" >postgres_names.txt <<'SQL'
WITH internal AS (
    SELECT oid FROM pg_type WHERE typname IN ('internal', 'cstring', 'trigger', 'event_trigger', 'language_handler',
        'fdw_handler', 'index_am_handler', 'table_am_handler', 'tsm_handler')
), functions AS (
    SELECT p.proname, p.pronargs - p.pronargdefaults AS least, p.provariadic <> 0 AS many,
        array_to_string(ARRAY(SELECT t.typname FROM unnest(p.proargtypes) WITH ORDINALITY a (type, n)
            JOIN pg_type t ON t.oid = a.type ORDER BY n), ',') AS types,
        p.prorettype IN (TABLE internal)
            OR EXISTS (SELECT FROM pg_operator o WHERE o.oprcode = p.oid
                AND obj_description(p.oid, 'pg_proc') LIKE 'implementation of %')
            OR EXISTS (SELECT FROM pg_aggregate a WHERE p.oid IN (a.aggtransfn, a.aggfinalfn, a.aggcombinefn))
            OR p.proname ~ '^(binary_upgrade_|RI_|bt.*cmp$|hash.*extended$|gin_|gist_|spg_|brin_)' AS is_inner
    FROM pg_proc p
    -- No value is of the type of the parameters of the others.
    WHERE p.pronamespace = 'pg_catalog'::regnamespace AND NOT p.proargtypes::oid[] && ARRAY(TABLE internal)
), operators AS (
    SELECT o.oprname, coalesce(l.typname, '') AS l, r.typname AS r
    FROM pg_operator o LEFT JOIN pg_type l ON l.oid = o.oprleft JOIN pg_type r ON r.oid = o.oprright
)
SELECT CASE WHEN is_inner THEN 'inner ' ELSE 'function ' END || proname || ' '
    || string_agg(DISTINCT least || CASE WHEN many THEN '*' ELSE '' END || ':' || types, ' ')
FROM functions GROUP BY proname, is_inner
UNION ALL
SELECT 'type ' || typname FROM pg_type
WHERE typnamespace = 'pg_catalog'::regnamespace AND typtype <> 'c' AND typcategory <> 'A'
    AND typname !~ '^_'
UNION ALL
SELECT 'operator ' || oprname || ' ' || string_agg(DISTINCT l || ',' || r, ' ')
FROM operators GROUP BY oprname
ORDER BY 1;
SQL
