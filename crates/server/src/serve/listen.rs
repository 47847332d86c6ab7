//! Connections: accepted, bounded in number and in idle time, and closed in order.

use std::{convert::Infallible, net::SocketAddr, sync::Arc};

use axum::{
    Router,
    body::Body,
    extract::Request,
    http::{HeaderValue, Version, header},
    response::{IntoResponse as _, Response},
};
use http_body_util::BodyExt as _;
use hyper::{
    body::{Body as _, Incoming},
    service::Service as _,
};
use hyper_util::{
    server::graceful::{GracefulShutdown, Watcher},
    service::TowerToHyperService,
};
use tokio::net::{TcpListener, TcpStream};

use super::protocol::{self, Protocol};
use crate::{
    app::App,
    http::{
        base_path,
        connections::{Admission, Connection, Connections, connection_closed},
        undelivered_claims::{ConnectionClaims, UNDELIVERED},
        write_timeout::WriteTimeout,
    },
    limits,
    serve::{
        check::{check, refuse, set_headers},
        listeners::{Listener, Listeners},
    },
};

/// What all connections share.
struct Server {
    app: Arc<App>,
    router: TowerToHyperService<Router>,
    connections: Arc<Connections>,
}

/// Serves until `stop` is ready; then accepts no connection, and gives responses that are under way
/// a little time.
pub async fn listen(
    listeners: Listeners,
    app: Arc<App>,
    router: Router,
    stop: impl Future<Output = ()> + Send,
) -> std::io::Result<()> {
    let server = Arc::new(Server {
        connections: Arc::new(Connections::new(
            app.settings.connections,
            app.settings.connections_per_address,
        )),
        router: TowerToHyperService::new(router),
        app,
    });
    let graceful = GracefulShutdown::new();
    let accepting = listeners.0.into_iter();
    let accepting = accepting.map(|listener| accept_all(listener, server.clone(), &graceful));
    tokio::select! {
        () = stop => {}
        _ = futures_util::future::join_all(accepting) => {}
    }
    let _elapsed = tokio::time::timeout(limits::LAST_RESPONSES_TIME_MAX, graceful.shutdown()).await;
    Ok(())
}

/// Accepts connections for as long as it is polled. Nothing that a client does delays the next one:
/// its handshake is a part of its own task.
async fn accept_all(listener: Listener, server: Arc<Server>, graceful: &GracefulShutdown) {
    let Listener { socket, tls } = listener;
    let closing = server.app.closing.clone();
    let protocol = Protocol::new(tls.as_ref().map(|tls| tls.config()), closing);
    loop {
        if let Some((socket, connection)) =
            accept(&socket, &server.connections, protocol.is_tls()).await
        {
            let served = serve(
                protocol.clone(),
                socket,
                connection,
                server.clone(),
                graceful.watcher(),
            );
            let undelivered = Arc::new(ConnectionClaims::default());
            tokio::spawn(UNDELIVERED.scope(undelivered, served));
        }
    }
}

/// Serves one connection to its end.
async fn serve(
    protocol: Protocol,
    socket: TcpStream,
    connection: Arc<Connection>,
    server: Arc<Server>,
    watcher: Watcher,
) {
    let undelivered = UNDELIVERED.get();
    let socket = WriteTimeout::new(socket, undelivered);
    let (app, router) = (server.app.clone(), server.router.clone());
    let of_request = connection.clone();
    let answer = move |request| answer(app.clone(), router.clone(), of_request.clone(), request);
    let served = protocol::serve(protocol, socket, answer, &connection, watcher);
    tokio::select! {
        served = served => if let Err(error) = served {
            tracing::debug!(%error, "a connection was closed early");
        },
        () = connection.closing.notified() => {}
    }
    server.connections.remove(&connection);
}

/// The next connection for which there is room; `None` if there is none for this client.
async fn accept(
    listener: &TcpListener,
    connections: &Connections,
    is_tls: bool,
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
    let connection = make_room(connections, address, is_tls).await?;
    Some((socket, connection))
}

/// Waits until there is room. Others wait in the line of the listener meanwhile.
async fn make_room(
    connections: &Connections,
    address: SocketAddr,
    is_tls: bool,
) -> Option<Arc<Connection>> {
    loop {
        match connections.admit(address.ip(), is_tls) {
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
    if request.version() == Version::HTTP_2 {
        set_host(&mut request);
    }
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

/// HTTP/2 names the host in the address of the request, where HTTP/1 has a header. A header that
/// says something else stays beside it, and two hosts are refused.
fn set_host(request: &mut Request<Incoming>) {
    let Some(authority) = request.uri().authority() else {
        return;
    };
    let Ok(host) = HeaderValue::from_str(authority.as_str()) else {
        return;
    };
    let is_same = request.headers().get(header::HOST) == Some(&host);
    if !is_same {
        request.headers_mut().append(header::HOST, host);
    }
}
