//! Connections: accepted, bounded in number and in idle time, and closed in order.

use std::sync::Arc;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{rt::TokioIo, server::graceful::GracefulShutdown, service::TowerToHyperService};
use tokio::{net::TcpListener, sync::Semaphore};

use crate::{header_timer::HeaderTimer, limits, write_timeout::WriteTimeout};

/// Serves until `stop` is ready; then accepts no connection, and gives responses that are under way
/// a little time.
pub async fn listen(
    listener: TcpListener,
    router: Router,
    stop: impl Future<Output = ()> + Send,
) -> std::io::Result<()> {
    let connections = Arc::new(Semaphore::new(limits::CONNECTIONS_MAX));
    let graceful = GracefulShutdown::new();
    let mut http = http1::Builder::new();
    http.header_read_timeout(limits::HEADER_TIME_MAX);
    tokio::pin!(stop);
    loop {
        let permit = tokio::select! {
            () = &mut stop => break,
            permit = connections.clone().acquire_owned() => permit,
        };
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => accepted,
        };
        let socket = match accepted {
            Ok((socket, _)) => socket,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(limits::ACCEPT_PAUSE).await;
                continue;
            }
        };
        if let Err(error) = socket.set_nodelay(true) {
            tracing::debug!(%error, "cannot send small packets at once");
        }
        let service = TowerToHyperService::new(router.clone());
        http.timer(HeaderTimer::new(limits::HEADER_TIME_MAX));
        let socket = TokioIo::new(WriteTimeout::new(socket));
        let connection = graceful.watch(http.serve_connection(socket, service));
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended early");
            }
            drop(permit);
        });
    }
    drop(listener);
    let _elapsed = tokio::time::timeout(limits::LAST_RESPONSES_TIME_MAX, graceful.shutdown()).await;
    Ok(())
}
