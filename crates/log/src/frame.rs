//! Frames: what one logger writes of one epoch, in pieces of about a MiB.
//!
//! The checksum starts from the checksum of the segment's header and the frame's place in it, so a
//! frame checks out only where it was written. Byte map in `docs/formats/log.md`.

use planaria_base::Epoch;

/// Bytes of a frame's header.
pub(crate) const HEADER: usize = 56;
/// The same in formats 1 and 2, without the time.
pub(crate) const HEADER_2: usize = 48;
/// Frames start at multiples of this.
pub(crate) const ALIGN: usize = 8;
const MAGIC: [u8; 4] = *b"PFr3";
const MAGIC_2: [u8; 4] = *b"PFrm";
const LAST: u16 = 1;

/// Everything a frame says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Frame {
    /// Bytes of records.
    pub length: u64,
    /// Epoch of all its records.
    pub epoch: Epoch,
    /// The epoch that was written before this one. It was on disk, from every logger, before the
    /// first byte of this frame was written.
    pub prior: Epoch,
    /// Loggers that write frames of this epoch, one bit each.
    pub loggers: u64,
    /// Records.
    pub records: u32,
    /// Number of the frame among those of this epoch and logger, from 0.
    pub ordinal: u32,
    /// No further frame of this epoch comes from this logger.
    pub last: bool,
    /// When the epoch was closed: microseconds since 2000-01-01 UTC by the system's clock. Not known of
    /// frames in formats 1 and 2.
    pub time: Option<i64>,
}

/// Bytes of a frame that is written now with `length` bytes of records.
pub(crate) const fn size(length: u64) -> u64 {
    (HEADER as u64 + length).next_multiple_of(ALIGN as u64)
}

impl Frame {
    /// Bytes of its header.
    pub(crate) fn header_len(&self) -> usize {
        if self.time.is_some() { HEADER } else { HEADER_2 }
    }

    /// Bytes of it, padding included.
    pub(crate) fn size(&self) -> u64 {
        let bytes = (self.header_len() as u64).saturating_add(self.length);
        bytes.checked_next_multiple_of(ALIGN as u64).unwrap_or(u64::MAX)
    }

    fn header(&self) -> [u8; HEADER] {
        let mut h = [0; HEADER];
        h[0..4].copy_from_slice(&MAGIC);
        h[8..16].copy_from_slice(&self.length.to_le_bytes());
        h[16..24].copy_from_slice(&self.epoch.0.to_le_bytes());
        h[24..32].copy_from_slice(&self.prior.0.to_le_bytes());
        h[32..40].copy_from_slice(&self.loggers.to_le_bytes());
        h[40..44].copy_from_slice(&self.records.to_le_bytes());
        // 31 bits of ordinal, one bit for the flag.
        let tail = self.ordinal << 1 | if self.last { LAST as u32 } else { 0 };
        h[44..48].copy_from_slice(&tail.to_le_bytes());
        h[48..56].copy_from_slice(&self.time.unwrap_or_default().to_le_bytes());
        h
    }

    /// Writes header and padding of the frame that starts at `start` of `buf`, whose records are
    /// there already behind room for the header; it will stand at `offset` of the segment.
    pub(crate) fn seal(&self, buf: &mut Vec<u8>, start: usize, seed: u32, offset: u64) {
        debug_assert_eq!(buf.len() - start - HEADER, self.length as usize);
        buf.resize(start + size(self.length) as usize, 0);
        buf[start..start + HEADER].copy_from_slice(&self.header());
        let crc = checksum(&buf[start..], seed, offset);
        buf[start + 4..start + 8].copy_from_slice(&crc.to_le_bytes());
    }

    /// Reads a header, unchecked but for its magic. All of it must be there: [`HEADER`] bytes, or
    /// [`HEADER_2`] of the older form.
    pub(crate) fn peek(h: &[u8]) -> Option<Frame> {
        let time = match *h.first_chunk::<4>()? {
            MAGIC => Some(i64::from_le_bytes(*h.get(48..)?.first_chunk()?)),
            MAGIC_2 if h.len() >= HEADER_2 => None,
            _ => return None,
        };
        let tail = u32_at(h, 44);
        let (epoch, prior) = (Epoch(u64_at(h, 16)), Epoch(u64_at(h, 24)));
        if epoch > Epoch::MAX || prior > Epoch::MAX {
            return None;
        }
        Some(Frame {
            length: u64_at(h, 8),
            epoch,
            prior,
            loggers: u64_at(h, 32),
            records: u32_at(h, 40),
            ordinal: tail >> 1,
            last: tail & LAST as u32 != 0,
            time,
        })
    }

    /// The place, below 4 GiB, for which `bytes`, a whole frame with its padding, would have been written: there is
    /// always one for which the checksum is right, so whoever asks has to look whether it is a likely one.
    pub(crate) fn place_of(bytes: &[u8], seed: u32) -> u32 {
        let before = unwind(unwind(!u32_at(bytes, 4), &bytes[8..]), &bytes[..4]);
        // The upper half of the place is zero; what the lower half has done to the register is what it is.
        unwind(before, &[0; 8]) ^ !seed
    }

    /// Whether `bytes`, a whole frame with its padding, is what was written at `offset`.
    pub(crate) fn verify(bytes: &[u8], seed: u32, offset: u64) -> bool {
        u32_at(bytes, 4) == checksum(bytes, seed, offset)
    }
}

/// CRC-32C over the place of the frame and all of its bytes but the checksum itself.
fn checksum(frame: &[u8], seed: u32, offset: u64) -> u32 {
    let crc = crc32c::crc32c_append(seed, &offset.to_le_bytes());
    let crc = crc32c::crc32c_append(crc, &frame[..4]);
    crc32c::crc32c_append(crc, &frame[8..])
}

/// The register of CRC-32C as it was before these bytes.
fn unwind(after: u32, bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let (mut table, mut byte) = ([0; 256], 0);
        while byte < 256 {
            let (mut entry, mut bit) = (byte as u32, 0);
            while bit < 8 {
                entry = if entry & 1 == 1 { entry >> 1 ^ 0x82f6_3b78 } else { entry >> 1 };
                bit += 1;
            }
            table[byte] = entry;
            byte += 1;
        }
        table
    };
    /// By the upper byte of an entry, where it stands.
    const PLACES: [u8; 256] = {
        let (mut places, mut byte) = ([0; 256], 0);
        while byte < 256 {
            places[(TABLE[byte] >> 24) as usize] = byte as u8;
            byte += 1;
        }
        places
    };
    bytes.iter().rev().fold(after, |register, byte| {
        let place = PLACES[(register >> 24) as usize];
        (register ^ TABLE[place as usize]) << 8 | u32::from(place ^ byte)
    })
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |b| u32::from_le_bytes(*b))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |b| u64::from_le_bytes(*b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_frame_is_told_by_its_checksum() {
        for (length, offset) in [(0, 4096), (1, 8), (777, 1 << 20), (5_000, u32::MAX as u64 - 7)] {
            let (epoch, prior) = (Epoch(7), Epoch(5));
            let (loggers, records, ordinal, last, time) = (1, 3, 0, true, Some(9));
            let frame = Frame { length, epoch, prior, loggers, records, ordinal, last, time };
            let mut bytes = vec![0; HEADER];
            bytes.extend((0..length).map(|n| (n * 31) as u8));
            frame.seal(&mut bytes, 0, 0x1234_5678, offset);
            assert!(Frame::verify(&bytes, 0x1234_5678, offset));
            assert_eq!(u64::from(Frame::place_of(&bytes, 0x1234_5678)), offset);
        }
    }
}
