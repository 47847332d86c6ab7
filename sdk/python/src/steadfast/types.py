# Written by scripts/generate.py from docs/openapi.json.
"""What the API takes and answers, by the names of docs/openapi.json."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    from typing_extensions import NotRequired


class Actor(TypedDict):
    """Who gave a command."""

    key: NotRequired[str | None]
    """`key_…`; null while the server needs no key."""
    name: str
    """The name of the key, or the way by which the command came: `api` or `dashboard`."""


class AdvanceClockRequest(TypedDict):
    """A request to move the clock of the store."""

    by: Duration
    """How far."""


class Alert(TypedDict):
    """A rule for one tenant, and whether it is broken"""

    destination: NotRequired[str]
    """Which system it is about, if the rule is `destination`"""
    firedAt: str | None
    message: str
    notifiedAt: str | None
    queue: str | None
    """The queue that contributes most to a rule that is broken"""
    resolvedAt: str | None
    rule: AlertRule
    since: str
    """Since when the rule is broken, or kept again"""
    status: AlertStatus
    subject: AlertSubject
    tenant: str
    threshold: float
    """The limit it is held against, in `unit`"""
    unit: AlertUnit
    updatedAt: str
    value: float
    """What was found, in `unit`: a count of jobs, a share of attempts from 0 to 1, or seconds"""


class AlertList(TypedDict):
    """Alerts that fire, are about to, or did."""

    alerts: list[Alert]
    """One for each rule and tenant."""
    nextCursor: NotRequired[str | None]
    """Where to go on, as `after`; null at the end of the list."""


AlertRule: TypeAlias = Literal[
    "dlq", "retry_rate", "exhausted", "overdue", "destination", "new_failure", "regressed", "storm"
]


AlertStatus: TypeAlias = Literal["ok", "pending", "firing"]


AlertSubject: TypeAlias = Literal["jobs", "deliveries", "notifications"]


AlertUnit: TypeAlias = Literal["jobs", "share", "seconds", "causes"]


class Attempt(TypedDict):
    """One attempt, and what followed it."""

    attempt: int
    """Its number, from 1; attempts before a manual retry count."""
    attemptsBefore: int
    """How many attempts of the job belong to earlier retry budgets."""
    decision: NotRequired[Decision | None]
    """The same in figures."""
    durationMs: int
    """How long it took."""
    executionTime: str
    """When it started."""
    explanation: NotRequired[str | None]
    """Why the job went on as it did, in a sentence; null after a success."""
    failure: NotRequired[Failure | None]
    """What went wrong."""
    finishedAt: str
    """When it ended; of a lost attempt, when that was found out."""
    jobId: str
    """The job it is an attempt of."""
    nextRunAt: NotRequired[str | None]
    """When the next attempt is due, if there is one."""
    note: NotRequired[str | None]
    """The last note of the handler or worker on its progress."""
    progress: NotRequired[int | None]
    """The same in percent."""
    requeued: bool
    """Whether it is the first attempt after a manual retry."""
    response: NotRequired[Any]
    """The response that an HTTP job or a webhook got."""
    result: NotRequired[Any]
    """What the handler or worker returned."""
    retryCount: int
    """Retries of its budget before it: 0 for the first attempt of each budget."""
    status: AttemptStatus
    """How it ended."""
    timings: NotRequired[Any]
    """How long each phase took of a call that got no response, in milliseconds, up to the phase
    in which it failed: `dnsMs`, `connectMs`, `tlsMs`, `firstByteMs`, `bodyMs`. A response has
    its own.
    """
    worker: NotRequired[str | None]
    """The worker or node that ran it."""


class AttemptList(TypedDict):
    """A page of attempts."""

    attempts: list[Attempt]
    """The attempts, newest first."""
    nextCursor: NotRequired[str | None]
    """Where to go on, as `after`; null at the end of the list."""


AttemptStatus: TypeAlias = Literal["SUCCESS", "FAILED", "LOST", "SNOOZED", "CANCELLED", "RELEASED"]


class AuditList(TypedDict):
    """A page of what was done."""

    nextCursor: NotRequired[str | None]
    """Where to go on, as `after`; null at the end of the list."""
    records: list[AuditRecord]
    """The newest first."""


class AuditRecord(TypedDict):
    """One command, and who gave it."""

    action: str
    """What was done, as `job.cancel` or `gate.set`."""
    actor: Actor
    """Who gave it."""
    at: str
    """When it was carried out."""
    detail: NotRequired[str | None]
    """More about it, for people."""
    id: str
    """`aud_…`"""
    subject: str
    """What it was done to."""
    tenant: NotRequired[Name | None]
    """Whose jobs or settings; null for those of all tenants."""


Backoff: TypeAlias = Literal["exponential", "linear", "fixed", "fibonacci", "delays"]
"""How the delay grows from one retry to the next."""


class Batch(TypedDict):
    """Jobs that are counted together."""

    createdAt: str
    """When it was created."""
    failed: int
    """Those that have ended without success."""
    finishedAt: NotRequired[str | None]
    """Since when all jobs have ended; null again if one is requeued."""
    id: str
    """`bat_…`"""
    jobs: NotRequired[list[str] | None]
    """The ids of its jobs, in the order of the request. Only in the answer to its creation."""
    name: NotRequired[str | None]
    """What people call it."""
    onEnd: NotRequired[BatchCallback | None]
    """The job that is made when all have ended."""
    onSuccess: NotRequired[BatchCallback | None]
    """The job that is made when all have succeeded."""
    progress: int
    """How many of 100 jobs have ended."""
    status: str
    """`open` while jobs can be added, `running` until all have ended, then `succeeded`, or
    `failed` if some have failed or were cancelled.
    """
    succeeded: int
    """Those that have succeeded."""
    tenant: Name
    """Whose batch."""
    total: int
    """How many jobs it has."""
    unfinished: int
    """Those that have not ended."""


class BatchCallback(TypedDict):
    """A job that a batch makes."""

    created: bool
    """Whether it was made. It is made once."""
    id: str
    """`job_…`, which it has from the beginning."""


class BatchList(TypedDict):
    """A page of batches."""

    batches: list[Batch]
    """The newest first."""
    nextCursor: NotRequired[str | None]
    """Where to go on, as `after`; null at the end of the list."""


class Blocker(TypedDict):
    """One thing that keeps a job from running."""

    ahead: NotRequired[int | None]
    """How many jobs are claimed first."""
    aheadAtLeast: NotRequired[bool | None]
    """There are more of them; absent means false."""
    by: NotRequired[str | None]
    """Who paused or holds it."""
    evidence: NotRequired[dict[str, Any] | None]
    """Why a destination is held."""
    gate: NotRequired[GateId | None]
    """The gate, if it is one."""
    holders: NotRequired[list[GateHolder] | None]
    """Some of the attempts that run."""
    jobs: NotRequired[list[str] | None]
    """The jobs that come first."""
    kind: BlockerKind
    """What it is."""
    retryAfter: NotRequired[dict[str, Any] | None]
    """Which job received which `Retry-After`; not for keys of one tenant."""
    sentence: str
    """What it is, for people."""
    since: NotRequired[str | None]
    """Since when it is paused or held, or since when no worker was seen."""
    until: NotRequired[str | None]
    """When it is gone, if time alone does it."""


BlockerKind: TypeAlias = Literal[
    "state",
    "expired",
    "run_at",
    "endpoint_disabled",
    "runs_after",
    "paused",
    "held",
    "retry_after",
    "ramping",
    "max_running",
    "rate",
    "retry_share",
    "ordered",
    "no_worker",
    "behind",
]


BodyFormat: TypeAlias = Literal["standard", "slack"]


class BulkResult(TypedDict):
    """How many jobs were changed, or would be."""

    atLeast: bool
    """Counting stopped here: there are at least this many. Of work that goes on, it is the
    count so far.
    """
    count: int
    """How many jobs were changed; on a dry run, how many would be."""
    dryRun: bool
    """Whether it was a dry run."""
    operation: NotRequired[str | None]
    """The operation that does the work, `opr_…`; absent if it was done at once, or only
    counted.
    """


class Claim(TypedDict):
    """A job that a worker holds until its lease runs out."""

    fence: int
    """Proves that the claim still holds: send it back with every request about this attempt."""
    id: str
    """The job's id; it goes into the address of what follows."""
    job: Job
    """The job itself."""
    leaseUntil: NotRequired[str | None]
    """Until when the claim holds."""


