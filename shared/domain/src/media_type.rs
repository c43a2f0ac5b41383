//! The type of a file, found by its bytes. A provider's MIME type and a file's name are claims, and may be wrong.

mod named;

/// Number of bytes at the beginning and at the end of a file that are looked at.
const WINDOW: usize = 64 * 1024;

/// A type of file that Recado can do something with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MediaType {
    /// A JPEG picture.
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
    /// A web page.
    Html,
    /// A table whose fields are separated by a character.
    Csv,
    /// Plain text.
    Text,
}

impl MediaType {
    /// Finds the type of a file by its bytes. `None`: the type is not one of those that Recado knows. The name only tells
    /// kinds of text apart.
    pub fn from_file(bytes: &[u8], file_name: Option<&str>) -> Option<Self> {
        let found = infer::get(bytes).map(|found| found.mime_type());
        if let Some(binary) = found.and_then(from_signature) {
            return Some(binary);
        }
        if bytes.starts_with(b"PK\x03\x04") {
            return find_office_type(bytes);
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
        visible.into_iter().find(|known| known.mime_type() == mime_type)
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
            Self::Html => "text/html",
            Self::Csv => "text/csv",
            Self::Text => "text/plain",
        }
    }

    /// Returns the usual end of such a file's name, without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Jpeg => "jpg",
            Self::Png => "png",
            Self::Gif => "gif",
            Self::Webp => "webp",
            Self::Ogg => "ogg",
            Self::Mp3 => "mp3",
            Self::M4a => "m4a",
            Self::Amr => "amr",
            Self::Aac => "aac",
            Self::Wav => "wav",
            Self::Flac => "flac",
            Self::Mp4 => "mp4",
            Self::Webm => "webm",
            Self::Pdf => "pdf",
            Self::Docx => "docx",
            Self::Xlsx => "xlsx",
            Self::Pptx => "pptx",
            Self::Html => "html",
            Self::Csv => "csv",
            Self::Text => "txt",
        }
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
            Self::Docx | Self::Xlsx | Self::Pptx | Self::Html | Self::Csv | Self::Text
        )
    }
}

/// Returns the type for a MIME type that a signature gave, for files that are not text.
fn from_signature(mime_type: &str) -> Option<MediaType> {
    let found = match mime_type {
        "image/jpeg" => MediaType::Jpeg,
        "image/png" => MediaType::Png,
        "image/gif" => MediaType::Gif,
        "image/webp" => MediaType::Webp,
        "audio/ogg" | "audio/opus" => MediaType::Ogg,
        "audio/mpeg" => MediaType::Mp3,
        "audio/m4a" => MediaType::M4a,
        "audio/amr" => MediaType::Amr,
        "audio/aac" => MediaType::Aac,
        "audio/x-wav" => MediaType::Wav,
        "audio/x-flac" => MediaType::Flac,
        "video/mp4" | "video/x-m4v" => MediaType::Mp4,
        "video/webm" => MediaType::Webm,
        "application/pdf" => MediaType::Pdf,
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document" => MediaType::Docx,
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" => MediaType::Xlsx,
        "application/vnd.openxmlformats-officedocument.presentationml.presentation" => MediaType::Pptx,
        _ => return None,
    };
    Some(found)
}

