//! What is recorded of a response, and what it means for the job.

use std::time::Duration;

use steadfast_core::{Failure, FailureClass, Outcome, Timestamp};

use crate::{
    common::{DEADLINE, any_address, call, post},
    target::{Reply, Target, answer, ok},
};

async fn failure_of(reply: impl Fn(usize) -> Reply + Send + Sync + 'static) -> Failure {
    let target = Target::start(reply).await;
    let response = call(&any_address(), &target.url()).await.unwrap();
    match response.outcome(Timestamp::EPOCH) {
        Outcome::Failure { failure, .. } => failure,
        other => panic!("not a failure: {other:?}"),
    }
}

#[tokio::test]
async fn a_response_is_recorded_with_its_timings() {
    let target = Target::start(|_| answer("201 Created", "x-a: 1\r\n", "created")).await;
    let response = call(&any_address(), &target.url()).await.unwrap();
    assert_eq!(response.status, 201);
    assert_eq!(response.headers["x-a"], "1");
    assert_eq!(
        (response.body.as_str(), response.truncated),
        ("created", false)
    );
    let timings = response.timings;
    assert!(timings.dns.is_some() && timings.connect.is_some() && timings.first_byte.is_some());
    assert_eq!(timings.tls, None);

    let seen = &target.seen()[0];
    assert_eq!(seen.line, "POST /hook?x=1 HTTP/1.1");
    assert_eq!(seen.headers["host"], target.address.to_string());
    assert_eq!(seen.body, "{}");
}

#[tokio::test]
async fn a_chunked_response_is_one_body() {
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
                   3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    let target = Target::start(|_| Reply::Send(chunked.to_owned())).await;
    let response = call(&any_address(), &target.url()).await.unwrap();
    assert_eq!(response.body, "abcde");
}

