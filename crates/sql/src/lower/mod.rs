//! Binding, planning and lowering of SQL to IR.
//!
//! Three steps for every statement, in one walk of its clauses:
//!
//! 1. **bind** (`bind_*`): names and types are resolved, overloads chosen, views expanded; the
//!    result is a typed tree ([`bound`]) in which columns are (relation, position).
//! 2. **plan** (`plan`): rule-based and a function of the catalog alone; for every relation an access path
//!    (unique key, index range, full scan, hash table), an order of joins, and what an index order
//!    saves.
//! 3. **emit** (`emit_*`): data-centric code in the produce/consume style of Neumann (*Efficiently
//!    Compiling Efficient Query Plans for Modern Hardware*, VLDB 2011): a scan becomes a region, and
//!    whatever consumes its rows is emitted inside it; pipeline breakers (sort, group, hash build) become
//!    collections filled by one region and read by the next.
//!
//! [`Lowerer`] is the workbench of one program: registers, the stack of blocks being filled,
//! constants (made once, at the program's start).

mod apart;
mod arrays;
mod as_before;
mod bind_aggregate;
mod bind_call;
mod bind_expr;
mod bind_from;
mod bind_group;
mod bind_query;
mod bind_window;
mod bound;
mod chosen;
mod citext;
mod closest;
mod computed_keys;
mod constraint;
mod crypto;
mod current_of;
mod deferred;
mod delete;
mod dml;
mod domain;
mod emit_expr;
mod emit_frame;
mod emit_group;
mod emit_hash;
mod emit_join;
mod emit_query;
mod emit_series;
mod emit_subquery;
mod emit_turns;
mod emit_window;
mod enums;
mod env;
mod exclusion;
mod explain;
mod finish;
mod functions;
mod generated;
mod given;
mod held;
mod hypothetical;
mod identify;
mod immutable;
mod insert;
mod instead;
mod json;
mod json_records;
mod jsonpath;
pub(crate) mod known;
mod late;
mod locking;
mod merge;
mod moved;
mod names;
mod operators;
mod own_aggregate;
mod own_ordered_set;
mod packed;
mod partition;
mod partition_trigger;
mod parts;
mod path;
mod place;
mod plan;
pub mod plpgsql;
mod policy;
mod polymorphic;
mod proposed;
mod qualify;
mod questions;
mod ranges;
mod record_calls;
mod recursion;
mod referential;
mod resolve;
mod rights;
mod rows;
mod rows_from;
mod sample;
mod scope;
mod search;
mod sequence_names;
mod statement;
mod statistics;
mod stored;
pub(crate) mod system;
mod tracks;
mod transition;
mod trigger;
mod trigger_when;
mod trigram;
mod truncate;
mod types;
mod updatable;
mod update;
mod view_text;
mod with_changes;
mod written;

pub(crate) use bind_query::output_name;
pub(crate) use constraint::MIXED_KEY;
pub use current_of::{by_key, by_values, current_of, keyed, without_current};
pub use deferred::{deferred_key, deferred_trigger, waiting_triggers};
pub use domain::Declared;
pub(crate) use domain::user_type;
pub use env::CatalogEnv;
pub use exclusion::deferred_exclusion;
pub(crate) use exclusion::exclusion_violations;
pub use explain::{Actual, PlanNode, explain_statement, plan_lines};
pub(crate) use immutable::is_immutable;
pub(crate) use operators::{base_name as type_in_message, symbol as operator_symbol};
pub(crate) use own_aggregate::{check_initial, support_result};
pub(crate) use policy::check_policy_condition;
pub(crate) use polymorphic::{assumed_type, check_result as check_polymorphic_result};
pub(crate) use qualify::{qualified_expression, qualified_query, qualified_statements};
pub use qualify::{shown_expression, shown_query, shown_statements};
pub use rights::{Guard, Lowered, Runner};
pub use rows::row_type;
pub use scope::{Found, Frame, ParamTypes, Scope, Typed, Variable};
pub use statement::{
    check_language, lower_counting, lower_logged, lower_statement, lower_statement_rights, shown,
};
pub use transition::mentions;
pub(crate) use trigger_when::check_trigger_condition;
pub use types::CastContext;
pub(crate) use types::{extension_type, resolve as resolve_type, table_of_type, unknown as unknown_type};
pub use updatable::updatable;
pub(crate) use updatable::writable;
pub(crate) use view_text::{Renamed, identifier, renamed, written_out};
pub use with_changes::changes_in_with;

