//! EXPLAIN: the plan of a statement as a tree of nodes, in the words of PostgreSQL; with ANALYZE, what each came to.
//!
//! A plan is emitted from the outermost loop inwards, and rows are pushed from the inside out: each place that emits a
//! node says so ([`Lowerer::note`]), at its depth, and counts in the node what it passes on ([`Lowerer::passed`]).

use super::bound::{Aggregate, AggregateKind, Bound, BoundKind, Grouping, Order, RelId, RelKind};
use super::path::{Key, Path};
use super::plan::{Outer, Source, Step};
use super::{Lowerer, ParamTypes, Runner};
use planaria_base::{Datum, Result, SequenceId, Type};
use planaria_catalog::{Catalog, Requirement};
use planaria_ir::{Draw, Func, Op, OpId, OpKind, Output, Reg};
use planaria_syntax::ast::Statement;
use std::fmt::Write;

/// A node of a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanNode {
    /// How far below the root; the nodes it takes rows from follow it, one deeper.
    pub depth: usize,
    /// `Index Scan`, `Hash Join`, `Insert`.
    pub kind: String,
    /// Of a join: `Left`, `Full`.
    pub join: Option<&'static str>,
    /// It reads its index from the end.
    pub backward: bool,
    /// The index that it looks into.
    pub index: Option<String>,
    /// What it reads or changes: a table, a function, a WITH query.
    pub relation: Option<String>,
    /// What that is called in the statement, where it is called otherwise.
    pub alias: Option<String>,
    /// What it is to the node above, where it is not its input: `CTE name`, `SubPlan 1`.
    pub subplan: Option<String>,
    /// `Index Cond`, `Filter`, `Sort Key`, ...: the label, and what stands behind it.
    pub details: Vec<(&'static str, Vec<String>)>,
    /// Where its counters stand in the answer of a program that counts, if anything counts it.
    counter: Option<usize>,
    /// Something counts the rows that it gives.
    counted: bool,
}

/// What a node came to when the statement ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Actual {
    /// Rows that it gave, of all turns.
    pub rows: u64,
    /// How often it was begun.
    pub loops: u64,
}

impl Actual {
    /// Rows of a turn, on average.
    pub fn rows_a_loop(&self) -> u64 {
        (self.rows + self.loops / 2).checked_div(self.loops).unwrap_or(0)
    }
}

impl PlanNode {
    /// Its first line: what it does, to what.
    pub fn title(&self) -> String {
        let mut title = match (self.join, self.kind.strip_suffix(" Join")) {
            (Some(join), Some(how)) => format!("{how} {join} Join"),
            (Some(join), None) => format!("{} {join} Join", self.kind),
            (None, _) => self.kind.clone(),
        };
        if self.backward {
            title.push_str(" Backward");
        }
        if let Some(index) = &self.index {
            let _ = write!(title, " using {index}");
        }
        if let Some(relation) = &self.relation {
            let _ = write!(title, " on {relation}");
        }
        if let Some(alias) = &self.alias {
            let _ = write!(title, " {alias}");
        }
        title
    }

    /// What it came to, by the counters of a run; `None` where nothing counts it.
    pub fn actual(&self, counters: &[u64]) -> Option<Actual> {
        let at = self.counter.filter(|_| self.counted)? * 2;
        Some(Actual { rows: *counters.get(at)?, loops: *counters.get(at + 1)? })
    }
}

/// The lines of a plan; with the counters of a run, if there was one.
pub fn plan_lines(nodes: &[PlanNode], counters: Option<&[u64]>) -> Vec<String> {
    let mut lines = Vec::new();
    // Depths of the subplans around; what is in one stands further in, as its name has a line of its own.
    let mut around: Vec<usize> = Vec::new();
    for node in nodes {
        while around.last().is_some_and(|depth| *depth >= node.depth) {
            around.pop();
        }
        let further = 2 * around.len();
        let (lead, inside) = match (&node.subplan, node.depth) {
            (Some(subplan), depth) => {
                around.push(depth);
                let above = (6 * depth).saturating_sub(4) + further;
                lines.push(format!("{}{subplan}", " ".repeat(above)));
                (" ".repeat(above + 2) + "->  ", above + 8)
            }
            (None, 0) => (String::new(), 2),
            (None, depth) => (" ".repeat(6 * depth - 4 + further) + "->  ", 6 * depth + 2 + further),
        };
        let actual = match counters.map(|counters| node.actual(counters)) {
            None | Some(None) => String::new(),
            Some(Some(Actual { loops: 0, .. })) => " (never executed)".to_owned(),
            Some(Some(actual)) => {
                format!(" (actual rows={} loops={})", actual.rows_a_loop(), actual.loops)
            }
        };
        lines.push(format!("{lead}{}{actual}", node.title()));
        for (label, values) in &node.details {
            lines.push(format!("{}{label}: {}", " ".repeat(inside), values.join(", ")));
        }
    }
    lines
}

