#!/bin/sh
# Makes postgres_names.txt anew from PostgreSQL 15: regenerate.sh [psql options].
# What its pg_catalog has for users: functions by argument types, types, operators by operand types.
cd "$(dirname "$0")" || exit 1
psql -X -q -A -t "$@" >postgres_names.txt <<'SQL'
WITH internal AS (
    SELECT oid FROM pg_type WHERE typname IN ('internal', 'cstring', 'trigger', 'event_trigger', 'language_handler',
        'fdw_handler', 'index_am_handler', 'table_am_handler', 'tsm_handler')
), functions AS (
    SELECT p.proname, p.pronargs - p.pronargdefaults AS least, p.provariadic <> 0 AS many,
        array_to_string(ARRAY(SELECT t.typname FROM unnest(p.proargtypes) WITH ORDINALITY a (type, n)
            JOIN pg_type t ON t.oid = a.type ORDER BY n), ',') AS types
    FROM pg_proc p
    WHERE p.pronamespace = 'pg_catalog'::regnamespace
        AND NOT p.prorettype IN (TABLE internal) AND NOT p.proargtypes::oid[] && ARRAY(TABLE internal)
        -- What operators, casts and aggregates are made of is not called by name.
        AND NOT EXISTS (SELECT FROM pg_operator o WHERE o.oprcode = p.oid
            AND obj_description(p.oid, 'pg_proc') LIKE 'implementation of %')
        AND NOT EXISTS (SELECT FROM pg_aggregate a WHERE p.oid IN (a.aggtransfn, a.aggfinalfn, a.aggcombinefn))
        AND p.proname !~ '^(binary_upgrade_|RI_|bt.*cmp$|hash.*extended$|gin_|gist_|spg_|brin_)'
), operators AS (
    SELECT o.oprname, coalesce(l.typname, '') AS l, r.typname AS r
    FROM pg_operator o LEFT JOIN pg_type l ON l.oid = o.oprleft JOIN pg_type r ON r.oid = o.oprright
)
SELECT 'function ' || proname || ' ' || string_agg(DISTINCT least || CASE WHEN many THEN '*' ELSE '' END || ':' || types, ' ')
FROM functions GROUP BY proname
UNION ALL
SELECT 'type ' || typname FROM pg_type
WHERE typnamespace = 'pg_catalog'::regnamespace AND typtype <> 'c' AND typcategory <> 'A'
    AND oid NOT IN (TABLE internal) AND typname !~ '^_'
UNION ALL
SELECT 'operator ' || oprname || ' ' || string_agg(DISTINCT l || ',' || r, ' ')
FROM operators GROUP BY oprname
ORDER BY 1;
SQL
