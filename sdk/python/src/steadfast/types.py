# Written by scripts/generate.py from docs/openapi.json.
"""What the API takes and answers, by the names of docs/openapi.json."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    from typing_extensions import NotRequired


class AcknowledgeAlertsRequest(TypedDict):
    """A request to acknowledge firing alerts: all that match."""

    destination: NotRequired[str | None]
    """Only the alert of this destination."""
    rule: AlertRule
    """The rule of the alerts."""
    subject: NotRequired[AlertSubject | None]
    """Only alerts about these jobs."""
    tenant: NotRequired[Name | None]
    """Only alerts of this tenant."""


class Actor(TypedDict):
    """The caller of a command."""

    agent: NotRequired[str | None]
    """The agent that sent the command for this caller, as it calls itself."""
    key: NotRequired[str | None]
    """`key_…`; null while the server requires no key."""
    name: str
    """The name of the key, or the interface used: `api` or `dashboard`."""


class AdvanceClockRequest(TypedDict):
    """A request to advance the clock of the store."""

    by: Duration
    """By how much."""


class Alert(TypedDict):
    """The state of an alert rule for one tenant"""

    acknowledged: NotRequired[AlertAcknowledgement]
    destination: NotRequired[str]
    """The destination, if the rule is `destination`"""
    fingerprint: NotRequired[Fingerprint]
    firedAt: str | None
    message: str
    notifiedAt: str | None
    queue: str | None
    """The queue that contributes most to the value"""
    resolvedAt: str | None
    rule: AlertRule
    silencedUntil: NotRequired[str]
    """No notifications are sent before this time"""
    since: str
    """Time of the last change of state"""
    status: AlertStatus
    subject: AlertSubject
    tenant: str
    threshold: float
    """The threshold, in `unit`"""
    unit: AlertUnit
    updatedAt: str
    value: float
    """The measured value, in `unit`: a number of jobs, a fraction of attempts from 0 to 1, or
    seconds
    """


class AlertAcknowledgement(TypedDict):
    """Who works on a firing alert; it sends no reminders"""

    at: str
    by: NotRequired[str]


class AlertList(TypedDict):
    """Alerts: firing, pending and resolved."""

    alerts: list[Alert]
    """One alert per rule and tenant."""
    nextCursor: NotRequired[str | None]
    """Cursor for the next page, sent as `after`; null at the end of the list."""


AlertRule: TypeAlias = Literal[
    "dlq",
    "retry_rate",
    "exhausted",
    "overdue",
    "destination",
    "new_failure",
    "regressed",
    "storm",
    "certificate",
    "fragile",
    "corrected",
    "store_slow",
]


AlertStatus: TypeAlias = Literal["ok", "pending", "firing"]


AlertSubject: TypeAlias = Literal["jobs", "deliveries", "notifications"]


AlertUnit: TypeAlias = Literal["jobs", "share", "seconds", "causes", "nodes", "certificates"]


class AnswerPattern(TypedDict):
    """Responses with one meaning. `notDone` is compared first, and is status 404 and 410 by
    default; `done` is status 2xx by default. Any other response is `unknown`.
    """

    body: NotRequired[str]
    """Pattern for the whole body; * matches any characters"""
    status: NotRequired[int | str | list[int | str]]
    """503, "5xx" or "500-504" """


class Attempt(TypedDict):
    """One attempt and its retry decision."""

    answer: NotRequired[ConfirmAnswer | None]
    """The answer, if this was no attempt but a question whether attempt number `attempt` took
    effect.
    """
    attempt: int
    """Number of the attempt, from 1, including attempts before a manual retry."""
    attemptsBefore: int
    """Attempts of earlier retry budgets of the job."""
    decision: NotRequired[Decision | None]
    """The decision in numbers."""
    durationMs: int
    """Duration in milliseconds."""
    executionTime: str
    """Start time."""
    explanation: NotRequired[str | None]
    """The retry decision as a sentence; null after a success."""
    failure: NotRequired[Failure | None]
    """The failure."""
    finishedAt: str
    """End time; for a lost attempt, the time it was detected."""
    jobId: str
    """The job of the attempt."""
    nextRunAt: NotRequired[str | None]
    """Due time of the next attempt, if any."""
    note: NotRequired[str | None]
    """The last progress note of the handler or worker."""
    progress: NotRequired[int | None]
    """The last progress in percent."""
    requeued: bool
    """Whether it is the first attempt after a manual retry."""
    requeuedBy: NotRequired[str | None]
    """Who requeued the job before this attempt, if that is on record."""
    response: NotRequired[Any]
    """The HTTP response of an HTTP job or webhook."""
    result: NotRequired[Any]
    """The result of the handler or worker."""
    retryCount: int
    """Retries before this attempt in its budget: 0 for the first attempt of each budget."""
    status: AttemptStatus
    """Outcome of the attempt."""
    timings: NotRequired[Any]
    """Duration of each phase of a call without a response, in milliseconds, up to the failed
    phase: `dnsMs`, `connectMs`, `tlsMs`, `firstByteMs`, `bodyMs`. A response has its own
    timings.
    """
    worker: NotRequired[str | None]
    """The worker or node that ran it."""


class AttemptList(TypedDict):
    """A page of attempts."""

    attempts: list[Attempt]
    """The attempts, newest first."""
    nextCursor: NotRequired[str | None]
    """Cursor for the next page, sent as `after`; null at the end of the list."""


class AttemptLog(TypedDict):
    """The newest lines that an attempt logged: up to 1,000 lines or 64 KiB."""

    attempt: int
    """The number of the attempt."""
    dropped: int
    """How many lines from `from` up to `next` are missing, because the log was full."""
    lines: list[NumberedLogLine]
    """The lines, oldest first."""
    next: int
    """The number of the next line: read on with `from` until no lines come."""


AttemptStatus: TypeAlias = Literal[
    "SUCCESS", "FAILED", "LOST", "SNOOZED", "CANCELLED", "RELEASED", "ASKED"
]


class AuditList(TypedDict):
    """A page of audit records."""

    nextCursor: NotRequired[str | None]
    """Cursor for the next page, sent as `after`; null at the end of the list."""
    records: list[AuditRecord]
    """Newest first."""


class AuditRecord(TypedDict):
    """One command and its caller."""

    action: str
    """The action, such as `job.cancel` or `gate.set`."""
    actor: Actor
    """The caller."""
    at: str
    """Time of the command."""
    detail: NotRequired[str | None]
    """Details as text."""
    id: str
    """`aud_…`"""
    subject: str
    """Subject of the command."""
    tenant: NotRequired[Name | None]
    """Tenant of the jobs or settings; null for all tenants."""


Backoff: TypeAlias = Literal["exponential", "linear", "fixed", "fibonacci", "delays"]
"""How the delay grows from one retry to the next."""


class Batch(TypedDict):
    """A group of jobs with shared progress."""

    createdAt: str
    """When it was created."""
    failed: int
    """Jobs that ended without success."""
    finishedAt: NotRequired[str | None]
    """When all jobs had ended; null again if a job is requeued."""
    id: str
    """`bat_…`"""
    jobs: NotRequired[list[str] | None]
    """The ids of its jobs, in the order of the request. Only in the response to its creation."""
    name: NotRequired[str | None]
    """Name of the batch."""
    onEnd: NotRequired[BatchCallback | None]
    """The job that is created when all jobs have ended."""
    onSuccess: NotRequired[BatchCallback | None]
    """The job that is created when all jobs have succeeded."""
    progress: int
    """Percentage of jobs that have ended."""
    status: str
    """`open` while jobs can be added, `running` until all have ended, then `succeeded`, or
    `failed` if some have failed or were cancelled.
    """
    succeeded: int
    """Jobs that have succeeded."""
    tenant: Name
    """Tenant of the batch."""
    total: int
    """Number of jobs in the batch."""
    unfinished: int
    """Unfinished jobs."""


class BatchCallback(TypedDict):
    """A callback job of a batch."""

    created: bool
    """Whether the job has been created. It is created only once."""
    id: str
    """`job_…`; assigned before the job is created."""


class BatchList(TypedDict):
    """A page of batches."""

    batches: list[Batch]
    """Newest first."""
    nextCursor: NotRequired[str | None]
    """Cursor for the next page, sent as `after`; null at the end of the list."""


class Blocker(TypedDict):
    """One reason why a job does not start."""

    ahead: NotRequired[int | None]
    """Number of jobs ahead."""
    aheadAtLeast: NotRequired[bool | None]
    """Whether `ahead` is a lower bound; absent means false."""
    by: NotRequired[str | None]
    """Who paused or held it."""
    evidence: NotRequired[dict[str, Any] | None]
    """Why a destination is held."""
    gate: NotRequired[GateId | None]
    """The gate, if a gate blocks the job."""
    holders: NotRequired[list[GateHolder] | None]
    """Some of the running attempts."""
    jobs: NotRequired[list[str] | None]
    """The jobs ahead."""
    kind: BlockerKind
    """The kind of blocker."""
    quota: NotRequired[dict[str, Any] | None]
    """What the destination says remains of its own limits; hidden from keys for one tenant if
    it applies to all tenants.
    """
    retryAfter: NotRequired[dict[str, Any] | None]
    """The job that received the `Retry-After`; hidden from keys for one tenant."""
    sentence: str
    """The blocker as a sentence."""
    since: NotRequired[str | None]
    """Start of the pause or hold, or when a worker was last seen."""
    until: NotRequired[str | None]
    """When the blocker ends, if only time is needed."""


BlockerKind: TypeAlias = Literal[
    "state",
    "expired",
    "run_at",
    "endpoint_disabled",
    "runs_after",
    "paused",
    "held",
    "retry_after",
    "quota",
    "pace",
    "ramping",
    "max_running",
    "rate",
    "retry_share",
    "ordered",
    "no_worker",
    "no_slot",
    "behind",
]


BodyFormat: TypeAlias = Literal["standard", "slack", "cloudevents"]


class BulkResult(TypedDict):
    """Number of jobs that were or would be changed."""

    atLeast: bool
    """Whether `count` is a lower bound, because counting stopped early or the work continues."""
    count: int
    """Number of changed jobs; for a dry run, the number that would be changed."""
    dryRun: bool
    """Whether it was a dry run."""
    operation: NotRequired[str | None]
    """The operation that does the work, `opr_…`; absent if the work was done immediately or
    only counted.
    """


class CertificateChange(TypedDict):
    """A change of one setting that makes the system recover."""

    deadLetters: int
    """Most jobs given up because of a fault with this value."""
    recoversAfterMs: int
    """Time from the end of the worst fault to recovery with this value."""
    setting: str
    """The setting."""
    summary: str
    """The change as a sentence."""
    value: str
    """Its new value."""


class CertificatePicture(TypedDict):
    """Load against time."""

    faultFromMs: int
    """When the fault begins."""
    faultToMs: int
    """When the fault ends."""
    rows: list[CertificateRow]
    """One row per load, lowest first."""
    spanMs: int
    """Time covered by the columns."""


class CertificateRow(TypedDict):
    """The system at one load."""

    isGiven: bool
    """Whether this is the load of the request."""
    load: float
    """Fraction of the capacity that the jobs need if each is called once."""
    recoversAfterMs: NotRequired[int | None]
    """Time from the end of the worst fault to recovery; null if the system does not recover."""
    states: list[SystemState]
    """Worst state in each column."""


class CertificateTarget(TypedDict):
    """The target of a certificate."""

    capacity: float
    """Calls per second that it can answer."""
    latencyMs: int
    """Time it takes to answer a call."""
    measuredCalls: NotRequired[int | None]
    """Number of recorded calls behind the measured numbers; null if all were given."""
    timeoutMs: int
    """Timeout of a call."""
    traffic: float
    """Jobs per second that call it."""


CertificateVerdict: TypeAlias = Literal["recovers", "stays_down", "overloaded"]
"""The verdict of a certificate."""


class CertifyPolicyRequest(TypedDict):
    """Settings whose behaviour after outages is computed. `capacity`, `latency` and `traffic`
    are required unless `destination` is given and calls to it are recorded.
    """

    capacity: NotRequired[float | None]
    """Calls per second that the target can answer."""
    destination: NotRequired[str | None]
    """Destination whose gate applies, and whose recorded calls replace missing numbers."""
    hold: NotRequired[HoldMode | None]
    """What to do when the destination is unhealthy; by default `auto` for nodes and `watch` for
    workers.
    """
    latency: NotRequired[Duration | None]
    """Time the target takes to answer a call while nothing waits there."""
    maxRunning: NotRequired[int | None]
    """Maximum number of concurrent attempts of the destination's gate."""
    nodes: NotRequired[int | None]
    """Number of nodes that make the calls; 1 by default."""
    outage: NotRequired[Duration | None]
    """Length of each simulated fault; 5 minutes by default."""
    queue: NotRequired[Name | None]
    """Queue whose policy settings apply."""
    rate: NotRequired[Rate | None]
    """Rate limit of the destination's gate."""
    retry: NotRequired[RetryPolicyInput | None]
    """The retry policy; omitted fields come from the queue, the tenant and the server."""
    retryShare: NotRequired[float | None]
    """Maximum fraction of starts per minute that may be retries, of the destination's gate."""
    slots: NotRequired[int | None]
    """Total slots of the workers or handlers that make the calls, instead of `nodes`."""
    tenant: NotRequired[Name | None]
    """Only this tenant. Requires a key for all tenants; other keys always use their own tenant."""
    timeout: NotRequired[Duration | None]
    """Timeout of a call; 30 seconds by default."""
    traffic: NotRequired[float | None]
    """Jobs per second that call the target."""


