//! The manifest: what a checkpoint consists of. With its name in place the checkpoint is there.

use crate::format::{self, FileHeader, HEADER, Kind, checksum_at, damaged, pack, padding, u32_at, u64_at};
use crate::notes::Notes;
use crate::store;
use planaria_base::{Epoch, Result, SequenceId, SequencePlace, TableId};
use planaria_log::Device;

const SECTION: usize = 32;
/// More than any section of ours has.
const RAW_MAX: u64 = 1 << 32;

const CATALOG: u32 = 1;
const SEQUENCES: u32 = 2;
const TABLES: u32 = 3;
const FILES: u32 = 4;
const PARTS: u32 = 5;
const NOTES: u32 = 6;
const GENERATIONS: u32 = 7;

/// Where a sequence stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SequenceMark {
    /// Which.
    pub id: SequenceId,
    /// The value it gives next, unless it is exhausted.
    pub next: i64,
    /// Its last value was given.
    pub exhausted: bool,
    /// Of the place it stands at; see [`planaria_base::SequencePlace`].
    pub generation: u64,
}

/// What a table has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableMark {
    /// Which.
    pub id: TableId,
    /// Number of rows.
    pub rows: u64,
    /// Sum of the hashes of their images ([`planaria_storage::table::hash_image`]).
    pub hash: u64,
}

/// A file of rows; its number is its place in the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileMark {
    /// Bytes.
    pub size: u64,
}

/// Some blocks of one table, one behind the other: what a thread loads at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// Whose rows.
    pub table: TableId,
    /// The file they are in.
    pub file: u32,
    /// Where the first block begins.
    pub offset: u64,
    /// Bytes of the blocks.
    pub bytes: u64,
    /// Bytes of the rows before compression.
    pub raw_bytes: u64,
    /// Rows.
    pub rows: u64,
    /// Blocks.
    pub blocks: u64,
}

/// A checkpoint.
#[derive(Clone, PartialEq, Debug)]
pub struct Manifest {
    /// Identity of the database.
    pub database: [u8; 16],
    /// Number of the checkpoint; later ones have higher numbers.
    pub number: u32,
    /// The epoch whose end it shows.
    pub epoch: Epoch,
    /// All definitions, in the engine's encoding.
    pub catalog: Vec<u8>,
    /// Where sequences stand.
    pub sequences: Vec<SequenceMark>,
    /// What tables have, by id.
    pub tables: Vec<TableMark>,
    /// Files of rows.
    pub files: Vec<FileMark>,
    /// Parts, in no order.
    pub parts: Vec<Part>,
    /// What else is known.
    pub notes: Notes,
}

impl Manifest {
    /// Rows in it.
    pub fn rows(&self) -> u64 {
        self.tables.iter().map(|t| t.rows).fold(0, u64::saturating_add)
    }

