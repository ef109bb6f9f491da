//! What the server counts, and how Prometheus is told.

use parking_lot::RwLock;
use planaria::{RecoveryReport, SqlState, Stats};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Procedures that have a histogram of their own; those beyond count among all statements only.
const PROCEDURES_MAX: usize = 1_000;
/// Buckets end at 2^4, 2^5, ... microseconds; the last has no end.
const FIRST_BUCKET: u32 = 4;
const BUCKETS: usize = 21;

/// Times, by powers of two.
#[derive(Default)]
pub(crate) struct Histogram {
    buckets: [AtomicU64; BUCKETS],
    micros: AtomicU64,
}

impl Histogram {
    pub(crate) fn add(&self, time: Duration) {
        let micros = time.as_micros() as u64;
        // The smallest power of two that it does not exceed.
        let power = u64::BITS - micros.saturating_sub(1).leading_zeros();
        let bucket = power.saturating_sub(FIRST_BUCKET) as usize;
        self.buckets[bucket.min(BUCKETS - 1)].fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }

    fn count(&self) -> u64 {
        self.buckets.iter().map(|b| b.load(Ordering::Relaxed)).sum()
    }

    fn write(&self, out: &mut String, name: &str, label: Option<(&str, &str)>) {
        let counts: Vec<u64> = self.buckets.iter().map(|b| b.load(Ordering::Relaxed)).collect();
        let seconds = self.micros.load(Ordering::Relaxed) as f64 / 1e6;
        write_histogram(out, name, label, FIRST_BUCKET, &counts, seconds);
    }
}

/// Counts of times up to 2^first, 2^(first+1), ... microseconds.
fn write_histogram(
    out: &mut String,
    name: &str,
    label: Option<(&str, &str)>,
    first: u32,
    counts: &[u64],
    seconds: f64,
) {
    let own = label.map_or(String::new(), |(key, value)| format!("{key}=\"{}\",", escaped(value)));
    let mut total = 0;
    for (i, count) in counts.iter().enumerate() {
        total += count;
        let end = if i + 1 == counts.len() {
            "+Inf".to_owned()
        } else {
            ((1u64 << (first + i as u32)) as f64 / 1e6).to_string()
        };
        let _ = writeln!(out, "{name}_bucket{{{own}le=\"{end}\"}} {total}");
    }
    let own = if own.is_empty() { own } else { format!("{{{}}}", own.trim_end_matches(',')) };
    let _ = writeln!(out, "{name}_sum{own} {seconds}");
    let _ = writeln!(out, "{name}_count{own} {total}");
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Counters since the start.
#[derive(Default)]
pub(crate) struct Metrics {
    statements: Histogram,
    procedures: RwLock<HashMap<String, Arc<Histogram>>>,
    errors: RwLock<BTreeMap<String, u64>>,
    pub(crate) connections: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) failed_logins: AtomicU64,
}

impl Metrics {
    /// A statement has run, successfully.
    pub(crate) fn statement(&self, procedure: Option<&Histogram>, time: Duration) {
        self.statements.add(time);
        if let Some(procedure) = procedure {
            procedure.add(time);
        }
    }

    /// Where the calls of a procedure are counted; `None` where there are too many procedures.
    pub(crate) fn procedure(&self, name: &str) -> Option<Arc<Histogram>> {
        if let Some(found) = self.procedures.read().get(name) {
            return Some(found.clone());
        }
        let mut all = self.procedures.write();
        if all.len() >= PROCEDURES_MAX && !all.contains_key(name) {
            return None;
        }
        Some(all.entry(name.to_owned()).or_default().clone())
    }

    /// Statements and errors so far; and the counts of times, of all statements and then of each procedure, by name.
    pub(crate) fn counts(&self) -> (u64, u64, Vec<(String, Vec<u64>)>) {
        let errors = self.errors.read().values().sum();
        let buckets = |h: &Histogram| h.buckets.iter().map(|b| b.load(Ordering::Relaxed)).collect();
        let mut procedures: Vec<_> =
            self.procedures.read().iter().map(|(n, h)| (n.clone(), buckets(h))).collect();
        procedures.sort_by(|a, b| a.0.cmp(&b.0));
        procedures.insert(0, ("all statements".to_owned(), buckets(&self.statements)));
        (self.statements.count(), errors, procedures)
    }

    /// A client has been told of an error.
    pub(crate) fn error(&self, sqlstate: SqlState) {
        *self.errors.write().entry(sqlstate.as_str().to_owned()).or_default() += 1;
    }

