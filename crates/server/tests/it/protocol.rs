//! The protocol, message by message, as PostgreSQL 15 answers.

use crate::common;

use common::{Client, Running, shown};
use std::io::Write;

fn accounts() -> Running {
    let running = Running::start();
    running
        .db
        .execute_script(
            "CREATE TABLE account (id int PRIMARY KEY, balance numeric(12,2) NOT NULL CHECK (balance >= 0));
             INSERT INTO account VALUES (1, 100), (2, 0);
             CREATE PROCEDURE transfer(p_from int, p_to int, p_amount numeric) LANGUAGE plpgsql AS $$
             BEGIN
                 UPDATE account SET balance = balance - p_amount WHERE id = p_from;
                 UPDATE account SET balance = balance + p_amount WHERE id = p_to;
             END $$;",
        )
        .expect("a schema");
    running
}

#[test]
fn a_client_is_told_who_it_speaks_with() {
    let running = Running::start();
    let mut client = Client::connect(running.address);
    client.packet(&80_877_103i32.to_be_bytes());
    let mut answer = [0];
    std::io::Read::read_exact(&mut client.socket, &mut answer).expect("an answer");
    assert_eq!(&answer, b"N");
    client.startup(&[("user", "postgres"), ("application_name", "shop"), ("TimeZone", "Europe/Zurich")]);
    let messages = client.until_ready();
    let parameters: Vec<String> =
        messages.iter().filter(|m| m.tag == 'S').map(|m| m.text().replace('\0', "=")).collect();
    for wanted in
        ["application_name=shop", "TimeZone=Europe/Zurich", "client_encoding=UTF8", "DateStyle=ISO, MDY"]
    {
        assert!(parameters.iter().any(|p| p == wanted), "{wanted}: {parameters:?}");
    }
    assert!(parameters.iter().any(|p| p.starts_with("server_version=15.")));
    assert_eq!(messages.iter().filter(|m| m.tag == 'K').count(), 1);
    assert_eq!(shown(&messages).last().map(String::as_str), Some("Z:I"));
}

#[test]
fn timestamps_are_shown_and_read_in_the_time_zone_of_the_client() {
    let running = Running::start();
    let mut client = Client::connect(running.address);
    client.startup(&[("user", "postgres"), ("TimeZone", "Asia/Tokyo")]);
    client.until_ready();
    assert_eq!(client.query("CREATE TABLE z (t timestamptz)"), ["C:CREATE TABLE", "Z:I"]);
    assert_eq!(client.query("INSERT INTO z VALUES ('2024-07-01 12:00')"), ["C:INSERT 0 1", "Z:I"]);
    let shown = ["T", "D:2024-07-01 12:00:00+09,{\"2024-07-01 12:00:00+09\"}", "C:SELECT 1", "Z:I"];
    assert_eq!(client.query("SELECT t, array[t] FROM z"), shown);
    assert_eq!(client.query("SET timezone = 'UTC'"), ["C:SET", "S", "Z:I"]);
    let shown = ["T", "D:2024-07-01 03:00:00+00", "C:SELECT 1", "Z:I"];
    assert_eq!(client.query("SELECT t FROM z"), shown);

    // So are its styles of dates and intervals, and it hears of them.
    let mut client = Client::connect(running.address);
    client.startup(&[("user", "postgres"), ("options", "-c datestyle=German -c intervalstyle=iso_8601")]);
    let parameters: Vec<String> =
        client.until_ready().iter().filter(|m| m.tag == 'S').map(|m| m.text().replace('\0', "=")).collect();
    for wanted in ["DateStyle=German, DMY", "IntervalStyle=iso_8601"] {
        assert!(parameters.iter().any(|p| p == wanted), "{wanted}: {parameters:?}");
    }
    let shown = ["T", "D:01.02.2024,P1D,{01.02.2024}", "C:SELECT 1", "Z:I"];
    assert_eq!(client.query("SELECT date '2024-02-01', interval '1 day', array['1.2.2024'::date]"), shown);
    assert_eq!(client.query("SET intervalstyle = sql_standard"), ["C:SET", "S", "Z:I"]);
    assert_eq!(client.query("RESET datestyle"), ["C:RESET", "Z:I"]);
    assert_eq!(client.query("SET datestyle = ISO"), ["C:SET", "S", "Z:I"]);
    let shown = ["T", "D:2024-02-01,-1 2:00:00", "C:SELECT 1", "Z:I"];
    assert_eq!(client.query("SELECT '1/2/2024'::date, interval '-1 2:00'"), shown);

    // A name that nobody knows is no reason to refuse a client.
    let mut client = Client::connect(running.address);
    client.startup(&[("user", "postgres"), ("TimeZone", "Nowhere")]);
    let messages = client.until_ready();
    assert!(messages.iter().any(|m| m.tag == 'N'), "times are in UTC");
    assert!(messages.iter().any(|m| m.tag == 'S' && m.text().replace('\0', "=") == "TimeZone=UTC"));
}

#[test]
fn who_cannot_be_let_in_hears_why() {
    let running = Running::start();
    let refused = |parameters: &[(&str, &str)]| {
        let mut client = Client::connect(running.address);
        client.startup(parameters);
        let messages = client.until_ready();
        assert_eq!(messages[0].field('S').as_deref(), Some("FATAL"));
        messages[0].field('C').expect("a code")
    };
    assert_eq!(refused(&[("database", "x")]), "28000");
    assert_eq!(refused(&[("user", "nobody")]), "28000");
    assert_eq!(refused(&[("user", "postgres"), ("client_encoding", "LATIN1")]), "22023");
    assert_eq!(refused(&[("user", "postgres"), ("nonsense", "1")]), "42704");
    assert_eq!(refused(&[("user", "postgres"), ("replication", "database")]), "0A000");
    let mut client = Client::connect(running.address);
    client.packet(&(2i32 << 16).to_be_bytes());
    assert_eq!(client.until_ready()[0].field('C').as_deref(), Some("0A000"));
}

