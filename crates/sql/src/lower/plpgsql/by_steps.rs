//! Which bodies are carried out statement by statement: those that change the schema, and those whose records take rows
//! of SQL text made at run time. A program is compiled whole, before its first operation, under one schema, and knows the
//! types of all that it computes with; nothing of that can be known there.
//!
//! A DO block is; so is a routine where its call is all that a statement does, and what calls such a routine so. Elsewhere such
//! a statement of a routine is refused when it is reached.

use crate::ddl::is_ddl;
use crate::lower::held::ONE_RECORD;
use planaria_base::{Error, Result, SqlState, Type};
use planaria_catalog::{Catalog, Language, Procedure, Returns};
use planaria_syntax::ast::plpgsql::{DeclarationKind, Opened, PlBlock, Stmt, StmtKind};
use planaria_syntax::ast::visit::{self, Node};
use planaria_syntax::ast::{
    Expr, ExprKind, FunctionCall, Name, Query, QueryBody, Select, SelectItem, Statement, StatementKind,
    TypeNameKind,
};
use planaria_syntax::parse;

/// What such statements begin with.
const CHANGES: &[&str] = &["create", "alter", "drop", "grant", "revoke", "comment", "refresh", "reindex"];

/// Whether a body is to be carried out statement by statement.
pub fn goes_by_steps(body: &str) -> bool {
    let Ok(block) = parse::plpgsql(body) else { return false };
    has_needs(&block) || any_in_block(&block, &changes_session) && can_move(&block)
}

/// Whether it is so, or fails where it is reached.
fn must_go_by_steps(body: &str) -> bool {
    parse::plpgsql(body).is_ok_and(|block| has_needs(&block))
}

/// Whether a body can be carried out by steps where that is only for the sake of what is set in it, or in what it calls: what
/// cannot goes on as a program, as it did before.
fn can_move(block: &PlBlock) -> bool {
    let asks_for_stack = |statement: &Stmt| match &statement.kind {
        StmtKind::GetDiagnostics { items, stacked: false } => {
            items.iter().any(|(_, item)| item.eq_ignore_ascii_case("pg_context"))
        }
        _ => false,
    };
    check_body(block, Allowed::Neither).is_ok() && !any_in_block(block, &asks_for_stack)
}

/// Whether a body that calls what sets the path, or who runs it, can go by steps for the sake of that.
pub fn can_follow(catalog: &Catalog, body: &str) -> bool {
    parse::plpgsql(body).is_ok_and(|block| can_move(&block) && !has_domains(catalog, &block))
}

fn has_needs(block: &PlBlock) -> bool {
    let mut records = Vec::new();
    records_of(block, &mut records);
    any_in_block(block, &|statement| {
        needs_steps(statement, &records) || fetches_unknown(block, statement, &records)
    })
}

/// A body, if it has records and can be carried out by steps.
pub(super) fn with_records(body: &str) -> Option<PlBlock> {
    let block = parse::plpgsql(body).ok()?;
    let mut records = Vec::new();
    records_of(&block, &mut records);
    (!records.is_empty() && check_body(&block, Allowed::Both).is_ok()).then_some(block)
}

/// Whether the path changes while a routine runs: its program carries it out by steps, for what follows. Those of former
/// versions go on as they were: logs have calls of them.
pub(super) fn moves_path(catalog: &Catalog, routine: &Procedure) -> bool {
    let Ok(block) = parse::plpgsql(&routine.body) else { return false };
    routine.form >= PATH_MOVES
        && !matches!(routine.returns, Returns::Record { .. })
        && any_in_block(&block, &changes_path)
        && can_move(&block)
        && !has_domains(catalog, &block)
}

/// Whether a variable is of a domain, or of a row with one: no step could check it.
fn has_domains(catalog: &Catalog, block: &PlBlock) -> bool {
    let mut found = false;
    declarations(block, &mut |kind| {
        if let DeclarationKind::Variable { ty, .. } = kind {
            found |= crate::lower::domain::is_or_has_one(catalog, ty);
        }
    });
    found
}