class Claim(TypedDict):
    """A job held by a worker until its lease expires."""

    fence: int
    """Proof that the claim is valid: send it with every request about this attempt."""
    id: str
    """The job's id, used in the paths of later requests."""
    job: Job
    """The job itself. If it has `questions`, do not run it: find out whether its last attempt
    took effect, and settle with the outcome `answer`.
    """
    leaseUntil: NotRequired[str | None]
    """Expiry of the claim."""


class ClaimJobsRequest(TypedDict):
    """A worker's request for jobs."""

    confirms: NotRequired[list[Kind]]
    """Kinds for which the worker answers whether an attempt took effect, at most 100. Questions
    of other kinds are answered `unknown` for it.
    """
    kinds: NotRequired[list[Kind]]
    """Kinds to claim, at most 100; by default all kinds except those that the node runs itself."""
    lease: NotRequired[Duration | None]
    """Lease duration, instead of each job's own lease."""
    max: NotRequired[int | None]
    """Maximum number of jobs; 10 by default."""
    queues: NotRequired[list[Name]]
    """Queues to claim from, at most 100; all by default."""
    session: NotRequired[ClaimSession | None]
    """Which responses have arrived. Claims of a response that did not arrive are released
    without counting the attempt.
    """
    settlements: NotRequired[list[SettlementRequest]]
    """Settlements of earlier attempts, up to 1,000, settled before the claim. The response has
    one result for each and does not wait for jobs.
    """
    tenant: NotRequired[Name | None]
    """Only this tenant. Requires a key for all tenants; other keys always use their own tenant."""
    wait: NotRequired[Duration | None]
    """How long to wait for a job, up to 30s; no wait by default."""
    worker: Name
    """The worker's name; shown with every attempt."""
    workerInfo: NotRequired[WorkerInfo | None]
    """Description of the worker, shown in the list of workers."""


class ClaimList(TypedDict):
    """The claims of a request."""

    claims: list[Claim]
    """The claims; may be empty."""
    settled: NotRequired[list[SettlementResult]]
    """One result per settlement of the request, in its order."""


class ClaimSession(TypedDict):
    """The claim requests of one worker process, one after the other."""

    id: str
    """Random text of the process, up to 64 bytes; a restarted worker has another one."""
    received: NotRequired[int]
    """The highest `sequence` whose response has arrived, with all its claims; 0 by default."""
    sequence: int
    """Number of this request: higher than that of every earlier request of the session. A lower
    one is refused, because it was overtaken.
    """


class Clock(TypedDict):
    """The time of the store."""

    now: str
    """The current time of the store."""


class CloudEvent(TypedDict):
    """An event in structured mode. Other fields are extension attributes, which become tags."""

    data: NotRequired[Any]
    """The payload of the job."""
    datacontenttype: NotRequired[str | None]
    """Media type of the data."""
    id: str
    """Id of the event, unique for its source."""
    queue: NotRequired[str | None]
    """Queue of the job."""
    source: str
    """URI of the sender. Together with the id it is the idempotency key of the job."""
    specversion: str
    """Version of the specification: `1.0`."""
    subject: NotRequired[str | None]
    """What the event is about."""
    time: NotRequired[str | None]
    """When it happened."""
    type: str
    """Type of the event: the kind of the job, unless the query string names one."""


class Confirm(TypedDict):
    """The question whether an attempt took effect."""

    also: NotRequired[Literal["any"] | dict[str, Any]]
    """"any", or an object with class, status and message; all given fields must match"""
    done: NotRequired[AnswerPattern]
    headers: NotRequired[dict[str, HeaderSource]]
    """Headers of the GET, with the same placeholders."""
    notDone: NotRequired[AnswerPattern]
    timeout: NotRequired[Duration]
    url: NotRequired[str]
    """Address that an HTTP job asks with a GET; required for those, omitted for others.
    `{jobId}` and `{idempotencyKey}` stand for those of the job.
    """


ConfirmAnswer: TypeAlias = Literal["done", "not_done", "unknown"]


class Counts(TypedDict):
    """Jobs by label, and recent and total attempts."""

    cancelled: int
    """Cancelled jobs within retention."""
    dlqSize: int
    """Dead letters: failed jobs, neither requeued nor discarded."""
    failed: int
    """Failed jobs within retention."""
    oldestReady: NotRequired[str | None]
    """Due time of the oldest ready job."""
    ready: int
    """Jobs that are due and waiting for a worker."""
    recent: Tally
    """Attempts that ended in the last five minutes."""
    retrying: int
    """Jobs waiting for their next attempt."""
    running: int
    """Running jobs."""
    scheduled: int
    """Jobs waiting for their first start time."""
    succeeded: int
    """Succeeded jobs within retention."""
    total: Tally
    """All attempts so far."""


class CreateBatchRequest(TypedDict):
    """A request to create a batch, with or without jobs."""

    idempotencyKey: NotRequired[str | None]
    """Idempotency key: repeating the request returns the existing batch."""
    jobs: NotRequired[list[CreateJobRequest]]
    """Up to 1,000 jobs; more can be added to an open batch."""
    name: NotRequired[str | None]
    """Name of the batch, up to 255 bytes."""
    onEnd: NotRequired[CreateJobRequest | None]
    """The job to create when all jobs have ended, successfully or not. It gets the tag `batch`."""
    onSuccess: NotRequired[CreateJobRequest | None]
    """The job to create when all jobs have succeeded, including after requeues. It gets the tag
    `batch`.
    """
    open: NotRequired[bool]
    """Whether jobs can be added later; an open batch ends only after it is closed."""
    tenant: NotRequired[Name | None]
    """Only this tenant. Requires a key for all tenants; other keys always use their own tenant."""


class CreateEndpointRequest(TypedDict):
    """A request to create an endpoint."""

    description: NotRequired[str]
    """Description of the endpoint."""
    events: NotRequired[list[EventType] | None]
    """Events to send; `job.succeeded` and `job.failed` by default."""
    format: NotRequired[BodyFormat | None]
    """`standard` (Standard Webhooks, the default), `cloudevents` (CloudEvents 1.0), or `slack`
    for one line of text.
    """
    headers: NotRequired[dict[str, HeaderSource]]
    """Headers of its deliveries by name: a text, which is never shown, or a named secret."""
    retry: NotRequired[RetryPolicyInput | None]
    """Retry policy of its deliveries; omitted fields come from the preset `webhook`."""
    secret: NotRequired[str | None]
    """`whsec_…`; generated by default."""
    tenant: NotRequired[Name | None]
    """The tenant. Requires a key for all tenants; other keys always use their own tenant."""
    url: str
    """URL that receives deliveries."""


