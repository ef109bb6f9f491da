//! A failure, told by as few steps as are found to lead to it.

use super::{Failed, Trial, simulated};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Runs at most.
const RUNS: usize = 150;

/// What a failure is of a kind with: what it says before the first colon, without the scheme.
fn class(what: &str) -> String {
    let head = what.split(':').next().unwrap_or_default();
    let words =
        head.split_whitespace().filter(|word| planaria::Scheme::ALL.iter().all(|s| s.name() != *word));
    words.filter(|word| !word.contains(|c: char| c.is_ascii_digit())).collect::<Vec<_>>().join(" ")
}

/// The failure, and the shortest script that was found to lead to it.
pub fn told(mut plan: Trial, mut failed: Failed) -> String {
    let class_ = class(&failed.what);
    // What comes later has no part in it.
    plan.script.truncate(failed.step + 1);
    plan.struck.retain(|step| *step <= failed.step);
    plan.schemes.retain(|scheme| failed.scheme.is_none_or(|failed| failed == *scheme));
    let mut runs = 0;
    let mut fails = |plan: &Trial| {
        runs += 1;
        if runs > RUNS {
            return None;
        }
        simulated(plan).1.filter(|failed| class(&failed.what) == class_)
    };
    // Where it fails with a restart of its own, or by a crash right after its end, it is the easiest to shorten.
    let bare = |script| Trial { struck: BTreeSet::new(), script, ..plan.clone() };
    let struck = |script: Vec<_>, after| Trial { struck: [script.len() - 1].into(), after, ..bare(script) };
    let shapes: [&dyn Fn(Vec<_>) -> Trial; 3] =
        [&bare, &|script| struck(script, true), &|script| struck(script, false)];
    let fitting = shapes.into_iter().find(|shape| fails(&shape(plan.script.clone())).is_some());
    let shape = fitting.unwrap_or(shapes[2]);
    let mut script = plan.script.clone();
    if let Some(found) = fails(&shape(script.clone())) {
        failed = found;
        let mut size = script.len().div_ceil(2);
        loop {
            let mut from = 0;
            let mut shorter = false;
            while from < script.len() {
                let until = (from + size).min(script.len());
                let rest: Vec<_> = [&script[..from], &script[until..]].concat();
                match (!rest.is_empty()).then(|| fails(&shape(rest.clone()))).flatten() {
                    Some(found) => {
                        (script, failed, shorter) = (rest, found, true);
                    }
                    None => from = until,
                }
            }
            if size == 1 && !shorter {
                break;
            }
            size = if shorter { size.min(script.len()) } else { size / 2 }.max(1);
        }
    }
    let mut text = format!("{} (log {})", failed.what, plan.log);
    let _ = write!(text, "; it takes {} steps:", script.len());
    for step in script {
        let _ = write!(text, "\n      {step}");
    }
    text
}
