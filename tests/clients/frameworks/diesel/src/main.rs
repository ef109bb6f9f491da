// Diesel as an application has it: migrations, queries, types, transactions, COPY, notifications, errors. Prints what it saw.
mod model;
mod queries;
mod schema;

use bigdecimal::BigDecimal;
use chrono::{DateTime, Duration, NaiveDate, NaiveDateTime, NaiveTime, Utc};
use diesel::connection::{DefaultLoadingMode, SimpleConnection};
use diesel::pg::data_types::{PgInterval, PgMoney};
use diesel::pg::{CopyFormat, CopyHeader};
use diesel::pg::{Pg, PgConnection, PgRowByRowLoadingMode};
use diesel::prelude::*;
use diesel::r2d2::{ConnectionManager, Pool};
use diesel::result::Error;
use diesel::sql_types::*;
use diesel::{copy_from, copy_to, sql_query};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};
use model::*;
use schema::{posts, tags, users};
use std::fmt::Debug;
use std::io::Read;
use std::ops::Bound;

pub fn told(e: &Error) -> String {
    let Error::DatabaseError(kind, d) = e else { return format!("failed: {e}") };
    let fields = [d.details(), d.hint(), d.table_name(), d.column_name(), d.constraint_name()];
    let fields = fields.map(|f| f.unwrap_or("")).join("|");
    format!("{kind:?} {} {fields} {:?}", d.message(), d.statement_position())
}

pub fn show<T: Debug>(name: &str, result: QueryResult<T>) {
    match result {
        Ok(v) => println!("{name}: {v:?}"),
        Err(e) => println!("{name}: {}", told(&e)),
    }
}

const MIGRATIONS: EmbeddedMigrations = embed_migrations!();

fn names<T: ToString>(name: &str, result: Result<Vec<T>, Box<dyn std::error::Error + Send + Sync>>) {
    match result {
        Ok(v) => println!("{name}: {:?}", v.iter().map(|v| v.to_string()).collect::<Vec<_>>()),
        Err(e) => println!("{name}: failed: {e}"),
    }
}

fn migrations(c: &mut PgConnection) -> QueryResult<()> {
    names(
        "pending",
        c.pending_migrations(MIGRATIONS).map(|v| v.iter().map(|m| m.name().to_string()).collect()),
    );
    names("run", c.run_pending_migrations(MIGRATIONS));
    names("run again", c.run_pending_migrations(MIGRATIONS));
    names("applied", c.applied_migrations());
    names("revert last", c.revert_last_migration(MIGRATIONS).map(|v| vec![v]));
    println!("pending: {:?}", c.has_pending_migration(MIGRATIONS).ok());
    names("revert all", c.revert_all_migrations(MIGRATIONS));
    names("run", c.run_pending_migrations(MIGRATIONS));
    // From a directory, with one that fails and one whose name is wrong.
    let dir = std::env::temp_dir().join(format!("diesel-{}", std::process::id()));
    let bad = dir.join("2024-02-01-000001_bad");
    std::fs::create_dir_all(&bad).expect("a directory");
    std::fs::write(bad.join("up.sql"), "CREATE TABLE half (id int); SELECT nowhere FROM half;")
        .expect("a file");
    std::fs::write(bad.join("down.sql"), "DROP TABLE half;").expect("a file");
    let some = diesel_migrations::FileBasedMigrations::from_path(&dir).expect("migrations");
    names("bad", c.run_pending_migrations(some.clone()));
    show(
        "nothing is left",
        diesel::select(diesel::dsl::sql::<Bool>("to_regclass('half') is null")).get_result::<bool>(c),
    );
    std::fs::write(bad.join("up.sql"), "CREATE TABLE half (id int);").expect("a file");
    names("mended", c.run_pending_migrations(some.clone()));
    names("reverted", c.revert_last_migration(some).map(|v| vec![v]));
    std::fs::remove_dir_all(&dir).expect("a directory");
    names("revert what is not there", c.revert_migration(&NoMigration).map(|v| vec![v]));
    Ok(())
}

