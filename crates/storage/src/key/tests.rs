use super::*;
use crate::row::ColumnSpec;
use planaria_base::numeric::Number;
use planaria_base::{Datum, Type};

struct Fixture {
    layout: RowLayout,
    codec: KeyCodec,
}

fn fixture(types: &[(Type, bool)], columns: &[u32], unique: bool) -> Fixture {
    let specs: Vec<_> =
        types.iter().map(|(ty, nullable)| ColumnSpec { ty: ty.clone(), nullable: *nullable }).collect();
    let layout = RowLayout::new(&specs).unwrap();
    let columns: Vec<_> = columns.iter().map(|c| ColumnId(*c)).collect();
    let codec =
        KeyCodec::new(&layout, &IndexSpec { columns, unique, equal_nulls: false }, &[ColumnId(0)]).unwrap();
    Fixture { layout, codec }
}

impl Fixture {
    fn key(&self, fields: &[Field]) -> KeyBuf {
        let (mut image, mut key) = (Vec::new(), KeyBuf::new());
        self.layout.encode(fields, &mut image).unwrap();
        self.codec.encode_row(&image, &mut key).unwrap();
        key
    }
    fn range(
        &self,
        prefix: &[Field],
        lower: Option<(Field, bool)>,
        upper: Option<(Field, bool)>,
    ) -> KeyRange {
        let mut range = KeyRange::all();
        let bound = |b: Option<(_, _)>| b.map(|(value, inclusive)| KeyBound { value, inclusive });
        self.codec.range(prefix, bound(lower), bound(upper), &mut range);
        range
    }
}

fn num(mantissa: i128, scale: u8) -> Field<'static> {
    Field::Numeric(Numeric::from_parts(mantissa, scale).unwrap())
}

/// A key says the value again.
fn decodes(f: &Fixture, value: Field, key: &KeyBuf) {
    let bytes: Vec<u8> = key.words().iter().flat_map(|w| w.to_be_bytes()).collect();
    let bytes = &bytes[..key.len_bytes()];
    let decoded = f.codec.decode(bytes).unwrap().remove(0);
    let same = match (&decoded, value) {
        (Datum::Null, Field::Null) => true,
        (Datum::Bool(a), Field::Bool(b)) => *a == b,
        (Datum::Int(a), Field::Int(b)) => *a == b,
        (Datum::Float(a), Field::Float(b)) => *a == b || a.is_nan() && b.is_nan(),
        (Datum::Numeric(a), Field::Numeric(b)) => a.compare(b).is_eq(),
        (Datum::Long(a), Field::Long(b)) => a.compare(&Long::from_bytes(b)).is_eq(),
        (Datum::Bytea(a), Field::Bytes(b)) => a == b,
        (Datum::Uuid(a), Field::Uuid(b)) => *a == b,
        (Datum::Interval(a), Field::Interval(b)) => a.compare(b).is_eq(),
        _ => false,
    };
    assert!(same, "{value:?} became {decoded:?}");
    assert_eq!(f.codec.decode(&[]), None, "no key");
}

