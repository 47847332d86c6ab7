//! What a web page can do to a server that it can reach.

use serde_json::json;
use steadfast_server::{Settings, keys::Scope};

use crate::{
    client::Reply,
    server::{Server, Setup},
};

/// A request of a page whose site has pointed its own name at this machine.
async fn rebound(server: &Server, method: &str, path: &str, host: &str, body: &str) -> Reply {
    let origin = format!("origin: http://{host}\r\nsec-fetch-site: same-origin\r\n");
    let media = "content-type: application/json\r\n";
    let length = body.len();
    server
        .http
        .send_raw(&format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\n{origin}{media}content-length: {length}\r\n\
             connection: close\r\n\r\n{body}"
        ))
        .await
}

#[tokio::test]
async fn without_keys_dns_rebinding_is_refused() {
    let setup = Setup {
        settings: Settings {
            allowed_hosts: vec!["jobs.example".to_owned()],
            ..Settings::default()
        },
        ..Setup::default()
    };
    let server = Server::with(setup).await;
    let port = server.http.address.port();
    let evil = format!("evil.example:{port}");
    let job = r#"{"kind": "k"}"#;
    for (method, path, body) in [
        ("POST", "/api/v1/jobs", job),
        ("POST", "/api/v1/keys", r#"{"scope": "admin"}"#),
        ("GET", "/api/v1/jobs", ""),
        ("GET", "/api/v1/events", ""),
        ("GET", "/ui/events", ""),
        ("GET", "/metrics", ""),
        ("GET", "/healthz", ""),
        ("GET", "/", ""),
        ("GET", "/nowhere", ""),
    ] {
        let reply = rebound(&server, method, path, &evil, body).await;
        assert_eq!(reply.status, 421, "{path}: {}", reply.body);
        assert!(reply.body.contains("--allowed-hosts"), "{}", reply.body);
        if path.starts_with("/api") {
            reply.is_problem(421, "wrong_host", None);
        }
    }
    for host in [format!("localhost:{port}"), "jobs.example".to_owned()] {
        rebound(&server, "POST", "/api/v1/jobs", &host, job)
            .await
            .is(201);
    }
    // With keys the name does not matter: a page has none.
    server.key(Scope::Admin, None).await;
    let reply = rebound(&server, "GET", "/api/v1/jobs", &evil, "").await;
    reply.is_problem(401, "no_key", None);
    rebound(&server, "GET", "/healthz", &evil, "").await.is(200);
}

#[tokio::test]
async fn a_page_of_another_site_changes_nothing_with_keys_or_without() {
    let server = Server::start().await;
    let id = server
        .http
        .create_id(json!({"kind": "k", "delay": "1h"}))
        .await;
    let pause = "/api/v1/queues/default/pause".to_owned();
    let cancel = format!("/api/v1/jobs/{id}/cancel");
    let from_elsewhere: [&[(&str, &str)]; 4] = [
        &[
            ("origin", "https://evil.example"),
            ("sec-fetch-site", "cross-site"),
        ],
        &[("origin", "https://evil.example")],
        &[("origin", "null")],
        &[("sec-fetch-site", "same-site")],
    ];
    let admin = server.key(Scope::Admin, None).await;
    for path in [&pause, &cancel] {
        for headers in from_elsewhere {
            for http in [&server.http, &admin] {
                let refused = http.send("POST", path, headers, "").await;
                refused.is_problem(403, "cross_site", None);
            }
        }
    }
    for path in ["/api/v1/jobs", "/api/v1/events", "/ui/events", "/metrics"] {
        let image = [
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-mode", "no-cors"),
        ];
        let refused = admin.send("GET", path, &image, "").await;
        assert_eq!(refused.status, 403, "{path}");
    }
    let job = admin.read_job(&id).await;
    assert_eq!(job["label"], "scheduled");
    let own = [("sec-fetch-site", "same-origin")];
    admin.send("POST", &cancel, &own, "").await.is(200);
}

#[tokio::test]
async fn a_body_needs_its_content_type_even_where_it_is_optional() {
    let server = Server::start().await;
    let body = json!({"url": "https://example.com/hook"});
    let endpoint = server.http.post("/api/v1/endpoints", body).await.is(201);
    let path = format!(
        "/api/v1/endpoints/{}/rotate",
        endpoint["id"].as_str().unwrap()
    );
    let secret = r#"{"secret": "whsec_c2VjcmV0LW9mLXRoZS1qb2ItaXRzZWxm"}"#;
    for headers in [&[][..], &[("content-type", "text/plain")]] {
        let refused = server.http.send("POST", &path, headers, secret).await;
        refused.is_problem(415, "not_json", None);
    }
    server.http.post_empty(&path).await.is(200);
}

#[tokio::test]
async fn a_request_names_one_host() {
    let server = Server::start().await;
    let host = format!("host: {}\r\n", server.http.address);
    for hosts in [String::new(), host.repeat(2)] {
        let text = format!("GET /api/v1/jobs HTTP/1.1\r\n{hosts}connection: close\r\n\r\n");
        let refused = server.http.send_raw(&text).await;
        refused.is_problem(400, "bad_host", None);
    }
}
