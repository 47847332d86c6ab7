// A worker with the kinds that the conformance program in sdk/conformance knows.
import { setTimeout as sleep } from "node:timers/promises";
import {
  type AbortedError,
  type EnqueueOptions,
  JobError,
  type Middleware,
  PermanentError,
  RetryAfterError,
  SnoozeError,
  Steadfast,
} from "steadfast-jobs";
import { z } from "zod";

const { CONCURRENCY, GRACE, LEASE, QUEUE = "default" } = process.env;
const steadfast = new Steadfast();

function emit(event: Record<string, unknown>): void {
  process.stdout.write(`${JSON.stringify(event)}\n`);
}

const report: Middleware = async ({ job, attempt, signal }, next) => {
  emit({ event: "start", job: job.id, kind: job.kind, attempt });
  try {
    const result = await next();
    emit({ event: "end", job: job.id, outcome: "success" });
    return result;
  } catch (error) {
    emit({ event: "end", job: job.id, outcome: signal.aborted ? "aborted" : "error" });
    throw error;
  }
};

const milliseconds = z.object({ ms: z.number() });

const noop = steadfast.job("noop", { queue: QUEUE, run: () => null });

const echo = steadfast.job("echo", { run: (payload: unknown) => payload });

const wait = steadfast.job("sleep", {
  payload: milliseconds,
  run: async ({ ms }, { signal }) => {
    await sleep(ms, undefined, { signal }).catch(() => {
      throw signal.reason as AbortedError;
    });
  },
});

const block = steadfast.job("block", {
  payload: milliseconds,
  run: ({ ms }) => {
    const end = performance.now() + ms;
    while (performance.now() < end);
  },
});

const fail = steadfast.job("fail", {
  payload: z.object({
    class: z.string(),
    message: z.string(),
    retryAfterMs: z.number().optional(),
    permanent: z.boolean().optional(),
  }),
  run: ({ message, permanent, retryAfterMs, ...options }) => {
    if (permanent) throw new PermanentError(message, options);
    if (retryAfterMs) throw new RetryAfterError(retryAfterMs, message, options);
    throw new JobError(message, options);
  },
});

const snooze = steadfast.job("snooze", {
  payload: milliseconds,
  run: ({ ms }) => {
    throw new SnoozeError(ms);
  },
});

const typed = steadfast.job("typed", {
  payload: z.object({ name: z.string(), count: z.int() }),
  run: (payload) => payload,
});

const once = steadfast.job("once", {
  payload: z.object({ fail_first: z.boolean() }),
  run: async (payload, context) => {
    const result = await context.once("charge", () => {
      emit({ event: "step", job: context.job.id });
      return 42;
    });
    if (payload.fail_first && context.attempt === 1) throw new Error("the first attempt fails");
    return result;
  },
});

const charge = steadfast.job("charge", {
  payload: z.object({ answer: z.string() }),
  run: (_payload, { job, attempt }) => {
    emit({ event: "step", job: job.id });
    if (attempt === 1) throw new JobError("no answer from the bank", { class: "timeout" });
    return null as { found: boolean } | null;
  },
  confirm: ({ answer }) => {
    if (answer === "done") return { answer, result: { found: true } };
    if (answer === "not_done" || answer === "unknown") return { answer };
    throw new Error(answer);
  },
});

const progress = steadfast.job("progress", {
  run: async (_payload: unknown, context) => {
    await context.progress(50, "half");
  },
});

const spawn = steadfast.job("spawn", {
  run: async (_payload: unknown, context) => {
    await context.onSuccess(noop, null);
  },
});

const limit = steadfast.job("limit", {
  payload: z.object({ key: z.string(), origin: z.string() }),
  run: async ({ key, origin }) => {
    await steadfast.gates.set("key", key, { maxRunning: 3 });
    await steadfast.destinations.hold(origin, { reason: "conformance" });
    const { maxRunning } = await steadfast.gates.get("key", key);
    const { heldByHand } = await steadfast.destinations.get(origin);
    return { maxRunning, reason: heldByHand?.reason };
  },
});

const enqueue = steadfast.job("enqueue", {
  payload: z.object({ options: z.custom<EnqueueOptions>() }),
  run: async ({ options }) => ({ id: (await noop.enqueue(undefined, options)).id }),
});

const gather = steadfast.job("gather", {
  run: async (_payload: unknown, context) =>
    (await context.prerequisites()).map(({ result }) => result),
});

const flow = steadfast.job("flow", {
  run: async () => {
    const first = await echo.request({ n: 1 }, { ref: "first", queue: QUEUE });
    const last = await gather.request(null, { after: ["ref:first"], queue: QUEUE });
    const jobs = await steadfast.jobs.createMany([first, last]);
    return { id: jobs[1]?.id };
  },
});

const log = steadfast.job("log", {
  payload: z.object({ lines: z.int(), ms: z.number() }),
  run: async ({ lines, ms }, context) => {
    for (let number = 0; number < lines; number += 1) {
      context.log("info", `line ${number}`);
      await sleep(ms);
    }
    context.log("warn", "the last line");
  },
});

/** For measurements: enqueues jobs one by one, some at a time. */
async function enqueueMany(count: number, atOnce: number): Promise<void> {
  const begin = performance.now();
  let left = count;
  const enqueueSome = async () => {
    while (left > 0) {
      left -= 1;
      await noop.enqueue(null);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, enqueueSome));
  emit({ event: "enqueued", seconds: (performance.now() - begin) / 1_000 });
}

if (process.env["ENQUEUE"]) {
  await enqueueMany(Number(process.env["ENQUEUE"]), Number(CONCURRENCY ?? 10));
  process.exit(0);
}

const worker = steadfast.worker({
  jobs: [
    noop,
    echo,
    wait,
    block,
    fail,
    snooze,
    typed,
    once,
    charge,
    progress,
    spawn,
    limit,
    enqueue,
    gather,
    flow,
    log,
  ],
  queues: [QUEUE],
  concurrency: Number(CONCURRENCY ?? 10),
  middleware: [report],
  grace: GRACE,
  lease: LEASE,
});
const running = worker.run();
emit({ event: "ready" });
await running;
emit({ event: "stopped" });
