-- with contexts
-- Claims of an insurance, as Hibernate has it: sequences with INCREMENT 50, @Version, JOINED inheritance, envers tables of revisions, state machine of claims, reserves and payouts.
create sequence party_seq start with 1 increment by 50;
create sequence policy_seq start with 1 increment by 50;
create sequence claim_seq start with 1 increment by 50;
create sequence revinfo_seq start with 1 increment by 50;
create table party (dtype varchar(31) not null check (dtype in ('Person','Company')), id bigint not null, version integer not null, name varchar(255) not null, tax_no varchar(255), birth_date date, employees integer, primary key (id));
create table policy (id bigint not null, version integer not null, holder_id bigint not null, number varchar(20) not null, product varchar(255) check (product in ('MOTOR','HOME','TRAVEL')), valid_from date not null, valid_to date, premium numeric(19,2) not null, deductible numeric(19,2) default 0 not null, primary key (id));
create table policy_coverages (policy_id bigint not null, coverages_key varchar(255) not null, cover_limit numeric(19,2), rate float(53), primary key (policy_id, coverages_key));
create table claim (id bigint not null, version integer not null, policy_id bigint not null, reported timestamp(6) with time zone not null, occurred date not null, status smallint check (status between 0 and 4), adjuster varchar(255), primary key (id));
create table motor_claim (plate varchar(12), at_fault boolean not null, id bigint not null, primary key (id));
create table home_claim (rooms integer array, water_damage boolean not null, id bigint not null, primary key (id));
create table claim_items (claim_id bigint not null, items_order integer not null, coverage varchar(255), amount numeric(19,2), approved numeric(19,2), primary key (claim_id, items_order));
create table payment (id uuid not null, claim_id bigint not null, amount numeric(19,2) not null, paid_on date not null, primary key (id));
create table revinfo (rev bigint not null, revtstmp bigint, username varchar(255), primary key (rev));
create table claim_aud (id bigint not null, rev bigint not null, revtype smallint, revend bigint, status smallint, status_mod boolean, adjuster varchar(255), adjuster_mod boolean, primary key (rev, id));
alter table if exists policy drop constraint if exists UK_i5gl3g3d8wvgmjcf6j5yn9jhq;
alter table if exists policy add constraint UK_i5gl3g3d8wvgmjcf6j5yn9jhq unique (number);
alter table if exists policy add constraint FKq0v6bvd3gq1l8y2k7m9n4p5r foreign key (holder_id) references party;
alter table if exists policy_coverages add constraint FK1a2b3c4d5e6f7g8h9i0j foreign key (policy_id) references policy;
alter table if exists claim add constraint FKclaimpolicy000000000001 foreign key (policy_id) references policy;
alter table if exists motor_claim add constraint FKmotor00000000000000001 foreign key (id) references claim;
alter table if exists home_claim add constraint FKhome000000000000000001 foreign key (id) references claim;
alter table if exists claim_items add constraint FKitems00000000000000001 foreign key (claim_id) references claim;
alter table if exists payment add constraint FKpay0000000000000000001 foreign key (claim_id) references claim;
alter table if exists claim_aud add constraint FKaud0000000000000000001 foreign key (rev) references revinfo;
create index idx_claim_open on claim (policy_id) where status < 3;
-- Hi-lo: the program takes a block of 50 ids with one call.
select nextval('party_seq');
select nextval('party_seq');
insert into party (version, name, birth_date, dtype, id) values (0, 'Ida Berg', '1980-04-04', 'Person', 1), (0, 'Jon Tal', '1991-12-12', 'Person', 2);
insert into party (version, name, tax_no, employees, dtype, id) values (0, 'Holz GmbH', 'DE123', 40, 'Company', 3);
insert into party (version, name, dtype, id) values (0, 'Nobody', 'Robot', 4);
select nextval('policy_seq'), last_value, is_called from policy_seq;
insert into policy (deductible, holder_id, number, premium, product, valid_from, valid_to, version, id) values (150, 1, 'M-0001', 480.00, 'MOTOR', '2024-01-01', '2024-12-31', 0, 1), (0, 1, 'H-0001', 120.55, 'HOME', '2023-07-01', null, 0, 2), (500, 3, 'M-0002', 2400.00, 'MOTOR', '2024-03-01', '2025-02-28', 0, 3), (50, 2, 'T-0001', 39.90, 'TRAVEL', '2024-06-01', '2024-06-30', 0, 4);
insert into policy (deductible, holder_id, number, premium, product, valid_from, version, id) values (0, 9, 'X-1', 1, 'HOME', '2024-01-01', 0, 5);
insert into policy (deductible, holder_id, number, premium, product, valid_from, version, id) values (0, 1, 'M-0001', 1, 'HOME', '2024-01-01', 0, 5);
insert into policy_coverages (policy_id, coverages_key, cover_limit, rate) values (1, 'liability', 1000000, 1), (1, 'glass', 2500, 0.9), (2, 'water', 20000, 1), (2, 'theft', 5000, 0.8), (3, 'liability', 5000000, 1), (4, 'luggage', 1000, 0.75);
select p1_0.id,p1_0.dtype,p1_0.name,p1_0.version,p1_0.birth_date,p1_0.employees from party p1_0 where p1_0.dtype in ('Person') order by p1_0.id;
-- Envers by trigger rather than by the program: a revision for each transaction.
create function current_rev() returns bigint language plpgsql as $$
declare r bigint := nullif(current_setting('envers.rev', true), '')::bigint;
begin
  if r is null then
    r := nextval('revinfo_seq');
    insert into revinfo values (r, extract(epoch from timestamptz '2024-06-01 12:00+00')::bigint * 1000 + r, coalesce(nullif(current_setting('envers.username', true), ''), 'system'));
    perform set_config('envers.rev', r::text, true);
  end if;
  return r;
