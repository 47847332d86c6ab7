//! Jobs that wait for others.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use async_trait::async_trait;
use steadfast_core::{
    AuditRecord, BatchId, DependantDecision, Job, JobCommand, JobId, NewBatch, NewJob,
    PrerequisiteState, Subscriptions, Timestamp,
};

use super::{batches, gates};
use crate::{
    drivers::driver_error::DriverError,
    drivers::transaction::{Dependency, Lock, Reads, StoredState, Transaction, WakeReason},
    drivers::{Asker, Driver},
    error::{EnqueueError, StoreError},
    limits::FIRST_DEPENDANTS_MAX,
    store::{
        BatchCreateResult, BatchFilter, BatchRecord, DependencyStore, JobCount, JobLinks, Page,
        PageRequest, ReleasedDependants,
    },
    verbs::links::{
        HAS_DEPENDANTS, HAS_PREREQUISITES, NewDependant, Prerequisite, asks_prerequisites, decide,
        is_decided, stored_state,
    },
};

#[async_trait]
impl<D: Driver> DependencyStore for D {
    async fn release_dependants(
        &self,
        limit: usize,
        subscriptions: Arc<Subscriptions>,
    ) -> Result<ReleasedDependants, StoreError> {
        let released = release(self, limit, subscriptions).await;
        // A dependency that fails does not hold up batches.
        let counted = batches::count_events(self, limit).await;
        let mut released = released?;
        match counted {
            Ok(has_more) => released.has_more |= has_more,
            // The next look meets it again, if it lasts.
            Err(_) if !released.changed.is_empty() => released.has_more = true,
            Err(error) => return Err(error),
        }
        Ok(released)
    }

    async fn job_links(&self, job: JobId, dependants_max: u64) -> Result<JobLinks, StoreError> {
        let arguments = (job, dependants_max);
        self.read("job_links", Asker::Caller, arguments, |tx, (job, most)| {
            Box::pin(links_of(tx, *job, *most))
        })
        .await
    }

    async fn create_batch(
        &self,
        batch: NewBatch,
        unfinished_max: usize,
    ) -> Result<BatchCreateResult, EnqueueError> {
        gates::refresh(self).await?;
        let (rows, arguments) = (2 * batch.jobs.len() + 2, (batch, unfinished_max));
        self.transact("create_batch", rows, arguments, |tx, (batch, most)| {
            Box::pin(batches::create(tx, batch, *most))
        })
        .await?
    }

    async fn close_batch(
        &self,
        id: BatchId,
        audit: Option<AuditRecord>,
    ) -> Result<Option<BatchRecord>, StoreError> {
        self.transact("close_batch", 2, (id, audit), |tx, (id, audit)| {
            Box::pin(batches::close(tx, *id, audit.as_ref()))
        })
        .await
    }

    async fn list_batches(
        &self,
        filter: BatchFilter,
        page: PageRequest<BatchId>,
    ) -> Result<Page<BatchRecord, BatchId>, StoreError> {
        self.read(
            "list_batches",
            Asker::Caller,
            (filter, page),
            |tx, (filter, page)| Box::pin(batches::list(tx, filter, *page)),
        )
        .await
    }
}

async fn links_of(
    tx: &mut dyn Reads,
    job: JobId,
    dependants_max: u64,
) -> Result<JobLinks, DriverError> {
    let most = usize::try_from(dependants_max).unwrap_or(usize::MAX);
    let count = tx.count_dependants(job, most.saturating_add(1)).await?;
    let shown = count.min(most).min(FIRST_DEPENDANTS_MAX);
    let first_dependants = match shown {
        0 => Vec::new(),
        shown => tx.dependants(job, None, shown).await?,
    };
    let mut after = prerequisites(tx, &[job]).await?;
    Ok(JobLinks {
        after: after.remove(&job).unwrap_or_default(),
        dependants: JobCount::up_to(count as u64, dependants_max),
        first_dependants,
    })
}

