//! The description of the API, as it is checked in and as it is served.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde_json::{Value, json};

use crate::{
    schema,
    server::{Server, id_of},
};

/// Methods that an operation of the API may have.
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

struct Operation {
    path: String,
    method: String,
    id: String,
    value: Value,
}

fn description() -> Value {
    serde_json::from_str(&steadfast_server::openapi_json()).unwrap()
}

fn operations() -> Vec<Operation> {
    let description = description();
    let paths = description["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap().iter();
        methods.map(|(method, operation)| Operation {
            path: path.clone(),
            method: method.clone(),
            id: operation["operationId"].as_str().unwrap().to_owned(),
            value: operation.clone(),
        })
    });
    operations.collect()
}

#[test]
fn every_operation_has_an_id_of_its_own_that_begins_with_a_verb() {
    const VERBS: &[&str] = &[
        "acknowledge",
        "add",
        "advance",
        "cancel",
        "certify",
        "claim",
        "close",
        "create",
        "delete",
        "disable",
        "discard",
        "edit",
        "enable",
        "explain",
        "fail",
        "get",
        "hold",
        "keep",
        "list",
        "mark",
        "pause",
        "preview",
        "release",
        "receive",
        "replay",
        "requeue",
        "resend",
        "resume",
        "retry",
        "revoke",
        "rotate",
        "run",
        "save",
        "send",
        "set",
        "settle",
        "silence",
        "snooze",
        "stream",
        "succeed",
        "test",
    ];
    let mut seen = BTreeSet::new();
    for operation in operations() {
        let id = &operation.id;
        let verb: String = id.chars().take_while(char::is_ascii_lowercase).collect();
        assert!(VERBS.contains(&verb.as_str()), "{id} begins with no verb");
        assert!(id.len() > verb.len(), "{id} has no noun");
        assert!(id.chars().all(|c| c.is_ascii_alphanumeric()), "{id}");
        assert!(seen.insert(id.clone()), "{id} is there twice");
    }
    assert_eq!(seen.len(), 100);
}

#[test]
fn every_reference_in_the_openapi_document_resolves() {
    let description = description();
    let mut references = Vec::new();
    collect_references(&description, &mut references);
    assert!(references.len() > 100);
    for reference in references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(description.pointer(pointer).is_some(), "{reference}");
    }
    let tags = description["tags"].as_array().unwrap();
    let tags: Vec<&str> = tags
        .iter()
        .map(|tag| tag["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        tags,
        [
            "Jobs",
            "Schedules",
            "Workers",
            "Dead letters",
            "Failures",
            "Batches",
            "Operations",
            "Queues",
            "Flow control",
            "Stats",
            "Alerts",
            "Endpoints",
            "Policies",
            "Keys",
            "Secrets",
            "Events",
            "Nodes",
            "Testing",
        ]
    );
    for Operation {
        path,
        method,
        id,
        value,
    } in operations()
    {
        assert!(METHODS.contains(&method.as_str()), "{method} {path}");
        let used = value["tags"].as_array().unwrap();
        assert!(
            used.iter().all(|tag| tags.contains(&tag.as_str().unwrap())),
            "{id}: {used:?}"
        );
        assert!(
            value["summary"].as_str().is_some_and(|it| !it.is_empty()),
            "{id}"
        );
        let parameters = value["parameters"].as_array().cloned().unwrap_or_default();
        let in_path = parameters.iter().filter(|it| it["in"] == "path");
        let in_path: BTreeSet<&str> = in_path.map(|it| it["name"].as_str().unwrap()).collect();
        let in_template = path.split('/').filter_map(|part| part.strip_prefix('{'));
        let in_template = in_template.map(|part| part.trim_end_matches('}')).collect();
        assert_eq!(in_path, in_template, "{id}");
    }
}

fn collect_references(value: &Value, references: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if name == "$ref" => references.push(text.clone()),
                    value => collect_references(value, references),
                }
            }
        }
        Value::Array(items) => items
            .iter()
            .for_each(|it| collect_references(it, references)),
        _ => {}
    }
}

