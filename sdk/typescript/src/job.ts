import { pause } from "./backoff.js";
import { currentContext, type JobContext } from "./context.js";
import { type DurationInput, durationMs } from "./duration.js";
import { JobEndedError, PayloadError, WaitTimeoutError } from "./errors.js";
import { withKey } from "./gathering.js";
import type {
  Confirm,
  CreateJobRequest,
  CreateScheduleRequest,
  Job,
  Schedule,
} from "./generated.js";
import { type Jsonify, throughJson } from "./json.js";
import type { StandardSchema } from "./schema.js";
import type { Steadfast } from "./steadfast.js";
import { currentTraceparent } from "./tracing.js";

/** What a job does, and when a schedule creates it: no options of a job that is enqueued. */
type WorkField =
  | "kind"
  | "payload"
  | "api"
  | "http"
  | "like"
  | "schedule"
  | "isRecurring"
  | "timezone";

/** All that the API takes for one job besides its work. The server has defaults for all of it. */
export interface EnqueueOptions
  extends Omit<CreateJobRequest, WorkField | "runAt" | "startBefore"> {
  /** Earliest time of the first attempt. */
  runAt?: Date | string | undefined;
  /** Start deadline: a time, or a duration after creation. A job that has not started by then ends. */
  startBefore?: Date | DurationInput | undefined;
}

/** Options shared by all jobs of a kind. */
export interface JobDefaults
  extends Omit<EnqueueOptions, "idempotencyKey" | "traceparent" | "after" | "batch" | "runAt"> {}

/** Whether the last attempt of a job took effect. */
export type Confirmation<Result> =
  | { answer: "done"; result?: Result | undefined }
  | { answer: "not_done" | "unknown" };

/** Says whether the last attempt of a job took effect, and does nothing else. */
export type ConfirmHandler<Payload, Result> = (
  payload: Payload,
  context: JobContext,
) => Confirmation<Result> | Promise<Confirmation<Result>>;

export type JobHandler<Payload, Result> = (
  payload: Payload,
  context: JobContext,
) => Result | Promise<Result>;

export interface JobOptions<Payload, Result> extends Omit<JobDefaults, "confirm"> {
  /**
   * Asked after an end that leaves open whether the attempt took effect, before anything is repeated. An
   * error is an unknown answer. Settings instead of a function are for jobs that another worker runs.
   */
  confirm?: ConfirmHandler<Payload, Result> | Confirm | undefined;
  /** The handler, which a worker runs; optional in a program that only enqueues. */
  run?: JobHandler<Payload, Result>;
}

/** The timetable of a schedule, and the payload of its jobs. */
export interface ScheduleOptions<Input> extends Omit<CreateScheduleRequest, "name" | "job"> {
  payload?: Input;
  options?: EnqueueOptions;
}

type PayloadArguments<Input> = undefined extends Input
  ? [payload?: Input, options?: EnqueueOptions]
  : [payload: Input, options?: EnqueueOptions];

/** Creates requests for jobs of one kind. */
export interface JobSource<Input> {
  request(payload: Input, options?: EnqueueOptions): Promise<CreateJobRequest>;
}

/** A kind of job: the one symbol that enqueues it and that a worker runs. */
export class JobDefinition<Input, Payload, Result> implements JobSource<Input> {
  readonly kind: string;
  readonly run: JobHandler<Payload, Result> | undefined;
  readonly confirm: ConfirmHandler<Payload, Result> | undefined;
  readonly #client: Steadfast;
  readonly #schema: StandardSchema | undefined;
  readonly #defaults: JobDefaults;

  constructor(
    client: Steadfast,
    kind: string,
    {
      payload,
      run,
      confirm,
      ...defaults
    }: JobOptions<Payload, Result> & { payload?: StandardSchema },
  ) {
    this.#client = client;
    this.kind = kind;
    this.run = run;
    this.#schema = payload;
    const hasFunction = typeof confirm === "function";
    this.confirm = hasFunction ? confirm : undefined;
    const settings = hasFunction ? {} : confirm;
    this.#defaults = { ...defaults, ...(settings && { confirm: settings }) };
  }

