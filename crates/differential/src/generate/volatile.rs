//! Volatile expressions in every clause: how often one is computed, and for which rows.
//!
//! Functions count their calls: `tick` by a sequence, `note` and `ask` by rows of a table, that are read
//! behind every statement. Which row gets which value of a sequence depends on the order in which rows are
//! read: so such values stand alone in a row, or in rows that are all the same, or behind a total ORDER BY.
//!
//! Not generated: conditions of one table beside a join, semijoins, and conditions that an index might keep
//! from being asked: how often these are computed follows from the plan. Nor LIMIT over a query of WITH and over UNION
//! ALL, of which PostgreSQL computes no more rows than are wanted.

use super::{Statement, plain};
use crate::rng::Rng;
use crate::schema::Ty;
use crate::tree::{Node, expr, seq, text};

const SCHEMA: &[&str] = &[
    "CREATE SEQUENCE s",
    "CREATE SEQUENCE ticks",
    "CREATE TABLE calls (x integer)",
    "CREATE FUNCTION tick(x integer) RETURNS integer LANGUAGE plpgsql AS \
     $$ BEGIN PERFORM nextval('ticks'); RETURN x; END $$",
    "CREATE FUNCTION note(x integer) RETURNS integer LANGUAGE plpgsql AS \
     $$ BEGIN INSERT INTO calls VALUES (x); RETURN x; END $$",
    "CREATE FUNCTION ask(x integer) RETURNS boolean LANGUAGE plpgsql AS \
     $$ BEGIN INSERT INTO calls VALUES (x); RETURN x % 2 = 0; END $$",
    "CREATE FUNCTION strictly(x integer) RETURNS integer LANGUAGE plpgsql STRICT AS \
     $$ BEGIN RETURN note(x + 100); END $$",
    "CREATE FUNCTION one() RETURNS integer LANGUAGE sql AS $$ SELECT tick(1) $$",
    "CREATE FUNCTION twice(x integer) RETURNS integer LANGUAGE sql AS $$ SELECT x + x $$",
    "CREATE TABLE g (id integer PRIMARY KEY, a integer, b integer)",
    "CREATE TABLE h (id integer PRIMARY KEY, a integer)",
    "CREATE TABLE d (a integer, b integer)",
    "CREATE TABLE w (id integer DEFAULT nextval('s'), y integer DEFAULT tick(7), z integer CHECK (note(z) < 900))",
    "CREATE FUNCTION total() RETURNS bigint LANGUAGE plpgsql AS \
     $$ BEGIN RETURN (SELECT coalesce(sum(a), 0) + count(*) FROM d); END $$",
    "CREATE FUNCTION left_of(x bigint) RETURNS bigint LANGUAGE sql AS \
     $$ SELECT x + (SELECT count(*) FROM d WHERE a = 1) $$",
    "CREATE VIEW v AS SELECT id, tick(a) AS x, b FROM g",
];

