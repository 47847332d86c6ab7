//! `steadfast top`: in a terminal, which `script` of util-linux makes, and without one.

use std::{
    io::{Read as _, Write as _},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    time::{Duration, Instant},
};

use crate::node::{Node, dir, run};

const DEADLINE: Duration = Duration::from_secs(30);

/// A terminal of 24 lines and 80 columns in which `top` runs.
struct Terminal {
    child: Child,
    keys: ChildStdin,
    chunks: Receiver<Vec<u8>>,
    /// What was written since the text that the test waited for last.
    written: Vec<u8>,
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended already.
        let _result = self.child.kill();
        let _result = self.child.wait();
    }
}

impl Terminal {
    fn start(node: &Node) -> Self {
        let binary = env!("CARGO_BIN_EXE_steadfast");
        let shell = format!(
            "tty; stty rows 24 cols 80; sh -c 'echo pid $$; exec {binary} top --every 500ms'; \
             echo exit $?; stty -a"
        );
        let mut command = Command::new("script");
        command.args(["--quiet", "--command", &shell, "/dev/null"]);
        command.current_dir(node.dir.path());
        command.env("STEADFAST_URL", &node.url).env("NO_COLOR", "1");
        command.env("XDG_CONFIG_HOME", node.dir.path().join("config"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (keys, mut out) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, chunks) = channel();
        std::thread::spawn(move || {
            let mut chunk = [0; 4_096];
            while let Ok(length @ 1..) = out.read(&mut chunk) {
                if sender.send(chunk[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            keys,
            chunks,
            written: Vec::new(),
        }
    }

    /// Waits until a text was written, and returns what stood before it.
    fn until(&mut self, text: &str) -> String {
        let begun = Instant::now();
        loop {
            let written = String::from_utf8_lossy(&self.written).into_owned();
            if let Some((before, after)) = written.split_once(text) {
                self.written = after.as_bytes().to_vec();
                return before.to_owned();
            }
            // The screen is drawn again and again: the whole wait has an end.
            match self
                .chunks
                .recv_timeout(DEADLINE.saturating_sub(begun.elapsed()))
            {
                Ok(chunk) => self.written.extend(chunk),
                Err(_) => panic!("{text:?} is not on the screen: {written:?}"),
            }
        }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Waits for the end of `top`, and checks that the terminal is as it was.
    fn check_restored(&mut self, code: &str) {
        let screen = self.until(&format!("exit {code}"));
        assert!(
            screen.contains("\x1b[?1049l"),
            "the screen is left: {screen:?}"
        );
        assert!(
            screen.contains("\x1b[?25h"),
            "the cursor is shown: {screen:?}"
        );
        let settings = self.until("iexten");
        for setting in ["icanon", "isig"] {
            assert!(
                settings.split_whitespace().any(|it| it == setting),
                "{settings}"
            );
        }
    }
}

const DOWN: &str = "\x1b[B";
const UP: &str = "\x1b[A";

#[test]
fn keys_pause_a_queue_and_release_a_destination_after_a_question() {
    let node = Node::start(&["--listen", "127.0.0.1:0"]);
    node.json(&["jobs", "create", "--kind", "import", "--queue", "mail"]);
    node.json(&["destinations", "hold", "http://127.0.0.1:1"]);
    let is_paused = || node.json(&["queues", "list"])["queues"][0]["paused"] == true;
    let mut terminal = Terminal::start(&node);
    let tty = terminal.until("pid");
    let tty = tty.lines().next().unwrap().trim().to_owned();
    terminal.until("\x1b[?1049h");
    terminal.until("q quit");

    terminal.press("p");
    terminal.until("select a queue first");
    terminal.press(DOWN);
    terminal.until("› mail");
    terminal.press("p");
    terminal.until("Pause queue mail of default?");
    terminal.press("n");
    terminal.until("nothing was changed");
    assert!(!is_paused());
    terminal.press("py");
    terminal.until("queue mail is paused");
    terminal.until("› mail                 paused");
    assert!(is_paused());
    terminal.press("p");
    terminal.until("Resume queue mail");
    terminal.press("y");
    terminal.until("queue mail is resumed");

    terminal.press(&format!("{DOWN}{UP}{DOWN}r"));
    terminal.until("Release http://127.0.0.1:1 for all tenants?");
    terminal.press("y");
    terminal.until("http://127.0.0.1:1 is released");

    // The message is gone before the size changes, so that the last line is drawn as a whole.
    terminal.press(UP);
    terminal.until("›");
    let small = ["-F", &tty, "rows", "10", "cols", "40"];
    assert!(Command::new("stty").args(small).status().unwrap().success());
    terminal.until("q quit  ↑↓ select  p pause or resume a …");
    terminal.press("q");
    terminal.check_restored("0");
}

#[test]
fn a_server_that_goes_away_is_named_and_a_signal_gives_the_terminal_back() {
    let node = Node::start(&["--listen", "127.0.0.1:0"]);
    node.json(&["jobs", "create", "--kind", "import", "--queue", "mail"]);
    let mut terminal = Terminal::start(&node);
    terminal.until("pid ");
    let pid = terminal.until("\r\n");
    terminal.until("mail");
    assert!(node.stop());
    terminal.until("old: cannot reach http://127.0.0.1");
    terminal.until("mail");
    let killed = Command::new("kill")
        .args(["-s", "TERM", pid.trim()])
        .status();
    assert!(killed.unwrap().success());
    terminal.check_restored("0");
}

#[test]
fn without_a_terminal_one_snapshot_is_printed() {
    let node = Node::start(&["--listen", "127.0.0.1:0"]);
    let empty = node.run(&["top"]);
    assert!(empty.out.contains("no queues yet"), "{empty:?}");
    node.json(&["jobs", "create", "--kind", "import", "--queue", "mail"]);
    let printed = node.run(&["top"]);
    assert_eq!(printed.code, 0, "{printed:?}");
    assert!(!printed.out.contains('\x1b'), "{printed:?}");
    assert!(printed.out.contains("nodes     1 alive"), "{printed:?}");
    assert!(
        printed.out.contains("  mail                 open"),
        "{printed:?}"
    );
    let json = node.json(&["top"]);
    assert_eq!(json["queues"][0]["ready"], 1, "{json:#}");
    assert_eq!(json["nodes"][0]["alive"], true, "{json:#}");

    let impatient = node.run(&["top", "--every", "1ms"]);
    assert_eq!(impatient.code, 2, "{impatient:?}");
    assert!(
        impatient.err.contains("must be from 500ms to 1h"),
        "{impatient:?}"
    );
    let away = run(&["top", "--url", "http://127.0.0.1:1"], &dir());
    assert_eq!(away.code, 3, "{away:?}");
}