/// Values of one nullable column in ascending order, NULL last: keys ascend strictly, and ranges
/// contain exactly what comparing positions says.
fn ordered(ty: Type, values: &[Field]) {
    let f = fixture(&[(Type::Int4, false), (ty, true)], &[1], false);
    let keys: Vec<_> = values.iter().map(|v| f.key(&[Field::Int(1), *v])).collect();
    for pair in keys.windows(2) {
        assert!(pair[0].words() < pair[1].words(), "{pair:?}");
    }
    for (value, key) in values.iter().zip(&keys) {
        decodes(&f, *value, key);
    }
    let null = f.key(&[Field::Int(1), Field::Null]);
    decodes(&f, Field::Null, &null);
    assert!(keys.iter().all(|k| k.words() < null.words()));
    let all = f.range(&[], None, None);
    assert!(all.contains(null.words()));
    for (i, low) in values.iter().enumerate() {
        let mut probe = KeyBuf::new();
        assert!(f.codec.encode_key(&[*low], &mut probe));
        assert!(keys[i].words().starts_with(&probe.words()[..probe.len_bytes() / 8]));
        for (j, high) in values.iter().enumerate() {
            for (li, hi) in [(true, true), (true, false), (false, true), (false, false)] {
                let range = f.range(&[], Some((*low, li)), Some((*high, hi)));
                let from = f.range(&[], Some((*low, li)), None);
                let to = f.range(&[], None, Some((*high, hi)));
                for (k, key) in keys.iter().enumerate() {
                    let above = if li { k >= i } else { k > i };
                    let below = if hi { k <= j } else { k < j };
                    assert_eq!(range.contains(key.words()), above && below, "{low:?} {high:?} {k}");
                    assert_eq!(from.contains(key.words()), above);
                    assert_eq!(to.contains(key.words()), below);
                }
                assert!(!range.contains(null.words()) && !from.contains(null.words()));
                assert!(!to.contains(null.words()));
            }
        }
    }
}

#[test]
fn numerics_of_any_length_are_in_order() {
    let texts = [
        "-Infinity",
        "-1e40000",
        "-1234567890123456789012345678901234567",
        "-12345678901234567890123456789012345.01",
        "-12345678901234567890123456789012345",
        "-12345678901234567890123456789012344.99",
        "-1e-250",
        "-1e-5000",
        "0",
        "1e-5000",
        "1.5e-5000",
        "9.99e-251",
        "1e-250",
        "1e-100",
        "1",
        "12345678901234567890123456789012344.99",
        "12345678901234567890123456789012345",
        "12345678901234567890123456789012345.01",
        "600000000000000000000000000000000001",
        "600000000000000000000000000000000001.5",
        "600000000000000000000000000000000002",
        "1e100",
        "1.0000000000000000000000000000000000000000000001e100",
        "1e40000",
        "Infinity",
        "NaN",
    ];
    let numbers = texts.map(|text| Number::parse(text).unwrap());
    let bytes = numbers.each_ref().map(|n| {
        let mut bytes = Vec::new();
        Long::from(n.clone()).encode(&mut bytes);
        bytes
    });
    let fields: Vec<_> = numbers
        .iter()
        .zip(&bytes)
        .map(|(n, bytes)| match n {
            Number::Short(n) => Field::Numeric(*n),
            Number::Long(_) => Field::Long(bytes),
        })
        .collect();
    ordered(Type::Numeric(None), &fields);
    let nan = Field::Long(Long::NAN_BYTES);
    ordered(Type::Numeric(Some((8, 2))), &[num(-500, 2), num(0, 2), num(99_999_999, 2), nan]);
    // What has nothing but zeros too many is the same key.
    let f = fixture(&[(Type::Numeric(None), false)], &[0], true);
    let mut zeros = Vec::new();
    Long::parse(&format!("7.{}", "0".repeat(300))).unwrap().encode(&mut zeros);
    assert_eq!(f.key(&[Field::Long(&zeros)]).words(), f.key(&[num(7, 0)]).words());
    // A bound far out of a column of eight bytes is below NaN.
    let f = fixture(&[(Type::Numeric(Some((8, 2))), false)], &[0], true);
    let key = f.key(&[nan]);
    let mut far = Vec::new();
    Long::parse("1e60").unwrap().encode(&mut far);
    let infinity = Field::Long(Long::special_bytes(3));
    for bound in [num(10i128.pow(30), 0), Field::Long(&far), infinity] {
        assert!(f.range(&[], Some((bound, true)), None).contains(key.words()));
        assert!(!f.range(&[], None, Some((bound, true))).contains(key.words()));
    }
}

