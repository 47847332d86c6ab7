//! Forms of gates and destinations.

use crate::node::TestNode;

#[tokio::test]
async fn gates_are_set_changed_paused_and_deleted() {
    let node = TestNode::start().await;
    let form = "action=set&scope=destination&key=https%3A%2F%2Fapi.example.com&maxRunning=5\
                &rate=10%2Fs&hold=auto";
    assert_eq!(node.post("/gates/act", form).await.status, 303);
    let page = node.get("/gates").await.body;
    assert!(page.contains("at most 5 running, 10 per 1s, hold auto"));
    let id = "destination++https%3A%2F%2Fapi.example.com";
    let page = node.get(&format!("/gates?edit={id}")).await.body;
    assert!(page.contains("name=\"rate\" value=\"10/1s\""), "{page}");
    // It has the fields of its scope, and the form of a new gate those of all scopes.
    let fields = |page: &str| {
        let fields = ["hold", "weight", "ordered"].map(|name| format!("name=\"{name}\""));
        fields.map(|field| page.contains(&field))
    };
    assert_eq!(fields(&page), [true, false, false], "{page}");
    assert_eq!(fields(&node.get("/gates").await.body), [true; 3]);
    // What the form leaves empty is removed.
    let form = format!("action=set&id={id}&maxRunning=7&paused=1&reason=they+move+%3Cb%3E");
    assert_eq!(node.post("/gates/act", &form).await.status, 303);
    let page = node.get("/gates").await.body;
    assert!(page.contains("at most 7 running") && !page.contains("10 per 1s"));
    assert!(page.contains("chip-paused") && page.contains("they move &#60;b&#62;"));
    let form = format!("action=resume&id={id}");
    assert_eq!(node.post("/gates/act", &form).await.status, 303);
    assert!(!node.get("/gates").await.body.contains("chip-paused"));
    let form = format!("action=delete&id={id}");
    let question = node.post("/gates/act", &form).await;
    assert!(question.body.contains("Delete gate") && question.status == 200);
    assert!(node.get("/gates").await.body.contains("at most 7 running"));
    let form = format!("{form}&confirmed=1");
    assert_eq!(node.post("/gates/act", &form).await.status, 303);
    assert!(node.get("/gates").await.body.contains("No gates"));
    for (form, says) in [
        (
            "action=set&scope=queue&key=mail&maxRunning=0",
            "to stop all",
        ),
        (
            "action=set&scope=queue&key=mail&maxRunning=x",
            "maxRunning must be a number",
        ),
        ("action=set&scope=queue&key=mail", "a gate needs a limit"),
        (
            "action=set&scope=queue&key=mail&rate=fast",
            "must be a rate",
        ),
    ] {
        let refused = node.post("/gates/act", form).await;
        assert_eq!(refused.status, 422, "{form}");
        assert!(refused.body.contains(says), "{form}: {}", refused.body);
    }
    node.stop().await;
}

#[tokio::test]
async fn the_gate_form_keeps_settings_it_does_not_show() {
    let node = TestNode::start().await;
    let partner = "https%3A%2F%2Fapi.example.com";
    let set = format!("action=set&scope=destination&key={partner}");
    let post = async |form: String| node.post("/gates/act", &form).await;
    assert_eq!(
        post(format!("{set}&maxRunning=5&hold=auto")).await.status,
        303
    );
    // Set once more as if it were new, it keeps its other limits.
    assert_eq!(post(format!("{set}&rate=10%2Fs")).await.status, 303);
    let page = node.get("/gates").await.body;
    let limits = "at most 5 running, 10 per 1s, hold auto";
    assert!(
        page.contains(limits) && page.contains("0 of 5 running"),
        "{page}"
    );
    // A pause that is over is not sent back.
    node.clock.set_back(std::time::Duration::from_secs(7_200));
    let until = node
        .client
        .now()
        .plus(std::time::Duration::from_secs(3_600));
    let pause = format!("action=set&id=destination++{partner}&maxRunning=5&paused=1&until={until}");
    assert_eq!(post(pause.clone()).await.status, 303);
    let edit = format!("/gates?edit=destination++{partner}");
    let checked = "name=\"paused\" value=\"1\" checked";
    assert!(node.get(&edit).await.body.contains(checked));
    node.clock.set_back(std::time::Duration::ZERO);
    let page = node.get(&edit).await.body;
    assert!(!page.contains(checked) && !page.contains(&until.to_string()));
    assert!(page.contains("; ended"), "{page}");
    node.stop().await;
}

#[tokio::test]
async fn destinations_are_held_and_released() {
    let node = TestNode::start().await;
    let (act, origin) = (
        "/destinations/act",
        "destination=https%3A%2F%2Fapi.example.com",
    );
    let form = format!(
        "action=hold&confirmed=1&{origin}&reason=they+move+%3Cb%3E&until=2099-01-01T00%3A00%3A00Z"
    );
    let held = node.post(act, &form).await;
    assert_eq!(held.header("location"), Some("/destinations?did=hold"));
    let show = "/destinations?show=https%3A%2F%2Fapi.example.com";
    let page = node.get(show).await.body;
    assert!(page.contains("; released in "), "{page}");
    assert!(page.contains("held manually") && page.contains("they move &#60;b&#62;"));
    assert!(
        page.contains("value=\"release\"")
            && !page.contains("name=\"action\" value=\"hold\">Hold…</button>")
    );
    let released = node.post(act, &format!("action=release&{origin}")).await;
    assert_eq!(
        released.header("location"),
        Some("/destinations?did=release")
    );
    let page = node.get(show).await.body;
    assert!(!page.contains("held manually") && !page.contains("value=\"release\""));
    for (form, says) in [
        ("action=hold&destination=api.example.com", "an origin"),
        ("action=hold&destination=", "an origin"),
        (
            "action=melt&destination=https%3A%2F%2Fa.example",
            "no such action",
        ),
        (
            "action=hold&confirmed=1&destination=https%3A%2F%2Fa.example&until=2020-01-01T00%3A00%3A00Z",
            "in the future",
        ),
        (
            "action=hold&confirmed=1&destination=https%3A%2F%2Fa.example&until=soon",
            "until",
        ),
    ] {
        let refused = node.post(act, form).await;
        assert_eq!(refused.status, 422, "{form}: {}", refused.body);
        assert!(refused.body.contains(says), "{form}: {}", refused.body);
    }
    let elsewhere = [("sec-fetch-site", "cross-site")];
    let form = format!("action=hold&{origin}");
    let refused = node.request("POST", act, &elsewhere, &form).await;
    assert_eq!(refused.status, 403);
    node.stop().await;
}