class ClaimJobsRequest(TypedDict):
    """A worker's request for jobs."""

    kinds: NotRequired[list[Kind]]
    """Of these kinds, 100 at most; by default of all but those that the node runs by itself."""
    lease: NotRequired[Duration | None]
    """In place of each job's own lease."""
    max: NotRequired[int | None]
    """How many at most; 10 by default."""
    queues: NotRequired[list[Name]]
    """From these queues, 100 at most; from all by default."""
    tenant: NotRequired[Name | None]
    """Of this tenant. Only for keys that see all tenants; other keys have their own."""
    wait: NotRequired[Duration | None]
    """How long to wait for a job, up to 30s; not at all by default."""
    worker: Name
    """The worker's name; shown with every attempt."""
    workerInfo: NotRequired[WorkerInfo | None]
    """What the worker is; shown in the list of workers."""


class ClaimList(TypedDict):
    """The claims that a request got."""

    claims: list[Claim]
    """The claims, perhaps none."""


class Clock(TypedDict):
    """The time of the store."""

    now: str
    """The time that the store shows now."""


class Counts(TypedDict):
    """Jobs by label, and attempts lately and since the beginning."""

    cancelled: int
    """Cancelled, and still kept."""
    dlqSize: int
    """Failed, and neither requeued nor discarded."""
    failed: int
    """Failed, and still kept."""
    oldestReady: NotRequired[str | None]
    """Since when the job waits that has been due longest."""
    ready: int
    """Due, and waiting for a worker."""
    recent: Tally
    """Attempts that ended in the last five minutes."""
    retrying: int
    """Waiting for their next attempt."""
    running: int
    """Running."""
    scheduled: int
    """Waiting for their first time."""
    succeeded: int
    """Succeeded, and still kept."""
    total: Tally
    """Attempts since the beginning."""


class CreateBatchRequest(TypedDict):
    """A batch to be created, with jobs or without."""

    idempotencyKey: NotRequired[str | None]
    """With a key, repeating the request gives the batch that exists instead of a second one."""
    jobs: NotRequired[list[CreateJobRequest]]
    """Its jobs, up to 1,000; more can be added to an open one."""
    name: NotRequired[str | None]
    """What people call it, up to 255 bytes."""
    onEnd: NotRequired[CreateJobRequest | None]
    """The job to make when all have ended, however they did. It gets the tag `batch`."""
    onSuccess: NotRequired[CreateJobRequest | None]
    """The job to make when all have succeeded, also if that is after requeues. It gets the tag
    `batch`.
    """
    open: NotRequired[bool]
    """Whether jobs can be added later; such a batch ends only after it was closed."""
    tenant: NotRequired[Name | None]
    """Of this tenant. Only for keys that see all tenants; other keys have their own."""


class CreateEndpointRequest(TypedDict):
    """An endpoint to be created."""

    description: NotRequired[str]
    """For people."""
    events: NotRequired[list[EventType] | None]
    """Which events are sent; `job.succeeded` and `job.failed` by default."""
    format: NotRequired[BodyFormat | None]
    """`standard` (Standard Webhooks, the default), or `slack` for one line of text."""
    retry: NotRequired[RetryPolicyInput | None]
    """The retry policy of its deliveries, over the preset `webhook`."""
    secret: NotRequired[str | None]
    """`whsec_…`; generated by default."""
    tenant: NotRequired[Name | None]
    """The tenant it belongs to. Only for keys that see all tenants; other keys have their own."""
    url: str
    """Where deliveries are sent."""


class CreateJobRequest(TypedDict):
    """A job to be created. Its work is given by `kind` and `payload`, or by `http`, or by
    `api`; every other field is optional.
    """

    after: NotRequired[list[str] | None]
    """Start it only when these jobs have ended, up to 1,000 of the same tenant."""
    api: NotRequired[str | None]
    """Short for `http.url`: an address that gets a POST."""
    batch: NotRequired[str | None]
    """The open batch that it is counted in: `bat_…`"""
    concurrencyKey: NotRequired[str | None]
    """What is limited together within the tenant, such as the id of a customer; see gates."""
    debounce: NotRequired[Duration | None]
    """Start a unique job only when no request for it has come for so long; each moves its
    start.
    """
    debounceMax: NotRequired[Duration | None]
    """The longest time from the first request to the start, up to 24h; ten times `debounce` by
    default.
    """
    delay: NotRequired[Duration | None]
    """Not before this long from now."""
    destination: NotRequired[str | None]
    """The system that it calls, as an origin; gates and health go by it. An HTTP job has that
    of its URL.
    """
    http: NotRequired[HttpTargetRequest | None]
    """A request that the node sends by itself."""
    idempotencyKey: NotRequired[str | None]
    """One key, one job: the same request again answers with the same job."""
    isRecurring: NotRequired[bool | None]
    """Whether each match of `schedule` makes a job (the default), or only the next one."""
    jobName: NotRequired[str | None]
    """A name for people. Names the schedule of a recurring job, and the kind of a job that has
    neither `kind` nor a target.
    """
    kind: NotRequired[Kind | None]
    """Which handler or worker it is for."""
    lease: NotRequired[Duration | None]
    """How long a claim holds without being renewed."""
    like: NotRequired[str | None]
    """A stored job to create another like it: what this request does not say is taken from that
    one, headers and secrets included, but for its keys, its time, its batch and what it waited
    for. Only for a job that is created alone.
    """
    maxAttempts: NotRequired[int | None]
    """The same as `maxRetries` + 1."""
    maxRetries: NotRequired[int | None]
    """Short for `retry.maxRetries`."""
    maxRetryCount: NotRequired[int | None]
    """Another word for `maxRetries`."""
    onExpiry: NotRequired[ExpiryAction | None]
    """What it ends as then; `fail` by default."""
    onFailure: NotRequired[OnFailure | None]
    """What it does if one of those ends without success: it goes on `wait`ing (the default),
    until that is requeued and succeeds; it `fail`s; or it `run`s as soon as all have ended.
    """
    payload: NotRequired[Any]
    """The input of the handler or worker: any JSON, up to 256 KiB by default."""
    priority: NotRequired[int | None]
    """0 to 9, higher first; 5 by default."""
    queue: NotRequired[Name | None]
    """The queue it waits in; `default` by default."""
    retry: NotRequired[RetryPolicyInput | None]
    """Its retry policy, over that of the queue, the tenant and the server."""
    retryDelay: NotRequired[Duration | None]
    """Short for `retry.baseDelay`, over the preset `patient`."""
    runAt: NotRequired[str | None]
    """Not before this time."""
    schedule: NotRequired[str | None]
    """Cron with 5 or 6 fields (seconds first), or `@hourly` and the like."""
    startBefore: NotRequired[str | None]
    """Never start it late: a time, or how long after its creation. If its first attempt has not
    started by then, it ends with reason `expired_unstarted`.
    """
    tags: NotRequired[dict[str, str] | None]
    """Names and values for finding it."""
    tenant: NotRequired[Name | None]
    """The tenant it belongs to. Only for keys that see all tenants; other keys have their own."""
    timeout: NotRequired[Duration | None]
    """How long one attempt may take."""
    timezone: NotRequired[str | None]
    """An IANA time zone for `schedule`; UTC by default."""
    traceparent: NotRequired[str | None]
    """Its place in a distributed trace, as W3C Trace Context writes it; by default the header
    `traceparent` of the request. HTTP jobs and webhooks send it on.
    """
    type: NotRequired[Guarantee | None]
    """How often it may start."""
    unique: NotRequired[Unique | None]
    """Makes it the only job of its key within the tenant."""
    useExponentialBackoff: NotRequired[bool | None]
    """Short for `retry.backoff`: exponential or fixed, over the preset `patient`."""
    webhook: NotRequired[WebhookRequest | None]
    """Where events of this job are sent."""


class CreateJobsRequest(TypedDict):
    """Up to 1,000 jobs, all of them or none."""

    jobs: list[CreateJobRequest]
    """The jobs; none of them may be recurring."""


class CreateKeyRequest(TypedDict):
    """A key to be created."""

    expiresAt: NotRequired[str | None]
    """When it expires; never by default. A key does not outlive the key of scope `tenant` that
    creates it.
    """
    name: NotRequired[str]
    """For people."""
    scope: Scope
    """What it may do."""
    tenant: NotRequired[Name | None]
    """The tenant it is for. A key of scope `worker` or `read` is for all tenants by default."""


class CreateOperationRequest(TypedDict):
    """Work on many jobs: those of `ids`, or all that match `filter`."""

    all: NotRequired[bool]
    """Must be true if the filter leaves nothing out."""
    dryRun: NotRequired[bool]
    """Only count the jobs."""
    failShareMax: NotRequired[float | None]
    """Which share of the jobs of a canary may fail again, from 0 to 1; 0.2 by default."""
    filter: NotRequired[dict[str, Any] | None]
    """Which jobs, in the fields of the list of jobs, without `limit` and `after`."""
    ids: NotRequired[list[str] | None]
    """Ids of jobs, up to 10,000."""
    kind: str
    """What is done to each job: `requeue` and `discard` are for dead letters, `cancel`,
    `retry`, `edit_policy` and `run_now` for any.
    """
    mode: NotRequired[str | None]
    """`canary` tries three jobs first, then 5 %, 25 % and all of them, and stops if too many
    fail again; `all`, the default, does not wait.
    """
    pace: NotRequired[int | None]
    """How many jobs it may work on in a second; the setting `bulkRate` by default."""
    retry: NotRequired[RetryPolicyInput | None]
    """The policy that the jobs get; only of `edit_policy`."""
    tenant: NotRequired[Name | None]
    """Of this tenant. Only for keys that see all tenants; other keys have their own."""


