import { AttemptContext, type Middleware } from "../context.js";
import { type DurationInput, durationMs } from "../duration.js";
import type {
  CreateJobRequest,
  FailureRequest,
  Job,
  JobLabel,
  LogLine,
  LogLines,
  RetryPolicyFields,
} from "../generated.js";
import type { Fetch, HttpRequest } from "../http.js";
import type { AnyJob } from "../job.js";
import type { Steadfast } from "../steadfast.js";
import { Executor, type Outcome } from "../worker/executor.js";
import { completePolicy, decide } from "./policy.js";

export interface TestEngineOptions {
  /** The jobs that are run; others can be enqueued and wait. */
  jobs: readonly AnyJob[];
  middleware?: readonly Middleware[];
  /** 2026-01-01T00:00:00Z by default. */
  now?: Date | string;
}

interface TestJob {
  id: string;
  request: CreateJobRequest;
  policy: RetryPolicyFields;
  label: JobLabel;
  attempt: number;
  retryCount: number;
  createdAt: number;
  startedAt: number | undefined;
  firstStartedAt: number | undefined;
  finishedAt: number | undefined;
  runAt: number;
  failure: FailureRequest | undefined;
  reason: Job["reason"];
  result: unknown;
  progress: number | undefined;
  note: string | undefined;
  /** What all attempts logged. */
  log: LogLine[];
  steps: Map<string, unknown>;
}

const ATTEMPTS_MAX = 10_000;
/**
 * Options that a job obeys here, or that change nothing: there are no gates, no other tenants, no leases
 * and no webhooks.
 */
const PLAYED = [
  "kind",
  "payload",
  "delay",
  "runAt",
  "retry",
  "maxRetries",
  "maxRetryCount",
  "maxAttempts",
  "priority",
  "idempotencyKey",
  "type",
  "timeout",
  "traceparent",
  "queue",
  "tenant",
  "tags",
  "jobName",
  "concurrencyKey",
  "destination",
  "lease",
  "webhook",
];
const ENDED: readonly JobLabel[] = ["succeeded", "failed", "cancelled"];

/**
 * Runs handlers without a server, on a clock that the test moves.
 *
 * It takes the place of the server of one client: what is enqueued with it is kept in memory, and runs
 * when the test calls for it, one job after the other, by priority and then in the order in which they
 * are due. Delays between attempts are those of the retry policy, without jitter. Options that it does
 * not play, such as `unique` and `after`, are refused: use `startServer` for them.
 */
export class TestEngine {
  readonly #client: Steadfast;
  readonly #executor: Executor;
  readonly #runnable: ReadonlySet<string>;
  readonly #jobs = new Map<string, TestJob>();
  readonly #before: { fetch: Fetch; isFetchCustom: boolean };
  #now: number;

  constructor(
    client: Steadfast,
    { jobs, middleware, now = "2026-01-01T00:00:00Z" }: TestEngineOptions,
  ) {
    this.#client = client;
    this.#executor = new Executor(jobs, client.logger, middleware);
    this.#runnable = new Set(this.#executor.kinds);
    this.#now = new Date(now).getTime();
    const { settings } = client.http;
    this.#before = { fetch: settings.fetch, isFetchCustom: settings.isFetchCustom };
    settings.fetch = (url, request) => this.#respond(new URL(url), request);
    settings.isFetchCustom = true;
  }

