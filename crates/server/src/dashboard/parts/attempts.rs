//! The attempts of a job that have ended, as its page shows them.

use steadfast_core::{
    Attempt, AttemptStatus, Job, Note,
    explain::{self, brief},
};

use crate::{
    dashboard::parts::{
        failure_row::failure_address,
        format::Excerpt,
        http_view::{PhasesView, ResponseView, exchange},
    },
    limits,
    theme::{Layout, PageTime},
};

/// An attempt that has ended.
pub struct AttemptRow {
    pub number: u32,
    /// Unlike the number, it is unique: a snoozed attempt is repeated under its number.
    pub fence: u32,
    pub retry: String,
    pub is_question: bool,
    pub is_first_after_requeue: bool,
    /// Who has requeued it before this attempt, if that is known.
    pub requeued_by: Option<String>,
    pub status: &'static str,
    pub class: &'static str,
    pub started: PageTime,
    pub took: String,
    pub worker: String,
    pub failure: Option<String>,
    /// The query string of the failure's group.
    pub failure_address: Option<String>,
    pub output: Option<Excerpt>,
    pub note: Option<String>,
    pub trace: Option<TraceView>,
    /// The response, if the attempt was a request.
    pub response: Option<ResponseView>,
    /// Where its time went, if it was a request.
    pub phases: Option<PhasesView>,
    pub explanation: Option<String>,
    pub next: Option<PageTime>,
}

impl AttemptRow {
    pub fn of(attempt: &Attempt, job: &Job, layout: &Layout) -> Self {
        let next = attempt.decision.as_ref().and_then(|it| it.next_run_at);
        let trace = attempt.failure.as_ref().and_then(|it| it.trace.as_ref());
        let (response, phases) = match job.kind.is_call() {
            true => exchange(attempt),
            false => (None, None),
        };
        // A call is shown in its parts.
        let is_call = response.is_some() || phases.is_some();
        let output = attempt.output.as_ref().filter(|_| !is_call);
        let worker = attempt.worker.as_ref().map(ToString::to_string);
        Self {
            number: attempt.attempt,
            fence: attempt.fence.0,
            retry: retry_name(attempt.retry_count()),
            is_question: attempt.status == AttemptStatus::Asked,
            is_first_after_requeue: attempt.is_first_after_requeue(),
            requeued_by: None,
            status: attempt.status.as_str(),
            class: status_class(attempt.status),
            started: layout.time(attempt.started_at),
            took: brief(attempt.duration()),
            worker: worker.unwrap_or_default(),
            failure: attempt.failure.as_ref().map(ToString::to_string),
            failure_address: attempt
                .failure
                .as_ref()
                .and_then(|failure| failure.fingerprint)
                .map(|fingerprint| failure_address(fingerprint, &job.tenant)),
            output: output.map(|it| Excerpt::json(it.as_str())),
            note: attempt.note.as_deref().map(shown_note),
            trace: trace.map(|it| TraceView::of(it)),
            response,
            phases,
            explanation: explain::decision(attempt),
            next: next.map(|at| layout.time(at)),
        }
    }
}

/// An attempt, and those before it that ended in the same way.
pub struct AttemptGroup {
    pub newest: AttemptRow,
    /// The others, the newest first; few are not folded.
    pub same: Vec<AttemptRow>,
}

impl AttemptGroup {
    /// Folds attempts, the newest first. A requeue begins anew.
    pub fn fold(rows: impl IntoIterator<Item = AttemptRow>) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for row in rows {
            match groups.last_mut() {
                Some(group) if group.is_continued_by(&row) => group.same.push(row),
                _ => groups.push(Self {
                    newest: row,
                    same: Vec::new(),
                }),
            }
        }
        groups.into_iter().flat_map(Self::unfold_few).collect()
    }

    fn is_continued_by(&self, row: &AttemptRow) -> bool {
        let last = self.same.last().unwrap_or(&self.newest);
        let is_failure = |row: &AttemptRow| row.failure.is_some();
        is_failure(last)
            && !last.is_first_after_requeue
            && last.status == row.status
            && last.same_failure() == row.same_failure()
    }

    fn unfold_few(self) -> Vec<Self> {
        if self.same.len() >= limits::ATTEMPTS_FOLDED_MIN {
            return vec![self];
        }
        let rows = std::iter::once(self.newest).chain(self.same);
        let alone = rows.map(|newest| Self {
            newest,
            same: Vec::new(),
        });
        alone.collect()
    }

    /// The folded attempts: `#3 to #61`.
    pub fn range(&self) -> String {
        match (self.same.last(), self.same.first()) {
            (Some(oldest), Some(newest)) => format!("#{} to #{}", oldest.number, newest.number),
            _ => String::new(),
        }
    }

    /// A name that stays when more attempts are folded.
    pub fn oldest_fence(&self) -> u32 {
        self.same.last().unwrap_or(&self.newest).fence
    }
}

impl AttemptRow {
    /// What makes failures the same: their group, or their text.
    fn same_failure(&self) -> Option<&String> {
        self.failure_address.as_ref().or(self.failure.as_ref())
    }
}

/// A stack trace by its lines.
pub struct TraceView {
    pub lines: Vec<String>,
    /// How many bytes there are, if it was cut.
    pub total_bytes: Option<usize>,
}

impl TraceView {
    fn of(text: &str) -> Self {
        let Excerpt { text, total_bytes } = Excerpt::of(text.to_owned());
        Self {
            lines: text.lines().map(str::to_owned).collect(),
            total_bytes,
        }
    }
}

pub fn shown_note(stored: &str) -> String {
    Note::read(stored).to_string()
}

/// The name of an attempt within its retry budget.
pub fn retry_name(retry_count: u32) -> String {
    match retry_count {
        0 => "first attempt".to_owned(),
        retry => format!("retry {retry}"),
    }
}

pub fn status_class(status: AttemptStatus) -> &'static str {
    match status {
        AttemptStatus::Success => "good",
        AttemptStatus::Failed | AttemptStatus::Lost => "bad",
        AttemptStatus::Snoozed
        | AttemptStatus::Cancelled
        | AttemptStatus::Released
        | AttemptStatus::Asked => "grey",
    }
}
