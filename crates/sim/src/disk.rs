//! A simulated disk that keeps, over a crash, exactly what it must: what was synced.
//!
//! The running system sees every write at once. A crash ([`SimDisk::crash`]) starts from what was
//! synced and then lets chance decide, from a seed:
//!
//! - of each write that was not synced, sector by sector, whether it arrived (so writes are lost, torn
//!   and reordered; a sector is old or new, never mixed);
//! - of each change of a file's size that was not synced, whether it arrived;
//! - of each creation, rename and delete since the directory was synced, whether it arrived; what
//!   depends on one that did not is lost with it. A file whose name was lost is lost.
//!
//! Power can fail at any single operation ([`SimDisk::fail_power_at`]): that one may or may not take
//! effect, and all later ones are errors until the crash. A failed sync (`fail_sync_at`) drops what
//! it was to write, as Linux does: later syncs succeed without it.
//!
//! Faults at a number from the beginning are for disks that nobody else uses meanwhile. Where threads go on,
//! who counts first and arms then is late: those `after` so many count and arm in one step, and
//! [`SimDisk::fail_syncs_of`] says which file is meant.
//!
//! A disk may also lie: a write goes elsewhere ([`SimDisk::misdirect_write_at`]) or nowhere, bits flip
//! ([`SimDisk::flip_bit`]), and a read fails ([`SimDisk::fail_read_at`]).

use crate::dice::Dice;
use planaria_base::sync::simulation::note;
use planaria_base::sync::{Mutex, MutexGuard, thread};
use planaria_log::{Device, DeviceFile, DeviceLock};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Bytes that are written whole or not at all.
pub const SECTOR: usize = 512;

/// The disk; clones are the same disk. Handles opened before a crash are dead after it.
#[derive(Clone, Default)]
pub struct SimDisk(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    boot: u64,
    files: Vec<FileState>,
    names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
    pending_names: Vec<NameChange>,
    locked: bool,
    power_failed: bool,
    operations: u64,
    syncs: u64,
    reads: u64,
    struck: bool,
    faults: Faults,
    chance: Dice,
    /// Where the disk is watched: as it was before each operation since.
    watched: Option<Vec<SimDisk>>,
}

#[derive(Default)]
struct Faults {
    power_at: Option<u64>,
    sync_at: Option<u64>,
    syncs_of: Option<String>,
    write_at: Option<u64>,
    read_at: Option<u64>,
    misdirected: Option<(u64, Astray)>,
    capacity: Option<u64>,
    sync_delay: Duration,
}

#[derive(Clone, Default)]
struct FileState {
    /// What the running system sees.
    now: Vec<u8>,
    /// What survives a crash for certain.
    durable: Vec<u8>,
    /// What leads from the one to the other, in order.
    pending: Vec<Change>,
    /// Bytes that take room on the disk: a file that was only made longer takes none.
    allocated: usize,
}

#[derive(Clone)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Size(usize),
}

#[derive(Clone)]
enum NameChange {
    Create(String, usize),
    Rename(String, String),
    Delete(String),
}

/// How much of what was not synced a crash lets through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Survival {
    /// Nothing.
    Nothing,
    /// Everything: it all reached the disk just in time.
    Everything,
    /// Each sector, size and name by chance.
    Chance,
}

/// Where a misdirected write goes; the disk says that all is well.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Astray {
    /// Nowhere.
    Lost,
    /// So many bytes behind its place in its file; before it, if negative.
    By(i64),
    /// To its place in another file.
    Into(String),
}

impl SimDisk {
    /// A disk that has these files, all of them synced.
    pub fn with_files(files: &BTreeMap<String, Vec<u8>>, seed: u64) -> SimDisk {
        let disk = SimDisk::new(seed);
        files.iter().for_each(|(name, content)| disk.put(name, content));
        disk
    }

