//! A small disk that fills up.
//!
//! A file system in memory, mounted in a namespace that only its holder and processes that join it
//! can see. That needs no root if users may create namespaces; if not, there is no such disk.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use tempfile::TempDir;

use crate::{
    node::{FILE as STORE, Node, serve},
    process::wrapped,
};

pub struct Disk {
    /// Holds the mount until its input is closed.
    holder: Child,
    place: TempDir,
}

/// Parameters: where, how many bytes.
const MOUNT: &str = r#"mount -t tmpfs -o size="$1" tmpfs "$0" && echo mounted && exec cat"#;

impl Disk {
    /// `None` if this machine allows no mount.
    pub fn mount(bytes: usize) -> Option<Self> {
        let place = tempfile::tempdir().unwrap();
        let mut holder = Command::new("unshare")
            .args(["--map-root-user", "--mount", "sh", "-c", MOUNT])
            .arg(place.path())
            .arg(bytes.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let line = BufReader::new(holder.stdout.take().unwrap()).lines().next();
        let disk = Self { holder, place };
        line.is_some_and(|line| line.unwrap() == "mounted")
            .then_some(disk)
    }

    /// A node whose store is on this disk.
    pub fn node(&self) -> Node {
        let mut join = Command::new("nsenter");
        join.args(["--user", "--mount", "--preserve-credentials", "--target"])
            .arg(self.holder.id().to_string())
            .args(["sh", "-c", r#"cd "$0" && exec "$@""#])
            .arg(self.place.path())
            .arg(env!("CARGO_BIN_EXE_steadfast"));
        Node::run(wrapped(join, &serve(STORE), Path::new("/")))
    }

    /// A file on it that takes up room.
    pub fn ballast(&self, bytes: usize) -> PathBuf {
        let inside = self.place.path().strip_prefix("/").unwrap();
        let root = PathBuf::from(format!("/proc/{}/root", self.holder.id()));
        let path = root.join(inside).join("ballast");
        fs::write(&path, vec![0; bytes]).unwrap();
        path
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        drop(self.holder.stdin.take());
        let _gone = self.holder.wait();
    }
}
