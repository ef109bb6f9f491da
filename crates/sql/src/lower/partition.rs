//! Partitioned tables in programs.
//!
//! The rows of all partitions are with the root (the catalog's `partitions`), so whoever names the partitioned table names a
//! table like any other. A partition is its slice: a condition over the root, as a view's. Rows that the root is to store
//! must belong to some partition, and meet what that one asks for; they are told by its name in messages.
//!
//! ```text
//!  INSERT INTO p ..  ->  [some partition takes it? else 23514]  NOT NULL, CHECK, [rules of partitions]  Insert
//!  UPDATE c SET ..   ->  UPDATE root SET .. WHERE (bounds of c)  [still within the bounds of c? else 23514]
//! ```

use super::Lowerer;
use super::bound::{Bound, BoundKind, RelId, RelKind};
use super::constraint::Values;
use super::names::Names;
use super::types::CastContext;
use planaria_base::types::TypeClass;
use planaria_base::{Datum, Error, Result, SqlState, TableId, Type};
use planaria_catalog::{RowRule, RuleKind, Table};
use planaria_ir::{Diagnostic, ErrorFields, Func, Reg};
use planaria_syntax::ast::{Expr, FunctionCall, Name};

/// PostgreSQL's seed of the hashes that tell partitions apart.
const HASH_SEED: i64 = 0x7A5B_2236_7996_DCFD;