/// The same nodes, the root first: WITH queries, and what is computed before it begins, come right behind it.
fn rooted(nodes: Vec<PlanNode>) -> Vec<PlanNode> {
    let (mut before, mut rest): (Vec<PlanNode>, Vec<PlanNode>) = (Vec::new(), Vec::new());
    let mut with = None;
    for mut node in nodes {
        if with.is_some_and(|depth| node.depth <= depth) {
            with = None;
        }
        let is_with = node.subplan.as_ref().is_some_and(|name| name.starts_with("CTE "));
        if with.is_none() && is_with {
            with = Some(node.depth);
        }
        match with {
            Some(depth) => {
                node.depth = node.depth - depth + 1;
                before.push(node);
            }
            // Nothing that it could stand below has come yet.
            None if rest.is_empty() && node.depth > 0 => before.push(node),
            None => rest.push(node),
        }
    }
    let behind = rest.split_off(rest.len().min(1));
    rest.into_iter().chain(before).chain(behind).collect()
}

/// The plan of a statement, its root first; and what it needs rights for.
pub fn explain_statement(
    catalog: &Catalog,
    statement: &Statement,
    params: &ParamTypes,
    runner: Runner,
) -> Result<(Vec<PlanNode>, Vec<Requirement>)> {
    let mut lowerer =
        super::statement::lower(catalog, statement, params, runner, None, Explains::showing(), false)?;
    let requirements = lowerer.take_requirements();
    Ok((lowerer.plan(), requirements))
}

/// The parts of a plan that are being written.
#[derive(Default)]
pub(super) struct Explains {
    /// None where nobody asks for a plan.
    nodes: Option<Vec<PlanNode>>,
    /// How deep what is emitted stands.
    pub depth: usize,
    /// Registers that count, two of each node: rows, and turns.
    counters: Vec<Reg>,
    /// Whether it counts.
    counts: bool,
    /// What the columns of groups are: by relation.
    groups: Vec<(RelId, Vec<String>)>,
    subplans: usize,
    /// What the next node is to the one above.
    named: Option<String>,
    /// The node of the next aggregation, if it was written before what it aggregates was sorted.
    grouped: Option<NodeId>,
}

impl Explains {
    /// For a program that counts what each node came to.
    pub(super) fn counting() -> Explains {
        Explains { counts: true, ..Explains::showing() }
    }

    /// For a plan.
    pub(super) fn showing() -> Explains {
        Explains { nodes: Some(Vec::new()), ..Explains::default() }
    }

    pub(super) fn counts(&self) -> bool {
        self.counts
    }

    /// Whether anybody asks for the plan.
    pub(super) fn shows(&self) -> bool {
        self.nodes.is_some()
    }
}

/// A node that was written, if any was.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NodeId(Option<usize>);

impl NodeId {
    pub(super) fn is_some(self) -> bool {
        self.0.is_some()
    }
}

/// In front of a column's relation, and behind it: it is left out where the statement has no other.
const QUALIFIED: char = '\u{1}';

/// Parts of an expression that are shown, at most: more of them nobody reads.
const SHOWN_MAX: usize = 40;

