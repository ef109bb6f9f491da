//! What can happen to the directory of a database besides a crash: another process, other files, a full
//! disk, one that cannot be written, a file that is gone.

use planaria::{Database, Options, SqlState};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn planaria(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_planaria")).args(args).output().expect("runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A directory with a database of one table and some rows, closed.
fn database(dir: &Path, rows: i64) -> PathBuf {
    let data = dir.join("data");
    let db = Database::open(&data).expect("opens");
    db.execute_script("CREATE TABLE t (a bigint PRIMARY KEY, b text)").expect("the schema");
    for a in 0..rows {
        db.execute("INSERT INTO t VALUES ($1, 'row')", (a,)).expect("a row");
    }
    db.close().expect("closes");
    data
}

fn count(db: &Database) -> i64 {
    db.query("SELECT count(*) FROM t", ()).expect("counts")[0].get(0).expect("a count")
}

/// The names of all files. Of an open database they may be gone by now: drafts become what they were written for.
fn names(dir: &Path) -> Vec<String> {
    std::fs::read_dir(dir)
        .expect("lists")
        .map(|entry| entry.expect("an entry"))
        .filter(|entry| entry.file_type().is_ok_and(|t| t.is_file()))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

/// All files of a closed database with their contents.
fn files(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let read = |name: String| (name.clone(), std::fs::read(dir.join(name)).expect("reads"));
    let mut files: Vec<_> = names(dir).into_iter().map(read).collect();
    files.sort();
    files
}

/// Runs a query on a directory with the binary.
fn ask(data: &Path, sql: &str) -> Output {
    let file = data.with_extension("sql");
    std::fs::write(&file, sql).expect("writes");
    planaria(&["run", "-At", "--data", &data.display().to_string(), &file.display().to_string()])
}

#[test]
fn a_second_process_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let data = database(dir.path(), 3);
    let db = Database::open(&data).expect("opens");
    let output = ask(&data, "INSERT INTO t VALUES (100, 'other')");
    assert_eq!(output.status.code(), Some(1));
    let stderr = text(&output.stderr);
    assert!(stderr.contains("in use by another process") && stderr.contains("55006"), "{stderr}");
    assert!(stderr.contains(&format!("used by process {}", std::process::id())), "{stderr}");
    let again = Database::open(&data).expect_err("nor the same process twice");
    assert_eq!(again.sqlstate(), SqlState::OBJECT_IN_USE);
    assert!(again.message().contains("in use by this process already"), "{again}");
    db.execute("INSERT INTO t VALUES (3, 'mine')", ()).expect("the first goes on");
    db.close().expect("closes");
    let output = ask(&data, "SELECT count(*) FROM t");
    assert_eq!(text(&output.stdout), "4\n", "{}", text(&output.stderr));
}

#[test]
fn among_the_files_of_others_no_database_is_made() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::create_dir(dir.path().join("lost+found")).expect("a directory within");
    std::fs::write(dir.path().join(".keep"), "").expect("writes");
    Database::open(dir.path()).expect("what is everywhere does not count").close().expect("closes");
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("Cargo.toml"), "[package]").expect("writes");
    let error = Database::open(dir.path()).expect_err("it is somebody else's");
    assert_eq!(error.sqlstate().as_str(), "55000", "{error}");
    assert!(format!("{error:?}").contains("Cargo.toml"), "{error:?}");
    assert_eq!(names(dir.path()), ["Cargo.toml"], "nothing was made");
}

#[test]
fn files_of_others_stay_and_do_not_matter() {
    let dir = tempfile::tempdir().expect("a directory");
    let data = database(dir.path(), 3);
    let foreign =
        ["notes.txt", ".hidden", "00000001-00-00000000.log.old", "checkpoint-1", "x.rows", "manifest~"];
    for name in foreign {
        std::fs::write(data.join(name), "not ours").expect("writes");
    }
    std::fs::create_dir(data.join("lost+found")).expect("a directory within");
    std::fs::create_dir(data.join("00000077-00-00000000.log")).expect("a directory with a name of ours");
    for turn in 0..3 {
        let db = Database::open(&data).expect("opens");
        assert_eq!(count(&db), 3 + turn);
        db.execute("INSERT INTO t VALUES ($1, 'more')", (10 + turn,)).expect("a row");
        db.checkpoint().expect("a checkpoint");
        db.close().expect("closes");
    }
    for name in foreign {
        assert_eq!(std::fs::read(data.join(name)).expect("it is there"), b"not ours", "{name}");
    }
    assert!(data.join("lost+found").is_dir());
}

