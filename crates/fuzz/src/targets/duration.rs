//! Durations: what is read is written in a way that reads as the same.

use steadfast_core::duration;

pub fn check(input: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(input) else {
        return false;
    };
    let Ok(read) = duration::parse(text) else {
        return false;
    };
    let written = duration::format(read);
    let again = duration::parse(&written);
    assert_eq!(again.ok(), Some(read), "{text:?} is written as {written:?}");
    let json = format!("\"{written}\"");
    let from_json = serde_json::from_str::<duration::Text>(&json);
    assert_eq!(from_json.ok(), Some(duration::Text(read)), "{json}");
    true
}
