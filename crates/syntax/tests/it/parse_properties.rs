//! Whatever the text: no panic, no stack overflow, errors with positions inside the text, and a
//! script that is split loses nothing.

use std::path::Path;

use planaria_base::Error;
use planaria_syntax::parse;
use proptest::prelude::*;

/// Everything the parser can be asked about a text.
fn ask(text: &str) -> Result<(), TestCaseError> {
    let within = |error: Error| match error.fields().position {
        Some(at) => {
            prop_assert!(at as usize <= text.len(), "{error} at {at} of {}", text.len());
            prop_assert!(text.is_char_boundary(at as usize), "{error} at {at}");
            Ok(())
        }
        None => Err(TestCaseError::fail(format!("{error} without a position"))),
    };
    let script = match parse::Script::new(text) {
        Ok(script) => script,
        Err(error) => return refused(text, &error),
    };
    for statement in script {
        match statement {
            Ok(statement) => prop_assert!(statement.position < statement.end, "{statement:?}"),
            Err(error) => within(error)?,
        }
    }
    parse::expression(text).map_or_else(within, |_| Ok(()))?;
    parse::query(text).map_or_else(within, |_| Ok(()))?;
    parse::type_name(text).map_or_else(within, |_| Ok(()))?;
    parse::plpgsql(text).map_or_else(within, |_| Ok(()))
}

/// A short text is refused as a whole for its zero bytes alone.
fn refused(text: &str, error: &Error) -> Result<(), TestCaseError> {
    prop_assert!(text.contains('\0'), "{error}");
    prop_assert!(error.sqlstate().as_str() == "22021", "{error}");
    Ok(())
}

/// Between the ranges stand only semicolons, blanks and comments; each range parses as it does in
/// the script.
fn loses_nothing(text: &str) -> Result<(), TestCaseError> {
    let ranges = match parse::split(text) {
        Ok(ranges) => ranges,
        Err(error) => return refused(text, &error),
    };
    let mut behind = 0;
    for range in &ranges {
        prop_assert!(range.start >= behind && range.end <= text.len());
        prop_assert!(!range.is_empty());
        blank(&text[behind..range.start])?;
        behind = range.end;
    }
    blank(&text[behind..])?;
    let scripted: Vec<_> = parse::Script::new(text).expect("a short text").collect();
    prop_assert_eq!(ranges.len(), scripted.len());
    for (range, scripted) in ranges.into_iter().zip(scripted) {
        match (parse::statement(text, range), scripted) {
            (Ok(a), Ok(b)) => prop_assert_eq!(a, b),
            (Err(a), Err(b)) => prop_assert_eq!(a.sqlstate(), b.sqlstate()),
            (a, b) => prop_assert!(false, "{:?} but {:?}", a, b),
        }
    }
    Ok(())
}

fn blank(text: &str) -> Result<(), TestCaseError> {
    let mut rest = text.trim_start_matches('\u{feff}');
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c', ';']);
        if rest.is_empty() {
            return Ok(());
        }
        rest = if rest.starts_with("--") {
            rest.find(['\n', '\r']).map_or("", |at| &rest[at..])
        } else if rest.starts_with("/*") {
            let mut depth = 0;
            let mut at = 0;
            loop {
                if rest[at..].starts_with("/*") {
                    (depth, at) = (depth + 1, at + 2);
                } else if rest[at..].starts_with("*/") {
                    (depth, at) = (depth - 1, at + 2);
                } else {
                    at += rest[at..].chars().next().map_or(0, char::len_utf8);
                }
                prop_assert!(at < rest.len() || depth == 0, "a comment without end was lost");
                if depth == 0 {
                    break &rest[at..];
                }
            }
        } else {
            return Err(TestCaseError::fail(format!("lost: {rest:?}")));
        };
    }
}