#[test]
fn several_statements_of_a_query_are_one_transaction() {
    let running = accounts();
    let mut client = running.client();
    assert_eq!(client.query(""), ["I", "Z:I"]);
    assert_eq!(
        client.query("SELECT 1, NULL; SELECT 'x'"),
        ["T", "D:1,NULL", "C:SELECT 1", "T", "D:x", "C:SELECT 1", "Z:I"]
    );
    assert_eq!(
        client.query("INSERT INTO account VALUES (3, 1); INSERT INTO account VALUES (1, 1); SELECT 1"),
        ["C:INSERT 0 1", "E:23505", "Z:I"]
    );
    assert_eq!(client.query("SELECT count(*) FROM account"), ["T", "D:2", "C:SELECT 1", "Z:I"]);
    // Nothing of a text runs that cannot be parsed.
    assert_eq!(client.query("INSERT INTO account VALUES (3, 1); nonsense"), ["E:42601", "Z:I"]);
    assert_eq!(client.query("SELECT count(*) FROM account"), ["T", "D:2", "C:SELECT 1", "Z:I"]);
    assert_eq!(
        client.query("BEGIN; INSERT INTO account VALUES (3, 1); COMMIT; INSERT INTO account VALUES (3, 1)"),
        ["C:BEGIN", "C:INSERT 0 1", "C:COMMIT", "E:23505", "Z:I"]
    );
    assert_eq!(client.query("SELECT count(*) FROM account"), ["T", "D:3", "C:SELECT 1", "Z:I"]);
    assert_eq!(
        client.query("INSERT INTO account VALUES (4, 1); BEGIN; INSERT INTO account VALUES (5, 1)"),
        ["C:INSERT 0 1", "C:BEGIN", "C:INSERT 0 1", "Z:T"]
    );
    assert_eq!(client.query("SELECT 1/0"), ["E:22012", "Z:E"]);
    assert_eq!(client.query("SELECT 1"), ["E:25P02", "Z:E"]);
    assert_eq!(client.query("COMMIT"), ["C:ROLLBACK", "Z:I"]);
    assert_eq!(client.query("SELECT count(*) FROM account"), ["T", "D:3", "C:SELECT 1", "Z:I"]);
    assert_eq!(client.query("COMMIT"), ["N:25P01", "C:COMMIT", "Z:I"]);
    assert_eq!(client.query("SAVEPOINT a; SELECT 1"), ["E:25P01", "Z:I"]);
    // Changes of the schema are part of it.
    assert_eq!(
        client.query("INSERT INTO account VALUES (4, 1); CREATE TABLE other (n int); SELECT 1/0"),
        ["C:INSERT 0 1", "C:CREATE TABLE", "E:22012", "Z:I"]
    );
    assert_eq!(client.query("SELECT count(*) FROM account"), ["T", "D:3", "C:SELECT 1", "Z:I"]);
    assert_eq!(client.query("SELECT * FROM other"), ["E:42P01", "Z:I"]);
    assert_eq!(
        client.query("CREATE TABLE other (n int); INSERT INTO other VALUES (1); SELECT * FROM other"),
        ["C:CREATE TABLE", "C:INSERT 0 1", "T", "D:1", "C:SELECT 1", "Z:I"]
    );
}

#[test]
fn the_schema_changes_in_transaction_blocks() {
    let running = accounts();
    let (mut client, mut other) = (running.client(), running.client());
    assert_eq!(client.query("BEGIN"), ["C:BEGIN", "Z:T"]);
    assert_eq!(client.query("INSERT INTO account VALUES (3, 1)"), ["C:INSERT 0 1", "Z:T"]);
    assert_eq!(client.query("CREATE TABLE other (n int PRIMARY KEY)"), ["C:CREATE TABLE", "Z:T"]);
    assert_eq!(client.query("SAVEPOINT a"), ["C:SAVEPOINT", "Z:T"]);
    assert_eq!(client.query("INSERT INTO other VALUES (1), (1)"), ["E:23505", "Z:E"]);
    assert_eq!(client.query("ROLLBACK TO a"), ["C:ROLLBACK", "Z:T"]);
    assert_eq!(client.query("INSERT INTO other VALUES (1)"), ["C:INSERT 0 1", "Z:T"]);
    // Meanwhile others wait, with patience that can end; who looks at the catalogs does not.
    assert_eq!(other.query("SET lock_timeout = 20"), ["C:SET", "Z:I"]);
    assert_eq!(other.query("SELECT * FROM account"), ["E:55P03", "Z:I"]);
    assert_eq!(
        other.query("SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'"),
        ["T", "D:1", "C:SELECT 1", "Z:I"]
    );
    assert_eq!(client.query("COMMIT"), ["C:COMMIT", "Z:I"]);
    assert_eq!(other.query("SELECT * FROM other"), ["T", "D:1", "C:SELECT 1", "Z:I"]);
    assert_eq!(
        client.query("BEGIN; DROP TABLE other; DELETE FROM account"),
        ["C:BEGIN", "C:DROP TABLE", "C:DELETE 3", "Z:T"]
    );
    assert_eq!(client.query("ROLLBACK"), ["C:ROLLBACK", "Z:I"]);
    assert_eq!(other.query("SELECT count(*) FROM account, other"), ["T", "D:3", "C:SELECT 1", "Z:I"]);
    // A connection that ends in mid-block keeps nobody waiting.
    assert_eq!(client.query("BEGIN; DROP TABLE other"), ["C:BEGIN", "C:DROP TABLE", "Z:T"]);
    drop(client);
    assert_eq!(other.query("SET lock_timeout = 0"), ["C:SET", "Z:I"]);
    assert_eq!(other.query("SELECT * FROM other"), ["T", "D:1", "C:SELECT 1", "Z:I"]);
}

