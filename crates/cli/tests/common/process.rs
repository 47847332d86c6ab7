//! The real binary as a process: with a clean environment, and stopped with the test.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
};

/// A command without the variables of the environment in which the tests run.
pub fn steadfast(args: &[&str], dir: &Path) -> Command {
    wrapped(Command::new(env!("CARGO_BIN_EXE_steadfast")), args, dir)
}

/// The same for a program that starts the binary in its turn.
pub fn wrapped(mut command: Command, args: &[&str], dir: &Path) -> Command {
    command.args(args).current_dir(dir).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("STEADFAST_")) {
        command.env_remove(name);
    }
    // The contexts of the person who runs the tests are not those of the test.
    command.env("XDG_CONFIG_HOME", dir.join("config"));
    command
}

/// A node that is killed when the test is over.
pub struct Process {
    pub child: Child,
    /// Where it listens.
    pub address: String,
    /// What it printed until it was ready, the last line included.
    pub welcome: String,
}

impl Process {
    /// Reads until the last line of the welcome; every line of the log after it goes to `on_line`.
    pub fn start(mut command: Command, mut on_line: impl FnMut(String) + Send + 'static) -> Self {
        // A full pipe without a reader would stop the node.
        let child = command.stderr(Stdio::inherit()).spawn().unwrap();
        let mut process = Self {
            child,
            address: String::new(),
            welcome: String::new(),
        };
        let mut lines = BufReader::new(process.child.stdout.take().unwrap()).lines();
        for line in lines.by_ref() {
            let line = line.unwrap();
            let url = line.split_once("http://");
            let url = url.or_else(|| line.split_once("https://"));
            if let (true, Some((_, rest))) = (process.address.is_empty(), url) {
                let end = rest.find(|c: char| !c.is_ascii_digit() && !".:".contains(c));
                rest[..end.unwrap_or(rest.len())].clone_into(&mut process.address);
            }
            process.welcome.push_str(&line);
            process.welcome.push('\n');
            if line.contains("Ctrl-C") || line.starts_with('{') {
                std::thread::spawn(move || {
                    lines.map_while(Result::ok).for_each(&mut on_line);
                });
                return process;
            }
        }
        panic!("the node did not print its address: {}", process.welcome);
    }

    /// Sends a signal, by its name without SIG.
    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status();
        assert!(sent.unwrap().success());
    }

    /// How it ended, when it has.
    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _result = self.child.kill();
        let _result = self.child.wait();
    }
}
