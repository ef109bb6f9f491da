//! What a part of a procedure needs: its own operations, everything that computes what they use and
//! decides whether they run, and values from other parts where that comes to their operations.

use super::Uncut;
use super::chains::{Chains, ENTRY, is_region};
use crate::flow::is_loop;
use planaria_base::{Level, Type};
use planaria_ir::{OpKind, Program, Reg, RegKind};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// A part of a procedure: 0 is the prologue, slice `s` is part `s + 1`.
pub(super) type Part = usize;

/// A place in the program where a value passes from one part to another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Place {
    /// Behind an operation, or a whole region.
    After(u32),
    /// At the beginning of each turn of a scan.
    Turn(u32),
    /// Before each turn of a scan, and once more behind the last: whether there is one more.
    More(u32),
}

impl Place {
    fn op(self) -> u32 {
        match self {
            Place::After(op) | Place::Turn(op) | Place::More(op) => op,
        }
    }
}

/// A value that passes: where, and the register (none for [`Place::More`]).
pub(super) type Pass = (Place, Option<Reg>);

/// A procedure that is being cut.
pub(super) struct Cut<'p> {
    pub(super) program: &'p Program,
    pub(super) chains: Chains<'p>,
    /// The part that each operation on tables, and each draw, belongs to; `None`: whoever needs it.
    pub(super) owner: Vec<Option<Part>>,
    /// The parts whose values a part may use.
    pub(super) before: Vec<BTreeSet<Part>>,
    /// Memory of [`Cut::sources`].
    known: RefCell<BTreeMap<(u32, Reg), Option<BTreeSet<Part>>>>,
}

impl<'p> Cut<'p> {
    pub(super) fn new(
        program: &'p Program,
        chains: Chains<'p>,
        owner: Vec<Option<Part>>,
        before: Vec<BTreeSet<Part>>,
    ) -> Cut<'p> {
        Cut { program, chains, owner, before, known: RefCell::default() }
    }

    /// Gives operations to another part.
    pub(super) fn assign(&mut self, ops: &[u32], part: Part) {
        ops.iter().for_each(|op| self.owner[*op as usize] = Some(part));
        self.known = RefCell::default();
    }

    /// Whether a value passes any number of times in a call.
    pub(super) fn passes_often(&self, place: Place) -> bool {
        match place {
            Place::After(op) => self.chains.repeats(op),
            Place::Turn(_) | Place::More(_) => true,
        }
    }

    /// Whether a register's value can pass here.
    fn can_pass(&self, place: Place, reg: Reg) -> bool {
        let array = matches!(self.program.type_of(reg), Some(Type::Array(_)));
        !(array && self.passes_often(place))
    }

    /// The part that can hand to part `at` what a register holds behind an operation or region: the one
    /// that comes last of those whose reads it depends on. `None` where there is no such part, and where it
    /// depends on no reads: then it is computed again.
    pub(super) fn giver(&self, at: Part, region: u32, reg: Reg) -> Option<Part> {
        if self.chains.is_left_early(region) || !self.can_pass(Place::After(region), reg) {
            return None;
        }
        let sources = self.sources(region, reg)?;
        let last = |a: &Part| sources.iter().all(|s| s == a || self.before[*a].contains(s));
        sources.iter().copied().rfind(|a| self.before[at].contains(a) && last(a))
    }

    /// The parts that the value of a register behind a region comes from.
    fn sources(&self, region: u32, reg: Reg) -> Option<BTreeSet<Part>> {
        if let Some(known) = self.known.borrow().get(&(region, reg)) {
            return known.clone();
        }
        let mut demand = Demand::new(self, None, 0);
        demand.seen = Some(BTreeSet::new());
        demand.give((Place::After(region), Some(reg)));
        let sources = demand.finish().ok().and_then(|d| d.seen);
        self.known.borrow_mut().insert((region, reg), sources.clone());
        sources
    }
}

