//! How many routines a case made, and how many of them ask for what is another thing the next time.

use std::collections::BTreeSet;

/// What asks by itself, for the session, the moment, chance, a sequence, or the catalogs.
const ASKING: &[&str] = &[
    "current_user",
    "session_user",
    "current_setting(",
    "set_config(",
    "now()",
    "current_timestamp",
    "statement_timestamp(",
    "clock_timestamp(",
    "random()",
    "gen_random_uuid(",
    "nextval(",
    "currval(",
    "setval(",
    "pg_",
    "EXECUTE ",
    "FOR UPDATE",
];

/// Routines, views and tables are known by their names, which are not used for anything else.
#[derive(Clone, Debug, Default)]
pub struct Census {
    /// Routines that were made or replaced.
    pub routines: u64,
    /// Those of them that ask, by themselves or through routines and views.
    pub asking: u64,
    /// Routines and views that ask.
    names: BTreeSet<String>,
}

impl Census {
    /// A statement was carried out.
    pub fn take(&mut self, text: &str) {
        let routine = ["CREATE OR REPLACE FUNCTION ", "CREATE OR REPLACE PROCEDURE "];
        let rest = routine.iter().find_map(|words| text.strip_prefix(words));
        let Some((name, body)) = rest.or_else(|| text.strip_prefix("CREATE VIEW ")).and_then(named) else {
            return;
        };
        let words = body.split(|c: char| !c.is_ascii_alphanumeric());
        let asks =
            ASKING.iter().any(|word| body.contains(word)) || words.clone().any(|w| self.names.contains(w));
        if asks {
            self.names.insert(name.to_owned());
        } else {
            self.names.remove(name);
        }
        self.routines += u64::from(rest.is_some());
        self.asking += u64::from(rest.is_some() && asks);
    }
}

/// A name, and what follows it.
fn named(rest: &str) -> Option<(&str, &str)> {
    rest.find(['(', ' ']).map(|end| rest.split_at(end))
}

#[cfg(test)]
mod tests {
    use super::Census;

    #[test]
    fn who_asks_through_others_asks() {
        let mut census = Census::default();
        for text in [
            "CREATE OR REPLACE FUNCTION f1() RETURNS text LANGUAGE sql AS $$ SELECT 'text 1' $$",
            "CREATE VIEW v2 AS SELECT random() AS w",
            "CREATE OR REPLACE PROCEDURE p3(k int) LANGUAGE plpgsql AS $$ BEGIN PERFORM f1(); END $$",
            "CREATE OR REPLACE FUNCTION f4() RETURNS text LANGUAGE sql AS $$ SELECT max(w) FROM v2 $$",
            "CREATE OR REPLACE PROCEDURE p5(k int) LANGUAGE plpgsql AS $$ BEGIN PERFORM f4(); END $$",
            "SELECT f4()",
        ] {
            census.take(text);
        }
        assert_eq!((census.routines, census.asking), (4, 2));
    }
}
