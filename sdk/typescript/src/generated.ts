// Made from docs/openapi.json by scripts/generate.mjs; do not edit.

/** Who gave a command. */
export interface Actor {
  /** `key_…`; null while the server needs no key. */
  key?: string | null | undefined;
  /** The name of the key, or the way by which the command came: `api` or `dashboard`. */
  name: string;
}

/** A request to move the clock of the store. */
export interface AdvanceClockRequest {
  /** How far. */
  by: Duration;
}

/** A rule for one tenant, and whether it is broken */
export interface Alert {
  /** Which system it is about, if the rule is `destination` */
  destination?: string | undefined;
  firedAt: string | null;
  message: string;
  notifiedAt: string | null;
  /** The queue that contributes most to a rule that is broken */
  queue: string | null;
  resolvedAt: string | null;
  rule: AlertRule;
  /** Since when the rule is broken, or kept again */
  since: string;
  status: AlertStatus;
  subject: AlertSubject;
  tenant: string;
  /** The limit it is held against, in `unit` */
  threshold: number;
  unit: AlertUnit;
  updatedAt: string;
  /** What was found, in `unit`: a count of jobs, a share of attempts from 0 to 1, or seconds */
  value: number;
}

/** Alerts that fire, are about to, or did. */
export interface AlertList {
  /** One for each rule and tenant. */
  alerts: Alert[];
  /** Where to go on, as `after`; null at the end of the list. */
  nextCursor?: string | null | undefined;
}

export type AlertRule = "dlq" | "retry_rate" | "exhausted" | "overdue" | "destination" | "new_failure" | "regressed" | "storm";

export type AlertStatus = "ok" | "pending" | "firing";

export type AlertSubject = "jobs" | "deliveries" | "notifications";

export type AlertUnit = "jobs" | "share" | "seconds" | "causes";

/** One attempt, and what followed it. */
export interface Attempt {
  /** Its number, from 1; attempts before a manual retry count. */
  attempt: number;
  /** How many attempts of the job belong to earlier retry budgets. */
  attemptsBefore: number;
  /** The same in figures. */
  decision?: Decision | null | undefined;
  /** How long it took. */
  durationMs: number;
  /** When it started. */
  executionTime: string;
  /** Why the job went on as it did, in a sentence; null after a success. */
  explanation?: string | null | undefined;
  /** What went wrong. */
  failure?: Failure | null | undefined;
  /** When it ended; of a lost attempt, when that was found out. */
  finishedAt: string;
  /** The job it is an attempt of. */
  jobId: string;
  /** When the next attempt is due, if there is one. */
  nextRunAt?: string | null | undefined;
  /** The last note of the handler or worker on its progress. */
  note?: string | null | undefined;
  /** The same in percent. */
  progress?: number | null | undefined;
  /** Whether it is the first attempt after a manual retry. */
  requeued: boolean;
  /** The response that an HTTP job or a webhook got. */
  response?: unknown;
  /** What the handler or worker returned. */
  result?: unknown;
  /** Retries of its budget before it: 0 for the first attempt of each budget. */
  retryCount: number;
  /** How it ended. */
  status: AttemptStatus;
  /**
   * How long each phase took of a call that got no response, in milliseconds, up to the phase in
   * which it failed: `dnsMs`, `connectMs`, `tlsMs`, `firstByteMs`, `bodyMs`. A response has its own.
   */
  timings?: unknown;
  /** The worker or node that ran it. */
  worker?: string | null | undefined;
}

/** A page of attempts. */
export interface AttemptList {
  /** The attempts, newest first. */
  attempts: Attempt[];
  /** Where to go on, as `after`; null at the end of the list. */
  nextCursor?: string | null | undefined;
}

export type AttemptStatus = "SUCCESS" | "FAILED" | "LOST" | "SNOOZED" | "CANCELLED" | "RELEASED";

/** A page of what was done. */
export interface AuditList {
  /** Where to go on, as `after`; null at the end of the list. */
  nextCursor?: string | null | undefined;
  /** The newest first. */
  records: AuditRecord[];
}

/** One command, and who gave it. */
export interface AuditRecord {
  /** What was done, as `job.cancel` or `gate.set`. */
  action: string;
  /** Who gave it. */
  actor: Actor;
  /** When it was carried out. */
  at: string;
  /** More about it, for people. */
  detail?: string | null | undefined;
  /** `aud_…` */
  id: string;
  /** What it was done to. */
  subject: string;
  /** Whose jobs or settings; null for those of all tenants. */
  tenant?: Name | null | undefined;
}

/** How the delay grows from one retry to the next. */
export type Backoff = "exponential" | "linear" | "fixed" | "fibonacci" | "delays";

/** Jobs that are counted together. */
export interface Batch {
  /** When it was created. */
  createdAt: string;
  /** Those that have ended without success. */
  failed: number;
  /** Since when all jobs have ended; null again if one is requeued. */
  finishedAt?: string | null | undefined;
  /** `bat_…` */
  id: string;
  /** The ids of its jobs, in the order of the request. Only in the answer to its creation. */
  jobs?: string[] | null | undefined;
  /** What people call it. */
  name?: string | null | undefined;
  /** The job that is made when all have ended. */
  onEnd?: BatchCallback | null | undefined;
  /** The job that is made when all have succeeded. */
  onSuccess?: BatchCallback | null | undefined;
  /** How many of 100 jobs have ended. */
  progress: number;
  /**
   * `open` while jobs can be added, `running` until all have ended, then `succeeded`, or `failed`
   * if some have failed or were cancelled.
   */
  status: string;
  /** Those that have succeeded. */
  succeeded: number;
  /** Whose batch. */
  tenant: Name;
  /** How many jobs it has. */
  total: number;
  /** Those that have not ended. */
  unfinished: number;
}

/** A job that a batch makes. */
export interface BatchCallback {
  /** Whether it was made. It is made once. */
  created: boolean;
  /** `job_…`, which it has from the beginning. */
  id: string;
}

/** A page of batches. */
export interface BatchList {
  /** The newest first. */
  batches: Batch[];
  /** Where to go on, as `after`; null at the end of the list. */
  nextCursor?: string | null | undefined;
}

/** One thing that keeps a job from running. */
export interface Blocker {
  /** How many jobs are claimed first. */
  ahead?: number | null | undefined;
  /** There are more of them; absent means false. */
  aheadAtLeast?: boolean | null | undefined;
  /** Who paused or holds it. */
  by?: string | null | undefined;
  /** Why a destination is held. */
  evidence?: Record<string, unknown> | null | undefined;
  /** The gate, if it is one. */
  gate?: GateId | null | undefined;
  /** Some of the attempts that run. */
  holders?: GateHolder[] | null | undefined;
  /** The jobs that come first. */
  jobs?: string[] | null | undefined;
  /** What it is. */
  kind: BlockerKind;
  /** Which job received which `Retry-After`; not for keys of one tenant. */
  retryAfter?: Record<string, unknown> | null | undefined;
  /** What it is, for people. */
  sentence: string;
  /** Since when it is paused or held, or since when no worker was seen. */
  since?: string | null | undefined;
  /** When it is gone, if time alone does it. */
  until?: string | null | undefined;
}

export type BlockerKind = "state" | "expired" | "run_at" | "endpoint_disabled" | "runs_after" | "paused" | "held" | "retry_after" | "ramping" | "max_running" | "rate" | "retry_share" | "ordered" | "no_worker" | "behind";

export type BodyFormat = "standard" | "slack";

/** How many jobs were changed, or would be. */
export interface BulkResult {
  /**
   * Counting stopped here: there are at least this many. Of work that goes on, it is the count so
   * far.
   */
  atLeast: boolean;
  /** How many jobs were changed; on a dry run, how many would be. */
  count: number;
  /** Whether it was a dry run. */
  dryRun: boolean;
  /** The operation that does the work, `opr_…`; absent if it was done at once, or only counted. */
  operation?: string | null | undefined;
}

/** A job that a worker holds until its lease runs out. */
export interface Claim {
  /** Proves that the claim still holds: send it back with every request about this attempt. */
  fence: number;
  /** The job's id; it goes into the address of what follows. */
  id: string;
  /** The job itself. */
  job: Job;
  /** Until when the claim holds. */
  leaseUntil?: string | null | undefined;
}

/** A worker's request for jobs. */
export interface ClaimJobsRequest {
  /** Of these kinds, 100 at most; by default of all but those that the node runs by itself. */
  kinds?: Kind[] | undefined;
  /** In place of each job's own lease. */
  lease?: Duration | null | undefined;
  /** How many at most; 10 by default. */
  max?: number | null | undefined;
  /** From these queues, 100 at most; from all by default. */
  queues?: Name[] | undefined;
  /** Of this tenant. Only for keys that see all tenants; other keys have their own. */
  tenant?: Name | null | undefined;
  /** How long to wait for a job, up to 30s; not at all by default. */
  wait?: Duration | null | undefined;
  /** The worker's name; shown with every attempt. */
  worker: Name;
  /** What the worker is; shown in the list of workers. */
  workerInfo?: WorkerInfo | null | undefined;
}

/** The claims that a request got. */
export interface ClaimList {
  /** The claims, perhaps none. */
  claims: Claim[];
}

/** The time of the store. */
export interface Clock {
  /** The time that the store shows now. */
  now: string;
}

/** Jobs by label, and attempts lately and since the beginning. */
export interface Counts {
  /** Cancelled, and still kept. */
  cancelled: number;
  /** Failed, and neither requeued nor discarded. */
  dlqSize: number;
  /** Failed, and still kept. */
  failed: number;
  /** Since when the job waits that has been due longest. */
  oldestReady?: string | null | undefined;
  /** Due, and waiting for a worker. */
  ready: number;
  /** Attempts that ended in the last five minutes. */
  recent: Tally;
  /** Waiting for their next attempt. */
  retrying: number;
  /** Running. */
  running: number;
  /** Waiting for their first time. */
  scheduled: number;
  /** Succeeded, and still kept. */
  succeeded: number;
  /** Attempts since the beginning. */
  total: Tally;
}

/** A batch to be created, with jobs or without. */
export interface CreateBatchRequest {
  /** With a key, repeating the request gives the batch that exists instead of a second one. */
  idempotencyKey?: string | null | undefined;
  /** Its jobs, up to 1,000; more can be added to an open one. */
  jobs?: CreateJobRequest[] | undefined;
  /** What people call it, up to 255 bytes. */
  name?: string | null | undefined;
  /** The job to make when all have ended, however they did. It gets the tag `batch`. */
  onEnd?: CreateJobRequest | null | undefined;
  /**
   * The job to make when all have succeeded, also if that is after requeues. It gets the tag
   * `batch`.
   */
  onSuccess?: CreateJobRequest | null | undefined;
  /** Whether jobs can be added later; such a batch ends only after it was closed. */
  open?: boolean | undefined;
  /** Of this tenant. Only for keys that see all tenants; other keys have their own. */
  tenant?: Name | null | undefined;
}

/** An endpoint to be created. */
export interface CreateEndpointRequest {
  /** For people. */
  description?: string | undefined;
  /** Which events are sent; `job.succeeded` and `job.failed` by default. */
  events?: EventType[] | null | undefined;
  /** `standard` (Standard Webhooks, the default), or `slack` for one line of text. */
  format?: BodyFormat | null | undefined;
  /** The retry policy of its deliveries, over the preset `webhook`. */
  retry?: RetryPolicyInput | null | undefined;
  /** `whsec_…`; generated by default. */
  secret?: string | null | undefined;
  /** The tenant it belongs to. Only for keys that see all tenants; other keys have their own. */
  tenant?: Name | null | undefined;
  /** Where deliveries are sent. */
  url: string;
}

/**
 * A job to be created. Its work is given by `kind` and `payload`, or by `http`, or by `api`;
 * every other field is optional.
 */
