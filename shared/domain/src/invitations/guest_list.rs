//! Lists of guests as comma-separated values: a row of names, then a guest in each row.

use super::GuestStatus;
use crate::ids::GuestId;
use serde::{Deserialize, Serialize};

/// Largest number of guests of one list.
pub const GUEST_ROWS_MAX: usize = 10_000;

/// A guest as a list or a request names one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuestRow {
    /// Id of the guest; without one, it is derived from the number.
    pub id: Option<GuestId>,
    /// Name.
    pub name: Option<String>,
    /// Phone number in any notation. Personal data: never log it.
    pub phone: Option<String>,
    /// E-mail address.
    pub email: Option<String>,
    /// Language.
    pub language: Option<String>,
    /// IANA time zone; also called `zone` or `timezone`.
    #[serde(alias = "zone", alias = "timezone")]
    pub time_zone: Option<String>,
    /// Status; without one, a new guest is pending, and a known one keeps its own.
    pub status: Option<GuestStatus>,
}

/// The reason why a list or a row of it is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GuestListError {
    /// The list has no row of names.
    #[error("the first row must name the columns: id, name, phone, email, language, time_zone, status")]
    NoNames,
    /// A column is not known.
    #[error("the column `{0}` is none of id, name, phone, email, language, time_zone, status")]
    Column(String),
    /// The list is too long.
    #[error("a list has at most {GUEST_ROWS_MAX} guests: split it")]
    TooLong,
    /// A row has too many cells.
    #[error("the row has more cells than there are columns")]
    Cells,
    /// A cell in quotes does not end.
    #[error("a cell that begins with a quotation mark does not end with one")]
    Quotes,
    /// The status is none.
    #[error("the status is none of pending, confirmed, declined")]
    Status,
    /// The id is not one.
    #[error("the id is not one: 1 to 200 letters, digits, spaces and . _ - @ : + =")]
    Id,
}

/// A row of a list: the line on which it begins, and the guest, or why it is refused.
pub type ListedGuest = (usize, Result<GuestRow, GuestListError>);

/// Splits a list into its rows of cells, each with the line on which it begins. `None` stands for a row whose quotes do not end.
fn split_rows(text: &str, separator: char) -> Vec<(usize, Option<Vec<String>>)> {
    let (mut rows, mut cells, mut cell) = (Vec::new(), Vec::new(), String::new());
    let (mut line, mut begun, mut is_quoted, mut was_quoted) = (1, 1, false, false);
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '"' if is_quoted && characters.peek() == Some(&'"') => {
                characters.next();
                cell.push('"');
            }
            '"' if is_quoted => is_quoted = false,
            '"' if cell.trim().is_empty() && !was_quoted => {
                cell.clear();
                (is_quoted, was_quoted) = (true, true);
            }
            '\n' if !is_quoted => {
                cells.push(std::mem::take(&mut cell).trim().to_owned());
                rows.push((begun, Some(std::mem::take(&mut cells))));
                was_quoted = false;
                line += 1;
                begun = line;
            }
            '\r' if !is_quoted => {}
            c if c == separator && !is_quoted => {
                cells.push(std::mem::take(&mut cell).trim().to_owned());
                was_quoted = false;
            }
            c => {
                line += usize::from(c == '\n');
                cell.push(c);
            }
        }
    }
    if is_quoted {
        rows.push((begun, None));
    } else if !cell.is_empty() || !cells.is_empty() {
        cells.push(cell.trim().to_owned());
        rows.push((begun, Some(cells)));
    }
    rows
}

/// Parses a list of guests. Commas, semicolons or tabs separate the cells, as in the row of names.
pub fn parse_guest_list(text: &str) -> Result<Vec<ListedGuest>, GuestListError> {
    let text = text.trim_start_matches('\u{feff}');
    let names = text.lines().next().unwrap_or_default();
    let separator = [';', '\t', ',']
        .into_iter()
        .find(|separator| names.contains(*separator))
        .unwrap_or(',');
    let mut rows = split_rows(text, separator).into_iter();
    let names = rows
        .next()
        .and_then(|(_, cells)| cells)
        .ok_or(GuestListError::NoNames)?;
    let names: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
    if let Some(unknown) = names.iter().find(|name| !is_column(name)) {
        return Err(GuestListError::Column(unknown.clone()));
    }
    let is_filled = |cells: &Option<Vec<String>>| {
        cells
            .as_ref()
            .is_none_or(|cells| cells.iter().any(|cell| !cell.is_empty()))
    };
    let rows: Vec<ListedGuest> = rows
        .filter(|(_, cells)| is_filled(cells))
        .map(|(line, cells)| (line, read_row(&names, cells)))
        .collect();
    if rows.len() > GUEST_ROWS_MAX {
        return Err(GuestListError::TooLong);
    }
    Ok(rows)
}

