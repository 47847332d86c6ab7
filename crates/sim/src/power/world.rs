//! Everything that a store says of what it holds, as names and texts that can be compared.

use std::{
    collections::BTreeMap,
    fmt,
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use steadfast_core::{JobId, StepName, Timestamp};
use steadfast_store::{
    AttemptOwner, AuditFilter, DocumentKind, DocumentPage, JobDetail, JobFilter, JobPageRequest,
    LaneStats, PageRequest, ScheduleFilter, Store, StoreError,
};

const PAGE: usize = 100;
/// Longer texts are distinguished by a number.
const TEXT_MAX: usize = 2_000;
/// The step that handlers of the script take.
pub const STEP: &str = "charge";

/// The acknowledged facts, or those found in the store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct World(BTreeMap<String, String>);

impl World {
    pub async fn read(store: &dyn Store) -> Result<Self, StoreError> {
        let mut world = Self::default();
        let mut page = JobPageRequest::first(PAGE);
        loop {
            let listed = store.list_jobs(JobFilter::default(), page).await?;
            // A list comes without payloads.
            let ids = listed.items.iter().map(|job| job.id).collect();
            for job in store.get_jobs(ids, JobDetail::Full).await?.iter().flatten() {
                world.add(&job.id, job);
                if job.progress.fence.0 > 0 {
                    world.read_attempts(store, job.id).await?;
                }
            }
            match listed.next {
                Some(next) => page.after = Some(next),
                None => break,
            }
        }
        for kind in [DocumentKind::Endpoint, DocumentKind::Alert] {
            for document in store.list_documents(kind, DocumentPage::All).await? {
                world.add(&format!("document {}", document.id), &document);
            }
        }
        world.read_schedules(store).await?;
        let audit = store.list_audit(AuditFilter::default(), PageRequest::first(PAGE));
        for record in audit.await?.items {
            world.add(&format!("audit {}", record.id), &record);
        }
        for lane in store.lane_stats(None, Timestamp::EPOCH).await? {
            let name = format!("lane {} {} {}", lane.tenant, lane.queue, lane.kind);
            world.add(&name, &counts(&lane));
        }
        Ok(world)
    }

    async fn read_attempts(&mut self, store: &dyn Store, job: JobId) -> Result<(), StoreError> {
        let attempts = store.list_attempts(AttemptOwner::Job(job), PageRequest::first(PAGE));
        for attempt in attempts.await?.items {
            self.add(&format!("{job} attempt {}", attempt.fence.0), &attempt);
        }
        let step = StepName::new(STEP).unwrap();
        for (_, kept) in store.list_steps(job, Some(step), 1).await? {
            self.add(&format!("{job} step"), &kept);
        }
        Ok(())
    }

    async fn read_schedules(&mut self, store: &dyn Store) -> Result<(), StoreError> {
        let all = store.list_schedules(ScheduleFilter::default(), PageRequest::first(PAGE));
        for schedule in all.await?.items {
            self.add(&format!("schedule {}", schedule.name), &schedule);
            for tick in store
                .list_ticks(schedule.id, PageRequest::first(PAGE))
                .await?
                .items
            {
                let name = format!("schedule {} tick {}", schedule.name, tick.at());
                self.add(&name, &tick);
            }
        }
        Ok(())
    }

    fn add(&mut self, name: &dyn fmt::Display, what: &dyn fmt::Debug) {
        let mut text = format!("{what:?}");
        if text.len() > TEXT_MAX {
            let mut hasher = DefaultHasher::new();
            text.hash(&mut hasher);
            text = format!("{:x}", hasher.finish());
        }
        self.0.insert(name.to_string(), text);
    }

    /// How many facts it holds.
    pub fn facts(&self) -> u64 {
        self.0.len() as u64
    }

    /// Whether each fact is that of one of two others: a call that works in steps, each of them a
    /// transaction, may have been interrupted between two.
    pub fn is_between(&self, before: &Self, after: &Self) -> bool {
        let names = self.0.keys().chain(before.0.keys()).chain(after.0.keys());
        { names }.all(|name| {
            let found = self.0.get(name);
            found == before.0.get(name) || found == after.0.get(name)
        })
    }

    /// Whether it holds nothing that another does not know by name.
    pub fn is_left_of(&self, other: &Self) -> bool {
        self.0.keys().all(|name| other.0.contains_key(name))
    }

    /// Where another differs, for people.
    pub fn difference(&self, other: &Self) -> String {
        let names = self.0.keys().chain(other.0.keys());
        let differing = names.filter(|name| self.0.get(*name) != other.0.get(*name));
        let lines = differing.take(4).map(|name| {
            let (mine, theirs) = (self.0.get(name), other.0.get(name));
            format!("  {name}\n    acknowledged {mine:?}\n    found        {theirs:?}")
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// The counts that do not change as time passes.
fn counts(lane: &LaneStats) -> impl fmt::Debug + use<> {
    let waiting = lane.scheduled + lane.ready + lane.retrying;
    let ended = [lane.succeeded, lane.failed, lane.cancelled];
    (waiting, lane.running, ended, lane.dead_letters, lane.total)
}
