//! What Recado is tested with.
//!
//! [`contract`] holds what every backend must do, written once against the ports; [`builders`] makes the records that
//! tests begin from. [`alert_story`] makes every alert fire and end, [`retention_story`] lets time pass over records,
//! [`erasure_story`] fills a store and queues with what an erasure must take away. [`own_kinds`] are kinds of records that only tests
//! declare, [`declared_kind_story`] shows all that a store does with such a kind, and [`expiry_story`] lets its records expire. [`servers`] stands in for the servers outside, over HTTP; [`webhooks`] makes the bodies that
//! providers post. [`soak`] puts a running `recado` under load and faults, and [`audit`] says whether all that came in
//! was answered once; [`chance`] makes their random numbers. [`emf`] reads the
//! metrics in the log of a function. [`any_cursor`] asks every list at any cursor. [`text_library`] splits and searches documents. [`ports`] helps to call ports and to wrap them; [`stored_file`] stores
//! the file of a message, [`stored_effect`] what a tool did, [`stored_guest`] a guest, [`stored_batch`] a batch of invitations, [`sample_records`] a record of each kind, [`service_requests`] are requests of an earlier service, [`kept_queues`] are queues and files in memory, and
//! [`kept_answers`] compares what an earlier program answered.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "this crate is test code: whatever is not as it should be ends the test"
)]

pub mod alert_story;
pub mod any_cursor;
pub mod audit;
pub mod builders;
pub mod chance;
pub mod contract;
pub mod damaged_event_story;
pub mod damaged_letter_story;
pub mod declared_kind_story;
pub mod emf;
pub mod erasure_story;
pub mod expiry_story;
pub mod idle;
pub mod kept_answers;
pub mod kept_queues;
pub mod moved_records;
pub mod own_kinds;
pub mod pdf_files;
pub mod ports;
pub mod retention_story;
pub mod sample_configuration;
pub mod sample_records;
pub mod servers;
pub mod service_requests;
#[cfg(feature = "soak")]
pub mod soak;
pub mod stored_batch;
pub mod stored_effect;
pub mod stored_file;
pub mod stored_guest;
pub mod stored_usage;
pub mod text_library;
pub mod webhooks;
