//! `@@`: whether what a query asks for is there, and in a phrase, where.
//!
//! An answer may be *perhaps*: where lexemes have no places, nothing is known of phrases.

use planaria_base::packed::tsquery::{Node, Operand, TsQuery};
use planaria_base::packed::tsvector::{Lexeme, TsVector};

/// A truth value, the greater the truer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Truth {
    /// It is not.
    No,
    /// Nobody can tell.
    Perhaps,
    /// It is.
    Yes,
}

/// Where a phrase ends, or (`negated`) where it does not.
#[derive(Clone, Default, Debug)]
pub struct Found {
    /// Positions that rise.
    pub positions: Vec<i32>,
    /// How far from its end the phrase begins.
    pub width: i32,
    negated: bool,
}

/// What answers for lexemes.
pub trait Source {
    /// Whether a lexeme is there; where, if `found` is asked for.
    fn has(&self, operand: &Operand, found: Option<&mut Found>) -> Truth;
}

fn truth(is: bool) -> Truth {
    if is { Truth::Yes } else { Truth::No }
}

/// Whether a query holds; what nobody can tell is taken to.
pub fn holds(query: &Node, source: &dyn Source) -> bool {
    evaluate(query, source) != Truth::No
}

fn evaluate(node: &Node, source: &dyn Source) -> Truth {
    match node {
        Node::Word(operand) => source.has(operand, None),
        Node::Stop => Truth::No,
        Node::Not(of) => match evaluate(of, source) {
            Truth::No => Truth::Yes,
            Truth::Perhaps => Truth::Perhaps,
            Truth::Yes => Truth::No,
        },
        Node::And(left, right) => match evaluate(left, source) {
            Truth::No => Truth::No,
            left => left.min(evaluate(right, source)),
        },
        Node::Or(left, right) => match evaluate(left, source) {
            Truth::Yes => Truth::Yes,
            left => left.max(evaluate(right, source)),
        },
        // A phrase of which nothing is known is not there.
        Node::Phrase(..) => match phrase(node, source, &mut Found::default()) {
            Truth::Perhaps => Truth::No,
            known => known,
        },
    }
}

/// Which of the positions of two sides are wanted.
#[derive(Clone, Copy)]
struct Wanted {
    both: bool,
    left: bool,
    right: bool,
}

/// Merges the positions of two sides, moved by so much.
fn merged(left: &Found, right: &Found, moved: (i32, i32), wanted: Wanted, found: &mut Found) -> Truth {
    let (mut l, mut r) = (left.positions.iter().peekable(), right.positions.iter().peekable());
    loop {
        let (lp, rp) = match (l.peek(), r.peek()) {
            (None, None) => break,
            (None, Some(_)) if !wanted.right => break,
            (Some(_), None) if !wanted.left => break,
            (lp, rp) => (lp.map_or(i32::MAX, |p| **p + moved.0), rp.map_or(i32::MAX, |p| **p + moved.1)),
        };
        let (take, at) = match lp.cmp(&rp) {
            std::cmp::Ordering::Less => {
                l.next();
                (wanted.left, lp)
            }
            std::cmp::Ordering::Equal => {
                l.next();
                r.next();
                (wanted.both, rp)
            }
            std::cmp::Ordering::Greater => {
                r.next();
                (wanted.right, rp)
            }
        };
        if take {
            found.positions.push(at);
        }
    }
    truth(!found.positions.is_empty())
}

const ALL: Wanted = Wanted { both: true, left: true, right: true };
const BOTH: Wanted = Wanted { both: true, left: false, right: false };
const LEFT: Wanted = Wanted { both: false, left: true, right: false };
const RIGHT: Wanted = Wanted { both: false, left: false, right: true };

