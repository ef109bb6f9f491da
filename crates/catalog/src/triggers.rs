//! Triggers: what a table calls when its rows change.
//!
//! A trigger belongs to its table and goes with it. For each event that fires it there is a *routine of its own*: the
//! trigger function as it is for rows of this table and this event, an entry of [`Catalog::procedures`] that no name
//! leads to ([`Procedure::fires`]). Programs that write the table call it; so whoever analyses, logs or replays such a
//! program sees what the trigger does. The entry itself says nothing but whose it is: body, owner and rights are those of
//! the function ([`Catalog::behind`]).

use crate::{Catalog, CheckTime, Procedure, Table, View};
use planaria_base::{ColumnId, ProcedureId, TableId};
use serde::{Deserialize, Serialize};

/// When a trigger fires.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum TriggerTime {
    /// Before a row, or the first row, is changed.
    Before,
    /// When the statement has changed all its rows.
    After,
    /// In the place of a change of a view's row.
    InsteadOf,
}

impl TriggerTime {
    /// As `TG_WHEN` has it.
    pub const fn word(self) -> &'static str {
        match self {
            TriggerTime::Before => "BEFORE",
            TriggerTime::After => "AFTER",
            TriggerTime::InsteadOf => "INSTEAD OF",
        }
    }
}

/// What fires a trigger.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum TriggerEvent {
    /// INSERT
    Insert,
    /// DELETE
    Delete,
    /// UPDATE
    Update,
    /// TRUNCATE
    Truncate,
}

impl TriggerEvent {
    /// All, in the order in which PostgreSQL prints them.
    pub const ALL: [TriggerEvent; 4] =
        [TriggerEvent::Insert, TriggerEvent::Delete, TriggerEvent::Update, TriggerEvent::Truncate];

    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            TriggerEvent::Insert => "INSERT",
            TriggerEvent::Delete => "DELETE",
            TriggerEvent::Update => "UPDATE",
            TriggerEvent::Truncate => "TRUNCATE",
        }
    }

    /// Whether there is a row before it.
    pub const fn has_old(self) -> bool {
        matches!(self, TriggerEvent::Update | TriggerEvent::Delete)
    }

    /// Whether there is a row after it.
    pub const fn has_new(self) -> bool {
        matches!(self, TriggerEvent::Update | TriggerEvent::Insert)
    }
}

/// Whether a trigger fires: by `session_replication_role`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub enum TriggerEnabled {
    /// It does.
    #[default]
    Origin,
    /// ENABLE ALWAYS: it does, too.
    Always,
    /// ENABLE REPLICA: only where changes of another server are applied.
    Replica,
    /// DISABLE
    Disabled,
}

impl TriggerEnabled {
    /// Whether it fires; `replica`: where `session_replication_role` is that.
    pub const fn fires(self, replica: bool) -> bool {
        match self {
            TriggerEnabled::Origin => !replica,
            TriggerEnabled::Always => true,
            TriggerEnabled::Replica => replica,
            TriggerEnabled::Disabled => false,
        }
    }
}

/// An event that fires a trigger, and the routine that it calls then.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Firing {
    /// The event.
    pub event: TriggerEvent,
    /// The routine of the trigger for it.
    pub routine: ProcedureId,
}

/// Which of the rows that a statement has changed a transition table has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transition {
    /// As they are now.
    New,
    /// As they were.
    Old,
}

/// A trigger of a table.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Trigger {
    /// Name, unique among those of the table. Triggers fire in the order of their names.
    pub name: String,
    /// The function, by its current version.
    pub function: ProcedureId,
    /// BEFORE, AFTER or INSTEAD OF.
    pub time: TriggerTime,
    /// FOR EACH ROW, not STATEMENT.
    pub each_row: bool,
    /// What fires it, in the order of [`TriggerEvent::ALL`].
    pub firings: Vec<Firing>,
    /// UPDATE OF these columns; empty: any UPDATE.
    pub columns: Vec<ColumnId>,
    /// WHEN, as SQL text over `old` and `new`.
    pub condition: Option<String>,
    /// What TG_ARGV has.
    pub arguments: Vec<String>,
    /// CREATE CONSTRAINT TRIGGER, and when it was said to fire.
    pub constraint: Option<CheckTime>,
    /// REFERENCING NEW TABLE: its name in the function's queries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_table: Option<String>,
    /// REFERENCING OLD TABLE
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_table: Option<String>,
    /// ENABLE, DISABLE
    #[serde(default)]
    pub enabled: TriggerEnabled,
    /// COMMENT ON
    #[serde(default)]
    pub comment: Option<String>,
    /// OLD of an INSERT and NEW of a DELETE are NULL as a whole. Of triggers that former versions made they are rows of
    /// NULLs, for logs that have calls of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub knows_absent_rows: bool,
    /// Of a partitioned table: the partition of a row is found before the trigger fires, which cannot move the row to
    /// another one, and a row that an UPDATE moves is deleted and inserted. TG_ARGV is an array that begins at 0. Triggers of former
    /// versions were asked first, such a row was updated, and their arguments began at 1 where they were taken as a whole: logs have
    /// calls that fire them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub routes_first: bool,
}

