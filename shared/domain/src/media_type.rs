//! The type of a file, found by its bytes. A provider's MIME type and a file's name are claims, and may be wrong.
//!
//! The signatures are those of the crate `infer`.

mod named;
mod office;

pub use named::find_charset;

use office::find_office_type;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

/// Number of bytes at the beginning and at the end of a file that are looked at.
const WINDOW: usize = 64 * 1024;

/// A type of file that Recado can do something with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "lowercase")]
pub enum MediaType {
    /// A JPEG picture.
    #[strum(serialize = "jpg")]
    Jpeg,
    /// A PNG picture.
    Png,
    /// A GIF picture.
    Gif,
    /// A WebP picture, such as a sticker.
    Webp,
    /// A recording in Ogg, such as WhatsApp's voice notes (Opus).
    Ogg,
    /// A recording in MP3.
    Mp3,
    /// A recording in MP4 (AAC).
    M4a,
    /// A recording in AMR.
    Amr,
    /// A recording in AAC, without a container.
    Aac,
    /// A recording in WAV.
    Wav,
    /// A recording in FLAC.
    Flac,
    /// A video in MP4. Some recordings are in this container, too.
    Mp4,
    /// A video in `WebM`. Some recordings are in this container, too.
    Webm,
    /// A PDF document.
    Pdf,
    /// A document of Word.
    Docx,
    /// A spreadsheet of Excel.
    Xlsx,
    /// A presentation of `PowerPoint`.
    Pptx,
    /// A text of the Open Document Format, such as `LibreOffice` writes.
    Odt,
    /// A spreadsheet of the Open Document Format.
    Ods,
    /// A web page.
    Html,
    /// A table whose fields are separated by a character.
    Csv,
    /// Plain text.
    #[strum(serialize = "txt")]
    Text,
}

impl MediaType {
    /// Finds the type of a file by its bytes. `None`: the type is not one of those that Recado knows. The name only tells
    /// kinds of text apart, and kinds of office documents whose parts have unusual names.
    pub fn from_file(bytes: &[u8], file_name: Option<&str>) -> Option<Self> {
        let found = infer::get(bytes).map(|found| found.mime_type());
        if let Some(binary) = found.and_then(from_signature) {
            return Some(binary);
        }
        if bytes.starts_with(b"PK\x03\x04") {
            return find_office_type(bytes, file_name.unwrap_or_default());
        }
        if !is_readable_text(bytes) {
            return None;
        }
        let name = file_name.unwrap_or_default();
        Some(
            if found == Some("text/html") || has_file_extension(name, &["html", "htm"]) {
                Self::Html
            } else if has_file_extension(name, &["csv", "tsv"]) {
                Self::Csv
            } else {
                Self::Text
            },
        )
    }

    /// Returns the type that the model sees as it is and that has this MIME type; `None` for any other.
    pub fn from_visible_mime_type(mime_type: &str) -> Option<Self> {
        let visible = [Self::Jpeg, Self::Png, Self::Gif, Self::Webp, Self::Pdf];
        Self::find_by_mime_type(mime_type, &visible)
    }

    fn find_by_mime_type(mime_type: &str, among: &[Self]) -> Option<Self> {
        among.iter().copied().find(|known| known.mime_type() == mime_type)
    }

    /// Returns the MIME type.
    pub fn mime_type(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
            Self::Ogg => "audio/ogg",
            Self::Mp3 => "audio/mpeg",
            Self::M4a => "audio/mp4",
            Self::Amr => "audio/amr",
            Self::Aac => "audio/aac",
            Self::Wav => "audio/wav",
            Self::Flac => "audio/flac",
            Self::Mp4 => "video/mp4",
            Self::Webm => "video/webm",
            Self::Pdf => "application/pdf",
            Self::Docx => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            Self::Xlsx => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            Self::Pptx => "application/vnd.openxmlformats-officedocument.presentationml.presentation",
            Self::Odt => "application/vnd.oasis.opendocument.text",
            Self::Ods => "application/vnd.oasis.opendocument.spreadsheet",
            Self::Html => "text/html",
            Self::Csv => "text/csv",
            Self::Text => "text/plain",
        }
    }

    /// Returns the usual end of such a file's name, without the dot.
    pub fn extension(self) -> &'static str {
        self.into()
    }

    /// Returns `true` for a picture that the model takes as it is.
    pub fn is_image(self) -> bool {
        matches!(self, Self::Jpeg | Self::Png | Self::Gif | Self::Webp)
    }

    /// Returns `true` if the model takes such a file as it is: a picture or a PDF document.
    pub fn is_visible_to_model(self) -> bool {
        self.is_image() || self == Self::Pdf
    }

    /// Returns `true` if such a file may hold speech that can be transcribed. A server of transcriptions may refuse
    /// [`Self::Amr`] and [`Self::Aac`].
    pub fn is_transcribable(self) -> bool {
        matches!(
            self,
            Self::Ogg
                | Self::Mp3
                | Self::M4a
                | Self::Amr
                | Self::Aac
                | Self::Wav
                | Self::Flac
                | Self::Mp4
                | Self::Webm
        )
    }

    /// Returns `true` if the text of such a file can be read without a model.
    pub fn has_readable_text(self) -> bool {
        matches!(
            self,
            Self::Docx
                | Self::Xlsx
                | Self::Pptx
                | Self::Odt
                | Self::Ods
                | Self::Html
                | Self::Csv
                | Self::Text
        )
    }
}

/// Returns the type for a MIME type that a signature gave, for files that are not text. Some of these names are not ours.
fn from_signature(mime_type: &str) -> Option<MediaType> {
    match mime_type {
        "audio/opus" => Some(MediaType::Ogg),
        "audio/m4a" => Some(MediaType::M4a),
        "audio/x-wav" => Some(MediaType::Wav),
        "audio/x-flac" => Some(MediaType::Flac),
        "video/x-m4v" => Some(MediaType::Mp4),
        _ if mime_type.starts_with("text/") => None,
        _ => MediaType::find_by_mime_type(mime_type, MediaType::VARIANTS),
    }
}

/// Returns `true` for text in UTF-8 or in a code page of Windows. Text in UTF-16 counts if it has a mark of its byte order.
fn is_readable_text(bytes: &[u8]) -> bool {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return true;
    }
    let first = &bytes[..bytes.len().min(WINDOW)];
    let is_control = |byte: &u8| *byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c);
    if first.is_empty() || first.iter().any(is_control) {
        return false;
    }
    let is_utf8 = match std::str::from_utf8(first) {
        Ok(_) => true,
        // The window may end within a character.
        Err(error) => error.error_len().is_none(),
    };
    let foreign = first.iter().filter(|byte| !byte.is_ascii()).count();
    is_utf8 || foreign * 4 <= first.len()
}

fn has_file_extension(file_name: &str, extensions: &[&str]) -> bool {
    let last = file_name.rsplit_once('.').map_or("", |(_, last)| last);
    extensions.iter().any(|known| known.eq_ignore_ascii_case(last))
}

#[cfg(test)]
mod tests;
