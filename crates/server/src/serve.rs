//! A node's HTTP side, behind a socket of its own or inside another program's router.

mod check;
mod listen;
mod listeners;
mod protocol;

use std::{net::SocketAddr, sync::Arc};

use axum::{
    Router,
    extract::{Request, State},
    middleware::{self, Next},
    response::Response,
};

pub use self::listeners::Listeners;
use crate::{
    app::App,
    http::{base_path, origin::OwnHosts},
    monitoring::push,
    router::router,
    tls::Tls,
};

/// Serves a node's HTTP side until `stop` is ready.
pub async fn serve(
    listeners: impl Into<Listeners>,
    app: App,
    stop: impl Future<Output = ()> + Send,
) -> std::io::Result<()> {
    let mut app = app;
    let listeners = listeners.into();
    app.own_hosts = OwnHosts::new(&listeners.addresses()?, &app.settings.own_names());
    let app = Arc::new(app);
    let closing = app.closing.clone();
    let certificates = listeners.certificates();
    let background = tokio::spawn(run_background(app.clone(), certificates));
    let router = router(app.clone());
    let outcome = listen::listen(listeners, app, router, async {
        stop.await;
        closing.cancel();
    })
    .await;
    background.abort();
    outcome
}

/// A [`Router`] with the API and the dashboard of a node, to nest anywhere in a router of your own:
///
/// ```no_run
/// # async fn example(
/// #     store: std::sync::Arc<dyn steadfast_store::Store>,
/// # ) -> Result<axum::Router, Box<dyn std::error::Error>> {
/// use std::sync::Arc;
///
/// use steadfast_engine::Engine;
/// use steadfast_server::{App, Metrics, Settings, mount};
///
/// let metrics = Arc::new(Metrics::default());
/// let engine = Engine::builder(store).observer(metrics.clone()).start()?;
/// let app = App::new(engine.client(), engine.node(), metrics, Settings::default());
/// let router: axum::Router = axum::Router::new().nest("/steadfast", mount(app));
/// # Ok(router)
/// # }
/// ```
///
/// The engine reports to the same metrics: without it as an observer, `/metrics` has no attempts and
/// the overview no lateness.
///
/// It needs an API key, or [`Settings::open`](crate::Settings::open) where your own program decides
/// who comes that far. What [`serve`](serve) does for connections, such as closing idle ones,
/// is left to your program. Call it inside of a Tokio runtime: sessions and keys are read in the
/// background until the router is dropped.
pub fn mount(mut app: App) -> Router {
    let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
    app.own_hosts = OwnHosts::new(&[(any_port, false)], &app.settings.own_names());
    let app = Arc::new(app);
    let background = tokio::spawn(run_background(app.clone(), Vec::new()));
    let ends_with_router = Arc::new(EndsBackground {
        app: app.clone(),
        task: background.abort_handle(),
    });
    let check = middleware::from_fn_with_state(ends_with_router, check);
    router(app).layer(check)
}

struct EndsBackground {
    app: Arc<App>,
    task: tokio::task::AbortHandle,
}

impl Drop for EndsBackground {
    fn drop(&mut self) {
        self.app.closing.cancel();
        self.task.abort();
    }
}

async fn check(
    State(mounted): State<Arc<EndsBackground>>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = match check::check(&mounted.app, &request) {
        Ok(()) => next.run(request).await,
        Err(problem) => {
            let prefix = base_path::prefix_of(&mounted.app.settings.base_path, &request);
            let refusal = check::refuse(request.uri().path(), problem);
            base_path::move_response(refusal, &prefix).await
        }
    };
    check::set_headers(response.headers_mut());
    response
}

/// The background tasks, until the server closes.
async fn run_background(app: Arc<App>, certificates: Vec<Arc<Tls>>) {
    let App {
        client,
        node,
        keys,
        sessions,
        job_waits,
        workers,
        closing,
        ..
    } = &*app;
    let store = node.store();
    let workers = workers.run(&*store);
    let waits = job_waits.run(client, node);
    let push = async {
        if let Some(push) = &app.settings.metrics_push {
            push::run(&app, push, closing).await;
        }
    };
    let certificates = certificates.iter().map(|it| it.watch(node, closing));
    tokio::join!(
        futures_util::future::join_all(certificates),
        keys.run(closing),
        sessions.run(closing),
        closing.run_until_cancelled(waits),
        closing.run_until_cancelled(workers),
        push,
    );
}
