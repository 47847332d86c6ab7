// Made from docs/openapi.json by scripts/generate.mjs; do not edit.

/** A request to acknowledge firing alerts: all that match. */
export interface AcknowledgeAlertsRequest {
  /** Only the alert of this destination. */
  destination?: string | null | undefined;
  /** The rule of the alerts. */
  rule: AlertRule;
  /** Only alerts about these jobs. */
  subject?: AlertSubject | null | undefined;
  /** Only alerts of this tenant. */
  tenant?: Name | null | undefined;
}

/** The caller of a command. */
export interface Actor {
  /** The agent that sent the command for this caller, as it calls itself. */
  agent?: string | null | undefined;
  /** `key_…`; null while the server requires no key. */
  key?: string | null | undefined;
  /** The name of the key, or the interface used: `api` or `dashboard`. */
  name: string;
}

/** A request to advance the clock of the store. */
export interface AdvanceClockRequest {
  /** By how much. */
  by: Duration;
}

/** The state of an alert rule for one tenant */
export interface Alert {
  acknowledged?: AlertAcknowledgement | undefined;
  /** The destination, if the rule is `destination` */
  destination?: string | undefined;
  fingerprint?: Fingerprint | undefined;
  firedAt: string | null;
  message: string;
  notifiedAt: string | null;
  /** The queue that contributes most to the value */
  queue: string | null;
  resolvedAt: string | null;
  rule: AlertRule;
  /** No notifications are sent before this time */
  silencedUntil?: string | undefined;
  /** Time of the last change of state */
  since: string;
  status: AlertStatus;
  subject: AlertSubject;
  tenant: string;
  /** The threshold, in `unit` */
  threshold: number;
  unit: AlertUnit;
  updatedAt: string;
  /** The measured value, in `unit`: a number of jobs, a fraction of attempts from 0 to 1, or seconds */
  value: number;
}

/** Who works on a firing alert; it sends no reminders */
export interface AlertAcknowledgement {
  at: string;
  by?: string | undefined;
}

/** Alerts: firing, pending and resolved. */
export interface AlertList {
  /** One alert per rule and tenant. */
  alerts: Alert[];
  /** Cursor for the next page, sent as `after`; null at the end of the list. */
  nextCursor?: string | null | undefined;
}

export type AlertRule = "dlq" | "retry_rate" | "exhausted" | "overdue" | "destination" | "new_failure" | "regressed" | "storm" | "certificate" | "fragile" | "corrected" | "store_slow";

export type AlertStatus = "ok" | "pending" | "firing";

export type AlertSubject = "jobs" | "deliveries" | "notifications";

export type AlertUnit = "jobs" | "share" | "seconds" | "causes" | "nodes" | "certificates";

/** Responses with one meaning. `notDone` is compared first, and is status 404 and 410 by default; `done` is status 2xx by default. Any other response is `unknown`. */
export interface AnswerPattern {
  /** Pattern for the whole body; * matches any characters */
  body?: string | undefined;
  /** 503, "5xx" or "500-504" */
  status?: number | string | Array<number | string> | undefined;
}

/** One attempt and its retry decision. */
export interface Attempt {
  /**
   * The answer, if this was no attempt but a question whether attempt number `attempt` took
   * effect.
   */
  answer?: ConfirmAnswer | null | undefined;
  /** Number of the attempt, from 1, including attempts before a manual retry. */
  attempt: number;
  /** Attempts of earlier retry budgets of the job. */
  attemptsBefore: number;
  /** The decision in numbers. */
  decision?: Decision | null | undefined;
  /** Duration in milliseconds. */
  durationMs: number;
  /** Start time. */
  executionTime: string;
  /** The retry decision as a sentence; null after a success. */
  explanation?: string | null | undefined;
  /** The failure. */
  failure?: Failure | null | undefined;
  /** End time; for a lost attempt, the time it was detected. */
  finishedAt: string;
  /** The job of the attempt. */
  jobId: string;
  /** Due time of the next attempt, if any. */
  nextRunAt?: string | null | undefined;
  /** The last progress note of the handler or worker. */
  note?: string | null | undefined;
  /** The last progress in percent. */
  progress?: number | null | undefined;
  /** Whether it is the first attempt after a manual retry. */
  requeued: boolean;
  /** Who requeued the job before this attempt, if that is on record. */
  requeuedBy?: string | null | undefined;
  /** The HTTP response of an HTTP job or webhook. */
  response?: unknown;
  /** The result of the handler or worker. */
  result?: unknown;
  /** Retries before this attempt in its budget: 0 for the first attempt of each budget. */
  retryCount: number;
  /** Outcome of the attempt. */
  status: AttemptStatus;
  /**
   * Duration of each phase of a call without a response, in milliseconds, up to the failed
   * phase: `dnsMs`, `connectMs`, `tlsMs`, `firstByteMs`, `bodyMs`. A response has its own
   * timings.
   */
  timings?: unknown;
  /** The worker or node that ran it. */
  worker?: string | null | undefined;
}

/** A page of attempts. */
export interface AttemptList {
  /** The attempts, newest first. */
  attempts: Attempt[];
  /** Cursor for the next page, sent as `after`; null at the end of the list. */
  nextCursor?: string | null | undefined;
}

/** The newest lines that an attempt logged: up to 1,000 lines or 64 KiB. */
export interface AttemptLog {
  /** The number of the attempt. */
  attempt: number;
  /** How many lines from `from` up to `next` are missing, because the log was full. */
  dropped: number;
  /** The lines, oldest first. */
  lines: NumberedLogLine[];
  /** The number of the next line: read on with `from` until no lines come. */
  next: number;
}

export type AttemptStatus = "SUCCESS" | "FAILED" | "LOST" | "SNOOZED" | "CANCELLED" | "RELEASED" | "ASKED";

/** A page of audit records. */
export interface AuditList {
  /** Cursor for the next page, sent as `after`; null at the end of the list. */
  nextCursor?: string | null | undefined;
  /** Newest first. */
  records: AuditRecord[];
}

/** One command and its caller. */
export interface AuditRecord {
  /** The action, such as `job.cancel` or `gate.set`. */
  action: string;
  /** The caller. */
  actor: Actor;
  /** Time of the command. */
  at: string;
  /** Details as text. */
  detail?: string | null | undefined;
  /** `aud_…` */
  id: string;
  /** Subject of the command. */
  subject: string;
  /** Tenant of the jobs or settings; null for all tenants. */
  tenant?: Name | null | undefined;
}

/** How the delay grows from one retry to the next. */
export type Backoff = "exponential" | "linear" | "fixed" | "fibonacci" | "delays";

/** A group of jobs with shared progress. */
export interface Batch {
  /** When it was created. */
  createdAt: string;
  /** Jobs that ended without success. */
  failed: number;
  /** When all jobs had ended; null again if a job is requeued. */
  finishedAt?: string | null | undefined;
  /** `bat_…` */
  id: string;
  /** The ids of its jobs, in the order of the request. Only in the response to its creation. */
  jobs?: string[] | null | undefined;
  /** Name of the batch. */
  name?: string | null | undefined;
  /** The job that is created when all jobs have ended. */
  onEnd?: BatchCallback | null | undefined;
  /** The job that is created when all jobs have succeeded. */
  onSuccess?: BatchCallback | null | undefined;
  /** Percentage of jobs that have ended. */
  progress: number;
  /**
   * `open` while jobs can be added, `running` until all have ended, then `succeeded`, or `failed`
   * if some have failed or were cancelled.
   */
  status: string;
  /** Jobs that have succeeded. */
  succeeded: number;
  /** Tenant of the batch. */
  tenant: Name;
  /** Number of jobs in the batch. */
  total: number;
  /** Unfinished jobs. */
  unfinished: number;
}

/** A callback job of a batch. */
export interface BatchCallback {
  /** Whether the job has been created. It is created only once. */
  created: boolean;
  /** `job_…`; assigned before the job is created. */
  id: string;
}

/** A page of batches. */
export interface BatchList {
  /** Newest first. */
  batches: Batch[];
  /** Cursor for the next page, sent as `after`; null at the end of the list. */
  nextCursor?: string | null | undefined;
}

/** One reason why a job does not start. */
export interface Blocker {
  /** Number of jobs ahead. */
  ahead?: number | null | undefined;
  /** Whether `ahead` is a lower bound; absent means false. */
  aheadAtLeast?: boolean | null | undefined;
  /** Who paused or held it. */
  by?: string | null | undefined;
  /** Why a destination is held. */
  evidence?: Record<string, unknown> | null | undefined;
  /** The gate, if a gate blocks the job. */
  gate?: GateId | null | undefined;
  /** Some of the running attempts. */
  holders?: GateHolder[] | null | undefined;
  /** The jobs ahead. */
  jobs?: string[] | null | undefined;
  /** The kind of blocker. */
  kind: BlockerKind;
  /**
   * What the destination says remains of its own limits; hidden from keys for one tenant if it
   * applies to all tenants.
   */
  quota?: Record<string, unknown> | null | undefined;
  /** The job that received the `Retry-After`; hidden from keys for one tenant. */
  retryAfter?: Record<string, unknown> | null | undefined;
  /** The blocker as a sentence. */
  sentence: string;
  /** Start of the pause or hold, or when a worker was last seen. */
  since?: string | null | undefined;
  /** When the blocker ends, if only time is needed. */
  until?: string | null | undefined;
}

export type BlockerKind = "state" | "expired" | "run_at" | "endpoint_disabled" | "runs_after" | "paused" | "held" | "retry_after" | "quota" | "pace" | "ramping" | "max_running" | "rate" | "retry_share" | "ordered" | "no_worker" | "no_slot" | "behind";

export type BodyFormat = "standard" | "slack" | "cloudevents";

/** Number of jobs that were or would be changed. */
export interface BulkResult {
  /** Whether `count` is a lower bound, because counting stopped early or the work continues. */
  atLeast: boolean;
  /** Number of changed jobs; for a dry run, the number that would be changed. */
  count: number;
  /** Whether it was a dry run. */
  dryRun: boolean;
  /**
   * The operation that does the work, `opr_…`; absent if the work was done immediately or only
   * counted.
   */
  operation?: string | null | undefined;
}

/** A change of one setting that makes the system recover. */
export interface CertificateChange {
  /** Most jobs given up because of a fault with this value. */
  deadLetters: number;
  /** Time from the end of the worst fault to recovery with this value. */
  recoversAfterMs: number;
  /** The setting. */
  setting: string;
  /** The change as a sentence. */
  summary: string;
  /** Its new value. */
  value: string;
}

/** Load against time. */
export interface CertificatePicture {
  /** When the fault begins. */
  faultFromMs: number;
  /** When the fault ends. */
  faultToMs: number;
  /** One row per load, lowest first. */
  rows: CertificateRow[];
  /** Time covered by the columns. */
  spanMs: number;
}

/** The system at one load. */
export interface CertificateRow {
  /** Whether this is the load of the request. */
  isGiven: boolean;
  /** Fraction of the capacity that the jobs need if each is called once. */
  load: number;
  /** Time from the end of the worst fault to recovery; null if the system does not recover. */
  recoversAfterMs?: number | null | undefined;
  /** Worst state in each column. */
  states: SystemState[];
}

/** The target of a certificate. */
export interface CertificateTarget {
  /** Calls per second that it can answer. */
  capacity: number;
  /** Time it takes to answer a call. */
  latencyMs: number;
  /** Number of recorded calls behind the measured numbers; null if all were given. */
  measuredCalls?: number | null | undefined;
  /** Timeout of a call. */
  timeoutMs: number;
  /** Jobs per second that call it. */
  traffic: number;
}

/** The verdict of a certificate. */
export type CertificateVerdict = "recovers" | "stays_down" | "overloaded";

/**
 * Settings whose behaviour after outages is computed. `capacity`, `latency` and `traffic` are
 * required unless `destination` is given and calls to it are recorded.
 */
export interface CertifyPolicyRequest {
  /** Calls per second that the target can answer. */
  capacity?: number | null | undefined;
  /** Destination whose gate applies, and whose recorded calls replace missing numbers. */
  destination?: string | null | undefined;
  /**
   * What to do when the destination is unhealthy; by default `auto` for nodes and `watch` for
   * workers.
   */
  hold?: HoldMode | null | undefined;
  /** Time the target takes to answer a call while nothing waits there. */
  latency?: Duration | null | undefined;
  /** Maximum number of concurrent attempts of the destination's gate. */
  maxRunning?: number | null | undefined;
  /** Number of nodes that make the calls; 1 by default. */
  nodes?: number | null | undefined;
  /** Length of each simulated fault; 5 minutes by default. */
  outage?: Duration | null | undefined;
  /** Queue whose policy settings apply. */
  queue?: Name | null | undefined;
  /** Rate limit of the destination's gate. */
  rate?: Rate | null | undefined;
  /** The retry policy; omitted fields come from the queue, the tenant and the server. */
  retry?: RetryPolicyInput | null | undefined;
  /** Maximum fraction of starts per minute that may be retries, of the destination's gate. */
  retryShare?: number | null | undefined;
  /** Total slots of the workers or handlers that make the calls, instead of `nodes`. */
  slots?: number | null | undefined;
  /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
  tenant?: Name | null | undefined;
  /** Timeout of a call; 30 seconds by default. */
  timeout?: Duration | null | undefined;
  /** Jobs per second that call the target. */
  traffic?: number | null | undefined;
}

/** A job held by a worker until its lease expires. */
export interface Claim {
  /** Proof that the claim is valid: send it with every request about this attempt. */
  fence: number;
  /** The job's id, used in the paths of later requests. */
  id: string;
  /**
   * The job itself. If it has `questions`, do not run it: find out whether its last attempt took
   * effect, and settle with the outcome `answer`.
   */
  job: Job;
  /** Expiry of the claim. */
  leaseUntil?: string | null | undefined;
}

/** A worker's request for jobs. */
export interface ClaimJobsRequest {
  /**
   * Kinds for which the worker answers whether an attempt took effect, at most 100. Questions
   * of other kinds are answered `unknown` for it.
   */
  confirms?: Kind[] | undefined;
  /** Kinds to claim, at most 100; by default all kinds except those that the node runs itself. */
  kinds?: Kind[] | undefined;
  /** Lease duration, instead of each job's own lease. */
  lease?: Duration | null | undefined;
  /** Maximum number of jobs; 10 by default. */
  max?: number | null | undefined;
  /** Queues to claim from, at most 100; all by default. */
  queues?: Name[] | undefined;
  /**
   * Which responses have arrived. Claims of a response that did not arrive are released without
   * counting the attempt.
   */
  session?: ClaimSession | null | undefined;
  /**
   * Settlements of earlier attempts, up to 1,000, settled before the claim. The response
   * has one result for each and does not wait for jobs.
   */
  settlements?: SettlementRequest[] | undefined;
  /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
  tenant?: Name | null | undefined;
  /** How long to wait for a job, up to 30s; no wait by default. */
  wait?: Duration | null | undefined;
  /** The worker's name; shown with every attempt. */
  worker: Name;
  /** Description of the worker, shown in the list of workers. */
  workerInfo?: WorkerInfo | null | undefined;
}

/** The claims of a request. */
export interface ClaimList {
  /** The claims; may be empty. */
  claims: Claim[];
  /** One result per settlement of the request, in its order. */
  settled?: SettlementResult[] | undefined;
}

/** The claim requests of one worker process, one after the other. */
export interface ClaimSession {
  /** Random text of the process, up to 64 bytes; a restarted worker has another one. */
  id: string;
  /** The highest `sequence` whose response has arrived, with all its claims; 0 by default. */
  received?: number | undefined;
  /**
   * Number of this request: higher than that of every earlier request of the session. A lower
   * one is refused, because it was overtaken.
   */
  sequence: number;
}

/** The time of the store. */
export interface Clock {
  /** The current time of the store. */
  now: string;
}