#[test]
fn errors_point_at_characters() {
    let running = accounts();
    let mut client = running.client();
    let messages = client.query_raw("SELECT 'äö', nix");
    assert_eq!(messages[0].field('P').as_deref(), Some("14"));
    let messages = client.query_raw("INSERT INTO account VALUES (1, 1)");
    let error = &messages[0];
    assert_eq!(error.field('P'), None, "what fails while it runs has no place");
    assert_eq!(error.field('n').as_deref(), Some("account_pkey"));
    assert_eq!(error.field('t').as_deref(), Some("account"));
    assert_eq!(error.field('s').as_deref(), Some("public"));
    client.parse("", "SELECT nix", &[]).sync().send();
    assert_eq!(client.until_ready()[0].field('P').as_deref(), Some("8"));
}

#[test]
fn errors_name_the_domain_and_have_no_place_at_commit() {
    let running = Running::start();
    let mut client = running.client();
    client.query("CREATE SCHEMA s; CREATE DOMAIN s.code AS text CONSTRAINT filled CHECK (value <> '')");
    client.query("CREATE TABLE p (id int PRIMARY KEY); CREATE TABLE c (p int REFERENCES p DEFERRABLE INITIALLY DEFERRED)");
    client.query("CREATE TABLE g (id int GENERATED ALWAYS AS IDENTITY)");
    let messages = client.query_raw("SELECT ''::s.code");
    let field = |code| messages[0].field(code);
    assert_eq!(field('C').as_deref(), Some("23514"));
    assert_eq!(
        (field('s'), field('d'), field('n')),
        (Some("s".into()), Some("code".into()), Some("filled".into()))
    );
    assert_eq!((field('t'), field('P')), (None, None));
    client.query("BEGIN");
    client.query("INSERT INTO c VALUES (1)");
    let messages = client.query_raw("COMMIT");
    assert_eq!(messages[0].field('C').as_deref(), Some("23503"));
    assert_eq!(messages[0].field('P'), None);
    let messages = client.query_raw("INSERT INTO g VALUES (1)");
    assert_eq!(messages[0].field('C').as_deref(), Some("428C9"));
    assert_eq!(messages[0].field('P'), None);
}

#[test]
fn statements_are_parsed_bound_and_executed() {
    let running = accounts();
    let mut client = running.client();
    client.parse("s", "SELECT balance FROM account WHERE id = $1", &[]).describe('S', "s").sync().send();
    let messages = client.until_ready();
    assert_eq!(shown(&messages), ["1", "t", "T", "Z:I"]);
    assert_eq!(messages[1].body, [0, 1, 0, 0, 0, 23], "one int4");
    client.bind("", "s", &[Some("1")]).execute("", 0).bind("", "s", &[None]).execute("", 0).sync();
    assert_eq!(client.ask(), ["2", "D:100.00", "C:SELECT 1", "2", "C:SELECT 0", "Z:I"]);
    client.bind("", "s", &[Some("x")]).execute("", 0).sync();
    assert_eq!(client.ask(), ["2", "E:22P02", "Z:I"]);
    client.bind("", "s", &[]).execute("", 0).sync();
    assert_eq!(client.ask(), ["E:08P01", "Z:I"]);
    client.parse("s", "SELECT 1", &[]).bind("", "s", &[]).sync();
    assert_eq!(client.ask(), ["E:42P05", "Z:I"], "what stands behind an error is passed over");
    client.close('S', "s").close('S', "s").bind("", "s", &[]).sync();
    assert_eq!(client.ask(), ["3", "3", "E:26000", "Z:I"]);
    client.parse("", "", &[]).bind("", "", &[]).describe('P', "").execute("", 0).sync();
    assert_eq!(client.ask(), ["1", "2", "n", "I", "Z:I"]);
    client.parse("", "SELECT 1; SELECT 2", &[]).sync();
    assert_eq!(client.ask(), ["E:42601", "Z:I"]);
}

#[test]
fn what_is_executed_before_a_sync_is_one_transaction() {
    let running = accounts();
    let mut client = running.client();
    client.parse("i", "INSERT INTO account VALUES ($1, $2)", &[]).sync();
    client.ask();
    client.bind("", "i", &[Some("5"), Some("1")]).execute("", 0);
    client.bind("", "i", &[Some("1"), Some("1")]).execute("", 0);
    client.bind("", "i", &[Some("6"), Some("1")]).execute("", 0).sync();
    assert_eq!(client.ask(), ["2", "C:INSERT 0 1", "2", "E:23505", "Z:I"]);
    assert_eq!(client.query("SELECT count(*) FROM account"), ["T", "D:2", "C:SELECT 1", "Z:I"]);
    // JDBC sends BEGIN before the first statement.
    client.parse("", "BEGIN", &[]).bind("", "", &[]).execute("", 0);
    client.bind("", "i", &[Some("5"), Some("1")]).execute("", 0).sync();
    assert_eq!(client.ask(), ["1", "2", "C:BEGIN", "2", "C:INSERT 0 1", "Z:T"]);
    assert_eq!(client.query("ROLLBACK"), ["C:ROLLBACK", "Z:I"]);
    assert_eq!(client.query("SELECT count(*) FROM account"), ["T", "D:2", "C:SELECT 1", "Z:I"]);
    // Flush wants the answer before Sync; the transaction stays open for it.
    client.bind("", "i", &[Some("5"), Some("1")]).execute("", 0).message('H', b"").send();
    assert_eq!(shown(&[client.next().expect("2"), client.next().expect("C")]), ["2", "C:INSERT 0 1"]);
    let mut other = running.client();
    assert_eq!(other.query("SELECT count(*) FROM account"), ["T", "D:2", "C:SELECT 1", "Z:I"]);
    client.sync();
    assert_eq!(client.ask(), ["Z:I"]);
    assert_eq!(other.query("SELECT count(*) FROM account"), ["T", "D:3", "C:SELECT 1", "Z:I"]);
}

