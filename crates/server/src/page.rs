//! The web page of a server, and what it shows: `/` is a file that never changes and has no data; it asks for `/data.json`.
//!
//! Who is told:
//!
//! * only this machine: a password would come unencrypted from elsewhere. From there, one comes by a tunnel
//!   (`ssh -L 9187:127.0.0.1:9187 host`);
//! * whoever is asked for a password in SQL is asked for one here: as a superuser, by HTTP's Basic scheme. Wrong ones are slowed
//!   as there;
//! * only by an address or as `localhost`: the page of somebody else, whose name leads here, is not let in by a browser's hand.

use crate::auth;
use crate::config::Authentication;
use crate::lobby::origin;
use crate::metrics::resident_bytes;
use crate::server::Shared;
use crate::throttle::Tried;
use base64::Engine;
use planaria::graph::{GraphKind, GraphRequest};
use planaria::serving::ServedDatabase;
use planaria::serving::scram::Verifier;
use planaria::{Result, Rows};
use serde_json::{Value, json};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

/// The page.
pub(crate) const PAGE: &str = include_str!("page.html");

/// Statements and sessions that it shows.
const LINES_MAX: usize = 50;

/// Why somebody is told nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refused {
    /// He comes from elsewhere, or by a name.
    Elsewhere,
    /// He is to say who he is.
    Unknown,
    /// There is nothing of that name.
    Nothing,
}

/// The value of a parameter in a request's path, `%` and `+` resolved.
fn parameter(path: &str, name: &str) -> Option<String> {
    let (_, query) = path.split_once('?')?;
    let value = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))?;
    let (mut bytes, mut rest) = (Vec::with_capacity(value.len()), value.as_bytes());
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = rest.get(..2).and_then(|d| std::str::from_utf8(d).ok())?;
                rest = &rest[2..];
                u8::from_str_radix(digits, 16).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

/// A picture: what the operations of a procedure depend on, or, without a name, the pieces that calls are replayed in.
pub(crate) fn graph(shared: &Shared, path: &str) -> Result<String, Refused> {
    let name = parameter(path, "procedure");
    let kind = if name.is_some() { GraphKind::Procedure } else { GraphKind::Regrow };
    let procedures: Vec<String> = name.into_iter().collect();
    let what = match procedures.as_slice() {
        [] => "all procedures".to_owned(),
        names => names.join(", "),
    };
    let request = GraphRequest { procedures, ..GraphRequest::new(kind) };
    let graph = request.graph(shared.sessions.database()).map_err(|_| Refused::Nothing)?;
    Ok(planaria_graph::svg(&graph, &what))
}

/// Whether a `Host` header has an address, or names this machine.
fn is_local_name(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(""),
        None => host.split(':').next().unwrap_or(""),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

/// The value of a header in a request.
pub(crate) fn header<'r>(request: &'r str, name: &str) -> Option<&'r str> {
    request.lines().skip(1).take_while(|line| !line.is_empty()).find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.trim().eq_ignore_ascii_case(name).then_some(value.trim())
    })
}

/// Whether whoever asks comes from this machine, and by no name of somebody else's.
pub(crate) fn check_origin(request: &str, peer: SocketAddr) -> Result<(), Refused> {
    let named = header(request, "host").is_some_and(is_local_name);
    if peer.ip().to_canonical().is_loopback() && named { Ok(()) } else { Err(Refused::Elsewhere) }
}

