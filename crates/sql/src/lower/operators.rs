//! Operators: their table, and the choice between overloads.

use super::Lowerer;
use super::bind_expr::arrayed;
use super::bound::{Bound, BoundKind};
use super::resolve::{Choice, choose};
use super::types::{CastContext, same_base, unmodified};
use planaria_base::datetime::Interval;
use planaria_base::types::{PackedKind, TypeClass};
use planaria_base::{Datum, Error, Result, SqlState, Type};
use planaria_ir::Func;
use planaria_syntax::ast::{BinaryOp, UnaryOp};

/// An operator: what it takes and gives. Functions whose operands come the other way round are `swapped`.
pub(super) struct Operator {
    pub(super) left: Type,
    pub(super) right: Type,
    pub(super) func: Func,
    pub(super) result: Type,
    pub(super) swapped: bool,
}

pub(super) fn op(left: Type, right: Type, func: Func, result: Type) -> Operator {
    Operator { left, right, func, result, swapped: false }
}

const NUMERIC: Type = Type::Numeric(None);

/// The width rules of integers: the wider operand's.
fn integer(op: BinaryOp, ty: &Type) -> Option<Func> {
    use Func::*;
    let pick = |two, four, eight| match ty {
        Type::Int2 => two,
        Type::Int4 => four,
        _ => eight,
    };
    Some(match op {
        BinaryOp::Add => pick(Int2Add, Int4Add, Int8Add),
        BinaryOp::Sub => pick(Int2Sub, Int4Sub, Int8Sub),
        BinaryOp::Mul => pick(Int2Mul, Int4Mul, Int8Mul),
        BinaryOp::Div => pick(Int2Div, Int4Div, Int8Div),
        BinaryOp::Mod => IntMod,
        BinaryOp::BitAnd => IntAnd,
        BinaryOp::BitOr => IntOr,
        BinaryOp::BitXor => IntXor,
        _ => return None,
    })
}

/// The function that compares two values of a class.
pub(super) fn comparison(op: BinaryOp, class: TypeClass) -> Option<Func> {
    use Func::*;
    let [eq, ne, lt, le, gt, ge] = match class {
        TypeClass::Integer | TypeClass::DateTime | TypeClass::Time | TypeClass::Enum => {
            [IntEq, IntNe, IntLt, IntLe, IntGt, IntGe]
        }
        TypeClass::Interval => [IntervalEq, IntervalNe, IntervalLt, IntervalLe, IntervalGt, IntervalGe],
        TypeClass::Numeric => [NumEq, NumNe, NumLt, NumLe, NumGt, NumGe],
        TypeClass::Float => [FltEq, FltNe, FltLt, FltLe, FltGt, FltGe],
        TypeClass::Text => [TextEq, TextNe, TextLt, TextLe, TextGt, TextGe],
        TypeClass::Citext => [CitextEq, CitextNe, CitextLt, CitextLe, CitextGt, CitextGe],
        TypeClass::Bool => [BoolEq, BoolNe, BoolLt, BoolLe, BoolGt, BoolGe],
        TypeClass::Json => [JsonbEq, JsonbNe, JsonbLt, JsonbLe, JsonbGt, JsonbGe],
        TypeClass::Bytea | TypeClass::Range | TypeClass::Packed => {
            [BytesEq, BytesNe, BytesLt, BytesLe, BytesGt, BytesGe]
        }
        TypeClass::Uuid => [UuidEq, UuidNe, UuidLt, UuidLe, UuidGt, UuidGe],
        TypeClass::Array => {
            return match op {
                BinaryOp::Eq => Some(ArrayEq),
                BinaryOp::Ne => Some(ArrayNe),
                _ => None,
            };
        }
        TypeClass::Other => return None,
    };
    Some(match op {
        BinaryOp::Eq => eq,
        BinaryOp::Ne => ne,
        BinaryOp::Lt => lt,
        BinaryOp::Le => le,
        BinaryOp::Gt => gt,
        BinaryOp::Ge => ge,
        _ => return None,
    })
}

pub(super) fn is_comparison(op: BinaryOp) -> bool {
    use BinaryOp::*;
    matches!(op, Eq | Ne | Lt | Le | Gt | Ge)
}

