//! The open connections of a server: how many there may be, and which one is closed when there is
//! no room for another.
//!
//! A connection costs the client nothing, so a limit alone lets one client keep out all others.
//! What is worth a connection is a request under way. When there is no room, a connection without
//! one is closed: first those that have never sent a request, then those that wait for their next
//! one, then those whose body is still arriving; of each, the longest idle first. Requests that
//! wait for long (long polls, event streams) have a share of all connections (`waits`), so that
//! some always remain for short requests: health, heartbeats, settlements.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::http::StatusCode;
use tokio::{sync::Notify, time::Instant};

use crate::{http::problem::Problem, limits};

/// All open connections.
pub struct Connections {
    table: Mutex<Table>,
    most: usize,
    most_per_address: usize,
    started: Instant,
    /// Told when a connection has ended.
    pub ended: Notify,
}

#[derive(Default)]
struct Table {
    open: HashMap<u64, Arc<Connection>>,
    by_address: HashMap<IpAddr, usize>,
    next_id: u64,
    warned_at: Option<Instant>,
}

/// The decision about a new connection.
#[derive(Debug)]
pub enum Admission {
    Admitted(Arc<Connection>),
    /// Its address has as many as it may have, and all are in use.
    Refused,
    /// All connections are in use.
    Full,
}

/// One open connection.
#[derive(Debug)]
pub struct Connection {
    id: u64,
    pub address: IpAddr,
    pub is_tls: bool,
    activity: Mutex<Activity>,
    /// When it came into its phase, in milliseconds since the server was started.
    since: AtomicU64,
    started: Instant,
    /// Told when it is to be closed.
    pub closing: Notify,
}

/// What a connection does. Over HTTP/2 it has many requests at once.
#[derive(Debug)]
struct Activity {
    phase: Phase,
    requests: usize,
}

/// The phase of a connection, in the order in which connections are closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// It has not sent a request yet.
    New,
    /// It has sent one, and may send another.
    Idle,
    /// The body of a request is arriving.
    Receiving,
    /// A request is under way; it is not closed.
    Working,
    /// It is being closed.
    Closing,
}

impl Connections {
    pub fn new(most: usize, most_per_address: usize) -> Self {
        Self {
            table: Mutex::default(),
            most,
            most_per_address,
            started: Instant::now(),
            ended: Notify::new(),
        }
    }

    /// Registers a new connection, and closes idle ones if there is no room for it.
    pub fn admit(&self, address: IpAddr, is_tls: bool) -> Admission {
        let address = network(address);
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        let of_address = table.by_address.get(&address).copied().unwrap_or(0);
        if of_address >= self.most_per_address {
            table.warn(
                "a client address has reached its connection limit",
                of_address,
            );
            if !table.close_idle(Some(address), self.most_per_address) {
                return Admission::Refused;
            }
        }
        if table.open.len() >= self.most {
            table.warn("the connection limit is reached", self.most);
            if !table.close_idle(None, self.most) {
                return Admission::Full;
            }
        }
        let connection = Arc::new(Connection {
            id: table.next_id,
            address,
            is_tls,
            activity: Mutex::new(Activity {
                phase: Phase::New,
                requests: 0,
            }),
            since: AtomicU64::new(millis(self.started.elapsed())),
            started: self.started,
            closing: Notify::new(),
        });
        table.next_id += 1;
        table.open.insert(connection.id, connection.clone());
        *table.by_address.entry(address).or_default() += 1;
        Admission::Admitted(connection)
    }

    /// Forgets a connection that has ended.
    pub fn remove(&self, connection: &Connection) {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        table.remove(connection);
        drop(table);
        self.ended.notify_one();
    }
}

