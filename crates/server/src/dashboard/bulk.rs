//! One action on many jobs: the selected ones, or all that match.
//!
//! A million jobs take minutes, and a browser does not wait that long. So the action continues
//! in the background, a page of jobs at a time, and pages show its progress.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use askama::Template;
use steadfast_core::{JobId, limits as core_limits};
use steadfast_store::JobFilter;

use super::{
    bulk_tracker::{BulkAction, BulkOperation, MatchCount},
    fields::Fields,
    frame::{Frame, redirect_back, render},
    page_error::{PageError, PageResult},
    viewer::{Editor, Viewer},
};
use crate::{App, api::query, limits};

#[derive(Template)]
#[template(path = "confirm.html")]
struct ConfirmPage {
    frame: Frame,
    action: &'static str,
    matches: MatchCount,
    filters: Vec<(&'static str, String)>,
    dead_letters: bool,
    back: String,
}

impl ConfirmPage {
    fn verb(&self) -> &'static str {
        match self.action {
            "cancel" => "Cancel",
            "retry" if self.dead_letters => "Requeue",
            "retry" => "Retry",
            _ => "Discard",
        }
    }

    fn noun(&self) -> &'static str {
        match (self.dead_letters, self.matches.counted) {
            (true, 1) => "dead letter",
            (true, _) => "dead letters",
            (false, 1) => "job",
            (false, _) => "jobs",
        }
    }
}

pub async fn act(editor: Editor) -> PageResult {
    let Editor { viewer, form } = editor;
    let action = BulkAction::parse(form.get("action"))?;
    let back = form.get("back").unwrap_or("/jobs");
    if form.get("scope") == Some("selected") {
        let number = act_on_selected(&viewer, &form, action).await?;
        return Ok(match number {
            Some(number) => redirect_back(back, action.name(), Some(number)),
            None => redirect_back(back, "nothing", None),
        });
    }
    let dead_letters = form.get("deadLetters").is_some();
    let filter = JobFilter {
        dead_letters,
        ..query::job_filter(&form.job_query()?, &viewer.caller)?
    };
    let matches = count_matches(&viewer.app, &filter).await?;
    if form.get("confirmed").is_none() {
        let section = if dead_letters {
            "/dead-letters"
        } else {
            "/jobs"
        };
        return render(&ConfirmPage {
            frame: Frame::of(&viewer, section, "Confirm"),
            action: action.name(),
            matches,
            filters: form.filters(),
            dead_letters,
            back: back.to_owned(),
        });
    }
    let operation = BulkOperation {
        tenant: filter.tenant.clone(),
        action,
        matches,
        done: AtomicU64::new(0),
        _permit: viewer.app.try_bulk_work(viewer.caller.tenant.as_ref())?,
    };
    act_on_matches(&viewer.app, operation, filter, back).await
}

/// Starts an operation, and waits a moment for it to end.
async fn act_on_matches(
    app: &Arc<App>,
    operation: BulkOperation,
    filter: JobFilter,
    back: &str,
) -> PageResult {
    let operation = app.bulk.start(operation);
    let running = tokio::spawn({
        let (app, operation) = (app.clone(), operation.clone());
        async move { run(operation, &app, filter).await }
    });
    match tokio::time::timeout(limits::BULK_WAIT_MAX, running).await {
        Ok(Ok(Err(error))) => Err(error),
        Ok(_) => {
            let number = operation.done.load(Ordering::Relaxed);
            Ok(redirect_back(back, operation.action.name(), Some(number)))
        }
        Err(_) => Ok(redirect_back(back, "working", None)),
    }
}

/// `None` if no job was selected.
async fn act_on_selected(
    viewer: &Viewer,
    form: &Fields,
    action: BulkAction,
) -> Result<Option<u64>, PageError> {
    let ids = form.all("id").take(core_limits::BULK_JOBS_MAX);
    let ids: Vec<JobId> = ids.filter_map(|id| id.parse().ok()).collect();
    if ids.is_empty() {
        return Ok(None);
    }
    let jobs = viewer.app.client.jobs_of(ids).await?.into_iter().flatten();
    let visible = jobs.filter(|job| viewer.caller.sees(&job.tenant));
    let ids: Vec<JobId> = visible.map(|job| job.id).collect();
    let client = &viewer.app.client;
    Ok(Some(client.command_each(ids, action.command()).await?))
}

/// Applies the action of an operation to every job that matches, a page at a time.
async fn run(operation: Arc<BulkOperation>, app: &App, filter: JobFilter) -> Result<(), PageError> {
    let command = operation.action.command();
    app.client
        .command_matching(filter, command)
        .rate(app.settings.bulk_rate)
        .on_progress(move |so_far| operation.done.store(so_far.changed, Ordering::Relaxed))
        .run()
        .await?;
    Ok(())
}

/// The jobs that match a filter; counting stops at a limit.
async fn count_matches(app: &App, filter: &JobFilter) -> Result<MatchCount, PageError> {
    let counted = app.client.count(filter.clone(), limits::COUNT_MAX).await?;
    Ok(MatchCount {
        counted: counted.count,
        is_lower_bound: counted.at_least,
    })
}
