//! A directory of every format of the log and of checkpoints opens, recovers, is written to and opens again; one of a later
//! format is refused.
//!
//! | format | the directory |
//! |---|---|
//! | log 12, checkpoint 12 | `tests/formats/log-12-checkpoint-12`, as this program wrote it |
//! | log 11, checkpoint 12 | `tests/formats/log-11-checkpoint-12`, as the program of then wrote it |
//! | log 10, checkpoint 12 | `tests/formats/log-10-checkpoint-12`, as the program of then wrote it |
//! | log 9, checkpoint 11 | `tests/formats/log-9-checkpoint-11`, as the program of then wrote it |
//! | log 8, checkpoint 10 | `tests/formats/log-8-checkpoint-10`, as the program of then wrote it |
//! | log 7, checkpoint 9 | `tests/formats/log-7-checkpoint-9`, as the program of then wrote it |
//! | log 7, checkpoint 8 | `tests/formats/log-7-checkpoint-8`, as the program of then wrote it |
//! | log 7, checkpoint 7 | `tests/formats/log-7-checkpoint-7`, as the program of then wrote it |
//! | log 7, checkpoint 6 | `tests/formats/log-7-checkpoint-6`, as the program of then wrote it |
//! | log 5, checkpoint 2 | `tests/formats/before-intervals`, as the program of then wrote it (the module above) |
//! | log 1 to 11 | `plain` of the former, transcribed by [`log_as`] into what `docs/formats/log.md` says the format was |
//! | checkpoint 1 to 11 | the same, by [`checkpoint_as`] |
//!
//! Whole directories that the programs of the other formats wrote were not kept, and cannot be had any more without those
//! programs. What they wrote, byte by byte, is beside the rooms that read it: `crates/log/tests/formats/v1` to `v11`,
//! `crates/checkpoint/tests/formats/v1` to `v12` (neither belongs to a database), and `catalog-1.json` and `catalog-2.json` here.
//! A transcription has what every format can say; what only the newest can is in `rich`.
//!
//! Catalog changes in a transcription have the form of today (`before-intervals` has an older one).
//!
//! `PLANARIA_BLESS=1 cargo test -p planaria --test it directories_of_the_current_formats` writes the directory of the current formats,
//! if it is not there yet. So whoever makes a new format does that first, before the change, adds to [`LOG_FORMATS`] or [`CHECKPOINT_FORMATS`],
//! and keeps the old directory.

use super::{open, rows};
use crc32c::crc32c_append;
use planaria::{Database, Options, Scheme, SqlState};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Formats of the log that are read; the last is written.
const LOG_FORMATS: RangeInclusive<u32> = 1..=12;
/// Those of checkpoints.
const CHECKPOINT_FORMATS: RangeInclusive<u32> = 1..=12;
/// Directories of former formats, as they were written.
const FORMER: [&str; 8] = [
    "log-7-checkpoint-6",
    "log-7-checkpoint-7",
    "log-7-checkpoint-8",
    "log-7-checkpoint-9",
    "log-8-checkpoint-10",
    "log-9-checkpoint-11",
    "log-10-checkpoint-12",
    "log-11-checkpoint-12",
];

/// What every format can say.
const PLAIN: &str = "
    create table t (k int primary key, n numeric(8,2), s text not null default 'x', at timestamp);
    create index ts on t (s);
    create sequence seen;
    create procedure put(a int, b text) language plpgsql as $$
        begin insert into t (k, n, s) values (a, a * 1.5, b); end $$;
    insert into t values (1, 1.25, 'one', '2026-11-01 12:00'), (2, null, 'two', null), (3, -3, default, null);
    call put(4, 'four');
    select nextval('seen'), nextval('seen');
    update t set n = n + 1 where k = 1;
    call put(5, 'fünf');
    delete from t where k = 3;";

