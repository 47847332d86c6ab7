//! Claims in a response that is not written yet.
//!
//! A handler returns long before its response is on the wire, and hyper does not say whether it
//! ever gets there. So the claims of a response go with its body to the connection, which hands
//! them over when the socket has taken every byte, and gives them back if it never does.
//!
//! Over HTTP/2 a body waits for the window of its stream, while the responses of other streams are
//! written. It is asked for its end only when the window has room for more than all of it, so the
//! claims stay with the body until then.

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
    is_http2: AtomicBool,
}

impl ConnectionClaims {
    /// Its responses wait for the windows of their streams.
    pub fn set_http2(&self) {
        self.is_http2.store(true, Ordering::Relaxed);
    }

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
    /// Until they are handed to the connection.
    bytes: Option<Bytes>,
    claims: Option<UndeliveredClaims>,
}

impl ClaimsBody {
    pub fn new(bytes: Vec<u8>, claims: UndeliveredClaims) -> Self {
        Self {
            bytes: Some(bytes.into()),
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
        let connection = UNDELIVERED.try_with(Arc::clone).ok();
        let is_http2 = connection
            .as_ref()
            .is_some_and(|it| it.is_http2.load(Ordering::Relaxed));
        let bytes = self.bytes.take();
        if (bytes.is_none() || !is_http2)
            && let Some(claims) = self.claims.take()
        {
            match connection {
                Some(connection) => connection.hold(claims),
                // Read by something other than a connection, such as a test of the router.
                None => drop(claims.take()),
            }
        }
        Poll::Ready(bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.claims.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        let bytes = self.bytes.as_ref().map_or(0, Bytes::len);
        SizeHint::with_exact(bytes as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http_body_util::BodyExt as _;
    use steadfast_core::{JobState, Payload, WorkerName};
    use steadfast_engine::{Engine, JobRequest};
    use steadfast_store::{ClaimRequest, MemoryStore};

    use super::*;

    /// A body with one claim, which is asked for its first frame only if `is_http2`, or else for all.
    async fn state_after_first_frame(is_http2: bool) -> JobState {
        let engine = Engine::builder(MemoryStore::default()).start().unwrap();
        let client = engine.client();
        let request = JobRequest::new("mail", Payload::default());
        let id = client.enqueue(request).await.unwrap();
        let request = ClaimRequest::new(WorkerName::new("w1").unwrap(), 1);
        let claims = engine.node().claim(request, Duration::ZERO).await.unwrap();
        let connection = Arc::new(ConnectionClaims::default());
        if is_http2 {
            connection.set_http2();
        }
        let mut body = ClaimsBody::new(b"claims".to_vec(), claims);
        let first = UNDELIVERED.scope(connection.clone(), async {
            let frame = body.frame().await.unwrap().unwrap();
            assert_eq!(frame.into_data().unwrap(), "claims");
            assert_eq!(body.is_end_stream(), !is_http2);
        });
        first.await;
        // Another response of the connection is written, and this stream is reset.
        connection.on_written();
        drop(body);
        engine.stop().await;
        client.job(id).await.unwrap().unwrap().progress.state
    }

    #[tokio::test]
    async fn over_http2_claims_stay_with_their_body_until_its_window_has_room() {
        assert_eq!(state_after_first_frame(true).await, JobState::Waiting);
        assert_eq!(state_after_first_frame(false).await, JobState::Running);
    }
}