/// Queries. `$v` is a volatile number of a row of `g`, `$q` such a condition, `$f` one that is not; `$n` a small
/// number, `$o` a total order of `g` that no index has. Those that begin with `>` have an order.
const QUERIES: &[&str] = &[
    "SELECT id, $v FROM g WHERE $f",
    "SELECT $v, $v FROM g",
    "SELECT id FROM g WHERE $q",
    "SELECT id, $v FROM g WHERE $q",
    "SELECT count(*) FROM g WHERE nextval('s') % 2 = 0",
    "SELECT count(*) FROM g WHERE tick($n) < $n",
    "SELECT nextval('s'), currval('s') FROM g",
    "SELECT nextval('s') FROM g LIMIT $n",
    "SELECT nextval('s') FROM g OFFSET $n LIMIT $n",
    "SELECT nextval('s') FROM g WHERE $f",
    ">SELECT id, nextval('s') FROM g ORDER BY id LIMIT $n",
    ">SELECT id, nextval('s'), $v FROM g ORDER BY $o LIMIT $n OFFSET $n",
    ">SELECT id, nextval('s') FROM g ORDER BY $o",
    ">SELECT id, nextval('s') - min(a) FROM g GROUP BY id ORDER BY id DESC LIMIT $n",
    ">SELECT id, $v FROM g WHERE $q ORDER BY $o LIMIT $n",
    ">SELECT id, note(a) FROM g ORDER BY note(a), id LIMIT $n",
    ">SELECT id, tick(a) + 1 FROM g ORDER BY tick(a) + 1, id",
    "SELECT count(*) FROM g, h WHERE nextval('s') % 3 = 0",
    "SELECT count(*) FROM g JOIN h ON nextval('s') % 2 = 0",
    "SELECT g.id, h.id FROM g LEFT JOIN h ON tick($n) < $n",
    "SELECT g.id, h.id FROM g LEFT JOIN h ON g.a = h.a AND tick($n) < $n",
    "SELECT g.id, h.id FROM g JOIN h ON g.a = h.a AND note(g.id + h.id) > $n",
    "SELECT g.id, h.id, note(g.id + h.id) FROM g LEFT JOIN h ON g.a = h.a",
    "SELECT note(b) FROM g GROUP BY b",
    "SELECT tick(b), count(*) FROM g GROUP BY tick(b)",
    "SELECT note(b), count(*) FROM g GROUP BY 1",
    "SELECT b, count(*) FROM g GROUP BY b HAVING ask(b)",
    "SELECT b FROM g GROUP BY b HAVING tick($n) < $n",
    "SELECT b, note(b), count(*) FROM g GROUP BY b HAVING count(*) > 1",
    "SELECT b, count(*) FROM g WHERE $q GROUP BY b",
    "SELECT max(id) FROM g HAVING note(max(id)) > $n",
    "SELECT sum($v), count($v) FROM g",
    "SELECT sum(tick(a)), sum(tick(a)) FROM g",
    "SELECT b, max($v) FROM g GROUP BY b",
    "SELECT count(*) FILTER (WHERE $q), max($v) FILTER (WHERE $f) FROM g",
    "SELECT count(*) FILTER (WHERE nextval('s') % 2 = 0) FROM g",
    "SELECT DISTINCT $v FROM g",
    "SELECT DISTINCT b, tick(b) FROM g",
    ">SELECT DISTINCT ON (b) b, id, note(id) FROM g ORDER BY b, id",
    "SELECT id, $v, row_number() OVER (ORDER BY id) FROM g",
    "SELECT id, sum($v) OVER (PARTITION BY b) FROM g",
    "SELECT x, x FROM (SELECT $v AS x FROM g) q",
    "SELECT id FROM (SELECT id, $v AS x FROM g) q",
    "SELECT id, x + x FROM (SELECT id, $v AS x FROM g) q WHERE x > $n",
    "SELECT id, x FROM (SELECT id, $v AS x FROM g) q WHERE x > $n AND x < 9",
    "SELECT x FROM (SELECT nextval('s') AS x FROM g) q LIMIT $n",
    "SELECT count(*) FROM (SELECT nextval('s') AS x FROM g) q",
    "SELECT id, x, x FROM v WHERE x > $n",
    "SELECT id FROM v",
    "SELECT p.id, p.x, r.x FROM v p JOIN v r ON p.id = r.id",
    "WITH w AS (SELECT id, $v AS x FROM g) SELECT p.x, r.x FROM w p JOIN w r ON p.id = r.id",
    "WITH w AS (SELECT id, $v AS x FROM g) SELECT x, id FROM w WHERE x > $n",
    "WITH w AS (SELECT nextval('s') AS x FROM g) SELECT count(DISTINCT x), sum(x) - sum(x) FROM w",
    "WITH w AS (SELECT $v AS x FROM g) SELECT 1",
    "WITH w AS MATERIALIZED (SELECT id, $v AS x FROM g) SELECT id FROM w",
    "WITH w AS (SELECT random() AS x FROM g) SELECT count(DISTINCT p.x) FROM w p JOIN w r ON p.x = r.x",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT tick(n + 1) FROM r WHERE n < $n) SELECT n, n FROM r",
    "WITH RECURSIVE r(n) AS (SELECT tick(1) UNION SELECT n + 1 FROM r WHERE note(n) < $n) SELECT n FROM r",
    "SELECT id, (SELECT $v) FROM g",
    "SELECT id, (SELECT note($n)) FROM g",
    "SELECT id, (SELECT nextval('s')) - (SELECT nextval('s')) FROM g",
    "SELECT id, (SELECT max(tick(h.a)) FROM h) FROM g",
    "SELECT id, (SELECT max(note(h.a)) FROM h WHERE h.id <= g.id) FROM g",
    "SELECT id, (SELECT count(*) FROM h WHERE note(h.id) < g.id) FROM g",
    "SELECT id FROM g WHERE a > (SELECT note($n))",
    "SELECT n FROM generate_series(1, 3) n WHERE (SELECT $q)",
    "SELECT ARRAY(SELECT note(a) FROM g ORDER BY id)::text",
    "SELECT EXISTS (SELECT FROM g WHERE ask($n))",
    "SELECT id, x FROM g, LATERAL (SELECT $v AS x) q",
    "SELECT id, x FROM g LEFT JOIN LATERAL (SELECT $v AS x) q ON x > $n",
    "SELECT id, x, x FROM g CROSS JOIN LATERAL (SELECT note(g.a + h.a) AS x FROM h WHERE h.id <= $n) q",
    "SELECT id, f FROM g, tick($n) AS f",
    "SELECT id, f FROM g, tick(g.a) AS f",
    "SELECT n FROM generate_series(1, tick($n)) AS n",
    "SELECT id, n FROM g, generate_series(1, note(g.b % 3)) AS n",
    "SELECT $v FROM g UNION ALL SELECT tick(a) FROM h",
    "SELECT $v FROM g UNION SELECT note(a) FROM h",
    "SELECT $v FROM g EXCEPT SELECT note(a) FROM h",
    "VALUES (tick(1), note($n)), (one(), note(nextval('s')::integer))",
    "SELECT x, x FROM (VALUES (nextval('s')), (nextval('s'))) q (x)",
    "SELECT id FROM g WHERE random() BETWEEN 0 AND 1",
    "SELECT id, (random() * 0)::integer FROM g WHERE random() >= 0 AND $q",
    "SELECT count(DISTINCT random()), count(DISTINCT gen_random_uuid()) FROM g",
    "SELECT count(DISTINCT x) FROM (SELECT random() AS x FROM g) q",
    "SELECT count(DISTINCT x) FROM (SELECT (SELECT random()) AS x FROM g) q",
    "SELECT count(DISTINCT x) FROM g, LATERAL (SELECT random() + g.id * 0 AS x) q",
    "SELECT count(*) FROM g WHERE random() = random()",
    "SELECT tick($n), note($n)",
    ">SELECT id FROM g ORDER BY $o LIMIT tick($n) OFFSET note(0)",
    "SELECT CASE WHEN tick($n) > $n THEN note(1) ELSE note(2) END",
    "SELECT id, $f AND ask(id), $f OR ask(id) FROM g",
];

