//! Connections: taken in, bounded in number and in patience, and let go in order.

use std::{sync::Arc, time::Duration};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{rt::TokioIo, server::graceful::GracefulShutdown, service::TowerToHyperService};
use tokio::{net::TcpListener, sync::Semaphore};

use crate::{alarm::Alarm, limits, patient::Patient};

/// Serves until `stop` is ready; then takes nobody in, and gives answers that are under way a
/// little time.
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
        let place = tokio::select! {
            () = &mut stop => break,
            place = connections.clone().acquire_owned() => place,
        };
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => accepted,
        };
        let socket = match accepted {
            Ok((socket, _)) => socket,
            Err(error) => {
                // Out of file descriptors, most likely: others must go first.
                tracing::warn!(%error, "cannot take a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        if let Err(error) = socket.set_nodelay(true) {
            tracing::debug!(%error, "a connection keeps its delays");
        }
        let service = TowerToHyperService::new(router.clone());
        http.timer(Alarm::new(limits::HEADER_TIME_MAX));
        let connection =
            graceful.watch(http.serve_connection(TokioIo::new(Patient::new(socket)), service));
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended early");
            }
            drop(place);
        });
    }
    drop(listener);
    let _elapsed = tokio::time::timeout(limits::LAST_ANSWERS_TIME_MAX, graceful.shutdown()).await;
    Ok(())
}
