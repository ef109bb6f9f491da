use super::*;

fn long(text: &str) -> Long {
    Number::parse(text).unwrap().into()
}

#[test]
fn texts_and_bytes_come_back() {
    let nines = "9".repeat(131_072);
    let tiny = format!("-0.{}1", "0".repeat(16_382));
    let zero = format!("0.{}", "0".repeat(300));
    for text in
        ["NaN", "Infinity", "-Infinity", &nines, &tiny, &zero, "123456789012345678901234567890123456789.5"]
    {
        let n = Long::parse(text).unwrap();
        assert_eq!(n.to_string(), text);
        let mut bytes = Vec::new();
        n.encode(&mut bytes);
        assert_eq!(Long::decode(&bytes), Some(n));
    }
    assert!(Long::parse(&format!("{nines}0")).is_err());
    assert!(Long::parse(&format!("{tiny}0")).is_err());
    assert_eq!(Long::parse("1e131071").unwrap().to_string().len(), 131_072);
    for bytes in [&[][..], &[5], &[0, 0], &[0, 0, 0, 7], &[0, 44, 1, 7, 0]] {
        assert_eq!(Long::decode(bytes), None, "{bytes:?}");
    }
}

#[test]
fn functions_are_those_of_short_numbers() {
    // What two words have room for both ways agree on.
    let numbers =
        ["0", "1", "-1", "2.50", "0.000123", "-17.3", "99999.99999", "1234567890.12345", "1.00001", "3"];
    for a in numbers {
        let (x, wide) = (Numeric::parse(a).unwrap(), long(a));
        let same = |what: &str, short: Result<Numeric>, wide: Result<Long>| match (short, wide) {
            (Ok(short), Ok(wide)) => assert_eq!(short.to_string(), wide.to_string(), "{what} {a}"),
            (Err(short), Err(wide)) => assert_eq!(short.message(), wide.message(), "{what} {a}"),
            (Err(short), Ok(_)) if is_overflow(&short) => {}
            (short, wide) => panic!("{what} {a}: {short:?} {wide:?}"),
        };
        same("sqrt", x.sqrt(), wide.sqrt());
        same("exp", x.exp(), wide.exp());
        same("ln", x.ln(), wide.ln());
        same("ceil", Ok(x.ceil()), wide.ceil());
        same("floor", Ok(x.floor()), wide.floor());
        for digits in [-3, 0, 2, 9] {
            same("round", x.round(digits), wide.round(digits));
            same("trunc", x.trunc(digits), wide.trunc(digits));
        }
        for b in numbers {
            let (y, other) = (Numeric::parse(b).unwrap(), long(b));
            let what = |op: &str| format!("{b} {op}");
            same(&what("+"), x.add(y), wide.add(&other));
            same(&what("-"), x.sub(y), wide.sub(&other));
            same(&what("*"), x.mul(y), wide.mul(&other));
            same(&what("/"), x.div(y), wide.div(&other));
            same(&what("%"), x.rem(y), wide.rem(&other));
            same(&what("div"), x.div_trunc(y), wide.div_trunc(&other));
            same(&what("^"), x.power(y), wide.power(&other));
            same(&what("log"), x.log(y), wide.log(&other));
            assert_eq!(x.compare(y), wide.compare(&other));
        }
    }
}

#[test]
fn special_values_are_ordered() {
    let sorted = ["-Infinity", "-1", "0", "1e500", "Infinity", "NaN"].map(long);
    for (i, a) in sorted.iter().enumerate() {
        for (j, b) in sorted.iter().enumerate() {
            assert_eq!(a.compare(b), i.cmp(&j));
        }
    }
}
