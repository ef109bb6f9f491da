// Sequelize: sync and what it reads back, queryInterface, Umzug's migrations, models with all their queries, errors, locks.
const { Sequelize, DataTypes, Op, QueryTypes, Transaction, fn, col, literal, where, cast } = require("sequelize");
const { Umzug, SequelizeStorage } = require("umzug");

const statements = [];
const sequelize = new Sequelize(process.env.PLANARIA_DSN, { logging: (s) => statements.push(s), pool: { max: 5 }, define: { underscored: true } });
const plain = (r) => JSON.parse(JSON.stringify(r, (k, v) => (typeof v === "bigint" ? String(v) : v)));
const json = (v) => JSON.stringify(v);
const show = (title, value) => {
  const v = plain(value === undefined ? null : value);
  console.log(title, Array.isArray(v) && json(v).length > 100 ? v.map((x) => "\n  " + json(x)).join("") : json(v));
};
const attempt = async (title, work) => {
  try {
    show(title, await work());
  } catch (e) {
    console.log(title, e.name, "|", e.message, "|", json([(e.errors || []).map((x) => [x.type, x.path, x.value, x.message]), e.fields, e.index, e.table]), json(e.original && [e.original.code, e.original.detail, e.original.constraint, e.original.position]));
  }
};
const stamp = new Date("2026-03-29T01:30:00.123Z");

const User = sequelize.define("User", {
  uid: { type: DataTypes.UUID, defaultValue: DataTypes.UUIDV4, unique: true },
  name: { type: DataTypes.STRING(80), allowNull: false, comment: "full name" },
  email: { type: DataTypes.CITEXT && DataTypes.STRING, unique: true, validate: { isEmail: true } },
  age: { type: DataTypes.SMALLINT, defaultValue: 18 },
  balance: { type: DataTypes.DECIMAL(12, 2), defaultValue: "0.00" },
  big: DataTypes.BIGINT,
  ratio: DataTypes.DOUBLE,
  score: DataTypes.REAL,
  active: { type: DataTypes.BOOLEAN, allowNull: false, defaultValue: true },
  role: { type: DataTypes.ENUM("guest", "member", "admin"), defaultValue: "guest" },
  settings: DataTypes.JSONB,
  raw: DataTypes.JSON,
  tags: DataTypes.ARRAY(DataTypes.STRING),
  scores: DataTypes.ARRAY(DataTypes.INTEGER),
  born: DataTypes.DATEONLY,
  seen: DataTypes.DATE(3),
  wakes: DataTypes.TIME,
  photo: DataTypes.BLOB,
  span: DataTypes.RANGE(DataTypes.INTEGER),
  days: DataTypes.RANGE(DataTypes.DATEONLY),
  address: DataTypes.INET,
  net: DataTypes.CIDR,
  mac: DataTypes.MACADDR,
  full: { type: DataTypes.VIRTUAL, get() { return this.name + " <" + this.email + ">"; } },
}, { tableName: "users", paranoid: true, version: true, comment: "people",
  indexes: [{ fields: ["name", { name: "age", order: "DESC" }] }, { name: "users_lower", unique: true, fields: [fn("lower", col("email"))] },
    { name: "users_settings", using: "gin", fields: ["settings"] }, { name: "users_active", fields: ["born"], where: { active: true } }],
  scopes: { adults: { where: { age: { [Op.gte]: 18 } } } } });