impl<'c> Lowerer<'c> {
    /// Some partition must take a row of a root: else 23514, before anything else is asked of the row.
    pub(super) fn check_routes(
        &mut self,
        table: &Table,
        rel: RelId,
        changed: Option<&[usize]>,
        row: &mut dyn FnMut(&mut Self) -> Values,
    ) -> Result<()> {
        for rule in table.row_rules() {
            let RuleKind::Route(of) = rule.kind else { continue };
            // Who names a partition is told of that one's bounds, and of those under it.
            if self.within.is_some_and(|within| !self.catalog.partition_ancestors(of).contains(&within)) {
                continue;
            }
            let Some(e) = self.bind_rule(table, rel, rule, changed)? else { continue };
            let holds = self.value(&e)?;
            let fails = self.apply(Func::IsFalse, vec![holds], Type::Bool);
            let of = self.catalog.table_by_id(of);
            self.raising(fails, |l| {
                let values = row(l);
                let detail = l.partition_key_detail(table, of, &values)?;
                let message = format!("no partition of relation \"{}\" found for row", of.name);
                let fields = ErrorFields { detail, table: Some(of.name.clone()), ..ErrorFields::default() };
                l.raise(SqlState::CHECK_VIOLATION, message, fields);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// What single partitions ask of their rows.
    pub(super) fn check_partition_rules(
        &mut self,
        table: &Table,
        rel: RelId,
        changed: Option<&[usize]>,
        row: &mut dyn FnMut(&mut Self) -> Values,
    ) -> Result<()> {
        for rule in table.row_rules() {
            let (RuleKind::Check { partition, .. } | RuleKind::NotNull { partition, .. }) = rule.kind else {
                continue;
            };
            let Some(e) = self.bind_rule(table, rel, rule, changed)? else { continue };
            let holds = self.value(&e)?;
            let fails = self.apply(Func::IsFalse, vec![holds], Type::Bool);
            self.raising(fails, |l| {
                let values = row(l);
                let detail = l.failing_row(table, &values)?;
                let mut fields = ErrorFields { detail, ..ErrorFields::default() };
                let (state, before, behind) = match &rule.kind {
                    RuleKind::Check { name: check, .. } => {
                        fields.constraint = Some(check.clone());
                        let behind = format!("\" violates check constraint \"{check}\"");
                        (SqlState::CHECK_VIOLATION, "new row for relation \"".to_owned(), behind)
                    }
                    RuleKind::NotNull { column, .. } => {
                        fields.column = Some(column.clone());
                        let before = format!("null value in column \"{column}\" of relation \"");
                        (SqlState::NOT_NULL_VIOLATION, before, "\" violates not-null constraint".to_owned())
                    }
                    RuleKind::Route(_) => return Err(Error::internal("a rule of another kind")),
                };
                let relation = l.relation_of_row(table, &values)?;
                let partition = l.catalog.table_by_id(partition);
                l.raise_of_row(state, partition, relation, (&before, &behind), fields)
            })?;
        }
        Ok(())
    }

    /// A rule over a row in a shadow relation; `None` where it reads nothing that has changed.
    fn bind_rule(
        &mut self,
        table: &Table,
        rel: RelId,
        rule: &RowRule,
        changed: Option<&[usize]>,
    ) -> Result<Option<Bound>> {
        let e = self.bind_over_row(table, rel, &rule.expression)?;
        let used = self.columns_of(&e);
        let mut used = used.into_iter().filter(|(r, _)| *r == rel);
        let unchanged = changed.is_some_and(|changed| !used.any(|(_, c)| changed.contains(&c)));
        Ok((!unchanged || self.rule_asks_always(rule)).then_some(e))
    }

    /// Whether a rule is a CHECK of a partition that is asked whatever has changed.
    fn rule_asks_always(&self, rule: &RowRule) -> bool {
        let RuleKind::Check { partition, name, .. } = &rule.kind else { return false };
        let checks = &self.catalog.table_by_id(*partition).checks;
        checks.iter().any(|check| check.name == *name && self.asks_always(check))
    }

    /// An expression that is kept as text, over the row of a relation.
    pub(super) fn bind_over_row(&mut self, table: &Table, rel: RelId, text: &str) -> Result<Bound> {
        let scope = super::Scope::new();
        let mut names = Names::of(&scope);
        names.sources.push(self.shadow_source(table, rel, &table.name));
        let position = self.position;
        self.bind_text_in(&names, text, position)
    }

    /// The columns that rules need which read a changed one.
    pub(super) fn rule_needs(&mut self, table: &Table, changed: &[usize]) -> Result<Vec<usize>> {
        let mut needs = Vec::new();
        for rule in table.row_rules() {
            let shadow = self.shadow_rel(table, &table.name);
            let e = self.bind_over_row(table, shadow, &rule.expression)?;
            let used: Vec<usize> =
                self.columns_of(&e).into_iter().filter(|(r, _)| *r == shadow).map(|(_, c)| c).collect();
            if used.iter().any(|c| changed.contains(c)) || self.rule_asks_always(rule) {
                needs.extend(used.into_iter().filter(|c| !changed.contains(c)));
            }
        }
        Ok(needs)
    }

    /// `Partition key of the failing row contains (a) = (1).`
    fn partition_key_detail(&mut self, root: &Table, of: &Table, values: &Values) -> Result<Option<Reg>> {
        let Some(partitioning) = of.partitioning.as_deref() else { return Ok(None) };
        if !self.tells_rows(root) {
            return Ok(None);
        }
        let shadow = self.shadow_rel(root, &root.name);
        self.rel_mut(shadow).regs = values.clone();
        self.available.push(shadow);
        let text = |t: String| Bound::constant(Datum::Text(t), Type::Text, 0);
        let keys: Vec<&str> = partitioning.keys.iter().map(|k| k.shown()).collect();
        let mut parts =
            vec![text(format!("Partition key of the failing row contains ({}) = (", keys.join(", ")))];
        for (at, key) in partitioning.keys.iter().enumerate() {
            if at > 0 {
                parts.push(text(", ".to_owned()));
            }
            let value = self.bind_over_row(root, shadow, &key.text)?;
            let shown = self.output_text(value)?;
            let shown = Bound::apply(Func::InDetail, vec![shown], Type::Text, 0);
            let shown = BoundKind::Coalesce(vec![shown, text("null".to_owned())]);
            parts.push(Bound::new(shown, Type::Text, 0));
        }
        parts.push(text(").".to_owned()));
        let detail = self.value(&Bound::apply(Func::Concat, parts, Type::Text, 0));
        self.available.pop();
        detail.map(Some)
    }

    /// The name of the relation that a row belongs to, where that is not the table it is stored in: of a root, the
    /// partition's.
    pub(super) fn relation_of_row(&mut self, table: &Table, values: &Values) -> Result<Option<Reg>> {
        if table.leaves().is_empty()
            || values.iter().zip(&table.columns).any(|(v, c)| v.is_none() && !c.hidden)
        {
            return Ok(None);
        }
        let shadow = self.shadow_rel(table, &table.name);
        self.rel_mut(shadow).regs = values.clone();
        self.available.push(shadow);
        let name =
            |l: &Self, id: &TableId| planaria_base::text_io::quote_literal(&l.catalog.table_by_id(*id).name);
        let whens: Vec<String> =
            table.leaves().iter().map(|(id, c)| format!("WHEN {c} THEN {}", name(self, id))).collect();
        let own = name(self, &table.id);
        let e = self.bind_over_row(table, shadow, &format!("CASE {} ELSE {own} END", whens.join(" ")))?;
        let e = self.operand(e, &Type::Text)?;
        let relation = self.value(&e);
        self.available.pop();
        relation.map(Some)
    }

    /// Raises an error that names the relation of a row, in its message as well: `around` is what stands before and behind it.
    /// `relation`: where it is not `table`.
    pub(super) fn raise_of_row(
        &mut self,
        state: SqlState,
        table: &Table,
        relation: Option<Reg>,
        around: (&str, &str),
        mut fields: ErrorFields,
    ) -> Result<()> {
        let Some(relation) = relation else {
            fields.table = Some(table.name.clone());
            self.raise(state, format!("{}{}{}", around.0, table.name, around.1), fields);
            return Ok(());
        };
        let text = |t: &str| Bound::constant(Datum::Text(t.to_owned()), Type::Text, 0);
        let named = Bound::new(BoundKind::Reg(relation), Type::Text, 0);
        let message = Bound::apply(Func::Concat, vec![text(around.0), named, text(around.1)], Type::Text, 0);
        let message = self.value(&message)?;
        fields.computed.push((Diagnostic::Table, relation));
        self.raise_text(state, message, fields);
        Ok(())
    }

    /// 0A000 for ONLY of a partitioned table: it has no rows but those of its partitions.
    pub(super) fn refuse_only(&mut self, name: &Name) -> Result<()> {
        let Ok(wanted) = self.meant(name) else { return Ok(()) };
        let table = self.catalog.table(self.catalog.located(wanted));
        if super::system::named(name).is_some() || !table.is_some_and(Table::is_partitioned) {
            return Ok(());
        }
        let message = "ONLY of a partitioned table is not supported in a query";
        Err(Error::unsupported(message, "It has no rows of its own, only those of its partitions.")
            .at(name.position))
    }

    /// The index of a target's table that ON CONFLICT ON CONSTRAINT names: of a partition, the root's that it is a part of.
    pub(super) fn named_index(&self, target: &super::updatable::Target<'_>, name: &str) -> Option<usize> {
        let place = |table: &Table| table.indexes.iter().position(|i| i.name == name);
        let Some(partition) = target.partition() else {
            return place(target.table).filter(|_| !target.is_view());
        };
        let mut table = self.catalog.table_by_id(partition);
        let mut at = place(table).filter(|_| target.name() == table.name)?;
        while table.partition.is_some() {
            (table, at) = self.catalog.parent_index(table, at)?;
        }
        Some(at)
    }

    /// `tableoid` of a row of a root: its partition's.
    pub(super) fn leaf_oid(&mut self, names: &Names<'_>, name: &Name) -> Result<Option<Bound>> {
        if name.parts.last().is_none_or(|last| last != "tableoid") {
            return Ok(None);
        }
        let found = match &name.parts[..] {
            [_] => names.source_with("tableoid").map(|(source, _)| source),
            [.., alias, _] => names.source(alias).map(|(source, _)| source),
            [] => None,
        };
        let Some(source) = found else { return Ok(None) };
        let Some(rel) = source.of else { return Ok(None) };
        let id = match (source.root, &self.rel(rel).kind) {
            (Some(root), _) => root,
            (None, RelKind::Table(id)) => *id,
            _ => return Ok(None),
        };
        let table = self.catalog.table_by_id(id);
        if table.leaves().is_empty() {
            return Ok(None);
        }
        let scope = super::Scope::new();
        let mut inner = Names::of(&scope);
        inner.sources.push(match source.root {
            Some(_) => self.shadow_source(table, rel, &table.name),
            None => self.source_of(rel, &table.name),
        });
        let whens: Vec<String> = table
            .leaves()
            .iter()
            .map(|(id, c)| format!("WHEN {c} THEN {}::pg_catalog.oid", self.catalog.table_oid(*id)))
            .collect();
        let text = format!("CASE {} END", whens.join(" "));
        self.bind_text_in(&inner, &text, name.position).map(Some)
    }

    /// `satisfies_hash_partition(table, modulus, remainder, key, ..)`: whether the hash of a key leaves that remainder.
    pub(super) fn bind_hash_partition(
        &mut self,
        names: &Names<'_>,
        call: &FunctionCall,
        position: u32,
    ) -> Result<Bound> {
        let mut args = Vec::with_capacity(call.args.len());
        for arg in &call.args[1..] {
            let value: &Expr = &arg.value;
            let e = self.bind(names, value)?;
            args.push(self.settle(e)?);
        }
        let mut of: Vec<Bound> = Vec::with_capacity(args.len());
        for (at, e) in args.into_iter().enumerate() {
            if at < 2 {
                of.push(self.coerce(e, &Type::Int8, CastContext::Implicit)?);
                continue;
            }
            of.push(hash_of(e, position)?);
        }
        Ok(Bound::apply(Func::HashPartition, of, Type::Bool, position))
    }
}

/// The hash of a value as PostgreSQL's hash partitions have it.
fn hash_of(e: Bound, position: u32) -> Result<Bound> {
    let seed = Bound::constant(Datum::Int(HASH_SEED), Type::Int8, position);
    let func = match (e.ty.class(), e.ty.plain()) {
        (TypeClass::Text, _) => Func::HashText,
        (TypeClass::Uuid, _) => Func::HashUuid,
        (TypeClass::Bool, _) => Func::HashBool,
        (TypeClass::Integer, Type::Int8) => Func::HashInt8,
        (TypeClass::Integer, _) | (TypeClass::DateTime, Type::Date) => Func::HashInt4,
        (TypeClass::DateTime, _) => Func::HashInt8,
        _ => {
            let message = format!("a hash partition key of type {} is not supported", e.ty);
            return Err(Error::unsupported(message, "docs/sql.md lists the types.").at(position));
        }
    };
    Ok(Bound::apply(func, vec![e, seed], Type::Int8, position))
}
