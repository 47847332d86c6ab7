//! What became of the jobs of an operation that tries them again.
//!
//! A canary waits for outcomes and stores them. Those of other operations are read from the jobs as
//! they are now, so that an operation does not wait for them.

use steadfast_core::{Job, JobId, OperationJob, OperationKind, OperationOutcomes, OperationResult};
use steadfast_store::{JobDetail, OperationJobFilter, OperationRecord, Page, PageRequest};

use super::{Client, ClientError};
use crate::limits::{OUTCOMES_BATCH_MAX, OUTCOMES_READ_MAX};

impl Client {
    /// How the next attempts of the jobs that an operation tries again have ended so far: of the
    /// newest thousand, unless it is a canary.
    pub async fn operation_outcomes(
        &self,
        record: &OperationRecord,
    ) -> Result<OperationOutcomes, ClientError> {
        if !reads_outcomes(record) {
            return Ok(record.operation.progress.outcomes);
        }
        let mut counts = OperationOutcomes::default();
        let mut page = PageRequest::first(OUTCOMES_BATCH_MAX);
        let mut read = 0;
        while read < OUTCOMES_READ_MAX {
            let found = self
                .operation_jobs(record, OperationJobFilter::All, page)
                .await?;
            read += found.items.len();
            for job in &found.items {
                if let Some(outcome) = job.outcome {
                    counts.add(outcome);
                }
            }
            if found.next.is_none() {
                break;
            }
            page.after = found.next;
        }
        Ok(counts)
    }

    /// A page of the jobs of an operation, newest id first, with what became of them so far.
    pub async fn operation_jobs(
        &self,
        record: &OperationRecord,
        filter: OperationJobFilter,
        page: PageRequest<JobId>,
    ) -> Result<Page<OperationJob, JobId>, ClientError> {
        let mut found = self
            .store()
            .list_operation_jobs(record.id, filter, page)
            .await?;
        if reads_outcomes(record) {
            let is_watched = |it: &&mut OperationJob| it.result == Some(OperationResult::Changed);
            let mut watched: Vec<&mut OperationJob> =
                found.items.iter_mut().filter(is_watched).collect();
            let ids = watched.iter().map(|it| it.job).collect();
            let jobs: Vec<Option<Job>> = self.store().get_jobs(ids, JobDetail::Listed).await?;
            for (row, job) in watched.iter_mut().zip(jobs) {
                row.outcome = row.outcome_of(job.as_ref());
            }
        }
        Ok(found)
    }
}

fn reads_outcomes(record: &OperationRecord) -> bool {
    let kind = record.operation.kind;
    let tries_again = matches!(kind, OperationKind::Requeue | OperationKind::Retry);
    tries_again && record.operation.canary.is_none()
}
