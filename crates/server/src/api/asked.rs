//! What a create asks for: wire words become a request of the engine.

use sha2::{Digest, Sha256};
use steadfast_core::{
    EventType, Guarantee, Invalid, Kind, Payload, Preset, Shorthands, Tenant, Timestamp, Webhook,
    WebhookSecret, WebhookTarget,
};
use steadfast_engine::{
    JobRequest, ScheduleRequest,
    http::{HttpRequest, SigningKey},
};

use super::wire::{CreateJob, CreateSchedule, HttpBody, WebhookBody};
use crate::{App, access::Caller, problem::Problem};

/// One job, or a schedule that makes many.
pub enum Asked {
    Job(JobRequest),
    Schedule(ScheduleRequest),
}

/// Who asks, and of which node.
pub struct Asking<'a> {
    pub app: &'a App,
    pub caller: &'a Caller,
}

impl Asking<'_> {
    /// A job, or a schedule if it is a recurring one.
    pub fn asked(&self, mut body: CreateJob) -> Result<Asked, Problem> {
        let Some(cron) = body.schedule.take() else {
            for (field, given) in [
                ("isRecurring", body.is_recurring.is_some()),
                ("timezone", body.timezone.is_some()),
            ] {
                if given {
                    let detail = format!("{field} only makes sense beside schedule");
                    return Err(Problem::invalid(field, detail));
                }
            }
            return Ok(Asked::Job(self.job(body)?));
        };
        let zone = body.timezone.take();
        let name = schedule_name(&mut body);
        match body.is_recurring.take() {
            Some(false) => {
                let request = self.job(body)?;
                let rule = JobRequest::new(Kind::http().as_str(), Payload::default());
                let next = next_match(&cron, zone.as_deref(), rule, self.app.client.now())?;
                Ok(Asked::Job(request.run_at(next)))
            }
            Some(true) | None => {
                let mut request = ScheduleRequest::cron(&name, &cron, self.job(body)?);
                if let Some(zone) = zone {
                    request = request.timezone(&zone);
                }
                Ok(Asked::Schedule(request))
            }
        }
    }

    pub fn schedule(&self, body: CreateSchedule) -> Result<ScheduleRequest, Problem> {
        let job = self.template(body.job)?;
        let mut request = match (body.schedule, body.every) {
            (Some(cron), None) => ScheduleRequest::cron(&body.name, &cron, job),
            (None, Some(every)) => ScheduleRequest::every(&body.name, every.get(), job),
            (Some(_), Some(_)) => {
                let detail = "schedule must be absent beside every";
                return Err(Problem::invalid("schedule", detail));
            }
            (None, None) => {
                let detail = "a schedule needs a rule: schedule (cron), or every";
                return Err(Problem::invalid("schedule", detail));
            }
        };
        if let Some(zone) = body.timezone {
            request = request.timezone(&zone);
        }
        if let Some(start_at) = body.start_at {
            request = request.start_at(start_at);
        }
        if let Some(end_at) = body.end_at {
            request = request.end_at(end_at);
        }
        if let Some(max_runs) = body.max_runs {
            request = request.max_runs(max_runs);
        }
        Ok(request
            .overlap(body.overlap.unwrap_or_default())
            .missed(body.missed.unwrap_or_default()))
    }

    /// What each run of a schedule looks like.
    pub fn template(&self, body: CreateJob) -> Result<JobRequest, Problem> {
        let extra = [
            ("schedule", body.schedule.is_some()),
            ("isRecurring", body.is_recurring.is_some()),
            ("timezone", body.timezone.is_some()),
        ];
        if let Some((field, _)) = extra.into_iter().find(|(_, given)| *given) {
            let detail = format!("{field} belongs to the schedule, not to its job");
            return Err(Problem::invalid(&format!("job.{field}"), detail));
        }
        self.job(body).map_err(|mut problem| {
            problem.field = problem.field.map(|field| format!("job.{field}"));
            problem
        })
    }

    pub fn job(&self, body: CreateJob) -> Result<JobRequest, Problem> {
        let asked = body.tenant.as_deref().map(Tenant::new).transpose()?;
        let tenant = self.caller.choose(asked)?;
        let short = Shorthands {
            max_retries: body.max_retries,
            max_retry_count: body.max_retry_count,
            max_attempts: body.max_attempts,
            retry_delay: body.retry_delay.map(|delay| delay.get()),
            use_exponential_backoff: body.use_exponential_backoff,
        };
        let retry = body.retry.clone().unwrap_or_default();
        let retry = retry.with_shorthands(&short)?;
        let mut request = self.target(&body)?.retry(retry);
        if let Some(tenant) = tenant {
            request = request.tenant(tenant.as_str());
        }
        if let Some(queue) = body.queue {
            request = request.queue(queue);
        }
        if let Some(priority) = body.priority {
            request = request.priority(priority);
        }
        request = match (body.run_at, body.delay) {
            (Some(_), Some(_)) => {
                let detail = "delay must be absent beside runAt";
                return Err(Problem::invalid("delay", detail));
            }
            (Some(time), None) => request.run_at(time),
            (None, Some(delay)) => request.delay(delay.get()),
            (None, None) => request,
        };
        if body.guarantee == Some(Guarantee::AtMostOnce) {
            request = request.at_most_once();
        }
        if let Some(timeout) = body.timeout {
            request = request.timeout(timeout.get());
        }
        if let Some(lease) = body.lease {
            request = request.lease(lease.get());
        }
        if let Some(key) = body.idempotency_key {
            request = request.idempotency_key(key);
        }
        if let Some(webhook) = body.webhook {
            request = request.webhook(own_webhook(webhook)?);
        }
        let name = body.job_name.map(|name| ("jobName".to_owned(), name));
        for (key, value) in body.tags.into_iter().flatten().chain(name) {
            request = request.tag(key, value);
        }
        Ok(request)
    }

    /// What the job is for: said once, in one of three ways.
    fn target(&self, body: &CreateJob) -> Result<JobRequest, Problem> {
        let request = match (&body.http, &body.api) {
            (Some(_), Some(_)) => {
                return Err(Problem::invalid("api", "api must be absent beside http"));
            }
            (Some(http), None) => Some(called(http).map_err(|error| error.within("http"))?),
            (None, Some(url)) => {
                let request = HttpRequest::new(url).map_err(|error| Invalid {
                    field: "api".to_owned(),
                    ..error
                })?;
                Some(request)
            }
            (None, None) => None,
        };
        let kind = body.kind.as_deref();
        if let Some(request) = request {
            if kind.is_some_and(|kind| kind != Kind::http().as_str()) {
                let detail = "kind must be http, or absent, beside http or api";
                return Err(Problem::invalid("kind", detail));
            }
            if body.payload.is_some() {
                let detail = "payload must be absent beside http or api; use http.body";
                return Err(Problem::invalid("payload", detail));
            }
            return Ok(self.http(&request)?);
        }
        let payload = body.payload.clone().unwrap_or_default();
        let named = body.job_name.as_deref().map(as_kind);
        match kind.or(named.as_deref()) {
            Some("webhook") => Err(Problem::invalid(
                "kind",
                "webhook is for deliveries, which Steadfast makes by itself; use http",
            )),
            Some("http") => {
                let request = payload.decode::<HttpRequest>().map_err(|error| {
                    Problem::invalid("payload", format!("payload of an http job: {error}"))
                })?;
                Ok(self.http(&request)?)
            }
            Some(kind) => Ok(JobRequest::new(kind, payload)),
            None => Err(Problem::invalid(
                "kind",
                "a job needs something to do: kind and payload, or http, or api",
            )),
        }
    }

    fn http(&self, request: &HttpRequest) -> Result<JobRequest, Invalid> {
        let payload = Payload::encode(request)?;
        let job = JobRequest::new(Kind::http().as_str(), payload);
        Ok(job.timeout(self.app.settings.http_timeout))
    }
}

