//! Writing a checkpoint with threads, each into a file of its own.

use crate::block::BlockBuf;
use crate::format::{FileHeader, Kind};
use crate::manifest::{FileMark, Manifest, Part, TableMark};
use crate::notes::Notes;
use crate::source::{KeyRange, Source, SourceTable};
use crate::store::{draft_name, manifest_name, rows_name};
use planaria_base::sync::{Instant, Mutex, OnceLock, thread};
use planaria_base::{Error, Result, TableId};
use planaria_log::{Device, DeviceFile};
use planaria_storage::table::hash_image;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A file is synced each time so many bytes have been written: what waits in memory for the disk stays
/// bounded, and a commit's sync waits behind about as much of each thread.
const SYNC_BYTES: u64 = 4 << 20;
/// Blocks are handed to the device in writes of about this size.
const WRITE_BYTES: usize = 1 << 20;
/// Ranges a thread is to find, so that the last one to end ends early, and the next one is of the table that changes
/// most.
const RANGES_PER_THREAD: u64 = 16;
/// Tables smaller than this are not divided.
const RANGE_BYTES_MIN: u64 = 1 << 20;

/// How a checkpoint is written.
#[derive(Clone)]
pub struct WriteOptions {
    /// Threads, at least 1.
    pub threads: usize,
    /// Bytes of rows, before compression, after which a block ends.
    pub block_bytes: usize,
    /// Bytes of rows, before compression, after which a part ends.
    pub part_bytes: u64,
    /// What goes into the manifest beside the rows.
    pub notes: Notes,
}

impl Default for WriteOptions {
    /// A thread a core, blocks of 256 KiB, parts of 8 MiB.
    fn default() -> WriteOptions {
        let threads = thread::available_parallelism().map_or(1, |n| n.get());
        WriteOptions { threads, block_bytes: 256 << 10, part_bytes: 8 << 20, notes: Notes::default() }
    }
}

/// How far it is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct WriteProgress {
    /// Rows written.
    pub rows: u64,
    /// About how many there are.
    pub of_rows: u64,
    /// Bytes written.
    pub bytes: u64,
}

impl WriteProgress {
    /// The share that is written, 0 to 1.
    pub fn share(&self) -> f64 {
        (self.rows as f64 / self.of_rows.max(1) as f64).min(1.0)
    }
}

/// Hears of progress; an error of it ends the writing.
pub type Tell<'t> = &'t (dyn Fn(WriteProgress) -> Result<()> + Sync);

/// A checkpoint that was written and installed.
#[derive(Clone, Debug)]
pub struct Written {
    /// What it is.
    pub manifest: Manifest,
    /// How long it took.
    pub took: Duration,
}

/// Writes checkpoint `number` of a database from a source, and installs it: when this returns, it is on disk
/// and the newest. `tell` hears of progress from any thread; its
/// error ends the writing. After an error what was written is deleted
/// again, if that is possible, and older checkpoints are as they were.
pub fn write(
    device: &dyn Device,
    database: [u8; 16],
    number: u32,
    source: impl Source,
    options: &WriteOptions,
    tell: Tell<'_>,
) -> Result<Written> {
    let start = Instant::now();
    let epoch = source.epoch();
    let job = Job {
        device,
        source: &source,
        options,
        header: FileHeader { kind: Kind::Rows, database, number, which: 0, epoch, size: 0 },
        todo: Todo::new(&source, options.threads.max(1)),
        failed: OnceLock::new(),
        rows: AtomicU64::new(0),
        of_rows: source.tables().iter().map(|t| t.rows).sum(),
        bytes: AtomicU64::new(0),
        tell,
    };
    let read = job.run().and_then(|rows| Ok((rows, source.catalog()?, source.sequences())));
    // Whoever waits for the source to end need not wait for the disk.
    drop(source);
    let outcome = read.and_then(|(rows, catalog, sequences)| {
        for file in &rows.files {
            file.sync_data()?;
        }
        let took = start.elapsed();
        let manifest = Manifest {
            database,
            number,
            epoch,
            catalog,
            sequences,
            tables: rows.tables,
            files: rows.marks,
            parts: rows.parts,
            notes: Notes { took_micros: took.as_micros() as u64, ..options.notes.clone() },
        };
        install(device, &manifest)?;
        Ok(Written { manifest, took: start.elapsed() })
    });
    if outcome.is_err() {
        discard(device, number);
    }
    outcome
}

