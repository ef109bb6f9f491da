//! One version of the schema, looked at along the search paths of sessions.
//!
//! Who looks along another path than [home](Catalog::home) has a `SchemaVersion` of its own: the same tables, the same
//! sequences, other names, and so other programs. It belongs to the version that it is of, and is kept there, for all
//! sessions that look along the same path.
//!
//! The log says nothing of paths. A call is logged as such where its procedure, and all that it calls, means from home
//! what it meant to its session; else by the rows it changed.

use super::{Cells, SchemaVersion};
use planaria_base::sync::Mutex;
use planaria_base::{Error, ProcedureId, Result, SqlState};
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
    /// The same along the paths of routines.
    inner: Inner,
    /// Of each routine: that along its own path, where this is not.
    within: Cells<Option<Arc<SchemaVersion>>>,
}

/// Versions along the paths that routines have of their own. Those that one leads to are kept with it, for all of them: so
/// none keeps another alive.
enum Inner {
    /// The version that sessions begin at.
    Keeps(Arc<Kept>),
    /// One that is kept there.
    Of(Weak<Kept>),
}

type Kept = Mutex<Vec<(SearchPath, Arc<SchemaVersion>)>>;

impl Along {
    pub(super) fn new(base: u64, routines: usize) -> Along {
        Along {
            base,
            home: None,
            others: Mutex::new(Vec::new()),
            same: Cells::new(routines),
            inner: Inner::Keeps(Arc::default()),
            within: Cells::new(routines),
        }
    }

    /// The version that this is of, unless this is it; 40001 where sessions have gone on to a newer one.
    pub(super) fn home(&self) -> Option<Result<Arc<SchemaVersion>>> {
        let gone = || Error::new(SqlState::SERIALIZATION_FAILURE, "the schema has changed");
        self.home.as_ref().map(|home| home.upgrade().ok_or_else(gone))
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

    /// This version from home, `base` being it if it is not another's.
    pub(crate) fn home(&self, base: &Arc<SchemaVersion>) -> Option<Arc<SchemaVersion>> {
        match &self.along.home {
            Some(home) => home.upgrade(),
            None => (base.version == self.version).then(|| base.clone()),
        }
    }

    /// Where the names lead that a routine executes and calls, if it has a path of its own and that is not the one here.
    pub(crate) fn within(&self, id: ProcedureId) -> Option<Arc<SchemaVersion>> {
        let routine = self.catalog.procedure_if(id)?;
        if self.catalog.behind(routine.id).settings.is_empty() {
            return None;
        }
        match &self.along.inner {
            Inner::Keeps(kept) => {
                self.along.within.get(id.index())?.get_or_init(|| self.make_within(id, kept)).clone()
            }
            Inner::Of(kept) => self.make_within(id, &kept.upgrade().unwrap_or_default()),
        }
    }

    fn make_within(&self, id: ProcedureId, kept: &Arc<Kept>) -> Option<Arc<SchemaVersion>> {
        let path = self.catalog.own_path(self.catalog.procedure(id))?;
        if path == *self.catalog.path() {
            return None;
        }
        let mut all = kept.lock();
        if let Some((_, found)) = all.iter().find(|(known, _)| *known == path) {
            return Some(found.clone());
        }
        let catalog = Arc::new(self.catalog.along(&path));
        let mut made = SchemaVersion::new(catalog, self.tables.clone(), self.sequences.clone());
        made.frozen = self.frozen;
        made.along.base = self.along.base;
        made.along.inner = Inner::Of(Arc::downgrade(kept));
        let made = Arc::new(made);
        all.push((path, made.clone()));
        Some(made)
    }

    /// Whether the routines that a routine calls are the same programs here as where the paths of its own and of others on
    /// the way lead: so that nobody has to follow these who only reads programs.
    pub(super) fn is_plain(&self, id: ProcedureId) -> bool {
        let mut seen: BTreeSet<(u64, ProcedureId)> = BTreeSet::new();
        let mut left: Vec<(Option<Arc<SchemaVersion>>, ProcedureId)> = vec![(None, id)];
        while let Some((at, id)) = left.pop() {
            let here = at.as_deref().unwrap_or(self);
            if !seen.insert((here.version, id)) {
                continue;
            }
            // One that cannot be lowered fails when it is called.
            let Ok(program) = here.program(id) else { continue };
            if here.version != self.version && self.program(id) != Ok(program) {
                return false;
            }
            let within = here.within(id).or(at.clone());
            program.body.visit(&mut |op| {
                if let OpKind::Call { procedure, .. } | OpKind::CallSet { procedure, .. } = &op.kind {
                    left.push((within.clone(), *procedure));
                }
            });
        }
        true
    }

    /// Whether a routine, with all that it calls, means from home what it means here.
    pub(super) fn means_the_same(&self, id: ProcedureId) -> bool {
        let Some(home) = &self.along.home else { return true };
        let Some(cell) = self.along.same.get(id.index()) else { return false };
        *cell.get_or_init(|| home.upgrade().is_some_and(|home| self.agrees(&home, id, &mut BTreeSet::new())))
    }

    fn agrees(
        &self,
        home: &SchemaVersion,
        id: ProcedureId,
        seen: &mut BTreeSet<(u64, u64, ProcedureId)>,
    ) -> bool {
        if !seen.insert((self.version, home.version, id)) {
            return true;
        }
        let (Ok(here), Ok(there)) = (self.program(id), home.program(id)) else { return false };
        if here != there {
            return false;
        }
        let (here_within, there_within) = (self.within(id), home.within(id));
        let inside = here_within.as_deref().unwrap_or(self);
        let inside_home = there_within.as_deref().unwrap_or(home);
        let mut agree = true;
        here.body.visit(&mut |op| {
            agree = agree
                && match &op.kind {
                    OpKind::Call { procedure, .. } | OpKind::CallSet { procedure, .. } => {
                        inside.agrees(inside_home, *procedure, seen)
                    }
                    // What it will be nobody knows.
                    OpKind::Execute { .. } => false,
                    _ => true,
                };
        });
        agree
    }
}
