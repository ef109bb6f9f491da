//! The binary as a person uses it.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn planaria(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_planaria")).args(args).output().expect("runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn suite_file(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../workload/sql").join(name).display().to_string()
}

#[test]
fn run_prints_as_psql_does() {
    let files: Vec<String> = ["schema", "load", "procedures", "golden"]
        .iter()
        .map(|f| suite_file(&format!("smallbank/{f}.sql")))
        .collect();
    let mut args = vec!["run", "-At"];
    args.extend(files.iter().map(String::as_str));
    let output = planaria(&args);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let expected = std::fs::read_to_string(suite_file("smallbank/golden.expected")).expect("the golden file");
    assert_eq!(text(&output.stdout), expected);
}

#[test]
fn scripts_stop_at_the_first_error() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("bad.sql");
    std::fs::write(&file, "SELECT 1;\nSELECT 2 AS two;\nSELECT nothing\nFROM nowhere;\nSELECT 3;\n")
        .expect("writes");
    let output = planaria(&["run", "-At", &file.display().to_string()]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stdout), "1\n2\n");
    let stderr = text(&output.stderr);
    let place = "bad.sql:4: ERROR:  42P01: relation \"nowhere\" does not exist\nLINE 4: FROM nowhere;\n             ^\n";
    assert!(stderr.ends_with(place), "{stderr}");
    let graph = planaria(&["graph", &file.display().to_string()]);
    assert_eq!((graph.status.code(), text(&graph.stderr)), (Some(1), stderr));
}

