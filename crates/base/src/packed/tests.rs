use super::*;
use crate::error::SqlState;
use proptest::prelude::*;
use std::cmp::Ordering;

fn written(of: PackedType, bytes: &[u8]) -> String {
    let mut out = Vec::new();
    of.write(bytes, &mut out);
    String::from_utf8(out).expect("a text")
}

fn inet() -> impl Strategy<Value = Inet> {
    (any::<bool>(), prop::collection::vec(prop_oneof![Just(0u8), Just(255), any::<u8>()], 16), 0..=128u8)
        .prop_map(|(v6, bytes, bits)| {
            let mut address: [u8; 16] = bytes.try_into().expect("16 bytes");
            if !v6 {
                address[4..].fill(0);
            }
            Inet { v6, bits: if v6 { bits } else { bits.min(32) }, address }
        })
}

/// As PostgreSQL compares them (`network_cmp_internal`).
fn compared(a: &Inet, b: &Inet) -> Ordering {
    let number = |inet: &Inet| u128::from_be_bytes(inet.address);
    let front = |inet: &Inet, bits: u8| number(inet).checked_shr(128 - u32::from(bits)).unwrap_or(0);
    let least = a.bits.min(b.bits);
    (a.v6.cmp(&b.v6))
        .then_with(|| front(a, least).cmp(&front(b, least)))
        .then_with(|| a.bits.cmp(&b.bits))
        .then_with(|| number(a).cmp(&number(b)))
}

proptest! {
    #[test]
    fn bytes_order_as_addresses_do(a in inet(), b in inet(), cut in 0..=128u8) {
        prop_assert_eq!(a.encode().cmp(&b.encode()), compared(&a, &b));
        let mut near = a;
        near.bits = cut.min(a.bits_max());
        prop_assert_eq!(a.encode().cmp(&near.encode()), compared(&a, &near));
        prop_assert_eq!(a.encode().cmp(&near.network().encode()), compared(&a, &near.network()));
    }

    #[test]
    fn addresses_come_back(a in inet()) {
        let bytes = a.encode();
        prop_assert_eq!(Inet::decode(&bytes), Some(a));
        let text = written(PackedType::Inet, &bytes);
        prop_assert_eq!(Inet::parse(&text).expect(&text), a);
        let network = a.network();
        let text = written(PackedType::Cidr, &network.encode());
        prop_assert_eq!(Inet::parse_network(&text).expect(&text), network);
        let mut sent = Vec::new();
        PackedType::Inet.send(&bytes, &mut sent);
        prop_assert_eq!(PackedType::Inet.receive(&sent).expect("an address"), bytes);
    }

    #[test]
    fn no_bytes_and_no_text_end_in_a_panic(bytes in prop::collection::vec(0..8u8, 0..40), text in "[0-9a-fx:./ -]{0,30}") {
        for of in PackedType::ALL {
            written(of, &bytes);
            let _ = (of.is_value(&bytes), of.receive(&bytes));
            if let Ok(value) = of.parse(&text) {
                assert!(of.is_value(&value), "{text}");
            }
            for to in PackedType::ALL {
                let _ = of.convert(&bytes, to, false);
            }
        }
    }

    #[test]
    fn cards_come_back(mac in any::<[u8; 6]>()) {
        let text = written(PackedType::MacAddr, &mac);
        prop_assert_eq!(PackedType::MacAddr.parse(&text).expect("a card"), mac.to_vec());
        let long = mac::longer(&mac).expect("six bytes");
        prop_assert_eq!(PackedType::MacAddr8.parse(&text).expect("a card"), long.clone());
        prop_assert_eq!(mac::shorter(&long).expect("was one"), mac.to_vec());
    }
}

#[test]
fn moving_an_address_stays_within_its_family() {
    let of = |text: &str| Inet::parse(text).expect(text);
    let text = |inet: Inet| written(PackedType::Inet, &inet.encode());
    assert_eq!(text(of("10.0.0.1").plus(255).expect("is one")), "10.0.1.0");
    assert_eq!(text(of("::1").minus(1).expect("is one")), "::");
    for wrong in [of("255.255.255.255").plus(1), of("0.0.0.0").minus(1), of("1.1.1.1").plus(i64::MIN)] {
        assert_eq!(wrong.expect_err("is none").sqlstate(), SqlState::NUMERIC_VALUE_OUT_OF_RANGE);
    }
    // The least number is its own negative, as in PostgreSQL.
    assert!(of("1.1.1.1").minus(i64::MIN).is_err());
    assert_eq!(of("ffff::").minus(i64::MIN).map(text).expect("is one"), "fffe:ffff:ffff:ffff:8000::");
    assert!(of("ffff::").distance(&of("::")).is_err());
    assert_eq!(of("10.0.0.0").distance(&of("10.0.1.0")).expect("is a number"), -256);
}

