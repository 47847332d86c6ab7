//! What all pages share: the frame around them, redirects, and the security headers.

use std::sync::Arc;

use askama::Template;
use axum::{
    http::{HeaderName, HeaderValue, StatusCode, Uri, header},
    response::{IntoResponse as _, Response},
};
use steadfast_core::Timestamp;

use super::{
    fields::Fields,
    format::{PageTime, thousands},
    page_error::PageResult,
    sections::{self, SectionCounts, SectionGroup},
    viewer::Viewer,
};
use crate::problem::Problem;

/// Nothing from other origins, nothing inline, and no embedding in another site's frame.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; \
    font-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; \
    frame-ancestors 'none'; base-uri 'none'";

pub struct Frame {
    pub title: String,
    /// The address of the section this page belongs to.
    pub section: &'static str,
    /// The tenant and scope of the session, if there is one.
    pub signed_in_as: Option<String>,
    pub may_write: bool,
    pub sees_all_tenants: bool,
    /// What the action that led here did.
    pub message: Option<String>,
    pub now: Timestamp,
    /// The address under which the browser sees this server.
    pub url: String,
    pub counts: Arc<SectionCounts>,
}

impl Frame {
    pub fn of(viewer: &Viewer, section: &'static str, title: impl Into<String>) -> Self {
        let scope = viewer.caller.scope;
        let caller = match &viewer.caller.tenant {
            Some(tenant) => format!("tenant {tenant}, {scope}"),
            None => format!("all tenants, {scope}"),
        };
        Self {
            title: title.into(),
            section,
            signed_in_as: viewer.session.as_ref().map(|_| caller),
            may_write: viewer.may_write(),
            sees_all_tenants: viewer.caller.tenant.is_none(),
            message: action_message(&viewer.fields),
            now: viewer.app.client.now(),
            url: viewer.url.clone(),
            counts: viewer.counts.clone(),
        }
    }

    pub fn time(&self, at: Timestamp) -> PageTime {
        PageTime { at, now: self.now }
    }

    /// A page outside of any session.
    pub fn bare(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            section: "",
            signed_in_as: None,
            may_write: false,
            sees_all_tenants: false,
            message: None,
            now: Timestamp::EPOCH,
            url: String::new(),
            counts: Arc::default(),
        }
    }

    /// A page that says what went wrong, with the way to all others.
    pub fn of_error(title: &str) -> Self {
        Self {
            section: "error",
            ..Self::bare(title)
        }
    }

    /// The header that a program must send with a request, as an option of curl.
    pub fn key_option(&self) -> &'static str {
        match self.signed_in_as {
            Some(_) => " -H 'authorization: Bearer sf_…'",
            None => "",
        }
    }

    pub fn is_current(&self, section: &str) -> bool {
        self.section == section
    }

    pub fn groups(&self) -> Vec<SectionGroup> {
        sections::groups(&self.counts)
    }
}

/// What an action did, out of a fixed set of sentences: a link made by someone else cannot make
/// the dashboard say anything else.
fn action_message(fields: &Fields) -> Option<String> {
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
        "edit" => "Saved. Attempts from now on use it.".to_owned(),
        "discard" => format!("Discarded {jobs}."),
        "nothing" => "No job was selected, so nothing was changed.".to_owned(),
        "create" => "Created.".to_owned(),
        "existing" => "There was such a job already: this one. None was created.".to_owned(),
        "saved" => "Saved.".to_owned(),
        "mark" => "Marked.".to_owned(),
        "set" => "Set. It holds on all nodes within two seconds.".to_owned(),
        "hold" => "Held. No job starts for it until it is released.".to_owned(),
        "release" => "Released. Jobs start again, faster from second to second.".to_owned(),
        "ended" => "Ended. The jobs that it had not come to are left alone.".to_owned(),
        "enable" => "Enabled. The deliveries that waited are sent.".to_owned(),
        "disable" => "Disabled. Deliveries wait until it is enabled.".to_owned(),
        "test" => "Sent a test. It is the newest delivery.".to_owned(),
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

/// Whether a browser that is sent to this text stays on this server. Browsers take `//` and `/\`
/// for the start of another host, and they drop tabs and line breaks before they look.
fn is_own_path(text: &str) -> bool {
    let is_plain = !text.contains(|c: char| c.is_control() || c == '\\' || c.is_whitespace());
    let parsed = text.parse::<Uri>();
    let is_relative = parsed.is_ok_and(|uri| uri.authority().is_none() && uri.scheme().is_none());
    is_plain && is_relative && text.starts_with('/') && !text.starts_with("//")
}

pub fn redirect_to(location: &str) -> Response {
    let location = HeaderValue::from_str(location);
    let location = location.unwrap_or(HeaderValue::from_static("/"));
    (StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response()
}

pub fn render(page: &impl Template) -> PageResult {
    let html = page.render().map_err(|error| {
        tracing::error!(%error, "a page could not be rendered");
        let detail = "the page could not be rendered; the log of the node has the error";
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
    })?;
    let html_type = HeaderValue::from_static("text/html; charset=utf-8");
    Ok(([(header::CONTENT_TYPE, html_type)], html).into_response())
}

pub fn with_security_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "same-origin"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let no_store = HeaderValue::from_static("no-store");
    headers.entry(header::CACHE_CONTROL).or_insert(no_store);
    response
}

#[cfg(test)]
mod tests {
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
    fn a_link_cannot_choose_the_words_of_a_message() {
        assert_eq!(action_message(&Fields::parse(b"did=Send+money&n=1")), None);
        let message = action_message(&Fields::parse(b"did=retry&n=1200"));
        assert!(message.unwrap().starts_with("Requeued 1,200 jobs"));
    }
}
