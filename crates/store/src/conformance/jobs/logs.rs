//! The logs of attempts.

use std::slice;

use steadfast_core::{Fence, JobId, LogLevel, LogLine, LogLines, Outcome, Timestamp, limits};
use tokio::task::JoinSet;

use crate::conformance::fixture::{Fixture, failure, secs, success};
use crate::{NewLogLines, limits::LOGS_PER_JOB_MAX};

fn lines(from: u64, texts: &[&str]) -> LogLines {
    let line = |text: &&str| LogLine {
        at: Timestamp::EPOCH,
        level: LogLevel::Warn,
        text: (*text).to_owned(),
    };
    LogLines {
        from,
        lines: texts.iter().map(line).collect(),
    }
}

fn new(job: JobId, fence: Fence, lines: LogLines) -> NewLogLines {
    NewLogLines { job, fence, lines }
}

/// The texts of each log of an attempt, with how many lines were dropped.
async fn texts(f: &Fixture, job: JobId, attempt: u32) -> Vec<(u64, Vec<String>)> {
    let logs = f.store.attempt_logs(job, attempt).await.unwrap();
    let log = |log: LogLines| (log.from, log.lines.into_iter().map(|it| it.text).collect());
    logs.into_iter().map(|(_, it)| log(it.into())).collect()
}

pub async fn lines_of_a_claim_that_holds_are_kept_in_order(f: Fixture) {
    let claim = f.claimed(f.job()).await;
    let (id, fence) = (claim.job().id, claim.fence());
    let append = |fence, lines| f.store.append_logs(vec![new(id, fence, lines)]);
    assert_eq!(append(fence, lines(0, &["a", "b"])).await.unwrap(), [true]);
    // The answer was lost, and there is one more.
    assert_eq!(append(fence, lines(1, &["b", "c"])).await.unwrap(), [true]);
    let kept = (0, ["a", "b", "c"].map(str::to_owned).to_vec());
    assert_eq!(texts(&f, id, 1).await, slice::from_ref(&kept));
    assert_eq!(
        append(fence.next(), lines(3, &["d"])).await.unwrap(),
        [false]
    );

    let job = f.end(claim, failure("later")).await;
    assert_eq!(append(fence, lines(3, &["d"])).await.unwrap(), [false]);
    f.clock.set(job.progress.run_at);
    let second = f.claim_of(id).await;
    assert_eq!(
        append(second.fence(), lines(0, &["x"])).await.unwrap(),
        [true]
    );
    assert_eq!(texts(&f, id, 1).await, [kept]);
    assert_eq!(texts(&f, id, 2).await, [(0, vec!["x".to_owned()])]);
    assert_eq!(texts(&f, id, 3).await, []);
    let unknown = vec![new(f.job().id, fence, lines(0, &["y"]))];
    assert_eq!(f.store.append_logs(unknown).await.unwrap(), [false]);
}

pub async fn an_attempt_that_is_not_counted_shares_its_number(f: Fixture) {
    let mut claim = f.claimed(f.job()).await;
    let id = claim.job().id;
    for text in ["first", "second"] {
        let log = new(id, claim.fence(), lines(0, &[text]));
        assert_eq!(f.store.append_logs(vec![log]).await.unwrap(), [true]);
        f.end(claim, Outcome::Snoozed(secs(1))).await;
        f.clock.advance(secs(1));
        claim = f.claim_of(id).await;
    }
    let expected = ["first", "second"].map(|text| (0, vec![text.to_owned()]));
    assert_eq!(texts(&f, id, 1).await, expected);
}

pub async fn the_newest_lines_and_logs_are_kept(f: Fixture) {
    let claim = f.claimed(f.job()).await;
    let (id, fence) = (claim.job().id, claim.fence());
    let many = vec!["line"; limits::LOG_LINES_MAX];
    for from in [0, 5] {
        let log = new(id, fence, lines(from, &many));
        assert_eq!(f.store.append_logs(vec![log]).await.unwrap(), [true]);
    }
    let kept = texts(&f, id, 1).await.remove(0);
    assert_eq!((kept.0, kept.1.len()), (5, limits::LOG_LINES_MAX));
    let mut claim = claim;
    for _ in 0..LOGS_PER_JOB_MAX {
        f.end(claim, Outcome::Snoozed(secs(1))).await;
        f.clock.advance(secs(1));
        claim = f.claim_of(id).await;
        let log = new(id, claim.fence(), lines(0, &["again"]));
        assert_eq!(f.store.append_logs(vec![log]).await.unwrap(), [true]);
    }
    let kept = f.store.attempt_logs(id, 1).await.unwrap();
    assert_eq!(kept.len(), LOGS_PER_JOB_MAX as usize);
    assert_eq!(kept[0].0, fence.next());
}

pub async fn callers_at_once_lose_no_line(f: Fixture) {
    let claim = f.claimed(f.job()).await;
    let (id, fence) = (claim.job().id, claim.fence());
    let mut callers = JoinSet::new();
    for count in 1..=20 {
        let store = f.store.clone();
        let log = new(id, fence, lines(0, &vec!["line"; count]));
        callers.spawn(async move { store.append_logs(vec![log]).await.unwrap() });
    }
    assert!(
        callers
            .join_all()
            .await
            .into_iter()
            .flatten()
            .all(|held| held)
    );
    assert_eq!(texts(&f, id, 1).await[0].1.len(), 20);
}

pub async fn logs_go_with_their_job(f: Fixture) {
    let claim = f.claimed(f.job()).await;
    let (id, fence) = (claim.job().id, claim.fence());
    let log = new(id, fence, lines(0, &["a"]));
    f.store.append_logs(vec![log]).await.unwrap();
    f.end(claim, success()).await;
    f.clock.advance(secs(60));
    assert_eq!(texts(&f, id, 1).await.len(), 1);
    assert_eq!(f.store.prune(f.now(), 10).await.unwrap(), 1);
    let mut again = f.job();
    again.id = id;
    f.enqueue(vec![again]).await;
    assert_eq!(texts(&f, id, 1).await, []);
}
