//! The scalar functions against answers of PostgreSQL 15.
//!
//! `data/functions.tsv` has one case a line, in three columns: the SQL expression (which PostgreSQL
//! evaluated, and which the SQL room evaluates again), the same as a call of [`Func`]s, and the
//! answer. An answer is the text form, `<NULL>`, or an error `!sqlstate message // detail`.
//!
//! Calls: `name(expr, ...)` with the names of the IR's text form, `cast(expr as type)`,
//! `type 'literal'`, `NULL`.
//!
//! `PLANARIA_FUNCTION_CASES` names another file of the same form.

use planaria_base::{Error, Type};
use planaria_exec::functions::{call, cast, display};
use planaria_exec::heap::Heap;
use planaria_exec::slot::Slot;
use planaria_ir::Func;
use planaria_ir::func::Sig;

struct Parser<'a> {
    rest: &'a str,
    heap: Heap,
}

type Typed = (Slot, Type);

fn type_named(name: &str) -> Type {
    if let Some(element) = name.strip_suffix("[]") {
        return Type::Array(Box::new(type_named(element)));
    }
    let (base, modifiers) = match name.split_once('(') {
        Some((base, rest)) => {
            (base, rest.trim_end_matches(')').split(',').map(|n| n.parse().unwrap()).collect())
        }
        None => (name, Vec::<u32>::new()),
    };
    match (base, &modifiers[..]) {
        ("boolean", _) => Type::Bool,
        ("smallint", _) => Type::Int2,
        ("integer", _) => Type::Int4,
        ("bigint", _) => Type::Int8,
        ("numeric", []) => Type::Numeric(None),
        ("numeric", [p]) => Type::Numeric(Some((*p as u16, 0))),
        ("numeric", [p, s]) => Type::Numeric(Some((*p as u16, *s as i16))),
        ("double precision", _) => Type::Float8,
        ("text", _) => Type::Text,
        ("varchar", []) => Type::Varchar(None),
        ("varchar", [n]) => Type::Varchar(Some(*n)),
        ("char", [n]) => Type::Char(*n),
        ("bytea", _) => Type::Bytea,
        ("date", _) => Type::Date,
        ("timestamp", _) => Type::Timestamp,
        ("timestamptz", _) => Type::TimestampTz,
        ("interval", _) => Type::Interval,
        ("uuid", _) => Type::Uuid,
        _ => panic!("no type {name}"),
    }
}

/// The type of a function's result, as the binder would find it.
fn result_type(func: Func, args: &[Typed]) -> Type {
    let first = |sig: &[Sig]| {
        let kinds =
            func.args().iter().copied().chain(std::iter::repeat_with(|| func.variadic().unwrap_or(Sig::X)));
        args.iter()
            .zip(kinds)
            .find(|((_, ty), kind)| sig.contains(kind) && *ty != Type::Unknown)
            .map(|((_, ty), _)| ty.clone())
    };
    match func.result() {
        Sig::B => Type::Bool,
        Sig::I => Type::Int8,
        Sig::N => Type::Numeric(None),
        Sig::F => Type::Float8,
        Sig::T => Type::Text,
        Sig::Y => Type::Bytea,
        Sig::R => first(&[Sig::R]).unwrap_or(Type::Unknown),
        Sig::L | Sig::H | Sig::Z => first(&[func.result()]).unwrap_or(Type::Unknown),
        Sig::W => Type::Packed(planaria_base::packed::PackedType::TimeTz(None)),
        Sig::M => Type::Packed(planaria_base::packed::PackedType::Money),
        Sig::P => Type::Packed(planaria_base::packed::PackedType::TsVector),
        Sig::Q => Type::Packed(planaria_base::packed::PackedType::TsQuery),
        Sig::D => Type::Date,
        Sig::S if func == Func::ToTimestampFloat => Type::TimestampTz,
        Sig::S => first(&[Sig::S]).unwrap_or(Type::Timestamp),
        Sig::V => Type::Interval,
        Sig::C => Type::Time,
        Sig::U => Type::Uuid,
        Sig::E => Type::Citext,
        Sig::J => Type::Jsonb,
        Sig::K => first(&[Sig::K]).unwrap_or(Type::Jsonb),
        Sig::A if func == Func::StringToArray => Type::Array(Box::new(Type::Text)),
        Sig::A => first(&[Sig::A])
            .unwrap_or_else(|| Type::Array(Box::new(first(&[Sig::X]).unwrap_or(Type::Unknown)))),
        Sig::X => match first(&[Sig::A]) {
            Some(Type::Array(element)) => *element,
            _ => first(&[Sig::X]).unwrap_or(Type::Unknown),
        },
    }
}

