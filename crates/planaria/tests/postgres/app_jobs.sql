-- A job queue as a library for background work would have it: priorities, retries with back-off, dead letters, schedules, workers.
SET timezone = 'UTC';
create schema if not exists queue;
create type queue.job_state as enum ('created', 'retry', 'active', 'completed', 'expired', 'cancelled', 'failed');
create table queue.jobs (
  id uuid primary key not null default gen_random_uuid(),
  seq bigserial,
  name text not null,
  priority integer not null default(0),
  data jsonb,
  state queue.job_state not null default('created'),
  retry_limit integer not null default(2),
  retry_count integer not null default(0),
  retry_delay interval not null default(interval '30 seconds'),
  start_after timestamp with time zone not null default '2024-05-01 12:00:00+00',
  started_on timestamp with time zone,
  singleton_key text,
  expire_in interval not null default interval '15 minutes',
  completed_on timestamp with time zone,
  output jsonb
);
create unique index jobs_singleton on queue.jobs (name, singleton_key) where state < 'completed' and singleton_key is not null;
create index jobs_fetch on queue.jobs (name, priority desc, seq) where state < 'active';
create table queue.dead (like queue.jobs including defaults including comments, died_on timestamptz not null, reason text);
create table queue.schedule (name text primary key, every interval not null check (every > '0'), next timestamptz not null, data jsonb, enabled boolean not null default true);
comment on table queue.dead is 'Jobs that failed for good';
create function queue.notify_new() returns trigger language plpgsql as $$
begin
  perform pg_notify('jobs', json_build_object('name', new.name, 'seq', new.seq)::text);
  return null;
end $$;
create trigger notify_new after insert on queue.jobs for each row when (new.state = 'created') execute function queue.notify_new();
create or replace function queue.add(p_name text, p_data jsonb default null, p_options jsonb default '{}') returns bigint language plpgsql as $$
declare s bigint;
begin
  insert into queue.jobs (name, data, priority, retry_limit, start_after, singleton_key)
  values (p_name, p_data, coalesce((p_options->>'priority')::int, 0), coalesce((p_options->>'retryLimit')::int, 2), coalesce((p_options->>'startAfter')::timestamptz, '2024-05-01 12:00:00+00'), p_options->>'singletonKey')
  on conflict do nothing
  returning seq into s;
  return s;
end $$;
create or replace function queue.fetch(p_name text, p_now timestamptz, p_batch int default 1)
returns table (seq bigint, data jsonb, attempt int) language sql as $$
  with next as (
    select j.id from queue.jobs j
    where j.name = p_name and j.state < 'active' and j.start_after <= p_now
    order by j.priority desc, j.seq
    limit p_batch for update skip locked
  )
  update queue.jobs u set state = 'active', started_on = p_now, retry_count = case when u.state = 'retry' then u.retry_count + 1 else u.retry_count end
  from next where u.id = next.id
  returning u.seq, u.data, u.retry_count + 1
$$;
create or replace function queue.complete(p_seq bigint, p_now timestamptz, p_output jsonb default null) returns boolean language plpgsql as $$
begin
  update queue.jobs set state = 'completed', completed_on = p_now, output = p_output where seq = p_seq and state = 'active';
  return found;
end $$;
create or replace function queue.fail(p_seq bigint, p_now timestamptz, p_error text) returns queue.job_state language plpgsql as $$
declare j queue.jobs%rowtype;
begin
  select * into strict j from queue.jobs where seq = p_seq for update;
  if j.state <> 'active' then
    raise exception 'job % is %', p_seq, j.state using errcode = 'object_not_in_prerequisite_state', hint = 'Only active jobs can fail.';
  end if;
  if j.retry_count >= j.retry_limit then
    with d as (delete from queue.jobs where seq = p_seq returning *)
    insert into queue.dead select d.*, p_now, p_error from d;
    return 'failed';
  end if;
  update queue.jobs set state = 'retry', start_after = p_now + retry_delay * (2 ^ retry_count), output = jsonb_build_object('error', p_error) where seq = p_seq;
  return 'retry';
exception
  when no_data_found then
    raise exception 'no job %', p_seq using errcode = 'no_data_found';
