import { type DurationInput, durationMs } from "./duration.js";
import type { Job, Problem } from "./generated.js";
import { describeIssue, type SchemaIssue } from "./schema.js";

/** The server refused a request; `code` is for programs, the message for people. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly code: string;
  /** The field at fault, if there is one. */
  readonly field: string | undefined;
  /** How long the server asks callers to wait. */
  readonly retryAfterMs: number | undefined;

  constructor(status: number, problem: Partial<Problem>, retryAfterMs?: number) {
    const place = problem.field ? `${problem.field}: ` : "";
    super(`${place}${problem.detail ?? problem.title ?? `status ${status}`}`);
    this.status = status;
    this.code = problem.code ?? "unknown";
    this.field = problem.field;
    this.retryAfterMs = retryAfterMs;
  }
}

/** No response arrived; the server may have carried out the request. */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";

  /** The code of the runtime, such as `ECONNREFUSED`. */
  get code(): string | undefined {
    const cause = this.cause as { code?: string; cause?: { code?: string } } | undefined;
    return cause?.cause?.code ?? cause?.code;
  }

  /** The server's certificate is not trusted, so a repeat cannot help. */
  get isUntrusted(): boolean {
    return /CERT|SELF_SIGNED|UNABLE_TO_VERIFY/.test(this.code ?? "");
  }
}

/** A payload that its schema does not accept. */
export class PayloadError extends Error {
  override readonly name = "PayloadError";
  readonly issues: ReadonlyArray<SchemaIssue>;

  constructor(kind: string, issues: ReadonlyArray<SchemaIssue>) {
    super(`the payload of ${kind} does not fit: ${issues.map(describeIssue).join("; ")}`);
    this.issues = issues;
  }
}

/** A job whose result was awaited ended without one. */
export class JobEndedError extends Error {
  override readonly name = "JobEndedError";
  readonly job: Job;

  constructor(job: Job) {
    const why = job.failure ? `${job.failure.class}: ${job.failure.message}` : job.reason;
    super(`${job.id} ended ${job.label}${why ? `: ${why}` : ""}`);
    this.job = job;
  }
}

/** A job had not ended when the wait for its result was over. */
export class WaitTimeoutError extends Error {
  override readonly name = "WaitTimeoutError";
}

export interface JobErrorOptions extends ErrorOptions {
  /** The class of the failure, which the rules of a retry policy can match. */
  class?: string | undefined;
  /** The HTTP status that caused it; most of 3xx and 4xx are not retried. */
  httpStatus?: number | undefined;
}

/** An error of a handler with a class of its own choice; the retry policy decides what follows. */
export class JobError extends Error {
  override name = "JobError";
  readonly class: string | undefined;
  readonly httpStatus: number | undefined;

  constructor(message: string, options: JobErrorOptions = {}) {
    super(message, options);
    this.class = options.class;
    this.httpStatus = options.httpStatus;
  }
}

/**
 * A retry cannot fix this: the job becomes a dead letter, unless a rule of its policy retries its class.
 * The class is `class` if given, the name of a subclass, or the class of the `cause`; otherwise
 * `validation`.
 */
export class PermanentError extends JobError {
  override name = "PermanentError";
}

/** A failure with the shortest delay before the next attempt. The attempt counts. */
export class RetryAfterError extends JobError {
  override name = "RetryAfterError";
  readonly delayMs: number;

  constructor(delay: DurationInput, message = "try again later", options: JobErrorOptions = {}) {
    super(message, options);
    this.delayMs = durationMs(delay, "delay");
  }
}

/** Runs the job again after the delay, without counting the attempt. */
export class SnoozeError extends Error {
  override readonly name = "SnoozeError";
  readonly delayMs: number;

  constructor(delay: DurationInput) {
    super("snoozed");
    this.delayMs = durationMs(delay, "delay");
  }
}

/** Why the signal of a handler was aborted. */
export type AbortCause = "cancelled" | "lease_lost" | "timeout" | "shutdown";

const ABORT_MESSAGES: Record<AbortCause, string> = {
  cancelled: "the job was cancelled",
  lease_lost: "the lease expired, and another worker may have the job",
  timeout: "the attempt took longer than its timeout",
  shutdown: "the worker stops",
};

/** The reason of a handler's aborted signal. */
export class AbortedError extends Error {
  override readonly name = "AbortedError";
  readonly why: AbortCause;

  constructor(why: AbortCause) {
    super(ABORT_MESSAGES[why]);
    this.why = why;
  }
}