/// Words and signs that steer the parser.
const SOUP: &str = "SELECT FROM WHERE GROUP BY ORDER LIMIT OFFSET FETCH FIRST ROW ONLY UNION ALL VALUES WITH RECURSIVE \
    AS ( ) [ ] , ; . .. : :: := = <> < > + - * / % ^ || & | # ~ @ ! ? $1 $$ $a$ 1 1.5 .5 1e3 'a' 'it''s E'\\n' U&'\\0061' \
    \"Q\" B'01' x y t a b INTO STRICT USING INSERT UPDATE SET DELETE RETURNING ON CONFLICT DO NOTHING DEFAULT NOT NULL IS \
    DISTINCT IN BETWEEN AND OR LIKE ESCAPE ANY CASE WHEN THEN ELSE END CAST ARRAY ROW EXISTS COALESCE EXTRACT SUBSTRING FOR \
    TRIM LEADING INTERVAL DAY TIMESTAMP ZONE AT TIME DATE NUMERIC INTEGER VARCHAR OVER PARTITION ROWS FILTER JOIN LEFT CROSS \
    NATURAL LATERAL CREATE TABLE INDEX VIEW SEQUENCE FUNCTION PROCEDURE RETURNS LANGUAGE plpgsql BEGIN ATOMIC DECLARE EXCEPTION \
    LOOP WHILE FOREACH REVERSE EXIT CONTINUE RETURN NEXT QUERY EXECUTE RAISE NOTICE PERFORM GET DIAGNOSTICS IF ELSIF << >> \
    PRIMARY KEY UNIQUE CHECK REFERENCES FOREIGN CONSTRAINT ALTER ADD COLUMN DROP CASCADE EXPLAIN ANALYZE PREPARE SHOW COMMIT \
    -- /* */ ' \" { \\ é 😀";

fn soup() -> impl Strategy<Value = String> {
    let words: Vec<&'static str> = SOUP.split_whitespace().collect();
    let blanks = prop::sample::select(vec![" ", " ", " ", "\n", "", ";", " -- c\n", "/* c */"]);
    prop::collection::vec((prop::sample::select(words), blanks), 0..40)
        .prop_map(|parts| parts.into_iter().map(|(word, blank)| format!("{word}{blank}")).collect())
}

/// The suites' statements and bodies: texts that get far into the grammar.
fn seeds() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../workload/sql");
    let mut seeds = Vec::new();
    for suite in ["tpcc", "smallbank", "voter", "ycsb", "tpcb"] {
        for file in ["schema", "procedures", "golden", "checks"] {
            let text =
                std::fs::read_to_string(folder.join(suite).join(format!("{file}.sql"))).expect("a suite");
            for range in parse::split(&text).expect("ranges") {
                let statement = text[range].to_owned();
                if let Some((_, body)) = statement.split_once("$$") {
                    seeds.push(body.trim_end_matches('$').to_owned());
                }
                seeds.push(statement);
            }
        }
    }
    seeds
}

