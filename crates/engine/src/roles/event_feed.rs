//! Brings the events of other nodes to the subscribers of this one, and its own to others.
//!
//! A node with subscribers stores a document that says so, for half a minute at a time
//! ([`DocumentKind::Watch`]). While another node has such a document, a node keeps its newest events in
//! one document ([`DocumentKind::Feed`]), which it replaces twice a second and deletes when they are old.
//! If no node has subscribers, or there is no other node, nothing is written.
//!
//! Events in a document are numbered, and a reader remembers the number up to which it has read each
//! node. So none comes twice, gaps are known, and the clocks of nodes do not matter: they only say
//! until when a document counts.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use async_trait::async_trait;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use steadfast_core::{Payload, Timestamp};
use steadfast_store::{
    Document, DocumentKind, DocumentPage, DocumentSaveResult, Outbox, Store, StoreError,
};
use tokio::{sync::Mutex, time::Instant};

use crate::{
    documents::node_state::NodeState,
    limits::{
        FEED_BYTES_MAX, FEED_CLEANED_EVERY, FEED_EVERY, FEED_KEPT, FEED_SENT_AT_ONCE, FEED_TTL,
        WATCH_CHECK_EVERY, WATCH_RENEW_BEFORE, WATCH_TTL,
    },
    notice::{Announcer, feed_batch::TakenNotices},
    role::{Next, Role, StopPhase},
};

pub struct EventFeed {
    store: Arc<dyn Store>,
    announcer: Arc<Announcer>,
    /// The name of the node, which is the id of its documents.
    node: String,
    /// Tells this process from an earlier one of the same name.
    started_at: Timestamp,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    watch: OwnDocument,
    feed: OwnDocument,
    recent: RecentEvents,
    /// How far each other node has been read; `None` if this node does not read.
    positions: Option<HashMap<String, Position>>,
    cleaned_at: Option<Timestamp>,
}

/// The last version of a document that this node has written.
#[derive(Default)]
struct OwnDocument {
    /// 0 if it is not stored.
    revision: u64,
    until: Timestamp,
}

/// The events of this node that are stored, or about to be.
#[derive(Default)]
struct RecentEvents {
    events: VecDeque<(Instant, Payload)>,
    bytes: usize,
    /// The number of the first of them.
    first: u64,
    /// How many there were that are not numbered, for lack of room.
    missed: u64,
    /// Some of them are not stored yet.
    has_news: bool,
}

/// How far the events of a node have been read.
struct Position {
    started_at: Timestamp,
    next: u64,
    missed: u64,
}

/// Also the part of a [`FeedBody`] that every version can read.
#[derive(Serialize, Deserialize)]
struct WatchBody {
    until: Timestamp,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct FeedBody {
    until: Timestamp,
    /// When the process that writes it started.
    started_at: Timestamp,
    /// The number of the first event.
    first: u64,
    /// Events that were left out, since the process started.
    missed: u64,
    /// Notices. One that only a newer version can read does not hide the others.
    events: Vec<Payload>,
}

#[async_trait]
impl Role for EventFeed {
    fn name(&self) -> &'static str {
        "event feed"
    }

    /// Attempts that end during a stop are shown as well.
    fn stop_phase(&self) -> StopPhase {
        StopPhase::Leases
    }

    async fn tick(&self) -> Result<Next, StoreError> {
        let mut state = self.state.lock().await;
        let is_watching = self.watch(&mut state.watch).await?;
        let is_watched = self.is_watched().await?;
        self.write(&mut state, is_watched).await?;
        self.read(&mut state, is_watching).await?;
        Ok(match is_watching || is_watched {
            true => Next::After(FEED_EVERY),
            false => Next::at_wakeup(WATCH_CHECK_EVERY),
        })
    }

    async fn wakeup(&self) {
        self.announcer.subscribed().await;
    }

    /// Stores the last events. Others still read them, and delete them after [`FEED_TTL`].
    async fn shut_down(&self) {
        let mut state = self.state.lock().await;
        let is_open = self.announcer.feed.is_open();
        let written = async {
            self.delete(DocumentKind::Watch, &mut state.watch).await?;
            self.write(&mut state, is_open).await
        };
        if let Err(error) = written.await {
            tracing::debug!(%error, "cannot store the last events of this node");
        }
    }
}

