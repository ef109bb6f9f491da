//! What files a log consists of, for people.

use crate::device::Device;
use crate::manifest::Manifest;
use crate::scan::SegmentScan;
use crate::segment::SegmentId;
use planaria_base::{Epoch, Result};

/// A run of the database: the time from one opening to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunInfo {
    /// Number, from 1.
    pub number: u32,
    /// Loggers.
    pub loggers: u32,
    /// Version of the planner that its calls ran with.
    pub planner: u32,
    /// The first epoch it could write.
    pub first: Epoch,
    /// The newest epoch of it that counts; `None` while it has not ended.
    pub last: Option<Epoch>,
}

/// A file of the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SegmentInfo {
    /// Name of the file.
    pub name: String,
    /// The run that wrote it.
    pub run: u32,
    /// The logger that wrote it.
    pub logger: u32,
    /// Format it is in.
    pub format: u32,
    /// Bytes of the file, with the part not written yet.
    pub size: u64,
    /// Good frames.
    pub frames: u64,
    /// Records in them.
    pub records: u64,
    /// First and last epoch of these, if there are any.
    pub epochs: Option<(Epoch, Epoch)>,
    /// Where the last good frame ends.
    pub end: u64,
    /// The first place that holds neither a good frame nor zeros: damage, or a torn tail. The end of a file
    /// that has been cut.
    pub bad: Option<u64>,
}

/// The runs of a log.
pub(crate) fn runs(manifest: Option<&Manifest>) -> Vec<RunInfo> {
    let runs = manifest.iter().flat_map(|m| &m.runs);
    runs.map(|r| RunInfo {
        number: r.number,
        loggers: r.loggers,
        planner: r.planner,
        first: r.first,
        last: r.last,
    })
    .collect()
}

/// Reads a segment from beginning to end.
pub(crate) fn segment(device: &dyn Device, id: SegmentId) -> Result<SegmentInfo> {
    let mut scan = SegmentScan::open(device, id)?;
    let mut info = SegmentInfo {
        name: id.name(),
        run: id.run,
        logger: id.logger,
        format: scan.header.format,
        size: scan.size(),
        frames: 0,
        records: 0,
        epochs: None,
        end: scan.at(),
        bad: None,
    };
    while let Some((frame, _)) = scan.next()? {
        info.frames += 1;
        info.records += u64::from(frame.records);
        let (first, last) = info.epochs.unwrap_or((frame.epoch, frame.epoch));
        info.epochs = Some((first.min(frame.epoch), last.max(frame.epoch)));
        info.end = scan.at();
    }
    // The zeros that a segment is filled with ahead of time are no damage.
    info.bad = scan.bad.filter(|bad| *bad < info.end || !matches!(scan.is_zero_from(*bad), Ok(true)));
    if scan.check_size(device).is_err() {
        info.bad.get_or_insert(scan.size());
    }
    Ok(info)
}