/// A seed with a few words taken out, doubled, or put elsewhere.
fn mutated() -> impl Strategy<Value = String> {
    let edit = (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..4u8);
    let soup: Vec<&'static str> = SOUP.split_whitespace().collect();
    (prop::sample::select(seeds()), prop::collection::vec(edit, 1..5), prop::sample::select(soup)).prop_map(
        |(seed, edits, foreign)| {
            let mut words: Vec<&str> = seed.split_inclusive([' ', '(', ')', ',', ';', '\n']).collect();
            for (from, to, kind) in edits {
                let (from, to) = (from.index(words.len()), to.index(words.len()));
                match kind {
                    0 if words.len() > 1 => drop(words.remove(from)),
                    1 => words.insert(to, words[from]),
                    2 => words.swap(from, to),
                    _ => words.insert(to, foreign),
                }
            }
            words.join(if words.len().is_multiple_of(2) { " " } else { "" })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn garbage(text in "\\PC{0,200}") {
        ask(&text)?;
        loses_nothing(&text)?;
    }

    #[test]
    fn bytes(text in "[ -~\n\t\r;'\"$\\\\\u{0}-\u{ff}]{0,120}") {
        ask(&text)?;
        loses_nothing(&text)?;
    }

    #[test]
    fn token_soup(text in soup()) {
        ask(&text)?;
        ask(&format!("SELECT {text}"))?;
        ask(&format!("BEGIN {text}; END"))?;
        loses_nothing(&text)?;
    }

    #[test]
    fn mutations_of_the_suites(text in mutated()) {
        ask(&text)?;
        loses_nothing(&text)?;
    }

    #[test]
    fn cut_anywhere(seed in prop::sample::select(seeds()), at in any::<prop::sample::Index>()) {
        let mut end = at.index(seed.len() + 1);
        while !seed.is_char_boundary(end) {
            end -= 1;
        }
        ask(&seed[..end])?;
        ask(&seed[end..])?;
        loses_nothing(&seed[..end])?;
    }
}

/// Deep nesting is an error, not an overflow, in every production that nests; what is just allowed
/// fits into the two megabytes that a thread has.
#[test]
fn nesting_is_limited() {
    let statement = |open: &str, close: &str, depth: usize| {
        parse::statements(&format!("SELECT {}1{}", open.repeat(depth), close.repeat(depth))).map(drop)
    };
    for (open, close) in [
        ("(", ")"),
        ("(SELECT ", ")"),
        ("(SELECT 1 FROM (SELECT ", ") x)"),
        ("(1, ", ")"),
        ("NOT ", ""),
        ("- ", ""),
        ("1 = ANY (", ")"),
        ("CASE WHEN ", " THEN 1 END"),
        ("coalesce(", ")"),
        ("f(", ")"),
        ("a[", "]"),
        ("ARRAY[f(", ")]"),
        ("1 IN (", ")"),
        ("EXISTS (SELECT ", ")"),
    ] {
        let deepest = (1..300).take_while(|depth| statement(open, close, *depth).is_ok()).count();
        assert!(deepest >= 60, "{open}: {deepest}");
        for depth in [2_000, 100_000] {
            assert_eq!(statement(open, close, depth).expect_err(open).sqlstate().as_str(), "54001", "{open}");
        }
    }
    for (open, close, inner) in [
        ("BEGIN ", " END;", "NULL;"),
        ("BEGIN IF a THEN ", " END IF; END;", "NULL;"),
        ("BEGIN LOOP ", " END LOOP; END;", "EXIT;"),
    ] {
        let body =
            |depth: usize| parse::plpgsql(&format!("{}{inner}{}", open.repeat(depth), close.repeat(depth)));
        assert!(body(60).is_ok());
        assert_eq!(body(10_000).expect_err(open).sqlstate().as_str(), "54001");
    }
}

/// What nests to the left without parentheses has a limit as well: those who walk the tree recurse.
#[test]
fn chains_are_limited() {
    for (first, more) in [
        ("SELECT 1", " + 1"),
        ("SELECT a", "::text"),
        ("SELECT a", "[1]"),
        ("SELECT a", " IS NULL"),
        ("SELECT 1", " UNION SELECT 1"),
        ("SELECT 1 FROM a", " CROSS JOIN a"),
    ] {
        assert!(parse::statements(&format!("{first}{}", more.repeat(100))).is_ok(), "{first}{more}");
        let error = parse::statements(&format!("{first}{}", more.repeat(100_000))).expect_err(more);
        assert_eq!(error.sqlstate().as_str(), "54001", "{first}{more}");
    }
    let wide = [
        ("SELECT a", " OR b"),
        ("SELECT a", " OR b = c AND d"),
        ("SELECT 1", ", 1"),
        ("VALUES (1)", ", (1)"),
    ];
    for (first, more) in wide {
        assert!(parse::statements(&format!("{first}{}", more.repeat(100_000))).is_ok(), "{first}{more}");
    }
}
