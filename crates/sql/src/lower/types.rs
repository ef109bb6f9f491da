//! Types: names, conversions between them, the common type of several.
//!
//! The rules are PostgreSQL's: `pg_cast` with its contexts, type categories with their preferred types, and
//! the resolution of UNION, CASE and related constructs (manual, chapter 10).

use super::Lowerer;
use super::bound::{Bound, BoundKind};
use planaria_base::datetime::{self, DateOrder, IntervalForm, Styles};
use planaria_base::limits::NAME_BYTES_MAX;
use planaria_base::numeric::Number;
use planaria_base::packed::timetz::TimeTz;
use planaria_base::range::Range;
use planaria_base::types::{PackedType, RangeType, SystemType};
use planaria_base::{Datum, Error, Numeric, Result, SqlState, Type, text_io};
use planaria_catalog::{Catalog, Table};
use planaria_syntax::ast::{Name, TypeName, TypeNameKind};

/// Why a value is converted; decides which conversions are allowed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CastContext {
    /// The user did not ask: operators, function arguments.
    Implicit,
    /// Into a column.
    Assignment,
    /// Into a variable of PL/pgSQL: what a cast may do, with the checks of an assignment.
    Variable,
    /// CAST, `::`
    Explicit,
}

/// Categories as PostgreSQL has them, for the choice between overloads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Category {
    Bool,
    Numeric,
    String,
    DateTime,
    Interval,
    Array,
    Enum,
    Range,
    Network,
    Bits,
    User,
    Pseudo,
    Unknown,
}

pub(super) fn category(ty: &Type) -> Category {
    match ty.plain() {
        Type::Bool => Category::Bool,
        Type::Int2 | Type::Int4 | Type::Int8 | Type::Numeric(_) | Type::Float4 | Type::Float8 => {
            Category::Numeric
        }
        Type::Text | Type::Varchar(_) | Type::Char(_) | Type::Citext => Category::String,
        Type::Date | Type::Time | Type::Timestamp | Type::TimestampTz | Type::Rounded(..) => {
            Category::DateTime
        }
        Type::Interval | Type::OldInterval => Category::Interval,
        Type::Array(_) => Category::Array,
        Type::Range(_) => Category::Range,
        Type::Packed(PackedType::Inet | PackedType::Cidr) => Category::Network,
        Type::Packed(
            PackedType::MacAddr
            | PackedType::MacAddr8
            | PackedType::JsonPath
            | PackedType::TsVector
            | PackedType::TsQuery,
        ) => Category::User,
        Type::Packed(PackedType::Bit(_) | PackedType::VarBit(_)) => Category::Bits,
        Type::Packed(PackedType::Money) => Category::Numeric,
        Type::Packed(PackedType::TimeTz(_)) => Category::DateTime,
        Type::Enum(_) => Category::Enum,
        Type::Bytea | Type::Uuid | Type::Jsonb | Type::Void | Type::Record(_) => Category::User,
        Type::System(SystemType::Name) => Category::String,
        Type::System(SystemType::Int2Vector | SystemType::OidVector) => Category::Array,
        ty if ty.is_polymorphic() => Category::Pseudo,
        ty if ty.is_oid() => Category::Numeric,
        Type::System(_) => Category::User,
        Type::Unknown => Category::Unknown,
    }
}

/// Whether the type is the preferred one of its category.
pub(super) fn is_preferred(ty: &Type) -> bool {
    matches!(
        ty.plain(),
        Type::Bool
            | Type::Float8
            | Type::Text
            | Type::TimestampTz
            | Type::Interval
            | Type::Packed(PackedType::Inet | PackedType::VarBit(_))
            | &Type::OID
    )
}

/// The same type but for its modifier.
pub(super) fn same_base(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Char(_), Type::Char(_)) => true,
        (Type::Array(a), Type::Array(b)) => same_base(a, b),
        _ => a.base() == b.base(),
    }
}

/// Without its modifier, as a function's result has it: `char(n)` becomes text, there being no
/// `char` of unlimited length here.
pub(super) fn unmodified(ty: &Type) -> Type {
    match ty {
        Type::Char(_) => Type::Text,
        Type::Array(of) => Type::Array(Box::new(unmodified(of))),
        other => other.base(),
    }
}

/// 42883 of a type whose values cannot be told apart: `json` is as it was written, and a path is what it does.
pub(super) fn told_apart(ty: &Type, position: u32) -> Result<()> {
    has(ty, "an equality operator", position)
}

