//! How pages look: style sheets, fonts and scripts, the layout with its navigation, the error page
//! and the security headers. The dashboard and the documentation use it; it knows neither.

pub mod assets;
pub mod error_page;
pub mod headers;
pub mod layout;
pub mod navigation;
pub mod page_error;
pub mod page_time;

pub use layout::{Layout, redirect_to, render};
pub use page_error::{PageError, PageResult};
pub use page_time::{Countdown, PageTime};
