// TypeORM: synchronize, what the schema builder still wants (nothing), migrations, relations, errors, transactions, locks.
require("reflect-metadata");
const { DataSource, EntitySchema, Table, TableColumn, TableIndex, TableForeignKey, TableUnique, TableCheck, In, Like, ILike, Between, IsNull, Not, MoreThan, Raw, ArrayContains, ArrayOverlap, Any, JsonContains } = require("typeorm");

const User = new EntitySchema({ name: "User", tableName: "users", comment: "people",
  columns: {
    id: { type: "int", primary: true, generated: "increment" },
    uid: { type: "uuid", generated: "uuid" },
    name: { type: "varchar", length: 80, comment: "full name" },
    email: { type: "text", unique: true },
    age: { type: "smallint", default: 18 },
    balance: { type: "numeric", precision: 12, scale: 2, default: 0 },
    big: { type: "bigint", nullable: true },
    ratio: { type: "double precision", nullable: true },
    score: { type: "real", default: 1.5 },
    active: { type: "boolean", default: true },
    role: { type: "enum", enum: ["guest", "member", "admin"], default: "guest" },
    roles: { type: "enum", enum: ["a", "b"], array: true, default: [] },
    kind: { type: "simple-enum", enum: ["x", "y"], nullable: true },
    settings: { type: "jsonb", default: { theme: "light", a: 1 } },
    raw: { type: "json", nullable: true },
    list: { type: "simple-array", nullable: true },
    object: { type: "simple-json", nullable: true },
    tags: { type: "text", array: true, default: "{}" },
    scores: { type: "int", array: true, nullable: true },
    born: { type: "date", nullable: true },
    wakes: { type: "time", nullable: true },
    seen: { type: "timestamptz", precision: 3, nullable: true },
    local: { type: "timestamp", nullable: true },
    lasts: { type: "interval", nullable: true },
    photo: { type: "bytea", nullable: true },
    span: { type: "int4range", nullable: true },
    address: { type: "inet", nullable: true },
    code: { type: "char", length: 4, nullable: true },
    bits: { type: "bit varying", length: 8, nullable: true },
    lower: { type: "text", generatedType: "STORED", asExpression: "lower(name)", insert: false, update: false, nullable: true },
    secret: { type: "text", nullable: true, select: false },
    made: { type: "timestamptz", createDate: true },
    changed: { type: "timestamptz", updateDate: true },
    deleted: { type: "timestamptz", deleteDate: true, nullable: true },
    version: { type: "int", version: true },
  },
  relations: {
    profile: { type: "one-to-one", target: "Profile", inverseSide: "user", cascade: true },
    posts: { type: "one-to-many", target: "Post", inverseSide: "author", cascade: true },
    boss: { type: "many-to-one", target: "User", joinColumn: { name: "boss_id" }, nullable: true, onDelete: "SET NULL" },
  },
  indices: [{ name: "users_name_age", columns: ["name", "age"] }, { name: "users_active", columns: ["born"], where: "active = true" }, { name: "users_code", columns: ["code"], unique: true }],
  checks: [{ name: "users_age", expression: "age >= 0" }],
});
const Profile = new EntitySchema({ name: "Profile", tableName: "profiles", columns: { id: { type: "uuid", primary: true, generated: "uuid" }, bio: { type: "text" } },
  relations: { user: { type: "one-to-one", target: "User", inverseSide: "profile", joinColumn: true, onDelete: "CASCADE" } } });
const Post = new EntitySchema({ name: "Post", tableName: "posts", columns: { id: { type: "bigint", primary: true, generated: "identity" }, title: { type: "varchar" }, body: { type: "text", nullable: true }, likes: { type: "int", default: 0 } },
  relations: { author: { type: "many-to-one", target: "User", inverseSide: "posts", onDelete: "RESTRICT", onUpdate: "CASCADE", nullable: true }, tags: { type: "many-to-many", target: "Tag", joinTable: { name: "post_tags" }, cascade: true } },
  uniques: [{ name: "posts_title", columns: ["title", "author"], deferrable: "INITIALLY DEFERRED" }] });
const Tag = new EntitySchema({ name: "Tag", tableName: "tags", columns: { name: { type: "varchar", length: 30, primary: true } } });
const Node = new EntitySchema({ name: "Node", tableName: "nodes", columns: { id: { type: "int", primary: true, generated: true }, name: { type: "varchar" } },
  relations: { parent: { type: "many-to-one", target: "Node", treeParent: true, inverseSide: "children" }, children: { type: "one-to-many", target: "Node", treeChildren: true, inverseSide: "parent", cascade: true } }, trees: [{ type: "closure-table" }] });