/// The same of one that needs something else, too.
pub(super) fn has(ty: &Type, what: &str, position: u32) -> Result<()> {
    match ty {
        &Type::JSON => {}
        Type::Packed(of) if !of.is_ordered() => {}
        _ => return Ok(()),
    }
    let message = format!("could not identify {what} for type {ty}");
    Err(Error::new(SqlState::UNDEFINED_FUNCTION, message).at(position))
}

/// The same of one that has no order.
pub(super) fn has_order(ty: &Type, position: u32) -> Result<()> {
    has(ty, "an ordering operator", position)
        .map_err(|error| error.with_hint("Use an explicit ordering operator or modify the query."))
}

/// The rank among numbers: conversions upwards are implicit.
fn number_rank(ty: &Type) -> Option<u8> {
    Some(match ty {
        Type::Int2 => 0,
        Type::Int4 => 1,
        Type::Int8 => 2,
        Type::Numeric(_) => 3,
        Type::Float4 => 4,
        Type::Float8 => 5,
        _ => return None,
    })
}

/// Whether a value of one type may become one of the other in that context.
pub(super) fn cast_allowed(from: &Type, to: &Type, context: CastContext) -> bool {
    use planaria_base::types::CastContext as Needs;
    if same_base(from, to) {
        return *from != Type::Void;
    }
    // Whether the types of a call agree is looked at as a whole.
    if to.is_polymorphic() {
        return *from != Type::Void;
    }
    if let (Type::Record(from), Type::Record(to)) = (from, to) {
        return from.of.is_none() || to.of.is_none();
    }
    match planaria_base::types::cast_allowed(from, to) {
        Needs::Implicit => true,
        Needs::Assignment => context >= CastContext::Assignment,
        Needs::Explicit => context >= CastContext::Variable,
        Needs::None => false,
    }
}

/// Whether every value of the one type is one of the other as it stands in its register.
pub(super) fn is_relabel(from: &Type, to: &Type) -> bool {
    match (from, to) {
        _ if from == to => true,
        (Type::Int2, Type::Int4 | Type::Int8) | (Type::Int4, Type::Int8) => true,
        (Type::Numeric(_), Type::Numeric(None)) => true,
        (Type::Numeric(Some((p, s))), Type::Numeric(Some((q, t)))) => s == t && p <= q,
        (Type::Text | Type::Varchar(_) | Type::Char(_), Type::Text | Type::Varchar(None)) => true,
        (Type::Varchar(Some(n)) | Type::Char(n @ 1..), Type::Varchar(Some(m))) => n <= m,
        (Type::Char(_), Type::Char(0)) => true,
        (Type::Char(n @ 1..), Type::Char(m)) => n <= m,
        (Type::Packed(a), Type::Packed(b)) => a.is_relabel(*b),
        (Type::Rounded(..), to) if from.plain() == to => true,
        (from, Type::Rounded(clock, digits)) if clock.keeps(*digits) && from == to.plain() => true,
        (Type::Array(a), Type::Array(b)) => is_relabel(a, b),
        (Type::System(_), _) => planaria_ir::verify::holds(to, from),
        _ => false,
    }
}

