//! What a person has blocked: a gate that is paused, or a destination that is held.

use super::{Blocker, BlockerKind, subject};
use crate::{
    explain::{brief, whole_second},
    flow::{GateId, ManualHold, Pause},
    values::Timestamp,
};

pub(super) fn paused(id: &GateId, pause: &Pause, now: Timestamp) -> Blocker {
    let sentence = by_hand(id, "paused", pause.by.as_deref(), pause.since);
    let sentence = with_end(sentence, pause.reason.as_deref(), pause.until, now);
    let action = format!("Resume {id}.");
    Blocker {
        by: pause.by.clone(),
        since: Some(pause.since),
        ..Blocker::new(BlockerKind::Paused, sentence, pause.until, action)
    }
}

pub(super) fn held(
    id: &GateId,
    until: Option<Timestamp>,
    hold: &ManualHold,
    now: Timestamp,
) -> Blocker {
    let sentence = by_hand(id, "held", hold.by.as_deref(), hold.since);
    let sentence = with_end(sentence, hold.reason.as_deref(), until, now);
    let action = format!("Release {id}.");
    Blocker {
        by: hold.by.clone(),
        since: Some(hold.since),
        ..Blocker::new(BlockerKind::Held, sentence, until, action)
    }
}

fn by_hand(id: &GateId, what: &str, by: Option<&str>, since: Timestamp) -> String {
    let by = by.map_or(String::new(), |by| format!(" by {by}"));
    // Pauses that earlier versions made have no time.
    let since = match since.is_epoch() {
        true => String::new(),
        false => format!(" since {}", whole_second(since)),
    };
    format!("{} has been {what}{by}{since}", subject(id))
}

fn with_end(
    mut sentence: String,
    reason: Option<&str>,
    until: Option<Timestamp>,
    now: Timestamp,
) -> String {
    if let Some(reason) = reason {
        sentence.push_str(&format!(": {}", reason.trim_end_matches('.')));
    }
    if let Some(until) = until {
        let wait = brief(until.since(now));
        sentence.push_str(&format!("; ends automatically in {wait}"));
    }
    sentence.push('.');
    sentence
}
