//! Records summed up.

use super::entry::{ChangeKind, Names};
use planaria_base::Result;
use planaria_log::RawRecord;
use serde::Serialize;
use std::collections::BTreeMap;

/// Records summed up.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Records.
    pub records: u64,
    /// Bytes they take.
    pub bytes: u64,
    /// By what is in them.
    pub kinds: Vec<KindTotal>,
    /// Calls, by procedure.
    pub procedures: Vec<ProcedureTotal>,
    /// Effects, by table (or sequence) and kind.
    pub changes: Vec<ChangeTotal>,
}

/// Records of one kind: `call`, `schema`, or after the form of the rows in them `logical`, `physical`
/// and `physiological`. (A record with nothing but inserted rows is the same in the logical and the
/// physiological form, and counts as logical.)
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KindTotal {
    /// Kind.
    pub kind: &'static str,
    /// Records.
    pub records: u64,
    /// Bytes they take.
    pub bytes: u64,
}

/// Calls of one procedure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProcedureTotal {
    /// Name.
    pub procedure: String,
    /// Calls.
    pub calls: u64,
    /// Bytes they take.
    pub bytes: u64,
}

/// Effects of one kind on one table or sequence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangeTotal {
    /// The table or sequence; empty for changes of the schema.
    pub object: String,
    /// Kind.
    pub kind: ChangeKind,
    /// How many.
    pub count: u64,
    /// Bytes they take.
    pub bytes: u64,
}

#[derive(Default)]
pub(super) struct Tally {
    records: u64,
    bytes: u64,
    kinds: BTreeMap<&'static str, (u64, u64)>,
    procedures: BTreeMap<String, (u64, u64)>,
    changes: BTreeMap<(String, ChangeKind), (u64, u64)>,
}

fn add<K: Ord>(map: &mut BTreeMap<K, (u64, u64)>, key: K, bytes: usize) {
    let (count, sum) = map.entry(key).or_default();
    (*count, *sum) = (*count + 1, *sum + bytes as u64);
}

impl Tally {
    pub(super) fn add(&mut self, record: &RawRecord<'_>, names: &mut Names) -> Result<()> {
        self.records += 1;
        self.bytes += record.size() as u64;
        let kind = match record.call() {
            Some((procedure, ..)) => {
                add(&mut self.procedures, names.procedure(procedure), record.size());
                "call"
            }
            None => {
                let mut kind = "logical";
                names.for_each_effect(record, &mut |names, effect, bytes| {
                    let change = ChangeKind::of(effect);
                    kind = change.record_kind().unwrap_or(kind);
                    add(&mut self.changes, (names.object(effect), change), bytes);
                    Ok(())
                })?;
                kind
            }
        };
        add(&mut self.kinds, kind, record.size());
        Ok(())
    }

    pub(super) fn finish(self) -> Summary {
        let kinds = self.kinds.into_iter().map(|(kind, (records, bytes))| KindTotal { kind, records, bytes });
        let procedures = self.procedures.into_iter().map(|(procedure, (calls, bytes))| ProcedureTotal {
            procedure,
            calls,
            bytes,
        });
        let changes = self.changes.into_iter().map(|((object, kind), (count, bytes))| ChangeTotal {
            object,
            kind,
            count,
            bytes,
        });
        Summary {
            records: self.records,
            bytes: self.bytes,
            kinds: kinds.collect(),
            procedures: procedures.collect(),
            changes: changes.collect(),
        }
    }
}
