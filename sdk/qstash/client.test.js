// Every method of the official TypeScript client, against a running server.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { after, before, test } from "node:test";

import { Client, Receiver } from "@upstash/qstash";

const LATER = 24 * 60 * 60;
const client = new Client({ retry: false, enableTelemetry: true });
const arrivals = new Map();
let target;

function entry(path) {
  if (!arrivals.has(path)) arrivals.set(path, { requests: [], waiting: [] });
  return arrivals.get(path);
}

/** The next request to a path. */
function next(path) {
  const { requests, waiting } = entry(path);
  const arrived = requests.shift();
  return arrived ? Promise.resolve(arrived) : new Promise((resolve) => waiting.push(resolve));
}

const server = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const status = Number(request.url.split("/")[1]);
    response.writeHead(status, { "x-said": "so" }).end(`said ${status}`);
    const body = Buffer.concat(chunks).toString();
    const arrival = { method: request.method, headers: request.headers, body };
    const { requests, waiting } = entry(request.url);
    const waiter = waiting.shift();
    if (waiter) waiter(arrival);
    else requests.push(arrival);
  });
});

before(async () => {
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  target = `http://127.0.0.1:${server.address().port}`;
});
after(() => server.close().closeAllConnections());

const place = (status = 200) => `/${status}/${randomUUID()}`;
const unique = () => `n${randomUUID().replaceAll("-", "")}`;

/** A call of Steadfast's own API. */
async function call(method, path, body) {
  const response = await fetch(process.env.STEADFAST_URL + path, {
    method,
    body: body && JSON.stringify(body),
    headers: {
      authorization: `Bearer ${process.env.STEADFAST_API_KEY}`,
      "content-type": "application/json",
    },
  });
  assert.ok(response.ok, `${method} ${path}: ${response.status}`);
  return response.status === 204 ? undefined : await response.json();
}

async function ended(id) {
  const job = await call("GET", `/api/v1/jobs/${id}?wait=30s`);
  assert.ok(["succeeded", "failed", "cancelled"].includes(job.label), job.label);
  return job;
}

async function refused(promise, status, text = "") {
  await assert.rejects(promise, (error) => {
    assert.equal(error.status, status, error.message);
    assert.ok(JSON.parse(error.message).error.includes(text), error.message);
    return true;
  });
}

async function receiver() {
  const { current, next } = await (
    await fetch(`${process.env.QSTASH_URL}/v2/keys`, {
      headers: { authorization: `Bearer ${process.env.QSTASH_TOKEN}` },
    })
  ).json();
  return new Receiver({ currentSigningKey: current, nextSigningKey: next });
}

test("a message arrives signed, with its headers, and can be read", async () => {
  const path = `${place()}?x=1&y=a%20b`;
  const url = target + path;
  const published = await client.publishJSON({
    url,
    body: { hello: "wörld" },
    headers: { "test-header": "value" },
    method: "PATCH",
    retries: 5,
    retryDelay: "pow(2, retried)",
    timeout: "30s",
    label: ["one", "two"],
    flowControl: { key: unique(), parallelism: 2, rate: 10, period: "2s" },
  });
  assert.equal(published.url, url);
  const arrival = await next(path);
  assert.equal(arrival.method, "PATCH");
  assert.equal(arrival.headers["test-header"], "value");
  assert.equal(arrival.headers["content-type"], "application/json");
  const signature = arrival.headers["upstash-signature"];
  assert.ok(await (await receiver()).verify({ signature, body: arrival.body, url }));
  await assert.rejects((await receiver()).verify({ signature, body: "other", url }));
  await assert.rejects((await receiver()).verify({ signature, body: arrival.body, url: target }));
  const message = await client.messages.get(published.messageId);
  assert.deepEqual([message.label, message.labels], ["one", ["one", "two"]]);
  assert.equal(message.body, '{"hello":"wörld"}');
  assert.equal(message.maxRetries, 5);
  assert.equal(message.retryDelayExpression, "pow(2, retried)");
  assert.deepEqual([message.parallelism, message.rate, message.period], [2, 10, 2]);
  await refused(client.messages.get("job_nothing"), 404);
});

test("messages are cancelled: one, several, by filter, all", async () => {
  const label = unique();
  const publish = () => client.publish({ url: target + place(), delay: LATER, label });
  const [one, two, three, four, five] = await Promise.all([1, 2, 3, 4, 5].map(publish));
  assert.deepEqual(await client.messages.cancel(one.messageId), { cancelled: 1 });
  await refused(client.messages.cancel(one.messageId), 404);
  await client.messages.delete(two.messageId);
  assert.equal(await client.messages.deleteMany([two.messageId, three.messageId]), 1);
  assert.deepEqual(await client.messages.cancel({ filter: { label } }), { cancelled: 2 });
  for (const { messageId } of [four, five]) assert.equal((await ended(messageId)).label, "cancelled");
  await publish();
  assert.ok((await client.messages.deleteAll()) >= 1);
});

