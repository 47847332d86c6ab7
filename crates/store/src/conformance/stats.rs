//! The counts, against a model that counts for itself.

use std::collections::{BTreeMap, BTreeSet};

use steadfast_core::{
    Destination, Job, JobCommand, JobId, JobLabel, RunAt, Tally, Tenant, Timestamp,
};

use super::{
    fixture::{Fixture, MICRO, failure, kind, permanent, request, secs, success, tenant},
    workload::Workload,
};
use crate::{CommitResult, FireResult, LaneStats, WaitingMinute};

pub async fn a_store_without_jobs_has_no_counts(f: Fixture) {
    assert_eq!(lanes(&f, f.now()).await, []);
}

pub async fn counts_are_by_label_and_follow_the_clock(f: Fixture) {
    f.ended(f.job(), success()).await;
    f.ended(f.job(), permanent("dead")).await;
    let discarded = f.ended(f.job(), permanent("seen")).await.id;
    f.command(discarded, JobCommand::Discard).await;
    f.running(f.job()).await;
    f.ended(f.job(), failure("again")).await;
    let soon = f.job_with(|job| job.run_at = RunAt::After(secs(60)));
    let cancelled = f.enqueue(vec![soon, f.job()]).await[1];
    f.command(cancelled, JobCommand::Cancel).await;

    let seen = |lane: &LaneStats| (lane.scheduled, lane.retrying, lane.ready, lane.oldest_ready);
    let stats = only_lane(&f).await;
    assert_eq!(seen(&stats), (1, 1, 0, None));
    assert_eq!((stats.running, stats.succeeded, stats.cancelled), (1, 1, 1));
    assert_eq!((stats.failed, stats.dead_letters), (2, 1));

    let start = f.now();
    f.clock.advance(secs(10));
    assert_eq!(
        seen(&only_lane(&f).await),
        (1, 0, 1, Some(start.plus(secs(10))))
    );
    f.clock.advance(secs(50));
    assert_eq!(
        seen(&only_lane(&f).await),
        (0, 0, 2, Some(start.plus(secs(10))))
    );
}

pub async fn recent_counts_are_to_the_minute(f: Fixture) {
    let start = f.now();
    let at = |seconds| start.plus(secs(seconds));
    for end in [at(60).minus(MICRO), at(60), at(120).minus(MICRO), at(120)] {
        f.clock.set(end);
        f.ended(f.job(), success()).await;
    }
    for (since, expected) in [
        (at(0), 4),
        (at(59), 4),
        (at(60), 3),
        (at(119), 3),
        (at(120), 1),
        (at(180), 0),
    ] {
        let stats = lanes(&f, since).await;
        assert_eq!(stats[0].recent.attempts, expected, "since {since}");
        assert_eq!(stats[0].total.attempts, 4);
    }
}

pub async fn an_attempt_counts_in_the_minute_it_ended(f: Fixture) {
    let claim = f.claimed(f.job()).await;
    let ended_at = f.clock.advance(secs(5));
    let transition = f.decide(claim, success());
    // The store was away for a while, and the commit came late.
    f.clock.advance(secs(600));
    assert_eq!(f.commit(transition).await, CommitResult::Done);
    for (since, expected) in [(ended_at, 1), (ended_at.plus(secs(60)), 0)] {
        let stats = lanes(&f, since).await;
        assert_eq!(stats[0].recent.attempts, expected, "since {since}");
    }
}

