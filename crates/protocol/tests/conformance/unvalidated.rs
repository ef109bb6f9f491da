//! Upper bounds: they commit what the others refuse, and what they leave is a sound database all the same.

use super::fixture::*;
use super::random::{Plan, run};
use planaria_protocol::unvalidated::{OccUnvalidated, SiloUnvalidated};
use planaria_protocol::{Guarantee, Hosted, Protocol, ProtocolKind, UpperBound};

#[test]
fn they_are_not_for_databases() {
    for bound in UpperBound::ALL {
        assert_eq!(bound.name().parse(), Ok(bound));
        assert!(bound.name().parse::<ProtocolKind>().is_err());
    }
    let none = Guarantee { order: None, phantoms: true };
    assert_eq!((SiloUnvalidated::GUARANTEE, OccUnvalidated::GUARANTEE), (none, none));
}

fn commits_in_vain<P: Hosted>() {
    let db: Db<P> = Db::new();
    db.load(100, 0, &[row(1), row(2)]);
    let (mut a, mut b) = (db.client(1), db.client(2));
    let add = |c: &mut Client<'_, P>| -> Outcome<()> {
        c.scan(0, 0, 10)?;
        let seen = c.get(0, 1)?.unwrap();
        c.update(0, seen, NewRow { value: seen.row.value + 1, ..seen.row })?.unwrap();
        Ok(())
    };
    a.begin(1);
    b.begin(2);
    add(&mut a).unwrap();
    add(&mut b).unwrap();
    a.insert(0, row(3)).unwrap().unwrap();
    a.commit().unwrap();
    // Its row has changed, and another has come into its range. But whoever asks hears of it.
    assert!(!db.protocol.validate(&mut b.txn, &db.tables));
    b.commit().unwrap();
    assert_eq!(a.run(3, |c| c.get(0, 1)).unwrap().row.value, 1, "an update is lost");
    // A row that is gone is not changed.
    a.begin(4);
    add(&mut a).unwrap();
    b.run(5, |c| {
        let seen = c.get(0, 1)?.unwrap();
        c.delete(0, seen)
    });
    assert!(a.commit().is_err());
    db.check();
}

#[test]
fn what_has_changed_is_overlooked() {
    commits_in_vain::<SiloUnvalidated>();
    commits_in_vain::<OccUnvalidated>();
}

/// Rows and their entries are there together, whatever has become of their values; and the checks notice that.
fn stays_sound<P: Hosted>() {
    let mut wrong = 0;
    for seed in 1..12 {
        let plan = Plan { commits: 150, yields: 40, claims: 20, ..Plan::of(seed) };
        let run = run::<P>(plan);
        run.db.check();
        wrong += usize::from(run.verdict().is_err());
        assert_eq!(run.db.protocol.claims(), [], "{plan:?}");
    }
    assert!(wrong > 0, "no order is kept, and nobody notices");
}

#[test]
fn indexes_stay_sound() {
    stays_sound::<SiloUnvalidated>();
    stays_sound::<OccUnvalidated>();
}
