import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { startServer } from "steadfast-jobs/testing";

const root = join(import.meta.dirname, "../..");

const blocks = [...readFileSync(join(root, "README.md"), "utf8").matchAll(/```ts\n([\s\S]*?)```/g)];
const [program = "", ...snippets] = blocks.map(([, text = ""]) => text);

/** Compiles a program in build, with the types of Node or without any. */
async function compile(name: string, text: string, ...options: string[]): Promise<string> {
  const source = join(root, "build", `${name}.ts`);
  writeFileSync(source, text);
  const compiler = join(root, "node_modules/.bin/tsc");
  const fixed = ["--ignoreConfig", "--module", "nodenext", "--target", "es2022", "--strict"];
  const all = [...fixed, "--skipLibCheck", ...options, source];
  const [code] = await once(spawn(compiler, all, { stdio: "inherit" }), "exit");
  assert.equal(code, 0);
  return join(root, "build", `${name}.js`);
}

test("the lines at the top of the README enqueue a job and run it until SIGTERM", async () => {
  assert.ok(program.split("\n").length <= 21, "the README begins with 20 lines");
  const globals = "declare const console: { log(text: string): void };\n";
  const compiled = await compile("readme", globals + program);

  const server = await startServer({ clock: "system" });
  try {
    const env = { ...process.env, STEADFAST_URL: server.url, STEADFAST_API_KEY: "" };
    const child = spawn("node", [compiled], { env, stdio: ["ignore", "pipe", "ignore"] });
    const exited = once(child, "exit");
    const [line] = await Promise.race([once(createInterface(child.stdout), "line"), exited]);
    assert.equal(line, "a mail to ada@example.com");
    child.kill("SIGTERM");
    assert.deepEqual(await exited, [0, null]);
    const { jobs } = await server.client.jobs.list({ kind: "welcome-mail" });
    assert.deepEqual(
      jobs.map(({ label }) => label),
      ["succeeded"],
    );
  } finally {
    await server.stop();
  }
});

test("every other piece of the README compiles and runs, in its order", async () => {
  // What a program around the pieces would have, after each of them.
  const around = [
    `const background = steadfast.worker({ jobs: [report], signals: false });
     const running = background.run();`,
    `assert.equal(result, "2026-05");
     await background.stop();
     await running;
     void welcome.enqueue({ email: "bob@example.com" }).then(async (handle) => {
       await handle.result();
       process.kill(process.pid, "SIGTERM");
     });`,
    "",
    "",
    "",
    `const listening = app.listen(0);
     await once(listening, "listening");
     const { port } = listening.address() as AddressInfo;
     const refused = await fetch(\`http://127.0.0.1:\${port}/hooks\`, { method: "POST", body: "{}" });
     assert.equal(refused.status, 401);
     listening.close();`,
    "",
    `console.log("all pieces have run");`,
  ];
  assert.equal(snippets.length, around.length);
  const start = program.slice(0, program.lastIndexOf("await steadfast.worker"));
  const pieces = snippets.map((text, index) => `${text}${around[index]}`);
  pieces[0] = pieces[0]?.replace("/* … */", "return payload.month;") ?? "";
  const imports = `import assert from "node:assert/strict";
    import { once } from "node:events";
    import type { AddressInfo } from "node:net";
    import express from "express";\n`;
  const values = `const app = express();
    const schema = z.object({ month: z.string() });
    const payload = { month: "2026-05" };
    const [first, second, third] = [payload, payload, payload] as const;\n`;
  const text = imports + start + values + pieces.join("\n");
  const compiled = await compile("readme-pieces", text, "--types", "node");

  const server = await startServer({ clock: "system" });
  try {
    const secret = `whsec_${Buffer.from("a secret of at least 24 bytes").toString("base64")}`;
    const env = { ...process.env, STEADFAST_URL: server.url, STEADFAST_WEBHOOK_SECRET: secret };
    const child = spawn("node", [compiled], { env, stdio: ["ignore", "pipe", "pipe"] });
    const output: string[] = [];
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk) => output.push(String(chunk)));
    }
    assert.deepEqual(await once(child, "close"), [0, null], output.join(""));
    assert.match(output.join(""), /all pieces have run/);
  } finally {
    await server.stop();
  }
});
