//! Loading a checkpoint into empty tables, with threads.
//!
//! A thread takes a part, reads it whole, and for each row makes a record, puts it into the primary index
//! from where the row before went, and keeps its entries for the other indexes, which it sorts and puts in
//! when the part is through. Threads meet in the trees, seldom in the same leaf: a part is a range of keys.

use crate::block::Blocks;
use crate::format::{FileHeader, HEADER, Kind, damaged};
use crate::manifest::{Manifest, Part};
use crate::store::rows_name;
use planaria_base::sync::{Instant, thread};
use planaria_base::{Error, IndexId, Result, SqlState, TableId};
use planaria_log::{Device, DeviceFile};
use planaria_storage::btree::Finger;
use planaria_storage::reclaim::Participant;
use planaria_storage::restore::Entries;
use planaria_storage::table::hash_image;
use planaria_storage::{Header, KeyBuf, TableSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// How a checkpoint is loaded.
#[derive(Clone, Copy, Debug)]
pub struct LoadOptions {
    /// Threads, at least 1.
    pub threads: usize,
}

/// How far it is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LoadProgress {
    /// Rows in their tables.
    pub rows: u64,
    /// Rows there are.
    pub rows_total: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Bytes there are.
    pub bytes_total: u64,
}

/// What was loaded.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Loaded {
    /// Rows.
    pub rows: u64,
    /// Bytes of them, as stored.
    pub bytes: u64,
    /// How long it took.
    pub took: Duration,
}

/// Fills `tables`, empty and as the checkpoint's catalog defines them, which nobody else knows. XX001 with
/// file and offset where a file is damaged, or where rows and tables do not fit each other: then the tables
/// are good for nothing.
pub fn load<H: Header>(
    device: &dyn Device,
    manifest: &Manifest,
    tables: &TableSet<H>,
    options: LoadOptions,
    tell: &mut dyn FnMut(LoadProgress),
) -> Result<Loaded> {
    if let Some(part) = manifest.parts.iter().find(|p| tables.try_get(p.table).is_none()) {
        let message =
            format!("checkpoint {} has rows of table {}, which does not exist", manifest.number, part.table);
        return Err(Error::new(SqlState::DATA_CORRUPTED, message));
    }
    read(device, manifest, options.threads, tell, |worker| Filler {
        tables,
        worker,
        participant: Participant::new(),
    })
}

/// Reads every block and compares the sums of the rows, keeping none. Errors as [`load`].
pub fn verify(
    device: &dyn Device,
    manifest: &Manifest,
    threads: usize,
    tell: &mut dyn FnMut(LoadProgress),
) -> Result<Loaded> {
    read(device, manifest, threads, tell, |_| Reader)
}

/// Takes a row; `Err` says why not.
type TakeRow<'f> = &'f mut dyn FnMut(&[u64]) -> Result<(), String>;

