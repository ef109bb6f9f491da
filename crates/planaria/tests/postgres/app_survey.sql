-- Surveys: questions of several kinds, answers as they come, results by group, cross tables made by hand.
SET timezone = 'UTC';
create type question_kind as enum ('scale', 'choice', 'many', 'text');
create table survey (id int primary key, title text not null, opens timestamptz not null, closes timestamptz, check (closes is null or closes > opens));
create table question (survey int references survey on delete cascade, no int, kind question_kind not null, body text not null, choices text[], lo int, hi int, primary key (survey, no), constraint scale_has_ends check ((kind = 'scale') = (lo is not null and hi is not null)), constraint choices_given check (kind not in ('choice', 'many') or cardinality(choices) >= 2));
create table person (id int primary key, born int, sex char check (sex in ('f', 'm', 'x')), region text);
create table answer (survey int, question int, person int references person, value int, picked text[], words text, at timestamp default '2024-01-01', foreign key (survey, question) references question (survey, no), unique (survey, question, person), check (num_nonnulls(value, picked, words) <= 1));
insert into survey values (1, 'Food', '2024-01-01', '2024-02-01'), (2, 'Work', '2024-01-01', null);
insert into question values (1, 1, 'scale', 'Do you like soup?', null, 1, 5), (1, 2, 'choice', 'Best meal?', '{lunch,dinner,breakfast}', null, null), (1, 3, 'many', 'What do you eat?', array['bread', 'fish', 'rice', 'nuts'], null, null), (1, 4, 'text', 'Anything else?', null, null, null), (2, 1, 'scale', 'How many hours?', null, 0, 60);
insert into question values (1, 5, 'scale', 'No ends?');
insert into question values (1, 5, 'choice', 'One?', '{only}');
insert into question values (1, 5, 'sum', 'What?');
insert into person select n, 1950 + (n * 37) % 55, (array['f', 'm', 'x'])[1 + n % 2 + (n % 11) / 10 * (1 - n % 2)], case when n % 5 = 0 then null else (array['north', 'south', 'east', 'west'])[n % 4 + 1] end from generate_series(1, 40) n;
insert into answer (survey, question, person, value) select 1, 1, id, 1 + (id * 7 + born) % 5 from person where id % 9 <> 0;
insert into answer (survey, question, person, picked) select 1, 2, p.id, q.choices[1 + p.id * p.born % 3 : 1 + p.id * p.born % 3] from person p join question q on (q.survey, q.no) = (1, 2) where p.id <= 35;
insert into answer (survey, question, person, picked) select 1, 3, p.id, array(select c from unnest(q.choices) with ordinality u(c, i) where (p.id + i) % 3 = 0 or p.born % i = 1 order by i) from person p, question q where q.survey = 1 and q.no = 3;
insert into answer (survey, question, person, words) values (1, 4, 1, 'More salt'), (1, 4, 2, ''), (1, 4, 3, null), (1, 4, 4, 'more SALT, less sugar');
insert into answer (survey, question, person, value) select 2, 1, id, (id * 13) % 50 from person where id < 31;
insert into answer (survey, question, person, value) values (1, 9, 1, 1);
insert into answer (survey, question, person, value, words) values (1, 4, 5, 1, 'x');
insert into answer (survey, question, person, value) values (2, 1, 30, 7) on conflict do nothing returning *;
insert into answer as a (survey, question, person, value) values (2, 1, 30, 7) on conflict (survey, question, person) do update set value = excluded.value + a.value where a.value > 1000 returning *;
insert into answer as a (survey, question, person, value) values (2, 1, 30, 7) on conflict on constraint answer_survey_question_person_key do update set (value, at) = (excluded.value * 2, default) returning value, at;
select value, count(*), round(count(*) * 100.0 / sum(count(*)) over (), 1) as pct, repeat('*', count(*)::int) as bar, sum(count(*)) over (order by value) as cum from answer where (survey, question) = (1, 1) group by value order by value;
select count(value), count(*), avg(value), min(value), max(value), round(stddev(value), 4) as sd, variance(value)::numeric(8,3), percentile_cont(0.5) within group (order by value) as median, percentile_disc(0.25) within group (order by value) as q1, mode() within group (order by value desc) from answer where survey = 2;
select region, sex, count(*) as n, avg(value)::numeric(4,2) as mean, grouping(region, sex) as g from person join answer on person = id and (survey, question) = (1, 1) group by grouping sets ((region, sex), (region), (sex), ()) order by g, region, sex;
select coalesce(region, case grouping(region) when 1 then 'TOTAL' else '(none)' end) as region, count(*) filter (where sex = 'f') as f, count(*) filter (where sex = 'm') as m, count(*) filter (where sex = 'x') as x, count(*) as all from person group by rollup (region) order by grouping(region), person.region nulls last;
select decade, sum(case when value = 1 then 1 else 0 end) "1", sum(case when value = 2 then 1 else 0 end) "2", sum((value = 3)::int) "3", count(1) filter (where value > 3) "4+", string_agg(distinct region, '/' order by region) regions from (select born / 10 * 10 as decade, value, region from person p left join answer a on a.person = p.id and a.survey = 1 and a.question = 1) t group by decade having count(*) > 1 order by decade desc;
select c.choice, count(a.person) as n, dense_rank() over (order by count(a.person) desc) as place from question q cross join lateral unnest(q.choices) as c(choice) left join answer a on a.survey = q.survey and a.question = q.no and c.choice = any (a.picked) where q.survey = 1 and q.kind in ('choice', 'many') group by q.no, c.choice order by q.no, place, choice;
select a.c as first, b.c as second, count(*) from answer x, unnest(x.picked) a(c), unnest(x.picked) b(c) where question = 3 and a.c < b.c group by a.c, b.c having count(*) >= 3 order by count(*) desc, 1, 2;
select array_length(picked, 1) as n, count(*) from answer where question = 3 group by 1 order by 1 nulls first;
select person, words, words ~* '\msalt\M' as salt, nullif(words, '') is null as empty, regexp_replace(words, '(\w+) (\w+)', '\2 \1') as swapped, array_length(regexp_split_to_array(trim(words), '\s+'), 1) as n from answer where question = 4 order by person;
select lower(w) as word, count(*) from answer, regexp_split_to_table(words, '[^[:alpha:]]+') as w where question = 4 and w <> '' group by 1 order by 2 desc, 1;
select value / 20 as b, min(value), max(value), count(*) from answer where survey = 2 group by 1 order by 1;
select ntile, min(value), max(value), count(*) from (select value, ntile(4) over (order by value, person) from answer where survey = 2) t group by ntile order by ntile;
select id, value, rank() over w, percent_rank() over w, cume_dist() over w, value - avg(value) over (partition by sex) > 0 as above, lag(value, 2, -1) over w from person join answer on person = id where survey = 2 window w as (partition by sex order by value desc) order by sex, value desc, id limit 12;
with base as (select p.id, p.region, max(value) filter (where survey = 1 and question = 1) as soup, max(value) filter (where survey = 2) as hours from person p left join answer a on a.person = p.id group by p.id)
select region, count(*), round(corr(soup, hours)::numeric, 6) as r, round(regr_slope(soup, hours)::numeric, 6) as slope, regr_count(soup, hours), round(covar_pop(soup, hours)::numeric, 6) as cov from base group by region order by region nulls first;
select json_object_agg(no, t.agg order by no) from (select no, json_build_object('kind', kind, 'n', (select count(*) from answer a where a.survey = q.survey and a.question = q.no), 'top', (select json_agg(x) from (select value, count(*) as n from answer a where a.survey = q.survey and a.question = q.no and value is not null group by value order by n desc, value limit 2) x)) as agg from question q where survey = 1) t;
select * from (select region, array_agg(id order by born, id) filter (where sex = 'f') ids, max(born) - min(born) as span, bit_or(id), bool_and(born > 1949), sum(distinct id % 3) from person where region is not null group by region) t order by region;
select sex, region, born from (select *, row_number() over (partition by sex order by born desc, id) rn from person) x where rn <= 2 order by sex, rn;
select distinct on (region) region, id, born from person where region is not null order by region, born, id;
select region, sex from person where id < 6 union select 'all', null union all select 'none', 'x' order by region nulls first, 2;
select id from person where id < 10 intersect select person from answer where question = 4 except (values (3)) order by 1;
select * from person p where (region, sex) in (select region, sex from person where id = 7) and id <> 7 and not exists (select from answer a where a.person = p.id and question = 2) order by id;
select q.no, q.body, s.* from question q left join lateral (select count(*) n, min(at)::date from answer a where a.survey = q.survey and a.question = q.no and q.kind <> 'text') s on q.no < 3 order by q.survey, q.no;
select region, avg(value) from person join answer on person = id;
select region, value from person join answer on person = id group by region;
select sum(count(*)) from answer group by question;
select percentile_cont(1.5) within group (order by value) from answer;
select avg(words) from answer;
select max(value) filter (where count(*) > 1) from answer;
select rank() from answer;
select region from person order by 2;
select id as n from person where n = 1;
select grouping(born) from person group by region;
-- A report kept as a function, and a view over it.
create function result(s int, q int) returns table (label text, n bigint, share numeric) language sql stable as $$
  select l, count(*), round(count(*) / sum(count(*)) over (), 3) from (
    select value::text as l from answer where survey = s and question = q and value is not null
    union all select unnest(picked) from answer where survey = s and question = q) x group by l order by l
$$;
select * from result(1, 1);
select * from result(1, 2) where n > 5;
select q.no, r.* from question q, result(q.survey, q.no) r where q.survey = 1 and r.share > 0.25 order by q.no, r.label;
create view summary as select q.survey, q.no, q.body, (select string_agg(label || '=' || n, ', ' order by label) from result(q.survey, q.no)) as result from question q where kind <> 'text';
select * from summary order by 1, 2;
create table export as select * from summary with no data;
insert into export table summary;
select count(*), count(result) from export;
update survey set closes = opens where id = 1;
update survey set closes = opens + make_interval(weeks => 2) where closes is null returning closes - opens as open_for;
delete from survey where id = 2;
delete from answer where survey = 2;
delete from survey where id = 2 returning *;