/// A literal's value as that type, where that can be told now; errors as the input function gives
/// them. What is `kept` as text is read by the default styles of dates and intervals.
pub(super) fn literal(text: &str, ty: &Type, kept: bool) -> Result<Option<Datum>> {
    match ty {
        Type::Array(_) | Type::Record(_) | Type::Rounded(..) => {}
        _ if ty.has_style() => return styled_literal(text, ty, kept),
        _ => {}
    }
    Ok(Some(match ty {
        Type::Bool => Datum::Bool(text_io::parse_bool(text)?),
        Type::Int2 | Type::Int4 | Type::Int8 => Datum::Int(text_io::parse_int(text, ty)?),
        Type::Numeric(modifier) => {
            let n = Number::parse(text)?;
            match modifier {
                Some((p, s)) => n.rescale(*p, *s)?.into(),
                None => n.into(),
            }
        }
        Type::Float8 => Datum::Float(text_io::parse_float(text)?),
        Type::Float4 => Datum::Float(text_io::parse_real(text)?),
        Type::Text | Type::Varchar(None) => Datum::Text(text.to_owned()),
        Type::Citext => Datum::Citext(text.to_owned()),
        Type::Varchar(Some(n)) if text.chars().count() <= *n as usize => Datum::Text(text.to_owned()),
        Type::Char(n) if *n == 0 || text.chars().count() <= *n as usize => {
            Datum::Text(text.trim_end_matches(' ').to_owned())
        }
        Type::Uuid => Datum::Uuid(text_io::parse_uuid(text)?),
        Type::Range(_) => Datum::parse(ty, text)?,
        // One that does not have the length is cut or refused by who stores it.
        Type::Packed(of) => {
            let value = of.plain().parse(text)?;
            if !of.is_value(&value) {
                return Ok(None);
            }
            Datum::Bytea(value)
        }
        Type::Enum(of) => Datum::Int(of.parse(text)?),
        Type::System(_) => Datum::parse(ty, text)?,
        Type::Rounded(clock, digits) => match literal(&clock.completed(text), clock.ty(), kept)? {
            Some(value) => value.rounded(*clock, *digits)?,
            None => return Ok(None),
        },
        Type::Array(of) => {
            let mut elements = Vec::new();
            let (shape, texts) = text_io::parse_array(text)?;
            for element in texts {
                let value = match element {
                    None => Some(Datum::Null),
                    Some(text) => literal(&text, of, kept)?,
                };
                match value {
                    Some(value) => elements.push(value),
                    None => return Ok(None),
                }
            }
            Datum::array(shape, elements)
        }
        _ => return Ok(None),
    }))
}

/// The same of a date, a time or an interval: where it depends on the styles of the session what the text means, or
/// whether it means something, that is known when it runs.
fn styled_literal(text: &str, ty: &Type, kept: bool) -> Result<Option<Datum>> {
    let by_default = read_literal(text, ty, Styles::DEFAULT);
    if kept {
        return by_default;
    }
    let others: &[Styles] = match ty {
        Type::Interval | Type::OldInterval => {
            &[Styles { intervals: IntervalForm::SqlStandard, ..Styles::DEFAULT }]
        }
        _ => &[
            Styles { order: DateOrder::Dmy, ..Styles::DEFAULT },
            Styles { order: DateOrder::Ymd, ..Styles::DEFAULT },
        ],
    };
    for styles in others {
        match (&by_default, read_literal(text, ty, *styles)) {
            (Ok(one), Ok(other)) if *one == other => {}
            (Err(one), Err(other)) if one.fields().hint == other.fields().hint => {}
            _ => return Ok(None),
        }
    }
    by_default
}

/// `None` where the session's time zone says what it is.
fn read_literal(text: &str, ty: &Type, styles: Styles) -> Result<Option<Datum>> {
    Ok(Some(match ty {
        Type::Date => Datum::Int(datetime::parse_date(text, styles.order)?),
        Type::Time => Datum::Int(datetime::parse_time(text, styles.order)?),
        Type::Timestamp => Datum::Int(datetime::parse_timestamp(text, styles.order)?),
        Type::TimestampTz => match datetime::parse_whole_timestamptz(text, styles.order)? {
            Some(micros) => Datum::Int(micros),
            None => return Ok(None),
        },
        Type::Packed(PackedType::TimeTz(digits)) => match TimeTz::parse_whole(text, styles.order)? {
            Some(time) => Datum::Bytea(time.rounded(*digits).encode().to_vec()),
            None => return Ok(None),
        },
        Type::Interval | Type::OldInterval => {
            Datum::Interval(datetime::parse_interval(text, styles.intervals)?)
        }
        // Of which moment a bound is, the zone says.
        Type::Range(of) if *of != RangeType::TimestampTz => {
            Datum::Bytea(Range::parse(*of, text, styles.into())?.encode())
        }
        _ => return Ok(None),
    }))
}

/// Whether the value of a type is its text.
fn text_of(ty: &Type) -> bool {
    matches!(ty, Type::Text | Type::Varchar(_) | Type::Char(_))
}

