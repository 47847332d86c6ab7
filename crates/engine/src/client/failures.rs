//! Groups of failures: listed, looked at, marked.

use steadfast_core::{FailureFingerprint, FailureGroup, FailureKey, FailureMark, Tenant};
use steadfast_store::{FailureCursor, FailureFilter, Page, PageRequest};

use super::{Client, ClientError};
use crate::limits;

impl Client {
    /// Groups of failures that match, those with the most failures first.
    pub async fn failures(
        &self,
        filter: FailureFilter,
        page: PageRequest<FailureCursor>,
    ) -> Result<Page<FailureGroup, FailureCursor>, ClientError> {
        Ok(self.store().list_failures(filter, page).await?)
    }

    /// The groups of this fingerprint, of a tenant or of all; no more than `limit`. Of very many
    /// tenants not all are searched: name one.
    pub async fn failures_of(
        &self,
        fingerprint: FailureFingerprint,
        tenant: Option<&Tenant>,
        limit: usize,
    ) -> Result<Vec<FailureGroup>, ClientError> {
        let filter = FailureFilter {
            fingerprint: Some(fingerprint),
            tenant: tenant.cloned(),
            ..FailureFilter::default()
        };
        let mut page = PageRequest::first(limit);
        let mut found = Vec::new();
        for _ in 0..limits::FAILURE_LOOKS_MAX {
            let listed = self.store().list_failures(filter.clone(), page).await?;
            found.extend(listed.items);
            page = PageRequest {
                limit,
                after: listed.next,
            };
            if page.after.is_none() || found.len() >= limit {
                break;
            }
        }
        found.truncate(limit);
        Ok(found)
    }

    /// Says what a group of failures is, and who says so. `None` if there is no such group.
    pub async fn mark_failure(
        &self,
        key: FailureKey,
        mark: FailureMark,
        by: Option<&str>,
    ) -> Result<Option<FailureGroup>, ClientError> {
        let by = by.map(str::to_owned);
        let subject = key.fingerprint.to_string();
        let record = self.audit_record("failure.edit", subject, Some(&key.tenant));
        let record = record.map(|record| record.with_detail(mark.to_string()));
        Ok(self.store().mark_failure(key, mark, by, record).await?)
    }
}
