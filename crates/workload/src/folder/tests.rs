//! Expressions and generators, each for itself.

use super::expression::{Bound, Expression, Number, Scope};
use super::generator::Spec;
use super::read::{Source, Table};
use super::slot::{Chosen, Slot};
use crate::inputs::Inputs;
use planaria::{Error, ParamRef, Params, Result};
use toml::de::DeTable;

/// Draws `n` times from the parameters of a text, by their order; each value as text.
fn drawn(text: &str, n: usize, seed: u64) -> Result<Vec<Vec<String>>> {
    let source = Source { path: "w.toml".into(), text: text.to_owned() };
    let parsed = DeTable::parse(&source.text).expect("TOML");
    let table = Table::root(&source, &parsed);
    let variables = [("n".to_owned(), Number::Int(10)), ("theta".to_owned(), Number::Float(0.9))];
    let (mut names, mut generators) = (Vec::new(), Vec::new());
    for ((name, _), item) in table.entries() {
        let rows = |table: &str| if table == "t" { Ok(7) } else { Err(Error::internal("no such table")) };
        let scope = Scope { source: &source, variables: &variables, slots: &names, rows: &rows };
        generators.push(Spec::of(item)?.bind(&scope)?);
        names.push(name.to_owned());
    }
    let (mut slots, mut inputs) = (vec![Slot::default(); names.len()], Inputs::new(seed));
    let order: Vec<usize> = (0..names.len()).collect();
    let mut all = Vec::new();
    for _ in 0..n {
        for (i, generator) in generators.iter_mut().enumerate() {
            let (before, rest) = slots.split_at_mut(i);
            generator.draw(&mut rest[0], before, &mut inputs, seed)?;
        }
        let chosen = Chosen { slots: &slots, order: &order };
        all.push((0..chosen.count()).map(|i| shown(chosen.param(i))).collect());
    }
    Ok(all)
}

fn shown(param: ParamRef<'_>) -> String {
    match param {
        ParamRef::Null => "NULL".to_owned(),
        ParamRef::Bool(b) => b.to_string(),
        ParamRef::Int(n) | ParamRef::Stored(n) => n.to_string(),
        ParamRef::Float(x) => x.to_string(),
        ParamRef::Numeric(n) => n.to_string(),
        ParamRef::Text(text) => text.to_owned(),
        ParamRef::Uuid(uuid) => uuid.iter().map(|b| format!("{b:02x}")).collect(),
        ParamRef::Array(items) => {
            let items: Vec<String> = (0..items.count()).map(|i| shown(items.param(i))).collect();
            format!("[{}]", items.join(" "))
        }
        _ => unreachable!("no generator draws it"),
    }
}

fn one(generator: &str) -> Vec<String> {
    let all = drawn(&format!("a = {generator}"), 300, 5);
    all.unwrap_or_else(|e| panic!("{generator}: {e}")).into_iter().map(|mut row| row.remove(0)).collect()
}

#[test]
fn expressions_are_computed() {
    for (text, value) in [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("-n + 3", -7),
        ("n / 3 % 2", 1),
        ("min(n, 3) + max(1_000, rows(t))", 1003),
        ("10 - 2 - 3", 5),
    ] {
        assert_eq!(one(&format!("\"{text}\""))[0], value.to_string(), "{text}");
    }
    for wrong in ["1 +", "(1", "1 2", "f(1)", "m", "", "1 / 0", "9223372036854775807 + 1", "theta", "rows(u)"]
    {
        assert!(drawn(&format!("a = \"{wrong}\""), 1, 1).is_err(), "{wrong}");
    }
    // Of what was drawn before, too.
    let rows = drawn("a = { uniform = 5 }\nb = \"a * 10 + n\"", 50, 1).expect("draws");
    let number = |text: &String| text.parse::<i64>().expect("a number");
    assert!(rows.iter().all(|row| number(&row[1]) == number(&row[0]) * 10 + 10));
    let division = drawn("a = 0\nb = \"1 / a\"", 1, 1).unwrap_err();
    assert_eq!(division.sqlstate().as_str(), "22012");
}

#[test]
fn numbers_are_within_their_ranges() {
    let numbers = |generator: &str| -> Vec<f64> {
        one(generator).iter().map(|n| n.parse().expect("a number")).collect()
    };
    for (generator, low, high) in [
        ("{ uniform = [-3, 4] }", -3.0, 4.0),
        ("{ uniform = \"n\" }", 1.0, 10.0),
        ("{ zipf = \"n\", theta = \"theta\" }", 1.0, 10.0),
        ("{ zipf = [0, 9], theta = 0.5, scattered = true }", 0.0, 9.0),
        ("{ nurand = [1, 30], a = 15, c = 7 }", 1.0, 30.0),
        ("{ decimal = [0, \"0.05\"] }", 0.0, 0.05),
        ("{ float = [1, 2.5] }", 1.0, 2.5),
        // Days since 2000.
        ("{ date = [\"2000-01-02\", \"2000-01-05\"] }", 1.0, 4.0),
    ] {
        let drawn = numbers(generator);
        assert!(drawn.iter().all(|n| (low..=high).contains(n)), "{generator}: {drawn:?}");
        let (least, most) = drawn.iter().fold((f64::MAX, f64::MIN), |(a, b), n| (a.min(*n), b.max(*n)));
        assert!(least < low + (high - low) * 0.2 && most > low + (high - low) * 0.8, "{generator}");
    }
    let popular = one("{ zipf = \"n\", theta = 2 }").iter().filter(|n| *n == "1").count();
    assert!(popular > 150, "{popular}");
    assert_eq!(one("{ sequence = 3, step = 2 }")[..3], ["3", "5", "7"]);
    let unique = |seed| drawn("a = { unique = true }", 2, seed).expect("draws");
    assert!(unique(1)[0] != unique(1)[1] && unique(1)[0] != unique(2)[0]);
}

