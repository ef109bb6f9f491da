//! Point reads, inserts and short scans on the ordered index, beside `std::collections::BTreeMap`
//! (one thread) and `scc::TreeIndex`.
//!
//! ```text
//! cargo run --release -p planaria-storage --example btree_bench -- [--keys 10000000] [--threads 1,2]
//!     [--rounds 5] [--words 1] [--only planaria,std,scc] [--json]
//! ```
//!
//! Keys are random, inserted in random order; a scan reads 20 entries from a random key, Planaria's
//! with the node set that serializability asks for, and pins every 16 operations as a transaction
//! would. Rounds alternate between the subjects; the table shows medians in nanoseconds per
//! operation (wall time, divided by the operations of one thread).

#![allow(unsafe_code)] // a counting global allocator

use planaria_storage::btree::{BTree, Cursor};
use planaria_storage::reclaim::Participant;
use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::ops::Bound;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

struct Counting;
static ALLOCATED: AtomicUsize = AtomicUsize::new(0);
// SAFETY: forwards to the system allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size(), Relaxed);
        // SAFETY: as promised by the caller.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as promised by the caller.
        unsafe { System.dealloc(block, layout) }
    }
}
#[global_allocator]
static ALLOCATOR: Counting = Counting;

const SCAN: usize = 20;
const PIN_EVERY: u64 = 16;

/// A bijection on words (splitmix64): the `i`-th random key.
fn random_key(i: u64) -> u64 {
    let mut z = i.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

struct Rng(u64);
impl Rng {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(1);
        ((random_key(self.0 ^ 0x5555_5555) as u128 * n as u128) >> 64) as u64
    }
}

/// What one thread does with an index. Keys are words; `W` says how many.
trait Worker<const W: usize> {
    fn insert(&mut self, key: [u64; W], value: u64);
    fn get(&mut self, key: [u64; W]) -> u64;
    fn scan(&mut self, key: [u64; W]) -> u64;
}

struct Planaria<'t> {
    tree: &'t BTree,
    participant: Participant,
    cursor: Cursor,
    node_set: Vec<planaria_storage::btree::NodeRef>,
    ops: u64,
}
impl<'t> Planaria<'t> {
    fn new(tree: &'t BTree) -> Self {
        let (participant, cursor) = (Participant::new(), Cursor::new());
        Planaria { tree, participant, cursor, node_set: Vec::new(), ops: 0 }
    }
    #[inline]
    fn turn(&mut self) {
        if self.ops.is_multiple_of(PIN_EVERY) {
            self.participant.unpin();
            self.participant.pin();
            self.node_set.clear();
        }
        self.ops += 1;
    }
}
impl<const W: usize> Worker<W> for Planaria<'_> {
    fn insert(&mut self, key: [u64; W], value: u64) {
        self.turn();
        black_box(self.tree.insert(self.participant.pinned(), &key, value));
    }
    fn get(&mut self, key: [u64; W]) -> u64 {
        self.turn();
        self.tree.get(self.participant.pinned(), &key).0.unwrap_or(0)
    }
    fn scan(&mut self, key: [u64; W]) -> u64 {
        self.turn();
        let Planaria { tree, participant, cursor, node_set, .. } = self;
        let pin = participant.pinned();
        cursor.open(Bound::Included(&key), Bound::Unbounded, false);
        let mut sum = 0u64;
        for _ in 0..SCAN {
            let Some((_, value)) = cursor.next(*tree, pin, |node| node_set.push(node)) else { break };
            sum = sum.wrapping_add(value);
        }
        sum
    }
}

struct Std<'t, const W: usize>(&'t mut BTreeMap<[u64; W], u64>);
impl<const W: usize> Worker<W> for Std<'_, W> {
    fn insert(&mut self, key: [u64; W], value: u64) {
        self.0.insert(key, value);
    }
    fn get(&mut self, key: [u64; W]) -> u64 {
        self.0.get(&key).copied().unwrap_or(0)
    }
    fn scan(&mut self, key: [u64; W]) -> u64 {
        self.0.range(key..).take(SCAN).fold(0u64, |sum, (_, value)| sum.wrapping_add(*value))
    }
}

