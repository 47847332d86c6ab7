//! What follows a failure: by status, by Retry-After, by rule, by preset.

use serde_json::{Value, json};
use steadfast_server::keys::Scope;

use crate::{
    client::Http,
    server::{Server, id_of, millis, time},
    target::{Target, says},
};

#[tokio::test]
async fn a_404_fails_at_once_and_a_503_is_retried() {
    let server = Server::start().await;
    let (gone, busy) = (Target::always(404).await, Target::failing(1).await);
    let retry = json!({"baseDelay": "100ms"});
    let lost = json!({"api": gone.url(), "retry": retry});
    let lost = server.http.create_id(lost).await;
    let later = json!({"api": busy.url(), "retry": retry});
    let later = server.http.create_id(later).await;

    let job = server.http.wait_for_label(&lost, "failed").await;
    assert_eq!(job["reason"], "non_retryable");
    assert_eq!(job["failure"]["class"], "not_found");
    assert_eq!(job["failure"]["httpStatus"], 404);
    assert_eq!(gone.seen().len(), 1);

    let job = server.http.wait_for_label(&later, "succeeded").await;
    assert_eq!(job["attempt"], 2);
    assert_eq!(job["retryCount"], 1);
    assert_eq!(busy.seen().len(), 2);
}

#[tokio::test]
async fn a_request_names_its_job_and_attempt_and_has_one_key_for_all_attempts() {
    let server = Server::start().await;
    let target = Target::failing(1).await;
    let body = json!({
        "http": {
            "url": target.url(), "method": "PUT", "headers": {"x-own": "mine"},
            "body": {"hello": "world"}
        },
        "retry": {"baseDelay": "50ms"}
    });
    let id = server.http.create_id(body).await;
    server.http.wait_for_label(&id, "succeeded").await;
    let seen = target.seen();
    assert_eq!(seen.len(), 2);
    for (retry_count, seen) in seen.iter().enumerate() {
        assert!(
            seen.line.starts_with("PUT /hook?x=1 HTTP/1.1"),
            "{}",
            seen.line
        );
        assert_eq!(seen.json(), json!({"hello": "world"}));
        for (name, value) in [
            ("x-own", "mine"),
            ("content-type", "application/json"),
            ("idempotency-key", id.as_str()),
            ("steadfast-job-id", id.as_str()),
            ("steadfast-attempt", &(retry_count + 1).to_string()),
            ("steadfast-retry-count", &retry_count.to_string()),
            ("steadfast-max-retries", "3"),
        ] {
            assert_eq!(seen.headers[name], value, "{name}");
        }
        assert!(seen.headers.contains_key("steadfast-scheduled-for"));
    }
}

#[tokio::test]
async fn retry_after_is_a_floor_in_seconds_or_as_a_date() {
    let server = Server::start().await;
    // A date in the far future: the header is capped at an hour.
    let date = "Fri, 01 Jan 2100 00:00:00 GMT";
    let cases = [
        ("7", 7_000, 7_000),
        (date, 3_600_000, 3_600_000),
        ("0", 0, 1_000),
    ];
    for (value, header_ms, waited_ms) in cases {
        let target = Target::start(move |_| says(429).header("Retry-After", value)).await;
        let id = server.http.create_id(json!({"api": target.url()})).await;
        server.http.wait_for_label(&id, "retrying").await;
        let attempt = &server.http.attempts(&id).await[0];
        assert_eq!(
            attempt["decision"]["retryAfterMs"], header_ms,
            "{attempt:#}"
        );
        assert_eq!(attempt["decision"]["delayMs"], 1_000);
        let waited = millis(&attempt["finishedAt"], &attempt["nextRunAt"]);
        assert_eq!(waited, waited_ms, "{value}");
    }
}

#[tokio::test]
async fn rules_come_before_classes_and_the_first_that_matches_decides() {
    let server = Server::start().await;
    let (gone, busy) = (Target::always(404).await, Target::always(503).await);
    let rules = json!([
        {"match": {"status": 503}, "then": "fail"},
        {"match": {"status": "4xx"}, "then": {"retry": "2m"}},
        {"match": "any", "then": "fail"}
    ]);
    let lost = json!({"api": gone.url(), "retry": {"rules": rules}});
    let lost = server.http.create_id(lost).await;
    let refused = json!({"api": busy.url(), "retry": {"rules": rules}});
    let refused = server.http.create_id(refused).await;

    server.http.wait_for_label(&lost, "retrying").await;
    let attempt = &server.http.attempts(&lost).await[0];
    assert_eq!(attempt["decision"]["matchedRule"], 1);
    let waited = millis(&attempt["finishedAt"], &attempt["nextRunAt"]);
    assert_eq!(waited, 120_000);

    let job = server.http.wait_for_label(&refused, "failed").await;
    assert_eq!(job["reason"], "rule");
    let attempt = &server.http.attempts(&refused).await[0];
    assert_eq!(attempt["decision"]["matchedRule"], 0);
}

