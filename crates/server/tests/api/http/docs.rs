//! The pages that describe the product: the book, and the API with commands that run.

use std::{collections::BTreeMap, path::Path, process::Stdio};

use serde_json::{Value, json};

use crate::{
    http::openapi::prepare,
    server::{Server, Setup, id_of, until},
};

/// The commands of a page, each with the operation that it is an example of.
fn commands(page: &str) -> Vec<(String, String)> {
    let mut commands = Vec::new();
    for article in page.split("<article class=\"operation\" id=\"").skip(1) {
        let id = article.split('"').next().unwrap();
        for command in article
            .split("<pre class=\"command\" tabindex=\"0\"><code>")
            .skip(1)
        {
            let command = command.split("</code>").next().unwrap();
            let command = command
                .replace("&quot;", "\"")
                .replace("&lt;", "<")
                .replace("&gt;", ">")
                .replace("&amp;", "&");
            commands.push((id.to_owned(), command));
        }
    }
    // From the first key on, every request needs one.
    commands.sort_by_key(|(id, _)| match id.as_str() {
        "createKey" => 1,
        "listKeys" => 2,
        "revokeKey" => 3,
        _ => 0,
    });
    commands
}

/// The names of the pages that the first one leads to.
fn pages(first: &str) -> Vec<String> {
    let headings = first.split("<h2 id=\"").skip(1);
    let pages = headings.map(|it| it.split('"').next().unwrap().to_owned());
    pages.collect()
}