impl Lowerer<'_> {
    /// The plan that was written, as it is shown.
    pub(super) fn plan(&mut self) -> Vec<PlanNode> {
        let mut nodes = self.explains.nodes.take().unwrap_or_default();
        let named =
            self.rels.iter().filter(|rel| !rel.name.is_empty() && rel.kind != RelKind::Pseudo).count();
        for text in nodes.iter_mut().flat_map(|node| &mut node.details).flat_map(|(_, values)| values) {
            let mut shown = String::with_capacity(text.len());
            for (i, part) in text.split(QUALIFIED).enumerate() {
                // Every other part is the name of a relation.
                if i % 2 == 0 || named > 1 {
                    shown.push_str(part);
                }
            }
            *text = shown;
        }
        rooted(nodes)
    }

    /// Ends a program that counts: its answer is one row, of its counters.
    pub(super) fn answer_counters(&mut self) {
        let values = self.explains.counters.clone();
        // A statement that returns no rows gives none.
        let root = |node: &&mut PlanNode| node.depth == 0 && node.subplan.is_none();
        if let Some(root) = self.explains.nodes.iter_mut().flatten().find(root) {
            root.counted = true;
        }
        let output = |_: &Reg| Output { name: "count".to_owned(), ty: Type::Int8 };
        self.program.outputs = values.iter().map(output).collect();
        self.emit(OpKind::Emit { values });
    }

    /// A node of the plan, at the depth reached.
    pub(super) fn note(&mut self, kind: &str) -> NodeId {
        self.note_with(kind, |_, _| ())
    }

    /// One that reads or changes what has a name.
    pub(super) fn note_on(&mut self, kind: &str, relation: &str) -> NodeId {
        self.note_with(kind, |_, node| node.relation = Some(relation.to_owned()))
    }

    /// One that reads what has a name, under the name of a relation.
    pub(super) fn note_scan(&mut self, kind: &str, of: &str, rel: RelId) -> NodeId {
        self.note_with(kind, |l, node| {
            let alias = &l.rel(rel).name;
            node.alias = Some(alias.clone()).filter(|alias| *alias != of && !alias.is_empty());
            node.relation = Some(of.to_owned());
        })
    }

    /// A node that `fill` says more of.
    pub(super) fn note_with(&mut self, kind: &str, fill: impl FnOnce(&Self, &mut PlanNode)) -> NodeId {
        if !self.explains.shows() {
            return NodeId(None);
        }
        let mut node = PlanNode { depth: self.explains.depth, kind: kind.to_owned(), ..PlanNode::default() };
        fill(self, &mut node);
        node.subplan = self.explains.named.take().or(node.subplan);
        if self.explains.counts {
            node.counter = Some(self.explains.counters.len() / 2);
            let (rows, loops) = (self.plan_counter(), self.plan_counter());
            self.explains.counters.extend([rows, loops]);
            self.count_one(loops);
        }
        let nodes = self.explains.nodes.get_or_insert_default();
        nodes.push(node);
        NodeId(Some(nodes.len() - 1))
    }

    fn plan_counter(&mut self) -> Reg {
        let dst = self.temp(Type::Int8);
        let kind = OpKind::Const { dst, value: Datum::Int(0) };
        self.prologue.push(Op { id: OpId(0), position: 0, kind });
        dst
    }

    fn count_one(&mut self, counter: Reg) {
        let one = self.int8(1);
        self.emit(OpKind::Apply { dst: counter, func: Func::Int8Add, args: vec![counter, one] });
    }

    /// A node passes a row on.
    pub(super) fn passed(&mut self, node: NodeId) {
        let node = node.0.and_then(|at| self.explains.nodes.as_mut()?.get_mut(at));
        if let Some(node) = node
            && let Some(counter) = node.counter
        {
            node.counted = true;
            self.count_one(self.explains.counters[counter * 2]);
        }
    }

    /// The statement itself passes a row on, which RETURNING has asked for.
    pub(super) fn returned(&mut self) {
        let root =
            |nodes: &Vec<PlanNode>| nodes.iter().position(|node| node.depth == 0 && node.subplan.is_none());
        self.passed(NodeId(self.explains.nodes.as_ref().and_then(root)));
    }

    /// The node that is written next.
    pub(super) fn next_node(&self) -> NodeId {
        NodeId(self.explains.nodes.as_ref().map(Vec::len))
    }

    /// Says more of a node: nothing where no node came of it.
    pub(super) fn detail(
        &mut self,
        node: NodeId,
        label: &'static str,
        of: impl FnOnce(&mut Self) -> Vec<String>,
    ) {
        let there = |nodes: &Vec<PlanNode>| node.0.is_some_and(|at| at < nodes.len());
        if !self.explains.nodes.as_ref().is_some_and(there) {
            return;
        }
        let values = of(self);
        if let (Some(nodes), Some(at)) = (&mut self.explains.nodes, node.0)
            && !values.is_empty()
        {
            nodes[at].details.push((label, values));
        }
    }

    /// Conditions on a node.
    pub(super) fn show_conditions(&mut self, node: NodeId, label: &'static str, filter: &[Bound]) {
        self.detail(node, label, |l| l.shown_conditions(filter).into_iter().collect());
    }

    fn shown_conditions(&self, filter: &[Bound]) -> Option<String> {
        let mut shown: Vec<String> = filter.iter().take(SHOWN_MAX).map(|e| self.show(e)).collect();
        if shown.len() < filter.len() {
            shown.push("...".to_owned());
        }
        conjunction(shown)
    }

    /// What `f` emits stands below: of another depth when it is done.
    pub(super) fn below<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        let depth = self.explains.depth;
        self.explains.depth += 1;
        let done = f(self);
        self.explains.depth = depth;
        done
    }

    /// The same of a query within an expression.
    pub(super) fn subplan<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        self.explains.subplans += 1;
        let name = format!("SubPlan {}", self.explains.subplans);
        self.named_below(&name, f)
    }

    /// What `f` emits stands below, by a name: `CTE name`.
    pub(super) fn named_below<R>(&mut self, name: &str, f: impl FnOnce(&mut Self) -> R) -> R {
        if !self.explains.shows() {
            return f(self);
        }
        let around = self.explains.named.replace(name.to_owned());
        let done = self.below(f);
        self.explains.named = around;
        done
    }

    /// The joins of these steps, the last one outermost: each has the one before it, and its own source, below it.
    pub(super) fn note_joins(&mut self, steps: &[Step]) -> Vec<NodeId> {
        let mut joins = vec![NodeId(None); steps.len()];
        if !self.explains.shows() {
            return joins;
        }
        let depth = self.explains.depth;
        for (k, step) in steps.iter().enumerate().skip(1).rev() {
            let (kind, hash) = match &step.source {
                Source::Hash(hash) => ("Hash Join", Some(hash)),
                Source::Outer { how: Outer::Hash(hash, _), .. } => ("Hash Join", Some(hash)),
                _ => ("Nested Loop", None),
            };
            let left = matches!(step.source, Source::Outer { .. }).then_some("Left");
            joins[k] = self.note_with(kind, |_, node| node.join = left);
            if let Some(hash) = hash {
                self.hash_condition(joins[k], &hash.keys);
            }
            self.explains.depth += 1;
        }
        self.explains.depth = depth;
        joins
    }

    pub(super) fn hash_condition(&mut self, node: NodeId, keys: &[(Bound, Bound)]) {
        self.detail(node, "Hash Cond", |l| {
            let each: Vec<String> =
                keys.iter().map(|(build, probe)| format!("{} = {}", l.show(probe), l.show(build))).collect();
            conjunction(each).into_iter().collect()
        });
    }

    /// How a table is reached.
    pub(super) fn note_access(&mut self, rel: RelId, path: &Path) -> NodeId {
        let bounds = path.lower.is_some() || path.upper.is_some();
        let whole = path.prefix.is_empty() && !bounds && path.index.index() == 0 && !path.descending;
        let node = self.note_with(if whole { "Seq Scan" } else { "Index Scan" }, |l, node| {
            let table = l.catalog.table_by_id(path.table);
            let alias = &l.rel(rel).name;
            node.relation = Some(table.name.clone());
            node.alias = Some(alias.clone()).filter(|alias| *alias != table.name && !alias.is_empty());
            node.index = (!whole).then(|| table.indexes[path.index.index()].name.clone());
            node.backward = path.descending;
        });
        self.detail(node, "Index Cond", |l| l.index_condition(path).into_iter().collect());
        node
    }

    fn index_condition(&self, path: &Path) -> Option<String> {
        let table = self.catalog.table_by_id(path.table);
        let index = &table.indexes[path.index.index()];
        let name = |i: usize| &table.columns[index.columns[i].index()].name;
        let mut conditions = Vec::new();
        for (i, key) in path.prefix.iter().enumerate() {
            conditions.push(match key {
                Key::One(e) => format!("{} = {}", name(i), self.show(e)),
                Key::Any(_) => format!("{} = ANY (..)", name(i)),
            });
        }
        let next = path.prefix.len();
        for (bound, op) in [(&path.lower, ">"), (&path.upper, "<")] {
            if let Some((e, inclusive)) = bound {
                let equal = if *inclusive { "=" } else { "" };
                conditions.push(format!("{} {op}{equal} {}", name(next), self.show(e)));
            }
        }
        conjunction(conditions)
    }

    /// What rows are sorted by: the outputs of a query.
    pub(super) fn sort_keys(&mut self, node: NodeId, order: &[Order], of: &dyn Fn(&Self, usize) -> String) {
        self.detail(node, "Sort Key", |l| {
            order.iter().map(|o| sorted(of(l, o.output), o.descending, o.nulls_first)).collect()
        });
    }

    /// Names the columns of groups by what they are, before anything shows them.
    pub(super) fn name_groups(&mut self, grouping: &Grouping) {
        if !self.explains.shows() || self.explains.groups.iter().any(|(rel, _)| *rel == grouping.rel) {
            return;
        }
        let mut names: Vec<String> = grouping.keys.iter().map(|key| self.show(key)).collect();
        names.extend(grouping.aggregates.iter().map(|aggregate| self.show_aggregate(aggregate)));
        self.explains.groups.push((grouping.rel, names));
    }

    /// The node of an aggregation.
    pub(super) fn note_groups(&mut self, kind: &str, grouping: &Grouping) -> NodeId {
        if let Some(node) = self.explains.grouped.take() {
            return node;
        }
        self.name_groups(grouping);
        let node = self.note(kind);
        self.group_keys(node, grouping);
        self.show_conditions(node, "Filter", &grouping.having);
        node
    }

    /// The same, whose rows are sorted first.
    pub(super) fn note_sorted_groups(&mut self, kind: &str, grouping: &Grouping) {
        let node = self.note_groups(kind, grouping);
        self.explains.grouped = Some(node);
    }

    fn group_keys(&mut self, node: NodeId, grouping: &Grouping) {
        let written = usize::from(!grouping.sets.is_empty());
        self.detail(node, "Group Key", |l| grouping.keys.iter().skip(written).map(|e| l.show(e)).collect());
    }

    fn show_aggregate(&self, aggregate: &Aggregate) -> String {
        let name = match &aggregate.kind {
            AggregateKind::CountStar => return "count(*)".to_owned(),
            AggregateKind::Count => "count",
            AggregateKind::Sum(_) => "sum",
            AggregateKind::AvgNumeric(_) | AggregateKind::AvgByFloat => "avg",
            AggregateKind::Min => "min",
            AggregateKind::Max => "max",
            AggregateKind::First => return aggregate.args.first().map_or_else(String::new, |e| self.show(e)),
            AggregateKind::ArrayAgg => "array_agg",
            AggregateKind::StringAgg => "string_agg",
            AggregateKind::Own(id) => &self.catalog.procedure(*id).name,
        };
        let args: Vec<String> = aggregate.args.iter().map(|e| self.show(e)).collect();
        let distinct = if aggregate.distinct { "DISTINCT " } else { "" };
        format!("{name}({distinct}{})", args.join(", "))
    }

    /// An expression as it might be written.
    pub(super) fn show(&self, e: &Bound) -> String {
        let mut left = SHOWN_MAX;
        self.show_some(e, &mut left)
    }

    fn show_some(&self, e: &Bound, left: &mut usize) -> String {
        if *left == 0 {
            return "...".to_owned();
        }
        *left -= 1;
        match &e.kind {
            BoundKind::Const(value) => shown_constant(value, &e.ty),
            BoundKind::Param(n) => format!("${}", n + 1),
            BoundKind::Column(rel, column) => {
                if let Some((_, names)) = self.explains.groups.iter().find(|(group, _)| group == rel)
                    && let Some(name) = names.get(*column)
                {
                    return name.clone();
                }
                let rel = self.rel(*rel);
                let name = rel.columns.get(*column).map_or("?column?", |(name, _)| name);
                match rel.name.as_str() {
                    "" => name.to_owned(),
                    of => format!("{QUALIFIED}{of}.{QUALIFIED}{name}"),
                }
            }
            BoundKind::Reg(reg) => {
                let name = &self.program.regs[reg.index()].name;
                name.clone().unwrap_or_else(|| reg.to_string())
            }
            BoundKind::Relabel(inner)
            | BoundKind::InDomain(inner, _)
            | BoundKind::PerRow(_, inner)
            | BoundKind::Secured(inner) => self.show_some(inner, left),
            // A date beside a timestamp is compared as it is.
            BoundKind::Apply(Func::DateToTimestamp, args) => self.show_list(args, left),
            BoundKind::Cast(inner, _) if matches!(inner.kind, BoundKind::Apply(Func::DateToTimestamp, _)) => {
                self.show_some(inner, left)
            }
            BoundKind::Cast(inner, _) => {
                let shown = self.show_some(inner, left);
                let shown = if inner.is_compound() { in_brackets(shown) } else { shown };
                format!("{shown}::{}", super::operators::base_name(&e.ty))
            }
            BoundKind::And(a, b) => {
                let (a, b) = (self.show_some(a, left), self.show_some(b, left));
                format!("{} AND {}", in_brackets(a), in_brackets(b))
            }
            BoundKind::Or(a, b) => {
                let (a, b) = (self.show_some(a, left), self.show_some(b, left));
                format!("{} OR {}", in_brackets(a), in_brackets(b))
            }
            BoundKind::Apply(func, args) => self.show_call(*func, args, left),
            BoundKind::Coalesce(args) => format!("COALESCE({})", self.show_list(args, left)),
            BoundKind::Call(id, args) => {
                format!("{}({})", self.catalog.procedure(*id).name, self.show_list(args, left))
            }
            BoundKind::Row(fields) => format!("ROW({})", self.show_list(fields, left)),
            BoundKind::InList(e, list, _) => {
                let (e, list) = (self.show_some(e, left), self.show_list(list, left));
                format!("{e} IN ({list})")
            }
            BoundKind::Quantified(e, array, func, all) => {
                let (e, array) = (self.show_some(e, left), self.show_some(array, left));
                let (op, which) = (func.operator().unwrap_or("="), if *all { "ALL" } else { "ANY" });
                format!("{e} {op} {which} ({array})")
            }
            BoundKind::Case(branches, otherwise) => {
                let mut text = "CASE".to_owned();
                for (when, then) in branches.iter().take(*left) {
                    let (when, then) = (self.show_some(when, left), self.show_some(then, left));
                    let _ = write!(text, " WHEN {when} THEN {then}");
                }
                let _ = write!(text, " ELSE {} END", self.show_some(otherwise, left));
                text
            }
            BoundKind::Let(_, body) => self.show_some(body, left),
            BoundKind::Exists(_) => "EXISTS(SubPlan)".to_owned(),
            BoundKind::NotAmong(_, keys) => format!("({}) NOT CHANGED BEFORE", self.show_list(keys, left)),
            BoundKind::InQuery(left_side, _) => {
                format!("{} IN (SubPlan)", self.show_list(left_side, left))
            }
            BoundKind::QuantifiedQuery(e, _, func, all) => {
                let (op, which) = (func.operator().unwrap_or("="), if *all { "ALL" } else { "ANY" });
                format!("{} {op} {which} (SubPlan)", self.show_some(e, left))
            }
            BoundKind::Subquery(_) | BoundKind::ArrayQuery(_) => "(SubPlan)".to_owned(),
            BoundKind::NextValue(id) => format!("nextval('{}')", self.sequence_name(*id)),
            BoundKind::CurrentValue(id) => format!("currval('{}')", self.sequence_name(*id)),
            BoundKind::Draw(Draw::CurrentUser) => "CURRENT_USER".to_owned(),
            BoundKind::Draw(Draw::SessionUser) => "SESSION_USER".to_owned(),
            BoundKind::Draw(Draw::TransactionTimestamp) => "now()".to_owned(),
            BoundKind::Draw(Draw::Random) => "random()".to_owned(),
            BoundKind::LetRef(_)
            | BoundKind::Draw(_)
            | BoundKind::SetValue(..)
            | BoundKind::ByText(..)
            | BoundKind::Ask(..) => "..".to_owned(),
        }
    }

    fn sequence_name(&self, id: SequenceId) -> &str {
        self.catalog.sequences.iter().flatten().find(|s| s.id == id).map_or("", |s| &s.name)
    }

    fn show_list(&self, list: &[Bound], left: &mut usize) -> String {
        let mut shown = Vec::new();
        for e in list {
            shown.push(self.show_some(e, left));
            if *left == 0 {
                break;
            }
        }
        if shown.len() < list.len() {
            shown.push("...".to_owned());
        }
        shown.join(", ")
    }

    fn show_call(&self, func: Func, args: &[Bound], left: &mut usize) -> String {
        let mut part = |e: &Bound| {
            let shown = self.show_some(e, left);
            if e.is_compound() { in_brackets(shown) } else { shown }
        };
        match (func, args) {
            (Func::IsNull, [e]) => format!("{} IS NULL", part(e)),
            (Func::IsNotNull, [e]) => format!("{} IS NOT NULL", part(e)),
            (Func::Not, [e]) => format!("NOT {}", part(e)),
            (_, [e]) if func.name().ends_with(".neg") => format!("-{}", part(e)),
            // The character that LIKE escapes by is the third.
            (_, [a, b, ..]) if func.operator().is_some() => {
                let (a, b) = (part(a), part(b));
                format!("{a} {} {b}", func.operator().unwrap_or_default())
            }
            _ => {
                let name = func.name().rsplit('.').next().unwrap_or_default();
                format!("{name}({})", self.show_list(args, left))
            }
        }
    }
}