#[test]
fn run_keeps_what_it_did_in_a_directory() {
    let dir = tempfile::tempdir().expect("a directory");
    let data = dir.path().join("data").display().to_string();
    let (first, second) = (dir.path().join("1.sql"), dir.path().join("2.sql"));
    std::fs::write(
        &first,
        "CREATE TABLE t (a int PRIMARY KEY, b text); INSERT INTO t VALUES (1, 'one'), (2, NULL);",
    )
    .expect("writes");
    std::fs::write(&second, "SELECT * FROM t ORDER BY a;").expect("writes");
    let output = planaria(&["run", "--data", &data, &first.display().to_string()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let output = planaria(&["run", "--data", &data, &second.display().to_string()]);
    assert_eq!(text(&output.stdout), " a |  b  \n---+-----\n 1 | one\n 2 | \n(2 rows)\n\n");
}

#[test]
fn shell_answers() {
    let output = planaria(&["shell", "-c", "SELECT 1 + 1 AS two"]);
    assert_eq!(text(&output.stdout), " two \n-----\n   2\n(1 row)\n\n");
    let output = planaria(&["shell", "-c", "SELECT 1 +"]);
    assert!(text(&output.stderr).contains("42601"), "{}", text(&output.stderr));
}

/// Exit statuses as psql's, for scripts.
#[test]
fn shell_says_how_it_ended() {
    let status = |args: &[&str]| planaria(&[&["shell"], args].concat()).status.code();
    assert_eq!(status(&["-c", "SELECT 1 / 0"]), Some(1));
    assert_eq!(status(&["-c", "SELECT 1 / 0", "-c", "SELECT 1"]), Some(0));
    assert_eq!(status(&["-v", "ON_ERROR_STOP=1", "-c", "SELECT 1 / 0", "-c", "SELECT 1"]), Some(1));
    assert_eq!(status(&["-c", "\\d nowhere"]), Some(1));
    assert_eq!(status(&["-v", "NO SUCH=1"]), Some(2));
    let piped = |args: &[&str]| {
        let mut shell = Command::new(env!("CARGO_BIN_EXE_planaria"))
            .arg("shell")
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        shell
            .stdin
            .take()
            .expect("its input")
            .write_all(b"SELECT 1 / 0;\nSELECT 5 AS five;\n")
            .expect("writes");
        let output = shell.wait_with_output().expect("ends");
        (output.status.code(), text(&output.stdout).contains("five"))
    };
    assert_eq!(piped(&[]), (Some(0), true));
    assert_eq!(piped(&["--set", "ON_ERROR_STOP=on"]), (Some(3), false));
}

/// Every workload runs, small, and its checks hold.
#[test]
fn bench_runs_every_workload() {
    for (workload, size) in
        [("smallbank", "100"), ("ycsb", "200"), ("voter", "6"), ("tpcb", "1"), ("tpcc", "1")]
    {
        for extra in [&["--log", "off"][..], &["--recover"], &["--log", "logical", "--durability", "async"]] {
            let mut args =
                vec!["bench", workload, "--seconds", "0.2", "--warmup", "0.1", "--check", "--json"];
            args.extend(if workload == "tpcc" { ["--warehouses", size] } else { ["--rows", size] });
            args.extend(extra);
            let output = planaria(&args);
            assert!(output.status.success(), "{workload} {extra:?}: {}", text(&output.stderr));
            let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
            assert!(json["transactions"].as_u64().is_some_and(|n| n > 0), "{workload}: {json}");
            assert_eq!(json["failed"], 0, "{workload}: {json}");
        }
    }
}

/// Upper bounds are measured in memory, and nowhere else; and say what they are.
#[test]
fn upper_bounds_are_for_measurements() {
    let bench = |extra: &[&str]| {
        let mut args =
            vec!["bench", "smallbank", "--rows", "50", "--seconds", "0.2", "--warmup", "0.1", "--json"];
        args.extend(extra);
        planaria(&args)
    };
    for bound in ["silo-unvalidated", "occ-unvalidated"] {
        let output = bench(&["--protocol", bound]);
        assert!(!output.status.success());
        assert!(text(&output.stderr).contains("loses updates"), "{}", text(&output.stderr));
        let output = bench(&["--protocol", bound, "--durability", "off", "--threads", "2"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(json["protocol"], format!("{bound} (not serializable)"));
        assert!(json["transactions"].as_u64().is_some_and(|n| n > 0), "{json}");
        // A server has no such protocol.
        let output = planaria(&["serve", "--protocol", bound]);
        assert!(!output.status.success());
    }
}

#[test]
fn wrong_words_get_a_word_of_help() {
    let output = planaria(&["bench", "tpcd"]);
    assert!(!output.status.success());
    assert!(
        text(&output.stderr).contains("The built-in workloads are tpcc, smallbank"),
        "{}",
        text(&output.stderr)
    );
    for size in ["--warehouses", "--rows"] {
        let output = planaria(&["bench", "tpcc", size, "0", "--log", "off", "--durability", "off"]);
        assert!(text(&output.stderr).contains("22023: tpcc of no size"), "{}", text(&output.stderr));
    }
    let output = planaria(&["serve", "--protocol", "nonsense"]);
    assert!(text(&output.stderr).contains("there are: serial, silo"), "{}", text(&output.stderr));
    let output = planaria(&["bench", "tpcc", "--log", "loud"]);
    assert!(text(&output.stderr).contains("command, logical, physical"), "{}", text(&output.stderr));
}

/// What is wrong with files, directories and numbers is said at once, by name.
#[test]
fn wrong_files_are_named_before_the_work() {
    let dir = tempfile::tempdir().expect("a directory");
    let (empty, missing) = (dir.path().display().to_string(), dir.path().join("none").display().to_string());
    let file = dir.path().join("file").display().to_string();
    std::fs::write(&file, "").expect("writes");
    let fails = |args: &[&str], parts: &[&str]| {
        let output = planaria(args);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(!output.status.success() && out.is_empty(), "{args:?}: {out}{err}");
        parts.iter().for_each(|part| assert!(err.contains(part), "{args:?}: {err}"));
    };
    for command in ["inspect", "verify"] {
        let no_log = format!("58P01: there is no log in \"{empty}");
        fails(
            &["log", command, &empty],
            &[&no_log, "DETAIL:  Expected the files \"manifest\"", "HINT:  Name"],
        );
        let no_directory = format!("58P01: could not open directory \"{missing}\": No such file");
        fails(&["log", command, &missing], &[&no_directory, "HINT:  Name"]);
        fails(&["log", command, &file], &["not a directory"]);
    }
    fails(&["lab", "simulate-recovery", &missing], &["58P01", &missing, "HINT:  planaria lab recovery"]);
    let lab = ["lab", "recovery", "--workload", "smallbank", "--customers", "10", "--transactions", "10"];
    for (more, part) in [
        (["--dir", missing.as_str()], format!("58P01: could not make logs in directory \"{missing}\"")),
        (["--dir", &file], format!("could not make logs in directory \"{file}\"")),
        (["--record-tasks", &empty], format!("could not open file \"{empty}\"")),
        (["--threads", "0"], "invalid value '0' for '--threads".to_owned()),
        (["--threads", "2,0"], "invalid value '0' for '--threads".to_owned()),
        (["--repeat", "0"], "invalid value '0' for '--repeat".to_owned()),
    ] {
        fails(&[&lab[..], &more[..]].concat(), &[&part]);
        let output = planaria(&[&lab[..], &more[..]].concat());
        assert!(!text(&output.stderr).contains("loading 10 customers"), "the work had begun");
    }
    fails(&["log", "verify", &empty, "--threads", "0"], &["invalid value '0'"]);
    fails(&["shell", "--recovery-threads", "0"], &["invalid value '0'"]);
    fails(&["lab", "costs", "--rows", "0"], &["invalid value '0'"]);
    fails(&["lab", "restart", "--turns", "0"], &["invalid value '0'"]);
    fails(&["serve", "--restart-target", "soon"], &["there is no unit \"soon\""]);
    fails(&["backup", &missing, "--to", &format!("{missing}-copy")], &["58P01", &missing]);
    assert!(!std::path::Path::new(&format!("{missing}-copy")).exists(), "nothing is left of a mistake");
    fails(&["serve", &file], &["could not open directory", &file]);
    fails(&["serve", "--config", &missing], &["58P01: could not read file", &missing]);
}

#[test]
fn the_laboratory_compares_recovery_schemes() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path().display().to_string();
    let options =
        "lab recovery --workload smallbank --customers 50 --transactions 300 --threads 1,2 --repeat 2";
    let mut args: Vec<&str> = options.split(' ').collect();
    args.extend(["--schemes", "clr", "--dir", &dir]);
    let output = planaria(&args);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    assert!(table.contains("scheme         log") && table.contains("as before"), "{table}");
    args.push("--json");
    let output = planaria(&args);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["workload"]["name"], "smallbank");
    assert_eq!(json["results"][0]["scheme"], "clr");
    assert_eq!(json["results"][0]["digest"], json["run"]["digest"]);
    assert_eq!(json["results"][0]["speedup_over_clr"], 1.0);
}

#[test]
fn a_recorded_replay_runs_on_simulated_workers() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("tasks.json");
    let tasks = r#"{"title": "a test", "scheme": "regrow", "threads": 2, "transactions": 10, "tasks": [
        {"kind": "plan", "ns": 1000000}, {"kind": "execute", "ns": 4000000, "after": [0]},
        {"kind": "execute", "ns": 4000000, "after": [0]}]}"#;
    std::fs::write(&file, tasks).expect("writes");
    let file = file.display().to_string();
    let output =
        planaria(&["lab", "simulate-recovery", &file, "--workers", "1,2", "--take-ns", "0", "--json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((json["work_ms"].as_f64(), json["span_ms"].as_f64()), (Some(9.0), Some(5.0)));
    assert_eq!(json["points"][1]["speedup"].as_f64(), Some(1.8));
    let output = planaria(&["lab", "simulate-recovery", &file]);
    assert!(text(&output.stdout).contains("speed-up"), "{}", text(&output.stdout));
}

const BANK: &str = "
    CREATE TABLE spouse (name text PRIMARY KEY, spouse text);
    CREATE TABLE current (name text PRIMARY KEY, value int NOT NULL);
    CREATE TABLE saving (name text PRIMARY KEY, value int NOT NULL);
    CREATE TABLE stats (nation int PRIMARY KEY, count int NOT NULL);
    CREATE PROCEDURE transfer(src text, amount int) LANGUAGE plpgsql AS $$
    DECLARE dst text;
    BEGIN
        SELECT spouse INTO dst FROM spouse WHERE name = src;
        IF dst IS NOT NULL THEN
            UPDATE current SET value = value - amount WHERE name = src;
            UPDATE current SET value = value + amount WHERE name = dst;
            UPDATE saving SET value = value + 1 WHERE name = src;
        END IF;
    END $$;
    CREATE PROCEDURE deposit(p_name text, amount int, p_nation int) LANGUAGE plpgsql AS $$
    DECLARE tmp int;
    BEGIN
        UPDATE current SET value = value + amount WHERE name = p_name RETURNING value INTO tmp;
        IF tmp > 10000 THEN
            UPDATE saving SET value = value + tmp / 50 WHERE name = p_name;
            UPDATE stats SET count = count + 1 WHERE nation = p_nation;
        END IF;
    END $$;
    CREATE FUNCTION balance(p_name text) RETURNS int LANGUAGE plpgsql AS $$
    BEGIN
        RETURN (SELECT value FROM current WHERE name = p_name);
    END $$;";

/// `planaria graph` on the paper's bank: the blocks of Figure 5c, the schedule of Figure 6.
#[test]
fn graphs_of_procedures() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("bank.sql");
    std::fs::write(&file, BANK).expect("writes");
    let path = file.display().to_string();
    let graph = |arguments: &[&str]| {
        let output = planaria(&[&["graph", path.as_str()], arguments].concat());
        assert!(output.status.success(), "{output:?}");
        text(&output.stdout)
    };
    assert_eq!(
        graph(&[]),
        "Global dependency graph: 4 blocks over 2 procedures\n  \
           b0  spouse             transfer.s0\n  \
           b1  current (changed)  transfer.s1, deposit.s0  after b0\n  \
           b2  saving (changed)   transfer.s2, deposit.s1  after b1\n  \
           b3  stats (changed)    deposit.s2               after b1\n"
    );
    let schedule = graph(&["--kind", "schedule", "--calls", "transfer=2", "--calls", "deposit=1"]);
    assert!(schedule.contains("critical path: b0 -> b1 -> b2\n"), "{schedule}");
    assert!(graph(&["--kind", "local", "--procedure", "transfer"]).starts_with("transfer: 3 slices\n"));
    assert!(graph(&["--kind", "chopping"]).contains(": 2 blocks over 2 procedures\n"));
    assert!(graph(&["--kind", "procedure", "--procedure", "balance"]).contains("read current"));
    let dot = graph(&["--format", "dot"]);
    assert!(dot.starts_with("digraph \"Global dependency graph\" {") && dot.contains("n0 -> n1;"), "{dot}");
    for kind in ["procedure", "local", "global", "chopping", "schedule", "regrow"] {
        let picture = dir.path().join(kind).display().to_string();
        graph(&["--kind", kind, "--format", "svg", "-o", &picture]);
        let svg = std::fs::read_to_string(&picture).expect("a picture");
        assert!(svg.contains("<svg ") && svg.contains("current") && svg.trim_end().ends_with("</svg>"));
    }
    let output = planaria(&["graph", &path, "--procedure", "nosuch"]);
    assert!(text(&output.stderr).contains("42883"));
    assert!(!output.status.success());
}

