//! Functions that ask the engine: SQL name -> [`Question`].
//!
//! Most are lines of [`TABLE`]. Those with several signatures (`has_table_privilege` and its like, sizes) and
//! those that need no engine are bound by [`Lowerer::bind_question`] itself.

use super::Lowerer;
use super::bound::{Bound, BoundKind};
use super::types::CastContext;
use planaria_base::types::{PackedType, SystemType};
use planaria_base::{Datum, Error, Result, SchemaId, SqlState, Type, oid};
use planaria_catalog::reg;
use planaria_ir::{ADVISORY_PAIR, ADVISORY_SHARED, ADVISORY_TRANSACTION, Func, OpKind, Question};

/// An argument that SQL leaves out.
#[derive(Clone, Copy)]
enum Extra {
    Bool(bool),
    Int(i64),
}

struct Line {
    name: &'static str,
    args: &'static [Type],
    extra: &'static [Extra],
    question: Question,
    result: Type,
}

const fn line(
    name: &'static str,
    args: &'static [Type],
    extra: &'static [Extra],
    question: Question,
    result: Type,
) -> Line {
    Line { name, args, extra, question, result }
}

use Type::{Bool, Int4, Int8, Text};
const OID: Type = Type::OID;
const PRETTY: &[Extra] = &[Extra::Bool(false)];

/// What an object is found in, for the `*_is_visible` functions.
const CLASS: &[Extra] = &[Extra::Int(1259)];
const TYPE: &[Extra] = &[Extra::Int(1247)];
const PROC: &[Extra] = &[Extra::Int(1255)];
const OTHER: &[Extra] = &[Extra::Int(0)];

/// How an advisory lock is taken, behind its key: with one part or two.
const ONE: &[Extra] = &[Extra::Int(0), Extra::Int(0)];
const ONE_SHARED: &[Extra] = &[Extra::Int(0), Extra::Int(ADVISORY_SHARED)];
const ONE_XACT: &[Extra] = &[Extra::Int(0), Extra::Int(ADVISORY_TRANSACTION)];
const ONE_XACT_SHARED: &[Extra] = &[Extra::Int(0), Extra::Int(ADVISORY_TRANSACTION | ADVISORY_SHARED)];
const TWO: &[Extra] = &[Extra::Int(ADVISORY_PAIR)];
const TWO_SHARED: &[Extra] = &[Extra::Int(ADVISORY_PAIR | ADVISORY_SHARED)];
const TWO_XACT: &[Extra] = &[Extra::Int(ADVISORY_PAIR | ADVISORY_TRANSACTION)];
const TWO_XACT_SHARED: &[Extra] = &[Extra::Int(ADVISORY_PAIR | ADVISORY_TRANSACTION | ADVISORY_SHARED)];

