//! The fields of a form or a query string. Browsers also send empty fields, which count as absent.

use std::{borrow::Cow, str::FromStr};

use serde_json::{Map, Value, json};
use steadfast_api::JobQuery;
use steadfast_core::Timestamp;
use steadfast_store::PageRequest;

use crate::{
    dashboard::parts::search::JOB_CONDITIONS,
    http::{Problem, query_fields},
    limits,
};

#[derive(Clone, Debug, Default)]
pub struct Fields(Vec<(String, String)>);

/// Fields that a page fills by itself.
impl FromIterator<(&'static str, String)> for Fields {
    fn from_iter<I: IntoIterator<Item = (&'static str, String)>>(pairs: I) -> Self {
        let pairs = pairs.into_iter();
        Self(
            pairs
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        )
    }
}

impl Fields {
    pub fn parse(bytes: &[u8]) -> Self {
        let pairs = form_urlencoded::parse(bytes);
        Self(pairs.into_owned().collect())
    }

    /// Adds those of another form.
    pub fn extend(&mut self, more: &Self) {
        self.0.extend(more.0.iter().cloned());
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// Whether the field was sent, even if it is empty.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }

    /// For a form that keeps what was entered; empty if the field is absent.
    pub fn value(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let named = self.0.iter().filter(move |(key, _)| key == name);
        named
            .map(|(_, value)| value.trim())
            .filter(|value| !value.is_empty())
    }

    /// The fields of these names that were sent, as JSON.
    pub fn json(&self, names: &[&str]) -> Map<String, Value> {
        let sent = names.iter().filter_map(|name| {
            let text = self.get(name)?;
            Some(((*name).to_owned(), json!(text)))
        });
        sent.collect()
    }

    /// Whether the question before the action was answered.
    pub fn is_confirmed(&self) -> bool {
        self.has("confirmed")
    }

    /// A field that holds an id.
    pub fn id<T: FromStr>(&self, name: &str) -> Result<T, Problem> {
        parse_id(self.value(name))
    }

    /// The query string with some fields changed; an empty value removes a field.
    pub fn query_with(&self, changes: &[(&str, &str)]) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        let is_kept = |name: &str| !changes.iter().any(|(changed, _)| *changed == name);
        for (name, value) in &self.0 {
            if is_kept(name) && !value.trim().is_empty() {
                query.append_pair(name, value);
            }
        }
        for (name, value) in changes.iter().filter(|(_, value)| !value.is_empty()) {
            query.append_pair(name, value);
        }
        query.finish()
    }

    /// The address of a page of a list with some fields changed, without what an action said on it.
    pub fn here(&self, path: &str, changes: &[(&str, &str)]) -> String {
        let mut changes = changes.to_vec();
        changes.extend([("did", ""), ("n", "")]);
        let query = self.query_with(&changes);
        match query.is_empty() {
            true => path.to_owned(),
            false => format!("{path}?{query}"),
        }
    }

    /// The page of a list that is asked for: the first one, if `after` is no cursor of this list.
    pub fn page<Cursor: FromStr>(&self) -> PageRequest<Cursor> {
        PageRequest {
            limit: limits::PAGE_DEFAULT,
            after: self.get("after").and_then(|after| after.parse().ok()),
        }
    }

    /// The fields that filter a list of jobs, for the hidden fields of the forms on its page.
    pub fn filters(&self) -> Vec<(&'static str, String)> {
        self.conditions(JOB_CONDITIONS)
    }

    /// Those for which a form has no field of its own, so that sending it does not lose them.
    pub fn filters_besides(&self, shown: &[&str]) -> Vec<(&'static str, String)> {
        let mut filters = self.filters();
        filters.retain(|(name, _)| !shown.contains(name));
        filters
    }

    /// The fields of these names. Only tags can be given more than once.
    pub fn conditions(&self, names: &[&'static str]) -> Vec<(&'static str, String)> {
        let present = names.iter().flat_map(|name| {
            let most = if *name == "tag" { usize::MAX } else { 1 };
            self.all(name).take(most).map(move |value| (*name, value))
        });
        let present = present.map(|(name, value)| match name {
            "from" | "before" => (name, with_zone(value)),
            _ => (name, value.to_owned()),
        });
        present.collect()
    }

    /// A time as a browser's `datetime-local` field takes it; with a zone, the field would be empty.
    pub fn local_time(&self, name: &str) -> String {
        let time = with_zone(self.value(name));
        let in_utc = time.parse::<Timestamp>().map(|time| time.to_string());
        in_utc.unwrap_or_default().trim_end_matches('Z').to_owned()
    }

    /// The tags that a form shows: those that are entered, and room for another.
    pub fn tags(&self) -> Vec<&str> {
        self.all("tag").chain([""]).collect()
    }

    /// The filter as the API's query type.
    pub fn job_query(&self) -> Result<JobQuery, Problem> {
        let filters = self.filters().into_iter();
        let pairs = filters.map(|(name, value)| (Cow::Borrowed(name), Cow::Owned(value)));
        Ok(query_fields::read(pairs)?)
    }
}

/// A browser's `datetime-local` field sends no zone, and seconds only if there are any.
fn with_zone(time: &str) -> String {
    let candidates = [format!("{time}:00Z"), format!("{time}Z")];
    let in_utc = candidates
        .into_iter()
        .find(|it| it.parse::<Timestamp>().is_ok());
    in_utc.unwrap_or_else(|| time.to_owned())
}

/// An id in an address or a form; anything else is not found.
pub fn parse_id<T: FromStr>(text: &str) -> Result<T, Problem> {
    text.parse().map_err(|_| {
        let id: String = text.chars().take(limits::ID_CHARS_MAX).collect();
        Problem::not_found(id)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_fields_are_absent_and_times_without_a_zone_are_utc() {
        let fields = Fields::parse(b"queue=&kind=mail&from=2026-01-01T12%3A00&id=a&id=b");
        assert_eq!(fields.get("queue"), None);
        assert_eq!(fields.all("id").collect::<Vec<_>>(), ["a", "b"]);
        let filters = fields.filters();
        assert_eq!(filters[0], ("kind", "mail".to_owned()));
        assert_eq!(filters[1], ("from", "2026-01-01T12:00:00Z".to_owned()));
        for (time, with_zone, local) in [
            (
                "2026-01-01T12:00",
                "2026-01-01T12:00:00Z",
                "2026-01-01T12:00:00",
            ),
            (
                "2026-01-01T12:00:07",
                "2026-01-01T12:00:07Z",
                "2026-01-01T12:00:07",
            ),
            (
                "2026-01-01T12:00:07Z",
                "2026-01-01T12:00:07Z",
                "2026-01-01T12:00:07",
            ),
            (
                "2026-01-01T12:00:00%2B02:00",
                "2026-01-01T12:00:00+02:00",
                "2026-01-01T10:00:00",
            ),
            ("yesterday", "yesterday", ""),
        ] {
            let fields = Fields::parse(format!("before={time}").as_bytes());
            assert_eq!(fields.filters(), [("before", with_zone.to_owned())]);
            assert_eq!(fields.local_time("before"), local);
        }
        let fields_of_tags = Fields::parse(b"tag=a%3Ab&tag=&tag=c%3Ad");
        assert_eq!(fields_of_tags.tags(), ["a:b", "c:d", ""]);
        assert_eq!(fields_of_tags.job_query().unwrap().tag, ["a:b", "c:d"]);
        assert_eq!(
            fields.query_with(&[("id", ""), ("kind", "a&b")]),
            "from=2026-01-01T12%3A00&kind=a%26b"
        );
    }
}
