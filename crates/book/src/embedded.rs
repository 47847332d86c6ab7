//! The pages as they were when this crate was built.

use crate::Book;

/// By path from the root of the repository, in the order of the paths.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// The content of a page or a picture.
pub fn file(path: &str) -> Option<&'static [u8]> {
    let found = FILES.binary_search_by_key(&path, |(name, _)| *name).ok()?;
    Some(FILES.get(found)?.1)
}

/// The book. An error is a page that is missing, which a test would have found.
pub fn book() -> Result<Book, String> {
    Book::load(&|path| {
        let content = file(path).ok_or_else(|| format!("{path} is not in the book"))?;
        Ok(String::from_utf8_lossy(content).into_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_and_picture_is_there() {
        let book = book().unwrap();
        assert!(book.pages.len() > 30, "{} pages", book.pages.len());
        for picture in book.pictures() {
            assert!(file(&picture).is_some(), "{picture}");
        }
        let names: Vec<_> = FILES.iter().map(|(name, _)| name).collect();
        assert!(names.is_sorted(), "they are searched by halves");
    }
}
