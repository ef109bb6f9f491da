-- Views of the system catalogs: a line that names the view, then its query. Outputs are found by name; columns
-- that relations.txt has and the query does not are NULL.

-- view pg_catalog.pg_roles
SELECT rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication,
       rolconnlimit, '********' AS rolpassword, rolvaliduntil, rolbypassrls, oid
FROM pg_catalog.pg_authid;

-- view pg_catalog.pg_shadow
SELECT rolname AS usename, oid AS usesysid, rolcreatedb AS usecreatedb, rolsuper AS usesuper,
       rolreplication AS userepl, rolbypassrls AS usebypassrls, rolpassword AS passwd,
       rolvaliduntil AS valuntil
FROM pg_catalog.pg_authid WHERE rolcanlogin;

-- view pg_catalog.pg_user
SELECT usename, usesysid, usecreatedb, usesuper, userepl, usebypassrls, '********' AS passwd, valuntil
FROM pg_catalog.pg_shadow;

-- view pg_catalog.pg_group
SELECT rolname AS groname, oid AS grosysid,
       ARRAY(SELECT member FROM pg_catalog.pg_auth_members m WHERE m.roleid = a.oid) AS grolist
FROM pg_catalog.pg_authid a WHERE NOT rolcanlogin;

-- view pg_catalog.pg_tables
SELECT n.nspname AS schemaname, c.relname AS tablename, pg_get_userbyid(c.relowner) AS tableowner,
       t.spcname AS tablespace, c.relhasindex AS hasindexes, c.relhasrules AS hasrules,
       c.relhastriggers AS hastriggers, c.relrowsecurity AS rowsecurity
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_tablespace t ON t.oid = c.reltablespace
WHERE c.relkind IN ('r', 'p');

-- view pg_catalog.pg_policies
SELECT n.nspname AS schemaname, c.relname AS tablename, pol.polname AS policyname,
       CASE WHEN pol.polpermissive THEN 'PERMISSIVE' ELSE 'RESTRICTIVE' END AS permissive,
       CASE WHEN 0 = ANY (pol.polroles) THEN ARRAY['public'::name]
            ELSE ARRAY(SELECT a.rolname FROM pg_catalog.pg_authid a
                       WHERE a.oid = ANY (pol.polroles) ORDER BY a.rolname) END AS roles,
       CASE pol.polcmd WHEN 'r' THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE'
                       WHEN 'd' THEN 'DELETE' WHEN '*' THEN 'ALL' END AS cmd,
       pg_get_expr(pol.polqual, pol.polrelid) AS qual,
       pg_get_expr(pol.polwithcheck, pol.polrelid) AS with_check
FROM pg_catalog.pg_policy pol
JOIN pg_catalog.pg_class c ON c.oid = pol.polrelid
LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace;

-- view pg_catalog.pg_views
SELECT n.nspname AS schemaname, c.relname AS viewname, pg_get_userbyid(c.relowner) AS viewowner,
       pg_get_viewdef(c.oid) AS definition
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'v';

-- view pg_catalog.pg_matviews
SELECT n.nspname AS schemaname, c.relname AS matviewname, pg_get_userbyid(c.relowner) AS matviewowner,
       NULL AS tablespace, c.relhasindex AS hasindexes, c.relispopulated AS ispopulated,
       pg_get_viewdef(c.oid) AS definition
FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'm';

-- view pg_catalog.pg_indexes
SELECT n.nspname AS schemaname, c.relname AS tablename, i.relname AS indexname,
       pg_get_indexdef(i.oid) AS indexdef
FROM pg_catalog.pg_index x
JOIN pg_catalog.pg_class c ON c.oid = x.indrelid
JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace;

-- view pg_catalog.pg_rules
SELECT n.nspname AS schemaname, c.relname AS tablename, r.rulename, pg_get_ruledef(r.oid) AS definition
FROM pg_catalog.pg_rewrite r
JOIN pg_catalog.pg_class c ON c.oid = r.ev_class
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE r.rulename <> '_RETURN';

-- view pg_catalog.pg_stat_user_tables
SELECT * FROM pg_catalog.pg_stat_all_tables
WHERE schemaname NOT IN ('pg_catalog', 'information_schema');

-- view pg_catalog.pg_stat_sys_tables
SELECT * FROM pg_catalog.pg_stat_all_tables
WHERE schemaname IN ('pg_catalog', 'information_schema');

-- view pg_catalog.pg_stat_xact_all_tables
SELECT relid, schemaname, relname, 0 AS seq_scan, 0 AS seq_tup_read, 0 AS idx_scan, 0 AS idx_tup_fetch,
       0 AS n_tup_ins, 0 AS n_tup_upd, 0 AS n_tup_del, 0 AS n_tup_hot_upd
FROM pg_catalog.pg_stat_all_tables;

-- view pg_catalog.pg_stat_xact_user_tables
SELECT * FROM pg_catalog.pg_stat_xact_all_tables
WHERE schemaname NOT IN ('pg_catalog', 'information_schema');

-- view pg_catalog.pg_stat_xact_sys_tables
SELECT * FROM pg_catalog.pg_stat_xact_all_tables
WHERE schemaname IN ('pg_catalog', 'information_schema');

-- view pg_catalog.pg_stat_all_indexes
SELECT c.oid AS relid, i.oid AS indexrelid, n.nspname AS schemaname, c.relname AS relname,
       i.relname AS indexrelname
FROM pg_catalog.pg_index x
JOIN pg_catalog.pg_class c ON c.oid = x.indrelid
JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace;

-- view pg_catalog.pg_stat_user_indexes
SELECT * FROM pg_catalog.pg_stat_all_indexes
WHERE schemaname NOT IN ('pg_catalog', 'information_schema');

-- view pg_catalog.pg_stat_sys_indexes
SELECT * FROM pg_catalog.pg_stat_all_indexes
WHERE schemaname IN ('pg_catalog', 'information_schema');

-- view pg_catalog.pg_statio_all_tables
SELECT relid, schemaname, relname, 0 AS heap_blks_read, 0 AS heap_blks_hit, 0 AS idx_blks_read,
       0 AS idx_blks_hit
FROM pg_catalog.pg_stat_all_tables;

-- view pg_catalog.pg_statio_user_tables
SELECT * FROM pg_catalog.pg_statio_all_tables
WHERE schemaname NOT IN ('pg_catalog', 'information_schema');

