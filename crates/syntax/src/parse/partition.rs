//! PARTITION BY, PARTITION OF, and the bounds of partitions.

use planaria_base::{Error, Result, SqlState};
use planaria_catalog::Strategy;

use super::lex::Kind;
use super::parser::Parser;
use crate::ast::{
    CreateTable, PartitionBy, PartitionOf, PartitionSpec, PartitionSpecKind, Position, RangeDatum,
};

impl Parser<'_> {
    /// `PARTITION BY strategy (key, ..)`
    pub(crate) fn partition_by(&mut self) -> Result<PartitionBy> {
        let position = self.position();
        self.expect_words(&["partition", "by"])?;
        let place = self.position();
        let word = self.name()?;
        let strategy = match word.as_str() {
            "range" => Strategy::Range,
            "list" => Strategy::List,
            "hash" => Strategy::Hash,
            other => {
                let message = format!("unrecognized partitioning strategy \"{other}\"");
                return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message).at(place));
            }
        };
        let items = self.paren_list(Self::index_column)?;
        let keys = items.into_iter().map(|(item, position, _)| (item, position)).collect();
        Ok(PartitionBy { strategy, keys, position })
    }

    /// What follows the name of a table: `PARTITION OF parent [(elements)] bound`.
    pub(crate) fn partition_of(&mut self, table: &mut CreateTable) -> Result<()> {
        self.expect_words(&["partition", "of"])?;
        let parent = self.qualified_name()?;
        let mut columns = Vec::new();
        if self.eat(Kind::LeftParen) {
            loop {
                if self.at_table_constraint() {
                    let constraint = self.table_constraint()?;
                    table.constraints.push(constraint);
                } else {
                    let position = self.position();
                    let name = self.name()?;
                    self.eat_words(&["with", "options"]);
                    let mut constraints = Vec::new();
                    while let Some(constraint) = self.column_constraint()? {
                        constraints.push(constraint);
                    }
                    columns.push((name, position, constraints));
                }
                if !self.eat(Kind::Comma) {
                    break;
                }
            }
            self.expect(Kind::RightParen)?;
        }
        let bound = self.partition_spec()?;
        table.partition_of = Some(PartitionOf { parent, bound, columns });
        Ok(())
    }

    /// `FOR VALUES .. | DEFAULT`
    pub(crate) fn partition_spec(&mut self) -> Result<PartitionSpec> {
        let position = self.position();
        if self.eat_word("default") {
            return Ok(PartitionSpec { kind: PartitionSpecKind::Default, position });
        }
        self.expect_words(&["for", "values"])?;
        let position = self.position();
        let kind = if self.eat_word("in") {
            PartitionSpecKind::In(self.paren_list(Self::expr)?)
        } else if self.eat_word("from") {
            let from = self.paren_list(Self::range_datum)?;
            self.expect_word("to")?;
            PartitionSpecKind::Range(from, self.paren_list(Self::range_datum)?)
        } else {
            self.expect_word("with")?;
            self.hash_bound(position)?
        };
        Ok(PartitionSpec { kind, position })
    }

    fn range_datum(&mut self) -> Result<RangeDatum> {
        let alone = matches!(self.peek_at(1).kind, Kind::Comma | Kind::RightParen);
        if alone && self.eat_word("minvalue") {
            return Ok(RangeDatum::Min);
        }
        if alone && self.eat_word("maxvalue") {
            return Ok(RangeDatum::Max);
        }
        self.expr().map(RangeDatum::Value)
    }

    /// `(MODULUS m, REMAINDER r)`
    fn hash_bound(&mut self, position: Position) -> Result<PartitionSpecKind> {
        let (mut modulus, mut remainder) = (None, None);
        let syntax = |message: &str| Err(Error::new(SqlState::SYNTAX_ERROR, message).at(position));
        self.expect(Kind::LeftParen)?;
        loop {
            let (slot, what) = if self.eat_word("modulus") {
                (&mut modulus, "modulus")
            } else if self.eat_word("remainder") {
                (&mut remainder, "remainder")
            } else {
                let place = self.position();
                let word = self.name()?;
                let message = format!("unrecognized hash partition bound specification \"{word}\"");
                return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(place));
            };
            if slot.is_some() {
                return syntax(&format!("{what} for hash partition provided more than once"));
            }
            *slot = Some(self.signed_integer()?);
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        self.expect(Kind::RightParen)?;
        match (modulus, remainder) {
            (Some(m), Some(r)) => Ok(PartitionSpecKind::Hash(m, r)),
            (None, _) => syntax("modulus for hash partition must be specified"),
            (_, None) => syntax("remainder for hash partition must be specified"),
        }
    }
}
