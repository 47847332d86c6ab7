//! Whether a store takes writes.

use super::fixture::{Fixture, request};
use crate::JobFilter;

pub async fn a_store_that_takes_writes_says_so_and_is_as_before(f: Fixture) {
    let id = f.enqueue_one(f.job()).await;
    let before = f.read(id).await;
    for _ in 0..3 {
        f.store.check_writable().await.unwrap();
    }
    assert_eq!(f.read(id).await, before);
    let count = f.store.count_jobs(JobFilter::default(), 9).await.unwrap();
    assert_eq!(count.count, 1);
    assert_eq!(f.store.claim(request(9)).await.unwrap().claims.len(), 1);
}
