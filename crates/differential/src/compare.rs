//! Comparing, and making what differs smaller.

use crate::cluster::Cluster;
use crate::engines::{self, Outcome, Step};
use crate::generate::{self, Kind, Statement};
use std::io::{Error, Result};

/// A statement to which the engines answered differently.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Which of the script's steps.
    pub step: usize,
    /// Planaria's answer.
    pub planaria: Outcome,
    /// PostgreSQL's.
    pub postgres: Outcome,
}

/// A script and what became of it.
#[derive(Clone, Debug, Default)]
pub struct Compared {
    /// What both engines ran.
    pub steps: Vec<Step>,
    /// Where each of these stands in the script.
    places: Vec<usize>,
    /// The first difference.
    pub difference: Option<Difference>,
    /// Statements that Planaria refuses with 0A000, and its messages.
    pub unsupported: Vec<(String, String)>,
    /// Statements that failed alike.
    pub failed: usize,
    /// Statements that failed in two ways, both of which are right.
    pub excused: usize,
    /// It ends early, as one of the engines gave up on a statement.
    pub cut: bool,
}

/// What a difference means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    /// It is none, or one that leaves both engines in the same state.
    Same,
    /// It is known, but what follows stands on other rows.
    Known,
    /// One of them is wrong.
    Differs,
}

/// Errors that depend on which row is looked at first: those of values, constraints, views' and policies' checks.
fn is_of_rows(code: &str) -> bool {
    ["21", "22", "23", "44"].contains(&&code[..2]) || code == "42501"
}

/// Errors of values, and of limits.
fn is_of_values(code: &str) -> bool {
    ["21", "22", "23", "54"].contains(&&code[..2])
}

/// Whether a statement changes rows, itself or by walking through them.
fn changes_rows(text: &str) -> bool {
    let words =
        ["INSERT", "UPDATE", "DELETE", "MERGE", "COMMIT", "SET CONSTRAINTS", "CALL walk", "WITH w AS ("];
    words.iter().any(|w| text.starts_with(w))
}

/// Differences that are right, each with its reason.
fn judge(text: &str, planaria: &Outcome, postgres: &Outcome) -> Verdict {
    if planaria == postgres {
        return Verdict::Same;
    }
    match (&planaria.error, &postgres.error) {
        // A change that fails in several ways: PostgreSQL takes row after row, and looks at foreign keys when
        // all are stored; Planaria computes all values, then looks at foreign keys row by row.
        (Some((ours, _)), Some((theirs, _)))
            if [ours, theirs].iter().all(|code| is_of_rows(code)) && changes_rows(text) =>
        {
            Verdict::Same
        }
        // Rows of a partition that an ALTER TABLE, or a new index, finds wrong: it is named by us, or the partitioned
        // table is.
        (Some((ours, _)), Some((theirs, _)))
            if ours == theirs
                && ["23502", "23505", "23514"].contains(&ours.as_str())
                && ["ALTER TABLE", "CREATE"].iter().any(|w| text.starts_with(w)) =>
        {
            Verdict::Same
        }
        // Which of several values that are wrong is computed first: PostgreSQL computes constants when it plans.
        (Some((ours, _)), Some((theirs, _)))
            if text.starts_with("SELECT") && [ours, theirs].iter().all(|code| is_of_values(code)) =>
        {
            Verdict::Same
        }
        // It does so where no row comes to them, too.
        (None, Some((code, _)))
            if text.starts_with("SELECT id, ") && planaria.rows.is_empty() && is_of_values(code) =>
        {
            Verdict::Same
        }
        // Which of several things that are wrong with a change of a table is found first.
        (Some((ours, _)), Some((theirs, _))) if ours != theirs && text.starts_with("ALTER TABLE ") => {
            Verdict::Same
        }
        // PostgreSQL detaches a partition whose rows wait for triggers, and does not find these triggers at COMMIT.
        (Some((code, _)), None) if code == "55006" && text.contains(" DETACH PARTITION ") => Verdict::Known,
        // Which of the table and the bounds is looked at first.
        (Some(_), Some(_)) if text.contains(" ATTACH PARTITION ") => Verdict::Same,
        // PostgreSQL keeps the row type that a trigger's function had before a column was added.
        (None, Some((code, message)))
            if code == "42804" && message.ends_with(" of type record has wrong type") =>
        {
            Verdict::Known
        }
        // A numeric has at most 35 significant digits; beyond, an operation is refused rather than rounded.
        (Some((code, message)), _) if code == "22003" && message == "value overflows numeric format" => {
            Verdict::Known
        }
        // PostgreSQL converts a key that cascades to the type of those that refer to it when it plans, even if none
        // does.
        (None, Some((code, _))) if postgres.in_action && ["22001", "22003"].contains(&code.as_str()) => {
            Verdict::Known
        }
        // It took too long for one of them.
        (Some((code, _)), _) | (_, Some((code, _))) if code == "57014" => Verdict::Known,
        _ => Verdict::Differs,
    }
}

