//! The features of the sender. A module has those that look at the same thing; [`crate::features`] lists them all.

pub(crate) mod instance_state;
pub(crate) mod permission;
pub(crate) mod sent_message;
