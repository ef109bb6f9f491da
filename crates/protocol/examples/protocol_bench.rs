//! What operations cost under each scheme, on one thread: a few seconds.
//!
//! `cargo run --release -p planaria-protocol --example protocol_bench [rows ..]`
//!
//! The table has a bigint key, four integers and a short text (80 bytes a row with record head), and a
//! secondary index. Keys are random: at a million rows most accesses miss the caches.

use planaria_base::clock::CommitClock;
use planaria_base::{ColumnId, Epoch, IndexId, TableId, Type, WorkerId};
use planaria_protocol::{Hosted, ProtocolJob, ProtocolKind, Row};
use planaria_storage::reclaim::Participant;
use planaria_storage::{
    Arena, ColumnSpec, Field, IndexSet, IndexSpec, KeyBound, KeyBuf, KeyRange, Table, TableSet, TableSpec,
};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

struct Bench {
    rows: i64,
}

const OPS: usize = 200_000;

struct Random(u64);
impl Random {
    fn below(&mut self, n: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((u128::from(self.0) * n as u128) >> 64) as i64
    }
}

struct Worker<'d, P: Hosted> {
    protocol: &'d P,
    tables: &'d TableSet<P::Header>,
    table: &'d Table<P::Header>,
    clock: &'d CommitClock,
    txn: P::Txn,
    arena: Arena,
    key: KeyBuf,
    image: Vec<u64>,
}

impl<P: Hosted> Worker<'_, P> {
    fn transaction(&mut self, body: impl FnOnce(&mut Self)) {
        self.protocol.begin(&mut self.txn);
        self.arena.reset();
        body(self);
        self.protocol.commit(&mut self.txn, self.tables, self.clock).expect("alone");
    }
    fn get(&mut self, key: i64) -> Row {
        self.table.index(IndexId::PRIMARY).codec().encode_key(&[Field::Int(key)], &mut self.key);
        let got = self.protocol.get(&mut self.txn, self.table, IndexId::PRIMARY, &self.key, &mut self.arena);
        got.expect("alone").expect("loaded")
    }
    fn update(&mut self, key: i64) {
        let row = self.get(key);
        let old = row.image.words(&self.arena);
        let balance = self.table.layout().int(old, ColumnId(2)) + 1;
        let change = [(ColumnId(2), Field::Int(balance))];
        self.table.layout().encode_update(old, &change, &mut self.image).expect("fits");
        let done = self.protocol.update(&mut self.txn, self.table, row.handle, &self.image, IndexSet::EMPTY);
        done.expect("alone").expect("no index");
    }
    fn insert(&mut self, key: i64) {
        encode(self.table, key, &mut self.image);
        self.protocol.insert(&mut self.txn, self.table, &self.image).expect("alone").expect("new");
    }
    fn scan(&mut self, from: i64, count: usize) -> i64 {
        let mut range = KeyRange::all();
        let low = KeyBound { value: Field::Int(from), inclusive: true };
        self.table.index(IndexId::PRIMARY).codec().range(&[], Some(low), None, &mut range);
        let cursor = self.protocol.scan_open(&mut self.txn, self.table, IndexId::PRIMARY, &range, false);
        let mut sum = 0;
        for _ in 0..count {
            let next = self.protocol.scan_next(&mut self.txn, self.table, cursor, &mut self.arena);
            let Some(row) = next.expect("alone") else { break };
            sum += self.table.layout().int(row.image.words(&self.arena), ColumnId(2));
        }
        self.protocol.scan_close(&mut self.txn, cursor);
        sum
    }
}

fn encode<H: planaria_storage::Header>(table: &Table<H>, key: i64, image: &mut Vec<u64>) {
    let fields = [
        Field::Int(key),
        Field::Int(key % 1000),
        Field::Int(0),
        Field::Int(key),
        Field::Int(key),
        Field::Bytes(b"a short text"),
    ];
    table.layout().encode(&fields, image).expect("fits");
}

fn time(what: &str, count: usize, mut body: impl FnMut(usize)) {
    let start = Instant::now();
    (0..count).for_each(&mut body);
    println!("  {what:<44} {:>9.1} ns", start.elapsed().as_nanos() as f64 / count as f64);
}

impl ProtocolJob for Bench {
    type Output = ();

