//! Questions and their answers.

use super::relations::system_relation;
use super::{Amount, Facts, definitions, describe, partitions, privileges, shown, statistics};
use crate::serving::clients::{Signal, signal};
use crate::serving::host;
use crate::session::server_settings::{check_settable, check_superuser, denied, is_of_superusers};
use planaria_base::oid::Oid;
use planaria_base::types::SystemType;
use planaria_base::{Error, Result, SqlState, Type, oid};
use planaria_catalog::oids::Object;
use planaria_catalog::{Catalog, PREDEFINED, TriggerEvent, of_key, reg, system};
use planaria_exec::heap::Heap;
use planaria_exec::slot::Slot;
use planaria_ir::Question;

/// An oid in an argument.
fn oid_of(slot: Slot) -> Oid {
    slot.int() as Oid
}

/// The type of catalog that an argument says by its OID (`regclass`, ...).
fn system_type(slot: Slot) -> Result<SystemType> {
    match oid::to_type(oid_of(slot), -1) {
        Some(Type::System(system)) => Ok(system),
        _ => Err(Error::internal("a question about no type of the catalogs")),
    }
}

/// Answers a question; strict ones have no NULL among their arguments.
pub(crate) fn answer(
    facts: &mut Facts<'_>,
    question: Question,
    args: &[Slot],
    heap: &mut Heap,
) -> Result<Slot> {
    let catalog = facts.catalog;
    let text = |heap: &mut Heap, text: Option<String>| match text {
        Some(text) => heap.text(&text),
        None => Ok(Slot::Null),
    };
    let read = |heap: &Heap, slot: Slot| heap.str(slot.bytes()).to_owned();
    match question {
        Question::RegIn => {
            let name = read(heap, args[0]);
            Ok(Slot::Int(i64::from(reg::find(catalog, system_type(args[1])?, &name)?)))
        }
        Question::RegFind => {
            let name = read(heap, args[0]);
            // Names that cannot be one are errors still.
            match reg::find(catalog, system_type(args[1])?, &name) {
                Ok(oid) => Ok(Slot::Int(i64::from(oid))),
                Err(e) if is_missing(&e) => Ok(Slot::Null),
                Err(e) => Err(e),
            }
        }
        Question::RegOut => {
            let shown = reg::show(catalog, system_type(args[1])?, oid_of(args[0]));
            heap.text(&shown)
        }
        Question::FormatType => {
            if args[0].is_null() {
                return Ok(Slot::Null);
            }
            let modifier = match args[1] {
                Slot::Int(n) => Some(n as i32),
                _ => None,
            };
            let name = match oid_of(args[0]) {
                0 => Some("-".to_owned()),
                oid => reg::format_type(catalog, oid, modifier),
            };
            heap.text(&name.unwrap_or_else(|| "???".to_owned()))
        }
        Question::IndexDef => {
            text(heap, definitions::index(catalog, oid_of(args[0]), args[1].int(), args[2].bool()))
        }
        Question::StatisticsDef => {
            text(heap, statistics::definition(catalog, oid_of(args[0]), args[1].int()))
        }
        Question::ConstraintDef => {
            text(heap, definitions::constraint(catalog, oid_of(args[0]), args[1].bool()))
        }
        Question::TriggerDef => text(heap, definitions::trigger(catalog, oid_of(args[0]), args[1].bool())),
        // The machine answers, unless nothing runs.
        Question::TriggerDepth => Ok(Slot::Int(0)),
        Question::DeeperTrigger => Ok(Slot::Bool(false)),
        Question::CallStack => heap.text(""),
        Question::RoutineDef => {
            let found = definitions::routine(catalog, oid_of(args[0]));
            if let Some(aggregate) = found.filter(|p| p.aggregate.is_some()) {
                let message = format!("\"{}\" is an aggregate function", aggregate.name);
                return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
            }
            text(heap, found.map(|p| definitions::routine_statement(catalog, p)))
        }
        Question::RoutineBody => {
            let found = definitions::routine(catalog, oid_of(args[0]));
            text(heap, found.and_then(|p| definitions::standard_body(catalog, p)))
        }
        Question::RoutineArguments | Question::RoutineIdentity => {
            let defaults = question == Question::RoutineArguments;
            let oid = oid_of(args[0]);
            let found =
                definitions::routine(catalog, oid).map(|p| definitions::arguments(catalog, p, defaults));
            text(heap, found.or_else(|| reg::argument_types(catalog, oid).map(|types| types.join(", "))))
        }
        Question::RoutineResult => {
            let oid = oid_of(args[0]);
            let answer = match definitions::routine(catalog, oid) {
                Some(p) => definitions::result(catalog, p),
                None => built_in_result(catalog, oid),
            };
            text(heap, answer)
        }
        Question::ArgumentDefault => {
            let found = definitions::routine(catalog, oid_of(args[0]));
            text(heap, found.and_then(|p| definitions::argument_default(catalog, p, args[1].int())))
        }
        Question::ViewDef => text(heap, view_definition(catalog, oid_of(args[0]), args[1].bool())),
        Question::PlainExpression => {
            let kept = read(heap, args[0]);
            let plain = shown::plain(catalog, &kept, oid_of(args[1]));
            heap.text(&plain.unwrap_or(kept))
        }
        Question::PartitionDef => text(
            heap,
            match &*read(heap, args[1]) {
                "key" => partitions::key_definition(catalog, oid_of(args[0])),
                _ => partitions::constraint_definition(catalog, oid_of(args[0])),
            },
        ),
        Question::PartitionTree => {
            let all = match &*read(heap, args[1]) {
                "tree" => partitions::tree(catalog, oid_of(args[0])),
                _ => partitions::ancestors(catalog, oid_of(args[0])),
            };
            heap.array_of(all.into_iter().map(|oid| Slot::Int(i64::from(oid))))
        }
        Question::Updatable => {
            let column = usize::try_from(args[1].int()).unwrap_or(0);
            let column = (args[1].int() >= 0, column);
            let events = updatable(catalog, oid_of(args[0]), args[2].bool(), column);
            Ok(events.map_or(Slot::Null, Slot::Int))
        }
        Question::RuleDef => text(heap, definitions::rule(catalog, oid_of(args[0]))),
        Question::IsVisible => {
            let visible = is_visible(catalog, oid_of(args[0]), args[1].int() as Oid);
            Ok(visible.map_or(Slot::Null, Slot::Bool))
        }
        Question::Describe => {
            let (class, object) = (oid_of(args[0]), oid_of(args[1]));
            text(heap, describe::describe(facts, class, object, args[2].int()))
        }
        Question::Comment => {
            let (object, class) = (oid_of(args[0]), read(heap, args[1]));
            let column = usize::try_from(args[2].int()).unwrap_or(usize::MAX);
            let class_oid = |name: &str| system::unqualified(name).map_or(0, |relation| relation.oid);
            // Whoever does not say where the object is means any of that OID.
            let any = [
                "pg_class",
                "pg_proc",
                "pg_constraint",
                "pg_namespace",
                "pg_type",
                "pg_language",
                "pg_trigger",
            ];
            let classes = if class.is_empty() { &any[..] } else { &[class.as_str()][..] };
            let comment = classes.iter().map(|name| class_oid(name)).find_map(|class| {
                let own = catalog.comment(class, object, column).map(str::to_owned);
                own.or_else(|| built_in_comment(class, object, column))
            });
            text(heap, comment)
        }
        Question::RoleName => {
            let oid = oid_of(args[0]);
            let predefined =
                || PREDEFINED.iter().find(|(_, of)| *of == oid).map(|(name, _)| (*name).to_owned());
            let name = catalog.role_of_oid(oid).map(|r| r.name.clone()).or_else(predefined);
            heap.text(&name.unwrap_or_else(|| format!("unknown (OID={oid})")))
        }
        Question::SerialSequence => {
            let (name, column) = (read(heap, args[0]), read(heap, args[1]));
            let relation = reg::find(catalog, SystemType::RegClass, &name)?;
            let Some(Object::Table(id)) = catalog.oids.object(relation) else { return Ok(Slot::Null) };
            let table = catalog.table_by_id(*id);
            if table.column(&column).is_none() {
                return Err(Error::new(
                    SqlState::UNDEFINED_COLUMN,
                    format!("column \"{column}\" of relation \"{}\" does not exist", table.name),
                ));
            }
            text(heap, definitions::serial_sequence(catalog, table, &column))
        }
        Question::HasPrivilege => {
            if args[2].is_null() || args[4].is_null() {
                return Ok(Slot::Null);
            }
            let texts = [read(heap, args[0]), read(heap, args[2]), read(heap, args[4])];
            let role = (!args[1].is_null()).then(|| read(heap, args[1]));
            let column = (!args[3].is_null()).then(|| read(heap, args[3]));
            if texts[0] == "column" && column.is_none() {
                return Ok(Slot::Null);
            }
            let (role, column) = (role.as_deref(), column.as_deref());
            let answer = privileges::has_privilege(facts, role, &texts[0], &texts[1], column, &texts[2])?;
            Ok(answer.map_or(Slot::Null, Slot::Bool))
        }
        Question::HasRole => {
            if args[1].is_null() || args[2].is_null() {
                return Ok(Slot::Null);
            }
            let (group, what) = (read(heap, args[1]), read(heap, args[2]));
            let member = (!args[0].is_null()).then(|| read(heap, args[0]));
            privileges::has_role(facts, member.as_deref(), &group, &what).map(Slot::Bool)
        }
        Question::RelationSize => {
            let what = read(heap, args[1]);
            Ok(relation_size(facts, oid_of(args[0]), &what).map_or(Slot::Null, Slot::Int))
        }
        Question::DatabaseSize => {
            let tables = catalog.tables.iter().flatten().map(|t| facts.stock.amount(t.id));
            Ok(Slot::Int(tables.map(|a| (a.row_bytes + a.index_bytes) as i64).sum()))
        }
        Question::Setting => {
            let name = read(heap, args[0]);
            let of_server = host::setting(facts.host.as_ref(), &name);
            let value = match of_server {
                Some(found) => Ok(found.value),
                None => facts.settings.get(&name).map(str::to_owned),
            };
            match value {
                Ok(value) => heap.text(&value),
                Err(_) if args[1].is_true() => Ok(Slot::Null),
                Err(error) => Err(error),
            }
        }
        Question::SetSetting | Question::SetSettingOfDefiner => {
            if args[0].is_null() {
                let message = "SET requires parameter name";
                return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
            }
            let name = read(heap, args[0]);
            let value = match args[1] {
                Slot::Null => None,
                slot => Some(vec![read(heap, slot)]),
            };
            check_settable(facts.host.as_ref(), &name)?;
            if is_of_superusers(&name) && !catalog.is_superuser(facts.role) {
                return Err(denied(&name));
            }
            let of_role = ["role", "session_authorization"].iter().any(|of| name.eq_ignore_ascii_case(of));
            if of_role && question == Question::SetSettingOfDefiner {
                let message = format!("cannot set parameter \"{name}\" within security-definer function");
                return Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
            }
            match name.eq_ignore_ascii_case("role") {
                true => {
                    let role = value.map_or("none".to_owned(), |mut value| value.swap_remove(0));
                    if role != "none" {
                        privileges::may_become(catalog, facts.session_user, &role)?;
                    }
                    facts.settings.set_role_by_function(role, args[2].is_true());
                }
                false => facts.settings.set_by_function(&name, value.as_deref(), args[2].is_true())?,
            }
            let value = facts.settings.get(&name)?.to_owned();
            heap.text(&value)
        }
        Question::CancelClient | Question::TerminateClient => {
            let what = if question == Question::CancelClient {
                Signal::Cancel
            } else {
                if args[1].int() < 0 {
                    let message = "\"timeout\" must not be negative";
                    return Err(Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message));
                }
                Signal::Terminate
            };
            let number = args[0].int() as i32;
            let sent = signal(facts.clients.as_deref(), catalog, facts.role, number, what)?;
            if sent && number == facts.session {
                // Whoever means itself does not get as far as an answer.
                let message = "canceling statement due to user request";
                return Err(Error::new(SqlState::QUERY_CANCELED, message));
            }
            Ok(Slot::Bool(sent))
        }
        Question::ReloadSettings => {
            check_superuser(catalog.is_superuser(facts.role), "have the settings read again")?;
            match &facts.host {
                Some(host) => host.reload().map(|()| Slot::Bool(true)),
                None => Ok(Slot::Bool(false)),
            }
        }
        Question::ForgetStatements => {
            check_superuser(catalog.is_superuser(facts.role), "forget what statements have taken")?;
            if let Some(host) = &facts.host {
                host.forget_statements();
            }
            Ok(Slot::Null)
        }
        Question::SettingsTime => {
            Ok(Slot::Int(facts.host.as_ref().map_or(facts.started, |host| host.loaded())))
        }
        Question::DeferTrigger | Question::DeferTriggerInBlock | Question::DeferCheckInBlock => {
            Err(Error::internal("what is deferred is the session's"))
        }
        Question::ExportSnapshot => Err(Error::internal("its snapshot is the session's")),
        Question::Sleep | Question::SetSeed => Err(Error::internal("it is the session's to do")),
        Question::Notify | Question::ListeningChannels | Question::NotificationUsage => {
            Err(Error::internal("channels are the session's"))
        }
        Question::AdvisoryLock
        | Question::TryAdvisoryLock
        | Question::AdvisoryUnlock
        | Question::AdvisoryUnlockAll => Err(Error::internal("locking is the session's")),
        Question::BlockingSessions => {
            let blockers = facts.vitals.blockers(args[0].int() as i32);
            heap.array_of(blockers.into_iter().map(|process| Slot::Int(i64::from(process))))
        }
        Question::IsBlockedBy => {
            let blockers = facts.vitals.blockers(args[0].int() as i32);
            let Slot::Array(others) = args[1] else { return Err(Error::internal("a list of sessions")) };
            let is_blocker = |slot: &Slot| matches!(slot, Slot::Int(process) if blockers.iter().any(|b| i64::from(*b) == *process));
            Ok(Slot::Bool(heap.elements(others).iter().any(is_blocker)))
        }
        Question::SessionId => Ok(Slot::Int(i64::from(facts.session))),
        Question::User => {
            let role = if args[0].is_true() { facts.session_user } else { facts.role };
            heap.text(&catalog.role_name(role))
        }
        Question::StartTime => Ok(Slot::Int(facts.started)),
    }
}

