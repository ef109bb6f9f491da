//! SET and SHOW: what clients send, answered honestly. Planaria has one behaviour, so most settings
//! can only be set to what they are, or are ones that change nothing but what SHOW answers.
//!
//! A value set in a transaction that is rolled back is undone; SET LOCAL lasts until the end of the
//! transaction.

mod database;
mod harmless;
mod role;
mod running;
pub(crate) mod shown;
mod styles;

use planaria_base::{Error, Result, SqlState, datetime};
pub(crate) use role::{REPLICATION_ROLE, check_own};
use running::Running;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a setting can be set to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    /// Only what it is.
    Fixed,
    /// Any text: it changes nothing.
    Any,
    /// on or off, in PostgreSQL's spellings.
    Bool,
    /// Milliseconds: a number, with a unit or without.
    Milliseconds,
    /// A form of dates, or an order, or both.
    DateStyle,
    /// Memory: kilobytes, at least so many, with a unit or without.
    Memory(u64),
    /// A whole number within bounds.
    Integer(i64, i64),
    /// A number that is not negative.
    Number,
    /// A number from 0 to 1.
    Share,
    /// One of these words: those that hints name, and others.
    OneOf(&'static [&'static str], &'static [&'static str]),
    /// on or off, in PostgreSQL's spellings, or one of these words.
    BoolOr(&'static [&'static str]),
    /// The name of something that there is one of, what it is called, and whether it may be left empty.
    Only(&'static str, bool),
    /// A level of isolation.
    Isolation,
    /// A time zone.
    Zone,
    /// A configuration of full-text search.
    Search,
}

use Takes::{
    Any, Bool, BoolOr, DateStyle, Fixed, Integer, Isolation, Memory, Milliseconds, Number, OneOf, Only,
    Search, Share, Zone,
};

const LEVELS: &[&str] =
    &["debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error"];

struct Setting {
    /// As SHOW ALL spells it.
    name: &'static str,
    default: &'static str,
    takes: Takes,
    description: &'static str,
}

const fn setting(
    name: &'static str,
    default: &'static str,
    takes: Takes,
    description: &'static str,
) -> Setting {
    Setting { name, default, takes, description }
}

/// The version of PostgreSQL whose dialect and catalogs clients may expect.
const SERVER_VERSION: &str = "15.18";

