//! CREATE AGGREGATE, DROP AGGREGATE, and how aggregates are named.

use planaria_base::Result;

use super::lex::Kind;
use super::parser::Parser;
use crate::ast::{
    AggregateChange, CreateAggregate, Name, RoutineParameter, RoutineRef, StatementKind, TypeName,
    TypeNameKind,
};

impl Parser<'_> {
    /// `CREATE [OR REPLACE] AGGREGATE ..`, the words before that taken.
    pub(crate) fn create_aggregate(&mut self, or_replace: bool) -> Result<StatementKind> {
        self.bump();
        let name = self.qualified_function()?;
        let mut create = CreateAggregate::of(name, or_replace);
        if !self.is_old_style() {
            let (parameters, direct) = self.aggregate_arguments(&mut create.unsupported)?;
            (create.parameters, create.direct) = (Some(parameters), direct);
        }
        self.expect(Kind::LeftParen)?;
        loop {
            self.aggregate_attribute(&mut create)?;
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        self.expect(Kind::RightParen)?;
        Ok(StatementKind::Aggregate(Box::new(AggregateChange::Create(create))))
    }

    /// `(word = ..`: the arguments are among the attributes.
    fn is_old_style(&self) -> bool {
        self.at_kind(Kind::LeftParen)
            && matches!(self.peek_at(1).kind, Kind::Word | Kind::Quoted)
            && self.peek_at(2).kind == Kind::Operator
            && self.peek_at(2).text(self.text) == "="
    }

    /// `(*)`, `(arguments)`, `([arguments] ORDER BY arguments)`: and how many stand before ORDER BY.
    fn aggregate_arguments(
        &mut self,
        unsupported: &mut Option<(String, crate::ast::Position)>,
    ) -> Result<(Vec<RoutineParameter>, Option<usize>)> {
        self.expect(Kind::LeftParen)?;
        let position = self.position();
        if self.eat_operator("*") {
            self.expect(Kind::RightParen)?;
            return Ok((Vec::new(), None));
        }
        let ordered = |p: &Self| p.at_words(&["order", "by"]);
        let mut all = Vec::new();
        if !ordered(self) {
            all = self.list(Self::parameter)?;
        }
        if ordered(self) {
            let direct = all.len();
            self.bump();
            self.bump();
            all.append(&mut self.list(Self::parameter)?);
            if all.iter().any(|p| p.mode == planaria_catalog::Mode::Variadic) {
                unsupported.get_or_insert(("VARIADIC of an ordered-set aggregate".to_owned(), position));
            }
            self.expect(Kind::RightParen)?;
            return Ok((all, Some(direct)));
        }
        self.expect(Kind::RightParen)?;
        Ok((all, None))
    }

    fn aggregate_attribute(&mut self, create: &mut CreateAggregate) -> Result<()> {
        let position = self.position();
        let attribute = self.label()?;
        if !self.eat_operator("=") {
            match attribute.as_str() {
                "finalfunc_extra" => create.extra = true,
                "hypothetical" => create.hypothetical = true,
                "mfinalfunc_extra" => create.moving.extra = true,
                _ => create.unknown.push(attribute),
            }
            return Ok(());
        }
        match attribute.as_str() {
            "sfunc" | "sfunc1" => create.transition = Some(self.function_of_aggregate()?),
            "finalfunc" => create.last = Some(self.function_of_aggregate()?),
            "combinefunc" => create.combine = Some(self.function_of_aggregate()?),
            "stype" | "stype1" => create.state = Some(self.type_of_aggregate()?),
            "basetype" => {
                let any = self.at_word("any");
                create.basetype = Some(match any {
                    true => {
                        self.bump();
                        None
                    }
                    false => {
                        let ty = self.type_of_aggregate()?;
                        let is_any = matches!(&ty.kind, TypeNameKind::Pseudo(p) if p == "any");
                        (!is_any).then_some(ty)
                    }
                });
            }
            "initcond" | "initcond1" => create.initial = Some(self.text_of_aggregate()?),
            "finalfunc_modify" => create.modify = Some(self.text_of_aggregate()?.to_lowercase()),
            "parallel" => create.parallel = Some(self.text_of_aggregate()?.to_lowercase()),
            "sspace" => create.space = self.text_of_aggregate()?.parse().ok(),
            "sortop" => create.sort = Some(self.operator_of_aggregate()?),
            "finalfunc_extra" => create.extra = self.text_of_aggregate()?.eq_ignore_ascii_case("true"),
            "hypothetical" => {
                create.hypothetical = self.text_of_aggregate()?.eq_ignore_ascii_case("true");
            }
            "msfunc" => create.moving.transition = Some(self.function_of_aggregate()?),
            "minvfunc" => create.moving.inverse = Some(self.function_of_aggregate()?),
            "mfinalfunc" => create.moving.last = Some(self.function_of_aggregate()?),
            "mstype" => create.moving.state = Some(self.type_of_aggregate()?),
            "minitcond" => create.moving.initial = Some(self.text_of_aggregate()?),
            "msspace" => create.moving.space = self.text_of_aggregate()?.parse().ok(),
            "mfinalfunc_modify" => create.moving.modify = Some(self.text_of_aggregate()?.to_lowercase()),
            "mfinalfunc_extra" => {
                create.moving.extra = self.text_of_aggregate()?.eq_ignore_ascii_case("true");
            }
            "serialfunc" | "deserialfunc" => {
                let what = format!("{} of an aggregate", attribute.to_uppercase());
                create.unsupported.get_or_insert((what, position));
                self.value_of_aggregate()?;
            }
            _ => {
                self.value_of_aggregate()?;
                create.unknown.push(attribute);
            }
        }
        Ok(())
    }

    fn function_of_aggregate(&mut self) -> Result<Name> {
        if self.at_string() {
            let position = self.position();
            return Ok(Name { parts: vec![self.string()?], position });
        }
        self.qualified_function()
    }

    fn type_of_aggregate(&mut self) -> Result<TypeName> {
        if !self.at_string() {
            return self.type_name();
        }
        let position = self.position();
        let text = self.string()?;
        let mut ty = super::type_name(&text)?;
        ty.position = position;
        Ok(ty)
    }

    /// A string, number or word.
    fn text_of_aggregate(&mut self) -> Result<String> {
        if self.at_string() {
            return self.string();
        }
        if self.peek().kind == Kind::Word || self.peek().kind == Kind::Quoted {
            return self.label();
        }
        let sign = if self.eat_operator("-") { "-" } else { "" };
        match self.peek().kind {
            Kind::Integer | Kind::Decimal => Ok(format!("{sign}{}", self.bump().text(self.text))),
            _ => self.fail(),
        }
    }

    /// `<`, `OPERATOR(pg_catalog.<)`
    fn operator_of_aggregate(&mut self) -> Result<String> {
        let wrapped = self.at_word("operator");
        if wrapped {
            self.bump();
            self.expect(Kind::LeftParen)?;
            if self.peek().kind == Kind::Word {
                self.name()?;
                self.expect(Kind::Dot)?;
            }
        }
        if !self.at_kind(Kind::Operator) {
            return self.fail();
        }
        let text = self.bump().text(self.text).to_owned();
        if wrapped {
            self.expect(Kind::RightParen)?;
        }
        Ok(text)
    }

    /// Any value: of an attribute that is not looked at.
    fn value_of_aggregate(&mut self) -> Result<()> {
        let mut depth = 0;
        loop {
            match self.peek().kind {
                Kind::LeftParen => depth += 1,
                Kind::RightParen if depth == 0 => return Ok(()),
                Kind::RightParen => depth -= 1,
                Kind::Comma if depth == 0 => return Ok(()),
                _ if self.at_end() => return self.fail(),
                _ => {}
            }
            self.bump();
        }
    }

    /// `a(types)`, `a(*)`
    pub(crate) fn aggregate_ref(&mut self) -> Result<RoutineRef> {
        let name = self.qualified_function()?;
        let mut unsupported = None;
        let (parameters, _) = self.aggregate_arguments(&mut unsupported)?;
        if let Some((what, position)) = unsupported {
            return self.unsupported(&what, position);
        }
        let types = Some(parameters.into_iter().map(|p| p.ty).collect());
        Ok(RoutineRef { name, types, procedure: Some(false), aggregate: true })
    }

    /// `DROP AGGREGATE ..`, DROP taken.
    pub(crate) fn drop_aggregate(&mut self) -> Result<StatementKind> {
        self.bump();
        let if_exists = self.eat_words(&["if", "exists"]);
        let aggregates = self.list(Self::aggregate_ref)?;
        let cascade = self.cascade();
        Ok(StatementKind::Aggregate(Box::new(AggregateChange::Drop { aggregates, if_exists, cascade })))
    }
}
