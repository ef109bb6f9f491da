//! Reading all loggers of one run: their frames, joined into epochs, the epochs checked as a chain.
//!
//! Each frame says which epoch was written before its own (`prior`) and which loggers have frames of
//! its own. Epochs are taken in order. An epoch counts if every logger it names has all frames of it
//! and `prior` is the epoch that counted last. Where that fails:
//!
//! - a frame whose `prior` did not count says that something is missing which was on disk: damage;
//! - an incomplete epoch that no frame names as `prior` was being written when the machine stopped:
//!   the torn tail, of which there is one epoch at most.

use crate::device::Device;
use crate::frame::Frame;
use crate::manifest::Run;
use crate::scan::{SegmentScan, damaged};
use crate::segment::SegmentId;
use planaria_base::{Epoch, Error, Result, SqlState};
use std::collections::VecDeque;
use std::sync::Arc;

/// Epochs of one run, in order.
pub(crate) struct RunReader {
    device: Arc<dyn Device>,
    run: Run,
    database: [u8; 16],
    loggers: Vec<LoggerReader>,
    /// The newest epoch that counts.
    tail: Epoch,
    /// Whether `tail` is an epoch of the chain, not only a bound for what precedes it.
    linked: bool,
    ended: bool,
    /// Somebody is writing: what is missing may just not have been seen.
    pub live: bool,
    /// The newest epoch of any good frame.
    newest_seen: Epoch,
    /// Where the frames of `tail` stand.
    tail_places: Vec<Place>,
    /// What is left of the epoch that was being written when the machine stopped.
    torn: Option<EpochFrames>,
}

/// A part of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub segment: SegmentId,
    pub start: u64,
    pub end: u64,
}

/// Frames of one logger, in order over its segments.
#[derive(Default)]
struct LoggerReader {
    segments: VecDeque<SegmentId>,
    open: Option<SegmentScan>,
    /// The next frame, its records, its place.
    head: Option<(Frame, Vec<u8>, Place)>,
    /// A buffer for it.
    spare: Vec<u8>,
    /// The first bad place behind the epochs that count, and the epoch of the good frame behind it.
    gap: Option<(String, u64, Epoch)>,
    /// Where the last good frame ends.
    end: (String, u64),
    /// The newest epoch that was on disk by what frames say that went astray.
    astray: Epoch,
}

impl LoggerReader {
    /// Goes to the next frame, over segments. Returns the newest epoch it saw a sign of.
    fn advance(&mut self, device: &dyn Device, database: &[u8; 16]) -> Result<Epoch> {
        let mut seen = Epoch(0);
        let mut bad = None;
        loop {
            if let Some(scan) = &mut self.open {
                let segment = scan.header.id;
                let mut buffer = std::mem::take(&mut self.spare);
                let head = scan.next()?.map(|(frame, bytes)| {
                    buffer.clear();
                    buffer.extend_from_slice(bytes);
                    (frame, buffer)
                });
                bad = bad.or(scan.bad.take().map(|at| (scan.name().to_owned(), at)));
                self.astray = self.astray.max(scan.astray.take().unwrap_or_default());
                if let Some((frame, bytes)) = head {
                    seen = seen.max(frame.epoch);
                    let end = scan.at();
                    let start = end - frame.size();
                    self.end = (scan.name().to_owned(), end);
                    self.head = Some((frame, bytes, Place { segment, start, end }));
                    break;
                }
                self.open = None;
            }
            let Some(id) = self.segments.pop_front() else { break };
            let scan = SegmentScan::open(device, id)?;
            scan.check_size(device)?;
            if scan.header.database != *database {
                return Err(damaged(device, scan.name(), 16, "it belongs to another database"));
            }
            seen = seen.max(scan.header.first);
            self.open = Some(scan);
        }
        if self.gap.is_none()
            && let Some((name, at)) = bad
        {
            let behind = self.head.as_ref().map_or(Epoch(u64::MAX), |(f, ..)| f.epoch);
            self.gap = Some((name, at, behind));
        }
        Ok(seen)
    }

    /// Everything up to `epoch` counts: bad places before it do not matter.
    fn counted(&mut self, epoch: Epoch) {
        self.gap.take_if(|(_, _, behind)| *behind <= epoch);
    }
}