/// The request that an HTTP job sends.
fn called(http: &HttpBody) -> Result<HttpRequest, Invalid> {
    let mut request = HttpRequest::new(&http.url)?;
    if let Some(method) = &http.method {
        request = request.with_method(method)?;
    }
    for (name, value) in &http.headers {
        request = request.with_header(name, value)?;
    }
    Ok(match &http.body {
        Some(body) => request.with_body(body.clone()),
        None => request,
    })
}

fn own_webhook(body: WebhookBody) -> Result<Webhook, Problem> {
    let within = |error: Invalid| error.within("webhook");
    HttpRequest::new(&body.url).map_err(within)?;
    let policy = body.retry.over(&Preset::Webhook.policy());
    policy.map_err(|error| within(error.within("retry")))?;
    let secret = body.secret.as_deref().map(checked_secret).transpose();
    let events = match &body.events {
        Some(names) => events(names).map_err(within)?,
        None => EventType::OF_JOBS.to_vec(),
    };
    Ok(Webhook {
        target: WebhookTarget::Url {
            url: body.url,
            secret: secret.map_err(within)?,
        },
        events,
        retry: body.retry,
    })
}

/// A key for signing that can be used.
pub fn checked_secret(text: &str) -> Result<WebhookSecret, Invalid> {
    text.parse::<SigningKey>()?;
    Ok(WebhookSecret::new(text))
}

pub fn events(names: &[String]) -> Result<Vec<EventType>, Invalid> {
    let mut events = names
        .iter()
        .map(|name| name.parse())
        .collect::<Result<Vec<EventType>, Invalid>>()?;
    events.sort_unstable();
    events.dedup();
    if events.is_empty() {
        return Err(Invalid::new("events", "[]", "must name at least one event"));
    }
    Ok(events)
}

fn next_match(
    cron: &str,
    zone: Option<&str>,
    job: JobRequest,
    now: Timestamp,
) -> Result<Timestamp, Invalid> {
    let mut rule = ScheduleRequest::cron("once", cron, job);
    if let Some(zone) = zone {
        rule = rule.timezone(zone);
    }
    let next = rule.preview(now, 1)?.first().map(|tick| tick.at);
    next.ok_or_else(|| {
        Invalid::new(
            "schedule",
            format!("{cron:?}"),
            "must match some time to come",
        )
    })
}

/// What a recurring job is called as a schedule. The same key, or the same name, means the same
/// schedule, so that creating it again does no harm.
fn schedule_name(body: &mut CreateJob) -> String {
    let key = body.idempotency_key.take();
    match (&body.job_name, key) {
        (Some(name), _) => as_kind(name),
        (None, Some(key)) => format!("key-{}", hex(key.as_bytes())),
        (None, None) => format!("schedule-{:016x}", rand::random::<u64>()),
    }
}

fn hex(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// A name that people chose, in the letters that names have: `Critical Task` is
/// `critical-task`.
fn as_kind(name: &str) -> String {
    let plain = |c: char| match c.is_ascii_alphanumeric() || "_-.:/@".contains(c) {
        true => c.to_ascii_lowercase(),
        false => '-',
    };
    name.trim().chars().map(plain).collect()
}
