// What the server's web page shows, and how it can be used: by eye (light, dark, on a phone), by keyboard, by a screen reader.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { Browser } from "./browser.mjs";

const planaria = process.env.PLANARIA;

// A server at free ports, and where it is.
async function serve() {
  const child = spawn(planaria, ["serve", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"], { stdio: ["ignore", "ignore", "pipe"] });
  const server = { child, said: "" };
  child.stderr.on("data", data => (server.said += data));
  for (let i = 0; i < 400; i++) {
    const page = server.said.match(/metrics at (http:\/\/127\.0\.0\.1:\d+)/), sql = server.said.match(/listens at 127\.0\.0\.1:(\d+)/);
    if (page && sql) return { ...server, page: page[1], sql: `postgres://postgres@127.0.0.1:${sql[1]}/db` };
    await new Promise(done => setTimeout(done, 50));
  }
  throw new Error("the server did not start:\n" + server.said);
}

// Statements of a client, by the shell; goes on in the background where it is not awaited.
function sql(server, text) {
  const child = spawn(planaria, ["shell", server.sql], { stdio: ["pipe", "pipe", "pipe"] });
  let said = "";
  child.stdout.on("data", data => (said += data));
  child.stderr.on("data", data => (said += data));
  child.stdin.end(text);
  const ended = new Promise(done => child.once("exit", () => done(said)));
  return { child, ended };
}

// The contrast of a text against what is behind it, as WCAG counts it.
const CONTRAST = `(selector => {
  const parts = color => color.match(/[\\d.]+/g).map(Number);
  const light = color => { const [r, g, b] = parts(color).map(c => (c /= 255) <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
  const element = document.querySelector(selector);
  let back = element, color;
  do { color = getComputedStyle(back).backgroundColor; back = back.parentElement; } while (back && parts(color)[3] === 0);
  const [a, b] = [light(getComputedStyle(element).color), light(color)].sort((x, y) => y - x);
  return (a + .05) / (b + .05);
})`;

const tests = {
  async "shows what is going on"(browser, server) {
    await sql(server, `CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
      INSERT INTO account SELECT n, 100 FROM generate_series(1, 1000) AS n;
      CREATE PROCEDURE pay(p int) LANGUAGE plpgsql AS $$ BEGIN UPDATE account SET balance = balance - 1 WHERE id = p; END $$;
      ${"CALL pay(7);\n".repeat(50)}`).ended;
    await browser.open(server.page + "/");
    await browser.until(`document.getElementById("state").textContent === "serving"`);
    await browser.until(`document.getElementById("procedures").textContent.includes("pay")`);
    // Counted leaf by leaf, so a few may be missing.
    const [, rows] = (await browser.eval(`document.getElementById("memory").textContent`)).match(/Rows, about([\d,]+)Tables/);
    assert.ok(Math.abs(Number(rows.replace(",", "")) - 1000) <= 125, rows);
    assert.match(await browser.eval(`document.getElementById("slow").textContent`), /CALL pay\(\$1\)/);
    assert.equal(await browser.eval(`document.getElementById("recovery").hidden`), true);
    await browser.picture("light");
  },

  async "shows who waits for whom"(browser, server) {
    const first = sql(server, "BEGIN; UPDATE account SET balance = 0 WHERE id = 1; SELECT pg_sleep(8); COMMIT;");
    await new Promise(done => setTimeout(done, 500));
    const second = sql(server, "BEGIN; UPDATE account SET balance = 1 WHERE id = 1; COMMIT;");
    await browser.until(`document.getElementById("waits").rows[0].cells.length === 4`);
    const [pid, blocker] = await browser.eval(`[...document.getElementById("waits").rows[0].cells].map(c => c.textContent)`);
    assert.notEqual(pid, blocker);
    await browser.until(`document.getElementById("sessions").textContent.includes("UPDATE account SET balance = 1")`);
    first.child.kill();
    await second.ended;
    await browser.until(`document.getElementById("waits").textContent === "nobody waits"`);
  },

  async "draws procedures and what a restart replays"(browser) {
    const picture = async button => {
      await browser.eval(`document.querySelector(${JSON.stringify(button)}).click()`);
      await browser.until(`document.getElementById("picture").open && document.getElementById("picture-image").complete`);
      await browser.until(`document.getElementById("picture-image").naturalWidth > 100`);
    };
    await picture('[data-graph="pay"]');
    assert.match(await browser.eval(`document.getElementById("h-picture").textContent`), /operations of pay/);
    await browser.picture("procedure");
    await browser.key("Escape");
    await browser.until(`!document.getElementById("picture").open`);
    await picture('[data-graph=""]');
    await browser.key("Escape");
    await browser.until(`!document.getElementById("picture").open`);
  },

  async "is readable in light and dark"(browser) {
    const colors = [];
    for (const scheme of ["light", "dark"]) {
      await browser.scheme(scheme);
      for (const selector of ["h1", "dt", "dd", "#procedures th", "thead th", "p.dim", "button"]) {
        const contrast = await browser.eval(`${CONTRAST}(${JSON.stringify(selector)})`);
        assert.ok(contrast >= 4.5, `${selector} in ${scheme}: ${contrast.toFixed(1)}`);
      }
      colors.push(await browser.eval(`getComputedStyle(document.body).backgroundColor`));
      await browser.picture(scheme);
    }
    assert.notEqual(colors[0], colors[1]);
    await browser.scheme("light");
  },

  async "fits a phone"(browser) {
    await browser.size(360, 740, true);
    assert.ok((await browser.eval(`document.scrollingElement.scrollWidth`)) <= 360, "nothing is wider than the screen");
    const hidden = `[...document.querySelectorAll(".scroll")].filter(part => part.scrollWidth > part.clientWidth + 1).map(part => part.getAttribute("aria-labelledby")).join(" ")`;
    assert.equal(await browser.eval(hidden), "", "nothing has to be scrolled aside");
    await browser.picture("phone");
    await browser.size(1280, 900);
  },

  async "works by keyboard"(browser) {
    // From the beginning of the page.
    await browser.send("Page.reload");
    await browser.until(`document.getElementById("procedures")?.rows.length > 1`);
    await browser.key("Tab");
    assert.equal(await browser.eval(`document.activeElement.id`), "pause");
    assert.notEqual(await browser.eval(`getComputedStyle(document.activeElement).outlineStyle`), "none");
    await browser.key("Enter", "Enter", "\r");
    assert.equal(await browser.eval(`document.getElementById("pause").getAttribute("aria-pressed")`), "true");
    await browser.key("Enter", "Enter", "\r");
    assert.equal(await browser.eval(`document.getElementById("pause").getAttribute("aria-pressed")`), "false");
    // Tables that can be scrolled are reached, too.
    await browser.key("Tab");
    assert.equal(await browser.eval(`document.activeElement.getAttribute("role")`), "region");
  },

  async "tells a screen reader what is there"(browser) {
    const nodes = await browser.accessible();
    const named = role => nodes.filter(node => node.role === role).map(node => node.name);
    assert.ok(named("heading").includes("Planaria"));
    for (const heading of ["Now", "Sessions", "Memory", "Who waits for whom"]) assert.ok(named("heading").includes(heading), heading);
    for (const role of ["button", "region", "image", "columnheader"]) for (const name of named(role)) assert.notEqual(name, "", `a ${role} without a name`);
    assert.ok(nodes.some(node => node.role === "status"), "changes of the state are said");
    assert.equal(await browser.eval(`document.documentElement.lang`), "en");
  },

  async "shows a recovery"(browser, server) {
    await browser.send("Fetch.enable", { patterns: [{ urlPattern: "*data.json" }] });
    const answer = JSON.stringify({ state: "recovering", version: "planaria", recovery: { percent: 48, text: "Recovery: 48 % of the log replayed, about 2 s to go." } });
    browser.paused = ({ requestId }) => browser.send("Fetch.fulfillRequest", { requestId, responseCode: 200, responseHeaders: [{ name: "content-type", value: "application/json" }], body: Buffer.from(answer).toString("base64") });
    await browser.until(`document.getElementById("state").textContent === "recovering"`);
    assert.equal(await browser.eval(`document.getElementById("recovery-bar").value`), 48);
    assert.equal(await browser.eval(`document.getElementById("serving").hidden`), true);
    await browser.picture("recovery");
    browser.paused = undefined;
    await browser.send("Fetch.disable");
    await browser.until(`document.getElementById("state").textContent === "serving"`);
  },

  async "tells nothing without a login"(browser, server) {
    await sql(server, "ALTER ROLE postgres PASSWORD 'a long one';").ended;
    assert.equal((await fetch(server.page + "/data.json")).status, 401);
    assert.equal((await fetch(server.page + "/graph.svg")).status, 401);
    const login = "Basic " + Buffer.from("postgres:a long one").toString("base64");
    const known = { headers: { authorization: login } };
    assert.equal((await fetch(server.page + "/data.json", known)).status, 200);
    assert.match(await (await fetch(server.page + "/graph.svg?procedure=pay", known)).text(), /<svg/);
    assert.equal((await fetch(server.page + "/graph.svg?procedure=n%6fne", known)).status, 404);
  },

  async "says that the server is gone"(browser, server) {
    server.child.kill("SIGKILL");
    await browser.until(`document.getElementById("state").className === "bad"`);
    assert.match(await browser.eval(`document.getElementById("state").textContent`), /no answer/);
  },
};

const server = await serve();
const browser = new Browser(process.env.BROWSER);
let failed = 0;
try {
  for (const [name, test] of Object.entries(tests)) {
    try {
      await test(browser, server);
      assert.deepEqual(browser.problems, []);
      console.log(`the page ${name}: ok`);
    } catch (error) {
      failed++;
      console.log(`the page ${name}: FAILED\n${error.stack}`);
      browser.problems.length = 0;
    }
  }
} finally {
  server.child.kill("SIGKILL");
  await browser.close();
}
console.log(`${Object.keys(tests).length - failed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
