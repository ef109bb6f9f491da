//! Statements: what their trees say, and what is refused.

use planaria_base::Type;
use planaria_catalog::{CheckTime, Mode, ReferentialAction, Volatility};
use planaria_syntax::ast::*;
use planaria_syntax::parse;

#[track_caller]
fn one(text: &str) -> StatementKind {
    let mut statements = parse::statements(text).unwrap_or_else(|e| panic!("{text}: {e:?}"));
    assert_eq!(statements.len(), 1, "{text}");
    statements.remove(0).kind
}

#[track_caller]
fn query(text: &str) -> Query {
    match one(text) {
        StatementKind::Query(query) => *query,
        other => panic!("{text}: {other:?}"),
    }
}

#[track_caller]
fn select(text: &str) -> Select {
    match query(text).body {
        QueryBody::Select(select) => *select,
        other => panic!("{text}: {other:?}"),
    }
}

/// Everything but the positions of the tree, so that different notations can be compared.
fn plain(tree: &impl std::fmt::Debug) -> String {
    let mut text = format!("{tree:?}");
    // Fields `position: 1`, and pairs of a name and its position: `("a", 1)`, `(Column("a"), 1)`.
    for mark in ["position: ", "end: ", "\", ", "\"), "] {
        let mut out = String::new();
        let mut rest = text.as_str();
        while let Some(at) = rest.find(mark) {
            out.push_str(&rest[..at + mark.len()]);
            rest = rest[at + mark.len()..].trim_start_matches(|c: char| c.is_ascii_digit());
        }
        text = out + rest;
    }
    text
}

#[track_caller]
fn same(a: &str, b: &str) {
    assert_eq!(plain(&one(a)), plain(&one(b)), "{a}   {b}");
}

#[test]
fn notations_that_mean_the_same() {
    same("TABLE t", "SELECT * FROM t");
    same("SELECT a AS b FROM t AS u", "select A B from T U");
    same("SELECT ALL a FROM t", "SELECT a FROM t *");
    same("SELECT 1 FETCH FIRST ROW ONLY", "SELECT 1 LIMIT 1");
    same("SELECT 1 OFFSET 2 ROWS FETCH NEXT 3 ROWS ONLY", "SELECT 1 LIMIT 3 OFFSET 2");
    same("SELECT 1 LIMIT ALL", "SELECT 1");
    same("SELECT 1 LIMIT NULL", "SELECT 1");
    same("(SELECT a FROM t) ORDER BY a", "SELECT a FROM t ORDER BY a");
    same("((SELECT a FROM t LIMIT 1))", "SELECT a FROM t LIMIT 1");
    same(
        "SELECT a FROM t FOR UPDATE OF t SKIP LOCKED LIMIT 1",
        "SELECT a FROM t LIMIT 1 FOR UPDATE OF t SKIP LOCKED",
    );
    same("SELECT a FROM t FOR KEY SHARE NOWAIT LIMIT 1", "SELECT a FROM t LIMIT 1 FOR KEY SHARE NOWAIT");
    same("SELECT 1 UNION DISTINCT SELECT 2", "SELECT 1 UNION SELECT 2");
    same("SELECT 1 UNION SELECT 2 INTERSECT SELECT 3", "SELECT 1 UNION (SELECT 2 INTERSECT SELECT 3)");
    same("SELECT 1 EXCEPT SELECT 2 UNION SELECT 3", "(SELECT 1 EXCEPT SELECT 2) UNION SELECT 3");
    same("SELECT 1 FROM a JOIN b ON x", "SELECT 1 FROM a INNER JOIN b ON x");
    same("SELECT 1 FROM a LEFT OUTER JOIN b USING (x)", "SELECT 1 FROM (a LEFT JOIN b USING (x))");
    same("SELECT 1 FROM a JOIN b JOIN c ON x ON y", "SELECT 1 FROM a JOIN (b JOIN c ON x) ON y");
    same("SELECT 1 FROM a JOIN b ON x JOIN c ON y", "SELECT 1 FROM (a JOIN b ON x) JOIN c ON y");
    same("SELECT a FROM t GROUP BY (a, b)", "SELECT a FROM t GROUP BY a, b");
    same("UPDATE t SET (a, b) = (1, DEFAULT)", "UPDATE t SET a = 1, b = DEFAULT");
    same("UPDATE t SET (a, b) = ROW(1, 2)", "UPDATE t SET a = 1, b = 2");
    same(
        "WITH x AS MATERIALIZED (SELECT 1) TABLE x",
        "WITH x AS NOT MATERIALIZED (SELECT 1) SELECT * FROM x",
    );
    same("BEGIN WORK", "START TRANSACTION");
    same("BEGIN READ WRITE", "START TRANSACTION READ WRITE");
    same(
        "BEGIN TRANSACTION ISOLATION LEVEL SERIALIZABLE READ ONLY",
        "BEGIN READ ONLY, NOT DEFERRABLE, ISOLATION LEVEL SERIALIZABLE",
    );
    same("BEGIN ISOLATION LEVEL READ UNCOMMITTED", "START TRANSACTION ISOLATION LEVEL READ UNCOMMITTED");
    same("END", "COMMIT WORK");
    same("ABORT", "ROLLBACK TRANSACTION AND NO CHAIN");
    same("RELEASE a", "RELEASE SAVEPOINT a");
    same("ROLLBACK TO a", "ROLLBACK WORK TO SAVEPOINT a");
    same("SET TIME ZONE 'UTC'", "SET timezone TO 'UTC'");
    same("SET SESSION x.y = 1, a, 'b'", "SET x.y TO '1', 'a', b");
    same("RESET work_mem", "SET work_mem TO DEFAULT");
    same("SHOW TIME ZONE", "SHOW TimeZone");
    same("DEALLOCATE PREPARE p", "DEALLOCATE p");
    same(
        "CREATE TABLE t (a int) WITH (fillfactor=90)",
        "CREATE TABLE t (a integer) WITH (fillfactor = '90')",
    );
    same("CREATE INDEX i ON t USING btree (a ASC NULLS LAST, b)", "CREATE INDEX CONCURRENTLY i ON t (a, b)");
    same("TRUNCATE t CONTINUE IDENTITY RESTRICT", "TRUNCATE TABLE ONLY t");
    same("EXPLAIN ANALYZE VERBOSE SELECT 1", "EXPLAIN (ANALYZE, COSTS off, FORMAT text) SELECT 1");
    same("DO LANGUAGE plpgsql $$x$$", "DO $a$x$a$ LANGUAGE 'plpgsql'");
    same(
        "CREATE FUNCTION f(IN a int) RETURNS int LANGUAGE sql AS 'x'",
        "CREATE FUNCTION f(a int) RETURNS int CALLED ON NULL INPUT AS $$x$$ LANGUAGE sql",
    );
}

