//! A private PostgreSQL server for tests, from the binaries of the system.
//!
//! It lives in a temporary directory, listens on a socket there and nowhere else, and is gone
//! with the process that started it, however that ends: a shell waits for the end of a pipe
//! whose other end only this process holds, and then stops the server and removes its files.

mod pooler;

use std::{
    env, fs, io,
    os::unix::{
        fs::{PermissionsExt as _, chown},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::Duration,
};

pub use pooler::Pooler;

const RECOVERY_POLL_EVERY: Duration = Duration::from_millis(50);

/// Programs of another version of PostgreSQL than the system's: a folder with `bin`, `lib` and `share`.
const PROGRAMS: &str = "STEADFAST_TEST_POSTGRES";
/// A file to which servers append the statements that they are sent, each with its transaction.
const STATEMENTS: &str = "STEADFAST_TEST_STATEMENTS";
const LOGGED: &str = "-c log_statement=all -c log_parameter_max_length=0 -c log_line_prefix='%v '";

/// Safe against a crash of the server, which tests provoke, but not of the machine.
const SETTINGS: &str = "-c listen_addresses='' -c fsync=off -c full_page_writes=off \
    -c max_connections=200 -c shared_buffers=64MB -c autovacuum_naptime=5s";

/// Stops the server when the pipe ends. Parameters: pg_ctl, directory of the data, directory.
const WATCH: &str =
    r#"cat > /dev/null; "$0" stop -s -m immediate -D "$1" 2> /dev/null; rm -rf "$2""#;

/// A running server. It stops with the process, or when this is dropped.
#[derive(Debug)]
pub struct Server {
    directory: PathBuf,
    binaries: PathBuf,
    user: Option<User>,
    watcher: Child,
    settings: String,
}

/// The user that the server runs as if this process is root, which it refuses to be.
#[derive(Clone, Copy, Debug)]
struct User {
    uid: u32,
    gid: u32,
}

impl Server {
    /// The server of this process, started when it is first asked for.
    ///
    /// # Panics
    ///
    /// If it cannot be started: a test that needs it has failed.
    #[expect(clippy::panic, reason = "a test that cannot go on has failed")]
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Server> = OnceLock::new();
        SHARED.get_or_init(|| match Self::start() {
            Ok(server) => server,
            Err(error) => panic!("cannot start PostgreSQL: {error}"),
        })
    }

    /// Starts a server of its own, for tests that restart it.
    pub fn start() -> io::Result<Self> {
        Self::start_with(&[], "")
    }

    /// The same with files in its directory, and settings that may name them.
    pub fn start_with(files: &[(&str, &str)], settings: &str) -> io::Result<Self> {
        let server = Self::prepare(settings)?;
        for (name, text) in files {
            server.put(name, text)?;
        }
        server.run("initdb", &["-U", "postgres", "-A", "trust"], |initdb| {
            initdb.args(["-E", "UTF8", "--locale=C", "--no-sync"]);
        })?;
        server.resume()?;
        Ok(server)
    }

    /// A standby that follows this server.
    pub fn standby(&self) -> io::Result<Self> {
        let standby = Self::prepare("")?;
        standby.run(
            "pg_basebackup",
            &["-R", "-c", "fast", "--no-sync"],
            |copy| {
                copy.args(["-U", "postgres", "-h"]).arg(&self.directory);
            },
        )?;
        standby.resume()?;
        Ok(standby)
    }

    /// A copy of the files of this server that does not run.
    pub fn base_backup(&self) -> io::Result<Self> {
        let copy = Self::prepare("")?;
        copy.run("pg_basebackup", &["-c", "fast", "--no-sync"], |backup| {
            backup.args(["-U", "postgres", "-h"]).arg(&self.directory);
        })?;
        Ok(copy)
    }

    /// Starts a copy as these settings for its recovery say, and waits until it can be written to.
    pub fn recover(&mut self, settings: &str) -> io::Result<()> {
        self.put("data/recovery.signal", "")?;
        settings.clone_into(&mut self.settings);
        self.resume()?;
        // It answers readers before its recovery has ended.
        while self.ask("SELECT pg_is_in_recovery()")? != "f" {
            thread::park_timeout(RECOVERY_POLL_EVERY);
        }
        Ok(())
    }

    fn ask(&self, sql: &str) -> io::Result<String> {
        let output = command(&self.binaries.join("psql"), self.user, &self.directory)
            .args(["-X", "-A", "-t", "-U", "postgres", "-d", "postgres", "-h"])
            .arg(&self.directory)
            .args(["-c", sql])
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
            false => Err(io::Error::other(format!("psql failed for {sql}"))),
        }
    }

    /// Makes a standby the primary.
    pub fn promote(&self) -> io::Result<()> {
        self.run("pg_ctl", &["promote", "-s", "-w"], |_| ())
    }

    /// A directory, and a process that deletes it.
    fn prepare(settings: &str) -> io::Result<Self> {
        let programs = env::var_os(PROGRAMS);
        let installed = match &programs {
            Some(programs) => Path::new(programs).join("bin"),
            None => find_binaries()?,
        };
        let user = find_user()?;
        let directory = create_directory()?;
        // The user that the server runs as may not be able to read where they were installed.
        let binaries = match &programs {
            Some(programs) => copy_into(&directory, Path::new(programs))?.join("bin"),
            None => installed,
        };
        if let Some(User { uid, gid }) = user {
            chown(&directory, Some(uid), Some(gid))?;
        }
        // The watcher first, so that nothing is left behind if the rest fails.
        let watcher = command(Path::new("sh"), user, &directory)
            .args(["-c", WATCH])
            .args([&binaries.join("pg_ctl"), &directory.join("data")])
            .arg(&directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()?;
        Ok(Self {
            directory,
            binaries,
            user,
            watcher,
            settings: settings.to_owned(),
        })
    }

    /// An address for [`PostgresStore::open`](crate::PostgresStore::open).
    pub fn url(&self) -> String {
        let host = self.directory.display();
        format!("host={host} user=postgres dbname=postgres")
    }

    /// A schema that no other test uses.
    pub fn fresh_schema(&self) -> String {
        static SCHEMAS: AtomicU32 = AtomicU32::new(0);
        format!("case_{}", SCHEMAS.fetch_add(1, Ordering::Relaxed))
    }

    /// Stops the server as a crash of its machine would.
    pub fn crash(&self) -> io::Result<()> {
        self.run("pg_ctl", &["stop", "-s", "-m", "immediate"], |_| ())
    }

    /// Stops all its processes as they are, until what is returned is dropped. Connections stay open.
    pub fn freeze(&self) -> io::Result<Frozen> {
        let text = fs::read_to_string(self.directory.join("data/postmaster.pid"))?;
        let first = text.lines().next().unwrap_or_default();
        let children = fs::read_to_string(format!("/proc/{first}/task/{first}/children"))?;
        let children = children.split_whitespace();
        let processes = std::iter::once(first).chain(children).map(str::to_owned);
        let frozen = Frozen(processes.collect());
        frozen.signal("STOP")?;
        Ok(frozen)
    }

    /// Starts it again, and waits until it answers.
    pub fn resume(&self) -> io::Result<()> {
        let (log, logged) = match env::var_os(STATEMENTS) {
            Some(file) => (PathBuf::from(file), LOGGED),
            None => (self.directory.join("log"), ""),
        };
        let settings = format!(
            "{SETTINGS} -c unix_socket_directories='{}' {logged} {}",
            self.directory.display(),
            self.settings
        );
        self.run("pg_ctl", &["start", "-s", "-w"], |pg_ctl| {
            pg_ctl.arg("-l").arg(log).arg("-o").arg(settings);
        })
    }

    /// The directory of its files.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// A file that only the server can read.
    fn put(&self, name: &str, text: &str) -> io::Result<()> {
        let path = self.directory.join(name);
        fs::write(&path, text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        match self.user {
            Some(User { uid, gid }) => chown(&path, Some(uid), Some(gid)),
            None => Ok(()),
        }
    }

    fn run(
        &self,
        program: &str,
        arguments: &[&str],
        more: impl FnOnce(&mut Command),
    ) -> io::Result<()> {
        let mut command = command(&self.binaries.join(program), self.user, &self.directory);
        command
            .args(arguments)
            .arg("-D")
            .arg(self.directory.join("data"));
        more(&mut command);
        // The server inherits the output of the process that starts it and would hold a pipe open.
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(self.directory.join("setup"))?;
        let status = command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .status()?;
        if status.success() {
            return Ok(());
        }
        let logs = ["setup", "log"].map(|file| {
            let text = fs::read_to_string(self.directory.join(file));
            text.unwrap_or_default()
        });
        Err(io::Error::other(format!(
            "{program} failed: {}",
            logs.join("\n")
        )))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.watcher.stdin.take());
        if let Err(error) = self.watcher.wait() {
            tracing::warn!(%error, "cannot wait for PostgreSQL to stop");
        }
    }
}