/// All settings, by name in lower case.
const SETTINGS: &[Setting] = &[
    setting("application_name", "", Any, "Name of the application, for pg_stat_activity and the log."),
    setting("array_nulls", "on", Fixed, "NULL in the text of an array is the null value."),
    setting("backslash_quote", "safe_encoding", BoolOr(&["safe_encoding"]), "Changes nothing."),
    setting("block_size", "8192", Fixed, "What PostgreSQL would answer: there are no blocks."),
    setting("bytea_output", "hex", OneOf(&["escape", "hex"], &[]), "Form of bytea as text."),
    setting("check_function_bodies", "on", Bool, "Bodies of routines are checked when they are created."),
    setting("client_encoding", "UTF8", Fixed, "Encoding of the client."),
    setting(
        "client_min_messages",
        "notice",
        OneOf(LEVELS, &["debug", "info"]),
        "From which level on the client hears messages.",
    ),
    setting(
        "constraint_exclusion",
        "partition",
        BoolOr(&["partition"]),
        "Plans follow rules: changes nothing.",
    ),
    setting("cpu_index_tuple_cost", "0.005", Number, "Plans follow rules: changes nothing."),
    setting("cpu_operator_cost", "0.0025", Number, "Plans follow rules: changes nothing."),
    setting("cpu_tuple_cost", "0.01", Number, "Plans follow rules: changes nothing."),
    setting("cursor_tuple_fraction", "0.1", Number, "Plans follow rules: changes nothing."),
    setting("DateStyle", "ISO, MDY", DateStyle, "Form of dates, and which number of one is what."),
    setting("deadlock_timeout", "1s", Milliseconds, "Rings of waiting sessions are found at once."),
    setting("default_statistics_target", "100", Integer(0, 10_000), "Plans follow rules: changes nothing."),
    setting(
        "default_table_access_method",
        "heap",
        Only("Table access method", false),
        "Tables live in memory.",
    ),
    setting("default_tablespace", "", Only("Tablespace", true), "There is one place for tables."),
    setting(
        "default_text_search_config",
        "pg_catalog.english",
        Search,
        "Configuration of full-text search where none is named.",
    ),
    setting("default_transaction_deferrable", "off", Bool, "Changes nothing."),
    setting(
        "default_transaction_isolation",
        "serializable",
        Isolation,
        "Isolation level of transaction blocks that name none.",
    ),
    setting(
        "default_transaction_read_only",
        "off",
        Bool,
        "Whether transactions are read-only unless they say.",
    ),
    setting("effective_cache_size", "4GB", Memory(8), "Plans follow rules: changes nothing."),
    setting("effective_io_concurrency", "1", Integer(0, 10_000), "Plans follow rules: changes nothing."),
    setting("enable_async_append", "on", Bool, "Plans follow rules: changes nothing."),
    setting("enable_bitmapscan", "on", Bool, "Plans follow rules: changes nothing."),
    setting("enable_gathermerge", "on", Bool, "Plans follow rules: changes nothing."),
    setting("enable_hashagg", "on", Bool, "Plans follow rules: changes nothing."),
    setting("enable_hashjoin", "on", Bool, "Plans follow rules: changes nothing."),
    setting("enable_incremental_sort", "on", Bool, "Plans follow rules: changes nothing."),
    setting("enable_indexonlyscan", "on", Bool, "Plans follow rules: changes nothing."),
    setting("enable_indexscan", "on", Bool, "Plans follow rules: changes nothing."),
    setting("enable_material", "on", Bool, "Plans follow rules: changes nothing."),
    setting("enable_memoize", "on", Bool, "Plans follow rules: changes nothing."),
    setting("enable_mergejoin", "on", Bool, "Plans follow rules: changes nothing."),
    setting("enable_nestloop", "on", Bool, "Plans follow rules: changes nothing."),
    setting("enable_parallel_append", "on", Bool, "Plans follow rules: changes nothing."),
    setting("enable_parallel_hash", "on", Bool, "Plans follow rules: changes nothing."),
    setting("enable_partition_pruning", "on", Bool, "Plans follow rules: changes nothing."),
    setting("enable_partitionwise_aggregate", "off", Bool, "Plans follow rules: changes nothing."),
    setting("enable_partitionwise_join", "off", Bool, "Plans follow rules: changes nothing."),
    setting("enable_seqscan", "on", Bool, "Plans follow rules: changes nothing."),
    setting("enable_sort", "on", Bool, "Plans follow rules: changes nothing."),
    setting("enable_tidscan", "on", Bool, "Plans follow rules: changes nothing."),
    setting("escape_string_warning", "on", Bool, "Changes nothing."),
    setting(
        "extra_float_digits",
        "1",
        Integer(-15, 3),
        "Above 0, floats are printed so that they read back exactly; else with fewer digits.",
    ),
    setting("force_parallel_mode", "off", BoolOr(&["regress"]), "A statement runs on one thread."),
    setting("from_collapse_limit", "8", Integer(0, 10_000), "Plans follow rules: changes nothing."),
    setting("geqo", "on", Bool, "Plans follow rules: changes nothing."),
    setting("geqo_threshold", "12", Integer(0, 10_000), "Plans follow rules: changes nothing."),
    setting("gin_fuzzy_search_limit", "0", Integer(0, 2_147_483_647), "Changes nothing."),
    setting("hash_mem_multiplier", "2", Number, "Plans follow rules: changes nothing."),
    setting("idle_in_transaction_session_timeout", "0", Milliseconds, "Longest idle time in a transaction."),
    setting("idle_session_timeout", "0", Milliseconds, "Changes nothing: idle sessions stay."),
    setting("in_hot_standby", "off", Fixed, "This is no standby."),
    setting("integer_datetimes", "on", Fixed, "Dates and times are integers."),
    setting(
        "IntervalStyle",
        "postgres",
        OneOf(&["postgres", "postgres_verbose", "sql_standard", "iso_8601"], &[]),
        "Form of intervals.",
    ),
    setting("is_superuser", "on", Fixed, "Whether the current role may do everything."),
    setting("jit", "off", Bool, "There is no JIT."),
    setting("jit_above_cost", "100000", Number, "Plans follow rules: changes nothing."),
    setting("jit_inline_above_cost", "500000", Number, "Plans follow rules: changes nothing."),
    setting("jit_optimize_above_cost", "500000", Number, "Plans follow rules: changes nothing."),
    setting("join_collapse_limit", "8", Integer(0, 10_000), "Plans follow rules: changes nothing."),
    setting("lc_collate", "C", Fixed, "Texts are ordered by their bytes."),
    setting("lc_ctype", "C.UTF-8", Fixed, "Letters are those of Unicode."),
    setting("lc_messages", "C", Any, "Messages are in English."),
    setting("lc_monetary", "C", Any, "Changes nothing."),
    setting("lc_numeric", "C", Any, "Changes nothing."),
    setting("lc_time", "C", Any, "Changes nothing."),
    setting("lo_compat_privileges", "off", Bool, "There are no large objects."),
    setting(
        "lock_timeout",
        "0",
        Milliseconds,
        "Longest wait for a row that another transaction has claimed.",
    ),
    setting("log_statement", "none", OneOf(&["none", "ddl", "mod", "all"], &[]), "Changes nothing."),
    setting("logical_decoding_work_mem", "64MB", Memory(64), "Changes nothing."),
    setting("maintenance_io_concurrency", "10", Integer(0, 10_000), "Plans follow rules: changes nothing."),
    setting("maintenance_work_mem", "64MB", Memory(1024), "Changes nothing."),
    setting(
        "max_connections",
        "100",
        Fixed,
        "What PostgreSQL would answer; the server takes as many as its option says.",
    ),
    setting("max_identifier_length", "63", Fixed, "Longest name, in bytes."),
    setting("max_index_keys", "32", Fixed, "Columns of an index."),
    setting("max_parallel_maintenance_workers", "2", Integer(0, 1024), "A statement runs on one thread."),
    setting("max_parallel_workers", "8", Integer(0, 1024), "A statement runs on one thread."),
    setting("max_parallel_workers_per_gather", "2", Integer(0, 1024), "A statement runs on one thread."),
    setting("parallel_setup_cost", "1000", Number, "Plans follow rules: changes nothing."),
    setting("parallel_tuple_cost", "0.1", Number, "Plans follow rules: changes nothing."),
    setting("password_encryption", "scram-sha-256", Fixed, "How passwords are kept."),
    setting("pg_trgm.similarity_threshold", "0.3", Share, "From where on texts are similar: %."),
    setting("pg_trgm.strict_word_similarity_threshold", "0.5", Share, "From where on whole words are: <<%."),
    setting("pg_trgm.word_similarity_threshold", "0.6", Share, "From where on words are: <%."),
    setting(
        "plan_cache_mode",
        "auto",
        OneOf(&["auto", "force_generic_plan", "force_custom_plan"], &[]),
        "Plans follow rules: changes nothing.",
    ),
    setting("quote_all_identifiers", "off", Bool, "Changes nothing."),
    setting("random_page_cost", "4", Number, "Plans follow rules: changes nothing."),
    setting("role", "none", Fixed, "The role that SET ROLE chose."),
    setting("row_security", "on", Bool, "Off: a statement fails that policies would bind."),
    setting(
        "search_path",
        "\"$user\", public",
        Any,
        "Schemas in which names are looked for that say none, in order.",
    ),
    setting("seq_page_cost", "1", Number, "Plans follow rules: changes nothing."),
    setting("server_encoding", "UTF8", Fixed, "Encoding of the database."),
    setting("server_version", SERVER_VERSION, Fixed, "Version of PostgreSQL whose dialect this is."),
    setting("server_version_num", "150018", Fixed, "The same as a number."),
    setting("session_authorization", "postgres", Fixed, "The role that connected."),
    setting(
        "session_replication_role",
        "origin",
        OneOf(&["origin", "replica", "local"], &[]),
        "Replica: neither triggers fire, but for those that say so, nor do foreign keys hold.",
    ),
    setting("standard_conforming_strings", "on", Fixed, "Backslashes in '...' are plain."),
    setting("statement_timeout", "0", Milliseconds, "Longest time of a statement."),
    setting("synchronize_seqscans", "on", Bool, "Changes nothing."),
    setting(
        "synchronous_commit",
        "on",
        BoolOr(&["local", "remote_write", "remote_apply"]),
        "Changes nothing: the server's durability holds.",
    ),
    setting("temp_buffers", "8MB", Memory(800), "Changes nothing."),
    setting("TimeZone", "UTC", Zone, "Time zone in which timestamps with time zone are shown and read."),
    setting("track_activities", "on", Bool, "Sessions always say what they do."),
    setting("track_counts", "on", Bool, "Changes nothing."),
    setting("track_functions", "none", OneOf(&["none", "pl", "all"], &[]), "Changes nothing."),
    setting("track_io_timing", "off", Bool, "Changes nothing."),
    setting("transaction_deferrable", "off", Bool, "Changes nothing."),
    setting("transaction_isolation", "serializable", Isolation, "Isolation level of the transaction."),
    setting("transaction_read_only", "off", Bool, "Whether the transaction is read-only."),
    setting("transform_null_equals", "off", Fixed, "NULL equals nothing."),
    setting("vacuum_cost_delay", "0", Number, "There is nothing to vacuum."),
    setting("wal_compression", "off", BoolOr(&["pglz", "lz4", "zstd"]), "Changes nothing."),
    setting("work_mem", "4MB", Memory(64), "Changes nothing."),
    setting("xmloption", "content", OneOf(&["content", "document"], &[]), "There is no XML."),
];

