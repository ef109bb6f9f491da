// A browser, steered by the DevTools protocol over a pipe: messages of JSON, each ended by a zero byte.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export class Browser {
  constructor(program) {
    this.profile = mkdtempSync(join(tmpdir(), "planaria-browser-"));
    const options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe", "--no-first-run", `--user-data-dir=${this.profile}`, "about:blank"];
    this.child = spawn(program, options, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    this.number = 0;
    this.waiting = new Map();
    this.problems = [];
    let rest = Buffer.alloc(0);
    this.child.stdio[4].on("data", data => {
      rest = Buffer.concat([rest, data]);
      for (let end; (end = rest.indexOf(0)) >= 0; rest = rest.subarray(end + 1)) this.hear(JSON.parse(rest.subarray(0, end).toString()));
    });
  }

  hear(message) {
    if (message.id !== undefined) {
      const { resolve, reject, what } = this.waiting.get(message.id);
      this.waiting.delete(message.id);
      if (message.error) reject(new Error(`${what}: ${message.error.message}`));
      else resolve(message.result);
    } else if (message.method === "Runtime.exceptionThrown") {
      this.problems.push(message.params.exceptionDetails.exception?.description ?? message.params.exceptionDetails.text);
    } else if (message.method === "Fetch.requestPaused") {
      this.paused?.(message.params);
    }
  }

  send(method, params = {}) {
    const id = ++this.number;
    this.child.stdio[3].write(JSON.stringify({ id, method, params, ...(this.session ? { sessionId: this.session } : {}) }) + "\0");
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject, what: method }));
  }

  // Opens a page and waits until it is loaded.
  async open(url) {
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
    this.session = (await this.send("Target.attachToTarget", { targetId, flatten: true })).sessionId;
    for (const domain of ["Page", "Runtime", "Accessibility", "DOM"]) await this.send(domain + ".enable");
    await this.size(1280, 900);
    await this.send("Page.navigate", { url });
  }

  size(width, height, mobile = false) {
    return this.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile });
  }

  scheme(value) {
    return this.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value }] });
  }

  async eval(expression) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.exception?.description}`);
    return result.value;
  }

  // Waits until an expression holds.
  async until(expression, seconds = 30) {
    for (let i = 0; i < seconds * 20; i++) {
      if (await this.eval(expression).catch(() => false)) return;
      await new Promise(done => setTimeout(done, 50));
    }
    throw new Error(`after ${seconds} s still not: ${expression}`);
  }

  async key(key, code = key, text = undefined) {
    const codes = { Tab: 9, Enter: 13, Escape: 27, " ": 32 };
    const event = { key, code, windowsVirtualKeyCode: codes[key], text };
    await this.send("Input.dispatchKeyEvent", { type: "keyDown", ...event });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", ...event });
  }

  // What a screen reader is told: role and name of everything that is not ignored.
  async accessible() {
    const { nodes } = await this.send("Accessibility.getFullAXTree");
    return nodes.filter(node => !node.ignored).map(node => ({ role: node.role?.value, name: node.name?.value ?? "" }));
  }

  async picture(name) {
    if (!process.env.PICTURES) return;
    const { data } = await this.send("Page.captureScreenshot", { format: "png", captureBeyondViewport: true });
    writeFileSync(join(process.env.PICTURES, name + ".png"), Buffer.from(data, "base64"));
  }

  async close() {
    this.child.kill("SIGKILL");
    await new Promise(done => this.child.once("exit", done));
    // Its children may still write there.
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}
