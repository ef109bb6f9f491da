//! Devices: where log files live.
//!
//! A [`Device`] is one flat directory. What was written is safe from a crash only after
//! [`DeviceFile::sync_data`]; that a name exists, or exists no longer, only after
//! [`Device::sync_directory`]. [`DirectoryDevice`] is the real one; the simulated one, which keeps
//! exactly what was synced, is `planaria_sim::disk`.

mod directory;

pub use directory::{DirectoryDevice, Holder};

use std::io;
use std::sync::Arc;

/// A flat directory of files.
pub trait Device: Send + Sync + 'static {
    /// Names of all files, in no order.
    fn list(&self) -> io::Result<Vec<String>>;
    /// Opens a file that exists, for reading and writing.
    fn open(&self, name: &str) -> io::Result<Arc<dyn DeviceFile>>;
    /// Makes a file; an error if the name is taken.
    fn create(&self, name: &str) -> io::Result<Arc<dyn DeviceFile>>;
    /// Gives a file another name, replacing what had it.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a name.
    fn delete(&self, name: &str) -> io::Result<()>;
    /// Makes creations, renames and deletions so far survive a crash.
    fn sync_directory(&self) -> io::Result<()>;
    /// Takes the directory for this process and device; `ResourceBusy` if somebody has it. It is free
    /// again when the lock is dropped.
    fn lock(&self) -> io::Result<DeviceLock>;
    /// Where a file is, for people.
    fn describe(&self, name: &str) -> String;
}

/// An open file.
pub trait DeviceFile: Send + Sync {
    /// Bytes in it.
    fn size(&self) -> io::Result<u64>;
    /// Reads up to `buf.len()` bytes at `offset`; fewer only at the end of the file.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes all of `bytes` at `offset`.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Makes the file `size` bytes long; what is new reads as zero.
    fn set_size(&self, size: u64) -> io::Result<()>;
    /// Makes everything written so far, and the size, survive a crash (`fdatasync`). An error where the file
    /// has lost its name: nobody could read it after a crash.
    fn sync_data(&self) -> io::Result<()>;

    /// Writes zeros up to `size`, so that later writes there change no metadata: this halves the
    /// time of `fdatasync` on file systems that track which blocks were ever written.
    fn preallocate(&self, size: u64) -> io::Result<()> {
        const ZEROS: &[u8] = &[0; 1 << 18];
        let mut at = self.size()?;
        while at < size {
            let n = ZEROS.len().min((size - at) as usize);
            self.write_at(&ZEROS[..n], at)?;
            at += n as u64;
        }
        Ok(())
    }
}

/// Keeps a directory locked while it lives.
pub struct DeviceLock(#[allow(dead_code, reason = "dropping it is its use")] Box<dyn Send + Sync>);

impl DeviceLock {
    /// A lock that is released by dropping `guard`.
    pub fn new(guard: impl Send + Sync + 'static) -> DeviceLock {
        DeviceLock(Box::new(guard))
    }
}

/// Reads a whole file.
pub(crate) fn read_all(file: &dyn DeviceFile) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; file.size()? as usize];
    let n = file.read_at(&mut bytes, 0)?;
    bytes.truncate(n);
    Ok(bytes)
}

/// Deletes a file whose name is about to be given to another one. It is gone for good when this returns: else a crash
/// might keep the old file, and the name that the new one was given next.
pub fn make_way(device: &dyn Device, name: &str) -> io::Result<()> {
    device.delete(name)?;
    device.sync_directory()
}

/// Puts `bytes` under `name` so that a crash leaves the old content or the new, never a mixture.
pub fn replace(device: &dyn Device, name: &str, bytes: &[u8]) -> io::Result<()> {
    let draft = format!("{name}.new");
    if device.list()?.contains(&draft) {
        // A crash has left it.
        make_way(device, &draft)?;
    }
    let file = device.create(&draft)?;
    file.write_at(bytes, 0)?;
    file.sync_data()?;
    device.rename(&draft, name)?;
    device.sync_directory()
}
