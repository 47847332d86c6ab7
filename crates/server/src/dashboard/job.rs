//! One job: its life as a picture, each attempt with its reasons, and what can be done.

use askama::Template;
use axum::extract::Path;
use steadfast_core::{
    Attempt, AttemptStatus, Dice, Guarantee, Job, JobCommand, JobEdit, JobId, JobState, Kind,
    Payload, Queue, Timestamp,
};
use steadfast_store::{JobFilter, JobPageRequest, PageRequest};

use super::{
    chart::{self, Svg},
    explain,
    frame::{Frame, HtmlPage, PageError, done, render},
    jobs::Row,
    shown::{Countdown, Excerpt, When, short},
    viewer::{Editor, Viewer},
};
use crate::{App, api::jobs::checked_payload, problem::Problem};

const ATTEMPTS_MAX: usize = 50;
/// How many attempts and how many retries to come fit into a picture.
const DRAWN_MAX: usize = 14;
const AHEAD_MAX: usize = 8;
const DELIVERIES_LOOK_MAX: usize = 100;

#[derive(Template)]
#[template(path = "job.html")]
struct JobPageShown {
    frame: Frame,
    row: Row,
    job: Job,
    policy: String,
    reason: Option<&'static str>,
    timeline: Svg,
    is_bent: bool,
    next: Option<(When, Countdown)>,
    ahead: Vec<Ahead>,
    attempts: Vec<AttemptShown>,
    more_attempts: bool,
    payload: Excerpt,
    payload_text: String,
    deliveries: Vec<Row>,
    schedule: Option<String>,
    finished: Option<When>,
    can: Can,
}

/// What makes sense for the job as it stands.
struct Can {
    cancel: bool,
    retry: bool,
    run_now: bool,
    edit: bool,
    discard: bool,
}

impl Can {
    fn of(job: &Job) -> Self {
        let state = job.progress.state;
        let had_its_try = job.guarantee == Guarantee::AtMostOnce && job.progress.attempt > 0;
        Self {
            cancel: !state.is_final() && !job.progress.cancel_requested,
            retry: matches!(state, JobState::Failed | JobState::Cancelled) && !had_its_try,
            run_now: state == JobState::Waiting,
            edit: state == JobState::Waiting,
            discard: job.is_dead_letter(),
        }
    }
}

/// A retry to come.
struct Ahead {
    attempt: u32,
    at: When,
    delay: String,
}

struct AttemptShown {
    number: u32,
    status: &'static str,
    class: &'static str,
    started: When,
    took: String,
    worker: String,
    failure: Option<String>,
    response: Option<Excerpt>,
    note: Option<String>,
    why: Option<String>,
    next: Option<When>,
}

impl AttemptShown {
    fn of(attempt: &Attempt, job: &Job, frame: &Frame) -> Self {
        let next = attempt.decision.as_ref().and_then(|it| it.next_run_at);
        Self {
            number: attempt.attempt,
            status: attempt.status.as_str(),
            class: class(attempt.status),
            started: frame.when(attempt.started_at),
            took: short(attempt.duration()),
            worker: attempt
                .worker
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default(),
            failure: attempt.failure.as_ref().map(ToString::to_string),
            response: attempt.output.as_ref().map(|it| Excerpt::json(it.as_str())),
            note: attempt.note.clone(),
            why: explain::sentence(attempt, &job.policy),
            next: next.map(|at| frame.when(at)),
        }
    }
}

fn class(status: AttemptStatus) -> &'static str {
    match status {
        AttemptStatus::Success => "good",
        AttemptStatus::Failed | AttemptStatus::Lost => "bad",
        AttemptStatus::Snoozed | AttemptStatus::Cancelled | AttemptStatus::Released => "grey",
    }
}

