//! A session of a connection, as the verbs hold it.

use crate::{drivers::postgres::session::Session, wake::WakeReasons};

pub(crate) struct SessionTransaction<'s, 'c> {
    pub(super) session: &'s Session<'c>,
    /// What it may make due earlier than waiting callers know.
    pub(super) hints: &'s mut WakeReasons,
}

impl<'s, 'c> SessionTransaction<'s, 'c> {
    pub(crate) fn new(session: &'s Session<'c>, hints: &'s mut WakeReasons) -> Self {
        Self { session, hints }
    }
}
