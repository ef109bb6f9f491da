// Knex: the schema builder, migrations (forth, anew, back, locked), seeds, queries, transactions, errors, types, a pool.
const knex = require("knex");

const log = { warn: (m) => console.log("warn:", m), error: (m) => console.log("error:", m), debug: () => {}, deprecate: () => {} };
const db = knex({ client: "pg", connection: process.env.PLANARIA_DSN, pool: { min: 0, max: 6 }, log });
const show = (title, value) => console.log(title, JSON.stringify(value === undefined ? null : value, (k, v) => (typeof v === "bigint" ? String(v) : v)));
const attempt = async (title, work) => {
  try { show(title, await work()); } catch (e) { console.log(title, "|", e.name, e.code, "|", e.message, "|", (e.detail || "").replace(/Failing row.*/, "Failing row"), e.constraint, e.table, e.column, e.position); }
};
const rows = async (title, sql) => console.log(title, (await db.raw(sql)).rows.map((r) => "\n  " + JSON.stringify(r)).join(""));
const described = async (table) => {
  const info = await db(table).columnInfo();
  console.log(table, Object.keys(info).sort().map((c) => `\n  ${c}: ${JSON.stringify(info[c])}`).join(""));
  await rows("indexes", `SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename = '${table}' ORDER BY 1`);
  await rows("constraints", `SELECT conname, contype, pg_get_constraintdef(oid) AS def FROM pg_constraint WHERE conrelid = '${table}'::regclass ORDER BY 1`);
};

const migrations = {
  "001_users": {
    async up(k) {
      await k.schema.createTable("users", (t) => {
        t.comment("people");
        t.increments("id");
        t.uuid("uid").defaultTo(k.fn.uuid()).notNullable();
        t.string("name", 80).notNullable().comment("full name");
        t.string("email").unique();
        t.enu("role", ["guest", "admin"], { useNative: true, enumName: "user_role" }).defaultTo("guest");
        t.enu("level", ["low", "high"]).defaultTo("low");
        t.decimal("balance", 12, 2).defaultTo(0);
        t.bigInteger("big").unsigned();
        t.smallint("age").checkPositive("users_age");
        t.float("ratio");
        t.double("score");
        t.boolean("active").notNullable().defaultTo(true);
        t.json("raw");
        t.jsonb("settings").defaultTo(JSON.stringify({ theme: "light", a: 1 }));
        t.specificType("tags", "text[]");
        t.index(["tags"], "users_tags", "gin");
        t.binary("photo");
        t.date("born");
        t.time("wakes");
        t.datetime("seen", { precision: 3 }).defaultTo(k.fn.now(3));
        t.timestamp("local", { useTz: false });
        t.timestamps(true, true);
        t.index(["name", "age"], "users_name_age");
        t.check("?? >= ??", ["score", "ratio"], "users_score");
      });
    },
    async down(k) { await k.schema.dropTable("users"); await k.raw("DROP TYPE user_role"); },
  },
  "002_posts": {
    async up(k) {
      await k.schema.createTable("posts", (t) => {
        t.bigIncrements();
        t.integer("author_id").notNullable().references("id").inTable("users").onDelete("CASCADE").onUpdate("RESTRICT");
        t.string("title").notNullable().checkLength("<", 50);
        t.text("body").defaultTo("it's");
        t.specificType("search", "text generated always as (lower(title)) stored");
        t.unique(["author_id", "title"], { indexName: "posts_author_title", deferrable: "deferred" });
      });
      await k.schema.createView("titles", (v) => { v.columns(["id", "title"]); v.as(k("posts").select("id", "title").where("id", ">", 0)); });
      await k.schema.createMaterializedView("counts", (v) => { v.as(k("posts").select("author_id").count("* as n").groupBy("author_id")); });
    },
    async down(k) { await k.schema.dropMaterializedView("counts").dropView("titles").dropTable("posts"); },
  },
  "003_alter": {
    async up(k) {
      await k.schema.alterTable("users", (t) => {
        t.string("nick", 20).nullable();
        t.string("name", 120).notNullable().alter();
        t.decimal("balance", 14, 3).defaultTo(1.5).alter();
        t.integer("age").alter({ alterNullable: false });
        t.dropColumn("ratio");
        t.renameColumn("wakes", "wakes_at");
        t.setNullable("active");
        t.dropIndex(["name", "age"], "users_name_age");
        t.index(["name"], "users_name", { predicate: k.whereNotNull("nick"), storageEngineIndexType: "btree" });
        t.unique("nick", { predicate: k.whereNotNull("active"), useConstraint: false });
      });
      await k.schema.raw("CREATE INDEX users_lower ON users (lower(email))");
      await k.schema.renameTable("posts", "articles");
    },
    async down(k) {
      await k.schema.renameTable("articles", "posts");
      await k.schema.alterTable("users", (t) => { t.dropIndex([], "users_name"); t.dropIndex([], "users_lower"); t.dropColumn("nick"); t.float("ratio"); t.renameColumn("wakes_at", "wakes"); t.index(["name", "age"], "users_name_age"); });
    },
  },
  "004_fails": { async up(k) { await k.schema.alterTable("users", (t) => { t.integer("lost"); }); await k("users").insert({ email: "x" }); }, async down() {} },
};
const source = (...names) => ({ getMigrations: async () => names, getMigrationName: (m) => m, getMigration: async (m) => migrations[m] });
const all = { migrationSource: source("001_users", "002_posts", "003_alter") };