/// What else is known of the jobs of a request while it is planned.
#[derive(Default)]
pub(crate) struct RequestContext {
    /// The job with whose success they are created: they find that it has succeeded.
    pub outbox_of: Option<JobId>,
    /// Jobs of the request that exist already, under another id.
    pub existing: HashMap<JobId, JobId>,
}

impl RequestContext {
    /// Of a request of these jobs, of which some exist already.
    pub(crate) fn of_enqueue<'a>(
        jobs: impl Iterator<Item = &'a NewJob>,
        known: impl Fn(usize) -> Option<JobId>,
    ) -> Self {
        let jobs = jobs.enumerate();
        let existing = jobs.filter_map(|(index, job)| Some((job.id, known(index)?)));
        Self {
            outbox_of: None,
            existing: existing.collect(),
        }
    }
}

/// The jobs of a request that wait for others, as they are to be stored, by their index. Those that
/// they wait for are locked from here on, so that none ends before its dependants are stored.
/// Jobs may wait for those that come before them in the request.
pub(crate) async fn plan(
    tx: &mut dyn Transaction,
    new: &[(usize, &NewJob)],
    context: &RequestContext,
) -> Result<Result<HashMap<usize, NewDependant>, EnqueueError>, DriverError> {
    let stored_as = |id: &JobId| context.existing.get(id).copied().unwrap_or(*id);
    let waiting = new.iter().filter(|(_, job)| job.after().is_some());
    let waiting: Vec<(usize, &NewJob)> = waiting.copied().collect();
    let ids = waiting.iter().filter_map(|(_, job)| job.after());
    let ids = ids.flat_map(|after| after.after()).map(stored_as);
    let mut ids: Vec<JobId> = ids.collect();
    ids.sort_unstable();
    ids.dedup();
    if ids.is_empty() {
        return Ok(Ok(HashMap::new()));
    }
    let mut found = HashMap::new();
    for row in tx.stored_jobs(&ids, Lock::Update).await? {
        let prerequisite = Prerequisite {
            id: row.id,
            state: match context.outbox_of == Some(row.id) {
                true => PrerequisiteState::Succeeded,
                false => row_state(tx, &row.row).await?,
            },
            created_at: row.created_at,
        };
        found.insert(row.id, (row.tenant, prerequisite));
    }
    let created: HashMap<JobId, (usize, &NewJob)> = new
        .iter()
        .map(|(index, job)| (job.id, (*index, *job)))
        .collect();
    let mut dependants = HashMap::new();
    let now = tx.now();
    for (index, job) in waiting {
        let find = |id: JobId| {
            let id = stored_as(&id);
            let stored = found.get(&id);
            let stored = stored.filter(|(tenant, _)| *tenant == job.tenant.as_str());
            let earlier = created.get(&id);
            let earlier = earlier.filter(|(other, new)| *other < index && new.tenant == job.tenant);
            let created_with_it = earlier.map(|_| Prerequisite {
                id,
                state: PrerequisiteState::Unfinished,
                created_at: now,
            });
            let prerequisite = stored.map(|(_, found)| *found);
            Ok::<_, DriverError>(prerequisite.or(created_with_it))
        };
        match NewDependant::new(index, job, find)? {
            Ok(dependant) => dependants.extend(dependant.map(|dependant| (index, dependant))),
            // Its answer was lost, and what it waited for is gone.
            Err(_) if !tx.stored_jobs(&[job.id], Lock::None).await?.is_empty() => {}
            Err(unknown) => return Ok(Err(unknown)),
        }
    }
    Ok(Ok(dependants))
}