class CreateJobRequest(TypedDict):
    """A request to create a job. Its work is given by `kind` and `payload`, by `http`, or by
    `api`; every other field is optional.
    """

    after: NotRequired[list[str] | None]
    """Start the job only after these jobs have ended; up to 1,000 jobs of the same tenant:
    `job_…`, or `ref:NAME` for an earlier job of the same list.
    """
    api: NotRequired[str | None]
    """Short for `http.url`: a URL that receives a POST request."""
    batch: NotRequired[str | None]
    """The open batch that the job belongs to: `bat_…`"""
    concurrencyKey: NotRequired[str | None]
    """Concurrency key within the tenant, such as a customer id; see gates."""
    confirm: NotRequired[Confirm | None]
    """Ask whether an attempt took effect before it is repeated, after an end that leaves that
    open: a timeout or broken connection after the request was sent, or a lost lease. `{}` for
    jobs of handlers and workers with a confirm function.
    """
    debounce: NotRequired[Duration | None]
    """Debounce: start a unique job after this long without another request for it."""
    debounceMax: NotRequired[Duration | None]
    """Maximum time from the first request to the start, up to 24h; ten times `debounce` by
    default.
    """
    delay: NotRequired[Duration | None]
    """Delay before the first attempt."""
    destination: NotRequired[str | None]
    """The origin of the system that the job calls, used for gates and health. For an HTTP job
    it is taken from the URL.
    """
    http: NotRequired[HttpTargetRequest | None]
    """An HTTP request that the node sends."""
    idempotencyKey: NotRequired[str | None]
    """Idempotency key: repeating the request returns the same job."""
    isRecurring: NotRequired[bool | None]
    """Whether each match of `schedule` creates a job (the default), or only the next one."""
    jobName: NotRequired[str | None]
    """Display name. Also the name of the schedule of a recurring job, and the kind of a job
    with neither `kind` nor a target.
    """
    kind: NotRequired[Kind | None]
    """Kind, which selects the handler or worker."""
    lease: NotRequired[Duration | None]
    """Lease duration: how long a claim is valid without renewal."""
    like: NotRequired[str | None]
    """A stored job to copy: omitted fields are taken from it, including headers and secrets,
    except its keys, time, batch and prerequisites. Only when a single job is created.
    """
    maxAttempts: NotRequired[int | None]
    """The same as `maxRetries` + 1."""
    maxRetries: NotRequired[int | None]
    """Short for `retry.maxRetries`."""
    maxRetryCount: NotRequired[int | None]
    """Alias of `maxRetries`."""
    onExpiry: NotRequired[ExpiryAction | None]
    """What to do when `startBefore` has passed; `fail` by default."""
    onFailure: NotRequired[OnFailure | None]
    """What to do when one of those jobs ends without success: `wait` until it is requeued and
    succeeds (the default), `fail`, or `run` as soon as all have ended.
    """
    payload: NotRequired[Any]
    """Input for the handler or worker: any JSON, up to 256 KiB by default."""
    priority: NotRequired[int | None]
    """Priority from 0 to 9, higher first; 5 by default."""
    queue: NotRequired[Name | None]
    """Queue of the job; `default` by default."""
    ref: NotRequired[str | None]
    """Name of the job within a list of jobs: later jobs of the list can run after it, with
    `"after": ["ref:NAME"]`.
    """
    retry: NotRequired[RetryPolicyInput | None]
    """Retry policy; omitted fields come from the queue, the tenant and the server."""
    retryDelay: NotRequired[Duration | None]
    """Short for `retry.baseDelay` with the preset `patient`."""
    runAt: NotRequired[str | None]
    """Earliest time of the first attempt."""
    schedule: NotRequired[str | None]
    """Cron rule with 5 or 6 fields (seconds first), or a shorthand such as `@hourly`."""
    startBefore: NotRequired[str | None]
    """Start deadline: a time, or a duration after creation. If the first attempt has not
    started by then, the job ends with reason `expired_unstarted`.
    """
    tags: NotRequired[dict[str, str] | None]
    """Tags: names and values to search by."""
    tenant: NotRequired[Name | None]
    """The tenant. Requires a key for all tenants; other keys always use their own tenant."""
    timeout: NotRequired[Duration | None]
    """Timeout of one attempt."""
    timezone: NotRequired[str | None]
    """An IANA time zone for `schedule`; UTC by default."""
    traceparent: NotRequired[str | None]
    """W3C Trace Context; by default the header `traceparent` of the request. HTTP jobs and
    webhooks propagate it.
    """
    type: NotRequired[Guarantee | None]
    """Guarantee: `AT_LEAST_ONCE` or `AT_MOST_ONCE`."""
    unique: NotRequired[Unique | None]
    """Uniqueness: allows only one job with this key within the tenant."""
    useExponentialBackoff: NotRequired[bool | None]
    """Short for `retry.backoff`: exponential (true) or fixed (false), with the preset
    `patient`.
    """
    webhook: NotRequired[WebhookRequest | None]
    """Webhook for events of this job."""


class CreateJobsRequest(TypedDict):
    """Up to 1,000 jobs, created atomically."""

    jobs: list[CreateJobRequest]
    """The jobs; none of them may be recurring."""


class CreateKeyRequest(TypedDict):
    """A request to create a key."""

    expiresAt: NotRequired[str | None]
    """Expiry time; never by default. A key cannot outlive the key with scope `tenant` that
    creates it.
    """
    name: NotRequired[str]
    """Name of the key."""
    scope: Scope
    """Scope of the key."""
    tenant: NotRequired[Name | None]
    """Tenant of the key. A key with scope `worker`, `read` or `metrics` is for all tenants by
    default.
    """


class CreateOperationRequest(TypedDict):
    """A bulk operation on the jobs in `ids`, or on all jobs that match `filter`."""

    all: NotRequired[bool]
    """Must be true if the filter is empty."""
    dryRun: NotRequired[bool]
    """Only count the jobs."""
    failShareMax: NotRequired[float | None]
    """Fraction of jobs of a canary that may fail again, from 0 to 1; 0.2 by default."""
    filter: NotRequired[dict[str, Any] | None]
    """Filter with the fields of the job list, except `limit` and `after`."""
    ids: NotRequired[list[str] | None]
    """Job ids, up to 10,000."""
    kind: str
    """The action: `requeue` and `discard` for dead letters; `cancel`, `retry`, `edit_policy`,
    `run_now` and `erase` for any job. `rotate_encryption` has no jobs and no other fields: it
    encrypts everything in the store with the newest key.
    """
    mode: NotRequired[str | None]
    """`all` (the default), or `canary`: three jobs first, then 5 %, 25 % and the rest, stopping
    if too many fail again.
    """
    pace: NotRequired[int | None]
    """Maximum jobs per second; the setting `bulkRate` by default."""
    retry: NotRequired[RetryPolicyInput | None]
    """Changes to the retry policy of each job, only for `edit_policy`: omitted fields stay as
    they are, a preset replaces the whole policy.
    """
    tenant: NotRequired[Name | None]
    """Only this tenant. Requires a key for all tenants; other keys always use their own tenant."""


CreateRequest: TypeAlias = "CreateJobRequest | CreateJobsRequest"
"""The body of `POST /jobs`: one job, or many jobs."""

CreateResult: TypeAlias = "Job | Schedule | JobList"
"""The response of `POST /jobs`."""


class CreateScheduleRequest(TypedDict):
    """A request to create a schedule, or to update the existing one with this name: a rule
    (`schedule` or `every`), and the job that each tick creates.
    """

    endAt: NotRequired[str | None]
    """No ticks at this time or later."""
    every: NotRequired[Duration | None]
    """Interval, instead of `schedule`."""
    job: CreateJobRequest
    """The job that each tick creates."""
    maxRuns: NotRequired[int | None]
    """Maximum total number of runs."""
    missed: NotRequired[MissedTickPolicy | None]
    """What to do with ticks missed by more than 10 s because no node was running. `runAll`
    requires `overlap` `allow`.
    """
    name: Name
    """Unique within the tenant."""
    overlap: NotRequired[OverlapPolicy | None]
    """What to do at a tick while the previous run is unfinished."""
    schedule: NotRequired[str | None]
    """Cron rule with 5 or 6 fields (seconds first), or a shorthand such as `@hourly`."""
    startAt: NotRequired[str | None]
    """No ticks before this time."""
    tenant: NotRequired[str | None]
    """Tenant of the schedule and its jobs; the same as `tenant` of the job."""
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
"""Selects dead letters by `ids`, or by the other fields as a filter."""

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
    "question",
]


class Decision(TypedDict):
    """The retry decision in numbers."""

    backoff: NotRequired[Backoff | None]
    """The backoff that produced the delay; null if a rule did."""
    capMs: NotRequired[int | None]
    """Maximum delay of the policy."""
    delayMs: NotRequired[int | None]
    """Delay after backoff and cap, before jitter."""
    delaySource: NotRequired[DelaySource | None]
    """Source of the delay: the backoff of the policy, the matching rule, or Retry-After."""
    jitter: NotRequired[Jitter | None]
    """Jitter of the policy."""
    jitterHighMs: NotRequired[int | None]
    """Highest delay that jitter could choose."""
    jitterLowMs: NotRequired[int | None]
    """Lowest delay that jitter could choose."""
    jitterSample: NotRequired[float | None]
    """Random sample between them, from 0 to 1."""
    jitteredMs: NotRequired[int | None]
    """The chosen delay."""
    matchedRule: NotRequired[int | None]
    """Index of the matching rule of the policy, from 0."""
    maxElapsedMs: NotRequired[int | None]
    """`maxElapsed` of the policy at that time; null if unlimited."""
    maxRetries: NotRequired[int | None]
    """`maxRetries` of the policy at that time."""
    retriesUsed: NotRequired[int | None]
    """Retries before this attempt in its budget, under the policy at that time."""
    retryAfterHeader: NotRequired[str | None]
    """The header that requested it: `Retry-After`, or another one."""
    retryAfterMs: NotRequired[int | None]
    """Delay that the target requested."""
    rule: DecidedBy
    """The rule that decided; `policy` for a normal retry."""


class DelayRange(TypedDict):
    """Minimum, typical and maximum delay with jitter."""

    maxMs: int
    """Maximum."""
    minMs: int
    """Minimum."""
    typicalMs: int
    """Typical value."""


DelaySource: TypeAlias = Literal["policy", "rule", "retry_after"]
"""The source of a delay."""


class Destination(TypedDict):
    """A system that jobs call."""

    attempts: int
    """Attempts that ended in about the last minute. Successes are only counted while attempts
    fail, and the count begins anew when the status changes.
    """
    destination: str
    """Origin, such as `https://api.example.com`."""
    failed: int
    """Attempts that failed because of the destination."""
    givenUp: bool
    """Whether the maximum hold time was reached, so that jobs follow their policies again."""
    health: HealthRules
    """Thresholds for an unhealthy destination."""
    heldByHand: NotRequired[HandHold | None]
    """The manual hold, if any."""
    hold: HoldMode
    """What to do when the destination is unhealthy."""
    holdsJobs: NotRequired[bool]
    """Whether jobs wait or start more slowly because of its health. With `hold` `watch`, jobs
    follow their policies regardless of the status, unless a person holds the destination.
    """
    incident: NotRequired[Incident | None]
    """The current incident."""
    learned: NotRequired[list[LearnedPace]]
    """What was learned: for all tenants, or for single tenants. Empty before the first calls."""
    minutes: NotRequired[list[DestinationMinute]]
    """Outcomes per minute for recent minutes with failures, oldest first, up to an hour. Not in
    lists.
    """
    nextProbeAt: NotRequired[str | None]
    """Earliest start of the next probe, if one is pending."""
    pace: PaceMode
    """Whether the number of calls at once is learned."""
    pastIncidents: list[Incident]
    """Past incidents, newest first."""
    quota: NotRequired[TargetQuota | None]
    """What the destination says remains of its own limits, if at most half of it does; starts
    are spread over the time until the reset.
    """
    retryAfter: NotRequired[SharedRetryAfter | None]
    """The active `Retry-After`, if any."""
    retryAfterScope: RetryAfterScope
    """The jobs that a `Retry-After` or a quota applies to."""
    status: HealthStatus
    """Health status."""
    tenant: NotRequired[str | None]
    """The tenant that this health applies to; null if it applies to all tenants."""