const Job = new EntitySchema({ name: "Job", tableName: "jobs", schema: "work", columns: { id: { type: "int", primary: true, generated: true }, state: { type: "varchar", default: "new" } } });
const Count = new EntitySchema({ name: "Count", tableName: "counts", type: "view", expression: 'SELECT "authorId" AS author, count(*) AS n FROM posts GROUP BY "authorId"', columns: { author: { type: "int" }, n: { type: "bigint" } } });
const Total = new EntitySchema({ name: "Total", tableName: "totals", type: "view", materialized: true, expression: "SELECT sum(likes) AS likes FROM posts", columns: { likes: { type: "bigint" } } });
const entities = [User, Profile, Post, Tag, Node, Job, Count, Total];

class First1700000000001 {
  constructor() { this.name = "First1700000000001"; }
  async up(r) {
    await r.createTable(new Table({ name: "things", columns: [{ name: "id", type: "int", isPrimary: true, isGenerated: true, generationStrategy: "increment" }, { name: "kind", type: "enum", enum: ["x", "y"], enumName: "thing_kind", default: "'x'" }, { name: "label", type: "varchar", length: "40", default: "'it''s'" }, { name: "made", type: "timestamptz", default: "now()" }], checks: [{ name: "things_label", expression: "length(label) > 0" }] }), true);
  }
  async down(r) { await r.dropTable("things"); }
}
class Second1700000000002 {
  constructor() { this.name = "Second1700000000002"; }
  async up(r) {
    await r.addColumn("things", new TableColumn({ name: "amount", type: "numeric", precision: 10, scale: 3, default: 1.5 }));
    await r.addColumn("things", new TableColumn({ name: "user_id", type: "int", isNullable: true }));
    await r.createForeignKey("things", new TableForeignKey({ name: "things_user", columnNames: ["user_id"], referencedTableName: "users", referencedColumnNames: ["id"], onDelete: "CASCADE", onUpdate: "RESTRICT", deferrable: "INITIALLY DEFERRED" }));
    await r.createIndex("things", new TableIndex({ name: "things_kind", columnNames: ["kind", "amount"], where: "amount > 0" }));
    await r.createUniqueConstraint("things", new TableUnique({ name: "things_u", columnNames: ["label", "kind"] }));
    await r.createCheckConstraint("things", new TableCheck({ name: "things_c", expression: "amount between 0 and 100" }));
    await r.renameColumn("things", "label", "title");
    await r.changeColumn("things", "kind", new TableColumn({ name: "kind", type: "enum", enum: ["x", "y", "z"], enumName: "thing_kind", default: "'y'" }));
    await r.changeColumn("things", "made", new TableColumn({ name: "made", type: "timestamptz", default: "now()", isNullable: true, comment: "when" }));
    await r.renameTable("things", "objects");
  }
  async down(r) {
    await r.renameTable("objects", "things");
    await r.renameColumn("things", "title", "label");
    await r.dropForeignKey("things", "things_user");
    await r.dropUniqueConstraint("things", "things_u");
    await r.dropCheckConstraint("things", "things_c");
    await r.dropIndex("things", "things_kind");
    await r.dropColumns("things", ["amount", "user_id"]);
  }
}
class Third1700000000003 {
  constructor() { this.name = "Third1700000000003"; }
  async up(r) { await r.query("ALTER TABLE objects ADD lost int"); await r.query("INSERT INTO objects (amount) VALUES (1000)"); }
  async down() {}
}