/// A constant converted now, where that is simple and cannot fail.
fn fold(value: &Datum, from: &Type, to: &Type) -> Option<Datum> {
    match (value, to) {
        (Datum::Null, _) => Some(Datum::Null),
        (Datum::Int(n), Type::Numeric(None)) if number_rank(from).is_some() => {
            Some(Datum::Numeric(Numeric::from_i64(*n)))
        }
        (Datum::Int(n), Type::Float8) if number_rank(from).is_some() => Some(Datum::Float(*n as f64)),
        (Datum::Int(n), Type::Int2) if i16::try_from(*n).is_ok() => Some(value.clone()),
        (Datum::Int(n), Type::Int4) if i32::try_from(*n).is_ok() => Some(value.clone()),
        (Datum::Int(n), Type::Numeric(Some((p, s)))) if number_rank(from).is_some() => {
            Numeric::from_i64(*n).rescale(*p, *s).ok().map(Datum::Numeric)
        }
        (Datum::Numeric(n), Type::Numeric(Some((p, s)))) => n.rescale(*p, *s).ok().map(Datum::Numeric),
        (Datum::Int(n), to) if to.is_oid() && u32::try_from(*n).is_ok() => Some(value.clone()),
        (Datum::Text(t), Type::System(SystemType::Name)) if t.len() <= NAME_BYTES_MAX => Some(value.clone()),
        (Datum::Numeric(n), Type::Float8) => Some(Datum::Float(n.to_f64())),
        (Datum::Text(t), Type::Citext) if text_of(from) => Some(Datum::Citext(t.clone())),
        (Datum::Citext(t), Type::Text | Type::Varchar(None)) => Some(Datum::Text(t.clone())),
        (Datum::Text(t), Type::Varchar(Some(n))) if t.chars().count() <= *n as usize => Some(value.clone()),
        (Datum::Text(t), Type::Char(n)) if *n == 0 || t.chars().count() <= *n as usize => {
            Some(Datum::Text(t.trim_end_matches(' ').to_owned()))
        }
        _ => None,
    }
}

/// What a word stands for that a clock says, as a constant of that type. Not in texts that are kept: there it would be the
/// moment at which they were.
fn moment(word: &str, ty: &Type) -> Option<String> {
    let word = text_io::trim(word).to_ascii_lowercase();
    let word = word.strip_suffix("()").unwrap_or(&word);
    let of_day = match ty.plain() {
        Type::Date | Type::Timestamp | Type::TimestampTz => true,
        Type::Time | Type::Packed(PackedType::TimeTz(_)) => false,
        _ => return None,
    };
    if word == "now" {
        return Some("current_timestamp".to_owned());
    }
    let (day, clock) = word.split_once(' ').map_or((word, ""), |(day, clock)| (day, text_io::trim(clock)));
    let day = match day {
        "today" if of_day => "current_date",
        "tomorrow" if of_day => "current_date + 1",
        "yesterday" if of_day => "current_date - 1",
        _ => return None,
    };
    let plain = |c: char| c.is_ascii_digit() || matches!(c, ':' | '.' | ' ' | 'a' | 'p' | 'm');
    match clock {
        "" => Some(day.to_owned()),
        // By the clocks of UTC.
        "allballs" if *ty.plain() == Type::TimestampTz => {
            Some(format!("({day})::timestamp AT TIME ZONE 'UTC'"))
        }
        "allballs" => Some(format!("({day})::timestamp")),
        clock if clock.chars().all(plain) && datetime::parse_time(clock, DateOrder::Mdy).is_ok() => {
            Some(format!("({day}) + '{clock}'::time"))
        }
        _ => None,
    }
}

