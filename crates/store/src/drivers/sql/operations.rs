//! Jobs of operations as columns.

use std::str::FromStr;

use steadfast_core::{Invalid, JobId, OperationJob};

use super::values::UnreadableValue;

/// The result, the attempts and the fingerprint of a job.
pub(crate) fn job_columns(job: &OperationJob) -> (Option<&'static str>, i64, Option<String>) {
    let result = job.result.map(|result| result.as_str());
    let fingerprint = job.fingerprint.map(|fingerprint| fingerprint.to_string());
    (result, job.attempts.into(), fingerprint)
}

/// A job out of its columns.
pub(crate) fn operation_job(
    id: JobId,
    result: Option<&str>,
    attempts: i64,
    fingerprint: Option<&str>,
    outcome: Option<&str>,
) -> Result<OperationJob, UnreadableValue> {
    let mut job = OperationJob::named(id);
    job.result = parsed(result)?;
    job.attempts = u32::try_from(attempts).unwrap_or(u32::MAX);
    job.fingerprint = parsed(fingerprint)?;
    job.outcome = parsed(outcome)?;
    Ok(job)
}

fn parsed<T: FromStr<Err = Invalid>>(text: Option<&str>) -> Result<Option<T>, UnreadableValue> {
    let parsed = text.map(T::from_str).transpose();
    parsed.map_err(|error| UnreadableValue::new("job of an operation", error))
}