end $$;
create function audit_claim() returns trigger language plpgsql as $$
declare
  r constant bigint not null := current_rev();
  kind smallint := case TG_OP when 'INSERT' then 0 when 'UPDATE' then 1 else 2 end;
begin
  update claim_aud set revend = r where id = coalesce(new.id, old.id) and revend is null and rev <> r;
  insert into claim_aud as a (id, rev, revtype, status, status_mod, adjuster, adjuster_mod)
  values (coalesce(new.id, old.id), r, kind, new.status, new.status is distinct from old.status, new.adjuster, new.adjuster is distinct from old.adjuster)
  on conflict (rev, id) do update set revtype = greatest(a.revtype, excluded.revtype), status = excluded.status, status_mod = a.status_mod or excluded.status_mod, adjuster = excluded.adjuster, adjuster_mod = a.adjuster_mod or excluded.adjuster_mod;
  return null;
end $$;
create trigger audit_claim after insert or update or delete on claim for each row execute function audit_claim();
create function claim_moves() returns trigger language plpgsql as $$
declare
  names constant text[] := '{REPORTED,ASSESSED,APPROVED,SETTLED,REJECTED}';
  allowed constant jsonb := '{"0": [1, 4], "1": [2, 4], "2": [3], "3": [], "4": [0]}';
begin
  if not allowed -> old.status::text @> to_jsonb(new.status) then
    raise exception using errcode = 'CL001', message = 'claim ' || new.id || ': ' || names[old.status + 1] || ' to ' || names[new.status + 1],
      detail = 'Allowed: ' || coalesce((select string_agg(names[v::int + 1], ', ') from jsonb_array_elements_text(allowed -> old.status::text) v), 'nothing') || '.', column = 'status', table = tg_table_name;
  end if;
  if new.status = 2 and exists (select from claim_items i where i.claim_id = new.id and i.approved is null) then
    raise exception 'items of claim % are not assessed', new.id using errcode = 'CL002';
  end if;
  return new;
