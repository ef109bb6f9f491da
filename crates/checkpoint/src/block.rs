//! Blocks: some rows of one table, in key order, under one checksum.

use crate::format::{self, checksum_at, damaged, pack, padding, u32_at, u64_at};
use planaria_base::{Result, TableId};
use planaria_log::Device;

/// Bytes of a block's header.
pub(crate) const BLOCK_HEADER: usize = 40;
const MAGIC: [u8; 4] = *b"PBlk";
/// More than any block of ours has: what claims to be longer is damage, not worth asking memory for.
const RAW_MAX: u64 = 1 << 32;

/// Rows gathered for a block.
#[derive(Default)]
pub(crate) struct BlockBuf {
    /// Words of the rows, little-endian.
    words: Vec<u8>,
    /// Words of each row.
    lengths: Vec<u32>,
}

impl BlockBuf {
    /// Adds a row.
    #[inline]
    pub(crate) fn push(&mut self, row: &[u64]) {
        let at = self.words.len();
        self.words.resize(at + row.len() * 8, 0);
        for (bytes, word) in self.words[at..].chunks_exact_mut(8).zip(row) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        self.lengths.push(row.len() as u32);
    }

    /// Bytes it will have before compression.
    pub(crate) fn bytes(&self) -> usize {
        self.words.len() + self.lengths.len() * 4
    }

    /// Rows in it.
    pub(crate) fn rows(&self) -> usize {
        self.lengths.len()
    }

    /// Appends the block to `out`, which begins at `base` of a file whose header's checksum is `seed`, and
    /// empties itself.
    pub(crate) fn seal(&mut self, out: &mut Vec<u8>, base: u64, seed: u32, table: TableId, ordinal: u32) {
        let BlockBuf { words: raw, lengths } = self;
        for n in lengths.iter() {
            raw.extend_from_slice(&n.to_le_bytes());
        }
        let start = out.len();
        out.resize(start + BLOCK_HEADER, 0);
        let codec = pack(raw, out);
        let stored = out.len() - start - BLOCK_HEADER;
        out.resize(out.len() + padding(stored), 0);
        let block = &mut out[start..];
        block[0..4].copy_from_slice(&MAGIC);
        let numbers = [table.0, lengths.len() as u32, codec as u32, ordinal];
        for (at, n) in (8..).step_by(4).zip(numbers) {
            block[at..at + 4].copy_from_slice(&n.to_le_bytes());
        }
        block[24..32].copy_from_slice(&(stored as u64).to_le_bytes());
        block[32..40].copy_from_slice(&(raw.len() as u64).to_le_bytes());
        let crc = checksum_at(seed, base + start as u64, block);
        block[4..8].copy_from_slice(&crc.to_le_bytes());
        raw.clear();
        lengths.clear();
    }
}

/// Reads the blocks of a part.
pub(crate) struct Blocks<'p> {
    pub device: &'p dyn Device,
    pub name: &'p str,
    /// Checksum of the file's header.
    pub seed: u32,
    /// Where `rest` stands in the file.
    pub at: u64,
    pub rest: &'p [u8],
    pub table: TableId,
    /// Number of the next block.
    pub ordinal: u32,
    pub unpacked: &'p mut Vec<u8>,
}

impl Blocks<'_> {
    /// Hands the rows of the next block to `each`; how many, or `None` at the end.
    pub(crate) fn next(&mut self, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<Option<u64>> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let (device, name, at) = (self.device, self.name, self.at);
        let bad = |what: &str| damaged(device, name, at, what);
        let h = self.rest;
        if h.len() < BLOCK_HEADER || h[0..4] != MAGIC {
            return Err(bad("no block begins there"));
        }
        let (stored, raw_len) = (u64_at(h, 24), u64_at(h, 32));
        let whole = usize::try_from(stored)
            .ok()
            .and_then(|n| n.checked_add(BLOCK_HEADER + padding(n % 8)))
            .filter(|n| *n <= h.len() && raw_len < RAW_MAX)
            .ok_or_else(|| bad("the block is longer than the part"))?;
        let (block, rest) = h.split_at(whole);
        if u32_at(block, 4) != checksum_at(self.seed, at, block) {
            return Err(bad("the checksum of the block is wrong"));
        }
        if u32_at(block, 8) != self.table.0 || u32_at(block, 20) != self.ordinal {
            return Err(bad("the block is another one"));
        }
        let stored = &block[BLOCK_HEADER..BLOCK_HEADER + stored as usize];
        let raw = format::unpack(u32_at(block, 16), stored, raw_len as usize, self.unpacked)
            .ok_or_else(|| bad("the block cannot be unpacked"))?;
        let rows = u32_at(block, 12) as usize;
        let words = rows.checked_mul(4).and_then(|lengths| raw.len().checked_sub(lengths));
        let (mut words, lengths) =
            raw.split_at(words.ok_or_else(|| bad("the block has fewer bytes than its rows"))?);
        for n in lengths.chunks_exact(4) {
            let row = words.split_at_checked(u32_at(n, 0) as usize * 8);
            let (row, rest) = row.ok_or_else(|| bad("the block has fewer bytes than its rows"))?;
            words = rest;
            each(row)?;
        }
        if !words.is_empty() {
            return Err(bad("the block has more bytes than its rows"));
        }
        self.at += whole as u64;
        self.rest = rest;
        self.ordinal += 1;
        Ok(Some(rows as u64))
    }
}
