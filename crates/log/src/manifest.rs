//! The manifest: which runs wrote the log, and up to which epoch each of them counts.
//!
//! It is replaced as a whole (written aside, synced, renamed) when a database is opened or closed and
//! when old log is deleted; no commit waits for it. Replacing it at opening is the moment at which a
//! torn tail is cut: epochs of a run beyond its `last` are as if they had never been written, those up
//! to it must be readable.
//!
//! Of the run that has not ended it names the newest segments: should one of them be missing, no frame
//! would say so.

use crate::LOGGERS_MAX;
use crate::device::{self, Device};
use crate::frame::{u32_at, u64_at};
use crate::segment::{FORMAT, FORMAT_MIN, SegmentId};
use planaria_base::{Epoch, Error, Result, SqlState};

/// Its file.
pub(crate) const NAME: &str = "manifest";
const MAGIC: [u8; 8] = *b"PLANMAN\0";
const HEADER: usize = 48;
const RUN: usize = 32;
const TIP: usize = 16;
/// `last` of the run that has not ended.
const OPEN: u64 = u64::MAX;

/// The manifest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Manifest {
    /// Of the database; also in every segment.
    pub database: [u8; 16],
    /// Epochs up to here are in a checkpoint; their log may be gone.
    pub base: Epoch,
    /// Number of the next run.
    pub next_run: u32,
    /// Runs whose log is still needed, oldest first.
    pub runs: Vec<Run>,
    /// The newest segments of the run that has not ended, one a logger, as far as they are known: those
    /// begun a moment ago need not be among them.
    pub tips: Vec<SegmentId>,
}

/// One opening of the database.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Run {
    pub number: u32,
    pub loggers: u32,
    pub planner: u32,
    /// The first epoch it could write.
    pub first: Epoch,
    /// The newest epoch of it that counts; none while it has not ended.
    pub last: Option<Epoch>,
}

impl Manifest {
    fn encode(&self) -> Vec<u8> {
        let mut m = vec![0; HEADER];
        m[0..8].copy_from_slice(&MAGIC);
        m[12..16].copy_from_slice(&FORMAT.to_le_bytes());
        m[16..32].copy_from_slice(&self.database);
        m[32..40].copy_from_slice(&self.base.0.to_le_bytes());
        m[40..44].copy_from_slice(&self.next_run.to_le_bytes());
        m[44..48].copy_from_slice(&(self.runs.len() as u32).to_le_bytes());
        for run in &self.runs {
            for n in [run.number, run.loggers, run.planner, 0] {
                m.extend_from_slice(&n.to_le_bytes());
            }
            m.extend_from_slice(&run.first.0.to_le_bytes());
            m.extend_from_slice(&run.last.map_or(OPEN, |e| e.0).to_le_bytes());
        }
        for tip in &self.tips {
            for n in [tip.run, tip.logger, tip.ordinal, 0] {
                m.extend_from_slice(&n.to_le_bytes());
            }
        }
        let crc = checksum(&m);
        m[8..12].copy_from_slice(&crc.to_le_bytes());
        m
    }

    fn decode(m: &[u8]) -> Option<Result<Manifest, u32>> {
        if m.len() < HEADER || m[0..8] != MAGIC || u32_at(m, 8) != checksum(m) {
            return None;
        }
        if !(FORMAT_MIN..=FORMAT).contains(&u32_at(m, 12)) {
            return Some(Err(u32_at(m, 12)));
        }
        let runs_end = (u32_at(m, 44) as usize).checked_mul(RUN)?.checked_add(HEADER)?;
        let (runs, tips) = (m.get(HEADER..runs_end)?, m.get(runs_end..)?);
        let runs = runs.chunks_exact(RUN).map(|r| Run {
            number: u32_at(r, 0),
            loggers: u32_at(r, 4),
            planner: u32_at(r, 8),
            first: Epoch(u64_at(r, 16)),
            last: Some(u64_at(r, 24)).filter(|&e| e != OPEN).map(Epoch),
        });
        let whole = tips.len().is_multiple_of(TIP);
        let tips = tips.chunks_exact(TIP).map(|t| SegmentId {
            run: u32_at(t, 0),
            logger: u32_at(t, 4),
            ordinal: u32_at(t, 8),
        });
        let manifest = Manifest {
            database: *m[16..].first_chunk()?,
            base: Epoch(u64_at(m, 32)),
            next_run: u32_at(m, 40),
            runs: runs.collect(),
            tips: tips.collect(),
        };
        (whole && manifest.is_possible()).then_some(Ok(manifest))
    }

    /// Numbers that a manifest can have: room is made for so many loggers, and clocks go on from these epochs.
    fn is_possible(&self) -> bool {
        self.base <= Epoch::MAX
            && self.runs.iter().all(|run| {
                (1..=LOGGERS_MAX as u32).contains(&run.loggers)
                    && run.number < self.next_run
                    && run.first <= Epoch::MAX
                    && run.last.is_none_or(|last| last <= Epoch::MAX)
            })
            && self.runs.is_sorted_by(|a, b| a.number < b.number)
    }

    /// Reads it, or `None` from a directory without one.
    pub(crate) fn read(device: &dyn Device) -> Result<Option<Manifest>> {
        if !device.list()?.iter().any(|name| name == NAME) {
            return Ok(None);
        }
        let bytes = device::read_all(&*device.open(NAME)?)?;
        match Manifest::decode(&bytes) {
            Some(Ok(manifest)) => Ok(Some(manifest)),
            Some(Err(version)) => Err(unknown_version(device, NAME, version)),
            None => Err(Error::new(
                SqlState::DATA_CORRUPTED,
                format!("log manifest \"{}\" is damaged at offset 0", device.describe(NAME)),
            )),
        }
    }

    /// Puts it in place, on disk when this returns.
    pub(crate) fn write(&self, device: &dyn Device) -> std::io::Result<()> {
        device::replace(device, NAME, &self.encode())
    }
}

pub(crate) fn unknown_version(device: &dyn Device, name: &str, version: u32) -> Error {
    Error::unsupported(
        format!(
            "\"{}\" has log format {version}, this program reads formats {FORMAT_MIN} to {FORMAT}",
            device.describe(name)
        ),
        "open the database with the version of Planaria that wrote it",
    )
}

fn checksum(m: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&m[..8]), &m[12..])
}
