//! The text format of Prometheus (version 0.0.4), for readers that do not know OpenMetrics.
//!
//! Both formats have the same lines of values. They differ in the comments: OpenMetrics names a
//! counter without its `_total`, and has types, units and an end mark that the older format lacks.

use std::collections::HashMap;

use axum::http::{HeaderMap, header};

/// Whether the reader asks for the older format: it names `text/plain`, and not OpenMetrics.
pub fn is_wanted(headers: &HeaderMap) -> bool {
    let accepts = headers.get_all(header::ACCEPT).iter();
    let accepts: Vec<&str> = accepts.filter_map(|value| value.to_str().ok()).collect();
    let is_named = |media| accepts.iter().any(|accept| accept.contains(media));
    is_named("text/plain") && !is_named("application/openmetrics-text")
}

/// The same metrics, from the text of OpenMetrics.
pub fn from_openmetrics(text: &str) -> String {
    let types = text.lines().filter_map(|line| {
        let (name, kind) = line.strip_prefix("# TYPE ")?.split_once(' ')?;
        Some((name, kind))
    });
    let types: HashMap<&str, &str> = types.collect();
    let mut converted = String::with_capacity(text.len());
    for line in text.lines() {
        let Some((keyword, rest)) = comment(line) else {
            converted.push_str(line);
            converted.push('\n');
            continue;
        };
        let (name, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let (suffix, kind) = match types.get(name).copied() {
            Some("counter") => ("_total", "counter"),
            Some("info") => ("_info", "gauge"),
            Some("stateset") => ("", "gauge"),
            Some(kind @ ("gauge" | "histogram" | "summary")) => ("", kind),
            _ => ("", "untyped"),
        };
        let rest = if keyword == "TYPE" { kind } else { rest };
        if matches!(keyword, "TYPE" | "HELP") {
            converted.extend(["# ", keyword, " ", name, suffix, " ", rest, "\n"]);
        }
    }
    converted
}

/// The keyword of a comment and what follows it.
fn comment(line: &str) -> Option<(&str, &str)> {
    let line = line.strip_prefix("# ")?;
    Some(line.split_once(' ').unwrap_or((line, "")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_older_format_is_for_readers_that_name_only_it() {
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.2";
        for (accept, expected) in [
            (None, false),
            (Some("*/*"), false),
            (Some(prometheus), false),
            (Some("text/plain;version=0.0.4"), true),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(accept) = accept {
                headers.insert(header::ACCEPT, accept.parse().unwrap());
            }
            assert_eq!(is_wanted(&headers), expected, "{accept:?}");
        }
    }

    #[test]
    fn comments_are_those_of_the_older_format() {
        let text = "# HELP jobs Jobs.\n# TYPE jobs counter\njobs_total{queue=\"# TYPE\"} 3\n\
            # HELP wait_seconds Waits.\n# TYPE wait_seconds unknown\n# UNIT wait_seconds seconds\n\
            wait_seconds 0.5\n# EOF\n";
        let expected = "# HELP jobs_total Jobs.\n# TYPE jobs_total counter\n\
            jobs_total{queue=\"# TYPE\"} 3\n# HELP wait_seconds Waits.\n\
            # TYPE wait_seconds untyped\nwait_seconds 0.5\n";
        assert_eq!(from_openmetrics(text), expected);
    }
}