pub async fn jobs_of_an_outbox_and_runs_of_a_schedule_are_counted(f: Fixture) {
    let mut transition = f.decide(f.claimed(f.job()).await, success());
    transition.outbox = vec![f.job_with(|job| job.kind = kind("webhook"))];
    assert_eq!(f.commit(transition).await, CommitResult::Done);

    let mut schedule = f.schedule("nightly");
    schedule.template.kind = kind("report");
    let schedule = f.save(schedule).await;
    let tick = f.clock.advance(secs(60));
    let (schedule, first) = f.fired(&schedule, tick).await;
    let tick = f.clock.advance(secs(60));
    let mut firing = f.firing(&schedule, &[tick]);
    firing.cancel = Some(first.id);
    assert_eq!(f.fire(firing).await, FireResult::Done);

    let counts: Vec<_> = lanes(&f, f.now())
        .await
        .into_iter()
        .map(|lane| {
            (
                lane.kind.to_string(),
                lane.ready,
                lane.succeeded,
                lane.cancelled,
            )
        })
        .collect();
    let expected = [("mail", 0, 1, 0), ("report", 1, 0, 1), ("webhook", 1, 0, 0)];
    let expected = expected.map(|(kind, ready, done, off)| (kind.to_owned(), ready, done, off));
    assert_eq!(counts, expected);
}

pub async fn total_counts_outlive_their_jobs(f: Fixture) {
    f.ended(f.job(), success()).await;
    let before = f.tally().await;
    assert_eq!((before.attempts, before.successes), (1, 1));
    f.clock.advance(secs(10));
    assert_eq!(f.prune(f.now(), 10).await, 1);
    assert_eq!(f.tally().await, before);
    assert_eq!(only_lane(&f).await.succeeded, 0);
}

/// Whatever happens to many jobs, what is counted is what there is, then and later.
pub async fn counts_agree_with_a_model_after_random_work(f: Fixture) {
    let workload = Workload::run(&f, 5, 1_500).await;
    let jobs = workload.jobs().await;
    for ago in [0, 61, 150, 100_000] {
        assert_counts(&f, &workload, &jobs, f.now().minus(secs(ago))).await;
    }
    for later in [1, 20, 31, 60, 7_200] {
        f.clock.advance(secs(later));
        assert_counts(&f, &workload, &jobs, f.now()).await;
        // Deletes nothing, but tidies up counts of minutes that are past.
        f.prune(Timestamp::EPOCH, 10).await;
        assert_counts(&f, &workload, &jobs, f.now()).await;
    }
    // What has been due for long still leaves the counts when it is claimed.
    while !f.store.claim(request(50)).await.unwrap().claims.is_empty() {}
    let jobs = workload.jobs().await;
    f.prune(Timestamp::EPOCH, 10).await;
    assert_counts(&f, &workload, &jobs, f.now()).await;
    assert_eq!(f.store.recount(true).await.unwrap(), []);
}

async fn assert_counts(f: &Fixture, workload: &Workload<'_>, jobs: &[Job], since: Timestamp) {
    let now = f.now();
    let expected = model(workload, jobs, since, now);
    let expected: Vec<LaneStats> = expected.into_values().collect();
    assert_eq!(lanes(f, since).await, expected, "since {since}, at {now}");
}

type Lane = (String, String, String);

fn model(
    workload: &Workload<'_>,
    jobs: &[Job],
    since: Timestamp,
    now: Timestamp,
) -> BTreeMap<Lane, LaneStats> {
    let mut lanes: BTreeMap<Lane, LaneStats> = BTreeMap::new();
    let mut lane_of_job: BTreeMap<JobId, Lane> = BTreeMap::new();
    for job in jobs {
        let lane = lane_of(job);
        lane_of_job.insert(job.id, lane.clone());
        let stats = lanes.entry(lane).or_insert_with(|| empty(job));
        count(stats, job, now);
    }
    let first_minute = since.as_millis() / 60_000;
    for (job, ended, tally) in &workload.counted {
        let stats = lanes.get_mut(&lane_of_job[job]).unwrap();
        stats.total += *tally;
        if ended.as_millis() / 60_000 >= first_minute {
            stats.recent += *tally;
        }
    }
    lanes
}