/// Stores what jobs wait for that were created at `now`.
pub(crate) async fn save(
    tx: &mut dyn Transaction,
    created: &[(&NewDependant, Timestamp)],
) -> Result<(), DriverError> {
    if created.is_empty() {
        return Ok(());
    }
    // They come behind those that they wait for, also if the clock was set back since.
    let late = created.iter().filter(|(new, at)| new.created_from > *at);
    let late: Vec<(JobId, Timestamp)> = late
        .map(|(new, _)| (new.job.id, new.created_from))
        .collect();
    tx.set_created_at(&late).await?;
    let all = created.iter().flat_map(|(new, _)| {
        let others = new.prerequisites.iter();
        others.map(|(other, state)| (new.job.id, *other, is_decided(*state)))
    });
    let all: Vec<(JobId, JobId, bool)> = all.collect();
    tx.add_dependencies(&all).await?;
    let open: Vec<JobId> = created.iter().flat_map(|(new, _)| new.open()).collect();
    tx.mark_jobs(&open, HAS_DEPENDANTS).await?;
    let own: Vec<JobId> = created.iter().map(|(new, _)| new.job.id).collect();
    tx.mark_jobs(&own, HAS_PREREQUISITES).await?;
    let must_fail = created.iter().filter(|(new, _)| new.must_fail);
    let must_fail: Vec<JobId> = must_fail.map(|(new, _)| new.job.id).collect();
    look_again(tx, &must_fail).await
}

/// Jobs have to look at those that they wait for.
pub(crate) async fn look_again(
    tx: &mut dyn Transaction,
    jobs: &[JobId],
) -> Result<(), DriverError> {
    if jobs.is_empty() {
        return Ok(());
    }
    tx.add_dependency_events(jobs).await?;
    tx.wake(WakeReason::Dependencies);
    Ok(())
}

type Prerequisites = HashMap<JobId, Vec<(JobId, PrerequisiteState)>>;

/// The jobs that jobs wait for, in the order of their ids.
async fn prerequisites(
    tx: &mut (impl Reads + ?Sized),
    jobs: &[JobId],
) -> Result<Prerequisites, DriverError> {
    let mut found = Prerequisites::new();
    for Dependency {
        job,
        prerequisite,
        has_succeeded,
        row,
    } in tx.dependencies(jobs).await?
    {
        let state = match row {
            Some(row) => Some(row_state(tx, &row).await?),
            None => None,
        };
        let state = stored_state(has_succeeded, state);
        found.entry(job).or_default().push((prerequisite, state));
    }
    Ok(found)
}

/// How a job stands that others wait for. One whose state cannot be read is noted, and others wait for
/// it until it is mended, which a trigger notes.
async fn row_state(
    tx: &mut (impl Reads + ?Sized),
    row: &StoredState,
) -> Result<PrerequisiteState, DriverError> {
    match row.state {
        Some(state) => Ok(PrerequisiteState::from_row(state, row.is_resolved)),
        None => {
            tx.readable_jobs(&[row.id]).await?;
            Ok(PrerequisiteState::Unfinished)
        }
    }
}

/// What follows for jobs from where their prerequisites stand, if a command has to know.
pub(crate) async fn decisions_for(
    tx: &mut dyn Transaction,
    jobs: &[&Job],
    command: &JobCommand,
) -> Result<HashMap<JobId, DependantDecision>, DriverError> {
    let asking = jobs.iter();
    let asking = asking.filter_map(|job| Some((job.id, asks_prerequisites(job, command)?)));
    let asking: HashMap<JobId, _> = asking.collect();
    if asking.is_empty() {
        return Ok(HashMap::new());
    }
    let ids: Vec<JobId> = asking.keys().copied().collect();
    let mut found = prerequisites(tx, &ids).await?;
    let decisions = asking.into_iter().map(|(id, on_failure)| {
        let states = found.remove(&id).unwrap_or_default().into_iter();
        (id, decide(on_failure, states.map(|(_, state)| state)))
    });
    Ok(decisions.collect())
}

/// The same for one job.
pub(crate) async fn decision_for(
    tx: &mut dyn Transaction,
    job: &Job,
    command: &JobCommand,
) -> Result<Option<DependantDecision>, DriverError> {
    let mut decisions = decisions_for(tx, &[job], command).await?;
    Ok(decisions.remove(&job.id))
}

