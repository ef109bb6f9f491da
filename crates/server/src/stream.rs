//! A client's socket, encrypted or not.

use crate::events::{Events, Socket};
use crate::tls::Tls;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::server::TlsStream;

/// See the module's head.
pub(crate) enum Stream {
    Tcp(Socket<TcpStream>),
    Unix(Socket<UnixStream>),
    /// With what a login can be bound to the certificate by, which a reload of the settings may have changed since.
    Tls(Box<TlsStream<Socket<TcpStream>>>, Option<Arc<[u8]>>),
}

/// Silence after which the network is asked whether the client is still there; and how often.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(60);
const KEEPALIVE_EVERY: Duration = Duration::from_secs(15);

impl Stream {
    /// A connection that was accepted.
    pub(crate) fn tcp(stream: TcpStream, events: &Arc<Events>) -> io::Result<Stream> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let keepalive =
            socket2::TcpKeepalive::new().with_time(KEEPALIVE_AFTER).with_interval(KEEPALIVE_EVERY);
        socket2::SockRef::from(&stream).set_tcp_keepalive(&keepalive)?;
        Ok(Stream::Tcp(Socket::new(stream, events)?))
    }

    /// The same by a Unix domain socket.
    pub(crate) fn unix(stream: UnixStream, events: &Arc<Events>) -> io::Result<Stream> {
        stream.set_nonblocking(true)?;
        Ok(Stream::Unix(Socket::new(stream, events)?))
    }

    /// Where the client is; `None` for one of this machine, by a Unix domain socket.
    pub(crate) fn peer(&self) -> Option<SocketAddr> {
        match self {
            Stream::Tcp(stream) => stream.get_ref().peer_addr().ok(),
            Stream::Unix(_) => None,
            Stream::Tls(stream, _) => stream.get_ref().0.get_ref().peer_addr().ok(),
        }
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        matches!(self, Stream::Tls(..))
    }

    /// What a login by this connection can be bound to it by.
    pub(crate) fn binding(&self) -> Option<Arc<[u8]>> {
        match self {
            Stream::Tls(_, binding) => binding.clone(),
            Stream::Tcp(_) | Stream::Unix(_) => None,
        }
    }

    /// Whether encrypting it makes sense: what goes through a Unix domain socket does not leave the machine.
    pub(crate) fn is_plain_tcp(&self) -> bool {
        matches!(self, Stream::Tcp(_))
    }

    /// Goes on encrypted.
    pub(crate) async fn encrypt(self, tls: &Tls) -> io::Result<Stream> {
        match self {
            Stream::Tcp(stream) => {
                Ok(Stream::Tls(Box::new(tls.acceptor.accept(stream).await?), tls.binding.clone()))
            }
            other => Ok(other),
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
            Stream::Unix(stream) => Pin::new(stream).poll_read(cx, buf),
            Stream::Tls(stream, _) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_write(cx, buf),
            Stream::Unix(stream) => Pin::new(stream).poll_write(cx, buf),
            Stream::Tls(stream, _) => Pin::new(stream).poll_write(cx, buf),
        }
    }
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Unix(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Tls(stream, _) => Pin::new(stream).poll_flush(cx),
        }
    }
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Tls(stream, _) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
