//! A job that does not exist yet.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use sha2::{Digest, Sha256};

use super::{Guarantee, Job, JobProgress, Priority, ScheduledRun, Tags};
use crate::{
    IdempotencyKey, Invalid, JobId, Kind, Payload, PolicyPatch, Queue, RetryPolicy, Tenant,
    Timestamp, Webhook, duration, limits,
};

/// What is asked of a job, checked. The store makes a [`Job`] of it.
#[derive(Clone, Debug, PartialEq)]
pub struct NewJob {
    pub id: JobId,
    pub tenant: Tenant,
    pub queue: Queue,
    pub kind: Kind,
    pub payload: Payload,
    pub priority: Priority,
    pub run_at: RunAt,
    pub policy: Arc<RetryPolicy>,
    pub guarantee: Guarantee,
    pub idempotency_key: Option<IdempotencyKey>,
    /// What the request itself said of retries, before the levels below filled it up.
    pub requested_retry: PolicyPatch,
    pub scheduled_run: Option<ScheduledRun>,
    pub webhook: Option<Arc<Webhook>>,
    timeout: Option<Duration>,
    lease: Duration,
    tags: Tags,
}

/// When a job becomes due, in the store's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunAt {
    Now,
    After(Duration),
    At(Timestamp),
}

impl NewJob {
    pub fn new(id: JobId, kind: Kind, payload: Payload, policy: Arc<RetryPolicy>) -> Self {
        Self {
            id,
            tenant: Tenant::default(),
            queue: Queue::default(),
            kind,
            payload,
            priority: Priority::default(),
            run_at: RunAt::Now,
            policy,
            guarantee: Guarantee::AtLeastOnce,
            idempotency_key: None,
            requested_retry: PolicyPatch::default(),
            scheduled_run: None,
            webhook: None,
            timeout: None,
            lease: limits::LEASE_DEFAULT,
            tags: Tags::new(),
        }
    }

    pub fn with_timeout(mut self, timeout: Duration) -> Result<Self, Invalid> {
        let most = limits::TIMEOUT_MAX;
        check("timeout", timeout, Duration::from_millis(1), most)?;
        self.timeout = Some(timeout);
        Ok(self)
    }

    pub fn with_lease(mut self, lease: Duration) -> Result<Self, Invalid> {
        check("lease", lease, limits::LEASE_MIN, limits::LEASE_MAX)?;
        self.lease = lease;
        Ok(self)
    }

    pub fn with_tags(mut self, tags: Tags) -> Result<Self, Invalid> {
        if tags.len() > limits::TAGS_MAX {
            let expected = format!("must hold at most {} tags", limits::TAGS_MAX);
            return Err(Invalid::new(
                "tags",
                format!("a map of {}", tags.len()),
                expected,
            ));
        }
        let most = limits::TAG_BYTES_MAX;
        if let Some((key, value)) = tags
            .iter()
            .find(|(key, value)| key.is_empty() || key.len() > most || value.len() > most)
        {
            let expected = format!("must have keys of 1 to {most} bytes and values up to {most}");
            return Err(Invalid::new(
                "tags",
                format!("{key:?}: {value:?}"),
                expected,
            ));
        }
        self.tags = tags;
        Ok(self)
    }

    pub fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    pub fn lease(&self) -> Duration {
        self.lease
    }

    pub fn tags(&self) -> &Tags {
        &self.tags
    }

    /// When this job becomes due, if it is stored at `now`.
    pub fn due(&self, now: Timestamp) -> Timestamp {
        match self.run_at {
            RunAt::Now => now,
            RunAt::After(delay) => now.plus(delay),
            RunAt::At(time) => time,
        }
    }

    /// The job as it is on the day it is stored.
    pub fn stored(self, now: Timestamp) -> Job {
        let run_at = self.due(now);
        Job {
            id: self.id,
            tenant: self.tenant,
            queue: self.queue,
            kind: self.kind,
            payload: self.payload,
            priority: self.priority,
            policy: self.policy,
            guarantee: self.guarantee,
            timeout: self.timeout,
            lease: self.lease,
            idempotency_key: self.idempotency_key,
            scheduled_run: self.scheduled_run,
            webhook: self.webhook,
            tags: self.tags,
            created_at: now,
            progress: JobProgress::waiting(run_at),
        }
    }

