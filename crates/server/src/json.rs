//! Answers in JSON.

use axum::{
    http::header,
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
        match serde_json::to_writer(&mut bytes, &self.0) {
            Ok(()) => ([(header::CONTENT_TYPE, "application/json")], bytes).into_response(),
            Err(error) => Problem::internal(&error).into_response(),
        }
    }
}
