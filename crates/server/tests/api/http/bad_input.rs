//! Everything that can be wrong with a request, with its status, its code and its field.

use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::server::{Server, Setup};

const JSON: &[(&str, &str)] = &[("content-type", "application/json")];

#[tokio::test]
async fn a_bad_body_is_refused_with_the_field_at_fault() {
    let server = Server::start().await;
    let mut wrong = Vec::new();
    let lines = include_str!("bad_bodies.txt").lines();
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let (path, code, field) = (words.next(), words.next(), words.next());
        let body = &line[line.find('{').unwrap()..];
        let path = format!("/api/v1/{}", path.unwrap());
        let reply = server.http.send("POST", &path, JSON, body).await;
        let problem = reply.json();
        let said = (
            reply.status,
            problem["code"].as_str(),
            problem["field"].as_str(),
        );
        let explains = problem["detail"].as_str().is_some_and(|it| it.len() > 10);
        if said != (422, code, field) || !explains {
            wrong.push(format!("{line}\n    got {problem}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let jobs = server.http.get("/api/v1/jobs").await.is(200);
    assert_eq!(jobs["jobs"], json!([]), "nothing was made on the way");
}

#[tokio::test]
async fn a_body_that_is_not_json_is_refused() {
    let server = Server::start().await;
    for body in [
        "",
        "{",
        "{\"kind\": \"k\",}",
        "kind=k",
        "\u{feff}{}",
        "{} {}",
    ] {
        let reply = server.http.send("POST", "/api/v1/jobs", JSON, body).await;
        reply.is_problem(400, "bad_json", None);
    }
    for body in ["[]", "null", "7", "\"kind\""] {
        let reply = server.http.send("POST", "/api/v1/jobs", JSON, body).await;
        reply.is_problem(422, "invalid", None);
        let detail = reply.json()["detail"].clone();
        assert_eq!(
            detail, r#"the body must be a JSON object, such as {"kind": "mail"}"#,
            "{body}"
        );
    }
    for media in ["text/plain", "application/x-www-form-urlencoded"] {
        let headers = [("content-type", media)];
        let reply = server
            .http
            .send("POST", "/api/v1/jobs", &headers, "{}")
            .await;
        reply.is_problem(415, "not_json", None);
    }
    let bare = server.http.send("POST", "/api/v1/jobs", &[], "{}").await;
    bare.is_problem(415, "not_json", None);
    let charset = [("content-type", "application/json; charset=utf-8")];
    let body = r#"{"kind": "k"}"#;
    let fine = server
        .http
        .send("POST", "/api/v1/jobs", &charset, body)
        .await;
    fine.is(201);
}

#[tokio::test]
async fn a_problem_is_explained_in_the_words_of_the_api() {
    let server = Server::start().await;
    for (body, detail) in [
        (
            json!({"kind": "k", "priority": -1}),
            "priority: must be a whole number from 0 to 9, not integer `-1`",
        ),
        (
            json!({"kind": "k", "retry": {"rules": [{"match": {"status": {}}, "then": "retry"}]}}),
            "retry.rules[0].match.status: must be one value or a list, such as 503 or \
             [429, \"5xx\"], not map",
        ),
        (
            json!({"kind": "k", "type": "EXACTLY_ONCE"}),
            "type: \"EXACTLY_ONCE\" must be one of AT_LEAST_ONCE, AT_MOST_ONCE",
        ),
        (json!({"http": {}}), "the field \"url\" is missing"),
        (
            json!({"http": {"url": "http://x/", "verb": "GET"}}),
            "unknown field \"verb\"; known fields: url, method, headers, body",
        ),
    ] {
        let problem = server.http.post("/api/v1/jobs", body.clone()).await.json();
        assert_eq!(problem["detail"], detail, "{body}");
    }
}

#[tokio::test]
async fn a_rule_takes_lists_of_statuses_and_classes() {
    let server = Server::start().await;
    let rules = json!([
        {"match": {"status": [404], "class": ["http", "not_found"]}, "then": "retry"},
        {"match": {"status": [429, "5xx"]}, "then": {"retry": "10s"}},
    ]);
    let body = json!({"kind": "k", "delay": "1h", "retry": {"rules": rules}});
    let job = server.http.create(body).await;
    let shown = json!([
        {"match": {"class": ["http", "not_found"], "status": "404"}, "then": "retry"},
        {"match": {"status": ["429", "500-599"]}, "then": {"retry": "10s"}},
    ]);
    assert_eq!(job["retry"]["rules"], shown);
    assert_eq!(server.http.read_job(job["id"].as_str().unwrap()).await, job);
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused() {
    let server = Server::start().await;
    let large = "x".repeat(1024 * 1024 + 1);
    let reply = server.http.send("POST", "/api/v1/jobs", JSON, &large).await;
    reply.is_problem(413, "too_large", None);
    // The response arrives although the client was still sending, and before the body of one that asks
    // first.
    let head = format!(
        "POST /api/v1/jobs HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/json\r\n",
        server.http.address
    );
    let length = 5 * 1024 * 1024;
    let sent = format!(
        "{head}content-length: {length}\r\n\r\n{}",
        "x".repeat(length)
    );
    for text in [
        sent,
        format!("{head}expect: 100-continue\r\ncontent-length: {length}\r\n\r\n"),
    ] {
        let mut stream = TcpStream::connect(server.http.address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    }
    let payload = "x".repeat(256 * 1024);
    let body = json!({"kind": "k", "payload": payload});
    let reply = server.http.post("/api/v1/jobs", body).await;
    reply.is_problem(422, "invalid", Some("payload"));
    let key = "k".repeat(256);
    let body = json!({"kind": "k", "idempotencyKey": key});
    let reply = server.http.post("/api/v1/jobs", body).await;
    reply.is_problem(422, "invalid", Some("idempotencyKey"));
    let nested = |depth| format!("{}\"]\\\"\"{}", "[".repeat(depth), "]".repeat(depth));
    for (depth, status) in [(99, 201), (100, 400), (20_000, 400)] {
        let body = format!(r#"{{"kind": "k", "payload": {}}}"#, nested(depth));
        let reply = server.http.send("POST", "/api/v1/jobs", JSON, &body).await;
        assert_eq!(reply.status, status, "{depth}: {}", reply.body);
    }
}

#[tokio::test]
async fn the_largest_payload_is_a_setting_and_holds_wherever_a_payload_is_given() {
    let config = |most| Setup {
        config: Setup::default().config.with_payload_bytes_max(most),
        ..Setup::default()
    };
    let server = Server::with(config(2_000)).await;
    let (fits, large) = ("x".repeat(1_998), "x".repeat(1_999));
    let job = json!({"kind": "k", "payload": fits, "delay": "1h"});
    let id = server.http.create_id(job).await;
    let path = format!("/api/v1/jobs/{id}");
    for reply in [
        server
            .http
            .post("/api/v1/jobs", json!({"kind": "k", "payload": large}))
            .await,
        server.http.patch(&path, json!({"payload": large})).await,
        {
            server.http.command("jobs", &id, "cancel").await.is(200);
            let body = json!({"payload": large});
            server.http.post(&format!("{path}/retry"), body).await
        },
    ] {
        reply.is_problem(422, "invalid", Some("payload"));
        assert!(reply.body.contains("at most 2000 bytes"), "{}", reply.body);
    }
    let schedule = json!({
        "name": "s", "every": "1h", "job": {"kind": "k", "payload": large}
    });
    let reply = server.http.post("/api/v1/schedules", schedule).await;
    assert_eq!(reply.status, 422, "{}", reply.body);
    server.stop().await;

    let server = Server::with(config(512 * 1024)).await;
    let payload = "x".repeat(300 * 1024);
    let job = json!({"kind": "k", "payload": payload});
    let id = server.http.create_id(job).await;
    assert_eq!(server.http.read_job(&id).await["payload"], payload);
}

#[tokio::test]
async fn a_bad_query_is_refused_with_its_parameter() {
    let server = Server::start().await;
    for (query, code, field) in [
        ("jobs?limit=0", "invalid", "limit"),
        ("jobs?limit=501", "invalid", "limit"),
        ("jobs?limit=many", "invalid", "limit"),
        ("jobs?after=nonsense", "invalid", "after"),
        ("jobs?label=lazy", "invalid", "label"),
        ("jobs?colour=red", "unknown_field", "colour"),
        ("jobs?from=yesterday", "invalid", "from"),
        ("jobs?before=13", "invalid", "before"),
        ("jobs?schedule=job_1", "invalid", "schedule"),
        ("jobs?tag=order", "invalid", "tag"),
        ("jobs?tag=a:b&tag=:b", "invalid", "tag"),
        ("jobs?queue=a&queue=b", "invalid", "queue"),
        ("jobs?reason=boredom", "invalid", "reason"),
        ("jobs?kind=two%20words", "invalid", "kind"),
        ("dlq?after=x", "invalid", "after"),
        ("schedules?after=x", "invalid", "after"),
        ("stats?tenant=%20", "invalid", "tenant"),
        ("stats/minutes?minutes=0", "invalid", "minutes"),
    ] {
        let reply = server.http.get(&format!("/api/v1/{query}")).await;
        let problem = reply.json();
        let found = (reply.status, &problem["code"], &problem["field"]);
        assert_eq!(
            found,
            (422, &json!(code), &json!(field)),
            "{query}: {problem}"
        );
    }
    let id = server.http.create_id(json!({"kind": "k"})).await;
    let history = format!("/api/v1/jobs/{id}/history?after=1.2.3");
    let history = server.http.get(&history).await;
    history.is_problem(422, "invalid", Some("after"));
}

#[tokio::test]
async fn unknown_ids_pages_and_methods_have_different_answers() {
    let server = Server::start().await;
    let zeros = "00000000000000000000000000";
    for path in [
        format!("/api/v1/jobs/job_{zeros}"),
        "/api/v1/jobs/no-id-at-all".to_owned(),
        "/api/v1/jobs/%ff".to_owned(),
        format!("/api/v1/jobs/sch_{zeros}"),
        format!("/api/v1/jobs/job_{zeros}/history"),
        format!("/api/v1/jobs/sch_{zeros}/history"),
        format!("/api/v1/schedules/sch_{zeros}"),
        format!("/api/v1/schedules/sch_{zeros}/ticks"),
        "/api/v1/no-such-page".to_owned(),
        "/api/v2/jobs".to_owned(),
    ] {
        let reply = server.http.get(&path).await;
        reply.is_problem(404, "not_found", None);
    }
    for (method, path) in [
        ("PUT", "/api/v1/jobs"),
        ("DELETE", "/api/v1/jobs"),
        ("GET", "/api/v1/claims"),
        ("TRACE", "/api/v1/jobs"),
        ("BREW", "/api/v1/jobs"),
        ("POST", "/healthz"),
    ] {
        let reply = server.http.send(method, path, &[], "").await;
        reply.is_problem(405, "method_not_allowed", None);
        assert!(reply.headers.contains_key("allow"), "{method} {path}");
    }
    // HEAD is GET without its body.
    let head = server.http.send("HEAD", "/api/v1/jobs", &[], "").await;
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    let head = server.http.send("HEAD", "/api/v1/claims", &[], "").await;
    assert_eq!((head.status, head.body.as_str()), (405, ""));
}

#[tokio::test]
async fn a_call_may_take_no_longer_than_the_operator_allows() {
    let server = Server::start().await;
    let job = |timeout: &str| json!({"api": "http://127.0.0.1:9/", "timeout": timeout});
    let reply = server.http.post("/api/v1/jobs", job("11m")).await;
    reply.is_problem(422, "invalid", Some("timeout"));
    server.http.post("/api/v1/jobs", job("10m")).await.is(201);
    // Jobs of workers hold no slot of a node.
    let work = json!({"kind": "report", "timeout": "7d"});
    server.http.post("/api/v1/jobs", work).await.is(201);
}
