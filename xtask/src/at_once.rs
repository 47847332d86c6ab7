//! Several things at the same time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::{panic, thread};

/// Works on all items, some at the same time. The results are in the order of the items.
pub fn map<I: Sync, O: Send>(threads: usize, items: &[I], work: impl Fn(&I) -> O + Sync) -> Vec<O> {
    let next = AtomicUsize::new(0);
    let take = || {
        let mut results = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else {
                return results;
            };
            results.push((index, work(item)));
        }
    };
    let mut results: Vec<(usize, O)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(take)).collect();
        let results = workers.into_iter().map(|worker| worker.join());
        results
            .flat_map(|joined| joined.unwrap_or_else(|panic| panic::resume_unwind(panic)))
            .collect()
    });
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<u32> = (0..100).collect();
        let doubled: Vec<u32> = items.iter().map(|item| item * 2).collect();
        assert_eq!(map(3, &items, |item| item * 2), doubled);
        assert!(map(3, &[], |item: &u32| *item).is_empty());
    }
}
