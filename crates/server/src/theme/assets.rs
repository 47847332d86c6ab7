//! Style sheets, scripts and the font, carried inside the binary.

use std::borrow::Cow;

use axum::{
    body::Bytes,
    extract::Path,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use rust_embed::RustEmbed;
use sha2::{Digest as _, Sha256};

#[derive(RustEmbed)]
#[folder = "assets"]
struct Assets;

/// The style sheet that has the colours.
pub fn style_sheet() -> String {
    let found = Assets::get("steadfast.css").map(|found| found.data);
    String::from_utf8_lossy(&found.unwrap_or_default()).into_owned()
}

/// The font that it names, and its name.
pub fn font() -> Option<(String, Cow<'static, [u8]>)> {
    let name = Assets::iter().find(|name| name.ends_with(".woff2"))?;
    Some((name.to_string(), Assets::get(&name)?.data))
}

pub async fn asset(Path(file): Path<String>, headers: HeaderMap) -> Response {
    let (Some(found), Some(media_type)) = (Assets::get(&file), media_type(&file)) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let hash = found.metadata.sha256_hash();
    EmbeddedFile::with_hash(&hash, found.data).respond(&headers, media_type)
}

/// A file that the binary carries or makes of what it carries. Browsers have it revalidated by its
/// hash.
pub struct EmbeddedFile {
    tag: String,
    content: Bytes,
}

impl EmbeddedFile {
    pub fn new(content: impl Into<Cow<'static, [u8]>>) -> Self {
        let content = content.into();
        Self::with_hash(&Sha256::digest(&content), content)
    }

    fn with_hash(hash: &[u8], content: Cow<'static, [u8]>) -> Self {
        let digits: String = hash.iter().take(8).map(|it| format!("{it:02x}")).collect();
        Self {
            tag: format!("\"{digits}\""),
            content: match content {
                Cow::Borrowed(content) => Bytes::from_static(content),
                Cow::Owned(content) => content.into(),
            },
        }
    }

    pub fn respond(&self, headers: &HeaderMap, media_type: &'static str) -> Response {
        let known = headers.get(header::IF_NONE_MATCH);
        let is_fresh = known.is_some_and(|known| known.as_bytes() == self.tag.as_bytes());
        let tag = HeaderValue::from_str(&self.tag);
        let head = [
            (header::CONTENT_TYPE, HeaderValue::from_static(media_type)),
            (
                header::CACHE_CONTROL,
                HeaderValue::from_static(caching(media_type)),
            ),
            (
                header::ETAG,
                tag.unwrap_or(HeaderValue::from_static("\"\"")),
            ),
        ];
        match is_fresh {
            true => (StatusCode::NOT_MODIFIED, head).into_response(),
            false => (head, self.content.clone()).into_response(),
        }
    }
}

/// By the ending of its name.
pub fn media_type(file: &str) -> Option<&'static str> {
    match file.rsplit_once('.')?.1 {
        "html" => Some("text/html; charset=utf-8"),
        "css" => Some("text/css; charset=utf-8"),
        "js" => Some("text/javascript; charset=utf-8"),
        "svg" => Some("image/svg+xml"),
        "png" => Some("image/png"),
        // The licence of the font goes with it.
        "txt" => Some("text/plain; charset=utf-8"),
        "woff2" => Some("font/woff2"),
        _ => None,
    }
}

/// A new version of the node has new pages and style sheets, so browsers must revalidate. The font has its
/// version in its name, and text would jump while a browser asks for it again.
fn caching(media_type: &str) -> &'static str {
    match media_type {
        "font/woff2" => "public, max-age=31536000, immutable",
        _ => "no-cache",
    }
}
