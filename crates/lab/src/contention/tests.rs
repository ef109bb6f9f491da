//! The data of experiments, and what is made of an outcome. What is measured here is tiny, and only whether it comes out.

use super::experiment::*;
use super::*;
use crate::recovery::Watch;
use planaria::{BackoffKind, SqlState};
use planaria_workload::{Parameters, Suite};
use std::time::Duration;

struct Silent;

impl Watch for Silent {
    fn step(&self, _: &str, _: u64) {}
    fn at(&self, _: u64) {}
}

fn settings() -> Settings {
    Settings {
        quick: true,
        turns: 2,
        time: Duration::from_millis(60),
        warmup: Duration::from_millis(5),
        panels: vec!["k1".into()],
        schemes: Vec::new(),
        backoff: BackoffKind::None,
        units_max: Some(1000),
        own: Own::default(),
        seed: 1,
    }
}

fn find(id: &str) -> &'static Experiment {
    EXPERIMENTS.iter().find(|e| e.id == id).expect("an experiment")
}

/// SmallBank by two sessions, and two schemes.
fn tiny() -> Experiment {
    Experiment {
        schemes: &["silo", "occ"],
        others: false,
        panels: &[Panel {
            name: "k1",
            contention: Contention::Real,
            sessions: 2,
            units: 50,
            plots: Metric::Throughput,
            lists: &[],
            ..Panel::PLAIN
        }],
        expectations: &[],
        ..*find("fig-3.14")
    }
}

fn simulated(panel: &Panel) -> bool {
    panel.contention.virtual_time().is_some()
}

/// What is asked for with `--quick` is there within three minutes, also where a panel that takes long is asked for by name.
#[test]
fn quick_runs_are_quick() {
    let limit = Duration::from_secs(170);
    for e in EXPERIMENTS {
        let planned = e.planned(&Settings::usual(true)).expect("a plan");
        assert!(planned <= limit, "{}: {planned:?}", e.id);
        assert!(planned < e.planned(&Settings::usual(false)).expect("a plan"), "{}", e.id);
        println!("{:<20} {:>4} s", e.id, planned.as_secs());
        for panel in e.panels.iter().filter(|panel| panel.slow) {
            let alone = Settings { panels: vec![panel.name.into()], ..Settings::usual(true) };
            let planned = e.planned(&alone).expect("a plan");
            println!("{:<20} {:>4} s  {}", "", planned.as_secs(), panel.name);
            assert!(planned <= limit, "{} {}: {planned:?}", e.id, panel.name);
        }
        let all_slow = e.panels.iter().all(|panel| panel.slow);
        assert!(!all_slow, "{} has nothing to show in a quick run", e.id);
    }
}

/// A plan is of what runs: turns, points and schemes that are left out are not in it.
#[test]
fn plans_follow_their_settings() {
    let quick = Settings::usual(true);
    let seconds = |settings: &Settings| find("fig-3.8").planned(settings).expect("a plan").as_secs_f64();
    assert!(seconds(&Settings { schemes: vec!["silo".into()], ..quick.clone() }) < seconds(&quick) / 3.0);
    assert!(seconds(&Settings { panels: vec!["k1".into()], ..quick.clone() }) < seconds(&quick));
    assert!(seconds(&Settings { turns: 3, ..quick.clone() }) > seconds(&quick));
    assert!(find("fig-3.8").planned(&Settings { panels: vec!["k9".into()], ..quick }).is_err());
}