    /// Bytes of rows, as stored.
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(|p| p.bytes).fold(0, u64::saturating_add)
    }

    /// Bytes of rows before compression.
    pub fn raw_bytes(&self) -> u64 {
        self.parts.iter().map(|p| p.raw_bytes).fold(0, u64::saturating_add)
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let notes = self.notes.encode();
        let set: Vec<SequenceMark> = self.sequences.iter().copied().filter(|s| s.generation > 0).collect();
        let sections = [
            (CATALOG, self.catalog.clone()),
            (
                SEQUENCES,
                numbers(&self.sequences, |s| [u64::from(s.id.0), u64::from(s.exhausted), s.next as u64]),
            ),
            (GENERATIONS, numbers(&set, |s| [u64::from(s.id.0), s.generation])),
            (TABLES, numbers(&self.tables, |t| [u64::from(t.id.0), t.rows, t.hash])),
            (FILES, numbers(&self.files, |f| [f.size])),
            (
                PARTS,
                numbers(&self.parts, |p| {
                    let (table, file) = (u64::from(p.table.0), u64::from(p.file));
                    [table, file, p.offset, p.bytes, p.raw_bytes, p.rows, p.blocks]
                }),
            ),
            (NOTES, notes),
        ];
        let mut out = vec![0; HEADER];
        let mut places = Vec::new();
        for (tag, raw) in &sections {
            let start = out.len();
            out.resize(start + SECTION, 0);
            let codec = pack(raw, &mut out);
            let stored = out.len() - start - SECTION;
            out.resize(out.len() + padding(stored), 0);
            out[start..start + 4].copy_from_slice(&tag.to_le_bytes());
            out[start + 8..start + 12].copy_from_slice(&(codec as u32).to_le_bytes());
            out[start + 16..start + 24].copy_from_slice(&(stored as u64).to_le_bytes());
            out[start + 24..start + 32].copy_from_slice(&(raw.len() as u64).to_le_bytes());
            places.push(start..out.len());
        }
        let header = FileHeader {
            kind: Kind::Manifest,
            database: self.database,
            number: self.number,
            which: sections.len() as u32,
            epoch: self.epoch,
            size: out.len() as u64,
        };
        let (head, seed) = header.encode();
        out[..HEADER].copy_from_slice(&head);
        for place in places {
            let crc = checksum_at(seed, place.start as u64, &out[place.clone()]);
            out[place.start + 4..place.start + 8].copy_from_slice(&crc.to_le_bytes());
        }
        out
    }

    /// Reads the manifest of a checkpoint. XX001 with file and offset where it is damaged, 0A000 where its
    /// format is a later one.
    pub fn read(device: &dyn Device, number: u32) -> Result<Manifest> {
        let name = store::manifest_name(number);
        let bytes = store::read_all(device, &name)?;
        Manifest::decode(&bytes, device, &name, number)
    }

    pub(crate) fn decode(bytes: &[u8], device: &dyn Device, name: &str, number: u32) -> Result<Manifest> {
        let (header, seed) = FileHeader::decode(bytes, Kind::Manifest, device, name)?;
        let bad = |at: usize, what: &str| damaged(device, name, at as u64, what);
        if header.number != number {
            return Err(bad(32, "it is that of another checkpoint"));
        }
        if header.size != bytes.len() as u64 {
            return Err(bad(bytes.len(), "it ends there, but should be shorter or longer"));
        }
        let mut manifest = Manifest {
            database: header.database,
            number,
            epoch: header.epoch,
            catalog: Vec::new(),
            sequences: Vec::new(),
            tables: Vec::new(),
            files: Vec::new(),
            parts: Vec::new(),
            notes: Notes::default(),
        };
        let mut at = HEADER;
        let mut unpacked = Vec::new();
        for _ in 0..header.which {
            let rest = &bytes[at..];
            if rest.len() < SECTION {
                return Err(bad(at, "a section is missing"));
            }
            let (stored, raw_len) = (u64_at(rest, 16), u64_at(rest, 24));
            let whole = usize::try_from(stored)
                .ok()
                .and_then(|n| n.checked_add(SECTION + padding(n % 8)))
                .filter(|n| *n <= rest.len() && raw_len < RAW_MAX)
                .ok_or_else(|| bad(at, "the section is longer than the file"))?;
            let section = &rest[..whole];
            if u32_at(section, 4) != checksum_at(seed, at as u64, section) {
                return Err(bad(at, "the checksum of the section is wrong"));
            }
            let stored = &section[SECTION..SECTION + stored as usize];
            let raw = format::unpack(u32_at(section, 8), stored, raw_len as usize, &mut unpacked)
                .ok_or_else(|| bad(at, "the section cannot be unpacked"))?;
            manifest
                .take_section(u32_at(section, 0), raw)
                .ok_or_else(|| bad(at, "the section cannot be decoded"))?;
            at += whole;
        }
        if at != bytes.len() {
            return Err(bad(at, "there is more than its sections"));
        }
        Ok(manifest)
    }

    fn take_section(&mut self, tag: u32, raw: &[u8]) -> Option<()> {
        let id = |n: u64| u32::try_from(n).ok();
        match tag {
            CATALOG => self.catalog = raw.to_vec(),
            SEQUENCES => {
                self.sequences = items(raw, |[sequence, exhausted, next]: [u64; 3]| {
                    let exhausted = [false, true].get(usize::try_from(exhausted).ok()?).copied()?;
                    let id = SequenceId(id(sequence)?);
                    Some(SequenceMark { id, next: next as i64, exhausted, generation: 0 })
                })?;
            }
            // Behind the sequences.
            GENERATIONS => {
                for (sequence, generation) in items(raw, |[s, g]: [u64; 2]| Some((id(s)?, g)))? {
                    let mark = self.sequences.iter_mut().find(|mark| mark.id.0 == sequence)?;
                    mark.generation = (generation <= SequencePlace::GENERATION_MAX).then_some(generation)?;
                }
            }
            TABLES => {
                self.tables = items(raw, |[table, rows, hash]: [u64; 3]| {
                    Some(TableMark { id: TableId(id(table)?), rows, hash })
                })?;
            }
            FILES => self.files = items(raw, |[size]: [u64; 1]| Some(FileMark { size }))?,
            PARTS => {
                self.parts =
                    items(raw, |[table, file, offset, bytes, raw_bytes, rows, blocks]: [u64; 7]| {
                        let (table, file) = (TableId(id(table)?), id(file)?);
                        Some(Part { table, file, offset, bytes, raw_bytes, rows, blocks })
                    })?;
            }
            NOTES => self.notes = Notes::decode(raw),
            _ => return None,
        }
        Some(())
    }
}

fn numbers<T, const N: usize>(items: &[T], words: impl Fn(&T) -> [u64; N]) -> Vec<u8> {
    items.iter().flat_map(words).flat_map(u64::to_le_bytes).collect()
}

fn items<T, const N: usize>(raw: &[u8], item: impl Fn([u64; N]) -> Option<T>) -> Option<Vec<T>> {
    if !raw.len().is_multiple_of(N * 8) {
        return None;
    }
    raw.chunks_exact(N * 8).map(|bytes| item(std::array::from_fn(|i| u64_at(bytes, i * 8)))).collect()
}