class ForecastSeries(TypedDict):
    """One number per minute."""

    backlog: list[float]
    """Backlog: due jobs that have not started by the end of the minute."""
    due: list[float]
    """Jobs that become due; already due jobs count in the first minute."""
    longestWaitMs: NotRequired[int | None]
    """Longest expected wait of a due job."""
    starts: list[float]
    """Attempts that can start."""
    summary: str
    """The forecast as a sentence."""
    sustainedPerMinute: NotRequired[int | None]
    """Highest recent number of successes per minute with few failures; null if unknown."""


class DestinationForecast(ForecastSeries):
    """Forecast for a destination."""

    atLeast: bool
    """Whether the counts are lower bounds."""
    destination: str
    """The destination, such as `https://api.example.com`."""


class DestinationList(TypedDict):
    """Destinations that failed recently, are held, or whose pace is learned."""

    destinations: list[Destination]
    """By name. Other destinations are not listed."""
    nextCursor: NotRequired[str | None]
    """Cursor for the next page, sent as `after`; null at the end of the list."""


class DestinationMinute(TypedDict):
    """Outcomes of calls to a destination within one minute."""

    at: str
    """Start of the minute."""
    attempts: int
    """Attempts that ended."""
    failed: int
    """Attempts that failed because of the destination."""


Dst: TypeAlias = Literal["gap", "fold"]
"""How a change of clocks (daylight saving time) affects a tick."""

Duration: TypeAlias = "str | int"
"""Text such as 30s, 5m or 1h30m, or a number of milliseconds"""


class EditEndpointRequest(TypedDict):
    """Changes to an endpoint; omitted fields stay unchanged."""

    description: NotRequired[str | None]
    """Description of the endpoint."""
    events: NotRequired[list[EventType] | None]
    """Events to send."""
    format: NotRequired[BodyFormat | None]
    """`standard`, `cloudevents` or `slack`; applies to future deliveries."""
    headers: NotRequired[dict[str, HeaderSource] | None]
    """Headers of its deliveries, in place of all those it has: a text, which is never shown, or
    a named secret.
    """
    retry: NotRequired[RetryPolicyInput | None]
    """Retry policy of future deliveries; omitted fields come from the preset `webhook`."""
    url: NotRequired[str | None]
    """URL that receives deliveries, including waiting ones."""


class EditJobRequest(TypedDict):
    """Changes to a waiting job; omitted fields stay unchanged. `null` does not mean omitted."""

    payload: NotRequired[Any]
    """New payload; `null` is a valid payload."""
    priority: NotRequired[int | None]
    """Priority from 0 to 9, higher first."""
    retry: NotRequired[RetryPolicyInput | None]
    """Changes to the current retry policy of the job."""
    runAt: NotRequired[str | None]
    """Earliest start time."""


class EditScheduleRequest(TypedDict):
    """Changes to a schedule; omitted fields stay unchanged, and `null` clears a limit."""

    endAt: NotRequired[str | None]
    """No ticks at this time or later; `null` for no limit."""
    every: NotRequired[Duration | None]
    """Interval, instead of `schedule`."""
    job: NotRequired[CreateJobRequest | None]
    """The job that future ticks create."""
    maxRuns: NotRequired[int | None]
    """Maximum total number of runs; `null` for no limit."""
    missed: NotRequired[MissedTickPolicy | None]
    """What to do with ticks missed by more than 10 s because no node was running. `runAll`
    requires `overlap` `allow`.
    """
    overlap: NotRequired[OverlapPolicy | None]
    """What to do at a tick while the previous run is unfinished."""
    schedule: NotRequired[str | None]
    """Cron rule with 5 or 6 fields (seconds first), or a shorthand such as `@hourly`."""
    startAt: NotRequired[str | None]
    """No ticks before this time; `null` for no limit."""
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
    """Description of the endpoint."""
    disabled: bool
    """Whether the endpoint is disabled; its deliveries wait until it is enabled."""
    disabledAt: NotRequired[str | None]
    """When it was disabled."""
    disabledReason: NotRequired[str | None]
    """Why the endpoint was disabled automatically: its target returned 410 Gone."""
    events: list[EventType]
    """Events to send."""
    format: BodyFormat
    """Format of deliveries."""
    headers: NotRequired[list[EndpointHeader]]
    """Headers of its deliveries, without their values."""
    id: str
    """`end_…`"""
    liveSecrets: int
    """Number of active signing secrets."""
    tenant: str
    """The tenant."""
    url: str
    """URL that receives deliveries."""


class EndpointHeader(TypedDict):
    """A header of an endpoint, without its value."""

    name: str
    """Name of the header."""
    secret: NotRequired[str | None]
    """The secret that is its value; null if the value is a text."""


class EndpointList(TypedDict):
    """All endpoints."""

    endpoints: list[Endpoint]
    """Oldest first."""
    nextCursor: NotRequired[str | None]
    """Cursor for the next page, sent as `after`; null at the end of the list."""


class EndpointWithSecret(Endpoint):
    """An endpoint with its signing secret, which is only in this response."""

    secret: str
    """`whsec_…`: the secret to verify deliveries with."""


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
    """The failure."""
    fence: int
    """The fence of the claim."""
    log: NotRequired[LogLines | None]
    """New lines of the attempt's log."""


Failure = TypedDict(
    "Failure",
    {
        "class": "str",
        "fingerprint": "NotRequired[Fingerprint]",
        "httpStatus": "NotRequired[int]",
        "message": "str",
        "permanent": "NotRequired[bool]",
        "questions": "NotRequired[int]",
        "retryAfter": "NotRequired[str]",
        "retryAfterHeader": "NotRequired[str]",
        "trace": "NotRequired[str]",
        "unsent": "NotRequired[bool]",
    },
)
"""The failure"""


class FailureExample(TypedDict):
    """One failure of a group."""

    at: str
    """End time."""
    attempt: int
    """Number of the attempt."""
    failure: Failure
    """The failure."""
    jobId: str
    """The job of the attempt."""


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
"""Failures of one tenant with the same cause."""


class FailureList(TypedDict):
    """A page of failure groups."""

    failures: list[FailureGroup]
    """The groups, most frequent first."""
    nextCursor: NotRequired[str | None]
    """Cursor for the next page, sent as `after`; null at the end of the list."""


FailureMark: TypeAlias = Literal["new", "known", "fixed"]


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
"""The failure as reported by the worker."""

FailureState: TypeAlias = Literal["new", "known", "fixed", "regressed"]


Fault: TypeAlias = Literal["refuses", "hangs", "overload"]


class FaultResult(TypedDict):
    """What follows from a fault."""

    attempts: int
    """Attempts started since it began."""
    deadLetters: int
    """Jobs given up since it began."""
    fault: Fault
    """The fault."""
    recoversAfterMs: NotRequired[int | None]
    """Time from its end to recovery; null if the system does not recover."""
    waitingMax: int
    """Peak number of due jobs that waited for their start."""


Fingerprint: TypeAlias = "str"
"""Fingerprint shared by failures with the same cause"""

Forecast = TypedDict(
    "Forecast",
    {
        "destinations": "list[DestinationForecast]",
        "from": "str",
        "isCut": "bool",
        "queues": "list[QueueForecast]",
    },
)
"""Forecast by queue and by destination."""


class GateSettings(TypedDict):
    """The scope, key and limits of a gate."""

    health: NotRequired[HealthRules | None]
    """Thresholds for an unhealthy destination."""
    hold: NotRequired[HoldMode | None]
    """What to do when the destination is unhealthy."""
    key: str
    """The queue, kind, tenant, destination or concurrency key."""
    maxRunning: NotRequired[int | None]
    """Maximum number of concurrent attempts."""
    maxWaiting: NotRequired[int | None]
    """Maximum number of waiting jobs of the queue or tenant."""
    ordered: NotRequired[bool | None]
    """Whether jobs run one at a time in creation order; absent means false."""
    pace: NotRequired[PaceMode | None]
    """Whether the number of calls at once to the destination is learned."""
    paused: NotRequired[Pause | None]
    """The pause, if any."""
    rate: NotRequired[Rate | None]
    """Rate limit for starts."""
    retryShare: NotRequired[float | None]
    """Maximum fraction of starts per minute that may be retries."""
    scope: GateScope
    """Scope of the gate."""
    shareRetryAfter: NotRequired[bool | None]
    """Whether a `Retry-After` applies to all tenants, or only to the job that received it."""
    tenant: NotRequired[Name | None]
    """Tenant of the jobs; absent if the gate is for all tenants, and for scope `tenant`."""
    weight: NotRequired[int | None]
    """Fair-share weight of the tenant."""


class Gate(GateSettings):
    """A gate with its current use, if known."""

    nextStart: NotRequired[str | None]
    """When the next attempt may start; only if the rate limit is reached."""
    running: NotRequired[int | None]
    """Number of running attempts; only if the gate limits it."""
    waiting: NotRequired[int | None]
    """Number of waiting jobs; only if the gate limits it."""


class GateHolder(TypedDict):
    """A running job that counts at a gate."""

    job: str
    """The running job."""
    since: str
    """Start time."""
    tenant: str
    """Tenant of the job."""
    worker: NotRequired[str | None]
    """The worker or node that runs it."""


class GateId(TypedDict):
    """The gate."""

    key: str
    """The queue, kind, tenant, destination or concurrency key."""
    scope: GateScope
    """Scope of the gate."""
    tenant: NotRequired[str | None]
    """Tenant of the jobs; absent if the gate is for all tenants."""


class GateList(TypedDict):
    """All gates."""

    gates: list[Gate]
    """By scope, key and tenant."""
    nextCursor: NotRequired[str | None]
    """Cursor for the next page, sent as `after`; null at the end of the list."""


GateScope: TypeAlias = Literal["queue", "kind", "tenant", "destination", "key"]


Guarantee: TypeAlias = Literal["AT_LEAST_ONCE", "AT_MOST_ONCE"]


class HandHold(TypedDict):
    """A manual hold of a destination."""

    by: NotRequired[str | None]
    """Name of the key that was used."""
    reason: NotRequired[str | None]
    """Reason, shown to other people."""
    since: str
    """Start time."""
    until: NotRequired[str | None]
    """When the hold expires; null if it must be released manually."""


HeaderSource: TypeAlias = "str | SecretReference"
"""The value of a header: a text, or a named secret."""


class HealthRules(TypedDict):
    """Thresholds for an unhealthy destination."""

    failedShare: NotRequired[float | None]
    """Minimum fraction of these attempts that failed because of the destination; 0.8 by
    default.
    """
    maxHold: NotRequired[Duration | None]
    """Maximum hold time; `1h` by default."""
    minAttempts: NotRequired[int | None]
    """Minimum number of ended attempts; 20 by default."""
    minJobs: NotRequired[int | None]
    """Minimum number of different jobs; 5 by default."""
    window: NotRequired[Duration | None]
    """Time window for these thresholds; `1m` by default."""


