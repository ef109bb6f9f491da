//! A recorded replay on simulated workers: what it would be worth to have more of them.
//!
//! A recovery that records its tasks leaves a graph: what each task cost when it ran, and which had
//! to be done before it. List scheduling gives it to N workers:
//!
//! 1. tasks are taken in the order of their ids, the order in which the scheme itself offers them;
//! 2. a worker that is free takes the first task that is ready; if none is, it waits for the next
//!    that becomes so;
//! 3. a task costs what it cost (under `regrow` the time that its thread ran, so that what else the machine
//!    did does not count), and something for taking it.
//!
//! *Work* is the sum of the costs, *span* the costs on the costliest path: no number of workers is
//! faster than the span, none of N faster than work / N (Graham 1969: no list schedule is slower than
//! their sum). What the simulation does not know: caches and memory bandwidth that workers share, and
//! that fewer workers might have cut the work into other tasks.

use planaria::lab::{TaskKind, TaskRecord};
use planaria::{Error, Result, SqlState};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::path::Path;

/// What it costs a worker to take a task off the list, in nanoseconds.
pub const TAKE_NANOSECONDS: u64 = 150;

/// A task that ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// What it did: load, plan, execute, barrier.
    pub kind: String,
    /// What it cost, in nanoseconds.
    pub ns: u64,
    /// Places in the list of the tasks that had to be done before; all smaller than its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<u32>,
}

/// The tasks of one recovery, in the order in which they were offered to the workers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskGraph {
    /// What was recovered, for people.
    pub title: String,
    /// The scheme.
    pub scheme: String,
    /// Threads it was recorded with.
    pub threads: usize,
    /// Transactions it replayed.
    pub transactions: u64,
    /// See [`Task`].
    pub tasks: Vec<Task>,
}

impl TaskGraph {
    /// From a recovery's report.
    pub fn new(
        title: String,
        scheme: &str,
        threads: usize,
        transactions: u64,
        tasks: &[TaskRecord],
    ) -> TaskGraph {
        let task = |t: &TaskRecord| Task {
            kind: TaskKind::name(t.kind).to_owned(),
            ns: t.nanoseconds,
            after: t.predecessors.clone(),
        };
        let tasks = tasks.iter().map(task).collect();
        TaskGraph { title, scheme: scheme.to_owned(), threads, transactions, tasks }
    }

    /// Reads a file that [`TaskGraph::write`] wrote; 58P01 where there is none, 22023 says what is wrong with
    /// another.
    pub fn read(path: &Path) -> Result<TaskGraph> {
        let text =
            std::fs::read_to_string(path).map_err(|e| Error::file("read file", path, e).with_hint(WRITES))?;
        let graph: TaskGraph = serde_json::from_str(&text).map_err(|e| unusable(path, &e.to_string()))?;
        for (place, task) in (0u32..).zip(&graph.tasks) {
            if let Some(later) = task.after.iter().find(|p| **p >= place) {
                return Err(unusable(path, &format!("task {place} comes after task {later}")));
            }
        }
        Ok(graph)
    }

    /// Writes it as JSON.
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string(self).map_err(std::io::Error::other)?;
        std::fs::write(path, text).map_err(|e| Error::file("write file", path, e))
    }

    /// Sum of the costs, in nanoseconds.
    pub fn work_ns(&self) -> u64 {
        self.tasks.iter().map(|t| t.ns).sum()
    }

    /// Costs on the costliest path, in nanoseconds.
    pub fn span_ns(&self) -> u64 {
        let mut ends: Vec<u64> = Vec::with_capacity(self.tasks.len());
        for task in &self.tasks {
            let start = task.after.iter().map(|p| ends[*p as usize]).max().unwrap_or(0);
            ends.push(start + task.ns);
        }
        ends.into_iter().max().unwrap_or(0)
    }

    /// Sums of the costs by kind of task, in nanoseconds.
    pub fn work_by_kind(&self) -> BTreeMap<String, u64> {
        let mut sums = BTreeMap::new();
        for task in &self.tasks {
            *sums.entry(task.kind.clone()).or_default() += task.ns;
        }
        sums
    }

    /// The time `workers` take for it by list scheduling, in nanoseconds.
    pub fn makespan_ns(&self, workers: usize, take_ns: u64) -> u64 {
        let mut waits_for: Vec<usize> = self.tasks.iter().map(|t| t.after.len()).collect();
        let mut successors: Vec<Vec<u32>> = vec![Vec::new(); self.tasks.len()];
        for (place, task) in (0u32..).zip(&self.tasks) {
            task.after.iter().for_each(|p| successors[*p as usize].push(place));
        }
        // The list: what is ready, by place. Beside it, what runs, by the time it ends.
        let mut ready: BinaryHeap<Reverse<u32>> =
            (0u32..).zip(&waits_for).filter(|(_, n)| **n == 0).map(|(place, _)| Reverse(place)).collect();
        let mut running: BinaryHeap<Reverse<(u64, u32)>> = BinaryHeap::new();
        let mut now = 0;
        loop {
            while running.len() < workers.max(1) {
                let Some(Reverse(place)) = ready.pop() else { break };
                running.push(Reverse((now + take_ns + self.tasks[place as usize].ns, place)));
            }
            let Some(Reverse((end, place))) = running.pop() else { return now };
            now = end;
            for &next in &successors[place as usize] {
                waits_for[next as usize] -= 1;
                if waits_for[next as usize] == 0 {
                    ready.push(Reverse(next));
                }
            }
        }
    }

    /// Simulates each number of workers.
    pub fn simulate(&self, workers: &[usize], take_ns: u64) -> Simulation {
        let alone = self.makespan_ns(1, take_ns);
        let points = workers.iter().map(|&workers| {
            let ns = self.makespan_ns(workers, take_ns);
            Speedup {
                workers,
                milliseconds: ns as f64 / 1e6,
                speedup: alone as f64 / ns.max(1) as f64,
                utilization: alone as f64 / (ns.max(1) as f64 * workers as f64),
                txn_per_s: self.transactions as f64 / (ns.max(1) as f64 / 1e9),
            }
        });
        Simulation {
            title: self.title.clone(),
            scheme: self.scheme.clone(),
            recorded_with_threads: self.threads,
            transactions: self.transactions,
            tasks: self.tasks.len(),
            work_ms: self.work_ns() as f64 / 1e6,
            span_ms: self.span_ns() as f64 / 1e6,
            parallelism: self.work_ns() as f64 / self.span_ns().max(1) as f64,
            work_ms_by_kind: self.work_by_kind().into_iter().map(|(k, ns)| (k, ns as f64 / 1e6)).collect(),
            points: points.collect(),
        }
    }
}