/// The examples of each request body, by operation.
fn examples() -> Vec<(Operation, Vec<Value>)> {
    let with_body = operations()
        .into_iter()
        .filter(|it| it.value["requestBody"].is_object());
    with_body
        .map(|operation| {
            let content = &operation.value["requestBody"]["content"]["application/json"];
            let many = content["examples"].as_object().cloned().unwrap_or_default();
            let many = many
                .into_iter()
                .map(|(_, example)| example["value"].clone());
            let one = content.get("example").cloned();
            let examples = one.into_iter().chain(many).collect();
            (operation, examples)
        })
        .collect()
}

/// `docs` runs every one of them, as the command that the page of the API shows.
#[test]
fn every_request_body_has_an_example_that_fits_its_schema() {
    let examples = examples();
    assert_eq!(examples.len(), 40);
    for (operation, examples) in examples {
        assert!(!examples.is_empty(), "{} has no example", operation.id);
        for example in examples {
            schema::check_request(&operation.value, &example);
        }
    }
}

/// Creates what an example needs, and returns the id that goes into its path.
pub async fn prepare(server: &Server, operation: &str) -> Option<String> {
    let http = &server.http;
    match operation {
        "editJob" => Some(http.create_id(json!({"kind": "k", "delay": "1h"})).await),
        "retryJob" => {
            let id = http.create_id(json!({"kind": "k", "delay": "1h"})).await;
            http.command("jobs", &id, "cancel").await.is(200);
            Some(id)
        }
        "markFailure" => {
            http.create_id(json!({"kind": "k", "retry": "once"})).await;
            let claim = &http.claim("k", "20s").await[0];
            let failure = json!({"failure": {"class": "error", "message": "no disk"}});
            http.report(claim, "fail", failure).await.is(200);
            let list = http.get("/api/v1/failures?text=no%20disk").await.is(200);
            let print = list["failures"][0]["fingerprint"].as_str();
            Some(print.unwrap().to_owned())
        }
        "editSchedule" => {
            let body = json!({"name": "s", "schedule": "0 3 * * *", "job": {"kind": "k"}});
            let schedule = http.post("/api/v1/schedules", body).await.is(201);
            Some(id_of(&schedule))
        }
        "claimJobs" => {
            http.create_id(json!({"kind": "resize-image"})).await;
            None
        }
        "sendHeartbeat" | "succeedAttempt" | "failAttempt" | "snoozeAttempt" | "releaseAttempt"
        | "saveStep" => {
            let id = http.create_id(json!({"kind": operation})).await;
            assert_eq!(http.claim(operation, "0s").await[0]["fence"], 1);
            Some(id)
        }
        "rotateEndpointSecret" | "editEndpoint" => {
            let body = json!({"url": "https://example.com/"});
            let endpoint = http.post("/api/v1/endpoints", body).await.is(201);
            Some(id_of(&endpoint))
        }
        "addBatchJobs" => {
            let batch = http.post("/api/v1/batches", json!({"open": true})).await;
            Some(id_of(&batch.is(201)))
        }
        _ => None,
    }
}

#[test]
fn enums_of_the_core_have_the_values_of_the_document() {
    let description = description();
    let schemas = &description["components"]["schemas"];
    let expected: BTreeMap<&str, Value> = BTreeMap::from([
        ("JobLabel", json!(steadfast_core::JobLabel::ALL)),
        ("EndReason", json!(steadfast_core::EndReason::ALL)),
        ("Guarantee", json!(["AT_LEAST_ONCE", "AT_MOST_ONCE"])),
        ("Preset", json!(steadfast_core::Preset::ALL)),
        (
            "Backoff",
            json!(["exponential", "linear", "fixed", "fibonacci", "delays"]),
        ),
        (
            "Scope",
            json!(["admin", "tenant", "worker", "read", "metrics"]),
        ),
    ]);
    for (name, words) in expected {
        assert_eq!(schemas[name]["enum"], words, "{name}");
    }
}

#[test]
fn the_description_that_is_checked_in_is_that_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    let made = steadfast_server::openapi_json();
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == made,
        "docs/openapi.json is out of date; \
         UPDATE_OPENAPI=1 cargo test -p steadfast-server --test api openapi writes it"
    );
}

