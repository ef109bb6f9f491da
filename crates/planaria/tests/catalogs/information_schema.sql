select * from information_schema.tables where table_schema='public';

select table_name,column_name,ordinal_position,column_default,is_nullable,data_type,character_maximum_length,numeric_precision,numeric_scale,udt_name,is_identity,identity_generation from information_schema.columns where table_schema='public' order by 1,3;

select constraint_name,table_name,constraint_type from information_schema.table_constraints where table_schema='public' order by 1;

select constraint_name, table_name,column_name,ordinal_position,position_in_unique_constraint from information_schema.key_column_usage order by 1,4;

select * from information_schema.referential_constraints order by constraint_name;

select constraint_name, check_clause from information_schema.check_constraints where constraint_name not like '%not_null' order by 1;

select table_name,column_name,constraint_name from information_schema.constraint_column_usage order by 3,2;

select routine_name,routine_type,data_type,external_language,is_deterministic from information_schema.routines where routine_schema='public' order by 1;

select specific_schema, ordinal_position, parameter_mode,parameter_name,data_type,parameter_default from information_schema.parameters where specific_schema='public' order by specific_name, ordinal_position;

select * from information_schema.sequences order by sequence_name;

select * from information_schema.views where table_schema='public';

select schema_name, schema_owner from information_schema.schemata order by 1;

select * from pg_tables where schemaname='public' order by 2;

select * from pg_indexes where schemaname='public' order by 3;

select * from pg_views where schemaname='public';

select * from pg_sequences;

select relname,n_live_tup from pg_stat_user_tables order by 1;
