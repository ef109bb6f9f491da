//! Schemes with a part missing: the checks must notice, or they check nothing.

use super::fixture::*;
use super::random::{Plan, run};
use planaria_protocol::Hosted;
use planaria_protocol::healing::{DEPENDENTS, HealingWith, LEAVES, NEW_MEMBERS};
use planaria_protocol::hybrid::HybridWith;
use planaria_protocol::mvocc::MvoccWith;
use planaria_protocol::occ::OccWith;
use planaria_protocol::partitioned::PartitionedWith;
use planaria_protocol::silo::SiloWith;
use planaria_protocol::two_phase::TwoPhaseWith;
use planaria_sim::history::{History, Model};
use planaria_sim::scheduler;
use planaria_storage::versions::{Append, AppendWith, Single};

type WithoutReadValidation = SiloWith<false, true>;
type WithoutNodeValidation = SiloWith<true, false>;
type OccWithoutReads = OccWith<false, true>;
type OccWithoutNodes = OccWith<true, false>;
/// Lets go of what it has read before it draws its place.
type OccInAHurry = OccWith<true, true, false>;
type TwoPhaseWithoutReads = TwoPhaseWith<false, true>;
type TwoPhaseWithoutNodes = TwoPhaseWith<true, false>;
/// Lets go of what it has read before it draws its place: growing and shrinking are no phases any more.
type TwoPhaseInAHurry = TwoPhaseWith<true, true, false>;

type HybridWithoutReads = HybridWith<false, true>;
type HybridWithoutNodes = HybridWith<true, false>;
type HybridInAHurry = HybridWith<true, true, false>;

type PartitionedWithoutLocks = PartitionedWith<false, true>;
type PartitionedWithoutNodes = PartitionedWith<true, false>;
type PartitionedInAHurry = PartitionedWith<true, true, false>;
type MvoccWithoutReads = MvoccWith<Append, false, true>;
type MvoccWithoutNodes = MvoccWith<Append, true, false>;
/// A reader that meets a lock does not hear whether its holder has drawn its place.
type MvoccWithoutATime = MvoccWith<Append, true, true, false>;
/// Takes versions out that somebody reads.
type MvoccPrunesEarly = MvoccWith<AppendWith<false, true>>;
/// A reader goes on beyond its version.
type MvoccWalksTooFar = MvoccWith<AppendWith<true, false>>;

