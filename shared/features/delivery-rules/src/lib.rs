//! Tells whether an invitation may leave, and when: opt-outs, quiet hours, and how often.
//!
//! Its types and rules are in [`recado_domain::delivery_rules`].

pub mod delivery_permission;
pub mod invitation_permission;
pub mod permission_gate;
