//! Failures: each is counted once in the group of its cause, and found by its fingerprint.

use steadfast_core::{
    FailureClass, FailureFingerprint, FailureGroup, FailureKey, FailureMark, FailureState, Job,
    JobCommand, JobId, NewJob, limits::DAY,
};

use crate::conformance::fixture::{
    Fixture, failure, failure_of, kind, permanent, queue, secs, success, tenant, walk,
};
use crate::{
    CommitResult, FailureCursor, FailureFilter, JobFilter, PageRequest, Store, limits::MINUTES_KEPT,
};

pub async fn failures_of_one_cause_are_one_group(f: Fixture) {
    f.enqueue(f.jobs(30)).await;
    let claims = f.claim(30).await;
    let at = f.clock.advance(secs(1));
    let ends = claims.into_iter().enumerate().map(|(place, claim)| {
        let outcome = match place % 3 {
            0 => success(),
            1 => failure(&format!("no room for order {place}")),
            _ => permanent(&format!("order {place} has no items")),
        };
        f.decide(claim, outcome)
    });
    let ends: Vec<_> = ends.collect();
    f.store.commit(ends.clone()).await.unwrap();

    let groups = groups(&f, FailureFilter::default()).await;
    assert_eq!(groups.len(), 2);
    for group in &groups {
        let tally = &group.tally;
        assert_eq!((tally.count, tally.jobs), (10, 10));
        assert_eq!((tally.first_seen, tally.last_seen), (at, at));
        assert_eq!(tally.hours.until(at).iter().sum::<u64>(), 10);
        assert_eq!(tally.kinds.names.first().unwrap(), "mail");
        assert_eq!(tally.queues.names.len(), 1);
        assert_eq!(group.state(at), FailureState::New);
        let is_dead = group.pattern().contains("items");
        assert_eq!(tally.dead_letters, if is_dead { 10 } else { 0 });
        let example = tally.example.as_ref().unwrap();
        let job = f.read(example.job).await;
        assert_eq!(fingerprint(&job), group.key.fingerprint);
        let record = f.attempts_of(example.job).await.remove(0);
        assert_eq!(record.failure, Some(example.failure.clone()));
    }
}

pub async fn a_failure_is_counted_once_and_only_if_it_is_written(f: Fixture) {
    let job = f.running(f.job()).await;
    let claim = f.held(job.id).await;
    let first = f.decide(claim, failure("no answer"));
    let claim = f.held(job.id).await;
    f.clock.advance(secs(1));
    let second = f.decide(claim, failure("no answer"));
    for (end, expected) in [
        (first.clone(), CommitResult::Done),
        (first, CommitResult::Done),
        (second, CommitResult::Stale),
    ] {
        assert_eq!(f.commit(end).await, expected);
        assert_eq!(only_group(&f).await.tally.count, 1);
    }
    // The same job fails the same way: another failure, and no other job.
    f.clock.advance(secs(60));
    let claim = f.claim_of(job.id).await;
    f.end(claim, failure("no answer")).await;
    let tally = only_group(&f).await.tally;
    assert_eq!((tally.count, tally.jobs), (2, 1));
}

pub async fn a_group_counts_the_dead_letters_that_there_are(f: Fixture) {
    let mut jobs = Vec::new();
    for number in 0..4 {
        let message = format!("row {number} is wrong");
        jobs.push(f.ended(f.job(), permanent(&message)).await.id);
    }
    assert_eq!(only_group(&f).await.tally.dead_letters, 4);
    f.command(jobs[0], JobCommand::Discard).await;
    f.command(jobs[1], JobCommand::Retry { payload: None })
        .await;
    let dead_letters = async || only_group(&f).await.tally.dead_letters;
    assert_eq!(dead_letters().await, 2);
    // A discarded one can still be requeued, and is no dead letter any more.
    f.command(jobs[0], JobCommand::Retry { payload: None })
        .await;
    assert_eq!(dead_letters().await, 2);
    let claims = f.claim(2).await;
    for claim in claims {
        f.end(claim, permanent("row 9 is wrong")).await;
    }
    assert_eq!(dead_letters().await, 4);
    assert_eq!(only_group(&f).await.tally.count, 6);
}

