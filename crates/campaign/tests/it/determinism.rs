//! What depends on the moment, the session and chance: a fixed part of the campaign's kind `determinism`.

use planaria_campaign::determinism::{case, logs};

/// As many cases as one likes: `PLANARIA_CASES=10000 cargo test -p planaria-campaign --test it determinism -- --ignored`.
#[test]
#[ignore = "finds what issue 13 lists under A1 to A5: to be run when these are mended"]
fn replay_sees_what_the_run_saw() {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let (cases, seed) = (number("PLANARIA_CASES").unwrap_or(20), number("PLANARIA_SEED").unwrap_or(1));
    let (logs, mut wrong) = (logs(), 0);
    let (mut said, mut refused, mut recoveries) = (0, 0, 0);
    for seed in seed..seed + cases {
        let report = case(seed, 30, logs[seed as usize % logs.len()]);
        (said, refused) = (said + report.said, refused + report.refused);
        recoveries += report.recoveries;
        if let Some(what) = report.violation {
            println!("seed {seed}: {what}");
            wrong += 1;
        }
    }
    println!("{cases} cases, {said} statements, {refused} refused, {recoveries} recoveries, {wrong} wrong");
    assert_eq!(wrong, 0);
}
