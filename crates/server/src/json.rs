//! Answers in JSON.

use axum::{
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use crate::problem::Problem;

/// A job with its policy fits.
const USUAL_BYTES: usize = 1_024;

/// An answer in JSON. It is written into plain memory: most answers are made of fifty small
/// pieces, and axum's own asks its shared buffer for room at each.
pub struct Json<T>(pub T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        let mut bytes = Vec::with_capacity(USUAL_BYTES);
        if let Err(error) = serde_json::to_writer(&mut bytes, &self.0) {
            return Problem::internal(&error).into_response();
        }
        let mut response = Response::new(bytes.into());
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        response
    }
}