export interface CreateJobRequest {
  /** Start it only when these jobs have ended, up to 1,000 of the same tenant. */
  after?: string[] | null | undefined;
  /** Short for `http.url`: an address that gets a POST. */
  api?: string | null | undefined;
  /** The open batch that it is counted in: `bat_…` */
  batch?: string | null | undefined;
  /** What is limited together within the tenant, such as the id of a customer; see gates. */
  concurrencyKey?: string | null | undefined;
  /** Start a unique job only when no request for it has come for so long; each moves its start. */
  debounce?: Duration | null | undefined;
  /**
   * The longest time from the first request to the start, up to 24h; ten times `debounce` by
   * default.
   */
  debounceMax?: Duration | null | undefined;
  /** Not before this long from now. */
  delay?: Duration | null | undefined;
  /**
   * The system that it calls, as an origin; gates and health go by it. An HTTP job has that of
   * its URL.
   */
  destination?: string | null | undefined;
  /** A request that the node sends by itself. */
  http?: HttpTargetRequest | null | undefined;
  /** One key, one job: the same request again answers with the same job. */
  idempotencyKey?: string | null | undefined;
  /** Whether each match of `schedule` makes a job (the default), or only the next one. */
  isRecurring?: boolean | null | undefined;
  /**
   * A name for people. Names the schedule of a recurring job, and the kind of a job that has
   * neither `kind` nor a target.
   */
  jobName?: string | null | undefined;
  /** Which handler or worker it is for. */
  kind?: Kind | null | undefined;
  /** How long a claim holds without being renewed. */
  lease?: Duration | null | undefined;
  /**
   * A stored job to create another like it: what this request does not say is taken from that
   * one, headers and secrets included, but for its keys, its time, its batch and what it waited
   * for. Only for a job that is created alone.
   */
  like?: string | null | undefined;
  /** The same as `maxRetries` + 1. */
  maxAttempts?: number | null | undefined;
  /** Short for `retry.maxRetries`. */
  maxRetries?: number | null | undefined;
  /** Another word for `maxRetries`. */
  maxRetryCount?: number | null | undefined;
  /** What it ends as then; `fail` by default. */
  onExpiry?: ExpiryAction | null | undefined;
  /**
   * What it does if one of those ends without success: it goes on `wait`ing (the default), until
   * that is requeued and succeeds; it `fail`s; or it `run`s as soon as all have ended.
   */
  onFailure?: OnFailure | null | undefined;
  /** The input of the handler or worker: any JSON, up to 256 KiB by default. */
  payload?: unknown;
  /** 0 to 9, higher first; 5 by default. */
  priority?: number | null | undefined;
  /** The queue it waits in; `default` by default. */
  queue?: Name | null | undefined;
  /** Its retry policy, over that of the queue, the tenant and the server. */
  retry?: RetryPolicyInput | null | undefined;
  /** Short for `retry.baseDelay`, over the preset `patient`. */
  retryDelay?: Duration | null | undefined;
  /** Not before this time. */
  runAt?: string | null | undefined;
  /** Cron with 5 or 6 fields (seconds first), or `@hourly` and the like. */
  schedule?: string | null | undefined;
  /**
   * Never start it late: a time, or how long after its creation. If its first attempt has not
   * started by then, it ends with reason `expired_unstarted`.
   */
  startBefore?: string | null | undefined;
  /** Names and values for finding it. */
  tags?: Record<string, string> | null | undefined;
  /** The tenant it belongs to. Only for keys that see all tenants; other keys have their own. */
  tenant?: Name | null | undefined;
  /** How long one attempt may take. */
  timeout?: Duration | null | undefined;
  /** An IANA time zone for `schedule`; UTC by default. */
  timezone?: string | null | undefined;
  /**
   * Its place in a distributed trace, as W3C Trace Context writes it; by default the header
   * `traceparent` of the request. HTTP jobs and webhooks send it on.
   */
  traceparent?: string | null | undefined;
  /** How often it may start. */
  type?: Guarantee | null | undefined;
  /** Makes it the only job of its key within the tenant. */
  unique?: Unique | null | undefined;
  /** Short for `retry.backoff`: exponential or fixed, over the preset `patient`. */
  useExponentialBackoff?: boolean | null | undefined;
  /** Where events of this job are sent. */
  webhook?: WebhookRequest | null | undefined;
}

/** Up to 1,000 jobs, all of them or none. */
export interface CreateJobsRequest {
  /** The jobs; none of them may be recurring. */
  jobs: CreateJobRequest[];
}

/** A key to be created. */
export interface CreateKeyRequest {
  /**
   * When it expires; never by default. A key does not outlive the key of scope `tenant` that
   * creates it.
   */
  expiresAt?: string | null | undefined;
  /** For people. */
  name?: string | undefined;
  /** What it may do. */
  scope: Scope;
  /** The tenant it is for. A key of scope `worker` or `read` is for all tenants by default. */
  tenant?: Name | null | undefined;
}

/** Work on many jobs: those of `ids`, or all that match `filter`. */
export interface CreateOperationRequest {
  /** Must be true if the filter leaves nothing out. */
  all?: boolean | undefined;
  /** Only count the jobs. */
  dryRun?: boolean | undefined;
  /** Which share of the jobs of a canary may fail again, from 0 to 1; 0.2 by default. */
  failShareMax?: number | null | undefined;
  /** Which jobs, in the fields of the list of jobs, without `limit` and `after`. */
  filter?: Record<string, unknown> | null | undefined;
  /** Ids of jobs, up to 10,000. */
  ids?: string[] | null | undefined;
  /**
   * What is done to each job: `requeue` and `discard` are for dead letters, `cancel`, `retry`,
   * `edit_policy` and `run_now` for any.
   */
  kind: string;
  /**
   * `canary` tries three jobs first, then 5 %, 25 % and all of them, and stops if too many fail
   * again; `all`, the default, does not wait.
   */
  mode?: string | null | undefined;
  /** How many jobs it may work on in a second; the setting `bulkRate` by default. */
  pace?: number | null | undefined;
  /** The policy that the jobs get; only of `edit_policy`. */
  retry?: RetryPolicyInput | null | undefined;
  /** Of this tenant. Only for keys that see all tenants; other keys have their own. */
  tenant?: Name | null | undefined;
}

/** What `POST /jobs` takes: one job, or many at once. */
export type CreateRequest = CreateJobRequest | CreateJobsRequest;

/** What `POST /jobs` answers with. */
export type CreateResult = Job | Schedule | JobList;

/**
 * A schedule to be created, or updated if its name exists: a rule (`schedule` or `every`), and the
 * job that each tick makes.
 */
export interface CreateScheduleRequest {
  /** No tick at this time or later. */
  endAt?: string | null | undefined;
  /** At equal distances, in place of `schedule`. */
  every?: Duration | null | undefined;
  /** The job that each tick makes. */
  job: CreateJobRequest;
  /** How many runs it makes at most. */
  maxRuns?: number | null | undefined;
  /**
   * What happens to ticks that passed while no node was running, which are found more than 10 s
   * late. `runAll` needs `overlap` `allow`.
   */
  missed?: MissedTickPolicy | null | undefined;
  /** Unique within the tenant. */
  name: Name;
  /** What happens at a tick while the run before it has not ended. */
  overlap?: OverlapPolicy | null | undefined;
  /** Cron with 5 or 6 fields (seconds first), or `@hourly` and the like. */
  schedule?: string | null | undefined;
  /** No tick before this time. */
  startAt?: string | null | undefined;
  /** An IANA time zone for `schedule`; UTC by default. */
  timezone?: string | null | undefined;
}

/** Which dead letters: those of `ids`, or all that match the other fields. */
export interface DeadLettersRequest {
  /** Must be true to mean every dead letter there is. */
  all?: boolean | undefined;
  /** That are counted in this batch. */
  batch?: string | null | undefined;
  /** Created before this time; when it failed does not matter. */
  before?: string | null | undefined;
  /** With a newest failure of this class. */
  class?: string | null | undefined;
  /** That call this system, as `https://api.example.com`. */
  destination?: string | null | undefined;
  /** Only count them. */
  dryRun?: boolean | undefined;
  /** Ended `failed` before this time. */
  failedBefore?: string | null | undefined;
  /** Ended `failed` at this time or later. */
  failedFrom?: string | null | undefined;
  /** With a newest failure of this fingerprint. */
  fingerprint?: Fingerprint | null | undefined;
  /** Created at this time or later; when it failed does not matter. */
  from?: string | null | undefined;
  /** Ids of dead letters, up to 1,000. */
  ids?: string[] | null | undefined;
  /** Of this kind. */
  kind?: Kind | null | undefined;
  /** A new payload, in place of the one each has; only with `ids`. */
  payload?: unknown;
  /** In this queue. */
  queue?: Name | null | undefined;
  /** Given up for this reason. */
  reason?: EndReason | null | undefined;
  /** Runs of this schedule. */
  schedule?: string | null | undefined;
  /** With all of these tags, each as `order:4711`. */
  tags?: string[] | undefined;
  /** Of this tenant. Only for keys that see all tenants; other keys have their own. */
  tenant?: Name | null | undefined;
  /** With this text in the message of the newest failure, in any case. */
  text?: string | null | undefined;
}

export type DecidedBy = "policy" | "rule" | "at_most_once" | "cancelled" | "non_retryable" | "exhausted" | "expired" | "outcome_unknown" | "snoozed" | "released";

/** Why a job went on as it did, in figures. */
export interface Decision {
  /** The backoff that gave the delay; null if a rule gave it. */
  backoff?: Backoff | null | undefined;
  /** The longest delay that the policy allows. */
  capMs?: number | null | undefined;
  /** The delay after backoff and cap, before jitter. */
  delayMs?: number | null | undefined;
  /** Where the delay came from: the policy's backoff, the rule that matched, or Retry-After. */
  delaySource?: DelaySource | null | undefined;
  /** How the delay was spread. */
  jitter?: Jitter | null | undefined;
  /** The most that the jitter could choose. */
  jitterHighMs?: number | null | undefined;
  /** The least that the jitter could choose. */
  jitterLowMs?: number | null | undefined;
  /** The roll that chose a point between them, from 0 to 1. */
  jitterSample?: number | null | undefined;
  /** The delay that was chosen. */
  jitteredMs?: number | null | undefined;
  /** Which of the policy's rules matched, counted from 0. */
  matchedRule?: number | null | undefined;
  /** How long the policy of that time allowed since the first attempt; null if for ever. */
  maxElapsedMs?: number | null | undefined;
  /** How many retries the policy of that time allowed. */
  maxRetries?: number | null | undefined;
  /** Retries of the budget before this attempt, by the policy of that time. */
  retriesUsed?: number | null | undefined;
  /** How long the target asked to wait, by Retry-After. */
  retryAfterMs?: number | null | undefined;
  /** `policy`, or what decided otherwise. */
  rule: DecidedBy;
}

/** The least that jitter can choose, the middle, and the most. */
export interface DelayRange {
  /** At the highest roll. */
  maxMs: number;
  /** At the lowest roll. */
  minMs: number;
  /** At the middle roll. */
  typicalMs: number;
}

/** What decided a delay. */
export type DelaySource = "policy" | "rule" | "retry_after";

/** A system that jobs call. */
export interface Destination {
  /** Attempts that ended in the last minute or so. */
  attempts: number;
  /** Its origin, as `https://api.example.com`. */
  destination: string;
  /** Those of them that failed because of the destination. */
  failed: number;
  /** Whether jobs follow their policies again because it was held for as long as it may be. */
  givenUp: boolean;
  /** When it counts as unhealthy. */
  health: HealthRules;
  /** Who holds it, if a person does. */
  heldByHand?: HandHold | null | undefined;
  /** What follows if it is found unhealthy. */
  hold: HoldMode;
  /**
   * Whether jobs wait because of its health, or start more slowly: with `hold` `watch` they go on
   * as their policies say, whatever the status, unless a person holds it.
   */
  holdsJobs?: boolean | undefined;
  /** What is wrong at present. */
  incident?: Incident | null | undefined;
  /**
   * How attempts ended in the last minutes in which some failed, the oldest first: up to an hour.
   * Not in lists.
   */
  minutes?: DestinationMinute[] | undefined;
  /** When the next probe may start, if that is what it waits for. */
  nextProbeAt?: string | null | undefined;
  /** What was wrong before, the newest first. */
  pastIncidents: Incident[];
  /** What it asked callers to wait for, if that is not over. */
  retryAfter?: SharedRetryAfter | null | undefined;
  /** Whether a `Retry-After` that one job received counts for all. */
  shareRetryAfter: boolean;
  /** Whether calling it makes sense at present. */
  status: HealthStatus;
  /**
   * The tenant whose attempts alone show this, and whose jobs alone it concerns; null if it is so
   * for all.
   */
  tenant?: string | null | undefined;
}