    /// All files as the running system sees them.
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let state = self.state();
        state.names.iter().map(|(name, &file)| (name.clone(), state.files[file].now.clone())).collect()
    }

    /// An empty disk; `seed` decides what chance decides.
    pub fn new(seed: u64) -> SimDisk {
        let disk = SimDisk::default();
        disk.state().chance = Dice::of_seed(seed);
        disk
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }

    /// Operations that changed or synced something, so far.
    pub fn operations(&self) -> u64 {
        self.state().operations
    }

    /// Syncs of files, so far.
    pub fn syncs(&self) -> u64 {
        self.state().syncs
    }

    /// Lets the power fail at the operation with this number, counted from 0 on a new disk.
    pub fn fail_power_at(&self, operation: u64) {
        self.state().faults.power_at = Some(operation);
    }

    /// Lets the power fail after so many operations more.
    pub fn fail_power_after(&self, operations: u64) {
        let state = &mut *self.state();
        state.faults.power_at = Some(state.operations + operations);
    }

    /// Whether the power failed.
    pub fn power_failed(&self) -> bool {
        self.state().power_failed
    }

    /// Lets the sync with this number (from 0) fail and lose what it was to write.
    pub fn fail_sync_at(&self, sync: u64) {
        self.state().faults.sync_at = Some(sync);
    }

    /// Lets the sync after so many more fail.
    pub fn fail_sync_after(&self, syncs: u64) {
        let state = &mut *self.state();
        state.faults.sync_at = Some(state.syncs + syncs);
    }

    /// Lets every sync from now on fail of a file whose name ends so.
    pub fn fail_syncs_of(&self, suffix: &str) {
        self.state().faults.syncs_of = Some(suffix.to_owned());
    }

    /// Whether an operation failed or went astray since the last crash, as it was told to.
    pub fn struck(&self) -> bool {
        self.state().struck
    }

    /// Reads, so far.
    pub fn reads(&self) -> u64 {
        self.state().reads
    }

    /// Lets the read with this number (from 0) fail.
    pub fn fail_read_at(&self, read: u64) {
        self.state().faults.read_at = Some(read);
    }

    /// Lets the read after so many more fail.
    pub fn fail_read_after(&self, reads: u64) {
        let state = &mut *self.state();
        state.faults.read_at = Some(state.reads + reads);
    }

    /// Lets the operation with this number, if it is a write, go astray, and be reported as done.
    pub fn misdirect_write_at(&self, operation: u64, to: Astray) {
        self.state().faults.misdirected = Some((operation, to));
    }

    /// Lets the operation with this number fail if it is a write.
    pub fn fail_write_at(&self, operation: u64) {
        self.state().faults.write_at = Some(operation);
    }

    /// Limits the bytes in all files together; `None` lifts the limit.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.state().faults.capacity = bytes;
    }

    /// Makes every sync of a file take at least this long.
    pub fn set_sync_delay(&self, delay: Duration) {
        self.state().faults.sync_delay = delay;
    }

    /// The machine stops and starts again: all handles and the lock are gone, faults are lifted, and of
    /// what was not synced survives what `survival` says.
    pub fn crash(&self, survival: Survival) {
        let state = &mut *self.state();
        state.boot += 1;
        state.locked = false;
        (state.power_failed, state.struck) = (false, false);
        state.faults = Faults::default();
        let chance = &mut state.chance;
        let mut survives = move || match survival {
            Survival::Nothing => false,
            Survival::Everything => true,
            Survival::Chance => chance.draw().is_multiple_of(2),
        };
        for change in state.pending_names.drain(..) {
            if survives() {
                change.apply(&mut state.durable_names);
            }
        }
        state.names = state.durable_names.clone();
        for file in &mut state.files {
            for change in file.pending.drain(..) {
                change.apply_partly(&mut file.durable, &mut survives);
            }
            file.now = file.durable.clone();
            file.allocated = file.now.len();
        }
    }

    /// The process dies, the system does not: handles and lock are gone, all that was written is still to
    /// be read, and what was not synced is as unsafe as before.
    pub fn kill(&self) {
        let state = &mut *self.state();
        state.boot += 1;
        state.locked = false;
        (state.power_failed, state.struck) = (false, false);
        state.faults = Faults::default();
    }

    /// Keeps a copy of the disk from before each operation, until [`SimDisk::watched`] asks for them.
    pub fn watch(&self) {
        self.state().watched = Some(Vec::new());
    }

    /// The disk before each operation since it is watched, and as it is now: a machine whose power fails meanwhile
    /// finds one of them, after a [crash](SimDisk::crash).
    pub fn watched(&self) -> Vec<SimDisk> {
        let mut state = self.state();
        let mut copies = state.watched.take().unwrap_or_default();
        copies.push(state.copy());
        copies
    }

    /// Inverts a bit of a file, on disk and as the running system sees it.
    pub fn flip_bit(&self, name: &str, bit: u64) {
        let mut state = self.state();
        let file = state.names[name];
        let file = &mut state.files[file];
        let (byte, mask) = (bit as usize / 8, 1 << (bit % 8));
        for content in [&mut file.now, &mut file.durable] {
            if let Some(b) = content.get_mut(byte) {
                *b ^= mask;
            }
        }
    }

    /// The content of a file as the running system sees it.
    pub fn content(&self, name: &str) -> Option<Vec<u8>> {
        let state = self.state();
        state.names.get(name).map(|&file| state.files[file].now.clone())
    }

    /// Sets a file's content, as if it had been there and synced always.
    pub fn put(&self, name: &str, content: &[u8]) {
        let mut state = self.state();
        let (now, durable, allocated) = (content.into(), content.into(), content.len());
        state.files.push(FileState { now, durable, pending: Vec::new(), allocated });
        let file = state.files.len() - 1;
        state.names.insert(name.into(), file);
        state.durable_names.insert(name.into(), file);
    }

    /// The device of the system that runs now.
    pub fn device(&self) -> Arc<dyn Device> {
        Arc::new(SimDevice { disk: self.clone(), boot: self.state().boot })
    }
}