/// Whether an error says that a name stands for nothing.
fn is_missing(error: &Error) -> bool {
    [
        SqlState::UNDEFINED_TABLE,
        SqlState::UNDEFINED_OBJECT,
        SqlState::UNDEFINED_FUNCTION,
        SqlState::INVALID_SCHEMA_NAME,
        SqlState::AMBIGUOUS_FUNCTION,
    ]
    .contains(&error.sqlstate())
}

fn view_definition(catalog: &Catalog, oid: Oid, pretty: bool) -> Option<String> {
    if let Some(query) = system_relation(oid).and_then(|r| r.query) {
        return Some(format!(" {query};"));
    }
    match catalog.oids.object(oid)? {
        Object::View(name) => catalog.views.get(name).map(|view| shown::view(catalog, view, pretty)),
        Object::Table(id) => {
            let table = catalog.tables.get(id.index())?.as_deref()?;
            catalog.stored_view(table).map(|view| shown::view(catalog, view, pretty))
        }
        _ => None,
    }
}

/// What can be done to a relation; `column`: to that one of its columns, without INSERT.
fn updatable(catalog: &Catalog, oid: Oid, triggers: bool, (known, column): (bool, usize)) -> Option<i64> {
    const UPDATE: i64 = 4;
    const INSERT: i64 = 8;
    const DELETE: i64 = 16;
    let all = match catalog.oids.object(oid) {
        Some(Object::Table(id)) if catalog.table_by_id(*id).materialized.is_some() => 0,
        Some(Object::Table(_)) => UPDATE | INSERT | DELETE,
        Some(Object::View(name)) => {
            let view = catalog.views.get(name)?;
            let fires =
                |event| view.rows.as_deref().is_some_and(|rows| triggers && rows.fires_before(event, false));
            let instead = [
                (TriggerEvent::Update, UPDATE),
                (TriggerEvent::Insert, INSERT),
                (TriggerEvent::Delete, DELETE),
            ];
            let instead: i64 = instead.into_iter().filter(|(e, _)| fires(*e)).map(|(_, bit)| bit).sum();
            let columns = planaria_sql::lower::updatable(catalog, view).unwrap_or_default();
            let takes = match column {
                0 => columns.contains(&true),
                n => columns.get(n - 1).copied().unwrap_or(false),
            };
            instead
                | match (columns.is_empty(), takes) {
                    (true, _) => 0,
                    (false, true) => UPDATE | INSERT | DELETE,
                    (false, false) => DELETE,
                }
        }
        Some(_) => 0,
        None if system_relation(oid).is_some_and(|r| r.query.is_none()) => UPDATE | INSERT | DELETE,
        None => return (oid != 0).then_some(0),
    };
    Some(match (known, column) {
        (false, _) => 0,
        (_, 0) => all,
        _ => all & (UPDATE | DELETE),
    })
}

