import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import {
  type AnyJob,
  type EnqueueOptions,
  JobError,
  type JobHandler,
  type Logger,
  PayloadError,
  PermanentError,
  RetryAfterError,
  SnoozeError,
  Steadfast,
} from "steadfast-jobs";
import { TestEngine } from "steadfast-jobs/testing";
import * as v from "valibot";
import { z } from "zod";

const quiet: Logger = { debug() {}, info() {}, warn() {}, error() {} };
const steadfast = new Steadfast({ logger: quiet });
let engine: TestEngine | undefined;

function start(...jobs: AnyJob[]): TestEngine {
  engine = new TestEngine(steadfast, { jobs });
  return engine;
}

afterEach(() => engine?.restore());

/** A job that does one thing per attempt, and succeeds after the last. */
function script(kind: string, ...errors: Error[]) {
  const run: JobHandler<unknown, string> = (_payload, { attempt }) => {
    const error = errors[attempt - 1];
    if (error) throw error;
    return `attempt ${attempt}`;
  };
  return steadfast.job(kind, { retry: { baseDelay: "1s", maxRetries: 3 }, run });
}

test("fails twice, three seconds pass, succeeded", async () => {
  const job = script("flaky", new Error("one"), new Error("two"));
  const engine = start(job);
  const { id } = await job.enqueue();
  assert.equal(await engine.runDue(), 1);
  assert.equal(engine.job(id).label, "retrying");
  assert.equal(await engine.advance("3s"), 2);
  assert.equal(engine.job(id).label, "succeeded");
  assert.equal(engine.job(id).result, "attempt 3");
  assert.equal(engine.now.toISOString(), "2026-01-01T00:00:03.000Z");
});

test("what a handler throws decides what follows", async () => {
  class CardDeclined extends Error {}
  class Quota extends JobError {
    override name = "Quota";
  }
  class CardGone extends PermanentError {}
  class Busy extends RetryAfterError {}
  class Störung extends JobError {}
  const cases: [Error, string, string | undefined, number | undefined][] = [
    [new Error("no"), "retrying", "Error", 1_000],
    [new CardDeclined("no"), "retrying", "CardDeclined", 1_000],
    [new TypeError("no"), "retrying", "TypeError", 1_000],
    [new Quota("no"), "retrying", "Quota", 1_000],
    [new JobError("no", { class: "quota" }), "retrying", "quota", 1_000],
    [new JobError("no", { httpStatus: 404 }), "failed", "error", undefined],
    [new RetryAfterError("10s"), "retrying", "error", 10_000],
    [new RetryAfterError("10ms"), "retrying", "error", 1_000],
    [new PermanentError("no"), "failed", "validation", undefined],
    [new PermanentError("no", { class: "not_found" }), "failed", "not_found", undefined],
    [new PermanentError("no", { class: "Smtp" }), "failed", "Smtp", undefined],
    [
      new PermanentError("no", { cause: new CardDeclined("x") }),
      "failed",
      "CardDeclined",
      undefined,
    ],
    [new PermanentError("no", { cause: new Error("x") }), "failed", "validation", undefined],
    [new CardGone("no"), "failed", "CardGone", undefined],
    [new Busy("10s"), "retrying", "Busy", 10_000],
    [new Störung("ja"), "retrying", "Störung", 1_000],
    [new SnoozeError("5m"), "scheduled", undefined, 300_000],
  ];
  for (const [error, label, failureClass, delayMs] of cases) {
    const job = script("thrower", error);
    const engine = start(job);
    const { id } = await job.enqueue();
    await engine.runDue();
    const after = engine.job(id);
    assert.equal(after.label, label, error.name);
    assert.equal(after.failure?.class, failureClass, error.name);
    assert.equal(after.failure?.permanent === true, error instanceof PermanentError, error.name);
    const delay = new Date(after.runAt).getTime() - engine.now.getTime();
    if (delayMs !== undefined) assert.equal(delay, delayMs, error.name);
    engine.restore();
  }
});

test("a failure has the trace of the error and of its causes", async () => {
  const job = script("caused", new Error("outer", { cause: new TypeError("inner") }));
  const engine = start(job);
  const { id } = await job.enqueue();
  await engine.runDue();
  const trace = (engine.job(id).failure as { trace?: string }).trace ?? "";
  assert.match(trace, /^Error: outer\n\s+at .*engine\.test/);
  assert.match(trace, /\ncaused by: TypeError: inner\n/);
});

