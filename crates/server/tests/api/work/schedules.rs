//! Schedules: made, changed, paused, and each tick once.

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Value, json};

use crate::{
    client::Http,
    server::{Server, each, id_of, millis, time, until},
    target::{Target, says},
};

async fn make(http: &Http, body: Value) -> Value {
    http.post("/api/v1/schedules", body).await.is(201)
}

async fn ticks(http: &Http, id: &str) -> Vec<Value> {
    let path = format!("/api/v1/schedules/{id}/ticks?limit=500");
    let page = http.get(&path).await.is(200);
    page["ticks"].as_array().unwrap().clone()
}

#[tokio::test]
async fn every_second_for_twenty_seconds_each_tick_is_one_run() {
    let server = Server::start().await;
    let target = Target::always(200).await;
    let body = json!({
        "name": "each-second", "schedule": "* * * * * *", "overlap": "allow",
        "job": {"api": target.url()}
    });
    let id = id_of(&make(&server.http, body).await);
    let fired = |http: Http, id: String, count: usize| async move {
        until(&format!("{count} ticks"), || async {
            let ticks = ticks(&http, &id).await;
            (ticks.len() >= count).then_some(ticks)
        })
        .await
    };
    fired(server.http.clone(), id.clone(), 10).await;
    let paused = server.http.command("schedules", &id, "pause").await.is(200);
    assert_eq!(paused["paused"], true);
    assert_eq!(paused["upcoming"], json!([]));
    let before = ticks(&server.http, &id).await.len();
    let resumed = server
        .http
        .command("schedules", &id, "resume")
        .await
        .is(200);
    assert_eq!(resumed["paused"], false);
    let ticks = fired(server.http.clone(), id.clone(), before + 10).await;

    assert_eq!(each(&ticks, "skipped"), vec![Value::Null; ticks.len()]);
    let times: BTreeSet<i64> = each(&ticks, "at")
        .iter()
        .map(|at| time(at).as_micros())
        .collect();
    assert_eq!(times.len(), ticks.len(), "no tick twice");
    assert!(times.iter().all(|micros| micros % 1_000_000 == 0));
    let apart: Vec<i64> = times
        .iter()
        .zip(times.iter().skip(1))
        .map(|(one, next)| next - one)
        .collect();
    // A pause swallows the ticks that it covers, and no others.
    let gaps = apart.iter().filter(|micros| **micros != 1_000_000).count();
    assert!(gaps <= 1, "{apart:?}");

    // Each tick made one job, and each job asked the target once.
    server.http.command("schedules", &id, "pause").await.is(200);
    let runs = until("all runs to end", || async {
        let path = format!("/api/v1/jobs?schedule={id}&limit=500");
        let runs = server.http.get(&path).await.is(200);
        let runs = runs["jobs"].as_array().unwrap().clone();
        let is_done = runs.iter().all(|run| run["label"] == "succeeded");
        (is_done && runs.len() >= ticks.len()).then_some(runs)
    })
    .await;
    let of_runs: BTreeSet<String> = each(&runs, "scheduledFor")
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(of_runs.len(), runs.len(), "no tick has two runs");
    let asked: BTreeSet<String> = target
        .seen()
        .iter()
        .map(|seen| seen.headers["steadfast-job-id"].clone())
        .collect();
    assert_eq!(asked.len(), runs.len());
    assert_eq!(target.seen().len(), runs.len());
}

#[tokio::test]
async fn a_tick_is_skipped_while_the_run_before_it_is_unfinished() {
    let server = Server::start().await;
    let target = Target::start(|_| says(200).after(Duration::from_millis(2_500))).await;
    let body = json!({"name": "slow", "every": "1s", "job": {"api": target.url()}});
    let id = id_of(&make(&server.http, body).await);
    let all = until("a skipped tick and a second run", || async {
        let ticks = ticks(&server.http, &id).await;
        let runs = ticks.iter().filter(|tick| tick["jobId"].is_string());
        let has_skip = ticks.iter().any(|tick| tick["skipped"].is_object());
        (has_skip && runs.count() >= 2).then_some(ticks)
    })
    .await;
    let skipped = all.iter().find(|tick| tick["skipped"].is_object());
    let skipped = &skipped.unwrap()["skipped"];
    assert_eq!(skipped["reason"], "overlap");
    assert!(skipped["count"].as_u64().unwrap() >= 1);
}

