//! Functions and operators of full-text search. Where a call names no configuration, the setting is asked for it, so that
//! such a call is neither immutable nor logged as a call.

use super::Lowerer;
use super::bound::Bound;
use super::functions::{Extra, Line, Make, line};
use super::types::CastContext;
use planaria_base::types::{PackedType, SystemType};
use planaria_base::{Datum, Result, Type};
use planaria_ir::Func;
use planaria_syntax::ast::BinaryOp;

use Make::Func as F;
use Make::With;
use Type::{Bool, Float4, Int4, Jsonb, Text};

pub(super) const VECTOR: Type = Type::Packed(PackedType::TsVector);
pub(super) const QUERY: Type = Type::Packed(PackedType::TsQuery);
const CONFIGURATION: Type = Type::System(SystemType::RegConfig);

/// Positions and weights of a lexeme: what `unnest` of a vector is made of.
pub(super) const POSITIONS: &str = "search positions";
pub(super) const WEIGHTS: &str = "search weights";

/// How a rank is divided, and whether it is by covers.
const PLAIN: &[Extra] = &[Extra::Int(0), Extra::Int(0)];
const COVERS: &[Extra] = &[Extra::Int(0), Extra::Int(1)];
const DIVIDED: &[Extra] = &[Extra::Int(0)];
const COVERS_DIVIDED: &[Extra] = &[Extra::Int(1)];

/// The functions whose types are always the same.
pub(super) const TABLE: &[Line] = &[
    line("to_tsvector", &[CONFIGURATION, Text], VECTOR, F(Func::VectorMake)),
    line("to_tsvector", &[CONFIGURATION, Jsonb], VECTOR, F(Func::VectorOfJson)),
    line("to_tsvector", &[CONFIGURATION, Type::JSON], VECTOR, F(Func::VectorOfJson)),
    line("to_tsquery", &[CONFIGURATION, Text], QUERY, With(Func::QueryMake, &[Extra::Int(0)])),
    line("plainto_tsquery", &[CONFIGURATION, Text], QUERY, With(Func::QueryMake, &[Extra::Int(1)])),
    line("phraseto_tsquery", &[CONFIGURATION, Text], QUERY, With(Func::QueryMake, &[Extra::Int(2)])),
    line("websearch_to_tsquery", &[CONFIGURATION, Text], QUERY, With(Func::QueryMake, &[Extra::Int(3)])),
    line("ts_headline", &[CONFIGURATION, Text, QUERY], Text, With(Func::Headline, &[Extra::Text("")])),
    line("ts_headline", &[CONFIGURATION, Text, QUERY, Text], Text, F(Func::Headline)),
    line("ts_match_vq", &[VECTOR, QUERY], Bool, F(Func::VectorMatches)),
    line("ts_rank", &[VECTOR, QUERY], Float4, With(Func::VectorRank, PLAIN)),
    line("ts_rank", &[VECTOR, QUERY, Int4], Float4, With(Func::VectorRank, DIVIDED)),
    line("ts_rank_cd", &[VECTOR, QUERY], Float4, With(Func::VectorRank, COVERS)),
    line("ts_rank_cd", &[VECTOR, QUERY, Int4], Float4, With(Func::VectorRank, COVERS_DIVIDED)),
    line("length", &[VECTOR], Int4, F(Func::VectorLength)),
    line("strip", &[VECTOR], VECTOR, F(Func::VectorStrip)),
    line("setweight", &[VECTOR, Type::CHAR], VECTOR, F(Func::VectorSetWeight)),
    line("tsvector_concat", &[VECTOR, VECTOR], VECTOR, F(Func::VectorConcat)),
    line("tsquery_and", &[QUERY, QUERY], QUERY, F(Func::QueryAnd)),
    line("tsquery_or", &[QUERY, QUERY], QUERY, F(Func::QueryOr)),
    line("tsquery_not", &[QUERY], QUERY, F(Func::QueryNot)),
    line("tsquery_phrase", &[QUERY, QUERY], QUERY, With(Func::QueryPhrase, &[Extra::Int(1)])),
    line("tsquery_phrase", &[QUERY, QUERY, Int4], QUERY, F(Func::QueryPhrase)),
    line("numnode", &[QUERY], Int4, F(Func::QueryNodes)),
    line("querytree", &[QUERY], Text, F(Func::QueryTree)),
];

