//! Opens the archives in which office documents lie.

use crate::{DocumentError, TextLimits};
use std::io::{Cursor, Read};
use zip::ZipArchive;

/// An archive in memory.
pub(crate) type Package<'a> = ZipArchive<Cursor<&'a [u8]>>;

/// Maximum number of files in an archive.
const ENTRIES_MAX: usize = 5_000;

/// The signature of an entry in the directory of an archive.
const DIRECTORY_ENTRY: &[u8; 4] = b"PK\x01\x02";

/// The parts of an archive that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadParts {
    /// Those whose name says that they are XML. Pictures and the like stay packed.
    Xml,
    /// Any: the document itself names those that are read.
    All,
}

/// Opens an archive whose parts stay within the limit when they are unpacked. They are unpacked once to count them, since an
/// archive may say another size than it has.
pub(crate) fn open_counted_package<'a>(
    bytes: &'a [u8],
    parts: ReadParts,
    limits: &TextLimits,
) -> Result<Package<'a>, DocumentError> {
    // An archive is opened only after this, because opening it makes a record of each entry.
    let entries = bytes.windows(DIRECTORY_ENTRY.len());
    if entries.filter(|window| window == DIRECTORY_ENTRY).count() > ENTRIES_MAX {
        return Err(DocumentError::TooLarge);
    }
    let mut package = ZipArchive::new(Cursor::new(bytes)).map_err(|_| DocumentError::Unreadable)?;
    let mut room = limits.unpacked_bytes;
    for place in 0..package.len() {
        let entry = package.by_index(place).map_err(|_| DocumentError::Unreadable)?;
        let is_xml = entry.name().is_ok_and(|name| is_xml_part_name(&name));
        if parts == ReadParts::Xml && !is_xml {
            continue;
        }
        let copied = std::io::copy(&mut entry.take(room + 1), &mut std::io::sink());
        let unpacked = copied.map_err(|_| DocumentError::Unreadable)?;
        room = room.checked_sub(unpacked).ok_or(DocumentError::TooLarge)?;
    }
    Ok(package)
}

fn is_xml_part_name(name: &str) -> bool {
    let last = name.rsplit_once('.').map_or("", |(_, last)| last);
    last.eq_ignore_ascii_case("xml")
}
