//! Writes the values of cells as Excel shows them, by the number format of the cell. Marks between digits are those of an English
//! Excel, and so are the names of months unless the format names Portuguese or Spanish. Fractions are written as decimals.

use super::decimal::{Digits, show_general, show_scientific};
use super::serial_time::{DateSystem, append_cell_time, is_shown_as_time};
use super::tokens::{FormatToken, NumberCondition, Section, parse_sections};
use std::borrow::Cow;

/// The format of a cell.
#[derive(Debug, Default)]
pub(super) struct CellFormat {
    /// For positive numbers, negative ones, zero and text; or with conditions. None: as the value is.
    sections: Vec<Section>,
}

impl CellFormat {
    /// Reads a format, such as `#,##0.00;[Red]-#,##0.00`.
    pub(super) fn parse(code: &str) -> Self {
        if code.trim().eq_ignore_ascii_case("general") || code.is_empty() {
            return Self::default();
        }
        Self {
            sections: parse_sections(code),
        }
    }

    /// Writes a text.
    pub(super) fn show_cell_text<'a>(&self, text: Cow<'a, str>) -> Cow<'a, str> {
        let of_text = match self.sections.as_slice() {
            [_, _, _, last, ..] => Some(last),
            [only] if only.tokens.contains(&FormatToken::Text) => Some(only),
            _ => None,
        };
        let Some(section) = of_text else { return text };
        // Most often it is the text alone.
        if section.tokens == [FormatToken::Text] {
            return text;
        }
        let mut shown = String::new();
        for token in &section.tokens {
            match token {
                FormatToken::Text | FormatToken::General => shown.push_str(&text),
                FormatToken::Literal(words) => shown.push_str(words),
                _ => {}
            }
        }
        Cow::Owned(shown)
    }

    /// Writes a number.
    pub(super) fn show_number(&self, number: f64, dates: DateSystem) -> String {
        let Some((section, has_sign)) = self.choose_section(number) else {
            return show_general(number);
        };
        if section.is_time() {
            if !is_shown_as_time(number, dates) {
                return show_general(number);
            }
            let mut shown = String::new();
            append_cell_time(number, section, dates, &mut shown);
            return shown;
        }
        let (shown, is_zero) = show_by_section(number.abs(), section);
        if number < 0.0 && has_sign && !is_zero {
            format!("-{shown}")
        } else {
            shown
        }
    }

    /// Returns the section for a number, and whether the sign of a negative one is written before it.
    fn choose_section(&self, number: f64) -> Option<(&Section, bool)> {
        if self.sections.iter().any(|section| section.condition.is_some()) {
            let fits = |section: &&Section| {
                let condition = section.condition.as_ref();
                condition.is_none_or(|condition: &NumberCondition| condition.holds(number))
            };
            return self.sections.iter().find(fits).map(|section| (section, true));
        }
        match self.sections.as_slice() {
            [] => None,
            [only] => Some((only, true)),
            [_, negative, ..] if number < 0.0 => Some((negative, false)),
            [_, _, zero, ..] if number == 0.0 => Some((zero, false)),
            [positive, ..] => Some((positive, true)),
        }
    }
}

/// Writes a number that is not negative. Returns as well whether all its digits are zeros.
fn show_by_section(number: f64, section: &Section) -> (String, bool) {
    let tokens = &section.tokens;
    let is_digit = |token: &FormatToken| matches!(token, FormatToken::Digit(_));
    let has_digits = tokens.iter().any(is_digit);
    if has_digits && tokens.contains(&FormatToken::Slash) {
        return (show_general(number), number == 0.0);
    }
    let percents = tokens
        .iter()
        .filter(|token| **token == FormatToken::Percent)
        .count();
    let mut scaled = number * 100_f64.powi(i32::try_from(percents).unwrap_or(0));
    let point = tokens
        .iter()
        .position(|token| *token == FormatToken::Point)
        .unwrap_or(tokens.len());
    let (whole, after) = tokens.split_at(point);
    let last_digit = whole.iter().rposition(is_digit);
    let commas_after = |tokens: &[FormatToken]| {
        tokens
            .iter()
            .filter(|token| **token == FormatToken::Comma)
            .count()
    };
    let scale = commas_after(&whole[last_digit.map_or(whole.len(), |last| last + 1)..]) + commas_after(after);
    let has_groups = last_digit.is_some_and(|last| commas_after(&whole[..last]) > 0);
    scaled /= 1_000_f64.powi(i32::try_from(scale).unwrap_or(0));
    let decimals = after.iter().filter(|token| is_digit(token)).count();
    if let Some(exponent_digits) = tokens.iter().find_map(FormatToken::exponent_digits) {
        let shown = show_scientific(scaled, decimals, exponent_digits, false);
        return (shown, scaled == 0.0);
    }
    let digits = Digits::round(scaled, decimals);
    let mut shown = String::new();
    let places = whole.iter().filter(|token| is_digit(token)).count();
    append_whole(whole, &digits.whole, places, has_groups, &mut shown);
    append_decimals(after, &digits.decimals, &mut shown);
    if tokens
        .iter()
        .any(|token| matches!(token, FormatToken::General | FormatToken::Text))
        && !has_digits
    {
        // The literals stand around it.
        let general = show_general(number);
        shown = tokens.iter().fold(String::new(), |mut shown, token| {
            match token {
                FormatToken::General | FormatToken::Text => shown.push_str(&general),
                FormatToken::Literal(words) => shown.push_str(words),
                _ => {}
            }
            shown
        });
    }
    (shown, digits.is_zero() && has_digits)
}

