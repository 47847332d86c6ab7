//! PgBouncer in front of the shared server, lending connections for one transaction at a time.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    sync::OnceLock,
};

use super::{RECOVERY_POLL_EVERY, Server, User, command, copy_into};

/// Few connections to the server, so that clients really share them.
const SETTINGS: &str = "[databases]
* = host=DIRECTORY user=postgres
[pgbouncer]
pool_mode = transaction
max_prepared_statements = 200
default_pool_size = 6
max_client_conn = 1000
auth_type = any
listen_port = 6432
unix_socket_dir = DIRECTORY
";

/// Runs the pooler until the pipe ends. Parameters: its folder, its settings.
const WATCH: &str = r#""$0/run" -q "$1" & cat > /dev/null; kill -INT $!"#;

/// A running pooler. It stops with the process, or when this is dropped.
#[derive(Debug)]
pub struct Pooler {
    directory: PathBuf,
    watcher: Child,
}

impl Pooler {
    /// The pooler of this process in front of [`Server::shared`], started when it is first asked for.
    ///
    /// # Panics
    ///
    /// If it cannot be started: a test that needs it has failed.
    #[expect(clippy::panic, reason = "a test that cannot go on has failed")]
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Pooler> = OnceLock::new();
        SHARED.get_or_init(|| match Self::start(Server::shared()) {
            Ok(pooler) => pooler,
            Err(error) => panic!("cannot start PgBouncer: {error}"),
        })
    }

    /// Starts a pooler in front of a server.
    pub fn start(server: &Server) -> io::Result<Self> {
        let directory = server.directory.join("pooler");
        fs::create_dir(&directory)?;
        // The user that it runs as may not be able to read where it was installed.
        let program = copy_into(&directory, &find_program()?)?;
        let host = server.directory.display().to_string();
        let settings = SETTINGS.replace("host=DIRECTORY", &format!("host={host}"));
        let settings = settings.replace("DIRECTORY", &directory.display().to_string());
        let file = directory.join("pgbouncer.ini");
        fs::write(&file, settings)?;
        let log = fs::File::create(directory.join("log"))?;
        if let Some(User { uid, gid }) = server.user {
            // It runs there, and its files are removed by that user.
            let owner = format!("{uid}:{gid}");
            let changed = command(Path::new("chown"), None, &directory)
                .args(["-R", &owner])
                .arg(&directory)
                .status()?;
            if !changed.success() {
                return Err(io::Error::other("cannot give PgBouncer its files"));
            }
        }
        let watcher = command(Path::new("sh"), server.user, &directory)
            .args(["-c", WATCH])
            .args([&program, &file])
            .stdin(Stdio::piped())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        let mut pooler = Self { directory, watcher };
        pooler.wait()?;
        Ok(pooler)
    }

    fn wait(&mut self) -> io::Result<()> {
        while !self.directory.join(".s.PGSQL.6432").exists() {
            if self.watcher.try_wait()?.is_some() {
                let log = fs::read_to_string(self.directory.join("log"))?;
                return Err(io::Error::other(log));
            }
            std::thread::park_timeout(RECOVERY_POLL_EVERY);
        }
        Ok(())
    }

    /// The directory of its socket.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// An address for [`PostgresStore::open`](crate::PostgresStore::open).
    pub fn url(&self) -> String {
        let host = self.directory.display();
        format!("host={host} port=6432 user=postgres dbname=postgres")
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        drop(self.watcher.stdin.take());
        if let Err(error) = self.watcher.wait() {
            tracing::warn!(%error, "cannot wait for PgBouncer to stop");
        }
    }
}

/// The folder into which `cargo xtask test` has installed it; the packages of some systems are too old.
fn find_program() -> io::Result<PathBuf> {
    let folders = env::current_exe()?;
    let mut folders = folders.ancestors().map(|folder| folder.join("pgbouncer"));
    let installed = folders.find(|folder| folder.join("run").is_file());
    installed.ok_or_else(|| {
        let why = "PgBouncer was not found; `cargo xtask test` installs it into `target`";
        io::Error::new(io::ErrorKind::NotFound, why)
    })
}