/// What one part needs. See the module's head.
pub(super) struct Demand<'a, 'p> {
    cut: &'a Cut<'p>,
    /// Whose operations are its own; nobody's, of a program that only computes keys.
    me: Option<Part>,
    /// The part that it is, or works for.
    at: Part,
    /// Instead of fetching values, only notes the parts they come from.
    seen: Option<BTreeSet<Part>>,
    /// Operations that stand in it as they are.
    pub(super) exec: BTreeSet<u32>,
    /// Regions that stand in it.
    pub(super) regions: BTreeSet<u32>,
    /// Values it is handed, and who hands them.
    pub(super) fetch: BTreeMap<Pass, Part>,
    /// Operations whose place in the control flow has been seen to.
    placed: BTreeSet<u32>,
    work: Vec<Work>,
    failed: Option<Uncut>,
}

enum Work {
    Exec(u32),
    Region(u32),
    Control(u32),
}

impl<'a, 'p> Demand<'a, 'p> {
    pub(super) fn new(cut: &'a Cut<'p>, me: Option<Part>, at: Part) -> Demand<'a, 'p> {
        Demand {
            cut,
            me,
            at,
            seen: None,
            exec: BTreeSet::new(),
            regions: BTreeSet::new(),
            fetch: BTreeMap::new(),
            placed: BTreeSet::new(),
            work: Vec::new(),
            failed: None,
        }
    }

    /// An operation that must run.
    pub(super) fn run(&mut self, op: u32) {
        self.work.push(Work::Exec(op));
    }

    /// A value that it is handed.
    pub(super) fn take(&mut self, part: Part, place: Place, reg: Reg) {
        self.fetch(part, place, Some(reg));
    }

    /// A value that others are handed.
    pub(super) fn give(&mut self, (place, reg): Pass) {
        let op = place.op();
        self.work.push(Work::Control(op));
        match (place, reg) {
            (Place::After(_), Some(reg)) => {
                let defs = self.cut.chains.defs_after(op, reg);
                self.value(self.cut.chains.parent(op), Some(op), reg, &defs);
            }
            _ => {
                self.work.push(Work::Exec(op));
                self.work.push(Work::Region(op));
            }
        }
    }

    /// The value that a register has where an operation reads it.
    pub(super) fn value_at(&mut self, op: u32, reg: Reg) {
        let defs = self.cut.chains.uses[op as usize].get(&reg).cloned().unwrap_or_default();
        self.value(self.cut.chains.parent(op), None, reg, &defs);
        self.work.push(Work::Control(op));
    }

    pub(super) fn finish(mut self) -> Result<Self, Uncut> {
        while let Some(work) = self.work.pop() {
            match work {
                Work::Exec(op) => self.exec(op),
                Work::Region(op) => self.region(op),
                Work::Control(op) => self.control(op),
            }
            if let Some(failed) = self.failed.take() {
                return Err(failed);
            }
        }
        Ok(self)
    }

    fn is_own(&self, op: u32) -> bool {
        let owner = self.cut.owner[op as usize];
        owner.is_some() && owner == self.me
    }

    /// The value of `reg` is used in the block of `scope`; one of `defs` defined it. `given`: the region
    /// or operation behind whose end it is used, if so.
    fn value(&mut self, scope: Option<u32>, given: Option<u32>, reg: Reg, defs: &BTreeSet<u32>) {
        let chains = &self.cut.chains;
        for def in defs.iter().copied().filter(|d| *d != ENTRY) {
            let whole = chains
                .ended(def, scope)
                .into_iter()
                .rev()
                .find_map(|x| Some((x, if Some(x) == given { None } else { self.whole(x, reg) }?)));
            match whole {
                Some((region, part)) => self.fetch(part, Place::After(region), Some(reg)),
                None => self.define(def, reg),
            }
        }
    }

    /// Who can hand over what `reg` holds behind an operation or region, instead of it being computed here.
    fn whole(&self, region: u32, reg: Reg) -> Option<Part> {
        let inside = self.cut.chains.inside(region);
        match self.seen.is_some() || inside.clone().any(|op| self.is_own(op)) {
            true => None,
            false => self.cut.giver(self.at, region, reg),
        }
    }

