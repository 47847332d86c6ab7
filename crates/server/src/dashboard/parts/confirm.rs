//! The confirmation before something is deleted for good, a job is discarded, or an operation cancelled.

use askama::Template;

use crate::{
    dashboard::viewer::Viewer,
    theme::{
        layout::{Layout, render},
        page_error::PageResult,
    },
};

/// What is to be deleted, discarded or cancelled.
pub struct Confirmation {
    pub name: String,
    /// What follows, as a sentence.
    pub consequence: &'static str,
    pub verb: &'static str,
    /// `delete`, or another action that asks.
    pub action: &'static str,
    /// Where the answer is sent to.
    pub path: String,
    pub id: String,
    /// Where to go instead.
    pub back: String,
}

#[derive(Template)]
#[template(path = "forms/confirm.html")]
struct ConfirmationPage {
    layout: Layout,
    confirmation: Confirmation,
}

impl Confirmation {
    pub fn page(self, viewer: &Viewer, section: &'static str) -> PageResult {
        render(&ConfirmationPage {
            layout: viewer.layout(section, format!("{}?", self.verb)),
            confirmation: self,
        })
    }
}
