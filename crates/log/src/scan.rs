//! Reading one segment: its header, then its frames.
//!
//! A frame is believed if its checksum is right for its place. Where one is not, the scan looks for
//! the next one that is: what follows a bad place decides whether it is a torn tail or damage (see
//! [`crate::chain`]).

use crate::device::{Device, DeviceFile};
use crate::frame::{self, Frame};
use crate::manifest::unknown_version;
use crate::segment::{self, BadHeader, SegmentHeader, SegmentId};
use planaria_base::{Epoch, Error, Result, SqlState};
use std::io;
use std::sync::Arc;

/// Bytes read at a time.
const WINDOW: usize = 1 << 20;

/// Disks write whole sectors, be it in the wrong place.
const SECTOR: u64 = 512;
/// Of one segment. What its records say can look like frames; so few are looked at that chance does not make one of
/// them one that went astray.
const STRANGERS_MAX: u32 = 8;

/// The frames of one segment, in order.
pub(crate) struct SegmentScan {
    name: String,
    file: Arc<dyn DeviceFile>,
    pub header: SegmentHeader,
    seed: u32,
    size: u64,
    /// Where the next frame should stand.
    at: u64,
    /// The first bad place since somebody took it from here.
    pub bad: Option<u64>,
    /// Its end mark was found: nothing follows.
    ended: bool,
    /// Frames that do not check out where they stand and were looked at.
    strangers: u32,
    /// The newest `prior` of those among them that belong at another place of the segment: a write went astray. It says
    /// what was on disk before, as any frame does.
    pub astray: Option<Epoch>,
    window: Vec<u8>,
    window_at: u64,
}

impl SegmentScan {
    /// Opens a segment. A bad header is damage: it was on disk before the file had its name.
    pub(crate) fn open(device: &dyn Device, id: SegmentId) -> Result<SegmentScan> {
        let name = id.name();
        let file = device.open(&name)?;
        let mut page = vec![0; segment::HEADER];
        let read = file.read_at(&mut page, 0)?;
        let (header, seed) = match SegmentHeader::decode(&page[..read]) {
            Ok((header, seed)) if header.id == id => (header, seed),
            Ok(_) => return Err(damaged(device, &name, 0, "it is another segment")),
            Err(BadHeader::Damaged) => return Err(damaged(device, &name, 0, "its header is unreadable")),
            Err(BadHeader::Version(version)) => return Err(unknown_version(device, &name, version)),
        };
        let size = file.size()?;
        let at = segment::HEADER as u64;
        let (bad, ended, strangers, astray) = (None, false, 0, None);
        let (window, window_at) = (Vec::new(), 0);
        Ok(SegmentScan {
            name,
            file,
            header,
            seed,
            size,
            at,
            bad,
            ended,
            strangers,
            astray,
            window,
            window_at,
        })
    }

    /// XX001 where the file has been cut: it is shorter than it was made, and does not end as one that is
    /// complete.
    pub(crate) fn check_size(&self, device: &dyn Device) -> Result<()> {
        if self.size >= self.header.size {
            return Ok(());
        }
        let end = self.size.saturating_sub(segment::END as u64);
        let mut mark = [0; segment::END];
        if end >= segment::HEADER as u64
            && self.file.read_at(&mut mark, end)? == mark.len()
            && mark == segment::end_mark(self.seed, end)
        {
            return Ok(());
        }
        let (is, was) = (self.size, self.header.size);
        let what = format!("the file has been cut to {is} bytes, it was made with {was}");
        Err(damaged(device, &self.name, is, &what))
    }

    /// Name of its file.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Where reading stands.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// Bytes of the file.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Whether nothing but zeros stands from `offset` to the end.
    pub(crate) fn is_zero_from(&self, mut offset: u64) -> io::Result<bool> {
        if self.ended {
            return Ok(true);
        }
        let mut bytes = vec![0; WINDOW];
        while offset < self.size {
            let read = self.file.read_at(&mut bytes, offset)?;
            if read == 0 || bytes[..read].iter().any(|b| *b != 0) {
                return Ok(read == 0);
            }
            offset += read as u64;
        }
        Ok(true)
    }

