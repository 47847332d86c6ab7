//! The dashboard in a browser, where there is one.

use std::{
    env,
    process::{Command, Stdio},
};

/// Opens a URL. Without a browser nothing happens: the URL is on the terminal, too.
pub fn open(url: &str) {
    let Some(mut command) = opener() else {
        return;
    };
    command.arg(url).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        // Waited for elsewhere, because some openers run for as long as the browser does.
        Ok(mut child) => drop(std::thread::spawn(move || child.wait())),
        Err(error) => eprintln!("steadfast: cannot open a browser: {error}"),
    }
}

/// The program that opens URLs: `BROWSER` where it is set, or that of the desktop.
fn opener() -> Option<Command> {
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    if is_set("BROWSER") {
        return env::var_os("BROWSER").map(Command::new);
    }
    if cfg!(target_os = "macos") {
        return Some(Command::new("open"));
    }
    let has_desktop = is_set("DISPLAY") || is_set("WAYLAND_DISPLAY");
    has_desktop.then(|| Command::new("xdg-open"))
}
