//! Reads the properties of rows and cells of tables.

use super::WordReader;
use crate::DocumentError;
use crate::story::CellRows;

impl WordReader<'_, '_, '_> {
    pub(super) fn read_row_properties(&mut self) -> Result<(), DocumentError> {
        self.read_inner_elements(|reader, element, around| match (element.name(), around) {
            ("del", []) => reader.properties.is_row_deleted = true,
            ("gridBefore", []) => reader
                .story
                .skip_table_columns(element.find_number("val").unwrap_or(1)),
            _ => {}
        })
    }

    pub(super) fn read_cell_properties(&mut self) -> Result<(), DocumentError> {
        let (mut columns, mut rows) = (1, CellRows::One);
        self.read_inner_elements(|_, element, around| match (element.name(), around) {
            ("gridSpan", []) => columns = element.find_number("val").unwrap_or(1),
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
