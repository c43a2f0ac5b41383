//! Digits of numbers, as Excel rounds them.

/// Number of significant digits that Excel keeps of a number.
const SIGNIFICANT: usize = 15;

/// Maximum number of digits after the decimal mark.
const DECIMALS_MAX: usize = 30;

/// The digits of a number that is not negative, before and after its decimal mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Digits {
    /// Those before it, without zeros at their beginning.
    pub(super) whole: String,
    /// Those after it.
    pub(super) decimals: String,
}

impl Digits {
    /// Rounds a number to so many digits after the decimal mark, the half up.
    pub(super) fn round(number: f64, decimals: usize) -> Self {
        let decimals = decimals.min(DECIMALS_MAX);
        // `d.dddde±x`: the digits of which the first stands at the place `x`.
        let written = format!("{:.*e}", SIGNIFICANT - 1, number.abs());
        let (mantissa, exponent) = written.split_once('e').unwrap_or((&written, "0"));
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let mut digits: Vec<u8> = mantissa
            .bytes()
            .filter(u8::is_ascii_digit)
            .map(|b| b - b'0')
            .collect();
        // Makes it digits from the place of the whole ones on.
        let mut whole = 1_usize;
        if exponent >= 0 {
            whole = usize::try_from(exponent).unwrap_or(0) + 1;
        } else {
            let zeros = usize::try_from(-exponent).unwrap_or(0);
            digits.splice(0..0, std::iter::repeat_n(0, zeros));
        }
        let wanted = whole + decimals;
        let is_up = digits.get(wanted).is_some_and(|digit| *digit >= 5);
        digits.resize(wanted, 0);
        if is_up {
            for place in (0..wanted).rev() {
                digits[place] += 1;
                if digits[place] < 10 {
                    break;
                }
                digits[place] = 0;
                if place == 0 {
                    digits.insert(0, 1);
                    whole += 1;
                }
            }
        }
        let text = |digits: &[u8]| {
            digits
                .iter()
                .map(|digit| char::from(b'0' + digit))
                .collect::<String>()
        };
        Self {
            whole: text(&digits[..whole]).trim_start_matches('0').to_owned(),
            decimals: text(&digits[whole..]),
        }
    }

    /// Returns `true` if there is nothing but zeros.
    pub(super) fn is_zero(&self) -> bool {
        self.whole.is_empty() && self.decimals.bytes().all(|digit| digit == b'0')
    }
}

/// Writes a number as a cell without a format shows it, but whole numbers with all their digits.
pub(super) fn show_general(number: f64) -> String {
    let size = number.abs();
    if size != 0.0 && !(1e-9..1e15).contains(&size) {
        return show_scientific(number, 5, 2, true);
    }
    let places = if size >= 1.0 { size.log10().floor() } else { 0.0 };
    // Ten significant digits; the width of a cell ends the others.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is between 0 and 15"
    )]
    let decimals = 9_usize.saturating_sub(places as usize);
    let digits = Digits::round(number, decimals);
    let decimals = digits.decimals.trim_end_matches('0');
    let sign = if number < 0.0 && !digits.is_zero() {
        "-"
    } else {
        ""
    };
    let whole = if digits.whole.is_empty() {
        "0"
    } else {
        &digits.whole
    };
    if decimals.is_empty() {
        format!("{sign}{whole}")
    } else {
        format!("{sign}{whole}.{decimals}")
    }
}

/// Writes a number with its exponent, such as `1.5E+03`.
pub(super) fn show_scientific(
    number: f64,
    decimals: usize,
    exponent_digits: usize,
    is_short: bool,
) -> String {
    let written = format!("{:.*e}", decimals.min(DECIMALS_MAX), number);
    let (mantissa, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let mantissa = if is_short && mantissa.contains('.') {
        mantissa.trim_end_matches('0').trim_end_matches('.')
    } else {
        mantissa
    };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}E{sign}{:0exponent_digits$}", exponent.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_as_they_are_written() {
        let round = |number, decimals| {
            let digits = Digits::round(number, decimals);
            format!("{}.{}", digits.whole, digits.decimals)
        };
        assert_eq!(round(1.005, 2), "1.01");
        assert_eq!(round(0.5, 0), "1.");
        assert_eq!(round(9.995, 2), "10.00");
        assert_eq!(round(0.0449, 1), ".0");
        assert_eq!(round(1234.5, 3), "1234.500");
        assert_eq!(round(-7.0, 0), "7.");
        assert_eq!(round(1e20, 0), "100000000000000000000.");
        assert_eq!(round(f64::MIN_POSITIVE, 30), format!(".{}", "0".repeat(30)));
    }

    #[test]
    fn a_number_without_a_format_is_short() {
        for (number, shown) in [
            (0.1 + 0.2, "0.3"),
            (1234.5, "1234.5"),
            (-2.0, "-2"),
            (0.0, "0"),
            (-0.0, "0"),
            (5_500_012_345_678.0, "5500012345678"),
            (1e20, "1E+20"),
            (1.0 / 3.0, "0.333333333"),
        ] {
            assert_eq!(show_general(number), shown);
        }
        assert_eq!(show_scientific(1500.0, 2, 2, false), "1.50E+03");
    }
}
