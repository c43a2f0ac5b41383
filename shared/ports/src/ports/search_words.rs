//! The words by which messages and contacts are searched.

/// The most words of a search.
const WORDS_MAX: usize = 8;

/// Longest word of a search, in characters. The rest is cut off.
const CHARACTERS_MAX: usize = 40;

/// The words of a search, of which each begins a word of one message. They hold letters and digits alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchWords(Vec<String>);

impl SearchWords {
    /// Finds the first eight words of a text. `None`: it has none.
    pub fn parse(text: &str) -> Option<Self> {
        let words = text.split(|one: char| !one.is_alphanumeric());
        let words = words
            .filter(|word| !word.is_empty())
            .map(|word| word.chars().take(CHARACTERS_MAX).collect());
        let words: Vec<String> = words.take(WORDS_MAX).collect();
        (!words.is_empty()).then_some(Self(words))
    }

    /// Finds the words by which a contact is looked for. A number is one word of digits, however it is spelled. `None`: there are none.
    pub fn parse_contact(text: &str) -> Option<Self> {
        let is_number = text
            .chars()
            .all(|one| one.is_ascii_digit() || " +()-./".contains(one));
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        if is_number && !digits.is_empty() {
            return Self::parse(&digits);
        }
        Self::parse(text)
    }

    /// Returns the words.
    pub fn words(&self) -> &[String] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_what_lies_between_other_characters() {
        let words = |text: &str| SearchWords::parse(text).map(|found| found.words().join("|"));
        assert_eq!(words(" Olá, Ana! 3:30 ").as_deref(), Some("Olá|Ana|3|30"));
        assert_eq!(words("\"NEAR(a b)\" *").as_deref(), Some("NEAR|a|b"));
        assert_eq!(words("a b c d e f g h i").as_deref(), Some("a|b|c|d|e|f|g|h"));
        assert_eq!(words(&"x".repeat(99)).map(|word| word.len()), Some(40));
        assert_eq!((words("  ?! "), words("")), (None, None));
    }

    #[test]
    fn a_number_is_one_word_however_it_is_spelled() {
        let words = |text: &str| SearchWords::parse_contact(text).map(|found| found.words().join("|"));
        for spelled in ["+55 (11) 98660-0033", "5511986600033", " 55.11.98660.0033 "] {
            assert_eq!(words(spelled).as_deref(), Some("5511986600033"), "{spelled}");
        }
        assert_eq!(words("Ana 2").as_deref(), Some("Ana|2"));
        assert_eq!((words("+ -"), words("")), (None, None));
    }
}
