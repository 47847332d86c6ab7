//! The packages of one release. Each is a function from the release to bytes; nothing is asked of
//! the machine, so that two runs write the same.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as URL_SAFE_NO_PAD;

use super::archive::{Compression, Entry, ar, gzip, hex, sha256, tar, with_directories, zip};
use super::image;
use super::release::{Package, Release, Target};

const LICENSES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];
const EXAMPLE: &str = "steadfast.example.toml";
const UNIT: &str = "packaging/systemd/steadfast.service";
const USERS: &str = "packaging/systemd/steadfast.sysusers";
const ABOUT: &str = "packaging/package.md";

/// All of them, of one version for some targets. Those that name archives come after them.
pub fn all(releases: &[Release]) -> Result<Vec<Package>, String> {
    let first = releases.first().ok_or("there is no target")?;
    let (mut archives, mut packages) = (Vec::new(), Vec::new());
    for release in releases {
        archives.push((release.target, archive(release)?));
        packages.extend([
            debian(release)?,
            image::build(release)?,
            wheel(release)?,
            npm(release)?,
        ]);
    }
    if releases.len() > 1 {
        packages.push(image::build_index(releases)?);
    }
    packages.push(chart(first)?);
    if let Some(url) = &first.url {
        packages.push(tap(first, url, &archives)?);
        packages.push(script(first, url)?);
    }
    packages.extend(archives.into_iter().map(|(_, archive)| archive));
    packages.push(sums(&packages));
    Ok(packages)
}

/// The program with its licences, settings and unit: unpack it anywhere.
fn archive(release: &Release) -> Result<Package, String> {
    let name = format!("steadfast-{}-{}", release.version, release.target.triple);
    let mut entries = vec![
        Entry::directory(""),
        Entry::program("steadfast", release.binary.clone()),
        Entry::file(EXAMPLE, release.text(EXAMPLE)?),
        Entry::file("steadfast.service", release.text(UNIT)?),
        Entry::file("README.md", release.text(ABOUT)?),
    ];
    entries.extend(licenses(release, "")?);
    let manual = &release.manual;
    for (path, script) in [
        ("completions/steadfast.bash", &manual.bash),
        ("completions/_steadfast", &manual.zsh),
        ("completions/steadfast.fish", &manual.fish),
    ] {
        entries.push(Entry::file(path, script.clone()));
    }
    let pages = manual.pages.iter();
    entries.extend(pages.map(|(name, page)| Entry::file(&format!("man/{name}"), page.clone())));
    let tar = tar(&entries, &format!("{name}/"), release.epoch)?;
    Ok(Package {
        name: format!("{name}.tar.gz"),
        bytes: gzip(&tar, release.compression)?,
    })
}

fn licenses(release: &Release, directory: &str) -> Result<Vec<Entry>, String> {
    LICENSES
        .iter()
        .map(|name| {
            Ok(Entry::file(
                &format!("{directory}{name}"),
                release.text(name)?,
            ))
        })
        .collect()
}

/// For Debian, Ubuntu and what comes from them.
fn debian(release: &Release) -> Result<Package, String> {
    let settings = release.text("packaging/debian/steadfast.toml")?;
    let docs = "usr/share/doc/steadfast";
    let mut files = vec![
        Entry::file("etc/steadfast/steadfast.toml", settings),
        Entry::program("usr/bin/steadfast", release.binary.clone()),
        Entry::file(
            "usr/lib/systemd/system/steadfast.service",
            release.text(UNIT)?,
        ),
        Entry::file("usr/lib/sysusers.d/steadfast.conf", release.text(USERS)?),
        Entry::file(
            &format!("{docs}/copyright"),
            release.text("packaging/debian/copyright")?,
        ),
        Entry::file(&format!("{docs}/{EXAMPLE}"), release.text(EXAMPLE)?),
    ];
    files.extend(debian_manual(release)?);
    let size: usize = files.iter().map(|file| file.content.len()).sum();
    let values = [
        ("version", release.version.as_str()),
        ("architecture", release.target.debian),
        ("repository", &release.repository),
        ("kilobytes", &size.div_ceil(1024).to_string()),
    ];
    let mut control = vec![
        Entry::directory(""),
        Entry::file(
            "control",
            release.template("packaging/debian/control", &values)?,
        ),
        Entry::file("conffiles", "/etc/steadfast/steadfast.toml\n"),
    ];
    for script in ["postinst", "prerm", "postrm"] {
        let text = release.text(&format!("packaging/debian/{script}"))?;
        control.push(Entry::program(script, text));
    }
    let pack = |entries: &[Entry]| gzip(&tar(entries, "./", release.epoch)?, release.compression);
    let members = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", pack(&control)?),
        ("data.tar.gz", pack(&with_directories(&files))?),
    ];
    Ok(Package {
        name: format!(
            "steadfast_{}_{}.deb",
            release.version, release.target.debian
        ),
        bytes: ar(&members, release.epoch),
    })
}