fn some_bits() -> impl Strategy<Value = Bits> {
    (prop::collection::vec(prop_oneof![Just(0u8), Just(255), any::<u8>()], 0..6), 0..8usize).prop_map(
        |(bytes, less)| {
            let len = 8 * bytes.len();
            Bits { len, bytes }.resized(len.saturating_sub(less))
        },
    )
}

proptest! {
    /// As PostgreSQL compares them (`bit_cmp`): the bytes that both have, then the lengths.
    #[test]
    fn bytes_order_as_bits_do(a in some_bits(), b in some_bits(), cut in 0..40usize) {
        let compared = |a: &Bits, b: &Bits| {
            let both = a.bytes.len().min(b.bytes.len());
            a.bytes[..both].cmp(&b.bytes[..both]).then(a.len.cmp(&b.len))
        };
        prop_assert_eq!(a.encode().cmp(&b.encode()), compared(&a, &b));
        let near = a.clone().resized(cut);
        prop_assert_eq!(a.encode().cmp(&near.encode()), compared(&a, &near));
    }

    #[test]
    fn bits_come_back(a in some_bits(), b in some_bits(), by in -50..50i64) {
        let bytes = a.encode();
        prop_assert_eq!(Bits::decode(&bytes), Some(a.clone()));
        let text = written(PackedType::VarBit(None), &bytes);
        prop_assert_eq!(text.len(), a.len);
        prop_assert_eq!(Bits::parse(&text).expect("bits"), a.clone());
        let mut sent = Vec::new();
        PackedType::VarBit(None).send(&bytes, &mut sent);
        prop_assert_eq!(PackedType::VarBit(None).receive(&sent).expect("bits"), bytes);
        let both = a.clone().concat(&b).expect("short");
        prop_assert_eq!(both.substring(1, Some(a.len as i64)).expect("the first"), a.clone());
        prop_assert_eq!(both.substring(a.len as i64 + 1, None).expect("the second"), b.clone());
        prop_assert!(b.len == 0 || both.position(&b) > 0);
        // Places that the text has.
        let shifted: String = (0..a.len as i64)
            .map(|at| usize::try_from(at + by).ok().and_then(|from| text.chars().nth(from)).unwrap_or('0'))
            .collect();
        prop_assert_eq!(written(PackedType::Bit(None), &a.shifted(by).encode()), shifted);
        prop_assert_eq!(a.not().not(), a);
    }

    #[test]
    fn integers_come_back(n in any::<i64>(), small in any::<i32>()) {
        prop_assert_eq!(Bits::of_integer(n, 64).to_integer(64), Some(n));
        prop_assert_eq!(Bits::of_integer(n, 70).resized(6).count_ones(), if n < 0 { 6 } else { 0 });
        prop_assert_eq!(Bits::of_integer(small.into(), 32).to_integer(32), Some(small.into()));
    }

    #[test]
    fn amounts_come_back_and_order(a in any::<i64>(), b in any::<i64>()) {
        let text = written(PackedType::Money, &money::encode(a));
        prop_assert_eq!(money::parse(&text).expect(&text), a);
        prop_assert_eq!(money::encode(a).cmp(&money::encode(b)), a.cmp(&b));
        prop_assert_eq!(money::decode(&money::encode(a)), Some(a));
    }
}

#[test]
fn lengths_are_cut_or_refused() {
    let bits = |text: &str| Bits::parse(text).expect(text);
    let three = PackedType::Bit(Some(3));
    let at_most = PackedType::VarBit(Some(3));
    let shown =
        |of: PackedType, text: &str| of.fitted(bits(text), true).map(|b| written(of, &b)).expect("fits");
    assert_eq!((shown(three, "1"), shown(three, "1011")), ("100".into(), "101".into()));
    assert_eq!((shown(at_most, "1"), shown(at_most, "1011")), ("1".into(), "101".into()));
    let refused =
        |of: PackedType, text: &str| of.fitted(bits(text), false).expect_err("is refused").sqlstate();
    assert_eq!(refused(three, "1"), SqlState::STRING_DATA_LENGTH_MISMATCH);
    assert_eq!(refused(at_most, "1011"), SqlState::STRING_DATA_RIGHT_TRUNCATION);
    assert!(three.is_value(&bits("101").encode()) && !three.is_value(&bits("10").encode()));
}

