//! One command on every job that matches a filter.
//!
//! A million jobs take minutes, so they are taken a page at a time, newest first, with a pause
//! after each page that leaves room for claims and commits. The walk ends by itself: jobs that
//! are created meanwhile are newer than the page it has reached.

use std::{num::NonZeroU32, time::Duration};

use steadfast_core::{AuditRecord, Job, JobCommand, JobId, Tenant};
use steadfast_store::{JobCount, JobDetail, JobFilter, JobPageRequest};

use tokio::time::Instant;

use crate::client::{Client, ClientError, operations::action_of};
use crate::limits::{BULK_COUNT_MAX, BULK_COUNT_TIME_MAX, BULK_PAGE_MAX, BULK_RATE_DEFAULT};

impl Client {
    /// A command on every job that matches now, a page at a time, with a limit, a predicate and
    /// a progress callback if wanted.
    pub fn command_matching(&self, filter: JobFilter, command: JobCommand) -> BulkCommand {
        BulkCommand::new(self.clone(), filter, command)
    }

    /// Carries out a command on every job that matches now, a page at a time, and returns on how
    /// many. Jobs for which it makes no sense are passed over.
    pub async fn command_all(
        &self,
        filter: JobFilter,
        command: JobCommand,
    ) -> Result<u64, ClientError> {
        let result = self.command_matching(filter, command).run().await?;
        Ok(result.changed)
    }

    /// The record of a command on these jobs, if this client has an actor.
    pub(super) async fn record_of_each(
        &self,
        ids: &[JobId],
        command: &JobCommand,
    ) -> Result<Option<AuditRecord>, ClientError> {
        let subject = match ids {
            [id] => id.to_string(),
            _ => format!("{} jobs", ids.len()),
        };
        let Some(mut record) = self.audit_record(action_of(command), subject, None) else {
            return Ok(None);
        };
        if ids.len() > 1 {
            let texts: Vec<String> = ids.iter().map(ToString::to_string).collect();
            record = record.with_detail(texts.join(" "));
        }
        let jobs = self
            .store()
            .get_jobs(ids.to_vec(), JobDetail::Listed)
            .await?;
        let mut tenants: Vec<Tenant> = jobs.into_iter().flatten().map(|job| job.tenant).collect();
        tenants.dedup();
        let tenant = tenants.pop().filter(|_| tenants.is_empty());
        Ok(Some(record.of_tenant(tenant)))
    }

    /// Carries out a command on jobs, and stores this record with the first that it changes.
    pub(super) async fn command_each_with(
        &self,
        ids: Vec<JobId>,
        command: JobCommand,
        record: Option<AuditRecord>,
    ) -> Result<u64, ClientError> {
        self.check_command(&command)?;
        if ids.is_empty() {
            return Ok(0);
        }
        let results = self.run_command(ids, command, record).await?;
        Ok(results.iter().filter(|result| result.is_ok()).count() as u64)
    }
}

type JobPredicate = Box<dyn Fn(&Job) -> bool + Send + Sync>;

/// A command on every job that matches a filter; see [`Client::command_matching`].
///
/// ```
/// use steadfast_core::JobCommand;
/// use steadfast_engine::Client;
/// use steadfast_store::JobFilter;
/// # use std::sync::Arc;
/// # use steadfast_store::MemoryStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), steadfast_engine::ClientError> {
/// # let client = Client::new(Arc::new(MemoryStore::default()));
/// let result = client
///     .command_matching(JobFilter::dead_letters(), JobCommand::Retry { payload: None })
///     .only(|job| job.tags.contains_key("urgent"))
///     .limit(10_000)
///     .on_progress(|so_far| println!("{} requeued", so_far.changed))
///     .run()
///     .await?;
/// assert!(result.is_complete);
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing happens before `run`"]
pub struct BulkCommand {
    client: Client,
    filter: JobFilter,
    command: JobCommand,
    only: Option<JobPredicate>,
    on_progress: Box<dyn Fn(BulkResult) + Send + Sync>,
    limit: u64,
    rate: NonZeroU32,
}

/// The result of a [`BulkCommand`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BulkResult {
    /// Jobs on which the command was carried out.
    pub changed: u64,
    /// Jobs that matched, and for which the command makes no sense in their present state.
    pub refused: u64,
    /// Whether every job that matches was seen. False while it is under way, and after the
    /// limit cut it off.
    pub is_complete: bool,
}

