//! PL/pgSQL bodies: every statement, and INTO wherever it may stand.

use planaria_base::Level;
use planaria_base::Type;
use planaria_syntax::ast::plpgsql::*;
use planaria_syntax::ast::*;
use planaria_syntax::parse;

#[track_caller]
fn block(body: &str) -> PlBlock {
    parse::plpgsql(body).unwrap_or_else(|e| panic!("{body}: {e:?}"))
}

/// The one statement of a body.
#[track_caller]
fn stmt(text: &str) -> StmtKind {
    let mut block = block(&format!("BEGIN {text} END"));
    assert_eq!(block.body.len(), 1, "{text}");
    block.body.remove(0).kind
}

fn name(e: &Expr) -> String {
    match &e.kind {
        ExprKind::Column(name) => name.parts.join("."),
        ExprKind::Parameter(n) => format!("${n}"),
        ExprKind::Integer(n) => n.clone(),
        ExprKind::String(s) => format!("'{s}'"),
        ExprKind::Subscripts(a, all) => {
            let all: String =
                all.iter().flat_map(Subscript::exprs).map(|i| format!("[{}]", name(i))).collect();
            format!("{}{all}", name(a))
        }
        ExprKind::Field(a, f) => format!("{}.{f}", name(a)),
        ExprKind::Subquery(_) => "query".into(),
        ExprKind::Binary(op, a, b) => format!("({} {op:?} {})", name(a), name(b)),
        other => format!("{other:?}"),
    }
}

fn names(items: &[Expr]) -> String {
    items.iter().map(name).collect::<Vec<_>>().join(" ")
}

#[test]
fn blocks_and_declarations() {
    let body = "#option dump
        <<outer>>
        DECLARE
            a integer;
            b CONSTANT text COLLATE \"C\" NOT NULL := 'x;y';
            c numeric(4,2) = 1 + (2);
            d orders.o_id%TYPE DEFAULT 3;
            e orders%ROWTYPE;
            f record;
            g integer[] := ARRAY[1, 2];
            h ALIAS FOR $1;
            i ALIAS FOR a;
            j CURSOR (k integer) FOR SELECT 1;
            type text;
        BEGIN
            <<inner>> DECLARE x int; BEGIN NULL; END inner;
        EXCEPTION
            WHEN unique_violation OR SQLSTATE '22012' THEN a := 1;
            WHEN others THEN
        END outer;";
    let b = block(body);
    assert_eq!(b.label.as_deref(), Some("outer"));
    assert_eq!(b.position as usize, body.find("<<outer").unwrap());
    let kinds: Vec<String> = b
        .declarations
        .iter()
        .map(|d| match &d.kind {
            DeclarationKind::Variable { ty, constant, not_null, default } => {
                let ty = match &ty.kind {
                    TypeNameKind::Known(ty) => ty.to_string(),
                    TypeNameKind::OfColumn(n) => format!("{}%type", n.parts.join(".")),
                    TypeNameKind::RowOf(n) => format!("{}%rowtype", n.parts.join(".")),
                    other => format!("{other:?}"),
                };
                format!("{} {ty} {constant} {not_null} {}", d.name, default.is_some())
            }
            DeclarationKind::Alias(of) => format!("{} alias {of}", d.name),
            DeclarationKind::Cursor { scroll, parameters, .. } => {
                format!("{} cursor {scroll:?} {}", d.name, parameters.len())
            }
        })
        .collect();
    assert_eq!(
        kinds,
        [
            "a integer false false false",
            "b text true true true",
            "c numeric(4,2) false false true",
            "d orders.o_id%type false false true",
            "e orders%rowtype false false false",
            "f Record false false false",
            "g integer[] false false true",
            "h alias $1",
            "i alias a",
            "j cursor None 1",
            "type text false false false",
        ]
    );
    let [Stmt { kind: StmtKind::Block(inner), .. }] = &b.body[..] else { panic!() };
    assert_eq!((inner.label.as_deref(), inner.declarations.len()), (Some("inner"), 1));
    assert_eq!(b.handlers.len(), 2);
    assert!(
        matches!(&b.handlers[0].conditions[..], [Condition::Name(a, _), Condition::State(b, _)] if a == "unique_violation" && b == "22012")
    );
    assert!(b.handlers[1].body.is_empty());
}

