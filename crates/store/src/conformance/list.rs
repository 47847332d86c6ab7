//! Lists and counts of jobs, against the reference meaning of a filter.

use rand::{RngExt, rngs::StdRng, seq::IndexedRandom};
use std::collections::BTreeMap;

use steadfast_core::{
    EndReason, FailureClass, Job, JobCommand, JobId, JobLabel, Kind, Payload, RunAt, ScheduleId,
};

use super::{
    fixture::{Fixture, failure, json, kind, permanent, queue, secs, success, tenant, walk},
    workload::{CLASSES, KINDS, MESSAGES, QUEUES, TENANTS, Workload},
};
use crate::{
    CommitResult, JobCount, JobDetail, JobFilter, JobPageRequest, PageRequest,
    limits::{CLAIMS_MAX, JOBS_EXAMINED_MAX},
};

pub async fn jobs_are_listed_newest_id_first(f: Fixture) {
    let jobs = f.jobs(5);
    let mut ids: Vec<JobId> = jobs.iter().map(|job| job.id).collect();
    for index in [3, 0, 4, 1, 2] {
        f.clock.advance(secs(1));
        f.enqueue_one(jobs[index].clone()).await;
    }
    ids.reverse();
    let listed = found(&f, &JobFilter::default(), 2).await;
    assert_eq!(listed.iter().map(|job| job.id).collect::<Vec<_>>(), ids);
    let page = f
        .store
        .list_jobs(JobFilter::default(), PageRequest::first(5))
        .await
        .unwrap();
    assert_eq!(page.items, listed);
}

pub async fn what_is_added_during_a_walk_does_not_disturb_it(f: Fixture) {
    let ids = f.enqueue(f.jobs(4)).await;
    let first = f
        .store
        .list_jobs(JobFilter::default(), PageRequest::first(2))
        .await
        .unwrap();
    f.enqueue(f.jobs(3)).await;
    let after = JobPageRequest {
        limit: 10,
        after: first.next,
    };
    let second = f
        .store
        .list_jobs(JobFilter::default(), after)
        .await
        .unwrap();
    let met: Vec<JobId> = first
        .items
        .iter()
        .chain(&second.items)
        .map(|job| job.id)
        .collect();
    assert_eq!(met, [ids[3], ids[2], ids[1], ids[0]]);
    assert_eq!(second.next, None);
}

pub async fn labels_follow_the_clock(f: Fixture) {
    f.enqueue_one(f.job_with(|job| job.run_at = RunAt::After(secs(60))))
        .await;
    let count = async |label| {
        let filter = JobFilter {
            label: Some(label),
            ..JobFilter::default()
        };
        f.store.count_jobs(filter, 10).await.unwrap().count
    };
    assert_eq!(
        (
            count(JobLabel::Scheduled).await,
            count(JobLabel::Ready).await
        ),
        (1, 0)
    );
    f.clock.advance(secs(60));
    assert_eq!(
        (
            count(JobLabel::Scheduled).await,
            count(JobLabel::Ready).await
        ),
        (0, 1)
    );
}

pub async fn times_of_creation_are_from_and_before(f: Fixture) {
    let mut times = Vec::new();
    for _ in 0..3 {
        f.enqueue_one(f.job()).await;
        times.push(f.now());
        f.clock.advance(secs(1));
    }
    let filter = JobFilter {
        created_from: Some(times[0]),
        created_before: Some(times[2]),
        ..JobFilter::default()
    };
    let found = found(&f, &filter, 1).await;
    let found: Vec<_> = found.iter().map(|job| job.created_at).collect();
    assert_eq!(found, [times[1], times[0]]);
}

