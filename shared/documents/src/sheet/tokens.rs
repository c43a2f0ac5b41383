//! Splits a number format into its sections and these into their parts.

/// A part of a section.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum FormatToken {
    /// Text that stands as it is.
    Literal(String),
    /// The place of a digit: `0`, `#` or `?`.
    Digit(char),
    /// The decimal mark.
    Point,
    /// A comma: groups of three digits, or thousands.
    Comma,
    /// The number is written as hundredths.
    Percent,
    /// A fraction, or a mark in a date.
    Slash,
    /// An exponent, with its number of digits.
    Exponent(usize),
    /// The value as it is.
    General,
    /// The text of the cell.
    Text,
    /// A part of a date or a time: its letter, and how often it stands.
    Time(char, usize),
    /// Hours, minutes or seconds in all.
    Elapsed(char, usize),
    /// The half of the day.
    HalfDay,
}

impl FormatToken {
    pub(super) fn exponent_digits(&self) -> Option<usize> {
        match self {
            Self::Exponent(digits) => Some(*digits),
            _ => None,
        }
    }
}

/// Which numbers a section is for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NumberCondition {
    comparison: String,
    number: f64,
}

impl NumberCondition {
    fn parse(inside: &str) -> Option<Self> {
        let number = inside.trim_start_matches(['<', '>', '=']);
        Some(Self {
            comparison: inside[..inside.len() - number.len()].to_owned(),
            number: number.trim().parse().ok()?,
        })
    }

    #[expect(clippy::float_cmp, reason = "the format asks for just this number")]
    pub(super) fn holds(&self, number: f64) -> bool {
        match self.comparison.as_str() {
            "<" => number < self.number,
            "<=" => number <= self.number,
            ">" => number > self.number,
            ">=" => number >= self.number,
            "<>" => number != self.number,
            _ => number == self.number,
        }
    }
}

/// A section of a format.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Section {
    pub(super) condition: Option<NumberCondition>,
    pub(super) tokens: Vec<FormatToken>,
    /// The number of a language, for names of months.
    pub(super) language: Option<u32>,
}

impl Section {
    /// Returns `true` if the section is for dates and times.
    pub(super) fn is_time(&self) -> bool {
        let is_time = |token: &FormatToken| {
            matches!(
                token,
                FormatToken::Time(..) | FormatToken::Elapsed(..) | FormatToken::HalfDay
            )
        };
        self.tokens.iter().any(is_time)
    }

    fn push_literal(&mut self, text: &str) {
        match self.tokens.last_mut() {
            Some(FormatToken::Literal(words)) => words.push_str(text),
            _ => self.tokens.push(FormatToken::Literal(text.to_owned())),
        }
    }

    /// Reads what stands in brackets: a currency with its language, a condition, a time in all, or a colour.
    fn push_brackets(&mut self, inside: &str) {
        if let Some(currency) = inside.strip_prefix('$') {
            let (sign, language) = currency.rsplit_once('-').unwrap_or((currency, ""));
            match language.to_ascii_uppercase().as_str() {
                // Dates and times as the computer's owner writes them.
                "F800" => self.push_time_of("y-m-d"),
                "F400" => self.push_time_of("h:m:s"),
                _ => {
                    self.push_literal(sign);
                    self.language = u32::from_str_radix(language, 16).ok().or(self.language);
                }
            }
            return;
        }
        if inside.starts_with(['<', '>', '=']) {
            self.condition = NumberCondition::parse(inside);
            return;
        }
        let unit = inside.chars().next().map(|unit| unit.to_ascii_lowercase());
        if let Some(unit @ ('h' | 'm' | 's')) = unit
            && inside.chars().all(|other| other.eq_ignore_ascii_case(&unit))
        {
            self.tokens.push(FormatToken::Elapsed(unit, inside.len()));
        }
    }