/// What a session set.
#[derive(Clone, Default)]
pub(crate) struct Settings {
    /// By name in lower case: what differs from the default.
    values: BTreeMap<String, String>,
    /// What the session began with: what RESET goes back to.
    initial: Arc<BTreeMap<String, String>>,
    /// As they were when the transaction began that is open.
    before: Option<BTreeMap<String, String>>,
    /// As they will be when it has committed.
    after: Option<BTreeMap<String, String>>,
    /// The transaction is a statement that set something itself.
    of_statement: bool,
    /// Which state they are in: another number after each change, that no other session's have.
    changes: u64,
    /// Settings of applications that have been set: they are there, and empty, when that is over.
    known: BTreeSet<String>,
    /// A program has set `search_path` once.
    path_set: bool,
    /// `set_config()` has named a role, which the session has not become yet; whether for longer than the transaction.
    role_asked: Option<bool>,
    /// Of the program that runs.
    running: Running,
    /// Of a session that replays calls.
    replays: bool,
    /// What the client calls the database, where that is not its own name.
    database: Option<Arc<str>>,
}

/// The number of a state that there was not before. What is kept for the settings of one session is not that of another
/// that is lent the same slot.
fn moved() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

fn find(lower: &str) -> Option<&'static Setting> {
    SETTINGS.iter().chain(harmless::SETTINGS).find(|s| s.name.eq_ignore_ascii_case(lower))
}