/// All overloads of an operator that do not depend on element types.
fn table(which: BinaryOp) -> Vec<Operator> {
    use BinaryOp::*;
    use Type::{
        Bool, Bytea, Date, Float4, Float8, Int2, Int4, Int8, Interval, Jsonb, Text, Time, Timestamp,
        TimestampTz, Uuid,
    };
    // Reals beside doubles are doubles.
    let mixed = [(Float4, Float8), (Float8, Float4)];
    let mut all = Vec::new();
    if is_comparison(which) {
        for ty in [
            Bool,
            Int2,
            Int4,
            Int8,
            NUMERIC,
            Float4,
            Float8,
            Text,
            Bytea,
            Date,
            Time,
            Timestamp,
            TimestampTz,
            Interval,
            Uuid,
            Jsonb,
            Type::Citext,
            Type::OID,
            Type::TID,
        ] {
            if let Some(func) = comparison(which, ty.class()) {
                all.push(op(ty.clone(), ty, func, Bool));
            }
        }
        all.extend(super::packed::operators(which));
        for (left, right) in mixed {
            if let Some(func) = comparison(which, TypeClass::Float) {
                all.push(op(left, right, func, Bool));
            }
        }
        return all;
    }
    for ty in [Int2, Int4, Int8] {
        if let Some(func) = integer(which, &ty) {
            all.push(op(ty.clone(), ty.clone(), func, ty));
        }
    }
    let reals = match which {
        Add => Some((Func::RealAdd, Func::FltAdd)),
        Sub => Some((Func::RealSub, Func::FltSub)),
        Mul => Some((Func::RealMul, Func::FltMul)),
        Div => Some((Func::RealDiv, Func::FltDiv)),
        _ => None,
    };
    if let Some((real, double)) = reals {
        all.push(op(Float4, Float4, real, Float4));
        all.extend(mixed.map(|(left, right)| op(left, right, double, Float8)));
    }
    let mut both = |ty: Type, func| all.push(op(ty.clone(), ty.clone(), func, ty));
    match which {
        Add => {
            both(NUMERIC, Func::NumAdd);
            both(Float8, Func::FltAdd);
            both(Interval, Func::IntervalAdd);
            all.push(op(Date, Int4, Func::DateAddInt, Date));
            all.push(Operator { swapped: true, ..op(Int4, Date, Func::DateAddInt, Date) });
            all.push(op(Date, Time, Func::DateAddTime, Timestamp));
            all.push(Operator { swapped: true, ..op(Time, Date, Func::DateAddTime, Timestamp) });
            for (ty, func) in [
                (Timestamp, Func::TimestampAddInterval),
                (TimestampTz, Func::TzAddInterval),
                (Time, Func::TimeAddInterval),
            ] {
                all.push(op(ty.clone(), Interval, func, ty.clone()));
                all.push(Operator { swapped: true, ..op(Interval, ty.clone(), func, ty) });
            }
        }
        Sub => {
            both(NUMERIC, Func::NumSub);
            both(Float8, Func::FltSub);
            both(Interval, Func::IntervalSub);
            all.push(op(Date, Int4, Func::DateSubInt, Date));
            all.push(op(Date, Date, Func::DateSub, Int4));
            all.push(op(Time, Interval, Func::TimeSubInterval, Time));
            all.push(op(Time, Time, Func::TimeSub, Interval));
            for (ty, func) in [(Timestamp, Func::TimestampSubInterval), (TimestampTz, Func::TzSubInterval)] {
                all.push(op(ty.clone(), Interval, func, ty.clone()));
                all.push(op(ty.clone(), ty, Func::TimestampSub, Interval));
            }
        }
        Mul => {
            both(NUMERIC, Func::NumMul);
            both(Float8, Func::FltMul);
            all.push(op(Interval, Float8, Func::IntervalMul, Interval));
            all.push(Operator { swapped: true, ..op(Float8, Interval, Func::IntervalMul, Interval) });
        }
        Div => {
            both(NUMERIC, Func::NumDiv);
            both(Float8, Func::FltDiv);
            all.push(op(Interval, Float8, Func::IntervalDiv, Interval));
        }
        Mod => both(NUMERIC, Func::NumMod),
        Pow => {
            both(Float8, Func::FltPower);
            both(NUMERIC, Func::NumPower);
        }
        BeginsWith => all.push(op(Text, Text, Func::StartsWith, Bool)),
        Concat => {
            both(Text, Func::TextConcat);
            both(Bytea, Func::BytesConcat);
        }
        Shl => {
            all.push(op(Int2, Int4, Func::Int2Shl, Int2));
            all.push(op(Int4, Int4, Func::Int4Shl, Int4));
            all.push(op(Int8, Int4, Func::Int8Shl, Int8));
        }
        Shr => {
            all.push(op(Int2, Int4, Func::Int2Shr, Int2));
            all.push(op(Int4, Int4, Func::Int4Shr, Int4));
            all.push(op(Int8, Int4, Func::Int8Shr, Int8));
        }
        _ => {}
    }
    all.extend(super::packed::operators(which));
    all
}

