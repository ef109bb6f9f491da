//! What statements have taken, by their texts without constants: `pg_stat_statements`.
//!
//! 1. A text is scanned once when it is prepared, or each time it comes by simple query: constants become `$1`, `$2`, and
//!    what is left is hashed ([`id_of`]). That hash and the role are the key.
//! 2. Each thread that serves counts in a part of its own ([`PARTS`]): two threads meet only if there are more of them than
//!    parts, or somebody reads. So counting a statement writes nothing that others write.
//! 3. Who reads adds the parts up.
//!
//! A text is kept when the first statement of it ends. There are [`TEXTS_MAX`]; for one more, the twentieth part of them
//! that was called least is forgotten, with its counts.

use parking_lot::Mutex;
use planaria::serving::{RoleId, StatementStatistics};
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Texts that are counted at a time.
const TEXTS_MAX: usize = 5_000;
/// A power of two.
const PARTS: usize = 32;
/// Of a longer text only the beginning counts.
const TEXT_BYTES_MAX: usize = 4 << 10;

/// See the module's head.
pub(crate) struct Statements {
    parts: Box<[Shard]>,
    texts: Mutex<HashMap<u64, Arc<str>>>,
    texts_max: usize,
}

/// On cache lines of its own.
#[repr(align(128))]
#[derive(Default)]
struct Shard(Mutex<HashMap<(u64, RoleId), Taken>>);

/// Times in milliseconds. The spread by Welford's method, which loses nothing where times are long and alike.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Taken {
    calls: u64,
    rows: u64,
    total: f64,
    min: f64,
    max: f64,
    /// The sum of squares of differences from the mean.
    spread: f64,
}

impl Taken {
    fn one(time: f64, rows: u64) -> Taken {
        Taken { calls: 1, rows, total: time, min: time, max: time, spread: 0.0 }
    }

    fn add(&mut self, other: &Taken) {
        let (n, m) = (self.calls as f64, other.calls as f64);
        let between = other.total / m - self.total / n;
        self.spread += other.spread + between * between * n * m / (n + m);
        self.calls += other.calls;
        self.rows += other.rows;
        self.total += other.total;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }
}

impl Default for Statements {
    fn default() -> Statements {
        Statements::keeping(TEXTS_MAX)
    }
}

/// The part of this thread.
fn own_part() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static OWN: Cell<usize> = const { Cell::new(usize::MAX) });
    OWN.with(|own| {
        if own.get() == usize::MAX {
            own.set(NEXT.fetch_add(1, Ordering::Relaxed) % PARTS);
        }
        own.get()
    })
}

impl Statements {
    fn keeping(texts_max: usize) -> Statements {
        let parts = (0..PARTS).map(|_| Shard::default()).collect();
        Statements { parts, texts: Mutex::default(), texts_max }
    }

    /// A statement has run, successfully. `id` is that of the text.
    pub(crate) fn ran(&self, id: u64, text: &str, role: RoleId, time: Duration, rows: u64) {
        let one = Taken::one(time.as_secs_f64() * 1e3, rows);
        let part = &self.parts[own_part()].0;
        if let Some(taken) = part.lock().get_mut(&(id, role)) {
            return taken.add(&one);
        }
        self.admit(id, text);
        part.lock().insert((id, role), one);
    }

    /// Keeps a text that is new.
    #[cold]
    fn admit(&self, id: u64, text: &str) {
        let mut texts = self.texts.lock();
        if texts.contains_key(&id) {
            return;
        }
        if texts.len() >= self.texts_max {
            let mut calls: HashMap<u64, u64> = texts.keys().map(|id| (*id, 0)).collect();
            for ((id, _), taken) in self.sums() {
                *calls.entry(id).or_default() += taken.calls;
            }
            let mut calls: Vec<(u64, u64)> = calls.into_iter().map(|(id, n)| (n, id)).collect();
            calls.sort_unstable();
            for (_, id) in calls.into_iter().take((self.texts_max / 20).max(1)) {
                texts.remove(&id);
            }
            for part in &self.parts {
                part.0.lock().retain(|(id, _), _| texts.contains_key(id));
            }
        }
        texts.insert(id, without_constants(text).into());
    }

