//! LOCK TABLE, VACUUM, ANALYZE, REINDEX, CLUSTER.

use super::lex::Kind;
use super::parser::Parser;
use crate::ast::{LockMode, LockTable, Maintain, Maintained, StatementKind};
use planaria_base::Result;

impl Parser<'_> {
    /// `LOCK [TABLE] t, .. [IN .. MODE] [NOWAIT]`
    pub(crate) fn lock_table(&mut self) -> Result<StatementKind> {
        self.bump();
        self.eat_word("table");
        let names = self.list(Self::relation_name)?;
        let mode = if self.eat_word("in") { self.lock_mode()? } else { LockMode::AccessExclusive };
        let nowait = self.eat_word("nowait");
        Ok(StatementKind::LockTable(LockTable { names, mode, nowait }))
    }

    fn lock_mode(&mut self) -> Result<LockMode> {
        // The longest first: SHARE begins others.
        let mut modes = LockMode::ALL.to_vec();
        modes.sort_by_key(|(_, name)| std::cmp::Reverse(name.len()));
        for (mode, name) in modes {
            let lower = name.to_ascii_lowercase();
            let words: Vec<&str> = lower.split(' ').chain(["mode"]).collect();
            if self.eat_words(&words) {
                return Ok(mode);
            }
        }
        self.fail()
    }

    /// Options in parentheses, or these words.
    fn maintenance_options(&mut self, words: &[&str]) -> Result<()> {
        if self.at_kind(Kind::LeftParen) {
            while !self.at_kind(Kind::RightParen) {
                if self.at_end() {
                    return self.fail();
                }
                self.bump();
            }
            self.bump();
        }
        while words.iter().any(|word| self.eat_word(word)) {}
        Ok(())
    }

    /// Tables, each with columns if they are said; to the end.
    fn maintained_tables(&mut self) -> Result<Vec<Maintained>> {
        if self.at_end() {
            return Ok(Vec::new());
        }
        self.list(|p| {
            let name = p.relation_name()?;
            let mut columns = Vec::new();
            if p.at_kind(Kind::LeftParen) {
                p.bump();
                columns = p.list(|p| {
                    let position = p.position();
                    Ok((p.name()?, position))
                })?;
                p.expect(Kind::RightParen)?;
            }
            Ok(Maintained::Table(name, columns))
        })
    }

    /// VACUUM or ANALYZE.
    pub(crate) fn vacuum(&mut self, tag: &'static str) -> Result<StatementKind> {
        self.bump();
        self.maintenance_options(&["full", "freeze", "verbose", "analyze", "analyse"])?;
        Ok(StatementKind::Maintain(Maintain { tag, what: self.maintained_tables()? }))
    }

    /// REINDEX
    pub(crate) fn reindex(&mut self) -> Result<StatementKind> {
        self.bump();
        self.maintenance_options(&[])?;
        let word = self.word();
        if !self.at_any(&["index", "table", "schema", "database", "system"]) {
            return self.fail();
        }
        let word = word.as_str().to_owned();
        self.bump();
        self.eat_word("concurrently");
        let name = self.relation_name()?;
        let what = match word.as_str() {
            "index" => Maintained::Index(name),
            "table" => Maintained::Table(name, Vec::new()),
            "schema" => Maintained::Schema(name),
            _ => Maintained::Database(name),
        };
        Ok(StatementKind::Maintain(Maintain { tag: "REINDEX", what: vec![what] }))
    }

    /// CLUSTER
    pub(crate) fn cluster(&mut self) -> Result<StatementKind> {
        self.bump();
        self.maintenance_options(&["verbose"])?;
        let mut what = Vec::new();
        if !self.at_end() {
            let name = self.relation_name()?;
            if self.eat_word("using") {
                what.push(Maintained::Clustered(name, self.name()?));
            } else if self.eat_word("on") {
                // The former order: the index first.
                let [index] = &name.parts[..] else { return self.fail() };
                let index = index.clone();
                what.push(Maintained::Clustered(self.relation_name()?, index));
            } else {
                what.push(Maintained::Table(name, Vec::new()));
            }
        }
        Ok(StatementKind::Maintain(Maintain { tag: "CLUSTER", what }))
    }
}