    /// The next good frame and its records.
    pub(crate) fn next(&mut self) -> io::Result<Option<(Frame, &[u8])>> {
        loop {
            if self.ended || self.is_end_here()? {
                return Ok(None);
            }
            if self.at + frame::HEADER_2 as u64 > self.size {
                if self.at < self.size {
                    self.bad.get_or_insert(self.at);
                }
                return Ok(None);
            }
            if let Some(found) = self.frame_here()? {
                let at = self.at;
                self.at += found.size();
                let start = (at - self.window_at) as usize + found.header_len();
                return Ok(Some((found, &self.window[start..start + found.length as usize])));
            }
            self.bad.get_or_insert(self.at);
            self.skip()?;
        }
    }

    /// Whether the mark of its end stands at the current place.
    fn is_end_here(&mut self) -> io::Result<bool> {
        self.fill(segment::END as u64)?;
        let start = (self.at - self.window_at) as usize;
        let found = self.window.get(start..start + segment::END);
        self.ended = found.is_some_and(|bytes| *bytes == segment::end_mark(self.seed, self.at));
        Ok(self.ended)
    }

    /// The frame at the current place, if a good one stands there.
    fn frame_here(&mut self) -> io::Result<Option<Frame>> {
        self.fill(frame::HEADER as u64)?;
        let start = (self.at - self.window_at) as usize;
        let Some(found) = self.window.get(start..).and_then(Frame::peek) else { return Ok(None) };
        if found.length > self.size - self.at || found.size() > self.size - self.at {
            return Ok(None);
        }
        let size = found.size();
        self.fill(size)?;
        let start = (self.at - self.window_at) as usize;
        let Some(bytes) = self.window.get(start..start + size as usize) else { return Ok(None) };
        if Frame::verify(bytes, self.seed, self.at) {
            return Ok(Some(found));
        }
        if self.strangers < STRANGERS_MAX {
            self.strangers += 1;
            let place = u64::from(Frame::place_of(bytes, self.seed));
            let is_likely =
                place >= segment::HEADER as u64 && place + size <= self.size.max(self.header.size);
            if is_likely && place.abs_diff(self.at).is_multiple_of(SECTOR) {
                self.astray = self.astray.max(Some(found.prior));
            }
        }
        Ok(None)
    }

    /// Goes on to the next place that may begin a frame: one that is not zero.
    fn skip(&mut self) -> io::Result<()> {
        self.at += frame::ALIGN as u64;
        loop {
            self.fill(frame::ALIGN as u64)?;
            let start = (self.at - self.window_at) as usize;
            let rest = &self.window[start.min(self.window.len())..];
            let zeros = rest.chunks(64).take_while(|c| c.iter().all(|&b| b == 0)).count() * 64;
            self.at += zeros.min(rest.len()) as u64;
            if self.at < self.window_at + self.window.len() as u64 || self.at >= self.size {
                return Ok(());
            }
        }
    }

    /// Makes the window hold `wanted` bytes from the current place, or all up to the end of the file.
    fn fill(&mut self, wanted: u64) -> io::Result<()> {
        let end = self.window_at + self.window.len() as u64;
        if self.at >= self.window_at && self.at + wanted <= end {
            return Ok(());
        }
        let length = (WINDOW as u64).max(wanted).min(self.size.saturating_sub(self.at));
        self.window.resize(length as usize, 0);
        let read = self.file.read_at(&mut self.window, self.at)?;
        self.window.truncate(read);
        self.window_at = self.at;
        Ok(())
    }
}

/// XX001 that names file and offset.
pub(crate) fn damaged(device: &dyn Device, name: &str, offset: u64, what: &str) -> Error {
    Error::new(
        SqlState::DATA_CORRUPTED,
        format!("log file \"{}\" is damaged at offset {offset}: {what}", device.describe(name)),
    )
    .with_hint("restore the file from a backup; nothing was changed")
}
