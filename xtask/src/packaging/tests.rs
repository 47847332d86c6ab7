use super::release::Package;
use super::*;

fn release() -> Release {
    let root = root();
    Release {
        version: release::version(&root).unwrap(),
        repository: release::repository(&root).unwrap(),
        epoch: 1_794_816_885,
        target: &TARGETS[0],
        binary: b"#!/bin/sh\necho steadfast\n".to_vec(),
        manual: Manual {
            pages: vec![("steadfast.1".to_owned(), b".TH steadfast 1\n".to_vec())],
            ..Manual::default()
        },
        compression: Compression::Best,
        url: Some("https://downloads.example/v1/".to_owned()),
        root,
    }
}

/// One for each target.
fn releases() -> Vec<Release> {
    let targets = TARGETS.iter();
    targets
        .map(|target| Release {
            target,
            ..release()
        })
        .collect()
}

#[test]
fn two_runs_write_the_same_bytes() {
    let (once, again) = (
        packages::all(&releases()).unwrap(),
        packages::all(&releases()).unwrap(),
    );
    assert_eq!(once.len(), 5 * TARGETS.len() + 5);
    for (one, other) in once.iter().zip(&again) {
        assert_eq!(one.name, other.name);
        assert!(one.bytes == other.bytes, "{} differs", one.name);
    }
}

#[test]
fn another_time_is_another_archive() {
    let sums = |epoch| {
        let packages = packages::all(&[Release { epoch, ..release() }]).unwrap();
        packages.last().unwrap().bytes.clone()
    };
    assert_ne!(sums(1), sums(2));
}

/// A file of a packed tar.
fn unpack(package: &Package, path: &str) -> String {
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(&*package.bytes));
    let mut entries = archive.entries().unwrap().map(Result::unwrap);
    let entry = entries.find(|entry| entry.path().unwrap().ends_with(path));
    std::io::read_to_string(entry.unwrap()).unwrap()
}

#[test]
fn the_formula_is_in_a_tap_and_names_the_archives_with_their_sums() {
    let packages = packages::all(&releases()).unwrap();
    let find = |part: &str| packages.iter().find(|package| package.name.contains(part));
    let formula = unpack(find("homebrew-tap").unwrap(), "Formula/steadfast.rb");
    let sums = String::from_utf8(find("SHA256SUMS").unwrap().bytes.clone()).unwrap();
    let archives = sums.lines().filter(|line| line.ends_with("musl.tar.gz"));
    let archives: Vec<(&str, &str)> = archives.filter_map(|line| line.split_once("  ")).collect();
    assert_eq!(archives.len(), TARGETS.len());
    for (sum, name) in archives {
        assert!(formula.contains(&format!("sha256 \"{sum}\"")), "{formula}");
        assert!(formula.contains(&format!("url \"https://downloads.example/v1/{name}\"")));
    }
    assert!(formula.contains("    on_arm do\n"), "{formula}");
    let script = String::from_utf8(find("install.sh").unwrap().bytes.clone()).unwrap();
    assert!(
        script.contains(":-https://downloads.example/v1}"),
        "{script}"
    );
    let without = packages::all(&[Release {
        url: None,
        ..release()
    }]);
    let names = without.unwrap().into_iter().map(|package| package.name);
    assert!(
        names
            .filter(|name| name.contains("tap") || name == "install.sh")
            .count()
            == 0
    );
}

#[test]
fn one_image_has_the_programs_of_all_targets() {
    let packages = packages::all(&releases()).unwrap();
    let image = packages.iter().find(|it| it.name.ends_with("-image.tar"));
    let mut archive = tar::Archive::new(&*image.unwrap().bytes);
    let files = archive.entries().unwrap().map(|entry| {
        let entry = entry.unwrap();
        let path = entry.path().unwrap().to_string_lossy().into_owned();
        (path, std::io::read_to_string(entry).unwrap_or_default())
    });
    let files: std::collections::BTreeMap<String, String> = files.collect();
    let manifests = |text: &str| -> Vec<serde_json::Value> {
        let index: serde_json::Value = serde_json::from_str(text).unwrap();
        index["manifests"].as_array().unwrap().clone()
    };
    let outer = manifests(&files["index.json"]);
    let blob = |descriptor: &serde_json::Value| {
        let digest = descriptor["digest"].as_str().unwrap().replace(':', "/");
        files[&format!("blobs/{digest}")].clone()
    };
    let inner = manifests(&blob(&outer[0]));
    let architectures: Vec<_> = inner
        .iter()
        .map(|it| it["platform"]["architecture"].as_str().unwrap())
        .collect();
    assert_eq!((outer.len(), architectures), (1, vec!["amd64", "arm64"]));
    for manifest in &inner {
        assert!(blob(manifest).contains("\"layers\":[{"));
    }
}

#[test]
fn a_placeholder_that_is_not_known_or_not_used_is_an_error() {
    let template = |values| release().template("packaging/npm/package.json", values);
    let said = template(&[("version", "1"), ("repository", "r")]).unwrap_err();
    assert!(said.contains("nothing is known as `cpu`"), "{said}");
    let said = template(&[("color", "red")]).unwrap_err();
    assert!(said.contains("has no {{color}}"), "{said}");
}

#[test]
fn the_chart_is_shipped_whole() {
    let directory = root().join("packaging/helm/steadfast");
    let mut found = names(&directory).unwrap();
    for inside in ["files", "templates"] {
        found.retain(|name| name != inside);
        let names = names(&directory.join(inside)).unwrap();
        found.extend(names.iter().map(|name| format!("{inside}/{name}")));
    }
    found.sort();
    let mut listed: Vec<&str> = packages::CHART.to_vec();
    listed.sort_unstable();
    assert_eq!(found, listed);
}

#[test]
fn an_unknown_option_is_refused_with_those_that_exist() {
    let args =
        |args: &[&str]| Options::read(&args.iter().map(|&arg| arg.to_owned()).collect::<Vec<_>>());
    assert!(args(&["--chekc"]).unwrap_err().contains("--check"));
    assert!(args(&["--url"]).unwrap_err().contains("needs a value"));
    assert!(args(&["--check"]).unwrap().check);
    let targets = |words: &[&str]| args(words).unwrap().targets();
    assert_eq!(targets(&[]).unwrap().len(), TARGETS.len());
    let named = targets(&["--target", "aarch64-unknown-linux-musl"]).unwrap();
    assert_eq!(named[0].debian, "arm64");
    assert!(targets(&["--target", "vax"]).is_err());
}
