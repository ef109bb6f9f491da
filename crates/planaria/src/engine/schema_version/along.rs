//! One version of the schema, looked at along the search paths of sessions.
//!
//! Who looks along another path than [home](Catalog::home) has a `SchemaVersion` of its own: the same tables, the same
//! sequences, other names, and so other programs. It belongs to the version that it is of, and is kept there, for all
//! sessions that look along the same path.
//!
//! The log says nothing of paths. A call is logged as such where its procedure, and all that it calls, means from home
//! what it meant to its session; else by the rows it changed.

use super::{Cells, SchemaVersion};
use planaria_base::ProcedureId;
use planaria_base::sync::Mutex;
use planaria_catalog::SearchPath;
use planaria_ir::OpKind;
use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

/// Paths that are kept for a version.
const PATHS_MAX: usize = 256;

/// See the module's head.
pub(super) struct Along {
    /// Of the version that this is of.
    base: u64,
    /// It, unless this is it.
    home: Option<Weak<SchemaVersion>>,
    /// The same along other paths, those used last behind.
    others: Mutex<Vec<(SearchPath, Arc<SchemaVersion>)>>,
    /// Of each routine: whether it means the same from home.
    same: Cells<bool>,
}

impl Along {
    pub(super) fn new(base: u64, routines: usize) -> Along {
        Along { base, home: None, others: Mutex::new(Vec::new()), same: Cells::new(routines) }
    }
}

impl SchemaVersion {
    /// The [version](Self::version) that this is of.
    #[inline]
    pub(crate) fn base(&self) -> u64 {
        self.along.base
    }

    /// The same along a path.
    pub(crate) fn along(self: &Arc<Self>, path: &SearchPath) -> Arc<SchemaVersion> {
        if path.is_home() {
            return self.clone();
        }
        let mut others = self.along.others.lock();
        if let Some(at) = others.iter().position(|(known, _)| known == path) {
            let found = others.remove(at);
            let version = found.1.clone();
            others.push(found);
            return version;
        }
        let catalog = Arc::new(self.catalog.along(path));
        let mut made = SchemaVersion::new(catalog, self.tables.clone(), self.sequences.clone());
        made.frozen = self.frozen;
        made.along.base = self.version;
        made.along.home = Some(Arc::downgrade(self));
        let made = Arc::new(made);
        if others.len() >= PATHS_MAX {
            others.remove(0);
        }
        others.push((path.clone(), made.clone()));
        made
    }

    /// Whether a routine, with all that it calls, means from home what it means here.
    pub(super) fn means_the_same(&self, id: ProcedureId) -> bool {
        let Some(home) = &self.along.home else { return true };
        let Some(cell) = self.along.same.get(id.index()) else { return false };
        *cell.get_or_init(|| home.upgrade().is_some_and(|home| self.agrees(&home, id, &mut BTreeSet::new())))
    }

    fn agrees(&self, home: &SchemaVersion, id: ProcedureId, seen: &mut BTreeSet<ProcedureId>) -> bool {
        if !seen.insert(id) {
            return true;
        }
        let (Ok(here), Ok(there)) = (self.program(id), home.program(id)) else { return false };
        if here != there {
            return false;
        }
        let mut agree = true;
        here.body.visit(&mut |op| {
            agree = agree
                && match &op.kind {
                    OpKind::Call { procedure, .. } | OpKind::CallSet { procedure, .. } => {
                        self.agrees(home, *procedure, seen)
                    }
                    // What it will be nobody knows.
                    OpKind::Execute { .. } => false,
                    _ => true,
                };
        });
        agree
    }
}
