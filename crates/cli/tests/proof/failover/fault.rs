//! What happens to the primary, and how it ends.

use std::{
    fs::File,
    io::Write as _,
    time::{Duration, Instant},
};

use super::{
    cluster::{Cluster, Machine},
    observer::Observer,
};
use crate::node::until_within;

/// Longer than Patroni needs to give up a primary and to promote a standby.
const PROMOTION: Duration = Duration::from_secs(90);
/// How long an operator looks at a full disk.
const OPERATOR: Duration = Duration::from_secs(10);
/// How long standbys fall behind before the primary dies.
const LAG: Duration = Duration::from_secs(8);

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    Killed,
    PoweredOff,
    Unplugged,
    CutOffFromStandbys,
    Paused,
    DiskFull,
    ConnectionsEnded,
    SwitchedOver,
    StandbysLag,
}

/// The short way tries the first alone.
pub const FAULTS: [Fault; 9] = [
    Fault::Killed,
    Fault::SwitchedOver,
    Fault::ConnectionsEnded,
    Fault::Paused,
    Fault::Unplugged,
    Fault::CutOffFromStandbys,
    Fault::PoweredOff,
    Fault::DiskFull,
    Fault::StandbysLag,
];

impl Fault {
    pub fn name(self) -> &'static str {
        match self {
            Self::Killed => "primary killed (`kill -9`)",
            Self::PoweredOff => "machine of the primary off, with its member of etcd",
            Self::Unplugged => "network of the primary unplugged",
            Self::CutOffFromStandbys => "primary cut off from its standbys, but not from nodes",
            Self::Paused => "machine of the primary paused, and resumed later",
            Self::DiskFull => "disk of the primary full, switched over after 10 s",
            Self::ConnectionsEnded => "all connections ended",
            Self::SwitchedOver => "switched over by hand",
            Self::StandbysLag => "primary killed while both standbys lag",
        }
    }

    /// Strikes the primary. Returns when another server was promoted, if the fault leads to that.
    pub fn strike(
        self,
        cluster: &Cluster,
        observer: &Observer,
        [primary, standby]: [Machine; 2],
    ) -> Option<Instant> {
        let begun = Instant::now();
        match self {
            Self::Killed => cluster.kill_server(primary),
            Self::PoweredOff => cluster.signal_all(primary, "KILL"),
            Self::Unplugged => cluster.plug(primary, false),
            Self::CutOffFromStandbys => cluster.shun(primary, true),
            Self::Paused => cluster.signal_all(primary, "STOP"),
            Self::ConnectionsEnded => {
                let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
                observer.run(&cluster.words(primary), sql);
                return None;
            }
            Self::SwitchedOver => switch_over(cluster, primary, standby),
            Self::DiskFull => {
                fill(cluster, primary);
                // PostgreSQL may stop by itself meanwhile, and Patroni then promotes another.
                let promoted = || observer.promoted_since(begun).map(drop);
                let waited = Instant::now();
                while promoted().is_none() && waited.elapsed() < OPERATOR {
                    std::thread::park_timeout(Duration::from_millis(50));
                }
                if promoted().is_none() {
                    switch_over(cluster, primary, standby);
                }
            }
            Self::StandbysLag => {
                let replica = 6 - primary - standby;
                cluster.signal_all(replica, "STOP");
                observer.run(&cluster.words(standby), "SELECT pg_wal_replay_pause()");
                // sleep: this is how long they fall behind
                std::thread::park_timeout(LAG);
                cluster.signal_all(replica, "CONT");
                cluster.kill_server(primary);
            }
        }
        let promoted = || observer.promoted_since(begun);
        Some(until_within(
            PROMOTION,
            "another server to be promoted",
            promoted,
        ))
    }

    /// Brings the machine back.
    pub fn end(self, cluster: &Cluster, primary: Machine) {
        match self {
            Self::PoweredOff => cluster.boot(primary),
            Self::Unplugged => cluster.plug(primary, true),
            Self::CutOffFromStandbys => cluster.shun(primary, false),
            Self::Paused => cluster.signal_all(primary, "CONT"),
            Self::DiskFull => std::fs::remove_file(cluster.disk(primary).join("ballast")).unwrap(),
            Self::Killed | Self::ConnectionsEnded | Self::SwitchedOver | Self::StandbysLag => {}
        }
    }
}

fn switch_over(cluster: &Cluster, primary: Machine, standby: Machine) {
    let answer = cluster.switch_over(primary, standby);
    eprintln!("failover: {}", answer.unwrap_or_default().trim());
}

fn fill(cluster: &Cluster, machine: Machine) {
    let mut ballast = File::create(cluster.disk(machine).join("ballast")).unwrap();
    let block = vec![0; 1 << 20];
    while ballast.write_all(&block).is_ok() {}
}