/// The processes of a server that stands still.
#[derive(Debug)]
pub struct Frozen(Vec<String>);

impl Frozen {
    fn signal(&self, name: &str) -> io::Result<()> {
        let status = Command::new("kill")
            .args(["-s", name])
            .args(&self.0)
            .status()?;
        match status.success() {
            true => Ok(()),
            false => Err(io::Error::other("a process of the server has ended")),
        }
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        if let Err(error) = self.signal("CONT") {
            tracing::warn!(%error, "cannot wake PostgreSQL");
        }
    }
}

/// A command in a neutral environment, as a user that the server accepts.
fn command(program: &Path, user: Option<User>, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("LC_ALL", "C").current_dir(directory);
    if let Some(User { uid, gid }) = user {
        command.uid(uid).gid(gid);
    }
    command
}

fn find_user() -> io::Result<Option<User>> {
    let id = |arguments: &[&str]| -> io::Result<Option<u32>> {
        let output = Command::new("id").args(arguments).output()?;
        Ok(text(&output).parse().ok())
    };
    if id(&["-u"])? != Some(0) {
        return Ok(None);
    }
    for name in ["postgres", "daemon"] {
        if let (Some(uid), Some(gid)) = (id(&["-u", name])?, id(&["-g", name])?) {
            return Ok(Some(User { uid, gid }));
        }
    }
    let why = "this is root, and there is no user postgres or daemon to run it as";
    Err(io::Error::other(why))
}

