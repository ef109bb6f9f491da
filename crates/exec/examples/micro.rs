//! What executing costs: `cargo run --release -p planaria-exec --example micro`.

#[path = "../tests/common/bank.rs"]
mod bank;
#[path = "../tests/common/mod.rs"]
mod common;

use common::{Db, int, num, text};
use planaria_base::Datum;
use planaria_exec::{Code, Context};
use planaria_protocol::Hosted;
use std::time::Instant;

fn time<P: Hosted>(
    db: &mut Db<P>,
    what: &str,
    per: f64,
    rounds: u64,
    code: &Code,
    mut args: impl FnMut(u64) -> Vec<Datum>,
) {
    let args: Vec<Vec<Datum>> = (0..1024u64).map(&mut args).collect();
    let mut best = f64::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        for i in 0..rounds {
            db.protocol.begin(&mut db.txn);
            let mut ctx = Context {
                protocol: &db.protocol,
                txn: &mut db.txn,
                tables: &db.tables,
                link: &db.routines,
                host: &mut db.host,
                calls: Default::default(),
            };
            db.machine.call(code, &args[(i % 1024) as usize], &mut ctx).unwrap();
            db.protocol.commit(&mut db.txn, &db.tables, &db.clock).unwrap();
        }
        best = best.min(start.elapsed().as_nanos() as f64 / rounds as f64);
    }
    println!("{:8} {what:40} {:10.1} ns {:8.2} M/s", P::NAME, best / per, 1e3 * per / best);
}

fn measure<P: Hosted>(rows: i64) {
    let mut db = bank::bank::<P>(rows);
    let mut seed = 88172645463325252u64;
    let mut key = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % rows as u64) as i64
    };
    let empty = db.compile("procedure p\nbegin\nend\n");
    time(&mut db, "empty transaction", 1.0, 200_000, &empty, |_| vec![]);
    let count = db.compile(bank::COUNT);
    time(&mut db, "instruction (int loop, 5 a turn)", 5e4, 200, &count, |_| vec![int(10_000)]);
    let calls = db.compile(bank::CALLS);
    time(&mut db, "nested call (loop of 3, callee of 2)", 1e4, 200, &calls, |_| vec![int(10_000)]);
    let append = db.compile(bank::APPEND);
    time(&mut db, "append to a text of 10 KB", 1e3, 500, &append, |_| vec![int(1_000)]);
    time(&mut db, "append to a text of 1 MB", 1e5, 5, &append, |_| vec![int(100_000)]);
    let balance = db.compile(bank::BALANCE);
    time(&mut db, "transaction of one Get", 1.0, 200_000, &balance, |_| vec![int(key())]);
    let add = db.compile(bank::ADD);
    time(&mut db, "transaction of Get, add, Update", 1.0, 200_000, &add, |_| vec![int(key())]);
    let sum = db.compile(bank::SUM);
    time(&mut db, "row of a scan of 100, summed", 100.0, 5_000, &sum, |_| {
        let low = key();
        vec![int(low), int(low + 100)]
    });
    let deposit = db.compile(bank::DEPOSIT);
    time(&mut db, "SmallBank deposit", 1.0, 100_000, &deposit, |_| {
        vec![text(&format!("customer{:08}", key())), num(150, 2), Datum::Null]
    });
}

macro_rules! all {
    ($($module:ident: $scheme:ident;)*) => {
        fn main() {
            $(measure::<planaria_protocol::$scheme>(100_000);)*
        }
    };
}

planaria_protocol::for_each_protocol!(all);
