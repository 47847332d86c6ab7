//! The logs of a job's newest attempts.

use steadfast_core::{Job, JobId, LogLevel};

use crate::{
    api::work::logs::log_of,
    dashboard::{page::PageError, viewer::Viewer},
    limits::{LOG_ATTEMPTS_SHOWN, LOG_LINES_SHOWN},
};

/// The newest lines that an attempt logged.
pub struct LogView {
    pub attempt: u32,
    /// How many lines there were, those included that are gone.
    pub total: u64,
    pub lines: Vec<LogRow>,
}

pub struct LogRow {
    pub time: String,
    pub level: LogLevel,
    pub text: String,
}

impl LogView {
    /// The logs of the newest attempts that logged something, the newest first.
    pub async fn of(viewer: &Viewer, job: &Job) -> Result<Vec<Self>, PageError> {
        let mut views = Vec::new();
        if !viewer.caller.sees_payloads() {
            return Ok(views);
        }
        let newest = job.progress.attempt;
        for attempt in (1..=newest).rev().take(LOG_ATTEMPTS_SHOWN) {
            let view = Self::of_attempt(viewer, job.id, attempt).await?;
            views.extend((view.total > 0).then_some(view));
        }
        Ok(views)
    }

    async fn of_attempt(viewer: &Viewer, job: JobId, attempt: u32) -> Result<Self, PageError> {
        let end = log_of(&viewer.app, job, attempt, u64::MAX).await?.next;
        let mut from = end.saturating_sub(LOG_LINES_SHOWN);
        let mut rows = Vec::new();
        while from < end {
            let log = log_of(&viewer.app, job, attempt, from).await?;
            let lines = log.lines.into_iter().map(|line| LogRow {
                time: line.at.to_string(),
                level: line.level,
                text: line.text,
            });
            rows.extend(lines);
            from = log.next.max(from + 1);
        }
        Ok(Self {
            attempt,
            total: end,
            lines: rows,
        })
    }

    /// How many lines are not shown.
    pub fn hidden(&self) -> u64 {
        self.total.saturating_sub(self.lines.len() as u64)
    }
}
