//! Running a script on both engines, statement by statement.

use crate::cluster::Cluster;
use planaria::{Database, Session};
use std::fmt;
use std::io::{Read, Result, Write};
use std::process::Stdio;

/// A statement and how its answer is compared.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its text, without a semicolon.
    pub text: String,
    /// Rows come in an order that the statement determines.
    pub ordered: bool,
}

/// What a statement did.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Rows, columns separated by `|`.
    pub rows: Vec<String>,
    /// Severities and messages.
    pub notices: Vec<String>,
    /// The command tag of what changes rows.
    pub tag: String,
    /// SQLSTATE and message.
    pub error: Option<(String, String)>,
    /// PostgreSQL raised the error in a statement of its own, for a referential action.
    pub in_action: bool,
}

/// Where an error was raised is no part of the answer.
impl PartialEq for Outcome {
    fn eq(&self, other: &Outcome) -> bool {
        let parts = |o: &Outcome| (o.rows.clone(), o.notices.clone(), o.tag.clone(), o.error.clone());
        parts(self) == parts(other)
    }
}

impl Outcome {
    /// Whether the engine does not have what the statement asks for.
    pub fn is_unsupported(&self) -> bool {
        self.error.as_ref().is_some_and(|(code, _)| code == "0A000")
    }

    /// Sorted where the order means nothing.
    fn settle(mut self, step: &Step) -> Outcome {
        if !step.ordered {
            self.rows.sort();
        }
        self
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for notice in &self.notices {
            writeln!(f, "{notice}")?;
        }
        for row in &self.rows {
            writeln!(f, "{row}")?;
        }
        if !self.tag.is_empty() {
            writeln!(f, "{}", self.tag)?;
        }
        if let Some((code, message)) = &self.error {
            writeln!(f, "ERROR:  {code}: {message}")?;
        }
        Ok(())
    }
}

/// How NULL is shown.
const NULL: &str = "\u{2205}";

/// Tags of statements whose row count is compared.
fn shows_tag(tag: &str) -> bool {
    ["INSERT", "UPDATE", "DELETE", "MERGE"].iter().any(|t| tag.starts_with(t))
}

/// Runs a script in a new Planaria.
pub fn planaria(steps: &[Step]) -> planaria::Result<Vec<Outcome>> {
    run(&Database::in_memory()?, steps, &mut |_| ())
}

/// Runs a script in a new database; tells before each step which it is.
pub fn run(db: &Database, steps: &[Step], before: &mut dyn FnMut(usize)) -> planaria::Result<Vec<Outcome>> {
    let mut session = db.session()?;
    session.execute("SET statement_timeout = '20s'", ())?;
    session.execute("CREATE ROLE reader", ())?;
    let mut outcomes = Vec::new();
    for (n, step) in steps.iter().enumerate() {
        before(n);
        outcomes.push(one(&mut session, step).settle(step));
    }
    Ok(outcomes)
}

fn one(session: &mut Session, step: &Step) -> Outcome {
    let mut outcome = Outcome::default();
    let mut notices = Vec::new();
    let mut failed = None;
    let ran = session.execute_each(&step.text, &mut |result| {
        if shows_tag(&result.tag) {
            outcome.tag.clone_from(&result.tag);
        }
        // How calls are logged is ours to say.
        let ours = |m: &str| {
            m.starts_with("calls of")
                || m.contains(" is remembered, but not made")
                || m.ends_with(" ordered one (btree)")
        };
        notices.extend(result.notices.into_iter().filter(|n| !ours(&n.message)));
        for row in result.rows.iter().flatten() {
            let cells = (0..row.values().len()).map(|i| row.text(i).unwrap_or_else(|| NULL.to_owned()));
            // psql shows a text of several lines so.
            let row = cells.collect::<Vec<_>>().join("|");
            outcome.rows.extend(row.split('\n').map(str::to_owned));
        }
    });
    if let Err((error, _)) = ran {
        notices.extend(session.take_notices());
        failed = Some((error.sqlstate().to_string(), error.message().to_owned()));
    }
    outcome.error = failed;
    outcome.notices = notices.iter().map(|n| format!("{}:  {}", n.severity, n.message)).collect();
    outcome
}

