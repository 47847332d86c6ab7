import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const root = join(import.meta.dirname, "../..");

test("the types are those of docs/openapi.json", () => {
  execFileSync("node", [join(root, "scripts/generate.mjs"), "--check"], { stdio: "pipe" });
});

test("every operation has a method", () => {
  const table = readFileSync(join(root, "src/generated.ts"), "utf8").split("OPERATIONS")[1] ?? "";
  const operations = [...table.matchAll(/^ {2}(\w+): \["(\w+)", "(.+)"\]/gm)];
  assert.ok(operations.length > 40);
  const methods = readFileSync(join(root, "src/api.ts"), "utf8");
  const missing = operations.filter(([, name, , path]) => {
    const isOfWorkers = path?.startsWith("/claims");
    return !isOfWorkers && !methods.includes(`"${name}"`);
  });
  assert.deepEqual(
    missing.map(([, name]) => name),
    [],
  );
});
