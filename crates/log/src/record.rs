//! Records: what one committed transaction leaves in the log.
//!
//! ```text
//! record := length:varint  sequence:varint  kind:u8  body        length counts what follows it
//! call   := procedure:varint  arguments:varint  inputs:varint  value*         kind 1, or 3 if it kept
//! effects := effect*                                             up to the end of the record
//! ```
//!
//! The epoch of a record is its frame's; the record carries its sequence number within the epoch,
//! so together they are the commit timestamp. A call is replayed; effects are put in place. See
//! `docs/formats/log.md` for the bytes.

use crate::effect::{Effect, EffectWriter, RawEffects, decode_effects, take_id};
use planaria_base::value::{ValueReader, ValueWriter};
use planaria_base::varint;
use planaria_base::{CommitTs, Datum, Epoch, Error, ProcedureId, Result, SqlState};

const CALL: u8 = 1;
const EFFECTS: u8 = 2;
const KEEPING_CALL: u8 = 3;

/// A committed transaction.
#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    /// Its place in the total order.
    pub commit_ts: CommitTs,
    /// What it did.
    pub body: RecordBody,
}

/// What a committed transaction did.
#[derive(Clone, PartialEq, Debug)]
pub enum RecordBody {
    /// One procedure call (command logging).
    Call(Call),
    /// Effects in the order they happened: an ad hoc transaction, or a change of the schema.
    Effects(Vec<Effect>),
}

/// A procedure call that was a whole transaction.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    /// The procedure, in the version that ran.
    pub procedure: ProcedureId,
    /// Arguments, in order of declaration.
    pub args: Vec<Datum>,
    /// Inputs from outside (`now()`, `random()`, sequence values, row ids), and the values it kept for a
    /// parallel replay, in the order in which they came.
    pub inputs: Vec<Datum>,
    /// Whether it ran as a program that keeps values.
    pub keeping: Keeping,
}

/// Whether a call kept values for a parallel replay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keeping {
    /// It ran as it is.
    No,
    /// It ran as the program that keeps values (which may have kept none).
    Yes,
    /// So it did, under a planner that keeps what ours does for nearly all procedures: who has them knows for which.
    ByFormer,
    /// So it did, under a planner that keeps other values than ours: what it kept stands among its inputs,
    /// and cannot be told from them.
    ByAnother,
}

impl From<bool> for Keeping {
    fn from(keeps: bool) -> Keeping {
        if keeps { Keeping::Yes } else { Keeping::No }
    }
}

/// The planner that a run's calls ran under, as 32 bits of the log's headers.
///
/// The upper 16 bits are the version of *execution*: which rows a call of a procedure touches in which
/// order, and which inputs it draws. A call replays only under the same. The lower 16 bits are the version
/// of *keeping*: which values calls keep. Under another, calls that kept none replay as ever, and the
/// others only one by one, if at all ([`Keeping::ByAnother`]); but for those of procedures for which both versions are known to
/// keep the same ([`Keeping::ByFormer`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlannerVersion(pub u32);

/// The last version of keeping for which an interval was a number of microseconds.
const BEFORE_INTERVALS: u16 = 3;
/// The last one for which a guard behind a jump, and a bulk load that reads what it has loaded, were cut otherwise.
const BEFORE_JUMPS: u16 = 4;

impl PlannerVersion {
    /// Of these two.
    pub const fn new(execution: u16, keeping: u16) -> PlannerVersion {
        PlannerVersion((execution as u32) << 16 | keeping as u32)
    }
    /// The version of execution.
    pub const fn execution(self) -> u16 {
        (self.0 >> 16) as u16
    }
    /// Whether calls of both keep the same values: version 4 differs from 3 by what it computes with intervals alone.
    pub fn keeps_like(self, other: PlannerVersion) -> bool {
        let kept = |version: PlannerVersion| match version.keeping() {
            BEFORE_INTERVALS => BEFORE_INTERVALS + 1,
            keeping => keeping,
        };
        kept(self) == kept(other)
    }
    /// What a call that kept values under another planner has kept, seen from this one.
    pub fn sees(self, other: PlannerVersion) -> Keeping {
        match other.keeping() {
            _ if self.keeps_like(other) => Keeping::Yes,
            BEFORE_INTERVALS..=BEFORE_JUMPS if self.keeping() == BEFORE_JUMPS + 1 => Keeping::ByFormer,
            _ => Keeping::ByAnother,
        }
    }
    /// Whether its calls computed with intervals as lengths of time in microseconds.
    pub fn is_before_intervals(self) -> bool {
        self.keeping() <= BEFORE_INTERVALS
    }
    /// The version of keeping.
    pub const fn keeping(self) -> u16 {
        self.0 as u16
    }
}

impl std::fmt::Display for PlannerVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.execution(), self.keeping())
    }
}

