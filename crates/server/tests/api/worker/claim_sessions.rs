//! Worker processes say which responses have arrived, and send settlements with a claim.

use serde_json::{Value, json};

use crate::{
    client::Reply,
    server::{Server, id_of},
};

/// The claim request of a worker process.
fn request(session: &str, sequence: u64, received: u64) -> Value {
    json!({
        "worker": "w1", "kinds": ["k"], "max": 10, "lease": "1h",
        "session": {"id": session, "sequence": sequence, "received": received}
    })
}

async fn claim(server: &Server, request: Value) -> Reply {
    server.http.post("/api/v1/claims", request).await
}

async fn claims(server: &Server, request: Value) -> Vec<Value> {
    let list = claim(server, request).await.is(200);
    list["claims"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_claim_that_did_not_arrive_goes_back_at_once_and_is_not_counted() {
    let server = Server::start().await;
    for guarantee in ["AT_LEAST_ONCE", "AT_MOST_ONCE"] {
        let job = json!({"kind": "k", "type": guarantee});
        let id = server.http.create_id(job).await;
        for sequence in 1..=4 {
            let found = claims(&server, request(guarantee, sequence, 0)).await;
            assert_eq!(found.len(), 1, "{guarantee} {sequence}");
            assert_eq!(found[0]["job"]["id"], id);
            assert_eq!(found[0]["job"]["attempt"], 1);
            assert_eq!(found[0]["fence"], sequence);
            if sequence == 4 {
                let done = server.http.report(&found[0], "succeed", json!({})).await;
                assert_eq!(done.is(200)["attempt"], 1);
            }
        }
        let path = format!("/api/v1/jobs/{id}/history");
        let history = server.http.get(&path).await.is(200);
        assert_eq!(history["attempts"].as_array().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn claims_that_have_arrived_stay_with_their_worker() {
    let server = Server::start().await;
    server.http.create_id(json!({"kind": "k"})).await;
    let first = claims(&server, request("s", 1, 0)).await;
    assert_eq!(first.len(), 1);
    assert_eq!(claims(&server, request("s", 2, 1)).await.len(), 0);
    server.http.create_id(json!({"kind": "k"})).await;
    let lost = claims(&server, request("s", 3, 2)).await;
    let again = claims(&server, request("s", 4, 2)).await;
    assert_eq!(again.len(), 1);
    assert_eq!(again[0]["id"], lost[0]["id"]);
    for claim in [&first[0], &again[0]] {
        let done = server.http.report(claim, "succeed", json!({})).await;
        done.is(200);
    }
    // What was settled meanwhile does not come back.
    assert_eq!(claims(&server, request("s", 5, 2)).await.len(), 0);
}

#[tokio::test]
async fn another_process_of_the_same_name_takes_nothing_away() {
    let server = Server::start().await;
    server.http.create_id(json!({"kind": "k"})).await;
    let held = claims(&server, request("a", 1, 0)).await;
    assert_eq!(held.len(), 1);
    assert_eq!(claims(&server, request("b", 1, 0)).await.len(), 0);
    assert_eq!(claims(&server, request("b", 2, 0)).await.len(), 0);
    server
        .http
        .report(&held[0], "succeed", json!({}))
        .await
        .is(200);
}

#[tokio::test]
async fn a_request_that_was_overtaken_changes_nothing() {
    let server = Server::start().await;
    server.http.create_id(json!({"kind": "k"})).await;
    let held = claims(&server, request("s", 2, 0)).await;
    for sequence in [1, 2] {
        let late = claim(&server, request("s", sequence, 0)).await;
        late.is_problem(409, "overtaken", None);
    }
    server
        .http
        .report(&held[0], "succeed", json!({}))
        .await
        .is(200);
}

#[tokio::test]
async fn a_later_request_ends_the_wait_of_an_earlier_one() {
    let server = Server::start().await;
    let mut waiting = request("s", 1, 0);
    waiting["wait"] = json!("20s");
    let first = claim(&server, waiting);
    let second = async {
        // The first one is under way as soon as the worker is known.
        while server.http.get("/api/v1/workers").await.is(200)["workers"] == json!([]) {}
        server.http.create_id(json!({"kind": "other"})).await;
        claims(&server, request("s", 2, 0)).await
    };
    let (first, second) = tokio::join!(first, second);
    first.is_problem(409, "overtaken", None);
    assert_eq!(second.len(), 0);
}

#[tokio::test]
async fn what_a_session_may_say_is_limited() {
    let server = Server::start().await;
    let with = |session: Value| json!({"worker": "w1", "session": session});
    for (session, field) in [
        (json!({"id": "", "sequence": 1}), "session.id"),
        (json!({"id": "x".repeat(65), "sequence": 1}), "session.id"),
        (json!({"id": "s"}), "session.sequence"),
    ] {
        let reply = claim(&server, with(session)).await;
        assert_eq!(reply.is(422)["field"], field);
    }
}

#[tokio::test]
async fn a_claim_settles_earlier_attempts_and_does_not_wait() {
    let server = Server::start().await;
    let path = "/api/v1/gates/key/one";
    server
        .http
        .put(path, json!({"maxRunning": 1}))
        .await
        .is(200);
    let job = json!({"kind": "k", "concurrencyKey": "one"});
    let (first, second) = (
        server.http.create_id(job.clone()).await,
        server.http.create_id(job).await,
    );
    let held = claims(&server, request("s", 1, 0)).await;
    assert_eq!(held.len(), 1);
    let mut next = request("s", 2, 1);
    next["wait"] = json!("30s");
    next["settlements"] = json!([
        {"id": first, "fence": 1, "outcome": "succeed", "result": {"n": 1}},
        {"id": first, "fence": 7, "outcome": "succeed"},
        {"id": second, "fence": 1, "outcome": "succeed", "delay": "1s"},
    ]);
    let answer = claim(&server, next.clone()).await.is(200);
    assert_eq!(answer["settled"][0]["label"], "succeeded");
    assert_eq!(answer["settled"][1]["code"], "stale_fence");
    assert_eq!(answer["settled"][2]["field"], "delay");
    // The gate that the first job kept closed is open.
    assert_eq!(id_of(&answer["claims"][0]), second);

    // The answer was lost: the report still counts once, and the claim goes back.
    next["session"]["sequence"] = json!(3);
    let answer = claim(&server, next).await.is(200);
    assert_eq!(answer["settled"][0]["label"], "succeeded");
    assert_eq!(answer["claims"][0]["job"]["attempt"], 1);
    assert_eq!(answer["claims"][0]["fence"], 2);
    let mut last = request("s", 4, 3);
    last["wait"] = json!("30s");
    last["settlements"] = json!([{"id": second, "fence": 2, "outcome": "succeed"}]);
    let answer = claim(&server, last).await.is(200);
    assert_eq!(answer["settled"][0]["label"], "succeeded");
    assert_eq!(answer["claims"], json!([]));
}

#[tokio::test]
async fn a_claim_with_too_many_settlements_changes_nothing() {
    let server = Server::start().await;
    let id = server.http.create_id(json!({"kind": "k"})).await;
    let mut body = request("s", 1, 0);
    let one = json!({"id": id, "fence": 1, "outcome": "succeed"});
    body["settlements"] = Value::Array(vec![one; 1_001]);
    let reply = claim(&server, body).await;
    assert_eq!(reply.is(422)["field"], "settlements");
    assert_eq!(claims(&server, request("s", 2, 0)).await.len(), 1);
}