impl Lowerer<'_> {
    /// Converts an expression; 42846 or 42804 where that is not allowed.
    pub(super) fn coerce(&mut self, e: Bound, ty: &Type, context: CastContext) -> Result<Bound> {
        if e.ty == *ty {
            return Ok(e);
        }
        let position = e.position;
        if let Some(done) = self.coerce_reg(&e, ty, context)? {
            return Ok(done);
        }
        // Routines of before took arrays of rows as they are.
        let asked = match ty {
            Type::Record(_) => true,
            Type::Array(_) => self.program.kind == planaria_ir::ProgramKind::Statement,
            _ => false,
        };
        let read = asked
            && matches!(e.ty, Type::Unknown | Type::Text)
            && !matches!(e.kind, BoundKind::Const(Datum::Null) | BoundKind::Param(_));
        let done = self.convert(e, ty, context)?;
        if read && super::domain::has_domains(self.catalog, ty) {
            return Ok(Bound::new(BoundKind::InDomain(Box::new(done), None), ty.clone(), position));
        }
        Ok(done)
    }

    fn convert(&mut self, e: Bound, ty: &Type, context: CastContext) -> Result<Bound> {
        let position = e.position;
        if e.ty == Type::Unknown {
            match &e.kind {
                BoundKind::Param(n) => return self.infer_param(*n, ty, position),
                BoundKind::Const(Datum::Null) => return Ok(Bound::null(ty.clone(), position)),
                BoundKind::Const(Datum::Text(text)) => {
                    if !self.kept_text
                        && !e.kept
                        && let Some(moment) = moment(text, ty)
                    {
                        let bound = self.bind_text(&moment, position)?;
                        return self.coerce(bound, ty, CastContext::Explicit);
                    }
                    let kept = self.kept_text || e.kept;
                    let read = literal(text, &self.catalog.as_shown(ty), kept);
                    if let Some(value) = read.map_err(|e| e.at(position))? {
                        return Ok(Bound::constant(value, ty.clone(), position));
                    }
                    self.check_document(text, ty, kept).map_err(|e| e.at(position))?;
                    let text = Bound::new(e.kind, Type::Text, position);
                    let explicit = context == CastContext::Explicit;
                    return Ok(Bound::new(BoundKind::Cast(Box::new(text), explicit), ty.clone(), position));
                }
                _ => {}
            }
        }
        if let (Type::Record(from), Type::Record(to)) = (e.ty.clone(), ty) {
            return self.coerce_row(e, &from, to, context);
        }
        // The address of a client is NULL, a text to routines of before.
        if matches!((&e.kind, &e.ty), (BoundKind::Const(Datum::Null), Type::Text))
            && matches!(ty, Type::Packed(PackedType::Inet | PackedType::Cidr))
        {
            return Ok(Bound::null(ty.clone(), position));
        }
        if !cast_allowed(&e.ty, ty, context) {
            if self.castable(&e.ty, ty, context) {
                return self.by_text(e, ty, context);
            }
            // Whatever has a text has a name; that of a truth is its first letter, which no text of it is.
            if *ty == Type::NAME && cast_allowed(&e.ty, &Type::Text, context) {
                let text = match e.ty {
                    Type::Bool => Bound::apply(planaria_ir::Func::BoolOut, vec![e], Type::Text, position),
                    _ => self.coerce(e, &Type::Text, context)?,
                };
                return self.coerce(text, ty, CastContext::Explicit);
            }
            // PL/pgSQL assigns by its text what has no cast.
            if context == CastContext::Variable && matches!(e.ty, Type::Record(_)) {
                let text = self.coerce(e, &Type::Text, CastContext::Explicit)?;
                return self.coerce(text, ty, context);
            }
            let state = SqlState::CANNOT_COERCE;
            let [from, to] = [&e.ty, ty].map(|ty| super::operators::base_name(&self.catalog.as_shown(ty)));
            return Err(Error::new(state, format!("cannot cast type {from} to {to}")).at(position));
        }
        if let BoundKind::Const(value) = &e.kind
            && let Some(value) = fold(value, &e.ty, ty)
        {
            return Ok(Bound::constant(value, ty.clone(), position));
        }
        if self.relabels(&e.ty, ty) {
            return Ok(match e.kind {
                BoundKind::Const(value) => Bound::constant(value, ty.clone(), position),
                BoundKind::Relabel(inner) => Bound::new(BoundKind::Relabel(inner), ty.clone(), position),
                _ => Bound::new(BoundKind::Relabel(Box::new(e)), ty.clone(), position),
            });
        }
        // ARRAY['a', 'b']::date[] converts its elements, not their text.
        let explicit = context == CastContext::Explicit;
        Ok(Bound::new(BoundKind::Cast(Box::new(e), explicit), ty.clone(), position))
    }

    /// A literal that is read when the statement runs is wrong before: also where no row asks for it. In routines it is wrong
    /// when they are called, as in PostgreSQL.
    fn check_document(&self, text: &str, ty: &Type, kept: bool) -> Result<()> {
        let passing = self.program.kind == planaria_ir::ProgramKind::Statement && !kept;
        match ty {
            Type::Jsonb | Type::Bytea if passing => Datum::parse(ty, text).map(|_| ()),
            _ => Ok(()),
        }
    }

    /// Whether a conversion only changes how the value is called. To what a former version made, that of a real to double
    /// precision is one: logs have calls of it.
    pub(super) fn relabels(&self, from: &Type, to: &Type) -> bool {
        let (mut of, mut into) = (from, to);
        while let (Type::Array(a), Type::Array(b)) = (of, into) {
            (of, into) = (a, b);
        }
        is_relabel(from, to)
            || (self.reads_after || self.former_reals) && matches!((of, into), (Type::Float4, Type::Float8))
    }

    /// Whether a value of one type may become one of the other: what users allow is allowed, too.
    pub(super) fn castable(&self, from: &Type, to: &Type, context: CastContext) -> bool {
        use planaria_base::types::CastContext as Needs;
        cast_allowed(from, to, context)
            || match self.catalog.cast_context(from, to) {
                Needs::Implicit => true,
                Needs::Assignment => context >= CastContext::Assignment,
                Needs::Explicit => context >= CastContext::Variable,
                Needs::None => false,
            }
    }

    /// What a user's cast does: the value's text is read as one of the other type.
    fn by_text(&mut self, e: Bound, ty: &Type, context: CastContext) -> Result<Bound> {
        if !cast_allowed(&e.ty, ty, CastContext::Explicit) {
            let text = self.coerce(e, &Type::Text, CastContext::Explicit)?;
            return self.coerce(text, ty, CastContext::Explicit);
        }
        let explicit = context == CastContext::Explicit;
        let position = e.position;
        Ok(Bound::new(BoundKind::Cast(Box::new(e), explicit), ty.clone(), position))
    }

    /// An unknown literal that no context gave a type becomes text.
    pub(super) fn settle(&mut self, e: Bound) -> Result<Bound> {
        if e.ty == Type::Unknown { self.coerce(e, &Type::Text, CastContext::Implicit) } else { Ok(e) }
    }

    /// The value as a condition.
    pub(super) fn boolean(&mut self, e: Bound, what: &str) -> Result<Bound> {
        if e.ty == Type::Bool || e.ty == Type::Unknown {
            return self.coerce(e, &Type::Bool, CastContext::Implicit);
        }
        let message = format!("argument of {what} must be type boolean, not type {}", e.ty);
        Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(e.position))
    }

    /// The common type of the branches of a CASE, UNION, VALUES, ARRAY, ...
    pub(super) fn common_type(&self, what: &str, types: &[(&Type, u32)]) -> Result<Type> {
        let mut known = types.iter().filter(|(t, _)| **t != Type::Unknown);
        let Some((first, _)) = known.next() else { return Ok(Type::Text) };
        let mut chosen = (*first).clone();
        let mut alike = true;
        for (ty, position) in known {
            if **ty == chosen {
                continue;
            }
            alike = false;
            if same_base(ty, &chosen) {
                continue;
            }
            let castable = |from, to| cast_allowed(from, to, CastContext::Implicit);
            let unlike = matches!(ty, Type::Array(_)) && !castable(ty, &chosen) && !castable(&chosen, ty);
            if category(ty) != category(&chosen) || unlike {
                let [one, other] = [&chosen, ty].map(|ty| self.catalog.as_shown(&ty.base()));
                let message = format!("{what} types {one} and {other} cannot be matched");
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(*position));
            }
            if !is_preferred(&chosen)
                && cast_allowed(&chosen, ty, CastContext::Implicit)
                && !cast_allowed(ty, &chosen, CastContext::Implicit)
                || is_preferred(ty)
                    && cast_allowed(&chosen, ty, CastContext::Implicit)
                    && !is_preferred(&chosen)
            {
                chosen = (*ty).clone();
            }
        }
        // Literals take the type with its modifier off: a longer one must fit.
        let all_known = types.iter().all(|(t, _)| **t != Type::Unknown);
        Ok(if alike && all_known { chosen } else { unmodified(&chosen) })
    }

    /// Converts the branches of a construct to their common type.
    pub(super) fn unify(&mut self, what: &str, branches: Vec<Bound>) -> Result<(Vec<Bound>, Type)> {
        let ty = {
            let types: Vec<_> = branches.iter().map(|b| (&b.ty, b.position)).collect();
            self.common_type(what, &types)?
        };
        let branches = branches
            .into_iter()
            .map(|b| {
                let (from, position) = (b.ty.clone(), b.position);
                self.coerce(b, &ty, CastContext::Implicit).map_err(|e| {
                    if e.sqlstate() == SqlState::CANNOT_COERCE {
                        let message = format!("{what} could not convert type {from} to {ty}");
                        Error::new(SqlState::CANNOT_COERCE, message).at(position)
                    } else {
                        e
                    }
                })
            })
            .collect::<Result<Vec<_>>>()?;
        Ok((branches, ty))
    }
}

