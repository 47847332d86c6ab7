//! Claims in a response that is not written yet.
//!
//! A handler returns long before its response is on the wire, and hyper does not say whether it
//! ever gets there. So the claims of a response go with its body to the connection, which hands
//! them over when the socket has taken every byte, and gives them back if it never does.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use steadfast_engine::UndeliveredClaims;

tokio::task_local! {
    /// The connection that is served by the current task.
    pub static UNDELIVERED: Arc<ConnectionClaims>;
}

/// The claims of one connection whose response is with the socket, but not written.
#[derive(Default)]
pub struct ConnectionClaims {
    claims: Mutex<Vec<UndeliveredClaims>>,
    has_any: AtomicBool,
}

impl ConnectionClaims {
    fn hold(&self, claims: UndeliveredClaims) {
        let mut held = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        held.push(claims);
        self.has_any.store(true, Ordering::Relaxed);
    }

    /// Whether the next write carries claims.
    pub fn has_any(&self) -> bool {
        self.has_any.load(Ordering::Relaxed)
    }

    /// The socket has taken everything.
    pub fn on_written(&self) {
        if !self.has_any() {
            return;
        }
        self.has_any.store(false, Ordering::Relaxed);
        let mut held = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        for claims in held.drain(..) {
            // The worker knows them by the response.
            drop(claims.take());
        }
    }
}

/// A response body with claims in it.
pub struct ClaimsBody {
    bytes: Bytes,
    claims: Option<UndeliveredClaims>,
}

impl ClaimsBody {
    pub fn new(bytes: Vec<u8>, claims: UndeliveredClaims) -> Self {
        Self {
            bytes: bytes.into(),
            claims: Some(claims),
        }
    }
}

impl Body for ClaimsBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(claims) = self.claims.take() else {
            return Poll::Ready(None);
        };
        let connection = UNDELIVERED.try_with(Arc::clone);
        match connection {
            Ok(connection) => connection.hold(claims),
            // Read by something other than a connection, such as a test of the router.
            Err(_) => drop(claims.take()),
        }
        Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut self.bytes)))))
    }

    fn is_end_stream(&self) -> bool {
        self.claims.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.len() as u64)
    }
}
