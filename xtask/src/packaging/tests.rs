use super::*;

fn release() -> Release {
    let root = root();
    Release {
        version: release::version(&root).unwrap(),
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

#[test]
fn two_runs_write_the_same_bytes() {
    let (once, again) = (
        packages::all(&release()).unwrap(),
        packages::all(&release()).unwrap(),
    );
    assert_eq!(once.len(), 8);
    for (one, other) in once.iter().zip(&again) {
        assert_eq!(one.name, other.name);
        assert!(one.bytes == other.bytes, "{} differs", one.name);
    }
}

#[test]
fn another_time_is_another_archive() {
    let sums = |epoch| {
        let packages = packages::all(&Release { epoch, ..release() }).unwrap();
        packages.last().unwrap().bytes.clone()
    };
    assert_ne!(sums(1), sums(2));
}

#[test]
fn the_formula_names_the_archive_with_its_sum() {
    let packages = packages::all(&release()).unwrap();
    let text = |name: &str| {
        let package = packages.iter().find(|package| package.name == name);
        String::from_utf8(package.unwrap().bytes.clone()).unwrap()
    };
    let (formula, sums) = (text("steadfast.rb"), text("SHA256SUMS"));
    let archive = sums.lines().find(|line| line.ends_with("musl.tar.gz"));
    let (sum, name) = archive.unwrap().split_once("  ").unwrap();
    assert!(formula.contains(&format!("sha256 \"{sum}\"")), "{formula}");
    assert!(formula.contains(&format!("url \"https://downloads.example/v1/{name}\"")));
    let without = packages::all(&Release {
        url: None,
        ..release()
    })
    .unwrap();
    assert!(without.iter().all(|package| package.name != "steadfast.rb"));
}

#[test]
fn a_placeholder_that_is_not_known_or_not_used_is_an_error() {
    let template = |values| release().template("packaging/npm/package.json", values);
    let said = template(&[("version", "1")]).unwrap_err();
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
}
