//! Records of any content come back as they were; bytes of any content are refused without panic.

use crate::effect::{Effect, Patch};
use crate::record::{self, Call, Keeping, RawRecord, Record, RecordBody};
use planaria_base::shape::{Dimension, Shape};
use planaria_base::{CommitTs, Datum, Epoch, Numeric, ProcedureId, SequenceId, SequencePlace, TableId};
use proptest::prelude::*;

fn datum() -> impl Strategy<Value = Datum> {
    let leaf = prop_oneof![
        Just(Datum::Null),
        any::<bool>().prop_map(Datum::Bool),
        any::<i64>().prop_map(Datum::Int),
        (-300i64..300).prop_map(Datum::Int),
        any::<u64>().prop_map(|bits| Datum::Float(f64::from_bits(bits))),
        (any::<i128>(), 0u8..=200)
            .prop_map(|(m, s)| Datum::Numeric(Numeric::from_parts(m >> 9, s).unwrap_or(Numeric::ZERO))),
        ".{0,40}".prop_map(Datum::Text),
        prop::collection::vec(any::<u8>(), 0..200).prop_map(Datum::Bytea),
        any::<[u8; 16]>().prop_map(Datum::Uuid),
    ];
    leaf.prop_recursive(3, 30, 8, |inner| {
        (prop::collection::vec(inner, 0..8), any::<i16>()).prop_map(|(items, lower)| {
            let dimension = Dimension { lower: lower.into(), len: items.len() as u32 };
            let one = Dimension { lower: 3, len: 1 };
            let dimensions = if lower % 2 == 0 { vec![dimension] } else { vec![one, dimension] };
            let shape = if lower > 0 { None } else { Shape::new(&dimensions).expect("small") };
            Datum::array(shape, items)
        })
    })
}

fn effect() -> impl Strategy<Value = Effect> {
    let table = || any::<u32>().prop_map(TableId);
    let word = || prop_oneof![any::<u64>(), 0u64..1000, Just(0), any::<u64>().prop_map(|w| w >> 24)];
    let row = move || prop::collection::vec(word(), 0..40);
    let bytes = || prop::collection::vec(any::<u8>(), 0..300);
    prop_oneof![
        (table(), row()).prop_map(|(table, row)| Effect::Insert { table, row }),
        (table(), row()).prop_map(|(table, row)| Effect::Update { table, row }),
        (table(), bytes()).prop_map(|(table, key)| Effect::Delete { table, key }),
        (table(), word(), row()).prop_map(|(table, new, row)| Effect::PhysicalInsert { table, new, row }),
        (table(), word(), word(), row()).prop_map(|(table, old, new, row)| Effect::PhysicalUpdate {
            table,
            old,
            new,
            row
        }),
        (table(), word(), bytes()).prop_map(|(table, old, key)| Effect::PhysicalDelete { table, old, key }),
        (table(), bytes(), row(), row(), any::<bool>()).prop_map(|(table, key, old, mut new, alike)| {
            if alike {
                new.truncate(3);
                new.extend(old.iter().skip(new.len()));
            }
            Effect::Patch { table, key, patch: Patch::between(&old, &new) }
        }),
        (table(), bytes(), row()).prop_map(|(table, key, row)| Effect::DeleteRow { table, key, row }),
        (any::<u32>(), 0..=SequencePlace::GENERATION_MAX, any::<i64>(), any::<bool>()).prop_map(
            |(s, generation, value, called)| Effect::Sequence {
                sequence: SequenceId(s),
                place: SequencePlace { generation, value, called },
            }
        ),
        table().prop_map(|table| Effect::Truncate { table }),
        bytes().prop_map(Effect::Schema),
        Just(Effect::Part),
        (table(), bytes()).prop_map(|(table, values)| Effect::Computed { table, values }),
    ]
}