#[test]
fn assignments() {
    for (text, target, value) in [
        ("a := 1;", "a", "1"),
        ("a = b;", "a", "b"),
        ("a[i] := b[1];", "a[i]", "b[1]"),
        ("r.f := x;", "r.f", "x"),
        ("r.f[2] = x;", "r.f[2]", "x"),
        ("a[1].f := x;", "a[1].f", "x"),
        ("$1 := 2;", "$1", "2"),
        ("\"Odd\" := 2;", "Odd", "2"),
        // Words of statements are variables where they are assigned to.
        ("raise := 2;", "raise", "2"),
        ("exit = 2;", "exit", "2"),
        ("values[1] := 2;", "values[1]", "2"),
        ("left := 2;", "left", "2"),
        // What may stand behind SELECT is an expression.
        ("a := count(*) FROM t WHERE b = 1;", "a", "query"),
        ("a := max(x) FROM t;", "a", "query"),
        ("a := (SELECT 1);", "a", "query"),
    ] {
        let StmtKind::Assign { target: t, value: v } = stmt(text) else { panic!("{text}") };
        assert_eq!((name(&t).as_str(), name(&v).as_str()), (target, value), "{text}");
    }
}

#[test]
fn conditionals() {
    let StmtKind::If { branches, otherwise } = stmt(
        "IF CASE WHEN a THEN b ELSE c END THEN NULL; ELSIF d THEN NULL; NULL; ELSEIF e THEN ELSE NULL; END IF;",
    ) else {
        panic!()
    };
    assert_eq!(branches.iter().map(|b| b.1.len()).collect::<Vec<_>>(), [1, 2, 0]);
    assert!(matches!(branches[0].0.kind, ExprKind::Case { .. }));
    assert_eq!(otherwise.len(), 1);
    let StmtKind::If { branches, .. } = stmt("IF count(*) > 0 FROM t THEN NULL; END IF;") else { panic!() };
    assert!(matches!(branches[0].0.kind, ExprKind::Subquery(_)));
    let StmtKind::Case { operand, whens, otherwise } =
        stmt("CASE x WHEN 1, 2 THEN NULL; WHEN f(a, b) THEN ELSE NULL; END CASE;")
    else {
        panic!()
    };
    assert!(operand.is_some());
    assert_eq!(whens.iter().map(|w| w.0.len()).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(otherwise.map(|o| o.len()), Some(1));
    let StmtKind::Case { operand: None, whens, otherwise: None } =
        stmt("CASE WHEN a > 1 THEN NULL; END CASE;")
    else {
        panic!()
    };
    assert_eq!(whens.len(), 1);
}

#[test]
fn loops() {
    let StmtKind::Loop { label, body } =
        stmt("<<l>> LOOP EXIT l WHEN a; CONTINUE; EXIT; CONTINUE l; END LOOP l;")
    else {
        panic!()
    };
    assert_eq!(label.as_deref(), Some("l"));
    assert!(matches!(&body[0].kind, StmtKind::Exit { label: Some(_), when: Some(_) }));
    assert!(matches!(&body[1].kind, StmtKind::Continue { label: None, when: None }));
    assert!(matches!(stmt("WHILE a < 1 LOOP END LOOP;"), StmtKind::While { .. }));
    let StmtKind::ForRange { variable, reverse, from, to, step, .. } =
        stmt("FOR i IN REVERSE 10..f(1, 2) BY 2 LOOP NULL; END LOOP;")
    else {
        panic!()
    };
    assert_eq!((variable.as_str(), reverse, name(&from).as_str(), step.is_some()), ("i", true, "10", true));
    assert!(matches!(to.kind, ExprKind::Call(_)));
    let StmtKind::ForRange { from, to, .. } = stmt("FOR i IN a + 1 .. (b) LOOP END LOOP;") else { panic!() };
    assert_eq!((name(&from), name(&to)), ("(a Add 1)".into(), "b".into()));
    let StmtKind::ForQuery { targets, query, .. } =
        stmt("FOR r IN SELECT a FROM t ORDER BY a LOOP END LOOP;")
    else {
        panic!()
    };
    assert_eq!(names(&targets), "r");
    let StatementKind::Query(query) = query.kind else { panic!() };
    let QueryBody::Select(select) = query.body else { panic!() };
    assert!(matches!(&select.from[0], TableRef::Relation { alias: None, .. }));
    let StmtKind::ForQuery { targets, query, .. } =
        stmt("FOR a, r.b, c[1] IN UPDATE t SET x = 1 RETURNING x, y, z LOOP END LOOP;")
    else {
        panic!()
    };
    assert_eq!(names(&targets), "a r.b c[1]");
    assert!(matches!(query.kind, StatementKind::Update(_)));
    assert!(matches!(stmt("FOR r IN (SELECT 1) LOOP END LOOP;"), StmtKind::ForQuery { .. }));
    let StmtKind::ForExecute { text, using, .. } =
        stmt("FOR r IN EXECUTE 'SELECT $1' || x USING 1, f(a, b) LOOP END LOOP;")
    else {
        panic!()
    };
    assert!(matches!(text.kind, ExprKind::Binary(..)));
    assert_eq!(using.len(), 2);
    let StmtKind::ForEach { targets, slice, .. } = stmt("FOREACH x SLICE 1 IN ARRAY a LOOP END LOOP;") else {
        panic!()
    };
    assert_eq!((names(&targets).as_str(), slice), ("x", Some(1)));
    assert!(
        matches!(stmt("FOR r IN c LOOP NULL; END LOOP;"), StmtKind::ForCursor { args, .. } if args.is_empty())
    );
    let StmtKind::ForCursor { args, .. } = stmt("FOR r IN c(1, b := 2) LOOP NULL; END LOOP;") else {
        panic!()
    };
    assert_eq!((args[0].0.as_deref(), args[1].0.as_deref()), (None, Some("b")));
}

#[test]
fn returns() {
    assert_eq!(stmt("RETURN;"), StmtKind::Return(None));
    assert!(matches!(stmt("RETURN a + 1;"), StmtKind::Return(Some(_))));
    assert!(matches!(stmt("RETURN query;"), StmtKind::Return(Some(_))));
    assert_eq!(stmt("RETURN NEXT;"), StmtKind::ReturnNext(None));
    assert!(matches!(stmt("RETURN NEXT r;"), StmtKind::ReturnNext(Some(_))));
    assert!(matches!(stmt("RETURN QUERY VALUES (1);"), StmtKind::ReturnQuery(_)));
    assert!(matches!(stmt("RETURN QUERY WITH a AS (SELECT 1) SELECT * FROM a;"), StmtKind::ReturnQuery(_)));
    let StmtKind::ReturnQueryExecute { using, .. } = stmt("RETURN QUERY EXECUTE 'x' USING a, b;") else {
        panic!()
    };
    assert_eq!(names(&using), "a b");
}

#[test]
fn cursors() {
    let opened = |text: &str| match stmt(text) {
        StmtKind::Open { scroll, what, .. } => (scroll, what),
        other => panic!("{other:?}"),
    };
    assert!(matches!(opened("OPEN c;"), (None, Opened::Bound(args)) if args.is_empty()));
    assert!(matches!(opened("OPEN b.c(1, x => 2);"), (None, Opened::Bound(args)) if args.len() == 2));
    assert!(matches!(opened("OPEN c NO SCROLL FOR SELECT 1;"), (Some(false), Opened::Query(_))));
    let (scroll, Opened::Execute { using, .. }) = opened("OPEN c SCROLL FOR EXECUTE q USING a, b;") else {
        panic!()
    };
    assert_eq!((scroll, names(&using).as_str()), (Some(true), "a b"));
    let fetched = |text: &str| match stmt(text) {
        StmtKind::Fetch { direction, into, .. } => (direction, into.is_some()),
        other => panic!("{other:?}"),
    };
    assert_eq!(fetched("FETCH c INTO x;"), (PlDirection::Forward(1), true));
    assert_eq!(fetched("FETCH PRIOR FROM c INTO x, y;"), (PlDirection::Forward(-1), true));
    assert_eq!(fetched("FETCH LAST IN c INTO x;"), (PlDirection::Absolute(-1), true));
    assert_eq!(fetched("MOVE next;"), (PlDirection::Forward(1), false));
    assert_eq!(fetched("MOVE BACKWARD ALL FROM c;"), (PlDirection::All(true), false));
    assert!(matches!(fetched("MOVE BACKWARD a + 1 FROM c;"), (PlDirection::Count(_, true), false)));
    assert!(matches!(fetched("FETCH RELATIVE -2 FROM c INTO x;"), (PlDirection::By(_), true)));
    let b = block("DECLARE c NO SCROLL CURSOR (a int, b text) FOR SELECT 1; d CURSOR IS SELECT 2; BEGIN END");
    let DeclarationKind::Cursor { scroll, parameters, .. } = &b.declarations[0].kind else { panic!() };
    assert_eq!((*scroll, parameters.len()), (Some(false), 2));
    assert!(matches!(b.declarations[1].kind, DeclarationKind::Cursor { scroll: None, .. }));
}

#[test]
fn messages() {
    let raise = |text: &str| match stmt(text) {
        StmtKind::Raise(raise) => *raise,
        other => panic!("{other:?}"),
    };
    assert_eq!(raise("RAISE;").what, RaiseWhat::Current);
    let r = raise("RAISE NOTICE 'a % b %% %', x, f(1, 2) USING HINT = 'h', ERRCODE := '22012';");
    assert_eq!(r.level, Level::Notice);
    assert!(matches!(&r.what, RaiseWhat::Format(f, args) if f == "a % b %% %" && args.len() == 2));
    assert_eq!(r.using.iter().map(|u| u.0.as_str()).collect::<Vec<_>>(), ["hint", "errcode"]);
    let r = raise("RAISE 'plain';");
    assert_eq!((r.level, r.what), (Level::Exception, RaiseWhat::Format("plain".into(), vec![])));
    assert_eq!(raise("RAISE division_by_zero;").what, RaiseWhat::Condition("division_by_zero".into()));
    assert_eq!(raise("RAISE EXCEPTION SQLSTATE '22012';").what, RaiseWhat::State("22012".into()));
    let r = raise("RAISE WARNING USING message = 'x' || y;");
    assert_eq!((r.level, r.what, r.using.len()), (Level::Warning, RaiseWhat::Nothing, 1));
    assert!(matches!(stmt("ASSERT a > f(1, 2), 'm';"), StmtKind::Assert { message: Some(_), .. }));
    assert!(matches!(stmt("ASSERT a;"), StmtKind::Assert { message: None, .. }));
    let StmtKind::GetDiagnostics { stacked: false, items } =
        stmt("GET DIAGNOSTICS n = ROW_COUNT, r.c := PG_CONTEXT;")
    else {
        panic!()
    };
    assert_eq!(
        items.iter().map(|i| format!("{} {}", name(&i.0), i.1)).collect::<Vec<_>>(),
        ["n row_count", "r.c pg_context"]
    );
    assert!(matches!(
        stmt("GET STACKED DIAGNOSTICS m = MESSAGE_TEXT;"),
        StmtKind::GetDiagnostics { stacked: true, .. }
    ));
}

/// INTO of a statement, and the statement's text without it parses to the same tree.
#[track_caller]
fn into_of(text: &str) -> (bool, String) {
    let StmtKind::Sql(statement) = stmt(text) else { panic!("{text}") };
    let into = match statement.kind {
        StatementKind::Query(query) => match query.body {
            QueryBody::Select(select) => select.into,
            other => panic!("{text}: {other:?}"),
        },
        StatementKind::Insert(insert) => insert.into,
        StatementKind::Update(update) => update.into,
        StatementKind::Delete(delete) => delete.into,
        other => panic!("{text}: {other:?}"),
    };
    let into = into.unwrap_or_else(|| panic!("{text}: no INTO"));
    (into.strict, names(&into.targets))
}

#[test]
fn into_may_stand_nearly_anywhere() {
    for (text, strict, targets) in [
        ("SELECT a INTO x FROM t;", false, "x"),
        ("SELECT a, b INTO STRICT x, y FROM t WHERE c;", true, "x y"),
        ("SELECT INTO x, r.f a, b FROM t;", false, "x r.f"),
        ("SELECT INTO STRICT x a FROM t;", true, "x"),
        ("SELECT a FROM t INTO x;", false, "x"),
        ("SELECT a FROM t WHERE b = 1 INTO STRICT x[i];", true, "x[i]"),
        ("SELECT a FROM t ORDER BY a LIMIT 1 INTO x;", false, "x"),
        ("WITH w AS (SELECT 1 AS a) SELECT a INTO x FROM w;", false, "x"),
        ("SELECT count(*) INTO x.y FROM t;", false, "x.y"),
        ("INSERT INTO t (a) VALUES (1) RETURNING a INTO x;", false, "x"),
        ("INSERT INTO t SELECT 1 RETURNING a, b INTO STRICT x, y;", true, "x y"),
        ("UPDATE t SET a = 1 WHERE b RETURNING c INTO STRICT x;", true, "x"),
        ("UPDATE t SET a = 1 RETURNING c INTO a[1], b[2];", false, "a[1] b[2]"),
        ("DELETE FROM t RETURNING a INTO $1;", false, "$1"),
        ("VALUES (1, 2) INTO x, y;", false, "x y"),
        ("SELECT 1 UNION SELECT 2 ORDER BY 1 LIMIT 1 INTO x;", false, "x"),
    ] {
        assert_eq!(into_of(text), (strict, targets.to_owned()), "{text}");
    }
    let StmtKind::Execute { into, using, .. } = stmt("EXECUTE 'SELECT ' || a INTO STRICT x, y USING 1, b;")
    else {
        panic!()
    };
    let into = into.expect("INTO");
    assert_eq!((into.strict, names(&into.targets), names(&using)), (true, "x y".into(), "1 b".into()));
    let StmtKind::Execute { into: Some(_), using, .. } = stmt("EXECUTE a USING 1 INTO x;") else { panic!() };
    assert_eq!(using.len(), 1);
    assert!(matches!(stmt("EXECUTE 'x';"), StmtKind::Execute { into: None, .. }));
}

/// The positions in a statement with INTO are those of the text.
#[test]
fn into_leaves_positions() {
    let body = "BEGIN SELECT a INTO x FROM t WHERE b = 1; END";
    let StmtKind::Sql(statement) = block(body).body.remove(0).kind else { panic!() };
    assert_eq!(
        &body[statement.position as usize..statement.end as usize],
        "SELECT a INTO x FROM t WHERE b = 1"
    );
    let StatementKind::Query(query) = statement.kind else { panic!() };
    let QueryBody::Select(select) = query.body else { panic!() };
    let TableRef::Relation { name, .. } = &select.from[0] else { panic!() };
    assert_eq!(name.position as usize, body.find("t WHERE").unwrap());
    let into = select.into.expect("INTO");
    assert_eq!((into.position as usize, into.targets[0].position as usize), (15, 20));
    assert_eq!(select.filter.expect("WHERE").position as usize, body.find('=').unwrap());
}

#[test]
fn sql_in_bodies() {
    let StmtKind::Perform(query) = stmt("PERFORM 1 FROM t WHERE a = 1 LIMIT 1;") else { panic!() };
    assert!(query.limit.is_some());
    assert_eq!(query.position, 6);
    assert!(matches!(stmt("PERFORM f(x);"), StmtKind::Perform(_)));
    for text in [
        "CALL p(1, x);",
        "INSERT INTO t VALUES (1);",
        "DELETE FROM t;",
        "TRUNCATE t;",
        "CREATE TABLE t (a int);",
        "DO $$BEGIN END$$;",
    ] {
        assert!(matches!(stmt(text), StmtKind::Sql(_)), "{text}");
    }
    for (text, ends) in [
        ("COMMIT;", Transaction::Commit),
        ("COMMIT AND NO CHAIN;", Transaction::Commit),
        ("ROLLBACK;", Transaction::Rollback),
        ("ROLLBACK AND CHAIN;", Transaction::RollbackAndChain),
    ] {
        assert_eq!(stmt(text), StmtKind::Transaction(ends), "{text}");
    }
    assert_eq!(stmt("SAVEPOINT a;"), StmtKind::Unsupported("transaction control".into()));
    assert_eq!(stmt("NULL;"), StmtKind::Null);
    // CASE in a statement does not confuse where it ends, nor do its words end a block.
    let b = block("BEGIN UPDATE t SET a = CASE WHEN b THEN 1 ELSE 2 END; SELECT a AS end INTO x FROM t; END");
    assert_eq!(b.body.len(), 2);
}

#[test]
fn defaults_are_parsed() {
    let b = block("DECLARE a text[] := '{a,b}'; BEGIN END");
    let DeclarationKind::Variable { ty, default, .. } = &b.declarations[0].kind else { panic!() };
    assert_eq!(ty.kind, TypeNameKind::Known(Type::Array(Box::new(Type::Text))));
    assert_eq!(default.as_ref().map(name).as_deref(), Some("'{a,b}'"));
}