/** What is coming for a destination. */
export type DestinationForecast = ForecastSeries & {
  /** More jobs wait for it than were counted. */
  atLeast: boolean;
  /** The destination, as `https://api.example.com`. */
  destination: string;
};

/** Destinations of which something is known. */
export interface DestinationList {
  /** By name. Those whose attempts did not fail lately are not listed. */
  destinations: Destination[];
  /** Where to go on, as `after`; null at the end of the list. */
  nextCursor?: string | null | undefined;
}

/** How attempts to call a destination ended within a minute. */
export interface DestinationMinute {
  /** When the minute began. */
  at: string;
  /** Attempts that ended. */
  attempts: number;
  /** Those of them that failed because of the destination. */
  failed: number;
}

/** How a change of clocks (daylight saving time) affects a tick. */
export type Dst = "gap" | "fold";

/** Text as 30s, 5m, 1h30m, or a number of milliseconds */
export type Duration = string | number;

/** Changes to an endpoint; what is left out stays as it is. */
export interface EditEndpointRequest {
  /** For people. */
  description?: string | null | undefined;
  /** Which events are sent. */
  events?: EventType[] | null | undefined;
  /** `standard` or `slack`; of deliveries to come. */
  format?: BodyFormat | null | undefined;
  /** The retry policy of deliveries to come, over the preset `webhook`. */
  retry?: RetryPolicyInput | null | undefined;
  /** Where deliveries are sent, those that wait too. */
  url?: string | null | undefined;
}

/**
 * Changes to a waiting job; a field that is left out stays as it is, and `null` is no way to say
 * so.
 */
export interface EditJobRequest {
  /** A new input; `null` is one, too. */
  payload?: unknown;
  /** 0 to 9, higher first. */
  priority?: number | null | undefined;
  /** Laid over the policy that the job has. */
  retry?: RetryPolicyInput | null | undefined;
  /** When it may run. */
  runAt?: string | null | undefined;
}

/** Changes to a schedule; a field that is left out stays as it is, and `null` clears a limit. */
export interface EditScheduleRequest {
  /** No tick at this time or later; `null` for no such limit. */
  endAt?: string | null | undefined;
  /** At equal distances, in place of `schedule`. */
  every?: Duration | null | undefined;
  /** The job that each tick makes from now on, in place of the one before. */
  job?: CreateJobRequest | null | undefined;
  /** How many runs it makes at most; `null` for no such limit. */
  maxRuns?: number | null | undefined;
  /**
   * What happens to ticks that passed while no node was running, which are found more than 10 s
   * late. `runAll` needs `overlap` `allow`.
   */
  missed?: MissedTickPolicy | null | undefined;
  /** What happens at a tick while the run before it has not ended. */
  overlap?: OverlapPolicy | null | undefined;
  /** Cron with 5 or 6 fields (seconds first), or `@hourly` and the like. */
  schedule?: string | null | undefined;
  /** No tick before this time; `null` for no such limit. */
  startAt?: string | null | undefined;
  /** An IANA time zone for `schedule`. */
  timezone?: string | null | undefined;
}

export type EndReason = "at_most_once" | "cancelled" | "rule" | "non_retryable" | "exhausted" | "expired" | "expired_unstarted" | "prerequisite_failed" | "outcome_unknown";

/** An endpoint, without its secrets. */
export interface Endpoint {
  /** When it was created. */
  createdAt: string;
  /** For people. */
  description: string;
  /** Whether nothing is sent; deliveries wait until it is enabled. */
  disabled: boolean;
  /** Since when it has been disabled. */
  disabledAt?: string | null | undefined;
  /** Why it was disabled, if its target said that it is gone. */
  disabledReason?: string | null | undefined;
  /** Which events are sent. */
  events: EventType[];
  /** How deliveries are written. */
  format: BodyFormat;
  /** `end_…` */
  id: string;
  /** How many secrets sign at the moment. */
  liveSecrets: number;
  /** The tenant it belongs to. */
  tenant: string;
  /** Where deliveries are sent. */
  url: string;
}

/** All endpoints. */
export interface EndpointList {
  /** Oldest first. */
  endpoints: Endpoint[];
  /** Where to go on, as `after`; null at the end of the list. */
  nextCursor?: string | null | undefined;
}

/** An endpoint with the secret that signs, which is in this one response only. */
export type EndpointWithSecret = Endpoint & {
  /** `whsec_…`: verify deliveries with it. */
  secret: string;
};

export type EventType = "job.succeeded" | "job.failed" | "job.retrying" | "job.cancelled" | "alert.fired" | "alert.renotified" | "alert.resolved" | "endpoint.disabled" | "endpoint.test";

export type ExpiryAction = "fail" | "cancel";

/** A report that an attempt failed. */
export interface FailRequest {
  /** What went wrong. */
  failure?: FailureRequest | null | undefined;
  /** That of the claim. */
  fence: number;
}

/** What went wrong */
export interface Failure {
  class: string;
  fingerprint?: Fingerprint | undefined;
  httpStatus?: number | undefined;
  message: string;
  /** The worker says that no retry can cure it, whatever its class */
  permanent?: boolean | undefined;
  retryAfter?: string | undefined;
  /** The stack trace; only in the attempts of a job */
  trace?: string | undefined;
}

/** One failure of a group. */
export interface FailureExample {
  /** When it ended. */
  at: string;
  /** The number of the attempt. */
  attempt: number;
  /** What went wrong. */
  failure: Failure;
  /** Whose attempt it was. */
  jobId: string;
}

/** Failures of one cause, of one tenant. */
export interface FailureGroup {
  /** The class of the failures. */
  class?: string | null | undefined;
  /** How many attempts failed. */
  count: number;
  /** How many of the jobs are dead letters now. */
  deadLetters: number;
  /** Which systems the jobs call, some of them if there are many. */
  destinations: string[];
  /** The newest of them. */
  example?: FailureExample | null | undefined;
  /**
   * What they have in common. `0000000000000000` stands for all failures beyond the number of
   * groups that a tenant may have.
   */
  fingerprint: Fingerprint;
  /** When the first of them ended. */
  firstSeen: string;
  /** How many in each hour of the last week, the present hour last. */
  hours: number[];
  /** Their HTTP status, if they have one. */
  httpStatus?: number | null | undefined;
  /** How many jobs they were of. A job that failed otherwise in between counts again. */
  jobs: number;
  /** The kinds of the jobs, some of them if there are many. */
  kinds: string[];
  /** When the newest of them ended. */
  lastSeen: string;
  /** Who said so last, by the name of the key. */
  markedBy?: string | null | undefined;
  /** The message without its changing parts. */
  pattern: string;
  /** The queues of the jobs, some of them if there are many. */
  queues: string[];
  /** What is known of the cause. */
  state: FailureState;
  /** When that was written. */
  stateSince: string;
  /** Whose jobs failed. */
  tenant: Name;
  /** Versions of the workers that ran them, as far as they are known. */
  workerVersions: string[];
}

/** A page of groups of failures. */
export interface FailureList {
  /** The groups, those with the most failures first. */
  failures: FailureGroup[];
  /** Where to go on, as `after`; null at the end of the list. */
  nextCursor?: string | null | undefined;
}

export type FailureMark = "known" | "fixed";

/** What went wrong, in the worker's words. */
export interface FailureRequest {
  /**
   * `error` by default. `validation`, `not_found`, `unauthorized`, `forbidden` and `syntax` are
   * not retried; any name of your own is, unless `permanent` says otherwise.
   */
  class?: string | null | undefined;
  /** The status of the response that was not a success. */
  httpStatus?: number | null | undefined;
  /** A sentence for people. */
  message?: string | null | undefined;
  /**
   * No retry can cure it, whatever its class: the job becomes a dead letter, unless a rule of its
   * policy retries the class.
   */
  permanent?: boolean | undefined;
  /** Not before this long from now. */
  retryAfter?: Duration | null | undefined;
  /** The stack trace, kept with the attempt; of one over 64 KiB the middle is left out. */
  trace?: string | null | undefined;
}

export type FailureState = "new" | "known" | "fixed" | "regressed";

/** What failures of one cause have in common */
export type Fingerprint = string;

/** What is coming, by queue and by destination. */
export interface Forecast {
  /** Destinations where attempts failed lately, with something to come; up to 20. */
  destinations: DestinationForecast[];
  /** Where the first minute begins. */
  from: string;
  /** There was too much to read all of it. */
  isCut: boolean;
  /** Queues with something to come, those first of which the most is; up to 50. */
  queues: QueueForecast[];
}

/** One number for each minute. */
export interface ForecastSeries {
  /** Jobs that are due and have not started at the end of the minute. */
  backlog: number[];
  /** Jobs that become due; what is due already is in the first minute. */
  due: number[];
  /** How long the last of the jobs that are due at the same time waits, at worst. */
  longestWaitMs?: number | null | undefined;
  /** Attempts that can start. */
  starts: number[];
  /** All of it as a sentence. */
  summary: string;
  /** The most attempts that lately succeeded in a minute without trouble; null if it is not known. */
  sustainedPerMinute?: number | null | undefined;
}

/** A gate, with its present use where that is known. */
export type Gate = GateSettings & {
  /** When the next attempt may start; only if a rate holds it back. */
  nextStart?: string | null | undefined;
  /** How many attempts run; only if the gate limits that. */
  running?: number | null | undefined;
};

/** A job that takes up room of a gate. */
export interface GateHolder {
  /** The job that runs. */
  job: string;
  /** Since when. */
  since: string;
  /** Whose job it is. */
  tenant: string;
  /** Who runs it. */
  worker?: string | null | undefined;
}

/** Which gate. */
export interface GateId {
  /** The queue, kind, tenant, destination or concurrency key. */
  key: string;
  /** What `key` names. */
  scope: GateScope;
  /** Only for jobs of this tenant; absent if it is for all. */
  tenant?: string | null | undefined;
}

/** All gates. */
export interface GateList {
  /** By scope, key and tenant. */
  gates: Gate[];
  /** Where to go on, as `after`; null at the end of the list. */
  nextCursor?: string | null | undefined;
}

export type GateScope = "queue" | "kind" | "tenant" | "destination" | "key";

/** Which jobs a gate is for, and what it lets through. */
export interface GateSettings {
  /** When the destination counts as unhealthy. */
  health?: HealthRules | null | undefined;
  /** What follows if the destination is found unhealthy. */
  hold?: HoldMode | null | undefined;
  /** The queue, kind, tenant, destination or concurrency key. */
  key: string;
  /** How many attempts may run at once. */
  maxRunning?: number | null | undefined;
  /** One at a time, in the order of creation; absent means false. */
  ordered?: boolean | null | undefined;
  /** Closed by a person. */
  paused?: Pause | null | undefined;
  /** How many attempts may start in a time. */
  rate?: Rate | null | undefined;
  /** Which part of the starts in a minute may be retries. */
  retryShare?: number | null | undefined;
  /** What `key` names. */
  scope: GateScope;
  /** Whether a `Retry-After` that one job received counts for all jobs of the destination. */
  shareRetryAfter?: boolean | null | undefined;
  /** Only for jobs of this tenant; absent if it is for all, and for scope `tenant`. */
  tenant?: Name | null | undefined;
  /** What the tenant counts for beside others. */
  weight?: number | null | undefined;
}

export type Guarantee = "AT_LEAST_ONCE" | "AT_MOST_ONCE";

/** Who holds a destination, and why. */
export interface HandHold {
  /** Who, by the name of the key. */
  by?: string | null | undefined;
  /** For people. */
  reason?: string | null | undefined;
  /** Since when. */
  since: string;
  /** When it is released by itself; null if a person has to. */
  until?: string | null | undefined;
}