fn steps(script: &[Statement]) -> Vec<Step> {
    script.iter().map(|s| Step { text: s.node.render(), ordered: s.ordered }).collect()
}

/// Runs scripts on both engines.
pub fn scripts(cluster: &Cluster, scripts: &[Vec<Step>]) -> Result<Vec<Compared>> {
    let mut all = Vec::new();
    let mut ours = Vec::new();
    for script in scripts {
        let outcomes = engines::planaria(script).map_err(Error::other)?;
        let mut compared = Compared::default();
        let mut kept = Vec::new();
        let mut open = false;
        for (place, (step, outcome)) in script.iter().zip(outcomes).enumerate() {
            open = step.text == "BEGIN" || open && !matches!(step.text.as_str(), "COMMIT" | "ROLLBACK");
            if outcome.is_unsupported() {
                let message = outcome.error.map(|(_, m)| m).unwrap_or_default();
                compared.unsupported.push((step.text.clone(), message));
                // Planaria's transaction has failed, PostgreSQL's would go on.
                if open {
                    break;
                }
            } else {
                compared.steps.push(step.clone());
                compared.places.push(place);
                kept.push(outcome);
            }
        }
        all.push(compared);
        ours.push(kept);
    }
    let wanted: Vec<Vec<Step>> = all.iter().map(|c| c.steps.clone()).collect();
    let theirs = engines::postgres(cluster, &wanted)?;
    for ((compared, ours), theirs) in all.iter_mut().zip(ours).zip(theirs) {
        let pairs = ours.into_iter().zip(theirs).enumerate();
        for (step, (planaria, postgres)) in pairs {
            compared.failed += usize::from(planaria.error.is_some());
            compared.excused += usize::from(planaria.error != postgres.error);
            match judge(&compared.steps[step].text, &planaria, &postgres) {
                Verdict::Same => continue,
                Verdict::Known => compared.cut = true,
                Verdict::Differs => compared.difference = Some(Difference { step, planaria, postgres }),
            }
            break;
        }
    }
    Ok(all)
}

/// Runs random cases on both engines.
pub fn cases(cluster: &Cluster, kind: Kind, seed: u64, from: u64, count: u64) -> Result<Vec<Compared>> {
    let all: Vec<Vec<Step>> =
        (from..from + count).map(|case| steps(&generate::script(kind, seed, case))).collect();
    scripts(cluster, &all)
}

/// What kind of difference it is: shrinking must not run off to another one.
fn kind(d: &Difference) -> (Option<String>, Option<String>, bool) {
    let code = |o: &Outcome| o.error.as_ref().map(|(c, _)| c.clone());
    (code(&d.planaria), code(&d.postgres), d.planaria.rows == d.postgres.rows)
}

/// The smallest script found that differs as that case does; `None` where it does not.
pub fn shrink(cluster: &Cluster, of: Kind, seed: u64, case: u64) -> Result<Option<Compared>> {
    let mut script = generate::script(of, seed, case);
    let run = |script: &[Statement]| -> Result<Compared> {
        scripts(cluster, &[steps(script)])?.pop().ok_or_else(|| Error::other("no answer"))
    };
    let mut best = run(&script)?;
    let Some(difference) = &best.difference else { return Ok(None) };
    let wanted = kind(difference);
    script.truncate(best.places[difference.step] + 1);
    let mut differs = |script: &[Statement]| -> Result<bool> {
        let compared = run(script)?;
        let same = compared.difference.as_ref().is_some_and(|d| kind(d) == wanted);
        if same {
            best = compared;
        }
        Ok(same)
    };
    // Statements, from the largest groups to single ones.
    let mut size = script.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at + size < script.len() {
            let mut fewer = script.clone();
            fewer.drain(at..at + size);
            if differs(&fewer)? {
                script = fewer;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
    // Clauses and expressions, of the last statement first.
    let mut progress = true;
    let mut tries = 0;
    while progress && tries < 600 {
        progress = false;
        for at in (0..script.len()).rev() {
            'again: loop {
                for smaller in script[at].node.smaller() {
                    tries += 1;
                    if tries > 600 {
                        break 'again;
                    }
                    let mut next = script.clone();
                    next[at].node = smaller;
                    if differs(&next)? {
                        script = next;
                        progress = true;
                        continue 'again;
                    }
                }
                break;
            }
        }
    }
    Ok(Some(best))
}