#[tokio::test]
async fn statuses_have_classes() {
    for (status, class, permanent) in [
        ("404 Not Found", FailureClass::NOT_FOUND, true),
        ("401 Unauthorized", FailureClass::UNAUTHORIZED, true),
        ("503 Service Unavailable", FailureClass::HTTP, false),
        ("304 Not Modified", FailureClass::REDIRECT, true),
    ] {
        let failure = failure_of(|_| answer(status, "", "")).await;
        assert_eq!(failure.class, class, "{status}");
        assert_eq!(failure.is_permanent(), permanent, "{status}");
        assert_eq!(failure.message, format!("answered {status}"));
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = Target::start(|_| ok("")).await;
    for (status, location) in [
        ("302 Found", elsewhere.url()),
        ("307 Temporary Redirect", elsewhere.url()),
        (
            "301 Moved Permanently",
            "http://169.254.169.254/".to_owned(),
        ),
    ] {
        let header = format!("location: {location}\r\n");
        let failure = failure_of(move |_| answer(status, &header, "")).await;
        assert_eq!(failure.class, FailureClass::REDIRECT);
        let expected =
            format!("answered {status} with a redirect to {location}; redirects are not followed");
        assert_eq!(failure.message, expected);
    }
    assert_eq!(elsewhere.connections(), 0);
}

#[tokio::test]
async fn only_the_beginning_of_a_body_is_kept() {
    let target = Target::start(|_| ok(&"ä".repeat(50_000))).await;
    let outbound = any_address();
    let response = call(&outbound, &target.url()).await.unwrap();
    assert!(response.truncated);
    assert_eq!(response.body, "ä".repeat(16 * 1024 / 2));
    // It was read to its end all the same, so the connection is good for another request.
    call(&outbound, &target.url()).await.unwrap();
    assert_eq!((target.seen().len(), target.connections()), (2, 1));
}

#[tokio::test]
async fn a_body_without_end_is_left_and_the_status_counts() {
    for head in [
        "HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n",
    ] {
        let target = Target::start(|_| Reply::Flood(head.to_owned())).await;
        let response = call(&any_address(), &target.url()).await.unwrap();
        assert_eq!(response.status, 200);
        assert_eq!((response.body.len(), response.truncated), (16 * 1024, true));
        // The other side is cut off, and could not send much more than we read.
        target.closure().await;
        let flooded = target.bytes_flooded();
        assert!(flooded < 64 * 1024 * 1024, "{flooded} bytes were read");
    }
}

#[tokio::test]
async fn a_head_without_end_is_refused() {
    let head = "HTTP/1.1 200 OK\r\nx-a: ".to_owned();
    let target = Target::start(move |_| Reply::Flood(head.clone())).await;
    let failure = call(&any_address(), &target.url()).await.unwrap_err();
    assert_eq!(failure.class, FailureClass::CONNECTION);
    assert!(failure.message.contains("too large"), "{failure}");
    target.closure().await;
}

#[tokio::test]
async fn a_few_informational_responses_are_passed_over_and_many_are_refused() {
    let hint = "HTTP/1.1 103 Early Hints\r\nlink: </a.css>\r\n\r\n";
    let text = format!(
        "{}HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
        hint.repeat(16)
    );
    let target = Target::start(move |_| Reply::Send(text.clone())).await;
    let response = call(&any_address(), &target.url()).await.unwrap();
    assert_eq!(
        (response.status.as_u16(), response.body.as_str()),
        (200, "ok")
    );

    let target = Target::start(move |_| Reply::Send(hint.repeat(17))).await;
    let failure = call(&any_address(), &target.url()).await.unwrap_err();
    assert_eq!(failure.class, FailureClass::CONNECTION);
    let address = target.address;
    let expected = format!("{address} sent more than 16 informational responses (1xx)");
    assert_eq!(failure.message, expected);
    target.closure().await;
}

#[tokio::test]
async fn a_large_head_is_kept_in_part() {
    let headers: String = (0..90)
        .map(|n| format!("x-{n:02}: {}\r\n", "y".repeat(500)))
        .collect();
    let target = Target::start(move |_| answer("200 OK", &headers, "")).await;
    let response = call(&any_address(), &target.url()).await.unwrap();
    let kept: usize = response
        .headers
        .iter()
        .map(|(n, v)| n.len() + v.len())
        .sum();
    assert!((4_096..=8_192).contains(&kept), "{kept} bytes kept");
}

#[tokio::test]
async fn what_is_not_http_is_a_failure_of_the_connection() {
    for text in [
        "",
        "SSH-2.0-OpenSSH_9.6\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nx",
    ] {
        let target = Target::start(|_| Reply::SendAndClose(text.to_owned())).await;
        let failure = call(&any_address(), &target.url()).await.unwrap_err();
        assert_eq!(
            failure.class,
            FailureClass::CONNECTION,
            "{text:?}: {failure}"
        );
        let expected = format!("no response from {}: ", target.address);
        assert!(failure.message.starts_with(&expected), "{failure}");
        assert_eq!(target.seen().len(), 1, "{text:?}");
    }
}

#[tokio::test]
async fn a_body_that_breaks_off_is_a_failure_of_the_connection() {
    let short = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc";
    let target = Target::start(|_| Reply::SendAndClose(short.to_owned())).await;
    let failure = call(&any_address(), &target.url()).await.unwrap_err();
    assert_eq!(failure.class, FailureClass::CONNECTION);
    assert!(failure.message.contains("was cut off"), "{failure}");
    assert_eq!(target.seen().len(), 1);
}

#[tokio::test]
async fn the_time_limit_covers_everything_and_the_failure_names_the_phase() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 99999\r\n\r\n".to_owned();
    let limit = Duration::from_millis(80);
    let message_of = async |reply: fn(String) -> Reply, text: String| {
        let target = Target::start(move |_| reply(text.clone())).await;
        let called = any_address().call(post(&target.url()), limit, false).await;
        let failure = called.unwrap_err();
        assert_eq!(failure.class, FailureClass::TIMEOUT);
        // The connection goes with the request.
        target.closure().await;
        failure
            .message
            .replace(&target.address.to_string(), "TARGET")
    };
    assert_eq!(
        message_of(Reply::Hang, String::new()).await,
        "no response from TARGET within 80ms"
    );
    assert_eq!(
        message_of(Reply::Trickle, "HTTP/1.1 200 OK\r\nx: ".to_owned()).await,
        "no response from TARGET within 80ms"
    );
    for reply in [Reply::Hang as fn(String) -> Reply, Reply::Trickle] {
        assert_eq!(
            message_of(reply, head.clone()).await,
            "the response body from TARGET was not complete within 80ms"
        );
    }
}

#[tokio::test]
async fn a_response_to_head_has_no_body() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n";
    let target = Target::start(|_| Reply::Send(head.to_owned())).await;
    let mut request = post(&target.url());
    *request.method_mut() = http::Method::HEAD;
    let response = any_address().call(request, DEADLINE, false).await.unwrap();
    assert_eq!(
        (response.status.as_u16(), response.body.as_str()),
        (200, "")
    );
}
