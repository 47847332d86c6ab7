//! The keys that sign messages.

use serde_json::json;
use steadfast_engine::http::qstash::QstashKeys;

use super::{Door, Reply};
use crate::http::Json;

pub async fn read(door: Door) -> Reply {
    let keys = door.client().await?.qstash_keys(&door.tenant).await?;
    answer(&keys)
}

/// The next key becomes the current one.
pub async fn rotate(door: Door) -> Reply {
    let client = door.client().await?;
    answer(&client.rotate_qstash_keys(&door.tenant).await?)
}

fn answer(keys: &QstashKeys) -> Reply {
    Ok(Json(json!({"current": keys.current, "next": keys.next})))
}