#[test]
fn portals_hand_out_a_few_rows_at_a_time() {
    let running = Running::start();
    running
        .db
        .execute_script("CREATE TABLE t (n int PRIMARY KEY); INSERT INTO t SELECT generate_series(1, 5)")
        .expect("rows");
    let mut client = running.client();
    client.query("BEGIN");
    client.parse("", "SELECT n FROM t ORDER BY n", &[]).bind("c", "", &[]).execute("c", 2).sync();
    assert_eq!(client.ask(), ["1", "2", "D:1", "D:2", "s", "Z:T"]);
    client.execute("c", 2).sync();
    assert_eq!(client.ask(), ["D:3", "D:4", "s", "Z:T"]);
    client.execute("c", 2).execute("c", 2).close('P', "c").sync();
    assert_eq!(client.ask(), ["D:5", "C:SELECT 1", "C:SELECT 0", "3", "Z:T"]);
    client.bind("c", "", &[]).execute("c", 1).sync();
    client.ask();
    client.query("COMMIT");
    client.execute("c", 1).sync();
    assert_eq!(client.ask(), ["E:34000", "Z:I"], "a portal is gone with its transaction");
}

/// asyncpg prepares with Flush, and sends Sync only when it has heard of an error.
#[test]
fn an_error_does_not_wait_for_sync() {
    let running = Running::start();
    let mut client = running.client();
    client.parse("", "SELECT nix", &[]).describe('S', "").message('H', b"").send();
    assert_eq!(client.next().and_then(|m| m.field('C')).as_deref(), Some("42703"));
    client.sync();
    assert_eq!(client.ask(), ["Z:I"]);
}

/// What is kept of a text is for the types that were declared with it.
#[test]
fn a_text_means_something_else_with_other_types() {
    let running = Running::start();
    let mut client = running.client();
    client.parse("", "SELECT $1", &[701]).bind("", "", &[Some("1.5")]).execute("", 0).sync();
    assert_eq!(client.ask(), ["1", "2", "D:1.5", "C:SELECT 1", "Z:I"]);
    client.parse("", "SELECT $1", &[]).bind("", "", &[Some("x")]).execute("", 0).sync();
    assert_eq!(client.ask(), ["1", "2", "D:x", "C:SELECT 1", "Z:I"]);
}

/// A driver walks a portal of its own by MOVE and FETCH (asyncpg does).
#[test]
fn portals_are_cursors() {
    let running = Running::start();
    let mut client = running.client();
    client.query("BEGIN");
    client.parse("", "SELECT generate_series(1, 9)", &[]).bind("c", "", &[]).execute("c", 2).sync();
    assert_eq!(client.ask(), ["1", "2", "D:1", "D:2", "s", "Z:T"]);
    assert_eq!(client.query("MOVE FORWARD 2 c"), ["C:MOVE 2", "Z:T"]);
    assert_eq!(client.query("FETCH 2 FROM c"), ["T", "D:5", "D:6", "C:FETCH 2", "Z:T"]);
    client.execute("c", 0).sync();
    assert_eq!(client.ask(), ["D:7", "D:8", "D:9", "C:SELECT 3", "Z:T"]);
    assert_eq!(client.query("MOVE ALL FROM c"), ["C:MOVE 0", "Z:T"]);
}

/// What RowDescription says of columns that are columns of tables; JDBC changes rows through a result by it.
#[test]
fn columns_of_tables_say_whose_they_are() {
    let running = Running::start();
    let mut client = running.client();
    client.query("CREATE TABLE a (id int PRIMARY KEY, name text); CREATE TABLE b (id int, a_id int)");
    let oid = |client: &mut common::Client, name: &str| -> u32 {
        client.query(&format!("SELECT '{name}'::regclass::oid"))[1][2..].parse().expect("an oid")
    };
    let (a, b) = (oid(&mut client, "a"), oid(&mut client, "b"));
    let mut origins = |sql: &str| -> Vec<(u32, i16)> {
        let body = client.query_raw(sql).into_iter().find(|m| m.tag == 'T').expect("columns").body;
        let mut at = 2;
        let mut found = Vec::new();
        while at < body.len() {
            at += body[at..].iter().position(|b| *b == 0).expect("a name") + 1;
            let table = u32::from_be_bytes(body[at..at + 4].try_into().expect("four bytes"));
            found.push((table, i16::from_be_bytes([body[at + 4], body[at + 5]])));
            at += 18;
        }
        found
    };
    assert_eq!(origins("SELECT name, id + 1, id AS x FROM a"), [(a, 2), (0, 0), (a, 1)]);
    assert_eq!(origins("SELECT * FROM a JOIN b ON a.id = a_id"), [(a, 1), (a, 2), (b, 1), (b, 2)]);
    assert_eq!(origins("SELECT u.id, a_id, b.* FROM a AS u, b"), [(a, 1), (b, 2), (b, 1), (b, 2)]);
    assert_eq!(origins("WITH a AS (SELECT 1 AS id) SELECT id FROM a"), [(0, 0)]);
    assert_eq!(origins("SELECT id FROM a UNION SELECT id FROM b"), [(0, 0)]);
    assert_eq!(origins("SELECT * FROM a JOIN b USING (id)"), [(0, 0); 3]);
    assert_eq!(
        origins("INSERT INTO a VALUES (7) RETURNING *, id + 1, a.name"),
        [(a, 1), (a, 2), (0, 0), (a, 2)]
    );
    assert_eq!(
        origins("UPDATE b u SET id = u.id FROM a WHERE a.id = 7 RETURNING *"),
        [(b, 1), (b, 2), (a, 1), (a, 2)]
    );
    assert_eq!(origins("DELETE FROM a AS gone WHERE id = 7 RETURNING gone.name"), [(a, 2)]);
}

