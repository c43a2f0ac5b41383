//! The adapters for WhatsApp providers: parse and verify webhooks, send messages, and classify errors.
//!
//! Each provider has one folder ([`evolution`], [`meta`], [`dialog360`], [`aws_social`]) with the modules `parse`,
//! `verify`, `send` and `errors`; its [`webhook`] handler combines the first two behind one interface. The parsers
//! tolerate what providers add and leave out: an unknown field is ignored, an unknown kind of message is kept as
//! `Unsupported`, an unknown event is acknowledged as `Ignored`. Nothing here logs, and no error text contains a
//! person's text, name or number.
//!
//! # A further provider
//!
//! It needs a variant of [`Provider`](recado_domain::provider::Provider) with its capabilities, a folder here and one in
//! `shared/onboarding/src`. The compiler then asks for an arm of each `match` over the providers, in `provider.rs`, `registry.rs` and
//! `shared/onboarding/src/lib.rs`. By commit:
//!
//! 1. Read its webhooks: the variant (also in `Provider::ALL`), `parse`, `verify` and `webhook` (its paths, handshake and keys, how it is set
//!    up, and what it would post). Fixtures in `tests/fixtures`, their number in `tests/fixtures.rs`, their snapshots. Its path in
//!    `template.yaml` unless that is `/webhooks/…`. Its keys in `PROOFS` of `shared/lambda/src/required_variables.rs`, the roles of
//!    `template.yaml` and `docs/settings.md`.
//! 2. Send through it: `send`, `support.rs` (what it can send of each kind) and `errors` (a table from answers to classes), from which
//!    `docs/providers/outbound.md` and `errors.md` are written. Its base URL in `config.rs`, its credential in `PROVIDERS` of
//!    `required_variables.rs` and in the same files as the keys.
//! 3. Connect and check it: `admin_client`, `connect`, `check_setup` and `sign` in `shared/onboarding`, and the question of `recado init`
//!    (`NUMBER_QUESTION`).
//! 4. Stand in for it: a server in `tests/kit/src/servers`, its `Kind` in `stand_in.rs`, and stories of `tests/end_to_end`.
//! 5. Describe it: a page in `docs/providers`; README, `recado.toml`, `docs/connecting.md`, the runbooks of keys, CHANGELOG. Its name in
//!    `shared/cli/src/init.rs`, the console's `languages/*.json` (`provider.NAME`), the description of the API and the pattern of
//!    `tests/tidy.sh`. Harmless and secret fields in `shared/machine/src/record/redact.rs`.
//!
//! The other crates ask a provider for its capabilities; `tests/tidy.sh` fails when one of them names a provider. One that passes Meta's
//! bodies on needs little of its own: `meta::parse::WebhookSource` says whose body it is, `meta::body` makes what is sent. Two rules are easy
//! to break: an outcome that is not certainly "not sent" is `Unknown`, and no `why` repeats what the provider said.

pub mod aws_social;
mod client;
mod config;
mod credential_policy;
pub mod dialog360;
#[cfg(test)]
mod errors_page;
pub mod evolution;
pub mod meta;
#[cfg(test)]
mod outbound_page;
mod registry;
mod simulation;
pub mod webhook;
pub mod wire;

#[cfg(test)]
use recado_testkit::servers::scripted as stand_in;

pub use client::WhatsApp;
pub use config::{ProviderConfig, Simulation};
pub use credential_policy::{
    check_credential_and_url, find_credential_ref, is_listed_host, normalize, uses_installation_host,
};
pub use registry::{
    describe_webhook_setup, explain_refusal, interpret_event, is_sent_as_text, list_named_keys,
    required_keys, split_webhook, webhook_handler, webhook_handlers, write_simulated_webhook,
};
pub use simulation::{SimulatedMessage, SimulatedOutbox};
pub use webhook::SimulatedInbound;
pub use wire::json::WebhookParseError;
