//! What every page and form uses: its viewer, the layout, the shapes of lists and details, and the end
//! of actions.

pub use super::{
    actions::{done, no_such_action, redirect_back},
    detail::Detail,
    fields::{Fields, parse_id},
    list::List,
    viewer::{Editor, Viewer},
};
pub use crate::theme::{Countdown, Layout, PageError, PageResult, PageTime, redirect_to, render};
