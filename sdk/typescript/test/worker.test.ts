import assert from "node:assert/strict";
import { test } from "node:test";
import { Steadfast } from "steadfast-jobs";
import { claims, never, quiet, scripted, settled, turn } from "./scripted.js";

test("jobs are claimed by free slots and reported in batches", async () => {
  const server = scripted((call, calls) => {
    if (call.path === "/claims/settle") return settled(call);
    return calls.length === 1 ? claims(100, "noop") : never;
  });
  const job = server.client.job("noop", { run: () => null });
  const worker = server.client.worker({ jobs: [job], concurrency: 100, signals: false });
  const running = worker.run();
  while (server.of("/claims/settle").length === 0) await turn();
  await worker.stop();
  await running;
  assert.equal(server.of("/claims")[0]?.body.max, 100);
  assert.deepEqual(
    server.of("/claims/settle").map(({ body }) => body.settlements?.length),
    [100],
  );
});

test("a server that answers at once without jobs is not asked in a hot loop", async () => {
  const server = scripted(() => ({ claims: [] }));
  const job = server.client.job("noop", { run: () => null });
  const worker = server.client.worker({ jobs: [job], signals: false });
  const running = worker.run();
  while (server.calls.length < 4) await turn();
  await worker.stop();
  await running;
  assert.equal(server.calls.length, 4);
});

test("an outcome that the server refuses becomes a failure that says why", async () => {
  const cyclic: Record<string, unknown> = {};
  cyclic["self"] = cyclic;
  const refusal = {
    code: "validation",
    field: "settlements[1].result",
    detail: "is over 65536 bytes",
  };
  const server = scripted((call, calls) => {
    if (call.path === "/claims") return calls.length === 1 ? claims(3, "mixed") : never;
    const results = call.body.settlements ?? [];
    const isTooLarge = results.some(({ result }) => result === "too large");
    return isTooLarge ? Response.json(refusal, { status: 422 }) : settled(call);
  });
  const job = server.client.job("mixed", { run: (n: number) => ["good", "too large", cyclic][n] });
  const worker = server.client.worker({ jobs: [job], signals: false });
  const running = worker.run();
  while (server.of("/claims/settle").length < 3) await turn();
  await worker.stop();
  await running;
  const [, second, third] = server.of("/claims/settle").map(({ body }) => body.settlements ?? []);
  assert.deepEqual(
    second?.map(({ id, outcome }) => [id, outcome]),
    [
      ["job_0", "succeed"],
      ["job_2", "fail"],
    ],
  );
  assert.match(second?.[1]?.failure?.message ?? "", /^cannot encode the result as JSON/);
  assert.equal(third?.[0]?.id, "job_1");
  assert.match(third?.[0]?.failure?.message ?? "", /settlements\[1\]\.result: is over 65536 bytes/);
});

test("a stop tells of the jobs it gives back, and of handlers that ignore their signal", async () => {
  const warnings: [string, unknown][] = [];
  const logger = {
    ...quiet,
    warn: (message: string, fields?: Record<string, unknown>) => {
      warnings.push([message, fields?.["jobs"]]);
    },
  };
  const server = scripted((call, calls) => {
    if (call.path === "/claims/settle") return settled(call);
    return calls.length === 1 ? claims(2, "long") : never;
  }, logger);
  let started = 0;
  const job = server.client.job("long", {
    run: (n: number, { signal }) => {
      started += 1;
      if (n === 0) return never;
      return new Promise<never>((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
      });
    },
  });
  const worker = server.client.worker({ jobs: [job], grace: "1ms", signals: false });
  const running = worker.run();
  while (started < 2) await turn();
  await worker.stop();
  await running;
  assert.deepEqual(warnings, [
    ["the grace period is over: releasing jobs", ["job_0", "job_1"]],
    ["handlers ignore their signal and keep the process alive", ["job_0"]],
  ]);
  const outcomes = server.of("/claims/settle").flatMap(({ body }) => body.settlements ?? []);
  assert.deepEqual(outcomes.map(({ id, outcome }) => `${id} ${outcome}`).sort(), [
    "job_0 release",
    "job_1 release",
  ]);
});

test("a handler hears of a stop before the grace is over", async () => {
  const server = scripted((call, calls) => {
    if (call.path === "/claims/settle") return settled(call);
    return calls.length === 1 ? claims(1, "long") : never;
  });
  let begun = false;
  const job = server.client.job("long", {
    run: async (_payload: number, { stopping, signal }) => {
      begun = true;
      await new Promise<void>((resolve) => stopping.addEventListener("abort", () => resolve()));
      return signal.aborted ? "too late" : "saved";
    },
  });
  const worker = server.client.worker({ jobs: [job], signals: false });
  const running = worker.run();
  while (!begun) await turn();
  await worker.stop();
  await running;
  assert.equal(server.confirmed[0]?.result, "saved");
});

test("a certificate that is not trusted ends a worker at its start", async () => {
  const client = new Steadfast({
    url: "https://scripted",
    logger: quiet,
    fetch: async () => {
      throw Object.assign(new Error("self-signed certificate"), {
        code: "DEPTH_ZERO_SELF_SIGNED_CERT",
      });
    },
  });
  const job = client.job("noop", { run: () => null });
  await assert.rejects(client.worker({ jobs: [job], signals: false }).run(), /self-signed/);
});