impl State {
    /// Counts an operation. `Ok(false)`: the power fails before it takes effect; `Ok(true)`: go on, then
    /// ask [`State::done`].
    fn begin(&mut self, boot: u64) -> io::Result<bool> {
        self.alive(boot)?;
        if self.watched.is_some() {
            let copy = self.copy();
            self.watched.iter_mut().for_each(|copies| copies.push(copy.clone()));
        }
        let number = self.operations;
        self.operations += 1;
        note(|| number);
        if self.faults.power_at == Some(number) {
            (self.power_failed, self.struck) = (true, true);
            return Ok(self.chance.draw().is_multiple_of(2));
        }
        Ok(true)
    }

    /// The same files on another disk, with what is not synced; its system is another, too.
    fn copy(&self) -> SimDisk {
        let disk = SimDisk::new(0);
        {
            let mut copy = disk.state();
            copy.files.clone_from(&self.files);
            copy.names.clone_from(&self.names);
            copy.durable_names.clone_from(&self.durable_names);
            copy.pending_names.clone_from(&self.pending_names);
            copy.chance = self.chance.clone();
        }
        disk
    }

    fn alive(&self, boot: u64) -> io::Result<()> {
        if self.power_failed || self.boot != boot { Err(power_failure()) } else { Ok(()) }
    }

    /// The outcome of an operation that took effect.
    fn done(&self) -> io::Result<()> {
        if self.power_failed { Err(power_failure()) } else { Ok(()) }
    }

    /// Whether this sync of a file is to fail.
    fn sync_fails(&self, file: usize, number: u64) -> bool {
        let named = |suffix: &String| self.names.iter().any(|(name, f)| *f == file && name.ends_with(suffix));
        self.faults.sync_at == Some(number) || self.faults.syncs_of.as_ref().is_some_and(named)
    }

    fn used(&self) -> u64 {
        self.names.values().map(|&file| self.files[file].allocated as u64).sum()
    }
}

fn power_failure() -> io::Error {
    io::Error::other("simulated power failure")
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<String, usize>) {
        match self {
            NameChange::Create(name, file) => {
                names.insert(name.clone(), *file);
            }
            NameChange::Rename(from, to) => {
                if let Some(file) = names.remove(from) {
                    names.insert(to.clone(), file);
                }
            }
            NameChange::Delete(name) => {
                names.remove(name);
            }
        }
    }
}

impl Change {
    fn apply(&self, content: &mut Vec<u8>) {
        self.apply_partly(content, &mut || true);
    }

    fn apply_partly(&self, content: &mut Vec<u8>, survives: &mut impl FnMut() -> bool) {
        match self {
            Change::Write { offset, bytes } => {
                let mut at = *offset;
                let mut rest = &bytes[..];
                while !rest.is_empty() {
                    let n = rest.len().min(SECTOR - at % SECTOR);
                    let (sector, next) = rest.split_at(n);
                    if survives() {
                        let end = at + n;
                        content.resize(content.len().max(end), 0);
                        content[at..end].copy_from_slice(sector);
                    }
                    (at, rest) = (at + n, next);
                }
            }
            Change::Size(size) => {
                if survives() {
                    content.resize(*size, 0);
                }
            }
        }
    }
}

struct SimDevice {
    disk: SimDisk,
    boot: u64,
}

impl SimDevice {
    fn change_names(&self, make: impl FnOnce(&mut State) -> io::Result<NameChange>) -> io::Result<()> {
        let state = &mut *self.disk.state();
        if state.begin(self.boot)? {
            let change = make(state)?;
            change.apply(&mut state.names);
            state.pending_names.push(change);
        }
        state.done()
    }
}