pub async fn times_of_failure_are_those_of_the_end(f: Fixture) {
    let mut failed = Vec::new();
    for job in f.jobs(3) {
        let job = f.enqueue_one(job).await;
        f.clock.advance(secs(10));
        let claim = f.claim_of(job).await;
        f.end(claim, permanent("no")).await;
        failed.push((job, f.now()));
    }
    // Neither a success nor a waiting job has failed at any time.
    let done = f.enqueue_one(f.job()).await;
    let claim = f.claim_of(done).await;
    f.end(claim, success()).await;
    f.enqueue_one(f.job()).await;
    let filter = JobFilter {
        failed_from: Some(failed[0].1),
        failed_before: Some(failed[2].1),
        ..JobFilter::default()
    };
    for dead_letters in [false, true] {
        let filter = JobFilter {
            dead_letters,
            ..filter.clone()
        };
        let listed = found(&f, &filter, 2).await;
        let ids: Vec<JobId> = listed.iter().map(|job| job.id).collect();
        assert_eq!(ids, [failed[1].0, failed[0].0]);
        assert_eq!(f.store.count_jobs(filter, 100).await.unwrap().count, 2);
    }
}

pub async fn failure_text_is_literal_and_in_any_case(f: Fixture) {
    for message in MESSAGES {
        f.ended(f.job(), permanent(message)).await;
    }
    f.enqueue_one(f.job()).await;
    for (text, expected) in [
        ("connection REFUSED", vec![MESSAGES[0]]),
        ("ärger", vec![MESSAGES[2]]),
        ("GRÖSSE", vec![]),
        ("größe", vec![MESSAGES[2]]),
        ("%", vec![MESSAGES[1]]),
        ("_", vec![MESSAGES[1]]),
        ("*", vec![MESSAGES[3]]),
        (r"\TEMP\", vec![MESSAGES[3]]),
        ("'", vec![MESSAGES[4]]),
        ("[g", vec![MESSAGES[4]]),
        ("con%ed", vec![]),
        ("", MESSAGES.iter().rev().copied().collect()),
    ] {
        let filter = JobFilter {
            failure_text: Some(text.into()),
            ..JobFilter::default()
        };
        let found = found(&f, &filter, 2).await;
        let found: Vec<_> = found.iter().map(message_of).collect();
        assert_eq!(found, expected, "{text:?}");
    }
}

pub async fn the_newest_failure_is_the_one_asked_for(f: Fixture) {
    let job = f.ended(f.job(), failure("first")).await;
    f.clock.set(job.progress.run_at);
    let claim = f.claim_of(job.id).await;
    f.end(claim, permanent("second")).await;
    let count = async |text: &str, class| {
        let filter = JobFilter {
            failure_text: Some(text.into()),
            failure_class: Some(class),
            ..JobFilter::default()
        };
        f.store.count_jobs(filter, 10).await.unwrap().count
    };
    assert_eq!(count("second", FailureClass::VALIDATION).await, 1);
    assert_eq!(count("first", FailureClass::CONNECTION).await, 0);
    assert_eq!(count("second", FailureClass::CONNECTION).await, 0);
}

/// What only reading whole jobs can rule out is bounded for each page.
pub async fn a_list_that_finds_little_stops_and_can_be_walked_on(f: Fixture) {
    let first = f.ended(f.job(), permanent("rare")).await;
    f.enqueue(f.jobs(JOBS_EXAMINED_MAX + 600)).await;
    let claims = f.claim(CLAIMS_MAX).await;
    assert_eq!(claims.len(), JOBS_EXAMINED_MAX + 600);
    let transitions = claims.into_iter();
    let transitions = transitions.map(|claim| f.decide(claim, permanent("common")));
    let answers = f.store.commit(transitions.collect()).await.unwrap();
    assert!(answers.iter().all(|answer| *answer == CommitResult::Done));
    let filter = JobFilter {
        failure_text: Some("rare".into()),
        ..JobFilter::default()
    };
    let page = f.store.list_jobs(filter.clone(), PageRequest::first(5));
    let page = page.await.unwrap();
    assert!(page.items.is_empty() && page.next.is_some(), "{page:?}");
    let walked = found(&f, &filter, 5).await;
    assert_eq!(walked, [without_payload(first)]);
    let counted = f.store.count_jobs(filter, 10).await.unwrap();
    // It ends after a second, which may be too short on a busy machine, and says so.
    assert!(counted.count == 1 || counted.at_least, "{counted:?}");
}

pub async fn a_count_goes_no_further_than_asked(f: Fixture) {
    f.enqueue(f.jobs(5)).await;
    for (most, expected) in [(0, 0), (3, 3), (5, 5), (100, 5), (u64::MAX, 5)] {
        let count = f
            .store
            .count_jobs(JobFilter::default(), most)
            .await
            .unwrap()
            .count;
        assert_eq!(count, expected);
    }
}

pub async fn a_count_that_takes_many_steps_misses_nothing(f: Fixture) {
    f.enqueue(f.jobs(700)).await;
    let created_from = Some(f.clock.advance(secs(1)));
    for _ in 0..3 {
        f.enqueue(f.jobs(700)).await;
    }
    let filter = JobFilter {
        created_from,
        ..JobFilter::default()
    };
    for (most, expected) in [(u64::MAX, 2_100), (1_500, 1_500)] {
        let count = f.store.count_jobs(filter.clone(), most).await.unwrap();
        assert_eq!(count.count, expected);
    }
}

/// Any filter over a mixed population, walked in short pages, against its reference.
pub async fn filters_agree_with_their_meaning(f: Fixture) {
    let mut workload = Workload::run(&f, 41, 600).await;
    let jobs = workload.jobs().await;
    for round in 0..120 {
        let filter = random_filter(&mut workload.random, &jobs);
        let limit = workload.random.random_range(1..6);
        let expected: Vec<Job> = jobs
            .iter()
            .filter(|job| filter.matches(job, f.now()))
            .cloned()
            .map(without_payload)
            .collect();
        let found = found(&f, &filter, limit).await;
        assert_eq!(found, expected, "round {round}: {filter:?}");
        let most = workload.random.random_range(0..20);
        let count = f.store.count_jobs(filter.clone(), most).await.unwrap();
        let expected = JobCount::up_to(expected.len() as u64, most);
        assert_eq!(count, expected, "round {round}: {filter:?}");
    }
}

/// Few conditions at a time, or nothing would ever match.
fn random_filter(random: &mut StdRng, jobs: &[Job]) -> JobFilter {
    let mut filter = JobFilter::default();
    for _ in 0..random.random_range(1..4) {
        let job = jobs.choose(random).unwrap();
        match random.random_range(0..13) {
            0 => filter.tenant = TENANTS.choose(random).map(|name| tenant(name)),
            1 => filter.queue = QUEUES.choose(random).map(|name| queue(name)),
            2 => filter.kind = KINDS.choose(random).map(|name| kind(name)),
            3 => filter.label = JobLabel::ALL.choose(random).copied(),
            4 => filter.schedule = Some(ScheduleId::from_bits(random.random_range(1..4))),
            5 => filter.created_from = Some(job.created_at),
            6 => filter.created_before = Some(job.created_at),
            7 => filter.failure_text = MESSAGES.choose(random).map(|text| text[..3].to_uppercase()),
            8 => filter.failure_class = CLASSES.choose(random).cloned(),
            10 => filter.destination.clone_from(&job.destination),
            9 => filter.reason = EndReason::ALL.choose(random).copied(),
            11 => filter.unfinished = true,
            _ => filter.dead_letters = true,
        }
    }
    filter
}

/// All jobs that match, met by walking pages of `limit`.
async fn found(f: &Fixture, filter: &JobFilter, limit: usize) -> Vec<Job> {
    walk(limit, async |page| {
        f.store.list_jobs(filter.clone(), page).await
    })
    .await
}

fn without_payload(mut job: Job) -> Job {
    job.payload = Payload::default();
    job
}

/// What a list shows of a payload is what it needs to be read for.
pub async fn lists_come_without_payloads(f: Fixture) {
    // An encrypted store shows something of requests up to this length.
    let body = "x".repeat(12_000);
    let request = format!(r#"{{"url":"http://a/b","method":"PUT","body":"{body}"}}"#);
    f.enqueue_one(f.job_with(|job| {
        job.kind = Kind::http();
        job.payload = Payload::from_json(&request).unwrap();
    }))
    .await;
    f.enqueue_one(f.job_with(|job| job.payload = json(&format!(r#""{body}""#))))
        .await;
    let listed = found(&f, &JobFilter::default(), 10).await;
    let shown: Vec<_> = listed.iter().map(|job| job.payload.as_str()).collect();
    assert_eq!(shown[0], "null");
    let request: BTreeMap<String, String> = listed[1].payload.decode().unwrap();
    let request: Vec<_> = request
        .iter()
        .map(|(key, value)| (&**key, &**value))
        .collect();
    assert_eq!(request, [("method", "PUT"), ("url", "http://a/b")]);
}

pub async fn jobs_are_read_as_lists_show_them(f: Fixture) {
    let body = "x".repeat(100_000);
    let request = format!(r#"{{"url":"http://a/b","method":"PUT","body":"{body}"}}"#);
    let http = f.job_with(|job| {
        job.kind = Kind::http();
        job.payload = Payload::from_json(&request).unwrap();
    });
    let mut ids = vec![f.enqueue_one(http).await];
    for payload in [format!(r#""{body}""#), r#"{"n":1}"#.to_owned()] {
        let job = f.job_with(|job| job.payload = json(&payload));
        ids.push(f.enqueue_one(job).await);
    }
    ids.push(f.id());
    let mut listed = found(&f, &JobFilter::default(), 10).await;
    listed.reverse();
    let read = f
        .store
        .get_jobs(ids.clone(), JobDetail::Listed)
        .await
        .unwrap();
    let (last, read) = read.split_last().unwrap();
    assert_eq!(*last, None);
    assert!(read.iter().flatten().eq(&listed), "{read:?}");
    let short = async |bytes_max| {
        let detail = JobDetail::ShortPayload { bytes_max };
        let jobs = f.store.get_jobs(ids.clone(), detail).await.unwrap();
        let payloads = jobs.into_iter().map(|job| job.map(|job| job.payload));
        payloads.collect::<Vec<_>>()
    };
    let (http, none) = (Some(listed[0].payload.clone()), Some(Payload::default()));
    let own = Some(json(r#"{"n":1}"#));
    let expected = [http.clone(), none.clone(), own.clone(), None];
    assert_eq!(short(7).await, expected);
    let expected = [http.clone(), none.clone(), none, None];
    assert_eq!(short(6).await, expected);
    let long = Some(json(&format!(r#""{body}""#)));
    assert_eq!(short(100_002).await, [http, long, own, None]);
}

/// However many jobs others have, a page is as long as it was asked to be.
pub async fn a_page_is_full_whatever_others_have(f: Fixture) {
    let small = tenant("small");
    let own = |label: &str| {
        f.job_with(|job| {
            job.tenant = small.clone();
            job.queue = queue(label);
        })
    };
    f.ended(own("failed"), permanent("own")).await;
    let cancelled = f.enqueue_one(own("cancelled")).await;
    f.command(cancelled, JobCommand::Cancel).await;
    let mut later = own("later");
    later.run_at = RunAt::After(secs(3_600));
    f.enqueue(vec![own("ready"), later]).await;
    // More than one list looks at, and newer than what is looked for.
    for _ in 0..11 {
        f.enqueue(f.jobs(1_000)).await;
    }
    for (label, count) in [
        (None, 4),
        (Some(JobLabel::Failed), 1),
        (Some(JobLabel::Cancelled), 1),
        (Some(JobLabel::Ready), 1),
        (Some(JobLabel::Scheduled), 1),
        (Some(JobLabel::Retrying), 0),
    ] {
        let filter = JobFilter {
            tenant: Some(small.clone()),
            label,
            ..JobFilter::default()
        };
        let page = PageRequest::first(4);
        let page = f.store.list_jobs(filter, page).await.unwrap();
        assert_eq!((page.items.len(), page.next), (count, None), "{label:?}");
    }
}

fn message_of(job: &Job) -> &str {
    &job.progress.failure.as_ref().unwrap().message
}