/// psycopg's named cursors: DECLARE with parameters, then the cursor as a portal. Answers as PostgreSQL 15's.
#[test]
fn cursors_of_declare_are_portals() {
    let running = Running::start();
    running
        .db
        .execute_script("CREATE TABLE t (n int PRIMARY KEY); INSERT INTO t SELECT generate_series(1, 9)")
        .expect("rows");
    let mut client = running.client();
    client.query("BEGIN");
    client
        .parse("", "DECLARE c CURSOR FOR SELECT n AS m FROM t WHERE n > $1 ORDER BY n", &[])
        .describe('S', "")
        .bind("", "", &[Some("5")])
        .execute("", 0)
        .describe('P', "c")
        .sync()
        .send();
    let messages = client.until_ready();
    assert_eq!(shown(&messages), ["1", "t", "n", "2", "C:DECLARE CURSOR", "T", "Z:T"]);
    assert_eq!(messages[1].body, [0, 1, 0, 0, 0, 23]);
    assert_eq!(&messages[5].body[..4], b"\0\x01m\0");
    client.execute("c", 2).sync();
    assert_eq!(client.ask(), ["D:6", "D:7", "s", "Z:T"]);
    assert_eq!(client.query("FETCH 1 FROM c"), ["T", "D:8", "C:FETCH 1", "Z:T"]);
    client.execute("c", 0).sync();
    assert_eq!(client.ask(), ["D:9", "C:SELECT 1", "Z:T"]);
    client.close('P', "c").describe('P', "c").sync();
    assert_eq!(client.ask(), ["3", "E:34000", "Z:E"]);
    client.query("ROLLBACK");
}

#[test]
fn calls_of_procedures_take_their_types_from_the_signature() {
    let running = accounts();
    let mut client = running.client();
    client.parse("c", "CALL transfer($1, $2, $3)", &[]).describe('S', "c").sync().send();
    let messages = client.until_ready();
    assert_eq!(shown(&messages), ["1", "t", "n", "Z:I"]);
    assert_eq!(messages[1].body, [0, 3, 0, 0, 0, 23, 0, 0, 0, 23, 0, 0, 6, 164]);
    client.bind("", "c", &[Some("1"), Some("2"), Some("40.00")]).execute("", 0).sync();
    assert_eq!(client.ask(), ["2", "C:CALL", "Z:I"]);
    client.bind("", "c", &[Some("1"), Some("2"), Some("400")]).execute("", 0).sync();
    assert_eq!(client.ask(), ["2", "E:23514", "Z:I"]);
    assert_eq!(
        client.query("SELECT balance FROM account ORDER BY id"),
        ["T", "D:60.00", "D:40.00", "C:SELECT 2", "Z:I"]
    );
}

/// JDBC's `{? = call f(?)}`.
#[test]
fn a_parameter_of_type_void_is_dropped() {
    let running = Running::start();
    let mut client = running.client();
    client.query("CREATE FUNCTION double(n int) RETURNS int LANGUAGE sql AS 'SELECT n * 2'");
    client.parse("", "select * from double($1, $2) as result", &[2278, 23]);
    client.bind("", "", &[None, Some("21")]).describe('P', "").execute("", 0).sync();
    assert_eq!(client.ask(), ["1", "2", "T", "D:42", "C:SELECT 1", "Z:I"]);
}

#[test]
fn cursors_are_declared_fetched_and_closed() {
    let running = Running::start();
    let mut client = running.client();
    assert_eq!(client.query("DECLARE c CURSOR FOR SELECT 1"), ["E:25P01", "Z:I"]);
    client.query("BEGIN");
    assert_eq!(
        client.query("DECLARE c SCROLL CURSOR FOR SELECT n FROM generate_series(1, 5) n"),
        ["C:DECLARE CURSOR", "Z:T"]
    );
    assert_eq!(client.query("FETCH 2 FROM c"), ["T", "D:1", "D:2", "C:FETCH 2", "Z:T"]);
    assert_eq!(client.query("FETCH c"), ["T", "D:3", "C:FETCH 1", "Z:T"]);
    assert_eq!(client.query("FETCH PRIOR IN c"), ["T", "D:2", "C:FETCH 1", "Z:T"]);
    assert_eq!(client.query("MOVE FORWARD ALL c"), ["C:MOVE 3", "Z:T"]);
    client.parse("", "FETCH LAST c", &[]).describe('S', "").bind("", "", &[]).execute("", 0).sync();
    assert_eq!(client.ask(), ["1", "t", "T", "2", "D:5", "C:FETCH 1", "Z:T"]);
    client.query("DECLARE kept CURSOR WITH HOLD FOR VALUES (7), (8)");
    client.query("COMMIT");
    assert_eq!(client.query("FETCH c"), ["E:34000", "Z:I"]);
    assert_eq!(running.client().query("FETCH kept"), ["E:34000", "Z:I"]);
    assert_eq!(client.query("FETCH ALL kept"), ["T", "D:7", "D:8", "C:FETCH 2", "Z:I"]);
    assert_eq!(client.query("CLOSE kept"), ["C:CLOSE CURSOR", "Z:I"]);
    assert_eq!(client.query("CLOSE kept"), ["E:34000", "Z:I"]);
}