/// What came later: months, jsonb, arrays, types of users, composite ones, generated columns, triggers, schemas, policies, ranges, addresses, bits and money, exclusion
/// constraints, partitioned tables, columns of row types, deferrable keys, polymorphic routines, types of full-text search, jsonpath, timetz, arrays of dimensions, numerics of any length, citext, generations of sequences, schema changes in blocks and those that compute.
const RICH: &str = "
    create schema shop;
    create type shop.mood as enum ('sad', 'glad');
    create type shop.size as (w int, h shop.mood);
    create domain shop.positive as int check (value > 0);
    create table shop.u (k shop.positive primary key, m shop.mood, d jsonb, a text[], v interval,
        twice int generated always as (k * 2) stored);
    create table shop.seen (k int, what text);
    create function shop.note() returns trigger language plpgsql as $$
        begin insert into shop.seen values (new.k, tg_op); return new; end $$;
    create trigger note after insert on shop.u for each row execute function shop.note();
    alter table shop.seen enable row level security;
    create policy own on shop.seen for select using (what = current_user);
    create procedure shop.put(a int, b jsonb) language plpgsql as $$
        begin insert into shop.u (k, m, d, v) values (a, 'glad', b, '1 mon 2 days'); end $$;
    insert into shop.u values (1, 'sad', '{\"a\": [1, null]}', '{x,NULL}', '1 year 25 hours');
    call shop.put(2, '{\"b\": 2}');
    create table shop.taken (place int, span int4range, many numrange[], exclude using gist (place with =, span with &&) where (place > 0));
    insert into shop.taken values (1, '[1,5)', '{\"[0.5,2]\",empty}'), (1, '[5,)', null), (0, '(,)', null);
    create table shop.hosts (ip inet primary key, net cidr, mac macaddr, flags bit(3), few bit varying, price money);
    insert into shop.hosts values ('10.1.2.3/24', '10/8', '08002b010203', B'101', B'1', 12.5), ('::1', null, null, null, null, null);
    create table shop.part (k int not null, v text) partition by range (k);
    create table shop.part_low partition of shop.part for values from (minvalue) to (10);
    create table shop.part_high (v text, k int not null);
    insert into shop.part_high values ('high', 15);
    alter table shop.part attach partition shop.part_high for values from (10) to (20);
    insert into shop.part values (1, 'low');
    create table shop.boxes (k int unique deferrable, of shop.size, all_of shop.size[]);
    insert into shop.boxes values (1, (5, 'sad'), array[(6, null)::shop.size]), (2, null, null);
    update shop.boxes set k = k + 1;
    create table shop.found (at timetz primary key, path jsonpath, words tsvector, asked tsquery, by regconfig, grid int[]);
    insert into shop.found values ('12:30+02', '$.a[*] ? (@ > 1)', to_tsvector('english', 'The fat cats'), 'cat & !dog', 'simple', '{{1,2},{3,4}}'),
        ('12:30:00.5-01', null, 'a:1A', null, null, '[0:1]={5,6}');
    create table shop.longs (k numeric primary key, few numeric(8,2), many numeric(60,30), list numeric[]);
    create procedure shop.grow(by numeric) language sql as $$ update shop.longs set few = 'nan', many = many * by where k > 0 $$;
    insert into shop.longs values (1e40, 1.5, 1e-25, '{1e50,NaN}'), ('-Infinity', null, 'NaN', null), (7, 7, 1e29, '{7}');
    call shop.grow(1.00000000000000000000000000000000000000000000000001);
    create extension citext schema shop;
    create table shop.mail (who shop.citext primary key, n int, also shop.citext[]);
    create procedure shop.post(a shop.citext) language sql as $$
        insert into shop.mail values (a, 1, array[a]) on conflict (who) do update set n = shop.mail.n + 1 $$;
    insert into shop.mail values ('Ann', 0, '{X,y}');
    call shop.post('ANN');
    call shop.post('Bob');
    create function shop.first(a anyarray) returns anyelement language sql as $$ select a[1] $$;
    select setval('seen', 40), nextval('seen');
    begin; create table shop.w (k int primary key); insert into shop.w values (7); alter table shop.w add column x float8 default random(); commit;
    alter table t add column twice numeric default 0;
    update t set twice = n * 2;";

