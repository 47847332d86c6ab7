import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const root = join(import.meta.dirname, "../..");

test("the types are those of docs/openapi.json", () => {
  execFileSync("node", [join(root, "scripts/generate.mjs"), "--check"], { stdio: "pipe" });
});

/** What workers and tests do by themselves. */
const WORK =
  /^(claimJobs|(send|settle|succeed|fail|snooze|release)\w*(Attempts?|Heartbeats?)|(get|save)Step|listPrerequisites|advanceClock|runUntilIdle)$/;

test("every operation has a method of its own", () => {
  const table = readFileSync(join(root, "src/generated.ts"), "utf8").split("OPERATIONS")[1] ?? "";
  const operations = [...table.matchAll(/^ {2}(\w+): \[/gm)].map(([, name]) => name ?? "");
  assert.ok(operations.length > 40);
  const groups = readFileSync(join(root, "src/api.ts"), "utf8");
  const called = [...groups.matchAll(/http\.call\(\s*"(\w+)"/g)].map(([, name]) => name ?? "");
  assert.deepEqual(
    [...new Set(called)].sort(),
    operations.filter((name) => !WORK.test(name)).sort(),
  );
});

test("every option of the API can be given to enqueue", () => {
  const api = JSON.parse(readFileSync(join(root, "../../docs/openapi.json"), "utf8"));
  const fields = Object.keys(api.components.schemas.CreateJobRequest.properties);
  const source = readFileSync(join(root, "src/job.ts"), "utf8");
  const work = /type WorkField =([^;]*);/.exec(source)?.[1] ?? "";
  const left = [...work.matchAll(/"(\w+)"/g)].map(([, name]) => name ?? "");
  assert.deepEqual(left.sort(), [
    "api",
    "http",
    "isRecurring",
    "kind",
    "like",
    "payload",
    "schedule",
    "timezone",
  ]);
  assert.ok(fields.length > left.length + 25);
});
