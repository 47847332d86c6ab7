import assert from "node:assert/strict";
import { test } from "node:test";
import type { JobContext, LogLines, WorkerOptions } from "steadfast-jobs";
import { type Call, claims, never, quiet, scripted, settled, turn } from "./scripted.js";

const REFUSED = { status: 422, code: "invalid", detail: "refused" };
const texts = (log: LogLines | null | undefined) => log?.lines?.map(({ text }) => text);

/** Runs one job on a server that answers everything but the first claim with a function. */
async function runOne(
  run: (context: JobContext, calls: Call[]) => unknown,
  answer: (call: Call) => unknown,
  options: Partial<WorkerOptions> = {},
) {
  const server = scripted((call, calls) => {
    if (call.path === "/claims") return calls.length === 1 ? claims(1, "logs") : never;
    return answer(call);
  });
  const job = server.client.job("logs", {
    run: (_payload: number, context) => run(context, server.calls),
  });
  const worker = server.client.worker({ jobs: [job], signals: false, ...options });
  const running = worker.run();
  while (server.confirmed.length === 0) await turn();
  await worker.stop();
  await running;
  return server;
}

test("a line of a log is text that the server can read, whatever was logged", async () => {
  const odd: unknown[] = ["half \ud83d", 7, undefined, { a: 1 }, Symbol("s"), Object.create(null)];
  const server = await runOne(({ log, logger }) => {
    for (const value of odd) log("info", value as string);
    log("loud" as "info", "unknown level");
    logger.warn("half \ude00", { field: "\ud83d" });
    logger.error(new TypeError("an error") as unknown as string);
  }, settled);
  const log = server.confirmed[0]?.log;
  assert.deepEqual(texts(log)?.slice(0, 8), [
    "half \ufffd",
    "7",
    "undefined",
    '{"a":1}',
    "Symbol(s)",
    "{}",
    "unknown level",
    'half \ufffd {"field":"\\ud83d"}',
  ]);
  assert.match(texts(log)?.[8] ?? "", /^TypeError: an error/);
  assert.equal(log?.lines?.[6]?.level, "info");
});

test("an outcome whose log is refused is reported without it", async () => {
  const server = await runOne(
    ({ log }) => log("info", "a line"),
    (call) => {
      const hasLog = call.body.settlements?.some((settlement) => settlement.log);
      return hasLog ? Response.json(REFUSED, { status: 422 }) : settled(call);
    },
  );
  assert.equal(server.of("/claims/settle").length, 2);
  assert.deepEqual(texts(server.of("/claims/settle")[0]?.body.settlements?.[0]?.log), ["a line"]);
  const [outcome] = server.confirmed;
  assert.deepEqual([outcome?.outcome, outcome?.log], ["succeed", undefined]);
});

test("a log that does not fit beside a large result is left out", async () => {
  const large = "x".repeat(600 * 1024);
  const server = await runOne(({ log }) => {
    for (let line = 0; line < 8; line += 1) log("info", "\u0001".repeat(8 * 1024));
    return large;
  }, settled);
  const [outcome] = server.confirmed;
  assert.equal(outcome?.result, large);
  assert.equal(outcome?.log, undefined);
});

test("lines that the server refuses in a heartbeat are not sent again", async () => {
  const server = await runOne(
    async ({ log }, calls) => {
      log("info", "refused");
      while (!calls.some(({ path }) => path === "/claims/heartbeat")) await turn();
      await turn();
      log("info", "later");
    },
    (call) =>
      call.path === "/claims/settle" ? settled(call) : Response.json(REFUSED, { status: 422 }),
  );
  assert.deepEqual(texts(server.of("/claims/heartbeat")[0]?.body.claims?.[0]?.log), ["refused"]);
  assert.deepEqual(texts(server.confirmed[0]?.log), ["later"]);
});

test("a line and a progress renew the lease of the worker, not the job's own", async () => {
  const server = await runOne(
    async ({ log, progress }, calls) => {
      await progress(50, "half");
      log("info", "a line");
      while (calls.filter(({ path }) => path === "/claims/heartbeat").length < 2) await turn();
    },
    (call) => (call.path === "/claims/settle" ? settled(call) : { claims: [{ ok: true }] }),
    { lease: "2m" },
  );
  const entries = server.of("/claims/heartbeat").flatMap(({ body }) => body.claims ?? []);
  assert.deepEqual(
    entries.map(({ lease }) => lease),
    [120_000, 120_000],
  );
});

test("an attempt that lost its lease sends no further lines", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const server = scripted((call, calls) => {
    if (call.path === "/claims") return calls.length === 1 ? claims(1, "logs") : never;
    return { claims: [{ ok: false, code: "stale_fence" }] };
  });
  let hasEnded = false;
  const job = server.client.job("logs", {
    run: async (_payload: number, { log, signal }) => {
      log("info", "before");
      t.mock.timers.tick(500);
      while (!signal.aborted) await turn();
      log("info", "after");
      hasEnded = true;
    },
  });
  const worker = server.client.worker({ jobs: [job], signals: false });
  const running = worker.run();
  while (!hasEnded) await turn();
  for (let round = 0; round < 5; round += 1) {
    t.mock.timers.tick(500);
    await turn();
  }
  assert.equal(server.of("/claims/heartbeat").length, 1);
  const stopped = worker.stop();
  for (let round = 0; round < 5; round += 1) {
    await turn();
    t.mock.timers.tick(2_000);
  }
  await Promise.all([stopped, running]);
});

test("what the worker says about an attempt is not part of the log of the job", async () => {
  const said: [string, unknown][] = [];
  const logger = {
    ...quiet,
    warn: (message: string, fields?: Record<string, unknown>) => {
      said.push([message, fields?.["job"]]);
    },
  };
  const server = await runOne(
    ({ log }) => {
      log("info", "from the handler");
      throw new Error("broken");
    },
    settled,
    { logger },
  );
  assert.deepEqual(texts(server.confirmed[0]?.log), ["from the handler"]);
  assert.deepEqual(said, [["attempt failed", "job_0"]]);
});

test("a job of an unknown kind is given back without a log", async () => {
  const server = scripted((call, calls) => {
    if (calls.length === 1) return claims(1, "unknown");
    return call.body.settlements ? { claims: [], ...settled(call) } : never;
  });
  const reported = () => server.calls.flatMap(({ body }) => body.settlements ?? []);
  const job = server.client.job("logs", { run: () => null });
  const worker = server.client.worker({ jobs: [job], signals: false });
  const running = worker.run();
  while (reported().length === 0) await turn();
  await worker.stop();
  await running;
  const [outcome] = reported();
  assert.deepEqual([outcome?.outcome, outcome?.log], ["release", undefined]);
});