#[test]
fn keys_and_ranges_follow_the_order_of_values() {
    ordered(Type::Int2, &[-32768, -1, 0, 1, 300, 32767].map(Field::Int));
    ordered(Type::Int4, &[i64::from(i32::MIN), -1, 0, 1, i64::from(i32::MAX)].map(Field::Int));
    ordered(Type::Int8, &[i64::MIN, -256, -1, 0, 255, 256, i64::MAX].map(Field::Int));
    ordered(Type::Bool, &[false, true].map(Field::Bool));
    ordered(Type::Numeric(Some((12, 2))), &[num(-500, 2), num(-1, 2), num(0, 2), num(150, 2)]);
    let wide = [
        num(-(1 << 118), 0),
        num(-15, 0),
        num(-2, 0),
        num(-15, 1),
        num(-1, 200),
        num(0, 3),
        num(1, 200),
        num(10, 1),
        num(11, 1),
        num(2, 0),
        num(15, 0),
        num(1 << 118, 0),
    ];
    ordered(Type::Numeric(None), &wide);
    let floats = [f64::NEG_INFINITY, -1.5, -1e-300, 0.0, 1e-300, 2.0, f64::INFINITY, f64::NAN];
    ordered(Type::Float8, &floats.map(Field::Float));
    let texts: [&[u8]; 9] =
        [b"", b"\0", b"\0\0", b"\x01", b"a", b"a\0", b"a\x01b", b"abcdefgh", b"abcdefgh\xff"];
    ordered(Type::Bytea, &texts.map(Field::Bytes));
    let interval = |months, days, micros| Field::Interval(Interval { months, days, micros });
    let intervals = [
        interval(i32::MIN, 0, i64::MIN),
        interval(-1, 29, 0),
        interval(0, 0, -1),
        interval(0, 0, 0),
        interval(0, 1, 0),
        interval(0, 0, 86_400_000_001),
        interval(0, 30, -1),
        interval(1, 0, 0),
        interval(1, -1, i64::MAX),
        interval(i32::MAX, -40, 0),
    ];
    ordered(Type::Interval, &intervals);
    let old = [i64::MIN, -86_400_000_000, -1, 0, 1, 86_400_000_000, i64::MAX];
    ordered(Type::OldInterval, &old.map(|micros| Field::Interval(Interval::of_micros(micros))));
    ordered(Type::Uuid, &[[0; 16], [1; 16], [255; 16]].map(Field::Uuid));
}

#[test]
fn equal_numerics_of_different_scale_have_one_key() {
    let f = fixture(&[(Type::Int4, false), (Type::Numeric(None), false)], &[1], true);
    assert_eq!(f.key(&[Field::Int(1), num(15, 1)]), f.key(&[Field::Int(1), num(1500, 3)]));
    let (mut a, mut b) = (KeyBuf::new(), KeyBuf::new());
    push_equal(f.layout.column(ColumnId(1)), num(2, 0), &mut a);
    push_equal(f.layout.column(ColumnId(1)), Field::Int(2), &mut b);
    assert_eq!(a, b);
}

#[test]
fn search_values_outside_the_column_match_nothing_or_move_inside() {
    let f = fixture(&[(Type::Int4, false), (Type::Int2, false)], &[1], true);
    let key = |v| f.key(&[Field::Int(1), Field::Int(v)]);
    assert!(!f.codec.encode_key(&[Field::Int(40_000)], &mut KeyBuf::new()));
    assert!(!f.codec.encode_key(&[num(15, 1)], &mut KeyBuf::new()));
    assert!(f.codec.encode_key(&[num(20, 1)], &mut KeyBuf::new()));
    assert!(
        f.range(&[], Some((Field::Int(-40_000), false)), Some((num(15, 1), true))).contains(key(1).words())
    );
    assert!(!f.range(&[], None, Some((num(15, 1), true))).contains(key(2).words()));
    assert!(f.range(&[], Some((num(15, 1), true)), None).contains(key(2).words()));
    assert!(!f.range(&[], Some((num(-15, 1), true)), None).contains(key(-2).words()));
    assert!(f.range(&[], Some((num(-15, 1), true)), None).contains(key(-1).words()));
    assert!(f.range(&[], None, Some((Field::Int(40_000), false))).contains(key(32767).words()));
    assert!(f.range(&[], Some((Field::Int(40_000), false)), None).is_empty());
    assert!(f.range(&[], None, Some((Field::Int(-40_000), false))).is_empty());
    assert!(f.range(&[], Some((num(1 << 118, 0), true)), None).is_empty());
    assert!(f.range(&[], Some((Field::Null, true)), None).is_empty());
    assert!(f.range(&[Field::Null], None, None).is_empty());
    assert!(f.range(&[], Some((num(-(1 << 118), 200), true)), None).contains(key(0).words()));
    assert!(!f.range(&[], Some((num(1, 200), true)), None).contains(key(0).words()));
}

