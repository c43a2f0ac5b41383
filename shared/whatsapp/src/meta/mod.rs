//! Meta's WhatsApp Cloud API. Facts are from its documentation of 2025-10 to 2026-11 and from bodies seen in tests of
//! public projects.

pub(crate) mod body;
mod connect;
mod connection;
pub(crate) mod errors;
mod examine;
pub(crate) mod parse;
mod prove;
pub mod register;
mod seen;
pub(crate) mod send;
mod support;
mod verify;
pub(crate) mod webhook;

pub use verify::{handshake, verify};

pub(crate) use connect::{VERIFY_TOKEN, connect};
pub(crate) use connection::connection;
pub(crate) use examine::{DEMANDS, examine};
pub(crate) use parse::{interpret, split};
pub(crate) use prove::{prove, recognises};
pub(crate) use seen::{read_mark, seen};
pub(crate) use send::{Endpoint, send};
pub(crate) use support::{TEXT_MAX, support};

use recado_domain::provider::Provider;

/// Its name.
pub const NAME: Provider = Provider::named("meta");