(async () => {
  await attempt("latest", () => db.migrate.latest(all));
  await attempt("latest anew", () => db.migrate.latest(all));
  await attempt("status", async () => [await db.migrate.status(all), await db.migrate.currentVersion(all), (await db.migrate.list(all))[0].map((m) => m.name)]);
  for (const t of ["users", "articles"]) await described(t);
  await rows("views", "SELECT viewname, definition FROM pg_views WHERE schemaname = 'public' UNION ALL SELECT matviewname, definition FROM pg_matviews ORDER BY 1");
  await rows("comments", "SELECT obj_description('users'::regclass), col_description('users'::regclass, 3)");
  await attempt("fails", () => db.migrate.latest({ migrationSource: source("001_users", "002_posts", "003_alter", "004_fails") }));
  show("is rolled back", await db.schema.hasColumn("users", "lost"));
  await db("knex_migrations_lock").update({ is_locked: 1 });
  await attempt("locked", () => db.migrate.latest({ migrationSource: source("001_users", "002_posts", "003_alter", "004_fails") }));
  await db.migrate.forceFreeMigrationsLock(all);
  await attempt("down", () => db.migrate.down(all));
  await described("users");
  await attempt("up", () => db.migrate.up(all));
  await attempt("rollback", () => db.migrate.rollback(all, true));
  show("tables", [await db.schema.hasTable("users"), await db.schema.hasTable("knex_migrations")]);
  await attempt("latest", () => db.migrate.latest(all));

  const seeds = { seedSource: { getSeeds: async () => ["people"], getSeed: async () => ({ async seed(k) {
    await k("articles").del();
    await k("users").del();
    await k("users").insert(Array.from({ length: 30 }, (_, i) => ({ id: i + 1, uid: `0b0e7a7c-8f3c-4c53-9c5a-6a9f2c9d1${String(i).padStart(3, "0")}`, name: "User " + i, email: `u${i}@example.org`, age: i + 1, balance: i * 1.25, tags: ["t" + (i % 3)], settings: { n: i } })));
    await k.raw("SELECT setval('users_id_seq', 30)");
  } }) } };
  await attempt("seed", () => db.seed.run(seeds));
  await attempt("seed anew", () => db.seed.run(seeds));

  const [ann] = await db("users").insert({ uid: "0b0e7a7c-8f3c-4c53-9c5a-6a9f2c9d0001", name: "Ann", email: "ann@example.org", role: "admin", age: 30, balance: "12345678.901", big: "9007199254740993", score: 0.1, raw: { b: 1, a: 2 }, settings: JSON.stringify({ deep: { n: [1, 2] } }), tags: ["x", "y,z", 'q"'], photo: Buffer.from([0, 255]), born: "2000-02-29", wakes_at: "06:30", seen: new Date("2026-03-29T01:30:00.123Z"), local: "2026-03-29 02:30:00" }).returning(["id", "uid", "role", "level", "balance", "big", "age", "score", "raw", "settings", "tags", "photo", "born", "wakes_at", "seen", "local", "active"]);
  show("ann", ann);
  await attempt("unique", () => db("users").insert({ name: "Bob", email: "ann@example.org" }));
  await attempt("not null", () => db("users").insert({ id: 900, name: null, created_at: "2026-01-01", updated_at: "2026-01-01", seen: "2026-01-01", uid: ann.uid }));
  await attempt("check", () => db("users").where({ id: ann.id }).update({ age: -1 }));
  await attempt("check of two", () => db("users").where({ id: ann.id }).update({ level: "nix" }));
  await attempt("foreign key", () => db("articles").insert({ author_id: 999, title: "t" }));
  await attempt("generated", () => db("articles").insert({ author_id: 1, title: "t", search: "x" }));
  await attempt("enum", () => db("users").update({ role: "nix" }));
  await attempt("overflow", () => db("users").where({ id: ann.id }).update({ age: 99999999999 }));
  await attempt("json", () => db("users").where({ id: ann.id }).update({ settings: "{" }));
  await attempt("no column", () => db("users").select("nix"));
  await attempt("no table", () => db("nix"));
  await attempt("too long", () => db("users").where({ id: ann.id }).update({ nick: "x".repeat(21) }));
  await attempt("batch", async () => (await db.batchInsert("articles", Array.from({ length: 25 }, (_, i) => ({ author_id: (i % 5) + 1, title: "T" + i })), 10).returning("id")).length);
  await attempt("join", () => db("users as u").join("articles as a", "u.id", "a.author_id").leftJoin("titles as t", function () { this.on("t.id", "a.id").andOn(db.raw("t.title <> ?", ["T1"])); }).select("u.name", "a.title", "t.title as v", db.ref("a.search").as("s")).whereBetween("u.id", [1, 2]).orderBy([{ column: "u.name", order: "desc" }, "a.id"]).limit(4).offset(1));
  await attempt("group", () => db("articles").select("author_id").count("* as n").sum("id as s").avg("id as a").min("title as m").groupBy("author_id").havingRaw("count(*) > ?", [2]).orderBy("author_id"));
  await attempt("with", () => db.withRecursive("n", ["i"], db.raw("SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?", [5])).select("*").from("n"));
  await attempt("window", () => db("users").select("id").rank("r", (q) => q.partitionBy("tags").orderBy("age", "desc")).rowNumber("k", "id").where("id", "<=", 5).orderBy("id"));
  await attempt("like", () => db("users").whereILike("name", "user 1%").whereNotIn("id", [11]).whereRaw("?? % 2 = ?", ["id", 0]).pluck("id"));
  await attempt("first", () => db("users").first("id", "name").where({ id: 3 }));
  await attempt("distinct on", () => db("articles").distinctOn("author_id").select("author_id", "title").orderBy(["author_id", { column: "id", order: "desc" }]));
  await attempt("exists", () => db("users").whereExists(db("articles").whereRaw("articles.author_id = users.id")).count());
  await attempt("union", () => db("users").select("id").where("id", 1).union([db("users").select("id").where("id", 2)], true).intersect([db("users").select("id").where("id", "<", 9)]).orderBy("id"));
  await attempt("json path", () => db("users").jsonExtract("settings", "$.deep.n[1]", "n").where({ id: ann.id }));
  await attempt("json where", () => db("users").select("id").whereJsonPath("settings", "$.n", ">", 27).orderBy("id"));
  await attempt("json superset", () => db("users").select("id").whereJsonSupersetOf("settings", { n: 3 }));
  await attempt("json object", () => db("users").select("id").whereJsonObject("settings", { n: 4 }));
  await attempt("json set", () => db("users").jsonSet("settings", "$.deep.m", '"x"', "s").where({ id: ann.id }));
  await attempt("json remove", () => db("users").jsonRemove("settings", "$.deep.n", "s").where({ id: ann.id }));
  await attempt("array", () => db("users").select("id").whereRaw("tags && ?::text[]", [["t0"]]).orderBy("id").limit(3));
  await attempt("upsert", () => db("users").insert([{ id: 1, uid: ann.uid, name: "One", email: "u0@example.org" }, { id: 2, uid: ann.uid, name: "Two", email: "u1@example.org" }]).onConflict("email").merge(["name"]).where("users.id", ">", 1).returning(["id", "name"]));
  await attempt("ignore", () => db("users").insert({ name: "One", email: "u0@example.org" }).onConflict().ignore().returning("id"));
  await attempt("merge raw", () => db("users").insert({ name: "One", email: "u0@example.org", age: 5 }).onConflict("email").merge({ age: db.raw("users.age + excluded.age") }).returning("age"));
  await attempt("update from", () => db("articles").update({ body: db.ref("users.name") }).updateFrom("users").whereRaw("users.id = articles.author_id").where("articles.title", "T0").returning("articles.body"));
  await attempt("delete using", () => db("articles").using("users").whereRaw("users.id = articles.author_id").where("users.id", 5).del());
  await attempt("increment", () => db("users").where({ id: 1 }).increment({ age: 2, balance: 0.5 }).returning(["age", "balance"]));
  await attempt("page", () => db("users").select("id").orderByRaw("age DESC NULLS LAST, id").limit(2).offset(3));
  await attempt("order", () => db("users").select("id", "nick").orderBy([{ column: "nick", order: "asc", nulls: "first" }, { column: "id", order: "desc" }]).limit(2));
  await attempt("raw", async () => (await db.raw("SELECT :a::int + 1 AS a, :b: AS b FROM users WHERE id = 1", { a: 2, b: "name" })).rows);
  await attempt("stream", async () => { let n = 0; for await (const r of db("users").select("id").stream()) n += r.id; return n; }).catch(() => {});
  await attempt("refresh", async () => { await db.schema.refreshMaterializedView("counts"); return db("counts").orderBy("author_id"); });
  await attempt("refresh concurrently", () => db.schema.refreshMaterializedView("counts", true));
  await attempt("truncate", async () => { await db("articles").truncate(); return db("articles").insert({ author_id: 1, title: "first" }).returning("id"); });

  await attempt("rollback", () => db.transaction(async (t) => { await t("users").where({ id: 1 }).update({ name: "lost" }); throw new Error("no"); }));
  await db.transaction(async (t) => {
    await t("users").where({ id: 1 }).update({ name: "outer" });
    await t.transaction(async (s) => { await s("users").where({ id: 2 }).update({ name: "inner" }); throw new Error("no"); }).catch((e) => console.log("inner:", e.message));
    await attempt("in the savepoint", () => t.transaction((s) => s("users").insert({ name: "x", email: "ann@example.org" })));
    await t("users").where({ id: 3 }).update({ name: "after" });
  });
  show("names", await db("users").whereIn("id", [1, 2, 3]).orderBy("id").pluck("name"));
  await attempt("after an error", () => db.transaction(async (t) => { await t.raw("SELECT 1/0").catch((e) => console.log(e.message)); await t("users").first(); }));
  for (const isolationLevel of ["read uncommitted", "read committed", "repeatable read", "serializable"]) await attempt(isolationLevel, () => db.transaction(async (t) => (await t.raw("SHOW transaction_isolation")).rows, { isolationLevel }));
  await attempt("read only", () => db.transaction((t) => t("users").del(), { readOnly: true }));
  const deferred = await db.transaction();
  await deferred("articles").insert({ author_id: 1, title: "first" });
  await attempt("deferred", () => deferred.commit().then(() => deferred.executionPromise));
  const one = await db.transaction(), two = await db.transaction();
  const take = (t) => t("users").select("id").orderBy("id").limit(3).forUpdate().skipLocked();
  show("skip locked", [await take(one), await take(two)]);
  await attempt("nowait", () => two("users").where({ id: 1 }).forNoKeyUpdate().noWait());
  await one.commit();
  await two.rollback();
  await attempt("timeout", () => db.raw("SELECT pg_sleep(5)").timeout(100, { cancel: true }).catch((e) => e.message));
  await db("users").where({ id: 1 }).update({ age: 1 });
  await Promise.all(Array.from({ length: 60 }, () => db.transaction(async (t) => { const u = await t("users").where({ id: 1 }).forUpdate().first("age"); await t("users").where({ id: 1 }).update({ age: u.age + 1 }); })));
  show("counted", await db("users").where({ id: 1 }).first("age"));
  const serial = async () => { for (;;) try { return await db.transaction(async (t) => { const u = await t("users").where({ id: 2 }).first("age"); await t("users").where({ id: 2 }).update({ age: u.age + 1 }); }, { isolationLevel: "serializable" }); } catch (e) { if (!["40001", "40P01"].includes(e.code)) throw e; } };
  await Promise.all(Array.from({ length: 12 }, serial));
  show("serializable", await db("users").where({ id: 2 }).first("age"));
  await db.schema.dropTableIfExists("nix");
  await attempt("rollback all", () => db.migrate.rollback(all, true));
  await db.schema.dropTable("knex_migrations").dropTable("knex_migrations_lock");
  await rows("left", "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1");
  await db.destroy();
})().catch((e) => { console.log(e.message); process.exit(1); });
