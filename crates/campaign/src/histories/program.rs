//! Operations of a transaction, as numbers, and a procedure that does them.

use super::KEYS;
use planaria_sim::dice::Dice;

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Do {
    GetByKey,
    GetByTag,
    ScanKeys,
    ScanKeysDown,
    ScanGroups,
    ScanTagsDown,
    Insert,
    Update,
    Delete,
    UpdateGroups,
    DeleteGroups,
    /// An update in a block whose handler takes it back.
    UpdateUndone,
    /// A read that claims the row.
    GetForUpdate,
}

/// In the order of their numbers in [`PROGRAM`], from 1.
const ALL: [Do; 13] = [
    Do::GetByKey,
    Do::GetByTag,
    Do::ScanKeys,
    Do::ScanKeysDown,
    Do::ScanGroups,
    Do::ScanTagsDown,
    Do::Insert,
    Do::Update,
    Do::Delete,
    Do::UpdateGroups,
    Do::DeleteGroups,
    Do::UpdateUndone,
    Do::GetForUpdate,
];

/// An operation.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    pub what: Do,
    pub a: i64,
    /// Not less than `a`.
    pub b: i64,
    pub group: i64,
    pub tag: Option<i64>,
    /// Microseconds to wait behind it.
    pub pause: i64,
}

impl Operation {
    pub fn draw(dice: &mut Dice, writes: bool) -> Operation {
        let what = match writes {
            true => dice.of(&[
                Do::GetByKey,
                Do::GetByKey,
                Do::GetByKey,
                Do::GetByTag,
                Do::ScanKeys,
                Do::ScanKeysDown,
                Do::ScanGroups,
                Do::ScanTagsDown,
                Do::Insert,
                Do::Insert,
                Do::Update,
                Do::Update,
                Do::Update,
                Do::Delete,
                Do::Delete,
                Do::UpdateGroups,
                Do::DeleteGroups,
                Do::UpdateUndone,
                Do::GetForUpdate,
            ]),
            false => ALL[dice.below(6) as usize],
        };
        let a = dice.below(KEYS as u64) as i64;
        let reach = if matches!(what, Do::UpdateGroups | Do::DeleteGroups) { 1 } else { 4 };
        let tag = dice.chance(60).then(|| dice.below(KEYS as u64) as i64);
        let pause = if dice.chance(35) { 1 + dice.below(120) as i64 } else { 0 };
        // Groups are few: so that many rows are in each.
        let a = if matches!(what, Do::ScanGroups | Do::UpdateGroups | Do::DeleteGroups) { a % 4 } else { a };
        Operation { what, a, b: a + dice.below(reach) as i64, group: dice.below(4) as i64, tag, pause }
    }

    pub fn draw_some(dice: &mut Dice, writes: bool) -> Vec<Operation> {
        (0..1 + dice.below(5)).map(|_| Operation::draw(dice, writes)).collect()
    }

    /// As [`PROGRAM`] takes it.
    pub fn numbers(&self) -> [i64; 6] {
        let number = ALL.iter().position(|w| *w == self.what).unwrap_or(0) as i64 + 1;
        [number, self.a, self.b, self.group, self.tag.unwrap_or(-1), self.pause]
    }
}

