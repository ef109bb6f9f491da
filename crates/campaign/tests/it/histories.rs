//! A fixed number of histories, and proof that the check can fail.

use planaria::lab::LabOptions;
use planaria::{Options, ProtocolKind};
use planaria_campaign::histories::{Extent, Tally, batch_on, run};
use planaria_protocol::Hosted;
use planaria_protocol::silo::SiloWith;

#[test]
fn one_order_explains_what_was_seen() {
    let tally = run(Extent { seed: 1, count: 2000, threads: 3 }, &mut |_| ());
    println!("{tally:?}");
    for violation in &tally.violations {
        println!("{violation}");
    }
    assert!(tally.violations.is_empty(), "{} of {} histories", tally.violations.len(), tally.histories);
    assert_eq!(tally.histories, 2000);
    assert!(tally.shown > 1000, "few blocks: {}", tally.shown);
    assert!(tally.conflicts > 0, "the transactions never met");
}

/// Transactions that are run again under locks, some of them in every run: as many histories as that takes.
#[test]
fn healed_calls_are_explained_by_one_order() {
    let mut healed = 0;
    for seed in 1..200 {
        let db = Options::new().protocol(ProtocolKind::Healing).heal_always(true).in_memory().expect("opens");
        let batch = batch_on(&db, seed, 50, 3, &mut Tally::default());
        assert!(batch.is_ok(), "seed {seed}: {batch:?}");
        healed += db.stats().healing.commits;
        if seed >= 20 && healed >= 100 {
            break;
        }
    }
    println!("{healed} transactions were healed");
    assert!(healed >= 20);
}

/// Histories until the check notices, under a protocol with a part missing.
fn noticed<P: Hosted>() -> Option<String> {
    (1..60).find_map(|seed| {
        let db = Options::new().in_memory_over::<P>().expect("opens");
        batch_on(&db, seed, 50, 3, &mut Tally::default()).err()
    })
}

#[test]
fn reads_that_are_not_validated_are_noticed() {
    let what = noticed::<SiloWith<false, true>>().expect("3000 histories without read validation pass");
    println!("{what}");
}

#[test]
fn scans_that_are_not_validated_are_noticed() {
    let what = noticed::<SiloWith<true, false>>().expect("3000 histories without node sets pass");
    println!("{what}");
}
