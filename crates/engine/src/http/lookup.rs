//! Looks names up with the system's resolver, in a bounded number of threads.
//!
//! The system's resolver blocks its thread, for ten seconds and more if no name server answers,
//! and cannot be interrupted. In a pool that others use too, lookups of dead names would soon
//! hold every thread, whatever timeout their jobs have. So each lookup has a thread of its own
//! and a permit that is returned when that thread ends, not when the caller has left. One name
//! is looked up by one thread at a time, and names that were found lately have permits of their
//! own, so that those which never answer do not hold them up. A tenant has a part of the permits, and
//! a name that did not answer is not looked up again for some seconds.

use std::{
    collections::HashMap,
    io,
    net::{IpAddr, ToSocketAddrs as _},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use async_trait::async_trait;
use steadfast_core::Tenant;
use steadfast_store::{Admission, FairGate, StoreCaller};
use tokio::{sync::watch, time::Instant};

use super::connect::Resolver;
use crate::limits::http::{
    ADDRESSES_KEPT_FOR, LOOKUPS_MAX, LOOKUPS_OF_KNOWN_NAMES_MAX, LOOKUPS_PER_TENANT_DIVISOR,
    NAMES_KEPT_MAX, NAMES_PER_TENANT_MAX, SILENT_NAMES_KEPT_FOR, SLOW_LOOKUP,
};

tokio::task_local! {
    static LOOKING: LookupCaller;
}

/// The tenant for which names are looked up during a call.
#[derive(Clone)]
pub struct LookupCaller {
    tenant: Tenant,
    /// Whether it waits for its turn, so that no lookup has begun for it.
    is_waiting: Arc<AtomicBool>,
}

impl LookupCaller {
    pub fn new(tenant: Tenant) -> Self {
        Self {
            tenant,
            is_waiting: Arc::default(),
        }
    }

    /// Makes a call whose lookups count for the tenant.
    pub async fn call<F: Future>(&self, call: F) -> F::Output {
        LOOKING.scope(self.clone(), call).await
    }

    /// Whether the call ended while it waited for its turn.
    pub fn is_waiting(&self) -> bool {
        self.is_waiting.load(Ordering::Relaxed)
    }
}

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
            permits: gate(LOOKUPS_MAX),
            permits_of_known_names: gate(LOOKUPS_OF_KNOWN_NAMES_MAX),
            names: Mutex::default(),
        }))
    }
}

/// A tenant gets half of the permits.
fn gate(permits: usize) -> Arc<FairGate> {
    FairGate::new(permits, permits / LOOKUPS_PER_TENANT_DIVISOR)
}

#[async_trait]
impl Resolver for SystemResolver {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let is_known = match self.0.find(name) {
            Lookup::Done(answer) => return answer.map_err(error_of),
            Lookup::UnderWay(answer) => return wait_for(answer).await,
            Lookup::ToDo { is_known } => is_known,
        };
        // A caller that gives up leaves the line; nothing has been started for it.
        let looking = LOOKING.try_with(LookupCaller::clone).ok();
        let set_waiting = |is_waiting| {
            if let Some(looking) = &looking {
                looking.is_waiting.store(is_waiting, Ordering::Relaxed);
            }
        };
        let tenant = looking.as_ref().map(|looking| looking.tenant.clone());
        set_waiting(true);
        let permit = self.0.permit(is_known, tenant.as_ref()).await;
        set_waiting(false);
        let answer = match self.0.find(name) {
            Lookup::Done(answer) => return answer.map_err(error_of),
            Lookup::UnderWay(answer) => answer,
            Lookup::ToDo { .. } => Lookups::start(&self.0, name, tenant, permit)?,
        };
        wait_for(answer).await
    }
}

type BlockingLookup = dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync;

struct Lookups {
    look_up: Box<BlockingLookup>,
    permits: Arc<FairGate>,
    permits_of_known_names: Arc<FairGate>,
    names: Mutex<Names>,
}

#[derive(Default)]
struct Names {
    under_way: HashMap<String, Receiver>,
    found: HashMap<String, NameEntry>,
}