/// Whether a value is of a type of texts.
pub(super) fn is_string(ty: &Type) -> bool {
    matches!(ty.class(), TypeClass::Text | TypeClass::Citext)
}

/// Whether LIKE and the like ignore case: a `citext` is matched, or a literal with one.
pub(super) fn without_case(text: &Type, pattern: &Type) -> bool {
    *text == Type::Citext || *text == Type::Unknown && *pattern == Type::Citext
}

/// The operator as it is written.
pub(crate) fn symbol(op: BinaryOp) -> &'static str {
    use BinaryOp::*;
    match op {
        Or => "OR",
        And => "AND",
        Eq => "=",
        Ne => "<>",
        Lt => "<",
        Le => "<=",
        Gt => ">",
        Ge => ">=",
        Add => "+",
        Sub => "-",
        Mul => "*",
        Div => "/",
        Mod => "%",
        Pow => "^",
        Concat => "||",
        BitAnd => "&",
        BitOr => "|",
        BitXor => "#",
        Shl => "<<",
        Shr => ">>",
        Regex { insensitive: false, negated: false } => "~",
        Regex { insensitive: true, negated: false } => "~*",
        Regex { insensitive: false, negated: true } => "!~",
        Regex { insensitive: true, negated: true } => "!~*",
        Like { insensitive: false, negated: false } => "~~",
        Like { insensitive: true, negated: false } => "~~*",
        Like { insensitive: false, negated: true } => "!~~",
        Like { insensitive: true, negated: true } => "!~~*",
        Contains => "@>",
        ContainedBy => "<@",
        Overlaps => "&&",
        EndsWithin => "&<",
        BeginsWithin => "&>",
        Adjacent => "-|-",
        BeginsWith => "^@",
        WithinOrSame => "<<=",
        HoldsOrSame => ">>=",
        Matches => "@@",
        FollowedBy => "<->",
        Json(op) => op.symbol(),
        Similar(op) => op.symbol(),
    }
}

/// The least value of an integer type: its negative is none.
fn least(ty: &Type) -> i64 {
    match ty {
        Type::Int2 => i16::MIN.into(),
        Type::Int4 => i32::MIN.into(),
        _ => i64::MIN,
    }
}