-- view pg_catalog.pg_statio_sys_tables
SELECT * FROM pg_catalog.pg_statio_all_tables
WHERE schemaname IN ('pg_catalog', 'information_schema');

-- view pg_catalog.pg_statio_all_indexes
SELECT relid, indexrelid, schemaname, relname, indexrelname, 0 AS idx_blks_read, 0 AS idx_blks_hit
FROM pg_catalog.pg_stat_all_indexes;

-- view pg_catalog.pg_statio_user_indexes
SELECT * FROM pg_catalog.pg_statio_all_indexes
WHERE schemaname NOT IN ('pg_catalog', 'information_schema');

-- view pg_catalog.pg_statio_sys_indexes
SELECT * FROM pg_catalog.pg_statio_all_indexes
WHERE schemaname IN ('pg_catalog', 'information_schema');

-- view pg_catalog.pg_statio_all_sequences
SELECT c.oid AS relid, n.nspname AS schemaname, c.relname AS relname, 0 AS blks_read, 0 AS blks_hit
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'S';

-- view pg_catalog.pg_statio_user_sequences
SELECT * FROM pg_catalog.pg_statio_all_sequences;

-- view pg_catalog.pg_stat_bgwriter
SELECT 0 AS checkpoints_timed, 0 AS checkpoints_req, 0 AS buffers_checkpoint, 0 AS buffers_clean,
       0 AS maxwritten_clean, 0 AS buffers_backend, 0 AS buffers_backend_fsync, 0 AS buffers_alloc;

-- view pg_catalog.pg_stat_archiver
SELECT 0 AS archived_count, 0 AS failed_count;

-- view pg_catalog.pg_stat_database_conflicts
SELECT d.oid AS datid, d.datname, 0 AS confl_tablespace, 0 AS confl_lock, 0 AS confl_snapshot,
       0 AS confl_bufferpin, 0 AS confl_deadlock
FROM pg_catalog.pg_database d;

-- view information_schema.information_schema_catalog_name
SELECT current_database() AS catalog_name;

-- view information_schema.schemata
SELECT current_database() AS catalog_name, n.nspname AS schema_name,
       pg_get_userbyid(n.nspowner) AS schema_owner
FROM pg_catalog.pg_namespace n
WHERE has_schema_privilege(n.oid, 'CREATE, USAGE');

-- view information_schema.tables
SELECT current_database() AS table_catalog, n.nspname AS table_schema, c.relname AS table_name,
       CASE WHEN c.relkind IN ('r', 'p') THEN 'BASE TABLE' WHEN c.relkind = 'v' THEN 'VIEW' END AS table_type,
       CASE WHEN c.relkind IN ('r', 'p') OR c.relkind = 'v' AND pg_relation_is_updatable(c.oid, false) & 8 = 8
            THEN 'YES' ELSE 'NO' END AS is_insertable_into, 'NO' AS is_typed
FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_class c ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'v', 'f', 'p')
  AND (has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
       OR has_any_column_privilege(c.oid, 'SELECT, INSERT, UPDATE, REFERENCES'));

-- view information_schema.views
SELECT current_database() AS table_catalog, n.nspname AS table_schema, c.relname AS table_name,
       pg_get_viewdef(c.oid) AS view_definition,
       CASE WHEN 'check_option=cascaded' = ANY (c.reloptions) THEN 'CASCADED'
            WHEN 'check_option=local' = ANY (c.reloptions) THEN 'LOCAL' ELSE 'NONE' END AS check_option,
       CASE WHEN pg_relation_is_updatable(c.oid, false) & 20 = 20 THEN 'YES' ELSE 'NO' END AS is_updatable,
       CASE WHEN pg_relation_is_updatable(c.oid, false) & 8 = 8 THEN 'YES' ELSE 'NO' END AS is_insertable_into,
       CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_trigger g WHERE g.tgrelid = c.oid AND g.tgtype & 81 = 81)
            THEN 'YES' ELSE 'NO' END AS is_trigger_updatable,
       CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_trigger g WHERE g.tgrelid = c.oid AND g.tgtype & 73 = 73)
            THEN 'YES' ELSE 'NO' END AS is_trigger_deletable,
       CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_trigger g WHERE g.tgrelid = c.oid AND g.tgtype & 69 = 69)
            THEN 'YES' ELSE 'NO' END AS is_trigger_insertable_into
FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_class c ON n.oid = c.relnamespace
WHERE c.relkind = 'v'
  AND (has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
       OR has_any_column_privilege(c.oid, 'SELECT, INSERT, UPDATE, REFERENCES'));