    /// What makes two requests with one idempotency key the same request: everything that was
    /// asked, but not what came out of it: neither the id nor the time that "in five minutes"
    /// is, nor defaults that a new version may change, nor the order of a map's keys.
    pub fn fingerprint(&self) -> [u8; 16] {
        let mut hash = Sha256::new();
        let mut field = |text: &str| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        };
        field(self.queue.as_str());
        field(self.kind.as_str());
        field(&canonical(&self.payload));
        field(self.guarantee.as_str());
        field(&self.priority.get().to_string());
        field(&match self.run_at {
            RunAt::Now => "now".to_owned(),
            RunAt::After(delay) => format!("after {}", duration::format(delay)),
            RunAt::At(time) => format!("at {time}"),
        });
        field(&serde_json::to_string(&self.requested_retry).unwrap_or_default());
        field(&self.timeout.map(duration::format).unwrap_or_default());
        field(&duration::format(self.lease));
        if let Some(webhook) = &self.webhook {
            field(&serde_json::to_string(webhook).unwrap_or_default());
        }
        for (key, value) in &self.tags {
            field(key);
            field(value);
        }
        let digest = hash.finalize();
        let mut first = [0; 16];
        first.copy_from_slice(&digest[..16]);
        first
    }
}

/// The same JSON with its keys in order. `serde_json` keeps them so only as long as no crate of
/// the whole program asks it to keep them as they were written.
fn canonical(payload: &Payload) -> String {
    match payload.decode::<serde_json::Value>() {
        Ok(mut value) => {
            sort(&mut value);
            value.to_string()
        }
        Err(_) => payload.as_str().to_owned(),
    }
}

fn sort(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(map) => {
            let sorted: BTreeMap<String, serde_json::Value> = std::mem::take(map)
                .into_iter()
                .map(|(key, mut value)| {
                    sort(&mut value);
                    (key, value)
                })
                .collect();
            *map = sorted.into_iter().collect();
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(sort),
        _ => {}
    }
}

fn check(field: &str, value: Duration, least: Duration, most: Duration) -> Result<(), Invalid> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let expected = format!(
        "must be between {} and {}",
        duration::format(least),
        duration::format(most)
    );
    Err(Invalid::new(field, duration::format(value), expected))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Preset;

    fn job(payload: &str, policy: Preset) -> NewJob {
        let kind = Kind::new("mail").unwrap();
        let payload = Payload::from_json(payload).unwrap();
        NewJob::new(
            JobId::from_bits(1),
            kind,
            payload,
            Arc::new(policy.policy()),
        )
    }

    #[test]
    fn a_request_is_the_same_whatever_came_of_it() {
        let first = job(r#"{"a": 1, "b": 2}"#, Preset::Http);
        let mut again = job(r#"{"b":2,"a":1}"#, Preset::Patient);
        again.id = JobId::from_bits(2);
        assert_eq!(first.fingerprint(), again.fingerprint());
    }

    #[test]
    fn whatever_is_asked_differently_makes_another_request() {
        let asked = |change: fn(&mut NewJob)| {
            let mut job = job("1", Preset::Http);
            change(&mut job);
            job.fingerprint()
        };
        let all = [
            asked(|_| {}),
            asked(|job| job.payload = Payload::from_json("2").unwrap()),
            asked(|job| job.priority = Priority::new(9).unwrap()),
            asked(|job| job.run_at = RunAt::After(Duration::from_secs(5))),
            asked(|job| job.run_at = RunAt::At(Timestamp::EPOCH)),
            asked(|job| job.guarantee = Guarantee::AtMostOnce),
            asked(|job| job.requested_retry = Preset::Patient.into()),
            asked(|job| job.queue = Queue::new("other").unwrap()),
            asked(|job| *job = job.clone().with_timeout(Duration::from_secs(1)).unwrap()),
            asked(|job| {
                *job = job
                    .clone()
                    .with_tags([("a".into(), "b".into())].into())
                    .unwrap();
            }),
        ];
        let different: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(different.len(), all.len());
    }
}
