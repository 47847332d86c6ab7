//! Lists of jobs: what they say, how they are searched, and how they are used in a browser.

use std::time::Duration;

use serde_json::json;
use steadfast_core::{JobId, Payload, Preset};
use steadfast_engine::JobRequest;

use crate::{
    browser::{Browser, BrowserOptions},
    node::TestNode,
    worker_jobs::{count_dead_letters, dead_letter},
};

// Keys as WebDriver writes them.
const DOWN: &str = "\u{e015}";
const ENTER: &str = "\u{e007}";
const ESCAPE: &str = "\u{e00c}";
/// Control and K, and Control let go.
const CONTROL_K: &str = "\u{e009}k\u{e000}";

fn later(kind: &str, queue: &str, payload: serde_json::Value) -> JobRequest {
    JobRequest::new(kind, Payload::encode(&payload).unwrap())
        .queue(queue)
        .delay(Duration::from_secs(3_600))
        .retry(Preset::Once)
}

/// A mail with a tag, an invoice without one, and a request.
async fn three_jobs(node: &TestNode) -> [JobId; 3] {
    let mail = later("mail.send", "mail", json!({"to": "ann"})).tag("order", "4711");
    let invoice = later("invoice.render", "documents", json!({"format": "pdf"}));
    let url = "https://api.example.com/orders?secret=1";
    let request = later("http", "partners", json!({"url": url, "method": "PUT"}));
    let mut ids = Vec::new();
    for request in [mail, invoice, request] {
        ids.push(node.client.enqueue(request).await.unwrap());
    }
    ids.try_into().unwrap()
}

