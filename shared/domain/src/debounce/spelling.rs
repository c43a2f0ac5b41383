//! Finds messages that only correct the spelling of a word in another message.

use crate::folding::fold_text;

/// Least number of letters of a word that is corrected. In a shorter one, a letter more or less easily makes another word.
const LETTERS_MIN: usize = 4;

/// Returns `true` if `text` only corrects the spelling of a word of `earlier`. It is `*word` or `word*` then, and the word differs
/// by case or accents, by one letter more or less inside it, or by two neighbouring letters that are exchanged. In doubt the
/// answer is `false`: a letter in the place of another ("junho", "julho"), and one more or less at the begin or the end of a
/// word ("pagar", "apagar"; "menino", "meninos"), may change what is meant.
pub fn corrects_spelling(text: &str, earlier: &str) -> bool {
    let Some(word) = find_corrected_word(text) else {
        return false;
    };
    let words = earlier.split_whitespace().map(trim_marks);
    let words: Vec<&str> = words.filter(|part| is_word(part)).collect();
    // Whoever repeats a word as it stands there chooses it ("junho ou julho?"), or insists.
    if words.contains(&word) {
        return false;
    }
    let corrected = fold_letters(word);
    words
        .into_iter()
        .any(|mistyped| is_misspelled(&fold_letters(mistyped), &corrected))
}

/// Returns the word of `*word` and `word*`, if it is one word of nothing but letters.
fn find_corrected_word(text: &str) -> Option<&str> {
    let text = text.trim();
    let starred = text.strip_prefix('*').or_else(|| text.strip_suffix('*'));
    starred.map(str::trim).filter(|word| is_word(word))
}

/// Returns `true` for nothing but letters: a number, an address or two words are none. An accent may be a character of its own.
fn is_word(text: &str) -> bool {
    let is_accent = |c: char| ('\u{300}'..='\u{36f}').contains(&c);
    text.starts_with(char::is_alphabetic) && text.chars().all(|c| c.is_alphabetic() || is_accent(c))
}

/// Leaves out the marks around a word.
fn trim_marks(part: &str) -> &str {
    part.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '@' | '\u{300}'..='\u{36f}'))
}

fn fold_letters(word: &str) -> Vec<char> {
    fold_text(word).chars().collect()
}

/// Returns `true` if the words, in small letters without accents, are the same but for one slip of the fingers.
fn is_misspelled(mistyped: &[char], corrected: &[char]) -> bool {
    let (short, long) = if mistyped.len() < corrected.len() {
        (mistyped, corrected)
    } else {
        (corrected, mistyped)
    };
    if short.len() < LETTERS_MIN {
        return false;
    }
    let same = short.iter().zip(long).take_while(|(a, b)| a == b).count();
    match long.len() - short.len() {
        0 => same == short.len() || begins_exchanged(&short[same..], &long[same..]),
        1 => same > 0 && same < short.len() && short[same..] == long[same + 1..],
        _ => false,
    }
}

/// Returns `true` if the first two letters are exchanged, and all others are the same.
fn begins_exchanged(one: &[char], other: &[char]) -> bool {
    match (one, other) {
        ([first, second, rest @ ..], [left, right, others @ ..]) => {
            first == right && second == left && rest == others
        }
        _ => false,
    }
}
