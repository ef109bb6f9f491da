//! `ts_rank` and `ts_rank_cd`: how well a document answers a query. The numbers are PostgreSQL's, to the last bit that its
//! arithmetic, in reals and doubles by turns, gives; so it is followed step by step.

use super::matching::{Found, Source, Truth, holds};
use planaria_base::packed::tsquery::{Node, Operand, TsQuery};
use planaria_base::packed::tsvector::{Lexeme, TsVector};
use planaria_base::packed::words::{POSITION_MAX, Place};
use planaria_base::{Result, watch};
use std::collections::HashMap;

/// Weights of D, C, B, A where nothing is said.
pub const WEIGHTS: [f32; 4] = [0.1, 0.2, 0.4, 1.0];

/// How a rank is divided: bits of a number.
#[derive(Clone, Copy)]
struct Normal(i64);

impl Normal {
    fn by_log_length(self) -> bool {
        self.0 & 1 != 0
    }
    fn by_length(self) -> bool {
        self.0 & 2 != 0
    }
    fn by_distance(self) -> bool {
        self.0 & 4 != 0
    }
    fn by_lexemes(self) -> bool {
        self.0 & 8 != 0
    }
    fn by_log_lexemes(self) -> bool {
        self.0 & 16 != 0
    }
    fn by_itself(self) -> bool {
        self.0 & 32 != 0
    }
}

/// Of each lexeme one operand, in the order of their bytes.
fn distinct(query: &TsQuery) -> Vec<&Operand> {
    let mut operands = query.operands();
    operands.sort_by(|a, b| a.word.cmp(&b.word));
    operands.dedup_by(|a, b| a.word == b.word);
    operands
}

/// `ts_rank`
pub fn rank(weights: &[f32; 4], vector: &TsVector, query: &TsQuery, normal: i64) -> Result<f32> {
    let Some(root) = &query.root else { return Ok(0.0) };
    if vector.lexemes.is_empty() {
        return Ok(0.0);
    }
    let operands = distinct(query);
    let together = matches!(root, Node::And(..) | Node::Phrase(..)) && operands.len() > 1;
    let mut rank = match together {
        true => of_all(weights, vector, &operands)?,
        false => of_any(weights, vector, &operands),
    };
    if rank < 0.0 {
        rank = 1e-20;
    }
    let normal = Normal(normal);
    let (length, lexemes) = (vector.occurrences(), vector.lexemes.len());
    if normal.by_log_length() {
        rank = (f64::from(rank) / ((length as f64 + 1.0).ln() / 2f64.ln())) as f32;
    }
    if normal.by_length() {
        rank /= length as f32;
    }
    if normal.by_lexemes() {
        rank /= lexemes as f32;
    }
    if normal.by_log_lexemes() {
        rank = (f64::from(rank) / ((lexemes as f64 + 1.0).ln() / 2f64.ln())) as f32;
    }
    if normal.by_itself() {
        rank /= rank + 1.0;
    }
    Ok(rank)
}

/// What two words are worth that are so far apart.
fn nearness(distance: i32) -> f32 {
    if distance > 100 {
        return 1e-30;
    }
    (1.0 / (1.005 + 0.05 * (f64::from(distance as f32) / 1.5 - 2.0).exp())) as f32
}

/// Where all are asked for: by how near they are to each other, two at a time.
fn of_all(weights: &[f32; 4], vector: &TsVector, operands: &[&Operand]) -> Result<f32> {
    let weight = |place: &Place| weights[usize::from(place.weight())];
    // Of a lexeme without places: one that is nowhere near.
    let nowhere = vec![Place::new(u64::from(POSITION_MAX) - 1, 0)];
    let mut seen: Vec<Option<(&[Place], bool)>> = vec![None; operands.len()];
    let mut rank = -1f32;
    for (i, operand) in operands.iter().enumerate() {
        for lexeme in vector.matching(&operand.word, operand.prefix) {
            watch::check()?;
            let unknown = lexeme.places.is_empty();
            let places: &[Place] = if unknown { &nowhere } else { &lexeme.places };
            seen[i] = Some((places, unknown));
            for (others, other_unknown) in seen[..i].iter().flatten() {
                for place in places {
                    for other in *others {
                        let mut distance = (i32::from(place.position()) - i32::from(other.position())).abs();
                        if distance == 0 {
                            if !unknown && !other_unknown {
                                continue;
                            }
                            distance = i32::from(POSITION_MAX);
                        }
                        let both = weight(place) * weight(other) * nearness(distance);
                        let both = f64::from(both).sqrt() as f32;
                        rank = match rank < 0.0 {
                            true => both,
                            false => (1.0 - (1.0 - f64::from(rank)) * (1.0 - f64::from(both))) as f32,
                        };
                    }
                }
            }
        }
    }
    Ok(rank)
}

/// Where any is asked for: by how often each is there.
fn of_any(weights: &[f32; 4], vector: &TsVector, operands: &[&Operand]) -> f32 {
    let once = [Place::new(0, 0)];
    let mut rank = 0f32;
    for operand in operands {
        for lexeme in vector.matching(&operand.word, operand.prefix) {
            let places: &[Place] = if lexeme.places.is_empty() { &once } else { &lexeme.places };
            let (mut sum, mut most, mut at) = (0f32, -1f32, 0);
            for (j, place) in places.iter().enumerate() {
                let weight = weights[usize::from(place.weight())];
                let square = ((j + 1) * (j + 1)) as f32;
                sum += weight / square;
                if weight > most {
                    (most, at) = (weight, j);
                }
            }
            let square = ((at + 1) * (at + 1)) as f32;
            // The sum of 1/i² over all i is the number below.
            rank = (f64::from(rank) + f64::from(most + sum - most / square) / 1.644_934_066_85) as f32;
        }
    }
    if operands.is_empty() { rank } else { rank / operands.len() as f32 }
}