/** An event in structured mode. Other fields are extension attributes, which become tags. */
export interface CloudEvent {
  /** The payload of the job. */
  data?: unknown;
  /** Media type of the data. */
  datacontenttype?: string | null | undefined;
  /** Id of the event, unique for its source. */
  id: string;
  /** Queue of the job. */
  queue?: string | null | undefined;
  /** URI of the sender. Together with the id it is the idempotency key of the job. */
  source: string;
  /** Version of the specification: `1.0`. */
  specversion: string;
  /** What the event is about. */
  subject?: string | null | undefined;
  /** When it happened. */
  time?: string | null | undefined;
  /** Type of the event: the kind of the job, unless the query string names one. */
  type: string;
}

/** The question whether an attempt took effect. */
export interface Confirm {
  /** "any", or an object with class, status and message; all given fields must match */
  also?: "any" | {
    class?: string | string[] | undefined;
    /** Pattern for the whole message; * matches any characters */
    message?: string | undefined;
    /** 503, "5xx" or "500-504" */
    status?: number | string | Array<number | string> | undefined;
  } | undefined;
  done?: AnswerPattern | undefined;
  /** Headers of the GET, with the same placeholders. */
  headers?: Record<string, HeaderSource> | undefined;
  notDone?: AnswerPattern | undefined;
  timeout?: Duration | undefined;
  /** Address that an HTTP job asks with a GET; required for those, omitted for others. `{jobId}` and `{idempotencyKey}` stand for those of the job. */
  url?: string | undefined;
}

export type ConfirmAnswer = "done" | "not_done" | "unknown";

/** Jobs by label, and recent and total attempts. */
export interface Counts {
  /** Cancelled jobs within retention. */
  cancelled: number;
  /** Dead letters: failed jobs, neither requeued nor discarded. */
  dlqSize: number;
  /** Failed jobs within retention. */
  failed: number;
  /** Due time of the oldest ready job. */
  oldestReady?: string | null | undefined;
  /** Jobs that are due and waiting for a worker. */
  ready: number;
  /** Attempts that ended in the last five minutes. */
  recent: Tally;
  /** Jobs waiting for their next attempt. */
  retrying: number;
  /** Running jobs. */
  running: number;
  /** Jobs waiting for their first start time. */
  scheduled: number;
  /** Succeeded jobs within retention. */
  succeeded: number;
  /** All attempts so far. */
  total: Tally;
}

/** A request to create a batch, with or without jobs. */
export interface CreateBatchRequest {
  /** Idempotency key: repeating the request returns the existing batch. */
  idempotencyKey?: string | null | undefined;
  /** Up to 1,000 jobs; more can be added to an open batch. */
  jobs?: CreateJobRequest[] | undefined;
  /** Name of the batch, up to 255 bytes. */
  name?: string | null | undefined;
  /** The job to create when all jobs have ended, successfully or not. It gets the tag `batch`. */
  onEnd?: CreateJobRequest | null | undefined;
  /**
   * The job to create when all jobs have succeeded, including after requeues. It gets the tag
   * `batch`.
   */
  onSuccess?: CreateJobRequest | null | undefined;
  /** Whether jobs can be added later; an open batch ends only after it is closed. */
  open?: boolean | undefined;
  /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
  tenant?: Name | null | undefined;
}

/** A request to create an endpoint. */
export interface CreateEndpointRequest {
  /** Description of the endpoint. */
  description?: string | undefined;
  /** Events to send; `job.succeeded` and `job.failed` by default. */
  events?: EventType[] | null | undefined;
  /**
   * `standard` (Standard Webhooks, the default), `cloudevents` (CloudEvents 1.0), or `slack` for one
   * line of text.
   */
  format?: BodyFormat | null | undefined;
  /** Headers of its deliveries by name: a text, which is never shown, or a named secret. */
  headers?: Record<string, HeaderSource> | undefined;
  /** Retry policy of its deliveries; omitted fields come from the preset `webhook`. */
  retry?: RetryPolicyInput | null | undefined;
  /** `whsec_…`; generated by default. */
  secret?: string | null | undefined;
  /** The tenant. Requires a key for all tenants; other keys always use their own tenant. */
  tenant?: Name | null | undefined;
  /** URL that receives deliveries. */
  url: string;
}

/**
 * A request to create a job. Its work is given by `kind` and `payload`, by `http`, or by `api`;
 * every other field is optional.
 */
export interface CreateJobRequest {
  /**
   * Start the job only after these jobs have ended; up to 1,000 jobs of the same tenant:
   * `job_…`, or `ref:NAME` for an earlier job of the same list.
   */
  after?: string[] | null | undefined;
  /** Short for `http.url`: a URL that receives a POST request. */
  api?: string | null | undefined;
  /** The open batch that the job belongs to: `bat_…` */
  batch?: string | null | undefined;
  /** Concurrency key within the tenant, such as a customer id; see gates. */
  concurrencyKey?: string | null | undefined;
  /**
   * Ask whether an attempt took effect before it is repeated, after an end that leaves that open:
   * a timeout or broken connection after the request was sent, or a lost lease. `{}` for jobs of
   * handlers and workers with a confirm function.
   */
  confirm?: Confirm | null | undefined;
  /** Debounce: start a unique job after this long without another request for it. */
  debounce?: Duration | null | undefined;
  /**
   * Maximum time from the first request to the start, up to 24h; ten times `debounce` by
   * default.
   */
  debounceMax?: Duration | null | undefined;
  /** Delay before the first attempt. */
  delay?: Duration | null | undefined;
  /**
   * The origin of the system that the job calls, used for gates and health. For an HTTP job it
   * is taken from the URL.
   */
  destination?: string | null | undefined;
  /** An HTTP request that the node sends. */
  http?: HttpTargetRequest | null | undefined;
  /** Idempotency key: repeating the request returns the same job. */
  idempotencyKey?: string | null | undefined;
  /** Whether each match of `schedule` creates a job (the default), or only the next one. */
  isRecurring?: boolean | null | undefined;
  /**
   * Display name. Also the name of the schedule of a recurring job, and the kind of a job with
   * neither `kind` nor a target.
   */
  jobName?: string | null | undefined;
  /** Kind, which selects the handler or worker. */
  kind?: Kind | null | undefined;
  /** Lease duration: how long a claim is valid without renewal. */
  lease?: Duration | null | undefined;
  /**
   * A stored job to copy: omitted fields are taken from it, including headers and secrets,
   * except its keys, time, batch and prerequisites. Only when a single job is created.
   */
  like?: string | null | undefined;
  /** The same as `maxRetries` + 1. */
  maxAttempts?: number | null | undefined;
  /** Short for `retry.maxRetries`. */
  maxRetries?: number | null | undefined;
  /** Alias of `maxRetries`. */
  maxRetryCount?: number | null | undefined;
  /** What to do when `startBefore` has passed; `fail` by default. */
  onExpiry?: ExpiryAction | null | undefined;
  /**
   * What to do when one of those jobs ends without success: `wait` until it is requeued and
   * succeeds (the default), `fail`, or `run` as soon as all have ended.
   */
  onFailure?: OnFailure | null | undefined;
  /** Input for the handler or worker: any JSON, up to 256 KiB by default. */
  payload?: unknown;
  /** Priority from 0 to 9, higher first; 5 by default. */
  priority?: number | null | undefined;
  /** Queue of the job; `default` by default. */
  queue?: Name | null | undefined;
  /**
   * Name of the job within a list of jobs: later jobs of the list can run after it, with
   * `"after": ["ref:NAME"]`.
   */
  ref?: string | null | undefined;
  /** Retry policy; omitted fields come from the queue, the tenant and the server. */
  retry?: RetryPolicyInput | null | undefined;
  /** Short for `retry.baseDelay` with the preset `patient`. */
  retryDelay?: Duration | null | undefined;
  /** Earliest time of the first attempt. */
  runAt?: string | null | undefined;
  /** Cron rule with 5 or 6 fields (seconds first), or a shorthand such as `@hourly`. */
  schedule?: string | null | undefined;
  /**
   * Start deadline: a time, or a duration after creation. If the first attempt has not started
   * by then, the job ends with reason `expired_unstarted`.
   */
  startBefore?: string | null | undefined;
  /** Tags: names and values to search by. */
  tags?: Record<string, string> | null | undefined;
  /** The tenant. Requires a key for all tenants; other keys always use their own tenant. */
  tenant?: Name | null | undefined;
  /** Timeout of one attempt. */
  timeout?: Duration | null | undefined;
  /** An IANA time zone for `schedule`; UTC by default. */
  timezone?: string | null | undefined;
  /**
   * W3C Trace Context; by default the header `traceparent` of the request. HTTP jobs and
   * webhooks propagate it.
   */
  traceparent?: string | null | undefined;
  /** Guarantee: `AT_LEAST_ONCE` or `AT_MOST_ONCE`. */
  type?: Guarantee | null | undefined;
  /** Uniqueness: allows only one job with this key within the tenant. */
  unique?: Unique | null | undefined;
  /** Short for `retry.backoff`: exponential (true) or fixed (false), with the preset `patient`. */
  useExponentialBackoff?: boolean | null | undefined;
  /** Webhook for events of this job. */
  webhook?: WebhookRequest | null | undefined;
}

/** Up to 1,000 jobs, created atomically. */
export interface CreateJobsRequest {
  /** The jobs; none of them may be recurring. */
  jobs: CreateJobRequest[];
}

/** A request to create a key. */
export interface CreateKeyRequest {
  /**
   * Expiry time; never by default. A key cannot outlive the key with scope `tenant` that creates
   * it.
   */
  expiresAt?: string | null | undefined;
  /** Name of the key. */
  name?: string | undefined;
  /** Scope of the key. */
  scope: Scope;
  /**
   * Tenant of the key. A key with scope `worker`, `read` or `metrics` is for all tenants by
   * default.
   */
  tenant?: Name | null | undefined;
}

/** A bulk operation on the jobs in `ids`, or on all jobs that match `filter`. */
export interface CreateOperationRequest {
  /** Must be true if the filter is empty. */
  all?: boolean | undefined;
  /** Only count the jobs. */
  dryRun?: boolean | undefined;
  /** Fraction of jobs of a canary that may fail again, from 0 to 1; 0.2 by default. */
  failShareMax?: number | null | undefined;
  /** Filter with the fields of the job list, except `limit` and `after`. */
  filter?: Record<string, unknown> | null | undefined;
  /** Job ids, up to 10,000. */
  ids?: string[] | null | undefined;
  /**
   * The action: `requeue` and `discard` for dead letters; `cancel`, `retry`, `edit_policy`,
   * `run_now` and `erase` for any job. `rotate_encryption` has no jobs and no other fields: it
   * encrypts everything in the store with the newest key.
   */
  kind: string;
  /**
   * `all` (the default), or `canary`: three jobs first, then 5 %, 25 % and the rest, stopping if
   * too many fail again.
   */
  mode?: string | null | undefined;
  /** Maximum jobs per second; the setting `bulkRate` by default. */
  pace?: number | null | undefined;
  /**
   * Changes to the retry policy of each job, only for `edit_policy`: omitted fields stay as they
   * are, a preset replaces the whole policy.
   */
  retry?: RetryPolicyInput | null | undefined;
  /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
  tenant?: Name | null | undefined;
}

/** The body of `POST /jobs`: one job, or many jobs. */
export type CreateRequest = CreateJobRequest | CreateJobsRequest;

/** The response of `POST /jobs`. */
export type CreateResult = Job | Schedule | JobList;

/**
 * A request to create a schedule, or to update the existing one with this name: a rule (`schedule`
 * or `every`), and the job that each tick creates.
 */
export interface CreateScheduleRequest {
  /** No ticks at this time or later. */
  endAt?: string | null | undefined;
  /** Interval, instead of `schedule`. */
  every?: Duration | null | undefined;
  /** The job that each tick creates. */
  job: CreateJobRequest;
  /** Maximum total number of runs. */
  maxRuns?: number | null | undefined;
  /**
   * What to do with ticks missed by more than 10 s because no node was running. `runAll`
   * requires `overlap` `allow`.
   */
  missed?: MissedTickPolicy | null | undefined;
  /** Unique within the tenant. */
  name: Name;
  /** What to do at a tick while the previous run is unfinished. */
  overlap?: OverlapPolicy | null | undefined;
  /** Cron rule with 5 or 6 fields (seconds first), or a shorthand such as `@hourly`. */
  schedule?: string | null | undefined;
  /** No ticks before this time. */
  startAt?: string | null | undefined;
  /** Tenant of the schedule and its jobs; the same as `tenant` of the job. */
  tenant?: string | null | undefined;
  /** An IANA time zone for `schedule`; UTC by default. */
  timezone?: string | null | undefined;
}

/** Selects dead letters by `ids`, or by the other fields as a filter. */
export interface DeadLettersRequest {
  /** Must be true to select every dead letter. */
  all?: boolean | undefined;
  /** Jobs of this batch. */
  batch?: string | null | undefined;
  /** Jobs created before this time. */
  before?: string | null | undefined;
  /** Jobs whose last failure has this class. */
  class?: string | null | undefined;
  /** Jobs for this destination, such as `https://api.example.com`. */
  destination?: string | null | undefined;
  /** Only count the matching jobs. */
  dryRun?: boolean | undefined;
  /** Jobs that failed permanently before this time. */
  failedBefore?: string | null | undefined;
  /** Jobs that failed permanently at this time or later. */
  failedFrom?: string | null | undefined;
  /** Jobs whose last failure has this fingerprint. */
  fingerprint?: Fingerprint | null | undefined;
  /** Jobs created at this time or later. */
  from?: string | null | undefined;
  /** Job ids of dead letters, up to 1,000. */
  ids?: string[] | null | undefined;
  /** Jobs of this kind. */
  kind?: Kind | null | undefined;
  /** New payload for each of them; only with `ids`. */
  payload?: unknown;
  /** Jobs in this queue. */
  queue?: Name | null | undefined;
  /** Dead letters with this reason. */
  reason?: EndReason | null | undefined;
  /** Runs of this schedule. */
  schedule?: string | null | undefined;
  /** Jobs with all of these tags, such as `order:4711`. */
  tags?: string[] | undefined;
  /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
  tenant?: Name | null | undefined;
  /** Jobs whose last failure message contains this text, ignoring case. */
  text?: string | null | undefined;
}

export type DecidedBy = "policy" | "rule" | "at_most_once" | "cancelled" | "non_retryable" | "exhausted" | "expired" | "outcome_unknown" | "snoozed" | "released" | "question";

/** The retry decision in numbers. */
export interface Decision {
  /** The backoff that produced the delay; null if a rule did. */
  backoff?: Backoff | null | undefined;
  /** Maximum delay of the policy. */
  capMs?: number | null | undefined;
  /** Delay after backoff and cap, before jitter. */
  delayMs?: number | null | undefined;
  /** Source of the delay: the backoff of the policy, the matching rule, or Retry-After. */
  delaySource?: DelaySource | null | undefined;
  /** Jitter of the policy. */
  jitter?: Jitter | null | undefined;
  /** Highest delay that jitter could choose. */
  jitterHighMs?: number | null | undefined;
  /** Lowest delay that jitter could choose. */
  jitterLowMs?: number | null | undefined;
  /** Random sample between them, from 0 to 1. */
  jitterSample?: number | null | undefined;
  /** The chosen delay. */
  jitteredMs?: number | null | undefined;
  /** Index of the matching rule of the policy, from 0. */
  matchedRule?: number | null | undefined;
  /** `maxElapsed` of the policy at that time; null if unlimited. */
  maxElapsedMs?: number | null | undefined;
  /** `maxRetries` of the policy at that time. */
  maxRetries?: number | null | undefined;
  /** Retries before this attempt in its budget, under the policy at that time. */
  retriesUsed?: number | null | undefined;
  /** The header that requested it: `Retry-After`, or another one. */
  retryAfterHeader?: string | null | undefined;
  /** Delay that the target requested. */
  retryAfterMs?: number | null | undefined;
  /** The rule that decided; `policy` for a normal retry. */
  rule: DecidedBy;
}

/** Minimum, typical and maximum delay with jitter. */
export interface DelayRange {
  /** Maximum. */
  maxMs: number;
  /** Minimum. */
  minMs: number;
  /** Typical value. */
  typicalMs: number;
}

