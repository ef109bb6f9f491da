//! How large an answer may be, in memory and at all. Where the memory budget is used up, an answer that is not small
//! waits in a file like one that is large.

use crate::config::Config;
use crate::scales::{STEP, Scales, Taken};
use crate::spool::{Room, Spool};
use planaria::{Error, Result, SqlState};
use std::sync::Arc;

/// Limits of one answer.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    memory_bytes: usize,
    bytes: u64,
}

/// Watches rows being written to the end of a buffer: what is too much for memory goes to a file.
pub(crate) struct Overflow {
    limits: Limits,
    /// Where the rows begin.
    start: usize,
    /// Rows of so many bytes are weighed.
    weighed_at: usize,
    scales: Arc<Scales>,
    pub(crate) spool: Spool,
}

impl Limits {
    pub(crate) fn of(config: &Config) -> Limits {
        Limits { memory_bytes: config.result_memory_bytes, bytes: config.max_result_bytes as u64 }
    }
}

impl Overflow {
    pub(crate) fn new(start: usize, limits: Limits, room: &Arc<Room>, scales: &Arc<Scales>) -> Overflow {
        let weighed_at = STEP.min(limits.memory_bytes);
        Overflow { limits, start, weighed_at, scales: scales.clone(), spool: Spool::new(room) }
    }

    /// What was written is void.
    pub(crate) fn restart(&mut self, out: &mut Vec<u8>) {
        out.truncate(self.start);
        self.spool.clear();
    }

    /// A row was written; 54000 where it was one too many.
    #[inline]
    pub(crate) fn check(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let here = out.len() - self.start;
        if here <= self.weighed_at && here as u64 + self.spool.len() <= self.limits.bytes {
            return Ok(());
        }
        self.spill(out)
    }

    #[cold]
    fn spill(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let here = &out[self.start..];
        if here.len() as u64 + self.spool.len() > self.limits.bytes {
            return Err(too_large(self.limits.bytes));
        }
        let has_memory = self.scales.weigh(Taken::Reply, out.capacity()).is_ok();
        if has_memory && here.len() <= self.limits.memory_bytes {
            self.weighed_at = (here.len() + STEP).min(self.limits.memory_bytes);
            return Ok(());
        }
        self.spool.append(here)?;
        out.truncate(self.start);
        if !has_memory {
            out.shrink_to(self.start + STEP);
            self.weighed_at = STEP.min(self.limits.memory_bytes);
        }
        Ok(())
    }
}

/// 54000
fn too_large(bytes_max: u64) -> Error {
    Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "the answer is too large")
        .with_detail(format!("It is larger than {bytes_max} bytes (max_result_bytes)."))
        .with_hint("Fetch fewer rows at a time.")
}
