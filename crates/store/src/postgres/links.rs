//! Jobs that wait for others.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use async_trait::async_trait;
use steadfast_core::{
    AuditRecord, BatchId, DependantDecision, Job, JobCommand, JobId, NewBatch, PrerequisiteState,
    Subscriptions, Timestamp,
};
use tokio_postgres::Row;

use super::{
    PostgresStore, batches, change,
    driver_error::DriverError,
    get,
    inner::{on_connection, with_wake_hints},
    key::Key,
    names::NumberedJob,
    session::{Conn, Session},
    values::time,
};
use crate::{
    error::{EnqueueError, StoreError},
    links::{
        HAS_DEPENDANTS, HAS_PREREQUISITES, NewDependant, Prerequisite, asks_prerequisites, decide,
        result_of, stored_state,
    },
    sql::{paging::row_limit, values::state},
    store::{
        BatchCreateResult, BatchFilter, BatchRecord, EnqueueResult, FollowedLinks, JobCount,
        JobLinks, LinkStore, Page, PageRequest,
    },
    unique::UniquePlan,
    wake::WakeReasons,
};

#[async_trait]
impl LinkStore for PostgresStore {
    async fn follow_links(
        &self,
        limit: usize,
        subscriptions: Arc<Subscriptions>,
    ) -> Result<FollowedLinks, StoreError> {
        let followed = with_wake_hints!(self, "follow_links", |conn, hints| follow(
            conn,
            limit,
            &subscriptions,
            hints
        ));
        // What fails with links does not hold up batches.
        let counted = batches::follow(self, limit).await;
        let mut followed = followed?;
        match counted {
            Ok(has_more) => followed.has_more |= has_more,
            // The next look meets it again, if it lasts.
            Err(_) if !followed.changed.is_empty() => followed.has_more = true,
            Err(error) => return Err(error),
        }
        Ok(followed)
    }

    async fn job_links(&self, job: JobId, dependants_max: u64) -> Result<JobLinks, StoreError> {
        on_connection!(self, "job_links", |conn| links_of(
            &conn.session(),
            job,
            dependants_max
        ))
    }

    async fn create_batch(
        &self,
        batch: NewBatch,
        unfinished_max: usize,
    ) -> Result<BatchCreateResult, EnqueueError> {
        with_wake_hints!(self, "create_batch", |conn, hints| batches::create(
            conn,
            &batch,
            unfinished_max,
            hints
        ))?
    }

    async fn close_batch(
        &self,
        id: BatchId,
        audit: Option<AuditRecord>,
    ) -> Result<Option<BatchRecord>, StoreError> {
        with_wake_hints!(self, "close_batch", |conn, hints| batches::close(
            conn,
            id,
            audit.as_ref(),
            hints
        ))
    }

    async fn get_batch(&self, id: BatchId) -> Result<Option<BatchRecord>, StoreError> {
        on_connection!(self, "get_batch", |conn| batches::get(&conn.session(), id))
    }

    async fn list_batches(
        &self,
        filter: BatchFilter,
        page: PageRequest<BatchId>,
    ) -> Result<Page<BatchRecord, BatchId>, StoreError> {
        on_connection!(self, "list_batches", |conn| batches::list(
            &conn.session(),
            &filter,
            page
        ))
    }

    async fn prune_batches(
        &self,
        ended_before: Timestamp,
        limit: usize,
    ) -> Result<usize, StoreError> {
        on_connection!(self, "prune_batches", |conn| batches::prune(
            &conn.session(),
            ended_before,
            limit
        ))
    }

    async fn list_dependants(&self, job: JobId, limit: usize) -> Result<Vec<JobId>, StoreError> {
        on_connection!(self, "list_dependants", |conn| dependants(
            &conn.session(),
            job,
            &Key::from(JobId::from_bits(0)),
            limit
        ))
    }
}

async fn links_of(
    session: &Session<'_>,
    job: JobId,
    dependants_max: u64,
) -> Result<JobLinks, DriverError> {
    let most = i64::try_from(dependants_max).unwrap_or(i64::MAX);
    let sql = include_str!("sql/dependants_count.sql");
    let counted = session
        .query(sql, &[&Key::from(job), &most.saturating_add(1)])
        .await?;
    let count: i64 = counted.first().map_or(Ok(0), |row| row.try_get("count"))?;
    let mut after = prerequisites(session, &[job]).await?;
    Ok(JobLinks {
        after: after.remove(&job).unwrap_or_default(),
        dependants: JobCount::up_to(u64::try_from(count).unwrap_or(0), dependants_max),
    })
}