/** When a destination counts as unhealthy. */
export interface HealthRules {
  /** At least this part of them must have failed because of the destination; 0.8 by default. */
  failedShare?: number | null | undefined;
  /** How long jobs are held at most; `1h` by default. */
  maxHold?: Duration | null | undefined;
  /** At least this many attempts must have ended; 20 by default. */
  minAttempts?: number | null | undefined;
  /** They must have been of at least this many different jobs; 5 by default. */
  minJobs?: number | null | undefined;
  /** All of it within this time; `1m` by default. */
  window?: Duration | null | undefined;
}

export type HealthStatus = "healthy" | "held" | "probing" | "ramping";

/** A sign that one of many attempts still runs. */
export interface HeartbeatEntry {
  /** That of the claim. */
  fence: number;
  /** The job's id. */
  id: string;
  /** How long the claim shall hold from now; the job's own lease by default. */
  lease?: Duration | null | undefined;
  /** How far the work has come, for people; the last note stays by default. */
  note?: string | null | undefined;
  /** The same in percent, as a whole number; the last one stays by default. */
  progress?: number | null | undefined;
}

/** One result for each heartbeat. */
export interface HeartbeatList {
  /** In the order of the request. */
  claims: HeartbeatResult[];
}

/** A sign that an attempt still runs. */
export interface HeartbeatRequest {
  /** That of the claim. */
  fence: number;
  /** How long the claim shall hold from now; the job's own lease by default. */
  lease?: Duration | null | undefined;
  /** How far the work has come, for people; the last note stays by default. */
  note?: string | null | undefined;
  /** The same in percent, as a whole number; the last one stays by default. */
  progress?: number | null | undefined;
}

/** What became of one heartbeat. The fields of the lease are there if it is ok. */
export interface HeartbeatResult {
  /** A cancel was requested: stop, and report `fail` or `succeed` as it then is. */
  cancelRequested?: boolean | null | undefined;
  /** `stale_fence` or `not_found`, if the claim does not hold; `invalid` if a field is wrong. */
  code?: string | null | undefined;
  /** When the attempt has run for as long as its job's timeout allows. No lease lasts longer. */
  deadline?: string | null | undefined;
  /** A sentence for people, if it is not ok. */
  detail?: string | null | undefined;
  /** The job's id, as it was sent. */
  id: string;
  /** Until when the claim holds now. */
  leaseUntil?: string | null | undefined;
  /** Whether the claim still holds. */
  ok: boolean;
  /** The deadline is over: stop. The attempt fails with class `timeout`. */
  timedOut?: boolean | null | undefined;
}

/** Signs that many attempts still run, in one request. */
export interface HeartbeatsRequest {
  /** One for each attempt, up to 1,000. */
  claims: HeartbeatEntry[];
  /** The worker's name, as it claims; it is shown as seen now. */
  worker: Name;
}

/** Why a destination is held, and until when. */
export interface HoldDestinationRequest {
  /** For people. */
  reason?: string | null | undefined;
  /** When jobs may start again by themselves. */
  until?: string | null | undefined;
}

export type HoldMode = "watch" | "auto" | "off";

/** Where an HTTP job goes. Its headers and its body may hold secrets and are left out. */
export interface HttpTarget {
  /** The verb. */
  method: string;
  /** The address. */
  url: string;
}

/** The request that an HTTP job sends. */
export interface HttpTargetRequest {
  /** Any JSON; a string goes out as plain text if a `content-type` other than JSON is given. */
  body?: unknown;
  /** Headers by name. Their values are stored and never shown. */
  headers?: Record<string, string> | undefined;
  /** `POST` by default. */
  method?: string | null | undefined;
  /** Where it goes. */
  url: string;
}

/** What is left to do at the present time. */
export interface Idle {
  /** Jobs and schedules that are due. */
  due: number;
  /** The time that the store shows now. */
  now: string;
  /** Jobs that run. */
  running: number;
}

/** A time in which a destination did not work, or was held by a person. */
export interface Incident {
  /** Attempts that holding has saved, at least. */
  attemptsSaved: number;
  /** Attempts that holding would have saved where attempts went on. */
  avoidableAttempts: number;
  /** When it was noticed. */
  beganAt: string;
  /** Why it began, as a sentence. */
  cause: string;
  /** When it was over; null until then. */
  endedAt?: string | null | undefined;
  /** Attempts that failed because of the destination after it began. */
  failedAttempts: number;
  /** Probes that failed, or would have where attempts go on. */
  failedProbes: number;
  /** When jobs began to follow their policies again because it lasted too long. */
  givenUpAt?: string | null | undefined;
  /** The most due jobs that waited for its end at one time. */
  jobsDelayed: number;
  /** Who released it, if a person did. */
  releasedBy?: string | null | undefined;
  /** Whose attempts failed; only for keys that see all tenants. */
  tenants: string[];
}

/** How a delay is spread, so that jobs that failed together do not come back together. */
export type Jitter = "none" | "proportional" | "full" | "equal" | "decorrelated";

/** A job, with everything that is known of it. */
export interface Job {
  /** The jobs that it was created to wait for. Only if the job is read by itself. */
  after?: Prerequisite[] | null | undefined;
  /** Attempts so far, those before a manual retry included. */
  attempt: number;
  /** How many of them belong to earlier retry budgets: those before the last manual retry. */
  attemptsBefore: number;
  /** The batch that it is counted in: `bat_…` */
  batch?: string | null | undefined;
  /** Whether a cancel waits for the running attempt to end. */
  cancelRequested: boolean;
  /** What is limited together within the tenant. */
  concurrencyKey?: string | null | undefined;
  /** When it was created. */
  createdAt: string;
  /**
   * How many jobs wait for it, or did; at most 10,000 are counted. Only if the job is read by
   * itself, and there are any.
   */
  dependants?: number | null | undefined;
  /** The system that it calls, as an origin. */
  destination?: string | null | undefined;
  /** The same in words. */
  explanation?: string | null | undefined;
  /** The newest failure. */
  failure?: Failure | null | undefined;
  /** When it ended. */
  finishedAt?: string | null | undefined;
  /** Where an HTTP job goes. */
  http?: HttpTarget | null | undefined;
  /** `job_…` */
  id: string;
  /** The key it was created with. */
  idempotencyKey?: string | null | undefined;
  /** Which handler or worker it is for; `http` and `webhook` are run by the node itself. */
  kind: string;
  /** Where it stands. */
  label: JobLabel;
  /** How long a claim holds without being renewed. */
  leaseMs: number;
  /** Until when the running attempt holds it. */
  leaseUntil?: string | null | undefined;
  /** How many retries each budget has. */
  maxRetries: number;
  /** The newest note of the handler or worker on its progress. */
  note?: string | null | undefined;
  /** What it ends as then. */
  onExpiry?: ExpiryAction | null | undefined;
  /** What it does if one of those ends without success. */
  onFailure?: OnFailure | null | undefined;
  /** The input. Null for HTTP jobs, whose headers may hold secrets, and in lists and webhooks. */
  payload?: unknown;
  /** 0 to 9, higher first. */
  priority: number;
  /** The same in percent. */
  progress?: number | null | undefined;
  /** The queue it waits in. */
  queue: string;
  /** Why it ended, unless it succeeded. */
  reason?: EndReason | null | undefined;
  /** When a dead letter was discarded. */
  resolvedAt?: string | null | undefined;
  /**
   * What the handler or worker returned, if the job has succeeded. Null unless the job is read
   * by itself.
   */
  result?: unknown;
  /** The policy in force. */
  retry: RetryPolicy;
  /** Retries so far of the present budget, to be read beside `maxRetries`. */
  retryCount: number;
  /** When it may run, or was to run when it last did. */
  runAt: string;
  /** The schedule it is a run of. */
  scheduleId?: string | null | undefined;
  /** The tick it is the run of. */
  scheduledFor?: string | null | undefined;
  /** When it is too late for its first attempt to start. */
  startBefore?: string | null | undefined;
  /** When its newest attempt started. */
  startedAt?: string | null | undefined;
  /** Names and values for finding it. */
  tags: Record<string, string>;
  /** The tenant it belongs to. */
  tenant: string;
  /** How long one attempt may take. */
  timeoutMs?: number | null | undefined;
  /** Its place in a distributed trace, as W3C Trace Context writes it. */
  traceparent?: string | null | undefined;
  /** How often it may start. */
  type: Guarantee;
  /** What makes it the only job of its key. */
  unique?: Unique | null | undefined;
  /** In the answer to a create: what became of the job that had the unique key already. */
  uniqueResult?: UniqueResult | null | undefined;
  /**
   * The jobs that it waits for, and the gates at which a job waits that is due. In lists, only what gates say by themselves:
   * pauses, holds, and what destinations asked for.
   */
  waitingFor?: Blocker[] | undefined;
  /** Where events of this job are sent; of a delivery, where it goes. */
  webhook?: Webhook | null | undefined;
  /** The worker or node that holds it, or held it last. */
  worker?: string | null | undefined;
}

export type JobLabel = "scheduled" | "ready" | "running" | "retrying" | "succeeded" | "failed" | "cancelled";

/** A page of jobs. */
export interface JobList {
  /** The jobs, newest first, without their payloads. */
  jobs: Job[];
  /**
   * Where to go on, as `after`; null at the end of the list. A page may hold fewer
   * jobs than `limit`, even none, and still have a next one.
   */
  nextCursor?: string | null | undefined;
}

/** A key, without its token. */
export interface Key {
  /** When it was created. */
  createdAt: string;
  /**
   * The key that created it; null if none did. If that one is of scope `tenant`, this one is
   * revoked with it.
   */
  createdBy?: string | null | undefined;
  /** From then on it is refused; null if it does not expire. */
  expiresAt?: string | null | undefined;
  /** `key_…` */
  id: string;
  /** When it was last used, give or take a minute; null if it never was. */
  lastUsedAt?: string | null | undefined;
  /** For people. */
  name: string;
  /** What it may do. */
  scope: Scope;
  /** The tenant it is for; all tenants if null. */
  tenant?: string | null | undefined;
}

/** All keys that the caller may see. */
export interface KeyList {
  /** Oldest first. */
  keys: Key[];
  /** Where to go on, as `after`; null at the end of the list. */
  nextCursor?: string | null | undefined;
}

