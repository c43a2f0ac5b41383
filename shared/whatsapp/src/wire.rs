//! Helpers that the providers share: HTTP exchanges, JSON, the classes of errors, and files in messages. Nothing here
//! names a provider.

pub(crate) mod content_support;
pub(crate) mod error_class;
pub(crate) mod error_table;
pub(crate) mod error_title;
pub(crate) mod file_download;
pub mod http_exchange;
pub mod json;
pub(crate) mod media_file;
pub(crate) mod template_lookup;

use recado_domain::inbound::{InboundEvent, WebhookItem};
use std::borrow::Cow;

/// The meaning of a part of a webhook, or the reason why the part is ignored.
pub(crate) type ReadItem = Result<WebhookItem, Cow<'static, str>>;

/// The meaning of an event's payload, or the reason why the event is ignored.
pub(crate) type ReadEvent = Result<InboundEvent, Cow<'static, str>>;
