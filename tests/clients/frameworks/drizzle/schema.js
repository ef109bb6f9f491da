const { pgTable, pgSchema, pgEnum, pgView, pgMaterializedView, pgSequence, serial, bigserial, integer, bigint, smallint, text, varchar, char, boolean, numeric, real, doublePrecision, json, jsonb, timestamp, date, time, interval, uuid, primaryKey, unique, uniqueIndex, index, check, foreignKey, inet, cidr, macaddr, point, bigserial: bs } = require("drizzle-orm/pg-core");
const { relations, sql } = require("drizzle-orm");

const status = pgEnum("status", ["draft", "published", "archived"]);
const shop = pgSchema("shop");
const mood = shop.enum("mood", ["sad", "ok", "happy"]);
const ticket = pgSequence("ticket", { startWith: 100, increment: 5, minValue: 100, maxValue: 10000, cache: 1, cycle: true });

const users = pgTable("users", {
  id: serial("id").primaryKey(),
  uid: uuid("uid").defaultRandom().notNull(),
  name: varchar("name", { length: 80 }).notNull(),
  email: text("email").notNull().unique(),
  age: smallint("age").default(18),
  balance: numeric("balance", { precision: 12, scale: 2 }).default("0.00").notNull(),
  active: boolean("active").default(true).notNull(),
  settings: jsonb("settings").default({ theme: "dark", tags: [] }),
  tags: text("tags").array().default([]),
  matrix: integer("matrix").array().array(),
  createdAt: timestamp("created_at", { withTimezone: true }).defaultNow().notNull(),
  born: date("born"),
  big: bigint("big", { mode: "bigint" }),
  managerId: integer("manager_id"),
}, (t) => [
  index("users_name_idx").on(t.name),
  uniqueIndex("users_email_lower").on(sql`lower(${t.email})`),
  index("users_active").on(t.createdAt.desc().nullsLast()).where(sql`${t.active}`),
  index("users_tags").using("gin", t.tags),
  check("users_age_check", sql`${t.age} >= 0 and ${t.age} < 200`),
  foreignKey({ columns: [t.managerId], foreignColumns: [t.id], name: "users_manager" }).onDelete("set null"),
]);
const posts = pgTable("posts", {
  id: bigint("id", { mode: "number" }).primaryKey().generatedAlwaysAsIdentity({ startWith: 10 }),
  title: varchar("title", { length: 200 }).notNull(),
  body: text("body").default("it's 'quoted'"),
  status: status("status").default("draft").notNull(),
  meta: json("meta"),
  rating: doublePrecision("rating"),
  score: real("score").default(1.5),
  at: time("at").default("10:00:00"),
  wait: interval("wait").default("1 day"),
  slug: text("slug").generatedAlwaysAs(sql`lower(title)`),
  published: timestamp("published", { precision: 3 }),
  authorId: integer("author_id").notNull().references(() => users.id, { onDelete: "cascade", onUpdate: "cascade" }),
}, (t) => [unique("posts_author_title").on(t.authorId, t.title), index("posts_at").on(t.authorId, t.published.desc())]);
const labels = pgTable("labels", { id: integer("id").primaryKey().generatedByDefaultAsIdentity(), name: char("name", { length: 10 }).notNull(), address: inet("address"), net: cidr("net"), mac: macaddr("mac"), statuses: status("statuses").array() },
  (t) => [unique("labels_name").on(t.name).nullsNotDistinct()]);
const postLabels = pgTable("post_labels", {
  postId: bigint("post_id", { mode: "number" }).notNull().references(() => posts.id, { onDelete: "cascade" }),
  labelId: integer("label_id").notNull().references(() => labels.id),
}, (t) => [primaryKey({ columns: [t.postId, t.labelId] })]);
const items = shop.table("items", { id: bigserial("id", { mode: "number" }).primaryKey(), mood: mood("mood").default("ok"), price: numeric("price", { precision: 8, scale: 3 }) });
const published = pgView("published_posts").as((qb) => qb.select({ id: posts.id, title: posts.title }).from(posts).where(sql`${posts.status} = 'published'`));
const totals = pgMaterializedView("author_totals").as((qb) => qb.select({ author: posts.authorId, n: sql`count(*)`.as("n") }).from(posts).groupBy(posts.authorId));

module.exports = {
  status, shop, mood, ticket, users, posts, labels, postLabels, items, published, totals,
  usersRelations: relations(users, ({ many, one }) => ({ posts: many(posts), manager: one(users, { fields: [users.managerId], references: [users.id], relationName: "m" }) })),
  postsRelations: relations(posts, ({ one, many }) => ({ author: one(users, { fields: [posts.authorId], references: [users.id] }), labels: many(postLabels) })),
  postLabelsRelations: relations(postLabels, ({ one }) => ({ post: one(posts, { fields: [postLabels.postId], references: [posts.id] }), label: one(labels, { fields: [postLabels.labelId], references: [labels.id] }) })),
};