#[test]
fn the_catalogue_holds_together() {
    let wanted = ["fig-3.8", "fig-3.9", "fig-3.10", "fig-3.11", "fig-3.12", "fig-3.13", "fig-3.14"];
    let tables = ["table-3.1", "table-3.2", "table-3.3", "table-3.4"];
    let own = ["contention-tpcc", "contention-smallbank", "contention-k1", "mvocc-readers"];
    let ids: Vec<_> = EXPERIMENTS.iter().map(|e| e.id).collect();
    assert_eq!(ids, [&wanted[..], &tables[..], &own[..]].concat());
    for e in EXPERIMENTS {
        Suite::find(e.workload).expect("a workload");
        assert!(!e.title.is_empty() && !e.paper.is_empty() && !e.expectations.is_empty(), "{}", e.id);
        assert!(e.axis.full.is_sorted() && e.axis.quick.is_sorted(), "{}", e.id);
        assert!(e.axis.quick.iter().all(|x| e.axis.full.contains(x)), "{}", e.id);
        let names: Vec<_> = e.panels.iter().map(|p| p.name).collect();
        for panel in e.panels {
            let suite = Suite::find(e.workload(panel)).expect("a workload");
            let parameters = e.parameters(panel, 0.5, &Own::default());
            assert!(suite.check(&parameters).is_ok(), "{} {}", e.id, panel.name);
            if let Some(Points { full, quick }) = panel.points {
                assert!(
                    full.is_sorted() && quick.iter().all(|x| full.contains(x)),
                    "{} {}",
                    e.id,
                    panel.name
                );
                assert!(full.iter().all(|x| e.axis.full.contains(x)) || simulated(panel), "{}", e.id);
            }
            assert_eq!(names.iter().filter(|n| **n == panel.name).count(), 1, "{}", e.id);
            let by_axis = matches!(e.axis.vary, Vary::Sessions | Vary::SessionsAndUnits);
            assert!(by_axis || panel.sessions > 0, "{} {}", e.id, panel.name);
            let by_axis = matches!(e.axis.vary, Vary::Units | Vary::SessionsAndUnits);
            assert!(by_axis || panel.units > 0, "{} {}", e.id, panel.name);
        }
        for expectation in e.expectations {
            let computed = matches!(expectation.test, Test::Shares { .. });
            assert!(computed || !expectation.panels.is_empty(), "{}: {}", e.id, expectation.says);
            assert!(expectation.panels.iter().all(|p| names.contains(p)), "{}: {}", e.id, expectation.says);
            for scheme in expectation.test.schemes() {
                assert!(e.schemes.contains(&scheme), "{}: {scheme}", e.id);
            }
        }
        for scheme in e.schemes {
            assert!(Scheme::find(scheme).is_some_and(|found| found.name() == *scheme), "{}: {scheme}", e.id);
        }
    }
}

