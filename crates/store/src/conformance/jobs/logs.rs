//! The logs of attempts.

use std::slice;

use steadfast_core::{Fence, JobId, LogLevel, LogLine, LogLines, Outcome, Timestamp, limits};
use tokio::task::JoinSet;

use crate::conformance::fixture::{Fixture, failure, secs, success};
use crate::{
    ClaimLog, NewLogLines,
    limits::{LOGS_PER_JOB_MAX, LOGS_READ_AT_ONCE},
};

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
    let log = |log: LogLines| (log.from, log.lines.into_iter().map(|it| it.text).collect());
    let logs = logs_of(f, job, attempt).await.into_iter();
    logs.map(|it| log(it.log.into())).collect()
}

/// All logs of an attempt.
async fn logs_of(f: &Fixture, job: JobId, attempt: u32) -> Vec<ClaimLog> {
    let mut logs: Vec<ClaimLog> = Vec::new();
    let mut line = 0;
    loop {
        let mut some = f.store.attempt_logs(job, attempt, line).await.unwrap();
        assert!(some.len() <= LOGS_READ_AT_ONCE);
        some.retain(|log| logs.iter().all(|known| known.fence != log.fence));
        let Some(last) = some.last() else {
            return logs;
        };
        line = last.next();
        logs.append(&mut some);
    }
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
    // The numbers of the attempt's lines go on.
    let first_lines = logs_of(&f, id, 1).await.into_iter();
    let first_lines: Vec<u64> = first_lines.map(|log| log.first_line).collect();
    assert_eq!(first_lines, [0, 1]);
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
    let kept = logs_of(&f, id, 1).await;
    assert_eq!(kept.len(), LOGS_PER_JOB_MAX as usize);
    assert_eq!(kept[0].fence, fence.next());
    // Lines keep their numbers when older logs are gone, and are found by them.
    let before = 5 + limits::LOG_LINES_MAX as u64;
    assert_eq!(kept[0].first_line, before);
    assert_eq!(kept[99].next(), before + u64::from(LOGS_PER_JOB_MAX));
    let found = f.store.attempt_logs(id, 1, before + 40).await.unwrap();
    assert_eq!(found[0], kept[40]);
    let last = f.store.attempt_logs(id, 1, u64::MAX).await.unwrap();
    assert_eq!(last, kept[99..]);
}

pub async fn one_request_may_name_a_claim_twice_and_others_that_do_not_hold(f: Fixture) {
    let claim = f.claimed(f.job()).await;
    let (id, fence) = (claim.job().id, claim.fence());
    let other = f.claimed(f.job()).await;
    let logs = vec![
        new(other.job().id, other.fence(), lines(0, &["other"])),
        new(id, fence, lines(0, &["a"])),
        new(id, fence.next(), lines(0, &["x"])),
        new(f.job().id, fence, lines(0, &["y"])),
        new(id, fence, lines(1, &["b"])),
    ];
    let held = f.store.append_logs(logs).await.unwrap();
    assert_eq!(held, [true, true, false, false, true]);
    let kept = ["a", "b"].map(str::to_owned).to_vec();
    assert_eq!(texts(&f, id, 1).await, [(0, kept)]);
    let others = [(0, vec!["other".to_owned()])];
    assert_eq!(texts(&f, other.job().id, 1).await, others);
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
    assert_eq!(f.prune(f.now(), 10).await, 1);
    let mut again = f.job();
    again.id = id;
    f.enqueue(vec![again]).await;
    assert_eq!(texts(&f, id, 1).await, []);
}
