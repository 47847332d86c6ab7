//! Leaves one audit record for each command that comes over HTTP and is carried out.
//!
//! Commands on jobs and operations store theirs in their own transaction. All others are recorded
//! here, directly after they have succeeded, so that none can be forgotten: a route that is added
//! is recorded by its method and path.

use std::sync::{Arc, OnceLock};

use axum::{
    extract::{Request, State},
    http::{Method, header},
    middleware::Next,
    response::Response,
};

use crate::{access::Caller, app::App, problem::Problem};

/// What is not recorded here: creating and running jobs is no command of a person, and those on jobs
/// and operations record themselves.
const RECORDED_ELSEWHERE: &[&str] = &[
    "jobs",
    "claims",
    "policies",
    "test",
    "operations",
    "dlq",
    "events",
    "batches",
    "workers",
];

/// Who sent a request, as its handler has found out.
#[derive(Clone, Default)]
pub struct CallerSlot(Arc<OnceLock<Caller>>);

impl CallerSlot {
    /// Called where a caller that may change things is known.
    pub fn set(&self, caller: &Caller) {
        self.0.get_or_init(|| caller.clone());
    }
}

/// Records a command of the API that has succeeded.
pub async fn record(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return next.run(request).await;
    }
    let command = Command::of(request.method(), request.uri().path());
    let Some(command) = command else {
        return next.run(request).await;
    };
    let slot = CallerSlot::default();
    request.extensions_mut().insert(slot.clone());
    let response = next.run(request).await;
    // What was created is named by the address of the response.
    let created = response.headers().get(header::LOCATION);
    let created = created.and_then(|location| location.to_str().ok());
    let created = created.and_then(|location| location.rsplit('/').next());
    let created = created.map(str::to_owned);
    let caller = slot.0.get().filter(|_| response.status().is_success());
    if let Some(caller) = caller.cloned()
        && let Err(problem) = save(&app, &caller, "api", command, created).await
    {
        // The command was carried out, and its caller must learn of that.
        tracing::error!(problem = problem.detail, "a command left no audit record");
    }
    response
}

/// Stores a command that was carried out, which came this way.
pub async fn save(
    app: &App,
    caller: &Caller,
    way: &str,
    command: Command,
    created: Option<String>,
) -> Result<(), Problem> {
    let subject = match command.subject.is_empty() {
        true => created.unwrap_or_else(|| "-".to_owned()),
        false => command.subject,
    };
    let by = caller.actor(app, way).await?;
    let record = app.client.audit_record(by, &command.action, subject);
    let record = record.of_tenant(caller.tenant_of_request());
    Ok(app.client.save_audit(record).await?)
}

/// A command, as its address tells.
#[derive(Debug, PartialEq)]
pub struct Command {
    /// As `gate.set`.
    pub action: String,
    /// What its path names.
    pub subject: String,
}

impl Command {
    /// A POST ends with its verb, unless it creates something.
    fn of(method: &Method, path: &str) -> Option<Self> {
        let path = path.strip_prefix("/api/v1/")?;
        let (things, names) = path.split_once('/').unwrap_or((path, ""));
        if RECORDED_ELSEWHERE.contains(&things) {
            return None;
        }
        let (names, verb) = match *method {
            Method::PUT => (names, "set"),
            Method::PATCH => (names, "edit"),
            Method::DELETE => (names, "delete"),
            _ => names.rsplit_once('/').unwrap_or((names, "create")),
        };
        let thing = match things {
            "deliveries" => "delivery",
            _ => things.strip_suffix('s').unwrap_or(things),
        };
        Some(Self {
            action: format!("{thing}.{}", verb.replace('-', "_")),
            subject: names.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_named_by_its_method_and_path() {
        let queue = Some(("queue.pause", "mail"));
        let run = Some(("schedule.run_now", "sch_1"));
        for (method, path, expected) in [
            (
                Method::PUT,
                "gates/queue/mail",
                Some(("gate.set", "queue/mail")),
            ),
            (Method::POST, "queues/mail/pause", queue),
            (Method::POST, "schedules/sch_1/run-now", run),
            (Method::POST, "keys", Some(("key.create", ""))),
            (
                Method::DELETE,
                "endpoints/end_1",
                Some(("endpoint.delete", "end_1")),
            ),
            (
                Method::PATCH,
                "failures/01ab",
                Some(("failure.edit", "01ab")),
            ),
            (Method::POST, "jobs/job_1/cancel", None),
            (Method::POST, "claims", None),
        ] {
            let command = Command::of(&method, &format!("/api/v1/{path}"));
            let expected = expected.map(|(action, subject)| Command {
                action: action.to_owned(),
                subject: subject.to_owned(),
            });
            assert_eq!(command, expected, "{method} {path}");
        }
    }
}
