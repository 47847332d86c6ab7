//! The payload of a job on a page.
//!
//! That of an HTTP job is the request it sends, and people put passwords into the headers and
//! personal data into the body. So headers are shown by name only to every caller, and the body only
//! to those who could send the request themselves. A form that edits such a payload holds the same
//! masked text; values that come back masked are those that are stored.

use std::collections::BTreeMap;

use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};
use steadfast_core::{Destination, Invalid, Kind, Payload};

use super::format::Excerpt;

/// A header that comes back with it has its stored value, or is refused.
const MASK: &str = "••••••";
const HIDDEN_BODY: &str = "shown to keys of scope tenant or admin";

/// The payload as a page shows it.
pub fn excerpt(kind: &Kind, payload: &Payload, may_write: bool) -> Excerpt {
    Excerpt::json(&shown(kind, payload, may_write))
}

/// The whole payload, for the form that edits it.
pub fn editable(kind: &Kind, payload: &Payload) -> String {
    let text = shown(kind, payload, true);
    let value = serde_json::from_str::<Value>(&text);
    let pretty = value.and_then(|value| serde_json::to_string_pretty(&value));
    pretty.unwrap_or(text)
}

/// The payload as text, with headers masked and the body only for those who may write.
pub fn shown(kind: &Kind, payload: &Payload, may_write: bool) -> String {
    if *kind != Kind::http() {
        return payload.as_str().to_owned();
    }
    let Ok(Value::Object(mut request)) = payload.decode::<Value>() else {
        return MASK.to_owned();
    };
    if let Some(Value::Object(headers)) = request.get_mut("headers") {
        for value in headers.values_mut() {
            *value = MASK.into();
        }
    }
    if !may_write && request.get("body").is_some_and(|body| !body.is_null()) {
        request.insert("body".to_owned(), HIDDEN_BODY.into());
    }
    Value::Object(request).to_string()
}

/// What a form sent, with the stored values in place of masked ones. Everything else stays as it
/// was typed.
pub fn unmask(kind: &Kind, stored: &Payload, edited: &str) -> Result<Payload, Invalid> {
    let typed = Payload::from_json(edited)?;
    if *kind != Kind::http() || !edited.contains(MASK) {
        return Ok(typed);
    }
    let Ok(mut request) = serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(edited) else {
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
                let expected = "must be typed again: it was stored for another host";
                return Err(Invalid::new(format!("headers.{name}"), "masked", expected));
            }
            Some((_, known)) => *value = known.clone(),
            None => {
                let expected = "must be its value: none is stored";
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
    fn a_masked_value_that_comes_back_is_the_stored_one_and_others_are_as_typed() {
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
