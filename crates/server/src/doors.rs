//! The addresses of a server, which it has before its database is open: so a port that is in use is known before
//! anything else is done, and clients that come while the log is replayed are told to wait (57P03).

use crate::config::Config;
use crate::crew::Crew;
use crate::events::Events;
use crate::input::Input;
use crate::listen::Listener;
use crate::lobby::{Guest, Lobby, origin};
use crate::progress::Progress;
use crate::settings::Hangups;
use crate::startup::{Wish, hear, refuse};
use crate::stream::Stream;
use crate::tls::Tls;
use planaria::{Error, Result, SqlState};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Who comes too early has so long to say anything, and to hear that.
const PATIENCE: Duration = Duration::from_secs(5);
const GUESTS_MAX: usize = 256;

/// See the module's head.
pub struct Doors {
    runtime: Runtime,
    crew: Crew,
    config: Config,
    addresses: Vec<SocketAddr>,
    listeners: Vec<Listener>,
    /// Those whose clients are told to wait, until the sender is dropped.
    answered: Option<(watch::Sender<()>, JoinSet<Listener>)>,
    progress: Progress,
    hangups: Hangups,
}

impl Doors {
    /// Listens at the addresses of the configuration. Errors: 58000 with the address that cannot be had, 22023
    /// where the configuration contradicts itself.
    pub fn open(config: Config) -> Result<Doors> {
        config.check()?;
        // For who comes in, for signals and timers.
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.enable_all().thread_name("planaria-doors").worker_threads(1);
        let runtime = builder.build()?;
        let threads = match config.threads {
            Some(threads) => threads,
            None => std::thread::available_parallelism()?.get(),
        };
        let crew = Crew::new(threads, runtime.handle().clone())?;
        let mut listeners = Vec::new();
        let mut addresses = Vec::new();
        for address in &config.listen {
            let listener = runtime.block_on(Listener::tcp(*address))?;
            addresses.extend(listener.address());
            listeners.push(listener);
        }
        if let Some(directory) = &config.socket_dir {
            let port = addresses.first().map_or(5432, SocketAddr::port);
            let _in_runtime = runtime.enter();
            listeners.push(Listener::unix(directory, port)?);
        }
        Ok(Doors {
            runtime,
            crew,
            config,
            addresses,
            listeners,
            answered: None,
            progress: Progress::default(),
            hangups: Hangups::default(),
        })
    }

    /// Where they are.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Where to say how far the recovery is, for those who are told to wait.
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// From now on, and until a server takes the doors over, clients are told that the database is starting up.
    pub fn answer(&mut self) {
        let (until, dropped) = watch::channel(());
        let lobby = Lobby::new(self.config.max_startups_per_address, GUESTS_MAX);
        let tls = self.config.tls.clone();
        let mut answered = JoinSet::new();
        for listener in self.listeners.drain(..) {
            let (lobby, tls, dropped) = (lobby.clone(), tls.clone(), dropped.clone());
            let progress = self.progress.clone();
            let events = self.crew.events().clone();
            answered.spawn_on(answer(listener, events, lobby, tls, progress, dropped), self.runtime.handle());
        }
        self.answered = Some((until, answered));
    }

    /// SIGHUP does not end the process: it has the settings read again, as soon as clients are served.
    pub fn hear_hangups(&self) -> Result<()> {
        use tokio::signal::unix::{SignalKind, signal};
        let _in_runtime = self.runtime.enter();
        let mut hangups = signal(SignalKind::hangup())?;
        let heard = self.hangups.clone();
        self.runtime.spawn(async move {
            while hangups.recv().await.is_some() {
                heard.reload();
            }
        });
        Ok(())
    }

    /// What a server takes over.
    pub(crate) fn into_parts(mut self) -> (Runtime, Crew, Vec<Listener>, Vec<SocketAddr>, Config, Hangups) {
        if let Some((until, mut answered)) = self.answered.take() {
            drop(until);
            while let Some(listener) = self.runtime.block_on(answered.join_next()) {
                self.listeners.extend(listener.ok());
            }
        }
        (self.runtime, self.crew, self.listeners, self.addresses, self.config, self.hangups)
    }
}

async fn answer(
    listener: Listener,
    events: Arc<Events>,
    lobby: Arc<Lobby>,
    tls: Option<Tls>,
    progress: Progress,
    mut dropped: watch::Receiver<()>,
) -> Listener {
    loop {
        tokio::select! {
            accepted = listener.accept(&events) => match accepted {
                Ok((stream, _)) => {
                    let guest = lobby.enter(origin(stream.peer()));
                    tokio::spawn(tokio::time::timeout(PATIENCE, too_early(stream, guest, tls.clone(), progress.clone())));
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            },
            _ = dropped.changed() => return listener,
        }
    }
}

/// Answers one client, if it says what it wants.
async fn too_early(stream: Stream, guest: Guest, tls: Option<Tls>, progress: Progress) {
    let answered = async {
        let mut input = Input::default();
        if let Ok((mut stream, Wish::Enter(_))) = hear(tls.as_ref(), stream, &mut input).await {
            let error = Error::new(SqlState::new("57P03"), "the database system is starting up");
            let error = match progress.told() {
                Some(told) => error.with_detail(told),
                None => error,
            };
            refuse(&mut stream, &error, PATIENCE).await;
        }
    };
    tokio::select! {
        () = answered => {}
        () = guest.until_sent_away() => {}
    }
}
