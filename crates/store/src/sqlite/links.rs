//! Jobs that wait for others.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, params};
use steadfast_core::{
    AuditRecord, BatchEvent, BatchId, DependantDecision, Job, JobCommand, JobId, NewBatch, NewJob,
    PrerequisiteState, Subscriptions, Timestamp,
};

use super::{
    SqliteStore,
    audit::save_audit,
    batches, change,
    driver_error::DriverError,
    enqueue, get,
    names::Names,
    session::Session,
    values::{job_id, job_key, state, time},
};
use crate::{
    error::{EnqueueError, StoreError},
    links::{
        HAS_DEPENDANTS, HAS_PREREQUISITES, NewDependant, Prerequisite, asks_prerequisites, decide,
        result_of, stored_state,
    },
    sql::paging::row_limit,
    store::{
        BaseStore as _, BatchCreateResult, BatchFilter, BatchRecord, EnqueueResult, FollowedLinks,
        JobCount, JobLinks, LinkStore, Page, PageRequest,
    },
    unique::UniquePlan,
};

#[async_trait]
impl LinkStore for SqliteStore {
    async fn follow_links(
        &self,
        limit: usize,
        subscriptions: Arc<Subscriptions>,
    ) -> Result<FollowedLinks, StoreError> {
        // Most looks find nothing, and need no transaction.
        let first = self.read_for_node("follow_links", |reader| {
            let has_notes = !notes(&reader.conn, 1)?.is_empty();
            let first = BatchId::from_bits(0);
            Ok(!has_notes && batches::next_noted(&reader.conn, first)?.is_none())
        });
        if first.await? {
            return Ok(FollowedLinks::default());
        }
        let followed = self.write("follow_links", limit, move |session| {
            follow(session, limit, &subscriptions)
        });
        let followed = followed.await;
        // What fails with links does not hold up batches.
        let position = Arc::clone(&self.inner.followed_to);
        let counted = self.write("follow_links", limit, move |session| {
            batches::follow(session, limit, &position)
        });
        let counted = counted.await;
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
        self.read("job_links", move |reader| {
            let sql = include_str!("sql/dependants_count.sql");
            let most = i64::try_from(dependants_max).unwrap_or(i64::MAX);
            let count: i64 = reader
                .conn
                .prepare_cached(sql)?
                .query_row(params![job_key(job), most.saturating_add(1)], |row| {
                    row.get("count")
                })?;
            Ok(JobLinks {
                after: prerequisites(&reader.conn, &mut reader.names, job)?,
                dependants: JobCount::up_to(u64::try_from(count).unwrap_or(0), dependants_max),
            })
        })
        .await
    }

    async fn create_batch(
        &self,
        batch: NewBatch,
        unfinished_max: usize,
    ) -> Result<BatchCreateResult, EnqueueError> {
        self.write("create_batch", 2 * batch.jobs.len() + 2, move |session| {
            batches::create(session, &batch, unfinished_max)
        })
        .await?
    }

    async fn close_batch(
        &self,
        id: BatchId,
        audit: Option<AuditRecord>,
    ) -> Result<Option<BatchRecord>, StoreError> {
        self.write("close_batch", 2, move |session| {
            let before = batches::find(session.conn, id)?;
            let closed = batches::change(session, id, [BatchEvent::Closed])?;
            save_audit(session, audit.as_ref().filter(|_| closed != before))?;
            Ok(closed)
        })
        .await
    }

    async fn get_batch(&self, id: BatchId) -> Result<Option<BatchRecord>, StoreError> {
        self.read("get_batch", move |reader| batches::find(&reader.conn, id))
            .await
    }

    async fn list_batches(
        &self,
        filter: BatchFilter,
        page: PageRequest<BatchId>,
    ) -> Result<Page<BatchRecord, BatchId>, StoreError> {
        self.read("list_batches", move |reader| {
            batches::list(reader, &filter, page)
        })
        .await
    }

    async fn prune_batches(
        &self,
        ended_before: Timestamp,
        limit: usize,
    ) -> Result<usize, StoreError> {
        let now = self.now();
        let old = self.read("prune_batches", move |reader| {
            batches::find_old(&reader.conn, ended_before, limit, now)
        });
        let old = old.await?;
        if old.is_empty() {
            return Ok(0);
        }
        self.write("prune_batches", old.len(), move |session| {
            let deleted = old.iter().map(|id| batches::delete(session, *id));
            deleted.sum::<Result<usize, _>>()
        })
        .await
    }

    async fn list_dependants(&self, job: JobId, limit: usize) -> Result<Vec<JobId>, StoreError> {
        self.read("list_dependants", move |reader| {
            let first = JobId::from_bits(0);
            let params = params![job_key(job), job_key(first), row_limit(limit)];
            let mut statement = reader
                .conn
                .prepare_cached(include_str!("sql/dependants.sql"))?;
            let found = statement.query_map(params, |row| Ok(job_id(row.get("job")?)))?;
            Ok(found.collect::<Result<_, _>>()?)
        })
        .await
    }
}

