//! What views say of themselves.

use crate::{Rights, Trigger, View, key};
use planaria_base::{SchemaId, TableId};
use std::collections::BTreeMap;

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
        let invoker = self.security_invoker.then(|| "security_invoker=true".to_owned());
        let check = self.check_option.map(|check| format!("check_option={}", check.name()));
        let barrier = self.security_barrier.then(|| "security_barrier=true".to_owned());
        check.into_iter().chain(invoker).chain(barrier).collect()
    }
    /// What it is found by among [`Catalog::views`].
    pub fn key(&self) -> String {
        key(self.schema, &self.name)
    }
}
