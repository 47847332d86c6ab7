//! What the overview says.

use std::time::Duration;

use crate::{node::TestNode, seed, worker_jobs::worker_job};

#[tokio::test]
async fn the_overview_shows_health_failures_and_backlog() {
    let node = TestNode::start().await;
    seed::busy_hour(&node).await;
    seed::flow(&node).await;
    let page = node.get("/?tenant=shop").await.body;
    for part in [
        "Needs attention",
        "destinations unhealthy</a>",
        "<small>p95</small>",
        "class=\"line p99\"",
        "class=\"incident\"",
        "api.warehouse.example answered # for request #",
        "queue=partners&amp;tenant=shop",
        "<h2>Last outage <small>https://api.shipping.example</small></h2>",
        "held for 12m until 20m ago: 24 attempts failed meanwhile, 4 probes, 1,624 jobs delayed, \
         at least 1,624 attempts avoided, no dead letters, caught up in 12.8s",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    // The three charts have the same time axis; that of the last outage has its own.
    let (page, outage) = page.split_once("id=\"outage\"").unwrap();
    assert_eq!(outage.matches("<div class=\"plot-x\"").count(), 1);
    let axes: Vec<&str> = page.split("<div class=\"plot-x\"").skip(1).collect();
    let axes: Vec<&str> = axes
        .iter()
        .map(|it| it.split("</div>").next().unwrap())
        .collect();
    assert_eq!(axes.len(), 3);
    assert!(axes.iter().all(|axis| *axis == axes[0]));
    // Another tenant does not see them.
    let other = node.get("/?tenant=other").await.body;
    assert!(!other.contains("api.warehouse.example answered"), "{other}");
    assert!(!other.contains("class=\"line p99\""), "{other}");
    assert!(!other.contains("Last outage"), "{other}");
    node.stop().await;
}

#[tokio::test]
async fn an_overdue_job_is_reported_on_the_overview() {
    let node = TestNode::start().await;
    let page = node.get("/?tenant=idle").await.body;
    assert!(page.contains("<p class=\"figure\">Yes</p>"), "{page}");
    node.clock.set_back(Duration::from_secs(300));
    node.client.enqueue(worker_job("default")).await.unwrap();
    node.clock.set_back(Duration::ZERO);
    // An action makes the next page read all counts again.
    node.post("/queues/act", "queue=other&action=pause").await;
    let page = node.get("/").await.body;
    assert!(page.contains("the oldest due job has waited 5m"), "{page}");
    node.stop().await;
}