    fn sums(&self) -> HashMap<(u64, RoleId), Taken> {
        let mut sums: HashMap<(u64, RoleId), Taken> = HashMap::new();
        for part in &self.parts {
            for (key, taken) in &*part.0.lock() {
                sums.entry(*key).and_modify(|sum| sum.add(taken)).or_insert(*taken);
            }
        }
        sums
    }

    /// All there is, by total time, the longest first.
    pub(crate) fn all(&self) -> Vec<StatementStatistics> {
        let sums = self.sums();
        let texts = self.texts.lock();
        let line = |((id, role), t): ((u64, RoleId), Taken)| {
            Some(StatementStatistics {
                role,
                id: id as i64,
                text: texts.get(&id)?.clone(),
                calls: t.calls,
                rows: t.rows,
                total: t.total,
                min: t.min,
                max: t.max,
                deviation: (t.spread / t.calls as f64).max(0.0).sqrt(),
            })
        };
        let mut all: Vec<StatementStatistics> = sums.into_iter().filter_map(line).collect();
        all.sort_by(|a, b| b.total.total_cmp(&a.total).then(a.id.cmp(&b.id)));
        all
    }

    /// Begins anew.
    pub(crate) fn forget(&self) {
        let mut texts = self.texts.lock();
        texts.clear();
        self.parts.iter().for_each(|part| part.0.lock().clear());
    }
}

/// What tells the texts of statements apart: a hash of [`without_constants`].
pub(crate) fn id_of(text: &str) -> u64 {
    let mut hash = 0xCBF2_9CE4_8422_2325u64;
    scan(text, &mut |piece| {
        let mut add = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
        match piece {
            Piece::Text(text) => text.bytes().for_each(&mut add),
            Piece::Constant => add(0),
        }
    });
    hash
}

/// The first statement of a text, with parameters in place of its constants, numbered on from those that it has.
pub(crate) fn without_constants(text: &str) -> String {
    let mut last = 0;
    scan(text, &mut |piece| {
        if let Piece::Text(text) = piece
            && let Some(number) = text.strip_prefix('$').and_then(|n| n.parse::<u32>().ok())
        {
            last = last.max(number);
        }
    });
    let mut out = String::new();
    scan(text, &mut |piece| match piece {
        Piece::Text(text) => out.push_str(text),
        Piece::Constant => {
            last += 1;
            out.push_str(&format!("${last}"));
        }
    });
    out
}

enum Piece<'t> {
    Text(&'t str),
    Constant,
}

/// The pieces of the first statement of a text: constants, and what stands between them. Bodies in dollar quotes are no
/// constants: what a function does is what it is.
fn scan<'t>(text: &'t str, each: &mut dyn FnMut(Piece<'t>)) {
    let text = text.trim_start();
    let bytes = &text.as_bytes()[..text.floor_char_boundary(TEXT_BYTES_MAX)];
    let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'$' || b >= 0x80;
    let find = |from: usize, what: &[u8]| {
        let found = bytes[from..].windows(what.len()).position(|w| w == what);
        found.map_or(bytes.len(), |at| from + at + what.len())
    };
    let mut at = 0;
    while at < bytes.len() {
        let begin = at;
        let next = bytes.get(at + 1).copied().unwrap_or(0);
        match bytes[at] {
            b';' => break,
            b'\'' => {
                at = end_of_string(bytes, at, false);
                each(Piece::Constant);
                continue;
            }
            b'e' | b'E' | b'b' | b'B' | b'x' | b'X' | b'n' | b'N' if next == b'\'' => {
                at = end_of_string(bytes, at + 1, matches!(bytes[at], b'e' | b'E'));
                each(Piece::Constant);
                continue;
            }
            b'"' => at = find(at + 1, b"\""),
            b'-' if next == b'-' => at = find(at, b"\n"),
            b'/' if next == b'*' => at = find(at + 2, b"*/"),
            b'$' if next.is_ascii_digit() => {
                at += 1;
                while at < bytes.len() && bytes[at].is_ascii_digit() {
                    at += 1;
                }
            }
            b'$' => {
                let tag = bytes[at + 1..].iter().take_while(|b| is_word(**b) && **b != b'$').count();
                at = match bytes.get(at + 1 + tag) {
                    Some(b'$') => find(at + tag + 2, &bytes[at..at + tag + 2]),
                    _ => at + 1,
                };
            }
            b if b.is_ascii_digit() || b == b'.' && next.is_ascii_digit() => {
                while at < bytes.len() && (is_word(bytes[at]) || bytes[at] == b'.') {
                    let exponent = matches!(bytes[at], b'e' | b'E');
                    at += 1;
                    if exponent && matches!(bytes.get(at), Some(b'+' | b'-')) {
                        at += 1;
                    }
                }
                each(Piece::Constant);
                continue;
            }
            b if is_word(b) => {
                while at < bytes.len() && is_word(bytes[at]) {
                    at += 1;
                }
            }
            _ => at += 1,
        }
        each(Piece::Text(&text[begin..at]));
    }
}

