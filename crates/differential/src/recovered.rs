//! Whether what a script has left is there again, whichever scheme recovers it.
//!
//! Most statements of the scripts are logged by the rows that they change, which any scheme puts back. So changes are put
//! into procedures here, with branches, loops, handlers and functions around them, and these are called: [`called`].

use crate::engines::{self, Step};
use crate::generate::{self, Kind};
use crate::rng::Rng;
use planaria::lab::LabOptions;
use planaria::{Database, LogKind, Options, Result, Scheme};
use planaria_sim::disk::SimDisk;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// All that the catalogs say of what users have made. Where sequences stand is no part of it: numbers may be lost.
const FACTS: &str = "
    WITH s AS (SELECT oid FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema)')
    SELECT 'relation ' || c.oid::regclass || ' ' || c.relkind::text || ' ' || coalesce(c.relacl::text, '-') || ' '
           || c.relrowsecurity || ' ' || c.relhastriggers
    FROM pg_class c JOIN s ON s.oid = c.relnamespace
    UNION ALL SELECT 'column ' || a.attrelid::regclass || '.' || a.attnum || ' ' || a.attname || ' '
           || format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull || ' '
           || coalesce(pg_get_expr(d.adbin, d.adrelid), '-') || ' ' || a.attidentity::text || a.attgenerated::text
    FROM pg_class c JOIN s ON s.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
         LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    UNION ALL SELECT 'constraint ' || k.conrelid::regclass || ' ' || k.conname || ' ' || k.convalidated || ' '
           || pg_get_constraintdef(k.oid)
    FROM pg_constraint k JOIN s ON s.oid = k.connamespace WHERE k.conrelid <> 0
    UNION ALL SELECT 'index ' || indexdef FROM pg_indexes WHERE schemaname !~ '^pg_'
    UNION ALL SELECT 'trigger ' || t.tgenabled::text || ' ' || pg_get_triggerdef(t.oid) FROM pg_trigger t WHERE NOT t.tgisinternal
    UNION ALL SELECT 'view ' || schemaname || '.' || viewname || ' ' || definition
    FROM pg_views WHERE schemaname !~ '^(pg_|information_schema)'
    UNION ALL SELECT 'routine ' || p.oid::regprocedure || ' ' || pg_get_userbyid(p.proowner) || ' ' || p.prosecdef || ' '
           || p.provolatile::text || ' ' || coalesce(p.proacl::text, '-') || ' ' || coalesce(p.prosrc, '-')
    FROM pg_proc p JOIN s ON s.oid = p.pronamespace
    UNION ALL SELECT 'policy ' || tablename || ' ' || policyname || ' ' || cmd || ' ' || coalesce(qual, '-') || ' '
           || coalesce(with_check, '-') FROM pg_policies
    UNION ALL SELECT 'type ' || t.oid::regtype || ' ' || t.typtype::text || ' ' || t.typnotnull || ' '
           || coalesce(t.typdefault, '-') FROM pg_type t JOIN s ON s.oid = t.typnamespace";

/// How many tables, or facts, of a difference are shown.
const SHOWN: usize = 4;

/// What is there, as text.
fn content(db: &Database) -> Result<Vec<String>> {
    db.check()?;
    let mut all: Vec<String> =
        db.digests()?.into_iter().map(|(table, of)| format!("rows of {table} {of:032x}")).collect();
    let facts = db.query(FACTS, ())?;
    all.extend(facts.iter().map(|row| row.text(0).unwrap_or_default()));
    all.sort();
    Ok(all)
}

/// What opening it came to: what is there, or what went wrong.
fn opened(disk: &SimDisk, kind: LogKind, scheme: Scheme) -> std::result::Result<Database, String> {
    let options = Options::new().log(kind).recovery(scheme).recovery_threads(2);
    match catch_unwind(AssertUnwindSafe(|| options.open_device(disk.device()))) {
        Ok(db) => db.map_err(|e| format!("{} {}", e.sqlstate(), e.message())),
        Err(_) => Err("a panic".to_owned()),
    }
}

/// What recoveries of a script came to.
#[derive(Default)]
struct Recoveries {
    transactions: u64,
    calls: u64,
    /// What differs, or went wrong.
    differences: Vec<String>,
}

/// Runs a script, and recovers what it has left by every scheme.
fn recoveries(
    steps: &[Step],
    kind: LogKind,
    checkpoint: Option<usize>,
) -> std::result::Result<Recoveries, String> {
    let said = |e: planaria::Error| format!("{} {}", e.sqlstate(), e.message());
    let disk = SimDisk::new(1);
    let db = opened(&disk, kind, Scheme::Clr)?;
    engines::run(&db, steps, &mut |step| {
        if Some(step) == checkpoint {
            let _ = db.checkpoint();
        }
    })
    .map_err(said)?;
    let wanted = content(&db).map_err(said)?;
    drop(db);
    let mut all = Recoveries::default();
    for scheme in Scheme::ALL.iter().copied() {
        let there = opened(&disk, kind, scheme).and_then(|db| {
            if let Some(report) = db.recovery() {
                (all.transactions, all.calls) = (report.transactions, report.calls);
            }
            content(&db).map_err(said)
        });
        let what = match there {
            Ok(there) if there == wanted => continue,
            Ok(there) => {
                let only = |a: &[String], b: &[String]| {
                    let some = a.iter().filter(|x| !b.contains(x)).take(SHOWN).cloned();
                    some.collect::<Vec<_>>().join("\n    ")
                };
                format!("has\n    {}\n  instead of\n    {}", only(&there, &wanted), only(&wanted, &there))
            }
            Err(error) => format!("cannot be opened: {error}"),
        };
        all.differences.push(format!("  by {scheme} it {what}"));
    }
    Ok(all)
}

