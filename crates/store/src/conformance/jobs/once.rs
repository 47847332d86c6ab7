//! Steps of a handler that are done once, whatever becomes of the attempt.

use steadfast_core::{Fence, limits};
use tokio::task::JoinSet;

use crate::SaveStepResult;
use crate::conformance::fixture::{Fixture, failure, json, step};

pub async fn a_step_that_never_succeeded_left_nothing(f: Fixture) {
    let job = f.running(f.job()).await;
    let recalled = f.step_result(job.id, step("charge")).await;
    assert_eq!(recalled, None);
}

pub async fn the_first_result_of_a_step_is_kept(f: Fixture) {
    let job = f.running(f.job()).await.id;
    let first = json(r#"{"receipt":  1.0}"#);
    for result in [first.clone(), json("2")] {
        let kept = f.save_step(job, step("charge"), result).await;
        assert_eq!(kept, first);
        let recalled = f.step_result(job, step("charge")).await;
        assert_eq!(recalled, Some(first.clone()));
    }
}

pub async fn steps_are_apart_by_job_and_name(f: Fixture) {
    let ids = f.enqueue(f.jobs(2)).await;
    let places = [(ids[0], "a"), (ids[0], "A"), (ids[0], "b"), (ids[1], "a")];
    for (number, (job, name)) in places.into_iter().enumerate() {
        let result = json(&number.to_string());
        f.save_step(job, step(name), result).await;
    }
    for (number, (job, name)) in places.into_iter().enumerate() {
        let recalled = f.step_result(job, step(name)).await;
        assert_eq!(recalled, Some(json(&number.to_string())));
    }
    assert_eq!(f.step_result(ids[1], step("b")).await, None);
}

pub async fn steps_are_listed_by_name(f: Fixture) {
    let ids = f.enqueue(f.jobs(2)).await;
    for name in ["b", "a", "B"] {
        let result = json(&format!("\"{name}\""));
        f.save_step(ids[0], step(name), result).await;
    }
    let listed = f.store.list_steps(ids[0], None, 9).await.unwrap();
    let shown = listed
        .iter()
        .map(|(name, result)| (name.as_str(), result.as_str()));
    let expected = [("B", "\"B\""), ("a", "\"a\""), ("b", "\"b\"")];
    assert_eq!(shown.collect::<Vec<_>>(), expected);
    let first = f.store.list_steps(ids[0], None, 1).await.unwrap();
    assert_eq!(first, listed[..1]);
    assert_eq!(f.store.list_steps(ids[1], None, 9).await.unwrap(), []);
}

pub async fn a_step_outlives_its_attempt(f: Fixture) {
    let claim = f.claimed(f.job()).await;
    let id = claim.job().id;
    let receipt = json(&format!("\"{}\"", "r".repeat(limits::ONCE_BYTES_MAX - 2)));
    f.save_step(id, step("charge"), receipt.clone()).await;
    let job = f.end(claim, failure("later")).await;
    f.clock.set(job.progress.run_at);
    f.claim_of(id).await;
    let recalled = f.step_result(id, step("charge")).await;
    assert!(recalled == Some(receipt));
}

pub async fn a_worker_stores_steps_while_its_claim_holds(f: Fixture) {
    let claim = f.claimed(f.job()).await;
    let (id, fence) = (claim.job().id, claim.fence());
    let save = async |fence, result: &str| {
        let saved = f
            .store
            .save_step(id, Some(fence), step("charge"), json(result));
        saved.await.unwrap()
    };
    assert_eq!(save(fence.next(), "0").await, SaveStepResult::Stale);
    assert_eq!(f.step_result(id, step("charge")).await, None);
    let first = SaveStepResult::Stored(json("1"));
    assert_eq!(save(fence, "1").await, first);
    assert_eq!(save(fence, "2").await, first);
    let job = f.end(claim, failure("later")).await;
    assert_eq!(save(fence, "3").await, SaveStepResult::Stale);
    f.clock.set(job.progress.run_at);
    let second = f.claim_of(id).await;
    assert_eq!(save(fence, "4").await, SaveStepResult::Stale);
    assert_eq!(save(second.fence(), "5").await, first);
    let unknown = f.store.save_step(
        f.job().id,
        Some(Fence::default()),
        step("charge"),
        json("1"),
    );
    assert_eq!(unknown.await.unwrap(), SaveStepResult::Stale);
}

pub async fn a_job_has_a_bounded_number_of_steps(f: Fixture) {
    let claim = f.claimed(f.job()).await;
    let id = claim.job().id;
    let save = |name: String| {
        let (store, fence) = (f.store.clone(), claim.fence());
        async move {
            let saved = store.save_step(id, Some(fence), step(&name), json("1"));
            saved.await.unwrap()
        }
    };
    let mut callers = JoinSet::new();
    for number in 0..limits::STEPS_MAX {
        callers.spawn(save(format!("s{number}")));
    }
    for saved in callers.join_all().await {
        assert_eq!(saved, SaveStepResult::Stored(json("1")));
    }
    assert_eq!(save("one-more".to_owned()).await, SaveStepResult::Full);
    assert_eq!(
        save("s0".to_owned()).await,
        SaveStepResult::Stored(json("1"))
    );
}