impl Lowerer<'_> {
    /// An operand of `||` beside a text, as text.
    fn joined(&mut self, e: Bound) -> Result<Bound> {
        match (&e.ty, &e.kind) {
            (Type::Record(_), BoundKind::Row(fields)) => {
                let row = self.record(fields.clone(), Vec::new(), e.position)?;
                self.output_text(row)
            }
            (Type::Record(_), _) => self.output_text(e),
            _ => self.coerce(e, &Type::Text, CastContext::Assignment),
        }
    }

    /// An infix operator over bound operands (all but AND and OR).
    pub(super) fn binary(
        &mut self,
        which: BinaryOp,
        mut left: Bound,
        mut right: Bound,
        position: u32,
    ) -> Result<Bound> {
        if is_comparison(which) {
            // A literal or a parameter beside a char(n) is one too: its trailing blanks do not count.
            match (&left.ty, &right.ty) {
                (Type::Char(_), Type::Unknown) => right = self.beside_char(right)?,
                (Type::Unknown, Type::Char(_)) => left = self.beside_char(left)?,
                _ => {}
            }
        }
        (left, right) = (arrayed(left), arrayed(right));
        if let Some(bound) = self.record_operator(which, &left, &right, position)? {
            return Ok(bound);
        }
        let (l, r) = (left.ty.clone(), right.ty.clone());
        // Aliases of oid compare as what they are; they have no arithmetic.
        let int = |t: &Type| match t {
            &Type::TID => false,
            _ => t.class() == TypeClass::Integer && (is_comparison(which) || !t.is_oid()),
        };
        // Mixed integers have operators of their own.
        if int(&l) && int(&r) {
            let wide = if [&l, &r].contains(&&Type::Int8) {
                Type::Int8
            } else if [&l, &r].contains(&&Type::Int4) {
                Type::Int4
            } else {
                Type::Int2
            };
            if is_comparison(which) {
                let func = comparison(which, TypeClass::Integer).expect("integers compare");
                return Ok(Bound::apply(func, vec![left, right], Type::Bool, position));
            }
            if let Some(func) = integer(which, &wide) {
                return Ok(Bound::apply(func, vec![left, right], wide, position));
            }
        }
        if let Some(bound) = self.enum_operator(which, &left, &right, position)? {
            return Ok(bound);
        }
        if let Some(bound) = self.json_operator(which, &left, &right, position)? {
            return Ok(bound);
        }
        if let Some(bound) = self.range_operator(which, &left, &right, position)? {
            return Ok(bound);
        }
        if let Some(bound) = self.search_operator(which, &left, &right, position)? {
            return Ok(bound);
        }
        if let Some(bound) = self.trigram_operator(which, &left, &right, position)? {
            return Ok(bound);
        }
        if let Some(bound) = self.array_operator(which, &left, &right, position)? {
            return Ok(bound);
        }
        if let BinaryOp::Regex { insensitive, negated } | BinaryOp::Like { insensitive, negated } = which {
            let string = |t: &Type| is_string(t) || *t == Type::Unknown;
            if !string(&l) || !string(&r) {
                return Err(no_operator(symbol(which), Some(&l), &r, position));
            }
            let insensitive = insensitive || without_case(&l, &r);
            let left = self.operand(left, &Type::Text)?;
            let right = self.operand(right, &Type::Text)?;
            let func = match (which, insensitive) {
                (BinaryOp::Like { .. }, false) => Func::LikePlain,
                (BinaryOp::Like { .. }, true) => Func::ILikePlain,
                (_, false) => Func::Regex,
                (_, true) => Func::IRegex,
            };
            let args = vec![left, right];
            let found = Bound::apply(func, args, Type::Bool, position);
            return Ok(if negated { found.negated() } else { found });
        }
        if which == BinaryOp::Concat {
            // anynonarray || text: anything is converted, as by assignment, when the other side is a string.
            let text = is_string;
            // Rows are kept as arrays are, and are none.
            let array = |t: &Type| t.class() == TypeClass::Array && !matches!(t, Type::Record(_));
            if (text(&l) || text(&r) || l == Type::Unknown && r == Type::Unknown) && !array(&l) && !array(&r)
            {
                let (left, right) = (self.joined(left)?, self.joined(right)?);
                return Ok(Bound::apply(Func::TextConcat, vec![left, right], Type::Text, position));
            }
            // A bare literal beside a value of another class is text too: 1 || 'a'. Beside bits it is bits, and the like.
            use PackedKind::{Bits, TsQuery, TsVector};
            let bits =
                |t: &Type| matches!(t, Type::Packed(of) if matches!(of.kind(), Bits | TsVector | TsQuery));
            if !bits(&l)
                && !bits(&r)
                && (l == Type::Unknown) != (r == Type::Unknown)
                && l != Type::Bytea
                && r != Type::Bytea
                && !array(&l)
                && !array(&r)
            {
                let (left, right) = (self.joined(left)?, self.joined(right)?);
                return Ok(Bound::apply(Func::TextConcat, vec![left, right], Type::Text, position));
            }
        }
        // A date moves by an interval as the timestamp of its midnight.
        let moves = |date: &Type, by: &Type| *date == Type::Date && by.class() == TypeClass::Interval;
        if matches!(which, BinaryOp::Add | BinaryOp::Sub) && moves(&l, &r) {
            let left = self.coerce(left, &Type::Timestamp, CastContext::Implicit)?;
            return self.binary(which, left, right, position);
        }
        if which == BinaryOp::Add && moves(&r, &l) {
            let right = self.coerce(right, &Type::Timestamp, CastContext::Implicit)?;
            return self.binary(which, left, right, position);
        }
        let table = table(which);
        let args = [unmodified(&l), unmodified(&r)];
        let candidates: Vec<Vec<Type>> =
            table.iter().map(|o| vec![o.left.clone(), o.right.clone()]).collect();
        let chosen = match choose(&candidates, &args) {
            Choice::One(i) => &table[i],
            Choice::None => return Err(no_operator(symbol(which), Some(&l), &r, position)),
            Choice::Ambiguous => {
                let message = format!("operator is not unique: {l} {} {r}", symbol(which));
                return Err(Error::new(SqlState::AMBIGUOUS_FUNCTION, message)
                    .at(position)
                    .with_hint(NOT_UNIQUE));
            }
        };
        let (left, right) = match is_comparison(which) {
            true => (self.dated(left, &chosen.left), self.dated(right, &chosen.right)),
            false => (left, right),
        };
        let left = self.operand(left, &chosen.left)?;
        let right = self.operand(right, &chosen.right)?;
        let args = if chosen.swapped { vec![right, left] } else { vec![left, right] };
        Ok(Bound::apply(chosen.func, args, chosen.result.clone(), position))
    }

    /// A date that is compared with a timestamp: one behind the last timestamp comes after all of them. In routines it is
    /// converted (22008), as logs have calls of them.
    fn dated(&self, e: Bound, to: &Type) -> Bound {
        let beside = e.ty == Type::Date && matches!(to, Type::Timestamp | Type::TimestampTz);
        if !beside || self.program.kind != planaria_ir::ProgramKind::Statement || self.kept_text {
            return e;
        }
        let position = e.position;
        Bound::apply(Func::DateToTimestamp, vec![e], Type::Timestamp, position)
    }

    fn beside_char(&mut self, mut e: Bound) -> Result<Bound> {
        match &mut e.kind {
            BoundKind::Const(Datum::Text(text)) => text.truncate(text.trim_end_matches(' ').len()),
            BoundKind::Param(n) => return self.infer_param(*n, &Type::Char(0), e.position),
            _ => {}
        }
        Ok(e)
    }

    /// A column of timestamps compared with an instant, which is done as instants: with a condition beside it that an index
    /// over the column can use. Clocks are less than a day ahead of UTC, or behind it, so the column is within a day of
    /// what they show at the instant. Where the comparison is true, so is that; so it changes nothing.
    pub(super) fn bounded_by_instant(
        &mut self,
        which: BinaryOp,
        left: &Bound,
        right: &Bound,
        position: u32,
    ) -> Result<Option<Bound>> {
        use BinaryOp::{Eq, Ge, Gt, Le, Lt};
        let column = |e: &Bound| *e.ty.plain() == Type::Timestamp && e.as_column().is_some();
        let simple = |l: &mut Self, e: &Bound| {
            let mut queries = false;
            e.children(&mut |_| {}, &mut |_| queries = true);
            *e.ty.plain() == Type::TimestampTz && !queries && !l.is_volatile(e)
        };
        let (left_column, right_column) = (column(left), column(right));
        let (column, instant, which) = match which {
            Eq | Lt | Le | Gt | Ge if left_column && simple(self, right) => (left, right, which),
            Eq | Lt | Le | Gt | Ge if right_column && simple(self, left) => {
                let turned = match which {
                    Lt => Gt,
                    Le => Ge,
                    Gt => Lt,
                    Ge => Le,
                    other => other,
                };
                (right, left, turned)
            }
            _ => return Ok(None),
        };
        let exact = self.coerce(column.clone(), &Type::TimestampTz, CastContext::Implicit)?;
        let func = comparison(which, TypeClass::DateTime).expect("instants compare");
        let mut whole = Bound::apply(func, vec![exact, instant.clone()], Type::Bool, position);
        let bounds = [
            (Le, Func::TimestampAddInterval, &[Eq, Lt, Le]),
            (Ge, Func::TimestampSubInterval, &[Eq, Gt, Ge]),
        ];
        for (bound, moved, _) in bounds.iter().filter(|(.., of)| of.contains(&which)) {
            let shown = self.coerce(instant.clone(), &Type::Timestamp, CastContext::Assignment)?;
            let day = Datum::Interval(Interval { months: 0, days: 1, micros: 0 });
            let day = Bound::constant(day, Type::Interval, position);
            let end = Bound::apply(*moved, vec![shown, day], Type::Timestamp, position);
            let func = comparison(*bound, TypeClass::DateTime).expect("timestamps compare");
            let within = Bound::apply(func, vec![column.clone(), end], Type::Bool, position);
            whole = within.and(whole);
        }
        Ok(Some(whole))
    }

    /// An argument converted to what a function takes; left alone where its register already holds that.
    pub(super) fn operand(&mut self, e: Bound, ty: &Type) -> Result<Bound> {
        if e.ty != Type::Unknown && (same_base(&e.ty, ty) || self.relabels(&e.ty, ty)) {
            return Ok(e);
        }
        self.coerce(e, ty, CastContext::Implicit)
    }

    /// `=` and the like over two values, for IN, CASE, NULLIF, USING.
    pub(super) fn compare(
        &mut self,
        op: BinaryOp,
        left: Bound,
        right: Bound,
        position: u32,
    ) -> Result<Bound> {
        match (left.kind, right.kind) {
            (BoundKind::Row(l), BoundKind::Row(r)) => self.compare_rows(op, l, r, position),
            (l, r) => {
                let left = Bound { kind: l, ..left };
                let right = Bound { kind: r, ..right };
                self.binary(op, left, right, position)
            }
        }
    }

    fn compare_rows(
        &mut self,
        op: BinaryOp,
        left: Vec<Bound>,
        right: Vec<Bound>,
        position: u32,
    ) -> Result<Bound> {
        if left.len() != right.len() {
            let message = "unequal number of entries in row expressions";
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(position));
        }
        let pairs: Vec<(Bound, Bound)> = left.into_iter().zip(right).collect();
        let mut result: Option<Bound> = None;
        match op {
            BinaryOp::Eq | BinaryOp::Ne => {
                for (l, r) in pairs {
                    let one = self.compare(op, l, r, position)?;
                    result = Some(match result {
                        None => one,
                        Some(all) if op == BinaryOp::Eq => all.and(one),
                        Some(any) => any.or(one),
                    });
                }
            }
            // (a, b) < (c, d) is a < c OR a = c AND b < d
            _ => {
                let strict = match op {
                    BinaryOp::Le => BinaryOp::Lt,
                    BinaryOp::Ge => BinaryOp::Gt,
                    other => other,
                };
                for (i, (l, r)) in pairs.into_iter().enumerate().rev() {
                    let last = result.take();
                    let which = if last.is_none() { op } else { strict };
                    let before = self.compare(which, l.clone(), r.clone(), position)?;
                    result = Some(match last {
                        None => before,
                        Some(rest) => before.or(self.compare(BinaryOp::Eq, l, r, position)?.and(rest)),
                    });
                    let _ = i;
                }
            }
        }
        result.ok_or_else(|| {
            Error::new(SqlState::SYNTAX_ERROR, "cannot compare rows of zero length").at(position)
        })
    }

    /// Operators over arrays, whose element types must agree.
    fn array_operator(
        &mut self,
        which: BinaryOp,
        left: &Bound,
        right: &Bound,
        position: u32,
    ) -> Result<Option<Bound>> {
        let (l, r) = (&left.ty, &right.ty);
        let is_array = |t: &Type| matches!(t, Type::Array(_));
        if !is_array(l) && !is_array(r) {
            return Ok(None);
        }
        if which == BinaryOp::Concat {
            let (func, array, element_left) = match (l, r) {
                (Type::Array(_), Type::Array(_) | Type::Unknown) => (Func::ArrayConcat, l, None),
                (Type::Unknown, Type::Array(_)) => (Func::ArrayConcat, r, None),
                (Type::Array(_), _) => (Func::ArrayAppend, l, Some(false)),
                _ => (Func::ArrayPrepend, r, Some(true)),
            };
            let Type::Array(of) = array else { unreachable!("one side is an array") };
            // The wider of the element types, as anycompatible has it.
            let mut element = unmodified(of);
            let other = match element_left {
                Some(true) => Some(unmodified(l)),
                Some(false) => Some(unmodified(r)),
                None => match (l, r) {
                    (Type::Array(_), Type::Array(r)) => Some(unmodified(r)),
                    _ => None,
                },
            };
            if let Some(other) = other {
                element = self
                    .common_type("array", &[(&element, left.position), (&other, right.position)])
                    .map_err(|_| no_operator("||", Some(l), r, position))?;
            }
            let whole = Type::Array(Box::new(element.clone()));
            let (lt, rt) = match element_left {
                Some(true) => (&element, &whole),
                Some(false) => (&whole, &element),
                None => (&whole, &whole),
            };
            let args = vec![self.operand(left.clone(), lt)?, self.operand(right.clone(), rt)?];
            return Ok(Some(Bound::apply(func, args, whole, position)));
        }
        let whole = if is_array(l) { l.clone() } else { r.clone() };
        if *l != Type::Unknown && *r != Type::Unknown && !same_base(l, r) {
            return Err(no_operator(symbol(which), Some(l), r, position));
        }
        let mut args = vec![self.operand(left.clone(), &whole)?, self.operand(right.clone(), &whole)?];
        let func = match which {
            BinaryOp::Eq => Func::ArrayEq,
            BinaryOp::Ne => Func::ArrayNe,
            BinaryOp::Contains => Func::ArrayContains,
            BinaryOp::ContainedBy => {
                args.reverse();
                Func::ArrayContains
            }
            // One array before the other: by their elements in order.
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
                let order = Bound::apply(Func::ArrayCompare, args, Type::Int4, position);
                let zero = Bound::constant(Datum::Int(0), Type::Int4, position);
                return self.binary(which, order, zero, position).map(Some);
            }
            BinaryOp::Overlaps => Func::ArrayOverlaps,
            _ => return Err(no_operator(symbol(which), Some(l), r, position)),
        };
        Ok(Some(Bound::apply(func, args, Type::Bool, position)))
    }

    /// A prefix operator.
    pub(super) fn unary(&mut self, which: UnaryOp, e: Bound, position: u32) -> Result<Bound> {
        let ty = unmodified(&e.ty);
        let apply = |func, e: Bound| {
            let ty = unmodified(&e.ty);
            Ok(Bound::apply(func, vec![e], ty, position))
        };
        match which {
            UnaryOp::Not => Ok(self.boolean(e, "NOT")?.negated()),
            UnaryOp::Plus | UnaryOp::Minus | UnaryOp::Abs if ty == Type::Unknown => {
                let symbol = match which {
                    UnaryOp::Plus => "+",
                    UnaryOp::Minus => "-",
                    _ => "@",
                };
                let message = format!("operator is not unique: {symbol} unknown");
                Err(Error::new(SqlState::AMBIGUOUS_FUNCTION, message).at(position).with_hint(NOT_UNIQUE))
            }
            UnaryOp::Plus
                if matches!(super::types::category(&ty), super::types::Category::Numeric)
                    && !matches!(ty, Type::Packed(_)) =>
            {
                Ok(e)
            }
            UnaryOp::Minus => {
                match &e.kind {
                    BoundKind::Const(Datum::Int(n)) if *n != least(&e.ty) => {
                        return Ok(Bound::constant(Datum::Int(-n), e.ty, position));
                    }
                    BoundKind::Const(Datum::Numeric(n)) => {
                        // 9223372036854775808 is a numeric; its negative is the smallest bigint, but
                        // stays numeric, as in PostgreSQL.
                        let negative = planaria_base::Numeric::from_parts(-n.mantissa(), n.scale());
                        return Ok(Bound::constant(
                            Datum::Numeric(negative.expect("the negative of a numeric is one")),
                            e.ty,
                            position,
                        ));
                    }
                    BoundKind::Const(Datum::Long(n)) => {
                        return Ok(Bound::constant(Datum::Long(Box::new(n.neg())), e.ty, position));
                    }
                    _ => {}
                }
                let func = match ty {
                    Type::Int2 => Func::Int2Neg,
                    Type::Int4 => Func::Int4Neg,
                    Type::Int8 => Func::Int8Neg,
                    Type::Numeric(_) => Func::NumNeg,
                    Type::Float4 | Type::Float8 => Func::FltNeg,
                    Type::Interval | Type::OldInterval => Func::IntervalNeg,
                    _ => return Err(no_operator("-", None, &e.ty, position)),
                };
                apply(func, e)
            }
            UnaryOp::Abs => {
                let func = match ty {
                    Type::Int2 => Func::Int2Abs,
                    Type::Int4 => Func::Int4Abs,
                    Type::Int8 => Func::Int8Abs,
                    Type::Numeric(_) => Func::NumAbs,
                    Type::Float4 | Type::Float8 => Func::FltAbs,
                    _ => return Err(no_operator("@", None, &e.ty, position)),
                };
                apply(func, e)
            }
            UnaryOp::SquareRoot | UnaryOp::CubeRoot => {
                let (symbol, func) = match which {
                    UnaryOp::SquareRoot => ("|/", Func::FltSqrt),
                    _ => ("||/", Func::FltCbrt),
                };
                if !super::types::cast_allowed(&ty, &Type::Float8, CastContext::Implicit) {
                    return Err(no_operator(symbol, None, &e.ty, position));
                }
                let e = self.operand(e, &Type::Float8)?;
                Ok(Bound::apply(func, vec![e], Type::Float8, position))
            }
            UnaryOp::NotFound if matches!(ty, Type::Unknown | super::search::QUERY) => {
                let e = self.operand(e, &super::search::QUERY)?;
                Ok(Bound::apply(Func::QueryNot, vec![e], super::search::QUERY, position))
            }
            UnaryOp::NotFound => Err(no_operator("!!", None, &e.ty, position)),
            UnaryOp::BitNot if ty.class() == TypeClass::Integer => apply(Func::IntNot, e),
            UnaryOp::Plus => Err(no_operator("+", None, &e.ty, position)),
            UnaryOp::BitNot => match super::packed::complement(&ty) {
                Some((func, ty)) => Ok(Bound::apply(func, vec![e], ty, position)),
                None => Err(no_operator("~", None, &e.ty, position)),
            },
        }
    }
}

