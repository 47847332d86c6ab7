//! Blockers as sentences.

use std::time::Duration;

use super::{
    Blocker, BlockerKind, ClosedBy, GateHolder, GateSnapshot, JobSnapshot, PlaceSnapshot,
    StartFacts, after_starts,
};
use crate::{
    explain::{self, brief, count_of, thousands, whole_second},
    flow::{
        GateId, GateLimits, GateScope, Incident, IncidentCause, ManualHold, Pause, Rate,
        SharedRetryAfter,
    },
    job::start_deadline::ExpiryAction,
    limits,
    state::{EndReason, Guarantee, JobLabel},
    values::Timestamp,
};

/// How many holders a sentence names.
const NAMED_HOLDERS: usize = 3; // not a limit: of a sentence

/// The basis of an estimate.
pub(super) fn basis(blocker: &Blocker) -> String {
    match blocker.kind {
        BlockerKind::RunAt => "its due time",
        BlockerKind::Paused => "the end of the pause",
        BlockerKind::Held if blocker.evidence.is_none() => "the end of the hold",
        BlockerKind::Held => "the next probe, which may be this job",
        BlockerKind::RetryAfter => "the Retry-After of the destination",
        BlockerKind::Rate => "the rate limit and the jobs ahead",
        BlockerKind::Ramping => "the ramp-up, which doubles every second, and the jobs ahead",
        BlockerKind::RetryShare => "the end of this minute",
        BlockerKind::Behind => "the current start rate of its tenant",
        _ => "its blockers",
    }
    .to_owned()
}