  /** Gives the client its server back. */
  restore(): void {
    Object.assign(this.#client.http.settings, this.#before);
  }

  /** The time on the test's clock. */
  get now(): Date {
    return new Date(this.#now);
  }

  /** All jobs, in the order in which they were created. */
  get jobs(): Job[] {
    return [...this.#jobs.values()].map((job) => this.#body(job));
  }

  /** The job, which must exist. */
  job(id: string): Job {
    return this.#body(this.#find(id));
  }

  /** What all attempts of a job logged, oldest first. */
  log(id: string): readonly LogLine[] {
    return this.#find(id).log;
  }

  /** Runs everything that is due, and everything that becomes due by that, without moving the clock. */
  async runDue(): Promise<number> {
    for (let attempts = 0; attempts < ATTEMPTS_MAX; attempts += 1) {
      const job = this.#next();
      if (!job || job.runAt > this.#now) return attempts;
      await this.#attempt(job);
    }
    throw new Error(`jobs remain after ${ATTEMPTS_MAX} attempts: does a job enqueue itself?`);
  }

  /** Moves the clock, stopping at every moment at which something becomes due. */
  async advance(by: DurationInput): Promise<number> {
    const end = this.#now + durationMs(by, "by");
    let attempts = await this.runDue();
    for (let job = this.#next(); job && job.runAt <= end; job = this.#next()) {
      this.#now = Math.max(this.#now, job.runAt);
      attempts += await this.runDue();
    }
    this.#now = end;
    return attempts;
  }

  /** Runs until no job waits, moving the clock from one due time to the next. */
  async runToEnd(): Promise<number> {
    let attempts = await this.runDue();
    for (let job = this.#next(); job; job = this.#next()) {
      this.#now = Math.max(this.#now, job.runAt);
      attempts += await this.runDue();
    }
    return attempts;
  }

  /** The job to run next: of those that are due the one of the highest priority, or the next to be due. */
  #next(): TestJob | undefined {
    let next: TestJob | undefined;
    for (const job of this.#jobs.values()) {
      const isWaiting = !ENDED.includes(job.label) && this.#runnable.has(job.request.kind ?? "");
      if (isWaiting && (!next || this.#isBefore(job, next))) next = job;
    }
    return next;
  }

  #isBefore(a: TestJob, b: TestJob): boolean {
    const areDue = a.runAt <= this.#now && b.runAt <= this.#now;
    const more = (a.request.priority ?? 5) - (b.request.priority ?? 5);
    return areDue && more !== 0 ? more > 0 : a.runAt < b.runAt;
  }

  async #attempt(job: TestJob): Promise<void> {
    job.attempt += 1;
    job.startedAt = this.#now;
    job.firstStartedAt ??= this.#now;
    job.label = "running";
    const before = job.log.length;
    // By their numbers, so that lines which are stored twice are kept once.
    const storeLog = ({ from = 0, lines = [] }: LogLines) =>
      job.log.splice(before + from, lines.length, ...lines);
    const backend = {
      getStep: async (name: string) =>
        job.steps.has(name) ? { result: job.steps.get(name) } : undefined,
      saveStep: async (name: string, result: unknown) => {
        if (!job.steps.has(name)) job.steps.set(name, throughJson(result));
        return job.steps.get(name);
      },
      reportProgress: async (percent: number, note: string | undefined) => {
        job.progress = percent;
        job.note = note ?? job.note;
      },
      // Jobs with `after` are refused here.
      listPrerequisites: async () => [],
      storeLog: async (lines: LogLines) => void storeLog(lines),
    };
    const context = new AttemptContext(this.#body(job), backend, this.#client.logger);
    const outcome = await this.#executor.execute(context);
    storeLog(context.closeLog() ?? {});
    this.#settle(job, outcome);
  }

  #settle(job: TestJob, outcome: Outcome): void {
    switch (outcome?.outcome) {
      case "succeed":
        job.result = throughJson(outcome.result ?? null);
        for (const request of outcome.onSuccess ?? []) this.#create(request);
        return this.#end(job, "succeeded", null);
      case "snooze":
        job.attempt -= 1;
        return this.#wait(job, durationMs(outcome.delay ?? 0));
      case "fail":
        job.failure = throughJson(outcome.failure ?? {});
        return this.#fail(job, outcome.failure ?? {});
      default:
        job.attempt -= 1;
        return this.#wait(job, 0);
    }
  }

  #fail(job: TestJob, failure: FailureRequest): void {
    if (job.request.type === "AT_MOST_ONCE") return this.#end(job, "failed", "at_most_once");
    const elapsed = this.#now - (job.firstStartedAt ?? this.#now);
    const decision = decide(job.policy, failure, job.retryCount, elapsed);
    if (typeof decision === "string") return this.#end(job, "failed", decision);
    job.retryCount += 1;
    this.#wait(job, decision);
  }

  #wait(job: TestJob, delayMs: number): void {
    job.runAt = this.#now + delayMs;
    job.label = "ready";
  }

  #end(job: TestJob, label: JobLabel, reason: Job["reason"]): void {
    job.label = label;
    job.reason = reason;
    job.finishedAt = this.#now;
  }

