//! Questions to the definitions: functions that only the engine can answer, because they need the
//! catalog or the session.
//!
//! What they answer is not in a call's log record. A procedure that asks and writes is logged by the
//! rows it changes.

use crate::func::Sig;

macro_rules! questions {
    ($($(#[$doc:meta])* $variant:ident $name:literal ($($arg:ident),*) -> $ret:ident $($flag:ident)*;)*) => {
        /// A function of the catalog or the session.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u16)]
        pub enum Question { $($(#[$doc])* #[doc = concat!("`", $name, "`")] $variant,)* }

        impl Question {
            /// All of them.
            pub const ALL: &[Question] = &[$(Question::$variant,)*];
            /// The name in the text form.
            pub const fn name(self) -> &'static str { match self { $(Question::$variant => $name,)* } }
            /// The arguments.
            pub const fn args(self) -> &'static [Sig] { match self { $(Question::$variant => &[$(Sig::$arg),*],)* } }
            /// The result; NULL where there is no answer.
            pub const fn result(self) -> Sig { match self { $(Question::$variant => Sig::$ret,)* } }
            /// Whether a NULL argument makes the answer NULL without asking.
            pub const fn strict(self) -> bool {
                match self { $(Question::$variant => { let flags: &[&str] = &[$(stringify!($flag)),*]; flags.is_empty() })* }
            }
            /// From its name in the text form.
            pub fn parse(name: &str) -> Option<Question> { match name { $($name => Some(Question::$variant),)* _ => None } }
        }
    };
}

/// How an advisory lock is taken: shared.
pub const ADVISORY_SHARED: i64 = 1;
/// For the transaction.
pub const ADVISORY_TRANSACTION: i64 = 2;
/// With a key of two parts.
pub const ADVISORY_PAIR: i64 = 4;

questions! {
    /// The oid that a name stands for, for a type by its OID (`regclass`, ...): 42P01, 42704, 42883
    /// where there is none.
    RegIn "reg.in" (T, I) -> I;
    /// The same; NULL where there is none.
    RegFind "reg.find" (T, I) -> I;
    /// The name that an oid of such a type is shown as.
    RegOut "reg.out" (I, I) -> T;
    /// Name of a type with a modifier (which may be NULL).
    FormatType "format_type" (I, I) -> T nullable;
    /// Definition of an index, or of its n-th column.
    IndexDef "index.def" (I, I, B) -> T;
    /// Definition of statistics (0), its columns (1) or its expressions (2).
    StatisticsDef "statistics.def" (I, I) -> T;
    /// Definition of a constraint.
    ConstraintDef "constraint.def" (I, B) -> T;
    /// CREATE TRIGGER statement of a trigger.
    TriggerDef "trigger.def" (I, B) -> T;
    /// How many triggers the statement that runs now is within.
    TriggerDepth "trigger.depth" () -> I;
    /// Has the next trigger that is called be within one more: the foreign key's that changes the row.
    DeeperTrigger "trigger.deeper" () -> B;
    /// The routine that runs and where it is, then whoever has called it, a line each: as CONTEXT of an error has them.
    CallStack "call_stack" () -> T;
    /// Whether a constraint trigger is deferred now: its table, its routine, and the row that fires it, which then waits
    /// for it (NEW's columns, then OLD's; NULL: none does).
    DeferTrigger "trigger.defer" (I, I, X) -> B nullable;
    /// The same of one that is INITIALLY IMMEDIATE, which is deferred in transaction blocks alone.
    DeferTriggerInBlock "trigger.defer_in_block" (I, I, X) -> B nullable;
    /// Whether a key or exclusion constraint that is INITIALLY IMMEDIATE is deferred now, which is so in transaction blocks
    /// alone: its table, its name.
    DeferCheckInBlock "check.defer_in_block" (I, T) -> B;
    /// CREATE statement of a routine.
    RoutineDef "routine.def" (I) -> T;
    RoutineBody "routine.body" (I) -> T;
    /// Arguments of a routine with names, modes and defaults.
    RoutineArguments "routine.arguments" (I) -> T;
    /// The same without defaults: what tells overloads apart.
    RoutineIdentity "routine.identity" (I) -> T;
    /// What a routine answers.
    RoutineResult "routine.result" (I) -> T;
    /// Default of the n-th input argument.
    ArgumentDefault "argument.default" (I, I) -> T;
    /// Query of a view.
    ViewDef "view.def" (I, B) -> T;
    /// An expression of a relation without the parentheses that nobody needs.
    PlainExpression "expression.plain" (T, I) -> T;
    /// The partition key of a table (`key`), or what the rows of a partition meet.
    PartitionDef "partition.def" (I, T) -> T;
    /// The OIDs of a relation and its partitions (`tree`), or of those that it is a partition of.
    PartitionTree "partition.tree" (I, T) -> A;
    /// What can be done to a relation, or to its n-th column: 4 UPDATE, 8 INSERT, 16 DELETE.
    Updatable "updatable" (I, I, B) -> I;
    /// The rule that makes a view.
    RuleDef "rule.def" (I) -> T;
    /// Whether an object is found by its bare name; the second argument says which catalog it is in.
    IsVisible "visible" (I, I) -> B;
    /// The comment on an object: its oid, the name of the catalog that it is in (empty: any), the
    /// number of a column or 0.
    Comment "comment" (I, T, I) -> T;
    /// What an object is, in words: the oid of its catalog, its own, the number of a column or 0.
    Describe "describe" (I, I, I) -> T;
    /// Name of a role.
    RoleName "role.name" (I) -> T;
    /// The sequence behind a column, as a qualified name.
    SerialSequence "serial_sequence" (T, T) -> T;
    /// Whether a role (NULL: the current one) has a privilege on an object of a kind:
    /// kind, role, object, column (NULL: none), privilege.
    HasPrivilege "has_privilege" (T, T, T, T, T) -> B nullable;
    /// Whether a role is a member of another: member (NULL: the current one), role, privilege.
    HasRole "has_role" (T, T, T) -> B nullable;
    /// Bytes of a table with (true) or without its indexes; of an index.
    RelationSize "relation.size" (I, T) -> I;
    /// Bytes of the database.
    DatabaseSize "database.size" () -> I;
    /// A setting; the second argument allows for one that is unknown.
    Setting "setting" (T, B) -> T;
    /// Changes a setting of the session; its new value.
    SetSetting "setting.set" (T, T, B) -> T nullable;
    /// The same in a routine that runs with the rights of its owner: no other role can be set there.
    SetSettingOfDefiner "setting.setofdefiner" (T, T, B) -> T nullable;
    /// Has a client's statement end; whether there is such a client.
    CancelClient "client.cancel" (I) -> B;
    /// Sends a client away; whether there is such a client. The second argument is how long to wait until it
    /// is gone, in milliseconds.
    TerminateClient "client.terminate" (I, I) -> B;
    /// Has the server read its settings again.
    ReloadSettings "settings.reload" () -> B;
    /// Forgets what statements have taken.
    ForgetStatements "statements.forget" () -> X;
    /// When the server's settings were read last.
    SettingsTime "settings.time" () -> S;
    /// Gives the snapshot that the transaction reads a name, for others to read it.
    ExportSnapshot "snapshot.export" () -> T;
    /// Sleeps so many seconds.
    Sleep "sleep" (F) -> X;
    /// Seeds what `random()` draws from in this session.
    SetSeed "random.seed" (F) -> X;
    /// Takes an advisory lock: the key or its first part, the second part or 0, and how: a sum of `ADVISORY_*`.
    AdvisoryLock "advisory.lock" (I, I, I) -> X;
    /// The same if it need not wait; whether it has it.
    TryAdvisoryLock "advisory.try" (I, I, I) -> B;
    /// Lets go of one at session level; whether it had it.
    AdvisoryUnlock "advisory.unlock" (I, I, I) -> B;
    /// Lets go of all at session level.
    AdvisoryUnlockAll "advisory.unlock_all" () -> X;
    /// The sessions that a session waits for.
    BlockingSessions "session.blockers" (I) -> A;
    /// Whether a session waits for one of others.
    IsBlockedBy "session.is_blocked" (I, A) -> B;
    /// Tells those that listen to a channel, when the transaction commits. Only bound: programs have an operation for it.
    Notify "notify" (T, T) -> X nullable;
    /// How full of notifications the fullest listener is, from 0 to 1.
    NotificationUsage "notify.usage" () -> F;
    /// Channels that the session listens to.
    ListeningChannels "session.channels" () -> A;
    /// Number of the session.
    SessionId "session.id" () -> I;
    /// Name of the role that began the session (true) or whose rights hold now.
    User "user" (B) -> T;
    /// When the engine was started.
    StartTime "start_time" () -> S;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        for q in Question::ALL {
            assert_eq!(Question::parse(q.name()), Some(*q));
        }
    }
}