#[test]
fn selects() {
    let s = select(
        "SELECT DISTINCT ON (a, b) a, t.*, * FROM s.t, u v (x, y) WHERE a GROUP BY 1 HAVING b WINDOW w AS (ORDER BY a)",
    );
    assert_eq!(s.distinct.map(|on| on.len()), Some(2));
    assert_eq!(s.items.len(), 3);
    assert!(matches!(&s.items[1].expr.kind, ExprKind::Star(Some(name)) if name.parts == ["t"]));
    let [TableRef::Relation { name, alias: None, .. }, TableRef::Relation { alias: Some(alias), .. }] =
        &s.from[..]
    else {
        panic!("{:?}", s.from)
    };
    assert_eq!(name.parts, ["s", "t"]);
    assert_eq!((alias.name.as_str(), &alias.columns[..]), ("v", &["x".to_owned(), "y".to_owned()][..]));
    assert!(s.filter.is_some() && s.having.is_some());
    assert_eq!((s.group_by.len(), s.windows.len()), (1, 1));
    assert!(select("SELECT FROM t").items.is_empty());
    assert!(select("SELECT DISTINCT a FROM t").distinct.is_some_and(|on| on.is_empty()));

    let f = select("SELECT g.i FROM generate_series(1, 3) WITH ORDINALITY AS g(i, n), LATERAL f(i) h").from;
    assert!(
        matches!(&f[0], TableRef::Function { ordinality: true, lateral: false, alias: Some(a), .. } if a.columns == ["i", "n"])
    );
    assert!(matches!(&f[1], TableRef::Function { lateral: true, .. }));
    let d =
        select("SELECT 1 FROM (VALUES (1, 'a')) v(a, b) CROSS JOIN LATERAL (SELECT v.a) x NATURAL JOIN y")
            .from;
    assert!(matches!(&d[0], TableRef::Join { condition: JoinCondition::Natural(_), .. }));

    let q = query(
        "WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM a), b AS (DELETE FROM t RETURNING *) SELECT * FROM a ORDER BY x DESC, 1 NULLS FIRST LIMIT 5 OFFSET 2 FOR UPDATE",
    );
    assert!(q.recursive && !q.locking.is_empty() && q.limit.is_some() && q.offset.is_some());
    assert_eq!(q.with[0].columns, ["x"]);
    assert!(matches!(q.with[1].statement.kind, StatementKind::Delete(_)));
    assert!(q.order_by[0].descending && q.order_by[1].nulls_first == Some(true));

    // Words that are labels only behind AS, and words that are labels anyway.
    assert_eq!(
        select("SELECT a year_, b value, 1 AS select FROM t").items[2].alias.as_deref(),
        Some("select")
    );
    assert_eq!(select("SELECT a INTERVAL FROM t").items[0].alias.as_deref(), Some("interval"));
    assert!(matches!(query("VALUES (1, 2), (3, 4)").body, QueryBody::Values(rows) if rows.len() == 2));
}

#[test]
fn inserts() {
    let StatementKind::Insert(i) = one(
        "WITH x AS (SELECT 1) INSERT INTO s.t AS u (a, b) OVERRIDING SYSTEM VALUE VALUES (1, DEFAULT), (2, 3)
         ON CONFLICT (a, b) DO UPDATE SET c = excluded.c, d = u.d + 1 WHERE u.e RETURNING a, b AS bb",
    ) else {
        panic!()
    };
    assert_eq!((i.table.parts.len(), i.alias.as_deref(), i.overriding), (2, Some("u"), Some(true)));
    let InsertSource::Values(rows) = &i.source else { panic!() };
    assert!(rows[0][1].is_none() && rows[1][1].is_some());
    let conflict = i.on_conflict.expect("ON CONFLICT");
    let items = ["a", "b"].map(|c| IndexItem::Column(c.into())).to_vec();
    assert_eq!(conflict.target, Some(ConflictTarget::Columns { items, predicate: None }));
    let update = conflict.update.expect("DO UPDATE");
    assert_eq!((update.set.len(), update.filter.is_some()), (2, true));
    assert_eq!(i.returning.len(), 2);
    let source = |text: &str| match one(text) {
        StatementKind::Insert(i) => i.source,
        other => panic!("{other:?}"),
    };
    assert_eq!(source("INSERT INTO t DEFAULT VALUES"), InsertSource::Default(14));
    assert!(matches!(source("INSERT INTO t SELECT 1"), InsertSource::Query(_)));
    assert!(matches!(source("INSERT INTO t (SELECT 1)"), InsertSource::Query(_)));
    assert!(matches!(source("INSERT INTO t (a) VALUES (1) UNION SELECT 2"), InsertSource::Query(_)));
    assert!(matches!(source("INSERT INTO t (a) WITH x AS (SELECT 1) TABLE x"), InsertSource::Query(_)));
    let StatementKind::Insert(i) = one("INSERT INTO t VALUES (1) ON CONFLICT ON CONSTRAINT c DO NOTHING")
    else {
        panic!()
    };
    assert!(
        matches!(i.on_conflict, Some(OnConflict { target: Some(ConflictTarget::Constraint(c)), update: None, .. }) if c == "c")
    );
}

