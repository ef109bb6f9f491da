//! Arithmetic against a model over unbounded integers.

use super::*;
use num_bigint::{BigInt, Sign};
use proptest::prelude::*;

fn big(n: i128) -> BigInt {
    BigInt::from(n)
}
fn ten(n: u32) -> BigInt {
    BigInt::from(10).pow(n)
}
fn magnitude(n: &BigInt) -> BigInt {
    BigInt::from(n.magnitude().clone())
}

/// Mantissas of all sizes, small ones and those next to the bound more often.
fn mantissa() -> impl Strategy<Value = i128> {
    prop_oneof![
        (0u32..36, any::<i128>()).prop_map(|(digits, n)| n % 10i128.pow(digits).max(1)),
        (-1000i128..1000),
        (0i128..1000).prop_map(|n| MANTISSA_BOUND - 1 - n),
        any::<i64>().prop_map(i128::from),
        (0u32..36, -2i128..3).prop_map(|(digits, n)| (10i128.pow(digits) + n).min(MANTISSA_BOUND - 1)),
    ]
}
fn numeric() -> impl Strategy<Value = Numeric> {
    (mantissa(), prop_oneof![0u8..20, Just(0), Just(2), 0u8..=200])
        .prop_map(|(m, scale)| Numeric { mantissa: m, scale })
}

/// The answer must be the model's where that fits, and 22003 where it does not.
fn check(found: Result<Numeric>, mantissa: BigInt, scale: u32) -> Result<(), TestCaseError> {
    let fits = magnitude(&mantissa) < big(MANTISSA_BOUND) && scale <= NUMERIC_SCALE_MAX;
    match found {
        Ok(n) => {
            prop_assert!(fits, "{mantissa} / 10^{scale} does not fit but gave {n}");
            prop_assert_eq!((big(n.mantissa), n.scale as u32), (mantissa, scale));
        }
        Err(e) => {
            prop_assert_eq!(e.sqlstate(), SqlState::NUMERIC_VALUE_OUT_OF_RANGE);
            prop_assert!(!fits, "{mantissa} / 10^{scale} fits");
        }
    }
    Ok(())
}

/// `a / b`, half away from zero.
fn div_round(a: &BigInt, b: &BigInt) -> BigInt {
    let quotient: BigInt = (magnitude(a) * 2 + magnitude(b)) / (magnitude(b) * 2);
    if (a.sign() == Sign::Minus) != (b.sign() == Sign::Minus) { -quotient } else { quotient }
}

fn aligned(a: Numeric, b: Numeric) -> (BigInt, BigInt, u32) {
    let scale = a.scale.max(b.scale) as u32;
    let at = |n: Numeric| big(n.mantissa) * ten(scale - n.scale as u32);
    (at(a), at(b), scale)
}