end $$;
select queue.add('mail', '{"to": "ann"}');
select queue.add('mail', '{"to": "bob"}', '{"priority": 5}');
select queue.add('mail', '{"to": "cy"}', '{"startAfter": "2024-05-01 13:00:00+00", "retryLimit": 0}');
select queue.add('report', null, '{"singletonKey": "daily"}');
select queue.add('report', null, '{"singletonKey": "daily"}');
select * from queue.fetch('mail', '2024-05-01 12:00:05+00');
select * from queue.fetch('mail', '2024-05-01 12:00:06+00', 10);
select * from queue.fetch('mail', '2024-05-01 12:00:07+00');
select queue.complete(2, '2024-05-01 12:01:00+00', '{"sent": true}'), queue.complete(2, '2024-05-01 12:01:00+00');
select queue.fail(1, '2024-05-01 12:01:00+00', 'refused');
select queue.fail(1, '2024-05-01 12:01:00+00', 'refused');
select queue.fail(99, '2024-05-01 12:01:00+00', 'refused');
select seq, state, start_after, output from queue.jobs order by seq;
do $$
declare t timestamptz := '2024-05-01 12:02:00+00'; r record; n int := 0; s queue.job_state;
begin
  while n < 10 loop
    n := n + 1;
    t := t + '1 minute';
    for r in select * from queue.fetch('mail', t, 5) loop
      s := queue.fail(r.seq, t, format('attempt %s of %L', r.attempt, r.data->>'to'));
      raise notice '% % attempt % -> %', to_char(t, 'HH24:MI'), r.seq, r.attempt, s;
    end loop;
  end loop;
end $$;
select seq, name, state, retry_count, died_on, reason from queue.dead order by seq;
-- Schedules: what is due is added, and the next time is after now.
insert into queue.schedule (name, every, next, data) values ('report', '1 day', '2024-05-01 06:00+00', '{"kind": "daily"}'), ('ping', '5 min', '2024-05-01 11:58+00', null), ('monthly', '1 mon', '2024-01-31 00:00+00', '[]');
insert into queue.schedule (name, every, next) values ('wrong', 'fortnight', now());
create procedure queue.tick(p_now timestamptz) language plpgsql as $$
declare s queue.schedule; n int := 0; c cursor for select * from queue.schedule where enabled and next <= p_now order by next for update;
begin
  open c;
  loop
    fetch c into s;
    exit when not found;
    perform queue.add(s.name, s.data, jsonb_build_object('startAfter', s.next, 'singletonKey', s.name || to_char(s.next, '-YYYYMMDDHH24MI')));
    n := n + 1;
    while s.next <= p_now loop s.next := s.next + s.every; end loop;
    update queue.schedule set next = s.next where current of c;
  end loop;
  close c;
  raise notice '% due', n;
end $$;
call queue.tick('2024-05-01 12:00+00');
call queue.tick('2024-05-01 12:00+00');
call queue.tick('2024-05-02 12:00+00');
select name, next from queue.schedule order by name;
select name, state, count(*), min(start_after) as first, max(start_after) as last, count(*) filter (where singleton_key like '%-20240501%') as today from queue.jobs group by grouping sets ((name, state), ()) order by name nulls last, state;
-- Expiry: what has been active for too long is tried again.
select seq from queue.fetch('ping', '2024-05-02 12:00+00', 100);
with late as (update queue.jobs set state = (case when retry_count < retry_limit then 'retry' else 'expired' end)::queue.job_state, completed_on = case when retry_count < retry_limit then null else now() end where state = 'active' and started_on + expire_in < '2024-05-02 12:15:01+00' returning seq, state) select * from late order by seq;
update queue.jobs set state = case when retry_count < retry_limit then 'retry' else 'expired' end where state = 'active';
with moved as (update queue.jobs set state = 'cancelled' where name = 'report' and state in ('created', 'retry') returning seq, data) select count(*), jsonb_agg(data order by seq) from moved;
select state, count(*) as n, coalesce(sum(count(*)) over (order by state), 0) as running from queue.jobs group by state order by state;
select s.state, coalesce(j.n, 0) as n from unnest(enum_range('created'::queue.job_state, 'completed'::queue.job_state)) s(state) left join (select state, count(*) n from queue.jobs group by 1) j using (state) order by 1;
begin;
select count(*) from (select 1 from queue.jobs for update skip locked) x;
lock table queue.jobs in share row exclusive mode;
notify jobs, 'inside';
rollback;
truncate queue.jobs, queue.dead restart identity cascade;
select queue.add('again', '[]');
select count(*), max(seq) from queue.jobs;
drop schema queue;
drop schema queue cascade;
