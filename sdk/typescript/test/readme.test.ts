import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { startServer } from "steadfast/testing";

const root = join(import.meta.dirname, "../..");

test("the lines at the top of the README enqueue a job and run it until SIGTERM", async () => {
  const [, lines = ""] =
    /```ts\n([\s\S]*?)```/.exec(readFileSync(join(root, "README.md"), "utf8")) ?? [];
  assert.ok(lines.split("\n").length <= 21, "the README begins with 20 lines");
  const globals = "declare const console: { log(text: string): void };\n";
  const source = join(root, "build/readme.ts");
  writeFileSync(source, globals + lines);
  const compiler = join(root, "node_modules/.bin/tsc");
  const options = [
    "--ignoreConfig",
    "--module",
    "nodenext",
    "--target",
    "es2022",
    "--strict",
    "--skipLibCheck",
  ];
  const [code] = await once(spawn(compiler, [...options, source], { stdio: "inherit" }), "exit");
  assert.equal(code, 0);

  const server = await startServer({ clock: "system" });
  try {
    const env = { ...process.env, STEADFAST_URL: server.url, STEADFAST_API_KEY: "" };
    const child = spawn("node", [join(root, "build/readme.js")], {
      env,
      stdio: ["ignore", "pipe", "ignore"],
    });
    const exited = once(child, "exit");
    const [line] = await Promise.race([once(createInterface(child.stdout), "line"), exited]);
    assert.equal(line, "a mail to ada@example.com");
    child.kill("SIGTERM");
    assert.deepEqual(await exited, [0, null]);
    const { jobs } = await server.client.jobs.list({ kind: "welcome" });
    assert.deepEqual(
      jobs.map(({ label }) => label),
      ["succeeded"],
    );
  } finally {
    await server.stop();
  }
});
