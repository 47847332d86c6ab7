//! The protocol of a connection: HTTP/1, or behind TLS what the client chooses.

use std::{convert::Infallible, error::Error, sync::Arc};

use axum::{extract::Request, response::Response};
use hyper::{
    body::Incoming,
    rt::Executor,
    server::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::Watcher,
};
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::{
    http::{
        connections::Connection,
        header_timer::HeaderTimer,
        undelivered_claims::{ConnectionClaims, UNDELIVERED},
        write_timeout::WriteTimeout,
    },
    limits,
};

/// How the connections of a listener are served.
#[derive(Clone)]
pub struct Protocol {
    http1: http1::Builder,
    tls: Option<TlsAcceptor>,
    /// The server is being stopped.
    closing: CancellationToken,
}

impl Protocol {
    pub fn new(tls: Option<Arc<ServerConfig>>, closing: CancellationToken) -> Self {
        let mut http1 = http1::Builder::new();
        http1.header_read_timeout(limits::HEADER_TIME_MAX);
        http1.max_buf_size(limits::HEAD_BYTES_MAX);
        Self {
            http1,
            tls: tls.map(TlsAcceptor::from),
            closing,
        }
    }

    pub fn is_tls(&self) -> bool {
        self.tls.is_some()
    }
}

/// Serves a connection to its end.
pub async fn serve<F>(
    protocol: Protocol,
    socket: WriteTimeout,
    answer: impl Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    connection: &Connection,
    watcher: Watcher,
) -> Result<(), Box<dyn Error + Send + Sync>>
where
    F: Future<Output = Result<Response, Infallible>> + Send + 'static,
{
    let Protocol {
        http1,
        tls,
        closing,
    } = protocol;
    let Some(tls) = tls else {
        return serve_http1(http1, socket, answer, watcher).await;
    };
    let handshake = tls.accept(socket);
    let handshake = tokio::time::timeout(limits::TLS_HANDSHAKE_TIME_MAX, handshake);
    let Some(stream) = closing.run_until_cancelled(handshake).await else {
        return Ok(());
    };
    let stream = stream??;
    let (_, session) = stream.get_ref();
    if session.alpn_protocol() != Some(b"h2") {
        return serve_http1(http1, stream, answer, watcher).await;
    }
    let undelivered = UNDELIVERED.get();
    undelivered.set_http2();
    let mut http2 = http2::Builder::new(StreamExecutor(undelivered));
    http2
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits::HTTP2_STREAMS_MAX)
        .max_header_list_size(limits::HTTP2_HEAD_BYTES_MAX)
        .max_send_buf_size(limits::HTTP2_SEND_BYTES_MAX)
        .keep_alive_interval(limits::HTTP2_PING_EVERY)
        .keep_alive_timeout(limits::HEADER_TIME_MAX);
    let served = watcher.watch(http2.serve_connection(TokioIo::new(stream), service_fn(answer)));
    tokio::select! {
        served = served => Ok(served?),
        () = connection.idle(limits::HTTP2_IDLE_MAX) => Ok(()),
    }
}

async fn serve_http1<F>(
    mut http1: http1::Builder,
    socket: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    answer: impl Fn(Request<Incoming>) -> F,
    watcher: Watcher,
) -> Result<(), Box<dyn Error + Send + Sync>>
where
    F: Future<Output = Result<Response, Infallible>>,
{
    http1.timer(HeaderTimer::new(limits::HEADER_TIME_MAX));
    let served = http1.serve_connection(TokioIo::new(socket), service_fn(answer));
    Ok(watcher.watch(served).await?)
}

/// Runs the requests of an HTTP/2 connection as tasks that know their connection.
#[derive(Clone)]
struct StreamExecutor(Arc<ConnectionClaims>);

impl<F> Executor<F> for StreamExecutor
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, stream: F) {
        tokio::spawn(UNDELIVERED.scope(self.0.clone(), stream));
    }
}