const WRITES: &str = "planaria lab recovery --record-tasks FILE writes one.";

fn unusable(path: &Path, what: &str) -> Error {
    Error::new(
        SqlState::INVALID_PARAMETER_VALUE,
        format!("{} is no recorded task graph: {what}", path.display()),
    )
    .with_hint(WRITES)
}

/// What a simulation gives.
#[derive(Clone, Debug, Serialize)]
pub struct Simulation {
    /// What was recovered, for people.
    pub title: String,
    /// The scheme.
    pub scheme: String,
    /// Threads of the recovery that was recorded.
    pub recorded_with_threads: usize,
    /// Transactions it replayed.
    pub transactions: u64,
    /// Tasks it had.
    pub tasks: usize,
    /// Sum of their costs.
    pub work_ms: f64,
    /// Costs on the costliest path.
    pub span_ms: f64,
    /// Work over span: what infinitely many workers would gain.
    pub parallelism: f64,
    /// Work by kind of task.
    pub work_ms_by_kind: BTreeMap<String, f64>,
    /// One a number of workers.
    pub points: Vec<Speedup>,
}

/// A number of workers.
#[derive(Clone, Debug, Serialize)]
pub struct Speedup {
    /// Workers.
    pub workers: usize,
    /// Time they take.
    pub milliseconds: f64,
    /// Times as fast as one worker.
    pub speedup: f64,
    /// Share of their time in which they work.
    pub utilization: f64,
    /// Transactions replayed a second.
    pub txn_per_s: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(tasks: &[(u64, &[u32])]) -> TaskGraph {
        let task =
            |(ns, after): &(u64, &[u32])| Task { kind: "execute".into(), ns: *ns, after: after.to_vec() };
        TaskGraph {
            title: "a test".into(),
            scheme: "regrow".into(),
            threads: 1,
            transactions: 100,
            tasks: tasks.iter().map(task).collect(),
        }
    }

    #[test]
    fn work_and_span_bound_every_schedule() {
        // A diamond, and beside it a chain.
        let g = graph(&[(10, &[]), (20, &[0]), (30, &[0]), (5, &[1, 2]), (8, &[]), (9, &[4])]);
        assert_eq!(g.work_ns(), 82);
        assert_eq!(g.span_ns(), 45);
        assert_eq!(g.makespan_ns(1, 0), 82);
        assert_eq!(g.makespan_ns(100, 0), 45);
        for n in 1..8 {
            let ns = g.makespan_ns(n, 0);
            assert!(ns >= 45 && ns >= 82u64.div_ceil(n as u64) && ns <= 45 + 82 / n as u64, "{n}: {ns}");
        }
        // Two workers: 0 and 4 start; at 8 the second takes 5; at 10 the first takes 1, at 17 the
        // second takes 2, at 47 it takes 3.
        assert_eq!(g.makespan_ns(2, 0), 52);
    }

    #[test]
    fn taking_a_task_costs() {
        let g = graph(&[(10, &[]), (10, &[]), (10, &[])]);
        assert_eq!(g.makespan_ns(1, 5), 45);
        assert_eq!(g.makespan_ns(3, 5), 15);
    }

    #[test]
    fn a_chain_gains_nothing() {
        let s = graph(&[(10, &[]), (10, &[0]), (10, &[1])]).simulate(&[1, 2, 64], 0);
        assert!(s.points.iter().all(|p| (p.speedup - 1.0).abs() < 1e-9));
        assert!((s.parallelism - 1.0).abs() < 1e-9);
    }

    #[test]
    fn nothing_takes_no_time() {
        let g = graph(&[]);
        assert_eq!((g.work_ns(), g.span_ns(), g.makespan_ns(4, 10)), (0, 0, 0));
    }

    #[test]
    fn what_was_written_is_read() {
        let g = graph(&[(10, &[]), (20, &[0])]);
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("tasks.json");
        g.write(&file).expect("writes");
        assert_eq!(TaskGraph::read(&file).expect("reads"), g);
        for text in ["{", "{}", &serde_json::to_string(&graph(&[(1, &[0])])).expect("text")] {
            std::fs::write(&file, text).expect("writes");
            assert_eq!(
                TaskGraph::read(&file).expect_err("refused").sqlstate(),
                SqlState::INVALID_PARAMETER_VALUE
            );
        }
    }
}