#[test]
fn packed_ones_keep_their_bound() {
    let most = Numeric::from_parts(MANTISSA_BOUND - 1, 2).expect("the largest mantissa").pack();
    let least = Numeric::from_parts(1 - MANTISSA_BOUND, 2).expect("the smallest mantissa").pack();
    let one = Numeric::from_parts(1, 2).expect("one").pack();
    assert_eq!((most.plus(one), least.minus(one), least.plus(least)), (None, None, None));
    assert_eq!(most.minus(one).and_then(|n| n.plus(one)), Some(most));
    assert_eq!(least.plus(one).and_then(|n| n.minus(one)), Some(least));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn sums_products_and_remainders_are_exact(a in numeric(), b in numeric()) {
        let (x, y, scale) = aligned(a, b);
        check(a.add(b), &x + &y, scale)?;
        check(a.sub(b), &x - &y, scale)?;
        check(a.mul(b), big(a.mantissa) * big(b.mantissa), a.scale as u32 + b.scale as u32)?;
        if b.mantissa != 0 {
            check(a.rem(b), &x % &y, scale)?;
        }
        prop_assert_eq!(a.compare(b), x.cmp(&y));
        if x == y {
            prop_assert_eq!(a.normalized(), b.normalized());
        }
    }

    #[test]
    fn packed_ones_are_added_as_others_are(a in numeric(), b in numeric(), same in any::<bool>()) {
        let b = if same { Numeric { scale: a.scale, ..b } } else { b };
        let (x, y) = (a.pack(), b.pack());
        let exact = |n: Option<Numeric>| n.filter(|_| a.scale == b.scale).map(Numeric::pack);
        prop_assert_eq!(x.plus(y), exact(a.add(b).ok()));
        prop_assert_eq!(x.minus(y), exact(a.sub(b).ok()));
        prop_assert_eq!(x.word_at(a.scale), i64::try_from(a.mantissa).ok());
        prop_assert_eq!(x.word_at(a.scale ^ 1), None);
    }

    #[test]
    fn quotients_round_half_away(a in numeric(), b in numeric()) {
        prop_assume!(b.mantissa != 0);
        if let Ok(quotient) = a.div(b) {
            let scale = quotient.scale as u32;
            prop_assert!(scale >= a.scale.max(b.scale) as u32);
            let numerator = big(a.mantissa) * ten(scale + b.scale as u32 - a.scale as u32);
            prop_assert_eq!(big(quotient.mantissa), div_round(&numerator, &big(b.mantissa)));
            // At least 16 significant digits, or the operands' scale. Zero has none: there the scale
            // follows the divisor's weight, as in PostgreSQL (0 / 0.00001 is 0.000000000000).
            let enough = a.mantissa == 0
                || digits(quotient.mantissa.unsigned_abs()) >= 16
                || quotient.scale >= 16;
            prop_assert!(enough, "{a} / {b} = {quotient}");
        }
    }

    #[test]
    fn rounding_is_half_away(a in numeric(), places in -40i32..210) {
        let drop = i32::from(a.scale) - places;
        let exact = big(a.mantissa);
        let (rounded, cut) = if drop <= 0 {
            let grown = &exact * ten(drop.unsigned_abs());
            (grown.clone(), grown)
        } else {
            (div_round(&exact, &ten(drop as u32)), &exact / ten(drop as u32))
        };
        let back = ten(places.min(0).unsigned_abs());
        check(a.round(places), rounded * &back, places.max(0) as u32)?;
        check(a.trunc(places), cut * &back, places.max(0) as u32)?;
        let unit = ten(a.scale as u32);
        let floor = (&exact - ((&exact % &unit) + &unit) % &unit) / &unit;
        prop_assert_eq!(big(a.floor().mantissa), floor.clone());
        let whole = (&exact % &unit).sign() == Sign::NoSign;
        prop_assert_eq!(big(a.ceil().mantissa), if whole { floor } else { floor + 1 });
    }

    #[test]
    fn square_roots_are_the_nearest(a in numeric()) {
        if let Ok(root) = a.abs().sqrt() {
            let radicand = big(a.mantissa.abs()) * ten(2 * root.scale as u32 - a.scale as u32);
            let twice = big(root.mantissa) * 2;
            // (root - 1/2)^2 <= n < (root + 1/2)^2
            prop_assert!(root.mantissa == 0 || (&twice - 1) * (&twice - 1) <= &radicand * 4);
            prop_assert!(&radicand * 4 < (&twice + 1) * (&twice + 1));
        }
    }

    #[test]
    fn text_and_words_round_trip(a in numeric()) {
        prop_assert_eq!(Numeric::parse(&a.to_string()).unwrap(), a);
        prop_assert_eq!(a.pack().unpack(), a);
        prop_assert_eq!(a.to_i64(), i64::try_from(div_round(&big(a.mantissa), &ten(a.scale as u32))).ok());
        prop_assert_eq!(a.to_f64(), a.to_string().parse::<f64>().unwrap());
    }

    #[test]
    fn rescaling_bounds_the_digits(a in numeric(), precision in 1u8..36, scale in 0u8..20) {
        let model = if a.scale >= scale {
            div_round(&big(a.mantissa), &ten((a.scale - scale) as u32))
        } else {
            big(a.mantissa) * ten((scale - a.scale) as u32)
        };
        match a.rescale(precision.into(), scale.into()) {
            Ok(n) => {
                prop_assert_eq!((big(n.mantissa), n.scale), (model.clone(), scale));
                prop_assert!(magnitude(&model) < ten(precision as u32));
            }
            Err(e) => {
                prop_assert_eq!(e.message(), "numeric field overflow");
                prop_assert!(magnitude(&model) >= ten(precision as u32));
            }
        }
    }

    #[test]
    fn whole_powers_are_exact(base in -300i128..300, scale in 0u8..3, exponent in 2i64..9) {
        let base = Numeric { mantissa: base, scale };
        let exact = big(base.mantissa).pow(exponent as u32);
        let model = div_round(&(exact * ten(16)), &ten(scale as u32 * exponent as u32));
        check(base.power(Numeric::from_i64(exponent)), model, 16)?;
    }

    #[test]
    fn exp_undoes_ln(mantissa in 1i128..1_000_000_000, scale in 0u8..9) {
        let n = Numeric { mantissa, scale };
        let back = n.ln().unwrap().exp().unwrap();
        let error = (back.to_f64() - n.to_f64()).abs() / n.to_f64();
        prop_assert!(error < 1e-14, "{n} became {back}");
    }

    #[test]
    fn long_division_is_exact(a in prop::collection::vec(any::<u32>(), 1..12), b in prop::collection::vec(prop_oneof![any::<u32>(), Just(0), Just(u32::MAX), Just(1 << 31)], 1..8)) {
        prop_assume!(b.iter().any(|l| *l != 0));
        let value = |limbs: &[u32]| BigInt::from_slice(Sign::Plus, limbs);
        let mut rest = a.clone();
        rest.resize(a.len().max(b.len()) + 1, 0);
        let mut quotient = vec![0; rest.len()];
        wide::div_rem_limbs(&mut rest, &b, &mut quotient);
        prop_assert_eq!(value(&quotient), value(&a) / value(&b));
        prop_assert_eq!(value(&rest), value(&a) % value(&b));
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[-+ 0-9.eE]{0,12}") {
        if let Ok(n) = Numeric::parse(&text) {
            prop_assert_eq!(Numeric::parse(&n.to_string()).unwrap(), n);
        }
    }
}

#[test]
fn doubles_become_numerics_of_fifteen_digits() {
    for (x, text) in [
        (0.1, "0.1"),
        (1e20, "100000000000000000000"),
        (-2.5e-7, "-0.00000025"),
        (1.0 / 3.0, "0.333333333333333"),
    ] {
        assert_eq!(Numeric::from_f64(x).unwrap().to_string(), text);
    }
    assert_eq!(Numeric::from_f64(1e300).unwrap_err().sqlstate(), SqlState::NUMERIC_VALUE_OUT_OF_RANGE);
    assert_eq!(Numeric::from_f64(f64::NAN).unwrap_err().sqlstate(), SqlState::NUMERIC_VALUE_OUT_OF_RANGE);
}

#[test]
fn overflowing_a_field_says_which_bound() {
    let e = Numeric::parse("1234.5").unwrap().rescale(5, 2).unwrap_err();
    assert_eq!(e.message(), "numeric field overflow");
    let detail = "A field with precision 5, scale 2 must round to an absolute value less than 10^3.";
    assert_eq!(e.fields().detail.as_deref(), Some(detail));
}