use bind_call::Collector;
use bind_query::BoundCte;
use bound::{Bound, BoundKind, BoundQuery, Rel, RelId};
use names::Names;
use planaria_base::{Datum, Error, ProcedureId, Result, SqlState, TableId, Type, TypeId, limits, stack};
use planaria_catalog::{Catalog, TriggerEvent};
use planaria_ir::{Block, Label, Op, OpId, OpKind, Output, Program, ProgramKind, Reg};
use planaria_syntax::ast;
use planaria_syntax::ast::plpgsql::VariableConflict;
use std::collections::HashMap;

/// The workbench of one program.
pub struct Lowerer<'c> {
    /// Definitions.
    pub catalog: &'c Catalog,
    /// The program so far; its body is put together by [`Lowerer::finish`].
    pub program: Program,
    /// Blocks being filled, outermost first.
    blocks: Vec<Vec<Op>>,
    /// Constants, at the start of the program.
    prologue: Vec<Op>,
    constants: HashMap<(String, Type), Reg>,
    /// The values of those registers.
    constant_values: HashMap<u32, Datum>,
    /// Position given to operations emitted now.
    position: u32,
    /// `$n` of a statement: type and register once known.
    params: Vec<Option<Typed>>,
    /// Parameters may turn up without having been declared.
    params_open: bool,
    /// All relations, by id.
    rels: Vec<Rel>,
    ctes: Vec<BoundCte>,
    /// References to CTEs in the query being bound.
    cte_reads: Vec<usize>,
    /// Parts of a WITH clause with changes that the rest of the statement is to know.
    given: Vec<(String, usize)>,
    /// Transition tables of the trigger whose routine this is, as CTEs.
    transitions: Vec<(String, usize)>,
    /// What is changed now, a foreign key changes.
    within_key: bool,
    /// The next row that is changed is one that ON CONFLICT DO UPDATE has met, and must stay in its partition.
    upserting: bool,
    /// Whether any routine may ask how deep it is within triggers, once that was looked for.
    depth_asked: Option<bool>,
    /// Transition tables that EXECUTE can name, by their registers.
    tables_of_rows: Vec<(String, Reg)>,
    /// What transition tables were kept of, statement by statement.
    kept: Vec<(TableId, TriggerEvent)>,
    /// Views being expanded, outer before inner.
    expanding: Vec<String>,
    /// Views of the outermost query being bound: how often each was referred to, and the CTE that it became.
    views: Option<HashMap<String, (u32, Option<usize>)>>,
    /// Recursive CTEs whose recursive term is being bound.
    working: Vec<usize>,
    /// Registers of values that are evaluated once.
    lets: Vec<Option<Reg>>,
    /// What is bound now is kept as text: its dates and intervals are read by the default styles, whatever the session's are.
    kept_text: bool,
    /// It is part of a change of the schema, which logs have: what former versions took is taken.
    is_logged: bool,
    /// What is collected while a SELECT is bound, outer before inner.
    collectors: Vec<Collector>,
    /// Aggregates whose arguments are being bound, outer before inner.
    aggregated: Vec<bind_aggregate::Aggregated>,
    /// Nesting of what is being bound.
    depth: usize,
    /// Relations whose registers hold a row at the present place, outer before inner.
    available: Vec<RelId>,
    /// Places before the loops around, outer before inner.
    frames: Vec<emit_query::Frame>,
    /// The sink being emitted sees at most one row.
    single_row: bool,
    /// Where columns stand in direct arguments of aggregates.
    direct: Vec<u32>,
    /// The ordered-set aggregate that the call which is bound next is of.
    own_set: Option<ProcedureId>,
    /// ... and no fewer.
    certain_row: bool,
    /// Within a block that ends in an error: how many of these registers are taken there.
    cold: Option<usize>,
    cold_regs: Vec<(Type, Reg)>,
    /// What a name is that both a variable and a column have.
    conflict: VariableConflict,
    /// Variables whose values must be in a domain.
    domains: Vec<(Reg, TypeId)>,
    /// Those of the columns of the rows that a set function emits.
    emitted_domains: Vec<Option<TypeId>>,
    /// Tables whose primary key says that columns may stand beside GROUP BY.
    keys_relied_on: Vec<TableId>,
    /// The statement with changes in WITH that is being lowered.
    before: Option<as_before::Before>,
    /// What RETURNING and ON CONFLICT ask of the table for each row sees what the statement has changed so far: it is of a
    /// routine from before that was mended, calls of which logs have. (So it is with what row variables are: [`held::Rows::former`].)
    reads_after: bool,
    /// The form of the program ([`planaria_catalog::PROGRAM_FORM`]).
    form: u8,
    /// The routines returning `record` whose rows are looked for, and the structures that they have.
    inferring: record_calls::Inferring,
    answered: Vec<held::Shape>,
    /// A real is the same double precision as its text: in generated columns of before.
    former_reals: bool,
    /// Parameters of row types that the routine gives: the register of the row, and those of its fields.
    row_outs: Vec<(Reg, Vec<Reg>)>,
    /// Of a function that answers with a row: whether there is one.
    row_told: Option<Reg>,
    /// Computed keys of the indexes of tables, by relation.
    computed_keys: HashMap<RelId, std::rc::Rc<Vec<computed_keys::ComputedKey>>>,
    /// Of the path being looked for: expressions that are as good as a column.
    as_columns: Vec<(Bound, usize)>,
    /// What a view's text mentions, if that is wanted.
    text: Option<Box<view_text::Mentions>>,
    /// The plan that EXPLAIN shows.
    explains: explain::Explains,
    /// What rights are needed for.
    rights: rights::Rights<'c>,
    /// The policies of the tables that it touches.
    policies: policy::Policies,
    /// `TG_ARGV`: an array whose elements are counted from 0.
    counted_from_zero: Option<Reg>,
    /// Which row variables have a row.
    rows: held::Rows,
    /// Found in statements that raise them when they are reached.
    errors: Vec<Error>,
    /// Something so far calls a volatile function of a user's.
    meets_volatile: bool,
    /// Relations that are joined behind all others ([`apart`]).
    called_last: Vec<bound::RelId>,
    /// The partition that the statement names whose rows it changes.
    within: Option<planaria_base::TableId>,
}

