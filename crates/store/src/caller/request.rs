//! For whom the store is asked, so that callers share what it has: readers, connections, the writer.
//!
//! A server serves each request within [`share_store`] and names the caller once it knows it. What is
//! asked outside of a request is asked by the node itself, which waits for no caller.
//!
//! A request also has a place among those that a node handles, which it gives up while it waits for
//! something else than the store: for jobs, or for the rest of its body.

use std::{cell::RefCell, future::poll_fn, pin::pin, sync::Arc, task::Poll};

use crate::{
    caller::StoreCaller,
    fair_gate::{Admission, FairGate, QueueFull},
};

tokio::task_local! {
    static REQUEST: RefCell<Request>;
}

/// What is known of the current request.
#[derive(Default)]
struct Request {
    caller: Option<StoreCaller>,
    /// Its place among those that the node handles.
    place: Option<Place>,
}

struct Place {
    gate: Arc<FairGate>,
    weight: usize,
    /// None while it waits.
    admission: Option<Admission>,
}

impl StoreCaller {
    /// From now on, this request is that of this caller. Outside of [`share_store`] nothing happens.
    pub fn enter(self) {
        let _outside = REQUEST.try_with(|request| request.borrow_mut().caller = Some(self));
    }

    /// The same, and it has a place among those that this gate lets in. Refused if that many
    /// requests of the caller wait for one. A request that has a place keeps it.
    pub async fn enter_through(
        self,
        gate: &Arc<FairGate>,
        weight: usize,
        waiting_max: usize,
    ) -> Result<(), QueueFull> {
        let has_place = REQUEST.try_with(|request| request.borrow().place.is_some());
        let place = match has_place {
            Ok(false) => Some(Place {
                admission: gate
                    .enter_or_refuse(self.clone(), weight, waiting_max)
                    .await?,
                gate: gate.clone(),
                weight,
            }),
            _ => None,
        };
        let _outside = REQUEST.try_with(|request| {
            let mut request = request.borrow_mut();
            request.caller = Some(self);
            if place.is_some() {
                request.place = place;
            }
        });
        Ok(())
    }

    /// The caller of the current request, as the store divides callers.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn current() -> Option<Self> {
        Self::of_request().map(|caller| Self {
            reads: false,
            ..caller
        })
    }

    fn of_request() -> Option<Self> {
        let caller = REQUEST.try_with(|request| request.borrow().caller.clone());
        caller.ok().flatten()
    }
}

/// Serves a request: what it asks of the store counts for its caller.
pub async fn share_store<F: Future>(request: F) -> F::Output {
    REQUEST.scope(RefCell::default(), request).await
}

/// Waits for something else than the store. If that takes a while, the request gives up its place,
/// and waits for another one afterwards.
/// Of waits within or beside each other, the first does so: the others have no place to give up, and
/// must not take one that the first would then wait for.
pub async fn wait_outside<F: Future>(wait: F) -> F::Output {
    let mut wait = pin!(wait);
    let begun = poll_fn(|context| match wait.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Poll::Ready(None),
    });
    if let Some(output) = begun.await {
        return output;
    }
    let left = REQUEST.try_with(|request| {
        let mut request = request.borrow_mut();
        let place = request.place.as_mut()?;
        let admission = place.admission.take()?;
        Some((place.gate.clone(), place.weight, admission))
    });
    let Some((gate, weight, admission)) = left.ok().flatten() else {
        return wait.await;
    };
    drop(admission);
    let output = wait.await;
    let admission = gate.enter(StoreCaller::of_request(), weight).await;
    let _inside = REQUEST.try_with(|request| {
        if let Some(place) = request.borrow_mut().place.as_mut() {
            place.admission = admission;
        }
    });
    output
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use steadfast_core::Tenant;

    use super::*;

    #[tokio::test]
    async fn a_request_that_waits_gives_up_its_place() {
        let gate = FairGate::new(1, 1);
        let caller = StoreCaller {
            tenant: Tenant::new("a").ok(),
            works: false,
            reads: false,
        };
        let is_free = || gate.enter(Some(caller.clone()), 1).now_or_never().is_some();
        share_store(async {
            caller.clone().enter_through(&gate, 1, 8).await.unwrap();
            let again = caller.clone().enter_through(&gate, 1, 8).now_or_never();
            assert!(again.is_some(), "it has a place already");
            assert!(!is_free());
            let at_once = wait_outside(async { is_free() }).await;
            assert!(!at_once, "it did not wait");
            let waited = async {
                tokio::task::yield_now().await;
                is_free()
            };
            assert!(wait_outside(waited).await);
            // A wait within a wait, and beside one.
            let within = wait_outside(wait_outside(async {
                tokio::task::yield_now().await;
                is_free()
            }));
            let beside = wait_outside(tokio::task::yield_now());
            let (was_free, ()) = futures_util::future::join(within, beside).await;
            assert!(was_free);
            assert!(!is_free(), "it has a place again");
        })
        .await;
        assert!(is_free());
    }
}