const show = (title, value) => console.log(title, JSON.stringify(value === undefined ? null : value, (k, v) => (["made", "changed"].includes(k) && v ? "WHEN" : v)));
const attempt = async (title, work) => {
  try { show(title, await work()); } catch (e) { const d = e.driverError || e; console.log(title, "|", e.name, "|", e.message, "|", d.code, (d.detail || "").replace(/Failing row.*/, "Failing row"), d.constraint, d.table, d.column, d.position); }
};
const seen = (q) => q.map((s) => s.query + (s.parameters && s.parameters.length ? " -- " + JSON.stringify(s.parameters) : ""));
const table = async (db, name) => {
  const r = db.createQueryRunner();
  const t = await r.getTable(name);
  await r.release();
  const by = (a, b) => (a.name < b.name ? -1 : 1);
  const plain = (o, ...keys) => Object.fromEntries(keys.filter((k) => o[k] !== undefined && o[k] !== false).map((k) => [k, o[k]]));
  console.log(name, t && t.comment);
  for (const c of t.columns.sort(by)) show(" ", plain(c, "name", "type", "length", "precision", "scale", "default", "isNullable", "isPrimary", "isUnique", "isArray", "isGenerated", "generationStrategy", "generatedIdentity", "generatedType", "asExpression", "enum", "enumName", "comment", "width"));
  for (const c of t.indices.sort(by)) show("  index", plain(c, "name", "columnNames", "isUnique", "where"));
  for (const c of t.uniques.sort(by)) show("  unique", plain(c, "name", "columnNames", "deferrable"));
  for (const c of t.checks.sort(by)) show("  check", plain(c, "name", "columnNames", "expression"));
  for (const c of t.foreignKeys.sort(by)) show("  foreign", plain(c, "name", "columnNames", "referencedTableName", "referencedColumnNames", "onDelete", "onUpdate", "deferrable"));
};

