//! Each fault as the pipeline sees it, and what a simulator may rely on.

#![expect(clippy::unwrap_used, reason = "this is test code")]

mod conflicts;
mod crashes;
mod damaged;
mod declared_kinds;
mod expiry;
mod indexes;
mod lost;
mod processes;
mod read_costs;
mod repeatable;
mod roles;
mod table;
mod table_records;
mod tenants;
mod throttled;
mod torn;
mod world;
