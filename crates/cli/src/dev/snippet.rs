//! The first worker to try: the program at the top of each library's page in the book, which the tests of
//! that library run.

use std::path::Path;

use steadfast_book::{embedded, markdown};

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Language {
    Python,
    #[value(name = "typescript")]
    TypeScript,
    Go,
    Rust,
}

impl Language {
    const ALL: [Self; 4] = [Self::Python, Self::TypeScript, Self::Go, Self::Rust];

    /// The language of the project in this directory; Python if it has none of these files.
    pub fn of_project(directory: &Path) -> Self {
        let mut all = Self::ALL.into_iter();
        let found = all.find(|it| {
            it.markers()
                .iter()
                .any(|file| directory.join(file).exists())
        });
        found.unwrap_or(Self::Python)
    }

    fn markers(self) -> &'static [&'static str] {
        match self {
            Self::Python => &["pyproject.toml", "requirements.txt", "setup.py"],
            Self::TypeScript => &["package.json", "deno.json"],
            Self::Go => &["go.mod"],
            Self::Rust => &["Cargo.toml"],
        }
    }

    /// As options name it.
    fn word(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::TypeScript => "typescript",
            Self::Go => "go",
            Self::Rust => "rust",
        }
    }

    /// Its page, from the root of the repository and on the server.
    fn page(self) -> (&'static str, &'static str) {
        match self {
            Self::Python => ("sdk/python/README.md", "sdk-python.html"),
            Self::TypeScript => ("sdk/typescript/README.md", "sdk-typescript.html"),
            Self::Go => ("sdk/go/README.md", "sdk-go.html"),
            Self::Rust => ("crates/client/README.md", "crates-client.html"),
        }
    }

    fn program(self) -> String {
        let page = embedded::file(self.page().0).unwrap_or_default();
        let page = markdown::parse(&String::from_utf8_lossy(page));
        let first = page.codes.into_iter().next();
        first.map_or(String::new(), |code| code.text)
    }

    /// What to run until the first worker has come.
    pub fn invitation(self, url: &str) -> String {
        let program = self.program();
        let lines = program.trim_end().lines().map(|line| format!("    {line}"));
        let lines: Vec<String> = lines.map(|line| line.trim_end().to_owned()).collect();
        let others = Self::ALL.into_iter().filter(|it| *it != self);
        let others: Vec<&str> = others.map(Self::word).collect();
        format!(
            "Waiting for the first worker. This one enqueues a job and runs it:\n\n{}\n\n  \
             server        export STEADFAST_URL={url}\n  \
             how to run it {url}/docs/{}\n  \
             other         steadfast dev --language {}\n",
            lines.join("\n"),
            self.page().1,
            others.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_language_has_a_program_and_a_page() {
        let book = embedded::book().unwrap();
        for (language, word) in [
            (Language::Python, "app.run_worker"),
            (Language::TypeScript, "steadfast.worker"),
            (Language::Go, "steadfast.NewWorker"),
            (Language::Rust, "client.worker()"),
        ] {
            let (path, _) = language.page();
            assert!(book.pages.iter().any(|page| page.path == path), "{path}");
            let text = language.invitation("http://127.0.0.1:7373");
            assert!(text.contains(word), "{text}");
        }
    }

    #[test]
    fn a_project_is_recognised_by_its_files() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(Language::of_project(directory.path()), Language::Python);
        std::fs::write(directory.path().join("go.mod"), "").unwrap();
        assert_eq!(Language::of_project(directory.path()), Language::Go);
    }
}
