//! Looks names up with the system's resolver, in a bounded number of threads.
//!
//! The system's resolver blocks its thread, for ten seconds and more if no name server answers,
//! and cannot be interrupted. In a pool that others use too, lookups of dead names would soon
//! hold every thread, whatever timeout their jobs have. So each lookup has a thread of its own
//! and a permit that is returned when that thread ends, not when the caller has left. One name
//! is looked up by one thread at a time, and names that were found lately have permits of their
//! own, so that those which never answer do not hold them up.

use std::{
    collections::HashMap,
    io,
    net::{IpAddr, ToSocketAddrs as _},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

use async_trait::async_trait;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    time::Instant,
};

use super::connect::Resolver;
use crate::limits::http::{
    ADDRESSES_KEPT_FOR, LOOKUPS_MAX, LOOKUPS_OF_KNOWN_NAMES_MAX, NAMES_KEPT_MAX,
};

/// The system's resolver, with its hosts file and search lists. Cheap to clone; clones share
/// their threads.
#[derive(Clone)]
pub struct SystemResolver(Arc<Lookups>);

impl Default for SystemResolver {
    fn default() -> Self {
        Self::new(|name| {
            let found = (name, 0).to_socket_addrs()?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

impl SystemResolver {
    /// Another blocking lookup in the place of the system's, under the same limits.
    pub fn new(look_up: impl Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(Lookups {
            look_up: Box::new(look_up),
            permits: Arc::new(Semaphore::new(LOOKUPS_MAX)),
            permits_of_known_names: Arc::new(Semaphore::new(LOOKUPS_OF_KNOWN_NAMES_MAX)),
            names: Mutex::default(),
        }))
    }
}

#[async_trait]
impl Resolver for SystemResolver {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let is_known = match self.0.find(name) {
            Lookup::Done(addresses) => return Ok(addresses),
            Lookup::UnderWay(answer) => return wait_for(answer).await,
            Lookup::ToDo { is_known } => is_known,
        };
        // A caller that gives up leaves the line; nothing has been started for it.
        let permit = self.0.permit(is_known).await?;
        let answer = match self.0.find(name) {
            Lookup::Done(addresses) => return Ok(addresses),
            Lookup::UnderWay(answer) => answer,
            Lookup::ToDo { .. } => Lookups::start(&self.0, name, permit)?,
        };
        wait_for(answer).await
    }
}

type BlockingLookup = dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync;

struct Lookups {
    look_up: Box<BlockingLookup>,
    permits: Arc<Semaphore>,
    permits_of_known_names: Arc<Semaphore>,
    names: Mutex<Names>,
}

#[derive(Default)]
struct Names {
    under_way: HashMap<String, Receiver>,
    found: HashMap<String, NameEntry>,
}

/// The addresses of a name when it was last looked up.
struct NameEntry {
    addresses: Vec<IpAddr>,
    at: Instant,
}

/// An error cannot be cloned for each caller that waits, but its kind and its text can.
type Answer = Result<Vec<IpAddr>, (io::ErrorKind, String)>;
type Receiver = watch::Receiver<Option<Answer>>;

enum Lookup {
    Done(Vec<IpAddr>),
    UnderWay(Receiver),
    ToDo { is_known: bool },
}

impl Lookups {
    fn find(&self, name: &str) -> Lookup {
        let names = self.lock();
        let found = names.found.get(name);
        if let Some(found) = found.filter(|found| found.at.elapsed() < ADDRESSES_KEPT_FOR) {
            return Lookup::Done(found.addresses.clone());
        }
        match names.under_way.get(name) {
            Some(answer) => Lookup::UnderWay(answer.clone()),
            None => Lookup::ToDo {
                is_known: found.is_some(),
            },
        }
    }

    async fn permit(&self, is_known: bool) -> io::Result<OwnedSemaphorePermit> {
        let shared = self.permits.clone().acquire_owned();
        let permit = if is_known {
            let reserved = self.permits_of_known_names.clone().acquire_owned();
            tokio::select! {
                biased;
                permit = shared => permit,
                permit = reserved => permit,
            }
        } else {
            shared.await
        };
        permit.map_err(io::Error::other)
    }

    fn start(
        lookups: &Arc<Self>,
        name: &str,
        permit: OwnedSemaphorePermit,
    ) -> io::Result<Receiver> {
        let (sender, receiver) = watch::channel(None);
        let mut names = lookups.lock();
        names.under_way.insert(name.to_owned(), receiver.clone());
        drop(names);
        let shared = lookups.clone();
        let owned_name = name.to_owned();
        let started = thread::Builder::new()
            .name("lookup".to_owned())
            .spawn(move || {
                let lookup = UnderWay {
                    lookups: shared,
                    name: owned_name,
                    sender,
                    is_finished: false,
                    _permit: permit,
                };
                let answer = (lookup.lookups.look_up)(&lookup.name);
                lookup.finish(answer);
            });
        if let Err(error) = started {
            lookups.lock().under_way.remove(name);
            return Err(error);
        }
        Ok(receiver)
    }

    fn lock(&self) -> MutexGuard<'_, Names> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A lookup in its thread. Dropping it, even by a panic, lets the next one begin.
struct UnderWay {
    lookups: Arc<Lookups>,
    name: String,
    sender: watch::Sender<Option<Answer>>,
    is_finished: bool,
    _permit: OwnedSemaphorePermit,
}

impl UnderWay {
    fn finish(mut self, answer: io::Result<Vec<IpAddr>>) {
        let answer = answer.map_err(|error| (error.kind(), error.to_string()));
        let mut names = self.lookups.lock();
        // Before the answer is known: a caller that asks after it begins another lookup.
        names.under_way.remove(&self.name);
        if let Ok(addresses) = &answer {
            names.make_room();
            let found = NameEntry {
                addresses: addresses.clone(),
                at: Instant::now(),
            };
            names.found.insert(self.name.clone(), found);
        }
        drop(names);
        self.is_finished = true;
        self.sender.send_replace(Some(answer));
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        if !self.is_finished {
            self.lookups.lock().under_way.remove(&self.name);
        }
    }
}

impl Names {
    fn make_room(&mut self) {
        if self.found.len() < NAMES_KEPT_MAX {
            return;
        }
        let oldest = self.found.iter().min_by_key(|(_, found)| found.at);
        if let Some(oldest) = oldest.map(|(name, _)| name.clone()) {
            self.found.remove(&oldest);
        }
    }
}

async fn wait_for(mut answer: Receiver) -> io::Result<Vec<IpAddr>> {
    let answer = answer.wait_for(Option::is_some).await;
    let answer = answer.map_err(|_| io::Error::other("the DNS lookup was aborted"))?;
    match &*answer {
        Some(Ok(addresses)) => Ok(addresses.clone()),
        Some(Err((kind, text))) => Err(io::Error::new(*kind, text.clone())),
        None => Err(io::Error::other("the DNS lookup was aborted")),
    }
}

#[cfg(test)]
mod tests;
