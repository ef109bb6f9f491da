//! Records with names: what a record says, under the schema it was written under.

use super::Filter;
use crate::change::SchemaChange;
use planaria_base::{
    ColumnId, Datum, Error, IndexId, ProcedureId, Result, SequenceId, SqlState, TableId, Type,
};
use planaria_catalog::Catalog;
use planaria_ir::{OpKind, Program};
use planaria_log::{Effect, Keeping, Patch, RawRecord, ValueReader};
use planaria_sql::{ddl, lower};
use planaria_storage::{ColumnSpec, IndexSpec, KeyCodec, RowLayout};
use planaria_syntax::parse;
use serde::Serialize;
use std::collections::HashMap;
use std::fmt;

/// A record of the log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// Its epoch.
    pub epoch: u64,
    /// Its place among the transactions of the epoch.
    pub sequence: u32,
    /// The run of the database that wrote it.
    pub run: u32,
    /// When its epoch was closed, to be written: UTC. Logs of older formats do not say.
    pub closed: Option<String>,
    /// Bytes it takes in the log.
    pub bytes: usize,
    /// What it says.
    #[serde(flatten)]
    pub body: Body,
}

/// What a record says.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Body {
    /// A procedure was called.
    Call {
        /// Its name.
        procedure: String,
        /// Its identity: replaced procedures keep their name and get a new one.
        id: u32,
        /// Arguments, by parameter.
        args: Vec<Field>,
        /// What the call drew from outside and which keys it determined, in this order in time. `None`
        /// is NULL.
        inputs: Vec<Option<String>>,
        /// Whether it ran as a program that keeps values for a parallel replay (it may have kept none).
        keeping: bool,
    },
    /// Rows, sequences or the schema changed.
    Effects {
        /// The changes, in order.
        changes: Vec<Change>,
    },
}

/// A value with its column's or parameter's name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Field {
    /// The name.
    pub name: String,
    /// The value as PostgreSQL prints it; `None` is NULL.
    pub value: Option<String>,
}

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names of the effects")]
pub enum ChangeKind {
    Insert,
    Update,
    Delete,
    PhysicalInsert,
    PhysicalUpdate,
    PhysicalDelete,
    Patch,
    DeleteRow,
    Sequence,
    Truncate,
    Schema,
    Part,
    Computed,
}

impl ChangeKind {
    pub(super) fn of(effect: &Effect) -> ChangeKind {
        match effect {
            Effect::Insert { .. } => ChangeKind::Insert,
            Effect::Update { .. } => ChangeKind::Update,
            Effect::Delete { .. } => ChangeKind::Delete,
            Effect::PhysicalInsert { .. } => ChangeKind::PhysicalInsert,
            Effect::PhysicalUpdate { .. } => ChangeKind::PhysicalUpdate,
            Effect::PhysicalDelete { .. } => ChangeKind::PhysicalDelete,
            Effect::Patch { .. } => ChangeKind::Patch,
            Effect::DeleteRow { .. } => ChangeKind::DeleteRow,
            Effect::Sequence { .. } => ChangeKind::Sequence,
            Effect::Truncate { .. } => ChangeKind::Truncate,
            Effect::Schema(_) => ChangeKind::Schema,
            Effect::Part => ChangeKind::Part,
            Effect::Computed { .. } => ChangeKind::Computed,
        }
    }

    /// The kind of a record that has such a change, where the change tells.
    pub(super) fn record_kind(self) -> Option<&'static str> {
        match self {
            ChangeKind::PhysicalInsert | ChangeKind::PhysicalUpdate | ChangeKind::PhysicalDelete => {
                Some("physical")
            }
            ChangeKind::Patch | ChangeKind::DeleteRow => Some("physiological"),
            ChangeKind::Schema | ChangeKind::Part | ChangeKind::Computed => Some("schema"),
            _ => None,
        }
    }

    fn verb(self) -> &'static str {
        match self {
            ChangeKind::Insert | ChangeKind::PhysicalInsert => "insert into",
            ChangeKind::Update | ChangeKind::PhysicalUpdate | ChangeKind::Patch => "update",
            ChangeKind::Delete | ChangeKind::PhysicalDelete | ChangeKind::DeleteRow => "delete from",
            ChangeKind::Sequence => "sequence",
            ChangeKind::Truncate => "truncate",
            ChangeKind::Schema => "schema",
            ChangeKind::Part => "then",
            ChangeKind::Computed => "computed for",
        }
    }
}

