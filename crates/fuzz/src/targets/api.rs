//! Requests: a line with the route, then the body.
//!
//! Whatever is sent, the response is the documented one or a problem that names the field at
//! fault, and never an error of ours. What was taken is taken again in another spelling.

use std::{cell::RefCell, sync::Arc};

use axum::{
    Router,
    body::Body,
    http::{Request, header},
};
use http_body_util::BodyExt as _;
use serde_json::Value;
use steadfast_engine::Engine;
use steadfast_server::{
    App, Metrics, Settings,
    keys::{self, NewKey, Scope},
    testing,
};
use steadfast_store::MemoryStore;
use tokio::runtime::Runtime;
use tower::ServiceExt as _;

/// Routes that take a body and make or change something. Claims are left out, because they wait.
const ROUTES: &[&str] = &[
    "claims/settle",
    "dlq/discard",
    "dlq/requeue",
    "endpoints",
    "jobs",
    "keys",
    "policies/preview",
    "schedules",
];

/// Jobs stay in memory, so a node is replaced after a while.
const REQUESTS_PER_NODE: u32 = 1_000;

pub fn check(input: &[u8]) -> bool {
    let mut lines = input.splitn(2, |byte| *byte == b'\n');
    let (Some(route), Some(body)) = (lines.next(), lines.next()) else {
        return false;
    };
    let Some(route) = ROUTES.iter().find(|known| known.as_bytes() == route) else {
        return false;
    };
    let (status, answer) = posted(route, body);
    judge(route, body, status, &answer);
    if !(200..300).contains(&status) {
        return false;
    }
    if let Some(respelled) = respelled(body) {
        let (status, again) = posted(route, &respelled);
        let text = String::from_utf8_lossy(&respelled);
        assert!(
            (200..300).contains(&status),
            "{route}: {text} is refused: {again}"
        );
        assert_eq!(lasting(again), lasting(answer), "{route}: {text}");
    }
    true
}

fn judge(route: &str, body: &[u8], status: u16, answer: &Value) {
    let shown = || {
        format!(
            "{route}: {} is answered with {status}: {answer}",
            body.escape_ascii()
        )
    };
    match status {
        200..300 => {}
        422 => {
            let is_object =
                serde_json::from_slice::<Value>(body).is_ok_and(|body| body.is_object());
            let is_named = answer["field"].is_string();
            assert!(!is_object || is_named, "no field is named: {}", shown());
        }
        400..500 => assert!(answer["code"].is_string(), "{}", shown()),
        _ => panic!("{}", shown()),
    }
}

/// The same request in another spelling. An idempotency key would find the first one, whose
/// numbers may be spelled otherwise, so it is left out.
fn respelled(body: &[u8]) -> Option<Vec<u8>> {
    let mut value: Value = serde_json::from_slice(body).ok()?;
    without_keys(&mut value);
    serde_json::to_vec(&value).ok()
}

fn without_keys(body: &mut Value) {
    if let Some(fields) = body.as_object_mut() {
        fields.remove("idempotencyKey");
    }
    let jobs = body.get_mut("jobs").and_then(Value::as_array_mut);
    for job in jobs.into_iter().flatten() {
        without_keys(job);
    }
}

/// Of an answer, what does not differ from one time to the next.
fn lasting(mut answer: Value) -> Value {
    const PASSING: &[&str] = &[
        "id",
        "operation",
        "createdAt",
        "runAt",
        "secret",
        "token",
        "upcoming",
        "nextTick",
        "payload",
        "idempotencyKey",
        "name",
        "label",
    ];
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.retain(|name, _| !PASSING.contains(&name.as_str()));
                fields.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    strip(&mut answer);
    answer
}

struct Node {
    runtime: Runtime,
    router: Router,
    token: String,
    requests: u32,
}

thread_local! {
    static NODE: RefCell<Option<Node>> = const { RefCell::new(None) };
}

fn posted(route: &str, body: &[u8]) -> (u16, Value) {
    NODE.with_borrow_mut(|slot| {
        let is_worn_out = slot
            .as_ref()
            .is_some_and(|node| node.requests >= REQUESTS_PER_NODE);
        if is_worn_out {
            *slot = None;
        }
        slot.get_or_insert_with(Node::start).post(route, body)
    })
}

impl Node {
    /// A node without handlers: jobs are stored and not run.
    fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.unwrap_or_else(|error| panic!("no runtime: {error}"));
        let (router, token) = runtime.block_on(async {
            let store = Arc::new(MemoryStore::default());
            let new = NewKey::new("", Scope::Admin, None);
            let created = keys::create(&*store, new).await;
            let (_, token) = created.unwrap_or_else(|error| panic!("no key: {error}"));
            let engine = Engine::builder(store).start();
            let engine = engine.unwrap_or_else(|error| panic!("no engine: {error}"));
            let metrics = Arc::new(Metrics::default());
            let app = App::new(engine.client(), engine.node(), metrics, Settings::default());
            (testing::router(app), token.reveal().to_owned())
        });
        Self {
            runtime,
            router,
            token,
            requests: 0,
        }
    }

    fn post(&mut self, route: &str, body: &[u8]) -> (u16, Value) {
        self.requests += 1;
        let request = Request::post(format!("/api/v1/{route}"))
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token))
            .body(Body::from(body.to_vec()));
        let request = request.unwrap_or_else(|error| panic!("no request: {error}"));
        self.runtime.block_on(async {
            let Ok(response) = self.router.clone().oneshot(request).await;
            let status = response.status().as_u16();
            let collected = response.into_body().collect().await;
            let bytes = collected.map(|it| it.to_bytes()).unwrap_or_default();
            let answer = serde_json::from_slice(&bytes);
            (
                status,
                answer.unwrap_or_else(|error| panic!("{route} answers no JSON: {error}")),
            )
        })
    }
}
