//! The server: listens, lets clients in, stops.

use crate::clients::Registry;
use crate::config::{Authentication, Config};
use crate::connection::{End, serve};
use crate::crew::{Crew, Door};
use crate::doors::Doors;
use crate::events::Events;
use crate::listen::Listener;
use crate::lobby::{Lobby, origin};
use crate::metrics::Metrics;
use crate::pool::SessionPool;
use crate::settings::Source;
use crate::shapes::Shapes;
use crate::spool::Room;
use crate::statements::Statements;
use crate::stream::Stream;
use crate::throttle::Throttle;
use arc_swap::{ArcSwap, Guard};
use parking_lot::Mutex;
use planaria::serving::ServedDatabase;
use planaria::{Database, Error, Result, SqlState};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// From the moment that all have to go until nobody is waited for.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Connections that may be about to say who they are, at least.
const LOBBY_MIN: usize = 256;

/// What all connections share.
pub(crate) struct Shared {
    config: ArcSwap<Config>,
    /// Where it is from.
    pub(crate) source: OnceLock<Arc<dyn Source>>,
    pub(crate) statements: Statements,
    pub(crate) started: SystemTime,
    /// When the settings were read last.
    pub(crate) loaded: Mutex<SystemTime>,
    pub(crate) sessions: SessionPool,
    pub(crate) shapes: Arc<Shapes>,
    pub(crate) clients: Arc<Registry>,
    pub(crate) metrics: Metrics,
    /// For answers that wait in files, of all connections.
    pub(crate) room: Arc<Room>,
    /// Of this database: from it roles that do not exist have their salts.
    pub(crate) secret: [u8; 16],
    pub(crate) throttle: Throttle,
    /// Connections that have not said yet who they are.
    lobby: Arc<Lobby>,
    /// Clients that were let in.
    open: AtomicUsize,
}

/// Where a server is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// Clients come and go.
    Running,
    /// None is let in; those that are go when their transaction is over.
    Draining,
    /// All have to go.
    Stopping,
}

/// A server that listens.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use planaria_server::{Config, Server};
/// let db = std::sync::Arc::new(planaria::Database::in_memory()?);
/// let config = Config { listen: vec!["127.0.0.1:0".parse()?], ..Config::default() };
/// let server = Server::bind(db, config)?;
/// println!("psql -h 127.0.0.1 -p {}", server.addresses()[0].port());
/// server.stopper().stop();        // from another thread, usually
/// server.run()?;
/// # Ok(()) }
/// ```
pub struct Server {
    // First what has connections, then what their timers need.
    crew: Crew,
    runtime: Runtime,
    listeners: Vec<Listener>,
    addresses: Vec<SocketAddr>,
    shared: Arc<Shared>,
    phase: Arc<watch::Sender<Phase>>,
}

/// Stops a server, from any thread.
#[derive(Clone)]
pub struct Stopper(Arc<watch::Sender<Phase>>);

impl Stopper {
    /// Has the server stop: no client is let in any more; those without a transaction are sent away, the
    /// others when it is over, or when the time for that is up.
    pub fn stop(&self) {
        self.0.send_if_modified(|phase| {
            let running = *phase == Phase::Running;
            if running {
                *phase = Phase::Draining;
            }
            running
        });
    }
}

impl Server {
    /// Listens at the addresses of the configuration. Errors: 58000 with the address that cannot be had, 22023
    /// where the configuration contradicts itself.
    pub fn bind(db: Arc<Database>, config: Config) -> Result<Server> {
        Ok(Server::behind(Doors::open(config)?, db))
    }