static TABLE: &[Line] = &[
    line("format_type", &[OID, Int4], &[], Question::FormatType, Text),
    line("pg_get_indexdef", &[OID], &[Extra::Int(0), Extra::Bool(false)], Question::IndexDef, Text),
    line("pg_get_indexdef", &[OID, Int4, Bool], &[], Question::IndexDef, Text),
    line("pg_get_statisticsobjdef", &[OID], &[Extra::Int(0)], Question::StatisticsDef, Text),
    line("pg_get_statisticsobjdef_columns", &[OID], &[Extra::Int(1)], Question::StatisticsDef, Text),
    line("pg_get_constraintdef", &[OID], PRETTY, Question::ConstraintDef, Text),
    line("pg_get_constraintdef", &[OID, Bool], &[], Question::ConstraintDef, Text),
    line("pg_get_triggerdef", &[OID], PRETTY, Question::TriggerDef, Text),
    line("pg_get_triggerdef", &[OID, Bool], &[], Question::TriggerDef, Text),
    line("pg_trigger_depth", &[], &[], Question::TriggerDepth, Int4),
    line("pg_get_functiondef", &[OID], &[], Question::RoutineDef, Text),
    line("pg_get_function_sqlbody", &[OID], &[], Question::RoutineBody, Text),
    line("pg_get_function_arguments", &[OID], &[], Question::RoutineArguments, Text),
    line("pg_get_function_identity_arguments", &[OID], &[], Question::RoutineIdentity, Text),
    line("pg_get_function_result", &[OID], &[], Question::RoutineResult, Text),
    line("pg_get_function_arg_default", &[OID, Int4], &[], Question::ArgumentDefault, Text),
    line("pg_get_viewdef", &[OID], PRETTY, Question::ViewDef, Text),
    line("pg_get_ruledef", &[OID], &[], Question::RuleDef, Text),
    line("pg_describe_object", &[OID, OID, Int4], &[], Question::Describe, Text),
    line("pg_get_userbyid", &[OID], &[], Question::RoleName, Type::NAME),
    line("pg_get_serial_sequence", &[Text, Text], &[], Question::SerialSequence, Text),
    line("pg_table_is_visible", &[OID], CLASS, Question::IsVisible, Bool),
    line("pg_type_is_visible", &[OID], TYPE, Question::IsVisible, Bool),
    line("pg_function_is_visible", &[OID], PROC, Question::IsVisible, Bool),
    line("pg_operator_is_visible", &[OID], OTHER, Question::IsVisible, Bool),
    line("pg_opclass_is_visible", &[OID], OTHER, Question::IsVisible, Bool),
    line("pg_opfamily_is_visible", &[OID], OTHER, Question::IsVisible, Bool),
    line("pg_collation_is_visible", &[OID], OTHER, Question::IsVisible, Bool),
    line("pg_conversion_is_visible", &[OID], OTHER, Question::IsVisible, Bool),
    line("pg_statistics_obj_is_visible", &[OID], OTHER, Question::IsVisible, Bool),
    line("pg_ts_config_is_visible", &[OID], OTHER, Question::IsVisible, Bool),
    line("pg_ts_dict_is_visible", &[OID], OTHER, Question::IsVisible, Bool),
    line("pg_ts_parser_is_visible", &[OID], OTHER, Question::IsVisible, Bool),
    line("pg_ts_template_is_visible", &[OID], OTHER, Question::IsVisible, Bool),
    line("current_setting", &[Text], PRETTY, Question::Setting, Text),
    line("current_setting", &[Text, Bool], &[], Question::Setting, Text),
    line("set_config", &[Text, Text, Bool], &[], Question::SetSetting, Text),
    line("pg_backend_pid", &[], &[], Question::SessionId, Int4),
    line("pg_cancel_backend", &[Int4], &[], Question::CancelClient, Bool),
    line("pg_terminate_backend", &[Int4], &[Extra::Int(0)], Question::TerminateClient, Bool),
    line("pg_terminate_backend", &[Int4, Int8], &[], Question::TerminateClient, Bool),
    line("pg_advisory_lock", &[Int8], ONE, Question::AdvisoryLock, Type::Void),
    line("pg_advisory_lock", &[Int4, Int4], TWO, Question::AdvisoryLock, Type::Void),
    line("pg_advisory_lock_shared", &[Int8], ONE_SHARED, Question::AdvisoryLock, Type::Void),
    line("pg_advisory_lock_shared", &[Int4, Int4], TWO_SHARED, Question::AdvisoryLock, Type::Void),
    line("pg_advisory_xact_lock", &[Int8], ONE_XACT, Question::AdvisoryLock, Type::Void),
    line("pg_advisory_xact_lock", &[Int4, Int4], TWO_XACT, Question::AdvisoryLock, Type::Void),
    line("pg_advisory_xact_lock_shared", &[Int8], ONE_XACT_SHARED, Question::AdvisoryLock, Type::Void),
    line("pg_advisory_xact_lock_shared", &[Int4, Int4], TWO_XACT_SHARED, Question::AdvisoryLock, Type::Void),
    line("pg_try_advisory_lock", &[Int8], ONE, Question::TryAdvisoryLock, Bool),
    line("pg_try_advisory_lock", &[Int4, Int4], TWO, Question::TryAdvisoryLock, Bool),
    line("pg_try_advisory_lock_shared", &[Int8], ONE_SHARED, Question::TryAdvisoryLock, Bool),
    line("pg_try_advisory_lock_shared", &[Int4, Int4], TWO_SHARED, Question::TryAdvisoryLock, Bool),
    line("pg_try_advisory_xact_lock", &[Int8], ONE_XACT, Question::TryAdvisoryLock, Bool),
    line("pg_try_advisory_xact_lock", &[Int4, Int4], TWO_XACT, Question::TryAdvisoryLock, Bool),
    line("pg_try_advisory_xact_lock_shared", &[Int8], ONE_XACT_SHARED, Question::TryAdvisoryLock, Bool),
    line("pg_try_advisory_xact_lock_shared", &[Int4, Int4], TWO_XACT_SHARED, Question::TryAdvisoryLock, Bool),
    line("pg_advisory_unlock", &[Int8], ONE, Question::AdvisoryUnlock, Bool),
    line("pg_advisory_unlock", &[Int4, Int4], TWO, Question::AdvisoryUnlock, Bool),
    line("pg_advisory_unlock_shared", &[Int8], ONE_SHARED, Question::AdvisoryUnlock, Bool),
    line("pg_advisory_unlock_shared", &[Int4, Int4], TWO_SHARED, Question::AdvisoryUnlock, Bool),
    line("pg_advisory_unlock_all", &[], &[], Question::AdvisoryUnlockAll, Type::Void),
    line("pg_notify", &[Text, Text], &[], Question::Notify, Type::Void),
    line("pg_notification_queue_usage", &[], &[], Question::NotificationUsage, Type::Float8),
    line("pg_sleep", &[Type::Float8], &[], Question::Sleep, Type::Void),
    line("setseed", &[Type::Float8], &[], Question::SetSeed, Type::Void),
    line("pg_postmaster_start_time", &[], &[], Question::StartTime, Type::TimestampTz),
    line("pg_export_snapshot", &[], &[], Question::ExportSnapshot, Type::Text),
    line("pg_conf_load_time", &[], &[], Question::SettingsTime, Type::TimestampTz),
    line("pg_reload_conf", &[], &[], Question::ReloadSettings, Bool),
    line("pg_stat_statements_reset", &[], &[], Question::ForgetStatements, Type::Void),
    line("pg_database_size", &[Type::NAME], &[], Question::DatabaseSize, Int8),
    line("pg_database_size", &[OID], &[], Question::DatabaseSize, Int8),
];

