//! The dashboard below a path: behind a proxy, and in a router of another program.

use steadfast_server::keys::Scope;

use crate::{
    browser::{Browser, BrowserOptions},
    node::TestNode,
    worker_jobs::{dead_letter, worker_job},
};

/// No address of a page leads out of `path`.
async fn check_addresses(node: &TestNode, requested: &str, path: &str) {
    let page = node.get(requested).await;
    assert_eq!(page.status, 200, "{requested}: {}", page.body);
    let mut found = 0;
    for start in ["href=\"", "src=\"", "action=\""] {
        for address in page.body.split(start).skip(1) {
            let address = address.split('"').next().unwrap();
            let below = address.strip_prefix(path);
            let is_below = below.is_some_and(|it| it.is_empty() || it.starts_with(['/', '?']));
            let is_below = is_below || address.starts_with('#');
            assert!(is_below, "{requested} leads to {address}");
            found += 1;
        }
    }
    assert!(found > 10, "{requested}: {}", page.body);
}

#[tokio::test]
async fn behind_a_proxy_all_addresses_have_its_path_whether_it_is_passed_on_or_not() {
    let node = TestNode::below("/ops").await;
    let job = dead_letter(&node, "default", "no").await;
    for page in ["", "/", "/jobs", "/queues", "/dead-letters"] {
        check_addresses(&node, &format!("/ops{page}"), "/ops").await;
    }
    check_addresses(&node, "/jobs", "/ops").await;
    let form = "action=discard&confirmed=1&back=/dead-letters";
    let done = node.post(&format!("/ops/jobs/{}/act", job.id), form).await;
    let location = done.header("location").unwrap();
    assert!(location.starts_with("/ops/dead-letters?"), "{location}");
    let shown = node.get("/ops/jobs?kind=nothing").await.body;
    assert!(!shown.contains("/ops/ops"), "{shown}");
    assert_eq!(node.get("/ops/ui/steadfast.css").await.status, 200);
    assert_eq!(node.get("/ops/api/v1/jobs").await.status, 200);
    for (page, wanted) in [
        ("/ops/docs/", "<a href=\"/ops\">Dashboard</a>"),
        ("/ops/docs/", "href=\"book.css\""),
        ("/ops/api/docs/", "/ops</code>"),
        ("/ops/api/docs/", "href=\"../v1/openapi.json\""),
        ("/ops/api/v1/openapi.json", "/ops\",\n"),
    ] {
        let shown = node.get(page).await.body;
        assert!(shown.contains(wanted), "{page} lacks {wanted}");
    }
    let headers = [("sec-fetch-site", "cross-site")];
    for (path, wanted) in [
        ("/ops/api/v1/jobs", "application/problem+json"),
        ("/ops/queues/act", "text/html"),
    ] {
        let refused = node.request("POST", path, &headers, "").await;
        assert_eq!(refused.status, 403, "{}", refused.body);
        let media_type = refused.header("content-type").unwrap_or("");
        assert!(media_type.starts_with(wanted), "{path}: {media_type}");
        assert!(!refused.body.contains("href=\"/ui/"), "{}", refused.body);
    }
    node.stop().await;
}

#[tokio::test]
async fn one_line_puts_the_dashboard_into_another_programs_router() {
    let node = TestNode::nested("/admin/steadfast", "").await;
    node.client.enqueue(worker_job("default")).await.unwrap();
    assert_eq!(node.get("/").await.body, "home");
    check_addresses(&node, "/admin/steadfast", "/admin/steadfast").await;
    check_addresses(&node, "/admin/steadfast/jobs", "/admin/steadfast").await;
    let headers = [("sec-fetch-site", "cross-site")];
    let path = "/admin/steadfast/queues/act";
    let form = "queue=default&action=pause";
    let refused = node.request("POST", path, &headers, form).await;
    assert_eq!(refused.status, 403, "{}", refused.body);
    let style = "href=\"/admin/steadfast/ui/";
    assert!(refused.body.contains(style), "{}", refused.body);
    // With a key it must be given, and the cookie is not for the rest of the program.
    let key = node.key(Scope::Admin, None).await;
    while node.get("/admin/steadfast").await.status == 200 {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await; // sleep: a node reads the keys every other second
    }
    let away = node.get("/admin/steadfast/jobs").await;
    let expected = "/admin/steadfast/sign-in?next=%2Fjobs";
    assert_eq!(away.header("location"), Some(expected));
    let form = format!("key={key}&next=%2Fjobs");
    let signed_in = node.post("/admin/steadfast/sign-in", &form).await;
    let next = signed_in.header("location");
    assert_eq!(next, Some("/admin/steadfast/jobs"), "{}", signed_in.body);
    let cookie = signed_in.header("set-cookie").unwrap();
    assert!(cookie.contains("Path=/admin/steadfast;"), "{cookie}");
    node.stop().await;
}

#[tokio::test]
async fn behind_a_proxy_and_in_a_router_a_refusal_has_both_paths() {
    let node = TestNode::nested("/admin", "/ops").await;
    check_addresses(&node, "/admin/jobs", "/ops/admin").await;
    let headers = [("sec-fetch-site", "cross-site")];
    let refused = node.request("POST", "/admin/queues/act", &headers, "");
    let refused = refused.await;
    assert_eq!(refused.status, 403, "{}", refused.body);
    let style = "href=\"/ops/admin/ui/";
    assert!(refused.body.contains(style), "{}", refused.body);
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_and_live_updates_stay_below_the_path() {
    let node = TestNode::nested("/admin/steadfast", "").await;
    let job = dead_letter(&node, "default", "no").await;
    let browser = Browser::start(BrowserOptions::default()).await;
    let start = node.url("/admin/steadfast/jobs");
    browser.driver.goto(start).await.unwrap();
    browser
        .until("return document.documentElement.classList.contains('scripted')")
        .await;
    // A row is opened, and another section is gone to.
    browser.type_into("body", "j\u{e007}").await;
    let path = format!("/admin/steadfast/jobs/{}", job.id);
    browser
        .until(&format!("return location.pathname === '{path}'"))
        .await;
    browser
        .until("return document.documentElement.classList.contains('scripted')")
        .await;
    browser.type_into("body", "gd").await;
    browser
        .until("return location.pathname === '/admin/steadfast/dead-letters'")
        .await;
    // What happens is shown without a reload.
    browser.until_count("#rows tbody tr", 1).await;
    browser.eval("window.sameDocument = true").await;
    dead_letter(&node, "default", "no again").await;
    browser.until_count("#rows tbody tr", 2).await;
    assert_eq!(browser.eval("return window.sameDocument").await, true);
    browser.quit().await;
    node.stop().await;
}
