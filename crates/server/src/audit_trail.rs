//! Leaves one audit record for each command that comes over HTTP and is carried out.
//!
//! Commands on jobs and operations store theirs in their own transaction. All others are recorded
//! here, directly after they have succeeded, so that none can be forgotten: a route that is added
//! is recorded by its method and path.

use std::sync::{Arc, OnceLock};

use axum::{
    extract::{MatchedPath, Request, State},
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
    let pattern = request.extensions().get::<MatchedPath>();
    let pattern = pattern.map(|path| path.as_str().to_owned());
    let command =
        pattern.and_then(|pattern| Command::of(request.method(), &pattern, request.uri().path()));
    let Some(command) = command else {
        return next.run(request).await;
    };
    let slot = CallerSlot::default();
    request.extensions_mut().insert(slot.clone());
    let response = next.run(request).await;
    let caller = slot.0.get().filter(|_| response.status().is_success());
    if let Some(caller) = caller
        && let Err(problem) = save(&app, caller, command, &response).await
    {
        // The command was carried out, and its caller must learn of that.
        tracing::error!(problem = problem.detail, "a command left no audit record");
    }
    response
}

async fn save(
    app: &App,
    caller: &Caller,
    command: Command,
    response: &Response,
) -> Result<(), Problem> {
    let created = response.headers().get(header::LOCATION);
    let created = created.and_then(|location| location.to_str().ok());
    let created = created.and_then(|location| location.rsplit('/').next());
    let subject = match command.subject.is_empty() {
        true => created.unwrap_or("-").to_owned(),
        false => command.subject,
    };
    let by = caller.actor(app, "api").await?;
    let record = app.client.audit_record(by, &command.action, subject);
    let record = record.of_tenant(caller.tenant.clone());
    Ok(app.client.save_audit(record).await?)
}

/// A command, as its address tells.
#[derive(Debug, PartialEq)]
struct Command {
    /// As `gate.set`.
    action: String,
    /// What its path names.
    subject: String,
}

impl Command {
    fn of(method: &Method, pattern: &str, path: &str) -> Option<Self> {
        let pattern = pattern.strip_prefix("/api/v1/")?;
        let path = path.strip_prefix("/api/v1/")?;
        let mut parts = pattern.split('/');
        let things = parts.next()?;
        if RECORDED_ELSEWHERE.contains(&things) {
            return None;
        }
        let verb = parts.filter(|part| !part.starts_with('{')).next_back();
        let verb = verb.unwrap_or(match *method {
            Method::POST => "create",
            Method::PUT => "set",
            Method::PATCH => "edit",
            Method::DELETE => "delete",
            _ => "change",
        });
        let names = pattern.split('/').zip(path.split('/'));
        let names = names.filter(|(part, _)| part.starts_with('{'));
        let names: Vec<&str> = names.map(|(_, name)| name).collect();
        let thing = things.strip_suffix('s').unwrap_or(things);
        Some(Self {
            action: format!("{thing}.{}", verb.replace('-', "_")),
            subject: names.join("/"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_named_by_its_method_and_path() {
        for (method, pattern, path, expected) in [
            (
                Method::PUT,
                "gates/{scope}/{key}",
                "gates/queue/mail",
                Some(("gate.set", "queue/mail")),
            ),
            (
                Method::POST,
                "queues/{name}/pause",
                "queues/mail/pause",
                Some(("queue.pause", "mail")),
            ),
            (
                Method::POST,
                "schedules/{id}/run-now",
                "schedules/sch_1/run-now",
                Some(("schedule.run_now", "sch_1")),
            ),
            (Method::POST, "keys", "keys", Some(("key.create", ""))),
            (
                Method::DELETE,
                "endpoints/{id}",
                "endpoints/end_1",
                Some(("endpoint.delete", "end_1")),
            ),
            (Method::POST, "jobs/{id}/cancel", "jobs/job_1/cancel", None),
            (Method::POST, "claims", "claims", None),
        ] {
            let full = |text: &str| format!("/api/v1/{text}");
            let command = Command::of(&method, &full(pattern), &full(path));
            let expected = expected.map(|(action, subject)| Command {
                action: action.to_owned(),
                subject: subject.to_owned(),
            });
            assert_eq!(command, expected, "{method} {pattern}");
        }
    }
}