impl<'a> Parser<'a> {
    fn eat(&mut self, token: &str) -> bool {
        let found = self.rest.strip_prefix(token);
        self.rest = found.unwrap_or(self.rest);
        found.is_some()
    }
    fn until(&mut self, stop: &str) -> &'a str {
        let at = self.rest.find(stop).unwrap_or_else(|| panic!("no {stop} in {}", self.rest));
        let head = &self.rest[..at];
        self.rest = &self.rest[at + stop.len()..];
        head
    }

    fn expr(&mut self) -> Result<Typed, Error> {
        if self.eat("NULL") {
            return Ok((Slot::Null, Type::Unknown));
        }
        if self.eat("cast(") {
            let (slot, from) = self.expr()?;
            assert!(self.eat(" as "));
            let to = self.until(if self.rest.contains("))") && self.rest.find("))") < self.rest.find(") ") {
                "))"
            } else {
                ")"
            });
            let to = type_named(&if to.contains('(') { format!("{to})") } else { to.to_owned() });
            return Ok((cast(slot, &from, &to, true, &mut self.heap)?, to));
        }
        let (name_end, is_call) = self.head();
        let name = &self.rest[..name_end];
        if is_call {
            self.rest = &self.rest[name_end + 1..];
            let func = Func::parse(name).unwrap_or_else(|| panic!("no function {name}"));
            let mut args = Vec::new();
            while !self.eat(")") {
                args.push(self.expr()?);
                self.eat(", ");
            }
            let slots: Vec<Slot> = args.iter().map(|(slot, _)| *slot).collect();
            let ty = result_type(func, &args);
            return Ok((call(func, &slots, &mut self.heap)?, ty));
        }
        let ty = type_named(name);
        self.rest = &self.rest[name_end + 2..];
        let mut literal = String::new();
        loop {
            literal.push_str(self.until("'"));
            if !self.eat("'") {
                break;
            }
            literal.push('\'');
        }
        let text = self.heap.text(&literal)?;
        let value = cast(text, &Type::Text, &ty, true, &mut self.heap)?;
        Ok((value, ty))
    }

    /// Where the name at the front ends, and whether it is a function's.
    fn head(&self) -> (usize, bool) {
        let quote = self.rest.find(" '").unwrap_or(usize::MAX);
        match self.rest.find('(') {
            Some(open) if open < quote && Func::parse(&self.rest[..open]).is_some() => (open, true),
            _ => (quote, false),
        }
    }
}

fn evaluate(expr: &str) -> String {
    let mut parser = Parser { rest: expr, heap: Heap::new() };
    match parser.expr() {
        Ok((Slot::Null, _)) => "<NULL>".to_owned(),
        Ok((slot, ty)) => display(&parser.heap, slot, &ty),
        Err(e) => {
            let detail = e.fields().detail.as_ref().map_or(String::new(), |d| format!(" // {d}"));
            format!("!{} {}{detail}", e.sqlstate(), e.message())
        }
    }
}

#[test]
fn answers_are_those_of_postgresql() {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/functions.tsv").to_owned();
    let path = std::env::var("PLANARIA_FUNCTION_CASES").unwrap_or(own);
    let cases = std::fs::read_to_string(&path).unwrap();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for line in cases.lines().filter(|l| !l.is_empty() && !l.starts_with('#')) {
        let mut columns = line.split('\t');
        let (sql, expr, expected) = (columns.next(), columns.next(), columns.next());
        let (Some(sql), Some(expr), Some(expected)) = (sql, expr, expected) else {
            panic!("three columns: {line}")
        };
        count += 1;
        let found = evaluate(expr);
        if found != expected {
            wrong.push(format!("{sql}\n  {expr}\n  expected {expected}\n  found    {found}"));
        }
    }
    assert!(count > 0);
    assert!(
        wrong.is_empty(),
        "{} of {count} differ:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(40)].join("\n")
    );
}
