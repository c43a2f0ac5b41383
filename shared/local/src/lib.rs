//! An installation on one machine: its settings, its secrets, its ports, and the path of a message through it.

#[macro_use]
extern crate recado_machine;

pub mod compose;
pub mod environment;
pub mod keyring;
pub mod message_path;
pub mod queue_workers;
pub mod server;
#[cfg_attr(not(feature = "traces"), path = "traces_left_out.rs")]
pub mod traces;