/// Bytes of times are in PostgreSQL's order: by the moment, then the one further east first.
#[test]
fn times_with_a_zone_are_ordered() {
    let ascending =
        ["12:00+15:59", "00:00+02", "23:00+01", "22:00+00", "21:00-01", "24:00+00", "12:00-15:59:59"];
    let mut last = Vec::new();
    for text in ascending {
        let bytes = PackedType::TimeTz(None).parse(text).expect(text);
        assert!(last < bytes, "{text}");
        last = bytes;
    }
    for (text, expected) in [
        ("1:2:3.4567+5", "01:02:03.4567+05"),
        ("24:00 utc", "24:00:00+00"),
        ("040506-0330", "04:05:06-03:30"),
        ("2020-07-01 12:00 Europe/Zurich", "12:00:00+02"),
        ("2020-01-01 12:00 Europe/Zurich", "12:00:00+01"),
        ("12:00", "12:00:00+00"),
    ] {
        let bytes = PackedType::TimeTz(None).parse(text).expect(text);
        let mut shown = Vec::new();
        PackedType::TimeTz(None).write(&bytes, &mut shown);
        assert_eq!(String::from_utf8_lossy(&shown), expected);
    }
    for wrong in ["12:00 Europe/Zurich", "12:00+16", "24:00:01+0", "2020-01-01", "infinity", "12:00+1+2"] {
        assert!(PackedType::TimeTz(None).parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn paths_and_times_go_over_the_wire() {
    for (ty, text) in [
        (PackedType::TimeTz(None), "23:59:59.999999-15:59"),
        (PackedType::TimeTz(Some(3)), "12:00:00.123+05:30"),
        (PackedType::JsonPath, "strict $.a[*] ? (@ > 1).b"),
    ] {
        let bytes = ty.parse(text).expect(text);
        assert!(ty.is_value(&bytes));
        let mut wire = Vec::new();
        ty.send(&bytes, &mut wire);
        assert_eq!(ty.receive(&wire), Ok(bytes), "{text}");
        assert!(ty.receive(&wire[..wire.len() - 1]).is_err() || ty == PackedType::JsonPath);
        assert!(ty.receive(&[]).is_err());
    }
    assert!(PackedType::JsonPath.receive(b"\x02$").is_err());
}

/// A text of full-text search as it is printed again.
fn again(of: PackedType, text: &str) -> String {
    let value = of.parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    assert!(of.is_value(&value), "{text}");
    let mut sent = Vec::new();
    of.send(&value, &mut sent);
    assert_eq!(of.receive(&sent).unwrap(), value, "{text}");
    for cut in 0..value.len() {
        assert!(!of.is_value(&value[..cut]), "{text}: {cut}");
    }
    let mut out = Vec::new();
    of.write(&value, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn vectors_have_each_lexeme_once_and_are_ordered_by_size_first() {
    let vector = |text: &str| again(PackedType::TsVector, text);
    assert_eq!(vector("b:3,1 a 'it''s':2B b:1A"), "'a' 'b':1A,3 'it''s':2B");
    assert_eq!(vector(""), "");
    assert_eq!(vector("a:99999"), "'a':16383");
    let key = |text: &str| PackedType::TsVector.parse(text).unwrap();
    assert!(key("z") < key("a b"), "by size");
    assert!(key("a:2") < key("a:1"), "the greater position is less");
    assert!(key("a:1A") < key("a:1B"), "and so is the greater weight");
}

#[test]
fn queries_keep_their_form() {
    let query = |text: &str| again(PackedType::TsQuery, text);
    assert_eq!(query("a&b|!c"), "'a' & 'b' | !'c'");
    assert_eq!(query("a & (b | c:*AB)"), "'a' & ( 'b' | 'c':*AB )");
    assert_eq!(query("a <-> (b <2> c)"), "'a' <-> ( 'b' <2> 'c' )");
    assert_eq!(query("a <-> b <2> c"), "'a' <-> 'b' <2> 'c'");
    assert_eq!(query(""), "");
    let deep = "!".repeat(100_000) + "a";
    assert_eq!(
        PackedType::TsQuery.parse(&deep).unwrap_err().sqlstate(),
        crate::SqlState::PROGRAM_LIMIT_EXCEEDED
    );
}
