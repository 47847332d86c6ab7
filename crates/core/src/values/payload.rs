//! JSON that is passed on without being read.
//!
//! A payload is checked once, when it is built, and then stays text: no part between the client
//! and the handler parses it again.

use std::{fmt, sync::Arc};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, DeserializeOwned},
    ser,
};
use serde_json::value::{RawValue, to_raw_value};

use super::invalid::Invalid;
use crate::limits;

/// JSON text of at most [`limits::PAYLOAD_BYTES_MAX`] bytes. Cloning is cheap.
#[derive(Clone)]
pub struct Payload(JsonText);

#[derive(Clone)]
enum JsonText {
    /// As serde read or wrote it; becomes part of other JSON as it is.
    Raw(Arc<RawValue>),
    /// Text that was checked before, and is checked again when it becomes part of other JSON.
    Plain(Arc<str>),
}

impl Payload {
    /// Checks that `text` is JSON and not too large.
    pub fn from_json(text: &str) -> Result<Self, Invalid> {
        check_size(text.len(), limits::PAYLOAD_BYTES_MAX)?;
        serde_json::from_str::<&RawValue>(text).map_err(|error| {
            Invalid::new(
                "payload",
                format!("{text:?}"),
                format!("must be JSON: {error}"),
            )
        })?;
        Ok(Self(JsonText::Plain(text.into())))
    }

    /// Writes a value as JSON.
    pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Self, Invalid> {
        let raw = to_raw_value(value).map_err(|error| {
            Invalid::new(
                "payload",
                std::any::type_name::<T>(),
                format!("must be serializable as JSON: {error}"),
            )
        })?;
        check_size(raw.get().len(), limits::PAYLOAD_BYTES_MAX)?;
        Ok(Self(JsonText::Raw(raw.into())))
    }

    /// Takes text that a store has read back: it was checked before it was stored.
    pub fn from_stored(text: &str) -> Self {
        Self(JsonText::Plain(text.into()))
    }

    /// Reads the JSON as a value.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.as_str())
    }

    /// Checks that it has at most `most` bytes, where less than the usual limit is allowed.
    pub fn check_bytes(&self, most: usize) -> Result<(), Invalid> {
        check_size(self.as_str().len(), most)
    }

    /// The JSON text, as it was written.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            JsonText::Raw(raw) => raw.get(),
            JsonText::Plain(text) => text,
        }
    }
}

impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Payload {}

fn check_size(bytes: usize, most: usize) -> Result<(), Invalid> {
    if bytes > most {
        return Err(Invalid::new(
            "payload",
            format!("{bytes} bytes"),
            format!(
                "must be at most {most} bytes; store large data elsewhere and pass its address"
            ),
        ));
    }
    Ok(())
}

/// `null`, for jobs that need no input.
impl Default for Payload {
    fn default() -> Self {
        Self::from_stored("null")
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            JsonText::Raw(raw) => raw.serialize(serializer),
            JsonText::Plain(text) => {
                let raw: &RawValue = serde_json::from_str(text).map_err(ser::Error::custom)?;
                raw.serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let size = check_size(raw.get().len(), limits::PAYLOAD_BYTES_MAX);
        size.map_err(de::Error::custom)?;
        Ok(Self(JsonText::Raw(raw.into())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_kept_as_it_was_written() {
        let text = r#"{"b": 1.0, "a": [1,  2], "n": 12345678901234567890123}"#;
        assert_eq!(Payload::from_json(text).unwrap().as_str(), text);
    }

    #[test]
    fn broken_or_large_payloads_are_refused_by_name() {
        assert_eq!(Payload::from_json("{").unwrap_err().field, "payload");
        let error = Payload::encode(&"x".repeat(limits::PAYLOAD_BYTES_MAX)).unwrap_err();
        assert!(error.to_string().contains("1048576"), "{error}");
    }
}
