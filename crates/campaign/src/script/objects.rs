//! Partitions, triggers, policies, views, exclusion, and types that came later: what is made of them, and steps over them.

use planaria_sim::dice::Dice;

/// What is made, in one block or one by one.
pub(super) const OBJECTS: &[&str] = &[
    "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')",
    "CREATE DOMAIN level AS int CHECK (VALUE < 50)",
    "CREATE TABLE part (id int, k int, m mood DEFAULT 'ok', l level, r int4range, ip inet, j jsonb, tags text[],
                        twice int GENERATED ALWAYS AS (k * 2) STORED, PRIMARY KEY (id, k)) PARTITION BY RANGE (k)",
    "CREATE TABLE part_low PARTITION OF part FOR VALUES FROM (MINVALUE) TO (10)",
    "CREATE TABLE part_high PARTITION OF part FOR VALUES FROM (10) TO (20) PARTITION BY HASH (id)",
    "CREATE TABLE part_high_0 PARTITION OF part_high FOR VALUES WITH (MODULUS 2, REMAINDER 0)",
    "CREATE TABLE part_high_1 PARTITION OF part_high FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
    "CREATE TABLE part_rest PARTITION OF part DEFAULT",
    "CREATE INDEX part_by_mood ON part (m, lower(tags[1])) WHERE l > 3",
    "CREATE TABLE seen (what text, n bigint, cash money, b bit(4), vb varbit(9), mac macaddr)",
    "CREATE TABLE booking (id int PRIMARY KEY, room int, during int4range, w timestamptz[],
                           EXCLUDE USING gist (room WITH =, during WITH &&))",
    "CREATE UNIQUE INDEX booking_ends ON booking ((room % 7), upper(during)) WHERE room > 2",
    "ALTER TABLE booking ENABLE ROW LEVEL SECURITY",
    "CREATE POLICY some_rooms ON booking FOR SELECT USING (room < 9)",
    "CREATE FUNCTION note_row() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN
         INSERT INTO seen VALUES (TG_OP || ' ' || TG_TABLE_NAME, NEW.id, '$1.50', B'0101', B'11' || B'0', '08:00:2b:01:02:03');
         RETURN NEW;
     END $$",
    "CREATE FUNCTION note_all() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN
         INSERT INTO seen SELECT 'all ' || string_agg(id::text, ' ' ORDER BY id), count(*), 2 * '1.25'::money FROM fresh;
         RETURN NULL;
     END $$",
    "CREATE FUNCTION check_later() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN
         IF (SELECT count(*) FROM booking WHERE room = NEW.room) > 3 THEN
             RAISE EXCEPTION 'room % is full', NEW.room USING ERRCODE = 'check_violation';
         END IF;
         INSERT INTO seen VALUES ('later', NEW.id);
         RETURN NULL;
     END $$",
    "CREATE TRIGGER part_row BEFORE INSERT OR UPDATE ON part FOR EACH ROW EXECUTE FUNCTION note_row()",
    "CREATE TRIGGER part_all AFTER INSERT ON part REFERENCING NEW TABLE AS fresh
     FOR EACH STATEMENT EXECUTE FUNCTION note_all()",
    "CREATE CONSTRAINT TRIGGER booking_later AFTER INSERT ON booking DEFERRABLE INITIALLY DEFERRED
     FOR EACH ROW EXECUTE FUNCTION check_later()",
    "CREATE VIEW low AS SELECT id, k, m, l FROM part WHERE k < 10 WITH CHECK OPTION",
    "CREATE MATERIALIZED VIEW sums AS SELECT m, count(*) AS n, sum(k) AS k FROM part GROUP BY m",
    "CREATE PROCEDURE put_part(p_id int, p_k int, p_m mood, p_l int) LANGUAGE plpgsql AS $$
     BEGIN
         INSERT INTO part VALUES (p_id, p_k, p_m, p_l, int4range(p_k, p_k + p_l), '10.0.0.1'::inet + p_id,
             jsonb_build_object('k', p_k, 'at', now()), ARRAY[p_m::text, repeat('x', p_l)])
         ON CONFLICT (id, k) DO UPDATE SET l = excluded.l, j = part.j || excluded.j, tags = part.tags || 'again'::text;
     END $$",
    "CREATE PROCEDURE merge_part(p_low int, p_high int, p_k int) LANGUAGE plpgsql AS $$
     BEGIN
         MERGE INTO part p USING generate_series(p_low, p_high) AS s(id) ON p.id = s.id
         WHEN MATCHED AND p.k > 22 THEN DELETE
         WHEN MATCHED THEN UPDATE SET r = r * '[3,30)', ip = ip + 1
         WHEN NOT MATCHED THEN INSERT (id, k, l) VALUES (s.id, p_k, 1);
     END $$",
    "CREATE PROCEDURE move_part(p_id int, p_by int) LANGUAGE plpgsql AS $$
     BEGIN
         UPDATE part SET k = k + p_by WHERE id = p_id;
     END $$",
    "CREATE PROCEDURE drop_part(p_id int) LANGUAGE plpgsql AS $$
     BEGIN
         WITH gone AS (DELETE FROM part WHERE id = p_id RETURNING id, k)
         INSERT INTO seen SELECT 'gone ' || k, id FROM gone;
     END $$",
    "CREATE PROCEDURE walk_part(p_k int) LANGUAGE plpgsql AS $$
     DECLARE
         c CURSOR (at int) FOR SELECT * FROM part WHERE k >= at ORDER BY id, k;
         p part%ROWTYPE;
     BEGIN
         OPEN c(p_k);
         LOOP
             FETCH c INTO p;
             EXIT WHEN NOT FOUND;
             IF p.id % 3 = 0 THEN DELETE FROM part WHERE CURRENT OF c;
             ELSE UPDATE part SET m = 'happy', tags[1] = 'walked' WHERE CURRENT OF c;
             END IF;
         END LOOP;
     END $$",
    "CREATE PROCEDURE book(p_id int, p_room int, p_from int) LANGUAGE plpgsql AS $$
     BEGIN
         INSERT INTO booking VALUES (p_id, p_room, int4range(p_from, p_from + 4), ARRAY[now(), NULL]);
         NOTIFY booked, 'one';
     EXCEPTION WHEN exclusion_violation THEN
         INSERT INTO seen VALUES ('taken', p_id);
     END $$",
    "CREATE TABLE doc (id int PRIMARY KEY, body text, at timetz DEFAULT '12:00+02', grid int[], p jsonpath, q tsquery,
                       words tsvector GENERATED ALWAYS AS (to_tsvector('english', body)) STORED)",
    "CREATE INDEX doc_by_time ON doc (at, cardinality(grid))",
    "CREATE PROCEDURE write_doc(p_id int, p_body text, p_at timetz, p_x int) LANGUAGE plpgsql AS $$
     DECLARE
         cells int[] := '[0:1][1:2]={{1,2},{3,NULL}}';
     BEGIN
         cells[p_x % 2][2] := p_x;
         INSERT INTO doc VALUES (p_id, p_body, p_at, cells, '$.k ? (@ > 3)', to_tsquery('english', 'words & !moved'))
         ON CONFLICT (id) DO UPDATE SET body = doc.body || ' ' || excluded.body, grid = doc.grid || excluded.grid[0:0][1:2],
             at = doc.at + interval '7 minutes', q = doc.q || excluded.q;
         UPDATE part SET j['seen'][0] = to_jsonb(p_x) WHERE id = p_id AND j @? (SELECT p FROM doc WHERE id = p_id);
     END $$",
    "CREATE PROCEDURE find_doc(p_query text) LANGUAGE plpgsql AS $$
     BEGIN
         DELETE FROM doc WHERE words @@ to_tsquery('english', p_query) AND id % 3 = 0;
         UPDATE doc SET body = 'moved ' || id, grid[0][1] = grid[1][2] WHERE words @@ q AND array_ndims(grid) = 2;
     END $$",
    "CREATE PROCEDURE forget() LANGUAGE plpgsql AS $$ BEGIN TRUNCATE seen; INSERT INTO seen VALUES ('forgotten', 0); END $$",
];