CreateRequest: TypeAlias = "CreateJobRequest | CreateJobsRequest"
"""What `POST /jobs` takes: one job, or many at once."""

CreateResult: TypeAlias = "Job | Schedule | JobList"
"""What `POST /jobs` answers with."""


class CreateScheduleRequest(TypedDict):
    """A schedule to be created, or updated if its name exists: a rule (`schedule` or `every`),
    and the job that each tick makes.
    """

    endAt: NotRequired[str | None]
    """No tick at this time or later."""
    every: NotRequired[Duration | None]
    """At equal distances, in place of `schedule`."""
    job: CreateJobRequest
    """The job that each tick makes."""
    maxRuns: NotRequired[int | None]
    """How many runs it makes at most."""
    missed: NotRequired[MissedTickPolicy | None]
    """What happens to ticks that passed while no node was running, which are found more than 10
    s late. `runAll` needs `overlap` `allow`.
    """
    name: Name
    """Unique within the tenant."""
    overlap: NotRequired[OverlapPolicy | None]
    """What happens at a tick while the run before it has not ended."""
    schedule: NotRequired[str | None]
    """Cron with 5 or 6 fields (seconds first), or `@hourly` and the like."""
    startAt: NotRequired[str | None]
    """No tick before this time."""
    timezone: NotRequired[str | None]
    """An IANA time zone for `schedule`; UTC by default."""


DeadLettersRequest = TypedDict(
    "DeadLettersRequest",
    {
        "all": "NotRequired[bool]",
        "batch": "NotRequired[str | None]",
        "before": "NotRequired[str | None]",
        "class": "NotRequired[str | None]",
        "destination": "NotRequired[str | None]",
        "dryRun": "NotRequired[bool]",
        "failedBefore": "NotRequired[str | None]",
        "failedFrom": "NotRequired[str | None]",
        "fingerprint": "NotRequired[Fingerprint | None]",
        "from": "NotRequired[str | None]",
        "ids": "NotRequired[list[str] | None]",
        "kind": "NotRequired[Kind | None]",
        "payload": "NotRequired[Any]",
        "queue": "NotRequired[Name | None]",
        "reason": "NotRequired[EndReason | None]",
        "schedule": "NotRequired[str | None]",
        "tags": "NotRequired[list[str]]",
        "tenant": "NotRequired[Name | None]",
        "text": "NotRequired[str | None]",
    },
)
"""Which dead letters: those of `ids`, or all that match the other fields."""

DecidedBy: TypeAlias = Literal[
    "policy",
    "rule",
    "at_most_once",
    "cancelled",
    "non_retryable",
    "exhausted",
    "expired",
    "outcome_unknown",
    "snoozed",
    "released",
]


class Decision(TypedDict):
    """Why a job went on as it did, in figures."""

    backoff: NotRequired[Backoff | None]
    """The backoff that gave the delay; null if a rule gave it."""
    capMs: NotRequired[int | None]
    """The longest delay that the policy allows."""
    delayMs: NotRequired[int | None]
    """The delay after backoff and cap, before jitter."""
    delaySource: NotRequired[DelaySource | None]
    """Where the delay came from: the policy's backoff, the rule that matched, or Retry-After."""
    jitter: NotRequired[Jitter | None]
    """How the delay was spread."""
    jitterHighMs: NotRequired[int | None]
    """The most that the jitter could choose."""
    jitterLowMs: NotRequired[int | None]
    """The least that the jitter could choose."""
    jitterSample: NotRequired[float | None]
    """The roll that chose a point between them, from 0 to 1."""
    jitteredMs: NotRequired[int | None]
    """The delay that was chosen."""
    matchedRule: NotRequired[int | None]
    """Which of the policy's rules matched, counted from 0."""
    maxElapsedMs: NotRequired[int | None]
    """How long the policy of that time allowed since the first attempt; null if for ever."""
    maxRetries: NotRequired[int | None]
    """How many retries the policy of that time allowed."""
    retriesUsed: NotRequired[int | None]
    """Retries of the budget before this attempt, by the policy of that time."""
    retryAfterMs: NotRequired[int | None]
    """How long the target asked to wait, by Retry-After."""
    rule: DecidedBy
    """`policy`, or what decided otherwise."""


class DelayRange(TypedDict):
    """The least that jitter can choose, the middle, and the most."""

    maxMs: int
    """At the highest roll."""
    minMs: int
    """At the lowest roll."""
    typicalMs: int
    """At the middle roll."""


DelaySource: TypeAlias = Literal["policy", "rule", "retry_after"]
"""What decided a delay."""


class Destination(TypedDict):
    """A system that jobs call."""

    attempts: int
    """Attempts that ended in the last minute or so."""
    destination: str
    """Its origin, as `https://api.example.com`."""
    failed: int
    """Those of them that failed because of the destination."""
    givenUp: bool
    """Whether jobs follow their policies again because it was held for as long as it may be."""
    health: HealthRules
    """When it counts as unhealthy."""
    heldByHand: NotRequired[HandHold | None]
    """Who holds it, if a person does."""
    hold: HoldMode
    """What follows if it is found unhealthy."""
    holdsJobs: NotRequired[bool]
    """Whether jobs wait because of its health, or start more slowly: with `hold` `watch` they
    go on as their policies say, whatever the status, unless a person holds it.
    """
    incident: NotRequired[Incident | None]
    """What is wrong at present."""
    minutes: NotRequired[list[DestinationMinute]]
    """How attempts ended in the last minutes in which some failed, the oldest first: up to an
    hour. Not in lists.
    """
    nextProbeAt: NotRequired[str | None]
    """When the next probe may start, if that is what it waits for."""
    pastIncidents: list[Incident]
    """What was wrong before, the newest first."""
    retryAfter: NotRequired[SharedRetryAfter | None]
    """What it asked callers to wait for, if that is not over."""
    shareRetryAfter: bool
    """Whether a `Retry-After` that one job received counts for all."""
    status: HealthStatus
    """Whether calling it makes sense at present."""
    tenant: NotRequired[str | None]
    """The tenant whose attempts alone show this, and whose jobs alone it concerns; null if it
    is so for all.
    """


class ForecastSeries(TypedDict):
    """One number for each minute."""

    backlog: list[float]
    """Jobs that are due and have not started at the end of the minute."""
    due: list[float]
    """Jobs that become due; what is due already is in the first minute."""
    longestWaitMs: NotRequired[int | None]
    """How long the last of the jobs that are due at the same time waits, at worst."""
    starts: list[float]
    """Attempts that can start."""
    summary: str
    """All of it as a sentence."""
    sustainedPerMinute: NotRequired[int | None]
    """The most attempts that lately succeeded in a minute without trouble; null if it is not
    known.
    """


class DestinationForecast(ForecastSeries):
    """What is coming for a destination."""

    atLeast: bool
    """More jobs wait for it than were counted."""
    destination: str
    """The destination, as `https://api.example.com`."""


class DestinationList(TypedDict):
    """Destinations of which something is known."""

    destinations: list[Destination]
    """By name. Those whose attempts did not fail lately are not listed."""
    nextCursor: NotRequired[str | None]
    """Where to go on, as `after`; null at the end of the list."""


class DestinationMinute(TypedDict):
    """How attempts to call a destination ended within a minute."""

    at: str
    """When the minute began."""
    attempts: int
    """Attempts that ended."""
    failed: int
    """Those of them that failed because of the destination."""


Dst: TypeAlias = Literal["gap", "fold"]
"""How a change of clocks (daylight saving time) affects a tick."""

Duration: TypeAlias = "str | int"
"""Text as 30s, 5m, 1h30m, or a number of milliseconds"""


class EditEndpointRequest(TypedDict):
    """Changes to an endpoint; what is left out stays as it is."""

    description: NotRequired[str | None]
    """For people."""
    events: NotRequired[list[EventType] | None]
    """Which events are sent."""
    format: NotRequired[BodyFormat | None]
    """`standard` or `slack`; of deliveries to come."""
    retry: NotRequired[RetryPolicyInput | None]
    """The retry policy of deliveries to come, over the preset `webhook`."""
    url: NotRequired[str | None]
    """Where deliveries are sent, those that wait too."""


