//! What depends on the moment, the session and chance: cases of the campaign's kind `determinism`.

use planaria_campaign::determinism::{Report, Theme, case, logs};

/// A case; kinds of log take turns.
fn of_seed(theme: Theme, seed: u64) -> Report {
    let kinds = logs();
    case(seed, 30, kinds[seed as usize % kinds.len()], Some(theme))
}

/// Cases of a theme hold. More: `PLANARIA_CASES=1000 cargo test -p planaria-campaign --test it determinism`, and
/// `planaria lab faults --kind determinism`.
fn hold(theme: Theme) {
    let cases = std::env::var("PLANARIA_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(40);
    let mut sum = Report::default();
    for seed in 100..100 + cases {
        let report = of_seed(theme, seed);
        assert_eq!(report.violation, None, "theme {}, seed {seed}", theme.name());
        sum.said += report.said;
        sum.refused += report.refused;
        sum.timeouts += report.timeouts;
        sum.recoveries += report.recoveries;
        sum.routines += report.routines;
        sum.asking += report.asking;
    }
    println!("{cases} cases of {}: {sum:?}", theme.name());
    assert!(sum.recoveries > 20 * cases, "few recoveries were compared: {sum:?}");
    assert!(sum.refused * 3 < sum.said, "most of a script does something: {sum:?}");
    assert!(sum.timeouts > 0, "no timeout ends anything: {sum:?}");
    assert!(sum.asking > 0, "no routine asks for anything: {sum:?}");
}

#[test]
fn schema_changes_come_back_as_they_were() {
    hold(Theme::Schema);
}

#[test]
fn what_routines_asked_for_comes_back() {
    hold(Theme::Routines);
}

#[test]
fn sequences_come_back_where_they_were() {
    hold(Theme::Sequences);
}

#[test]
fn all_of_it_together_comes_back() {
    hold(Theme::All);
}

#[test]
fn a_seed_is_a_case() {
    let (one, other) =
        (case(30, 6, logs()[0], Some(Theme::Routines)), case(30, 6, logs()[0], Some(Theme::Routines)));
    println!("{one:?}");
    assert_eq!(one, other);
    assert!(one.recoveries > 0);
}

/// Cases that find something where a mend is taken out (`cargo xtask mutants`).
#[test]
fn what_was_found_stays_mended() {
    let schema = [77, 79].map(|seed| (Theme::Schema, seed));
    let sequences = [77, 80].map(|seed| (Theme::Sequences, seed));
    for (theme, seed) in schema.into_iter().chain(sequences).chain([(Theme::Routines, 86)]) {
        assert_eq!(of_seed(theme, seed).violation, None, "theme {}, seed {seed}", theme.name());
    }
}
