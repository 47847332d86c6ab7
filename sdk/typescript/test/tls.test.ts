import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ConnectionError, type Logger, Steadfast } from "steadfast-jobs";

const quiet: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** A certificate that no authority vouches for; undefined without openssl. */
function certificate(directory: string): { key: string; file: string } | undefined {
  const [key, file] = [join(directory, "key.pem"), join(directory, "certificate.pem")];
  const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
  const options = ["-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", key, "-out", file];
  const made = spawnSync("openssl", ["req", "-x509", ...options, ...names]);
  return made.status === 0 ? { key, file } : undefined;
}

test("a certificate is trusted if the file has it, also by heartbeats", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "steadfast-"));
  const made = certificate(directory);
  if (!made) return t.skip("openssl makes the certificate");
  const [key, cert] = [readFileSync(made.key), readFileSync(made.file)];
  let heartbeats = 0;
  let settled = 0;
  let isClaimed = false;
  const server = createServer({ key, cert }, async (request, response) => {
    for await (const _chunk of request);
    const path = request.url?.slice(7);
    const send = (value: unknown) => response.end(JSON.stringify(value));
    if (path === "/claims/heartbeat") {
      heartbeats += 1;
      return send({ claims: [{ ok: true }] });
    }
    if (path === "/claims/settle") {
      settled += 1;
      return send({ settled: [{ ok: true }] });
    }
    const job = { id: "job_1", kind: "slow", attempt: 1, leaseMs: 3_000, payload: null };
    if (path === "/claims") {
      const claims = isClaimed ? [] : [{ id: "job_1", fence: 1, job }];
      isClaimed = true;
      return send({ claims });
    }
    send({ jobs: [] });
  });
  await new Promise<void>((resolve) => server.listen(0, () => resolve()));
  const url = `https://localhost:${(server.address() as AddressInfo).port}`;
  try {
    await assert.rejects(new Steadfast({ url, logger: quiet }).jobs.list(), (error) => {
      return error instanceof ConnectionError && error.isUntrusted;
    });
    process.env["STEADFAST_CA_FILE"] = made.file;
    const client = new Steadfast({ url, logger: quiet });
    assert.deepEqual(await client.jobs.list(), { jobs: [] });
    const job = client.job("slow", {
      run: async (_payload: null) => {
        while (heartbeats === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      },
    });
    const worker = client.worker({ jobs: [job], signals: false });
    const running = worker.run();
    while (settled === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await worker.stop();
    await running;
  } finally {
    delete process.env["STEADFAST_CA_FILE"];
    server.close();
    server.closeAllConnections();
    rmSync(directory, { recursive: true });
  }
});
