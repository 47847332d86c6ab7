//! The history: every record, newest first, of a job or of all runs of a schedule.

use steadfast_core::{
    Attempt, Dice, JobCommand, JobId, Outcome, Payload, ScheduleId, ScheduledRun, Subscriptions,
    after_attempt,
};

use crate::conformance::fixture::{Fixture, failure, held, ids_of, permanent, secs, success};
use crate::{AttemptCursor, AttemptOwner, CommitResult, Page, PageRequest};

pub async fn attempts_of_a_job_are_its_own_newest_first(f: Fixture) {
    f.ended(f.job(), success()).await;
    let id = f.enqueue_one(f.job()).await;
    for message in ["first", "second", "third", "last"] {
        let claim = f.claim_of(id).await;
        let job = f.end(claim, failure(message)).await;
        f.clock.set(job.progress.run_at.max(f.now()));
    }
    let messages: Vec<_> = f.attempts_of(id).await.iter().map(message_of).collect();
    assert_eq!(messages, ["last", "third", "second", "first"]);
}

pub async fn attempts_that_ended_together_are_met_once_each(f: Fixture) {
    let schedule = ScheduleId::from_bits(7);
    let runs = (1..=5)
        .map(|number| scheduled_run(&f, schedule, number))
        .collect();
    f.enqueue(runs).await;
    for claim in f.claim(10).await {
        f.end(claim, Outcome::Snoozed(secs(0))).await;
    }
    for claim in f.claim(10).await {
        f.end(claim, success()).await;
    }
    let attempts = f.attempts(AttemptOwner::Schedule(schedule)).await;
    let cursors: Vec<_> = attempts.iter().map(cursor).collect();
    let mut sorted = cursors.clone();
    sorted.sort();
    sorted.dedup();
    sorted.reverse();
    assert_eq!(cursors, sorted);
    assert_eq!(cursors.len(), 10);
}

pub async fn attempts_of_several_jobs_come_whole_and_in_their_order(f: Fixture) {
    let mut ids = Vec::new();
    for attempts in [2, 0, 3, 1] {
        let id = f.enqueue_one(f.job()).await;
        for number in 0..attempts {
            let output = Some(Payload::from_json("[1]").unwrap());
            let outcome = match number + 1 == attempts {
                true => Outcome::Success { output },
                false => failure("not yet"),
            };
            let claim = f.claim_of(id).await;
            let job = f.end(claim, outcome).await;
            f.clock.set(job.progress.run_at.max(f.now()));
        }
        ids.push(id);
        if attempts == 0 {
            f.command(id, JobCommand::Cancel).await;
        }
    }
    ids.insert(1, f.id());
    let [first, _, _, third, last] = ids[..] else {
        panic!("{ids:?}");
    };
    let read = async |jobs: &[JobId], limit| {
        let jobs = jobs.to_vec();
        f.store.attempts_of_jobs(jobs, limit).await.unwrap()
    };
    let all = read(&ids, 6).await;
    let expected = [(first, 2), (third, 3), (last, 1)];
    let expected = expected.map(|(id, fences)| (1..=fences).map(move |fence| (id, fence)));
    let expected: Vec<(JobId, u32)> = expected.into_iter().flatten().collect();
    let found = |page: &Page<Attempt, JobId>| -> Vec<(JobId, u32)> {
        let items = page.items.iter();
        items.map(|it| (it.job, it.fence.0)).collect()
    };
    assert_eq!((found(&all), all.next), (expected.clone(), None));
    assert!(all.items.iter().all(|it| it.output.is_none()));
    let failed = f.attempts_of(third).await.pop();
    assert_eq!(all.items.get(2), failed.as_ref(), "all else is as it was");

    // It ends between two jobs, and goes on with the next.
    let page = read(&ids, 4).await;
    assert_eq!(
        (found(&page), page.next),
        (expected[..2].to_vec(), Some(third))
    );
    let page = read(&[third, last], 3).await;
    assert_eq!(
        (found(&page), page.next),
        (expected[2..5].to_vec(), Some(last))
    );
    // Of a job with more than the limit, the first.
    let page = read(&[third, last], 2).await;
    assert_eq!(
        (found(&page), page.next),
        (expected[2..4].to_vec(), Some(last))
    );
    assert_eq!(read(&[], 5).await.next, None);
}

pub async fn attempts_of_a_schedule_are_those_of_all_its_runs(f: Fixture) {
    let [ours, theirs] = [7, 8].map(ScheduleId::from_bits);
    let mut expected = Vec::new();
    for number in 1..=6 {
        let schedule = if number % 3 == 0 { theirs } else { ours };
        let run = f
            .ended(scheduled_run(&f, schedule, number), permanent("no"))
            .await;
        if schedule == ours {
            expected.push(run.id);
        }
        f.clock.advance(secs(1));
    }
    f.ended(f.job(), success()).await;
    expected.reverse();
    let attempts = f.attempts(AttemptOwner::Schedule(ours)).await;
    assert_eq!(jobs_of(&attempts), expected);
}

