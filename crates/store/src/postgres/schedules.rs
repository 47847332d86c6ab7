//! Schedules and their ticks.

use std::collections::HashMap;

use async_trait::async_trait;
use steadfast_core::{
    AuditRecord, IdempotencyKey, JobId, Schedule, ScheduleId, ScheduleName, ScheduleProgress,
    SkippedTicks, Tenant, Timestamp,
};
use tokio_postgres::{Row, types::ToSql};

use super::{
    PostgresStore,
    audit::save_audit,
    commit::rounds,
    damage::pass_over,
    driver_error::DriverError,
    enqueue::{KeyHolder, find_holders},
    fire,
    inner::{on_connection, with_wake_hints},
    key::Key,
    session::{Conn, Session},
    values::{json, json_option, parse, time, time_option, to_json},
};
use crate::{
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
impl ScheduleStore for PostgresStore {
    async fn save_schedule(
        &self,
        schedule: Schedule,
        audit: Option<AuditRecord>,
    ) -> Result<ScheduleSaveResult, StoreError> {
        with_wake_hints!(self, "save_schedule", |conn, hints| async {
            hints.schedule_waits();
            save(conn, &schedule, audit.as_ref()).await
        })
    }

    async fn create_schedule(
        &self,
        schedule: Schedule,
        fingerprint: [u8; 16],
        audit: Option<AuditRecord>,
    ) -> Result<ScheduleCreateResult, StoreError> {
        with_wake_hints!(self, "create_schedule", |conn, hints| async {
            hints.schedule_waits();
            create(conn, &schedule, fingerprint, audit.as_ref()).await
        })
    }

    async fn delete_schedule(
        &self,
        id: ScheduleId,
        audit: Option<AuditRecord>,
    ) -> Result<bool, StoreError> {
        on_connection!(self, "delete_schedule", |conn| delete(
            conn,
            id,
            audit.as_ref()
        ))
    }

    async fn list_schedules(
        &self,
        filter: ScheduleFilter,
        page: PageRequest<ScheduleId>,
    ) -> Result<Page<Schedule, ScheduleId>, StoreError> {
        on_connection!(self, "list_schedules", |conn| list(
            &conn.session(),
            &filter,
            page
        ))
    }

    async fn due_schedules(&self, limit: usize) -> Result<DueSchedules, StoreError> {
        let now = self.now();
        on_connection!(self, "due_schedules", |conn| due(conn, now, limit))
    }

    async fn fire_schedules(
        &self,
        firings: Vec<FireRequest>,
    ) -> Result<Vec<FireResult>, StoreError> {
        let mut answers = vec![FireResult::Outdated; firings.len()];
        // No part of a batch names a schedule twice.
        let schedule = |firing: &FireRequest| JobId::from_bits(firing.schedule.bits());
        for round in rounds(&firings, schedule) {
            let batch: Vec<&FireRequest> = round.iter().map(|index| &firings[*index]).collect();
            let fired = match self.fire_together(&batch).await {
                Err(error) if !error.is_transient() => self.fire_apart(&batch).await?,
                fired => fired?,
            };
            for (index, fired) in round.into_iter().zip(fired) {
                answers[index] = fired;
            }
        }
        Ok(answers)
    }

    async fn list_ticks(
        &self,
        schedule: ScheduleId,
        page: PageRequest<Timestamp>,
    ) -> Result<Page<TickRecord, Timestamp>, StoreError> {
        on_connection!(self, "list_ticks", |conn| list_ticks(
            &conn.session(),
            schedule,
            page
        ))
    }
}

impl PostgresStore {
    async fn fire_together(&self, batch: &[&FireRequest]) -> Result<Vec<FireResult>, StoreError> {
        with_wake_hints!(self, "fire_schedules", |conn, hints| fire::fire(
            conn, batch, hints
        ))
    }

    /// Each by itself, so that one that cannot be written does not hinder the others.
    async fn fire_apart(&self, batch: &[&FireRequest]) -> Result<Vec<FireResult>, StoreError> {
        let mut answers = Vec::with_capacity(batch.len());
        for firing in batch {
            match self.fire_together(&[firing]).await {
                Err(error) if !error.is_transient() => {
                    answers.push(FireResult::failed(firing, &error));
                }
                fired => answers.extend(fired?),
            }
        }
        Ok(answers)
    }
}

async fn save(
    conn: &mut Conn<'_>,
    schedule: &Schedule,
    audit: Option<&AuditRecord>,
) -> Result<ScheduleSaveResult, DriverError> {
    let transaction = conn.begin().await?;
    let session = transaction.session();
    let saved = save_in(&session, schedule).await?;
    if matches!(saved, ScheduleSaveResult::Done(_)) {
        save_audit(&session, audit).await?;
    }
    transaction.commit().await?;
    Ok(saved)
}

async fn save_in(
    session: &Session<'_>,
    schedule: &Schedule,
) -> Result<ScheduleSaveResult, DriverError> {
    let stored = find(session, schedule.id).await?;
    if let Some(refusal) = ScheduleSaveResult::refusal(schedule, stored.as_ref()) {
        return Ok(refusal);
    }
    if let Some(namesake) = namesake(session, schedule).await? {
        return Ok(ScheduleSaveResult::Outdated(namesake));
    }
    let saved = schedule.clone().replacing(stored.as_ref());
    let sql = match stored {
        None => include_str!("sql/schedule_create.sql"),
        Some(_) => include_str!("sql/schedule_replace.sql"),
    };
    match write(session, sql, &saved).await {
        Ok(true) => Ok(ScheduleSaveResult::Done(saved)),
        // Between the read and the write, another caller changed it or took the name.
        Ok(false) => Err(DriverError::Overtaken),
        Err(DriverError::Postgres(error)) if is_name_taken(&error) => Err(DriverError::Overtaken),
        Err(error) => Err(error),
    }
}

fn is_name_taken(error: &tokio_postgres::Error) -> bool {
    error.code() == Some(&tokio_postgres::error::SqlState::UNIQUE_VIOLATION)
}

async fn namesake(
    session: &Session<'_>,
    schedule: &Schedule,
) -> Result<Option<Schedule>, DriverError> {
    let sql = include_str!("sql/schedule_named.sql");
    let key = (schedule.tenant().as_str(), schedule.name.as_str());
    let found = query(session, sql, &[&key.0, &key.1]).await?;
    let found = found.unless_damaged()?;
    Ok(found.into_iter().find(|other| other.id != schedule.id))
}

/// The key first: another request with the same one waits for this transaction, and then finds the
/// schedule.
async fn create(
    conn: &mut Conn<'_>,
    schedule: &Schedule,
    fingerprint: [u8; 16],
    audit: Option<&AuditRecord>,
) -> Result<ScheduleCreateResult, DriverError> {
    let transaction = conn.begin().await?;
    let session = transaction.session();
    if let Some(key) = &schedule.template.idempotency_key {
        let taken = insert_key(&session, schedule, key, fingerprint).await?;
        if let Some(holder) = taken {
            let stored = find(&session, ScheduleId::from_bits(holder.job.bits())).await?;
            transaction.roll_back().await?;
            return Ok(match stored {
                Some(stored) if holder.fingerprint == fingerprint => {
                    ScheduleCreateResult::Existing(stored)
                }
                _ => ScheduleCreateResult::KeyTaken,
            });
        }
    }
    if let Some(namesake) = namesake(&session, schedule).await? {
        transaction.roll_back().await?;
        return Ok(ScheduleCreateResult::NameTaken(namesake));
    }
    let saved = schedule.clone().replacing(None);
    if !write(&session, include_str!("sql/schedule_create.sql"), &saved).await? {
        // Between the read and the write, another caller took the name.
        transaction.roll_back().await?;
        return Err(DriverError::Overtaken);
    }
    save_audit(&session, audit).await?;
    transaction.commit().await?;
    Ok(ScheduleCreateResult::Created(saved))
}

/// Stores the key of a schedule. Answers who has it if it is taken.
async fn insert_key(
    session: &Session<'_>,
    schedule: &Schedule,
    key: &IdempotencyKey,
    fingerprint: [u8; 16],
) -> Result<Option<KeyHolder>, DriverError> {
    let sql = include_str!("sql/keys_insert.sql");
    let (tenant, key) = (schedule.tenant(), key);
    let owner = Key::from(schedule.id);
    let print = fingerprint.to_vec();
    let inserted = session
        .query(
            sql,
            &[
                &[tenant.as_str()].as_slice(),
                &[key.as_str()].as_slice(),
                &[owner].as_slice(),
                &[print].as_slice(),
            ],
        )
        .await?;
    if !inserted.is_empty() {
        return Ok(None);
    }
    let holders = find_holders(session, &[(tenant, key)]).await?;
    // A key that was taken and is free now was deleted with its job meanwhile.
    let holder = holders.into_values().next();
    holder.map(Some).ok_or(DriverError::Overtaken)
}

async fn delete(
    conn: &mut Conn<'_>,
    id: ScheduleId,
    audit: Option<&AuditRecord>,
) -> Result<bool, DriverError> {
    let transaction = conn.begin().await?;
    let session = transaction.session();
    let key = Key::from(id);
    let sql = include_str!("sql/schedule_delete.sql");
    let deleted = session.query(sql, &[&key]).await?;
    if let Some(row) = deleted.first() {
        save_audit(&session, audit).await?;
        let tenant: &str = row.try_get("tenant")?;
        let template: Result<Template, _> = json(row, "template", "template");
        // A template that cannot be read must not keep the schedule from being deleted.
        if let Some(text) = template.ok().and_then(|template| template.idempotency_key) {
            let sql = include_str!("sql/keys_delete.sql");
            let (tenants, texts, owners) = ([tenant], [text.as_str()], [key]);
            session
                .execute(
                    sql,
                    &[&tenants.as_slice(), &texts.as_slice(), &owners.as_slice()],
                )
                .await?;
        }
    }
    transaction.commit().await?;
    Ok(!deleted.is_empty())
}

async fn list(
    session: &Session<'_>,
    filter: &ScheduleFilter,
    page: PageRequest<ScheduleId>,
) -> Result<Page<Schedule, ScheduleId>, DriverError> {
    let wanted = page.limit.saturating_add(1);
    let mut limit = wanted;
    loop {
        let found = query(
            session,
            include_str!("sql/schedules.sql"),
            &[
                &page.after.map(Key::from),
                &row_limit(limit),
                &filter.tenant.as_ref().map(Tenant::as_str),
                &filter.name.as_ref().map(ScheduleName::as_str),
                &filter.id.map(Key::from),
            ],
        )
        .await?;
        match found.next_limit(wanted, limit) {
            Some(next) => limit = next,
            None => return Ok(page_of(found.items, page.limit, |schedule| schedule.id)),
        }
    }
}

async fn due(
    conn: &mut Conn<'_>,
    now: Timestamp,
    most: usize,
) -> Result<DueSchedules, DriverError> {
    // The locks are let go at the end: a node that fires decides under the revision.
    let transaction = conn.begin().await?;
    let session = transaction.session();
    let mut found = Vec::new();
    for sql in [
        include_str!("sql/due_schedules.sql"),
        include_str!("sql/due_queued.sql"),
    ] {
        let mut limit = most;
        found.extend(loop {
            let some = query(&session, sql, &[&now.as_micros(), &row_limit(limit)]).await?;
            match some.next_limit(most, limit) {
                Some(next) => limit = next,
                None => break some.items,
            }
        });
    }
    keep_longest_due(&mut found, now, most);
    let unfinished = unfinished(&session, &found).await?;
    let next = session
        .query_one(include_str!("sql/due_next.sql"), &[&now.as_micros()])
        .await?;
    let next_due = time_option(&next, "next_tick")?;
    transaction.commit().await?;
    let due = found.into_iter().map(|schedule| DueSchedule {
        unfinished: unfinished.get(&schedule.id).copied(),
        schedule,
    });
    Ok(DueSchedules {
        due: due.collect(),
        next_due,
    })
}

async fn unfinished(
    session: &Session<'_>,
    schedules: &[Schedule],
) -> Result<HashMap<ScheduleId, JobId>, DriverError> {
    let ids: Vec<Key> = schedules
        .iter()
        .map(|schedule| schedule.id.into())
        .collect();
    let rows = session
        .query(include_str!("sql/unfinished.sql"), &[&ids])
        .await?;
    rows.iter()
        .map(|row| {
            let schedule = row.try_get::<_, Key>("schedule")?.schedule();
            Ok((schedule, row.try_get::<_, Key>("job")?.job()))
        })
        .collect()
}

async fn list_ticks(
    session: &Session<'_>,
    schedule: ScheduleId,
    page: PageRequest<Timestamp>,
) -> Result<Page<TickRecord, Timestamp>, DriverError> {
    let below = page.after.map_or(i64::MAX, Timestamp::as_micros);
    let id = Key::from(schedule);
    let sql = include_str!("sql/ticks.sql");
    let wanted = page.limit.saturating_add(1);
    let mut limit = wanted;
    loop {
        let rows = session
            .query(sql, &[&id, &below, &row_limit(limit)])
            .await?;
        let mut found = Readable::default();
        for row in &rows {
            let tick = format_args!("{schedule}/{}", row.try_get::<_, i64>("tick")?);
            found.push(pass_over(
                tick_record(row),
                &session.shared.damage,
                "tick",
                tick,
            )?);
        }
        match found.next_limit(wanted, limit) {
            Some(next) => limit = next,
            None => return Ok(page_of(found.items, page.limit, TickRecord::at)),
        }
    }
}

fn tick_record(row: &Row) -> Result<TickRecord, DriverError> {
    if let Some(job) = row.try_get::<_, Option<Key>>("job")? {
        return Ok(TickRecord::Fired {
            tick: time(row.try_get("tick")?),
            job: job.job(),
        });
    }
    let skip: Option<SkippedTicks> = json_option(row, "skip", "skip")?;
    skip.map(TickRecord::Skipped)
        .ok_or_else(|| DriverError::unreadable("tick", "it neither fired nor was skipped"))
}

async fn find(session: &Session<'_>, id: ScheduleId) -> Result<Option<Schedule>, DriverError> {
    let sql = include_str!("sql/schedule_find.sql");
    let found = query(session, sql, &[&Key::from(id)]).await?;
    Ok(found.unless_damaged()?.into_iter().next())
}

async fn query(
    session: &Session<'_>,
    sql: &'static str,
    params: &[&(dyn ToSql + Sync)],
) -> Result<Readable<Schedule>, DriverError> {
    let rows = session.query(sql, params).await?;
    let Some(first) = rows.first() else {
        return Ok(Readable::default());
    };
    let columns = ScheduleColumns::find(first.columns().iter().map(|column| column.name()))?;
    let mut found = Readable::default();
    for row in &rows {
        let id = row.try_get::<_, Key>(columns.id)?.schedule();
        found.push(pass_over(
            read(&columns, row),
            &session.shared.damage,
            "schedule",
            id,
        )?);
    }
    Ok(found)
}

/// Whether there is such a schedule, and it cannot be read.
pub(super) async fn is_damaged(session: &Session<'_>, id: ScheduleId) -> Result<bool, DriverError> {
    let sql = include_str!("sql/schedule_find.sql");
    Ok(query(session, sql, &[&Key::from(id)]).await?.damaged > 0)
}

fn read(columns: &ScheduleColumns, row: &Row) -> Result<Schedule, DriverError> {
    let template: Template = json(row, columns.template, "template")?;
    Ok(Schedule {
        id: row.try_get::<_, Key>(columns.id)?.schedule(),
        name: parse(row, columns.name, "name", ScheduleName::new)?,
        timetable: json(row, columns.timetable, "timetable")?,
        template: template
            .try_into()
            .map_err(|error| DriverError::unreadable("template", error))?,
        paused: row.try_get(columns.paused)?,
        created_at: time(row.try_get(columns.created_at)?),
        revision: unsigned(row.try_get(columns.revision)?),
        progress: ScheduleProgress {
            next_tick: time_option(row, columns.next_tick)?,
            last_tick: time_option(row, columns.last_tick)?,
            runs: unsigned(row.try_get(columns.runs)?),
            queued_tick: time_option(row, columns.queued_tick)?,
        },
    })
}

async fn write(
    session: &Session<'_>,
    sql: &'static str,
    schedule: &Schedule,
) -> Result<bool, DriverError> {
    let [next_tick, last_tick, runs, queued_tick] = progress_columns(&schedule.progress);
    let written = session
        .query(
            sql,
            &[
                &Key::from(schedule.id),
                &schedule.tenant().as_str(),
                &schedule.name.as_str(),
                &to_json(&schedule.timetable)?,
                &to_json(&Template::from(&schedule.template))?,
                &schedule.paused,
                &schedule.created_at.as_micros(),
                &i64::try_from(schedule.revision).unwrap_or(i64::MAX),
                &next_tick,
                &last_tick,
                &runs,
                &queued_tick,
            ],
        )
        .await?;
    Ok(!written.is_empty())
}
