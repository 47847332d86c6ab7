import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError, ConnectionError, type HttpRequest, Steadfast } from "steadfast-jobs";

/** A client whose first requests fail like this. */
function failing(...failures: (Error | Response)[]) {
  const sent: HttpRequest[] = [];
  const client = new Steadfast({
    url: "http://scripted/",
    apiKey: "sf_key",
    fetch: async (_url, request) => {
      const failure = failures[sent.length];
      sent.push(request);
      if (failure instanceof Error) throw failure;
      return failure ?? Response.json({ id: "job_1" });
    },
  });
  return { client, sent };
}

const lost = () => new Error("socket hang up");
const busy = () => Response.json({ code: "busy", detail: "later" }, { status: 503 });

test("a read is repeated when its response was lost", async () => {
  const { client, sent } = failing(lost(), busy());
  assert.equal((await client.jobs.get("job_1")).id, "job_1");
  assert.equal(sent.length, 3);
  assert.equal(sent[0]?.headers["authorization"], "Bearer sf_key");
});

test("a job is created twice by no request: each has an idempotency key and can be repeated", async () => {
  const plain = failing(lost(), busy(), new Response("<html>", { status: 502 }));
  await plain.client.jobs.create({ kind: "a" });
  assert.equal(plain.sent.length, 4);
  assert.equal(new Set(plain.sent.map(({ body }) => body)).size, 1);
  assert.match(plain.sent[0]?.body ?? "", /"idempotencyKey":"[0-9a-f-]{36}"/);
  const own = failing(lost());
  await own.client.jobs.create({ kind: "a", idempotencyKey: "k" });
  assert.match(own.sent[1]?.body ?? "", /"idempotencyKey":"k"/);
  const raw = failing(lost());
  await assert.rejects(raw.client.call("createJob", { body: { kind: "a" } }), ConnectionError);
  assert.equal(raw.sent.length, 1);
});

test("a command is repeated only if it had no effect", async () => {
  const refused = () => Object.assign(new Error("connect"), { code: "ECONNREFUSED" });
  const busy429 = () => Response.json({ code: "busy" }, { status: 429 });
  for (const [failure, count] of [
    [lost(), 1],
    [Response.json({}, { status: 500 }), 1],
    [busy(), 2],
    [busy429(), 2],
    [refused(), 2],
  ] as const) {
    const { client, sent } = failing(failure);
    await client.jobs.cancel("job_1").catch(() => {});
    assert.equal(sent.length, count);
  }
});

test("a call waits as long as the server asks for", async () => {
  const headers = { "retry-after": "1" };
  const { client } = failing(Response.json({ code: "busy" }, { status: 429, headers }));
  const begun = performance.now();
  await client.jobs.get("job_1");
  assert.ok(performance.now() - begun >= 990);
});

test("enqueues of one turn share a request, and one that is refused does not hinder the others", async () => {
  const sent: string[] = [];
  const client = new Steadfast({
    url: "http://scripted/",
    fetch: async (_url, { body = "" }) => {
      sent.push(body);
      const { jobs, ...job } = JSON.parse(body);
      const list = (jobs ?? [job]) as { priority?: number; payload: number }[];
      if (list.some(({ priority }) => priority === 10)) {
        return Response.json({ code: "invalid", field: "priority" }, { status: 422 });
      }
      const answers = list.map(({ payload }) => ({ id: `job_${payload}`, payload: null }));
      return Response.json(jobs ? { jobs: answers } : answers[0], { status: 201 });
    },
  });
  const count = client.job("count", { run: (n: number) => n });
  const handles = await Promise.all(
    Array.from({ length: 1001 }, (_, index) => count.enqueue(index)),
  );
  assert.equal(sent.length, 2);
  assert.deepEqual(
    handles.map(({ id, job }) => [id, job.payload]),
    Array.from({ length: 1001 }, (_, index) => [`job_${index}`, index]),
  );
  sent.length = 0;
  const settled = await Promise.allSettled([
    count.enqueue(1),
    count.enqueue(2, { priority: 10 }),
    count.enqueue(3),
  ]);
  assert.deepEqual(
    settled.map(({ status }) => status),
    ["fulfilled", "rejected", "fulfilled"],
  );
  assert.equal(sent.length, 4);
  assert.deepEqual(await count.enqueueMany([]), []);
  // The answer to these may be a job that exists.
  sent.length = 0;
  await Promise.all([
    count.enqueue(1, { idempotencyKey: "a" }),
    count.enqueue(2, { unique: { key: "b" } }),
  ]);
  assert.equal(sent.length, 2);
});

test("what the server refuses is not repeated", async () => {
  const problem = { status: 404, code: "not_found", detail: "there is no job_1", field: "id" };
  const { client, sent } = failing(Response.json(problem, { status: 404 }));
  await assert.rejects(client.jobs.get("job_1"), (error: ApiError) => {
    assert.deepEqual([error.status, error.code, error.field], [404, "not_found", "id"]);
    return error instanceof ApiError;
  });
  assert.equal(sent.length, 1);
});

test("a response that is not JSON is a broken connection, or a refusal with its text", async () => {
  const page = () => new Response("<html>", { status: 200 });
  const { client } = failing(page(), page(), page(), page());
  await assert.rejects(client.jobs.get("job_1"), ConnectionError);
  const gateway = failing(new Response("no such host", { status: 421 }));
  await assert.rejects(gateway.client.jobs.get("job_1"), /status 421: no such host/);
});
