//! Storing new jobs.

use std::{
    collections::{HashMap, HashSet},
    error::Error,
};

use steadfast_core::{Guarantee, IdempotencyKey, JobId, NewJob, RunAt, Tenant, Timestamp};

use super::{
    composite::{AsRow, Composite, Fields},
    fault::Fault,
    names::{LaneId, PolicyId},
    rows::{Key, duration_micros, time, to_json},
    session::{Conn, Session},
    wake_filter::WakeHints,
};
use crate::{EnqueueError, EnqueueResult, columns::nanos};

pub(super) type Answer = Result<Vec<EnqueueResult>, EnqueueError>;

/// A new job with the numbers of its lane and policy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbered<'j> {
    job: &'j NewJob,
    lane: LaneId,
    policy: PolicyId,
}

pub(super) async fn numbered<'j>(
    session: &Session<'_>,
    jobs: impl Iterator<Item = &'j NewJob> + Clone,
) -> Result<Vec<Numbered<'j>>, Fault> {
    let numbers = session.shared.names.intern(session, jobs.clone()).await?;
    let numbered = jobs.zip(numbers);
    Ok(numbered
        .map(|(job, (lane, policy))| Numbered { job, lane, policy })
        .collect())
}

/// Stores jobs, all or none.
pub(super) async fn enqueue(
    conn: &mut Conn<'_>,
    jobs: &[NewJob],
    news: &mut WakeHints,
) -> Result<Answer, Fault> {
    let numbered = numbered(&conn.session(), jobs.iter()).await?;
    if jobs.iter().all(|job| job.idempotency_key.is_none()) {
        // One statement is a transaction by itself.
        let created = insert(&conn.session(), &numbered, news).await?;
        return Ok(Ok(answers(jobs, &HashMap::new(), created)));
    }
    let transaction = conn.begin().await?;
    let answer = keyed(&transaction.session(), &numbered, news).await?;
    match answer {
        Ok(_) => transaction.commit().await?,
        Err(_) => transaction.roll_back().await?,
    }
    Ok(answer)
}

