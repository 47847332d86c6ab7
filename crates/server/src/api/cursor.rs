//! Where a list goes on, as text that clients hand back unread.

use std::fmt::Display;

use steadfast_core::{Fence, Timestamp};
use steadfast_store::{AttemptCursor, Page};

use crate::{limits, problem::Problem};

/// A page of a list whose cursor is an id.
pub fn page<Cursor: std::str::FromStr>(
    limit: Option<usize>,
    default: usize,
    after: Option<&str>,
) -> Result<Page<Cursor>, Problem> {
    Ok(Page {
        limit: size(limit, default)?,
        after: after
            .map(|text| text.parse().map_err(|_| bad()))
            .transpose()?,
    })
}

pub fn size(limit: Option<usize>, default: usize) -> Result<usize, Problem> {
    let limit = limit.unwrap_or(default);
    if (1..=limits::PAGE_MAX).contains(&limit) {
        return Ok(limit);
    }
    let detail = format!(
        "limit is {limit}: must be between 1 and {}",
        limits::PAGE_MAX
    );
    Err(Problem::invalid("limit", detail))
}

pub fn bad() -> Problem {
    Problem::invalid(
        "after",
        "after is no cursor of this list: use nextCursor as it was given",
    )
}

pub fn next(cursor: Option<impl Display>) -> Option<String> {
    cursor.map(|cursor| cursor.to_string())
}

/// Attempts: when it ended, of which job, under which claim.
pub fn of_attempt(cursor: AttemptCursor) -> String {
    let AttemptCursor {
        finished_at,
        job,
        fence,
    } = cursor;
    format!("{}.{job}.{}", finished_at.as_micros(), fence.0)
}

pub fn attempt(text: &str) -> Result<AttemptCursor, Problem> {
    let parsed = || {
        let mut parts = text.split('.');
        let cursor = AttemptCursor {
            finished_at: Timestamp::from_micros(parts.next()?.parse().ok()?),
            job: parts.next()?.parse().ok()?,
            fence: Fence(parts.next()?.parse().ok()?),
        };
        parts.next().is_none().then_some(cursor)
    };
    parsed().ok_or_else(bad)
}

pub fn of_tick(tick: Timestamp) -> String {
    tick.as_micros().to_string()
}

pub fn tick(text: &str) -> Result<Timestamp, Problem> {
    let micros = text.parse().map_err(|_| bad())?;
    Ok(Timestamp::from_micros(micros))
}