/// Behind the string that begins at a quote.
pub(crate) fn end_of_string(bytes: &[u8], quote: usize, escapes: bool) -> usize {
    let mut at = quote + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if escapes => at += 2,
            b'\'' if bytes.get(at + 1) == Some(&b'\'') => at += 2,
            b'\'' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_become_parameters() {
        for (text, without) in [
            ("SELECT 1", "SELECT $1"),
            (
                "  select a1, b FROM t2 WHERE x = 'it''s' AND y > -1.5e-3;",
                "select a1, b FROM t2 WHERE x = $1 AND y > -$2",
            ),
            ("SELECT $2, 7, E'a\\'b', x'ff'", "SELECT $2, $3, $4, $5"),
            ("SELECT \"a 1\", 'ü' -- 1\n, 2 /* 3 */", "SELECT \"a 1\", $1 -- 1\n, $2 /* 3 */"),
            ("DO $x$ BEGIN PERFORM 1; END $x$; SELECT 2", "DO $x$ BEGIN PERFORM 1; END $x$"),
            ("ALTER ROLE a PASSWORD 'secret'", "ALTER ROLE a PASSWORD $1"),
            ("SELECT 'open", "SELECT $1"),
            ("SELECT $", "SELECT $"),
            ("", ""),
        ] {
            assert_eq!(without_constants(text), without);
        }
        assert_eq!(id_of("SELECT 1"), id_of("SELECT 'x'; SELECT 5"));
        assert_ne!(id_of("SELECT * FROM t1"), id_of("SELECT * FROM t2"));
        let long = format!("SELECT '{}'", "ü".repeat(TEXT_BYTES_MAX));
        assert_eq!(without_constants(&long), "SELECT $1");
    }

    #[test]
    fn parts_are_added_up() {
        let all = Statements::default();
        let (id, role) = (id_of("SELECT 1"), RoleId(0));
        std::thread::scope(|scope| {
            for n in 1..=3u64 {
                let all = &all;
                scope.spawn(move || all.ran(id, "SELECT 1", role, Duration::from_millis(n), n));
            }
        });
        let [s] = all.all().try_into().expect("one text");
        assert_eq!((&*s.text, s.calls, s.rows), ("SELECT $1", 3, 6));
        assert_eq!((s.min, s.max, s.total), (1.0, 3.0, 6.0));
        assert!((s.deviation - (2.0f64 / 3.0).sqrt()).abs() < 1e-9, "{}", s.deviation);
        all.forget();
        assert!(all.all().is_empty());
    }

    #[test]
    fn what_was_called_least_goes_for_what_is_new() {
        let all = Statements::keeping(3);
        let run = |text: &str| all.ran(id_of(text), text, RoleId(0), Duration::from_millis(1), 0);
        ["SELECT a", "SELECT a", "SELECT b", "SELECT c", "SELECT c", "SELECT d"]
            .iter()
            .for_each(|text| run(text));
        let mut texts: Vec<String> = all.all().iter().map(|s| s.text.to_string()).collect();
        texts.sort();
        assert_eq!(texts, ["SELECT a", "SELECT c", "SELECT d"]);
    }
}