const NOT_UNIQUE: &str =
    "Could not choose a best candidate operator. You might need to add explicit type casts.";

/// 42883 as PostgreSQL words it; 0A000 for an operator that it has.
pub(super) fn no_operator(symbol: &str, left: Option<&Type>, right: &Type, position: u32) -> Error {
    if let Some(error) = super::known::operator(symbol, left, right) {
        return error.at(position);
    }
    let right = base_name(right);
    let (message, hint) = match left {
        Some(left) => (
            format!("operator does not exist: {} {symbol} {right}", base_name(left)),
            "No operator matches the given name and argument types. You might need to add explicit type casts.",
        ),
        None => (
            format!("operator does not exist: {symbol} {right}"),
            "No operator matches the given name and argument type. You might need to add an explicit type cast.",
        ),
    };
    Error::new(SqlState::UNDEFINED_FUNCTION, message).at(position).with_hint(hint)
}

/// A type's name without its modifier, as error messages have it.
pub(crate) fn base_name(ty: &Type) -> String {
    match ty {
        Type::Char(_) => "character".to_owned(),
        Type::Array(of) => format!("{}[]", base_name(of)),
        other => other.base().to_string(),
    }
}

/// Whether a value is a text, or a literal that can be one.
pub(super) fn is_text_or_unknown(ty: &Type) -> bool {
    *ty == Type::Unknown || is_string(ty) && *ty != Type::JSON
}

/// Whether a literal without a type is a number.
pub(super) fn is_number_in_quotes(e: &Bound) -> bool {
    match e.as_const() {
        Some(Datum::Text(text)) => e.ty == Type::Unknown && text.trim().parse::<i32>().is_ok(),
        Some(Datum::Null) => true,
        _ => false,
    }
}