/// The same transactions under each log kind. (SmallBank's names are longer than its rows.)
#[test]
fn bench_compares_log_bytes() {
    let output = planaria(&[
        "bench",
        "smallbank",
        "--rows",
        "100",
        "--seconds",
        "0.1",
        "--warmup",
        "0",
        "--log-bytes",
        "500",
        "--json",
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let kinds = json["log_bytes_by_kind"].as_array().expect("rows");
    let bytes = |kind: &str| {
        let row = kinds.iter().find(|row| row["kind"] == kind).expect(kind);
        assert_eq!(row["transactions"], 500);
        row["bytes"].as_u64().expect("a number")
    };
    assert!(0 < bytes("logical") && bytes("logical") < bytes("physical"));
    assert!(bytes("adaptive") <= bytes("command").max(bytes("logical")));
    let records: Vec<_> = kinds.iter().map(|row| &row["records"]).collect();
    assert!(records.windows(2).all(|pair| pair[0] == pair[1]), "{records:?}");
}

/// Files, records and sums as text and as JSON; verification by exit status; nothing written.
#[test]
fn log_is_inspected_and_verified() {
    let dir = tempfile::tempdir().expect("a directory");
    let data = dir.path().join("data").display().to_string();
    let file = dir.path().join("1.sql");
    std::fs::write(
        &file,
        "CREATE TABLE t (a int PRIMARY KEY, b text);
         CREATE PROCEDURE put(p_a int, p_b text) LANGUAGE plpgsql AS $$
         BEGIN INSERT INTO t VALUES (p_a, p_b); END $$;
         CALL put(1, 'one'); INSERT INTO t VALUES (2, NULL), (3, NULL);",
    )
    .expect("writes");
    let output = planaria(&["run", "--data", &data, &file.display().to_string()]);
    assert!(output.status.success(), "{}", text(&output.stderr));

    let output = planaria(&["log", "inspect", &data, "--changes", "1"]);
    let shown = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for line in [
        "  00000001-00-00000000.log  format 12",
        "call put(p_a = 1, p_b = one)",
        "    insert into t after (a = 2, b = NULL)\n    and 1 more changes",
        "4 records",
        "  put  ",
    ] {
        assert!(shown.contains(line), "{line} is not in\n{shown}");
    }
    let output = planaria(&["log", "inspect", &data, "--json", "--procedure", "put"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["log"]["segments"][0]["records"], 4);
    assert_eq!(json["summary"]["records"], 1);
    let entry = &json["entries"][0];
    assert_eq!((&entry["kind"], &entry["procedure"]), (&"call".into(), &"put".into()));
    assert_eq!(entry["args"][1], serde_json::json!({"name": "p_b", "value": "one"}));

    let output = planaria(&["log", "verify", &data, "--threads", "2"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).ends_with("verified\n"), "{}", text(&output.stdout));
    let output = planaria(&["log", "verify", &data, "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["tables"][0]["rows"], 3);

    let log = Path::new(&data).join("00000001-00-00000000.log");
    let mut bytes = std::fs::read(&log).expect("reads");
    bytes[4096 + 55] ^= 1;
    std::fs::write(&log, bytes).expect("writes");
    for command in ["inspect", "verify"] {
        let output = planaria(&["log", command, &data]);
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).contains("is damaged at offset 4096"), "{}", text(&output.stderr));
    }
}

#[test]
fn the_campaign_says_what_it_tried() {
    let output =
        planaria(&["lab", "faults", "--kind", "crash,flip", "--cases", "3", "--steps", "8", "--json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        (&json[0]["kind"], &json[0]["cases"], &json[0]["held"]),
        (&"crash".into(), &3.into(), &3.into())
    );
    assert_eq!(json[1]["failures"], serde_json::json!([]));
    let output =
        planaria(&["lab", "faults", "--kind", "crash", "--steps", "8", "--seed", "2", "--case", "30"]);
    assert!(
        text(&output.stdout).contains("  crash             1         1         1 "),
        "{}",
        text(&output.stdout)
    );
    let output = planaria(&["lab", "faults", "--kind", "flood"]);
    assert!(text(&output.stderr).contains("there is no kind of fault \"flood\"; there are crash, recovery"));

    let output = planaria(&["lab", "histories", "--count", "30", "--json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&json["histories"], &json["violations"]), (&30.into(), &serde_json::json!([])));
}

/// A figure of a paper, tiny: what it prints, and its files.
#[test]
fn lab_measures_a_figure() {
    let dir = tempfile::tempdir().expect("a directory");
    let out = dir.path().join("results").display().to_string();
    let output = planaria(&["lab", "figures"]);
    assert!(text(&output.stdout).contains("fig-3.14"), "{}", text(&output.stdout));
    let args = [
        "lab",
        "table-3.2",
        "--quick",
        "--turns",
        "1",
        "--time",
        "50ms",
        "--warmup",
        "5ms",
        "--panels",
        "k1,k3",
        "--out",
        &out,
    ];
    let output = planaria(&args);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    for part in ["24 sessions, each transaction waits 1 ms", "HEALING", "as the paper: yes", "table-3.2.svg"]
    {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    for ending in ["json", "csv", "svg"] {
        let file = dir.path().join("results").join(format!("table-3.2.{ending}"));
        assert!(std::fs::metadata(&file).is_ok_and(|m| m.len() > 500), "{}", file.display());
    }
    // With settings of one's own.
    let own = ["--schemes", "silo,silo+none", "--sessions", "3", "--wait", "200us", "--theta", "0.7"];
    let output = planaria(&[&args[..9], &["--panels", "k3", "--out", &out], &own].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    for part in ["3 sessions, each transaction waits 200 us", "SILO at once", "not as in the paper"] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    let output = planaria(&["lab", "table-3.2", "--reads", "5", "--out", &out]);
    assert!(text(&output.stderr).contains("has no parameter \"reads\""), "{}", text(&output.stderr));
    let output = planaria(&["lab", "fig-9.9"]);
    assert!(text(&output.stderr).contains("unrecognized subcommand"), "{}", text(&output.stderr));
}

/// Loads of every kind: paced, waiting, open, skewed.
#[test]
fn bench_makes_contention() {
    for extra in [
        &["smallbank", "--rows", "10", "--theta", "0.9", "--sessions", "4", "--yield-every", "2"][..],
        &["smallbank", "--rows", "10", "--wait", "200us", "--protocol", "healing", "--unhealed", "50"],
        &["smallbank", "--rows", "100", "--mix", "0,1,0,0,0,0", "--ad-hoc", "50"],
        &[
            "ycsb",
            "--rows",
            "100",
            "--operations",
            "16",
            "--reads",
            "90",
            "--theta",
            "0",
            "--backoff",
            "none",
        ],
        &["voter", "--rate", "500", "--threads", "2"],
        &["tpcc", "--warehouses", "2", "--home", "--cross-partition", "10", "--sessions", "3"],
    ] {
        let mut args = vec!["bench"];
        args.extend(extra);
        args.extend(["--seconds", "0.2", "--warmup", "0.1", "--durability", "off", "--check", "--json"]);
        let output = planaria(&args);
        assert!(output.status.success(), "{extra:?}: {}", text(&output.stderr));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert!(report["table_operations_per_txn"].as_f64().is_some_and(|n| n > 0.0), "{extra:?}: {report}");
        assert_eq!(report["failed"].as_u64().filter(|_| !extra.contains(&"--ad-hoc")).unwrap_or(0), 0);
    }
    let output = planaria(&["bench", "voter", "--theta", "1"]);
    assert!(text(&output.stderr).contains("voter has no parameter \"theta\""), "{}", text(&output.stderr));
}

/// The demo ends well, in lines that a terminal of 80 columns does not wrap; what it cannot do is an error.
#[test]
fn demo_loads_runs_is_killed_and_recovers() {
    let dir = tempfile::tempdir().expect("a directory");
    let data = dir.path().join("data").display().to_string();
    let output =
        planaria(&["demo", "--warehouses", "1", "--seconds", "0.5", "--threads", "2", "--data", &data]);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
    for part in [
        "1. Load",
        "TPC-C, 1 warehouse, into",
        "2. Run",
        "new_order",
        "3. Recover",
        "rows loaded from the checkpoint",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    for part in ["none is lost", "5. Compare", "this restart", "serial replay", "log of rows"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert!(out.lines().all(|line| line.contains(&data) || line.chars().count() <= 80), "{out}");
    assert!(!out.contains('\x1b'), "colours are for terminals");
    let again = planaria(&["demo", "--data", &data]);
    assert!(!again.status.success() && text(&again.stderr).contains("is not empty"));
    for wrong in [
        ["--warehouses", "0"],
        ["--seconds", "0"],
        ["--seconds", "-1"],
        ["--threads", "0"],
        ["--seconds", "x"],
    ] {
        let output = planaria(&[&["demo"], &wrong[..]].concat());
        assert_eq!(output.status.code(), Some(2), "{wrong:?}: {}", text(&output.stderr));
    }
}

fn example(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workloads").join(name).display().to_string()
}

/// Workloads from folders run as those of the shelf do, and what `bench --new` writes is one.
#[test]
fn bench_runs_workloads_of_ones_own() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name).display().to_string();
    let output = planaria(&["bench", "--new", &at("mine")]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(!planaria(&["bench", "--new", &at("mine")]).status.success());
    let (csv, page) = (at("seconds.csv"), at("page.html"));
    for (folder, set) in [
        (at("mine"), "items=50"),
        (example("bank"), "accounts=50"),
        (example("auctions"), "auctions=50"),
        (example("smallbank"), "customers=50"),
    ] {
        let args = ["bench", &folder, "--set", set, "--seconds", "0.3", "--warmup", "0"];
        let more = ["--check", "--recover", "--histogram", "--csv", &csv, "--report", &page, "--json"];
        let output = planaria(&[&args[..], &more[..]].concat());
        assert!(output.status.success(), "{folder}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains("checks after recovery: all 0"));
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(json["size"], 50);
        assert!(json["transactions"].as_u64() > Some(0) && json["in_flight_mean"].as_f64() > Some(0.0));
        assert!(json["by_transaction"][0]["percentiles"][2]["us"].as_f64() > Some(0.0));
        assert!(std::fs::read_to_string(&csv).expect("CSV").starts_with("second,transactions,"));
        assert!(std::fs::read_to_string(&page).expect("a page").contains("</html>"));
    }
    let output =
        planaria(&["bench", &example("bank"), "--set", "accounts=50", "--seconds", "0.2", "--warmup", "0"]);
    assert!(text(&output.stdout).contains("Little's"), "{}", text(&output.stdout));
    let output = planaria(&["bench", &example("bank"), "--set", "acounts=50"]);
    assert!(text(&output.stderr).contains("Did you mean \"accounts\"?"), "{}", text(&output.stderr));
}

/// All schemes recover a workload of one's own, and a restart of it is foretold.
#[test]
fn the_laboratory_takes_workloads_of_ones_own() {
    let workload = example("bank");
    let args =
        ["lab", "recovery", "--workload", &workload, "--set", "accounts=100", "--transactions", "1000"];
    let output = planaria(&[&args[..], &["--repeat", "1", "--threads", "2", "--json"]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&json["workload"]["name"], &json["workload"]["size"]), (&"bank".into(), &100.into()));
    assert!(json["results"].as_array().is_some_and(|r| r.len() >= 5), "{json}");
    let args = ["lab", "restart", "--workload", &workload, "--scale", "100", "--transactions", "300"];
    let output = planaria(&[&args[..], &["--turns", "2"]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
}