impl StartFacts<'_> {
    pub(super) fn state(&self, now: Timestamp) -> Blocker {
        let label = self.job.label(now);
        let sentence = match (label, &self.job.progress.worker) {
            (JobLabel::Running, Some(worker)) => format!("It is already running, on {worker}."),
            (JobLabel::Running, None) => "It is already running.".to_owned(),
            (label, _) => format!("It has ended: {label}."),
        };
        let action = match (label, self.job.progress.reason) {
            (_, Some(EndReason::PrerequisiteFailed)) => {
                "Retry its prerequisite first, then this job."
            }
            (JobLabel::Failed | JobLabel::Cancelled, _) => "Retry the job.",
            _ => "",
        };
        Blocker::new(BlockerKind::State, sentence, None, action.to_owned())
    }

    pub(super) fn expired(&self, now: Timestamp) -> Option<Blocker> {
        let deadline = self.job.start_deadline()?;
        if !deadline.is_missed(&self.job.progress, now) {
            return None;
        }
        let end = match deadline.on_expiry() {
            ExpiryAction::Fail => "failed",
            ExpiryAction::Cancel => "cancelled",
        };
        let sentence = format!(
            "Its start deadline {} has passed: it will not start, and ends as {end} shortly.",
            whole_second(deadline.at())
        );
        let action = "Retry the job after it has ended.".to_owned();
        Some(Blocker::new(BlockerKind::Expired, sentence, None, action))
    }

    pub(super) fn run_at(&self, now: Timestamp) -> Option<Blocker> {
        let run_at = self.job.earliest_run_at();
        if run_at <= now {
            return None;
        }
        let (wait, at) = (brief(run_at.since(now)), whole_second(run_at));
        let mut sentence = format!("It is due in {wait}, at {at}.");
        let decision = self.last_attempt.and_then(explain::decision);
        if let Some(decision) = decision {
            sentence.push(' ');
            sentence.push_str(&decision);
        }
        let action = "Run the job now.".to_owned();
        Some(Blocker::new(
            BlockerKind::RunAt,
            sentence,
            Some(run_at),
            action,
        ))
    }

    pub(super) fn endpoint_disabled(&self) -> Option<Blocker> {
        let endpoint = self
            .endpoint
            .as_ref()
            .filter(|endpoint| endpoint.disabled)?;
        let since = endpoint.disabled_at;
        let at = since.map_or(String::new(), |at| format!(" since {}", whole_second(at)));
        let reason = endpoint.disabled_reason.as_ref();
        let reason = reason.map_or(String::new(), |reason| format!(" ({reason})"));
        let id = endpoint.id;
        let sentence = format!(
            "Its endpoint {id} has been disabled{at}{reason}: the delivery is sent when the endpoint is enabled."
        );
        let action = format!("Enable {id}.");
        Some(Blocker {
            since,
            ..Blocker::new(BlockerKind::EndpointDisabled, sentence, None, action)
        })
    }

    pub(super) fn runs_after_job(&self, other: &JobSnapshot, now: Timestamp) -> Blocker {
        let sentence = format!(
            "It waits for {}, which {}.",
            other.job,
            standing(other, now)
        );
        let action = first_job_action(other, now);
        Blocker {
            jobs: vec![other.job],
            ..Blocker::new(BlockerKind::RunsAfter, sentence, None, action)
        }
    }

    pub(super) fn ordered(&self, now: Timestamp) -> Option<Blocker> {
        let before = self.before_in_key.as_ref()?;
        let key = self.job.concurrency_key.as_ref();
        let key = key.map_or(String::new(), |key| format!(" {key}"));
        let sentence = format!(
            "Jobs with key{key} run in order; {} comes first and {}.",
            before.job,
            standing(before, now)
        );
        Some(Blocker {
            jobs: vec![before.job],
            ..Blocker::new(
                BlockerKind::Ordered,
                sentence,
                None,
                first_job_action(before, now),
            )
        })
    }

    pub(super) fn closed(
        &self,
        reading: &GateSnapshot,
        closed_by: ClosedBy,
        now: Timestamp,
    ) -> Blocker {
        let id = &reading.gate.id;
        let blocker = match &closed_by {
            ClosedBy::Pause(pause) => paused(id, pause, now),
            ClosedBy::MaxRunning => max_running(reading, now),
            ClosedBy::Rate(until) => self.rate(reading, *until, now),
            ClosedBy::RetryShare(until) => retry_share(reading, *until),
            ClosedBy::Hold { until, incident } => self.hold(reading, *until, incident, now),
            ClosedBy::ManualHold { until, hold } => held(id, *until, hold, now),
            ClosedBy::Ramp { until, rate } => ramp(reading, *until, rate, now),
            ClosedBy::RetryAfter(retry_after) => self.retry_after(id, retry_after, now),
        };
        Blocker {
            gate: Some(id.clone()),
            action: self.action_at(id, blocker.kind, &blocker.action),
            ..blocker
        }
    }

    /// The suggested action for a gate: a tenant changes its own, the operator all others.
    fn action_at(&self, id: &GateId, kind: BlockerKind, action: &str) -> String {
        let is_of_health = matches!(kind, BlockerKind::Held | BlockerKind::RetryAfter);
        let is_own = id.tenant.as_ref() == Some(&self.job.tenant) && !is_of_health;
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
                destination: Some(_),
                ..
            } => BlockerKind::Ramping,
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
            _ => String::new(),
        };
        let later = (alike + 1).saturating_sub(room.into());
        let rate = limits.rate.as_ref();
        Some(Blocker {
            gate: Some(id.clone()),
            likely: rate.map(|rate| after_starts(now, later, rate.interval())),
            ..Blocker::new(kind, sentence, None, self.action_at(id, kind, &action))
        })
    }

    fn hold(
        &self,
        reading: &GateSnapshot,
        until: Option<Timestamp>,
        incident: &Incident,
        now: Timestamp,
    ) -> Blocker {
        let id = &reading.gate.id;
        let mut sentence = format!(
            "{} has been held since {}: {}.",
            subject(id),
            incident.began_at,
            self.cause(&incident.cause)
        );
        match until {
            Some(until) if until > now => {
                let wait = brief(until.since(now));
                sentence.push_str(&format!(" The next probe may start in {wait}."));
            }
            _ if self.job.guarantee == Guarantee::AtMostOnce => {
                sentence.push_str(
                    " This job starts at most once, so it is not used as a probe and waits until a \
                     probe has succeeded.",
                );
            }
            _ => {}
        }
        let action = format!("Release {id} if you know that it works.");
        let is_next = reading.ahead == 0;
        Blocker {
            since: Some(incident.began_at),
            evidence: Some(self.visible_cause(&incident.cause)),
            // Behind others it is not the probe, and when one succeeds is not known.
            likely: until.filter(|_| is_next),
            ..Blocker::new(BlockerKind::Held, sentence, until, action)
        }
    }

    fn retry_after(&self, id: &GateId, retry_after: &SharedRetryAfter, now: Timestamp) -> Blocker {
        let by = match self.is_of_tenant {
            true => String::new(),
            false => format!("by {} ", retry_after.job),
        };
        let sentence = format!(
            "{} asked callers to wait (Retry-After with status {}, received {by}at {}); {} \
             remaining.",
            subject(id),
            retry_after.status,
            whole_second(retry_after.at),
            brief(retry_after.until.since(now))
        );
        let action = format!("Release {id} if you know that waiting is unnecessary.");
        Blocker {
            retry_after: (!self.is_of_tenant).then_some(*retry_after),
            ..Blocker::new(
                BlockerKind::RetryAfter,
                sentence,
                Some(retry_after.until),
                action,
            )
        }
    }

    fn cause(&self, of: &IncidentCause) -> String {
        cause(&self.visible_cause(of))
    }

    /// The text of a failure may belong to another tenant.
    fn visible_cause(&self, of: &IncidentCause) -> IncidentCause {
        let mut visible = of.clone();
        if self.is_of_tenant
            && let IncidentCause::Failures { newest, .. } = &mut visible
        {
            *newest = None;
        }
        visible
    }

    pub(super) fn no_worker(&self, now: Timestamp) -> Option<Blocker> {
        if self.workers.live > 0 {
            return None;
        }
        let (kind, queue) = (&self.job.kind, &self.job.queue);
        let seen = match &self.workers.last_seen {
            Some((worker, at)) => {
                let ago = brief(now.since(*at));
                format!("the last one, {worker}, was seen {ago} ago")
            }
            None => "none has ever been seen".to_owned(),
        };
        let sentence =
            format!("No live node or worker serves kind {kind} in queue {queue}; {seen}.");
        let action = format!("Start a node or worker for kind {kind} and queue {queue}.");
        Some(Blocker {
            since: self.workers.last_seen.as_ref().map(|(_, at)| *at),
            ..Blocker::new(BlockerKind::NoWorker, sentence, None, action)
        })
    }

    pub(super) fn behind(&self, now: Timestamp) -> Option<Blocker> {
        let PlaceSnapshot {
            ahead, at_least, ..
        } = self.place.filter(|place| place.ahead > 0)?;
        let jobs = count_of(
            ahead,
            "due job of its tenant is",
            "due jobs of its tenant are",
        );
        let sentence = match at_least {
            true => format!(
                "At least {} due jobs of its tenant are ahead of it.",
                thousands(ahead)
            ),
            false => format!("{jobs} ahead of it."),
        };
        let action = "Raise its priority or add workers.".to_owned();
        let interval = self
            .starts_per_second
            .filter(|pace| *pace > 0.0)
            .and_then(|pace| Duration::try_from_secs_f64(1.0 / pace).ok());
        Some(Blocker {
            ahead: Some(ahead),
            ahead_at_least: at_least,
            likely: interval.map(|interval| after_starts(now, ahead, interval)),
            ..Blocker::new(BlockerKind::Behind, sentence, None, action)
        })
    }
}

