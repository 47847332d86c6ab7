//! How many handlers may run at once, and when it is worth claiming more jobs.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};

use crate::limits::{BATCH_MAX, ROOM_SHARE, ROOM_TIMEOUT, UNSETTLED_MAX};

pub struct Slots {
    total: usize,
    running: AtomicUsize,
    unsettled: AtomicUsize,
    /// The claimer waits for room.
    is_awaited: AtomicBool,
    changed: Notify,
}

/// The claimer waits for room until this is dropped.
struct RoomWait<'a>(&'a AtomicBool);

impl<'a> RoomWait<'a> {
    fn begin(is_awaited: &'a AtomicBool) -> Self {
        is_awaited.store(true, Ordering::Release);
        Self(is_awaited)
    }
}

impl Drop for RoomWait<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Slots {
    pub fn new(total: usize) -> Self {
        Self {
            total,
            running: AtomicUsize::new(0),
            unsettled: AtomicUsize::new(0),
            is_awaited: AtomicBool::new(false),
            changed: Notify::new(),
        }
    }

    pub fn take(&self, count: usize) {
        self.running.fetch_add(count, Ordering::AcqRel);
    }

    pub fn give_back(&self) {
        self.running.fetch_sub(1, Ordering::AcqRel);
        self.changed.notify_one();
    }

    pub fn running(&self) -> usize {
        self.running.load(Ordering::Acquire)
    }

    /// Sets the number of outcomes that wait for the server.
    pub fn set_unsettled(&self, count: usize) {
        self.unsettled.store(count, Ordering::Release);
        self.changed.notify_one();
    }

    fn free(&self) -> usize {
        if self.unsettled.load(Ordering::Acquire) > UNSETTLED_MAX.max(self.total) {
            return 0;
        }
        self.total.saturating_sub(self.running()).min(BATCH_MAX)
    }

    fn enough(&self) -> usize {
        (self.total / ROOM_SHARE).clamp(1, BATCH_MAX)
    }

    /// Whether the claimer is about to send a request.
    pub fn is_claim_due(&self) -> bool {
        self.is_awaited.load(Ordering::Acquire) && self.free() >= self.enough()
    }

    /// How many slots are free, once it is worth a request: a share of them, or fewer that have
    /// been free for a moment.
    pub async fn room(&self) -> usize {
        let _wait = RoomWait::begin(&self.is_awaited);
        let enough = self.enough();
        let mut deadline = None;
        loop {
            let free = self.free();
            if free >= enough {
                return free;
            }
            if free == 0 {
                deadline = None;
                self.changed.notified().await;
                continue;
            }
            let end = *deadline.get_or_insert_with(|| Instant::now() + ROOM_TIMEOUT);
            if timeout_at(end, self.changed.notified()).await.is_err() {
                deadline = None;
                if self.free() > 0 {
                    return self.free();
                }
            }
        }
    }

    /// Returns when no handler runs.
    pub async fn idle(&self) {
        while self.running() > 0 {
            self.changed.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_share_of_the_slots_is_claimed_at_once_and_a_single_one_after_a_moment() {
        let slots = Slots::new(8);
        assert_eq!(slots.room().await, 8);
        slots.take(8);
        slots.give_back();
        let before = Instant::now();
        assert_eq!(slots.room().await, 1);
        assert_eq!(before.elapsed(), ROOM_TIMEOUT);
        slots.give_back();
        let before = Instant::now();
        assert_eq!(slots.room().await, 2);
        assert_eq!(before.elapsed().as_millis(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_claimed_while_too_many_outcomes_wait() {
        let slots = Slots::new(8);
        slots.set_unsettled(UNSETTLED_MAX + 1);
        let waiting = tokio::time::timeout(std::time::Duration::from_secs(60), slots.room());
        assert!(waiting.await.is_err());
        slots.set_unsettled(UNSETTLED_MAX);
        assert_eq!(slots.room().await, 8);
    }
}