/// A tiny run from end to end: all that was asked for is there, in each form.
#[test]
fn an_outcome_is_told_in_every_form() {
    let outcome = find("table-3.2").run(&settings(), &Silent).expect("runs");
    let plot = &outcome.plots[0];
    assert_eq!((outcome.plots.len(), plot.panel, plot.lines.len()), (1, "k1", 3));
    assert!(plot.lines.iter().all(|line| line.points.len() == 3));
    assert!(plot.lines[0].points[0].get(Metric::Throughput).is_some_and(|n| n > 0.0));

    let shares = &outcome.expectations[0];
    assert_eq!(shares.as_the_paper, Some(true), "{}", shares.measured);
    let other = &outcome.expectations[1];
    assert_eq!(
        (other.as_the_paper, other.measured.as_str()),
        (None, "none of the panels k3, k4 was measured")
    );

    let text = report::text(&outcome);
    for part in ["HEALING", "restarts a commit", "as the paper: yes", "as the paper: unknown", "theta"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let csv = report::csv(&outcome);
    let numbers = plot.lines[0].points[0].numbers.len();
    assert_eq!(csv.lines().count(), 1 + 3 * 3 * numbers);
    assert!(csv.lines().all(|line| line.split(',').count() == 9), "{csv}");
    let svg = plot::svg(&outcome).expect("plots");
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    for part in ["table-3.2", "OCC", "theta", "restarts a commit", "2 sessions, nothing but the work"] {
        assert!(svg.contains(part), "{part}");
    }
    let json = serde_json::to_value(&outcome).expect("serializes");
    assert_eq!(json["plots"][0]["lines"][0]["points"][2]["x"], 0.9);
}

#[test]
fn latencies_are_an_axis_of_their_own() {
    let experiment = Experiment {
        workload: "smallbank",
        axis: Axis { vary: Vary::Latency(&["send_payment"]), full: &[0.0], quick: &[0.0] },
        panels: &[Panel {
            name: "k1",
            contention: Contention::Real,
            sessions: 2,
            units: 50,
            plots: Metric::Within,
            lists: &[],
            ..Panel::PLAIN
        }],
        ..*find("table-3.1")
    };
    let outcome = experiment.run(&settings(), &Silent).expect("runs");
    for line in &outcome.plots[0].lines {
        let shares: Vec<_> = line.points.iter().filter_map(|p| p.get(Metric::Within)).collect();
        assert!(shares.is_sorted() && shares.last() == Some(&100.0), "{shares:?}");
    }
    assert!(plot::svg(&outcome).expect("plots").contains("latency (us)"));
}

/// What healing remembers is chosen one by one: a run without anything to do with others, and one that meets them.
#[test]
fn the_parts_of_healing_are_priced_one_by_one() {
    let experiment = Experiment {
        workload: "smallbank",
        axis: Axis { vary: Vary::Theta, full: &[0.9], quick: &[0.9] },
        panels: &[Panel {
            name: "k1",
            contention: Contention::Oversubscribed { yield_every: 1 },
            sessions: 8,
            units: 20,
            plots: Metric::Healed,
            lists: &[],
            ..Panel::PLAIN
        }],
        home: false,
        cross_partition: None,
        expectations: &[],
        schemes: &["healing-without", "healing-cache", "healing-always"],
        ..*find("table-3.4")
    };
    let outcome = experiment.run(&settings(), &Silent).expect("runs");
    let healed: Vec<_> = outcome.plots[0].lines.iter().map(|l| l.points[0].get(Metric::Healed)).collect();
    assert!(healed.len() == 3 && healed.iter().all(|h| h.is_some_and(|h| h > 1.0)), "{healed:?}");
}

#[test]
fn what_cannot_be_measured_is_said() {
    let strange = Settings { panels: vec!["k9".into()], ..settings() };
    let refused = find("table-3.2").run(&strange, &Silent).expect_err("no such panel");
    assert_eq!(refused.sqlstate(), SqlState::INVALID_PARAMETER_VALUE);
    let strange = Settings { schemes: vec!["hekaton".into()], ..settings() };
    assert!(find("table-3.2").run(&strange, &Silent).is_err());
    let small = Settings { units_max: Some(1), ..settings() };
    assert!(find("table-3.2").run(&small, &Silent).is_err());
}

fn line(scheme: &str, numbers: &[f64]) -> Line {
    let points = numbers.iter().enumerate().map(|(i, n)| PlotPoint {
        x: i as f64,
        numbers: vec![(Metric::Throughput.key(), Median { median: *n, least: *n, greatest: *n })],
        causes: Vec::new(),
        failed: 0,
    });
    let mut latencies = crate::load::histogram();
    numbers.iter().for_each(|n| latencies.record(*n as u64 * 1000).expect("in range"));
    Line {
        scheme: scheme.into(),
        label: scheme.into(),
        points: points.collect(),
        calibration: Vec::new(),
        latencies,
    }
}

#[test]
fn claims_are_judged_by_their_numbers() {
    let plot = Plot {
        panel: "k1",
        caption: String::new(),
        oversubscribed: false,
        simulated: false,
        waits: false,
        x: "x",
        y: String::new(),
        lists: Vec::new(),
        plots: Metric::Throughput,
        metrics: Vec::new(),
        lines: vec![line("occ", &[10.0, 20.0, 30.0, 40.0]), line("silo", &[10.0, 10.0, 10.0, 9.0])],
    };
    let throughput = Metric::Throughput;
    let tests = [
        (
            Test::Ratio { metric: throughput, at: At::Last, of: "occ", to: "silo", paper: 4.0, factor: 1.2 },
            true,
        ),
        (
            Test::Ratio { metric: throughput, at: At::First, of: "occ", to: "silo", paper: 4.0, factor: 1.2 },
            false,
        ),
        (Test::AtLeast { metric: throughput, at: At::Last, of: "occ", to: "silo", paper: 5.0 }, false),
        (Test::Rising { metric: throughput, at: At::Last, schemes: &["silo", "occ"], slack: 0.0 }, true),
        (Test::Rising { metric: throughput, at: At::Last, schemes: &["occ", "silo"], slack: 5.0 }, false),
        (Test::Change { metric: throughput, of: "silo", least: 0.8, most: 1.2 }, true),
        (Test::Change { metric: throughput, of: "occ", least: 0.8, most: 1.2 }, false),
        (Test::Value { metric: throughput, at: At::First, of: "occ", paper: 11.0, tolerance: 1.5 }, true),
        (Test::Value { metric: throughput, at: At::Near(1.6), of: "occ", paper: 30.0, tolerance: 0.1 }, true),
        (Test::Falling { metric: throughput, of: "silo", slack: 1.0 }, true),
        (Test::Falling { metric: throughput, of: "occ", slack: 1.0 }, false),
        (Test::NoSlower { of: "occ", than: "silo", percent: 100.0, paper: 25.0, tolerance: 1.0 }, true),
    ];
    for (test, wanted) in tests {
        let expectations: &'static [Expectation] =
            Vec::leak(vec![Expectation { says: "", panels: &["k1"], test }]);
        let experiment = Experiment { expectations, ..*find("fig-3.8") };
        let verdict = &expectations::judge(&experiment, std::slice::from_ref(&plot))[0];
        assert_eq!(verdict.as_the_paper, Some(wanted), "{:?}: {}", expectations[0].test, verdict.measured);
    }
    let lacking =
        Test::AtLeast { metric: throughput, at: At::Last, of: "partitioned", to: "occ", paper: 1.0 };
    let expectations: &'static [Expectation] =
        Vec::leak(vec![Expectation { says: "", panels: &["k1"], test: lacking }]);
    let experiment = Experiment { expectations, ..*find("fig-3.8") };
    let verdict = &expectations::judge(&experiment, &[plot])[0];
    assert_eq!((verdict.as_the_paper, verdict.measured.as_str()), (None, "partitioned was not measured"));
}

/// Virtual time: more sessions do more where nobody meets, and two runs are one.
#[test]
fn what_is_simulated_says_so_and_scales() {
    let experiment = Experiment {
        schemes: &["silo"],
        others: false,
        axis: Axis { vary: Vary::Sessions, full: &[1.0, 8.0], quick: &[1.0, 8.0] },
        panels: &[Panel {
            name: "k4",
            contention: Contention::Virtual { micros: 16_000 },
            sessions: 0,
            units: 500,
            plots: Metric::Throughput,
            lists: &[Metric::Processor],
            ..Panel::PLAIN
        }],
        expectations: &[],
        ..*find("fig-3.14")
    };
    let settings = Settings { panels: Vec::new(), ..settings() };
    let outcome = experiment.run(&settings, &Silent).expect("runs");
    let line = &outcome.plots[0].lines[0];
    let rates: Vec<_> = line.points.iter().filter_map(|p| p.get(Metric::Throughput)).collect();
    assert!(rates[1] > 5.0 * rates[0] && rates[1] < 11.0 * rates[0], "{rates:?}");
    assert_eq!(line.calibration.iter().map(|c| c.sessions).collect::<Vec<_>>(), [1, 2]);
    assert!(report::text(&outcome).contains("held against real runs"));
    let svg = plot::svg(&outcome).expect("plots");
    assert!(svg.contains("in virtual time: simulated") && svg.matches("simulated").count() > 1);
    assert!(svg.contains("held against real runs") && svg.contains("restarts real"));
    let csv = report::csv(&outcome);
    assert_eq!(csv.matches("calibration: sessions").count(), 2 * 7, "{csv}");
    assert!(csv.lines().all(|line| line.split(',').count() == 9), "{csv}");
    let json = serde_json::to_value(&outcome).expect("serializes");
    assert!(json["plots"][0]["lines"][0]["calibration"][1]["simulated_restarts"].is_number());
}

/// What is too far from real runs is marked, in each form.
#[test]
fn a_simulation_that_is_far_off_says_so() {
    let holds = |rates, restarts| Calibration::new(2, rates, restarts).holds;
    assert!(holds((100.0, 114.0), (0.5, 0.59)) && holds((100.0, 86.0), (0.5, 0.41)));
    assert!(!holds((100.0, 116.0), (0.5, 0.5)) && !holds((100.0, 84.0), (0.5, 0.5)));
    assert!(!holds((100.0, 100.0), (0.5, 0.61)) && !holds((100.0, 100.0), (0.5, 0.39)));
    assert!(holds((100.0, 100.0), (0.0, 0.0)) && holds((100.0, 100.0), (0.001, 0.009)));
    assert!(!holds((100.0, 100.0), (0.0, 0.2)) && !holds((100.0, 100.0), (0.2, 0.0)));

    let mut experiment = tiny();
    experiment.axis = Axis { vary: Vary::Theta, full: &[0.9], quick: &[0.9] };
    let mut outcome = experiment.run(&settings(), &Silent).expect("runs");
    outcome.plots[0].simulated = true;
    for (line, rates) in outcome.plots[0].lines.iter_mut().zip([(100.0, 101.0), (100.0, 150.0)]) {
        line.calibration = vec![Calibration::new(1, rates, (0.0, 0.0))];
    }
    let text = report::text(&outcome);
    assert!(text.contains("NOT HELD in 1 of 2") && text.contains("within"), "{text}");
    let svg = plot::svg(&outcome).expect("plots");
    assert!(svg.contains("NOT HELD in 1 of 2") && svg.contains("#C80000"), "{svg}");
    assert!(report::csv(&outcome).contains(",holds,0,0,0"));
}

/// Settings of one's own take the place of the panel's, also on the axis, and that is said.
#[test]
fn settings_of_ones_own_take_the_place_of_the_panels() {
    let own = Own {
        sessions: Some(3),
        yield_every: Some(4),
        wait: Some(Duration::from_micros(100)),
        parameters: Parameters {
            theta: Some(0.4),
            mix: Some(vec![0, 1, 0, 0, 0, 0]),
            ..Parameters::default()
        },
    };
    let own = Settings { own, ..settings() };
    let outcome = tiny().run(&own, &Silent).expect("runs");
    let plot = &outcome.plots[0];
    assert_eq!(plot.lines[0].points.iter().map(|p| p.x).collect::<Vec<_>>(), [0.4]);
    assert!(plot.waits && plot.oversubscribed);
    let text = report::text(&outcome);
    for part in
        ["3 sessions that yield every 4 operations", "waits 100 us", "not as in the paper: 3 sessions"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let by_axis = find("fig-3.11");
    assert_eq!(by_axis.points(&by_axis.panels[0], &own), [3.0]);

    // What a workload does not have is refused before anything is loaded.
    let parameters = Parameters { reads: Some(1.0), ..Parameters::default() };
    let strange = Settings { own: Own { parameters, ..Own::default() }, ..settings() };
    assert_eq!(
        tiny().run(&strange, &Silent).expect_err("no reads").sqlstate(),
        SqlState::INVALID_PARAMETER_VALUE
    );
}

/// Series of one scheme share its database, and wait each in its way.
#[test]
fn back_off_is_a_series() {
    let mut experiment = tiny();
    experiment.schemes = &["silo", "silo+none", "silo+exponential"];
    experiment.axis = Axis { vary: Vary::Theta, full: &[0.9], quick: &[0.9] };
    let exponential = Settings { backoff: BackoffKind::Exponential, ..settings() };
    let outcome = experiment.run(&exponential, &Silent).expect("runs");
    let names: Vec<_> = outcome.plots[0].lines.iter().map(|l| (&*l.scheme, &*l.label)).collect();
    assert_eq!(names, [("silo", "SILO"), ("silo+none", "SILO at once")]);
    assert!(
        outcome.notes.contains(&"left out: silo+exponential is silo here".to_owned()),
        "{:?}",
        outcome.notes
    );
    assert!(outcome.plots[0].lines.iter().all(|l| l.points[0].get(Metric::Throughput) > Some(0.0)));

    assert_eq!(Scheme::find("occ+exponential").map(|s| s.name()).as_deref(), Some("occ+exponential"));
    for unknown in ["silo+", "silo+never", "+none", "none"] {
        assert_eq!(Scheme::find(unknown), None, "{unknown}");
    }
}

/// Several workloads in one table, and readers beside what is measured.
#[test]
fn workloads_and_readers_are_compared() {
    let experiment = Experiment {
        schemes: &["silo", "mvocc"],
        others: false,
        axis: Axis { vary: Vary::Nothing, full: &[0.0], quick: &[0.0] },
        panels: &[
            Panel { name: "smallbank", sessions: 2, units: 50, ..Panel::PLAIN },
            Panel {
                name: "ycsb",
                sessions: 2,
                units: 100,
                workload: Some(Inputs { name: "ycsb", theta: Some(0.99), operations: Some(4) }),
                ..Panel::PLAIN
            },
        ],
        expectations: &[],
        ..*find("contention-smallbank")
    };
    let both = Settings { panels: Vec::new(), ..settings() };
    let outcome = experiment.run(&both, &Silent).expect("runs");
    assert_eq!(outcome.plots.iter().map(|p| p.lines.len()).collect::<Vec<_>>(), [2, 2]);
    let text = report::text(&outcome);
    for part in ["ycsb: 2 sessions, nothing but the work; 100 records, theta 0.99, 4 operations", "SILO"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(text.lines().filter(|line| line.trim_start().starts_with("SILO")).count(), 1, "{text}");
    assert!(plot::svg(&outcome).expect("plots").contains("ycsb: 2 sessions"));

    let mut experiment = tiny();
    experiment.axis = Axis { vary: Vary::Readers, full: &[0.0, 1.0], quick: &[0.0, 1.0] };
    experiment.schemes = &["mvocc", "silo"];
    let outcome = experiment.run(&settings(), &Silent).expect("runs");
    assert!(outcome.plots[0].lines.iter().all(|l| l.points.len() == 2));
    assert!(report::text(&outcome).contains("long readers"));
}
