//! The configurations of full-text search, as the catalogs name them.

use crate::oid::Oid;

/// A configuration, and its dictionary, which has the next lower OID (but that of `simple`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Configuration {
    /// Its OID, that of PostgreSQL 15.
    pub oid: Oid,
    /// Its name: that of a language, or `simple`.
    pub name: &'static str,
}

const fn of(oid: Oid, name: &'static str) -> Configuration {
    Configuration { oid, name }
}

/// All of them: those whose languages have a stemmer here.
pub const CONFIGURATIONS: [Configuration; 19] = [
    of(3748, "simple"),
    of(13152, "arabic"),
    of(13160, "danish"),
    of(13162, "dutch"),
    of(13164, "english"),
    of(13166, "finnish"),
    of(13168, "french"),
    of(13170, "german"),
    of(13172, "greek"),
    of(13176, "hungarian"),
    of(13182, "italian"),
    of(13188, "norwegian"),
    of(13190, "portuguese"),
    of(13192, "romanian"),
    of(13194, "russian"),
    of(13198, "spanish"),
    of(13200, "swedish"),
    of(13202, "tamil"),
    of(13204, "turkish"),
];

/// Languages that PostgreSQL has a configuration for, and that have none here.
pub const MISSING: [&str; 10] = [
    "armenian",
    "basque",
    "catalan",
    "hindi",
    "indonesian",
    "irish",
    "lithuanian",
    "nepali",
    "serbian",
    "yiddish",
];

/// By its OID.
pub fn configuration(oid: Oid) -> Option<&'static Configuration> {
    CONFIGURATIONS.iter().find(|configuration| configuration.oid == oid)
}

/// By its name.
pub fn configuration_named(name: &str) -> Option<&'static Configuration> {
    CONFIGURATIONS.iter().find(|configuration| configuration.name == name)
}
