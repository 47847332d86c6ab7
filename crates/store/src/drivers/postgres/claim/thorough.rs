//! Claims of callers that do not wait: nothing else will tell them of a job that is due.
//!
//! Another node may have stored it a moment ago, and its notification may be under way. A caller that
//! waits is woken by that; one that does not wait would be told that nothing is due.

use super::{Conn, DriverError, claim};
use crate::store::{ClaimRequest, ClaimResult};

pub(in crate::drivers::postgres) async fn claim_thoroughly(
    conn: &mut Conn<'_>,
    request: &ClaimRequest,
) -> Result<ClaimResult, DriverError> {
    let found = claim(conn, request).await?;
    if !request.is_thorough || !found.claims.is_empty() {
        return Ok(found);
    }
    match conn.shared.due.refresh_few(&conn.session()).await? {
        true => claim(conn, request).await,
        false => Ok(found),
    }
}
