//! Schedules and their ticks.

mod body;
mod fire;

use std::{ops::Range, sync::Arc};

use async_trait::async_trait;
use steadfast_core::{AuditRecord, IdempotencyKey, Schedule, ScheduleId, Tenant, Timestamp};

use self::body::{ScheduleBody, read};
#[cfg(any(feature = "postgres", feature = "sqlite"))]
use super::documents;
use super::{
    audit::save_audit,
    records::{newest_page, readable, skip_corrupt},
};
use crate::{
    drivers::driver_error::DriverError,
    drivers::transaction::{
        Lock, Reads, RecordKind, RecordOrder, RecordQuery, RecordState, StoredKey, StoredRecord,
        Transaction, WakeReason,
    },
    drivers::{Asker, Driver},
    error::StoreError,
    limits::SCHEDULES_PER_TENANT_MAX,
    paging::{Readable, page_of},
    store::{
        DueSchedules, FireRequest, FireResult, Page, PageRequest, ScheduleFilter,
        ScheduleSaveResult, ScheduleStore, TickRecord,
    },
};

#[async_trait]
impl<D: Driver> ScheduleStore for D {
    async fn save_schedule(
        &self,
        schedule: Schedule,
        fingerprint: Option<[u8; 16]>,
        audit: Option<AuditRecord>,
    ) -> Result<ScheduleSaveResult, StoreError> {
        let arguments = (schedule, fingerprint, audit);
        self.transact("save_schedule", 1, arguments, |tx, it| {
            let (schedule, fingerprint, audit) = it;
            Box::pin(async move {
                match fingerprint {
                    Some(fingerprint) => {
                        create_once(tx, schedule, *fingerprint, audit.as_ref()).await
                    }
                    None => save(tx, schedule, audit.as_ref()).await,
                }
            })
        })
        .await
    }

    async fn delete_schedule(
        &self,
        id: ScheduleId,
        audit: Option<AuditRecord>,
    ) -> Result<bool, StoreError> {
        self.transact("delete_schedule", 1, (id, audit), |tx, (id, audit)| {
            Box::pin(delete(tx, *id, audit.as_ref()))
        })
        .await
    }

    async fn list_schedules(
        &self,
        filter: ScheduleFilter,
        page: PageRequest<ScheduleId>,
    ) -> Result<Page<Schedule, ScheduleId>, StoreError> {
        let arguments = (filter, page);
        self.read("list_schedules", Asker::Caller, arguments, |tx, it| {
            Box::pin(list(tx, &it.0, it.1))
        })
        .await
    }

    async fn due_schedules(&self, limit: usize) -> Result<DueSchedules, StoreError> {
        self.read("due_schedules", Asker::Node, limit, |tx, limit| {
            Box::pin(fire::due(tx, *limit))
        })
        .await
    }

    async fn fire_schedules(
        &self,
        firings: Vec<FireRequest>,
    ) -> Result<Vec<FireResult>, StoreError> {
        let firings = Arc::new(firings);
        match fire_some(self, &firings, 0..firings.len()).await {
            Err(error) if !error.is_transient() => {}
            fired => return fired,
        }
        // Each by itself, so that one that cannot be written does not hinder the others.
        let mut results = Vec::with_capacity(firings.len());
        for (index, firing) in firings.iter().enumerate() {
            match fire_some(self, &firings, index..index + 1).await {
                Err(error) if !error.is_transient() => {
                    results.push(FireResult::failed(firing, &error));
                }
                fired => results.extend(fired?),
            }
        }
        Ok(results)
    }

    async fn list_ticks(
        &self,
        schedule: ScheduleId,
        page: PageRequest<Timestamp>,
    ) -> Result<Page<TickRecord, Timestamp>, StoreError> {
        let arguments = (schedule, page);
        self.read("list_ticks", Asker::Caller, arguments, |tx, it| {
            Box::pin(list_ticks(tx, it.0, it.1))
        })
        .await
    }
}

/// Forgets corrupt schedules and documents that were repaired or deleted.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) async fn forget_repaired<D: Driver>(store: &D) -> Result<(), StoreError> {
    store
        .read("list_damaged", Asker::Caller, (), |tx, ()| {
            Box::pin(forget_readable(tx))
        })
        .await
}