/// Appends a call. `write` writes `args` values, then `inputs` values.
#[inline]
pub(crate) fn put_call(
    buf: &mut Vec<u8>,
    sequence: u32,
    procedure: ProcedureId,
    args: usize,
    inputs: usize,
    keeping: bool,
    write: impl FnOnce(&mut ValueWriter<'_>),
) {
    framed(buf, sequence, if keeping { KEEPING_CALL } else { CALL }, |buf| {
        varint::put(buf, procedure.0 as u64);
        varint::put(buf, args as u64);
        varint::put(buf, inputs as u64);
        let mut values = ValueWriter::new(buf, (args + inputs) as u64);
        write(&mut values);
        values.finish();
    });
}

/// Appends effects.
pub(crate) fn put_effects(buf: &mut Vec<u8>, sequence: u32, write: impl FnOnce(&mut EffectWriter<'_>)) {
    framed(buf, sequence, EFFECTS, |buf| write(&mut EffectWriter::new(buf)));
}

/// Writes sequence, kind and body, with their length in front. One byte is kept for the length: what
/// needs more (from 128 bytes on) is moved up once that is known.
#[inline]
fn framed(buf: &mut Vec<u8>, sequence: u32, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
    let start = buf.len();
    buf.push(0);
    varint::put(buf, sequence as u64);
    buf.push(kind);
    body(buf);
    let end = buf.len();
    let length = end - start - 1;
    if length < 0x80 {
        buf[start] = length as u8;
    } else {
        // The prefix is made behind the record, which then moves up by what it takes beyond one byte.
        varint::put(buf, length as u64);
        let mut prefix = [0; varint::VARINT_BYTES_MAX];
        let taken = buf.len() - end;
        prefix[..taken].copy_from_slice(&buf[end..]);
        buf.truncate(start + taken + length);
        buf.copy_within(start + 1..end, start + taken);
        buf[start..start + taken].copy_from_slice(&prefix[..taken]);
    }
}

/// A record as it stands in the log, not decoded yet.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RawRecord<'a> {
    commit_ts: CommitTs,
    kind: u8,
    body: &'a [u8],
    size: usize,
    /// What a call of its run has kept, if any.
    kept: Keeping,
}

impl<'a> RawRecord<'a> {
    /// Takes a record off the front of `bytes`.
    pub(crate) fn take(bytes: &mut &'a [u8], epoch: Epoch) -> Option<RawRecord<'a>> {
        let whole = bytes.len();
        let length = usize::try_from(varint::take(bytes)?).ok()?;
        let (mut record, rest) = bytes.split_at_checked(length)?;
        *bytes = rest;
        let size = whole - rest.len();
        let sequence = u32::try_from(varint::take(&mut record)?).ok()?;
        let commit_ts = CommitTs::new(epoch, sequence);
        let (&kind, body) = record.split_first()?;
        (commit_ts.epoch() == epoch).then_some(RawRecord { commit_ts, kind, body, size, kept: Keeping::Yes })
    }

    /// The same, of a run whose calls kept the values that ours would, or others.
    pub(crate) fn of_run(self, kept: Keeping) -> RawRecord<'a> {
        RawRecord { kept, ..self }
    }

    /// Its place in the total order.
    pub fn commit_ts(&self) -> CommitTs {
        self.commit_ts
    }

    /// Bytes it takes in the log.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Bytes of its body.
    pub fn len(&self) -> usize {
        self.body.len()
    }

    /// Whether the body is empty: a transaction without effects.
    pub fn is_empty(&self) -> bool {
        self.body.is_empty()
    }

    /// The procedure called, the number of arguments and of inputs, and a reader of those values;
    /// `None` if this is no (well-formed) call.
    pub fn call(&self) -> Option<(ProcedureId, usize, usize, ValueReader<'a>)> {
        let mut body = self.body;
        let procedure = take_id(&mut body)?;
        let args = usize::try_from(varint::take(&mut body)?).ok()?;
        let inputs = usize::try_from(varint::take(&mut body)?).ok()?;
        matches!(self.kind, CALL | KEEPING_CALL)
            .then(|| (ProcedureId(procedure), args, inputs, ValueReader::new(body)))
    }

    /// Whether this is a call that ran as a program that keeps values.
    pub fn keeping(&self) -> Keeping {
        match self.kind {
            KEEPING_CALL => self.kept,
            _ => Keeping::No,
        }
    }

    /// Its effects, where they stand; `None` if it is a call.
    pub fn effects(&self) -> Option<RawEffects<'a>> {
        (self.kind == EFFECTS).then(|| RawEffects::new(self.body))
    }

    /// Decodes it. XX001 for bytes that no writer of this version makes.
    pub fn decode(&self) -> Result<Record> {
        let body = match self.kind {
            CALL | KEEPING_CALL => self.decode_call().map(RecordBody::Call),
            EFFECTS => decode_effects(self.body).map(RecordBody::Effects),
            _ => None,
        };
        match body {
            Some(body) => Ok(Record { commit_ts: self.commit_ts, body }),
            None => Err(Error::new(
                SqlState::DATA_CORRUPTED,
                format!("log record {:?} of kind {} cannot be decoded", self.commit_ts, self.kind),
            )
            .with_hint("the log may have been written by a newer version of Planaria")),
        }
    }

    fn decode_call(&self) -> Option<Call> {
        let (procedure, args, inputs, mut values) = self.call()?;
        let args = values.datums(args)?;
        let inputs = values.datums(inputs)?;
        values.rest().is_empty().then_some(Call { procedure, args, inputs, keeping: self.keeping() })
    }
}
