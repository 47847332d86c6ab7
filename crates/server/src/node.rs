//! The state of a node besides its jobs: workers, waiting requests, limits by tenant.

pub mod claim_sessions;
pub mod job_waits;
pub mod store_check;
pub mod tenant_limiter;
pub mod test_clock;
pub mod versions;
pub mod workers;
