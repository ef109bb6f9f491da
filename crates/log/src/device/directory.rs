//! A directory of the operating system's file system.

use super::{Device, DeviceFile, DeviceLock};
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const LOCK_FILE: &str = "lock";

/// A directory on disk, readable by its owner alone.
pub struct DirectoryDevice {
    path: PathBuf,
    directory: File,
    /// Nothing may be written.
    read_only: bool,
}

impl DirectoryDevice {
    /// Opens a directory, making it (and its parents) if it is not there. Whatever was made is there
    /// after a crash, too: every parent of a new directory is synced.
    pub fn open(path: impl AsRef<Path>) -> io::Result<DirectoryDevice> {
        let path = std::path::absolute(path)?;
        make_directory(&path)?;
        let directory = File::open(&path)?;
        Ok(DirectoryDevice { path, directory, read_only: false })
    }

    /// Opens a directory to look at it: an error where there is none, and where something were to be
    /// written. Its lock is shared with others who look.
    pub fn read_only(path: impl AsRef<Path>) -> io::Result<DirectoryDevice> {
        let path = std::path::absolute(path)?;
        let directory = File::open(&path)?;
        if !directory.metadata()?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(DirectoryDevice { path, directory, read_only: true })
    }

    fn lock_shared(&self) -> io::Result<DeviceLock> {
        match File::open(self.path.join(LOCK_FILE)) {
            Ok(file) => locked(file.try_lock_shared(), file, false),
            // Nobody has ever had it open.
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(DeviceLock::new(())),
            Err(e) => Err(e),
        }
    }

    fn writing(&self) -> io::Result<()> {
        if self.read_only { Err(io::ErrorKind::ReadOnlyFilesystem.into()) } else { Ok(()) }
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn options() -> OpenOptions {
        let mut options = OpenOptions::new();
        options.read(true).write(true).mode(0o600);
        options
    }
}

/// A lock file that is locked, until this is dropped. Closing it alone would not do: a process that is just being
/// started has a copy of every open file until it runs its program, and the lock would last as long.
struct Locked {
    file: File,
    /// The file says who has locked it.
    signed: bool,
}

impl Locked {
    /// Who has it is for people: an error is none.
    fn sign(file: File) -> Locked {
        let _ = file.set_len(0);
        let _ = file.write_all_at(std::process::id().to_string().as_bytes(), 0);
        Locked { file, signed: true }
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        if self.signed {
            let _ = self.file.set_len(0);
        }
        // An error would leave it to the closing of the file.
        let _ = self.file.unlock();
    }
}

/// Who has locked a directory, as far as its lock file says. It is what an error of the kind `ResourceBusy` holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holder {
    /// This process.
    This,
    /// Another one, by its number.
    Process(u32),
    /// Another one.
    Unknown,
}

impl Holder {
    /// Of a lock that was refused.
    pub fn of(error: &io::Error) -> Holder {
        let holder = error.get_ref().and_then(|inner| inner.downcast_ref::<Holder>());
        holder.copied().unwrap_or(Holder::Unknown)
    }

    fn read(file: &File) -> Holder {
        let mut bytes = [0; 10];
        let len = file.read_at(&mut bytes, 0).unwrap_or(0);
        let number = std::str::from_utf8(&bytes[..len]).ok().and_then(|text| text.parse().ok());
        match number {
            Some(own) if own == std::process::id() => Holder::This,
            // Who only looks does not sign, and who was killed has not taken its name out.
            Some(other) if Path::new(&format!("/proc/{other}")).exists() => Holder::Process(other),
            _ => Holder::Unknown,
        }
    }
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Holder::This => f.write_str("locked by this process"),
            Holder::Process(number) => write!(f, "locked by process {number}"),
            Holder::Unknown => f.write_str("locked by another process"),
        }
    }
}

impl std::error::Error for Holder {}

