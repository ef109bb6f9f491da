//! `planaria serve`: the server. What its settings are, [`source`](crate::source) finds out.

use crate::recovery::Recovery;
use crate::settings::{LogFormat, METRICS, Settings, addresses, invalid};
use crate::source::{Files, SetFilter};
use clap::Args;
use planaria::{Database, Error, RecoveryProgress, Result, SqlState};
use planaria_server::{Doors, Monitor, Server};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Registry, reload};

/// Options of `planaria serve`.
#[derive(Args)]
pub struct Options {
    /// Directory of the database; without it the database is in memory, and gone when the server stops
    #[arg(env = "PLANARIA_DIR")]
    dir: Option<PathBuf>,
    /// Settings file, in TOML
    #[arg(long, value_name = "FILE", env = "PLANARIA_CONFIG")]
    config: Option<PathBuf>,
    #[command(flatten)]
    settings: Settings,
    #[command(flatten)]
    recovery: Recovery,
}

/// Opens the database, serves it until a signal comes, closes it.
pub fn serve(options: Options) -> Result<()> {
    let filter = Arc::new(OnceLock::new());
    let (files, settings) =
        Files::read(options.settings, options.config, options.dir.as_deref(), set_filter(&filter))?;
    let _first = filter.set(log(settings.log_filter()?, settings.log_format())?);
    let config = settings.server()?;
    let monitor = match &settings.metrics {
        None => None,
        Some(nowhere) if matches!(nowhere.as_str(), "" | "off") => None,
        Some(address) => match monitor(address) {
            Ok(monitor) => Some(monitor),
            // Nobody has asked for it: another server of this machine may be there.
            Err(error) if address == METRICS => {
                tracing::warn!("the web page and metrics are not available: {}", error.message());
                None
            }
            Err(error) => return Err(error),
        },
    };
    let mut doors = Doors::open(config)?;
    doors.hear_hangups()?;
    doors.answer();
    let db = match &options.dir {
        Some(dir) => {
            let (progress, monitor) = (doors.progress(), monitor.clone());
            let tell = move |p: RecoveryProgress| {
                progress.tell(p);
                if let Some(monitor) = &monitor {
                    monitor.recovering(p);
                }
            };
            options.recovery.open_telling(settings.database()?, dir, tell)?
        }
        None => {
            tracing::warn!(
                "no directory was given: the database lives in memory and is gone with the server"
            );
            settings.database()?.in_memory()?
        }
    };
    if let Some(report) = db.recovery() {
        tracing::info!(
            transactions = report.transactions,
            seconds = report.replay.as_secs_f64(),
            "recovered by {}",
            report.scheme
        );
    }
    let memory = db.stats().memory;
    if let Some(budget) = memory.budget.filter(|budget| memory.bytes() > *budget) {
        tracing::warn!(
            bytes = memory.bytes(),
            memory_budget = budget,
            "the database takes more than its memory budget: only reads and deletes are possible"
        );
    }
    let db = Arc::new(db);
    let server = Server::behind(doors, db.clone());
    server.settings_from(Arc::new(files));
    server.stop_on_signals()?;
    for address in server.addresses() {
        tracing::info!("planaria {} listens at {address}", env!("CARGO_PKG_VERSION"));
    }
    if let Some(monitor) = &monitor {
        monitor.serving(&server);
    }
    server.run()?;
    if let Some(monitor) = &monitor {
        monitor.stopping();
    }
    close(db)?;
    tracing::info!("closed");
    Ok(())
}

type Filter = OnceLock<reload::Handle<EnvFilter, Registry>>;

/// Begins the server's own log, on standard error.
fn log(filter: EnvFilter, format: LogFormat) -> Result<reload::Handle<EnvFilter, Registry>> {
    let (filter, handle) = reload::Layer::new(filter);
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_target(false);
    let registry = tracing_subscriber::registry().with(filter);
    let begun = match format {
        LogFormat::Text => {
            let colours = std::io::IsTerminal::is_terminal(&std::io::stderr());
            registry.with(lines.with_ansi(colours)).try_init()
        }
        LogFormat::Json => registry.with(lines.json().flatten_event(true)).try_init(),
    };
    begun.map_err(|e| Error::internal(e.to_string())).map(|()| handle)
}

/// What changes the log's filter, once there is one.
fn set_filter(filter: &Arc<Filter>) -> SetFilter {
    let filter = filter.clone();
    Box::new(move |new| {
        if let Some(handle) = filter.get()
            && let Err(error) = handle.reload(new)
        {
            tracing::error!("the log level was not changed: {error}");
        }
    })
}

fn monitor(address: &str) -> Result<Monitor> {
    let address = addresses(&[address.to_owned()])?[0];
    let monitor = Monitor::bind(address)?;
    tracing::info!("serving a web page, /health and /metrics at http://{}", monitor.address());
    Ok(monitor)
}

/// Options of `planaria status`.
#[derive(Args)]
pub struct StatusOptions {
    /// Where the server answers over HTTP (its `--metrics`)
    #[arg(value_name = "ADDR:PORT", env = "PLANARIA_METRICS", default_value = METRICS)]
    address: String,
}

/// Prints what a server says of itself.
pub fn status(options: &StatusOptions) -> Result<()> {
    use std::io::{Read, Write};
    let timeout = Duration::from_secs(10);
    if Path::new(&options.address).is_dir() {
        let message = format!("\"{}\" is a directory, not the address of a server", options.address);
        return Err(invalid(message)
            .with_hint("planaria checkpoint inspect and planaria log inspect look at directories."));
    }
    let address = addresses(std::slice::from_ref(&options.address))?[0];
    let mut answer = String::new();
    let mut ask = || -> std::io::Result<()> {
        let mut stream = std::net::TcpStream::connect_timeout(&address, timeout)?;
        stream.set_read_timeout(Some(timeout))?;
        stream.write_all(b"GET /status HTTP/1.1\r\nHost: planaria\r\n\r\n")?;
        stream.read_to_string(&mut answer)?;
        Ok(())
    };
    ask().map_err(|e| {
        Error::new(SqlState::CONNECTION_FAILURE, format!("no server is answering at {address}: {e}"))
            .with_hint("Is it running, with --metrics set to that address?")
    })?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    if !head.starts_with("HTTP/1.1 200") {
        let message = format!("clients are not served: {}", body.trim_end());
        return Err(Error::new(SqlState::CONNECTION_FAILURE, message));
    }
    print!("{body}");
    Ok(())
}

/// Closes the database: what was committed is on disk then.
fn close(db: Arc<Database>) -> Result<()> {
    match Arc::try_unwrap(db) {
        Ok(db) => db.close(),
        Err(db) => db.flush(),
    }
}