    fn define(&mut self, def: u32, reg: Reg) {
        match self.cut.owner[def as usize] {
            Some(part) if !self.is_own(def) => {
                if matches!(self.cut.chains.kind(def), OpKind::Scan { .. }) {
                    self.fetch(part, Place::Turn(def), Some(reg));
                    self.work.push(Work::Region(def));
                } else {
                    self.fetch(part, Place::After(def), Some(reg));
                }
            }
            _ => self.work.push(Work::Exec(def)),
        }
    }

    fn fetch(&mut self, part: Part, place: Place, reg: Option<Reg>) {
        self.work.push(Work::Control(place.op()));
        if let Some(seen) = &mut self.seen {
            seen.insert(part);
            return;
        }
        if part == self.at || !self.cut.before[self.at].contains(&part) {
            self.failed = Some(Uncut::Order);
        } else if reg.is_some_and(|r| !self.cut.can_pass(place, r)) {
            self.failed = Some(Uncut::Arrays);
        }
        self.fetch.insert((place, reg), part);
    }

    fn exec(&mut self, op: u32) {
        if !self.exec.insert(op) {
            return;
        }
        let cut = self.cut;
        let kind = cut.chains.kind(op);
        if cut.owner[op as usize].is_some() && !self.is_own(op) && self.seen.is_none() {
            self.failed = Some(Uncut::Order);
        }
        if !matches!(kind, OpKind::Keep { .. }) {
            for (reg, defs) in &cut.chains.uses[op as usize] {
                self.value(cut.chains.parent(op), None, *reg, defs);
            }
        }
        self.work.extend(cut.chains.fills[op as usize].iter().map(|fill| Work::Exec(*fill)));
        if is_region(kind) {
            self.work.push(Work::Region(op));
        }
        self.work.push(Work::Control(op));
    }

    fn region(&mut self, op: u32) {
        if !self.regions.insert(op) {
            return;
        }
        match self.cut.chains.kind(op) {
            OpKind::Scan { .. } => match self.cut.owner[op as usize] {
                Some(part) if !self.is_own(op) => self.fetch(part, Place::More(op), None),
                _ => self.work.push(Work::Exec(op)),
            },
            OpKind::Loop { .. } | OpKind::Block { .. } => {}
            _ => self.work.push(Work::Exec(op)),
        }
        self.work.push(Work::Control(op));
        // An error in it ends the program there, so whatever leaves before it must do so here, too.
        let chains = &self.cut.chains;
        let is_error = |kind: &OpKind| matches!(kind, OpKind::Raise { level: Level::Exception, .. });
        let errors =
            chains.inside(op).filter(|at| chains.parent(*at) == Some(op) && is_error(chains.kind(*at)));
        self.work.extend(errors.map(Work::Control));
        if is_loop(self.cut.chains.kind(op)) {
            // It must end: whatever leaves it decides about its own next turn.
            let chains = &self.cut.chains;
            let leaves = |t: u32| chains.contains(t, op);
            let ends = chains.escapes().iter().filter(|e| chains.contains(op, e.at));
            self.work.extend(ends.filter(|e| e.target.is_none_or(leaves)).map(|e| Work::Exec(e.at)));
        }
    }

    fn control(&mut self, op: u32) {
        if !self.placed.insert(op) {
            return;
        }
        let chains = &self.cut.chains;
        self.work.extend(chains.around(op).map(Work::Region));
        let governing = chains.escapes().iter().filter(|e| chains.governs(e, op));
        self.work.extend(governing.map(|e| Work::Exec(e.at)));
    }
}

/// What a register holds is passed as.
pub(super) fn passed_type(kind: &RegKind) -> Type {
    match kind {
        RegKind::Value(ty) => ty.clone(),
        // Whether there is no row.
        RegKind::Row(_) => Type::Bool,
    }
}