/// The table whose row type a name is.
pub(crate) fn table_of_type<'c>(catalog: &'c Catalog, name: &Name) -> Option<&'c Table> {
    let wanted = super::bind_call::named(catalog, name).ok()?;
    catalog.of_rows(catalog.located(wanted))
}

/// The table of `table.column%TYPE`.
pub(super) fn table_of_column<'c>(catalog: &'c Catalog, path: &Name) -> Option<&'c Table> {
    let table = Name { parts: path.parts[..path.parts.len() - 1].to_vec(), position: path.position };
    table_of_type(catalog, &table)
}

/// The type that a type name stands for.
pub(crate) fn resolve(catalog: &Catalog, name: &TypeName) -> Result<Type> {
    match &name.kind {
        TypeNameKind::Known(ty) | TypeNameKind::Serial(ty) => Ok(ty.clone()),
        TypeNameKind::OfColumn(path) => {
            let [.., table, column] = &path.parts[..] else {
                return Err(unknown(&path.parts.join("."), name.position));
            };
            let of = table_of_column(catalog, path);
            let found = of.and_then(|t| t.column(column));
            found.map(|(_, c)| c.ty.clone()).ok_or_else(|| {
                let e = match of {
                    None => {
                        Error::new(SqlState::UNDEFINED_TABLE, format!("relation \"{table}\" does not exist"))
                    }
                    Some(_) => Error::new(
                        SqlState::UNDEFINED_COLUMN,
                        format!("column \"{column}\" of relation \"{table}\" does not exist"),
                    ),
                };
                e.at(name.position)
            })
        }
        TypeNameKind::Named(path) | TypeNameKind::RowOf(path)
            if let Some(table) = table_of_type(catalog, path) =>
        {
            Ok(Type::Record(super::row_type(catalog, table)))
        }
        TypeNameKind::Named(path) if super::user_type(catalog, path).is_some() => {
            Ok(super::user_type(catalog, path).expect("there is one").values())
        }
        TypeNameKind::Named(path) if extension_type(catalog, path).is_some() => {
            Ok(extension_type(catalog, path).expect("there is one"))
        }
        TypeNameKind::NamedArray(path) => match super::user_type(catalog, path) {
            Some(ty) if !matches!(ty.values(), Type::Array(_)) => Ok(Type::Array(Box::new(ty.values()))),
            Some(_) => {
                let hint = "Use an array of the type that the domain is over.";
                Err(Error::unsupported("an array of a domain over an array is not supported", hint)
                    .at(name.position))
            }
            None => match table_of_type(catalog, path) {
                Some(table) => Ok(Type::Array(Box::new(Type::Record(super::row_type(catalog, table))))),
                None if let Some(ty) = extension_type(catalog, path) => Ok(Type::Array(Box::new(ty))),
                None => Err(unknown(&format!("{}[]", path.parts.join(".")), name.position)),
            },
        },
        TypeNameKind::Named(path) | TypeNameKind::RowOf(path) => {
            if path.parts.len() == 2 {
                super::bind_call::named(catalog, path)?;
            }
            Err(unknown(&path.parts.join("."), name.position))
        }
        TypeNameKind::Record => {
            Err(Error::unsupported("a record cannot be used as a value here", "name its fields one by one")
                .at(name.position))
        }
        TypeNameKind::Pseudo(p) => {
            Err(Error::unsupported(format!("pseudo-type {p} is not supported here"), "use a type of values")
                .at(name.position))
        }
    }
}

/// The type of an extension that a name stands for.
pub(crate) fn extension_type(catalog: &Catalog, name: &Name) -> Option<Type> {
    let wanted = super::bind_call::named(catalog, name).ok()?;
    // Those of the system's are none of them.
    let system = name.parts.len() > 1 && wanted.schema.is_none();
    catalog.extension_type(wanted).filter(|_| !system)
}

/// 42704 as PostgreSQL words it; 0A000 for a type that it has.
pub(crate) fn unknown(name: &str, position: u32) -> Error {
    let plain = name.strip_prefix("pg_catalog.").unwrap_or(name);
    if let Some(error) = super::known::named_type(plain) {
        return error.at(position);
    }
    Error::new(SqlState::UNDEFINED_OBJECT, format!("type \"{name}\" does not exist")).at(position)
}
