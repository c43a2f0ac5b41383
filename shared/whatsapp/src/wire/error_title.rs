//! Masks providers' error texts for records and logs: short, and without numbers, addresses or links.

/// Longest title that is kept, in characters.
const LENGTH_MAX: usize = 120;

/// Longest run of digits that is kept. A longer one may be a phone number or an account.
const DIGITS_MAX: usize = 5;

/// Masks a provider's error text. Addresses and links are left out; runs of 6 or more digits are masked, also if spaces,
/// dots, dashes or brackets stand between the digits, as in phone numbers. The result has at most 120 characters.
pub(crate) fn mask_error_title(raw: &str) -> String {
    let words: Vec<&str> = raw
        .split_whitespace()
        .map(|word| {
            if word.contains("://") || word.contains('@') {
                "***"
            } else {
                word
            }
        })
        .collect();
    mask_digit_runs(&words.join(" "))
        .chars()
        .take(LENGTH_MAX)
        .collect()
}

fn mask_digit_runs(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut row = String::new();
    for c in text.chars() {
        if c.is_ascii_digit() || (!row.is_empty() && " .-()/+".contains(c)) {
            row.push(c);
        } else {
            flush_digit_run(&mut row, &mut out);
            out.push(c);
        }
    }
    flush_digit_run(&mut row, &mut out);
    out
}

fn flush_digit_run(row: &mut String, out: &mut String) {
    if row.chars().filter(char::is_ascii_digit).count() > DIGITS_MAX {
        let end = row.trim_end_matches(|c: char| !c.is_ascii_digit()).len();
        out.push_str("***");
        out.push_str(&row[end..]);
    } else {
        out.push_str(row);
    }
    row.clear();
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_links_and_addresses_are_masked_and_short_numbers_stay() {
        assert_eq!(
            mask_error_title("Object with ID '123456789' is gone"),
            "Object with ID '***' is gone"
        );
        assert_eq!(
            mask_error_title("to +55 (11) 90000-0001 failed"),
            "to +*** failed"
        );
        assert_eq!(mask_error_title("see https://example.org/x now"), "see *** now");
        assert_eq!(mask_error_title("mail a@b.example please"), "mail *** please");
        assert_eq!(
            mask_error_title("more than 24 hours, 404"),
            "more than 24 hours, 404"
        );
        assert_eq!(mask_error_title(&"x".repeat(500)).len(), 120);
    }

    proptest! {
        #[test]
        fn no_title_holds_six_digits_in_a_row(raw: String, number in "[0-9]{6,20}") {
            let title = mask_error_title(&format!("{raw} {number} {raw}"));
            let mut row = 0;
            for c in title.chars() {
                row = if c.is_ascii_digit() { row + 1 } else { 0 };
                prop_assert!(row < 6);
            }
        }
    }
}
