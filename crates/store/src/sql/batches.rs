//! Batches as columns.

use serde::{Deserialize, Serialize};
use steadfast_core::{
    BatchId, BatchJobFilter, BatchJobState, BatchName, JobId, NewJob, Tenant, Timestamp,
};

use super::{
    template::Template,
    values::{UnreadableValue, state},
};
use crate::store::{BatchCallback, BatchRecord};

/// What never changes of a batch.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BatchBody {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<BatchName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    on_end: Option<JobId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    on_success: Option<JobId>,
    fingerprint: [u8; 16],
}

impl From<&BatchRecord> for BatchBody {
    fn from(batch: &BatchRecord) -> Self {
        Self {
            name: batch.name.clone(),
            on_end: batch.on_end,
            on_success: batch.on_success,
            fingerprint: batch.fingerprint,
        }
    }
}

/// The columns of a batch.
pub(crate) struct BatchColumns<'r> {
    pub id: BatchId,
    pub tenant: &'r str,
    pub created_at: i64,
    pub finished_at: Option<i64>,
    pub counts: &'r str,
    pub body: &'r str,
}

impl BatchColumns<'_> {
    pub(crate) fn read(self) -> Result<BatchRecord, UnreadableValue> {
        let body: BatchBody = parse(self.body)?;
        let tenant = Tenant::new(self.tenant);
        Ok(BatchRecord {
            id: self.id,
            tenant: tenant.map_err(|error| UnreadableValue::new("tenant", error))?,
            name: body.name,
            created_at: Timestamp::from_micros(self.created_at),
            finished_at: self.finished_at.map(Timestamp::from_micros),
            counts: parse(self.counts)?,
            on_end: body.on_end,
            on_success: body.on_success,
            fingerprint: body.fingerprint,
        })
    }
}

fn parse<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, UnreadableValue> {
    serde_json::from_str(text).map_err(|error| UnreadableValue::new("batch", error))
}

/// What stands for a callback.
pub(crate) fn callback_number(callback: BatchCallback) -> i16 {
    match callback {
        BatchCallback::End => 0,
        BatchCallback::Success => 1,
    }
}

/// The job of a stored callback.
pub(crate) fn callback_job(template: &str) -> Result<NewJob, UnreadableValue> {
    let template: Template = parse(template)?;
    NewJob::try_from(template).map_err(|error| UnreadableValue::new("callback", error))
}

/// Where a job of a batch stood or stands, as it is noted. One in a state that cannot be read has not
/// ended; when it is mended, that is noted too.
pub(crate) fn member_state(number: impl TryInto<i16>) -> BatchJobState {
    let state = number.try_into().ok().and_then(state);
    state.map_or(BatchJobState::Unfinished, BatchJobState::from_state)
}

/// The state that jobs of a batch are found by: those that have not ended have that of one that waits.
pub(crate) fn filter_number(filter: BatchJobFilter) -> i16 {
    match filter {
        BatchJobFilter::Unfinished => 0,
        BatchJobFilter::Succeeded => 2,
        BatchJobFilter::Failed => 3,
        BatchJobFilter::Cancelled => 4,
    }
}