impl fmt::Display for ChangeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            ChangeKind::Insert => "insert",
            ChangeKind::Update => "update",
            ChangeKind::Delete => "delete",
            ChangeKind::PhysicalInsert => "physical insert",
            ChangeKind::PhysicalUpdate => "physical update",
            ChangeKind::PhysicalDelete => "physical delete",
            ChangeKind::Patch => "patch",
            ChangeKind::DeleteRow => "delete of a row",
            ChangeKind::Sequence => "sequence",
            ChangeKind::Truncate => "truncate",
            ChangeKind::Schema => "schema",
            ChangeKind::Part => "end of a part",
            ChangeKind::Computed => "computed columns",
        })
    }
}

/// An effect.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// What happened.
    pub kind: ChangeKind,
    /// The table or sequence; empty for changes of the schema.
    pub object: String,
    /// Bytes it takes in the log.
    pub bytes: usize,
    /// Primary key, where the record has it apart from the row.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub key: Vec<Field>,
    /// The row before, or what of it was changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<Field>,
    /// The row after, or what of it was changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<Field>,
    /// Location of the old version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_location: Option<u64>,
    /// Location of the new version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_location: Option<u64>,
    /// The statement that changed the schema; what became of the sequence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

fn list(f: &mut fmt::Formatter<'_>, fields: &[Field]) -> fmt::Result {
    f.write_str("(")?;
    for (i, field) in fields.iter().enumerate() {
        let comma = if i > 0 { ", " } else { "" };
        write!(f, "{comma}{} = {}", field.name, field.value.as_deref().unwrap_or("NULL"))?;
    }
    f.write_str(")")
}

impl fmt::Display for Entry {
    /// A line for the record, one more for each change.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}  {} bytes  ", self.epoch, self.sequence, self.bytes)?;
        match &self.body {
            Body::Call { procedure, args, inputs, .. } => {
                write!(f, "call {procedure}")?;
                list(f, args)?;
                if !inputs.is_empty() {
                    let inputs: Vec<_> = inputs.iter().map(|i| i.as_deref().unwrap_or("NULL")).collect();
                    write!(f, " with {}", inputs.join(", "))?;
                }
            }
            Body::Effects { changes } => {
                f.write_str("effects")?;
                for change in changes {
                    write!(f, "\n    {change}")?;
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.verb())?;
        if !self.object.is_empty() {
            write!(f, " {}", self.object)?;
        }
        if !self.key.is_empty() {
            f.write_str(" key ")?;
            list(f, &self.key)?;
        }
        for (what, fields) in [("before", &self.before), ("after", &self.after)] {
            if !fields.is_empty() {
                write!(f, " {what} ")?;
                list(f, fields)?;
            }
        }
        match (self.old_location, self.new_location) {
            (Some(old), Some(new)) if old == new => write!(f, " at {new:#x}")?,
            (Some(old), Some(new)) => write!(f, " at {old:#x}, now {new:#x}")?,
            (Some(at), None) | (None, Some(at)) => write!(f, " at {at:#x}")?,
            (None, None) => {}
        }
        self.text.as_ref().map_or(Ok(()), |text| write!(f, " {text}"))
    }
}

/// The schema as of a record: names and layouts. Has no rows.
pub(super) struct Names {
    catalog: Catalog,
    layouts: HashMap<TableId, TableNames>,
    /// Tables that a procedure may write to, with what it calls.
    written: HashMap<ProcedureId, Vec<TableId>>,
    /// The catalog before the record that was followed last, if that has several parts.
    before: Option<Catalog>,
}

struct TableNames {
    columns: Vec<(String, Type)>,
    layout: RowLayout,
    primary: KeyCodec,
    /// Names of the key columns are those of `columns` at these places.
    key: Vec<usize>,
}

fn undecodable(record: &RawRecord<'_>, what: &str) -> Error {
    let ts = record.commit_ts();
    let at = format!("{}:{}", ts.epoch().0, ts.sequence());
    Error::new(SqlState::DATA_CORRUPTED, format!("log record {at} {what}"))
}

impl Names {
    pub(super) fn new(catalog: Catalog) -> Names {
        Names { catalog, layouts: HashMap::new(), written: HashMap::new(), before: None }
    }

