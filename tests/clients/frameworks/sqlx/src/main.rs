// sqlx as an application has it: migrator, pool, types both ways, COPY, listener, streams, errors. Prints what it saw.
mod types;

use futures_util::{StreamExt, TryStreamExt};
use rust_decimal::Decimal;
use sqlx::error::Error;
use sqlx::migrate::{MigrateDatabase, MigrateError, Migrator};
use sqlx::postgres::*;
use sqlx::types::{Json, chrono};
use sqlx::{Acquire, Column, Connection, Executor, FromRow, QueryBuilder, Row, Statement, TypeInfo};
use std::fmt::Debug;
use std::time::Duration;

pub fn told(e: &Error) -> String {
    let Error::Database(d) = e else { return format!("failed: {e}") };
    let p = d.downcast_ref::<PgDatabaseError>();
    let message = p
        .message()
        .split("sqlx_s_")
        .enumerate()
        .map(|(i, s)| if i == 0 { s } else { s.trim_start_matches(|c: char| c.is_ascii_digit()) });
    let message = message.collect::<Vec<_>>().join("sqlx_s_N");
    let fields =
        [p.detail(), p.hint(), p.schema(), p.table(), p.column(), p.data_type(), p.constraint(), p.r#where()];
    // Where a row lies is the server's affair.
    let fields = fields.map(|f| f.unwrap_or("")).map(|f| match f.split_once("tuple (") {
        Some((a, b)) => format!("{a}tuple ({}", &b[b.find(')').unwrap_or(0)..]),
        None => f.to_string(),
    });
    let fields = fields.join("|");
    format!("error {:?} {} {message} {fields} {:?} {:?}", p.severity(), p.code(), p.position(), d.kind())
}

pub fn show<T: Debug>(name: &str, result: Result<T, Error>) {
    match result {
        Ok(v) => println!("{name}: {v:?}"),
        Err(e) => println!("{name}: {}", told(&e)),
    }
}

fn migrated(name: &str, result: Result<(), MigrateError>) {
    match result {
        Ok(()) => println!("{name}: ok"),
        Err(MigrateError::ExecuteMigration(e, version)) => println!("{name}: {version} {}", told(&e)),
        Err(e) => println!("{name}: {e}"),
    }
}

async fn lines(pool: &PgPool, name: &str, sql: &str) {
    let all = sqlx::query_scalar::<_, Option<String>>(sql).fetch_all(pool).await;
    show(name, all.map(|all| all.into_iter().map(|l| l.unwrap_or("null".into())).collect::<Vec<_>>()));
}

const APPLIED: &str = "select version || ' ' || description || ' ' || success || ' ' || left(encode(checksum, 'hex'), 8) from _sqlx_migrations order by version";

async fn migrations(pool: &PgPool) -> Result<(), Error> {
    let embedded = sqlx::migrate!("./migrations");
    migrated("migrate", embedded.run(pool).await);
    migrated("migrate again", embedded.run(pool).await);
    lines(pool, "applied", APPLIED).await;
    migrated("undo to 1", embedded.undo(pool, 1).await);
    lines(pool, "applied", APPLIED).await;
    migrated("migrate", embedded.run(pool).await);

    // From a directory that changes.
    let dir = std::env::temp_dir().join(format!("sqlx-{}", std::process::id()));
    std::fs::create_dir_all(&dir)?;
    for file in std::fs::read_dir("migrations")? {
        let file = file?;
        std::fs::copy(file.path(), dir.join(file.file_name()))?;
    }
    let read = async || Migrator::new(dir.as_path()).await.expect("migrations");
    // A run that fails leaves its advisory lock to its connection.
    let run = async |migrator: &Migrator| {
        let mut c = PgConnection::connect_with(&pool.connect_options()).await?;
        let result = migrator.run(&mut c).await;
        c.close().await?;
        result
    };
    migrated("from the directory", run(&read().await).await);
    std::fs::write(dir.join("0004_bad.up.sql"), "create table half (id int);\nselect nowhere from half;")?;
    std::fs::write(dir.join("0004_bad.down.sql"), "drop table half")?;
    migrated("bad", run(&read().await).await);
    lines(pool, "nothing is left", "select to_regclass('half')::text").await;
    std::fs::write(dir.join("0004_bad.up.sql"), "create table half (id int);\ninsert into half values (1)")?;
    migrated("mended", run(&read().await).await);
    std::fs::write(dir.join("0002_updated_at.up.sql"), "select 1")?;
    migrated("changed", run(&read().await).await);
    std::fs::remove_file(dir.join("0002_updated_at.up.sql"))?;
    std::fs::remove_file(dir.join("0002_updated_at.down.sql"))?;
    migrated("missing", run(&read().await).await);
    migrated("missing, ignored", run(read().await.set_ignore_missing(true)).await);
    migrated("undo to 3", read().await.set_ignore_missing(true).undo(pool, 3).await);
    std::fs::remove_dir_all(&dir)?;
    lines(pool, "applied", APPLIED).await;
    migrated("undo all", embedded.undo(pool, 0).await);
    lines(pool, "applied", APPLIED).await;
    lines(
        pool,
        "tables",
        "select relname::text from pg_class where relnamespace = 'public'::regnamespace order by 1",
    )
    .await;
    // Two at once: one waits for the other's advisory lock.
    let two = embedded.iter().filter(|m| !m.no_tx).cloned().collect::<Vec<_>>();
    let two = Migrator { migrations: two.into(), ..Migrator::DEFAULT };
    let (a, b) = tokio::join!(two.run(pool), two.run(pool));
    migrated("at once", a);
    migrated("at once", b);
    migrated("the rest", embedded.run(pool).await);
    lines(pool, "applied", APPLIED).await;
    Ok(())
}

#[derive(Debug, FromRow)]
#[allow(dead_code)]
struct Name {
    name: String,
    email: Option<String>,
}

#[derive(Debug, FromRow)]
#[allow(dead_code)]
struct Customer {
    id: i64,
    #[sqlx(flatten)]
    who: Name,
    mood: types::Mood,
    home: Option<types::Place>,
    balance: Decimal,
    tags: Vec<String>,
    #[sqlx(json)]
    doc: std::collections::BTreeMap<String, i32>,
    #[sqlx(rename = "seen")]
    at: chrono::DateTime<chrono::Utc>,
    #[sqlx(default)]
    absent: i32,
}

async fn rows(pool: &PgPool) -> Result<(), Error> {
    let id: i64 = sqlx::query_scalar("insert into customer (name, email, mood, home, balance, tags, doc) values ($1, $2, $3, $4, $5, $6, $7) returning id")
        .bind("one").bind("one@x").bind(types::Mood::Glad).bind(types::Place { city: "Ulm".into(), number: None })
        .bind(Decimal::new(12345, 3)).bind(["a", "b,\"c"]).bind(Json(serde_json::json!({"k": 1}))).fetch_one(pool).await?;
    println!("insert: {id}");
    show("struct", sqlx::query_as::<_, Customer>("select * from customer").fetch_one(pool).await);
    show(
        "tuple",
        sqlx::query_as::<_, (i64, String, Option<types::Place>)>(
            "select id, name, home from customer where id = $1",
        )
        .bind(id)
        .fetch_optional(pool)
        .await,
    );
    show(
        "none",
        sqlx::query_as::<_, (i64,)>("select id from customer where id = $1")
            .bind(-1i64)
            .fetch_optional(pool)
            .await,
    );
    show(
        "no row",
        sqlx::query_scalar::<_, i64>("select id from customer where id = -1").fetch_one(pool).await,
    );
    show("wrong type", sqlx::query_scalar::<_, i32>("select id from customer").fetch_one(pool).await);
    show("null", sqlx::query_scalar::<_, i32>("select null::int").fetch_one(pool).await);
    show(
        "no column",
        sqlx::query("select 1 as a").fetch_one(pool).await.and_then(|r| r.try_get::<i32, _>("b")),
    );
    show("missing bind", sqlx::query("select $1::int, $2::int").bind(1).execute(pool).await);

    for _ in 0..2 {
        let mut many = QueryBuilder::<Postgres>::new("insert into customer (name, email, tags) ");
        many.push_values(0..500, |mut row, i| {
            row.push_bind(format!("p{i}"))
                .push_bind((i % 2 == 0).then(|| format!("p{i}@x")))
                .push_bind(vec![format!("t{}", i % 3)]);
        });
        many.push(" on conflict (email) do nothing");
        show("builder", many.build().execute(pool).await.map(|r| r.rows_affected()));
    }
    let mut some = QueryBuilder::<Postgres>::new("select id, name from customer where (name, email) in ");
    some.push_tuples([("p2", "p2@x"), ("p4", "p4@x")], |mut t, (a, b)| {
        t.push_bind(a).push_bind(b);
    });
    some.push(" order by id");
    show(
        "tuples",
        some.build_query_as::<(i64, String)>()
            .fetch_all(pool)
            .await
            .map(|v| v.into_iter().map(|r| r.1).collect::<Vec<_>>()),
    );
    show(
        "unnest",
        sqlx::query(
            "insert into purchase (customer_id, total) select * from unnest($1::bigint[], $2::numeric[])",
        )
        .bind(vec![id; 3])
        .bind(vec![Some(Decimal::ONE), None, Some(Decimal::new(25, 1))])
        .execute(pool)
        .await
        .map(|r| r.rows_affected()),
    );
    show(
        "any",
        sqlx::query_scalar::<_, String>("select name from customer where name = any($1) order by name")
            .bind(["p1", "p3"])
            .fetch_all(pool)
            .await,
    );
    show("upsert", sqlx::query_as::<_, (String, bool)>("insert into customer as c (name, email) values ($1, $2) on conflict (email) do update set name = excluded.name || c.name returning name, updated_at is not null").bind("new").bind("p4@x").fetch_one(pool).await);
    show("update", sqlx::query_as::<_, (String, Option<chrono::DateTime<chrono::Utc>>)>("update customer c set balance = balance + s.total from (select customer_id, sum(total) total from purchase group by 1) s where s.customer_id = c.id returning c.balance::text, updated_at").fetch_all(pool).await);
    show("cte", sqlx::query_as::<_, (i64, i64)>("with gone as (delete from purchase where total is null returning customer_id) select c.id, count(*) from customer c join gone on gone.customer_id = c.id group by 1").fetch_all(pool).await);
    show(
        "cte of the same table",
        sqlx::query_scalar::<_, i64>(
            "with gone as (delete from purchase where false returning 1) select count(*) from purchase",
        )
        .fetch_all(pool)
        .await,
    );

    // Streams
    let mut stream = sqlx::query("select g from generate_series(1, 100000) g").fetch(pool);
    let mut sum = 0i64;
    while let Some(row) = stream.try_next().await? {
        sum += i64::from(row.get::<i32, _>(0));
    }
    drop(stream);
    println!("stream: {sum}");
    let first: Vec<i32> = sqlx::query_scalar::<_, i32>("select g from generate_series(1, 100000) g")
        .fetch(pool)
        .take(3)
        .try_collect()
        .await?;
    println!("left early: {first:?}");
    let mut fail =
        sqlx::query_scalar::<_, i32>("select 10 / (3 - g) from generate_series(1, 5) g").fetch(pool);
    while let Some(row) = fail.next().await {
        show("stream that fails", row);
    }
    drop(fail);
    #[allow(deprecated)]
    let mut many = pool.fetch_many("select 1; create temp table gone (i int); insert into gone values (1), (2); select i from gone order by i; drop table gone");
    while let Some(step) = many.try_next().await? {
        match step {
            sqlx::Either::Left(done) => println!("many: {} rows", done.rows_affected()),
            sqlx::Either::Right(row) => println!("many: {}", row.get::<i32, _>(0)),
        }
    }
    drop(many);
    show(
        "raw, bad",
        sqlx::raw_sql("insert into customer (name) values ('half'); select 1/0").execute(pool).await,
    );
    lines(pool, "nothing of it", "select count(*)::text from customer where name = 'half'").await;

    // What query! asks of a database.
    for sql in [
        "select id, name, email, mood, home, balance, tags, doc, seen from customer where id = $1 and mood = $2",
        "select c.name, p.id, p.total, p.during from customer c left join purchase p on p.customer_id = c.id",
        "select count(*), max(name) as last, 1 + 1 as two, $1::int[] from customer",
        "insert into customer (name) values ($1) returning id, email",
        "delete from purchase",
        "select * from nowhere",
    ] {
        let mut c = pool.acquire().await?;
        match c.describe(sql).await {
            Ok(d) => {
                let columns = d
                    .columns()
                    .iter()
                    .enumerate()
                    .map(|(i, c)| format!("{} {} {:?}", c.name(), c.type_info().name(), d.nullable(i)))
                    .collect::<Vec<_>>();
                let parameters = match d.parameters() {
                    Some(sqlx::Either::Left(types)) => {
                        types.iter().map(|t| t.name().to_string()).collect::<Vec<_>>()
                    }
                    _ => vec![],
                };
                println!("describe: {columns:?} {parameters:?}");
            }
            Err(e) => println!("describe: {}", told(&e)),
        }
    }
    let statement = pool.prepare("select name, balance from customer where id = $1").await?;
    println!("prepared: {:?}", statement.columns().iter().map(|c| c.name()).collect::<Vec<_>>());
    show("prepared", statement.query_as::<(String, Decimal)>().bind(id).fetch_one(pool).await);
    show(
        "not persistent",
        sqlx::query_scalar::<_, i32>("select $1 + 1").persistent(false).bind(41).fetch_one(pool).await,
    );
    Ok(())
}

async fn purchases(pool: &PgPool, name: &str) {
    show(name, sqlx::query_scalar::<_, i64>("select count(*) from purchase").fetch_one(pool).await);
}

async fn transactions(pool: &PgPool, url: &str) -> Result<(), Error> {
    let add = "insert into purchase (customer_id, total) values (1, 1)";
    let mut tx = pool.begin().await?;
    tx.execute(add).await?;
    let mut inner = tx.begin().await?;
    inner.execute(add).await?;
    show("bad in savepoint", inner.execute("select 1/0").await);
    show("aborted", inner.execute("select 1").await);
    inner.rollback().await?;
    {
        let mut inner = tx.begin().await?;
        inner.execute(add).await?;
        let mut deeper = inner.begin().await?;
        deeper.execute(add).await?;
        deeper.commit().await?;
        // Dropped: rolled back.
    }
    let mut inner = tx.begin().await?;
    inner.execute(add).await?;
    inner.commit().await?;
    purchases(pool, "outside").await;
    tx.commit().await?;
    purchases(pool, "committed").await;
    let mut tx = pool.begin().await?;
    tx.execute(add).await?;
    drop(tx);
    purchases(pool, "dropped").await;
    let mut tx = pool.begin().await?;
    show("bad", tx.execute("select 1/0").await);
    show("commit of what failed", tx.commit().await);

    let mut tx = pool.begin_with("begin isolation level serializable, read only, deferrable").await?;
    show("level", sqlx::query_as::<_, (String, String, String)>("select current_setting('transaction_isolation'), current_setting('transaction_read_only'), current_setting('transaction_deferrable')").fetch_one(&mut *tx).await);
    show("read only", tx.execute(add).await);
    tx.rollback().await?;
    show("no begin", pool.begin_with("select 1").await.map(|_| ()));
    let mut tx = pool.begin().await?;
    tx.execute("set constraints all deferred").await?;
    show(
        "deferred",
        tx.execute("insert into purchase (customer_id) values (-1)").await.map(|r| r.rows_affected()),
    );
    show("commit", tx.commit().await);
    let mut a = pool.begin_with("begin isolation level repeatable read").await?;
    let mut b = pool.begin_with("begin isolation level repeatable read").await?;
    for tx in [&mut a, &mut b] {
        sqlx::query("select balance from customer where id = 1").fetch_one(&mut **tx).await?;
    }
    a.execute("update customer set balance = balance + 1 where id = 1").await?;
    a.commit().await?;
    show("stale", b.execute("update customer set balance = balance + 1 where id = 1").await);
    b.rollback().await?;
    let mut c = pool.acquire().await?;
    show(
        "closure",
        c.transaction(|tx| Box::pin(async move { tx.execute(add).await.map(|r| r.rows_affected()) })).await,
    );

    // Locks
    let mut tx = pool.begin().await?;
    tx.execute("select * from customer where id = 1 for update").await?;
    show(
        "nowait",
        pool.execute("select * from customer where id = 1 for update nowait")
            .await
            .map(|r| r.rows_affected()),
    );
    show(
        "skip",
        pool.execute("select * from customer where id < 3 for no key update skip locked")
            .await
            .map(|r| r.rows_affected()),
    );
    let mut other = pool.begin().await?;
    other.execute("set local lock_timeout = '50ms'").await?;
    show(
        "timeout",
        other.execute("update customer set name = 'x' where id = 1").await.map(|r| r.rows_affected()),
    );
    other.rollback().await?;
    tx.rollback().await?;
    show(
        "statement timeout",
        sqlx::raw_sql("set statement_timeout = 50; select pg_sleep(5)").execute(&mut *c).await,
    );
    c.execute("reset statement_timeout").await?;
    let slow =
        tokio::time::timeout(Duration::from_millis(50), sqlx::query("select pg_sleep(0.3)").execute(&mut *c))
            .await;
    println!("left waiting: {}", slow.is_err());
    show("after it", sqlx::query_scalar::<_, i32>("select 7").fetch_one(&mut *c).await);

    // Advisory locks
    let lock = PgAdvisoryLock::new("planaria");
    println!("{:?}", lock.key());
    let guard = lock.acquire(pool.acquire().await?).await?;
    let refused = lock.try_acquire(&mut *c).await?;
    println!("taken: {}", refused.is_right());
    drop(refused);
    lines(
        pool,
        "pg_locks",
        "select objsubid || ' ' || mode || ' ' || granted from pg_locks where locktype = 'advisory'",
    )
    .await;
    guard.release_now().await?;
    let guard = lock.try_acquire(&mut *c).await?;
    println!("free: {}", guard.is_left());
    drop(guard);
    c.ping().await?;
    show(
        "pairs",
        PgAdvisoryLock::with_key(PgAdvisoryLockKey::IntPair(1, -2))
            .acquire(&mut *c)
            .await
            .map(|g| g.leak())
            .map(|_| ()),
    );
    lines(
        pool,
        "pg_locks",
        "select classid || ' ' || objid || ' ' || objsubid from pg_locks where locktype = 'advisory'",
    )
    .await;
    show(
        "release",
        PgAdvisoryLock::with_key(PgAdvisoryLockKey::IntPair(1, -2)).force_release(&mut *c).await.map(|r| r.1),
    );
    show(
        "release again",
        PgAdvisoryLock::with_key(PgAdvisoryLockKey::IntPair(1, -2)).force_release(&mut *c).await.map(|r| r.1),
    );
    drop(c);

    // A queue that many empty.
    pool.execute("create table job (id int primary key, done bool not null default false); insert into job select g from generate_series(1, 200) g").await?;
    let workers = (0..4).map(|_| {
        let pool = pool.clone();
        tokio::spawn(async move {
            let mut taken = vec![];
            while let Some(id) = sqlx::query_scalar::<_, i32>("update job set done = true where id = (select id from job where not done order by id for update skip locked limit 1) returning id").fetch_optional(&pool).await? {
                taken.push(id);
            }
            Ok::<_, Error>(taken)
        })
    });
    let mut all = vec![];
    for worker in workers.collect::<Vec<_>>() {
        match worker.await.expect("worker") {
            Ok(taken) => all.extend(taken),
            Err(e) => println!("worker: {}", told(&e)),
        }
    }
    all.sort();
    println!("queue: {} {}", all.len(), all.windows(2).all(|w| w[0] < w[1]));

    // Other connections
    let options: PgConnectOptions = url.parse()?;
    let mut c = PgConnection::connect_with(
        &options
            .clone()
            .application_name("my app")
            .options([("search_path", "pg_catalog,public"), ("statement_timeout", "7s")])
            .statement_cache_capacity(2),
    )
    .await?;
    show("options", sqlx::query_as::<_, (String, String, String)>("select current_setting('application_name'), current_setting('search_path'), current_setting('statement_timeout')").fetch_one(&mut c).await);
    for i in 0..5 {
        sqlx::query(&format!("select {i}")).execute(&mut c).await?;
    }
    println!("cached: {}", c.cached_statements_size());
    c.clear_cached_statements().await?;
    println!(
        "cached: {} version {:?}",
        c.cached_statements_size(),
        c.server_version_num().map(|n| n / 10000)
    );
    c.close().await?;
    show("no database", PgConnection::connect_with(&options.database("no such database")).await.map(|_| ()));
    Ok(())
}

async fn copies(pool: &PgPool, url: &str) -> Result<(), Error> {
    let mut copy =
        pool.copy_in_raw("copy purchase (id, customer_id, total) from stdin (format csv, header)").await?;
    println!("copy: textual {} columns {}", copy.is_textual(), copy.num_columns());
    copy.send("id,customer_id,total\n1000,1,1.5\n".as_bytes()).await?;
    copy.send("1001,1,\n".as_bytes()).await?;
    show("finish", copy.finish().await);
    let mut c = pool.acquire().await?;
    let mut copy = c.copy_in_raw("copy purchase (id, customer_id) from stdin").await?;
    copy.send("1002\t1\n1003\tx\n".as_bytes()).await?;
    show("bad", copy.finish().await);
    let mut copy = c.copy_in_raw("copy purchase (id, customer_id) from stdin").await?;
    copy.send("1002\t1\n".as_bytes()).await?;
    show("abort", copy.abort("changed my mind").await);
    show("after it", sqlx::query_scalar::<_, i32>("select 1").fetch_one(&mut *c).await);
    let mut copy = c.copy_in_raw("copy job (id, done) from stdin (format binary)").await?;
    let mut data = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0".to_vec();
    for id in 1001..1004i32 {
        data.extend(
            2i16.to_be_bytes()
                .into_iter()
                .chain(4i32.to_be_bytes())
                .chain(id.to_be_bytes())
                .chain(1i32.to_be_bytes())
                .chain([1]),
        );
    }
    data.extend((-1i16).to_be_bytes());
    copy.send(data).await?;
    show("binary", copy.finish().await);
    show("no table", c.copy_in_raw("copy nowhere from stdin").await.map(|_| ()));
    for sql in [
        "copy (select id, customer_id, total from purchase where id >= 1000 order by id) to stdout (format csv, header, force_quote *)",
        "copy (select name, tags, doc, home from customer where id = 1) to stdout",
    ] {
        match c.copy_out_raw(sql).await {
            Ok(out) => show(
                "copy out",
                out.try_fold(String::new(), |a, b| async move { Ok(a + &String::from_utf8_lossy(&b)) }).await,
            ),
            Err(e) => println!("copy out: {}", told(&e)),
        }
    }
    let out = c
        .copy_out_raw("copy (select id, done from job where id > 1000 order by id) to stdout (format binary)")
        .await?;
    show("binary out", out.try_fold(vec![], |a, b| async move { Ok([a, b.to_vec()].concat()) }).await);
    drop(c);
    let mut c = PgConnection::connect(url).await?;
    match c.copy_out_raw("copy (select 1/0) to stdout").await {
        Ok(out) => show("bad copy out", out.try_collect::<Vec<_>>().await),
        Err(e) => println!("bad copy out: {}", told(&e)),
    }
    drop(c);

    // Notifications
    let mut listener = PgListener::connect(url).await?;
    listener.listen_all(["orders", "Odd Name"]).await?;
    let mut tx = pool.begin().await?;
    sqlx::query("select pg_notify($1, $2)").bind("orders").bind("one").execute(&mut *tx).await?;
    tx.execute("notify \"Odd Name\", 'two'; notify orders, 'one'; notify other; notify orders").await?;
    tx.commit().await?;
    for _ in 0..3 {
        match tokio::time::timeout(Duration::from_secs(3), listener.recv()).await {
            Ok(n) => show("notified", n.map(|n| (n.channel().to_string(), n.payload().to_string()))),
            Err(_) => println!("notified: nothing came"),
        }
    }
    show(
        "while listening",
        sqlx::query_scalar::<_, String>(
            "select string_agg(c, ',' order by c) from pg_listening_channels() c",
        )
        .fetch_one(&mut listener)
        .await,
    );
    listener.unlisten("orders").await?;
    pool.execute("notify orders; notify \"Odd Name\", 'last'").await?;
    show("last", listener.recv().await.map(|n| n.payload().to_string()));
    println!("no more: {}", tokio::time::timeout(Duration::from_millis(100), listener.recv()).await.is_err());
    // The server ends its connection: it connects again and listens.
    pool.execute("select pg_terminate_backend(pid) from pg_stat_activity where query like '%pg_listening_channels%' and pid <> pg_backend_pid() or query like 'LISTEN%' or query like 'UNLISTEN%'").await?;
    show("lost", listener.try_recv().await.map(|n| n.is_some()));
    pool.execute("notify \"Odd Name\", 'back'").await?;
    match tokio::time::timeout(Duration::from_secs(3), listener.recv()).await {
        Ok(n) => show("again", n.map(|n| n.payload().to_string())),
        Err(_) => println!("again: nothing came"),
    }
    Ok(())
}

async fn errors(pool: &PgPool) -> Result<(), Error> {
    for sql in [
        "insert into customer (name, email) values ('x', 'p2@x')",
        "insert into purchase (customer_id) values (-1)",
        "insert into customer (name, balance) values ('x', -1)",
        "insert into customer (name) values (null)",
        "insert into customer (name, mood) values ('x', 'odd')",
        "insert into purchase (customer_id, during) values (1, '[2024-01-01,2024-01-05)'), (1, '[2024-01-04,2024-01-09)')",
        "select 'A1'::code",
        "select 1/0",
        "selec 1",
        "select nothing from customer",
        "select * from nowhere",
        "select lowerr('x')",
        "select 'x'::int",
        "insert into customer (id, name) values (1, 'x')",
        "delete from customer where id = 1; select 300::smallint * 300::smallint",
        "do $$ begin raise exception 'custom %', 1 using errcode = 'P0042', detail = 'more', hint = 'less', table = 't', column = 'c', constraint = 'k', datatype = 'd', schema = 's'; end $$",
    ] {
        show(sql, sqlx::raw_sql(sql).execute(pool).await.map(|r| r.rows_affected()));
    }
    let e = sqlx::query("insert into customer (name, email) values ($1, $2)")
        .bind("x")
        .bind("p2@x")
        .execute(pool)
        .await
        .unwrap_err();
    let d = e.as_database_error().expect("of the database");
    println!(
        "unique {} foreign {} check {} code {:?} constraint {:?} table {:?}",
        d.is_unique_violation(),
        d.is_foreign_key_violation(),
        d.is_check_violation(),
        d.code(),
        d.constraint(),
        d.table()
    );

    // A table that changes under the cached statements.
    let mut c = pool.acquire().await?;
    for ddl in [
        "select 1",
        "alter table job add column note text default 'n'",
        "alter table job alter column id type bigint",
        "alter table job rename column note to remark",
        "alter table job drop column remark",
    ] {
        c.execute(ddl).await?;
        if ddl.contains("rename") {
            c.clear_cached_statements().await?;
        }
        for sql in [
            "select * from job where id = $1",
            "select id from job where id = $1",
            "update job set done = not done where id = $1 returning *",
        ] {
            let row = sqlx::query(sql).bind(1i64).fetch_optional(&mut *c).await;
            show(
                "cached",
                row.map(|r| {
                    r.map(|r| {
                        r.columns()
                            .iter()
                            .map(|c| format!("{} {}", c.name(), c.type_info().name()))
                            .collect::<Vec<_>>()
                    })
                }),
            );
        }
    }
    let mut tx = c.begin().await?;
    tx.execute("create type late as enum ('a')").await?;
    show(
        "new type",
        sqlx::query("select 'a'::late, array['a'::late]")
            .fetch_one(&mut *tx)
            .await
            .map(|r| r.columns().iter().map(|c| format!("{:?}", c.type_info().name())).collect::<Vec<_>>()),
    );
    tx.rollback().await?;
    Ok(())
}

#[tokio::main]
async fn main() {
    let url = std::env::args().nth(1).expect("a URL");
    let pool = PgPoolOptions::new()
        .max_connections(6)
        .after_connect(|c, _| Box::pin(async move { c.execute("set time zone 'UTC'").await.map(|_| ()) }))
        .connect(&url)
        .await
        .expect("a connection");
    let parts: [(&str, std::pin::Pin<Box<dyn Future<Output = Result<(), Error>>>>); 6] = [
        ("migrations", Box::pin(migrations(&pool))),
        ("types", Box::pin(types::types(&pool))),
        ("rows", Box::pin(rows(&pool))),
        ("transactions", Box::pin(transactions(&pool, &url))),
        ("copies", Box::pin(copies(&pool, &url))),
        ("errors", Box::pin(errors(&pool))),
    ];
    for (name, part) in parts {
        println!("--- {name}");
        if let Err(e) = part.await {
            println!("{name} stopped: {}", told(&e));
        }
    }
    pool.close().await;
    println!("--- databases");
    let other = url.replace("/frameworks", "/frameworks_other");
    show("exists", Postgres::database_exists(&url).await);
    show("other exists", Postgres::database_exists(&other).await);
    show("create", Postgres::create_database(&other).await);
    show("other exists", Postgres::database_exists(&other).await);
    show("drop", Postgres::drop_database(&other).await);
}
