//! What follows an action: the way back to the page it came from, and the sentence about what was
//! done.

use axum::{http::Uri, response::Response};
use steadfast_core::explain::thousands;

use crate::{
    dashboard::fields::Fields,
    http::Problem,
    theme::{PageError, PageResult, redirect_to},
};

/// The sentence about an action, from a fixed set: a link made by someone else cannot put other
/// words on a page.
pub fn action_message(fields: &Fields) -> Option<String> {
    let number = fields.get("n").and_then(|n| n.parse::<u64>().ok());
    let jobs = match number {
        Some(1) => "1 job".to_owned(),
        Some(n) => format!("{} jobs", thousands(n)),
        None => "the job".to_owned(),
    };
    let sentence = match fields.get("did")? {
        "cancel" => format!("Requested cancellation of {jobs}."),
        "retry" => format!("Requeued {jobs} with a new retry budget."),
        "run-now" => format!("Scheduled {jobs} to run now."),
        "edit-policy" => format!("Changed the retry policy of {jobs}."),
        "edit" => "Saved. Future attempts use the new values.".to_owned(),
        "discard" => format!("Discarded {jobs}."),
        "erase" => format!("Erased {jobs}."),
        "nothing" => "No job was selected, so nothing was changed.".to_owned(),
        "create" => "Created.".to_owned(),
        "existing" => "A matching job already exists; nothing was created.".to_owned(),
        "saved" => "Saved.".to_owned(),
        "acknowledge" => "Acknowledged. No reminders are sent until it fires again.".to_owned(),
        "silence" => "Silenced. No notifications are sent for this alert until then.".to_owned(),
        "unsilence" => "Notifications are sent again.".to_owned(),
        "mark" => "Marked.".to_owned(),
        "set" => "Saved. Takes effect on all nodes within two seconds.".to_owned(),
        "hold" => "Held. No jobs start for this destination until it is released.".to_owned(),
        "release" => "Released. Starts ramp up gradually.".to_owned(),
        "ended" => "Cancelled. Remaining jobs were not changed.".to_owned(),
        "enable" => "Enabled. Pending deliveries are being sent.".to_owned(),
        "disable" => "Disabled. Deliveries wait until it is enabled again.".to_owned(),
        "test" => "Test sent. It is the newest delivery.".to_owned(),
        "resend" => "Sent again.".to_owned(),
        "closed" => "Closed. No more jobs can be added.".to_owned(),
        "pause" => "Paused.".to_owned(),
        "resume" => "Resumed.".to_owned(),
        "delete" => "Deleted.".to_owned(),
        "revoke" => "Revoked the key.".to_owned(),
        _ => return None,
    };
    Some(sentence)
}

/// The redirect after an action: back to the page it came from, which then says what was done.
/// Only to pages of this dashboard, or a link could send people to another site.
pub fn redirect_back(back: &str, did: &str, number: Option<u64>) -> Response {
    let path = if is_own_path(back) { back } else { "/" };
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let number = number.map(|n| n.to_string()).unwrap_or_default();
    let query = Fields::parse(query.as_bytes()).query_with(&[("did", did), ("n", &number)]);
    if query.is_empty() {
        return redirect_to(path);
    }
    redirect_to(&format!("{path}?{query}"))
}

/// The end of an action that has no number.
pub fn done(back: &str, did: &str) -> PageResult {
    Ok(redirect_back(back, did, None))
}

pub fn no_such_action() -> PageError {
    Problem::invalid("action", "there is no such action").into()
}

/// Whether a browser that is sent to this text stays on this server. Browsers take `//` and `/\`
/// for the start of another host, and they drop tabs and line breaks before they look.
pub fn is_own_path(text: &str) -> bool {
    let is_plain = !text.contains(|c: char| c.is_control() || c == '\\' || c.is_whitespace());
    let parsed = text.parse::<Uri>();
    let is_relative = parsed.is_ok_and(|uri| uri.authority().is_none() && uri.scheme().is_none());
    is_plain && is_relative && text.starts_with('/') && !text.starts_with("//")
}

#[cfg(test)]
mod tests {
    use axum::http::header;

    use super::*;

    #[test]
    fn an_action_redirects_only_to_pages_of_the_dashboard() {
        let cases = [
            ("/jobs?queue=a&did=old", "/jobs?queue=a&did=cancel&n=2"),
            ("//evil.example/x", "/?did=cancel&n=2"),
            ("/\\evil.example", "/?did=cancel&n=2"),
            ("https://evil.example", "/?did=cancel&n=2"),
            ("/\t/evil.example", "/?did=cancel&n=2"),
            ("/\n/evil.example", "/?did=cancel&n=2"),
            ("\t//evil.example", "/?did=cancel&n=2"),
            ("/ /evil.example", "/?did=cancel&n=2"),
            ("javascript:alert(1)", "/?did=cancel&n=2"),
            ("", "/?did=cancel&n=2"),
        ];
        for (back, expected) in cases {
            let response = redirect_back(back, "cancel", Some(2));
            assert_eq!(response.headers()[header::LOCATION], expected);
        }
    }

    #[test]
    fn a_link_cannot_change_the_text_of_a_message() {
        assert_eq!(action_message(&Fields::parse(b"did=Send+money&n=1")), None);
        let message = action_message(&Fields::parse(b"did=retry&n=1200"));
        assert!(message.unwrap().starts_with("Requeued 1,200 jobs"));
    }
}