/// The log and where a checkpoint is written, of a case.
fn setting(case: u64, steps: usize) -> (LogKind, Option<usize>) {
    let kind = match case % 6 {
        0 => LogKind::Logical,
        _ => LogKind::Command,
    };
    (kind, (case % 4 == 1).then_some(steps * 2 / 3))
}

/// A change as a procedure of one number can make it: without results, with rows and operands that depend on the number.
fn within(text: &str, rng: &mut Rng) -> String {
    let (mut depth, mut end) = (0, text.len());
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ' ' if depth == 0 && text[at..].starts_with(" RETURNING ") => end = at,
            _ => {}
        }
    }
    let digits = |s: &str| !s.is_empty() && s.len() < 4 && s.bytes().all(|b| b.is_ascii_digit());
    let mut before = "";
    let mut words = Vec::new();
    for word in text[..end].split(' ') {
        let row = word.strip_prefix('(').and_then(|w| w.strip_suffix(','));
        let operand = ["=", "<", ">", "<=", ">=", "+", "-"].contains(&before);
        words.push(
            match row.filter(|row| digits(row) && ["VALUES", ","].iter().any(|b| before.ends_with(b))) {
                Some(row) if rng.chance(70) => format!("({row} + 40 * _n_,"),
                _ if operand && digits(word) && rng.chance(40) => {
                    format!("({} + {word} / 2)", rng.pick(&["_n_", "_m_"]))
                }
                _ => word.to_owned(),
            },
        );
        before = word;
    }
    let mut change = words.join(" ");
    if change.starts_with("INSERT") && !change.contains(" ON CONFLICT ") && rng.chance(40) {
        change += " ON CONFLICT DO NOTHING";
    }
    change
}

/// The table that a change is of.
fn table(change: &str) -> &str {
    let behind = ["INSERT INTO ", "UPDATE ", "DELETE FROM ", "MERGE INTO "]
        .into_iter()
        .find_map(|w| change.split(w).nth(1));
    behind
        .and_then(|text| text.split(&[' ', '(']).find(|word| !matches!(*word, "" | "ONLY")))
        .unwrap_or("pg_class")
}

/// A procedure, with what it needs, that makes some changes; `of` is its number.
fn procedure(of: usize, changes: &[String], rng: &mut Rng) -> Vec<String> {
    let all = changes.join(";\n") + ";\n";
    let first = format!("{};\n", changes[0]);
    let rest = changes[1..].iter().map(|change| format!("{change};\n")).collect::<String>();
    let (odd, below) = (format!("_n_ % {} = 0", 2 + rng.below(2)), 1 + rng.below(3));
    let mut script = Vec::new();
    let function = |results: &str, body: &str| {
        format!(
            "CREATE FUNCTION _f{of}_(_n_ int) RETURNS {results} LANGUAGE plpgsql AS $_b_$ DECLARE _m_ int := 1; BEGIN {body} END $_b_$"
        )
    };
    let mut some = || table(rng.pick::<String>(changes).as_str()).to_owned();
    let (one, other) = (some(), some());
    let body = match rng.below(12) {
        0 => all,
        1 => format!("IF {odd} THEN {first} ELSE {rest} NULL; END IF;"),
        2 => format!("FOR _i_ IN 1.._n_ LOOP {first} EXIT WHEN _i_ = {below}; {rest} END LOOP;"),
        3 => format!("BEGIN {first} EXCEPTION WHEN others THEN {rest} NULL; END;"),
        4 => format!(
            "BEGIN {all} IF {odd} THEN RAISE EXCEPTION 'no'; END IF; EXCEPTION WHEN raise_exception THEN NULL; END; {first}"
        ),
        5 => format!("IF {odd} THEN RETURN; END IF; {first} IF _n_ > {below} THEN RETURN; END IF; {rest}"),
        6 => {
            let inner = format!(
                "IF {odd} THEN {first} RETURN _n_ + 1; ELSIF _n_ = {below} THEN RETURN _m_; ELSE RETURN 7; END IF;"
            );
            script.push(function("int", &inner));
            format!("_m_ := _f{of}_(_n_); {rest} IF _m_ <> 7 THEN _m_ := _f{of}_(_m_); {first} END IF;")
        }
        7 => {
            let inner = format!(
                "WHILE _m_ < 9 LOOP _m_ := _m_ + {below}; IF {odd} THEN CONTINUE; END IF; {first} RETURN; END LOOP; {rest}"
            );
            script.push(function("void", &inner));
            format!("PERFORM _f{of}_(_n_); {rest}")
        }
        8 => format!(
            "SELECT count(*) INTO _m_ FROM {one}; IF _m_ % 2 = {} THEN {first} END IF; {rest} SELECT count(*) INTO _m_ FROM {other}; {first}",
            rng.below(2)
        ),
        9 => format!(
            "FOR _m_ IN SELECT count(*) FROM {one} LOOP {rest} IF {odd} THEN {first} END IF; END LOOP; {first}"
        ),
        10 => {
            let inner = format!(
                "SELECT count(*) INTO _m_ FROM {one}; {first} IF _m_ < 4 THEN RETURN _m_; END IF; _m_ := _m_ + (SELECT count(*) FROM {other}); {rest} RETURN _m_ - 1;"
            );
            script.push(function("int", &inner));
            format!("_m_ := _f{of}_(_n_); IF _m_ > 2 THEN {rest} END IF; {first}")
        }
        _ => {
            let inner = format!(
                "{first} GET DIAGNOSTICS _m_ = ROW_COUNT; RETURN CASE WHEN FOUND THEN _m_ ELSE -1 END;"
            );
            script.push(function("int", &inner));
            format!("IF _f{of}_(_n_) > 0 THEN {rest} NULL; ELSE _m_ := _f{of}_(_n_) + 1; END IF;")
        }
    };
    script.push(format!(
        "CREATE PROCEDURE _p{of}_(_n_ int) LANGUAGE plpgsql AS $_b_$ DECLARE _m_ int := 0; BEGIN {body} END $_b_$"
    ));
    script
}

