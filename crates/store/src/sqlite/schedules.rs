//! Schedules and their ticks.

use std::{ops::Range, sync::Arc};

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use steadfast_core::{
    AuditRecord, JobCommand, JobId, NewJob, Schedule, ScheduleId, ScheduleName, ScheduleProgress,
    SkippedTicks, Timestamp,
};

use super::{
    SqliteStore,
    audit::save_audit,
    change,
    damage::pass_over,
    driver_error::DriverError,
    each,
    enqueue::{find_key, insert_unless_stored},
    list::ABOVE_ALL,
    readers::Reader,
    session::Session,
    values::{
        job_id, job_key, json, json_option, parse, schedule_id, schedule_key, time, time_option,
        to_json,
    },
};
use crate::{
    damage::DamageLog,
    error::StoreError,
    sql::{
        columns::ScheduleColumns,
        paging::{Readable, page_of, row_limit},
        schedules::{keep_longest_due, progress_columns},
        template::Template,
        values::unsigned,
    },
    store::{
        BaseStore as _, DueSchedule, DueSchedules, FireRequest, FireResult, Page, PageRequest,
        ScheduleCreateResult, ScheduleFilter, ScheduleSaveResult, ScheduleStore, TickRecord,
    },
};

#[async_trait]
impl ScheduleStore for SqliteStore {
    async fn save_schedule(
        &self,
        schedule: Schedule,
        audit: Option<AuditRecord>,
    ) -> Result<ScheduleSaveResult, StoreError> {
        self.write("save_schedule", 1, move |session| {
            save(session, &schedule, audit.as_ref())
        })
        .await
    }

    async fn create_schedule(
        &self,
        schedule: Schedule,
        fingerprint: [u8; 16],
        audit: Option<AuditRecord>,
    ) -> Result<ScheduleCreateResult, StoreError> {
        self.write("create_schedule", 1, move |session| {
            create(session, &schedule, fingerprint, audit.as_ref())
        })
        .await
    }

    async fn delete_schedule(
        &self,
        id: ScheduleId,
        audit: Option<AuditRecord>,
    ) -> Result<bool, StoreError> {
        self.write("delete_schedule", 1, move |session| {
            let is_deleted = delete(session, id)?;
            save_audit(session, audit.as_ref().filter(|_| is_deleted))?;
            Ok(is_deleted)
        })
        .await
    }

    async fn list_schedules(
        &self,
        filter: ScheduleFilter,
        page: PageRequest<ScheduleId>,
    ) -> Result<Page<Schedule, ScheduleId>, StoreError> {
        self.read("list_schedules", move |reader| list(reader, &filter, page))
            .await
    }

    async fn due_schedules(&self, limit: usize) -> Result<DueSchedules, StoreError> {
        let now = self.now();
        self.read_for_node("due_schedules", move |reader| due(reader, now, limit))
            .await
    }

    async fn fire_schedules(
        &self,
        firings: Vec<FireRequest>,
    ) -> Result<Vec<FireResult>, StoreError> {
        let firings = Arc::new(firings);
        match self.fire_some(&firings, 0..firings.len()).await {
            Err(error) if !error.is_transient() => {}
            fired => return fired,
        }
        // Each by itself, so that one that cannot be written does not hinder the others.
        let mut answers = Vec::with_capacity(firings.len());
        for (index, firing) in firings.iter().enumerate() {
            match self.fire_some(&firings, index..index + 1).await {
                Err(error) if !error.is_transient() => {
                    answers.push(FireResult::failed(firing, &error));
                }
                fired => answers.extend(fired?),
            }
        }
        Ok(answers)
    }

    async fn list_ticks(
        &self,
        schedule: ScheduleId,
        page: PageRequest<Timestamp>,
    ) -> Result<Page<TickRecord, Timestamp>, StoreError> {
        self.read("list_ticks", move |reader| {
            list_ticks(reader, schedule, page)
        })
        .await
    }
}

impl SqliteStore {
    async fn fire_some(
        &self,
        firings: &Arc<Vec<FireRequest>>,
        some: Range<usize>,
    ) -> Result<Vec<FireResult>, StoreError> {
        let rows = firings[some.clone()].iter();
        let rows = rows.map(|firing| firing.runs.len() + 1).sum();
        let firings = Arc::clone(firings);
        self.write("fire_schedules", rows, move |session| {
            each(&firings[some.clone()], |firing| fire(session, firing))
        })
        .await
    }
}

