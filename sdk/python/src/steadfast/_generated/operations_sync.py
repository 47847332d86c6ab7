# Written by scripts/generate.py from docs/openapi.json.
"""One method for each operation of the API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

if TYPE_CHECKING:
    from .. import types


class Operations:
    """Every operation of the API, by its id in snake case."""

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        is_repeatable: bool | None = None,
    ) -> Any:
        """Sends a request and returns what the answer says."""
        raise NotImplementedError

    def list_alerts(
        self,
        *,
        tenant: types.Name | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> types.AlertList:
        """List alerts: firing, pending and resolved."""
        return cast(
            "types.AlertList",
            self.request(
                "GET", "/api/v1/alerts", query={"tenant": tenant, "limit": limit, "after": after}
            ),
        )

    def acknowledge_alerts(self, body: types.AcknowledgeAlertsRequest) -> types.AlertList:
        """Acknowledge firing alerts: no reminders are sent until they fire again."""
        return cast(
            "types.AlertList", self.request("POST", "/api/v1/alerts/acknowledge", body=body)
        )

    def silence_alerts(self, body: types.SilenceAlertsRequest) -> types.AlertList:
        """Silence alerts: no notifications are sent for them until then."""
        return cast("types.AlertList", self.request("POST", "/api/v1/alerts/silence", body=body))

    def list_audit(
        self,
        *,
        tenant: types.Name | None = None,
        subject: str | None = None,
        action: str | None = None,
        by: str | None = None,
        from_: str | None = None,
        before: str | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> types.AuditList:
        """List audit records, newest first: one for every command that changed something."""
        return cast(
            "types.AuditList",
            self.request(
                "GET",
                "/api/v1/audit",
                query={
                    "tenant": tenant,
                    "subject": subject,
                    "action": action,
                    "by": by,
                    "from": from_,
                    "before": before,
                    "limit": limit,
                    "after": after,
                },
            ),
        )

    def list_batches(
        self,
        *,
        tenant: types.Name | None = None,
        unfinished: bool | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> types.BatchList:
        """List batches, newest first."""
        return cast(
            "types.BatchList",
            self.request(
                "GET",
                "/api/v1/batches",
                query={"tenant": tenant, "unfinished": unfinished, "limit": limit, "after": after},
            ),
        )

    def create_batch(
        self,
        body: types.CreateBatchRequest,
        *,
        idempotency_key: str | None = None,
        traceparent: str | None = None,
    ) -> types.Batch:
        """Create a batch of jobs with shared progress and callbacks."""
        return cast(
            "types.Batch",
            self.request(
                "POST",
                "/api/v1/batches",
                body=body,
                headers={
                    name: value
                    for name, value in [
                        ("Idempotency-Key", idempotency_key),
                        ("traceparent", traceparent),
                    ]
                    if value is not None
                },
            ),
        )

    def get_batch(self, id: str) -> types.Batch:
        """Read a batch with its counts and callback jobs."""
        return cast("types.Batch", self.request("GET", f"/api/v1/batches/{quote(id, safe='')}"))

    def close_batch(self, id: str) -> types.Batch:
        """Close a batch: no more jobs can be added, and it ends when all its jobs have ended."""
        return cast(
            "types.Batch", self.request("POST", f"/api/v1/batches/{quote(id, safe='')}/close")
        )

    def list_batch_jobs(
        self,
        id: str,
        *,
        state: str | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> types.JobList:
        """List the stored jobs of a batch, newest first."""
        return cast(
            "types.JobList",
            self.request(
                "GET",
                f"/api/v1/batches/{quote(id, safe='')}/jobs",
                query={"state": state, "limit": limit, "after": after},
            ),
        )

    def add_batch_jobs(
        self, id: str, body: types.CreateJobsRequest, *, traceparent: str | None = None
    ) -> types.JobList:
        """Add up to 1,000 jobs to an open batch atomically."""
        return cast(
            "types.JobList",
            self.request(
                "POST",
                f"/api/v1/batches/{quote(id, safe='')}/jobs",
                body=body,
                headers={
                    name: value
                    for name, value in [("traceparent", traceparent)]
                    if value is not None
                },
            ),
        )

    def list_certificates(
        self,
        *,
        tenant: types.Name | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> types.KeptCertificateList:
        """List kept certificates by tenant and name."""
        return cast(
            "types.KeptCertificateList",
            self.request(
                "GET",
                "/api/v1/certificates",
                query={"tenant": tenant, "limit": limit, "after": after},
            ),
        )

    def keep_certificate(
        self, name: types.Name, body: types.CertifyPolicyRequest
    ) -> types.KeptCertificate:
        """Compute a certificate and keep it."""
        return cast(
            "types.KeptCertificate",
            self.request("PUT", f"/api/v1/certificates/{quote(name, safe='')}", body=body),
        )

    def delete_certificate(self, name: types.Name, *, tenant: types.Name | None = None) -> None:
        """Delete a kept certificate."""
        self.request(
            "DELETE", f"/api/v1/certificates/{quote(name, safe='')}", query={"tenant": tenant}
        )

    def claim_jobs(self, body: types.ClaimJobsRequest) -> types.ClaimList:
        """Claim due jobs, with a long poll if none is due."""
        return cast("types.ClaimList", self.request("POST", "/api/v1/claims", body=body))

    def send_heartbeats(self, body: types.HeartbeatsRequest) -> types.HeartbeatList:
        """Renew the leases of up to 1,000 running attempts, starting from now."""
        return cast(
            "types.HeartbeatList", self.request("POST", "/api/v1/claims/heartbeat", body=body)
        )

    def settle_attempts(self, body: types.SettleRequest) -> types.SettlementList:
        """Settle many attempts in one transaction."""
        return cast(
            "types.SettlementList", self.request("POST", "/api/v1/claims/settle", body=body)
        )

    def fail_attempt(self, id: str, body: types.FailRequest) -> types.Job:
        """Report that an attempt failed; the job's retry policy decides what follows."""
        return cast(
            "types.Job",
            self.request("POST", f"/api/v1/claims/{quote(id, safe='')}/fail", body=body),
        )

    def send_heartbeat(self, id: str, body: types.HeartbeatRequest) -> types.Lease:
        """Renew the lease of a running attempt, starting from now."""
        return cast(
            "types.Lease",
            self.request("POST", f"/api/v1/claims/{quote(id, safe='')}/heartbeat", body=body),
        )

    def list_prerequisites(
        self, id: str, *, fence: int, limit: int | None = None, after: str | None = None
    ) -> types.PrerequisiteList:
        """Read the results of the jobs that the claimed job has waited for (`after`)."""
        return cast(
            "types.PrerequisiteList",
            self.request(
                "GET",
                f"/api/v1/claims/{quote(id, safe='')}/prerequisites",
                query={"fence": fence, "limit": limit, "after": after},
            ),
        )

    def release_attempt(self, id: str, body: types.ReleaseRequest) -> types.Job:
        """Release a job: it is due immediately, and this attempt is not counted."""
        return cast(
            "types.Job",
            self.request("POST", f"/api/v1/claims/{quote(id, safe='')}/release", body=body),
        )

    def snooze_attempt(self, id: str, body: types.SnoozeRequest) -> types.Job:
        """Snooze a job: try again later without counting this attempt."""
        return cast(
            "types.Job",
            self.request("POST", f"/api/v1/claims/{quote(id, safe='')}/snooze", body=body),
        )

    def get_step(self, id: str, name: str, *, fence: int) -> types.Step:
        """Read the stored result of a step of the job."""
        return cast(
            "types.Step",
            self.request(
                "GET",
                f"/api/v1/claims/{quote(id, safe='')}/steps/{quote(name, safe='')}",
                query={"fence": fence},
            ),
        )

    def save_step(self, id: str, name: str, body: types.SaveStepRequest) -> types.Step:
        """Store the result of a step if the claim is still valid, and return the stored result."""
        return cast(
            "types.Step",
            self.request(
                "PUT",
                f"/api/v1/claims/{quote(id, safe='')}/steps/{quote(name, safe='')}",
                body=body,
            ),
        )

    def succeed_attempt(self, id: str, body: types.SucceedRequest) -> types.Job:
        """Report that an attempt succeeded."""
        return cast(
            "types.Job",
            self.request("POST", f"/api/v1/claims/{quote(id, safe='')}/succeed", body=body),
        )

    def receive_cloud_events(
        self,
        body: types.CloudEvent,
        *,
        kind: types.Kind | None = None,
        queue: types.Name | None = None,
        tenant: types.Name | None = None,
    ) -> types.Job:
        """Create a job from a CloudEvent, or up to 1,000 jobs from a batch."""
        return cast(
            "types.Job",
            self.request(
                "POST",
                "/api/v1/cloudevents",
                query={"kind": kind, "queue": queue, "tenant": tenant},
                body=body,
            ),
        )

    def resend_delivery(self, id: str) -> types.Job:
        """Resend an ended delivery with the same body and event id."""
        return cast(
            "types.Job", self.request("POST", f"/api/v1/deliveries/{quote(id, safe='')}/resend")
        )

    def list_destinations(
        self,
        *,
        tenant: str | None = None,
        status: types.HealthStatus | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> types.DestinationList:
        """List destinations that failed recently, are held, or whose pace is learned."""
        return cast(
            "types.DestinationList",
            self.request(
                "GET",
                "/api/v1/destinations",
                query={"tenant": tenant, "status": status, "limit": limit, "after": after},
            ),
        )

    def get_destination(self, key: str, *, tenant: types.Name | None = None) -> types.Destination:
        """Read a destination with its health, incidents and settings."""
        return cast(
            "types.Destination",
            self.request(
                "GET", f"/api/v1/destinations/{quote(key, safe='')}", query={"tenant": tenant}
            ),
        )

    def set_destination(
        self, key: str, body: types.SetDestinationRequest, *, tenant: types.Name | None = None
    ) -> types.Destination:
        """Set what to do when a destination is unhealthy, the thresholds for it, and whether
        its pace is learned. A key for one tenant sets `hold` and `pace` for its own jobs.
        """
        return cast(
            "types.Destination",
            self.request(
                "PUT",
                f"/api/v1/destinations/{quote(key, safe='')}",
                query={"tenant": tenant},
                body=body,
            ),
        )

    def edit_destination(
        self, key: str, body: types.SetDestinationRequest, *, tenant: types.Name | None = None
    ) -> types.Destination:
        """Change the given settings of a destination; null resets a setting to its default."""
        return cast(
            "types.Destination",
            self.request(
                "PATCH",
                f"/api/v1/destinations/{quote(key, safe='')}",
                query={"tenant": tenant},
                body=body,
            ),
        )

    def hold_destination(
        self, key: str, body: types.HoldDestinationRequest | None = None
    ) -> types.Destination:
        """Hold a destination: no job of any tenant starts for it until it is released or the
        hold expires.
        """
        return cast(
            "types.Destination",
            self.request("POST", f"/api/v1/destinations/{quote(key, safe='')}/hold", body=body),
        )

    def release_destination(self, key: str) -> types.Destination:
        """Release a destination; starts ramp up gradually."""
        return cast(
            "types.Destination",
            self.request("POST", f"/api/v1/destinations/{quote(key, safe='')}/release"),
        )

    def list_dead_letters(
        self,
        *,
        label: types.JobLabel | None = None,
        queue: types.Name | None = None,
        kind: types.Kind | None = None,
        not_kind: types.Kind | None = None,
        tenant: types.Name | None = None,
        schedule: str | None = None,
        destination: str | None = None,
        batch: str | None = None,
        from_: str | None = None,
        before: str | None = None,
        failed_from: str | None = None,
        failed_before: str | None = None,
        text: str | None = None,
        class_: str | None = None,
        status: int | None = None,
        tag: list[str] | None = None,
        fingerprint: types.Fingerprint | None = None,
        reason: types.EndReason | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> types.JobList:
        """List dead letters, newest first."""
        return cast(
            "types.JobList",
            self.request(
                "GET",
                "/api/v1/dlq",
                query={
                    "label": label,
                    "queue": queue,
                    "kind": kind,
                    "notKind": not_kind,
                    "tenant": tenant,
                    "schedule": schedule,
                    "destination": destination,
                    "batch": batch,
                    "from": from_,
                    "before": before,
                    "failedFrom": failed_from,
                    "failedBefore": failed_before,
                    "text": text,
                    "class": class_,
                    "status": status,
                    "tag": tag,
                    "fingerprint": fingerprint,
                    "reason": reason,
                    "limit": limit,
                    "after": after,
                },
            ),
        )

    def discard_dead_letters(self, body: types.DeadLettersRequest) -> types.BulkResult:
        """Discard dead letters without retrying them."""
        return cast("types.BulkResult", self.request("POST", "/api/v1/dlq/discard", body=body))

    def requeue_dead_letters(self, body: types.DeadLettersRequest) -> types.BulkResult:
        """Requeue dead letters, each with a new retry budget."""
        return cast("types.BulkResult", self.request("POST", "/api/v1/dlq/requeue", body=body))

    def list_endpoints(
        self,
        *,
        tenant: types.Name | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> types.EndpointList:
        """List endpoints, oldest first. Keys with scope `read` and `worker` see only the host
        of each URL, because its path may be secret.
        """
        return cast(
            "types.EndpointList",
            self.request(
                "GET", "/api/v1/endpoints", query={"tenant": tenant, "limit": limit, "after": after}
            ),
        )

    def create_endpoint(self, body: types.CreateEndpointRequest) -> types.EndpointWithSecret:
        """Create an endpoint: a URL that receives job events or alerts."""
        return cast(
            "types.EndpointWithSecret", self.request("POST", "/api/v1/endpoints", body=body)
        )

    def get_endpoint(self, id: str) -> types.Endpoint:
        """Read an endpoint."""
        return cast(
            "types.Endpoint", self.request("GET", f"/api/v1/endpoints/{quote(id, safe='')}")
        )

    def delete_endpoint(self, id: str) -> None:
        """Delete an endpoint; its waiting deliveries are cancelled."""
        self.request("DELETE", f"/api/v1/endpoints/{quote(id, safe='')}")

    def edit_endpoint(self, id: str, body: types.EditEndpointRequest) -> types.Endpoint:
        """Edit an endpoint; omitted fields stay unchanged."""
        return cast(
            "types.Endpoint",
            self.request("PATCH", f"/api/v1/endpoints/{quote(id, safe='')}", body=body),
        )

    def list_deliveries(
        self, id: str, *, limit: int | None = None, after: str | None = None
    ) -> types.JobList:
        """List the deliveries to an endpoint, newest first. Deliveries are jobs; their attempts
        are in the job history.
        """
        return cast(
            "types.JobList",
            self.request(
                "GET",
                f"/api/v1/endpoints/{quote(id, safe='')}/deliveries",
                query={"limit": limit, "after": after},
            ),
        )

    def disable_endpoint(self, id: str) -> types.Endpoint:
        """Disable an endpoint: its deliveries wait until it is enabled, for at most seven days."""
        return cast(
            "types.Endpoint",
            self.request("POST", f"/api/v1/endpoints/{quote(id, safe='')}/disable"),
        )

    def enable_endpoint(self, id: str) -> types.Endpoint:
        """Enable an endpoint: an operation sends its waiting deliveries, limited by the setting
        `bulkRate`.
        """
        return cast(
            "types.Endpoint", self.request("POST", f"/api/v1/endpoints/{quote(id, safe='')}/enable")
        )

    def rotate_endpoint_secret(
        self, id: str, body: types.RotateSecretRequest | None = None
    ) -> types.EndpointWithSecret:
        """Rotate the signing secret of an endpoint; deliveries are also signed with the old
        secret for a while.
        """
        return cast(
            "types.EndpointWithSecret",
            self.request("POST", f"/api/v1/endpoints/{quote(id, safe='')}/rotate", body=body),
        )

    def test_endpoint(self, id: str) -> types.Job:
        """Send an event of type `endpoint.test` to an endpoint as a normal delivery."""
        return cast(
            "types.Job", self.request("POST", f"/api/v1/endpoints/{quote(id, safe='')}/test")
        )

    def list_failures(
        self,
        *,
        state: types.FailureState | None = None,
        class_: str | None = None,
        status: int | None = None,
        kind: types.Kind | None = None,
        destination: str | None = None,
        queue: types.Name | None = None,
        text: str | None = None,
        since: str | None = None,
        tenant: types.Name | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> types.FailureList:
        """List failure groups, most frequent first."""
        return cast(
            "types.FailureList",
            self.request(
                "GET",
                "/api/v1/failures",
                query={
                    "state": state,
                    "class": class_,
                    "status": status,
                    "kind": kind,
                    "destination": destination,
                    "queue": queue,
                    "text": text,
                    "since": since,
                    "tenant": tenant,
                    "limit": limit,
                    "after": after,
                },
            ),
        )

    def get_failure(
        self, fingerprint: str, *, tenant: types.Name | None = None
    ) -> types.FailureGroup:
        """Read a failure group."""
        return cast(
            "types.FailureGroup",
            self.request(
                "GET", f"/api/v1/failures/{quote(fingerprint, safe='')}", query={"tenant": tenant}
            ),
        )

    def mark_failure(
        self, fingerprint: str, body: types.MarkFailureRequest, *, tenant: types.Name | None = None
    ) -> types.FailureGroup:
        """Mark a failure group as known or fixed."""
        return cast(
            "types.FailureGroup",
            self.request(
                "PATCH",
                f"/api/v1/failures/{quote(fingerprint, safe='')}",
                query={"tenant": tenant},
                body=body,
            ),
        )

    def get_forecast(
        self, *, tenant: types.Name | None = None, minutes: int | None = None
    ) -> types.Forecast:
        """Read how many jobs will be due, minute by minute."""
        return cast(
            "types.Forecast",
            self.request("GET", "/api/v1/forecast", query={"tenant": tenant, "minutes": minutes}),
        )

    def list_gates(
        self,
        *,
        tenant: types.Name | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> types.GateList:
        """List gates (limits of a queue, kind, tenant, destination or concurrency key) with
        their current use.
        """
        return cast(
            "types.GateList",
            self.request(
                "GET", "/api/v1/gates", query={"tenant": tenant, "limit": limit, "after": after}
            ),
        )

    def get_gate(
        self, scope: types.GateScope, key: str, *, tenant: types.Name | None = None
    ) -> types.Gate:
        """Read a gate."""
        return cast(
            "types.Gate",
            self.request(
                "GET",
                f"/api/v1/gates/{quote(scope, safe='')}/{quote(key, safe='')}",
                query={"tenant": tenant},
            ),
        )

    def set_gate(
        self,
        scope: types.GateScope,
        key: str,
        body: types.SetGateRequest,
        *,
        tenant: types.Name | None = None,
    ) -> types.Gate:
        """Replace the limits of a gate. Takes effect on all nodes within two seconds."""
        return cast(
            "types.Gate",
            self.request(
                "PUT",
                f"/api/v1/gates/{quote(scope, safe='')}/{quote(key, safe='')}",
                query={"tenant": tenant},
                body=body,
            ),
        )

    def delete_gate(
        self, scope: types.GateScope, key: str, *, tenant: types.Name | None = None
    ) -> None:
        """Delete a gate; the jobs it held back may start."""
        self.request(
            "DELETE",
            f"/api/v1/gates/{quote(scope, safe='')}/{quote(key, safe='')}",
            query={"tenant": tenant},
        )

    def edit_gate(
        self,
        scope: types.GateScope,
        key: str,
        body: types.SetGateRequest,
        *,
        tenant: types.Name | None = None,
    ) -> types.Gate:
        """Change the given limits of a gate; null removes a limit. A gate without limits is
        deleted.
        """
        return cast(
            "types.Gate",
            self.request(
                "PATCH",
                f"/api/v1/gates/{quote(scope, safe='')}/{quote(key, safe='')}",
                query={"tenant": tenant},
                body=body,
            ),
        )

    def list_jobs(
        self,
        *,
        label: types.JobLabel | None = None,
        queue: types.Name | None = None,
        kind: types.Kind | None = None,
        not_kind: types.Kind | None = None,
        tenant: types.Name | None = None,
        schedule: str | None = None,
        destination: str | None = None,
        batch: str | None = None,
        from_: str | None = None,
        before: str | None = None,
        failed_from: str | None = None,
        failed_before: str | None = None,
        text: str | None = None,
        class_: str | None = None,
        status: int | None = None,
        tag: list[str] | None = None,
        fingerprint: types.Fingerprint | None = None,
        reason: types.EndReason | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> types.JobList:
        """List jobs, newest first."""
        return cast(
            "types.JobList",
            self.request(
                "GET",
                "/api/v1/jobs",
                query={
                    "label": label,
                    "queue": queue,
                    "kind": kind,
                    "notKind": not_kind,
                    "tenant": tenant,
                    "schedule": schedule,
                    "destination": destination,
                    "batch": batch,
                    "from": from_,
                    "before": before,
                    "failedFrom": failed_from,
                    "failedBefore": failed_before,
                    "text": text,
                    "class": class_,
                    "status": status,
                    "tag": tag,
                    "fingerprint": fingerprint,
                    "reason": reason,
                    "limit": limit,
                    "after": after,
                },
            ),
        )

    def create_job(
        self,
        body: types.CreateRequest,
        *,
        idempotency_key: str | None = None,
        traceparent: str | None = None,
    ) -> types.CreateResult:
        """Create a job, up to 1,000 jobs atomically, or a schedule."""
        return cast(
            "types.CreateResult",
            self.request(
                "POST",
                "/api/v1/jobs",
                body=body,
                headers={
                    name: value
                    for name, value in [
                        ("Idempotency-Key", idempotency_key),
                        ("traceparent", traceparent),
                    ]
                    if value is not None
                },
            ),
        )

    def get_job(self, id: str, *, wait: str | None = None) -> types.Job:
        """Read a job; with `wait`, wait until it has ended or the time is over."""
        return cast(
            "types.Job",
            self.request("GET", f"/api/v1/jobs/{quote(id, safe='')}", query={"wait": wait}),
        )

    def edit_job(self, id: str, body: types.EditJobRequest) -> types.Job:
        """Edit a waiting job: payload, policy, runAt, priority."""
        return cast(
            "types.Job", self.request("PATCH", f"/api/v1/jobs/{quote(id, safe='')}", body=body)
        )

    def get_attempt_log(
        self, id: str, attempt: int, *, from_: int | None = None, follow: bool | None = None
    ) -> types.AttemptLog:
        """Read the log of an attempt, or follow it."""
        return cast(
            "types.AttemptLog",
            self.request(
                "GET",
                f"/api/v1/jobs/{quote(id, safe='')}/attempts/{quote(str(attempt), safe='')}/logs",
                query={"from": from_, "follow": follow},
            ),
        )

    def cancel_job(self, id: str) -> types.Job:
        """Cancel a job: immediately if it is waiting; a running attempt is asked to stop."""
        return cast("types.Job", self.request("POST", f"/api/v1/jobs/{quote(id, safe='')}/cancel"))

    def explain_job(self, id: str) -> types.StartExplanation:
        """Explain why a job has not started."""
        return cast(
            "types.StartExplanation",
            self.request("GET", f"/api/v1/jobs/{quote(id, safe='')}/explain"),
        )

    def list_attempts(
        self, id: str, *, limit: int | None = None, after: str | None = None
    ) -> types.AttemptList:
        """List the attempts of a job, newest first, each with its retry decision."""
        return cast(
            "types.AttemptList",
            self.request(
                "GET",
                f"/api/v1/jobs/{quote(id, safe='')}/history",
                query={"limit": limit, "after": after},
            ),
        )

    def retry_job(self, id: str, body: types.RetryJobRequest | None = None) -> types.Job:
        """Retry a failed or cancelled job with a new retry budget."""
        return cast(
            "types.Job", self.request("POST", f"/api/v1/jobs/{quote(id, safe='')}/retry", body=body)
        )

    def run_job_now(self, id: str) -> types.Job:
        """Run a waiting job now."""
        return cast("types.Job", self.request("POST", f"/api/v1/jobs/{quote(id, safe='')}/run-now"))

    def list_keys(self, *, limit: int | None = None, after: str | None = None) -> types.KeyList:
        """List keys, oldest first, without their tokens."""
        return cast(
            "types.KeyList",
            self.request("GET", "/api/v1/keys", query={"limit": limit, "after": after}),
        )

    def create_key(self, body: types.CreateKeyRequest) -> types.KeyWithToken:
        """Create a key. Its token is only in this response."""
        return cast("types.KeyWithToken", self.request("POST", "/api/v1/keys", body=body))

    def revoke_key(self, id: str) -> None:
        """Revoke a key. All nodes reject it within seconds."""
        self.request("DELETE", f"/api/v1/keys/{quote(id, safe='')}")

    def list_nodes(self, *, limit: int | None = None, after: str | None = None) -> types.NodeList:
        """List nodes by name, including nodes that recently stopped responding."""
        return cast(
            "types.NodeList",
            self.request("GET", "/api/v1/nodes", query={"limit": limit, "after": after}),
        )

    def list_operations(
        self,
        *,
        tenant: types.Name | None = None,
        open: bool | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> types.OperationList:
        """List operations, newest first."""
        return cast(
            "types.OperationList",
            self.request(
                "GET",
                "/api/v1/operations",
                query={"tenant": tenant, "open": open, "limit": limit, "after": after},
            ),
        )

    def create_operation(self, body: types.CreateOperationRequest) -> types.BulkResult:
        """Create a bulk operation: requeue, discard, cancel, retry, edit the policy of, or run
        now many jobs; or encrypt everything again with the newest encryption key.
        """
        return cast("types.BulkResult", self.request("POST", "/api/v1/operations", body=body))

    def get_operation(self, id: str) -> types.Operation:
        """Read an operation with its progress and report."""
        return cast(
            "types.Operation", self.request("GET", f"/api/v1/operations/{quote(id, safe='')}")
        )

    def cancel_operation(self, id: str) -> types.Operation:
        """Cancel an operation. Completed changes stay; remaining jobs are not changed."""
        return cast(
            "types.Operation",
            self.request("POST", f"/api/v1/operations/{quote(id, safe='')}/cancel"),
        )

    def list_operation_jobs(
        self,
        id: str,
        *,
        not_changed: bool | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> types.OperationJobList:
        """List the jobs of an operation with the result for each."""
        return cast(
            "types.OperationJobList",
            self.request(
                "GET",
                f"/api/v1/operations/{quote(id, safe='')}/jobs",
                query={"notChanged": not_changed, "limit": limit, "after": after},
            ),
        )

    def pause_operation(self, id: str) -> types.Operation:
        """Pause an operation until it is resumed. Completed changes stay."""
        return cast(
            "types.Operation",
            self.request("POST", f"/api/v1/operations/{quote(id, safe='')}/pause"),
        )

    def resume_operation(self, id: str) -> types.Operation:
        """Resume a paused operation."""
        return cast(
            "types.Operation",
            self.request("POST", f"/api/v1/operations/{quote(id, safe='')}/resume"),
        )

    def certify_policy(self, body: types.CertifyPolicyRequest) -> types.PolicyCertificate:
        """Compute whether a system recovers by itself after outages."""
        return cast(
            "types.PolicyCertificate", self.request("POST", "/api/v1/policies/certify", body=body)
        )

    def preview_policy(self, body: types.PreviewPolicyRequest) -> types.PolicyPreview:
        """Preview the whole timetable of a policy."""
        return cast(
            "types.PolicyPreview", self.request("POST", "/api/v1/policies/preview", body=body)
        )

    def replay_policy(self, body: types.ReplayPolicyRequest) -> types.PolicyReplay:
        """Replay another policy over recorded attempts."""
        return cast(
            "types.PolicyReplay", self.request("POST", "/api/v1/policies/replay", body=body)
        )

    def list_queues(
        self,
        *,
        tenant: types.Name | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> types.QueueList:
        """List queues with their counts and the age of their oldest waiting job."""
        return cast(
            "types.QueueList",
            self.request(
                "GET", "/api/v1/queues", query={"tenant": tenant, "limit": limit, "after": after}
            ),
        )

    def explain_queue(
        self, name: types.Name, *, tenant: types.Name | None = None
    ) -> types.QueueExplanation:
        """Explain why the jobs of a queue do or do not start."""
        return cast(
            "types.QueueExplanation",
            self.request(
                "GET", f"/api/v1/queues/{quote(name, safe='')}/explain", query={"tenant": tenant}
            ),
        )

    def pause_queue(
        self,
        name: types.Name,
        body: types.PauseQueueRequest | None = None,
        *,
        tenant: types.Name | None = None,
    ) -> None:
        """Pause a queue: no job starts until it is resumed; running jobs continue."""
        self.request(
            "POST",
            f"/api/v1/queues/{quote(name, safe='')}/pause",
            query={"tenant": tenant},
            body=body,
        )

    def resume_queue(self, name: types.Name, *, tenant: types.Name | None = None) -> None:
        """Resume a paused queue."""
        self.request(
            "POST", f"/api/v1/queues/{quote(name, safe='')}/resume", query={"tenant": tenant}
        )

    def list_schedules(
        self,
        *,
        tenant: types.Name | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> types.ScheduleList:
        """List schedules, newest first."""
        return cast(
            "types.ScheduleList",
            self.request(
                "GET", "/api/v1/schedules", query={"tenant": tenant, "limit": limit, "after": after}
            ),
        )

    def create_schedule(self, body: types.CreateScheduleRequest) -> types.Schedule:
        """Create a schedule, or update the existing one with that name."""
        return cast("types.Schedule", self.request("POST", "/api/v1/schedules", body=body))

    def get_schedule(self, id: str) -> types.Schedule:
        """Read a schedule."""
        return cast(
            "types.Schedule", self.request("GET", f"/api/v1/schedules/{quote(id, safe='')}")
        )

    def delete_schedule(self, id: str) -> None:
        """Delete a schedule; its existing runs continue."""
        self.request("DELETE", f"/api/v1/schedules/{quote(id, safe='')}")

    def edit_schedule(self, id: str, body: types.EditScheduleRequest) -> types.Schedule:
        """Edit a schedule. Only a changed rule or window restarts the timetable from now."""
        return cast(
            "types.Schedule",
            self.request("PATCH", f"/api/v1/schedules/{quote(id, safe='')}", body=body),
        )

    def pause_schedule(self, id: str) -> types.Schedule:
        """Pause a schedule: it creates no runs until it is resumed."""
        return cast(
            "types.Schedule", self.request("POST", f"/api/v1/schedules/{quote(id, safe='')}/pause")
        )

    def resume_schedule(self, id: str) -> types.Schedule:
        """Resume a schedule with its next tick; ticks that passed during the pause create no
        runs.
        """
        return cast(
            "types.Schedule", self.request("POST", f"/api/v1/schedules/{quote(id, safe='')}/resume")
        )

    def run_schedule_now(self, id: str) -> types.Job:
        """Run a schedule now: one extra run outside its timetable."""
        return cast(
            "types.Job", self.request("POST", f"/api/v1/schedules/{quote(id, safe='')}/run-now")
        )

    def list_ticks(
        self, id: str, *, limit: int | None = None, after: str | None = None
    ) -> types.TickList:
        """List past ticks of a schedule, newest first, and upcoming ticks."""
        return cast(
            "types.TickList",
            self.request(
                "GET",
                f"/api/v1/schedules/{quote(id, safe='')}/ticks",
                query={"limit": limit, "after": after},
            ),
        )

    def list_secrets(
        self,
        *,
        tenant: types.Name | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> types.SecretList:
        """List secrets by tenant and name, without their values."""
        return cast(
            "types.SecretList",
            self.request(
                "GET", "/api/v1/secrets", query={"tenant": tenant, "limit": limit, "after": after}
            ),
        )

    def set_secret(
        self, name: types.Name, body: types.SetSecretRequest, *, tenant: types.Name | None = None
    ) -> types.Secret:
        """Set a secret. Its value is never shown again."""
        return cast(
            "types.Secret",
            self.request(
                "PUT",
                f"/api/v1/secrets/{quote(name, safe='')}",
                query={"tenant": tenant},
                body=body,
            ),
        )

    def delete_secret(self, name: types.Name, *, tenant: types.Name | None = None) -> None:
        """Delete a secret. Requests that name it fail with class `secret` and are retried as
        their policy says.
        """
        self.request("DELETE", f"/api/v1/secrets/{quote(name, safe='')}", query={"tenant": tenant})

    def get_stats(
        self,
        *,
        tenant: types.Name | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> types.Stats:
        """Read job counts by label, throughput, retries and their success rate."""
        return cast(
            "types.Stats",
            self.request(
                "GET", "/api/v1/stats", query={"tenant": tenant, "limit": limit, "after": after}
            ),
        )

    def list_minute_stats(
        self, *, tenant: types.Name | None = None, minutes: int | None = None
    ) -> types.MinuteList:
        """List attempts per minute, oldest first; minutes without attempts are omitted."""
        return cast(
            "types.MinuteList",
            self.request(
                "GET", "/api/v1/stats/minutes", query={"tenant": tenant, "minutes": minutes}
            ),
        )

    def advance_clock(self, body: types.AdvanceClockRequest) -> types.Clock:
        """Advance the clock of the store. Only with `--clock manual`."""
        return cast("types.Clock", self.request("POST", "/api/v1/test/advance", body=body))

    def run_until_idle(self, body: types.RunUntilIdleRequest | None = None) -> types.Idle:
        """Wait until no job is due or running. Only with `--clock manual`."""
        return cast("types.Idle", self.request("POST", "/api/v1/test/run-until-idle", body=body))

    def list_workers(
        self,
        *,
        tenant: types.Name | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> types.WorkerList:
        """List the workers that have claimed jobs within the last day."""
        return cast(
            "types.WorkerList",
            self.request(
                "GET", "/api/v1/workers", query={"tenant": tenant, "limit": limit, "after": after}
            ),
        )
