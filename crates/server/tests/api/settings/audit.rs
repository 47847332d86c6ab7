//! The audit log: each command of the API and each form leaves one record.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde_json::{Value, json};
use steadfast_core::Timestamp;
use steadfast_server::keys::Scope;

use crate::{
    client::{Http, Reply},
    server::{Server, Setup, id_of, time},
    target::Target,
};

/// What creates jobs, runs them or only looks is no command.
const NO_COMMANDS: &[&str] = &[
    "addBatchJobs",
    "advanceClock",
    "certifyPolicy",
    "claimJobs",
    "createBatch",
    "createJob",
    "failAttempt",
    "previewPolicy",
    "receiveCloudEvents",
    "releaseAttempt",
    "replayPolicy",
    "runUntilIdle",
    "saveStep",
    "sendHeartbeat",
    "sendHeartbeats",
    "settleAttempts",
    "snoozeAttempt",
    "succeedAttempt",
];

/// Sends commands, and sees what each of them has left.
struct Commands {
    http: Http,
    /// The methods of the operations of the API, by their names.
    methods: BTreeMap<String, String>,
    /// The commands that were not sent yet.
    left: BTreeSet<String>,
    records: usize,
}

impl Commands {
    fn new(http: Http) -> Self {
        let description: Value = serde_json::from_str(&steadfast_server::openapi_json()).unwrap();
        let paths = description["paths"].as_object().unwrap().values();
        let operations = paths.flat_map(|methods| methods.as_object().unwrap());
        let named = operations.map(|(method, operation)| {
            let id = operation["operationId"].as_str().unwrap();
            (id.to_owned(), method.to_uppercase())
        });
        let methods: BTreeMap<String, String> = named.collect();
        let is_command = |(id, method): &(&String, &String)| {
            *method != "GET" && !NO_COMMANDS.contains(&id.as_str())
        };
        let commands = methods.iter().filter(is_command);
        Self {
            http,
            left: commands.map(|(id, _)| id.clone()).collect(),
            methods,
            records: 0,
        }
    }

    async fn send(&mut self, operation: &str, path: &str, body: Value) -> Reply {
        self.left.remove(operation);
        let headers = [("content-type", "application/json")];
        let body = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        let (method, path) = (&self.methods[operation], format!("/api/v1/{path}"));
        self.http.send(method, &path, &headers, &body).await
    }

    /// What was recorded since the last look, newest first.
    async fn added(&mut self) -> Vec<Value> {
        let list = self.http.get("/api/v1/audit?limit=500").await.is(200);
        let mut records = list["records"].as_array().unwrap().clone();
        let before = self.records;
        self.records = records.len();
        records.truncate(records.len() - before);
        records
    }

    /// Sends a command that is carried out, and leaves one record of this action, subject and tenant.
    async fn done(&mut self, operation: &str, path: &str, body: Value, expected: Value) -> Value {
        let reply = self.send(operation, path, body).await;
        assert!(
            (200..300).contains(&reply.status),
            "{operation} {}",
            reply.body
        );
        let added = self.added().await;
        assert_eq!(added.len(), 1, "{operation} {added:?}");
        let record = &added[0];
        let line = json!([record["action"], record["subject"], record["tenant"]]);
        let answer = match reply.body.is_empty() {
            true => Value::Null,
            false => reply.json(),
        };
        let expected = match expected[1].is_null() {
            true => json!([expected[0], id_of(&answer), expected[2]]),
            false => expected,
        };
        assert_eq!(line, expected, "{operation}");
        assert_eq!(record["actor"]["name"], "admin of None", "{operation}");
        assert!(record["actor"]["key"].is_string(), "{operation}");
        answer
    }

    /// Sends a command that changes nothing, because it is refused or was carried out before.
    async fn without_record(&mut self, operation: &str, path: &str, body: Value, status: u16) {
        let reply = self.send(operation, path, body).await;
        assert_eq!(reply.status, status, "{operation} {}", reply.body);
        assert_eq!(self.added().await, [Value::Null; 0], "{operation}");
    }
}

