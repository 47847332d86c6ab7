import { AttemptLog, keepLog } from "./attempt-log.js";
import type { AbortCause } from "./errors.js";
import { AbortedError } from "./errors.js";
import type { CreateJobRequest, Job, LogLevel, LogLines, PrerequisiteResult } from "./generated.js";
import type { EnqueueOptions, JobSource } from "./job.js";
import type { Jsonify } from "./json.js";
import type { Logger } from "./logger.js";
import { asyncStorage } from "./runtime.js";
import { wellFormed } from "./text.js";

/** The context of an attempt: the second argument of a handler. */
export interface JobContext {
  /** The job as it was claimed. */
  readonly job: Job;
  /** The number of this attempt, from 1. */
  readonly attempt: number;
  /** Aborted when the job is cancelled, its lease is lost, its timeout is over, or the grace of a stopping worker is. */
  readonly signal: AbortSignal;
  /** Aborted as soon as the worker begins to stop; `signal` follows when the grace is over. */
  readonly stopping: AbortSignal;
  /** The W3C trace context of the job, if it has one. */
  readonly traceparent: string | undefined;
  /** Logs with the job's id, kind and attempt. Entries from level info on are also kept with the attempt, as `log` does. */
  readonly logger: Logger;

  /**
   * Runs `work` unless this step has succeeded in an earlier attempt of the job; then its result from
   * that time is returned, as JSON has it. While the server is away, this waits for as long as the
   * attempt may go on. A crash between the end of `work` and the write of its result forgets it, so pass
   * the job's id as an idempotency key to systems that take one.
   */
  once<Result>(step: string, work: () => Result | Promise<Result>): Promise<Jsonify<Result>>;

  /** The jobs that this one has waited for (`after`), in the order of their ids, with their results. */
  prerequisites(): Promise<PrerequisiteResult[]>;

  /** Reports the progress of this attempt in percent, with a short note. */
  progress(percent: number, note?: string): Promise<void>;

  /**
   * Reports what this attempt has used, by unit: `usage({ tokens: 2210 })`. Gates with rates in these
   * units give back or charge the difference to the `cost` of the job when the attempt ends, whatever
   * its outcome. The last report counts. Without one, the cost is charged.
   */
  usage(used: Record<string, number>): void;

  /**
   * Adds a line to the log of this attempt, which people read on the page of the job and with `steadfast
   * jobs logs`. The newest 1,000 lines or 64 KiB are kept.
   */
  log(level: LogLevel, text: string): void;

  /** Creates another job if and only if this attempt succeeds, in the same transaction. */
  onSuccess<Input>(job: JobSource<Input>, payload: Input, options?: EnqueueOptions): Promise<void>;
}

/** Wraps every handler of a worker; it must call `next` once, or the job is not run. */
export type Middleware = (
  context: JobContext,
  next: () => Promise<unknown>,
) => Promise<unknown> | unknown;

/** Stores the steps and the progress of an attempt. */
export interface AttemptBackend {
  getStep(name: string): Promise<{ result: unknown } | undefined>;
  /** Stores a result unless there is one, and returns the stored one. */
  saveStep(name: string, result: unknown): Promise<unknown>;
  reportProgress(percent: number, note: string | undefined): Promise<void>;
  listPrerequisites(): Promise<PrerequisiteResult[]>;
  storeLog(lines: LogLines): Promise<void>;
}

/** The job whose handler runs in the current chain of calls. */
export const currentContext = asyncStorage<JobContext>();

/** One attempt: its signal, and what it asks for while it runs. */
export class AttemptContext implements JobContext {
  readonly job: Job;
  readonly logger: Logger;
  readonly #backend: AttemptBackend;
  readonly stopping: AbortSignal;
  readonly #controller = new AbortController();
  readonly #requests: Promise<CreateJobRequest>[] = [];
  readonly #log: AttemptLog;
  #lastReport: Promise<void> = Promise.resolve();
  #used: Record<string, number> = {};

  constructor(
    job: Job,
    backend: AttemptBackend,
    logger: Logger,
    stopping: AbortSignal = new AbortController().signal,
  ) {
    this.job = job;
    this.stopping = stopping;
    this.#backend = backend;
    this.#log = new AttemptLog((lines) => backend.storeLog(lines));
    const { id, kind, attempt } = job;
    this.logger = keepLog(logger, { job: id, kind, attempt }, this.#log);
  }

  get attempt(): number {
    return this.job.attempt;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get traceparent(): string | undefined {
    return this.job.traceparent ?? undefined;
  }

  abort(why: AbortCause): void {
    // From now on nothing of this attempt is accepted.
    if (why === "lease_lost") this.#log.close();
    this.#controller.abort(new AbortedError(why));
  }

  get abortCause(): AbortCause | undefined {
    return this.signal.aborted ? (this.signal.reason as AbortedError).why : undefined;
  }

  // These are fields, so that a handler can take them out of its context.
  readonly once = async <Result>(
    step: string,
    work: () => Result | Promise<Result>,
  ): Promise<Jsonify<Result>> => {
    const saved = await this.#backend.getStep(step);
    if (saved) return saved.result as Jsonify<Result>;
    const result = await work();
    return (await this.#backend.saveStep(step, result ?? null)) as Jsonify<Result>;
  };

  readonly prerequisites = (): Promise<PrerequisiteResult[]> => this.#backend.listPrerequisites();

  readonly progress = (percent: number, note?: string): Promise<void> => {
    const whole = Math.round(Math.min(100, Math.max(0, percent)));
    this.#lastReport = this.#backend.reportProgress(whole, note && wellFormed(note));
    this.#lastReport.catch(() => {});
    return this.#lastReport;
  };

  readonly usage = (used: Record<string, number>): void => {
    for (const [unit, amount] of Object.entries(used)) {
      if (!(amount >= 0 && Number.isFinite(amount)))
        throw new RangeError(`usage of ${unit} must be a number from 0, not ${amount}`);
    }
    this.#used = { ...used };
  };

  /** What the handler has reported as used, as a field of the outcome. */
  get used(): { usage?: Record<string, number> } {
    return Object.keys(this.#used).length > 0 ? { usage: this.#used } : {};
  }

  readonly log = (level: LogLevel, text: string): void => this.#log.add(level, text);

  /** The lines of the log that go with the outcome. */
  closeLog(): LogLines | undefined {
    return this.#log.close();
  }

  /** The server does not take the lines. */
  dropLog(): void {
    this.#log.drop();
  }

  readonly onSuccess = <Input>(
    job: JobSource<Input>,
    payload: Input,
    options?: EnqueueOptions,
  ): Promise<void> => {
    const request = job.request(payload, options);
    this.#requests.push(request);
    const checked = request.then(() => {});
    checked.catch(() => {}); // `finish` reports it, also if the handler does not wait for this.
    return checked;
  };

  /** The jobs to create with the success of this attempt, once what the handler reported has been sent. */
  async finish(): Promise<CreateJobRequest[]> {
    await this.#lastReport.catch(() => {});
    return Promise.all(this.#requests);
  }
}
