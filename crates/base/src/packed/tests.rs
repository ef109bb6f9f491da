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
    assert!(of("1.1.1.1").minus(i64::MIN).is_err());
    assert_eq!(of("ffff::").minus(i64::MIN).map(text).expect("is one"), "ffff::8000:0:0:0");
    assert!(of("ffff::").distance(&of("::")).is_err());
    assert_eq!(of("10.0.0.0").distance(&of("10.0.1.0")).expect("is a number"), -256);
}