/** The source of a delay. */
export type DelaySource = "policy" | "rule" | "retry_after";

/** A system that jobs call. */
export interface Destination {
  /**
   * Attempts that ended in about the last minute. Successes are only counted while attempts fail,
   * and the count begins anew when the status changes.
   */
  attempts: number;
  /** Origin, such as `https://api.example.com`. */
  destination: string;
  /** Attempts that failed because of the destination. */
  failed: number;
  /** Whether the maximum hold time was reached, so that jobs follow their policies again. */
  givenUp: boolean;
  /** Thresholds for an unhealthy destination. */
  health: HealthRules;
  /** The manual hold, if any. */
  heldByHand?: HandHold | null | undefined;
  /** What to do when the destination is unhealthy. */
  hold: HoldMode;
  /**
   * Whether jobs wait or start more slowly because of its health. With `hold` `watch`, jobs
   * follow their policies regardless of the status, unless a person holds the destination.
   */
  holdsJobs?: boolean | undefined;
  /** The current incident. */
  incident?: Incident | null | undefined;
  /** What was learned: for all tenants, or for single tenants. Empty before the first calls. */
  learned?: LearnedPace[] | undefined;
  /**
   * Outcomes per minute for recent minutes with failures, oldest first, up to an hour. Not in
   * lists.
   */
  minutes?: DestinationMinute[] | undefined;
  /** Earliest start of the next probe, if one is pending. */
  nextProbeAt?: string | null | undefined;
  /** Whether the number of calls at once is learned. */
  pace: PaceMode;
  /** Past incidents, newest first. */
  pastIncidents: Incident[];
  /**
   * What the destination says remains of its own limits, if at most half of it does; starts are
   * spread over the time until the reset.
   */
  quota?: TargetQuota | null | undefined;
  /** The active `Retry-After`, if any. */
  retryAfter?: SharedRetryAfter | null | undefined;
  /** The jobs that a `Retry-After` or a quota applies to. */
  retryAfterScope: RetryAfterScope;
  /** Health status. */
  status: HealthStatus;
  /** The tenant that this health applies to; null if it applies to all tenants. */
  tenant?: string | null | undefined;
}

/** Forecast for a destination. */
export type DestinationForecast = ForecastSeries & {
  /** Whether the counts are lower bounds. */
  atLeast: boolean;
  /** The destination, such as `https://api.example.com`. */
  destination: string;
};

/** Destinations that failed recently, are held, or whose pace is learned. */
export interface DestinationList {
  /** By name. Other destinations are not listed. */
  destinations: Destination[];
  /** Cursor for the next page, sent as `after`; null at the end of the list. */
  nextCursor?: string | null | undefined;
}

/** Outcomes of calls to a destination within one minute. */
export interface DestinationMinute {
  /** Start of the minute. */
  at: string;
  /** Attempts that ended. */
  attempts: number;
  /** Attempts that failed because of the destination. */
  failed: number;
}

/** How a change of clocks (daylight saving time) affects a tick. */
export type Dst = "gap" | "fold";

/** Text such as 30s, 5m or 1h30m, or a number of milliseconds */
export type Duration = string | number;

/** Changes to an endpoint; omitted fields stay unchanged. */
export interface EditEndpointRequest {
  /** Description of the endpoint. */
  description?: string | null | undefined;
  /** Events to send. */
  events?: EventType[] | null | undefined;
  /** `standard`, `cloudevents` or `slack`; applies to future deliveries. */
  format?: BodyFormat | null | undefined;
  /**
   * Headers of its deliveries, in place of all those it has: a text, which is never shown, or a
   * named secret.
   */
  headers?: Record<string, HeaderSource> | null | undefined;
  /** Retry policy of future deliveries; omitted fields come from the preset `webhook`. */
  retry?: RetryPolicyInput | null | undefined;
  /** URL that receives deliveries, including waiting ones. */
  url?: string | null | undefined;
}

/** Changes to a waiting job; omitted fields stay unchanged. `null` does not mean omitted. */
export interface EditJobRequest {
  /** New payload; `null` is a valid payload. */
  payload?: unknown;
  /** Priority from 0 to 9, higher first. */
  priority?: number | null | undefined;
  /** Changes to the current retry policy of the job. */
  retry?: RetryPolicyInput | null | undefined;
  /** Earliest start time. */
  runAt?: string | null | undefined;
}

/** Changes to a schedule; omitted fields stay unchanged, and `null` clears a limit. */
export interface EditScheduleRequest {
  /** No ticks at this time or later; `null` for no limit. */
  endAt?: string | null | undefined;
  /** Interval, instead of `schedule`. */
  every?: Duration | null | undefined;
  /** The job that future ticks create. */
  job?: CreateJobRequest | null | undefined;
  /** Maximum total number of runs; `null` for no limit. */
  maxRuns?: number | null | undefined;
  /**
   * What to do with ticks missed by more than 10 s because no node was running. `runAll`
   * requires `overlap` `allow`.
   */
  missed?: MissedTickPolicy | null | undefined;
  /** What to do at a tick while the previous run is unfinished. */
  overlap?: OverlapPolicy | null | undefined;
  /** Cron rule with 5 or 6 fields (seconds first), or a shorthand such as `@hourly`. */
  schedule?: string | null | undefined;
  /** No ticks before this time; `null` for no limit. */
  startAt?: string | null | undefined;
  /** An IANA time zone for `schedule`. */
  timezone?: string | null | undefined;
}

export type EndReason = "at_most_once" | "cancelled" | "rule" | "non_retryable" | "exhausted" | "expired" | "expired_unstarted" | "prerequisite_failed" | "outcome_unknown";

/** An endpoint, without its secrets. */
export interface Endpoint {
  /** When it was created. */
  createdAt: string;
  /** Description of the endpoint. */
  description: string;
  /** Whether the endpoint is disabled; its deliveries wait until it is enabled. */
  disabled: boolean;
  /** When it was disabled. */
  disabledAt?: string | null | undefined;
  /** Why the endpoint was disabled automatically: its target returned 410 Gone. */
  disabledReason?: string | null | undefined;
  /** Events to send. */
  events: EventType[];
  /** Format of deliveries. */
  format: BodyFormat;
  /** Headers of its deliveries, without their values. */
  headers?: EndpointHeader[] | undefined;
  /** `end_…` */
  id: string;
  /** Number of active signing secrets. */
  liveSecrets: number;
  /** The tenant. */
  tenant: string;
  /** URL that receives deliveries. */
  url: string;
}

/** A header of an endpoint, without its value. */
export interface EndpointHeader {
  /** Name of the header. */
  name: string;
  /** The secret that is its value; null if the value is a text. */
  secret?: string | null | undefined;
}

/** All endpoints. */
export interface EndpointList {
  /** Oldest first. */
  endpoints: Endpoint[];
  /** Cursor for the next page, sent as `after`; null at the end of the list. */
  nextCursor?: string | null | undefined;
}

/** An endpoint with its signing secret, which is only in this response. */
export type EndpointWithSecret = Endpoint & {
  /** `whsec_…`: the secret to verify deliveries with. */
  secret: string;
};

export type EventType = "job.succeeded" | "job.failed" | "job.retrying" | "job.cancelled" | "alert.fired" | "alert.renotified" | "alert.resolved" | "endpoint.disabled" | "endpoint.test";

export type ExpiryAction = "fail" | "cancel";

/** A report that an attempt failed. */
export interface FailRequest {
  /** The failure. */
  failure?: FailureRequest | null | undefined;
  /** The fence of the claim. */
  fence: number;
  /** New lines of the attempt's log. */
  log?: LogLines | null | undefined;
}

/** The failure */
export interface Failure {
  class: string;
  fingerprint?: Fingerprint | undefined;
  httpStatus?: number | undefined;
  message: string;
  /** Whether the worker marked the failure as permanent, regardless of its class */
  permanent?: boolean | undefined;
  /** While it is open whether the attempt took effect: how often that was asked */
  questions?: number | undefined;
  retryAfter?: string | undefined;
  /** The header that requested the wait, if it was not `Retry-After` */
  retryAfterHeader?: string | undefined;
  /** The stack trace; only in the attempts of a job */
  trace?: string | undefined;
  /** Whether it is certain that nothing was sent */
  unsent?: boolean | undefined;
}

/** One failure of a group. */
export interface FailureExample {
  /** End time. */
  at: string;
  /** Number of the attempt. */
  attempt: number;
  /** The failure. */
  failure: Failure;
  /** The job of the attempt. */
  jobId: string;
}

/** Failures of one tenant with the same cause. */
export interface FailureGroup {
  /** The class of the failures. */
  class?: string | null | undefined;
  /** Number of failed attempts. */
  count: number;
  /** Number of these jobs that are currently dead letters. */
  deadLetters: number;
  /** Destinations of the jobs; only some if there are many. */
  destinations: string[];
  /** The most recent failure. */
  example?: FailureExample | null | undefined;
  /**
   * The fingerprint. `0000000000000000` collects all failures beyond the limit of groups per
   * tenant.
   */
  fingerprint: Fingerprint;
  /** Time of the first failure. */
  firstSeen: string;
  /** Failures per hour over the last week, the current hour last. */
  hours: number[];
  /** HTTP status of the failures, if any. */
  httpStatus?: number | null | undefined;
  /** Number of affected jobs. A job that failed differently in between counts again. */
  jobs: number;
  /** Kinds of the jobs; only some if there are many. */
  kinds: string[];
  /** Time of the last failure. */
  lastSeen: string;
  /** Name of the key that last set the state. */
  markedBy?: string | null | undefined;
  /** The message without its variable parts. */
  pattern: string;
  /** Queues of the jobs; only some if there are many. */
  queues: string[];
  /** State of the group. */
  state: FailureState;
  /** When the state was set. */
  stateSince: string;
  /** Tenant of the jobs. */
  tenant: Name;
  /** Known versions of the workers that ran them. */
  workerVersions: string[];
}

/** A page of failure groups. */
export interface FailureList {
  /** The groups, most frequent first. */
  failures: FailureGroup[];
  /** Cursor for the next page, sent as `after`; null at the end of the list. */
  nextCursor?: string | null | undefined;
}

export type FailureMark = "new" | "known" | "fixed";

/** The failure as reported by the worker. */
export interface FailureRequest {
  /**
   * `error` by default. `validation`, `not_found`, `unauthorized`, `forbidden` and `syntax` are
   * not retried; any custom class is retried, unless `permanent` is true.
   */
  class?: string | null | undefined;
  /** HTTP status of the failed response. */
  httpStatus?: number | null | undefined;
  /** Human-readable message. */
  message?: string | null | undefined;
  /**
   * Whether the failure is permanent, regardless of its class: the job becomes a dead letter,
   * unless a rule of its policy retries the class.
   */
  permanent?: boolean | undefined;
  /** Minimum delay before the next attempt. */
  retryAfter?: Duration | null | undefined;
  /** Stack trace, kept with the attempt. The middle of a trace over 64 KiB is omitted. */
  trace?: string | null | undefined;
}

export type FailureState = "new" | "known" | "fixed" | "regressed";

export type Fault = "refuses" | "hangs" | "overload";

/** What follows from a fault. */
export interface FaultResult {
  /** Attempts started since it began. */
  attempts: number;
  /** Jobs given up since it began. */
  deadLetters: number;
  /** The fault. */
  fault: Fault;
  /** Time from its end to recovery; null if the system does not recover. */
  recoversAfterMs?: number | null | undefined;
  /** Peak number of due jobs that waited for their start. */
  waitingMax: number;
}

/** Fingerprint shared by failures with the same cause */
export type Fingerprint = string;

/** Forecast by queue and by destination. */
export interface Forecast {
  /** Up to 20 destinations with recent failures and upcoming jobs. */
  destinations: DestinationForecast[];
  /** Start of the first minute. */
  from: string;
  /** Whether the forecast is incomplete because there are too many jobs. */
  isCut: boolean;
  /** Up to 50 queues with upcoming jobs, the largest first. */
  queues: QueueForecast[];
}

/** One number per minute. */
export interface ForecastSeries {
  /** Backlog: due jobs that have not started by the end of the minute. */
  backlog: number[];
  /** Jobs that become due; already due jobs count in the first minute. */
  due: number[];
  /** Longest expected wait of a due job. */
  longestWaitMs?: number | null | undefined;
  /** Attempts that can start. */
  starts: number[];
  /** The forecast as a sentence. */
  summary: string;
  /** Highest recent number of successes per minute with few failures; null if unknown. */
  sustainedPerMinute?: number | null | undefined;
}

/** A gate with its current use, if known. */
export type Gate = GateSettings & {
  /** When the next attempt may start; only if the rate limit is reached. */
  nextStart?: string | null | undefined;
  /** Number of running attempts; only if the gate limits it. */
  running?: number | null | undefined;
  /** Number of waiting jobs; only if the gate limits it. */
  waiting?: number | null | undefined;
};

/** A running job that counts at a gate. */
export interface GateHolder {
  /** The running job. */
  job: string;
  /** Start time. */
  since: string;
  /** Tenant of the job. */
  tenant: string;
  /** The worker or node that runs it. */
  worker?: string | null | undefined;
}

/** The gate. */
export interface GateId {
  /** The queue, kind, tenant, destination or concurrency key. */
  key: string;
  /** Scope of the gate. */
  scope: GateScope;
  /** Tenant of the jobs; absent if the gate is for all tenants. */
  tenant?: string | null | undefined;
}

/** All gates. */
export interface GateList {
  /** By scope, key and tenant. */
  gates: Gate[];
  /** Cursor for the next page, sent as `after`; null at the end of the list. */
  nextCursor?: string | null | undefined;
}

export type GateScope = "queue" | "kind" | "tenant" | "destination" | "key";

/** The scope, key and limits of a gate. */
export interface GateSettings {
  /** Thresholds for an unhealthy destination. */
  health?: HealthRules | null | undefined;
  /** What to do when the destination is unhealthy. */
  hold?: HoldMode | null | undefined;
  /** The queue, kind, tenant, destination or concurrency key. */
  key: string;
  /** Maximum number of concurrent attempts. */
  maxRunning?: number | null | undefined;
  /** Maximum number of waiting jobs of the queue or tenant. */
  maxWaiting?: number | null | undefined;
  /** Whether jobs run one at a time in creation order; absent means false. */
  ordered?: boolean | null | undefined;
  /** Whether the number of calls at once to the destination is learned. */
  pace?: PaceMode | null | undefined;
  /** The pause, if any. */
  paused?: Pause | null | undefined;
  /** Rate limit for starts. */
  rate?: Rate | null | undefined;
  /** Maximum fraction of starts per minute that may be retries. */
  retryShare?: number | null | undefined;
  /** Scope of the gate. */
  scope: GateScope;
  /** Whether a `Retry-After` applies to all tenants, or only to the job that received it. */
  shareRetryAfter?: boolean | null | undefined;
  /** Tenant of the jobs; absent if the gate is for all tenants, and for scope `tenant`. */
  tenant?: Name | null | undefined;
  /** Fair-share weight of the tenant. */
  weight?: number | null | undefined;
}

export type Guarantee = "AT_LEAST_ONCE" | "AT_MOST_ONCE";

/** A manual hold of a destination. */
export interface HandHold {
  /** Name of the key that was used. */
  by?: string | null | undefined;
  /** Reason, shown to other people. */
  reason?: string | null | undefined;
  /** Start time. */
  since: string;
  /** When the hold expires; null if it must be released manually. */
  until?: string | null | undefined;
}

/** The value of a header: a text, or a named secret. */
export type HeaderSource = string | SecretReference;

/** Thresholds for an unhealthy destination. */
export interface HealthRules {
  /** Minimum fraction of these attempts that failed because of the destination; 0.8 by default. */
  failedShare?: number | null | undefined;
  /** Maximum hold time; `1h` by default. */
  maxHold?: Duration | null | undefined;
  /** Minimum number of ended attempts; 20 by default. */
  minAttempts?: number | null | undefined;
  /** Minimum number of different jobs; 5 by default. */
  minJobs?: number | null | undefined;
  /** Time window for these thresholds; `1m` by default. */
  window?: Duration | null | undefined;
}

