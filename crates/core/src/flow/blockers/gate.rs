//! What blocks a job at a gate: the limit that is reached, or the person or destination that closed it.

use std::time::Duration;

use super::{
    Blocker, BlockerKind, ClosedBy, GateHolder, GateSnapshot, StartFacts, by_hand, destination,
    estimate::after_starts, subject,
};
use crate::{
    explain::{brief, count_of, whole_second},
    flow::{GateId, GateLimits, PaceLimit, Rate, SharedQuota, UsageWait},
    job::cost::amount_text,
    values::Timestamp,
};

/// How many holders a sentence names.
const NAMED_HOLDERS: usize = 3; // not a limit: of a sentence

impl StartFacts<'_> {
    pub(super) fn closed(
        &self,
        reading: &GateSnapshot,
        closed_by: ClosedBy,
        now: Timestamp,
    ) -> Blocker {
        let id = &reading.gate.id;
        let blocker = match &closed_by {
            ClosedBy::Pause(pause) => by_hand::paused(id, pause, now),
            ClosedBy::MaxRunning => max_running(reading, now),
            ClosedBy::Rate(until) => self.rate(reading, *until, now),
            ClosedBy::Usage(wait) => usage(id, wait),
            ClosedBy::RetryShare(until) => retry_share(reading, *until),
            ClosedBy::Hold { until, incident } => self.hold(reading, *until, incident, now),
            ClosedBy::ManualHold { until, hold } => by_hand::held(id, *until, hold, now),
            ClosedBy::Ramp { until, rate } => destination::ramp(reading, *until, rate, now),
            ClosedBy::RetryAfter(retry_after) => self.retry_after(id, retry_after, now),
            ClosedBy::Pace { until, pace } => learned_pace(reading, *until, *pace, now),
            ClosedBy::Quota { until, quota } => self.quota(reading, *until, quota, now),
        };
        Blocker {
            gate: Some(id.clone()),
            action: self.action_at(id, blocker.kind, &blocker.action),
            ..blocker
        }
    }

    /// The suggested action for a gate: a tenant changes its own, the operator all others.
    fn action_at(&self, id: &GateId, kind: BlockerKind, action: &str) -> String {
        // Only operators release what is held.
        let is_own = id.tenant.as_ref() == Some(&self.job.tenant) && kind != BlockerKind::Held;
        let mut letters = action.chars();
        match letters.next() {
            Some(first) if self.is_of_tenant && !is_own => {
                let first = first.to_lowercase();
                format!("Ask the operator to {first}{}", letters.as_str())
            }
            _ => action.to_owned(),
        }
    }

    fn rate(&self, reading: &GateSnapshot, until: Timestamp, now: Timestamp) -> Blocker {
        let id = &reading.gate.id;
        let rate = reading.gate.limits.rate;
        let pace = rate.map_or(String::new(), |rate| format!(" ({rate})"));
        let sentence = format!(
            "{} has reached its rate limit{pace}; next slot in {}.",
            subject(id),
            brief(until.since(now))
        );
        let mut blocker = Blocker::new(
            BlockerKind::Rate,
            sentence,
            Some(until),
            format!("Raise the rate of {id}."),
        );
        // Those before it start first, at this rate.
        let interval = rate.as_ref().map_or(Duration::ZERO, Rate::interval);
        blocker.likely = Some(after_starts(until, reading.ahead, interval));
        blocker
    }

    /// The blocker at a limit that has room, if similar jobs ahead of this one use all of it.
    pub(super) fn behind_others(
        &self,
        reading: &GateSnapshot,
        limits: &GateLimits,
        room: u32,
        now: Timestamp,
    ) -> Option<Blocker> {
        let alike = self.alike();
        // Which of several jobs is the probe is found by the claim.
        if u64::from(room) > alike || limits.is_for_probes() {
            return None;
        }
        let id = &reading.gate.id;
        let kind = match limits {
            GateLimits { rate: Some(_), .. } => BlockerKind::Rate,
            GateLimits {
                retry_share: Some(_),
                ..
            } => BlockerKind::RetryShare,
            GateLimits {
                destination: Some(limit),
                ..
            } if limit.quota().is_some() => BlockerKind::Quota,
            GateLimits {
                destination: Some(_),
                ..
            } => BlockerKind::Ramping,
            GateLimits {
                learned: Some(_), ..
            } => BlockerKind::Pace,
            _ => BlockerKind::MaxRunning,
        };
        let sentence = format!(
            "{} currently has room for {}, and {} ahead.",
            subject(id),
            count_of(room.into(), "start", "starts"),
            count_of(alike, "similar job is", "similar jobs are"),
        );
        let action = match kind {
            BlockerKind::Rate => format!("Raise the rate of {id}."),
            BlockerKind::RetryShare => format!("Raise retryShare of {id}."),
            BlockerKind::MaxRunning => format!("Raise maxRunning of {id}."),
            BlockerKind::Pace => pace_action(id),
            _ => String::new(),
        };
        let later = (alike + 1).saturating_sub(room.into());
        let quota = limits.destination.as_ref().and_then(|limit| limit.quota());
        let interval = limits.rate.as_ref().map(Rate::interval);
        let interval = interval.or_else(|| quota.map(SharedQuota::interval));
        Some(Blocker {
            gate: Some(id.clone()),
            likely: interval.map(|interval| after_starts(now, later, interval)),
            ..Blocker::new(kind, sentence, None, self.action_at(id, kind, &action))
        })
    }
}

