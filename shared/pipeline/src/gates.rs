//! The features of the sender. A module has those that look at the same thing; [`crate::features`] lists them all.

pub mod instance_state;
pub mod permission;
pub mod sent_message;
