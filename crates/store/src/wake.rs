//! Wake-ups: how a store tells waiting callers that there may be something to do.
//!
//! A wake-up is a hint and carries nothing. A caller says what it waits for, and a write says what
//! it made due: each job wakes one of the callers that wait for the same things, and none that
//! could not take it, so that thousands of workers may wait on one node. Any number of wake-ups
//! before a caller looks count as one.
//!
//! None is lost. A caller that is not waiting when it happens learns of it when it next waits, and one
//! that leaves passes on what only it may know. So one of those that wait for the same things
//! always looks in time, and the others need not.

mod groups;
mod interest;
#[cfg(feature = "postgres")]
mod message;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{self, Poll},
};

use steadfast_core::Timestamp;

use groups::Groups;
pub use interest::WakeInterest;
pub(crate) use interest::WakeReasons;

/// The sending end, which a store holds.
#[derive(Clone, Default)]
pub struct Waker(Arc<Mutex<Groups>>);

impl Waker {
    /// Wakes all that listen.
    pub fn wake(&self) {
        self.wake_for(&WakeReasons::everything(), Timestamp::EPOCH);
    }

    /// Wakes those whom it concerns, and answers whether callers on other nodes may be concerned:
    /// all that is known of them is what callers here wait for.
    pub(crate) fn wake_for(&self, reasons: &WakeReasons, now: Timestamp) -> bool {
        let mut wakers = Vec::new();
        let concerns_others = lock(&self.0).wake(reasons, now, &mut wakers);
        // Not under the lock, which each of them needs.
        for waker in wakers {
            waker.wake();
        }
        concerns_others
    }

    /// A new receiving end.
    pub fn listen(&self, interest: WakeInterest) -> Wakeups {
        let id = lock(&self.0).join(Arc::new(interest));
        Wakeups {
            groups: self.0.clone(),
            id,
        }
    }
}

fn lock(groups: &Mutex<Groups>) -> MutexGuard<'_, Groups> {
    groups.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Waker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Waker").finish_non_exhaustive()
    }
}

/// The receiving end, which a waiting caller holds. A clone waits for the same.
pub struct Wakeups {
    groups: Arc<Mutex<Groups>>,
    id: u64,
}

impl Wakeups {
    /// Returns when there was a wake-up since the last call; never, once the store is dropped.
    pub async fn next(&mut self) {
        self.next_before(Timestamp::MAX).await;
    }

    /// The same for a caller that looks by itself at this time: jobs for later do not wake it.
    pub async fn next_before(&mut self, until: Timestamp) {
        NextWakeup {
            groups: &self.groups,
            id: self.id,
            until,
        }
        .await;
    }

    /// The caller looks now, by the store's time.
    pub fn mark_look(&self, now: Timestamp) {
        lock(&self.groups).mark_look(self.id, now);
    }

    /// When one of those that wait for the same looked last.
    pub fn last_look(&self) -> Option<Timestamp> {
        lock(&self.groups).last_look(self.id)
    }
}

impl Clone for Wakeups {
    fn clone(&self) -> Self {
        let id = lock(&self.groups).join_as(self.id);
        Self {
            groups: self.groups.clone(),
            id,
        }
    }
}

impl fmt::Debug for Wakeups {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.id;
        formatter
            .debug_struct("Wakeups")
            .field("id", &id)
            .finish_non_exhaustive()
    }
}

impl Drop for Wakeups {
    fn drop(&mut self) {
        let successor = lock(&self.groups).leave(self.id);
        if let Some(successor) = successor {
            successor.wake();
        }
    }
}

struct NextWakeup<'w> {
    groups: &'w Mutex<Groups>,
    id: u64,
    until: Timestamp,
}

impl Future for NextWakeup<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut task::Context<'_>) -> Poll<()> {
        match lock(self.groups).park(self.id, context.waker(), self.until) {
            true => Poll::Pending,
            false => Poll::Ready(()),
        }
    }
}

/// A caller that stops waiting, because its time is up, must not be taken for one that waits.
impl Drop for NextWakeup<'_> {
    fn drop(&mut self) {
        lock(self.groups).unpark(self.id);
    }
}
