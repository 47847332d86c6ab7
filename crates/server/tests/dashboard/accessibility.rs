//! Every page, in both themes and on a phone, as axe judges it: contrast, names, roles and order.
//!
//! To look at the same pages by hand, name a file in `STEADFAST_LOOK`: their addresses are written to
//! it, and the node stays until it is gone.

use std::{fmt::Write as _, path::Path, time::Duration};

use steadfast_server::keys::Scope;

use crate::{
    browser::{Browser, BrowserOptions},
    node::TestNode,
    seed_pages::every_page,
    sign_in::until_keys_are_required,
};

/// As `xtask/src/needs.rs` has it.
const AXE: &str = "axe-core-4.12.1/axe_playwright_python/axe.min.js";

/// What is like something before it is taken out: it says nothing new and takes long. Then all rules
/// judge the page; or those that depend on theme and size judge its content, where `ONLY_LOOKS`.
const CHECK: &str = "
for (const parent of document.querySelectorAll('tbody, svg, svg g, datalist, nav details, .group, .types, #content')) {
    const seen = new Map();
    for (const child of [...parent.children]) {
        const like = `${child.tagName} ${child.getAttribute('class')}`;
        seen.set(like, (seen.get(like) ?? 0) + 1);
        if (seen.get(like) > 3 && !/^(section|form|details|h\\d)/i.test(like)) child.remove();
    }
}
const options = {resultTypes: ['violations'], reporter: 'no-passes'};
const looks = ['color-contrast', 'link-in-text-block', 'scrollable-region-focusable', 'target-size'];
if (ONLY_LOOKS) options.runOnly = looks;
const reason = (node) => [...node.any, ...node.all, ...node.none].map((it) => it.message)[0];
return axe.run(ONLY_LOOKS ? 'main' : document, options).then((found) => {
    const wrong = found.violations.flatMap((violation) =>
        violation.nodes.slice(0, 3).map((node) => `${violation.id}: ${node.target}: ${reason(node)}`));
    const fits = document.documentElement.scrollWidth <= window.innerWidth;
    return fits ? wrong : [...wrong, 'scrolls sideways'];
});
";

fn axe() -> String {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let file = target.join(AXE);
    std::fs::read_to_string(&file).unwrap_or_else(|error| {
        let file = file.display();
        panic!("axe-core is needed: `cargo xtask test` installs it ({file}: {error})")
    })
}

/// What is wrong with the page that is open, a line each.
async fn judge(browser: &Browser, name: &str) -> String {
    let mut wrong = String::new();
    for (mode, dark, phone) in [
        ("light", false, false),
        ("dark", true, false),
        ("light phone", false, true),
    ] {
        let options = BrowserOptions {
            dark,
            phone,
            ..BrowserOptions::default()
        };
        browser.set(options).await;
        let only_looks = (dark || phone).to_string();
        let check = CHECK.replace("ONLY_LOOKS", &only_looks);
        let found = browser.eval(&check).await;
        let found: Vec<String> = serde_json::from_value(found).unwrap();
        for line in found {
            writeln!(wrong, "{name} {mode}: {line}").unwrap();
        }
    }
    browser.set(BrowserOptions::default()).await;
    wrong
}

async fn judge_at(browser: &Browser, node: &TestNode, name: &str, path: &str) -> String {
    browser.driver.goto(node.url(path)).await.unwrap();
    judge(browser, name).await
}

#[tokio::test(flavor = "multi_thread")]
async fn axe_finds_nothing_on_any_page_in_any_theme_and_size() {
    let node = TestNode::start().await;
    let pages = every_page(&node).await;
    if let Some(file) = std::env::var_os("STEADFAST_LOOK") {
        let lines = pages
            .iter()
            .map(|(name, path)| format!("{name} {}\n", node.url(path)));
        std::fs::write(&file, lines.collect::<String>()).unwrap();
        while Path::new(&file).exists() {
            tokio::time::sleep(Duration::from_secs(1)).await; // sleep: a person looks
        }
        return node.stop().await;
    }
    let browser = Browser::start(BrowserOptions::default()).await;
    browser.load_everywhere(&axe()).await;
    let mut wrong = String::new();
    for (name, path) in &pages {
        wrong += &judge_at(&browser, &node, name, path).await;
    }
    for (name, path) in [
        ("book", "/docs/"),
        ("book page", "/docs/retry.html"),
        ("api", "/api/docs/"),
        ("api page", "/api/docs/jobs"),
        ("api types", "/api/docs/types"),
    ] {
        wrong += &judge_at(&browser, &node, name, path).await;
    }
    wrong += &judge_questions(&browser, &node).await;
    browser.quit().await;
    node.stop().await;
    assert_eq!(wrong, "");
}

/// The pages that ask before something is done, and those of a server with keys.
async fn judge_questions(browser: &Browser, node: &TestNode) -> String {
    let mut wrong = String::new();
    let open = async |path: &str, button: &str| {
        browser.driver.goto(node.url(path)).await.unwrap();
        browser.click(button).await;
        browser.until_count("input[name=confirmed]", 1).await;
    };
    open("/dead-letters", ".group button[value=discard]").await;
    wrong += &judge(browser, "many jobs?").await;
    let key = node.key(Scope::Admin, None).await;
    until_keys_are_required(node).await;
    wrong += &judge_at(browser, node, "sign in", "/sign-in").await;
    browser
        .type_into("input[name=key]", &format!("{key}\n"))
        .await;
    browser.until("return location.pathname === '/'").await;
    wrong += &judge_at(browser, node, "keys", "/keys").await;
    open("/keys", "button.danger").await;
    wrong += &judge(browser, "revoke?").await;
    wrong
}