/// A new directory. A process that was killed may have left one, and numbers of processes return.
fn create_directory() -> io::Result<PathBuf> {
    static STARTED: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let name = format!("steadfast-pg-{}-{number}", std::process::id());
        let directory = env::temp_dir().join(name);
        match fs::create_dir(&directory) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|()| directory),
        }
    }
}

/// Copies programs into the folder of a server.
fn copy_into(directory: &Path, programs: &Path) -> io::Result<PathBuf> {
    let copy = directory.join("program");
    let copied = command(Path::new("cp"), None, directory)
        .arg("-R")
        .args([programs, &copy])
        .status()?;
    match copied.success() {
        true => Ok(copy),
        false => Err(io::Error::other(format!(
            "cannot copy {}",
            programs.display()
        ))),
    }
}

/// Where `initdb` and `pg_ctl` are. Debian keeps them off the path.
fn find_binaries() -> io::Result<PathBuf> {
    let mut directories: Vec<PathBuf> = Vec::new();
    if let Ok(output) = Command::new("pg_config").arg("--bindir").output() {
        directories.push(text(&output).into());
    }
    if let Ok(versions) = fs::read_dir("/usr/lib/postgresql") {
        let mut versions: Vec<PathBuf> = versions
            .filter_map(|version| Some(version.ok()?.path()))
            .collect();
        versions.sort();
        directories.extend(versions.iter().rev().map(|version| version.join("bin")));
    }
    if let Some(path) = env::var_os("PATH") {
        directories.extend(env::split_paths(&path));
    }
    directories
        .into_iter()
        .find(|directory| directory.join("initdb").exists() && directory.join("pg_ctl").exists())
        .ok_or_else(|| {
            let why = "initdb and pg_ctl were not found; on Debian, install `postgresql`";
            io::Error::new(io::ErrorKind::NotFound, why)
        })
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
