//! The checks of a request, and the job that it makes.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

use steadfast_core::{
    BatchId, ConcurrencyKey, ConfirmSettings, Cost, Debounce, Dependencies, Destination,
    ExpiryAction, IdempotencyKey, Invalid, JobId, Kind, NewJob, NewJobExtras, OnFailure, Priority,
    Queue, StartBefore, StartDeadline, Tenant, Timestamp, Traceparent, duration, limits,
};

use super::JobRequest;
use crate::documents::policy_levels::PolicyLevels;

impl JobRequest {
    /// The same for a job that is created with its batch, and has its tenant.
    pub(crate) fn for_batch(self, batch: BatchId, tenant: &Tenant) -> Result<Self, Invalid> {
        if let Some(other) = self.batch {
            let expected = "must be omitted for a job that is created with its batch";
            return Err(Invalid::new("batch", other, expected));
        }
        Ok(self.of_tenant(tenant)?.batch(batch))
    }

    fn of_tenant(self, tenant: &Tenant) -> Result<Self, Invalid> {
        match &self.tenant {
            Some(other) if other != tenant.as_str() => {
                let expected = format!("must be the tenant of the batch ({tenant}) or omitted");
                Err(Invalid::new("tenant", format!("{other:?}"), expected))
            }
            Some(_) | None => Ok(self.tenant(tenant.as_str())),
        }
    }

    /// Refuses what a job that a batch makes cannot have.
    pub(crate) fn check_callback(self, tenant: &Tenant) -> Result<Self, Invalid> {
        let expected = "must be omitted: a batch creates its callback exactly once";
        self.check_no_prerequisites(expected)?;
        self.check_no_batch("must be omitted: a batch callback cannot belong to a batch")?;
        if let Some(unique) = &self.unique {
            return Err(Invalid::new("unique", &unique.key, expected));
        }
        if let Some(key) = &self.idempotency_key {
            return Err(Invalid::new("idempotencyKey", format!("{key:?}"), expected));
        }
        if let Some(StartBefore::At(time)) = self.start_before {
            let expected =
                "must be a duration such as \"10m\": the creation time of the job is unknown";
            return Err(Invalid::new("startBefore", time, expected));
        }
        self.of_tenant(tenant)
    }

    /// Refuses a batch, where there can be none.
    fn check_no_batch(&self, expected: &str) -> Result<(), Invalid> {
        match self.batch {
            Some(batch) => Err(Invalid::new("batch", batch, expected)),
            None => Ok(()),
        }
    }

    /// The jobs that it waits for.
    fn dependencies(&self, id: JobId) -> Result<Option<Dependencies>, Invalid> {
        let Some(after) = &self.after else {
            return match self.on_failure {
                Some(action) => Err(Invalid::new("onFailure", action, "requires after")),
                None => Ok(None),
            };
        };
        if let Some(wait) = self.debounce {
            let expected = "must be omitted for a job that runs after others";
            return Err(Invalid::new("debounce", duration::format(wait), expected));
        }
        let on_failure = self.on_failure.unwrap_or(OnFailure::Wait);
        let dependencies = Dependencies::new(id, after.iter().copied(), on_failure)?;
        Ok(Some(dependencies.with_references(self.references.clone())))
    }

    /// Finds the jobs of the same list that it refers to, and adds its own name to them.
    pub(crate) fn resolve(
        &mut self,
        id: JobId,
        known: &mut HashMap<String, JobId>,
    ) -> Result<(), Invalid> {
        for name in std::mem::take(&mut self.after_references) {
            let Some(other) = known.get(&name) else {
                let expected = "must be the ref of an earlier job in the list";
                return Err(Invalid::new("after", format!("ref:{name}"), expected));
            };
            self.after.get_or_insert_default().push(*other);
            self.references.insert(*other, name);
        }
        let Some(name) = self.reference.take() else {
            return Ok(());
        };
        let most = limits::REFERENCE_BYTES_MAX;
        if !(1..=most).contains(&name.len()) {
            let expected = format!("must have 1 to {most} bytes");
            return Err(Invalid::new("ref", format!("{name:?}"), expected));
        }
        match known.entry(name) {
            Entry::Occupied(taken) => {
                let expected = "must be given to one job of the list";
                Err(Invalid::new("ref", format!("{:?}", taken.key()), expected))
            }
            Entry::Vacant(free) => {
                free.insert(id);
                Ok(())
            }
        }
    }

