//! Where a node may connect to when strangers can make jobs.

use serde_json::json;
use steadfast_engine::http::AddressPolicy;

use crate::{
    server::{Server, Setup, until},
    target::Target,
};

#[tokio::test]
async fn a_public_node_connects_to_nothing_on_its_own_network() {
    let server = Server::with(Setup {
        policy: AddressPolicy::Public,
        ..Setup::default()
    })
    .await;
    let target = Target::always(200).await;
    let port = target.url().rsplit(':').next().unwrap().to_owned();
    for url in [
        target.url(),
        format!("http://localhost:{port}"),
        format!("http://2130706433:{port}"),
        format!("http://0x7f.1:{port}"),
        format!("http://0177.0.0.1:{port}"),
        format!("http://[::1]:{port}"),
        format!("http://[::ffff:127.0.0.1]:{port}"),
        format!("http://[64:ff9b::7f00:1]:{port}"),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "http://10.0.0.1/".to_owned(),
    ] {
        let id = server.http.create_id(json!({"api": url})).await;
        let job = server.http.wait_for_label(&id, "failed").await;
        assert_eq!(job["failure"]["class"], "blocked", "{url}: {job}");
        assert_eq!(job["reason"], "non_retryable", "{url}");
    }
    // A delivery leaves through the same door.
    let body = json!({"kind": "mail", "webhook": {"url": target.url()}});
    server.http.create_id(body).await;
    let claim = &server.http.claim("mail", "20s").await[0];
    server
        .http
        .report(claim, "succeed", json!({}))
        .await
        .is(200);
    let letter = until("the delivery to be blocked", || async {
        let letters = server.http.get("/api/v1/dlq?kind=webhook").await.is(200);
        letters["jobs"].get(0).cloned()
    })
    .await;
    assert_eq!(letter["failure"]["class"], "blocked");
    assert!(target.seen().is_empty());
}