export type HealthStatus = "healthy" | "held" | "probing" | "ramping";

/** A heartbeat for one of many attempts. */
export interface HeartbeatEntry {
  /** The fence of the claim. */
  fence: number;
  /** The job's id. */
  id: string;
  /** Lease duration from now; the job's own lease by default. */
  lease?: Duration | null | undefined;
  /** New lines of the attempt's log. */
  log?: LogLines | null | undefined;
  /** Progress note; the previous note stays by default. */
  note?: string | null | undefined;
  /** Progress in percent, a whole number; the previous value stays by default. */
  progress?: number | null | undefined;
}

/** One result per heartbeat. */
export interface HeartbeatList {
  /** In the order of the request. */
  claims: HeartbeatResult[];
}

/** A heartbeat of a running attempt. */
export interface HeartbeatRequest {
  /** The fence of the claim. */
  fence: number;
  /** Lease duration from now; the job's own lease by default. */
  lease?: Duration | null | undefined;
  /** New lines of the attempt's log. */
  log?: LogLines | null | undefined;
  /** Progress note; the previous note stays by default. */
  note?: string | null | undefined;
  /** Progress in percent, a whole number; the previous value stays by default. */
  progress?: number | null | undefined;
}

/** The result of one heartbeat. The lease fields are present if it is ok. */
export interface HeartbeatResult {
  /** Whether a cancel was requested: stop, and report `fail` or `succeed`. */
  cancelRequested?: boolean | null | undefined;
  /** `stale_fence` or `not_found` if the claim has expired; `invalid` if a field is invalid. */
  code?: string | null | undefined;
  /** When the job's timeout ends the attempt. No lease lasts longer. */
  deadline?: string | null | undefined;
  /** Human-readable message, if it is not ok. */
  detail?: string | null | undefined;
  /** The job's id from the request. */
  id: string;
  /** New expiry of the claim. */
  leaseUntil?: string | null | undefined;
  /** Whether the claim is still valid. */
  ok: boolean;
  /** Whether the deadline has passed: stop. The attempt fails with class `timeout`. */
  timedOut?: boolean | null | undefined;
}

/** Heartbeats for many attempts in one request. */
export interface HeartbeatsRequest {
  /** One per attempt, up to 1,000. */
  claims: HeartbeatEntry[];
  /** The worker's name, as in its claims; updates when the worker was last seen. */
  worker: Name;
}

/** Reason and end of a hold. */
export interface HoldDestinationRequest {
  /** Reason, shown to other people. */
  reason?: string | null | undefined;
  /** When the hold expires. */
  until?: string | null | undefined;
}

export type HoldMode = "watch" | "auto" | "off";

/** Target of an HTTP job. Headers and body are omitted because they may contain secrets. */
export interface HttpTarget {
  /** HTTP method. */
  method: string;
  /** URL. */
  url: string;
}

/** The request that an HTTP job sends. */
export interface HttpTargetRequest {
  /** Any JSON; a string is sent as plain text if the `content-type` is not JSON. */
  body?: unknown;
  /** Headers by name: a text, which is stored and never shown, or a named secret. */
  headers?: Record<string, HeaderSource> | undefined;
  /** `POST` by default. */
  method?: string | null | undefined;
  /** URL of the request. */
  url: string;
}

/** Work that remains at the current time. */
export interface Idle {
  /** Due jobs and schedules. */
  due: number;
  /** The current time of the store. */
  now: string;
  /** Running jobs. */
  running: number;
}

/** A period in which a destination was unhealthy or held by a person. */
export interface Incident {
  /** Lower bound of attempts avoided by holding. */
  attemptsSaved: number;
  /** Attempts that holding would have avoided, if the destination was not held. */
  avoidableAttempts: number;
  /** Start of the incident. */
  beganAt: string;
  /** Milliseconds from `recoveredAt` until no due job waited; null if it ended otherwise. */
  caughtUpMs?: number | null | undefined;
  /** Cause as a sentence. */
  cause: string;
  /**
   * Jobs that became dead letters because of the destination during the incident; null for
   * incidents of an earlier version.
   */
  deadLetters?: number | null | undefined;
  /** End of the incident; null while it lasts. */
  endedAt?: string | null | undefined;
  /** Attempts that failed because of the destination during the incident. */
  failedAttempts: number;
  /** Probes that failed, or would have failed if the destination was not held. */
  failedProbes: number;
  /** When the maximum hold time was reached and jobs followed their policies again. */
  givenUpAt?: string | null | undefined;
  /** Peak number of due jobs waiting for its end. */
  jobsDelayed: number;
  /**
   * When the destination responded again and jobs began to start; null if that has not happened,
   * or the destination failed again.
   */
  recoveredAt?: string | null | undefined;
  /** Who released it manually, if anyone. */
  releasedBy?: string | null | undefined;
  /** Tenant whose attempts failed; only for keys for all tenants. */
  tenants: string[];
}

/** How a delay is spread, so that jobs that failed together do not come back together. */
export type Jitter = "none" | "proportional" | "full" | "equal" | "decorrelated";

/** A job with all its details. */
export interface Job {
  /** The prerequisites of the job. Only when a single job is read. */
  after?: Prerequisite[] | null | undefined;
  /** Attempts so far, including those before a manual retry. */
  attempt: number;
  /** Attempts of earlier retry budgets, before the last manual retry. */
  attemptsBefore: number;
  /** The batch of the job: `bat_…` */
  batch?: string | null | undefined;
  /** Whether a cancel was requested and waits for the running attempt to end. */
  cancelRequested: boolean;
  /** Concurrency key within the tenant. */
  concurrencyKey?: string | null | undefined;
  /** How it asks whether an attempt took effect, without headers. */
  confirm?: Confirm | null | undefined;
  /** When it was created. */
  createdAt: string;
  /**
   * Number of dependent jobs, counted up to 10,000. Only when a single job is read and has
   * dependants.
   */
  dependants?: number | null | undefined;
  /** The origin of the system that the job calls. */
  destination?: string | null | undefined;
  /** The end reason as text. */
  explanation?: string | null | undefined;
  /** The last failure. */
  failure?: Failure | null | undefined;
  /** End time. */
  finishedAt?: string | null | undefined;
  /** Target of an HTTP job. */
  http?: HttpTarget | null | undefined;
  /** `job_…` */
  id: string;
  /** The idempotency key. */
  idempotencyKey?: string | null | undefined;
  /** Kind of the job; the node itself runs `http` and `webhook`. */
  kind: string;
  /** Label of the job. */
  label: JobLabel;
  /** Lease duration: how long a claim is valid without renewal. */
  leaseMs: number;
  /** Expiry of the lease of the running attempt. */
  leaseUntil?: string | null | undefined;
  /** Maximum retries per budget. */
  maxRetries: number;
  /** The last progress note of the handler or worker. */
  note?: string | null | undefined;
  /** What to do when the start deadline passes. */
  onExpiry?: ExpiryAction | null | undefined;
  /** What to do when one of those jobs ends without success. */
  onFailure?: OnFailure | null | undefined;
  /** The input. Null for HTTP jobs, whose headers may contain secrets, and in lists and webhooks. */
  payload?: unknown;
  /** Priority from 0 to 9, higher first. */
  priority: number;
  /** The last progress in percent. */
  progress?: number | null | undefined;
  /**
   * While it is open whether the last attempt took effect: how often that was asked. The next
   * step is a question, not an attempt.
   */
  questions?: number | null | undefined;
  /** Queue of the job. */
  queue: string;
  /** End reason, unless the job succeeded. */
  reason?: EndReason | null | undefined;
  /** When the dead letter was discarded. */
  resolvedAt?: string | null | undefined;
  /** Result of the handler or worker, if the job has succeeded. Only when a single job is read. */
  result?: unknown;
  /** The effective retry policy. */
  retry: RetryPolicy;
  /** Retries used in the current budget, out of `maxRetries`. */
  retryCount: number;
  /** Due time of the next attempt, or of the last one. */
  runAt: string;
  /** The schedule that created the job. */
  scheduleId?: string | null | undefined;
  /** The tick that created the job. */
  scheduledFor?: string | null | undefined;
  /** Start deadline of the first attempt. */
  startBefore?: string | null | undefined;
  /** Start time of the last attempt. */
  startedAt?: string | null | undefined;
  /** Tags: names and values to search by. */
  tags: Record<string, string>;
  /** The tenant. */
  tenant: string;
  /** Timeout of one attempt. */
  timeoutMs?: number | null | undefined;
  /** W3C Trace Context of the job. */
  traceparent?: string | null | undefined;
  /** Guarantee: `AT_LEAST_ONCE` or `AT_MOST_ONCE`. */
  type: Guarantee;
  /** Uniqueness settings. */
  unique?: Unique | null | undefined;
  /** In the response to a create: what happened to the existing job with this unique key. */
  uniqueResult?: UniqueResult | null | undefined;
  /**
   * The prerequisites and gates that a due job waits for. In lists, only pauses, holds and
   * `Retry-After`.
   */
  waitingFor?: Blocker[] | undefined;
  /** Webhook of the job; for a delivery, its target. */
  webhook?: Webhook | null | undefined;
  /** The current or last worker or node. */
  worker?: string | null | undefined;
}

export type JobLabel = "scheduled" | "ready" | "running" | "retrying" | "succeeded" | "failed" | "cancelled";

/** A page of jobs. */
export interface JobList {
  /** The jobs, newest first, without their payloads. */
  jobs: Job[];
  /**
   * Cursor for the next page, sent as `after`; null at the end of the list. A page may contain
   * fewer jobs than `limit`, even none, and still have a next page.
   */
  nextCursor?: string | null | undefined;
}

/** A certificate that a node computes again every hour. */
export interface KeptCertificate {
  /** The latest certificate. */
  certificate: PolicyCertificate;
  /** When a node last began to compute it. */
  checkedAt: string;
  /** When that was computed. */
  computedAt: string;
  /** When it was first kept. */
  createdAt: string;
  /** Its name, unique within the tenant. */
  name: Name;
  /** Why it could not be computed then; null if it could. */
  problem?: string | null | undefined;
  /** The settings that it is computed for. */
  settings: CertifyPolicyRequest;
  /** Tenant whose jobs are measured. */
  tenant: Name;
}

/** Kept certificates, by tenant and name. */
export interface KeptCertificateList {
  /** The certificates. */
  certificates: KeptCertificate[];
  /** Pass as `after` to get the next page; null on the last page. */
  nextCursor?: string | null | undefined;
}

/** A key, without its token. */
export interface Key {
  /** When it was created. */
  createdAt: string;
  /**
   * The key that created this key (`key_…`), or the name of the person; null for neither. If it
   * is a key with scope `tenant`, this key is revoked with it.
   */
  createdBy?: string | null | undefined;
  /** Expiry time; null if the key does not expire. */
  expiresAt?: string | null | undefined;
  /** `key_…` */
  id: string;
  /** When the key was last used, to within a minute; null if never. */
  lastUsedAt?: string | null | undefined;
  /** Name of the key. */
  name: string;
  /** Scope of the key. */
  scope: Scope;
  /** The tenant of the key; null for all tenants. */
  tenant?: string | null | undefined;
}

/** All keys visible to the caller. */
export interface KeyList {
  /** Oldest first. */
  keys: Key[];
  /** Cursor for the next page, sent as `after`; null at the end of the list. */
  nextCursor?: string | null | undefined;
}

/** Another encryption key. */
export interface KeyRotation {
  /** Id of the key that everything is encrypted with. */
  key: string;
  /** Older keys that values need which cannot be read. */
  neededKeys: string[];
  /** Values that cannot be read, so they stay as they are. */
  unreadable: number;
  /** Older keys that no value needs; empty before the end. */
  unusedKeys: string[];
}

/** A key with its token, which is only in this response. */
export type KeyWithToken = Key & {
  /** The token; send it as `Authorization: Bearer …`. */
  token: string;
};

export type Kind = string;

/** Counts of one tenant, queue and kind. */
export type LaneStats = Counts & {
  /** The kind. */
  kind: string;
  /** The queue. */
  queue: string;
  /** The tenant. */
  tenant: string;
};

/** The learned number of calls at once to a destination. */
export interface LearnedPace {
  /** Number of calls that may run at once now. */
  callsAtOnce: number;
  /**
   * Whether this is what the destination takes, because more calls at once were refused or slower.
   * If false, more are still tried.
   */
  found: boolean;
  /** The last change, if there was one. */
  lastChange?: PaceChange | null | undefined;
  /** The last minutes in which calls ended, oldest first, up to an hour. Not in lists. */
  minutes?: PaceMinute[] | undefined;
  /** The same as a sentence, with the last change. */
  sentence: string;
  /** The tenant whose calls it was learned from and limits; null if it is for all tenants. */
  tenant?: string | null | undefined;
}

/** A lease that was renewed. */
export interface Lease {
  /** Whether a cancel was requested: stop, and report `fail` or `succeed`. */
  cancelRequested: boolean;
  /** When the job's timeout ends the attempt. No lease lasts longer. */
  deadline?: string | null | undefined;
  /** New expiry of the claim. */
  leaseUntil: string;
  /** Whether the deadline has passed: stop. The attempt fails with class `timeout`. */
  timedOut?: boolean | undefined;
}

export type LogLevel = "debug" | "info" | "warn" | "error";

/** One line of a log. */
export interface LogLine {
  /** When it was written, by the clock of the writer. */
  at: string;
  /** The level. */
  level: LogLevel;
  /** The text; longer than 8 KiB it is cut. */
  text: string;
}

/** Consecutive lines of a log. */
export interface LogLines {
  /** The number of the first line; the attempt's first line has 0. */
  from?: number | undefined;
  /** The lines, oldest first. */
  lines?: LogLine[] | undefined;
}

/** A new state for a failure group. */
export interface MarkFailureRequest {
  /**
   * `known`: a person has reviewed it. `fixed`: the cause is fixed, and an alert fires if it
   * occurs again.
   */
  state: FailureMark;
}

/** Attempts per minute. */
export interface MinuteList {
  /** Oldest first; minutes without attempts are omitted. */
  minutes: MinuteStats[];
}

/** Attempts that ended within one minute. */
export type MinuteStats = Tally & {
  /** Start of the minute. */
  at: string;
};

/** What happens to ticks that were missed */
export type MissedTickPolicy = "skip" | "runOnce" | "runAll";

export type Name = string;

/** A node: one process that serves the store. */
export interface Node {
  /** Whether the node is alive. */
  alive: boolean;
  /** Maximum number of concurrent jobs. */
  concurrency: number;
  /** Number of running jobs. */
  inFlight: number;
  /** Time of the last heartbeat. */
  lastSeen: string;
  /** Its name. */
  name: string;
  /** What is wrong with it: a slow store, or a TLS certificate that it cannot use. */
  problems?: string[] | undefined;
  /** Queues that it serves; empty means all. */
  queues: string[];
  /** Start time. */
  startedAt: string;
  /** Steadfast version of the node. */
  version: string;
}

/** All nodes. */
export interface NodeList {
  /** Cursor for the next page, sent as `after`; null at the end of the list. */
  nextCursor?: string | null | undefined;
  /** By name. */
  nodes: Node[];
}

/** A line of a log. */
export interface NumberedLogLine {
  /** When it was written, by the clock of the worker. */
  at: string;
  /** The level. */
  level: LogLevel;
  /** The number of the line; the first one of an attempt has 0. */
  number: number;
  /** The text. */
  text: string;
}

export type OnFailure = "wait" | "fail" | "run";