class EditJobRequest(TypedDict):
    """Changes to a waiting job; a field that is left out stays as it is, and `null` is no way
    to say so.
    """

    payload: NotRequired[Any]
    """A new input; `null` is one, too."""
    priority: NotRequired[int | None]
    """0 to 9, higher first."""
    retry: NotRequired[RetryPolicyInput | None]
    """Laid over the policy that the job has."""
    runAt: NotRequired[str | None]
    """When it may run."""


class EditScheduleRequest(TypedDict):
    """Changes to a schedule; a field that is left out stays as it is, and `null` clears a
    limit.
    """

    endAt: NotRequired[str | None]
    """No tick at this time or later; `null` for no such limit."""
    every: NotRequired[Duration | None]
    """At equal distances, in place of `schedule`."""
    job: NotRequired[CreateJobRequest | None]
    """The job that each tick makes from now on, in place of the one before."""
    maxRuns: NotRequired[int | None]
    """How many runs it makes at most; `null` for no such limit."""
    missed: NotRequired[MissedTickPolicy | None]
    """What happens to ticks that passed while no node was running, which are found more than 10
    s late. `runAll` needs `overlap` `allow`.
    """
    overlap: NotRequired[OverlapPolicy | None]
    """What happens at a tick while the run before it has not ended."""
    schedule: NotRequired[str | None]
    """Cron with 5 or 6 fields (seconds first), or `@hourly` and the like."""
    startAt: NotRequired[str | None]
    """No tick before this time; `null` for no such limit."""
    timezone: NotRequired[str | None]
    """An IANA time zone for `schedule`."""


EndReason: TypeAlias = Literal[
    "at_most_once",
    "cancelled",
    "rule",
    "non_retryable",
    "exhausted",
    "expired",
    "expired_unstarted",
    "prerequisite_failed",
    "outcome_unknown",
]


class Endpoint(TypedDict):
    """An endpoint, without its secrets."""

    createdAt: str
    """When it was created."""
    description: str
    """For people."""
    disabled: bool
    """Whether nothing is sent; deliveries wait until it is enabled."""
    disabledAt: NotRequired[str | None]
    """Since when it has been disabled."""
    disabledReason: NotRequired[str | None]
    """Why it was disabled, if its target said that it is gone."""
    events: list[EventType]
    """Which events are sent."""
    format: BodyFormat
    """How deliveries are written."""
    id: str
    """`end_…`"""
    liveSecrets: int
    """How many secrets sign at the moment."""
    tenant: str
    """The tenant it belongs to."""
    url: str
    """Where deliveries are sent."""


class EndpointList(TypedDict):
    """All endpoints."""

    endpoints: list[Endpoint]
    """Oldest first."""
    nextCursor: NotRequired[str | None]
    """Where to go on, as `after`; null at the end of the list."""


class EndpointWithSecret(Endpoint):
    """An endpoint with the secret that signs, which is in this one response only."""

    secret: str
    """`whsec_…`: verify deliveries with it."""


EventType: TypeAlias = Literal[
    "job.succeeded",
    "job.failed",
    "job.retrying",
    "job.cancelled",
    "alert.fired",
    "alert.renotified",
    "alert.resolved",
    "endpoint.disabled",
    "endpoint.test",
]


ExpiryAction: TypeAlias = Literal["fail", "cancel"]


class FailRequest(TypedDict):
    """A report that an attempt failed."""

    failure: NotRequired[FailureRequest | None]
    """What went wrong."""
    fence: int
    """That of the claim."""


Failure = TypedDict(
    "Failure",
    {
        "class": "str",
        "fingerprint": "NotRequired[Fingerprint]",
        "httpStatus": "NotRequired[int]",
        "message": "str",
        "permanent": "NotRequired[bool]",
        "retryAfter": "NotRequired[str]",
        "trace": "NotRequired[str]",
    },
)
"""What went wrong"""


class FailureExample(TypedDict):
    """One failure of a group."""

    at: str
    """When it ended."""
    attempt: int
    """The number of the attempt."""
    failure: Failure
    """What went wrong."""
    jobId: str
    """Whose attempt it was."""


FailureGroup = TypedDict(
    "FailureGroup",
    {
        "class": "NotRequired[str | None]",
        "count": "int",
        "deadLetters": "int",
        "destinations": "list[str]",
        "example": "NotRequired[FailureExample | None]",
        "fingerprint": "Fingerprint",
        "firstSeen": "str",
        "hours": "list[int]",
        "httpStatus": "NotRequired[int | None]",
        "jobs": "int",
        "kinds": "list[str]",
        "lastSeen": "str",
        "markedBy": "NotRequired[str | None]",
        "pattern": "str",
        "queues": "list[str]",
        "state": "FailureState",
        "stateSince": "str",
        "tenant": "Name",
        "workerVersions": "list[str]",
    },
)
"""Failures of one cause, of one tenant."""


class FailureList(TypedDict):
    """A page of groups of failures."""

    failures: list[FailureGroup]
    """The groups, those with the most failures first."""
    nextCursor: NotRequired[str | None]
    """Where to go on, as `after`; null at the end of the list."""


FailureMark: TypeAlias = Literal["known", "fixed"]


FailureRequest = TypedDict(
    "FailureRequest",
    {
        "class": "NotRequired[str | None]",
        "httpStatus": "NotRequired[int | None]",
        "message": "NotRequired[str | None]",
        "permanent": "NotRequired[bool]",
        "retryAfter": "NotRequired[Duration | None]",
        "trace": "NotRequired[str | None]",
    },
)
"""What went wrong, in the worker's words."""

FailureState: TypeAlias = Literal["new", "known", "fixed", "regressed"]


Fingerprint: TypeAlias = "str"
"""What failures of one cause have in common"""

Forecast = TypedDict(
    "Forecast",
    {
        "destinations": "list[DestinationForecast]",
        "from": "str",
        "isCut": "bool",
        "queues": "list[QueueForecast]",
    },
)
"""What is coming, by queue and by destination."""


class GateSettings(TypedDict):
    """Which jobs a gate is for, and what it lets through."""

    health: NotRequired[HealthRules | None]
    """When the destination counts as unhealthy."""
    hold: NotRequired[HoldMode | None]
    """What follows if the destination is found unhealthy."""
    key: str
    """The queue, kind, tenant, destination or concurrency key."""
    maxRunning: NotRequired[int | None]
    """How many attempts may run at once."""
    ordered: NotRequired[bool | None]
    """One at a time, in the order of creation; absent means false."""
    paused: NotRequired[Pause | None]
    """Closed by a person."""
    rate: NotRequired[Rate | None]
    """How many attempts may start in a time."""
    retryShare: NotRequired[float | None]
    """Which part of the starts in a minute may be retries."""
    scope: GateScope
    """What `key` names."""
    shareRetryAfter: NotRequired[bool | None]
    """Whether a `Retry-After` that one job received counts for all jobs of the destination."""
    tenant: NotRequired[Name | None]
    """Only for jobs of this tenant; absent if it is for all, and for scope `tenant`."""
    weight: NotRequired[int | None]
    """What the tenant counts for beside others."""


class Gate(GateSettings):
    """A gate, with its present use where that is known."""

    nextStart: NotRequired[str | None]
    """When the next attempt may start; only if a rate holds it back."""
    running: NotRequired[int | None]
    """How many attempts run; only if the gate limits that."""


class GateHolder(TypedDict):
    """A job that takes up room of a gate."""

    job: str
    """The job that runs."""
    since: str
    """Since when."""
    tenant: str
    """Whose job it is."""
    worker: NotRequired[str | None]
    """Who runs it."""


class GateId(TypedDict):
    """Which gate."""

    key: str
    """The queue, kind, tenant, destination or concurrency key."""
    scope: GateScope
    """What `key` names."""
    tenant: NotRequired[str | None]
    """Only for jobs of this tenant; absent if it is for all."""


class GateList(TypedDict):
    """All gates."""

    gates: list[Gate]
    """By scope, key and tenant."""
    nextCursor: NotRequired[str | None]
    """Where to go on, as `after`; null at the end of the list."""


GateScope: TypeAlias = Literal["queue", "kind", "tenant", "destination", "key"]


Guarantee: TypeAlias = Literal["AT_LEAST_ONCE", "AT_MOST_ONCE"]


class HandHold(TypedDict):
    """Who holds a destination, and why."""

    by: NotRequired[str | None]
    """Who, by the name of the key."""
    reason: NotRequired[str | None]
    """For people."""
    since: str
    """Since when."""
    until: NotRequired[str | None]
    """When it is released by itself; null if a person has to."""


