//! One action on many jobs: the selected ones, or all matching.
//!
//! A million jobs take minutes, and a browser does not wait that long. So the action is an
//! operation, which any node carries on; a small one has ended before the browser has its answer.
//! What takes jobs away asks first, and so does everything that is done to all that match.

use askama::Template;
use steadfast_core::{CanaryRule, JobId, OperationKind, limits as core_limits};
use steadfast_engine::OperationRequest;
use steadfast_store::{JobCount, JobFilter};

use crate::{
    api::{query, work::operations::create_and_wait},
    app::App,
    dashboard::{
        page::{
            Editor, Fields, Layout, PageError, PageResult, Viewer, no_such_action, redirect_back,
            redirect_to, render,
        },
        parts::thousands,
    },
    http::Problem,
    limits,
};

#[derive(Template)]
#[template(path = "forms/confirm_bulk.html")]
struct ConfirmPage {
    layout: Layout,
    action: String,
    matches: JobCount,
    /// The selected jobs; empty if it is about all that match.
    ids: Vec<JobId>,
    filters: Vec<(&'static str, String)>,
    dead_letters: bool,
    back: String,
    pace: u32,
}

impl ConfirmPage {
    fn verb(&self) -> &'static str {
        match self.action.as_str() {
            "cancel" => "Cancel",
            "retry" if self.dead_letters => "Requeue",
            "retry" => "Retry",
            _ => "Discard",
        }
    }

    fn noun(&self) -> &'static str {
        match (self.dead_letters, self.matches.count) {
            (true, 1) => "dead letter",
            (true, _) => "dead letters",
            (false, 1) => "job",
            (false, _) => "jobs",
        }
    }

    /// How many there are.
    fn number(&self) -> String {
        let number = thousands(self.matches.count);
        if self.matches.at_least {
            format!("at least {number}")
        } else {
            number
        }
    }

    /// How the jobs were chosen.
    fn predicate(&self) -> &'static str {
        match (self.ids.len(), self.matches.count) {
            (0, 1) => "matches",
            (0, _) => "match",
            (1, _) => "is selected",
            _ => "are selected",
        }
    }
}

/// The operation for the name of an action.
fn kind_of(action: &str, dead_letters: bool) -> Result<OperationKind, PageError> {
    Ok(match action {
        "cancel" => OperationKind::Cancel,
        "retry" if dead_letters => OperationKind::Requeue,
        "retry" => OperationKind::Retry,
        "discard" => OperationKind::Discard,
        _ => return Err(no_such_action()),
    })
}

pub async fn act(editor: Editor) -> PageResult {
    let Editor { viewer, form } = editor;
    let action = form.value("action");
    let back = form.get("back").unwrap_or("/jobs");
    let dead_letters = form.get("deadLetters").is_some();
    let is_confirmed = form.is_confirmed();
    let by = viewer.caller.actor(&viewer.app).await?;
    let mut request = OperationRequest::new(kind_of(action, dead_letters)?, by);
    if form.get("scope") == Some("selected") {
        let ids = form.all("id").take(core_limits::BULK_JOBS_MAX);
        let ids: Vec<JobId> = ids.filter_map(|id| id.parse().ok()).collect();
        if ids.is_empty() {
            return Ok(redirect_back(back, "nothing", None));
        }
        // The other actions take jobs away, which selecting them alone does not mean.
        if action != "retry" && !is_confirmed {
            let matches = JobCount {
                count: ids.len() as u64,
                at_least: false,
            };
            return confirm(&viewer, &form, matches, ids);
        }
        request.tenant.clone_from(&viewer.caller.tenant);
        request.ids = Some(ids);
    } else {
        request.filter = JobFilter {
            dead_letters,
            ..query::job_filter(&form.job_query()?, &viewer.caller)?
        };
        request.all = true;
        if !is_confirmed {
            let matches = viewer.app.client.count_operation(&request).await?;
            return confirm(&viewer, &form, matches, Vec::new());
        }
    }
    request.pace = Some(pace(&viewer.app, &form)?);
    request.canary = form.get("canary").map(|_| CanaryRule::default());
    let wait = match request.canary {
        // It waits for outcomes, which are looked at on its page.
        Some(_) => std::time::Duration::ZERO,
        None => limits::BULK_WAIT_MAX,
    };
    let record = create_and_wait(&viewer.app, request, wait).await?;
    if record.is_open() {
        return Ok(redirect_to(&format!("/operations/{}", record.id)));
    }
    let changed = record.operation.progress.changed;
    Ok(redirect_back(back, action, Some(changed)))
}

/// Asks for confirmation with the number of jobs: the selected ones, or all matching.
fn confirm(viewer: &Viewer, form: &Fields, matches: JobCount, ids: Vec<JobId>) -> PageResult {
    let dead_letters = form.get("deadLetters").is_some();
    let section = if dead_letters {
        "/dead-letters"
    } else {
        "/jobs"
    };
    render(&ConfirmPage {
        layout: viewer.layout(section, "Confirm"),
        action: form.value("action").to_owned(),
        matches,
        filters: if ids.is_empty() {
            form.filters()
        } else {
            Vec::new()
        },
        ids,
        dead_letters,
        back: form.get("back").unwrap_or("/jobs").to_owned(),
        pace: viewer.app.bulk_pace(),
    })
}

/// How many jobs a second, as the form says or as the settings do.
fn pace(app: &App, form: &Fields) -> Result<u32, Problem> {
    match form.get("pace").map(str::parse) {
        None => Ok(app.bulk_pace()),
        Some(Ok(pace)) => Ok(pace),
        Some(Err(_)) => {
            let most = core_limits::OPERATION_PACE_MAX;
            let detail = format!("pace must be a number from 1 to {most}");
            Err(Problem::invalid("pace", detail))
        }
    }
}
