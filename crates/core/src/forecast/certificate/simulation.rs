//! One run: jobs arrive, are claimed, call the target, and are retried, on a virtual clock.

mod claims;
mod groups;

use std::{collections::BinaryHeap, time::Duration};

use super::{
    CertificateSettings, Fault,
    callers::{CallerIndex, Callers},
    health::HealthKeeper,
    recovery::Course,
    target::{CallEnd, Target},
};
use crate::{
    failure::{Failure, FailureClass},
    job::{
        Job,
        attempt::{Claim, Outcome},
    },
    lifecycle::after_attempt,
    limits,
    policy::DiceSequence,
    state::JobState,
    values::{Invalid, Timestamp},
    webhook::delivery::Subscriptions,
};

use claims::ClaimGates;
use groups::{DueGroups, Event, Group, GroupSource};

pub struct Simulation {
    fault: Fault,
    now: Timestamp,
    fault_began: Timestamp,
    end: Timestamp,
    target: Target,
    callers: Callers,
    gates: ClaimGates,
    /// Only if jobs are held: otherwise it changes nothing for them.
    health: Option<HealthKeeper>,
    source: GroupSource,
    due: DueGroups,
    running: BinaryHeap<Event<Call>>,
    /// When a gate that is closed opens.
    opens_at: Option<Timestamp>,
    next_round: Timestamp,
    course: Course,
    dice: DiceSequence,
    steps: u64,
}

/// A group of calls in flight.
struct Call {
    claim: Claim,
    count: u32,
    caller: CallerIndex,
    end: CallEnd,
}

/// A minute that begins a whole one, because retry shares are counted by the minute.
const BEGIN: Timestamp = Timestamp::from_micros(1_767_225_600_000_000);

impl Simulation {
    pub fn new(settings: &CertificateSettings, fault: Fault, seed: u64) -> Result<Self, Invalid> {
        let fault_began = BEGIN.plus(limits::CERTIFICATE_WARM_UP);
        let fault_ended = fault_began.plus(settings.outage);
        let end = fault_ended.plus(settings.patience());
        let source = GroupSource::new(settings, BEGIN, end)?;
        let piece = limits::CERTIFICATE_PIECE.max(source.spacing() * 2);
        let rules = settings.gate.health.rules();
        Ok(Self {
            fault,
            now: BEGIN,
            fault_began,
            end,
            target: Target::new(settings, fault, fault_began),
            callers: Callers::new(settings.callers),
            gates: ClaimGates::new(settings, source.template()),
            health: settings.is_held().then(|| HealthKeeper::new(rules)),
            source,
            due: DueGroups::default(),
            running: BinaryHeap::new(),
            opens_at: None,
            next_round: BEGIN,
            course: Course::new(BEGIN, fault_ended, piece, settings.target.traffic),
            dice: DiceSequence::from_seed(seed),
            steps: 0,
        })
    }

    /// Plays until all is well for good, or the end.
    pub fn run(mut self) -> Course {
        while self.now < self.end && self.steps < limits::CERTIFICATE_STEPS_MAX {
            while let Some(call) = Event::pop_due(&mut self.running, self.now) {
                self.finish(call);
            }
            while self.source.next_at() <= self.now {
                let is_overload = self.fault == Fault::Overload && self.is_faulty();
                let factor = if is_overload {
                    limits::CERTIFICATE_OVERLOAD
                } else {
                    1
                };
                self.due.add(self.source.arrive(factor));
            }
            self.due.move_due(self.now);
            if self.next_round <= self.now {
                if self.is_over() {
                    break;
                }
                self.round();
            }
            self.start_due();
            self.now = self.next_event();
        }
        self.course
    }

    fn is_faulty(&self) -> bool {
        (self.fault_began..self.course.fault_ended).contains(&self.now)
    }