/** A key with its token, which is in this one response only. */
export type KeyWithToken = Key & {
  /** Send it as `Authorization: Bearer …`. */
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

/** A lease that was renewed. */
export interface Lease {
  /** A cancel was requested: stop, and report `fail` or `succeed` as it then is. */
  cancelRequested: boolean;
  /** When the attempt has run for as long as its job's timeout allows. No lease lasts longer. */
  deadline?: string | null | undefined;
  /** Until when the claim holds now. */
  leaseUntil: string;
  /** The deadline is over: stop. The attempt fails with class `timeout`. */
  timedOut?: boolean | undefined;
}

/** What a person says of a group of failures. */
export interface MarkFailureRequest {
  /**
   * `known`: a person has looked at it. `fixed`: it is repaired, and being seen again is worth an
   * alert.
   */
  state: FailureMark;
}

/** Attempts by the minute. */
export interface MinuteList {
  /** Oldest first; minutes without an attempt are left out. */
  minutes: MinuteStats[];
}

/** Attempts that ended within one minute. */
export type MinuteStats = Tally & {
  /** The minute's beginning. */
  at: string;
};

/** What happens to ticks that were missed */
export type MissedTickPolicy = "skip" | "runOnce" | "runAll";

export type Name = string;

/** One process that serves the store. */
export interface Node {
  /** Whether that was recent enough. */
  alive: boolean;
  /** How many jobs it runs at once. */
  concurrency: number;
  /** How many it runs at the moment. */
  inFlight: number;
  /** When it last gave a sign of life. */
  lastSeen: string;
  /** Its name. */
  name: string;
  /** Which queues it serves; all if the list is empty. */
  queues: string[];
  /** When it started. */
  startedAt: string;
  /** The version of Steadfast that it runs. */
  version: string;
}

/** All nodes. */
export interface NodeList {
  /** Where to go on, as `after`; null at the end of the list. */
  nextCursor?: string | null | undefined;
  /** By name. */
  nodes: Node[];
}

export type OnFailure = "wait" | "fail" | "run";

/** Work on many jobs, and how far it has come. */
export interface Operation {
  /** There may be more than `total`: counting stopped early. */
  atLeast: boolean;
  /** Who asked for it. */
  by: Actor;
  /** Those that were changed; the others did not allow it. */
  changed: number;
  /** When it was created. */
  createdAt: string;
  /** Which jobs, for people. */
  filter: string;
  /** When it ended. */
  finishedAt?: string | null | undefined;
  /** `opr_…` */
  id: string;
  /** It is for named jobs. */
  isNamed: boolean;
  /** What is done to each job. */
  kind: string;
  /** `all` or `canary`. */
  mode: string;
  /** How the next attempts of the jobs of a canary ended. */
  outcomes: OperationOutcomes;
  /** How many jobs it may work on in a second. */
  pace?: number | null | undefined;
  /** What was done and what was not, as a sentence. */
  report: string;
  /** The stage of a canary, from 0 to 3. */
  stage: number;
  /** `running`, `paused`, `done`, `cancelled`, or `stopped` if failures came back. */
  status: string;
  /** Why it has stopped itself. */
  stopReason?: string | null | undefined;
  /** Whose jobs; null for those of all tenants. */
  tenant?: Name | null | undefined;
  /** How many jobs there are. */
  total: number;
  /** Jobs that it has looked at. */
  worked: number;
}

/** What an operation did to a job. */
export interface OperationJob {
  /** `job_…` */
  job: string;
  /** How the next attempt ended, if a canary watches that. */
  outcome?: string | null | undefined;
  /** `changed`, or why not; null if its turn has not come. */
  result?: string | null | undefined;
}

/** A page of the jobs of an operation. */
export interface OperationJobList {
  /** The newest id first. */
  jobs: OperationJob[];
  /** Where to go on, as `after`; null at the end of the list. */
  nextCursor?: string | null | undefined;
}

/** A page of operations. */
export interface OperationList {
  /** Where to go on, as `after`; null at the end of the list. */
  nextCursor?: string | null | undefined;
  /** The newest first. */
  operations: Operation[];
}

/** How the next attempts of jobs ended. */
export interface OperationOutcomes {
  /** They failed as before. */
  failedAgain: number;
  /** They failed in another way. */
  failedOtherwise: number;
  /** They succeeded. */
  succeeded: number;
  /** It will not be known. */
  unknown: number;
}

/** What happens to a tick while the last run is unfinished, its retries included. */
export type OverlapPolicy = "skip" | "allow" | "queueOne" | "replace";

/** Who closed a gate, and why. */
export interface Pause {
  /** Who, by the name of the key. */
  by?: string | null | undefined;
  /** For people. */
  reason?: string | null | undefined;
  /** Since when. */
  since: string;
  /** When it opens by itself. */
  until?: string | null | undefined;
}

/** Why a gate is closed, and until when. */
export interface PauseDetails {
  /** For people. */
  reason?: string | null | undefined;
  /** When it opens by itself. */
  until?: string | null | undefined;
}

/** Why a queue is paused, and until when. */
export interface PauseQueueRequest {
  /** For people. */
  reason?: string | null | undefined;
  /** When it is resumed by itself. */
  until?: string | null | undefined;
}

/** true or an object to close the gate, false to open it */
export type PauseRequest = boolean | PauseDetails;

/** What a policy would do to a job that always fails at once. */
export interface PolicyPreview {
  /** Each attempt it would make. */
  attempts: PolicyPreviewAttempt[];
  /** When it gives up, counted from the first attempt. */
  givesUp: DelayRange;
  /** The policy, complete. */
  retry: RetryPolicy;
}

/** One attempt of a preview. */
export interface PolicyPreviewAttempt {
  /** When it starts, counted from the first attempt. */
  at: DelayRange;
  /** Its number, from 1. */
  attempt: number;
  /** The wait before it. */
  delay: DelayRange;
  /** Retries before it. */
  retryCount: number;
}

/** What a policy would have done, beside what was done. */
export interface PolicyReplay {
  /** Whether there were more attempts than are read, so that older jobs were left out. */
  isCut: boolean;
  /** The other policy; null if too little was observed to know. */
  new?: ReplayFigures | null | undefined;
  /**
   * For which share of the retries of the other policy something was observed near their time,
   * from 0 to 1. Below 0.8 there is no `new`.
   */
  observedShare: number;
  /**
   * The policies that were used, replayed as the other one: how far this is from the record is how
   * far `new` may be from the truth.
   */
  old?: ReplayFigures | null | undefined;
  /** What is on record. */
  recorded: ReplayFigures;
  /** The jobs were created at this time or later. */
  since: string;
  /** The result as a sentence; that it is not known, if too little was observed. */
  summary: string;
}

/** A job that another one waits for. */
export interface Prerequisite {
  /** Its id. */
  id: string;
  /** Where it stands. One that was discarded or deleted without success is `given_up`. */
  state: PrerequisiteState;
}

export type PrerequisiteState = "unfinished" | "succeeded" | "failed" | "given_up";

export type Preset = "http" | "queue" | "patient" | "webhook" | "conservative" | "aggressive" | "once";

/** A policy to be looked at. */
export interface PreviewPolicyRequest {
  /** The policy, over the preset it names or over `queue`. */
  retry?: RetryPolicyInput | null | undefined;
}

/** A problem. The code is for programs, the sentence for people, and the field says where to look. */
export interface Problem {
  /** Stable; programs may rely on it. */
  code: string;
  /** A sentence for people. */
  detail: string;
  /** The field at fault, if there is one. */
  field?: string | undefined;
  /** The status of the response. */
  status: number;
  /** The name of the status. */
  title: string;
  /** Always `about:blank`: the code says what kind of problem it is. */
  type: string;
}

/** A queue, with its counts. */
export type Queue = Counts & {
  /** Its name. */
  name: string;
  /** Who paused it, why, and until when, if that is known. */
  pause?: Pause | null | undefined;
  /** Whether its jobs wait until it is resumed. */
  paused: boolean;
  /** The tenant it belongs to. */
  tenant: string;
};

/** What keeps the jobs of a queue from running. */
export interface QueueExplanation {
  /** Why the next job has not started, if one is due. */
  next?: StartExplanation | null | undefined;
  /** The queue. */
  queue: string;
  /** Jobs that are due and wait. */
  ready: number;
  /** Jobs that run. */
  running: number;
  /** Jobs that are due later. */
  scheduled: number;
  /** In a sentence or two. */
  sentence: string;
}

/** What is coming in a queue. */
export type QueueForecast = ForecastSeries & {
  /**
   * By which part of the attempts that came forecasts of this queue were wrong in the last six
   * hours, ten minutes ahead and over all tenants: 0 for not at all. Null if it is not known yet.
   */
  errorShare?: number | null | undefined;
  /** The queue. */
  queue: string;
};

/** All queues. */
export interface QueueList {
  /** Where to go on, as `after`; null at the end of the list. */
  nextCursor?: string | null | undefined;
  /** By tenant and name. */
  queues: Queue[];
}

/**
 * How many may start in a time: never more than `limit + burst` starts in any window of
 * length `per`.
 */
export interface Rate {
  /** How many more, after a time in which fewer started; 0 by default. */
  burst?: number | null | undefined;
  /** How many. */
  limit: number;
  /** In which time, from `1s` to `1d`. */
  per: Duration;
}

/** A request to take a job back, without counting this attempt: the worker stops. */
export interface ReleaseRequest {
  /** That of the claim. */
  fence: number;
}

/** What came of jobs under a policy. */
export interface ReplayFigures {
  /** Attempts that were made for them. */
  attempts: number;
  /** How many of them became dead letters. */
  deadLetters: number;
  /** Jobs; one that was requeued counts again. */
  jobs: number;
  /** Attempts that started in the fullest minute. */
  peakStartsPerMinute: number;
  /** How many of them succeeded. */
  successes: number;
  /** From the start of the first attempt to success, for half of those that succeeded. */
  timeToSuccessP50Ms?: number | null | undefined;
  /** The same for 95 of 100. */
  timeToSuccessP95Ms?: number | null | undefined;
}

/**
 * Another policy, and the jobs over whose attempts it is run: at least one of `queue`, `kind` and
 * `destination`.
 */
export interface ReplayPolicyRequest {
  /** Jobs that call this system, as `https://api.example.com`. */
  destination?: string | null | undefined;
  /** Jobs of this kind. */
  kind?: Name | null | undefined;
  /** Jobs of this queue. */
  queue?: Name | null | undefined;
  /** The other policy: what jobs would have got that were created with this `retry`. */
  retry?: RetryPolicyInput | null | undefined;
  /** Jobs that were created at this time or later, at most a week ago; a day ago by default. */
  since?: string | null | undefined;
  /** Of this tenant. Only for keys that see all tenants; other keys have their own. */
  tenant?: Name | null | undefined;
}

/** A manual retry of a job that ended. */
export interface RetryJobRequest {
  /** A new input, in place of the one it had. */
  payload?: unknown;
}

/** The policy in force, complete */
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
  /** An explicit list; the last entry repeats */
  delays?: Duration[] | undefined;
  /** Of exponential backoff */
  factor?: number | undefined;
  jitter?: Jitter | undefined;
  jitterFactor?: number | undefined;
  /** The same as maxRetries + 1 */
  maxAttempts?: number | undefined;
  maxDelay?: Duration | undefined;
  maxElapsed?: Duration | undefined;
  /** Retries after the first attempt */
  maxRetries?: number | undefined;
  preset?: Preset | undefined;
  /** The first that matches decides */
  rules?: RetryRule[] | undefined;
}

/** A retry policy: a preset's name, or an object with any of its fields. What it leaves out comes from the next level: schedule, queue, tenant, server. */
export type RetryPolicyInput = Preset | RetryPolicyFields;

/** When a failure looks like this, do that */
export interface RetryRule {
  /** "any", or an object with class, status and message; all that are given must hold */
  match: "any" | {
    class?: string | string[] | undefined;
    /** The whole message, with * for any run of characters */
    message?: string | undefined;
    /** 503, "5xx" or "500-504" */
    status?: number | string | Array<number | string> | undefined;
  };
  /** Retry, give up, or retry after this long */
  then: "retry" | "fail" | {
    retry: Duration;
  };
}

/** A change of the secret that signs. */
export interface RotateSecretRequest {
  /** How long the old secret signs beside the new one; 1d by default. */
  overlap?: Duration | null | undefined;
  /** The new secret; generated by default. */
  secret?: string | null | undefined;
}

/** A request to wait until nothing is left to do. */
export interface RunUntilIdleRequest {
  /** How long to wait, up to 60s; 10s by default. */
  timeout?: Duration | null | undefined;
}

/** The result of a step of an attempt, to be stored. */
export interface SaveStepRequest {
  /** That of the claim. */
  fence: number;
  /** Any JSON, up to 64 KiB; null by default. */
  result?: unknown;
}

/** A schedule, with its next ticks. */
export interface Schedule {
  /** When it was created. */
  createdAt: string;
  /** No tick at this time or later. */
  endAt?: string | null | undefined;
  /** Its interval, if it has no cron rule. */
  every?: string | null | undefined;
  /** `sch_…` */
  id: string;
  /** What its rule means: `at 09:00 on Monday to Friday`. */
  inWords?: string | undefined;
  /** The job that each tick makes. */
  job: Job;
  /** Its newest tick. */
  lastTick?: string | null | undefined;
  /** How many runs it makes at most. */
  maxRuns?: number | null | undefined;
  /** What happens to ticks that passed while no node was running. */
  missed: MissedTickPolicy;
  /** Unique within the tenant. */
  name: string;
  /** Its next tick. */
  nextTick?: string | null | undefined;
  /** What happens at a tick while the run before it has not ended. */
  overlap: OverlapPolicy;
  /** Whether it makes no runs until it is resumed. */
  paused: boolean;
  /** How many runs it has made. */
  runs: number;
  /** Its cron rule. */
  schedule?: string | null | undefined;
  /** No tick before this time. */
  startAt?: string | null | undefined;
  /** The tenant it belongs to. */
  tenant: string;
  /** The time zone of its cron rule. */
  timezone?: string | null | undefined;
  /** The next ticks, soonest first; empty while it is paused. */
  upcoming: UpcomingTick[];
}

