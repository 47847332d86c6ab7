//! Whether the store takes writes, asked once in a while: each answer is a durable write, and
//! anyone may ask.

use steadfast_store::Store;
use tokio::{
    sync::Mutex,
    time::{Instant, timeout},
};

use crate::limits;

/// The last answer.
#[derive(Default)]
pub struct StoreCheck(Mutex<Option<(Instant, StoreCheckResult)>>);

/// Why the store is currently unusable.
type StoreCheckResult = Result<(), &'static str>;

impl StoreCheck {
    /// The last answer, or a new one if that is old.
    pub async fn run(&self, store: &dyn Store) -> StoreCheckResult {
        // Callers that come together wait for one answer, which comes within a known time.
        let mut last = self.0.lock().await;
        if let Some((at, result)) = *last
            && at.elapsed() < limits::READY_CHECK_EVERY
        {
            return result;
        }
        let result = match timeout(limits::READY_TIME_MAX, store.check_writable()).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => {
                tracing::warn!(%error, "the store failed");
                Err("the store does not accept writes")
            }
            Err(_) => Err("the store did not respond in time"),
        };
        *last = Some((Instant::now(), result));
        result
    }
}
