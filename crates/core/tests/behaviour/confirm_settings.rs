//! How a job asks whether an attempt took effect: its settings, and what responses mean.

use std::time::Duration;

use steadfast_core::{ConfirmSettings, HeaderSource, IdempotencyKey, JobId, Kind};

fn settings(json: &str) -> ConfirmSettings {
    serde_json::from_str(json).unwrap()
}

const URL: &str = r#"{"url":"https://a.example/{jobId}"}"#;

#[test]
fn a_response_means_what_the_patterns_say_and_not_done_comes_first() {
    let by_default = settings(URL);
    let by_body = settings(
        r#"{"url":"https://a.example/", "done": {"status": "2xx", "body": "*paid*"},
            "notDone": {"body": "*\"data\":[]*"}}"#,
    );
    let answer = |settings: &ConfirmSettings, status, body| settings.answer(status, body).as_str();
    for (status, expected) in [
        (200, "done"),
        (204, "done"),
        (404, "not_done"),
        (410, "not_done"),
    ] {
        assert_eq!(answer(&by_default, status, "x"), expected);
    }
    for status in [100, 301, 400, 401, 429, 500, 503] {
        assert_eq!(answer(&by_default, status, ""), "unknown");
    }
    for (status, body, expected) in [
        (200, r#"{"state":"paid"}"#, "done"),
        (200, r#"{"data":[], "is":"paid"}"#, "not_done"),
        (200, r#"{"state":"open"}"#, "unknown"),
        (404, "", "unknown"),
    ] {
        assert_eq!(answer(&by_body, status, body), expected, "{body}");
    }
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let (http, mail) = (Kind::http(), Kind::new("mail").unwrap());
    let check = |json: &str, kind: &Kind| {
        let timeout = Some(Duration::from_secs(30));
        let checked = settings(json).check(kind, timeout, None);
        checked.map_or_else(|error| error.to_string(), |()| "fine".to_owned())
    };
    let long = "x".repeat(300);
    let long = format!(r#"{{"url":"u","done":{{"body":"{long}"}}}}"#);
    let table = [
        check(URL, &http),
        check("{}", &mail),
        check(r#"{"also":{"class":"panic"}}"#, &mail),
        check("{}", &http),
        check(URL, &mail),
        check(URL, &Kind::webhook()),
        check(r#"{"url":"u","timeout":"40s"}"#, &http),
        check(r#"{"url":"u","timeout":"0s"}"#, &http),
        check(r#"{"url":"u/{job_id}"}"#, &http),
        check(r#"{"url":"u/{idempotencyKey}"}"#, &http),
        check(r#"{"url":"u","notDone":{}}"#, &http),
        check(&long, &http),
    ];
    insta::assert_snapshot!(table.join("\n"));
}

#[test]
fn placeholders_become_the_id_and_the_key() {
    let confirm = settings(
        r#"{"url": "https://a.example/{jobId}?key={idempotencyKey}",
            "headers": {"x-key": "{idempotencyKey}!"}}"#,
    );
    let key = IdempotencyKey::new("a b/7").unwrap();
    let id = JobId::from_bits(1);
    let url = confirm.url_for(id, Some(&key)).unwrap();
    assert_eq!(url, format!("https://a.example/{id}?key=a%20b%2F7"));
    let headers: Vec<_> = confirm.headers_for(id, Some(&key)).collect();
    assert_eq!(headers, [("x-key", HeaderSource::from("a b/7!"))]);
}