/** A page of schedules. */
export interface ScheduleList {
  /** Where to go on, as `after`; null at the end of the list. */
  nextCursor?: string | null | undefined;
  /** Newest first. */
  schedules: Schedule[];
}

export type Scope = "admin" | "tenant" | "worker" | "read";

/**
 * The settings of a destination. With `PUT` those that are left out are as by default; with `PATCH`
 * they stay, and null makes one as by default.
 */
export interface SetDestinationRequest {
  /** When it counts as unhealthy. */
  health?: HealthRules | null | undefined;
  /** What follows if it is found unhealthy; `watch` by default. */
  hold?: HoldMode | null | undefined;
  /** Whether a `Retry-After` that one job received counts for all; true by default. */
  shareRetryAfter?: boolean | null | undefined;
}

/** The limits of a gate. */
export interface SetGateRequest {
  /** When the destination counts as unhealthy. Only for scope `destination`, for all tenants. */
  health?: HealthRules | null | undefined;
  /**
   * What follows if the destination is found unhealthy; `watch` by default. Only for scopes
   * `destination` and `tenant`.
   */
  hold?: HoldMode | null | undefined;
  /** How many attempts may run at once, over all nodes; null for no limit. */
  maxRunning?: number | null | undefined;
  /**
   * One at a time, in the order of creation; one that is retried holds back those behind it.
   * Only for scope `key`.
   */
  ordered?: boolean | null | undefined;
  /** `true` or an object to close the gate, `false` to open it. */
  paused?: PauseRequest | null | undefined;
  /** How many attempts may start in a time, over all nodes; null for no limit. */
  rate?: Rate | null | undefined;
  /** Which part of the starts in a minute may be retries; a few always may. */
  retryShare?: number | null | undefined;
  /**
   * Whether a `Retry-After` that one job received counts for all jobs of the destination; true
   * by default. Only for scope `destination`, for all tenants.
   */
  shareRetryAfter?: boolean | null | undefined;
  /** What the tenant counts for beside others; 1 by default. Only for scope `tenant`. */
  weight?: number | null | undefined;
}

/** The ends of many attempts, in one request. */
export interface SettleRequest {
  /** One for each attempt, up to 1,000. */
  settlements: SettlementRequest[];
}

/** One result for each settlement. */
export interface SettlementList {
  /** In the order of the request. */
  settled: SettlementResult[];
}

/** How an attempt ended, as its worker reports it. */
export type SettlementOutcome = "succeed" | "fail" | "snooze" | "release";

/** How one of many attempts ended. */
export interface SettlementRequest {
  /** How long from now; only with `snooze`. */
  delay?: Duration | null | undefined;
  /** What went wrong; only with `fail`. */
  failure?: FailureRequest | null | undefined;
  /** That of the claim. */
  fence: number;
  /** The job's id. */
  id: string;
  /** Jobs that are created with the success or not at all, up to 100; only with `succeed`. */
  onSuccess?: CreateJobRequest[] | undefined;
  /** How it ended. */
  outcome: SettlementOutcome;
  /** Kept with the attempt; only with `succeed`. */
  result?: unknown;
}

/** What became of one settlement. */
export interface SettlementResult {
  /**
   * `stale_fence` or `not_found`, if it is not ok because the claim does not hold; else what is
   * wrong with this settlement, as `invalid`: the claim still holds, so send another one, such as a
   * failure that says so.
   */
  code?: string | null | undefined;
  /** A sentence for people, if it is not ok. */
  detail?: string | null | undefined;
  /** The field of the settlement that is wrong, as `result`. */
  field?: string | null | undefined;
  /** The job's id, as it was sent. */
  id: string;
  /** The job's label from now on. */
  label?: JobLabel | null | undefined;
  /** Whether it was accepted. */
  ok: boolean;
}

/** A `Retry-After` that counts for all jobs of a destination. */
export interface SharedRetryAfter {
  /** When it was received. */
  at: string;
  /** The job that received it; only for keys that see all tenants. */
  jobId?: string | null | undefined;
  /** The status it came with. */
  status: number;
  /** No job calls before. */
  until: string;
}

/** Why a tick created no job. */
export type SkipReason = "overlap" | "missed" | "missedLimit" | "maxRuns";

/** Ticks in a row that made no run, for one reason. */
export interface SkippedTicks {
  /** How many. */
  count: number;
  /** Why they were skipped. */
  reason: SkipReason;
  /** The last of them. */
  until: string;
}

/** A request to try again later without counting this attempt. */
export interface SnoozeRequest {
  /** How long from now. */
  delay: Duration;
  /** That of the claim. */
  fence: number;
}

/** When a job may start, as far as that can be known. */
export interface StartEstimate {
  /** When. */
  at: string;
  /** What that is based on. */
  basis: string;
}

/** Why a job does not run, and what to expect. */
export interface StartExplanation {
  /** The one thing that would start it sooner. */
  action?: string | null | undefined;
  /** Everything that stands between now and its start. */
  blockers: Blocker[];
  /** Whether a claim for its kind and queue would take it now, if it takes enough. */
  claimable: boolean;
  /** When it will probably start; absent if that depends on more than time. */
  estimate?: StartEstimate | null | undefined;
  /** `job_…` */
  job: string;
}

/** Counts and rates. */
export type Stats = Counts & {
  /** By tenant, queue and kind. The figures above are of all of them, whichever page this is. */
  lanes: LaneStats[];
  /** Where to go on, as `after`; null at the end of the lanes. */
  nextCursor?: string | null | undefined;
  /** The time of these figures. */
  now: string;
  /** Retries among the attempts of the last five minutes; null if there was none. */
  retryRate?: number | null | undefined;
  /** The share of retries that succeeded; null before the first. */
  retrySuccessRate?: number | null | undefined;
  /** Those of them that succeeded. */
  successfulRetries: number;
  /** Attempts per second over the last five minutes. */
  throughput: number;
  /** Retries since the beginning. */
  totalRetries: number;
};

/** A step of a job that is done, whichever attempt did it. */
export interface Step {
  /** Its name. */
  name: string;
  /** The result that was stored first. */
  result: unknown;
}

/** A report that an attempt succeeded. */
export interface SucceedRequest {
  /** That of the claim. */
  fence: number;
  /**
   * Jobs that are created with the success or not at all, up to 100; none of them may be
   * recurring. They belong to the tenant of this job by default.
   */
  onSuccess?: CreateJobRequest[] | undefined;
  /** Kept with the attempt, up to 64 KiB. */
  result?: unknown;
}

/** Attempts, by how they ended. */
export interface Tally {
  /** All of them. */
  attempts: number;
  /** Jobs that were given up because no retry was left. */
  exhausted: number;
  /** Those that failed. */
  failures: number;
  /** Those that were retries. */
  retries: number;
  /** Those that succeeded. */
  successes: number;
  /** Retries that succeeded. */
  successfulRetries: number;
}

/** A tick that made a run, or one or several that were skipped. */
export interface Tick {
  /** When it came. */
  at: string;
  /** The run it made. */
  jobId?: string | null | undefined;
  /** Why it made none. */
  skipped?: SkippedTicks | null | undefined;
}

/** A page of ticks. */
export interface TickList {
  /** Where to go on, as `after`; null at the end of the list. */
  nextCursor?: string | null | undefined;
  /** Ticks that have come, newest first. */
  ticks: Tick[];
  /** Ticks to come, soonest first; only with the first page. */
  upcoming: UpcomingTick[];
}

export interface Unique {
  /** What there is one of, such as `report:7`. */
  key: string;
  /** What becomes of a second one: the first is the answer, gets its payload, policy and time, or it is refused. */
  onConflict?: "keep" | "replace" | "reject" | undefined;
  /** For how long it is the only one: until it starts, or until it ends. */
  while?: "waiting" | "unfinished" | undefined;
}

export type UniqueResult = "kept" | "moved" | "replaced";

/** A tick to come. */
export interface UpcomingTick {
  /** When it comes. */
  at: string;
  /**
   * What a change of clocks does to it: `gap` (it fires right after the gap) or `fold` (the
   * clock shows this time twice).
   */
  dst?: Dst | null | undefined;
}

/** Where events of a job are sent, without the secret that signs them. */
export interface Webhook {
  /** The endpoint that a delivery is for. */
  endpoint?: string | null | undefined;
  /** Which events are sent. */
  events: EventType[];
  /** Whether deliveries are signed. */
  signed: boolean;
  /** The address, of a job's own webhook. */
  url?: string | null | undefined;
}

/** A job's own webhook. */
export interface WebhookRequest {
  /** Which events are sent; `job.succeeded` and `job.failed` by default. */
  events?: EventType[] | null | undefined;
  /** The retry policy of its deliveries, over the preset `webhook`. */
  retry?: RetryPolicyInput | null | undefined;
  /** `whsec_…`, for signing as Standard Webhooks says. It is never shown again. */
  secret?: string | null | undefined;
  /** Where events are sent. */
  url: string;
}

/** One process that claims jobs over HTTP. */
export interface Worker {
  /** Whether it was seen within 90 s. */
  alive: boolean;
  /** How many jobs it runs at once, if it says so. */
  concurrency?: number | null | undefined;
  /** When it first claimed. */
  firstSeen: string;
  /** The machine it runs on. */
  host?: string | null | undefined;
  /** Which kinds it claims; all but those that nodes run if the list is empty. */
  kinds: string[];
  /** When it last claimed or sent heartbeats, to within 15 s. */
  lastSeen: string;
  /** The library it was written with. */
  library?: string | null | undefined;
  /** Its name. */
  name: string;
  /** From which queues it claims; all if the list is empty. */
  queues: string[];
  /** How many jobs it holds, of the newest 500 that run. */
  running: number;
  /** The tenant whose jobs it claims; null if those of all. */
  tenant?: string | null | undefined;
  /** The version of its program. */
  version?: string | null | undefined;
}

/** What a worker is, in its own words. Each text may have 128 bytes. */
export interface WorkerInfo {
  /** How many jobs it runs at once. */
  concurrency?: number | null | undefined;
  /** The machine it runs on. */
  host?: string | null | undefined;
  /** The library it was written with, as `steadfast-python/0.1.0`. */
  library?: string | null | undefined;
  /** The version of the program that runs the jobs. */
  version?: string | null | undefined;
}

/** The workers that have claimed jobs within the last day. */
export interface WorkerList {
  /** Where to go on, as `after`; null at the end of the list. */
  nextCursor?: string | null | undefined;
  /** By tenant and name. */
  workers: Worker[];
}

