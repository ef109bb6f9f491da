//! Where a session looks for names that say no schema: `search_path`.

use crate::engine::schema_version::SchemaVersion;
use crate::session::core::SessionCore;
use planaria_base::{RoleId, SchemaId};
use planaria_catalog::{Catalog, Object, Privileges, SearchPath, path_names};
use std::sync::Arc;

/// What a path depends on: the version of the schema, the state of the settings, the user.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen(u64, u64, RoleId);

/// The schemas of a path's text, as a role sees them: those that are there and that it may use.
pub(crate) fn path(catalog: &Catalog, text: &str, role: RoleId) -> SearchPath {
    let mut schemas: Vec<SchemaId> = Vec::new();
    for name in path_names(text) {
        let name = if name == "$user" { catalog.role_name(role).to_string() } else { name };
        let Some(id) = catalog.schema(&name) else { continue };
        let usable = catalog.privileges(role, &Object::Schema(id)).intersects(Privileges::USAGE);
        if usable && !schemas.contains(&id) {
            schemas.push(id);
        }
    }
    SearchPath::new(schemas)
}

impl SessionCore {
    /// The session's path in a catalog.
    pub(crate) fn path(&self, catalog: &Catalog) -> SearchPath {
        let replica = self.settings.is_replica();
        if catalog.schemas.is_empty() && !self.settings.has_path() && !replica {
            return SearchPath::default();
        }
        let text = self.settings.get("search_path").unwrap_or_default();
        let path = path(catalog, text, self.user.current()).as_replica(replica);
        match self.temporary(catalog) {
            Some(temporary) => path.with_temporary(temporary),
            None => path,
        }
    }

    /// The session's version of the schema along its path.
    #[inline]
    #[allow(clippy::redundant_allocation, reason = "the outer count is this session's alone")]
    pub(crate) fn scoped(&mut self) -> Arc<Arc<SchemaVersion>> {
        let seen = self.seen(&self.schema);
        match &self.scoped {
            Some((found_for, scoped)) if *found_for == seen => scoped.clone(),
            _ => self.scope(seen, self.schema.clone()),
        }
    }

    /// The same of another version.
    #[allow(clippy::redundant_allocation, reason = "the outer count is this session's alone")]
    pub(crate) fn scoped_of(&mut self, base: Arc<Arc<SchemaVersion>>) -> Arc<Arc<SchemaVersion>> {
        let seen = self.seen(&base);
        match &self.scoped {
            Some((found_for, scoped)) if *found_for == seen => scoped.clone(),
            _ => self.scope(seen, base),
        }
    }

    #[inline]
    fn seen(&self, base: &SchemaVersion) -> Seen {
        Seen(base.version(), self.settings.changes(), self.user.current())
    }

    #[cold]
    #[allow(clippy::redundant_allocation, reason = "the outer count is this session's alone")]
    fn scope(&mut self, seen: Seen, base: Arc<Arc<SchemaVersion>>) -> Arc<Arc<SchemaVersion>> {
        let path = self.path(&base.catalog);
        let scoped = if path.is_home() { base } else { Arc::new(base.along(&path)) };
        self.scoped = Some((seen, scoped.clone()));
        scoped
    }
}