class HealthRules(TypedDict):
    """When a destination counts as unhealthy."""

    failedShare: NotRequired[float | None]
    """At least this part of them must have failed because of the destination; 0.8 by default."""
    maxHold: NotRequired[Duration | None]
    """How long jobs are held at most; `1h` by default."""
    minAttempts: NotRequired[int | None]
    """At least this many attempts must have ended; 20 by default."""
    minJobs: NotRequired[int | None]
    """They must have been of at least this many different jobs; 5 by default."""
    window: NotRequired[Duration | None]
    """All of it within this time; `1m` by default."""


HealthStatus: TypeAlias = Literal["healthy", "held", "probing", "ramping"]


class HeartbeatEntry(TypedDict):
    """A sign that one of many attempts still runs."""

    fence: int
    """That of the claim."""
    id: str
    """The job's id."""
    lease: NotRequired[Duration | None]
    """How long the claim shall hold from now; the job's own lease by default."""
    note: NotRequired[str | None]
    """How far the work has come, for people; the last note stays by default."""
    progress: NotRequired[int | None]
    """The same in percent, as a whole number; the last one stays by default."""


class HeartbeatList(TypedDict):
    """One result for each heartbeat."""

    claims: list[HeartbeatResult]
    """In the order of the request."""


class HeartbeatRequest(TypedDict):
    """A sign that an attempt still runs."""

    fence: int
    """That of the claim."""
    lease: NotRequired[Duration | None]
    """How long the claim shall hold from now; the job's own lease by default."""
    note: NotRequired[str | None]
    """How far the work has come, for people; the last note stays by default."""
    progress: NotRequired[int | None]
    """The same in percent, as a whole number; the last one stays by default."""


class HeartbeatResult(TypedDict):
    """What became of one heartbeat. The fields of the lease are there if it is ok."""

    cancelRequested: NotRequired[bool | None]
    """A cancel was requested: stop, and report `fail` or `succeed` as it then is."""
    code: NotRequired[str | None]
    """`stale_fence` or `not_found`, if the claim does not hold; `invalid` if a field is wrong."""
    deadline: NotRequired[str | None]
    """When the attempt has run for as long as its job's timeout allows. No lease lasts longer."""
    detail: NotRequired[str | None]
    """A sentence for people, if it is not ok."""
    id: str
    """The job's id, as it was sent."""
    leaseUntil: NotRequired[str | None]
    """Until when the claim holds now."""
    ok: bool
    """Whether the claim still holds."""
    timedOut: NotRequired[bool | None]
    """The deadline is over: stop. The attempt fails with class `timeout`."""


class HeartbeatsRequest(TypedDict):
    """Signs that many attempts still run, in one request."""

    claims: list[HeartbeatEntry]
    """One for each attempt, up to 1,000."""
    worker: Name
    """The worker's name, as it claims; it is shown as seen now."""


class HoldDestinationRequest(TypedDict):
    """Why a destination is held, and until when."""

    reason: NotRequired[str | None]
    """For people."""
    until: NotRequired[str | None]
    """When jobs may start again by themselves."""


HoldMode: TypeAlias = Literal["watch", "auto", "off"]


class HttpTarget(TypedDict):
    """Where an HTTP job goes. Its headers and its body may hold secrets and are left out."""

    method: str
    """The verb."""
    url: str
    """The address."""


class HttpTargetRequest(TypedDict):
    """The request that an HTTP job sends."""

    body: NotRequired[Any]
    """Any JSON; a string goes out as plain text if a `content-type` other than JSON is given."""
    headers: NotRequired[dict[str, str]]
    """Headers by name. Their values are stored and never shown."""
    method: NotRequired[str | None]
    """`POST` by default."""
    url: str
    """Where it goes."""


class Idle(TypedDict):
    """What is left to do at the present time."""

    due: int
    """Jobs and schedules that are due."""
    now: str
    """The time that the store shows now."""
    running: int
    """Jobs that run."""


class Incident(TypedDict):
    """A time in which a destination did not work, or was held by a person."""

    attemptsSaved: int
    """Attempts that holding has saved, at least."""
    avoidableAttempts: int
    """Attempts that holding would have saved where attempts went on."""
    beganAt: str
    """When it was noticed."""
    cause: str
    """Why it began, as a sentence."""
    endedAt: NotRequired[str | None]
    """When it was over; null until then."""
    failedAttempts: int
    """Attempts that failed because of the destination after it began."""
    failedProbes: int
    """Probes that failed, or would have where attempts go on."""
    givenUpAt: NotRequired[str | None]
    """When jobs began to follow their policies again because it lasted too long."""
    jobsDelayed: int
    """The most due jobs that waited for its end at one time."""
    releasedBy: NotRequired[str | None]
    """Who released it, if a person did."""
    tenants: list[str]
    """Whose attempts failed; only for keys that see all tenants."""


Jitter: TypeAlias = Literal["none", "proportional", "full", "equal", "decorrelated"]
"""How a delay is spread, so that jobs that failed together do not come back together."""


class Job(TypedDict):
    """A job, with everything that is known of it."""

    after: NotRequired[list[Prerequisite] | None]
    """The jobs that it was created to wait for. Only if the job is read by itself."""
    attempt: int
    """Attempts so far, those before a manual retry included."""
    attemptsBefore: int
    """How many of them belong to earlier retry budgets: those before the last manual retry."""
    batch: NotRequired[str | None]
    """The batch that it is counted in: `bat_…`"""
    cancelRequested: bool
    """Whether a cancel waits for the running attempt to end."""
    concurrencyKey: NotRequired[str | None]
    """What is limited together within the tenant."""
    createdAt: str
    """When it was created."""
    dependants: NotRequired[int | None]
    """How many jobs wait for it, or did; at most 10,000 are counted. Only if the job is read by
    itself, and there are any.
    """
    destination: NotRequired[str | None]
    """The system that it calls, as an origin."""
    explanation: NotRequired[str | None]
    """The same in words."""
    failure: NotRequired[Failure | None]
    """The newest failure."""
    finishedAt: NotRequired[str | None]
    """When it ended."""
    http: NotRequired[HttpTarget | None]
    """Where an HTTP job goes."""
    id: str
    """`job_…`"""
    idempotencyKey: NotRequired[str | None]
    """The key it was created with."""
    kind: str
    """Which handler or worker it is for; `http` and `webhook` are run by the node itself."""
    label: JobLabel
    """Where it stands."""
    leaseMs: int
    """How long a claim holds without being renewed."""
    leaseUntil: NotRequired[str | None]
    """Until when the running attempt holds it."""
    maxRetries: int
    """How many retries each budget has."""
    note: NotRequired[str | None]
    """The newest note of the handler or worker on its progress."""
    onExpiry: NotRequired[ExpiryAction | None]
    """What it ends as then."""
    onFailure: NotRequired[OnFailure | None]
    """What it does if one of those ends without success."""
    payload: NotRequired[Any]
    """The input. Null for HTTP jobs, whose headers may hold secrets, and in lists and webhooks."""
    priority: int
    """0 to 9, higher first."""
    progress: NotRequired[int | None]
    """The same in percent."""
    queue: str
    """The queue it waits in."""
    reason: NotRequired[EndReason | None]
    """Why it ended, unless it succeeded."""
    resolvedAt: NotRequired[str | None]
    """When a dead letter was discarded."""
    result: NotRequired[Any]
    """What the handler or worker returned, if the job has succeeded. Null unless the job is
    read by itself.
    """
    retry: RetryPolicy
    """The policy in force."""
    retryCount: int
    """Retries so far of the present budget, to be read beside `maxRetries`."""
    runAt: str
    """When it may run, or was to run when it last did."""
    scheduleId: NotRequired[str | None]
    """The schedule it is a run of."""
    scheduledFor: NotRequired[str | None]
    """The tick it is the run of."""
    startBefore: NotRequired[str | None]
    """When it is too late for its first attempt to start."""
    startedAt: NotRequired[str | None]
    """When its newest attempt started."""
    tags: dict[str, str]
    """Names and values for finding it."""
    tenant: str
    """The tenant it belongs to."""
    timeoutMs: NotRequired[int | None]
    """How long one attempt may take."""
    traceparent: NotRequired[str | None]
    """Its place in a distributed trace, as W3C Trace Context writes it."""
    type: Guarantee
    """How often it may start."""
    unique: NotRequired[Unique | None]
    """What makes it the only job of its key."""
    uniqueResult: NotRequired[UniqueResult | None]
    """In the answer to a create: what became of the job that had the unique key already."""
    waitingFor: NotRequired[list[Blocker]]
    """The jobs that it waits for, and the gates at which a job waits that is due. In lists,
    only what gates say by themselves: pauses, holds, and what destinations asked for.
    """
    webhook: NotRequired[Webhook | None]
    """Where events of this job are sent; of a delivery, where it goes."""
    worker: NotRequired[str | None]
    """The worker or node that holds it, or held it last."""


