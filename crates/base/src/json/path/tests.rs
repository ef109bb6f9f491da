//! Paths read and printed. What PostgreSQL says of many more is in the golden scripts.

use super::Path;

fn printed(text: &str) -> String {
    let mut out = Vec::new();
    Path::parse(text).expect(text).write(&mut out);
    String::from_utf8(out).expect("a path is UTF-8")
}

const PATHS: [(&str, &str); 12] = [
    ("$", "$"),
    ("strict $.a.*[*][1, 2 to last - 1]", "strict $.\"a\".*[*][1,2 to last - 1]"),
    ("$.**{2}.**{last}.**{2 to last}.**", "$.**{2}.**{last}.**{2 to last}.**"),
    ("($a * 2).abs() + 1", "($\"a\" * 2.abs() + 1)"),
    ("1 + (2 * 3).double()", "(1 + 2 * 3.double())"),
    ("-(-$.a).abs() - -1", "(-(-$.\"a\").abs() - -1)"),
    (
        "!(!($ == 1)) && (exists($.a) || ($ < 2) is unknown)",
        "(!(!($ == 1)) && (exists ($.\"a\") || ($ < 2) is unknown))",
    ),
    ("(!($ == 1)).type() == \"x\"", "(!($ == 1).type() == \"x\")"),
    (
        "$ ? (@.a starts with $x && @ like_regex \"^a\" flag \"mi\")",
        "$?(@.\"a\" starts with $\"x\" && @ like_regex \"^a\" flag \"im\")",
    ),
    ("\"\\u00e4\\x41\\q\"", "\"äAq\""),
    ("1.e3 % .5", "(1000 % 0.5)"),
    ("$.datetime(\"HH24\").keyvalue().Type ( )", "$.datetime(\"HH24\").keyvalue().type()"),
];

#[test]
fn paths_are_printed_as_postgresql_prints_them() {
    for (text, expected) in PATHS {
        assert_eq!(printed(text), expected, "{text}");
    }
}

#[test]
fn what_is_kept_is_the_same_path() {
    for (text, _) in PATHS {
        let path = Path::parse(text).expect(text);
        let stored = String::from_utf8(path.to_stored()).expect("a path is UTF-8");
        assert_eq!(Path::parse(&stored).expect(&stored), path, "{stored}");
    }
}

#[test]
fn a_wrong_path_says_where() {
    for (text, message) in [
        ("", "invalid input syntax for type jsonpath: \"\""),
        ("$ &", "syntax error at or near \"&\" of jsonpath input"),
        ("$.a.1", "syntax error at or near \".1\" of jsonpath input"),
        ("1ab", "syntax error at end of jsonpath input"),
        ("1a", "trailing junk after numeric literal at or near \"1a\" of jsonpath input"),
        ("1e+", "invalid numeric literal at or near \"1e+\" of jsonpath input"),
        ("@", "@ is not allowed in root expressions"),
        ("$ ? (last == 1)", "LAST is allowed only in array subscripts"),
        ("($ == 1) + 1", "syntax error at or near \"+\" of jsonpath input"),
    ] {
        assert_eq!(Path::parse(text).expect_err(text).message(), message, "{text}");
    }
    for deep in ["(".repeat(200_000), format!("1{}", " + 1".repeat(200_000)), "-".repeat(100_000)] {
        assert_eq!(Path::parse(&deep).expect_err("deep").sqlstate().as_str(), "54001");
    }
    assert!(Path::parse(&format!("${}", ".a".repeat(200_000))).is_ok());
}
