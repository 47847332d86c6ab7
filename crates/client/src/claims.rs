//! Claims: what workers call.

use std::{fmt::Display, time::Duration};

use http::Method;
use steadfast_api::{
    AdvanceClockRequest, ClaimJobsRequest, ClaimList, ClockBody, FailRequest, FenceQuery,
    HeartbeatList, HeartbeatRequest, HeartbeatsRequest, IdleBody, JobBody, LeaseBody,
    PrerequisiteList, PrerequisiteQuery, ReleaseRequest, RunUntilIdleRequest, SaveStepRequest,
    SettleRequest, SettlementList, SnoozeRequest, StepBody, SucceedRequest,
};

use crate::{
    client::Client,
    request::{Request, path_segment},
};

impl Client {
    /// Claims due jobs. If none is due, the server waits as long as the request allows; the
    /// timeout of this call is that much longer.
    ///
    /// Each claim counts as an attempt, and holds until its lease runs out: send heartbeats.
    pub fn claim_jobs(&self, claim: &ClaimJobsRequest) -> Request<ClaimList> {
        let wait = claim.wait.map_or(Duration::ZERO, |wait| wait.get());
        self.post_json("claimJobs", "/claims", claim)
            .extend_timeout(wait)
    }

    /// Extends the lease of a running attempt, and says whether it is to be cancelled.
    pub fn send_heartbeat(
        &self,
        id: impl Display,
        heartbeat: &HeartbeatRequest,
    ) -> Request<LeaseBody> {
        self.post_json("sendHeartbeat", &claim_path(id, "heartbeat"), heartbeat)
    }

    /// Extends the leases of many running attempts; each has its own result.
    pub fn send_heartbeats(&self, heartbeats: &HeartbeatsRequest) -> Request<HeartbeatList> {
        self.post_json("sendHeartbeats", "/claims/heartbeat", heartbeats)
    }

    /// The result of a step that some attempt of the job has done.
    pub fn get_step(
        &self,
        id: impl Display,
        name: impl Display,
        fence: &FenceQuery,
    ) -> Request<StepBody> {
        self.get("getStep", &step_path(id, name)).query(fence)
    }

    /// A page of the jobs that the claimed job has waited for, with their results.
    pub fn list_prerequisites(
        &self,
        id: impl Display,
        query: &PrerequisiteQuery,
    ) -> Request<PrerequisiteList> {
        self.get("listPrerequisites", &claim_path(id, "prerequisites"))
            .query(query)
    }

    /// Stores the result of a step under the claim, and answers with the one that is stored: the
    /// first. Safe to repeat.
    pub fn save_step(
        &self,
        id: impl Display,
        name: impl Display,
        step: &SaveStepRequest,
    ) -> Request<StepBody> {
        self.operation("saveStep", Method::PUT, &step_path(id, name))
            .json(step)
    }

    /// Reports that an attempt succeeded. Safe to repeat.
    pub fn succeed_attempt(&self, id: impl Display, success: &SucceedRequest) -> Request<JobBody> {
        self.post_json("succeedAttempt", &claim_path(id, "succeed"), success)
    }

    /// Reports that an attempt failed; the job's policy decides what follows. Safe to repeat.
    pub fn fail_attempt(&self, id: impl Display, failure: &FailRequest) -> Request<JobBody> {
        self.post_json("failAttempt", &claim_path(id, "fail"), failure)
    }

    /// Gives a job back until later, without counting the attempt as a retry.
    pub fn snooze_attempt(&self, id: impl Display, snooze: &SnoozeRequest) -> Request<JobBody> {
        self.post_json("snoozeAttempt", &claim_path(id, "snooze"), snooze)
    }

    /// Gives a job back at once, without counting the attempt: for workers that stop.
    pub fn release_attempt(&self, id: impl Display, release: &ReleaseRequest) -> Request<JobBody> {
        self.post_json("releaseAttempt", &claim_path(id, "release"), release)
    }

    /// Reports how many attempts ended, in one request and one transaction.
    pub fn settle_attempts(&self, settlements: &SettleRequest) -> Request<SettlementList> {
        self.post_json("settleAttempts", "/claims/settle", settlements)
    }

    /// Moves the clock of a server for tests, started with `--clock manual`.
    pub fn advance_clock(&self, advance: &AdvanceClockRequest) -> Request<ClockBody> {
        self.post_json("advanceClock", "/test/advance", advance)
    }

    /// Waits until nothing is due and nothing runs on a server for tests, started with
    /// `--clock manual`, and says what is left.
    pub fn run_until_idle(&self, request: &RunUntilIdleRequest) -> Request<IdleBody> {
        let wait = request.timeout.map_or(Duration::ZERO, |wait| wait.get());
        self.post_json("runUntilIdle", "/test/run-until-idle", request)
            .extend_timeout(wait)
    }
}

fn step_path(id: impl Display, name: impl Display) -> String {
    let (id, name) = (path_segment(id), path_segment(name));
    format!("/claims/{id}/steps/{name}")
}

fn claim_path(id: impl Display, verb: &str) -> String {
    format!("/claims/{}/{verb}", path_segment(id))
}