/// Releases or fails jobs, as those that they wait for have ended.
async fn release<D: Driver>(
    driver: &D,
    limit: usize,
    subscriptions: Arc<Subscriptions>,
) -> Result<ReleasedDependants, StoreError> {
    const OPERATION: &str = "release_dependants";
    // Most looks find nothing, and need no transaction.
    let has_none = driver.read(OPERATION, Asker::Node, (), |tx, ()| {
        Box::pin(async move { Ok(tx.dependency_events(1, Lock::None).await?.is_empty()) })
    });
    if has_none.await? {
        return Ok(ReleasedDependants::default());
    }
    driver
        .transact(OPERATION, limit, (limit, subscriptions), |tx, it| {
            Box::pin(release_some(tx, it.0, &it.1))
        })
        .await
}

async fn release_some(
    tx: &mut dyn Transaction,
    limit: usize,
    subscriptions: &Subscriptions,
) -> Result<ReleasedDependants, DriverError> {
    let events = tx.dependency_events(limit, Lock::SkipLocked).await?;
    let mut has_more = events.len() == limit;
    let ended: Vec<JobId> = events.iter().map(|event| event.job).collect();
    let mut states = HashMap::new();
    for row in tx.stored_jobs(&ended, Lock::None).await? {
        states.insert(row.id, row_state(tx, &row.row).await?);
    }
    // Those that wait, and whether one that they wait for may have failed.
    let mut found: BTreeMap<JobId, bool> = BTreeMap::new();
    let (mut succeeded, mut done) = (Vec::new(), Vec::new());
    for event in &events {
        let room = limit.saturating_sub(found.len());
        if room == 0 {
            has_more = true;
            break;
        }
        if let Some(dependant) = event.dependant {
            found.insert(dependant, true);
            done.push(event.seq);
            continue;
        }
        let some = tx.dependants(event.job, event.worked_to, room).await?;
        match some.last() {
            // The rest comes behind what others wait for.
            Some(last) if some.len() == room => {
                has_more = true;
                tx.postpone_event(event.seq, *last).await?;
            }
            _ => done.push(event.seq),
        }
        let has_succeeded = states.get(&event.job) == Some(&PrerequisiteState::Succeeded);
        for id in some {
            if has_succeeded {
                succeeded.push((id, event.job));
            }
            *found.entry(id).or_default() |= !has_succeeded;
        }
    }
    tx.end_dependencies(&succeeded).await?;
    tx.delete_events(&done).await?;
    let mut changed = Vec::new();
    for (decision, jobs) in decide_all(tx, found).await? {
        let command = JobCommand::Follow(decision);
        let results = tx.run_command(&jobs, &command, subscriptions, &|_| true);
        changed.extend(results.await?.into_iter().flatten());
    }
    Ok(ReleasedDependants { changed, has_more })
}

/// What those do that wait for others: the ones to release, and the ones to fail.
async fn decide_all(
    tx: &mut dyn Transaction,
    found: BTreeMap<JobId, bool>,
) -> Result<[(DependantDecision, Vec<JobId>); 2], DriverError> {
    let ids: Vec<JobId> = found.keys().copied().collect();
    let unfinished = tx.with_unfinished_prerequisites(&ids).await?;
    let asked = found.into_iter();
    let asked = asked.filter(|(id, may_have_failed)| *may_have_failed || !unfinished.contains(id));
    let asked: Vec<JobId> = asked.map(|(id, _)| id).collect();
    let mut after = prerequisites(tx, &asked).await?;
    let (mut released, mut failed) = (Vec::new(), Vec::new());
    for job in tx.readable_jobs(&asked).await? {
        let Some(on_failure) = job.on_failure().filter(|_| job.is_blocked()) else {
            continue;
        };
        let states = after.remove(&job.id).unwrap_or_default().into_iter();
        match decide(on_failure, states.map(|(_, state)| state)) {
            DependantDecision::Wait => {}
            DependantDecision::Release => released.push(job.id),
            DependantDecision::Fail => failed.push(job.id),
        }
    }
    Ok([
        (DependantDecision::Release, released),
        (DependantDecision::Fail, failed),
    ])
}