#[tokio::test]
async fn a_schedule_is_made_listed_changed_and_deleted() {
    let server = Server::start().await;
    let body = json!({
        "name": "nightly", "schedule": "30 2 * * *", "timezone": "Europe/Berlin",
        "missed": "skip", "overlap": "queueOne", "maxRuns": 5,
        "job": {"kind": "report", "payload": {"n": 1}}
    });
    let made = make(&server.http, body.clone()).await;
    let id = id_of(&made);
    assert_eq!(made["timezone"], "Europe/Berlin");
    assert_eq!(made["missed"], "skip");
    assert_eq!(made["maxRuns"], 5);
    assert_eq!(made["job"]["payload"], json!({"n": 1}));
    assert_eq!(made["upcoming"].as_array().unwrap().len(), 5);
    assert_eq!(made["upcoming"][0]["at"], made["nextTick"]);
    // The same name is the same schedule.
    assert_eq!(id_of(&make(&server.http, body).await), id);
    let list = server.http.get("/api/v1/schedules").await.is(200);
    let listed = each(list["schedules"].as_array().unwrap(), "id");
    assert_eq!(json!(listed), json!([id]));

    let path = format!("/api/v1/schedules/{id}");
    let change = json!({"every": "90s", "job": {"kind": "report", "payload": {"n": 2}}});
    let changed = server.http.patch(&path, change).await.is(200);
    assert_eq!(changed["every"], "1m30s");
    assert_eq!(changed["schedule"], Value::Null);
    assert_eq!(changed["job"]["payload"], json!({"n": 2}));
    let at = &changed["upcoming"];
    assert_eq!(millis(&at[0]["at"], &at[1]["at"]), 90_000);

    let run = server
        .http
        .command("schedules", &id, "run-now")
        .await
        .is(201);
    assert_eq!(run["scheduleId"], json!(id));
    assert_eq!(run["kind"], "report");
    let upcoming = server.http.get(&format!("{path}/ticks?limit=3")).await;
    assert_eq!(upcoming.is(200)["upcoming"].as_array().unwrap().len(), 3);

    server.http.delete(&path).await.is(204);
    server
        .http
        .get(&path)
        .await
        .is_problem(404, "not_found", None);
    server
        .http
        .delete(&path)
        .await
        .is_problem(404, "not_found", None);
    let kept = server.http.read_job(&id_of(&run)).await;
    assert_eq!(kept["label"], "ready", "runs it has made go on");
}

#[tokio::test]
async fn ticks_near_a_change_of_clocks_are_marked() {
    let server = Server::start().await;
    // In 2031 the clocks of Berlin jump from 2 to 3 on 30 March.
    let body = json!({
        "name": "gap", "schedule": "30 2 * * *", "timezone": "Europe/Berlin",
        "startAt": "2031-03-29T12:00:00Z", "job": {"kind": "report"}
    });
    let made = make(&server.http, body).await;
    let first = &made["upcoming"][0];
    assert_eq!(first["at"], "2031-03-30T01:00:00Z");
    assert_eq!(first["dst"], "gap");
    assert_eq!(made["upcoming"][1]["dst"], Value::Null);
}

#[tokio::test]
async fn a_schedule_ends_after_its_last_run() {
    let server = Server::start().await;
    let body = json!({
        "name": "twice", "every": "1s", "maxRuns": 2, "overlap": "allow",
        "job": {"kind": "report"}
    });
    let id = id_of(&make(&server.http, body).await);
    let path = format!("/api/v1/schedules/{id}");
    let ended = until("the last run", || async {
        let schedule = server.http.get(&path).await.is(200);
        (schedule["nextTick"] == Value::Null).then_some(schedule)
    })
    .await;
    assert_eq!(ended["runs"], 2);
    assert_eq!(ended["upcoming"], json!([]));
}

