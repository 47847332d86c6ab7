//! Claims: who gets what, in which order, and what a claim writes.

use std::cmp::Reverse;

use rand::{RngExt, SeedableRng, rngs::StdRng, seq::IndexedRandom};
use steadfast_core::{Job, JobCommand, JobState, NewJob, Outcome, RunAt, Timestamp, WorkerName};

use crate::conformance::fixture::{
    Fixture, MICRO, failure, ids_of, kind, priority, queue, request, secs, success, tenant,
};
use crate::{ClaimRequest, Renewal};

pub async fn a_claim_is_written_as_claimed_says(f: Fixture) {
    let id = f.enqueue_one(f.job()).await;
    let now = f.clock.advance(secs(5));
    let expected = f.read(id).await.claim(request(1).worker, None, now);

    let claims = f.claim(1).await;
    assert_eq!(f.read(id).await, *expected.job());
    assert_eq!(claims, [expected]);
}

pub async fn a_request_can_set_another_lease(f: Fixture) {
    let own = f.job().with_lease(secs(90)).unwrap();
    let ids = f.enqueue(vec![own.clone(), own_again(&f, &own)]).await;
    let with_own = f.claim(1).await;
    let with_other = f
        .store
        .claim(ClaimRequest {
            worker: WorkerName::new("w2").unwrap(),
            lease: Some(secs(7)),
            ..request(1)
        })
        .await
        .unwrap()
        .claims;
    let lease_and_worker = |job: Job| {
        let worker = job.progress.worker.unwrap();
        (job.progress.lease_until.unwrap(), worker.to_string())
    };
    let mut seen = Vec::new();
    for id in ids_of(&with_own).into_iter().chain(ids_of(&with_other)) {
        assert!(ids.contains(&id));
        seen.push(lease_and_worker(f.read(id).await));
    }
    let expected = [(90, "w1"), (7, "w2")];
    let expected = expected.map(|(lease, worker)| (f.now().plus(secs(lease)), worker.to_owned()));
    assert_eq!(seen, expected);
}

pub async fn the_higher_priority_goes_first_then_the_earlier_time(f: Fixture) {
    let now = f.now();
    let jobs: Vec<NewJob> = [(5, 10), (9, 1), (0, 500), (5, 30), (9, 2), (5, 20)]
        .map(|(level, ago)| {
            f.job_with(|job| {
                job.priority = priority(level);
                job.run_at = RunAt::At(now.minus(secs(ago)));
            })
        })
        .into();
    let ids = f.enqueue(jobs).await;
    let order = [4, 1, 3, 5, 0, 2].map(|index: usize| ids[index]);
    assert_eq!(ids_of(&f.claim(4).await), order[..4]);
    assert_eq!(ids_of(&f.claim(4).await), order[4..]);
}

pub async fn a_retried_job_keeps_its_place_by_priority(f: Fixture) {
    let urgent = f
        .claimed(f.job_with(|job| job.priority = priority(7)))
        .await;
    let urgent = f.end(urgent, failure("once")).await;
    let waiting = f.enqueue_one(f.job()).await;
    f.clock.set(urgent.progress.run_at);
    assert_eq!(ids_of(&f.claim(2).await), [urgent.id, waiting]);
}

pub async fn a_job_is_due_at_its_time_and_not_before(f: Fixture) {
    let at = f.now().plus(secs(60));
    let id = f
        .enqueue_one(f.job_with(|job| job.run_at = RunAt::At(at)))
        .await;
    f.clock.set(at.minus(MICRO));
    let early = f.store.claim(request(1)).await.unwrap();
    assert_eq!((early.claims, early.next_due), (vec![], Some(at)));
    f.clock.set(at);
    f.claim_of(id).await;
}

pub async fn a_clock_that_went_back_takes_the_due_time_with_it(f: Fixture) {
    let id = f.enqueue_one(f.job()).await;
    let start = f.now();
    f.clock.set(start.minus(secs(1)));
    assert!(f.claim(1).await.is_empty());
    f.clock.set(start);
    f.claim_of(id).await;
}