impl Device for SimDevice {
    fn list(&self) -> io::Result<Vec<String>> {
        let state = self.disk.state();
        state.alive(self.boot)?;
        Ok(state.names.keys().cloned().collect())
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DeviceFile>> {
        let state = self.disk.state();
        state.alive(self.boot)?;
        let file = *state.names.get(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(Arc::new(SimFile { disk: self.disk.clone(), boot: self.boot, file }))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DeviceFile>> {
        self.change_names(|state| {
            if state.names.contains_key(name) {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            state.files.push(FileState::default());
            Ok(NameChange::Create(name.into(), state.files.len() - 1))
        })?;
        self.open(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.change_names(|state| match state.names.contains_key(from) {
            true => Ok(NameChange::Rename(from.into(), to.into())),
            false => Err(io::ErrorKind::NotFound.into()),
        })
    }

    fn delete(&self, name: &str) -> io::Result<()> {
        self.change_names(|state| match state.names.contains_key(name) {
            true => Ok(NameChange::Delete(name.into())),
            false => Err(io::ErrorKind::NotFound.into()),
        })
    }

    fn sync_directory(&self) -> io::Result<()> {
        let state = &mut *self.disk.state();
        if state.begin(self.boot)? {
            for change in state.pending_names.drain(..) {
                change.apply(&mut state.durable_names);
            }
        }
        state.done()
    }

    fn lock(&self) -> io::Result<DeviceLock> {
        let mut state = self.disk.state();
        state.alive(self.boot)?;
        if std::mem::replace(&mut state.locked, true) {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        Ok(DeviceLock::new(SimLock { disk: self.disk.clone(), boot: self.boot }))
    }

    fn describe(&self, name: &str) -> String {
        format!("sim/{name}")
    }
}

struct SimLock {
    disk: SimDisk,
    boot: u64,
}

impl Drop for SimLock {
    fn drop(&mut self) {
        let mut state = self.disk.state();
        if state.boot == self.boot {
            state.locked = false;
        }
    }
}

struct SimFile {
    disk: SimDisk,
    boot: u64,
    file: usize,
}

impl DeviceFile for SimFile {
    fn size(&self) -> io::Result<u64> {
        let state = self.disk.state();
        state.alive(self.boot)?;
        Ok(state.files[self.file].now.len() as u64)
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let state = &mut *self.disk.state();
        state.alive(self.boot)?;
        let number = state.reads;
        state.reads += 1;
        if state.faults.read_at == Some(number) {
            state.struck = true;
            let name = state.names.iter().find(|(_, file)| **file == self.file).map_or("", |(name, _)| name);
            return Err(io::Error::other(format!("simulated error in reading sim/{name}")));
        }
        let content = &state.files[self.file].now;
        let rest = content.get(offset as usize..).unwrap_or_default();
        let n = rest.len().min(buf.len());
        buf[..n].copy_from_slice(&rest[..n]);
        Ok(n)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let state = &mut *self.disk.state();
        let number = state.operations;
        note(|| {
            let mut hash = DefaultHasher::new();
            (self.file, offset, bytes).hash(&mut hash);
            hash.finish()
        });
        if state.begin(self.boot)? {
            if state.faults.write_at == Some(number) {
                state.struck = true;
                return Err(io::Error::other("simulated write error"));
            }
            let (mut file, mut offset) = (self.file, offset);
            let astray = state.faults.misdirected.as_ref().is_some_and(|(at, _)| *at == number);
            if let Some((_, to)) = state.faults.misdirected.take_if(|(at, _)| *at == number) {
                state.struck = true;
                match to {
                    Astray::Lost => return state.done(),
                    Astray::By(bytes) => offset = offset.saturating_add_signed(bytes),
                    Astray::Into(name) => file = state.names.get(&name).copied().unwrap_or(file),
                }
            }
            let size = state.files[file].allocated as u64;
            let growth = (offset + bytes.len() as u64).saturating_sub(size);
            let room = state.faults.capacity.map_or(u64::MAX, |c| c.saturating_sub(state.used()));
            // A write that does not fit is cut where the disk is full.
            let fits = bytes.len() - (growth.saturating_sub(room) as usize).min(bytes.len());
            let change = Change::Write { offset: offset as usize, bytes: bytes[..fits].into() };
            change.apply(&mut state.files[file].now);
            let end = offset as usize + fits;
            state.files[file].allocated = state.files[file].allocated.max(end);
            if astray {
                // No sync of that file will be asked for.
                change.apply(&mut state.files[file].durable);
            } else {
                state.files[file].pending.push(change);
            }
            if fits < bytes.len() {
                state.struck = true;
                return Err(io::ErrorKind::StorageFull.into());
            }
        }
        state.done()
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        let state = &mut *self.disk.state();
        if state.begin(self.boot)? {
            let change = Change::Size(size as usize);
            let file = &mut state.files[self.file];
            change.apply(&mut file.now);
            file.pending.push(change);
            file.allocated = file.allocated.min(size as usize);
        }
        state.done()
    }

    fn sync_data(&self) -> io::Result<()> {
        let delay = self.disk.state().faults.sync_delay;
        if !delay.is_zero() {
            thread::sleep(delay);
        }
        let state = &mut *self.disk.state();
        if state.begin(self.boot)? {
            let number = state.syncs;
            state.syncs += 1;
            let fails = state.sync_fails(self.file, number);
            let file = &mut state.files[self.file];
            if fails {
                state.struck = true;
                file.pending.clear();
                return Err(io::Error::other("simulated sync error"));
            }
            for change in file.pending.drain(..) {
                change.apply(&mut file.durable);
            }
        }
        state.done()
    }
}