fn save(
    session: &mut Session<'_>,
    schedule: &Schedule,
    audit: Option<&AuditRecord>,
) -> Result<ScheduleSaveResult, DriverError> {
    let damage = session.names.damage();
    let stored = find(session.conn, &damage, schedule.id)?;
    if let Some(refusal) = ScheduleSaveResult::refusal(schedule, stored.as_ref()) {
        return Ok(refusal);
    }
    if let Some(namesake) = namesake(session.conn, &damage, schedule)? {
        return Ok(ScheduleSaveResult::Outdated(namesake));
    }
    let saved = schedule.clone().replacing(stored.as_ref());
    write(session.conn, &saved)?;
    save_audit(session, audit)?;
    session.wakes.schedule_waits();
    Ok(ScheduleSaveResult::Done(saved))
}

fn namesake(
    conn: &Connection,
    damage: &DamageLog,
    schedule: &Schedule,
) -> Result<Option<Schedule>, DriverError> {
    let named = query(
        conn,
        damage,
        include_str!("sql/schedule_named.sql"),
        (schedule.tenant().as_str(), schedule.name.as_str()),
    )?;
    let named = named.unless_damaged()?;
    Ok(named.into_iter().find(|other| other.id != schedule.id))
}

fn create(
    session: &mut Session<'_>,
    schedule: &Schedule,
    fingerprint: [u8; 16],
    audit: Option<&AuditRecord>,
) -> Result<ScheduleCreateResult, DriverError> {
    let damage = session.names.damage();
    let (tenant, key) = (schedule.tenant(), &schedule.template.idempotency_key);
    if let Some(key) = key
        && let Some(holder) = find_key(session, tenant, key)?
    {
        let stored = find(
            session.conn,
            &damage,
            ScheduleId::from_bits(holder.job.bits()),
        )?;
        return Ok(match stored {
            Some(stored) if holder.fingerprint == fingerprint => {
                ScheduleCreateResult::Existing(stored)
            }
            _ => ScheduleCreateResult::KeyTaken,
        });
    }
    if let Some(namesake) = namesake(session.conn, &damage, schedule)? {
        return Ok(ScheduleCreateResult::NameTaken(namesake));
    }
    if let Some(key) = key {
        session
            .conn
            .prepare_cached(include_str!("sql/idempotency_insert.sql"))?
            .execute(params![
                tenant.as_str(),
                key.as_str(),
                schedule_key(schedule.id),
                fingerprint
            ])?;
    }
    let saved = schedule.clone().replacing(None);
    write(session.conn, &saved)?;
    save_audit(session, audit)?;
    session.wakes.schedule_waits();
    Ok(ScheduleCreateResult::Created(saved))
}

fn delete(session: &mut Session<'_>, id: ScheduleId) -> Result<bool, DriverError> {
    let key = schedule_key(id);
    session
        .conn
        .prepare_cached(include_str!("sql/schedule_key_delete.sql"))?
        .execute([key])?;
    session
        .conn
        .prepare_cached(include_str!("sql/ticks_delete.sql"))?
        .execute([key])?;
    let deleted = session
        .conn
        .prepare_cached(include_str!("sql/schedule_delete.sql"))?
        .execute([key])?;
    Ok(deleted > 0)
}

fn list(
    reader: &mut Reader,
    filter: &ScheduleFilter,
    page: PageRequest<ScheduleId>,
) -> Result<Page<Schedule, ScheduleId>, DriverError> {
    let (conn, damage) = (&reader.conn, reader.names.damage());
    let tenant = filter.tenant.as_ref().map(|tenant| tenant.as_str());
    let name = filter.name.as_ref().map(ScheduleName::as_str);
    if let Some(id) = filter.id {
        let sql = include_str!("sql/schedule_find.sql");
        let mut found = query(conn, &damage, sql, [schedule_key(id)])?.items;
        found.retain(|schedule| {
            tenant.is_none_or(|tenant| tenant == schedule.tenant().as_str())
                && name.is_none_or(|name| name == schedule.name.as_str())
                && page.after.is_none_or(|after| schedule.id < after)
        });
        return Ok(page_of(found, page.limit, |schedule| schedule.id));
    }
    let below = page
        .after
        .map_or(ABOVE_ALL.to_vec(), |id| schedule_key(id).to_vec());
    let items = query_enough(page.limit.saturating_add(1), |limit| {
        let params = params![below, row_limit(limit), tenant, name];
        query(conn, &damage, include_str!("sql/schedules.sql"), params)
    })?;
    Ok(page_of(items, page.limit, |schedule| schedule.id))
}