/// With `UPDATE_EXAMPLES=1` the responses become the examples of the document.
#[tokio::test]
async fn every_command_of_the_description_runs() {
    let setup = Setup {
        manual_clock: true,
        ..Setup::default()
    };
    let mut server = Server::with(setup).await;
    let first = server.http.get("/api/docs/").await;
    assert_eq!(first.status, 200);
    let url = format!("http://{}", server.http.address);
    assert!(first.body.contains(&format!("STEADFAST_URL={url}<")));
    let mut shown = String::new();
    for page in pages(&first.body) {
        let page = server.http.get(&format!("/api/docs/{page}")).await;
        assert_eq!(page.status, 200);
        shown.push_str(&page.body);
    }
    let commands = commands(&shown);
    let description = server.http.get("/api/v1/openapi.json").await.body;
    let operations = description.matches("\"operationId\"").count();
    assert!(commands.len() >= operations, "{} commands", commands.len());
    let mut failed = Vec::new();
    let mut responses = BTreeMap::new();
    for (id, command) in commands {
        let variable = variable(&server, &id).await;
        let (status, body) = run(&server, &url, &command, variable).await;
        if !status.starts_with('2') {
            failed.push(format!("{id}: {status} {body}\n{command}"));
        }
        let body = serde_json::from_str::<Value>(&body).ok();
        if id == "createKey" {
            let token = body.as_ref().and_then(|key| key["token"].as_str());
            server.http.token = token.map(str::to_owned);
        }
        if let Some(body) = body {
            let of_operation: &mut Examples = responses.entry(id).or_default();
            of_operation.entry(status).or_insert(body);
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    if std::env::var_os("UPDATE_EXAMPLES").is_some() {
        record(responses);
    }
}

/// Bodies by status.
type Examples = BTreeMap<String, Value>;

/// Writes the examples of responses. Tokens and secrets are masked, and lists are cut.
fn record(mut responses: BTreeMap<String, Examples>) {
    let examples = responses.values_mut().flat_map(BTreeMap::values_mut);
    examples.for_each(shorten);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/api/responses.json");
    let mut text = serde_json::to_string_pretty(&responses).unwrap();
    text.push('\n');
    std::fs::write(path, text).unwrap();
}

fn shorten(value: &mut Value) {
    match value {
        Value::Array(items) => {
            items.truncate(1);
            items.iter_mut().for_each(shorten);
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                let is_secret = matches!(name.as_str(), "token" | "secret") && value.is_string();
                match is_secret {
                    true => *value = json!("shown once"),
                    false => shorten(value),
                }
            }
        }
        _ => {}
    }
}

/// Runs a command as a reader would; the status of the answer, and its body.
async fn run(
    server: &Server,
    url: &str,
    command: &str,
    variable: (&str, String),
) -> (String, String) {
    let key = server.http.token.as_ref();
    let key = key.map_or(String::new(), |key| {
        format!("-H 'authorization: Bearer {key}'")
    });
    // A stream ends only when it is cut off.
    let time = if command.contains("-N") { "0.3" } else { "120" };
    let prelude =
        format!("curl() {{ command curl -s -m {time} -w '\\n%{{http_code}}' {key} \"$@\"; }}");
    let shell = tokio::process::Command::new("sh")
        .args(["-c", &format!("{prelude}\n{command}")])
        .env("STEADFAST_URL", url)
        .env(variable.0, variable.1)
        .stdin(Stdio::null())
        .output();
    let printed = String::from_utf8(shell.await.unwrap().stdout).unwrap();
    let (body, status) = printed.rsplit_once('\n').unwrap_or(("", &printed));
    (status.to_owned(), body.to_owned())
}

/// Creates what a command needs, and returns the variable that names it.
// long: a table
async fn variable(server: &Server, operation: &str) -> (&'static str, String) {
    let http = &server.http;
    let waiting = json!({"kind": "k", "delay": "1h"});
    match operation {
        "getJob" | "explainJob" | "cancelJob" | "runJobNow" => {
            ("JOB", http.create_id(waiting).await)
        }
        "getSchedule" | "deleteSchedule" | "pauseSchedule" | "resumeSchedule"
        | "runScheduleNow" | "listTicks" => {
            ("SCHEDULE", prepare(server, "editSchedule").await.unwrap())
        }
        "editSchedule" => ("SCHEDULE", prepare(server, operation).await.unwrap()),
        "listPrerequisites" => {
            let first = http.create_id(json!({"kind": "first"})).await;
            let claim = &http.claim("first", "0s").await[0];
            let result = json!({"result": {"bytes": 5120}});
            http.report(claim, "succeed", result).await.is(200);
            let second = json!({"kind": "second", "after": [first]});
            let second = http.create_id(second).await;
            assert_eq!(http.claim("second", "0s").await[0]["fence"], 1);
            ("JOB", second)
        }
        "getStep" => {
            let id = prepare(server, "saveStep").await.unwrap();
            let path = format!("/api/v1/claims/{id}/steps/charge");
            http.put(&path, json!({"fence": 1, "result": 7}))
                .await
                .is(200);
            ("JOB", id)
        }
        "getAttemptLog" => {
            let id = prepare(server, "failAttempt").await.unwrap();
            let claim = json!({"id": id, "fence": 1});
            let line = json!({
                "at": "2026-11-18T09:00:00Z", "level": "info", "text": "importing orders.csv"
            });
            let log = json!({"log": {"from": 0, "lines": [line]}});
            http.report(&claim, "heartbeat", log).await.is(200);
            ("JOB", id)
        }
        "listAttempts" => {
            let id = prepare(server, "failAttempt").await.unwrap();
            let claim = json!({"id": id, "fence": 1});
            let failure = json!({"failure": {"class": "error", "message": "no disk"}});
            http.report(&claim, "fail", failure).await.is(200);
            ("JOB", id)
        }
        "listDeadLetters" => {
            http.create_id(json!({"kind": "letter", "retry": "once"}))
                .await;
            let claim = &http.claim("letter", "20s").await[0];
            let failure = json!({"failure": {"class": "error", "message": "no disk"}});
            http.report(claim, "fail", failure).await.is(200);
            ("NONE", String::new())
        }
        "listBatches" | "listBatchJobs" => {
            let batch = json!({"name": "import", "jobs": [{"kind": "k", "delay": "1h"}]});
            let batch = http.post("/api/v1/batches", batch).await.is(201);
            ("BATCH", id_of(&batch))
        }
        "listDeliveries" => {
            let id = prepare(server, "editEndpoint").await.unwrap();
            http.command("endpoints", &id, "test").await.is(200);
            ("ENDPOINT", id)
        }
        "getBatch" | "addBatchJobs" | "closeBatch" => {
            ("BATCH", prepare(server, "addBatchJobs").await.unwrap())
        }
        "getFailure" | "markFailure" => {
            ("FINGERPRINT", prepare(server, "markFailure").await.unwrap())
        }
        "getEndpoint"
        | "deleteEndpoint"
        | "disableEndpoint"
        | "enableEndpoint"
        | "testEndpoint"
        | "editEndpoint"
        | "rotateEndpointSecret" => ("ENDPOINT", prepare(server, "editEndpoint").await.unwrap()),
        "resendDelivery" => ("DELIVERY", ended_delivery(server).await),
        "getOperation" | "listOperationJobs" | "pauseOperation" | "resumeOperation"
        | "cancelOperation" => {
            let id = running_operation(server).await;
            if operation == "resumeOperation" {
                http.command("operations", &id, "pause").await.is(200);
            }
            if operation == "listOperationJobs" {
                let path = format!("/api/v1/operations/{id}/jobs");
                until_listed(server, &path, "jobs").await;
            }
            ("OPERATION", id)
        }
        "listAlerts" => {
            prepare(server, "markFailure").await;
            until_listed(server, "/api/v1/alerts", "alerts").await;
            ("NONE", String::new())
        }
        "getGate" | "editGate" | "deleteGate" => {
            let gate = "/api/v1/gates/queue/mail";
            http.put(gate, json!({"maxRunning": 5})).await;
            ("NONE", String::new())
        }
        "getDestination" | "editDestination" | "holdDestination" | "releaseDestination" => {
            let destination = "/api/v1/destinations/https%3A%2F%2Fapi.example.com";
            http.put(destination, json!({"maxRunning": 5})).await;
            ("NONE", String::new())
        }
        "revokeKey" => {
            let key = json!({"name": "reader", "scope": "read"});
            ("KEY", id_of(&http.post("/api/v1/keys", key).await.is(201)))
        }
        _ => ("JOB", prepare(server, operation).await.unwrap_or_default()),
    }
}

async fn ended_delivery(server: &Server) -> String {
    let http = &server.http;
    let closed = json!({"url": "http://127.0.0.1:9/"});
    let endpoint = http.post("/api/v1/endpoints", closed).await.is(201);
    let test = http.command("endpoints", &id_of(&endpoint), "test").await;
    let delivery = id_of(&test.is(200));
    http.wait_for_label(&delivery, "retrying").await;
    http.command("jobs", &delivery, "cancel").await.is(200);
    delivery
}

async fn until_listed(server: &Server, path: &str, list: &str) {
    until("a list that is not empty", || async {
        let listed = server.http.get(path).await.is(200);
        let is_empty = listed[list].as_array().unwrap().is_empty();
        (!is_empty).then_some(())
    })
    .await;
}

/// It takes a second for each of its jobs, so it goes on meanwhile.
async fn running_operation(server: &Server) -> String {
    for _ in 0..3 {
        let waiting = json!({"kind": "k", "delay": "1h"});
        server.http.create_id(waiting).await;
    }
    let body = json!({"kind": "run_now", "filter": {"kind": "k"}, "pace": 1});
    id_of(&server.http.post("/api/v1/operations", body).await.is(201))
}

#[tokio::test]
async fn dashboard_book_and_api_pages_have_the_same_logo() {
    let server = Server::start().await;
    let icon = server.http.get("/ui/icon.svg").await.body;
    let paths: Vec<&str> = icon.split("<path d=\"").skip(1).collect();
    assert_eq!(paths.len(), 3, "{icon}");
    for page in ["/", "/docs/", "/api/docs/"] {
        let body = server.http.get(page).await.body;
        let logo = body.split("class=\"brand\"").nth(1).unwrap();
        let logo = logo.split("</a>").next().unwrap();
        for path in &paths {
            let path = path.split('"').next().unwrap();
            assert!(logo.contains(path), "{page}: {logo}");
        }
    }
}

#[tokio::test]
async fn the_book_is_served_with_its_pictures_and_loads_nothing_from_elsewhere() {
    let server = Server::start().await;
    let get = async |path: &str| server.http.get(path).await;
    let redirect = get("/docs").await;
    assert_eq!(redirect.status, 308);
    assert_eq!(redirect.headers["location"], "docs/", "also behind a proxy");
    let first = get("/docs/").await;
    assert_eq!(first.status, 200);
    let policy = &first.headers["content-security-policy"];
    assert!(policy.contains("script-src 'self';"), "{policy}");
    let mut seen = 0;
    for link in first
        .body
        .split("href=\"")
        .skip(1)
        .chain(first.body.split("src=\"").skip(1))
    {
        let link = link.split(['"', '#']).next().unwrap();
        // The client of these tests reads text.
        if link.is_empty() || link.contains("://") || link.ends_with(".png") {
            continue;
        }
        let path = match link.strip_prefix("../") {
            Some(above) => format!("/{above}"),
            None if link == "/" => link.to_owned(),
            None => format!("/docs/{link}"),
        };
        let found = get(&path).await;
        assert_eq!(found.status, 200, "{link}");
        assert_ne!(found.headers["content-type"], "application/octet-stream");
        seen += 1;
    }
    assert!(seen > 40, "{seen} links");
    let style = get("/docs/book.css").await.body;
    let font = style.split("url(\"").nth(1).unwrap();
    let font = format!("/docs/{}", font.split('"').next().unwrap());
    let head = server.http.send("HEAD", &font, &[], "").await;
    assert_eq!(
        (head.status, head.headers["content-type"].as_str()),
        (200, "font/woff2")
    );
    assert!(!first.body.contains("src=\"http"), "{}", first.body);
    assert_eq!(get("/docs/nowhere.html").await.status, 404);

    let tag = &first.headers["etag"];
    let again = server
        .http
        .send("GET", "/docs/", &[("if-none-match", tag)], "")
        .await;
    assert_eq!(again.status, 304);
}

#[tokio::test]
async fn the_api_has_a_page_per_group_with_responses_and_links_that_lead_somewhere() {
    let server = Server::start().await;
    let redirect = server.http.get("/api/docs").await;
    assert_eq!(
        (redirect.status, redirect.headers["location"].as_str()),
        (308, "docs/")
    );
    let first = server.http.get("/api/docs/").await;
    let policy = &first.headers["content-security-policy"];
    assert!(policy.contains("style-src 'self';"), "{policy}");
    let names = pages(&first.body);
    assert_eq!((names[0].as_str(), names.len()), ("jobs", 18));
    let mut bodies = BTreeMap::from([(String::new(), first.body)]);
    for name in names.iter().map(String::as_str).chain(["types"]) {
        let page = server.http.get(&format!("/api/docs/{name}")).await;
        bodies.insert(name.to_owned(), page.body);
    }
    let jobs = &bodies["jobs"];
    let operation = jobs.split("<article class=\"operation\" id=\"").nth(1);
    assert!(operation.unwrap().starts_with("createJob\""));
    assert!(
        jobs.contains("<p class=\"example\">Response 201</p>"),
        "{jobs}"
    );
    for (name, body) in &bodies {
        let links = body.split("href=\"").skip(1);
        let links = links.map(|link| link.split('"').next().unwrap());
        for (page, anchor) in links.filter_map(|link| link.split_once('#')) {
            let page = if page.is_empty() { name } else { page };
            let target = &bodies[page];
            assert!(
                target.contains(&format!("id=\"{anchor}\"")),
                "{name}: {anchor}"
            );
        }
    }
    for file in ["book.css", "api.css", "api.js", "copy.js"] {
        assert_eq!(server.http.get(&format!("/docs/{file}")).await.status, 200);
    }
    assert_eq!(server.http.get("/api/docs/nothing").await.status, 404);
}