/// What the rows of a query are given to; called once, inside the innermost loop, with the output
/// columns in registers. A register may be a variable's or a constant's own. To leave the loop, the sink
/// puts a `Block` around the query and exits that.
pub type Sink<'s> = dyn FnMut(&mut Lowerer<'_>, &[Typed]) -> Result<()> + 's;

/// A call of a procedure that was emitted.
#[derive(Clone, PartialEq, Debug)]
pub struct Called {
    /// Which one.
    pub procedure: ProcedureId,
    /// Its OUT and INOUT parameters in order: name, value, and the argument that stood in its place (`None`:
    /// left to its default).
    pub outs: Vec<(String, Typed, Option<ast::Expr>)>,
}

impl<'c> Lowerer<'c> {
    /// A workbench for an empty program.
    pub fn new(catalog: &'c Catalog, name: impl Into<String>, kind: ProgramKind) -> Lowerer<'c> {
        Lowerer {
            catalog,
            program: Program::new(name, kind),
            blocks: vec![Vec::new()],
            prologue: Vec::new(),
            constants: HashMap::new(),
            constant_values: HashMap::new(),
            position: 0,
            params: Vec::new(),
            params_open: false,
            rels: Vec::new(),
            ctes: Vec::new(),
            cte_reads: Vec::new(),
            given: Vec::new(),
            transitions: Vec::new(),
            within_key: false,
            upserting: false,
            depth_asked: None,
            tables_of_rows: Vec::new(),
            kept: Vec::new(),
            expanding: Vec::new(),
            views: None,
            working: Vec::new(),
            lets: Vec::new(),
            kept_text: false,
            is_logged: false,
            conflict: VariableConflict::default(),
            domains: Vec::new(),
            emitted_domains: Vec::new(),
            keys_relied_on: Vec::new(),
            before: None,
            reads_after: false,
            form: planaria_catalog::PROGRAM_FORM,
            inferring: Default::default(),
            answered: Vec::new(),
            former_reals: false,
            row_outs: Vec::new(),
            row_told: None,
            computed_keys: HashMap::new(),
            as_columns: Vec::new(),
            text: None,
            collectors: Vec::new(),
            aggregated: Vec::new(),
            depth: 0,
            available: Vec::new(),
            frames: Vec::new(),
            single_row: false,
            direct: Vec::new(),
            own_set: None,
            certain_row: false,
            cold: None,
            cold_regs: Vec::new(),
            explains: explain::Explains::default(),
            rights: rights::Rights::default(),
            policies: policy::Policies::default(),
            counted_from_zero: None,
            rows: held::Rows::default(),
            errors: Vec::new(),
            meets_volatile: false,
            called_last: Vec::new(),
            within: None,
        }
    }

    /// Whether it may refuse what former versions took: statements alone. What logs have of routines and of changes of the schema, and
    /// views, stays as it was.
    fn refuses_more(&self) -> bool {
        self.program.kind == ProgramKind::Statement && !self.kept_text && !self.is_logged
    }

    /// For part of a change of the schema.
    #[must_use]
    pub(crate) fn of_logged(self) -> Lowerer<'c> {
        Lowerer { is_logged: true, ..self }
    }