impl Table {
    /// Closes some of the connections that have no request under way; returns whether there were
    /// any. A look at all of them makes room for many, so that a flood of new connections does not
    /// cost a look each.
    fn close_idle(&mut self, address: Option<IpAddr>, most: usize) -> bool {
        let candidates = self.open.values();
        let candidates =
            candidates.filter(|it| address.is_none_or(|address| it.address == address));
        let mut idle: Vec<(Phase, u64, Arc<Connection>)> = candidates
            .map(|it| (it.phase(), it.since.load(Ordering::Relaxed), it.clone()))
            .filter(|(phase, ..)| *phase < Phase::Working)
            .collect();
        let batch = (most / limits::CONNECTIONS_CLOSED_SHARE).max(1);
        let batch = batch.min(idle.len());
        if batch < idle.len() {
            idle.select_nth_unstable_by_key(batch, |(phase, since, _)| (*phase, *since));
        }
        let mut has_closed = false;
        for (phase, _, connection) in idle.into_iter().take(batch) {
            if connection.change(phase, Phase::Closing) {
                connection.closing.notify_one();
                self.remove(&connection);
                has_closed = true;
            }
        }
        has_closed
    }

    fn remove(&mut self, connection: &Connection) {
        if self.open.remove(&connection.id).is_none() {
            return;
        }
        if let Some(count) = self.by_address.get_mut(&connection.address) {
            *count -= 1;
            if *count == 0 {
                self.by_address.remove(&connection.address);
            }
        }
    }

    /// A flood is one line of the log a minute.
    fn warn(&mut self, what: &str, connections: usize) {
        let is_due = self
            .warned_at
            .is_none_or(|at| at.elapsed() >= limits::CONNECTIONS_WARN_EVERY);
        if is_due {
            self.warned_at = Some(Instant::now());
            tracing::warn!(connections, "{what}: closing idle connections");
        }
    }
}

impl Connection {
    fn activity(&self) -> MutexGuard<'_, Activity> {
        let activity = self.activity.lock();
        activity.unwrap_or_else(PoisonError::into_inner)
    }

    fn phase(&self) -> Phase {
        self.activity().phase
    }

    /// Changes its phase, if it is still that one.
    fn change(&self, from: Phase, to: Phase) -> bool {
        let mut activity = self.activity();
        let is_still = activity.phase == from;
        if is_still {
            activity.phase = to;
        }
        is_still
    }

    /// Ready when it has had no request for this long. From then on it takes none.
    pub async fn idle(&self, most: Duration) {
        loop {
            let since = self.started + Duration::from_millis(self.since.load(Ordering::Relaxed));
            let phase = self.phase();
            let is_idle = phase < Phase::Receiving;
            if is_idle && since.elapsed() >= most && self.change(phase, Phase::Closing) {
                return;
            }
            let until = if is_idle { since } else { Instant::now() };
            tokio::time::sleep_until(until + most).await;
        }
    }

    fn stamp(&self) {
        let now = millis(self.started.elapsed());
        self.since.store(now, Ordering::Relaxed);
    }

    /// A request has arrived. `None` if the connection is being closed: then nothing of the request
    /// may be done, because its response would be lost.
    pub fn begin(self: &Arc<Self>) -> Option<RequestUnderWay> {
        let mut activity = self.activity();
        if activity.phase == Phase::Closing {
            return None;
        }
        // The rest of a refused body may be read while the next request begins.
        activity.phase = Phase::Working;
        activity.requests += 1;
        Some(RequestUnderWay(self.clone()))
    }

    /// The body of a request is arriving, until this is dropped.
    pub fn receive(self: &Arc<Self>) -> BodyUnderWay {
        self.stamp();
        let mut activity = self.activity();
        // Beside another request it stays open for that one.
        if activity.phase == Phase::Working && activity.requests <= 1 {
            activity.phase = Phase::Receiving;
        }
        BodyUnderWay(self.clone())
    }
}

/// Held for as long as a request is under way.
pub struct RequestUnderWay(Arc<Connection>);

