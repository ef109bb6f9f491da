//! Where a server's settings are from, and how they change while it runs.
//!
//! Of what says something about a setting the first counts:
//!
//! 1. the command line, the environment (clap's);
//! 2. `planaria.auto.toml` in the directory of the database, which `ALTER SYSTEM` writes and nobody else;
//! 3. the file of `--config`; without one `planaria.toml` in the directory of the database;
//! 4. the default.
//!
//! The files are read again at SIGHUP and by `pg_reload_conf()`. What can change then is in [`RELOADABLE`]; of the rest
//! `pg_settings.pending_restart` says that the files have another value than the server runs with.

use crate::settings::{Assignment, Settings, invalid};
use clap::{Args, Command};
use planaria::serving::{HostChange, HostSetting};
use planaria::{Error, Result, SqlState};
use planaria_server::{Read, Source};
use serde_json::{Map, Value};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tracing_subscriber::EnvFilter;

/// Settings that change when they are read again.
const RELOADABLE: [&str; 20] = [
    "authentication",
    "auto_explain.log_min_duration",
    "checkpoint_timeout",
    "drain_timeout",
    "log_level",
    "log_min_duration_statement",
    "log_min_error_statement",
    "max_connections",
    "max_message_bytes",
    "max_result_bytes",
    "max_wal_size",
    "require_tls",
    "restart_target",
    "result_memory_bytes",
    "set",
    "startup_timeout",
    "superuser_reserved_connections",
    "tls_cert",
    "tls_key",
    "write_timeout",
];

/// The file that people write, in the directory of a database.
const FILE: &str = "planaria.toml";
/// The file that ALTER SYSTEM writes.
const AUTO_FILE: &str = "planaria.auto.toml";

/// What changes the filter of the server's own log.
pub type SetFilter = Box<dyn Fn(EnvFilter) + Send + Sync>;

/// See the module's head.
pub struct Files {
    line: Settings,
    file: Option<PathBuf>,
    auto: Option<PathBuf>,
    set_filter: SetFilter,
    state: Mutex<State>,
}

/// What the settings are.
struct State {
    /// What the server runs with.
    running: Shown,
    /// What was read last, until it has been taken over.
    read: Option<Settings>,
}

/// Settings by name, each with what said it.
type Shown = Map<String, Value>;

impl Files {
    /// Those of a server, and where they are read. 58030 and 22023 where a file cannot be read.
    pub fn read(
        line: Settings,
        config: Option<PathBuf>,
        dir: Option<&Path>,
        set_filter: SetFilter,
    ) -> Result<(Files, Settings)> {
        let own = dir.map(|dir| dir.join(FILE)).filter(|file| file.exists());
        let files = Files {
            line,
            file: config.or(own),
            auto: dir.map(|dir| dir.join(AUTO_FILE)),
            set_filter,
            state: Mutex::new(State { running: Shown::new(), read: None }),
        };
        let settings = files.settings(&files.auto_table()?)?;
        files.state().running = shown(&settings);
        Ok((files, settings))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What ALTER SYSTEM has said so far.
    fn auto_table(&self) -> Result<toml::Table> {
        let Some(file) = &self.auto else { return Ok(toml::Table::new()) };
        match std::fs::read_to_string(file) {
            Ok(text) => text.parse().map_err(|e| invalid(format!("{}: {e}", file.display()))),
            // Where the directory is none, whoever opens the database says so.
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Ok(toml::Table::new())
            }
            Err(e) => Err(Error::file("read file", file, e)),
        }
    }

    /// All of them, with what ALTER SYSTEM has said.
    fn settings(&self, auto: &toml::Table) -> Result<Settings> {
        let of_file = match &self.file {
            Some(file) => Settings::read(file)?,
            None => Settings::default(),
        };
        Ok(self.line.clone().or(of_auto(auto)?).or(of_file).or(Settings::standard()))
    }

    /// Notes what ALTER SYSTEM has said: whole, or not at all.
    fn write_auto(&self, table: &toml::Table) -> Result<()> {
        let Some(file) = &self.auto else {
            let hint = "Start the server with a directory, or with a file of settings: --config.";
            return Err(Error::unsupported("a database in memory keeps no settings", hint));
        };
        let mut text =
            "# Written by ALTER SYSTEM; it goes before planaria.toml. Do not edit it: it is overwritten.\n"
                .to_owned();
        for (name, value) in table {
            text += &format!("{name} = {}\n", written(value));
        }
        let draft = file.with_extension("draft");
        let write = || -> std::io::Result<()> {
            let mut out = std::fs::File::create(&draft)?;
            out.write_all(text.as_bytes())?;
            out.sync_all()?;
            std::fs::rename(&draft, file)?;
            match file.parent() {
                Some(dir) => std::fs::File::open(dir)?.sync_all(),
                None => Ok(()),
            }
        };
        write().map_err(|e| Error::file("write file", file, e))
    }
}

