//! The use cases: what the functions do. A use case imports steps and no other use case.

pub mod alert;
pub mod audit;
pub mod catch_up;
pub mod configure;
pub mod contacts;
pub mod deliver;
pub mod health;
pub mod ingest;
pub mod key_check;
pub mod knowledge;
pub mod message_file;
pub mod occasions;
pub mod operate;
pub mod opt_outs;
pub mod process;
pub mod published_events;
pub mod reconcile;
pub mod reply;
pub mod self_check;
pub mod send;
pub mod send_email;
pub mod tenant_removal;
pub mod tokens;
pub mod trace;
pub mod trends;
pub mod usage;
