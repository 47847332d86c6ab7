use super::*;

fn answer(status: u16, headers: &[(&'static str, &str)], body: &[u8]) -> RecordedResponse {
    let mut response = http::Response::new(());
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    for (name, value) in headers {
        response.headers_mut().append(*name, value.parse().unwrap());
    }
    let excerpt = Excerpt {
        kept: body.to_vec(),
        truncated: false,
        whole: true,
    };
    RecordedResponse::new(&response.into_parts().0, &excerpt, Timings::default())
}

fn failure(answer: RecordedResponse, now: Timestamp) -> Failure {
    match answer.outcome(now) {
        Outcome::Failure { failure, .. } => failure,
        other => panic!("not a failure: {other:?}"),
    }
}

#[test]
fn retry_after_is_seconds_or_a_date_by_the_stores_clock() {
    let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let secs = Duration::from_secs;
    for (status, text, expected) in [
        (429, "120", Some(secs(120))),
        (503, " 7 ", Some(secs(7))),
        (503, "0", Some(secs(0))),
        (503, "Thu, 01 Jan 2026 00:01:30 GMT", Some(secs(90))),
        (429, "Wed, 31 Dec 2025 23:00:00 GMT", Some(secs(0))),
        // Never longer than the longest delay, however long is asked for.
        (429, "86400", Some(secs(86_400))),
        (429, "99999999999999999999999", Some(secs(30 * 86_400))),
        (503, "-5", None),
        (503, "soon", None),
        (503, "", None),
        (500, "120", None),
        (302, "120", None),
    ] {
        let answer = answer(status, &[("retry-after", text)], b"");
        let found = failure(answer, now).retry_after;
        assert_eq!(found, expected, "{status} {text:?}");
    }
}

#[test]
fn a_failure_quotes_what_people_can_read() {
    let message = |status, kind: &str, body: &[u8]| {
        failure(
            answer(status, &[("content-type", kind)], body),
            Timestamp::EPOCH,
        )
        .message
    };
    assert_eq!(
        message(503, "text/plain", b"try\n  later\n"),
        "answered 503 Service Unavailable: try later"
    );
    assert_eq!(
        message(422, "application/problem+json", br#"{"a":1}"#),
        r#"answered 422 Unprocessable Entity: {"a":1}"#
    );
    let plain = "answered 500 Internal Server Error";
    assert_eq!(message(500, "text/html", b"<html>"), plain);
    assert_eq!(message(500, "text/plain", b"\xff\xfe"), plain);
    assert_eq!(message(500, "text/plain", b""), plain);
    let long = message(500, "text/plain", "ß".repeat(999).as_bytes());
    assert_eq!(long.chars().count(), plain.len() + 2 + QUOTE_CHARS_MAX + 1);
}

#[test]
fn secrets_in_headers_are_hidden_and_repeated_ones_joined() {
    let answer = answer(
        200,
        &[("set-cookie", "s=1"), ("via", "a"), ("via", "b")],
        b"",
    );
    assert_eq!(answer.headers["set-cookie"], "(hidden)");
    assert_eq!(answer.headers["via"], "a, b");
}

#[test]
fn headers_are_kept_up_to_a_limit() {
    let big = "x".repeat(3_000);
    let names = ["a", "b", "c", "d"];
    let headers = names.map(|name| (name, big.as_str()));
    assert_eq!(answer(200, &headers, b"").headers.len(), 2);
    let many: Vec<_> = (0..200).map(|_| ("a", "1")).collect();
    let joined = &answer(200, &many, b"").headers["a"];
    assert_eq!(joined.split(", ").count(), HEADERS_KEPT_MAX);
}

#[test]
fn the_record_fits_whatever_escapes_make_of_the_body() {
    for byte in [b'"', 1, 0, 0xff, b'a'] {
        let answer = answer(200, &[], &vec![byte; BODY_KEPT_MAX]);
        let output = answer.output(Timestamp::EPOCH).unwrap();
        assert!(output.as_str().len() <= OUTPUT_BYTES_MAX);
        let record: serde_json::Value = output.decode().unwrap();
        let kept = record["body"].as_str().unwrap();
        assert!(kept.len() > 8 * 1024, "{} of {byte}", kept.len());
        assert!(!kept.contains('\0'));
        assert_eq!(record["truncated"], kept.len() < answer.body.len());
    }
}