const T: &str = "SELECT k, n, s, at FROM t ORDER BY k";
const T_HAS: [&str; 4] = ["1|2.25|one|2026-11-01 12:00:00", "2||two|", "4|6.00|four|", "5|7.50|fünf|"];
const U: &str = "SELECT k, m, d, a, v, twice FROM shop.u ORDER BY k";
const U_HAS: [&str; 2] =
    ["1|sad|{\"a\": [1, null]}|{x,NULL}|1 year 25:00:00|2", "2|glad|{\"b\": 2}||1 mon 2 days|4"];

fn formats() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats")
}

/// The directory of the current formats.
fn current() -> PathBuf {
    let (log, checkpoint) = (LOG_FORMATS.end(), CHECKPOINT_FORMATS.end());
    formats().join(format!("log-{log}-checkpoint-{checkpoint}"))
}

/// Writes it: `plain` and `rich`, each with all in the log, and with all in a checkpoint.
fn write_current(to: &Path) {
    for (script, what) in [(vec![PLAIN], "plain"), (vec![PLAIN, RICH], "rich")] {
        for by in ["log", "checkpoint"] {
            let dir = tempfile::tempdir().expect("a directory");
            let db = Options::new().open(dir.path()).expect("opens");
            script.iter().for_each(|text| db.execute_script(text).expect("the script"));
            if by == "checkpoint" {
                db.execute("CHECKPOINT", ()).expect("a checkpoint");
            }
            db.close().expect("closes");
            copy(dir.path(), &to.join(format!("{what}-{by}")));
        }
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a directory");
    for file in std::fs::read_dir(from).expect("the directory is there").map(|f| f.expect("a file")) {
        if file.file_name() != "lock" {
            std::fs::copy(file.path(), to.join(file.file_name())).expect("copies");
        }
    }
}

fn copy_of(name: &str) -> TempDir {
    copy_from(&current(), name)
}

fn copy_from(from: &Path, name: &str) -> TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    copy(&from.join(name), dir.path());
    dir
}

/// Opens a copy of what `SCRIPT` left, looks at it, writes to it, checkpoints, and looks again.
fn is_gone_on_with(dir: &Path, rich: bool, what: &str) {
    goes_on(dir, rich, rich, what);
}