/// Asks for more rows, if some cannot be read and have taken the places of others.
fn query_enough<T>(
    wanted: usize,
    query: impl Fn(usize) -> Result<Readable<T>, DriverError>,
) -> Result<Vec<T>, DriverError> {
    let mut limit = wanted;
    loop {
        let found = query(limit)?;
        match found.next_limit(wanted, limit) {
            Some(next) => limit = next,
            None => return Ok(found.items),
        }
    }
}

fn due(reader: &mut Reader, now: Timestamp, limit: usize) -> Result<DueSchedules, DriverError> {
    let damage = reader.names.damage();
    let snapshot = reader.conn.unchecked_transaction()?;
    let mut found = Vec::new();
    for sql in [
        include_str!("sql/due_schedules.sql"),
        include_str!("sql/due_queued.sql"),
    ] {
        found.extend(query_enough(limit, |limit| {
            let params = params![now.as_micros(), row_limit(limit)];
            query(&snapshot, &damage, sql, params)
        })?);
    }
    keep_longest_due(&mut found, now, limit);
    let due: Result<_, DriverError> = found
        .into_iter()
        .map(|schedule| {
            Ok(DueSchedule {
                unfinished: unfinished(&snapshot, schedule.id)?,
                schedule,
            })
        })
        .collect();
    let next_due: Option<i64> = snapshot
        .prepare_cached(include_str!("sql/due_next.sql"))?
        .query_row([now.as_micros()], |row| row.get(0))?;
    Ok(DueSchedules {
        due: due?,
        next_due: next_due.map(time),
    })
}

/// Everything is checked before anything is written, because the transaction is shared.
fn fire(session: &mut Session<'_>, firing: &FireRequest) -> Result<FireResult, DriverError> {
    let key = schedule_key(firing.schedule);
    let revision: Option<i64> = session
        .conn
        .prepare_cached(include_str!("sql/schedule_revision.sql"))?
        .query_row([key], |row| row.get("revision"))
        .optional()?;
    if revision != i64::try_from(firing.revision).ok() {
        return Ok(FireResult::Outdated);
    }
    if let Some(job) = firing.cancel
        && let Err(error) =
            change::run_command(session, job, &JobCommand::Cancel, &firing.subscriptions)?
    {
        tracing::debug!(%error, "a run to cancel has ended meanwhile");
    }
    for run in &firing.runs {
        make_run(session, key, run)?;
    }
    for skip in &firing.skipped {
        session
            .conn
            .prepare_cached(include_str!("sql/tick_skip.sql"))?
            .execute(params![key, skip.from.as_micros(), to_json(skip)?])?;
    }
    let [next_tick, last_tick, runs, queued_tick] = progress_columns(&firing.progress);
    session
        .conn
        .prepare_cached(include_str!("sql/schedule_progress.sql"))?
        .execute(params![key, next_tick, last_tick, runs, queued_tick])?;
    save_audit(session, firing.audit.as_ref())?;
    session.wakes.schedule_waits();
    Ok(FireResult::Done)
}

/// Makes the run of a tick, unless the tick has fired already.
fn make_run(
    session: &mut Session<'_>,
    schedule: [u8; 16],
    run: &NewJob,
) -> Result<(), DriverError> {
    if let Some(tick) = run.scheduled_run.map(|run| run.tick.as_micros()) {
        let has_fired = session
            .conn
            .prepare_cached(include_str!("sql/tick_fired.sql"))?
            .exists(params![schedule, tick])?;
        if has_fired {
            return Ok(());
        }
        session
            .conn
            .prepare_cached(include_str!("sql/tick_fire.sql"))?
            .execute(params![schedule, tick, job_key(run.id)])?;
    }
    insert_unless_stored(session, run)
}

