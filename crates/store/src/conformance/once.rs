//! Steps of a handler that are done once, whatever becomes of the attempt.

use steadfast_core::limits;

use super::fixture::{Fixture, failure, json, step};

pub async fn a_step_that_never_succeeded_left_nothing(f: Fixture) {
    let job = f.running(f.job()).await;
    let recalled = f.store.step_result(job.id, step("charge")).await.unwrap();
    assert_eq!(recalled, None);
}

pub async fn the_first_result_of_a_step_is_kept(f: Fixture) {
    let job = f.running(f.job()).await.id;
    let first = json(r#"{"receipt":  1.0}"#);
    for result in [first.clone(), json("2")] {
        let kept = f
            .store
            .save_step(job, step("charge"), result)
            .await
            .unwrap();
        assert_eq!(kept, first);
        let recalled = f.store.step_result(job, step("charge")).await.unwrap();
        assert_eq!(recalled, Some(first.clone()));
    }
}

pub async fn steps_are_apart_by_job_and_name(f: Fixture) {
    let ids = f.enqueue(f.jobs(2)).await;
    let places = [(ids[0], "a"), (ids[0], "A"), (ids[0], "b"), (ids[1], "a")];
    for (number, (job, name)) in places.into_iter().enumerate() {
        let result = json(&number.to_string());
        f.store.save_step(job, step(name), result).await.unwrap();
    }
    for (number, (job, name)) in places.into_iter().enumerate() {
        let recalled = f.store.step_result(job, step(name)).await.unwrap();
        assert_eq!(recalled, Some(json(&number.to_string())));
    }
    assert_eq!(f.store.step_result(ids[1], step("b")).await.unwrap(), None);
}

pub async fn a_step_outlives_its_attempt(f: Fixture) {
    let claim = f.claimed(f.job()).await;
    let id = claim.job().id;
    let receipt = json(&format!("\"{}\"", "r".repeat(limits::ONCE_BYTES_MAX - 2)));
    f.store
        .save_step(id, step("charge"), receipt.clone())
        .await
        .unwrap();
    let job = f.end(claim, failure("later")).await;
    f.clock.set(job.progress.run_at);
    f.claim_of(id).await;
    let recalled = f.store.step_result(id, step("charge")).await.unwrap();
    assert!(recalled == Some(receipt));
}
