use http_body_util::BodyExt as _;

use super::*;

fn read(json: &str) -> Result<HttpRequest, serde_json::Error> {
    serde_json::from_str(json)
}

#[test]
fn urls_are_absolute_http_and_hold_no_password() {
    for url in [
        "http://example.com",
        "https://example.com:8443/a?b=c#d",
        "HTTP://EXAMPLE.COM/",
        "http://127.0.0.1:80/",
        "http://[::1]:7373/",
        "http://2130706433/",
    ] {
        assert!(HttpRequest::new(url).is_ok(), "{url}");
    }
    let long = format!("http://example.com/{}", "a".repeat(URL_BYTES_MAX));
    for url in [
        "",
        "/path",
        "example.com",
        "ftp://example.com/",
        "file:///etc/passwd",
        "http://",
        "http:///path",
        "http://user:pass@example.com/",
        "http://example.com@10.0.0.1/",
        "http://example.com:99999/",
        "http://example.com:0/",
        "http://example.com:/",
        "http://exa mple.com/",
        "http://example.com/\r\nx: y",
        "http://example.com/#a fragment",
        "http://example.com/#\n",
        "http://user:my pass@example.com/",
        "http://example.com\\@evil/",
        "http://1.2.3.400/",
        "http://[::1/",
        "http://example.com/ä",
        "http://bücher.example/",
        &long,
    ] {
        let error = HttpRequest::new(url).unwrap_err();
        assert_eq!(error.field, "url", "{url}");
        assert!(!error.to_string().contains("pass@"), "{error}");
    }
}

#[test]
fn methods_are_a_short_list() {
    let request = || HttpRequest::new("http://a").unwrap();
    assert_eq!(request().method(), "POST");
    assert_eq!(request().with_method("get").unwrap().method(), "GET");
    for method in ["CONNECT", "TRACE", "", "GET /"] {
        assert_eq!(request().with_method(method).unwrap_err().field, "method");
    }
}

#[test]
fn headers_that_are_not_the_users_are_refused() {
    let request = || HttpRequest::new("http://a").unwrap();
    for name in [
        "Host",
        "content-length",
        "Connection",
        "Transfer-Encoding",
        "TE",
        "upgrade",
        "proxy-authorization",
        "Steadfast-Attempt",
        "Idempotency-Key",
        "expect",
    ] {
        let error = request().with_header(name, "x").unwrap_err();
        assert_eq!(error.field, format!("headers.{name}"));
    }
    for name in ["", "a b", "a:b", "a\r\nb", "ä"] {
        let error = request().with_header(name, "x").unwrap_err();
        assert_eq!(error.field, "headers", "{name:?}");
    }
    for value in ["secret\r\nx: y", "secret\n", "secret\0", "secret\u{7f}"] {
        let error = request().with_header("x-a", value).unwrap_err();
        assert_eq!(error.field, "headers.x-a");
        assert!(!error.to_string().contains("cret"), "{error}");
    }
    let twice = request().with_header("a", "1").unwrap();
    assert!(twice.with_header("A", "2").is_err());
}

#[test]
fn headers_have_limits() {
    let mut request = HttpRequest::new("http://a").unwrap();
    for index in 0..HEADERS_MAX {
        request = request.with_header(&format!("x-{index}"), "1").unwrap();
    }
    assert_eq!(
        request.with_header("one-more", "1").unwrap_err().field,
        "headers"
    );
    let request = HttpRequest::new("http://a").unwrap();
    let huge = "x".repeat(HEADERS_BYTES_MAX);
    assert_eq!(
        request.with_header("a", &huge).unwrap_err().field,
        "headers"
    );
}

#[test]
fn unknown_fields_and_bad_ones_are_named() {
    for (json, expected) in [
        (r#"{"url":"http://a","verb":"GET"}"#, "unknown field `verb`"),
        (r#"{"method":"GET"}"#, "missing field `url`"),
        (
            r#"{"url":"http://a","method":"CONNECT"}"#,
            "method is \"CONNECT\"",
        ),
        (r#"{"url":"nowhere"}"#, "url is \"nowhere\""),
        (
            r#"{"url":"http://a","headers":{"Host":"b"}}"#,
            "headers.Host",
        ),
    ] {
        let error = read(json).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_request_is_written_as_it_is_read() {
    let json = r#"{"url":"http://a/#b","method":"PUT","headers":{"x-a":"1"},"body":{"b": 1.0}}"#;
    let request = read(json).unwrap();
    assert_eq!(serde_json::to_string(&request).unwrap(), json);
    let plain = read(r#"{"url":"http://a"}"#).unwrap();
    let again = read(&serde_json::to_string(&plain).unwrap()).unwrap();
    assert_eq!(again, plain);
}

#[tokio::test]
async fn a_body_is_sent_as_it_was_written() {
    for (fields, kind, expected) in [
        (
            r#""body":{"b": 1.0}"#,
            Some("application/json"),
            r#"{"b": 1.0}"#,
        ),
        (r#""body":"text""#, Some("application/json"), r#""text""#),
        (
            r#""body":"a\nb","headers":{"content-type":"text/plain; charset=utf-8"}"#,
            Some("text/plain; charset=utf-8"),
            "a\nb",
        ),
        (
            r#""body":"x","headers":{"Content-Type":"application/cloudevents+json"}"#,
            Some("application/cloudevents+json"),
            r#""x""#,
        ),
        (
            r#""body":[1],"headers":{"content-type":"text/csv"}"#,
            Some("text/csv"),
            "[1]",
        ),
        (r#""body":null"#, None, ""),
        (r#""method":"GET""#, None, ""),
    ] {
        let request = read(&format!(r#"{{"url":"http://a",{fields}}}"#)).unwrap();
        let (head, body) = request.to_request().into_parts();
        let found = head
            .headers
            .get(CONTENT_TYPE)
            .map(|kind| kind.to_str().unwrap());
        assert_eq!(found, kind, "{fields}");
        assert_eq!(
            body.collect().await.unwrap().to_bytes(),
            expected,
            "{fields}"
        );
    }
}
