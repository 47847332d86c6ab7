//! Connections that are kept for a moment, in case the next job goes to the same origin.
//!
//! Only for a moment: the longer one lies idle, the likelier the other side closes it just as
//! a request is being written, and that request is then lost to us without an answer.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::time::{Instant, sleep};

use super::{connect::Connection, origin::Origin};
use crate::limits::http::{IDLE_CONNECTIONS_MAX, IDLE_MAX};

#[derive(Default)]
pub struct Pool(Mutex<Idle>);

#[derive(Default)]
struct Idle {
    /// Oldest first.
    connections: VecDeque<(Origin, Connection, Instant)>,
    /// Whether a task runs that closes connections which are idle for too long.
    has_closer: bool,
}

impl Pool {
    /// The connection to `origin` that was used last, if there is one.
    pub fn take(&self, origin: &Origin) -> Option<Connection> {
        let mut idle = self.lock();
        idle.close_old();
        let newest = idle.connections.iter().rposition(|(to, ..)| to == origin)?;
        let (_, connection, _) = idle.connections.remove(newest)?;
        Some(connection)
    }

    pub fn put(self: &Arc<Self>, origin: Origin, connection: Connection) {
        let mut idle = self.lock();
        if idle.connections.len() >= IDLE_CONNECTIONS_MAX {
            idle.connections.pop_front();
        }
        idle.connections
            .push_back((origin, connection, Instant::now()));
        if !idle.has_closer {
            idle.has_closer = true;
            tokio::spawn(close_idle(Arc::downgrade(self)));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Idle> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Idle {
    fn close_old(&mut self) {
        self.connections
            .retain(|(_, connection, since)| since.elapsed() < IDLE_MAX && !connection.is_closed());
    }
}

/// Runs only while there is something to close.
async fn close_idle(pool: std::sync::Weak<Pool>) {
    loop {
        sleep(IDLE_MAX).await;
        let Some(pool) = pool.upgrade() else { return };
        let mut idle = pool.lock();
        idle.close_old();
        if idle.connections.is_empty() {
            idle.has_closer = false;
            return;
        }
    }
}
