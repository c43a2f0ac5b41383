//! Evolution API (Baileys), versions 1 and 2. Facts are from its source at tags 1.8.2 and 2.3.6 to 2.4.0-rc2.

mod connect;
pub(crate) mod errors;
mod evidence;
mod examine;
mod history;
mod jwt;
mod parse;
mod prove;
pub mod register;
mod seen;
mod send;
mod support;
mod verify;
pub(crate) mod webhook;

pub use parse::instance_of;
pub use verify::{Proof, verify};

pub(crate) use connect::connect;
pub(crate) use evidence::evidence;
pub(crate) use examine::{DEMANDS, examine};
pub(crate) use history::history;
pub(crate) use parse::{interpret, split, split_of};
pub(crate) use prove::{example, example_in_shell, prove, recognises};
pub(crate) use seen::{TYPING_TIMEOUT, mark_read, typing};
pub(crate) use send::{Endpoint, connection, send};
pub(crate) use support::{TEXT_MAX, support};

use recado_domain::provider::Provider;

/// Its name.
pub const NAME: Provider = Provider::named("evolution");
