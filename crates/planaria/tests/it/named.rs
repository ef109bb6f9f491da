//! Parameters by name, and rows as structs.

use planaria::{Database, FromRow, Params, SqlState, named, params};

fn database() -> Database {
    let db = Database::in_memory().unwrap();
    db.execute_script(
        "CREATE TABLE t (id int PRIMARY KEY, name text, tags text[]);
         INSERT INTO t VALUES (1, 'one', '{a,b,c}'), (2, NULL, '{}');
         CREATE FUNCTION f(a int, b int DEFAULT 10, c int DEFAULT 100) RETURNS int LANGUAGE plpgsql AS $$
         BEGIN
             RETURN a * 10000 + b * 1000 + c;
         END $$;
         CREATE SEQUENCE s;
         CREATE FUNCTION g(a int, b bigint DEFAULT nextval('s'), c int DEFAULT 5) RETURNS bigint LANGUAGE plpgsql AS $$
         BEGIN
             RETURN a * 100 + b * 10 + c;
         END $$;",
    )
    .unwrap();
    db
}

#[test]
fn statements_have_them() {
    let db = database();
    let (low, name) = (1, "one");
    let one: (i32,) = db
        .query_one("SELECT id FROM t WHERE name = :name AND id >= :low AND :low < 2", named! { low, name })
        .unwrap();
    assert_eq!(one, (1,));
    // Casts, slices, quotes and comments are what they are.
    let sliced: (Vec<String>, String) = db
        .query_one(
            "SELECT tags[1:2], ':low' /* :low */ || :x::text FROM t WHERE id = :low",
            named! { low, x: 7 },
        )
        .unwrap();
    assert_eq!(sliced, (vec!["a".into(), "b".into()], ":low7".into()));
    let keyword: (i32,) = db.query_one("SELECT :type::int", named! { r#type: 3 }).unwrap();
    assert_eq!(keyword, (3,));
    let kept = named! { a: low + 1, b: "x".to_owned() + "y" };
    let kept: (i32, String) = db.query_one("SELECT :a::int, :b::text", kept).unwrap();
    assert_eq!(kept, (2, "xy".into()));
    // Prepared ones, too, to which they can be given by position as well.
    let mut session = db.session().unwrap();
    let prepared = session.prepare("UPDATE t SET name = :name WHERE id = :id").unwrap();
    assert_eq!(session.execute_prepared(&prepared, named! { id: 2, name: "two" }).unwrap(), 1);
    assert_eq!(session.execute_prepared(&prepared, ("zwei", 2)).unwrap(), 1);
    let name: Option<(String,)> = session.query_optional("SELECT name FROM t WHERE id = 2", ()).unwrap();
    assert_eq!(name, Some(("zwei".into(),)));
}

#[test]
fn names_that_do_not_fit_are_errors() {
    let db = database();
    let undefined = SqlState::UNDEFINED_PARAMETER;
    let missing = db.query("SELECT :a::int + :b::int", named! { a: 1 }).unwrap_err();
    assert_eq!((missing.sqlstate(), missing.message()), (undefined, "there is no value for parameter :b"));
    let left_over = db.query("SELECT :a::int", named! { a: 1, b: 2 }).unwrap_err();
    assert_eq!((left_over.sqlstate(), left_over.message()), (undefined, "the statement has no parameter :b"));
    assert_eq!(db.query("SELECT 1", named! { a: 1 }).unwrap_err().sqlstate(), undefined);
    assert_eq!(db.query("SELECT :a", named! { a: 1, a: 2 }).unwrap_err().sqlstate(), undefined);
    assert_eq!(db.query("SELECT :a, $1", named! { a: 1 }).unwrap_err().sqlstate(), SqlState::SYNTAX_ERROR);
    // Who gives them by position hears how.
    let by_position = db.query("SELECT :a", (1,)).unwrap_err();
    assert!(
        by_position.fields().hint.as_ref().is_some_and(|hint| hint.contains("named!")),
        "{by_position:?}"
    );
    // Errors stand where they are in the text that was written.
    let text = "SELECT :a_long_name::int, nothing FROM t";
    let wrong = db.query(text, named! { a_long_name: 1 }).unwrap_err();
    assert_eq!(wrong.fields().position.map(|at| at as usize), text.find("nothing"), "{wrong:?}");
}

#[test]
fn calls_give_them_to_the_parameters_of_that_name() {
    let db = database();
    let f = |params: &dyn Params| db.call("f", params).unwrap()[0].get::<i32>(0).unwrap();
    assert_eq!(f(&named! { a: 1 }), 20_100);
    assert_eq!(f(&named! { b: 2, a: 1 }), 12_100);
    // One in the middle is left out.
    assert_eq!(f(&named! { c: 3, a: 1 }), 20_003);
    assert_eq!(f(&named! { c: 3, b: 2, a: 1 }), 12_003);
    let g = |params: &dyn Params| db.call("g", params).unwrap()[0].get::<i64>(0).unwrap();
    assert_eq!(g(&named! { c: 3, a: 1 }), 113);
    assert_eq!(g(&named! { a: 1 }), 125);
    let unknown = db.call("f", named! { a: 1, d: 4 }).unwrap_err();
    assert_eq!(unknown.sqlstate(), SqlState::UNDEFINED_FUNCTION);
    assert!(unknown.message().contains("a, d"), "{unknown:?}");
    assert_eq!(db.call("f", named! { b: 1 }).unwrap_err().sqlstate(), SqlState::UNDEFINED_FUNCTION);
    // A routine that takes another's place takes its own order with it.
    let mut session = db.session().unwrap();
    let prepared = session.prepare_call_named("f", &["c", "a"]).unwrap();
    let submitted = session.submit(&prepared, (3, 1)).unwrap();
    assert_eq!(submitted.rows[0].get::<i32>(0).unwrap(), 20_003);
    db.execute_script(
        "DROP FUNCTION f; CREATE FUNCTION f(c int, a int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN c - a; END $$",
    )
    .unwrap();
    assert_eq!(session.submit(&prepared, named! { c: 3, a: 1 }).unwrap().rows[0].get::<i32>(0).unwrap(), 2);
    let other = session.submit(&prepared, named! { a: 1, c: 3 }).unwrap_err();
    assert_eq!(other.sqlstate(), SqlState::INVALID_PARAMETER_VALUE);
}

#[test]
fn there_can_be_any_number() {
    let db = database();
    let text = "SELECT $1::int + $2::int + $3::int + $4::int + $5::int + $6::int + $7::int + $8::int + $9::int
                + $10::int + $11::int + $12::int + $13::int + $14::int + $15::int + $16::int + $17::int + length($18)";
    let sum: (i32,) =
        db.query_one(text, params![1, 1i64, 1u8, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, "abc"]).unwrap();
    assert_eq!(sum, (20,));
    assert_eq!(db.query_one::<(i32,)>("SELECT 1", params![]).unwrap(), (1,));
}

#[test]
fn one_row_is_one_row() {
    let db = database();
    let none = db.query_one::<(i32,)>("SELECT id FROM t WHERE id > 9", ()).unwrap_err();
    assert_eq!(none.sqlstate(), SqlState::NO_DATA_FOUND);
    assert_eq!(
        db.query_one::<(i32,)>("SELECT id FROM t", ()).unwrap_err().sqlstate(),
        SqlState::TOO_MANY_ROWS
    );
    let shape = db.query_as::<(i32,)>("SELECT id, name FROM t", ()).unwrap_err();
    assert_eq!(shape.sqlstate(), SqlState::DATATYPE_MISMATCH);
}

#[cfg(feature = "derive")]
#[test]
fn structs_are_rows_and_parameters() {
    #[derive(Debug, PartialEq, FromRow, Params)]
    struct Thing<'a, T> {
        id: T,
        #[planaria(rename = "name")]
        called: Option<String>,
        tags: Vec<String>,
        #[planaria(skip)]
        _borrowed: Option<&'a str>,
    }
    #[derive(Debug, PartialEq, planaria::FromRow)]
    struct Short {
        r#type: i32,
        #[planaria(default)]
        more: i64,
    }
    let db = database();
    let thing = Thing { id: 3i64, called: None, tags: vec!["x".into()], _borrowed: None };
    db.execute("INSERT INTO t VALUES (:id, :name, :tags)", &thing).unwrap();
    // Whatever the order of the columns.
    let all: Vec<Thing<'_, i64>> =
        db.query_as("SELECT tags, name, id FROM t WHERE id >= 2 ORDER BY id", ()).unwrap();
    assert_eq!((all.len(), &all[1]), (2, &thing));
    let short = db.query_as::<Short>("SELECT 1 AS type", ()).unwrap();
    assert_eq!(short, [Short { r#type: 1, more: 0 }]);
    assert_eq!(db.query_one::<Short>("SELECT 1 AS type, 2 AS more", ()).unwrap().more, 2);
    let missing = db.query_as::<Short>("SELECT 1 AS other", ()).unwrap_err();
    assert_eq!(missing.sqlstate(), SqlState::UNDEFINED_COLUMN);
    let null = db.query_as::<Short>("SELECT NULL::int AS type", ()).unwrap_err();
    assert_eq!(null.sqlstate(), SqlState::NULL_VALUE_NOT_ALLOWED);
}
