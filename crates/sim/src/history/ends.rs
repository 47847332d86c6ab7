//! The ends of attempts.

use steadfast_core::{
    Attempt, AttemptStatus, ConfirmAnswer, EventType, Guard, Job, JobState, Kind, Timestamp,
    Transition,
};
use steadfast_store::CommitResult;

use super::{Event, History};
use crate::{Invariant, expected::ExpectedJob};

/// One transition, the store's answer, and what could be read before and after.
pub struct CommitObservation {
    pub transition: Transition,
    pub answer: CommitResult,
    pub before: Option<Job>,
    pub after: Option<Job>,
    /// Which of the outbox there were already.
    pub outbox_before: Vec<bool>,
    pub outbox_after: Vec<Option<Job>>,
}

impl History {
    pub fn committed(&mut self, seen: &CommitObservation, now: Timestamp) {
        let CommitObservation {
            transition, answer, ..
        } = seen;
        let id = transition.job;
        let Guard {
            fence,
            cancel_requested,
            lease_expired,
            endpoints: _,
        } = transition.guard;
        let event = Event::Committed {
            fence,
            answer: *answer,
            to: transition.to.state,
            status: transition.record.as_ref().map(|record| record.status),
            run_at: transition.to.run_at,
        };
        self.tell(now, id, event);
        let known = self.jobs.get(&id).filter(|known| !known.gone).cloned();
        let Some(known) = known else {
            if *answer != CommitResult::Stale {
                self.broken(Invariant::FencesHold, id, "written, but it is not there");
            }
            return;
        };
        let holds = known.state == JobState::Running && known.fence == fence;
        let lease_is_over = !lease_expired || known.lease_until <= Some(now);
        let cancel_is_news = known.cancel_requested && !cancel_requested;
        let may_write = holds && lease_is_over && !cancel_is_news;
        match answer {
            CommitResult::Done if may_write => {
                self.check_age(transition, seen.before.as_ref(), now);
                self.ended(seen, now);
            }
            CommitResult::Done if was_written(&known, seen) => self.unchanged(seen),
            CommitResult::Done if cancel_is_news && holds => {
                let why = "an attempt ended as if no cancel had been requested";
                self.broken(Invariant::CancelledStays, id, why);
            }
            CommitResult::Done => {
                let why = format!("claim {} was ended, but it does not hold", fence.0);
                self.broken(Invariant::FencesHold, id, why);
            }
            CommitResult::Stale if may_write => {
                let why = format!("claim {} holds, but its end was refused", fence.0);
                self.broken(Invariant::OneRecord, id, why);
            }
            CommitResult::CancelRequested if !(holds && cancel_is_news) => {
                self.broken(Invariant::FencesHold, id, "no cancel was requested");
            }
            CommitResult::Stale
            | CommitResult::CancelRequested
            | CommitResult::EndpointsChanged
            | CommitResult::OutboxRefused(_) => self.unchanged(seen),
        }
    }

    /// Refused transitions were not written.
    fn unchanged(&mut self, seen: &CommitObservation) {
        let id = seen.transition.job;
        self.count_check(Invariant::FencesHold);
        if seen.before != seen.after {
            self.broken(Invariant::FencesHold, id, "changed by a stale commit");
        }
        let appeared = seen
            .outbox_after
            .iter()
            .zip(&seen.outbox_before)
            .any(|(after, before)| after.is_some() && !before);
        if appeared {
            let why = "deliveries were stored of a transition that was not";
            self.broken(Invariant::OutboxWithTransition, id, why);
        }
    }

    fn ended(&mut self, seen: &CommitObservation, now: Timestamp) {
        let CommitObservation { transition, .. } = seen;
        let (id, to) = (transition.job, &transition.to);
        let Some(known) = self.jobs.get_mut(&id) else {
            return;
        };
        let settled = known.claims.get_mut(&transition.guard.fence);
        let settled = settled.and_then(|claim| claim.settled.replace(transition.record.clone()));
        known.state = to.state;
        known.run_at = to.run_at;
        known.lease_until = None;
        known.cancel_requested = false;
        known.finished_at = to.finished_at;
        let status = transition.record.as_ref().map(|record| record.status);
        let takes_the_count_back = matches!(
            status,
            None | Some(AttemptStatus::Snoozed | AttemptStatus::Released | AttemptStatus::Asked)
        ) || known.is_question;
        // A release after which the job asks was an attempt.
        let opens_question = !known.is_question && to.questions_asked().is_some();
        known.used -= u32::from(takes_the_count_back && !opens_question);
        let answer = transition.record.as_ref().and_then(Attempt::answer);
        known.is_question = to.questions_asked().is_some();
        known.is_confirmed |= answer == Some(ConfirmAnswer::Done);
        known.has_snoozed |= status == Some(AttemptStatus::Snoozed);
        let is_due_news = wants_news(known, transition);
        self.note_end(id);
        if settled.is_some() {
            self.broken(Invariant::SettledStays, id, "its claim was settled twice");
        }
        if transition.record.is_some() {
            self.count_check(Invariant::OneRecord);
        }
        if to.state.is_final() {
            self.count_check(Invariant::SettledStays);
        }
        if to.state == JobState::Failed {
            self.count_check(Invariant::DeadLetters);
        }
        if is_due_news || !transition.outbox.is_empty() {
            self.count_check(Invariant::OutboxWithTransition);
        }
        let is_silent = is_due_news && transition.outbox.is_empty();
        if is_silent || seen.outbox_after.contains(&None) {
            let why = "a transition was stored without its deliveries";
            self.broken(Invariant::OutboxWithTransition, id, why);
        }
        for delivery in seen.outbox_after.iter().flatten() {
            self.learn(delivery, now);
        }
    }
}

/// Whether this is the transition that ended its claim, sent again.
fn was_written(known: &ExpectedJob, seen: &CommitObservation) -> bool {
    let transition = &seen.transition;
    match &transition.record {
        Some(_) => {
            let claim = known.claims.get(&transition.guard.fence);
            claim.and_then(|claim| claim.settled.as_ref()) == Some(&transition.record)
        }
        None => seen.before.as_ref().map(|job| &job.progress) == Some(&transition.to),
    }
}

/// The rule of which webhooks are sent, written down a second time.
fn wants_news(known: &ExpectedJob, transition: &Transition) -> bool {
    let failed = transition
        .record
        .as_ref()
        .is_some_and(|record| record.failure.is_some());
    let event = match transition.to.state {
        JobState::Succeeded => EventType::JobSucceeded,
        JobState::Failed => EventType::JobFailed,
        JobState::Cancelled => EventType::JobCancelled,
        JobState::Waiting if failed => EventType::JobRetrying,
        JobState::Waiting | JobState::Running => return false,
    };
    let own = known.webhook.as_ref();
    known.kind != Kind::webhook() && own.is_some_and(|own| own.events.contains(&event))
}