/// An epoch's records, as the loggers wrote them.
#[derive(Default)]
pub(crate) struct EpochFrames {
    pub epoch: Epoch,
    pub records: u64,
    /// When it was closed, if that is known: microseconds since 2000-01-01 UTC.
    pub time: Option<i64>,
    /// Concatenated payloads of all its frames.
    pub bytes: Vec<u8>,
    /// Where they stand.
    places: Vec<Place>,
}

/// The newest epoch that was written, of those up to `bound`, which a checkpoint has: what a later reader, who begins
/// with an older checkpoint, must find. `before` is that of earlier runs, `segments` are those of the run. `bound`
/// where it cannot be said: then he is refused.
pub(crate) fn newest_written(
    device: &dyn Device,
    segments: &[SegmentId],
    before: Epoch,
    bound: Epoch,
) -> Result<Epoch> {
    let (mut newest, mut prior) = (before, before);
    let mut loggers: Vec<u32> = segments.iter().map(|s| s.logger).collect();
    loggers.dedup();
    for logger in loggers {
        for id in segments.iter().rev().filter(|s| s.logger == logger) {
            let mut scan = SegmentScan::open(device, *id)?;
            let mut found = None;
            while let Some((frame, _)) = scan.next()? {
                match frame.epoch <= bound {
                    true => found = Some(frame.epoch),
                    false => prior = prior.max(frame.prior),
                }
            }
            if let Some(found) = found {
                newest = newest.max(found);
                break;
            }
        }
    }
    // One that came after it and was torn says what was written before.
    Ok(if prior > newest { bound } else { newest })
}

impl RunReader {
    /// Reads the run's epochs after `tail`, which is the newest epoch of the runs before, or the newest
    /// that a checkpoint has. `segments` are those of the run.
    pub(crate) fn new(
        device: Arc<dyn Device>,
        run: Run,
        database: [u8; 16],
        segments: &[SegmentId],
        tail: Epoch,
    ) -> Result<RunReader> {
        let mut reader = RunReader {
            loggers: Vec::new(),
            device,
            run,
            database,
            tail,
            linked: false,
            ended: false,
            live: false,
            newest_seen: Epoch(0),
            tail_places: Vec::new(),
            torn: None,
        };
        for logger in 0..run.loggers {
            let mut mine: VecDeque<_> = segments.iter().copied().filter(|s| s.logger == logger).collect();
            // A segment that ends before what is wanted is not read: the next one says so.
            while let Some(next) = mine.get(1)
                && SegmentScan::open(&*reader.device, *next).is_ok_and(|s| s.header.first.0 <= tail.0 + 1)
            {
                mine.pop_front();
            }
            let first = SegmentId { run: run.number, logger, ordinal: 0 };
            let end = (mine.front().unwrap_or(&first).name(), 0);
            let mut logger = LoggerReader { segments: mine, end, ..Default::default() };
            let seen = logger.advance(&*reader.device, &reader.database)?;
            reader.newest_seen = reader.newest_seen.max(seen);
            reader.loggers.push(logger);
        }
        Ok(reader)
    }

    /// The newest epoch that counts, of those read so far.
    pub(crate) fn tail(&self) -> Epoch {
        self.tail
    }

    /// Whether that is an epoch of this run, and not what it began with.
    pub(crate) fn has_read(&self) -> bool {
        self.linked
    }

    /// Where the frames of the newest epoch that counts stand.
    pub(crate) fn tail_places(&self) -> &[Place] {
        &self.tail_places
    }

    /// The good frames of the epoch that ended the run torn, if one did: some of its records.
    pub(crate) fn take_torn(&mut self) -> Option<EpochFrames> {
        self.torn.take()
    }

    /// The newest epoch of any frame read so far, counting or not.
    pub(crate) fn newest_seen(&self) -> Epoch {
        self.newest_seen
    }

    /// Reads the next epoch that counts into `into`; `false` at the end of those.
    pub(crate) fn next(&mut self, into: &mut EpochFrames) -> Result<bool> {
        if self.ended {
            return Ok(false);
        }
        loop {
            let heads = self.loggers.iter().filter_map(|l| l.head.as_ref());
            let Some(first) = heads.map(|(f, ..)| *f).min_by_key(|f| f.epoch) else { return self.end() };
            if self.run.last.is_some_and(|last| first.epoch > last) {
                return self.end();
            }
            into.epoch = first.epoch;
            into.records = 0;
            into.time = first.time;
            into.bytes.clear();
            into.places.clear();
            let complete = self.collect(first, into)?;
            if first.epoch <= self.tail && !self.linked {
                // A checkpoint has it; whether it is complete does not matter any more.
                continue;
            }
            let follows = if self.linked { first.prior == self.tail } else { first.prior <= self.tail };
            if !follows || first.epoch <= self.tail {
                return self.broken(first.prior);
            }
            if !complete {
                let torn = self.torn(first.epoch)?;
                self.torn = Some(std::mem::take(into));
                return Ok(torn);
            }
            self.tail = first.epoch;
            self.tail_places.clone_from(&into.places);
            self.linked = true;
            self.loggers.iter_mut().for_each(|l| l.counted(first.epoch));
            return Ok(true);
        }
    }

