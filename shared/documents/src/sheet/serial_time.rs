//! Writes dates and times, which cells hold as numbers of days.

use super::tokens::{FormatToken, Section};
use std::fmt::Write;

/// The day from which the dates of a workbook are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DateSystem {
    /// The first day of 1900.
    From1900,
    /// The first day of 1904.
    From1904,
}

/// Number of seconds of a day.
const DAY_SECONDS: i64 = 86_400;

/// The largest number that is a date: the last day of 9999.
const LAST_DAY: f64 = 2_958_466.0;

/// Number of days between the first of 1900 and that of 1904.
const FOUR_YEARS: f64 = 1_462.0;

/// The short and the long names of months and days of the week begin alike.
struct CalendarNames {
    months: [&'static str; 12],
    days: [&'static str; 7],
}

const ENGLISH: CalendarNames = CalendarNames {
    months: [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ],
    days: [
        "Sunday",
        "Monday",
        "Tuesday",
        "Wednesday",
        "Thursday",
        "Friday",
        "Saturday",
    ],
};

const PORTUGUESE: CalendarNames = CalendarNames {
    months: [
        "janeiro",
        "fevereiro",
        "março",
        "abril",
        "maio",
        "junho",
        "julho",
        "agosto",
        "setembro",
        "outubro",
        "novembro",
        "dezembro",
    ],
    days: [
        "domingo",
        "segunda-feira",
        "terça-feira",
        "quarta-feira",
        "quinta-feira",
        "sexta-feira",
        "sábado",
    ],
};

const SPANISH: CalendarNames = CalendarNames {
    months: [
        "enero",
        "febrero",
        "marzo",
        "abril",
        "mayo",
        "junio",
        "julio",
        "agosto",
        "septiembre",
        "octubre",
        "noviembre",
        "diciembre",
    ],
    days: [
        "domingo",
        "lunes",
        "martes",
        "miércoles",
        "jueves",
        "viernes",
        "sábado",
    ],
};

/// Returns the names in a language: the last byte of its number says which it is, whatever the country.
fn choose_names(language: Option<u32>) -> &'static CalendarNames {
    match language.map(|language| language & 0xff) {
        Some(0x16) => &PORTUGUESE,
        Some(0x0a) => &SPANISH,
        _ => &ENGLISH,
    }
}

/// Returns `true` if Excel shows a number as a date or a time. One that is out of bounds is shown as signs.
pub(super) fn is_shown_as_time(number: f64, dates: DateSystem) -> bool {
    let last = match dates {
        DateSystem::From1900 => LAST_DAY,
        DateSystem::From1904 => LAST_DAY - FOUR_YEARS,
    };
    (0.0..last).contains(&number)
}

/// A time of a cell in its parts.
struct CellTime {
    year: i64,
    month: usize,
    day: i64,
    weekday: usize,
    /// Seconds since the beginning of the day.
    seconds: i64,
    /// Seconds since the beginning of all days.
    elapsed: i64,
    /// The rest above the second, in parts of which a second has `10^fraction_digits`.
    fraction: i64,
    fraction_digits: usize,
}

/// Adds a number that is a date or a time.
pub(super) fn append_cell_time(number: f64, section: &Section, dates: DateSystem, shown: &mut String) {
    let tokens = &section.tokens;
    let fraction_digits = tokens
        .iter()
        .filter(|token| matches!(token, FormatToken::Digit(_)))
        .count()
        .min(3);
    let time = split_cell_time(number, dates, fraction_digits);
    let names = choose_names(section.language);
    let has_half_day = tokens.contains(&FormatToken::HalfDay);
    let mut has_fraction = false;
    for (place, token) in tokens.iter().enumerate() {
        match token {
            FormatToken::Literal(words) => shown.push_str(words),
            FormatToken::Slash => shown.push('/'),
            FormatToken::Comma => shown.push(','),
            FormatToken::Point => shown.push('.'),
            FormatToken::Percent => shown.push('%'),
            FormatToken::HalfDay => shown.push_str(if time.seconds < DAY_SECONDS / 2 {
                "AM"
            } else {
                "PM"
            }),
            FormatToken::Digit(_) if !has_fraction => {
                has_fraction = true;
                let _ = write!(shown, "{:0width$}", time.fraction, width = time.fraction_digits);
            }
            FormatToken::Elapsed(unit, count) => {
                let total = match unit {
                    'h' => time.elapsed / 3_600,
                    'm' => time.elapsed / 60,
                    _ => time.elapsed,
                };
                let _ = write!(shown, "{total:0count$}");
            }
            FormatToken::Time('m', count) if is_minute(tokens, place) => {
                append_number(time.seconds / 60 % 60, *count, shown);
            }
            FormatToken::Time(unit, count) => {
                append_time_part(&time, names, (*unit, *count), has_half_day, shown);
            }
            _ => {}
        }
    }
}

fn append_time_part(
    time: &CellTime,
    names: &CalendarNames,
    (unit, count): (char, usize),
    has_half_day: bool,
    shown: &mut String,
) {
    match (unit, count) {
        ('y', 1 | 2) => append_number(time.year % 100, 2, shown),
        ('y', _) => append_number(time.year, 4, shown),
        ('m', 1 | 2) => append_number(i64::try_from(time.month + 1).unwrap_or(0), count, shown),
        ('m', 3) => shown.extend(names.months[time.month].chars().take(3)),
        ('m', 5) => shown.extend(names.months[time.month].chars().take(1)),
        ('m', _) => shown.push_str(names.months[time.month]),
        ('d', 1 | 2) => append_number(time.day, count, shown),
        ('d', 3) => shown.extend(names.days[time.weekday].chars().take(3)),
        ('d', _) => shown.push_str(names.days[time.weekday]),
        ('h', _) => {
            let hour = time.seconds / 3_600;
            let hour = if has_half_day { (hour + 11) % 12 + 1 } else { hour };
            append_number(hour, count, shown);
        }
        _ => append_number(time.seconds % 60, count, shown),
    }
}

fn append_number(number: i64, digits: usize, shown: &mut String) {
    let _ = write!(shown, "{number:0width$}", width = digits.min(4));
}

/// Returns `true` if an `m` stands for minutes: after hours, or before seconds.
fn is_minute(tokens: &[FormatToken], place: usize) -> bool {
    let unit = |token: &FormatToken| match token {
        FormatToken::Time(unit, _) | FormatToken::Elapsed(unit, _) => Some(*unit),
        _ => None,
    };
    let before = tokens[..place].iter().rev().find_map(unit);
    let after = tokens[place + 1..].iter().find_map(unit);
    before == Some('h') || after == Some('s')
}

#[expect(clippy::cast_possible_truncation, reason = "a date has at most seven digits")]
fn split_cell_time(number: f64, dates: DateSystem, fraction_digits: usize) -> CellTime {
    let parts = 10_i64.pow(u32::try_from(fraction_digits).unwrap_or(0));
    let mut day = number.floor() as i64;
    let of_day = number - number.floor();
    #[expect(clippy::cast_precision_loss, reason = "it is below 10^8")]
    let mut of_day = (of_day * (DAY_SECONDS * parts) as f64).round() as i64;
    if of_day >= DAY_SECONDS * parts {
        of_day = 0;
        day += 1;
    }
    let seconds = of_day / parts;
    // Days since the first of 1970. In the dates from 1900 there is a 29th of February that never was.
    let since_1970 = match dates {
        DateSystem::From1904 => day - 24_107,
        DateSystem::From1900 if day < 60 => day - 25_568,
        DateSystem::From1900 => day - 25_569,
    };
    let (year, month, month_day) = split_civil_date(since_1970);
    CellTime {
        year,
        month,
        day: month_day,
        weekday: usize::try_from((since_1970 + 4).rem_euclid(7)).unwrap_or(0),
        seconds,
        elapsed: day * DAY_SECONDS + seconds,
        fraction: of_day % parts,
        fraction_digits,
    }
}

/// Splits a date, as days since the first of 1970, into its year, its month from 0 and its day.
fn split_civil_date(days: i64) -> (i64, usize, i64) {
    // Years begin in March here, so that the day of leap years is their last.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = (month + 2) % 12;
    let year = year_of_era + era * 400 + i64::from(month < 2);
    (year, usize::try_from(month).unwrap_or(0), day)
}

#[cfg(test)]
mod tests {
    use super::super::number_format::CellFormat;
    use super::DateSystem;