/** A bulk operation and its progress. */
export interface Operation {
  /** Whether `total` is a lower bound because counting stopped early. */
  atLeast: boolean;
  /** Who created it. */
  by: Actor;
  /** Jobs that were changed; the other processed jobs could not be. */
  changed: number;
  /** When it was created. */
  createdAt: string;
  /** The keys of `rotate_encryption`, which counts values in place of jobs. */
  encryption?: KeyRotation | null | undefined;
  /** The selected jobs as text. */
  filter: string;
  /** End time. */
  finishedAt?: string | null | undefined;
  /** `opr_…` */
  id: string;
  /** Whether the jobs were selected by id. */
  isNamed: boolean;
  /** The action. */
  kind: string;
  /** `all` or `canary`. */
  mode: string;
  /**
   * Outcomes of the next attempts of requeued and retried jobs: of all jobs of a canary, otherwise
   * of the newest 1,000. Lists give those of canaries only.
   */
  outcomes: OperationOutcomes;
  /** Maximum jobs per second. */
  pace?: number | null | undefined;
  /** The report as a sentence. */
  report: string;
  /** The stage of a canary, from 0 to 3. */
  stage: number;
  /** `running`, `paused`, `done`, `cancelled`, or `stopped` if too many jobs failed again. */
  status: string;
  /** Why it stopped automatically. */
  stopReason?: string | null | undefined;
  /** Tenant of the jobs; null for all tenants. */
  tenant?: Name | null | undefined;
  /** Number of selected jobs. */
  total: number;
  /** Number of processed jobs. */
  worked: number;
}

/** The result of an operation for one job. */
export interface OperationJob {
  /** `job_…` */
  job: string;
  /** Outcome of the next attempt, for a canary. */
  outcome?: string | null | undefined;
  /** `changed`, or the reason why not; null if the job is pending. */
  result?: string | null | undefined;
}

/** A page of the jobs of an operation. */
export interface OperationJobList {
  /** Newest id first. */
  jobs: OperationJob[];
  /** Cursor for the next page, sent as `after`; null at the end of the list. */
  nextCursor?: string | null | undefined;
}

/** A page of operations. */
export interface OperationList {
  /** Cursor for the next page, sent as `after`; null at the end of the list. */
  nextCursor?: string | null | undefined;
  /** Newest first. */
  operations: Operation[];
}

/** Outcomes of the next attempts. */
export interface OperationOutcomes {
  /** Jobs that failed again for the same reason. */
  failedAgain: number;
  /** Jobs that failed for another reason. */
  failedOtherwise: number;
  /** Jobs that succeeded. */
  succeeded: number;
  /** Jobs whose outcome stays unknown. */
  unknown: number;
}

/** What happens to a tick while the last run is unfinished, its retries included. */
export type OverlapPolicy = "skip" | "allow" | "queueOne" | "replace";

/** A change of a learned pace. */
export interface PaceChange {
  /** When it changed. */
  at: string;
  /** Calls at once before. */
  from: number;
  /** Why it changed. */
  reason: PaceReason;
  /** Calls at once afterwards, within a second if it grows. */
  to: number;
}

/** A learned pace within one minute. */
export interface PaceMinute {
  /** Start of the minute. */
  at: string;
  /** Calls that ended. */
  calls: number;
  /** The fewest calls at once that were allowed. */
  least: number;
  /** The most calls at once that were allowed. */
  most: number;
  /** Why it changed, if it did; a reason that lowered it comes before others. */
  reason?: PaceReason | null | undefined;
  /** Calls that were refused with status 429 or 503. */
  refused: number;
}

export type PaceMode = "learn" | "off";

export type PaceReason = "grown" | "probe" | "found" | "refused" | "slower" | "timed_out";

/** A pause of a gate. */
export interface Pause {
  /** Name of the key that was used. */
  by?: string | null | undefined;
  /** Reason, shown to other people. */
  reason?: string | null | undefined;
  /** Start time. */
  since: string;
  /** When the pause ends. */
  until?: string | null | undefined;
}

/** Reason and end of a pause. */
export interface PauseDetails {
  /** Reason, shown to other people. */
  reason?: string | null | undefined;
  /** When the pause ends. */
  until?: string | null | undefined;
}

/** Reason and end of a pause. */
export interface PauseQueueRequest {
  /** Reason, shown to other people. */
  reason?: string | null | undefined;
  /** When the queue is resumed automatically. */
  until?: string | null | undefined;
}

/** true or an object to pause the gate, false to resume it */
export type PauseRequest = boolean | PauseDetails;

/** Whether a system recovers by itself after outages, computed with the given settings. */
export interface PolicyCertificate {
  /** The smallest helpful change that was found; null if none is needed or none was found. */
  change?: CertificateChange | null | undefined;
  /** Results by fault; empty if the system is overloaded without a fault. */
  faults: FaultResult[];
  /** Fraction of the capacity that the jobs need if each is called once. */
  load: number;
  /** Length of each fault. */
  outageMs: number;
  /** Load against time. */
  picture: CertificatePicture;
  /** Time from the end of the worst fault to recovery; null unless the system recovers. */
  recoversAfterMs?: number | null | undefined;
  /** Highest load that was found to recover; null if none was. */
  recoversUpTo?: number | null | undefined;
  /** Time that was simulated after the end of a fault. */
  simulatedMs: number;
  /** The result as a sentence. */
  summary: string;
  /** The target as it was simulated. */
  target: CertificateTarget;
  /** The verdict. */
  verdict: CertificateVerdict;
}

/** The timetable of a job whose every attempt fails immediately. */
export interface PolicyPreview {
  /** The attempts. */
  attempts: PolicyPreviewAttempt[];
  /** When the policy gives up, relative to the first attempt. */
  givesUp: DelayRange;
  /** The policy, complete. */
  retry: RetryPolicy;
}

/** One attempt of a preview. */
export interface PolicyPreviewAttempt {
  /** Start time relative to the first attempt. */
  at: DelayRange;
  /** Its number, from 1. */
  attempt: number;
  /** Delay before this attempt. */
  delay: DelayRange;
  /** Number of retries before this attempt. */
  retryCount: number;
}

/** A replayed policy compared with the recorded outcomes. */
export interface PolicyReplay {
  /** Whether older jobs were left out because there were too many attempts. */
  isCut: boolean;
  /** Results of the replayed policy; null if there were too few observations. */
  new?: ReplayFigures | null | undefined;
  /**
   * Fraction of simulated retries backed by observed attempts, from 0 to 1. Below 0.8, `new` is
   * null.
   */
  observedShare: number;
  /**
   * A replay of the original policies. Its difference from `recorded` shows how far `new` may be
   * off.
   */
  old?: ReplayFigures | null | undefined;
  /** The recorded outcomes. */
  recorded: ReplayFigures;
  /** Jobs created at this time or later. */
  since: string;
  /** The result as a sentence; says so if there were too few observations. */
  summary: string;
}

/** A prerequisite of a job. */
export interface Prerequisite {
  /** Its id. */
  id: string;
  /** Label of the job; `given_up` if it was discarded or deleted without success. */
  state: PrerequisiteState;
}

/** A page of the jobs that a claimed job has waited for. */
export interface PrerequisiteList {
  /** The cursor of the next page; null on the last page. */
  nextCursor?: string | null | undefined;
  /** The jobs of its `after`, in the order of their ids. */
  prerequisites: PrerequisiteResult[];
}

/** A job that a claimed job has waited for. */
export interface PrerequisiteResult {
  /** The job's id. */
  id: string;
  /** Kind of the job; null if it was deleted. */
  kind?: Kind | null | undefined;
  /** Result of its last attempt, if it succeeded. */
  result?: unknown;
  /** State of the job; `given_up` if it was discarded or deleted without success. */
  state: PrerequisiteState;
}

export type PrerequisiteState = "unfinished" | "succeeded" | "failed" | "given_up";

export type Preset = "http" | "queue" | "patient" | "webhook" | "conservative" | "aggressive" | "once";

/** A policy to preview. */
export interface PreviewPolicyRequest {
  /** The policy; omitted fields come from its preset, or from `queue`. */
  retry?: RetryPolicyInput | null | undefined;
}

/**
 * An error response. Programs should rely on `code`; `detail` is for people; `field` names the
 * invalid field.
 */
export interface Problem {
  /** Stable error code for programs. */
  code: string;
  /** Human-readable message. */
  detail: string;
  /** The invalid field, if any. */
  field?: string | undefined;
  /** The status of the response. */
  status: number;
  /** Title of the HTTP status. */
  title: string;
  /** Always `about:blank`; use `code` instead. */
  type: string;
}

/** A queue, with its counts. */
export type Queue = Counts & {
  /** Its name. */
  name: string;
  /** Who paused the queue, why and until when, if known. */
  pause?: Pause | null | undefined;
  /** Whether the queue is paused. */
  paused: boolean;
  /** The tenant. */
  tenant: string;
};

/** Why the jobs of a queue do not start. */
export interface QueueExplanation {
  /** The explanation for the next due job, if any. */
  next?: StartExplanation | null | undefined;
  /** The queue. */
  queue: string;
  /** Due jobs that are waiting. */
  ready: number;
  /** Running jobs. */
  running: number;
  /** Jobs that are due later. */
  scheduled: number;
  /** The explanation as text. */
  sentence: string;
}

/** Forecast for a queue. */
export type QueueForecast = ForecastSeries & {
  /**
   * Relative error of the forecasts of this queue over the last six hours, ten minutes ahead and
   * over all tenants; 0 means exact. Null if not known yet.
   */
  errorShare?: number | null | undefined;
  /** The queue. */
  queue: string;
};

/** All queues. */
export interface QueueList {
  /** Cursor for the next page, sent as `after`; null at the end of the list. */
  nextCursor?: string | null | undefined;
  /** By tenant and name. */
  queues: Queue[];
}

/** A rate limit: never more than `limit + burst` starts in any window of length `per`. */
export interface Rate {
  /** Extra starts after a quiet period; 0 by default. */
  burst?: number | null | undefined;
  /** Number of starts. */
  limit: number;
  /** Time window, from `1s` to `1d`. */
  per: Duration;
}

/** A request to release a job without counting this attempt, because the worker stops. */
export interface ReleaseRequest {
  /** The fence of the claim. */
  fence: number;
  /** New lines of the attempt's log. */
  log?: LogLines | null | undefined;
}

/** Results of jobs under a policy. */
export interface ReplayFigures {
  /** Number of attempts. */
  attempts: number;
  /** Jobs that became dead letters. */
  deadLetters: number;
  /** Number of jobs; a requeued job counts again. */
  jobs: number;
  /** Peak number of starts per minute. */
  peakStartsPerMinute: number;
  /** Jobs that succeeded. */
  successes: number;
  /** Time from the first attempt to success, 50th percentile. */
  timeToSuccessP50Ms?: number | null | undefined;
  /** Time from the first attempt to success, 95th percentile. */
  timeToSuccessP95Ms?: number | null | undefined;
}

/**
 * A policy to replay, and the jobs to replay it over: at least one of `queue`, `kind` and
 * `destination`.
 */
export interface ReplayPolicyRequest {
  /** Jobs for this destination, such as `https://api.example.com`. */
  destination?: string | null | undefined;
  /** Jobs of this kind. */
  kind?: Name | null | undefined;
  /** Jobs in this queue. */
  queue?: Name | null | undefined;
  /** The policy to replay, as if the jobs had been created with this `retry`. */
  retry?: RetryPolicyInput | null | undefined;
  /** Jobs created at this time or later, at most a week ago; a day ago by default. */
  since?: string | null | undefined;
  /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
  tenant?: Name | null | undefined;
}

export type RetryAfterScope = "job" | "tenant" | "all";

/** A manual retry of an ended job. */
export interface RetryJobRequest {
  /** New payload. */
  payload?: unknown;
}

/** The complete effective policy */
export interface RetryPolicy {
  backoff: Backoff;
  baseDelay: string;
  delays?: string[] | undefined;
  factor: number;
  jitter: Jitter;
  jitterFactor: number;
  maxDelay: string;
  maxElapsed?: string | undefined;
  maxRetries: number;
  rules?: RetryRule[] | undefined;
}

export interface RetryPolicyFields {
  backoff?: Backoff | undefined;
  baseDelay?: Duration | undefined;
  /** Explicit delays; the last one repeats */
  delays?: Duration[] | undefined;
  /** Factor of exponential backoff */
  factor?: number | undefined;
  jitter?: Jitter | undefined;
  jitterFactor?: number | undefined;
  /** The same as maxRetries + 1 */
  maxAttempts?: number | undefined;
  maxDelay?: Duration | undefined;
  maxElapsed?: Duration | undefined;
  /** Maximum number of retries after the first attempt */
  maxRetries?: number | undefined;
  preset?: Preset | undefined;
  /** Rules in order; the first match decides */
  rules?: RetryRule[] | undefined;
}

/** A retry policy: a preset name, or an object with any of its fields. Omitted fields come from the next level: schedule, queue, tenant, server. */
export type RetryPolicyInput = Preset | RetryPolicyFields;

/** A rule: an action for matching failures */
export interface RetryRule {
  /** "any", or an object with class, status and message; all given fields must match */
  match: "any" | {
    class?: string | string[] | undefined;
    /** Pattern for the whole message; * matches any characters */
    message?: string | undefined;
    /** 503, "5xx" or "500-504" */
    status?: number | string | Array<number | string> | undefined;
  };
  /** Retry, fail, or retry after this delay */
  then: "retry" | "fail" | {
    retry: Duration;
  };
}

/** A rotation of the signing secret. */
export interface RotateSecretRequest {
  /** How long deliveries are also signed with the old secret; 1d by default. */
  overlap?: Duration | null | undefined;
  /** The new secret; generated by default. */
  secret?: string | null | undefined;
}

/** A request to wait until no work remains. */
export interface RunUntilIdleRequest {
  /** How long to wait, up to 60s; 10s by default. */
  timeout?: Duration | null | undefined;
}

/** The result of a step to store. */
export interface SaveStepRequest {
  /** The fence of the claim. */
  fence: number;
  /** Any JSON, up to 64 KiB; null by default. */
  result?: unknown;
}

/** A schedule, with its next ticks. */
export interface Schedule {
  /** When it was created. */
  createdAt: string;
  /** No ticks at this time or later. */
  endAt?: string | null | undefined;
  /** Interval, if there is no cron rule. */
  every?: string | null | undefined;
  /** `sch_…` */
  id: string;
  /** The rule in words: `at 09:00 on Monday to Friday`. */
  inWords?: string | undefined;
  /** The job that each tick creates. */
  job: Job;
  /** Last tick. */
  lastTick?: string | null | undefined;
  /** Maximum total number of runs. */
  maxRuns?: number | null | undefined;
  /** What to do with ticks missed because no node was running. */
  missed: MissedTickPolicy;
  /** Unique within the tenant. */
  name: string;
  /** Next tick. */
  nextTick?: string | null | undefined;
  /** What to do at a tick while the previous run is unfinished. */
  overlap: OverlapPolicy;
  /** Whether the schedule is paused. */
  paused: boolean;
  /** Number of runs so far. */
  runs: number;
  /** Cron rule. */
  schedule?: string | null | undefined;
  /** No ticks before this time. */
  startAt?: string | null | undefined;
  /** The tenant. */
  tenant: string;
  /** Time zone of the cron rule. */
  timezone?: string | null | undefined;
  /** The next ticks, soonest first; empty while it is paused. */
  upcoming: UpcomingTick[];
}

/** A page of schedules. */
export interface ScheduleList {
  /** Cursor for the next page, sent as `after`; null at the end of the list. */
  nextCursor?: string | null | undefined;
  /** Newest first. */
  schedules: Schedule[];
}

export type Scope = "admin" | "tenant" | "worker" | "read" | "metrics";

/** A secret, without its value. */
export interface Secret {
  /** When it was first set. */
  createdAt: string;
  /** Name, unique within the tenant. */
  name: string;
  /** The tenant whose jobs and endpoints can use it. */
  tenant: string;
  /** When its value was last set. */
  updatedAt: string;
  /** Who set its value last. */
  updatedBy?: Actor | null | undefined;
}

/** Secrets by tenant and name, without their values. */
export interface SecretList {
  /** Cursor for the next page, sent as `after`; null at the end of the list. */
  nextCursor?: string | null | undefined;
  /** The secrets. */
  secrets: Secret[];
}

