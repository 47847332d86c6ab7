//! The nodes that serve a store.

use steadfast_store::{DocumentKind, DocumentPage};

use super::{Client, ClientError};
use crate::documents::{cache::decode_documents, node_state::NodeState};

impl Client {
    /// The nodes that serve this store, by name, including those that fell silent within the last hour.
    pub async fn nodes(&self) -> Result<Vec<NodeState>, ClientError> {
        let documents = self
            .store()
            .list_documents(DocumentKind::Node, DocumentPage::All)
            .await?;
        Ok(decode_documents(documents)
            .map(|(_, state)| state)
            .collect())
    }
}
