//! Nodes that are processes of their own, on one PostgreSQL database, under trouble.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod node;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::{Duration, Instant},
};

use node::{Cluster, MAX_RETRIES, Tick, Work};
use steadfast_core::{
    AttemptStatus, EndReason, Endpoint, EndpointId, Guarantee, Job, JobId, JobState, Kind,
    MissedTickPolicy, NewJob, OverlapPolicy, Tenant, Timestamp,
};
use steadfast_engine::{Client, JobKind as _, JobRequest, ScheduleRequest};
use steadfast_store::{JobFilter, JobPageRequest, JobStore as _, PageRequest};

/// Rounds of trouble in the short pass and in the long one, and jobs in each round.
const ROUNDS: usize = 12;
const ROUNDS_LONG: usize = 40;
const ROUND_JOBS: usize = 250;
const ROUND_JOBS_LONG: usize = 500;
const NODES: usize = 3;

fn request(number: usize) -> JobRequest {
    let work = Work {
        number,
        pause: Duration::from_millis(20),
    };
    let request = work.job().lease(Duration::from_secs(2));
    match number % 5 {
        1 => request.at_most_once(),
        _ => request,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_outlive_nodes_connections_and_the_server_itself() {
    // Started again by the cluster, this test is a node.
    if node::run_if_requested().await {
        return;
    }
    let is_long = std::env::var_os("STEADFAST_LONG").is_some();
    let (rounds, jobs) = if is_long {
        (ROUNDS_LONG, ROUND_JOBS_LONG)
    } else {
        (ROUNDS, ROUND_JOBS)
    };
    let mut cluster = Cluster::start(NODES).await;
    let schedule = ScheduleRequest::every("beat", Duration::from_secs(1), Tick {})
        .overlap(OverlapPolicy::Allow)
        .missed(MissedTickPolicy::RunAll);
    let schedule = cluster.client.schedule(schedule).await.unwrap();
    let mut ids = Vec::new();
    for round in 0..rounds {
        let numbers = round * jobs..(round + 1) * jobs;
        let new = numbers.map(|number| cluster.client.prepare(request(number)).unwrap());
        let new: Vec<NewJob> = new.collect();
        ids.extend(new.iter().map(|job| job.id));
        cluster.enqueue(new).await;
        cluster.started(ids.len() - jobs / 2).await;
        cluster.terminate_connections(2).await;
        cluster.kill_and_restart(round % NODES);
        if round == rounds / 2 {
            cluster.server.crash().unwrap();
            cluster.kill_and_restart((round + 1) % NODES);
            cluster.server.resume().unwrap();
        }
    }
    cluster.finished(ids.len(), Duration::from_secs(180)).await;
    cluster.stop().await;

    let starts = cluster.starts();
    let twice: Vec<_> = starts.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "started twice: {twice:?}");
    let ends = check_ends(&cluster.client, &ids, &starts).await;
    let ticks = check_ticks(&cluster.client, schedule.id).await;
    println!("{} starts; ends: {ends:?}; {ticks} ticks", starts.len());
    assert!(
        ends.keys().any(|end| end.contains("outcome_unknown")),
        "no attempt was cut off, so there was no trouble: {ends:?}"
    );
}

type Starts = HashMap<(JobId, u32), usize>;

/// Each job has ended once, as its policy says.
async fn check_ends(client: &Client, ids: &[JobId], starts: &Starts) -> BTreeMap<String, usize> {
    let mut ends = BTreeMap::new();
    let mut started: HashMap<JobId, usize> = HashMap::new();
    for (job, attempt) in starts.keys() {
        assert!(*attempt <= MAX_RETRIES + 1, "{job} started too often");
        *started.entry(*job).or_default() += 1;
    }
    for some in ids.chunks(500) {
        let jobs = client.jobs_of(some.to_vec()).await.unwrap();
        for job in jobs {
            let job = job.unwrap();
            let attempts = client
                .attempts(job.id, PageRequest::first(99))
                .await
                .unwrap()
                .items;
            assert_eq!(attempts.len(), job.progress.attempt as usize, "{job:?}");
            let successes = attempts
                .iter()
                .filter(|attempt| attempt.status == AttemptStatus::Success)
                .count();
            let started = started.get(&job.id).copied().unwrap_or_default();
            assert!(started <= attempts.len(), "{job:?}");
            match (job.guarantee, job.progress.state) {
                (_, JobState::Succeeded) => assert_eq!((successes, started > 0), (1, true)),
                (Guarantee::AtMostOnce, JobState::Failed) => {
                    assert_eq!(job.progress.reason, Some(EndReason::OutcomeUnknown));
                }
                (_, state) => panic!("ended as {state}: {job:?}"),
            }
            if job.guarantee == Guarantee::AtMostOnce {
                assert!(started <= 1 && attempts.len() == 1, "{job:?}");
            }
            *ends.entry(end_of(&job)).or_default() += 1;
        }
    }
    ends
}

fn end_of(job: &Job) -> String {
    let reason = job.progress.reason.map_or("", EndReason::as_str);
    format!("{} {reason}", job.progress.state)
}

/// Every tick from the first to the last has one run.
async fn check_ticks(client: &Client, schedule: steadfast_core::ScheduleId) -> usize {
    let filter = JobFilter {
        schedule: Some(schedule),
        ..JobFilter::default()
    };
    let mut page = JobPageRequest::first(500);
    let mut ticks: Vec<Timestamp> = Vec::new();
    loop {
        let listed = client.jobs(filter.clone(), page).await.unwrap();
        ticks.extend(
            listed
                .items
                .iter()
                .map(|job| job.scheduled_run.unwrap().tick),
        );
        match listed.next {
            Some(next) => page.after = Some(next),
            None => break,
        }
    }
    let distinct: BTreeSet<Timestamp> = ticks.iter().copied().collect();
    assert_eq!(distinct.len(), ticks.len(), "a tick fired twice");
    let (first, last) = (distinct.first().unwrap(), distinct.last().unwrap());
    let expected = usize::try_from(last.since(*first).as_secs()).unwrap() + 1;
    assert_eq!(ticks.len(), expected, "a tick did not fire: {distinct:?}");
    ticks.len()
}

/// Leases here outlast the whole test: a job that had to wait for one would be found unfinished.
#[tokio::test(flavor = "multi_thread")]
async fn a_rolling_restart_loses_nothing_and_no_job_waits_for_a_lease() {
    const LEASE: Duration = Duration::from_secs(600);
    const JOBS: usize = 900;
    let mut cluster = Cluster::start(NODES).await;
    let began = Instant::now();
    let mut ids = Vec::new();
    for round in 0..2 * NODES {
        let new = (0..JOBS / (2 * NODES)).map(|number| {
            // Some outlast the grace period of the node that runs them, and are given back.
            let millis = if number % 50 == 0 { 1_500 } else { 10 };
            let pause = Duration::from_millis(millis);
            let work = Work { number, pause };
            let request = work.job().lease(LEASE);
            cluster.client.prepare(request).unwrap()
        });
        let new: Vec<NewJob> = new.collect();
        ids.extend(new.iter().map(|job| job.id));
        cluster.enqueue(new).await;
        cluster.started(ids.len() / 2).await;
        cluster.restart_in_order(round % NODES).await;
    }
    cluster.finished(ids.len(), Duration::from_secs(120)).await;
    cluster.stop().await;
    assert!(began.elapsed() < LEASE);
    let mut given_back = 0;
    for some in ids.chunks(500) {
        for job in cluster.client.jobs_of(some.to_vec()).await.unwrap() {
            let job = job.unwrap();
            assert_eq!(job.progress.state, JobState::Succeeded, "{job:?}");
            // The first time, one in five fails as it should; nothing else counts as an attempt.
            assert!(job.progress.attempt <= 2, "{job:?}");
            given_back += usize::from(job.progress.fence.0 > job.progress.attempt);
        }
    }
    assert!(given_back > 0, "no node was stopped in the middle of a job");
    println!("{given_back} jobs were given back and went on elsewhere");
}

/// The node that settles has read the endpoints before, and nothing tells it that another
/// process has changed them since but the store's answer to its commit.
#[tokio::test(flavor = "multi_thread")]
async fn what_one_process_does_to_an_endpoint_holds_at_once_for_another() {
    let mut cluster = Cluster::start(1).await;
    let client = cluster.client.clone();
    let mut jobs = 0;
    let mut deliveries = 0;
    for round in 0..5 {
        let id = EndpointId::from_bits(round + 1);
        for (is_notified, change) in [(false, None), (true, Some(true)), (false, Some(false))] {
            match change {
                Some(true) => drop(client.create_endpoint(endpoint(id)).await.unwrap()),
                Some(false) => assert!(client.delete_endpoint(id, None).await.unwrap()),
                None => {}
            }
            let work = Work {
                number: 0,
                pause: Duration::ZERO,
            };
            client.enqueue(work).await.unwrap();
            jobs += 1;
            deliveries += usize::from(is_notified);
            cluster.finished(jobs, Duration::from_secs(60)).await;
            let filter = JobFilter {
                kind: Some(Kind::webhook()),
                ..JobFilter::default()
            };
            let found = client
                .jobs(filter, JobPageRequest::first(99))
                .await
                .unwrap();
            assert_eq!(found.items.len(), deliveries, "round {round}, {change:?}");
        }
    }
    cluster.stop().await;
}

fn endpoint(id: EndpointId) -> Endpoint {
    Endpoint::new(
        id,
        Tenant::default(),
        "http://127.0.0.1:9/",
        Timestamp::EPOCH,
    )
}

impl Cluster {
    /// Stores jobs, however often it takes; the same ids are stored once.
    async fn enqueue(&self, jobs: Vec<NewJob>) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while let Err(error) = self.store.enqueue(jobs.clone(), None).await {
            assert!(Instant::now() < deadline, "cannot enqueue: {error}");
        }
    }
}