/// Makes the checkpoint the newest: the only step that counts.
fn install(device: &dyn Device, manifest: &Manifest) -> Result<()> {
    let draft = draft_name(manifest.number);
    let file = device.create(&draft)?;
    file.write_at(&manifest.encode(), 0)?;
    file.sync_data()?;
    // The names of the rows' files are on disk before the manifest's is.
    device.sync_directory()?;
    device.rename(&draft, &manifest_name(manifest.number))?;
    device.sync_directory()?;
    Ok(())
}

/// Takes back what was written of a checkpoint that failed. What cannot be deleted now is deleted when the
/// database is opened next. One whose manifest may be in place is left alone.
fn discard(device: &dyn Device, number: u32) {
    let Ok(names) = device.list() else { return };
    if names.contains(&manifest_name(number)) {
        return;
    }
    let prefix = format!("{}-", manifest_name(number));
    for name in names.iter().filter(|n| n.starts_with(&prefix) || **n == draft_name(number)) {
        let _ = device.delete(name);
    }
    let _ = device.sync_directory();
}

/// What there is to do.
///
/// What changes most for its size is written first (Smith's rule): as long as a table is not written, changes of it keep
/// old versions. How much it changes is seen by what has been kept so far; to begin with, large tables are first.
struct Todo(Mutex<Vec<TodoTable>>);

struct TodoTable {
    id: TableId,
    /// To be written, backwards.
    ranges: Vec<KeyRange>,
    /// About how many bytes a range has.
    range_bytes: u64,
    /// Being written.
    under_way: usize,
    /// Bytes that had been kept of it before, for others.
    kept_before: u64,
}

impl Todo {
    fn new(source: &dyn Source, threads: usize) -> Todo {
        let mut tables = source.tables();
        tables.sort_by_key(|t| Reverse(t.bytes));
        let total: u64 = tables.iter().map(|t| t.bytes).sum();
        let share = (total / (threads as u64 * RANGES_PER_THREAD)).max(RANGE_BYTES_MIN);
        let table = |t: &SourceTable| {
            let mut ranges = source.ranges(t.id, t.bytes.div_ceil(share).max(1) as usize);
            ranges.reverse();
            let range_bytes = t.bytes / ranges.len().max(1) as u64;
            TodoTable { id: t.id, ranges, range_bytes, under_way: 0, kept_before: source.kept_bytes(t.id) }
        };
        Todo(Mutex::new(tables.iter().map(table).collect()))
    }

    fn len(&self) -> usize {
        self.0.lock().iter().map(|t| t.ranges.len()).sum()
    }

    fn next(&self, source: &dyn Source) -> Option<(TableId, KeyRange)> {
        let mut tables = self.0.lock();
        let urgency = |t: &TodoTable| {
            let kept = source.kept_bytes(t.id).saturating_sub(t.kept_before);
            kept as f64 / (t.range_bytes * t.ranges.len() as u64).max(1) as f64
        };
        let open = tables.iter_mut().filter(|t| !t.ranges.is_empty()).map(|t| (urgency(t), t));
        // Of equals, the first.
        let (_, table) = open.reduce(|best, other| if other.0 > best.0 { other } else { best })?;
        table.under_way += 1;
        table.ranges.pop().map(|range| (table.id, range))
    }

    /// A range has been written; whether it is the last one of its table.
    fn done(&self, id: TableId) -> bool {
        let mut tables = self.0.lock();
        tables.iter_mut().filter(|t| t.id == id).any(|t| {
            t.under_way -= 1;
            t.under_way == 0 && t.ranges.is_empty()
        })
    }
}

struct Job<'j> {
    device: &'j dyn Device,
    source: &'j dyn Source,
    options: &'j WriteOptions,
    header: FileHeader,
    todo: Todo,
    /// The first error of any thread: all end with it.
    failed: OnceLock<Error>,
    rows: AtomicU64,
    of_rows: u64,
    bytes: AtomicU64,
    tell: Tell<'j>,
}

/// All rows, written and not yet synced.
#[derive(Default)]
struct Rows {
    files: Vec<Arc<dyn DeviceFile>>,
    marks: Vec<FileMark>,
    parts: Vec<Part>,
    tables: Vec<TableMark>,
}

type Sums = BTreeMap<TableId, (u64, u64)>;