/// A path with values that the server accepts.
fn path_of(operation: &Operation) -> String {
    let id = |prefix: &str| format!("{prefix}_06f00000000000000000000000");
    let mut path = operation.path.replace("{name}", "default");
    let values = [("{key}", "https%3A%2F%2Fa.example"), ("{scope}", "key")];
    for (name, value) in values
        .into_iter()
        .chain([("{fingerprint}", "0000000000000000")])
    {
        path = path.replace(name, value);
    }
    let prefixes = [
        ("batches", "bat"),
        ("endpoints", "end"),
        ("keys", "key"),
        ("operations", "opr"),
        ("schedules", "sch"),
    ];
    let group = path.trim_start_matches("/api/v1/").split('/').next();
    let prefix = prefixes.into_iter().find(|(name, _)| Some(*name) == group);
    path.replace("{id}", &id(prefix.map_or("job", |(_, prefix)| prefix)))
}

#[tokio::test]
async fn the_document_has_every_query_field_that_the_server_reads() {
    let server = Server::start().await;
    let mut operations_with_query = 0;
    for operation in operations() {
        let parameters = operation.value["parameters"].as_array();
        let in_query = parameters.into_iter().flatten();
        let in_query = in_query.filter(|parameter| parameter["in"] == "query");
        let documented: BTreeSet<String> = in_query
            .map(|parameter| parameter["name"].as_str().unwrap().to_owned())
            .collect();
        let path = format!("{}?nowhere=1", path_of(&operation));
        let method = operation.method.to_uppercase();
        let headers = [("content-type", "application/json")];
        let reply = server
            .http
            .send(&method, &path, &headers, "{}")
            .await
            .json();
        let detail = reply["detail"].as_str().unwrap_or_default();
        let known = detail.split_once("known fields: ").map(|(_, names)| names);
        let is_query = reply["field"] == "nowhere";
        let read: BTreeSet<String> = match known.filter(|_| is_query) {
            Some(names) => names.split(", ").map(str::to_owned).collect(),
            None => BTreeSet::new(),
        };
        assert_eq!(documented, read, "{}: {reply}", operation.id);
        operations_with_query += usize::from(!read.is_empty());
    }
    assert!(operations_with_query > 30, "{operations_with_query}");
}

#[tokio::test]
async fn the_description_that_is_served_is_the_same_with_the_address_of_the_server() {
    let server = Server::start().await;
    let mut served = server.http.get("/api/v1/openapi.json").await.is(200);
    let mut made: Value = serde_json::from_str(&steadfast_server::openapi_json()).unwrap();
    assert_eq!(made["servers"][0]["url"], "http://127.0.0.1:7373");
    let url = format!("http://{}", server.http.address);
    assert_eq!(served["servers"][0]["url"], json!(url));
    made["servers"].take();
    served["servers"].take();
    assert_eq!(served, made);
    assert_eq!(served["openapi"], "3.1.0");
}

/// Generators make a field with a default required, and a default that does not fit its schema
/// makes them drop the operation.
#[test]
fn no_schema_has_a_default() {
    fn places(value: &Value, place: &str, found: &mut Vec<String>) {
        if let Value::Object(fields) = value {
            for (name, inner) in fields {
                let place = format!("{place}/{name}");
                // Below `properties` are names of fields.
                if name == "default" && !place.ends_with("properties/default") {
                    found.push(place.clone());
                }
                places(inner, &place, found);
            }
        }
        for item in value.as_array().into_iter().flatten() {
            places(item, place, found);
        }
    }
    let mut found = Vec::new();
    places(&description()["components"]["schemas"], "", &mut found);
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn every_successful_response_has_an_example_that_fits_its_schema() {
    let mut seen = 0;
    for operation in operations() {
        for (status, response) in operation.value["responses"].as_object().unwrap() {
            let content = response["content"].as_object().into_iter().flatten();
            for (_, content) in content.filter(|_| status.starts_with('2')) {
                let place = format!("the {status} of {}", operation.id);
                let example = content.get("example");
                let example = example.unwrap_or_else(|| {
                    panic!(
                        "{place} has no example; write it with UPDATE_EXAMPLES=1 \
                         cargo test -p steadfast-server --test api every_command"
                    )
                });
                schema::check_example(&place, &content["schema"], example);
                seen += 1;
            }
        }
    }
    assert!(seen >= 85, "{seen} examples");
}
