//! How many jobs each worker holds.

use std::collections::HashMap;

use steadfast_core::{Job, Tenant, WorkerName};

/// Of some running jobs, by their holder. Workers of several tenants may have the same name.
#[derive(Default)]
pub struct RunningJobs(HashMap<(Tenant, WorkerName), usize>);

impl RunningJobs {
    pub fn add(&mut self, job: &Job) {
        if let Some(worker) = &job.progress.worker {
            let holder = (job.tenant.clone(), worker.clone());
            *self.0.entry(holder).or_default() += 1;
        }
    }

    /// Those of a holder that works for one tenant, or for all.
    pub fn of(&self, worker: &WorkerName, tenant: Option<&Tenant>) -> usize {
        let is_of = |(other, name): &(Tenant, WorkerName)| {
            name == worker && tenant.is_none_or(|own| own == other)
        };
        let held = self.0.iter().filter(|(holder, _)| is_of(holder));
        held.map(|(_, count)| count).sum()
    }
}
