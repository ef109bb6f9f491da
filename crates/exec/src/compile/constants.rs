//! Where constants are made that live in the heap: texts, byteas, arrays.
//!
//! Each costs a copy whenever it is made, and lowering puts all of them at the beginning of the
//! program, most of them for error messages that are never printed. So each moves
//!
//! 1. into every block that ends in an exception and needs it, since that runs once at most;
//! 2. for its other uses, to one place: into the innermost block that has them all, yet before every
//!    loop, ahead of the first operation there that needs it.
//!
//! Only settled registers take part: such a constant has its value wherever it is read. One pass
//! looks at all uses, one puts the constants in: a statement may have thousands (`INSERT .. VALUES`).

use super::simplify::Uses;
use planaria_base::{Datum, Level};
use planaria_ir::{Block, Op, OpKind, Reg};
use std::collections::HashMap;

/// A block of the tree, by number in program order.
struct Place {
    parent: usize,
    /// Which operation of the parent it belongs to.
    op: usize,
    depth: u32,
    /// Whether it is the body of a loop.
    repeats: bool,
    /// The nearest block around (or this one) that ends in an exception; else the outermost block.
    region: usize,
}

/// Before an operation: block and index.
type Spot = (usize, usize);

/// Moves the constants of a program's body.
pub(super) fn place(body: &mut Block, uses: &mut Uses) {
    let mut constants = HashMap::new();
    take(body, uses, &mut constants);
    if constants.is_empty() {
        return;
    }
    let mut survey = Survey { places: Vec::new(), spots: HashMap::new(), constants: &constants };
    survey.block(body, Place { parent: 0, op: 0, depth: 0, repeats: false, region: 0 });
    let Survey { places, spots, .. } = survey;

    let mut inserts: HashMap<usize, Vec<(usize, Reg)>> = HashMap::new();
    constants.keys().for_each(|reg| uses.writes[reg.index()] = 0);
    for ((reg, region), spot) in spots {
        let (block, op) = before_loops(&places, region, spot);
        uses.writes[reg.index()] += 1;
        inserts.entry(block).or_default().push((op, reg));
    }
    inserts.values_mut().for_each(|i| i.sort());
    insert(body, &mut 0, &inserts, &constants);
}

/// Removes the settled constants from a block and those inside.
fn take(block: &mut Block, uses: &Uses, constants: &mut HashMap<Reg, Op>) {
    block.0.retain(|op| match &op.kind {
        OpKind::Const {
            dst,
            value:
                Datum::Text(_)
                | Datum::Bytea(_)
                | Datum::Jsonb(_)
                | Datum::Citext(_)
                | Datum::Array(_)
                | Datum::Shaped(_)
                | Datum::Long(_),
        } if uses.settled[dst.index()] => {
            constants.insert(*dst, op.clone());
            false
        }
        _ => true,
    });
    for op in &mut block.0 {
        op.kind.blocks_mut(&mut |b| take(b, uses, constants));
    }
}

/// Whether a block ends in an exception.
fn is_exceptional(block: &Block) -> bool {
    matches!(block.0.last(), Some(Op { kind: OpKind::Raise { level: Level::Exception, .. }, .. }))
}

struct Survey<'a> {
    places: Vec<Place>,
    /// By constant and region, the innermost spot that is before all its uses there.
    spots: HashMap<(Reg, usize), Spot>,
    constants: &'a HashMap<Reg, Op>,
}

impl Survey<'_> {
    fn block(&mut self, block: &Block, mut place: Place) {
        let number = self.places.len();
        if is_exceptional(block) {
            place.region = number;
        }
        let (depth, region) = (place.depth + 1, place.region);
        self.places.push(place);
        for (at, op) in block.0.iter().enumerate() {
            op.kind.reads(&mut |reg| self.used(reg, region, (number, at)));
            let repeats = matches!(
                op.kind,
                OpKind::Loop { .. }
                    | OpKind::Scan { .. }
                    | OpKind::ForEach { .. }
                    | OpKind::ForMatches { .. }
            );
            op.kind.blocks(&mut |inner| {
                self.block(inner, Place { parent: number, op: at, depth, repeats, region });
            });
        }
    }

    fn used(&mut self, reg: Reg, region: usize, at: Spot) {
        if self.constants.contains_key(&reg) {
            let spot = self.spots.entry((reg, region)).or_insert(at);
            *spot = before_both(&self.places, *spot, at);
        }
    }
}

/// The innermost spot that is before both.
fn before_both(places: &[Place], mut a: Spot, mut b: Spot) -> Spot {
    while a.0 != b.0 {
        let deeper = if places[a.0].depth >= places[b.0].depth { &mut a } else { &mut b };
        *deeper = (places[deeper.0].parent, places[deeper.0].op);
    }
    (a.0, a.1.min(b.1))
}

/// The spot before the outermost loop around it, within the region.
fn before_loops(places: &[Place], region: usize, spot: Spot) -> Spot {
    let (mut outside, mut block) = (spot, spot.0);
    while block != region {
        let place = &places[block];
        if place.repeats {
            outside = (place.parent, place.op);
        }
        block = place.parent;
    }
    outside
}

/// Whether the next operation is a conditional on what this one computes.
fn is_test_of_next(block: &[Op], at: usize) -> bool {
    let mut found = false;
    if let Some(OpKind::If { cond, .. }) = block.get(at + 1).map(|op| &op.kind) {
        block[at].kind.writes(&mut |r| found |= r == *cond);
    }
    found
}

/// Puts the constants in; `number` counts the blocks as the survey did.
fn insert(
    block: &mut Block,
    number: &mut usize,
    inserts: &HashMap<usize, Vec<(usize, Reg)>>,
    constants: &HashMap<Reg, Op>,
) {
    let mine = inserts.get(number).map_or(&[][..], Vec::as_slice);
    *number += 1;
    for op in &mut block.0 {
        op.kind.blocks_mut(&mut |b| insert(b, number, inserts, constants));
    }
    if mine.is_empty() {
        return;
    }
    let mut mine = mine.iter().peekable();
    let old = std::mem::take(&mut block.0);
    let tests: Vec<bool> = (0..old.len()).map(|at| is_test_of_next(&old, at)).collect();
    for (at, op) in old.into_iter().enumerate() {
        // Not between a test and the jump on it, which become one instruction.
        while let Some((_, reg)) = mine.next_if(|(before, _)| *before <= at + usize::from(tests[at])) {
            block.0.push(constants[reg].clone());
        }
        block.0.push(op);
    }
}
