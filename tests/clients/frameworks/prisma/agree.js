// Prisma Client over @prisma/adapter-pg: nested writes, eager loading, types, aggregates, errors, transactions, locks.
const { PrismaClient, Prisma } = require("@prisma/client");
const { PrismaPg } = require("@prisma/adapter-pg");
const { Client } = require("pg");

const show = (title, value) => console.log(title, JSON.stringify(value === undefined ? null : value, (k, v) => (typeof v === "bigint" ? v + "n" : ["made", "changed"].includes(k) ? "WHEN" : v)));
const attempt = async (title, work) => {
  try { show(title, await work()); } catch (e) { console.log(title, "|", e.constructor.name, e.code, JSON.stringify(e.meta, (k, v) => (k === "originalMessage" || k === "message" ? String(v).replace(/\(\d+, .*\)/, "ROW") : v)), "|", e.message.split("\n").pop()); }
};
const setup = `
CREATE TYPE "Role" AS ENUM ('guest', 'member', 'admin');
CREATE TABLE "users" ("id" SERIAL NOT NULL, "uid" UUID NOT NULL DEFAULT gen_random_uuid(), "name" VARCHAR(80) NOT NULL, "email" TEXT NOT NULL, "age" SMALLINT NOT NULL DEFAULT 18, "balance" DECIMAL(12,2) NOT NULL DEFAULT 0, "big" BIGINT, "ratio" DOUBLE PRECISION, "score" REAL NOT NULL DEFAULT 1.5, "active" BOOLEAN NOT NULL DEFAULT true, "role" "Role" NOT NULL DEFAULT 'guest', "roles" "Role"[], "settings" JSONB NOT NULL DEFAULT '{"theme":"light","a":1}', "raw" JSON, "tags" TEXT[], "scores" INTEGER[], "born" DATE, "wakes" TIME(0), "seen" TIMESTAMPTZ(3), "local" TIMESTAMP(3), "photo" BYTEA, "address" INET, "code" CHAR(4), "bits" BIT VARYING(8), "made" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP, "changed" TIMESTAMP(3) NOT NULL, "boss_id" INTEGER, CONSTRAINT "users_pkey" PRIMARY KEY ("id"));
CREATE TABLE "Profile" ("id" TEXT NOT NULL, "bio" TEXT NOT NULL, "userId" INTEGER NOT NULL, CONSTRAINT "Profile_pkey" PRIMARY KEY ("id"));
CREATE TABLE "Post" ("id" BIGSERIAL NOT NULL, "title" TEXT NOT NULL, "likes" INTEGER NOT NULL DEFAULT 0, "authorId" INTEGER NOT NULL, CONSTRAINT "Post_pkey" PRIMARY KEY ("id"));
CREATE TABLE "Tag" ("name" VARCHAR(30) NOT NULL, CONSTRAINT "Tag_pkey" PRIMARY KEY ("name"));
CREATE TABLE "Pair" ("a" INTEGER NOT NULL, "b" INTEGER NOT NULL, "n" INTEGER NOT NULL DEFAULT 0, CONSTRAINT "Pair_pkey" PRIMARY KEY ("a","b"));
CREATE TABLE "_PostToTag" ("A" BIGINT NOT NULL, "B" VARCHAR(30) NOT NULL, CONSTRAINT "_PostToTag_AB_pkey" PRIMARY KEY ("A","B"));
CREATE UNIQUE INDEX "users_email_key" ON "users"("email");
CREATE INDEX "users_name_age_idx" ON "users"("name", "age" DESC);
CREATE INDEX "users_tags_idx" ON "users" USING GIN ("tags");
CREATE UNIQUE INDEX "Profile_userId_key" ON "Profile"("userId");
CREATE UNIQUE INDEX "Post_authorId_title_key" ON "Post"("authorId", "title");
CREATE INDEX "_PostToTag_B_index" ON "_PostToTag"("B");
ALTER TABLE "users" ADD CONSTRAINT "users_boss_id_fkey" FOREIGN KEY ("boss_id") REFERENCES "users"("id") ON DELETE SET NULL ON UPDATE CASCADE;
ALTER TABLE "Profile" ADD CONSTRAINT "Profile_userId_fkey" FOREIGN KEY ("userId") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "Post" ADD CONSTRAINT "Post_authorId_fkey" FOREIGN KEY ("authorId") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "_PostToTag" ADD CONSTRAINT "_PostToTag_A_fkey" FOREIGN KEY ("A") REFERENCES "Post"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "_PostToTag" ADD CONSTRAINT "_PostToTag_B_fkey" FOREIGN KEY ("B") REFERENCES "Tag"("name") ON DELETE CASCADE ON UPDATE CASCADE;`;