fn array_of(ty: Type) -> Type {
    Type::Array(Box::new(ty))
}

/// Functions that begin with a configuration unless the setting is meant, and how many arguments they have without one.
const CONFIGURED: &[(&str, usize)] = &[
    ("to_tsvector", 1),
    ("to_tsquery", 1),
    ("plainto_tsquery", 1),
    ("phraseto_tsquery", 1),
    ("websearch_to_tsquery", 1),
    ("ts_headline", 2),
    ("ts_headline", 3),
];

impl Lowerer<'_> {
    /// The configuration that the session has set.
    fn default_configuration(&mut self, position: u32) -> Result<Bound> {
        let name = Bound::constant(Datum::Text("default_text_search_config".into()), Text, position);
        let setting = self
            .bind_question("current_setting", &[name], position)?
            .ok_or_else(|| planaria_base::Error::internal("no settings"))?;
        self.coerce(setting, &CONFIGURATION, CastContext::Explicit)
    }

    /// Functions whose types follow their arguments', and those that ask the setting; `None` where the name is none of theirs.
    pub(super) fn search_function(
        &mut self,
        name: &str,
        args: &[Bound],
        position: u32,
    ) -> Result<Option<Bound>> {
        let cast = |l: &mut Self, types: &[Type]| -> Result<Vec<Bound>> {
            args.iter().zip(types).map(|(arg, ty)| l.operand(arg.clone(), ty)).collect()
        };
        let apply = |func, args, ty| Ok(Some(Bound::apply(func, args, ty, position)));
        let is_vector = |b: &Bound| b.ty == VECTOR;
        let is_list = |b: &Bound| matches!(b.ty, Type::Array(_));
        let texts = array_of(Text);
        if CONFIGURED.contains(&(name, args.len())) {
            // Of three arguments the first may be one.
            let named = args.len() == 3
                && (args[0].ty == CONFIGURATION || args[2].ty == QUERY && args[1].ty != QUERY);
            if !named {
                let mut all = vec![self.default_configuration(position)?];
                all.extend_from_slice(args);
                return self.bind_builtin(name, &all, false, position);
            }
        }
        let unmatched = |b: &Bound| b.ty == VECTOR || b.ty == Type::Unknown;
        match (name, args) {
            ("get_current_ts_config", []) => self.default_configuration(position).map(Some),
            ("ts_rank" | "ts_rank_cd", [weights, vector, query, normal @ ..])
                if normal.len() <= 1
                    && (is_list(weights) || weights.ty == Type::Unknown && unmatched(vector)) =>
            {
                let zero = || Bound::constant(Datum::Int(0), Int4, position);
                let mut all = vec![
                    self.operand(weights.clone(), &array_of(Float4))?,
                    self.operand(vector.clone(), &VECTOR)?,
                    self.operand(query.clone(), &QUERY)?,
                ];
                all.push(match normal {
                    [normal] => self.operand(normal.clone(), &Int4)?,
                    _ => zero(),
                });
                let by_covers = Datum::Int((name == "ts_rank_cd").into());
                all.push(Bound::constant(by_covers, Int4, position));
                apply(Func::VectorRankBy, all, Float4)
            }
            ("setweight", [_, _, _]) => {
                let all = cast(self, &[VECTOR, Type::CHAR, texts])?;
                apply(Func::VectorSetWeightOf, all, VECTOR)
            }
            ("ts_delete", [_, words]) => {
                let (func, ty) = match is_list(words) {
                    true => (Func::VectorDeleteAll, texts),
                    false => (Func::VectorDelete, Text),
                };
                let all = cast(self, &[VECTOR, ty])?;
                apply(func, all, VECTOR)
            }
            ("ts_filter", [_, _]) => {
                let all = cast(self, &[VECTOR, array_of(Type::CHAR)])?;
                apply(Func::VectorFilter, all, VECTOR)
            }
            ("array_to_tsvector", [_]) => {
                let all = cast(self, std::slice::from_ref(&texts))?;
                apply(Func::VectorOfArray, all, VECTOR)
            }
            ("tsvector_to_array", [_]) => {
                let all = cast(self, &[VECTOR])?;
                apply(Func::VectorLexemes, all, texts)
            }
            (POSITIONS, [vector, _]) if is_vector(vector) => {
                let all = cast(self, &[VECTOR, Text])?;
                apply(Func::VectorPositions, all, array_of(Type::Int2))
            }
            (WEIGHTS, [vector, _]) if is_vector(vector) => {
                let all = cast(self, &[VECTOR, Text])?;
                apply(Func::VectorWeights, all, texts)
            }
            _ => Ok(None),
        }
    }

    /// `@@` in its forms, that of paths in JSON among them, and `<->`; `None` for other operators.
    pub(super) fn search_operator(
        &mut self,
        which: BinaryOp,
        left: &Bound,
        right: &Bound,
        position: u32,
    ) -> Result<Option<Bound>> {
        let (l, r) = (&left.ty, &right.ty);
        let query = |ty: &Type| *ty == QUERY;
        let vector = |ty: &Type| *ty == VECTOR;
        let unknown = |ty: &Type| *ty == Type::Unknown;
        let text = |ty: &Type| super::operators::is_string(ty) || unknown(ty);
        match which {
            BinaryOp::FollowedBy if (query(l) || unknown(l)) && (query(r) || unknown(r)) => {
                let one = Bound::constant(Datum::Int(1), Int4, position);
                let all =
                    vec![self.operand(left.clone(), &QUERY)?, self.operand(right.clone(), &QUERY)?, one];
                Ok(Some(Bound::apply(Func::QueryPhrase, all, QUERY, position)))
            }
            BinaryOp::Matches => {
                let path = |ty: &Type| *ty == super::jsonpath::JSONPATH;
                if *l == Type::Jsonb && (path(r) || unknown(r)) || unknown(l) && path(r) {
                    return self.json_path_operator(Func::JsonPathMatch, left, right, position).map(Some);
                }
                let (found, asked) = match () {
                    () if vector(l) && (query(r) || unknown(r)) => (left, right),
                    () if vector(r) && (query(l) || unknown(l)) => (right, left),
                    () if query(l) && unknown(r) => (right, left),
                    // A text is made a vector, by the setting.
                    () if text(l) && (query(r) || text(r)) => {
                        let made = |l: &mut Self, name: &str, e: &Bound| -> Result<Bound> {
                            let e = l.operand(e.clone(), &Text)?;
                            let made = l.bind_builtin(name, &[e], false, position)?;
                            made.ok_or_else(|| planaria_base::Error::internal("a function of our own"))
                        };
                        let found = made(self, "to_tsvector", left)?;
                        let asked = match query(r) {
                            true => right.clone(),
                            false => made(self, "plainto_tsquery", right)?,
                        };
                        return Ok(Some(Bound::apply(
                            Func::VectorMatches,
                            vec![found, asked],
                            Bool,
                            position,
                        )));
                    }
                    () => {
                        return Err(super::operators::no_operator("@@", Some(l), r, position));
                    }
                };
                let all = vec![self.operand(found.clone(), &VECTOR)?, self.operand(asked.clone(), &QUERY)?];
                Ok(Some(Bound::apply(Func::VectorMatches, all, Bool, position)))
            }
            _ => Ok(None),
        }
    }
}