/// A file with a name that only the database gives, and something else in it.
#[test]
fn files_with_names_of_ours_are_named() {
    for name in ["00000099-00-00000000.log", "00000001-00-00000077.log"] {
        let dir = tempfile::tempdir().expect("a directory");
        let data = database(dir.path(), 3);
        std::fs::write(data.join(name), "not ours").expect("writes");
        let before = files(&data);
        let error = Database::open(&data).err().unwrap_or_else(|| panic!("{name} is not noticed"));
        assert_eq!(error.sqlstate(), SqlState::DATA_CORRUPTED, "{name}: {error}");
        assert!(error.to_string().contains(name), "{name}: {error}");
        assert_eq!(files(&data), before, "nothing was changed");
        std::fs::remove_file(data.join(name)).expect("removes");
        assert_eq!(count(&Database::open(&data).expect("opens again")), 3);
    }
}

/// What a later program wrote is refused, naming both versions; the checksum of its header is right.
#[test]
fn a_later_format_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let data = database(dir.path(), 3);
    let manifest = data.join("manifest");
    let written = std::fs::read(&manifest).expect("reads");
    let mut later = written.clone();
    later[12..16].copy_from_slice(&99u32.to_le_bytes());
    let checksum = crc32c::crc32c_append(crc32c::crc32c(&later[..8]), &later[12..]);
    later[8..12].copy_from_slice(&checksum.to_le_bytes());
    std::fs::write(&manifest, &later).expect("writes");
    let output = ask(&data, "SELECT 1");
    assert_eq!(output.status.code(), Some(1));
    let stderr = text(&output.stderr);
    assert!(stderr.contains("0A000") && stderr.contains("log format 99"), "{stderr}");
    assert_eq!(std::fs::read(&manifest).expect("reads"), later, "nothing was changed");
    std::fs::write(&manifest, &written).expect("writes");
    assert_eq!(count(&Database::open(&data).expect("opens again")), 3);
}

/// The file that is being written is removed: nothing is acknowledged any more that could not be read again.
#[test]
fn a_removed_log_file_ends_commits() {
    let dir = tempfile::tempdir().expect("a directory");
    let data = database(dir.path(), 3);
    let db = Database::open(&data).expect("opens");
    db.execute("INSERT INTO t VALUES (10, 'kept?')", ()).expect("a row");
    for name in names(&data).iter().filter(|name| name.ends_with(".log")) {
        std::fs::remove_file(data.join(name)).expect("removes");
    }
    let mut session = db.session().expect("a session");
    let error = session.execute("INSERT INTO t VALUES (11, 'lost')", ()).expect_err("it cannot be kept");
    assert_eq!(error.sqlstate(), SqlState::IO_ERROR, "{error}");
    assert!(error.to_string().contains("has been removed"), "{error}");
    let error = session.execute("INSERT INTO t VALUES (12, 'lost')", ()).expect_err("nor what follows");
    assert_eq!(error.sqlstate(), SqlState::IO_ERROR, "{error}");
    // What is in memory may have been refused: nobody is shown it.
    let error = db.query("SELECT count(*) FROM t", ()).expect_err("it may have what is lost");
    assert_eq!(error.sqlstate(), SqlState::IO_ERROR, "{error}");
    drop(session);
    drop(db);
    // Runs that had ended are missed.
    let error = Database::open(&data).expect_err("the log of the first run is gone");
    assert_eq!(error.sqlstate(), SqlState::DATA_CORRUPTED, "{error}");
    // Those of both runs are gone: one of them is named.
    assert!(
        error.to_string().contains("-00-00000000.log") && error.to_string().contains("not there"),
        "{error}"
    );
}

/// A file system of its own, gone when dropped.
struct Mounted(PathBuf);

impl Mounted {
    /// `None`, with a word on it, where one may not mount.
    fn new(at: PathBuf, options: &str) -> Option<Mounted> {
        std::fs::create_dir_all(&at).expect("a directory");
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", options, "planaria-test"]).arg(&at).output();
        match mount {
            Ok(output) if output.status.success() => Some(Mounted(at)),
            _ => {
                println!("skipped: only root may mount a file system");
                None
            }
        }
    }