#[tokio::test]
async fn each_command_leaves_one_record_and_one_that_changes_nothing_leaves_none() {
    let config = Setup::default().config;
    let server = Server::with(Setup {
        // Nothing but the commands changes alerts.
        config: config.with_watch_every(Duration::from_secs(3_600)),
        ..Setup::default()
    })
    .await;
    server.fail_jobs(3).await;
    let mut it = Commands::new(server.key(Scope::Admin, None).await);
    answer_alerts(&mut it, &server.save_alert("dlq", "acme").await).await;
    limit_flow(&mut it).await;
    keep_keys(&mut it).await;
    keep_certificates(&mut it).await;
    run_endpoints(&mut it).await;
    run_schedules(&mut it).await;
    work_on_jobs(&mut it).await;
    work_on_many_jobs(&mut it).await;
    let forgotten: Vec<_> = it.left.into_iter().collect();
    assert_eq!(forgotten, [""; 0], "commands that this test does not send");
}

async fn answer_alerts(it: &mut Commands, id: &str) {
    let line = |action: &str| json!([action, id, "acme"]);
    let (acknowledge, silence) = ("acknowledgeAlerts", "silenceAlerts");
    let rule = json!({"rule": "dlq", "tenant": "acme"});
    let path = "alerts/acknowledge";
    let done = it.done(acknowledge, path, rule.clone(), line("alert.acknowledge"));
    let alert = &done.await["alerts"][0];
    assert_eq!(alert["acknowledged"]["by"], "admin of None");
    for other in [
        json!({"rule": "overdue"}),
        json!({"rule": "dlq", "tenant": "other"}),
        json!({"rule": "dlq", "subject": "deliveries"}),
        json!({"rule": "dlq", "destination": "https://api.example.com"}),
    ] {
        it.without_record(acknowledge, path, other, 200).await;
    }
    let until = |at: &str| json!({"rule": "dlq", "tenant": "acme", "until": at});
    let path = "alerts/silence";
    it.without_record(silence, path, until("2999-01-01T00:00:00Z"), 422)
        .await;
    let at = Timestamp::from_micros(time(&alert["updatedAt"]).as_micros() + 3_600_000_000);
    let body = until(&at.to_string());
    let done = it.done(silence, path, body, line("alert.silence")).await;
    assert_eq!(done["alerts"][0]["silencedUntil"], json!(at));
    let body = until("2020-01-01T00:00:00Z");
    let done = it.done(silence, path, body, line("alert.unsilence")).await;
    assert!(done["alerts"][0]["silencedUntil"].is_null());
}

