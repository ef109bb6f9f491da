//! Looking at a log: entries with names, filters, sums; verification; and that nothing is written.

use planaria::log::{Body, ChangeKind, Entry, Field, Filter, LogView, Summary, verify};
use planaria::{Database, LogKind, Options, Scheme, SqlState};
use std::collections::BTreeMap;
use std::path::Path;

const SCHEMA: [&str; 4] = [
    "CREATE TABLE account (id bigint, branch text NOT NULL, balance numeric(12,2), opened date,
                           PRIMARY KEY (branch, id))",
    "CREATE TABLE journal (what text)",
    "CREATE PROCEDURE pay(p_branch text, p_id bigint, p_amount numeric) LANGUAGE plpgsql AS $$
     BEGIN
         UPDATE account SET balance = balance + p_amount WHERE branch = p_branch AND id = p_id;
         INSERT INTO journal VALUES ('paid at ' || now());
     END $$",
    "CREATE PROCEDURE note(p_what text) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO journal VALUES (p_what); END $$",
];

fn database(dir: &Path, kind: LogKind) -> Database {
    let db = Options::new().log(kind).open(dir).unwrap();
    for statement in SCHEMA {
        db.execute(statement, ()).unwrap();
    }
    db.execute("INSERT INTO account VALUES (1, 'north', 10.00, '2026-01-31'), (2, 'north', NULL, NULL)", ())
        .unwrap();
    db.call("pay", ("north", 1, "2.50")).unwrap();
    db.call("note", ("it's",)).unwrap();
    db.execute("UPDATE account SET balance = 0 WHERE id = 2", ()).unwrap();
    db.execute("DELETE FROM account WHERE id = 2", ()).unwrap();
    db
}

fn read(dir: &Path, filter: &Filter) -> (Vec<Entry>, Summary) {
    let mut entries = Vec::new();
    let summary = LogView::open(dir).unwrap().read(filter, 1000, &mut |e| entries.push(e)).unwrap();
    (entries, summary)
}

fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap());
    entries.map(|e| (e.file_name().into_string().unwrap(), std::fs::read(e.path()).unwrap())).collect()
}

fn fields(fields: &[Field]) -> String {
    let texts: Vec<_> =
        fields.iter().map(|f| format!("{}={}", f.name, f.value.as_deref().unwrap_or("NULL"))).collect();
    texts.join(" ")
}

/// The kind, table, key, and the rows before and after of each change outside of the schema.
fn changes(entries: &[Entry]) -> Vec<String> {
    let mut lines = Vec::new();
    for entry in entries {
        let Body::Effects { changes } = &entry.body else { continue };
        for c in changes.iter().filter(|c| c.kind != ChangeKind::Schema && c.object == "account") {
            let sides = [("key", &c.key), ("before", &c.before), ("after", &c.after)];
            let sides = sides.iter().filter(|(_, f)| !f.is_empty());
            let sides: Vec<_> = sides.map(|(what, f)| format!("{what}({})", fields(f))).collect();
            lines.push(format!("{} {} {}", c.kind, c.object, sides.join(" ")));
        }
    }
    lines
}

#[test]
fn calls_and_rows_have_names() {
    let dir = tempfile::tempdir().unwrap();
    database(dir.path(), LogKind::Command).close().unwrap();
    let (entries, summary) = read(dir.path(), &Filter::default());
    assert_eq!(entries.len() as u64, summary.records);
    assert_eq!(entries.iter().map(|e| e.bytes as u64).sum::<u64>(), summary.bytes);
    let calls: Vec<_> = entries
        .iter()
        .filter_map(|e| match &e.body {
            Body::Call { procedure, args, inputs, .. } => {
                Some((procedure.as_str(), fields(args), inputs.len()))
            }
            Body::Effects { .. } => None,
        })
        .collect();
    assert_eq!(calls[0].0, "pay");
    assert_eq!(calls[0].1, "p_branch=north p_id=1 p_amount=2.50");
    assert!(calls[0].2 >= 2, "the time and the row id of the journal");
    assert_eq!((calls[1].0, calls[1].1.as_str()), ("note", "p_what=it's"));
    assert_eq!(
        changes(&entries),
        [
            "insert account after(id=1 branch=north balance=10.00 opened=2026-01-31)",
            "insert account after(id=2 branch=north balance=NULL opened=NULL)",
            "update account after(id=2 branch=north balance=0.00 opened=NULL)",
            "delete account key(branch=north id=2)",
        ]
    );
    let schema = entries.iter().find_map(|e| match &e.body {
        Body::Effects { changes } if changes[0].kind == ChangeKind::Schema => changes[0].text.clone(),
        _ => None,
    });
    assert_eq!(schema.as_deref(), Some(SCHEMA[0]));
    let kinds: Vec<_> = summary.kinds.iter().map(|k| (k.kind, k.records)).collect();
    assert_eq!(kinds, [("call", 2), ("logical", 3), ("schema", 4)]);
    assert_eq!(summary.kinds.iter().map(|k| k.bytes).sum::<u64>(), summary.bytes);
    let procedures: Vec<_> = summary.procedures.iter().map(|p| (p.procedure.as_str(), p.calls)).collect();
    assert_eq!(procedures, [("note", 1), ("pay", 1)]);
    let first = entries[0].to_string();
    assert!(first.contains("schema CREATE TABLE account"), "{first}");
}