    /// For what is kept as text: its dates and intervals are read by the default styles.
    #[must_use]
    pub(crate) fn of_kept_text(self) -> Lowerer<'c> {
        Lowerer { kept_text: true, ..self }
    }

    /// The program, its body put together and numbered.
    pub fn finish(mut self) -> Result<Program> {
        assert_eq!(self.blocks.len(), 1, "a block is still being filled");
        let mut ops = self.prologue;
        ops.append(&mut self.blocks[0]);
        self.program.body = Block(ops);
        stored::convert(&mut self.program, self.catalog);
        self.program.renumber();
        Ok(self.program)
    }

    /// Appends an operation to the current block.
    pub fn emit(&mut self, kind: OpKind) {
        let op = Op { id: OpId(0), position: self.position, kind };
        self.blocks.last_mut().expect("there is always a block").push(op);
    }

    /// Fills a new block by `f`.
    pub fn block(&mut self, f: impl FnOnce(&mut Self) -> Result<()>) -> Result<Block> {
        self.check_height()?;
        stack::check().map_err(|e| e.at(self.position))?;
        self.blocks.push(Vec::new());
        let done = f(self);
        let ops = self.blocks.pop().expect("the block pushed above");
        done.map(|()| Block(ops))
    }

    /// 54001 where another block would be nested too deeply.
    pub(crate) fn check_height(&self) -> Result<()> {
        if self.blocks.len() < limits::BLOCKS_MAX {
            return Ok(());
        }
        Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, "statement is nested too deeply")
            .with_detail(format!("Its program would be nested more than {} levels deep.", limits::BLOCKS_MAX))
            .with_hint("A list of conditions, alternatives or conjuncts may be too long: a join or an array does the same.")
            .at(self.position))
    }

    /// Sets the source position of what is emitted next; returns the former.
    pub fn at(&mut self, position: u32) -> u32 {
        std::mem::replace(&mut self.position, position)
    }

    /// A constant of that type; one register for each value, set at the program's start. Never written
    /// again.
    pub fn constant(&mut self, value: Datum, ty: Type) -> Reg {
        if self.cold.is_some() && matches!(value, Datum::Text(_)) {
            // Texts are copied when they are set: not at every start for an error that never comes.
            let dst = self.temp(ty);
            self.emit(OpKind::Const { dst, value });
            return dst;
        }
        let key = (format!("{value:?}"), ty);
        if let Some(reg) = self.constants.get(&key) {
            return *reg;
        }
        let reg = self.program.value(key.1.clone());
        let op = OpKind::Const { dst: reg, value: value.clone() };
        self.prologue.push(Op { id: OpId(0), position: 0, kind: op });
        self.constants.insert(key, reg);
        self.constant_values.insert(reg.0, value);
        reg
    }

    /// A new register.
    pub fn temp(&mut self, ty: Type) -> Reg {
        let Some(used) = self.cold else { return self.program.value(ty) };
        let free = self.cold_regs[used..].iter().position(|(t, _)| *t == ty);
        let at = match free {
            Some(offset) => used + offset,
            None => {
                let reg = self.program.value(ty.clone());
                self.cold_regs.push((ty, reg));
                self.cold_regs.len() - 1
            }
        };
        self.cold_regs.swap(used, at);
        self.cold = Some(used + 1);
        self.cold_regs[used].1
    }

    /// Emits what ends in an error whatever happens: its registers are shared by all such blocks, so that
    /// they cost the program's frame little, and its texts are made on the spot.
    fn cold(&mut self, f: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let before = self.cold;
        self.cold = Some(before.unwrap_or(0));
        let done = f(self);
        self.cold = before;
        done
    }

    /// A new label.
    pub fn label(&mut self) -> Label {
        self.program.label()
    }

    /// A statement of its own, possibly within the sink of another: nothing of that one shows.
    fn statement<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        let frames = std::mem::take(&mut self.frames);
        let available = std::mem::take(&mut self.available);
        let collectors = std::mem::take(&mut self.collectors);
        let (single, certain, depth) = (self.single_row, self.certain_row, self.explains.depth);
        self.certain_row = false;
        let (position, nesting) = (self.position, self.depth);
        self.single_row = false;
        let result = f(self);
        self.frames = frames;
        self.available = available;
        self.collectors = collectors;
        self.single_row = single;
        self.certain_row = certain;
        self.explains.depth = depth;
        self.position = position;
        self.depth = nesting;
        result
    }

    /// Evaluates an expression outside of any FROM clause. A literal that nothing gave a type stays
    /// of type `Unknown` (its register holds text).
    pub fn expr(&mut self, scope: &Scope, expr: &ast::Expr) -> Result<Typed> {
        self.statement(|l| {
            let bound = l.bind_alone(scope, expr)?;
            let reg = l.exact_or_text(&bound)?;
            Ok(Typed { reg, ty: bound.ty })
        })
    }

    /// The same, converted to a type.
    pub fn expr_as(
        &mut self,
        scope: &Scope,
        expr: &ast::Expr,
        ty: &Type,
        context: CastContext,
    ) -> Result<Reg> {
        self.statement(|l| {
            let bound = l.bind_alone(scope, expr)?;
            let bound = l.coerce(bound, ty, context)?;
            l.exact(&bound)
        })
    }

    /// The same, into a given register (a variable): `dst := expr`.
    pub fn expr_into(
        &mut self,
        scope: &Scope,
        expr: &ast::Expr,
        dst: Reg,
        context: CastContext,
    ) -> Result<()> {
        let ty = self.program.type_of(dst).cloned();
        let ty = ty.ok_or_else(|| Error::internal("a row handle as the target of an expression"))?;
        self.statement(|l| {
            let bound = l.bind_alone(scope, expr)?;
            let bound = l.coerce(bound, &ty, context)?;
            l.value_into(&bound, dst)
        })
    }

    /// The same of what a function returns: what is wrong with its conversion is told of where the function has ended.
    pub(super) fn returned_into(&mut self, scope: &Scope, expr: &ast::Expr, dst: Reg) -> Result<()> {
        let ty = self.program.type_of(dst).cloned();
        let ty = ty.ok_or_else(|| Error::internal("a row handle as the target of an expression"))?;
        self.statement(|l| {
            let bound = l.bind_alone(scope, expr)?;
            let own = bound.ty.clone();
            let mut bound = l.coerce(bound, &ty, CastContext::Variable)?;
            if own != bound.ty {
                bound.position = plpgsql::CASTING;
            }
            l.value_into(&bound, dst)
        })
    }

    /// A boolean for `If`.
    pub fn condition(&mut self, scope: &Scope, expr: &ast::Expr) -> Result<Reg> {
        self.statement(|l| {
            let bound = l.bind_alone(scope, expr)?;
            let bound = match bound.ty {
                Type::Bool | Type::Unknown => l.boolean(bound, "IF")?,
                // PL/pgSQL converts a condition as it would a value assigned to a boolean.
                _ => l.coerce(bound, &Type::Bool, CastContext::Variable)?,
            };
            l.truth_of(&bound)
        })
    }

    /// Binds an expression that stands alone, and counts what its subqueries use.
    fn bind_alone(&mut self, scope: &Scope, expr: &ast::Expr) -> Result<Bound> {
        let names = Names::of(scope);
        let mut bound = self.outside("this expression", |l| l.bind(&names, expr))?;
        self.count(&mut bound);
        Ok(bound)
    }

    fn exact_or_text(&mut self, bound: &Bound) -> Result<Reg> {
        if bound.ty == Type::Unknown { self.value(bound) } else { self.exact(bound) }
    }

    /// Converts a value: the register itself where it holds that already.
    pub fn cast(&mut self, value: Typed, ty: &Type, context: CastContext) -> Result<Reg> {
        let position = self.position;
        let known = self.constant_values.get(&value.reg.0).cloned();
        let kind = match (&value.ty, known) {
            (Type::Unknown, Some(constant)) => BoundKind::Const(constant),
            _ => BoundKind::Reg(value.reg),
        };
        let from = match (&value.ty, &kind) {
            (Type::Unknown, BoundKind::Reg(_)) => Type::Text,
            (ty, _) => ty.clone(),
        };
        let bound = self.coerce(Bound::new(kind, from, position), ty, context)?;
        self.exact(&bound)
    }

    /// Rows, or arrays of rows, of a type that has got, or lost, fields since they were stored.
    pub fn reshaped(&mut self, value: Typed, ty: &Type) -> Result<Reg> {
        // Not what tells whether one type holds another: fields may only have come behind the others.
        let dst = self.temp(ty.clone());
        self.emit(OpKind::Cast { dst, src: value.reg, explicit: true });
        Ok(dst)
    }

    /// The text a value is printed as by `concat`, `format`, RAISE and clients; unlike a cast to text,
    /// booleans are `t` and `f`.
    pub fn output(&mut self, value: Typed) -> Result<Reg> {
        let ty = if value.ty == Type::Unknown { Type::Text } else { value.ty };
        let bound = Bound::new(BoundKind::Reg(value.reg), ty, self.position);
        let text = self.output_text(bound)?;
        self.exact(&text)
    }

    /// Columns of a query's answer, without emitting anything.
    pub fn describe(&mut self, scope: &Scope, query: &ast::Query) -> Result<Vec<Output>> {
        self.unguarded(|l| {
            l.statement(|l| {
                l.behind_described(scope, query, |l, query| {
                    l.bind_level(Names::of(scope), query, false).map(|q| q.columns)
                })
            })
        })
    }

    /// The tables whose primary keys a query rests on: by them columns that are not grouped by are one for each group.
    pub fn keys_relied_on(mut self, query: &ast::Query) -> Vec<TableId> {
        match self.describe(&Scope::new(), query) {
            Ok(_) => self.keys_relied_on,
            Err(_) => Vec::new(),
        }
    }

    /// Emits a query; `sink` consumes its rows. A sink that changes variables which the query reads
    /// needs [`Lowerer::query_stable`].
    pub fn query(&mut self, scope: &Scope, query: &ast::Query, sink: &mut Sink<'_>) -> Result<Vec<Output>> {
        self.statement(|l| {
            l.behind_changes(scope, query, |l, query| {
                let bound = l.prepare(scope, query)?;
                l.emit_query(&bound, None, sink)?;
                Ok(bound.columns)
            })
        })
    }

    /// The same with the values that variables have when the query begins.
    pub fn query_stable(
        &mut self,
        scope: &Scope,
        query: &ast::Query,
        sink: &mut Sink<'_>,
    ) -> Result<Vec<Output>> {
        self.statement(|l| {
            l.behind_changes(scope, query, |l, query| {
                let mut bound = l.prepare(scope, query)?;
                l.keep_variables(&mut bound);
                l.emit_query(&bound, None, sink)?;
                Ok(bound.columns)
            })
        })
    }

    /// The same, when no more than `rows` rows are wanted (`SELECT INTO`: 1, STRICT: 2, EXISTS: 1):
    /// stops early. The sink may change variables.
    pub fn query_limited(
        &mut self,
        scope: &Scope,
        query: &ast::Query,
        rows: u32,
        sink: &mut Sink<'_>,
    ) -> Result<Vec<Output>> {
        self.statement(|l| {
            l.behind_changes(scope, query, |l, query| {
                let mut bound = l.prepare(scope, query)?;
                if rows > 1 && !l.is_point(&bound) {
                    l.keep_variables(&mut bound);
                }
                l.emit_query(&bound, Some(rows), sink)?;
                Ok(bound.columns)
            })
        })
    }

    /// Within a sink: whether it is known to be given at most one row, so that counting them
    /// (`STRICT`) is needless.
    pub fn at_most_one_row(&self) -> bool {
        self.single_row
    }

    /// Within a sink: whether it is known to be given exactly one row (an aggregate without GROUP BY, a SELECT
    /// without FROM).
    pub fn exactly_one_row(&self) -> bool {
        self.certain_row
    }

    /// Emits an INSERT; `returning` consumes the rows of RETURNING. Answers with the row count (bigint).
    pub fn insert(&mut self, scope: &Scope, insert: &ast::Insert, returning: &mut Sink<'_>) -> Result<Reg> {
        self.statement(|l| {
            l.behind_changes(scope, insert, |l, insert| l.emit_insert(scope, insert, returning))
        })
    }

    /// Emits an UPDATE.
    pub fn update(&mut self, scope: &Scope, update: &ast::Update, returning: &mut Sink<'_>) -> Result<Reg> {
        self.statement(|l| {
            l.behind_changes(scope, update, |l, update| l.emit_update(scope, update, returning))
        })
    }

    /// Emits a DELETE.
    pub fn delete(&mut self, scope: &Scope, delete: &ast::Delete, returning: &mut Sink<'_>) -> Result<Reg> {
        self.statement(|l| {
            l.behind_changes(scope, delete, |l, delete| l.emit_delete(scope, delete, returning))
        })
    }

    /// Emits a MERGE.
    pub fn merge(&mut self, scope: &Scope, merge: &ast::Merge) -> Result<Reg> {
        self.statement(|l| l.behind_changes(scope, merge, |l, merge| l.emit_merge(scope, merge)))
    }

    /// Columns of a statement's answer (a query's, or those of RETURNING), without emitting anything.
    pub fn describe_statement(&mut self, scope: &Scope, statement: &ast::Statement) -> Result<Vec<Output>> {
        let describe = |l: &mut Self| match &statement.kind {
            ast::StatementKind::Query(query) => l.behind_described(scope, &**query, |l, query| {
                l.bind_level(Names::of(scope), query, false).map(|q| q.columns)
            }),
            ast::StatementKind::Insert(insert) => {
                l.behind_described(scope, &**insert, |l, insert| l.describe_insert(scope, insert))
            }
            ast::StatementKind::Update(update) => {
                l.behind_described(scope, &**update, |l, update| l.describe_update(scope, update))
            }
            ast::StatementKind::Delete(delete) => {
                l.behind_described(scope, &**delete, |l, delete| l.describe_delete(scope, delete))
            }
            _ => Ok(Vec::new()),
        };
        self.unguarded(|l| l.statement(describe))
    }

    /// The type a name stands for: built-in, or 42704. `%TYPE` of columns is resolved too.
    pub fn resolve_type(&self, name: &ast::TypeName) -> Result<Type> {
        types::resolve(self.catalog, name)
    }

    fn prepare(&mut self, scope: &Scope, query: &ast::Query) -> Result<BoundQuery> {
        let mut bound = self.bind_level(Names::of(scope), query, false)?;
        let needed = vec![true; bound.columns.len()];
        self.count_query(&mut bound, &needed);
        Ok(bound)
    }

    /// Copies the variables that a query reads.
    fn keep_variables(&mut self, query: &mut BoundQuery) {
        let mut kept: Vec<(Reg, Reg)> = Vec::new();
        self.visit_query(query, &mut |l, e| {
            if let BoundKind::Reg(reg) = &mut e.kind {
                let copy = kept.iter().find(|(from, _)| from == reg).map(|(_, to)| *to);
                *reg = copy.unwrap_or_else(|| {
                    let kind = l.program.kind_of(*reg).clone();
                    let copy = l.program.reg(kind, None);
                    kept.push((*reg, copy));
                    copy
                });
            }
            true
        });
        for (src, dst) in kept {
            self.copy(dst, src);
        }
    }

    /// Whether a query is a read of one row by a unique key.
    fn is_point(&mut self, query: &BoundQuery) -> bool {
        let bound::Body::Select(select) = &query.body else { return false };
        let [bound::Item::Rel(rel)] = select.from[..] else { return select.from.is_empty() };
        if !matches!(self.rel(rel).kind, bound::RelKind::Table(_)) {
            return false;
        }
        let conditions = self.conditions(&select.filter, &[rel]);
        self.best_path(rel, &conditions, &[]).is_get()
    }
}