/// What ALTER SYSTEM has said, as settings. 22023 where a value cannot be.
fn of_auto(table: &toml::Table) -> Result<Settings> {
    let settings = table.clone().try_into::<Settings>().map_err(|e| invalid(e.message()))?;
    Ok(settings.renamed())
}

/// A value of TOML; what we write are numbers, truths, texts and lists of texts.
fn written(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => Value::from(text.as_str()).to_string(),
        toml::Value::Array(all) => format!("[{}]", all.iter().map(written).collect::<Vec<_>>().join(", ")),
        toml::Value::Boolean(b) => b.to_string(),
        toml::Value::Integer(n) => n.to_string(),
        toml::Value::Table(all) => {
            let all = all.iter().map(|(name, value)| format!("{name} = {}", written(value)));
            format!("{{ {} }}", all.collect::<Vec<_>>().join(", "))
        }
        other => other.as_float().map_or(String::new(), |n| n.to_string()),
    }
}

/// Settings by name; those of a group have its name and a point before theirs.
fn shown(settings: &Settings) -> Shown {
    let Ok(Value::Object(map)) = serde_json::to_value(settings) else { return Shown::new() };
    let mut all = Shown::new();
    for (name, value) in map {
        match value {
            Value::Object(group) => {
                all.extend(group.into_iter().map(|(own, v)| (format!("{name}.{own}"), v)))
            }
            value => drop(all.insert(name, value)),
        }
    }
    all
}

/// Sets a setting, or takes it out.
fn assign(table: &mut toml::Table, name: &str, value: Option<toml::Value>) {
    let Some((group, own)) = name.split_once('.') else {
        match value {
            Some(value) => drop(table.insert(name.to_owned(), value)),
            None => drop(table.remove(name)),
        }
        return;
    };
    let entry = table.entry(group).or_insert_with(|| toml::Value::Table(toml::Table::new()));
    if let toml::Value::Table(inner) = entry {
        assign(inner, own, value);
        if inner.is_empty() {
            table.remove(group);
        }
    }
}

/// A value as SHOW has it.
fn text_of(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Bool(on)) => if *on { "on" } else { "off" }.to_owned(),
        Some(Value::Array(all)) => all.iter().map(|v| text_of(Some(v))).collect::<Vec<_>>().join(", "),
        Some(other) => other.to_string(),
    }
}

/// 42704
fn unknown(name: &str) -> Error {
    Error::new(SqlState::UNDEFINED_OBJECT, format!("unrecognized configuration parameter \"{name}\""))
}

/// A setting that sessions begin with.
fn set_default(table: &mut toml::Table, name: &str, value: Option<&str>) {
    let entry = table.entry("set").or_insert_with(|| toml::Value::Array(Vec::new()));
    if let toml::Value::Array(all) = entry {
        let is_other = |v: &toml::Value| {
            let assigned = v.as_str().and_then(|text| text.split_once('='));
            assigned.is_none_or(|(other, _)| !other.trim().eq_ignore_ascii_case(name))
        };
        all.retain(is_other);
        all.extend(
            value.map(|value| {
                toml::Value::String(String::from(Assignment(name.to_owned(), value.to_owned())))
            }),
        );
        if all.is_empty() {
            table.remove("set");
        }
    }
}

/// A text as the value of a setting that is now so.
fn value_of(name: &str, text: &str) -> Result<toml::Value> {
    let standard = shown(&Settings::standard());
    let is_list = name == "listen";
    Ok(match standard.get(name) {
        _ if is_list => {
            toml::Value::Array(text.split(',').map(|t| toml::Value::String(t.trim().to_owned())).collect())
        }
        Some(Value::Bool(_)) => match text.to_ascii_lowercase().as_str() {
            "on" | "true" | "yes" | "1" => toml::Value::Boolean(true),
            "off" | "false" | "no" | "0" => toml::Value::Boolean(false),
            _ => return Err(invalid(format!("parameter \"{name}\" requires a Boolean value"))),
        },
        Some(Value::Number(_)) => match text.trim().parse::<i64>() {
            Ok(number) if number >= 0 => toml::Value::Integer(number),
            _ => return Err(invalid(format!("invalid value for parameter \"{name}\": \"{text}\""))),
        },
        _ => toml::Value::String(text.to_owned()),
    })
}