/// Whether an object is found by its bare name. `class` is the catalog it is in; 0: one of the system's.
fn is_visible(catalog: &Catalog, oid: Oid, class: Oid) -> Option<bool> {
    if oid < oid::FIRST_NORMAL {
        return match (class, system_relation(oid)) {
            (1259, Some(relation)) => Some(relation.schema == system::PG_CATALOG),
            (1259, None) => None,
            _ => Some(true),
        };
    }
    // One that is hidden is shown with its schema.
    let same = |schema, name: &str, shown: String| shown == catalog.shown(schema, name, Some(schema));
    Some(match catalog.oids.object(oid)? {
        Object::RowType(key) | Object::RowTypeArray(key) => {
            let (schema, name) = of_key(key);
            same(schema, name, catalog.shown_type(schema, name))
        }
        Object::Type(id) | Object::TypeArray(id) => {
            let ty = catalog.type_by_id(*id);
            same(ty.schema, &ty.name, catalog.shown_user_type(*id))
        }
        Object::Routine(identity) => {
            let routine = catalog.routine_by_identity(identity)?;
            same(routine.schema, &routine.name, catalog.shown_routine(routine))
        }
        _ => match catalog.relation_name(oid) {
            Some((schema, name)) => same(schema, name, catalog.shown_relation(schema, name)),
            None => true,
        },
    })
}

