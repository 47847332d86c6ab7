//! Screenshots of the main pages, for the README. Written to `docs/screenshots` if
//! `UPDATE_SCREENSHOTS` is set.

use std::{path::Path, time::Duration};

use crate::{
    browser::{Browser, BrowserOptions},
    node::TestNode,
    seed,
};

const README_PAGES: [&str; 4] = ["overview", "job", "dead-letters", "simulator"];

#[tokio::test(flavor = "multi_thread")]
async fn the_main_pages_fit_the_window_in_every_theme_and_size() {
    let node = TestNode::start().await;
    let payment = seed::busy_hour(&node).await;
    let waiting = seed::flow(&node).await;
    // The clock was set back while the node started, so its heartbeat looks old until the next one.
    while node.get("/nodes").await.body.contains("no heartbeat") {
        tokio::time::sleep(Duration::from_millis(50)).await; // sleep: until the node sends a heartbeat
    }
    let pages = [
        ("overview", "/".to_owned()),
        ("job", format!("/jobs/{payment}")),
        ("dead-letters", "/dead-letters".to_owned()),
        ("schedules", "/schedules".to_owned()),
        ("schedule-form", "/schedules/new".to_owned()),
        ("jobs", "/jobs".to_owned()),
        ("gates", "/gates".to_owned()),
        ("operations", "/operations".to_owned()),
        ("audit", "/audit".to_owned()),
        (
            "destinations",
            "/destinations?show=https%3A%2F%2Fapi.warehouse.example".to_owned(),
        ),
        ("waiting", format!("/jobs/{waiting}")),
        (
            "simulator",
            "/simulator?preset=http&maxRetries=8&jitter=full".to_owned(),
        ),
    ];
    let themes = [
        ("light", BrowserOptions::default()),
        (
            "dark",
            BrowserOptions {
                dark: true,
                ..BrowserOptions::default()
            },
        ),
        (
            "phone",
            BrowserOptions {
                phone: true,
                ..BrowserOptions::default()
            },
        ),
    ];
    let browser = Browser::start(BrowserOptions::default()).await;
    for (theme, options) in themes {
        browser.set(options).await;
        for (name, path) in &pages {
            browser.driver.goto(node.url(path)).await.unwrap();
            let wide = browser
                .eval("return document.documentElement.scrollWidth <= window.innerWidth")
                .await;
            assert_eq!(wide, true, "{name} {theme} scrolls sideways");
            let screenshot = browser.driver.screenshot_as_png().await.unwrap();
            assert!(screenshot.len() > 10_000, "{name} {theme} is empty");
            if README_PAGES.contains(name) && !options.phone {
                keep(&format!("{name}-{theme}.png"), &screenshot);
            }
        }
    }
    browser.quit().await;
    tokio::time::timeout(Duration::from_secs(10), node.stop())
        .await
        .unwrap();
}

fn keep(file: &str, screenshot: &[u8]) {
    if std::env::var_os("UPDATE_SCREENSHOTS").is_some() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/screenshots");
        std::fs::create_dir_all(&root).unwrap();
        std::fs::write(root.join(file), screenshot).unwrap();
    }
}
