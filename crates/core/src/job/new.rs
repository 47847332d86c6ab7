//! A job that does not exist yet.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use sha2::{Digest, Sha256};

use super::{Job, JobProgress, NewJobExtras, Priority, RunAt, ScheduledRun};
use crate::{
    job::{
        dependencies::{Dependencies, blocked_run_at},
        start_deadline::StartDeadline,
        unique::Unique,
        webhook::Webhook,
    },
    limits,
    policy::{PolicyPatch, RetryPolicy},
    state::Guarantee,
    values::{
        BatchId, ConcurrencyKey, Destination, IdempotencyKey, Invalid, JobId, Kind, Payload, Queue,
        Tags, Tenant, Timestamp, Traceparent, duration,
    },
};

/// A checked request for a job. The store turns it into a [`Job`].
///
/// ```
/// use std::{sync::Arc, time::Duration};
/// use steadfast_core::{JobId, Kind, NewJob, Payload, Preset, RunAt, Timestamp};
///
/// let now: Timestamp = "2026-01-01T12:00:00Z".parse().unwrap();
/// let kind = Kind::new("mail").unwrap();
/// let payload = Payload::encode(&["a@example.com"]).unwrap();
/// let policy = Arc::new(Preset::Http.policy());
/// let mut job = NewJob::new(JobId::new(now, 7), kind, payload, policy);
/// job.run_at = RunAt::After(Duration::from_secs(60));
/// assert_eq!(job.due(now).to_string(), "2026-01-01T12:01:00Z");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct NewJob {
    /// Chosen by the creator, so that a request whose answer was lost can be repeated.
    pub id: JobId,
    /// The tenant; `default` unless set.
    pub tenant: Tenant,
    /// Where it waits; `default` unless set.
    pub queue: Queue,
    /// The kind, which selects the handler.
    pub kind: Kind,
    /// The handler's input, as JSON.
    pub payload: Payload,
    /// From 0 to 9, higher first; 5 unless set.
    pub priority: Priority,
    /// When it becomes due; now unless set.
    pub run_at: RunAt,
    /// The complete policy, with presets and defaults resolved.
    pub policy: Arc<RetryPolicy>,
    /// How often it may start; at least once unless set.
    pub guarantee: Guarantee,
    /// With a key, repeating the request gives the job that exists instead of a second one.
    pub idempotency_key: Option<IdempotencyKey>,
    /// The part of the policy that the request itself named, before presets and defaults completed
    /// it. Only the fingerprint uses it.
    pub requested_retry: PolicyPatch,
    /// The rule that the request gave in place of a time, as the text of a cron rule: `run_at` is
    /// its next match, which differs when the request is repeated. Only the fingerprint uses it.
    pub requested_rule: Option<String>,
    /// Set if a schedule creates it.
    pub scheduled_run: Option<ScheduledRun>,
    /// Where events of this job are sent; for a delivery, where it is delivered.
    pub webhook: Option<Arc<Webhook>>,
    /// The system that it calls; for HTTP jobs and deliveries, the origin of their address.
    pub destination: Option<Destination>,
    /// The concurrency key: jobs of a tenant with the same key are limited together.
    pub concurrency_key: Option<ConcurrencyKey>,
    timeout: Option<Duration>,
    timeout_is_default: bool,
    lease: Duration,
    tags: Tags,
    traceparent: Option<Traceparent>,
    pub(super) extras: Option<Box<NewJobExtras>>,
    is_blocked: bool,
}

