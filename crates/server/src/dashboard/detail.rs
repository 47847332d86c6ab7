//! The shape of the page of one thing: its name and its actions, its id, then its sections.

use std::fmt::Display;

pub struct Detail {
    pub name: String,
    pub id: String,
    /// The address of the page.
    pub path: String,
    /// Where its actions are sent.
    pub act: String,
    pub buttons: Vec<Button>,
}

/// An action of the page.
#[derive(Clone, Copy)]
pub struct Button {
    pub action: &'static str,
    pub label: &'static str,
    pub class: &'static str,
}

impl Detail {
    /// `section` is the address of the list that it belongs to.
    pub fn new(section: &str, id: impl Display, name: impl Display) -> Self {
        let path = format!("{section}/{id}");
        Self {
            name: name.to_string(),
            id: id.to_string(),
            act: format!("{path}/act"),
            path,
            buttons: Vec::new(),
        }
    }

    /// Adds an action, if it makes sense now.
    pub fn button(mut self, is_shown: bool, class: &'static str, name: [&'static str; 2]) -> Self {
        let [action, label] = name;
        self.buttons.extend(is_shown.then_some(Button {
            action,
            label,
            class,
        }));
        self
    }
}