pub async fn future_jobs_of_a_high_priority_hide_nothing(f: Fixture) {
    let future = (0..500).map(|_| {
        f.job_with(|job| {
            job.priority = priority(9);
            job.run_at = RunAt::After(secs(60));
        })
    });
    f.enqueue(future.collect()).await;
    let due = f
        .enqueue_one(f.job_with(|job| job.priority = priority(0)))
        .await;
    assert_eq!(ids_of(&f.claim(10).await), [due]);
}

pub async fn no_more_than_asked_are_claimed(f: Fixture) {
    f.enqueue(f.jobs(5)).await;
    let nothing = f.store.claim(request(0)).await.unwrap();
    assert!(nothing.claims.is_empty());
    assert!(nothing.next_due.is_some_and(|due| due <= f.now()));
    assert_eq!(f.claim(3).await.len(), 3);
    assert_eq!(f.claim(3).await.len(), 2);
    assert_eq!(f.claim(3).await.len(), 0);
}

pub async fn what_runs_or_has_ended_is_not_claimed(f: Fixture) {
    let running = f.running(f.job()).await;
    f.ended(f.job(), success()).await;
    f.ended(
        f.job(),
        Outcome::Cancelled {
            message: "no".into(),
        },
    )
    .await;
    let cancelled = f.enqueue_one(f.job()).await;
    f.command(cancelled, JobCommand::Cancel).await;

    // Not even when its lease has run out: that is for the sweep to settle.
    f.clock
        .set(running.progress.lease_until.unwrap().plus(secs(60)));
    let claimed = f.store.claim(request(10)).await.unwrap();
    assert_eq!((claimed.claims, claimed.next_due), (vec![], None));
    assert_eq!(f.read(running.id).await, running);
}

pub async fn each_claim_has_a_higher_fence(f: Fixture) {
    let claim = f.claimed(f.job()).await;
    let id = claim.job().id;
    let mut seen = vec![numbers(claim.job())];
    let mut claim = Some(claim);
    for outcome in [
        Outcome::Snoozed(secs(10)),
        failure("x"),
        Outcome::Released { started: false },
    ] {
        let job = f.end(claim.take().unwrap(), outcome).await;
        f.clock.set(job.progress.run_at.max(f.now()));
        let next = f.claim_of(id).await;
        seen.push(numbers(next.job()));
        claim = Some(next);
    }
    assert_eq!(seen, [(1, 1), (1, 2), (2, 3), (2, 4)]);
}

pub async fn only_wanted_lanes_are_claimed(f: Fixture) {
    let mut lanes = Vec::new();
    for owner in ["acme", "default"] {
        for lane in ["a", "b"] {
            for work in ["x", "y"] {
                lanes.push((owner, lane, work));
            }
        }
    }
    let wanted: [(Option<&str>, &[&str], &[&str]); 6] = [
        (Some("acme"), &[], &[]),
        (None, &["a"], &[]),
        (None, &[], &["y"]),
        (Some("default"), &["a", "b"], &["x"]),
        (Some("acme"), &["b", "none"], &["x", "y"]),
        (Some("absent"), &[], &[]),
    ];
    for (owner, queues, kinds) in wanted {
        let is_wanted = |lane: &(&str, &str, &str)| {
            owner.is_none_or(|owner| owner == lane.0)
                && (queues.is_empty() || queues.contains(&lane.1))
                && (kinds.is_empty() || kinds.contains(&lane.2))
        };
        f.enqueue(lanes.iter().map(|lane| job_in(&f, *lane)).collect())
            .await;
        let request = ClaimRequest {
            tenant: owner.map(tenant),
            queues: queues.iter().map(|name| queue(name)).collect(),
            kinds: kinds.iter().map(|name| kind(name)).collect(),
            ..request(100)
        };
        let claimed = f.store.claim(request).await.unwrap();
        let mut got: Vec<_> = claimed
            .claims
            .iter()
            .map(|claim| lane_of(claim.job()))
            .collect();
        got.sort();
        let expected: Vec<_> = lanes.iter().copied().filter(is_wanted).collect();
        assert_eq!(got, expected, "{owner:?} {queues:?} {kinds:?}");
        assert_eq!(
            claimed.next_due, None,
            "of the wanted lanes nothing is left"
        );
        f.claim(100).await;
    }
}

