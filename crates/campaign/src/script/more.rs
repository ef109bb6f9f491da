//! What came later still: texts without case, aggregates of one's own, rows that routines give, changes in WITH that are read as
//! before, cursors of a session, bodies that are no strings, rows that a trigger's event does not have.

use planaria_sim::dice::Dice;

/// What is made, in one block or one by one, behind [`OBJECTS`](super::objects::OBJECTS).
pub(super) const MORE: &[&str] = &[
    "CREATE EXTENSION citext",
    "CREATE TYPE pair AS (a int, b text)",
    "CREATE TABLE person (id int PRIMARY KEY, name citext UNIQUE, home pair, homes pair[], span daterange, m mood,
                          score numeric(8,2) DEFAULT 0, seen int DEFAULT 0)",
    "CREATE INDEX person_by_name ON person (name, lower(span))",
    "CREATE TABLE audit (op text, old jsonb, new jsonb)",
    "CREATE FUNCTION audit_row() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN
         INSERT INTO audit (op, old, new) VALUES (TG_OP, to_jsonb(OLD), to_jsonb(NEW));
         RETURN NULL;
     END $$",
    "CREATE TRIGGER person_audit AFTER INSERT OR UPDATE OR DELETE ON person FOR EACH ROW EXECUTE FUNCTION audit_row()",
    "CREATE FUNCTION plus_twice(s numeric, x numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS 'SELECT s + 2 * x'",
    "CREATE AGGREGATE twice(numeric) (SFUNC = plus_twice, STYPE = numeric, INITCOND = '0')",
    "CREATE FUNCTION split_home(p person, OUT home pair, OUT others pair[]) LANGUAGE plpgsql AS $$
     BEGIN
         home := ROW(coalesce((p.home).a, 0) + 1, p.name)::pair;
         others := p.homes || home;
     END $$",
    "CREATE FUNCTION home_of(p_id int) RETURNS text LANGUAGE sql STABLE
     RETURN (SELECT coalesce((p.home).b, 'none') FROM person p WHERE p.id = p_id)",
    "CREATE PROCEDURE note_home(p_id int) LANGUAGE sql
     BEGIN ATOMIC
         UPDATE person SET seen = seen + 1 WHERE id = p_id;
         INSERT INTO audit (op) VALUES (home_of(p_id));
     END",
    "CREATE PROCEDURE put_person(p_id int, p_name text, p_n int) LANGUAGE plpgsql AS $$
     BEGIN
         INSERT INTO person (id, name, home, homes, span, m, score)
         VALUES (p_id, p_name, ROW(p_n, p_name)::pair, ARRAY[ROW(p_n, 'first')::pair],
                 daterange('2024-01-01'::date + p_n, '2024-03-01'::date + p_n), 'ok', p_n)
         ON CONFLICT (name) DO UPDATE SET score = person.score + excluded.score, home.b = excluded.name, homes[2].a = p_n;
     END $$",
    "CREATE PROCEDURE move_homes(p_low int) LANGUAGE plpgsql AS $$
     DECLARE
         p person;
         given record;
     BEGIN
         FOR p IN SELECT * FROM person WHERE id >= p_low ORDER BY id LIMIT 3 LOOP
             SELECT * INTO given FROM split_home(p);
             UPDATE person SET home = given.home, homes = given.others[1:3] WHERE id = p.id;
         END LOOP;
     END $$",
    "CREATE PROCEDURE shift_scores(p_by int) LANGUAGE plpgsql AS $$
     BEGIN
         WITH raised AS (UPDATE person SET score = score + p_by WHERE id % 2 = 0 RETURNING id, score),
              noted AS (INSERT INTO audit (op) SELECT 'sum ' || coalesce(twice(score), 0) FROM person RETURNING op)
         INSERT INTO audit (op, old) SELECT 'raised', jsonb_agg(r.score ORDER BY r.id) FROM raised r, noted;
     END $$",
    "CREATE PROCEDURE in_parts(p_id int) LANGUAGE plpgsql AS $$
     BEGIN
         UPDATE person SET seen = seen + 10 WHERE id = p_id;
         COMMIT;
     END $$",
];

/// A call or a statement over them, at most one commit.
pub(super) fn change(dice: &mut Dice) -> Vec<String> {
    let id = dice.below(12);
    let one = match dice.below(12) {
        0..4 => {
            let name = dice.of(&["Ann", "ann", "BOB", "bob", "Cy", "dEE"]);
            format!("CALL put_person({id}, '{name}', {})", dice.below(40))
        }
        4 => format!("CALL move_homes({id})"),
        5 => format!("CALL shift_scores({})", dice.below(9)),
        6 => format!("CALL note_home({id})"),
        7 => format!("DELETE FROM person WHERE name = '{}'", dice.of(&["ANN", "Bob", "cy"])),
        8 => format!("CALL in_parts({id})"),
        9 => {
            format!("UPDATE person SET m = 'happy', span = span * '[2024-01-10,2024-02-20)' WHERE id > {id}")
        }
        _ => return with_cursor(dice, id),
    };
    vec![one]
}

/// A block that changes the row on which its cursor stands.
fn with_cursor(dice: &mut Dice, id: u64) -> Vec<String> {
    let change = match dice.chance(70) {
        true => "UPDATE person SET score = score + 1, name = name || 'x' WHERE CURRENT OF c",
        false => "DELETE FROM person WHERE CURRENT OF c",
    };
    // One that stands on no row is an answer, too.
    [
        "BEGIN".to_owned(),
        format!("DECLARE c CURSOR FOR SELECT * FROM person WHERE id >= {id} FOR UPDATE"),
        "FETCH c".to_owned(),
        change.to_owned(),
        "COMMIT".to_owned(),
    ]
    .into()
}
