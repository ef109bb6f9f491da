//! The direct serialization graph.
//!
//! Nodes are the committed transactions. The versions of a row are ordered by the commit timestamps of
//! their writers; deletion makes a version too. Edges:
//!
//! * `ww`: from the writer of a version to the writer of the next;
//! * `wr`: from the writer of a version to who read it;
//! * `rw`: from who read a version to the writer of the next; for a scan or a failed lookup that did
//!   not return a row: to the writer of the first version, after the last one that did not match,
//!   that would have matched.

use super::{By, History, Model, Op, RowState, Transaction, Version, Violation};
use std::collections::{BTreeMap, HashMap, HashSet};

/// A state of a row: who made it (`None`: it was there at the start) and what it is.
struct Step {
    writer: Option<usize>,
    state: Option<RowState>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    WriteWrite,
    WriteRead,
    ReadWrite,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::WriteWrite => "ww",
            Kind::WriteRead => "wr",
            Kind::ReadWrite => "rw",
        }
    }
}

type Rows = BTreeMap<(u32, i64), Vec<Step>>;

/// The rows a transaction leaves written.
fn final_writes(transaction: &Transaction) -> HashMap<(u32, i64), Option<RowState>> {
    let mut log: Vec<(usize, (u32, i64), Option<RowState>)> = Vec::new();
    for (at, op) in transaction.ops.iter().enumerate() {
        match op {
            Op::Put { table, key, row } => log.push((at, (*table, *key), Some(*row))),
            Op::Remove { table, key } => log.push((at, (*table, *key), None)),
            Op::Undone { to } => log.retain(|(at, ..)| at < to),
            Op::Get { .. } | Op::Scan { .. } | Op::Refused { .. } => {}
        }
    }
    log.into_iter().map(|(_, key, state)| (key, state)).collect()
}

fn written(op: &Op) -> Option<(u32, i64)> {
    match op {
        Op::Put { table, key, .. } | Op::Remove { table, key } => Some((*table, *key)),
        _ => None,
    }
}

fn matches(by: By, key: i64, row: &RowState, low: i64, high: i64) -> bool {
    let value = match by {
        By::Key => Some(key),
        By::Group => Some(row.group),
        By::Tag => row.tag,
    };
    value.is_some_and(|value| (low..=high).contains(&value))
}

struct Graph<'a> {
    history: &'a History,
    rows: Rows,
    /// Where a version stands: row and position.
    place: HashMap<Version, ((u32, i64), usize)>,
    edges: Vec<Vec<(usize, Kind)>>,
}

pub(super) fn check(history: &History, initial: &Model) -> Result<(), Violation> {
    let mut rows = Rows::new();
    for (key, row) in initial.rows() {
        rows.entry(*key).or_default().push(Step { writer: None, state: Some(*row) });
    }
    for (at, transaction) in history.transactions().iter().enumerate() {
        for (key, state) in final_writes(transaction) {
            let absent = || vec![Step { writer: None, state: None }];
            rows.entry(key).or_insert_with(absent).push(Step { writer: Some(at), state });
        }
    }
    let mut place = HashMap::new();
    for (key, steps) in &rows {
        for (position, step) in steps.iter().enumerate() {
            if let Some(state) = &step.state {
                place.insert(state.version, (*key, position));
            }
        }
    }
    let edges = (0..history.transactions().len()).map(|_| Vec::new()).collect();
    let mut graph = Graph { history, rows, place, edges };
    graph.add_edges()?;
    graph.find_cycle()
}

