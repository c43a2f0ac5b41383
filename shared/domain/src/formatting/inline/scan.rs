//! Finds where marks, brackets and code end. No part of a text is looked through again and again: what closes a bracket or code is
//! known from the beginning, and a search that found nothing is not repeated.

use crate::formatting::tag::{HtmlTag, TagKind};
use std::collections::{HashMap, HashSet};

/// A search for the end of something: up to this place, for this sign, as often as this in a row.
type FailedSearch = (usize, char, usize);

/// A text with the ends of its brackets and of its code.
pub(super) struct MarkScan<'a> {
    text: &'a [char],
    /// The place of the bracket that closes the one at a place.
    brackets: HashMap<usize, usize>,
    /// The end of the code that begins at a place.
    codes: HashMap<usize, usize>,
    failed: HashSet<FailedSearch>,
}

impl<'a> MarkScan<'a> {
    pub(super) fn from_characters(text: &'a [char]) -> Self {
        Self {
            text,
            brackets: pair_all_brackets(text),
            codes: pair_code_marks(text),
            failed: HashSet::new(),
        }
    }

    /// Counts how many times in a row the character at `at` stands there.
    pub(super) fn count_same_signs(&self, at: usize, end: usize) -> usize {
        let text = &self.text[at..end];
        text.iter().take_while(|c| **c == text[0]).count()
    }

    /// Returns the end of the code that begins with the backticks at `at`. If nothing closes the code, the end is after these
    /// backticks.
    pub(super) fn find_end_of_code(&self, at: usize) -> usize {
        let known = self.codes.get(&at).copied();
        known.unwrap_or_else(|| at + self.count_same_signs(at, self.text.len()))
    }

    /// Returns the place of the bracket that closes the bracket at `at`.
    pub(super) fn find_closing_bracket(&self, at: usize) -> Option<usize> {
        self.brackets.get(&at).copied()
    }

    /// Returns `true` if the marks at `at` can open a marked text. Text must follow the marks. An underscore or single asterisk must not
    /// stand within a word (`2*3*4`, `snake_case`).
    pub(super) fn can_open_marked(&self, at: usize, length: usize, end: usize) -> bool {
        let followed = self.text[..end]
            .get(at + length)
            .is_some_and(|c| !c.is_whitespace());
        let in_word = at > 0 && self.text[at - 1].is_alphanumeric();
        followed && !(in_word && needs_word_edge(self.text[at], length))
    }

    /// Returns the place of the marks that close the marks before `from`. Code and web addresses are skipped.
    pub(super) fn find_closing_mark(
        &mut self,
        from: usize,
        end: usize,
        sign: char,
        length: usize,
    ) -> Option<usize> {
        if self.failed.contains(&(end, sign, length)) {
            return None;
        }
        let mut at = from;
        while at < end {
            match self.text[at] {
                '\\' => at += 2,
                '`' => at = self.find_end_of_code(at),
                'h' => at += parse_bare_url(self.text, at, end).map_or(1, |length| length.max(1)),
                c if c == sign => {
                    let here = self.count_same_signs(at, end);
                    let after = self.is_within_word(at + here, sign);
                    let closes = at > from && !self.text[at - 1].is_whitespace();
                    // In `**a *b***`, the last three asterisks close both marks, the inner one first.
                    let fits = here == length || (here == 3 && length < 3);
                    if closes && fits && !(after && needs_word_edge(sign, length)) {
                        return Some(at + here - length);
                    }
                    at += here;
                }
                _ => at += 1,
            }
        }
        self.failed.insert((end, sign, length));
        None
    }

    /// Returns `true` if the word goes on at `at`, behind marks. A word with underscores may be a name of code: `__init__.py`, `__len__()`.
    fn is_within_word(&self, at: usize, sign: char) -> bool {
        let joins = |c: char| c.is_alphanumeric() || c == ')';
        match self.text.get(at) {
            Some('.' | '(' | '/' | ':') if sign == '_' => self.text.get(at + 1).copied().is_some_and(joins),
            Some(c) => c.is_alphanumeric(),
            None => false,
        }
    }

    /// Returns the place of the tag that ends one of this kind before `from`, and the place after it.
    pub(super) fn find_closing_tag(
        &mut self,
        from: usize,
        end: usize,
        kind: TagKind,
    ) -> Option<(usize, usize)> {
        let sign = match kind {
            TagKind::Mark(sign) => sign,
            TagKind::Link => 'a',
            TagKind::Heading => 'h',
            TagKind::LineBreak | TagKind::Block | TagKind::Item | TagKind::Plain => return None,
        };
        // No mark is 0 signs long.
        let search = (end, sign, 0);
        if self.failed.contains(&search) {
            return None;
        }
        let mut at = from;
        while at < end {
            match self.text[at] {
                '`' => at = self.find_end_of_code(at),
                '<' => match HtmlTag::parse_html_tag(&self.text[..end], at) {
                    Some(tag) if tag.is_end && tag.kind == kind => return Some((at, at + tag.length)),
                    Some(tag) => at += tag.length,
                    None => at += 1,
                },
                _ => at += 1,
            }
        }
        self.failed.insert(search);
        None
    }
}

fn needs_word_edge(sign: char, length: usize) -> bool {
    sign == '_' || length == 1
}

/// Returns the length of the web address at `at`, whose underscores are no marks.
pub(super) fn parse_bare_url(text: &[char], at: usize, end: usize) -> Option<usize> {
    let text = &text[at..end];
    let begins_with = |what: &str| what.chars().zip(text).filter(|(a, b)| a == *b).count() == what.len();
    if !begins_with("https://") && !begins_with("http://") {
        return None;
    }
    let ends = |c: &char| c.is_whitespace() || "<>()[]*`\\".contains(*c);
    let length = text.iter().take_while(|c| !ends(c)).count();
    // Marks at the end of the address belong to the text around it.
    let marks = text[..length].iter().rev().take_while(|c| matches!(c, '_' | '~'));
    Some(length - marks.count())
}

/// Returns for each opening bracket the place of the one that closes it, those of `[]` and of `()` apart.
fn pair_all_brackets(text: &[char]) -> HashMap<usize, usize> {
    let (mut square, mut round, mut pairs) = (Vec::new(), Vec::new(), HashMap::new());
    for (at, c) in text.iter().enumerate() {
        let opened = match c {
            '[' => {
                square.push(at);
                None
            }
            '(' => {
                round.push(at);
                None
            }
            ']' => square.pop(),
            ')' => round.pop(),
            _ => None,
        };
        if let Some(opened) = opened {
            pairs.insert(opened, at);
        }
    }
    pairs
}

/// Returns the end of each code by its beginning. A run of backticks begins it, and the next one of the same length ends it.
fn pair_code_marks(text: &[char]) -> HashMap<usize, usize> {
    let mut runs = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let length = text[at..].iter().take_while(|c| **c == '`').count();
        if length > 0 {
            runs.push((at, length));
        }
        at += length.max(1);
    }
    let (mut next_of, mut ends) = (HashMap::new(), HashMap::new());
    for (place, length) in runs.into_iter().rev() {
        if let Some(next) = next_of.insert(length, place) {
            ends.insert(place, next + length);
        }
    }
    ends
}
