//! Reads the comments at the cells of a sheet: notes, and discussions of several persons.

use super::cells::{SheetComments, parse_place, read_stored_value};
use super::{CELL_MAX, read_rich_text};
use crate::DocumentError;
use crate::package::Package;
use crate::text::{TextBuilder, clean_text_line};
use crate::xml::XmlReader;
use std::collections::HashSet;

/// Reads the comments of the sheet in the part `sheet`.
pub(super) fn read_sheet_comments(
    package: &mut Package<'_>,
    sheet: &str,
    text: &mut TextBuilder,
) -> Result<SheetComments, DocumentError> {
    let relations = package.take_relations(sheet)?;
    let (mut comments, mut discussed) = (SheetComments::new(), HashSet::<(usize, usize)>::new());
    // A cell with a discussion also has a note. The note tells programs without discussions to get a newer version.
    for kind in ["threadedComment", "comments"] {
        let Some(part) = package.take_related_part(&relations, kind)? else {
            continue;
        };
        text.count_looks(part.len());
        let (mut reader, mut place) = (XmlReader::new(&part), None);
        while let Some(element) = reader.read_next_element()? {
            let words = match element.name() {
                "comment" | "threadedComment" => {
                    place = element
                        .find_attribute("ref")
                        .and_then(|place| parse_place(&place));
                    continue;
                }
                "text" if kind == "comments" => read_rich_text(&mut reader)?,
                "text" => clean_text_line(&read_stored_value(&mut reader)?, CELL_MAX),
                _ => continue,
            };
            let Some((row, column)) = place.filter(|place| kind != "comments" || !discussed.contains(place))
            else {
                continue;
            };
            if kind != "comments" {
                discussed.insert((row, column));
            }
            if !words.is_empty() {
                comments.entry(row).or_default().push((column, words));
            }
        }
    }
    Ok(comments)
}