/// The jobs of a batch that wait for others, as they are to be stored.
pub(super) fn plan(
    session: &mut Session<'_>,
    jobs: &[NewJob],
    unique: &UniquePlan,
    is_known: impl Fn(usize) -> bool,
) -> Result<Result<HashMap<usize, NewDependant>, EnqueueError>, DriverError> {
    let mut dependants = HashMap::new();
    for (index, job) in jobs.iter().enumerate() {
        if is_known(index) {
            continue;
        }
        let job = unique.creates.get(&index).unwrap_or(job);
        let Session { conn, names, .. } = &mut *session;
        let find_own = |id| {
            let found = find(conn, names, id)?;
            let own = found.filter(|(tenant, _)| tenant == job.tenant.as_str());
            Ok::<_, DriverError>(own.map(|(_, prerequisite)| prerequisite))
        };
        match NewDependant::new(index, job, find_own)? {
            Ok(dependant) => dependants.extend(dependant.map(|dependant| (index, dependant))),
            // Its answer was lost, and what it waited for is gone.
            Err(_) if find(conn, names, job.id)?.is_some() => {}
            Err(unknown) => return Ok(Err(unknown)),
        }
    }
    Ok(Ok(dependants))
}

/// A job and its tenant, as one that another waits for.
fn find(
    conn: &Connection,
    names: &mut Names,
    id: JobId,
) -> Result<Option<(String, Prerequisite)>, DriverError> {
    let found: Option<(String, i64, bool, i64)> = conn
        .prepare_cached(include_str!("sql/prerequisite_find.sql"))?
        .query_row([job_key(id)], |row| {
            let is_resolved = row.get("is_resolved")?;
            let created_at = row.get("created_at")?;
            Ok((
                row.get("tenant")?,
                row.get("state")?,
                is_resolved,
                created_at,
            ))
        })
        .optional()?;
    let Some((tenant, number, is_resolved, created_at)) = found else {
        return Ok(None);
    };
    let prerequisite = Prerequisite {
        state: row_state(conn, names, id, (number, is_resolved))?,
        created_at: time(created_at),
    };
    Ok(Some((tenant, prerequisite)))
}

/// How a job stands that others wait for. One whose state cannot be read is noted, and others wait for
/// it until it is mended, which a trigger notes.
fn row_state(
    conn: &Connection,
    names: &mut Names,
    id: JobId,
    (number, is_resolved): (i64, bool),
) -> Result<PrerequisiteState, DriverError> {
    if let Ok(state) = state(number) {
        return Ok(PrerequisiteState::from_row(state, is_resolved));
    }
    match get::job(conn, names, id) {
        Ok(_) | Err(DriverError::Damaged(_)) => Ok(PrerequisiteState::Unfinished),
        Err(error) => Err(error),
    }
}

/// Stores a job that waits for others, unless its id is stored already.
pub(super) fn insert(
    session: &mut Session<'_>,
    new: &NewDependant,
) -> Result<EnqueueResult, DriverError> {
    let answer = enqueue::insert(session, &new.job)?;
    if !matches!(answer, EnqueueResult::Created(..)) {
        return Ok(answer);
    }
    let key = job_key(new.job.id);
    if new.created_from > session.now {
        let sql = include_str!("sql/created_at_set.sql");
        let params = params![key, new.created_from.as_micros()];
        session.conn.prepare_cached(sql)?.execute(params)?;
    }
    for (other, state) in &new.prerequisites {
        let sql = include_str!("sql/dependency_insert.sql");
        let params = params![key, job_key(*other), result_of(*state)];
        session.conn.prepare_cached(sql)?.execute(params)?;
    }
    for other in new.open() {
        mark(session.conn, other, HAS_DEPENDANTS)?;
    }
    mark(session.conn, new.job.id, HAS_PREREQUISITES)?;
    if new.must_fail {
        let sql = include_str!("sql/link_note_insert.sql");
        session.conn.prepare_cached(sql)?.execute([key])?;
        session.wakes.links_changed();
    }
    Ok(answer)
}

pub(super) fn mark(conn: &Connection, job: JobId, bit: i16) -> Result<(), DriverError> {
    let sql = include_str!("sql/links_mark.sql");
    conn.prepare_cached(sql)?
        .execute(params![job_key(job), bit])?;
    Ok(())
}

/// The jobs that a job waits for, in the order of their ids.
fn prerequisites(
    conn: &Connection,
    names: &mut Names,
    job: JobId,
) -> Result<Vec<(JobId, PrerequisiteState)>, DriverError> {
    let mut statement = conn.prepare_cached(include_str!("sql/dependencies.sql"))?;
    let mut rows = statement.query([job_key(job)])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let id = job_id(row.get("prerequisite")?);
        let (number, is_resolved) = (row.get::<_, Option<i64>>("state")?, row.get("is_resolved")?);
        let state = number.map(|number| row_state(conn, names, id, (number, is_resolved)));
        let state = state.transpose()?;
        found.push((id, stored_state(row.get("result")?, state)));
    }
    Ok(found)
}

