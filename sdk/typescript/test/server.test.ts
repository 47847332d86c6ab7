import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  type AnyJob,
  ApiError,
  JobEndedError,
  type Logger,
  RetryAfterError,
  SnoozeError,
  Steadfast,
  type Worker,
  type WorkerRecord,
} from "steadfast-jobs";
import { startServer, type TestServer } from "steadfast-jobs/testing";

const quiet: Logger = { debug() {}, info() {}, warn() {}, error() {} };
let server: TestServer;
let steadfast: Steadfast;

before(async () => {
  server = await startServer();
  steadfast = new Steadfast({ url: server.url, logger: quiet });
});
after(() => server.stop());

/** Runs a worker while `work` runs. */
async function withWorker(jobs: AnyJob[], work: (worker: Worker) => Promise<void>): Promise<void> {
  const worker = steadfast.worker({ jobs, signals: false, version: "1.2.3" });
  const running = worker.run();
  try {
    await work(worker);
  } finally {
    await worker.stop();
    await running;
  }
}

test("fails twice, three seconds pass, succeeded", async () => {
  const job = steadfast.job("flaky", {
    retry: { baseDelay: "1s", jitter: "none" },
    run: (name: string, { attempt }) => {
      if (attempt < 3) throw new Error("not yet");
      return `hello ${name}`;
    },
  });
  await withWorker([job], async () => {
    const handle = await job.enqueue("Ada");
    await server.runUntilIdle();
    assert.equal((await handle.get()).label, "retrying");
    await server.advance("1s");
    await server.runUntilIdle();
    await server.advance("2s");
    assert.equal(await handle.result({ timeout: "30s" }), "hello Ada");
    const statuses = [];
    for await (const attempt of steadfast.jobs.eachAttempt(handle.id))
      statuses.push(attempt.status);
    assert.deepEqual(statuses, ["SUCCESS", "FAILED", "FAILED"]);
  });
});

test("the result of a job that failed is an error that says why", async () => {
  const job = steadfast.job("hopeless", {
    retry: "once",
    run: (): number => {
      throw new RangeError("too far");
    },
  });
  await withWorker([job], async () => {
    const handle = await job.enqueue();
    await assert.rejects(handle.result({ timeout: "30s" }), (error: JobEndedError) => {
      assert.match(error.message, /^job_\S+ ended failed: RangeError: too far$/);
      return error instanceof JobEndedError;
    });
    const { attempts } = await steadfast.jobs.history(handle.id);
    assert.match(attempts[0]?.failure?.trace ?? "", /RangeError: too far\n\s+at .*server\.test/);
  });
});

test("long delays arrive as they are", async () => {
  const job = steadfast.job("delayed", {
    retry: { jitter: "none", maxDelay: "1d" },
    run: (what: string) => {
      throw what === "snooze" ? new SnoozeError("3h") : new RetryAfterError("1h");
    },
  });
  await withWorker([job], async () => {
    const { now } = await server.advance("0s");
    const handles = await job.enqueueMany(["snooze", "retry"]);
    await server.runUntilIdle();
    const jobs = await Promise.all(handles.map((handle) => handle.get()));
    const delays = jobs.map(({ runAt }) => (Date.parse(runAt) - Date.parse(now)) / 3_600_000);
    assert.deepEqual(delays, [3, 1]);
  });
});

test("jobs on success, steps, progress and the trace reach the server", async () => {
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const second = steadfast.job("second", {
    run: (n: number, { traceparent: trace }) => [n, trace],
  });
  const first = steadfast.job("first", {
    run: async (_payload: unknown, { once, progress, onSuccess }) => {
      const n = await once("number", () => 7);
      await progress(60, "more than half");
      await onSuccess(second, n);
    },
  });
  await withWorker([first, second], async () => {
    const handle = await first.enqueue(undefined, { traceparent });
    await handle.result({ timeout: "30s" });
    await server.runUntilIdle();
    const { attempts } = await steadfast.jobs.history(handle.id);
    assert.equal(attempts[0]?.note, "more than half");
    assert.equal(attempts[0]?.progress, 60);
    const { jobs } = await steadfast.jobs.list({ kind: "second" });
    assert.equal(jobs.length, 1);
    const made = await steadfast.jobs.get(jobs[0]?.id ?? "");
    assert.deepEqual(made.result, [7, traceparent]);
  });
});

