# Written by scripts/generate.py from docs/openapi.json.
"""Options of a job: all that the API takes besides the work itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, TypedDict

from .. import types
from ..durations import Duration

Form = Literal["plain", "duration", "time", "deadline"]


class JobOptions(TypedDict, total=False):
    """Options of a job; the server has defaults for all of them."""

    after: Sequence[str]
    """Start the job only after these jobs have ended; up to 1,000 jobs of the same tenant:
    `job_…`, or `ref:NAME` for an earlier job of the same list.
    """
    batch: str
    """The open batch that the job belongs to: `bat_…`"""
    concurrency_key: str
    """Concurrency key within the tenant, such as a customer id; see gates."""
    confirm: types.Confirm
    """Ask whether an attempt took effect before it is repeated, after an end that leaves that
    open: a timeout or broken connection after the request was sent, or a lost lease. `{}` for
    jobs of handlers and workers with a confirm function.
    """
    debounce: Duration
    """Debounce: start a unique job after this long without another request for it."""
    debounce_max: Duration
    """Maximum time from the first request to the start, up to 24h; ten times `debounce` by
    default.
    """
    delay: Duration
    """Delay before the first attempt."""
    destination: str
    """The origin of the system that the job calls, used for gates and health. For an HTTP job
    it is taken from the URL.
    """
    idempotency_key: str
    """Idempotency key: repeating the request returns the same job."""
    job_name: str
    """Display name. Also the name of the schedule of a recurring job, and the kind of a job
    with neither `kind` nor a target.
    """
    lease: Duration
    """Lease duration: how long a claim is valid without renewal."""
    max_attempts: int
    """The same as `maxRetries` + 1."""
    max_retries: int
    """Short for `retry.maxRetries`."""
    max_retry_count: int
    """Alias of `maxRetries`."""
    on_expiry: types.ExpiryAction
    """What to do when `startBefore` has passed; `fail` by default."""
    on_failure: types.OnFailure
    """What to do when one of those jobs ends without success: `wait` until it is requeued and
    succeeds (the default), `fail`, or `run` as soon as all have ended.
    """
    priority: int
    """Priority from 0 to 9, higher first; 5 by default."""
    queue: types.Name
    """Queue of the job; `default` by default."""
    ref: str
    """Name of the job within a list of jobs: later jobs of the list can run after it, with
    `"after": ["ref:NAME"]`.
    """
    retry: types.RetryPolicyInput
    """Retry policy; omitted fields come from the queue, the tenant and the server."""
    retry_delay: Duration
    """Short for `retry.baseDelay` with the preset `patient`."""
    run_at: datetime
    """Earliest time of the first attempt."""
    start_before: datetime | Duration
    """Start deadline: a time, or a duration after creation. If the first attempt has not
    started by then, the job ends with reason `expired_unstarted`.
    """
    tags: Mapping[str, str]
    """Tags: names and values to search by."""
    tenant: types.Name
    """The tenant. Requires a key for all tenants; other keys always use their own tenant."""
    timeout: Duration
    """Timeout of one attempt."""
    traceparent: str
    """W3C Trace Context; by default the header `traceparent` of the request. HTTP jobs and
    webhooks propagate it.
    """
    type: types.Guarantee
    """Guarantee: `AT_LEAST_ONCE` or `AT_MOST_ONCE`."""
    unique: types.Unique
    """Uniqueness: allows only one job with this key within the tenant."""
    use_exponential_backoff: bool
    """Short for `retry.backoff`: exponential (true) or fixed (false), with the preset
    `patient`.
    """
    webhook: types.WebhookRequest
    """Webhook for events of this job."""


OPTIONS: dict[str, tuple[str, Form]] = {
    "after": ("after", "plain"),
    "batch": ("batch", "plain"),
    "concurrency_key": ("concurrencyKey", "plain"),
    "confirm": ("confirm", "plain"),
    "debounce": ("debounce", "duration"),
    "debounce_max": ("debounceMax", "duration"),
    "delay": ("delay", "duration"),
    "destination": ("destination", "plain"),
    "idempotency_key": ("idempotencyKey", "plain"),
    "job_name": ("jobName", "plain"),
    "lease": ("lease", "duration"),
    "max_attempts": ("maxAttempts", "plain"),
    "max_retries": ("maxRetries", "plain"),
    "max_retry_count": ("maxRetryCount", "plain"),
    "on_expiry": ("onExpiry", "plain"),
    "on_failure": ("onFailure", "plain"),
    "priority": ("priority", "plain"),
    "queue": ("queue", "plain"),
    "ref": ("ref", "plain"),
    "retry": ("retry", "plain"),
    "retry_delay": ("retryDelay", "duration"),
    "run_at": ("runAt", "time"),
    "start_before": ("startBefore", "deadline"),
    "tags": ("tags", "plain"),
    "tenant": ("tenant", "plain"),
    "timeout": ("timeout", "duration"),
    "traceparent": ("traceparent", "plain"),
    "type": ("type", "plain"),
    "unique": ("unique", "plain"),
    "use_exponential_backoff": ("useExponentialBackoff", "plain"),
    "webhook": ("webhook", "plain"),
}
"""The name in the API, and how a value is written there."""