JobLabel: TypeAlias = Literal[
    "scheduled", "ready", "running", "retrying", "succeeded", "failed", "cancelled"
]


class JobList(TypedDict):
    """A page of jobs."""

    jobs: list[Job]
    """The jobs, newest first, without their payloads."""
    nextCursor: NotRequired[str | None]
    """Where to go on, as `after`; null at the end of the list. A page may hold fewer jobs than
    `limit`, even none, and still have a next one.
    """


class Key(TypedDict):
    """A key, without its token."""

    createdAt: str
    """When it was created."""
    createdBy: NotRequired[str | None]
    """The key that created it; null if none did. If that one is of scope `tenant`, this one is
    revoked with it.
    """
    expiresAt: NotRequired[str | None]
    """From then on it is refused; null if it does not expire."""
    id: str
    """`key_…`"""
    lastUsedAt: NotRequired[str | None]
    """When it was last used, give or take a minute; null if it never was."""
    name: str
    """For people."""
    scope: Scope
    """What it may do."""
    tenant: NotRequired[str | None]
    """The tenant it is for; all tenants if null."""


class KeyList(TypedDict):
    """All keys that the caller may see."""

    keys: list[Key]
    """Oldest first."""
    nextCursor: NotRequired[str | None]
    """Where to go on, as `after`; null at the end of the list."""


class KeyWithToken(Key):
    """A key with its token, which is in this one response only."""

    token: str
    """Send it as `Authorization: Bearer …`."""


Kind: TypeAlias = "str"


class LaneStats(Counts):
    """Counts of one tenant, queue and kind."""

    kind: str
    """The kind."""
    queue: str
    """The queue."""
    tenant: str
    """The tenant."""


class Lease(TypedDict):
    """A lease that was renewed."""

    cancelRequested: bool
    """A cancel was requested: stop, and report `fail` or `succeed` as it then is."""
    deadline: NotRequired[str | None]
    """When the attempt has run for as long as its job's timeout allows. No lease lasts longer."""
    leaseUntil: str
    """Until when the claim holds now."""
    timedOut: NotRequired[bool]
    """The deadline is over: stop. The attempt fails with class `timeout`."""


class MarkFailureRequest(TypedDict):
    """What a person says of a group of failures."""

    state: FailureMark
    """`known`: a person has looked at it. `fixed`: it is repaired, and being seen again is
    worth an alert.
    """


class MinuteList(TypedDict):
    """Attempts by the minute."""

    minutes: list[MinuteStats]
    """Oldest first; minutes without an attempt are left out."""


class Tally(TypedDict):
    """Attempts, by how they ended."""

    attempts: int
    """All of them."""
    exhausted: int
    """Jobs that were given up because no retry was left."""
    failures: int
    """Those that failed."""
    retries: int
    """Those that were retries."""
    successes: int
    """Those that succeeded."""
    successfulRetries: int
    """Retries that succeeded."""


class MinuteStats(Tally):
    """Attempts that ended within one minute."""

    at: str
    """The minute's beginning."""


MissedTickPolicy: TypeAlias = Literal["skip", "runOnce", "runAll"]
"""What happens to ticks that were missed"""

Name: TypeAlias = "str"


class Node(TypedDict):
    """One process that serves the store."""

    alive: bool
    """Whether that was recent enough."""
    concurrency: int
    """How many jobs it runs at once."""
    inFlight: int
    """How many it runs at the moment."""
    lastSeen: str
    """When it last gave a sign of life."""
    name: str
    """Its name."""
    queues: list[str]
    """Which queues it serves; all if the list is empty."""
    startedAt: str
    """When it started."""
    version: str
    """The version of Steadfast that it runs."""


class NodeList(TypedDict):
    """All nodes."""

    nextCursor: NotRequired[str | None]
    """Where to go on, as `after`; null at the end of the list."""
    nodes: list[Node]
    """By name."""


OnFailure: TypeAlias = Literal["wait", "fail", "run"]


class Operation(TypedDict):
    """Work on many jobs, and how far it has come."""

    atLeast: bool
    """There may be more than `total`: counting stopped early."""
    by: Actor
    """Who asked for it."""
    changed: int
    """Those that were changed; the others did not allow it."""
    createdAt: str
    """When it was created."""
    filter: str
    """Which jobs, for people."""
    finishedAt: NotRequired[str | None]
    """When it ended."""
    id: str
    """`opr_…`"""
    isNamed: bool
    """It is for named jobs."""
    kind: str
    """What is done to each job."""
    mode: str
    """`all` or `canary`."""
    outcomes: OperationOutcomes
    """How the next attempts of the jobs of a canary ended."""
    pace: NotRequired[int | None]
    """How many jobs it may work on in a second."""
    report: str
    """What was done and what was not, as a sentence."""
    stage: int
    """The stage of a canary, from 0 to 3."""
    status: str
    """`running`, `paused`, `done`, `cancelled`, or `stopped` if failures came back."""
    stopReason: NotRequired[str | None]
    """Why it has stopped itself."""
    tenant: NotRequired[Name | None]
    """Whose jobs; null for those of all tenants."""
    total: int
    """How many jobs there are."""
    worked: int
    """Jobs that it has looked at."""


class OperationJob(TypedDict):
    """What an operation did to a job."""

    job: str
    """`job_…`"""
    outcome: NotRequired[str | None]
    """How the next attempt ended, if a canary watches that."""
    result: NotRequired[str | None]
    """`changed`, or why not; null if its turn has not come."""


class OperationJobList(TypedDict):
    """A page of the jobs of an operation."""

    jobs: list[OperationJob]
    """The newest id first."""
    nextCursor: NotRequired[str | None]
    """Where to go on, as `after`; null at the end of the list."""


class OperationList(TypedDict):
    """A page of operations."""

    nextCursor: NotRequired[str | None]
    """Where to go on, as `after`; null at the end of the list."""
    operations: list[Operation]
    """The newest first."""


class OperationOutcomes(TypedDict):
    """How the next attempts of jobs ended."""

    failedAgain: int
    """They failed as before."""
    failedOtherwise: int
    """They failed in another way."""
    succeeded: int
    """They succeeded."""
    unknown: int
    """It will not be known."""


OverlapPolicy: TypeAlias = Literal["skip", "allow", "queueOne", "replace"]
"""What happens to a tick while the last run is unfinished, its retries included."""


class Pause(TypedDict):
    """Who closed a gate, and why."""

    by: NotRequired[str | None]
    """Who, by the name of the key."""
    reason: NotRequired[str | None]
    """For people."""
    since: str
    """Since when."""
    until: NotRequired[str | None]
    """When it opens by itself."""


class PauseDetails(TypedDict):
    """Why a gate is closed, and until when."""

    reason: NotRequired[str | None]
    """For people."""
    until: NotRequired[str | None]
    """When it opens by itself."""


class PauseQueueRequest(TypedDict):
    """Why a queue is paused, and until when."""

    reason: NotRequired[str | None]
    """For people."""
    until: NotRequired[str | None]
    """When it is resumed by itself."""


PauseRequest: TypeAlias = "bool | PauseDetails"
"""true or an object to close the gate, false to open it"""


class PolicyPreview(TypedDict):
    """What a policy would do to a job that always fails at once."""

    attempts: list[PolicyPreviewAttempt]
    """Each attempt it would make."""
    givesUp: DelayRange
    """When it gives up, counted from the first attempt."""
    retry: RetryPolicy
    """The policy, complete."""


class PolicyPreviewAttempt(TypedDict):
    """One attempt of a preview."""

    at: DelayRange
    """When it starts, counted from the first attempt."""
    attempt: int
    """Its number, from 1."""
    delay: DelayRange
    """The wait before it."""
    retryCount: int
    """Retries before it."""


class PolicyReplay(TypedDict):
    """What a policy would have done, beside what was done."""

    isCut: bool
    """Whether there were more attempts than are read, so that older jobs were left out."""
    new: NotRequired[ReplayFigures | None]
    """The other policy; null if too little was observed to know."""
    observedShare: float
    """For which share of the retries of the other policy something was observed near their
    time, from 0 to 1. Below 0.8 there is no `new`.
    """
    old: NotRequired[ReplayFigures | None]
    """The policies that were used, replayed as the other one: how far this is from the record
    is how far `new` may be from the truth.
    """
    recorded: ReplayFigures
    """What is on record."""
    since: str
    """The jobs were created at this time or later."""
    summary: str
    """The result as a sentence; that it is not known, if too little was observed."""


class Prerequisite(TypedDict):
    """A job that another one waits for."""

    id: str
    """Its id."""
    state: PrerequisiteState
    """Where it stands. One that was discarded or deleted without success is `given_up`."""


PrerequisiteState: TypeAlias = Literal["unfinished", "succeeded", "failed", "given_up"]


