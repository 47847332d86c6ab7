//! Copies a stored job: fields that the request leaves out are taken from it.
//!
//! The server does this because headers and secrets are never shown, so no caller could repeat them.
//! It sends them to the system they were meant for, and to no other.

use std::collections::BTreeMap;

use steadfast_api::{CreateJobRequest, HttpTargetRequest, WebhookRequest};
use steadfast_core::{Destination, Guarantee, Job, Kind, Webhook, WebhookSecret, WebhookTarget};

use crate::{api::work::create::shorthands, http::Problem};

/// The request with what the job has. Its keys, its time, its batch and what it waited for stay
/// behind: they are what makes it that one.
pub fn fill(job: &Job, mut body: CreateJobRequest) -> Result<CreateJobRequest, Problem> {
    if job.kind == Kind::webhook() {
        let detail = format!("{} is a delivery; resend it instead of copying it", job.id);
        return Err(Problem::invalid("like", detail));
    }
    for (field, is_given) in [("kind", body.kind.is_some()), ("api", body.api.is_some())] {
        if is_given {
            let detail = format!("{field} must be omitted if like is given");
            return Err(Problem::invalid(field, detail));
        }
    }
    body = fill_hidden(job, body)?;
    if job.kind == Kind::http() {
        body.http = Some(http(job, body.http)?);
    } else {
        body.kind = Some(job.kind.to_string());
        body.payload = body.payload.or_else(|| Some(job.payload.clone()));
        let destination = job.destination.as_ref().map(ToString::to_string);
        body.destination = body.destination.or(destination);
    }
    fill_policy(job, &mut body)?;
    let key = job.concurrency_key.as_ref().map(ToString::to_string);
    Ok(CreateJobRequest {
        queue: body.queue.or_else(|| Some(job.queue.to_string())),
        priority: body.priority.or(Some(job.priority.get())),
        timeout: body.timeout.or(job.timeout.map(Into::into)),
        concurrency_key: body.concurrency_key.or(key),
        tags: body.tags.or_else(|| Some(job.tags.clone())),
        ..body
    })
}

/// The request with what no form shows: lease, webhook, confirm and cost. What is secret stays with its tenant.
pub fn fill_hidden(job: &Job, mut body: CreateJobRequest) -> Result<CreateJobRequest, Problem> {
    let tenant = body.tenant.get_or_insert_with(|| job.tenant.to_string());
    if tenant.as_str() != job.tenant.as_str() {
        let detail = format!(
            "tenant must be {}, the tenant of the job in like",
            job.tenant
        );
        return Err(Problem::invalid("tenant", detail));
    }
    Ok(CreateJobRequest {
        lease: body.lease.or(Some(job.lease.into())),
        webhook: body.webhook.or_else(|| webhook(job.webhook.as_deref()?)),
        confirm: body.confirm.or_else(|| job.confirm().cloned()),
        cost: body.cost.or_else(|| Some(job.cost().amounts())),
        ..body
    })
}

/// The request of an HTTP job with what is given over it. Headers go to no other system.
fn http(job: &Job, given: Option<HttpTargetRequest>) -> Result<HttpTargetRequest, Problem> {
    let stored: HttpTargetRequest = job.payload.decode().map_err(|error| {
        Problem::invalid("like", format!("{} is not a request: {error}", job.id))
    })?;
    let Some(given) = given else {
        return Ok(stored);
    };
    let mut headers = BTreeMap::new();
    if Destination::of_url(&given.url) == Destination::of_url(&stored.url) {
        headers = stored.headers;
        // Names of headers have no case.
        headers.retain(|name, _| !given.headers.keys().any(|it| it.eq_ignore_ascii_case(name)));
    }
    headers.extend(given.headers);
    Ok(HttpTargetRequest {
        url: given.url,
        method: given.method.or(stored.method),
        headers,
        body: given.body.or(stored.body),
        usage: match given.usage.is_empty() {
            true => stored.usage,
            false => given.usage,
        },
    })
}

/// The policy of the job, with what the request says over it.
fn fill_policy(job: &Job, body: &mut CreateJobRequest) -> Result<(), Problem> {
    let guarantee = *body.guarantee.get_or_insert(job.guarantee);
    if guarantee == Guarantee::AtMostOnce || job.guarantee == Guarantee::AtMostOnce {
        return Ok(());
    }
    let given = body.retry.take().unwrap_or_default();
    let given = given.with_shorthands(&shorthands(body))?;
    body.retry = Some(given.over(&job.policy)?.into());
    body.max_retries = None;
    body.max_retry_count = None;
    body.max_attempts = None;
    body.retry_delay = None;
    body.use_exponential_backoff = None;
    Ok(())
}

/// A webhook of the job's own; those of endpoints come by themselves.
fn webhook(webhook: &Webhook) -> Option<WebhookRequest> {
    let WebhookTarget::Url { url, secret } = &webhook.target else {
        return None;
    };
    Some(WebhookRequest {
        url: url.clone(),
        secret: secret
            .as_ref()
            .map(WebhookSecret::reveal)
            .map(str::to_owned),
        events: Some(webhook.events.clone()),
        retry: webhook.retry.clone(),
    })
}