fn paused(id: &GateId, pause: &Pause, now: Timestamp) -> Blocker {
    let sentence = by_hand(id, "paused", pause.by.as_deref(), pause.since);
    let sentence = with_end(sentence, pause.reason.as_deref(), pause.until, now);
    let action = format!("Resume {id}.");
    Blocker {
        by: pause.by.clone(),
        since: Some(pause.since),
        ..Blocker::new(BlockerKind::Paused, sentence, pause.until, action)
    }
}

fn held(id: &GateId, until: Option<Timestamp>, hold: &ManualHold, now: Timestamp) -> Blocker {
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

fn holder_name(holder: &GateHolder, now: Timestamp) -> String {
    let worker = holder.worker.as_ref();
    let worker = worker.map_or(String::new(), |worker| format!(" on {worker}"));
    format!(
        "{}{worker} for {}",
        holder.job,
        brief(now.since(holder.since))
    )
}

fn ramp(reading: &GateSnapshot, until: Timestamp, rate: &Rate, now: Timestamp) -> Blocker {
    let id = &reading.gate.id;
    let sentence = format!(
        "{} has recovered, and starts ramp up gradually, currently {rate}; \
         next slot in {}.",
        subject(id),
        brief(until.since(now))
    );
    let mut blocker = Blocker::new(BlockerKind::Ramping, sentence, Some(until), String::new());
    // Twice as many each second: after n seconds, as many times the current rate as 2^n - 1.
    let turns = reading.ahead / u64::from(rate.limit.max(1)) + 1;
    let seconds = u64::BITS - turns.leading_zeros() - 1;
    blocker.likely = Some(until.plus(limits::RAMP_STEP * seconds));
    blocker
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

fn cause(cause: &IncidentCause) -> String {
    match cause {
        IncidentCause::Failures {
            attempts,
            failed,
            jobs,
            newest,
        } => {
            let newest = newest.as_ref();
            let newest = newest.map_or(String::new(), |newest| {
                format!(", most recently with {newest}")
            });
            let jobs = count_of((*jobs).into(), "job", "jobs");
            format!("{failed} of {attempts} attempts of {jobs} failed{newest}")
        }
        IncidentCause::ByHand { by, .. } => match by {
            Some(by) => format!("it was held by {by}"),
            None => "it was held manually".to_owned(),
        },
    }
}

/// For a job whose prerequisites are not known, or have just ended.
pub(super) fn runs_after_others() -> Blocker {
    let sentence = "It waits for other jobs.".to_owned();
    Blocker::new(BlockerKind::RunsAfter, sentence, None, String::new())
}

/// `Queue mail`, `The key customer 7 of tenant acme`.
fn subject(id: &GateId) -> String {
    let name = match id.scope {
        GateScope::Queue => "Queue",
        GateScope::Kind => "Kind",
        GateScope::Tenant => "Tenant",
        GateScope::Destination => "Destination",
        GateScope::Key => "Key",
    };
    match &id.tenant {
        Some(tenant) => format!("{name} {} of tenant {tenant}", id.key),
        None => format!("{name} {}", id.key),
    }
}

fn standing(other: &JobSnapshot, now: Timestamp) -> String {
    match other.label {
        JobLabel::Scheduled | JobLabel::Retrying if other.run_at > now => {
            format!(
                "is {}, due in {}",
                other.label,
                brief(other.run_at.since(now))
            )
        }
        JobLabel::Failed => "has failed".to_owned(),
        label => format!("is {label}"),
    }
}

fn first_job_action(other: &JobSnapshot, now: Timestamp) -> String {
    match other.label {
        JobLabel::Running => String::new(),
        _ if other.run_at > now => format!("Run {} now or cancel it.", other.job),
        JobLabel::Failed => format!("Retry {}.", other.job),
        _ => format!("Find out what blocks {}.", other.job),
    }
}
