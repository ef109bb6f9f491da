//! Errors: RAISE, handlers, context.

use super::{Base, Machine};
use crate::code::{Code, NO_SITE, R, RaiseDesc, RaiseState, TableMeta};
use crate::functions;
use crate::heap::Heap;
use crate::host::{Context, Host, Interrupt};
use crate::slot::Slot;
use planaria_base::{ColumnId, Error, IndexId, Level, Result, SqlState};
use planaria_ir::{Diagnostic, ProgramKind};
use planaria_protocol::{Refused, RowLocks};
use planaria_storage::Field;

impl Machine {
    /// Finds the innermost handler of this frame that catches the error and makes everything ready
    /// for it; returns where it begins.
    #[cold]
    #[inline(never)]
    pub(super) fn handle<P: RowLocks, H: Host + ?Sized>(
        &mut self,
        code: &Code,
        pc: usize,
        error: Error,
        frame: &mut [Slot],
        base: Base,
        ctx: &mut Context<'_, P, H>,
    ) -> Result<usize, Interrupt> {
        while self.tries.len() > base.tries
            && let Some(entry) = self.tries.pop()
        {
            self.close_cursors(entry.cursors, ctx);
            self.caught.truncate(entry.caught);
            let region = &code.tries[usize::from(entry.region)];
            let state = error.sqlstate();
            let handler = region.handlers.iter().find(|h| h.catches.iter().any(|c| c.catches(state)));
            if handler.is_some() {
                ctx.protocol.rollback_to(ctx.txn, entry.savepoint, ctx.tables);
                ctx.protocol.unlock_to(ctx.txn, entry.rows);
                ctx.host.back_to(entry.beside, &mut self.heap);
            }
            ctx.protocol.release(ctx.txn, entry.savepoint);
            if let Some(handler) = handler {
                let sqlstate = self.heap.text(state.as_str())?;
                let sqlerrm = self.heap.text(error.message())?;
                if let Some(slot) = frame.get_mut(usize::from(handler.sqlstate)) {
                    *slot = sqlstate;
                }
                if let Some(slot) = frame.get_mut(usize::from(handler.sqlerrm)) {
                    *slot = sqlerrm;
                }
                self.handled = true;
                if !handler.diagnostics.is_empty() {
                    let whole = with_context(code, pc, error.clone());
                    for (what, reg) in &handler.diagnostics {
                        let told = self.heap.text(told(&whole, *what))?;
                        if let Some(slot) = frame.get_mut(usize::from(*reg)) {
                            *slot = told;
                        }
                    }
                }
                self.caught.push(as_caught(code, pc, error, region.site));
                return Ok(handler.entry as usize);
            }
        }
        Err(Interrupt::Error(with_context(code, pc, error)))
    }

    /// RAISE: an error, or a message to the host.
    #[cold]
    #[inline(never)]
    pub(super) fn raise<H: Host + ?Sized>(
        &self,
        desc: &RaiseDesc,
        frame: &[Slot],
        host: &mut H,
    ) -> Result<()> {
        let text = |r: R| match frame[usize::from(r)] {
            Slot::Text(b) => Ok(self.heap.str(b)),
            _ => Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, "RAISE statement option cannot be null")),
        };
        let state = match desc.state {
            RaiseState::Current => {
                return Err(self.caught.last().cloned().unwrap_or_else(|| {
                    Error::new(
                        SqlState::new("0Z002"),
                        "RAISE without parameters cannot be used outside an exception handler",
                    )
                }));
            }
            RaiseState::Known(state) => state,
            RaiseState::Computed(r) => {
                let name = text(r)?;
                SqlState::parse(name).or_else(|| SqlState::from_condition_name(name)).ok_or_else(|| {
                    Error::new(
                        SqlState::UNDEFINED_OBJECT,
                        format!("unrecognized exception condition \"{name}\""),
                    )
                })?
            }
        };
        let mut error = Error::new(state, text(desc.message)?);
        if let Some(r) = desc.detail {
            error = error.with_detail(text(r)?);
        }
        if let Some(r) = desc.hint {
            error = error.with_hint(text(r)?);
        }
        let fields = error.fields_mut();
        fields.constraint.clone_from(&desc.constraint);
        fields.table.clone_from(&desc.table);
        fields.column.clone_from(&desc.column);
        fields.schema.clone_from(&desc.schema);
        fields.datatype.clone_from(&desc.datatype);
        fields.found = desc.found;
        for (field, r) in &desc.computed {
            let place = match field {
                Diagnostic::Constraint => &mut fields.constraint,
                Diagnostic::Table => &mut fields.table,
                Diagnostic::Column => &mut fields.column,
                Diagnostic::Schema => &mut fields.schema,
                Diagnostic::DataType => &mut fields.datatype,
                _ => continue,
            };
            *place = Some(text(*r)?.to_owned());
        }
        fields.raised = true;
        if desc.level == Level::Exception {
            return Err(error);
        }
        host.notice(desc.level, &error);
        Ok(())
    }

    /// Tells those that listen to a channel. NULL is the empty text.
    #[cold]
    pub(super) fn notify<H: Host + ?Sized>(
        &mut self,
        channel: Slot,
        payload: Slot,
        host: &mut H,
    ) -> Result<()> {
        let text = |slot| match slot {
            Slot::Text(text) => self.heap.str(text),
            _ => "",
        };
        host.notify(text(channel), text(payload))
    }
}

/// Says where in the program the error arose: a position of statements, lines of context of routines.
pub(super) fn with_context(code: &Code, pc: usize, error: Error) -> Error {
    let (error, position) = out_of_sites(code, pc, error, NO_SITE);
    if !code.source.is_routine() {
        return if code.kind == ProgramKind::Statement { error.at(position) } else { error };
    }
    code.source.context(position, error)
}