/// Changes of `g` and `w`, of single rows.
const CHANGES: &[&str] = &[
    "UPDATE g SET b = $v WHERE $f",
    "UPDATE g SET b = $v, a = $v",
    "UPDATE g SET b = b + 1 WHERE $q",
    "UPDATE g SET b = (SELECT $v) WHERE $q RETURNING id, b",
    "UPDATE g SET (a, b) = (SELECT $v, $v) WHERE $f",
    "UPDATE g SET a = h.a FROM h WHERE h.id = g.id AND note(g.id + h.id) > $n",
    "UPDATE g SET b = $n WHERE $f RETURNING id, $v",
    "UPDATE g SET b = CASE WHEN $f THEN note(b) ELSE b END",
    "DELETE FROM g WHERE $q",
    "DELETE FROM g WHERE $f RETURNING $v, $v",
    "DELETE FROM g WHERE $q RETURNING id, $v",
    "DELETE FROM g USING h WHERE h.id = g.id AND ask(g.id + h.id)",
    "INSERT INTO g (id, a) VALUES ($n, tick($n)) ON CONFLICT (id) DO NOTHING",
    "INSERT INTO g (id, a) VALUES ($n, note($n)) ON CONFLICT (id) DO UPDATE SET a = note(excluded.a + g.id)",
    "INSERT INTO g (id, a) SELECT id, note(a) FROM h ON CONFLICT (id) DO UPDATE SET a = tick(1) WHERE ask(g.id)",
    "INSERT INTO g SELECT id + 20, $v, $v FROM g WHERE $f AND id < 9 ON CONFLICT DO NOTHING",
    "INSERT INTO w DEFAULT VALUES RETURNING id, y, z",
    "INSERT INTO w (z) VALUES (note($n)), ($n) RETURNING *",
    "INSERT INTO w VALUES (DEFAULT, DEFAULT, $n), ($n, $n, DEFAULT), ($n, tick($n), $n) RETURNING *, note(y)",
    "INSERT INTO w (z) SELECT $v FROM g WHERE $f",
    "INSERT INTO w (y, z) SELECT id, $v FROM g ORDER BY $o LIMIT $n",
    "UPDATE w SET z = z + 2 WHERE z < $n",
    "UPDATE w SET y = DEFAULT, z = note($n) RETURNING z",
    "UPDATE w SET id = DEFAULT",
    "DELETE FROM w WHERE ask(z) AND $n > 1",
    "DO $$ DECLARE r record; n integer := 0; BEGIN FOR r IN SELECT id, $v AS x FROM g WHERE $q ORDER BY $o LOOP \
     n := n + r.id; IF ask(r.id) THEN n := n + tick(r.x); END IF; END LOOP; RAISE NOTICE '%', n; END $$",
    "DO $$ DECLARE n integer; BEGIN SELECT count(*) INTO n FROM g WHERE $q; WHILE tick(n) > 0 LOOP \
     n := n - 1; END LOOP; n := note($n) + note($n); RAISE NOTICE '%', n; END $$",
];

