//! Forms of schedules, and pauses of schedules and queues.

use steadfast_store::{JobFilter, JobPageRequest};

use crate::{node::TestNode, seed};

#[tokio::test]
async fn queues_and_schedules_are_paused_and_resumed() {
    let node = TestNode::start().await;
    seed::busy_hour(&node).await;
    let form = "queue=mail&tenant=shop&action=pause";
    assert_eq!(node.post("/queues/act", form).await.status, 303);
    assert!(node.get("/queues").await.body.contains("chip-paused"));
    // What is paused for all tenants is not resumed for one.
    let form = "action=set&scope=queue&key=mail&paused=1&reason=they+move";
    assert_eq!(node.post("/gates/act", form).await.status, 303);
    let form = "queue=mail&tenant=shop&action=resume";
    let refused = node.post("/queues/act", form).await;
    assert_eq!(refused.status, 409);
    assert!(refused.body.contains("they move"), "{}", refused.body);
    let listed = node
        .client
        .schedules(None, steadfast_store::PageRequest::first(1))
        .await
        .unwrap();
    let id = listed.items[0].id;
    let path = format!("/schedules/{id}/act");
    assert_eq!(node.post(&path, "action=pause").await.status, 303);
    assert!(node.client.find_schedule(id).await.unwrap().unwrap().paused);
    let ran = node.post(&path, "action=run-now").await;
    assert!(ran.header("location").unwrap().starts_with("/jobs/job_"));
    let filter = JobFilter {
        schedule: Some(id),
        ..JobFilter::default()
    };
    let runs = node
        .client
        .jobs(filter, JobPageRequest::first(5))
        .await
        .unwrap();
    let run = node.get(&format!("/jobs/{}", runs.items[0].id)).await.body;
    let name = &listed.items[0].name;
    let link = format!("<a href=\"/schedules/{id}\">{name}</a>");
    assert!(run.contains(&link), "{run}");
    assert_eq!(run.matches(&format!(">{id}<")).count(), 0, "{run}");
    node.stop().await;
}

#[tokio::test]
async fn a_schedule_is_created_shown_in_its_zone_and_edited() {
    let node = TestNode::start().await;
    let rule = "schedule=0+9+*+*+MON-FRI&timezone=America%2FNew_York&overlap=skip&missed=skip";
    let shown = node
        .post(
            "/schedules/new",
            &format!("action=preview&name=report&{rule}"),
        )
        .await;
    assert_eq!(shown.status, 200);
    for part in [
        "It runs at 09:00 on Monday to Friday",
        "09:00:00 America/New_York",
        "value=\"report\"",
    ] {
        assert!(shown.body.contains(part), "{part}: {}", shown.body);
    }
    let form = format!("name=report&kind=report&payload=%7B%22a%22%3A1%7D&{rule}");
    for (wrong, sentence) in [
        (
            form.replace("kind=report", "kind="),
            "needs a URL or a kind",
        ),
        (form.replace("0+9", "0+99"), "0 to 23 in the hour field"),
        (form.replace("%7D", ""), "payload must be JSON"),
        (form.replace("New_York", "Nowhere"), "Nowhere"),
    ] {
        let refused = node.post("/schedules/new", &wrong).await;
        assert_eq!(refused.status, 422, "{wrong}");
        assert!(
            refused.body.contains(sentence),
            "{sentence}: {}",
            refused.body
        );
        assert!(refused.body.contains("America"), "what was entered stays");
    }
    let created = node.post("/schedules/new", &form).await;
    assert_eq!(created.status, 303, "{}", created.body);
    assert_eq!(node.post("/schedules/new", &form).await.status, 409);
    let page = node.get("/schedules/report").await.body;
    assert!(page.contains("at 09:00 on Monday to Friday"), "{page}");
    let edit = node.get("/schedules/report/edit").await.body;
    assert!(edit.contains("value=\"0 9 * * MON-FRI\""), "{edit}");
    let form = "schedule=&every=90s&timezone=&overlap=allow&missed=runAll&maxRuns=7";
    let saved = node.post("/schedules/report/edit", form).await;
    assert_eq!(saved.status, 303, "{}", saved.body);
    let page = node.get("/schedules/report").await.body;
    assert!(page.contains("every 1m30s"), "{page}");
    assert!(page.contains("runs may overlap"), "{page}");
    let refused = node
        .post(
            "/schedules/report/edit",
            "every=90s&overlap=skip&missed=runAll",
        )
        .await;
    assert_eq!(refused.status, 422);
    assert!(refused.body.contains("overlap"), "{}", refused.body);
    node.stop().await;
}