HealthStatus: TypeAlias = Literal["healthy", "held", "probing", "ramping"]


class HeartbeatEntry(TypedDict):
    """A heartbeat for one of many attempts."""

    fence: int
    """The fence of the claim."""
    id: str
    """The job's id."""
    lease: NotRequired[Duration | None]
    """Lease duration from now; the job's own lease by default."""
    log: NotRequired[LogLines | None]
    """New lines of the attempt's log."""
    note: NotRequired[str | None]
    """Progress note; the previous note stays by default."""
    progress: NotRequired[int | None]
    """Progress in percent, a whole number; the previous value stays by default."""


class HeartbeatList(TypedDict):
    """One result per heartbeat."""

    claims: list[HeartbeatResult]
    """In the order of the request."""


class HeartbeatRequest(TypedDict):
    """A heartbeat of a running attempt."""

    fence: int
    """The fence of the claim."""
    lease: NotRequired[Duration | None]
    """Lease duration from now; the job's own lease by default."""
    log: NotRequired[LogLines | None]
    """New lines of the attempt's log."""
    note: NotRequired[str | None]
    """Progress note; the previous note stays by default."""
    progress: NotRequired[int | None]
    """Progress in percent, a whole number; the previous value stays by default."""


class HeartbeatResult(TypedDict):
    """The result of one heartbeat. The lease fields are present if it is ok."""

    cancelRequested: NotRequired[bool | None]
    """Whether a cancel was requested: stop, and report `fail` or `succeed`."""
    code: NotRequired[str | None]
    """`stale_fence` or `not_found` if the claim has expired; `invalid` if a field is invalid."""
    deadline: NotRequired[str | None]
    """When the job's timeout ends the attempt. No lease lasts longer."""
    detail: NotRequired[str | None]
    """Human-readable message, if it is not ok."""
    id: str
    """The job's id from the request."""
    leaseUntil: NotRequired[str | None]
    """New expiry of the claim."""
    ok: bool
    """Whether the claim is still valid."""
    timedOut: NotRequired[bool | None]
    """Whether the deadline has passed: stop. The attempt fails with class `timeout`."""


class HeartbeatsRequest(TypedDict):
    """Heartbeats for many attempts in one request."""

    claims: list[HeartbeatEntry]
    """One per attempt, up to 1,000."""
    worker: Name
    """The worker's name, as in its claims; updates when the worker was last seen."""


class HoldDestinationRequest(TypedDict):
    """Reason and end of a hold."""

    reason: NotRequired[str | None]
    """Reason, shown to other people."""
    until: NotRequired[str | None]
    """When the hold expires."""


HoldMode: TypeAlias = Literal["watch", "auto", "off"]


class HttpTarget(TypedDict):
    """Target of an HTTP job. Headers and body are omitted because they may contain secrets."""

    method: str
    """HTTP method."""
    url: str
    """URL."""


class HttpTargetRequest(TypedDict):
    """The request that an HTTP job sends."""

    body: NotRequired[Any]
    """Any JSON; a string is sent as plain text if the `content-type` is not JSON."""
    headers: NotRequired[dict[str, HeaderSource]]
    """Headers by name: a text, which is stored and never shown, or a named secret."""
    method: NotRequired[str | None]
    """`POST` by default."""
    url: str
    """URL of the request."""


class Idle(TypedDict):
    """Work that remains at the current time."""

    due: int
    """Due jobs and schedules."""
    now: str
    """The current time of the store."""
    running: int
    """Running jobs."""


class Incident(TypedDict):
    """A period in which a destination was unhealthy or held by a person."""

    attemptsSaved: int
    """Lower bound of attempts avoided by holding."""
    avoidableAttempts: int
    """Attempts that holding would have avoided, if the destination was not held."""
    beganAt: str
    """Start of the incident."""
    caughtUpMs: NotRequired[int | None]
    """Milliseconds from `recoveredAt` until no due job waited; null if it ended otherwise."""
    cause: str
    """Cause as a sentence."""
    deadLetters: NotRequired[int | None]
    """Jobs that became dead letters because of the destination during the incident; null for
    incidents of an earlier version.
    """
    endedAt: NotRequired[str | None]
    """End of the incident; null while it lasts."""
    failedAttempts: int
    """Attempts that failed because of the destination during the incident."""
    failedProbes: int
    """Probes that failed, or would have failed if the destination was not held."""
    givenUpAt: NotRequired[str | None]
    """When the maximum hold time was reached and jobs followed their policies again."""
    jobsDelayed: int
    """Peak number of due jobs waiting for its end."""
    recoveredAt: NotRequired[str | None]
    """When the destination responded again and jobs began to start; null if that has not
    happened, or the destination failed again.
    """
    releasedBy: NotRequired[str | None]
    """Who released it manually, if anyone."""
    tenants: list[str]
    """Tenant whose attempts failed; only for keys for all tenants."""


Jitter: TypeAlias = Literal["none", "proportional", "full", "equal", "decorrelated"]
"""How a delay is spread, so that jobs that failed together do not come back together."""


class Job(TypedDict):
    """A job with all its details."""

    after: NotRequired[list[Prerequisite] | None]
    """The prerequisites of the job. Only when a single job is read."""
    attempt: int
    """Attempts so far, including those before a manual retry."""
    attemptsBefore: int
    """Attempts of earlier retry budgets, before the last manual retry."""
    batch: NotRequired[str | None]
    """The batch of the job: `bat_…`"""
    cancelRequested: bool
    """Whether a cancel was requested and waits for the running attempt to end."""
    concurrencyKey: NotRequired[str | None]
    """Concurrency key within the tenant."""
    confirm: NotRequired[Confirm | None]
    """How it asks whether an attempt took effect, without headers."""
    createdAt: str
    """When it was created."""
    dependants: NotRequired[int | None]
    """Number of dependent jobs, counted up to 10,000. Only when a single job is read and has
    dependants.
    """
    destination: NotRequired[str | None]
    """The origin of the system that the job calls."""
    explanation: NotRequired[str | None]
    """The end reason as text."""
    failure: NotRequired[Failure | None]
    """The last failure."""
    finishedAt: NotRequired[str | None]
    """End time."""
    http: NotRequired[HttpTarget | None]
    """Target of an HTTP job."""
    id: str
    """`job_…`"""
    idempotencyKey: NotRequired[str | None]
    """The idempotency key."""
    kind: str
    """Kind of the job; the node itself runs `http` and `webhook`."""
    label: JobLabel
    """Label of the job."""
    leaseMs: int
    """Lease duration: how long a claim is valid without renewal."""
    leaseUntil: NotRequired[str | None]
    """Expiry of the lease of the running attempt."""
    maxRetries: int
    """Maximum retries per budget."""
    note: NotRequired[str | None]
    """The last progress note of the handler or worker."""
    onExpiry: NotRequired[ExpiryAction | None]
    """What to do when the start deadline passes."""
    onFailure: NotRequired[OnFailure | None]
    """What to do when one of those jobs ends without success."""
    payload: NotRequired[Any]
    """The input. Null for HTTP jobs, whose headers may contain secrets, and in lists and
    webhooks.
    """
    priority: int
    """Priority from 0 to 9, higher first."""
    progress: NotRequired[int | None]
    """The last progress in percent."""
    questions: NotRequired[int | None]
    """While it is open whether the last attempt took effect: how often that was asked. The next
    step is a question, not an attempt.
    """
    queue: str
    """Queue of the job."""
    reason: NotRequired[EndReason | None]
    """End reason, unless the job succeeded."""
    resolvedAt: NotRequired[str | None]
    """When the dead letter was discarded."""
    result: NotRequired[Any]
    """Result of the handler or worker, if the job has succeeded. Only when a single job is
    read.
    """
    retry: RetryPolicy
    """The effective retry policy."""
    retryCount: int
    """Retries used in the current budget, out of `maxRetries`."""
    runAt: str
    """Due time of the next attempt, or of the last one."""
    scheduleId: NotRequired[str | None]
    """The schedule that created the job."""
    scheduledFor: NotRequired[str | None]
    """The tick that created the job."""
    startBefore: NotRequired[str | None]
    """Start deadline of the first attempt."""
    startedAt: NotRequired[str | None]
    """Start time of the last attempt."""
    tags: dict[str, str]
    """Tags: names and values to search by."""
    tenant: str
    """The tenant."""
    timeoutMs: NotRequired[int | None]
    """Timeout of one attempt."""
    traceparent: NotRequired[str | None]
    """W3C Trace Context of the job."""
    type: Guarantee
    """Guarantee: `AT_LEAST_ONCE` or `AT_MOST_ONCE`."""
    unique: NotRequired[Unique | None]
    """Uniqueness settings."""
    uniqueResult: NotRequired[UniqueResult | None]
    """In the response to a create: what happened to the existing job with this unique key."""
    waitingFor: NotRequired[list[Blocker]]
    """The prerequisites and gates that a due job waits for. In lists, only pauses, holds and
    `Retry-After`.
    """
    webhook: NotRequired[Webhook | None]
    """Webhook of the job; for a delivery, its target."""
    worker: NotRequired[str | None]
    """The current or last worker or node."""


JobLabel: TypeAlias = Literal[
    "scheduled", "ready", "running", "retrying", "succeeded", "failed", "cancelled"
]


class JobList(TypedDict):
    """A page of jobs."""

    jobs: list[Job]
    """The jobs, newest first, without their payloads."""
    nextCursor: NotRequired[str | None]
    """Cursor for the next page, sent as `after`; null at the end of the list. A page may
    contain fewer jobs than `limit`, even none, and still have a next page.
    """


class KeptCertificate(TypedDict):
    """A certificate that a node computes again every hour."""

    certificate: PolicyCertificate
    """The latest certificate."""
    checkedAt: str
    """When a node last began to compute it."""
    computedAt: str
    """When that was computed."""
    createdAt: str
    """When it was first kept."""
    name: Name
    """Its name, unique within the tenant."""
    problem: NotRequired[str | None]
    """Why it could not be computed then; null if it could."""
    settings: CertifyPolicyRequest
    """The settings that it is computed for."""
    tenant: Name
    """Tenant whose jobs are measured."""


class KeptCertificateList(TypedDict):
    """Kept certificates, by tenant and name."""

    certificates: list[KeptCertificate]
    """The certificates."""
    nextCursor: NotRequired[str | None]
    """Pass as `after` to get the next page; null on the last page."""


class Key(TypedDict):
    """A key, without its token."""

    createdAt: str
    """When it was created."""
    createdBy: NotRequired[str | None]
    """The key that created this key (`key_…`), or the name of the person; null for neither. If
    it is a key with scope `tenant`, this key is revoked with it.
    """
    expiresAt: NotRequired[str | None]
    """Expiry time; null if the key does not expire."""
    id: str
    """`key_…`"""
    lastUsedAt: NotRequired[str | None]
    """When the key was last used, to within a minute; null if never."""
    name: str
    """Name of the key."""
    scope: Scope
    """Scope of the key."""
    tenant: NotRequired[str | None]
    """The tenant of the key; null for all tenants."""