(async () => {
  const options = { type: "postgres", url: process.env.PLANARIA_DSN, entities, synchronize: false, poolSize: 6, migrations: [First1700000000001, Second1700000000002], migrationsTransactionMode: "each", installExtensions: true, uuidExtension: "pgcrypto" };
  const setup = await new DataSource({ ...options, entities: [] }).initialize();
  await setup.query("CREATE SCHEMA work");
  await setup.destroy();
  const db = await new DataSource(options).initialize();
  await attempt("wanted", async () => seen((await db.driver.createSchemaBuilder().log()).upQueries).length);
  await db.synchronize();
  const left = await db.driver.createSchemaBuilder().log();
  console.log("wanted after synchronize:", seen(left.upQueries));
  await attempt("synchronize anew", () => db.synchronize());
  for (const t of ["users", "profiles", "posts", "post_tags", "nodes", "nodes_closure", "work.jobs"]) await table(db, t);

  await attempt("migrations", async () => (await db.runMigrations()).map((m) => m.name));
  await attempt("migrations anew", async () => [await db.runMigrations(), await db.showMigrations()]);
  await table(db, "objects");
  const failing = await new DataSource({ ...options, migrations: [First1700000000001, Second1700000000002, Third1700000000003] }).initialize();
  await attempt("a migration that fails", () => failing.runMigrations());
  await failing.destroy();
  await table(db, "objects");
  await attempt("back", () => db.undoLastMigration());
  await table(db, "things");
  await attempt("forth", async () => (await db.runMigrations()).map((m) => m.name));
  await attempt("back twice", async () => { await db.undoLastMigration(); await db.undoLastMigration(); return db.query("SELECT count(*) FROM migrations"); });

  const users = db.getRepository("User"), posts = db.getRepository("Post"), tags = db.getRepository("Tag"), jobs = db.getRepository("Job");
  const ann = await users.save({ uid: "0b0e7a7c-8f3c-4c53-9c5a-6a9f2c9d0001", name: "Ann", email: "ann@example.org", age: 30, balance: "12345678.90", big: "9007199254740993", ratio: 0.1, role: "admin", roles: ["b", "a"], kind: "y", settings: { deep: { n: [1, 2] } }, raw: { b: 1, a: 2 }, list: ["p", "q"], object: { z: 1 }, tags: ["x", "y,z", 'q"'], scores: [3, 1], born: "2000-02-29", wakes: "06:30:00", seen: new Date("2026-03-29T01:30:00.123Z"), local: new Date("2026-03-29T02:30:00Z"), lasts: "1 year 2 days 03:04:05.6", photo: Buffer.from([0, 255]), span: "[1,10]", address: "10.0.0.1", code: "ab", bits: "101", secret: "s",
    profile: { bio: "of Ann" }, posts: [{ title: "First", tags: [{ name: "sql" }] }, { title: "Second", tags: [{ name: "sql" }, { name: "rust" }] }] });
  show("saved", ann);
  show("found", await users.findOne({ where: { id: ann.id }, relations: { profile: true, posts: { tags: true } }, order: { posts: { title: "DESC", tags: { name: "ASC" } } } }).then((u) => { delete u.profile.id; return u; }));
  await users.insert(Array.from({ length: 20 }, (_, i) => ({ uid: `0b0e7a7c-8f3c-4c53-9c5a-6a9f2c9d1${String(i).padStart(3, "0")}`, name: "User " + i, email: `u${i}@example.org`, age: 10 + i, boss: { id: ann.id }, balance: i * 1.25, settings: { n: i }, tags: ["t" + (i % 3)] })));
  await attempt("unique", () => users.insert({ name: "Bob", email: "ann@example.org" }));
  await attempt("not null", () => users.insert({ email: "b@example.org" }));
  await attempt("check", () => users.update({ id: ann.id }, { age: -1 }));
  await attempt("foreign key", () => posts.insert({ title: "t", author: { id: 999 } }));
  await attempt("restrict", () => users.delete({ id: ann.id }));
  await attempt("enum", () => db.query("UPDATE users SET role = 'nix'"));
  await attempt("too long", () => tags.insert({ name: "x".repeat(31) }));
  await attempt("overflow", () => users.update({ id: ann.id }, { age: 99999 }));
  await attempt("uuid", () => users.findOneBy({ uid: "nix" }));
  await attempt("not found", () => users.findOneOrFail({ where: { id: 999 }, select: { id: true } }));
  await attempt("deferred", () => db.transaction(async (m) => { await m.insert("Post", { title: "First", author: { id: ann.id } }); }));
  await attempt("page", () => users.findAndCount({ select: { id: true, name: true }, where: [{ age: Between(12, 25), name: ILike("user%") }, { email: In(["ann@example.org"]) }], order: { age: { direction: "DESC", nulls: "LAST" } }, take: 3, skip: 2 }));
  await attempt("page with relations", () => users.find({ select: { id: true, name: true, posts: { id: true, title: true } }, relations: { posts: true }, order: { id: "ASC", posts: { id: "DESC" } }, take: 2 }));
  await attempt("operators", async () => [await users.countBy({ kind: IsNull() }), await users.countBy({ age: Not(MoreThan(20)) }), await users.countBy({ tags: ArrayContains(["t1"]) }), await users.countBy({ tags: ArrayOverlap(["t1", "x"]) }), await users.countBy({ name: Any(["Ann", "User 1"]) }), await users.countBy({ settings: JsonContains({ n: 3 }) }), await users.countBy({ age: Raw((a) => `${a} % :d = 0`, { d: 5 }) })]);
  await attempt("sums", async () => [await users.sum("balance", {}), await users.average("age", {}), await users.minimum("age", {}), await users.maximum("big", {}), await users.existsBy({ name: Like("An_") })]);
  await attempt("builder", () => users.createQueryBuilder("u").leftJoinAndSelect("u.posts", "p", "p.title <> :t", { t: "Second" }).select(["u.name", "p.title"]).addSelect("u.secret").where("u.settings->>'n' IS NULL").andWhere((q) => "u.id IN " + q.subQuery().select("b.id").from("User", "b").where("b.age > :a").getQuery()).setParameter("a", 20).orderBy("u.id").getMany());
  await attempt("raw", () => users.createQueryBuilder("u").select("date_trunc('year', u.born)", "y").addSelect("count(*)", "n").addSelect("array_agg(u.id ORDER BY u.id DESC)", "ids").where("u.id < 4").groupBy("y").having("count(*) > 0").orderBy("n", "DESC").getRawMany());
  await attempt("cte", () => db.createQueryBuilder().addCommonTableExpression("SELECT 1 AS n UNION ALL SELECT n + 1 FROM t WHERE n < 4", "t", { recursive: true }).select("n").from("t", "t").getRawMany());
  await attempt("distinct on", () => users.createQueryBuilder("u").select(["u.id", "u.tags"]).distinctOn(["u.tags"]).orderBy("u.tags").addOrderBy("u.id").getMany());
  await attempt("upsert", async () => (await users.upsert([{ email: "u0@example.org", name: "Zero" }, { email: "new@example.org", name: "New", uid: ann.uid }], { conflictPaths: ["email"], skipUpdateIfNoValuesChanged: true })).identifiers);
  await attempt("or ignore", async () => (await db.createQueryBuilder().insert().into("Tag").values([{ name: "sql" }, { name: "go" }]).orIgnore().returning("*").execute()).raw);
  await attempt("update returning", async () => (await db.createQueryBuilder().update("User").set({ age: () => "age + 1" }).where("name IN (:...n)", { n: ["User 1"] }).returning(["id", "age"]).execute()).raw);
  await attempt("increment", async () => { await posts.increment({ title: "First" }, "likes", 5); return posts.findOneBy({ title: "First" }); });
  await attempt("soft", async () => { await users.softDelete({ name: "User 2" }); const gone = await users.countBy({ name: "User 2" }); await users.restore({ name: "User 2" }); return [gone, await users.countBy({ name: "User 2" })]; });
  await attempt("version", async () => { const u = await users.findOneBy({ name: "User 3" }); u.age = 99; await users.save(u); return [u.version, u.age]; });
  await attempt("optimistic", () => users.findOne({ where: { name: "User 3" }, lock: { mode: "optimistic", version: 1 } }));
  await attempt("views", async () => { await db.query("REFRESH MATERIALIZED VIEW totals"); return [await db.getRepository("Count").find(), await db.getRepository("Total").find()]; });
  const trees = db.getTreeRepository("Node");
  await attempt("tree", async () => { const root = await trees.save({ name: "root", children: [{ name: "a" }, { name: "b" }] }); await trees.save({ name: "aa", parent: root.children[0] }); return [await trees.findDescendantsTree(await trees.findOneBy({ name: "root" })), await trees.countDescendants(root), (await trees.findAncestors(await trees.findOneBy({ name: "aa" }))).map((n) => n.name).sort()]; });
  await attempt("remove a tag", async () => { const p = await posts.findOne({ where: { title: "Second" }, relations: { tags: true } }); p.tags = p.tags.filter((t) => t.name !== "rust"); await posts.save(p); return db.query("SELECT * FROM post_tags ORDER BY 1, 2"); });
  await attempt("stream", async () => { const s = await users.createQueryBuilder("u").select("u.id").where("u.id < 4").stream(); return s; }).catch(() => {});

  await attempt("rollback", () => db.transaction(async (m) => { await m.insert("Tag", { name: "lost" }); throw new Error("no"); }));
  await db.transaction(async (m) => {
    await m.insert("Tag", { name: "outer" });
    await m.transaction(async (s) => { await s.insert("Tag", { name: "inner" }); throw new Error("no"); }).catch((e) => console.log("inner:", e.message));
    await attempt("in the savepoint", () => m.transaction((s) => s.insert("Tag", { name: "outer" })));
    await m.insert("Tag", { name: "after" });
  });
  show("tags", await tags.find({ order: { name: "ASC" } }));
  await attempt("after an error", () => db.transaction(async (m) => { await m.query("SELECT 1/0").catch((e) => console.log(e.message)); await m.count("Tag"); }));
  for (const level of ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"]) await attempt(level, () => db.transaction(level, (m) => m.query("SHOW transaction_isolation")));
  await jobs.insert(Array.from({ length: 10 }, () => ({})));
  const one = db.createQueryRunner(), two = db.createQueryRunner();
  await one.startTransaction();
  await two.startTransaction();
  const take = async (r) => (await r.manager.find("Job", { where: { state: "new" }, order: { id: "ASC" }, take: 3, lock: { mode: "pessimistic_write", onLocked: "skip_locked" } })).map((j) => j.id);
  show("skip locked", [await take(one), await take(two)]);
  await attempt("nowait", () => two.manager.findOne("Job", { where: { id: 1 }, lock: { mode: "pessimistic_write", onLocked: "nowait" } }));
  await one.commitTransaction();
  await two.rollbackTransaction();
  await one.release();
  await two.release();
  await attempt("share", () => db.transaction((m) => m.findOne("Job", { where: { id: 1 }, lock: { mode: "for_key_share" } })));
  await users.update({ id: ann.id }, { age: 0 });
  await Promise.all(Array.from({ length: 50 }, () => db.transaction(async (m) => { const u = await m.findOne("User", { where: { id: ann.id }, lock: { mode: "pessimistic_write" } }); await m.update("User", { id: ann.id }, { age: u.age + 1 }); })));
  show("counted", (await users.findOneBy({ id: ann.id })).age);
  const serial = async () => { for (;;) try { return await db.transaction("SERIALIZABLE", async (m) => { const p = await m.findOneBy("Post", { title: "First" }); await m.update("Post", { id: p.id }, { likes: p.likes + 1 }); }); } catch (e) { if (!["40001", "40P01"].includes(e.driverError && e.driverError.code)) throw e; } };
  await Promise.all(Array.from({ length: 12 }, serial));
  show("serializable", (await posts.findOneBy({ title: "First" })).likes);
  await attempt("clear", () => jobs.clear());
  await attempt("drop", () => db.dropDatabase());
  show("left", await db.query("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1"));
  show("types", await db.query("SELECT typname FROM pg_type WHERE typtype = 'e' ORDER BY 1"));
  await db.destroy();
})().catch((e) => { console.log(e.name, e.message); process.exit(1); });