/** A named secret of the same tenant; its value is looked up when the request is sent. */
export interface SecretReference {
  /** Text in front of the value, such as `Bearer `. */
  prefix?: string | undefined;
  /** Name of the secret. */
  secret: string;
}

/**
 * Settings of a destination. With `PUT`, omitted settings are reset to their defaults; with
 * `PATCH`, they stay unchanged, and null resets a setting.
 */
export interface SetDestinationRequest {
  /** Thresholds for an unhealthy destination. */
  health?: HealthRules | null | undefined;
  /** What to do when the destination is unhealthy; `auto` by default. */
  hold?: HoldMode | null | undefined;
  /**
   * `learn` to find the number of calls at once from the destination's answers; `off` by default.
   * Gates hold all the same. A tenant can set it for its own jobs.
   */
  pace?: PaceMode | null | undefined;
  /**
   * Whether a `Retry-After` applies to all tenants (true) or only to the job that received it
   * (false). By default it applies to the tenant that received it, and to all tenants if calls of
   * two tenants received one within a minute. A tenant can set it for its own jobs.
   */
  shareRetryAfter?: boolean | null | undefined;
}

/** The limits of a gate. */
export interface SetGateRequest {
  /** Thresholds for an unhealthy destination. Only for scope `destination`, for all tenants. */
  health?: HealthRules | null | undefined;
  /**
   * What to do when the destination is unhealthy; `auto` by default. Only for scopes
   * `destination` and `tenant`.
   */
  hold?: HoldMode | null | undefined;
  /** Maximum number of concurrent attempts over all nodes; null for no limit. */
  maxRunning?: number | null | undefined;
  /**
   * Maximum number of waiting jobs; a create beyond it is refused with 429; null for no limit. Only
   * for scopes `queue` and `tenant`.
   */
  maxWaiting?: number | null | undefined;
  /**
   * Whether jobs run one at a time in creation order; a retrying job holds back later jobs. Only
   * for scope `key`.
   */
  ordered?: boolean | null | undefined;
  /**
   * `learn` to find the number of calls at once from answers; `off` by default. Only for scope
   * `destination`.
   */
  pace?: PaceMode | null | undefined;
  /** `true` or an object to pause the gate, `false` to resume it. */
  paused?: PauseRequest | null | undefined;
  /** Rate limit for starts over all nodes; null for no limit. */
  rate?: Rate | null | undefined;
  /** Maximum fraction of starts per minute that may be retries; a few are always allowed. */
  retryShare?: number | null | undefined;
  /**
   * Whether a `Retry-After` applies to all tenants (true) or only to the job that received it
   * (false); by default to the tenant that received it. Only for scope `destination`.
   */
  shareRetryAfter?: boolean | null | undefined;
  /** Fair-share weight of the tenant; 1 by default. Only for scope `tenant`. */
  weight?: number | null | undefined;
}

/** The value of a secret. */
export interface SetSecretRequest {
  /** The value: 8 to 8192 ASCII characters on one line. It is never shown again. */
  value: string;
}

/** Settlements of many attempts in one request. */
export interface SettleRequest {
  /** One per attempt, up to 1,000. */
  settlements: SettlementRequest[];
}

/** One result per settlement. */
export interface SettlementList {
  /** In the order of the request. */
  settled: SettlementResult[];
}

/** Outcome reported by the worker. */
export type SettlementOutcome = "succeed" | "fail" | "snooze" | "release" | "answer";

/** Settlement of one of many attempts. */
export interface SettlementRequest {
  /** Whether the last attempt took effect; only with `answer`, which requires it. */
  answer?: ConfirmAnswer | null | undefined;
  /** Delay from now; only with `snooze`. */
  delay?: Duration | null | undefined;
  /** The failure; only with `fail`, and with the answer `unknown`. */
  failure?: FailureRequest | null | undefined;
  /** The fence of the claim. */
  fence: number;
  /** The job's id. */
  id: string;
  /** New lines of the attempt's log. */
  log?: LogLines | null | undefined;
  /**
   * Up to 100 jobs created atomically with the success; only with `succeed`, and with the answer
   * `done`.
   */
  onSuccess?: CreateJobRequest[] | undefined;
  /** Outcome of the attempt. */
  outcome: SettlementOutcome;
  /** Result, kept with the attempt; only with `succeed`, and with the answer `done`. */
  result?: unknown;
}

/** Result of one settlement. */
export interface SettlementResult {
  /**
   * `stale_fence` or `not_found` if the claim has expired. Any other code, such as `invalid`,
   * means that this settlement is invalid and the claim is still valid: send another settlement,
   * such as a failure.
   */
  code?: string | null | undefined;
  /** Human-readable message, if it is not ok. */
  detail?: string | null | undefined;
  /** The invalid field of the settlement, such as `result`. */
  field?: string | null | undefined;
  /** The job's id from the request. */
  id: string;
  /** New label of the job. */
  label?: JobLabel | null | undefined;
  /** Whether it was accepted. */
  ok: boolean;
}

/** A `Retry-After` that applies to all jobs for a destination. */
export interface SharedRetryAfter {
  /** When it was received. */
  at: string;
  /** The header: `Retry-After` or `retry-after-ms`. */
  header?: string | undefined;
  /** The job that received it; only for keys for all tenants. */
  jobId?: string | null | undefined;
  /** HTTP status of the response. */
  status: number;
  /** End of the wait. */
  until: string;
}

/** A request to silence alerts: all that match. */
export interface SilenceAlertsRequest {
  /** Only the alert of this destination. */
  destination?: string | null | undefined;
  /** The rule of the alerts. */
  rule: AlertRule;
  /** Only alerts about these jobs. */
  subject?: AlertSubject | null | undefined;
  /** Only alerts of this tenant. */
  tenant?: Name | null | undefined;
  /**
   * When notifications are sent again, at most a week from now. A time that has passed ends a
   * silence.
   */
  until: string;
}

/** Why a tick created no job. */
export type SkipReason = "overlap" | "missed" | "missedLimit" | "maxRuns";

/** Consecutive ticks skipped for the same reason. */
export interface SkippedTicks {
  /** Number of skipped ticks. */
  count: number;
  /** Why they were skipped. */
  reason: SkipReason;
  /** The last skipped tick. */
  until: string;
}

/** A request to try again later without counting this attempt. */
export interface SnoozeRequest {
  /** Delay from now. */
  delay: Duration;
  /** The fence of the claim. */
  fence: number;
  /** New lines of the attempt's log. */
  log?: LogLines | null | undefined;
}

/** Estimated start of a job. */
export interface StartEstimate {
  /** Estimated time. */
  at: string;
  /** Basis of the estimate. */
  basis: string;
}

/** Why a job has not started, and when it is expected to start. */
export interface StartExplanation {
  /** The action that would start it sooner. */
  action?: string | null | undefined;
  /** Everything that blocks the start of the job. */
  blockers: Blocker[];
  /** Whether a large enough claim for its kind and queue would take it now. */
  claimable: boolean;
  /** Estimated start; absent if it does not depend on time alone. */
  estimate?: StartEstimate | null | undefined;
  /** `job_…` */
  job: string;
}

/** Counts and rates. */
export type Stats = Counts & {
  /** Counts by tenant, queue and kind. The totals cover all pages. */
  lanes: LaneStats[];
  /** Cursor for the next page, sent as `after`; null at the end. */
  nextCursor?: string | null | undefined;
  /** Time of these counts. */
  now: string;
  /** Fraction of attempts in the last five minutes that were retries; null without attempts. */
  retryRate?: number | null | undefined;
  /** Fraction of retries that succeeded; null without retries. */
  retrySuccessRate?: number | null | undefined;
  /** Retries that succeeded. */
  successfulRetries: number;
  /** Attempts per second over the last five minutes. */
  throughput: number;
  /** Total retries. */
  totalRetries: number;
};

/** A completed step of a job. */
export interface Step {
  /** Its name. */
  name: string;
  /** The stored result. */
  result: unknown;
}

/** A report that an attempt succeeded. */
export interface SucceedRequest {
  /** The fence of the claim. */
  fence: number;
  /** New lines of the attempt's log. */
  log?: LogLines | null | undefined;
  /**
   * Up to 100 jobs created atomically with the success; recurring jobs are not allowed. They
   * belong to the tenant of this job.
   */
  onSuccess?: CreateJobRequest[] | undefined;
  /** Result, kept with the attempt, up to 64 KiB. */
  result?: unknown;
}

export type SystemState = "well" | "degraded" | "down";

/** Attempts by outcome. */
export interface Tally {
  /** All attempts. */
  attempts: number;
  /** Jobs that ran out of retries. */
  exhausted: number;
  /** Failed attempts. */
  failures: number;
  /** Attempts that were retries. */
  retries: number;
  /** Successful attempts. */
  successes: number;
  /** Retries that succeeded. */
  successfulRetries: number;
}

/** What a destination says remains of its own limits. */
export interface TargetQuota {
  /** When it was received. */
  at: string;
  /** The header, such as `x-ratelimit-remaining-requests`. */
  header: string;
  /** The job that received it; only for keys for all tenants. */
  jobId?: string | null | undefined;
  /** How much remained when it was received. Each start uses at least one. */
  remaining: number;
  /** When the destination resets it. */
  resetsAt: string;
  /** The same as a sentence. */
  sentence: string;
  /** Until when it limits starts: `resetsAt`, or earlier if that is later than `retryAfterMax`. */
  until: string;
}

/** A tick that created a run, or one or more skipped ticks. */
export interface Tick {
  /** Time of the tick. */
  at: string;
  /** The run that it created. */
  jobId?: string | null | undefined;
  /** Why it was skipped. */
  skipped?: SkippedTicks | null | undefined;
}

/** A page of ticks. */
export interface TickList {
  /** Cursor for the next page, sent as `after`; null at the end of the list. */
  nextCursor?: string | null | undefined;
  /** Past ticks, newest first. */
  ticks: Tick[];
  /** Upcoming ticks, soonest first; only on the first page. */
  upcoming: UpcomingTick[];
}

export interface Unique {
  /** The unique key, such as `report:7`. */
  key: string;
  /** What to do with a duplicate: return the existing job, update it, or fail with 409; `keep` by default. */
  onConflict?: "keep" | "replace" | "reject" | undefined;
  /** How long the job stays unique: until it starts, or until it ends; `unfinished` by default. */
  while?: "waiting" | "unfinished" | undefined;
}

export type UniqueResult = "kept" | "moved" | "replaced";

/** An upcoming tick. */
export interface UpcomingTick {
  /** Time of the tick. */
  at: string;
  /**
   * Effect of daylight saving time: `gap` (the tick fires right after the gap) or `fold` (the
   * local time occurs twice).
   */
  dst?: Dst | null | undefined;
}

/** Webhook of a job, without its signing secret. */
export interface Webhook {
  /** The endpoint of a delivery. */
  endpoint?: string | null | undefined;
  /** Events to send. */
  events: EventType[];
  /** Whether deliveries are signed. */
  signed: boolean;
  /** URL of the job's own webhook. */
  url?: string | null | undefined;
}

/** A job's own webhook. */
export interface WebhookRequest {
  /** Events to send; `job.succeeded` and `job.failed` by default. */
  events?: EventType[] | null | undefined;
  /** Retry policy of its deliveries; omitted fields come from the preset `webhook`. */
  retry?: RetryPolicyInput | null | undefined;
  /** `whsec_…`: signing secret for Standard Webhooks. It is never shown again. */
  secret?: string | null | undefined;
  /** URL that receives the events. */
  url: string;
}

/** One process that claims jobs over HTTP. */
export interface Worker {
  /** Whether the worker was seen within the last 90 s. */
  alive: boolean;
  /** Maximum number of concurrent jobs, if the worker reports it. */
  concurrency?: number | null | undefined;
  /** Time of its first claim. */
  firstSeen: string;
  /** Host of the worker. */
  host?: string | null | undefined;
  /** Kinds that it claims; empty means all kinds except those that nodes run. */
  kinds: string[];
  /** Time of its last claim or heartbeat, to within 15 s. */
  lastSeen: string;
  /** Client library and version. */
  library?: string | null | undefined;
  /** Its name. */
  name: string;
  /** Queues that it claims from; empty means all. */
  queues: string[];
  /** Number of jobs it holds among the newest 500 running jobs. */
  running: number;
  /** Tenant whose jobs it claims; null for all tenants. */
  tenant?: string | null | undefined;
  /** Version of the worker program. */
  version?: string | null | undefined;
}

/** Description of a worker. Each text may have up to 128 bytes. */
export interface WorkerInfo {
  /** Maximum number of concurrent jobs. */
  concurrency?: number | null | undefined;
  /** Host of the worker. */
  host?: string | null | undefined;
  /** Client library and version, such as `steadfast-python/0.1.0`. */
  library?: string | null | undefined;
  /** Version of the worker program. */
  version?: string | null | undefined;
}

/** Workers that have claimed jobs within the last day. */
export interface WorkerList {
  /** Cursor for the next page, sent as `after`; null at the end of the list. */
  nextCursor?: string | null | undefined;
  /** By tenant and name. */
  workers: Worker[];
}