/// Whether a statement says where names are looked for in what follows, or who runs that. What did so before was not carried
/// out by steps for it: so it is only where it can be.
fn changes_session(statement: &Stmt) -> bool {
    is_of_session(statement) || changes_path(statement)
}

/// SET ROLE, SET SESSION AUTHORIZATION, and what else only the session does.
fn is_of_session(statement: &Stmt) -> bool {
    match &statement.kind {
        StmtKind::Sql(sql) => needs_session(sql),
        StmtKind::Execute { text, .. } => match &set_by(text)[..] {
            ["role", ..] => true,
            [first, second, ..] => *first == "session" && *second == "authorization",
            _ => OF_SESSION.iter().any(|word| first_word(text).eq_ignore_ascii_case(word)),
        },
        _ => calls_to_set(statement, "role"),
    }
}

/// What texts of such statements begin with, beside SET.
const OF_SESSION: [&str; 5] = ["listen", "unlisten", "lock", "analyze", "discard"];

/// Whether only the session carries a statement out, and no program.
pub fn needs_session(statement: &Statement) -> bool {
    match &statement.kind {
        StatementKind::Listen(_)
        | StatementKind::Unlisten(_)
        | StatementKind::LockTable(_)
        | StatementKind::Prepare { .. }
        | StatementKind::Deallocate(_)
        | StatementKind::Checkpoint
        | StatementKind::SetModes { default: true, .. }
        | StatementKind::SetModes { read_only: Some(true), .. } => true,
        StatementKind::Set { name, value, .. } => value.is_none() && name.eq_ignore_ascii_case("all"),
        StatementKind::Maintain(maintain) => maintain.tag == "ANALYZE",
        StatementKind::Discard(what) => what != "all" && what != "plans",
        _ => changes_role(statement),
    }
}

/// Whether a statement makes the session another role's.
pub fn changes_role(statement: &Statement) -> bool {
    matches!(statement.kind, StatementKind::SetRole { .. } | StatementKind::SetSessionAuthorization { .. })
}

/// The same of the path alone.
fn changes_path(statement: &Stmt) -> bool {
    match &statement.kind {
        StmtKind::Sql(sql) if sets_path(sql) => true,
        StmtKind::Execute { text, .. } => {
            matches!(&set_by(text)[..], ["search_path" | "session_replication_role", ..])
        }
        _ => MEANING.iter().any(|setting| calls_to_set(statement, setting)),
    }
}

/// Whether a statement calls `set_config()` of that setting.
fn calls_to_set(statement: &Stmt, setting: &str) -> bool {
    let mut found = false;
    let mut look = |node: Node<'_>| {
        if let Node::Call(call) = node {
            found |= sets_by_function(call, setting);
        }
    };
    match &statement.kind {
        StmtKind::Sql(sql) if matches!(sql.kind, StatementKind::Query(_)) => visit::statement(sql, &mut look),
        StmtKind::Perform(query) => visit::query(query, &mut look),
        StmtKind::Assign { value, .. } => visit::expr(value, &mut look),
        _ => {}
    }
    found
}

/// Settings that say what statements mean: where names lead, and which triggers there are.
const MEANING: [&str; 2] = ["search_path", "session_replication_role"];

/// SET of one of them.
pub(super) fn sets_path(statement: &Statement) -> bool {
    let StatementKind::Set { name, .. } = &statement.kind else { return false };
    MEANING.iter().any(|setting| name.eq_ignore_ascii_case(setting))
}

/// `set_config('search_path', ..)`
fn sets_by_function(call: &FunctionCall, setting: &str) -> bool {
    let named = call.name.parts.last().is_some_and(|name| name == "set_config");
    let first = call.args.first().map(|argument| &argument.value.kind);
    named && matches!(first, Some(ExprKind::String(text)) if text.eq_ignore_ascii_case(setting))
}