test("whatever a handler throws is a failure", async () => {
  const hostile = new Proxy(new Error("x"), {
    get() {
      throw new TypeError("no");
    },
  });
  const thrown: [unknown, string, string][] = [
    [undefined, "error", "undefined"],
    [10n, "error", "10"],
    [Object.create(null), "error", "{}"],
    [{ toJSON: () => hostile.message }, "error", "[object Object]"],
    [hostile, "error", "the thrown value cannot be described"],
    [new Error("a half \ud83e"), "Error", "a half \ufffd"],
    [new Error("whole 🦀"), "Error", "whole 🦀"],
  ];
  for (const [value, failureClass, message] of thrown) {
    const job = steadfast.job("thrower", {
      run: () => {
        throw value;
      },
    });
    const engine = start(job);
    const { id } = await job.enqueue();
    await engine.runDue();
    assert.equal(engine.job(id).failure?.class, failureClass);
    assert.equal(engine.job(id).failure?.message, message);
    engine.restore();
  }
});

test("retries end with the policy", async () => {
  const error = new Error("always");
  const job = script("hopeless", error, error, error, error, error);
  const engine = start(job);
  const { id } = await job.enqueue();
  assert.equal(await engine.runToEnd(), 4);
  assert.equal(engine.job(id).reason, "exhausted");
  assert.equal(engine.now.toISOString(), "2026-01-01T00:00:07.000Z");
});

test("a rule of the policy decides before the class", async () => {
  const job = steadfast.job("ruled", {
    retry: {
      rules: [
        { match: { class: "validation" }, then: { retry: "1h" } },
        { match: { message: "*quota*" }, then: "fail" },
      ],
    },
    run: (message: string) => {
      if (message === "validation") throw new PermanentError(message);
      throw new Error(message);
    },
  });
  const engine = start(job);
  const [retried, failed] = await job.enqueueMany(["validation", "over the quota today"]);
  await engine.runDue();
  assert.equal(engine.job(retried?.id ?? "").runAt, "2026-01-01T01:00:00.000Z");
  assert.equal(engine.job(failed?.id ?? "").reason, "rule");
});

test("a payload that does not fit is refused when it is enqueued, and fails when it is run", async () => {
  const schemas = [
    z.object({ count: z.int() }),
    v.object({ count: v.pipe(v.number(), v.integer()) }),
  ];
  for (const payload of schemas) {
    const job = steadfast.job("typed", { payload, run: ({ count }) => count + 1 });
    const engine = start(job);
    await assert.rejects(job.enqueue({ count: "1" } as never), PayloadError);
    const { id } = await steadfast.jobs.create({ kind: "typed", payload: { count: "many" } });
    const good = await job.enqueue({ count: 41 });
    await engine.runDue();
    assert.equal(engine.job(id).failure?.class, "payload");
    assert.match(engine.job(id).failure?.message ?? "", /count: /);
    assert.equal(engine.job(id).reason, "non_retryable");
    assert.equal(await good.result(), 42);
    engine.restore();
  }
});

test("a schema that transforms is applied once, in the worker", async () => {
  const job = steadfast.job("dated", {
    payload: z.object({ day: z.iso.date().transform((text) => new Date(text)) }),
    run: ({ day }) => day.getUTCFullYear(),
  });
  const engine = start(job);
  const handle = await job.enqueue({ day: "2026-05-01" });
  await engine.runDue();
  assert.equal(await handle.result(), 2026);
  assert.deepEqual(engine.job(handle.id).payload, { day: "2026-05-01" });
});

test("a step that was done is not done again", async () => {
  let charges = 0;
  const job = steadfast.job("once", {
    run: async (_payload: unknown, { once, attempt }) => {
      const receipt = await once("charge", () => ({ number: ++charges }));
      if (attempt === 1) throw new Error("after the charge");
      return receipt.number;
    },
  });
  const engine = start(job);
  const handle = await job.enqueue();
  await engine.runToEnd();
  assert.equal(await handle.result(), 1);
  assert.equal(charges, 1);
});

