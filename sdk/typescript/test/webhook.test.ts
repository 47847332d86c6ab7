import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import express from "express";
import { verifyWebhook, type WebhookEvent, WebhookSignatureError } from "steadfast-jobs";
import { webhookReceiver } from "steadfast-jobs/express";

const secret = `whsec_${Buffer.from("a secret of at least 24 bytes").toString("base64")}`;
const other = `whsec_${Buffer.from("another secret, also 24 bytes").toString("base64")}`;
const body = JSON.stringify({
  id: "evt_1",
  type: "job.failed",
  timestamp: "…",
  data: { id: "job_ä" },
});
const now = new Date("2026-01-01T00:00:00Z");

function sign(text: string, by = secret, at = now): Record<string, string> {
  const timestamp = String(at.getTime() / 1_000);
  const key = Buffer.from(by.slice("whsec_".length), "base64");
  const code = createHmac("sha256", key).update(`evt_1.${timestamp}.${text}`).digest("base64");
  return {
    "webhook-id": "evt_1",
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1a,x v1,${code}`,
  };
}

test("a signed webhook is accepted with any of the secrets", async () => {
  const source = { headers: sign(body), body };
  for (const known of [secret, [other, secret]]) {
    const event = await verifyWebhook(source, { secret: known, now });
    assert.equal(event.type, "job.failed");
  }
  const headers = new Headers(sign(body));
  await verifyWebhook({ headers, body: Buffer.from(body) }, { secret, now });
});

test("a webhook that was changed, is old or was signed with another secret is refused", async () => {
  const late = new Date(now.getTime() - 301_000);
  const cases = [
    { headers: sign(body), body: body.replace("failed", "succeeded") },
    { headers: sign(body, other), body },
    { headers: sign(body, secret, late), body },
    { headers: { ...sign(body), "webhook-id": "evt_2" }, body },
    { headers: { ...sign(body), "webhook-timestamp": "soon" }, body },
    { headers: { ...sign(body), "webhook-signature": "v1,?" }, body },
    { headers: {}, body },
  ];
  for (const source of cases) {
    await assert.rejects(verifyWebhook(source, { secret, now }), WebhookSignatureError);
  }
});

test("the receiver works in Express and in Node's own server, and says what is wrong", async () => {
  const events: WebhookEvent[] = [];
  const onEvent = (event: WebhookEvent) => {
    if (event.id === "evt_2") throw new Error("full");
    events.push(event);
  };
  const app = express();
  app.post("/hooks", webhookReceiver({ secret, onEvent }));
  app.post("/raw", express.raw({ type: "*/*" }), webhookReceiver({ secret, onEvent }));
  app.post("/parsed", express.json(), webhookReceiver({ secret, onEvent }));
  app.use(((error, _request, response, _next) => {
    response.status(500).send((error as Error).message);
  }) satisfies express.ErrorRequestHandler);
  const plain = webhookReceiver({ secret, onEvent });
  for (const server of [
    createServer(app),
    createServer((request, response) => plain(request, response)),
  ]) {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const post = async (path: string, text: string, headers = sign(text, secret, new Date())) => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: text,
      });
      return [response.status, await response.text()];
    };
    assert.deepEqual(await post("/hooks", body), [204, ""]);
    assert.equal((await post("/hooks", body, sign(body, other, new Date())))[0], 401);
    assert.equal((await post("/hooks", body.replace("evt_1", "evt_2")))[0], 500);
    assert.equal((await post("/hooks", "x".repeat(1024 * 1024 + 1)))[0], 413);
    if (events.length === 1) {
      assert.deepEqual(await post("/raw", body), [204, ""]);
      const [status, text] = await post("/parsed", body);
      assert.equal(status, 500);
      assert.match(String(text), /put webhookReceiver before express.json/);
    }
    await new Promise((resolve) => server.close(resolve));
  }
  assert.equal(events.length, 3);
});

test("headers have any case, and a signature that cannot be read does not hide a good one", async () => {
  const signed = sign(body);
  const headers = Object.fromEntries(
    Object.entries(signed).map(([name, value]) => [name.toUpperCase(), value]),
  );
  await verifyWebhook({ headers, body }, { secret, now });
  const both = { ...signed, "webhook-signature": `v1,? v2,x ${signed["webhook-signature"]}` };
  await verifyWebhook({ headers: both, body }, { secret, now });
});

test("a wrong secret is an error of the caller", async () => {
  for (const empty of ["", "whsec_", "whsec_?", ["whsec_?", secret]]) {
    const source = { headers: sign(body), body };
    await assert.rejects(verifyWebhook(source, { secret: empty, now }), TypeError);
  }
});

test("a receiver without a secret is refused when it is made", () => {
  assert.throws(
    () => webhookReceiver({ secret: "whsec_?", onEvent() {} }),
    /whsec_ followed by base64/,
  );
  for (const secret of [undefined, "", []]) {
    assert.throws(() => webhookReceiver({ secret, onEvent() {} }), /STEADFAST_WEBHOOK_SECRET/);
  }
});