/// What changes with the steps.
#[derive(Default)]
pub(super) struct Later {
    detached: bool,
    tables: u64,
    labels: u64,
    disabled: bool,
}

/// A call or a statement over them, at most one commit.
pub(super) fn change(dice: &mut Dice) -> String {
    let (id, k) = (dice.below(12), dice.below(30));
    match dice.below(17) {
        0..3 => {
            let mood = dice.of(&["sad", "ok", "happy"]);
            format!("CALL put_part({id}, {k}, '{mood}', {})", dice.below(60))
        }
        3 => format!("CALL merge_part({id}, {}, {k})", id + dice.below(5)),
        4 => format!("CALL move_part({id}, {})", dice.below(15)),
        5 => format!("CALL drop_part({id})"),
        6 => format!("CALL walk_part({k})"),
        7 | 8 => format!("CALL book({}, {}, {})", dice.below(40), dice.below(6), dice.below(20)),
        9 => "CALL forget()".to_owned(),
        10 => format!("UPDATE low SET l = {k}, k = k + {} WHERE id = {id}", dice.below(8)),
        11 => format!("INSERT INTO low VALUES ({id}, {}, 'sad', 2) ON CONFLICT DO NOTHING", dice.below(12)),
        12 => format!("UPDATE part SET j = j || '{{\"z\": [{k}]}}', k = {k} WHERE id = {id} AND twice > 10"),
        13 | 14 => {
            let body = dice.of(&["words of it", "moved words", "the foxes ran", ""]);
            format!("CALL write_doc({id}, '{body}', '{:02}:{k:02}-0{}', {k})", dice.below(24), dice.below(9))
        }
        15 => format!("CALL find_doc('{}')", dice.of(&["fox", "word & !move", "mov:*"])),
        _ => format!("DELETE FROM booking WHERE room = {}", dice.below(6)),
    }
}

