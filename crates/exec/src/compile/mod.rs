//! From a program to code.
//!
//! 1. [`simplify`]: constants folded, copies forwarded, what nobody reads dropped.
//! 2. This file walks the regions and emits instructions ([`emit`]). A region that needs an action
//!    when it is left (a scan's cursor, a savepoint, a handled error) stands on a stack of regions, so
//!    that `Exit`, `Continue` and `Return` emit these actions, innermost first, before their jump.
//! 3. [`Emitter::finish`] resolves the jumps.
//!
//! Nothing is checked that the verifier has checked before.

mod again;
mod constants;
mod emit;
mod simplify;
mod table;
mod value;

pub use value::{Conversion, comparison, conversion};

use crate::code::*;
use crate::slot::Slot;
use emit::{Emitter, Label, number};
use planaria_base::{Datum, Error, Level, ProcedureId, Result, RoleId, TableId, Type, stack, watch};
use planaria_ir::{Block, Coll, Op, OpId, OpKind, ParamMode, Program, Reg, RegKind, Run, StateSource};
use std::collections::HashMap;
use std::sync::Arc;

/// What the compiler asks of the catalog.
pub trait CompileEnv {
    /// A table of the program. Ids come from the catalog version that the program was lowered under.
    fn table(&self, table: TableId) -> Result<Arc<TableMeta>>;
    /// Where the program's text came from; `None` for statements.
    fn source(&self) -> Option<Source> {
        None
    }
    /// Whose rights the program runs with, where they are not its caller's.
    fn definer(&self) -> Option<RoleId> {
        None
    }
    /// The routine that is compiled, where it has settings, or a path, of its own.
    fn own(&self) -> Option<ProcedureId> {
        None
    }
    /// Whether what it calls is to be guarded.
    fn guarded(&self) -> bool {
        false
    }
    /// Whether the program is a trigger's.
    fn is_trigger(&self) -> bool {
        false
    }
    /// Where the text of an inlined procedure came from.
    fn source_of(&self, procedure: ProcedureId) -> Option<Source> {
        let _ = procedure;
        None
    }
}

/// Compiles a verified program.
pub fn compile(program: &Program, env: &impl CompileEnv) -> Result<Code> {
    compile_dyn(program.clone(), None, env)
}

/// The same of a program that looks ahead: in the block of this label, with which it begins.
pub fn compile_ahead(program: Program, ahead: planaria_ir::Label, env: &impl CompileEnv) -> Result<Code> {
    compile_dyn(program, Some(ahead), env)
}

/// A verified program without what lowering leaves behind that no form of it needs to do: for those who compile it to another one
/// than [`Code`].
pub fn simplified(program: &Program) -> Program {
    let mut program = program.clone();
    simplify::for_all_forms(&mut program);
    program
}

fn compile_dyn(
    mut program: Program,
    ahead: Option<planaria_ir::Label>,
    env: &dyn CompileEnv,
) -> Result<Code> {
    program.renumber();
    #[cfg(debug_assertions)]
    let made = std::sync::Arc::new(program.clone());
    let (uses, again) = simplify::simplify(&mut program, ahead);
    let mut emit = Emitter::new(program.regs.len());
    emit.uses = uses;
    let mut compiler = Compiler {
        program: &program,
        env,
        emit,
        regions: Vec::new(),
        again,
        ahead,
        ahead_end: 0,
        begin: None,
        aheads: Vec::new(),
        owners: Vec::new(),
        inserts: Vec::new(),
        updates: Vec::new(),
        executes: Vec::new(),
        asks: Vec::new(),
        system_rows: Vec::new(),
        raises: Vec::new(),
        tries: Vec::new(),
        maps: Vec::new(),
        eachs: Vec::new(),
        casts: Vec::new(),
        sorts: Vec::new(),
        trims: Vec::new(),
        fills: Vec::new(),
        kept: Vec::new(),
        filters: HashMap::new(),
        sites: Vec::new(),
        site: NO_SITE,
        writes: false,
    };
    compiler.find_array_variables()?;
    compiler.find_constants()?;
    let inputs = program.params.iter().filter(|p| p.mode != ParamMode::Out);
    let inputs: Box<[R]> = inputs.map(|p| compiler.emit.reg(p.reg)).collect::<Result<_>>()?;
    compiler.block(&program.body)?;
    compiler.emit.emit(Inst::Return);
    let outs = compiler.emit.regs(&program.outs)?;
    let row_count = program.row_count.map(|r| compiler.emit.reg(r)).transpose()?;
    let code = compiler.finish(inputs, outs, row_count)?;
    #[cfg(debug_assertions)]
    let code = Code { program: Made(Some(made)), ..code };
    Ok(code)
}

