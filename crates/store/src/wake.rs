//! Wake-ups: how a store tells waiting fetchers that there may be something to do.
//!
//! A wake-up is a hint and carries nothing. Any number of them before a fetcher looks count as
//! one, so a burst of a million inserts wakes it once.

use tokio::sync::watch;

/// The sending end, which a store holds.
#[derive(Debug)]
pub struct Waker(watch::Sender<()>);

impl Waker {
    /// Wakes all that listen.
    pub fn wake(&self) {
        self.0.send_replace(());
    }

    /// A new receiving end.
    pub fn listen(&self) -> Wakeups {
        Wakeups(self.0.subscribe())
    }
}

impl Default for Waker {
    fn default() -> Self {
        Self(watch::Sender::new(()))
    }
}

/// The receiving end, which a waiting fetcher holds.
#[derive(Clone, Debug)]
pub struct Wakeups(watch::Receiver<()>);

impl Wakeups {
    /// Returns when there was a wake-up since the last call; never, once the store is dropped.
    pub async fn next(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