/// Two overlapping transactions, both of which commit; what the checks say of them.
fn verdicts<P: Hosted>(
    first: impl Fn(&mut Client<'_, P>) -> Outcome<()>,
    second: impl Fn(&mut Client<'_, P>) -> Outcome<()>,
) -> (bool, bool) {
    let db: Db<P> = Db::new();
    db.load(1, 0, &[row(1), row(2)]);
    let initial: Model = db.model();
    let (mut a, mut b) = (db.client(1), db.client(2));
    a.begin(10);
    b.begin(11);
    first(&mut a).unwrap();
    second(&mut b).unwrap();
    let history = History::new(vec![a.commit().unwrap(), b.commit().unwrap()]);
    (history.check_graph(&initial).is_err(), history.check_order(initial).is_err())
}

fn read_and_write<P: Hosted>(c: &mut Client<'_, P>, read: i64, write: i64) -> Outcome<()> {
    c.get(0, read)?;
    let seen = c.get(0, write)?.unwrap();
    c.update(0, seen, NewRow { value: 1, ..seen.row })?.unwrap();
    Ok(())
}

#[test]
fn write_skew_without_read_validation_is_noticed() {
    let caught = verdicts::<WithoutReadValidation>(|c| read_and_write(c, 1, 2), |c| read_and_write(c, 2, 1));
    assert_eq!(caught, (true, true));
}

#[test]
fn write_skew_without_locks_or_validation_of_reads_is_noticed() {
    let caught = verdicts::<OccWithoutReads>(|c| read_and_write(c, 1, 2), |c| read_and_write(c, 2, 1));
    assert_eq!(caught, (true, true));
    let caught = verdicts::<TwoPhaseWithoutReads>(|c| read_and_write(c, 1, 2), |c| read_and_write(c, 2, 1));
    assert_eq!(caught, (true, true));
    let caught = verdicts::<MvoccWithoutReads>(|c| read_and_write(c, 1, 2), |c| read_and_write(c, 2, 1));
    assert_eq!(caught, (true, true));
    let caught = verdicts::<HybridWithoutReads>(|c| read_and_write(c, 1, 2), |c| read_and_write(c, 2, 1));
    assert_eq!(caught, (true, true));
    let caught =
        verdicts::<PartitionedWithoutLocks>(|c| read_and_write(c, 1, 2), |c| read_and_write(c, 2, 1));
    assert_eq!(caught, (true, true));
}

#[test]
fn phantoms_without_node_validation_are_noticed() {
    phantoms_are_noticed::<WithoutNodeValidation>();
    phantoms_are_noticed::<OccWithoutNodes>();
    phantoms_are_noticed::<TwoPhaseWithoutNodes>();
    phantoms_are_noticed::<HybridWithoutNodes>();
    phantoms_are_noticed::<MvoccWithoutNodes>();
}

fn phantoms_are_noticed<P: Hosted>() {
    let step = |c: &mut Client<'_, P>, key| -> Outcome<()> {
        c.scan(0, 0, 100)?;
        c.insert(0, row(key))?.unwrap();
        Ok(())
    };
    // Both scan before either inserts its entry.
    let db: Db<P> = Db::new();
    db.load(1, 0, &[row(1), row(2)]);
    let initial = db.model();
    let (mut a, mut b) = (db.client(1), db.client(2));
    a.begin(10);
    b.begin(11);
    a.scan(0, 0, 100).unwrap();
    b.scan(0, 0, 100).unwrap();
    a.insert(0, row(50)).unwrap().unwrap();
    b.insert(0, row(60)).unwrap().unwrap();
    let history = History::new(vec![a.commit().unwrap(), b.commit().unwrap()]);
    assert!(history.check_graph(&initial).is_err());
    assert!(history.check_order(initial).is_err());
    // One after the other there is nothing to notice.
    a.begin(12);
    step(&mut a, 70).unwrap();
    a.commit().unwrap();
}

/// Whether the checks notice within some seeds.
fn noticed<P: Hosted>() -> bool {
    (1..40).any(|seed| run::<P>(Plan { commits: 150, yields: 40, ..Plan::of(seed) }).verdict().is_err())
}

#[test]
fn random_histories_without_read_validation_are_noticed() {
    assert!(noticed::<WithoutReadValidation>());
}

#[test]
fn random_histories_without_node_validation_are_noticed() {
    assert!(noticed::<WithoutNodeValidation>());
}

#[test]
fn random_histories_of_occ_with_parts_missing_are_noticed() {
    assert!(noticed::<OccWithoutReads>() && noticed::<OccWithoutNodes>());
}

#[test]
fn random_histories_of_two_phase_with_parts_missing_are_noticed() {
    assert!(noticed::<TwoPhaseWithoutReads>() && noticed::<TwoPhaseWithoutNodes>());
}

#[test]
fn random_histories_of_the_hybrid_with_parts_missing_are_noticed() {
    assert!(noticed::<HybridWithoutReads>() && noticed::<HybridWithoutNodes>());
}

#[test]
fn random_histories_of_mvocc_with_parts_missing_are_noticed() {
    assert!(noticed::<MvoccWithoutReads>() && noticed::<MvoccWithoutNodes>());
}

#[test]
fn random_histories_of_partitioned_with_parts_missing_are_noticed() {
    assert!(noticed::<PartitionedWithoutLocks>() && noticed::<PartitionedWithoutNodes>());
}

/// The same where it matters what is between the steps of a commit: under schedules by seed.
fn noticed_between_steps<P: Hosted>() -> Option<u64> {
    (1..400).find(|seed| {
        let plan = Plan { threads: 3, commits: 6, keys: 3, ops: 6, claims: 0, ..Plan::of(seed + 5000) };
        let done =
            scheduler::run(scheduler::Options::of_seed(*seed), move || run::<P>(plan).verdict().is_err());
        done.unwrap_or_else(|stuck| panic!("{plan:?}: {stuck}")).value.expect("it ends")
    })
}

#[test]
fn healing_with_parts_missing_is_noticed() {
    let seeds = [
        noticed_between_steps::<HealingWith<DEPENDENTS>>(),
        noticed_between_steps::<HealingWith<NEW_MEMBERS>>(),
        noticed_between_steps::<HealingWith<LEAVES>>(),
    ];
    println!("{seeds:?}");
    assert!(seeds.iter().all(Option::is_some), "{seeds:?}");
}

#[test]
fn reads_unlocked_before_the_draw_are_noticed() {
    let seeds = [
        noticed_between_steps::<OccInAHurry>(),
        noticed_between_steps::<TwoPhaseInAHurry>(),
        noticed_between_steps::<HybridInAHurry>(),
        noticed_between_steps::<PartitionedInAHurry>(),
    ];
    println!("{seeds:?}");
    assert!(seeds.iter().all(Option::is_some), "{seeds:?}");
}

/// Whether readers beside writers are noticed to have seen what never was, within some schedules.
fn readers_notice<P: Hosted>() -> Option<u64> {
    (1..400).find(|seed| {
        let claims = 0;
        let plan =
            Plan { threads: 3, commits: 8, keys: 3, ops: 6, claims, readers: 50, ..Plan::of(seed + 8000) };
        let options = scheduler::Options::of_seed(*seed);
        let done = scheduler::run(options, move || run::<P>(plan).verdict().is_err());
        // A reader that is shown two states may also notice itself.
        done.unwrap_or_else(|stuck| panic!("{plan:?}: {stuck}")).value.unwrap_or(true)
    })
}

#[test]
fn readers_of_versions_that_are_wrong_are_noticed() {
    let seeds = [
        readers_notice::<MvoccWithoutATime>(),
        readers_notice::<MvoccPrunesEarly>(),
        readers_notice::<MvoccWalksTooFar>(),
    ];
    println!("{seeds:?}");
    assert!(seeds.iter().all(Option::is_some), "{seeds:?}");
}

/// Over images that change in place nothing is missing but that a reader waits for whoever has locked a row.
#[test]
fn the_scheme_does_not_depend_on_how_versions_are_stored() {
    type InPlace = MvoccWith<Single>;
    for seed in 1..3 {
        super::random::check::<InPlace>(Plan { readers: 40, ..Plan::of(seed) });
    }
    super::snapshots::snapshots_equal_the_model::<InPlace>();
}