impl Drop for RequestUnderWay {
    fn drop(&mut self) {
        self.0.stamp();
        let mut activity = self.0.activity();
        activity.requests -= 1;
        if activity.requests == 0 && activity.phase != Phase::Closing {
            activity.phase = Phase::Idle;
        }
    }
}

/// Held while the body of a request is arriving.
pub struct BodyUnderWay(Arc<Connection>);

impl BodyUnderWay {
    /// The body has arrived. `false` if the connection is being closed: then nothing of the request
    /// may be done.
    pub fn end(self) -> bool {
        let mut activity = self.0.activity();
        if activity.phase == Phase::Receiving {
            activity.phase = Phase::Working;
        }
        activity.phase == Phase::Working
    }
}

/// What counts as one address: clients choose the lower half of an IPv6 address as they like.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A connection that was idle is closed for want of room, and a request arrived just then.
pub fn connection_closed() -> Problem {
    let detail =
        "the server has reached its connection limit; the request was not processed; try again";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admit(connections: &Connections, address: &str) -> Arc<Connection> {
        match connections.admit(address.parse().unwrap(), false) {
            Admission::Admitted(connection) => connection,
            other => panic!("{other:?}"),
        }
    }

    fn is_closing(connection: &Connection) -> bool {
        connection.phase() == Phase::Closing
    }

    #[tokio::test(start_paused = true)]
    async fn the_longest_idle_connection_is_closed_first_and_a_busy_one_never() {
        let connections = Connections::new(5, 5);
        let mut open = Vec::new();
        for _ in 0..5 {
            open.push(admit(&connections, "10.0.0.1"));
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        let working = open[0].begin().unwrap();
        drop(open[1].begin().unwrap());
        let receiving = open[4].begin().unwrap();
        let body = open[4].receive();
        // New ones in their order, then the one that had a request, then the one with half a body.
        for closed in [2, 3, 1, 4] {
            let another = admit(&connections, "10.0.0.2");
            std::mem::forget(another.begin());
            assert!(is_closing(&open[closed]), "{closed}");
            assert!(open[closed].begin().is_none(), "{closed}");
        }
        assert!(!body.end(), "the body came too late");
        drop(receiving);
        let full = connections.admit("10.0.0.2".parse().unwrap(), false);
        assert!(matches!(full, Admission::Full));
        assert!(!is_closing(&open[0]));
        drop(working);
        admit(&connections, "10.0.0.2");
        assert!(is_closing(&open[0]));
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_with_several_requests_is_idle_after_the_last() {
        let connections = Connections::new(1, 1);
        let open = admit(&connections, "10.0.0.1");
        let (first, second) = (open.begin().unwrap(), open.begin().unwrap());
        let body = open.receive();
        drop(first);
        let full = || {
            matches!(
                connections.admit("10.0.0.2".parse().unwrap(), false),
                Admission::Full
            )
        };
        assert!(full(), "the second request is still under way");
        assert!(body.end());
        let most = Duration::from_secs(60);
        let waited = tokio::time::timeout(3 * most, open.idle(most)).await;
        assert!(waited.is_err(), "it is not idle");
        drop(second);
        open.idle(most).await;
        assert!(is_closing(&open) && open.begin().is_none());
        connections.remove(&open);
        assert!(!full());
    }

    #[test]
    fn an_address_has_a_limit_of_its_own_and_an_ended_connection_makes_room() {
        let connections = Connections::new(100, 2);
        let one = admit(&connections, "2001:db8::1");
        let other = admit(&connections, "2001:db8::2");
        let (working, _also) = (one.begin(), other.begin());
        let third = connections.admit("2001:db8::3".parse().unwrap(), false);
        assert!(matches!(third, Admission::Refused), "one network");
        admit(&connections, "2001:db9::1");
        drop(working);
        connections.remove(&one);
        connections.remove(&one);
        let third = admit(&connections, "2001:db8::3");
        admit(&connections, "2001:db8::4");
        assert!(is_closing(&third) && !is_closing(&other));
    }
}