/// Functions of which nothing has an answer here (there are no tablespaces, ...), by
/// name and number of arguments.
const NOTHING: &[(&str, usize)] = &[
    ("inet_client_addr", 0),
    ("inet_server_addr", 0),
    ("pg_tablespace_location", 1),
    ("pg_stat_get_backend_idset", 0),
    ("pg_relation_filepath", 1),
];

/// Functions that change nothing here: counters begin when the server does.
const RESETS: &[(&str, usize)] = &[
    ("pg_stat_clear_snapshot", 0),
    ("pg_stat_force_next_flush", 0),
    ("pg_stat_reset", 0),
    ("pg_stat_reset_shared", 1),
    ("pg_stat_reset_single_function_counters", 1),
    ("pg_stat_reset_single_table_counters", 1),
    ("pg_stat_reset_slru", 1),
];

/// `has_x_privilege`: the kind of object, by the middle of the name.
const PRIVILEGED: &[(&str, SystemType)] = &[
    ("table", SystemType::RegClass),
    ("any_column", SystemType::RegClass),
    ("column", SystemType::RegClass),
    ("sequence", SystemType::RegClass),
    ("schema", SystemType::RegNamespace),
    ("function", SystemType::RegProcedure),
    ("type", SystemType::RegType),
    ("database", SystemType::Oid),
    ("language", SystemType::Oid),
    ("tablespace", SystemType::Oid),
    ("foreign_data_wrapper", SystemType::Oid),
    ("server", SystemType::Oid),
];

/// `to_regclass` and its like.
fn to_reg(name: &str) -> Option<SystemType> {
    let system = SystemType::by_name(name.strip_prefix("to_")?)?;
    system.is_reg().then_some(system)
}

