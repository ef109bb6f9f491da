//! Settings while a program runs: what its routines set for as long as they run, and what is taken back.
//!
//! 1. A routine with settings of its own [enters](Settings::enter), and [leaves](Settings::leave) however it ends: then each
//!    setting is what it was, unless a SET without LOCAL has overridden it since, as in PostgreSQL.
//! 2. What was set is noted with what was there before. An EXCEPTION block that catches an error goes [back](Settings::back) to
//!    where it began, and so does a program that ends because it has to wait: it begins anew.
//! 3. How long it waits is what `lock_timeout` was where it had to.

use super::{Settings, moved, put, value_of};
use planaria_base::Result;

/// What a running program has set.
#[derive(Clone, Default)]
pub(super) struct Running {
    /// What takes it back, in order.
    undo: Vec<Undo>,
    /// Behind it each setting stands once.
    floor: usize,
    /// Routines that run in settings of their own.
    frames: Vec<Frame>,
    /// `lock_timeout` where the program ended because it has to wait.
    waits: Option<u64>,
}

/// What a setting was.
#[derive(Clone)]
pub(super) struct Undo {
    name: String,
    value: Option<String>,
    /// What it was to be when the transaction has committed; `None`: that is left as it is.
    after: Option<Option<String>>,
}

/// A routine that runs in settings of its own.
#[derive(Clone)]
struct Frame {
    /// What they were before, unless SET without LOCAL has overridden them since.
    saved: Vec<(String, Option<String>)>,
    /// Where in the list of what was undone it began, and where its own settings are behind.
    undo: (usize, usize),
}

impl Running {
    /// SET without LOCAL outlasts the routines that have the setting.
    pub(super) fn overridden(&mut self, name: &str) {
        for frame in &mut self.frames {
            frame.saved.retain(|(saved, _)| saved != name);
        }
    }
}

impl Settings {
    /// What a setting is that is about to be set.
    pub(super) fn was(&self, lower: &str) -> Undo {
        let after = self.after.as_ref().map(|after| after.get(lower).cloned());
        Undo { after, ..self.was_in_routine(lower) }
    }

    /// The same for as long as a routine runs.
    fn was_in_routine(&self, lower: &str) -> Undo {
        Undo { name: lower.to_owned(), value: self.values.get(lower).cloned(), after: None }
    }

    pub(super) fn note(&mut self, was: Undo) {
        let running = &mut self.running;
        if running.undo.iter().skip(running.floor).all(|undo| undo.name != was.name) {
            running.undo.push(was);
        }
    }

    /// The transaction of a statement begins within routines: what these have set is none of its doing.
    pub(super) fn begin_within(&mut self) {
        self.begin();
        for frame in self.running.frames.iter().rev() {
            for (name, value) in frame.saved.iter().rev() {
                for values in [&mut self.before, &mut self.after].into_iter().flatten() {
                    put(values, name, value.clone());
                }
            }
        }
    }

    /// A program begins.
    #[inline]
    pub(crate) fn begin_program(&mut self) {
        self.running.waits = None;
        if !self.running.undo.is_empty() || !self.running.frames.is_empty() {
            self.running = Running::default();
        }
    }

    /// It has ended: because it has to wait, and will begin anew.
    pub(crate) fn wait(&mut self) {
        let limit = self.milliseconds("lock_timeout");
        self.running.waits.get_or_insert(limit);
        self.back(0);
    }

    /// It has waited.
    pub(crate) fn waited(&mut self) {
        self.running.waits = None;
    }

    /// How long a program that has to wait does so at most, in milliseconds; 0: for ever.
    pub(crate) fn lock_timeout(&self) -> u64 {
        self.running.waits.unwrap_or_else(|| self.milliseconds("lock_timeout"))
    }

    /// A routine begins that has settings of its own.
    pub(crate) fn enter(&mut self, own: &[(String, String)]) -> Result<()> {
        let begins = self.running.undo.len();
        let mut taken = Vec::new();
        for (name, value) in own {
            taken.push((name, value_of(name, std::slice::from_ref(value), self)?));
        }
        // What it sets is told apart from what was set before it.
        self.running.floor = begins;
        let mut saved = Vec::new();
        for (name, value) in taken {
            let was = self.was_in_routine(name);
            saved.push((name.clone(), was.value.clone()));
            self.note(was);
            self.know(name);
            put(&mut self.values, name, Some(value));
        }
        let behind = self.running.undo.len();
        self.running.floor = behind;
        self.running.frames.push(Frame { saved, undo: (begins, behind) });
        Ok(())
    }

    /// It has ended.
    pub(crate) fn leave(&mut self, waits: bool) {
        if waits {
            let limit = self.milliseconds("lock_timeout");
            self.running.waits.get_or_insert(limit);
        }
        let Some(Frame { saved, undo: (begins, behind) }) = self.running.frames.pop() else { return };
        let alone = self.running.undo.len() == behind;
        self.running.floor = self.running.undo.len();
        for (name, value) in saved.into_iter().rev() {
            if !alone {
                let was = self.was_in_routine(&name);
                self.note(was);
            }
            put(&mut self.values, &name, value);
        }
        if alone {
            self.running.undo.truncate(begins);
        }
        self.running.floor = self.running.undo.len();
    }

    /// How much the program has set so far; what it sets from here on can be taken back alone.
    #[inline]
    pub(crate) fn mark(&mut self) -> usize {
        self.running.floor = self.running.undo.len();
        self.running.floor
    }

    /// Takes back what was set since; whether there was anything.
    pub(crate) fn back(&mut self, mark: usize) -> bool {
        if self.running.undo.len() <= mark {
            return false;
        }
        for Undo { name, value, after } in self.running.undo.drain(mark..).rev() {
            put(&mut self.values, &name, value);
            if let (Some(values), Some(after)) = (&mut self.after, after) {
                put(values, &name, after);
            }
        }
        self.running.floor = mark;
        self.changes = moved();
        true
    }
}