/** What each operation of the API takes and answers. */
export interface Operations {
  /** List alerts that fire, are about to, or did. */
  listAlerts: {
    query?: {
      /** Of this tenant. Only for keys that see all tenants; other keys have their own. */
      tenant?: Name | undefined;
      /** How many, up to 500, which is the default. */
      limit?: number | undefined;
      /** Where the page before ended: its nextCursor. */
      after?: string | undefined;
    };
    answer: AlertList;
  };
  /** List who did what, newest first: every command that changed something. */
  listAudit: {
    query?: {
      /** Of this tenant. Only for keys that see all tenants; other keys have their own. */
      tenant?: Name | undefined;
      /** About this: the id of a job or operation, the name of a queue, … */
      subject?: string | undefined;
      /** Of this action; `job.` for all that begin so. */
      action?: string | undefined;
      /** By a caller of this name. */
      by?: string | undefined;
      /** At this time or later. */
      from?: string | undefined;
      /** Before this time. */
      before?: string | undefined;
      /** How many, up to 500; 50 by default. */
      limit?: number | undefined;
      /** Where the page before ended: its nextCursor. */
      after?: string | undefined;
    };
    answer: AuditList;
  };
  /** List batches, newest first. */
  listBatches: {
    query?: {
      /** Of this tenant. Only for keys that see all tenants; other keys have their own. */
      tenant?: Name | undefined;
      /** Only those whose jobs have not all ended, or that are open. */
      unfinished?: boolean | undefined;
      /** How many, up to 500; 50 by default. */
      limit?: number | undefined;
      /** Where the page before ended: its nextCursor. */
      after?: string | undefined;
    };
    answer: BatchList;
  };
  /** Create a batch of jobs, which are counted together. */
  createBatch: {
    body: CreateBatchRequest;
    answer: Batch;
  };
  /** Read a batch: its counts, and the jobs that it makes. */
  getBatch: {
    path: {
      /** bat_… */
      id: string;
    };
    answer: Batch;
  };
  /** Close a batch: no more jobs can be added, and it ends when all have ended. */
  closeBatch: {
    path: {
      /** bat_… */
      id: string;
    };
    answer: Batch;
  };
  /** List the jobs of a batch that are still stored, newest first. */
  listBatchJobs: {
    path: {
      /** bat_… */
      id: string;
    };
    query?: {
      /** `unfinished`, `succeeded`, `failed` or `cancelled`; all by default. */
      state?: string | undefined;
      /** How many, up to 500; 50 by default. */
      limit?: number | undefined;
      /** Where the page before ended: its nextCursor. */
      after?: string | undefined;
    };
    answer: JobList;
  };
  /** Add jobs to an open batch, up to 1,000 at a time, all of them or none. */
  addBatchJobs: {
    path: {
      /** bat_… */
      id: string;
    };
    body: CreateJobsRequest;
    answer: JobList;
  };
  /** Claim due jobs, waiting for the first if there is none. */
  claimJobs: {
    body: ClaimJobsRequest;
    answer: ClaimList;
  };
  /** Renew the leases of up to 1,000 attempts that still run; they count from now. */
  sendHeartbeats: {
    body: HeartbeatsRequest;
    answer: HeartbeatList;
  };
  /** Report the ends of many attempts in one transaction. */
  settleAttempts: {
    body: SettleRequest;
    answer: SettlementList;
  };
  /** Report that an attempt failed; what follows is up to the job's policy. */
  failAttempt: {
    path: {
      /** job_… */
      id: string;
    };
    body: FailRequest;
    answer: Job;
  };
  /** Renew the lease of an attempt that still runs; it counts from now. */
  sendHeartbeat: {
    path: {
      /** job_… */
      id: string;
    };
    body: HeartbeatRequest;
    answer: Lease;
  };
  /** Give a job back: it is due at once, and this attempt is not counted. */
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
  /** Read the result of a step that some attempt of the job has done. */
  getStep: {
    path: {
      /** job_… */
      id: string;
      /** The name of the step, within its job */
      name: string;
    };
    query?: {
      /** That of the claim. */
      fence: number;
    };
    answer: Step;
  };
  /** Store the result of a step, if the claim still holds, and answer with the one that is stored. */
  saveStep: {
    path: {
      /** job_… */
      id: string;
      /** The name of the step, within its job */
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
  /** Send a delivery that has ended once more: the same body under the same event id. */
  resendDelivery: {
    path: {
      /** job_…, a delivery */
      id: string;
    };
    answer: Job;
  };
  /**
   * List destinations of which something is known: those whose attempts failed lately, and those
   * that are held.
   */
  listDestinations: {
    query?: {
      /**
       * Where attempts of this tenant failed. Only for keys that see all tenants; other keys have
       * their own.
       */
      tenant?: string | undefined;
      /** With this status. */
      status?: HealthStatus | undefined;
      /** How many, up to 500. */
      limit?: number | undefined;
      /** The `nextCursor` of the page before. */
      after?: string | undefined;
    };
    answer: DestinationList;
  };
  /** Read a destination: its health, its incidents, and its settings. */
  getDestination: {
    path: {
      /** The origin, percent-encoded */
      key: string;
    };
    query?: {
      /** Of this tenant. Only for keys that see all tenants; other keys have their own. */
      tenant?: Name | undefined;
    };
    answer: Destination;
  };
  /**
   * Set what follows if a destination is found unhealthy, and when it is. A key of one tenant sets
   * `hold` for its own jobs.
   */
  setDestination: {
    path: {
      /** The origin, percent-encoded */
      key: string;
    };
    query?: {
      /** Of this tenant. Only for keys that see all tenants; other keys have their own. */
      tenant?: Name | undefined;
    };
    body: SetDestinationRequest;
    answer: Destination;
  };
  /**
   * Change the settings of a destination that the body names, and leave the others; null makes one
   * as by default.
   */
  editDestination: {
    path: {
      /** The origin, percent-encoded */
      key: string;
    };
    query?: {
      /** Of this tenant. Only for keys that see all tenants; other keys have their own. */
      tenant?: Name | undefined;
    };
    body: SetDestinationRequest;
    answer: Destination;
  };
  /** Hold a destination: no job starts for it, of any tenant, until it is released or the time comes. */
  holdDestination: {
    path: {
      /** The origin, percent-encoded */
      key: string;
    };
    body?: HoldDestinationRequest | null | undefined;
    answer: Destination;
  };
  /** Release a destination: jobs start again, faster from second to second. */
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
      /** With this label. */
      label?: JobLabel | undefined;
      /** In this queue. */
      queue?: Name | undefined;
      /** Of this kind. */
      kind?: Kind | undefined;
      /** Of this tenant. Only for keys that see all tenants; other keys have their own. */
      tenant?: Name | undefined;
      /** Runs of this schedule. */
      schedule?: string | undefined;
      /** That call this system, as `https://api.example.com`. */
      destination?: string | undefined;
      /** That are counted in this batch. */
      batch?: string | undefined;
      /** Created at this time or later; when it failed does not matter. */
      from?: string | undefined;
      /** Created before this time; when it failed does not matter. */
      before?: string | undefined;
      /** Ended `failed` at this time or later. */
      failedFrom?: string | undefined;
      /** Ended `failed` before this time. */
      failedBefore?: string | undefined;
      /** With this text in the message of the newest failure, in any case. */
      text?: string | undefined;
      /** With a newest failure of this class. */
      class?: string | undefined;
      /** With a newest failure of this fingerprint. */
      fingerprint?: Fingerprint | undefined;
      /** Ended for this reason. */
      reason?: EndReason | undefined;
      /** How many, up to 500; 50 by default. */
      limit?: number | undefined;
      /** Where the page before ended: its nextCursor. */
      after?: string | undefined;
    };
    answer: JobList;
  };
  /** Discard dead letters without trying them again. */
  discardDeadLetters: {
    body: DeadLettersRequest;
    answer: BulkResult;
  };
  /** Requeue dead letters, each with a fresh retry budget. */
  requeueDeadLetters: {
    body: DeadLettersRequest;
    answer: BulkResult;
  };
  /**
   * List endpoints, oldest first. Keys of scope `read` and `worker` see the host of an address only:
   * its path may be a secret.
   */
  listEndpoints: {
    query?: {
      /** Of this tenant. Only for keys that see all tenants; other keys have their own. */
      tenant?: Name | undefined;
      /** How many, up to 500, which is the default. */
      limit?: number | undefined;
      /** Where the page before ended: its nextCursor. */
      after?: string | undefined;
    };
    answer: EndpointList;
  };
  /** Create an endpoint: an address that events of jobs, or alerts, are sent to. */
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
  /** Delete an endpoint; deliveries that wait for it are cancelled. */
  deleteEndpoint: {
    path: {
      /** end_… */
      id: string;
    };
    answer: undefined;
  };
  /** Edit an endpoint; what the request leaves out stays as it is. */
  editEndpoint: {
    path: {
      /** end_… */
      id: string;
    };
    body: EditEndpointRequest;
    answer: Endpoint;
  };
  /**
   * List the deliveries to an endpoint, newest first. They are jobs; their attempts are in the
   * history of each.
   */
  listDeliveries: {
    path: {
      /** end_… */
      id: string;
    };
    query?: {
      /** How many, up to 500. */
      limit?: number | undefined;
      /** Where the page before ended: its nextCursor. */
      after?: string | undefined;
    };
    answer: JobList;
  };
  /**
   * Disable an endpoint: nothing is sent to it, and its deliveries wait until it is enabled, at most
   * for seven days.
   */
  disableEndpoint: {
    path: {
      /** end_… */
      id: string;
    };
    answer: Endpoint;
  };
  /**
   * Enable an endpoint: the deliveries that wait for it are sent, by an operation at the rate of the
   * setting `bulkRate`.
   */
  enableEndpoint: {
    path: {
      /** end_… */
      id: string;
    };
    answer: Endpoint;
  };
  /** Rotate the secret of an endpoint: a new one signs, the old one signs beside it for a while. */
  rotateEndpointSecret: {
    path: {
      /** end_… */
      id: string;
    };
    body?: RotateSecretRequest | null | undefined;
    answer: EndpointWithSecret;
  };
  /** Send an event of type `endpoint.test` to an endpoint, as any other delivery. */
  testEndpoint: {
    path: {
      /** end_… */
      id: string;
    };
    answer: Job;
  };
  /** List groups of failures, those with the most failures first. */
  listFailures: {
    query?: {
      /** In this state. */
      state?: FailureState | undefined;
      /** Failures of this class. */
      class?: string | undefined;
      /** Failures with this HTTP status. */
      status?: number | undefined;
      /** Failures of jobs of this kind. */
      kind?: Kind | undefined;
      /** Failures of jobs that call this system, as `https://api.example.com`. */
      destination?: string | undefined;
      /** Failures of jobs of this queue. */
      queue?: Name | undefined;
      /** With this text in the pattern or in the newest message, in any case. */
      text?: string | undefined;
      /** Seen at this time or later. */
      since?: string | undefined;
      /** Of this tenant. Only for keys that see all tenants; other keys have their own. */
      tenant?: Name | undefined;
      /** How many, up to 500; 50 by default. */
      limit?: number | undefined;
      /** Where the page before ended: its nextCursor. */
      after?: string | undefined;
    };
    answer: FailureList;
  };
  /** Read a group of failures. */
  getFailure: {
    path: {
      /** The fingerprint of its failures */
      fingerprint: string;
    };
    query?: {
      /** Of this tenant. Only for keys that see all tenants; other keys have their own. */
      tenant?: Name | undefined;
    };
    answer: FailureGroup;
  };
  /** Say that a failure is known, or that its cause is fixed. */
  markFailure: {
    path: {
      /** The fingerprint of its failures */
      fingerprint: string;
    };
    query?: {
      /** Of this tenant. Only for keys that see all tenants; other keys have their own. */
      tenant?: Name | undefined;
    };
    body: MarkFailureRequest;
    answer: FailureGroup;
  };
  /** Read how many jobs will be due, minute by minute. */
  getForecast: {
    query?: {
      /** Of this tenant. Only for keys that see all tenants; other keys have their own. */
      tenant?: Name | undefined;
      /** How many minutes to look ahead, up to twelve hours; 120 by default. */
      minutes?: number | undefined;
    };
    answer: Forecast;
  };
  /**
   * List gates: what limits the jobs of a queue, kind, tenant, destination or concurrency key, and
   * how much of it is taken at present.
   */
  listGates: {
    query?: {
      /** Of this tenant. Only for keys that see all tenants; other keys have their own. */
      tenant?: Name | undefined;
      /** How many, up to 500, which is the default. */
      limit?: number | undefined;
      /** Where the page before ended: its nextCursor. */
      after?: string | undefined;
    };
    answer: GateList;
  };
  /** Read a gate. */
  getGate: {
    path: {
      /** What the key names */
      scope: GateScope;
      /** The queue, kind, tenant, destination or concurrency key, percent-encoded */
      key: string;
    };
    query?: {
      /** Of this tenant. Only for keys that see all tenants; other keys have their own. */
      tenant?: Name | undefined;
    };
    answer: Gate;
  };
  /** Set a gate to these limits and no others. It holds on all nodes within two seconds. */
  setGate: {
    path: {
      /** What the key names */
      scope: GateScope;
      /** The queue, kind, tenant, destination or concurrency key, percent-encoded */
      key: string;
    };
    query?: {
      /** Of this tenant. Only for keys that see all tenants; other keys have their own. */
      tenant?: Name | undefined;
    };
    body: SetGateRequest;
    answer: Gate;
  };
  /** Delete a gate: what it held back may start. */
  deleteGate: {
    path: {
      /** What the key names */
      scope: GateScope;
      /** The queue, kind, tenant, destination or concurrency key, percent-encoded */
      key: string;
    };
    query?: {
      /** Of this tenant. Only for keys that see all tenants; other keys have their own. */
      tenant?: Name | undefined;
    };
    answer: undefined;
  };
  /**
   * Change the limits of a gate that the body names, and leave the others; null removes one. A gate
   * that is left without limits is deleted.
   */
  editGate: {
    path: {
      /** What the key names */
      scope: GateScope;
      /** The queue, kind, tenant, destination or concurrency key, percent-encoded */
      key: string;
    };
    query?: {
      /** Of this tenant. Only for keys that see all tenants; other keys have their own. */
      tenant?: Name | undefined;
    };
    body: SetGateRequest;
    answer: Gate;
  };
  /** List jobs, newest first. */
  listJobs: {
    query?: {
      /** With this label. */
      label?: JobLabel | undefined;
      /** In this queue. */
      queue?: Name | undefined;
      /** Of this kind. */
      kind?: Kind | undefined;
      /** Of this tenant. Only for keys that see all tenants; other keys have their own. */
      tenant?: Name | undefined;
      /** Runs of this schedule. */
      schedule?: string | undefined;
      /** That call this system, as `https://api.example.com`. */
      destination?: string | undefined;
      /** That are counted in this batch. */
      batch?: string | undefined;
      /** Created at this time or later; when it failed does not matter. */
      from?: string | undefined;
      /** Created before this time; when it failed does not matter. */
      before?: string | undefined;
      /** Ended `failed` at this time or later. */
      failedFrom?: string | undefined;
      /** Ended `failed` before this time. */
      failedBefore?: string | undefined;
      /** With this text in the message of the newest failure, in any case. */
      text?: string | undefined;
      /** With a newest failure of this class. */
      class?: string | undefined;
      /** With a newest failure of this fingerprint. */
      fingerprint?: Fingerprint | undefined;
      /** Ended for this reason. */
      reason?: EndReason | undefined;
      /** How many, up to 500; 50 by default. */
      limit?: number | undefined;
      /** Where the page before ended: its nextCursor. */
      after?: string | undefined;
    };
    answer: JobList;
  };
  /** Create a job, or up to 1,000 of them atomically, or a schedule. */
  createJob: {
    body: CreateRequest;
    answer: CreateResult;
  };
  /** Read a job; with `wait`, when it has ended or that time is over. */
  getJob: {
    path: {
      /** job_… */
      id: string;
    };
    query?: {
      /** How long to wait for the job to end, up to 60s; not at all by default. */
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
  /** Cancel a job: at once if it waits, as soon as it can if it runs. */
  cancelJob: {
    path: {
      /** job_… */
      id: string;
    };
    answer: Job;
  };
  /** Why a job has not started: everything that stands between now and its start. */
  explainJob: {
    path: {
      /** job_… */
      id: string;
    };
    answer: StartExplanation;
  };
  /** List the attempts of a job, newest first, each with the reason for what followed it. */
  listAttempts: {
    path: {
      /** job_…, or sch_… for all runs of a schedule */
      id: string;
    };
    query?: {
      /** How many, up to 500. */
      limit?: number | undefined;
      /** Where the page before ended: its nextCursor. */
      after?: string | undefined;
    };
    answer: AttemptList;
  };
  /** Retry a job that failed or was cancelled, with a fresh retry budget. */
  retryJob: {
    path: {
      /** job_… */
      id: string;
    };
    body?: RetryJobRequest | null | undefined;
    answer: Job;
  };
  /** Run a waiting job now, without waiting for its time. */
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
      /** How many, up to 500. */
      limit?: number | undefined;
      /** Where the page before ended: its nextCursor. */
      after?: string | undefined;
    };
    answer: KeyList;
  };
  /** Create a key. Its token is in this one response only. */
  createKey: {
    body: CreateKeyRequest;
    answer: KeyWithToken;
  };
  /** Revoke a key. All nodes refuse it within seconds. */
  revokeKey: {
    path: {
      /** key_… */
      id: string;
    };
    answer: undefined;
  };
  /** List the nodes by name, including those that have just gone silent. */
  listNodes: {
    query?: {
      /** How many, up to 500. */
      limit?: number | undefined;
      /** Where the page before ended: its nextCursor. */
      after?: string | undefined;
    };
    answer: NodeList;
  };
  /** List operations, newest first. */
  listOperations: {
    query?: {
      /** Of this tenant. Only for keys that see all tenants; other keys have their own. */
      tenant?: Name | undefined;
      /** Only those that have not ended. */
      open?: boolean | undefined;
      /** How many, up to 500; 50 by default. */
      limit?: number | undefined;
      /** Where the page before ended: its nextCursor. */
      after?: string | undefined;
    };
    answer: OperationList;
  };
  /** Work on many jobs: requeue, discard, cancel, retry, edit their policy, or run them now. */
  createOperation: {
    body: CreateOperationRequest;
    answer: BulkResult | Operation;
  };
  /** Read an operation: how far it has come, and its report. */
  getOperation: {
    path: {
      /** opr_… */
      id: string;
    };
    answer: Operation;
  };
  /** End an operation. What it has done stays done; the rest is left alone. */
  cancelOperation: {
    path: {
      /** opr_… */
      id: string;
    };
    answer: Operation;
  };
  /** List the jobs of an operation, with what was done to each. */
  listOperationJobs: {
    path: {
      /** opr_… */
      id: string;
    };
    query?: {
      /** Only those that were left as they are. */
      notChanged?: boolean | undefined;
      /** How many, up to 500; 50 by default. */
      limit?: number | undefined;
      /** Where the page before ended: its nextCursor. */
      after?: string | undefined;
    };
    answer: OperationJobList;
  };
  /** Halt an operation until it is resumed. What it has done stays done. */
  pauseOperation: {
    path: {
      /** opr_… */
      id: string;
    };
    answer: Operation;
  };
  /** Let a paused operation go on. */
  resumeOperation: {
    path: {
      /** opr_… */
      id: string;
    };
    answer: Operation;
  };
  /** Preview the whole timetable of a policy. */
  previewPolicy: {
    body: PreviewPolicyRequest;
    answer: PolicyPreview;
  };
  /** Run another policy over the attempts that were really made. */
  replayPolicy: {
    body: ReplayPolicyRequest;
    answer: PolicyReplay;
  };
  /** List queues with their counts and the age of their oldest waiting job. */
  listQueues: {
    query?: {
      /** Of this tenant. Only for keys that see all tenants; other keys have their own. */
      tenant?: Name | undefined;
      /** How many, up to 500, which is the default. */
      limit?: number | undefined;
      /** Where the page before ended: its nextCursor. */
      after?: string | undefined;
    };
    answer: QueueList;
  };
  /** Why nothing, or something, runs in a queue. */
  explainQueue: {
    path: {
      /** The queue */
      name: Name;
    };
    query?: {
      /** Of this tenant. Only for keys that see all tenants; other keys have their own. */
      tenant?: Name | undefined;
    };
    answer: QueueExplanation;
  };
  /** Pause a queue: no job is claimed from it until it is resumed. Running jobs go on. */
  pauseQueue: {
    path: {
      /** The queue */
      name: Name;
    };
    query?: {
      /** Of this tenant. Only for keys that see all tenants; other keys have their own. */
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
      /** Of this tenant. Only for keys that see all tenants; other keys have their own. */
      tenant?: Name | undefined;
    };
    answer: undefined;
  };
  /** List schedules, newest first. */
  listSchedules: {
    query?: {
      /** Of this tenant. Only for keys that see all tenants; other keys have their own. */
      tenant?: Name | undefined;
      /** How many, up to 500; 50 by default. */
      limit?: number | undefined;
      /** Where the page before ended: its nextCursor. */
      after?: string | undefined;
    };
    answer: ScheduleList;
  };
  /** Create a schedule, or update the one of that name. */
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
  /** Delete a schedule; runs it has made go on. */
  deleteSchedule: {
    path: {
      /** sch_…, or its name */
      id: string;
    };
    answer: undefined;
  };
  /** Edit a schedule. Only a changed rule or window starts afresh from now. */
  editSchedule: {
    path: {
      /** sch_…, or its name */
      id: string;
    };
    body: EditScheduleRequest;
    answer: Schedule;
  };
  /** Pause a schedule: it makes no runs until it is resumed. */
  pauseSchedule: {
    path: {
      /** sch_…, or its name */
      id: string;
    };
    answer: Schedule;
  };
  /** Resume a schedule with its next tick; ticks that passed while it was paused make no runs. */
  resumeSchedule: {
    path: {
      /** sch_…, or its name */
      id: string;
    };
    answer: Schedule;
  };
  /** Run a schedule now: one run, beside its timetable. */
  runScheduleNow: {
    path: {
      /** sch_…, or its name */
      id: string;
    };
    answer: Job;
  };
  /** List the ticks of a schedule, newest first, and those to come. */
  listTicks: {
    path: {
      /** sch_…, or its name */
      id: string;
    };
    query?: {
      /** How many, up to 500. */
      limit?: number | undefined;
      /** Where the page before ended: its nextCursor. */
      after?: string | undefined;
    };
    answer: TickList;
  };
  /** Read jobs by label, throughput, retries and how many of them succeeded. */
  getStats: {
    query?: {
      /** Of this tenant. Only for keys that see all tenants; other keys have their own. */
      tenant?: Name | undefined;
      /** How many, up to 500, which is the default. */
      limit?: number | undefined;
      /** Where the page before ended: its nextCursor. */
      after?: string | undefined;
    };
    answer: Stats;
  };
  /** List attempts by the minute in which they ended, oldest first; minutes without any are left out. */
  listMinuteStats: {
    query?: {
      /** Of this tenant. Only for keys that see all tenants; other keys have their own. */
      tenant?: Name | undefined;
      /** How many minutes to look back, up to a week; 60 by default. */
      minutes?: number | undefined;
    };
    answer: MinuteList;
  };
  /** Move the clock of the store forward. Only with `--clock manual`. */
  advanceClock: {
    body: AdvanceClockRequest;
    answer: Clock;
  };
  /** Wait until nothing is due at the present time and nothing runs. Only with `--clock manual`. */
  runUntilIdle: {
    body?: RunUntilIdleRequest | null | undefined;
    answer: Idle;
  };
  /** List the workers that have claimed jobs within the last day. */
  listWorkers: {
    query?: {
      /** Of this tenant. Only for keys that see all tenants; other keys have their own. */
      tenant?: Name | undefined;
      /** How many, up to 500, which is the default. */
      limit?: number | undefined;
      /** Where the page before ended: its nextCursor. */
      after?: string | undefined;
    };
    answer: WorkerList;
  };
}

