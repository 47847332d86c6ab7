//! The payload of a job on a page.
//!
//! That of an HTTP job is the request it sends, and people put passwords into the headers and
//! personal data into the body. So headers are shown by name only to every caller, and the body only
//! to those who could send the request themselves. A form that edits such a payload holds the same
//! masked text; values that come back masked are those that are stored.

use std::collections::BTreeMap;

use serde::{Serialize, de::IgnoredAny};
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};
use steadfast_core::{Destination, Invalid, Kind, Payload};

use crate::dashboard::parts::{format::Excerpt, json_text::indented};

/// A header that comes back with it has its stored value, or is refused.
const MASK: &str = "••••••";
const HIDDEN_BODY: &str = "shown to keys of scope tenant or admin";

/// The payload as a page shows it.
pub fn excerpt(kind: &Kind, payload: &Payload, may_write: bool) -> Excerpt {
    if !may_write && *kind != Kind::http() {
        return hidden();
    }
    Excerpt::json(&shown(kind, payload, may_write))
}

/// In the place of what this caller does not see.
pub fn hidden() -> Excerpt {
    Excerpt::json(HIDDEN_BODY)
}

/// The whole payload, for the form that edits it.
pub fn editable(kind: &Kind, payload: &Payload) -> String {
    let text = shown(kind, payload, true);
    indented(&text).unwrap_or(text)
}

/// What the form sent, or none if it is what the form was filled with: then the payload stays as it
/// is stored, to the byte.
pub fn edited(kind: &Kind, stored: &Payload, text: &str) -> Result<Option<Payload>, Invalid> {
    // Browsers send line ends of their own.
    if text.replace("\r\n", "\n") == editable(kind, stored) {
        return Ok(None);
    }
    unmask(kind, stored, text).map(Some)
}

/// The payload as text, with headers masked and the body only for those who may write.
pub fn shown(kind: &Kind, payload: &Payload, may_write: bool) -> String {
    if *kind != Kind::http() {
        return payload.as_str().to_owned();
    }
    let Ok(mut request) = payload.decode::<RawFields>() else {
        return MASK.to_owned();
    };
    if let Some(headers) = request.get_mut("headers") {
        let names = serde_json::from_str::<BTreeMap<String, IgnoredAny>>(headers.get());
        let masked = names.map(|names| names.into_keys().map(|name| (name, MASK)).collect());
        let masked: BTreeMap<String, &str> = masked.unwrap_or_default();
        *headers = raw(&masked);
    }
    if let Some(body) = request.get_mut("body").filter(|_| !may_write)
        && body.get() != "null"
    {
        *body = raw(&HIDDEN_BODY);
    }
    serde_json::to_string(&request).unwrap_or_else(|_| MASK.to_owned())
}

/// The fields of an object, each as it is written.
pub type RawFields = BTreeMap<String, Box<RawValue>>;

