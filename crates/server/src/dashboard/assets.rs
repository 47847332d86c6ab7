//! The style sheet and the script, carried inside the binary.

use axum::{
    extract::Path,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use rust_embed::RustEmbed;

#[derive(RustEmbed)]
#[folder = "assets"]
struct Assets;

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
        // A new version of the node has a new style sheet, so browsers must revalidate.
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
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
        _ => None,
    }
}
