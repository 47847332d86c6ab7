//! Jobs, in groups that share a state.

use std::{cmp::Ordering, collections::BinaryHeap, time::Duration};

use super::super::{CallerSettings, CertificateSettings};
use crate::{
    job::{Job, NewJob},
    limits,
    values::{Destination, Invalid, JobId, Kind, Payload, Timestamp, WorkerName},
};

/// Jobs that arrived together and have had the same history since.
pub struct Group {
    pub job: Job,
    pub count: u32,
}

/// Ordered by time, the earliest first, and then by number.
pub struct Event<T> {
    pub at: Timestamp,
    number: u64,
    item: T,
}

impl<T> Event<T> {
    pub fn new(at: Timestamp, number: u64, item: T) -> Self {
        Self { at, number, item }
    }

    pub fn pop_due(heap: &mut BinaryHeap<Self>, now: Timestamp) -> Option<T> {
        let is_due = heap.peek().is_some_and(|first| first.at <= now);
        is_due.then(|| heap.pop()).flatten().map(|timed| timed.item)
    }
}

impl<T> Ord for Event<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl<T> PartialOrd for Event<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Event<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Event<T> {}

/// Makes the jobs that arrive.
pub struct GroupSource {
    template: Job,
    worker: WorkerName,
    ids: Ids,
    next_at: Timestamp,
    spacing: Duration,
    /// Jobs in each spacing.
    per_group: f64,
    rest: f64,
}

/// Each job of a group has an id of its own.
pub struct Ids(u128);

impl Ids {
    fn next(&mut self, count: u32) -> JobId {
        self.0 += u128::from(count);
        JobId::from_bits(self.0)
    }
}

impl GroupSource {
    pub fn new(
        settings: &CertificateSettings,
        begin: Timestamp,
        end: Timestamp,
    ) -> Result<Self, Invalid> {
        let target = &settings.target;
        let most = end.since(begin) / limits::CERTIFICATE_GROUPS;
        let patience = (target.timeout - target.latency) / 8;
        let one = Duration::from_secs_f64(1.0 / target.traffic);
        // Groups that are large beside the timeout would miss it at times; many small ones take
        // long to play.
        let spacing = most.min(patience.max(most / 4)).max(one);
        Ok(Self {
            template: template(settings, begin)?,
            worker: WorkerName::new("node")?,
            ids: Ids(0),
            next_at: begin,
            spacing,
            per_group: target.traffic * spacing.as_secs_f64(),
            rest: 0.0,
        })
    }

    pub fn next_at(&self) -> Timestamp {
        self.next_at
    }

    pub fn spacing(&self) -> Duration {
        self.spacing
    }

    pub fn ids(&mut self) -> &mut Ids {
        &mut self.ids
    }

    /// A job as all of them arrive.
    pub fn template(&self) -> &Job {
        &self.template
    }

    pub fn worker(&self) -> WorkerName {
        self.worker.clone()
    }

    /// How many jobs arrive together, rounded up.
    pub fn group_size(&self) -> u32 {
        whole(self.per_group.ceil())
    }

    /// The next group, `factor` times as large as usual.
    pub fn arrive(&mut self, factor: u32) -> Group {
        let wanted = self.per_group * f64::from(factor) + self.rest;
        let count = whole(wanted).max(1);
        self.rest = wanted - f64::from(count);
        let mut job = self.template.clone();
        job.id = self.ids.next(count);
        job.created_at = self.next_at;
        job.progress.run_at = self.next_at;
        self.next_at = self.next_at.plus(self.spacing);
        Group { job, count }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "jobs of a few seconds, not negative"
)]
fn whole(number: f64) -> u32 {
    number as u32
}

fn template(settings: &CertificateSettings, begin: Timestamp) -> Result<Job, Invalid> {
    let kind = match settings.callers {
        CallerSettings::Nodes(_) => Kind::http(),
        CallerSettings::Slots(_) => Kind::new("work")?,
    };
    let id = JobId::from_bits(0);
    let mut new = NewJob::new(id, kind, Payload::default(), settings.policy.clone());
    new.destination = Some(Destination::new("https://target.example.com")?);
    Ok(new.into_job(begin))
}

/// Waiting jobs.
#[derive(Default)]
pub struct DueGroups {
    later: BinaryHeap<Event<Group>>,
    first: BinaryHeap<Event<Group>>,
    retries: BinaryHeap<Event<Group>>,
    waiting: u64,
    retries_count: u64,
    number: u64,
}

impl DueGroups {
    pub fn add(&mut self, group: Group) {
        self.number += 1;
        if group.job.progress.attempt > 0 {
            self.retries_count += u64::from(group.count);
        }
        let at = group.job.progress.run_at;
        self.later.push(Event::new(at, self.number, group));
    }

    pub fn move_due(&mut self, now: Timestamp) {
        while self.later.peek().is_some_and(|first| first.at <= now) {
            let Some(timed) = self.later.pop() else {
                return;
            };
            self.waiting += u64::from(timed.item.count);
            match timed.item.job.progress.attempt {
                0 => self.first.push(timed),
                _ => self.retries.push(timed),
            }
        }
    }

    pub fn next_at(&self) -> Option<Timestamp> {
        self.later.peek().map(|first| first.at)
    }

    /// How many due jobs wait for their start.
    pub fn waiting(&self) -> u64 {
        self.waiting
    }

    /// How many jobs wait for another attempt, due or not.
    pub fn retries(&self) -> u64 {
        self.retries_count
    }

    /// Whether the next jobs to start are retries, and how many they are; `None` if none is due.
    pub fn next(&self, may_retry: bool) -> Option<(bool, u32)> {
        let first = self.first.peek();
        let retry = self.retries.peek().filter(|_| may_retry);
        let is_retry = match (first, retry) {
            (Some(first), Some(retry)) => retry.at < first.at,
            (_, retry) => retry.is_some(),
        };
        let next = if is_retry { retry } else { first };
        Some((is_retry, next?.item.count))
    }

    /// Takes up to `room` of the next jobs.
    pub fn take(&mut self, is_retry: bool, room: u32, ids: &mut Ids) -> Option<Group> {
        let heap = match is_retry {
            true => &mut self.retries,
            false => &mut self.first,
        };
        let Event {
            at,
            number,
            item: mut group,
        } = heap.pop()?;
        if group.count > room {
            let mut rest = Group {
                job: group.job.clone(),
                count: group.count - room,
            };
            rest.job.id = ids.next(rest.count);
            group.count = room;
            heap.push(Event::new(at, number, rest));
        }
        self.waiting -= u64::from(group.count);
        if is_retry {
            self.retries_count -= u64::from(group.count);
        }
        Some(group)
    }
}
