//! Where clients come from: addresses of the network, and Unix domain sockets.

use crate::events::Events;
use crate::stream::Stream;
use planaria::{Error, Result, SqlState};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::{TcpListener, UnixListener};

/// See the module's head.
pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, SocketFile),
}

/// The file of a Unix domain socket; removed when dropped.
pub(crate) struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// 58000
fn cannot(place: &str, error: &io::Error) -> Error {
    Error::new(SqlState::SYSTEM_ERROR, format!("could not listen at {place}: {error}"))
}

impl Listener {
    /// Listens at an address. 58000 where it cannot be had.
    pub(crate) async fn tcp(address: SocketAddr) -> Result<Listener> {
        TcpListener::bind(address).await.map(Listener::Tcp).map_err(|e| {
            cannot(&address.to_string(), &e)
                .with_hint("Is another server running there? Use --listen for another address.")
        })
    }

    /// Listens at the socket in a directory where clients of PostgreSQL look for that port. The file of a server
    /// that is gone is replaced; everybody on the machine may connect. 58000 where it cannot be had.
    pub(crate) fn unix(directory: &Path, port: u16) -> Result<Listener> {
        let path = directory.join(format!(".s.PGSQL.{port}"));
        let place = path.display().to_string();
        if std::fs::symlink_metadata(&path).is_ok_and(|m| m.file_type().is_socket()) {
            if std::os::unix::net::UnixStream::connect(&path).is_ok() {
                let error = io::Error::from(io::ErrorKind::AddrInUse);
                return Err(cannot(&place, &error).with_hint("Another server is running there."));
            }
            std::fs::remove_file(&path).map_err(|e| cannot(&place, &e))?;
        }
        let listener = UnixListener::bind(&path).map_err(|e| cannot(&place, &e))?;
        let file = SocketFile(path);
        std::fs::set_permissions(&file.0, std::fs::Permissions::from_mode(0o777))
            .map_err(|e| cannot(&place, &e))?;
        Ok(Listener::Unix(listener, file))
    }

    /// The address of the network that it listens at.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        match self {
            Listener::Tcp(listener) => listener.local_addr().ok(),
            Listener::Unix(..) => None,
        }
    }

    /// The next client, and where it is, for people.
    pub(crate) async fn accept(&self, events: &Arc<Events>) -> io::Result<(Stream, String)> {
        match self {
            Listener::Tcp(listener) => {
                loop {
                    let (stream, peer) = listener.accept().await?;
                    // Who is gone already is no reason to stop.
                    if let Ok(stream) = stream.into_std().and_then(|stream| Stream::tcp(stream, events)) {
                        return Ok((stream, peer.to_string()));
                    }
                }
            }
            Listener::Unix(listener, file) => {
                let (stream, _) = listener.accept().await?;
                let stream = Stream::unix(stream.into_std()?, events)?;
                Ok((stream, file.0.display().to_string()))
            }
        }
    }
}