test("jobs on success exist if and only if the attempt succeeds, with its trace", async () => {
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const receipt = steadfast.job("receipt", { run: (_order: number) => null });
  const order = steadfast.job("order", {
    run: async (number: number, { onSuccess, attempt }) => {
      await onSuccess(receipt, number, { priority: 9 });
      if (attempt === 1) throw new Error("not yet");
    },
  });
  const engine = start(order, receipt);
  await order.enqueue(7, { traceparent });
  await engine.runDue();
  assert.equal(engine.jobs.length, 1);
  await engine.runToEnd();
  const [, made] = engine.jobs;
  assert.equal(made?.kind, "receipt");
  assert.equal(made?.payload, 7);
  assert.equal(made?.priority, 9);
  assert.equal(made?.traceparent, traceparent);
});

test("a job that is enqueued by a handler has its trace, however deep", async () => {
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const inner = steadfast.job("inner", { run: () => null });
  const enqueueLater = async () => {
    await new Promise((resolve) => setImmediate(resolve));
    await inner.enqueue();
  };
  const outer = steadfast.job("outer", { run: () => enqueueLater() });
  const engine = start(outer, inner);
  await outer.enqueue(undefined, { traceparent });
  await engine.runDue();
  assert.equal(engine.jobs[1]?.traceparent, traceparent);
  await inner.enqueue();
  assert.equal(engine.jobs[2]?.traceparent, null);
});

test("progress is a whole number of percent, with a note", async () => {
  const job = steadfast.job("slow", {
    run: async (_payload: unknown, { progress }) => {
      await progress(33.4, "a third");
      progress(140);
    },
  });
  const engine = start(job);
  const { id } = await job.enqueue();
  await engine.runDue();
  assert.equal(engine.job(id).progress, 100);
  assert.equal(engine.job(id).note, "a third");
});

test("a long attempt keeps all lines of its log, each once", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const job = steadfast.job("long-log", {
    run: async (_payload: unknown, { log }) => {
      for (const text of ["first", "second", "third"]) {
        log("info", text);
        t.mock.timers.tick(500);
        await new Promise((resolve) => setImmediate(resolve));
      }
      log("info", "last");
    },
  });
  const engine = start(job);
  const { id } = await job.enqueue();
  await engine.runDue();
  assert.deepEqual(
    engine.log(id).map(({ text }) => text),
    ["first", "second", "third", "last"],
  );
});

test("an attempt keeps the newest lines of its log, and what its logger writes", async () => {
  const job = steadfast.job("chatty", {
    run: async (_payload: unknown, { log, logger }) => {
      for (let number = 0; number < 1_005; number += 1) log("debug", `${number}`);
      logger.debug("hidden");
      logger.warn("slow", { ms: 7 });
      log("error", "é".repeat(8 * 1024));
    },
  });
  const engine = start(job);
  const { id } = await job.enqueue();
  await engine.runDue();
  const lines = engine.log(id);
  assert.equal(lines.length, 1_000);
  assert.equal(lines[0]?.text, "7");
  assert.equal(lines.at(-2)?.text, 'slow {"ms":7}');
  assert.ok(new TextEncoder().encode(lines.at(-1)?.text).length <= 8 * 1024);
});

test("middleware wraps handlers, the first outermost", async () => {
  const seen: string[] = [];
  const job = steadfast.job("wrapped", { run: () => seen.push("run") });
  const trace = (name: string) => async (_context: unknown, next: () => Promise<unknown>) => {
    seen.push(`before ${name}`);
    const result = await next();
    seen.push(`after ${name}`);
    return result;
  };
  engine = new TestEngine(steadfast, { jobs: [job], middleware: [trace("a"), trace("b")] });
  await job.enqueue();
  await engine.runDue();
  assert.deepEqual(seen, ["before a", "before b", "run", "after b", "after a"]);
});

test("a timeout aborts the handler and fails with class timeout", async () => {
  const job = steadfast.job("endless", {
    timeout: "10ms",
    retry: "once",
    run: (_payload: unknown, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
      }),
  });
  const engine = start(job);
  const { id } = await job.enqueue();
  await engine.runDue();
  assert.equal(engine.job(id).failure?.class, "timeout");
});

test("defaults of the definition hold unless the job says otherwise", async () => {
  const job = steadfast.job("defaults", {
    queue: "mail",
    priority: 7,
    tags: { a: "1" },
    run: () => 1,
  });
  const engine = start(job);
  const runAt = new Date("2026-01-02T00:00:00Z");
  const { id } = await job.enqueue(undefined, { priority: 1, runAt, idempotencyKey: "k" });
  const same = await job.enqueue(undefined, { idempotencyKey: "k" });
  const { queue, priority, tags, label } = engine.job(id);
  assert.deepEqual(
    { queue, priority, tags, label },
    {
      queue: "mail",
      priority: 1,
      tags: { a: "1" },
      label: "scheduled",
    },
  );
  assert.equal(same.id, id);
});

