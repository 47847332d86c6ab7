// Workers whose server, or a proxy in front of it, answers anything at all.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { JobHandler } from "steadfast-jobs";
import { type Call, claims, never, scripted, settled } from "./scripted.js";

/** What a server that is unwell, or a proxy in front of it, may answer. */
const FAULTS: Record<string, () => Response> = {
  "an error": () => Response.json({ code: "internal", detail: "a bug" }, { status: 500 }),
  "a proxy without server": () => new Response("<html>Bad Gateway</html>", { status: 502 }),
  "too many requests": () => Response.json({ code: "busy" }, { status: 429 }),
  "a revoked key": () => Response.json({ code: "forbidden" }, { status: 403 }),
  rubbish: () => new Response("<html>hello</html>"),
  "an empty object": () => Response.json({}),
  "an empty list": () => Response.json([]),
};

/** A server with one job, which gives these answers first to requests for this path. */
function faulty(path: string, ...answers: (() => Response)[]) {
  const steps = new Map<string, unknown>();
  let hasClaimed = false;
  const server = scripted((call, calls) => {
    const isOfPath = (one: Call) =>
      one.path.startsWith(path) && (path !== "/claims" || one.path === path);
    const answer = isOfPath(call) && answers[calls.filter(isOfPath).length - 1];
    if (answer) return answer();
    if (call.path === "/claims/settle") return settled(call);
    if (call.path === "/claims/heartbeat") return { claims: [{ ok: true }] };
    if (call.path === "/claims") {
      if (hasClaimed) return never;
      hasClaimed = true;
      return claims(1, "order");
    }
    const { result } = call.body as { result?: unknown };
    if (result !== undefined) steps.set(call.path, result);
    if (steps.has(call.path)) return { result: steps.get(call.path) };
    return Response.json({ code: "step_not_found" }, { status: 404 });
  });
  return server;
}

async function outcomeOf(server: ReturnType<typeof scripted>, run: JobHandler<number, unknown>) {
  const job = server.client.job("order", { run });
  const worker = server.client.worker({ jobs: [job], lease: "3s", signals: false });
  const running = worker.run();
  const confirmed = async () => {
    while (server.confirmed.length === 0) await sleep(5);
  };
  await Promise.race([running, confirmed()]);
  await worker.stop();
  await running;
  assert.equal(server.confirmed.length, 1);
  return server.confirmed[0];
}

describe("a worker whose server is unwell", { concurrency: true }, () => {
  for (const [name, fault] of Object.entries(FAULTS)) {
    test(`a step is done once although the server answers with ${name}`, async () => {
      for (const count of [1, 2]) {
        // The first request asks for the step, and the next one stores it.
        const found = () => Response.json({ code: "step_not_found" }, { status: 404 });
        const faults = count === 1 ? [fault, fault] : [found, fault, fault];
        const server = faulty("/claims/job_0/steps", ...faults);
        let charges = 0;
        const outcome = await outcomeOf(server, async (_payload, { once }) =>
          once("charge", () => {
            charges += 1;
            return "receipt";
          }),
        );
        assert.deepEqual([charges, outcome?.result], [1, "receipt"]);
      }
    });

    test(`a worker goes on after ${name}`, async () => {
      const empty = () => Response.json({ claims: [] });
      const claimed = await outcomeOf(faulty("/claims", empty, fault), () => null);
      assert.equal(claimed?.outcome, "succeed");
      const reported = await outcomeOf(faulty("/claims/settle", fault), () => null);
      assert.equal(reported?.outcome, "succeed");
      const server = faulty("/claims/heartbeat", fault);
      const renewed = await outcomeOf(server, async (_payload, { signal }) => {
        while (server.of("/claims/heartbeat").length < 2) await sleep(5);
        signal.throwIfAborted();
      });
      assert.equal(renewed?.outcome, "succeed");
    });
  }

  test("answers of an odd shape are asked for again", async () => {
    const odd: [string, unknown][] = [
      ["/claims", { claims: {} }],
      ["/claims", { claims: [1] }],
      ["/claims", { claims: [{}] }],
      ["/claims", { claims: [{ id: "job_0", fence: 1, job: {} }] }],
      ["/claims/settle", { settled: [] }],
      ["/claims/settle", { settled: [{}] }],
    ];
    for (const [path, body] of odd) {
      const outcome = await outcomeOf(
        faulty(path, () => Response.json(body)),
        () => null,
      );
      assert.equal(outcome?.outcome, "succeed", JSON.stringify(body));
    }
  });

  test("a job of an unknown kind is given back", async () => {
    const server = scripted((call, calls) => {
      if (call.path === "/claims/settle") return settled(call);
      return calls.length === 1 ? claims(1, "of-another-service") : never;
    });
    assert.equal((await outcomeOf(server, () => null))?.outcome, "release");
  });
});
