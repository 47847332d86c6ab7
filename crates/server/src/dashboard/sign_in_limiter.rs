//! How many wrong keys are looked at together.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};

use crate::limits;

/// Bounds how many wrong keys wait for their answer at the same time.
pub struct SignInLimiter(Arc<Semaphore>);

impl Default for SignInLimiter {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(limits::WRONG_KEYS_MAX)))
    }
}

impl SignInLimiter {
    /// A permit for one sign-in with a wrong key, unless too many are waiting.
    pub fn try_acquire(&self) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.0.clone().try_acquire_owned()
    }
}