    /// Nothing can go wrong any longer: all has been well for a while, and few retries are to come.
    fn is_over(&self) -> bool {
        let well = || self.course.well_pieces(self.now) > limits::CERTIFICATE_WELL_PIECES;
        let after = self.course.fault_ended.plus(limits::CERTIFICATE_WARM_UP);
        self.now > after
            && self.due.retries() <= self.source.group_size().into()
            && self.health.as_ref().is_none_or(HealthKeeper::is_healthy)
            && well()
    }

    fn next_event(&self) -> Timestamp {
        let known = [
            Some(self.source.next_at()),
            Some(self.next_round),
            self.running.peek().map(|call| call.at),
            self.due.next_at(),
            self.opens_at.filter(|at| *at > self.now),
        ];
        let next = known.into_iter().flatten().min();
        next.unwrap_or(self.end).max(self.now)
    }

    /// What a node does every second.
    fn round(&mut self) {
        let every = match self.health {
            Some(_) => Duration::from_secs(1),
            None => limits::CERTIFICATE_PIECE,
        };
        self.next_round = self.now.plus(every);
        let waiting = self.due.waiting();
        self.course.wait(waiting, self.now);
        if let Some(keeper) = &mut self.health
            && let Some(health) = keeper.keep(waiting, self.now)
        {
            self.gates.set_health(health);
        }
    }

    fn start_due(&mut self) {
        self.opens_at = None;
        let mut may_retry = true;
        while let Some((is_retry, count)) = self.due.next(may_retry) {
            // Groups would fall apart into single jobs if each free slot took one.
            let least = count.min((self.source.group_size() / 4).max(1));
            let Some((caller, free)) = self.callers.room(least) else {
                return;
            };
            match self.gates.room(is_retry, least, self.now) {
                Ok(room) => {
                    let group = self.due.take(is_retry, free.min(room), self.source.ids());
                    if let Some(group) = group {
                        self.start(group, caller, is_retry);
                    }
                }
                Err(closed) => {
                    let opens = closed.until.into_iter().chain(self.opens_at);
                    self.opens_at = opens.min();
                    if !closed.is_for_retries {
                        return;
                    }
                    may_retry = false;
                }
            }
        }
    }

    fn start(&mut self, group: Group, caller: CallerIndex, is_retry: bool) {
        let Group { job, count } = group;
        self.gates.start(count, is_retry, self.now);
        self.callers.begin(caller, count);
        if self.now >= self.fault_began {
            self.course.attempts += u64::from(count);
        }
        let end = self.target.call(count, self.now);
        let call = Call {
            claim: job.claim(self.source.worker(), None, self.now),
            count,
            caller,
            end,
        };
        self.steps += 1;
        self.running.push(Event::new(end.at(), self.steps, call));
    }

    fn finish(&mut self, call: Call) {
        let Call {
            claim,
            count,
            caller,
            end,
        } = call;
        let (now, has_timed_out) = (end.at(), matches!(end, CallEnd::TimedOut(_)));
        self.callers.end(caller, count, has_timed_out);
        self.gates.end(count);
        let mut ended = claim.end(outcome(end), now);
        if let Some(keeper) = &mut self.health {
            keeper.add(&ended, count);
        }
        if matches!(end, CallEnd::Answered(_)) {
            self.course.succeed(count, now);
            return;
        }
        self.course.fail(count, now);
        ended.set_held_time(self.gates.held_time(ended.job(), now));
        let transition = after_attempt(&ended, &Subscriptions::default(), self.dice.next());
        match transition.to.state {
            JobState::Waiting => {
                let mut job = Job::clone(ended.job());
                job.progress = transition.to;
                self.due.add(Group { job, count });
            }
            _ if now >= self.fault_began => self.course.dead_letters += u64::from(count),
            _ => {}
        }
    }
}

fn outcome(end: CallEnd) -> Outcome {
    let failure = match end {
        CallEnd::Answered(_) => return Outcome::Success { output: None },
        CallEnd::TimedOut(_) => Failure::new(FailureClass::TIMEOUT, "no answer in time"),
        CallEnd::Refused(_) => Failure::new(FailureClass::CONNECTION, "connection refused"),
    };
    Outcome::Failure {
        failure,
        output: None,
    }
}