fn record() -> impl Strategy<Value = Record> {
    let values = || prop::collection::vec(datum(), 0..10);
    let call = (any::<u32>(), values(), values(), any::<bool>()).prop_map(|(p, args, inputs, keeping)| {
        RecordBody::Call(Call { procedure: ProcedureId(p), args, inputs, keeping: keeping.into() })
    });
    let effects = prop::collection::vec(effect(), 0..10).prop_map(RecordBody::Effects);
    (0u32..1 << 24, prop_oneof![call, effects])
        .prop_map(|(seq, body)| Record { commit_ts: CommitTs::new(Epoch(9), seq), body })
}

fn put(buf: &mut Vec<u8>, record: &Record) {
    let sequence = record.commit_ts.sequence();
    match &record.body {
        RecordBody::Call(call) => {
            let (args, inputs) = (call.args.len(), call.inputs.len());
            record::put_call(buf, sequence, call.procedure, args, inputs, call.keeping == Keeping::Yes, |v| {
                call.args.iter().chain(&call.inputs).for_each(|d| v.datum(d))
            })
        }
        RecordBody::Effects(effects) => record::put_effects(buf, sequence, |w| {
            for effect in effects {
                match effect {
                    Effect::Insert { table, row } => w.insert(*table, row),
                    Effect::Update { table, row } => w.update(*table, row),
                    Effect::Delete { table, key } => w.delete(*table, key),
                    Effect::PhysicalInsert { table, new, row } => w.physical_insert(*table, *new, row),
                    Effect::PhysicalUpdate { table, old, new, row } => {
                        w.physical_update(*table, *old, *new, row)
                    }
                    Effect::PhysicalDelete { table, old, key } => w.physical_delete(*table, *old, key),
                    Effect::Patch { table, key, patch } => w.put_patch(*table, key, patch),
                    Effect::DeleteRow { table, key, row } => w.delete_row(*table, key, row),
                    Effect::Sequence { sequence, place } => w.sequence(*sequence, *place),
                    Effect::Truncate { table } => w.truncate(*table),
                    Effect::Schema(change) => w.schema(change),
                    Effect::Part => w.part(),
                    Effect::Computed { table, values } => w.computed(*table, values),
                }
            }
        }),
    }
}

/// NaN is not equal to itself: compare how values print.
fn same(a: &Record, b: &Record) -> bool {
    format!("{a:?}") == format!("{b:?}")
}

proptest! {
    #[test]
    fn records_round_trip(records in prop::collection::vec(record(), 0..6)) {
        let mut buf = Vec::new();
        records.iter().for_each(|r| put(&mut buf, r));
        let mut rest = &buf[..];
        for record in &records {
            let raw = RawRecord::take(&mut rest, Epoch(9)).unwrap();
            prop_assert!(same(&raw.decode().unwrap(), record));
        }
        prop_assert!(rest.is_empty());
    }

    #[test]
    fn any_bytes_decode_or_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut rest = &bytes[..];
        while let Some(raw) = RawRecord::take(&mut rest, Epoch(9)) {
            let _ = raw.decode();
        }
    }

    #[test]
    fn a_changed_byte_does_not_panic(record in record(), at in any::<prop::sample::Index>(), xor in 1u8..) {
        let mut buf = Vec::new();
        put(&mut buf, &record);
        let at = at.index(buf.len());
        buf[at] ^= xor;
        if let Some(raw) = RawRecord::take(&mut &buf[..], Epoch(9)) {
            let _ = raw.decode();
        }
    }
}

/// A TPC-C NewOrder call with ten order lines: what the log costs where it costs most.
#[test]
fn a_new_order_call_is_small() {
    let mut buf = Vec::new();
    record::put_call(&mut buf, 1234, ProcedureId(2), 8, 1, false, |v| {
        v.int(3);
        v.int(7);
        v.int(1971);
        v.int(10);
        v.ints((0..10i32).map(|i| 9_137 * (i as i64 + 1)));
        v.ints((0..10i32).map(|_| 3));
        v.ints((0..10i32).map(|i| i as i64 % 10 + 1));
        v.bool(true);
        v.int(845_000_000_000_000);
    });
    assert_eq!(buf.len(), 79);
}