    /// All of it in Prometheus' text form.
    pub(crate) fn page(
        &self,
        open: usize,
        max: usize,
        stats: &Stats,
        recovery: Option<&RecoveryReport>,
    ) -> String {
        let mut page = Page(String::new());
        page.one("planaria_connections", "gauge", "Clients that are connected.", open as f64);
        page.one("planaria_connections_max", "gauge", "Connections that can be open.", max as f64);
        let count = |n: &AtomicU64| n.load(Ordering::Relaxed) as f64;
        page.one("planaria_connections_total", "counter", "Connections accepted.", count(&self.connections));
        page.one(
            "planaria_connections_refused_total",
            "counter",
            "Connections refused.",
            count(&self.refused),
        );
        let help = "Logins with a wrong password, or as a role that does not exist.";
        page.one("planaria_logins_failed_total", "counter", help, count(&self.failed_logins));
        page.head(
            "planaria_statement_seconds",
            "histogram",
            "Time of statements, without waiting for the disk.",
        );
        self.statements.write(&mut page.0, "planaria_statement_seconds", None);
        page.head("planaria_procedure_seconds", "histogram", "The same of statements that are one call.");
        let mut procedures: Vec<_> =
            self.procedures.read().iter().map(|(n, h)| (n.clone(), h.clone())).collect();
        procedures.sort_by(|a, b| a.0.cmp(&b.0));
        for (name, histogram) in procedures {
            histogram.write(&mut page.0, "planaria_procedure_seconds", Some(("procedure", &name)));
        }
        page.head("planaria_errors_total", "counter", "Errors that clients were told of.");
        for (sqlstate, n) in &*self.errors.read() {
            page.labelled("planaria_errors_total", "sqlstate", sqlstate, *n as f64);
        }
        page.one("planaria_commits_total", "counter", "Transactions committed.", stats.commits as f64);
        page.head(
            "planaria_aborts_total",
            "counter",
            "Attempts of transactions that were aborted and repeated.",
        );
        for (cause, n) in &stats.aborts {
            page.labelled("planaria_aborts_total", "cause", cause, *n as f64);
        }
        page.head(
            "planaria_healing_total",
            "counter",
            "Of attempts whose reads did not hold and that were healed: commits, what was run again, what not.",
        );
        for (what, n) in stats.healing.counters() {
            page.labelled("planaria_healing_total", "what", what, n as f64);
        }
        page.head(
            "planaria_waiting_sessions",
            "gauge",
            "Sessions that do not go on at present, by what keeps them.",
        );
        for (what, n) in stats.waiting.counts() {
            page.labelled("planaria_waiting_sessions", "for", what, n as f64);
        }
        page.one(
            "planaria_log_records_total",
            "counter",
            "Records written to the log.",
            stats.log_records as f64,
        );
        page.one("planaria_log_bytes_total", "counter", "Bytes written to the log.", stats.log_bytes as f64);
        page.head("planaria_log_sync_seconds", "histogram", "Time of syncs of the log.");
        let (syncs, time) = (&stats.sync_histogram, stats.sync_time.as_secs_f64());
        write_histogram(&mut page.0, "planaria_log_sync_seconds", None, 0, syncs, time);
        let c = &stats.checkpoint;
        page.one("planaria_checkpoints_total", "counter", "Checkpoints written.", c.written as f64);
        let help = "Checkpoints that could not be written.";
        page.one("planaria_checkpoints_failed_total", "counter", help, c.failed as f64);
        page.one("planaria_checkpoint_bytes", "gauge", "Bytes of the newest checkpoint.", c.bytes as f64);
        let help = "Time since the newest checkpoint was written, or the database opened.";
        page.one("planaria_checkpoint_age_seconds", "gauge", help, c.age.as_secs_f64());
        let help = "Bytes of the log that a restart would replay.";
        page.one("planaria_log_pending_bytes", "gauge", help, c.log_bytes as f64);
        page.head("planaria_restart_seconds", "gauge", "What a restart would take now, by what it would do.");
        page.labelled("planaria_restart_seconds", "of", "load", c.restart.load.as_secs_f64());
        page.labelled("planaria_restart_seconds", "of", "replay", c.restart.replay.as_secs_f64());
        let memory = &stats.memory;
        page.one("planaria_rows", "gauge", "Rows of all tables.", memory.rows as f64);
        let open = stats.open_snapshots as f64;
        page.one("planaria_snapshots", "gauge", "Snapshots that are being read.", open);
        page.head(
            "planaria_memory_bytes",
            "gauge",
            "Memory of tables and indexes, and of the whole process.",
        );
        page.labelled("planaria_memory_bytes", "of", "rows", memory.row_bytes as f64);
        page.labelled("planaria_memory_bytes", "of", "indexes", memory.index_bytes as f64);
        page.labelled("planaria_memory_bytes", "of", "old_versions", memory.old_version_bytes as f64);
        page.labelled("planaria_memory_bytes", "of", "sessions", memory.session_bytes as f64);
        page.labelled("planaria_memory_bytes", "of", "log_buffers", memory.log_buffer_bytes as f64);
        page.labelled("planaria_memory_bytes", "of", "ready", memory.ready_bytes as f64);
        if let Some(budget) = memory.budget {
            page.labelled("planaria_memory_bytes", "of", "budget", budget as f64);
        }
        if let Some(bytes) = resident_bytes() {
            page.labelled("planaria_memory_bytes", "of", "process", bytes as f64);
        }
        if let Some(report) = recovery {
            let seconds = report.replay.as_secs_f64();
            page.one("planaria_recovery_seconds", "gauge", "Time of the last recovery.", seconds);
            let transactions = report.transactions as f64;
            page.one("planaria_recovery_transactions", "gauge", "Transactions it replayed.", transactions);
        }
        page.0
    }