Preset: TypeAlias = Literal[
    "http", "queue", "patient", "webhook", "conservative", "aggressive", "once"
]


class PreviewPolicyRequest(TypedDict):
    """A policy to be looked at."""

    retry: NotRequired[RetryPolicyInput | None]
    """The policy, over the preset it names or over `queue`."""


class Problem(TypedDict):
    """A problem. The code is for programs, the sentence for people, and the field says where to
    look.
    """

    code: str
    """Stable; programs may rely on it."""
    detail: str
    """A sentence for people."""
    field: NotRequired[str]
    """The field at fault, if there is one."""
    status: int
    """The status of the response."""
    title: str
    """The name of the status."""
    type: str
    """Always `about:blank`: the code says what kind of problem it is."""


class Queue(Counts):
    """A queue, with its counts."""

    name: str
    """Its name."""
    pause: NotRequired[Pause | None]
    """Who paused it, why, and until when, if that is known."""
    paused: bool
    """Whether its jobs wait until it is resumed."""
    tenant: str
    """The tenant it belongs to."""


class QueueExplanation(TypedDict):
    """What keeps the jobs of a queue from running."""

    next: NotRequired[StartExplanation | None]
    """Why the next job has not started, if one is due."""
    queue: str
    """The queue."""
    ready: int
    """Jobs that are due and wait."""
    running: int
    """Jobs that run."""
    scheduled: int
    """Jobs that are due later."""
    sentence: str
    """In a sentence or two."""


class QueueForecast(ForecastSeries):
    """What is coming in a queue."""

    errorShare: NotRequired[float | None]
    """By which part of the attempts that came forecasts of this queue were wrong in the last
    six hours, ten minutes ahead and over all tenants: 0 for not at all. Null if it is not known
    yet.
    """
    queue: str
    """The queue."""


class QueueList(TypedDict):
    """All queues."""

    nextCursor: NotRequired[str | None]
    """Where to go on, as `after`; null at the end of the list."""
    queues: list[Queue]
    """By tenant and name."""


class Rate(TypedDict):
    """How many may start in a time: never more than `limit + burst` starts in any window of
    length `per`.
    """

    burst: NotRequired[int | None]
    """How many more, after a time in which fewer started; 0 by default."""
    limit: int
    """How many."""
    per: Duration
    """In which time, from `1s` to `1d`."""


class ReleaseRequest(TypedDict):
    """A request to take a job back, without counting this attempt: the worker stops."""

    fence: int
    """That of the claim."""


class ReplayFigures(TypedDict):
    """What came of jobs under a policy."""

    attempts: int
    """Attempts that were made for them."""
    deadLetters: int
    """How many of them became dead letters."""
    jobs: int
    """Jobs; one that was requeued counts again."""
    peakStartsPerMinute: int
    """Attempts that started in the fullest minute."""
    successes: int
    """How many of them succeeded."""
    timeToSuccessP50Ms: NotRequired[int | None]
    """From the start of the first attempt to success, for half of those that succeeded."""
    timeToSuccessP95Ms: NotRequired[int | None]
    """The same for 95 of 100."""


class ReplayPolicyRequest(TypedDict):
    """Another policy, and the jobs over whose attempts it is run: at least one of `queue`,
    `kind` and `destination`.
    """

    destination: NotRequired[str | None]
    """Jobs that call this system, as `https://api.example.com`."""
    kind: NotRequired[Name | None]
    """Jobs of this kind."""
    queue: NotRequired[Name | None]
    """Jobs of this queue."""
    retry: NotRequired[RetryPolicyInput | None]
    """The other policy: what jobs would have got that were created with this `retry`."""
    since: NotRequired[str | None]
    """Jobs that were created at this time or later, at most a week ago; a day ago by default."""
    tenant: NotRequired[Name | None]
    """Of this tenant. Only for keys that see all tenants; other keys have their own."""


class RetryJobRequest(TypedDict):
    """A manual retry of a job that ended."""

    payload: NotRequired[Any]
    """A new input, in place of the one it had."""


class RetryPolicy(TypedDict):
    """The policy in force, complete"""

    backoff: Backoff
    baseDelay: str
    delays: NotRequired[list[str]]
    factor: float
    jitter: Jitter
    jitterFactor: float
    maxDelay: str
    maxElapsed: NotRequired[str]
    maxRetries: int
    rules: NotRequired[list[RetryRule]]


class RetryPolicyFields(TypedDict):
    backoff: NotRequired[Backoff]
    baseDelay: NotRequired[Duration]
    delays: NotRequired[list[Duration]]
    """An explicit list; the last entry repeats"""
    factor: NotRequired[float]
    """Of exponential backoff"""
    jitter: NotRequired[Jitter]
    jitterFactor: NotRequired[float]
    maxAttempts: NotRequired[int]
    """The same as maxRetries + 1"""
    maxDelay: NotRequired[Duration]
    maxElapsed: NotRequired[Duration]
    maxRetries: NotRequired[int]
    """Retries after the first attempt"""
    preset: NotRequired[Preset]
    rules: NotRequired[list[RetryRule]]
    """The first that matches decides"""


RetryPolicyInput: TypeAlias = "Preset | RetryPolicyFields"
"""A retry policy: a preset's name, or an object with any of its fields. What it leaves out
comes from the next level: schedule, queue, tenant, server.
"""


class RetryRule(TypedDict):
    """When a failure looks like this, do that"""

    match: Literal["any"] | dict[str, Any]
    """"any", or an object with class, status and message; all that are given must hold"""
    then: Literal["retry", "fail"] | dict[str, Any]
    """Retry, give up, or retry after this long"""


class RotateSecretRequest(TypedDict):
    """A change of the secret that signs."""

    overlap: NotRequired[Duration | None]
    """How long the old secret signs beside the new one; 1d by default."""
    secret: NotRequired[str | None]
    """The new secret; generated by default."""


class RunUntilIdleRequest(TypedDict):
    """A request to wait until nothing is left to do."""

    timeout: NotRequired[Duration | None]
    """How long to wait, up to 60s; 10s by default."""


class SaveStepRequest(TypedDict):
    """The result of a step of an attempt, to be stored."""

    fence: int
    """That of the claim."""
    result: NotRequired[Any]
    """Any JSON, up to 64 KiB; null by default."""


class Schedule(TypedDict):
    """A schedule, with its next ticks."""

    createdAt: str
    """When it was created."""
    endAt: NotRequired[str | None]
    """No tick at this time or later."""
    every: NotRequired[str | None]
    """Its interval, if it has no cron rule."""
    id: str
    """`sch_…`"""
    inWords: NotRequired[str]
    """What its rule means: `at 09:00 on Monday to Friday`."""
    job: Job
    """The job that each tick makes."""
    lastTick: NotRequired[str | None]
    """Its newest tick."""
    maxRuns: NotRequired[int | None]
    """How many runs it makes at most."""
    missed: MissedTickPolicy
    """What happens to ticks that passed while no node was running."""
    name: str
    """Unique within the tenant."""
    nextTick: NotRequired[str | None]
    """Its next tick."""
    overlap: OverlapPolicy
    """What happens at a tick while the run before it has not ended."""
    paused: bool
    """Whether it makes no runs until it is resumed."""
    runs: int
    """How many runs it has made."""
    schedule: NotRequired[str | None]
    """Its cron rule."""
    startAt: NotRequired[str | None]
    """No tick before this time."""
    tenant: str
    """The tenant it belongs to."""
    timezone: NotRequired[str | None]
    """The time zone of its cron rule."""
    upcoming: list[UpcomingTick]
    """The next ticks, soonest first; empty while it is paused."""


class ScheduleList(TypedDict):
    """A page of schedules."""

    nextCursor: NotRequired[str | None]
    """Where to go on, as `after`; null at the end of the list."""
    schedules: list[Schedule]
    """Newest first."""


Scope: TypeAlias = Literal["admin", "tenant", "worker", "read"]


class SetDestinationRequest(TypedDict):
    """The settings of a destination. With `PUT` those that are left out are as by default; with
    `PATCH` they stay, and null makes one as by default.
    """

    health: NotRequired[HealthRules | None]
    """When it counts as unhealthy."""
    hold: NotRequired[HoldMode | None]
    """What follows if it is found unhealthy; `watch` by default."""
    shareRetryAfter: NotRequired[bool | None]
    """Whether a `Retry-After` that one job received counts for all; true by default."""


