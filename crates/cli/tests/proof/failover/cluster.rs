//! Three PostgreSQL servers under Patroni, each on a machine of its own with a member of etcd.
//!
//! The machines are namespaces of the network, so that they can be cut off. Patroni reads the example
//! of `deploy/patroni`, with other addresses.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Mutex,
    time::Duration,
};

use serde_json::{Value, json};

use crate::node::until_within;

/// The name of a database machine, from 1 to 3.
pub type Machine = usize;
pub const MACHINES: [Machine; 3] = [1, 2, 3];

const NETWORK: &str = include_str!("network.sh");
const EXAMPLE: &str = include_str!("../../../../../deploy/patroni/db1.yml");
/// Enough for the jobs of all faults.
const DISK: usize = 1 << 30;
/// How long a cluster may take until all its members follow the primary.
const SETTLE: Duration = Duration::from_secs(180);

/// Takes the machines down when the pipe ends, however the test does. Parameters: those of the script.
const WATCH: &str = r#"script=$0; cat > /dev/null; exec sh -c "$script" network down "$@""#;

pub struct Cluster {
    name: String,
    net: String,
    directory: PathBuf,
    owner: (String, String),
    watcher: Child,
    /// What runs on the machines, and ends with them.
    processes: Mutex<Vec<Child>>,
}

impl Cluster {
    /// Starts three empty servers, and waits until two follow the third. What is missing is the error.
    pub fn start() -> Result<Self, String> {
        let packages = packages()?;
        if id(&["-u"]).as_deref() != Some("0") {
            return Err("namespaces of the network need root".to_owned());
        }
        let owner = id(&["-u", "postgres"]).zip(id(&["-g", "postgres"]));
        let owner = owner.ok_or("there is no user postgres")?;
        let process = std::process::id();
        let directory = std::env::temp_dir().join(format!("steadfast-ha-{process}"));
        let net = format!("198.{}.{}", 18 + process / 250 % 2, process % 250);
        let name = format!("sf{process}");
        fs::create_dir(&directory).unwrap();
        let place = directory.display().to_string();
        let arguments = [name.clone(), net.clone(), place];
        let mut watcher = Command::new("sh");
        watcher.args(["-c", WATCH, NETWORK]).args(&arguments);
        let watcher = watcher.stdin(Stdio::piped()).spawn().unwrap();
        let processes = Mutex::default();
        let cluster = Self {
            name,
            net,
            directory,
            owner,
            watcher,
            processes,
        };
        let disk = DISK.to_string();
        let made = Command::new("sh")
            .args(["-c", NETWORK, "network", "up"])
            .args(arguments)
            .args([&format!("{}:{}", cluster.owner.0, cluster.owner.1), &disk])
            .output()
            .unwrap();
        if !made.status.success() {
            return Err(String::from_utf8_lossy(&made.stderr).into_owned());
        }
        // The user of the servers may not be able to read where they were installed.
        let copied = Command::new("cp")
            .arg("-R")
            .arg(packages)
            .arg(cluster.packages())
            .status();
        assert!(copied.unwrap().success());
        MACHINES
            .into_iter()
            .for_each(|machine| cluster.boot(machine));
        cluster.settle();
        Ok(cluster)
    }

    /// Starts what runs on a machine.
    pub fn boot(&self, machine: Machine) {
        let place = self.directory.join(machine.to_string());
        let host = self.host(machine);
        let of = |machine: &Machine| format!("db{machine}=http://{}:2380", self.host(*machine));
        let members: Vec<String> = MACHINES.iter().map(of).collect();
        let etcd = self.packages().join("etcd").display().to_string();
        let (peer, client) = (format!("http://{host}:2380"), format!("http://{host}:2379"));
        self.spawn(
            machine,
            "etcd",
            &[
                &etcd,
                "--name",
                &format!("db{machine}"),
                "--data-dir",
                &place.join("etcd").display().to_string(),
                "--listen-peer-urls",
                &peer,
                "--initial-advertise-peer-urls",
                &peer,
                "--listen-client-urls",
                &client,
                "--advertise-client-urls",
                &client,
                "--initial-cluster",
                &members.join(","),
            ],
        );
        let mut settings = EXAMPLE
            .replace("max_wal_size: 4GB", "max_wal_size: 128MB")
            .replace("name: db1", &format!("name: db{machine}"))
            .replace("connect_address: db1", &format!("connect_address: {host}"))
            .replace("/var/run/postgresql", &place.display().to_string())
            .replace(
                "/var/lib/postgresql/jobs",
                &self.data(machine).display().to_string(),
            )
            .replace("/var/lib/postgresql", &place.display().to_string())
            .replace(
                "/usr/lib/postgresql/15/bin",
                &binaries().display().to_string(),
            );
        for other in MACHINES {
            settings = settings.replace(&format!("db{other}:"), &format!("{}:", self.host(other)));
        }
        let file = place.join("patroni.yml");
        fs::write(&file, settings).unwrap();
        let file = file.display().to_string();
        self.spawn(
            machine,
            "patroni",
            &["/usr/bin/python3", "-m", "patroni", &file],
        );
    }

    fn spawn(&self, machine: Machine, log: &str, command: &[&str]) {
        let place = self.directory.join(machine.to_string());
        let log = place.join(format!("{log}.log"));
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(log)
            .unwrap();
        let (user, group) = &self.owner;
        let process = Command::new("ip")
            .args(["netns", "exec", &self.machine(machine), "setpriv"])
            .args(["--reuid", user, "--regid", group, "--clear-groups"])
            .args(command)
            .current_dir(place)
            .env("PYTHONPATH", self.packages().join("python"))
            .env("PATH", "/usr/bin:/bin")
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn();
        self.processes.lock().unwrap().push(process.unwrap());
    }

