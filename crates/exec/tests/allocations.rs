//! In the steady state a transaction allocates nothing.
#![allow(unsafe_code)] // a counting allocator

#[path = "common/bank.rs"]
mod bank;
mod common;

use common::{int, num, text};
use planaria_base::{Datum, WorkerId};
use planaria_exec::{Context, Machine, Slot};
use planaria_protocol::{Heal, Healed, Heals, Hosted};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|n| n.set(n.get() + 1));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(at, layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.with(|n| n.set(n.get() + 1));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const KEEPS: &str = "
procedure keeps
  reg n: int8
  reg ok: bool
  reg x: float8
  param in n: int8 = n
begin
  x = draw random
  ok = int.lt(n, n)
  keep n, ok, x
end
";

/// One at a time: what a scheme retires piles up while others are pinned.
static ALONE: Mutex<()> = Mutex::new(());

fn steady_state<P: Hosted>() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut db = bank::bank::<P>(100);
    let codes = [bank::DEPOSIT, bank::SUM, bank::MIXED, KEEPS].map(|text| db.compile(text));
    let args: [&[Datum]; 4] =
        [&[text("customer00000042"), num(150, 2), Datum::Null], &[int(10), int(60)], &[int(50)], &[int(10)]];
    let mut machine = Machine::new();
    let mut outs = 0;
    for round in 0..100 {
        db.host.kept.clear();
        let before = ALLOCATIONS.with(Cell::get);
        for (code, args) in codes.iter().zip(args) {
            db.protocol.begin(&mut db.txn);
            let mut ctx = Context {
                protocol: &db.protocol,
                txn: &mut db.txn,
                tables: &db.tables,
                link: &db.routines,
                host: &mut db.host,
                calls: Default::default(),
            };
            machine.call(code, args, &mut ctx).unwrap();
            outs += machine.outs().iter().filter(|s| !matches!(s, Slot::Null)).count();
            db.protocol.commit(&mut db.txn, &db.tables, &db.clock).unwrap();
        }
        let allocated = ALLOCATIONS.with(Cell::get) - before;
        assert!(round < 50 || allocated == 0, "{allocated} allocations in round {round}");
    }
    assert_eq!(outs, 400);
}

/// Calls that remember what healing needs, each of which is healed: somebody else changes the row that it changes.
fn steady_state_of_healing<P: Hosted>() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut db = bank::bank::<P>(100);
    db.protocol.heal_always();
    // Workers from now on.
    db.txn = db.protocol.worker(WorkerId(1));
    let mut other = db.protocol.worker(WorkerId(2));
    let (deposit, add) = (db.compile(bank::DEPOSIT), db.compile(bank::ADD));
    let deposited: &[Datum] = &[text("customer00000042"), num(150, 2), Datum::Null];
    let mut machine = Machine::new();
    let mut healed = Healed::default();
    for round in 0..100 {
        let before = ALLOCATIONS.with(Cell::get);
        db.protocol.begin(&mut db.txn);
        db.protocol.may_heal(&mut db.txn, true);
        let mut run = |txn: &mut P::Txn, code: &_, args: &[Datum]| {
            let mut ctx = Context {
                protocol: &db.protocol,
                txn,
                tables: &db.tables,
                link: &db.routines,
                host: &mut db.host,
                calls: Default::default(),
            };
            machine.call(code, args, &mut ctx).unwrap();
        };
        run(&mut db.txn, &deposit, deposited);
        if round % 2 == 0 {
            db.protocol.begin(&mut other);
            run(&mut other, &add, &[int(42)]);
            db.protocol.commit(&mut other, &db.tables, &db.clock).unwrap();
        }
        let mut committed = db.protocol.commit(&mut db.txn, &db.tables, &db.clock);
        if let Err(cause) = committed {
            assert_eq!(db.protocol.heal(&mut db.txn, &db.tables, cause, None), Heal::Run);
            run(&mut db.txn, &deposit, deposited);
            db.protocol.may_heal(&mut db.txn, true);
            committed = db.protocol.commit(&mut db.txn, &db.tables, &db.clock);
        }
        committed.unwrap();
        let allocated = ALLOCATIONS.with(Cell::get) - before;
        assert!(round < 50 || allocated == 0, "{allocated} allocations in round {round}");
        let more = db.protocol.take_healed(&mut db.txn);
        (healed.runs, healed.known) = (healed.runs + more.runs, healed.known + more.known);
    }
    // Each second one, whose two lookups the cache answers.
    assert_eq!((healed.runs, healed.known), (50, 100));
}

macro_rules! nothing_is_allocated {
    ($($module:ident: $scheme:ident;)*) => {
        $(#[test]
        fn $module() {
            steady_state::<planaria_protocol::$scheme>();
            if <planaria_protocol::$scheme as Heals>::HEALS {
                steady_state_of_healing::<planaria_protocol::$scheme>();
            }
        })*
    };
}

planaria_protocol::for_each_protocol!(nothing_is_allocated);
