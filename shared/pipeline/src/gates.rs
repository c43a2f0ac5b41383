//! The features of the sender. Each module keeps a promise of its own, and [`crate::features`] lists them.

pub(crate) mod expiry;
pub(crate) mod identity_attempt;
pub(crate) mod instance_state;
pub(crate) mod invitation_gate;
pub(crate) mod read_marks;
pub(crate) mod sent_record;
pub(crate) mod service_window;
