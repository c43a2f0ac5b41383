//! Finds the file of an outgoing message. Before an upload is sent, the sender replaces its source by the bytes, as a
//! `data:` URL.

use crate::wire::error_class::ErrorClass;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use recado_domain::content::Media;
use recado_domain::outgoing::UPLOAD_PREFIX;
use recado_ports::ports::SendOutcome;

/// The place of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MediaSource<'a> {
    /// URL from which the provider downloads the file.
    Link(&'a str),
    /// Bytes as Base64, with their MIME type.
    Bytes { mime_type: &'a str, base64: &'a str },
    /// The provider's own id of the file.
    Id(&'a str),
}

/// Returns the place of a file. The error is the permanent failure of a message whose file is missing or unreadable.
pub(crate) fn parse_media_source(media: &Media) -> Result<MediaSource<'_>, SendOutcome> {
    let Some(source) = media.source.as_deref() else {
        return Err(permanent_failure("the file has no source"));
    };
    if source.starts_with(UPLOAD_PREFIX) {
        return Err(permanent_failure("the upload is not there any more"));
    }
    if source.starts_with("https://") || source.starts_with("http://") {
        return Ok(MediaSource::Link(source));
    }
    let Some(data) = source.strip_prefix("data:") else {
        return Ok(MediaSource::Id(source));
    };
    let parts = data.split_once(";base64,");
    parts
        .map(|(mime_type, base64)| MediaSource::Bytes { mime_type, base64 })
        .ok_or_else(|| permanent_failure("the file is unreadable"))
}

/// Decodes a file's Base64 into bytes.
pub(crate) fn decode_base64(base64: &str) -> Result<Vec<u8>, SendOutcome> {
    STANDARD
        .decode(base64)
        .map_err(|_| permanent_failure("the file is unreadable"))
}

/// Returns the file name to show: the file's own, or else the last part of its URL, or else `file`.
pub(crate) fn media_file_name(media: &Media) -> String {
    let of_address = || {
        let address = media
            .source
            .as_deref()
            .filter(|source| source.starts_with("http"))?;
        let path = address.split(['?', '#']).next()?;
        let (_, after_scheme) = path.split_once("://")?;
        let (_, name) = after_scheme.rsplit_once('/')?;
        Some(name.to_owned()).filter(|name| !name.is_empty() && name.len() <= 240)
    };
    media
        .file_name
        .clone()
        .or_else(of_address)
        .unwrap_or_else(|| "file".to_owned())
}

/// Builds an outcome that a retry would not change.
pub(crate) fn permanent_failure(why: &str) -> SendOutcome {
    ErrorClass::Permanent.into_send_outcome(why.to_owned(), None, 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::content::MediaKind;

    fn at(source: &str) -> Media {
        Media {
            source: Some(source.to_owned()),
            ..Media::from_kind(MediaKind::Document)
        }
    }

    #[test]
    fn a_file_is_a_link_its_bytes_or_an_id() {
        assert_eq!(
            parse_media_source(&at("https://example.org/a.pdf")),
            Ok(MediaSource::Link("https://example.org/a.pdf"))
        );
        assert_eq!(
            parse_media_source(&at("data:image/png;base64,AAA=")),
            Ok(MediaSource::Bytes {
                mime_type: "image/png",
                base64: "AAA="
            })
        );
        assert_eq!(parse_media_source(&at("1234")), Ok(MediaSource::Id("1234")));
        for gone in [
            at("upload:00"),
            at("data:image/png"),
            Media::from_kind(MediaKind::Image),
        ] {
            assert!(
                matches!(parse_media_source(&gone), Err(SendOutcome::Permanent { .. })),
                "{gone:?}"
            );
        }
    }

    #[test]
    fn a_file_without_a_name_is_named_after_its_address() {
        assert_eq!(media_file_name(&at("https://example.org/x/a.pdf?b=/c")), "a.pdf");
        assert_eq!(media_file_name(&at("https://example.org/")), "file");
        assert_eq!(media_file_name(&at("https://example.org")), "file");
        assert_eq!(media_file_name(&at("data:image/png;base64,AAA=")), "file");
        let named = Media {
            file_name: Some("b.pdf".to_owned()),
            ..at("https://example.org/a.pdf")
        };
        assert_eq!(media_file_name(&named), "b.pdf");
    }
}