pub async fn jobs_are_found_by_the_fingerprint_of_their_newest_failure(f: Fixture) {
    let of = |name: &str| {
        let name = tenant(name);
        f.job_with(|job: &mut NewJob| job.tenant = name)
    };
    let mut wanted = Vec::new();
    for number in 0..5 {
        let message = format!("row {number} is wrong");
        let job = f.ended(of("a"), permanent(&message)).await;
        wanted.push(job.id);
        f.ended(of("b"), permanent(&message)).await;
        f.ended(of("a"), permanent("no such column")).await;
    }
    wanted.reverse();
    let fingerprint = fingerprint(&f.read(wanted[0]).await);
    let filter = JobFilter {
        tenant: Some(tenant("a")),
        fingerprint: Some(fingerprint),
        ..JobFilter::dead_letters()
    };
    assert_eq!(ids(&f, filter.clone()).await, wanted);
    let counted = f.store.count_jobs(filter.clone(), 100).await.unwrap();
    assert_eq!(counted.count, 5);
    let of_all = JobFilter {
        tenant: None,
        ..filter.clone()
    };
    assert_eq!(ids(&f, of_all).await.len(), 10);
    // What failed otherwise since, or has succeeded, belongs to it no more.
    for (job, outcome) in [(0, failure("no answer")), (1, success())] {
        let id = wanted[job];
        f.command(id, JobCommand::Retry { payload: None }).await;
        let claim = f.claim_of(id).await;
        f.end(claim, outcome).await;
    }
    // A job that waits keeps its newest failure.
    f.command(wanted[2], JobCommand::Retry { payload: None })
        .await;
    let any = JobFilter {
        dead_letters: false,
        ..filter.clone()
    };
    assert_eq!(ids(&f, any).await, wanted[2..]);
    assert_eq!(ids(&f, filter).await, wanted[3..]);
}

pub async fn groups_are_listed_by_count_and_found_by_what_they_have(f: Fixture) {
    for (place, name) in ["a", "b"].into_iter().enumerate() {
        for (words, count) in [("disk", 1), ("memory", 2), ("time", 4), ("room", 4)] {
            for number in 0..count + place {
                let mut job = f.job();
                job.tenant = tenant(name);
                job.queue = queue(words);
                let outcome =
                    failure_of(FailureClass::named(words), &format!("no {words} {number}"));
                f.ended(job, outcome).await;
            }
        }
    }
    let counts = |groups: &[FailureGroup]| -> Vec<u64> {
        groups.iter().map(|group| group.tally.count).collect()
    };
    let all = groups(&f, FailureFilter::default()).await;
    assert_eq!(counts(&all), [5, 5, 4, 4, 3, 2, 2, 1]);
    let of_a = FailureFilter {
        tenant: Some(tenant("a")),
        ..FailureFilter::default()
    };
    assert_eq!(counts(&groups(&f, of_a.clone()).await), [4, 4, 2, 1]);
    let narrow = [
        FailureFilter {
            queue: Some(queue("memory")),
            ..of_a.clone()
        },
        FailureFilter {
            class: Some(FailureClass::named("memory")),
            ..of_a.clone()
        },
        FailureFilter {
            text: Some("No MEM".to_owned()),
            ..of_a.clone()
        },
    ];
    for filter in narrow {
        assert_eq!(counts(&groups(&f, filter).await), [2]);
    }
    let none = [
        FailureFilter {
            kind: Some(kind("other")),
            ..of_a.clone()
        },
        FailureFilter {
            status: Some(503),
            ..of_a.clone()
        },
        FailureFilter {
            since: Some(f.now().plus(secs(1))),
            ..of_a.clone()
        },
        FailureFilter {
            state: Some(FailureState::Fixed),
            ..of_a.clone()
        },
        FailureFilter {
            fingerprint: Some(FailureFingerprint::OTHER),
            ..of_a
        },
    ];
    for filter in none {
        assert_eq!(
            counts(&groups(&f, filter.clone()).await),
            [0; 0],
            "{filter:?}"
        );
    }
}

