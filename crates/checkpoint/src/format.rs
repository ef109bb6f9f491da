//! Headers of files, checksums, numbers: what both files of a checkpoint share.

use planaria_base::{Epoch, Error, Result, SqlState};
use planaria_log::Device;

/// Version of the format this code writes. Format 2 added the generations of sequences, format 3 intervals with months (in
/// the catalog and in rows), formats 4 to 10 what a catalog can hold (see `docs/formats/checkpoint.md`), format 11
/// numerics of any length in rows, format 12 `citext` and extensions; files in an older one, from
/// [`FORMAT_MIN`] on, are read.
pub(crate) const FORMAT: u32 = 12;
/// The oldest format this code reads.
pub(crate) const FORMAT_MIN: u32 = 1;
/// Bytes of a file's header.
pub(crate) const HEADER: usize = 64;
/// What blocks and sections are aligned to.
const ALIGN: usize = 8;

/// What a file is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Manifest,
    Rows,
}

impl Kind {
    fn magic(self) -> [u8; 8] {
        match self {
            Kind::Manifest => *b"PLANCKP\0",
            Kind::Rows => *b"PLANROW\0",
        }
    }
}

/// The first bytes of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FileHeader {
    pub kind: Kind,
    /// Identity of the database.
    pub database: [u8; 16],
    /// Number of the checkpoint.
    pub number: u32,
    /// Of rows: the file among those of the checkpoint. Of the manifest: its sections.
    pub which: u32,
    /// The epoch whose end it shows.
    pub epoch: Epoch,
    /// Of the manifest: bytes of the whole file. Of rows 0: not known when they are begun.
    pub size: u64,
}

impl FileHeader {
    /// The bytes, and their checksum, from which those of what follows start.
    pub(crate) fn encode(&self) -> ([u8; HEADER], u32) {
        let mut h = [0; HEADER];
        h[0..8].copy_from_slice(&self.kind.magic());
        h[12..16].copy_from_slice(&FORMAT.to_le_bytes());
        h[16..32].copy_from_slice(&self.database);
        h[32..36].copy_from_slice(&self.number.to_le_bytes());
        h[36..40].copy_from_slice(&self.which.to_le_bytes());
        h[40..48].copy_from_slice(&self.epoch.0.to_le_bytes());
        h[48..56].copy_from_slice(&self.size.to_le_bytes());
        let crc = checksum(&h);
        h[8..12].copy_from_slice(&crc.to_le_bytes());
        (h, crc)
    }

    /// Reads the header of the file `name`.
    pub(crate) fn decode(h: &[u8], kind: Kind, device: &dyn Device, name: &str) -> Result<(FileHeader, u32)> {
        if h.len() < HEADER || h[0..8] != kind.magic() {
            return Err(damaged(device, name, 0, "it does not begin as such a file does"));
        }
        let crc = u32_at(h, 8);
        if crc != checksum(&h[..HEADER]) {
            return Err(damaged(device, name, 0, "the checksum of its header is wrong"));
        }
        let format = u32_at(h, 12);
        if !(FORMAT_MIN..=FORMAT).contains(&format) {
            let file = device.describe(name);
            return Err(Error::unsupported(
                format!(
                    "\"{file}\" has checkpoint format {format}, this program reads formats {FORMAT_MIN} to {FORMAT}"
                ),
                "open the database with the version of Planaria that wrote it",
            ));
        }
        let mut database = [0; 16];
        database.copy_from_slice(&h[16..32]);
        let header = FileHeader {
            kind,
            database,
            number: u32_at(h, 32),
            which: u32_at(h, 36),
            epoch: Epoch(u64_at(h, 40)),
            size: u64_at(h, 48),
        };
        if header.epoch > Epoch::MAX {
            return Err(damaged(device, name, 40, "there is no such epoch"));
        }
        Ok((header, crc))
    }
}

fn checksum(h: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&h[..8]), &h[12..])
}

/// Checksum of a block or section that stands at `offset`: of its place, and of all of its bytes but the
/// checksum itself, which is bytes 4 to 8.
pub(crate) fn checksum_at(seed: u32, offset: u64, bytes: &[u8]) -> u32 {
    let crc = crc32c::crc32c_append(seed, &offset.to_le_bytes());
    let crc = crc32c::crc32c_append(crc, &bytes[..4]);
    crc32c::crc32c_append(crc, &bytes[8..])
}

/// Bytes up to the next place where a block or section may begin.
pub(crate) fn padding(len: usize) -> usize {
    len.next_multiple_of(ALIGN) - len
}

/// How bytes are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Codec {
    /// As they are.
    Plain = 0,
    /// An LZ4 block.
    Lz4 = 1,
}

impl Codec {
    fn from_number(n: u32) -> Option<Codec> {
        match n {
            0 => Some(Codec::Plain),
            1 => Some(Codec::Lz4),
            _ => None,
        }
    }
}

/// Appends `raw` to `out`, compressed if that makes it an eighth shorter: less is not worth the time that
/// unpacking takes.
pub(crate) fn pack(raw: &[u8], out: &mut Vec<u8>) -> Codec {
    let start = out.len();
    out.resize(start + lz4_flex::block::get_maximum_output_size(raw.len()), 0);
    match lz4_flex::block::compress_into(raw, &mut out[start..]) {
        Ok(n) if n < raw.len() - raw.len() / 8 => {
            out.truncate(start + n);
            Codec::Lz4
        }
        _ => {
            out.truncate(start);
            out.extend_from_slice(raw);
            Codec::Plain
        }
    }
}

/// Bytes that a byte of LZ4 can stand for at most.
const LZ4_RATIO_MAX: usize = 255;

/// The bytes that [`pack`] stored, in `into`; `None` for what it does not make. No more room is made than the
/// stored bytes can fill, whatever `raw_len` says.
pub(crate) fn unpack<'b>(
    codec: u32,
    stored: &'b [u8],
    raw_len: usize,
    into: &'b mut Vec<u8>,
) -> Option<&'b [u8]> {
    match Codec::from_number(codec)? {
        Codec::Plain => (stored.len() == raw_len).then_some(stored),
        Codec::Lz4 => {
            if raw_len / LZ4_RATIO_MAX > stored.len() {
                return None;
            }
            if into.len() < raw_len {
                into.resize(raw_len, 0);
            }
            let n = lz4_flex::block::decompress_into(stored, &mut into[..raw_len]).ok()?;
            (n == raw_len).then_some(&into[..n])
        }
    }
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |b| u32::from_le_bytes(*b))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |b| u64::from_le_bytes(*b))
}

/// XX001 with file and offset.
#[cold]
pub(crate) fn damaged(device: &dyn Device, name: &str, offset: u64, what: &str) -> Error {
    Error::new(
        SqlState::DATA_CORRUPTED,
        format!("checkpoint file \"{}\" is damaged at offset {offset}: {what}", device.describe(name)),
    )
    .with_hint("restore the file from a backup; nothing was changed")
}