/// Stores jobs of which some have keys, in a transaction that is rolled back on a conflict.
pub(super) async fn keyed(
    session: &Session<'_>,
    jobs: &[Numbered<'_>],
    news: &mut WakeHints,
) -> Result<Answer, Fault> {
    let keys = Keys::keep(session, jobs).await?;
    let known = match keys.known(jobs) {
        Ok(known) => known,
        Err(conflict) => return Ok(Err(conflict)),
    };
    let created = insert_others(session, jobs, &keys, &known, news).await?;
    let jobs = jobs.iter().map(|numbered| numbered.job);
    Ok(Ok(answers(jobs, &known, created)))
}

/// Stores jobs that came about inside the store, where a known key is nobody's mistake.
pub(super) async fn insert_unless_known(
    session: &Session<'_>,
    jobs: &[Numbered<'_>],
    news: &mut WakeHints,
) -> Result<(), Fault> {
    if jobs.is_empty() {
        return Ok(());
    }
    let keys = Keys::keep(session, jobs).await?;
    let taken = (0..jobs.len()).filter(|index| !keys.is_free_for(*index, jobs));
    let known = taken.map(|index| (index, jobs[index].job.id)).collect();
    insert_others(session, jobs, &keys, &known, news).await?;
    Ok(())
}

async fn insert_others(
    session: &Session<'_>,
    jobs: &[Numbered<'_>],
    keys: &Keys<'_>,
    known: &HashMap<usize, JobId>,
    news: &mut WakeHints,
) -> Result<HashMap<JobId, Timestamp>, Fault> {
    let others = (0..jobs.len()).filter(|index| !known.contains_key(index));
    let others: Vec<Numbered<'_>> = others.map(|index| jobs[index]).collect();
    let created = insert(session, &others, news).await?;
    keys.forget_unless(session, jobs, &created).await?;
    Ok(created)
}

fn answers<'j>(
    jobs: impl IntoIterator<Item = &'j NewJob>,
    known: &HashMap<usize, JobId>,
    mut created: HashMap<JobId, Timestamp>,
) -> Vec<EnqueueResult> {
    let answer = |(index, job): (usize, &NewJob)| match known.get(&index) {
        Some(id) => EnqueueResult::Existing(*id),
        // An id twice in one batch was stored for the first of the two.
        None => match created.remove(&job.id) {
            Some(at) => EnqueueResult::Created(job.id, at),
            None => EnqueueResult::Existing(job.id),
        },
    };
    jobs.into_iter().enumerate().map(answer).collect()
}

/// Stores jobs unless their id is known, and says which were stored and when.
async fn insert(
    session: &Session<'_>,
    jobs: &[Numbered<'_>],
    news: &mut WakeHints,
) -> Result<HashMap<JobId, Timestamp>, Fault> {
    if jobs.is_empty() {
        return Ok(HashMap::new());
    }
    let new: Vec<AsRow<Numbered<'_>>> = jobs.iter().copied().map(AsRow).collect();
    let now = session.shared.time.given();
    let sql = include_str!("sql/enqueue.sql");
    let rows = session.query(sql, &[&now, &new]).await?;
    let mut created = HashMap::with_capacity(rows.len());
    for row in rows {
        let at = time(row.try_get(2)?);
        created.insert(row.try_get::<_, Key>(0)?.job(), at);
        news.waits(time(row.try_get(1)?));
    }
    Ok(created)
}

impl Composite for Numbered<'_> {
    fn put(&self, fields: &mut Fields<'_>) -> Result<(), Box<dyn Error + Sync + Send>> {
        let Self { job, lane, policy } = self;
        // A time that was asked for; other times count from the database's now.
        let (run_at, delay) = match job.run_at {
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
        fields.put(&job.payload.as_str())?;
        fields.put(&job.webhook.as_deref().map(to_json).transpose()?)
    }
}

type TenantKey<'j> = (&'j Tenant, &'j IdempotencyKey);

/// Who has the keys of a batch, now that they are kept for it where they were free.
struct Keys<'j> {
    /// The first job of the batch with each key.
    first: HashMap<TenantKey<'j>, usize>,
    /// Keys that others have.
    held: HashMap<(String, String), Holder>,
}

/// Which job has a key, and what was asked then: the job may have been edited since.
#[derive(Clone)]
struct Holder {
    job: JobId,
    fingerprint: Vec<u8>,
}

fn tenant_key(job: &NewJob) -> Option<TenantKey<'_>> {
    Some((&job.tenant, job.idempotency_key.as_ref()?))
}

impl<'j> Keys<'j> {
    async fn keep(session: &Session<'_>, jobs: &[Numbered<'j>]) -> Result<Self, Fault> {
        let mut first: HashMap<TenantKey<'j>, usize> = HashMap::new();
        for (index, Numbered { job, .. }) in jobs.iter().enumerate() {
            if let Some(key) = tenant_key(job) {
                first.entry(key).or_insert(index);
            }
        }
        let held = HashMap::new();
        let mut keys = Self { first, held };
        if !keys.first.is_empty() {
            keys.held = keys.keep_free(session, jobs).await?;
        }
        Ok(keys)
    }

    /// Keeps the keys that nobody has, and answers with who has the others.
    async fn keep_free(
        &self,
        session: &Session<'_>,
        jobs: &[Numbered<'j>],
    ) -> Result<HashMap<(String, String), Holder>, Fault> {
        let mut wanted: Vec<(TenantKey<'j>, usize)> =
            self.first.iter().map(|(key, at)| (*key, *at)).collect();
        // Two batches that want the same keys wait for each other in this order, not crosswise.
        wanted.sort();
        let (tenants, texts) = columns(wanted.iter().map(|(key, _)| *key));
        let owners: Vec<Key> = wanted
            .iter()
            .map(|(_, at)| jobs[*at].job.id.into())
            .collect();
        let prints: Vec<Vec<u8>> = wanted
            .iter()
            .map(|(_, at)| jobs[*at].job.fingerprint().to_vec())
            .collect();
        let kept = session
            .query(
                include_str!("sql/keys_keep.sql"),
                &[&tenants, &texts, &owners, &prints],
            )
            .await?;
        if kept.len() == wanted.len() {
            return Ok(HashMap::new());
        }
        let mut free = HashSet::new();
        for row in &kept {
            free.insert((row.try_get::<_, &str>(0)?, row.try_get::<_, &str>(1)?));
        }
        let others: Vec<TenantKey<'_>> = wanted
            .iter()
            .map(|(key, _)| *key)
            .filter(|(tenant, key)| !free.contains(&(tenant.as_str(), key.as_str())))
            .collect();
        let held = find_holders(session, &others).await?;
        // A key that was taken and is free now went with its job just then.
        match held.len() == others.len() {
            true => Ok(held),
            false => Err(Fault::Overtaken),
        }
    }

    fn holder(&self, job: &NewJob) -> Option<&Holder> {
        let (tenant, key) = tenant_key(job)?;
        let key = (tenant.as_str().to_owned(), key.as_str().to_owned());
        self.held.get(&key)
    }

    /// Whether a job has no key, or is the one that its key was kept for.
    fn is_free_for(&self, index: usize, jobs: &[Numbered<'_>]) -> bool {
        let job = jobs[index].job;
        let Some(key) = tenant_key(job) else {
            return true;
        };
        self.first.get(&key) == Some(&index) && self.holder(job).is_none()
    }

    /// Which jobs of the batch exist already by their key, or the first conflict.
    fn known(&self, jobs: &[Numbered<'_>]) -> Result<HashMap<usize, JobId>, EnqueueError> {
        let mut known = HashMap::new();
        for (index, Numbered { job, .. }) in jobs.iter().enumerate() {
            let Some(key) = tenant_key(job) else {
                continue;
            };
            if self.is_free_for(index, jobs) {
                continue;
            }
            let holder = self.holder(job).cloned().or_else(|| {
                let first = jobs[*self.first.get(&key)?].job;
                Some(Holder {
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
            known.insert(index, holder.job);
        }
        Ok(known)
    }

    /// A job whose id was known is not stored again, and its new key stands for nothing.
    async fn forget_unless(
        &self,
        session: &Session<'_>,
        jobs: &[Numbered<'_>],
        created: &HashMap<JobId, Timestamp>,
    ) -> Result<(), Fault> {
        let stray = self.first.iter().filter(|(_, at)| {
            self.is_free_for(**at, jobs) && !created.contains_key(&jobs[**at].job.id)
        });
        let stray: Vec<(&TenantKey<'_>, Key)> = stray
            .map(|(key, at)| (key, jobs[*at].job.id.into()))
            .collect();
        if stray.is_empty() {
            return Ok(());
        }
        let (tenants, texts) = columns(stray.iter().map(|(key, _)| **key));
        let owners: Vec<Key> = stray.iter().map(|(_, job)| *job).collect();
        let sql = include_str!("sql/keys_forget.sql");
        session.execute(sql, &[&tenants, &texts, &owners]).await
    }
}

async fn find_holders(
    session: &Session<'_>,
    keys: &[TenantKey<'_>],
) -> Result<HashMap<(String, String), Holder>, Fault> {
    let (tenants, texts) = columns(keys.iter().copied());
    let sql = include_str!("sql/keys_find.sql");
    let mut held = HashMap::new();
    for row in session.query(sql, &[&tenants, &texts]).await? {
        let holder = Holder {
            job: row.try_get::<_, Key>(2)?.job(),
            fingerprint: row.try_get(3)?,
        };
        held.insert((row.try_get(0)?, row.try_get(1)?), holder);
    }
    Ok(held)
}

fn columns<'k>(keys: impl Iterator<Item = TenantKey<'k>>) -> (Vec<&'k str>, Vec<&'k str>) {
    keys.map(|(tenant, key)| (tenant.as_str(), key.as_str()))
        .unzip()
}
