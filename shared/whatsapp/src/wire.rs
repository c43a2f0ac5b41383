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