    /// Goes along with the schema changes of a record.
    pub(super) fn follow(&mut self, record: &RawRecord<'_>) -> Result<()> {
        let others = || record.effects().into_iter().flatten().filter(|e| e.table().is_none());
        let in_parts = others().any(|e| e.decode() == Some(Effect::Part));
        self.before = in_parts.then(|| self.catalog.clone());
        for effect in others() {
            if let Some(Effect::Schema(text)) = effect.decode() {
                self.change_catalog(&text)?;
            }
        }
        Ok(())
    }

    fn change_catalog(&mut self, text: &[u8]) -> Result<()> {
        let change = SchemaChange::decode(text)?;
        let actor = change.actor(&self.catalog)?;
        for statement in parse::statements(change.text)? {
            ddl::apply_as(&mut self.catalog, &statement, actor)?;
        }
        self.layouts.clear();
        self.written.clear();
        Ok(())
    }

    /// Of the record that was followed last; each effect under the schema that it happened under.
    pub(super) fn for_each_effect(
        &mut self,
        record: &RawRecord<'_>,
        f: &mut dyn FnMut(&mut Names, &Effect, usize) -> Result<()>,
    ) -> Result<()> {
        let Some(mut effects) = record.effects() else {
            return Err(undecodable(record, "is of a kind that this program does not know"));
        };
        let in_parts = self.before.clone();
        if let Some(before) = &in_parts {
            self.catalog = before.clone();
            self.layouts.clear();
        }
        for raw in &mut effects {
            let effect = raw.decode().ok_or_else(|| undecodable(record, "cannot be decoded"))?;
            if let (Effect::Schema(text), true) = (&effect, in_parts.is_some()) {
                self.change_catalog(text)?;
            }
            f(self, &effect, raw.size())?;
        }
        if effects.is_whole() { Ok(()) } else { Err(undecodable(record, "cannot be decoded")) }
    }

    pub(super) fn has_table(&self, name: &str) -> bool {
        self.catalog.table(name).is_some()
    }

    pub(super) fn has_procedure(&self, name: &str) -> bool {
        self.catalog.procedures.iter().any(|p| p.name == name)
    }

    /// Whether the record is one of those wanted, the time of its commit aside.
    pub(super) fn passes(&mut self, record: &RawRecord<'_>, filter: &Filter) -> Result<bool> {
        let call = record.call().map(|(procedure, ..)| procedure);
        if let Some(wanted) = &filter.procedure
            && call.is_none_or(|id| self.procedure(id) != *wanted)
        {
            return Ok(false);
        }
        let Some(wanted) = &filter.table else { return Ok(true) };
        let Some(table) = self.catalog.table(wanted).map(|t| t.id) else { return Ok(false) };
        if let Some(procedure) = call {
            return Ok(self.writes_to(procedure).contains(&table));
        }
        let mut found = false;
        self.for_each_effect(record, &mut |_, effect, _| {
            found |= table_of(effect) == Some(table);
            Ok(())
        })?;
        Ok(found)
    }

    /// Tables that a call may write to. A procedure that cannot be analysed is taken to write to none:
    /// one whose tables are gone can no longer be read.
    fn writes_to(&mut self, procedure: ProcedureId) -> &[TableId] {
        if !self.written.contains_key(&procedure) {
            let mut tables = Vec::new();
            self.collect_written(procedure, &mut tables, &mut vec![procedure]);
            self.written.insert(procedure, tables);
        }
        &self.written[&procedure]
    }

