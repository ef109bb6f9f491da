// Drizzle ORM: its migrator, queries, relations, transactions, errors, locks.
const { drizzle } = require("drizzle-orm/node-postgres");
const { migrate } = require("drizzle-orm/node-postgres/migrator");
const { eq, and, or, gt, lt, sql, desc, asc, inArray, ilike, between, isNull, count, sum, avg, max, exists, arrayContains, arrayOverlaps, getTableColumns } = require("drizzle-orm");
const { union, alias, unionAll, intersect } = require("drizzle-orm/pg-core");
const { Pool } = require("pg");
const s = require("./schema.js");
const { users, posts, labels, postLabels, items, published, totals } = s;

const show = (title, value) => console.log(title, JSON.stringify(value === undefined ? null : value, (k, v) => (typeof v === "bigint" ? v + "n" : k === "createdAt" ? "WHEN" : v)));
const attempt = async (title, work) => {
  try { show(title, await work()); } catch (e) { const d = e.cause || e; console.log(title, "|", e.constructor.name, "|", e.message.split("\n")[0], "|", d.code, d.message, (d.detail || "").replace(/Failing row.*/, "Failing row"), d.constraint, d.table, d.column, d.position); }
};

(async () => {
  const pool = new Pool({ connectionString: process.env.PLANARIA_DSN, max: 6 });
  const db = drizzle(pool, { schema: s });
  const folder = process.argv[2];
  await attempt("migrate", () => migrate(db, { migrationsFolder: folder }));
  await attempt("migrate anew", () => migrate(db, { migrationsFolder: folder }));
  show("migrations", (await db.execute(sql`SELECT count(*) FROM drizzle.__drizzle_migrations`)).rows);
  const [ann] = await db.insert(users).values({ uid: "0b0e7a7c-8f3c-4c53-9c5a-6a9f2c9d0001", name: "Ann", email: "ann@example.org", age: 30, balance: "12345678.90", settings: { deep: { n: [1, 2] } }, tags: ["x", "y,z", 'q"'], matrix: [[1, 2], [3, 4]], born: "2000-02-29", big: 9007199254740993n, createdAt: new Date("2026-03-29T01:30:00.123Z") }).returning();
  show("ann", ann);
  await db.insert(users).values(Array.from({ length: 20 }, (_, i) => ({ uid: ann.uid, name: "User " + i, email: `u${i}@example.org`, age: 10 + i, balance: (i * 1.25).toFixed(2), settings: { n: i }, tags: ["t" + (i % 3)], managerId: ann.id })));
  show("posts", await db.insert(posts).values([{ title: "First", authorId: ann.id, meta: { b: 1, a: 2 }, rating: 0.1, published: new Date("2026-01-02T03:04:05.678Z"), status: "published" }, { title: "Second", authorId: ann.id }]).returning());
  show("labels", await db.insert(labels).values([{ name: "sql", address: "10.0.0.1", net: "10.0.0.0/8", mac: "08:00:2b:01:02:03", statuses: ["draft", "published"] }, { name: "rust" }]).returning());
  await db.insert(postLabels).values([{ postId: 10, labelId: 1 }, { postId: 11, labelId: 1 }, { postId: 11, labelId: 2 }]);
  show("items", await db.insert(items).values([{ price: "1.5" }, { mood: "happy" }]).returning());
  await attempt("unique", () => db.insert(users).values({ name: "Bob", email: "ann@example.org" }));
  await attempt("unique of an expression", () => db.insert(users).values({ name: "Bob", email: "ANN@example.org" }));
  await attempt("nulls not distinct", () => db.insert(labels).values({ name: "sql" }));
  await attempt("not null", () => db.insert(users).values({ email: "b@example.org" }));
  await attempt("check", () => db.update(users).set({ age: -1 }).where(eq(users.id, ann.id)));
  await attempt("foreign key", () => db.insert(posts).values({ title: "t", authorId: 999 }));
  await attempt("foreign key of a delete", () => db.delete(labels).where(eq(labels.id, 1)));
  await attempt("enum", () => db.update(posts).set({ status: "nix" }));
  await attempt("identity", () => db.execute(sql`INSERT INTO posts (id, title, author_id) VALUES (1, 'x', 1)`));
  await attempt("syntax", () => db.execute(sql`SELEC 1`));
  await attempt("relations", () => db.query.users.findFirst({ where: eq(users.id, ann.id), columns: { name: true, balance: true, createdAt: true }, with: { posts: { columns: { id: true, title: true, published: true }, orderBy: desc(posts.title), with: { labels: { with: { label: { columns: { name: true } } } } } }, manager: { columns: { name: true } } }, extras: { low: sql`lower(${users.name})`.as("low") } }));
  await attempt("relations of many", () => db.query.users.findMany({ columns: { id: true }, with: { posts: { limit: 1, columns: { title: true }, orderBy: asc(posts.id) } }, orderBy: asc(users.id), limit: 2, offset: 0 }));
  await attempt("join", () => db.select({ u: users.name, p: posts.title, l: labels.name }).from(users).leftJoin(posts, eq(posts.authorId, users.id)).leftJoin(postLabels, eq(postLabels.postId, posts.id)).leftJoin(labels, eq(labels.id, postLabels.labelId)).where(lt(users.id, 3)).orderBy(users.id, posts.id, labels.id));
  const boss = alias(users, "boss");
  await attempt("alias", () => db.select({ n: users.name, b: boss.name }).from(users).innerJoin(boss, eq(users.managerId, boss.id)).orderBy(users.id).limit(2).offset(1));
  await attempt("group", () => db.select({ tags: users.tags, n: count(), s: sum(users.balance), a: avg(users.age), m: max(users.age) }).from(users).groupBy(users.tags).having(gt(count(), 1)).orderBy(users.tags));
  await attempt("count", () => db.$count(users, ilike(users.name, "user 1%")));
  await attempt("arrays", () => db.select({ id: users.id }).from(users).where(or(arrayContains(users.tags, ["x"]), arrayOverlaps(users.tags, ["t2"]))).orderBy(users.id).limit(3));
  await attempt("json", () => db.select({ id: users.id, n: sql`${users.settings}->'n'` }).from(users).where(sql`${users.settings} @> ${JSON.stringify({ n: 3 })}`));
  const sq = db.$with("sq").as(db.select({ id: users.id, rank: sql`row_number() over (order by ${users.age} desc)`.mapWith(Number).as("rank") }).from(users));
  await attempt("with", () => db.with(sq).select().from(sq).where(lt(sq.rank, 4)).orderBy(sq.rank));
  await attempt("lateral", () => { const l = db.select({ t: posts.title }).from(posts).where(eq(posts.authorId, users.id)).orderBy(desc(posts.id)).limit(1).as("l"); return db.select({ id: users.id, t: l.t }).from(users).leftJoinLateral(l, sql`true`).orderBy(users.id).limit(2); });
  await attempt("union", () => union(db.select({ id: users.id }).from(users).where(lt(users.id, 3)), db.select({ id: users.id }).from(users).where(eq(users.id, 5))).orderBy(sql`id`));
  await attempt("exists", () => db.select({ id: users.id }).from(users).where(and(exists(db.select({ one: sql`1` }).from(posts).where(eq(posts.authorId, users.id))), between(users.age, 1, 50), isNull(users.managerId))));
  await attempt("distinct on", () => db.selectDistinctOn([users.tags], { id: users.id, tags: users.tags }).from(users).orderBy(users.tags, users.id));
  await attempt("views", async () => { await db.refreshMaterializedView(totals); return [await db.select().from(published), await db.select().from(totals)]; });
  await attempt("refresh concurrently", () => db.refreshMaterializedView(totals).concurrently());
  await attempt("upsert", () => db.insert(users).values([{ name: "Zero", email: "u0@example.org" }, { name: "New", email: "new@example.org" }]).onConflictDoUpdate({ target: users.email, set: { name: sql`excluded.name`, age: sql`${users.age} + 1` }, setWhere: sql`${users.age} < 50` }).returning({ id: users.id, name: users.name, age: users.age }));
  await attempt("do nothing", () => db.insert(users).values({ name: "Zero", email: "u0@example.org" }).onConflictDoNothing().returning({ id: users.id }));
  await attempt("insert select", () => db.insert(postLabels).select(db.select({ postId: posts.id, labelId: sql`2`.as("labelId") }).from(posts).where(eq(posts.title, "First"))).returning());
  await attempt("update from", () => db.update(posts).set({ body: sql`${users.name}` }).from(users).where(and(eq(posts.authorId, users.id), eq(posts.title, "First"))).returning({ body: posts.body, name: users.name }));
  await attempt("sequence", () => db.execute(sql`SELECT nextval('ticket') AS a, nextval('ticket') AS b`).then((r) => r.rows));
  const prepared = db.select({ id: users.id }).from(users).where(eq(users.email, sql.placeholder("email"))).prepare("by_email");
  await attempt("prepared", async () => [await prepared.execute({ email: "u1@example.org" }), await prepared.execute({ email: "u2@example.org" })]);
  await attempt("rollback", () => db.transaction(async (t) => { await t.update(users).set({ name: "lost" }).where(eq(users.id, 2)); t.rollback(); }));
  await db.transaction(async (t) => {
    await t.update(users).set({ name: "outer" }).where(eq(users.id, 2));
    await t.transaction(async (n) => { await n.update(users).set({ name: "inner" }).where(eq(users.id, 3)); throw new Error("no"); }).catch((e) => console.log("inner:", e.message));
    await attempt("in the savepoint", () => t.transaction((n) => n.insert(users).values({ name: "x", email: "ann@example.org" })));
    await t.update(users).set({ name: "after" }).where(eq(users.id, 4));
  });
  show("names", await db.select({ n: users.name }).from(users).where(inArray(users.id, [2, 3, 4])).orderBy(users.id));
  await attempt("after an error", () => db.transaction(async (t) => { await t.execute(sql`SELECT 1/0`).catch((e) => console.log(e.cause.message)); await t.select().from(labels); }));
  for (const isolationLevel of ["read uncommitted", "read committed", "repeatable read", "serializable"]) await attempt(isolationLevel, () => db.transaction(async (t) => (await t.execute(sql`SHOW transaction_isolation`)).rows, { isolationLevel }));
  await attempt("read only", () => db.transaction((t) => t.delete(postLabels), { accessMode: "read only", deferrable: true, isolationLevel: "serializable" }));
  await db.transaction(async (one) => db.transaction(async (two) => {
    const take = (t) => t.select({ id: users.id }).from(users).orderBy(users.id).limit(3).for("update", { skipLocked: true });
    show("skip locked", [await take(one), await take(two)]);
    await attempt("nowait", () => two.select({ id: users.id }).from(users).where(eq(users.id, 1)).for("no key update", { of: users, noWait: true }));
  }).catch((e) => console.log(e.message)));
  await db.update(users).set({ age: 0 }).where(eq(users.id, 1));
  await Promise.all(Array.from({ length: 50 }, () => db.transaction(async (t) => { const [u] = await t.select({ age: users.age }).from(users).where(eq(users.id, 1)).for("update"); await t.update(users).set({ age: u.age + 1 }).where(eq(users.id, 1)); })));
  show("counted", await db.select({ age: users.age }).from(users).where(eq(users.id, 1)));
  const serial = async () => { for (;;) try { return await db.transaction(async (t) => { const [u] = await t.select({ age: users.age }).from(users).where(eq(users.id, 2)); await t.update(users).set({ age: u.age + 1 }).where(eq(users.id, 2)); }, { isolationLevel: "serializable" }); } catch (e) { if (!["40001", "40P01"].includes((e.cause || e).code)) throw e; } };
  await Promise.all(Array.from({ length: 12 }, serial));
  show("serializable", await db.select({ age: users.age }).from(users).where(eq(users.id, 2)));
  await attempt("cascade", async () => { await db.delete(users).where(eq(users.id, 1)); return [await db.$count(posts), await db.$count(postLabels), await db.$count(users, isNull(users.managerId))]; });
  await pool.end();
})().catch((e) => { console.log(e.constructor.name, e.message, e.cause); process.exit(1); });