/// Whether whoever asks may be told.
pub(crate) fn check(shared: &Shared, request: &str, peer: SocketAddr) -> Result<(), Refused> {
    check_origin(request, peer)?;
    let db = shared.sessions.database();
    match shared.config().authentication {
        Authentication::Auto if !db.had_passwords() => return Ok(()),
        Authentication::Trust | Authentication::Owner => return Ok(()),
        Authentication::Auto | Authentication::Password => {}
    }
    let given = header(request, "authorization").and_then(|value| value.strip_prefix("Basic "));
    let given = given.and_then(|text| base64::engine::general_purpose::STANDARD.decode(text.trim()).ok());
    let given = given.and_then(|bytes| String::from_utf8(bytes).ok());
    let Some((user, password)) = given.as_deref().and_then(|text| text.split_once(':')) else {
        return Err(Refused::Unknown);
    };
    let role = db.role(user);
    let verifier =
        role.as_ref().filter(|r| r.login && r.superuser && r.valid_until.is_none_or(|t| t > now()));
    let verifier = verifier.and_then(|r| r.verifier.as_deref()).and_then(|v| v.parse::<Verifier>().ok());
    // Looked at for all, so that it takes as long for all.
    let mock = auth::mock(user, &shared.secret);
    let (real, verifier) = (verifier.is_some(), verifier.unwrap_or(mock));
    let look = || Ok((verifier.matches(password) && real).then_some(()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let tried =
        runtime.map(|runtime| runtime.block_on(shared.throttle.try_proof(origin(Some(peer)), user, look)));
    if matches!(tried, Ok(Ok(Tried::Right(())))) {
        return Ok(());
    }
    shared.metrics.failed_logins.fetch_add(1, Ordering::Relaxed);
    tracing::warn!(?peer, user, "password authentication failed at the web page");
    Err(Refused::Unknown)
}

/// Microseconds since 2000-01-01 UTC.
fn now() -> i64 {
    millis() * 1_000 - 946_684_800_000_000
}

fn millis() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
}

/// What the page shows of a server that is none yet, or no more.
pub(crate) fn apart(state: &str, recovery: Option<(u64, String)>) -> String {
    let recovery = recovery.map(|(percent, text)| json!({ "percent": percent, "text": text }));
    json!({ "state": state, "version": version(), "recovery": recovery }).to_string()
}

fn version() -> String {
    format!("planaria {}", env!("CARGO_PKG_VERSION"))
}

/// Rows as objects; numbers as numbers.
fn objects(rows: &Rows) -> Vec<Value> {
    let object = |row: &planaria::Row| {
        let cell = |(i, column): (usize, &planaria::Column)| {
            let text = row.text(i);
            let number =
                text.as_ref().filter(|_| column.is_right_aligned()).and_then(|t| t.parse::<f64>().ok());
            (column.name.clone(), number.map_or_else(|| text.into(), Value::from))
        };
        Value::Object(rows.columns().iter().enumerate().map(cell).collect())
    };
    rows.iter().map(object).collect()
}

const SESSIONS: &str = "SELECT pid, usename AS role, state, wait_event_type || ' ' || wait_event AS wait, left(query, 500) AS query,
        round(extract(epoch FROM clock_timestamp() - state_change)::numeric, 3) AS seconds
    FROM pg_catalog.pg_stat_activity ORDER BY state = 'idle', state_change";
const WAITS: &str =
    "SELECT pid, array_to_string(pg_catalog.pg_blocking_pids(pid), ', ') AS blockers, mode, locktype,
        relation::regclass::text AS relation
    FROM pg_catalog.pg_locks WHERE NOT granted ORDER BY pid";

/// What the page shows of a server.
pub(crate) fn data(shared: &Shared) -> Result<String> {
    let db = shared.sessions.database();
    let stats = db.stats();
    let (statements, errors, procedures) = shared.metrics.counts();
    let ask = |sql: &str| -> Result<Vec<Value>> { Ok(objects(&db.query(sql, ())?)) };
    // In this order: whoever waits is seen to be at something.
    let (mut waits, mut sessions) = (ask(WAITS)?, ask(SESSIONS)?);
    sessions.truncate(LINES_MAX);
    waits.truncate(LINES_MAX);
    let slow: Vec<Value> = shared
        .statements
        .all()
        .into_iter()
        .take(LINES_MAX)
        .map(|s| {
            let mean = s.total / s.calls.max(1) as f64;
            json!({ "query": &*s.text, "calls": s.calls, "rows": s.rows, "total": s.total, "mean": mean, "max": s.max })
        })
        .collect();
    let target = db.query("SELECT extract(epoch FROM target) FROM pg_catalog.planaria_restart", ())?;
    let target = target.iter().next().and_then(|row| row.text(0)).and_then(|t| t.parse::<f64>().ok());
    let (c, m) = (&stats.checkpoint, &stats.memory);
    let aborts: u64 = stats.aborts.iter().map(|(_, n)| n).sum();
    let procedures: Vec<Value> =
        procedures.into_iter().map(|(name, buckets)| json!({ "name": name, "buckets": buckets })).collect();
    Ok(json!({
        "state": "serving",
        "version": version(),
        "at": millis(),
        "uptime": shared.started.elapsed().map_or(0, |time| time.as_secs()),
        "counters": {
            "commits": stats.commits, "aborts": aborts, "statements": statements, "errors": errors,
            "log_bytes": stats.log_bytes, "connections": shared.connections(),
            "connections_max": shared.config().max_connections,
        },
        "procedures": procedures,
        "restart": {
            "load": c.restart.load.as_secs_f64(), "replay": c.restart.replay.as_secs_f64(),
            "measured": c.restart.measured, "target": target.unwrap_or(0.0),
        },
        "checkpoint": {
            "number": c.number, "rows": c.rows, "bytes": c.bytes, "age": c.age.as_secs_f64(),
            "written": c.written, "failed": c.failed, "log_bytes": c.log_bytes,
        },
        "memory": {
            "rows": m.rows, "row_bytes": m.row_bytes, "index_bytes": m.index_bytes,
            "old_version_bytes": m.old_version_bytes, "session_bytes": m.session_bytes,
            "budget": m.budget, "process": resident_bytes(),
        },
        "sessions": sessions,
        "waits": waits,
        "slow": slow,
    })
    .to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_told() {
        let asked = |host: &str| format!("GET /data.json HTTP/1.1\r\nHOST: {host}\r\n\r\nHost: localhost");
        let here: SocketAddr = "127.0.0.1:1".parse().expect("an address");
        for host in ["localhost", "LocalHost:9187", "127.0.0.1:9187", "[::1]:9187"] {
            assert_eq!(check_origin(&asked(host), here), Ok(()), "{host}");
        }
        for host in ["evil.example", "localhost.evil.example:9187", ""] {
            assert_eq!(check_origin(&asked(host), here), Err(Refused::Elsewhere), "{host}");
        }
        let there = "192.0.2.1:1".parse().expect("an address");
        assert_eq!(check_origin(&asked("localhost"), there), Err(Refused::Elsewhere));
    }

    #[test]
    fn the_page_asks_nobody_else() {
        assert!(!PAGE.contains("http://") && !PAGE.contains("https://") && !PAGE.contains("src="));
        // What it puts into itself is text.
        assert!(!PAGE.contains("innerHTML"));
        let ids: Vec<&str> = PAGE.split("at(\"").skip(1).filter_map(|part| part.split('"').next()).collect();
        assert!(ids.len() > 5 && ids.iter().all(|id| PAGE.contains(&format!("id=\"{id}\""))), "{ids:?}");
    }
}
