//! Files that other users of the machine should not be able to read.

use std::path::Path;

use super::Findings;
use crate::settings::Settings;

/// Payloads, headers and secrets are stored as they are, unless the store is encrypted.
pub fn check_store_file(path: &Path, findings: &mut Findings) {
    match mode(path) {
        None => {}
        Some(mode) if mode & 0o077 == 0 => {
            findings.ok("access", "only the owner of the file can read it");
        }
        Some(mode) => findings.warn(
            "access",
            format!(
                "other users can read the file (mode {mode:o}), which contains payloads and secrets: chmod 600 {}",
                path.display()
            ),
        ),
    }
}

/// A group may read them, because a node is often given its secrets through one.
pub fn check_secret_files(settings: &Settings, findings: &mut Findings) {
    let files = [
        (&settings.encryption_key_file, "the encryption keys"),
        (&settings.tls.key, "the private key of the TLS certificate"),
        (&settings.oidc.client_secret_file, "the secret for sign-in"),
    ];
    for (path, contents) in files {
        let Some(path) = path else { continue };
        if let Some(sentence) = exposed_file(path, contents) {
            findings.warn("access", sentence);
        }
    }
}

/// A warning if every user of the machine may read a file.
pub fn exposed_file(path: &Path, contents: &str) -> Option<String> {
    let mode = mode(path).filter(|mode| mode & 0o007 != 0)?;
    let path = path.display();
    Some(format!(
        "other users can read {path} (mode {mode:o}), which contains {contents}: chmod 600 {path}"
    ))
}

/// What its owner, its group and all others may do; `None` if there is no such file.
#[cfg(unix)]
fn mode(path: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt as _;
    let metadata = std::fs::metadata(path).ok()?;
    Some(metadata.permissions().mode() & 0o777)
}

#[cfg(not(unix))]
fn mode(_: &Path) -> Option<u32> {
    None
}
