//! Events of `tracing` as lines in the logs of attempts.
//!
//! An event finds the log of its attempt in two ways. While a handler is polled, its log is that of
//! the thread ([`AttemptLogger::scope`]); and every span that begins meanwhile keeps the log, so that
//! tasks and threads which carry on such a span log there as well. The span of the attempt alone
//! would not do: a filter such as `RUST_LOG=my_app=info` disables it.
//!
//! Without the feature `layer` nobody reads the log of a thread, and nothing is left of it.

#![deny(missing_docs)]

#[cfg(feature = "layer")]
mod layer;

use std::{cell::RefCell, fmt, pin::pin, sync::Arc};

use steadfast_core::LogLevel;

#[cfg(feature = "layer")]
pub use layer::AttemptLogLayer;

thread_local! {
    /// The log of the handler that this thread runs.
    static CURRENT: RefCell<Option<AttemptLogger>> = const { RefCell::new(None) };
}

type AddLine = dyn Fn(LogLevel, String) + Send + Sync;

/// Adds lines to the log of one attempt.
#[derive(Clone)]
pub struct AttemptLogger(Option<Arc<AddLine>>);

impl fmt::Debug for AttemptLogger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AttemptLogger")
    }
}

impl AttemptLogger {
    /// `add_line` must not emit events itself.
    pub fn new(add_line: impl Fn(LogLevel, String) + Send + Sync + 'static) -> Self {
        match cfg!(feature = "layer") {
            true => Self(Some(Arc::new(add_line))),
            false => Self(None),
        }
    }

    /// Spans that begin in `work`, and events in it, belong to the attempt.
    pub fn enter<T>(&self, work: impl FnOnce() -> T) -> T {
        let _entered = self.0.is_some().then(|| Entered::new(self.clone()));
        work()
    }

    /// The same for a future, whenever it is polled.
    pub async fn scope<F: Future>(self, work: F) -> F::Output {
        let mut work = pin!(work);
        std::future::poll_fn(|context| self.enter(|| work.as_mut().poll(context))).await
    }
}

/// Puts back the log that was there before, after a panic as well.
struct Entered(Option<AttemptLogger>);

impl Entered {
    fn new(logger: AttemptLogger) -> Self {
        Self(CURRENT.replace(Some(logger)))
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.replace(self.0.take());
    }
}
