//! Files of messages: they are uploaded, fetched, read, shown to models and people, and deleted.
//!
//! Its types and rules are in [`recado_domain::message`] and [`recado_domain::media_type`].

pub mod due_files;
pub mod file_fetch;
pub mod file_job;
pub mod file_reading;
pub mod file_record;
pub mod file_routes;
pub mod message_file;
pub mod message_files;
