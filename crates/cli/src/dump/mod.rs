//! `planaria dump`: a database as a file of SQL, which psql and `planaria load` read.
//!
//! Everything comes out of the system catalogs by SQL, in one snapshot, so that a database in a directory and one on a server are
//! dumped by the same queries. What stands in the file, in this order:
//!
//! ```text
//!  settings      a search_path of public alone: what is elsewhere has its schema
//!  roles         with --roles
//!  objects       schemas, then types, routines, sequences and tables, each behind what it needs
//!  data          COPY blocks, values of sequences
//!  keys          primary keys, unique keys, indexes, foreign keys
//!  views         and routines that need them
//!  the rest      triggers, policies, comments, grants
//! ```
//!
//! | file | has |
//! |---|---|
//! | `source` | the session that is asked |
//! | `objects` | what is made by one `CREATE`, and in which order |
//! | `parts` | keys, indexes, triggers, policies, comments |
//! | `rights` | roles and grants |
//! | `select` | what `-t` and `-n` choose |

mod objects;
mod parts;
mod rights;
mod select;
mod source;

use crate::recovery::{KeepLog, Recovery};
use clap::Args;
use objects::{Kind, Objects};
use planaria::{Error, Result, SqlState};
use select::Selection;
use source::Source;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Options of `planaria dump`.
#[derive(Args)]
pub struct Options {
    /// Directory of the database, or a server: postgres://user@host:port/database (default: the server PGHOST etc. name)
    #[arg(value_name = "DIR|URL")]
    place: Option<PathBuf>,
    /// Only rows and sequence values
    #[arg(short = 'a', long, conflicts_with = "schema_only")]
    data_only: bool,
    /// Everything except rows and sequence values
    #[arg(short = 's', long)]
    schema_only: bool,
    /// Only this table, view or sequence, optionally with its schema; can be repeated
    #[arg(short = 't', long = "table", value_name = "TABLE")]
    tables: Vec<String>,
    /// Only objects in this schema; can be repeated
    #[arg(short = 'n', long = "schema", value_name = "SCHEMA")]
    schemas: Vec<String>,
    /// Also roles, with their password verifiers
    #[arg(long, conflicts_with_all = ["data_only", "tables", "schemas"])]
    roles: bool,
    /// Without ALTER .. OWNER TO: whoever loads it will own everything
    #[arg(short = 'O', long)]
    no_owner: bool,
    /// Without GRANT and REVOKE
    #[arg(short = 'x', long)]
    no_privileges: bool,
    /// File to write to (default: standard output)
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    recovery: Recovery,
}

/// Settings that the file begins with: those of a session that means the same wherever it is.
const SETTINGS: &str = "SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SET search_path = public;
SET check_function_bodies = false;
SET client_min_messages = warning;
";

/// Writes the file.
pub fn dump(options: &Options) -> Result<()> {
    if let Some(dir) = &options.place {
        expect_database(dir)?;
    }
    let (client, served) = crate::shell::connect(options.place.as_deref(), &options.recovery, KeepLog::YES)?;
    let mut source = Source::new(client)?;
    let outcome = write(options, &mut source);
    drop(source);
    if let Some(served) = served {
        served.close()?;
    }
    outcome
}

/// Nothing is made by who wants to read.
fn expect_database(place: &Path) -> Result<()> {
    if place.to_str().is_some_and(crate::shell::is_url) {
        return Ok(());
    }
    let is_ours =
        |name: &str| name == "manifest" || name.ends_with(".log") || name.starts_with("checkpoint-");
    let names = std::fs::read_dir(place).into_iter().flatten().flatten().map(|entry| entry.file_name());
    if names.into_iter().any(|name| is_ours(&name.to_string_lossy())) {
        return Ok(());
    }
    let what = if place.exists() { "holds no database" } else { "does not exist" };
    let message = format!("directory \"{}\" {what}", place.display());
    Err(Error::new(SqlState::UNDEFINED_FILE, message))
}

fn write(options: &Options, source: &mut Source) -> Result<()> {
    let selection = Selection::new(source, &options.tables, &options.schemas)?;
    match &options.output {
        Some(path) => {
            let file = File::create(path).map_err(|e| Error::from(named(path, &e)))?;
            let mut out = BufWriter::new(file);
            text(options, source, &selection, &mut out)?;
            out.flush().map_err(|e| Error::from(named(path, &e)))
        }
        None => {
            let mut out = BufWriter::new(io::stdout().lock());
            text(options, source, &selection, &mut out)?;
            Ok(out.flush()?)
        }
    }
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn text(options: &Options, source: &mut Source, selection: &Selection, out: &mut dyn Write) -> Result<()> {
    let (schema, data) = (!options.data_only, !options.schema_only);
    writeln!(out, "-- A dump of Planaria {}.\n\n{SETTINGS}", env!("CARGO_PKG_VERSION"))?;
    if options.roles {
        section(out, "Roles", &rights::roles(source)?)?;
    }
    let objects = Objects::read(source, selection, !options.no_owner)?;
    let (before, behind): (Vec<_>, Vec<_>) = objects.in_order().into_iter().partition(|o| !o.needs_view);
    if schema {
        section(out, "Schemas", &objects.schemas)?;
        section(out, "Types, routines, sequences, tables", &parts::with_casts(source, &before)?)?;
        section(out, "Columns that sequences belong to", &objects.owned)?;
    }
    if data {
        let tables = before.iter().filter(|o| o.kind == Kind::Table);
        let mut tables: Vec<_> = tables.map(|o| (o.oid, o.name.as_str(), o.columns.as_slice())).collect();
        tables.sort_by_key(|(_, name, _)| *name);
        if !schema {
            tables = parts::parents_first(source, tables)?;
        }
        for (_, name, columns) in tables.iter().filter(|(_, _, columns)| !columns.is_empty()) {
            let columns = columns.join(", ");
            writeln!(out, "COPY {name} ({columns}) FROM stdin;")?;
            source.copy(&format!("COPY {name} ({columns}) TO STDOUT"), out)?;
            writeln!(out, "\\.\n")?;
        }
        section(out, "Values of sequences", &objects.values(source)?)?;
    }
    if schema {
        let relations = objects.relations();
        let keys = parts::keys(source, &relations, !options.no_owner)?;
        section(out, "Primary and unique keys", &keys.keys)?;
        section(out, "Indexes", &keys.indexes)?;
        section(out, "Checks that were not validated, foreign keys", &keys.foreign)?;
        section(out, "Views", &behind.iter().map(|o| o.text()).collect::<Vec<_>>())?;
        section(out, "Indexes of materialized views", &keys.of_views)?;
        section(out, "Triggers", &parts::triggers(source, &relations)?)?;
        section(out, "Row-level security", &parts::policies(source, &relations)?)?;
        section(out, "Comments", &parts::comments(source, &objects)?)?;
        if !options.no_privileges {
            section(out, "Grants", &rights::grants(source, &objects, selection)?)?;
        }
    }
    writeln!(out, "-- Dump complete.")?;
    Ok(())
}

/// Statements under a heading, where there are some.
fn section(out: &mut dyn Write, heading: &str, statements: &[String]) -> Result<()> {
    if statements.is_empty() {
        return Ok(());
    }
    writeln!(out, "-- {heading}\n")?;
    for statement in statements {
        writeln!(out, "{}", statement.trim_end())?;
    }
    writeln!(out)?;
    Ok(())
}