-- view information_schema.columns
SELECT current_database() AS table_catalog, n.nspname AS table_schema, c.relname AS table_name,
       a.attname AS column_name, a.attnum AS ordinal_position,
       CASE WHEN a.attgenerated = '' THEN pg_get_expr(d.adbin, d.adrelid) END AS column_default,
       CASE WHEN a.attnotnull OR t.typnotnull THEN 'NO' ELSE 'YES' END AS is_nullable,
       CASE WHEN b.typelem <> 0 AND b.typlen = -1 THEN 'ARRAY'
            WHEN nb.nspname = 'pg_catalog' THEN format_type(b.oid, NULL) ELSE 'USER-DEFINED' END AS data_type,
       CASE WHEN a.baseid IN (1042, 1043) AND a.basemod <> -1 THEN a.basemod - 4
            WHEN a.baseid IN (1560, 1562) AND a.basemod <> -1 THEN a.basemod END
         AS character_maximum_length,
       CASE WHEN a.baseid IN (25, 1042, 1043)
            THEN CASE WHEN a.basemod = -1 THEN 1073741824 ELSE (a.basemod - 4) * 4 END END
         AS character_octet_length,
       CASE WHEN a.baseid = 21 THEN 16 WHEN a.baseid = 23 THEN 32 WHEN a.baseid = 20 THEN 64
            WHEN a.baseid = 700 THEN 24 WHEN a.baseid = 701 THEN 53
            WHEN a.baseid = 1700 AND a.basemod <> -1 THEN ((a.basemod - 4) >> 16) & 65535 END
         AS numeric_precision,
       CASE WHEN a.baseid IN (20, 21, 23, 700, 701) THEN 2 WHEN a.baseid = 1700 THEN 10 END
         AS numeric_precision_radix,
       CASE WHEN a.baseid IN (20, 21, 23) THEN 0
            WHEN a.baseid = 1700 AND a.basemod <> -1 THEN (a.basemod - 4) & 2047 END
         AS numeric_scale,
       CASE WHEN a.baseid = 1082 THEN 0 WHEN a.baseid IN (1083, 1114, 1184, 1186)
            THEN CASE WHEN a.basemod < 0 OR a.basemod & 65535 = 65535 THEN 6 ELSE a.basemod & 65535 END END
         AS datetime_precision,
       CASE WHEN a.baseid = 1186 THEN upper(substring(format_type(1186, a.basemod) FROM 'interval ([a-z].*)')) END
         AS interval_type,
       CASE WHEN o.oid IS NOT NULL THEN current_database() END AS collation_catalog,
       CASE WHEN o.oid IS NOT NULL THEN 'pg_catalog' END AS collation_schema, o.collname AS collation_name,
       CASE WHEN t.oid IS NOT NULL THEN current_database() END AS domain_catalog,
       nt.nspname AS domain_schema, t.typname AS domain_name,
       current_database() AS udt_catalog, nb.nspname AS udt_schema, b.typname AS udt_name,
       a.attnum::text AS dtd_identifier, 'NO' AS is_self_referencing,
       CASE WHEN a.attidentity IN ('a', 'd') THEN 'YES' ELSE 'NO' END AS is_identity,
       CASE a.attidentity WHEN 'a' THEN 'ALWAYS' WHEN 'd' THEN 'BY DEFAULT' END AS identity_generation,
       s.seqstart::text AS identity_start, s.seqincrement::text AS identity_increment,
       s.seqmax::text AS identity_maximum, s.seqmin::text AS identity_minimum,
       CASE WHEN s.seqcycle THEN 'YES' ELSE 'NO' END AS identity_cycle, CASE WHEN a.attgenerated = '' THEN 'NEVER' ELSE 'ALWAYS' END AS is_generated,
       CASE WHEN a.attgenerated <> '' THEN pg_get_expr(d.adbin, d.adrelid) END AS generation_expression,
       CASE WHEN c.relkind IN ('r', 'p') OR c.relkind = 'v' AND pg_column_is_updatable(c.oid, a.attnum, false)
            THEN 'YES' ELSE 'NO' END AS is_updatable
FROM (SELECT x.attrelid, x.attname, x.attnum, x.attnotnull, x.attidentity, x.attgenerated, x.attisdropped,
             x.attcollation, y.oid AS typid,
             CASE WHEN y.typtype = 'd' THEN y.typbasetype ELSE y.oid END AS baseid,
             CASE WHEN y.typtype = 'd' THEN y.typtypmod ELSE x.atttypmod END AS basemod
      FROM pg_catalog.pg_attribute x JOIN pg_catalog.pg_type y ON y.oid = x.atttypid) a
JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_type b ON b.oid = a.baseid
JOIN pg_catalog.pg_namespace nb ON nb.oid = b.typnamespace
LEFT JOIN (pg_catalog.pg_type t JOIN pg_catalog.pg_namespace nt ON nt.oid = t.typnamespace)
       ON t.oid = a.typid AND t.typtype = 'd'
LEFT JOIN pg_catalog.pg_collation o ON o.oid = a.attcollation AND o.oid <> 100
LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
LEFT JOIN (pg_catalog.pg_depend dep
           JOIN pg_catalog.pg_sequence s ON dep.objid = s.seqrelid AND dep.deptype = 'i')
       ON dep.refobjid = c.oid AND dep.refobjsubid = a.attnum
WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'v', 'f', 'p')
  AND has_column_privilege(c.oid, a.attnum, 'SELECT, INSERT, UPDATE, REFERENCES');

-- view information_schema.table_constraints
SELECT current_database() AS constraint_catalog, n.nspname AS constraint_schema,
       k.conname AS constraint_name, current_database() AS table_catalog, n.nspname AS table_schema,
       c.relname AS table_name,
       CASE k.contype WHEN 'c' THEN 'CHECK' WHEN 'f' THEN 'FOREIGN KEY' WHEN 'p' THEN 'PRIMARY KEY'
                      WHEN 'u' THEN 'UNIQUE' END AS constraint_type,
       CASE WHEN k.condeferrable THEN 'YES' ELSE 'NO' END AS is_deferrable,
       CASE WHEN k.condeferred THEN 'YES' ELSE 'NO' END AS initially_deferred, 'YES' AS enforced,
       CASE WHEN k.contype = 'u' THEN 'YES' END AS nulls_distinct
FROM pg_catalog.pg_constraint k
JOIN pg_catalog.pg_class c ON c.oid = k.conrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE k.contype NOT IN ('t', 'x')
  AND has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
UNION ALL
SELECT current_database(), n.nspname, k.conname, current_database(), n.nspname, c.relname, 'FOREIGN KEY',
       CASE WHEN k.condeferrable THEN 'YES' ELSE 'NO' END, CASE WHEN k.condeferred THEN 'YES' ELSE 'NO' END,
       'YES', NULL
FROM pg_catalog.pg_constraint k
JOIN pg_catalog.pg_class p ON p.oid = k.conrelid AND p.relkind = 'p',
LATERAL pg_partition_tree(k.conrelid) t
JOIN pg_catalog.pg_class c ON c.oid = t.relid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE k.contype = 'f' AND t.level > 0
  AND has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
UNION ALL
SELECT current_database(), n.nspname,
       n.oid::text || '_' || c.oid::text || '_' || a.attnum::text || '_not_null',
       current_database(), n.nspname, c.relname, 'CHECK', 'NO', 'NO', 'YES', NULL
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE a.attnotnull AND a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p')
  AND has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER');

-- view information_schema.check_constraints
SELECT current_database() AS constraint_catalog, n.nspname AS constraint_schema,
       k.conname AS constraint_name, substr(pg_get_constraintdef(k.oid), 7) AS check_clause
FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_namespace n ON n.oid = k.connamespace
WHERE k.contype = 'c'
UNION ALL
SELECT current_database(), n.nspname,
       n.oid::text || '_' || c.oid::text || '_' || a.attnum::text || '_not_null',
       a.attname || ' IS NOT NULL'
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE a.attnotnull AND a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p');

-- view information_schema.key_column_usage
SELECT current_database() AS constraint_catalog, n.nspname AS constraint_schema,
       k.conname AS constraint_name, current_database() AS table_catalog, n.nspname AS table_schema,
       c.relname AS table_name, a.attname AS column_name, k.ord AS ordinal_position,
       CASE WHEN k.contype = 'f' THEN array_position(x.indkey::int2[], k.confkey[k.ord]) END
         AS position_in_unique_constraint