class KeyList(TypedDict):
    """All keys visible to the caller."""

    keys: list[Key]
    """Oldest first."""
    nextCursor: NotRequired[str | None]
    """Cursor for the next page, sent as `after`; null at the end of the list."""


class KeyRotation(TypedDict):
    """Another encryption key."""

    key: str
    """Id of the key that everything is encrypted with."""
    neededKeys: list[str]
    """Older keys that values need which cannot be read."""
    unreadable: int
    """Values that cannot be read, so they stay as they are."""
    unusedKeys: list[str]
    """Older keys that no value needs; empty before the end."""


class KeyWithToken(Key):
    """A key with its token, which is only in this response."""

    token: str
    """The token; send it as `Authorization: Bearer …`."""


Kind: TypeAlias = "str"


class LaneStats(Counts):
    """Counts of one tenant, queue and kind."""

    kind: str
    """The kind."""
    queue: str
    """The queue."""
    tenant: str
    """The tenant."""


class LearnedPace(TypedDict):
    """The learned number of calls at once to a destination."""

    callsAtOnce: int
    """Number of calls that may run at once now."""
    found: bool
    """Whether this is what the destination takes, because more calls at once were refused or
    slower. If false, more are still tried.
    """
    lastChange: NotRequired[PaceChange | None]
    """The last change, if there was one."""
    minutes: NotRequired[list[PaceMinute]]
    """The last minutes in which calls ended, oldest first, up to an hour. Not in lists."""
    sentence: str
    """The same as a sentence, with the last change."""
    tenant: NotRequired[str | None]
    """The tenant whose calls it was learned from and limits; null if it is for all tenants."""


class Lease(TypedDict):
    """A lease that was renewed."""

    cancelRequested: bool
    """Whether a cancel was requested: stop, and report `fail` or `succeed`."""
    deadline: NotRequired[str | None]
    """When the job's timeout ends the attempt. No lease lasts longer."""
    leaseUntil: str
    """New expiry of the claim."""
    timedOut: NotRequired[bool]
    """Whether the deadline has passed: stop. The attempt fails with class `timeout`."""


LogLevel: TypeAlias = Literal["debug", "info", "warn", "error"]


class LogLine(TypedDict):
    """One line of a log."""

    at: str
    """When it was written, by the clock of the writer."""
    level: LogLevel
    """The level."""
    text: str
    """The text; longer than 8 KiB it is cut."""


LogLines = TypedDict(
    "LogLines", {"from": "NotRequired[int]", "lines": "NotRequired[list[LogLine]]"}
)
"""Consecutive lines of a log."""


class MarkFailureRequest(TypedDict):
    """A new state for a failure group."""

    state: FailureMark
    """`known`: a person has reviewed it. `fixed`: the cause is fixed, and an alert fires if it
    occurs again.
    """


class MinuteList(TypedDict):
    """Attempts per minute."""

    minutes: list[MinuteStats]
    """Oldest first; minutes without attempts are omitted."""


class Tally(TypedDict):
    """Attempts by outcome."""

    attempts: int
    """All attempts."""
    exhausted: int
    """Jobs that ran out of retries."""
    failures: int
    """Failed attempts."""
    retries: int
    """Attempts that were retries."""
    successes: int
    """Successful attempts."""
    successfulRetries: int
    """Retries that succeeded."""


class MinuteStats(Tally):
    """Attempts that ended within one minute."""

    at: str
    """Start of the minute."""


MissedTickPolicy: TypeAlias = Literal["skip", "runOnce", "runAll"]
"""What happens to ticks that were missed"""

Name: TypeAlias = "str"


class Node(TypedDict):
    """A node: one process that serves the store."""

    alive: bool
    """Whether the node is alive."""
    concurrency: int
    """Maximum number of concurrent jobs."""
    inFlight: int
    """Number of running jobs."""
    lastSeen: str
    """Time of the last heartbeat."""
    name: str
    """Its name."""
    problems: NotRequired[list[str]]
    """What is wrong with it: a slow store, or a TLS certificate that it cannot use."""
    queues: list[str]
    """Queues that it serves; empty means all."""
    startedAt: str
    """Start time."""
    version: str
    """Steadfast version of the node."""


class NodeList(TypedDict):
    """All nodes."""

    nextCursor: NotRequired[str | None]
    """Cursor for the next page, sent as `after`; null at the end of the list."""
    nodes: list[Node]
    """By name."""


class NumberedLogLine(TypedDict):
    """A line of a log."""

    at: str
    """When it was written, by the clock of the worker."""
    level: LogLevel
    """The level."""
    number: int
    """The number of the line; the first one of an attempt has 0."""
    text: str
    """The text."""


OnFailure: TypeAlias = Literal["wait", "fail", "run"]


class Operation(TypedDict):
    """A bulk operation and its progress."""

    atLeast: bool
    """Whether `total` is a lower bound because counting stopped early."""
    by: Actor
    """Who created it."""
    changed: int
    """Jobs that were changed; the other processed jobs could not be."""
    createdAt: str
    """When it was created."""
    encryption: NotRequired[KeyRotation | None]
    """The keys of `rotate_encryption`, which counts values in place of jobs."""
    filter: str
    """The selected jobs as text."""
    finishedAt: NotRequired[str | None]
    """End time."""
    id: str
    """`opr_…`"""
    isNamed: bool
    """Whether the jobs were selected by id."""
    kind: str
    """The action."""
    mode: str
    """`all` or `canary`."""
    outcomes: OperationOutcomes
    """Outcomes of the next attempts of requeued and retried jobs: of all jobs of a canary,
    otherwise of the newest 1,000. Lists give those of canaries only.
    """
    pace: NotRequired[int | None]
    """Maximum jobs per second."""
    report: str
    """The report as a sentence."""
    stage: int
    """The stage of a canary, from 0 to 3."""
    status: str
    """`running`, `paused`, `done`, `cancelled`, or `stopped` if too many jobs failed again."""
    stopReason: NotRequired[str | None]
    """Why it stopped automatically."""
    tenant: NotRequired[Name | None]
    """Tenant of the jobs; null for all tenants."""
    total: int
    """Number of selected jobs."""
    worked: int
    """Number of processed jobs."""


class OperationJob(TypedDict):
    """The result of an operation for one job."""

    job: str
    """`job_…`"""
    outcome: NotRequired[str | None]
    """Outcome of the next attempt, for a canary."""
    result: NotRequired[str | None]
    """`changed`, or the reason why not; null if the job is pending."""


class OperationJobList(TypedDict):
    """A page of the jobs of an operation."""

    jobs: list[OperationJob]
    """Newest id first."""
    nextCursor: NotRequired[str | None]
    """Cursor for the next page, sent as `after`; null at the end of the list."""


class OperationList(TypedDict):
    """A page of operations."""

    nextCursor: NotRequired[str | None]
    """Cursor for the next page, sent as `after`; null at the end of the list."""
    operations: list[Operation]
    """Newest first."""


class OperationOutcomes(TypedDict):
    """Outcomes of the next attempts."""

    failedAgain: int
    """Jobs that failed again for the same reason."""
    failedOtherwise: int
    """Jobs that failed for another reason."""
    succeeded: int
    """Jobs that succeeded."""
    unknown: int
    """Jobs whose outcome stays unknown."""


OverlapPolicy: TypeAlias = Literal["skip", "allow", "queueOne", "replace"]
"""What happens to a tick while the last run is unfinished, its retries included."""

PaceChange = TypedDict(
    "PaceChange", {"at": "str", "from": "int", "reason": "PaceReason", "to": "int"}
)
"""A change of a learned pace."""


class PaceMinute(TypedDict):
    """A learned pace within one minute."""

    at: str
    """Start of the minute."""
    calls: int
    """Calls that ended."""
    least: int
    """The fewest calls at once that were allowed."""
    most: int
    """The most calls at once that were allowed."""
    reason: NotRequired[PaceReason | None]
    """Why it changed, if it did; a reason that lowered it comes before others."""
    refused: int
    """Calls that were refused with status 429 or 503."""


PaceMode: TypeAlias = Literal["learn", "off"]


PaceReason: TypeAlias = Literal["grown", "probe", "found", "refused", "slower", "timed_out"]


class Pause(TypedDict):
    """A pause of a gate."""

    by: NotRequired[str | None]
    """Name of the key that was used."""
    reason: NotRequired[str | None]
    """Reason, shown to other people."""
    since: str
    """Start time."""
    until: NotRequired[str | None]
    """When the pause ends."""


class PauseDetails(TypedDict):
    """Reason and end of a pause."""

    reason: NotRequired[str | None]
    """Reason, shown to other people."""
    until: NotRequired[str | None]
    """When the pause ends."""


class PauseQueueRequest(TypedDict):
    """Reason and end of a pause."""

    reason: NotRequired[str | None]
    """Reason, shown to other people."""
    until: NotRequired[str | None]
    """When the queue is resumed automatically."""


PauseRequest: TypeAlias = "bool | PauseDetails"
"""true or an object to pause the gate, false to resume it"""


class PolicyCertificate(TypedDict):
    """Whether a system recovers by itself after outages, computed with the given settings."""

    change: NotRequired[CertificateChange | None]
    """The smallest helpful change that was found; null if none is needed or none was found."""
    faults: list[FaultResult]
    """Results by fault; empty if the system is overloaded without a fault."""
    load: float
    """Fraction of the capacity that the jobs need if each is called once."""
    outageMs: int
    """Length of each fault."""
    picture: CertificatePicture
    """Load against time."""
    recoversAfterMs: NotRequired[int | None]
    """Time from the end of the worst fault to recovery; null unless the system recovers."""
    recoversUpTo: NotRequired[float | None]
    """Highest load that was found to recover; null if none was."""
    simulatedMs: int
    """Time that was simulated after the end of a fault."""
    summary: str
    """The result as a sentence."""
    target: CertificateTarget
    """The target as it was simulated."""
    verdict: CertificateVerdict
    """The verdict."""


class PolicyPreview(TypedDict):
    """The timetable of a job whose every attempt fails immediately."""

    attempts: list[PolicyPreviewAttempt]
    """The attempts."""
    givesUp: DelayRange
    """When the policy gives up, relative to the first attempt."""
    retry: RetryPolicy
    """The policy, complete."""


class PolicyPreviewAttempt(TypedDict):
    """One attempt of a preview."""

    at: DelayRange
    """Start time relative to the first attempt."""
    attempt: int
    """Its number, from 1."""
    delay: DelayRange
    """Delay before this attempt."""
    retryCount: int
    """Number of retries before this attempt."""