test("a worker is refused with a reason", () => {
  const job = steadfast.job("a", { run: () => null });
  const idle = steadfast.job("idle", {});
  assert.throws(() => steadfast.worker({ jobs: [] }), /jobs: a worker runs 1 to 100 kinds/);
  assert.throws(() => steadfast.worker({ jobs: [job, job] }), /two definitions have the same kind/);
  assert.throws(() => steadfast.worker({ jobs: [idle] }), /idle has no `run`/);
  assert.throws(() => steadfast.worker({ jobs: [job], concurrency: 0 }), /concurrency: 0 must/);
  assert.throws(() => steadfast.worker({ jobs: [job], grace: "soon" }), /grace: "soon" is not/);
});

test("a payload is checked as the worker will see it", async () => {
  const dated = steadfast.job("dated", { payload: z.object({ at: z.date() }), run: () => null });
  const coerced = steadfast.job("coerced", {
    payload: z.object({ at: z.coerce.date() }),
    run: ({ at }) => at.getTime(),
  });
  const loose = steadfast.job("loose", { run: (payload: unknown) => payload });
  const engine = start(dated, coerced, loose);
  await assert.rejects(dated.enqueue({ at: new Date(0) }), PayloadError);
  const { id } = await coerced.enqueue({ at: new Date(7) });
  await engine.runDue();
  assert.equal(engine.job(id).result, 7);
  for (const lost of [Number.NaN, { a: [Number.POSITIVE_INFINITY] }, new Map(), { a: new Set() }]) {
    await assert.rejects(loose.enqueue(lost), /has no form in JSON/);
  }
  await assert.rejects(loose.enqueue(1n), PayloadError);
  assert.equal(engine.jobs.length, 1);
});

test("options that the engine does not play are refused", async () => {
  const job = steadfast.job("plain", { run: () => null });
  const engine = start(job);
  const options: EnqueueOptions[] = [
    { unique: { key: "one" } },
    { after: ["job_1"] },
    { batch: "bat_1" },
    { startBefore: "1h" },
    { debounce: "1s" },
    { retryDelay: "1s" },
  ];
  for (const option of options) {
    const [name = ""] = Object.keys(option);
    await assert.rejects(job.enqueue(undefined, option), new RegExp(`does not play ${name}`));
  }
  await assert.rejects(steadfast.queues.list(), /does not play GET \/queues/);
  assert.equal(engine.jobs.length, 0);
});

test("jobs run by priority, and short forms of the policy hold", async () => {
  const order: string[] = [];
  const job = steadfast.job("ordered", {
    run: (name: string) => {
      order.push(name);
      throw new Error("no");
    },
  });
  const engine = start(job);
  const low = await job.enqueue("low", { priority: 1, maxRetries: 0 });
  const high = await job.enqueue("high", { priority: 9, maxAttempts: 1 });
  await job.enqueue("later", { priority: 9, delay: "1s", maxRetries: 0 });
  await engine.runToEnd();
  assert.deepEqual(order, ["high", "low", "later"]);
  assert.equal(engine.job(low.id).reason, "exhausted");
  assert.equal(engine.job(high.id).reason, "exhausted");
});

test("a result can be waited for while the engine runs a handler that waits", async () => {
  const job = steadfast.job("timed", {
    run: async (n: number) => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return 2 * n;
    },
  });
  const engine = start(job);
  const handle = await job.enqueue(4);
  const [result] = await Promise.all([handle.result({ timeout: "30s" }), engine.runDue()]);
  assert.equal(result, 8);
});

test("deadlines are times or durations", async () => {
  const job = steadfast.job("deadline", { startBefore: 1_500, run: () => null });
  assert.equal((await job.request(undefined)).startBefore, "1500ms");
  const at = new Date("2030-01-01T00:00:00Z");
  const request = await job.request(undefined, { startBefore: at, runAt: at });
  assert.equal(request.startBefore, "2030-01-01T00:00:00.000Z");
  assert.equal(request.runAt, "2030-01-01T00:00:00.000Z");
});
