//! Style sheets, scripts and the font, carried inside the binary.

use std::borrow::Cow;

use axum::{
    extract::Path,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use rust_embed::RustEmbed;

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
    let digits: String = hash
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let tag = format!("\"{digits}\"");
    let cached = headers.get(header::IF_NONE_MATCH);
    let is_fresh = cached.is_some_and(|cached| cached.as_bytes() == tag.as_bytes());
    let tag = HeaderValue::from_str(&tag).unwrap_or(HeaderValue::from_static("\"\""));
    let head = [
        (header::CONTENT_TYPE, HeaderValue::from_static(media_type)),
        (
            header::CACHE_CONTROL,
            HeaderValue::from_static(caching(media_type)),
        ),
        (header::ETAG, tag),
    ];
    if is_fresh {
        return (StatusCode::NOT_MODIFIED, head).into_response();
    }
    (head, found.data).into_response()
}

fn media_type(file: &str) -> Option<&'static str> {
    match file.rsplit_once('.')?.1 {
        "css" => Some("text/css; charset=utf-8"),
        "js" => Some("text/javascript; charset=utf-8"),
        "svg" => Some("image/svg+xml"),
        // The licence of the font goes with it.
        "txt" => Some("text/plain; charset=utf-8"),
        "woff2" => Some("font/woff2"),
        _ => None,
    }
}

/// A new version of the node has a new style sheet, so browsers must revalidate. The font has its
/// version in its name, and text would jump while a browser asks for it again.
fn caching(media_type: &str) -> &'static str {
    match media_type {
        "font/woff2" => "public, max-age=31536000, immutable",
        _ => "no-cache",
    }
}
