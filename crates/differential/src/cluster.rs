//! A PostgreSQL cluster of one's own, in a temporary directory, reached over a socket in it.

use std::io::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A running server; stopped and removed when dropped.
pub struct Cluster {
    bin: PathBuf,
    directory: tempfile::TempDir,
}

/// The newest PostgreSQL 15 programs, if they are installed.
fn programs() -> Option<PathBuf> {
    let bin = PathBuf::from("/usr/lib/postgresql/15/bin");
    bin.join("postgres").exists().then_some(bin)
}

/// The server refuses to run as root: then it runs as the user `postgres`.
fn unprivileged(program: &Path) -> Command {
    let root = std::fs::metadata("/proc/self").is_ok_and(|m| std::os::unix::fs::MetadataExt::uid(&m) == 0);
    if !root {
        return Command::new(program);
    }
    let mut command = Command::new("runuser");
    command.args(["-u", "postgres", "--"]).arg(program);
    command
}

fn done(mut command: Command) -> Result<()> {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(Error::other(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr))))
}

impl Cluster {
    /// Starts one; `None` where PostgreSQL 15 is not installed.
    pub fn start() -> Result<Option<Cluster>> {
        let Some(bin) = programs() else { return Ok(None) };
        let directory = tempfile::Builder::new().prefix("differential").tempdir_in("/tmp")?;
        // The directory must be the other user's.
        let mut open = Command::new("chmod");
        open.arg("777").arg(directory.path());
        done(open)?;
        let data = directory.path().join("data");
        let mut init = unprivileged(&bin.join("initdb"));
        init.arg("-D").arg(&data).args(["-U", "postgres", "-A", "trust", "--locale=C.UTF-8", "-E", "UTF8"]);
        done(init)?;
        let socket = directory.path().display();
        let options = format!(
            "-k {socket} -c listen_addresses= -c fsync=off -c timezone=UTC -c statement_timeout=3s \
             -c max_connections=20 -c lc_messages=C -c shared_buffers=16MB -c wal_level=minimal -c max_wal_senders=0 \
             -c full_page_writes=off -c synchronous_commit=off -c jit=off -c max_wal_size=8GB"
        );
        let mut start = unprivileged(&bin.join("pg_ctl"));
        start.arg("-D").arg(&data).args(["-w", "-o", &options]);
        start.arg("-l").arg(directory.path().join("log")).arg("start").stdout(Stdio::null());
        // A daemon keeps pipes open: nothing is read from it.
        let status = start.stdin(Stdio::null()).stderr(Stdio::null()).status()?;
        if !status.success() {
            return Err(Error::other("PostgreSQL does not start"));
        }
        let cluster = Cluster { bin, directory };
        // Who policies are for.
        let mut role = cluster.psql();
        role.args(["-c", "CREATE ROLE reader"]);
        done(role)?;
        Ok(Some(cluster))
    }

    /// `psql` on it.
    pub fn psql(&self) -> Command {
        let mut psql = Command::new(self.bin.join("psql"));
        psql.args(["-X", "-A", "-t", "-U", "postgres", "-h"]).arg(self.directory.path()).arg("postgres");
        psql
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let mut stop = unprivileged(&self.bin.join("pg_ctl"));
        stop.arg("-D").arg(self.directory.path().join("data")).args(["-m", "immediate", "stop"]);
        let _ = stop.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        // Files of the other user are removed by it.
        let mut remove = unprivileged(Path::new("rm"));
        remove.arg("-rf").arg(self.directory.path().join("data"));
        let _ = remove.status();
    }
}