/// `newest`: it has what only the current formats can say.
fn goes_on(dir: &Path, rich: bool, newest: bool, what: &str) {
    for (turn, scheme) in [Scheme::Clr, Scheme::Regrow, Scheme::Clr].into_iter().enumerate() {
        let db = open(dir, scheme).unwrap_or_else(|e| panic!("{what}, turn {turn}: {e}"));
        let mut expected: Vec<String> = T_HAS.iter().map(|row| (*row).to_owned()).collect();
        expected.extend((0..turn).map(|n| format!("{}|{}.00|again|", 10 + 2 * n, 15 + 3 * n)));
        assert_eq!(rows(&db, T), expected, "{what}, turn {turn}");
        assert_eq!(rows(&db, "SELECT k FROM t WHERE s = 'four'"), ["4"], "{what}");
        let at = if rich { 42 } else { 3 };
        assert_eq!(rows(&db, "SELECT nextval('seen')"), [(at + turn).to_string()], "{what}, turn {turn}");
        if rich {
            assert_eq!(rows(&db, U)[..2], U_HAS, "{what}, turn {turn}");
            let seen = rows(&db, "SELECT count(*) FROM shop.seen");
            assert_eq!(seen, [(2 + turn).to_string()], "{what}: the trigger is there");
            assert_eq!(rows(&db, "SELECT k, x BETWEEN 0 AND 1 FROM shop.w"), ["7|t"], "{what}");
            db.execute(&format!("CALL shop.put({}, '[]')", 10 + turn), ()).expect("calls");
        }
        if newest {
            let taken = "SELECT place, span, many FROM shop.taken ORDER BY place, span";
            assert_eq!(rows(&db, taken), ["0|(,)|", "1|[1,5)|{\"[0.5,2]\",empty}", "1|[5,)|"], "{what}");
            let hosts = rows(&db, "SELECT * FROM shop.hosts ORDER BY ip");
            assert_eq!(
                hosts,
                ["10.1.2.3/24|10.0.0.0/8|08:00:2b:01:02:03|101|1|$12.50", "::1|||||"],
                "{what}"
            );
            assert_eq!(rows(&db, "SELECT (ROW(1, 'sad')::shop.size).h"), ["sad"], "{what}");
            let refused = db.execute("INSERT INTO shop.taken VALUES (1, '[4,5)')", ()).expect_err(what);
            assert_eq!(refused.sqlstate(), SqlState::EXCLUSION_VIOLATION, "{what}");
            let longs = "SELECT trunc(k), few, many = 'NaN', list[1] FROM shop.longs ORDER BY k";
            let expected = [
                "-Infinity||t|".to_owned(),
                "7|NaN|f|7".to_owned(),
                format!("1{}|NaN|f|1{}", "0".repeat(40), "0".repeat(50)),
            ];
            assert_eq!(rows(&db, longs), expected, "{what}");
            let mail = "SELECT who, n, also FROM shop.mail ORDER BY who";
            assert_eq!(rows(&db, mail), ["Ann|1|{X,y}", "Bob|1|{Bob}"], "{what}");
            let refused = db.execute("INSERT INTO shop.mail VALUES ('bOB')", ()).expect_err(what);
            assert_eq!(refused.sqlstate(), SqlState::UNIQUE_VIOLATION, "{what}");
            let parts = "SELECT k, v, tableoid::regclass FROM shop.part ORDER BY k";
            assert_eq!(rows(&db, parts), ["1|low|shop.part_low", "15|high|shop.part_high"], "{what}");
            let boxes = rows(
                &db,
                "SELECT k, (of).h, of, all_of[1], shop.first(array[k, 7]) FROM shop.boxes ORDER BY k",
            );
            assert_eq!(boxes, ["2|sad|(5,sad)|(6,)|2", "3||||3"], "{what}");
            db.execute("UPDATE shop.boxes SET k = 5 - k", ()).expect("keys change places");
            let refused = db.execute("UPDATE shop.boxes SET k = 3", ()).expect_err(what);
            assert_eq!(refused.sqlstate(), SqlState::UNIQUE_VIOLATION, "{what}");
            db.execute("UPDATE shop.boxes SET k = 5 - k", ()).expect("and back");
            let refused = db.execute("INSERT INTO shop.part VALUES (20, 'none')", ()).expect_err(what);
            assert_eq!(refused.sqlstate(), SqlState::CHECK_VIOLATION, "{what}");
        }
        db.execute(&format!("CALL put({}, 'again')", 10 + 2 * turn), ()).expect("calls");
        db.execute(&format!("CREATE TABLE of_turn_{turn} (k int, v interval, d jsonb)"), ())
            .expect("creates");
        db.execute(&format!("INSERT INTO of_turn_{turn} VALUES (1, '1 mon', '{{}}')"), ()).expect("inserts");
        if turn > 0 {
            db.execute("CHECKPOINT", ()).expect("a checkpoint");
            let before = format!("SELECT k, v, d FROM of_turn_{}", turn - 1);
            assert_eq!(rows(&db, &before), ["1|1 mon|{}"], "{what}, turn {turn}");
        }
        db.close().expect("closes");
    }
}

#[test]
fn directories_of_the_current_formats_are_gone_on_with() {
    if std::env::var_os("PLANARIA_BLESS").is_some() && !current().exists() {
        write_current(&current());
    }
    for what in ["plain", "rich"] {
        for by in ["log", "checkpoint"] {
            let name = format!("{what}-{by}");
            let dir = copy_of(&name);
            let has = format_of(&dir.path().join("manifest"));
            assert_eq!(has, *LOG_FORMATS.end(), "{name}");
            is_gone_on_with(dir.path(), what == "rich", &name);
        }
    }
}

#[test]
fn directories_of_former_formats_are_gone_on_with() {
    for former in FORMER {
        for (what, by) in [("plain", "log"), ("plain", "checkpoint"), ("rich", "log"), ("rich", "checkpoint")]
        {
            let name = format!("{what}-{by}");
            let dir = copy_from(&formats().join(former), &name);
            goes_on(dir.path(), what == "rich", false, &format!("{former}/{name}"));
        }
    }
}

