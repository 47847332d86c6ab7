import { type AttemptContext, currentContext, type Middleware } from "../context.js";
import { PayloadError, SnoozeError } from "../errors.js";
import type { ConfirmAnswer, CreateJobRequest, SettlementRequest } from "../generated.js";
import type { AnyJob } from "../job.js";
import type { Logger } from "../logger.js";
import { traced } from "../tracing.js";
import { failureOf, payloadFailure, stoppedFailure } from "./failure.js";

/** How an attempt ended; undefined if there is no point in reporting it. */
export type Outcome = Omit<SettlementRequest, "id" | "fence"> | undefined;

type Run = (payload: unknown, context: AttemptContext) => unknown;

/** Runs handlers, and folds whatever they return or throw into an outcome. */
export class Executor {
  readonly #jobs: ReadonlyMap<string, AnyJob>;
  readonly #middleware: readonly Middleware[];
  readonly #logger: Logger;

  constructor(jobs: readonly AnyJob[], logger: Logger, middleware: readonly Middleware[] = []) {
    const idle = jobs.find((job) => !job.run);
    if (idle) throw new TypeError(`jobs: ${idle.kind} has no \`run\`, so a worker cannot run it`);
    this.#jobs = new Map(jobs.map((job) => [job.kind, job]));
    if (this.#jobs.size < jobs.length)
      throw new TypeError("jobs: two definitions have the same kind");
    this.#middleware = middleware;
    this.#logger = logger;
  }

  get kinds(): string[] {
    return [...this.#jobs.keys()];
  }

  /** The kinds whose jobs can ask whether an attempt took effect. */
  get confirms(): string[] {
    return [...this.#jobs.values()].filter((job) => job.confirm).map((job) => job.kind);
  }

  async execute(context: AttemptContext): Promise<Outcome> {
    const definition = this.#jobs.get(context.job.kind);
    const isQuestion = context.job.questions != null;
    const run: Run | undefined = isQuestion ? definition?.confirm : definition?.run;
    if (!definition || !run) {
      // Another worker has its handler. A failure here would use up its attempts.
      const { id: job, kind } = context.job;
      this.#logger.error("the job is given back: this worker has no job of its kind", {
        job,
        kind,
      });
      return { outcome: "release" };
    }
    const ended = await traced(context.job, () => this.#run(context, definition, run));
    return ended && ended.outcome !== "release" ? { ...ended, ...context.used } : ended;
  }

  async #run(context: AttemptContext, definition: AnyJob, run: Run): Promise<Outcome> {
    const timer = startTimeout(context);
    try {
      const payload = await parse(definition, context.job.payload);
      if (payload instanceof PayloadError) {
        return { outcome: "fail", failure: payloadFailure(payload) };
      }
      const handler = async () => run(payload.value, context);
      const result = await currentContext.run(context, () => this.#wrap(context, handler)());
      const onSuccess = await context.finish();
      if (context.job.questions != null) return answered(definition, result, onSuccess);
      return {
        outcome: "succeed",
        ...(result !== undefined && result !== null && { result }),
        ...(onSuccess.length > 0 && { onSuccess }),
      };
    } catch (error) {
      await context.finish().catch(() => {});
      return outcomeOf(error, context);
    } finally {
      clearTimeout(timer);
    }
  }

  #wrap(context: AttemptContext, handler: () => Promise<unknown>): () => Promise<unknown> {
    return this.#middleware.reduceRight<() => Promise<unknown>>(
      (next, middleware) => async () => middleware(context, next),
      handler,
    );
  }
}

async function parse(
  definition: AnyJob,
  payload: unknown,
): Promise<{ value: unknown } | PayloadError> {
  try {
    return { value: await definition.parse(payload) };
  } catch (error) {
    if (error instanceof PayloadError) return error;
    throw error;
  }
}

const ANSWERS: readonly unknown[] = ["done", "not_done", "unknown"];

function answered({ kind }: AnyJob, confirmation: unknown, onSuccess: CreateJobRequest[]): Outcome {
  const { answer, result } = (confirmation ?? {}) as Record<string, unknown>;
  if (!ANSWERS.includes(answer)) {
    const message = `the confirm function of ${kind} must return {answer: "done", "not_done" or "unknown"}`;
    return { outcome: "fail", failure: { class: "TypeError", message } };
  }
  return {
    outcome: "answer",
    answer: answer as ConfirmAnswer,
    ...(answer === "done" && result != null && { result }),
    ...(answer === "done" && onSuccess.length > 0 && { onSuccess }),
  };
}

function outcomeOf(error: unknown, context: AttemptContext): Outcome {
  switch (context.abortCause) {
    case "lease_lost":
      return undefined;
    case "shutdown":
      return { outcome: "release" };
    case "timeout":
    case "cancelled":
      return { outcome: "fail", failure: stoppedFailure(error, context.abortCause) };
    case undefined:
      break;
  }
  if (error instanceof SnoozeError) {
    return { outcome: "snooze", delay: Math.ceil(error.delayMs) };
  }
  return { outcome: "fail", failure: failureOf(error) };
}

/** The server ends the attempt at its timeout, too; this stops the handler in time. */
function startTimeout(context: AttemptContext): ReturnType<typeof setTimeout> | undefined {
  const { timeoutMs } = context.job;
  if (timeoutMs == null || timeoutMs > 2 ** 31 - 1) return undefined;
  return setTimeout(() => context.abort("timeout"), timeoutMs);
}
