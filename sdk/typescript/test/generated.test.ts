import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const root = join(import.meta.dirname, "../..");

test("the types are those of docs/openapi.json", () => {
  execFileSync("node", [join(root, "scripts/generate.mjs"), "--check"], { stdio: "pipe" });
});

test("every operation has a method", () => {
  const table = readFileSync(join(root, "src/generated.ts"), "utf8").split("OPERATIONS")[1] ?? "";
  const operations = [...table.matchAll(/^ {2}(\w+): \[/gm)];
  assert.ok(operations.length > 40);
  const files = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" });
  const sources = files.filter((name) => name.endsWith(".ts") && name !== "generated.ts");
  const text = sources.map((name) => readFileSync(join(root, "src", name), "utf8")).join("\n");
  const unused = operations.map(([, name]) => name).filter((name) => !text.includes(`"${name}"`));
  // Workers renew and settle many claims in one request.
  const ofOneClaim = [
    "failAttempt",
    "releaseAttempt",
    "sendHeartbeat",
    "snoozeAttempt",
    "succeedAttempt",
  ];
  assert.deepEqual(unused.sort(), [...ofOneClaim, "settleAttempts"].sort());
});
