//! The logs of attempts: as they are, or as a stream that follows a running attempt.

use std::{collections::VecDeque, convert::Infallible, sync::Arc};

use axum::{
    extract::Path,
    http::HeaderMap,
    response::{
        IntoResponse as _, Response,
        sse::{Event as SseEvent, Sse},
    },
};
use futures_util::{Stream, stream};
use steadfast_api::{AttemptLogBody, LogEventBody, LogLineBody, LogQuery};
use steadfast_core::{
    Job, JobId, JobState, LogLines,
    limits::{LOG_BYTES_MAX, LOG_LINES_MAX},
};
use steadfast_engine::Notices;

use crate::{
    api::work::jobs::find,
    app::App,
    extract::{
        Caller, Params, Reads,
        body::shorten_id,
        stream::{self as streams, StreamPermits},
    },
    http::{Json, Problem, Problems},
    limits,
};

/// Read the log of an attempt, or follow it.
///
/// With `follow=true` the lines come as server-sent events of type `log`, with their number as id, until
/// the attempt has ended, whichever node runs it; `dropped` says how many lines are missing before the
/// next one, and `end` is the last event. A client that reconnects sends the last id as `Last-Event-ID`
/// and misses nothing.
///
/// Otherwise up to 1,000 lines or 64 KiB of text are returned. A log can be longer if attempts were not
/// counted, for example because they were snoozed: they share the number of the next attempt, and the
/// numbers of its lines continue. Read on with `from` until no lines come.
///
/// The log of an attempt that does not exist yet is empty; followed, it is waited for. Keys with scope
/// `read` cannot read logs.
#[utoipa::path(
    get, path = "/jobs/{id}/attempts/{attempt}/logs", tag = "Jobs", operation_id = "getAttemptLog",
    params(
        ("id" = String, Path, description = "job_…"),
        ("attempt" = u32, Path, description = "The number of the attempt, from 1"),
        LogQuery,
    ),
    responses((status = 200, description = "The log, or a stream of events with `follow=true`", content(
        (AttemptLogBody = "application/json"),
        (String = "text/event-stream"),
    )), Problems)
)]
pub async fn read(
    Reads { app, caller }: Reads,
    Path((id, attempt)): Path<(String, String)>,
    Params(query): Params<LogQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    caller.require_logs()?;
    let job: JobId = id
        .parse()
        .map_err(|_| Problem::not_found(shorten_id(&id)))?;
    let number: u32 = attempt.parse().ok().filter(|it| *it > 0).ok_or_else(|| {
        let attempt = shorten_id(&attempt);
        let detail = format!("attempt is {attempt}: must be a number from 1");
        Problem::invalid("attempt", detail)
    })?;
    find(&app, &caller, job).await?;
    let from = query.from.unwrap_or_default().max(after_last(&headers));
    if query.follow.unwrap_or_default() {
        return Ok(follow(app, caller, (job, number), from)?.into_response());
    }
    Ok(Json(log_of(&app, job, number, from).await?).into_response())
}

/// The number after the last event that a client has got.
fn after_last(headers: &HeaderMap) -> u64 {
    let id = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let id: Option<u64> = id.and_then(|id| id.parse().ok());
    id.map_or(0, |id| id.saturating_add(1))
}

/// The lines of an attempt from a number on, as many as fit into an answer. Attempts that were not
/// counted share the number of the next, and their lines come before its own.
pub async fn log_of(
    app: &App,
    job: JobId,
    attempt: u32,
    from: u64,
) -> Result<AttemptLogBody, Problem> {
    let mut body = AttemptLogBody::new(attempt);
    let (mut next, mut bytes) = (from, 0);
    'answer: loop {
        let before = next;
        for log in app.client.attempt_logs(job, attempt, next).await? {
            let LogLines { from: first, lines } =
                log.log.since(next.saturating_sub(log.first_line));
            let numbered = (log.first_line.saturating_add(first)..).zip(lines);
            for (number, line) in numbered {
                bytes += line.text.len();
                let is_full = body.lines.len() >= LOG_LINES_MAX || bytes > LOG_BYTES_MAX;
                if is_full && !body.lines.is_empty() {
                    break 'answer;
                }
                next = number.saturating_add(1);
                body.lines.push(LogLineBody::new(number, line));
            }
            body.next = log.next();
        }
        // Only if lines came, more may follow.
        if next == before {
            break;
        }
    }
    body.next = body.next.min(next);
    let kept = body.lines.len() as u64;
    body.dropped = body.next.saturating_sub(from).saturating_sub(kept);
    Ok(body)
}

