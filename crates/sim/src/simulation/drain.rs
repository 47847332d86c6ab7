//! After the faults: everything must come to an end, and soon.

use std::time::Duration;

use steadfast_core::Gate;
use steadfast_store::DocumentKind;

use super::Simulation;
use crate::{Invariant, tasks::at_once, workload};

const ROUND: Duration = Duration::from_secs(2);
/// Longer than any delay, lease, schedule and retry of the simulation together.
const ROUNDS_MAX: usize = 1_200;

impl Simulation {
    pub(super) async fn drain(&mut self) {
        for node in 0..self.nodes.len() {
            self.nodes.set_awake(node, true);
        }
        for _ in 0..ROUNDS_MAX {
            // What was asked for before the end of faults may still come to be.
            self.open_gates();
            self.round().await;
            if self.is_broken() || self.is_quiet() {
                break;
            }
            self.advance(ROUND).await;
        }
        let mut history = self.history.lock();
        history.exercise(Invariant::AllEnds);
        drop(history);
        if let Some(job) = self.unfinished() {
            let why = "it has not ended, long after all faults have";
            self.history.lock().broken(Invariant::AllEnds, job, why);
        }
    }

    /// Every node does everything once, and everything under way goes as far as it can.
    async fn round(&mut self) {
        let inbox = self.tasks.inbox();
        for node in 0..self.nodes.len() {
            self.nodes.do_everything(node, &inbox);
        }
        for _ in 0..12 {
            let ready = self.tasks.ready(|_| true);
            for index in ready.into_iter().rev() {
                self.poll(index).await;
            }
        }
    }

    fn is_quiet(&self) -> bool {
        let schedules_are_over = {
            let history = self.history.lock();
            let mut schedules = history.schedules.values();
            schedules.all(|schedule| schedule.progress.is_over())
        };
        schedules_are_over && self.unfinished().is_none()
    }

    /// What a person has closed for good would keep jobs from their end; other limits stay.
    fn open_gates(&self) {
        for stored in at_once(self.store.list_documents(DocumentKind::Gate)).unwrap() {
            let mut gate: Gate = stored.body.decode().unwrap();
            let pause = gate.limits.paused.take();
            if pause.is_some_and(|pause| pause.until.is_none()) {
                let opened = workload::document(&gate, stored.revision);
                at_once(self.store.save_document(opened, Vec::new())).unwrap();
            }
        }
    }
}