impl Graph<'_> {
    fn edge(&mut self, from: Option<usize>, to: Option<usize>, kind: Kind) {
        if let (Some(from), Some(to)) = (from, to)
            && from != to
            && !self.edges[from].contains(&(to, kind))
        {
            self.edges[from].push((to, kind));
        }
    }

    fn add_edges(&mut self) -> Result<(), Violation> {
        let mut successions = Vec::new();
        for steps in self.rows.values() {
            successions.extend(steps.windows(2).map(|pair| (pair[0].writer, pair[1].writer)));
        }
        for (from, to) in successions {
            self.edge(from, to, Kind::WriteWrite);
        }
        let history = self.history;
        for (at, transaction) in history.transactions().iter().enumerate() {
            for op in &transaction.ops {
                match op {
                    Op::Get { table, by, value, found } => {
                        let rows: Vec<_> = found.iter().copied().collect();
                        self.read(at, *table, &rows)?;
                        self.missed(at, *table, *by, *value, *value, &rows);
                    }
                    Op::Scan { table, by, low, high, rows, .. } => {
                        self.read(at, *table, rows)?;
                        self.missed(at, *table, *by, *low, *high, rows);
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn read(&mut self, reader: usize, table: u32, rows: &[(i64, Version)]) -> Result<(), Violation> {
        let id = self.history.transactions()[reader].id;
        for (key, version) in rows {
            if version.transaction() == id {
                continue;
            }
            let Some((row, position)) = self.place.get(version).copied() else {
                return Err(Violation(format!(
                    "T{id} read version {version:?} of row {key} of table {table}, which no committed \
                     transaction left behind (dirty or intermediate read)"
                )));
            };
            let steps = &self.rows[&row];
            let (writer, next) = (steps[position].writer, steps.get(position + 1).and_then(|s| s.writer));
            self.edge(writer, Some(reader), Kind::WriteRead);
            self.edge(Some(reader), next, Kind::ReadWrite);
        }
        Ok(())
    }

    /// Rows in the range that the reader was not shown.
    fn missed(&mut self, reader: usize, table: u32, by: By, low: i64, high: i64, shown: &[(i64, Version)]) {
        let transaction = &self.history.transactions()[reader];
        // What a transaction writes itself, be it undone later, hides the versions of others.
        let own: HashSet<(u32, i64)> = transaction.ops.iter().filter_map(written).collect();
        let mut edges = Vec::new();
        for (key, steps) in self.rows.range((table, i64::MIN)..=(table, i64::MAX)) {
            if own.contains(key) || shown.iter().any(|(shown, _)| *shown == key.1) {
                continue;
            }
            let matching =
                |step: &Step| step.state.as_ref().is_some_and(|row| matches(by, key.1, row, low, high));
            // The last version before the reader's place that did not match is what it may have seen.
            let before = steps.iter().take_while(|step| step.writer.is_none_or(|w| w < reader)).count();
            let seen = (0..before).rev().find(|i| !matching(&steps[*i]));
            let after = seen.map_or(0, |seen| seen + 1);
            if let Some(first) = steps[after..].iter().find(|step| matching(step)) {
                edges.push((Some(reader), first.writer, Kind::ReadWrite));
            }
            if let Some(seen) = seen {
                edges.push((steps[seen].writer, Some(reader), Kind::WriteRead));
            }
        }
        for (from, to, kind) in edges {
            self.edge(from, to, kind);
        }
    }

    /// Depth-first search without recursion; grey nodes are on the path.
    fn find_cycle(&self) -> Result<(), Violation> {
        const WHITE: u8 = 0;
        const GREY: u8 = 1;
        const BLACK: u8 = 2;
        let mut colour = vec![WHITE; self.edges.len()];
        for root in 0..self.edges.len() {
            if colour[root] != WHITE {
                continue;
            }
            let mut path = vec![(root, 0)];
            colour[root] = GREY;
            while let Some((node, next)) = path.last_mut() {
                let Some((to, _)) = self.edges[*node].get(*next).copied() else {
                    colour[*node] = BLACK;
                    path.pop();
                    continue;
                };
                *next += 1;
                match colour[to] {
                    WHITE => {
                        colour[to] = GREY;
                        path.push((to, 0));
                    }
                    GREY => return Err(self.describe(&path, to)),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn describe(&self, path: &[(usize, usize)], to: usize) -> Violation {
        let begin = path.iter().position(|(node, _)| *node == to).unwrap_or(0);
        let mut text = String::from("cycle: ");
        for (node, next) in &path[begin..] {
            let (_, kind) = self.edges[*node][next - 1];
            text += &format!("T{} -{}-> ", self.history.transactions()[*node].id, kind.name());
        }
        text += &format!("T{}", self.history.transactions()[to].id);
        for (node, _) in &path[begin..] {
            let transaction = &self.history.transactions()[*node];
            text += &format!("\n  T{} at {:?}: {:?}", transaction.id, transaction.ts, transaction.ops);
        }
        Violation(text)
    }
}