/// What came of a name when it was last looked up: its addresses, or no answer for long.
struct NameEntry {
    answer: Answer,
    at: Instant,
    /// The tenant for which it was looked up.
    tenant: Option<Tenant>,
}

impl NameEntry {
    fn is_fresh(&self) -> bool {
        let kept_for = match self.answer {
            Ok(_) => ADDRESSES_KEPT_FOR,
            Err(_) => SILENT_NAMES_KEPT_FOR,
        };
        self.at.elapsed() < kept_for
    }
}

/// An error cannot be cloned for each caller that waits, but its kind and its text can.
type Answer = Result<Vec<IpAddr>, (io::ErrorKind, String)>;
type Receiver = watch::Receiver<Option<Answer>>;

enum Lookup {
    Done(Answer),
    UnderWay(Receiver),
    ToDo { is_known: bool },
}

impl Lookups {
    fn find(&self, name: &str) -> Lookup {
        let names = self.lock();
        let found = names.found.get(name);
        if let Some(found) = found.filter(|found| found.is_fresh()) {
            return Lookup::Done(found.answer.clone());
        }
        match names.under_way.get(name) {
            Some(answer) => Lookup::UnderWay(answer.clone()),
            None => Lookup::ToDo {
                is_known: found.is_some_and(|found| found.answer.is_ok()),
            },
        }
    }

    async fn permit(&self, is_known: bool, tenant: Option<&Tenant>) -> Option<Admission> {
        let caller = Some(StoreCaller {
            tenant: tenant.cloned(),
            works: false,
            reads: false,
        });
        let shared = self.permits.enter(caller.clone(), 1);
        if !is_known {
            return shared.await;
        }
        tokio::select! {
            biased;
            permit = shared => permit,
            permit = self.permits_of_known_names.enter(caller, 1) => permit,
        }
    }

    fn start(
        lookups: &Arc<Self>,
        name: &str,
        tenant: Option<Tenant>,
        permit: Option<Admission>,
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
                    tenant,
                    begun: Instant::now(),
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
    tenant: Option<Tenant>,
    begun: Instant,
    sender: watch::Sender<Option<Answer>>,
    is_finished: bool,
    _permit: Option<Admission>,
}

impl UnderWay {
    fn finish(mut self, answer: io::Result<Vec<IpAddr>>) {
        let answer = answer.map_err(|error| (error.kind(), error.to_string()));
        let mut names = self.lookups.lock();
        // Before the answer is known: a caller that asks after it begins another lookup.
        names.under_way.remove(&self.name);
        // A name that soon turns out not to exist costs nothing.
        if answer.is_ok() || self.begun.elapsed() >= SLOW_LOOKUP {
            names.make_room(self.tenant.as_ref());
            let found = NameEntry {
                answer: answer.clone(),
                at: Instant::now(),
                tenant: self.tenant.clone(),
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
    /// A tenant with very many names pushes out its own.
    fn make_room(&mut self, tenant: Option<&Tenant>) {
        let is_own = |found: &NameEntry| found.tenant.as_ref() == tenant;
        let own = self.found.values().filter(|found| is_own(found)).count();
        let has_too_many = tenant.is_some() && own >= NAMES_PER_TENANT_MAX;
        if !has_too_many && self.found.len() < NAMES_KEPT_MAX {
            return;
        }
        let old = self.found.iter();
        let old = old.filter(|(_, found)| !has_too_many || is_own(found));
        let oldest = old.min_by_key(|(_, found)| found.at);
        if let Some(oldest) = oldest.map(|(name, _)| name.clone()) {
            self.found.remove(&oldest);
        }
    }
}

async fn wait_for(mut answer: Receiver) -> io::Result<Vec<IpAddr>> {
    let answer = answer.wait_for(Option::is_some).await;
    let answer = answer.map_err(|_| io::Error::other("the DNS lookup was aborted"))?;
    match &*answer {
        Some(answer) => answer.clone().map_err(error_of),
        None => Err(io::Error::other("the DNS lookup was aborted")),
    }
}

fn error_of((kind, text): (io::ErrorKind, String)) -> io::Error {
    io::Error::new(kind, text)
}

#[cfg(test)]
mod tests;
