//! The kind of an office document, by the names of the parts in its archive.

use super::{MediaType, WINDOW, has_file_extension};
use std::iter;

/// Maximum number of names that are read from the directory of an archive.
const NAMES_MAX: usize = 5_000;

/// Length of an entry in the directory of an archive, before its name.
const ENTRY_BYTES: usize = 46;

/// The usual name of the main part, the folder of the parts, and the type.
const KINDS: [(&[u8], &[u8], MediaType); 3] = [
    (b"word/document.xml", b"word/", MediaType::Docx),
    (b"xl/workbook.xml", b"xl/", MediaType::Xlsx),
    (b"ppt/presentation.xml", b"ppt/", MediaType::Pptx),
];

/// Finds the type of an office document by the names of its parts. They stand at the beginning and the end of a zip. Where they are
/// unusual, the file's name tells it.
pub(super) fn find_office_type(bytes: &[u8], file_name: &str) -> Option<MediaType> {
    let first = &bytes[..bytes.len().min(WINDOW)];
    let last = &bytes[bytes.len().saturating_sub(WINDOW)..];
    let contains = |part: &[u8]| {
        [first, last]
            .iter()
            .any(|window| window.windows(part.len()).any(|name| name == part))
    };
    let usual = KINDS.into_iter().find(|(part, ..)| contains(part));
    usual
        .map(|(.., found)| found)
        .or_else(|| find_unusual_type(bytes, file_name))
}

/// Finds the type of an office document whose main part has another name, such as `word/document2.xml`. Its relations tell the name to the
/// reader of the document.
fn find_unusual_type(bytes: &[u8], file_name: &str) -> Option<MediaType> {
    let names: Vec<&[u8]> = list_archive_names(bytes).take(NAMES_MAX).collect();
    if !names.contains(&b"[Content_Types].xml".as_slice()) {
        return None;
    }
    let is_directly_in = |name: &[u8], folder: &[u8]| {
        let rest = name.strip_prefix(folder);
        rest.is_some_and(|rest| rest.ends_with(b".xml") && !rest.contains(&b'/'))
    };
    let holds = |folder: &[u8]| names.iter().any(|name| is_directly_in(name, folder));
    let by_folder = KINDS.into_iter().find(|(_, folder, _)| holds(folder));
    let by_name = || {
        let mut kinds = KINDS.into_iter();
        kinds.find(|(.., found)| has_file_extension(file_name, &[found.extension()]))
    };
    by_folder.or_else(by_name).map(|(.., found)| found)
}

/// Lists the names in the directory of an archive, which stands at its end. A damaged directory ends the list.
fn list_archive_names(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = find_directory(bytes).unwrap_or_default();
    iter::from_fn(move || {
        let (name, after) = split_directory_entry(rest)?;
        rest = after;
        Some(name)
    })
}

/// Returns the archive from its directory on.
fn find_directory(bytes: &[u8]) -> Option<&[u8]> {
    let last = &bytes[bytes.len().saturating_sub(WINDOW)..];
    let end = last.windows(4).rposition(|mark| mark == b"PK\x05\x06")?;
    let begin: [u8; 4] = last.get(end + 16..end + 20)?.try_into().ok()?;
    bytes.get(usize::try_from(u32::from_le_bytes(begin)).ok()?..)
}

/// Returns the name of the first entry of a directory, and what follows the entry.
fn split_directory_entry(directory: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = |at: usize| {
        let bytes: [u8; 2] = directory.get(at..at + 2)?.try_into().ok()?;
        Some(usize::from(u16::from_le_bytes(bytes)))
    };
    if !directory.starts_with(b"PK\x01\x02") {
        return None;
    }
    let name_end = ENTRY_BYTES + length(28)?;
    let next = name_end + length(30)? + length(32)?;
    Some((directory.get(ENTRY_BYTES..name_end)?, directory.get(next..)?))
}