#[tokio::test]
async fn every_preset_is_known_by_its_name() {
    let server = Server::start().await;
    for (preset, retries, base, cap, jitter) in [
        ("http", 3, "1s", "5m", "proportional"),
        ("queue", 3, "500ms", "30s", "full"),
        ("patient", 3, "1m", "1h", "proportional"),
        ("conservative", 5, "1s", "1m", "full"),
        ("aggressive", 2, "100ms", "5s", "full"),
    ] {
        let body = json!({"kind": "k", "retry": preset, "delay": "1h"});
        let job = server.http.create(body).await;
        assert_eq!(job["maxRetries"], retries, "{preset}");
        assert_eq!(job["retry"]["baseDelay"], base, "{preset}");
        assert_eq!(job["retry"]["maxDelay"], cap, "{preset}");
        assert_eq!(job["retry"]["jitter"], jitter, "{preset}");
    }
    let once = server
        .http
        .create(json!({"kind": "k", "retry": "once"}))
        .await;
    assert_eq!(once["maxRetries"], 0);
    let body = json!({"kind": "k", "retry": "webhook"});
    let webhook = server.http.create(body).await;
    assert_eq!(webhook["retry"]["delays"], json!(["30s", "1m", "2m"]));
    let body = json!({"kind": "k", "retry": {"preset": "aggressive", "maxAttempts": 8}});
    let mixed = server.http.create(body).await;
    assert_eq!(mixed["maxRetries"], 7);
    assert_eq!(mixed["retry"]["baseDelay"], "100ms");
    // The default goes by the kind of the job.
    let plain = server.http.create(json!({"kind": "k"})).await;
    assert_eq!(plain["retry"]["baseDelay"], "500ms");
    let body = json!({"api": "http://127.0.0.1:9/", "delay": "1h"});
    let http = server.http.create(body).await;
    assert_eq!(http["retry"]["baseDelay"], "1s");
    assert_eq!(http["timeoutMs"], 30_000);
}