impl NewJob {
    /// A job with defaults for everything that is not given: tenant, queue, priority and lease; due
    /// now, at least once, without timeout, key, tags or webhook.
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
            requested_rule: None,
            scheduled_run: None,
            webhook: None,
            destination: None,
            concurrency_key: None,
            timeout: None,
            timeout_is_default: false,
            lease: limits::LEASE_DEFAULT,
            tags: Tags::new(),
            traceparent: None,
            extras: None,
            is_blocked: false,
        }
    }

    /// How long one attempt may take, from [`limits::TIMEOUT_MIN`] to [`limits::TIMEOUT_MAX`].
    pub fn with_timeout(mut self, timeout: Duration) -> Result<Self, Invalid> {
        let (least, most) = (limits::TIMEOUT_MIN, limits::TIMEOUT_MAX);
        check("timeout", timeout, least, most)?;
        self.timeout = Some(timeout);
        self.timeout_is_default = false;
        Ok(self)
    }

    /// As [`NewJob::with_timeout`], for a timeout that the request does not name: the fingerprint
    /// leaves it out.
    pub fn with_default_timeout(self, timeout: Duration) -> Result<Self, Invalid> {
        let mut job = self.with_timeout(timeout)?;
        job.timeout_is_default = true;
        Ok(job)
    }

    /// Forgets which values were defaults of the request: a schedule keeps them as its own.
    pub fn settle_defaults(&mut self) {
        self.timeout_is_default = false;
    }

    /// How long a claim holds without being renewed, from [`limits::LEASE_MIN`] to
    /// [`limits::LEASE_MAX`].
    pub fn with_lease(mut self, lease: Duration) -> Result<Self, Invalid> {
        check("lease", lease, limits::LEASE_MIN, limits::LEASE_MAX)?;
        self.lease = lease;
        Ok(self)
    }

    /// Replaces all tags; at most [`limits::TAGS_MAX`], with keys and values of
    /// [`limits::TAG_BYTES_MAX`] bytes.
    pub fn with_tags(mut self, tags: Tags) -> Result<Self, Invalid> {
        if tags.len() > limits::TAGS_MAX {
            let expected = format!("must contain at most {} tags", limits::TAGS_MAX);
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

    /// Sets the job's place in a distributed trace.
    #[must_use]
    pub fn with_traceparent(mut self, traceparent: &Traceparent) -> Self {
        self.traceparent = Some(traceparent.clone());
        self
    }

    /// As [`NewJob::with_traceparent`], for a job that others own.
    pub fn set_traceparent(&mut self, traceparent: Traceparent) {
        self.traceparent = Some(traceparent);
    }

    /// Leaves the trace of its creator: each run of a schedule begins one of its own.
    pub fn clear_traceparent(&mut self) {
        self.traceparent = None;
    }

    /// Its place in a distributed trace.
    pub fn traceparent(&self) -> Option<&Traceparent> {
        self.traceparent.as_ref()
    }

    /// Whether it has a place in a distributed trace.
    pub fn has_traceparent(&self) -> bool {
        self.traceparent.is_some()
    }

    /// How long one attempt may take; `None` unless set.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// How long a claim holds without being renewed.
    pub fn lease(&self) -> Duration {
        self.lease
    }

    /// The creator's own labels.
    pub fn tags(&self) -> &Tags {
        &self.tags
    }

    /// When the job becomes due if it is stored at `now`.
    pub fn due(&self, now: Timestamp) -> Timestamp {
        self.stored_run_at().due(now)
    }

    /// Lets it wait for other jobs once it is stored.
    pub fn block(&mut self) {
        self.is_blocked = true;
    }

    /// When it becomes due, as a store writes it.
    pub fn stored_run_at(&self) -> RunAt {
        let blocked = blocked_run_at(Timestamp::EPOCH).since(Timestamp::EPOCH);
        match self.run_at {
            run_at if !self.is_blocked => run_at,
            RunAt::Now => RunAt::After(blocked),
            RunAt::After(delay) => RunAt::After(delay.saturating_add(blocked)),
            RunAt::At(time) => RunAt::At(blocked_run_at(time)),
        }
    }

    /// Its extras; `None` if it has none.
    pub fn extras(&self) -> Option<&NewJobExtras> {
        self.extras.as_deref()
    }

    /// Replaces its extras.
    #[must_use]
    pub fn with_extras(mut self, extras: NewJobExtras) -> Self {
        let is_empty = extras == NewJobExtras::default();
        self.extras = (!is_empty).then(|| Box::new(extras));
        self
    }

    /// The unique key and its rules.
    pub fn unique(&self) -> Option<&Unique> {
        self.extras()?.unique.as_ref()
    }

    /// The jobs that it waits for.
    pub fn after(&self) -> Option<&Dependencies> {
        self.extras()?.after.as_ref()
    }

    /// The batch that it is added to.
    pub fn batch(&self) -> Option<BatchId> {
        self.extras()?.batch
    }

    /// Until when it may start its first attempt, if it is stored at `now`.
    pub fn start_deadline(&self, now: Timestamp) -> Option<StartDeadline> {
        self.extras()?.start_deadline(now)
    }

    /// The job that exists once this is stored at `now`: waiting, without any attempt.
    pub fn into_job(self, now: Timestamp) -> Job {
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
            destination: self.destination,
            concurrency_key: self.concurrency_key,
            tags: self.tags,
            traceparent: self.traceparent,
            extras: self.extras.map(|extras| Box::new(extras.stored(now))),
            created_at: now,
            progress: JobProgress::waiting(run_at),
        }
    }

    /// A hash that tells whether two requests with one idempotency key are the same request.
    ///
    /// It covers all that the request contains, but nothing that follows from it: neither the id,
    /// nor the time that "in five minutes" or a cron rule stands for, nor defaults that a new version may change,
    /// nor the order of a map's keys.
    pub fn fingerprint(&self) -> [u8; 16] {
        let mut hash = Sha256::new();
        let mut field = |text: &str| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        };
        field(self.queue.as_str());
        field(self.kind.as_str());
        field(&canonical_json(&self.payload));
        field(self.guarantee.as_str());
        field(&self.priority.get().to_string());
        field(&match (&self.requested_rule, self.run_at) {
            (Some(rule), _) => format!("match {rule}"),
            (None, RunAt::Now) => "now".to_owned(),
            (None, RunAt::After(delay)) => format!("after {}", duration::format(delay)),
            (None, RunAt::At(time)) => format!("at {time}"),
        });
        field(&serde_json::to_string(&self.requested_retry).unwrap_or_default());
        let timeout = self.timeout.filter(|_| !self.timeout_is_default);
        field(&timeout.map(duration::format).unwrap_or_default());
        field(&duration::format(self.lease));
        if let Some(webhook) = &self.webhook {
            field(&serde_json::to_string(webhook).unwrap_or_default());
        }
        // A request that is repeated is another span of its trace, which is left out.
        for (key, value) in &self.tags {
            field(key);
            field(value);
        }
        if let Some(key) = &self.concurrency_key {
            field("concurrency key");
            field(key.as_str());
        }
        // That of an address follows from it.
        let calls_address = [Kind::http(), Kind::webhook()].contains(&self.kind);
        if let Some(destination) = self.destination.as_ref().filter(|_| !calls_address) {
            field("destination");
            field(destination.as_str());
        }
        for text in self.extras.iter().flat_map(|extras| extras.texts()) {
            field(&text);
        }
        let digest = hash.finalize();
        let mut first = [0; 16];
        first.copy_from_slice(&digest[..16]);
        first
    }
}