/// What follows for a job from where its prerequisites stand, if a command has to know.
pub(super) fn decision_for(
    session: &mut Session<'_>,
    job: &Job,
    command: &JobCommand,
) -> Result<Option<DependantDecision>, DriverError> {
    let Some(on_failure) = asks_prerequisites(job, command) else {
        return Ok(None);
    };
    let states = prerequisites(session.conn, &mut session.names, job.id)?;
    let states = states.into_iter().map(|(_, state)| state);
    Ok(Some(decide(on_failure, states)))
}

/// Something has happened to a job that others wait for.
struct LinkNote {
    seq: i64,
    job: JobId,
    dependant: Option<JobId>,
    worked_to: JobId,
}

fn notes(conn: &Connection, limit: usize) -> Result<Vec<LinkNote>, DriverError> {
    let mut statement = conn.prepare_cached(include_str!("sql/link_notes.sql"))?;
    let notes = statement.query_map([row_limit(limit)], |row| {
        let worked_to: Option<[u8; 16]> = row.get("worked_to")?;
        Ok(LinkNote {
            seq: row.get("seq")?,
            job: job_id(row.get("job")?),
            dependant: row.get::<_, Option<_>>("dependant")?.map(job_id),
            worked_to: worked_to.map_or(JobId::from_bits(0), job_id),
        })
    })?;
    Ok(notes.collect::<Result<_, _>>()?)
}

/// Does what follows from some of what has happened.
fn follow(
    session: &mut Session<'_>,
    limit: usize,
    subscriptions: &Subscriptions,
) -> Result<FollowedLinks, DriverError> {
    let notes = notes(session.conn, limit)?;
    let mut has_more = notes.len() == limit;
    // Those that wait, and whether one that they wait for may have failed.
    let mut found: BTreeMap<JobId, bool> = BTreeMap::new();
    for note in notes {
        let room = limit.saturating_sub(found.len());
        if room == 0 {
            has_more = true;
            break;
        }
        let (some, may_have_failed) = dependants_of(session, &note, room)?;
        if note.dependant.is_none() && some.len() == room {
            has_more = true;
            let last = some.last().copied().unwrap_or(note.worked_to);
            let sql = include_str!("sql/link_note_worked.sql");
            let params = params![note.seq, job_key(last)];
            session.conn.prepare_cached(sql)?.execute(params)?;
        } else {
            let sql = include_str!("sql/link_note_delete.sql");
            session.conn.prepare_cached(sql)?.execute([note.seq])?;
        }
        for id in some {
            *found.entry(id).or_default() |= may_have_failed;
        }
    }
    let mut changed = Vec::new();
    for (id, may_have_failed) in found {
        if let Some(decision) = decision(session, id, may_have_failed)? {
            let command = JobCommand::Follow(decision);
            changed.extend(change::run_command(session, id, &command, subscriptions)?.ok());
        }
    }
    Ok(FollowedLinks { changed, has_more })
}

/// Some of those that a note concerns, and whether the one that they wait for may have failed.
fn dependants_of(
    session: &mut Session<'_>,
    note: &LinkNote,
    room: usize,
) -> Result<(Vec<JobId>, bool), DriverError> {
    if let Some(dependant) = note.dependant {
        return Ok((vec![dependant], true));
    }
    let params = params![job_key(note.job), job_key(note.worked_to), row_limit(room)];
    let some: Vec<JobId> = session
        .conn
        .prepare_cached(include_str!("sql/dependants.sql"))?
        .query_map(params, |row| Ok(job_id(row.get("job")?)))?
        .collect::<Result<_, _>>()?;
    let found = find(session.conn, &mut session.names, note.job)?;
    let state = found.map(|(_, prerequisite)| prerequisite.state);
    if let Some(result) = state.map(result_of).filter(|result| *result != 0) {
        let mut end = session
            .conn
            .prepare_cached(include_str!("sql/dependency_end.sql"))?;
        for id in &some {
            end.execute(params![job_key(*id), job_key(note.job), result])?;
        }
    }
    Ok((some, state != Some(PrerequisiteState::Succeeded)))
}

/// What a job does that waits for others; `None` if it does not, or has to go on waiting.
fn decision(
    session: &mut Session<'_>,
    id: JobId,
    may_have_failed: bool,
) -> Result<Option<DependantDecision>, DriverError> {
    let job = match get::job(session.conn, &mut session.names, id) {
        Ok(row) => row.map(|row| row.job).filter(Job::is_blocked),
        Err(DriverError::Damaged(_)) => None,
        Err(error) => return Err(error),
    };
    let Some(on_failure) = job.as_ref().and_then(Job::on_failure) else {
        return Ok(None);
    };
    if !may_have_failed {
        let is_unfinished: bool = session
            .conn
            .prepare_cached(include_str!("sql/dependency_unfinished.sql"))?
            .query_row([job_key(id)], |row| row.get("is_unfinished"))?;
        if is_unfinished {
            return Ok(None);
        }
    }
    let states = prerequisites(session.conn, &mut session.names, id)?;
    let decision = decide(on_failure, states.into_iter().map(|(_, state)| state));
    Ok(Some(decision).filter(|decision| *decision != DependantDecision::Wait))
}