(async () => {
  const client = new Client({ connectionString: process.env.PLANARIA_DSN });
  client.on("notice", () => {});
  await client.connect();
  await client.query(setup);
  await client.end();
  const db = new PrismaClient({ adapter: new PrismaPg({ connectionString: process.env.PLANARIA_DSN, max: 6 }) });
  const ann = await db.user.create({
    data: { uid: "0b0e7a7c-8f3c-4c53-9c5a-6a9f2c9d0001", name: "Ann", email: "ann@example.org", age: 30, balance: "12345678.90", big: 9007199254740993n, ratio: 0.1, role: "admin", roles: ["member", "guest"], settings: { deep: { n: [1, 2] } }, raw: { b: 1, a: 2 }, tags: ["x", "y,z", 'q"'], scores: [3, 1], born: new Date("2000-02-29"), wakes: new Date("1970-01-01T06:30:00Z"), seen: new Date("2026-03-29T01:30:00.123Z"), local: new Date("2026-03-29T02:30:00Z"), photo: Buffer.from([0, 255]), address: "10.0.0.1", code: "ab", bits: "101",
      profile: { create: { id: "p1", bio: "of Ann" } },
      posts: { create: [{ title: "First", tags: { connectOrCreate: { where: { name: "sql" }, create: { name: "sql" } } } }, { title: "Second", tags: { connectOrCreate: ["sql", "rust"].map((name) => ({ where: { name }, create: { name } })) } }] } },
    include: { profile: true, posts: { include: { tags: { orderBy: { name: "asc" } } }, orderBy: { id: "asc" } } } });
  show("ann", ann);
  show("many", await db.user.createMany({ data: Array.from({ length: 20 }, (_, i) => ({ uid: ann.uid, name: "User " + i, email: `u${i}@example.org`, age: 10 + i, balance: i * 1.25, settings: { n: i }, tags: ["t" + (i % 3)], bossId: ann.id })) }));
  await attempt("many and return", () => db.tag.createManyAndReturn({ data: [{ name: "sql" }, { name: "go" }], skipDuplicates: true }));
  await attempt("unique", () => db.user.create({ data: { name: "Bob", email: "ann@example.org" } }));
  await attempt("unique of two", () => db.post.create({ data: { title: "First", authorId: ann.id } }));
  await attempt("foreign key", () => db.post.create({ data: { title: "t", authorId: 999 } }));
  await attempt("restrict", () => db.user.delete({ where: { id: ann.id } }));
  await attempt("too long", () => db.tag.create({ data: { name: "x".repeat(31) } }));
  await attempt("overflow", () => db.user.update({ where: { id: ann.id }, data: { age: 99999 } }));
  await attempt("numeric overflow", () => db.user.update({ where: { id: ann.id }, data: { balance: "99999999999.99" } }));
  await attempt("no row", () => db.user.update({ where: { id: 999 }, data: { age: 1 } }));
  await attempt("not found", () => db.user.findUniqueOrThrow({ where: { email: "nix" } }));
  await attempt("uuid", () => db.user.findFirst({ where: { uid: "nix" } }));
  await attempt("raw error", () => db.$queryRaw`SELECT nix FROM users`);
  await attempt("raw not null", () => db.$executeRaw`INSERT INTO users (email) VALUES ('x')`);
  await attempt("page", () => db.$transaction([db.user.findMany({ select: { id: true, name: true, _count: { select: { posts: true, staff: true } } }, where: { OR: [{ age: { gte: 12, lt: 25 }, name: { startsWith: "user", mode: "insensitive" } }, { email: { in: ["ann@example.org"] } }], NOT: { name: { contains: "7" } } }, orderBy: [{ age: "desc" }, { id: "asc" }], take: 3, skip: 2 }), db.user.count()]));
  await attempt("cursor", () => db.user.findMany({ select: { id: true }, cursor: { id: 5 }, skip: 1, take: -2, orderBy: { id: "asc" } }));
  await attempt("nulls", () => db.user.findMany({ select: { id: true }, orderBy: [{ big: { sort: "desc", nulls: "last" } }, { id: "desc" }], take: 2 }));
  await attempt("eager", () => db.user.findMany({ where: { posts: { some: { tags: { some: { name: "rust" } } } }, profile: { isNot: null }, staff: { every: { age: { lt: 50 } } } }, select: { name: true, boss: true, posts: { select: { title: true, tags: { select: { name: true }, orderBy: { name: "asc" } } }, orderBy: { title: "desc" }, take: 1 } } }));
  await attempt("json", () => db.user.findMany({ where: { settings: { path: ["n"], gt: 17 } }, select: { settings: true }, orderBy: { id: "asc" } }));
  await attempt("json array", () => db.user.findMany({ where: { settings: { path: ["deep", "n"], array_contains: [2] } }, select: { id: true } }));
  await attempt("json equals", () => db.user.count({ where: { settings: { equals: { n: 3 } } } }));
  await attempt("json string", () => db.user.count({ where: { settings: { path: ["theme"], string_contains: "x" } } }));
  await attempt("json null", () => db.user.count({ where: { raw: { equals: Prisma.DbNull } } }));
  await attempt("lists", async () => [await db.user.count({ where: { tags: { has: "x" } } }), await db.user.count({ where: { tags: { hasSome: ["t1", "x"] } } }), await db.user.count({ where: { tags: { hasEvery: ["x", "y,z"] } } }), await db.user.count({ where: { scores: { isEmpty: true } } }), await db.user.count({ where: { roles: { has: "guest" } } })]);
  await attempt("push", () => db.user.update({ where: { id: ann.id }, data: { scores: { push: [7, 8] }, tags: { set: ["z"] }, age: { increment: 1 }, balance: { multiply: 2 } }, select: { scores: true, tags: true, age: true, balance: true } }));
  await attempt("aggregate", () => db.user.aggregate({ _count: { _all: true, big: true }, _sum: { balance: true, age: true }, _avg: { age: true, ratio: true }, _min: { born: true, name: true }, _max: { big: true } }));
  await attempt("group", () => db.user.groupBy({ by: ["role", "tags"], _count: true, _sum: { balance: true }, having: { age: { avg: { gt: 5 } } }, orderBy: [{ _count: { id: "desc" } }, { tags: "asc" }] }));
  await attempt("distinct", () => db.user.findMany({ distinct: ["tags"], select: { id: true, tags: true }, orderBy: { id: "asc" } }));
  await attempt("upsert", async () => [await db.user.upsert({ where: { email: "u0@example.org" }, create: { name: "x", email: "u0@example.org" }, update: { name: "Zero" }, select: { id: true, name: true } }), await db.pair.upsert({ where: { a_b: { a: 1, b: 2 } }, create: { a: 1, b: 2 }, update: { n: { increment: 1 } } }), await db.pair.upsert({ where: { a_b: { a: 1, b: 2 } }, create: { a: 1, b: 2 }, update: { n: { increment: 1 } } })]);
  await attempt("update many", () => db.user.updateManyAndReturn({ where: { name: { in: ["User 1", "User 2"] } }, data: { age: { increment: 1 } }, select: { id: true, age: true } }));
  await attempt("nested update", () => db.user.update({ where: { id: ann.id }, data: { profile: { update: { bio: "new" } }, posts: { updateMany: { where: { likes: 0 }, data: { likes: 3 } }, update: { where: { authorId_title: { authorId: ann.id, title: "Second" } }, data: { tags: { disconnect: { name: "rust" }, create: { name: "new" } } } } } }, select: { profile: true, posts: { include: { tags: { orderBy: { name: "asc" } } }, orderBy: { id: "asc" } } } }));
  await attempt("raw", () => db.$queryRaw`SELECT id, uid, balance, big, ratio, active, role, roles, settings, raw, tags, scores, born, wakes, seen, local, photo, address, code, bits, count(*) OVER () AS n, NULL AS nothing, seen AT TIME ZONE 'Europe/Berlin' AS there FROM users WHERE id = ${ann.id}`);
  await attempt("raw list", () => db.$queryRaw`SELECT id FROM users WHERE id IN (${Prisma.join([1, 2])}) OR email = ANY(${["u5@example.org"]}) ORDER BY id`);
  await attempt("rollback", () => db.$transaction(async (t) => { await t.tag.create({ data: { name: "lost" } }); throw new Error("no"); }));
  await attempt("batch", () => db.$transaction([db.tag.create({ data: { name: "lost" } }), db.tag.create({ data: { name: "sql" } })]));
  show("tags", await db.tag.findMany({ orderBy: { name: "asc" } }));
  await attempt("after an error", () => db.$transaction(async (t) => { await t.$queryRaw`SELECT 1/0`.catch((e) => console.log(e.code, JSON.stringify(e.meta))); await t.tag.count(); }));
  await attempt("savepoint", () => db.$transaction(async (t) => { await t.$executeRaw`SAVEPOINT s`; await t.tag.create({ data: { name: "sql" } }).catch((e) => console.log(e.code)); await t.$executeRaw`ROLLBACK TO SAVEPOINT s`; return t.tag.count(); }));
  for (const isolationLevel of ["ReadUncommitted", "ReadCommitted", "RepeatableRead", "Serializable"]) await attempt(isolationLevel, () => db.$transaction((t) => t.$queryRaw`SHOW transaction_isolation`, { isolationLevel }));
  await attempt("timeout", () => db.$transaction(async (t) => { await new Promise((r) => setTimeout(r, 300)); return t.tag.count(); }, { timeout: 100 }).catch((e) => e.code));
  await db.$transaction((one) => db.$transaction(async (two) => {
    const take = (t) => t.$queryRaw`SELECT id FROM users ORDER BY id LIMIT 3 FOR UPDATE SKIP LOCKED`;
    show("skip locked", [await take(one), await take(two)]);
    await attempt("nowait", () => two.$queryRaw`SELECT id FROM users WHERE id = 1 FOR UPDATE NOWAIT`);
  }).catch((e) => console.log(e.code)));
  await db.user.update({ where: { id: ann.id }, data: { age: 0 } });
  await Promise.all(Array.from({ length: 40 }, () => db.$transaction(async (t) => { const [u] = await t.$queryRaw`SELECT age FROM users WHERE id = ${ann.id} FOR UPDATE`; await t.user.update({ where: { id: ann.id }, data: { age: u.age + 1 } }); }, { maxWait: 20000, timeout: 20000 })));
  show("counted", (await db.user.findUnique({ where: { id: ann.id } })).age);
  const serial = async () => { for (;;) try { return await db.$transaction(async (t) => { const u = await t.user.findUnique({ where: { id: 2 } }); await t.user.update({ where: { id: 2 }, data: { age: u.age + 1 } }); }, { isolationLevel: "Serializable", maxWait: 20000, timeout: 20000 }); } catch (e) { if (e.code !== "P2034") throw e; } };
  await Promise.all(Array.from({ length: 10 }, serial));
  show("serializable", (await db.user.findUnique({ where: { id: 2 } })).age);
  await attempt("cascade", async () => { await db.post.deleteMany(); await db.user.delete({ where: { id: ann.id } }); return [await db.profile.count(), await db.user.count({ where: { bossId: null } }), await db.$queryRaw`SELECT count(*)::int FROM "_PostToTag"`]; });
  await db.$disconnect();
})().catch((e) => { console.log(e.constructor.name, e.message); process.exit(1); });