#[tokio::test]
async fn a_recurring_job_never_replaces_a_different_schedule() {
    let server = Server::start().await;
    let create = |name: &'static str, kind: &'static str, cron: &'static str| {
        let body = json!({"kind": kind, "jobName": name, "schedule": cron});
        server.http.post("/api/v1/jobs", body)
    };
    let first = create("Critical Task", "report", "0 3 * * *").await.is(201);
    assert_eq!(first["name"], "critical-task");
    for name in ["critical-task", "Critical!Task", "critical task"] {
        let other = create(name, "report", "0 4 * * *").await;
        other.is_problem(409, "name_taken", Some("jobName"));
    }
    let other = create("Critical Task", "mail", "0 4 * * *").await;
    other.is_problem(409, "name_taken", Some("jobName"));
    let path = format!("/api/v1/schedules/{}", id_of(&first));
    assert_eq!(
        server.http.get(&path).await.is(200)["schedule"],
        "0 3 * * *"
    );
    // The same name for the same work is an update.
    let updated = create("Critical Task", "report", "0 5 * * *").await.is(201);
    assert_eq!(id_of(&updated), id_of(&first));
    assert_eq!(updated["schedule"], "0 5 * * *");

    let http = |url: &'static str| {
        let body = json!({"api": url, "jobName": "ping", "schedule": "@hourly"});
        server.http.post("/api/v1/jobs", body)
    };
    http("http://127.0.0.1:9/a").await.is(201);
    http("http://127.0.0.1:9/a").await.is(201);
    let other = http("http://127.0.0.1:9/b").await;
    other.is_problem(409, "name_taken", Some("jobName"));
    let keyed = json!({"kind": "report", "jobName": "Critical Task", "schedule": "0 5 * * *",
        "idempotencyKey": "k"});
    let keyed = server.http.post("/api/v1/jobs", keyed).await;
    keyed.is_problem(409, "name_taken", Some("jobName"));
    let both = json!({"kind": "x", "schedule": "@hourly", "isRecurring": false, "delay": "1s"});
    let both = server.http.post("/api/v1/jobs", both).await;
    both.is_problem(422, "invalid", Some("delay"));
}

#[tokio::test]
async fn null_in_an_edit_clears_what_can_be_cleared() {
    let server = Server::start().await;
    let body = json!({
        "name": "limited", "schedule": "0 3 * * *", "startAt": "2030-01-01T00:00:00Z",
        "endAt": "2031-01-01T00:00:00Z", "maxRuns": 5, "job": {"kind": "report"}
    });
    let made = make(&server.http, body).await;
    let path = format!("/api/v1/schedules/{}", id_of(&made));
    let kept = server
        .http
        .patch(&path, json!({"overlap": "allow"}))
        .await
        .is(200);
    for field in ["startAt", "endAt", "maxRuns"] {
        assert_eq!(kept[field], made[field]);
        let edit = json!({field: Value::Null});
        let cleared = server.http.patch(&path, edit).await.is(200);
        assert_eq!(cleared[field], Value::Null, "{field}");
    }
    for field in ["schedule", "every", "timezone", "overlap", "missed", "job"] {
        let refused = server.http.patch(&path, json!({field: Value::Null})).await;
        refused.is_problem(422, "invalid", Some(field));
    }

    let job = json!({"kind": "report", "payload": {"n": 1}, "delay": "1h"});
    let job = server.http.post("/api/v1/jobs", job).await.is(201);
    let path = format!("/api/v1/jobs/{}", id_of(&job));
    let cleared = server.http.patch(&path, json!({"payload": null})).await;
    assert_eq!(cleared.is(200)["payload"], Value::Null);
    for field in ["retry", "runAt", "priority"] {
        let refused = server.http.patch(&path, json!({field: Value::Null})).await;
        refused.is_problem(422, "invalid", Some(field));
    }
    let http = json!({"api": "http://127.0.0.1:9/", "delay": "1h"});
    let http = server.http.post("/api/v1/jobs", http).await.is(201);
    let path = format!("/api/v1/jobs/{}", id_of(&http));
    let refused = server.http.patch(&path, json!({"payload": null})).await;
    refused.is_problem(422, "invalid", Some("payload"));
}

