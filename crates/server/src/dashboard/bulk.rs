//! What is done to many jobs at once: those that were ticked, a group of dead letters, or all
//! that match.
//!
//! A million jobs take minutes, and a browser does not wait that long. So the work goes on in
//! the background, a page at a time, and pages show how far it has come.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use askama::Template;
use axum::http::StatusCode;
use steadfast_core::{JobCommand, JobId, Tenant, limits as core_limits};
use steadfast_store::{JobFilter, JobPageRequest};

use super::{
    fields::Fields,
    fingerprint,
    frame::{Frame, HtmlPage, PageError, done, render},
    shown::count,
    viewer::{Editor, Viewer},
};
use crate::{App, access::Caller, api::query, problem::Problem};

/// Counting further costs more than the figure is worth.
const COUNT_MAX: u64 = 10_000;
const PAGE: usize = 500;
/// Between pages, so that claims and settlements get their turn.
const PAUSE: Duration = Duration::from_millis(10);
/// Most work is done by then, and the answer can say so.
const WAIT_MAX: Duration = Duration::from_secs(2);
const REMEMBERED_MAX: usize = 8;
const AT_ONCE_MAX: usize = 4;

/// The work under way on this node, the newest first, and the last that ended.
#[derive(Default)]
pub struct Bulk(Mutex<VecDeque<Arc<Work>>>);

struct Work {
    tenant: Option<Tenant>,
    action: Action,
    /// How many there were when it began; at least this many if `is_capped`.
    of: u64,
    is_capped: bool,
    done: AtomicU64,
    is_over: AtomicBool,
}

/// Some work, for people.
pub struct Working {
    pub action: &'static str,
    pub done: u64,
    pub done_text: String,
    pub of: u64,
    pub of_text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Cancel,
    Retry,
    Discard,
}

impl Action {
    fn named(name: Option<&str>) -> Result<Self, Problem> {
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

impl Bulk {
    /// What is under way and the caller may know of.
    pub fn shown(&self, caller: &Caller) -> Vec<Working> {
        let works = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let theirs = works.iter().filter(|work| {
            let is_theirs = caller.tenant.is_none() || caller.tenant == work.tenant;
            is_theirs && !work.is_over.load(Ordering::Relaxed)
        });
        theirs.map(|work| work.shown()).collect()
    }

    fn begin(&self, work: Work) -> Result<Arc<Work>, Problem> {
        let mut works = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_on = |work: &&Arc<Work>| !work.is_over.load(Ordering::Relaxed);
        if works.iter().filter(is_on).count() >= AT_ONCE_MAX {
            let detail = "this node is busy with other work on many jobs; wait for it to end";
            return Err(Problem::new(StatusCode::CONFLICT, "busy", detail));
        }
        let work = Arc::new(work);
        works.push_front(work.clone());
        works.truncate(REMEMBERED_MAX);
        Ok(work)
    }
}

impl Work {
    fn shown(&self) -> Working {
        let done = self.done.load(Ordering::Relaxed);
        Working {
            action: self.action.name(),
            done,
            done_text: count(done),
            of: self.of.max(done),
            of_text: at_least(self.of, self.is_capped),
        }
    }

    /// Carries the action out on every job that matches, a page at a time.
    async fn run(
        &self,
        app: &App,
        filter: JobFilter,
        group: Option<&str>,
    ) -> Result<(), PageError> {
        let mut page = JobPageRequest::first(PAGE);
        loop {
            let listed = app.client.jobs(filter.clone(), page).await?;
            let is_meant = |job: &&steadfast_core::Job| {
                group.is_none_or(|group| fingerprint::group(job) == group)
            };
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
            tokio::time::sleep(PAUSE).await;
        }
    }
}

fn at_least(number: u64, is_capped: bool) -> String {
    format!("{}{}", count(number), if is_capped { "+" } else { "" })
}

#[derive(Template)]
#[template(path = "confirm.html")]
struct ConfirmPage {
    frame: Frame,
    action: &'static str,
    number: String,
    group: Option<String>,
    filters: Vec<(&'static str, String)>,
    dead_letters: bool,
    back: String,
}

pub async fn act(editor: Editor) -> HtmlPage {
    let Editor { viewer, form } = editor;
    let action = Action::named(form.get("action"))?;
    let back = form.get("back").unwrap_or("/jobs");
    if form.get("scope") == Some("selected") {
        let number = on_selected(&viewer, &form, action).await?;
        return Ok(match number {
            Some(number) => done(back, action.name(), Some(number)),
            None => done(back, "nothing", None),
        });
    }
    let dead_letters = form.get("deadLetters").is_some();
    let filter = JobFilter {
        dead_letters,
        ..query::job_filter(&form.job_query()?, &viewer.caller)?
    };
    let group = form.get("group").map(str::to_owned);
    let number = how_many(&viewer.app, &filter, group.as_deref()).await?;
    let is_capped = number >= COUNT_MAX;
    if form.get("confirmed").is_none() {
        let section = if dead_letters {
            "/dead-letters"
        } else {
            "/jobs"
        };
        return render(&ConfirmPage {
            frame: Frame::of(&viewer, section, "Are you sure?"),
            action: action.name(),
            number: at_least(number, is_capped),
            group,
            filters: form.filters(),
            dead_letters,
            back: back.to_owned(),
        });
    }
    let app = viewer.app.clone();
    let work = app.bulk.begin(Work {
        tenant: filter.tenant.clone(),
        action,
        of: number,
        is_capped,
        done: AtomicU64::new(0),
        is_over: AtomicBool::new(false),
    })?;
    let doing = tokio::spawn({
        let work = work.clone();
        async move {
            let outcome = work.run(&app, filter, group.as_deref()).await;
            work.is_over.store(true, Ordering::Relaxed);
            outcome
        }
    });
    match tokio::time::timeout(WAIT_MAX, doing).await {
        Ok(Ok(Err(failed))) => Err(failed),
        Ok(_) => {
            let number = work.done.load(Ordering::Relaxed);
            Ok(done(back, action.name(), Some(number)))
        }
        Err(_) => Ok(done(back, "working", None)),
    }
}

/// How many jobs are meant. Those of a group are only counted as far as one page of a list.
async fn how_many(app: &App, filter: &JobFilter, group: Option<&str>) -> Result<u64, PageError> {
    let Some(group) = group else {
        return Ok(app.client.count(filter.clone(), COUNT_MAX).await?);
    };
    let listed = app
        .client
        .jobs(filter.clone(), JobPageRequest::first(PAGE))
        .await?;
    let alike = listed
        .items
        .iter()
        .filter(|job| fingerprint::group(job) == group);
    Ok(alike.count() as u64)
}

/// `None` if nothing was ticked.
async fn on_selected(
    viewer: &Viewer,
    form: &Fields,
    action: Action,
) -> Result<Option<u64>, PageError> {
    let ids = form.all("id").take(core_limits::BULK_JOBS_MAX);
    let ids: Vec<JobId> = ids.filter_map(|id| id.parse().ok()).collect();
    if ids.is_empty() {
        return Ok(None);
    }
    let jobs = viewer.app.client.jobs_of(ids).await?.into_iter().flatten();
    let theirs = jobs.filter(|job| viewer.caller.sees(&job.tenant));
    let ids: Vec<JobId> = theirs.map(|job| job.id).collect();
    let client = &viewer.app.client;
    Ok(Some(client.command_each(ids, action.command()).await?))
}