impl Trigger {
    /// The routine of an event that fires it.
    pub fn routine(&self, event: TriggerEvent) -> Option<ProcedureId> {
        self.firings.iter().find(|f| f.event == event).map(|f| f.routine)
    }
    /// The names of its transition tables: of new rows, then of old ones.
    pub fn transitions(&self) -> impl Iterator<Item = (Transition, &str)> {
        let new = self.new_table.as_deref().map(|name| (Transition::New, name));
        new.into_iter().chain(self.old_table.as_deref().map(|name| (Transition::Old, name)))
    }
}

impl Table {
    /// Those of its triggers that an event fires, in the order of their names.
    pub fn fired(
        &self,
        event: TriggerEvent,
        time: TriggerTime,
        each_row: bool,
        replica: bool,
    ) -> impl Iterator<Item = &Trigger> {
        self.triggers.iter().filter(move |t| {
            t.enabled.fires(replica) && t.time == time && t.each_row == each_row && t.routine(event).is_some()
        })
    }
    /// The transition tables that triggers want which an event fires.
    pub fn transitions(&self, event: TriggerEvent, replica: bool) -> impl Iterator<Item = Transition> {
        let wanted = move |which| {
            let levels = [true, false].into_iter();
            let mut fired = levels.flat_map(move |each| self.fired(event, TriggerTime::After, each, replica));
            fired.any(|t| t.transitions().any(|(w, _)| w == which))
        };
        [Transition::New, Transition::Old].into_iter().filter(move |which| wanted(*which))
    }
    /// When triggers fire that are asked about a row: before it is changed, of a view in place of that.
    pub fn asks(&self) -> TriggerTime {
        if self.id == View::ROWS { TriggerTime::InsteadOf } else { TriggerTime::Before }
    }
    /// Whether anything fires at a row before it is changed so.
    pub fn fires_before(&self, event: TriggerEvent, replica: bool) -> bool {
        self.fired(event, self.asks(), true, replica).next().is_some()
    }
    /// A trigger by name.
    pub fn trigger(&self, name: &str) -> Option<&Trigger> {
        self.triggers.iter().find(|t| t.name == name)
    }
}

impl Catalog {
    /// The trigger that a routine is of, with its table and the event that fires it; `None` where it is no trigger's, or
    /// the trigger is gone.
    pub fn trigger_of(&self, routine: &Procedure) -> Option<(&Table, &Trigger, TriggerEvent)> {
        let table = match &routine.fires_view {
            Some(view) => self.views.get(view)?.rows.as_deref()?,
            None => self.tables.get(routine.fires?.index())?.as_deref()?,
        };
        table.triggers.iter().find_map(|trigger| {
            let firing = trigger.firings.iter().find(|f| f.routine == routine.id)?;
            Some((table, trigger, firing.event))
        })
    }
    /// Whether something can call it now: it is found by name, or it is the routine of a trigger.
    pub fn is_called(&self, routine: &Procedure) -> bool {
        routine.current || self.trigger_of(routine).is_some()
    }
    /// The function whose body a routine has: of a trigger's routine the trigger function, of one with the types of a call
    /// that which was called, else itself.
    pub fn behind(&self, id: ProcedureId) -> &Procedure {
        let routine = self.procedure(id);
        if let Some(of) = routine.instance_of {
            return self.procedure(of);
        }
        match self.trigger_of(routine) {
            Some((_, trigger, _)) => self.procedure(trigger.function),
            None => routine,
        }
    }
    /// Views with a trigger that calls a function, by their keys.
    pub fn views_firing(&self, function: ProcedureId) -> impl Iterator<Item = (String, &Trigger)> {
        self.views.values().flat_map(move |view| {
            let calls = view.triggers().iter().filter(move |t| t.function == function);
            calls.map(|trigger| (view.key(), trigger))
        })
    }
    /// Tables with a trigger that calls a function.
    pub fn tables_firing(&self, function: ProcedureId) -> impl Iterator<Item = (TableId, &Trigger)> {
        self.tables.iter().flatten().flat_map(move |table| {
            let calls = table.triggers.iter().filter(move |t| t.function == function);
            calls.map(|trigger| (table.id, trigger))
        })
    }
}
