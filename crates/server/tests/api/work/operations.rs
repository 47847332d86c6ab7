//! Work on many jobs, and who did what.

use serde_json::{Value, json};
use steadfast_server::keys::Scope;

use crate::{
    client::Http,
    server::{Server, each, id_of, time, until},
};

const OPERATIONS: &str = "/api/v1/operations";

/// Makes a job that fails for good, and returns its id.
async fn dead(http: &Http, queue: &str, number: u32, message: &str) -> String {
    let body = json!({
        "kind": "mail", "queue": queue, "retry": "once", "tags": {"number": number.to_string()},
    });
    let id = http.create_id(body).await;
    let claim = &http.claim("mail", "20s").await[0];
    let failure = json!({"failure": {"class": "error", "message": message}});
    http.report(claim, "fail", failure).await.is(200);
    id
}

/// A job that waits.
async fn waiting(http: &Http, queue: &str) -> String {
    let body = json!({"kind": "later", "queue": queue, "delay": "1h"});
    http.create_id(body).await
}

async fn create(http: &Http, body: Value) -> String {
    id_of(&http.post(OPERATIONS, body).await.is(201))
}

async fn read(http: &Http, id: &str) -> Value {
    http.get(&format!("{OPERATIONS}/{id}")).await.is(200)
}

/// The operation, when it has ended.
async fn ended(http: &Http, id: &str) -> Value {
    until("the operation to end", || async {
        let operation = read(http, id).await;
        (!operation["finishedAt"].is_null()).then_some(operation)
    })
    .await
}

/// What was done to each job, newest first.
async fn results(http: &Http, id: &str, query: &str) -> Value {
    let path = format!("{OPERATIONS}/{id}/jobs{query}");
    let list = http.get(&path).await.is(200);
    let jobs = list["jobs"].as_array().unwrap();
    json!(
        jobs.iter()
            .map(|row| json!([row["job"], row["result"]]))
            .collect::<Vec<_>>()
    )
}