/// A region that is being emitted.
enum Region {
    Labelled {
        label: planaria_ir::Label,
        exit: Label,
        /// Where `Continue` goes; a block has no next turn.
        next: Option<Label>,
        scan: bool,
    },
    Try,
    Handler,
}

struct Compiler<'a> {
    program: &'a Program,
    env: &'a dyn CompileEnv,
    emit: Emitter,
    regions: Vec<Region>,
    again: again::Again,
    /// The label of the block that looks ahead, where it ends, and what comes behind it.
    ahead: Option<planaria_ir::Label>,
    ahead_end: Label,
    begin: Option<Label>,
    aheads: Vec<AheadDesc>,
    /// Array registers assigned by element, each with its hidden register.
    owners: Vec<(Reg, R)>,
    inserts: Vec<InsertDesc>,
    updates: Vec<UpdateDesc>,
    executes: Vec<ExecuteDesc>,
    asks: Vec<AskDesc>,
    system_rows: Vec<SystemRowsDesc>,
    raises: Vec<RaiseDesc>,
    tries: Vec<(TryDesc, Vec<Label>)>,
    maps: Vec<MapDesc>,
    eachs: Vec<EachDesc>,
    casts: Vec<CastDesc>,
    sorts: Vec<Box<[planaria_ir::SortKey]>>,
    trims: Vec<TrimDesc>,
    fills: Vec<std::sync::Arc<[Vec<Datum>]>>,
    kept: Vec<Type>,
    sites: Vec<SiteDesc>,
    /// The inlined call being emitted.
    site: u16,
    writes: bool,
    /// Filters behind which the rest of a scan's row is read, with the scan.
    filters: HashMap<OpId, u16>,
}