end $$;
create trigger claim_moves before update of status on claim for each row when (old.status is distinct from new.status) execute function claim_moves();
begin;
set local envers.username = 'call-center';
insert into claim (adjuster, occurred, policy_id, reported, status, version, id) values (null, '2024-05-20', 1, '2024-05-21 08:15:00+02', 0, 0, 1);
insert into motor_claim (at_fault, plate, id) values (false, 'B-XY 123', 1);
insert into claim (adjuster, occurred, policy_id, reported, status, version, id) values (null, '2024-05-25', 2, '2024-05-28 17:00:00+02', 0, 0, 2);
insert into home_claim (rooms, water_damage, id) values ('{1,3}', true, 2);
insert into claim_items (claim_id, items_order, coverage, amount) values (1, 0, 'glass', 900), (1, 1, 'liability', 4200.50), (2, 0, 'water', 26000), (2, 1, 'theft', 1999.99);
commit;
update claim set adjuster='kim',status=1,version=1 where id=1 and version=0;
-- A stale version changes nothing: Hibernate throws OptimisticLockException on a count of 0.
with n as (update claim set adjuster='lee',version=1 where id=1 and version=0 returning 1) select count(*) as updated from n;
update claim set status=3,version=2 where id=1 and version=1;
update claim set status=2,version=2 where id=1 and version=1;
update claim set status=9 where id=1;
create function assess(p_claim bigint) returns numeric language plpgsql as $$
declare
  i record;
  left_over numeric;
  total numeric := 0;
  used jsonb := '{}';
begin
  for i in select ci.*, pc.cover_limit, pc.rate, p.deductible from claim c join policy p on p.id = c.policy_id join claim_items ci on ci.claim_id = c.id left join policy_coverages pc on pc.policy_id = p.id and pc.coverages_key = ci.coverage where c.id = p_claim order by ci.items_order for update of ci loop
    if i.cover_limit is null then
      update claim_items set approved = 0 where claim_id = p_claim and items_order = i.items_order;
      continue;
    end if;
    left_over := i.cover_limit - coalesce((used ->> i.coverage)::numeric, 0);
    i.approved := round(least(i.amount * i.rate::numeric, left_over), 2);
    used := used || jsonb_build_object(i.coverage, coalesce((used ->> i.coverage)::numeric, 0) + i.approved);
    update claim_items set approved = i.approved where claim_id = i.claim_id and items_order = i.items_order;
    total := total + i.approved;
  end loop;
  if not found then
    raise no_data_found using message = format('claim %s has no items', p_claim);
  end if;
  raise notice 'used %', used;
  return greatest(total - (select deductible from policy where id = (select policy_id from claim where id = p_claim)), 0);
end $$;
select assess(1), assess(2);
select assess(7);
update claim set status=2,version=2 where id=1 and version=1;
select claim_id, items_order, amount, approved, amount - approved as own from claim_items order by 1, 2;
create procedure settle(p_claim bigint, p_pay uuid, inout paid numeric default null) language plpgsql as $$
begin
  select greatest(sum(approved) - min(p.deductible), 0) into paid from claim_items ci join claim c on c.id = ci.claim_id join policy p on p.id = c.policy_id where ci.claim_id = p_claim;
  insert into payment values (p_pay, p_claim, paid, '2024-06-10');
  update claim set status = 3, version = version + 1 where id = p_claim;
exception
  when sqlstate 'CL001' then
    raise notice 'not yet: %', sqlerrm;
    paid := 0;