    fn collect_written(&self, id: ProcedureId, tables: &mut Vec<TableId>, seen: &mut Vec<ProcedureId>) {
        let Some(program) = self.lower(id) else { return };
        let mut callees = Vec::new();
        program.body.visit(&mut |op| match &op.kind {
            OpKind::Insert { table, .. } | OpKind::Update { table, .. } | OpKind::Delete { table, .. } => {
                tables.push(*table);
            }
            OpKind::Call { procedure, .. } | OpKind::CallSet { procedure, .. } => callees.push(*procedure),
            _ => {}
        });
        for callee in callees {
            if !seen.contains(&callee) {
                seen.push(callee);
                self.collect_written(callee, tables, seen);
            }
        }
    }

    fn lower(&self, id: ProcedureId) -> Option<Program> {
        lower::plpgsql::lower_procedure(&self.catalog, self.catalog.procedure_if(id)?).ok()
    }

    pub(super) fn procedure(&self, id: ProcedureId) -> String {
        self.catalog.procedure_if(id).map_or_else(|| id.to_string(), |p| p.name.clone())
    }

    fn table(&self, id: TableId) -> String {
        let table = self.catalog.tables.get(id.index()).and_then(Option::as_ref);
        table.map_or_else(|| id.to_string(), |t| t.name.clone())
    }

    fn sequence(&self, id: SequenceId) -> String {
        let sequence = self.catalog.sequences.get(id.index()).and_then(Option::as_ref);
        sequence.map_or_else(|| id.to_string(), |s| s.name.clone())
    }

    /// What an effect is about.
    pub(super) fn object(&self, effect: &Effect) -> String {
        match effect {
            Effect::Sequence { sequence, .. } => self.sequence(*sequence),
            other => table_of(other).map_or_else(String::new, |table| self.table(table)),
        }
    }

    /// The names of a table, from the catalog when first asked for.
    fn names_of(&mut self, id: TableId) -> Option<&TableNames> {
        if !self.layouts.contains_key(&id) {
            let table = self.catalog.tables.get(id.index())?.as_ref()?;
            let name = |c: &planaria_catalog::Column| {
                if c.is_row_id() { "(row id)".to_owned() } else { c.name.clone() }
            };
            let specs: Vec<_> = table
                .columns
                .iter()
                .map(|c| ColumnSpec { ty: c.ty.clone(), nullable: !c.not_null })
                .collect();
            let layout = RowLayout::new(&specs).ok()?;
            let primary = &table.indexes.get(IndexId::PRIMARY.index())?.columns;
            let by_key = IndexSpec { columns: primary.clone(), unique: true, equal_nulls: false };
            let names = TableNames {
                columns: table.columns.iter().map(|c| (name(c), c.ty.clone())).collect(),
                primary: KeyCodec::new(&layout, &by_key, primary).ok()?,
                key: primary.iter().map(|c| c.index()).collect(),
                layout,
            };
            self.layouts.insert(id, names);
        }
        self.layouts.get(&id)
    }

    /// A record with names.
    pub(super) fn entry(&mut self, record: &RawRecord<'_>, run: u32) -> Result<Entry> {
        let ts = record.commit_ts();
        let body = match record.call() {
            Some((id, args, inputs, mut values)) => {
                let decoded = values.datums(args).zip(values.datums(inputs));
                let (args, inputs) = decoded.ok_or_else(|| undecodable(record, "cannot be decoded"))?;
                let parameters: Vec<_> = match self.catalog.procedures.get(id.index()) {
                    Some(procedure) => procedure.inputs().cloned().collect(),
                    None => Vec::new(),
                };
                let args = args.iter().enumerate().map(|(i, value)| match parameters.get(i) {
                    Some(p) if !p.name.is_empty() => field(&p.name, value, &p.ty),
                    Some(p) => field(&format!("${}", i + 1), value, &p.ty),
                    None => field(&format!("${}", i + 1), value, &natural_type(value)),
                });
                let inputs = inputs.iter().map(|value| text(value, &natural_type(value)));
                Body::Call {
                    procedure: self.procedure(id),
                    id: id.0,
                    args: args.collect(),
                    inputs: inputs.collect(),
                    keeping: record.keeping() != Keeping::No,
                }
            }
            None => {
                let mut changes = Vec::new();
                self.for_each_effect(record, &mut |names, effect, bytes| {
                    changes.push(names.change(effect, bytes));
                    Ok(())
                })?;
                Body::Effects { changes }
            }
        };
        Ok(Entry {
            epoch: ts.epoch().0,
            sequence: ts.sequence(),
            run,
            closed: None,
            bytes: record.size(),
            body,
        })
    }

