//! Reads which number format each style of cells has.

use super::number_format::CellFormat;
use crate::DocumentError;
use crate::xml::{XmlReader, XmlToken};
use std::collections::HashMap;

/// Maximum number of characters of a format, as in Excel.
const FORMAT_MAX: usize = 255;

/// The formats of a workbook's styles.
#[derive(Debug, Default)]
pub(super) struct CellStyles {
    /// The number of each style's format.
    styles: Vec<u32>,
    formats: HashMap<u32, CellFormat>,
    general: CellFormat,
}

impl CellStyles {
    /// Reads the part with the styles.
    pub(super) fn parse_styles(part: &str) -> Result<Self, DocumentError> {
        let mut reader = XmlReader::new(part);
        let (mut found, mut is_of_cells) = (Self::default(), false);
        while let Some(token) = reader.read_next_token()? {
            match token {
                XmlToken::Open(element) => match element.name() {
                    "numFmt" => {
                        let id = element.find_number("numFmtId");
                        if let Some((id, code)) = id.zip(element.find_attribute("formatCode")) {
                            let code: String = code.chars().take(FORMAT_MAX).collect();
                            found.formats.insert(id, CellFormat::parse(&code));
                        }
                    }
                    "cellXfs" => is_of_cells = true,
                    "xf" if is_of_cells => {
                        found.styles.push(element.find_number("numFmtId").unwrap_or(0));
                    }
                    _ => {}
                },
                XmlToken::Close(end) if end.name() == "cellXfs" => is_of_cells = false,
                _ => {}
            }
        }
        for id in &found.styles {
            if let Some(code) = find_built_in_format(*id) {
                found
                    .formats
                    .entry(*id)
                    .or_insert_with(|| CellFormat::parse(code));
            }
        }
        Ok(found)
    }

    /// Returns the format of a style.
    pub(super) fn find_format(&self, style: usize) -> &CellFormat {
        let id = self.styles.get(style);
        id.and_then(|id| self.formats.get(id)).unwrap_or(&self.general)
    }
}

/// Returns a format that each workbook has. Dates that Excel shows as the computer's owner writes them have the year first.
fn find_built_in_format(id: u32) -> Option<&'static str> {
    Some(match id {
        1 => "0",
        2 => "0.00",
        3 => "#,##0",
        4 => "#,##0.00",
        5 | 6 => "$#,##0;-$#,##0",
        7 | 8 => "$#,##0.00;-$#,##0.00",
        9 => "0%",
        10 => "0.00%",
        11 => "0.00E+00",
        12 => "# ?/?",
        13 => "# ??/??",
        14 | 27..=31 | 36 | 50..=54 | 57 | 58 => "yyyy-mm-dd",
        15 => "d-mmm-yy",
        16 => "d-mmm",
        17 => "mmm-yy",
        18 => "h:mm AM/PM",
        19 => "h:mm:ss AM/PM",
        20 | 32 => "h:mm",
        21 | 33 => "h:mm:ss",
        22 => "yyyy-mm-dd h:mm",
        37 | 38 => "#,##0;(#,##0)",
        39 | 40 => "#,##0.00;(#,##0.00)",
        41 => "#,##0;-#,##0;\"-\"",
        42 => "$#,##0;-$#,##0;$\"-\"",
        43 => "#,##0.00;-#,##0.00;\"-\"",
        44 => "$#,##0.00;-$#,##0.00;$\"-\"",
        45 => "mm:ss",
        46 => "[h]:mm:ss",
        47 => "mm:ss.0",
        48 => "##0.0E+0",
        49 => "@",
        _ => return None,
    })
}