fn max_running(reading: &GateSnapshot, now: Timestamp) -> Blocker {
    let id = &reading.gate.id;
    let running = reading.state.running;
    let most = reading.gate.limits.most_running().unwrap_or(running);
    let attempts = count_of(most.into(), "attempt", "attempts");
    let mut sentence = format!(
        "{} allows {attempts} at once; {running} running",
        subject(id)
    );
    let named: Vec<_> = reading
        .holders
        .iter()
        .take(NAMED_HOLDERS)
        .map(|holder| holder_name(holder, now))
        .collect();
    if !named.is_empty() {
        sentence.push_str(&format!(": {}", named.join(", ")));
        let more = usize::try_from(running)
            .unwrap_or(0)
            .saturating_sub(named.len());
        if more > 0 {
            sentence.push_str(&format!(" and {more} more"));
        }
    }
    sentence.push('.');
    let action = match reading.gate.limits.ordered {
        true => String::new(),
        false => format!("Raise maxRunning of {id} (currently {most})."),
    };
    Blocker {
        holders: reading.holders.clone(),
        ..Blocker::new(BlockerKind::MaxRunning, sentence, None, action)
    }
}

fn usage(id: &GateId, wait: &UsageWait) -> Blocker {
    let UsageWait {
        rate,
        needed,
        free,
        until,
    } = wait;
    let sentence = format!(
        "{} waits for {} {}; {} of {rate} free; enough at {}.",
        subject(id),
        amount_text(*needed),
        rate.unit,
        amount_text(*free),
        whole_second(*until)
    );
    let action = format!("Raise the limit of {} in rates of {id}.", rate.unit);
    Blocker::new(BlockerKind::Usage, sentence, Some(*until), action)
}

fn learned_pace(
    reading: &GateSnapshot,
    until: Option<Timestamp>,
    pace: PaceLimit,
    now: Timestamp,
) -> Blocker {
    let id = &reading.gate.id;
    let calls = count_of(pace.at(now).into(), "call", "calls");
    let running = reading.state.running;
    let known = match pace.is_found() {
        true => format!("{calls} at once were found to be what it takes"),
        false => format!("{calls} at once are allowed while its pace is learned"),
    };
    let next = until.map_or(String::new(), |until| {
        format!("; one more is tried in {}", brief(until.since(now)))
    });
    let sentence = format!("{}: {known}, {running} running{next}.", subject(id));
    Blocker {
        holders: reading.holders.clone(),
        // Those before it start first, and what the next answers say is not known.
        likely: None,
        ..Blocker::new(BlockerKind::Pace, sentence, None, pace_action(id))
    }
}

fn pace_action(id: &GateId) -> String {
    format!("Set pace of {id} to off if you know that it takes more calls at once.")
}

fn holder_name(holder: &GateHolder, now: Timestamp) -> String {
    let worker = holder.worker.as_ref();
    let worker = worker.map_or(String::new(), |worker| format!(" on {worker}"));
    format!(
        "{}{worker} for {}",
        holder.job,
        brief(now.since(holder.since))
    )
}

fn retry_share(reading: &GateSnapshot, until: Timestamp) -> Blocker {
    let id = &reading.gate.id;
    let share = reading
        .gate
        .limits
        .retry_share
        .map_or(0.0, |share| share.get());
    let percent = (share * 1_000.0).round() / 10.0;
    let sentence = format!(
        "{} has reached its limit for retries ({percent}% of starts per minute); this retry may \
         start at {}, or earlier if more first attempts start.",
        subject(id),
        whole_second(until)
    );
    let action = format!("Raise retryShare of {id}.");
    Blocker::new(BlockerKind::RetryShare, sentence, Some(until), action)
}