/// A script whose changes are made by calls, as far as they can be.
fn called(texts: Vec<String>, rng: &mut Rng) -> Vec<String> {
    const CHANGES: [&str; 5] = ["INSERT", "UPDATE", "DELETE", "MERGE", "WITH"];
    let mut script = Vec::new();
    let mut group: Vec<String> = Vec::new();
    let (mut open, mut number) = (false, 0);
    for text in texts {
        open = text == "BEGIN" || open && !matches!(text.as_str(), "COMMIT" | "ROLLBACK");
        let reads = text.starts_with("WITH")
            && !["INSERT", "UPDATE", "DELETE", "MERGE"].iter().any(|w| text.contains(w));
        let changes = !open && !reads && CHANGES.iter().any(|word| text.starts_with(word));
        if changes {
            group.push(within(&text, rng));
        }
        if group.len() > rng.below(4) || !changes && !group.is_empty() {
            script.extend(procedure(number, &group, rng));
            let calls = 1 + rng.below(3);
            script.extend((0..calls).map(|n| format!("CALL _p{number}_({})", 1 + n)));
            let again =
                (0..rng.below(5)).map(|_| format!("CALL _p{}_({})", rng.below(number + 1), rng.below(8)));
            script.extend(again);
            (number, group) = (number + 1, Vec::new());
        }
        if !changes {
            script.push(text);
        }
    }
    script
}

/// A case that is not recovered as it was.
#[derive(Debug)]
pub struct Lost {
    /// The smallest script found that is not.
    pub script: Vec<String>,
    /// How it differs.
    pub what: String,
}

/// What became of a case.
#[derive(Debug, Default)]
pub struct Recovered {
    /// Transactions that were replayed, by each scheme.
    pub transactions: u64,
    /// Of those, the calls.
    pub calls: u64,
    /// How it differs if it does.
    pub lost: Option<Lost>,
}

/// Runs a random case and recovers it.
pub fn case(of: Kind, seed: u64, case: u64) -> Recovered {
    let texts = generate::script(of, seed, case).iter().map(|s| s.node.render()).collect();
    let mut script = called(texts, &mut Rng::new(seed, case));
    // A block that is still open is nobody's.
    script.push("ROLLBACK".to_owned());
    let run = |script: &[String]| {
        let steps: Vec<Step> = script.iter().map(|text| Step { text: text.clone(), ordered: true }).collect();
        let (kind, checkpoint) = setting(case, script.len());
        match recoveries(&steps, kind, checkpoint) {
            Ok(all) if all.differences.is_empty() => (all, None),
            Ok(all) => {
                let what = format!("{kind:?}, checkpoint {checkpoint:?}\n{}", all.differences.join("\n"));
                (all, Some(what))
            }
            Err(error) => (Recoveries::default(), Some(error)),
        }
    };
    let (Recoveries { transactions, calls, .. }, what) = run(&script);
    let Some(mut what) = what else { return Recovered { transactions, calls, lost: None } };
    let mut size = script.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at + size < script.len() {
            let mut fewer = script.clone();
            fewer.drain(at..at + size);
            match run(&fewer).1 {
                Some(so) => (script, what) = (fewer, so),
                None => at += size,
            }
        }
        size /= 2;
    }
    Recovered { transactions, calls, lost: Some(Lost { script, what }) }
}
