//! Written before read: a forward "definitely written" analysis over the structured regions.
//!
//! The state is a bit set of registers, or unreachable. A region joins what reaches its end with
//! what its `Exit`s carry there; a loop's body starts with what was written before the loop (a later
//! turn only knows more); a handler starts with what was written before its `Try`.

use crate::{Block, Label, OpKind, Program, Reg};
use planaria_base::{Error, Result, stack, watch};

#[derive(Clone)]
struct Written(Vec<u64>);

impl Written {
    fn add(&mut self, r: Reg) {
        self.0[r.index() / 64] |= 1 << (r.index() % 64);
    }
    fn has(&self, r: Reg) -> bool {
        self.0[r.index() / 64] >> (r.index() % 64) & 1 == 1
    }
}

/// `None` is unreachable: it knows everything and joins as the neutral element.
type State = Option<Written>;

fn join(a: State, b: State) -> State {
    match (a, b) {
        (Some(mut a), Some(b)) => {
            a.0.iter_mut().zip(&b.0).for_each(|(x, y)| *x &= y);
            Some(a)
        }
        (a, b) => a.or(b),
    }
}

struct Flow<'a> {
    program: &'a Program,
    /// What the `Exit`s met so far carry to the end of their region.
    exits: Vec<State>,
}

pub(super) fn check(program: &Program) -> Result<()> {
    let mut start = Written(vec![0; program.regs.len().div_ceil(64)]);
    for (i, decl) in program.regs.iter().enumerate() {
        if decl.name.is_some() {
            start.add(Reg::from(i));
        }
    }
    program.params.iter().for_each(|p| start.add(p.reg));
    let mut flow = Flow { program, exits: vec![None; program.labels as usize] };
    flow.block(&program.body, Some(start)).map(|_| ())
}

impl Flow<'_> {
    fn block(&mut self, block: &Block, mut state: State) -> Result<State> {
        stack::check()?;
        watch::check()?;
        for op in &block.0 {
            if state.is_none() {
                // What follows an Exit, Return or Raise never runs.
                break;
            }
            if let Some(written) = &state {
                let mut early = None;
                op.kind.reads(&mut |r| {
                    if !written.has(r) {
                        early = Some(r);
                    }
                });
                if let Some(r) = early {
                    let what = format!("{r} is read before it is written");
                    return Err(Error::internal(format!(
                        "verifier: {}: {}: {what}",
                        self.program.name, op.id
                    )));
                }
            }
            state = self.op(&op.kind, state)?;
        }
        Ok(state)
    }

    fn op(&mut self, kind: &OpKind, state: State) -> Result<State> {
        let writes = |state: &State| {
            let mut after = state.clone();
            if let Some(w) = &mut after {
                kind.writes(&mut |r| w.add(r));
            }
            after
        };
        Ok(match kind {
            OpKind::If { then, otherwise, .. } => {
                let a = self.block(then, state.clone())?;
                let b = self.block(otherwise, state)?;
                join(a, b)
            }
            OpKind::Loop { label, body } => {
                self.block(body, state)?;
                self.exits[label.index()].take()
            }
            OpKind::Block { label, body } => {
                let end = self.block(body, state)?;
                join(end, self.exits[label.index()].take())
            }
            OpKind::Scan { label, body, .. }
            | OpKind::ForEach { label, body, .. }
            | OpKind::ForMatches { label, body, .. } => {
                let inside = writes(&state);
                self.block(body, inside)?;
                join(state, self.exits[label.index()].take())
            }
            OpKind::Try { body, handlers } => {
                let mut end = self.block(body, state.clone())?;
                for h in handlers {
                    let mut start = state.clone();
                    if let Some(w) = &mut start {
                        w.add(h.sqlstate);
                        w.add(h.sqlerrm);
                        h.diagnostics.iter().for_each(|(_, r)| w.add(*r));
                    }
                    let done = self.block(&h.body, start)?;
                    end = join(end, done);
                }
                end
            }
            OpKind::Exit { label } => {
                self.leave(*label, state);
                None
            }
            OpKind::Continue { .. } | OpKind::Return => None,
            OpKind::Raise { level: planaria_base::Level::Exception, .. } => None,
            _ => writes(&state),
        })
    }

    fn leave(&mut self, label: Label, state: State) {
        let former = self.exits[label.index()].take();
        self.exits[label.index()] = join(former, state);
    }
}