FROM (SELECT con.conname, con.contype, con.conrelid, con.conindid, con.conkey, con.confkey,
             generate_subscripts(con.conkey, 1) AS ord
      FROM pg_catalog.pg_constraint con WHERE con.contype IN ('p', 'u', 'f')) k
JOIN pg_catalog.pg_class c ON c.oid = k.conrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = k.conkey[k.ord]
LEFT JOIN pg_catalog.pg_index x ON x.indexrelid = k.conindid
WHERE has_column_privilege(c.oid, a.attnum, 'SELECT, INSERT, UPDATE, REFERENCES');

-- view information_schema.constraint_column_usage
SELECT current_database() AS table_catalog, n.nspname AS table_schema, c.relname AS table_name,
       a.attname AS column_name, current_database() AS constraint_catalog,
       n.nspname AS constraint_schema, k.conname AS constraint_name
FROM (SELECT con.conname,
             CASE WHEN con.contype = 'f' THEN con.confrelid ELSE con.conrelid END AS relid,
             unnest(CASE WHEN con.contype = 'f' THEN con.confkey ELSE con.conkey END) AS attnum
      FROM pg_catalog.pg_constraint con WHERE con.contype IN ('c', 'p', 'u', 'f')) k
JOIN pg_catalog.pg_class c ON c.oid = k.relid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = k.relid AND a.attnum = k.attnum
WHERE pg_has_role(c.relowner, 'USAGE');

-- view information_schema.constraint_table_usage
SELECT current_database() AS table_catalog, n.nspname AS table_schema, c.relname AS table_name,
       current_database() AS constraint_catalog, n.nspname AS constraint_schema,
       k.conname AS constraint_name
FROM pg_catalog.pg_constraint k
JOIN pg_catalog.pg_class c ON c.oid = CASE WHEN k.contype = 'f' THEN k.confrelid ELSE k.conrelid END
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE k.contype IN ('p', 'u', 'f') AND pg_has_role(c.relowner, 'USAGE');

-- view information_schema.referential_constraints
SELECT current_database() AS constraint_catalog, n.nspname AS constraint_schema,
       k.conname AS constraint_name, current_database() AS unique_constraint_catalog,
       nu.nspname AS unique_constraint_schema, u.conname AS unique_constraint_name,
       'NONE' AS match_option,
       CASE k.confupdtype WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' WHEN 'd' THEN 'SET DEFAULT'
                          WHEN 'r' THEN 'RESTRICT' WHEN 'a' THEN 'NO ACTION' END AS update_rule,
       CASE k.confdeltype WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' WHEN 'd' THEN 'SET DEFAULT'
                          WHEN 'r' THEN 'RESTRICT' WHEN 'a' THEN 'NO ACTION' END AS delete_rule
FROM (SELECT own.conname, own.connamespace, own.conrelid, own.conindid, own.confrelid, own.confupdtype,
             own.confdeltype
      FROM pg_catalog.pg_constraint own WHERE own.contype = 'f'
      UNION ALL
      SELECT root.conname, root.connamespace, t.relid, root.conindid, root.confrelid, root.confupdtype,
             root.confdeltype
      FROM pg_catalog.pg_constraint root
      JOIN pg_catalog.pg_class p ON p.oid = root.conrelid AND p.relkind = 'p',
      LATERAL pg_partition_tree(root.conrelid) t WHERE root.contype = 'f' AND t.level > 0) k
JOIN pg_catalog.pg_namespace n ON n.oid = k.connamespace
LEFT JOIN pg_catalog.pg_constraint u
       ON u.conindid = k.conindid AND u.contype IN ('p', 'u') AND u.conrelid = k.confrelid
