create type mood as enum ('a','b');
create domain pos as int check (value > 0);
create table t(id int primary key, m mood, p pos, j jsonb, arr int[], c char(5), n numeric(8,2), ts timestamp(0), iv interval, b bytea, u uuid, js json, r real);
create table tlog(op text, j jsonb);
create function f() returns trigger language plpgsql as $$ begin
  insert into tlog values (tg_op, to_jsonb(case when tg_op = 'DELETE' then null else 1 end));
  new.p := coalesce(new.p, 0) + 0; new.arr[2] := 7; new.c := 'ab'; new.n := 1.239; new.m := 'b'; new.j := new.j || '{"x": 1}'; new.iv := '1 day'; return new; end $$;
create trigger f before insert or update on t for each row execute function f();
insert into t (id, p, arr, j) values (1, 5, '{1}', '{}') returning *;
insert into t (id, arr, j) values (2, '{1}', '{}') returning *;
update t set n = n + 1, ts = '2024-01-01 10:00:00.6' returning *;
create function g() returns trigger language plpgsql as $$ declare r record; begin
  r := new; raise notice '% % %', r.m, r.arr, r.c;
  raise notice '%', new = old;
  if new is distinct from old then raise notice 'differs'; end if;
  if row(new.*) is distinct from row(old.*) then raise notice 'differs too'; end if;
  if new.* is not distinct from old.* then raise notice 'same'; end if;
  return null; end $$;
create table k(id int, v text);
create function gk() returns trigger language plpgsql as $$ declare r k%rowtype; begin
  r := new; raise notice '% %', r.v, new;
  raise notice '%', new = old;
  if new is distinct from old then raise notice 'differs'; end if;
  if row(new.*) is distinct from row(old.*) then raise notice 'differs too'; end if;
  if new.* is not distinct from old.* then raise notice 'same'; end if;
  raise notice '% % %', to_jsonb(new), row_to_json(old), (new).v;
  return null; end $$;
create trigger gk after update on k for each row execute function gk();
create trigger gk2 after update on k for each row when (old is distinct from new) execute function gk();
insert into k values (1,'a'),(1,'b');
update k set v = v || 'x';
update k set v = v;
insert into k select 2, 'c'; delete from k where v = 'c';
update k set id = 5 from (values (1)) as w(x) where k.id = w.x and v = 'ax' returning k.*;
