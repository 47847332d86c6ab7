//! The settings of alerts: read over the defaults, and refused if they make no sense.

use std::time::Duration;

use serde_json::json;
use steadfast_core::{AlertSettings, duration};

use super::MINUTE;

#[test]
fn settings_are_read_field_by_field_over_the_defaults() {
    let read: AlertSettings = serde_json::from_value(json!({
        "window": "10m",
        "dlq": {"enabled": false},
        "retryRate": {"above": 0.5, "minAttempts": 100, "after": "1m"},
        "overdue": {"above": 90_000},
    }))
    .unwrap();
    let mut expected = AlertSettings {
        window: 10 * MINUTE,
        ..AlertSettings::default()
    };
    expected.dlq.enabled = false;
    expected.retry_rate.above = 0.5;
    expected.retry_rate.min_attempts = 100;
    expected.retry_rate.after = MINUTE;
    expected.overdue.above = Duration::from_secs(90);
    assert_eq!(read, expected);
    assert_eq!(read.check(), Ok(()));
    let misspelt = json!({"dlq": {"over": 3}});
    let error = serde_json::from_value::<AlertSettings>(misspelt).unwrap_err();
    assert!(error.to_string().contains("`over`"), "{error}");
}

#[test]
fn settings_that_make_no_sense_are_refused_by_name() {
    let refused = |change: fn(&mut AlertSettings)| {
        let mut settings = AlertSettings::default();
        change(&mut settings);
        settings.check().unwrap_err().to_string()
    };
    assert_eq!(
        refused(|settings| settings.window = duration::parse("10s").unwrap()),
        "window is 10s: must be between 1m and 1d"
    );
    assert_eq!(
        refused(|settings| settings.renotify = Duration::ZERO),
        "renotify is 0s: must be between 1m and 30d"
    );
    for rate in [-0.1, 10.0, f64::NAN] {
        let mut settings = AlertSettings::default();
        settings.retry_rate.above = rate;
        assert_eq!(settings.check().unwrap_err().field, "retryRate.above");
    }
}
