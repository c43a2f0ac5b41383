//! The use cases: what the functions do. A use case imports steps and no other use case.

pub mod catch_up;
pub mod ingest;
pub mod process;
pub mod reconcile;
pub(crate) mod reply;
pub(crate) mod send;
