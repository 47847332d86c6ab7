//! Leaves one audit record for each command of a form that was carried out.

use std::sync::{Arc, OnceLock};

use axum::{
    extract::{Request, State},
    http::{Method, StatusCode},
    middleware::Next,
    response::Response,
};

use super::fields::Fields;
use crate::{
    access::Caller,
    app::App,
    audit_trail::{Command, save},
};

/// Who sent a form, and what stood in it, as its handler has found out.
#[derive(Clone, Default)]
pub struct FormSlot(Arc<OnceLock<(Caller, Fields)>>);

impl FormSlot {
    /// Called where a caller that may change things is known.
    pub fn set(&self, caller: &Caller, form: &Fields) {
        self.0.get_or_init(|| (caller.clone(), form.clone()));
    }
}

/// Records a command of the dashboard that has succeeded.
pub async fn record(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    if *request.method() != Method::POST {
        return next.run(request).await;
    }
    let path = request.uri().path().to_owned();
    let slot = FormSlot::default();
    request.extensions_mut().insert(slot.clone());
    let response = next.run(request).await;
    let Some((caller, form)) = slot.0.get() else {
        return response;
    };
    if is_done(&path, response.status(), form)
        && let Some(command) = command(&path, form)
        && let Err(problem) = save(&app, caller, "dashboard", command, None).await
    {
        tracing::error!(problem = problem.detail, "a command left no audit record");
    }
    response
}

/// What was done leads back to a page, but a new secret is shown at once; a page in answer to
/// anything else is a question or a preview.
fn is_done(path: &str, status: StatusCode, form: &Fields) -> bool {
    let shows_secret = matches!(path, "/keys/act" | "/endpoints/act")
        && matches!(form.get("action"), Some("create" | "rotate"));
    status.is_redirection() || (status.is_success() && shows_secret)
}

/// The command of a form, named as that of the API.
fn command(path: &str, form: &Fields) -> Option<Command> {
    let mut parts = path.trim_start_matches('/').split('/');
    let things = parts.next()?;
    // Commands on jobs and operations are stored together with their record.
    if matches!(things, "jobs" | "operations") {
        return None;
    }
    let thing = things.strip_suffix('s').unwrap_or(things);
    let (named, verb) = match (parts.next()?, parts.next()) {
        ("act", None) => (None, form.get("action")?),
        ("new", None) => (None, "create"),
        (id, Some("act")) => (Some(id), form.get("action")?),
        (id, Some(verb)) => (Some(id), verb),
        (_, None) => return None,
    };
    let verb = match thing {
        "failure" => "edit",
        _ => verb,
    };
    let subject = match named {
        Some(id) => id.to_owned(),
        None => subject(form),
    };
    Some(Command {
        action: format!("{thing}.{}", verb.replace('-', "_")),
        subject,
    })
}

/// What a form names: a thing by its id or its name.
fn subject(form: &Fields) -> String {
    let names = ["id", "fingerprint", "destination", "key", "name", "queue"];
    let name = names.iter().find_map(|name| form.get(name));
    name.unwrap_or("all").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_named_as_the_command_of_the_api() {
        for (path, form, expected) in [
            ("/jobs/job_1/act", "action=run-now", None),
            ("/jobs/act", "scope=selected&action=cancel&id=job_1", None),
            ("/operations/opr_1/act", "action=pause", None),
            (
                "/queues/act",
                "action=pause&queue=mail",
                Some("queue.pause mail"),
            ),
            (
                "/failures/act",
                "action=fixed&fingerprint=01ab",
                Some("failure.edit 01ab"),
            ),
            (
                "/keys/act",
                "action=create&name=ci&scope=admin",
                Some("key.create ci"),
            ),
            (
                "/schedules/new",
                "name=nightly",
                Some("schedule.create nightly"),
            ),
            (
                "/schedules/sch_1/edit",
                "name=nightly",
                Some("schedule.edit sch_1"),
            ),
            ("/sign-out", "", None),
        ] {
            let found = command(path, &Fields::parse(form.as_bytes()));
            let found = found.map(|found| format!("{} {}", found.action, found.subject));
            assert_eq!(found.as_deref(), expected, "{path} {form}");
        }
    }
}
