//! The files of checkpoints in a directory: their names, which one is the newest, what is left over.

use crate::Manifest;
use planaria_base::{Error, Result, SqlState};
use planaria_log::Device;
use std::io;

/// Ending of a manifest that is being written.
const DRAFT: &str = ".new";

/// Name of the manifest of a checkpoint.
pub(crate) fn manifest_name(number: u32) -> String {
    format!("checkpoint-{number:08}")
}

/// The same while it is being written.
pub(crate) fn draft_name(number: u32) -> String {
    manifest_name(number) + DRAFT
}

/// Name of a file of rows.
pub(crate) fn rows_name(number: u32, file: u32) -> String {
    format!("checkpoint-{number:08}-{file:02}.rows")
}

/// What a name says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Name {
    Manifest(u32),
    Draft(u32),
    Rows(u32),
}

impl Name {
    fn parse(name: &str) -> Option<Name> {
        let rest = name.strip_prefix("checkpoint-")?;
        let number: u32 = rest.get(..8)?.parse().ok()?;
        let parsed = match &rest[8..] {
            "" => Name::Manifest(number),
            DRAFT => Name::Draft(number),
            rows => {
                let file = rows.strip_prefix('-')?.strip_suffix(".rows")?.parse().ok()?;
                return (rows_name(number, file) == name).then_some(Name::Rows(number));
            }
        };
        (manifest_name(number).len() + parsed.ending() == name.len()).then_some(parsed)
    }

    fn ending(self) -> usize {
        if let Name::Draft(_) = self { DRAFT.len() } else { 0 }
    }

    fn number(self) -> u32 {
        match self {
            Name::Manifest(n) | Name::Draft(n) | Name::Rows(n) => n,
        }
    }
}

/// Whether a file of this name belongs to a checkpoint.
pub fn is_checkpoint_file(name: &str) -> bool {
    Name::parse(name).is_some()
}

/// Numbers of the checkpoints that were installed, the newest first.
pub fn numbers(device: &dyn Device) -> Result<Vec<u32>> {
    let names = device.list()?;
    let mut numbers: Vec<u32> = names
        .iter()
        .filter_map(|name| match Name::parse(name) {
            Some(Name::Manifest(number)) => Some(number),
            _ => None,
        })
        .collect();
    numbers.sort_unstable_by_key(|n| std::cmp::Reverse(*n));
    Ok(numbers)
}

/// Checkpoints that a database may be opened from.
#[derive(Default)]
pub struct Found {
    /// Those that can be read, as far as their manifests say, the newest first.
    pub manifests: Vec<Manifest>,
    /// What is damaged of the others.
    pub errors: Vec<Error>,
    /// A file of a checkpoint that was never installed.
    pub unfinished: Option<String>,
    /// Higher than the number of any checkpoint there is a sign of.
    pub next: u32,
}

impl Found {
    /// Identity of the database they belong to.
    pub fn database(&self) -> Option<[u8; 16]> {
        self.manifests.first().map(|m| m.database)
    }
}

/// Looks for the checkpoints in a directory. Damaged ones are among the errors; what cannot be read for
/// another reason ends the search, as nobody knows what is in it.
pub fn find(device: &dyn Device) -> Result<Found> {
    let mut found = Found { next: 1, ..Found::default() };
    let names = device.list()?;
    let installed = numbers(device)?;
    for name in &names {
        let Some(parsed) = Name::parse(name) else { continue };
        found.next = found.next.max(parsed.number().saturating_add(1));
        if !installed.contains(&parsed.number()) && found.unfinished.as_ref().is_none_or(|n| name < n) {
            found.unfinished = Some(name.clone());
        }
    }
    for number in installed {
        match Manifest::read(device, number) {
            Ok(manifest) => found.manifests.push(manifest),
            Err(error) if error.sqlstate() == SqlState::DATA_CORRUPTED => found.errors.push(error),
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// The newest checkpoint in a directory; an error if it cannot be read, `None` if there is none.
pub fn open(device: &dyn Device) -> Result<Option<Manifest>> {
    numbers(device)?.first().map(|number| Manifest::read(device, *number)).transpose()
}

/// Deletes all files of checkpoints older than number `kept`, and those of later ones that were not
/// installed; of `None` all that were not installed. How many.
pub fn clean(device: &dyn Device, kept: Option<u32>) -> Result<usize> {
    let names = device.list()?;
    let parsed: Vec<(&String, Name)> =
        names.iter().filter_map(|name| Name::parse(name).map(|parsed| (name, parsed))).collect();
    let installed = |n: u32| parsed.iter().any(|(_, name)| *name == Name::Manifest(n));
    let old = |name: Name| kept.is_some_and(|kept| name.number() < kept);
    let (manifests, others): (Vec<_>, Vec<_>) = parsed
        .iter()
        .filter(|(_, name)| old(*name) || matches!(name, Name::Draft(_)) || !installed(name.number()))
        .partition(|(_, name)| matches!(name, Name::Manifest(_)));
    let mut deleted = 0;
    // Manifests first: one that is there has its files.
    for names in [manifests, others] {
        for (name, _) in &names {
            device.delete(name)?;
        }
        if !names.is_empty() {
            device.sync_directory()?;
        }
        deleted += names.len();
    }
    Ok(deleted)
}

/// Reads a whole file.
pub(crate) fn read_all(device: &dyn Device, name: &str) -> io::Result<Vec<u8>> {
    let file = device.open(name)?;
    let mut bytes = vec![0; file.size()? as usize];
    let n = file.read_at(&mut bytes, 0)?;
    bytes.truncate(n);
    Ok(bytes)
}
