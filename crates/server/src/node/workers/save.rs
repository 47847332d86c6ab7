//! Writing what was noted of a worker over whatever is stored, if its tenant has room for it.

use steadfast_core::Payload;
use steadfast_store::{Document, DocumentKind, DocumentSaveResult, Outbox, Store, StoreError};

use super::record::{WorkerState, list};
use crate::limits;

/// A worker that is to be written.
pub(super) struct NotedWorker {
    pub(super) id: String,
    pub(super) state: WorkerState,
    pub(super) revision: u64,
    pub(super) is_name_only: bool,
}

impl NotedWorker {
    /// Takes over what is stored of a worker whose name alone is known. Answers whether it is known.
    pub(super) async fn find(&mut self, store: &dyn Store) -> Result<bool, StoreError> {
        let document = store
            .get_document(DocumentKind::Worker, self.id.clone())
            .await?;
        let Some(document) = document else {
            return Ok(false);
        };
        let Ok(stored) = document.body.decode::<WorkerState>() else {
            return Ok(false);
        };
        self.revision = document.revision;
        self.state = WorkerState {
            last_seen: self.state.last_seen.max(stored.last_seen),
            ..stored
        };
        Ok(true)
    }

    /// Writes it over whatever is stored, if its tenant has room for it. Answers whether it did.
    pub(super) async fn save(
        &mut self,
        store: &dyn Store,
        room: &mut Option<Room>,
    ) -> Result<bool, StoreError> {
        // Two nodes that a worker asks in turn may come at the same moment, and another worker may
        // have taken its place; once more is enough, and what is lost then is a time that is a few
        // seconds newer.
        for _ in 0..2 {
            if self.revision == 0 {
                let room = match room {
                    Some(room) => room,
                    None => room.insert(Room::read(store).await?),
                };
                // One that is not admitted stays in memory, so that it is not asked about with
                // every claim.
                let Some(revision) = room.admit(store, &self.id, &mut self.state).await? else {
                    return Ok(false);
                };
                self.revision = revision;
            }
            let Ok(body) = Payload::encode(&self.state) else {
                return Ok(false);
            };
            let document = Document {
                kind: DocumentKind::Worker,
                id: self.id.clone(),
                body,
                revision: self.revision,
            };
            match store.save_document(document, Outbox::default()).await? {
                DocumentSaveResult::Done(saved) => {
                    self.revision = saved.revision;
                    return Ok(true);
                }
                DocumentSaveResult::Outdated(None) => {
                    self.revision = 0;
                    *room = None;
                }
                DocumentSaveResult::Outdated(Some(stored)) => {
                    self.revision = stored.revision;
                    if let Ok(stored) = stored.body.decode::<WorkerState>() {
                        self.state.follow(&stored);
                    }
                }
            }
        }
        Ok(false)
    }
}

/// How many workers each tenant may still have.
pub(super) struct Room {
    stored: Vec<(Document, WorkerState)>,
}

impl Room {
    async fn read(store: &dyn Store) -> Result<Self, StoreError> {
        Ok(Self {
            stored: list(store).await?,
        })
    }

    /// The revision of a worker that may be written, which follows what is stored of it; `None` if
    /// its tenant has too many that are alive.
    async fn admit(
        &mut self,
        store: &dyn Store,
        id: &str,
        state: &mut WorkerState,
    ) -> Result<Option<u64>, StoreError> {
        if let Some((document, known)) = self.stored.iter().find(|(it, _)| it.id == id) {
            state.follow(known);
            return Ok(Some(document.revision));
        }
        let of_tenant = |it: &&(Document, WorkerState)| it.1.tenant == state.tenant;
        if self.stored.iter().filter(of_tenant).count() >= limits::WORKERS_PER_TENANT_MAX {
            let now = store.now();
            let gone = self.stored.iter().filter(of_tenant);
            let gone = gone.filter(|(_, state)| !state.is_alive(now));
            let Some((oldest, _)) = gone.min_by_key(|(_, state)| state.last_seen) else {
                return Ok(None);
            };
            let oldest = oldest.id.clone();
            store
                .delete_document(DocumentKind::Worker, oldest.clone(), None, None)
                .await?;
            self.stored.retain(|(document, _)| document.id != oldest);
        }
        let document = Document {
            kind: DocumentKind::Worker,
            id: id.to_owned(),
            body: Payload::default(),
            revision: 0,
        };
        self.stored.push((document, state.clone()));
        Ok(Some(0))
    }
}