impl EventFeed {
    pub fn new(store: Arc<dyn Store>, announcer: Arc<Announcer>, node: String) -> Self {
        Self {
            started_at: store.now(),
            store,
            announcer,
            node,
            state: Mutex::default(),
        }
    }

    /// Asks other nodes for their events while this one has subscribers. Answers whether they are
    /// asked. The last subscriber that leaves is often back, as a page that was reloaded, so the
    /// document lasts until it ends.
    async fn watch(&self, watch: &mut OwnDocument) -> Result<bool, StoreError> {
        let now = self.store.now();
        let is_wanted = self.announcer.wants_other_nodes();
        let is_due = watch.until.since(now) < WATCH_RENEW_BEFORE;
        if is_wanted && is_due && self.has_other_nodes(now).await? {
            let until = now.plus(WATCH_TTL);
            let body = WatchBody { until };
            self.save(DocumentKind::Watch, watch, until, &body).await?;
        }
        if watch.until <= now {
            self.delete(DocumentKind::Watch, watch).await?;
        }
        Ok(is_wanted && watch.until > now)
    }

    async fn has_other_nodes(&self, now: Timestamp) -> Result<bool, StoreError> {
        let documents = self
            .store
            .list_documents(DocumentKind::Node, DocumentPage::All)
            .await?;
        let mut others = documents.iter().filter(|document| document.id != self.node);
        Ok(others.any(|document| {
            let state = document.body.decode::<NodeState>();
            state.is_ok_and(|state| state.is_alive(now))
        }))
    }

    /// Whether another node wants the events of this one.
    async fn is_watched(&self) -> Result<bool, StoreError> {
        let watches = self.others::<WatchBody>(DocumentKind::Watch).await?;
        Ok(!watches.is_empty())
    }

    /// Stores the newest events, if other nodes want them, and deletes them when they are old.
    async fn write(&self, state: &mut State, is_watched: bool) -> Result<(), StoreError> {
        let State { feed, recent, .. } = state;
        let batch = &self.announcer.feed;
        if batch.is_open() != is_watched {
            batch.set_open(is_watched);
        }
        let now = Instant::now();
        recent.add(batch.take(), now);
        match is_watched {
            true => recent.forget_old(now),
            false => recent.forget_all(),
        }
        if recent.events.is_empty() {
            recent.has_news = false;
            return self.delete(DocumentKind::Feed, feed).await;
        }
        if !recent.has_news {
            return Ok(());
        }
        let until = self.store.now().plus(FEED_TTL);
        let body = FeedBody {
            until,
            started_at: self.started_at,
            first: recent.first,
            missed: recent.missed,
            events: recent.events.iter().map(|(_, json)| json.clone()).collect(),
        };
        self.save(DocumentKind::Feed, feed, until, &body).await?;
        recent.has_news = false;
        Ok(())
    }

    /// Sends what other nodes have stored to the subscribers, if there are any. What was stored
    /// before the first of them came is not news.
    async fn read(&self, state: &mut State, is_watching: bool) -> Result<(), StoreError> {
        let now = self.store.now();
        let is_cleaned = state
            .cleaned_at
            .is_some_and(|at| now.since(at) < FEED_CLEANED_EVERY && at <= now);
        if !is_watching {
            state.positions = None;
            if is_cleaned {
                return Ok(());
            }
        }
        let feeds = self.others::<FeedBody>(DocumentKind::Feed).await?;
        state.cleaned_at = Some(now);
        if !is_watching {
            return Ok(());
        }
        let known = state.positions.take();
        let mut positions = HashMap::new();
        for (node, feed) in feeds {
            let known = known.as_ref().map(|known| known.get(&node));
            let position = self.pass_on(&node, feed, known).await;
            positions.insert(node, position);
        }
        state.positions = Some(positions);
        Ok(())
    }