/// Runs scripts on PostgreSQL, each in an empty schema.
pub fn postgres(cluster: &Cluster, scripts: &[Vec<Step>]) -> Result<Vec<Vec<Outcome>>> {
    let (mut reader, writer) = std::io::pipe()?;
    let mut psql = cluster.psql();
    psql.stdin(Stdio::piped()).stdout(writer.try_clone()?).stderr(writer);
    let mut child = psql.spawn()?;
    // The pipe ends when psql has ended, so nobody else may keep it open.
    drop(psql);
    let mut input = format!("\\set VERBOSITY verbose\n\\pset null '{NULL}'\n\\set QUIET off\n");
    for script in scripts {
        input.push_str(
            "\\set QUIET on\nROLLBACK;\nRESET ROLE;\nRESET ALL;\nDROP SCHEMA IF EXISTS other, third CASCADE;\nDROP SCHEMA public CASCADE; CREATE SCHEMA public; GRANT USAGE ON SCHEMA public TO PUBLIC;\n\
             DROP OWNED BY reader;\n\\set QUIET off\n",
        );
        for step in script {
            input.push_str("\\echo @@@begin\n");
            input.push_str(&step.text);
            input.push_str("\n;\n\\echo @@@end\n");
        }
    }
    let mut stdin = child.stdin.take().ok_or_else(|| std::io::Error::other("psql takes no input"))?;
    let feed = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let mut output = Vec::new();
    reader.read_to_end(&mut output)?;
    let output = String::from_utf8_lossy(&output);
    feed.join().map_err(|_| std::io::Error::other("the writer to psql panicked"))??;
    child.wait()?;
    let mut answers = output.split("@@@begin\n").skip(1);
    let mut all = Vec::new();
    for script in scripts {
        let mut outcomes = Vec::new();
        for step in script {
            let answer =
                answers.next().ok_or_else(|| std::io::Error::other(format!("psql ended: {output}")))?;
            let answer = answer.split("@@@end\n").next().unwrap_or_default();
            outcomes.push(read(answer).settle(step));
        }
        all.push(outcomes);
    }
    Ok(all)
}

/// What psql printed for one statement.
fn read(answer: &str) -> Outcome {
    let mut outcome = Outcome::default();
    // Behind a message come its details, up to its location in PostgreSQL's source.
    let mut in_message = false;
    for line in answer.lines() {
        // psql reads from a file of no name.
        let line = line.strip_prefix("psql:<stdin>:").map_or(line, |l| l.split_once(": ").map_or(l, |p| p.1));
        let severity = ["NOTICE", "WARNING", "INFO", "ERROR", "FATAL", "PANIC"]
            .into_iter()
            .find(|s| line.strip_prefix(s).is_some_and(|rest| rest.starts_with(":  ")));
        if let Some(severity) = severity {
            in_message = true;
            let rest = &line[severity.len() + 3..];
            let (code, message) = rest.split_once(": ").unwrap_or(("", rest));
            // What ends a statement for psql is no part of those that we are given.
            let message = if message == "syntax error at or near \";\"" {
                "syntax error at end of input"
            } else {
                message
            };
            match severity {
                "ERROR" | "FATAL" | "PANIC" => outcome.error = Some((code.to_owned(), message.to_owned())),
                // A query without lexemes: we say nothing of it.
                _ if message.starts_with("text-search query ") => {}
                _ => outcome.notices.push(format!("{severity}:  {message}")),
            }
        } else if in_message {
            outcome.in_action |= line.starts_with("CONTEXT:  SQL statement \"UPDATE ONLY ");
            in_message = !line.starts_with("LOCATION:");
        } else if shows_tag(line) && line.rsplit(' ').next().is_some_and(|n| n.parse::<u64>().is_ok()) {
            outcome.tag = line.to_owned();
        } else if !is_other_tag(line) {
            outcome.rows.push(line.to_owned());
        }
    }
    outcome
}

/// Tags of statements without rows.
fn is_other_tag(line: &str) -> bool {
    let words = [
        "BEGIN",
        "COMMIT",
        "ROLLBACK",
        "SAVEPOINT",
        "RELEASE",
        "CALL",
        "DO",
        "CREATE ",
        "DROP ",
        "ALTER ",
        "TRUNCATE",
        "SET",
        "SET CONSTRAINTS",
        "PREPARE",
        "DEALLOCATE",
        "RESET",
        "REFRESH MATERIALIZED VIEW",
        "GRANT",
        "REVOKE",
        "NOTIFY",
        "COMMENT",
        "DECLARE CURSOR",
        "CLOSE CURSOR",
    ];
    // Of a table, or a materialized view, that is made of a query.
    let filled = line.strip_prefix("SELECT ").is_some_and(|n| n.parse::<u64>().is_ok());
    filled
        || words.iter().any(|w| {
            line == *w || w.ends_with(' ') && line.starts_with(w) || line.starts_with("TRUNCATE TABLE")
        })
}
