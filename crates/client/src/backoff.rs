//! Pauses between tries, while the server is away.

use std::{
    hash::{BuildHasher as _, RandomState},
    time::Duration,
};

use crate::{
    error::ClientError,
    limits::{BACKOFF_MAX, BACKOFF_MIN},
};

/// Twice as long each time, up to a limit, and never the same for two workers.
#[derive(Default)]
pub struct Backoff {
    failures: u32,
}

impl Backoff {
    pub fn reset(&mut self) {
        self.failures = 0;
    }

    /// The pause before the next try: between half of its length and all of it.
    pub fn next(&mut self) -> Duration {
        let longest = BACKOFF_MIN * 2_u32.saturating_pow(self.failures.min(16));
        let longest = longest.min(BACKOFF_MAX);
        self.failures += 1;
        longest.mul_f64(0.5 + 0.5 * random_share())
    }

    /// Waits before the next try, at least as long as the server asks for, up to the longest pause.
    pub async fn pause_after(&mut self, error: Option<&ClientError>) {
        let asked = error.and_then(ClientError::retry_after).unwrap_or_default();
        tokio::time::sleep(self.next().max(asked.min(BACKOFF_MAX))).await;
    }
}

/// From 0 to 1.
fn random_share() -> f64 {
    f64::from(random_number()) / f64::from(u32::MAX)
}

/// The standard library seeds its hashers at random.
pub fn random_number() -> u32 {
    let bits = RandomState::new().hash_one(0_u8) >> 32;
    u32::try_from(bits).unwrap_or(u32::MAX)
}

/// A key that no other process has.
pub fn random_key() -> String {
    let half = || RandomState::new().hash_one(0_u8);
    format!("{:016x}{:016x}", half(), half())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_the_limit_and_begin_again_after_a_success() {
        let mut backoff = Backoff::default();
        let first = backoff.next();
        assert!(first >= BACKOFF_MIN / 2 && first <= BACKOFF_MIN);
        let pauses: Vec<Duration> = (0..40).map(|_| backoff.next()).collect();
        assert!(pauses.iter().all(|pause| *pause <= BACKOFF_MAX));
        assert!(pauses[39] >= BACKOFF_MAX / 2);
        backoff.reset();
        assert!(backoff.next() <= BACKOFF_MIN);
    }
}