/// So a change of a format that nobody has given a number, or a directory, is noticed here.
#[test]
fn what_is_written_has_the_current_formats() {
    let dir = tempfile::tempdir().expect("a directory");
    write_current(dir.path());
    let written = dir.path().join("plain-checkpoint");
    assert_eq!(format_of(&written.join("manifest")), *LOG_FORMATS.end(), "{}", current().display());
    assert_eq!(format_of(&written.join("checkpoint-00000001")), *CHECKPOINT_FORMATS.end());
    assert_eq!(format_of(&dir.path().join("plain-log/00000001-00-00000000.log")), *LOG_FORMATS.end());
}

#[test]
fn logs_of_every_format_are_gone_on_with() {
    for format in LOG_FORMATS {
        let dir = copy_of("plain-log");
        for name in names(dir.path()) {
            change(&dir.path().join(name), |bytes| log_as(format, bytes));
        }
        is_gone_on_with(dir.path(), false, &format!("log format {format}"));
    }
}

#[test]
fn checkpoints_of_every_format_are_gone_on_with() {
    for format in CHECKPOINT_FORMATS {
        let dir = copy_of("plain-checkpoint");
        for name in names(dir.path()).iter().filter(|name| name.starts_with("checkpoint-")) {
            change(&dir.path().join(name), |bytes| checkpoint_as(format, bytes));
        }
        is_gone_on_with(dir.path(), false, &format!("checkpoint format {format}"));
    }
}

#[test]
fn later_formats_are_refused_with_what_to_do() {
    let files =
        ["manifest", "00000001-00-00000000.log", "checkpoint-00000001", "checkpoint-00000001-00.rows"];
    for file in files {
        let is_log = !file.starts_with("checkpoint");
        let dir = copy_of(if file.ends_with(".log") { "plain-log" } else { "plain-checkpoint" });
        let later = 1 + if is_log { LOG_FORMATS.end() } else { CHECKPOINT_FORMATS.end() };
        change(&dir.path().join(file), |bytes| {
            if is_log { log_as(later, bytes) } else { checkpoint_as(later, bytes) }
        });
        let before: Vec<Vec<u8>> = contents(dir.path());
        for scheme in [Scheme::Clr, Scheme::Regrow] {
            let error = open(dir.path(), scheme).map(drop).expect_err(file);
            assert_eq!(error.sqlstate(), SqlState::FEATURE_NOT_SUPPORTED, "{file}: {error}");
            let (kind, newest) =
                if is_log { ("log", LOG_FORMATS.end()) } else { ("checkpoint", CHECKPOINT_FORMATS.end()) };
            let says =
                format!("{file}\" has {kind} format {later}, this program reads formats 1 to {newest}");
            assert!(error.message().contains(&says), "{error}");
            assert!(
                error.fields().hint.as_deref().is_some_and(|h| h.contains("version of Planaria")),
                "{error:?}"
            );
        }
        assert_eq!(contents(dir.path()), before, "{file}: nothing has been changed");
    }
}

/// A dump of an old directory is a way back, and a way over what cannot be replayed: see `docs/guide/upgrade.md`.
#[test]
fn a_backup_before_is_the_way_back() {
    let (dir, kept) = (copy_of("plain-log"), tempfile::tempdir().expect("a directory"));
    let backup = kept.path().join("before");
    let db = open(dir.path(), Scheme::Regrow).expect("opens");
    db.backup(&backup).expect("a backup");
    db.execute("DELETE FROM t", ()).expect("deletes");
    db.close().expect("closes");
    let db = Database::open(&backup).expect("opens");
    assert_eq!(rows(&db, T), T_HAS);
}

fn names(dir: &Path) -> Vec<String> {
    let files = std::fs::read_dir(dir).expect("the directory is there").map(|f| f.expect("a file"));
    let mut names: Vec<String> = files.map(|f| f.file_name().into_string().expect("a name")).collect();
    names.retain(|name| name != "lock");
    names.sort();
    names
}