/// The jobs of a batch that wait for others, whose prerequisites are locked from here on. How they
/// are to be stored is added to the plan.
pub(super) async fn plan(
    session: &Session<'_>,
    jobs: &[NumberedJob<'_>],
    known: &HashMap<usize, EnqueueResult>,
    unique: &mut UniquePlan,
) -> Result<Result<Vec<NewDependant>, EnqueueError>, DriverError> {
    let others = jobs.iter().enumerate();
    let others =
        others.filter(|(index, new)| !known.contains_key(index) && new.job.after().is_some());
    let others: Vec<(usize, &NumberedJob<'_>)> = others.collect();
    if others.is_empty() {
        return Ok(Ok(Vec::new()));
    }
    let after = others.iter().filter_map(|(_, new)| new.job.after());
    let ids: Vec<Key> = after
        .flat_map(|after| after.after())
        .map(|id| (*id).into())
        .collect();
    let sql = include_str!("sql/prerequisites_lock.sql");
    let mut found = HashMap::new();
    for row in session.query(sql, &[&ids]).await? {
        let (tenant, id): (String, Key) = (row.try_get("tenant")?, row.try_get("id")?);
        let prerequisite = Prerequisite {
            state: row_state(session, &row, id.job()).await?,
            created_at: time(row.try_get("created_at")?),
        };
        found.insert(id.job(), (tenant, prerequisite));
    }
    let mut dependants = Vec::new();
    for (index, new) in others {
        let job = unique.creates.get(&index).unwrap_or(new.job);
        let find = |id| {
            let own = found
                .get(&id)
                .filter(|(tenant, _)| tenant == job.tenant.as_str());
            Ok::<_, DriverError>(own.map(|(_, prerequisite)| *prerequisite))
        };
        match NewDependant::new(index, job, find)? {
            Ok(Some(dependant)) => {
                unique.creates.insert(index, dependant.job.clone());
                dependants.push(dependant);
            }
            Ok(None) => {}
            // Its answer was lost, and what it waited for is gone.
            Err(_) if get::job_states(session, &[job.id]).await?[0].is_some() => {}
            Err(unknown) => return Ok(Err(unknown)),
        }
    }
    Ok(Ok(dependants))
}

/// How a job stands that others wait for. One whose state cannot be read is noted, and others wait for
/// it until it is mended, which a trigger notes.
async fn row_state(
    session: &Session<'_>,
    row: &Row,
    id: JobId,
) -> Result<PrerequisiteState, DriverError> {
    let Some(state) = state(row.try_get("state")?) else {
        get::unreadable_jobs(session, &[id]).await?;
        return Ok(PrerequisiteState::Unfinished);
    };
    Ok(PrerequisiteState::from_row(
        state,
        row.try_get("is_resolved")?,
    ))
}

/// Stores what jobs wait for that were created.
pub(super) async fn save(
    session: &Session<'_>,
    dependants: &[NewDependant],
    created: &HashMap<JobId, Timestamp>,
    hints: &mut WakeReasons,
) -> Result<(), DriverError> {
    let new = dependants
        .iter()
        .filter(|new| created.contains_key(&new.job.id));
    let new: Vec<&NewDependant> = new.collect();
    if new.is_empty() {
        return Ok(());
    }
    move_behind(session, &new, created).await?;
    let mut rows = LinkRows::default();
    let mut open: Vec<Key> = Vec::new();
    for dependant in &new {
        for (other, state) in &dependant.prerequisites {
            rows.push(dependant.job.id, *other, *state);
        }
        open.extend(dependant.open().map(Key::from));
    }
    rows.write(session, include_str!("sql/dependencies_insert.sql"))
        .await?;
    mark(session, &open, HAS_DEPENDANTS).await?;
    let own: Vec<Key> = new.iter().map(|new| new.job.id.into()).collect();
    mark(session, &own, HAS_PREREQUISITES).await?;
    let must_fail = new.iter().filter(|new| new.must_fail);
    let must_fail: Vec<Key> = must_fail.map(|new| new.job.id.into()).collect();
    look_again(session, &must_fail, hints).await
}

/// Lets jobs come behind those that they wait for, if the clock was set back since.
async fn move_behind(
    session: &Session<'_>,
    dependants: &[&NewDependant],
    created: &HashMap<JobId, Timestamp>,
) -> Result<(), DriverError> {
    let is_before = |new: &&&NewDependant| {
        let at = created.get(&new.job.id);
        at.is_some_and(|at| new.created_from > *at)
    };
    let moved = dependants.iter().filter(is_before);
    let (ids, times): (Vec<Key>, Vec<i64>) = moved
        .map(|new| (Key::from(new.job.id), new.created_from.as_micros()))
        .unzip();
    if ids.is_empty() {
        return Ok(());
    }
    let sql = include_str!("sql/created_at_set.sql");
    session.execute(sql, &[&ids, &times]).await
}

/// Marks jobs as ones that have to do with others.
pub(super) async fn mark(session: &Session<'_>, jobs: &[Key], bit: i16) -> Result<(), DriverError> {
    let sql = include_str!("sql/links_mark.sql");
    session.execute(sql, &[&jobs, &bit]).await
}

/// Jobs, what they wait for, and what has become of it, as columns.
#[derive(Default)]
struct LinkRows {
    jobs: Vec<Key>,
    others: Vec<Key>,
    results: Vec<i16>,
}

impl LinkRows {
    fn push(&mut self, job: JobId, other: JobId, state: PrerequisiteState) {
        self.jobs.push(job.into());
        self.others.push(other.into());
        self.results.push(result_of(state));
    }

    async fn write(&self, session: &Session<'_>, sql: &'static str) -> Result<(), DriverError> {
        if self.jobs.is_empty() {
            return Ok(());
        }
        session
            .execute(sql, &[&self.jobs, &self.others, &self.results])
            .await
    }
}

type Prerequisites = HashMap<JobId, Vec<(JobId, PrerequisiteState)>>;

/// The jobs that jobs wait for, in the order of their ids.
async fn prerequisites(
    session: &Session<'_>,
    jobs: &[JobId],
) -> Result<Prerequisites, DriverError> {
    let keys: Vec<Key> = jobs.iter().map(|id| (*id).into()).collect();
    let sql = include_str!("sql/dependencies.sql");
    let mut found = Prerequisites::new();
    for row in session.query(sql, &[&keys]).await? {
        let other = row.try_get::<_, Key>("prerequisite")?.job();
        let state = match row.try_get::<_, Option<i16>>("state")? {
            Some(_) => Some(row_state(session, &row, other).await?),
            None => None,
        };
        let state = stored_state(row.try_get("result")?, state);
        let job = row.try_get::<_, Key>("job")?.job();
        found.entry(job).or_default().push((other, state));
    }
    Ok(found)
}

/// What follows for jobs from where their prerequisites stand, if a command has to know.
pub(super) async fn decisions_for<'j>(
    session: &Session<'_>,
    jobs: impl Iterator<Item = &'j Job>,
    command: &JobCommand,
) -> Result<HashMap<JobId, DependantDecision>, DriverError> {
    let asking = jobs.filter_map(|job| Some((job.id, asks_prerequisites(job, command)?)));
    let asking: HashMap<JobId, _> = asking.collect();
    if asking.is_empty() {
        return Ok(HashMap::new());
    }
    let ids: Vec<JobId> = asking.keys().copied().collect();
    let mut found = prerequisites(session, &ids).await?;
    let decisions = asking.into_iter().map(|(id, on_failure)| {
        let states = found.remove(&id).unwrap_or_default().into_iter();
        (id, decide(on_failure, states.map(|(_, state)| state)))
    });
    Ok(decisions.collect())
}

/// Notes that jobs have to look at those that they wait for.
pub(super) async fn look_again(
    session: &Session<'_>,
    jobs: &[Key],
    hints: &mut WakeReasons,
) -> Result<(), DriverError> {
    if jobs.is_empty() {
        return Ok(());
    }
    let sql = include_str!("sql/link_notes_insert.sql");
    session.execute(sql, &[&jobs]).await?;
    hints.links_changed();
    Ok(())
}

/// Something has happened to a job that others wait for.
struct LinkNote {
    seq: i64,
    job: JobId,
    dependant: Option<JobId>,
    worked_to: Key,
}

impl LinkNote {
    fn read(row: &Row) -> Result<Self, DriverError> {
        let worked_to: Option<Key> = row.try_get("worked_to")?;
        Ok(Self {
            seq: row.try_get("seq")?,
            job: row.try_get::<_, Key>("job")?.job(),
            dependant: row.try_get::<_, Option<Key>>("dependant")?.map(Key::job),
            worked_to: worked_to.unwrap_or(JobId::from_bits(0).into()),
        })
    }
}

/// Does what follows from some of what has happened.
async fn follow(
    conn: &mut Conn<'_>,
    limit: usize,
    subscriptions: &Subscriptions,
    hints: &mut WakeReasons,
) -> Result<FollowedLinks, DriverError> {
    let transaction = conn.begin().await?;
    let session = transaction.session();
    let sql = include_str!("sql/link_notes_lock.sql");
    let rows = session.query(sql, &[&row_limit(limit)]).await?;
    let notes: Vec<LinkNote> = rows.iter().map(LinkNote::read).collect::<Result<_, _>>()?;
    if notes.is_empty() {
        transaction.roll_back().await?;
        return Ok(FollowedLinks::default());
    }
    let mut has_more = notes.len() == limit;
    let others: Vec<Key> = notes.iter().map(|note| note.job.into()).collect();
    let mut states = HashMap::new();
    let sql = include_str!("sql/prerequisites_find.sql");
    for row in session.query(sql, &[&others]).await? {
        let id = row.try_get::<_, Key>("id")?.job();
        states.insert(id, row_state(&session, &row, id).await?);
    }
    // Those that wait, and whether one that they wait for may have failed.
    let mut found: BTreeMap<JobId, bool> = BTreeMap::new();
    let (mut ended, mut done) = (LinkRows::default(), Vec::new());
    for note in &notes {
        let room = limit.saturating_sub(found.len());
        if room == 0 {
            has_more = true;
            break;
        }
        if let Some(dependant) = note.dependant {
            found.insert(dependant, true);
            done.push(note.seq);
            continue;
        }
        let some = dependants_of(&session, note, room).await?;
        match some.last() {
            Some(last) if some.len() == room => {
                has_more = true;
                let sql = include_str!("sql/link_note_worked.sql");
                session
                    .execute(sql, &[&note.seq, &Key::from(*last)])
                    .await?;
            }
            _ => done.push(note.seq),
        }
        let state = states.get(&note.job).copied();
        for id in some {
            if let Some(state) = state.filter(|state| result_of(*state) != 0) {
                ended.push(id, note.job, state);
            }
            *found.entry(id).or_default() |= state != Some(PrerequisiteState::Succeeded);
        }
    }
    ended
        .write(&session, include_str!("sql/dependencies_end.sql"))
        .await?;
    let mut changed = Vec::new();
    for (decision, ids) in decisions(&session, found).await? {
        let command = JobCommand::Follow(decision);
        let answers = change::run_command_in(&session, &ids, &command, subscriptions, hints);
        changed.extend(answers.await?.into_iter().flatten());
    }
    let sql = include_str!("sql/link_notes_delete.sql");
    session.execute(sql, &[&done]).await?;
    transaction.commit().await?;
    Ok(FollowedLinks { changed, has_more })
}

async fn dependants_of(
    session: &Session<'_>,
    note: &LinkNote,
    room: usize,
) -> Result<Vec<JobId>, DriverError> {
    dependants(session, note.job, &note.worked_to, room).await
}

/// Some of the jobs that wait for another, those after `after`.
async fn dependants(
    session: &Session<'_>,
    job: JobId,
    after: &Key,
    limit: usize,
) -> Result<Vec<JobId>, DriverError> {
    let sql = include_str!("sql/dependants.sql");
    let rows = session
        .query(sql, &[&Key::from(job), after, &row_limit(limit)])
        .await?;
    let ids = rows
        .iter()
        .map(|row| Ok(row.try_get::<_, Key>("job")?.job()));
    ids.collect()
}

/// What those do that wait for others: the ones to release, and the ones to fail.
async fn decisions(
    session: &Session<'_>,
    found: BTreeMap<JobId, bool>,
) -> Result<[(DependantDecision, Vec<JobId>); 2], DriverError> {
    let keys: Vec<Key> = found.keys().map(|id| (*id).into()).collect();
    let sql = include_str!("sql/dependencies_unfinished.sql");
    let mut unfinished = HashSet::new();
    for row in session.query(sql, &[&keys]).await? {
        unfinished.insert(row.try_get::<_, Key>("job")?.job());
    }
    let asked = found.into_iter();
    let asked = asked.filter(|(id, may_have_failed)| *may_have_failed || !unfinished.contains(id));
    let asked: Vec<JobId> = asked.map(|(id, _)| id).collect();
    let mut after = prerequisites(session, &asked).await?;
    let (mut released, mut failed) = (Vec::new(), Vec::new());
    let jobs = match get::jobs(session, &asked).await {
        // The only one cannot be read, which is noted by now.
        Err(DriverError::Damaged(_)) => Vec::new(),
        jobs => jobs?,
    };
    for job in jobs.into_iter().flatten() {
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