struct NoMigration;

impl diesel::migration::Migration<Pg> for NoMigration {
    fn run(&self, _: &mut dyn diesel::connection::BoxableConnection<Pg>) -> diesel::migration::Result<()> {
        Ok(())
    }
    fn revert(&self, c: &mut dyn diesel::connection::BoxableConnection<Pg>) -> diesel::migration::Result<()> {
        Ok(c.batch_execute("DROP TABLE nowhere")?)
    }
    fn metadata(&self) -> &dyn diesel::migration::MigrationMetadata {
        &InTransaction
    }
    fn name(&self) -> &dyn diesel::migration::MigrationName {
        &InTransaction
    }
}

struct InTransaction;

impl diesel::migration::MigrationMetadata for InTransaction {
    fn run_in_transaction(&self) -> bool {
        true
    }
}

impl diesel::migration::MigrationName for InTransaction {
    fn version(&self) -> diesel::migration::MigrationVersion<'_> {
        "0".to_string().into()
    }
}

impl std::fmt::Display for InTransaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("none")
    }
}

macro_rules! both {
    ($c:expr, $($sql:ident: $ty:ty = $value:expr),* $(,)?) => {
        $({
            let value: $ty = $value;
            let back = diesel::select(value.clone().into_sql::<$sql>()).get_result::<$ty>($c);
            match back {
                Ok(back) => println!("{}: {back:?} {}", stringify!($sql), back == value),
                Err(e) => println!("{}: {}", stringify!($sql), told(&e)),
            }
            let none = diesel::select(None::<$ty>.into_sql::<Nullable<$sql>>()).get_result::<Option<$ty>>($c);
            if !matches!(none, Ok(None)) {
                println!("{}: null is {none:?}", stringify!($sql));
            }
        })*
    };
}

type Ints = Array<Nullable<Integer>>;
type Texts = Array<Text>;
type Moods = Array<schema::sql_types::Mood>;
type Numbers = Array<Numeric>;
type Many = Multirange<Integer>;

