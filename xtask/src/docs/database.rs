//! A PostgreSQL for one page, from the programs of the system: it listens on a free port of this
//! machine, trusts all who connect there, has an empty database, and is gone at the end.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use crate::process::succeeds;

/// The database that pages name.
pub const NAME: &str = "jobs";

/// Debian keeps the server's programs off the path, and the server refuses to be root.
/// Parameters: what to run, and its arguments.
const AS_ITS_USER: &str = r#"
initdb=$(command -v initdb || ls /usr/lib/postgresql/*/bin/initdb | tail -1)
program=$(dirname "$initdb")/$0
if [ "$(id -u)" = 0 ]; then
    exec setpriv --reuid=postgres --regid=postgres --clear-groups --pdeathsig=QUIT "$program" "$@"
fi
exec "$program" "$@"
"#;

pub struct Database {
    child: Child,
    directory: PathBuf,
}

impl Database {
    pub fn start(directory: &Path, port: &str) -> Result<Database, String> {
        let directory = directory.join("postgres");
        let failed = |error| format!("{}: {error}", directory.display());
        fs::create_dir(&directory).map_err(failed)?;
        let place = directory.to_string_lossy().into_owned();
        // Only root has to give it away.
        let _ = Command::new("chown").args(["postgres:", &place]).output();
        let data = format!("--pgdata={place}/data");
        let made = program("initdb", &directory)
            .args([&data, "--username=postgres", "--auth=trust", "--no-sync"])
            .args(["--encoding=UTF8", "--locale=C"])
            .output()
            .map_err(failed)?;
        if !made.status.success() {
            let said = String::from_utf8_lossy(&made.stderr);
            return Err(format!("PostgreSQL cannot be set up: {said}"));
        }
        let mut child = program("postgres", &directory)
            .args(["-D", &format!("{place}/data"), "-k", &place, "-p", port])
            .args(["-h", "127.0.0.1", "-c", "fsync=off"])
            .spawn()
            .map_err(failed)?;
        let log = child.stderr.take().ok_or("no log")?;
        let database = Database { child, directory };
        let mut lines = BufReader::new(log).lines().map_while(Result::ok);
        if !lines.any(|line| line.contains("ready to accept connections")) {
            return Err("PostgreSQL does not start".to_owned());
        }
        // It would stop at a full pipe.
        thread::spawn(move || lines.for_each(drop));
        let address = format!("postgres://postgres@127.0.0.1:{port}/postgres");
        let create = format!("CREATE DATABASE {NAME}");
        let args = ["--no-psqlrc", "--quiet", "--command", &create, &address];
        if succeeds("psql", &args) {
            Ok(database)
        } else {
            Err("PostgreSQL does not answer".to_owned())
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // Its processes end by themselves when the first one is gone.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

fn program(name: &str, directory: &Path) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", AS_ITS_USER, name])
        .current_dir(directory)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}
