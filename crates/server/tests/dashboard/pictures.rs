//! Pictures of the main pages, for the README. Taken each time, kept when asked for.

use std::{path::Path, time::Duration};

use crate::{
    browser::{Browser, Look},
    node::TestNode,
    seed,
};

const IN_THE_README: [&str; 4] = ["overview", "job", "dead-letters", "simulator"];

#[tokio::test(flavor = "multi_thread")]
async fn the_main_pages_have_their_picture_taken() {
    let node = TestNode::start().await;
    let star = seed::busy_hour(&node).await;
    let pages = [
        ("overview", "/".to_owned()),
        ("job", format!("/jobs/{star}")),
        ("dead-letters", "/dead-letters".to_owned()),
        ("schedules", "/schedules".to_owned()),
        ("jobs", "/jobs".to_owned()),
        (
            "simulator",
            "/simulator?preset=http&maxRetries=8&jitter=full".to_owned(),
        ),
    ];
    let looks = [
        ("light", Look::default()),
        (
            "dark",
            Look {
                dark: true,
                ..Look::default()
            },
        ),
        (
            "phone",
            Look {
                phone: true,
                ..Look::default()
            },
        ),
    ];
    for (look_name, look) in looks {
        let browser = Browser::start(look).await;
        for (name, path) in &pages {
            browser.driver.goto(node.url(path)).await.unwrap();
            let wide = browser
                .eval("return document.documentElement.scrollWidth <= window.innerWidth")
                .await;
            assert_eq!(wide, true, "{name} {look_name} does not scroll sideways");
            let picture = browser.driver.screenshot_as_png().await.unwrap();
            assert!(picture.len() > 10_000, "{name} {look_name} shows something");
            if IN_THE_README.contains(name) && !look.phone {
                keep(&format!("{name}-{look_name}.png"), &picture);
            }
        }
        browser.quit().await;
    }
    tokio::time::timeout(Duration::from_secs(10), node.stop())
        .await
        .unwrap();
}

fn keep(file: &str, picture: &[u8]) {
    if std::env::var_os("UPDATE_SCREENSHOTS").is_some() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/screenshots");
        std::fs::create_dir_all(&root).unwrap();
        std::fs::write(root.join(file), picture).unwrap();
    }
}
