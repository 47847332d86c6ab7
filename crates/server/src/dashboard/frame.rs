//! What all pages share: the frame around them, their headers, and how failures look.

use askama::Template;
use axum::{
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use steadfast_core::Timestamp;
use steadfast_engine::ClientError;
use steadfast_store::StoreError;

use super::{
    fields::Fields,
    shown::{When, count},
    viewer::Viewer,
};
use crate::problem::Problem;

/// Nothing from elsewhere, nothing inline, and no place in anybody's frame.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; \
    img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; \
    base-uri 'none'";

pub const SECTIONS: [(&str, &str); 10] = [
    ("/", "Overview"),
    ("/jobs", "Jobs"),
    ("/schedules", "Schedules"),
    ("/dead-letters", "Dead letters"),
    ("/queues", "Queues"),
    ("/nodes", "Nodes"),
    ("/alerts", "Alerts"),
    ("/endpoints", "Endpoints"),
    ("/keys", "Keys"),
    ("/simulator", "Simulator"),
];

pub struct Frame {
    pub title: String,
    /// The address of the section this page belongs to.
    pub section: &'static str,
    pub who: Option<String>,
    pub may_write: bool,
    /// Whether it shows all tenants.
    pub sees_all: bool,
    /// What was just done.
    pub message: Option<String>,
    pub now: Timestamp,
}

impl Frame {
    pub fn of(viewer: &Viewer, section: &'static str, title: impl Into<String>) -> Self {
        let who = viewer
            .session
            .as_ref()
            .map(|_| match &viewer.caller.tenant {
                Some(tenant) => format!("tenant {tenant}, {}", viewer.caller.scope),
                None => format!("all tenants, {}", viewer.caller.scope),
            });
        Self {
            title: title.into(),
            section,
            who,
            may_write: viewer.may_write(),
            sees_all: viewer.caller.tenant.is_none(),
            message: message(&viewer.fields),
            now: viewer.app.client.now(),
        }
    }

    pub fn when(&self, at: Timestamp) -> When {
        When { at, now: self.now }
    }

    /// A page outside of any session.
    pub fn bare(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            section: "",
            who: None,
            may_write: false,
            sees_all: false,
            message: None,
            now: Timestamp::EPOCH,
        }
    }

    pub fn is_here(&self, section: &str) -> bool {
        self.section == section
    }

    pub fn sections(&self) -> &'static [(&'static str, &'static str)] {
        match self.section {
            "" => &[],
            _ => &SECTIONS,
        }
    }
}

/// What an action did, out of a fixed set of sentences: nobody can make a link that puts words
/// into our mouth.
fn message(fields: &Fields) -> Option<String> {
    let number = fields.get("n").and_then(|n| n.parse::<u64>().ok());
    let jobs = match number {
        Some(1) => "1 job".to_owned(),
        Some(n) => format!("{} jobs", count(n)),
        None => "the job".to_owned(),
    };
    let sentence = match fields.get("did")? {
        "cancel" => format!("Asked {jobs} to stop."),
        "retry" => format!("Sent {jobs} off again, with a fresh retry budget."),
        "run-now" => format!("Made {jobs} due now."),
        "edit" => "Changed the payload.".to_owned(),
        "discard" => format!("Discarded {jobs}."),
        "working" => "This takes a while; it goes on in the background.".to_owned(),
        "nothing" => "Nothing was selected, so nothing was done.".to_owned(),
        "pause" => "Paused.".to_owned(),
        "resume" => "Resumed.".to_owned(),
        "delete" => "Deleted.".to_owned(),
        _ => return None,
    };
    Some(sentence)
}

/// Where an action leads back to, saying what it did.
pub fn done(back: &str, did: &str, number: Option<u64>) -> Response {
    let path = match back.starts_with('/') && !back.starts_with("//") && !back.contains('\\') {
        true => back,
        false => "/",
    };
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let number = number.map(|n| n.to_string()).unwrap_or_default();
    let query = Fields::parse(query.as_bytes()).with(&[("did", did), ("n", &number)]);
    match query.is_empty() {
        true => see(path),
        false => see(&format!("{path}?{query}")),
    }
}

pub fn see(location: &str) -> Response {
    let location = HeaderValue::from_str(location);
    let location = location.unwrap_or(HeaderValue::from_static("/"));
    (StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response()
}

pub fn render(page: &impl Template) -> Result<Response, PageError> {
    let html = page.render().map_err(|error| {
        tracing::error!(%error, "a page could not be written");
        let detail = "something is wrong on our side; the log of the node says more";
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
    })?;
    let html_type = HeaderValue::from_static("text/html; charset=utf-8");
    Ok(([(header::CONTENT_TYPE, html_type)], html).into_response())
}

pub async fn secured(mut response: Response) -> Response {
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
    let is_stored = headers.contains_key(header::CACHE_CONTROL);
    if !is_stored {
        let none = HeaderValue::from_static("no-store");
        headers.insert(header::CACHE_CONTROL, none);
    }
    response
}

/// A page that could not be made.
pub enum PageError {
    /// Who asks has to say who they are first; then they are led here.
    SignIn(String),
    Problem(Problem),
}

pub type HtmlPage = Result<Response, PageError>;

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'a> {
    frame: Frame,
    status: u16,
    problem: &'a Problem,
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let problem = match self {
            Self::SignIn(next) => {
                let mut query = form_urlencoded::Serializer::new(String::new());
                query.append_pair("next", &next);
                return see(&format!("/sign-in?{}", query.finish()));
            }
            Self::Problem(problem) => problem,
        };
        let title = match problem.status {
            StatusCode::NOT_FOUND => "Not found",
            StatusCode::FORBIDDEN => "Not allowed",
            StatusCode::CONFLICT => "Not possible",
            StatusCode::UNPROCESSABLE_ENTITY => "Not understood",
            _ => "Something went wrong",
        };
        let page = ErrorPage {
            frame: Frame::bare(title),
            status: problem.status.as_u16(),
            problem: &problem,
        };
        match render(&page) {
            Ok(mut response) => {
                *response.status_mut() = problem.status;
                response
            }
            Err(_) => problem.status.into_response(),
        }
    }
}

impl From<Problem> for PageError {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<ClientError> for PageError {
    fn from(error: ClientError) -> Self {
        Self::Problem(error.into())
    }
}

impl From<StoreError> for PageError {
    fn from(error: StoreError) -> Self {
        Self::Problem(error.into())
    }
}

impl From<steadfast_core::Invalid> for PageError {
    fn from(invalid: steadfast_core::Invalid) -> Self {
        Self::Problem(invalid.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_leads_back_to_our_own_pages_only() {
        let cases = [
            ("/jobs?queue=a&did=old", "/jobs?queue=a&did=cancel&n=2"),
            ("//evil.example/x", "/?did=cancel&n=2"),
            ("/\\evil.example", "/?did=cancel&n=2"),
            ("https://evil.example", "/?did=cancel&n=2"),
        ];
        for (back, expected) in cases {
            let response = done(back, "cancel", Some(2));
            assert_eq!(response.headers()[header::LOCATION], expected);
        }
    }

    #[test]
    fn a_link_cannot_put_words_into_our_mouth() {
        assert_eq!(message(&Fields::parse(b"did=Send+money&n=1")), None);
        let said = message(&Fields::parse(b"did=retry&n=1200"));
        assert!(said.unwrap().starts_with("Sent 1,200 jobs off again"));
    }
}
