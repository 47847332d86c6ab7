//! What an outage would lead to, as a page.

use super::check_pages;
use crate::node::TestNode;

const TARGET: &str = "/simulator/outage?capacity=20&latency=300ms&outage=1m";

#[tokio::test]
async fn the_page_of_an_outage_shows_the_verdict_and_load_against_time() {
    let node = TestNode::start().await;
    let simulator = node.get("/simulator").await.body;
    assert!(simulator.contains("href=\"/simulator/outage\""));
    let empty = node.get("/simulator/outage").await;
    assert_eq!(empty.status, 200);
    assert!(!empty.body.contains("Load against time") && !empty.body.contains("class=\"error\""));
    let asked = format!("{TARGET}&traffic=4&hold=auto");
    check_pages(&node, [asked.clone()]).await;
    let page = node.get(&asked).await;
    for part in [
        "It recovers by itself: at 20 % load",
        "<h2>Load against time</h2>",
        "▸ 20 %",
        "100 % load: ",
        "the target refuses connections",
        "name=\"capacity\" value=\"20\"",
        "<option selected>auto</option>",
    ] {
        assert!(page.body.contains(part), "{part}: {}", page.body);
    }
    // Neighbours that are alike are one shape, so that no picture is large.
    assert!(page.body.len() < 60_000, "{}", page.body.len());
    node.stop().await;
}

#[tokio::test]
async fn the_page_of_an_outage_says_what_is_wrong_with_a_number() {
    let node = TestNode::start().await;
    for (more, says) in [
        (
            "traffic=24",
            "It does not recover: 120 % load without any fault",
        ),
        ("traffic=nan", "traffic is &#34;nan&#34;: must be a number"),
        (
            "traffic=0",
            "traffic is 0: must be between 0.01 and 100000 per second",
        ),
        ("", "traffic is missing: must be given, or a destination"),
        (
            "destination=https%3A%2F%2Fnowhere.example.com",
            "traffic is missing: must be given, because fewer than 50 successful calls",
        ),
        ("destination=nowhere", "destination is"),
        (
            "traffic=4&hold=maybe",
            "hold: &#34;maybe&#34; must be one of",
        ),
    ] {
        let page = node.get(&format!("{TARGET}&{more}")).await;
        assert_eq!(page.status, 200, "{more}");
        assert!(page.body.contains(says), "{more}: {}", page.body);
    }
    node.stop().await;
}
