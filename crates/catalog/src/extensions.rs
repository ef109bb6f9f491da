//! Extensions of PostgreSQL: what CREATE EXTENSION can name.
//!
//! All of them are built in, and nothing but the type of `citext` waits for CREATE EXTENSION. What a database has made is kept,
//! with its schema, so that a dump of the database says so.

use crate::oids::Object;
use crate::{Catalog, Wanted};
use planaria_base::oid::Oid;
use planaria_base::{RoleId, SchemaId, Type};
use serde::{Deserialize, Serialize};

/// An extension that can be made.
#[derive(Debug)]
pub struct AvailableExtension {
    /// Its name.
    pub name: &'static str,
    /// Its versions, the default one last.
    pub versions: &'static [&'static str],
    /// What it is for.
    pub comment: &'static str,
}

impl AvailableExtension {
    /// The version that is made where none is said.
    pub fn default_version(&self) -> &'static str {
        self.versions.last().copied().unwrap_or_default()
    }
}

const fn available(
    name: &'static str,
    versions: &'static [&'static str],
    comment: &'static str,
) -> AvailableExtension {
    AvailableExtension { name, versions, comment }
}

/// Those that there are beside `plpgsql`, which every database has; the comments are PostgreSQL's.
pub const AVAILABLE_EXTENSIONS: [AvailableExtension; 5] = [
    available(
        "btree_gist",
        &["1.2", "1.3", "1.4", "1.5", "1.6", "1.7"],
        "support for indexing common datatypes in GiST",
    ),
    available("citext", &["1.4", "1.5", "1.6"], "data type for case-insensitive character strings"),
    available(
        "pg_trgm",
        &["1.3", "1.4", "1.5", "1.6"],
        "text similarity measurement and index searching based on trigrams",
    ),
    available("pgcrypto", &["1.3"], "cryptographic functions"),
    available("uuid-ossp", &["1.1"], "generate universally unique identifiers (UUIDs)"),
];

/// An extension that a database has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extension {
    /// Its name.
    pub name: String,
    /// The schema that its objects are in.
    pub schema: SchemaId,
    /// Its version.
    pub version: String,
    /// Who made it.
    pub owner: RoleId,
    /// COMMENT ON
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

impl Catalog {
    /// The extension of a name.
    pub fn extension(&self, name: &str) -> Option<&Extension> {
        self.extensions.iter().find(|e| e.name == name)
    }
    /// Adds one, which gets an OID.
    pub fn add_extension(&mut self, extension: Extension) {
        self.oids.give(vec![Object::Extension(extension.name.clone())]);
        self.extensions.push(extension);
    }
    /// Takes one out.
    pub fn remove_extension(&mut self, name: &str) {
        self.extensions.retain(|e| e.name != name);
        self.oids.take_back(&[Object::Extension(name.to_owned())].into());
    }
    /// Its OID.
    pub fn extension_oid(&self, name: &str) -> Oid {
        self.oids.of(&Object::Extension(name.to_owned()))
    }
    /// The type of an extension that a name stands for.
    pub fn extension_type(&self, wanted: Wanted<'_>) -> Option<Type> {
        let ty = match wanted.local {
            "citext" => Type::Citext,
            "_citext" => Type::Array(Box::new(Type::Citext)),
            _ => return None,
        };
        let schema = self.extension("citext")?.schema;
        match wanted.schema {
            Some(wanted) => wanted == schema,
            None => self.path().schemas().contains(&schema),
        }
        .then_some(ty)
    }
    /// `citext` as it is shown: with its schema where the path does not lead there.
    pub fn shown_citext(&self) -> String {
        match self.extension("citext") {
            Some(e) if !self.path().schemas().contains(&e.schema) => {
                format!("{}.citext", planaria_base::text_io::quote_ident(self.schema_name(e.schema)))
            }
            _ => "citext".to_owned(),
        }
    }
}