impl BulkCommand {
    /// How many jobs a second it changes at most, unless [`BulkCommand::rate`] says otherwise.
    pub const RATE_DEFAULT: NonZeroU32 = BULK_RATE_DEFAULT;

    fn new(client: Client, filter: JobFilter, command: JobCommand) -> Self {
        Self {
            client,
            filter,
            command,
            only: None,
            on_progress: Box::new(|_| ()),
            limit: u64::MAX,
            rate: BULK_RATE_DEFAULT,
        }
    }

    /// Leaves out jobs that a filter of the store cannot tell apart, as those of another failure.
    /// The jobs come without their payloads, as from [`Client::jobs`].
    pub fn only(mut self, predicate: impl Fn(&Job) -> bool + Send + Sync + 'static) -> Self {
        self.only = Some(Box::new(predicate));
        self
    }

    /// Stops after this many matching jobs, changed or refused. By default there is no limit.
    pub fn limit(mut self, jobs: u64) -> Self {
        self.limit = jobs;
        self
    }

    /// Changes at most this many jobs per second; [`BulkCommand::RATE_DEFAULT`] by default.
    pub fn rate(mut self, jobs_per_second: NonZeroU32) -> Self {
        self.rate = jobs_per_second;
        self
    }

    /// Called after every page with the result so far.
    pub fn on_progress(mut self, callback: impl Fn(BulkResult) + Send + Sync + 'static) -> Self {
        self.on_progress = Box::new(callback);
        self
    }

    /// Counts the jobs that match and changes nothing. It counts no further than `most`, and with
    /// a predicate looks at no more than 100,000 jobs and no longer than a second or so; the
    /// answer says whether it stopped early.
    pub async fn count(&self, most: u64) -> Result<JobCount, ClientError> {
        if self.only.is_none() {
            return self.client.count(self.filter.clone(), most).await;
        }
        let begin = Instant::now();
        let (mut count, mut seen) = (0, 0);
        let mut page = JobPageRequest::first(BULK_PAGE_MAX);
        loop {
            let jobs = self.client.jobs(self.filter.clone(), page).await?;
            count += jobs.items.iter().filter(|job| self.includes(job)).count() as u64;
            seen += jobs.items.len();
            if count > most || jobs.next.is_none() {
                return Ok(JobCount::up_to(count, most));
            }
            if seen >= BULK_COUNT_MAX || begin.elapsed() >= BULK_COUNT_TIME_MAX {
                return Ok(JobCount::at_least(count));
            }
            page.after = jobs.next;
        }
    }

    fn includes(&self, job: &Job) -> bool {
        self.only.as_ref().is_none_or(|only| only(job))
    }

    /// Carries the command out. After an error, the pages before it stay changed.
    pub async fn run(self) -> Result<BulkResult, ClientError> {
        let mut result = BulkResult::default();
        let mut left = self.limit;
        let mut page = JobPageRequest::first(BULK_PAGE_MAX);
        let (action, tenant) = (action_of(&self.command), self.filter.tenant.as_ref());
        let subject = self.filter.to_string();
        // The same for every page: it is stored with the first that changes a job.
        let record = self.client.audit_record(action, subject, tenant);
        loop {
            let page_begin = Instant::now();
            let jobs = self.client.jobs(self.filter.clone(), page).await?;
            let matching = jobs.items.iter().filter(|job| self.includes(job));
            let mut ids: Vec<JobId> = matching.map(|job| job.id).collect();
            let is_cut = ids.len() as u64 > left;
            ids.truncate(usize::try_from(left).unwrap_or(usize::MAX));
            let count = ids.len() as u64;
            let command = self.command.clone();
            let changed = self.client.command_each_with(ids, command, record.clone());
            let changed = changed.await?;
            left -= count;
            result.changed += changed;
            result.refused += count - changed;
            result.is_complete = jobs.next.is_none() && !is_cut;
            (self.on_progress)(result);
            if jobs.next.is_none() || left == 0 {
                return Ok(result);
            }
            page.after = jobs.next;
            // A page takes at least as long as the rate allows for it, the work included.
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            let page_time = Duration::from_secs(1) * count / self.rate.get();
            tokio::time::sleep_until(page_begin + page_time).await;
        }
    }
}
