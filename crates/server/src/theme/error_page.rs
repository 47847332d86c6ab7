//! The page, or the redirect, that a failed request gets.

use askama::Template;
use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};

use crate::{
    http::Problem,
    theme::{
        headers::with_security_headers,
        layout::{Layout, redirect_to, render},
        page_error::PageError,
    },
};

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'a> {
    layout: Layout,
    status: u16,
    problem: &'a Problem,
}

/// The field of a page's address that its page refused.
#[derive(Clone)]
pub struct RefusedField {
    pub name: String,
    pub detail: String,
}

/// A problem as a page, for requests that no page of the dashboard answers.
pub fn error_page(problem: Problem) -> Response {
    with_security_headers(PageError::from(problem).into_response())
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let problem = match self {
            Self::SignIn(next) => {
                let mut query = form_urlencoded::Serializer::new(String::new());
                query.append_pair("next", &next);
                return redirect_to(&format!("/sign-in?{}", query.finish()));
            }
            Self::Problem(problem) => problem,
        };
        let page = ErrorPage {
            layout: Layout::of_error(title(problem.status)),
            status: problem.status.as_u16(),
            problem: &problem,
        };
        match render(&page) {
            Ok(mut response) => {
                *response.status_mut() = problem.status;
                if let (StatusCode::UNPROCESSABLE_ENTITY, Some(name)) =
                    (problem.status, problem.field)
                {
                    let detail = problem.detail;
                    let refused = RefusedField { name, detail };
                    response.extensions_mut().insert(refused);
                }
                response
            }
            Err(_) => problem.status.into_response(),
        }
    }
}

fn title(status: StatusCode) -> &'static str {
    match status {
        StatusCode::NOT_FOUND => "Not found",
        StatusCode::FORBIDDEN => "Not allowed",
        StatusCode::MISDIRECTED_REQUEST => "Wrong address",
        StatusCode::CONFLICT => "Not possible",
        StatusCode::UNPROCESSABLE_ENTITY => "Invalid input",
        _ => "Something went wrong",
    }
}