LEFT JOIN pg_catalog.pg_namespace nu ON nu.oid = u.connamespace
WHERE has_table_privilege(k.conrelid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER');

-- view information_schema.view_table_usage
SELECT DISTINCT current_database() AS view_catalog, nv.nspname AS view_schema, v.relname AS view_name,
       current_database() AS table_catalog, nt.nspname AS table_schema, t.relname AS table_name
FROM pg_catalog.pg_class v
JOIN pg_catalog.pg_namespace nv ON nv.oid = v.relnamespace
JOIN pg_catalog.pg_rewrite r ON r.ev_class = v.oid
JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.objid = r.oid
     AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid <> v.oid
JOIN pg_catalog.pg_class t ON t.oid = d.refobjid
JOIN pg_catalog.pg_namespace nt ON nt.oid = t.relnamespace
WHERE v.relkind = 'v' AND t.relkind IN ('r', 'v', 'f', 'p') AND pg_has_role(t.relowner, 'USAGE');

-- view information_schema.view_routine_usage
SELECT DISTINCT current_database() AS table_catalog, nv.nspname AS table_schema, v.relname AS table_name,
       current_database() AS specific_catalog, np.nspname AS specific_schema,
       p.proname || '_' || p.oid::text AS specific_name
FROM pg_catalog.pg_class v
JOIN pg_catalog.pg_namespace nv ON nv.oid = v.relnamespace
JOIN pg_catalog.pg_rewrite r ON r.ev_class = v.oid
JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.objid = r.oid
     AND d.refclassid = 'pg_catalog.pg_proc'::regclass
JOIN pg_catalog.pg_proc p ON p.oid = d.refobjid
JOIN pg_catalog.pg_namespace np ON np.oid = p.pronamespace
WHERE v.relkind = 'v' AND pg_has_role(p.proowner, 'USAGE');

-- view information_schema.sequences
SELECT current_database() AS sequence_catalog, n.nspname AS sequence_schema, c.relname AS sequence_name,
       format_type(s.seqtypid, NULL) AS data_type,
       CASE s.seqtypid WHEN 21 THEN 16 WHEN 23 THEN 32 ELSE 64 END AS numeric_precision,
       2 AS numeric_precision_radix, 0 AS numeric_scale, s.seqstart::text AS start_value,
       s.seqmin::text AS minimum_value, s.seqmax::text AS maximum_value,
       s.seqincrement::text AS increment,
       CASE WHEN s.seqcycle THEN 'YES' ELSE 'NO' END AS cycle_option
FROM pg_catalog.pg_sequence s
JOIN pg_catalog.pg_class c ON c.oid = s.seqrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE NOT EXISTS (SELECT 1 FROM pg_catalog.pg_depend d
                  WHERE d.classid = 1259 AND d.objid = c.oid AND d.deptype = 'i')
  AND has_sequence_privilege(c.oid, 'SELECT, UPDATE, USAGE');

-- view information_schema.domains
SELECT current_database() AS domain_catalog, n.nspname AS domain_schema, t.typname AS domain_name,
       CASE WHEN nb.nspname = 'pg_catalog' THEN format_type(b.oid, NULL) ELSE 'USER-DEFINED' END AS data_type,
       CASE WHEN b.oid IN (1042, 1043) AND t.typtypmod <> -1 THEN t.typtypmod - 4
            WHEN b.oid IN (1560, 1562) AND t.typtypmod <> -1 THEN t.typtypmod END
         AS character_maximum_length,
       CASE WHEN b.oid IN (25, 1042, 1043)
            THEN CASE WHEN t.typtypmod = -1 THEN 1073741824 ELSE (t.typtypmod - 4) * 4 END END
         AS character_octet_length,
       CASE WHEN b.oid = 21 THEN 16 WHEN b.oid = 23 THEN 32 WHEN b.oid = 20 THEN 64
            WHEN b.oid = 700 THEN 24 WHEN b.oid = 701 THEN 53
            WHEN b.oid = 1700 AND t.typtypmod <> -1 THEN ((t.typtypmod - 4) >> 16) & 65535 END
         AS numeric_precision,
       CASE WHEN b.oid IN (20, 21, 23, 700, 701) THEN 2 WHEN b.oid = 1700 THEN 10 END
         AS numeric_precision_radix,
       CASE WHEN b.oid IN (20, 21, 23) THEN 0
            WHEN b.oid = 1700 AND t.typtypmod <> -1 THEN (t.typtypmod - 4) & 2047 END AS numeric_scale,
       CASE WHEN b.oid = 1082 THEN 0 WHEN b.oid IN (1083, 1114, 1184, 1186)
            THEN CASE WHEN t.typtypmod < 0 OR t.typtypmod & 65535 = 65535 THEN 6 ELSE t.typtypmod & 65535 END END
         AS datetime_precision,
       CASE WHEN b.oid = 1186 THEN upper(substring(format_type(1186, t.typtypmod) FROM 'interval ([a-z].*)')) END
         AS interval_type,
       t.typdefault AS domain_default, current_database() AS udt_catalog, nb.nspname AS udt_schema,
       b.typname AS udt_name, '1' AS dtd_identifier
FROM pg_catalog.pg_type t
JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
JOIN pg_catalog.pg_type b ON b.oid = t.typbasetype
JOIN pg_catalog.pg_namespace nb ON nb.oid = b.typnamespace
WHERE t.typtype = 'd';

-- view information_schema.domain_constraints
SELECT current_database() AS constraint_catalog, n.nspname AS constraint_schema, c.conname AS constraint_name,
       current_database() AS domain_catalog, n.nspname AS domain_schema, t.typname AS domain_name,
       'NO' AS is_deferrable, 'NO' AS initially_deferred
FROM pg_catalog.pg_constraint c
JOIN pg_catalog.pg_type t ON t.oid = c.contypid
JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace;

-- view information_schema.routines
SELECT current_database() AS specific_catalog, n.nspname AS specific_schema,
       p.proname || '_' || p.oid::text AS specific_name, current_database() AS routine_catalog,
       n.nspname AS routine_schema, p.proname AS routine_name,
       CASE p.prokind WHEN 'f' THEN 'FUNCTION' WHEN 'p' THEN 'PROCEDURE' END AS routine_type,
       CASE WHEN p.prokind = 'p' THEN NULL WHEN t.typelem <> 0 AND t.typlen = -1 THEN 'ARRAY'
            WHEN nt.nspname = 'pg_catalog' THEN format_type(t.oid, NULL) ELSE 'USER-DEFINED' END AS data_type,
       CASE WHEN p.prokind <> 'p' THEN current_database() END AS type_udt_catalog,
       CASE WHEN p.prokind <> 'p' THEN nt.nspname END AS type_udt_schema,
       CASE WHEN p.prokind <> 'p' THEN t.typname END AS type_udt_name,
       CASE WHEN p.prokind <> 'p' THEN '0' END AS dtd_identifier,
       CASE WHEN l.lanname = 'sql' THEN 'SQL' ELSE 'EXTERNAL' END AS routine_body,
       CASE WHEN pg_has_role(p.proowner, 'USAGE') THEN p.prosrc END AS routine_definition,
       upper(l.lanname) AS external_language, 'GENERAL' AS parameter_style,
       CASE WHEN p.provolatile = 'i' THEN 'YES' ELSE 'NO' END AS is_deterministic,
       'MODIFIES' AS sql_data_access,
       CASE WHEN p.prokind <> 'p' THEN CASE WHEN p.proisstrict THEN 'YES' ELSE 'NO' END END
         AS is_null_call,
       'YES' AS schema_level_routine, 0 AS max_dynamic_result_sets,
       CASE WHEN p.prosecdef THEN 'DEFINER' ELSE 'INVOKER' END AS security_type, 'NO' AS as_locator,
       'NO' AS is_udt_dependent
FROM pg_catalog.pg_proc p
JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
JOIN pg_catalog.pg_language l ON l.oid = p.prolang
LEFT JOIN pg_catalog.pg_type t ON t.oid = p.prorettype AND p.prokind <> 'p'
LEFT JOIN pg_catalog.pg_namespace nt ON nt.oid = t.typnamespace
WHERE has_function_privilege(p.oid, 'EXECUTE');

-- view information_schema.parameters
SELECT current_database() AS specific_catalog, n.nspname AS specific_schema,
       p.proname || '_' || p.oid::text AS specific_name, p.ord AS ordinal_position,
       CASE p.modes[p.ord] WHEN 'o' THEN 'OUT' WHEN 'b' THEN 'INOUT' WHEN 't' THEN 'OUT' ELSE 'IN' END
         AS parameter_mode,
       'NO' AS is_result, 'NO' AS as_locator, nullif(p.proargnames[p.ord], '') AS parameter_name,
       CASE WHEN t.typelem <> 0 AND t.typlen = -1 THEN 'ARRAY'
            WHEN nt.nspname = 'pg_catalog' THEN format_type(t.oid, NULL) ELSE 'USER-DEFINED' END AS data_type,
       current_database() AS udt_catalog, nt.nspname AS udt_schema, t.typname AS udt_name,
       p.ord::text AS dtd_identifier, pg_get_function_arg_default(p.oid, p.ord) AS parameter_default
FROM (SELECT q.oid, q.proname, q.pronamespace, q.proargnames, q.proargmodes AS modes,
             coalesce(q.proallargtypes, q.proargtypes::oid[]) AS types,
             generate_subscripts(coalesce(q.proallargtypes, q.proargtypes::oid[]), 1) AS ord
      FROM pg_catalog.pg_proc q) p
JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
JOIN pg_catalog.pg_type t ON t.oid = p.types[p.ord]
JOIN pg_catalog.pg_namespace nt ON nt.oid = t.typnamespace
WHERE has_function_privilege(p.oid, 'EXECUTE');

-- view information_schema.triggers
SELECT current_database() AS trigger_catalog, n.nspname AS trigger_schema, t.tgname AS trigger_name,
       e.event AS event_manipulation, current_database() AS event_object_catalog,
       n.nspname AS event_object_schema, c.relname AS event_object_table,
       rank() OVER (PARTITION BY t.tgrelid, e.bit, t.tgtype & 1, t.tgtype & 66 ORDER BY t.tgname) AS action_order,
       CASE WHEN pg_has_role(c.relowner, 'USAGE') THEN t.tgqual::text END AS action_condition,
       substr(pg_get_triggerdef(t.oid), strpos(pg_get_triggerdef(t.oid), 'EXECUTE FUNCTION')) AS action_statement,
       CASE t.tgtype & 1 WHEN 1 THEN 'ROW' ELSE 'STATEMENT' END AS action_orientation,
       CASE t.tgtype & 66 WHEN 2 THEN 'BEFORE' WHEN 64 THEN 'INSTEAD OF' ELSE 'AFTER' END AS action_timing,
       t.tgoldtable AS action_reference_old_table, t.tgnewtable AS action_reference_new_table,
       NULL AS action_reference_old_row, NULL AS action_reference_new_row, NULL AS created
FROM pg_catalog.pg_trigger t
JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN (VALUES (4, 'INSERT'), (8, 'DELETE'), (16, 'UPDATE')) AS e (bit, event)
WHERE t.tgtype & e.bit <> 0 AND NOT t.tgisinternal
  AND has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER');

-- view information_schema.triggered_update_columns
SELECT current_database() AS trigger_catalog, n.nspname AS trigger_schema, t.tgname AS trigger_name,
       current_database() AS event_object_catalog, n.nspname AS event_object_schema,
       c.relname AS event_object_table, a.attname AS event_object_column
FROM pg_catalog.pg_trigger t
JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (t.tgattr::int2[])
WHERE NOT t.tgisinternal AND pg_has_role(c.relowner, 'USAGE');

-- view information_schema.enabled_roles
SELECT rolname AS role_name FROM pg_catalog.pg_authid WHERE pg_has_role(oid, 'USAGE');

-- view information_schema.applicable_roles
SELECT m.rolname AS grantee, r.rolname AS role_name,
       CASE WHEN am.admin_option THEN 'YES' ELSE 'NO' END AS is_grantable
FROM pg_catalog.pg_auth_members am
JOIN pg_catalog.pg_authid m ON m.oid = am.member
JOIN pg_catalog.pg_authid r ON r.oid = am.roleid
WHERE pg_has_role(m.oid, 'USAGE');

-- view information_schema.administrable_role_authorizations
SELECT * FROM information_schema.applicable_roles WHERE is_grantable = 'YES';

-- view information_schema.character_sets
SELECT 'UTF8' AS character_set_name, 'UCS' AS character_repertoire, 'UTF8' AS form_of_use,
       current_database() AS default_collate_catalog, 'pg_catalog' AS default_collate_schema,
       'C' AS default_collate_name;

-- view information_schema.collations
SELECT current_database() AS collation_catalog, n.nspname AS collation_schema,
       c.collname AS collation_name, 'NO PAD' AS pad_attribute
FROM pg_catalog.pg_collation c JOIN pg_catalog.pg_namespace n ON n.oid = c.collnamespace;

-- view information_schema.column_udt_usage
SELECT current_database() AS udt_catalog, coalesce(nbt.nspname, nt.nspname) AS udt_schema,
       coalesce(bt.typname, t.typname) AS udt_name, current_database() AS table_catalog,
       nc.nspname AS table_schema, c.relname AS table_name, a.attname AS column_name
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_class c ON a.attrelid = c.oid
JOIN pg_catalog.pg_namespace nc ON nc.oid = c.relnamespace
JOIN pg_catalog.pg_type t ON a.atttypid = t.oid
JOIN pg_catalog.pg_namespace nt ON t.typnamespace = nt.oid
LEFT JOIN pg_catalog.pg_type bt ON t.typtype = 'd' AND t.typbasetype = bt.oid
LEFT JOIN pg_catalog.pg_namespace nbt ON bt.typnamespace = nbt.oid
WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'v', 'f', 'p')
  AND pg_has_role(coalesce(bt.typowner, t.typowner), 'USAGE');

