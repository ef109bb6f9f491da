//! Queries: SELECT, VALUES, TABLE, set operations, WITH, and their tails.

use std::collections::HashSet;

use planaria_base::{Error, Result, SqlState, Strength, limits};

use super::lex::Kind;
use super::parser::Parser;
use crate::ast::locking::{LockWait, Locking};
use crate::ast::{
    Argument, CURRENT_OF, Cte, Cycle, Expr, ExprKind, FunctionCall, Name, Position, Query, QueryBody, Search,
    Select, SelectItem, SetOp, TableRef,
};

/// Words that end a select list without items.
const BEHIND_LIST: &[&str] = &[
    "from",
    "where",
    "group",
    "having",
    "window",
    "union",
    "intersect",
    "except",
    "order",
    "limit",
    "offset",
    "fetch",
    "for",
    "into",
];

/// Words that may stand behind a parenthesis only if a query is in it.
const BEHIND_QUERY: &[&str] = &["union", "intersect", "except", "order", "limit", "offset", "fetch", "for"];

/// More than anybody has, each of which is code.
const GROUPING_SETS_MAX: usize = 256;

impl Parser<'_> {
    /// Whether a query without parentheses comes next.
    pub(crate) fn at_query(&self) -> bool {
        self.at_query_ahead(0)
    }

    fn at_query_ahead(&self, ahead: usize) -> bool {
        match self.word_at(ahead).as_str() {
            "select" | "with" | "table" => true,
            "values" => self.peek_at(ahead + 1).kind == Kind::LeftParen,
            _ => false,
        }
    }

    /// Whether `(` comes next and what it encloses is a query. Several parentheses may open at
    /// once: `((SELECT 1) UNION SELECT 2)` is a query, `((SELECT 1) + 1)` is not.
    pub(crate) fn at_paren_query(&self) -> bool {
        let mut open = 0;
        while self.peek_at(open).kind == Kind::LeftParen {
            open += 1;
        }
        if open == 0 || !self.at_query_ahead(open) {
            return false;
        }
        let first = self.index();
        (first + 1..first + open).all(|inner| match self.closing(inner) {
            Some(close) => {
                let behind = close + 1 - first;
                self.peek_at(behind).kind == Kind::RightParen
                    || BEHIND_QUERY.iter().any(|word| self.at_word_ahead(behind, word))
            }
            None => true,
        })
    }

    /// `(query)`
    pub(crate) fn paren_query(&mut self) -> Result<Query> {
        self.expect(Kind::LeftParen)?;
        let query = self.query()?;
        self.expect(Kind::RightParen)?;
        Ok(query)
    }

    /// A query.
    pub(crate) fn query(&mut self) -> Result<Query> {
        self.nested(|p| {
            let position = p.position();
            let (with, recursive) = p.with()?;
            let query = p.query_behind_with(with, recursive, position)?;
            Ok(query)
        })
    }

    /// A query whose WITH clause was taken.
    pub(crate) fn query_behind_with(
        &mut self,
        with: Vec<Cte>,
        recursive: bool,
        position: Position,
    ) -> Result<Query> {
        let at = self.position();
        let first = self.query_operand()?;
        let mut query = self.query_rest(first)?;
        if !with.is_empty() {
            if !query.with.is_empty() {
                return Err(self.syntax_error("multiple WITH clauses not allowed", at));
            }
            query.with = with;
            query.recursive = recursive;
            query.position = position;
        }
        Ok(query)
    }

    /// What follows the first operand of a query: set operations and the tail.
    pub(crate) fn query_rest(&mut self, first: Query) -> Result<Query> {
        let mut query = self.set_operations(first, 1)?;
        self.tail(&mut query)?;
        Ok(query)
    }

    /// Set operations of at least that precedence behind `left`; INTERSECT binds tighter.
    fn set_operations(&mut self, mut left: Query, min: u8) -> Result<Query> {
        // How often the operation that was applied last has been, without another between.
        let (mut before, mut times) = (None, 0);
        loop {
            let (op, level) = match self.word().as_str() {
                "union" => (SetOp::Union, 1),
                "except" => (SetOp::Except, 1),
                "intersect" => (SetOp::Intersect, 2),
                _ => return Ok(left),
            };
            if level < min {
                return Ok(left);
            }
            self.bump();
            let all = self.eat_word("all");
            if !all {
                self.eat_word("distinct");
            }
            let right = self.query_operand()?;
            let right = self.set_operations(right, level + 1)?;
            times = if before == Some((op, all)) { times + 1 } else { 1 };
            before = Some((op, all));
            if times > limits::CHAIN_OPERANDS_MAX {
                return Err(self.too_long());
            }
            if op == SetOp::Union
                && times > limits::CHAIN_NESTING_MAX
                && let QueryBody::SetOp { more, .. } = &mut left.body
            {
                more.push(right);
                continue;
            }
            let (position, more) = (left.position, Vec::new());
            let body = QueryBody::SetOp { op, all, left: Box::new(left), right: Box::new(right), more };
            left = Query::new(body, position);
            self.grow()?;
        }
    }

    /// SELECT, VALUES, TABLE, or a query in parentheses.
    fn query_operand(&mut self) -> Result<Query> {
        let position = self.position();
        if self.at_kind(Kind::LeftParen) {
            return self.paren_query();
        }
        let body = if self.eat_word("select") {
            QueryBody::Select(Box::new(self.select()?))
        } else if self.eat_word("values") {
            QueryBody::Values(self.list(|p| p.paren_list(Self::expr))?)
        } else if self.eat_word("table") {
            let only = self.at_word("only");
            let name = self.relation_name()?;
            let star = Expr { position, kind: ExprKind::Star(None) };
            QueryBody::Select(Box::new(Select {
                items: vec![SelectItem { expr: star, alias: None }],
                from: vec![TableRef::Relation { name, only, alias: None }],
                ..Select::default()
            }))
        } else {
            return self.fail();
        };
        Ok(Query::new(body, position))
    }

    /// A query whose SELECT was taken, or is called PERFORM.
    pub(crate) fn query_behind_select(&mut self, position: Position) -> Result<Query> {
        self.nested(|p| {
            let body = QueryBody::Select(Box::new(p.select()?));
            p.query_rest(Query::new(body, position))
        })
    }

    /// Rows of a VALUES that is followed by more of a query.
    pub(crate) fn query_of_values(&mut self, rows: Vec<Vec<Expr>>, position: Position) -> Result<Query> {
        self.query_rest(Query::new(QueryBody::Values(rows), position))
    }

    /// Whether a set operation or a tail comes next.
    pub(crate) fn at_query_rest(&self) -> bool {
        self.at_any(BEHIND_QUERY)
    }

    /// A SELECT behind its first word.
    fn select(&mut self) -> Result<Select> {
        let mut select = Select::default();
        let may_select_into = std::mem::take(&mut self.may_select_into);
        if self.eat_word("distinct") {
            select.distinct = Some(match self.eat_word("on") {
                true => self.paren_list(Self::expr)?,
                false => Vec::new(),
            });
        } else {
            self.eat_word("all");
        }
        let empty = self.at_end() || self.at_kind(Kind::RightParen) || self.at_any(BEHIND_LIST);
        if !empty {
            select.items = self.list(Self::select_item)?;
        }
        if self.at_word("into") {
            let position = self.bump().start;
            if !may_select_into {
                return Err(self.syntax_error("SELECT ... INTO is not allowed here", position));
            }
            if !self.eat_word("local") {
                self.eat_word("global");
            }
            let temporary = self.eat_word("temporary") || self.eat_word("temp");
            let unlogged = !temporary && self.eat_word("unlogged");
            self.eat_word("table");
            self.selected_into = Some((self.new_relation(temporary)?, unlogged));
        }
        if self.eat_word("from") {
            select.from = self.list(Self::table_ref)?;
        }
        select.filter = self.where_clause()?;
        if self.eat_words(&["group", "by"]) {
            (select.group_by, select.grouping_sets) = self.group_by()?;
        }
        if self.eat_word("having") {
            select.having = Some(self.expr()?);
        }
        if self.eat_word("window") {
            select.windows = self.list(|p| {
                let name = p.name()?;
                p.expect_word("as")?;
                Ok((name, p.window()?))
            })?;
        }
        Ok(select)
    }

    /// `[WHERE condition]`
    pub(crate) fn where_clause(&mut self) -> Result<Option<Expr>> {
        if !self.eat_word("where") {
            return Ok(None);
        }
        Ok(Some(self.expr()?))
    }

    /// `[WHERE e | WHERE CURRENT OF cursor]`, of UPDATE and DELETE.
    pub(crate) fn where_of_change(&mut self) -> Result<Option<Expr>> {
        if !self.at_words(&["where", "current", "of"]) {
            return self.where_clause();
        }
        self.bump();
        let position = self.position();
        self.bump();
        self.bump();
        let name = Name { position: self.position(), parts: vec![self.name()?] };
        let value = Expr { position, kind: ExprKind::Column(name) };
        let args = vec![Argument { name: None, value }];
        let call = FunctionCall::plain(Name { parts: vec![CURRENT_OF.to_owned()], position }, args);
        Ok(Some(Expr { position, kind: ExprKind::Call(Box::new(call)) }))
    }

    /// `*`, or an expression with its label.
    pub(crate) fn select_item(&mut self) -> Result<SelectItem> {
        let position = self.position();
        if self.eat_operator("*") {
            return Ok(SelectItem { expr: Expr { position, kind: ExprKind::Star(None) }, alias: None });
        }
        let expr = self.expr()?;
        let alias = match self.eat_word("as") || self.at_bare_label() {
            true => Some(self.label()?),
            false => None,
        };
        Ok(SelectItem { expr, alias })
    }

    /// All expressions, and the grouping sets if they are not one of all of them.
    fn group_by(&mut self) -> Result<(Vec<Expr>, Vec<Vec<Expr>>)> {
        let distinct = self.eat_word("distinct");
        if !distinct {
            self.eat_word("all");
        }
        let position = self.position();
        let items = self.list(Self::grouping_item)?;
        let plain = items.iter().all(|(_, plain)| *plain);
        // Of several items each set of one goes with each of the others.
        let mut sets: Vec<Vec<Expr>> = vec![Vec::new()];
        for (item, _) in &items {
            if sets.len() * item.len() > GROUPING_SETS_MAX {
                let message = format!("too many grouping sets present (maximum {GROUPING_SETS_MAX})");
                return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, message).at(position));
            }
            if let [only] = &item[..] {
                sets.iter_mut().for_each(|set| set.extend_from_slice(only));
                continue;
            }
            sets = sets.iter().flat_map(|set| item.iter().map(|more| [&set[..], more].concat())).collect();
        }
        if distinct {
            // Sets of the same expressions, in whatever order, are one.
            let mut seen = HashSet::new();
            sets.retain(|set| {
                let mut shapes: Vec<String> = set.iter().map(Expr::shape).collect();
                shapes.sort_unstable();
                shapes.dedup();
                seen.insert(shapes)
            });
        }
        match plain {
            true => Ok((sets.swap_remove(0), Vec::new())),
            false => {
                let all = items.into_iter().flat_map(|(item, _)| item).flatten();
                Ok((all.collect(), sets))
            }
        }
    }

    /// What an item of GROUP BY stands for, and whether it is nothing but expressions.
    fn grouping_item(&mut self) -> Result<(Vec<Vec<Expr>>, bool)> {
        let paren = self.at_kind(Kind::LeftParen);
        let calls = self.peek_at(1).kind == Kind::LeftParen;
        if self.at_words(&["grouping", "sets"]) {
            self.bump();
            self.bump();
            let items = self.nested(|p| p.paren_list(Self::grouping_item))?;
            return Ok((items.into_iter().flat_map(|(sets, _)| sets).collect(), false));
        }
        if calls && self.at_any(&["rollup", "cube"]) {
            let cube = self.at_word("cube");
            let position = self.bump().start;
            // Expressions, alone or in parentheses: no sets of sets.
            let parts = self.paren_list(|p| {
                let at = p.at_words(&["grouping", "sets"])
                    || p.at_any(&["rollup", "cube"]) && p.peek_at(1).kind == Kind::LeftParen
                    || p.at_kind(Kind::LeftParen) && p.peek_at(1).kind == Kind::RightParen;
                if at { p.fail() } else { p.grouping_item().map(|(mut sets, _)| sets.swap_remove(0)) }
            })?;
            if cube && parts.len() as u32 > GROUPING_SETS_MAX.ilog2() {
                let message = format!("too many grouping sets present (maximum {GROUPING_SETS_MAX})");
                return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, message).at(position));
            }
            let sets = match cube {
                false => (0..=parts.len()).rev().map(|n| parts[..n].concat()).collect(),
                true => (0..1usize << parts.len())
                    .rev()
                    .map(|bits| {
                        let within = |i: &usize| bits >> (parts.len() - 1 - i) & 1 == 1;
                        (0..parts.len()).filter(within).flat_map(|i| parts[i].clone()).collect()
                    })
                    .collect(),
            };
            return Ok((sets, false));
        }
        if paren && self.peek_at(1).kind == Kind::RightParen {
            self.bump();
            self.bump();
            return Ok((vec![Vec::new()], false));
        }
        Ok((
            vec![match self.expr()? {
                Expr { kind: ExprKind::Row(items), .. } if paren => items,
                item => vec![item],
            }],
            true,
        ))
    }

    /// ORDER BY, LIMIT, OFFSET, FETCH, FOR UPDATE. Behind a query in parentheses they belong to
    /// that query, which then must not have them itself.
    fn tail(&mut self, query: &mut Query) -> Result<()> {
        let multiple = |p: &Self, what: &str, at: Position| {
            Err(p.syntax_error(format!("multiple {what} clauses not allowed"), at))
        };
        if self.at_word("order") {
            let at = self.position();
            if !query.order_by.is_empty() {
                return multiple(self, "ORDER BY", at);
            }
            query.order_by = self.order_by()?;
        }
        let (mut limited, mut skipped) = (query.limit.is_some(), query.offset.is_some());
        loop {
            let at = self.position();
            let word = self.word();
            match word.as_str() {
                "limit" | "fetch" if limited => return multiple(self, "LIMIT", at),
                "limit" => {
                    limited = true;
                    query.limit = self.limit()?;
                }
                "fetch" => {
                    limited = true;
                    (query.limit, query.ties) = self.fetch_first()?;
                }
                "offset" if skipped => return multiple(self, "OFFSET", at),
                "offset" => {
                    skipped = true;
                    self.bump();
                    query.offset = Some(self.expr()?);
                    if !self.eat_word("rows") {
                        self.eat_word("row");
                    }
                }
                "for" => {
                    query.locking.extend(self.locking()?);
                }
                _ => break,
            }
        }
        if !query.ties {
            return Ok(());
        }
        if query.order_by.is_empty() {
            let message = "WITH TIES cannot be specified without ORDER BY clause";
            return Err(self.syntax_error(message, self.position()));
        }
        if query.locking.iter().any(|l| l.wait == LockWait::SkipLocked) {
            let message = "SKIP LOCKED and WITH TIES options cannot be used together";
            return Err(self.syntax_error(message, self.position()));
        }
        Ok(())
    }

    /// `LIMIT n | ALL`
    fn limit(&mut self) -> Result<Option<Expr>> {
        let position = self.bump().start;
        if self.eat_word("all") {
            return Ok(None);
        }
        let count = self.expr()?;
        if self.at_kind(Kind::Comma) {
            let error = self.syntax_error("LIMIT #,# syntax is not supported", position);
            return Err(error.with_hint("Use separate LIMIT and OFFSET clauses."));
        }
        // `LIMIT NULL` is no limit.
        Ok((count.kind != ExprKind::Null).then_some(count))
    }

    /// `FETCH FIRST [n] ROWS {ONLY | WITH TIES}`
    fn fetch_first(&mut self) -> Result<(Option<Expr>, bool)> {
        let position = self.bump().start;
        if !self.eat_word("first") {
            self.expect_word("next")?;
        }
        let count = match self.at_any(&["row", "rows"]) {
            true => Expr { position, kind: ExprKind::Integer("1".to_owned()) },
            false => self.fetch_count()?,
        };
        if !self.eat_word("rows") {
            self.expect_word("row")?;
        }
        let ties = self.eat_words(&["with", "ties"]);
        if !ties {
            self.expect_word("only")?;
        }
        if ties && count.kind == ExprKind::Null {
            let message = "row count cannot be null in FETCH FIRST ... WITH TIES clause";
            return Err(Error::new(SqlState::INVALID_ROW_COUNT_IN_LIMIT_CLAUSE, message).at(count.position));
        }
        Ok((Some(count), ties))
    }

    /// An operand or a signed number: no operator may stand before ROWS.
    fn fetch_count(&mut self) -> Result<Expr> {
        let position = self.position();
        let op = match self.token_text() {
            "-" => crate::ast::UnaryOp::Minus,
            "+" => crate::ast::UnaryOp::Plus,
            _ => return self.operand(),
        };
        self.bump();
        Ok(Expr { position, kind: ExprKind::Unary(op, Box::new(self.operand()?)) })
    }

    /// `FOR UPDATE | NO KEY UPDATE | SHARE | KEY SHARE [OF t, ..] [NOWAIT | SKIP LOCKED]`
    fn locking(&mut self) -> Result<Option<Locking>> {
        let position = self.bump().start;
        let strengths: [(Strength, &[&str]); 4] = [
            (Strength::Update, &["update"]),
            (Strength::NoKeyUpdate, &["no", "key", "update"]),
            (Strength::Share, &["share"]),
            (Strength::KeyShare, &["key", "share"]),
        ];
        if self.eat_words(&["read", "only"]) {
            return Ok(None);
        }
        let Some((strength, _)) = strengths.into_iter().find(|(_, words)| self.eat_words(words)) else {
            return self.fail();
        };
        let of = if self.eat_word("of") { self.list(Self::qualified_name)? } else { Vec::new() };
        let wait = match () {
            () if self.eat_word("nowait") => LockWait::NoWait,
            () if self.eat_words(&["skip", "locked"]) => LockWait::SkipLocked,
            () => LockWait::Wait,
        };
        Ok(Some(Locking { strength, of, wait, position }))
    }

    /// `[WITH [RECURSIVE] name [(columns)] AS (statement), ...]`
    pub(crate) fn with(&mut self) -> Result<(Vec<Cte>, bool)> {
        if !self.eat_word("with") {
            return Ok((Vec::new(), false));
        }
        let recursive = self.eat_word("recursive");
        let with = self.list(Self::cte)?;
        for cte in &with {
            let at = cte.search.as_ref().map(|s| s.position).or(cte.cycle.as_ref().map(|c| c.position));
            let query = matches!(cte.statement.kind, crate::ast::StatementKind::Query(_));
            if let Some(at) = at.filter(|_| !(recursive && query)) {
                return Err(self.syntax_error("WITH query is not recursive", at));
            }
        }
        Ok((with, recursive))
    }

    fn cte(&mut self) -> Result<Cte> {
        let name = self.name()?;
        let columns = match self.at_kind(Kind::LeftParen) {
            true => self.paren_names()?,
            false => Vec::new(),
        };
        self.expect_word("as")?;
        // Whether to materialize is the planner's choice.
        if !self.eat_word("materialized") {
            self.eat_words(&["not", "materialized"]);
        }
        self.expect(Kind::LeftParen)?;
        let statement = Box::new(self.nested(Self::preparable)?);
        self.expect(Kind::RightParen)?;
        let search = if self.at_word("search") { Some(self.search_clause()?) } else { None };
        let cycle = if self.at_word("cycle") { Some(self.cycle_clause()?) } else { None };
        Ok(Cte { name, columns, statement, search, cycle })
    }

    /// `SEARCH {DEPTH | BREADTH} FIRST BY a, b SET name`
    fn search_clause(&mut self) -> Result<Search> {
        let position = self.bump().start;
        let breadth = self.eat_word("breadth");
        if !breadth {
            self.expect_word("depth")?;
        }
        self.expect_words(&["first", "by"])?;
        let columns = self.list(Self::name)?;
        self.expect_word("set")?;
        Ok(Search { breadth, columns, sequence: self.name()?, position })
    }

    /// `CYCLE a, b SET mark [TO value DEFAULT value] USING path`
    fn cycle_clause(&mut self) -> Result<Cycle> {
        let position = self.bump().start;
        let columns = self.list(Self::name)?;
        self.expect_word("set")?;
        let mark = self.name()?;
        let truth = |value| Expr { position, kind: ExprKind::Bool(value) };
        let (mut value, mut otherwise) = (truth(true), truth(false));
        if self.eat_word("to") {
            value = self.operand()?;
            self.expect_word("default")?;
            otherwise = self.operand()?;
        }
        self.expect_word("using")?;
        Ok(Cycle { columns, mark, value, otherwise, path: self.name()?, position })
    }
}
