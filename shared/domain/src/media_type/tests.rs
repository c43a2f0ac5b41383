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

/// The beginning of a document of the Open Document Format.
fn open_document(kind: &str) -> Vec<u8> {
    let mut bytes = b"PK\x03\x04".to_vec();
    bytes.resize(30, 0);
    bytes.extend(b"mimetypeapplication/vnd.oasis.opendocument.");
    bytes.extend(kind.as_bytes());
    padded(&bytes)
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
        (open_document("text"), MediaType::Odt),
        (open_document("spreadsheet"), MediaType::Ods),
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

/// A zip whose directory has these names, without their content.
fn zip_directory_of(names: &[&str]) -> Vec<u8> {
    let mut bytes = zip_of(&["x"]);
    let begin = u32::try_from(bytes.len()).unwrap();
    for name in names {
        bytes.extend(b"PK\x01\x02");
        bytes.extend([0; 24]);
        bytes.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
        // A comment of two bytes stands behind the name.
        bytes.extend([0, 0, 2, 0]);
        bytes.extend([0; 12]);
        bytes.extend(name.as_bytes());
        bytes.extend(b"--");
    }
    bytes.extend(b"PK\x05\x06");
    bytes.extend([0; 12]);
    bytes.extend(begin.to_le_bytes());
    bytes.extend([0; 2]);
    bytes
}

#[test]
fn an_office_document_whose_main_part_has_another_name_is_known_by_its_folder_or_the_files_name() {
    let types = "[Content_Types].xml";
    for (part, name, expected) in [
        ("word/document2.xml", "", Some(MediaType::Docx)),
        ("xl/workbook2.xml", "list.csv", Some(MediaType::Xlsx)),
        ("ppt/main.xml", "x.docx", Some(MediaType::Pptx)),
        ("doc/main.xml", "Preços.DOCX", Some(MediaType::Docx)),
        ("doc/main.xml", "x.xlsx", Some(MediaType::Xlsx)),
        ("doc/main.xml", "x.zip", None),
        // A workbook in Excel's binary form.
        ("xl/workbook.bin", "", None),
        ("word/media/a.xml", "", None),
    ] {
        let bytes = zip_directory_of(&[types, "_rels/.rels", part]);
        assert_eq!(
            MediaType::from_file(&bytes, Some(name)),
            expected,
            "{part} {name}"
        );
        let plain = zip_directory_of(&[part]);
        assert_eq!(MediaType::from_file(&plain, Some(name)), None, "{part}");
        assert_eq!(found(&bytes[..bytes.len() - 4]), None, "{part}");
    }
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
        T::Odt,
        T::Ods,
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

    #[test]
    fn no_directory_of_an_archive_breaks_it(entry in prop::collection::vec(any::<u8>(), 0..80), begin in 0_u32..8) {
        let mut bytes = b"PK\x03\x04PK\x01\x02".to_vec();
        bytes.extend(entry);
        bytes.extend(b"PK\x05\x06");
        bytes.extend([0; 12]);
        bytes.extend(begin.to_le_bytes());
        bytes.extend([0; 2]);
        let _ = MediaType::from_file(&bytes, Some("a.docx"));
    }
}