/** What each operation of the API takes and answers. */
export interface Operations {
  /** List alerts: firing, pending and resolved. */
  listAlerts: {
    query?: {
      /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
      tenant?: Name | undefined;
      /** Maximum number of results, up to 500 (the default). */
      limit?: number | undefined;
      /** The `nextCursor` of the previous page. */
      after?: string | undefined;
    };
    answer: AlertList;
  };
  /** Acknowledge firing alerts: no reminders are sent until they fire again. */
  acknowledgeAlerts: {
    body: AcknowledgeAlertsRequest;
    answer: AlertList;
  };
  /** Silence alerts: no notifications are sent for them until then. */
  silenceAlerts: {
    body: SilenceAlertsRequest;
    answer: AlertList;
  };
  /** List audit records, newest first: one for every command that changed something. */
  listAudit: {
    query?: {
      /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
      tenant?: Name | undefined;
      /** Subject of the command: the id of a job or operation, the name of a queue, … */
      subject?: string | undefined;
      /** Action, such as `job.cancel`, or a prefix such as `job.`. */
      action?: string | undefined;
      /** Name of the caller. */
      by?: string | undefined;
      /** Only records at this time or later. */
      from?: string | undefined;
      /** Only records before this time. */
      before?: string | undefined;
      /** Maximum number of results, up to 500; 50 by default. */
      limit?: number | undefined;
      /** The `nextCursor` of the previous page. */
      after?: string | undefined;
    };
    answer: AuditList;
  };
  /** List batches, newest first. */
  listBatches: {
    query?: {
      /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
      tenant?: Name | undefined;
      /** Only batches that are open or have unfinished jobs. */
      unfinished?: boolean | undefined;
      /** Maximum number of results, up to 500; 50 by default. */
      limit?: number | undefined;
      /** The `nextCursor` of the previous page. */
      after?: string | undefined;
    };
    answer: BatchList;
  };
  /** Create a batch of jobs with shared progress and callbacks. */
  createBatch: {
    body: CreateBatchRequest;
    answer: Batch;
  };
  /** Read a batch with its counts and callback jobs. */
  getBatch: {
    path: {
      /** bat_… */
      id: string;
    };
    answer: Batch;
  };
  /** Close a batch: no more jobs can be added, and it ends when all its jobs have ended. */
  closeBatch: {
    path: {
      /** bat_… */
      id: string;
    };
    answer: Batch;
  };
  /** List the stored jobs of a batch, newest first. */
  listBatchJobs: {
    path: {
      /** bat_… */
      id: string;
    };
    query?: {
      /** `unfinished`, `succeeded`, `failed` or `cancelled`; all by default. */
      state?: string | undefined;
      /** Maximum number of results, up to 500; 50 by default. */
      limit?: number | undefined;
      /** The `nextCursor` of the previous page. */
      after?: string | undefined;
    };
    answer: JobList;
  };
  /** Add up to 1,000 jobs to an open batch atomically. */
  addBatchJobs: {
    path: {
      /** bat_… */
      id: string;
    };
    body: CreateJobsRequest;
    answer: JobList;
  };
  /** List kept certificates by tenant and name. */
  listCertificates: {
    query?: {
      /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
      tenant?: Name | undefined;
      /** Maximum number of results, up to 500 (the default). */
      limit?: number | undefined;
      /** The `nextCursor` of the previous page. */
      after?: string | undefined;
    };
    answer: KeptCertificateList;
  };
  /** Compute a certificate and keep it. */
  keepCertificate: {
    path: {
      /** The certificate */
      name: Name;
    };
    body: CertifyPolicyRequest;
    answer: KeptCertificate;
  };
  /** Delete a kept certificate. */
  deleteCertificate: {
    path: {
      /** The certificate */
      name: Name;
    };
    query?: {
      /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
      tenant?: Name | undefined;
    };
    answer: undefined;
  };
  /** Claim due jobs, with a long poll if none is due. */
  claimJobs: {
    body: ClaimJobsRequest;
    answer: ClaimList;
  };
  /** Renew the leases of up to 1,000 running attempts, starting from now. */
  sendHeartbeats: {
    body: HeartbeatsRequest;
    answer: HeartbeatList;
  };
  /** Settle many attempts in one transaction. */
  settleAttempts: {
    body: SettleRequest;
    answer: SettlementList;
  };
  /** Report that an attempt failed; the job's retry policy decides what follows. */
  failAttempt: {
    path: {
      /** job_… */
      id: string;
    };
    body: FailRequest;
    answer: Job;
  };
  /** Renew the lease of a running attempt, starting from now. */
  sendHeartbeat: {
    path: {
      /** job_… */
      id: string;
    };
    body: HeartbeatRequest;
    answer: Lease;
  };
  /** Read the results of the jobs that the claimed job has waited for (`after`). */
  listPrerequisites: {
    path: {
      /** job_… */
      id: string;
    };
    query?: {
      /** The fence of the claim. */
      fence: number;
      /** Maximum number of results, up to 100 (the default). */
      limit?: number | undefined;
      /** The `nextCursor` of the previous page. */
      after?: string | undefined;
    };
    answer: PrerequisiteList;
  };
  /** Release a job: it is due immediately, and this attempt is not counted. */
  releaseAttempt: {
    path: {
      /** job_… */
      id: string;
    };
    body: ReleaseRequest;
    answer: Job;
  };
  /** Snooze a job: try again later without counting this attempt. */
  snoozeAttempt: {
    path: {
      /** job_… */
      id: string;
    };
    body: SnoozeRequest;
    answer: Job;
  };
  /** Read the stored result of a step of the job. */
  getStep: {
    path: {
      /** job_… */
      id: string;
      /** The name of the step, unique within its job */
      name: string;
    };
    query?: {
      /** The fence of the claim. */
      fence: number;
    };
    answer: Step;
  };
  /** Store the result of a step if the claim is still valid, and return the stored result. */
  saveStep: {
    path: {
      /** job_… */
      id: string;
      /** The name of the step, unique within its job */
      name: string;
    };
    body: SaveStepRequest;
    answer: Step;
  };
  /** Report that an attempt succeeded. */
  succeedAttempt: {
    path: {
      /** job_… */
      id: string;
    };
    body: SucceedRequest;
    answer: Job;
  };
  /** Create a job from a CloudEvent, or up to 1,000 jobs from a batch. */
  receiveCloudEvents: {
    query?: {
      /** Kind of the jobs, in place of the `type` of the event. */
      kind?: Kind | undefined;
      /** Queue of the jobs, unless the event has an attribute `queue`. */
      queue?: Name | undefined;
      /** Tenant of the jobs. Requires a key for all tenants; other keys always use their own tenant. */
      tenant?: Name | undefined;
    };
    body: CloudEvent;
    answer: Job;
  };
  /** Resend an ended delivery with the same body and event id. */
  resendDelivery: {
    path: {
      /** The job id of the delivery, job_… */
      id: string;
    };
    answer: Job;
  };
  /** List destinations that failed recently, are held, or whose pace is learned. */
  listDestinations: {
    query?: {
      /**
       * Only destinations where attempts of this tenant failed. Requires a key for all tenants;
       * other keys always use their own tenant.
       */
      tenant?: string | undefined;
      /** Only destinations with this status. */
      status?: HealthStatus | undefined;
      /** Maximum number of results, up to 500. */
      limit?: number | undefined;
      /** The `nextCursor` of the previous page. */
      after?: string | undefined;
    };
    answer: DestinationList;
  };
  /** Read a destination with its health, incidents and settings. */
  getDestination: {
    path: {
      /** The origin, percent-encoded */
      key: string;
    };
    query?: {
      /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
      tenant?: Name | undefined;
    };
    answer: Destination;
  };
  /**
   * Set what to do when a destination is unhealthy, the thresholds for it, and whether its pace is
   * learned. A key for one tenant sets `hold` and `pace` for its own jobs.
   */
  setDestination: {
    path: {
      /** The origin, percent-encoded */
      key: string;
    };
    query?: {
      /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
      tenant?: Name | undefined;
    };
    body: SetDestinationRequest;
    answer: Destination;
  };
  /** Change the given settings of a destination; null resets a setting to its default. */
  editDestination: {
    path: {
      /** The origin, percent-encoded */
      key: string;
    };
    query?: {
      /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
      tenant?: Name | undefined;
    };
    body: SetDestinationRequest;
    answer: Destination;
  };
  /** Hold a destination: no job of any tenant starts for it until it is released or the hold expires. */
  holdDestination: {
    path: {
      /** The origin, percent-encoded */
      key: string;
    };
    body?: HoldDestinationRequest | null | undefined;
    answer: Destination;
  };
  /** Release a destination; starts ramp up gradually. */
  releaseDestination: {
    path: {
      /** The origin, percent-encoded */
      key: string;
    };
    answer: Destination;
  };
  /** List dead letters, newest first. */
  listDeadLetters: {
    query?: {
      /** Jobs with this label. */
      label?: JobLabel | undefined;
      /** Jobs in this queue. */
      queue?: Name | undefined;
      /** Jobs of this kind. */
      kind?: Kind | undefined;
      /** Jobs of any other kind; `webhook` leaves deliveries out. */
      notKind?: Kind | undefined;
      /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
      tenant?: Name | undefined;
      /** Runs of this schedule. */
      schedule?: string | undefined;
      /** Jobs for this destination, such as `https://api.example.com`. */
      destination?: string | undefined;
      /** Jobs of this batch. */
      batch?: string | undefined;
      /** Jobs created at this time or later. */
      from?: string | undefined;
      /** Jobs created before this time. */
      before?: string | undefined;
      /** Jobs that failed permanently at this time or later. */
      failedFrom?: string | undefined;
      /** Jobs that failed permanently before this time. */
      failedBefore?: string | undefined;
      /** Jobs whose last failure message contains this text, ignoring case. */
      text?: string | undefined;
      /** Jobs whose last failure has this class. */
      class?: string | undefined;
      /** Jobs whose last failure has this HTTP status. */
      status?: number | undefined;
      /** With this tag, as `order:4711`; of several, with all of them. */
      tag?: string[] | undefined;
      /** Jobs whose last failure has this fingerprint. */
      fingerprint?: Fingerprint | undefined;
      /** Jobs that ended for this reason. */
      reason?: EndReason | undefined;
      /** Maximum number of results, up to 500; 50 by default. */
      limit?: number | undefined;
      /** The `nextCursor` of the previous page. */
      after?: string | undefined;
    };
    answer: JobList;
  };
  /** Discard dead letters without retrying them. */
  discardDeadLetters: {
    body: DeadLettersRequest;
    answer: BulkResult;
  };
  /** Requeue dead letters, each with a new retry budget. */
  requeueDeadLetters: {
    body: DeadLettersRequest;
    answer: BulkResult;
  };
  /**
   * List endpoints, oldest first. Keys with scope `read` and `worker` see only the host of each URL,
   * because its path may be secret.
   */
  listEndpoints: {
    query?: {
      /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
      tenant?: Name | undefined;
      /** Maximum number of results, up to 500 (the default). */
      limit?: number | undefined;
      /** The `nextCursor` of the previous page. */
      after?: string | undefined;
    };
    answer: EndpointList;
  };
  /** Create an endpoint: a URL that receives job events or alerts. */
  createEndpoint: {
    body: CreateEndpointRequest;
    answer: EndpointWithSecret;
  };
  /** Read an endpoint. */
  getEndpoint: {
    path: {
      /** end_… */
      id: string;
    };
    answer: Endpoint;
  };
  /** Delete an endpoint; its waiting deliveries are cancelled. */
  deleteEndpoint: {
    path: {
      /** end_… */
      id: string;
    };
    answer: undefined;
  };
  /** Edit an endpoint; omitted fields stay unchanged. */
  editEndpoint: {
    path: {
      /** end_… */
      id: string;
    };
    body: EditEndpointRequest;
    answer: Endpoint;
  };
  /**
   * List the deliveries to an endpoint, newest first. Deliveries are jobs; their attempts are in the
   * job history.
   */
  listDeliveries: {
    path: {
      /** end_… */
      id: string;
    };
    query?: {
      /** Maximum number of results, up to 500. */
      limit?: number | undefined;
      /** The `nextCursor` of the previous page. */
      after?: string | undefined;
    };
    answer: JobList;
  };
  /** Disable an endpoint: its deliveries wait until it is enabled, for at most seven days. */
  disableEndpoint: {
    path: {
      /** end_… */
      id: string;
    };
    answer: Endpoint;
  };
  /**
   * Enable an endpoint: an operation sends its waiting deliveries, limited by the setting
   * `bulkRate`.
   */
  enableEndpoint: {
    path: {
      /** end_… */
      id: string;
    };
    answer: Endpoint;
  };
  /**
   * Rotate the signing secret of an endpoint; deliveries are also signed with the old secret for a
   * while.
   */
  rotateEndpointSecret: {
    path: {
      /** end_… */
      id: string;
    };
    body?: RotateSecretRequest | null | undefined;
    answer: EndpointWithSecret;
  };
  /** Send an event of type `endpoint.test` to an endpoint as a normal delivery. */
  testEndpoint: {
    path: {
      /** end_… */
      id: string;
    };
    answer: Job;
  };
  /** List failure groups, most frequent first. */
  listFailures: {
    query?: {
      /** Groups in this state. */
      state?: FailureState | undefined;
      /** Failures of this class. */
      class?: string | undefined;
      /** Failures with this HTTP status. */
      status?: number | undefined;
      /** Failures of jobs with this kind. */
      kind?: Kind | undefined;
      /** Failures at this destination, such as `https://api.example.com`. */
      destination?: string | undefined;
      /** Failures of jobs in this queue. */
      queue?: Name | undefined;
      /** Groups whose pattern or last message contains this text, ignoring case. */
      text?: string | undefined;
      /** Groups seen at this time or later. */
      since?: string | undefined;
      /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
      tenant?: Name | undefined;
      /** Maximum number of results, up to 500; 50 by default. */
      limit?: number | undefined;
      /** The `nextCursor` of the previous page. */
      after?: string | undefined;
    };
    answer: FailureList;
  };
  /** Read a failure group. */
  getFailure: {
    path: {
      /** The fingerprint of the group */
      fingerprint: string;
    };
    query?: {
      /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
      tenant?: Name | undefined;
    };
    answer: FailureGroup;
  };
  /** Mark a failure group as known or fixed. */
  markFailure: {
    path: {
      /** The fingerprint of the group */
      fingerprint: string;
    };
    query?: {
      /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
      tenant?: Name | undefined;
    };
    body: MarkFailureRequest;
    answer: FailureGroup;
  };
  /** Read how many jobs will be due, minute by minute. */
  getForecast: {
    query?: {
      /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
      tenant?: Name | undefined;
      /** Minutes to forecast, up to 720; 120 by default. */
      minutes?: number | undefined;
    };
    answer: Forecast;
  };
  /**
   * List gates (limits of a queue, kind, tenant, destination or concurrency key) with their current
   * use.
   */
  listGates: {
    query?: {
      /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
      tenant?: Name | undefined;
      /** Maximum number of results, up to 500 (the default). */
      limit?: number | undefined;
      /** The `nextCursor` of the previous page. */
      after?: string | undefined;
    };
    answer: GateList;
  };
  /** Read a gate. */
  getGate: {
    path: {
      /** The scope of the gate */
      scope: GateScope;
      /** The queue, kind, tenant, destination or concurrency key, percent-encoded */
      key: string;
    };
    query?: {
      /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
      tenant?: Name | undefined;
    };
    answer: Gate;
  };
  /** Replace the limits of a gate. Takes effect on all nodes within two seconds. */
  setGate: {
    path: {
      /** The scope of the gate */
      scope: GateScope;
      /** The queue, kind, tenant, destination or concurrency key, percent-encoded */
      key: string;
    };
    query?: {
      /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
      tenant?: Name | undefined;
    };
    body: SetGateRequest;
    answer: Gate;
  };
  /** Delete a gate; the jobs it held back may start. */
  deleteGate: {
    path: {
      /** The scope of the gate */
      scope: GateScope;
      /** The queue, kind, tenant, destination or concurrency key, percent-encoded */
      key: string;
    };
    query?: {
      /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
      tenant?: Name | undefined;
    };
    answer: undefined;
  };
  /** Change the given limits of a gate; null removes a limit. A gate without limits is deleted. */
  editGate: {
    path: {
      /** The scope of the gate */
      scope: GateScope;
      /** The queue, kind, tenant, destination or concurrency key, percent-encoded */
      key: string;
    };
    query?: {
      /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
      tenant?: Name | undefined;
    };
    body: SetGateRequest;
    answer: Gate;
  };
  /** List jobs, newest first. */
  listJobs: {
    query?: {
      /** Jobs with this label. */
      label?: JobLabel | undefined;
      /** Jobs in this queue. */
      queue?: Name | undefined;
      /** Jobs of this kind. */
      kind?: Kind | undefined;
      /** Jobs of any other kind; `webhook` leaves deliveries out. */
      notKind?: Kind | undefined;
      /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
      tenant?: Name | undefined;
      /** Runs of this schedule. */
      schedule?: string | undefined;
      /** Jobs for this destination, such as `https://api.example.com`. */
      destination?: string | undefined;
      /** Jobs of this batch. */
      batch?: string | undefined;
      /** Jobs created at this time or later. */
      from?: string | undefined;
      /** Jobs created before this time. */
      before?: string | undefined;
      /** Jobs that failed permanently at this time or later. */
      failedFrom?: string | undefined;
      /** Jobs that failed permanently before this time. */
      failedBefore?: string | undefined;
      /** Jobs whose last failure message contains this text, ignoring case. */
      text?: string | undefined;
      /** Jobs whose last failure has this class. */
      class?: string | undefined;
      /** Jobs whose last failure has this HTTP status. */
      status?: number | undefined;
      /** With this tag, as `order:4711`; of several, with all of them. */
      tag?: string[] | undefined;
      /** Jobs whose last failure has this fingerprint. */
      fingerprint?: Fingerprint | undefined;
      /** Jobs that ended for this reason. */
      reason?: EndReason | undefined;
      /** Maximum number of results, up to 500; 50 by default. */
      limit?: number | undefined;
      /** The `nextCursor` of the previous page. */
      after?: string | undefined;
    };
    answer: JobList;
  };
  /** Create a job, up to 1,000 jobs atomically, or a schedule. */
  createJob: {
    body: CreateRequest;
    answer: CreateResult;
  };
  /** Read a job; with `wait`, wait until it has ended or the time is over. */
  getJob: {
    path: {
      /** job_… */
      id: string;
    };
    query?: {
      /** How long to wait for the job to end, up to 60s; no wait by default. */
      wait?: string | undefined;
    };
    answer: Job;
  };
  /** Edit a waiting job: payload, policy, runAt, priority. */
  editJob: {
    path: {
      /** job_… */
      id: string;
    };
    body: EditJobRequest;
    answer: Job;
  };
  /** Read the log of an attempt, or follow it. */
  getAttemptLog: {
    path: {
      /** job_… */
      id: string;
      /** The number of the attempt, from 1 */
      attempt: number;
    };
    query?: {
      /** Only lines from this number on. */
      from?: number | undefined;
      /** Stream the lines as server-sent events until the attempt ends. */
      follow?: boolean | undefined;
    };
    answer: AttemptLog;
  };
  /** Cancel a job: immediately if it is waiting; a running attempt is asked to stop. */
  cancelJob: {
    path: {
      /** job_… */
      id: string;
    };
    answer: Job;
  };
  /** Explain why a job has not started. */
  explainJob: {
    path: {
      /** job_… */
      id: string;
    };
    answer: StartExplanation;
  };
  /** List the attempts of a job, newest first, each with its retry decision. */
  listAttempts: {
    path: {
      /** job_…, or sch_… for all runs of a schedule */
      id: string;
    };
    query?: {
      /** Maximum number of results, up to 500. */
      limit?: number | undefined;
      /** The `nextCursor` of the previous page. */
      after?: string | undefined;
    };
    answer: AttemptList;
  };
  /** Retry a failed or cancelled job with a new retry budget. */
  retryJob: {
    path: {
      /** job_… */
      id: string;
    };
    body?: RetryJobRequest | null | undefined;
    answer: Job;
  };
  /** Run a waiting job now. */
  runJobNow: {
    path: {
      /** job_… */
      id: string;
    };
    answer: Job;
  };
  /** List keys, oldest first, without their tokens. */
  listKeys: {
    query?: {
      /** Maximum number of results, up to 500. */
      limit?: number | undefined;
      /** The `nextCursor` of the previous page. */
      after?: string | undefined;
    };
    answer: KeyList;
  };
  /** Create a key. Its token is only in this response. */
  createKey: {
    body: CreateKeyRequest;
    answer: KeyWithToken;
  };
  /** Revoke a key. All nodes reject it within seconds. */
  revokeKey: {
    path: {
      /** key_… */
      id: string;
    };
    answer: undefined;
  };
  /** List nodes by name, including nodes that recently stopped responding. */
  listNodes: {
    query?: {
      /** Maximum number of results, up to 500. */
      limit?: number | undefined;
      /** The `nextCursor` of the previous page. */
      after?: string | undefined;
    };
    answer: NodeList;
  };
  /** List operations, newest first. */
  listOperations: {
    query?: {
      /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
      tenant?: Name | undefined;
      /** Only operations that have not ended. */
      open?: boolean | undefined;
      /** Maximum number of results, up to 500; 50 by default. */
      limit?: number | undefined;
      /** The `nextCursor` of the previous page. */
      after?: string | undefined;
    };
    answer: OperationList;
  };
  /**
   * Create a bulk operation: requeue, discard, cancel, retry, edit the policy of, or run now many
   * jobs; or encrypt everything again with the newest encryption key.
   */
  createOperation: {
    body: CreateOperationRequest;
    answer: BulkResult | Operation;
  };
  /** Read an operation with its progress and report. */
  getOperation: {
    path: {
      /** opr_… */
      id: string;
    };
    answer: Operation;
  };
  /** Cancel an operation. Completed changes stay; remaining jobs are not changed. */
  cancelOperation: {
    path: {
      /** opr_… */
      id: string;
    };
    answer: Operation;
  };
  /** List the jobs of an operation with the result for each. */
  listOperationJobs: {
    path: {
      /** opr_… */
      id: string;
    };
    query?: {
      /** Only jobs that were not changed. */
      notChanged?: boolean | undefined;
      /** Maximum number of results, up to 500; 50 by default. */
      limit?: number | undefined;
      /** The `nextCursor` of the previous page. */
      after?: string | undefined;
    };
    answer: OperationJobList;
  };
  /** Pause an operation until it is resumed. Completed changes stay. */
  pauseOperation: {
    path: {
      /** opr_… */
      id: string;
    };
    answer: Operation;
  };
  /** Resume a paused operation. */
  resumeOperation: {
    path: {
      /** opr_… */
      id: string;
    };
    answer: Operation;
  };
  /** Compute whether a system recovers by itself after outages. */
  certifyPolicy: {
    body: CertifyPolicyRequest;
    answer: PolicyCertificate;
  };
  /** Preview the whole timetable of a policy. */
  previewPolicy: {
    body: PreviewPolicyRequest;
    answer: PolicyPreview;
  };
  /** Replay another policy over recorded attempts. */
  replayPolicy: {
    body: ReplayPolicyRequest;
    answer: PolicyReplay;
  };
  /** List queues with their counts and the age of their oldest waiting job. */
  listQueues: {
    query?: {
      /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
      tenant?: Name | undefined;
      /** Maximum number of results, up to 500 (the default). */
      limit?: number | undefined;
      /** The `nextCursor` of the previous page. */
      after?: string | undefined;
    };
    answer: QueueList;
  };
  /** Explain why the jobs of a queue do or do not start. */
  explainQueue: {
    path: {
      /** The queue */
      name: Name;
    };
    query?: {
      /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
      tenant?: Name | undefined;
    };
    answer: QueueExplanation;
  };
  /** Pause a queue: no job starts until it is resumed; running jobs continue. */
  pauseQueue: {
    path: {
      /** The queue */
      name: Name;
    };
    query?: {
      /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
      tenant?: Name | undefined;
    };
    body?: PauseQueueRequest | null | undefined;
    answer: undefined;
  };
  /** Resume a paused queue. */
  resumeQueue: {
    path: {
      /** The queue */
      name: Name;
    };
    query?: {
      /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
      tenant?: Name | undefined;
    };
    answer: undefined;
  };
  /** List schedules, newest first. */
  listSchedules: {
    query?: {
      /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
      tenant?: Name | undefined;
      /** Maximum number of results, up to 500; 50 by default. */
      limit?: number | undefined;
      /** The `nextCursor` of the previous page. */
      after?: string | undefined;
    };
    answer: ScheduleList;
  };
  /** Create a schedule, or update the existing one with that name. */
  createSchedule: {
    body: CreateScheduleRequest;
    answer: Schedule;
  };
  /** Read a schedule. */
  getSchedule: {
    path: {
      /** sch_…, or its name */
      id: string;
    };
    answer: Schedule;
  };
  /** Delete a schedule; its existing runs continue. */
  deleteSchedule: {
    path: {
      /** sch_…, or its name */
      id: string;
    };
    answer: undefined;
  };
  /** Edit a schedule. Only a changed rule or window restarts the timetable from now. */
  editSchedule: {
    path: {
      /** sch_…, or its name */
      id: string;
    };
    body: EditScheduleRequest;
    answer: Schedule;
  };
  /** Pause a schedule: it creates no runs until it is resumed. */
  pauseSchedule: {
    path: {
      /** sch_…, or its name */
      id: string;
    };
    answer: Schedule;
  };
  /** Resume a schedule with its next tick; ticks that passed during the pause create no runs. */
  resumeSchedule: {
    path: {
      /** sch_…, or its name */
      id: string;
    };
    answer: Schedule;
  };
  /** Run a schedule now: one extra run outside its timetable. */
  runScheduleNow: {
    path: {
      /** sch_…, or its name */
      id: string;
    };
    answer: Job;
  };
  /** List past ticks of a schedule, newest first, and upcoming ticks. */
  listTicks: {
    path: {
      /** sch_…, or its name */
      id: string;
    };
    query?: {
      /** Maximum number of results, up to 500. */
      limit?: number | undefined;
      /** The `nextCursor` of the previous page. */
      after?: string | undefined;
    };
    answer: TickList;
  };
  /** List secrets by tenant and name, without their values. */
  listSecrets: {
    query?: {
      /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
      tenant?: Name | undefined;
      /** Maximum number of results, up to 500 (the default). */
      limit?: number | undefined;
      /** The `nextCursor` of the previous page. */
      after?: string | undefined;
    };
    answer: SecretList;
  };
  /** Set a secret. Its value is never shown again. */
  setSecret: {
    path: {
      /** The secret */
      name: Name;
    };
    query?: {
      /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
      tenant?: Name | undefined;
    };
    body: SetSecretRequest;
    answer: Secret;
  };
  /**
   * Delete a secret. Requests that name it fail with class `secret` and are retried as their policy
   * says.
   */
  deleteSecret: {
    path: {
      /** The secret */
      name: Name;
    };
    query?: {
      /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
      tenant?: Name | undefined;
    };
    answer: undefined;
  };
  /** Read job counts by label, throughput, retries and their success rate. */
  getStats: {
    query?: {
      /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
      tenant?: Name | undefined;
      /** Maximum number of results, up to 500 (the default). */
      limit?: number | undefined;
      /** The `nextCursor` of the previous page. */
      after?: string | undefined;
    };
    answer: Stats;
  };
  /** List attempts per minute, oldest first; minutes without attempts are omitted. */
  listMinuteStats: {
    query?: {
      /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
      tenant?: Name | undefined;
      /** Minutes to look back, up to a week; 60 by default. */
      minutes?: number | undefined;
    };
    answer: MinuteList;
  };
  /** Advance the clock of the store. Only with `--clock manual`. */
  advanceClock: {
    body: AdvanceClockRequest;
    answer: Clock;
  };
  /** Wait until no job is due or running. Only with `--clock manual`. */
  runUntilIdle: {
    body?: RunUntilIdleRequest | null | undefined;
    answer: Idle;
  };
  /** List the workers that have claimed jobs within the last day. */
  listWorkers: {
    query?: {
      /** Only this tenant. Requires a key for all tenants; other keys always use their own tenant. */
      tenant?: Name | undefined;
      /** Maximum number of results, up to 500 (the default). */
      limit?: number | undefined;
      /** The `nextCursor` of the previous page. */
      after?: string | undefined;
    };
    answer: WorkerList;
  };
}