pub async fn kinds_that_are_excepted_are_left_alone(f: Fixture) {
    let excepted = f.job_with(|job| job.kind = kind("http"));
    let later = f.job_with(|job| job.run_at = RunAt::After(secs(9)));
    let wanted = f.job();
    f.enqueue(vec![excepted.clone(), later, wanted.clone()])
        .await;
    let except = |kinds: &[&str]| ClaimRequest {
        kinds: vec![kind("http"), kind("mail")],
        except_kinds: kinds.iter().map(|name| kind(name)).collect(),
        ..request(10)
    };
    let claimed = f.store.claim(except(&["http"])).await.unwrap();
    let ids: Vec<_> = claimed.claims.iter().map(|claim| claim.job().id).collect();
    assert_eq!(ids, [wanted.id]);
    assert_eq!(claimed.next_due, Some(f.now().plus(secs(9))));
    let claimed = f.store.claim(except(&["mail"])).await.unwrap();
    assert_eq!(claimed.claims[0].job().id, excepted.id);
}

pub async fn a_long_list_of_lanes_is_a_list_of_lanes(f: Fixture) {
    let id = f
        .enqueue_one(f.job_with(|job| job.queue = queue("q-999")))
        .await;
    f.enqueue_one(f.job_with(|job| job.queue = queue("q-1000")))
        .await;
    let many = ClaimRequest {
        queues: (0..1_000)
            .map(|number| queue(&format!("q-{number}")))
            .collect(),
        kinds: (0..1_000)
            .map(|number| kind(&format!("k-{number}")))
            .chain([kind("mail")])
            .collect(),
        ..request(10)
    };
    let claimed = f.store.claim(many).await.unwrap();
    assert_eq!(
        (ids_of(&claimed.claims), claimed.next_due),
        (vec![id], None)
    );
}

pub async fn next_due_is_that_of_the_wanted_jobs_that_are_left(f: Fixture) {
    let now = f.now();
    let at = |seconds| now.plus(secs(seconds));
    let mut jobs = Vec::new();
    for (lane, level, due) in [("a", 5, 50), ("a", 9, 60), ("b", 5, 20), ("b", 0, 10)] {
        jobs.push(f.job_with(|job| {
            job.queue = queue(lane);
            job.priority = priority(level);
            job.run_at = RunAt::At(at(due));
        }));
    }
    f.enqueue(jobs).await;
    let next_due = async |queues: &[&str]| {
        let request = ClaimRequest {
            queues: queues.iter().map(|name| queue(name)).collect(),
            ..request(1)
        };
        f.store.claim(request).await.unwrap().next_due
    };
    // A store may name an earlier time while it cannot look; then it is asked again.
    let next_due_after_looks = async |queues: &[&str], expected| {
        for _ in 0..100 {
            let next = next_due(queues).await;
            if next == expected {
                break;
            }
            assert!(next.is_some_and(|next| next <= f.now()), "{next:?}");
        }
        assert_eq!(next_due(queues).await, expected);
    };
    assert_eq!(next_due(&["a"]).await, Some(at(50)));
    assert_eq!(next_due(&["b"]).await, Some(at(10)));
    assert_eq!(next_due(&[]).await, Some(at(10)));
    assert_eq!(next_due(&["none"]).await, None);

    f.clock.set(at(20));
    let left_but_due = next_due(&["b"]).await;
    assert!(left_but_due.is_some_and(|due| due <= at(20)));
    // The second claim takes the last.
    next_due_after_looks(&["b"], None).await;
    next_due_after_looks(&[], Some(at(50))).await;
}

