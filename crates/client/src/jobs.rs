//! Jobs: created, read, changed.

use std::{fmt::Display, time::Duration};

use http::Method;
use serde::Serialize;
use steadfast_api::{
    AttemptList, AttemptLogBody, CloudEventQuery, CreateJobRequest, CreateJobsRequest,
    CreateResult, EditJobRequest, JobBody, JobList, JobQuery, LogQuery, PageQuery, RetryJobRequest,
    StartExplanation, WaitQuery,
};

use crate::{
    client::Client,
    request::{Request, path_segment},
};

impl Client {
    /// Creates a job. The status is 201 for a new job, and 200 if the idempotency key has a job
    /// already.
    ///
    /// A request with `schedule` creates a schedule: use [`create`](Self::create) for those.
    pub fn create_job(&self, job: &CreateJobRequest) -> Request<JobBody> {
        self.post_json("createJob", "/jobs", job)
    }

    /// Creates many jobs in one transaction: all of them, or none.
    pub fn create_jobs(&self, jobs: &CreateJobsRequest) -> Request<JobList> {
        self.post_json("createJob", "/jobs", jobs)
    }

    /// Creates whatever the request describes: a job, a schedule, or many jobs. It may be any of
    /// the request types, or JSON that the caller has.
    pub fn create(&self, request: &impl Serialize) -> Request<CreateResult> {
        self.post_json("createJob", "/jobs", request)
    }

    /// Creates a job from a CloudEvent in structured mode: JSON with `specversion`, `id`, `source`,
    /// `type`, and usually `data`. A repeated event returns its job with status 200.
    pub fn receive_cloud_event(
        &self,
        event: &impl Serialize,
        query: &CloudEventQuery,
    ) -> Request<JobBody> {
        self.post_json("receiveCloudEvents", "/cloudevents", event)
            .media("application/cloudevents+json")
            .query(query)
    }

    /// A page of jobs, newest first.
    pub fn list_jobs(&self, query: &JobQuery) -> Request<JobList> {
        self.get("listJobs", "/jobs")
            .query(query)
            .query_each("tag", &query.tag)
    }

    /// A job.
    pub fn get_job(&self, id: impl Display) -> Request<JobBody> {
        self.get("getJob", &job_path(id, ""))
    }

    /// A job when it has ended, or when the time of the query is over; the timeout of this call is
    /// that much longer.
    pub fn wait_for_job(&self, id: impl Display, query: &WaitQuery) -> Request<JobBody> {
        let wait = query.wait.map_or(Duration::ZERO, |wait| wait.get());
        self.get("getJob", &job_path(id, ""))
            .query(query)
            .extend_timeout(wait)
    }

    /// Changes a waiting job.
    pub fn edit_job(&self, id: impl Display, edit: &EditJobRequest) -> Request<JobBody> {
        self.operation("editJob", Method::PATCH, &job_path(id, ""))
            .json(edit)
    }

    /// Cancels a job: at once if it waits; a running attempt is asked to stop.
    pub fn cancel_job(&self, id: impl Display) -> Request<JobBody> {
        self.post("cancelJob", &job_path(id, "/cancel"))
    }

    /// Retries a job that has ended, with a new retry budget.
    pub fn retry_job(&self, id: impl Display, retry: &RetryJobRequest) -> Request<JobBody> {
        self.post_json("retryJob", &job_path(id, "/retry"), retry)
    }

    /// Makes a waiting job due now.
    pub fn run_job_now(&self, id: impl Display) -> Request<JobBody> {
        self.post("runJobNow", &job_path(id, "/run-now"))
    }

    /// Why a job has not started, and when it will.
    pub fn explain_job(&self, id: impl Display) -> Request<StartExplanation> {
        self.get("explainJob", &job_path(id, "/explain"))
    }

    /// A page of the attempts of a job, or of all runs of a schedule, newest first.
    pub fn list_attempts(&self, id: impl Display, query: &PageQuery) -> Request<AttemptList> {
        self.get("listAttempts", &job_path(id, "/history"))
            .query(query)
    }

    /// The log of an attempt, numbered from 1.
    pub fn get_attempt_log(
        &self,
        id: impl Display,
        attempt: u32,
        query: &LogQuery,
    ) -> Request<AttemptLogBody> {
        self.get("getAttemptLog", &log_path(id, attempt))
            .query(query)
    }
}

/// Where the log of an attempt is.
pub(crate) fn log_path(id: impl Display, attempt: u32) -> String {
    job_path(id, &format!("/attempts/{attempt}/logs"))
}

fn job_path(id: impl Display, verb: &str) -> String {
    format!("/jobs/{}{verb}", path_segment(id))
}