test("a batch goes to addresses, groups and queues", async () => {
  const name = unique();
  const paths = [place(), place(), place()];
  await client.urlGroups.addEndpoints({ name, endpoints: [{ url: target + paths[1] }] });
  const results = await client.batchJSON([
    { url: target + paths[0], body: { n: 0 } },
    { urlGroup: name, body: { n: 1 } },
    { url: target + paths[2], body: { n: 2 }, queueName: name },
  ]);
  assert.equal(results.length, 3);
  assert.equal(results[1].length, 1);
  for (const [n, path] of paths.entries()) {
    assert.deepEqual(JSON.parse((await next(path)).body), { n });
  }
  const plain = place();
  await client.batch([{ url: target + plain, body: "raw" }]);
  assert.equal((await next(plain)).body, "raw");
});

test("url groups are added to, removed from, listed and deleted", async () => {
  const name = unique();
  const endpoints = [
    { url: `${target}/200/a`, name: "a" },
    { url: `${target}/200/b`, name: "b" },
  ];
  await client.urlGroups.addEndpoints({ name, endpoints });
  assert.deepEqual((await client.urlGroups.get(name)).endpoints, endpoints);
  assert.ok((await client.urlGroups.list()).some((group) => group.name === name));
  await client.urlGroups.removeEndpoints({ name, endpoints: [{ name: "a" }] });
  assert.deepEqual((await client.urlGroups.get(name)).endpoints, [endpoints[1]]);
  const published = await client.publishJSON({ urlGroup: name, body: {} });
  assert.equal(published[0].url, endpoints[1].url);
  await client.urlGroups.delete(name);
  await refused(client.urlGroups.get(name), 404);
  await refused(client.publish({ urlGroup: name }), 404);
});

test("repeated messages are recognised", async () => {
  const url = target + place();
  const deduplicationId = unique();
  const first = await client.publish({ url, body: "1", deduplicationId });
  const again = await client.publish({ url, body: "2", deduplicationId });
  assert.equal(first.deduplicated, undefined);
  assert.equal(again.deduplicated, true);
  assert.equal(first.messageId, again.messageId);
  const body = { body: unique() };
  await client.publishJSON({ url, body, contentBasedDeduplication: true });
  const same = await client.publishJSON({ url, body, contentBasedDeduplication: true });
  assert.equal(same.deduplicated, true);
});

test("callbacks and failure callbacks are called", async () => {
  const [called, failed] = [place(), place()];
  const { messageId } = await client.publishJSON({
    url: target + place(500),
    body: { a: 1 },
    retries: 0,
    callback: target + called,
    failureCallback: target + failed,
    headers: { "Upstash-Callback-Forward-x-own": "yes", "Upstash-Failure-Callback-Retries": "1" },
  });
  const arrival = await next(called);
  assert.equal(arrival.headers["x-own"], "yes");
  const body = JSON.parse(arrival.body);
  assert.equal(body.status, 500);
  assert.equal(body.sourceMessageId, messageId);
  assert.equal(atob(body.body), "said 500");
  assert.equal(atob(body.sourceBody), '{"a":1}');
  assert.equal(JSON.parse((await next(failed)).body).dlqId, messageId);
});

test("several values of a filter match any of them", async () => {
  const [one, two, three] = [unique(), unique(), unique()];
  const publish = async (label, host = "127.0.0.1") => {
    const url = `http://${host}:1/${label}`;
    const { messageId } = await client.publish({ url, delay: LATER, label: [label, "every"] });
    return messageId;
  };
  const ids = [await publish(one), await publish(two), await publish(three, "127.0.0.2")];
  const find = async (query) => {
    const response = await fetch(`${process.env.QSTASH_URL}/v2/events?label=every&${query}`, {
      headers: { authorization: `Bearer ${process.env.QSTASH_TOKEN}` },
    });
    assert.equal(response.status, 200, query);
    const { events } = await response.json();
    return events.map((it) => ids.indexOf(it.messageId)).sort();
  };
  assert.deepEqual(await find(`label=${one}&label=${three}&path=/${one}&path=/${three}`), [0, 2]);
  assert.deepEqual(await find(`url=http://127.0.0.1:1/${one}&url=http://127.0.0.1:1/${two}`), [0, 1]);
  assert.deepEqual(await find(`path=/${two}&path=/${three}`), [1, 2]);
  assert.deepEqual(await find("host=127.0.0.2"), [2]);
  const filter = { label: [one, two, three] };
  assert.deepEqual(await client.messages.cancel({ filter }), { cancelled: 3 });
});