/// 42704
fn unknown(name: &str) -> Error {
    Error::new(SqlState::UNDEFINED_OBJECT, format!("unrecognized configuration parameter \"{name}\""))
}

/// What a setting becomes that is set to a value: 42704 for an unknown name, 22023 for a value that cannot be.
fn value_of(name: &str, value: &[String], now: &Settings) -> Result<String> {
    match find(name) {
        Some(setting) if setting.takes == DateStyle => styles::take_dates(now, &value.join(", ")),
        Some(setting) => setting.take(value),
        // A setting of an application's own.
        None if name.contains('.') => Ok(value.join(", ")),
        None => Err(unknown(name)),
    }
}

fn put(values: &mut BTreeMap<String, String>, name: &str, value: Option<String>) {
    match value {
        Some(value) => drop(values.insert(name.to_owned(), value)),
        None => drop(values.remove(name)),
    }
}

/// What a setting is called, as PostgreSQL spells it.
pub(crate) fn spelled(name: &str) -> &str {
    find(name).map_or(name, |setting| setting.name)
}

/// 22023
fn invalid(name: &str, value: &str) -> Error {
    Error::new(
        SqlState::INVALID_PARAMETER_VALUE,
        format!("invalid value for parameter \"{name}\": \"{value}\""),
    )
}

impl Setting {
    /// One of some words; `others` are named by the hint as well.
    fn one_of(&self, text: &str, words: &[&str], hidden: &[&str], others: &[&str]) -> Result<String> {
        let is = |word: &&&str| word.eq_ignore_ascii_case(text);
        if let Some(word) = words.iter().chain(hidden).find(is) {
            return Ok((*word).to_owned());
        }
        let all: Vec<&str> = words.iter().chain(others).copied().collect();
        Err(invalid(&self.name.to_ascii_lowercase(), text)
            .with_hint(format!("Available values: {}.", all.join(", "))))
    }

    /// A size of memory, in the largest unit that fits.
    fn memory(&self, text: &str, least: u64) -> Result<String> {
        let trimmed = text.trim();
        let split = trimmed.find(|c: char| !c.is_ascii_digit()).unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(split);
        let number: u64 = number.parse().map_err(|_| invalid(self.name, text))?;
        let bytes = match unit.trim() {
            "B" => Some(number),
            "" | "kB" => number.checked_mul(1 << 10),
            "MB" => number.checked_mul(1 << 20),
            "GB" => number.checked_mul(1 << 30),
            "TB" => number.checked_mul(1 << 40),
            _ => {
                let hint = "Valid units for this parameter are \"B\", \"kB\", \"MB\", \"GB\", and \"TB\".";
                return Err(invalid(self.name, text).with_hint(hint));
            }
        };
        let most = i64::from(i32::MAX);
        let Some(kilobytes) = bytes.map(|bytes| bytes >> 10).filter(|kb| *kb <= most as u64) else {
            return Err(invalid(self.name, text).with_hint("Value exceeds integer range."));
        };
        if kilobytes < least {
            return Err(outside(self.name, &format!("{kilobytes} kB"), least as i64, most));
        }
        let units = [("TB", 1 << 30), ("GB", 1 << 20), ("MB", 1 << 10), ("kB", 1)];
        let fits = units.iter().find(|(_, size)| kilobytes.is_multiple_of(*size) && kilobytes > 0);
        let (unit, size) = fits.copied().unwrap_or(("kB", 1));
        Ok(format!("{}{unit}", kilobytes / size))
    }

