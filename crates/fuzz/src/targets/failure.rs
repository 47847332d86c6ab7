//! Messages of failures: each has a pattern within its bounds, and the same one whenever it is made.

use steadfast_core::{Failure, FailureClass, FailureFingerprint, Kind, limits};

pub fn check(input: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(input) else {
        return false;
    };
    let failure = Failure::new(FailureClass::ERROR, text);
    let pattern = failure.pattern();
    assert!(pattern.len() <= limits::PATTERN_BYTES_MAX, "{pattern:?}");
    assert!(!pattern.contains(char::is_control), "{pattern:?}");
    assert_eq!(pattern, failure.pattern());
    let fingerprint = FailureFingerprint::of(&failure, &Kind::http(), None);
    assert_eq!(fingerprint.to_string().parse().ok(), Some(fingerprint));
    true
}
