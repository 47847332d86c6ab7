//! Endpoints as people run them: changed, halted, tried, and their deliveries sent again.

use serde_json::{Value, json};
use steadfast_server::keys::Scope;

use crate::{
    client::Http,
    server::{Server, each, id_of, until},
    target::{ReceivedRequest, Target, says},
};

const ENDPOINTS: &str = "/api/v1/endpoints";

async fn create(http: &Http, body: Value) -> String {
    id_of(&http.post(ENDPOINTS, body).await.is(201))
}

async fn read(http: &Http, id: &str) -> Value {
    http.get(&format!("{ENDPOINTS}/{id}")).await.is(200)
}

/// Cancels a job that waits, which is an event.
async fn cause_event(http: &Http) {
    let body = json!({"kind": "later", "delay": "1h"});
    let job = http.create_id(body).await;
    http.command("jobs", &job, "cancel").await.is(200);
}

async fn deliveries(http: &Http, id: &str) -> Vec<Value> {
    let path = format!("{ENDPOINTS}/{id}/deliveries");
    let list = http.get(&path).await.is(200);
    list["jobs"].as_array().unwrap().clone()
}

async fn delivered(target: &Target, count: usize) -> Vec<ReceivedRequest> {
    until(&format!("{count} deliveries"), || async {
        let seen = target.seen();
        (seen.len() >= count).then_some(seen)
    })
    .await
}

/// The newest delivery, when it is labelled like this.
async fn newest_is(http: &Http, id: &str, label: &str) -> Value {
    until(&format!("a delivery that is {label}"), || async {
        let newest = deliveries(http, id).await.first().cloned()?;
        (newest["label"] == label).then_some(newest)
    })
    .await
}

#[tokio::test]
async fn deliveries_of_a_disabled_endpoint_wait_and_are_sent_when_it_is_enabled() {
    let server = Server::start().await;
    let http = &server.http;
    let target = Target::always(200).await;
    let body = json!({"url": target.url(), "events": ["job.cancelled"]});
    let id = create(http, body).await;
    let off = http.command("endpoints", &id, "disable").await.is(200);
    assert_eq!(off["disabled"], true);
    cause_event(http).await;
    // It has looked once, and waits.
    let waiting = newest_is(http, &id, "scheduled").await;
    assert_eq!(target.seen().len(), 0);
    let waiting = id_of(&waiting);
    let why = http.get(&format!("/api/v1/jobs/{waiting}/explain")).await;
    let why = why.is(200);
    assert_eq!(why["blockers"][0]["kind"], "endpoint_disabled", "{why}");
    assert_eq!(why["action"], json!(format!("Enable {id}.")));
    assert_eq!(why["estimate"], Value::Null);
    let due = http.command("jobs", &waiting, "run-now").await.is(200);
    let sentence = due["waitingFor"][0]["sentence"].as_str().unwrap();
    assert!(
        sentence.contains(&format!("{id} has been disabled since")),
        "{sentence}"
    );
    newest_is(http, &id, "scheduled").await;
    let test = http.command("endpoints", &id, "test").await;
    test.is_problem(409, "disabled", None);

    let on = http.command("endpoints", &id, "enable").await.is(200);
    assert_eq!(on["disabled"], false);
    assert_eq!(
        delivered(&target, 1).await[0].json()["type"],
        "job.cancelled"
    );
    newest_is(http, &id, "succeeded").await;
    let list = http.get("/api/v1/operations").await.is(200);
    assert_eq!(list["operations"][0]["kind"], "run_now");
    let records = http.get("/api/v1/audit?action=endpoint.").await.is(200);
    assert_eq!(
        each(records["records"].as_array().unwrap(), "action"),
        ["endpoint.enable", "endpoint.disable", "endpoint.create"]
    );
}