    /// Lets clients in by doors that are open already.
    pub fn behind(doors: Doors, db: Arc<Database>) -> Server {
        let (runtime, crew, listeners, addresses, config, hangups) = doors.into_parts();
        let max = config.max_connections;
        let shared = Arc::new(Shared {
            room: Room::of_server(config.max_temp_bytes as u64),
            lobby: Lobby::new(config.max_startups_per_address, max.max(LOBBY_MIN)),
            config: ArcSwap::from_pointee(config),
            source: OnceLock::new(),
            statements: Statements::default(),
            started: SystemTime::now(),
            loaded: Mutex::new(SystemTime::now()),
            secret: db.identity().unwrap_or_else(rand::random),
            sessions: SessionPool::new(db),
            shapes: Arc::new(Shapes::default()),
            clients: Arc::new(Registry::default()),
            metrics: Metrics::default(),
            throttle: Throttle::default(),
            open: AtomicUsize::new(0),
        });
        let clients: Arc<dyn planaria::serving::Clients> = shared.clients.clone();
        shared.sessions.database().served_to(&clients);
        let host: Arc<dyn planaria::serving::Host> = shared.clone();
        shared.sessions.database().hosted_by(&host);
        hangups.hears(&shared);
        shared.tell_who_is_trusted();
        let (phase, _) = watch::channel(Phase::Running);
        Server { crew, runtime, listeners, addresses, shared, phase: Arc::new(phase) }
    }

    /// Where it listens.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    pub(crate) fn shared(&self) -> Arc<Shared> {
        self.shared.clone()
    }

    /// Where its settings are from: then SQL shows and changes them, and SIGHUP has them read again.
    pub fn settings_from(&self, source: Arc<dyn Source>) {
        // The first stays.
        let _ = self.shared.source.set(source);
    }

    /// A handle that stops it.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.phase.clone())
    }

    /// Has SIGTERM and SIGINT stop the server; a second one stops it at once.
    pub fn stop_on_signals(&self) -> Result<()> {
        use tokio::signal::unix::{SignalKind, signal};
        let _in_runtime = self.runtime.enter();
        let (mut terminate, mut interrupt) =
            (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let phase = self.phase.clone();
        self.runtime.spawn(async move {
            loop {
                let name = tokio::select! {
                    _ = terminate.recv() => "SIGTERM",
                    _ = interrupt.recv() => "SIGINT",
                };
                let next = if *phase.borrow() == Phase::Running { Phase::Draining } else { Phase::Stopping };
                match next {
                    Phase::Draining => {
                        tracing::info!("{name}: shutting down once open transactions have ended")
                    }
                    _ => tracing::info!("{name}: shutting down at once"),
                }
                phase.send_replace(next);
            }
        });
        Ok(())
    }

    /// Serves until it is stopped and all clients are gone.
    pub fn run(self) -> Result<()> {
        let Server { crew, runtime, listeners, shared, phase, .. } = self;
        runtime.block_on(async {
            let mut changes = phase.subscribe();
            let clients = shared.clients.clone();
            tokio::spawn(async move {
                while changes.changed().await.is_ok() {
                    clients.wake_all();
                }
            });
            let (here, mut count) = watch::channel(0);
            let here = Arc::new(here);
            let mut accepting = JoinSet::new();
            for listener in listeners {
                let events = crew.events().clone();
                let lets_in = LetsIn {
                    shared: shared.clone(),
                    phase: phase.clone(),
                    here: here.clone(),
                    crew: crew.door(),
                };
                accepting.spawn(async move { lets_in.accept(listener, &events).await });
            }
            while accepting.join_next().await.is_some() {}
            let mut changes = phase.subscribe();
            let stopped = changes.wait_for(|phase| *phase == Phase::Stopping);
            tokio::select! {
                () = all_gone(&mut count) => return,
                _ = stopped => {}
                () = tokio::time::sleep(shared.config().drain_timeout) => {
                    let time = shared.config().drain_timeout;
                    tracing::warn!("transactions are still open after {time:?}; closing their connections");
                    phase.send_replace(Phase::Stopping);
                }
            }
            // What still runs is cancelled; who begins anew meanwhile is cancelled too.
            let last = Instant::now() + LAST_WORDS;
            while Instant::now() < last {
                shared.clients.cancel_all();
                if tokio::time::timeout(Duration::from_millis(50), all_gone(&mut count)).await.is_ok() {
                    return;
                }
            }
            tracing::error!("some statements could not be stopped");
        });
        drop(crew);
        runtime.shutdown_timeout(Duration::from_secs(5));
        Ok(())
    }
}

