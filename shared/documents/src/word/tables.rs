//! Reads the properties of rows and cells of tables.

use super::WordReader;
use crate::DocumentError;
use crate::story::CellRows;
use crate::xml::Element;

impl WordReader<'_, '_, '_> {
    pub(super) fn read_row_properties(&mut self) -> Result<(), DocumentError> {
        self.read_inner_elements(|reader, element, around| match (element.name(), around) {
            ("del", []) => reader.properties.is_row_deleted = true,
            ("gridBefore", []) => reader.story.skip_table_columns(read_number(element)),
            _ => {}
        })
    }

    pub(super) fn read_cell_properties(&mut self) -> Result<(), DocumentError> {
        let (mut columns, mut rows) = (1, CellRows::One);
        self.read_inner_elements(|_, element, around| match (element.name(), around) {
            ("gridSpan", []) => columns = read_number(element),
            ("vMerge", []) if element.find_attribute("val").as_deref() == Some("restart") => {
                rows = CellRows::Below(usize::MAX);
            }
            ("vMerge", []) => rows = CellRows::FromAbove,
            _ => {}
        })?;
        self.story.set_cell_span(columns, rows);
        Ok(())
    }
}

fn read_number(element: &Element<'_>) -> usize {
    let number = element
        .find_attribute("val")
        .and_then(|number| number.parse().ok());
    number.unwrap_or(1)
}
