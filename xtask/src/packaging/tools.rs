//! Tools from PyPI, in an environment of their own that is made once.

use std::fs;
use std::path::{Path, PathBuf};

use crate::process::{self, succeeds};

/// Python with these packages.
pub fn environment(root: &Path, packages: &[&str]) -> Result<PathBuf, String> {
    let version = packages.join("-").replace("==", "-");
    let place = process::target_directory(root).join(version);
    let done = place.join("complete");
    if done.exists() {
        return Ok(place);
    }
    println!(
        "   installing {} into {}",
        packages.join(", "),
        place.display()
    );
    let (place_text, pip) = (place.to_string_lossy(), place.join("bin/pip"));
    let mut install = vec!["install", "--quiet", "--no-compile"];
    install.extend(packages);
    let is_made = succeeds("python3", &["-m", "venv", "--clear", &place_text])
        && succeeds(&pip.to_string_lossy(), &install)
        && fs::write(&done, "").is_ok();
    if is_made {
        Ok(place)
    } else {
        Err(format!(
            "cannot install {tools}; see why with: python3 -m venv --clear {place_text} && {} install {tools}",
            pip.display(),
            tools = packages.join(" ")
        ))
    }
}