#[tokio::test]
async fn an_endpoint_is_tried_edited_and_its_deliveries_are_sent_again() {
    let server = Server::start().await;
    let http = &server.http;
    let [first, second] = [Target::always(200).await, Target::always(200).await];
    let id = create(http, json!({"url": first.url(), "description": "old"})).await;
    let sent = http.command("endpoints", &id, "test").await.is(200);
    let seen = &delivered(&first, 1).await[0];
    assert_eq!(seen.json()["type"], "endpoint.test");
    assert_eq!(seen.json()["data"]["endpoint"], json!(id));
    assert!(seen.headers.contains_key("webhook-signature"));
    assert_eq!(newest_is(http, &id, "succeeded").await["id"], sent["id"]);

    let edit = json!({"url": second.url(), "events": ["endpoint.disabled"], "format": "standard"});
    let path = format!("{ENDPOINTS}/{id}");
    let edited = http.patch(&path, edit).await.is(200);
    assert_eq!(edited["events"], json!(["endpoint.disabled"]));
    assert_eq!(edited["description"], "old", "what is left out stays");
    // The same event under the same id, to the new address.
    let delivery = id_of(&sent);
    let again = http
        .command("deliveries", &delivery, "resend")
        .await
        .is(200);
    assert_ne!(again["id"], sent["id"], "one that has succeeded stays");
    let repeated = &delivered(&second, 1).await[0];
    assert_eq!(repeated.body, seen.body);
    assert_eq!(repeated.headers["webhook-id"], seen.headers["webhook-id"]);
    assert_eq!(deliveries(http, &id).await.len(), 2);

    for (edit, field) in [
        (json!({}), "url"),
        (json!({"url": "nowhere"}), "url"),
        (json!({"events": ["endpoint.test"]}), "events"),
        (json!({"events": []}), "events"),
        (json!({"description": "x".repeat(9_999)}), "description"),
        (json!({"colour": "red"}), "colour"),
    ] {
        let refused = http.patch(&path, edit).await;
        assert_eq!(refused.status, 422, "{}", refused.body);
        assert_eq!(refused.json()["field"], field, "{}", refused.body);
    }
    let job = http
        .create_id(json!({"kind": "later", "delay": "1h"}))
        .await;
    let refused = http.command("deliveries", &job, "resend").await;
    refused.is_problem(422, "invalid", Some("id"));
    deletes_and_resends(http, &second).await;
    let other = server.key(Scope::Tenant, Some("other")).await;
    for reply in [
        other.get(&path).await,
        other.get(&format!("{path}/deliveries")).await,
        other.patch(&path, json!({"description": "mine"})).await,
        other.command("endpoints", &id, "enable").await,
        other.command("endpoints", &id, "test").await,
        other.command("deliveries", &delivery, "resend").await,
    ] {
        reply.is_problem(404, "not_found", None);
    }
}

/// A delivery whose endpoint was deleted has nowhere to go.
async fn deletes_and_resends(http: &Http, target: &Target) {
    let id = create(http, json!({"url": target.url()})).await;
    let sent = id_of(&http.command("endpoints", &id, "test").await.is(200));
    http.wait_for_label(&sent, "succeeded").await;
    http.delete(&format!("{ENDPOINTS}/{id}")).await.is(204);
    let refused = http.command("deliveries", &sent, "resend").await;
    refused.is_problem(409, "refused", None);
    let detail = refused.json()["detail"].to_string();
    assert!(detail.contains("an endpoint that was deleted"), "{detail}");
}

#[tokio::test]
async fn a_target_that_is_gone_disables_its_endpoint_and_others_are_sent_a_notice() {
    let server = Server::start().await;
    let http = &server.http;
    let gone = Target::start(|number| says(if number == 0 { 410 } else { 200 })).await;
    let watcher = Target::always(200).await;
    let events = json!(["job.cancelled", "endpoint.disabled"]);
    let id = create(http, json!({"url": gone.url(), "events": events})).await;
    let body = json!({"url": watcher.url(), "events": ["endpoint.disabled"]});
    create(http, body).await;
    cause_event(http).await;
    let notice = delivered(&watcher, 1).await[0].json();
    assert_eq!(notice["type"], "endpoint.disabled");
    assert_eq!(notice["data"]["endpoint"], json!(id));
    let endpoint = read(http, &id).await;
    assert_eq!(endpoint["disabled"], true);
    let reason = endpoint["disabledReason"].as_str().unwrap();
    assert!(reason.contains("410"), "{reason}");
    // What was refused is a dead letter; what comes after it waits.
    let failed = newest_is(http, &id, "failed").await;
    cause_event(http).await;
    newest_is(http, &id, "scheduled").await;
    assert_eq!(gone.seen().len(), 1);

    let on = http.command("endpoints", &id, "enable").await.is(200);
    assert_eq!(on["disabledReason"], Value::Null);
    delivered(&gone, 2).await;
    let again = http.command("deliveries", &id_of(&failed), "resend").await;
    assert_eq!(again.is(200)["id"], failed["id"], "it is retried");
    delivered(&gone, 3).await;
}

#[tokio::test]
async fn an_endpoint_whose_target_is_gone_is_enabled_by_another_address() {
    let server = Server::start().await;
    let http = &server.http;
    let [gone, new] = [Target::always(410).await, Target::always(200).await];
    let body = json!({"url": gone.url(), "events": ["job.cancelled"]});
    let id = create(http, body).await;
    cause_event(http).await;
    newest_is(http, &id, "failed").await;
    cause_event(http).await;
    newest_is(http, &id, "scheduled").await;
    let path = format!("{ENDPOINTS}/{id}");
    let edited = http.patch(&path, json!({"description": "gone"})).await;
    assert_eq!(edited.is(200)["disabled"], true);
    let edited = http.patch(&path, json!({"url": new.url()})).await.is(200);
    assert_eq!(edited["disabled"], false, "{edited}");
    assert_eq!(edited["disabledReason"], Value::Null);
    delivered(&new, 1).await;
    // What a person has disabled stays so.
    http.command("endpoints", &id, "disable").await.is(200);
    let edited = http.patch(&path, json!({"url": gone.url()})).await.is(200);
    assert_eq!(edited["disabled"], true, "{edited}");
}