fn types(c: &mut PgConnection) -> QueryResult<()> {
    use schema::sql_types::{Mood as MoodSql, Place as PlaceSql};
    let day = NaiveDate::from_ymd_opt(2024, 2, 29).unwrap();
    let time = NaiveTime::from_hms_micro_opt(12, 34, 56, 789_012).unwrap();
    let at = NaiveDateTime::new(day, time);
    both!(c,
        Bool: bool = true, SmallInt: i16 = i16::MIN, Integer: i32 = i32::MAX, BigInt: i64 = i64::MIN, Oid: u32 = 4_000_000_000,
        Float: f32 = 1.1, Double: f64 = f64::INFINITY, Numeric: BigDecimal = "-12345678901234567890.0123456789".parse().unwrap(),
        Numeric: BigDecimal = "100000".parse().unwrap(), Numeric: BigDecimal = "0.00001".parse().unwrap(), Money: PgMoney = PgMoney(-123_456), CChar: u8 = b'c',
        Text: String = "x 'ü' \u{1f600}".to_string(), Binary: Vec<u8> = vec![0, 255, 39],
        Date: NaiveDate = day, Date: NaiveDate = NaiveDate::from_ymd_opt(-44, 3, 15).unwrap(), Time: NaiveTime = time, Timestamp: NaiveDateTime = at, Timestamptz: DateTime<Utc> = at.and_utc(),
        Interval: PgInterval = PgInterval::new(4_005_006_007, -3, 14), Interval: Duration = Duration::milliseconds(90_061_001),
        Uuid: uuid::Uuid = uuid::Uuid::from_u128(0x1234_5678_9abc_def0_1234_5678_9abc_def0),
        Json: serde_json::Value = serde_json::json!({"b": 1, "a": [null]}), Jsonb: serde_json::Value = serde_json::json!({"b": 1.50, "a": "é"}),
        Inet: ipnet::IpNet = "10.1.2.3/8".parse().unwrap(), Cidr: ipnet::IpNet = "2001:db8::/32".parse().unwrap(), MacAddr: [u8; 6] = [8, 0, 43, 1, 2, 3],
        Ints: Vec<Option<i32>> = vec![Some(1), None], Texts: Vec<String> = vec!["a,b".into(), "null".into(), String::new()], Numbers: Vec<BigDecimal> = vec![1.into()],
        Int4range: (Bound<i32>, Bound<i32>) = (Bound::Included(1), Bound::Excluded(5)), Int8range: (Bound<i64>, Bound<i64>) = (Bound::Unbounded, Bound::Excluded(5)),
        Numrange: (Bound<BigDecimal>, Bound<BigDecimal>) = (Bound::Excluded(1.into()), Bound::Included(2.into())), Daterange: (Bound<NaiveDate>, Bound<NaiveDate>) = (Bound::Included(day), Bound::Unbounded),
        Tsrange: (Bound<NaiveDateTime>, Bound<NaiveDateTime>) = (Bound::Included(at), Bound::Unbounded), Tstzrange: (Bound<DateTime<Utc>>, Bound<DateTime<Utc>>) = (Bound::Included(at.and_utc()), Bound::Included(at.and_utc())),
        Many: Vec<(Bound<i32>, Bound<i32>)> = vec![(Bound::Included(1), Bound::Excluded(2))],
        MoodSql: Mood = Mood::Glad, Moods: Vec<Mood> = vec![Mood::Glad, Mood::Sad], PlaceSql: Place = Place { city: "Bad \"Ems\", (x)".into(), number: None },
    );
    show(
        "a record",
        diesel::select(diesel::dsl::sql::<Record<(Integer, Text)>>("row(1, 'a'::text)"))
            .get_result::<(i32, String)>(c),
    );
    show(
        "infinity",
        diesel::select(diesel::dsl::sql::<Timestamp>("'infinity'::timestamp")).get_result::<NaiveDateTime>(c),
    );
    show("an odd label", diesel::select(diesel::dsl::sql::<MoodSql>("'odd'::text")).get_result::<Mood>(c));
    show("wrong type", diesel::select(diesel::dsl::sql::<Integer>("'text'::text")).get_result::<i32>(c));
    Ok(())
}

fn purchases(c: &mut PgConnection) -> i64 {
    posts::table.count().get_result(c).unwrap_or(-1)
}

fn add(c: &mut PgConnection, title: &str) -> QueryResult<usize> {
    diesel::insert_into(posts::table).values((posts::user_id.eq(1), posts::title.eq(title))).execute(c)
}

