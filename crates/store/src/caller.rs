//! For whom the store is asked, so that callers share what it has: readers, connections, the writer.
//!
//! A server serves each request within [`share_store`] and names the caller once it knows it. What is
//! asked outside of a request is asked by the node itself, which waits for no caller.

use std::cell::RefCell;

use steadfast_core::Tenant;

tokio::task_local! {
    static CALLER: RefCell<Option<StoreCaller>>;
}

/// Who asks the store.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StoreCaller {
    /// The tenant of the caller; `None` if it may see all.
    pub tenant: Option<Tenant>,
    /// Whether it claims, renews or settles: no list may delay that, not even one of its own.
    pub works: bool,
}

impl StoreCaller {
    /// From now on, this request is that of this caller. Outside of [`share_store`] nothing happens.
    pub fn enter(self) {
        let _outside = CALLER.try_with(|caller| caller.replace(Some(self)));
    }

    /// The caller of the current request.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn current() -> Option<Self> {
        CALLER
            .try_with(|caller| caller.borrow().clone())
            .ok()
            .flatten()
    }
}

/// Serves a request: what it asks of the store counts for its caller.
pub async fn share_store<F: Future>(request: F) -> F::Output {
    CALLER.scope(RefCell::default(), request).await
}
