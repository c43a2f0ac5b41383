//! 360dialog: Meta's numbers through a partner. Facts are from its documentation of 2026 and from bodies seen in tests
//! of public projects.

mod connect;
pub(crate) mod errors;
mod examine;
mod media;
mod parse;
mod prove;
mod register;
mod send;
mod verify;
pub(crate) mod webhook;

pub use media::{MediaBlock, media_url};
pub use parse::{Addressed, addressed, split};
pub use verify::{Proof, Proven, SECRET_HEADER, SIGNATURE_HEADER, verify};

pub(crate) use connect::connect;
pub(crate) use examine::{DEMANDS, examine};
pub(crate) use prove::prove;
pub(crate) use send::{Endpoint, connection, seen, send};

use recado_domain::provider::Provider;

/// Its name.
pub const NAME: Provider = Provider::named("360dialog");
