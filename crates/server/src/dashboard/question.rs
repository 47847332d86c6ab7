//! The question before something is deleted for good, a job is discarded, or an operation cancelled.

use askama::Template;

use super::{
    frame::{Frame, render},
    page_error::PageResult,
    viewer::Viewer,
};

/// What is to be deleted, discarded or cancelled.
pub struct Question {
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
#[template(path = "question.html")]
struct QuestionPage {
    frame: Frame,
    question: Question,
}

impl Question {
    pub fn page(self, viewer: &Viewer, section: &'static str) -> PageResult {
        render(&QuestionPage {
            frame: Frame::of(viewer, section, format!("{}?", self.verb)),
            question: self,
        })
    }
}