/// Completions and man pages, where Debian looks for them.
fn debian_manual(release: &Release) -> Result<Vec<Entry>, String> {
    let manual = &release.manual;
    let scripts = [
        ("bash-completion/completions/steadfast", &manual.bash),
        ("zsh/vendor-completions/_steadfast", &manual.zsh),
        ("fish/vendor_completions.d/steadfast.fish", &manual.fish),
    ];
    let scripts = scripts.into_iter();
    let mut files: Vec<Entry> = scripts
        .map(|(path, script)| Entry::file(&format!("usr/share/{path}"), script.clone()))
        .collect();
    for (name, page) in &manual.pages {
        let packed = gzip(page, Compression::Best)?;
        files.push(Entry::file(
            &format!("usr/share/man/man1/{name}.gz"),
            packed,
        ));
    }
    Ok(files)
}

/// pip puts the program into the `bin` of its environment as it is: no Python runs before it.
fn wheel(release: &Release) -> Result<Package, String> {
    let version = python_version(&release.version);
    let tag = format!("py3-none-{}", release.target.wheel);
    let info = format!("steadfast-{version}.dist-info");
    let tags: Vec<String> = release
        .target
        .wheel
        .split('.')
        .map(|platform| format!("Tag: py3-none-{platform}\n"))
        .collect();
    let metadata = format!(
        "Metadata-Version: 2.1\nName: steadfast\nVersion: {version}\n\
         Summary: A durable job queue and scheduler whose speciality is retry: the server and its command line\n\
         License: MIT OR Apache-2.0\nProject-URL: Repository, {}\nRequires-Python: >=3.8\n\
         Description-Content-Type: text/markdown\n\n{}",
        release.repository,
        release.text(ABOUT)?
    );
    let wheel = format!(
        "Wheel-Version: 1.0\nGenerator: xtask\nRoot-Is-Purelib: false\n{}",
        tags.concat()
    );
    let script = format!("steadfast-{version}.data/scripts/steadfast");
    let mut entries = vec![
        Entry::program(&script, release.binary.clone()),
        Entry::file(&format!("{info}/METADATA"), metadata),
        Entry::file(&format!("{info}/WHEEL"), wheel),
    ];
    entries.extend(licenses(release, &format!("{info}/licenses/"))?);
    let mut record = String::new();
    for entry in &entries {
        let sum = URL_SAFE_NO_PAD.encode(sha256(&entry.content));
        let size = entry.content.len();
        record.push_str(&format!("{},sha256={sum},{size}\n", entry.path));
    }
    record.push_str(&format!("{info}/RECORD,,\n"));
    entries.push(Entry::file(&format!("{info}/RECORD"), record));
    Ok(Package {
        name: format!("steadfast-{version}-{tag}.whl"),
        bytes: zip(&entries, release.compression)?,
    })
}

/// Python has no `-` in versions: `1.0.0-rc.1` is `1.0.0rc1`.
fn python_version(version: &str) -> String {
    match version.split_once('-') {
        None => version.to_owned(),
        Some((number, pre)) => format!("{number}{}", pre.replace('.', "")),
    }
}

