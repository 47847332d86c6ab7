//! What providers really send, and what none should.

use proptest::prelude::*;

use super::*;
use crate::limits;

/// When the answers were received: 2026-01-01T00:00:00Z.
const NOW: Timestamp = Timestamp::from_millis(1_767_225_600_000);

fn header(headers: &[(&str, &str)]) -> impl Fn(&str) -> Option<String> {
    let headers = headers.iter();
    let headers: Vec<_> = headers
        .map(|(name, value)| (name.to_lowercase(), (*value).to_owned()))
        .collect();
    move |wanted| {
        let found = headers.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.clone())
    }
}

fn read(headers: &[(&str, &str)]) -> Option<TargetQuota> {
    TargetQuota::read(&header(headers), NOW)
}

/// `3 left for 60s (x-ratelimit-remaining)`, or `-`.
fn summary(headers: &[(&str, &str)]) -> String {
    let quota = read(headers);
    quota.map_or("-".to_owned(), |quota| {
        let secs = quota.resets_in.as_secs_f64();
        format!("{} left for {secs}s ({})", quota.remaining, quota.header)
    })
}

/// A provider and its form, headers of one response, and what is read from them.
type RecordedResponse = (
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static str,
);

/// Headers in the forms that these providers send, with numbers at which they matter.
const PROVIDERS: &[RecordedResponse] = &[
    (
        "GitHub: a time in seconds since 1970",
        &[
            ("x-ratelimit-limit", "5000"),
            ("x-ratelimit-remaining", "1800"),
            ("x-ratelimit-used", "3200"),
            ("x-ratelimit-reset", "1767227400"),
            ("x-ratelimit-resource", "core"),
        ],
        "1800 left for 1800s (x-ratelimit-remaining)",
    ),
    (
        "GitHub: most of the limit is left",
        &[
            ("x-ratelimit-limit", "5000"),
            ("x-ratelimit-remaining", "4990"),
            ("x-ratelimit-reset", "1767227400"),
        ],
        "-",
    ),
    (
        "OpenAI: durations, and the scarcer of two counters",
        &[
            ("x-ratelimit-limit-requests", "60"),
            ("x-ratelimit-remaining-requests", "29"),
            ("x-ratelimit-reset-requests", "31s"),
            ("x-ratelimit-limit-tokens", "150000"),
            ("x-ratelimit-remaining-tokens", "0"),
            ("x-ratelimit-reset-tokens", "6m0s"),
        ],
        "0 left for 360s (x-ratelimit-remaining-tokens)",
    ),
    (
        "Groq: durations with decimals",
        &[
            ("x-ratelimit-limit-requests", "14400"),
            ("x-ratelimit-remaining-requests", "2"),
            ("x-ratelimit-reset-requests", "2m59.56s"),
            ("x-ratelimit-limit-tokens", "18000"),
            ("x-ratelimit-remaining-tokens", "17997"),
            ("x-ratelimit-reset-tokens", "7.66s"),
        ],
        "2 left for 179.56s (x-ratelimit-remaining-requests)",
    ),
    (
        "Anthropic: dates",
        &[
            ("anthropic-ratelimit-requests-limit", "50"),
            ("anthropic-ratelimit-requests-remaining", "49"),
            ("anthropic-ratelimit-requests-reset", "2026-01-01T00:00:01Z"),
            ("anthropic-ratelimit-input-tokens-limit", "30000"),
            ("anthropic-ratelimit-input-tokens-remaining", "0"),
            (
                "anthropic-ratelimit-input-tokens-reset",
                "2026-01-01T00:00:45Z",
            ),
        ],
        "0 left for 45s (anthropic-ratelimit-input-tokens-remaining)",
    ),
    (
        "Discord: the seconds count, not the time",
        &[
            ("X-RateLimit-Limit", "5"),
            ("X-RateLimit-Remaining", "1"),
            ("X-RateLimit-Reset", "1767229999.123"),
            ("X-RateLimit-Reset-After", "1.5"),
            ("X-RateLimit-Bucket", "abcd1234"),
        ],
        "1 left for 1.5s (x-ratelimit-remaining)",
    ),
    (
        "Reddit: decimals, and what was used instead of a limit",
        &[
            ("x-ratelimit-used", "900"),
            ("x-ratelimit-remaining", "96.0"),
            ("x-ratelimit-reset", "240"),
        ],
        "96 left for 240s (x-ratelimit-remaining)",
    ),
    (
        "Zendesk: seconds",
        &[
            ("x-rate-limit", "700"),
            ("x-rate-limit-remaining", "12"),
            ("ratelimit-limit", "700"),
            ("ratelimit-remaining", "12"),
            ("ratelimit-reset", "41"),
        ],
        "12 left for 41s (ratelimit-remaining)",
    ),
    (
        "GitLab: the names of the draft, but a time",
        &[
            ("RateLimit-Limit", "600"),
            ("RateLimit-Observed", "590"),
            ("RateLimit-Remaining", "10"),
            ("RateLimit-Reset", "1767225630"),
            ("RateLimit-ResetTime", "Thu, 01 Jan 2026 00:00:30 GMT"),
        ],
        "10 left for 30s (ratelimit-remaining)",
    ),
    (
        "Cloudflare: the current draft",
        &[
            ("RateLimit", r#""default";r=5;t=30"#),
            ("RateLimit-Policy", r#""default";q=100;w=60"#),
        ],
        "5 left for 30s (RateLimit)",
    ),
    (
        "the current draft with two limits, one without a time",
        &[
            ("RateLimit", r#""burst, or so";r=40;t=2, "daily";r=3"#),
            (
                "RateLimit-Policy",
                r#""burst, or so";q=50;w=10,"daily";q=1000;w=86400"#,
            ),
        ],
        "3 left for 86400s (RateLimit)",
    ),
    (
        "an earlier draft",
        &[("RateLimit", "limit=100, remaining=20, reset=50")],
        "20 left for 50s (RateLimit)",
    ),
    (
        "a limit with its windows",
        &[
            ("RateLimit-Limit", "100, 100;w=60, 5000;w=3600"),
            ("RateLimit-Remaining", "0"),
            ("RateLimit-Reset", "17"),
        ],
        "0 left for 17s (ratelimit-remaining)",
    ),
    (
        "Docker Hub: a window, but no reset",
        &[
            ("ratelimit-limit", "100;w=21600"),
            ("ratelimit-remaining", "3;w=21600"),
        ],
        "-",
    ),
    (
        "X: other words, and a time",
        &[
            ("x-rate-limit-limit", "300"),
            ("x-rate-limit-remaining", "0"),
            ("x-rate-limit-reset", "1767226500"),
        ],
        "0 left for 900s (x-rate-limit-remaining)",
    ),
    (
        "Linear: a time in milliseconds",
        &[
            ("X-RateLimit-Requests-Limit", "1500"),
            ("X-RateLimit-Requests-Remaining", "700"),
            ("X-RateLimit-Requests-Reset", "1767227400000"),
        ],
        "700 left for 1800s (x-ratelimit-requests-remaining)",
    ),
    (
        "Jira: a date without seconds",
        &[
            ("X-RateLimit-Limit", "350"),
            ("X-RateLimit-Remaining", "0"),
            ("X-RateLimit-Reset", "2026-01-01T00:05Z"),
        ],
        "0 left for 300s (x-ratelimit-remaining)",
    ),
    (
        "Shopify: a bucket of its own form",
        &[("X-Shopify-Shop-Api-Call-Limit", "39/40")],
        "-",
    ),
    (
        "Stripe: only a reason",
        &[("Stripe-Rate-Limited-Reason", "global-rate")],
        "-",
    ),
    (
        "Twilio: calls at once",
        &[("Twilio-Concurrent-Requests", "7")],
        "-",
    ),
];

#[test]
fn the_counters_of_a_dozen_providers_are_read() {
    for (provider, headers, expected) in PROVIDERS {
        assert_eq!(summary(headers), *expected, "{provider}");
    }
}

#[test]
fn a_time_counts_from_the_answer_by_the_clock_of_the_target() {
    let headers = [
        ("date", "Thu, 01 Jan 2026 01:00:00 GMT"),
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", "1767229260"),
    ];
    let expected = "0 left for 60s (x-ratelimit-remaining)";
    assert_eq!(summary(&headers), expected);
}

#[test]
fn rubbish_limits_nothing_and_a_late_reset_is_cut() {
    let with = |remaining, reset| {
        summary(&[
            ("x-ratelimit-remaining", remaining),
            ("x-ratelimit-reset", reset),
        ])
    };
    for (remaining, reset) in [
        ("-1", "60"),
        ("many", "60"),
        ("NaN", "60"),
        ("inf", "60"),
        ("", "60"),
        ("0", ""),
        ("0", "-5"),
        ("0", "0"),
        ("0", "soon"),
        ("0", "5 parsecs"),
        ("0", "1.2.3s"),
        ("0", "inf"),
        // In the past.
        ("0", "1767225599"),
        ("0", "2025-12-31T23:59:59Z"),
    ] {
        assert_eq!(with(remaining, reset), "-", "{remaining:?} {reset:?}");
    }
    let a_month = "0 left for 2592000s (x-ratelimit-remaining)";
    for reset in ["31536000", "999999999", "1798761600", "9e300", "9999999h"] {
        assert_eq!(with("0", reset), a_month, "{reset:?}");
    }
    assert_eq!(
        with("1e30", "60"),
        "4294967295 left for 60s (x-ratelimit-remaining)"
    );
}

#[test]
fn the_wait_of_a_refused_request_is_read_from_the_header_that_says_most() {
    let wait = |status, headers: &[(&str, &str)]| {
        let wait = RequestedWait::read(status, &header(headers), NOW);
        wait.map(|wait| (wait.delay.as_millis(), wait.header.as_str()))
    };
    let counters = [
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", "90"),
        ("retry-after", "2.0"),
        ("retry-after-ms", "1250"),
    ];
    assert_eq!(wait(429, &counters), Some((1_250, "retry-after-ms")));
    assert_eq!(wait(503, &counters[..3]), Some((2_000, "Retry-After")));
    let used_up = Some((90_000, "x-ratelimit-remaining"));
    assert_eq!(wait(429, &counters[..2]), used_up);
    assert_eq!(wait(500, &counters), None);
    let some_left = [("x-ratelimit-remaining", "1"), ("x-ratelimit-reset", "90")];
    assert_eq!(wait(429, &some_left), None);
    let date = [("retry-after", "Thu, 01 Jan 2026 00:01:30 GMT")];
    assert_eq!(wait(429, &date), Some((90_000, "Retry-After")));
    assert_eq!(wait(429, &[("retry-after-ms", "soon")]), None);
}

#[test]
fn a_stored_header_is_read_again_also_by_an_older_version() {
    for name in COUNTED.into_iter().chain(["Retry-After", "retry-after-ms"]) {
        let stored = serde_json::to_string(&LimitHeader::named(name)).unwrap();
        let read: LimitHeader = serde_json::from_str(&stored).unwrap();
        assert_eq!(read.as_str(), name);
    }
    let newer: LimitHeader = serde_json::from_str(r#""x-new-remaining""#).unwrap();
    assert_eq!(newer.as_str(), "another header");
}

/// Names that people look for.
const COUNTED: [&str; 4] = [
    "x-ratelimit-remaining",
    "x-ratelimit-remaining-requests",
    "x-ratelimit-remaining-tokens",
    "RateLimit",
];

proptest! {
    /// A destination writes what it likes.
    #[test]
    fn no_header_panics_or_counts_for_longer_than_may_be(
        remaining in "\\PC{0,20}", reset in "\\PC{0,20}", structured in "\\PC{0,40}",
    ) {
        let headers = [
            ("x-ratelimit-remaining", remaining.as_str()),
            ("x-ratelimit-reset", reset.as_str()),
            ("ratelimit", structured.as_str()),
            ("retry-after", reset.as_str()),
        ];
        if let Some(quota) = read(&headers) {
            prop_assert!(quota.resets_in <= limits::RETRY_AFTER_MAX);
        }
        RequestedWait::read(429, &header(&headers), NOW);
    }
}