impl Shared {
    /// How it behaves now.
    pub(crate) fn config(&self) -> Guard<Arc<Config>> {
        self.config.load()
    }

    /// It is to behave so from now on.
    pub(crate) fn behave(&self, config: Config) {
        self.config.store(Arc::new(config));
    }

    /// Clients that were let in.
    pub(crate) fn connections(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Whether there is any place for one more; 53300 where there is none.
    pub(crate) fn has_place(&self) -> Result<()> {
        if self.connections() < self.config().max_connections {
            return Ok(());
        }
        Err(Error::new(SqlState::TOO_MANY_CONNECTIONS, "sorry, too many clients already"))
    }

    fn tell_who_is_trusted(&self) {
        let had_passwords = self.sessions.database().had_passwords();
        match self.config().authentication {
            Authentication::Auto if !had_passwords => tracing::warn!(
                "no role has had a password yet: anyone on this machine can connect as any role; connections from other machines are refused"
            ),
            Authentication::Trust => {
                tracing::warn!("authentication is trust: anyone on this machine can connect as any role");
            }
            Authentication::Password if !had_passwords => {
                tracing::warn!("authentication is password, but no role has a password: nobody can connect");
            }
            _ => {}
        }
    }
}

async fn all_gone(here: &mut watch::Receiver<usize>) {
    // Nobody is left who could come where nobody counts any more.
    let _ = here.wait_for(|n| *n == 0).await;
}

/// Lets clients in.
struct LetsIn {
    shared: Arc<Shared>,
    phase: Arc<watch::Sender<Phase>>,
    /// How many are here, whoever they are.
    here: Arc<watch::Sender<usize>>,
    crew: Door,
}

/// One of those who are here.
struct Here(Arc<watch::Sender<usize>>);

impl Drop for Here {
    fn drop(&mut self) {
        self.0.send_modify(|n| *n -= 1);
    }
}

impl LetsIn {
    /// Lets clients in until the server stops.
    async fn accept(self, listener: Listener, events: &Arc<Events>) {
        let mut changes = self.phase.subscribe();
        loop {
            if *changes.borrow_and_update() != Phase::Running {
                return;
            }
            tokio::select! {
                accepted = listener.accept(events) => match accepted {
                    Ok((stream, peer)) => self.let_in(stream, peer),
                    Err(error) => {
                        // Out of file descriptors, most likely: some will be free soon.
                        tracing::error!("a connection could not be accepted: {error}");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                },
                _ = changes.changed() => {}
            }
        }
    }

    fn let_in(&self, stream: Stream, peer: String) {
        self.shared.metrics.connections.fetch_add(1, Ordering::Relaxed);
        let guest = self.shared.lobby.enter(origin(stream.peer()));
        let (shared, phase) = (self.shared.clone(), self.phase.subscribe());
        self.here.send_modify(|n| *n += 1);
        let here = Here(self.here.clone());
        self.crew.serve(async move {
            let _here = here;
            match serve(shared, stream, guest, phase).await {
                End::Closed | End::LogFailed(_) => tracing::debug!(peer, "closed"),
                End::Lost(error) => tracing::debug!(peer, "lost: {error}"),
                End::Slow => tracing::warn!(peer, "connection closed: the client does not read its results"),
            }
        });
    }
}

/// The place of a client that was let in.
pub(crate) struct Place(Arc<Shared>);

impl Place {
    /// 53300 where there is none, or none but for superusers.
    pub(crate) fn take(shared: &Arc<Shared>, superuser: bool) -> Result<Place> {
        let before = shared.open.fetch_add(1, Ordering::Relaxed);
        let place = Place(shared.clone());
        let config = shared.config();
        let refused = if before >= config.max_connections {
            "sorry, too many clients already"
        } else if !superuser && before + config.superuser_reserved_connections >= config.max_connections {
            "remaining connection slots are reserved for non-replication superuser connections"
        } else {
            return Ok(place);
        };
        Err(Error::new(SqlState::TOO_MANY_CONNECTIONS, refused))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}