    /// Consumes the frames of the epoch of `first`; whether all of them are there.
    fn collect(&mut self, first: Frame, into: &mut EpochFrames) -> Result<bool> {
        let mut complete = first.loggers != 0;
        for (i, logger) in self.loggers.iter_mut().enumerate() {
            let (mut ordinal, mut last) = (0, false);
            while let Some((frame, bytes, place)) = logger.head.take_if(|(f, ..)| f.epoch == first.epoch) {
                complete &= frame.ordinal == ordinal && !last;
                complete &=
                    (frame.prior, frame.loggers, frame.time) == (first.prior, first.loggers, first.time);
                (ordinal, last) = (ordinal + 1, frame.last);
                into.bytes.extend_from_slice(&bytes);
                logger.spare = bytes;
                into.records += frame.records as u64;
                match into.places.last_mut() {
                    Some(p) if p.segment == place.segment && p.end == place.start => p.end = place.end,
                    _ => into.places.push(place),
                }
                let seen = logger.advance(&*self.device, &self.database)?;
                self.newest_seen = self.newest_seen.max(seen);
            }
            let expected = first.loggers & 1 << i != 0;
            complete &= expected == last && (expected || ordinal == 0);
        }
        // Loggers that the run does not have.
        Ok(complete && (self.loggers.len() >= 64 || first.loggers >> self.loggers.len() == 0))
    }

    /// The end of all frames.
    fn end(&mut self) -> Result<bool> {
        self.ended = true;
        match self.run.last {
            Some(last) if self.tail < last => self.broken(last),
            Some(_) => Ok(false),
            None => self.nothing_astray(),
        }
    }

    /// The end of a run that did not end, unless a frame that went astray says otherwise.
    fn nothing_astray(&mut self) -> Result<bool> {
        let written = self.loggers.iter().map(|l| l.astray).max().unwrap_or_default();
        if written > self.tail { self.broken(written) } else { Ok(false) }
    }

    /// `epoch` is incomplete and follows the newest that counts: torn, unless a frame says otherwise.
    fn torn(&mut self, epoch: Epoch) -> Result<bool> {
        if self.run.last.is_some_and(|last| epoch <= last) {
            return self.broken(epoch);
        }
        for i in 0..self.loggers.len() {
            while let Some((frame, ..)) = self.loggers[i].head.take() {
                if frame.prior > self.tail {
                    return self.broken(frame.prior);
                }
                let seen = self.loggers[i].advance(&*self.device, &self.database)?;
                self.newest_seen = self.newest_seen.max(seen);
            }
        }
        self.ended = true;
        self.nothing_astray()
    }

    /// `epoch` was written and is not there.
    fn broken(&mut self, epoch: Epoch) -> Result<bool> {
        self.ended = true;
        if self.live { Ok(false) } else { Err(self.missing(epoch)) }
    }

    /// The error for an epoch that was on disk once: names the place where it may have stood.
    fn missing(&self, epoch: Epoch) -> Error {
        let what = format!("epoch {} was written and is not readable", epoch.0);
        let gap = |l: &LoggerReader| l.gap.clone().map(|(name, at, _)| (name, at));
        let mut places: Vec<_> = self.loggers.iter().filter_map(gap).collect();
        if places.is_empty() {
            places = self.loggers.iter().map(|l| l.end.clone()).collect();
        }
        let Some(((name, at), others)) = places.split_first() else {
            return Error::new(SqlState::DATA_CORRUPTED, what);
        };
        let error = damaged(&*self.device, name, *at, &what);
        if others.is_empty() {
            return error;
        }
        let others: Vec<_> = others.iter().map(|(name, at)| format!("\"{name}\" at offset {at}")).collect();
        error.with_detail(format!("It may also have been in {}.", others.join(", ")))
    }
}
