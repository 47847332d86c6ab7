//! The extras of a job as JSON, for the drivers that keep them in a column. What is searched for has
//! columns of its own.

use serde::{Deserialize, Serialize};
use steadfast_core::{
    BatchId, ConfirmSettings, Dependencies, ExpiryAction, JobExtras, NewJob, OnFailure,
    StartDeadline, Timestamp, Unique,
};

#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoredExtras {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unique: Option<Unique>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    on_expiry: Option<ExpiryAction>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<OnFailure>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    batch: Option<BatchId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    confirm: Option<ConfirmSettings>,
}

impl StoredExtras {
    /// What is stored of a new job; `None` if it has nothing.
    pub(crate) fn of(job: &NewJob) -> Option<Self> {
        let extras = job.extras()?;
        Some(Self {
            unique: extras.unique.clone(),
            on_expiry: extras.start_before.map(|(_, on_expiry)| on_expiry),
            after: extras.after.as_ref().map(Dependencies::on_failure),
            batch: extras.batch,
            confirm: extras.confirm.clone(),
        })
    }

    /// As a job has it.
    pub(crate) fn read(self, start_before: Option<i64>) -> Option<Box<JobExtras>> {
        let start_deadline = start_before.map(|at| {
            let on_expiry = self.on_expiry.unwrap_or(ExpiryAction::Fail);
            StartDeadline::stored(Timestamp::from_micros(at), on_expiry)
        });
        let extras = JobExtras {
            unique: self.unique,
            start_deadline,
            after: self.after,
            batch: self.batch,
            confirm: self.confirm,
        };
        (extras != JobExtras::default()).then(|| Box::new(extras))
    }
}
