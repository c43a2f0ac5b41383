//! Opens the archives in which office documents lie. Each part is unpacked at most once, and all of them together within the limit.

use crate::plain::decode_part_xml;
use crate::xml::XmlReader;
use crate::{DocumentError, TextLimits};
use std::collections::HashMap;
use std::io::{Cursor, Read};
use zip::ZipArchive;

/// Maximum number of files in an archive.
const ENTRIES_MAX: usize = 5_000;

/// The signature of an entry in the directory of an archive.
const DIRECTORY_ENTRY: &[u8; 4] = b"PK\x01\x02";

/// The parts of a document.
#[derive(Debug)]
pub(crate) struct Package<'a> {
    archive: ZipArchive<Cursor<&'a [u8]>>,
    /// The places of the parts that were not taken yet, by their names in small letters.
    places: HashMap<String, usize>,
    /// Number of bytes that may still be unpacked.
    room: u64,
}

/// Another part to which a part refers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Relation {
    /// The last word of its type, such as `header`.
    pub(crate) kind: String,
    /// The name of the part.
    pub(crate) target: String,
}

impl<'a> Package<'a> {
    /// Opens an archive.
    pub(crate) fn open_archive(bytes: &'a [u8], limits: &TextLimits) -> Result<Self, DocumentError> {
        // An archive is opened only after this, because opening it makes a record of each entry.
        let entries = bytes.windows(DIRECTORY_ENTRY.len());
        if entries.filter(|window| window == DIRECTORY_ENTRY).count() > ENTRIES_MAX {
            return Err(DocumentError::TooLarge);
        }
        let archive = ZipArchive::new(Cursor::new(bytes)).map_err(|_| DocumentError::Unreadable)?;
        let names = archive.file_names().enumerate();
        let places = names.filter_map(|(place, name)| Some((clean_part_name(&name.ok()?), place)));
        Ok(Self {
            places: places.collect(),
            archive,
            room: limits.unpacked_bytes,
        })
    }

    /// Unpacks a part. `None`: there is no such part, or it was taken before.
    pub(crate) fn take_package_part(&mut self, name: &str) -> Result<Option<String>, DocumentError> {
        let Some(place) = self.places.remove(&clean_part_name(name)) else {
            return Ok(None);
        };
        let entry = self
            .archive
            .by_index(place)
            .map_err(|_| DocumentError::Unreadable)?;
        let mut bytes = Vec::new();
        let read = entry.take(self.room + 1).read_to_end(&mut bytes);
        read.map_err(|_| DocumentError::Unreadable)?;
        self.room = self
            .room
            .checked_sub(bytes.len() as u64)
            .ok_or(DocumentError::TooLarge)?;
        Ok(Some(decode_part_xml(bytes)))
    }

    /// Unpacks a part without which the document cannot be read.
    pub(crate) fn take_needed_part(&mut self, name: &str) -> Result<String, DocumentError> {
        self.take_package_part(name)?.ok_or(DocumentError::Unreadable)
    }

    /// Returns the parts to which a part refers, by their ids. The name of the package itself is empty.
    pub(crate) fn take_relations(&mut self, part: &str) -> Result<HashMap<String, Relation>, DocumentError> {
        let (folder, name) = part.rsplit_once('/').unwrap_or(("", part));
        let Some(xml) = self.take_package_part(&format!("{folder}/_rels/{name}.rels"))? else {
            return Ok(HashMap::new());
        };
        let (mut reader, mut found) = (XmlReader::new(&xml), HashMap::new());
        while let Some(element) = reader.read_next_element()? {
            let is_outside = element.find_attribute("TargetMode").as_deref() == Some("External");
            if element.name() != "Relationship" || is_outside {
                continue;
            }
            let wanted = [
                element.find_attribute("Id"),
                element.find_attribute("Type"),
                element.find_attribute("Target"),
            ];
            if let [Some(id), Some(kind), Some(target)] = wanted {
                let kind = kind.rsplit('/').next().unwrap_or_default().to_owned();
                let target = resolve_target(folder, &target);
                found.insert(id, Relation { kind, target });
            }
        }
        Ok(found)
    }

    /// Unpacks the part to which a relation of this kind leads.
    pub(crate) fn take_related_part(
        &mut self,
        relations: &HashMap<String, Relation>,
        kind: &str,
    ) -> Result<Option<String>, DocumentError> {
        match relations.values().find(|relation| relation.kind == kind) {
            Some(relation) => self.take_package_part(&relation.target),
            None => Ok(None),
        }
    }

    /// Returns the name of the part that is the document itself.
    pub(crate) fn find_document(&mut self, usual: &str) -> Result<String, DocumentError> {
        let relations = self.take_relations("")?;
        let named = relations
            .into_values()
            .find(|relation| relation.kind == "officeDocument");
        let named = named.map(|relation| relation.target);
        let is_there = |name: &String| self.places.contains_key(&clean_part_name(name));
        Ok(named.filter(is_there).unwrap_or_else(|| usual.to_owned()))
    }
}

/// Returns the name of a part as names are compared: letters count in either case, and some programs write other slashes.
fn clean_part_name(name: &str) -> String {
    name.trim_start_matches('/')
        .replace('\\', "/")
        .to_ascii_lowercase()
}

/// Returns the name of the part to which a part in this folder refers.
fn resolve_target(folder: &str, target: &str) -> String {
    if let Some(whole) = target.strip_prefix('/') {
        return whole.to_owned();
    }
    let mut steps: Vec<&str> = folder.split('/').filter(|step| !step.is_empty()).collect();
    for step in target.split('/') {
        match step {
            "" | "." => {}
            ".." => {
                steps.pop();
            }
            step => steps.push(step),
        }
    }
    steps.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_found_from_the_folder_of_their_part() {
        assert_eq!(resolve_target("word", "header1.xml"), "word/header1.xml");
        assert_eq!(
            resolve_target("ppt/slides", "../notesSlides/n.xml"),
            "ppt/notesSlides/n.xml"
        );
        assert_eq!(resolve_target("xl", "/xl/sheet.xml"), "xl/sheet.xml");
        assert_eq!(resolve_target("", "../../a.xml"), "a.xml");
    }
}