fn transactions(c: &mut PgConnection, url: &str) -> QueryResult<()> {
    let mut other = PgConnection::establish(url).expect("a connection");
    let o = &mut other;
    println!("posts: {}", purchases(c));
    let done = c.transaction(|c| {
        add(c, "outer")?;
        let inner = c.transaction(|c| {
            add(c, "inner")?;
            show(
                "bad in savepoint",
                diesel::insert_into(posts::table)
                    .values((posts::user_id.eq(-1), posts::title.eq("x")))
                    .execute(c),
            );
            c.transaction(|c| add(c, "deeper"))
        });
        show("aborted", inner);
        show("savepoint", c.transaction(|c| add(c, "again")));
        show(
            "rolled back",
            c.transaction(|c| add(c, "never").and_then(|_| Err::<(), _>(Error::RollbackTransaction))),
        );
        println!("outside: {}", purchases(o));
        Ok::<_, Error>(purchases(c))
    });
    show("committed", done);
    show(
        "level",
        c.build_transaction().serializable().read_only().deferrable().run(|c| {
            show("read only", add(c, "x"));
            Ok::<_, Error>(())
        }),
    );
    #[derive(QueryableByName, Debug)]
    #[allow(dead_code)]
    struct Levels {
        #[diesel(sql_type = Text)]
        isolation: String,
        #[diesel(sql_type = Text)]
        read_only: String,
        #[diesel(sql_type = Text)]
        deferrable: String,
    }
    let levels = "select current_setting('transaction_isolation') isolation, current_setting('transaction_read_only') read_only, current_setting('transaction_deferrable') deferrable";
    show(
        "serializable",
        c.build_transaction()
            .serializable()
            .read_only()
            .deferrable()
            .run(|c| sql_query(levels).get_result::<Levels>(c)),
    );
    show(
        "repeatable read",
        c.build_transaction()
            .repeatable_read()
            .read_write()
            .not_deferrable()
            .run(|c| sql_query(levels).get_result::<Levels>(c)),
    );
    show(
        "read committed",
        c.build_transaction().read_committed().run(|c| sql_query(levels).get_result::<Levels>(c)),
    );
    show(
        "commit that fails",
        c.transaction(|c| {
            c.batch_execute("set constraints all deferred")?;
            diesel::insert_into(posts::table).values((posts::user_id.eq(-1), posts::title.eq("x"))).execute(c)
        }),
    );
    show(
        "stale",
        c.build_transaction().repeatable_read().run(|c| {
            users::table.count().get_result::<i64>(c)?;
            diesel::update(users::table.find(1)).set(users::email.eq("new@x")).execute(o)?;
            diesel::update(users::table.find(1)).set(users::email.eq("newer@x")).execute(c)
        }),
    );
    show("test transaction", Ok::<_, Error>(c.test_transaction(|c| add(c, "tested"))));
    println!("posts: {}", purchases(c));

    // Locks
    show(
        "locks",
        c.transaction(|c| {
            show("for update", users::table.find(1).select(users::name).for_update().get_result::<String>(c));
            show(
                "skip locked",
                users::table
                    .select(users::id)
                    .order(users::id)
                    .limit(2)
                    .for_update()
                    .skip_locked()
                    .load::<i32>(o),
            );
            show(
                "no wait",
                users::table.find(1).select(users::id).for_no_key_update().no_wait().get_result::<i32>(o),
            );
            show(
                "for key share",
                users::table.find(2).select(users::id).for_key_share().get_result::<i32>(o),
            );
            o.batch_execute("set lock_timeout = '50ms'")?;
            show("lock timeout", diesel::delete(users::table.find(1)).execute(o));
            o.batch_execute("reset lock_timeout; set statement_timeout = '50ms'")?;
            show("statement timeout", sql_query("select pg_sleep(5)").execute(o));
            o.batch_execute("reset statement_timeout")
        }),
    );

    // Pool
    let pool = Pool::builder()
        .max_size(4)
        .test_on_check_out(true)
        .build(ConnectionManager::<PgConnection>::new(url))
        .expect("a pool");
    c.batch_execute(
        "create table job (id int primary key); insert into job select g from generate_series(1, 100) g",
    )?;
    let workers = (0..4).map(|_| {
        let pool = pool.clone();
        std::thread::spawn(move || {
            let mut c = pool.get().expect("a connection");
            let mut taken = 0;
            while sql_query(
                "delete from job where id = (select id from job order by id for update skip locked limit 1)",
            )
            .execute(&mut c)
            .expect("a job")
                == 1
            {
                taken += 1;
            }
            taken
        })
    });
    println!(
        "queue: {}",
        workers.collect::<Vec<_>>().into_iter().map(|w| w.join().expect("a worker")).sum::<i32>()
    );
    Ok(())
}