class PolicyReplay(TypedDict):
    """A replayed policy compared with the recorded outcomes."""

    isCut: bool
    """Whether older jobs were left out because there were too many attempts."""
    new: NotRequired[ReplayFigures | None]
    """Results of the replayed policy; null if there were too few observations."""
    observedShare: float
    """Fraction of simulated retries backed by observed attempts, from 0 to 1. Below 0.8, `new`
    is null.
    """
    old: NotRequired[ReplayFigures | None]
    """A replay of the original policies. Its difference from `recorded` shows how far `new` may
    be off.
    """
    recorded: ReplayFigures
    """The recorded outcomes."""
    since: str
    """Jobs created at this time or later."""
    summary: str
    """The result as a sentence; says so if there were too few observations."""


class Prerequisite(TypedDict):
    """A prerequisite of a job."""

    id: str
    """Its id."""
    state: PrerequisiteState
    """Label of the job; `given_up` if it was discarded or deleted without success."""


class PrerequisiteList(TypedDict):
    """A page of the jobs that a claimed job has waited for."""

    nextCursor: NotRequired[str | None]
    """The cursor of the next page; null on the last page."""
    prerequisites: list[PrerequisiteResult]
    """The jobs of its `after`, in the order of their ids."""


class PrerequisiteResult(TypedDict):
    """A job that a claimed job has waited for."""

    id: str
    """The job's id."""
    kind: NotRequired[Kind | None]
    """Kind of the job; null if it was deleted."""
    result: NotRequired[Any]
    """Result of its last attempt, if it succeeded."""
    state: PrerequisiteState
    """State of the job; `given_up` if it was discarded or deleted without success."""


PrerequisiteState: TypeAlias = Literal["unfinished", "succeeded", "failed", "given_up"]


Preset: TypeAlias = Literal[
    "http", "queue", "patient", "webhook", "conservative", "aggressive", "once"
]


class PreviewPolicyRequest(TypedDict):
    """A policy to preview."""

    retry: NotRequired[RetryPolicyInput | None]
    """The policy; omitted fields come from its preset, or from `queue`."""


class Problem(TypedDict):
    """An error response. Programs should rely on `code`; `detail` is for people; `field` names
    the invalid field.
    """

    code: str
    """Stable error code for programs."""
    detail: str
    """Human-readable message."""
    field: NotRequired[str]
    """The invalid field, if any."""
    status: int
    """The status of the response."""
    title: str
    """Title of the HTTP status."""
    type: str
    """Always `about:blank`; use `code` instead."""


class Queue(Counts):
    """A queue, with its counts."""

    name: str
    """Its name."""
    pause: NotRequired[Pause | None]
    """Who paused the queue, why and until when, if known."""
    paused: bool
    """Whether the queue is paused."""
    tenant: str
    """The tenant."""


class QueueExplanation(TypedDict):
    """Why the jobs of a queue do not start."""

    next: NotRequired[StartExplanation | None]
    """The explanation for the next due job, if any."""
    queue: str
    """The queue."""
    ready: int
    """Due jobs that are waiting."""
    running: int
    """Running jobs."""
    scheduled: int
    """Jobs that are due later."""
    sentence: str
    """The explanation as text."""


class QueueForecast(ForecastSeries):
    """Forecast for a queue."""

    errorShare: NotRequired[float | None]
    """Relative error of the forecasts of this queue over the last six hours, ten minutes ahead
    and over all tenants; 0 means exact. Null if not known yet.
    """
    queue: str
    """The queue."""


class QueueList(TypedDict):
    """All queues."""

    nextCursor: NotRequired[str | None]
    """Cursor for the next page, sent as `after`; null at the end of the list."""
    queues: list[Queue]
    """By tenant and name."""


class Rate(TypedDict):
    """A rate limit: never more than `limit + burst` starts in any window of length `per`."""

    burst: NotRequired[int | None]
    """Extra starts after a quiet period; 0 by default."""
    limit: int
    """Number of starts."""
    per: Duration
    """Time window, from `1s` to `1d`."""


class ReleaseRequest(TypedDict):
    """A request to release a job without counting this attempt, because the worker stops."""

    fence: int
    """The fence of the claim."""
    log: NotRequired[LogLines | None]
    """New lines of the attempt's log."""


class ReplayFigures(TypedDict):
    """Results of jobs under a policy."""

    attempts: int
    """Number of attempts."""
    deadLetters: int
    """Jobs that became dead letters."""
    jobs: int
    """Number of jobs; a requeued job counts again."""
    peakStartsPerMinute: int
    """Peak number of starts per minute."""
    successes: int
    """Jobs that succeeded."""
    timeToSuccessP50Ms: NotRequired[int | None]
    """Time from the first attempt to success, 50th percentile."""
    timeToSuccessP95Ms: NotRequired[int | None]
    """Time from the first attempt to success, 95th percentile."""


class ReplayPolicyRequest(TypedDict):
    """A policy to replay, and the jobs to replay it over: at least one of `queue`, `kind` and
    `destination`.
    """

    destination: NotRequired[str | None]
    """Jobs for this destination, such as `https://api.example.com`."""
    kind: NotRequired[Name | None]
    """Jobs of this kind."""
    queue: NotRequired[Name | None]
    """Jobs in this queue."""
    retry: NotRequired[RetryPolicyInput | None]
    """The policy to replay, as if the jobs had been created with this `retry`."""
    since: NotRequired[str | None]
    """Jobs created at this time or later, at most a week ago; a day ago by default."""
    tenant: NotRequired[Name | None]
    """Only this tenant. Requires a key for all tenants; other keys always use their own tenant."""


RetryAfterScope: TypeAlias = Literal["job", "tenant", "all"]


class RetryJobRequest(TypedDict):
    """A manual retry of an ended job."""

    payload: NotRequired[Any]
    """New payload."""


class RetryPolicy(TypedDict):
    """The complete effective policy"""

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
    """Explicit delays; the last one repeats"""
    factor: NotRequired[float]
    """Factor of exponential backoff"""
    jitter: NotRequired[Jitter]
    jitterFactor: NotRequired[float]
    maxAttempts: NotRequired[int]
    """The same as maxRetries + 1"""
    maxDelay: NotRequired[Duration]
    maxElapsed: NotRequired[Duration]
    maxRetries: NotRequired[int]
    """Maximum number of retries after the first attempt"""
    preset: NotRequired[Preset]
    rules: NotRequired[list[RetryRule]]
    """Rules in order; the first match decides"""


RetryPolicyInput: TypeAlias = "Preset | RetryPolicyFields"
"""A retry policy: a preset name, or an object with any of its fields. Omitted fields come from
the next level: schedule, queue, tenant, server.
"""


class RetryRule(TypedDict):
    """A rule: an action for matching failures"""

    match: Literal["any"] | dict[str, Any]
    """"any", or an object with class, status and message; all given fields must match"""
    then: Literal["retry", "fail"] | dict[str, Any]
    """Retry, fail, or retry after this delay"""


class RotateSecretRequest(TypedDict):
    """A rotation of the signing secret."""

    overlap: NotRequired[Duration | None]
    """How long deliveries are also signed with the old secret; 1d by default."""
    secret: NotRequired[str | None]
    """The new secret; generated by default."""


class RunUntilIdleRequest(TypedDict):
    """A request to wait until no work remains."""

    timeout: NotRequired[Duration | None]
    """How long to wait, up to 60s; 10s by default."""


class SaveStepRequest(TypedDict):
    """The result of a step to store."""

    fence: int
    """The fence of the claim."""
    result: NotRequired[Any]
    """Any JSON, up to 64 KiB; null by default."""


class Schedule(TypedDict):
    """A schedule, with its next ticks."""

    createdAt: str
    """When it was created."""
    endAt: NotRequired[str | None]
    """No ticks at this time or later."""
    every: NotRequired[str | None]
    """Interval, if there is no cron rule."""
    id: str
    """`sch_…`"""
    inWords: NotRequired[str]
    """The rule in words: `at 09:00 on Monday to Friday`."""
    job: Job
    """The job that each tick creates."""
    lastTick: NotRequired[str | None]
    """Last tick."""
    maxRuns: NotRequired[int | None]
    """Maximum total number of runs."""
    missed: MissedTickPolicy
    """What to do with ticks missed because no node was running."""
    name: str
    """Unique within the tenant."""
    nextTick: NotRequired[str | None]
    """Next tick."""
    overlap: OverlapPolicy
    """What to do at a tick while the previous run is unfinished."""
    paused: bool
    """Whether the schedule is paused."""
    runs: int
    """Number of runs so far."""
    schedule: NotRequired[str | None]
    """Cron rule."""
    startAt: NotRequired[str | None]
    """No ticks before this time."""
    tenant: str
    """The tenant."""
    timezone: NotRequired[str | None]
    """Time zone of the cron rule."""
    upcoming: list[UpcomingTick]
    """The next ticks, soonest first; empty while it is paused."""


class ScheduleList(TypedDict):
    """A page of schedules."""

    nextCursor: NotRequired[str | None]
    """Cursor for the next page, sent as `after`; null at the end of the list."""
    schedules: list[Schedule]
    """Newest first."""


Scope: TypeAlias = Literal["admin", "tenant", "worker", "read", "metrics"]


class Secret(TypedDict):
    """A secret, without its value."""

    createdAt: str
    """When it was first set."""
    name: str
    """Name, unique within the tenant."""
    tenant: str
    """The tenant whose jobs and endpoints can use it."""
    updatedAt: str
    """When its value was last set."""
    updatedBy: NotRequired[Actor | None]
    """Who set its value last."""


class SecretList(TypedDict):
    """Secrets by tenant and name, without their values."""

    nextCursor: NotRequired[str | None]
    """Cursor for the next page, sent as `after`; null at the end of the list."""
    secrets: list[Secret]
    """The secrets."""


class SecretReference(TypedDict):
    """A named secret of the same tenant; its value is looked up when the request is sent."""

    prefix: NotRequired[str]
    """Text in front of the value, such as `Bearer `."""
    secret: str
    """Name of the secret."""


class SetDestinationRequest(TypedDict):
    """Settings of a destination. With `PUT`, omitted settings are reset to their defaults; with
    `PATCH`, they stay unchanged, and null resets a setting.
    """

    health: NotRequired[HealthRules | None]
    """Thresholds for an unhealthy destination."""
    hold: NotRequired[HoldMode | None]
    """What to do when the destination is unhealthy; `auto` by default."""
    pace: NotRequired[PaceMode | None]
    """`learn` to find the number of calls at once from the destination's answers; `off` by
    default. Gates hold all the same. A tenant can set it for its own jobs.
    """
    shareRetryAfter: NotRequired[bool | None]
    """Whether a `Retry-After` applies to all tenants (true) or only to the job that received it
    (false). By default it applies to the tenant that received it, and to all tenants if calls
    of two tenants received one within a minute. A tenant can set it for its own jobs.
    """


