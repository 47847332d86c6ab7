//! Progress as columns, for statements that write many jobs at once.

use steadfast_core::{Progress, WorkerName};
use tokio_postgres::types::ToSql;

use super::{
    fault::Fault,
    rows::{micros, nanos, state_number, to_json},
};

#[derive(Default)]
pub(super) struct ProgressColumns<'p> {
    state: Vec<i16>,
    run_at: Vec<i64>,
    fence: Vec<i64>,
    attempt: Vec<i64>,
    attempts_before: Vec<i64>,
    cancel_requested: Vec<bool>,
    lease_until: Vec<Option<i64>>,
    started_at: Vec<Option<i64>>,
    first_started_at: Vec<Option<i64>>,
    finished_at: Vec<Option<i64>>,
    resolved_at: Vec<Option<i64>>,
    worker: Vec<Option<&'p str>>,
    snoozes: Vec<i32>,
    last_delay: Vec<Option<i64>>,
    reason: Vec<Option<&'static str>>,
    failure: Vec<Option<String>>,
    note: Vec<Option<String>>,
}

impl<'p> ProgressColumns<'p> {
    pub(super) fn push(&mut self, progress: &'p Progress) -> Result<(), Fault> {
        self.state.push(state_number(progress.state));
        self.run_at.push(progress.run_at.as_micros());
        self.fence.push(progress.fence.0.into());
        self.attempt.push(progress.attempt.into());
        self.attempts_before.push(progress.attempts_before.into());
        self.cancel_requested.push(progress.cancel_requested);
        self.lease_until.push(micros(progress.lease_until));
        self.started_at.push(micros(progress.started_at));
        self.first_started_at
            .push(micros(progress.first_started_at));
        self.finished_at.push(micros(progress.finished_at));
        self.resolved_at.push(micros(progress.resolved_at));
        self.worker
            .push(progress.worker.as_ref().map(WorkerName::as_str));
        self.snoozes
            .push(i32::try_from(progress.snoozes).unwrap_or(i32::MAX));
        self.last_delay.push(progress.last_delay.map(nanos));
        self.reason
            .push(progress.reason.map(|reason| reason.as_str()));
        self.failure
            .push(progress.failure.as_ref().map(to_json).transpose()?);
        self.note
            .push(progress.note.as_deref().map(to_json).transpose()?);
        Ok(())
    }

    /// In the order in which statements take them.
    pub(super) fn params(&self) -> [&(dyn ToSql + Sync); 17] {
        [
            &self.state,
            &self.run_at,
            &self.fence,
            &self.attempt,
            &self.attempts_before,
            &self.cancel_requested,
            &self.lease_until,
            &self.started_at,
            &self.first_started_at,
            &self.finished_at,
            &self.resolved_at,
            &self.worker,
            &self.snoozes,
            &self.last_delay,
            &self.reason,
            &self.failure,
            &self.note,
        ]
    }
}
