//! Archives whose bytes depend on their content alone.
//!
//! The usual tools write down who packed, when, and in which order a directory was read. Here every
//! file is listed, belongs to an owner that is named, and has the time of the release.

use std::collections::BTreeSet;
use std::io::{self, Cursor, Write as _};

use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// One file, directory or link of an archive.
#[derive(Clone)]
pub struct Entry {
    /// Without a leading `/`. Directories end with one, and the topmost one is empty.
    pub path: String,
    pub mode: u32,
    /// User and group, by number; the number 0 is called root.
    pub owner: u32,
    pub content: Vec<u8>,
}

impl Entry {
    pub fn file(path: &str, content: impl Into<Vec<u8>>) -> Entry {
        Entry {
            path: path.to_owned(),
            mode: 0o644,
            owner: 0,
            content: content.into(),
        }
    }

    pub fn program(path: &str, content: impl Into<Vec<u8>>) -> Entry {
        Entry::file(path, content).with_mode(0o755)
    }

    pub fn directory(path: &str) -> Entry {
        let end = if path.is_empty() { "" } else { "/" };
        Entry::file(&format!("{path}{end}"), []).with_mode(0o755)
    }

    pub fn with_mode(self, mode: u32) -> Entry {
        Entry { mode, ..self }
    }

    pub fn with_owner(self, owner: u32) -> Entry {
        Entry { owner, ..self }
    }

    fn is_directory(&self) -> bool {
        self.path.is_empty() || self.path.ends_with('/')
    }
}

/// The files, and before them every directory that leads to them.
pub fn with_directories(files: &[Entry]) -> Vec<Entry> {
    let mut directories = BTreeSet::from([""]);
    for file in files {
        let places = file.path.match_indices('/');
        directories.extend(places.map(|(at, _)| &file.path[..at]));
    }
    let directories = directories.into_iter().map(Entry::directory);
    directories.chain(files.iter().cloned()).collect()
}

/// A tar in the format ustar, which every tool reads. `prefix` is put before each path.
pub fn tar(entries: &[Entry], prefix: &str, epoch: u64) -> Result<Vec<u8>, String> {
    let mut tar = tar::Builder::new(Vec::new());
    for entry in entries {
        let path = format!("{prefix}{}", entry.path);
        let append = |header| tar.append(&header, &entry.content[..]);
        let appended = tar_header(entry, &path, epoch).and_then(append);
        appended.map_err(|error| format!("{path}: {error}"))?;
    }
    tar.into_inner().map_err(|error| error.to_string())
}

fn tar_header(entry: &Entry, path: &str, epoch: u64) -> io::Result<tar::Header> {
    let mut header = tar::Header::new_ustar();
    header.set_entry_type(if entry.is_directory() {
        tar::EntryType::Directory
    } else {
        tar::EntryType::Regular
    });
    header.set_mode(entry.mode);
    header.set_uid(entry.owner.into());
    header.set_gid(entry.owner.into());
    if entry.owner == 0 {
        header.set_username("root")?;
        header.set_groupname("root")?;
    }
    header.set_mtime(epoch);
    header.set_size(entry.content.len() as u64);
    // `set_path` would take away the `./` that Debian's packages begin with.
    let name = header.as_mut_bytes().get_mut(..TAR_NAME_BYTES);
    let name = name.and_then(|name| name.get_mut(..path.len()));
    let name = name.ok_or_else(|| io::Error::other("the path is too long for a tar"))?;
    name.copy_from_slice(path.as_bytes());
    header.set_cksum();
    Ok(header)
}

const TAR_NAME_BYTES: usize = 100;

/// The archive of a Debian package: its members one after the other, each at an even place. These
/// ten lines are ours, because the crate `ar` saves two of them and has had no release since 2021.
pub fn ar(members: &[(&str, Vec<u8>)], epoch: u64) -> Vec<u8> {
    let mut ar = b"!<arch>\n".to_vec();
    for (name, content) in members {
        let size = content.len();
        ar.extend(format!("{name:<16}{epoch:<12}0     0     100644  {size:<10}`\n").bytes());
        ar.extend(content);
        if size % 2 == 1 {
            ar.push(b'\n');
        }
    }
    ar
}

