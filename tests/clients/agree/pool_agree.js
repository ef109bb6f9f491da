// node-postgres: a pool under load, transactions on its clients, cursors, types, notices, errors.
const { Pool, types } = require("pg");
const Cursor = require("pg-cursor");

(async () => {
  const pool = new Pool({ connectionString: process.env.PLANARIA_DSN, max: 8 });
  await pool.query("DROP TABLE IF EXISTS pool_account");
  await pool.query("CREATE TABLE pool_account (id int PRIMARY KEY, balance int NOT NULL)");
  await pool.query("INSERT INTO pool_account SELECT i, 100 FROM generate_series(1, 20) AS g(i)");
  const transfer = async (from, to) => {
    for (;;) {
      const client = await pool.connect();
      try {
        await client.query("BEGIN ISOLATION LEVEL SERIALIZABLE");
        await client.query("UPDATE pool_account SET balance = balance - 1 WHERE id = $1", [from]);
        await client.query("UPDATE pool_account SET balance = balance + 1 WHERE id = $1", [to]);
        await client.query("COMMIT");
        return;
      } catch (error) {
        await client.query("ROLLBACK");
        if (error.code !== "40001" && error.code !== "40P01") throw error;
      } finally {
        client.release();
      }
    }
  };
  await Promise.all(Array.from({ length: 200 }, (_, i) => transfer((i % 20) + 1, ((i * 7 + 3) % 20) + 1)));
  console.log((await pool.query("SELECT sum(balance)::int AS sum, count(*) FROM pool_account")).rows);
  const client = await pool.connect();
  const cursor = client.query(new Cursor("SELECT id FROM pool_account WHERE id > $1 ORDER BY id", [3]));
  console.log((await cursor.read(5)).map((r) => r.id), (await cursor.read(100)).length, (await cursor.read(5)).length);
  await cursor.close();
  client.on("notice", (n) => console.log(n.severity, n.code, n.message));
  await client.query("DO $$ BEGIN RAISE NOTICE 'from %', 7; RAISE WARNING 'careful'; END $$");
  const fields = (await client.query("SELECT 1 AS a, 'x'::text AS b, 1.50::numeric AS c, true AS d, now() AS e")).fields;
  console.log(fields.map((f) => [f.name, f.dataTypeID, f.dataTypeSize, f.dataTypeModifier, f.format]));
  console.log((await client.query({ text: "SELECT ARRAY[1,2] AS a, NULL AS n, '2026-11-21'::date::text AS d", rowMode: "array" })).rows);
  for (const text of ["SELECT 1/0", "SELECT nix", "INSERT INTO pool_account VALUES (1, 1)", "SELECT 1; SELECT 1/0"]) {
    await client.query(text).catch((e) => console.log(e.code, e.message, e.position, e.detail, e.constraint, e.table));
  }
  console.log((await client.query("SELECT 1 AS one; SELECT 2 AS two")).map((r) => [r.command, r.rowCount, r.rows]));
  console.log((await client.query("")).rows, (await client.query("UPDATE pool_account SET balance = 0")).rowCount);
  client.release();
  await pool.query("DROP TABLE pool_account");
  await pool.end();
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
