//! A session of the writer and a reader, as the verbs hold them.

use std::ops::{Deref, DerefMut};

use futures_util::FutureExt;
use send_wrapper::SendWrapper;
use steadfast_core::Timestamp;

use crate::drivers::sqlite::{driver_error::DriverError, readers::Reader, session::Session};

/// No primitive of this driver waits, so a verb is done when it is polled once.
pub(crate) fn finish<T>(
    answer: impl Future<Output = Result<T, DriverError>>,
) -> Result<T, DriverError> {
    answer.now_or_never().unwrap_or(Err(DriverError::NotRun))
}

/// A session does not leave the writer's thread.
pub(in crate::drivers::sqlite) struct WriterTransaction<'s, 'c>(
    pub(super) SendWrapper<&'s mut Session<'c>>,
);

impl<'s, 'c> WriterTransaction<'s, 'c> {
    pub(crate) fn new(session: &'s mut Session<'c>) -> Self {
        Self(SendWrapper::new(session))
    }
}

impl<'c> Deref for WriterTransaction<'_, 'c> {
    type Target = Session<'c>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for WriterTransaction<'_, '_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

/// A reader does not leave its thread.
pub(crate) struct ReaderSnapshot<'r> {
    pub(super) reader: SendWrapper<&'r mut Reader>,
    pub(super) now: Timestamp,
}

impl<'r> ReaderSnapshot<'r> {
    pub(crate) fn new(reader: &'r mut Reader, now: Timestamp) -> Self {
        Self {
            reader: SendWrapper::new(reader),
            now,
        }
    }
}