/// A zip, as pip reads it. The times in it are fixed: they have no time zone, and end in 2107.
pub fn zip(entries: &[Entry], level: Compression) -> Result<Vec<u8>, String> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for entry in entries {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(level.number().into()))
            .last_modified_time(zip::DateTime::default())
            .unix_permissions(entry.mode);
        let started = zip.start_file(&*entry.path, options);
        started.map_err(|error| format!("{}: {error}", entry.path))?;
        let written = zip.write_all(&entry.content);
        written.map_err(|error| format!("{}: {error}", entry.path))?;
    }
    let done = zip.finish().map_err(|error| error.to_string())?;
    Ok(done.into_inner())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// For checks, which throw the result away.
    Fast,
    Best,
}

impl Compression {
    fn number(self) -> u32 {
        match self {
            Compression::Fast => 1,
            Compression::Best => 9,
        }
    }
}

/// Without name and time.
pub fn gzip(bytes: &[u8], level: Compression) -> Result<Vec<u8>, String> {
    let level = flate2::Compression::new(level.number());
    let mut gzip = GzEncoder::new(Vec::new(), level);
    let written = gzip.write_all(bytes);
    written
        .and_then(|()| gzip.finish())
        .map_err(|error| error.to_string())
}

pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// In hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::process::Command;

    use super::*;
    use crate::process::target_directory;
    use crate::root;

    fn entries() -> Vec<Entry> {
        vec![
            Entry::directory("usr"),
            Entry::program("usr/tool", "#!/bin/sh\necho hello\n"),
            Entry::file("data", vec![b'x'; 1_000]).with_owner(65_532),
        ]
    }

    /// What another program prints about an archive.
    fn printed(program: &str, args: &[&str], archive: &[u8]) -> String {
        let name = format!("archive-{program}-{}", args.len());
        let path = target_directory(&root()).join(name);
        fs::write(&path, archive).unwrap();
        let mut command = Command::new(program);
        command.args(args).stdin(File::open(&path).unwrap());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{program}");
        fs::remove_file(path).unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn tar_reads_what_was_written_with_owner_mode_and_time() {
        let archive = tar(&entries(), "./", 86_400).unwrap();
        let args = ["-tvf", "-", "--utc", "--full-time"];
        let lines = printed("tar", &args, &archive);
        let lines: Vec<Vec<&str>> = lines
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        let time = ["1970-01-02", "00:00:00"];
        let expected = [
            ["drwxr-xr-x", "root/root", "0", time[0], time[1], "./usr/"],
            [
                "-rwxr-xr-x",
                "root/root",
                "21",
                time[0],
                time[1],
                "./usr/tool",
            ],
            [
                "-rw-r--r--",
                "65532/65532",
                "1000",
                time[0],
                time[1],
                "./data",
            ],
        ];
        assert_eq!(lines, expected);
        let content = printed("tar", &["-xOf", "-", "./usr/tool"], &archive);
        assert_eq!(content, "#!/bin/sh\necho hello\n");
    }

    #[test]
    fn a_path_that_a_tar_cannot_hold_is_refused() {
        let long = Entry::file(&"x".repeat(101), "");
        assert!(tar(&[long], "", 0).unwrap_err().contains("too long"));
    }

    #[test]
    fn python_reads_the_zip_with_sums_and_modes() {
        let archive = zip(&entries()[1..], Compression::Best).unwrap();
        let script = "import sys, io, zipfile\n\
            z = zipfile.ZipFile(io.BytesIO(sys.stdin.buffer.read()))\n\
            assert z.testzip() is None\n\
            for i in z.infolist(): print(i.filename, i.file_size, oct(i.external_attr >> 16))";
        let lines = printed("python3", &["-c", script], &archive);
        assert_eq!(lines, "usr/tool 21 0o100755\ndata 1000 0o100644\n");
    }

    #[test]
    fn members_of_a_debian_archive_begin_at_even_places() {
        let archive = ar(&[("one", b"abc".to_vec()), ("two", b"d".to_vec())], 7);
        assert_eq!(archive.len(), 8 + 60 + 4 + 60 + 2);
        assert_eq!(archive[8 + 60 + 4..][..3], *b"two");
    }

    #[test]
    fn the_same_entries_are_the_same_bytes() {
        let all = || {
            let tar = tar(&entries(), "", 7).unwrap();
            let tar_gz = gzip(&tar, Compression::Best).unwrap();
            [tar_gz, zip(&entries(), Compression::Best).unwrap()]
        };
        assert_eq!(all(), all());
    }

    #[test]
    fn a_sum_is_that_of_the_standard() {
        let sum = hex(&sha256(b"abc"));
        assert!(sum.starts_with("ba7816bf8f01cfea"), "{sum}");
    }
}
