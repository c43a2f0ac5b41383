//! Words of a text without accents, in small letters, for rules that compare words.

/// Splits a text into its words.
pub(crate) fn split_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'')
        .map(|word| word.trim_matches('\''))
        .filter(|word| !word.is_empty())
}

/// Writes a text in small letters without accents and apostrophes.
pub fn fold_text(text: &str) -> String {
    let fold_char = |plain: char| match plain {
        'á' | 'à' | 'â' | 'ã' | 'ä' => Some('a'),
        'é' | 'è' | 'ê' | 'ë' => Some('e'),
        'í' | 'ì' | 'î' | 'ï' => Some('i'),
        'ó' | 'ò' | 'ô' | 'õ' | 'ö' => Some('o'),
        'ú' | 'ù' | 'û' | 'ü' => Some('u'),
        'ç' => Some('c'),
        'ñ' => Some('n'),
        // The last are accents that follow their letters as characters of their own.
        '\'' | '’' | '\u{300}'..='\u{36f}' => None,
        other => Some(other),
    };
    text.chars()
        .flat_map(char::to_lowercase)
        .filter_map(fold_char)
        .collect()
}