pub async fn attempts_of_several_runs_are_in_the_order_they_ended(f: Fixture) {
    let schedule = ScheduleId::from_bits(7);
    let runs = (1..=3)
        .map(|number| scheduled_run(&f, schedule, number))
        .collect();
    let ids = f.enqueue(runs).await;
    let mut claims = f.claim(3).await;
    claims.sort_by_key(|claim| claim.job().id);
    let mut ended = Vec::new();
    for claim in claims.into_iter().rev() {
        f.clock.advance(secs(1));
        ended.push(f.end(claim, failure("once")).await.id);
    }
    f.clock.advance(secs(60));
    for claim in f.claim(3).await {
        f.clock.advance(secs(1));
        ended.push(f.end(claim, success()).await.id);
    }
    assert_eq!(ended[..3], [ids[2], ids[1], ids[0]]);
    ended.reverse();
    let attempts = f.attempts(AttemptOwner::Schedule(schedule)).await;
    assert_eq!(jobs_of(&attempts), ended);
}

pub async fn a_record_reads_back_to_the_last_digit(f: Fixture) {
    // Its sample is 0.9700894796725211, which a hasty parser takes for its neighbour.
    let dice = Dice::new(8_737_789_238_338_409 << 11);
    let ended = f.claimed(f.job()).await.end(failure("no"), f.now());
    let transition = after_attempt(&ended, &Subscriptions::default(), dice);
    assert_eq!(f.commit(transition.clone()).await, CommitResult::Done);
    let records = f.attempts_of(transition.job).await;
    assert_eq!(records, Vec::from_iter(transition.record));
}

pub async fn a_record_reads_back_the_budget_that_a_manual_retry_began(f: Fixture) {
    let schedule = ScheduleId::from_bits(7);
    let id = f
        .ended(scheduled_run(&f, schedule, 1), permanent("no"))
        .await
        .id;
    f.command(id, JobCommand::Retry { payload: None }).await;
    for message in ["again", "and again"] {
        let claim = f.claim_of(id).await;
        let job = f.end(claim, failure(message)).await;
        f.clock.set(job.progress.run_at);
    }
    for of in [AttemptOwner::Job(id), AttemptOwner::Schedule(schedule)] {
        let attempts = f.attempts(of).await;
        let budgets = attempts.iter().map(|attempt| {
            let Attempt {
                attempt,
                attempts_before,
                ..
            } = attempt;
            (*attempt, *attempts_before)
        });
        let budgets: Vec<_> = budgets.collect();
        assert_eq!(budgets, [(3, 1), (2, 1), (1, 0)], "{of:?}");
    }
}

pub async fn what_has_no_attempts_has_an_empty_history(f: Fixture) {
    let waiting = f.enqueue_one(f.job()).await;
    assert!(f.attempts_of(waiting).await.is_empty());
    assert!(f.attempts_of(f.id()).await.is_empty());
    let unknown = AttemptOwner::Schedule(ScheduleId::from_bits(9));
    assert!(f.attempts(unknown).await.is_empty());
}

pub async fn a_record_added_during_a_walk_does_not_disturb_it(f: Fixture) {
    let id = f.enqueue_one(f.job()).await;
    let retry = async || {
        let claim = f.claim_of(id).await;
        let job = f.end(claim, Outcome::Snoozed(secs(1))).await;
        f.clock.set(job.progress.run_at);
    };
    for _ in 0..3 {
        retry().await;
    }
    let of = AttemptOwner::Job(id);
    let first = f
        .store
        .list_attempts(of, PageRequest::first(2))
        .await
        .unwrap();
    assert_eq!(fences_of(&first.items), [3, 2]);
    retry().await;
    let after = PageRequest {
        limit: 2,
        after: first.next,
    };
    let second = f.store.list_attempts(of, after).await.unwrap();
    assert_eq!(fences_of(&second.items), [1]);
    assert_eq!(second.next, None);
}

pub async fn a_record_is_not_changed_by_what_follows(f: Fixture) {
    let job = f.running(f.job()).await;
    let transition = f.decide(held(job), failure("first"));
    f.store.commit(vec![transition.clone()]).await.unwrap();
    f.clock.set(transition.to.run_at);
    let claims = f.claim(1).await;
    assert_eq!(ids_of(&claims), [transition.job]);
    for claim in claims {
        f.end(claim, permanent("second")).await;
    }
    let records = f.attempts_of(transition.job).await;
    assert_eq!(records.last(), transition.record.as_ref());
    assert_eq!(records.len(), 2);
}

fn scheduled_run(f: &Fixture, schedule: ScheduleId, number: u64) -> steadfast_core::NewJob {
    let tick = f.now().plus(secs(number));
    f.job_with(|job| job.scheduled_run = Some(ScheduledRun { schedule, tick }))
}

fn cursor(attempt: &Attempt) -> AttemptCursor {
    AttemptCursor {
        finished_at: attempt.finished_at,
        job: attempt.job,
        fence: attempt.fence,
    }
}

fn jobs_of(attempts: &[Attempt]) -> Vec<JobId> {
    attempts.iter().map(|attempt| attempt.job).collect()
}

fn fences_of(attempts: &[Attempt]) -> Vec<u32> {
    attempts.iter().map(|attempt| attempt.fence.0).collect()
}

fn message_of(attempt: &Attempt) -> String {
    attempt.failure.as_ref().unwrap().message.clone()
}