  #create(given: CreateJobRequest): Job {
    const request = throughJson(given);
    const { idempotencyKey, delay, runAt } = request;
    const refused = Object.entries(request).filter(
      ([name, value]) => value != null && !PLAYED.includes(name),
    );
    if (refused.length > 0) throw new NotPlayed(refused.map(([name]) => name).join(", "));
    for (const job of this.#jobs.values()) {
      const isSame = idempotencyKey != null && job.request.idempotencyKey === idempotencyKey;
      if (isSame) return this.#body(job);
    }
    const id = `job_${String(this.#jobs.size + 1).padStart(26, "0")}`;
    this.#jobs.set(id, {
      id,
      request,
      policy: completePolicy(request),
      label: "ready",
      attempt: 0,
      retryCount: 0,
      createdAt: this.#now,
      startedAt: undefined,
      firstStartedAt: undefined,
      finishedAt: undefined,
      runAt:
        runAt != null ? new Date(runAt).getTime() : this.#now + durationMs(delay ?? 0, "delay"),
      failure: undefined,
      reason: null,
      result: null,
      progress: undefined,
      note: undefined,
      log: [],
      steps: new Map(),
    });
    return this.job(id);
  }

  #find(id: string): TestJob {
    const job = this.#jobs.get(id);
    if (!job) throw new Error(`there is no ${id}`);
    return job;
  }

  /** A job as the API would answer it. */
  #body(job: TestJob): Job {
    const { request } = job;
    const time = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString());
    const isLater = job.label === "ready" && job.runAt > this.#now;
    const label = isLater ? (job.attempt > 0 ? "retrying" : "scheduled") : job.label;
    return {
      id: job.id,
      tenant: request.tenant ?? "default",
      queue: request.queue ?? "default",
      kind: request.kind ?? "http",
      label,
      type: request.type ?? "AT_LEAST_ONCE",
      priority: request.priority ?? 5,
      attempt: job.attempt,
      attemptsBefore: 0,
      retryCount: job.retryCount,
      maxRetries: job.policy.maxRetries ?? 0,
      runAt: time(job.runAt) ?? "",
      createdAt: time(job.createdAt) ?? "",
      startedAt: time(job.startedAt),
      finishedAt: time(job.finishedAt),
      retry: job.policy as Job["retry"],
      tags: request.tags ?? {},
      leaseMs: durationMs(request.lease ?? "30s", "lease"),
      timeoutMs: request.timeout == null ? null : durationMs(request.timeout, "timeout"),
      cancelRequested: false,
      payload: request.payload,
      failure: (job.failure as Job["failure"]) ?? null,
      reason: job.reason,
      result: job.result,
      progress: job.progress ?? null,
      note: job.note ?? null,
      idempotencyKey: request.idempotencyKey ?? null,
      traceparent: request.traceparent ?? null,
    };
  }

  async #respond(url: URL, request: HttpRequest): Promise<Response> {
    try {
      return this.#answer(url, request);
    } catch (error) {
      if (!(error instanceof NotPlayed)) throw error;
      const problem = { status: 501, code: "not_played", detail: error.message };
      return Response.json(problem, { status: 422 });
    }
  }

  #answer(url: URL, request: HttpRequest): Response {
    const path = url.pathname.replace("/api/v1", "");
    const body = request.body == null ? undefined : JSON.parse(String(request.body));
    const [, id = "", verb] = /^\/jobs\/([^/]+)(?:\/(\w+))?$/.exec(path) ?? [];
    const route = `${request.method} ${id ? path.replace(id, "{id}") : path}`;
    if (route === "POST /jobs") {
      const jobs = (body.jobs as CreateJobRequest[] | undefined)?.map((job) => this.#create(job));
      return Response.json(jobs ? { jobs } : this.#create(body), { status: 201 });
    }
    if (route === "GET /jobs")
      return Response.json({ jobs: this.jobs.reverse(), nextCursor: null });
    if (id && !this.#jobs.has(id)) {
      const problem = { status: 404, code: "not_found", detail: `there is no ${id}` };
      return Response.json(problem, { status: 404 });
    }
    if (route === "GET /jobs/{id}") return Response.json(this.job(id));
    if (verb === "cancel") {
      const job = this.#find(id);
      if (!ENDED.includes(job.label)) this.#end(job, "cancelled", "cancelled");
      return Response.json(this.job(id));
    }
    throw new NotPlayed(`${request.method} ${path}`);
  }
}

/** What needs a server. */
class NotPlayed extends Error {
  constructor(what: string) {
    super(`TestEngine does not play ${what}: use startServer of steadfast-jobs/testing`);
  }
}

function throughJson<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value)) as Value;
}
