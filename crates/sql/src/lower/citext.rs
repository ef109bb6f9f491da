//! Functions of `citext`: overloads of those over texts that ignore case, by what PostgreSQL's extension makes them of.
//!
//! An overload is meant where the text is a `citext` and what is looked for is one, too, or a literal; with a `text` for
//! either, the function over texts is.

use super::Lowerer;
use super::bound::{Bound, BoundKind};
use super::names::Names;
use super::types::CastContext;
use planaria_base::{Datum, Result, Type};
use planaria_ir::Func;
use planaria_syntax::ast::{BinaryOp, FunctionCall};

/// Of `regexp_matches` and `regexp_split_to_table`: no name of SQL has a blank, but for one in quotes.
const SETS: [(&str, &str); 2] =
    [("regexp_matches", "citext regexp_matches"), ("regexp_split_to_table", "citext regexp_split_to_table")];

/// Whether an overload over two `citext`s is meant.
fn is_meant(text: &Type, other: &Type) -> bool {
    let fits = |ty: &Type| matches!(ty, Type::Citext | Type::Unknown);
    fits(text) && fits(other) && (*text == Type::Citext || *other == Type::Citext)
}

impl Lowerer<'_> {
    /// A call of an overload; `None` where the call is of none.
    pub(super) fn citext_function(
        &mut self,
        name: &str,
        args: &[Bound],
        position: u32,
    ) -> Result<Option<Bound>> {
        let [text, other, rest @ ..] = args else { return Ok(None) };
        let takes = match name {
            "regexp_match" | "regexp_split_to_array" => rest.len() <= 1,
            "regexp_replace" => matches!(rest.len(), 1 | 2),
            "strpos" => rest.is_empty(),
            "replace" | "split_part" | "translate" => rest.len() == 1,
            _ => false,
        };
        let implicit = |from: &Type, to: &Type| {
            *from == Type::Unknown || super::types::cast_allowed(from, to, CastContext::Implicit)
        };
        let wanted = match name {
            "replace" => Type::Citext,
            "split_part" => Type::Int4,
            _ => Type::Text,
        };
        if !takes || !is_meant(&text.ty, &other.ty) || !rest.iter().all(|e| implicit(&e.ty, &wanted)) {
            return Ok(None);
        }
        let text = self.of_citext(text.clone())?;
        let other = self.of_citext(other.clone())?;
        let literal = |text: &str| Bound::constant(Datum::Text(text.to_owned()), Type::Text, position);
        let mut all = vec![text.clone(), other.clone()];
        match (name, rest) {
            ("strpos", _) => {
                let args = all.into_iter().map(|e| lower(e, position)).collect::<Vec<_>>();
                self.bind_builtin(name, &args, false, position)
            }
            ("replace", [by]) => {
                let args = [text, self.escaped(other, position)?, self.of_citext(by.clone())?, literal("gi")];
                self.bind_builtin("regexp_replace", &args, false, position)
            }
            ("split_part", [nth]) => {
                let nth = self.operand(nth.clone(), &Type::Int4)?;
                let args = [text, self.escaped(other, position)?, literal("i")];
                let Some(parts) = self.bind_builtin("regexp_split_to_array", &args, false, position)? else {
                    return Ok(None);
                };
                Ok(Some(Bound::apply(Func::ArrayGet, vec![parts, nth], Type::Text, position)))
            }
            ("translate", [by]) => {
                let by = self.operand(by.clone(), &Type::Text)?;
                self.with_let(other, |l, letters| {
                    l.with_let(by, |_, by| {
                        let args = vec![text, lower(letters.clone(), position), by.clone()];
                        let once = Bound::apply(Func::Translate, args, Type::Text, position);
                        let upper = Bound::apply(Func::Upper, vec![letters], Type::Text, position);
                        Ok(Bound::apply(Func::Translate, vec![once, upper, by], Type::Text, position))
                    })
                })
                .map(Some)
            }
            (_, rest) => {
                let (by, options) = match rest {
                    [by, options @ ..] if name == "regexp_replace" => (Some(by), options),
                    options => (None, options),
                };
                if let Some(by) = by {
                    all.push(self.operand(by.clone(), &Type::Text)?);
                }
                all.push(match options {
                    [options] => {
                        let options = self.operand(options.clone(), &Type::Text)?;
                        self.without_c(options, position)?
                    }
                    _ => literal("i"),
                });
                self.bind_builtin(name, &all, false, position)
            }
        }
    }

    /// The name of the query that a set-returning overload is.
    pub(super) fn citext_set(
        &mut self,
        names: &Names<'_>,
        call: &FunctionCall,
        name: &str,
    ) -> Result<Option<&'static str>> {
        let Some((_, ours)) = SETS.iter().find(|(set, _)| *set == name) else { return Ok(None) };
        let [text, other, ..] = &call.args[..] else { return Ok(None) };
        let [text, other] = [self.bind(names, &text.value)?.ty, self.bind(names, &other.value)?.ty];
        Ok(is_meant(&text, &other).then_some(*ours))
    }

    fn of_citext(&mut self, e: Bound) -> Result<Bound> {
        self.coerce(e, &Type::Text, CastContext::Implicit)
    }

    /// A text as a regular expression of itself, as the extension has it.
    fn escaped(&mut self, e: Bound, position: u32) -> Result<Bound> {
        let literal = |text: &str| Bound::constant(Datum::Text(text.to_owned()), Type::Text, position);
        let args = [e, literal("([^a-zA-Z_0-9])"), literal("\\\\\\1"), literal("g")];
        let made = self.bind_builtin("regexp_replace", &args, false, position)?;
        made.ok_or_else(|| planaria_base::Error::internal("a function of our own"))
    }

    /// Options with `i`, unless they have `c`.
    fn without_c(&mut self, options: Bound, position: u32) -> Result<Bound> {
        self.with_let(options, |l, options| {
            let literal = |text: &str| Bound::constant(Datum::Text(text.to_owned()), Type::Text, position);
            let found =
                Bound::apply(Func::Position, vec![options.clone(), literal("c")], Type::Int4, position);
            let zero = Bound::constant(Datum::Int(0), Type::Int4, position);
            let none = l.binary(BinaryOp::Eq, found, zero, position)?;
            let with = l.binary(BinaryOp::Concat, options.clone(), literal("i"), position)?;
            Ok(Bound::new(BoundKind::Case(vec![(none, with)], Box::new(options)), Type::Text, position))
        })
    }
}

fn lower(e: Bound, position: u32) -> Bound {
    Bound::apply(Func::Lower, vec![e], Type::Text, position)
}