/// What the text of EXECUTE sets, as far as one sees: its words behind SET, SET LOCAL or RESET.
fn set_by(text: &Expr) -> Vec<&str> {
    let first = first_text(text).unwrap_or_default();
    let mut words =
        first.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    let is = |word: Option<&str>, wanted: &str| word.is_some_and(|word| word.eq_ignore_ascii_case(wanted));
    let set = words.next();
    if !is(set, "set") && !is(set, "reset") {
        return Vec::new();
    }
    let mut rest: Vec<&str> = words.collect();
    let names_more = |rest: &[&str]| !is(rest.get(1).copied(), "authorization");
    if is(rest.first().copied(), "local") || is(rest.first().copied(), "session") && names_more(&rest) {
        rest.remove(0);
    }
    const KNOWN: &[&str] = &["role", "session", "authorization", "search_path", "session_replication_role"];
    rest.into_iter()
        .map_while(|word| KNOWN.iter().copied().find(|known| word.eq_ignore_ascii_case(known)))
        .collect()
}

/// Whether a record takes rows of a cursor that the body opens for no query of its own.
fn fetches_unknown(block: &PlBlock, statement: &Stmt, records: &[String]) -> bool {
    let StmtKind::Fetch { cursor, into: Some(into), .. } = &statement.kind else { return false };
    let of_query = |s: &Stmt| match &s.kind {
        StmtKind::Open { cursor: opened, what, .. } => {
            opened.parts == cursor.parts && !matches!(what, Opened::Execute { .. })
        }
        _ => false,
    };
    let mut bound = false;
    declarations(block, &mut |kind| bound |= matches!(kind, DeclarationKind::Cursor { .. }));
    is_record(&into.targets, records) && !bound && !any_in_block(block, &of_query)
}

/// Whether a body changes rows that cursors stand on.
pub fn changes_current(block: &PlBlock) -> bool {
    any_in_block(block, &|s| match &s.kind {
        StmtKind::Sql(sql) => crate::lower::current_of(sql).is_some(),
        _ => false,
    })
}

/// The same of a routine, where its call is all that a statement does.
pub fn routine_goes_by_steps(routine: &Procedure) -> bool {
    routine.language == Language::PlPgSql
        && routine.returns != Returns::Trigger
        && goes_by_steps(&routine.body)
        && (must_go_by_steps(&routine.body)
            || check_within(routine).is_ok() && !matches!(routine.returns, Returns::Record { .. }))
}

/// Whether a routine is carried out by steps where its call is all that a statement does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum BySteps {
    /// It is not.
    No,
    /// For the sake of what it sets: what calls it follows if it can.
    Follows,
    /// It cannot do otherwise, nor can what calls it.
    Must,
}

/// The same of one under a catalog, what it calls aside. Those of former versions go on as they were.
pub fn goes_by_steps_under(catalog: &Catalog, routine: &Procedure) -> BySteps {
    if !routine_goes_by_steps(routine) {
        BySteps::No
    } else if must_go_by_steps(&routine.body) {
        BySteps::Must
    } else if routine.form >= PATH_MOVES && can_follow(catalog, &routine.body) {
        BySteps::Follows
    } else {
        BySteps::No
    }
}

/// Names of what the statements of a body call by itself: PERFORM of nothing but a call, and CALL.
pub fn called_by_itself(body: &str) -> Vec<Name> {
    let Ok(block) = parse::plpgsql(body) else { return Vec::new() };
    let found = std::cell::RefCell::new(Vec::new());
    any_in_block(&block, &|statement| {
        let call = match &statement.kind {
            StmtKind::Perform(query) => sole_call(query),
            StmtKind::Sql(sql) => match &sql.kind {
                StatementKind::Call { call, .. } => Some(call),
                _ => None,
            },
            _ => None,
        };
        found.borrow_mut().extend(call.map(|call| call.name.clone()));
        false
    });
    found.into_inner()
}