#[cfg(any(feature = "postgres", feature = "sqlite"))]
async fn forget_readable(tx: &mut dyn Reads) -> Result<(), DriverError> {
    let kind = RecordKind::Schedule;
    for id in tx.damage().ids(kind.as_str()) {
        let found = tx.record(kind, &id, Lock::None).await?;
        if found.is_none_or(|record| read(&record).is_ok()) {
            tx.damage().forget(kind.as_str(), &id);
        }
    }
    documents::stored::forget_readable(tx).await
}

async fn save(
    tx: &mut dyn Transaction,
    schedule: &Schedule,
    audit: Option<&AuditRecord>,
) -> Result<ScheduleSaveResult, DriverError> {
    let stored = find(tx, schedule.id, Lock::Update).await?;
    if let Some(refusal) = ScheduleSaveResult::refusal(schedule, stored.as_ref()) {
        return Ok(refusal);
    }
    if let Some(namesake) = namesake(tx, schedule).await? {
        return Ok(ScheduleSaveResult::Outdated(namesake));
    }
    if stored.is_none() && is_full(tx, schedule.tenant()).await? {
        return Ok(ScheduleSaveResult::Full);
    }
    let saved = schedule.clone().replacing(stored.as_ref());
    let replaces = stored.map(|stored| stored.revision);
    write(tx, &saved, replaces, audit).await?;
    Ok(ScheduleSaveResult::Done(saved))
}

async fn create_once(
    tx: &mut dyn Transaction,
    schedule: &Schedule,
    fingerprint: [u8; 16],
    audit: Option<&AuditRecord>,
) -> Result<ScheduleSaveResult, DriverError> {
    let Some(key) = &schedule.template.idempotency_key else {
        return save(tx, schedule, audit).await;
    };
    let (tenant, owner) = (schedule.tenant(), schedule.id.bits());
    // The key first: another request with the same one waits for this transaction, and then finds
    // the schedule.
    if !tx
        .save_key(tenant, key, StoredKey { owner, fingerprint })
        .await?
    {
        return created_before(tx, tenant, key, fingerprint).await;
    }
    let saved = save(tx, schedule, audit).await?;
    if !matches!(saved, ScheduleSaveResult::Done(_)) {
        tx.delete_key(tenant, key, owner).await?;
    }
    Ok(saved)
}

/// Whether a tenant has as many schedules as it may have; no other transaction adds one meanwhile.
async fn is_full(tx: &mut dyn Transaction, tenant: &Tenant) -> Result<bool, DriverError> {
    tx.lock_names(&[format!("schedules of {tenant}")]).await?;
    let states = [
        RecordState::Active,
        RecordState::Queued,
        RecordState::Paused,
    ];
    let (mut count, most) = (0, SCHEDULES_PER_TENANT_MAX);
    for state in states {
        let kind = RecordKind::Schedule;
        count += tx.count_records(kind, tenant.as_str(), state, most).await?;
    }
    Ok(count >= most)
}

/// The answer to a request whose key is taken.
async fn created_before(
    tx: &mut dyn Reads,
    tenant: &Tenant,
    key: &IdempotencyKey,
    fingerprint: [u8; 16],
) -> Result<ScheduleSaveResult, DriverError> {
    let Some(holder) = tx.find_key(tenant, key).await? else {
        // It was deleted with its job meanwhile.
        return Err(DriverError::Overtaken);
    };
    let stored = find(tx, ScheduleId::from_bits(holder.owner), Lock::None).await?;
    Ok(match stored {
        Some(stored) if holder.fingerprint == fingerprint => ScheduleSaveResult::Existing(stored),
        _ => ScheduleSaveResult::KeyTaken,
    })
}

/// Another schedule that has the same name.
async fn namesake(
    tx: &mut dyn Reads,
    schedule: &Schedule,
) -> Result<Option<Schedule>, DriverError> {
    let query = RecordQuery {
        kind: RecordKind::Schedule,
        order: RecordOrder::Named {
            name: schedule.name.as_str(),
            tenant: Some(schedule.tenant().as_str()),
            before: None,
        },
        limit: 1,
    };
    let own = schedule.id.to_string();
    let named = tx.records(&query).await?.into_iter().next();
    let other = named.filter(|record| record.id != own);
    other.map(|record| read_whole(tx, &record)).transpose()
}

async fn write(
    tx: &mut dyn Transaction,
    schedule: &Schedule,
    replaces: Option<u64>,
    audit: Option<&AuditRecord>,
) -> Result<(), DriverError> {
    let (id, body) = (schedule.id.to_string(), ScheduleBody::new(schedule)?);
    let json = body.json()?;
    let record = body.record(&id, replaces, schedule.revision, &json);
    if !tx.save_record(&record).await? {
        // Another transaction has taken the name since this one searched for it.
        return Err(DriverError::Overtaken);
    }
    save_audit(tx, audit).await?;
    tx.wake(WakeReason::Schedules);
    Ok(())
}