fn text(value: &str, position: u32) -> Bound {
    Bound::constant(Datum::Text(value.to_owned()), Type::Text, position)
}

/// The table and the column of a call of `pg_get_serial_sequence` that has them as literals, as a text or as a relation.
pub(super) fn serial_column(e: &Bound) -> Option<(&str, &str)> {
    match &e.stripped().kind {
        BoundKind::Ask(Question::SerialSequence, args) => match (args[0].as_const()?, args[1].as_const()?) {
            (Datum::Text(table), Datum::Text(column)) => Some((table, column)),
            _ => None,
        },
        BoundKind::Ask(Question::RegFind, args) => serial_column(args.first()?),
        _ => None,
    }
}

impl Lowerer<'_> {
    /// SET within a routine, or executed by one.
    pub(super) fn emit_set(&mut self, name: &str, value: Option<&[String]>, local: bool) -> Result<()> {
        let lower = name.to_ascii_lowercase();
        let (what, hint) = match lower.as_str() {
            "transaction_read_only" => (
                "SET TRANSACTION within a routine is not supported",
                "Say BEGIN READ ONLY before the routine is called.",
            ),
            "all" => ("RESET ALL within a routine is not supported", "Reset settings one by one."),
            _ => {
                let mut constant = |datum: Datum, ty: Type| self.constant(datum, ty);
                let name = constant(Datum::Text(lower), Text);
                let value = value.map_or(Datum::Null, |values| Datum::Text(values.join(", ")));
                let (value, local) = (constant(value, Text), constant(Datum::Bool(local), Type::Bool));
                let dst = self.temp(Text);
                self.emit(OpKind::Ask { dst, question: self.set_setting(), args: vec![name, value, local] });
                return Ok(());
            }
        };
        Err(Error::unsupported(what, hint).at(self.position))
    }

    /// What sets a setting here.
    fn set_setting(&self) -> Question {
        match self.rights.definer {
            Some(_) => Question::SetSettingOfDefiner,
            None => Question::SetSetting,
        }
    }

    /// A call of a function about the catalog or the session; `None` where the name is no such
    /// function's.
    pub(super) fn bind_question(
        &mut self,
        name: &str,
        args: &[Bound],
        position: u32,
    ) -> Result<Option<Bound>> {
        let null = |ty| Ok(Some(Bound::null(ty, position)));
        // Whoever asks inside of a routine is told that there is no address: a log has calls of it.
        let passing = self.program.kind == planaria_ir::ProgramKind::Statement && !self.kept_text;
        if passing && args.is_empty() && matches!(name, "inet_client_addr" | "inet_server_addr") {
            return null(Type::Packed(PackedType::Inet));
        }
        // Former versions did not have these: logs may have calls of somebody's own.
        let own = || self.catalog.procedures_named(name).next().is_some();
        if args.is_empty() && matches!(name, "inet_client_port" | "inet_server_port") && !own() {
            return null(Int4);
        }
        if RESETS.contains(&(name, args.len())) && !own() {
            return null(Type::Void);
        }
        if NOTHING.contains(&(name, args.len())) {
            return null(Type::Text);
        }
        if let (Some(system), [arg]) = (to_reg(name), args) {
            let arg = self.coerce(arg.clone(), &Type::Text, CastContext::Implicit)?;
            let kind = oid_constant(system, position);
            return Ok(Some(ask(Question::RegFind, vec![arg, kind], Type::System(system), position)));
        }
        if let Some(what) = name.strip_prefix("has_").and_then(|n| n.strip_suffix("_privilege"))
            && let Some((kind, system)) = PRIVILEGED.iter().find(|(kind, _)| *kind == what)
        {
            return self.bind_privilege(kind, *system, args, position).map(Some);
        }
        match (name, args) {
            ("pg_has_role", [member @ .., role, privilege]) if member.len() <= 1 => {
                let member = match member {
                    [member] => self.named(member.clone(), SystemType::RegRole)?,
                    _ => Bound::null(Type::Text, position),
                };
                let role = self.named(role.clone(), SystemType::RegRole)?;
                let privilege = self.coerce(privilege.clone(), &Type::Text, CastContext::Implicit)?;
                let args = vec![member, role, privilege];
                return Ok(Some(ask(Question::HasRole, args, Type::Bool, position)));
            }
            ("pg_get_expr", [e, _]) => {
                return self.coerce(e.clone(), &Type::Text, CastContext::Implicit).map(Some);
            }
            ("pg_get_expr", [e, relation, pretty]) => {
                let e = self.coerce(e.clone(), &Type::Text, CastContext::Implicit)?;
                let relation = self.operand(relation.clone(), &OID)?;
                let pretty = self.operand(pretty.clone(), &Bool)?;
                let plain = ask(Question::PlainExpression, vec![e.clone(), relation], Text, position);
                let kind = BoundKind::Case(vec![(pretty, plain)], Box::new(e));
                return Ok(Some(Bound::new(kind, Text, position)));
            }
            ("obj_description", [object]) => {
                let object = self.operand(object.clone(), &OID)?;
                let none = Bound::constant(Datum::Int(0), Int4, position);
                let args = vec![object, text("", position), none];
                return Ok(Some(ask(Question::Comment, args, Text, position)));
            }
            ("obj_description" | "shobj_description", [object, class]) => {
                let (object, class) =
                    (self.operand(object.clone(), &OID)?, self.operand(class.clone(), &Type::NAME)?);
                let class = self.coerce(class, &Text, CastContext::Implicit)?;
                let none = Bound::constant(Datum::Int(0), Int4, position);
                return Ok(Some(ask(Question::Comment, vec![object, class, none], Text, position)));
            }
            ("col_description", [relation, column]) => {
                let (relation, column) =
                    (self.operand(relation.clone(), &OID)?, self.operand(column.clone(), &Int4)?);
                let args = vec![relation, text("pg_class", position), column];
                return Ok(Some(ask(Question::Comment, args, Text, position)));
            }
            ("pg_relation_is_updatable", [relation, triggers])
            | ("pg_column_is_updatable", [relation, _, triggers]) => {
                let class = Type::System(SystemType::RegClass);
                let relation = self.coerce(relation.clone(), &class, CastContext::Implicit)?;
                let triggers = self.operand(triggers.clone(), &Bool)?;
                let column = match args {
                    [_, column, _] => Some(self.operand(column.clone(), &Type::Int2)?),
                    _ => None,
                };
                let of_column = column.is_some();
                let column = column.unwrap_or_else(|| Bound::constant(Datum::Int(0), Int4, position));
                let events = ask(Question::Updatable, vec![relation, column, triggers], Int4, position);
                if !of_column {
                    return Ok(Some(events));
                }
                // UPDATE and DELETE.
                let both = Bound::constant(Datum::Int(20), Int4, position);
                return Ok(Some(Bound::apply(Func::IntEq, vec![events, both], Bool, position)));
            }
            ("pg_get_partkeydef" | "pg_get_partition_constraintdef", [relation]) => {
                let relation = self.operand(relation.clone(), &OID)?;
                let which = if name == "pg_get_partkeydef" { "key" } else { "constraint" };
                let args = vec![relation, text(which, position)];
                return Ok(Some(ask(Question::PartitionDef, args, Text, position)));
            }
            (super::written::PARTITIONS, [relation, which]) => {
                let class = Type::System(SystemType::RegClass);
                let relation = self.coerce(relation.clone(), &class, CastContext::Implicit)?;
                let all = Type::Array(Box::new(class));
                return Ok(Some(ask(Question::PartitionTree, vec![relation, which.clone()], all, position)));
            }
            // By its name.
            ("pg_get_viewdef", [view]) if matches!(view.ty, Type::Unknown | Text) => {
                let class = Type::System(SystemType::RegClass);
                let view = self.coerce(view.clone(), &class, CastContext::Implicit)?;
                return Ok(Some(ask(
                    Question::ViewDef,
                    vec![view, Bound::bool(false, position)],
                    Text,
                    position,
                )));
            }
            ("pg_get_viewdef", [view, how]) => {
                let view =
                    self.coerce(view.clone(), &Type::System(SystemType::RegClass), CastContext::Implicit)?;
                // A number is the column at which lines end: those of a view end behind each output.
                let pretty = match how.ty {
                    Type::Int2 | Type::Int4 => Bound::bool(true, position),
                    _ => self.operand(how.clone(), &Bool)?,
                };
                return Ok(Some(ask(Question::ViewDef, vec![view, pretty], Type::Text, position)));
            }
            (
                "pg_relation_size" | "pg_table_size" | "pg_total_relation_size" | "pg_indexes_size",
                [relation],
            )
            | ("pg_relation_size", [relation, _]) => {
                let regclass = Type::System(SystemType::RegClass);
                let relation = self.coerce(relation.clone(), &regclass, CastContext::Implicit)?;
                let args = vec![relation, text(name, position)];
                return Ok(Some(ask(Question::RelationSize, args, Type::Int8, position)));
            }
            ("current_schema", []) => return Ok(Some(self.current_schema(position))),
            ("current_schemas", [implicit]) => {
                // The schema of temporary relations is on the path without being named in it.
                let path = self.catalog.path();
                let shown = |ids: Vec<&SchemaId>| -> Vec<&str> {
                    ids.into_iter().map(|id| self.catalog.schema_name(*id)).collect()
                };
                let temporary = shown(path.temporary().iter().collect());
                let named = |id: &&SchemaId| path.temporary() != Some(**id);
                let path = shown(path.schemas().iter().filter(named).collect());
                let names = |list: &[&str]| {
                    let list = list.iter().map(|n| Datum::Text((*n).to_owned())).collect();
                    let ty = Type::Array(Box::new(Type::NAME));
                    Bound::constant(Datum::Array(list), ty, position)
                };
                let implicit = self.coerce(implicit.clone(), &Type::Bool, CastContext::Implicit)?;
                let (all, searched) =
                    (names(&[&temporary[..], &["pg_catalog"], &path[..]].concat()), names(&path));
                let ty = all.ty.clone();
                let whens = vec![(implicit, all)];
                return Ok(Some(Bound::new(BoundKind::Case(whens, Box::new(searched)), ty, position)));
            }
            ("pg_encoding_to_char", [encoding]) => {
                let encoding = self.coerce(encoding.clone(), &Type::Int4, CastContext::Implicit)?;
                let six = Bound::constant(Datum::Int(6), Type::Int4, position);
                let utf8 = Bound::apply(Func::IntEq, vec![encoding, six], Type::Bool, position);
                let name = |n: &str| Bound::constant(Datum::Text(n.to_owned()), Type::NAME, position);
                let kind = BoundKind::Case(vec![(utf8, name("UTF8"))], Box::new(name("")));
                return Ok(Some(Bound::new(kind, Type::NAME, position)));
            }
            ("pg_char_to_encoding", [_]) => {
                return Ok(Some(Bound::constant(Datum::Int(6), Type::Int4, position)));
            }
            ("pg_client_encoding", []) => {
                return Ok(Some(Bound::constant(Datum::Text("UTF8".into()), Type::NAME, position)));
            }
            ("getdatabaseencoding", []) => {
                return Ok(Some(Bound::constant(Datum::Text("UTF8".into()), Type::NAME, position)));
            }
            ("pg_get_statisticsobjdef_expressions", [oid]) => {
                let args =
                    vec![self.operand(oid.clone(), &OID)?, Bound::constant(Datum::Int(2), Int4, position)];
                let all = ask(Question::StatisticsDef, args, Text, position);
                return self.bind_builtin(
                    "string_to_array",
                    &[all, text("\u{1}", position)],
                    false,
                    position,
                );
            }
            ("pg_get_ruledef", [rule, _]) => {
                let rule = self.operand(rule.clone(), &OID)?;
                return Ok(Some(ask(Question::RuleDef, vec![rule], Type::Text, position)));
            }
            ("pg_is_in_recovery" | "pg_jit_available", [])
            | ("pg_is_other_temp_schema" | "pg_relation_is_publishable", [_]) => {
                return Ok(Some(Bound::bool(false, position)));
            }
            ("pg_my_temp_schema", []) => {
                let own = self.catalog.path().temporary().map_or(0, |id| self.catalog.schema_oid(id));
                return Ok(Some(Bound::constant(Datum::Int(own.into()), Type::OID, position)));
            }
            ("pg_tablespace_size", [_]) => {
                return Ok(Some(ask(Question::DatabaseSize, Vec::new(), Type::Int8, position)));
            }
            ("pg_size_pretty", [size]) => {
                let size = self.coerce(size.clone(), &Type::Numeric(None), CastContext::Implicit)?;
                return Ok(Some(Bound::apply(Func::SizePretty, vec![size], Type::Text, position)));
            }
            (super::written::CHANNELS, []) => {
                let channels = Type::Array(Box::new(Text));
                return Ok(Some(ask(Question::ListeningChannels, Vec::new(), channels, position)));
            }
            ("pg_blocking_pids", [session]) => {
                let session = self.operand(session.clone(), &Int4)?;
                let pids = Type::Array(Box::new(Int4));
                return Ok(Some(ask(Question::BlockingSessions, vec![session], pids, position)));
            }
            // Nobody waits for a snapshot that is safe.
            ("pg_safe_snapshot_blocking_pids", [_]) => {
                let pids = Type::Array(Box::new(Int4));
                return Ok(Some(Bound::constant(Datum::Array(Vec::new()), pids, position)));
            }
            ("pg_isolation_test_session_is_blocked", [session, others]) => {
                let session = self.operand(session.clone(), &Int4)?;
                let others = self.operand(others.clone(), &Type::Array(Box::new(Int4)))?;
                return Ok(Some(ask(Question::IsBlockedBy, vec![session, others], Bool, position)));
            }
            _ => {}
        }
        let Some(line) = TABLE.iter().find(|l| l.name == name && l.args.len() == args.len()) else {
            return Ok(None);
        };
        let mut bound = Vec::with_capacity(args.len() + line.extra.len());
        for (arg, ty) in args.iter().zip(line.args) {
            bound.push(self.operand(arg.clone(), ty).map_err(|error| match error.sqlstate() {
                SqlState::CANNOT_COERCE => {
                    let types: Vec<Type> = args.iter().map(|a| a.ty.clone()).collect();
                    super::functions::no_function(name, &types, position)
                }
                _ => error,
            })?);
        }
        if line.question == Question::DatabaseSize {
            bound.clear();
        }
        bound.extend(line.extra.iter().map(|extra| match extra {
            Extra::Bool(b) => Bound::bool(*b, position),
            Extra::Int(n) => Bound::constant(Datum::Int(*n), Type::Int4, position),
        }));
        let question = match line.question {
            Question::SetSetting => self.set_setting(),
            other => other,
        };
        Ok(Some(ask(question, bound, line.result.clone(), position)))
    }

    /// `has_x_privilege([role,] object, [column,] privilege)`
    fn bind_privilege(
        &mut self,
        kind: &str,
        system: SystemType,
        args: &[Bound],
        position: u32,
    ) -> Result<Bound> {
        let with_column = kind == "column";
        let wanted = 2 + usize::from(with_column);
        let wrong = || {
            let types: Vec<Type> = args.iter().map(|a| a.ty.clone()).collect();
            super::functions::no_function(&format!("has_{kind}_privilege"), &types, position)
        };
        let (role, rest) = match args.len().checked_sub(wanted) {
            Some(0) => (Bound::null(Type::Text, position), args),
            Some(1) => (self.named(args[0].clone(), SystemType::RegRole)?, &args[1..]),
            _ => return Err(wrong()),
        };
        let object = self.named(rest[0].clone(), system)?;
        let column = if with_column {
            let column = &rest[1];
            // By name, or by number.
            match column.ty {
                Type::Int2 | Type::Int4 => self.coerce(column.clone(), &Type::Text, CastContext::Explicit)?,
                _ => self.coerce(column.clone(), &Type::Text, CastContext::Implicit)?,
            }
        } else {
            Bound::null(Type::Text, position)
        };
        let privilege = self.coerce(rest[wanted - 1].clone(), &Type::Text, CastContext::Implicit)?;
        let args = vec![text(kind, position), role, object, column, privilege];
        Ok(ask(Question::HasPrivilege, args, Type::Bool, position))
    }

    /// Where things are made that name no schema; NULL where the path leads nowhere.
    pub(super) fn current_schema(&self, position: u32) -> Bound {
        match self.catalog.creation_schema() {
            Ok(id) => {
                let name = self.catalog.schema_name(id).to_owned();
                Bound::constant(Datum::Text(name), Type::NAME, position)
            }
            Err(_) => Bound::null(Type::NAME, position),
        }
    }

    /// An object by name or OID, as a text.
    fn named(&mut self, e: Bound, system: SystemType) -> Result<Bound> {
        let position = e.position;
        if e.ty.is_oid() {
            let e = self.coerce(e, &Type::OID, CastContext::Implicit)?;
            return Ok(Bound::new(BoundKind::Cast(Box::new(e), true), Type::Text, position));
        }
        if matches!(e.ty, Type::Int2 | Type::Int4 | Type::Int8) {
            return self.coerce(e, &Type::Text, CastContext::Explicit);
        }
        let _ = system;
        self.coerce(e, &Type::Text, CastContext::Implicit)
    }

    /// Converts between names and the aliases of oid; `None` where neither type is one.
    pub(super) fn coerce_reg(&mut self, e: &Bound, to: &Type, context: CastContext) -> Result<Option<Bound>> {
        let position = e.position;
        let is_text = |ty: &Type| ty.class() == planaria_base::types::TypeClass::Text;
        match (&e.ty, to) {
            (Type::Unknown | Type::Text, Type::System(system))
                if system.is_reg() && matches!(e.as_const(), Some(Datum::Text(_))) =>
            {
                let Some(Datum::Text(name)) = e.as_const() else { return Ok(None) };
                let oid = reg::find(self.catalog, *system, name).map_err(|e| e.at(position))?;
                Ok(Some(Bound::constant(Datum::Int(i64::from(oid)), to.clone(), position)))
            }
            (Type::Unknown, Type::Array(of)) if matches!(&**of, Type::System(s) if s.is_reg()) => {
                let (Some(Datum::Text(list)), Type::System(system)) = (e.as_const(), &**of) else {
                    return Ok(None);
                };
                let mut oids = Vec::new();
                let (shape, texts) = planaria_base::text_io::parse_array(list)?;
                for item in texts {
                    oids.push(match item {
                        Some(name) => {
                            let oid = reg::find(self.catalog, *system, &name).map_err(|e| e.at(position))?;
                            Datum::Int(i64::from(oid))
                        }
                        None => Datum::Null,
                    });
                }
                Ok(Some(Bound::constant(Datum::array(shape, oids), to.clone(), position)))
            }
            (from, Type::System(system)) if system.is_reg() && is_text(from) => {
                if !super::types::cast_allowed(from, to, context) {
                    return Ok(None);
                }
                let name = self.coerce(e.clone(), &Type::Text, CastContext::Explicit)?;
                let kind = oid_constant(*system, position);
                Ok(Some(ask(Question::RegIn, vec![name, kind], to.clone(), position)))
            }
            (Type::System(system), to) if system.is_reg() && is_text(to) => {
                if !super::types::cast_allowed(&e.ty, to, context) {
                    return Ok(None);
                }
                let kind = oid_constant(*system, position);
                let name = ask(Question::RegOut, vec![e.clone(), kind], Type::Text, position);
                self.coerce(name, to, CastContext::Explicit).map(Some)
            }
            _ => Ok(None),
        }
    }
}

fn oid_constant(system: SystemType, position: u32) -> Bound {
    let oid = oid::of(&Type::System(system));
    Bound::constant(Datum::Int(i64::from(oid)), Type::OID, position)
}

fn ask(question: Question, args: Vec<Bound>, ty: Type, position: u32) -> Bound {
    Bound::new(BoundKind::Ask(question, args), ty, position)
}
