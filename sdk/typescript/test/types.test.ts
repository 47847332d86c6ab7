// Compiled, not run: the types of payloads and results follow from the definition.
import { type JobHandle, Steadfast } from "steadfast-jobs";
import * as v from "valibot";
import { z } from "zod";

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function check<_Condition extends true>(): void {}

export async function compile(): Promise<void> {
  const steadfast = new Steadfast();

  const zod = steadfast.job("zod", {
    payload: z.object({
      day: z.string().transform((text) => new Date(text)),
      count: z.number().default(1),
    }),
    run: ({ day, count }) => day.getTime() + count,
  });
  const handle = await zod.enqueue({ day: "2026-01-01" });
  check<Equal<typeof handle, JobHandle<number>>>();
  const result = await handle.result();
  check<Equal<typeof result, number>>();
  // @ts-expect-error: the payload is what the schema takes, not what it makes
  await zod.enqueue({ day: new Date() });
  // @ts-expect-error: a payload is needed
  await zod.enqueue();

  const valibot = steadfast.job("valibot", {
    payload: v.object({ name: v.string() }),
    run: async (p) => p,
  });
  check<Equal<Awaited<ReturnType<typeof valibot.enqueue>>, JobHandle<{ name: string }>>>();

  const plain = steadfast.job("plain", { run: (payload: { id: number }) => String(payload.id) });
  await plain.enqueue({ id: 1 }, { retry: "patient", delay: "5m" });
  // @ts-expect-error: no such preset
  await plain.enqueue({ id: 1 }, { retry: "endless" });
  // @ts-expect-error: the type of the payload is that of the handler's argument
  await plain.enqueue({ id: "1" });

  const empty = steadfast.job("empty", { run: () => undefined });
  await empty.enqueue();

  steadfast.job("chained", {
    run: async (_payload: unknown, context) => {
      await context.onSuccess(plain, { id: 1 });
      // @ts-expect-error: the payload of the other job is checked, too
      await context.onSuccess(plain, { id: "1" });
      const step = await context.once("step", () => 42);
      check<Equal<typeof step, number>>();
    },
  });

  // @ts-expect-error: a Date is a string in JSON
  steadfast.job("dated", { run: (payload: { at: Date }) => payload.at.toISOString() });
  // @ts-expect-error: a Map has no form in JSON
  steadfast.job("mapped", { run: (payload: { by: Map<string, number> }) => payload.by.size });
  interface Named {
    name: string;
    more?: Named[];
  }
  const named = steadfast.job("named", {
    run: async ({ name }: Named, { once }) => {
      const at = await once("at", () => new Date());
      check<Equal<typeof at, string>>();
      return { name, at: new Date(), all: [new Date()] as const };
    },
  });
  const answer = await (await named.enqueue({ name: "Ada" })).result();
  answer satisfies { name: string; at: string; all: readonly [string] };
  // @ts-expect-error: the result is JSON
  answer.at.getTime();

  await plain.enqueue(
    { id: 1 },
    {
      unique: { key: "one", while: "waiting", onConflict: "replace" },
      debounce: "10s",
      after: ["job_1"],
      onFailure: "run",
      startBefore: new Date(),
      onExpiry: "cancel",
      maxRetries: 3,
      jobName: "one",
    },
  );
  await plain.enqueue({ id: 1 }, { batch: "bat_1" });
  // @ts-expect-error: an option that the API does not have
  await plain.enqueue({ id: 1 }, { schedule: "* * * * *" });

  for await (const job of steadfast.jobs.each({ label: "failed" })) job.id satisfies string;
  steadfast.worker({ jobs: [zod, valibot, plain, empty] });
}