pub async fn a_fixed_failure_that_comes_back_has_regressed(f: Fixture) {
    f.ended(f.job(), permanent("row 1 is wrong")).await;
    let group = only_group(&f).await;
    let new = f.store.new_failures(10).await.unwrap();
    assert_eq!(new, std::slice::from_ref(&group));
    let mark = async |mark| {
        let by = Some("kim".to_owned());
        let marked = f
            .store
            .mark_failure(group.key.clone(), mark, by, None)
            .await;
        marked.unwrap().unwrap()
    };
    let known = mark(FailureMark::Known).await;
    assert_eq!(known.state(f.now()), FailureState::Known);
    assert_eq!(known.marked_by.as_deref(), Some("kim"));
    assert_eq!(only_group(&f).await, known);
    assert_eq!(f.store.new_failures(10).await.unwrap(), []);
    mark(FailureMark::Fixed).await;
    assert_eq!(mark(FailureMark::Fixed).await, only_group(&f).await);
    f.clock.advance(secs(1));
    f.ended(f.job(), permanent("row 2 is wrong")).await;
    let group = only_group(&f).await;
    assert_eq!(group.state(f.now()), FailureState::Regressed);
    assert_eq!(f.store.new_failures(10).await.unwrap(), [group]);
    let unknown = FailureKey::new(tenant("unknown"), FailureFingerprint::OTHER);
    let marked = f
        .store
        .mark_failure(unknown, FailureMark::Known, None, None);
    assert_eq!(marked.await.unwrap(), None);
}

pub async fn groups_that_were_not_seen_for_long_go_unless_they_have_dead_letters(f: Fixture) {
    let job = f.ended(f.job(), permanent("row 1 is wrong")).await;
    f.ended(f.job(), failure("no answer")).await;
    let prune = async || {
        f.prune(f.now().minus(DAY), 10).await;
        groups(&f, FailureFilter::default()).await.len()
    };
    f.clock.advance(2 * DAY);
    assert_eq!(prune().await, 2);
    f.clock.advance(MINUTES_KEPT);
    assert_eq!(prune().await, 1);
    assert_eq!(only_group(&f).await.key.fingerprint, fingerprint(&job));
    f.command(job.id, JobCommand::Discard).await;
    assert_eq!(prune().await, 0);
}

fn fingerprint(job: &Job) -> FailureFingerprint {
    let failure = job.progress.failure.as_ref().unwrap();
    failure.fingerprint.unwrap()
}

async fn only_group(f: &Fixture) -> FailureGroup {
    let mut groups = groups(f, FailureFilter::default()).await;
    assert_eq!(groups.len(), 1);
    groups.remove(0)
}

/// All groups that match, met by walking short pages.
async fn groups(f: &Fixture, filter: FailureFilter) -> Vec<FailureGroup> {
    let store: &dyn Store = &*f.store;
    let mut met = Vec::new();
    let mut after: Option<FailureCursor> = None;
    loop {
        let page = PageRequest { limit: 3, after };
        let listed = store.list_failures(filter.clone(), page).await.unwrap();
        assert!(listed.items.len() <= 3);
        met.extend(listed.items);
        after = listed.next;
        if after.is_none() {
            return met;
        }
    }
}

async fn ids(f: &Fixture, filter: JobFilter) -> Vec<JobId> {
    let list = async |page| f.store.list_jobs(filter.clone(), page).await;
    walk(2, list).await.iter().map(|job| job.id).collect()
}
