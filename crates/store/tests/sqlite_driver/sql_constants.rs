//! Numbers that statements spell out are those of core.

use std::{fs, path::Path};

use steadfast_core::{Timestamp, limits::PRIORITY_MAX};

/// All statements and the schema of a driver, without their comments.
fn statements(driver: &str) -> Vec<(String, String)> {
    let drivers = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/drivers");
    let mut folders = vec![drivers.join(driver)];
    let mut all = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            if path.extension().is_none_or(|extension| extension != "sql") {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let code: Vec<&str> = text
                .lines()
                .map(|line| line.split("--").next().unwrap_or_default())
                .collect();
            all.push((path.display().to_string(), code.join("\n")));
        }
    }
    assert!(all.len() > 50, "{} statements of {driver}", all.len());
    all
}

#[test]
fn long_numbers_are_the_largest_of_their_kind() {
    let known = [
        u32::MAX.to_string(),
        i64::MAX.to_string(),
        Timestamp::MAX.as_micros().to_string(),
    ];
    let mut met = 0;
    for (path, sql) in statements("postgres") {
        let numbers = sql.split(|c: char| !c.is_ascii_digit());
        // Shorter numbers are units; the lease of SQL's own enqueue is in nanoseconds, and what
        // begins with 0 is the alphabet of ids.
        let is_constant = |number: &&str| {
            number.len() >= 10 && !number.starts_with('0') && *number != "30000000000"
        };
        for number in numbers.filter(is_constant) {
            assert!(
                known.iter().any(|known| known == number),
                "{path}: {number}"
            );
            met += 1;
        }
    }
    assert!(met >= 5, "only {met} found");
}

#[test]
fn lists_of_priorities_end_at_the_highest() {
    let series = format!("generate_series(0, {PRIORITY_MAX})");
    let mut met = 0;
    for (path, sql) in statements("postgres") {
        for part in sql.split("generate_series(").skip(1) {
            // The digits of an id are no priorities.
            if !part.starts_with("0, 25)") {
                assert!(
                    format!("generate_series({part}").starts_with(&series),
                    "{path}"
                );
                met += 1;
            }
        }
    }
    assert_eq!(met, 0, "statements name levels, not priorities");
    let list: Vec<String> = (0..=PRIORITY_MAX)
        .map(|number| number.to_string())
        .collect();
    let values: Vec<String> = list.iter().map(|number| format!("({number})")).collect();
    for (path, sql) in statements("sqlite") {
        for part in sql.split("priority IN ").skip(1) {
            assert!(
                part.starts_with(&format!("({})", list.join(", "))),
                "{path}"
            );
        }
        for part in sql.split("AS (VALUES ").skip(1) {
            assert!(part.starts_with(&values.join(", ")), "{path}");
        }
    }
}