/// Changes of rows that are all the same; what they leave is read by columns, and undone.
const SAME: &[&str] = &[
    "DELETE FROM d WHERE nextval('s') % 2 = 0",
    "DELETE FROM d WHERE tick($n) < $n",
    "DELETE FROM d WHERE nextval('s') % 3 = 0 RETURNING a, tick(b)",
    "UPDATE d SET a = nextval('s')",
    "UPDATE d SET b = 9 WHERE nextval('s') % 3 = 0",
    "UPDATE d SET b = 9 WHERE a > 0 AND nextval('s') % 3 = 0",
    "UPDATE d SET a = (SELECT nextval('s')), b = nextval('s')",
    "UPDATE d SET (a, b) = (SELECT tick(1), note(2))",
    "UPDATE d SET a = 5 RETURNING nextval('s')",
    "INSERT INTO d SELECT nextval('s'), tick(1) FROM g LIMIT $n",
    "INSERT INTO d (a) VALUES (nextval('s')), (nextval('s') * 2), (currval('s')) RETURNING a",
    "ALTER TABLE d ADD COLUMN c bigint DEFAULT nextval('s')",
    "ALTER TABLE d ALTER COLUMN a TYPE bigint USING nextval('s')",
    "UPDATE d SET a = nextval('s') FROM h WHERE h.id = 1",
    // Functions that see what the statement has changed so far.
    "UPDATE d SET a = total()",
    "UPDATE d SET a = 3, b = total()",
    "UPDATE d SET b = left_of(b) WHERE total() % 2 = 0 RETURNING left_of(b)",
    "UPDATE d SET a = a + 1 WHERE left_of($n) > $n + 2 RETURNING b",
    "UPDATE d SET a = 2, b = left_of(tick(1))",
    "UPDATE d SET (a, b) = (SELECT total(), left_of(a))",
    "UPDATE d SET a = total(), b = (SELECT sum(x.a) FROM d x WHERE x.b = d.b)",
    "UPDATE d SET a = left_of(total()) FROM h WHERE h.id = 1 AND left_of(1) > $n",
    "UPDATE d SET a = 2 RETURNING total()",
    "DELETE FROM d WHERE left_of(0) > $n",
    "DELETE FROM d WHERE total() > $n + 4 RETURNING left_of(a), total()",
    "DELETE FROM d USING h WHERE h.id = 1 AND left_of(0) > $n",
    "INSERT INTO d SELECT left_of(a), total() FROM d",
    "INSERT INTO d SELECT 1, left_of(1) FROM d WHERE left_of(0) < $n + 6",
    "INSERT INTO d SELECT 1, total() FROM g WHERE left_of(0) < $n + 6",
    "INSERT INTO d VALUES (1, total()), (1, left_of($n)), (tick(1), total()) RETURNING b",
];

struct Volatile {
    rng: Rng,
}