/// Finds the type of an office document by the names of its parts. These stand at the beginning and the end of a zip.
fn find_office_type(bytes: &[u8]) -> Option<MediaType> {
    let first = &bytes[..bytes.len().min(WINDOW)];
    let last = &bytes[bytes.len().saturating_sub(WINDOW)..];
    let contains = |part: &[u8]| {
        [first, last]
            .iter()
            .any(|window| window.windows(part.len()).any(|name| name == part))
    };
    let known: [(&[u8], MediaType); 3] = [
        (b"word/document.xml", MediaType::Docx),
        (b"xl/workbook.xml", MediaType::Xlsx),
        (b"ppt/presentation.xml", MediaType::Pptx),
    ];
    known
        .into_iter()
        .find(|(part, _)| contains(part))
        .map(|(_, found)| found)
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(bytes: &[u8]) -> Option<MediaType> {
        MediaType::from_file(bytes, None)
    }

    fn padded(start: &[u8]) -> Vec<u8> {
        let mut bytes = start.to_vec();
        bytes.resize(300.max(start.len()), 0);
        bytes
    }

    /// A zip whose entries have these names and no content.
    fn zip_of(names: &[&str]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for name in names {
            bytes.extend(b"PK\x03\x04");
            bytes.extend([0; 22]);
            bytes.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
            bytes.extend([0; 2]);
            bytes.extend(name.as_bytes());
        }
        bytes
    }

    #[test]
    fn a_file_is_known_by_its_first_bytes() {
        let mut opus = padded(b"OggS");
        opus[28..36].copy_from_slice(b"OpusHead");
        let mut webm = padded(&[0x1a, 0x45, 0xdf, 0xa3]);
        webm[24..31].copy_from_slice(b"\x42\x82\x84webm");
        for (bytes, expected) in [
            (padded(&[0xff, 0xd8, 0xff, 0xe0]), MediaType::Jpeg),
            (padded(b"\x89PNG\r\n\x1a\n"), MediaType::Png),
            (padded(b"GIF89a"), MediaType::Gif),
            (padded(b"RIFF\x10\0\0\0WEBPVP8 "), MediaType::Webp),
            (opus, MediaType::Ogg),
            (padded(b"OggS"), MediaType::Ogg),
            (padded(b"ID3\x04"), MediaType::Mp3),
            (padded(&[0xff, 0xfb, 0x90]), MediaType::Mp3),
            (padded(b"\0\0\0\x20ftypM4A \0\0\0\0"), MediaType::M4a),
            (padded(b"\0\0\0\x20ftypmp42\0\0\0\0"), MediaType::Mp4),
            (padded(b"\0\0\0\x20ftypisom\0\0\0\0"), MediaType::Mp4),
            (webm, MediaType::Webm),
            (padded(b"#!AMR\n"), MediaType::Amr),
            (padded(&[0xff, 0xf1, 0x50]), MediaType::Aac),
            (padded(b"RIFF\x10\0\0\0WAVEfmt "), MediaType::Wav),
            (padded(b"fLaC"), MediaType::Flac),
            (padded(b"%PDF-1.7\n"), MediaType::Pdf),
        ] {
            assert_eq!(found(&bytes), Some(expected));
            // A name does not make a file another one.
            assert_eq!(MediaType::from_file(&bytes, Some("list.csv")), Some(expected));
        }
    }

    #[test]
    fn an_office_document_is_known_by_its_parts_wherever_they_stand() {
        for (part, expected) in [
            ("word/document.xml", MediaType::Docx),
            ("xl/workbook.xml", MediaType::Xlsx),
            ("ppt/presentation.xml", MediaType::Pptx),
        ] {
            let usual = ["[Content_Types].xml", "_rels/.rels", part];
            let last = ["docProps/app.xml", "customXml/a", "b", "c", "d", "e", part];
            assert_eq!(found(&zip_of(&[part])), Some(expected));
            assert_eq!(found(&zip_of(&usual)), Some(expected));
            assert_eq!(found(&zip_of(&last)), Some(expected));
        }
        assert_eq!(found(&zip_of(&["photos/1.jpg"])), None);
    }

    #[test]
    fn text_is_told_from_bytes_and_kinds_of_text_by_their_name() {
        let windows = "a,b\nS\u{e3}o Paulo,1\n"
            .chars()
            .map(|letter| u8::try_from(letter).unwrap())
            .collect::<Vec<_>>();
        for (bytes, name, expected) in [
            (&b"nome;telefone\nAna;1\n"[..], "x.CSV", MediaType::Csv),
            (b"nome;telefone\nAna;1\n", "x", MediaType::Text),
            (&windows, "x.csv", MediaType::Csv),
            ("São Paulo".as_bytes(), "", MediaType::Text),
            (&[0xff, 0xfe, b'o', 0], "x.txt", MediaType::Text),
            (b"  <!DOCTYPE html><p>hi", "", MediaType::Html),
            (b"hi <b>you</b>", "page.htm", MediaType::Html),
            // Signatures of two letters are words, too.
            (b"BMW, two doors", "", MediaType::Text),
            (b"MZ 1234", "", MediaType::Text),
        ] {
            let name = (!name.is_empty()).then_some(name);
            assert_eq!(MediaType::from_file(bytes, name), Some(expected), "{name:?}");
        }
        for bytes in [&b""[..], b"MZ\x90\0\x03", b"\0\x01\x02", b"text\0text"] {
            assert_eq!(found(bytes), None);
        }
        assert_eq!(found(&[0xe3; 40]), None);
    }

    #[test]
    fn each_type_is_read_in_at_most_one_way() {
        use MediaType as T;
        let all = [
            T::Jpeg,
            T::Png,
            T::Gif,
            T::Webp,
            T::Ogg,
            T::Mp3,
            T::M4a,
            T::Amr,
            T::Aac,
            T::Wav,
            T::Flac,
            T::Mp4,
            T::Webm,
            T::Pdf,
            T::Docx,
            T::Xlsx,
            T::Pptx,
            T::Html,
            T::Csv,
            T::Text,
        ];
        for one in all {
            let ways = [
                one.is_visible_to_model(),
                one.is_transcribable(),
                one.has_readable_text(),
            ];
            assert_eq!(ways.iter().filter(|way| **way).count(), 1, "{one:?}");
            assert!(one.mime_type().contains('/') && !one.extension().is_empty());
        }
    }

    proptest! {
        #[test]
        fn no_bytes_and_no_name_break_it(bytes in prop::collection::vec(any::<u8>(), 0..400), zip in any::<bool>(), name in ".*") {
            let mut bytes = bytes;
            if zip {
                bytes.splice(0..0, *b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\xff\xff\xff\xff\0\0\0\0\x13\0\0\0[Content_Types].xml");
            }
            let _ = MediaType::from_file(&bytes, Some(&name));
        }
    }
}
