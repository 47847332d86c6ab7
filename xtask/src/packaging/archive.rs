//! Archives whose bytes depend on their content alone.
//!
//! The usual tools write down who packed, when, and in which order a directory was read. Here every
//! file is listed, belongs to an owner that is named, and has the time of the release. Compression
//! is left to `gzip`, which is on every machine; a zip holds the same stream in another frame.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::thread;

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
    let mut tar = Vec::new();
    for entry in entries {
        let path = format!("{prefix}{}", entry.path);
        tar.extend(tar_header(entry, &path, epoch)?);
        tar.extend(&entry.content);
        tar.resize(tar.len().next_multiple_of(TAR_BLOCK), 0);
    }
    tar.resize(tar.len() + 2 * TAR_BLOCK, 0);
    Ok(tar)
}

const TAR_BLOCK: usize = 512;

fn tar_header(entry: &Entry, path: &str, epoch: u64) -> Result<[u8; TAR_BLOCK], String> {
    let mut header = [0; TAR_BLOCK];
    let mut put = |at: usize, length: usize, text: &str| -> Result<(), String> {
        if text.len() > length {
            return Err(format!("`{text}` is too long for a tar"));
        }
        header[at..at + text.len()].copy_from_slice(text.as_bytes());
        Ok(())
    };
    put(0, 100, path)?;
    put(100, 7, &format!("{:07o}", entry.mode))?;
    put(108, 7, &format!("{:07o}", entry.owner))?;
    put(116, 7, &format!("{:07o}", entry.owner))?;
    put(124, 11, &format!("{:011o}", entry.content.len()))?;
    put(136, 11, &format!("{epoch:011o}"))?;
    // The sum is taken with blanks in its own place.
    put(148, 8, "        ")?;
    put(156, 1, if entry.is_directory() { "5" } else { "0" })?;
    put(257, 8, "ustar\u{0}00")?;
    if entry.owner == 0 {
        put(265, 32, "root")?;
        put(297, 32, "root")?;
    }
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    Ok(header)
}

/// The archive of a Debian package: its members one after the other, each at an even place.
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
    let (mut zip, mut directory) = (Vec::new(), Vec::new());
    for entry in entries {
        let (deflated, sum) = deflate(&entry.content, level)?;
        let offset = size_in_zip(zip.len())?;
        let mut common = Vec::new();
        // Version 2.0, names in UTF-8, deflate, 1 January 1980.
        for number in [20_u16, 0x800, 8, 0, 0x21] {
            common.extend(number.to_le_bytes());
        }
        for number in [
            sum,
            size_in_zip(deflated.len())?,
            size_in_zip(entry.content.len())?,
        ] {
            common.extend(number.to_le_bytes());
        }
        let name_length = u16::try_from(entry.path.len()).map_err(|error| error.to_string())?;
        common.extend(name_length.to_le_bytes());
        common.extend(0_u16.to_le_bytes());

        zip.extend(b"PK\x03\x04");
        zip.extend(&common);
        zip.extend(entry.path.bytes());
        zip.extend(&deflated);

        // Made on Unix, so that the mode below counts.
        directory.extend(b"PK\x01\x02\x14\x03");
        directory.extend(&common);
        directory.extend([0; 6]);
        directory.extend(((0o100_000 | entry.mode) << 16).to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend(entry.path.bytes());
    }
    let count = u16::try_from(entries.len()).map_err(|error| error.to_string())?;
    let (size, offset) = (size_in_zip(directory.len())?, size_in_zip(zip.len())?);
    zip.extend(directory);
    zip.extend(b"PK\x05\x06\0\0\0\0");
    zip.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    zip.extend([size.to_le_bytes(), offset.to_le_bytes()].concat());
    zip.extend([0, 0]);
    Ok(zip)
}

fn size_in_zip(size: usize) -> Result<u32, String> {
    u32::try_from(size).map_err(|_| "a zip holds less than 4 GiB".to_owned())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// For checks, which throw the result away.
    Fast,
    Best,
}

const GZIP_HEADER: usize = 10;
const GZIP_TRAILER: usize = 8;

/// Without name and time.
pub fn gzip(bytes: &[u8], level: Compression) -> Result<Vec<u8>, String> {
    let level = match level {
        Compression::Fast => "-1",
        Compression::Best => "-9",
    };
    pipe("gzip", &["-n", level, "-c"], bytes)
}

/// The stream inside of what gzip writes, and the sum of what went in.
fn deflate(bytes: &[u8], level: Compression) -> Result<(Vec<u8>, u32), String> {
    let gzipped = gzip(bytes, level)?;
    let end = gzipped.len().saturating_sub(GZIP_TRAILER);
    let sum = gzipped
        .get(end..end + 4)
        .and_then(|sum| sum.try_into().ok());
    let stream = gzipped.get(GZIP_HEADER..end);
    let (Some(stream), Some(sum)) = (stream, sum) else {
        return Err("gzip wrote less than a header".to_owned());
    };
    Ok((stream.to_vec(), u32::from_le_bytes(sum)))
}

/// In hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> Result<String, String> {
    let output = pipe("sha256sum", &[], bytes)?;
    let text = String::from_utf8_lossy(&output);
    let sum = text.split_whitespace().next().unwrap_or_default();
    if sum.len() == 64 {
        Ok(sum.to_owned())
    } else {
        Err(format!("sha256sum says `{text}`"))
    }
}

/// What a program makes of its input.
fn pipe(program: &str, args: &[&str], input: &[u8]) -> Result<Vec<u8>, String> {
    let failed = |error| format!("cannot run {program}: {error}");
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let mut output = Vec::new();
    thread::scope(|scope| {
        // A program that ends early is noticed by its status.
        scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(input)));
        stdout.map_or(Ok(0), |mut stdout| stdout.read_to_end(&mut output))
    })
    .map_err(failed)?;
    let status = child.wait().map_err(failed)?;
    if status.success() {
        Ok(output)
    } else {
        Err(format!("{program} ended with {status}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<Entry> {
        vec![
            Entry::directory("usr"),
            Entry::program("usr/tool", "#!/bin/sh\necho hello\n"),
            Entry::file("data", vec![b'x'; 1_000]).with_owner(65_532),
        ]
    }

    /// What another program says about an archive.
    fn told(program: &str, args: &[&str], archive: &[u8]) -> String {
        String::from_utf8(pipe(program, args, archive).unwrap()).unwrap()
    }

    #[test]
    fn tar_reads_what_was_written_with_owner_mode_and_time() {
        let archive = tar(&entries(), "./", 86_400).unwrap();
        let args = ["-tvf", "-", "--utc", "--full-time"];
        let lines = told("tar", &args, &archive);
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
        let content = told("tar", &["-xOf", "-", "./usr/tool"], &archive);
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
        let lines = told("python3", &["-c", script], &archive);
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
        let sum = sha256(b"abc").unwrap();
        assert!(sum.starts_with("ba7816bf8f01cfea"), "{sum}");
    }

    #[test]
    fn a_program_that_fails_or_is_missing_is_named() {
        assert!(
            pipe("false", &[], b"")
                .unwrap_err()
                .starts_with("false ended")
        );
        let missing = pipe("steadfast-no-such-program", &[], b"").unwrap_err();
        assert!(missing.starts_with("cannot run steadfast-no-such"));
    }
}
