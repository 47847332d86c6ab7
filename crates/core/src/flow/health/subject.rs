//! The subject of a health document: a destination, for all tenants or for one.

use std::fmt;

use crate::values::{Destination, Tenant};

/// A destination as all tenants see it, or as one of them does.
///
/// What a tenant's attempts show is held against its own jobs only: it chooses which destination its
/// jobs name, which address they call, how long they wait, and what its workers report. All tenants
/// are concerned if the calls of nodes fail for several of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HealthSubject {
    /// The system that is called.
    pub destination: Destination,
    /// The tenant; `None` for all tenants.
    pub tenant: Option<Tenant>,
}

impl HealthSubject {
    /// The destination as one tenant sees it.
    pub fn of_tenant(destination: &Destination, tenant: &Tenant) -> Self {
        Self {
            destination: destination.clone(),
            tenant: Some(tenant.clone()),
        }
    }

    /// The name of its document: a destination has no spaces.
    pub fn document_id(&self) -> String {
        match &self.tenant {
            None => self.destination.as_str().to_owned(),
            Some(tenant) => format!("{} {tenant}", self.destination),
        }
    }

    /// Reads the name of a document; `None` if it is no such name.
    pub fn from_document_id(id: &str) -> Option<Self> {
        let (destination, tenant) = match id.split_once(' ') {
            None => (id, None),
            Some((destination, tenant)) => (destination, Some(Tenant::new(tenant).ok()?)),
        };
        Some(Self {
            destination: Destination::new(destination).ok()?,
            tenant,
        })
    }
}

impl From<Destination> for HealthSubject {
    fn from(destination: Destination) -> Self {
        Self {
            destination,
            tenant: None,
        }
    }
}

impl fmt::Display for HealthSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.tenant {
            None => fmt::Display::fmt(&self.destination, f),
            Some(tenant) => write!(f, "{} for tenant {tenant}", self.destination),
        }
    }
}
