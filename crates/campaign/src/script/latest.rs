//! What came last: keys and triggers that wait within routines, views that keep rows to themselves, aggregates with states of
//! several fields, rows that are spread or come out of JSON, cursors by number, recursion before changes, rows that move between
//! partitions, settings as inputs of calls, several parts of WITH over one table, functions that return record, aggregates of ordered
//! sets, arrays of rows out of JSON, the stack of calls, parts of columns that are given, bytes and floats as the session shows them.

use planaria_sim::dice::Dice;

/// What is made, in one block or one by one, behind [`MORE`](super::more::MORE).
pub(super) const LATEST: &[&str] = &[
    "CREATE TABLE stage (k int PRIMARY KEY, title text)",
    "CREATE TABLE act (id int PRIMARY KEY, k int REFERENCES stage DEFERRABLE, n int, doc jsonb DEFAULT '{}')",
    "CREATE TABLE told (n bigint, what text)",
    "CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN
         INSERT INTO told VALUES (coalesce(NEW.n, OLD.n), concat_ws(' ', TG_NAME, TG_OP, TG_TABLE_NAME, TG_ARGV[0]));
         RETURN coalesce(NEW, OLD);
     END $$",
    "CREATE CONSTRAINT TRIGGER act_later AFTER INSERT OR UPDATE ON act DEFERRABLE INITIALLY DEFERRED
     FOR EACH ROW EXECUTE FUNCTION tell('later')",
    "CREATE TABLE moved (id int, k int, n int, PRIMARY KEY (id, k)) PARTITION BY LIST (k)",
    "CREATE TABLE moved_a PARTITION OF moved FOR VALUES IN (0, 1)",
    "CREATE TABLE moved_b PARTITION OF moved FOR VALUES IN (2, 3)",
    "CREATE TRIGGER a_moved BEFORE INSERT OR UPDATE OR DELETE ON moved FOR EACH ROW EXECUTE FUNCTION tell('before')",
    "CREATE TRIGGER b_moved AFTER INSERT OR UPDATE OR DELETE ON moved FOR EACH ROW EXECUTE FUNCTION tell('after')",
    "CREATE VIEW acting WITH (security_barrier) AS SELECT a.id, a.n, s.title FROM act a JOIN stage s ON s.k = a.k WHERE a.n > 2",
    "CREATE VIEW acts WITH (security_barrier) AS SELECT id, k, n FROM act WHERE n > 1",
    "CREATE FUNCTION tell_it(t text) RETURNS boolean LANGUAGE plpgsql AS $$
     BEGIN INSERT INTO told VALUES (length(t), t); RETURN t > 'c'; END $$",
    "CREATE FUNCTION span_step(s pair, x int) RETURNS pair LANGUAGE sql IMMUTABLE AS
     $$ SELECT ROW(coalesce(s.a, 0) + x, concat(s.b, '/', x))::pair $$",
    "CREATE FUNCTION span_end(s pair) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT s.a || s.b $$",
    "CREATE AGGREGATE spanned(int) (SFUNC = span_step, STYPE = pair, FINALFUNC = span_end)",
    "CREATE PROCEDURE put_act(p_id int, p_k int, p_n int) LANGUAGE plpgsql AS $$
     DECLARE doc jsonb := '{}';
     BEGIN
         SET CONSTRAINTS ALL DEFERRED;
         doc['n'] := to_jsonb(p_n);
         doc['in']['k'] := to_jsonb(p_k);
         INSERT INTO act VALUES (p_id, p_k, p_n, doc) ON CONFLICT (id) DO UPDATE SET n = act.n + excluded.n, doc['again'] = 'true';
         SET CONSTRAINTS act_later IMMEDIATE;
         UPDATE act SET n = n + 1 WHERE id = p_id;
         INSERT INTO stage VALUES (p_k, 'stage ' || p_k) ON CONFLICT DO NOTHING;
     END $$",
    "CREATE PROCEDURE spread_acts(p_low int) LANGUAGE plpgsql AS $$
     DECLARE
         r record;
         p pair;
     BEGIN
         FOR r IN SELECT id + 50, k, n FROM act WHERE id < p_low ORDER BY id LIMIT 2 LOOP
             INSERT INTO act (id, k, n) VALUES (r.*);
         END LOOP;
         p := jsonb_populate_record(ROW(p_low, 'base')::pair, '{\"b\": \"filled\"}');
         INSERT INTO told SELECT * FROM jsonb_populate_recordset(p, '[{\"a\": 1}, {\"b\": \"x\"}, {}]');
         INSERT INTO told VALUES (p.*);
     END $$",
    "CREATE PROCEDURE count_up(p_n int) LANGUAGE plpgsql AS $$
     BEGIN
         WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < p_n) UPDATE act SET n = act.n + r.n FROM r WHERE act.id = r.n;
         WITH RECURSIVE r(n) AS (SELECT 90 UNION ALL SELECT n + 1 FROM r WHERE n < 90 + p_n % 3)
         INSERT INTO moved SELECT n, n % 4, n FROM r ON CONFLICT DO NOTHING;
         WITH RECURSIVE r(n) AS (SELECT 60 UNION ALL SELECT n + 3 FROM r WHERE n < 70) DELETE FROM act USING r WHERE act.id = r.n;
     END $$",
    "CREATE PROCEDURE sum_up() LANGUAGE plpgsql AS $$
     BEGIN
         INSERT INTO told SELECT count(*), spanned(n ORDER BY id) FROM act;
         INSERT INTO told SELECT count(*), (SELECT title FROM stage s WHERE s.k = a.k) FROM act a
             GROUP BY ROLLUP ((SELECT title FROM stage s WHERE s.k = a.k)) ORDER BY 2;
         INSERT INTO told SELECT a, b FROM ROWS FROM (json_to_recordset('[{\"a\": 1, \"b\": \"y\"}]') AS (a int, b text), generate_series(1, 2));
         INSERT INTO told SELECT id, title FROM acting WHERE tell_it(title);
     END $$",
    "CREATE FUNCTION first_act(refcursor) RETURNS int LANGUAGE plpgsql AS $$
     DECLARE i int;
     BEGIN
         OPEN $1 FOR SELECT id FROM act ORDER BY id;
         MOVE $1;
         FETCH $1 INTO i;
         CLOSE $1;
         RETURN i;
     END $$",
    "CREATE PROCEDURE move_rows(p_from int, p_to int) LANGUAGE plpgsql AS $$
     BEGIN
         UPDATE moved SET k = p_to, n = n + 1 WHERE k = p_from;
         INSERT INTO told VALUES (first_act('c'), 'moved');
     END $$",
    "CREATE FUNCTION keep_step(s int[], x int) RETURNS int[] LANGUAGE sql IMMUTABLE AS $$ SELECT s || x $$",
    "CREATE FUNCTION nth_end(s int[], n int) RETURNS int LANGUAGE sql IMMUTABLE AS
     $$ SELECT x FROM unnest(s) x ORDER BY x LIMIT 1 OFFSET n $$",
    "CREATE AGGREGATE nth(int ORDER BY int) (SFUNC = keep_step, STYPE = int[], FINALFUNC = nth_end)",
    "CREATE FUNCTION acts_of(p_k int) RETURNS SETOF record LANGUAGE plpgsql AS $$
     BEGIN
         RETURN QUERY SELECT id, n FROM act WHERE k = p_k ORDER BY id;
         RETURN NEXT NULL;
     END $$",
    "CREATE PROCEDURE in_parts(p_id int, p_k int) LANGUAGE plpgsql AS $$
     DECLARE stack text;
     BEGIN
         WITH raised AS (UPDATE act SET n = n + 10 WHERE id = p_id RETURNING id),
              gone AS (DELETE FROM act WHERE id = p_id + 1 RETURNING id, n)
         UPDATE act SET n = act.n + gone.n FROM gone WHERE act.id <> gone.id AND act.k = p_k;
         INSERT INTO told SELECT a, concat('act ', b) FROM acts_of(p_k) AS t(a int, b int) WHERE a IS NOT NULL;
         INSERT INTO told SELECT nth(p_k) WITHIN GROUP (ORDER BY n), 'nth' FROM act;
         INSERT INTO told SELECT q[1].a, q[2].b FROM jsonb_to_record(jsonb_build_object('q', jsonb_build_array(
             jsonb_build_object('a', p_id), jsonb_build_object('b', 'k' || p_k)))) AS t(q pair[]);
         IF p_k = 3 THEN
             GET DIAGNOSTICS stack = PG_CONTEXT;
             INSERT INTO told VALUES (length(stack), stack);
         END IF;
     END $$",
    "CREATE TABLE owned (id int PRIMARY KEY, tenant text DEFAULT current_setting('app.tenant', true), n int DEFAULT 0)",
    "CREATE PROCEDURE own(p_id int) LANGUAGE plpgsql AS $$
     BEGIN
         INSERT INTO owned (id, n) VALUES (p_id, 1)
             ON CONFLICT (id) DO UPDATE SET n = owned.n + length(current_setting('app.tenant', true));
         IF current_setting('app.tenant', true) = 'two' THEN
             UPDATE owned SET tenant = concat(tenant, '/', current_setting('app.step', true)) WHERE id < p_id;
         END IF;
         PERFORM set_config('app.step', p_id::text, true);
     END $$",
    "CREATE TABLE shown (id int PRIMARY KEY, place pair, many pair[], seen text)",
    "CREATE PROCEDURE show_it(p_id int, x float8, y bytea) LANGUAGE plpgsql AS $$
     BEGIN
         INSERT INTO shown (id, place.b, many[2].a, place.a) VALUES (p_id, x, p_id, p_id % 3)
             ON CONFLICT (id) DO UPDATE SET place.a = (shown.place).a + 1, many[1].b = concat(x, ' ', y), seen = y::text;
     END $$",
];