/// The call that a query is nothing but.
pub fn sole_call(query: &Query) -> Option<&FunctionCall> {
    let QueryBody::Select(select) = &query.body else { return None };
    let [SelectItem { expr: Expr { kind: ExprKind::Call(call), .. }, .. }] = &select.items[..] else {
        return None;
    };
    let alone = Select { items: select.items.clone(), ..Default::default() };
    let alone = Query::new(QueryBody::Select(Box::new(alone)), query.position);
    (alone == *query).then_some(call)
}

/// 0A000 for what a schema change is in a program.
pub(super) const SCHEMA_CHANGE: &str = "a schema change in a routine that is not called by itself";

/// The same of SET ROLE: a program runs as one role.
pub(super) const ROLE_CHANGE: &str = "SET ROLE in a routine that is not called by itself";

/// The same of what else only the session does.
pub(super) const OF_SESSION_ALONE: &str =
    "a statement of the session in a routine that is not called by itself";

/// What to do about it.
pub(super) const CALL_BY_ITSELF: &str =
    "Make the call a statement of its own: CALL name(..), SELECT name(..), or in PL/pgSQL PERFORM name(..).";

/// What to do about a FETCH into a record that does not know its structure.
pub(super) const ONE_BY_ONE: &str = "Declare the variables one by one, or a variable of a table's row type.";

/// The form of programs since which records take whatever row comes, in whatever calls the routine.
const OF_ANY_STRUCTURE: u8 = 2;

/// The same of trigger functions.
const TRIGGERS_TOO: u8 = 5;

/// The form of programs since which what changes the path is meant for the statements behind it, in whatever calls the routine.
const PATH_MOVES: u8 = 3;

/// Whether a statement is refused only because it stands in a program.
pub(super) fn is_of_programs(error: &Error) -> bool {
    error.sqlstate() == SqlState::FEATURE_NOT_SUPPORTED
        && error.fields().hint.as_deref() == Some(CALL_BY_ITSELF)
}

/// Whether a statement is refused because a record has no structure there that is known beforehand.
pub(super) fn wants_steps(error: &Error) -> bool {
    let hint = error.fields().hint.as_deref();
    let of_session =
        [SCHEMA_CHANGE, ROLE_CHANGE, OF_SESSION_ALONE].iter().any(|what| error.message().starts_with(what));
    error.sqlstate() == SqlState::FEATURE_NOT_SUPPORTED
        && (hint == Some(CALL_BY_ITSELF) && !of_session
            || hint == Some(ONE_BY_ONE)
            || hint == Some(ONE_RECORD))
}

/// Whether the program of a routine may carry it out by steps, where its records take rows of which nothing is known. Those of
/// former versions go on as they were: logs have calls of them.
pub(super) fn may_be_within(routine: &Procedure) -> bool {
    let first = if routine.returns == Returns::Trigger { TRIGGERS_TOO } else { OF_ANY_STRUCTURE };
    routine.form >= first && routine.language == Language::PlPgSql && check_within(routine).is_ok()
}

/// 0A000 for what a routine cannot have that is carried out by steps: wherever it is called, if it does not change the schema.
pub fn check_carried_out(routine: &Procedure) -> Result<()> {
    match check_steps(routine) {
        Err(_) if !changes_schema_somewhere(&routine.body) => check_within(routine),
        checked => checked,
    }
}

fn changes_schema_somewhere(body: &str) -> bool {
    let Ok(block) = parse::plpgsql(body) else { return false };
    any_in_block(&block, &|statement| needs_steps(statement, &[]))
}

