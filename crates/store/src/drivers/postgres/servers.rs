//! Which of several servers takes writes, and when connections to another one are left.
//!
//! A server that has lost its role may refuse connections or writes, which is seen at once. It may also
//! be silent, because it is cut off or stands still, or take statements whose commits wait for ever,
//! because its standbys follow another server by now. A caller would wait for a minute. So a call that
//! is late raises a doubt: the server has to commit something. If it does not, all servers have to, and
//! the first that does so is used from then on. Every older connection is left, busy ones included.
//! While no other server commits, nothing changes: a slow server is waited for.

pub(super) mod manager;

use std::{
    collections::HashSet,
    pin::pin,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use tokio::{
    sync::{Mutex, Notify, watch},
    time,
};
use tokio_postgres::{
    Client, Config, Connection, SimpleQueryMessage, Socket,
    config::{Host, TargetSessionAttrs},
    tls::MakeTlsConnect,
};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::driver_error::DriverError;
use crate::limits::{CONNECT_TIMEOUT, LATE_AFTER, PEER_SILENCE_MAX, SEARCH_PAUSE};

/// Commits a message that no program reads.
pub(super) const CHECK_WRITABLE: &str = include_str!("servers/check_writable.sql");

/// A connection that nobody drives yet.
pub(super) struct Opened {
    pub client: Client,
    pub connection: Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>,
    /// The generation of the connection: those before the current one are not used again.
    pub generation: u64,
}

pub(super) struct Servers {
    /// One address for each server.
    addresses: Vec<Config>,
    tls: MakeRustlsConnect,
    /// The server that took writes when it was last searched.
    current: AtomicUsize,
    /// How often the current server was left.
    generation: watch::Sender<u64>,
    /// When the last search ended. There is one at a time.
    searched: Mutex<Option<Instant>>,
    doubt: Notify,
}

impl Servers {
    pub(super) fn new(config: &Config, tls: MakeRustlsConnect) -> Self {
        let (hosts, addresses) = (config.get_hosts().len(), config.get_hostaddrs().len());
        let (ports, count) = (config.get_ports().len(), hosts.max(addresses));
        let fits = |found: usize| found == 0 || found == count;
        let addresses = match fits(hosts) && fits(addresses) && (fits(ports) || ports == 1) {
            true => (0..count.max(1))
                .map(|place| address(config, place))
                .collect(),
            // The library says what is wrong with it.
            false => vec![config.clone()],
        };
        Self {
            addresses,
            tls,
            current: AtomicUsize::new(0),
            generation: watch::Sender::new(0),
            searched: Mutex::default(),
            doubt: Notify::new(),
        }
    }

    /// The address of the first server.
    pub(super) fn first(&self) -> Option<&Config> {
        self.addresses.first()
    }

    /// Connects to the server that takes writes.
    pub(super) async fn connect(&self) -> Result<Opened, DriverError> {
        let asked = Instant::now();
        if self.addresses.len() < 2 {
            return self.open(0).await;
        }
        let opened = time::timeout(LATE_AFTER, self.open(self.current())).await;
        let error = match opened.unwrap_or(Err(DriverError::Timeout)) {
            Ok(opened) => return Ok(opened),
            Err(error) => error,
        };
        let mut searched = self.searched.lock().await;
        // A search that another caller has begun in vain a moment ago says the same to this one.
        match *searched {
            Some(at) if at > asked => {
                drop(searched);
                self.open(self.current()).await
            }
            Some(at) if at.elapsed() < SEARCH_PAUSE => Err(error),
            _ => {
                let found = self.search().await;
                *searched = Some(Instant::now());
                found
            }
        }
    }

    /// Leaves the server of a connection that was refused a write. Answers whether that is news: a
    /// connection that is not used any more says nothing about those that were opened since.
    pub(super) fn leave(&self, generation: u64) -> bool {
        self.generation.send_if_modified(|current| {
            let is_news = *current == generation;
            *current += u64::from(is_news);
            is_news
        })
    }

    pub(super) fn generation(&self) -> u64 {
        *self.generation.borrow()
    }

    /// Returns when connections of this generation are to be left.
    pub(super) async fn left(&self, generation: u64) {
        let mut current = self.generation.subscribe();
        // It cannot fail: the sender is here.
        let _current = current.wait_for(|current| *current != generation).await;
    }

    /// The same for a caller that waits for an answer. It raises a doubt whenever that is late.
    pub(super) async fn left_while_waiting(&self, generation: u64) {
        let mut left = pin!(self.left(generation));
        while time::timeout(LATE_AFTER, &mut left).await.is_err() {
            self.doubt.notify_one();
        }
    }

    /// Follows up doubts for ever.
    pub(super) async fn watch(&self) {
        while self.addresses.len() > 1 {
            self.doubt.notified().await;
            let commits = time::timeout(LATE_AFTER, self.commit(self.current())).await;
            if matches!(commits, Ok(Ok(_))) {
                // Something else makes the call late, and will for a while.
                time::sleep(LATE_AFTER).await;
                continue;
            }
            let mut searched = self.searched.lock().await;
            if let Err(error) = self.search().await {
                tracing::debug!(%error, "no server commits");
            }
            *searched = Some(Instant::now());
        }
    }

    fn current(&self) -> usize {
        self.current.load(Ordering::Relaxed)
    }

    /// Asks all servers at once for a commit, and moves to the first that does it. Those that refuse
    /// are asked again for as long as another one is silent: the next primary may be one of them.
    async fn search(&self) -> Result<Opened, DriverError> {
        let ask = |place: usize, pause: Duration| async move {
            time::sleep(pause).await;
            (place, self.commit(place).await)
        };
        let mut silent: HashSet<usize> = (0..self.addresses.len()).collect();
        let mut answers: FuturesUnordered<_> =
            silent.iter().map(|it| ask(*it, Duration::ZERO)).collect();
        while let Some((place, answer)) = answers.next().await {
            match answer {
                Ok(opened) => return Ok(self.move_to(place, opened)),
                Err(error) => {
                    silent.remove(&place);
                    if silent.is_empty() {
                        return Err(error);
                    }
                    answers.push(ask(place, SEARCH_PAUSE));
                }
            }
        }
        Err(DriverError::Timeout)
    }

    fn move_to(&self, place: usize, opened: Opened) -> Opened {
        if self.current.swap(place, Ordering::Relaxed) != place {
            tracing::warn!("another server of the address accepts writes now; using that one");
            self.generation.send_modify(|current| *current += 1);
        }
        Opened {
            generation: self.generation(),
            ..opened
        }
    }

    /// Connects to a server that takes writes by its own account.
    async fn open(&self, place: usize) -> Result<Opened, DriverError> {
        let config = self.addresses.get(place).ok_or(DriverError::Disconnected)?;
        let generation = self.generation();
        let opened = time::timeout(patience(config), config.connect(self.tls.clone())).await;
        let (client, connection) = opened.map_err(|_| DriverError::Timeout)??;
        Ok(Opened {
            client,
            connection,
            generation,
        })
    }

    /// Connects to a server that has just committed something. One that has lost its role may still
    /// believe that it has it, but with synchronous replication its commits have no end.
    async fn commit(&self, place: usize) -> Result<Opened, DriverError> {
        let mut opened = self.open(place).await?;
        let commit = async {
            tokio::select! {
                answer = opened.client.simple_query(CHECK_WRITABLE) => Ok(answer?),
                _ = &mut opened.connection => Err(DriverError::Disconnected),
            }
        };
        let answer = time::timeout(CONNECT_TIMEOUT, commit).await;
        let answer = answer.map_err(|_| DriverError::Timeout)??;
        let is_written = |message: &SimpleQueryMessage| matches!(message, SimpleQueryMessage::Row(row) if row.get(0).is_some());
        match answer.iter().any(is_written) {
            true => Ok(opened),
            false => Err(DriverError::ReadOnly),
        }
    }
}

/// How long a server may take to open a connection, the handshakes included.
fn patience(config: &Config) -> Duration {
    config
        .get_connect_timeout()
        .copied()
        .unwrap_or(CONNECT_TIMEOUT)
}

/// The address of one of the servers of an address.
fn address(of: &Config, place: usize) -> Config {
    let mut config = Config::new();
    match of.get_hosts().get(place) {
        Some(Host::Tcp(name)) => drop(config.host(name)),
        #[cfg(unix)]
        Some(Host::Unix(path)) => drop(config.host_path(path)),
        None => {}
    }
    if let Some(address) = of.get_hostaddrs().get(place) {
        config.hostaddr(*address);
    }
    let ports = of.get_ports();
    if let Some(port) = ports.get(place).or(ports.first()) {
        config.port(*port);
    }
    if let Some(user) = of.get_user() {
        config.user(user);
    }
    if let Some(password) = of.get_password() {
        config.password(password);
    }
    if let Some(name) = of.get_dbname() {
        config.dbname(name);
    }
    if let Some(options) = of.get_options() {
        config.options(options);
    }
    config.application_name(of.get_application_name().unwrap_or("steadfast"));
    config.ssl_mode(of.get_ssl_mode());
    config.ssl_negotiation(of.get_ssl_negotiation());
    config.channel_binding(of.get_channel_binding());
    config.load_balance_hosts(of.get_load_balance_hosts());
    config.connect_timeout(patience(of));
    config.keepalives(of.get_keepalives());
    config.keepalives_idle(PEER_SILENCE_MAX);
    config.keepalives_interval(PEER_SILENCE_MAX);
    config.tcp_user_timeout(PEER_SILENCE_MAX);
    config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    config
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_server_of_an_address_has_its_own_host_and_port_and_everything_else() {
        for (text, expected) in [
            ("postgres://u:p@a,b:7/db", [("a", 5432), ("b", 7)]),
            (
                "host=a,b port=7 user=u password=p dbname=db",
                [("a", 7), ("b", 7)],
            ),
            (
                "host=a,b port=7,8 user=u password=p dbname=db",
                [("a", 7), ("b", 8)],
            ),
        ] {
            let mut config: Config = text.parse().unwrap();
            config.connect_timeout(Duration::from_secs(3));
            for (place, (host, port)) in expected.into_iter().enumerate() {
                let found = address(&config, place);
                assert_eq!(found.get_hosts(), [Host::Tcp(host.to_owned())], "{text}");
                assert_eq!(found.get_ports(), [port], "{text}");
                assert_eq!(
                    (found.get_user(), found.get_dbname()),
                    (Some("u"), Some("db"))
                );
                assert_eq!(found.get_password(), Some(&b"p"[..]));
                assert_eq!(patience(&found), Duration::from_secs(3));
                assert_eq!(
                    found.get_target_session_attrs(),
                    TargetSessionAttrs::ReadWrite
                );
            }
        }
    }
}