/** The method and the path of each operation, below /api/v1. */
export const OPERATIONS: { readonly [Name in keyof Operations]: readonly [method: string, path: string] } = {
  listAlerts: ["GET", "/alerts"],
  listAudit: ["GET", "/audit"],
  listBatches: ["GET", "/batches"],
  createBatch: ["POST", "/batches"],
  getBatch: ["GET", "/batches/{id}"],
  closeBatch: ["POST", "/batches/{id}/close"],
  listBatchJobs: ["GET", "/batches/{id}/jobs"],
  addBatchJobs: ["POST", "/batches/{id}/jobs"],
  claimJobs: ["POST", "/claims"],
  sendHeartbeats: ["POST", "/claims/heartbeat"],
  settleAttempts: ["POST", "/claims/settle"],
  failAttempt: ["POST", "/claims/{id}/fail"],
  sendHeartbeat: ["POST", "/claims/{id}/heartbeat"],
  releaseAttempt: ["POST", "/claims/{id}/release"],
  snoozeAttempt: ["POST", "/claims/{id}/snooze"],
  getStep: ["GET", "/claims/{id}/steps/{name}"],
  saveStep: ["PUT", "/claims/{id}/steps/{name}"],
  succeedAttempt: ["POST", "/claims/{id}/succeed"],
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
  getStats: ["GET", "/stats"],
  listMinuteStats: ["GET", "/stats/minutes"],
  advanceClock: ["POST", "/test/advance"],
  runUntilIdle: ["POST", "/test/run-until-idle"],
  listWorkers: ["GET", "/workers"],
};
