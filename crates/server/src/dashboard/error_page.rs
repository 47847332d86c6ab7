//! The page, or the redirect, that a failed request gets.

use askama::Template;
use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};

use super::{
    frame::{Frame, redirect_to, render},
    page_error::PageError,
};
use crate::problem::Problem;

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
                return redirect_to(&format!("/sign-in?{}", query.finish()));
            }
            Self::Problem(problem) => problem,
        };
        let page = ErrorPage {
            frame: Frame::of_error(title(problem.status)),
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