impl Job<'_> {
    fn run(&self) -> Result<Rows> {
        let threads = self.options.threads.clamp(1, self.todo.len().max(1));
        let done: Vec<Result<Writer<'_>>> = thread::scope(|scope| {
            let others: Vec<_> =
                (1..threads as u32).map(|file| scope.spawn(move || self.write_file(file))).collect();
            let mine = self.write_file(0);
            let joined = others.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|_| Err(Error::internal("a checkpoint's thread panicked")))
            });
            std::iter::once(mine).chain(joined).collect()
        });
        let mut sums: Sums = self.source.tables().iter().map(|t| (t.id, (0, 0))).collect();
        let mut all = Rows::default();
        for writer in done {
            let writer = writer?;
            all.marks.push(FileMark { size: writer.written });
            all.files.push(writer.file);
            all.parts.extend(writer.parts);
            for (id, (rows, hash)) in writer.sums {
                let sum = sums.entry(id).or_default();
                *sum = (sum.0 + rows, sum.1.wrapping_add(hash));
            }
        }
        all.tables = sums.into_iter().map(|(id, (rows, hash))| TableMark { id, rows, hash }).collect();
        Ok(all)
    }

    fn write_file(&self, number: u32) -> Result<Writer<'_>> {
        let outcome = Writer::begin(self, number).and_then(|mut writer| {
            while let Some((table, range)) = self.todo.next(self.source) {
                writer.range(table, &range)?;
                self.source.done(table, &range, self.todo.done(table));
            }
            writer.flush()?;
            Ok(writer)
        });
        outcome.map_err(|e| self.failed.get_or_init(|| e).clone())
    }
}

/// A thread with its file.
struct Writer<'j> {
    job: &'j Job<'j>,
    number: u32,
    file: Arc<dyn DeviceFile>,
    seed: u32,
    block: BlockBuf,
    /// Blocks to be written.
    out: Vec<u8>,
    /// Bytes of the file without `out`.
    written: u64,
    synced: u64,
    part: Option<Part>,
    parts: Vec<Part>,
    sums: Sums,
}

impl<'j> Writer<'j> {
    fn begin(job: &'j Job<'j>, number: u32) -> Result<Writer<'j>> {
        let header = FileHeader { which: number, ..job.header };
        let file = job.device.create(&rows_name(header.number, number))?;
        let (head, seed) = header.encode();
        Ok(Writer {
            job,
            number,
            file,
            seed,
            block: BlockBuf::default(),
            out: head.to_vec(),
            written: 0,
            synced: 0,
            part: None,
            parts: Vec::new(),
            sums: Sums::new(),
        })
    }

    /// Writes the rows of a range, in parts of their own.
    fn range(&mut self, table: TableId, range: &KeyRange) -> Result<()> {
        let job = self.job;
        let (mut rows, mut hash) = (0u64, 0u64);
        job.source.rows(table, range, &mut |row| {
            rows += 1;
            hash = hash.wrapping_add(hash_image(row));
            self.block.push(row);
            if self.block.bytes() >= job.options.block_bytes { self.end_block(table) } else { Ok(()) }
        })?;
        self.end_block(table)?;
        self.end_part();
        let sum = self.sums.entry(table).or_default();
        *sum = (sum.0 + rows, sum.1.wrapping_add(hash));
        Ok(())
    }

    fn end_block(&mut self, table: TableId) -> Result<()> {
        if self.block.rows() == 0 {
            return Ok(());
        }
        if let Some(error) = self.job.failed.get() {
            return Err(error.clone());
        }
        let at = self.written + self.out.len() as u64;
        let part = self.part.get_or_insert(Part {
            table,
            file: self.number,
            offset: at,
            bytes: 0,
            raw_bytes: 0,
            rows: 0,
            blocks: 0,
        });
        let rows = self.block.rows() as u64;
        part.rows += rows;
        part.raw_bytes += self.block.bytes() as u64;
        let ordinal = part.blocks as u32;
        part.blocks += 1;
        self.block.seal(&mut self.out, self.written, self.seed, table, ordinal);
        let size = self.written + self.out.len() as u64 - at;
        part.bytes += size;
        let full = part.raw_bytes >= self.job.options.part_bytes;
        if full {
            self.end_part();
        }
        if self.out.len() >= WRITE_BYTES {
            self.flush()?;
        }
        let rows = self.job.rows.fetch_add(rows, Ordering::Relaxed) + rows;
        let bytes = self.job.bytes.fetch_add(size, Ordering::Relaxed) + size;
        (self.job.tell)(WriteProgress { rows, of_rows: self.job.of_rows, bytes })
    }

    fn end_part(&mut self) {
        self.parts.extend(self.part.take());
    }

    fn flush(&mut self) -> Result<()> {
        self.file.write_at(&self.out, self.written)?;
        self.written += self.out.len() as u64;
        self.out.clear();
        if self.written - self.synced >= SYNC_BYTES {
            self.file.sync_data()?;
            self.synced = self.written;
        }
        Ok(())
    }
}
