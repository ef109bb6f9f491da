//! Transactions that wait for each other, as fixed interleavings: what a claim keeps others from, and what
//! going back to a point forgets.

use super::fixture::*;
use planaria_base::{IndexId, Strength};
use planaria_protocol::{Conflict, Hosted, IfClaimed, Refused, Unclaimed};
use planaria_storage::KeyRange;
use std::time::Duration;

/// Rows 1 to 5 of table 0; `None` where transactions cannot overlap.
fn overlapping<P: Hosted>() -> Option<Db<P>> {
    let db = Db::new();
    db.load(100, 0, &[row(1), row(2), row(3), row(4), row(5)]);
    P::CONCURRENT.then_some(db)
}

impl<P: Hosted> Client<'_, P> {
    fn add(&mut self, key: i64, amount: i64) -> Outcome<()> {
        let seen = self.get(0, key)?.unwrap();
        self.update(0, seen, NewRow { value: seen.row.value + amount, ..seen.row })?.unwrap();
        Ok(())
    }

    /// As a call: it hears of a claim as it writes, or at commit.
    fn add_alone(&mut self, key: i64, amount: i64) -> Outcome<()> {
        self.add(key, amount)?;
        self.commit().map(drop)
    }

    pub fn claim(
        &mut self,
        table: u32,
        seen: SeenRow,
        strength: Strength,
        if_claimed: IfClaimed,
    ) -> Outcome<bool> {
        let table = self.table(table).clone();
        self.db.protocol.claim(&mut self.txn, &table, seen.handle, strength, if_claimed)
    }

    /// Reads a row of table 0 and claims it.
    fn lock(&mut self, key: i64, strength: Strength, if_claimed: IfClaimed) -> Outcome<bool> {
        let seen = self.get(0, key)?.unwrap();
        self.claim(0, seen, strength, if_claimed)
    }

    /// Waits no longer than it takes to look.
    fn await_claim(&mut self) -> Result<(), Unclaimed> {
        let mut looks = 0..3;
        let mut patience = || looks.next().map(|_| Duration::from_millis(1));
        self.db.protocol.await_claim(&mut self.txn, &mut patience)
    }

    fn value(&mut self, key: i64) -> i64 {
        self.run(900, |c| c.get(0, key)).unwrap().row.value
    }
}

pub fn a_claimed_row_is_its_holders_to_change<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    let (mut a, mut b, mut c) = (db.client(1), db.client(2), db.client(3));
    a.begin_claiming(1);
    a.add(1, 10).unwrap();
    // One that claims nothing finds out as well, in time.
    b.begin(2);
    assert_eq!(b.add_alone(1, 5), Err(Conflict::Claimed));
    c.begin_claiming(3);
    c.add(2, 1).unwrap();
    assert_eq!(c.add(1, 7), Err(Conflict::Claimed));
    b.retry();
    assert_eq!(b.await_claim(), Err(Unclaimed::GivenUp));
    assert_eq!(db.protocol.claims().iter().filter(|c| c.granted).count(), 2);
    a.add(1, 10).unwrap();
    a.commit().unwrap();
    // Now it is there for the asking; the claim goes into the next attempt.
    b.begin(4);
    b.add(1, 5).unwrap();
    assert!(b.commit().is_ok());
    c.retry();
    c.begin_claiming(5);
    c.add(1, 7).unwrap();
    c.commit().unwrap();
    assert_eq!(a.value(1), 32);
    assert_eq!(db.protocol.claims(), []);
    db.check();
}

/// A row that is claimed between the write of a call and its commit is its holder's all the same.
pub fn a_claim_counts_until_commit<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    let (mut a, mut b) = (db.client(1), db.client(2));
    b.begin(2);
    b.add(1, 5).unwrap();
    a.begin_claiming(1);
    a.add(1, 10).unwrap();
    assert!(matches!(b.commit(), Err(Conflict::Claimed | Conflict::Locked)));
    b.abort();
    a.commit().unwrap();
    assert_eq!((a.value(1), db.protocol.claims()), (10, Vec::new()));
}

pub fn a_claim_is_kept_for_the_next_attempt<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    let (mut a, mut b, mut c) = (db.client(1), db.client(2), db.client(3));
    a.begin_claiming(1);
    a.add(1, 10).unwrap();
    b.begin(2);
    assert_eq!(b.add_alone(1, 5), Err(Conflict::Claimed));
    b.retry();
    a.commit().unwrap();
    b.await_claim().unwrap();
    // Nobody comes in between.
    c.begin(3);
    assert_eq!(c.add_alone(1, 1), Err(Conflict::Claimed));
    c.abort();
    b.begin(4);
    b.add(1, 5).unwrap();
    b.commit().unwrap();
    assert_eq!((a.value(1), db.protocol.claims()), (15, Vec::new()));
}

