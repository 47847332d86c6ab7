//! Whether the collector answers.

use std::{
    fmt::Display,
    sync::atomic::{AtomicBool, Ordering},
};

/// Logs once when the collector stops answering, and once when it answers again.
#[derive(Debug, Default)]
pub struct Reach {
    is_away: AtomicBool,
}

impl Reach {
    /// Notes how a request to the collector ended.
    pub fn note(&self, signal: &str, endpoint: &dyn Display, result: &Result<(), String>) {
        match result {
            Err(error) if !self.is_away.swap(true, Ordering::Relaxed) => {
                tracing::warn!(
                    %error,
                    "cannot send {signal} to {endpoint}; they are dropped until it accepts them again"
                );
            }
            Ok(()) if self.is_away.swap(false, Ordering::Relaxed) => {
                tracing::info!("{endpoint} accepts {signal} again");
            }
            _ => {}
        }
    }
}