    /// The same for people, in a few lines.
    pub(crate) fn summary(&self, open: usize, max: usize, stats: &Stats) -> String {
        let mut out = String::new();
        let aborts: u64 = stats.aborts.iter().map(|a| a.1).sum();
        let errors: u64 = self.errors.read().values().sum();
        let memory = &stats.memory;
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let _ = writeln!(out, "connections    {open} of {max}");
        let _ = writeln!(out, "failed logins  {}", self.failed_logins.load(Ordering::Relaxed));
        let _ = writeln!(out, "statements     {}", self.statements.count());
        let _ = writeln!(out, "errors         {errors}");
        let _ = writeln!(out, "commits        {}", stats.commits);
        let _ = writeln!(out, "aborts         {aborts}");
        let _ = writeln!(
            out,
            "log            {} records, {:.1} MiB, {} syncs",
            stats.log_records,
            mib(stats.log_bytes),
            stats.fsyncs
        );
        let c = &stats.checkpoint;
        match c.number {
            0 => out.push_str("checkpoint     none\n"),
            n => {
                let (rows, size, age) = (c.rows, mib(c.bytes), c.age.as_secs());
                let _ = writeln!(out, "checkpoint     {n}: {rows} rows, {size:.1} MiB, {age} s old");
            }
        }
        if c.failed > 0 {
            let _ = writeln!(out, "               {} could not be written", c.failed);
        }
        let _ = writeln!(
            out,
            "restart        {:.1} s now: {:.1} s to load, {:.1} s to replay {:.1} MiB of log{}",
            c.restart.total().as_secs_f64(),
            c.restart.load.as_secs_f64(),
            c.restart.replay.as_secs_f64(),
            mib(c.log_bytes),
            if c.restart.measured { "" } else { " (at assumed rates)" }
        );
        let _ = writeln!(
            out,
            "tables         {} rows, {:.1} MiB, and {:.1} MiB of indexes",
            memory.rows,
            mib(memory.row_bytes),
            mib(memory.index_bytes)
        );
        if let Some(bytes) = resident_bytes() {
            let _ = writeln!(out, "process        {:.1} MiB", mib(bytes));
        }
        out
    }
}

/// A page of metrics that is being written.
struct Page(String);

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn one(&mut self, name: &str, kind: &str, help: &str, value: f64) {
        self.head(name, kind, help);
        let _ = writeln!(self.0, "{name} {value}");
    }

    fn labelled(&mut self, name: &str, key: &str, label: &str, value: f64) {
        let _ = writeln!(self.0, "{name}{{{key}=\"{}\"}} {value}", escaped(label));
    }
}

/// Memory of the process, where the system tells.
pub(crate) fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_counted_where_they_belong() {
        let histogram = Histogram::default();
        for micros in [0, 16, 17, 1_000_000_000] {
            histogram.add(Duration::from_micros(micros));
        }
        let mut out = String::new();
        histogram.write(&mut out, "x", Some(("procedure", "a\"b")));
        assert!(out.starts_with("x_bucket{procedure=\"a\\\"b\",le=\"0.000016\"} 2\n"));
        assert!(out.contains("le=\"0.000032\"} 3\n"));
        assert!(out.contains("le=\"+Inf\"} 4\n"));
        assert!(out.ends_with("x_sum{procedure=\"a\\\"b\"} 1000.000033\nx_count{procedure=\"a\\\"b\"} 4\n"));
    }

    #[test]
    fn a_page_has_a_head_for_each_metric() {
        let metrics = Metrics::default();
        metrics.error(SqlState::SYNTAX_ERROR);
        metrics.statement(metrics.procedure("pay").as_deref(), Duration::from_micros(20));
        let mut stats = Stats::default();
        (stats.waiting.retries, stats.healing.runs) = (3, 2);
        let page = metrics.page(1, 2, &stats, None);
        assert!(page.contains("planaria_waiting_sessions{for=\"retry\"} 3\n"));
        assert!(page.contains("planaria_healing_total{what=\"runs\"} 2\n"));
        assert!(page.contains("planaria_errors_total{sqlstate=\"42601\"} 1\n"));
        assert!(page.contains("planaria_procedure_seconds_count{procedure=\"pay\"} 1\n"));
        for line in page.lines().filter(|l| !l.starts_with('#')) {
            let name = line.split(['{', ' ']).next().expect("a name");
            let family =
                ["_bucket", "_sum", "_count"].iter().find_map(|s| name.strip_suffix(s)).unwrap_or(name);
            assert!(page.contains(&format!("# TYPE {family} ")), "{line}");
        }
    }
}
