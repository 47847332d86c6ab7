//! Connections that are kept for a moment, in case the next job goes to the same place.
//!
//! Only for a moment: the longer one lies idle, the likelier the other side closes it just as
//! a request is being written, and that request is then lost to us without an answer.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::time::{Instant, sleep};

use super::connect::{Line, Origin};
use crate::limits::http::{IDLE_LINES_MAX, IDLE_MAX};

#[derive(Default)]
pub struct Pool(Mutex<Idle>);

#[derive(Default)]
struct Idle {
    /// Oldest first.
    lines: VecDeque<(Origin, Line, Instant)>,
    /// Someone is there to close the lines that nobody takes.
    is_reaped: bool,
}

impl Pool {
    /// The line to `origin` that was used last, if there is one.
    pub fn take(&self, origin: &Origin) -> Option<Line> {
        let mut idle = self.lock();
        idle.close_old();
        let newest = idle
            .lines
            .iter()
            .rposition(|(to, line, _)| to == origin && !line.is_closed());
        newest
            .and_then(|index| idle.lines.remove(index))
            .map(|(_, line, _)| line)
    }

    pub fn put(self: &Arc<Self>, origin: Origin, line: Line) {
        let mut idle = self.lock();
        if idle.lines.len() >= IDLE_LINES_MAX {
            idle.lines.pop_front();
        }
        idle.lines.push_back((origin, line, Instant::now()));
        if !idle.is_reaped {
            idle.is_reaped = true;
            tokio::spawn(reap(Arc::downgrade(self)));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Idle> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Idle {
    fn close_old(&mut self) {
        self.lines
            .retain(|(_, line, since)| since.elapsed() < IDLE_MAX && !line.is_closed());
    }
}

/// Runs only while there is something to close.
async fn reap(pool: std::sync::Weak<Pool>) {
    loop {
        sleep(IDLE_MAX).await;
        let Some(pool) = pool.upgrade() else { return };
        let mut idle = pool.lock();
        idle.close_old();
        if idle.lines.is_empty() {
            idle.is_reaped = false;
            return;
        }
    }
}
