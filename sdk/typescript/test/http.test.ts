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

test("a job is created twice by no request: only with an idempotency key is it repeated", async () => {
  const without = failing(lost());
  await assert.rejects(without.client.jobs.create({ kind: "a" }), ConnectionError);
  assert.equal(without.sent.length, 1);
  const withKey = failing(lost());
  await withKey.client.jobs.create({ kind: "a", idempotencyKey: "k" });
  assert.equal(withKey.sent.length, 2);
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
