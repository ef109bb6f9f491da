//! What depends on the moment, the session and chance: the campaign's kind `determinism`, a case of it each.

use planaria_campaign::determinism::{Theme, case, logs};

/// More of them: `planaria lab faults --kind determinism`.
#[test]
fn a_seed_is_a_case() {
    let (one, other) =
        (case(30, 6, logs()[0], Some(Theme::Routines)), case(30, 6, logs()[0], Some(Theme::Routines)));
    println!("{one:?}");
    assert_eq!(one, other);
    assert!(one.recoveries > 0);
}
