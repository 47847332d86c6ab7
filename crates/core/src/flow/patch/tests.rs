//! Patches: accepted, stored, refused.

use super::{
    super::{gate::Gate, gates::GateDefaults},
    *,
};
use crate::values::Tenant;

const NOW: Timestamp = Timestamp::from_millis(1_767_225_600_000);

fn id(scope: GateScope) -> GateId {
    let (tenant, key) = match scope {
        GateScope::Key => (Tenant::new("acme").ok(), "customer 7"),
        GateScope::Destination => (None, "https://api.example.com"),
        _ => (None, "mail"),
    };
    GateId::new(tenant, scope, key).unwrap()
}

fn read(json: &str) -> GatePatch {
    serde_json::from_str(json).unwrap()
}

fn limits_of(scope: GateScope, json: &str) -> Result<GateLimits, Invalid> {
    read(json).over(&id(scope), &GateLimits::default(), Some("ann"), NOW)
}

// long: a table
#[test]
fn bad_input_names_its_field_and_the_expected_value() {
    use GateScope::{Destination, Key, Queue, Tenant};
    for (scope, json, sentence) in [
        (
            Queue,
            r#"{"maxRunning":0}"#,
            "maxRunning is 0: must be between 1 and 1000000; set paused to stop all jobs",
        ),
        (
            Queue,
            r#"{"maxRunning":-1}"#,
            "maxRunning is -1: must be between 1 and 1000000",
        ),
        (
            Queue,
            r#"{"rate":{"limit":0,"per":"1s"}}"#,
            "rate.limit is 0: must be between 1 and 1000000",
        ),
        (
            Queue,
            r#"{"rate":{"limit":-5,"per":"1s"}}"#,
            "rate.limit is -5: must be between 1 and 1000000",
        ),
        (
            Queue,
            r#"{"rate":{"limit":5,"per":"10ms"}}"#,
            "rate.per is 10ms: must be between 1s and 1d",
        ),
        (
            Queue,
            r#"{"rate":{"limit":5,"per":"2d"}}"#,
            "rate.per is 2d: must be between 1s and 1d",
        ),
        (
            Queue,
            r#"{"rate":{"limit":5,"per":"1s","burst":1000001}}"#,
            "rate.burst is 1000001: must be between 0 and 1000000",
        ),
        (
            Queue,
            r#"{"ordered":true}"#,
            "ordered is true: must be omitted for scope queue: only jobs with a concurrency key \
             (scope key) can be ordered",
        ),
        (
            Key,
            r#"{"ordered":true,"maxRunning":2}"#,
            "maxRunning is 2: must be 1 or omitted if ordered is true: ordered jobs run one \
             at a time",
        ),
        (
            Tenant,
            r#"{"weight":0}"#,
            "weight is 0: must be between 1 and 1000",
        ),
        (
            Queue,
            r#"{"weight":3}"#,
            "weight is 3: must be omitted for scope queue: only tenants (scope tenant) have a \
             weight",
        ),
        (
            Queue,
            r#"{"retryShare":1.5}"#,
            "retryShare is 1.5: must be between 0 and 1: the fraction of starts per minute",
        ),
        (
            Queue,
            r#"{"hold":"auto"}"#,
            "hold is auto: must be omitted for scope queue: only destinations can be held (scope \
             destination, or tenant for all its jobs)",
        ),
        (
            Tenant,
            r#"{"shareRetryAfter":false}"#,
            "shareRetryAfter is false: must be omitted for scope tenant: only destinations (scope \
             destination) send a Retry-After",
        ),
        (
            Tenant,
            r#"{"health":{"minJobs":2}}"#,
            "health is set: must be omitted for scope tenant: the health of a destination \
             is the same for all tenants",
        ),
        (
            Destination,
            r#"{"health":{"failedShare":0}}"#,
            "health.failedShare is 0: must be above 0 and at most 1: the fraction of attempts",
        ),
        (
            Destination,
            r#"{"health":{"minJobs":65}}"#,
            "health.minJobs is 65: must be between 1 and 64",
        ),
        (
            Destination,
            r#"{"health":{"maxHold":"1s"}}"#,
            "health.maxHold is 1s: must be between 1m and 7d",
        ),
        (
            Queue,
            r#"{"paused":{"until":"2025-01-01T00:00:00Z"}}"#,
            "paused.until is 2025-01-01T00:00:00Z: must be in the future; set paused to false \
             to resume the gate",
        ),
    ] {
        let error = limits_of(scope, json).unwrap_err();
        assert_eq!(error.to_string(), sentence, "{json}");
    }
    for json in [
        r#"{"maxRuning":1}"#,
        r#"{"health":{"minJob":1}}"#,
        r#"{"rate":{"limit":1}}"#,
        r#"{"rate":{"limit":1,"per":"1s","bursts":2}}"#,
        r#"{"hold":"maybe"}"#,
        r#"{"paused":"yes"}"#,
    ] {
        assert!(serde_json::from_str::<GatePatch>(json).is_err(), "{json}");
    }
}

#[test]
fn a_key_that_no_job_can_have_is_refused() {
    let tenant = || Tenant::new("acme").ok();
    for (tenant, scope, key, field) in [
        (None, GateScope::Queue, "two words", "key"),
        (None, GateScope::Kind, "", "key"),
        (None, GateScope::Tenant, "a b", "key"),
        (None, GateScope::Destination, "api.example.com", "key"),
        (None, GateScope::Destination, "https://a.example/x", "key"),
        (tenant(), GateScope::Key, &"k".repeat(256), "key"),
        (None, GateScope::Key, "customer 7", "tenant"),
        (tenant(), GateScope::Tenant, "acme", "tenant"),
    ] {
        let error = GateId::new(tenant, scope, key).unwrap_err();
        assert_eq!(error.field, field, "{scope} {key}");
    }
    let error = "region".parse::<GateScope>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "scope is \"region\": must be one of queue, kind, tenant, destination, key"
    );
}

