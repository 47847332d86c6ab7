//! A schedule's template as JSON, for the drivers that keep it in a column.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use steadfast_core::{
    ConcurrencyKey, ConfirmSettings, Cost, Destination, ExpiryAction, Guarantee, IdempotencyKey,
    Invalid, JobId, Kind, NewJob, NewJobExtras, Payload, PolicyPatch, Priority, Queue, RetryPolicy,
    RunAt, ScheduleId, ScheduledRun, StartBefore, Tags, Tenant, Timestamp, Traceparent, Webhook,
};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Template {
    id: JobId,
    tenant: Tenant,
    queue: Queue,
    kind: Kind,
    payload: Payload,
    priority: Priority,
    run_at: RunAtJson,
    policy: Arc<RetryPolicy>,
    #[serde(default, skip_serializing_if = "is_default")]
    requested_retry: PolicyPatch,
    guarantee: Guarantee,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) idempotency_key: Option<IdempotencyKey>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scheduled_run: Option<(ScheduleId, Timestamp)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout: Option<Duration>,
    lease: Duration,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    webhook: Option<Arc<Webhook>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    destination: Option<Destination>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    concurrency_key: Option<ConcurrencyKey>,
    #[serde(default, skip_serializing_if = "Tags::is_empty")]
    tags: Tags,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start_before: Option<(StartBefore, ExpiryAction)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    confirm: Option<ConfirmSettings>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cost: Option<Cost>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    traceparent: Option<String>,
}

fn is_default(patch: &PolicyPatch) -> bool {
    *patch == PolicyPatch::default()
}

/// [`RunAt`] as JSON.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum RunAtJson {
    Now,
    After(Duration),
    At(Timestamp),
}

impl From<&NewJob> for Template {
    fn from(job: &NewJob) -> Self {
        Self {
            id: job.id,
            tenant: job.tenant.clone(),
            queue: job.queue.clone(),
            kind: job.kind.clone(),
            payload: job.payload.clone(),
            priority: job.priority,
            run_at: match job.run_at {
                RunAt::Now => RunAtJson::Now,
                RunAt::After(delay) => RunAtJson::After(delay),
                RunAt::At(time) => RunAtJson::At(time),
            },
            policy: Arc::clone(&job.policy),
            requested_retry: job.requested_retry.clone(),
            guarantee: job.guarantee,
            idempotency_key: job.idempotency_key.clone(),
            scheduled_run: job.scheduled_run.map(|run| (run.schedule, run.tick)),
            timeout: job.timeout(),
            lease: job.lease(),
            webhook: job.webhook.clone(),
            destination: job.destination.clone(),
            concurrency_key: job.concurrency_key.clone(),
            tags: job.tags().clone(),
            start_before: job.extras().and_then(|extras| extras.start_before),
            confirm: job.extras().and_then(|extras| extras.confirm.clone()),
            cost: job.extras().and_then(|extras| extras.cost.clone()),
            traceparent: job.traceparent().map(ToString::to_string),
        }
    }
}

impl TryFrom<Template> for NewJob {
    type Error = Invalid;

    fn try_from(template: Template) -> Result<Self, Invalid> {
        let Template {
            id,
            kind,
            payload,
            policy,
            ..
        } = template;
        let mut job = Self::new(id, kind, payload, policy)
            .with_lease(template.lease)?
            .with_tags(template.tags)?
            .with_extras(NewJobExtras {
                start_before: template.start_before,
                confirm: template.confirm,
                cost: template.cost,
                ..NewJobExtras::default()
            });
        if let Some(timeout) = template.timeout {
            job = job.with_timeout(timeout)?;
        }
        if let Some(trace) = &template.traceparent {
            job = job.with_traceparent(&Traceparent::new(trace)?);
        }
        job.tenant = template.tenant;
        job.queue = template.queue;
        job.priority = template.priority;
        job.run_at = match template.run_at {
            RunAtJson::Now => RunAt::Now,
            RunAtJson::After(delay) => RunAt::After(delay),
            RunAtJson::At(time) => RunAt::At(time),
        };
        job.requested_retry = template.requested_retry;
        job.guarantee = template.guarantee;
        job.webhook = template.webhook;
        job.destination = template.destination;
        job.concurrency_key = template.concurrency_key;
        job.idempotency_key = template.idempotency_key;
        job.scheduled_run = template
            .scheduled_run
            .map(|(schedule, tick)| ScheduledRun { schedule, tick });
        Ok(job)
    }
}

#[cfg(test)]
mod tests {
    use steadfast_core::Preset;

    use super::*;

    #[test]
    fn a_template_reads_back_as_it_was() {
        let mut job = NewJob::new(
            JobId::from_bits(7),
            Kind::new("report").unwrap(),
            Payload::from_json(r#"{"n":  1.0}"#).unwrap(),
            Arc::new(Preset::Http.policy()),
        )
        .with_lease(Duration::from_millis(1_500))
        .and_then(|job| job.with_timeout(Duration::from_secs(9)))
        .and_then(|job| job.with_tags(Tags::from([("a".to_owned(), "b".to_owned())])))
        .unwrap();
        let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        job = job.with_traceparent(&Traceparent::new(trace).unwrap());
        job.run_at = RunAt::After(Duration::from_secs(3));
        job.requested_retry = Preset::Patient.into();
        job.guarantee = Guarantee::AtMostOnce;
        job = job.with_extras(NewJobExtras {
            confirm: serde_json::from_str(r#"{"url": "https://example.com/{jobId}"}"#).unwrap(),
            cost: Cost::new([("tokens", 1_800.0)]).ok(),
            ..NewJobExtras::default()
        });
        job.idempotency_key = Some(IdempotencyKey::new("once a day").unwrap());
        job.webhook = Some(Arc::new(Webhook {
            target: steadfast_core::WebhookTarget::Url {
                url: "https://example.com".to_owned(),
                secret: Some(steadfast_core::WebhookSecret::new("whsec_c2VjcmV0")),
            },
            events: steadfast_core::EventType::OF_JOBS.to_vec(),
            retry: Preset::Patient.into(),
        }));
        let json = serde_json::to_string(&Template::from(&job)).unwrap();
        let template: Template = serde_json::from_str(&json).unwrap();
        assert_eq!(NewJob::try_from(template).unwrap(), job);
    }
}