#[test]
fn settings_and_names_belong_to_a_connection() {
    let running = accounts();
    let (mut one, mut two) = (running.client(), running.client());
    assert_eq!(one.query("SET application_name = 'one'"), ["C:SET", "S", "Z:I"]);
    assert_eq!(two.query("SHOW application_name"), ["T", "D:", "C:SHOW", "Z:I"]);
    assert_eq!(one.query("SHOW application_name"), ["T", "D:one", "C:SHOW", "Z:I"]);
    one.query("PREPARE p AS SELECT $1::int + 1");
    assert_eq!(one.query("EXECUTE p(4)"), ["T", "D:5", "C:SELECT 1", "Z:I"]);
    assert_eq!(two.query("EXECUTE p(4)"), ["E:26000", "Z:I"]);
    one.bind("", "p", &[Some("7")]).execute("", 0).sync();
    assert_eq!(one.ask(), ["2", "D:8", "C:SELECT 1", "Z:I"], "PREPARE and Parse share their names");
    one.parse("q", "SELECT 1", &[]).sync();
    one.ask();
    assert_eq!(one.query("DEALLOCATE q"), ["C:DEALLOCATE", "Z:I"]);
    one.bind("", "q", &[]).sync();
    assert_eq!(one.ask(), ["E:26000", "Z:I"]);
    assert_eq!(one.query("DISCARD ALL"), ["C:DISCARD ALL", "S", "Z:I"]);
    assert_eq!(one.query("EXECUTE p(4)"), ["E:26000", "Z:I"]);
}

#[test]
fn copy_brings_rows_in_and_out() {
    let running = Running::start();
    let mut client = running.client();
    client.query("CREATE TABLE t (a int, b text)");
    client.message('Q', b"COPY t FROM STDIN; SELECT count(*) FROM t\0").send();
    assert_eq!(client.next().expect("an answer").tag, 'G');
    client
        .message('d', b"1\tone\n2\t\\N\n")
        .message('d', b"3\ttwo\\nlines")
        .message('d', b"\n")
        .message('c', b"");
    assert_eq!(client.ask(), ["C:COPY 3", "T", "D:3", "C:SELECT 1", "Z:I"]);
    client.message('Q', b"COPY t FROM STDIN\0").message('d', b"4\tx\nfour\ty\n").message('c', b"").send();
    let messages = client.until_ready();
    assert_eq!(shown(&messages), ["G", "E:22P02", "Z:I"]);
    assert!(messages[1].field('W').expect("a place").contains("COPY t, line 2"));
    client.message('Q', b"COPY t FROM STDIN\0").message('d', b"4\n").message('c', b"");
    assert_eq!(client.ask(), ["G", "E:22P04", "Z:I"]);
    client.message('Q', b"COPY t FROM STDIN\0").message('f', b"no more\0");
    assert_eq!(client.ask(), ["G", "E:57014", "Z:I"]);
    let messages = client.query_raw("COPY t TO STDOUT");
    assert_eq!(shown(&messages), ["H", "d", "d", "d", "c", "C:COPY 3", "Z:I"]);
    assert_eq!(messages[3].body, b"3\ttwo\\nlines\n");
    let messages = client.query_raw("COPY (SELECT b, a FROM t ORDER BY a) TO STDOUT (FORMAT csv, HEADER)");
    let lines: Vec<String> = messages.iter().filter(|m| m.tag == 'd').map(common::Message::text).collect();
    assert_eq!(lines, ["b,a\n", "one,1\n", ",2\n", "\"two\nlines\",3\n"]);
    // In extended query too, and in binary form.
    let messages = client.query_raw("COPY t TO STDOUT (FORMAT binary)");
    let data: Vec<u8> = messages.iter().filter(|m| m.tag == 'd').flat_map(|m| m.body.clone()).collect();
    client
        .parse("", "COPY t FROM STDIN (FORMAT binary)", &[])
        .bind("", "", &[])
        .execute("", 0)
        .message('H', b"")
        .send();
    client.until('G');
    for part in data.chunks(7) {
        client.message('d', part);
    }
    client.message('c', b"").sync();
    assert_eq!(client.ask(), ["C:COPY 3", "Z:I"]);
    assert_eq!(
        client.query("SELECT count(*), count(b), sum(a) FROM t"),
        ["T", "D:6,4,12", "C:SELECT 1", "Z:I"]
    );
}

/// As pgbench -i does.
#[test]
fn truncate_in_a_transaction_can_be_undone() {
    let running = accounts();
    let mut client = running.client();
    client.query("CREATE TABLE entry (id int PRIMARY KEY, account int REFERENCES account)");
    client.query("INSERT INTO entry VALUES (1, 1)");
    assert_eq!(client.query("BEGIN; TRUNCATE account"), ["C:BEGIN", "E:0A000", "Z:E"]);
    client.query("ROLLBACK");
    let count = "SELECT (SELECT count(*) FROM account), (SELECT count(*) FROM entry)";
    assert_eq!(client.query("BEGIN; TRUNCATE account, entry"), ["C:BEGIN", "C:TRUNCATE TABLE", "Z:T"]);
    assert_eq!(client.query(count)[1], "D:0,0");
    assert_eq!(client.query("ROLLBACK"), ["C:ROLLBACK", "Z:I"]);
    assert_eq!(client.query(count)[1], "D:2,1");
    assert_eq!(
        client.query("BEGIN; TRUNCATE account CASCADE; COMMIT"),
        ["C:BEGIN", "N:00000", "C:TRUNCATE TABLE", "C:COMMIT", "Z:I"]
    );
    assert_eq!(client.query(count)[1], "D:0,0");
}

