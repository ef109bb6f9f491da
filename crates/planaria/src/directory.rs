//! Directories of databases and backups.

use planaria_base::{Error, Result, SqlState};
use planaria_log::DirectoryDevice;
use std::path::Path;
use std::sync::Arc;

/// The directory of a database, made if it is not there.
pub(crate) fn directory(path: &Path) -> Result<Arc<DirectoryDevice>> {
    if path.as_os_str().is_empty() {
        let message = "the name of the directory is empty";
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    let device = DirectoryDevice::open(path);
    device.map(Arc::new).map_err(|e| Error::file("open directory", path, e))
}