    /// The value that a text sets it to.
    fn take(&self, wanted: &[String]) -> Result<String> {
        let text = wanted.join(", ");
        match self.takes {
            Any => Ok(text),
            Fixed if same(self.default, &text) => Ok(self.default.to_owned()),
            Fixed => Err(invalid(self.name, &text).with_hint(format!("It is always \"{}\".", self.default))),
            Bool => boolean(&text).map(str::to_owned).ok_or_else(|| {
                let message = format!("parameter \"{}\" requires a Boolean value", self.name);
                Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
            }),
            BoolOr(words) => match boolean(&text) {
                Some(is) => Ok(is.to_owned()),
                None => self.one_of(&text, words, &[], &["on", "off"]),
            },
            OneOf(words, hidden) => self.one_of(&text, words, hidden, &[]),
            Memory(least) => self.memory(&text, least),
            Integer(least, most) => {
                let number: i64 = text.trim().parse().map_err(|_| invalid(self.name, &text))?;
                if (least..=most).contains(&number) {
                    return Ok(number.to_string());
                }
                Err(outside(self.name, &number.to_string(), least, most))
            }
            Number => {
                let number: f64 = text.trim().parse().map_err(|_| invalid(self.name, &text))?;
                match number.is_finite() && number >= 0.0 {
                    true => Ok(number.to_string()),
                    false => Err(outside(self.name, &number.to_string(), 0, i64::MAX)),
                }
            }
            Share => match text.trim().parse::<f64>() {
                Ok(number) if (0.0..=1.0).contains(&number) => Ok(number.to_string()),
                Ok(number) => Err(outside(self.name, &number.to_string(), 0, 1)),
                Err(_) => Err(invalid(self.name, &text)),
            },
            Only(_, true) if text.is_empty() => Ok(text),
            Only(_, false) if text == self.default => Ok(text),
            Only("Tablespace", _) if text == "pg_default" => Ok(text),
            Only(what, _) => {
                Err(invalid(self.name, &text).with_detail(format!("{what} \"{text}\" does not exist.")))
            }
            Milliseconds => {
                milliseconds(&text).map(shown_milliseconds).ok_or_else(|| invalid(self.name, &text))
            }
            DateStyle => styles::take_dates(&Settings::default(), &text),
            Zone => match datetime::Zone::of_setting(&text) {
                Ok(zone) => Ok(zone.name().to_owned()),
                Err(e) if e.detail().is_some() => Err(e),
                Err(_) => Err(invalid(self.name, &text)),
            },
            Search => match planaria_catalog::reg::search_configuration(&text) {
                Ok(configuration) => Ok(format!("pg_catalog.{}", configuration.name)),
                Err(_) => Err(invalid(self.name, &text)),
            },
            Isolation => {
                let level = text.to_ascii_lowercase();
                match planaria_base::Isolation::of(&level) {
                    Some(_) => Ok(level),
                    None => Err(invalid(self.name, &text).with_hint(
                        "Available values: serializable, repeatable read, read committed, read uncommitted.",
                    )),
                }
            }
        }
    }
}

/// on or off, as PostgreSQL reads it: any beginning of a word that is one alone.
fn boolean(text: &str) -> Option<&'static str> {
    let lower = text.trim().to_ascii_lowercase();
    let begins = |word: &str, least: usize| lower.len() >= least && word.starts_with(&lower);
    if begins("true", 1) || begins("yes", 1) || begins("on", 2) || lower == "1" {
        return Some("on");
    }
    (begins("false", 1) || begins("no", 1) || begins("off", 2) || lower == "0").then_some("off")
}

