//! Segments: the files of a logger, each a header and whole epochs.
//!
//! A segment gets its name only when its header is on disk, so a named file with a bad header is
//! damaged, never half made. All its bytes are there by then, as zeros, and the header says how many;
//! it is made shorter only when it is complete, and then an *end mark* is on disk behind its last frame.
//! So a file that is shorter than its header says, and does not end with the mark, was cut by somebody
//! else.

use crate::frame::{u32_at, u64_at};
use planaria_base::Epoch;

/// Bytes of a segment's header: a page of its own, which no later write touches.
pub(crate) const HEADER: usize = 4096;
/// Version of the format this code writes. Format 2 added the physical and physiological effects, format 3
/// the times of epochs, format 4 records of several parts, format 5 the places of sequences, the sizes and ends of
/// segments, and what changes of the schema computed, format 6 intervals with months, format 7 jsonb,
/// format 8 arrays of several dimensions, format 9 numerics of any length, format 10
/// citext, format 11 names among the inputs of calls, format 12 what settings
/// were and whom policies bind; files in an older one, from [`FORMAT_MIN`] on, are read.
pub(crate) const FORMAT: u32 = 12;
/// The oldest format this code reads.
pub(crate) const FORMAT_MIN: u32 = 1;
const MAGIC: [u8; 8] = *b"PLANLOG\0";
/// Bytes of the mark behind the last frame of a segment that is complete.
pub(crate) const END: usize = 16;
const END_MAGIC: [u8; 4] = *b"PEnd";

/// Which segment: run of the database, logger, and number among that logger's in that run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct SegmentId {
    /// The run of the database that wrote it, from 1.
    pub run: u32,
    /// The logger.
    pub logger: u32,
    /// From 0.
    pub ordinal: u32,
}

impl SegmentId {
    /// The name of its file.
    pub(crate) fn name(self) -> String {
        format!("{:08}-{:02}-{:08}.log", self.run, self.logger, self.ordinal)
    }

    /// Back from [`SegmentId::name`].
    pub(crate) fn parse(name: &str) -> Option<SegmentId> {
        let mut parts = name.strip_suffix(".log")?.split('-');
        let mut number = || parts.next().and_then(|p| p.parse().ok());
        let id = SegmentId { run: number()?, logger: number()?, ordinal: number()? };
        (id.name() == name).then_some(id)
    }
}

/// The first page of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SegmentHeader {
    pub database: [u8; 16],
    pub id: SegmentId,
    /// Loggers of the run.
    pub loggers: u32,
    /// Version of the planner whose plans the run's calls ran with.
    pub planner: u32,
    /// Every frame is of this epoch or later.
    pub first: Epoch,
    /// The format it is in.
    pub format: u32,
    /// Bytes that the file had before any frame was written; 0 before format 5.
    pub size: u64,
}

/// Why a header was not understood.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BadHeader {
    /// Cut short, no magic, or a wrong checksum.
    Damaged,
    /// A format this code does not know.
    Version(u32),
}

impl SegmentHeader {
    /// The page, and its checksum, from which those of its frames start.
    pub(crate) fn encode(&self) -> (Vec<u8>, u32) {
        let mut h = vec![0; HEADER];
        h[0..8].copy_from_slice(&MAGIC);
        h[12..16].copy_from_slice(&self.format.to_le_bytes());
        h[16..32].copy_from_slice(&self.database);
        h[32..36].copy_from_slice(&self.id.run.to_le_bytes());
        h[36..40].copy_from_slice(&self.id.logger.to_le_bytes());
        h[40..44].copy_from_slice(&self.id.ordinal.to_le_bytes());
        h[44..48].copy_from_slice(&self.loggers.to_le_bytes());
        h[48..52].copy_from_slice(&self.planner.to_le_bytes());
        h[56..64].copy_from_slice(&self.first.0.to_le_bytes());
        h[64..72].copy_from_slice(&self.size.to_le_bytes());
        let crc = checksum(&h);
        h[8..12].copy_from_slice(&crc.to_le_bytes());
        (h, crc)
    }

    /// Reads a page.
    pub(crate) fn decode(h: &[u8]) -> Result<(SegmentHeader, u32), BadHeader> {
        if h.len() != HEADER || h[0..8] != MAGIC {
            return Err(BadHeader::Damaged);
        }
        let crc = u32_at(h, 8);
        if crc != checksum(h) {
            return Err(BadHeader::Damaged);
        }
        if !(FORMAT_MIN..=FORMAT).contains(&u32_at(h, 12)) {
            return Err(BadHeader::Version(u32_at(h, 12)));
        }
        let mut database = [0; 16];
        database.copy_from_slice(&h[16..32]);
        let id = SegmentId { run: u32_at(h, 32), logger: u32_at(h, 36), ordinal: u32_at(h, 40) };
        let header = SegmentHeader {
            database,
            id,
            loggers: u32_at(h, 44),
            planner: u32_at(h, 48),
            first: Epoch(u64_at(h, 56)),
            format: u32_at(h, 12),
            size: u64_at(h, 64),
        };
        if header.first > Epoch::MAX {
            return Err(BadHeader::Damaged);
        }
        Ok((header, crc))
    }
}

/// The mark that a segment ends at `offset`; `seed` is the checksum of its header.
pub(crate) fn end_mark(seed: u32, offset: u64) -> [u8; END] {
    let mut mark = [0; END];
    mark[0..4].copy_from_slice(&END_MAGIC);
    mark[8..16].copy_from_slice(&offset.to_le_bytes());
    let crc = crc32c::crc32c_append(crc32c::crc32c_append(seed, &END_MAGIC), &mark[8..]);
    mark[4..8].copy_from_slice(&crc.to_le_bytes());
    mark
}

fn checksum(h: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&h[..8]), &h[12..])
}