/// Where part of a phrase is.
fn phrase(node: &Node, source: &dyn Source, found: &mut Found) -> Truth {
    match node {
        Node::Word(operand) => source.has(operand, Some(found)),
        Node::Stop => Truth::No,
        Node::Not(of) => match phrase(of, source, found) {
            // Nowhere becomes everywhere.
            Truth::No => {
                found.negated = true;
                Truth::Yes
            }
            Truth::Yes if !found.positions.is_empty() => {
                found.negated = !found.negated;
                Truth::Yes
            }
            Truth::Yes if found.negated => {
                found.negated = false;
                Truth::No
            }
            Truth::Yes | Truth::Perhaps => Truth::Perhaps,
        },
        Node::And(left, right) | Node::Phrase(left, right, _) => {
            let (mut l, mut r) = (Found::default(), Found::default());
            let of_left = phrase(left, source, &mut l);
            if of_left == Truth::No {
                return Truth::No;
            }
            let of_right = phrase(right, source, &mut r);
            if of_right == Truth::No {
                return Truth::No;
            }
            if of_left == Truth::Perhaps || of_right == Truth::Perhaps {
                return Truth::Perhaps;
            }
            let moved = match node {
                Node::Phrase(_, _, distance) => {
                    let distance = i32::from(*distance);
                    found.width = distance + l.width + r.width;
                    (distance + r.width, 0)
                }
                _ => aligned(&l, &r, found),
            };
            match (l.negated, r.negated) {
                (true, true) => {
                    merged(&l, &r, moved, ALL, found);
                    found.negated = true;
                    Truth::Yes
                }
                (true, false) => merged(&l, &r, moved, RIGHT, found),
                (false, true) => merged(&l, &r, moved, LEFT, found),
                (false, false) => merged(&l, &r, moved, BOTH, found),
            }
        }
        Node::Or(left, right) => {
            let (mut l, mut r) = (Found::default(), Found::default());
            let of_left = phrase(left, source, &mut l);
            let of_right = phrase(right, source, &mut r);
            if of_left == Truth::No && of_right == Truth::No {
                return Truth::No;
            }
            if of_left == Truth::Perhaps || of_right == Truth::Perhaps {
                return Truth::Perhaps;
            }
            if of_left == Truth::No {
                l.width = 0;
            }
            if of_right == Truth::No {
                r.width = 0;
            }
            let moved = aligned(&l, &r, found);
            let wanted = match (l.negated, r.negated) {
                (true, true) => BOTH,
                (true, false) => LEFT,
                (false, true) => RIGHT,
                (false, false) => return merged(&l, &r, moved, ALL, found),
            };
            merged(&l, &r, moved, wanted, found);
            found.negated = true;
            Truth::Yes
        }
    }
}

/// By how much two sides that begin together are to be moved so that they end together.
fn aligned(left: &Found, right: &Found, found: &mut Found) -> (i32, i32) {
    found.width = left.width.max(right.width);
    (found.width - left.width, found.width - right.width)
}

/// What a vector says of a lexeme: of its places only those of the weights that are asked for.
fn has_lexeme(lexeme: &Lexeme, operand: &Operand, found: Option<&mut Found>) -> Truth {
    // Without places it has all weights.
    if lexeme.places.is_empty() && found.is_some() {
        return Truth::Perhaps;
    }
    let fits = |weight: u16| operand.weights == 0 || operand.weights & 1 << weight != 0;
    match found {
        None => truth(lexeme.places.is_empty() || lexeme.places.iter().any(|p| fits(p.weight()))),
        Some(found) => {
            let places = lexeme.places.iter().filter(|p| fits(p.weight()));
            found.positions.extend(places.map(|p| i32::from(p.position())));
            truth(!found.positions.is_empty())
        }
    }
}

impl Source for TsVector {
    fn has(&self, operand: &Operand, mut found: Option<&mut Found>) -> Truth {
        let mut answer = Truth::No;
        for lexeme in self.matching(&operand.word, operand.prefix) {
            let mut places = Found::default();
            let one = has_lexeme(lexeme, operand, found.is_some().then_some(&mut places));
            match &mut found {
                None => {
                    answer = answer.max(one);
                    if answer == Truth::Yes {
                        break;
                    }
                }
                // One without places makes all of it unknown.
                Some(found) if one == Truth::Perhaps => {
                    found.positions.clear();
                    return Truth::Perhaps;
                }
                Some(found) => found.positions.append(&mut places.positions),
            }
        }
        let Some(found) = found else { return answer };
        found.positions.sort_unstable();
        found.positions.dedup();
        truth(!found.positions.is_empty())
    }
}

/// `vector @@ query`; nothing matches an empty query.
pub fn matches(vector: &TsVector, query: &TsQuery) -> bool {
    query.root.as_ref().is_some_and(|root| holds(root, vector))
}