/// 22023
fn outside(name: &str, value: &str, least: i64, most: i64) -> Error {
    let message = format!("{value} is outside the valid range for parameter \"{name}\" ({least} .. {most})");
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// A time as PostgreSQL reads it: `500`, `500ms`, `2s`, `1min`, `1h`, `1d`.
fn milliseconds(text: &str) -> Option<u64> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor = match unit.trim() {
        "" | "ms" => 1,
        "s" => 1_000,
        "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor).filter(|ms| *ms <= i32::MAX as u64)
}

/// As SHOW shows it: in the largest unit that fits.
fn shown_milliseconds(ms: u64) -> String {
    for (unit, factor) in [("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000)] {
        if ms > 0 && ms.is_multiple_of(factor) {
            return format!("{}{unit}", ms / factor);
        }
    }
    if ms == 0 { "0".to_owned() } else { format!("{ms}ms") }
}

/// Whether a text means the value, in one of PostgreSQL's spellings.
fn same(is: &str, wanted: &str) -> bool {
    // Of names of encodings only letters and digits count: asyncpg says 'utf-8', quotes and all.
    let plain = |s: &str| -> String {
        s.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
    };
    let wanted = plain(wanted);
    plain(is) == wanted
        || plain(is) == "utc"
            && ["gmt", "etcutc", "etcgmt", "utc0", "0", "00", "z", "zulu"].contains(&wanted.as_str())
        || plain(is) == "utf8" && wanted == "unicode"
}

/// Settings of a transaction say what it is; a session does not begin with one.
const OF_TRANSACTIONS: &[&str] =
    &["transaction_isolation", "transaction_read_only", "transaction_deferrable"];

/// What a session may begin with: 42704 for an unknown name, 22023 for a value it cannot have, 55P02 for what says how a
/// transaction is.
pub(crate) fn check_default(name: &str, value: &[String]) -> Result<()> {
    let lower = name.to_ascii_lowercase();
    if OF_TRANSACTIONS.contains(&lower.as_str()) {
        let message = format!("parameter \"{lower}\" cannot be changed");
        return Err(Error::new(SqlState::CANT_CHANGE_RUNTIME_PARAM, message)
            .with_hint(format!("Set \"default_{lower}\".")));
    }
    Settings::default().set(name, Some(value), false)
}

impl Settings {
    /// Those of a session that begins with these; of two values of one setting the later counts. What this program does
    /// not know, or knows to have other values, is passed over.
    pub(crate) fn beginning_with<'d>(defaults: impl Iterator<Item = &'d (String, String)>) -> Settings {
        let mut settings = Settings::default();
        for (name, value) in defaults {
            let _unknown = settings.set(name, Some(std::slice::from_ref(value)), false);
        }
        settings.initial = Arc::new(settings.values.clone());
        settings
    }

    /// The same, in place of others.
    pub(crate) fn in_place(self) -> Settings {
        Settings { changes: moved(), ..self }
    }

    /// The client has said so as it connected: RESET goes back to it.
    pub(crate) fn begin_with(&mut self, name: &str, value: &str) -> Result<()> {
        let value = [value.to_owned()];
        let lower = name.to_ascii_lowercase();
        if OF_TRANSACTIONS.contains(&lower.as_str()) {
            // There is no transaction yet.
            return Settings::default().set(name, Some(&value), false);
        }
        self.set(name, Some(&value), false)?;
        let now = self.values.get(&lower).cloned();
        Arc::make_mut(&mut self.initial).extend(now.map(|now| (lower, now)));
        Ok(())
    }

    /// What RESET would make of a setting, and what it is where nobody has said anything.
    pub(crate) fn origins(&self, name: &str) -> (Option<&str>, &'static str) {
        let lower = name.to_ascii_lowercase();
        (self.initial.get(&lower).map(String::as_str), find(&lower).map_or("", |setting| setting.default))
    }

    /// `SET name = value`; DEFAULT is `None`. 42704 for an unknown name, 22023 for a value that cannot be.
    pub(crate) fn set(&mut self, name: &str, value: Option<&[String]>, local: bool) -> Result<()> {
        let lower = name.to_ascii_lowercase();
        if lower == "all" && value.is_none() {
            self.values.clone_from(&self.initial);
            if let Some(after) = &mut self.after {
                after.clone_from(&self.initial);
            }
            self.changes = moved();
            return Ok(());
        }
        let taken = match (find(&lower), value) {
            (_, Some(value)) => Some(value_of(name, value, self)?),
            (Some(_), None) => self.initial.get(&lower).cloned(),
            // A setting of an application's own.
            (None, None) if lower.contains('.') => {
                Some(self.initial.get(&lower).cloned().unwrap_or_default())
            }
            (None, _) => return Err(unknown(name)),
        };
        self.know(&lower);
        if local && self.before.is_none() {
            return Ok(());
        }
        put(&mut self.values, &lower, taken.clone());
        if !local && let Some(after) = &mut self.after {
            put(after, &lower, taken);
        }
        self.changes = moved();
        Ok(())
    }

    /// What a setting is; 42704 where there is none of that name.
    pub(crate) fn get(&self, name: &str) -> Result<&str> {
        let lower = name.to_ascii_lowercase();
        match (self.values.get(&lower), find(&lower)) {
            (Some(value), _) => Ok(value),
            (None, Some(setting))
                if setting.name == "transaction_read_only"
                    && (self.before.is_none() || self.of_statement) =>
            {
                self.get("default_transaction_read_only")
            }
            (None, Some(setting)) if setting.name == "transaction_isolation" => {
                self.get("default_transaction_isolation")
            }
            (None, Some(setting)) => Ok(setting.default),
            (None, None) if self.known.contains(&lower) => Ok(""),
            (None, None) => Err(unknown(name)),
        }
    }

    fn know(&mut self, lower: &str) {
        if find(lower).is_none() && !self.known.contains(lower) {
            self.known.insert(lower.to_owned());
        }
    }

    /// The level that `SET transaction_isolation` names; `None`: the default.
    pub(crate) fn level(&self, value: Option<&[String]>) -> Result<planaria_base::Isolation> {
        match (find("transaction_isolation"), value) {
            (Some(setting), Some(value)) => {
                let level = setting.take(value)?;
                Ok(planaria_base::Isolation::of(&level).unwrap_or_default())
            }
            _ => Ok(self.isolation()),
        }
    }

    /// The level of a transaction block that names none.
    pub(crate) fn isolation(&self) -> planaria_base::Isolation {
        let default = self.values.get("default_transaction_isolation");
        default.and_then(|level| planaria_base::Isolation::of(level)).unwrap_or_default()
    }

    /// Whether a setting that is off by default is on; its name in lower case.
    #[inline]
    pub(crate) fn is_on(&self, name: &str) -> bool {
        !self.values.is_empty() && self.values.get(name).is_some_and(|v| v == "on")
    }

    /// Whether a setting that is usually on has been switched off.
    pub(crate) fn is_off(&self, name: &str) -> bool {
        self.values.get(name).is_some_and(|v| v == "off")
    }

    /// A time in milliseconds; 0 where it is off.
    #[inline]
    pub(crate) fn milliseconds(&self, name: &str) -> u64 {
        if self.values.is_empty() {
            return 0;
        }
        self.values.get(name).and_then(|v| milliseconds(v)).unwrap_or(0)
    }

    /// Whether somebody has said where to look for names.
    pub(crate) fn has_path(&self) -> bool {
        self.values.contains_key("search_path")
    }

    /// The time zone, if it is not UTC.
    pub(crate) fn zone(&self) -> Option<Arc<datetime::Zone>> {
        self.named_zone().filter(|zone| !zone.is_utc())
    }

    /// The time zone, if it is not called UTC.
    fn named_zone(&self) -> Option<Arc<datetime::Zone>> {
        let zone = datetime::Zone::of_setting(self.values.get("timezone")?).ok()?;
        (!zone.is_utc() || zone.name() != "UTC").then_some(zone)
    }

    /// Moves whenever a value may have changed.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// `SHOW name` or `SHOW ALL`: column names and rows.
    pub(crate) fn show<'n>(&self, name: &'n str) -> Result<(Vec<&'n str>, Vec<Vec<String>>)> {
        if name.eq_ignore_ascii_case("all") {
            let row = |s: &Setting| {
                vec![
                    s.name.to_owned(),
                    self.get(s.name).unwrap_or_default().to_owned(),
                    s.description.to_owned(),
                ]
            };
            let mut all: Vec<_> = SETTINGS.iter().chain(harmless::SETTINGS).map(row).collect();
            all.sort_by_key(|row: &Vec<String>| row[0].to_ascii_lowercase());
            return Ok((show_columns(name), all));
        }
        let value = self.get(name)?.to_owned();
        Ok((show_columns(name), vec![vec![value]]))
    }

    /// Has a setting say what is so whatever SET says.
    pub(crate) fn mirror(&mut self, name: &str, value: String) {
        if self.get(name).is_ok_and(|is| is == value) {
            return;
        }
        for values in [Some(&mut self.values), self.after.as_mut()].into_iter().flatten() {
            values.insert(name.to_owned(), value.clone());
        }
        self.changes = moved();
    }

    /// `set_config()`: in a statement that is a transaction of its own it holds until the end of that, if `local`, and
    /// is undone with it.
    pub(crate) fn set_by_function(
        &mut self,
        name: &str,
        value: Option<&[String]>,
        local: bool,
    ) -> Result<()> {
        if self.before.is_none() {
            self.begin_within();
            self.of_statement = true;
        }
        let lower = name.to_ascii_lowercase();
        if name.eq_ignore_ascii_case("transaction_isolation")
            && Some(self.level(value)?) != planaria_base::Isolation::of(self.get("transaction_isolation")?)
        {
            // The statement that asks is a query.
            return Err(Error::new(
                SqlState::ACTIVE_SQL_TRANSACTION,
                "SET TRANSACTION ISOLATION LEVEL must be called before any query",
            ));
        }
        let was = self.was(&lower);
        self.set(name, value, local)?;
        self.note(was);
        self.path_set |= matches!(&*lower, "search_path" | REPLICATION_ROLE);
        if !local {
            self.running.overridden(&lower);
        }
        Ok(())
    }

    /// The end, or the end of an attempt, of a statement that is a transaction of its own.
    #[inline]
    pub(crate) fn end_statement(&mut self, committed: bool) {
        if self.of_statement {
            self.end(committed);
        }
    }

    /// What they were at a savepoint, whose settings are given.
    pub(crate) fn back_to(&self, savepoint: &Settings) -> Settings {
        let (changes, known) = (moved(), self.known.clone());
        Settings { changes, known, running: Running::default(), ..savepoint.clone() }
    }

    /// A transaction block begins.
    pub(crate) fn begin(&mut self) {
        self.waited();
        self.before = Some(self.values.clone());
        self.after = self.before.clone();
    }

    /// It ends. What SET LOCAL set is over; rolled back, everything it set is.
    pub(crate) fn end(&mut self, committed: bool) {
        self.of_statement = false;
        let (before, after) = (self.before.take(), self.after.take());
        if let Some(values) = if committed { after } else { before }
            && values != self.values
        {
            self.values = values;
            self.changes = moved();
        }
    }
}

