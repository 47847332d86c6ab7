//! Small things beside the jobs.

use steadfast_core::{NewJob, Timestamp};

use super::state::Tables;
use crate::{Document, DocumentSaveResult};

impl Tables {
    pub(super) fn save_document(
        &mut self,
        mut document: Document,
        outbox: Vec<NewJob>,
        now: Timestamp,
    ) -> DocumentSaveResult {
        let place = (document.space, document.id.clone());
        let stored = self.documents.get(&place);
        if stored.map_or(0, |stored| stored.revision) != document.revision {
            return DocumentSaveResult::Outdated(stored.cloned());
        }
        document.revision += 1;
        self.documents.insert(place, document.clone());
        for new in outbox {
            self.insert(new, now);
        }
        DocumentSaveResult::Done(document)
    }
}