class SetGateRequest(TypedDict):
    """The limits of a gate."""

    health: NotRequired[HealthRules | None]
    """When the destination counts as unhealthy. Only for scope `destination`, for all tenants."""
    hold: NotRequired[HoldMode | None]
    """What follows if the destination is found unhealthy; `watch` by default. Only for scopes
    `destination` and `tenant`.
    """
    maxRunning: NotRequired[int | None]
    """How many attempts may run at once, over all nodes; null for no limit."""
    ordered: NotRequired[bool | None]
    """One at a time, in the order of creation; one that is retried holds back those behind it.
    Only for scope `key`.
    """
    paused: NotRequired[PauseRequest | None]
    """`true` or an object to close the gate, `false` to open it."""
    rate: NotRequired[Rate | None]
    """How many attempts may start in a time, over all nodes; null for no limit."""
    retryShare: NotRequired[float | None]
    """Which part of the starts in a minute may be retries; a few always may."""
    shareRetryAfter: NotRequired[bool | None]
    """Whether a `Retry-After` that one job received counts for all jobs of the destination;
    true by default. Only for scope `destination`, for all tenants.
    """
    weight: NotRequired[int | None]
    """What the tenant counts for beside others; 1 by default. Only for scope `tenant`."""


class SettleRequest(TypedDict):
    """The ends of many attempts, in one request."""

    settlements: list[SettlementRequest]
    """One for each attempt, up to 1,000."""


class SettlementList(TypedDict):
    """One result for each settlement."""

    settled: list[SettlementResult]
    """In the order of the request."""


SettlementOutcome: TypeAlias = Literal["succeed", "fail", "snooze", "release"]
"""How an attempt ended, as its worker reports it."""


class SettlementRequest(TypedDict):
    """How one of many attempts ended."""

    delay: NotRequired[Duration | None]
    """How long from now; only with `snooze`."""
    failure: NotRequired[FailureRequest | None]
    """What went wrong; only with `fail`."""
    fence: int
    """That of the claim."""
    id: str
    """The job's id."""
    onSuccess: NotRequired[list[CreateJobRequest]]
    """Jobs that are created with the success or not at all, up to 100; only with `succeed`."""
    outcome: SettlementOutcome
    """How it ended."""
    result: NotRequired[Any]
    """Kept with the attempt; only with `succeed`."""


class SettlementResult(TypedDict):
    """What became of one settlement."""

    code: NotRequired[str | None]
    """`stale_fence` or `not_found`, if it is not ok because the claim does not hold; else what
    is wrong with this settlement, as `invalid`: the claim still holds, so send another one,
    such as a failure that says so.
    """
    detail: NotRequired[str | None]
    """A sentence for people, if it is not ok."""
    field: NotRequired[str | None]
    """The field of the settlement that is wrong, as `result`."""
    id: str
    """The job's id, as it was sent."""
    label: NotRequired[JobLabel | None]
    """The job's label from now on."""
    ok: bool
    """Whether it was accepted."""


class SharedRetryAfter(TypedDict):
    """A `Retry-After` that counts for all jobs of a destination."""

    at: str
    """When it was received."""
    jobId: NotRequired[str | None]
    """The job that received it; only for keys that see all tenants."""
    status: int
    """The status it came with."""
    until: str
    """No job calls before."""


SkipReason: TypeAlias = Literal["overlap", "missed", "missedLimit", "maxRuns"]
"""Why a tick created no job."""


class SkippedTicks(TypedDict):
    """Ticks in a row that made no run, for one reason."""

    count: int
    """How many."""
    reason: SkipReason
    """Why they were skipped."""
    until: str
    """The last of them."""


class SnoozeRequest(TypedDict):
    """A request to try again later without counting this attempt."""

    delay: Duration
    """How long from now."""
    fence: int
    """That of the claim."""


class StartEstimate(TypedDict):
    """When a job may start, as far as that can be known."""

    at: str
    """When."""
    basis: str
    """What that is based on."""


class StartExplanation(TypedDict):
    """Why a job does not run, and what to expect."""

    action: NotRequired[str | None]
    """The one thing that would start it sooner."""
    blockers: list[Blocker]
    """Everything that stands between now and its start."""
    claimable: bool
    """Whether a claim for its kind and queue would take it now, if it takes enough."""
    estimate: NotRequired[StartEstimate | None]
    """When it will probably start; absent if that depends on more than time."""
    job: str
    """`job_…`"""


class Stats(Counts):
    """Counts and rates."""

    lanes: list[LaneStats]
    """By tenant, queue and kind. The figures above are of all of them, whichever page this is."""
    nextCursor: NotRequired[str | None]
    """Where to go on, as `after`; null at the end of the lanes."""
    now: str
    """The time of these figures."""
    retryRate: NotRequired[float | None]
    """Retries among the attempts of the last five minutes; null if there was none."""
    retrySuccessRate: NotRequired[float | None]
    """The share of retries that succeeded; null before the first."""
    successfulRetries: int
    """Those of them that succeeded."""
    throughput: float
    """Attempts per second over the last five minutes."""
    totalRetries: int
    """Retries since the beginning."""


class Step(TypedDict):
    """A step of a job that is done, whichever attempt did it."""

    name: str
    """Its name."""
    result: Any
    """The result that was stored first."""


class SucceedRequest(TypedDict):
    """A report that an attempt succeeded."""

    fence: int
    """That of the claim."""
    onSuccess: NotRequired[list[CreateJobRequest]]
    """Jobs that are created with the success or not at all, up to 100; none of them may be
    recurring. They belong to the tenant of this job by default.
    """
    result: NotRequired[Any]
    """Kept with the attempt, up to 64 KiB."""


class Tick(TypedDict):
    """A tick that made a run, or one or several that were skipped."""

    at: str
    """When it came."""
    jobId: NotRequired[str | None]
    """The run it made."""
    skipped: NotRequired[SkippedTicks | None]
    """Why it made none."""


class TickList(TypedDict):
    """A page of ticks."""

    nextCursor: NotRequired[str | None]
    """Where to go on, as `after`; null at the end of the list."""
    ticks: list[Tick]
    """Ticks that have come, newest first."""
    upcoming: list[UpcomingTick]
    """Ticks to come, soonest first; only with the first page."""


Unique = TypedDict(
    "Unique",
    {
        "key": "str",
        "onConflict": "NotRequired[Literal['keep', 'replace', 'reject']]",
        "while": "NotRequired[Literal['waiting', 'unfinished']]",
    },
)


UniqueResult: TypeAlias = Literal["kept", "moved", "replaced"]


class UpcomingTick(TypedDict):
    """A tick to come."""

    at: str
    """When it comes."""
    dst: NotRequired[Dst | None]
    """What a change of clocks does to it: `gap` (it fires right after the gap) or `fold` (the
    clock shows this time twice).
    """


class Webhook(TypedDict):
    """Where events of a job are sent, without the secret that signs them."""

    endpoint: NotRequired[str | None]
    """The endpoint that a delivery is for."""
    events: list[EventType]
    """Which events are sent."""
    signed: bool
    """Whether deliveries are signed."""
    url: NotRequired[str | None]
    """The address, of a job's own webhook."""


class WebhookRequest(TypedDict):
    """A job's own webhook."""

    events: NotRequired[list[EventType] | None]
    """Which events are sent; `job.succeeded` and `job.failed` by default."""
    retry: NotRequired[RetryPolicyInput | None]
    """The retry policy of its deliveries, over the preset `webhook`."""
    secret: NotRequired[str | None]
    """`whsec_…`, for signing as Standard Webhooks says. It is never shown again."""
    url: str
    """Where events are sent."""


class Worker(TypedDict):
    """One process that claims jobs over HTTP."""

    alive: bool
    """Whether it was seen within 90 s."""
    concurrency: NotRequired[int | None]
    """How many jobs it runs at once, if it says so."""
    firstSeen: str
    """When it first claimed."""
    host: NotRequired[str | None]
    """The machine it runs on."""
    kinds: list[str]
    """Which kinds it claims; all but those that nodes run if the list is empty."""
    lastSeen: str
    """When it last claimed or sent heartbeats, to within 15 s."""
    library: NotRequired[str | None]
    """The library it was written with."""
    name: str
    """Its name."""
    queues: list[str]
    """From which queues it claims; all if the list is empty."""
    running: int
    """How many jobs it holds, of the newest 500 that run."""
    tenant: NotRequired[str | None]
    """The tenant whose jobs it claims; null if those of all."""
    version: NotRequired[str | None]
    """The version of its program."""


class WorkerInfo(TypedDict):
    """What a worker is, in its own words. Each text may have 128 bytes."""

    concurrency: NotRequired[int | None]
    """How many jobs it runs at once."""
    host: NotRequired[str | None]
    """The machine it runs on."""
    library: NotRequired[str | None]
    """The library it was written with, as `steadfast-python/0.1.0`."""
    version: NotRequired[str | None]
    """The version of the program that runs the jobs."""


class WorkerList(TypedDict):
    """The workers that have claimed jobs within the last day."""

    nextCursor: NotRequired[str | None]
    """Where to go on, as `after`; null at the end of the list."""
    workers: list[Worker]
    """By tenant and name."""