fn count(stats: &mut LaneStats, job: &Job, now: Timestamp) {
    let label = job.label(now);
    let counts = [
        (JobLabel::Scheduled, &mut stats.scheduled),
        (JobLabel::Ready, &mut stats.ready),
        (JobLabel::Running, &mut stats.running),
        (JobLabel::Retrying, &mut stats.retrying),
        (JobLabel::Succeeded, &mut stats.succeeded),
        (JobLabel::Failed, &mut stats.failed),
        (JobLabel::Cancelled, &mut stats.cancelled),
    ];
    for (counted, count) in counts {
        *count += u64::from(counted == label);
    }
    stats.dead_letters += u64::from(job.is_dead_letter());
    if label == JobLabel::Ready {
        let run_at = job.progress.run_at;
        stats.oldest_ready = Some(stats.oldest_ready.unwrap_or(run_at).min(run_at));
    }
}

fn empty(job: &Job) -> LaneStats {
    LaneStats {
        tenant: job.tenant.clone(),
        queue: job.queue.clone(),
        kind: job.kind.clone(),
        paused: false,
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

fn lane_of(job: &Job) -> Lane {
    let Job {
        tenant,
        queue,
        kind,
        ..
    } = job;
    (tenant.to_string(), queue.to_string(), kind.to_string())
}

/// The lanes of all tenants. Those of each tenant alone are the same.
async fn lanes(f: &Fixture, since: Timestamp) -> Vec<LaneStats> {
    let all = sorted_lanes(f, None, since).await;
    let tenants: BTreeSet<Tenant> = all.iter().map(|lane| lane.tenant.clone()).collect();
    for tenant in tenants {
        let is_own = |lane: &&LaneStats| lane.tenant == tenant;
        let own: Vec<LaneStats> = all.iter().filter(is_own).cloned().collect();
        assert_eq!(sorted_lanes(f, Some(tenant.clone()), since).await, own);
    }
    let unknown = sorted_lanes(f, Some(tenant("none")), since).await;
    assert_eq!(unknown, []);
    all
}

/// In the order of their names; the contract gives them none.
async fn sorted_lanes(f: &Fixture, of: Option<Tenant>, since: Timestamp) -> Vec<LaneStats> {
    let mut lanes = f.store.lane_stats(of, since).await.unwrap();
    lanes.sort_by_key(|lane| {
        let LaneStats {
            tenant,
            queue,
            kind,
            ..
        } = lane;
        (tenant.clone(), queue.clone(), kind.clone())
    });
    lanes
}

async fn only_lane(f: &Fixture) -> LaneStats {
    let mut lanes = lanes(f, f.now()).await;
    assert_eq!(lanes.len(), 1);
    lanes.remove(0)
}

pub async fn attempts_are_counted_by_the_minute(f: Fixture) {
    let start = f.now();
    let ended = |tally: Tally| tally.attempts;
    for _ in 0..2 {
        f.end(f.claimed(f.job()).await, success()).await;
    }
    f.clock.advance(secs(120));
    f.end(f.claimed(f.job()).await, failure("no")).await;
    let minutes = f.store.minute_stats(None, start).await.unwrap();
    let counts: Vec<_> = minutes.iter().map(|minute| ended(minute.tally)).collect();
    assert_eq!(counts, [2, 1]);
    assert_eq!(minutes[1].tally.failures, 1);
    assert_eq!(minutes[1].at.since(minutes[0].at), secs(120));
    assert!(minutes[0].at <= start && start.since(minutes[0].at) < secs(60));
    let later = f.store.minute_stats(None, f.now()).await.unwrap();
    assert_eq!(later, minutes[1..]);
}

pub async fn minutes_are_of_a_tenant_or_of_all(f: Fixture) {
    let of_acme = f.job_with(|job| job.tenant = tenant("acme"));
    for job in [of_acme, f.job()] {
        f.end(f.claimed(job).await, success()).await;
    }
    for (owner, attempts) in [(None, 2), (Some("acme"), 1)] {
        let minutes = f
            .store
            .minute_stats(owner.map(tenant), f.now())
            .await
            .unwrap();
        assert_eq!(minutes.len(), 1);
        assert_eq!(minutes[0].tally.attempts, attempts, "{owner:?}");
    }
    let unknown = f.store.minute_stats(Some(tenant("none")), f.now()).await;
    assert!(unknown.unwrap().is_empty());
}

pub async fn what_waits_and_what_ended_is_listed_by_lane_and_minute(f: Fixture) {
    let start = f.now();
    let at = |seconds| start.plus(secs(seconds));
    let later = |seconds| f.job_with(|job| job.run_at = RunAt::After(secs(seconds)));
    let others = f.job_with(|job| job.tenant = tenant("other"));
    f.ended(f.job(), success()).await;
    f.ended(f.job(), failure("again")).await;
    f.enqueue(vec![later(70), later(90), later(3600), later(7300), others])
        .await;
    f.clock.advance(secs(65));
    let list = f.store.lane_minutes(None, start, at(7200)).await.unwrap();
    assert!(!list.is_cut);
    let tenants: Vec<&str> = list.lanes.iter().map(|lane| lane.tenant.as_str()).collect();
    assert_eq!(tenants, ["default", "other"]);
    let own = &list.lanes[0];
    assert_eq!((own.queue.as_str(), own.kind.as_str()), ("default", "mail"));
    let minute = |seconds, jobs, retries| WaitingMinute {
        at: at(seconds),
        jobs,
        retries,
    };
    // What was due a minute ago is due now.
    assert_eq!(own.waiting, [minute(60, 3, 1), minute(3600, 1, 0)]);
    let ended: Vec<_> = own
        .ended
        .iter()
        .map(|it| (it.at, it.tally.attempts))
        .collect();
    assert_eq!(ended, [(start, 2)]);
    let other = Some(tenant("other"));
    let list = f.store.lane_minutes(other, at(60), at(60)).await.unwrap();
    assert_eq!(list.lanes.len(), 1);
    assert_eq!(list.lanes[0].waiting, [minute(60, 1, 0)]);
    assert!(list.lanes[0].ended.is_empty());
    f.clock.set(at(100));
    assert_eq!(f.claim(10).await.len(), 4);
    let list = f.store.lane_minutes(None, at(60), at(60)).await.unwrap();
    assert!(list.lanes.is_empty(), "{list:?}");
}

pub async fn jobs_of_a_destination_are_counted_by_the_minute(f: Fixture) {
    let start = f.now();
    let to = |url: &str, seconds| {
        f.job_with(|job| {
            job.destination = Some(Destination::new(url).unwrap());
            job.run_at = RunAt::After(secs(seconds));
        })
    };
    let (ours, theirs) = ("https://a.example.com", "https://b.example.com");
    f.ended(to(ours, 0), failure("again")).await;
    let jobs = [0, 61, 62, 3600, 7201].map(|seconds| to(ours, seconds));
    f.enqueue(jobs.into_iter().chain([to(theirs, 61)]).collect())
        .await;
    let count = async |owner: Option<&str>, most| {
        let destination = Destination::new(ours).unwrap();
        let until = start.plus(secs(7200));
        let counted = f
            .store
            .due_minutes(destination, owner.map(tenant), until, most);
        let counted = counted.await.unwrap();
        let minutes = counted.minutes.iter();
        let minutes = minutes.map(|it| (it.at.since(start).as_secs(), it.jobs, it.retries));
        (minutes.collect::<Vec<_>>(), counted.at_least)
    };
    let all = vec![(0, 2, 1), (60, 2, 0), (3600, 1, 0)];
    assert_eq!(count(None, 5).await, (all.clone(), false));
    assert_eq!(count(Some("default"), 100).await, (all, false));
    assert_eq!(count(Some("other"), 100).await, (vec![], false));
    let (minutes, at_least) = count(None, 2).await;
    let jobs: u64 = minutes.iter().map(|(_, jobs, _)| jobs).sum();
    assert_eq!((jobs, at_least), (2, true));
}
