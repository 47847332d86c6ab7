//! Reads everything that is stored and holds it against everything that was promised.

use std::collections::{BTreeMap, BTreeSet};

use steadfast_core::{Attempt, FailureKey, Job, JobId, JobState, Kind, Tenant};
use steadfast_store::{
    AttemptOwner, AuditFilter, BatchFilter, FailureFilter, JobFilter, JobPageRequest, PageRequest,
    Store, StoreError, limits::MINUTES_KEPT,
};

use crate::{
    Invariant,
    history::{History, SharedHistory},
    workload::{CALLBACK_QUEUE, TENANTS},
};

const PAGE: usize = 100;

pub async fn audit(store: &dyn Store, history: &SharedHistory) -> Result<(), StoreError> {
    let all = list(store, JobFilter::default()).await?;
    let dead_letters = list(store, JobFilter::dead_letters()).await?;
    let counted = store
        .count_jobs(JobFilter::dead_letters(), u64::MAX)
        .await?
        .count;
    let mut of_tenants = 0;
    for tenant in TENANTS {
        let filter = JobFilter {
            tenant: Tenant::new(tenant).ok(),
            ..JobFilter::default()
        };
        of_tenants += list(store, filter).await?.len();
    }
    let mut history = history.lock();
    let default = all
        .values()
        .filter(|job| job.tenant == Tenant::default())
        .count();
    if of_tenants + default != all.len() {
        let why = "the jobs of all tenants are not all jobs";
        history.broken(Invariant::TenantsApart, None, why);
    }
    jobs_stay(&mut history, &all);
    nothing_from_nowhere(&mut history, &all);
    keys_are_unique(&mut history, &all);
    runs_are_of_ticks(&mut history, &all);
    let listed: BTreeSet<JobId> = dead_letters.keys().copied().collect();
    dead_letters_are_failed(&mut history, &listed, counted);
    Ok(())
}

async fn list(store: &dyn Store, filter: JobFilter) -> Result<BTreeMap<JobId, Job>, StoreError> {
    let mut all = BTreeMap::new();
    let mut page = JobPageRequest::first(PAGE);
    loop {
        let listed = store.list_jobs(filter.clone(), page).await?;
        all.extend(listed.items.into_iter().map(|job| (job.id, job)));
        match listed.next {
            Some(next) => page.after = Some(next),
            None => return Ok(all),
        }
    }
}

fn jobs_stay(history: &mut History, all: &BTreeMap<JobId, Job>) {
    for id in history.living() {
        history.count_check(Invariant::JobsStay);
        if !all.contains_key(&id) {
            history.broken(Invariant::JobsStay, id, "it was acknowledged, and is gone");
        }
    }
}

fn nothing_from_nowhere(history: &mut History, all: &BTreeMap<JobId, Job>) {
    for job in all.values() {
        if history.jobs.contains_key(&job.id) {
            continue;
        }
        history.broken(made_by(job), job.id, "no client has created it");
    }
}

/// The invariant that a job violates which no client has created.
pub fn made_by(job: &Job) -> Invariant {
    match job.scheduled_run {
        Some(_) => Invariant::TicksOnce,
        None if job.kind == Kind::webhook() => Invariant::OutboxWithTransition,
        None if job.queue.as_str() == CALLBACK_QUEUE => Invariant::CallbacksOnce,
        None => Invariant::OneKeyOneJob,
    }
}

fn keys_are_unique(history: &mut History, all: &BTreeMap<JobId, Job>) {
    let mut holders = BTreeMap::new();
    for job in all.values() {
        let Some(key) = &job.idempotency_key else {
            continue;
        };
        if holders.insert((&job.tenant, key), job.id).is_some() {
            history.broken(Invariant::OneKeyOneJob, job.id, "its key made two jobs");
        }
    }
}

fn runs_are_of_ticks(history: &mut History, all: &BTreeMap<JobId, Job>) {
    for job in all.values() {
        let Some(run) = job.scheduled_run else {
            continue;
        };
        let known = history.schedules.get(&run.schedule);
        let fired = known.and_then(|known| known.fired.get(&run.tick));
        if fired != Some(&job.id) {
            let why = format!("it is a run of {}, which made {fired:?}", run.tick);
            history.broken(Invariant::TicksOnce, job.id, why);
        }
    }
}

fn dead_letters_are_failed(history: &mut History, listed: &BTreeSet<JobId>, counted: u64) {
    let living = history.living().into_iter();
    let expected: BTreeSet<JobId> = living
        .filter(|id| history.jobs[id].is_dead_letter())
        .collect();
    for _ in &expected {
        history.count_check(Invariant::DeadLetters);
    }
    if let Some(job) = expected.symmetric_difference(listed).next() {
        let why = match listed.contains(job) {
            true => "listed as a dead letter",
            false => "failed, unresolved, and not listed as a dead letter",
        };
        history.broken(Invariant::DeadLetters, *job, why);
    }
    if counted != listed.len() as u64 {
        let why = format!("{counted} dead letters counted, {} listed", listed.len());
        history.broken(Invariant::DeadLetters, None, why);
    }
}