#[tokio::test]
async fn a_preview_shows_the_whole_timetable_without_running_anything() {
    let server = Server::start().await;
    let preview = |retry: Value| {
        let body = json!({"retry": retry});
        let http = server.http.clone();
        async move { http.post("/api/v1/policies/preview", body).await.is(200) }
    };
    let retry = json!({"preset": "patient", "maxRetries": 3, "jitter": "none"});
    let shown = preview(retry).await;
    let at: Vec<&Value> = shown["attempts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["at"]["typicalMs"])
        .collect();
    assert_eq!(at, [0, 60_000, 180_000, 420_000]);
    assert_eq!(shown["givesUp"]["typicalMs"], 420_000);

    let shown = preview(json!("http")).await;
    let second = &shown["attempts"][1]["delay"];
    assert_eq!(second["minMs"], 800);
    assert_eq!(second["typicalMs"], 1_000);
    assert_eq!(second["maxMs"], 1_200);
    let jobs = server.http.get("/api/v1/jobs").await.is(200);
    assert_eq!(jobs["jobs"], json!([]));
}

#[tokio::test]
async fn a_target_that_takes_too_long_is_a_timeout_and_is_retried() {
    let server = Server::start().await;
    let target = Target::start(|number| match number {
        0 => says(200).after(std::time::Duration::from_secs(60)),
        _ => says(200),
    })
    .await;
    let body = json!({"api": target.url(), "timeout": "3s", "retry": {"baseDelay": 50}});
    let made = server.http.create(body).await;
    let id = id_of(&made);
    let job = server.http.wait_for_label(&id, "succeeded").await;
    assert!(time(&job["finishedAt"]) > time(&job["createdAt"]));
    let attempts = server.http.attempts(&id).await;
    assert_eq!(attempts[0]["failure"]["class"], "timeout");
    assert_eq!(attempts[1]["status"], "SUCCESS");
}

/// Makes jobs of a queue whose two attempts fail.
async fn dead(http: &Http, queue: &str, count: usize) {
    let retry = json!({"backoff": "fixed", "baseDelay": "10ms", "jitter": "none", "maxRetries": 1});
    for _ in 0..count {
        let body = json!({"kind": "mail", "queue": queue, "retry": retry});
        http.create(body).await;
        for _ in 0..2 {
            let claim = &http.claim("mail", "20s").await[0];
            let failure = json!({"failure": {"class": "error", "message": "no"}});
            http.report(claim, "fail", failure).await.is(200);
        }
    }
}

// long: one history, and every question about it
#[tokio::test]
async fn a_policy_is_replayed_over_the_attempts_that_were_made() {
    let server = Server::start().await;
    dead(&server.http, "a", 3).await;
    dead(&server.http, "b", 1).await;
    let replay = |body: Value| {
        let http = server.http.clone();
        async move { http.post("/api/v1/policies/replay", body).await.is(200) }
    };
    let shown = replay(json!({"queue": "a", "retry": "once"})).await;
    assert_eq!(shown["recorded"]["jobs"], 3, "{shown:#}");
    assert_eq!(shown["recorded"]["attempts"], 6);
    assert_eq!(shown["recorded"]["deadLetters"], 3);
    assert_eq!(shown["old"], shown["recorded"]);
    assert_eq!(shown["new"]["attempts"], 3);
    assert_eq!(
        (&shown["observedShare"], &shown["isCut"]),
        (&json!(1.0), &json!(false))
    );
    let summary = "3 jobs: 3 attempts instead of 6, 3 dead letters instead of 3";
    assert!(
        shown["summary"].as_str().unwrap().starts_with(summary),
        "{shown:#}"
    );
    let shown = replay(json!({"kind": "mail", "retry": {"baseDelay": "10ms"}})).await;
    assert_eq!(shown["recorded"]["jobs"], 4);

    // Nothing was observed hours later.
    let shown = replay(
        json!({"queue": "a", "retry": {"backoff": "fixed", "baseDelay": "20m", "jitter": "none"}}),
    )
    .await;
    assert_eq!(
        (&shown["new"], &shown["observedShare"]),
        (&Value::Null, &json!(0.0))
    );
    let summary = "the effect of this policy is unknown";
    assert!(
        shown["summary"].as_str().unwrap().starts_with(summary),
        "{shown:#}"
    );

    let body = json!({"destination": "https://nowhere.example.com"});
    assert_eq!(
        replay(body).await["summary"],
        "there are no attempts to replay"
    );
    for (body, field, text) in [
        (
            json!({"retry": "once"}),
            "queue",
            "unless kind or destination is given",
        ),
        (
            json!({"queue": "a", "since": "2020-01-01T00:00:00Z"}),
            "since",
            "between 1m and 7d ago",
        ),
        (
            json!({"queue": "a", "retry": {"maxRetries": 101}}),
            "retry.maxRetries",
            "100",
        ),
        (json!({"queue": "a", "policy": "once"}), "policy", "retry"),
    ] {
        let refused = server
            .http
            .post("/api/v1/policies/replay", body)
            .await
            .is(422);
        assert_eq!(refused["field"], field, "{refused:#}");
        assert!(
            refused["detail"].as_str().unwrap().contains(text),
            "{refused:#}"
        );
    }
}

#[tokio::test]
async fn a_certificate_says_whether_a_system_recovers_from_an_outage() {
    let server = Server::start().await;
    let certify = |body: Value, status: u16| {
        let http = server.http.clone();
        async move { http.post("/api/v1/policies/certify", body).await.is(status) }
    };
    let target = json!({"capacity": 20, "traffic": 4, "latency": "300ms"});
    let with = |more: Value| {
        let mut body = target.clone();
        let more = more.as_object().unwrap().clone();
        body.as_object_mut().unwrap().extend(more);
        body
    };
    let shown = certify(with(json!({"outage": "1m"})), 200).await;
    assert_eq!(shown["verdict"], "recovers", "{shown:#}");
    assert_eq!(shown["faults"].as_array().unwrap().len(), 3);
    assert_eq!(shown["target"]["measuredCalls"], Value::Null);
    let shown = certify(with(json!({"traffic": 24})), 200).await;
    assert_eq!(shown["verdict"], "overloaded", "{shown:#}");
    let summary = shown["summary"].as_str().unwrap();
    let expected = "does not recover: 120 % load without any fault";
    assert!(summary.starts_with(expected), "{summary}");

    // The gate of the destination counts, unless the request says otherwise.
    let origin = "https://api.example.com";
    let gate = "/api/v1/gates/destination/https%3A%2F%2Fapi.example.com";
    let limits = json!({"rate": {"limit": 2, "per": "1s"}});
    server.http.put(gate, limits).await.is(200);
    let shown = certify(with(json!({"destination": origin})), 200).await;
    assert_eq!(shown["verdict"], "overloaded", "{shown:#}");
    let rate = json!({"limit": 12, "per": "1s"});
    let body = with(json!({"destination": origin, "rate": rate, "outage": "1m"}));
    assert_eq!(certify(body, 200).await["verdict"], "recovers");

    for (more, field, says) in [
        (json!({"capacity": null}), "capacity", "must be given"),
        (json!({"capacity": 0}), "capacity", "must be between 0.01"),
        (json!({"latency": "1m"}), "latency", "shorter than timeout"),
        (json!({"outage": "1s"}), "outage", "must be between 10s"),
        (json!({"nodes": 0}), "nodes", "must be between 1 and 64"),
        (
            json!({"nodes": 1, "slots": 1}),
            "slots",
            "if nodes is given",
        ),
        (json!({"retryShare": 2}), "retryShare", "between 0 and 1"),
        (
            json!({"retry": {"maxRetries": 101}}),
            "retry.maxRetries",
            "100",
        ),
        (
            json!({"destination": origin, "traffic": null}),
            "traffic",
            "fewer than 50 successful calls",
        ),
        (json!({"destination": "nowhere"}), "destination", "must be"),
    ] {
        let refused = certify(with(more), 422).await;
        assert_eq!(refused["field"], field, "{refused:#}");
        let detail = refused["detail"].as_str().unwrap();
        assert!(detail.contains(says), "{detail}");
    }
}

#[tokio::test]
async fn certificates_are_kept_listed_and_deleted_by_tenant() {
    let server = Server::start().await;
    let admin = server.key(Scope::Admin, None).await;
    let acme = server.key(Scope::Tenant, Some("acme")).await;
    // More jobs than it can answer: computed at once.
    let settings = json!({
        "destination": "https://api.example.com", "capacity": 20.0, "traffic": 24.0,
        "latency": "300ms"
    });
    let path = |name: &str| format!("/api/v1/certificates/{name}");
    let keep = async |name: &str| acme.put(&path(name), settings.clone()).await;
    let kept = keep("n0").await.is(200);
    assert_eq!(kept["tenant"], "acme", "{kept:#}");
    assert_eq!(kept["settings"], settings);
    assert_eq!(kept["certificate"]["verdict"], "overloaded");
    assert_eq!(kept["problem"], Value::Null);

    for (field, name) in [("destination", "a"), ("capacity", "a"), ("name", "a%20b")] {
        let mut body = settings.clone();
        body.as_object_mut().unwrap().remove(field);
        let refused = acme.put(&path(name), body).await;
        refused.is_problem(422, "invalid", Some(field));
    }
    for number in 1..10 {
        keep(&format!("n{number}")).await.is(200);
    }
    keep("more").await.is_problem(409, "too_many", None);
    let again = keep("n0").await.is(200);
    assert_eq!(again["createdAt"], kept["createdAt"]);

    let names = async |http: &Http, query: &str| {
        let list = http
            .get(&format!("/api/v1/certificates{query}"))
            .await
            .is(200);
        list["certificates"].as_array().unwrap().len()
    };
    let other = server.key(Scope::Read, Some("other")).await;
    assert_eq!(names(&other, "").await, 0);
    assert_eq!(names(&admin, "?tenant=acme").await, 10);
    assert_eq!(names(&admin, "?limit=3").await, 3);
    assert_eq!(
        admin.delete(&path("n0")).await.status,
        404,
        "of another tenant"
    );
    assert_eq!(acme.delete(&path("n0")).await.status, 204);
    assert_eq!(names(&acme, "").await, 9);
    let reader = server.key(Scope::Read, Some("acme")).await;
    assert_eq!(reader.put(&path("n1"), settings.clone()).await.status, 403);
    let audit = acme.get("/api/v1/audit?limit=1").await.is(200);
    assert_eq!(
        audit["records"][0]["action"], "certificate.delete",
        "{audit:#}"
    );
}

#[tokio::test]
async fn a_replay_sees_the_jobs_of_its_tenant_alone() {
    let server = Server::start().await;
    let http = server.key(Scope::Admin, None).await;
    dead(&http, "a", 1).await;
    let body = json!({"queue": "a", "retry": "once"});
    let own = server.key(Scope::Read, Some("other")).await;
    let shown = own
        .post("/api/v1/policies/replay", body.clone())
        .await
        .is(200);
    assert_eq!(shown["recorded"]["jobs"], 0, "{shown:#}");
    let shown = http.post("/api/v1/policies/replay", body).await.is(200);
    assert_eq!(shown["recorded"]["jobs"], 1, "{shown:#}");
}
