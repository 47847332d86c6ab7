//! The work of a rotation: each part that is encrypted again is counted.

use std::fmt;

use super::{
    EncryptedPart, KeyRotation, Operation, OperationKind, OperationProgress, OperationRefusal,
    OperationStatus,
};
use crate::{
    explain::{brief, thousands},
    limits,
    values::Timestamp,
};

impl Operation {
    /// A rotation of the encryption key.
    pub fn rotate_encryption(rotation: KeyRotation, now: Timestamp) -> Self {
        Self {
            kind: OperationKind::RotateEncryption,
            retry: None,
            rotation: Some(Box::new(rotation)),
            total: 0,
            is_lower_bound: true,
            pace: None,
            canary: None,
            progress: OperationProgress {
                status: OperationStatus::Running,
                ..OperationProgress::new(0, now)
            },
        }
    }

    /// Counts a part of the walk; at the end of a walk, ends or begins another one.
    pub(super) fn count_encrypted(
        &mut self,
        part: &EncryptedPart,
        now: Timestamp,
    ) -> Result<(), OperationRefusal> {
        let Some(rotation) = self.rotation.as_deref_mut() else {
            return Err(OperationRefusal::OtherWork);
        };
        if rotation.position != part.from {
            return Err(OperationRefusal::WorkedAlready);
        }
        rotation.count(part);
        let is_at_end = rotation.position.is_none();
        let progress = &mut self.progress;
        progress.worked = progress.worked.saturating_add(part.read);
        progress.changed = progress.changed.saturating_add(part.written);
        progress.since = now;
        self.total = self.total.max(progress.worked);
        if !is_at_end {
            return Ok(());
        }
        rotation.walks += 1;
        self.total = progress.worked;
        self.is_lower_bound = false;
        if !part.other_writers.is_empty() {
            progress.status = OperationStatus::Stopped;
            progress.stop_reason = Some(format!(
                "nodes seen in the last {} do not encrypt with it ({}): restart every node with key {} \
                 in the first line of its key file, then rotate again",
                brief(limits::NODE_SILENT_AFTER),
                part.other_writers.join(", "),
                rotation.key,
            ));
        } else if rotation.found == 0 {
            progress.status = OperationStatus::Done;
            progress.is_at_end = true;
        } else if rotation.walks >= limits::ROTATION_WALKS_MAX {
            progress.status = OperationStatus::Stopped;
            let reason = "values with other keys are still being written: restart every node with the \
                          new key first, then rotate again";
            progress.stop_reason = Some(reason.to_owned());
        } else {
            (rotation.found, rotation.unreadable) = (0, 0);
            rotation.needed_keys.clear();
            progress.worked = 0;
        }
        Ok(())
    }

    /// The report.
    pub(super) fn describe_rotation(
        &self,
        rotation: &KeyRotation,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        let progress = &self.progress;
        let at_least = match self.is_lower_bound {
            true => "at least ",
            false => "",
        };
        write!(
            f,
            "encryption with key {} is {}: {} values encrypted again, of {at_least}{}",
            rotation.key,
            progress.status,
            thousands(progress.changed),
            thousands(self.total),
        )?;
        if rotation.unreadable > 0 {
            write!(f, ", {} cannot be read", thousands(rotation.unreadable))?;
        }
        if progress.status == OperationStatus::Done {
            for key in rotation.unused_keys() {
                write!(f, "; key {key} is no longer used")?;
            }
            for key in &rotation.needed_keys {
                write!(f, "; key {key} is still needed")?;
            }
        }
        match &progress.stop_reason {
            Some(reason) => write!(f, "; it stopped because {reason}"),
            None => Ok(()),
        }
    }
}