impl Compiler<'_> {
    /// Gives a hidden register to each array that is assigned by element.
    fn find_array_variables(&mut self) -> Result<()> {
        let mut arrays: Vec<Reg> = Vec::new();
        self.program.body.visit(&mut |op| {
            if let OpKind::ArraySet { array, .. } = op.kind
                && !arrays.contains(&array)
            {
                arrays.push(array);
            }
        });
        for array in arrays {
            let owner = self.emit.hidden()?;
            self.owners.push((array, owner));
        }
        Ok(())
    }

    /// Lets registers that only ever hold one plain constant stand in the frame's template.
    fn find_constants(&mut self) -> Result<()> {
        let mut found = Vec::new();
        let settled = &self.emit.uses.settled;
        self.program.body.visit(&mut |op| {
            if let OpKind::Const { dst, value } = &op.kind
                && settled[dst.index()]
                && let Some(slot) = plain(value)
            {
                found.push((*dst, slot));
            }
        });
        found.into_iter().try_for_each(|(reg, slot)| self.emit.bind_constant(reg, slot))
    }

    fn block(&mut self, block: &Block) -> Result<()> {
        stack::check()?;
        watch::check()?;
        block.0.iter().try_for_each(|op| self.op(op))
    }

    fn op(&mut self, op: &Op) -> Result<()> {
        self.emit.place = Place { position: op.position, op: op.id, site: self.site };
        if !self.emit.is_reachable() {
            return Ok(());
        }
        if !self.owners.is_empty() {
            self.disown(&op.kind);
        }
        match &op.kind {
            OpKind::If { cond, then, otherwise } => self.conditional(op.id, *cond, then, otherwise),
            OpKind::Loop { label, body } => {
                let (head, next, exit) = (self.emit.label(), self.emit.label(), self.emit.label());
                self.emit.bind(head);
                self.turns(*label, body, next, exit, false)?;
                self.emit.emit(Inst::Back { to: head });
                self.emit.bind(exit);
                Ok(())
            }
            OpKind::Block { label, body } => {
                let exit = self.emit.label();
                let looks_ahead = self.ahead == Some(*label);
                if looks_ahead {
                    self.ahead_end = exit;
                }
                let around = self.site;
                if let Some(inlined) = self.program.inlined.get(label) {
                    let site = SiteDesc {
                        source: self.env.source_of(inlined.procedure).unwrap_or_default(),
                        position: op.position,
                        parent: around,
                    };
                    self.site = number(&mut self.sites, site)?;
                }
                self.regions.push(Region::Labelled { label: *label, exit, next: None, scan: false });
                self.block(body)?;
                self.regions.pop();
                self.site = around;
                self.emit.bind(exit);
                if looks_ahead {
                    let begin = self.emit.label();
                    self.emit.emit(Inst::LookAhead);
                    self.emit.bind(begin);
                    self.begin = Some(begin);
                }
                Ok(())
            }
            OpKind::Exit { label } => {
                let target = self.leave(Some(*label), false)?;
                self.emit.jump(target);
                Ok(())
            }
            OpKind::Continue { label } => {
                let target = self.leave(Some(*label), true)?;
                self.emit.jump(target);
                Ok(())
            }
            OpKind::Return => {
                self.leave(None, false)?;
                self.emit.emit(Inst::Return);
                Ok(())
            }
            OpKind::Try { body, handlers } => self.try_region(body, handlers),
            OpKind::EndTransaction { commit } => {
                self.emit.emit(Inst::EndTransaction { commit: *commit });
                Ok(())
            }
            OpKind::Notify { channel, payload } => {
                let (channel, payload) = (self.emit.reg(*channel)?, self.emit.reg(*payload)?);
                self.emit.emit(Inst::Notify { channel, payload });
                Ok(())
            }
            OpKind::Raise { level, state, message, fields } => {
                let state = match state {
                    StateSource::Known(state) => RaiseState::Known(*state),
                    StateSource::Computed(r) => RaiseState::Computed(self.emit.reg(*r)?),
                    StateSource::Current => RaiseState::Current,
                };
                let desc = RaiseDesc {
                    level: *level,
                    state,
                    message: self.emit.reg(*message)?,
                    detail: fields.detail.map(|r| self.emit.reg(r)).transpose()?,
                    hint: fields.hint.map(|r| self.emit.reg(r)).transpose()?,
                    constraint: fields.constraint.clone(),
                    table: fields.table.clone(),
                    column: fields.column.clone(),
                    schema: fields.schema.clone(),
                    datatype: fields.datatype.clone(),
                    found: fields.found,
                    computed: fields
                        .computed
                        .iter()
                        .map(|(field, r)| Ok((*field, self.emit.reg(*r)?)))
                        .collect::<Result<_>>()?,
                };
                let raise = number(&mut self.raises, desc)?;
                self.emit.emit(Inst::Raise { raise });
                if *level == Level::Exception || matches!(state, RaiseState::Current) {
                    self.emit.end_path();
                }
                Ok(())
            }
            OpKind::Call { procedure, args, outs } => {
                let desc = CallDesc {
                    procedure: *procedure,
                    args: self.emit.regs(args)?,
                    outs: self.emit.targets(outs)?,
                    into: None,
                    guarded: self.env.guarded(),
                };
                let call = number(&mut self.emit.calls, desc)?;
                self.emit.emit(Inst::Call { call });
                Ok(())
            }
            OpKind::CallSet { procedure, args, into } => {
                let desc = CallDesc {
                    procedure: *procedure,
                    args: self.emit.regs(args)?,
                    outs: Box::new([]),
                    into: Some(self.coll(*into)),
                    guarded: self.env.guarded(),
                };
                let call = number(&mut self.emit.calls, desc)?;
                self.emit.emit(Inst::Call { call });
                Ok(())
            }
            OpKind::Execute { text, args, rows, row_count, run } => {
                let types = args.iter().map(|r| {
                    self.program.type_of(*r).cloned().ok_or_else(|| Error::internal("row handle in EXECUTE"))
                });
                let desc = ExecuteDesc {
                    types: types.collect::<Result<_>>()?,
                    text: self.emit.reg(*text)?,
                    args: self.emit.regs(args)?,
                    rows: rows.map(|c| self.coll(c)),
                    row_count: self.emit.target(*row_count)?,
                    run: run.clone(),
                    name: match run {
                        Run::Open { name, .. } => self.emit.reg(*name)?,
                        _ => NONE,
                    },
                };
                let execute = number(&mut self.executes, desc)?;
                self.emit.emit(Inst::Execute { execute });
                Ok(())
            }
            OpKind::Ask { dst, question, args } => {
                let args = self.emit.regs(args)?;
                let desc = AskDesc { dst: self.emit.target(*dst)?, question: *question, args };
                let ask = number(&mut self.asks, desc)?;
                self.emit.emit(Inst::Ask { ask });
                Ok(())
            }
            OpKind::SystemRows { relation, columns, into } => {
                let desc = SystemRowsDesc {
                    relation: *relation,
                    columns: columns.clone().into(),
                    into: self.coll(*into),
                };
                let rows = number(&mut self.system_rows, desc)?;
                self.emit.emit(Inst::SystemRows { rows });
                Ok(())
            }
            OpKind::Emit { values } => {
                let values = self.emit.regs(values)?;
                let values = self.emit.run(&values)?;
                self.emit.emit(Inst::Emit { values });
                Ok(())
            }
            OpKind::Keep { values } => {
                let values = self.emit.regs(values)?;
                let values = self.emit.run(&values)?;
                self.emit.emit(Inst::Keep { values });
                Ok(())
            }
            OpKind::Piece { piece, args } => {
                let args = self.emit.regs(args)?;
                let args = self.emit.run(&args)?;
                self.emit.emit(Inst::Piece { piece: *piece, args });
                Ok(())
            }
            OpKind::Get { .. }
            | OpKind::Scan { .. }
            | OpKind::Load { .. }
            | OpKind::Insert { .. }
            | OpKind::Update { .. }
            | OpKind::Delete { .. }
            | OpKind::Claim { .. } => self.table_op(op.id, &op.kind),
            OpKind::Clear { .. }
            | OpKind::Push { .. }
            | OpKind::Fill { .. }
            | OpKind::Len { .. }
            | OpKind::Sort { .. }
            | OpKind::Trim { .. }
            | OpKind::MapGet { .. }
            | OpKind::MapPut { .. }
            | OpKind::ForEach { .. }
            | OpKind::ForMatches { .. }
            | OpKind::SetEntry { .. } => self.collection_op(&op.kind),
            _ => self.value_op(&op.kind),
        }
    }

    /// The body of a region with turns, up to where the next turn is prepared.
    fn turns(
        &mut self,
        label: planaria_ir::Label,
        body: &Block,
        next: Label,
        exit: Label,
        scan: bool,
    ) -> Result<()> {
        self.regions.push(Region::Labelled { label, exit, next: Some(next), scan });
        self.block(body)?;
        self.regions.pop();
        self.emit.bind(next);
        Ok(())
    }

    fn conditional(&mut self, id: OpId, cond: Reg, then: &Block, otherwise: &Block) -> Result<()> {
        let cond = self.emit.reg(cond)?;
        // `EXIT WHEN` and the like: one jump.
        if otherwise.0.is_empty()
            && let [Op { kind: kind @ (OpKind::Exit { label } | OpKind::Continue { label }), .. }] =
                &then.0[..]
            && let Some(to) = self.direct(*label, matches!(kind, OpKind::Continue { .. }))
        {
            self.emit.branch(cond, When::True, to);
            return Ok(());
        }
        if then.0.is_empty() {
            let end = self.emit.label();
            self.emit.branch(cond, When::True, end);
            self.block(otherwise)?;
            self.emit.bind(end);
            return Ok(());
        }
        let (on_false, end) = (self.emit.label(), self.emit.label());
        self.emit.branch(cond, When::NotTrue, on_false);
        if let Some(scan) = self.filters.remove(&id) {
            self.emit.emit(Inst::ScanRead { scan });
        }
        self.block(then)?;
        if !otherwise.0.is_empty() {
            self.emit.jump(end);
        }
        self.emit.bind(on_false);
        self.block(otherwise)?;
        self.emit.bind(end);
        Ok(())
    }

    /// Where leaving for a label jumps to, if nothing has to be done on the way.
    fn direct(&self, label: planaria_ir::Label, next: bool) -> Option<Label> {
        for region in self.regions.iter().rev() {
            match region {
                Region::Labelled { label: l, exit, next: turn, scan } if *l == label => {
                    return if next {
                        *turn
                    } else if *scan {
                        None
                    } else {
                        Some(*exit)
                    };
                }
                Region::Labelled { scan: false, .. } => {}
                _ => return None,
            }
        }
        None
    }

    /// Emits what leaving all regions up to this label (or the program) takes; returns where to jump.
    fn leave(&mut self, label: Option<planaria_ir::Label>, next: bool) -> Result<Label> {
        for at in (0..self.regions.len()).rev() {
            match self.regions[at] {
                Region::Labelled { label: l, exit, next: turn, scan } => {
                    if Some(l) == label && next {
                        return turn.ok_or_else(|| Error::internal("CONTINUE of a block"));
                    }
                    if scan {
                        self.emit.emit(Inst::ScanClose);
                    }
                    if Some(l) == label {
                        return Ok(exit);
                    }
                }
                Region::Try => self.emit.emit(Inst::TryLeave),
                Region::Handler => self.emit.emit(Inst::HandlerLeave),
            }
        }
        match label {
            None => Ok(0),
            Some(l) => Err(Error::internal(format!("no region has the label {l}"))),
        }
    }

    fn try_region(&mut self, body: &Block, handlers: &[planaria_ir::Handler]) -> Result<()> {
        let end = self.emit.label();
        let entries: Vec<Label> = handlers.iter().map(|_| self.emit.label()).collect();
        let descs = handlers.iter().map(|h| {
            Ok(HandlerDesc {
                catches: h.catches.clone().into(),
                sqlstate: self.emit.target(h.sqlstate)?,
                sqlerrm: self.emit.target(h.sqlerrm)?,
                diagnostics: (h.diagnostics.iter())
                    .map(|(what, reg)| Ok((*what, self.emit.target(*reg)?)))
                    .collect::<Result<_>>()?,
                entry: 0,
            })
        });
        let desc = TryDesc { site: self.site, handlers: descs.collect::<Result<_>>()? };
        let region = number(&mut self.tries, (desc, entries.clone()))?;
        self.emit.emit(Inst::TryEnter { region });
        self.regions.push(Region::Try);
        self.block(body)?;
        self.regions.pop();
        self.emit.emit(Inst::TryLeave);
        self.emit.jump(end);
        for (handler, entry) in handlers.iter().zip(entries) {
            self.emit.bind(entry);
            self.regions.push(Region::Handler);
            self.block(&handler.body)?;
            self.regions.pop();
            self.emit.emit(Inst::HandlerLeave);
            self.emit.jump(end);
        }
        self.emit.bind(end);
        Ok(())
    }

    fn coll(&self, coll: Coll) -> u16 {
        // `finish` refuses programs with more.
        coll.0 as u16
    }

    fn finish(mut self, inputs: Box<[R]>, outs: Box<[R]>, row_count: Option<R>) -> Result<Code> {
        if self.program.colls.len() > usize::from(u16::MAX) {
            return Err(Error::new(planaria_base::SqlState::STATEMENT_TOO_COMPLEX, "program is too complex"));
        }
        let emit::Resolved { insts, places, labels } = self.emit.finish();
        let tries = self.tries.into_iter().map(|(mut desc, entries)| {
            for (handler, entry) in desc.handlers.iter_mut().zip(entries) {
                handler.entry = labels[entry as usize];
            }
            desc
        });
        let colls = self.program.colls.iter().map(|decl| CollDesc {
            kind: decl.kind,
            keys: decl.keys.len() as u16,
            values: decl.values.len() as u16,
            types: decl
                .values
                .iter()
                .map(|kind| match kind {
                    RegKind::Value(ty) => Some(ty.clone()),
                    RegKind::Row(_) => None,
                })
                .collect(),
        });
        let params = || self.program.params.iter().filter(|p| p.mode != ParamMode::Out);
        Ok(Code {
            name: self.program.name.clone(),
            kind: self.program.kind,
            is_trigger: self.env.is_trigger(),
            is_atomic: self.program.kind != planaria_ir::ProgramKind::Procedure
                || self.env.is_trigger()
                || self.env.definer().is_some()
                || self.env.own().is_some(),
            source: self.env.source().unwrap_or_default(),
            insts,
            places,
            sites: self.sites.into(),
            template: self.emit.template.into(),
            operands: self.emit.operands.into(),
            constants: self.emit.constants.into(),
            begin: self.begin.map_or(0, |begin| labels[begin as usize]),
            aheads: self.aheads.into(),
            gets: self.emit.gets.into(),
            loads: self.emit.loads.into(),
            scans: self.emit.scans.into(),
            inserts: self.inserts.into(),
            updates: self.updates.into(),
            calls: self.emit.calls.into(),
            executes: self.executes.into(),
            asks: self.asks.into(),
            system_rows: self.system_rows.into(),
            raises: self.raises.into(),
            tries: tries.collect(),
            colls: colls.collect(),
            maps: self.maps.into(),
            eachs: self.eachs.into(),
            casts: self.casts.into(),
            sorts: self.sorts.into(),
            trims: self.trims.into(),
            fills: self.fills.into(),
            kept: self.kept.into(),
            inputs,
            input_types: params().map(|p| p.ty.clone()).collect(),
            outs,
            output_types: self.program.outputs.iter().map(|o| o.ty.clone()).collect(),
            row_count,
            writes: self.writes,
            definer: self.env.definer(),
            own: self.env.own(),
            fingerprint: Default::default(),
            #[cfg(debug_assertions)]
            program: Made::default(),
        })
    }
}

/// A constant that needs no heap, as a slot.
fn plain(value: &Datum) -> Option<Slot> {
    Some(match value {
        Datum::Null => Slot::Null,
        Datum::Bool(b) => Slot::Bool(*b),
        Datum::Int(n) => Slot::Int(*n),
        Datum::Float(x) => Slot::Float(*x),
        Datum::Numeric(n) => Slot::numeric(*n),
        Datum::Uuid(u) => Slot::Uuid(*u),
        Datum::Interval(i) => Slot::Interval(*i),
        Datum::Reg(oid, _) => Slot::Int(i64::from(*oid)),
        Datum::Text(_)
        | Datum::Bytea(_)
        | Datum::Jsonb(_)
        | Datum::Citext(_)
        | Datum::Array(_)
        | Datum::Shaped(_)
        | Datum::Long(_) => {
            return None;
        }
    })
}
