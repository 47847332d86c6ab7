export type { ApiGroups, JobRequest } from "./api.js";
export type { JobContext, Middleware } from "./context.js";
export type { DurationInput } from "./duration.js";
export {
  type AbortCause,
  AbortedError,
  ApiError,
  ConnectionError,
  JobEndedError,
  JobError,
  type JobErrorOptions,
  PayloadError,
  PermanentError,
  RetryAfterError,
  SnoozeError,
  WaitTimeoutError,
} from "./errors.js";
export type * from "./generated.js";
export type { Worker as WorkerRecord } from "./generated.js";
export type { CallInput, CallOptions, Fetch, HttpRequest, HttpResponse } from "./http.js";
export type {
  AnyJob,
  Confirmation,
  ConfirmHandler,
  EnqueueOptions,
  JobDefaults,
  JobDefinition,
  JobHandle,
  JobHandler,
  JobOptions,
  JobSource,
  ScheduleOptions,
} from "./job.js";
export type { Jsonify, JsonValue } from "./json.js";
export type { Logger } from "./logger.js";
export type { SchemaInput, SchemaIssue, SchemaOutput, StandardSchema } from "./schema.js";
export { Steadfast, type SteadfastOptions } from "./steadfast.js";
export { VERSION } from "./version.js";
export {
  type VerifyWebhookOptions,
  verifyWebhook,
  type WebhookEvent,
  WebhookSignatureError,
  type WebhookSource,
} from "./webhook.js";
export type { Worker, WorkerOptions } from "./worker/worker.js";