/// 0A000 for what a routine cannot have that is carried out by steps wherever it is called.
fn check_within(routine: &Procedure) -> Result<()> {
    let Ok(block) = parse::plpgsql(&routine.body) else { return Ok(()) };
    let out = |p: &planaria_catalog::Parameter| {
        !matches!(p.mode, planaria_catalog::Mode::In | planaria_catalog::Mode::Variadic)
    };
    let rows = routine.parameters.iter().any(|p| out(p) && matches!(p.ty, Type::Record(_)));
    if rows || matches!(&routine.returns, Returns::Scalar(Type::Record(_))) {
        return refused_in_steps("an OUT parameter of a row type", "Return the row.");
    }
    if routine.returns_domain.is_some() || routine.parameters.iter().any(|p| p.domain.is_some()) {
        return refused_in_steps("a domain", "Use the type that the domain is over.");
    }
    check_body(&block, if routine.form >= TRIGGERS_TOO { Allowed::Cursors } else { Allowed::Neither })
}

fn refused_in_steps(what: &str, hint: &str) -> Result<()> {
    let where_ = "in a routine that changes the schema or reads records of EXECUTE";
    Err(Error::unsupported(format!("{what} is not supported {where_}"), hint))
}

/// 0A000 for what a routine that is carried out by steps cannot have.
pub fn check_steps(routine: &Procedure) -> Result<()> {
    let refused = refused_in_steps;
    match &routine.returns {
        Returns::Procedure | Returns::Scalar(_) | Returns::OutRow => {}
        Returns::SetOf(_) | Returns::SetOfTable(_) | Returns::Table | Returns::SetOfOutRow => {}
        _ => return refused("a result of a row", "Write a procedure with INOUT parameters."),
    }
    if routine.security_definer || !routine.settings.is_empty() {
        return refused("SECURITY DEFINER or SET", "Leave it out.");
    }
    if routine.returns_domain.is_some() || routine.parameters.iter().any(|p| p.domain.is_some()) {
        return refused("a domain", "Use the type that the domain is over.");
    }
    if matches!(&routine.returns, Returns::Scalar(Type::Record(_))) {
        return refused("a result of a row type", "Write a procedure with INOUT parameters.");
    }
    let Ok(block) = parse::plpgsql(&routine.body) else { return Ok(()) };
    // A procedure ends transactions where its call is all that a statement does.
    let procedure = routine.returns == Returns::Procedure;
    check_body(&block, if procedure { Allowed::Both } else { Allowed::Cursors })
}

/// What a body can have that is carried out by steps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Allowed {
    /// As it was in former versions: what had more went on as a program.
    Neither,
    /// Bound cursors.
    Cursors,
    /// These, and COMMIT and ROLLBACK.
    Both,
}

/// 0A000 for what a body cannot have that is carried out by steps.
fn check_body(block: &PlBlock, allowed: Allowed) -> Result<()> {
    let refused = refused_in_steps;
    let hint = "Do that in a routine of its own.";
    let declares = |block: &PlBlock, wanted: &dyn Fn(&DeclarationKind) -> bool| {
        let mut found = false;
        declarations(block, &mut |kind| found |= wanted(kind));
        found
    };
    if declares(block, &|kind| matches!(kind, DeclarationKind::Alias(_))) {
        return refused("ALIAS", hint);
    }
    let cursors = || {
        declares(block, &|kind| matches!(kind, DeclarationKind::Cursor { .. }))
            || any_in_block(block, &|s| matches!(s.kind, StmtKind::ForCursor { .. }))
    };
    if allowed == Allowed::Neither && cursors() {
        return refused("a bound cursor", hint);
    }
    if allowed != Allowed::Both && any_in_block(block, &|s| matches!(s.kind, StmtKind::Transaction(_))) {
        return refused("COMMIT or ROLLBACK", hint);
    }
    Ok(())
}

fn declarations(block: &PlBlock, f: &mut dyn FnMut(&DeclarationKind)) {
    block.declarations.iter().for_each(|declaration| f(&declaration.kind));
    let mut inner = |statements: &[Stmt]| {
        for statement in statements {
            for_blocks(statement, &mut |block| declarations(block, f));
        }
    };
    inner(&block.body);
    block.handlers.iter().for_each(|handler| inner(&handler.body));
}