const Profile = sequelize.define("Profile", { bio: DataTypes.TEXT }, { tableName: "profiles", timestamps: false });
const Post = sequelize.define("Post", { title: { type: DataTypes.STRING, allowNull: false }, body: DataTypes.TEXT, likes: { type: DataTypes.INTEGER, defaultValue: 0 } }, { tableName: "posts" });
const Tag = sequelize.define("Tag", { name: { type: DataTypes.STRING(30), primaryKey: true } }, { tableName: "tags", timestamps: false });
const Job = sequelize.define("Job", { state: { type: DataTypes.STRING, defaultValue: "new" } }, { tableName: "jobs", timestamps: false, schema: "work" });
const Choice = sequelize.define("Choice", { picks: DataTypes.ARRAY(DataTypes.ENUM("a", "b")) }, { tableName: "choices", timestamps: false });
User.hasOne(Profile, { foreignKey: { name: "userId", allowNull: false }, onDelete: "CASCADE" }); Profile.belongsTo(User, { foreignKey: "userId" });
User.hasMany(Post, { as: "posts", foreignKey: "authorId", onDelete: "SET NULL" }); Post.belongsTo(User, { as: "author", foreignKey: "authorId" });
Post.belongsToMany(Tag, { through: "post_tags", timestamps: false }); Tag.belongsToMany(Post, { through: "post_tags", timestamps: false });
User.belongsTo(User, { as: "boss", foreignKey: "bossId" });

const strip = (rows, ...keys) => plain(rows).map((r) => { for (const k of keys) delete r[k]; return r; });
const describe = async (q, table) => {
  const sorted = (o) => Object.fromEntries(Object.entries(o).sort(([a], [b]) => (a < b ? -1 : 1)));
  show("describe " + JSON.stringify(table), sorted(await q.describeTable(table)));
  show("indexes", strip(await q.showIndex(table), "indexes").map((i) => ({ name: i.name, primary: i.primary, unique: i.unique, fields: i.fields, definition: i.definition })).sort((a, b) => (a.name < b.name ? -1 : 1)));
  show("references", strip(await q.getForeignKeyReferencesForTable(table)).map((r) => { r.tableCatalog = r.referencedTableCatalog = r.constraintCatalog = "IT"; return r; }).sort((a, b) => (a.constraintName < b.constraintName ? -1 : 1)));
};

