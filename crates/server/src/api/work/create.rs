//! Requests for jobs and schedules, as the engine takes them.

use serde::Deserialize;
use sha2::{Digest, Sha256};
use steadfast_api::{
    CreateJobRequest, CreateScheduleRequest, HttpTargetRequest, JobReference, WebhookRequest,
};
use steadfast_core::{
    Cron, EventType, Guarantee, Invalid, Kind, NewJob, Payload, Schedule, Shorthands, TickRule,
    Timestamp, Timetable, Webhook, WebhookSecret, WebhookTarget, Zone, duration,
};
use steadfast_engine::{
    JobRequest, ScheduleRequest,
    http::{HttpRequest, SigningKey},
};

use crate::{api::query, app::App, extract::Caller, http::Problem};

/// One job, or a schedule that makes many.
#[expect(
    clippy::large_enum_variant,
    reason = "most requests are for a job, which is not moved to the heap for the others"
)]
pub enum JobOrSchedule {
    Job(JobRequest),
    Schedule {
        request: Box<ScheduleRequest>,
        idempotency_key: Option<String>,
    },
}

/// Turns bodies into requests of the engine, for one caller.
pub struct RequestReader<'a> {
    pub app: &'a App,
    pub caller: &'a Caller,
}

impl RequestReader<'_> {
    /// A job, or a schedule if the body has a cron rule that recurs.
    pub fn job_or_schedule(&self, mut body: CreateJobRequest) -> Result<JobOrSchedule, Problem> {
        let Some(cron) = body.schedule.take() else {
            for (field, is_given) in [
                ("isRecurring", body.is_recurring.is_some()),
                ("timezone", body.timezone.is_some()),
            ] {
                if is_given {
                    let detail = format!("{field} requires schedule");
                    return Err(Problem::invalid(field, detail));
                }
            }
            return Ok(JobOrSchedule::Job(self.job(body)?));
        };
        let zone = body.timezone.take();
        for (field, is_given) in [
            ("runAt", body.run_at.is_some()),
            ("delay", body.delay.is_some()),
        ] {
            if is_given {
                let detail = format!("{field} must be omitted if schedule is given");
                return Err(Problem::invalid(field, detail));
            }
        }
        if body.is_recurring.take() == Some(false) {
            let rule = tick_rule(&cron, zone.as_deref())?;
            let text = rule_text(&rule);
            let next = next_match(rule, &cron, self.app.client.now())?;
            let job = self.job(body)?.run_at_match(next, text);
            return Ok(JobOrSchedule::Job(job));
        }
        let idempotency_key = body.idempotency_key.take();
        let name = schedule_name(body.job_name.as_deref(), idempotency_key.as_deref());
        let mut request = ScheduleRequest::cron(&name, &cron, self.job(body)?);
        if let Some(zone) = zone {
            request = request.timezone(&zone);
        }
        Ok(JobOrSchedule::Schedule {
            request: Box::new(request),
            idempotency_key,
        })
    }

    pub fn schedule(&self, mut body: CreateScheduleRequest) -> Result<ScheduleRequest, Problem> {
        if let Some(tenant) = body.tenant {
            if body.job.tenant.as_ref().is_some_and(|own| *own != tenant) {
                let detail = "tenant must be the tenant of the job, or omitted in one of both";
                return Err(Problem::invalid("tenant", detail));
            }
            body.job.tenant = Some(tenant);
        }
        let job = self.template(body.job)?;
        let mut request = match (body.schedule, body.every) {
            (Some(cron), None) => ScheduleRequest::cron(&body.name, &cron, job),
            (None, Some(every)) => ScheduleRequest::every(&body.name, every.get(), job),
            (Some(_), Some(_)) => {
                let detail = "schedule must be omitted if every is given";
                return Err(Problem::invalid("schedule", detail));
            }
            (None, None) => {
                let detail = "a schedule requires a rule: schedule (cron) or every";
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

    /// The job that each tick of a schedule makes.
    pub fn template(&self, body: CreateJobRequest) -> Result<JobRequest, Problem> {
        let extra = [
            ("schedule", body.schedule.is_some()),
            ("isRecurring", body.is_recurring.is_some()),
            ("timezone", body.timezone.is_some()),
        ];
        if let Some((field, _)) = extra.into_iter().find(|(_, is_given)| *is_given) {
            let detail = format!("{field} must be set on the schedule, not on its job");
            return Err(Problem::invalid(&format!("job.{field}"), detail));
        }
        self.job(body).map_err(|problem| problem.within("job"))
    }

    fn job(&self, body: CreateJobRequest) -> Result<JobRequest, Problem> {
        if body.like.is_some() {
            let detail = "like is only supported when a single job is created with POST /jobs";
            return Err(Problem::invalid("like", detail));
        }
        let shorthands = shorthands(&body);
        let tenant = query::tenant(body.tenant.as_deref(), self.caller)?;
        let retry = body.retry.clone().unwrap_or_default();
        let retry = retry.with_shorthands(&shorthands)?;
        let mut request = with_extras(self.work(&body)?.retry(retry), &body);
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
                let detail = "delay must be omitted if runAt is given";
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
        if let Some(destination) = body.destination {
            request = request.destination(destination);
        }
        if let Some(key) = body.concurrency_key {
            request = request.concurrency_key(key);
        }
        if let Some(traceparent) = body.traceparent {
            request = request.traceparent(traceparent);
        }
        if let Some(webhook) = body.webhook {
            request = request.webhook(job_webhook(webhook)?);
        }
        let name = body.job_name.map(|name| ("jobName".to_owned(), name));
        for (key, value) in body.tags.into_iter().flatten().chain(name) {
            request = request.tag(key, value);
        }
        Ok(request)
    }

    /// The work itself: `kind` and `payload`, or `http`, or `api`, and only one of them.
    fn work(&self, body: &CreateJobRequest) -> Result<JobRequest, Problem> {
        let request = match (&body.http, &body.api) {
            (Some(_), Some(_)) => {
                return Err(Problem::invalid(
                    "api",
                    "api must be omitted if http is given",
                ));
            }
            (Some(http), None) => Some(http_request(http).map_err(|error| error.within("http"))?),
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
                let detail = "kind must be http or omitted if http or api is given";
                return Err(Problem::invalid("kind", detail));
            }
            if body.payload.is_some() {
                let detail = "payload must be omitted if http or api is given; use http.body";
                return Err(Problem::invalid("payload", detail));
            }
            return self.http_job(&request, body);
        }
        let payload = body.payload.clone().unwrap_or_default();
        let name = body.job_name.as_deref().map(as_name);
        match kind.or(name.as_deref()) {
            Some("webhook") => Err(Problem::invalid(
                "kind",
                "kind webhook is reserved for deliveries, which Steadfast creates; use http",
            )),
            Some("http") => {
                let request = payload.decode::<HttpRequest>().map_err(|error| {
                    Problem::invalid("payload", format!("payload of an http job: {error}"))
                })?;
                self.http_job(&request, body)
            }
            Some(kind) => Ok(JobRequest::new(kind, payload)),
            None => Err(Problem::invalid(
                "kind",
                "a job requires kind and payload, or http, or api",
            )),
        }
    }

    fn http_job(
        &self,
        request: &HttpRequest,
        body: &CreateJobRequest,
    ) -> Result<JobRequest, Problem> {
        if body.destination.is_some() {
            let detail = "destination must be omitted for an HTTP job: it is the origin of the URL";
            return Err(Problem::invalid("destination", detail));
        }
        let payload = Payload::encode(request)?;
        let job = JobRequest::new(Kind::http().as_str(), payload);
        Ok(job.default_timeout(self.app.settings.http_timeout))
    }
}

/// Fields of a policy that stand beside it.
pub fn shorthands(body: &CreateJobRequest) -> Shorthands {
    Shorthands {
        max_retries: body.max_retries,
        max_retry_count: body.max_retry_count,
        max_attempts: body.max_attempts,
        retry_delay: body.retry_delay.map(|delay| delay.get()),
        use_exponential_backoff: body.use_exponential_backoff,
    }
}

/// Fields that only some requests have.
fn with_extras(mut request: JobRequest, body: &CreateJobRequest) -> JobRequest {
    if let Some(unique) = &body.unique {
        request = request.unique(unique.clone());
    }
    if let Some(wait) = body.debounce {
        request = request.debounce(wait.get());
    }
    if let Some(wait) = body.debounce_max {
        request = request.debounce_max(wait.get());
    }
    if let Some(before) = body.start_before {
        request = request.start_before(before);
    }
    if let Some(action) = body.on_expiry {
        request = request.on_expiry(action);
    }
    if let Some(name) = &body.reference {
        request = request.reference(name);
    }
    if let Some(after) = &body.after {
        let ids = after.iter().filter_map(|it| match it {
            JobReference::Id(id) => Some(*id),
            JobReference::Name(_) => None,
        });
        let names = after.iter().filter_map(|it| match it {
            JobReference::Name(name) => Some(name),
            JobReference::Id(_) => None,
        });
        request = request.after(ids).after_references(names);
    }
    if let Some(action) = body.on_failure {
        request = request.on_failure(action);
    }
    if let Some(batch) = body.batch {
        request = request.batch(batch);
    }
    if let Some(confirm) = &body.confirm {
        request = request.confirm(confirm.clone());
    }
    if let Some(cost) = body.cost.clone() {
        request = request.cost(cost);
    }
    request
}

/// The request that an HTTP job sends.
fn http_request(http: &HttpTargetRequest) -> Result<HttpRequest, Invalid> {
    let mut request = HttpRequest::new(&http.url)?;
    if let Some(method) = &http.method {
        request = request.with_method(method)?;
    }
    for (name, value) in &http.headers {
        request = request.with_source(name, value)?;
    }
    for (unit, source) in &http.usage {
        request = request.with_usage(unit, source)?;
    }
    Ok(match &http.body {
        Some(body) => request.with_body(body.clone()),
        None => request,
    })
}

fn job_webhook(body: WebhookRequest) -> Result<Webhook, Problem> {
    let within = |error: Invalid| error.within("webhook");
    HttpRequest::new(&body.url).map_err(within)?;
    let secret = body.secret.as_deref().map(check_secret).transpose();
    let events = match &body.events {
        Some(events) => check_events(events).map_err(within)?,
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

/// A secret that can sign.
pub fn check_secret(text: &str) -> Result<WebhookSecret, Invalid> {
    text.parse::<SigningKey>()?;
    Ok(WebhookSecret::new(text))
}

/// Each event once, and at least one.
pub fn check_events(events: &[EventType]) -> Result<Vec<EventType>, Invalid> {
    let mut events = events.to_vec();
    events.sort_unstable();
    events.dedup();
    if events.is_empty() {
        return Err(Invalid::new(
            "events",
            "[]",
            "must contain at least one event",
        ));
    }
    Ok(events)
}

/// A cron rule in its time zone, UTC by default.
pub fn tick_rule(cron: &str, zone: Option<&str>) -> Result<TickRule, Invalid> {
    Ok(TickRule::Cron {
        cron: Cron::parse(cron)?,
        zone: zone.map_or(Ok(Zone::utc()), Zone::parse)?,
    })
}

/// A cron rule and its time zone, as `0 3 * * * Europe/Paris`.
fn rule_text(rule: &TickRule) -> String {
    match rule {
        TickRule::Cron { cron, zone } => format!("{cron} {zone}"),
        TickRule::Every(every) => duration::format(*every),
    }
}

/// The next time that a cron rule matches.
fn next_match(rule: TickRule, cron: &str, now: Timestamp) -> Result<Timestamp, Invalid> {
    let next = Timetable::new(rule)?.preview(now, 1);
    next.first().map(|tick| tick.at).ok_or_else(|| {
        let value = format!("{cron:?}");
        Invalid::new("schedule", value, "must match a future time")
    })
}

/// The name of a recurring job's schedule, from the name or the key that the request has.
fn schedule_name(job_name: Option<&str>, key: Option<&str>) -> String {
    match (job_name, key) {
        (Some(name), _) => as_name(name),
        (None, Some(key)) => format!("key-{}", short_hash(key)),
        (None, None) => format!("schedule-{:016x}", rand::random::<u64>()),
    }
}

/// Whether a recurring job may take the place of the one that a schedule makes: both have the same
/// name as people wrote it, and the same work. Names that differ may still give one schedule name.
pub fn may_replace(stored: &Schedule, job: &NewJob) -> bool {
    let template = &stored.template;
    let title = |job: &NewJob| job.tags().get("jobName").cloned();
    let stored_title = title(template).unwrap_or_else(|| stored.name.to_string());
    title(job).is_none_or(|title| title == stored_title)
        && template.kind == job.kind
        && target_url(template) == target_url(job)
}

/// The work of a schedule in a few words: `a request to https://example.com/`.
pub fn describe_work(job: &NewJob) -> String {
    match target_url(job) {
        Some(url) => format!("a request to {url}"),
        None => format!("kind {}", job.kind),
    }
}

fn target_url(job: &NewJob) -> Option<String> {
    #[derive(Deserialize)]
    struct Target {
        url: String,
    }
    if job.kind != Kind::http() {
        return None;
    }
    job.payload.decode::<Target>().ok().map(|target| target.url)
}

/// Half of a SHA-256, in hex: enough to tell keys apart, and short enough for a name.
fn short_hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let half = &digest[..digest.len() / 2];
    half.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A name for people, in the letters that names have: `Critical Task` is `critical-task`.
fn as_name(name: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "_-.:/@".contains(c) {
            c.to_ascii_lowercase()
        } else {
            '-'
        }
    };
    name.trim().chars().map(plain).collect()
}