async fn audit(http: &Http, query: &str) -> Vec<Value> {
    let list = http.get(&format!("/api/v1/audit{query}")).await.is(200);
    list["records"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_filter_selects_by_queue_tag_or_fingerprint_and_a_dry_run_counts() {
    let server = Server::start().await;
    let http = &server.http;
    let a = dead(http, "a", 1, "row 1 is wrong").await;
    let b = dead(http, "a", 2, "row 2 is wrong").await;
    let c = dead(http, "b", 2, "no disk").await;
    let print = http.read_job(&c).await["failure"]["fingerprint"].clone();
    for (filter, count) in [
        (json!({"queue": "a"}), 2),
        (json!({"tag": ["number:2"]}), 2),
        (json!({"tag": ["number:2"], "queue": "a"}), 1),
        (json!({"fingerprint": print}), 1),
        (json!({"queue": "none"}), 0),
    ] {
        let body = json!({"kind": "requeue", "filter": filter, "dryRun": true});
        let dry = http.post(OPERATIONS, body).await.is(200);
        let expected = json!({"count": count, "dryRun": true, "atLeast": false});
        assert_eq!(dry, expected, "{filter}");
    }
    let list = http.get(OPERATIONS).await.is(200);
    assert_eq!(list["operations"], json!([]), "a dry run stores nothing");
    assert_eq!(audit(http, "").await, [] as [Value; 0]);

    let by_print = json!({"kind": "requeue", "filter": {"fingerprint": print}});
    let done = ended(http, &create(http, by_print).await).await;
    assert_eq!(done["status"], "done");
    assert_eq!(http.read_job(&c).await["label"], "ready");
    let by_tag = json!({"kind": "discard", "filter": {"tag": ["number:2"]}});
    let id = create(http, by_tag).await;
    ended(http, &id).await;
    assert_eq!(results(http, &id, "").await, json!([[b, "changed"]]));
    assert_eq!(http.read_job(&a).await["label"], "failed");
    let left = http.get("/api/v1/dlq").await.is(200);
    assert_eq!(each(left["jobs"].as_array().unwrap(), "id"), [json!(a)]);
}

#[tokio::test]
async fn named_jobs_have_their_results_in_pages_and_the_report_counts_them() {
    let server = Server::start().await;
    let http = &server.http;
    let dead = dead(http, "a", 1, "no disk").await;
    let waits = waiting(http, "a").await;
    let gone = format!("job_{}", "0".repeat(dead.len() - 4));
    let body = json!({"kind": "retry", "ids": [gone, dead, waits, dead]});
    let mut dry = body.clone();
    dry["dryRun"] = json!(true);
    assert_eq!(http.post(OPERATIONS, dry).await.is(200)["count"], 1);
    let reply = http.post(OPERATIONS, body).await;
    let id = id_of(&reply.is(201));
    assert_eq!(reply.headers["location"], format!("{OPERATIONS}/{id}"));
    let done = ended(http, &id).await;
    assert_eq!(done["isNamed"], true);
    assert_eq!(done["by"], json!({"key": null, "name": "api"}));
    assert_eq!(
        (&done["total"], &done["worked"], &done["changed"]),
        (&json!(3), &json!(3), &json!(1))
    );
    assert_eq!(
        done["report"],
        "retry of 3 jobs is done: 1 changed, 2 not changed"
    );
    let all = [
        json!([waits, "waiting"]),
        json!([dead, "changed"]),
        json!([gone, "gone"]),
    ];
    assert_eq!(results(http, &id, "").await, json!(all));
    let left = results(http, &id, "?notChanged=true").await;
    assert_eq!(left, json!([all[0], all[2]]));
    let path = format!("{OPERATIONS}/{id}/jobs?limit=2");
    let page = http.get(&path).await.is(200);
    assert_eq!(page["jobs"].as_array().unwrap().len(), 2);
    let next = page["nextCursor"].as_str().unwrap();
    let rest = results(http, &id, &format!("?limit=2&after={next}")).await;
    assert_eq!(rest, json!([all[2]]));

    let edit = json!({"kind": "edit_policy", "ids": [waits], "retry": {"baseDelay": "3s"}});
    ended(http, &create(http, edit).await).await;
    assert_eq!(http.read_job(&waits).await["retry"]["baseDelay"], "3s");

    // None of them allows it, and each says why.
    let id = create(http, json!({"kind": "discard", "ids": [waits]})).await;
    let none = ended(http, &id).await;
    assert_eq!(
        (&none["status"], &none["changed"]),
        (&json!("done"), &json!(0))
    );
    let rows = results(http, &id, "").await;
    assert_eq!(rows[0][0], json!(waits));
    assert!(rows[0][1].is_string(), "{rows}");
}

// long: a table of requests
#[tokio::test]
async fn what_is_wrong_is_named() {
    let server = Server::start().await;
    let http = &server.http;
    let job = waiting(http, "a").await;
    for (body, field) in [
        (json!({"kind": "cancel"}), "filter"),
        (json!({"kind": "cancel", "filter": {}}), "filter"),
        (
            json!({"kind": "cancel", "filter": {"tenant": "acme"}}),
            "filter",
        ),
        (
            json!({"kind": "cancel", "tenant": "acme", "dryRun": true}),
            "filter",
        ),
        (json!({"kind": "explode", "all": true}), "kind"),
        (json!({"kind": "cancel", "ids": []}), "ids"),
        (json!({"kind": "cancel", "ids": [job], "all": true}), "ids"),
        (
            json!({"kind": "cancel", "ids": [job], "filter": {"queue": "a"}}),
            "ids",
        ),
        (
            json!({"kind": "cancel", "filter": {"queue": "a", "limit": 5}}),
            "filter",
        ),
        (
            json!({"kind": "cancel", "filter": {"queue": "a b"}}),
            "filter.queue",
        ),
        (
            json!({"kind": "cancel", "filter": {"tag": ["x"]}}),
            "filter.tag",
        ),
        (
            json!({"kind": "cancel", "filter": {"queue": "a", "tenant": "b"}, "tenant": "c"}),
            "tenant",
        ),
        (json!({"kind": "cancel", "all": true, "pace": 0}), "pace"),
        (
            json!({"kind": "cancel", "all": true, "mode": "canary"}),
            "mode",
        ),
        (
            json!({"kind": "requeue", "all": true, "mode": "slow"}),
            "mode",
        ),
        (
            json!({"kind": "requeue", "all": true, "failShareMax": 0.5}),
            "failShareMax",
        ),
        (
            json!({"kind": "requeue", "all": true, "mode": "canary", "failShareMax": 2}),
            "failShareMax",
        ),
        (json!({"kind": "edit_policy", "all": true}), "retry"),
        (
            json!({"kind": "cancel", "all": true, "retry": "http"}),
            "kind",
        ),
    ] {
        let reply = http.post(OPERATIONS, body.clone()).await;
        assert_eq!(reply.status, 422, "{body} {}", reply.body);
        reply.is_problem(422, "invalid", Some(field));
    }
    let never = format!("opr_{}", "0".repeat(26));
    for path in ["", "/jobs"] {
        let path = format!("{OPERATIONS}/{never}{path}");
        assert_eq!(http.get(&path).await.is(404)["code"], "not_found");
    }
    assert_eq!(http.get(OPERATIONS).await.is(200)["operations"], json!([]));
    assert_eq!(audit(http, "").await, [] as [Value; 0]);
    assert_eq!(http.read_job(&job).await["label"], "scheduled");
    let everything = json!({"kind": "cancel", "all": true});
    ended(http, &create(http, everything).await).await;
    assert_eq!(http.read_job(&job).await["label"], "cancelled");
}

#[tokio::test]
async fn an_operation_is_paused_resumed_and_cancelled_and_the_audit_names_the_caller() {
    let server = Server::start().await;
    let admin = server.key(Scope::Admin, None).await;
    let reader = server.key(Scope::Read, None).await;
    let jobs: Vec<Value> = (0..40)
        .map(|_| json!({"kind": "later", "tenant": "acme", "delay": "1h"}))
        .collect();
    admin
        .post("/api/v1/jobs", json!({"jobs": jobs}))
        .await
        .is(201);
    let body = json!({"kind": "cancel", "all": true, "tenant": "acme", "pace": 1});
    let refused = reader.post(OPERATIONS, body.clone()).await;
    refused.is_problem(403, "wrong_scope", None);
    let created = admin.post(OPERATIONS, body).await.is(201);
    assert_eq!(
        (&created["status"], &created["total"], &created["tenant"]),
        (&json!("running"), &json!(40), &json!("acme"))
    );
    let id = id_of(&created);
    let pause = admin.command("operations", &id, "pause").await.is(200);
    assert_eq!(pause["status"], "paused");
    let held = read(&reader, &id).await["worked"].as_u64().unwrap();
    let resumed = admin.command("operations", &id, "resume").await.is(200);
    assert_eq!(resumed["status"], "running");
    assert_eq!(resumed["worked"], held);
    let again = admin.command("operations", &id, "resume").await;
    again.is_problem(409, "refused", None);
    let open = reader.get(&format!("{OPERATIONS}?open=true")).await.is(200);
    assert_eq!(
        each(open["operations"].as_array().unwrap(), "id"),
        [json!(id)]
    );
    let ended = admin.command("operations", &id, "cancel").await.is(200);
    assert_eq!(ended["status"], "cancelled");
    assert!(ended["worked"].as_u64().unwrap() < 40, "{ended}");
    let report = ended["report"].as_str().unwrap();
    assert!(report.contains("skipped"), "{report}");
    for verb in ["pause", "resume", "cancel"] {
        let refused = admin.command("operations", &id, verb).await;
        refused.is_problem(409, "refused", None);
    }
    let open = reader.get(&format!("{OPERATIONS}?open=true")).await.is(200);
    assert_eq!(open["operations"], json!([]));

    let records = audit(&reader, &format!("?subject={id}")).await;
    assert_eq!(
        json!(each(&records, "action")),
        json!([
            "operation.cancel",
            "operation.resume",
            "operation.pause",
            "operation.create"
        ])
    );
    for record in &records {
        assert_eq!(record["tenant"], "acme");
        assert_eq!(record["actor"]["name"], "admin of None");
        assert!(record["actor"]["key"].as_str().unwrap().starts_with("key_"));
        assert!(
            time(&record["at"]) >= time(&created["createdAt"]),
            "{record}"
        );
    }
    let detail = "cancel of 40 jobs: tenant acme, unfinished";
    assert_eq!(records[3]["detail"], detail);
    let found = audit(&reader, "?action=operation.&by=admin%20of%20None&limit=2").await;
    assert_eq!(found, records[..2]);
}

#[tokio::test]
async fn jobs_and_operations_of_another_tenant_are_not_found_and_not_touched() {
    let server = Server::start().await;
    let acme = server.key(Scope::Tenant, Some("acme")).await;
    let other = server.key(Scope::Tenant, Some("other")).await;
    let theirs = waiting(&acme, "a").await;
    let own = waiting(&other, "a").await;
    let reply = other
        .post(OPERATIONS, json!({"kind": "cancel", "ids": [theirs]}))
        .await;
    reply.is_problem(404, "not_found", None);
    let never = format!("job_{}", "0".repeat(theirs.len() - 4));
    let absent = other
        .post(OPERATIONS, json!({"kind": "cancel", "ids": [never]}))
        .await;
    assert_eq!(absent.body.replace(&never, &theirs), reply.body);
    let named = json!({"kind": "cancel", "all": true, "tenant": "acme"});
    let reply = other.post(OPERATIONS, named).await;
    reply.is_problem(403, "wrong_scope", Some("tenant"));
    for body in [
        json!({"kind": "run_now", "ids": [theirs, own]}),
        json!({"kind": "cancel", "filter": {"queue": "a"}}),
        json!({"kind": "cancel", "all": true}),
    ] {
        ended(&other, &create(&other, body).await).await;
    }
    assert_eq!(acme.read_job(&theirs).await["label"], "scheduled");
    assert_eq!(other.read_job(&own).await["label"], "cancelled");

    let id = create(&acme, json!({"kind": "run_now", "all": true})).await;
    ended(&acme, &id).await;
    let path = format!("{OPERATIONS}/{id}");
    for path in [path.clone(), format!("{path}/jobs")] {
        other.get(&path).await.is_problem(404, "not_found", None);
    }
    for verb in ["pause", "resume", "cancel"] {
        let reply = other.command("operations", &id, verb).await;
        reply.is_problem(404, "not_found", None);
    }
    let list = other.get(OPERATIONS).await.is(200);
    let list = list["operations"].as_array().unwrap();
    assert!(list.iter().all(|operation| operation["tenant"] == "other"));
    let records = audit(&other, "").await;
    assert_eq!(records.len(), 3);
    assert!(records.iter().all(|record| record["tenant"] == "other"));
    let reply = other.get("/api/v1/audit?tenant=acme").await;
    reply.is_problem(403, "wrong_scope", Some("tenant"));
    assert_eq!(audit(&acme, "").await.len(), 1);
}

#[tokio::test]
async fn each_command_leaves_one_record_of_its_tenant() {
    let server = Server::start().await;
    let a = dead(&server.http, "a", 1, "no disk").await;
    let b = dead(&server.http, "b", 2, "no disk").await;
    let c = dead(&server.http, "c", 3, "no disk").await;
    let d = dead(&server.http, "d", 4, "no disk").await;
    let admin = server.key(Scope::Admin, None).await;
    let reader = server.key(Scope::Read, Some("acme")).await;
    let requeue = "/api/v1/dlq/requeue";
    let dry = json!({"queue": "a", "dryRun": true});
    admin.post(requeue, dry).await.is(200);
    let by_filter = json!({"queue": "a"});
    let requeued = admin.post(requeue, by_filter).await.is(200);
    assert_eq!(requeued["count"], 1);
    let operation = requeued["operation"].clone();
    let discard = json!({"ids": [b, a]});
    let done = admin.post("/api/v1/dlq/discard", discard).await.is(200);
    assert_eq!(done["count"], 1);
    admin.command("jobs", &a, "cancel").await.is(200);
    let pause = "/api/v1/queues/mail/pause?tenant=acme";
    admin.post_empty(pause).await.is(204);
    let refused = admin.command("jobs", &a, "cancel").await;
    assert_eq!(refused.status, 409, "{}", refused.body);
    let both = json!({"ids": [c, d]});
    let both = admin.post("/api/v1/dlq/discard", both).await.is(200);
    let records = audit(&admin, "").await;
    let told: Vec<Value> = records
        .iter()
        .map(|record| json!([record["action"], record["subject"], record["tenant"]]))
        .collect();
    assert_eq!(
        json!(told),
        json!([
            ["operation.create", both["operation"], "default"],
            ["queue.pause", "mail", "acme"],
            ["job.cancel", a, "default"],
            ["job.discard", b, "default"],
            ["operation.create", operation, null],
        ])
    );
    assert!(
        each(&records, "actor")
            .iter()
            .all(|actor| actor["name"] == "admin of None")
    );
    let own = audit(&reader, "").await;
    assert_eq!(own, records[1..2]);
    for (query, field) in [
        ("from=x", "from"),
        ("limit=0", "limit"),
        ("after=x", "after"),
    ] {
        let reply = admin.get(&format!("/api/v1/audit?{query}")).await;
        reply.is_problem(422, "invalid", Some(field));
    }
}

#[tokio::test]
async fn commands_of_the_dashboard_leave_their_records() {
    let server = Server::start().await;
    let http = &server.http;
    let job = waiting(http, "a").await;
    let form = async |path: &str, body: &str| {
        let headers = [
            ("content-type", "application/x-www-form-urlencoded"),
            ("sec-fetch-site", "same-origin"),
        ];
        http.send("POST", path, &headers, body).await.status
    };
    let page = format!("/jobs/{job}/act");
    assert_eq!(form(&page, "action=run-now").await, 303);
    assert_eq!(form(&page, "action=explode").await, 422);
    assert_eq!(form("/queues/act", "action=pause&queue=mail").await, 303);
    // A question is no command yet.
    let all = "scope=all&action=cancel&queue=a";
    assert_eq!(form("/jobs/act", all).await, 200);
    assert_eq!(form("/jobs/act", &format!("{all}&confirmed=1")).await, 303);
    let list = http.get(OPERATIONS).await.is(200);
    let operation = &list["operations"][0];
    assert_eq!(
        (&operation["kind"], &operation["changed"]),
        (&json!("cancel"), &json!(1))
    );
    let pause = format!("/operations/{}/act", operation["id"].as_str().unwrap());
    assert_eq!(form(&pause, "action=pause").await, 409, "it has ended");
    let records = audit(http, "").await;
    let told: Vec<Value> = records
        .iter()
        .map(|record| json!([record["action"], record["subject"], record["actor"]["name"]]))
        .collect();
    assert_eq!(
        json!(told),
        json!([
            ["operation.create", operation["id"], "dashboard"],
            ["queue.pause", "mail", "dashboard"],
            ["job.run_now", job, "dashboard"],
        ])
    );
    assert_eq!(records[2]["tenant"], "default");
}

#[tokio::test]
async fn a_canary_waits_for_the_outcomes_of_each_stage_and_of_the_last() {
    let server = Server::start().await;
    let http = &server.http;
    for number in 0..4 {
        dead(http, "a", number, "no disk").await;
    }
    let id = create(
        http,
        json!({"kind": "requeue", "all": true, "mode": "canary"}),
    )
    .await;
    let worked = async |count: u64| {
        until("jobs to be requeued", || async {
            let operation = read(http, &id).await;
            (operation["worked"] == count).then_some(operation)
        })
        .await
    };
    let succeed = async |count: usize| {
        let mut ended = 0;
        while ended < count {
            for claim in http.claim("mail", "20s").await {
                http.report(&claim, "succeed", json!({})).await.is(200);
                ended += 1;
            }
        }
    };
    assert_eq!(worked(3).await["status"], "running");
    succeed(3).await;
    assert_eq!(worked(4).await["status"], "running", "one is not known yet");
    succeed(1).await;
    let done = ended(http, &id).await;
    assert_eq!(
        (&done["status"], &done["mode"]),
        (&json!("done"), &json!("canary"))
    );
    assert_eq!(done["outcomes"]["succeeded"], 4);
    assert_eq!(done["stopReason"], Value::Null);
}

#[tokio::test]
async fn a_rotation_of_the_encryption_key_is_for_operators_and_has_no_jobs() {
    let server = Server::start().await;
    let kind = json!({"kind": "rotate_encryption"});
    let refused = server.http.post(OPERATIONS, kind.clone()).await.is(422);
    let detail = refused["detail"].as_str().unwrap();
    assert!(
        detail.contains("this node has no encryption key"),
        "{detail}"
    );
    for extra in [
        json!({"all": true}),
        json!({"filter": {"queue": "a"}}),
        json!({"pace": 5}),
        json!({"dryRun": true}),
    ] {
        let mut body = kind.clone();
        let fields = extra.as_object().unwrap().clone();
        body.as_object_mut().unwrap().extend(fields);
        let refused = server.http.post(OPERATIONS, body).await.is(422);
        assert_eq!(refused["field"], "kind", "{extra}");
    }
    let admin = server.key(Scope::Admin, None).await;
    let tenant = server.key(Scope::Tenant, Some("acme")).await;
    tenant.post(OPERATIONS, kind.clone()).await.is(403);
    admin.post(OPERATIONS, kind).await.is(422);
}