/// The script of a case.
pub(super) fn script(rng: Rng) -> Vec<Statement> {
    let mut g = Volatile { rng };
    let mut all: Vec<Statement> = SCHEMA.iter().map(|s| plain(text(*s))).collect();
    let rows = |g: &mut Volatile, n: i64, three: bool| {
        let rows = (1..=n).map(|id| {
            let mut cell = |null: usize| match g.rng.chance(null) {
                true => "NULL".to_owned(),
                false => g.rng.between(1, 5).to_string(),
            };
            let a = cell(12);
            if three { format!("({id}, {a}, {})", cell(8)) } else { format!("({id}, {a})") }
        });
        rows.collect::<Vec<_>>().join(", ")
    };
    let (n, m) = (g.rng.between(4, 8), g.rng.between(2, 4));
    all.push(plain(text(format!("INSERT INTO g VALUES {}", rows(&mut g, n, true)))));
    all.push(plain(text(format!("INSERT INTO h VALUES {}", rows(&mut g, m, false)))));
    let same = vec!["(1, 1)"; g.rng.between(3, 7) as usize].join(", ");
    all.push(plain(text(format!("INSERT INTO d VALUES {same}"))));
    for _ in 0..g.rng.between(6, 14) {
        match g.rng.below(10) {
            0..=5 => {
                let form = *g.rng.pick(QUERIES);
                let (ordered, form) = form.strip_prefix('>').map_or((false, form), |f| (true, f));
                let node = g.filled(form);
                all.push(Statement { node, ordered });
            }
            6..=8 => {
                let form = *g.rng.pick(CHANGES);
                let node = g.filled(form);
                all.push(plain(node));
            }
            _ => {
                let form = *g.rng.pick(SAME);
                all.push(plain(text("BEGIN")));
                let node = g.filled(form);
                all.push(plain(node));
                all.push(plain(text("SELECT count(*), sum(a), sum(b) FROM d")));
                all.push(plain(text("ROLLBACK")));
            }
        }
        all.push(plain(text("SELECT x, count(*) FROM calls GROUP BY x")));
        all.push(plain(text("SELECT nextval('ticks'), nextval('s')")));
    }
    for query in ["SELECT * FROM g", "SELECT * FROM d", "SELECT id FROM w", "SELECT y, z FROM w"] {
        all.push(plain(text(query)));
    }
    all
}

impl Volatile {
    /// A form with what `$` and a letter stand for.
    fn filled(&mut self, form: &str) -> Node {
        let mut parts = Vec::new();
        let mut rest = form;
        while let Some((before, after)) = rest.split_once('$') {
            parts.push(text(before));
            let hole = after.chars().next().unwrap_or('$');
            let node = match hole {
                'v' => self.number(),
                'q' => self.question(),
                'f' => self.filter(),
                'n' => text(self.rng.between(0, 5).to_string()),
                'o' => text(*self.rng.pick(&["b, id", "b DESC, id", "a, b, id", "b NULLS FIRST, id DESC"])),
                // The quotes of a body.
                _ => text("$$"),
            };
            parts.push(node);
            rest = &after[hole.len_utf8()..];
        }
        parts.push(text(rest));
        seq(parts)
    }

    fn column(&mut self) -> &'static str {
        self.rng.pick::<&str>(&["id", "a", "b"])
    }

    /// A volatile number of a row of `g`.
    fn number(&mut self) -> Node {
        let c = format!("g.{}", self.column());
        let n = self.rng.between(1, 4);
        let form = match self.rng.below(18) {
            0..=3 => format!("tick({c})"),
            4..=7 => format!("note({c})"),
            8 => format!("strictly({c})"),
            9 => "one()".to_owned(),
            10 => format!("twice(note({c}))"),
            11 => format!("(CASE WHEN {c} > {n} THEN note({c}) ELSE 0 END)"),
            12 => format!("(CASE note({n}) WHEN {c} THEN tick(1) WHEN 2 THEN tick(2) END)"),
            13 => format!("coalesce(nullif({c}, {n}), note({n}))"),
            14 => format!("(note({c}) + tick(1))"),
            15 => format!("greatest(note({c}), tick({n}))"),
            16 => format!("({c} + (random() * 0)::integer)"),
            _ => format!("note({n})"),
        };
        expr(Ty::Int4, [text(form)])
    }

    /// A volatile condition on a row of `g`.
    fn question(&mut self) -> Node {
        let c = format!("g.{}", self.column());
        let n = self.rng.between(0, 5);
        let form = match self.rng.below(12) {
            0..=3 => format!("ask({c})"),
            4 => format!("tick({c}) > {n}"),
            5 => format!("ask({n})"),
            6 => format!("tick({n}) < 3"),
            7 => format!("(note({c}) IS NULL OR ask(g.id))"),
            8 => format!("note({c}) IN ({n}, 2)"),
            9 => format!("NOT ask({c})"),
            10 => format!("(ask({c}) OR ask({c} + 1))"),
            _ => "random() < 2".to_owned(),
        };
        expr(Ty::Bool, [text(form)])
    }

    fn filter(&mut self) -> Node {
        let c = format!("g.{}", self.column());
        let n = self.rng.between(1, 5);
        let op = *self.rng.pick(&["<", ">", "<>", "="]);
        expr(Ty::Bool, [text(format!("{c} {op} {n}"))])
    }
}
