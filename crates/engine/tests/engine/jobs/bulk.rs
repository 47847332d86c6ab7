//! One command on many jobs.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::FutureExt as _;
use steadfast_core::{Actor, JobCommand, JobId, Tenant};
use steadfast_engine::{BulkResult, Client, JobKind as _};
use steadfast_store::{AuditFilter, JobCount, JobFilter, JobPageRequest, MemoryStore, PageRequest};

use crate::common::fails;

/// A client of 1,200 jobs, more than two pages, every other one tagged.
async fn client_of_many() -> Client {
    let client = Client::new(Arc::new(MemoryStore::default()));
    for _ in 0..2 {
        let jobs = (0..600).map(|n| match n % 2 {
            0 => fails(0).job().tag("parity", "even"),
            _ => fails(0).job(),
        });
        client.enqueue_all(jobs).await.unwrap();
    }
    client
}

#[tokio::test(start_paused = true)]
async fn a_command_reaches_every_job_that_matches_and_reports_after_each_page() {
    let client = client_of_many().await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let report = {
        let seen = seen.clone();
        move |so_far: BulkResult| {
            let mut seen = seen.lock().unwrap();
            seen.push((so_far.changed, so_far.is_complete));
        }
    };
    let cancel = client.command_matching(JobFilter::default(), JobCommand::Cancel);
    let result = cancel.on_progress(report).run().await.unwrap();
    assert_eq!((result.changed, result.refused), (1_200, 0));
    let expected = [(500, false), (1_000, false), (1_200, true)];
    assert_eq!(*seen.lock().unwrap(), expected);

    let again = client.command_matching(JobFilter::default(), JobCommand::Cancel);
    let result = again.run().await.unwrap();
    assert_eq!((result.changed, result.refused), (0, 1_200));
    let all = client.command_all(JobFilter::default(), JobCommand::Cancel);
    assert_eq!(all.await.unwrap(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_command_on_many_jobs_leaves_one_record_of_its_actor() {
    let client = client_of_many().await;
    let kim = client.by(Actor::named("kim"));
    let cancel = kim.command_matching(JobFilter::default(), JobCommand::Cancel);
    assert_eq!(cancel.run().await.unwrap().changed, 1_200);
    let jobs = client.jobs(JobFilter::default(), JobPageRequest::first(3));
    let ids: Vec<_> = jobs.await.unwrap().items.iter().map(|job| job.id).collect();
    let retry = JobCommand::Retry { payload: None };
    let each = async |client: &Client, ids: &[JobId]| {
        let changed = client.command_each(ids.to_vec(), retry.clone());
        changed.await.unwrap()
    };
    assert_eq!(each(&kim, &ids[..2]).await, 2);
    assert_eq!(each(&kim, &ids[..2]).await, 0, "no job allows it now");
    assert_eq!(each(&client, &ids[2..]).await, 1, "without an actor");
    let records = client.audit(AuditFilter::default(), PageRequest::first(10));
    let records = records.await.unwrap().items;
    let told: Vec<_> = records
        .iter()
        .map(|it| (&*it.action, &*it.subject, it.detail.clone()))
        .collect();
    let named = format!("{} {}", ids[0], ids[1]);
    assert_eq!(
        told,
        [
            ("job.retry", "2 jobs", Some(named)),
            ("job.cancel", "all", None)
        ]
    );
    assert_eq!(records[0].tenant, Some(Tenant::default()));
}

#[tokio::test(start_paused = true)]
async fn a_predicate_narrows_what_a_filter_cannot() {
    let client = client_of_many().await;
    let cancel = client
        .command_matching(JobFilter::default(), JobCommand::Cancel)
        .only(|job| job.tags.contains_key("parity"));
    for most in [10_000, 600, 599, 7] {
        let expected = JobCount::up_to(600, most);
        assert_eq!(cancel.count(most).await.unwrap(), expected);
    }
    assert_eq!(client.stats(client.now()).await.unwrap().cancelled, 0);
    assert_eq!(cancel.run().await.unwrap().changed, 600);
    assert_eq!(client.stats(client.now()).await.unwrap().cancelled, 600);
}

/// Here looking at a job takes a while, on a clock that only the predicate moves.
#[tokio::test(start_paused = true)]
async fn a_count_of_jobs_that_hardly_match_ends_and_says_that_it_stopped_early() {
    let client = client_of_many().await;
    let looked_at = Arc::new(AtomicU64::new(0));
    let count = {
        let looked_at = looked_at.clone();
        client
            .command_matching(JobFilter::default(), JobCommand::Cancel)
            .only(move |_| {
                let looked_at = looked_at.fetch_add(1, Ordering::Relaxed);
                if looked_at == 0 {
                    // The clock moves as soon as it is asked to.
                    tokio::time::advance(Duration::from_secs(60)).now_or_never();
                }
                looked_at == 1
            })
    };
    assert_eq!(count.count(10).await.unwrap(), JobCount::at_least(1));
    assert_eq!(looked_at.load(Ordering::Relaxed), 500, "one page");
    // What the store can count by itself is not looked at job by job.
    let all = client.command_matching(JobFilter::default(), JobCommand::Cancel);
    let counted = all.count(10_000).await.unwrap();
    assert_eq!(counted, JobCount::up_to(1_200, 10_000));
}

#[tokio::test(start_paused = true)]
async fn a_limit_cuts_it_off_and_says_so() {
    let client = client_of_many().await;
    for (limit, changed, is_complete) in [(700, 700, false), (500, 500, true)] {
        let filter = JobFilter {
            label: Some(steadfast_core::JobLabel::Ready),
            ..JobFilter::default()
        };
        let cancel = client.command_matching(filter, JobCommand::Cancel);
        let result = cancel.limit(limit).run().await.unwrap();
        assert_eq!((result.changed, result.is_complete), (changed, is_complete));
    }
}

/// The clock of this test stands still but for the waits of the command.
#[tokio::test(start_paused = true)]
async fn it_changes_no_more_jobs_a_second_than_its_rate() {
    let client = client_of_many().await;
    let begin = tokio::time::Instant::now();
    let cancel = client.command_matching(JobFilter::default(), JobCommand::Cancel);
    let rate = std::num::NonZeroU32::new(100).unwrap();
    assert_eq!(cancel.rate(rate).run().await.unwrap().changed, 1_200);
    // Two whole pages of 500 before the last one.
    assert_eq!(begin.elapsed().as_secs(), 10);
}