class SetGateRequest(TypedDict):
    """The limits of a gate."""

    health: NotRequired[HealthRules | None]
    """Thresholds for an unhealthy destination. Only for scope `destination`, for all tenants."""
    hold: NotRequired[HoldMode | None]
    """What to do when the destination is unhealthy; `auto` by default. Only for scopes
    `destination` and `tenant`.
    """
    maxRunning: NotRequired[int | None]
    """Maximum number of concurrent attempts over all nodes; null for no limit."""
    maxWaiting: NotRequired[int | None]
    """Maximum number of waiting jobs; a create beyond it is refused with 429; null for no
    limit. Only for scopes `queue` and `tenant`.
    """
    ordered: NotRequired[bool | None]
    """Whether jobs run one at a time in creation order; a retrying job holds back later jobs.
    Only for scope `key`.
    """
    pace: NotRequired[PaceMode | None]
    """`learn` to find the number of calls at once from answers; `off` by default. Only for
    scope `destination`.
    """
    paused: NotRequired[PauseRequest | None]
    """`true` or an object to pause the gate, `false` to resume it."""
    rate: NotRequired[Rate | None]
    """Rate limit for starts over all nodes; null for no limit."""
    retryShare: NotRequired[float | None]
    """Maximum fraction of starts per minute that may be retries; a few are always allowed."""
    shareRetryAfter: NotRequired[bool | None]
    """Whether a `Retry-After` applies to all tenants (true) or only to the job that received it
    (false); by default to the tenant that received it. Only for scope `destination`.
    """
    weight: NotRequired[int | None]
    """Fair-share weight of the tenant; 1 by default. Only for scope `tenant`."""


class SetSecretRequest(TypedDict):
    """The value of a secret."""

    value: str
    """The value: 8 to 8192 ASCII characters on one line. It is never shown again."""


class SettleRequest(TypedDict):
    """Settlements of many attempts in one request."""

    settlements: list[SettlementRequest]
    """One per attempt, up to 1,000."""


class SettlementList(TypedDict):
    """One result per settlement."""

    settled: list[SettlementResult]
    """In the order of the request."""


SettlementOutcome: TypeAlias = Literal["succeed", "fail", "snooze", "release", "answer"]
"""Outcome reported by the worker."""


class SettlementRequest(TypedDict):
    """Settlement of one of many attempts."""

    answer: NotRequired[ConfirmAnswer | None]
    """Whether the last attempt took effect; only with `answer`, which requires it."""
    delay: NotRequired[Duration | None]
    """Delay from now; only with `snooze`."""
    failure: NotRequired[FailureRequest | None]
    """The failure; only with `fail`, and with the answer `unknown`."""
    fence: int
    """The fence of the claim."""
    id: str
    """The job's id."""
    log: NotRequired[LogLines | None]
    """New lines of the attempt's log."""
    onSuccess: NotRequired[list[CreateJobRequest]]
    """Up to 100 jobs created atomically with the success; only with `succeed`, and with the
    answer `done`.
    """
    outcome: SettlementOutcome
    """Outcome of the attempt."""
    result: NotRequired[Any]
    """Result, kept with the attempt; only with `succeed`, and with the answer `done`."""


class SettlementResult(TypedDict):
    """Result of one settlement."""

    code: NotRequired[str | None]
    """`stale_fence` or `not_found` if the claim has expired. Any other code, such as `invalid`,
    means that this settlement is invalid and the claim is still valid: send another settlement,
    such as a failure.
    """
    detail: NotRequired[str | None]
    """Human-readable message, if it is not ok."""
    field: NotRequired[str | None]
    """The invalid field of the settlement, such as `result`."""
    id: str
    """The job's id from the request."""
    label: NotRequired[JobLabel | None]
    """New label of the job."""
    ok: bool
    """Whether it was accepted."""


class SharedRetryAfter(TypedDict):
    """A `Retry-After` that applies to all jobs for a destination."""

    at: str
    """When it was received."""
    header: NotRequired[str]
    """The header: `Retry-After` or `retry-after-ms`."""
    jobId: NotRequired[str | None]
    """The job that received it; only for keys for all tenants."""
    status: int
    """HTTP status of the response."""
    until: str
    """End of the wait."""


class SilenceAlertsRequest(TypedDict):
    """A request to silence alerts: all that match."""

    destination: NotRequired[str | None]
    """Only the alert of this destination."""
    rule: AlertRule
    """The rule of the alerts."""
    subject: NotRequired[AlertSubject | None]
    """Only alerts about these jobs."""
    tenant: NotRequired[Name | None]
    """Only alerts of this tenant."""
    until: str
    """When notifications are sent again, at most a week from now. A time that has passed ends a
    silence.
    """


SkipReason: TypeAlias = Literal["overlap", "missed", "missedLimit", "maxRuns"]
"""Why a tick created no job."""


class SkippedTicks(TypedDict):
    """Consecutive ticks skipped for the same reason."""

    count: int
    """Number of skipped ticks."""
    reason: SkipReason
    """Why they were skipped."""
    until: str
    """The last skipped tick."""


class SnoozeRequest(TypedDict):
    """A request to try again later without counting this attempt."""

    delay: Duration
    """Delay from now."""
    fence: int
    """The fence of the claim."""
    log: NotRequired[LogLines | None]
    """New lines of the attempt's log."""


class StartEstimate(TypedDict):
    """Estimated start of a job."""

    at: str
    """Estimated time."""
    basis: str
    """Basis of the estimate."""


class StartExplanation(TypedDict):
    """Why a job has not started, and when it is expected to start."""

    action: NotRequired[str | None]
    """The action that would start it sooner."""
    blockers: list[Blocker]
    """Everything that blocks the start of the job."""
    claimable: bool
    """Whether a large enough claim for its kind and queue would take it now."""
    estimate: NotRequired[StartEstimate | None]
    """Estimated start; absent if it does not depend on time alone."""
    job: str
    """`job_…`"""


class Stats(Counts):
    """Counts and rates."""

    lanes: list[LaneStats]
    """Counts by tenant, queue and kind. The totals cover all pages."""
    nextCursor: NotRequired[str | None]
    """Cursor for the next page, sent as `after`; null at the end."""
    now: str
    """Time of these counts."""
    retryRate: NotRequired[float | None]
    """Fraction of attempts in the last five minutes that were retries; null without attempts."""
    retrySuccessRate: NotRequired[float | None]
    """Fraction of retries that succeeded; null without retries."""
    successfulRetries: int
    """Retries that succeeded."""
    throughput: float
    """Attempts per second over the last five minutes."""
    totalRetries: int
    """Total retries."""


class Step(TypedDict):
    """A completed step of a job."""

    name: str
    """Its name."""
    result: Any
    """The stored result."""


class SucceedRequest(TypedDict):
    """A report that an attempt succeeded."""

    fence: int
    """The fence of the claim."""
    log: NotRequired[LogLines | None]
    """New lines of the attempt's log."""
    onSuccess: NotRequired[list[CreateJobRequest]]
    """Up to 100 jobs created atomically with the success; recurring jobs are not allowed. They
    belong to the tenant of this job.
    """
    result: NotRequired[Any]
    """Result, kept with the attempt, up to 64 KiB."""


SystemState: TypeAlias = Literal["well", "degraded", "down"]


class TargetQuota(TypedDict):
    """What a destination says remains of its own limits."""

    at: str
    """When it was received."""
    header: str
    """The header, such as `x-ratelimit-remaining-requests`."""
    jobId: NotRequired[str | None]
    """The job that received it; only for keys for all tenants."""
    remaining: int
    """How much remained when it was received. Each start uses at least one."""
    resetsAt: str
    """When the destination resets it."""
    sentence: str
    """The same as a sentence."""
    until: str
    """Until when it limits starts: `resetsAt`, or earlier if that is later than
    `retryAfterMax`.
    """


class Tick(TypedDict):
    """A tick that created a run, or one or more skipped ticks."""

    at: str
    """Time of the tick."""
    jobId: NotRequired[str | None]
    """The run that it created."""
    skipped: NotRequired[SkippedTicks | None]
    """Why it was skipped."""


class TickList(TypedDict):
    """A page of ticks."""

    nextCursor: NotRequired[str | None]
    """Cursor for the next page, sent as `after`; null at the end of the list."""
    ticks: list[Tick]
    """Past ticks, newest first."""
    upcoming: list[UpcomingTick]
    """Upcoming ticks, soonest first; only on the first page."""


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
    """An upcoming tick."""

    at: str
    """Time of the tick."""
    dst: NotRequired[Dst | None]
    """Effect of daylight saving time: `gap` (the tick fires right after the gap) or `fold` (the
    local time occurs twice).
    """


class Webhook(TypedDict):
    """Webhook of a job, without its signing secret."""

    endpoint: NotRequired[str | None]
    """The endpoint of a delivery."""
    events: list[EventType]
    """Events to send."""
    signed: bool
    """Whether deliveries are signed."""
    url: NotRequired[str | None]
    """URL of the job's own webhook."""


class WebhookRequest(TypedDict):
    """A job's own webhook."""

    events: NotRequired[list[EventType] | None]
    """Events to send; `job.succeeded` and `job.failed` by default."""
    retry: NotRequired[RetryPolicyInput | None]
    """Retry policy of its deliveries; omitted fields come from the preset `webhook`."""
    secret: NotRequired[str | None]
    """`whsec_…`: signing secret for Standard Webhooks. It is never shown again."""
    url: str
    """URL that receives the events."""


class Worker(TypedDict):
    """One process that claims jobs over HTTP."""

    alive: bool
    """Whether the worker was seen within the last 90 s."""
    concurrency: NotRequired[int | None]
    """Maximum number of concurrent jobs, if the worker reports it."""
    firstSeen: str
    """Time of its first claim."""
    host: NotRequired[str | None]
    """Host of the worker."""
    kinds: list[str]
    """Kinds that it claims; empty means all kinds except those that nodes run."""
    lastSeen: str
    """Time of its last claim or heartbeat, to within 15 s."""
    library: NotRequired[str | None]
    """Client library and version."""
    name: str
    """Its name."""
    queues: list[str]
    """Queues that it claims from; empty means all."""
    running: int
    """Number of jobs it holds among the newest 500 running jobs."""
    tenant: NotRequired[str | None]
    """Tenant whose jobs it claims; null for all tenants."""
    version: NotRequired[str | None]
    """Version of the worker program."""


class WorkerInfo(TypedDict):
    """Description of a worker. Each text may have up to 128 bytes."""

    concurrency: NotRequired[int | None]
    """Maximum number of concurrent jobs."""
    host: NotRequired[str | None]
    """Host of the worker."""
    library: NotRequired[str | None]
    """Client library and version, such as `steadfast-python/0.1.0`."""
    version: NotRequired[str | None]
    """Version of the worker program."""


class WorkerList(TypedDict):
    """Workers that have claimed jobs within the last day."""

    nextCursor: NotRequired[str | None]
    """Cursor for the next page, sent as `after`; null at the end of the list."""
    workers: list[Worker]
    """By tenant and name."""