/// Each attempt that started has one record, the one it was settled with.
pub async fn records(store: &dyn Store, history: &SharedHistory) -> Result<(), StoreError> {
    let living = history.lock().living();
    for id in living {
        let page = PageRequest::first(usize::from(u16::MAX));
        let records = store
            .list_attempts(AttemptOwner::Job(id), page)
            .await?
            .items;
        check_records(&mut history.lock(), id, &records);
    }
    Ok(())
}

/// The counters of the store are what its jobs add up to.
pub async fn counters(store: &dyn Store, history: &SharedHistory) -> Result<(), StoreError> {
    let differences = store.recount(false).await?;
    let mut history = history.lock();
    history.count_check(Invariant::CountersAddUp);
    if let Some(difference) = differences.first() {
        let why = format!("{} differ, as {difference:?}", differences.len());
        history.broken(Invariant::CountersAddUp, None, why);
    }
    Ok(())
}

/// Every batch has counted its jobs.
pub async fn batches(store: &dyn Store, history: &SharedHistory) -> Result<(), StoreError> {
    let page = PageRequest::first(usize::from(u16::MAX));
    let stored = store.list_batches(BatchFilter::default(), page).await?;
    history.lock().check_batches(&stored.items);
    Ok(())
}

/// Every command that was carried out has left a record.
pub async fn commands(store: &dyn Store, history: &SharedHistory) -> Result<(), StoreError> {
    let page = PageRequest::first(usize::from(u16::MAX));
    let stored = store.list_audit(AuditFilter::default(), page).await?;
    history.lock().check_audit(&stored.items);
    Ok(())
}

/// Every failed attempt that was recorded is counted in its group, and every dead letter.
pub async fn failures(store: &dyn Store, history: &SharedHistory) -> Result<(), StoreError> {
    let mut expected: BTreeMap<FailureKey, (u64, i64)> = BTreeMap::new();
    let mut oldest = store.now();
    for known in history.lock().jobs.values() {
        let settled = known.claims.values().filter_map(|it| it.settled.as_ref());
        for record in settled.flatten() {
            let failure = record.failure.as_ref();
            if let Some(fingerprint) = failure.and_then(|failure| failure.fingerprint) {
                let key = FailureKey::new(known.tenant.clone(), fingerprint);
                expected.entry(key).or_default().0 += 1;
                oldest = oldest.min(record.finished_at);
            }
        }
    }
    // Retention takes groups that were not seen for so long.
    if store.now().since(oldest) >= MINUTES_KEPT {
        return Ok(());
    }
    for job in list(store, JobFilter::dead_letters()).await?.values() {
        let failure = job.progress.failure.as_ref();
        if let Some(fingerprint) = failure.and_then(|failure| failure.fingerprint) {
            let key = FailureKey::new(job.tenant.clone(), fingerprint);
            expected.entry(key).or_default().1 += 1;
        }
    }
    let page = PageRequest::first(usize::from(u16::MAX));
    let listed = store.list_failures(FailureFilter::default(), page).await?;
    let counted: BTreeMap<FailureKey, (u64, i64)> = listed
        .items
        .into_iter()
        .map(|group| (group.key, (group.tally.count, group.tally.dead_letters)))
        .collect();
    let mut history = history.lock();
    for (key, expected) in &expected {
        history.count_check(Invariant::FailuresCounted);
        let counted = counted.get(key);
        if counted != Some(expected) {
            let why =
                format!("{key:?}: {expected:?} failures and dead letters, counted {counted:?}");
            history.broken(Invariant::FailuresCounted, None, why);
        }
    }
    if counted.len() != expected.len() {
        let why = "there are groups of failures that never happened";
        history.broken(Invariant::FailuresCounted, None, why);
    }
    Ok(())
}

fn check_records(history: &mut History, id: JobId, records: &[Attempt]) {
    let known = history.jobs[&id].clone();
    let unexpected = records
        .iter()
        .find(|record| !known.claims.contains_key(&record.fence));
    if let Some(record) = unexpected {
        let why = format!("a record of claim {}, which never was", record.fence.0);
        history.broken(Invariant::OneRecord, id, why);
    }
    for (fence, claim) in &known.claims {
        let of_claim: Vec<&Attempt> = records
            .iter()
            .filter(|record| record.fence == *fence)
            .collect();
        history.count_check(Invariant::OneRecord);
        let is_right = match &claim.settled {
            Some(Some(record)) => of_claim == [record],
            Some(None) => of_claim.is_empty() && claim.starts == 0,
            None => of_claim.is_empty() && known.state == JobState::Running,
        };
        if !is_right {
            let why = format!(
                "claim {} started {} times, was settled with {:?}, and left {of_claim:?}",
                fence.0, claim.starts, claim.settled
            );
            history.broken(Invariant::OneRecord, id, why);
        }
    }
}
