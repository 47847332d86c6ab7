import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const root = join(import.meta.dirname, "../..");

test("the types are those of docs/openapi.json", () => {
  execFileSync("node", [join(root, "scripts/generate.mjs"), "--check"], { stdio: "pipe" });
});

test("every operation can be called by its name, and most have a method of their own", () => {
  const table = readFileSync(join(root, "src/generated.ts"), "utf8").split("OPERATIONS")[1] ?? "";
  const operations = [...table.matchAll(/^ {2}(\w+): \[/gm)].map(([, name]) => name ?? "");
  assert.ok(operations.length > 40);
  const groups = readFileSync(join(root, "src/api.ts"), "utf8");
  const called = [...groups.matchAll(/http\.call\(\s*"(\w+)"/g)].map(([, name]) => name ?? "");
  assert.deepEqual(
    called.filter((name) => !operations.includes(name)),
    [],
  );
  assert.ok(new Set(called).size > operations.length / 2);
});