test("a worker is shown with its kinds, its version and this library", async () => {
  const job = steadfast.job("shown", { run: () => null });
  await withWorker([job], async (worker) => {
    await (await job.enqueue()).result({ timeout: "30s" });
    // It is written beside the claim, not with it.
    let shown: WorkerRecord | undefined;
    while (!shown) {
      const { workers } = await steadfast.workers.list();
      shown = workers.find(({ name }) => name === worker.name);
    }
    assert.deepEqual(shown?.kinds, ["shown"]);
    assert.equal(shown?.version, "1.2.3");
    assert.match(shown?.library ?? "", /^steadfast-typescript\//);
  });
});

test("what the server refuses says which field and why", async () => {
  await assert.rejects(steadfast.jobs.create({ kind: "a b" }), (error: ApiError) => {
    assert.equal(error.status, 422);
    assert.equal(error.field, "kind");
    return error instanceof ApiError;
  });
});

test("a worker with a wrong address ends with an error, and does not wait", async () => {
  const wrong = new Steadfast({ url: `${server.url}/elsewhere`, logger: quiet });
  const job = wrong.job("lost", { run: () => null });
  await assert.rejects(wrong.worker({ jobs: [job], signals: false }).run(), ApiError);
});

test("the groups of the API reach their operations", async () => {
  const job = steadfast.job("managed", { retry: "once", run: (_payload: { n: number }) => null });
  const schedule = await job.schedule("nightly", { schedule: "0 3 * * *", payload: { n: 1 } });
  assert.equal((await steadfast.schedules.get(schedule.id)).name, "nightly");
  await steadfast.schedules.pause(schedule.id);
  await steadfast.schedules.delete(schedule.id);
  const [one, two] = await job.enqueueMany([{ n: 1 }, { n: 2 }], { delay: "1h" });
  await one?.cancel();
  await steadfast.jobs.edit(two?.id ?? "", { priority: 9 });
  const ids = [];
  for await (const { id } of steadfast.jobs.each({ kind: "managed", limit: 1 })) ids.push(id);
  assert.deepEqual(ids.sort(), [one?.id, two?.id].sort());
  assert.equal((await steadfast.policies.preview("patient")).attempts.length, 4);
  await steadfast.queues.pause("default");
  await steadfast.queues.resume("default");
  await steadfast.gates.set("kind", "managed", { maxRunning: 5 });
  assert.equal((await steadfast.gates.get("kind", "managed")).maxRunning, 5);
  await steadfast.gates.delete("kind", "managed");
  assert.equal((await steadfast.deadLetters.requeue({ kind: "managed", dryRun: true })).count, 0);
  await steadfast.stats.get();
  await steadfast.alerts.list();
});

test("unique jobs, jobs after others and batches reach the server", async () => {
  const job = steadfast.job("graph", { run: (n: number) => n });
  const [one, same] = [
    await job.enqueue(1, { unique: { key: "one" } }),
    await job.enqueue(2, { unique: { key: "one" } }),
  ];
  assert.equal(one.id, same.id);
  assert.equal(same.job.payload, 1);
  const second = await job.enqueue(3, { after: [one.id], onFailure: "run" });
  const batch = await steadfast.batches.create({ open: true });
  await job.enqueue(4, { batch: batch.id });
  await steadfast.batches.add(batch.id, [await job.request(5)]);
  await steadfast.batches.close(batch.id);
  await withWorker([job], async () => {
    assert.equal(await second.result({ timeout: "30s" }), 3);
    await server.runUntilIdle();
    const labels = [];
    for await (const { label } of steadfast.batches.eachJob(batch.id)) labels.push(label);
    assert.deepEqual(labels, ["succeeded", "succeeded"]);
  });
  assert.ok(Array.isArray((await steadfast.failures.list()).failures));
  assert.deepEqual((await steadfast.operations.list()).operations, []);
  assert.ok((await steadfast.audit.list()).records);
});

test("a program that is missing is named", async () => {
  await assert.rejects(
    startServer({ binary: "/no/such/program" }),
    /there is no program \/no\/such\/program: put steadfast on the path, or set STEADFAST_BIN/,
  );
});
