//! The answers of the path itself to the hooks of the sender. A module has those that look at the same thing; [`crate::Features`] lists
//! them with those of features.

pub mod instance_state;
pub mod permission;
pub mod sent_message;