fn relation_size(facts: &Facts<'_>, oid: Oid, what: &str) -> Option<i64> {
    let catalog = facts.catalog;
    let (amount, index) = match catalog.oids.object(oid) {
        Some(Object::Table(id)) => (facts.stock.amount(*id), false),
        Some(Object::Index(table, _)) => {
            // Indexes are counted together: each has its share.
            let amount = facts.stock.amount(*table);
            let shares = catalog.table_by_id(*table).indexes.len().max(1) as u64;
            (Amount { index_bytes: amount.index_bytes / shares, ..amount }, true)
        }
        Some(_) => (Amount::default(), false),
        None => {
            system_relation(oid)?;
            (Amount::default(), false)
        }
    };
    Some(match (what, index) {
        ("pg_indexes_size", false) | (_, true) => amount.index_bytes,
        ("pg_total_relation_size", false) => amount.row_bytes + amount.index_bytes,
        _ => amount.row_bytes,
    } as i64)
}

/// The comment on an object that every database has.
fn built_in_comment(class: Oid, object: Oid, column: usize) -> Option<String> {
    let row = super::rows::fixed("pg_description").find(|row| {
        row.int("objoid") == i64::from(object)
            && row.int("classoid") == i64::from(class)
            && row.int("objsubid") == column as i64
    })?;
    match row.value("description") {
        planaria_base::Datum::Text(text) => Some(text),
        _ => None,
    }
}

fn built_in_result(catalog: &Catalog, oid: Oid) -> Option<String> {
    let row = super::rows::fixed("pg_proc").find(|r| r.int("oid") == i64::from(oid))?;
    let name = reg::type_name(catalog, row.int("prorettype") as Oid)?;
    let set = row.value("proretset") == planaria_base::Datum::Bool(true);
    Some(if set { format!("SETOF {name}") } else { name })
}