// Waits for so many notifications, three seconds at most.
fn heard(c: &mut PgConnection, many: usize) {
    let mut all = vec![];
    for _ in 0..150 {
        all.extend(c.notifications_iter());
        if all.len() >= many {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    for n in all {
        show("notified", n.map(|n| (n.channel, n.payload)));
    }
}

fn written(e: std::io::Error) -> Error {
    Error::SerializationError(Box::new(e))
}

fn copies(c: &mut PgConnection, url: &str) -> QueryResult<()> {
    let new = (1..=3).map(|i| NewTag { post_id: i, label: format!("l\t{i}") }).collect::<Vec<_>>();
    show("binary", copy_from(tags::table).from_insertable(&new).execute(c));
    show("binary, twice", copy_from(tags::table).from_insertable(&new).execute(c));
    show(
        "csv",
        copy_from(tags::table)
            .from_raw_data((tags::label, tags::post_id), |w| {
                w.write_all(b"label;post_id\nx;1\n'y;z';2\n").map_err(written)
            })
            .with_format(CopyFormat::Csv)
            .with_delimiter(';')
            .with_quote('\'')
            .with_header(CopyHeader::Set(true))
            .execute(c),
    );
    show(
        "header that does not match",
        copy_from(tags::table)
            .from_raw_data(tags::table, |w| w.write_all(b"id,label\n1,q\n").map_err(written))
            .with_format(CopyFormat::Csv)
            .with_header(CopyHeader::Match)
            .execute(c),
    );
    show(
        "bad",
        copy_from(tags::table)
            .from_raw_data(tags::table, |w| w.write_all(b"one\tx\n").map_err(written))
            .with_format(CopyFormat::Text)
            .execute(c),
    );
    show(
        "given up",
        copy_from(tags::table).from_raw_data(tags::table, |_| Err(Error::RollbackTransaction)).execute(c),
    );
    let many = (0..2000).map(|i| NewTag { post_id: 1, label: format!("many {i}") }).collect::<Vec<_>>();
    show("many", copy_from(tags::table).from_insertable(many).execute(c));
    show("deleted", diesel::delete(tags::table.filter(tags::label.like("many%"))).execute(c));
    // A connection that has copied out stays busy.
    let mut once = PgConnection::establish(url).expect("a connection");
    let loaded = copy_to(tags::table).load::<NewTag, _>(&mut once)?.collect::<QueryResult<Vec<_>>>();
    show(
        "loaded",
        loaded.map(|mut v| {
            v.sort_by(|a, b| a.label.cmp(&b.label));
            v
        }),
    );
    let mut once = PgConnection::establish(url).expect("a connection");
    let mut text = String::new();
    copy_to(tags::table)
        .with_format(CopyFormat::Csv)
        .with_header(true)
        .with_null("nil")
        .load_raw(&mut once)?
        .read_to_string(&mut text)
        .expect("a text");
    let mut lines = text.lines().collect::<Vec<_>>();
    lines[1..].sort();
    println!("raw: {lines:?}");

    // Notifications
    let mut other = PgConnection::establish(url).expect("a connection");
    sql_query("listen orders").execute(c)?;
    sql_query("listen \"Odd Name\"").execute(c)?;
    other.transaction(|o| {
        sql_query("select pg_notify($1, $2)")
            .bind::<Text, _>("Odd Name")
            .bind::<Text, _>("one")
            .execute(o)?;
        sql_query("notify orders").execute(o)?;
        sql_query("notify orders").execute(o)?;
        sql_query("notify nobody").execute(o)
    })?;
    heard(c, 2);
    sql_query("notify orders, 'mine'").execute(c)?;
    heard(c, 1);
    sql_query("unlisten *").execute(c)?;
    Ok(())
}

fn errors(c: &mut PgConnection) -> QueryResult<()> {
    let new = |name: &'static str, email: &'static str| (users::name.eq(name), users::email.eq(email));
    show("unique", diesel::insert_into(users::table).values(new("x", "bob@x")).execute(c));
    show("check", diesel::insert_into(users::table).values(new("", "empty@x")).execute(c));
    show(
        "foreign key",
        diesel::insert_into(posts::table).values((posts::user_id.eq(-1), posts::title.eq("x"))).execute(c),
    );
    show("restricted", diesel::delete(posts::table.find(1)).execute(c));
    show("not null", sql_query("insert into users (name) values (null)").execute(c));
    show(
        "too long",
        diesel::insert_into(users::table)
            .values(new("a name that is longer than forty letters are", "long@x"))
            .execute(c),
    );
    show("exclusion", sql_query("insert into posts (user_id, title, during) values (1, 'a', '[2030-01-01,2030-02-01)'), (1, 'b', '[2030-01-15,2030-03-01)')").execute(c));
    show("read only", c.build_transaction().read_only().run(|c| diesel::delete(users::table).execute(c)));
    show("not found", users::table.find(-1).select(users::name).get_result::<String>(c));
    show("optional", users::table.find(-1).select(users::name).get_result::<String>(c).optional());
    for sql in [
        "selec 1",
        "select nothing from users",
        "select * from nowhere",
        "select 1/0",
        "select 'x'::int",
        "select users.x from users u",
        "do $$ begin raise exception 'custom' using errcode = '23505', detail = 'more', hint = 'less', table = 't', column = 'c', constraint = 'k'; end $$",
    ] {
        show(sql, sql_query(sql).execute(c));
    }
    match PgConnection::establish("postgresql://postgres@127.0.0.1:1/none") {
        Ok(_) => println!("connected to nothing"),
        Err(e) => println!("no server: {}", e.to_string().lines().next().unwrap_or("")),
    }

    // A table that changes under the cached statements.
    c.batch_execute("create table wide (id int primary key, n int); insert into wide values (1, 2)")?;
    diesel::table! { wide (id) { id -> Integer, n -> Integer, } }
    for ddl in [
        "select 1",
        "alter table wide add column more text",
        "alter table wide alter column n type bigint",
        "alter table wide rename column n to m",
    ] {
        c.batch_execute(ddl)?;
        show("cached", wide::table.find(1).get_result::<(i32, i32)>(c));
        show("cached", diesel::update(wide::table.find(1)).set(wide::id.eq(1)).execute(c));
    }
    Ok(())
}

fn streams(c: &mut PgConnection) -> QueryResult<()> {
    let sum = |i: Box<dyn Iterator<Item = QueryResult<i32>> + '_>| i.sum::<QueryResult<i32>>();
    let series = || sql_query("select g as id from generate_series(1, 1000) g");
    let ids = series().load_iter::<Id, DefaultLoadingMode>(c)?;
    show("iter", sum(Box::new(ids.map(|r| r.map(|r| r.id)))));
    let ids = series().load_iter::<Id, PgRowByRowLoadingMode>(c)?;
    show("row by row", sum(Box::new(ids.map(|r| r.map(|r| r.id)))));
    let left = series()
        .load_iter::<Id, PgRowByRowLoadingMode>(c)?
        .take(3)
        .map(|r| r.map(|r| r.id))
        .collect::<QueryResult<Vec<_>>>();
    show("left early", left);
    let fail = sql_query("select 10 / (3 - g) as id from generate_series(1, 5) g");
    match fail.load_iter::<Id, PgRowByRowLoadingMode>(c) {
        Ok(rows) => rows.for_each(|row| show("that fails", row.map(|r| r.id))),
        Err(e) => println!("that fails: {}", told(&e)),
    }
    show("after it", diesel::select(1.into_sql::<Integer>()).get_result::<i32>(c));
    Ok(())
}

fn main() {
    let url = std::env::args().nth(1).expect("a URL");
    let mut c = PgConnection::establish(&url).expect("a connection");
    c.batch_execute("set time zone 'UTC'").expect("a setting");
    let parts: [(&str, &dyn Fn(&mut PgConnection) -> QueryResult<()>); 7] = [
        ("migrations", &migrations),
        ("types", &types),
        ("queries", &queries::queries),
        ("streams", &streams),
        ("transactions", &|c| transactions(c, &url)),
        ("copies", &|c| copies(c, &url)),
        ("errors", &errors),
    ];
    for (name, part) in parts {
        println!("--- {name}");
        if let Err(e) = part(&mut c) {
            println!("{name} stopped: {}", told(&e));
        }
    }
}