#[test]
fn a_statement_is_cancelled_with_its_key() {
    let running = Running::start();
    let mut client = Client::connect(running.address);
    client.startup(&[("user", "postgres")]);
    let key = client.until_ready().into_iter().find(|m| m.tag == 'K').expect("a key").body;
    client.message('Q', b"DO $$ DECLARE n bigint := 0; BEGIN LOOP n := n + 1; END LOOP; END $$\0").send();
    running.until_active("DO", 1);
    let cancel = |key: &[u8]| {
        let mut other = Client::connect(running.address);
        let mut body = 80_877_102i32.to_be_bytes().to_vec();
        body.extend_from_slice(key);
        other.packet(&body);
        assert_eq!(other.next(), None);
    };
    let mut wrong = key.clone();
    wrong[7] ^= 1;
    cancel(&wrong);
    // Others are served meanwhile.
    assert_eq!(running.client().query("SELECT 1"), ["T", "D:1", "C:SELECT 1", "Z:I"]);
    cancel(&key);
    assert_eq!(shown(&client.until_ready()), ["E:57014", "Z:I"]);
    assert_eq!(client.query("SELECT 1"), ["T", "D:1", "C:SELECT 1", "Z:I"]);
}

#[test]
fn stopping_waits_for_open_transactions() {
    let running = accounts();
    let (mut idle, mut busy) = (running.client(), running.client());
    busy.query("BEGIN; INSERT INTO account VALUES (9, 9)");
    running.stop();
    assert_eq!(idle.next().expect("a word").field('C').as_deref(), Some("57P01"));
    assert_eq!(idle.next(), None);
    assert_eq!(busy.query("COMMIT"), ["C:COMMIT", "Z:I"]);
    assert_eq!(busy.next().expect("a word").field('C').as_deref(), Some("57P01"));
    let db = running.db.clone();
    drop(running);
    assert_eq!(db.query("SELECT 1 FROM account WHERE id = 9", ()).expect("a query").len(), 1);
}

#[test]
fn stopping_does_not_wait_for_ever() {
    let running = Running::start();
    let mut endless = running.client();
    endless.message('Q', b"DO $$ BEGIN LOOP NULL; END LOOP; END $$\0").send();
    let mut open = running.client();
    open.query("BEGIN");
    let begin = std::time::Instant::now();
    drop(running);
    assert!(begin.elapsed() < std::time::Duration::from_secs(6), "two seconds to drain, and a moment");
    assert_eq!(endless.next().expect("a word").field('C').as_deref(), Some("57014"));
    assert_eq!(open.next().expect("a word").field('C').as_deref(), Some("57P01"));
}

#[test]
fn garbage_ends_the_connection_and_nothing_else() {
    let running = Running::start();
    let mut fine = running.client();
    let mut client = Client::connect(running.address);
    client.socket.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("writes");
    assert_eq!(client.next(), None);
    let mut client = running.client();
    client.socket.write_all(&[b'Q', 0x7f, 0xff, 0xff, 0xff]).expect("writes");
    assert_eq!(client.next().expect("a word").field('C').as_deref(), Some("08P01"));
    assert_eq!(client.next(), None);
    let mut client = running.client();
    client.message('y', b"?").send();
    assert_eq!(client.next().expect("a word").field('C').as_deref(), Some("08P01"));
    let mut client = running.client();
    client.message('Q', b"SELECT '\xff'\0").send();
    assert_eq!(shown(&client.until_ready()), ["E:22021", "Z:I"]);
    client.message('B', b"\0\0\0").sync();
    assert_eq!(client.ask(), ["E:26000", "Z:I"]);
    assert_eq!(fine.query("SELECT 1"), ["T", "D:1", "C:SELECT 1", "Z:I"]);
}

/// As PostgreSQL 15 points.
#[test]
fn errors_point_at_what_is_wrong() {
    let running = Running::start();
    let mut client = running.client();
    for (sql, code, position) in [
        ("VALUES (1), (2, 3)", "42601", "14"),
        ("SELECT 1 UNION SELECT 1, 2", "42601", "23"),
        ("SELECT '2026-13-01'::date", "22008", "8"),
        ("SELECT 1 WHERE timestamp 'nix' IS NULL", "22007", "26"),
    ] {
        let messages = client.query_raw(sql);
        let field = |code| messages[0].field(code).unwrap_or_default();
        assert_eq!((field('C'), field('P')), (code.into(), position.into()), "{sql}");
    }
    assert_eq!(client.query("SELECT 1e300::float8")[1], "D:1e+300");
}