-- view information_schema.data_type_privileges
SELECT current_database() AS object_catalog, x.schema AS object_schema, x.name AS object_name,
       x.type AS object_type, x.identifier AS dtd_identifier
FROM (SELECT udt_schema::text AS schema, udt_name::text AS name, 'USER-DEFINED TYPE' AS type,
             dtd_identifier::text AS identifier FROM information_schema.attributes
      UNION ALL SELECT table_schema, table_name, 'TABLE', dtd_identifier FROM information_schema.columns
      UNION ALL SELECT domain_schema, domain_name, 'DOMAIN', dtd_identifier FROM information_schema.domains
      UNION ALL SELECT specific_schema, specific_name, 'ROUTINE', dtd_identifier
      FROM information_schema.parameters
      UNION ALL SELECT specific_schema, specific_name, 'ROUTINE', dtd_identifier
      FROM information_schema.routines) x;

-- view information_schema.attributes
SELECT current_database() AS udt_catalog, n.nspname AS udt_schema, c.relname AS udt_name,
       a.attname AS attribute_name, a.attnum AS ordinal_position,
       CASE WHEN a.attnotnull OR t.typtype = 'd' AND t.typnotnull THEN 'NO' ELSE 'YES' END AS is_nullable,
       CASE WHEN t.typelem <> 0 AND t.typlen = -1 THEN 'ARRAY'
            WHEN nt.nspname = 'pg_catalog' THEN format_type(a.atttypid, NULL) ELSE 'USER-DEFINED' END AS data_type,
       CASE WHEN a.baseid IN (1042, 1043) AND a.basemod <> -1 THEN a.basemod - 4
            WHEN a.baseid IN (1560, 1562) AND a.basemod <> -1 THEN a.basemod END
         AS character_maximum_length,
       CASE WHEN a.baseid IN (25, 1042, 1043)
            THEN CASE WHEN a.basemod = -1 THEN 1073741824 ELSE (a.basemod - 4) * 4 END END
         AS character_octet_length,
       CASE WHEN a.baseid = 21 THEN 16 WHEN a.baseid = 23 THEN 32 WHEN a.baseid = 20 THEN 64
            WHEN a.baseid = 700 THEN 24 WHEN a.baseid = 701 THEN 53
            WHEN a.baseid = 1700 AND a.basemod <> -1 THEN ((a.basemod - 4) >> 16) & 65535 END
         AS numeric_precision,
       CASE WHEN a.baseid IN (20, 21, 23, 700, 701) THEN 2 WHEN a.baseid = 1700 THEN 10 END
         AS numeric_precision_radix,
       CASE WHEN a.baseid IN (20, 21, 23) THEN 0
            WHEN a.baseid = 1700 AND a.basemod <> -1 THEN (a.basemod - 4) & 2047 END
         AS numeric_scale,
       CASE WHEN a.baseid = 1082 THEN 0 WHEN a.baseid IN (1083, 1114, 1184, 1186, 1266)
            THEN CASE WHEN a.basemod < 0 OR a.basemod & 65535 = 65535 THEN 6 ELSE a.basemod & 65535 END END
         AS datetime_precision,
       CASE WHEN a.baseid = 1186 THEN upper(substring(format_type(1186, a.basemod) FROM 'interval ([a-z].*)')) END
         AS interval_type,
       CASE WHEN o.oid IS NOT NULL THEN current_database() END AS collation_catalog,
       CASE WHEN o.oid IS NOT NULL THEN 'pg_catalog' END AS collation_schema, o.collname AS collation_name,
       current_database() AS attribute_udt_catalog, nt.nspname AS attribute_udt_schema,
       t.typname AS attribute_udt_name, a.attnum::text AS dtd_identifier,
       'NO' AS is_derived_reference_attribute
