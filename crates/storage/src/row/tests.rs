use super::*;

fn layout() -> RowLayout {
    let spec = |ty, nullable| ColumnSpec { ty, nullable };
    RowLayout::new(&[
        spec(Type::Text, true),
        spec(Type::Int2, false),
        spec(Type::Int8, true),
        spec(Type::Numeric(Some((12, 2))), false),
        spec(Type::Numeric(None), true),
        spec(Type::Bool, true),
        spec(Type::Bytea, false),
        spec(Type::Uuid, false),
        spec(Type::Float8, false),
        spec(Type::Date, false),
        spec(Type::Char(9), true),
        spec(Type::Interval, true),
        spec(Type::OldInterval, true),
    ])
    .unwrap()
}

const YEAR: Interval = Interval { months: 12, days: -3, micros: i64::MIN };

fn row<'a>() -> Vec<Field<'a>> {
    vec![
        Field::Bytes(b"planaria"),
        Field::Int(-7),
        Field::Int(1 << 40),
        Field::Numeric(Numeric::from_parts(-12345, 2).unwrap()),
        Field::Numeric(Numeric::from_parts(15, 1).unwrap()),
        Field::Bool(true),
        Field::Bytes(&[0, 1, 2]),
        Field::Uuid([9; 16]),
        Field::Float(2.5),
        Field::Int(-400),
        Field::Null,
        Field::Interval(YEAR),
        Field::Interval(Interval::of_micros(-90_000_000_001)),
    ]
}

fn read<'a>(l: &RowLayout, image: &'a [u64]) -> Vec<Field<'a>> {
    l.columns().iter().map(|c| c.field(image)).collect()
}

#[test]
fn what_goes_in_comes_out() {
    let (l, mut image) = (layout(), Vec::new());
    l.encode(&row(), &mut image).unwrap();
    assert_eq!(read(&l, &image), row());
}

#[test]
fn a_record_s_words_are_read_and_changed_where_they_are() {
    let (l, mut image, mut expected) = (layout(), Vec::new(), Vec::new());
    l.encode(&row(), &mut image).unwrap();
    let record: Vec<AtomicU64> = image.iter().map(|w| AtomicU64::new(*w)).collect();
    let record = &record[..];
    for (column, value) in l.columns().iter().zip(row()) {
        assert_eq!(column.is_null(record), value == Field::Null);
        match value {
            Field::Bytes(bytes) => {
                let mut copy = vec![7];
                column.copy_bytes(record, &mut copy);
                assert_eq!(&copy[1..], bytes);
            }
            Field::Int(n) => assert_eq!(column.int(record), n),
            Field::Bool(b) => assert_eq!(column.bool(record), b),
            Field::Float(x) => assert_eq!(column.float(record), x),
            Field::Numeric(n) => assert_eq!(column.numeric(record), n),
            Field::Long(_) => unreachable!("none is among them"),
            Field::Uuid(u) => assert_eq!(column.uuid(record), u),
            Field::Interval(i) => assert_eq!(column.interval(record), i),
            Field::Null => {}
        }
    }
    let changes = [
        (1, Field::Int(i64::from(i16::MIN))),
        (2, Field::Null),
        (2, Field::Int(-1)),
        (3, Field::Numeric(Numeric::from_parts(5, 0).unwrap())),
        (4, Field::Null),
        (5, Field::Bool(false)),
        (7, Field::Uuid([0xff; 16])),
        (8, Field::Float(-0.0)),
        (9, Field::Int(i64::from(i32::MAX))),
        (11, Field::Null),
        (11, Field::Interval(Interval { months: i32::MIN, days: i32::MAX, micros: 1 })),
        (12, Field::Interval(Interval::of_micros(i64::MAX))),
    ];
    let mut values = row();
    for (id, field) in changes {
        match field {
            Field::Int(n) => l.column(ColumnId(id)).put_int(n, &mut InPlace(record)).unwrap(),
            field => l.column(ColumnId(id)).put(field, &mut InPlace(record)).unwrap(),
        }
        values[id as usize] = field;
        l.encode(&values, &mut expected).unwrap();
        let now: Vec<u64> = record.iter().map(|w| w.load(Ordering::Relaxed)).collect();
        assert_eq!(now, expected, "column {id}");
    }
    let too_large = l.column(ColumnId(1)).put_int(40_000, &mut InPlace(record)).unwrap_err();
    assert_eq!(too_large.sqlstate(), SqlState::NUMERIC_VALUE_OUT_OF_RANGE);
    for no_room in [YEAR, Interval { months: 0, days: i32::MAX, micros: 1 }] {
        let error = l.column(ColumnId(12)).put(Field::Interval(no_room), &mut InPlace(record)).unwrap_err();
        assert_eq!(error.sqlstate(), SqlState::INTERVAL_FIELD_OVERFLOW);
    }
}