    fn again(&self, options: &str) {
        let status = Command::new("mount").args(["-o", &format!("remount,{options}")]).arg(&self.0).status();
        assert!(status.expect("runs").success());
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_file_system_fills_up_and_has_room_again() {
    let dir = tempfile::tempdir().expect("a directory");
    let Some(mounted) = Mounted::new(dir.path().join("small"), "size=6m") else { return };
    let data = database(&mounted.0, 3);
    let ballast = mounted.0.join("ballast");
    std::fs::write(&ballast, vec![1; 2 << 20]).expect("writes");
    let db = Options::new().open(&data).expect("opens");
    let filling = "x".repeat(50_000);
    let (mut acknowledged, mut error) = (3, None);
    for a in 3..1000i64 {
        match db.execute("INSERT INTO t VALUES ($1, $2)", (a, &filling)) {
            Ok(_) => acknowledged = a + 1,
            Err(e) => {
                error = Some(e);
                break;
            }
        }
    }
    let error = error.expect("the file system is full");
    assert_eq!(error.sqlstate(), SqlState::DISK_FULL, "{error}");
    assert!(count(&db) >= acknowledged, "reads go on");
    // Commits are refused while there is still a little room. A checkpoint finds enough in it, or says so.
    if let Err(error) = db.checkpoint() {
        assert!([SqlState::DISK_FULL, SqlState::IO_ERROR].contains(&error.sqlstate()), "{error}");
    }
    drop(db);
    std::fs::remove_file(&ballast).expect("makes room");
    let db = Database::open(&data).expect("opens");
    let there = count(&db);
    assert!(there == acknowledged || there == acknowledged + 1, "{there} of {acknowledged}");
    db.execute("INSERT INTO t VALUES (5000, 'after')", ()).expect("goes on");
    db.close().expect("closes");
    assert_eq!(count(&Database::open(&data).expect("opens again")), there + 1);
}

#[test]
fn a_directory_that_cannot_be_written_is_refused_and_can_be_looked_at() {
    let dir = tempfile::tempdir().expect("a directory");
    let Some(mounted) = Mounted::new(dir.path().join("disk"), "size=16m") else { return };
    let data = database(&mounted.0, 3);
    mounted.again("ro");
    let before = files(&data);
    let error = Database::open(&data).expect_err("it cannot be opened to be written");
    assert_eq!(error.sqlstate(), SqlState::IO_ERROR, "{error}");
    assert!(error.to_string().contains("data"), "the error names it: {error}");
    let output = planaria(&["log", "verify", &data.display().to_string()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(files(&data), before);
    mounted.again("rw");
    assert_eq!(count(&Database::open(&data).expect("opens")), 3);
}

#[test]
fn an_address_that_is_taken_leaves_no_directory_behind() {
    let dir = tempfile::tempdir().expect("a directory");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let data = dir.path().join("data");
    let output = planaria(&["serve", &data.display().to_string(), "--listen", &address]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains("58000") && said.contains(&address), "{said}");
    assert!(!data.exists(), "nothing was made");
}

/// Without durability nothing is read or written, so a directory with a database is left alone.
#[test]
fn a_database_is_not_hidden_by_durability_off() {
    let dir = tempfile::tempdir().expect("a directory");
    let data = database(dir.path(), 3);
    let before = files(&data);
    let error = Options::new().durability(planaria::Durability::Off).open(&data).expect_err("it has rows");
    assert_eq!(error.sqlstate(), SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "{error}");
    assert!(error.message().contains("data") && error.hint().is_some(), "{error}");
    assert_eq!(files(&data), before);
    let empty = Options::new().durability(planaria::Durability::Off).open(dir.path().join("empty"));
    empty.expect("opens").execute_script("CREATE TABLE t (a int)").expect("works");
}

/// A log that is kept for restores of moments is left by who only reads, and by who is told so.
#[test]
fn a_kept_log_is_deleted_by_who_does_not_keep_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let data = dir.path().join("data");
    let place = data.display().to_string();
    let kept = || names(&data).iter().filter(|name| name.ends_with(".log")).count();
    let done = |args: &[&str]| {
        let output = planaria(args);
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    };
    let sql = dir.path().join("some.sql");
    std::fs::write(&sql, "INSERT INTO t VALUES (2); CHECKPOINT").expect("writes");
    let sql = sql.display().to_string();
    done(&["shell", &place, "--keep-log", "-c", "CREATE TABLE t (a int PRIMARY KEY)", "-c", "CHECKPOINT"]);
    let first = kept();
    assert!(first > 0);
    done(&["run", "--keep-log", "--data", &place, &sql]);
    done(&["dump", &place]);
    done(&["shell", &place, "--keep-log=true", "-c", "SELECT 1"]);
    let before = kept();
    assert!(before > first, "{first} {before}");
    let output = planaria(&["shell", &place, "--keep-log=perhaps", "-c", "SELECT 1"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("perhaps") && said.contains("true"), "{said}");
    done(&["shell", &place, "-c", "SELECT 1"]);
    assert_eq!(kept(), 0);
}