async fn limit_flow(it: &mut Commands) {
    let (gate, none) = ("gates/queue/mail?tenant=acme", Value::Null);
    let limits = json!({"maxRunning": 5});
    let line = |action: &str| json!([action, "queue/mail", "acme"]);
    it.done("setGate", gate, limits.clone(), line("gate.set"))
        .await;
    let listed = it.http.get("/api/v1/audit?limit=1").await.is(200);
    assert_eq!(listed["records"][0]["detail"], r#"{"maxRunning":5}"#);
    it.without_record("setGate", gate, limits, 200).await;
    it.without_record("setGate", gate, json!({}), 422).await;
    let edit = json!({"maxRunning": 6});
    it.done("editGate", gate, edit, line("gate.edit")).await;
    it.done("deleteGate", gate, none.clone(), line("gate.delete"))
        .await;
    it.without_record("deleteGate", gate, none.clone(), 404)
        .await;

    let line = |action: &str| json!([action, "mail", "acme"]);
    let (pause, resume) = (
        "queues/mail/pause?tenant=acme",
        "queues/mail/resume?tenant=acme",
    );
    it.done("pauseQueue", pause, none.clone(), line("queue.pause"))
        .await;
    it.done("resumeQueue", resume, none.clone(), line("queue.resume"))
        .await;
    it.without_record("resumeQueue", resume, none.clone(), 204)
        .await;

    let path = "destinations/https%3A%2F%2Fexample.com";
    let line = |action: &str| json!([action, "https://example.com", null]);
    let auto = json!({"hold": "auto"});
    it.done("setDestination", path, auto, line("destination.edit"))
        .await;
    let watch = json!({"hold": "watch"});
    it.done(
        "editDestination",
        path,
        watch.clone(),
        line("destination.edit"),
    )
    .await;
    it.without_record("editDestination", path, watch, 200).await;
    let (hold, release) = (format!("{path}/hold"), format!("{path}/release"));
    let why = json!({"reason": "they asked"});
    it.done("holdDestination", &hold, why, line("destination.hold"))
        .await;
    it.done(
        "releaseDestination",
        &release,
        none.clone(),
        line("destination.release"),
    )
    .await;
    it.without_record("releaseDestination", &release, none, 200)
        .await;

    let failures = it.http.get("/api/v1/failures").await.is(200);
    let print = failures["failures"][0]["fingerprint"].as_str().unwrap();
    let path = format!("failures/{print}");
    let line = json!(["failure.edit", print, "default"]);
    it.done("markFailure", &path, json!({"state": "known"}), line)
        .await;
    it.without_record("markFailure", &path, json!({"state": "known"}), 200)
        .await;
}

async fn keep_keys(it: &mut Commands) {
    let new = json!({"name": "ci", "scope": "worker", "tenant": "acme"});
    let line = json!(["key.create", null, "acme"]);
    let key = id_of(&it.done("createKey", "keys", new, line).await);
    it.without_record("createKey", "keys", json!({"scope": "tenant"}), 422)
        .await;
    let path = format!("keys/{key}");
    let line = json!(["key.delete", key, "acme"]);
    it.done("revokeKey", &path, Value::Null, line).await;
    it.without_record("revokeKey", &path, Value::Null, 404)
        .await;
    let (path, value) = (
        "secrets/stripe?tenant=acme",
        json!({"value": "sk_live_1234"}),
    );
    let line = |verb: &str| json!([format!("secret.{verb}"), "stripe", "acme"]);
    it.done("setSecret", path, value, line("set")).await;
    let short = json!({"value": "x"});
    it.without_record("setSecret", path, short, 422).await;
    it.done("deleteSecret", path, Value::Null, line("delete"))
        .await;
    it.without_record("deleteSecret", path, Value::Null, 404)
        .await;
}

async fn keep_certificates(it: &mut Commands) {
    let line = |verb: &str| json!([format!("certificate.{verb}"), "payments", "acme"]);
    // More jobs than it can answer: computed at once.
    let settings = json!({"destination": "https://api.example.com", "capacity": 20, "traffic": 24,
        "latency": "300ms", "tenant": "acme"});
    let (path, none) = ("certificates/payments", Value::Null);
    it.done("keepCertificate", path, settings, line("keep"))
        .await;
    it.without_record("keepCertificate", path, json!({}), 422)
        .await;
    let path = format!("{path}?tenant=acme");
    it.done("deleteCertificate", &path, none.clone(), line("delete"))
        .await;
    it.without_record("deleteCertificate", &path, none, 404)
        .await;
}

async fn run_endpoints(it: &mut Commands) {
    let (target, none) = (Target::always(200).await, Value::Null);
    let new = json!({"url": target.url(), "tenant": "acme"});
    let line = json!(["endpoint.create", null, "acme"]);
    let created = it.done("createEndpoint", "endpoints", new, line).await;
    let id = id_of(&created);
    let line = |verb: &str| json!([format!("endpoint.{verb}"), id, "acme"]);
    let path = |verb: &str| format!("endpoints/{id}/{verb}");
    let own = format!("endpoints/{id}");
    let edit = json!({"description": "orders"});
    it.done("editEndpoint", &own, edit.clone(), line("edit"))
        .await;
    it.without_record("editEndpoint", &own, edit, 200).await;
    it.done(
        "rotateEndpointSecret",
        &path("rotate"),
        none.clone(),
        line("rotate"),
    )
    .await;
    it.done(
        "disableEndpoint",
        &path("disable"),
        none.clone(),
        line("disable"),
    )
    .await;
    it.without_record("testEndpoint", &path("test"), none.clone(), 409)
        .await;
    it.done(
        "enableEndpoint",
        &path("enable"),
        none.clone(),
        line("enable"),
    )
    .await;
    it.without_record("enableEndpoint", &path("enable"), none.clone(), 200)
        .await;
    let sent = it
        .done("testEndpoint", &path("test"), none.clone(), line("test"))
        .await;
    let delivery = id_of(&sent);
    it.http.wait_for_label(&delivery, "succeeded").await;
    let resend = format!("deliveries/{delivery}/resend");
    let resent = json!(["delivery.resend", delivery, "acme"]);
    it.done("resendDelivery", &resend, none.clone(), resent)
        .await;
    it.done("deleteEndpoint", &own, none.clone(), line("delete"))
        .await;
    it.without_record("deleteEndpoint", &own, none, 404).await;
}

async fn run_schedules(it: &mut Commands) {
    let none = Value::Null;
    let new = json!({
        "name": "nightly", "schedule": "0 3 * * *", "job": {"kind": "report", "tenant": "acme"},
    });
    let line = json!(["schedule.create", null, "acme"]);
    let created = it
        .done("createSchedule", "schedules", new.clone(), line)
        .await;
    let id = id_of(&created);
    let line = |verb: &str| json!([format!("schedule.{verb}"), id, "acme"]);
    // The one of that name is replaced, if it is another.
    it.without_record("createSchedule", "schedules", new.clone(), 201)
        .await;
    let mut other = new;
    other["job"]["payload"] = json!({"day": "yesterday"});
    it.done("createSchedule", "schedules", other.clone(), line("edit"))
        .await;
    it.without_record("createSchedule", "schedules", other, 201)
        .await;
    let path = |verb: &str| format!("schedules/{id}/{verb}");
    let own = format!("schedules/{id}");
    let edit = json!({"schedule": "30 4 * * *"});
    it.done("editSchedule", &own, edit.clone(), line("edit"))
        .await;
    it.without_record("editSchedule", &own, edit, 200).await;
    let edit = json!({"job": {"kind": "report", "payload": {"day": "yesterday"}}});
    it.without_record("editSchedule", &own, edit, 200).await;
    it.done("pauseSchedule", &path("pause"), none.clone(), line("pause"))
        .await;
    it.without_record("pauseSchedule", &path("pause"), none.clone(), 200)
        .await;
    it.done(
        "resumeSchedule",
        &path("resume"),
        none.clone(),
        line("resume"),
    )
    .await;
    it.done(
        "runScheduleNow",
        &path("run-now"),
        none.clone(),
        line("run_now"),
    )
    .await;
    it.done("deleteSchedule", &own, none.clone(), line("delete"))
        .await;
    it.without_record("deleteSchedule", &own, none, 404).await;
    // A schedule by the way of jobs is one as well, and the repeat of a request is not.
    let body = json!({
        "kind": "report", "tenant": "acme", "schedule": "0 5 * * *", "idempotencyKey": "k",
        "jobName": "Morning",
    });
    let line = json!(["schedule.create", null, "acme"]);
    it.done("createJob", "jobs", body.clone(), line).await;
    it.without_record("createJob", "jobs", body.clone(), 200)
        .await;
    let mut without_key = body;
    without_key["idempotencyKey"] = Value::Null;
    it.without_record("createJob", "jobs", without_key, 201)
        .await;
}

async fn work_on_jobs(it: &mut Commands) {
    let none = Value::Null;
    let job = it
        .http
        .create_id(json!({"kind": "later", "delay": "1h", "tenant": "acme"}))
        .await;
    let line = |verb: &str| json!([format!("job.{verb}"), job, "acme"]);
    let path = |verb: &str| format!("jobs/{job}/{verb}");
    it.done(
        "editJob",
        &format!("jobs/{job}"),
        json!({"priority": 7}),
        line("edit"),
    )
    .await;
    it.done("runJobNow", &path("run-now"), none.clone(), line("run_now"))
        .await;
    it.done("cancelJob", &path("cancel"), none.clone(), line("cancel"))
        .await;
    it.without_record("cancelJob", &path("cancel"), none.clone(), 409)
        .await;
    it.done("retryJob", &path("retry"), none, line("retry"))
        .await;

    let dead = it.http.get("/api/v1/dlq").await.is(200);
    let dead: Vec<String> = dead["jobs"].as_array().unwrap().iter().map(id_of).collect();
    let discard = json!({"ids": [dead[0]]});
    let line = json!(["job.discard", dead[0], "default"]);
    it.done("discardDeadLetters", "dlq/discard", discard, line)
        .await;
    let requeue = json!({"ids": [dead[1]]});
    let line = json!(["job.retry", dead[1], "default"]);
    it.done("requeueDeadLetters", "dlq/requeue", requeue, line)
        .await;
}

async fn work_on_many_jobs(it: &mut Commands) {
    let none = Value::Null;
    // One with a pace, so that it is still there to be paused.
    for _ in 0..5 {
        it.http
            .create_id(json!({"kind": "later", "delay": "1h", "tenant": "acme"}))
            .await;
    }
    let new = json!({"kind": "cancel", "filter": {"kind": "later"}, "tenant": "acme", "pace": 1});
    let line = json!(["operation.create", null, "acme"]);
    let id = id_of(&it.done("createOperation", "operations", new, line).await);
    let path = |verb: &str| format!("operations/{id}/{verb}");
    let line = |verb: &str| json!([format!("operation.{verb}"), id, "acme"]);
    it.done(
        "pauseOperation",
        &path("pause"),
        none.clone(),
        line("pause"),
    )
    .await;
    it.done(
        "resumeOperation",
        &path("resume"),
        none.clone(),
        line("resume"),
    )
    .await;
    it.done(
        "cancelOperation",
        &path("cancel"),
        none.clone(),
        line("cancel"),
    )
    .await;
    it.without_record("pauseOperation", &path("pause"), none.clone(), 409)
        .await;

    let open = json!({"open": true, "tenant": "acme"});
    let batch = id_of(&it.http.post("/api/v1/batches", open).await.is(201));
    let path = format!("batches/{batch}/close");
    let line = json!(["batch.close", batch, "acme"]);
    it.done("closeBatch", &path, none.clone(), line).await;
    it.without_record("closeBatch", &path, none, 200).await;
}

#[tokio::test]
async fn each_form_leaves_the_record_of_its_command() {
    let server = Server::start().await;
    let http = &server.http;
    let schedule = json!({"name": "nightly", "schedule": "0 3 * * *", "job": {"kind": "report"}});
    let schedule = id_of(&http.post("/api/v1/schedules", schedule).await.is(201));
    let mut it = Commands::new(http.clone());
    it.added().await;
    let act = format!("/schedules/{schedule}/act");
    let act = act.as_str();
    for (path, form, status, action) in [
        ("/queues/act", "action=pause&queue=mail", 303, "queue.pause"),
        (
            "/queues/act",
            "action=resume&queue=mail",
            303,
            "queue.resume",
        ),
        ("/queues/act", "action=explode&queue=mail", 422, ""),
        (act, "action=pause", 303, "schedule.pause"),
        (act, "action=pause", 303, ""),
        (act, "action=run-now", 303, "schedule.run_now"),
        (act, "action=delete", 200, ""),
        (act, "action=delete&confirmed=1", 303, "schedule.delete"),
        (
            "/endpoints/act",
            "action=create&url=https%3A%2F%2Fexample.com",
            200,
            "endpoint.create",
        ),
        (
            "/gates/act",
            "action=set&scope=kind&key=report&maxRunning=5",
            303,
            "gate.edit",
        ),
        (
            "/keys/act",
            "action=create&name=ci&scope=admin",
            200,
            "key.create",
        ),
    ] {
        let headers = [
            ("content-type", "application/x-www-form-urlencoded"),
            ("sec-fetch-site", "same-origin"),
        ];
        let reply = http.send("POST", path, &headers, form).await;
        assert_eq!(reply.status, status, "{path} {form} {}", reply.body);
        if action == "key.create" {
            // From now on a key is needed.
            break;
        }
        let added = it.added().await;
        let line: Vec<&Value> = added.iter().map(|record| &record["action"]).collect();
        let expected: Vec<&str> = Some(action)
            .filter(|it| !it.is_empty())
            .into_iter()
            .collect();
        assert_eq!(line, expected, "{path} {form}");
        assert!(added.iter().all(|it| it["actor"]["name"] == "dashboard"));
    }
    let admin = server.key(Scope::Admin, None).await;
    let list = admin.get("/api/v1/audit?action=key.create").await.is(200);
    let record = &list["records"][0];
    assert_eq!(
        (&record["detail"], &record["actor"]["name"]),
        (&json!("ci"), &json!("dashboard"))
    );
}