#[test]
fn words_from_elsewhere_are_no_image_if_they_are_too_short() {
    let (l, mut image) = (layout(), Vec::new());
    l.encode(&row(), &mut image).unwrap();
    assert!(l.is_image(&image));
    for len in 0..image.len() {
        assert!(!l.is_image(&image[..len]), "{len} words of {}", image.len());
    }
}

#[test]
fn an_update_makes_the_image_that_encoding_anew_would() {
    let l = layout();
    let (mut old, mut new, mut expected) = (Vec::new(), Vec::new(), Vec::new());
    l.encode(&row(), &mut old).unwrap();
    let cases: &[&[(u32, Field)]] = &[
        &[(1, Field::Int(3)), (2, Field::Null)],
        &[(0, Field::Bytes(b"a much longer text than before"))],
        &[(0, Field::Null), (5, Field::Null)],
        &[(10, Field::Bytes(b"x")), (6, Field::Bytes(b"")), (9, Field::Int(1))],
        &[],
    ];
    for case in cases {
        let changes: Vec<_> = case.iter().map(|(c, f)| (ColumnId(*c), *f)).collect();
        l.encode_update(&old, &changes, &mut new).unwrap();
        let mut values = row();
        changes.iter().for_each(|(c, f)| values[c.index()] = *f);
        l.encode(&values, &mut expected).unwrap();
        assert_eq!(new, expected, "{case:?}");
        // Where all stays in its place, in place.
        let mut image = old.clone();
        if l.patch(&mut image, changes.len(), |i| changes[i].0, |i| changes[i].1).unwrap() {
            assert_eq!(image, expected, "{case:?}");
        } else {
            assert_eq!(image, old, "{case:?}");
        }
    }
}

#[test]
fn an_image_is_changed_where_it_is_if_lengths_stay() {
    let l = layout();
    let mut old = Vec::new();
    l.encode(&row(), &mut old).unwrap();
    let mut long = Vec::new();
    Long::parse("1e100").unwrap().encode(&mut long);
    let cases: &[(&[(u32, Field)], bool)] = &[
        (&[(1, Field::Int(3)), (2, Field::Null), (4, Field::Null)], true),
        (&[(0, Field::Bytes(b"PLANARIA")), (6, Field::Bytes(&[7; 3]))], true),
        (&[(10, Field::Null)], true),
        // An empty text is as long as none.
        (&[(10, Field::Bytes(b""))], true),
        (&[(0, Field::Bytes(b"planarian"))], false),
        (&[(0, Field::Null)], false),
        (&[(1, Field::Int(3)), (6, Field::Bytes(&[]))], false),
        (&[(4, Field::Long(&long))], false),
    ];
    for (case, in_place) in cases {
        let (mut image, mut expected) = (old.clone(), Vec::new());
        let changed = l.patch(&mut image, case.len(), |i| ColumnId(case[i].0), |i| case[i].1).unwrap();
        assert_eq!(changed, *in_place, "{case:?}");
        let mut values = row();
        case.iter().filter(|_| changed).for_each(|(c, f)| values[*c as usize] = *f);
        l.encode(&values, &mut expected).unwrap();
        assert_eq!(image, expected, "{case:?}");
    }
    let mut image = old.clone();
    let too_large = l.patch(&mut image, 1, |_| ColumnId(1), |_| Field::Int(40_000)).unwrap_err();
    assert_eq!(too_large.sqlstate(), SqlState::NUMERIC_VALUE_OUT_OF_RANGE);
}