    /// Waits until one server is the primary and the others follow it, one of them synchronously.
    pub fn settle(&self) -> (Machine, Machine) {
        until_within(SETTLE, "two standbys to follow a primary", || {
            let members = MACHINES.iter().find_map(|machine| self.members(*machine))?;
            let of = |role: &str, state: &str| {
                let is = |member: &&Value| member["role"] == role && member["state"] == state;
                let member = members.iter().find(is)?;
                member["name"].as_str()?.strip_prefix("db")?.parse().ok()
            };
            of("replica", "streaming")?;
            Some((of("leader", "running")?, of("sync_standby", "streaming")?))
        })
    }

    fn members(&self, machine: Machine) -> Option<Vec<Value>> {
        let text = self.patroni(machine, "GET", "/cluster", "")?;
        let cluster: Value = serde_json::from_str(&text).ok()?;
        Some(cluster["members"].as_array()?.clone())
    }

    /// Has Patroni promote a standby.
    pub fn switch_over(&self, from: Machine, to: Machine) -> Option<String> {
        let body = json!({"leader": format!("db{from}"), "candidate": format!("db{to}")});
        self.patroni(from, "POST", "/switchover", &body.to_string())
    }

    fn patroni(&self, machine: Machine, method: &str, path: &str, body: &str) -> Option<String> {
        let address = format!("{}:8008", self.host(machine)).parse().unwrap();
        let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1)).ok()?;
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .ok()?;
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.0\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        Some(text.split_once("\r\n\r\n")?.1.to_owned())
    }

    /// The address of all servers, for nodes.
    pub fn url(&self) -> String {
        let hosts = MACHINES.map(|machine| self.host(machine)).join(",");
        format!("postgres://postgres:superuser-password@{hosts}/postgres")
    }

    /// Where one server is, as words.
    pub fn words(&self, machine: Machine) -> String {
        let host = self.host(machine);
        format!("host={host} user=postgres password=superuser-password connect_timeout=1")
    }

    fn host(&self, machine: Machine) -> String {
        format!("{}.1{machine}", self.net)
    }

    fn machine(&self, machine: Machine) -> String {
        format!("{}-{machine}", self.name)
    }

    fn packages(&self) -> PathBuf {
        self.directory.join("packages")
    }

    fn data(&self, machine: Machine) -> PathBuf {
        self.disk(machine).join("data")
    }

    pub fn disk(&self, machine: Machine) -> PathBuf {
        self.directory.join(machine.to_string()).join("disk")
    }

    /// Connects a machine to the others, or not.
    pub fn plug(&self, machine: Machine, is_in: bool) {
        let state = if is_in { "up" } else { "down" };
        run("ip", &["link", "set", &self.machine(machine), state]);
    }

    /// Cuts a machine off from the other servers alone, or no longer.
    pub fn shun(&self, machine: Machine, is_cut: bool) {
        let action = if is_cut { "add" } else { "delete" };
        for other in MACHINES.into_iter().filter(|other| *other != machine) {
            let (machine, other) = (self.machine(machine), self.host(other));
            run(
                "ip",
                &["-n", &machine, "route", action, "blackhole", &other],
            );
        }
    }

    /// Sends a signal to everything that runs on a machine.
    pub fn signal_all(&self, machine: Machine, signal: &str) {
        let pids = Command::new("ip")
            .args(["netns", "pids", &self.machine(machine)])
            .output();
        let pids = String::from_utf8(pids.unwrap().stdout).unwrap();
        let pids: Vec<&str> = pids.split_whitespace().collect();
        // One may have ended meanwhile.
        let _sent = Command::new("kill")
            .args(["-s", signal])
            .args(pids)
            .output()
            .unwrap();
    }

    /// Kills PostgreSQL on a machine: its other processes end when they notice.
    pub fn kill_server(&self, machine: Machine) {
        let file = fs::read_to_string(self.data(machine).join("postmaster.pid")).unwrap();
        run("kill", &["-s", "KILL", file.lines().next().unwrap()]);
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for machine in MACHINES {
                let log = self.directory.join(machine.to_string()).join("patroni.log");
                let log = fs::read_to_string(log).unwrap_or_default();
                let lines: Vec<&str> = log.lines().collect();
                let last = &lines[lines.len().saturating_sub(60)..];
                eprintln!("db{machine}:\n{}", last.join("\n"));
            }
        }
        drop(self.watcher.stdin.take());
        let _gone = self.watcher.wait();
        for process in self.processes.get_mut().unwrap() {
            let _gone = process.wait();
        }
    }
}

fn run(program: &str, arguments: &[&str]) {
    let status = Command::new(program).args(arguments).status().unwrap();
    assert!(status.success(), "{program} {arguments:?}");
}

fn id(arguments: &[&str]) -> Option<String> {
    let output = Command::new("id").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// Where etcd and Patroni are installed; the same as in xtask.
fn packages() -> Result<PathBuf, String> {
    let binary = Path::new(env!("CARGO_BIN_EXE_steadfast"));
    let folder = binary.ancestors().nth(2).unwrap().join("patroni");
    match folder.join("etcd").exists() {
        true => Ok(folder),
        false => Err(format!(
            "`cargo xtask prove ha` installs Patroni in {}",
            folder.display()
        )),
    }
}

/// The programs of the newest PostgreSQL.
fn binaries() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").unwrap();
    let versions = versions.filter_map(|it| it.ok()?.file_name().into_string().ok()?.parse().ok());
    let newest: u32 = versions.max().unwrap();
    PathBuf::from(format!("/usr/lib/postgresql/{newest}/bin"))
}