#[test]
fn unique_indexes_keep_nulls_apart_and_others_append_the_primary_key() {
    let types = [(Type::Int4, false), (Type::Text, true)];
    let (u, n) = (fixture(&types, &[1], true), fixture(&types, &[1], false));
    let row = |id, text| [Field::Int(id), text];
    let a = Field::Bytes(b"a");
    assert_eq!(u.key(&row(1, a)), u.key(&row(2, a)));
    assert_ne!(u.key(&row(1, Field::Null)), u.key(&row(2, Field::Null)));
    assert_ne!(n.key(&row(1, a)), n.key(&row(2, a)));
    let range = n.range(&[a], None, None);
    assert!(range.contains(n.key(&row(1, a)).words()) && range.contains(n.key(&row(2, a)).words()));
    assert!(!range.contains(n.key(&row(1, Field::Bytes(b"aa"))).words()));
}

#[test]
fn long_keys_spill_and_too_long_ones_are_refused() {
    let f = fixture(&[(Type::Int4, false), (Type::Text, false)], &[1], true);
    let long = vec![b'x'; 1000];
    let key = f.key(&[Field::Int(1), Field::Bytes(&long)]);
    assert_eq!(key.len_bytes(), 1001);
    assert_eq!(KeyBuf::from_words(key.words()).words(), key.words());
    let range = f.range(&[Field::Bytes(&long)], None, None);
    assert!(range.contains(key.words()));
    let huge = vec![b'x'; INDEX_KEY_BYTES_MAX];
    let (mut image, mut key) = (Vec::new(), KeyBuf::new());
    f.layout.encode(&[Field::Int(1), Field::Bytes(&huge)], &mut image).unwrap();
    assert_eq!(f.codec.encode_row(&image, &mut key), Err(KeyTooLong));
    assert!(!f.codec.encode_key(&[Field::Bytes(&huge)], &mut KeyBuf::new()));
    let below = f.range(&[], None, Some((Field::Bytes(&huge), true)));
    assert!(below.contains(f.key(&[Field::Int(1), Field::Bytes(&long)]).words()));
}

/// Words at once are the same as byte after byte, wherever a byte to escape stands.
#[test]
fn texts_of_every_length_are_escaped_alike() {
    for len in 0..20 {
        for (at, byte) in (0..=len).flat_map(|at| [(at, 0), (at, 1), (at, 2), (at, 0xff)]) {
            let mut text: Vec<u8> = (0..len).map(|i| b'a' + i as u8).collect();
            if let Some(place) = text.get_mut(at) {
                *place = byte;
            }
            let mut expected: Vec<u8> = Vec::new();
            for byte in &text {
                match byte {
                    0 => expected.extend([1, 1]),
                    1 => expected.extend([1, 2]),
                    other => expected.push(*other),
                }
            }
            expected.push(0);
            // Behind nothing, and behind something that does not end with a word.
            for prefix in [0, 3] {
                let mut key = KeyBuf::new();
                (0..prefix).for_each(|_| key.push(7, 1));
                push_escaped(&text, &mut key);
                let whole: Vec<u8> = std::iter::repeat_n(7, prefix).chain(expected.iter().copied()).collect();
                assert_eq!(key.bytes().collect::<Vec<_>>(), whole, "{text:?}");
            }
        }
    }
}