/// The same JSON with its keys in order. A `serde_json` map keeps them in order only as long as no
/// crate of the whole program enables its feature `preserve_order`.
fn canonical_json(payload: &Payload) -> String {
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
    use crate::policy::Preset;

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
    fn two_requests_are_the_same_whatever_ids_and_defaults_they_got() {
        let first = job(r#"{"a": 1, "b": 2}"#, Preset::Http);
        let mut again = job(r#"{"b":2,"a":1}"#, Preset::Patient);
        again.id = JobId::from_bits(2);
        assert_eq!(first.fingerprint(), again.fingerprint());
        // A default is a setting, which may change before the request is repeated.
        let by_default = |secs| {
            let timeout = Duration::from_secs(secs);
            again.clone().with_default_timeout(timeout).unwrap()
        };
        assert_eq!(by_default(30).timeout(), Some(Duration::from_secs(30)));
        assert_eq!(by_default(30).fingerprint(), by_default(60).fingerprint());
        let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let traced = first
            .clone()
            .with_traceparent(&Traceparent::new(trace).unwrap());
        assert_eq!(first.fingerprint(), traced.fingerprint());
        let job = traced.into_job(Timestamp::EPOCH);
        assert_eq!(job.traceparent.unwrap().as_str(), trace);
        assert!(job.tags.is_empty());
    }

    #[test]
    fn every_difference_between_two_requests_makes_them_different() {
        let fingerprint = |change: fn(&mut NewJob)| {
            let mut job = job("1", Preset::Http);
            change(&mut job);
            job.fingerprint()
        };
        let all = [
            fingerprint(|_| {}),
            fingerprint(|job| job.payload = Payload::from_json("2").unwrap()),
            fingerprint(|job| job.priority = Priority::new(9).unwrap()),
            fingerprint(|job| job.run_at = RunAt::After(Duration::from_secs(5))),
            fingerprint(|job| job.run_at = RunAt::At(Timestamp::EPOCH)),
            fingerprint(|job| job.requested_rule = Some("0 3 * * *".to_owned())),
            fingerprint(|job| job.guarantee = Guarantee::AtMostOnce),
            fingerprint(|job| job.requested_retry = Preset::Patient.into()),
            fingerprint(|job| job.queue = Queue::new("other").unwrap()),
            fingerprint(|job| *job = job.clone().with_timeout(Duration::from_secs(1)).unwrap()),
            fingerprint(|job| {
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
