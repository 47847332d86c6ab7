//! The logs of a job's newest attempts.

use steadfast_core::{Job, LogLevel};

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
            let log = log_of(&viewer.app, job.id, attempt, 0).await?;
            let skipped = log.lines.len().saturating_sub(LOG_LINES_SHOWN);
            let lines = log.lines.into_iter().skip(skipped).map(|line| LogRow {
                time: line.at.to_string(),
                level: line.level,
                text: line.text,
            });
            if log.next > 0 {
                views.push(Self {
                    attempt,
                    total: log.next,
                    lines: lines.collect(),
                });
            }
        }
        Ok(views)
    }

    /// How many lines are not shown.
    pub fn hidden(&self) -> u64 {
        self.total.saturating_sub(self.lines.len() as u64)
    }
}