fn list_ticks(
    reader: &mut Reader,
    schedule: ScheduleId,
    page: PageRequest<Timestamp>,
) -> Result<Page<TickRecord, Timestamp>, DriverError> {
    let below = page.after.map_or(i64::MAX, Timestamp::as_micros);
    let damage = reader.names.damage();
    let mut statement = reader.conn.prepare_cached(include_str!("sql/ticks.sql"))?;
    let wanted = page.limit.saturating_add(1);
    let mut limit = wanted;
    loop {
        let mut rows = statement.query(params![schedule_key(schedule), below, row_limit(limit)])?;
        let mut found = Readable::default();
        while let Some(row) = rows.next()? {
            let id = format_args!("{schedule}/{}", row.get::<_, i64>("tick")?);
            found.push(pass_over(tick_record(row), &damage, "tick", id)?);
        }
        match found.next_limit(wanted, limit) {
            Some(next) => limit = next,
            None => return Ok(page_of(found.items, page.limit, TickRecord::at)),
        }
    }
}

fn tick_record(row: &Row<'_>) -> Result<TickRecord, DriverError> {
    if let Some(job) = row.get::<_, Option<_>>("job")? {
        return Ok(TickRecord::Fired {
            tick: time(row.get("tick")?),
            job: job_id(job),
        });
    }
    let skip: Option<SkippedTicks> = json_option(row, row.as_ref().column_index("skip")?, "skip")?;
    skip.map(TickRecord::Skipped)
        .ok_or_else(|| DriverError::unreadable("tick", "it neither fired nor was skipped"))
}

fn find(
    conn: &Connection,
    damage: &DamageLog,
    id: ScheduleId,
) -> Result<Option<Schedule>, DriverError> {
    let sql = include_str!("sql/schedule_find.sql");
    let found = query(conn, damage, sql, [schedule_key(id)])?;
    Ok(found.unless_damaged()?.into_iter().next())
}

/// Whether there is such a schedule, and it cannot be read.
pub(super) fn is_damaged(
    conn: &Connection,
    damage: &DamageLog,
    id: ScheduleId,
) -> Result<bool, DriverError> {
    let sql = include_str!("sql/schedule_find.sql");
    let found = query(conn, damage, sql, [schedule_key(id)])?;
    Ok(found.damaged > 0)
}

fn query(
    conn: &Connection,
    damage: &DamageLog,
    sql: &str,
    params: impl Params,
) -> Result<Readable<Schedule>, DriverError> {
    let mut statement = conn.prepare_cached(sql)?;
    let columns = ScheduleColumns::find(statement.column_names())?;
    let mut rows = statement.query(params)?;
    let mut schedules = Readable::default();
    while let Some(row) = rows.next()? {
        let id = schedule_id(row.get(columns.id)?);
        schedules.push(pass_over(read(&columns, row), damage, "schedule", id)?);
    }
    Ok(schedules)
}

fn read(columns: &ScheduleColumns, row: &Row<'_>) -> Result<Schedule, DriverError> {
    let template: Template = json(row, columns.template, "template")?;
    Ok(Schedule {
        id: schedule_id(row.get(columns.id)?),
        name: parse(row, columns.name, "name", ScheduleName::new)?,
        timetable: json(row, columns.timetable, "timetable")?,
        template: template
            .try_into()
            .map_err(|error| DriverError::unreadable("template", error))?,
        paused: row.get(columns.paused)?,
        created_at: time(row.get(columns.created_at)?),
        revision: unsigned(row.get(columns.revision)?),
        progress: ScheduleProgress {
            next_tick: time_option(row, columns.next_tick)?,
            last_tick: time_option(row, columns.last_tick)?,
            runs: unsigned(row.get(columns.runs)?),
            queued_tick: time_option(row, columns.queued_tick)?,
        },
    })
}

fn write(conn: &Connection, schedule: &Schedule) -> Result<(), DriverError> {
    let [next_tick, last_tick, runs, queued_tick] = progress_columns(&schedule.progress);
    conn.prepare_cached(include_str!("sql/schedule_save.sql"))?
        .execute(params![
            schedule_key(schedule.id),
            schedule.tenant().as_str(),
            schedule.name.as_str(),
            to_json(&schedule.timetable)?,
            to_json(&Template::from(&schedule.template))?,
            schedule.paused,
            schedule.created_at.as_micros(),
            i64::try_from(schedule.revision).unwrap_or(i64::MAX),
            next_tick,
            last_tick,
            runs,
            queued_tick,
        ])?;
    Ok(())
}

fn unfinished(conn: &Connection, id: ScheduleId) -> Result<Option<JobId>, DriverError> {
    let newest = conn
        .prepare_cached(include_str!("sql/unfinished.sql"))?
        .query_row([schedule_key(id)], |row| row.get("id"))
        .optional()?;
    Ok(newest.map(job_id))
}