pub async fn page(viewer: Viewer, Path(id): Path<String>) -> HtmlPage {
    let job = find(&viewer, &id).await?;
    let frame = Frame::of(&viewer, "/jobs", format!("{} {}", job.kind, job.id));
    let listed = viewer
        .app
        .client
        .attempts(job.id, PageRequest::first(ATTEMPTS_MAX))
        .await?;
    let ahead = ahead(&job, frame.now);
    let segments = segments(&job, &listed.items, &ahead, frame.now);
    let summary = format!(
        "{} attempts so far, {} retries to come; the job is {}",
        job.progress.attempt,
        ahead.len(),
        job.label(frame.now)
    );
    let is_due_later = job.progress.state == JobState::Waiting && job.progress.run_at > frame.now;
    let next = frame.when(job.progress.run_at);
    render(&JobPageShown {
        row: Row::of(&job, &frame),
        policy: explain::policy(&job.policy),
        reason: job.progress.reason.map(explain::reason),
        timeline: chart::timeline(&segments, summary),
        is_bent: chart::is_bent(&segments),
        next: is_due_later.then(|| (next, next.countdown())),
        ahead: shown_ahead(&ahead, &frame),
        attempts: listed
            .items
            .iter()
            .map(|attempt| AttemptShown::of(attempt, &job, &frame))
            .collect(),
        more_attempts: listed.next.is_some(),
        payload: Excerpt::json(job.payload.as_str()),
        payload_text: pretty(&job.payload),
        deliveries: deliveries(&viewer.app, &job, &frame).await?,
        schedule: job.scheduled_run.map(|run| run.schedule.to_string()),
        finished: job.progress.finished_at.map(|at| frame.when(at)),
        can: Can::of(&job),
        job,
        frame,
    })
}

async fn find(viewer: &Viewer, id: &str) -> Result<Job, PageError> {
    let shown: String = id.chars().take(64).collect();
    let id: JobId = id.parse().map_err(|_| Problem::not_found(&shown))?;
    Ok(viewer.caller.job(viewer.app.client.job(id).await?, id)?)
}

/// All of it, to be edited.
fn pretty(payload: &Payload) -> String {
    let value = payload.decode::<serde_json::Value>();
    let pretty = value.and_then(|value| serde_json::to_string_pretty(&value));
    pretty.unwrap_or_else(|_| payload.as_str().to_owned())
}

/// When each attempt to come would start if all of them failed at once, with middling rolls.
fn ahead(job: &Job, now: Timestamp) -> Vec<(u32, Timestamp)> {
    let progress = &job.progress;
    let (mut at, mut attempt, used, mut starts) = match progress.state {
        JobState::Waiting => {
            let used = progress.attempt.saturating_sub(progress.attempts_before);
            let (next, at) = (progress.attempt + 1, progress.run_at.max(now));
            (at, next, used, vec![(next, at)])
        }
        JobState::Running => (now, progress.attempt, progress.retries_used(), Vec::new()),
        JobState::Succeeded | JobState::Failed | JobState::Cancelled => return Vec::new(),
    };
    if job.guarantee == Guarantee::AtMostOnce {
        return starts;
    }
    let ends = progress.first_started_at.zip(job.policy.max_elapsed());
    let ends = ends.map(|(first, most)| first.plus(most));
    let delays =
        job.policy
            .delays_after(used, std::time::Duration::ZERO, progress.last_delay, || {
                Dice::TYPICAL
            });
    for delay in delays {
        if ends.is_some_and(|ends| at > ends) {
            break;
        }
        at = at.plus(delay.jittered);
        attempt += 1;
        starts.push((attempt, at));
    }
    starts
}

fn shown_ahead(ahead: &[(u32, Timestamp)], frame: &Frame) -> Vec<Ahead> {
    let mut before = frame.now;
    let mut shown = Vec::new();
    for (attempt, at) in ahead {
        shown.push(Ahead {
            attempt: *attempt,
            at: frame.when(*at),
            delay: short(at.since(before)),
        });
        before = *at;
    }
    shown
}

