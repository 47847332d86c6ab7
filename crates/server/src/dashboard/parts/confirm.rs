//! Asks before something is deleted, discarded or cancelled, and before many jobs are changed.

use askama::Template;

use crate::{
    dashboard::viewer::Viewer,
    theme::{Layout, PageResult, render},
};

/// An action to confirm. By default it is a deletion, sent to the `act` of its section.
pub struct Confirmation {
    section: &'static str,
    title: String,
    /// The subject of the action, in large letters.
    name: String,
    id: String,
    consequence: String,
    action: String,
    path: String,
    back: String,
    /// The text and the class of the button.
    pub button: (String, &'static str),
    /// The conditions that select the jobs.
    pub conditions: Vec<(&'static str, String)>,
    /// Further fields of the form.
    pub hidden: Vec<(&'static str, String)>,
    /// Whether a canary is offered.
    pub has_canary: bool,
    /// The proposed number of jobs per second.
    pub pace: Option<u32>,
    /// Whether a reason and an end can be given.
    pub asks_reason: bool,
}

#[derive(Template)]
#[template(path = "forms/confirm.html")]
struct ConfirmationPage {
    layout: Layout,
    confirmation: Confirmation,
}

impl Confirmation {
    pub fn new(section: &'static str, verb: &str, name: String, id: String) -> Self {
        Self {
            section,
            title: format!("{verb}?"),
            name,
            id,
            consequence: String::new(),
            action: "delete".to_owned(),
            path: format!("{section}/act"),
            back: section.to_owned(),
            button: (verb.to_owned(), "danger"),
            conditions: Vec::new(),
            hidden: Vec::new(),
            has_canary: false,
            pace: None,
            asks_reason: false,
        }
    }

    /// Shown in another section than the one whose `act` it is sent to.
    pub fn in_section(self, section: &'static str) -> Self {
        Self { section, ..self }
    }

    /// For a page of its own: the form goes to its `act`, and the way back leads to it.
    pub fn on_page(self) -> Self {
        let page = format!("{}/{}", self.section, self.id);
        Self {
            path: format!("{page}/act"),
            back: page,
            ..self
        }
    }

    /// Another action than a deletion, which returns to the page it came from.
    pub fn action(self, action: &str, back: &str) -> Self {
        Self {
            action: action.to_owned(),
            back: back.to_owned(),
            ..self
        }
    }

    /// Asks, and says what follows.
    pub fn page(self, viewer: &Viewer, consequence: impl Into<String>) -> PageResult {
        render(&ConfirmationPage {
            layout: viewer.layout(self.section, self.title.as_str()),
            confirmation: Self {
                consequence: consequence.into(),
                ..self
            },
        })
    }
}