    /// Sends the events of a node from its position on, or none if no node has been read before.
    async fn pass_on(
        &self,
        node: &str,
        feed: FeedBody,
        known: Option<Option<&Position>>,
    ) -> Position {
        let end = feed.first.saturating_add(feed.events.len() as u64);
        let (from, missed) = match known {
            None => (end, feed.missed),
            Some(Some(it)) if it.started_at == feed.started_at => (it.next, it.missed),
            // It was created since the last read.
            Some(_) => (feed.first, feed.missed),
        };
        let missed = feed.first.saturating_sub(from) + feed.missed.saturating_sub(missed);
        if missed > 0 {
            tracing::warn!(node, missed, "subscribers missed notices of another node");
        }
        for (number, json) in (feed.first..).zip(feed.events) {
            if number < from {
                continue;
            }
            // A subscriber that is not slow has room for all, if it gets to take some.
            if number.is_multiple_of(FEED_SENT_AT_ONCE) {
                tokio::task::yield_now().await;
            }
            match json.decode() {
                Ok(notice) => self.announcer.announce_from_elsewhere(notice),
                Err(error) => {
                    tracing::debug!(node, %error, "cannot read a notice of another node");
                }
            }
        }
        Position {
            started_at: feed.started_at,
            next: end,
            missed: feed.missed,
        }
    }

    /// The documents of a kind of other nodes. Those that no longer count are deleted.
    async fn others<T: DeserializeOwned>(
        &self,
        kind: DocumentKind,
    ) -> Result<Vec<(String, T)>, StoreError> {
        let now = self.store.now();
        let mut others = Vec::new();
        for document in self.store.list_documents(kind, DocumentPage::All).await? {
            let Document {
                id, body, revision, ..
            } = document;
            if id == self.node {
                continue;
            }
            let until = body.decode::<WatchBody>().map(|it| it.until);
            if until.is_ok_and(|until| until <= now) {
                self.store
                    .delete_document(kind, id, Some(revision), None)
                    .await?;
                continue;
            }
            match body.decode() {
                Ok(body) => others.push((id, body)),
                Err(error) => {
                    tracing::debug!(%kind, id, %error, "cannot read a document of another node");
                }
            }
        }
        Ok(others)
    }

    async fn save(
        &self,
        kind: DocumentKind,
        own: &mut OwnDocument,
        until: Timestamp,
        body: &impl Serialize,
    ) -> Result<(), StoreError> {
        let body = match Payload::encode(body) {
            Ok(body) => body,
            Err(error) => {
                tracing::error!(%kind, %error, "cannot encode a document of this node");
                return Ok(());
            }
        };
        let mut document = Document {
            kind,
            id: self.node.clone(),
            body,
            revision: own.revision,
        };
        let save = |document| self.store.save_document(document, Outbox::default());
        let mut result = save(document.clone()).await?;
        // An earlier process of this name has left one, a response was lost, or another node took
        // this one for dead.
        if let DocumentSaveResult::Outdated(stored) = result {
            document.revision = stored.map_or(0, |stored| stored.revision);
            result = save(document).await?;
        }
        if let DocumentSaveResult::Done(document) = result {
            *own = OwnDocument {
                revision: document.revision,
                until,
            };
        }
        Ok(())
    }

    async fn delete(&self, kind: DocumentKind, own: &mut OwnDocument) -> Result<(), StoreError> {
        if own.revision > 0 {
            let id = self.node.clone();
            self.store.delete_document(kind, id, None, None).await?;
            *own = OwnDocument::default();
        }
        Ok(())
    }
}

impl RecentEvents {
    fn add(&mut self, taken: TakenNotices, now: Instant) {
        self.has_news |= !taken.notices.is_empty();
        self.missed += taken.missed;
        for json in taken.notices {
            self.bytes += json.as_str().len();
            self.events.push_back((now, json));
        }
        while self.bytes > FEED_BYTES_MAX {
            self.forget_first();
        }
    }

    fn forget_old(&mut self, now: Instant) {
        while let Some((at, _)) = self.events.front()
            && now.duration_since(*at) > FEED_KEPT
        {
            self.forget_first();
        }
    }

    fn forget_all(&mut self) {
        while !self.events.is_empty() {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        if let Some((_, json)) = self.events.pop_front() {
            self.bytes -= json.as_str().len();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests;
