//! Pushes what a scrape would read, for nodes that no scraper reaches.

use tokio_util::sync::CancellationToken;

use super::scrape::{gather, to_text};
use crate::{app::App, telemetry::MetricsPush};

/// Pushes until the node closes, and once more then.
pub async fn run(app: &App, push: &MetricsPush, closing: &CancellationToken) {
    let start = app.client.now();
    loop {
        let pause = tokio::time::sleep(push.every());
        let is_closing = closing.run_until_cancelled(pause).await.is_none();
        // A store that is away is reported by others.
        if let Ok(registry) = gather(app, None).await {
            let text = to_text(&registry);
            push.push(&text, start, app.client.now()).await;
        }
        if is_closing {
            return;
        }
    }
}
