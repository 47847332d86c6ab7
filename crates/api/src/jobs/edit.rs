//! What `null` means in an edit, where a field that is left out stays as it is: it clears what can
//! be cleared, and is refused elsewhere. serde alone reads both as `None`.

use serde::{Deserialize, Deserializer, de::Error as _};
use steadfast_core::Payload;

/// A field that may be absent from the thing itself: `Some(None)` clears it.
pub fn clearable<'de, D, T>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(deserializer).map(Some)
}

/// A field that always has a value.
pub fn not_clearable<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    match Option::deserialize(deserializer)? {
        Some(value) => Ok(Some(value)),
        None => Err(D::Error::custom(
            "cannot be cleared: give a value, or omit the field to keep its current value",
        )),
    }
}

/// A payload, of which `null` is one.
pub fn any_json<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Payload>, D::Error> {
    Payload::deserialize(deserializer).map(Some)
}