#[test]
fn a_part_has_what_is_wanted_of_it() {
    let l = layout();
    let (text, mut values, mut image) = ("a text of several lines ".repeat(20), row(), Vec::new());
    values[0] = Field::Bytes(text.as_bytes());
    values[6] = Field::Bytes(&[5; 700]);
    values[10] = Field::Bytes(b"behind all");
    l.encode(&values, &mut image).unwrap();
    let record: Vec<AtomicU64> = image.iter().map(|w| AtomicU64::new(*w)).collect();
    let noise = vec![u64::MAX; image.len()];
    for wanted in [&[][..], &[0], &[6], &[10], &[6, 10, 6], &[0, 3, 10]] {
        let part = l.part(wanted.iter().map(|c| ColumnId(*c))).expect("something is left out");
        let mut copy = noise.clone();
        assert!(part.copy(&record, &mut copy));
        for (id, value) in values.iter().enumerate() {
            let column = l.column(ColumnId(id as u32));
            if column.kind() != ColumnKind::Bytes || wanted.contains(&(id as u32)) {
                assert_eq!(column.field(&copy), *value, "column {id} of {wanted:?}");
            }
        }
        assert!(copy.iter().filter(|w| **w == u64::MAX).count() > 50, "{wanted:?}");
    }
    // All of them, and what may have bytes elsewhere.
    assert_eq!(l.part([0, 6, 10].map(ColumnId)), None);
    assert_eq!(l.part([ColumnId(4)]), None);
    // A short one is copied whole by others.
    let (part, mut short) = (l.part([ColumnId(0)]).unwrap(), Vec::new());
    l.encode(&row(), &mut short).unwrap();
    let record: Vec<AtomicU64> = short.iter().map(|w| AtomicU64::new(*w)).collect();
    assert!(!part.copy(&record, &mut vec![0; short.len()]));
}

/// Whoever changes the record meanwhile may leave any offsets behind.
#[test]
fn a_torn_part_stays_within_the_image() {
    let l = layout();
    let part = l.part([ColumnId(0), ColumnId(10)]).unwrap();
    let words = l.fixed_bytes().div_ceil(8) + 20;
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..2_000 {
        let record: Vec<AtomicU64> = (0..words)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                AtomicU64::new(if state.is_multiple_of(3) { state % 400 } else { state })
            })
            .collect();
        assert!(part.copy(&record, &mut vec![0; words]));
    }
}

#[test]
fn a_row_of_integers_has_no_overhead() {
    let int8 = ColumnSpec { ty: Type::Int8, nullable: false };
    let l = RowLayout::new(&[int8.clone(), int8]).unwrap();
    let mut image = Vec::new();
    l.encode(&[Field::Int(1), Field::Int(-1)], &mut image).unwrap();
    assert_eq!(image, [1, u64::MAX]);
    assert!(l.is_fixed_length());
}

#[test]
fn what_does_not_fit_is_an_error() {
    let l = layout();
    let mut values = row();
    values[1] = Field::Int(40_000);
    assert_eq!(
        l.encode(&values, &mut Vec::new()).unwrap_err().sqlstate(),
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE
    );
    for ty in [Type::Void, Type::Array(Box::new(Type::Unknown))] {
        let pseudo = ColumnSpec { ty, nullable: true };
        assert_eq!(RowLayout::new(&[pseudo]).unwrap_err().sqlstate(), SqlState::FEATURE_NOT_SUPPORTED);
    }
}

#[test]
fn decimals_are_rescaled_exactly_or_not_at_all() {
    let n = |m, s| Numeric::from_parts(m, s).unwrap();
    assert_eq!(at_scale(n(15, 1), 2), Some(150));
    assert_eq!(at_scale(n(150, 2), 1), Some(15));
    assert_eq!(at_scale(n(151, 2), 1), None);
    assert_eq!(at_scale(n(0, 200), 1), Some(0));
    assert_eq!(at_scale(n(1, 0), 19), None);
}