pub async fn an_expired_lease_that_was_renewed_is_still_one_claim(f: Fixture) {
    let job = f.running(f.job()).await;
    f.clock.advance(secs(3_600));
    let renewal = Renewal {
        job: job.id,
        fence: job.progress.fence,
        lease: secs(30),
        note: None,
        within_timeout: false,
    };
    f.store.renew(vec![renewal]).await.unwrap();
    assert!(f.claim(1).await.is_empty());
    assert_eq!(f.read(job.id).await.progress.state, JobState::Running);
}

/// Many lanes and priorities at once, against a plain sort.
pub async fn the_order_agrees_with_a_plain_sort(f: Fixture) {
    const LANES: [&str; 3] = ["a", "b", "c"];
    let mut random = StdRng::seed_from_u64(17);
    let mut waiting: Vec<Job> = Vec::new();
    for round in 0..150 {
        let fresh: Vec<NewJob> = (0..random.random_range(0..12))
            .map(|number| random_job(&f, &mut random, round * 100 + number))
            .collect();
        waiting.extend(fresh.iter().map(|job| job.clone().into_job(f.now())));
        f.enqueue(fresh).await;
        let now = f.clock.advance(secs(random.random_range(0..30)));

        let mut pick = |names: &[&'static str]| -> Vec<&'static str> {
            names.iter().copied().filter(|_| random.random()).collect()
        };
        let (queues, kinds) = (pick(&LANES), pick(&LANES));
        let request = ClaimRequest {
            queues: queues.iter().map(|name| queue(name)).collect(),
            kinds: kinds.iter().map(|name| kind(name)).collect(),
            ..request(random.random_range(1..10))
        };
        let is_wanted = |job: &Job| {
            (queues.is_empty() || queues.contains(&job.queue.as_str()))
                && (kinds.is_empty() || kinds.contains(&job.kind.as_str()))
        };
        let mut due: Vec<&Job> = waiting.iter().filter(|job| is_wanted(job)).collect();
        due.retain(|job| job.progress.run_at <= now);
        due.sort_by_key(|job| (Reverse(job.priority), job.progress.run_at));
        due.truncate(request.max);
        let expected: Vec<_> = due.iter().map(|job| job.id).collect();

        let claimed = f.store.claim(request).await.unwrap();
        assert_eq!(ids_of(&claimed.claims), expected, "round {round}");
        waiting.retain(|job| !expected.contains(&job.id));
        let left = waiting.iter().filter(|job| is_wanted(job));
        let next_due = left.map(|job| job.progress.run_at).min();
        assert_eq!(
            in_the_past_or(claimed.next_due, now),
            in_the_past_or(next_due, now),
            "round {round}"
        );
    }
}

/// A job whose time no other has, so that there is only one order.
fn random_job(f: &Fixture, random: &mut StdRng, number: u64) -> NewJob {
    let offset = secs(random.random_range(0..600)) + MICRO * u32::try_from(number).unwrap();
    f.job_with(|job| {
        job.queue = queue(["a", "b", "c"].choose(random).unwrap());
        job.kind = kind(["a", "b", "c"].choose(random).unwrap());
        job.priority = priority(random.random_range(0..=9));
        job.run_at = RunAt::At(f.now().minus(secs(300)).plus(offset));
    })
}

/// A store need not say how long ago the next job became due.
fn in_the_past_or(next_due: Option<Timestamp>, now: Timestamp) -> Option<Timestamp> {
    next_due.map(|due| due.max(now))
}

fn numbers(job: &Job) -> (u32, u32) {
    (job.progress.attempt, job.progress.fence.0)
}

fn own_again(f: &Fixture, job: &NewJob) -> NewJob {
    let mut again = job.clone();
    again.id = f.id();
    again
}

fn job_in(f: &Fixture, (owner, lane, work): (&str, &str, &str)) -> NewJob {
    f.job_with(|job| {
        job.tenant = tenant(owner);
        job.queue = queue(lane);
        job.kind = kind(work);
    })
}

fn lane_of(job: &Job) -> (&str, &str, &str) {
    (job.tenant.as_str(), job.queue.as_str(), job.kind.as_str())
}