/// An error that a handler of the call `site` may raise again as it came: with what is said of that call's routine.
fn as_caught(code: &Code, pc: usize, error: Error, site: u16) -> Error {
    let (error, position) = out_of_sites(code, pc, error, site);
    let source = code.sites.get(usize::from(site)).map_or(&code.source, |desc| &desc.source);
    let mut error = source.context(position, error);
    error.fields_mut().again = true;
    error
}

/// Lines of context for each inlined call around the instruction, up to the call `outer`. Also where the
/// error is in the text of `outer`.
fn out_of_sites(code: &Code, pc: usize, mut error: Error, outer: u16) -> (Error, u32) {
    let place = code.places[pc];
    let (mut position, mut site) = (place.position, place.site);
    while site != outer
        && let Some(desc) = code.sites.get(usize::from(site))
    {
        error = desc.source.context(position, error);
        position = desc.position;
        site = desc.parent;
    }
    (error, position)
}

/// The error for a write that the protocol refused; `image` is the row that was to be.
#[cold]
#[inline(never)]
pub(super) fn refused(why: Refused, meta: &TableMeta, image: &[u64], heap: &mut Heap) -> Error {
    match why {
        Refused::Duplicate(index) => duplicate(meta, index, image, heap),
        Refused::KeyTooLong(index) => Error::new(
            SqlState::PROGRAM_LIMIT_EXCEEDED,
            format!(
                "index row size exceeds the maximum {} for index \"{}\"",
                planaria_base::limits::INDEX_KEY_BYTES_MAX,
                meta.indexes.get(index.index()).map_or("?", |i| &i.name)
            ),
        ),
    }
}

fn duplicate(meta: &TableMeta, at: IndexId, image: &[u64], heap: &mut Heap) -> Error {
    let Some(index) = meta.indexes.get(at.index()) else {
        return Error::internal(format!("table {} has no index {at}", meta.name));
    };
    let names: Vec<&str> = index.columns.iter().map(|c| meta.columns[c.index()].as_str()).collect();
    let values: Vec<String> = index
        .columns
        .iter()
        .map(|c| print(meta.layout.field(image, *c), &meta.layout.specs()[c.index()].ty, heap))
        .collect();
    let mut value = |column: ColumnId| {
        field_datum(meta.layout.field(image, column), &meta.layout.specs()[column.index()].ty)
    };
    let leaf = meta.partitions.as_ref().and_then(|partitions| partitions.leaf(&mut value));
    let name = leaf.and_then(|leaf| leaf.index(at)).unwrap_or(&index.name);
    let table = leaf.map_or(&meta.name, |leaf| &leaf.name);
    Error::new(
        SqlState::UNIQUE_VIOLATION,
        format!("duplicate key value violates unique constraint \"{name}\""),
    )
    .with_detail(format!("Key ({})=({}) already exists.", names.join(", "), values.join(", ")))
    .constraint(name, table)
}

/// A value as the session shows it; `around`: the heap of whoever computes.
fn print(field: Field<'_>, ty: &planaria_base::Type, around: &mut Heap) -> String {
    let mut heap = Heap::new();
    if ty.has_zone() || ty.has_style() || ty.has_bytes() || ty.has_floats() {
        around.writes(ty);
        heap.set_forms(around.shared_zone(), around.styles());
    }
    match heap.push_datum(&field_datum(field, ty)) {
        Ok(Slot::Null) | Err(_) => "null".to_owned(),
        Ok(value) => functions::display(&heap, value, ty),
    }
}

fn field_datum(field: Field<'_>, ty: &planaria_base::Type) -> planaria_base::Datum {
    use planaria_base::{Datum, Type};
    match field {
        Field::Null => Datum::Null,
        Field::Bool(b) => Datum::Bool(b),
        Field::Int(n) => Datum::Int(n),
        Field::Float(x) => Datum::Float(x),
        Field::Numeric(n) => Datum::Numeric(n),
        Field::Long(bytes) => Datum::Long(Box::new(planaria_base::numeric::Long::from_bytes(bytes))),
        Field::Uuid(u) => Datum::Uuid(u),
        Field::Interval(i) => Datum::Interval(i),
        Field::Bytes(b) if matches!(ty, Type::Bytea | Type::Range(_) | Type::Packed(_)) => {
            Datum::Bytea(b.to_vec())
        }
        Field::Bytes(b) if *ty == Type::Citext => Datum::Citext(String::from_utf8_lossy(b).into_owned()),
        Field::Bytes(b) if *ty == Type::Jsonb => Datum::Jsonb(String::from_utf8_lossy(b).into_owned()),
        Field::Bytes(b) if matches!(ty, Type::Array(_) | Type::Record(_)) => {
            planaria_base::value::ValueReader::new(b).datum().unwrap_or(Datum::Null)
        }
        Field::Bytes(b) => Datum::Text(String::from_utf8_lossy(b).into_owned()),
    }
}

/// What an error says of itself; nothing is an empty text.
fn told(error: &Error, what: Diagnostic) -> &str {
    let fields = error.fields();
    let told = match what {
        Diagnostic::Detail => &fields.detail,
        Diagnostic::Hint => &fields.hint,
        Diagnostic::Context => &fields.context,
        // There is one.
        Diagnostic::Schema if fields.schema.is_none() => {
            return fields.table.as_ref().map_or("", |_| "public");
        }
        Diagnostic::Schema => &fields.schema,
        Diagnostic::Table => &fields.table,
        Diagnostic::Column => &fields.column,
        Diagnostic::Constraint => &fields.constraint,
        Diagnostic::DataType => &fields.datatype,
    };
    told.as_deref().unwrap_or("")
}
