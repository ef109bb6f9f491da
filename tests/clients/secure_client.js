// node-postgres over TLS with a certificate that is verified, and SCRAM.
const assert = require("assert");
const fs = require("fs");
const { Client } = require("pg");

(async () => {
  const url = new URL(process.env.PLANARIA_DSN);
  const options = (password) => ({
    host: "localhost", port: Number(url.port), user: "postgres", database: "test", password,
    ssl: { ca: fs.readFileSync(process.env.PLANARIA_CA, "utf8") },
  });
  const client = new Client(options("a secret"));
  await client.connect();
  assert.strictEqual((await client.query("SELECT 6 * $1::int AS n", [7])).rows[0].n, 42);
  await client.end();
  await assert.rejects(new Client(options("nix")).connect(), { code: "28P01" });
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
