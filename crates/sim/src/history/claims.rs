//! From the making of a job to the start of its attempts.

use std::time::Duration;

use steadfast_core::{
    Claim, Fence, Guarantee, Job, JobId, JobState, NewJob, Payload, StepName, Timestamp,
};
use steadfast_store::{ClaimRequest, EnqueueResult, RenewResult, Renewal};

use super::{Event, History};
use crate::{
    Invariant,
    audit::made_by,
    expected::{ExpectedClaim, ExpectedJob},
};

impl History {
    /// `stored` is the job of the answer as it can be read now, unless a later request of the same
    /// batch has the same answer.
    pub fn enqueued(
        &mut self,
        new: &NewJob,
        answer: EnqueueResult,
        stored: Option<&Job>,
        now: Timestamp,
    ) {
        let known_key = new.idempotency_key.as_ref().and_then(|key| {
            let key = (new.tenant.clone(), key.clone());
            self.keys.get(&key).copied()
        });
        if new.idempotency_key.is_some() {
            self.count_check(Invariant::OneKeyOneJob);
        }
        match (answer, known_key) {
            (EnqueueResult::Created(id, _), Some(old)) => {
                let why = format!("its key already made {old}");
                self.broken(Invariant::OneKeyOneJob, id, why);
            }
            (EnqueueResult::Created(id, at), None) => {
                self.learn(&new.clone().into_job(at), now);
                self.check_unique(id);
                self.note_after(id, new);
                self.note_batch(id, new);
                let stored = stored.filter(|_| new.extras().is_some());
                if let (Some(known), Some(stored)) = (self.jobs.get_mut(&id), stored) {
                    known.run_at = stored.progress.run_at;
                }
            }
            (EnqueueResult::Existing(id), Some(old)) if id != old => {
                let why = format!("its key belongs to {old}");
                self.broken(Invariant::OneKeyOneJob, id, why);
            }
            (EnqueueResult::Existing(id), _) if !self.jobs.contains_key(&id) => {
                self.broken(Invariant::JobsStay, id, "it never was made");
            }
            (EnqueueResult::Existing(id), _) => self.tell(now, id, Event::EnqueuedAgain),
            (EnqueueResult::Unique(id, result), _) => {
                self.answered_with_other(new, id, result, stored, now);
            }
        }
    }

    /// The store says that a key was used for another request, which may be of the same batch.
    pub fn conflicted(&mut self, batch: &[NewJob], index: usize, with: JobId) {
        self.count_check(Invariant::OneKeyOneJob);
        let new = &batch[index];
        let (tenant, key) = (new.tenant.clone(), new.idempotency_key.clone());
        let in_batch = batch[..index].iter().find(|other| {
            other.id == with && other.tenant == tenant && other.idempotency_key == key
        });
        let holder = key.and_then(|key| self.keys.get(&(tenant, key)).copied());
        if in_batch.is_none() && holder != Some(with) {
            let why = "it is reported to hold a key of another job";
            self.broken(Invariant::OneKeyOneJob, with, why);
        }
    }

    pub fn claimed(&mut self, request: &ClaimRequest, claims: &[Claim], now: Timestamp) {
        let mut running = self.running();
        for claim in claims {
            self.check_gates(claim, &mut running, now);
            self.check_holds(claim, now);
            self.check_claim(request, claim, now);
        }
        self.check_left(request, claims, &running, now);
    }

    // long: a table
    fn check_claim(&mut self, request: &ClaimRequest, claim: &Claim, now: Timestamp) {
        use Invariant::{
            AfterOthers, AttemptsHaveABudget, CancelledStays, NotEarly, NotLate,
            QuestionsRunNothing, SettledStays, TenantsApart,
        };
        let job = claim.job();
        let (id, fence) = (job.id, claim.fence());
        let worker = request.worker.clone();
        let Some(known) = self.jobs.get(&id).cloned() else {
            return self.broken(made_by(job), id, "claimed, but no client has created it");
        };
        // A request for a unique job whose answer was lost may have moved it.
        let run_at = match known.unique {
            Some(_) => job.progress.run_at,
            None => known.run_at,
        };
        let event = Event::Claimed {
            fence,
            worker,
            run_at,
        };
        self.tell(now, id, event);
        self.exercise_claim(request, &known);
        let checks = [
            (
                QuestionsRunNothing,
                known.is_confirmed,
                "claimed although its last attempt was confirmed",
            ),
            (
                QuestionsRunNothing,
                known.is_question != job.is_question(),
                "what should be a question is claimed as an attempt, or the other way round",
            ),
            (NotLate, known.is_late(now), "claimed too late"),
            (
                AfterOthers,
                known.is_blocked,
                "claimed while it waits for others",
            ),
            (CancelledStays, known.cancelled, "claimed after a cancel"),
            (
                SettledStays,
                known.state != JobState::Waiting,
                "claimed while it does not wait",
            ),
            (
                SettledStays,
                fence <= known.fence,
                "claimed under an old fence",
            ),
            (
                NotEarly,
                run_at > now || job.progress.started_at != Some(now),
                "claimed before its time",
            ),
            (
                TenantsApart,
                request
                    .tenant
                    .as_ref()
                    .is_some_and(|tenant| *tenant != job.tenant),
                "claimed for another tenant",
            ),
            (
                AttemptsHaveABudget,
                // What starts at most once has a stricter rule of its own.
                known.used > known.max_retries
                    && known.guarantee == Guarantee::AtLeastOnce
                    && !known.is_question,
                "claimed with its budget used up",
            ),
        ];
        for (invariant, is_broken, why) in checks {
            if is_broken {
                self.broken(invariant, id, why);
            }
        }
        let held = Self::held(job, &self.flow.gates, now);
        self.note_claim(job, fence, held);
    }

