//! After the faults: everything must come to an end, and soon.

use std::time::Duration;

use steadfast_core::{Gate, JobCommand, JobState, OperationId};
use steadfast_store::{Clock as _, DocumentKind, DocumentPage, Outbox};

use super::Simulation;
use crate::{Invariant, tasks::at_once, workload};

const ROUND: Duration = Duration::from_secs(2);
/// No delay of the simulation is much longer.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// Longer than any delay, lease, schedule and retry of the simulation together.
const ROUNDS_MAX: usize = 1_200;

impl Simulation {
    pub(super) async fn drain(&mut self) {
        for node in 0..self.nodes.len() {
            self.nodes.set_awake(node, true);
        }
        let mut quiet_rounds = 0;
        for round in 0..ROUNDS_MAX {
            // What was asked for before the end of faults may still come to be.
            self.open_gates();
            self.close_batches();
            self.decide_for_waiting(round);
            self.round(round).await;
            quiet_rounds = if self.is_quiet() { quiet_rounds + 1 } else { 0 };
            // Each node has its turn after the last end, which batches have yet to count.
            if self.is_broken() || quiet_rounds > self.nodes.len() {
                break;
            }
            let pause = self.until_next();
            self.advance(pause).await;
        }
        let mut history = self.history.lock();
        history.count_check(Invariant::AllEnds);
        drop(history);
        if let Some(job) = self.unfinished() {
            let why = "it has not ended, long after all faults have";
            self.history.lock().broken(Invariant::AllEnds, job, why);
        }
        let missing = self.history.lock().missing_callback();
        if missing.is_some() {
            let why = "a callback was not made, though all jobs of its batch have ended";
            self.history.lock().broken(Invariant::AllEnds, missing, why);
        }
        if let Some(operation) = self.open_operation() {
            let why = format!("{operation} has not ended, long after all faults have");
            self.history.lock().broken(Invariant::AllEnds, None, why);
        }
    }

    /// The nodes do everything in order, and everything in progress continues until it waits.
    async fn round(&mut self, round: usize) {
        let inbox = self.tasks.inbox();
        let nodes = self.nodes.len();
        for node in 0..nodes {
            match node == round % nodes {
                true => self.nodes.do_everything(node, &inbox),
                false => self.nodes.keep_leases(node, &inbox),
            }
        }
        for _ in 0..12 {
            let ready = self.tasks.ready(|_| true);
            for index in ready.into_iter().rev() {
                self.poll(index).await;
            }
        }
    }

    /// How long to wait for what comes next: nothing is missed while nothing runs or is due.
    fn until_next(&mut self) -> Duration {
        if !self.tasks.ready(|_| true).is_empty() {
            return ROUND;
        }
        let (history, now) = (self.history.lock(), self.clock.now());
        let unfinished = history.jobs.values().filter(|known| !known.gone);
        let unfinished = unfinished.filter(|known| !known.state.is_final());
        let jobs = unfinished.map(|known| match known.state {
            JobState::Waiting => known.run_at,
            _ => now,
        });
        let schedules = history.schedules.values();
        let ticks = schedules.filter_map(|schedule| schedule.progress.next_tick);
        let next = jobs.chain(ticks).min();
        next.map_or(ROUND, |next| next.since(now).clamp(ROUND, PAUSE_MAX))
    }

    fn is_quiet(&self) -> bool {
        let schedules_are_over = {
            let history = self.history.lock();
            let mut schedules = history.schedules.values();
            schedules.all(|schedule| schedule.progress.is_over())
        };
        schedules_are_over
            && self.unfinished().is_none()
            && self.open_operation().is_none()
            && self.history.lock().missing_callback().is_none()
    }

    fn open_operation(&self) -> Option<OperationId> {
        let history = self.history.lock();
        history.open_operations().next().map(|record| record.id)
    }

    /// Jobs that wait for one that has failed would do so for ever: a person gives up one of them.
    fn decide_for_waiting(&mut self, round: usize) {
        let (waiting, inbox) = (self.history.lock().waiting_for_person(), self.tasks.inbox());
        let node = round % self.nodes.len();
        for (job, failed) in waiting {
            match failed {
                Some(failed) => self.nodes.decide(node, &inbox, failed, JobCommand::Discard),
                None => self.nodes.decide(node, &inbox, job, JobCommand::Cancel),
            }
        }
    }

    /// A batch that stays open never ends.
    fn close_batches(&self) {
        let open = self.history.lock().open_batches();
        for (id, _) in open {
            at_once(self.store.close_batch(id, None)).unwrap();
        }
    }

    /// What a person has closed for good would keep jobs from their end; other limits stay.
    fn open_gates(&self) {
        for stored in at_once(
            self.store
                .list_documents(DocumentKind::Gate, DocumentPage::All),
        )
        .unwrap()
        {
            let mut gate: Gate = stored.body.decode().unwrap();
            let pause = gate.limits.paused.take();
            if pause.is_some_and(|pause| pause.until.is_none()) {
                let opened = workload::document(&gate, stored.revision);
                at_once(self.store.save_document(opened, Outbox::default())).unwrap();
            }
        }
    }
}
