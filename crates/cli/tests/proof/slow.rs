//! Parts that answer late: a resolver, and a store.

mod names;
mod store;