struct Scc<'t, const W: usize>(&'t scc::TreeIndex<[u64; W], u64>);
impl<const W: usize> Worker<W> for Scc<'_, W> {
    fn insert(&mut self, key: [u64; W], value: u64) {
        let _ = black_box(self.0.insert_sync(key, value));
    }
    fn get(&mut self, key: [u64; W]) -> u64 {
        self.0.peek_with(&key, |_, value| *value).unwrap_or(0)
    }
    fn scan(&mut self, key: [u64; W]) -> u64 {
        let guard = scc::Guard::new();
        self.0.range(key.., &guard).take(SCAN).fold(0u64, |sum, (_, value)| sum.wrapping_add(*value))
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Job {
    Insert,
    Get,
    Scan,
}

/// Nanoseconds per operation of each thread.
fn time<const W: usize, K: Worker<W>>(
    make: impl Fn() -> K + Sync,
    threads: u64,
    keys: u64,
    job: Job,
    ops: u64,
) -> f64 {
    let per_thread = ops / threads;
    let (ready, go) = (Barrier::new(threads as usize + 1), Barrier::new(threads as usize + 1));
    let started = std::thread::scope(|scope| {
        for thread in 0..threads {
            let (make, ready, go) = (&make, &ready, &go);
            scope.spawn(move || {
                let mut worker = make();
                let mut rng = Rng(thread << 40 | ops);
                let wide = |i: u64| -> [u64; W] {
                    // Leading words repeat, as those of composite keys do.
                    std::array::from_fn(|w| if w + 1 == W { random_key(i) } else { random_key(i) >> 50 })
                };
                let mut sum = 0u64;
                ready.wait();
                go.wait();
                match job {
                    Job::Insert => {
                        for i in (thread..keys).step_by(threads as usize) {
                            worker.insert(wide(i), i + 1);
                        }
                    }
                    Job::Get => {
                        for _ in 0..per_thread {
                            sum = sum.wrapping_add(worker.get(wide(rng.below(keys))));
                        }
                    }
                    Job::Scan => {
                        for _ in 0..per_thread {
                            sum = sum.wrapping_add(worker.scan(wide(rng.below(keys))));
                        }
                    }
                }
                black_box(sum);
            });
        }
        ready.wait();
        let started = Instant::now();
        go.wait();
        started
    });
    started.elapsed().as_nanos() as f64
        / (if job == Job::Insert { keys / threads } else { per_thread }) as f64
}

struct Row {
    name: &'static str,
    threads: u64,
    insert: f64,
    get: Vec<f64>,
    scan: Vec<f64>,
    bytes: f64,
}

fn median(samples: &mut [f64]) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

fn bench<const W: usize>(keys: u64, threads: &[u64], rounds: usize, only: &[String], json: bool) {
    let wanted = |name: &str| only.is_empty() || only.iter().any(|n| n == name);
    let ops = (keys / 4).clamp(1000, 1_000_000);
    for &threads in threads {
        let mut rows = Vec::new();
        let row = |name, insert, bytes: usize| Row {
            name,
            threads,
            insert,
            get: Vec::new(),
            scan: Vec::new(),
            bytes: bytes as f64 / keys as f64,
        };
        let tree = BTree::new(W);
        if wanted("planaria") {
            let insert = time::<W, _>(|| Planaria::new(&tree), threads, keys, Job::Insert, 0);
            rows.push(row("planaria", insert, tree.bytes() as usize));
        }
        let mut map = BTreeMap::new();
        if wanted("std") && threads == 1 {
            let before = ALLOCATED.load(Relaxed);
            let cell = std::sync::Mutex::new(Some(&mut map));
            let insert = time::<W, _>(|| Std(cell.lock().unwrap().take().unwrap()), 1, keys, Job::Insert, 0);
            rows.push(row("std", insert, ALLOCATED.load(Relaxed) - before));
        }
        let scc = scc::TreeIndex::new();
        if wanted("scc") {
            let before = ALLOCATED.load(Relaxed);
            let insert = time::<W, _>(|| Scc(&scc), threads, keys, Job::Insert, 0);
            rows.push(row("scc", insert, ALLOCATED.load(Relaxed) - before));
        }
        for round in 0..rounds as u64 {
            for row in &mut rows {
                for job in [Job::Get, Job::Scan] {
                    let ops = ops + round;
                    let nanos = match row.name {
                        "planaria" => time::<W, _>(|| Planaria::new(&tree), threads, keys, job, ops),
                        "std" => {
                            let cell = std::sync::Mutex::new(Some(&mut map));
                            time::<W, _>(|| Std(cell.lock().unwrap().take().unwrap()), 1, keys, job, ops)
                        }
                        _ => time::<W, _>(|| Scc(&scc), threads, keys, job, ops),
                    };
                    if job == Job::Get { row.get.push(nanos) } else { row.scan.push(nanos) }
                }
            }
        }
        if !json {
            println!("{keys} keys of {} bytes, {threads} thread(s), scans of {SCAN}", W * 8);
            println!(
                "{:12} {:>10} {:>10} {:>10} {:>12}",
                "", "get ns", "insert ns", "scan ns", "bytes/entry"
            );
        }
        for row in &mut rows {
            let (get, scan) = (median(&mut row.get), median(&mut row.scan));
            let Row { name, threads, insert, bytes, .. } = row;
            if json {
                println!(
                    "{{\"index\":\"{name}\",\"keys\":{keys},\"key_bytes\":{},\"threads\":{threads},\"get_ns\":{get:.1},\
                     \"insert_ns\":{insert:.1},\"scan20_ns\":{scan:.1},\"bytes_per_entry\":{bytes:.2}}}",
                    W * 8
                );
            } else {
                println!("{name:12} {get:10.0} {insert:10.0} {scan:10.0} {bytes:12.1}");
            }
        }
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (mut keys, mut threads, mut rounds, mut words) = (10_000_000, vec![1, 2], 5, 1);
    let (mut only, mut json) = (Vec::new(), false);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().unwrap_or_else(|| panic!("{argument} needs a value"));
        match argument.as_str() {
            "--keys" => keys = value().replace('_', "").parse().expect("a number of keys"),
            "--threads" => {
                threads = value().split(',').map(|n| n.parse().expect("numbers of threads")).collect();
            }
            "--rounds" => rounds = value().parse().expect("a number of rounds"),
            "--words" => words = value().parse().expect("1, 2, 3 or 4 key words"),
            "--only" => only = value().split(',').map(String::from).collect(),
            "--json" => json = true,
            other => panic!("unknown argument {other}; see the head of this file"),
        }
    }
    assert!(keys > 0 && rounds > 0 && threads.iter().all(|&n| n > 0));
    match words {
        1 => bench::<1>(keys, &threads, rounds, &only, json),
        2 => bench::<2>(keys, &threads, rounds, &only, json),
        3 => bench::<3>(keys, &threads, rounds, &only, json),
        4 => bench::<4>(keys, &threads, rounds, &only, json),
        _ => panic!("1, 2, 3 or 4 key words"),
    }
}