FROM (SELECT x.attrelid, x.attname, x.attnum, x.attnotnull, x.attisdropped, x.attcollation, x.atttypid,
             CASE WHEN y.typtype = 'd' THEN y.typbasetype ELSE y.oid END AS baseid,
             CASE WHEN y.typtype = 'd' THEN y.typtypmod ELSE x.atttypmod END AS basemod
      FROM pg_catalog.pg_attribute x JOIN pg_catalog.pg_type y ON y.oid = x.atttypid) a
JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
JOIN pg_catalog.pg_namespace nt ON nt.oid = t.typnamespace
LEFT JOIN pg_catalog.pg_collation o ON o.oid = a.attcollation AND o.oid <> 100
WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind = 'c'
  AND (pg_has_role(c.relowner, 'USAGE') OR has_type_privilege(c.reltype, 'USAGE'));

-- view information_schema.user_defined_types
SELECT current_database() AS user_defined_type_catalog, n.nspname AS user_defined_type_schema,
       c.relname AS user_defined_type_name, 'STRUCTURED' AS user_defined_type_category,
       'YES' AS is_instantiable
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_type t ON t.oid = c.reltype
WHERE c.relkind = 'c' AND (pg_has_role(t.typowner, 'USAGE') OR has_type_privilege(t.oid, 'USAGE'));

-- view information_schema.element_types
SELECT current_database() AS object_catalog, n.nspname AS object_schema, x.name AS object_name,
       x.kind AS object_type, x.place::text AS collection_type_identifier,
       CASE WHEN nb.nspname = 'pg_catalog' THEN format_type(b.oid, NULL) ELSE 'USER-DEFINED' END AS data_type,
       CASE WHEN o.oid IS NOT NULL THEN current_database() END AS collation_catalog,
       CASE WHEN o.oid IS NOT NULL THEN 'pg_catalog' END AS collation_schema, o.collname AS collation_name,
       current_database() AS udt_catalog, nb.nspname AS udt_schema, b.typname AS udt_name,
       'a' || x.place::text AS dtd_identifier
FROM (SELECT c.relnamespace AS schema, c.relname::text AS name,
             CASE c.relkind WHEN 'c' THEN 'USER-DEFINED TYPE' ELSE 'TABLE' END AS kind,
             a.attnum::int AS place, a.atttypid AS typid, a.attcollation AS collid
      FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
      WHERE c.relkind IN ('r', 'v', 'f', 'c', 'p') AND a.attnum > 0 AND NOT a.attisdropped
      UNION ALL
      SELECT d.typnamespace, d.typname::text, 'DOMAIN', 1, d.typbasetype, d.typcollation
      FROM pg_catalog.pg_type d WHERE d.typtype = 'd'
      UNION ALL
      SELECT q.pronamespace, q.proname || '_' || q.oid::text, 'ROUTINE', q.place, q.types[q.place], 0::oid
      FROM (SELECT p.oid, p.proname, p.pronamespace,
                   coalesce(p.proallargtypes, p.proargtypes::oid[]) AS types,
                   generate_subscripts(coalesce(p.proallargtypes, p.proargtypes::oid[]), 1) AS place
            FROM pg_catalog.pg_proc p) q
      UNION ALL
      SELECT p.pronamespace, p.proname || '_' || p.oid::text, 'ROUTINE', 0, p.prorettype, 0::oid
      FROM pg_catalog.pg_proc p) x
JOIN pg_catalog.pg_namespace n ON n.oid = x.schema
JOIN pg_catalog.pg_type t ON t.oid = x.typid AND t.typelem <> 0 AND t.typlen = -1
JOIN pg_catalog.pg_type b ON b.oid = t.typelem
JOIN pg_catalog.pg_namespace nb ON nb.oid = b.typnamespace
LEFT JOIN pg_catalog.pg_collation o ON o.oid = x.collid AND o.oid <> 100
WHERE (n.nspname::text, x.name, x.kind, x.place::text)
   IN (SELECT object_schema::text, object_name::text, object_type::text, dtd_identifier::text
       FROM information_schema.data_type_privileges);

-- view information_schema.column_domain_usage
SELECT current_database() AS domain_catalog, nt.nspname AS domain_schema, t.typname AS domain_name,
       current_database() AS table_catalog, n.nspname AS table_schema, c.relname AS table_name,
       a.attname AS column_name