fn contents(dir: &Path) -> Vec<Vec<u8>> {
    names(dir).iter().map(|name| std::fs::read(dir.join(name)).expect("reads")).collect()
}

fn change(file: &Path, to: impl Fn(&[u8]) -> Vec<u8>) {
    let bytes = std::fs::read(file).expect("reads");
    std::fs::write(file, to(&bytes)).expect("writes");
}

fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*bytes[at..].first_chunk().expect("8 bytes"))
}

/// All files have it at the same place.
fn format_of(file: &Path) -> u32 {
    let bytes = std::fs::read(file).expect("reads");
    u32::from_le_bytes(*bytes[12..].first_chunk().expect("4 bytes"))
}

/// Gives a header its format and its checksum, from which those of what follows start.
fn reseal(header: &mut [u8], format: u32) -> u32 {
    header[12..16].copy_from_slice(&format.to_le_bytes());
    let crc = crc32c_append(0, &[&header[..8], &header[12..]].concat());
    header[8..12].copy_from_slice(&crc.to_le_bytes());
    crc
}

/// Appends a frame, section or block, with the checksum that it has there.
fn append(out: &mut Vec<u8>, mut part: Vec<u8>, seed: u32) {
    let crc = crc32c_append(seed, &[&(out.len() as u64).to_le_bytes(), &part[..4], &part[8..]].concat());
    part[4..8].copy_from_slice(&crc.to_le_bytes());
    out.extend(part);
}

/// A file of the log, in another format: what of `docs/formats/log.md` that one does not have is left out.
fn log_as(format: u32, bytes: &[u8]) -> Vec<u8> {
    const HEADER: usize = 4096;
    if bytes.starts_with(b"PLANMAN\0") {
        let mut manifest = bytes.to_vec();
        reseal(&mut manifest, format);
        return manifest;
    }
    let mut out = bytes[..HEADER].to_vec();
    if format < 5 {
        // The size of the segment.
        out[64..72].fill(0);
    }
    let seed = reseal(&mut out, format);
    let mut rest = &bytes[HEADER..];
    while rest.starts_with(b"PFr3") {
        let (frame, behind) = rest.split_at((56 + number(rest, 8) as usize).next_multiple_of(8));
        let mut frame = frame.to_vec();
        if format < 3 {
            // When the epoch was closed.
            frame.drain(48..56);
            frame[..4].copy_from_slice(b"PFrm");
        }
        append(&mut out, frame, seed);
        rest = behind;
    }
    if format >= 5 {
        let mut mark = rest[..16].to_vec();
        assert!(mark.starts_with(b"PEnd"), "the segment is complete");
        let at = (out.len() as u64).to_le_bytes();
        mark[8..].copy_from_slice(&at);
        let crc = crc32c_append(seed, &[&mark[..4], &at[..]].concat());
        mark[4..8].copy_from_slice(&crc.to_le_bytes());
        out.extend(mark);
    }
    out
}

/// A file of a checkpoint, in another format.
fn checkpoint_as(format: u32, bytes: &[u8]) -> Vec<u8> {
    const HEADER: usize = 64;
    let manifest = bytes.starts_with(b"PLANCKP\0");
    // Where a part says how long it is, and how long its own header is.
    let (length, header) = if manifest { (16, 32) } else { (24, 40) };
    let (mut parts, mut rest) = (Vec::new(), &bytes[HEADER..]);
    while !rest.is_empty() {
        let (part, behind) = rest.split_at((header + number(rest, length) as usize).next_multiple_of(8));
        parts.push(part.to_vec());
        rest = behind;
    }
    let mut out = bytes[..HEADER].to_vec();
    if manifest {
        // Generations of sequences.
        parts.retain(|part| format >= 2 || part[..4] != 7u32.to_le_bytes());
        out[36..40].copy_from_slice(&(parts.len() as u32).to_le_bytes());
        let size = HEADER + parts.iter().map(Vec::len).sum::<usize>();
        out[48..56].copy_from_slice(&(size as u64).to_le_bytes());
    }
    let seed = reseal(&mut out, format);
    parts.into_iter().for_each(|part| append(&mut out, part, seed));
    out
}