/// npm links the program itself: no Node runs before it.
fn npm(release: &Release) -> Result<Package, String> {
    let values = [
        ("version", release.version.as_str()),
        ("cpu", release.target.npm),
        ("repository", &release.repository),
    ];
    let manifest = release.template("packaging/npm/package.json", &values)?;
    let mut entries = vec![
        Entry::file("package.json", manifest),
        Entry::file("README.md", release.text(ABOUT)?),
        Entry::program("bin/steadfast", release.binary.clone()),
    ];
    entries.extend(licenses(release, "")?);
    let tar = tar(&entries, "package/", release.epoch)?;
    Ok(Package {
        name: format!(
            "steadfast-{}-npm-linux-{}.tgz",
            release.version, release.target.npm
        ),
        bytes: gzip(&tar, release.compression)?,
    })
}

/// The version of the chart is that of the program.
fn chart(release: &Release) -> Result<Package, String> {
    let mut entries = Vec::new();
    for path in CHART {
        let text = release.text(&format!("packaging/helm/steadfast/{path}"))?;
        if *path == "Chart.yaml" {
            for line in [
                format!("version: {}\n", release.version),
                format!("appVersion: \"{}\"\n", release.version),
            ] {
                if !text.contains(&line) {
                    return Err(format!("Chart.yaml lacks the line `{}`", line.trim()));
                }
            }
        }
        entries.push(Entry::file(path, text));
    }
    let tar = tar(&entries, "steadfast/", release.epoch)?;
    Ok(Package {
        name: format!("steadfast-{}-chart.tgz", release.version),
        bytes: gzip(&tar, release.compression)?,
    })
}

/// Listed, so that what an editor leaves behind is not shipped; a test compares it with the
/// directory.
pub const CHART: &[&str] = &[
    "Chart.yaml",
    "values.yaml",
    "values.schema.json",
    "files/alerts.yaml",
    "files/dashboard.json",
    "templates/_helpers.tpl",
    "templates/NOTES.txt",
    "templates/workload.yaml",
    "templates/service.yaml",
    "templates/secret.yaml",
    "templates/serviceaccount.yaml",
    "templates/ingress.yaml",
    "templates/disruption.yaml",
    "templates/monitor.yaml",
    "templates/alerts.yaml",
    "templates/dashboard.yaml",
];

/// A tap for Homebrew, which takes formulae from a tap only: the content of a repository named
/// `homebrew-steadfast`.
fn tap(release: &Release, url: &str, archives: &[(&Target, Package)]) -> Result<Package, String> {
    let archives = archives.iter().map(|(target, archive)| {
        format!(
            "    on_{} do\n      url \"{}/{}\"\n      sha256 \"{}\"\n    end\n",
            target.homebrew,
            url.trim_end_matches('/'),
            archive.name,
            hex(&sha256(&archive.bytes))
        )
    });
    let values = [
        ("version", release.version.as_str()),
        ("repository", release.repository.as_str()),
        ("archives", &archives.collect::<String>()),
    ];
    let formula = release.template("packaging/homebrew/steadfast.rb", &values)?;
    let entries = [
        Entry::file("README.md", release.text("packaging/homebrew/README.md")?),
        Entry::directory("Formula"),
        Entry::file("Formula/steadfast.rb", formula),
    ];
    let tar = tar(&entries, "homebrew-steadfast/", release.epoch)?;
    Ok(Package {
        name: format!("steadfast-{}-homebrew-tap.tgz", release.version),
        bytes: gzip(&tar, release.compression)?,
    })
}

/// The script that finds the archive of a machine, checks its sum and installs the program.
fn script(release: &Release, url: &str) -> Result<Package, String> {
    let values = [
        ("version", release.version.as_str()),
        ("url", url.trim_end_matches('/')),
    ];
    Ok(Package {
        name: "install.sh".to_owned(),
        bytes: release
            .template("packaging/install.sh", &values)?
            .into_bytes(),
    })
}

/// The file for `sha256sum --check`.
fn sums(packages: &[Package]) -> Package {
    let mut text = String::new();
    for package in packages {
        let sum = hex(&sha256(&package.bytes));
        text.push_str(&format!("{sum}  {}\n", package.name));
    }
    Package {
        name: "SHA256SUMS".to_owned(),
        bytes: text.into_bytes(),
    }
}
