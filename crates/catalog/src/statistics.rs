//! Extended statistics of tables: CREATE STATISTICS.
//!
//! Plans follow from rules, so nothing is counted: what is said is kept, shown and dumped.

use crate::oids::Object;
use crate::{Catalog, Table, Wanted};
use planaria_base::oid::Oid;
use planaria_base::{RoleId, SchemaId};
use serde::{Deserialize, Serialize};

/// Letters in `pg_statistic_ext`, and words of CREATE STATISTICS.
pub const STATISTICS_KINDS: [(char, &str); 3] = [('d', "ndistinct"), ('f', "dependencies"), ('m', "mcv")];

/// A statistics object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statistics {
    /// Name.
    pub name: String,
    /// Its schema, which may be another than the table's.
    pub schema: SchemaId,
    /// Who owns it.
    pub owner: RoleId,
    /// The kinds that were asked for, by their letters; empty: all.
    pub kinds: String,
    /// Columns, by name.
    pub columns: Vec<String>,
    /// Expressions over a row, as kept text.
    pub expressions: Vec<String>,
    /// SET STATISTICS; -1: what is usual.
    pub target: i32,
    /// COMMENT ON
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

impl Statistics {
    /// Whether they are of one expression alone, which has no kinds.
    pub fn is_single(&self) -> bool {
        self.columns.len() + self.expressions.len() == 1
    }
    /// `stxkind`
    pub fn letters(&self) -> Vec<char> {
        let asked = |letter: &char| self.kinds.is_empty() || self.kinds.contains(*letter);
        let kinds = STATISTICS_KINDS.iter().map(|(letter, _)| *letter).filter(asked);
        let kinds = kinds.filter(|_| !self.is_single());
        kinds.chain((!self.expressions.is_empty()).then_some('e')).collect()
    }
    /// Its columns in the order of the table's, each with its number, from 1.
    pub fn columns_in_order<'t>(&self, table: &'t Table) -> Vec<(usize, &'t str)> {
        let own = table.visible().filter(|(_, c)| self.columns.contains(&c.name));
        own.map(|(id, c)| (table.number(id) as usize, c.name.as_str())).collect()
    }
}

impl Catalog {
    /// All statistics, with their tables.
    pub fn all_statistics(&self) -> impl Iterator<Item = (&Table, &Statistics)> {
        let tables = self.tables.iter().flatten();
        tables.flat_map(|table| table.statistics.iter().map(move |of| (&**table, of)))
    }
    /// Those of a name.
    pub fn statistics(&self, wanted: Wanted<'_>) -> Option<(&Table, &Statistics)> {
        let of_name = || self.all_statistics().filter(|(_, of)| of.name == wanted.local);
        match wanted.schema {
            Some(schema) => of_name().find(|(_, of)| of.schema == schema),
            None => {
                let path = self.path();
                path.schemas().iter().find_map(|schema| of_name().find(|(_, of)| of.schema == *schema))
            }
        }
    }
    /// Their name as messages have it: with the schema where the path does not lead there.
    pub fn shown_statistics(&self, of: &Statistics) -> String {
        match self.path().schemas().contains(&of.schema) {
            true => planaria_base::text_io::quote_ident(&of.name),
            false => self.shown(of.schema, &of.name, None),
        }
    }
    /// Their OID.
    pub fn statistics_oid(&self, table: &Table, of: &Statistics) -> Oid {
        self.oids.of(&Object::Statistics(table.id, crate::key(of.schema, &of.name)))
    }
    /// Those that have an OID.
    pub fn statistics_of_oid(&self, oid: Oid) -> Option<(&Table, &Statistics)> {
        let Object::Statistics(table, key) = self.oids.object(oid)? else { return None };
        let table = self.tables.get(table.index())?.as_deref()?;
        let found = table.statistics.iter().find(|of| crate::key(of.schema, &of.name) == *key)?;
        Some((table, found))
    }
}