/// The columns of SHOW's answer.
pub(crate) fn show_columns(name: &str) -> Vec<&str> {
    if name.eq_ignore_ascii_case("all") {
        return vec!["name", "setting", "description"];
    }
    vec![find(name).map_or(name, |s| s.name)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(value: &str) -> Vec<String> {
        vec![value.to_owned()]
    }

    #[test]
    fn only_what_is_can_be_set() {
        let mut settings = Settings::default();
        assert!(settings.set("TimeZone", Some(&one("utc")), false).is_ok());
        assert!(settings.set("client_encoding", Some(&one("'utf-8'")), false).is_ok());
        assert!(settings.set("client_encoding", Some(&one("latin1")), false).is_err());
        let error = settings.set("timezone", Some(&one("Nowhere")), false).expect_err("refused");
        assert_eq!(error.sqlstate().as_str(), "22023");
        assert!(settings.zone().is_none());
        settings.set("timezone", Some(&one("europe/zurich")), false).expect("a zone");
        assert_eq!(settings.zone().expect("not UTC").name(), "Europe/Zurich");
        assert_eq!(settings.show("timezone").expect("known"), (vec!["TimeZone"], vec![one("Europe/Zurich")]));
        settings.set("timezone", Some(&one("Etc/UTC")), false).expect("a zone");
        assert!(settings.zone().is_none());
        settings.set("timezone", None, false).expect("back");
        assert_eq!(settings.set("nonsense", None, false).expect_err("unknown").sqlstate().as_str(), "42704");
        assert_eq!(settings.show("timezone").expect("known"), (vec!["TimeZone"], vec![one("UTC")]));
    }

    #[test]
    fn values_are_checked_as_postgresql_checks_them() {
        let mut settings = Settings::default();
        for (name, value, shown) in [
            ("work_mem", "65536", "64MB"),
            ("work_mem", "1GB", "1GB"),
            ("work_mem", "100 kB", "100kB"),
            ("maintenance_work_mem", "1024", "1MB"),
            ("jit", "of", "off"),
            ("jit", "y", "on"),
            ("client_min_messages", "WARNING", "warning"),
            ("synchronous_commit", "remote_write", "remote_write"),
            ("synchronous_commit", "no", "off"),
            ("extra_float_digits", "-15", "-15"),
            ("xmloption", "document", "document"),
            ("default_table_access_method", "heap", "heap"),
            ("default_tablespace", "", ""),
        ] {
            settings.set(name, Some(&one(value)), false).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(settings.get(name), Ok(shown), "{name}");
        }
        for (name, value, message) in [
            ("work_mem", "xyz", "invalid value for parameter \"work_mem\": \"xyz\""),
            ("work_mem", "1 kb", "invalid value for parameter \"work_mem\": \"1 kb\""),
            (
                "work_mem",
                "1",
                "1 kB is outside the valid range for parameter \"work_mem\" (64 .. 2147483647)",
            ),
            ("work_mem", "9999TB", "invalid value for parameter \"work_mem\": \"9999TB\""),
            ("jit", "o", "parameter \"jit\" requires a Boolean value"),
            ("client_min_messages", "loud", "invalid value for parameter \"client_min_messages\": \"loud\""),
            ("synchronous_commit", "maybe", "invalid value for parameter \"synchronous_commit\": \"maybe\""),
            (
                "extra_float_digits",
                "4",
                "4 is outside the valid range for parameter \"extra_float_digits\" (-15 .. 3)",
            ),
            ("backslash_quote", "x", "invalid value for parameter \"backslash_quote\": \"x\""),
            ("default_tablespace", "fast", "invalid value for parameter \"default_tablespace\": \"fast\""),
            ("lock_timeout", "soon", "invalid value for parameter \"lock_timeout\": \"soon\""),
        ] {
            let error = settings.set(name, Some(&one(value)), false).expect_err(name);
            assert_eq!((error.sqlstate().as_str(), error.message()), ("22023", message));
        }
    }

    #[test]
    fn a_value_is_shown_as_it_was_set() {
        let mut settings = Settings::default();
        settings.set("application_name", Some(&one("shop")), false).expect("any text");
        settings.set("my.own", Some(&one("1")), false).expect("any name with a dot");
        settings.set("statement_timeout", Some(&one("90000")), false).expect("a time");
        settings.set("transaction_isolation", Some(&one("read committed")), false).expect("a level");
        assert_eq!(settings.get("application_name"), Ok("shop"));
        assert_eq!(settings.get("my.own"), Ok("1"));
        assert_eq!(settings.get("STATEMENT_TIMEOUT"), Ok("90s"));
        assert_eq!(settings.milliseconds("statement_timeout"), 90_000);
        assert_eq!(settings.get("transaction_isolation"), Ok("read committed"));
        settings.set("all", None, false).expect("RESET ALL");
        assert_eq!(settings.get("application_name"), Ok(""));
    }

    #[test]
    fn settings_are_transactional() {
        let mut settings = Settings::default();
        settings.set("application_name", Some(&one("a")), false).expect("any text");
        settings.begin();
        settings.set("application_name", Some(&one("b")), true).expect("local");
        assert_eq!(settings.get("application_name"), Ok("b"));
        settings.end(true);
        assert_eq!(settings.get("application_name"), Ok("a"));
        settings.begin();
        settings.set("application_name", Some(&one("c")), false).expect("session");
        settings.end(false);
        assert_eq!(settings.get("application_name"), Ok("a"));
    }
}