    fn change(&mut self, effect: &Effect, bytes: usize) -> Change {
        let mut change = Change {
            kind: ChangeKind::of(effect),
            object: self.object(effect),
            bytes,
            key: Vec::new(),
            before: Vec::new(),
            after: Vec::new(),
            old_location: None,
            new_location: None,
            text: None,
        };
        let names = table_of(effect).and_then(|table| self.names_of(table));
        match effect {
            Effect::Insert { row, .. } | Effect::Update { row, .. } => change.after = row_fields(names, row),
            Effect::Delete { key, .. } => change.key = key_fields(names, key),
            Effect::PhysicalInsert { new, row, .. } => {
                (change.new_location, change.after) = (Some(*new), row_fields(names, row));
            }
            Effect::PhysicalUpdate { old, new, row, .. } => {
                (change.old_location, change.new_location) = (Some(*old), Some(*new));
                change.after = row_fields(names, row);
            }
            Effect::PhysicalDelete { old, key, .. } => {
                (change.old_location, change.key) = (Some(*old), key_fields(names, key));
            }
            Effect::Patch { key, patch, .. } => {
                change.key = key_fields(names, key);
                (change.before, change.after) = patch_fields(names, patch);
            }
            Effect::DeleteRow { key, row, .. } => {
                (change.key, change.before) = (key_fields(names, key), row_fields(names, row));
            }
            Effect::Sequence { place, .. } => {
                let did = if place.called { "has given" } else { "gives next" };
                change.text = Some(format!("{did} {}", place.value));
            }
            Effect::Truncate { .. } | Effect::Part => {}
            Effect::Computed { values, .. } => {
                let mut reader = ValueReader::new(values);
                let count = std::iter::from_fn(|| reader.datum()).count();
                change.text = Some(format!("{count} values"));
            }
            Effect::Schema(text) => {
                change.text = SchemaChange::decode(text).ok().map(|c| c.text.to_owned());
            }
        }
        change
    }
}

fn table_of(effect: &Effect) -> Option<TableId> {
    match effect {
        Effect::Truncate { table } | Effect::Computed { table, .. } => Some(*table),
        row => row.logical().map(|change| change.table()),
    }
}

/// The type whose text form says the most of a value about which nothing else is known.
fn natural_type(value: &Datum) -> Type {
    match value {
        Datum::Null => Type::Unknown,
        Datum::Bool(_) => Type::Bool,
        Datum::Int(_) => Type::Int8,
        Datum::Float(_) => Type::Float8,
        Datum::Numeric(_) | Datum::Long(_) => Type::Numeric(None),
        Datum::Text(_) => Type::Text,
        Datum::Bytea(_) => Type::Bytea,
        Datum::Jsonb(_) => Type::Jsonb,
        Datum::Citext(_) => Type::Citext,
        Datum::Uuid(_) => Type::Uuid,
        Datum::Interval(_) => Type::Interval,
        Datum::Reg(..) => Type::OID,
        Datum::Array(items) => Type::Array(Box::new(items.first().map_or(Type::Unknown, natural_type))),
        Datum::Shaped(of) => Type::Array(Box::new(of.elements().first().map_or(Type::Unknown, natural_type))),
    }
}

fn text(value: &Datum, ty: &Type) -> Option<String> {
    (!value.is_null()).then(|| value.display(ty))
}

fn field(name: &str, value: &Datum, ty: &Type) -> Field {
    Field { name: name.to_owned(), value: text(value, ty) }
}

/// A stored value.
pub(crate) fn datum(field: planaria_storage::Field<'_>, ty: &Type) -> Datum {
    use planaria_storage::Field as F;
    match field {
        F::Null => Datum::Null,
        F::Bool(b) => Datum::Bool(b),
        F::Int(n) => Datum::Int(n),
        F::Float(x) => Datum::Float(x),
        F::Numeric(n) => Datum::Numeric(n),
        F::Long(bytes) => Datum::Long(Box::new(planaria_base::numeric::Long::from_bytes(bytes))),
        F::Uuid(u) => Datum::Uuid(u),
        F::Interval(i) => Datum::Interval(i),
        F::Bytes(b) => bytes(b.to_vec(), ty),
    }
}

fn bytes(bytes: Vec<u8>, ty: &Type) -> Datum {
    match ty {
        Type::Bytea | Type::Range(_) | Type::Packed(_) => Datum::Bytea(bytes),
        Type::Jsonb => Datum::Jsonb(String::from_utf8_lossy(&bytes).into_owned()),
        Type::Citext => Datum::Citext(String::from_utf8_lossy(&bytes).into_owned()),
        Type::Array(_) | Type::Record(_) => {
            let array = planaria_log::ValueReader::new(&bytes).datum();
            array.unwrap_or(Datum::Bytea(bytes))
        }
        _ => String::from_utf8(bytes).map_or_else(|e| Datum::Bytea(e.into_bytes()), Datum::Text),
    }
}

/// Words that cannot be read under the schema, as they are.
fn raw(name: &str, words: &[u64]) -> Vec<Field> {
    let words: Vec<_> = words.iter().map(|w| format!("{w:x}")).collect();
    vec![Field { name: name.to_owned(), value: Some(words.join(" ")) }]
}

fn row_fields(names: Option<&TableNames>, row: &[u64]) -> Vec<Field> {
    let Some(names) = names.filter(|n| n.layout.is_image(row)) else { return raw("words", row) };
    let columns = names.columns.iter().enumerate();
    columns
        .map(|(i, (name, ty))| field(name, &datum(names.layout.field(row, ColumnId::from(i)), ty), ty))
        .collect()
}

fn key_fields(names: Option<&TableNames>, key: &[u8]) -> Vec<Field> {
    let decoded = names.and_then(|n| Some((n, n.primary.decode(key)?)));
    let Some((names, values)) = decoded else {
        let hex: String = key.iter().map(|b| format!("{b:02x}")).collect();
        return vec![Field { name: "bytes".to_owned(), value: Some(hex) }];
    };
    let columns = names.key.iter().map(|i| &names.columns[*i]);
    columns
        .zip(values)
        .map(|((name, ty), value)| match value {
            Datum::Bytea(b) => field(name, &bytes(b, ty), ty),
            value => field(name, &value, ty),
        })
        .collect()
}

/// What a patch changes, before and after: columns of fixed width by name, the rest by its words, as a
/// text's place is known only from the whole row.
fn patch_fields(names: Option<&TableNames>, patch: &Patch) -> (Vec<Field>, Vec<Field>) {
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let fixed = names.map_or(0, |n| n.layout.fixed_words());
    if let Some(names) = names {
        // Unchanged words are 0 in both, so a column differs here where it differs in the rows.
        let (mut old, mut new) = (vec![0; fixed], vec![0; fixed]);
        for (at, from, to) in patch.changes().filter(|(at, ..)| *at < fixed) {
            (old[at], new[at]) = (from, to);
        }
        for (i, (name, ty)) in names.columns.iter().enumerate() {
            let column = names.layout.column(ColumnId::from(i));
            if column.kind() == planaria_storage::ColumnKind::Bytes {
                continue;
            }
            let (from, to) = (column.field(&old), column.field(&new));
            if from != to {
                before.push(field(name, &datum(from, ty), ty));
                after.push(field(name, &datum(to, ty), ty));
            }
        }
    }
    // A word may hold the end of the one part and the beginning of the other.
    let variable = names.map_or(Some(0), |n| n.layout.variable_from());
    let shown = |at: usize| match variable.map(|from| from.saturating_sub(8 * at)) {
        Some(bytes) if bytes < 8 => u64::MAX << (8 * bytes),
        _ => 0,
    };
    for (at, from, to) in patch.changes().filter(|(at, from, to)| (from ^ to) & shown(*at) != 0) {
        before.extend(raw(&format!("word {at}"), &[from]));
        after.extend(raw(&format!("word {at}"), &[to]));
    }
    (before, after)
}