test("dead letters are listed, retried and deleted", async () => {
  const label = unique();
  const path = place(404);
  const publish = async () => {
    const { messageId } = await client.publish({ url: target + path, retries: 0, label });
    assert.equal((await ended(messageId)).label, "failed");
    return messageId;
  };
  const ids = [await publish(), await publish(), await publish()];
  const { messages } = await client.dlq.listMessages({ filter: { label } });
  assert.deepEqual(messages.map((it) => it.messageId).sort(), [...ids].sort());
  assert.equal(messages[0].responseStatus, 404);
  assert.equal(messages[0].responseBody, "said 404");
  for (let i = 0; i < 3; i++) await next(path);
  const retried = await client.dlq.retry(ids[0]);
  assert.deepEqual(retried.responses, [{ messageId: ids[0] }]);
  await next(path);
  assert.equal((await ended(ids[0])).label, "failed");
  await client.dlq.delete(ids[0]);
  await refused(client.dlq.delete(ids[0]), 404);
  assert.equal((await client.dlq.deleteMany({ dlqIds: [ids[1]] })).deleted, 1);
  assert.equal((await client.dlq.delete({ filter: { label } })).deleted, 1);
  assert.deepEqual((await client.dlq.listMessages({ filter: { label } })).messages, []);
});

test("logs and events tell what became of a message", async () => {
  const label = unique();
  const { messageId } = await client.publish({ url: target + place(), label });
  await ended(messageId);
  const { logs } = await client.logs({ filter: { messageId } });
  assert.deepEqual(logs.map((it) => it.state).sort(), ["ACTIVE", "CREATED", "DELIVERED"]);
  const delivered = await client.events({ filter: { label, state: "DELIVERED" } });
  assert.equal(delivered.events.length, 1);
  assert.equal(delivered.events[0].messageId, messageId);
  await refused(client.logs({ filter: { callerIp: "127.0.0.1" } }), 400, "callerIp");
});

test("queues are set, read, paused, listed and deleted", async () => {
  const queueName = unique();
  const queue = client.queue({ queueName });
  await queue.upsert({ parallelism: 3 });
  assert.equal((await queue.get()).parallelism, 3);
  await queue.pause();
  assert.equal((await queue.get()).paused, true);
  const path = place();
  await queue.enqueueJSON({ url: target + path, body: { n: 1 } });
  await queue.enqueue({ url: target + path, body: "2" });
  assert.equal((await queue.get()).lag, 2);
  await queue.resume();
  await Promise.all([next(path), next(path)]);
  assert.ok((await queue.list()).some((it) => it.name === queueName));
  await queue.delete();
  await refused(queue.get(), 404);
});

test("schedules are created, replaced, listed, paused and deleted", async () => {
  const scheduleId = unique();
  const create = (cron) =>
    client.schedules.create({
      destination: target + place(),
      cron,
      scheduleId,
      body: JSON.stringify({ a: 1 }),
      retries: 1,
      label: "nightly",
      queueName: scheduleId,
      timeout: 20,
      failureCallback: `${target}/200/unused`,
    });
  assert.deepEqual(await create("0 3 * * *"), { scheduleId });
  await create("0 4 * * *");
  const schedule = await client.schedules.get(scheduleId);
  assert.equal(schedule.cron, "0 4 * * *");
  assert.deepEqual([schedule.retries, schedule.label, schedule.queueName], [1, "nightly", scheduleId]);
  assert.equal(schedule.isPaused, false);
  assert.ok((await client.schedules.list()).some((it) => it.scheduleId === scheduleId));
  await client.schedules.pause({ schedule: scheduleId });
  assert.equal((await client.schedules.get(scheduleId)).isPaused, true);
  await client.schedules.resume({ schedule: scheduleId });
  assert.equal((await client.schedules.get(scheduleId)).isPaused, false);
  await client.schedules.delete(scheduleId);
  await refused(client.schedules.get(scheduleId), 404);
});

test("flow control keys are read, paused and resumed", async () => {
  const key = unique();
  await client.publish({ url: target + place(), flowControl: { key, rate: 4, period: 2 } });
  await client.flowControl.pause(key);
  const paused = await client.flowControl.get(key);
  assert.deepEqual([paused.flowControlKey, paused.rateMax, paused.ratePeriod, paused.isPaused], [key, 4, 2, true]);
  await client.flowControl.resume(key);
  assert.equal((await client.flowControl.get(key)).isPaused, false);
});

test("what is not supported is refused by name", async () => {
  const key = unique();
  const url = target + place();
  await client.publish({ url, flowControl: { key, parallelism: 1 } });
  await refused(client.flowControl.resetRate(key), 404, "not supported");
  await refused(client.flowControl.getGlobalParallelism(), 404, "not supported");
  await refused(client.publish({ url, redact: { body: true } }), 400, "redact");
  await refused(client.publish({ url, headers: { "Upstash-Workflow-Init": "true" } }), 400, "workflow");
  await refused(new Client({ token: "wrong", retry: false }).publish({ url }), 401);
});
