//! A table that is walked, and what must hold for its rows.

/// Which database a statement is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

/// A table that is walked.
pub(crate) struct Table {
    pub title: &'static str,
    /// Its name in a statement, perhaps with a table that is joined.
    pub from: &'static str,
    /// What it is walked by.
    pub key: &'static [&'static str],
    /// What is moved to another store, each as a name, or as an expression with a name. Nothing is, if
    /// the rows follow from those of other tables.
    pub columns: &'static [&'static str],
    /// Which rows are moved.
    pub moved_if: Option<&'static str>,
    pub rules: &'static [Rule],
}

/// Something that no row should be.
pub(crate) struct Rule {
    /// What a row that breaks it does.
    pub sentence: &'static str,
    /// Whether a row breaks it.
    pub broken: &'static str,
}

impl Table {
    pub(super) const fn new(
        title: &'static str,
        from: &'static str,
        key: &'static [&'static str],
        columns: &'static [&'static str],
        rules: &'static [Rule],
    ) -> Self {
        Self {
            title,
            from,
            key,
            columns,
            moved_if: None,
            rules,
        }
    }

    pub(super) const fn moved_if(self, condition: &'static str) -> Self {
        Self {
            moved_if: Some(condition),
            ..self
        }
    }

    pub(super) fn is_moved(&self) -> bool {
        !self.columns.is_empty()
    }

    /// The names of what is moved.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        let name = |column: &&'static str| column.rsplit(" AS ").next().unwrap_or(column);
        self.columns.iter().map(name)
    }
}
