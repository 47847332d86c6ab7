//! The container image, put together without a daemon: one layer with the program, its user and
//! its volume, and nothing else. There is no shell in it, and no package that could be out of date.
//! Root certificates and time zones are in the program.
//!
//! The file is an OCI layout, and has the index that older versions of `docker load` look for.

use std::time::{Duration, UNIX_EPOCH};

use super::archive::{Entry, gzip, hex, sha256, tar, with_directories};
use super::release::{Package, Release};

/// A user without a name on the host, as other images without a shell use it.
const USER: u32 = 65_532;

/// The image of one target.
pub fn build(release: &Release) -> Result<Package, String> {
    let image = Image::new(release)?;
    let for_docker = format!(
        r#"[{{"Config":"{}","RepoTags":["steadfast:{}"],"Layers":["{}"]}}]"#,
        image.config.path(),
        release.version,
        image.layer.path()
    );
    let names = format!("{},{}", image.platform(), annotations(release));
    let index = index(&image.manifest.descriptor(&names));
    let mut entries = layout(index);
    entries.push(Entry::file("manifest.json", for_docker));
    entries.extend(image.blobs());
    let name = format!("-{}", release.target.container);
    pack(release, &name, &entries)
}

/// One image for all targets: a registry hands out the one that fits.
pub fn build_index(releases: &[Release]) -> Result<Package, String> {
    let release = releases.first().ok_or("there is no target")?;
    let images: Result<Vec<Image>, String> = releases.iter().map(Image::new).collect();
    let images = images?;
    let manifests = images.iter();
    let manifests: Vec<String> = manifests
        .map(|image| image.manifest.descriptor(&image.platform()))
        .collect();
    let inner = Blob::new(INDEX, index(&manifests.join(",")));
    let names = format!(",{}", annotations(release));
    let mut entries = layout(index(&inner.descriptor(&names)));
    entries.push(Entry::file(&inner.path(), inner.bytes));
    entries.extend(images.into_iter().flat_map(Image::blobs));
    pack(release, "", &entries)
}

/// The parts of the image of one target.
struct Image {
    architecture: &'static str,
    manifest: Blob,
    config: Blob,
    layer: Blob,
}

impl Image {
    fn new(release: &Release) -> Result<Image, String> {
        let layer_tar = tar(&files(release)?, "", release.epoch)?;
        let layer = gzip(&layer_tar, release.compression)?;
        let config = config(release, &hex(&sha256(&layer_tar)));
        let layer = Blob::new("application/vnd.oci.image.layer.v1.tar+gzip", layer);
        let config = Blob::new("application/vnd.oci.image.config.v1+json", config);
        let manifest = format!(
            r#"{{"schemaVersion":2,"mediaType":"{MANIFEST}","config":{},"layers":[{}]}}"#,
            config.descriptor(""),
            layer.descriptor("")
        );
        Ok(Image {
            architecture: release.target.container,
            manifest: Blob::new(MANIFEST, manifest),
            config,
            layer,
        })
    }

    fn platform(&self) -> String {
        let architecture = self.architecture;
        format!(r#","platform":{{"architecture":"{architecture}","os":"linux"}}"#)
    }

    fn blobs(self) -> impl Iterator<Item = Entry> {
        let blobs = [self.manifest, self.config, self.layer].into_iter();
        blobs.map(|blob| Entry::file(&blob.path(), blob.bytes))
    }
}

fn index(manifests: &str) -> String {
    format!(r#"{{"schemaVersion":2,"mediaType":"{INDEX}","manifests":[{manifests}]}}"#)
}

fn annotations(release: &Release) -> String {
    format!(
        r#""annotations":{{"io.containerd.image.name":"docker.io/library/steadfast:{version}","org.opencontainers.image.ref.name":"{version}"}}"#,
        version = release.version
    )
}

/// What an OCI layout begins with.
fn layout(index: String) -> Vec<Entry> {
    vec![
        Entry::file("oci-layout", r#"{"imageLayoutVersion":"1.0.0"}"#),
        Entry::file("index.json", index),
        Entry::directory("blobs"),
        Entry::directory("blobs/sha256"),
    ]
}

fn pack(release: &Release, name: &str, entries: &[Entry]) -> Result<Package, String> {
    Ok(Package {
        name: format!("steadfast-{}-image{name}.tar", release.version),
        bytes: tar(entries, "", release.epoch)?,
    })
}

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
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
    let created = UNIX_EPOCH + Duration::from_secs(release.epoch);
    let created = humantime::format_rfc3339_seconds(created);
    format!(
        r#"{{"architecture":"{}","os":"linux","created":"{created}","config":{{"User":"{USER}:{USER}","ExposedPorts":{{"7373/tcp":{{}}}},"Env":["PATH=/usr/local/bin","STEADFAST_LISTEN=0.0.0.0:7373","STEADFAST_PRINT_FIRST_KEY=true"],"Entrypoint":["steadfast"],"Cmd":["serve"],"Volumes":{{"/data":{{}}}},"WorkingDir":"/data","StopSignal":"SIGTERM","Labels":{{"org.opencontainers.image.title":"steadfast","org.opencontainers.image.version":"{}","org.opencontainers.image.licenses":"MIT OR Apache-2.0","org.opencontainers.image.source":"{}"}}}},"rootfs":{{"type":"layers","diff_ids":["sha256:{layer_sum}"]}},"history":[{{"created":"{created}","created_by":"cargo xtask dist"}}]}}"#,
        release.target.container, release.version, release.repository
    )
}

struct Blob {
    media: &'static str,
    sum: String,
    bytes: Vec<u8>,
}

impl Blob {
    fn new(media: &'static str, bytes: impl Into<Vec<u8>>) -> Blob {
        let bytes = bytes.into();
        let sum = hex(&sha256(&bytes));
        Blob { media, sum, bytes }
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
