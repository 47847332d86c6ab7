//! One action on many jobs: the selected ones, a group of dead letters, or all that match.
//!
//! A million jobs take minutes, and a browser does not wait that long. So the action continues
//! in the background, a page of jobs at a time, and pages show its progress.

use std::sync::{
    Arc, Mutex, PoisonError, Weak,
    atomic::{AtomicU64, Ordering},
};

use askama::Template;
use axum::http::StatusCode;
use steadfast_core::{Job, JobCommand, JobId, Tenant, limits as core_limits};
use steadfast_store::{JobFilter, JobPageRequest};

use super::{
    fields::Fields,
    fingerprint,
    format::format_count,
    frame::{Frame, redirect_back, render},
    page_error::{PageError, PageResult},
    viewer::{Editor, Viewer},
};
use crate::{App, access::Caller, api::query, limits, problem::Problem};

/// The bulk operations that run on this node, the newest first. The task of an operation owns
/// it, so that one which ends in any way is gone from here.
#[derive(Default)]
pub struct BulkTracker(Mutex<Vec<Weak<BulkOperation>>>);

struct BulkOperation {
    tenant: Option<Tenant>,
    action: BulkAction,
    matches: MatchCount,
    done: AtomicU64,
}

/// How far an operation has come, for a page.
pub struct BulkProgress {
    pub action: &'static str,
    pub done: u64,
    pub done_text: String,
    pub total: u64,
    pub total_text: String,
}

#[derive(Clone, Copy)]
enum BulkAction {
    Cancel,
    Retry,
    Discard,
}

impl BulkAction {
    fn parse(name: Option<&str>) -> Result<Self, Problem> {
        match name {
            Some("cancel") => Ok(Self::Cancel),
            Some("retry") => Ok(Self::Retry),
            Some("discard") => Ok(Self::Discard),
            _ => Err(Problem::invalid("action", "there is no such action")),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Retry => "retry",
            Self::Discard => "discard",
        }
    }

    fn command(self) -> JobCommand {
        match self {
            Self::Cancel => JobCommand::Cancel,
            Self::Retry => JobCommand::Retry { payload: None },
            Self::Discard => JobCommand::Discard,
        }
    }
}

/// How many jobs match, as far as they were counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MatchCount {
    counted: u64,
    /// There may be more than were counted.
    is_lower_bound: bool,
}

impl MatchCount {
    /// The jobs that match a filter; counting stops at a limit.
    async fn of_filter(app: &App, filter: &JobFilter) -> Result<Self, PageError> {
        let counted = app.client.count(filter.clone(), limits::COUNT_MAX).await?;
        Ok(Self {
            counted,
            is_lower_bound: counted >= limits::COUNT_MAX,
        })
    }

    fn text(self) -> String {
        let at_least = if self.is_lower_bound { "at least " } else { "" };
        format!("{at_least}{}", format_count(self.counted))
    }
}

impl BulkTracker {
    /// The operations under way that the caller may know of.
    pub fn progress(&self, caller: &Caller) -> Vec<BulkProgress> {
        let running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let visible = running
            .iter()
            .filter_map(Weak::upgrade)
            .filter(|it| caller.tenant.is_none() || caller.tenant == it.tenant);
        visible.map(|operation| operation.progress()).collect()
    }

    fn start(&self, operation: BulkOperation) -> Result<Arc<BulkOperation>, Problem> {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|it| it.strong_count() > 0);
        if running.len() >= limits::BULK_ACTIONS_MAX {
            let detail = format!(
                "this node already runs {} bulk actions; try again when one has ended",
                limits::BULK_ACTIONS_MAX
            );
            return Err(Problem::new(StatusCode::CONFLICT, "busy", detail));
        }
        let operation = Arc::new(operation);
        running.insert(0, Arc::downgrade(&operation));
        Ok(operation)
    }
}

impl BulkOperation {
    fn progress(&self) -> BulkProgress {
        let done = self.done.load(Ordering::Relaxed);
        BulkProgress {
            action: self.action.name(),
            done,
            done_text: format_count(done),
            total: self.matches.counted.max(done),
            total_text: self.matches.text(),
        }
    }

    /// Applies the action to every job that matches, a page at a time.
    async fn run(
        &self,
        app: &App,
        filter: JobFilter,
        group: Option<&str>,
    ) -> Result<(), PageError> {
        let mut page = JobPageRequest::first(limits::BULK_PAGE);
        loop {
            let listed = app.client.jobs(filter.clone(), page).await?;
            let is_meant = |job: &&Job| group.is_none_or(|it| fingerprint::group_id(job) == it);
            let meant = listed.items.iter().filter(is_meant);
            let ids: Vec<JobId> = meant.map(|job| job.id).collect();
            if !ids.is_empty() {
                let done = app.client.command_each(ids, self.action.command()).await?;
                self.done.fetch_add(done, Ordering::Relaxed);
            }
            match listed.next {
                Some(next) => page.after = Some(next),
                None => return Ok(()),
            }
            tokio::time::sleep(limits::BULK_PAUSE).await;
        }
    }
}

#[derive(Template)]
#[template(path = "confirm.html")]
struct ConfirmPage {
    frame: Frame,
    action: &'static str,
    matches: MatchCount,
    group: Option<GroupSummary>,
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

/// The group of dead letters that an action is for, as far as its members were read.
struct GroupSummary {
    id: String,
    /// `None` if no dead letter that was read is in it.
    pattern: Option<String>,
    matches: MatchCount,
}

impl GroupSummary {
    /// Groups have no index, so only the newest dead letters are read.
    async fn read(app: &App, filter: &JobFilter, id: &str) -> Result<Self, PageError> {
        let page = JobPageRequest::first(limits::DEAD_LETTERS_GROUPED_MAX);
        let listed = app.client.jobs(filter.clone(), page).await?;
        let members = listed
            .items
            .iter()
            .filter(|job| fingerprint::group_id(job) == id);
        let members: Vec<&Job> = members.collect();
        Ok(Self {
            id: id.to_owned(),
            pattern: members.first().map(|job| fingerprint::pattern(job)),
            matches: MatchCount {
                counted: members.len() as u64,
                is_lower_bound: listed.next.is_some(),
            },
        })
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
    let group = match form.get("group") {
        Some(id) => Some(GroupSummary::read(&viewer.app, &filter, id).await?),
        None => None,
    };
    let matches = match &group {
        Some(group) => group.matches,
        None => MatchCount::of_filter(&viewer.app, &filter).await?,
    };
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
            group,
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
    };
    act_on_matches(&viewer.app, operation, filter, group, back).await
}

/// Starts an operation, and waits a moment for it to end.
async fn act_on_matches(
    app: &Arc<App>,
    operation: BulkOperation,
    filter: JobFilter,
    group: Option<GroupSummary>,
    back: &str,
) -> PageResult {
    let operation = app.bulk.start(operation)?;
    let running = tokio::spawn({
        let (app, operation) = (app.clone(), operation.clone());
        async move {
            let group = group.as_ref().map(|group| group.id.as_str());
            operation.run(&app, filter, group).await
        }
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