/// What a thread does with rows.
trait Taker {
    /// Takes those of a part: `rows` hands them over, and its error is passed on. The inner `Err` says what
    /// is wrong with the part as a whole.
    fn part(
        &mut self,
        table: TableId,
        rows: &mut dyn FnMut(TakeRow<'_>) -> Result<()>,
    ) -> Result<Result<(), String>>;
}

/// Keeps none.
struct Reader;

impl Taker for Reader {
    fn part(
        &mut self,
        _: TableId,
        rows: &mut dyn FnMut(TakeRow<'_>) -> Result<()>,
    ) -> Result<Result<(), String>> {
        rows(&mut |_| Ok(())).map(Ok)
    }
}

/// Puts rows into tables.
struct Filler<'t, H: Header> {
    tables: &'t TableSet<H>,
    /// Its number, for the heaps.
    worker: usize,
    participant: Participant,
}

impl<H: Header> Taker for Filler<'_, H> {
    fn part(
        &mut self,
        table: TableId,
        rows: &mut dyn FnMut(TakeRow<'_>) -> Result<()>,
    ) -> Result<Result<(), String>> {
        let Some(table) = self.tables.try_get(table) else {
            return Ok(Err("its table does not exist".to_owned()));
        };
        let worker = self.worker;
        let guard = self.participant.guard();
        let pin = guard.pinned();
        let (mut finger, mut key) = (Finger::default(), KeyBuf::new());
        let primary = table.index(IndexId::PRIMARY);
        let mut entries: Vec<Entries> = table.secondary().map(|_| Entries::new()).collect();
        let long = |_| "a key of a row is too long".to_owned();
        rows(&mut |image| {
            table.expect_image(image).map_err(|error| error.message().to_owned())?;
            let mut record = table.unlinked(image.len(), worker);
            record.write(image, worker, pin);
            primary.codec().encode_row(image, &mut key).map_err(long)?;
            let word = record.into_word();
            if primary.tree().insert_near(&mut finger, pin, key.words(), word).is_err() {
                return Err("two rows have the same primary key".to_owned());
            }
            for ((_, index), entries) in table.secondary().zip(&mut entries) {
                index.codec().encode_row(image, &mut key).map_err(long)?;
                entries.push(&key, word);
            }
            Ok(())
        })?;
        for ((id, index), mut entries) in table.secondary().zip(entries) {
            entries.sort();
            if entries.insert_into(index, 0..entries.len(), pin).is_err() {
                return Ok(Err(format!("two rows have the same key in index {}", id.0)));
            }
        }
        Ok(Ok(()))
    }
}

fn read<T: Taker>(
    device: &dyn Device,
    manifest: &Manifest,
    threads: usize,
    tell: &mut dyn FnMut(LoadProgress),
    taker: impl Fn(usize) -> T + Sync,
) -> Result<Loaded> {
    let start = Instant::now();
    let job = Job::new(device, manifest)?;
    let threads = threads.clamp(1, manifest.parts.len().max(1));
    let outcomes: Vec<Result<()>> = thread::scope(|scope| {
        let (job, taker) = (&job, &taker);
        let others: Vec<_> =
            (1..threads).map(|number| scope.spawn(move || job.work(taker(number), &mut |_| ()))).collect();
        let mine = job.work(taker(0), tell);
        let joined = others.into_iter().map(|thread| {
            thread.join().unwrap_or_else(|_| Err(Error::internal("a thread that loads rows panicked")))
        });
        std::iter::once(mine).chain(joined).collect()
    });
    outcomes.into_iter().collect::<Result<()>>()?;
    job.compare()?;
    tell(job.progress());
    Ok(Loaded { rows: manifest.rows(), bytes: manifest.bytes(), took: start.elapsed() })
}

struct Job<'j> {
    device: &'j dyn Device,
    manifest: &'j Manifest,
    /// Files of rows: their names, and the checksums of their headers.
    files: Vec<(String, Arc<dyn DeviceFile>, u32)>,
    next: AtomicUsize,
    failed: AtomicBool,
    rows: AtomicU64,
    bytes: AtomicU64,
    /// Rows and sum of hashes, of each of the manifest's tables.
    sums: Vec<(AtomicU64, AtomicU64)>,
}