fn needs_steps(statement: &Stmt, records: &[String]) -> bool {
    match &statement.kind {
        StmtKind::Sql(sql) => is_ddl(sql) && !matches!(sql.kind, StatementKind::Truncate { .. }),
        StmtKind::Execute { text, into, .. } => {
            changes_schema(text) || into.as_ref().is_some_and(|into| is_record(&into.targets, records))
        }
        StmtKind::ForExecute { targets, .. } => is_record(targets, records),
        _ => false,
    }
}

/// Whether the text of EXECUTE begins as a change of the schema does, as far as one sees.
fn changes_schema(text: &Expr) -> bool {
    CHANGES.iter().any(|change| first_word(text).eq_ignore_ascii_case(change))
}

/// The word that the text of EXECUTE begins with, as far as one sees.
fn first_word(text: &Expr) -> &str {
    let first = first_text(text).unwrap_or_default().trim_start();
    first.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default()
}

fn first_text(e: &Expr) -> Option<&str> {
    match &e.kind {
        ExprKind::String(text) => Some(text),
        ExprKind::Binary(_, left, _) => first_text(left),
        ExprKind::Chain(first, _) => first_text(first),
        ExprKind::Call(call) => call.args.first().and_then(|argument| first_text(&argument.value)),
        _ => None,
    }
}

fn is_record(targets: &[Expr], records: &[String]) -> bool {
    matches!(targets, [Expr { kind: ExprKind::Column(name), .. }] if matches!(&name.parts[..], [one] if records.contains(one)))
}

/// Names that are records somewhere in the body.
fn records_of(block: &PlBlock, records: &mut Vec<String>) {
    for declaration in &block.declarations {
        if let DeclarationKind::Variable { ty, .. } = &declaration.kind
            && matches!(ty.kind, TypeNameKind::Record)
        {
            records.push(declaration.name.clone());
        }
    }
    let mut inner = |statements: &[Stmt]| {
        for statement in statements {
            for_blocks(statement, &mut |block| records_of(block, records));
        }
    };
    inner(&block.body);
    block.handlers.iter().for_each(|handler| inner(&handler.body));
}

fn for_blocks(statement: &Stmt, f: &mut dyn FnMut(&PlBlock)) {
    match &statement.kind {
        StmtKind::Block(block) => f(block),
        _ => for_lists(statement, &mut |list| list.iter().for_each(|inner| for_blocks(inner, f))),
    }
}

fn any_in_block(block: &PlBlock, wanted: &dyn Fn(&Stmt) -> bool) -> bool {
    any(&block.body, wanted) || block.handlers.iter().any(|handler| any(&handler.body, wanted))
}

fn any(statements: &[Stmt], wanted: &dyn Fn(&Stmt) -> bool) -> bool {
    statements.iter().any(|statement| {
        let mut found = wanted(statement);
        match &statement.kind {
            StmtKind::Block(block) => found |= any_in_block(block, wanted),
            _ => for_lists(statement, &mut |list| found |= any(list, wanted)),
        }
        found
    })
}

/// The statements within a statement that is no block.
fn for_lists(statement: &Stmt, f: &mut dyn FnMut(&[Stmt])) {
    match &statement.kind {
        StmtKind::If { branches, otherwise } => {
            branches.iter().for_each(|(_, body)| f(body));
            f(otherwise);
        }
        StmtKind::Case { whens, otherwise, .. } => {
            whens.iter().for_each(|(_, body)| f(body));
            otherwise.iter().for_each(|body| f(body));
        }
        StmtKind::Loop { body, .. }
        | StmtKind::While { body, .. }
        | StmtKind::ForRange { body, .. }
        | StmtKind::ForQuery { body, .. }
        | StmtKind::ForExecute { body, .. }
        | StmtKind::ForEach { body, .. }
        | StmtKind::ForCursor { body, .. } => f(body),
        _ => {}
    }
}
