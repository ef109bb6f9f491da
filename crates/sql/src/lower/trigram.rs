//! Functions and operators of `pg_trgm`. The operators compare with a setting, so they are neither immutable nor logged as calls.

use super::Lowerer;
use super::bound::Bound;
use super::functions::{Extra, Line, Make, line};
use super::types::CastContext;
use planaria_base::{Datum, Error, Result, Type};
use planaria_ir::Func;
use planaria_syntax::ast::{BinaryOp, SimilarOp};

use Make::Func as F;
use Make::With;
use Type::{Bool, Float4, Float8, Text};

/// Those that ask no setting.
pub(super) const TABLE: &[Line] = &[
    line("similarity", &[Text, Text], Float4, F(Func::Similarity)),
    line("word_similarity", &[Text, Text], Float4, With(Func::WordSimilarity, &[Extra::Int(0)])),
    line("strict_word_similarity", &[Text, Text], Float4, With(Func::WordSimilarity, &[Extra::Int(1)])),
];

/// Functions that operators are, and the operators.
const OPERATORS: &[(&str, BinaryOp)] = &[
    ("similarity_op", BinaryOp::Mod),
    ("similarity_dist", BinaryOp::FollowedBy),
    ("word_similarity_op", BinaryOp::Similar(SimilarOp::Word)),
    ("word_similarity_commutator_op", BinaryOp::Similar(SimilarOp::OfWord)),
    ("word_similarity_dist_op", BinaryOp::Similar(SimilarOp::FromWord)),
    ("word_similarity_dist_commutator_op", BinaryOp::Similar(SimilarOp::ToWord)),
    ("strict_word_similarity_op", BinaryOp::Similar(SimilarOp::StrictWord)),
    ("strict_word_similarity_commutator_op", BinaryOp::Similar(SimilarOp::OfStrictWord)),
    ("strict_word_similarity_dist_op", BinaryOp::Similar(SimilarOp::FromStrictWord)),
    ("strict_word_similarity_dist_commutator_op", BinaryOp::Similar(SimilarOp::ToStrictWord)),
];

const LIMIT: &str = "pg_trgm.similarity_threshold";

/// Whether `pg_trgm` has a function of that name.
pub(super) fn is_function(name: &str) -> bool {
    ["show_trgm", "show_limit", "set_limit"].contains(&name)
        || TABLE.iter().any(|line| line.name == name)
        || OPERATORS.iter().any(|(known, _)| *known == name)
}

impl Lowerer<'_> {
    fn setting(&mut self, name: &str, position: u32) -> Result<Bound> {
        let name = Bound::constant(Datum::Text(name.into()), Text, position);
        let setting = self.bind_question("current_setting", &[name], position)?;
        let setting = setting.ok_or_else(|| Error::internal("no settings"))?;
        self.coerce(setting, &Float8, CastContext::Explicit)
    }

    /// Functions that are operators, or are about the setting; `None` where the name is none of theirs.
    pub(super) fn trigram_function(
        &mut self,
        name: &str,
        args: &[Bound],
        position: u32,
    ) -> Result<Option<Bound>> {
        if let [left, right] = args
            && let Some((_, op)) = OPERATORS.iter().find(|(known, _)| *known == name)
        {
            let texts = [self.operand(left.clone(), &Text)?, self.operand(right.clone(), &Text)?];
            return self.trigram_operator(*op, &texts[0], &texts[1], position);
        }
        match (name, args) {
            ("show_trgm", [text]) => {
                let text = self.operand(text.clone(), &Text)?;
                Ok(Some(Bound::apply(Func::Trigrams, vec![text], Type::Array(Box::new(Text)), position)))
            }
            ("show_limit", []) => {
                let limit = self.setting(LIMIT, position)?;
                self.coerce(limit, &Float4, CastContext::Explicit).map(Some)
            }
            ("set_limit", [limit]) => {
                let limit = self.operand(limit.clone(), &Float4)?;
                let limit = self.coerce(limit, &Text, CastContext::Explicit)?;
                let name = Bound::constant(Datum::Text(LIMIT.into()), Text, position);
                let local = Bound::constant(Datum::Bool(false), Bool, position);
                let set = self.bind_question("set_config", &[name, limit, local], position)?;
                let set = set.ok_or_else(|| Error::internal("no settings"))?;
                self.coerce(set, &Float4, CastContext::Explicit).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// `%`, `<->` and their like over texts; `None` for other operators, and where neither side is known to be a text.
    pub(super) fn trigram_operator(
        &mut self,
        which: BinaryOp,
        left: &Bound,
        right: &Bound,
        position: u32,
    ) -> Result<Option<Bound>> {
        let text = |e: &Bound| super::operators::is_string(&e.ty);
        let unknown = |e: &Bound| e.ty == Type::Unknown;
        let (distance, strict, turned) = match which {
            BinaryOp::Mod => (false, None, false),
            BinaryOp::FollowedBy => (true, None, false),
            BinaryOp::Similar(op) => {
                use SimilarOp::*;
                (
                    matches!(op, FromWord | ToWord | FromStrictWord | ToStrictWord),
                    Some(matches!(op, StrictWord | OfStrictWord | FromStrictWord | ToStrictWord)),
                    matches!(op, OfWord | OfStrictWord | ToWord | ToStrictWord),
                )
            }
            _ => return Ok(None),
        };
        let both = strict.is_some() && unknown(left) && unknown(right);
        if !(both || text(left) && (text(right) || unknown(right)) || unknown(left) && text(right)) {
            return Ok(None);
        }
        let mut args = vec![self.operand(left.clone(), &Text)?, self.operand(right.clone(), &Text)?];
        if turned {
            args.reverse();
        }
        let func = match strict {
            Some(strict) => {
                args.push(Bound::constant(Datum::Int(strict.into()), Type::Int4, position));
                Func::WordSimilarity
            }
            None => Func::Similarity,
        };
        let similar = Bound::apply(func, args, Float4, position);
        if distance {
            let one = Bound::constant(Datum::Float(1.0), Float4, position);
            return self.binary(BinaryOp::Sub, one, similar, position).map(Some);
        }
        let name = match strict {
            None => LIMIT,
            Some(false) => "pg_trgm.word_similarity_threshold",
            Some(true) => "pg_trgm.strict_word_similarity_threshold",
        };
        let similar = self.coerce(similar, &Float8, CastContext::Implicit)?;
        let limit = self.setting(name, position)?;
        self.binary(BinaryOp::Ge, similar, limit, position).map(Some)
    }
}