FROM pg_catalog.pg_type t
JOIN pg_catalog.pg_namespace nt ON nt.oid = t.typnamespace
JOIN pg_catalog.pg_attribute a ON a.atttypid = t.oid
JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE t.typtype = 'd' AND c.relkind IN ('r', 'v', 'f', 'p') AND a.attnum > 0 AND NOT a.attisdropped
  AND pg_has_role(t.typowner, 'USAGE');

-- view information_schema.domain_udt_usage
SELECT current_database() AS udt_catalog, nb.nspname AS udt_schema, b.typname AS udt_name,
       current_database() AS domain_catalog, nt.nspname AS domain_schema, t.typname AS domain_name
FROM pg_catalog.pg_type t
JOIN pg_catalog.pg_namespace nt ON nt.oid = t.typnamespace
JOIN pg_catalog.pg_type b ON b.oid = t.typbasetype
JOIN pg_catalog.pg_namespace nb ON nb.oid = b.typnamespace
WHERE t.typtype = 'd' AND pg_has_role(b.typowner, 'USAGE');

-- view information_schema.udt_privileges
SELECT g.rolname AS grantor, coalesce(r.rolname, 'PUBLIC') AS grantee, current_database() AS udt_catalog,
       n.nspname AS udt_schema, t.typname AS udt_name, 'TYPE USAGE' AS privilege_type,
       CASE WHEN x.is_grantable OR r.oid IS NOT NULL AND pg_has_role(r.oid, t.typowner, 'USAGE')
            THEN 'YES' ELSE 'NO' END AS is_grantable
FROM pg_catalog.pg_type t
CROSS JOIN LATERAL aclexplode(coalesce(t.typacl, acldefault('T', t.typowner))) x
JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
JOIN pg_catalog.pg_authid g ON g.oid = x.grantor
LEFT JOIN pg_catalog.pg_authid r ON r.oid = x.grantee
WHERE t.typtype = 'c' AND x.privilege_type = 'USAGE' AND (r.oid IS NOT NULL OR x.grantee = 0)
  AND (r.oid IS NULL OR pg_has_role(g.oid, 'USAGE') OR pg_has_role(r.oid, 'USAGE'));

-- view information_schema.role_udt_grants
SELECT * FROM information_schema.udt_privileges
WHERE grantor IN (SELECT role_name FROM information_schema.enabled_roles)
   OR grantee IN (SELECT role_name FROM information_schema.enabled_roles);

-- view information_schema.routine_privileges
SELECT g.rolname AS grantor, coalesce(r.rolname, 'PUBLIC') AS grantee,
       current_database() AS specific_catalog, n.nspname AS specific_schema,
       p.proname || '_' || p.oid::text AS specific_name, current_database() AS routine_catalog,
       n.nspname AS routine_schema, p.proname AS routine_name, 'EXECUTE' AS privilege_type,
       CASE WHEN x.is_grantable OR r.oid IS NOT NULL AND pg_has_role(r.oid, p.proowner, 'USAGE')
            THEN 'YES' ELSE 'NO' END AS is_grantable
FROM pg_catalog.pg_proc p
CROSS JOIN LATERAL aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) x
JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
JOIN pg_catalog.pg_authid g ON g.oid = x.grantor
LEFT JOIN pg_catalog.pg_authid r ON r.oid = x.grantee
WHERE x.privilege_type = 'EXECUTE' AND (r.oid IS NOT NULL OR x.grantee = 0)
  AND (r.oid IS NULL OR pg_has_role(g.oid, 'USAGE') OR pg_has_role(r.oid, 'USAGE'));

-- view information_schema.role_routine_grants
SELECT * FROM information_schema.routine_privileges
WHERE grantor IN (SELECT role_name FROM information_schema.enabled_roles)
   OR grantee IN (SELECT role_name FROM information_schema.enabled_roles);

-- view information_schema.usage_privileges
SELECT g.rolname AS grantor, coalesce(r.rolname, 'PUBLIC') AS grantee, current_database() AS object_catalog,
       n.nspname AS object_schema, o.name AS object_name, o.kind AS object_type, 'USAGE' AS privilege_type,
       CASE WHEN x.is_grantable OR r.oid IS NOT NULL AND pg_has_role(r.oid, o.owner, 'USAGE')
            THEN 'YES' ELSE 'NO' END AS is_grantable
FROM (SELECT t.typname AS name, t.typnamespace AS schema, 'DOMAIN' AS kind, t.typowner AS owner,
             coalesce(t.typacl, acldefault('T', t.typowner)) AS acl
      FROM pg_catalog.pg_type t WHERE t.typtype = 'd'
      UNION ALL
      SELECT c.relname, c.relnamespace, 'SEQUENCE', c.relowner, coalesce(c.relacl, acldefault('r', c.relowner))
      FROM pg_catalog.pg_class c WHERE c.relkind = 'S') o
CROSS JOIN LATERAL aclexplode(o.acl) x
JOIN pg_catalog.pg_namespace n ON n.oid = o.schema
JOIN pg_catalog.pg_authid g ON g.oid = x.grantor
LEFT JOIN pg_catalog.pg_authid r ON r.oid = x.grantee
WHERE x.privilege_type = 'USAGE' AND (r.oid IS NOT NULL OR x.grantee = 0)
  AND (r.oid IS NULL OR pg_has_role(g.oid, 'USAGE') OR pg_has_role(r.oid, 'USAGE'))
UNION ALL
SELECT pg_get_userbyid(c.collowner), 'PUBLIC', current_database(), n.nspname, c.collname, 'COLLATION', 'USAGE', 'NO'
FROM pg_catalog.pg_collation c JOIN pg_catalog.pg_namespace n ON n.oid = c.collnamespace
WHERE c.collencoding IN (-1, 6);

-- view information_schema.role_usage_grants
SELECT * FROM information_schema.usage_privileges
WHERE grantor IN (SELECT role_name FROM information_schema.enabled_roles)
   OR grantee IN (SELECT role_name FROM information_schema.enabled_roles);

-- view information_schema.collation_character_set_applicability
SELECT current_database() AS collation_catalog, n.nspname AS collation_schema, c.collname AS collation_name,
       'UTF8' AS character_set_name
FROM pg_catalog.pg_collation c JOIN pg_catalog.pg_namespace n ON n.oid = c.collnamespace
WHERE c.collencoding IN (-1, 6);