#[test]
fn a_column_of_arrays_holds_any_bytes() {
    let specs = [Type::Text, Type::Array(Box::new(Type::Int8)), Type::Jsonb];
    let layout = RowLayout::new(&specs.map(|ty| ColumnSpec { ty, nullable: false })).unwrap();
    let mut image = Vec::new();
    let bytes = |array, text| [Field::Bytes(b"a"), Field::Bytes(array), Field::Bytes(text)];
    layout.encode(&bytes(&[0x0a, 1, 0xc8, 1], b"{}"), &mut image).unwrap();
    assert!(layout.is_image(&image));
    image.clear();
    layout.encode(&bytes(&[], &[0xc8]), &mut image).unwrap();
    assert!(!layout.is_image(&image), "jsonb is a text");
}

#[test]
fn long_numerics_are_behind_all_else() {
    let spec = |ty| ColumnSpec { ty, nullable: true };
    let types = [Type::Numeric(None), Type::Text, Type::Numeric(Some((8, 2))), Type::Numeric(None)];
    let l = RowLayout::new(&types.map(spec)).unwrap();
    let [mut big, mut tiny] = [Vec::new(), Vec::new()];
    Long::parse("-1e60").unwrap().encode(&mut big);
    Long::parse("1e-300").unwrap().encode(&mut tiny);
    let (mut image, mut other) = (Vec::new(), Vec::new());
    let five = Field::Numeric(Numeric::from_i64(5));
    let nan = Field::Long(Long::NAN_BYTES);
    let row = [Field::Long(&big), Field::Bytes(b"text"), nan, Field::Long(&tiny)];
    l.encode(&row, &mut image).unwrap();
    assert!(l.is_image(&image) && l.has_long(&image[..]));
    let fields = |image: &[u64]| -> Vec<String> {
        (0..4u32).map(|i| format!("{:?}", l.field(image, ColumnId(i)))).collect()
    };
    assert_eq!(fields(&image), row.map(|f| format!("{f:?}")));
    // However a row came about, its image is the same.
    l.encode_update(&image, &[(ColumnId(0), five), (ColumnId(1), Field::Null)], &mut other).unwrap();
    let (mut made, updated) = (Vec::new(), [five, Field::Null, nan, Field::Long(&tiny)]);
    l.encode(&updated, &mut made).unwrap();
    assert_eq!(other, made);
    l.encode_update(&other.clone(), &[(ColumnId(3), nan)], &mut other).unwrap();
    l.encode(&[five, Field::Null, nan, nan], &mut made).unwrap();
    assert_eq!(other, made);
    assert!(l.is_image(&made) && !l.has_long(&made[..]));
    l.encode_update(&made, &[(ColumnId(0), Field::Long(&big))], &mut other).unwrap();
    l.encode(&[Field::Long(&big), Field::Null, nan, nan], &mut made).unwrap();
    assert_eq!(other, made);
    // Bytes that are no image are refused.
    let mut cut = image.clone();
    cut.truncate(l.fixed_words());
    assert!(!l.is_image(&cut));
}

#[test]
fn packed_numerics_are_put_as_others_are() {
    let spec = |ty| ColumnSpec { ty, nullable: true };
    let l = RowLayout::new(&[spec(Type::Numeric(Some((12, 2)))), spec(Type::Numeric(None))]).unwrap();
    let numbers = [(0, 0), (7, 2), (-1234, 2), (5, 0), (50, 1), (1234, 3), (5000, 3)]
        .map(|(mantissa, scale)| (i128::from(mantissa), scale))
        .into_iter()
        .chain([(i128::from(i64::MIN), 2), (i128::from(i64::MAX), 2), (i128::from(i64::MAX) + 1, 2)]);
    for (mantissa, scale) in numbers {
        let n = Numeric::from_parts(mantissa, scale).unwrap();
        for column in l.columns() {
            // From a row of NULLs: what is put is none.
            let mut one = Vec::new();
            l.encode(&[Field::Null, Field::Null], &mut one).unwrap();
            let mut other = one.clone();
            let done = column.put_numeric(n.pack(), &mut one[..]).map_err(|e| e.sqlstate());
            assert_eq!(
                done,
                column.put(Field::Numeric(n), &mut other[..]).map_err(|e| e.sqlstate()),
                "{n:?}"
            );
            if done.is_ok() {
                assert_eq!(one, other, "{n:?} in {column:?}");
                assert!(!column.is_null(&one[..]), "{n:?}");
            }
        }
    }
}