    /// Counts what a claim may break.
    fn exercise_claim(&mut self, request: &ClaimRequest, known: &ExpectedJob) {
        use Invariant::{
            AfterOthers, AtMostOnce, AttemptsHaveABudget, NotEarly, NotLate, QuestionsRunNothing,
            TenantsApart,
        };
        if known.is_question {
            self.count_check(QuestionsRunNothing);
        }
        self.count_check(NotEarly);
        if request.tenant.is_some() {
            self.count_check(TenantsApart);
        }
        if known.used > 0 {
            self.count_check(AttemptsHaveABudget);
        }
        if known.guarantee == Guarantee::AtMostOnce {
            self.count_check(AtMostOnce);
        }
        if known.start_before.is_some() {
            self.count_check(NotLate);
        }
        if !known.after.is_empty() {
            self.count_check(AfterOthers);
        }
    }

    fn note_claim(&mut self, job: &Job, fence: Fence, held: Duration) {
        let index = self.entries.len();
        let Some(known) = self.jobs.get_mut(&job.id) else {
            return;
        };
        known.state = JobState::Running;
        known.fence = fence;
        known.lease_until = job.progress.lease_until;
        known.cancel_requested = false;
        known.used += 1;
        let claim = ExpectedClaim {
            index,
            starts: 0,
            is_question: job.is_question(),
            held,
            settled: None,
        };
        known.claims.insert(fence, claim);
    }

    /// A handler, or a worker elsewhere, begins.
    pub fn started(&mut self, id: JobId, fence: Fence, now: Timestamp) {
        self.tell(now, id, Event::Started { fence });
        let Some(known) = self.jobs.get_mut(&id) else {
            return;
        };
        // Of an attempt that begins late, the job may ask already.
        if known.claims.get(&fence).is_some_and(|it| it.is_question) {
            let why = "the job was run in place of a question";
            return self.broken(Invariant::QuestionsRunNothing, id, why);
        }
        known.starts += 1;
        let starts = known.starts;
        let guarantee = known.guarantee;
        let again = known.claims.get_mut(&fence).map(|claim| {
            claim.starts += 1;
            claim.starts
        });
        if again != Some(1) {
            let why = format!("claim {} started {again:?} times", fence.0);
            self.broken(Invariant::SettledStays, id, why);
        }
        if guarantee == Guarantee::AtMostOnce && starts > 1 {
            self.broken(
                Invariant::AtMostOnce,
                id,
                format!("it started {starts} times"),
            );
        }
    }

    pub fn renewed(&mut self, renewal: &Renewal, answer: RenewResult, now: Timestamp) {
        let (id, fence) = (renewal.job, renewal.fence);
        let held = answer != RenewResult::Lost;
        self.tell(now, id, Event::Renewed { fence, held });
        let holds = self
            .jobs
            .get(&id)
            .is_some_and(|known| known.state == JobState::Running && known.fence == fence);
        if !holds {
            self.count_check(Invariant::FencesHold);
        }
        if holds != held {
            let why = format!("its claim {} holds: {holds}; renewed: {held}", fence.0);
            self.broken(Invariant::FencesHold, id, why);
        }
        if let (RenewResult::Held { until, .. }, Some(known)) = (answer, self.jobs.get_mut(&id)) {
            known.lease_until = Some(until);
        }
    }

    pub fn step_ran(&mut self, id: JobId, fence: Fence, step: &StepName, now: Timestamp) {
        let name = step.clone();
        self.tell(now, id, Event::StepRan { fence, step: name });
        let Some(known) = self.jobs.get(&id) else {
            return;
        };
        let claimed = known.claims.get(&fence).map(|claim| claim.index);
        let kept = known.steps.get(step).map(|(index, _)| *index);
        if kept.is_some() && kept < claimed {
            let why = format!("step {step} ran again under claim {}", fence.0);
            self.broken(Invariant::StepsOnce, id, why);
        }
    }

    pub fn recalled(&mut self, id: JobId, step: &StepName, answer: Option<&Payload>) {
        let known = self.jobs.get(&id).filter(|known| !known.gone);
        let kept = known.and_then(|known| known.steps.get(step));
        let kept = kept.map(|(_, result)| result.clone());
        if kept.is_some() {
            self.count_check(Invariant::StepsOnce);
            if kept.as_ref() != answer {
                let why = format!("the result of step {step} is forgotten");
                self.broken(Invariant::StepsOnce, id, why);
            }
        }
    }

    pub fn remembered(&mut self, id: JobId, step: &StepName, answer: &Payload, now: Timestamp) {
        let index = self.entries.len();
        let step = step.clone();
        let Some(known) = self.jobs.get_mut(&id).filter(|known| !known.gone) else {
            return;
        };
        let kept = known.steps.entry(step.clone());
        let is_first = kept.or_insert((index, answer.clone())).1 == *answer;
        self.tell(now, id, Event::StepKept { step });
        if !is_first {
            self.broken(Invariant::StepsOnce, id, "a later result is kept");
        }
    }
}