#[test]
fn copy_has_transition_tables_of_all_its_rows() {
    let running = Running::start();
    let mut client = running.client();
    for sql in [
        "CREATE TABLE c (id int PRIMARY KEY, v text, at timestamp(3), tags text[], i interval)",
        "CREATE TABLE seen (n serial, what text)",
        "CREATE FUNCTION mark() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             IF NEW.v = 'skip' THEN RETURN NULL; END IF; NEW.v := NEW.v || '!'; RETURN NEW; END $$",
        "CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             INSERT INTO seen (what) SELECT tg_level || ' ' || (rows_now.*)::text FROM rows_now ORDER BY id; RETURN NULL; END $$",
        "CREATE TRIGGER a BEFORE INSERT ON c FOR EACH ROW EXECUTE FUNCTION mark()",
        "CREATE TRIGGER b AFTER INSERT ON c REFERENCING NEW TABLE AS rows_now EXECUTE FUNCTION tell()",
    ] {
        assert!(client.query(sql).iter().all(|answer| !answer.starts_with("E:")), "{sql}");
    }
    let copy = |client: &mut Client, lines: &[u8]| {
        client.message(
            'Q',
            b"COPY c FROM STDIN; SELECT what FROM seen ORDER BY n; DELETE FROM seen; DELETE FROM c\0",
        );
        client.message('d', lines).message('c', b"");
        let answers = client.ask().into_iter().filter(|a| a.starts_with("D:"));
        answers.collect::<Vec<String>>()
    };
    let lines =
        b"1\tone\t2026-01-02 03:04:05.6789\t{a,NULL}\t1 day\n2\tskip\t\\N\t\\N\t\\N\n3\t\\N\t\\N\t{}\t\\N\n";
    let (one, three) = ("(1,one!,\"2026-01-02 03:04:05.679\",\"{a,NULL}\",\"1 day\")", "(3,,,{},)");
    assert_eq!(copy(&mut client, lines), [format!("D:STATEMENT {one}"), format!("D:STATEMENT {three}")]);
    assert_eq!(copy(&mut client, b""), Vec::<String>::new());
    let sql = "CREATE TRIGGER c AFTER INSERT ON c REFERENCING NEW TABLE AS rows_now FOR EACH ROW WHEN (new.id > 1) EXECUTE FUNCTION tell()";
    assert!(client.query(sql).iter().all(|answer| !answer.starts_with("E:")), "{sql}");
    let all = ["ROW", "STATEMENT"].map(|level| [format!("D:{level} {one}"), format!("D:{level} {three}")]);
    assert_eq!(copy(&mut client, lines), all.concat());
}

#[test]
fn copy_fires_triggers_around_its_rows() {
    let running = Running::start();
    let mut client = running.client();
    for sql in [
        "CREATE TABLE c (id int PRIMARY KEY, v text, n int DEFAULT 0)",
        "CREATE FUNCTION mark() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             IF NEW.v = 'skip' THEN RETURN NULL; END IF; NEW.n := NEW.n + 1; RETURN NEW; END $$",
        "CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             RAISE NOTICE '% % % of %', TG_WHEN, TG_LEVEL, NEW.id, (SELECT count(*) FROM c); RETURN NULL; END $$",
        "CREATE TRIGGER a BEFORE INSERT ON c FOR EACH ROW EXECUTE FUNCTION mark()",
        "CREATE TRIGGER b BEFORE INSERT ON c EXECUTE FUNCTION tell()",
        "CREATE TRIGGER c AFTER INSERT ON c FOR EACH ROW WHEN (new.n > 0) EXECUTE FUNCTION tell()",
        "CREATE TRIGGER d AFTER INSERT ON c EXECUTE FUNCTION tell()",
    ] {
        assert!(client.query(sql).iter().all(|answer| !answer.starts_with("E:")), "{sql}");
    }
    client
        .message('Q', b"COPY c (id, v) FROM STDIN; SELECT id, n FROM c\0")
        .message('d', b"1\tone\n2\tskip\n")
        .message('d', b"3\tthree\n")
        .message('c', b"");
    let answers: Vec<String> = client.ask().into_iter().filter(|a| !a.starts_with('G')).collect();
    let said: Vec<&str> = answers.iter().map(String::as_str).filter(|a| !a.starts_with('N')).collect();
    assert_eq!(said, ["C:COPY 2", "T", "D:1,1", "D:3,1", "C:SELECT 2", "Z:I"]);
    let notices: Vec<&str> = answers.iter().map(String::as_str).filter(|a| a.starts_with('N')).collect();
    assert_eq!(notices.len(), 4, "{notices:?}");
}

/// Triggers of a single partition, where the rows of a COPY are its: by the partitioned table's name, and by its own.
#[test]
fn copy_fires_triggers_of_single_partitions() {
    let running = Running::start();
    let mut client = running.client();
    for sql in [
        "CREATE TABLE c (id int, v text) PARTITION BY LIST (id)",
        "CREATE TABLE c1 PARTITION OF c FOR VALUES IN (1)",
        "CREATE TABLE c2 (v text, id int)",
        "ALTER TABLE c ATTACH PARTITION c2 FOR VALUES IN (2, 3)",
        "CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             RAISE NOTICE '% % % % % of %', TG_WHEN, TG_LEVEL, TG_TABLE_NAME, NEW.id, NEW.v, (SELECT count(*) FROM c);
             RETURN NEW; END $$",
        "CREATE TRIGGER a BEFORE INSERT ON c2 FOR EACH ROW EXECUTE FUNCTION tell()",
        "CREATE TRIGGER b AFTER INSERT ON c2 FOR EACH ROW EXECUTE FUNCTION tell()",
        "CREATE TRIGGER c AFTER INSERT ON c2 EXECUTE FUNCTION tell()",
        "CREATE TRIGGER d AFTER INSERT ON c FOR EACH ROW EXECUTE FUNCTION tell()",
    ] {
        assert!(client.query(sql).iter().all(|answer| !answer.starts_with("E:")), "{sql}");
    }
    let mut copied = |what: &str, lines: &[u8]| -> Vec<String> {
        client.message('Q', format!("COPY {what} FROM STDIN\0").as_bytes());
        client.message('d', lines).message('c', b"");
        client.ask().into_iter().filter(|a| a.starts_with('N') || a.starts_with('C')).collect()
    };
    // One before row 2; behind all rows that of row 1, and two of row 2.
    let all = copied("c", b"1\tone\n2\ttwo\n");
    assert_eq!(all.len(), 5, "{all:?}");
    // One before the row, two behind it, one of the statement.
    let all = copied("c2", b"three\t3\n");
    assert_eq!(all.len(), 5, "{all:?}");
    let all = copied("c1", b"1\tuno\n");
    assert_eq!(all.len(), 2, "{all:?}");
}