#[test]
fn every_form_of_rows_is_readable() {
    let dir = tempfile::tempdir().unwrap();
    database(dir.path(), LogKind::Physiological).close().unwrap();
    let (entries, summary) = read(dir.path(), &Filter::default());
    assert_eq!(
        changes(&entries),
        [
            "insert account after(id=1 branch=north balance=10.00 opened=2026-01-31)",
            "insert account after(id=2 branch=north balance=NULL opened=NULL)",
            "patch account key(branch=north id=1) before(balance=10.00) after(balance=12.50)",
            "patch account key(branch=north id=2) before(balance=NULL) after(balance=0.00)",
            "delete of a row account key(branch=north id=2) \
             before(id=2 branch=north balance=0.00 opened=NULL)",
        ]
    );
    assert!(summary.kinds.iter().any(|k| k.kind == "physiological" && k.records == 3));

    // A text's place is known only from the whole row, so what changes of it is shown as words.
    let dir = tempfile::tempdir().unwrap();
    let db = Options::new().log(LogKind::Physiological).open(dir.path()).unwrap();
    db.execute_script(
        "CREATE TABLE account (id int PRIMARY KEY, n bigint, name text); INSERT INTO account VALUES (1, 2, 'abcdefgh');
         UPDATE account SET n = 3, name = 'abcdefgi'",
    )
    .unwrap();
    db.close().unwrap();
    let (entries, _) = read(dir.path(), &Filter::default());
    assert_eq!(changes(&entries)[1], "patch account key(id=1) before(n=2 word 3=68) after(n=3 word 3=69)");

    let dir = tempfile::tempdir().unwrap();
    database(dir.path(), LogKind::Physical).close().unwrap();
    let (entries, _) = read(dir.path(), &Filter::default());
    let mut locations = Vec::new();
    for entry in &entries {
        let Body::Effects { changes } = &entry.body else { panic!("a call in a physical log") };
        locations.extend(
            changes.iter().filter(|c| c.object == "account").map(|c| (c.old_location, c.new_location)),
        );
    }
    let (one, two) = (locations[0].1, locations[1].1);
    assert!(one.is_some() && two.is_some() && one != two);
    let expected = [(None, one), (None, two), (one, one), (two, two), (two, None)];
    assert_eq!(locations, expected, "a row keeps its location from insert to delete");
}

#[test]
fn filters_select() {
    let dir = tempfile::tempdir().unwrap();
    database(dir.path(), LogKind::Command).close().unwrap();
    let (all, _) = read(dir.path(), &Filter::default());
    let only = |filter: Filter| read(dir.path(), &filter).0;
    let named = |name: &str| Some(name.to_owned());
    let pay = only(Filter { procedure: named("pay"), ..Filter::default() });
    assert!(pay.len() == 1 && matches!(&pay[0].body, Body::Call { procedure, .. } if procedure == "pay"));
    // Calls that may change the table count; the call of `note` cannot.
    let account = only(Filter { table: named("account"), ..Filter::default() });
    assert_eq!(account.len(), 4);
    assert_eq!(only(Filter { table: named("journal"), ..Filter::default() }).len(), 2);
    let at = |e: &Entry| Some((e.epoch, e.sequence));
    let some = only(Filter { from: at(&all[2]), to: at(&all[5]), ..Filter::default() });
    assert_eq!(some, all[2..=5]);
    let view = LogView::open(dir.path()).unwrap();
    let mut shown = 0;
    let summary = view.read(&Filter::default(), 3, &mut |_| shown += 1).unwrap();
    assert_eq!((shown, summary.records), (3, all.len() as u64));
    let unknown = Filter { table: named("nothing"), ..Filter::default() };
    assert_eq!(view.read(&unknown, 1, &mut |_| ()).unwrap_err().sqlstate(), SqlState::UNDEFINED_TABLE);
    let unknown = Filter { procedure: named("nothing"), ..Filter::default() };
    assert_eq!(view.read(&unknown, 1, &mut |_| ()).unwrap_err().sqlstate(), SqlState::UNDEFINED_FUNCTION);
}