(async () => {
  const q = sequelize.getQueryInterface();
  await sequelize.authenticate();
  show("version", (await q.databaseVersion()).slice(0, 2));
  await q.createSchema("work");
  await sequelize.sync({ force: true });
  show("tables", (await q.showAllTables()).map((t) => t.tableName || t).sort());
  show("schemas", (await q.showAllSchemas()));
  for (const t of ["users", "profiles", "posts", "tags", "post_tags", { tableName: "jobs", schema: "work" }]) await describe(q, t);
  show("constraints", (await q.showConstraint("users")).map((c) => ({ ...c, constraintCatalog: "IT", tableCatalog: "IT", constraintName: c.constraintName.replace(/^2200_\d+_/, "OID_") })).sort((a, b) => (a.constraintName < b.constraintName ? -1 : 1)));
  statements.length = 0;
  await sequelize.sync();
  show("sync anew", statements.filter((s) => !/SELECT/.test(s)));
  statements.length = 0;
  for (const model of [Profile, Post, Tag, User]) await attempt("sync alter " + model.name, async () => { await model.sync({ alter: true }); });
  show("altered", statements.filter((s) => /(ALTER|CREATE|DROP) /.test(s)).map((s) => s.replace("Executing (default): ", "")).sort());
  await describe(q, "profiles");
  await describe(q, "users");

  // Migrations
  const migrations = [
    { name: "001", up: async ({ context: m }) => {
      await m.createTable("things", { id: { type: DataTypes.INTEGER, primaryKey: true, autoIncrement: true }, kind: DataTypes.ENUM("x", "y"), label: { type: DataTypes.STRING, defaultValue: "it's" }, made: { type: DataTypes.DATE, defaultValue: literal("CURRENT_TIMESTAMP") } });
    }, down: async ({ context: m }) => { await m.dropTable("things"); } },
    { name: "002", up: async ({ context: m }) => {
      await sequelize.transaction(async (transaction) => {
        await m.addColumn("things", "amount", { type: DataTypes.DECIMAL(10, 3), allowNull: false, defaultValue: 1.5 }, { transaction });
        await m.addIndex("things", ["kind", "amount"], { name: "things_kind", transaction, where: { amount: { [Op.gt]: 0 } } });
        await m.addConstraint("things", { type: "check", fields: ["amount"], where: { amount: { [Op.gte]: 0 } }, name: "things_amount", transaction });
        await m.addConstraint("things", { type: "unique", fields: ["label", "kind"], name: "things_label", transaction });
        await m.addColumn("things", "user_id", { type: DataTypes.INTEGER, references: { model: "users", key: "id" }, onDelete: "cascade" }, { transaction });
      });
    }, down: async ({ context: m }) => {
      await m.removeColumn("things", "user_id");
      await m.removeConstraint("things", "things_amount");
      await m.removeIndex("things", "things_kind");
      await m.removeColumn("things", "amount");
    } },
    { name: "003", up: async ({ context: m }) => {
      await m.renameColumn("things", "label", "title");
      await m.changeColumn("things", "title", { type: DataTypes.TEXT, allowNull: false, defaultValue: "none" });
      await sequelize.query("ALTER TYPE enum_things_kind ADD VALUE 'z'");
      await m.renameTable("things", "objects");
      await m.bulkInsert("objects", [{ title: "one", kind: "z", amount: "2.5" }, { title: "two", kind: "x", amount: 3 }]);
    }, down: async ({ context: m }) => { await m.renameTable("objects", "things"); await m.renameColumn("things", "title", "label"); } },
    { name: "004", up: async ({ context: m }) => {
      await sequelize.transaction(async (transaction) => {
        await m.addColumn("objects", "lost", DataTypes.INTEGER, { transaction });
        await m.addConstraint("objects", { type: "check", fields: ["amount"], where: { amount: { [Op.gt]: 100 } }, name: "fails", transaction });
      });
    }, down: async () => {} },
  ];
  const umzug = new Umzug({ migrations: migrations.slice(0, 3), context: q, storage: new SequelizeStorage({ sequelize }), logger: undefined });
  await attempt("pending", async () => (await umzug.pending()).map((m) => m.name));
  await attempt("up", async () => (await umzug.up()).map((m) => m.name));
  await attempt("up anew", async () => (await umzug.up()).map((m) => m.name));
  await describe(q, "objects");
  show("objects", await sequelize.query("SELECT id, kind, title, amount FROM objects ORDER BY id", { type: QueryTypes.SELECT }));
  await attempt("a migration that fails", async () => new Umzug({ migrations, context: q, storage: new SequelizeStorage({ sequelize }), logger: undefined }).up());
  show("is rolled back", Object.keys(await q.describeTable("objects")).sort());
  await attempt("down", async () => (await umzug.down({ to: "002" })).map((m) => m.name));
  await describe(q, "things");
  await attempt("down to nothing", async () => (await umzug.down({ to: 0 })).map((m) => m.name));
  show("tables", (await q.showAllTables()).map((t) => t.tableName || t).sort());

  // Rows
  const ann = await User.create({ uid: "0b0e7a7c-8f3c-4c53-9c5a-6a9f2c9d0001", name: "Ann", email: "ann@example.org", age: 30, balance: "12345678.90", big: "9007199254740993", ratio: 0.1, score: 1.5, role: "admin", settings: { theme: "dark", deep: { n: [1, 2] } }, raw: { b: 1, a: 2 }, tags: ["x", "y,z", 'q"'], scores: [1, 2, 3], born: "2000-02-29", seen: stamp, wakes: "06:30:00", photo: Buffer.from([0, 1, 255]), span: [1, 10], days: ["2026-01-01", "2026-02-01"], address: "10.0.0.1", net: "10.0.0.0/8", mac: "08:00:2b:01:02:03" });
  const row = async (id) => { const r = plain(await User.findByPk(id)); delete r.createdAt; delete r.updatedAt; return r; };
  show("ann", await row(ann.id));
  await User.bulkCreate(Array.from({ length: 20 }, (_, i) => ({ uid: `0b0e7a7c-8f3c-4c53-9c5a-6a9f2c9d1${String(i).padStart(3, "0")}`, name: "User " + i, email: `u${i}@example.org`, age: 10 + i, bossId: ann.id, balance: (i * 1.25).toFixed(2), settings: { n: i }, tags: ["t" + (i % 3)] })), { returning: true });
  await attempt("unique", () => User.create({ name: "Bob", email: "ann@example.org" }));
  await attempt("unique of an expression", () => User.create({ name: "Bob", email: "ANN@example.org" }));
  await attempt("not null", () => User.create({ email: "b@example.org" }));
  await attempt("not null of the server", () => sequelize.query("INSERT INTO posts (title, created_at, updated_at) VALUES (NULL, '2026-01-01', '2026-01-01')"));
  await attempt("foreign key", () => Post.create({ title: "t", authorId: 999 }));
  await attempt("foreign key of a delete", async () => { await Profile.create({ bio: "b", userId: ann.id }); await sequelize.query("INSERT INTO post_tags (post_id, tag_name) VALUES (1, 'nix')"); });
  await attempt("enum", () => sequelize.query("UPDATE users SET role = 'nix' WHERE id = 1"));
  await attempt("numeric overflow", () => User.update({ balance: "99999999999.99" }, { where: { id: ann.id } }));
  await attempt("too long", () => Tag.create({ name: "x".repeat(31) }));
  await attempt("no table", () => sequelize.query("SELECT * FROM nix"));
  await attempt("no column", () => sequelize.query("SELECT nix FROM users"));
  await attempt("syntax", () => sequelize.query("SELEC 1"));
  show("enums", (await Choice.create({ picks: ["b", "a"] })).picks);
  show("enums", await Choice.findAll({ where: { picks: { [Op.contains]: ["a"] } }, raw: true }));
  for (const [i, title] of ["First", "Second", "Third"].entries()) {
    const post = await Post.create({ title, body: "body of " + title, authorId: ann.id, likes: i });
    await Tag.bulkCreate([{ name: "sql" }, { name: "rust" }], { ignoreDuplicates: true });
    await post.addTag(i ? ["sql", "rust"] : ["sql"]);
  }
  show("eager", plain(await User.findAll({ attributes: ["name"], where: { email: "ann@example.org" }, include: [{ model: Post, as: "posts", attributes: ["title"], where: { likes: { [Op.lt]: 5 } }, required: false, include: [{ model: Tag, through: { attributes: [] } }] }, { model: Profile, attributes: ["bio"] }], order: [[{ model: Post, as: "posts" }, "title", "DESC"], [{ model: Post, as: "posts" }, Tag, "name"]] })));
  show("limit with include", plain(await Post.findAndCountAll({ attributes: ["title"], include: [{ model: Tag, where: { name: "sql" }, through: { attributes: [] } }, { model: User, as: "author", attributes: ["name"] }], order: [["title", "DESC"]], limit: 2, offset: 1, distinct: true })));
  show("separate", plain(await User.findAll({ attributes: ["id", "name"], include: [{ model: Post, as: "posts", separate: true, attributes: ["title", "authorId"], limit: 2, order: ["title"] }], order: ["id"], limit: 2 })));
  show("page", await User.findAndCountAll({ attributes: ["name"], where: { age: { [Op.between]: [12, 25] }, name: { [Op.iLike]: "user%" } }, order: [["age", "DESC NULLS LAST"]], limit: 3, offset: 2, raw: true }));
  show("scope", await User.scope("adults").count());
  show("json", await User.findAll({ attributes: ["name", [sequelize.json("settings.deep.n"), "n"]], where: { settings: { theme: "dark" } }, raw: true }));
  show("json path", await User.findAll({ attributes: ["name"], where: { "settings.n": { [Op.gt]: 17 } }, order: ["id"], raw: true }));
  show("json contains", await User.findAll({ attributes: ["name"], where: { settings: { [Op.contains]: { n: 3 } } }, raw: true }));
  show("arrays", await User.findAll({ attributes: ["name", "tags"], where: { tags: { [Op.overlap]: ["t2", "x"] } }, order: ["id"], limit: 3, raw: true }));
  show("any", await User.count({ where: { name: { [Op.in]: ["User 1", "User 2"] }, email: { [Op.like]: { [Op.any]: ["u1@%", "u9@%"] } } } }));
  show("range", await User.findAll({ attributes: ["name", "span"], where: { span: { [Op.contains]: 5 } } }));
  show("regexp", await User.findAll({ attributes: ["name"], where: { name: { [Op.iRegexp]: "^user 1[0-3]$" } }, order: ["name"], raw: true }));
  show("group", await User.findAll({ attributes: [[fn("date_trunc", "year", col("born")), "y"], [fn("count", col("id")), "n"], [fn("sum", col("balance")), "sum"], [fn("avg", col("age")), "avg"]], group: [fn("date_trunc", "year", col("born"))], order: [[literal("n"), "ASC"]], raw: true }));
  show("having", await User.findAll({ attributes: ["tags", [fn("count", "*"), "n"]], group: ["tags"], having: where(fn("count", "*"), Op.gt, 6), order: ["tags"], raw: true }));
  show("sum", [await User.sum("balance"), await User.max("age"), await User.min("born"), await User.aggregate("role", "DISTINCT", { plain: false }).then((r) => r.map((x) => x.DISTINCT).sort())]);
  show("subquery", await User.findAll({ attributes: ["name", [literal('(SELECT COUNT(*) FROM posts WHERE posts.author_id = "User".id)'), "posts"]], order: [[literal("posts"), "DESC"], ["id", "ASC"]], limit: 2, raw: true }));
  show("zone", await sequelize.query("SELECT seen, seen AT TIME ZONE 'Europe/Berlin' AS local, to_char(seen, 'YYYY-MM-DD HH24:MI:SS.MS TZ') AS c FROM users WHERE id = :id", { replacements: { id: ann.id }, type: QueryTypes.SELECT }));
  show("bind", await sequelize.query("SELECT $1::int AS a, $name::text AS b", { bind: { 1: 7, name: "x" }, type: QueryTypes.SELECT }).catch((e) => e.message));
  show("update returning", plain((await User.update({ age: literal("age + 1") }, { where: { name: { [Op.in]: ["User 1", "User 2"] } }, returning: ["name", "age"] }))[1]).map((r) => [r.name, r.age]).sort());
  show("increment", (await Post.increment({ likes: 5 }, { where: { title: "First" } }))[0][0].map((r) => r.likes));
  const [up, made] = await User.upsert({ email: "ann@example.org", uid: ann.uid, name: "Ann II", age: 31 }, { conflictFields: ["email"] });
  show("upsert", [up.name, up.id === ann.id, made]);
  await Tag.bulkCreate([{ name: "sql" }, { name: "new" }], { updateOnDuplicate: ["name"] });
  const newcomer = { where: { email: "new@example.org" }, defaults: { name: "New" } };
  await attempt("findOrCreate", async () => (await User.findOrCreate(newcomer))[1]);
  if (!(await User.findOne(newcomer))) await User.create({ email: "new@example.org", name: "New" });
  await attempt("findOrCreate anew", async () => (await User.findOrCreate(newcomer))[1]);
  show("findCreateFind", (await User.findCreateFind({ where: { email: "new@example.org" }, defaults: { name: "New" } }))[1]);
  const stale = await User.findByPk(ann.id), fresh = await User.findByPk(ann.id);
  await fresh.update({ name: "Ann III" });
  await attempt("stale", () => stale.update({ name: "Ann IV" }));
  await ann.reload();
  await ann.destroy();
  show("paranoid", [await User.findByPk(ann.id), (await User.findByPk(ann.id, { paranoid: false })).name]);
  await User.restore({ where: { id: ann.id } });

  // Transactions
  await attempt("rollback", () => sequelize.transaction(async (t) => { await Tag.create({ name: "lost" }, { transaction: t }); throw new Error("no"); }));
  show("lost", await Tag.count({ where: { name: "lost" } }));
  await sequelize.transaction(async (t) => {
    await Tag.create({ name: "outer" }, { transaction: t });
    await sequelize.transaction({ transaction: t }, async (s) => { await Tag.create({ name: "inner" }, { transaction: s }); throw new Error("no"); }).catch((e) => console.log("inner:", e.message));
    await attempt("in the savepoint", () => sequelize.transaction({ transaction: t }, (s) => Tag.create({ name: "outer" }, { transaction: s })));
    await Tag.create({ name: "after" }, { transaction: t });
  });
  show("tags", (await Tag.findAll({ order: ["name"] })).map((t) => t.name));
  await attempt("after an error", () => sequelize.transaction(async (t) => { await sequelize.query("SELECT 1/0", { transaction: t }).catch((e) => console.log(e.message)); await Tag.count({ transaction: t }); }));
  for (const level of Object.values(Transaction.ISOLATION_LEVELS))
    await attempt(level, () => sequelize.transaction({ isolationLevel: level }, (transaction) => sequelize.query("SHOW transaction_isolation", { transaction, type: QueryTypes.SELECT })));
  await attempt("deferred", () => sequelize.transaction({ deferrable: Sequelize.Deferrable.SET_DEFERRED }, (transaction) => Tag.count({ transaction })));
  await attempt("read only", () => sequelize.transaction({ readOnly: true }, (transaction) => sequelize.query("INSERT INTO tags VALUES ('ro')", { transaction })));
  await Job.bulkCreate(Array.from({ length: 10 }, () => ({})));
  const first = await sequelize.transaction(), second = await sequelize.transaction();
  const take = (transaction) => Job.findAll({ where: { state: "new" }, order: ["id"], limit: 3, lock: transaction.LOCK.UPDATE, skipLocked: true, transaction });
  show("skip locked", [(await take(first)).map((j) => j.id), (await take(second)).map((j) => j.id)]);
  await attempt("nowait", () => sequelize.query("SELECT * FROM work.jobs WHERE id = 1 FOR UPDATE NOWAIT", { transaction: second }));
  await first.commit();
  await second.rollback();
  await User.update({ age: 0 }, { where: { id: ann.id } });
  await Promise.all(Array.from({ length: 40 }, () => sequelize.transaction(async (t) => {
    const u = await User.findByPk(ann.id, { lock: t.LOCK.UPDATE, transaction: t });
    await u.update({ age: u.age + 1 }, { transaction: t });
  })));
  show("counted", (await User.findByPk(ann.id)).age);
  let retries = 0;
  const serial = async () => { for (;;) try { return await sequelize.transaction({ isolationLevel: "SERIALIZABLE" }, async (t) => { const p = await Post.findOne({ where: { title: "First" }, transaction: t }); await p.update({ likes: p.likes + 1 }, { transaction: t }); }); } catch (e) { retries++; if (!["40001", "40P01"].includes(e.original && e.original.code)) throw e; } };
  await Promise.all(Array.from({ length: 12 }, serial));
  show("serializable", (await Post.findOne({ where: { title: "First" } })).likes);
  await attempt("cascade", async () => { await User.destroy({ where: { id: ann.id }, force: true }); return [await Profile.count(), await Post.count({ where: { authorId: null } })]; });
  await attempt("truncate", () => Post.truncate({ cascade: true, restartIdentity: true }));
  show("first again", (await Post.create({ title: "again" })).id);
  await sequelize.drop({ cascade: true });
  await q.dropSchema("work");
  show("tables", await q.showAllTables());
  show("enums", await sequelize.query("SELECT typname FROM pg_type WHERE typtype = 'e'", { type: QueryTypes.SELECT }));
  await sequelize.close();
})().catch((e) => { console.log(e.stack.replace(/\n    at .*/g, "")); process.exit(1); });