fn raw(value: &impl Serialize) -> Box<RawValue> {
    to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// What a form sent, with the stored values in place of masked ones. Everything else stays as it
/// was typed.
pub fn unmask(kind: &Kind, stored: &Payload, edited: &str) -> Result<Payload, Invalid> {
    let typed = Payload::from_json(edited)?;
    if *kind != Kind::http() || !edited.contains(MASK) {
        return Ok(typed);
    }
    let Ok(mut request) = serde_json::from_str::<RawFields>(edited) else {
        return Ok(typed);
    };
    let headers = request.get("headers").map(|it| it.get().to_owned());
    let headers =
        headers.and_then(|text| serde_json::from_str::<BTreeMap<String, Value>>(&text).ok());
    let Some(mut headers) = headers else {
        return Ok(typed);
    };
    let stored = stored.decode::<Value>().unwrap_or_default();
    let stored_url = stored.get("url").and_then(Value::as_str);
    let url = request.get("url").map(|it| it.get());
    let url = url.and_then(|text| serde_json::from_str::<String>(text).ok());
    let is_same_host =
        url.as_deref().and_then(Destination::of_url) == stored_url.and_then(Destination::of_url);
    let stored = stored.get("headers").and_then(Value::as_object);
    for (name, value) in &mut headers {
        let mut known = stored.into_iter().flatten();
        let known = known.find(|(known, _)| known.eq_ignore_ascii_case(name));
        match known {
            _ if *value != MASK => {}
            Some(_) if !is_same_host => {
                let expected = "must be entered again: the stored value belongs to another host";
                return Err(Invalid::new(format!("headers.{name}"), "masked", expected));
            }
            Some((_, known)) => *value = known.clone(),
            None => {
                let expected = "must be entered: no value is stored";
                return Err(Invalid::new(format!("headers.{name}"), "masked", expected));
            }
        }
    }
    if let Ok(headers) = to_raw_value(&headers) {
        request.insert("headers".to_owned(), headers);
    }
    Payload::encode(&request)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored() -> Payload {
        let text = r#"{"url":"https://x.example/?q=1","method":"PUT",
            "headers":{"Authorization":"Bearer hunter2","x":"y"},"body":{"card":4242}}"#;
        Payload::from_json(text).unwrap()
    }

    #[test]
    fn headers_are_masked_for_all_and_the_body_for_those_who_only_read() {
        for (may_write, shows_body) in [(true, true), (false, false)] {
            let text = excerpt(&Kind::http(), &stored(), may_write).text;
            assert!(text.contains("https://x.example/?q=1") && text.contains("PUT"));
            assert!(text.contains("Authorization") && !text.contains("hunter2"));
            assert_eq!(text.contains("4242"), shows_body, "{text}");
        }
        assert!(!editable(&Kind::http(), &stored()).contains("hunter2"));
        let mail = Kind::new("mail").unwrap();
        assert!(editable(&mail, &stored()).contains("hunter2"), "as the API");
    }

    #[test]
    fn masked_values_are_restored_and_others_are_kept_as_typed() {
        let edited = editable(&Kind::http(), &stored())
            .replace("4242", "12345678901234567890.50")
            .replace("\"x\": \"••••••\"", "\"x\": \"new\"");
        let payload = unmask(&Kind::http(), &stored(), &edited).unwrap();
        let text = payload.as_str();
        assert!(text.contains("Bearer hunter2"), "{text}");
        assert!(text.contains(r#""x":"new""#), "{text}");
        assert!(text.contains("12345678901234567890.50"), "{text}");
        let unknown = edited.replace("\"x\": \"new\"", "\"y\": \"••••••\"");
        let refused = unmask(&Kind::http(), &stored(), &unknown).unwrap_err();
        assert!(refused.to_string().contains("headers.y"), "{refused}");
        assert!(unmask(&Kind::http(), &stored(), "{").is_err());
    }

    #[test]
    fn a_payload_that_was_not_edited_stays_to_the_byte() {
        let mail = Kind::new("mail").unwrap();
        let text = r#"{"z": 12345678901234567890.50, "a":"x\ny"}"#;
        for (kind, stored) in [
            (mail, Payload::from_json(text).unwrap()),
            (Kind::http(), stored()),
        ] {
            let shown = editable(&kind, &stored);
            let sent = shown.replace('\n', "\r\n");
            assert_eq!(edited(&kind, &stored, &sent).unwrap(), None);
            let sent = shown.replacen('{', "{\"new\": 1,", 1);
            let payload = edited(&kind, &stored, &sent).unwrap().unwrap();
            assert!(payload.as_str().contains("\"new\":"), "{payload:?}");
        }
        assert!(
            editable(
                &Kind::new("mail").unwrap(),
                &Payload::from_json(text).unwrap()
            )
            .contains("12345678901234567890.50")
        );
    }

    #[test]
    fn a_masked_value_is_sent_to_no_other_host() {
        let edited = editable(&Kind::http(), &stored());
        for (url, is_sent) in [
            ("https://x.example/other", true),
            ("https://y.example/?q=1", false),
            ("http://x.example/?q=1", false),
            ("https://x.example:8443/", false),
        ] {
            let edited = edited.replace("https://x.example/?q=1", url);
            let unmasked = unmask(&Kind::http(), &stored(), &edited);
            assert_eq!(unmasked.is_ok(), is_sent, "{url}");
        }
    }
}