impl Bound {
    /// It is an operator and its operands, which stand in brackets within another.
    fn is_compound(&self) -> bool {
        match &self.kind {
            BoundKind::And(..) | BoundKind::Or(..) | BoundKind::InList(..) | BoundKind::Quantified(..) => {
                true
            }
            BoundKind::Apply(func, args) => {
                matches!(func, Func::IsNull | Func::IsNotNull | Func::Not)
                    || args.len() >= 2 && func.operator().is_some()
            }
            BoundKind::Relabel(inner)
            | BoundKind::InDomain(inner, _)
            | BoundKind::PerRow(_, inner)
            | BoundKind::Secured(inner) => inner.is_compound(),
            _ => false,
        }
    }
}

/// Conditions that all hold, in brackets; none if there are none.
fn conjunction(mut conditions: Vec<String>) -> Option<String> {
    match conditions.len() {
        0 => None,
        1 => conditions.pop().map(in_brackets),
        _ => Some(format!("({})", conditions.into_iter().map(in_brackets).collect::<Vec<_>>().join(" AND "))),
    }
}

fn shown_constant(value: &Datum, ty: &Type) -> String {
    match value {
        Datum::Null => "NULL".to_owned(),
        Datum::Int(n) if matches!(ty, Type::Int2 | Type::Int4 | Type::Int8) => n.to_string(),
        Datum::Bool(b) => b.to_string(),
        Datum::Numeric(n) => n.to_string(),
        Datum::Text(t) => {
            let kept: String = t.chars().take(SHOWN_MAX).collect();
            let more = if kept.len() < t.len() { "..." } else { "" };
            format!("'{}{more}'", kept.replace('\'', "''").replace(QUALIFIED, " "))
        }
        _ => format!("'{}'::{}", value.display(ty), super::operators::base_name(ty)),
    }
}

/// A sort key as ORDER BY has it.
fn sorted(key: String, descending: bool, nulls_first: bool) -> String {
    let direction = if descending { " DESC" } else { "" };
    let nulls = match (descending, nulls_first) {
        (false, true) => " NULLS FIRST",
        (true, false) => " NULLS LAST",
        _ => "",
    };
    format!("{key}{direction}{nulls}")
}

fn in_brackets(text: String) -> String {
    match text.starts_with('(') && text.ends_with(')') && closes_at_end(&text) {
        true => text,
        false => format!("({text})"),
    }
}

/// Whether the bracket a text begins with is closed by its last character.
fn closes_at_end(text: &str) -> bool {
    let mut open = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' => open += 1,
            ')' => open = open.saturating_sub(1),
            _ => {}
        }
        if open == 0 {
            return at + 1 == text.len();
        }
    }
    false
}