async fn delete(
    tx: &mut dyn Transaction,
    id: ScheduleId,
    audit: Option<&AuditRecord>,
) -> Result<bool, DriverError> {
    let (kind, text) = (RecordKind::Schedule, id.to_string());
    let Some(record) = tx.record(kind, &text, Lock::Update).await? else {
        return Ok(false);
    };
    // A schedule that cannot be read can be deleted all the same.
    let body = ScheduleBody::read(&record).ok();
    let key = body.as_ref().and_then(|body| body.key().ok().flatten());
    if let Some((tenant, key)) = key {
        tx.delete_key(tenant, &key, id.bits()).await?;
    }
    tx.delete_ticks(id).await?;
    tx.delete_record(kind, &text, None).await?;
    save_audit(tx, audit).await?;
    Ok(true)
}

async fn list(
    tx: &mut dyn Reads,
    filter: &ScheduleFilter,
    page: PageRequest<ScheduleId>,
) -> Result<Page<Schedule, ScheduleId>, DriverError> {
    let kind = RecordKind::Schedule;
    let tenant = filter.tenant.as_ref().map(|tenant| tenant.as_str());
    let id = |schedule: &Schedule| schedule.id;
    let Some(wanted) = filter.id else {
        let Some(name) = &filter.name else {
            return newest_page(tx, kind, (tenant, None), page, read, id).await;
        };
        let before = page.after.map(|id| id.to_string());
        let order = RecordOrder::Named {
            name: name.as_str(),
            tenant,
            before: before.as_deref(),
        };
        let limit = page.limit.saturating_add(1);
        let items = readable(tx, RecordQuery { kind, order, limit }, read).await?;
        return Ok(page_of(items, page.limit, id));
    };
    let matches = |schedule: &Schedule| {
        let tenant = filter.tenant.as_ref();
        tenant.is_none_or(|tenant| tenant == schedule.tenant())
            && filter.name.as_ref().is_none_or(|it| *it == schedule.name)
            && page.after.is_none_or(|after| schedule.id < after)
    };
    let found = tx.record(kind, &wanted.to_string(), Lock::None).await?;
    let found = found.map(|record| skip_corrupt(tx, read(&record), "schedule", wanted));
    let found = found.transpose()?.flatten().filter(matches);
    Ok(page_of(found.into_iter().collect(), page.limit, id))
}

async fn list_ticks(
    tx: &mut dyn Reads,
    schedule: ScheduleId,
    page: PageRequest<Timestamp>,
) -> Result<Page<TickRecord, Timestamp>, DriverError> {
    let wanted = page.limit.saturating_add(1);
    let mut limit = wanted;
    loop {
        let mut found = Readable::default();
        for (tick, record) in tx.ticks(schedule, page.after, limit).await? {
            let id = format_args!("{schedule}/{}", tick.as_micros());
            found.push(skip_corrupt(tx, record, "tick", id)?);
        }
        match found.next_limit(wanted, limit) {
            Some(next) => limit = next,
            None => return Ok(page_of(found.items, page.limit, TickRecord::at)),
        }
    }
}

async fn fire_some<D: Driver>(
    store: &D,
    firings: &Arc<Vec<FireRequest>>,
    some: Range<usize>,
) -> Result<Vec<FireResult>, StoreError> {
    let rows = firings[some.clone()].iter();
    let rows = rows.map(|firing| firing.runs.len() + 1).sum();
    let arguments = (Arc::clone(firings), some);
    store
        .transact("fire_schedules", rows, arguments, |tx, (firings, some)| {
            Box::pin(fire::fire(tx, &firings[some.clone()]))
        })
        .await
}

async fn find(
    tx: &mut dyn Reads,
    id: ScheduleId,
    lock: Lock,
) -> Result<Option<Schedule>, DriverError> {
    let found = tx
        .record(RecordKind::Schedule, &id.to_string(), lock)
        .await?;
    found.map(|record| read_whole(tx, &record)).transpose()
}

/// A schedule that must be readable.
fn read_whole(tx: &dyn Reads, record: &StoredRecord) -> Result<Schedule, DriverError> {
    let read = skip_corrupt(tx, read(record), "schedule", &record.id)?;
    read.ok_or_else(|| DriverError::unreadable("schedule", "it is corrupt"))
}