#[test]
fn other_values_are_what_they_say() {
    assert!(one("{ chance = 50 }").iter().any(|b| b == "true"));
    assert_eq!(one("true")[0], "true");
    assert_eq!(one("{ text = \"n\" }")[0], "n");
    let chosen = one("{ choice = [\"a\", 5, {}, 0.25], weights = [1, 1, 1, 0] }");
    assert!(["a", "5", "NULL"].iter().all(|v| chosen.iter().any(|c| c == v)));
    assert!(!chosen.contains(&"0.25".to_owned()));
    assert!(
        one("{ string = [2, 4], of = \"xy\" }")
            .iter()
            .all(|s| (2..=4).contains(&s.len()) && s.chars().all(|c| "xy".contains(c)))
    );
    assert_eq!(one("{ format = \"C{:04}-{}\", of = [\"n\", \"n + 1\"] }")[0], "C0010-11");
    assert!(one("{ uuid = true }").iter().all(|u| &u[12..13] == "4" && "89ab".contains(&u[16..17])));
    let nulls = one("{ value = 1, null = 30 }").iter().filter(|v| *v == "NULL").count();
    assert!((50..130).contains(&nulls), "{nulls}");
    for array in one("{ array = { uniform = 4 }, length = [0, 4], distinct = true, sorted = true }") {
        let numbers: Vec<&str> = array[1..array.len() - 1].split(' ').filter(|n| !n.is_empty()).collect();
        assert!(numbers.windows(2).all(|w| w[0] < w[1]), "{array}");
    }
    let rows = drawn("a = { uniform = 2 }\nb = { uniform = 2, not = \"a\" }", 100, 3).expect("draws");
    assert!(rows.iter().all(|row| row[0] != row[1]));
}

#[test]
fn the_seed_says_what_is_drawn() {
    let text =
        "a = { uniform = 1000 }\nb = { string = 8 }\nc = { zipf = 100, theta = 0.8 }\nd = { uuid = true }";
    assert_eq!(drawn(text, 100, 4).expect("draws"), drawn(text, 100, 4).expect("draws"));
    assert_ne!(drawn(text, 100, 4).expect("draws"), drawn(text, 100, 5).expect("draws"));
}

#[test]
fn wrong_generators_are_refused() {
    for wrong in [
        "{ uniform = [1] }",
        "{ uniform = [1, 2.5] }",
        "{ zipf = 5 }",
        "{ zipf = 5, theta = -1 }",
        "{ choice = [] }",
        "{ choice = [1], weights = [1, 2] }",
        "{ choice = [1], weights = [0] }",
        "{ string = [3, 1] }",
        "{ string = 3, of = \"\" }",
        "{ decimal = [2, 1] }",
        "{ decimal = [\"a\", 1] }",
        "{ date = [\"2025-01-02\", \"2025-01-01\"] }",
        "{ date = [\"2025-13-02\", \"2026-01-01\"] }",
        "{ format = \"{\", of = 1 }",
        "{ format = \"{:x}\", of = 1 }",
        "{ format = \"{}\" }",
        "{ uuid = false }",
        "{ uniform = 5, zipf = 5 }",
        "{ null = 5 }",
        "{ value = 1, null = 101 }",
        "{ value = 1, not = \"b\" }",
        "{ chance = 200 }",
        "{ array = { uniform = 5 } }",
        "[1, 2]",
    ] {
        let error = drawn(&format!("a = {wrong}"), 1, 1).err();
        let error = error.unwrap_or_else(|| panic!("{wrong} is taken"));
        assert!(error.message().starts_with("w.toml:1: "), "{wrong}: {error}");
    }
}

#[test]
fn what_is_constant_is_computed_once() {
    let source = Source { path: "w.toml".into(), text: "a = \"2 * (n + 1)\"".to_owned() };
    let parsed = DeTable::parse(&source.text).expect("TOML");
    let table = Table::root(&source, &parsed);
    let rows = |_: &str| Ok(1);
    let variables = [("n".to_owned(), Number::Int(4))];
    let scope = Scope { source: &source, variables: &variables, slots: &[], rows: &rows };
    let expression = Expression::of(table.get("a").expect("it is there")).expect("an expression");
    assert!(matches!(expression.bind(&scope).expect("binds"), Bound::Int(10)));
}