    /// Refuses references, where there is no list.
    pub(crate) fn check_no_references(&self) -> Result<(), Invalid> {
        let expected = "must be omitted: only jobs that are created in a list can be referred to";
        if let Some(name) = &self.reference {
            return Err(Invalid::new("ref", format!("{name:?}"), expected));
        }
        match self.after_references.first() {
            Some(name) => Err(Invalid::new("after", format!("ref:{name}"), expected)),
            None => Ok(()),
        }
    }

    /// Refuses jobs to wait for, where there can be none.
    fn check_no_prerequisites(&self, expected: &str) -> Result<(), Invalid> {
        match &self.after {
            Some(after) => {
                let value = format!("a list of {}", after.len());
                Err(Invalid::new("after", value, expected))
            }
            None => Ok(()),
        }
    }

    /// Refuses what a job that is made with the success of another cannot have: who has the unique
    /// key is known when the handler has returned, and no caller could be told of a conflict.
    pub(crate) fn check_outbox(&self) -> Result<(), Invalid> {
        let expected =
            "must be omitted: a job that is created when another succeeds cannot be unique";
        match &self.unique {
            Some(unique) => Err(Invalid::new("unique", &unique.key, expected)),
            None => Ok(()),
        }
    }

    /// Fields that only some jobs have.
    fn extras(&self, id: JobId, now: Timestamp) -> Result<NewJobExtras, Invalid> {
        let due = self.run_at.due(now);
        let unique = self.unique.as_ref();
        let debounce = match (self.debounce, self.debounce_max) {
            (Some(wait), most) => Some(Debounce::new(wait, most, unique, self.run_at)?),
            (None, Some(most)) => {
                let most = duration::format(most);
                return Err(Invalid::new("debounceMax", most, "requires debounce"));
            }
            (None, None) => None,
        };
        let start_before = match (self.start_before, self.on_expiry) {
            (Some(before), action) => {
                let action = action.unwrap_or(ExpiryAction::Fail);
                StartDeadline::new(before, action, due, now)?;
                Some((before, action))
            }
            (None, Some(action)) => {
                return Err(Invalid::new("onExpiry", action, "requires startBefore"));
            }
            (None, None) => None,
        };
        if let (Some(unique), Some(_)) = (unique, self.batch) {
            let expected = "must be omitted for a job of a batch";
            return Err(Invalid::new("unique", &unique.key, expected));
        }
        Ok(NewJobExtras {
            unique: self.unique.clone(),
            debounce,
            start_before,
            after: self.dependencies(id)?,
            batch: self.batch,
            confirm: self.confirm.clone(),
            cost: self.checked_cost()?,
            requested_by: None,
        })
    }

    /// Refuses what a schedule decides for each of its runs.
    pub(crate) fn check_template(&self) -> Result<(), Invalid> {
        let expected = "must be omitted: the schedule sets it for each run";
        self.run_at.check_now(expected)?;
        if let Some(key) = &self.idempotency_key {
            return Err(Invalid::new("idempotencyKey", format!("{key:?}"), expected));
        }
        if let Some(unique) = &self.unique {
            let expected = "must be omitted: use overlap of the schedule instead";
            return Err(Invalid::new("unique", &unique.key, expected));
        }
        self.check_no_prerequisites(
            "must be omitted: a run of a schedule cannot wait for other jobs",
        )?;
        self.check_no_batch("must be omitted: a run of a schedule cannot belong to a batch")?;
        if let Some(StartBefore::At(time)) = self.start_before {
            let expected =
                "must be a duration such as \"10m\": each run has a different start time";
            return Err(Invalid::new("startBefore", time, expected));
        }
        Ok(())
    }