    fn run<P: Hosted>(self) {
        let Bench { rows } = self;
        let int8 = ColumnSpec { ty: Type::Int8, nullable: false };
        let int4 = ColumnSpec { ty: Type::Int4, nullable: false };
        let text = ColumnSpec { ty: Type::Text, nullable: true };
        let columns = [int8.clone(), int4.clone(), int8.clone(), int8.clone(), int8, text];
        let indexes = [
            IndexSpec { columns: vec![ColumnId(0)], unique: true, equal_nulls: false },
            IndexSpec { columns: vec![ColumnId(1)], unique: false, equal_nulls: false },
        ];
        let spec = TableSpec { columns: &columns, indexes: &indexes };
        let table: Arc<Table<P::Header>> = Arc::new(Table::new(TableId(0), spec).expect("a good spec"));
        let mut tables = TableSet::new();
        tables.insert(table.clone());
        let (protocol, clock) = (P::new(), CommitClock::new(Epoch(1)));
        let mut w = Worker {
            txn: protocol.worker(WorkerId(0)),
            protocol: &protocol,
            tables: &tables,
            table: &table,
            clock: &clock,
            arena: Arena::new(),
            key: KeyBuf::new(),
            image: Vec::new(),
        };
        println!("{} with {rows} rows", P::NAME);
        let mut participant = Participant::new();
        let guard = participant.guard();
        time("load", rows as usize, |i| {
            encode(&table, i as i64, &mut w.image);
            table.load(&w.image, 0, guard.pinned()).expect("new");
        });
        drop(guard);
        let memory = table.memory();
        println!(
            "  memory: {:.1} bytes a row, {:.1} bytes an index entry (two indexes)",
            memory.row_bytes as f64 / rows as f64,
            memory.index_bytes as f64 / memory.index_entries as f64
        );
        let mut r = Random(7);
        time("begin, commit", OPS, |_| w.transaction(|_| ()));
        time("get, own transaction", OPS, |_| {
            let key = r.below(rows);
            w.transaction(|w| {
                black_box(w.get(key));
            })
        });
        time("get, one of 20 in a transaction", OPS / 20, |_| {
            w.transaction(|w| {
                for _ in 0..20 {
                    black_box(w.get(r.below(rows)));
                }
            })
        });
        println!("    (20 of them)");
        time("update, own transaction", OPS, |_| {
            let key = r.below(rows);
            w.transaction(|w| w.update(key))
        });
        time("update, 20 in a transaction", OPS / 20, |_| {
            w.transaction(|w| (0..20).for_each(|_| w.update(r.below(rows))))
        });
        time("scan of 100 rows", OPS / 100, |_| {
            let from = r.below(rows - 100);
            w.transaction(|w| {
                black_box(w.scan(from, 100));
            })
        });
        for threads in [1, 2] {
            let start = Instant::now();
            std::thread::scope(|scope| {
                for thread in 0..threads {
                    let (protocol, tables, table, clock) = (&protocol, &tables, &table, &clock);
                    scope.spawn(move || {
                        let txn = protocol.worker(WorkerId(thread as u16));
                        let (arena, key, image) = (Arena::new(), KeyBuf::new(), Vec::new());
                        let mut w = Worker { txn, protocol, tables, table, clock, arena, key, image };
                        // Own halves: what is measured is the engine, not conflicts.
                        let mut r = Random(thread as u64);
                        let half = rows / 2;
                        for _ in 0..OPS / 10 {
                            w.transaction(|w| {
                                (0..10).for_each(|_| w.update(r.below(half) + half * thread));
                            });
                        }
                    });
                }
            });
            let rate = (OPS / 10) as f64 * threads as f64 / start.elapsed().as_secs_f64();
            println!("  {threads} threads, 10 updates in a transaction {:>18.0} transactions/s", rate);
        }
        let mut next = rows;
        time("insert, ascending, own transaction", OPS / 2, |_| {
            w.transaction(|w| w.insert(next));
            next += 1;
        });
        time("insert, 20 in a transaction", OPS / 40, |_| {
            w.transaction(|w| {
                (0..20).for_each(|i| w.insert(next + i));
            });
            next += 20;
        });
        time("1000 savepoints taken and released", OPS / 1000, |_| {
            w.transaction(|w| {
                for _ in 0..1000 {
                    let savepoint = w.protocol.savepoint(&mut w.txn);
                    w.protocol.release(&mut w.txn, black_box(savepoint));
                }
            })
        });
        let start = Instant::now();
        w.transaction(|w| (0..500_000).for_each(|i| w.insert(next + i)));
        println!("  500000 inserts in one transaction: {:.0} ms", start.elapsed().as_secs_f64() * 1e3);
    }
}

fn main() {
    let mut sizes: Vec<i64> = std::env::args().skip(1).filter_map(|arg| arg.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = vec![100_000, 1_000_000];
    }
    for rows in sizes {
        for kind in ProtocolKind::ALL {
            kind.dispatch(Bench { rows: rows.max(200) });
        }
    }
}
