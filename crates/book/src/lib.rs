//! The book about Steadfast: pages in Markdown, made into a site that needs no server and nothing
//! from elsewhere.
//!
//! # Layout
//!
//! * `markdown`: pages taken apart; `html`: put together again.
//! * `book`: pages in their order, and the site made of them; `search`: what its search looks in.
//! * `sources`: which files it is made of; `embedded`: these as they were when this crate was built.

pub mod book;
#[cfg(feature = "embedded")]
pub mod embedded;
pub mod html;
pub mod markdown;
mod search;
pub mod sources;

pub use book::{Book, Page};
