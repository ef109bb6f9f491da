//! Views, and what they say of themselves.

use crate::{CheckOption, Rights, Table, Trigger, key};
use planaria_base::{SchemaId, TableId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A view.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// Its schema.
    #[serde(default)]
    pub schema: SchemaId,
    /// Name.
    pub name: String,
    /// Names of the columns, if given or known.
    pub columns: Vec<String>,
    /// Its query, as text.
    pub query: String,
    /// It is the query of a materialized view: its rows are those of the table of the same name, to which names lead.
    #[serde(default)]
    pub stored: bool,
    /// WITH CHECK OPTION
    #[serde(default)]
    pub check_option: Option<CheckOption>,
    /// security_invoker: what is behind it is reached with the rights of whoever runs the statement.
    #[serde(default)]
    pub security_invoker: bool,
    /// security_barrier: its conditions are checked before those of whoever reads it.
    #[serde(default)]
    pub security_barrier: bool,
    /// The names of these options in the order in which they were said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub option_order: Vec<String>,
    /// What columns without a value become in INSERT, as SQL text by name: where the table behind would say otherwise.
    #[serde(default)]
    pub defaults: BTreeMap<String, String>,
    /// Its rows as its triggers see them: a table of its columns, which has the triggers ([`View::ROWS`]); from its
    /// first trigger on.
    #[serde(default)]
    pub rows: Option<Box<Table>>,
    /// Owner, and what was granted.
    #[serde(default)]
    pub rights: Rights,
    /// COMMENT ON
    #[serde(default)]
    pub comment: Option<String>,
    /// COMMENT ON COLUMN, by name.
    #[serde(default)]
    pub column_comments: BTreeMap<String, String>,
}

impl View {
    /// A view without options.
    pub fn new(schema: SchemaId, name: String, columns: Vec<String>, query: String, rights: Rights) -> View {
        View {
            schema,
            name,
            columns,
            query,
            stored: false,
            check_option: None,
            security_invoker: false,
            security_barrier: false,
            option_order: Vec::new(),
            defaults: BTreeMap::new(),
            rows: None,
            rights,
            comment: None,
            column_comments: BTreeMap::new(),
        }
    }
    /// The id of [`View::rows`]: no table has it.
    pub const ROWS: TableId = TableId(u32::MAX);
    /// The same under another name.
    pub fn renamed(mut self, schema: SchemaId, name: &str) -> View {
        self.schema = schema;
        self.name = name.to_owned();
        if let Some(rows) = &mut self.rows {
            rows.schema = schema;
            rows.name = name.to_owned();
        }
        self
    }
    /// Its triggers, in the order of their names.
    pub fn triggers(&self) -> &[Trigger] {
        self.rows.as_ref().map_or(&[], |rows| &rows.triggers)
    }
    /// Its options as `pg_class` has them.
    pub fn options(&self) -> Vec<String> {
        let invoker = self.security_invoker.then_some(("security_invoker", "true"));
        let check = self.check_option.map(|check| ("check_option", check.name()));
        let barrier = self.security_barrier.then_some(("security_barrier", "true"));
        let mut all: Vec<_> = check.into_iter().chain(invoker).chain(barrier).collect();
        // Of a view from before their order was kept, none has a place.
        all.sort_by_key(|(name, _)| self.option_order.iter().position(|known| known == name));
        all.into_iter().map(|(name, value)| format!("{name}={value}")).collect()
    }
    /// These options are said now: they stand behind the others.
    pub fn say_options(&mut self, names: &[&str]) {
        self.option_order.retain(|known| !names.contains(&known.as_str()));
        self.option_order.extend(names.iter().map(|name| (*name).to_owned()));
    }
    /// What it is found by among [`Catalog::views`].
    pub fn key(&self) -> String {
        key(self.schema, &self.name)
    }
}