#[tokio::test]
async fn a_schedule_is_named_by_its_id_or_its_name() {
    let server = Server::start().await;
    let body = json!({"name": "reports/nightly", "every": "1h", "job": {"kind": "report"}});
    let id = id_of(&make(&server.http, body.clone()).await);
    let path = "/api/v1/schedules/reports%2Fnightly";
    assert_eq!(id_of(&server.http.get(path).await.is(200)), id);
    let edited = server.http.patch(path, json!({"every": "2h"})).await;
    assert_eq!(edited.is(200)["every"], "2h");
    for verb in ["pause", "resume"] {
        let path = format!("{path}/{verb}");
        assert_eq!(id_of(&server.http.post_empty(&path).await.is(200)), id);
    }
    let run = server.http.post_empty(&format!("{path}/run-now")).await;
    assert_eq!(run.is(201)["scheduleId"], json!(id));
    let ticks = server.http.get(&format!("{path}/ticks")).await.is(200);
    assert_eq!(ticks["ticks"].as_array().unwrap().len(), 1);

    // Another tenant has the same name: a caller that sees both must say which.
    let mut other = body;
    other["job"]["tenant"] = json!("acme");
    make(&server.http, other).await;
    let ambiguous = server.http.get(path).await;
    ambiguous.is_problem(409, "ambiguous", None);
    server
        .http
        .delete(&format!("/api/v1/schedules/{id}"))
        .await
        .is(204);
    server.http.delete(path).await.is(204);
    for gone in ["reports%2Fnightly", "no such name", "sch_nonsense"] {
        let path = format!("/api/v1/schedules/{}", gone.replace(' ', "%20"));
        let gone = server.http.get(&path).await;
        gone.is_problem(404, "not_found", None);
    }
}

#[tokio::test]
async fn a_schedule_that_cannot_be_read_says_so_and_can_be_deleted() {
    let server = Server::start().await;
    let body = json!({"name": "broken", "every": "1h", "job": {"kind": "k"}});
    let schedule = server.http.post("/api/v1/schedules", body).await.is(201);
    server.spoil("UPDATE steadfast_record SET body = 'no JSON' WHERE kind = 'schedule'");
    let path = format!("/api/v1/schedules/{}", id_of(&schedule));
    let reply = server.http.get(&path).await;
    reply.is_problem(409, "damaged", None);
    let pause = server.http.post_empty(&format!("{path}/pause")).await;
    pause.is_problem(409, "damaged", None);
    assert_eq!(server.http.delete(&path).await.status, 204);
    server
        .http
        .get(&path)
        .await
        .is_problem(404, "not_found", None);
    let again = server.http.delete(&path).await;
    again.is_problem(404, "not_found", None);
}

#[tokio::test]
async fn a_schedule_names_its_tenant_as_a_job_does() {
    let server = Server::start().await;
    let body = |tenant: Value, of_job: Value| {
        json!({"name": "nightly", "tenant": tenant, "schedule": "@daily",
            "job": {"kind": "report", "tenant": of_job}})
    };
    for (tenant, of_job) in [("acme", None), ("shop", Some("shop"))] {
        let made = make(&server.http, body(json!(tenant), json!(of_job))).await;
        assert_eq!(made["job"]["tenant"], tenant);
    }
    let refused = body(json!("acme"), json!("shop"));
    let refused = server.http.post("/api/v1/schedules", refused).await;
    refused.is_problem(422, "invalid", Some("tenant"));
}
