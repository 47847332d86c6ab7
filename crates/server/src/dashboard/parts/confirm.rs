//! Asks before something is deleted, discarded or cancelled.

use askama::Template;

use crate::{
    dashboard::viewer::Viewer,
    theme::{Layout, PageResult, render},
};

/// An action to confirm. By default it is a deletion, sent to the `act` of its section.
pub struct Confirmation {
    section: &'static str,
    verb: &'static str,
    name: String,
    id: String,
    consequence: &'static str,
    action: &'static str,
    path: String,
    back: String,
}

#[derive(Template)]
#[template(path = "forms/confirm.html")]
struct ConfirmationPage {
    layout: Layout,
    confirmation: Confirmation,
}

impl Confirmation {
    pub fn new(section: &'static str, verb: &'static str, name: String, id: String) -> Self {
        Self {
            section,
            verb,
            name,
            id,
            consequence: "",
            action: "delete",
            path: format!("{section}/act"),
            back: section.to_owned(),
        }
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
    pub fn action(self, action: &'static str, back: &str) -> Self {
        Self {
            action,
            back: back.to_owned(),
            ..self
        }
    }

    /// Asks, and says what follows.
    pub fn page(self, viewer: &Viewer, consequence: &'static str) -> PageResult {
        render(&ConfirmationPage {
            layout: viewer.layout(self.section, format!("{}?", self.verb)),
            confirmation: Self {
                consequence,
                ..self
            },
        })
    }
}