fn is_column(name: &str) -> bool {
    let is_zone = ["time_zone", "timezone", "zone"].contains(&name);
    is_zone || ["id", "name", "phone", "email", "language", "status"].contains(&name)
}

fn read_row(names: &[String], cells: Option<Vec<String>>) -> Result<GuestRow, GuestListError> {
    let cells = cells.ok_or(GuestListError::Quotes)?;
    if cells.len() > names.len() {
        return Err(GuestListError::Cells);
    }
    let mut row = GuestRow::default();
    for (name, cell) in names.iter().zip(cells) {
        let value = (!cell.is_empty()).then_some(cell);
        match name.as_str() {
            "id" => {
                let id = value.map(|text| GuestId::parse(&text)).transpose();
                row.id = id.map_err(|_| GuestListError::Id)?;
            }
            "name" => row.name = value,
            "phone" => row.phone = value,
            "email" => row.email = value,
            "language" => row.language = value,
            "status" => {
                let status =
                    value.map(|word| GuestStatus::parse(&word.to_lowercase()).ok_or(GuestListError::Status));
                row.status = status.transpose()?;
            }
            _ => row.time_zone = value,
        }
    }
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The lines, and the name and number in each.
    fn read(text: &str) -> Vec<(usize, String, String)> {
        let rows = parse_guest_list(text).unwrap().into_iter();
        rows.map(|(line, row)| {
            let row = row.unwrap();
            (line, row.name.unwrap_or_default(), row.phone.unwrap_or_default())
        })
        .collect()
    }

    fn guest(line: usize, name: &str, phone: &str) -> (usize, String, String) {
        (line, name.to_owned(), phone.to_owned())
    }

    #[test]
    fn a_list_is_read_with_quotes_blank_rows_and_any_separator() {
        let list = "\u{feff}Name,Phone\r\n\"Ana, \"\"la\"\" madre\",+52 1\r\n\r\n,+52 2\r\n";
        let first = guest(2, "Ana, \"la\" madre", "+52 1");
        assert_eq!(read(list), [first, guest(4, "", "+52 2")]);
        assert_eq!(read("name;phone\nAna, B;1"), [guest(2, "Ana, B", "1")]);
        assert_eq!(read("phone\tname\n1\tAna"), [guest(2, "Ana", "1")]);
    }

    #[test]
    fn a_bad_row_is_told_with_its_line_and_the_others_are_read() {
        let list = "id,name\n\"a\nb\",Ana\nx,Bia,more\nc,\"Eva";
        let rows = parse_guest_list(list).unwrap();
        let told: Vec<(usize, bool)> = rows.iter().map(|(line, row)| (*line, row.is_ok())).collect();
        assert_eq!(told, [(2, false), (4, false), (5, false)]);
        assert_eq!(rows[2].1, Err(GuestListError::Quotes));
    }

    #[test]
    fn a_time_zone_has_three_names() {
        for name in ["time_zone", "Timezone", "zone"] {
            let rows = parse_guest_list(&format!("id,{name}\na,America/Lima\nb,\n")).unwrap();
            let zones: Vec<Option<String>> =
                rows.into_iter().map(|(_, row)| row.unwrap().time_zone).collect();
            assert_eq!(zones, [Some("America/Lima".to_owned()), None], "{name}");
        }
        for name in ["time_zone", "timezone", "zone"] {
            let row: GuestRow = serde_json::from_str(&format!(r#"{{"{name}": "America/Lima"}}"#)).unwrap();
            assert_eq!(row.time_zone.as_deref(), Some("America/Lima"), "{name}");
        }
    }

    #[test]
    fn a_status_is_read_and_an_unknown_one_refuses_its_row() {
        let rows = parse_guest_list("id,status\na,Declined\nb,\nc,maybe\n").unwrap();
        let read: Vec<_> = rows
            .into_iter()
            .map(|(_, row)| row.map(|row| row.status))
            .collect();
        let expected = [
            Ok(Some(GuestStatus::Declined)),
            Ok(None),
            Err(GuestListError::Status),
        ];
        assert_eq!(read, expected);
    }

    #[test]
    fn unknown_columns_and_a_list_without_names_are_refused() {
        assert_eq!(
            parse_guest_list("name,age\n"),
            Err(GuestListError::Column("age".to_owned()))
        );
        assert_eq!(parse_guest_list(""), Err(GuestListError::NoNames));
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "[a-z,;\"\\n\\r é]{0,200}") {
            let _ = parse_guest_list(&text);
            let _ = parse_guest_list(&format!("id,name\n{text}"));
        }
    }
}
