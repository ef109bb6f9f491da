use super::*;
use proptest::prelude::*;

fn read(of: RangeType, text: &str) -> Range {
    Range::parse(of, text, Forms::default()).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn shown(range: &Range) -> String {
    let mut out = Vec::new();
    range.write(Forms::default(), &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn texts_are_those_of_postgresql() {
    for (of, text, expected) in [
        (RangeType::Int4, "[1,5]", "[1,6)"),
        (RangeType::Int4, " ( 1 , 5 ] ", "[2,6)"),
        (RangeType::Int4, "(1,2)", "empty"),
        (RangeType::Int4, "(,5]", "(,6)"),
        (RangeType::Int4, "[,]", "(,)"),
        (RangeType::Int4, " EMPTY ", "empty"),
        (RangeType::Int8, "(1,)", "[2,)"),
        (RangeType::Num, "[1.50,2]", "[1.5,2]"),
        (RangeType::Num, "(-0.05,1e3)", "(-0.05,1000)"),
        (RangeType::Num, "[0,0]", "[0,0]"),
        (RangeType::Num, "[0,0)", "empty"),
        (RangeType::Date, "[2024-01-01,2024-01-31]", "[2024-01-01,2024-02-01)"),
        (RangeType::Date, "[2024-01-01,infinity]", "[2024-01-01,infinity]"),
        (
            RangeType::Timestamp,
            "[2024-01-01 10:00,2024-01-01 \"11:30\")",
            "[\"2024-01-01 10:00:00\",\"2024-01-01 11:30:00\")",
        ),
        (RangeType::TimestampTz, "[2024-01-01 10:00+02,)", "[\"2024-01-01 08:00:00+00\",)"),
    ] {
        let range = read(of, text);
        assert_eq!(shown(&range), expected, "{text}");
        assert_eq!(Range::decode(&range.encode()), Some(range), "{text}");
        assert_eq!(read(of, expected), range, "{text}");
    }
}

#[test]
fn what_is_no_range_is_refused_in_postgresqls_words() {
    for (text, state, words) in [
        ("", "22P02", "Missing left parenthesis or bracket."),
        ("1,2", "22P02", "Missing left parenthesis or bracket."),
        ("[1", "22P02", "Unexpected end of input."),
        ("[1)", "22P02", "Missing comma after lower bound."),
        ("[1,2,3)", "22P02", "Too many commas."),
        ("[1,2) x", "22P02", "Junk after right parenthesis or bracket."),
        ("empty x", "22P02", "Junk after \"empty\" key word."),
        ("[2,1)", "22000", ""),
        ("[1,2147483647]", "22003", ""),
        ("[1,x)", "22P02", ""),
        ("[\"\",2)", "22P02", ""),
    ] {
        let error = Range::parse(RangeType::Int4, text, Forms::default()).unwrap_err();
        assert_eq!(error.sqlstate().as_str(), state, "{text}");
        if !words.is_empty() {
            assert_eq!(error.detail(), Some(words), "{text}");
        }
    }
    assert!(Range::flags("[)").is_ok());
    assert_eq!(Range::flags("[").unwrap_err().sqlstate().as_str(), "42601");
}

#[test]
fn bytes_of_strangers_are_no_ranges() {
    for bytes in [&[][..], &[0], &[8], &[9, 1], &[11, 0], &[10, 2], &[255; 20]] {
        assert_eq!(Range::decode(bytes), None, "{bytes:?}");
    }
}

/// Values that the model looks at: bounds are among them, and one lies beyond on each side.
const LINE: std::ops::RangeInclusive<i64> = -2..=12;

fn some_range() -> impl Strategy<Value = Range> {
    let bound = || (prop::option::of(0..10i64), any::<bool>());
    (bound(), bound()).prop_map(|((lower, li), (upper, ui))| {
        let side = |n: Option<i64>, inclusive| RangeBound { value: n.map(RangeValue::Int), inclusive };
        let of = RangeType::Int4;
        Range::new(of, side(lower, li), side(upper, ui)).unwrap_or(Range::empty(of))
    })
}

/// The values that a range has, one by one.
fn values(range: &Range) -> Vec<i64> {
    LINE.filter(|n| range.contains_value(RangeValue::Int(*n))).collect()
}

proptest! {
    /// Against sets of values.
    #[test]
    fn operators_are_those_of_sets(a in some_range(), b in some_range()) {
        let (x, y) = (values(&a), values(&b));
        let common: Vec<i64> = x.iter().copied().filter(|n| y.contains(n)).collect();
        prop_assert_eq!(a.is_empty(), x.is_empty());
        prop_assert_eq!(a == b, x == y);
        prop_assert_eq!(a.overlaps(&b), !common.is_empty());
        prop_assert_eq!(a.contains(&b), y.iter().all(|n| x.contains(n)));
        prop_assert_eq!(values(&a.intersection(&b)), common.clone());
        let both = !x.is_empty() && !y.is_empty();
        prop_assert_eq!(a.is_before(&b), both && x.iter().max() < y.iter().min());
        prop_assert_eq!(a.ends_within(&b), both && x.iter().max() <= y.iter().max());
        prop_assert_eq!(a.begins_within(&b), both && x.iter().min() >= y.iter().min());
        let next = |x: &[i64], y: &[i64]| both && x.iter().max().map(|n| n + 1) == y.iter().min().copied();
        prop_assert_eq!(a.is_adjacent(&b), next(&x, &y) || next(&y, &x));
        let all: Vec<i64> = LINE.filter(|n| x.contains(n) || y.contains(n)).collect();
        match a.union(&b) {
            Ok(union) => prop_assert_eq!(values(&union), all.clone()),
            Err(_) => prop_assert!(common.is_empty() && both),
        }
        let (least, most) = (all.first(), all.last());
        let hull: Vec<i64> = LINE.filter(|n| Some(n) >= least && Some(n) <= most && least.is_some()).collect();
        prop_assert_eq!(values(&a.merge(&b)), hull);
        let rest: Vec<i64> = x.iter().copied().filter(|n| !y.contains(n)).collect();
        match a.difference(&b) {
            Ok(difference) => prop_assert_eq!(values(&difference), rest),
            Err(_) => prop_assert!(rest.windows(2).any(|w| w[1] != w[0] + 1)),
        }
    }

    /// Bytes are in the order of ranges: the empty one first, then by where they begin, then by where they end.
    #[test]
    fn bytes_are_in_order(a in some_range(), b in some_range()) {
        let key = |r: &Range| {
            let v = values(r);
            // Without a bound a range has the value at the end of the line, and nothing is beyond it.
            (!v.is_empty(), v.first().copied(), v.last().copied())
        };
        prop_assert_eq!(a.encode().cmp(&b.encode()), key(&a).cmp(&key(&b)));
        prop_assert_eq!(Range::decode(&a.encode()), Some(a));
    }

    #[test]
    fn numerics_are_in_order(a in -10_000_000i64..10_000_000, s in 0u8..6, b in -10_000_000i64..10_000_000, t in 0u8..6) {
        let range = |n: i64, scale| {
            let value = RangeValue::Numeric(Numeric::from_parts(n.into(), scale).unwrap());
            let lower = RangeBound { value: Some(value), inclusive: true };
            Range::new(RangeType::Num, lower, RangeBound::INFINITE).unwrap()
        };
        let (x, y) = (Numeric::from_parts(a.into(), s).unwrap(), Numeric::from_parts(b.into(), t).unwrap());
        prop_assert_eq!(range(a, s).encode().cmp(&range(b, t).encode()), x.compare(y));
        let back = Range::decode(&range(a, s).encode()).unwrap().bounds.unwrap().0.value.unwrap();
        prop_assert_eq!(back.compare(RangeValue::Numeric(x)), Ordering::Equal);
    }

    /// What is printed is read as the same.
    #[test]
    fn texts_come_back(a in some_range()) {
        prop_assert_eq!(read(RangeType::Int4, &shown(&a)), a);
    }

    #[test]
    fn any_text_is_a_range_or_an_error(text in "[\\[(]?[ -~]{0,12}[\\])]?") {
        for of in RangeType::ALL {
            if let Ok(range) = Range::parse(of, &text, Forms::default()) {
                prop_assert_eq!(Range::decode(&range.encode()), Some(range));
            }
        }
    }
}