#[test]
fn a_patch_is_stored_as_it_was_sent() {
    let sent = r#"{"maxRunning":5,"rate":{"limit":100,"per":"1m","burst":10},"retryShare":0.2,"hold":"auto","shareRetryAfter":false,"health":{"minAttempts":10,"maxHold":"30m"}}"#;
    let limits = limits_of(GateScope::Destination, sent).unwrap();
    let stored = serde_json::to_string(&limits).unwrap();
    assert_eq!(stored, sent);
    assert_eq!(serde_json::from_str::<GateLimits>(&stored).unwrap(), limits);
    let again = GatePatch::from(&limits);
    assert_eq!(serde_json::to_string(&again).unwrap(), sent);
    let key = limits_of(GateScope::Key, r#"{"ordered":true,"rate":null}"#).unwrap();
    assert_eq!(serde_json::to_string(&key).unwrap(), r#"{"ordered":true}"#);
    let gate = Gate {
        id: id(GateScope::Key),
        limits: key,
    };
    assert_eq!(
        serde_json::to_string(&gate).unwrap(),
        r#"{"tenant":"acme","scope":"key","key":"customer 7","ordered":true}"#
    );
    let id = serde_json::from_str::<GateId>(&serde_json::to_string(&gate).unwrap()).unwrap();
    assert_eq!(id, gate.id);
}

#[test]
fn unknown_fields_of_a_document_of_another_version_are_ignored() {
    let read = serde_json::from_str::<GateLimits>;
    assert_eq!(read("{}").unwrap(), GateLimits::default());
    let newer = r#"{"maxRunning":5,"lanes":7,"health":{"minJobs":2,"mood":"sad"}}"#;
    let limits = read(newer).unwrap();
    assert_eq!(limits.max_running, Some(5));
    assert_eq!(limits.health.min_jobs, Some(2));
    assert!(read(r#"{"weight":0}"#).is_err());
}

#[test]
fn a_patch_changes_what_it_names_and_a_replacement_unsets_the_rest() {
    let id = id(GateScope::Queue);
    let before = limits_of(GateScope::Queue, r#"{"maxRunning":5,"retryShare":0.5}"#).unwrap();
    let after = read(r#"{"maxRunning":7}"#).over(&id, &before, None, NOW);
    assert_eq!(
        GatePatch::from(&after.unwrap()),
        GatePatch::default().max_running(7).retry_share(0.5)
    );
    let after = read(r#"{"retryShare":null}"#).over(&id, &before, None, NOW);
    assert_eq!(
        GatePatch::from(&after.unwrap()),
        GatePatch::default().max_running(5)
    );
    let after = read(r#"{"maxRunning":7}"#).replace(&id, &before, None, NOW);
    assert_eq!(
        GatePatch::from(&after.unwrap()),
        GatePatch::default().max_running(7)
    );
}

#[test]
fn a_pause_that_is_sent_again_keeps_its_beginning_and_its_author() {
    let id = id(GateScope::Queue);
    let patch = read(r#"{"paused":true}"#);
    let first = patch.over(&id, &GateLimits::default(), Some("ann"), NOW);
    let first = first.unwrap();
    let later = NOW.plus(std::time::Duration::from_secs(60));
    assert_eq!(patch.over(&id, &first, Some("bob"), later).unwrap(), first);
    assert_eq!(
        patch.replace(&id, &first, Some("bob"), later).unwrap(),
        first
    );
    let reason = read(r#"{"paused":{"reason":"maintenance"}}"#);
    let changed = reason.over(&id, &first, Some("bob"), later).unwrap();
    let pause = changed.paused.as_ref().unwrap();
    assert_eq!((pause.by.as_deref(), pause.since), (Some("bob"), NOW));
    let open = read(r#"{"paused":false}"#).over(&id, &changed, None, later);
    assert_eq!(open.unwrap(), GateLimits::default());
}

#[test]
fn defaults_are_for_a_scope_and_never_paused() {
    let limits = read(r#"{"hold":"auto","maxRunning":9}"#)
        .default_of(GateScope::Destination)
        .unwrap();
    assert_eq!(limits.hold, Some(HoldMode::Auto));
    let error = read(r#"{"paused":true}"#).default_of(GateScope::Queue);
    assert_eq!(error.unwrap_err().field, "paused");
    let defaults = |json| GateDefaults::new([(GateScope::Tenant, read(json))]);
    assert!(defaults(r#"{"weight":3}"#).unwrap().tenant.weight.is_some());
    assert_eq!(
        defaults(r#"{"maxRunning":0}"#).unwrap_err().field,
        "tenant.maxRunning"
    );
}

#[test]
fn a_rate_can_be_written_in_a_word() {
    for (text, limit, secs, burst) in [
        ("10/s", 10, 1, 0),
        ("100/1m", 100, 60, 0),
        ("10/s+5", 10, 1, 5),
        ("3/90s", 3, 90, 0),
    ] {
        let rate: Rate = text.parse().unwrap();
        let expected = (limit, std::time::Duration::from_secs(secs), burst);
        assert_eq!((rate.limit, rate.per, rate.burst), expected, "{text}");
    }
    for text in [
        "",
        "10",
        "10/",
        "x/s",
        "0/s",
        "10/s+-1",
        "10/parsec",
        "1/1ms",
    ] {
        assert!(text.parse::<Rate>().is_err(), "{text}");
    }
}