/// The pieces of the picture, oldest first.
fn segments(
    job: &Job,
    attempts: &[Attempt],
    ahead: &[(u32, Timestamp)],
    now: Timestamp,
) -> Vec<chart::Segment> {
    let mut pieces = Vec::new();
    let mut end: Option<Timestamp> = None;
    let wait = |pieces: &mut Vec<chart::Segment>, end: Option<Timestamp>, until: Timestamp| {
        if let Some(end) = end {
            let (long, ahead) = (until.since(end), until > now);
            pieces.push(chart::Segment::Wait { long, ahead });
        }
    };
    for attempt in attempts.iter().take(DRAWN_MAX).rev() {
        wait(&mut pieces, end, attempt.started_at);
        let mark = match class(attempt.status) {
            "good" => chart::Mark::Good,
            "bad" => chart::Mark::Bad,
            _ => chart::Mark::Grey,
        };
        let failure = attempt.failure.as_ref().map(|it| format!(": {it}"));
        pieces.push(chart::Segment::Attempt {
            number: attempt.attempt,
            took: attempt.duration(),
            mark,
            said: format!("{}{}", attempt.status, failure.unwrap_or_default()),
        });
        end = Some(attempt.finished_at);
    }
    if job.progress.state == JobState::Running {
        let started = job.progress.started_at.unwrap_or(now);
        wait(&mut pieces, end, started);
        pieces.push(chart::Segment::Attempt {
            number: job.progress.attempt,
            took: now.since(started),
            mark: chart::Mark::Running,
            said: "running".to_owned(),
        });
        end = Some(now);
    }
    for (number, at) in ahead.iter().take(AHEAD_MAX) {
        wait(&mut pieces, end.or(Some(now)), *at);
        pieces.push(chart::Segment::Attempt {
            number: *number,
            took: std::time::Duration::ZERO,
            mark: chart::Mark::Future,
            said: "to come, if the attempts before it fail".to_owned(),
        });
        end = Some(*at);
    }
    pieces
}

/// What was sent to others about this job, as far as a bounded look finds it.
async fn deliveries(app: &App, job: &Job, frame: &Frame) -> Result<Vec<Row>, PageError> {
    let is_told =
        job.webhook.is_some() || !app.client.endpoints(Some(&job.tenant)).await?.is_empty();
    if job.kind == Kind::webhook() || !is_told || job.progress.attempt == 0 {
        return Ok(Vec::new());
    }
    let until = job.progress.finished_at;
    let filter = JobFilter {
        tenant: Some(job.tenant.clone()),
        queue: Some(Queue::webhooks()),
        kind: Some(Kind::webhook()),
        created_from: Some(job.created_at),
        created_before: until.map(|at| at.plus(std::time::Duration::from_secs(60))),
        ..JobFilter::default()
    };
    let page = JobPageRequest::first(DELIVERIES_LOOK_MAX);
    let listed = app.client.jobs(filter, page).await?;
    let id = job.id.to_string();
    let of_this = listed
        .items
        .iter()
        .filter(|it| it.tags.get("job") == Some(&id));
    Ok(of_this.map(|job| Row::of(job, frame)).collect())
}

pub async fn act(Path(id): Path<String>, editor: Editor) -> HtmlPage {
    let Editor { viewer, form } = editor;
    let job = find(&viewer, &id).await?;
    let payload = match form.get("payload") {
        Some(text) => Some(checked_payload(&job, Payload::from_json(text)?)?),
        None => None,
    };
    let (command, did) = match form.get("action") {
        Some("cancel") => (JobCommand::Cancel, "cancel"),
        Some("retry") => (JobCommand::Retry { payload }, "retry"),
        Some("run-now") => (JobCommand::RunNow, "run-now"),
        Some("discard") => (JobCommand::Discard, "discard"),
        Some("edit") => {
            let edit = JobEdit {
                payload,
                ..JobEdit::default()
            };
            (JobCommand::Edit(edit), "edit")
        }
        _ => return Err(Problem::invalid("action", "there is no such action").into()),
    };
    viewer.app.client.command(job.id, command).await?;
    let here = format!("/jobs/{}", job.id);
    Ok(done(form.get("back").unwrap_or(&here), did, None))
}