pub fn an_insert_under_way_is_waited_for<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    let (mut a, mut b) = (db.client(1), db.client(2));
    for commits in [false, true] {
        a.begin_claiming(1);
        a.insert(0, row(9)).unwrap().unwrap();
        b.begin(2);
        assert_eq!(b.insert(0, row(9)).map(drop), Err(Conflict::Claimed));
        b.retry();
        assert_eq!(b.await_claim(), Err(Unclaimed::GivenUp));
        b.begin(3);
        assert_eq!(b.insert(0, row(9)).map(drop), Err(Conflict::Claimed));
        b.retry();
        if commits {
            a.commit().unwrap();
        } else {
            a.abort();
        }
        b.await_claim().unwrap();
        b.begin(4);
        let expected = if commits { Err(Refused::Duplicate(IndexId(0))) } else { Ok(()) };
        assert_eq!(b.insert(0, row(9)).unwrap().map(drop), expected);
        b.abort();
    }
    db.check();
}

pub fn going_back_forgets_reads_and_writes<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    let (mut a, mut b) = (db.client(1), db.client(2));
    let mut total = 0;
    for read_before in [false, true] {
        a.begin(1);
        let earlier = if read_before { 1 } else { 5 };
        a.get(0, earlier).unwrap();
        let point = db.protocol.point(&mut a.txn);
        a.add(1, 1).unwrap();
        a.scan(0, 6, 20).unwrap();
        a.insert(0, row(30)).unwrap().unwrap();
        let overtaken = b.overtakes(2, |b| b.add(1, 100));
        total += if overtaken { 100 } else { 0 };
        b.run(3, |b| b.insert(0, row(10 + i64::from(read_before))).map(drop));
        // Only what was read before the point must still hold.
        db.protocol.go_back(&mut a.txn, point, &db.tables);
        let holds = db.protocol.move_on(&mut a.txn, &db.tables, &db.clock, Conflict::Claimed);
        assert_eq!(holds, !(read_before && overtaken));
        db.protocol.pass(&mut a.txn, point);
        if read_before {
            a.abort();
            continue;
        }
        a.add(1, 1).unwrap();
        assert_eq!(keys(&a.scan(0, 6, 20).unwrap()), [10]);
        a.commit().unwrap();
    }
    assert_eq!(a.value(1), total + 1);
    assert!(a.run(9, |a| a.get(0, 30)).is_none());
    db.check();
}

pub fn lenient_scans_answer_for_what_is_claimed<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    let (mut a, mut b) = (db.client(1), db.client(2));
    a.begin_claiming(1);
    a.add(1, 1).unwrap();
    b.begin_claiming(2);
    let table = b.table(0).clone();
    let cursor = db.protocol.scan_open(&mut b.txn, &table, IndexId::PRIMARY, &KeyRange::all(), false);
    db.protocol.scan_leniently(&mut b.txn, cursor);
    let mut claimed = Vec::new();
    while let Some(row) = db.protocol.scan_next(&mut b.txn, &table, cursor, &mut b.arena).unwrap() {
        let claim = db.protocol.claim(&mut b.txn, &table, row.handle, Strength::Update, IfClaimed::Skip);
        claimed.push(claim.unwrap());
        if claimed.len() == 3 {
            break;
        }
    }
    db.protocol.scan_close(&mut b.txn, cursor);
    assert_eq!(claimed, [false, true, true]);
    // A row that was passed over changes, one comes; the claimed ones stay as they are.
    a.commit().unwrap();
    a.run(3, |a| a.insert(0, row(0)).map(drop));
    a.begin(4);
    assert_eq!(a.add_alone(2, 1), Err(Conflict::Claimed));
    a.abort();
    b.commit().unwrap();
    // Asked for by name: refused, or passed over, and counted as read only in the first case.
    for (if_claimed, holds) in [(IfClaimed::Refuse, false), (IfClaimed::Skip, true)] {
        a.begin_claiming(5);
        a.add(4, 1).unwrap();
        b.begin_claiming(6);
        let four = b.get(0, 4).unwrap().unwrap();
        assert_eq!(b.claim(0, four, Strength::Update, if_claimed), Ok(false));
        a.commit().unwrap();
        assert_eq!(b.commit().is_ok(), holds);
    }
    db.check();
}

