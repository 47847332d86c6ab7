//! The container image, put together without a daemon: one layer with the program, its user and
//! its volume, and nothing else. There is no shell in it, and no package that could be out of date.
//! Root certificates and time zones are in the program.
//!
//! The file is an OCI layout, and has the index that older versions of `docker load` look for.

use super::archive::{Entry, gzip, sha256, tar, with_directories};
use super::release::{Package, Release};

/// A user without a name on the host, as other images without a shell use it.
const USER: u32 = 65_532;

pub fn build(release: &Release) -> Result<Package, String> {
    let layer_tar = tar(&files(release)?, "", release.epoch)?;
    let layer = gzip(&layer_tar, release.compression)?;
    let config = config(release, &sha256(&layer_tar)?);
    let layer = Blob::new("application/vnd.oci.image.layer.v1.tar+gzip", layer)?;
    let config = Blob::new("application/vnd.oci.image.config.v1+json", config)?;
    let manifest = format!(
        r#"{{"schemaVersion":2,"mediaType":"{MANIFEST}","config":{},"layers":[{}]}}"#,
        config.descriptor(""),
        layer.descriptor("")
    );
    let manifest = Blob::new(MANIFEST, manifest)?;
    let names = format!(
        r#","platform":{{"architecture":"{}","os":"linux"}},"annotations":{{"io.containerd.image.name":"docker.io/library/steadfast:{version}","org.opencontainers.image.ref.name":"{version}"}}"#,
        release.target.container,
        version = release.version
    );
    let index = format!(
        r#"{{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[{}]}}"#,
        manifest.descriptor(&names)
    );
    let for_docker = format!(
        r#"[{{"Config":"{}","RepoTags":["steadfast:{}"],"Layers":["{}"]}}]"#,
        config.path(),
        release.version,
        layer.path()
    );
    let mut entries = vec![
        Entry::file("oci-layout", r#"{"imageLayoutVersion":"1.0.0"}"#),
        Entry::file("index.json", index),
        Entry::file("manifest.json", for_docker),
        Entry::directory("blobs"),
        Entry::directory("blobs/sha256"),
    ];
    for blob in [manifest, config, layer] {
        entries.push(Entry::file(&blob.path(), blob.bytes));
    }
    Ok(Package {
        name: format!(
            "steadfast-{}-image-{}.tar",
            release.version, release.target.container
        ),
        bytes: tar(&entries, "", release.epoch)?,
    })
}

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// A volume that is mounted for the first time has the owner of the directory below it.
fn files(release: &Release) -> Result<Vec<Entry>, String> {
    let passwd =
        format!("root:x:0:0:root:/:/none\nsteadfast:x:{USER}:{USER}:steadfast:/data:/none\n");
    let group = format!("root:x:0:\nsteadfast:x:{USER}:\n");
    let files = [
        Entry::file("etc/group", group),
        Entry::file("etc/passwd", passwd),
        Entry::program("usr/local/bin/steadfast", release.binary.clone()),
        Entry::file(
            "usr/share/doc/steadfast/LICENSE-APACHE",
            release.text("LICENSE-APACHE")?,
        ),
        Entry::file(
            "usr/share/doc/steadfast/LICENSE-MIT",
            release.text("LICENSE-MIT")?,
        ),
    ];
    let mut entries = with_directories(&files);
    entries.retain(|entry| !entry.path.is_empty());
    entries.push(Entry::directory("data").with_mode(0o700).with_owner(USER));
    entries.push(Entry::directory("tmp").with_mode(0o1777));
    Ok(entries)
}

fn config(release: &Release, layer_sum: &str) -> String {
    let created = utc(release.epoch);
    format!(
        r#"{{"architecture":"{}","os":"linux","created":"{created}","config":{{"User":"{USER}:{USER}","ExposedPorts":{{"7373/tcp":{{}}}},"Env":["PATH=/usr/local/bin","STEADFAST_LISTEN=0.0.0.0:7373","STEADFAST_PRINT_FIRST_KEY=true"],"Entrypoint":["steadfast"],"Cmd":["serve"],"Volumes":{{"/data":{{}}}},"WorkingDir":"/data","StopSignal":"SIGTERM","Labels":{{"org.opencontainers.image.title":"steadfast","org.opencontainers.image.version":"{}","org.opencontainers.image.licenses":"MIT OR Apache-2.0"}}}},"rootfs":{{"type":"layers","diff_ids":["sha256:{layer_sum}"]}},"history":[{{"created":"{created}","created_by":"cargo xtask dist"}}]}}"#,
        release.target.container, release.version
    )
}

struct Blob {
    media: &'static str,
    sum: String,
    bytes: Vec<u8>,
}

impl Blob {
    fn new(media: &'static str, bytes: impl Into<Vec<u8>>) -> Result<Blob, String> {
        let bytes = bytes.into();
        let sum = sha256(&bytes)?;
        Ok(Blob { media, sum, bytes })
    }

    fn path(&self) -> String {
        format!("blobs/sha256/{}", self.sum)
    }

    fn descriptor(&self, more: &str) -> String {
        format!(
            r#"{{"mediaType":"{}","digest":"sha256:{}","size":{}{more}}}"#,
            self.media,
            self.sum,
            self.bytes.len()
        )
    }
}

const DAY: u64 = 86_400;

/// A time as the image format writes it, after the algorithm of Howard Hinnant for civil days.
fn utc(epoch: u64) -> String {
    let (days, second) = (epoch / DAY + 719_468, epoch % DAY);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute) = (second / 3_600, second / 60 % 60);
    format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}Z",
        second % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_the_format_wants_them() {
        for (epoch, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_794_816_885, "2026-11-16T08:14:45Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
        ] {
            assert_eq!(utc(epoch), expected);
        }
    }
}