/// Does operations, six numbers each; write number `i` (from 0) of operation number `n` (from 1) makes version
/// `p_version + 64 n + i`. Answers with what each saw: how many rows, then key and version of each; of writes
/// of one row: 0 if it was written, 1 if the key was in the way (of an insert) or missing, 2 if the tag was.
pub const PROGRAM: &str = "
    CREATE PROCEDURE program(p_version bigint, p_ops bigint[], INOUT p_log bigint[] DEFAULT NULL)
    LANGUAGE plpgsql AS $$
    DECLARE
        n int := 0;
        c bigint;
        a bigint;
        b bigint;
        g bigint;
        x bigint;
        v bigint;
        seen bigint[];
        k int;
        r record;
    BEGIN
        p_log := ARRAY[]::bigint[];
        WHILE n * 6 < array_length(p_ops, 1) LOOP
            c := p_ops[n * 6 + 1];
            a := p_ops[n * 6 + 2];
            b := p_ops[n * 6 + 3];
            g := p_ops[n * 6 + 4];
            x := p_ops[n * 6 + 5];
            IF x < 0 THEN
                x := NULL;
            END IF;
            n := n + 1;
            v := p_version + n * 64;
            k := 0;
            seen := ARRAY[]::bigint[];
            IF c = 1 THEN
                FOR r IN SELECT id, version FROM t WHERE id = a LOOP
                    k := k + 1; seen := seen || r.id || r.version;
                END LOOP;
            ELSIF c = 2 THEN
                FOR r IN SELECT id, version FROM t WHERE tag = a LOOP
                    k := k + 1; seen := seen || r.id || r.version;
                END LOOP;
            ELSIF c = 3 THEN
                FOR r IN SELECT id, version FROM t WHERE id BETWEEN a AND b ORDER BY id LOOP
                    k := k + 1; seen := seen || r.id || r.version;
                END LOOP;
            ELSIF c = 4 THEN
                FOR r IN SELECT id, version FROM t WHERE id BETWEEN a AND b ORDER BY id DESC LOOP
                    k := k + 1; seen := seen || r.id || r.version;
                END LOOP;
            ELSIF c = 5 THEN
                FOR r IN SELECT id, version FROM t WHERE grp BETWEEN a AND b ORDER BY grp, id LOOP
                    k := k + 1; seen := seen || r.id || r.version;
                END LOOP;
            ELSIF c = 6 THEN
                FOR r IN SELECT id, version FROM t WHERE tag BETWEEN a AND b ORDER BY tag DESC LOOP
                    k := k + 1; seen := seen || r.id || r.version;
                END LOOP;
            ELSIF c = 7 THEN
                BEGIN
                    INSERT INTO t VALUES (a, v, g, x);
                EXCEPTION WHEN unique_violation THEN
                    k := 2;
                    IF EXISTS (SELECT 1 FROM t WHERE id = a) THEN
                        k := 1;
                    END IF;
                END;
            ELSIF c = 8 THEN
                BEGIN
                    UPDATE t SET version = v, grp = g, tag = x WHERE id = a;
                    IF NOT FOUND THEN
                        k := 1;
                    END IF;
                EXCEPTION WHEN unique_violation THEN
                    k := 2;
                END;
            ELSIF c = 9 THEN
                DELETE FROM t WHERE id = a;
                IF NOT FOUND THEN
                    k := 1;
                END IF;
            ELSIF c = 10 THEN
                FOR r IN SELECT id, tag FROM t WHERE grp BETWEEN a AND b ORDER BY id LOOP
                    UPDATE t SET version = v + k, grp = g WHERE id = r.id;
                    k := k + 1; seen := seen || r.id || coalesce(r.tag, -1);
                END LOOP;
            ELSIF c = 11 THEN
                FOR r IN SELECT id, version FROM t WHERE grp BETWEEN a AND b ORDER BY id LOOP
                    DELETE FROM t WHERE id = r.id;
                    k := k + 1; seen := seen || r.id || r.version;
                END LOOP;
            ELSIF c = 12 THEN
                BEGIN
                    UPDATE t SET version = v, grp = g WHERE id = a;
                    RAISE EXCEPTION 'back';
                EXCEPTION WHEN raise_exception THEN
                    k := 0;
                END;
            ELSIF c = 13 THEN
                FOR r IN SELECT id, version FROM t WHERE id = a FOR UPDATE LOOP
                    k := k + 1; seen := seen || r.id || r.version;
                END LOOP;
            END IF;
            p_log := p_log || k::bigint || seen;
            IF p_ops[n * 6] > 0 THEN
                PERFORM pg_sleep(p_ops[n * 6] / 1000000.0);
            END IF;
        END LOOP;
        -- said: array_to_string(p_log, ' ')
    END $$;\n";

/// Copies a row: the copy is in the group that is the procedure's generation. Answers with the version that it
/// copied, NULL where there was no row, and with its generation.
const COPY: &str = "
    CREATE OR REPLACE PROCEDURE copy_row(p_from bigint, p_to bigint, p_version bigint,
        INOUT p_seen bigint DEFAULT NULL, INOUT p_generation bigint DEFAULT NULL) LANGUAGE plpgsql AS $$
    BEGIN
        SELECT version INTO p_seen FROM t WHERE id = p_from;
        p_generation := :generation;
        UPDATE t SET version = p_version, grp = :generation, tag = NULL WHERE id = p_to;
        IF NOT FOUND THEN
            INSERT INTO t VALUES (p_to, p_version, :generation, NULL);
        END IF;
        -- said: p_generation || ' ' || coalesce(p_seen::text, '')
    END $$;\n";

/// The procedures that clients call.
pub fn procedures() -> String {
    PROGRAM.to_owned() + &COPY.replace(":generation", "1")
}

/// The same procedures, which also write down their answers. So after a crash that came before a client had its
/// answer, it is known whether the transaction is there, and what it saw.
pub fn saying() -> String {
    SAID.to_owned() + &said(&procedures())
}

/// Puts the next generation of a procedure of [`saying`] in its place.
pub fn saying_copy(generation: i64) -> String {
    said(&COPY.replace(":generation", &generation.to_string()))
}

fn said(procedures: &str) -> String {
    let said = "INSERT INTO said VALUES (p_version / 65536, $1);";
    let line = |line: &str| match line.trim().strip_prefix("-- said: ") {
        Some(answer) => said.replace("$1", answer) + "\n",
        None => line.to_owned() + "\n",
    };
    procedures.lines().map(line).collect()
}

/// By the number of a transaction: numbers of its answer.
pub const SAID: &str = "CREATE TABLE said (id bigint PRIMARY KEY, answer text NOT NULL);\n";