/** The method and the path of each operation, below /api/v1. */
export const OPERATIONS: { readonly [Name in keyof Operations]: readonly [method: string, path: string] } = {
  listAlerts: ["GET", "/alerts"],
  acknowledgeAlerts: ["POST", "/alerts/acknowledge"],
  silenceAlerts: ["POST", "/alerts/silence"],
  listAudit: ["GET", "/audit"],
  listBatches: ["GET", "/batches"],
  createBatch: ["POST", "/batches"],
  getBatch: ["GET", "/batches/{id}"],
  closeBatch: ["POST", "/batches/{id}/close"],
  listBatchJobs: ["GET", "/batches/{id}/jobs"],
  addBatchJobs: ["POST", "/batches/{id}/jobs"],
  listCertificates: ["GET", "/certificates"],
  keepCertificate: ["PUT", "/certificates/{name}"],
  deleteCertificate: ["DELETE", "/certificates/{name}"],
  claimJobs: ["POST", "/claims"],
  sendHeartbeats: ["POST", "/claims/heartbeat"],
  settleAttempts: ["POST", "/claims/settle"],
  failAttempt: ["POST", "/claims/{id}/fail"],
  sendHeartbeat: ["POST", "/claims/{id}/heartbeat"],
  listPrerequisites: ["GET", "/claims/{id}/prerequisites"],
  releaseAttempt: ["POST", "/claims/{id}/release"],
  snoozeAttempt: ["POST", "/claims/{id}/snooze"],
  getStep: ["GET", "/claims/{id}/steps/{name}"],
  saveStep: ["PUT", "/claims/{id}/steps/{name}"],
  succeedAttempt: ["POST", "/claims/{id}/succeed"],
  receiveCloudEvents: ["POST", "/cloudevents"],
  resendDelivery: ["POST", "/deliveries/{id}/resend"],
  listDestinations: ["GET", "/destinations"],
  getDestination: ["GET", "/destinations/{key}"],
  setDestination: ["PUT", "/destinations/{key}"],
  editDestination: ["PATCH", "/destinations/{key}"],
  holdDestination: ["POST", "/destinations/{key}/hold"],
  releaseDestination: ["POST", "/destinations/{key}/release"],
  listDeadLetters: ["GET", "/dlq"],
  discardDeadLetters: ["POST", "/dlq/discard"],
  requeueDeadLetters: ["POST", "/dlq/requeue"],
  listEndpoints: ["GET", "/endpoints"],
  createEndpoint: ["POST", "/endpoints"],
  getEndpoint: ["GET", "/endpoints/{id}"],
  deleteEndpoint: ["DELETE", "/endpoints/{id}"],
  editEndpoint: ["PATCH", "/endpoints/{id}"],
  listDeliveries: ["GET", "/endpoints/{id}/deliveries"],
  disableEndpoint: ["POST", "/endpoints/{id}/disable"],
  enableEndpoint: ["POST", "/endpoints/{id}/enable"],
  rotateEndpointSecret: ["POST", "/endpoints/{id}/rotate"],
  testEndpoint: ["POST", "/endpoints/{id}/test"],
  listFailures: ["GET", "/failures"],
  getFailure: ["GET", "/failures/{fingerprint}"],
  markFailure: ["PATCH", "/failures/{fingerprint}"],
  getForecast: ["GET", "/forecast"],
  listGates: ["GET", "/gates"],
  getGate: ["GET", "/gates/{scope}/{key}"],
  setGate: ["PUT", "/gates/{scope}/{key}"],
  deleteGate: ["DELETE", "/gates/{scope}/{key}"],
  editGate: ["PATCH", "/gates/{scope}/{key}"],
  listJobs: ["GET", "/jobs"],
  createJob: ["POST", "/jobs"],
  getJob: ["GET", "/jobs/{id}"],
  editJob: ["PATCH", "/jobs/{id}"],
  getAttemptLog: ["GET", "/jobs/{id}/attempts/{attempt}/logs"],
  cancelJob: ["POST", "/jobs/{id}/cancel"],
  explainJob: ["GET", "/jobs/{id}/explain"],
  listAttempts: ["GET", "/jobs/{id}/history"],
  retryJob: ["POST", "/jobs/{id}/retry"],
  runJobNow: ["POST", "/jobs/{id}/run-now"],
  listKeys: ["GET", "/keys"],
  createKey: ["POST", "/keys"],
  revokeKey: ["DELETE", "/keys/{id}"],
  listNodes: ["GET", "/nodes"],
  listOperations: ["GET", "/operations"],
  createOperation: ["POST", "/operations"],
  getOperation: ["GET", "/operations/{id}"],
  cancelOperation: ["POST", "/operations/{id}/cancel"],
  listOperationJobs: ["GET", "/operations/{id}/jobs"],
  pauseOperation: ["POST", "/operations/{id}/pause"],
  resumeOperation: ["POST", "/operations/{id}/resume"],
  certifyPolicy: ["POST", "/policies/certify"],
  previewPolicy: ["POST", "/policies/preview"],
  replayPolicy: ["POST", "/policies/replay"],
  listQueues: ["GET", "/queues"],
  explainQueue: ["GET", "/queues/{name}/explain"],
  pauseQueue: ["POST", "/queues/{name}/pause"],
  resumeQueue: ["POST", "/queues/{name}/resume"],
  listSchedules: ["GET", "/schedules"],
  createSchedule: ["POST", "/schedules"],
  getSchedule: ["GET", "/schedules/{id}"],
  deleteSchedule: ["DELETE", "/schedules/{id}"],
  editSchedule: ["PATCH", "/schedules/{id}"],
  pauseSchedule: ["POST", "/schedules/{id}/pause"],
  resumeSchedule: ["POST", "/schedules/{id}/resume"],
  runScheduleNow: ["POST", "/schedules/{id}/run-now"],
  listTicks: ["GET", "/schedules/{id}/ticks"],
  listSecrets: ["GET", "/secrets"],
  setSecret: ["PUT", "/secrets/{name}"],
  deleteSecret: ["DELETE", "/secrets/{name}"],
  getStats: ["GET", "/stats"],
  listMinuteStats: ["GET", "/stats/minutes"],
  advanceClock: ["POST", "/test/advance"],
  runUntilIdle: ["POST", "/test/run-until-idle"],
  listWorkers: ["GET", "/workers"],
};
