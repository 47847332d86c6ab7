//! Cursors of lists, as text that clients send back unchanged.

use std::fmt::Display;

use steadfast_core::{Fence, Timestamp};
use steadfast_store::{AttemptCursor, PageRequest};

use crate::{http::Problem, limits};

/// A page of a list whose cursor is an id.
pub fn page<Cursor: std::str::FromStr>(
    limit: Option<usize>,
    default: usize,
    after: Option<&str>,
) -> Result<PageRequest<Cursor>, Problem> {
    Ok(PageRequest {
        limit: size(limit, default)?,
        after: after
            .map(|text| text.parse().map_err(|_| bad()))
            .transpose()?,
    })
}

/// A page of a list that is at hand, in the order of its keys, and the cursor of the next one:
/// the key of its last item.
pub fn page_of_all<T>(
    mut items: Vec<T>,
    limit: Option<usize>,
    after: Option<&str>,
    key: impl Fn(&T) -> String,
) -> Result<(Vec<T>, Option<String>), Problem> {
    let limit = size(limit, limits::PAGE_MAX)?;
    items.sort_by_cached_key(&key);
    if let Some(after) = after {
        items.retain(|item| *key(item) > *after);
    }
    let has_more = items.len() > limit;
    items.truncate(limit);
    let next = items.last().filter(|_| has_more).map(key);
    Ok((items, next))
}

/// The size of a page.
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

fn bad() -> Problem {
    Problem::invalid(
        "after",
        "after is not a cursor of this list: send the nextCursor of the previous page",
    )
}

/// The cursor of the next page, as text.
pub fn next(cursor: Option<impl Display>) -> Option<String> {
    cursor.map(|cursor| cursor.to_string())
}

/// The cursor of a list of attempts: end time, job and fence.
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
    check(parsed().ok_or_else(bad)?, of_attempt, text)
}

pub fn of_tick(tick: Timestamp) -> String {
    tick.as_micros().to_string()
}

pub fn tick(text: &str) -> Result<Timestamp, Problem> {
    let micros = text.parse().map_err(|_| bad())?;
    check(Timestamp::from_micros(micros), of_tick, text)
}

/// Numbers have many spellings, and times have limits; a list writes one text for each cursor.
fn check<T: Copy>(cursor: T, write: fn(T) -> String, text: &str) -> Result<T, Problem> {
    if write(cursor) == text {
        Ok(cursor)
    } else {
        Err(bad())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_a_list_meet_each_item_once() {
        let names: Vec<String> = (0..7).rev().map(|name| format!("n{name}")).collect();
        let (mut met, mut after, mut sizes) = (Vec::new(), None, Vec::new());
        loop {
            let page = page_of_all(names.clone(), Some(3), after.as_deref(), String::clone);
            let (items, next) = page.unwrap();
            sizes.push(items.len());
            met.extend(items);
            match next {
                Some(_) => after = next,
                None => break,
            }
        }
        assert_eq!(met, ["n0", "n1", "n2", "n3", "n4", "n5", "n6"]);
        assert_eq!(sizes, [3, 3, 1]);
        let exact = page_of_all(names, Some(7), None, String::clone).unwrap();
        assert_eq!(exact.1, None);
        assert!(page_of_all(vec![""], Some(0), None, ToString::to_string).is_err());
    }

    #[test]
    fn only_text_that_a_list_wrote_is_a_cursor() {
        let id = "job_01hzy3v7m8k9p2q4r5s6t7vwxy";
        assert!(tick("5").is_ok() && attempt(&format!("5.{id}.1")).is_ok());
        for text in ["", "+5", "05", "-1", "9223372036854775807", "5.", " 5"] {
            assert!(tick(text).is_err(), "{text}");
        }
        for (finished_at, fence) in [("+5", "1"), ("5", "+1"), ("5", "01"), ("-5", "1")] {
            let text = format!("{finished_at}.{id}.{fence}");
            assert!(attempt(&text).is_err(), "{text}");
        }
    }
}
