//! The verbs that only look.

use std::collections::BTreeMap;

use steadfast_core::{Attempt, Job, JobLabel, Tally, Tenant, Timestamp};

use super::{
    jobs::minute,
    state::{Lane, Stored, Tables},
};
use crate::{AttemptCursor, AttemptOwner, JobFilter, LaneStats, MinuteStats, Page, PageRequest};

impl Tables {
    /// Newest id first.
    pub(super) fn matching(
        &self,
        filter: &JobFilter,
        now: Timestamp,
    ) -> impl Iterator<Item = &Job> {
        let newest_first = self.jobs.values().rev().map(|stored| &stored.job);
        newest_first.filter(move |job| filter.matches(job, now))
    }

    pub(super) fn attempts(
        &self,
        of: AttemptOwner,
        page: PageRequest<AttemptCursor>,
    ) -> Page<Attempt, AttemptCursor> {
        let is_meant = |job: &Job| match of {
            AttemptOwner::Job(id) => job.id == id,
            AttemptOwner::Schedule(id) => job.scheduled_run.is_some_and(|run| run.schedule == id),
        };
        let stored = self.jobs.values().filter(|stored| is_meant(&stored.job));
        let mut attempts: Vec<_> = stored.flat_map(|stored| stored.attempts.values()).collect();
        attempts.sort_by_key(|attempt| std::cmp::Reverse(cursor(attempt)));
        listed(attempts.into_iter(), page, cursor)
    }

    pub(super) fn stats(&self, since: Timestamp, now: Timestamp) -> Vec<LaneStats> {
        let mut lanes: BTreeMap<Lane, LaneStats> = BTreeMap::new();
        for Stored { job, .. } in self.jobs.values() {
            let lane = Lane::of(job);
            let stats = lanes
                .entry(lane)
                .or_insert_with_key(|lane| self.empty(lane));
            let run_at = job.progress.run_at;
            match job.label(now) {
                JobLabel::Scheduled => stats.scheduled += 1,
                JobLabel::Ready => {
                    stats.ready += 1;
                    let oldest = stats
                        .oldest_ready
                        .map_or(run_at, |oldest| oldest.min(run_at));
                    stats.oldest_ready = Some(oldest);
                }
                JobLabel::Running => stats.running += 1,
                JobLabel::Retrying => stats.retrying += 1,
                JobLabel::Succeeded => stats.succeeded += 1,
                JobLabel::Failed => stats.failed += 1,
                JobLabel::Cancelled => stats.cancelled += 1,
            }
            stats.dead_letters += u64::from(job.is_dead_letter());
        }
        for (lane, tallies) in &self.tallies {
            let stats = lanes
                .entry(lane.clone())
                .or_insert_with_key(|lane| self.empty(lane));
            for (ended, tally) in tallies {
                stats.total += *tally;
                if *ended >= minute(since) {
                    stats.recent += *tally;
                }
            }
        }
        lanes.into_values().collect()
    }

    pub(super) fn minutes(&self, tenant: Option<&Tenant>, since: Timestamp) -> Vec<MinuteStats> {
        let mut minutes: BTreeMap<i64, Tally> = BTreeMap::new();
        let wanted = |lane: &Lane| tenant.is_none_or(|tenant| lane.tenant == *tenant);
        for (_, tallies) in self.tallies.iter().filter(|(lane, _)| wanted(lane)) {
            for (minute, tally) in tallies.range(minute(since)..) {
                *minutes.entry(*minute).or_default() += *tally;
            }
        }
        minutes
            .into_iter()
            .filter(|(_, tally)| *tally != Tally::default())
            .map(|(minute, tally)| MinuteStats {
                at: Timestamp::from_micros(minute * 60_000_000),
                tally,
            })
            .collect()
    }

    fn empty(&self, lane: &Lane) -> LaneStats {
        LaneStats {
            tenant: lane.tenant.clone(),
            queue: lane.queue.clone(),
            kind: lane.kind.clone(),
            paused: self.is_paused(lane),
            scheduled: 0,
            ready: 0,
            running: 0,
            retrying: 0,
            succeeded: 0,
            failed: 0,
            cancelled: 0,
            dead_letters: 0,
            oldest_ready: None,
            total: Tally::default(),
            recent: Tally::default(),
        }
    }
}

fn cursor(attempt: &Attempt) -> AttemptCursor {
    AttemptCursor {
        finished_at: attempt.finished_at,
        job: attempt.job,
        fence: attempt.fence,
    }
}

/// A stretch of `items`, which come newest first.
pub(super) fn listed<'a, Item: Clone + 'a, Cursor: Ord + Copy>(
    items: impl Iterator<Item = &'a Item>,
    page: PageRequest<Cursor>,
    cursor: impl Fn(&Item) -> Cursor,
) -> Page<Item, Cursor> {
    let is_further = |item: &&Item| page.after.is_none_or(|after| cursor(item) < after);
    let mut further = items.filter(is_further);
    let items: Vec<Item> = further.by_ref().take(page.limit).cloned().collect();
    let next = further.next().and(items.last()).map(&cursor);
    Page { items, next }
}
