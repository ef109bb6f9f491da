// node-postgres: text, several statements in one query, parameters, names, errors, transactions.
const assert = require("assert");
const { Client } = require("pg");

(async () => {
  const client = new Client({ connectionString: process.env.PLANARIA_DSN });
  await client.connect();
  await client.query("DROP TABLE IF EXISTS js_item");
  await client.query("CREATE TABLE js_item (id int PRIMARY KEY, name text, price numeric(12,2), ok boolean)");
  const both = await client.query("INSERT INTO js_item VALUES (1, 'one', 1.5, true); SELECT * FROM js_item");
  assert.strictEqual(both[0].rowCount, 1);
  assert.deepStrictEqual(both[1].rows, [{ id: 1, name: "one", price: "1.50", ok: true }]);
  const found = await client.query("SELECT name FROM js_item WHERE id = $1", [1]);
  assert.strictEqual(found.rows[0].name, "one");
  for (let i = 0; i < 3; i++) {
    const named = await client.query({ name: "by-id", text: "SELECT $1::int + 1 AS n", values: [i] });
    assert.strictEqual(named.rows[0].n, i + 1);
  }
  await assert.rejects(client.query("SELECT nix FROM js_item"), (e) => e.code === "42703" && e.position === "8");
  await client.query("BEGIN");
  await client.query("UPDATE js_item SET name = 'x'");
  await client.query("ROLLBACK");
  await assert.rejects(client.query("INSERT INTO js_item (id) VALUES ($1)", [1]), { code: "23505" });
  await client.query("DROP TABLE js_item");
  await client.end();
  console.log("node-postgres ok");
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
