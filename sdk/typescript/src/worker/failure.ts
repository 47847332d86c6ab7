import { JobError, type PayloadError, PermanentError, RetryAfterError } from "../errors.js";
import type { FailureRequest } from "../generated.js";
import { textOf, wellFormed } from "../text.js";

/** The server keeps as much. */
const TRACE_LENGTH_MAX = 64 * 1024;

const LIBRARY_NAMES = ["Error", "JobError", "PermanentError", "RetryAfterError"];

/** What a handler threw, as the server is to know it. */
export function failureOf(error: unknown): FailureRequest {
  try {
    return describe(error);
  } catch {
    // A getter or a method of the error throws; that must not end the worker.
    return { class: "error", message: "the thrown value cannot be described" };
  }
}

function describe(error: unknown): FailureRequest {
  if (!(error instanceof Error)) return { class: "error", message: wellFormed(textOf(error)) };
  const failure: FailureRequest = {
    class: classOf(error),
    message: wellFormed(error.message || error.name),
    trace: wellFormed(traceOf(error)),
  };
  if (error instanceof JobError && error.httpStatus !== undefined) {
    failure.httpStatus = error.httpStatus;
  }
  if (error instanceof PermanentError) failure.permanent = true;
  if (error instanceof RetryAfterError) failure.retryAfter = Math.ceil(error.delayMs);
  return failure;
}

/** A payload that does not fit the job is not retried: it will not fit next time. */
export function payloadFailure(error: PayloadError): FailureRequest {
  return { class: "payload", message: error.message };
}

/** What a handler threw after it was stopped: only what happened is of interest, not what should follow. */
export function stoppedFailure(error: unknown, why: "timeout" | "cancelled"): FailureRequest {
  const { message, trace } = failureOf(error);
  return { class: why, message, trace };
}

function classOf(error: Error): string {
  if (error instanceof JobError && error.class !== undefined) return error.class;
  const type: unknown = error.constructor;
  if (type === PermanentError) return isSpecific(error.cause) ? classOf(error.cause) : "validation";
  if (type === JobError || type === RetryAfterError) return "error";
  // A subclass that does not set its name has that of its base.
  return LIBRARY_NAMES.includes(error.name) ? error.constructor.name : error.name;
}

/** Whether the cause of a permanent error says more than that; causes may form a circle. */
function isSpecific(cause: unknown): cause is Error {
  return cause instanceof Error && ![Error, PermanentError].includes(cause.constructor as never);
}

/** The stack of an error and of its causes; of a long one the middle is left out. */
function traceOf(error: Error): string {
  let text = error.stack ?? String(error);
  const seen = new Set<unknown>([error]);
  for (let cause = error.cause; cause !== undefined && !seen.has(cause); ) {
    seen.add(cause);
    text += `\ncaused by: ${textOf(cause)}`;
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  if (text.length <= TRACE_LENGTH_MAX) return text;
  const half = TRACE_LENGTH_MAX / 2 - 8;
  return `${text.slice(0, half)}\n…\n${text.slice(-half)}`;
}
