//! Queues, dead letters, and what a server says about itself.

use http::Method;
use serde::{Deserialize, Serialize};
use steadfast_api::{
    AcknowledgeAlertsRequest, AlertList, BulkResult, CertifyPolicyRequest, DeadLettersRequest,
    ForecastBody, ForecastQuery, JobList, JobQuery, KeptCertificateBody, KeptCertificateList,
    MinuteList, MinutesQuery, NodeList, PageQuery, PauseQueueRequest, PolicyCertificateBody,
    PolicyPreviewBody, PolicyReplayBody, PreviewPolicyRequest, QueueExplanation, QueueList,
    ReplayPolicyRequest, SilenceAlertsRequest, StatsBody, TenantPageQuery, TenantQuery, WorkerList,
};

use crate::{
    client::Client,
    request::{Request, path_segment},
};

/// The health report of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HealthBody {
    /// `ok`, or `unavailable`.
    pub status: String,
    /// The name of the node.
    #[serde(default)]
    pub node: Option<String>,
    /// The version of the server.
    #[serde(default)]
    pub version: Option<String>,
    /// Why it is unavailable.
    #[serde(default)]
    pub detail: Option<String>,
}

impl Client {
    /// A page of dead letters, newest first.
    pub fn list_dead_letters(&self, query: &JobQuery) -> Request<JobList> {
        self.get("listDeadLetters", "/dlq")
            .query(query)
            .query_each("tag", &query.tag)
    }

    /// Requeues dead letters, each with a new retry budget.
    pub fn requeue_dead_letters(&self, which: &DeadLettersRequest) -> Request<BulkResult> {
        self.post_json("requeueDeadLetters", "/dlq/requeue", which)
    }

    /// Discards dead letters: they are never retried, and removed after the retention time.
    pub fn discard_dead_letters(&self, which: &DeadLettersRequest) -> Request<BulkResult> {
        self.post_json("discardDeadLetters", "/dlq/discard", which)
    }

    /// A page of the queues, with their depth.
    pub fn list_queues(&self, query: &TenantPageQuery) -> Request<QueueList> {
        self.get("listQueues", "/queues").query(query)
    }

    /// Why nothing, or something, runs in a queue.
    pub fn explain_queue(&self, name: &str, query: &TenantQuery) -> Request<QueueExplanation> {
        let path = format!("/queues/{}/explain", path_segment(name));
        self.get("explainQueue", &path).query(query)
    }

    /// Stops claims from a queue until it is resumed; running attempts continue.
    pub fn pause_queue(&self, name: &str, query: &TenantQuery) -> Request<()> {
        self.queue_command("pauseQueue", name, "pause", query)
    }

    /// The same, with a reason and an end.
    pub fn pause_queue_with(
        &self,
        name: &str,
        query: &TenantQuery,
        why: &PauseQueueRequest,
    ) -> Request<()> {
        self.pause_queue(name, query).json(why)
    }

    /// Allows claims from a queue again.
    pub fn resume_queue(&self, name: &str, query: &TenantQuery) -> Request<()> {
        self.queue_command("resumeQueue", name, "resume", query)
    }

    fn queue_command(
        &self,
        operation: &'static str,
        name: &str,
        verb: &str,
        query: &TenantQuery,
    ) -> Request<()> {
        self.post(operation, &format!("/queues/{}/{verb}", path_segment(name)))
            .query(query)
    }

    /// Counts and rates, and those of a page of the lanes.
    pub fn get_stats(&self, query: &TenantPageQuery) -> Request<StatsBody> {
        self.get("getStats", "/stats").query(query)
    }

    /// Attempts by the minute.
    pub fn list_minute_stats(&self, query: &MinutesQuery) -> Request<MinuteList> {
        self.get("listMinuteStats", "/stats/minutes").query(query)
    }

    /// How many jobs will be due, minute by minute.
    pub fn get_forecast(&self, query: &ForecastQuery) -> Request<ForecastBody> {
        self.get("getForecast", "/forecast").query(query)
    }

    /// Alerts that fire, are pending, or were resolved.
    pub fn list_alerts(&self, query: &TenantPageQuery) -> Request<AlertList> {
        self.get("listAlerts", "/alerts").query(query)
    }

    /// Acknowledges firing alerts: no reminders until they fire again.
    pub fn acknowledge_alerts(&self, request: &AcknowledgeAlertsRequest) -> Request<AlertList> {
        self.post("acknowledgeAlerts", "/alerts/acknowledge")
            .json(request)
    }

    /// Silences alerts: no notifications until then.
    pub fn silence_alerts(&self, request: &SilenceAlertsRequest) -> Request<AlertList> {
        self.post("silenceAlerts", "/alerts/silence").json(request)
    }

    /// The nodes that serve the store.
    pub fn list_nodes(&self, page: &PageQuery) -> Request<NodeList> {
        self.get("listNodes", "/nodes").query(page)
    }

    /// The workers that have claimed jobs within the last day.
    pub fn list_workers(&self, page: &TenantPageQuery) -> Request<WorkerList> {
        self.get("listWorkers", "/workers").query(page)
    }

    /// The timetable of a retry policy for a job that always fails at once.
    pub fn preview_policy(&self, policy: &PreviewPolicyRequest) -> Request<PolicyPreviewBody> {
        self.post_json("previewPolicy", "/policies/preview", policy)
    }

    /// Replays another policy over recorded attempts.
    pub fn replay_policy(&self, request: &ReplayPolicyRequest) -> Request<PolicyReplayBody> {
        self.post_json("replayPolicy", "/policies/replay", request)
    }

    /// Computes whether a system recovers by itself after outages.
    pub fn certify_policy(&self, request: &CertifyPolicyRequest) -> Request<PolicyCertificateBody> {
        self.post_json("certifyPolicy", "/policies/certify", request)
    }

    /// Computes a certificate, and keeps it under a name.
    pub fn keep_certificate(
        &self,
        name: &str,
        request: &CertifyPolicyRequest,
    ) -> Request<KeptCertificateBody> {
        self.operation("keepCertificate", Method::PUT, &certificate_path(name))
            .json(request)
    }

    /// A page of the kept certificates.
    pub fn list_certificates(&self, query: &TenantPageQuery) -> Request<KeptCertificateList> {
        self.get("listCertificates", "/certificates").query(query)
    }

    /// Deletes a kept certificate.
    pub fn delete_certificate(&self, name: &str, query: &TenantQuery) -> Request<()> {
        let path = certificate_path(name);
        self.operation("deleteCertificate", Method::DELETE, &path)
            .query(query)
    }

    /// Whether the process is alive; needs no key.
    pub fn get_health(&self) -> Request<HealthBody> {
        self.health("getHealth", "/healthz")
    }

    /// Whether the server can do its work; needs no key. An unavailable server is no error here.
    pub fn get_readiness(&self) -> Request<HealthBody> {
        self.health("getReadiness", "/readyz")
    }

    fn health(&self, operation: &'static str, path: &str) -> Request<HealthBody> {
        Request::new(self.server.clone(), operation, Method::GET, path.to_owned())
            .accept_any_status()
    }
}

fn certificate_path(name: &str) -> String {
    format!("/certificates/{}", path_segment(name))
}