#[test]
fn updates_and_deletes() {
    let StatementKind::Update(u) =
        one("UPDATE ONLY t u SET a = 1, (b, c) = (SELECT 1, 2) FROM v, w WHERE u.x = v.x RETURNING *")
    else {
        panic!()
    };
    assert_eq!((u.alias.as_deref(), u.set.len(), u.from.len(), u.returning.len()), (Some("u"), 2, 2, 1));
    assert_eq!(u.set[1].columns.len(), 2);
    let StatementKind::Update(u) = one("UPDATE t SET set = 1") else { panic!() };
    assert_eq!((u.alias, u.set[0].columns[0].0.as_str()), (None, "set"));
    let StatementKind::Delete(d) = one("DELETE FROM t AS x USING u JOIN v ON true WHERE x.a = u.a") else {
        panic!()
    };
    assert_eq!((d.alias.as_deref(), d.using.len(), d.filter.is_some()), (Some("x"), 1, true));
}

#[test]
fn tables() {
    let StatementKind::CreateTable(t) = one("CREATE TABLE IF NOT EXISTS s.t (
            id bigserial PRIMARY KEY,
            n integer GENERATED BY DEFAULT AS IDENTITY (START 5 INCREMENT BY -2 NO MAXVALUE CYCLE),
            a varchar(10) COLLATE \"C\" DEFAULT 'x' || 'y' NOT NULL CHECK (length(a) > 1),
            b numeric(12, 2)[] NULL,
            c integer CONSTRAINT fk REFERENCES p (x) ON DELETE CASCADE ON UPDATE SET NULL NOT DEFERRABLE,
            CONSTRAINT u UNIQUE (a, b),
            FOREIGN KEY (a, b) REFERENCES q MATCH SIMPLE,
            CHECK (a < b))")
    else {
        panic!()
    };
    assert!(t.if_not_exists && t.unsupported.is_none());
    assert_eq!((t.columns.len(), t.constraints.len()), (5, 3));
    assert_eq!(t.columns[0].ty.kind, TypeNameKind::Serial(Type::Int8));
    let ConstraintKind::Identity { always: false, options } = &t.columns[1].constraints[0].kind else {
        panic!()
    };
    assert_eq!(
        (options.start, options.increment, options.max, options.cycle),
        (Some(5), Some(-2), Some(None), Some(true))
    );
    let texts: Vec<&str> = t.columns[2]
        .constraints
        .iter()
        .filter_map(|c| match &c.kind {
            ConstraintKind::Default { text, .. } | ConstraintKind::Check { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["'x' || 'y'", "length(a) > 1"]);
    assert_eq!(
        t.columns[3].ty.kind,
        TypeNameKind::Known(Type::Array(Box::new(Type::Numeric(Some((12, 2))))))
    );
    let fk = &t.columns[4].constraints[0];
    assert_eq!(fk.name.as_deref(), Some("fk"));
    assert!(matches!(
        &fk.kind,
        ConstraintKind::ForeignKey {
            on_delete: Some(ReferentialAction::Cascade),
            on_update: Some(ReferentialAction::SetNull),
            ..
        }
    ));
    let check = |attributes: &str| match one(&format!("CREATE TABLE t (a int REFERENCES p {attributes})")) {
        StatementKind::CreateTable(t) => match &t.columns[0].constraints[0].kind {
            ConstraintKind::ForeignKey { check, .. } => *check,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    assert_eq!(check("NOT DEFERRABLE INITIALLY IMMEDIATE"), CheckTime::NotDeferrable);
    assert_eq!(check("DEFERRABLE"), CheckTime::Deferrable);
    assert_eq!(check("INITIALLY DEFERRED"), CheckTime::Deferred);
    assert_eq!(check("DEFERRABLE INITIALLY DEFERRED"), CheckTime::Deferred);
    assert!(matches!(
        one("CREATE TABLE t AS SELECT 1 WITH NO DATA"),
        StatementKind::CreateTableAs { with_data: false, .. }
    ));
    assert!(
        matches!(one("CREATE TABLE t (a, b) AS VALUES (1, 2)"), StatementKind::CreateTableAs { columns, .. } if columns.len() == 2)
    );
    let StatementKind::CreateTable(t) = one("CREATE TABLE t (a int) INHERITS (u)") else { panic!() };
    assert_eq!(t.unsupported.map(|u| u.0).as_deref(), Some("INHERITS"));
    let StatementKind::CreateTable(t) =
        one("CREATE TABLE t (a int, LIKE u INCLUDING ALL EXCLUDING INDEXES, b int)")
    else {
        panic!()
    };
    assert_eq!((t.likes.len(), t.likes[0].place, t.columns.len()), (1, 1, 2));
    assert!(t.likes[0].defaults && t.likes[0].identity && !t.likes[0].indexes);
    let StatementKind::CreateTable(t) = one("CREATE TEMP TABLE t (a int)") else { panic!() };
    assert!(t.name.parts == ["pg_temp", "t"] && !t.unlogged);
    let StatementKind::CreateTable(t) = one("CREATE TEMPORARY TABLE t (a int) ON COMMIT DELETE ROWS") else {
        panic!()
    };
    assert_eq!(t.on_commit, planaria_catalog::OnCommit::DeleteRows);
    let StatementKind::CreateTable(t) = one("CREATE UNLOGGED TABLE t (a int)") else { panic!() };
    assert!(t.unlogged && t.unsupported.is_none());

    let StatementKind::AlterTable { actions, .. } = one(
        "ALTER TABLE IF EXISTS t ADD COLUMN IF NOT EXISTS a int DEFAULT 0, DROP b CASCADE, ADD CONSTRAINT c CHECK (a > 0),
         DROP CONSTRAINT IF EXISTS d, ALTER e SET DEFAULT now(), ALTER COLUMN e DROP DEFAULT, ALTER f SET NOT NULL,
         ALTER g TYPE bigint USING g::bigint, OWNER TO me, SET (fillfactor = 50)",
    ) else {
        panic!()
    };
    assert_eq!(actions.len(), 10);
    assert!(matches!(&actions[7], AlterTable::SetType { using: Some((_, text)), .. } if text == "g::bigint"));
    assert!(
        matches!(&actions[9], AlterTable::Parameters { parameters, reset: false } if parameters.len() == 1)
    );
    let action = |text: &str| match one(text) {
        StatementKind::AlterTable { mut actions, .. } => actions.remove(0),
        other => panic!("{other:?}"),
    };
    assert_eq!(action("ALTER TABLE t RENAME TO u"), AlterTable::RenameTable("u".into()));
    assert_eq!(
        action("ALTER TABLE t RENAME a TO b"),
        AlterTable::RenameColumn { from: "a".into(), to: "b".into() }
    );
    assert!(
        matches!(action("ALTER TABLE t ENABLE RULE r"), AlterTable::Unsupported(what, 14) if what == "ENABLE RULE")
    );
}

#[test]
fn routines() {
    let StatementKind::CreateRoutine(r) = one(
        "CREATE OR REPLACE FUNCTION s.f(a integer, INOUT b text DEFAULT 'x', c OUT double precision, VARIADIC d int[],
            timestamp with time zone = now())
         RETURNS SETOF record STABLE STRICT LANGUAGE PLpgSQL AS $body$BEGIN END$body$",
    ) else {
        panic!()
    };
    assert!(r.or_replace && !r.procedure && r.strict);
    assert_eq!((r.volatility, r.language.as_deref()), (Some(Volatility::Stable), Some("plpgsql")));
    let modes: Vec<(&str, Mode)> = r.parameters.iter().map(|p| (p.name.as_str(), p.mode)).collect();
    assert_eq!(
        modes,
        [("a", Mode::In), ("b", Mode::InOut), ("c", Mode::Out), ("d", Mode::Variadic), ("", Mode::In)]
    );
    assert_eq!(r.parameters[2].ty.kind, TypeNameKind::Known(Type::Float8));
    assert_eq!(r.parameters[4].ty.kind, TypeNameKind::Known(Type::TimestampTz));
    assert_eq!(r.parameters[4].default.as_ref().map(|d| d.1.as_str()), Some("now()"));
    assert!(matches!(r.returns, Some(RoutineReturns::Type { setof: true, .. })));
    assert_eq!(r.body, "BEGIN END");
    let StatementKind::CreateRoutine(r) =
        one("CREATE FUNCTION f() RETURNS TABLE (a int, b text) LANGUAGE sql AS 'SELECT 1, ''x'''")
    else {
        panic!()
    };
    assert_eq!(
        (r.returns, r.parameters.len(), r.body.as_str()),
        (Some(RoutineReturns::Table), 2, "SELECT 1, 'x'")
    );
    let StatementKind::CreateRoutine(r) = one("CREATE PROCEDURE p() LANGUAGE sql SECURITY DEFINER AS ''")
    else {
        panic!()
    };
    assert!(r.unsupported.is_none() && r.security_definer);
    let StatementKind::CreateRoutine(r) =
        one("CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN a THEN 1 END; SELECT 2; END;")
    else {
        panic!()
    };
    assert_eq!(r.standard, Some(planaria_catalog::StandardBody::Atomic));
    assert_eq!(r.body.trim(), "SELECT CASE WHEN a THEN 1 END; SELECT 2;");
    let StatementKind::CreateRoutine(r) = one("CREATE FUNCTION f(a int) RETURNS int RETURN a + 1") else {
        panic!()
    };
    assert_eq!((r.standard, r.body.as_str()), (Some(planaria_catalog::StandardBody::Return), "SELECT a + 1"));
    let StatementKind::DropRoutine { names, procedure, .. } =
        one("DROP FUNCTION IF EXISTS f(int, b text), g CASCADE")
    else {
        panic!()
    };
    assert_eq!(
        (names[0].1.as_ref().map(Vec::len), names[1].1.is_none(), procedure),
        (Some(2), true, Some(false))
    );
    let text = "DO $$ BEGIN NULL; END $$";
    let StatementKind::Do { body, body_position, .. } = one(text) else { panic!() };
    assert_eq!(&text[body_position as usize..][..body.len()], body);
}

#[test]
fn partitions() {
    use planaria_catalog::Strategy;
    use planaria_syntax::ast::{AlterTable, PartitionSpecKind, RangeDatum};
    let StatementKind::CreateTable(t) =
        one("CREATE TABLE t (a int, b text) PARTITION BY RANGE (a, lower(b))")
    else {
        panic!()
    };
    let by = t.partition_by.expect("it is partitioned");
    assert_eq!((by.strategy, by.keys.len()), (Strategy::Range, 2));
    let bound = |text: &str| {
        let StatementKind::CreateTable(t) = one(&format!("CREATE TABLE c PARTITION OF p {text}")) else {
            panic!()
        };
        t.partition_of.expect("it is a partition").bound.kind
    };
    assert_eq!(bound("DEFAULT"), PartitionSpecKind::Default);
    assert!(matches!(bound("FOR VALUES IN (1, NULL)"), PartitionSpecKind::In(all) if all.len() == 2));
    assert!(matches!(
        bound("FOR VALUES FROM (MINVALUE, 1) TO ('x', MAXVALUE)"),
        PartitionSpecKind::Range(from, to) if from[0] == RangeDatum::Min && to[1] == RangeDatum::Max
    ));
    assert_eq!(bound("FOR VALUES WITH (MODULUS 4, REMAINDER 3)"), PartitionSpecKind::Hash(4, 3));
    let StatementKind::CreateTable(t) = one(
        "CREATE TABLE c PARTITION OF p (a DEFAULT 1 NOT NULL, CHECK (a > 0)) DEFAULT PARTITION BY LIST (a)",
    ) else {
        panic!()
    };
    let of = t.partition_of.expect("it is a partition");
    assert_eq!((of.columns.len(), of.columns[0].2.len(), t.constraints.len()), (1, 2, 1));
    assert!(t.partition_by.is_some_and(|by| by.strategy == Strategy::List));
    let StatementKind::AlterTable { only: true, actions, .. } =
        one("ALTER TABLE ONLY p ATTACH PARTITION c FOR VALUES IN ('a')")
    else {
        panic!()
    };
    assert!(matches!(&actions[0], AlterTable::Attach { .. }));
    let StatementKind::AlterTable { only: false, actions, .. } =
        one("ALTER TABLE p DETACH PARTITION c CONCURRENTLY")
    else {
        panic!()
    };
    assert!(matches!(&actions[0], AlterTable::Detach(_)));
    assert!(matches!(one("ALTER INDEX i ATTACH PARTITION j"), StatementKind::AttachIndex { .. }));
}

#[test]
fn types() {
    let known = |text: &str| match parse::type_name(text).unwrap_or_else(|e| panic!("{text}: {e:?}")).kind {
        TypeNameKind::Known(ty) => ty.to_string(),
        other => format!("{other:?}"),
    };
    for (text, expected) in [
        ("int", "integer"),
        ("int8", "bigint"),
        ("BOOL", "boolean"),
        ("decimal(5)", "numeric(5,0)"),
        ("character varying(3)", "character varying(3)"),
        ("char", "character(1)"),
        ("bpchar(4)", "character(4)"),
        ("float(53)", "double precision"),
        ("float(24)", "real"),
        ("timestamp(6) without time zone", "timestamp(6) without time zone"),
        ("timestamp(0) with time zone", "timestamp(0) with time zone"),
        ("timestamp without time zone", "timestamp without time zone"),
        ("time(3)", "time(3) without time zone"),
        ("timestamptz", "timestamp with time zone"),
        ("pg_catalog.text", "text"),
        ("text[]", "text[]"),
        ("integer ARRAY[4]", "integer[]"),
        ("int[3]", "integer[]"),
        ("_text", "text[]"),
        ("record", "Record"),
        ("trigger", "Pseudo(\"trigger\")"),
        ("smallserial", "Serial(Int2)"),
    ] {
        assert_eq!(known(text), expected, "{text}");
    }
    assert!(
        matches!(parse::type_name("t.c%TYPE").unwrap().kind, TypeNameKind::OfColumn(n) if n.parts == ["t", "c"])
    );
    assert!(
        matches!(parse::type_name("date%rowtype").unwrap().kind, TypeNameKind::RowOf(n) if n.parts == ["date"])
    );
    assert!(
        matches!(parse::type_name("s.\"T\"").unwrap().kind, TypeNameKind::Named(n) if n.parts == ["s", "T"])
    );
}

#[test]
fn copy_has_a_present_form_and_two_older_ones() {
    use planaria_syntax::ast::copy::{CopyFormat, CopyHeader, CopySource};
    let copy = |text: &str| match one(text) {
        StatementKind::Copy(copy) => *copy,
        other => panic!("{other:?}"),
    };
    let plain = copy("COPY s.t (a, \"B\") FROM STDIN");
    let CopySource::Table(name, columns) = &plain.source else { panic!("{plain:?}") };
    assert_eq!(name.parts, ["s", "t"]);
    assert_eq!(columns.iter().map(|c| c.0.as_str()).collect::<Vec<_>>(), ["a", "B"]);
    assert!(plain.from && plain.options.delimiter == b'\t' && plain.options.null == "\\N");
    let csv = copy("COPY (SELECT 1) TO STDOUT WITH (FORMAT csv, HEADER, DELIMITER ';', NULL '-')");
    assert!(!csv.from && matches!(csv.source, CopySource::Statement(_)));
    assert_eq!((csv.options.format, csv.options.header), (CopyFormat::Csv, CopyHeader::Line));
    assert_eq!((csv.options.delimiter, csv.options.null.as_str()), (b';', "-"));
    let old = copy("COPY t TO STDOUT WITH CSV HEADER QUOTE AS '|' DELIMITER ','");
    assert_eq!((old.options.format, old.options.quote), (CopyFormat::Csv, b'|'));
    assert_eq!(copy("COPY BINARY t FROM STDIN").options.format, CopyFormat::Binary);
    assert!(copy("COPY t FROM STDIN WITH (FREEZE ON)").from);
    for (text, code) in [
        ("COPY t FROM 'file'", "0A000"),
        ("COPY t FROM STDIN (FORMAT xml)", "22023"),
        ("COPY t FROM STDIN (QUOTE '|')", "0A000"),
        ("COPY t FROM STDIN (DELIMITER 'ab')", "0A000"),
        ("COPY t FROM STDIN (DELIMITER 'a')", "22023"),
        ("COPY t FROM STDIN (nonsense)", "42601"),
        ("COPY (SELECT 1) FROM STDIN", "42601"),
    ] {
        let error = parse::statements(text).expect_err(text);
        assert_eq!(error.sqlstate().as_str(), code, "{text}");
    }
}

#[test]
fn directions_of_cursors() {
    use planaria_syntax::ast::cursor::Direction;
    let direction = |text: &str| match one(text) {
        StatementKind::Fetch { name, direction, .. } => {
            assert_eq!(name, "c");
            direction
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(direction("FETCH c"), Direction::Forward(1));
    assert_eq!(direction("FETCH NEXT c"), Direction::Forward(1));
    assert_eq!(direction("FETCH 5 FROM c"), Direction::Forward(5));
    assert_eq!(direction("FETCH FORWARD IN c"), Direction::Forward(1));
    assert_eq!(direction("FETCH BACKWARD 2 c"), Direction::Forward(-2));
    assert_eq!(direction("MOVE ALL FROM c"), Direction::ForwardAll);
    assert_eq!(direction("MOVE ABSOLUTE -1 c"), Direction::Absolute(-1));
    assert_eq!(direction("FETCH RELATIVE 3 c"), Direction::Relative(3));
}

#[test]
fn other_statements() {
    assert_eq!(one("SHOW all"), StatementKind::Show("all".into()));
    assert_eq!(one("checkpoint"), StatementKind::Checkpoint);
    let alter_system = |text: &str| match one(text) {
        StatementKind::AlterSystem(change) => change,
        other => panic!("{other:?}"),
    };
    let set = DefaultsChange::Set("loggers".into(), vec!["2".into()]);
    assert_eq!(alter_system("ALTER SYSTEM SET loggers TO 2"), set);
    assert_eq!(alter_system("ALTER SYSTEM SET loggers = DEFAULT"), DefaultsChange::Reset("loggers".into()));
    assert_eq!(alter_system("alter system reset all"), DefaultsChange::ResetAll);
    assert_eq!(one("BACKUP TO '/tmp/b'"), StatementKind::Backup("/tmp/b".into()));
    let StatementKind::Maintain(vacuum) = one("VACUUM (ANALYZE) t") else { panic!("VACUUM maintains") };
    assert_eq!((vacuum.tag, vacuum.what.len()), ("VACUUM", 1));
    let comment = one("COMMENT ON COLUMN a.b.c IS 'it''s; mine'");
    let StatementKind::Comment { on: CommentTarget::Column(name), text } = comment else { panic!("another") };
    assert_eq!((name.parts.join("."), text.as_deref()), ("a.b.c".to_owned(), Some("it's; mine")));
    for nothing in ["NULL", "''"] {
        let comment = one(&format!("COMMENT ON FUNCTION f(int, text) IS {nothing}"));
        assert!(matches!(comment, StatementKind::Comment { on: CommentTarget::Routine(_), text: None }));
    }
    assert_eq!(
        one("COMMENT ON OPERATOR + (int, int) IS 'x'"),
        StatementKind::Unsupported("COMMENT ON OPERATOR".into())
    );
    for (text, domain) in [("COMMENT ON TYPE t IS 'x'", false), ("COMMENT ON DOMAIN t IS 'x'", true)] {
        match one(text) {
            StatementKind::Comment { on: CommentTarget::Type(ty), .. } => {
                assert_eq!((ty.name.parts.as_slice(), ty.domain), (&["t".to_owned()][..], domain));
            }
            other => panic!("{other:?}"),
        }
    }
    match one("ALTER TYPE s.t ADD VALUE IF NOT EXISTS 'a' BEFORE 'b'") {
        StatementKind::AlterEnum { name, action: AlterEnum::AddValue { label, if_not_exists, place } } => {
            assert_eq!((name.parts.len(), label.as_str(), if_not_exists), (2, "a", true));
            assert_eq!(place, LabelPlace::Before("b".into()));
        }
        other => panic!("{other:?}"),
    }
    match one("CREATE DOMAIN d AS numeric(5,2) CONSTRAINT c CHECK (VALUE > 0) NOT NULL DEFAULT 1") {
        StatementKind::CreateDomain { ty, constraints, .. } => {
            assert_eq!(ty.kind, TypeNameKind::Known(Type::Numeric(Some((5, 2)))));
            assert_eq!(constraints.len(), 3);
        }
        other => panic!("{other:?}"),
    }
    let constraints = |text| match one(text) {
        StatementKind::SetConstraints { names, deferred } => (names.map(|n| n.len()), deferred),
        other => panic!("{other:?}"),
    };
    assert_eq!(constraints("SET CONSTRAINTS ALL IMMEDIATE"), (None, false));
    assert_eq!(constraints("SET CONSTRAINTS a, b.c DEFERRED"), (Some(2), true));
    assert_eq!(one("LISTEN t"), StatementKind::Listen("t".into()));
    match one("CREATE MATERIALIZED VIEW IF NOT EXISTS s.v (a) AS SELECT 1 WITH NO DATA") {
        StatementKind::CreateMaterialized { name, if_not_exists, columns, .. } => {
            assert_eq!((name.parts.len(), if_not_exists, columns.len()), (2, true, 1));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(
        one("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"),
        StatementKind::SetModes {
            default: false,
            read_only: Some(true),
            isolation: Some(planaria_base::Isolation::RepeatableRead)
        }
    );
    assert_eq!(
        one("SET LOCAL search_path TO a, \"B\", 'c d'"),
        StatementKind::Set {
            name: "search_path".into(),
            value: Some(vec!["a, \"B\", \"c d\"".into()]),
            local: true
        }
    );
    let StatementKind::ExplainProcedure { name, args } =
        one("EXPLAIN PROCEDURE s.transfer (integer, numeric)")
    else {
        panic!()
    };
    assert_eq!((name.parts.len(), args.map(|a| a.len())), (2, Some(2)));
    assert_eq!(one("EXPLAIN RECOVERY"), StatementKind::ExplainRecovery);
    assert!(matches!(one("EXPLAIN PROCEDURE f"), StatementKind::ExplainProcedure { args: None, .. }));
    let StatementKind::Prepare { name, types, statement } = one("PREPARE p (int, text) AS SELECT $1 + 1")
    else {
        panic!()
    };
    assert_eq!((name.as_str(), types.len(), statement.position), ("p", 2, 25));
    assert!(
        matches!(one("EXECUTE p(1, 'a')"), StatementKind::ExecutePrepared { args, .. } if args.len() == 2)
    );
    assert_eq!(one("DEALLOCATE ALL"), StatementKind::Deallocate(None));
    let StatementKind::CreateView { query_text, columns, .. } = one("CREATE VIEW v (a) AS  SELECT 1 ; ")
    else {
        panic!()
    };
    assert_eq!((query_text.as_str(), columns.len()), ("SELECT 1", 1));
    let StatementKind::CreateIndex(i) = one("CREATE UNIQUE INDEX ON t (a, lower(b)) WHERE c") else {
        panic!()
    };
    assert!(i.name.is_none() && i.unique && i.method.is_none());
    assert!(
        matches!(&i.columns[..], [(IndexItem::Column(a), _), (IndexItem::Expression(_, text), 29)] if a == "a" && text == "lower(b)")
    );
    assert_eq!(i.predicate.map(|(_, text)| text).as_deref(), Some("c"));
    let StatementKind::CreateSequence { options, .. } =
        one("CREATE SEQUENCE s AS int MINVALUE -5 START WITH 3 CACHE 10 OWNED BY t.c")
    else {
        panic!()
    };
    assert_eq!((options.ty, options.min, options.start), (Some(Type::Int4), Some(Some(-5)), Some(3)));
    let StatementKind::Call { call, position: 0 } = one("CALL p(1, b => 2)") else { panic!() };
    assert_eq!(call.args[1].name.as_deref(), Some("b"));
}

#[test]
fn statements_know_their_range() {
    let text = "  SELECT 1 ; -- end\n;; /* x */ SELECT ';' \n";
    let ranges = parse::split(text).expect("ranges");
    let texts: Vec<&str> = ranges.iter().map(|r| &text[r.clone()]).collect();
    assert_eq!(texts, ["SELECT 1", "SELECT ';'"]);
    let statements = parse::statements(text).expect("statements");
    for (statement, range) in statements.iter().zip(&ranges) {
        assert_eq!(statement.position as usize..statement.end as usize, *range);
        assert_eq!(&parse::statement(text, range.clone()).expect("the same statement"), statement);
    }
}

/// An error in one statement keeps neither those before nor those behind it from being seen.
#[test]
fn scripts_go_on_behind_errors() {
    let results: Vec<bool> = parse::Script::new("SELECT 1; SELEC 2; SELECT 3; SELECT (4; SELECT 5")
        .unwrap()
        .map(|r| r.is_ok())
        .collect();
    assert_eq!(results, [true, false, true, false]);
}

#[test]
fn triggers() {
    use planaria_catalog::{TriggerEnabled, TriggerEvent};
    let create = |text: &str| match one(text) {
        StatementKind::CreateTrigger(create) => *create,
        other => panic!("{text}: {other:?}"),
    };
    let t = create(
        "CREATE OR REPLACE TRIGGER t BEFORE INSERT OR UPDATE OF a, \"B\" ON public.x FOR EACH ROW WHEN ((new.a > 1)) \
         EXECUTE PROCEDURE f(1, 'two', three, 4.5)",
    );
    assert!(t.or_replace && t.each_row && t.timing == TriggerTiming::Before);
    assert_eq!(t.events, [TriggerEvent::Insert, TriggerEvent::Update]);
    assert_eq!(t.columns.iter().map(|(c, _)| c.as_str()).collect::<Vec<_>>(), ["a", "B"]);
    assert_eq!(t.condition.map(|(_, text)| text).as_deref(), Some("new.a > 1"));
    assert_eq!(t.arguments, ["1", "two", "three", "4.5"]);
    let t = create("CREATE TRIGGER t AFTER TRUNCATE ON x EXECUTE FUNCTION f()");
    assert!(!t.each_row && t.constraint.is_none() && t.transitions.is_empty());
    let t = create(
        "CREATE TRIGGER t AFTER UPDATE ON x REFERENCING OLD TABLE AS o NEW TABLE n FOR STATEMENT EXECUTE FUNCTION f()",
    );
    let transitions: Vec<_> = t.transitions.iter().map(|t| (t.new, t.table, t.name.as_str())).collect();
    assert_eq!(transitions, [(false, true, "o"), (true, true, "n")]);
    assert!(!t.each_row);
    let t = create(
        "CREATE CONSTRAINT TRIGGER t AFTER DELETE ON x DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION f()",
    );
    assert_eq!(t.constraint, Some(CheckTime::Deferred));
    let drop = StatementKind::DropTrigger {
        name: "t".to_owned(),
        table: Name { parts: vec!["x".to_owned()], position: 28 },
        if_exists: true,
    };
    assert_eq!(one("DROP TRIGGER IF EXISTS t ON x CASCADE"), drop);
    let StatementKind::AlterTable { actions, .. } =
        one("ALTER TABLE x DISABLE TRIGGER ALL, ENABLE TRIGGER USER, ENABLE ALWAYS TRIGGER a")
    else {
        panic!("ALTER TABLE");
    };
    let (one, all, user) = (TriggerNames::One("a".to_owned()), TriggerNames::All, TriggerNames::User);
    let action = |names, enabled| AlterTable::EnableTrigger { names, enabled };
    let expected = [
        action(all, TriggerEnabled::Disabled),
        action(user, TriggerEnabled::Origin),
        action(one, TriggerEnabled::Always),
    ];
    assert_eq!(actions, expected);
}

#[test]
fn a_script_is_whole_when_all_that_it_opens_is_closed() {
    for text in [
        ";",
        "SELECT 1; -- one\n",
        "SELECT ';'; /* ; */ SELECT $$;$$;",
        "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE 1 WHEN 1 THEN 2 END; SELECT 1; END;",
        "CREATE FUNCTION f() AS $$\nBEGIN\n RETURN 1;\nEND $$;\n",
    ] {
        assert!(parse::is_whole(text), "{text}");
    }
    for text in [
        "",
        " \n",
        "-- nothing",
        "/* nothing */",
        "SELECT 1 -- one;\n",
        "SELECT 1; SELECT",
        "SELECT 1; /* one",
        "SELECT 1; 'one;",
        "SELECT 1; \"one;",
        "SELECT (1;",
        "CREATE FUNCTION f() AS $$\nBEGIN\n RETURN 1;\n",
        "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1;",
    ] {
        assert!(!parse::is_whole(text), "{text}");
    }
}

#[test]
fn merge() {
    let text = "WITH w AS (SELECT 1 AS id) MERGE INTO ONLY s.t AS a USING w JOIN x USING (id) ON a.id = w.id AND true
        WHEN MATCHED AND a.n > 1 THEN UPDATE SET n = n + 1, (b, c) = (1, DEFAULT)
        WHEN MATCHED THEN DELETE
        WHEN NOT MATCHED AND w.id IS NULL THEN DO NOTHING
        WHEN NOT MATCHED THEN INSERT (id, n) OVERRIDING USER VALUE VALUES (w.id, DEFAULT)
        WHEN NOT MATCHED THEN INSERT DEFAULT VALUES";
    let StatementKind::Merge(merge) = one(text) else { panic!("no MERGE") };
    assert_eq!((merge.with.len(), merge.table.parts.len(), merge.alias.as_deref()), (1, 2, Some("a")));
    assert!(matches!(merge.source, TableRef::Join { .. }));
    let shape: Vec<(bool, bool)> = merge.whens.iter().map(|w| (w.matched, w.condition.is_some())).collect();
    assert_eq!(shape, [(true, true), (true, false), (false, true), (false, false), (false, false)]);
    assert!(matches!(&merge.whens[0].action, MergeAction::Update(set) if set.len() == 3));
    assert_eq!(merge.whens[1].action, MergeAction::Delete);
    assert_eq!(merge.whens[2].action, MergeAction::Nothing);
    let MergeAction::Insert(insert) = &merge.whens[3].action else { panic!("no INSERT") };
    assert_eq!((insert.columns.len(), insert.overriding), (2, Some(false)));
    assert!(
        matches!(&insert.source, InsertSource::Values(rows) if rows[0].len() == 2 && rows[0][1].is_none())
    );
    assert!(
        matches!(&merge.whens[4].action, MergeAction::Insert(i) if matches!(i.source, InsertSource::Default(_)))
    );
}

#[test]
fn exclusions_are_what_they_say() {
    let text = "CREATE TABLE t (room int, during int4range, CONSTRAINT c EXCLUDE USING gist
        (room WITH =, (int4range(a, b)) WITH OPERATOR(pg_catalog.&&)) WHERE (room > 0), EXCLUDE (room WITH =))";
    let StatementKind::CreateTable(t) = one(text) else { panic!("{text}") };
    let exclude = |at: usize| match &t.constraints[at].kind {
        ConstraintKind::Exclude(exclude) => exclude,
        other => panic!("{other:?}"),
    };
    let first = exclude(0);
    assert_eq!(t.constraints[0].name.as_deref(), Some("c"));
    assert_eq!(first.method.as_ref().map(|(method, _)| method.as_str()), Some("gist"));
    let operators: Vec<&str> = first.elements.iter().map(|e| e.operator.as_str()).collect();
    assert_eq!(operators, ["=", "&&"]);
    assert_eq!(first.predicate.as_ref().map(|(_, text)| text.as_str()), Some("room > 0"));
    assert!(exclude(1).method.is_none() && exclude(1).predicate.is_none());
}
