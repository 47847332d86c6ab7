import { currentContext, type JobContext } from "./context.js";
import { type DurationInput, durationMs } from "./duration.js";
import { JobEndedError, PayloadError, WaitTimeoutError } from "./errors.js";
import type {
  CreateJobRequest,
  CreateScheduleRequest,
  Guarantee,
  Job,
  RetryPolicyInput,
  Schedule,
  WebhookRequest,
} from "./generated.js";
import type { StandardSchema } from "./schema.js";
import type { Steadfast } from "./steadfast.js";

/** What one job may have that its definition does not say, or says otherwise. */
export interface EnqueueOptions {
  queue?: string | undefined;
  /** 0 to 9, higher first; 5 by default. */
  priority?: number | undefined;
  /** Not before this long from now. */
  delay?: DurationInput | undefined;
  /** Not before this time. */
  runAt?: Date | string | undefined;
  /** A preset's name, or a policy. */
  retry?: RetryPolicyInput | undefined;
  /** `AT_MOST_ONCE` for work that must not be repeated; it is never retried. */
  type?: Guarantee | undefined;
  /** How long one attempt may take. */
  timeout?: DurationInput | undefined;
  /** How long a claim holds without being renewed. */
  lease?: DurationInput | undefined;
  /** One key, one job. With a key, a request whose response was lost is repeated by itself. */
  idempotencyKey?: string | undefined;
  /** What is limited together by a gate, such as the id of a customer. */
  concurrencyKey?: string | undefined;
  /** The system that the handler calls, as an origin: gates and its health go by it. */
  destination?: string | undefined;
  tags?: Record<string, string> | undefined;
  webhook?: WebhookRequest | undefined;
  /** Only for keys that see all tenants. */
  tenant?: string | undefined;
  /** W3C trace context; by default that of the job whose handler enqueues this one. */
  traceparent?: string | undefined;
}

/** What all jobs of a kind share. */
export interface JobDefaults
  extends Pick<
    EnqueueOptions,
    | "queue"
    | "priority"
    | "retry"
    | "type"
    | "timeout"
    | "lease"
    | "destination"
    | "tags"
    | "webhook"
    | "tenant"
  > {}

export type JobHandler<Payload, Result> = (
  payload: Payload,
  context: JobContext,
) => Result | Promise<Result>;

export interface JobOptions<Payload, Result> extends JobDefaults {
  /** What runs the job in a worker; a program that only enqueues may leave it out. */
  run?: JobHandler<Payload, Result>;
}

/** When a schedule makes a job, and with which payload. */
export interface ScheduleOptions<Input> extends Omit<CreateScheduleRequest, "name" | "job"> {
  payload?: Input;
  options?: EnqueueOptions;
}

type PayloadArguments<Input> = undefined extends Input
  ? [payload?: Input, options?: EnqueueOptions]
  : [payload: Input, options?: EnqueueOptions];

/** What makes requests for jobs of one kind. */
export interface JobSource<Input> {
  request(payload: Input, options?: EnqueueOptions): Promise<CreateJobRequest>;
}

/** A kind of job: the one symbol that enqueues it and that a worker runs. */
export class JobDefinition<Input, Payload, Result> implements JobSource<Input> {
  readonly kind: string;
  readonly run: JobHandler<Payload, Result> | undefined;
  readonly #client: Steadfast;
  readonly #schema: StandardSchema | undefined;
  readonly #defaults: JobDefaults;

  constructor(
    client: Steadfast,
    kind: string,
    { payload, run, ...defaults }: JobOptions<Payload, Result> & { payload?: StandardSchema },
  ) {
    this.#client = client;
    this.kind = kind;
    this.run = run;
    this.#schema = payload;
    this.#defaults = defaults;
  }

  /** Creates a job. */
  async enqueue(...[payload, options]: PayloadArguments<Input>): Promise<JobHandle<Result>> {
    const request = await this.request(payload as Input, options);
    return new JobHandle(this.#client, await this.#client.jobs.create(request));
  }

  /** Creates up to 1,000 jobs, all of them or none. */
  async enqueueMany(
    payloads: readonly Input[],
    options?: EnqueueOptions,
  ): Promise<JobHandle<Result>[]> {
    const requests = await Promise.all(payloads.map((payload) => this.request(payload, options)));
    const jobs = await this.#client.jobs.createMany(requests);
    return jobs.map((job) => new JobHandle(this.#client, job));
  }

  /** Creates a schedule that makes such a job at every tick, or updates the one of this name. */
  async schedule(name: string, input: ScheduleOptions<Input>): Promise<Schedule> {
    const { payload, options, ...timetable } = input;
    const job = await this.request(payload as Input, options);
    return this.#client.schedules.create({ ...timetable, name, job });
  }

  /** The body that creates such a job, for `jobs.createMany` with jobs of several kinds. */
  async request(payload: Input, options: EnqueueOptions = {}): Promise<CreateJobRequest> {
    // The payload is sent as it is given, and what the schema makes of it reaches the handler: a schema
    // that transforms is applied once.
    await this.parse(payload);
    const { runAt, traceparent, ...rest } = options;
    const trace = traceparent ?? currentContext.getStore()?.traceparent;
    return {
      ...this.#defaults,
      ...rest,
      kind: this.kind,
      payload: payload ?? null,
      ...(runAt !== undefined && { runAt: runAt instanceof Date ? runAt.toISOString() : runAt }),
      ...(trace !== undefined && { traceparent: trace }),
    };
  }

  /** Checks a payload. Throws a `PayloadError` if it does not fit. */
  async parse(payload: unknown): Promise<Payload> {
    if (!this.#schema) return payload as Payload;
    const result = await this.#schema["~standard"].validate(payload);
    if (result.issues) throw new PayloadError(this.kind, result.issues);
    return result.value as Payload;
  }
}

/** A definition of any kind. */
// biome-ignore lint/suspicious/noExplicitAny: a list holds definitions of different payloads
export type AnyJob = JobDefinition<any, any, unknown>;

const WAIT_MS = 30_000;

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
      const left = Math.max(0, end - performance.now());
      const job = await this.#client.jobs.wait(this.id, Math.min(left, WAIT_MS), signal);
      if (job.label === "succeeded") return job.result as Result;
      if (job.finishedAt) throw new JobEndedError(job);
      if (left === 0) throw new WaitTimeoutError(`${this.id} has not ended within ${timeout}`);
    }
  }
}
