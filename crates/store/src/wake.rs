//! Wake-ups: how a store tells sleepers that there may be something to do.
//!
//! A wake-up is a hint and carries nothing. Any number of them before a sleeper looks count
//! as one, so a burst of a million inserts does not storm anybody.

use tokio::sync::watch;

/// The store's end.
#[derive(Debug)]
pub struct Waker(watch::Sender<()>);

impl Waker {
    pub fn wake(&self) {
        self.0.send_replace(());
    }

    pub fn listen(&self) -> Wakeups {
        Wakeups(self.0.subscribe())
    }
}

impl Default for Waker {
    fn default() -> Self {
        Self(watch::Sender::new(()))
    }
}

/// A sleeper's end.
#[derive(Clone, Debug)]
pub struct Wakeups(watch::Receiver<()>);

impl Wakeups {
    /// Returns when there was a wake-up since the last call; never, once the store is gone.
    pub async fn next(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
