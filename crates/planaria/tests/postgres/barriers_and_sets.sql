-- Views with security_barrier over several tables; grouping sets over subqueries; rows filled from JSON, one in the other.
create table secret (id int primary key, who text);
create table allowed (id int primary key, ok bool);
insert into secret values (1, 'secret'), (2, 'mine');
insert into allowed values (1, false), (2, true);
create function leak(what text) returns bool language plpgsql cost 0.0001 as $$ begin raise notice 'see %', what; return true; end $$;
create view joined with (security_barrier) as select s.* from secret s, allowed a where s.id = a.id and a.ok;
create view on_clause with (security_barrier) as select s.* from secret s join allowed a on a.id = s.id and a.ok;
create view outer_join with (security_barrier) as select s.* from secret s left join allowed a on a.id = s.id and a.ok where a.id is not null;
create view beside with (security_barrier) as select s.* from secret s, lateral (select a.ok from allowed a where a.id = s.id) a where a.ok;
create view one with (security_barrier) as select * from secret where who = 'mine';
create view all_of_them with (security_barrier) as select * from one union all select * from joined;
create view nested with (security_barrier) as select * from joined where id > 0;
select * from joined where leak(who);
select * from on_clause where leak(who);
select * from outer_join where leak(who);
select * from beside where leak(who);
select * from one where leak(who);
select * from all_of_them where leak(who);
select * from nested where leak(who);
select x.who, y.who from joined x join joined y using (id) where leak(x.who);
select s.id, j.who from secret s left join joined j on j.id = s.id order by s.id;
update one set who = 'still mine' where leak(who) returning *;
create procedure seen(inout n bigint) language plpgsql as $$ begin select count(*) into n from joined where leak(who); end $$;
call seen(0);

create table t (id int, a text);
create table u (k int, v int);
insert into t values (1, 'x'), (2, 'y');
insert into u values (1, 1), (1, 2), (2, 3);
select (select a from t where t.id = u.k) as s, count(*) from u group by rollup ((select a from t where t.id = u.k)) order by 1;
select (select a from t where t.id = u.k) as s, count(*) from u group by rollup (s) order by 1;
select (select a from t where t.id = u.k) as s, count(*) from u group by rollup (1) order by 1;
select k, (select a from t where t.id = u.k) as s, count(*) from u group by cube (k, (select a from t where t.id = u.k)) order by 1, 2;
select (select a from t where t.id = u.k) as s, k, sum(v) from u group by grouping sets (((select a from t where t.id = u.k)), k, ()) order by 1, 2;
select exists (select from t where t.id = u.k) as e, count(*) from u group by rollup (exists (select from t where t.id = u.k)) order by 1;
select k, count(*), grouping(k) from u group by rollup (k), k order by 1, 3;
do $$ begin execute 'select (select ''position: 1''::text || k) as s, count(*) from u group by (select ''position: 2''::text || k)'; exception when grouping_error then raise notice 'not a key'; end $$;
select (select 'position: 1'::text || k) as s, count(*) from u group by (select 'position: 1'::text || k) order by 1;

select json_populate_record(json_populate_record(json_populate_record(t, '{"a": "p"}'), '{}'), '{"id": 7}') from t order by 1;
select jsonb_populate_record(jsonb_populate_record(jsonb_populate_record(jsonb_populate_record(jsonb_populate_record(jsonb_populate_record(
  jsonb_populate_record(jsonb_populate_record(jsonb_populate_record(jsonb_populate_record(jsonb_populate_record(jsonb_populate_record(
  jsonb_populate_record(jsonb_populate_record(jsonb_populate_record(jsonb_populate_record(null::t, '{"a": "q"}'), '{}'), '{}'), '{}'),
  '{}'), '{}'), '{}'), '{}'), '{}'), '{}'), '{}'), '{}'), '{}'), '{}'), '{}'), '{"id": 1}');
select * from json_populate_record(base => null::t, from_json => '{"id": 3}');
select * from json_populate_recordset(from_json => '[{"id": 3}, {"a": "b"}]', base => null::t);
select * from rows from (json_populate_recordset(base => null::t, from_json => '[{"id": 4}]'), generate_series(1, 2)) as r;