    #[test]
    fn dates_and_times_are_written_with_their_format() {
        use DateSystem::{From1900, From1904};
        for (code, number, dates, shown) in [
            ("dd/mm/yyyy", 46_000.0, From1900, "09/12/2025"),
            ("dd/mm/yyyy hh:mm", 46_000.75, From1900, "09/12/2025 18:00"),
            ("yyyy-mm-dd", 44_538.0, From1904, "2025-12-09"),
            ("d/m/yy", 61.0, From1900, "1/3/00"),
            ("d/m/yy", 1.0, From1900, "1/1/00"),
            ("[h]:mm", 1.0625, From1900, "25:30"),
            ("[mm]:ss", 1.0 / 24.0, From1900, "60:00"),
            ("hh:mm:ss", 0.999_999_9, From1900, "00:00:00"),
            ("mm:ss.0", 0.5 / 86_400.0, From1900, "00:00.5"),
            ("h:mm AM/PM", 0.5, From1900, "12:00 PM"),
            ("h:mm AM/PM", 0.0, From1900, "12:00 AM"),
            ("mmm-yy", 46_000.0, From1900, "Dec-25"),
            (
                "[$-416]dddd, d \"de\" mmmm",
                46_000.0,
                From1900,
                "terça-feira, 9 de dezembro",
            ),
            ("[$-C0A]mmm", 46_000.0, From1900, "dic"),
            ("[$-F800]dddd, mmmm dd, yyyy", 46_000.0, From1900, "2025-12-09"),
            ("yyyy\"年\"m\"月\"", 46_000.0, From1900, "2025年12月"),
            ("hh:mm", -1.0, From1900, "-1"),
            ("yyyy-mm-dd", 36_526.0, From1900, "2000-01-01"),
        ] {
            assert_eq!(
                CellFormat::parse(code).show_number(number, dates),
                shown,
                "{code} of {number}"
            );
        }
    }
}
