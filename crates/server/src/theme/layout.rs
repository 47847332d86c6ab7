//! The layout of all pages, redirects, and rendering.

use std::{borrow::Borrow, sync::Arc};

use askama::Template;
use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use steadfast_core::{
    Timestamp,
    explain::{shorten, thousands},
};

use crate::{
    http::Problem,
    limits,
    theme::{
        navigation::{self, SectionCounts, SectionGroup},
        page_error::PageResult,
        page_time::PageTime,
    },
};

pub struct Layout {
    pub title: String,
    /// The address of the section this page belongs to.
    pub section: &'static str,
    /// The tenant and scope of the session, if there is one.
    pub signed_in_as: Option<String>,
    pub may_write: bool,
    pub sees_all_tenants: bool,
    /// The message of the action that led here.
    pub message: Option<String>,
    /// What is wrong with the filters in the address that the page is made without.
    pub refused_filters: Vec<String>,
    pub now: Timestamp,
    /// The address under which the browser sees this server.
    pub url: String,
    pub counts: Arc<SectionCounts>,
}

impl Layout {
    /// A time on the page; templates pass references.
    pub fn time(&self, at: impl Borrow<Timestamp>) -> PageTime {
        let at = *at.borrow();
        PageTime { at, now: self.now }
    }

    /// A number with separators.
    pub fn count(&self, number: impl Borrow<u64>) -> String {
        thousands(*number.borrow())
    }

    pub fn percent(&self, share: Option<f64>) -> String {
        share.map_or("–".to_owned(), |share| format!("{:.1} %", share * 100.0))
    }

    /// Names in a cell; none stands for all.
    pub fn names<Name: ToString>(&self, names: &[Name]) -> String {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        match names.is_empty() {
            true => "all".to_owned(),
            false => shorten(&names.join(", "), limits::CELL_CHARS_MAX),
        }
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
            refused_filters: Vec::new(),
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
        navigation::groups(&self.counts)
    }
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