/// Names are those of the time: of a table renamed later, of a procedure replaced later.
#[test]
fn names_are_those_of_the_time() {
    let dir = tempfile::tempdir().unwrap();
    let db = database(dir.path(), LogKind::Command);
    db.execute_script(
        "ALTER TABLE account RENAME TO konto; ALTER TABLE konto DROP COLUMN opened;
         CREATE OR REPLACE PROCEDURE note(p_what text) LANGUAGE plpgsql
         AS $$ BEGIN INSERT INTO journal VALUES ('2' || p_what); END $$;
         INSERT INTO konto VALUES (7, 'south', 1);",
    )
    .unwrap();
    db.call("note", ("again",)).unwrap();
    db.close().unwrap();
    let (entries, summary) = read(dir.path(), &Filter::default());
    assert!(changes(&entries)[0].contains("insert account after(id=1 branch=north"));
    let last = entries[entries.len() - 2].to_string();
    assert!(last.contains("insert into konto after (id = 7, branch = south, balance = 1.00)"), "{last}");
    let ids: Vec<_> = entries
        .iter()
        .filter_map(|e| match &e.body {
            Body::Call { procedure, id, .. } if procedure == "note" => Some(*id),
            _ => None,
        })
        .collect();
    assert!(ids.len() == 2 && ids[0] != ids[1], "two versions of one name");
    assert_eq!(summary.procedures[0].calls, 2);
}

#[test]
fn a_sound_log_is_verified_and_nothing_is_written() {
    for kind in [LogKind::Command, LogKind::Physical, LogKind::Physiological] {
        let dir = tempfile::tempdir().unwrap();
        database(dir.path(), kind).close().unwrap();
        let before = files(dir.path());
        let found = verify(dir.path(), Scheme::default(), 2).unwrap();
        assert!(found.is_clean(), "{found:?}");
        assert_eq!(found.replays.len(), 2);
        assert_eq!(
            found.tables.iter().map(|t| (t.table.as_str(), t.rows)).collect::<Vec<_>>(),
            [("account", 1), ("journal", 2)]
        );
        assert!(files(dir.path()) == before, "verification changed the directory");
    }
    let missing = tempfile::tempdir().unwrap().path().join("no such directory");
    assert!(verify(&missing, Scheme::default(), 2).is_err());
    assert!(!missing.exists(), "a directory was made");
}

/// While a process has the database open its log can be looked at, and the database goes on.
#[test]
fn a_database_in_use_can_be_looked_at() {
    let dir = tempfile::tempdir().unwrap();
    let db = database(dir.path(), LogKind::Command);
    let view = LogView::open(dir.path()).unwrap();
    assert!(view.overview().in_use);
    assert!(view.read(&Filter::default(), 0, &mut |_| ()).unwrap().records >= 8);
    assert!(verify(dir.path(), Scheme::default(), 2).unwrap().is_clean());
    db.call("note", ("still there",)).unwrap();
    db.close().unwrap();
    assert!(!LogView::open(dir.path()).unwrap().overview().in_use);
}

#[test]
fn damage_is_named_with_file_and_offset() {
    let dir = tempfile::tempdir().unwrap();
    database(dir.path(), LogKind::Command).close().unwrap();
    let name = "00000001-00-00000000.log";
    let path = dir.path().join(name);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[4096 + 60] ^= 0x10;
    std::fs::write(&path, &bytes).unwrap();
    let before = files(dir.path());
    let inspected = LogView::open(dir.path()).err().expect("damage");
    let verified = verify(dir.path(), Scheme::default(), 2).unwrap_err();
    for error in [inspected, verified] {
        assert_eq!(error.sqlstate(), SqlState::DATA_CORRUPTED);
        let text = error.to_string();
        assert!(text.contains(name) && text.contains("offset 4096"), "{text}");
    }
    assert!(files(dir.path()) == before);
}
