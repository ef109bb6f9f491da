//! Directories of databases and backups.

use planaria_base::{Error, Result, SqlState};
use planaria_log::DirectoryDevice;
use std::path::Path;
use std::sync::Arc;

/// The directory of a database that is to be opened, made if it is not there. 55000 where there is something in it, but no
/// database: nobody wants one among the files of something else.
pub(crate) fn directory_of_database(path: &Path) -> Result<Arc<DirectoryDevice>> {
    let names = std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    let is_ours = |name: &String| {
        matches!(name.as_str(), "lock" | "manifest")
            || name.ends_with(".log")
            || name.starts_with("checkpoint-")
            || name.starts_with("spare-")
    };
    // What file systems and their users put everywhere is in nobody's way, and settings of the server may come first.
    let is_settings = |name: &str| name.starts_with("planaria.") && name.ends_with(".toml");
    let is_something = |name: &&String| !name.starts_with('.') && *name != "lost+found" && !is_settings(name);
    if !names.iter().any(is_ours)
        && let Some(name) = names.iter().find(is_something)
    {
        let message = format!("directory \"{}\" is not empty, and holds no database", path.display());
        return Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
            .with_detail(format!("It has \"{name}\" in it."))
            .with_hint("Choose an empty directory, or one that does not exist yet."));
    }
    directory(path)
}

/// A directory, made if it is not there.
pub(crate) fn directory(path: &Path) -> Result<Arc<DirectoryDevice>> {
    if path.as_os_str().is_empty() {
        let message = "the name of the directory is empty";
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    let device = DirectoryDevice::open(path);
    device.map(Arc::new).map_err(|e| Error::file("open directory", path, e))
}