fn locked(outcome: Result<(), TryLockError>, file: File, sign: bool) -> io::Result<DeviceLock> {
    match outcome {
        Ok(()) if sign => Ok(DeviceLock::new(Locked::sign(file))),
        Ok(()) => Ok(DeviceLock::new(Locked { file, signed: false })),
        Err(TryLockError::WouldBlock) => {
            Err(io::Error::new(io::ErrorKind::ResourceBusy, Holder::read(&file)))
        }
        Err(TryLockError::Error(e)) => Err(e),
    }
}

fn make_directory(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let Some(parent) = path.parent() else { return Ok(()) };
    make_directory(parent)?;
    match std::fs::DirBuilder::new().mode(0o700).create(path) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
        other => other?,
    }
    File::open(parent)?.sync_all()
}

impl Device for DirectoryDevice {
    fn list(&self) -> io::Result<Vec<String>> {
        let failed = || naming("read directory", &self.path);
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.path).map_err(failed())? {
            let entry = entry.map_err(failed())?;
            if entry.file_type().map_err(failed())?.is_file() {
                // A name that is no UTF-8 is none of ours.
                names.extend(entry.file_name().into_string());
            }
        }
        Ok(names)
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DeviceFile>> {
        let mut options = Self::options();
        options.write(!self.read_only);
        let path = self.path.join(name);
        let file = options.open(&path).map_err(naming("open file", &path))?;
        Ok(Arc::new(DirectoryFile { file, path }))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DeviceFile>> {
        self.writing()?;
        let path = self.path.join(name);
        let file = Self::options().create_new(true).open(&path).map_err(naming("create file", &path))?;
        Ok(Arc::new(DirectoryFile { file, path }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.writing()?;
        let path = self.path.join(from);
        std::fs::rename(&path, self.path.join(to)).map_err(naming("rename file", &path))
    }

    fn delete(&self, name: &str) -> io::Result<()> {
        self.writing()?;
        let path = self.path.join(name);
        std::fs::remove_file(&path).map_err(naming("remove file", &path))
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.writing()?;
        self.directory.sync_all().map_err(naming("fsync directory", &self.path))
    }

    fn lock(&self) -> io::Result<DeviceLock> {
        if self.read_only {
            return self.lock_shared();
        }
        let path = self.path.join(LOCK_FILE);
        let open = Self::options().create(true).truncate(false).open(&path);
        let file = open.map_err(naming("open lock file", &path))?;
        locked(file.try_lock(), file, true)
    }

    fn describe(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }
}

/// What could not be done to what: the operating system's error does not say. Its kind stays.
fn naming<'p>(doing: &'static str, path: &'p Path) -> impl Fn(io::Error) -> io::Error + 'p {
    move |e| io::Error::new(e.kind(), format!("could not {doing} \"{}\": {e}", path.display()))
}

struct DirectoryFile {
    file: File,
    path: PathBuf,
}

impl DeviceFile for DirectoryFile {
    fn size(&self) -> io::Result<u64> {
        Ok(self.file.metadata().map_err(naming("stat file", &self.path))?.len())
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut done = 0;
        while done < buf.len() {
            match self.file.read_at(&mut buf[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(naming("read file", &self.path)(e)),
            }
        }
        Ok(done)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, offset).map_err(naming("write to file", &self.path))
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        self.file.set_len(size).map_err(naming("truncate file", &self.path))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data().map_err(naming("fsync file", &self.path))?;
        // What is in it would be gone with the process: it is no promise to keep.
        if self.file.metadata().map_err(naming("stat file", &self.path))?.nlink() == 0 {
            return Err(naming("keep file", &self.path)(io::Error::other("it has been removed")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_ends_while_others_have_the_file_open() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(LOCK_FILE);
        let file = DirectoryDevice::options().create(true).truncate(false).open(&path).unwrap();
        // What a process has that is being started.
        let copy = file.try_clone().unwrap();
        let lock = locked(file.try_lock(), file, true).unwrap();
        let device = DirectoryDevice::open(dir.path()).unwrap();
        let refused = device.lock().err().expect("it is locked");
        assert_eq!((refused.kind(), Holder::of(&refused)), (io::ErrorKind::ResourceBusy, Holder::This));
        drop(lock);
        drop(device.lock().unwrap());
        drop(copy);
    }
}
