//! Why a page could not be made. `error_page` turns it into a response.

use axum::response::Response;
use steadfast_core::Invalid;
use steadfast_engine::ClientError;
use steadfast_store::StoreError;

use crate::http::Problem;

pub enum PageError {
    /// The browser has no session. After signing in it returns to this address.
    SignIn(String),
    Problem(Problem),
}

pub type PageResult = Result<Response, PageError>;

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

impl From<Invalid> for PageError {
    fn from(invalid: Invalid) -> Self {
        Self::Problem(invalid.into())
    }
}