/// A place of the document where something is that is asked for.
struct At {
    place: Place,
    operands: Vec<usize>,
}

/// What has been seen of a document, from a place on in one direction.
struct Seen<'q> {
    numbers: &'q HashMap<usize, usize>,
    /// Of each operand, in the order in which they were seen.
    positions: Vec<Vec<i32>>,
    backwards: bool,
}

impl Seen<'_> {
    fn clear(&mut self, backwards: bool) {
        self.positions.iter_mut().for_each(Vec::clear);
        self.backwards = backwards;
    }

    fn add(&mut self, at: &At) {
        for operand in &at.operands {
            let positions = &mut self.positions[*operand];
            let position = i32::from(at.place.position());
            if positions.last() != Some(&position) {
                positions.push(position);
            }
        }
    }
}

fn address(operand: &Operand) -> usize {
    std::ptr::from_ref(operand).addr()
}

impl Source for Seen<'_> {
    fn has(&self, operand: &Operand, found: Option<&mut Found>) -> Truth {
        let positions = self.numbers.get(&address(operand)).map(|n| &self.positions[*n]);
        let Some(positions) = positions.filter(|positions| !positions.is_empty()) else { return Truth::No };
        if let Some(found) = found {
            found.positions.extend(positions);
            if self.backwards {
                found.positions.reverse();
            }
        }
        Truth::Yes
    }
}

/// The next part of the document, from a place on, that holds the whole query and no less would: where it begins and ends,
/// and from where to go on.
fn cover(
    all: &[At],
    root: &Node,
    seen: &mut Seen<'_>,
    mut from: usize,
) -> Result<Option<(usize, usize, usize)>> {
    loop {
        watch::check()?;
        seen.clear(false);
        let mut end = None;
        for (i, at) in all.iter().enumerate().skip(from) {
            seen.add(at);
            if holds(root, seen) {
                end = Some(i).filter(|_| at.place.position() > 0);
                break;
            }
        }
        let Some(end) = end else { return Ok(None) };
        seen.clear(true);
        for i in (from..=end).rev() {
            seen.add(&all[i]);
            if holds(root, seen) {
                if all[i].place.position() <= all[end].place.position() {
                    return Ok(Some((i, end, i + 1)));
                }
                break;
            }
        }
        from += 1;
    }
}

/// `ts_rank_cd`: by how dense the parts are that hold the whole query.
pub fn rank_by_covers(weights: &[f32; 4], vector: &TsVector, query: &TsQuery, normal: i64) -> Result<f32> {
    let Some(root) = &query.root else { return Ok(0.0) };
    let operands = query.operands();
    let numbers: HashMap<usize, usize> = operands.iter().enumerate().map(|(n, o)| (address(o), n)).collect();
    let mut found: Vec<(Place, usize, usize)> = Vec::new();
    for (n, operand) in operands.iter().enumerate() {
        let lexemes: &[Lexeme] = vector.matching(&operand.word, operand.prefix);
        for lexeme in lexemes {
            let number = vector.find(&lexeme.word).unwrap_or(0);
            let fits = |place: &&Place| operand.weights == 0 || operand.weights & 1 << place.weight() != 0;
            found.extend(lexeme.places.iter().filter(fits).map(|place| (*place, number, n)));
        }
    }
    found.sort_by_key(|(place, lexeme, _)| (place.position(), place.weight(), *lexeme));
    let mut all: Vec<At> = Vec::new();
    let mut last = None;
    for (place, lexeme, operand) in found {
        match all.last_mut() {
            Some(at) if last == Some((place, lexeme)) => at.operands.push(operand),
            _ => all.push(At { place, operands: vec![operand] }),
        }
        last = Some((place, lexeme));
    }
    let inverse = weights.map(|weight| 1.0 / f64::from(weight));
    let mut seen = Seen { numbers: &numbers, positions: vec![Vec::new(); operands.len()], backwards: false };
    let (mut rank, mut distances, mut last_middle, mut covers) = (0f64, 0f64, 0f64, 0u32);
    let mut from = 0;
    while let Some((begin, end, next)) = cover(&all, root, &mut seen, from)? {
        from = next;
        let weight: f64 =
            all[begin..=end].iter().fold(0.0, |sum, at| sum + inverse[usize::from(at.place.weight())]);
        let words = (end - begin) as i32;
        let (p, q) = (i32::from(all[begin].place.position()), i32::from(all[end].place.position()));
        let mut noise = q - p - words;
        if noise < 0 {
            noise = words / 2;
        }
        rank += f64::from(words + 1) / weight / f64::from(1 + noise);
        let middle = f64::from(q + p) / 2.0;
        if covers > 0 && middle > last_middle {
            distances += 1.0 / (middle - last_middle);
        }
        last_middle = middle;
        covers += 1;
    }
    let normal = Normal(normal);
    let (length, lexemes) = (vector.occurrences(), vector.lexemes.len());
    if lexemes > 0 {
        if normal.by_log_length() {
            rank /= (length as f64 + 1.0).ln();
        }
        if normal.by_length() {
            rank /= length as f64;
        }
    }
    if normal.by_distance() && covers > 0 && distances > 0.0 {
        rank /= f64::from(covers) / distances;
    }
    if lexemes > 0 {
        if normal.by_lexemes() {
            rank /= lexemes as f64;
        }
        if normal.by_log_lexemes() {
            rank /= (lexemes as f64 + 1.0).ln() / 2f64.ln();
        }
    }
    if normal.by_itself() {
        rank /= rank + 1.0;
    }
    Ok(rank as f32)
}