impl Source for Files {
    fn list(&self) -> Vec<HostSetting> {
        let (standard, line) = (shown(&Settings::standard()), shown(&self.line));
        let of_file = |file: Option<&PathBuf>| {
            shown(&file.and_then(|file| Settings::read(file).ok()).unwrap_or_default())
        };
        let (auto, file) = (of_file(self.auto.as_ref()), of_file(self.file.as_ref()));
        let newest = self.auto_table().and_then(|auto| self.settings(&auto)).map(|s| shown(&s));
        let state = self.state();
        let says = |map: &Shown, name: &str| map.get(name).is_some_and(|v| !v.is_null());
        let command = Settings::augment_args(Command::new(""));
        let setting = |arg: &clap::Arg| {
            let name = arg.get_id().as_str();
            let value = state.running.get(name);
            let reloadable = RELOADABLE.contains(&name);
            let waits = newest.as_ref().is_ok_and(|newest| newest.get(name) != value);
            HostSetting {
                name: name.to_owned(),
                value: text_of(value),
                default: text_of(standard.get(name)),
                description: arg.get_help().map(ToString::to_string).unwrap_or_default(),
                kind: match standard.get(name) {
                    Some(Value::Bool(_)) => "bool",
                    Some(Value::Number(_)) => "integer",
                    _ => "string",
                },
                reloadable,
                source: if says(&line, name) {
                    "command line"
                } else if says(&auto, name) || says(&file, name) {
                    "configuration file"
                } else {
                    "default"
                },
                pending_restart: !reloadable && waits,
            }
        };
        let mut all: Vec<HostSetting> = command.get_arguments().map(setting).collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    fn alter(&self, change: &HostChange<'_>) -> Result<()> {
        let standard = shown(&Settings::standard());
        let mut table = self.auto_table()?;
        match *change {
            HostChange::ResetAll => table.clear(),
            HostChange::Set("set", _) | HostChange::Reset("set") => {
                return Err(invalid("parameter \"set\" cannot be set by ALTER SYSTEM").with_hint(
                    "Set defaults of sessions by name: ALTER SYSTEM SET statement_timeout = '30s'.",
                ));
            }
            HostChange::Set(name, text) if standard.contains_key(name) => {
                assign(&mut table, name, Some(value_of(name, text)?));
            }
            HostChange::Reset(name) if standard.contains_key(name) => assign(&mut table, name, None),
            HostChange::Set(name, text) => {
                planaria::Options::new().set(name, text).check()?;
                set_default(&mut table, name, Some(text));
            }
            HostChange::Reset(name) => {
                if matches!(planaria::Options::new().set(name, "").check(), Err(e) if e.sqlstate() == SqlState::UNDEFINED_OBJECT)
                {
                    return Err(unknown(name));
                }
                set_default(&mut table, name, None);
            }
        }
        // What would keep the server from starting is not noted.
        if let HostChange::Set(name, text) = *change {
            let alone = of_auto(&table).and_then(|_| self.settings(&table)).and_then(|s| {
                s.log_filter()?;
                s.database()?;
                s.server()?.check()
            });
            alone.map_err(|error| {
                let message = format!("invalid value for parameter \"{name}\": \"{text}\"");
                Error::new(SqlState::INVALID_PARAMETER_VALUE, message).with_detail(error.message())
            })?;
        }
        self.write_auto(&table)
    }

    fn read(&self) -> Result<Read> {
        let settings = self.settings(&self.auto_table()?)?;
        settings.log_filter()?;
        let read = Read { config: settings.server()?, database: settings.database()? };
        read.config.check()?;
        self.state().read = Some(settings);
        Ok(read)
    }

    fn taken_over(&self) {
        let mut state = self.state();
        let Some(settings) = state.read.take() else { return };
        if let Ok(filter) = settings.log_filter() {
            (self.set_filter)(filter);
        }
        let read = shown(&settings);
        for (name, value) in read.into_iter().filter(|(name, _)| RELOADABLE.contains(&name.as_str())) {
            if state.running.get(&name) != Some(&value) {
                let (from, to) = (text_of(state.running.get(&name)), text_of(Some(&value)));
                tracing::info!("parameter \"{name}\" changed from \"{from}\" to \"{to}\"");
                state.running.insert(name, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(dir: &Path, line: Settings) -> Files {
        Files::read(line, None, Some(dir), Box::new(|_| {})).expect("settings").0
    }

    fn value(files: &Files, name: &str) -> (String, &'static str, bool) {
        let all = files.list();
        let found = all.iter().find(|s| s.name == name).expect("a setting");
        (found.value.clone(), found.source, found.pending_restart)
    }

    fn set(files: &Files, name: &str, value: &str) -> Result<()> {
        files.alter(&HostChange::Set(name, value))
    }

    #[test]
    fn what_counts_is_what_is_said_first() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(
            dir.path().join(FILE),
            "max_connections = 7\ndrain_timeout = '3s'\nset = ['statement_timeout=9s']",
        )
        .expect("writes");
        let line: Settings = toml::from_str("drain_timeout = 4").expect("settings");
        let files = files(dir.path(), line);
        assert_eq!(value(&files, "max_connections"), ("7".into(), "configuration file", false));
        assert_eq!(value(&files, "drain_timeout"), ("4s".into(), "command line", false));
        assert_eq!(value(&files, "loggers"), ("1".into(), "default", false));
        set(&files, "max_connections", "8").expect("in range");
        set(&files, "statement_timeout", "10s").expect("of sessions");
        set(&files, "loggers", "2").expect("in range");
        assert_eq!(value(&files, "max_connections").0, "7", "not read yet");
        let read = files.read().expect("reads");
        files.taken_over();
        assert_eq!(read.config.max_connections, 8);
        assert_eq!(value(&files, "max_connections").0, "8");
        assert_eq!(value(&files, "set").0, "statement_timeout=10s");
        assert_eq!(value(&files, "loggers"), ("1".into(), "configuration file", true));
        files.alter(&HostChange::Reset("statement_timeout")).expect("known");
        files.alter(&HostChange::Reset("max_connections")).expect("known");
        files.read().expect("reads");
        files.taken_over();
        assert_eq!(
            (value(&files, "max_connections").0, value(&files, "set").0),
            ("7".into(), "statement_timeout=9s".into())
        );
        files.alter(&HostChange::ResetAll).expect("empty");
        assert!(!value(&files, "loggers").2);
    }

    #[test]
    fn names_with_a_point_stand_in_tables() {
        let dir = tempfile::tempdir().expect("a directory");
        let name = "auto_explain.log_min_duration";
        for text in [
            "auto_explain.log_min_duration = '2s'",
            "[auto_explain]\nlog_min_duration = 2000",
            "auto_explain_min_duration = 2000",
        ] {
            std::fs::write(dir.path().join(FILE), text).expect("writes");
            assert_eq!(
                value(&files(dir.path(), Settings::default()), name),
                ("2s".into(), "configuration file", false)
            );
        }
        let files = files(dir.path(), Settings::default());
        set(&files, name, "250").expect("in range");
        let read = files.read().expect("reads");
        files.taken_over();
        assert_eq!(read.config.auto_explain, Some(std::time::Duration::from_millis(250)));
        assert_eq!(value(&files, name).0, "250ms");
        assert_eq!(set(&files, name, "soon").expect_err("no time").sqlstate().as_str(), "22023");
        files.alter(&HostChange::Reset(name)).expect("known");
        files.read().expect("reads");
        files.taken_over();
        assert_eq!(value(&files, name).0, "2s");
    }

    #[test]
    fn what_cannot_be_is_not_noted() {
        let dir = tempfile::tempdir().expect("a directory");
        let files = files(dir.path(), Settings::default());
        for (name, value, sqlstate) in [
            ("max_connections", "many", "22023"),
            ("max_connections", "2", "22023"),
            ("keep_log", "perhaps", "22023"),
            ("authentication", "love", "22023"),
            ("log_min_duration_statement", "soon", "22023"),
            ("log_level", "planaria=loud", "22023"),
            ("require_tls", "on", "22023"),
            ("statement_timeout", "soon", "22023"),
            ("set", "a=b", "22023"),
            ("nonsense", "1", "42704"),
        ] {
            let error = set(&files, name, value).expect_err(name);
            assert_eq!(error.sqlstate().as_str(), sqlstate, "{name}: {error}");
        }
        assert!(!dir.path().join(AUTO_FILE).exists());
        let memory = Files::read(Settings::default(), None, None, Box::new(|_| {})).expect("settings").0;
        assert_eq!(set(&memory, "loggers", "2").expect_err("nowhere").sqlstate().as_str(), "0A000");
    }

    #[test]
    fn every_setting_has_a_name_and_says_what_it_is_for() {
        let dir = tempfile::tempdir().expect("a directory");
        let all = files(dir.path(), Settings::default()).list();
        assert_eq!(all.len(), shown(&Settings::default()).len());
        assert!(all.iter().all(|s| !s.description.is_empty()));
        for name in &RELOADABLE {
            assert!(all.iter().any(|s| s.name == *name), "{name}");
        }
    }
}
