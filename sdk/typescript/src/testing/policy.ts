// What a retry policy says, for tests without a server. The server decides in production; this leaves
// out jitter, so that a test can say when an attempt comes.

import { durationMs } from "../duration.js";
import type {
  CreateJobRequest,
  FailureRequest,
  Preset,
  RetryPolicyFields,
  RetryRule,
} from "../generated.js";

const PRESETS: Record<Preset, RetryPolicyFields> = {
  http: { maxRetries: 3, baseDelay: "1s", maxDelay: "5m" },
  queue: { maxRetries: 3, baseDelay: "500ms", maxDelay: "30s" },
  patient: { maxRetries: 3, baseDelay: "1m", maxDelay: "1h" },
  webhook: { maxRetries: 3, backoff: "delays", delays: ["30s", "60s", "120s"] },
  conservative: { maxRetries: 5, baseDelay: "1s", maxDelay: "60s" },
  aggressive: { maxRetries: 2, baseDelay: "100ms", maxDelay: "5s" },
  once: { maxRetries: 0 },
};

const PERMANENT = [
  "validation",
  "not_found",
  "unauthorized",
  "forbidden",
  "syntax",
  "redirect",
  "blocked",
  "payload",
];
const SPELLINGS: Record<string, string> = {
  ValidationError: "validation",
  NotFoundError: "not_found",
  UnauthorizedError: "unauthorized",
  ForbiddenError: "forbidden",
  SyntaxError: "syntax",
};

/** A policy with everything that it leaves out. */
export function completePolicy(request: CreateJobRequest): RetryPolicyFields {
  const { retry, maxRetries, maxRetryCount, maxAttempts } = request;
  const given: RetryPolicyFields = typeof retry === "string" ? { preset: retry } : (retry ?? {});
  const policy = { ...PRESETS[given.preset ?? "queue"], ...given };
  const attempts = maxAttempts ?? given.maxAttempts;
  const retries = attempts == null ? policy.maxRetries : attempts - 1;
  return { ...policy, maxRetries: maxRetries ?? maxRetryCount ?? retries };
}

/** The delay before the next attempt, or the reason why there is none. */
export function decide(
  policy: RetryPolicyFields,
  failure: FailureRequest,
  retryCount: number,
  elapsedMs: number,
): number | "rule" | "non_retryable" | "exhausted" | "expired" {
  const rule = policy.rules?.find((one) => matches(one.match, failure));
  if (rule?.then === "fail") return "rule";
  if (!rule && isPermanent(failure)) return "non_retryable";
  if (retryCount >= (policy.maxRetries ?? 0)) return "exhausted";
  const given = typeof rule?.then === "object" ? durationMs(rule.then.retry) : undefined;
  const delay = given ?? delayMs(policy, retryCount + 1);
  const atLeast = failure.retryAfter == null ? 0 : durationMs(failure.retryAfter);
  if (policy.maxElapsed !== undefined && elapsedMs > durationMs(policy.maxElapsed))
    return "expired";
  return Math.max(delay, atLeast);
}

function classOf(failure: FailureRequest): string {
  const name = failure.class ?? "error";
  return SPELLINGS[name] ?? name;
}

function isPermanent(failure: FailureRequest): boolean {
  const status = failure.httpStatus ?? 0;
  const isPermanentStatus = status >= 300 && status < 500 && ![408, 425, 429].includes(status);
  return failure.permanent === true || PERMANENT.includes(classOf(failure)) || isPermanentStatus;
}

function delayMs(policy: RetryPolicyFields, retry: number): number {
  const base = durationMs(policy.baseDelay ?? 0);
  const most =
    policy.maxDelay === undefined ? Number.POSITIVE_INFINITY : durationMs(policy.maxDelay);
  const delays = policy.delays ?? [];
  switch (policy.backoff ?? "exponential") {
    case "exponential":
      return Math.min(most, base * (policy.factor ?? 2) ** (retry - 1));
    case "linear":
      return Math.min(most, base * retry);
    case "fixed":
      return Math.min(most, base);
    case "fibonacci":
      return Math.min(most, base * fibonacci(retry));
    case "delays":
      return Math.min(most, durationMs(delays[Math.min(retry, delays.length) - 1] ?? 0));
  }
}

function fibonacci(index: number): number {
  let [current, next] = [1, 1];
  for (let step = 1; step < index; step += 1) [current, next] = [next, current + next];
  return current;
}

function matches(match: RetryRule["match"], failure: FailureRequest): boolean {
  if (match === "any") return true;
  const classes = match.class === undefined ? [] : [match.class].flat();
  const statuses = match.status === undefined ? [] : [match.status].flat();
  const isClass =
    classes.length === 0 || classes.some((one) => (SPELLINGS[one] ?? one) === classOf(failure));
  const isStatus =
    statuses.length === 0 ||
    statuses.some((one) => fitsStatus(String(one), failure.httpStatus ?? 0));
  return isClass && isStatus && fitsMessage(match.message, failure.message ?? "");
}

function fitsStatus(pattern: string, status: number): boolean {
  if (/^\dxx$/i.test(pattern)) return Math.floor(status / 100) === Number(pattern[0]);
  const [first, last = first] = pattern.split("-").map(Number);
  return status >= (first ?? 0) && status <= (last ?? 0);
}

function fitsMessage(pattern: string | undefined, message: string): boolean {
  if (pattern === undefined) return true;
  const parts = pattern.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "s").test(message);
}