    fn has_extras(&self) -> bool {
        self.unique.is_some()
            || self.debounce.is_some()
            || self.debounce_max.is_some()
            || self.start_before.is_some()
            || self.on_expiry.is_some()
            || self.after.is_some()
            || self.on_failure.is_some()
            || self.batch.is_some()
            || self.confirm.is_some()
            || !self.cost.is_empty()
    }

    fn checked_cost(&self) -> Result<Option<Cost>, Invalid> {
        let amounts = self.cost.iter();
        let cost = Cost::new(amounts.map(|(unit, amount)| (unit.as_str(), *amount)));
        let cost = cost.map_err(|error| error.within("cost"))?;
        Ok((!cost.is_empty()).then_some(cost))
    }

    /// Checks everything and resolves the retry policy.
    pub(crate) fn build(
        self,
        id: JobId,
        levels: &PolicyLevels,
        now: Timestamp,
    ) -> Result<NewJob, Invalid> {
        let tenant = self.tenant.as_deref().map(Tenant::new).transpose()?;
        let queue = self.queue.as_deref().map(Queue::new).transpose()?;
        let queue = queue.unwrap_or_default();
        let tenant = tenant.unwrap_or_default();
        let kind = Kind::new(&self.kind)?;
        let extras = match self.has_extras() {
            true => Some(self.extras(id, now)?),
            false => None,
        };
        let own = [&self.kind_retry, &self.retry];
        let policy = levels.resolve(&tenant, &queue, &kind, own)?;
        let mut job = NewJob::new(id, kind, self.payload?, policy);
        job.tenant = tenant;
        job.queue = queue;
        job.requested_retry = self.retry;
        if let Some(priority) = self.priority {
            job.priority = Priority::new(priority)?;
        }
        job.run_at = self.run_at;
        job.requested_rule = self.rule;
        job.guarantee = self.guarantee;
        let key = self.idempotency_key.as_deref();
        job.idempotency_key = key.map(IdempotencyKey::new).transpose()?;
        if let Some(timeout) = self.timeout {
            job = job.with_timeout(timeout)?;
        } else if let Some(timeout) = self.default_timeout {
            job = job.with_default_timeout(timeout)?;
        }
        if let Some(lease) = self.lease {
            job = job.with_lease(lease)?;
        }
        if let Some(webhook) = self.webhook {
            let checked = webhook
                .check()
                .and_then(|()| levels.check_delivery(&job.tenant, &webhook.events, &webhook.retry));
            checked.map_err(|error| error.within("webhook"))?;
            job.webhook = Some(Arc::new(webhook));
        }
        if !self.tags.is_empty() {
            job = job.with_tags(self.tags)?;
        }
        if let Some(traceparent) = &self.traceparent {
            job = job.with_traceparent(&Traceparent::new(traceparent)?);
        }
        job.destination = if job.kind == Kind::http() {
            Destination::of_call(&job.payload)
        } else {
            self.destination
                .as_deref()
                .map(Destination::new)
                .transpose()?
        };
        let key = self.concurrency_key.as_deref();
        job.concurrency_key = key.map(ConcurrencyKey::new).transpose()?;
        if let Some(confirm) = extras.as_ref().and_then(|it| it.confirm.as_ref()) {
            check_confirm(&job, confirm).map_err(|error| error.within("confirm"))?;
        }
        Ok(match extras {
            Some(extras) => job.with_extras(extras),
            None => job,
        })
    }
}

fn check_confirm(job: &NewJob, confirm: &ConfirmSettings) -> Result<(), Invalid> {
    confirm.check(&job.kind, job.timeout(), job.idempotency_key.as_ref())?;
    #[cfg(feature = "http")]
    crate::http::check_question(job, confirm)?;
    Ok(())
}