fn follow(
    app: Arc<App>,
    caller: Caller,
    (job, attempt): (JobId, u32),
    from: u64,
) -> Result<Sse<impl Stream<Item = Result<SseEvent, Infallible>>>, Problem> {
    let permits = streams::permits(&app, &caller)?;
    let revoked = streams::caller_revoked(&app, &caller);
    let follower = Follower {
        notices: app.node.subscribe(),
        app: app.clone(),
        job,
        attempt,
        next: from,
        events: VecDeque::new(),
        is_over: false,
        _permits: permits,
    };
    let events = stream::unfold(follower, Follower::next);
    Ok(streams::until_closed(&app, revoked, events))
}

struct Follower {
    app: Arc<App>,
    job: JobId,
    attempt: u32,
    /// The number of the next line.
    next: u64,
    notices: Notices,
    events: VecDeque<SseEvent>,
    is_over: bool,
    _permits: StreamPermits,
}

impl Follower {
    async fn next(mut self) -> Option<(Result<SseEvent, Infallible>, Self)> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some((Ok(event), self));
            }
            if self.is_over {
                return None;
            }
            // A store that is away comes back.
            let read = self.read().await;
            if read.is_err() || (self.events.is_empty() && !self.is_over) {
                self.wait().await?;
            }
        }
    }

    /// Reads new lines. The job is read first, so that the lines of an attempt that is over are all
    /// stored.
    async fn read(&mut self) -> Result<(), Problem> {
        let job = self.app.client.job(self.job).await?;
        let is_over = job.is_none_or(|job| is_over(&job, self.attempt));
        let log = log_of(&self.app, self.job, self.attempt, self.next).await?;
        // More lines than one answer has may follow.
        self.is_over = is_over && log.lines.is_empty();
        for line in log.lines {
            if line.number > self.next {
                let lines = line.number - self.next;
                let dropped = LogEventBody::Dropped { lines };
                self.events.push_back(event("dropped", &dropped));
            }
            self.next = line.number.saturating_add(1);
            let id = line.number.to_string();
            let line = event("log", &LogEventBody::Line(line));
            self.events.push_back(line.id(id));
        }
        if self.is_over {
            let (attempt, next) = (self.attempt, self.next);
            let end = LogEventBody::End { attempt, next };
            self.events.push_back(event("end", &end));
        }
        Ok(())
    }

    /// Waits for news of the job, or for a moment; `None` if the node stops.
    async fn wait(&mut self) -> Option<()> {
        let pause = tokio::time::sleep(limits::LOG_FOLLOW_CHECK_EVERY);
        tokio::pin!(pause);
        loop {
            tokio::select! {
                () = &mut pause => return Some(()),
                notice = self.notices.next() => if notice?.job == self.job {
                    return Some(());
                },
            }
        }
    }
}

/// Whether nothing more will be logged in this attempt.
fn is_over(job: &Job, attempt: u32) -> bool {
    let progress = &job.progress;
    let has_begun = progress.attempt >= attempt;
    let is_running = progress.state == JobState::Running && progress.attempt == attempt;
    progress.state.is_final() || (has_begun && !is_running)
}

fn event(name: &str, data: &LogEventBody) -> SseEvent {
    let event = SseEvent::default().event(name);
    // It has no keys that are not text.
    event.json_data(data).unwrap_or_default()
}