  /**
   * Creates a job. Jobs that are enqueued in one turn of the event loop share a request, and a request
   * whose response was lost is repeated.
   */
  async enqueue(
    ...[payload, options]: PayloadArguments<Input>
  ): Promise<JobHandle<Jsonify<Result>>> {
    const request = await this.request(payload as Input, options);
    // The answer to one with a key of its own may be a job that exists.
    const isNew = request.idempotencyKey == null && request.unique == null;
    const job = isNew
      ? await this.#client.gathering.create(withKey(request))
      : await this.#client.jobs.create(request);
    return new JobHandle(this.#client, job);
  }

  /** Creates up to 1,000 jobs, all of them or none. */
  async enqueueMany(
    payloads: readonly Input[],
    options?: EnqueueOptions,
  ): Promise<JobHandle<Jsonify<Result>>[]> {
    const requests = await Promise.all(payloads.map((payload) => this.request(payload, options)));
    const jobs = await this.#client.jobs.createMany(requests);
    return jobs.map((job) => new JobHandle(this.#client, job));
  }

  /** Creates a schedule that creates such a job at every tick, or updates the schedule of this name. */
  async schedule(name: string, input: ScheduleOptions<Input>): Promise<Schedule> {
    const { payload, options, ...timetable } = input;
    const job = await this.request(payload as Input, options);
    return this.#client.schedules.create({ ...timetable, name, job });
  }

  /** The body that creates such a job, for `jobs.createMany` with jobs of several kinds. */
  async request(payload: Input, options: EnqueueOptions = {}): Promise<CreateJobRequest> {
    // It is checked as the worker will see it. The payload itself is sent, and what the schema makes of
    // it reaches the handler: a schema that transforms is applied once.
    const sent = this.#asJson(payload) ?? null;
    await this.parse(sent);
    const { runAt, startBefore, traceparent, ...rest } = { ...this.#defaults, ...options };
    const trace = traceparent ?? currentTraceparent() ?? currentContext.getStore()?.traceparent;
    return {
      ...rest,
      kind: this.kind,
      payload: sent,
      ...(runAt != null && { runAt: timeText(runAt) }),
      ...(startBefore != null && { startBefore: deadlineText(startBefore) }),
      ...(trace != null && { traceparent: trace }),
    };
  }

  #asJson(payload: unknown): unknown {
    try {
      return throughJson(payload);
    } catch (error) {
      throw new PayloadError(this.kind, [{ message: (error as Error).message }]);
    }
  }

  /** Checks a payload. Throws a `PayloadError` if it does not fit. */
  async parse(payload: unknown): Promise<Payload> {
    if (!this.#schema) return payload as Payload;
    const result = await this.#schema["~standard"].validate(payload);
    if (result.issues) throw new PayloadError(this.kind, result.issues);
    return result.value as Payload;
  }
}

function timeText(time: Date | string): string {
  return time instanceof Date ? time.toISOString() : time;
}

function deadlineText(deadline: Date | DurationInput): string {
  return typeof deadline === "number" ? `${Math.round(deadline)}ms` : timeText(deadline);
}

/** A definition of any kind. */
// biome-ignore lint/suspicious/noExplicitAny: a list holds definitions of different payloads
export type AnyJob = JobDefinition<any, any, unknown>;

const WAIT_MS = 30_000;
/** A server that answers sooner has not waited, so the next request comes after a pause. */
const EARLY_MS = 1_000;
const PAUSE_MS = 50;

/** A job that was created. */
export class JobHandle<Result> {
  readonly id: string;
  /** The job as it was when it was created. */
  readonly job: Job;
  readonly #client: Steadfast;

  constructor(client: Steadfast, job: Job) {
    this.#client = client;
    this.id = job.id;
    this.job = job;
  }

  /** The job as it is now. */
  get(): Promise<Job> {
    return this.#client.jobs.get(this.id);
  }

  cancel(): Promise<Job> {
    return this.#client.jobs.cancel(this.id);
  }

  /** Waits until the job has ended and returns the result of its handler. */
  async result(options: { timeout?: DurationInput; signal?: AbortSignal } = {}): Promise<Result> {
    const { timeout = "5m", signal } = options;
    const end = performance.now() + durationMs(timeout, "timeout");
    for (;;) {
      const sentAt = performance.now();
      const left = Math.max(0, end - sentAt);
      const job = await this.#client.jobs.wait(this.id, Math.min(left, WAIT_MS), signal);
      if (job.label === "succeeded") return job.result as Result;
      if (job.finishedAt) throw new JobEndedError(job);
      if (left === 0) throw new WaitTimeoutError(`${this.id} has not ended within ${timeout}`);
      if (performance.now() < sentAt + EARLY_MS) await pause(Math.min(left, PAUSE_MS), signal);
    }
  }
}
