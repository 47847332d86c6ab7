// Run by check.sh in an empty project that has the packed package and nothing else.
import assert from "node:assert/strict";
import { Steadfast } from "steadfast-jobs";
import { webhookReceiver } from "steadfast-jobs/express";
import { startServer, TestEngine } from "steadfast-jobs/testing";

const server = await startServer({ clock: "system" });
const steadfast = new Steadfast({ url: server.url });
const double = steadfast.job("double", { run: (n) => n * 2 });
const worker = steadfast.worker({ jobs: [double] });
const running = worker.run();
const handle = await double.enqueue(21);
assert.equal(await handle.result({ timeout: "30s" }), 42);
await worker.stop();
await running;
await server.stop();
assert.equal(typeof webhookReceiver, "function");
assert.equal(typeof TestEngine, "function");
