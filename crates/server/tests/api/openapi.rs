//! The description of the API, as it is checked in and as it is served.

use std::path::Path;

use serde_json::Value;

use crate::server::Server;

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

#[tokio::test]
async fn the_description_that_is_served_is_the_same_and_there_is_a_page_to_browse_it() {
    let server = Server::start().await;
    let served = server.http.get("/api/v1/openapi.json").await.is(200);
    let made: Value = serde_json::from_str(&steadfast_server::openapi_json()).unwrap();
    assert_eq!(served, made);
    assert_eq!(served["openapi"], "3.1.0");
    let page = server.http.get("/api/docs/").await;
    assert_eq!(page.status, 200);
    assert!(page.body.contains("swagger-ui"), "{}", page.body);
}