    /// Adds a date or a time that a computer's owner would write in their own way.
    fn push_time_of(&mut self, form: &str) {
        for unit in form.chars() {
            match unit {
                'y' => self.tokens.push(FormatToken::Time('y', 4)),
                unit if unit.is_alphabetic() => self.tokens.push(FormatToken::Time(unit, 2)),
                mark => self.push_literal(&mark.to_string()),
            }
        }
        // What follows says the same in letters.
        self.language = Some(OWN_FORM);
    }
}

/// In place of a language: the section was replaced, and the rest of it does not count.
const OWN_FORM: u32 = u32::MAX;

/// Splits a format into sections.
pub(super) fn parse_sections(code: &str) -> Vec<Section> {
    let mut sections = vec![Section::default()];
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        if first == ';' {
            sections.push(Section::default());
            rest = &rest[1..];
            continue;
        }
        let Some(section) = sections.last_mut() else { break };
        let before = section.language;
        let mut ignored = Section::default();
        let target = if before == Some(OWN_FORM) {
            &mut ignored
        } else {
            section
        };
        rest = push_next_token(target, rest, first);
    }
    sections
}

/// Reads the token that comes next, and returns what follows it.
fn push_next_token<'a>(section: &mut Section, rest: &'a str, first: char) -> &'a str {
    let after = &rest[first.len_utf8()..];
    let second = after.chars().next();
    let skip_second = &after[second.map_or(0, char::len_utf8)..];
    let starts_with = |word: &str| {
        rest.get(..word.len())
            .is_some_and(|own| own.eq_ignore_ascii_case(word))
    };
    match first {
        '"' => {
            let (words, after) = after.split_once('"').unwrap_or((after, ""));
            section.push_literal(words);
            return after;
        }
        '[' => {
            let (inside, after) = after.split_once(']').unwrap_or((after, ""));
            section.push_brackets(inside);
            return after;
        }
        '\\' | '!' => {
            section.push_literal(&second.map(String::from).unwrap_or_default());
            return skip_second;
        }
        // A space as wide as the next character; the next character as often as there is room.
        '_' => {
            section.push_literal(" ");
            return skip_second;
        }
        '*' => return skip_second,
        '0' | '#' | '?' => section.tokens.push(FormatToken::Digit(first)),
        '.' => section.tokens.push(FormatToken::Point),
        ',' => section.tokens.push(FormatToken::Comma),
        '%' => section.tokens.push(FormatToken::Percent),
        '/' => section.tokens.push(FormatToken::Slash),
        '@' => section.tokens.push(FormatToken::Text),
        'E' | 'e' if matches!(second, Some('+' | '-')) => {
            let digits = skip_second.len() - skip_second.trim_start_matches('0').len();
            section.tokens.push(FormatToken::Exponent(digits.max(1)));
            return &skip_second[digits..];
        }
        _ if starts_with("general") => {
            section.tokens.push(FormatToken::General);
            return &rest["general".len()..];
        }
        _ if starts_with("am/pm") || starts_with("a/p") => {
            section.tokens.push(FormatToken::HalfDay);
            return &rest[if starts_with("a/p") { 3 } else { 5 }..];
        }
        _ => return push_time_or_text(section, rest, first),
    }
    after
}

/// Adds a part of a date or a time, or else one character of text. Returns what follows it.
fn push_time_or_text<'a>(section: &mut Section, rest: &'a str, first: char) -> &'a str {
    // The Japanese year is shown as the common one.
    let unit = match first.to_ascii_lowercase() {
        'e' => 'y',
        unit => unit,
    };
    if !matches!(unit, 'y' | 'm' | 'd' | 'h' | 's') {
        section.push_literal(&first.to_string());
        return &rest[first.len_utf8()..];
    }
    let after = rest.trim_start_matches([first, first.to_ascii_lowercase(), first.to_ascii_uppercase()]);
    section
        .tokens
        .push(FormatToken::Time(unit, rest.len() - after.len()));
    after
}