/// Adds the digits before the decimal mark, with what stands between them. The first place takes all digits that have no own place.
fn append_whole(tokens: &[FormatToken], digits: &str, places: usize, has_groups: bool, shown: &mut String) {
    let mut place = 0;
    for token in tokens {
        match token {
            FormatToken::Digit(kind) => {
                let right = places - 1 - place;
                let left_most = if place == 0 {
                    digits.len().max(right + 1) - 1
                } else {
                    right
                };
                for position in (right..=left_most).rev() {
                    let digit = digits.len().checked_sub(position + 1);
                    let digit = digit.and_then(|at| digits.get(at..=at)).or(match kind {
                        '0' => Some("0"),
                        '?' => Some(" "),
                        _ => None,
                    });
                    let Some(digit) = digit else { continue };
                    shown.push_str(digit);
                    if has_groups && position > 0 && position % 3 == 0 {
                        shown.push(',');
                    }
                }
                place += 1;
            }
            FormatToken::Literal(words) => shown.push_str(words),
            FormatToken::Percent => shown.push('%'),
            FormatToken::Slash => shown.push('/'),
            _ => {}
        }
    }
}

/// Adds the decimal mark and the digits after it. Zeros at the end are left out where the format does not ask for them.
fn append_decimals(tokens: &[FormatToken], digits: &str, shown: &mut String) {
    let mut kinds = Vec::new();
    for token in tokens {
        if let FormatToken::Digit(kind) = token {
            kinds.push(*kind);
        }
    }
    let needed = kinds
        .iter()
        .rposition(|kind| *kind != '#')
        .map_or(0, |last| last + 1);
    let written = digits.trim_end_matches('0').len().max(needed);
    let mut place = 0;
    for token in tokens {
        match token {
            FormatToken::Point => shown.push('.'),
            FormatToken::Digit(_) => {
                if place < written {
                    shown.push_str(digits.get(place..=place).unwrap_or_default());
                }
                place += 1;
            }
            FormatToken::Literal(words) => shown.push_str(words),
            FormatToken::Percent => shown.push('%'),
            FormatToken::Slash => shown.push('/'),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(code: &str, number: f64) -> String {
        CellFormat::parse(code).show_number(number, DateSystem::From1900)
    }

    #[test]
    fn numbers_are_written_with_their_format() {
        for (code, number, shown) in [
            ("0%", 0.15, "15%"),
            ("0.0%", 0.125, "12.5%"),
            ("[$R$-416] #,##0.00", 1234.5, "R$ 1,234.50"),
            ("\"R$\" #,##0.00;[Red]-\"R$\" #,##0.00", -99.9, "-R$ 99.90"),
            ("#,##0", 1_234_567.4, "1,234,567"),
            ("#,##0", 12.0, "12"),
            ("#,##0", 0.0, "0"),
            ("#,###", 0.0, ""),
            ("00000", 42.0, "00042"),
            ("00000-000", 1_310_100.0, "01310-100"),
            ("(00) 00000-0000", 11_987_654_321.0, "(11) 98765-4321"),
            ("0.00", 1.005, "1.01"),
            ("0.##", 1.5, "1.5"),
            ("#,##0,,\" M\"", 12_300_000.0, "12 M"),
            ("\"yes\";;\"no\"", 1.0, "yes"),
            ("\"yes\";;\"no\"", 0.0, "no"),
            ("\"yes\";\"no\"", 1.0, "yes"),
            (";;;", 5.0, ""),
            ("0.00\" days\"", 1.5, "1.50 days"),
            ("(0.0);(0.0)", -2.0, "(2.0)"),
            ("0", -0.2, "0"),
            ("[<100]\"few\";[>=100]\"many\"", 7.0, "few"),
            ("[<100]\"few\";[>=100]\"many\"", 700.0, "many"),
            ("# ?/?", 0.5, "0.5"),
            ("0.00E+00", 1500.0, "1.50E+03"),
            ("General\" kg\"", 2.5, "2.5 kg"),
            ("@", 12.0, "12"),
            ("General", 12.5, "12.5"),
        ] {
            assert_eq!(show(code, number), shown, "{code} of {number}");
        }
    }

    #[test]
    fn a_text_is_written_by_the_section_for_texts() {
        let show = |code: &str| {
            CellFormat::parse(code)
                .show_cell_text(Cow::Borrowed("Ana"))
                .into_owned()
        };
        assert_eq!(show("@"), "Ana");
        assert_eq!(show("0.00"), "Ana");
        assert_eq!(show("0;0;0;\"Dr. \"@"), "Dr. Ana");
        assert_eq!(show(";;;"), "");
    }
}
