//! The fields of a form or a query string. Browsers also send empty fields, which count as absent.

use std::{borrow::Cow, str::FromStr};

use steadfast_api::JobQuery;

use crate::{limits, problem::Problem, query_fields};

#[derive(Clone, Debug, Default)]
pub struct Fields(Vec<(String, String)>);

/// The fields that filter a list of jobs.
const FILTERS: [&str; 14] = [
    "label",
    "queue",
    "kind",
    "tenant",
    "schedule",
    "destination",
    "batch",
    "from",
    "before",
    "text",
    "class",
    "fingerprint",
    "reason",
    "tag",
];

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

    /// The fields that filter a list, for the hidden fields of the forms on its page.
    pub fn filters(&self) -> Vec<(&'static str, String)> {
        let present = FILTERS.iter().flat_map(|name| {
            let values = self
                .all(name)
                .take(if *name == "tag" { usize::MAX } else { 1 });
            values.map(move |value| (*name, value))
        });
        let present = present.map(|(name, value)| {
            let is_time = matches!(name, "from" | "before");
            // A browser's `datetime-local` field sends neither seconds nor a zone.
            let is_bare = is_time && value.len() == "2026-01-01T12:00".len();
            (
                name,
                format!("{value}{}", if is_bare { ":00Z" } else { "" }),
            )
        });
        present.collect()
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
        let fields_of_tags = Fields::parse(b"tag=a%3Ab&tag=&tag=c%3Ad");
        assert_eq!(fields_of_tags.tags(), ["a:b", "c:d", ""]);
        assert_eq!(fields_of_tags.job_query().unwrap().tag, ["a:b", "c:d"]);
        assert_eq!(
            fields.query_with(&[("id", ""), ("kind", "a&b")]),
            "from=2026-01-01T12%3A00&kind=a%26b"
        );
    }
}