end $$;
call settle(1, '11111111-1111-4111-8111-111111111111');
call settle(2, '22222222-2222-4222-8222-222222222222');
call settle(1, '11111111-1111-4111-8111-111111111111', 0);
select id, status, version, adjuster from claim order by id;
begin;
set local envers.username = 'kim';
update claim set adjuster = 'kim' where id = 2;
update claim set status = 4 where id = 2;
commit;
select a.id, a.rev, a.revtype, a.revend, a.status, a.status_mod, a.adjuster, a.adjuster_mod, r.username from claim_aud a join revinfo r using (rev) order by a.rev, a.id;
select a.status, a.adjuster from claim_aud a where a.id = 1 and a.rev <= 101 and (a.revend > 101 or a.revend is null);
-- The queries of the persistence layer.
select c1_0.id,case when c1_1.id is not null then 1 when c1_2.id is not null then 2 when c1_0.id is not null then 0 end,c1_0.status,c1_1.plate,c1_1.at_fault,c1_2.rooms,c1_2.water_damage from claim c1_0 left join motor_claim c1_1 on c1_0.id=c1_1.id left join home_claim c1_2 on c1_0.id=c1_2.id order by c1_0.id;
select p1_0.id,h1_0.name,c1_0.coverages_key,c1_0.cover_limit from policy p1_0 join party h1_0 on h1_0.id=p1_0.holder_id left join policy_coverages c1_0 on p1_0.id=c1_0.policy_id where p1_0.product='MOTOR' order by p1_0.number, c1_0.coverages_key desc nulls last fetch first 2 rows only;
select p1_0.number from policy p1_0 where (select count(c1_0.id) from claim c1_0 where c1_0.policy_id=p1_0.id)>=1 and date '2024-05-01' between p1_0.valid_from and coalesce(p1_0.valid_to, date '9999-12-31') order by 1 offset 0 rows fetch first 10 rows only;
select p.id from policy p where p.id in (1,2,3,5) order by p.id for no key update skip locked;
select t.product, sum(t.premium) as premium, sum(t.paid) as paid, round(100 * sum(t.paid) / nullif(sum(t.premium), 0), 1) as loss_ratio from (select p.product, p.premium, coalesce((select sum(y.amount) from payment y join claim c on c.id = y.claim_id where c.policy_id = p.id), 0) as paid from policy p) t group by cube (t.product) order by t.product nulls last;
-- Earned premium: month by month, by days.
select to_char(m, 'YYYY-MM') as month, round(sum(p.premium * (least(p.valid_to, (m + interval '1 month' - interval '1 day')::date) - greatest(p.valid_from, m::date) + 1) / (p.valid_to - p.valid_from + 1)), 2) as earned from generate_series(timestamp '2024-01-01', '2024-08-01', '1 month') m join policy p on p.valid_from <= (m + interval '1 month' - interval '1 day')::date and p.valid_to >= m::date group by m order by m;
-- A triangle of development: claims by month of occurrence and delay of the report.
insert into claim (occurred, policy_id, reported, status, version, id) select date '2024-01-10' + n * 13, 3, timestamptz '2024-01-12 09:00+00' + (n * 13 + (n * n) % 60) * interval '1 day', 0, 0, 50 + n from generate_series(1, 9) n;
select to_char(occurred, 'Mon') as occ, count(*) filter (where d = 0) as d0, count(*) filter (where d = 1) as d1, count(*) filter (where d >= 2) as later, sum(count(*)) over (order by date_trunc('month', occurred)) as cum from (select occurred, (extract(year from r) - extract(year from occurred)) * 12 + extract(month from r) - extract(month from occurred) as d from (select occurred, reported at time zone 'Europe/Berlin' as r from claim) x) y group by date_trunc('month', occurred), to_char(occurred, 'Mon') order by date_trunc('month', occurred);
-- Schema of a later release.
alter table claim add column reserve numeric(19,2) default 1000 not null;
alter table claim add column severity varchar(255) generated always as (case when reserve > 2000 then 'HIGH' when reserve > 0 then 'LOW' else 'NONE' end) stored;
update claim set reserve = 5000 where id = 51 returning severity;
update claim set severity = 'HIGH' where id = 51;
insert into claim (occurred, policy_id, reported, status, version, id) values ('2024-05-20', 1, '2024-05-21 25:15:00+02', 0, 0, 90);
insert into claim (occurred, policy_id, status, version, id) values ('2024-05-20', 1, 0, 0, 90);
delete from policy where id = 1;
delete from claim where id = 51;
select revtype, status is null from claim_aud where id = 51 order by rev;
select severity, count(*), sum(reserve), array_agg(id order by id) filter (where status = 0) from claim group by severity order by severity;
select setval('claim_seq', 101, false), nextval('claim_seq'), nextval('claim_seq');
select nextval('claims_seq');
alter sequence claim_seq increment by 1;
select nextval('claim_seq'), currval('claim_seq'), lastval();