impl Later {
    /// A change of the schema.
    pub(super) fn define(&mut self, dice: &mut Dice) -> Vec<String> {
        match dice.below(9) {
            0..3 => {
                self.detached = !self.detached;
                vec![match self.detached {
                    true => "ALTER TABLE part DETACH PARTITION part_high".to_owned(),
                    false => {
                        "ALTER TABLE part ATTACH PARTITION part_high FOR VALUES FROM (10) TO (20)".to_owned()
                    }
                }]
            }
            3 => vec!["REFRESH MATERIALIZED VIEW sums".to_owned()],
            4 => {
                self.labels += 1;
                vec![format!("ALTER TYPE mood ADD VALUE 'mood {}' BEFORE 'ok'", self.labels)]
            }
            5 => {
                self.tables += 1;
                vec![format!(
                    "DO $$ DECLARE n int; BEGIN
                         CREATE TABLE made_{0} AS SELECT id, m, r FROM part;
                         SELECT count(*) INTO n FROM made_{0};
                         EXECUTE format('ALTER TABLE made_{0} ADD COLUMN n int DEFAULT %s', n);
                         INSERT INTO seen VALUES ('made', n);
                     END $$",
                    self.tables
                )]
            }
            6 => {
                self.disabled = !self.disabled;
                vec![format!(
                    "ALTER TABLE part {} TRIGGER part_row",
                    if self.disabled { "DISABLE" } else { "ENABLE" }
                )]
            }
            7 => vec!["TRUNCATE part_low".to_owned()],
            _ => vec![
                "BEGIN".to_owned(),
                change(dice),
                "SAVEPOINT a".to_owned(),
                "TRUNCATE part_rest".to_owned(),
                change(dice),
                "ROLLBACK TO a".to_owned(),
                change(dice),
                "COMMIT".to_owned(),
            ],
        }
    }
}
