//! Connections: accepted, bounded in number and in idle time, and closed in order.

use std::{convert::Infallible, net::SocketAddr, sync::Arc};

use axum::{
    Router,
    body::Body,
    extract::Request,
    response::{IntoResponse as _, Response},
};
use http_body_util::BodyExt as _;
use hyper::{
    body::{Body as _, Incoming},
    server::conn::http1,
    service::{Service as _, service_fn},
};
use hyper_util::{rt::TokioIo, server::graceful::GracefulShutdown, service::TowerToHyperService};
use tokio::net::{TcpListener, TcpStream};

use crate::{
    app::App,
    http::{
        base_path,
        connections::{Admission, Connection, Connections, connection_closed},
        header_timer::HeaderTimer,
        undelivered_claims::{ConnectionClaims, UNDELIVERED},
        write_timeout::WriteTimeout,
    },
    limits,
    serve::check::{check, refuse, set_headers},
};

/// Serves until `stop` is ready; then accepts no connection, and gives responses that are under way
/// a little time.
pub async fn listen(
    listener: TcpListener,
    app: Arc<App>,
    router: Router,
    stop: impl Future<Output = ()> + Send,
) -> std::io::Result<()> {
    let connections = Arc::new(Connections::new(
        app.settings.connections,
        app.settings.connections_per_address,
    ));
    let graceful = GracefulShutdown::new();
    let mut http = http1::Builder::new();
    http.header_read_timeout(limits::HEADER_TIME_MAX);
    http.max_buf_size(limits::HEAD_BYTES_MAX);
    let router = TowerToHyperService::new(router);
    tokio::pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = accept(&listener, &connections) => accepted,
        };
        let Some((socket, connection)) = accepted else {
            continue;
        };
        let service = service_fn({
            let (app, router, connection) = (app.clone(), router.clone(), connection.clone());
            move |request| answer(app.clone(), router.clone(), connection.clone(), request)
        });
        http.timer(HeaderTimer::new(limits::HEADER_TIME_MAX));
        let undelivered = Arc::new(ConnectionClaims::default());
        let socket = TokioIo::new(WriteTimeout::new(socket, undelivered.clone()));
        let served = graceful.watch(http.serve_connection(socket, service));
        let connections = connections.clone();
        let served = async move {
            tokio::select! {
                served = served => if let Err(error) = served {
                    tracing::debug!(%error, "a connection was closed early");
                },
                () = connection.closing.notified() => {}
            }
            connections.remove(&connection);
        };
        tokio::spawn(UNDELIVERED.scope(undelivered, served));
    }
    drop(listener);
    let _elapsed = tokio::time::timeout(limits::LAST_RESPONSES_TIME_MAX, graceful.shutdown()).await;
    Ok(())
}

/// The next connection for which there is room; `None` if there is none for this client.
async fn accept(
    listener: &TcpListener,
    connections: &Connections,
) -> Option<(TcpStream, Arc<Connection>)> {
    let (socket, address) = match listener.accept().await {
        Ok(accepted) => accepted,
        Err(error) => {
            tracing::warn!(%error, "cannot accept a connection");
            tokio::time::sleep(limits::ACCEPT_PAUSE).await;
            return None;
        }
    };
    if let Err(error) = socket.set_nodelay(true) {
        tracing::debug!(%error, "cannot disable Nagle's algorithm");
    }
    let connection = make_room(connections, address).await?;
    Some((socket, connection))
}

/// Waits until there is room. Others wait in the line of the listener meanwhile.
async fn make_room(connections: &Connections, address: SocketAddr) -> Option<Arc<Connection>> {
    loop {
        match connections.admit(address.ip()) {
            Admission::Admitted(connection) => return Some(connection),
            Admission::Refused => return None,
            Admission::Full => {
                // A request that ends leaves its connection open and idle, which is not signalled.
                let ended = connections.ended.notified();
                let _either = tokio::time::timeout(limits::ACCEPT_PAUSE, ended).await;
            }
        }
    }
}

/// Answers a request, unless it should not have been sent here.
async fn answer(
    app: Arc<App>,
    router: TowerToHyperService<Router>,
    connection: Arc<Connection>,
    mut request: Request<Incoming>,
) -> Result<Response, Infallible> {
    let Some(under_way) = connection.begin() else {
        return Ok(connection_closed().into_response());
    };
    let base_path = &app.settings.base_path;
    base_path::strip(request.uri_mut(), base_path);
    let mut response = match check(&app, &request) {
        Ok(()) => {
            request.extensions_mut().insert(connection);
            router.call(request).await?
        }
        Err(problem) => {
            let refusal = refuse(request.uri().path(), problem);
            base_path::move_response(refusal, base_path).await
        }
    };
    set_headers(response.headers_mut());
    if response.body().size_hint().exact().is_some() {
        return Ok(response);
    }
    // A stream is under way until it ends.
    Ok(response.map(|body| {
        Body::new(body.map_frame(move |frame| {
            let _held = &under_way;
            frame
        }))
    }))
}