/// What each strength lets others do: PostgreSQL's table.
pub fn strengths_keep_others_from_what_they_say<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    let (mut a, mut b, mut c) = (db.client(1), db.client(2), db.client(3));
    for held in Strength::ALL {
        for wanted in Strength::ALL {
            a.begin_claiming(1);
            assert_eq!(a.lock(1, held, IfClaimed::Wait), Ok(true));
            // One that claims is told, and so is one that only looks.
            b.begin_claiming(2);
            c.begin(3);
            let free = !held.conflicts(wanted);
            assert_eq!(b.lock(1, wanted, IfClaimed::Refuse), Ok(free), "{held:?} {wanted:?}");
            // By then both may have it.
            let looks = c.lock(1, wanted, IfClaimed::Refuse);
            assert_eq!(looks, Ok(free && !wanted.conflicts(wanted)), "{held:?} {wanted:?}");
            c.abort();
            b.abort();
            b.begin_claiming(4);
            let outcome = b.lock(1, wanted, IfClaimed::Wait);
            assert_eq!(outcome, if free { Ok(true) } else { Err(Conflict::Claimed) });
            b.abort();
            a.abort();
        }
        // Changes: of the row as such, and of its keys.
        for (change, wanted) in [(false, Strength::NoKeyUpdate), (true, Strength::Update)] {
            a.begin_claiming(5);
            assert_eq!(a.lock(1, held, IfClaimed::Wait), Ok(true));
            for claims in [true, false] {
                if claims {
                    b.begin_claiming(6)
                } else {
                    b.begin(6)
                }
                let seen = b.get(0, 1).unwrap().unwrap();
                let done =
                    if change { b.delete(0, seen).map(drop) } else { b.update(0, seen, seen.row).map(drop) };
                let free = !held.conflicts(wanted);
                if claims {
                    assert_eq!(done.is_ok(), free, "{held:?} {wanted:?}");
                    b.abort();
                } else if free {
                    // What is claimed so that it may be changed needs no claim.
                    b.commit().unwrap();
                } else {
                    assert_eq!(done, Err(Conflict::Claimed));
                    b.retry();
                    assert_eq!(b.await_claim(), Err(Unclaimed::GivenUp), "{held:?} {wanted:?}");
                    b.begin(7);
                    b.abort();
                }
            }
            a.abort();
        }
    }
    assert_eq!(db.protocol.claims(), []);
    db.check();
}

/// A call changes rows whose keys others share, and the claims on them outlive that.
pub fn who_claims_nothing_passes_who_shares_keys<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    let (mut a, mut b, mut c) = (db.client(1), db.client(2), db.client(3));
    a.begin_claiming(1);
    let seen = a.get(0, 1).unwrap().unwrap();
    let table = a.table(0).clone();
    assert_eq!(db.protocol.share_key(&mut a.txn, &table, seen.handle), Ok(true));
    db.protocol.only_presence(&mut a.txn, seen.handle);
    for id in 2..5 {
        b.begin(id);
        b.add(1, 5).unwrap();
        b.add(2, 1).unwrap();
        b.commit().unwrap();
    }
    // Nobody takes it away, nor takes it for free, with a claim or without.
    c.begin(5);
    let seen = c.get(0, 1).unwrap().unwrap();
    assert_eq!(c.delete(0, seen), Err(Conflict::Claimed));
    c.abort();
    c.begin_claiming(6);
    let seen = c.get(0, 1).unwrap().unwrap();
    assert_eq!(c.delete(0, seen), Err(Conflict::Claimed));
    c.abort();
    a.add(3, 1).unwrap();
    a.commit().unwrap();
    assert_eq!((b.value(1), db.protocol.claims()), (15, Vec::new()));
    // Who would take a row away is waited for by those that refer to it, whether they claim or not.
    a.begin_claiming(7);
    let seen = a.get(0, 1).unwrap().unwrap();
    assert!(a.delete(0, seen).unwrap());
    for claims in [false, true] {
        if claims {
            b.begin_claiming(8)
        } else {
            b.begin(8)
        }
        let seen = b.get(0, 1).unwrap().unwrap();
        assert_eq!(db.protocol.share_key(&mut b.txn, &table, seen.handle), Err(Conflict::Claimed));
        b.abort();
    }
    a.abort();
    db.check();
}

/// A row that is shared may be changed where its keys stay; who shares it and has read it finds that out.
pub fn a_shared_row_is_changed_by_who_may<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    let (mut a, mut b) = (db.client(1), db.client(2));
    a.begin_claiming(1);
    assert_eq!(a.lock(1, Strength::KeyShare, IfClaimed::Wait), Ok(true));
    b.begin_claiming(2);
    b.add(1, 5).unwrap();
    b.commit().unwrap();
    // The claim outlives what b did: b cannot take the row away.
    b.begin_claiming(3);
    let seen = b.get(0, 1).unwrap().unwrap();
    assert_eq!(b.delete(0, seen), Err(Conflict::Claimed));
    b.abort();
    assert_eq!(a.commit().map(drop), Err(Conflict::Validation));
    a.abort();
    assert_eq!((b.value(1), db.protocol.claims()), (5, Vec::new()));
    // Two that share a row and both want to change it: the second to ask closes the ring.
    a.begin_claiming(4);
    b.begin_claiming(5);
    assert_eq!(a.lock(2, Strength::Share, IfClaimed::Wait), Ok(true));
    assert_eq!(b.lock(2, Strength::Share, IfClaimed::Wait), Ok(true));
    assert_eq!(a.add(2, 1), Err(Conflict::Claimed));
    assert_eq!(b.add(2, 1), Err(Conflict::Claimed));
    b.abort();
    a.retry();
    a.await_claim().unwrap();
    a.begin_claiming(6);
    a.add(2, 1).unwrap();
    a.commit().unwrap();
    assert_eq!((b.value(2), db.protocol.claims()), (1, Vec::new()));
    db.check();
}
