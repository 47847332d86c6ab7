//! A batch that does not exist yet.

use sha2::{Digest, Sha256};

use super::BatchName;
use crate::{
    job::NewJob,
    values::{BatchId, IdempotencyKey, Tenant},
};

/// The tag of a callback that names its batch.
pub const BATCH_TAG: &str = "batch"; // not a limit: a name

/// A checked request for a batch. Its jobs and callbacks are of its tenant.
#[derive(Clone, Debug, PartialEq)]
pub struct NewBatch {
    /// Chosen by the creator, so that a request whose answer was lost can be repeated.
    pub id: BatchId,
    /// The tenant of the batch.
    pub tenant: Tenant,
    /// The name of the batch.
    pub name: Option<BatchName>,
    /// With a key, repeating the request gives the batch that exists instead of a second one.
    pub idempotency_key: Option<IdempotencyKey>,
    /// Whether jobs can be added later; it ends only after it was closed.
    pub is_open: bool,
    /// Its first jobs, each of which names this batch.
    pub jobs: Vec<NewJob>,
    /// The job to make when all have ended.
    pub on_end: Option<NewJob>,
    /// The job to make when all have succeeded.
    pub on_success: Option<NewJob>,
}

impl NewBatch {
    /// A hash that tells whether two requests with one idempotency key are the same request.
    pub fn fingerprint(&self) -> [u8; 16] {
        let mut hash = Sha256::new();
        let name = self.name.as_ref().map_or("", BatchName::as_str);
        hash.update((name.len() as u64).to_le_bytes());
        hash.update(name);
        hash.update([u8::from(self.is_open)]);
        for callback in [&self.on_end, &self.on_success] {
            hash.update([u8::from(callback.is_some())]);
            if let Some(job) = callback {
                hash.update(callback_fingerprint(job));
            }
        }
        for job in &self.jobs {
            hash.update(job.fingerprint());
        }
        let digest = hash.finalize();
        let mut first = [0; 16];
        first.copy_from_slice(&digest[..16]);
        first
    }
}

/// That of a callback without the tag that names its batch: its id follows from the request as little
/// as that of the job.
fn callback_fingerprint(job: &NewJob) -> [u8; 16] {
    let mut tags = job.tags().clone();
    tags.remove(BATCH_TAG);
    let untagged = job.clone().with_tags(tags);
    untagged.unwrap_or_else(|_| job.clone()).fingerprint()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        job::NewJobExtras,
        policy::Preset,
        values::{JobId, Kind, Payload, Tags},
    };

    fn batch(number: u128, tag: &str) -> NewBatch {
        let id = BatchId::from_bits(number);
        let job = |number: u128, tag: String| {
            let (id, kind) = (JobId::from_bits(number), Kind::new("page").unwrap());
            let policy = Arc::new(Preset::Queue.policy());
            let job = NewJob::new(id, kind, Payload::default(), policy);
            job.with_tags(Tags::from([(BATCH_TAG.to_owned(), tag)]))
                .unwrap()
        };
        NewBatch {
            id,
            tenant: Tenant::default(),
            name: None,
            idempotency_key: None,
            is_open: false,
            jobs: vec![job(number + 1, tag.to_owned()).with_extras(NewJobExtras {
                batch: Some(id),
                ..NewJobExtras::default()
            })],
            on_end: Some(job(number + 2, id.to_string())),
            on_success: None,
        }
    }

    #[test]
    fn a_request_is_the_same_with_other_ids_and_another_one_with_other_tags_of_its_jobs() {
        let first = batch(10, "a").fingerprint();
        assert_eq!(batch(20, "a").fingerprint(), first);
        assert_ne!(batch(10, "b").fingerprint(), first);
    }
}
