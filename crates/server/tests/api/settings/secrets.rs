//! Secrets appear nowhere: not in responses, not in history, not in the log.

use std::{
    io,
    sync::{Arc, Mutex},
};

use serde_json::json;
use steadfast_server::keys::Scope;
use tracing_subscriber::fmt::MakeWriter;

use crate::{
    client::Http,
    server::{Server, id_of},
    target::Target,
};

/// The log, kept to be read.
#[derive(Clone, Default)]
pub struct Log(pub Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// Keeps what this thread logs, for as long as the guard lives.
///
/// While there is one subscriber only, a line that another thread reaches first is switched off for
/// all threads. A second subscriber prevents that.
pub fn listen() -> (Log, (tracing::subscriber::DefaultGuard, tracing::Dispatch)) {
    let log = Log::default();
    let second = tracing_subscriber::fmt().with_writer(io::sink).finish();
    let second = tracing::Dispatch::new(second);
    let subscriber = tracing_subscriber::fmt()
        .with_writer(log.clone())
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .finish();
    let guard = tracing::subscriber::set_default(subscriber);
    (log, (guard, second))
}

const PASSWORD: &str = "hunter2-of-the-target";
const IN_BODY: &str = "card-4242424242424242";
const SECRET: &str = "whsec_c2VjcmV0LW9mLXRoZS1qb2ItaXRzZWxm";
const SHARED: &str = "whsec_c2VjcmV0LW9mLXRoZS1lbmRwb2ludC0x";

/// What a person who has signed in with this key reads on these pages.
pub async fn pages_of(http: &Http, token: &str, paths: &[String]) -> String {
    let origin = format!("http://{}", http.address);
    let own_page = [("origin", origin.as_str())];
    let form = format!("key={token}");
    let signed_in = http.send("POST", "/sign-in", &own_page, &form).await;
    let cookie = signed_in.headers["set-cookie"].split(';').next().unwrap();
    let mut said = String::new();
    for path in paths {
        let page = http.send("GET", path, &[("cookie", cookie)], "").await;
        assert_eq!(page.status, 200, "{path}");
        said.push_str(&page.body);
    }
    said
}

// long: one story, whose parts look for the same secrets
/// On one thread, so that what server and engine log is in one place; the store's own thread is
/// not heard.
#[tokio::test]
async fn secrets_are_in_no_answer_no_history_and_no_line_of_the_log() {
    let (log, _logging) = listen();
    let server = Server::start().await;
    let admin = server.key(Scope::Admin, None).await;
    let (work, hook) = (Target::always(503).await, Target::always(503).await);
    let body = json!({"url": hook.url(), "secret": SHARED});
    admin.post("/api/v1/endpoints", body).await.is(201);
    let made = json!({"scope": "read", "name": "ci"});
    let made = admin.post("/api/v1/keys", made).await.is(201);
    let token = made["token"].as_str().unwrap().to_owned();
    let request = json!({
        "http": {
            "url": work.url(), "headers": {"authorization": format!("Bearer {PASSWORD}")},
            "body": {"card": IN_BODY}
        },
        "retry": {"maxRetries": 1, "baseDelay": 10},
        "webhook": {"url": hook.url(), "secret": SECRET, "retry": "once"}
    });
    let id = admin.create_id(request.clone()).await;
    admin.wait_for_label(&id, "failed").await;
    let schedule = json!({"name": "s", "every": "1h", "job": request});
    let schedule = admin.post("/api/v1/schedules", schedule).await.is(201);
    assert_eq!(
        work.seen()[0].headers["authorization"],
        format!("Bearer {PASSWORD}"),
        "the target does get it"
    );

    let reader = server.http.with_key(&token);
    let own = admin.token.clone().unwrap();
    let deliveries = admin.get("/api/v1/jobs?kind=webhook").await.is(200);
    let delivery = id_of(&deliveries["jobs"][0]);
    let mut said = String::new();
    for path in [
        "/api/v1/jobs".to_owned(),
        format!("/api/v1/jobs/{id}"),
        format!("/api/v1/jobs/{id}/history"),
        format!("/api/v1/jobs/{delivery}"),
        format!("/api/v1/jobs/{delivery}/history"),
        format!("/api/v1/schedules/{}", id_of(&schedule)),
        "/api/v1/schedules".to_owned(),
        "/api/v1/dlq".to_owned(),
        "/api/v1/endpoints".to_owned(),
        "/api/v1/stats".to_owned(),
        "/api/v1/alerts".to_owned(),
        "/metrics".to_owned(),
    ] {
        let reply = reader.get(&path).await;
        assert_eq!(reply.status, 200, "{path}");
        said.push_str(&reply.body);
    }
    said.push_str(&admin.get("/api/v1/keys").await.body);
    let pages = [
        format!("/jobs/{id}"),
        format!("/jobs/{delivery}"),
        format!("/schedules/{}", id_of(&schedule)),
        "/jobs".to_owned(),
        "/schedules".to_owned(),
        "/endpoints".to_owned(),
        "/keys".to_owned(),
        "/".to_owned(),
    ];
    said.push_str(&pages_of(&server.http, &token, &pages).await);
    assert!(said.contains("authorization"), "headers have names");
    for seen in hook.seen() {
        said.push_str(&seen.body);
    }
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(
        log.contains("scheduling retry 1/1"),
        "the log is read: {log}"
    );
    for secret in [PASSWORD, IN_BODY, SECRET, SHARED, &token, &own] {
        let bare = secret.trim_start_matches("whsec_");
        assert!(!said.contains(bare), "{secret} was said");
        let line = log.lines().find(|line| line.contains(bare));
        assert_eq!(line, None, "{secret} was logged");
    }
}
