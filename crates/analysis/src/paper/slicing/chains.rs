//! Which operations a register's value may come from at each of its uses (reaching definitions), and
//! what leaves regions early: what the cutting of programs stands on. A view of [`Flow`].

use crate::flow::{At, DefId, Flow, Paths, Place, Var};
use planaria_ir::{Op, OpKind, Program, Reg};
use std::collections::{BTreeMap, BTreeSet};

pub(super) use crate::flow::Escape;

/// The value a register has when the program starts.
pub(super) const ENTRY: At = At::MAX;

/// See the module's head. Operations are numbered in program order, as [`Program::renumber`] does.
pub(super) struct Chains<'p> {
    flow: Flow<'p>,
    /// By operation, for each register it reads: the definitions that may reach it.
    pub(super) uses: Vec<BTreeMap<Reg, BTreeSet<At>>>,
    /// By operation that reads a collection: what may have put something in it.
    pub(super) fills: Vec<BTreeSet<At>>,
}

impl<'p> Chains<'p> {
    pub(super) fn of(program: &'p Program) -> Chains<'p> {
        let flow = Flow::of(program, Paths::Taken);
        debug_assert!(
            flow.ops.iter().enumerate().all(|(at, op)| op.id.index() == at),
            "operations are numbered in program order"
        );
        let mut known = BTreeMap::new();
        let mut uses = vec![BTreeMap::new(); flow.ops.len()];
        let mut fills = vec![BTreeSet::new(); flow.ops.len()];
        for at in 0..flow.ops.len() {
            for (reg, def) in &flow.uses[at] {
                let defs: &mut BTreeSet<At> = uses[at].entry(*reg).or_default();
                defs.extend(reaching(&flow, *def, &mut known));
            }
            for def in &flow.looks[at] {
                fills[at].extend(reaching(&flow, *def, &mut known));
            }
        }
        Chains { flow, uses, fills }
    }

    pub(super) fn ops(&self) -> &[&'p Op] {
        &self.flow.ops
    }

    /// The operation whose block an operation stands in.
    pub(super) fn parent(&self, op: At) -> Option<At> {
        self.flow.parent[op as usize]
    }

    pub(super) fn escapes(&self) -> &[Escape] {
        &self.flow.escapes
    }

    pub(super) fn kind(&self, op: At) -> &'p OpKind {
        self.flow.kind(op)
    }

    /// Whether `inner` is `outer` or stands inside it.
    pub(super) fn contains(&self, outer: At, inner: At) -> bool {
        self.flow.contains(outer, inner)
    }

    /// The operations inside a region, itself first.
    pub(super) fn inside(&self, region: At) -> std::ops::RangeInclusive<At> {
        self.flow.inside(region)
    }

    /// The regions around an operation, innermost first.
    pub(super) fn around(&self, op: At) -> impl Iterator<Item = At> + '_ {
        self.flow.around(op)
    }

    /// Whether an operation may run more than once.
    pub(super) fn repeats(&self, op: At) -> bool {
        self.flow.repeats(op)
    }

    /// What may have defined a register where a region, or an operation that writes it, ends.
    pub(super) fn defs_after(&self, op: At, reg: Reg) -> BTreeSet<At> {
        match self.flow.at_end(op, reg) {
            Some(def) => reaching(&self.flow, def, &mut BTreeMap::new()),
            None => BTreeSet::from([op]),
        }
    }

    /// An operation and the regions around it, from the inside out, that have ended where something in the
    /// block of `scope` runs.
    pub(super) fn ended(&self, op: At, scope: Option<At>) -> Vec<At> {
        let ended = |x: &At| scope.is_none_or(|s| !self.contains(*x, s));
        std::iter::once(op).chain(self.around(op)).take_while(ended).collect()
    }

    /// Whether something inside leaves the region for one farther out.
    pub(super) fn is_left_early(&self, region: At) -> bool {
        self.flow.escapes_in(region).iter().any(|e| e.target.is_none_or(|t| !self.contains(region, t)))
    }

    /// Whether `escape` has a say in whether `op` runs.
    pub(super) fn governs(&self, escape: &Escape, op: At) -> bool {
        if escape.at == op || escape.target.is_some_and(|t| t == op || !self.contains(t, op)) {
            return false;
        }
        // An earlier one, or one of an earlier turn of a loop around both.
        escape.at < op || self.flow.share_a_loop(op, escape.at)
    }
}

/// The operations whose writes may be there in a definition. `known` are those that were asked for.
fn reaching(flow: &Flow<'_>, def: DefId, known: &mut BTreeMap<DefId, BTreeSet<At>>) -> BTreeSet<At> {
    let (mut found, mut seen, mut work) = (BTreeSet::new(), BTreeSet::from([def]), vec![def]);
    while let Some(next) = work.pop() {
        if let Some(all) = known.get(&next) {
            found.extend(all);
            continue;
        }
        let of = &flow.defs[next];
        let own = of.at.filter(|_| of.place == Place::Def);
        found.extend(own);
        // Something is added to a collection, unless it is emptied. At first there is nothing in it.
        let goes_on = match (of.var, own) {
            (Var::Reg(_), None) if of.place == Place::Start => {
                found.insert(ENTRY);
                false
            }
            (Var::Reg(_), own) => own.is_none(),
            (Var::Coll(_), own) => own.is_none_or(|at| !matches!(flow.kind(at), OpKind::Clear { .. })),
        };
        if goes_on {
            work.extend(of.from.iter().filter(|from| seen.insert(**from)));
        }
    }
    known.insert(def, found.clone());
    found
}

pub(super) fn is_region(kind: &OpKind) -> bool {
    kind.label().is_some() || matches!(kind, OpKind::If { .. } | OpKind::Try { .. })
}
