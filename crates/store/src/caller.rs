//! Who asks the store.

pub(crate) mod request;

use steadfast_core::Tenant;

/// Who asks the store.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StoreCaller {
    /// The tenant of the caller; `None` if it may see all.
    pub tenant: Option<Tenant>,
    /// Whether it claims, renews or settles: no list may delay that, not even one of its own.
    pub works: bool,
    /// Whether it only reads: of the requests that a node handles, these have a part of their own.
    /// For the store, lists and creates are the same.
    pub reads: bool,
}