#[tokio::test]
async fn a_row_says_what_its_job_is_and_labels_have_counts() {
    let node = TestNode::start().await;
    let ids = three_jobs(&node).await;
    let page = node.get("/jobs").await.body;
    for text in [
        ">PUT api.example.com/orders</a>",
        ">mail.send</a> <span class=\"detail\">order 4711</span>",
        ">invoice.render</a> <span class=\"detail\">format pdf</span>",
        ">scheduled <b>3</b>",
        ">failed <b>0</b>",
        "all 3 matching",
        "<option value=\"kind:mail.send\">",
        "<option value=\"queue:documents\">",
        "<option value=\"order:4711\">",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(!page.contains("secret=1"), "{page}");
    let id = ids[0].to_string();
    let copied = format!("data-copy=\"{id}\"");
    assert!(page.contains(&copied) && page.contains(&format!(">{}<", &id[24..])));

    let some = node.get("/jobs?queue=mail&tag=order%3A4711").await.body;
    assert!(some.contains("value=\"queue:mail order:4711\""), "{some}");
    let without = "href=\"/jobs?tag=order%3A4711\" title=\"Remove this condition\">queue:mail";
    assert!(some.contains(without), "{some}");
    assert!(
        some.contains(">scheduled</a>"),
        "tags are not counted: {some}"
    );
    node.stop().await;
}

/// What a browser sends of the form with all filters, if nothing is changed in it.
fn filters_of_form(page: &str) -> Vec<(String, String)> {
    let form = page.split("card filters").nth(1).unwrap();
    let form = form.split("</form>").next().unwrap();
    let attribute = |tag: &str, name: &str| {
        let rest = tag.split(&format!(" {name}=\"")).nth(1)?;
        Some(rest.split('"').next().unwrap().to_owned())
    };
    let inputs = form.split("<input").skip(1);
    let inputs = inputs.map(|it| (attribute(it, "name"), attribute(it, "value")));
    let inputs = inputs.map(|(name, value)| (name.unwrap(), value.unwrap()));
    let selects = form.split("<select").skip(1).filter_map(|it| {
        let selected = it.split("</select>").next()?.split(" selected>").nth(1)?;
        let value = selected.split('<').next()?.to_owned();
        Some((attribute(it, "name").unwrap(), value))
    });
    let sent = inputs.chain(selects);
    sent.filter(|(_, value)| !value.is_empty()).collect()
}

#[tokio::test]
async fn the_form_with_all_filters_keeps_each_condition_of_the_address() {
    let node = TestNode::start().await;
    let conditions = [
        ("label", "failed"),
        ("queue", "mail"),
        ("kind", "mail.send"),
        ("tenant", "default"),
        ("schedule", "sch_00000000000000000000000001"),
        ("destination", "https://api.example.com"),
        ("batch", "bat_00000000000000000000000001"),
        ("from", "2026-01-01T12:00:07Z"),
        ("before", "2026-01-02T12:00:00Z"),
        ("text", "refused"),
        ("class", "timeout"),
        ("fingerprint", "00000000000000a7"),
        ("reason", "exhausted"),
        ("tag", "order:4711"),
        ("tag", "customer:9"),
    ];
    let query = conditions.map(|(name, value)| format!("{name}={value}"));
    for path in ["/jobs", "/dead-letters"] {
        let page = node.get(&format!("{path}?{}", query.join("&"))).await;
        assert_eq!(page.status, 200, "{}", page.body);
        let mut sent = filters_of_form(&page.body);
        for (name, value) in &mut sent {
            // A field for a time is in UTC and says so beside it.
            if ["from", "before"].contains(&name.as_str()) && !value.ends_with('Z') {
                value.push('Z');
            }
        }
        sent.sort();
        let mut expected = conditions.map(|(name, value)| (name.to_owned(), value.to_owned()));
        expected.sort();
        assert_eq!(sent, expected, "{path}");
    }
    node.stop().await;
}

#[tokio::test]
async fn a_search_leads_to_conditions_in_the_address_or_to_the_page_of_an_id() {
    let node = TestNode::start().await;
    let [mail, ..] = three_jobs(&node).await;
    let cases = [
        ("", "/jobs"),
        ("failed+mail", "/jobs?label=failed&queue=mail"),
        (
            "mail.send+order%3A4711",
            "/jobs?kind=mail.send&tag=order%3A4711",
        ),
        ("no+such+words", "/jobs?text=no+such+words"),
    ];
    for (line, expected) in cases {
        let answer = node.get(&format!("/jobs?q={line}")).await;
        assert_eq!(answer.status, 303, "{line}");
        assert_eq!(answer.header("location"), Some(expected), "{line}");
    }
    for page in ["/jobs", "/dead-letters"] {
        let answer = node.get(&format!("{page}?q={mail}")).await;
        assert_eq!(answer.header("location"), Some(&*format!("/jobs/{mail}")));
    }
    let wrong = node.get("/jobs?q=label%3Anone").await;
    let wrong = node.get(wrong.header("location").unwrap()).await;
    assert!(wrong.body.contains("Filter not applied."), "{}", wrong.body);
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_searched_selected_and_saved_from_the_keyboard() {
    let node = TestNode::start().await;
    let ids = three_jobs(&node).await;
    let browser = Browser::start(BrowserOptions::default()).await;
    browser.driver.goto(node.url("/jobs")).await.unwrap();
    browser
        .until("return document.querySelector('output.selected')?.value === '0'")
        .await;
    let focused = "return document.activeElement.textContent";
    // Rows.
    browser.type_into("body", "j").await;
    assert_eq!(browser.eval(focused).await, "PUT api.example.com/orders");
    browser.type_into("#rows a:focus", "jj").await;
    assert_eq!(browser.eval(focused).await, "mail.send");
    browser.type_into("#rows a:focus", "x").await;
    browser.type_into("#rows a:focus", "k").await;
    browser.type_into("#rows a:focus", "x").await;
    browser
        .until("return document.querySelector('output.selected').value === '2'")
        .await;
    // A live update leaves the row, what is selected and what is open as they are.
    browser.eval("document.getElementById('more-filters').open = true; window.sameRow = document.activeElement").await;
    let other = later("late.comer", "mail", json!({}));
    node.client.enqueue(other).await.unwrap();
    browser
        .until("return document.getElementById('new-rows').textContent === '1 newer job'")
        .await;
    assert_eq!(browser.eval(focused).await, "invoice.render");
    assert_eq!(
        browser
            .eval("return document.getElementById('more-filters').open")
            .await,
        true
    );
    assert_eq!(browser.text("output.selected").await, "2");
    // What is selected is cancelled, through an operation, after a question.
    browser.click("[data-selection] button[value=cancel]").await;
    let button = browser.text("main button.danger").await;
    assert_eq!(button, "Cancel 2 jobs");
    browser.click("main button.danger").await;
    let message = browser.text(".message").await;
    assert_eq!(message, "Requested cancellation of 2 jobs.");
    for (id, is_over) in ids.iter().zip([true, true, false]) {
        let job = node.client.job(*id).await.unwrap().unwrap();
        assert_eq!(job.progress.state.is_final(), is_over);
    }
    search_and_save(&browser, &node).await;
    browser.quit().await;
    node.stop().await;
}

/// The search box completes words, and the line becomes the address.
async fn search_and_save(browser: &Browser, node: &TestNode) {
    browser.type_into("body", "/").await;
    browser.type_into("input[data-search]", "lab").await;
    browser.until_count("#completions li", 7).await;
    browser.type_into("input[data-search]", "el:canc").await;
    browser.until_count("#completions li", 1).await;
    for key in [DOWN, ENTER] {
        browser.type_into("input[data-search]", key).await;
    }
    browser
        .type_into("input[data-search]", "order:4711\n")
        .await;
    browser
        .until("return location.search === '?label=cancelled&tag=order%3A4711'")
        .await;
    browser.until_count("#rows tbody tr", 1).await;
    // Saved under a name, it is a link on the list.
    browser.click("button.save-view").await;
    browser.type_into(".view input", "Lost orders\n").await;
    browser.until_count(".view a", 1).await;
    browser.driver.goto(node.url("/jobs")).await.unwrap();
    assert_eq!(browser.text(".view a").await, "Lost orders");
    browser.click(".view a").await;
    browser
        .until("return location.search === '?label=cancelled&tag=order%3A4711'")
        .await;
    browser.click(".view button").await;
    browser.until_count(".view", 0).await;
}

#[tokio::test]
async fn cancelling_selected_jobs_asks_first_and_retrying_does_not() {
    let node = TestNode::start().await;
    let mut form = "scope=selected&deadLetters=1&back=/dead-letters".to_owned();
    let mut ids = Vec::new();
    for number in 0..3 {
        let job = dead_letter(&node, "default", &format!("row {number} is broken")).await;
        form += &format!("&id={}", job.id);
        ids.push(job.id.to_string());
    }
    for (action, button) in [
        ("discard", "Discard 3 dead letters"),
        ("cancel", "Cancel 3 dead letters"),
    ] {
        let asked = node
            .post("/jobs/act", &format!("{form}&action={action}"))
            .await;
        assert_eq!(asked.status, 200, "{action}");
        let page = asked.body;
        assert!(page.contains(&format!("{button}</button>")), "{page}");
        assert!(page.contains("are selected."), "{page}");
        let badge = "Dead letters<span class=\"tally tally-bad\">3</span>";
        assert!(page.contains(badge), "{page}");
        for id in &ids {
            let field = format!("<input type=\"hidden\" name=\"id\" value=\"{id}\">");
            assert!(page.contains(&field), "{page}");
        }
    }
    assert_eq!(count_dead_letters(&node).await, 3, "nothing was done yet");
    let one = format!("scope=selected&deadLetters=1&action=retry&id={}", ids[0]);
    assert_eq!(node.post("/jobs/act", &one).await.status, 303);
    assert_eq!(count_dead_letters(&node).await, 2);
    let form = format!("{form}&action=discard&confirmed=1");
    let done = node.post("/jobs/act", &form).await;
    let expected = "/dead-letters?did=discard&n=2";
    assert_eq!(done.header("location"), Some(expected));
    assert_eq!(count_dead_letters(&node).await, 0);
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_and_the_palette_lead_everywhere() {
    let node = TestNode::start().await;
    let dead = dead_letter(&node, "default", "no").await;
    let browser = Browser::start(BrowserOptions::default()).await;
    browser.driver.goto(node.url("/")).await.unwrap();
    browser
        .until("return document.documentElement.classList.contains('scripted')")
        .await;
    browser.type_into("body", "gd").await;
    browser
        .until("return location.pathname === '/dead-letters'")
        .await;
    browser.type_into("body", "?").await;
    assert!(
        browser
            .text("dialog.help")
            .await
            .contains("next or previous row")
    );
    browser.type_into("dialog.help button", ESCAPE).await;
    browser.until_count("dialog", 0).await;
    // Keys that are typed into a field are text.
    browser.type_into("input[data-search]", "gj?").await;
    assert_eq!(browser.count("dialog").await, 0);
    browser.type_into("input[data-search]", ESCAPE).await;
    browser.type_into("body", CONTROL_K).await;
    browser.type_into("dialog.palette input", "sched").await;
    browser.until_count("dialog.palette li", 3).await;
    browser.type_into("dialog.palette input", ENTER).await;
    browser
        .until("return location.pathname === '/schedules'")
        .await;
    browser.type_into("body", CONTROL_K).await;
    let id = format!("{}\n", dead.id);
    browser.type_into("dialog.palette input", &id).await;
    browser
        .until(&format!("return location.pathname === '/jobs/{}'", dead.id))
        .await;
    // An action of the page.
    browser.type_into("body", CONTROL_K).await;
    browser.type_into("dialog.palette input", "discard\n").await;
    // It asks first.
    browser.until_count("input[name=confirmed]", 1).await;
    browser
        .click("form:has(input[name=confirmed]) button")
        .await;
    browser.until_count(".message", 1).await;
    assert!(browser.text(".message").await.starts_with("Discarded"));
    browser.quit().await;
    node.stop().await;
}