/// A call or a statement over them, at most one commit.
pub(super) fn change(dice: &mut Dice) -> Vec<String> {
    let (id, k, to) = (dice.below(12), dice.below(4), dice.below(5));
    if dice.chance(15) {
        let tenant = ["one", "two", "three"][dice.below(3) as usize];
        return vec![format!("SET app.tenant = '{tenant}'"), format!("CALL own({id})")];
    }
    if dice.chance(10) {
        // Both, each time: behind a crash the script goes on in a session that has neither.
        let bytes = ["SET bytea_output = escape", "RESET bytea_output"][dice.below(2) as usize];
        let floats = ["SET extra_float_digits = 0", "RESET extra_float_digits"][dice.below(2) as usize];
        let call = format!("CALL show_it({id}, {k} / 3.0::float8, '\\x{id:02}{to}0')");
        return vec![bytes.to_owned(), floats.to_owned(), call];
    }
    vec![match dice.below(14) {
        0..4 => format!("CALL put_act({id}, {k}, {})", dice.below(9)),
        4 => format!("CALL spread_acts({id})"),
        5 => format!("CALL count_up({})", 1 + dice.below(6)),
        6 => "CALL sum_up()".to_owned(),
        7 => format!("CALL move_rows({k}, {to})"),
        8 => format!("INSERT INTO moved VALUES ({}, {to}, {id})", dice.below(40)),
        9 => format!("UPDATE acts SET n = n + 1 WHERE tell_it('x' || id) AND id > {id}"),
        10 | 11 => format!("CALL in_parts({id}, {k})"),
        12 => format!("UPDATE moved SET k = (k + 1) % 5 WHERE id = {id}"),
        _ => format!("DELETE FROM stage WHERE k = {k}"),
    }]
}
