//! New jobs' rows and keys.

use std::{
    collections::{HashMap, HashSet},
    error::Error,
    sync::Arc,
};

use steadfast_core::{
    ConcurrencyKey, Destination, FlowKey, Guarantee, IdempotencyKey, JobId, NewJob, RunAt,
    StartBefore, Tenant, Timestamp, Traceparent,
};

use crate::drivers::postgres::{
    composite::{AsRow, Composite, Fields},
    driver_error::DriverError,
    key::Key,
    names::{NumberedJob, with_numbers},
    session::Session,
    values::{duration_micros, time, to_json},
};
use crate::{
    claim::{DueRange, FlowKeyId, Level},
    drivers::sql::encryption::{Cell, Cipher, seal_webhook},
    drivers::sql::{rows::extras::StoredExtras, values::nanos},
    error::EnqueueError,
    lane::Lane,
    store::EnqueueResult,
    verbs::unique::UniquePlan,
    wake::WakeReasons,
};

/// Stores jobs that were made inside the store, where a key that exists is no error.
pub(crate) async fn insert_unless_stored(
    session: &Session<'_>,
    jobs: &[NumberedJob<'_>],
    hints: &mut WakeReasons,
) -> Result<(), DriverError> {
    if jobs.is_empty() {
        return Ok(());
    }
    let keys = BatchKeys::insert(session, jobs).await?;
    let taken = (0..jobs.len()).filter(|index| !keys.is_free_for(*index, jobs));
    let known = taken.map(|index| (index, EnqueueResult::Existing(jobs[index].job.id)));
    let (known, plan) = (known.collect(), UniquePlan::default());
    insert_others(session, jobs, &keys, &known, &plan, hints).await?;
    Ok(())
}

pub(crate) async fn insert_others(
    session: &Session<'_>,
    jobs: &[NumberedJob<'_>],
    keys: &BatchKeys<'_>,
    known: &HashMap<usize, EnqueueResult>,
    plan: &UniquePlan,
    hints: &mut WakeReasons,
) -> Result<HashMap<JobId, Timestamp>, DriverError> {
    let others = (0..jobs.len()).filter(|index| !known.contains_key(index));
    let (planned, others): (Vec<usize>, Vec<usize>) =
        others.partition(|index| plan.creates.contains_key(index));
    let mut others: Vec<NumberedJob<'_>> = others.into_iter().map(|index| jobs[index]).collect();
    if !planned.is_empty() {
        let planned = planned.iter().filter_map(|index| plan.creates.get(index));
        others.extend(with_numbers(session, planned).await?);
    }
    let created = insert(session, &others, hints).await?;
    keys.delete_unless(session, jobs, &created).await?;
    Ok(created)
}

/// Stores jobs unless their id is stored already. Answers which were stored, and when.
pub(crate) async fn insert(
    session: &Session<'_>,
    jobs: &[NumberedJob<'_>],
    hints: &mut WakeReasons,
) -> Result<HashMap<JobId, Timestamp>, DriverError> {
    if jobs.is_empty() {
        return Ok(HashMap::new());
    }
    let cipher = &session.shared.cipher;
    let new = jobs.iter().map(|job| AsRow((*job, cipher)));
    let new: Vec<AsRow<(NumberedJob<'_>, &Cipher)>> = new.collect();
    let now = session.shared.clock.given();
    let sql = include_str!("insert/enqueue.sql");
    let ids: Vec<Key> = jobs.iter().map(|it| it.job.id.into()).collect();
    let (first, last) = Key::days(&ids);
    let rows = session.query(sql, &[&now, &new, &first, &last]).await?;
    let mut created = HashMap::with_capacity(rows.len());
    let by_id: HashMap<JobId, &NumberedJob<'_>> = jobs.iter().map(|it| (it.job.id, it)).collect();
    for row in rows {
        let at = time(row.try_get("created_at")?);
        let id = row.try_get::<_, Key>("id")?.job();
        created.insert(id, at);
        let run_at = time(row.try_get("run_at")?);
        match by_id.get(&id) {
            Some(numbered) => numbered.add_hints(hints, run_at),
            None => hints.wake_all(),
        }
    }
    Ok(created)
}

impl NumberedJob<'_> {
    fn flow_key(&self) -> FlowKeyId {
        let (destination, key) = (
            self.job.destination.as_ref(),
            self.job.concurrency_key.as_ref(),
        );
        FlowKeyId {
            lane: self.lane,
            number: FlowKey::number(destination, key),
        }
    }

    fn add_hints(&self, hints: &mut WakeReasons, run_at: Timestamp) {
        hints.jobs_wait(&Lane::from(self.job), 1, run_at);
        let range = DueRange {
            flow_key: self.flow_key(),
            level: Level::new(self.job.priority.get(), false),
        };
        hints.range_waits(range, Some(Arc::new(FlowKey::from(self.job))), run_at);
    }
}

/// A new job, and what its payload is encrypted with.
impl Composite for (NumberedJob<'_>, &Cipher) {
    fn put(&self, fields: &mut Fields<'_>) -> Result<(), Box<dyn Error + Sync + Send>> {
        let (numbered, cipher) = self;
        let NumberedJob { job, lane, policy } = numbered;
        // A requested time; other times count from the database's now.
        let (run_at, delay) = match job.stored_run_at() {
            RunAt::Now => (None, 0),
            RunAt::After(delay) => (None, duration_micros(delay)),
            RunAt::At(time) => (Some(time.as_micros()), 0),
        };
        let tags = Some(job.tags()).filter(|tags| !tags.is_empty());
        fields.put(&Key::from(job.id))?;
        fields.put(lane)?;
        fields.put(policy)?;
        fields.put(&i16::from(job.priority.get()))?;
        fields.put(&run_at)?;
        fields.put(&delay)?;
        fields.put(&(job.guarantee == Guarantee::AtMostOnce))?;
        fields.put(&job.timeout().map(nanos))?;
        fields.put(&nanos(job.lease()))?;
        fields.put(&job.idempotency_key.as_ref().map(IdempotencyKey::as_str))?;
        fields.put(&job.scheduled_run.map(|run| Key::from(run.schedule)))?;
        fields.put(&job.scheduled_run.map(|run| run.tick.as_micros()))?;
        fields.put(&tags.map(to_json).transpose()?)?;
        fields.put(&&*cipher.seal(Cell::Payload(job.id), job.payload.as_str())?)?;
        fields.put(&seal_webhook(cipher, job.id, job.webhook.as_deref())?)?;
        let key = job.concurrency_key.as_ref();
        fields.put(&numbered.flow_key().number)?;
        fields.put(&job.destination.as_ref().map(Destination::as_str))?;
        fields.put(&key.map(ConcurrencyKey::as_str))?;
        fields.put(&key.map(|key| FlowKey::key_number(&job.tenant, key)))?;
        fields.put(&job.traceparent().map(Traceparent::as_str))?;
        let start_before = job.extras().and_then(|extras| extras.start_before);
        let (start_before, start_within) = match start_before.map(|(before, _)| before) {
            Some(StartBefore::At(time)) => (Some(time.as_micros()), None),
            Some(StartBefore::After(wait)) => (None, Some(duration_micros(wait))),
            None => (None, None),
        };
        let extras = StoredExtras::of(job);
        fields.put(&extras.as_ref().map(to_json).transpose()?)?;
        fields.put(&job.unique().map(|unique| unique.number(&job.tenant)))?;
        fields.put(&start_before)?;
        fields.put(&start_within)
    }
}

type TenantKey<'j> = (&'j Tenant, &'j IdempotencyKey);

/// The keys of a batch, after those that were free are stored for it.
pub(crate) struct BatchKeys<'j> {
    /// The first job of the batch with each key.
    first: HashMap<TenantKey<'j>, usize>,
    /// Keys that jobs outside of the batch have.
    holders: HashMap<(String, String), KeyHolder>,
}

/// Which job has a key, and the fingerprint of its request: the job may have been edited since. The
/// key of a schedule has its id in place of a job's.
#[derive(Clone)]
pub(crate) struct KeyHolder {
    pub(crate) job: JobId,
    pub(crate) fingerprint: Vec<u8>,
}

fn tenant_key(job: &NewJob) -> Option<TenantKey<'_>> {
    Some((&job.tenant, job.idempotency_key.as_ref()?))
}

impl<'j> BatchKeys<'j> {
    pub(crate) async fn insert(
        session: &Session<'_>,
        jobs: &[NumberedJob<'j>],
    ) -> Result<Self, DriverError> {
        let mut first: HashMap<TenantKey<'j>, usize> = HashMap::new();
        for (index, NumberedJob { job, .. }) in jobs.iter().enumerate() {
            if let Some(key) = tenant_key(job) {
                first.entry(key).or_insert(index);
            }
        }
        let mut keys = Self {
            first,
            holders: HashMap::new(),
        };
        if !keys.first.is_empty() {
            keys.holders = keys.insert_free(session, jobs).await?;
        }
        Ok(keys)
    }

    /// Stores the keys that no job has yet. Answers with the holders of the others.
    async fn insert_free(
        &self,
        session: &Session<'_>,
        jobs: &[NumberedJob<'j>],
    ) -> Result<HashMap<(String, String), KeyHolder>, DriverError> {
        let mut sorted: Vec<(TenantKey<'j>, usize)> =
            self.first.iter().map(|(key, at)| (*key, *at)).collect();
        // Two batches with the same keys wait for each other in this order, so not in a circle.
        sorted.sort();
        let (tenants, texts) = columns(sorted.iter().map(|(key, _)| *key));
        let owners: Vec<Key> = sorted
            .iter()
            .map(|(_, at)| jobs[*at].job.id.into())
            .collect();
        let prints: Vec<Vec<u8>> = sorted
            .iter()
            .map(|(_, at)| jobs[*at].job.fingerprint().to_vec())
            .collect();
        let inserted = session
            .query(
                include_str!("insert/keys_insert.sql"),
                &[&tenants, &texts, &owners, &prints],
            )
            .await?;
        if inserted.len() == sorted.len() {
            return Ok(HashMap::new());
        }
        let mut free = HashSet::new();
        for row in &inserted {
            let tenant: &str = row.try_get("tenant")?;
            free.insert((tenant, row.try_get::<_, &str>("idempotency_key")?));
        }
        let others: Vec<TenantKey<'_>> = sorted
            .iter()
            .map(|(key, _)| *key)
            .filter(|(tenant, key)| !free.contains(&(tenant.as_str(), key.as_str())))
            .collect();
        let holders = find_holders(session, &others).await?;
        // A key that was taken and is free now was deleted with its job meanwhile.
        if holders.len() == others.len() {
            Ok(holders)
        } else {
            Err(DriverError::Overtaken)
        }
    }

    fn holder(&self, job: &NewJob) -> Option<&KeyHolder> {
        let (tenant, key) = tenant_key(job)?;
        let key = (tenant.as_str().to_owned(), key.as_str().to_owned());
        self.holders.get(&key)
    }

    /// Whether a job has no key, or is the one that its key was stored for.
    fn is_free_for(&self, index: usize, jobs: &[NumberedJob<'_>]) -> bool {
        let job = jobs[index].job;
        let Some(key) = tenant_key(job) else {
            return true;
        };
        self.first.get(&key) == Some(&index) && self.holder(job).is_none()
    }

    /// Which jobs of the batch are stored already by their key, or the first conflict.
    pub(crate) fn existing(
        &self,
        jobs: &[NumberedJob<'_>],
    ) -> Result<HashMap<usize, JobId>, EnqueueError> {
        let mut existing = HashMap::new();
        for (index, NumberedJob { job, .. }) in jobs.iter().enumerate() {
            let Some(key) = tenant_key(job) else {
                continue;
            };
            if self.is_free_for(index, jobs) {
                continue;
            }
            let holder = self.holder(job).cloned().or_else(|| {
                let first = jobs[*self.first.get(&key)?].job;
                Some(KeyHolder {
                    job: first.id,
                    fingerprint: first.fingerprint().to_vec(),
                })
            });
            let Some(holder) = holder else {
                continue;
            };
            if holder.fingerprint != job.fingerprint() {
                return Err(EnqueueError::Conflict {
                    index,
                    key: key.1.clone(),
                    job: holder.job,
                });
            }
            existing.insert(index, holder.job);
        }
        Ok(existing)
    }

    /// A job whose id was stored already is not stored again, and its new key stands for nothing.
    async fn delete_unless(
        &self,
        session: &Session<'_>,
        jobs: &[NumberedJob<'_>],
        created: &HashMap<JobId, Timestamp>,
    ) -> Result<(), DriverError> {
        let unused = self.first.iter().filter(|(_, at)| {
            self.is_free_for(**at, jobs) && !created.contains_key(&jobs[**at].job.id)
        });
        let unused: Vec<(&TenantKey<'_>, Key)> = unused
            .map(|(key, at)| (key, jobs[*at].job.id.into()))
            .collect();
        if unused.is_empty() {
            return Ok(());
        }
        let (tenants, texts) = columns(unused.iter().map(|(key, _)| **key));
        let owners: Vec<Key> = unused.iter().map(|(_, job)| *job).collect();
        let sql = include_str!("insert/keys_delete.sql");
        session.execute(sql, &[&tenants, &texts, &owners]).await
    }
}

pub(crate) async fn find_holders(
    session: &Session<'_>,
    keys: &[TenantKey<'_>],
) -> Result<HashMap<(String, String), KeyHolder>, DriverError> {
    let (tenants, texts) = columns(keys.iter().copied());
    let sql = include_str!("insert/keys_find.sql");
    let mut holders = HashMap::new();
    for row in session.query(sql, &[&tenants, &texts]).await? {
        let holder = KeyHolder {
            job: row.try_get::<_, Key>("job")?.job(),
            fingerprint: row.try_get("fingerprint")?,
        };
        let key = (row.try_get("tenant")?, row.try_get("idempotency_key")?);
        holders.insert(key, holder);
    }
    Ok(holders)
}

fn columns<'k>(keys: impl Iterator<Item = TenantKey<'k>>) -> (Vec<&'k str>, Vec<&'k str>) {
    keys.map(|(tenant, key)| (tenant.as_str(), key.as_str()))
        .unzip()
}