impl<'j> Job<'j> {
    fn new(device: &'j dyn Device, manifest: &'j Manifest) -> Result<Job<'j>> {
        let mut files = Vec::new();
        for (number, mark) in (0..).zip(&manifest.files) {
            let name = rows_name(manifest.number, number);
            let file = device.open(&name).map_err(|e| match e.kind() {
                std::io::ErrorKind::NotFound => damaged(device, &name, 0, "it is missing"),
                _ => Error::from(e).context(format!("opening \"{}\"", device.describe(&name))),
            })?;
            let size = file.size()?;
            if size != mark.size {
                let what = format!("it has {size} bytes, not {}", mark.size);
                return Err(damaged(device, &name, size.min(mark.size), &what));
            }
            let mut head = [0; HEADER];
            let n = file.read_at(&mut head, 0)?;
            let (header, seed) = FileHeader::decode(&head[..n], Kind::Rows, device, &name)?;
            let theirs = (header.database, header.number, header.which, header.epoch);
            if theirs != (manifest.database, manifest.number, number, manifest.epoch) {
                return Err(damaged(device, &name, 16, "it belongs to another checkpoint"));
            }
            files.push((name, file, seed));
        }
        Ok(Job {
            device,
            manifest,
            files,
            next: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
            rows: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            sums: manifest.tables.iter().map(|_| Default::default()).collect(),
        })
    }

    fn progress(&self) -> LoadProgress {
        LoadProgress {
            rows: self.rows.load(Ordering::Relaxed),
            rows_total: self.manifest.rows(),
            bytes: self.bytes.load(Ordering::Relaxed),
            bytes_total: self.manifest.bytes(),
        }
    }

    fn work<T: Taker>(&self, mut taker: T, tell: &mut dyn FnMut(LoadProgress)) -> Result<()> {
        let mut room = Room::default();
        while let Some(part) = self.manifest.parts.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            if self.failed.load(Ordering::Relaxed) {
                return Ok(());
            }
            if let Err(error) = self.part(part, &mut taker, &mut room) {
                self.failed.store(true, Ordering::Relaxed);
                return Err(error);
            }
            tell(self.progress());
        }
        Ok(())
    }

    fn part<T: Taker>(&self, part: &Part, taker: &mut T, room: &mut Room) -> Result<()> {
        let Some((name, file, seed)) = self.files.get(part.file as usize) else {
            let message = format!("checkpoint {} has no file {}", self.manifest.number, part.file);
            return Err(Error::new(SqlState::DATA_CORRUPTED, message));
        };
        let bad = |at: u64, what: &str| damaged(self.device, name, at, what);
        let Some(sums) = self.manifest.tables.iter().position(|t| t.id == part.table) else {
            return Err(bad(part.offset, "the manifest does not have the table of the part"));
        };
        let size = self.manifest.files[part.file as usize].size;
        if part.offset.checked_add(part.bytes).is_none_or(|end| end > size) {
            return Err(bad(part.offset, "the part is longer than the file"));
        }
        let Room { bytes, unpacked, image } = room;
        bytes.resize(part.bytes as usize, 0);
        let n = file
            .read_at(bytes, part.offset)
            .map_err(|e| Error::from(e).context(format!("reading \"{}\"", self.device.describe(name))))?;
        if n < bytes.len() {
            return Err(bad(part.offset + n as u64, "the file ends within the part"));
        }
        let mut blocks = Blocks {
            device: self.device,
            name,
            seed: *seed,
            at: part.offset,
            rest: bytes,
            table: part.table,
            ordinal: 0,
            unpacked,
        };
        let (mut rows, mut hash) = (0, 0u64);
        let outcome = taker.part(part.table, &mut |take| {
            loop {
                let at = blocks.at;
                let got = blocks.next(|row| {
                    image.clear();
                    let words = row.chunks_exact(8).filter_map(|word| word.first_chunk());
                    image.extend(words.map(|word| u64::from_le_bytes(*word)));
                    hash = hash.wrapping_add(hash_image(image));
                    take(image).map_err(|what| bad(at, &what))
                })?;
                let Some(got) = got else { break };
                rows += got;
            }
            if (rows, u64::from(blocks.ordinal)) != (part.rows, part.blocks) {
                return Err(bad(part.offset, "the part has other rows than the manifest says"));
            }
            Ok(())
        })?;
        outcome.map_err(|what| bad(part.offset, &what))?;
        self.sums[sums].0.fetch_add(rows, Ordering::Relaxed);
        self.sums[sums].1.fetch_add(hash, Ordering::Relaxed);
        self.rows.fetch_add(rows, Ordering::Relaxed);
        self.bytes.fetch_add(part.bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Whether the rows that were read are those that were written.
    fn compare(&self) -> Result<()> {
        for (mark, (rows, hash)) in self.manifest.tables.iter().zip(&self.sums) {
            let found = (rows.load(Ordering::Relaxed), hash.load(Ordering::Relaxed));
            if found != (mark.rows, mark.hash) {
                let what = format!("table {} has {} rows, or other ones than were written", mark.id, found.0);
                let name = crate::store::manifest_name(self.manifest.number);
                return Err(damaged(self.device, &name, 0, &what));
            }
        }
        Ok(())
    }
}

/// Where a thread reads to; reused.
#[derive(Default)]
struct Room {
    bytes: Vec<u8>,
    unpacked: Vec<u8>,
    image: Vec<u64>,
}
