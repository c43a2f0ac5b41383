//! Splits a text that is too long for one message into parts.
//!
//! A text is split where a reader pauses: between paragraphs, else between lines, sentences or words. A block of code is
//! split only if it is too long for a part, and a word (for example a web address) only if the word alone is too long.

mod marks;

use crate::formatting::is_code_fence;
use marks::{MARKS_UNITS_MAX, MarkedSpans};
use std::cmp::Reverse;
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// A text in parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitText {
    /// The parts in order, at least one. A text that fits into one message is its only part and unchanged.
    pub parts: Vec<String>,
    /// `true` if there were too many parts: the text after the last part is left out.
    pub truncated: bool,
}

/// Shortest part in which marks are closed and opened again. No provider has so short a limit.
const MARKED_MIN: usize = 64;

/// Splits `text` into at most `parts_max` parts of at most `max` UTF-16 code units. (`max` is at least 2, the size of the
/// largest character.) A text has at least as many UTF-16 code units as characters, so the parts also fit if a provider
/// counts characters. Only white space is lost, where two parts meet. A mark or a block of code that is open there is closed at the end
/// of the part and opened again in the next.
pub fn split_text(text: &str, max: usize, parts_max: usize) -> SplitText {
    let max = max.max(2);
    if fitting_length(text, max) == text.len() {
        return SplitText {
            parts: vec![text.to_owned()],
            truncated: false,
        };
    }
    let keeps_marks = max >= MARKED_MIN;
    let room = if keeps_marks { max - MARKS_UNITS_MAX } else { max };
    let (ranges, truncated) = find_part_ranges(text, room, parts_max);
    let parts = if keeps_marks {
        let spans = MarkedSpans::find_marked_spans(text);
        spans.write_marked_parts(text, &ranges)
    } else {
        ranges.into_iter().map(|range| text[range].to_owned()).collect()
    };
    SplitText { parts, truncated }
}

/// Finds the parts of a text that does not fit as a whole. The second value is `true` if there were too many.
fn find_part_ranges(text: &str, max: usize, parts_max: usize) -> (Vec<Range<usize>>, bool) {
    let (mut parts, mut in_code) = (Vec::new(), false);
    let end = text.trim_end().len();
    let mut start = end - text[..end].trim_start().len();
    while start + fitting_length(&text[start..end], max) < end {
        let rest = &text[start..end];
        let point = best_break_point(rest, max, in_code);
        if rest[..point.end].trim().is_empty() {
            // The part would be nothing but indentation.
            start = end - rest.trim_start().len();
            continue;
        }
        parts.push(start..start + point.end);
        if parts.len() >= parts_max {
            return (parts, true);
        }
        (start, in_code) = (start + point.next, point.in_code);
    }
    parts.push(start..end);
    (parts, false)
}

/// A place between two parts.
#[derive(Debug, Clone, Copy)]
struct BreakPoint {
    /// End of the first part, in bytes.
    end: usize,
    /// Start of the second part, in bytes.
    next: usize,
    /// Kind of text that ends at this place.
    ends: BreakKind,
    /// `true` if the second part begins in a block of code.
    in_code: bool,
}

/// The kinds of text that can end at a break point, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum BreakKind {
    Paragraph,
    Line,
    Sentence,
    Word,
    Character,
}

/// Returns the number of bytes of `text` that fit into `max` UTF-16 code units.
fn fitting_length(text: &str, max: usize) -> usize {
    let mut units = 0;
    text.char_indices()
        .find(|(_, c)| {
            units += c.len_utf16();
            units > max
        })
        .map_or(text.len(), |(at, _)| at)
}

/// Returns the best place to end a part of `text`, which does not fit as a whole. A part should be at least half full,
/// unless that would split a block of code that fits into a part.
fn best_break_point(text: &str, max: usize, in_code: bool) -> BreakPoint {
    let fits = fitting_length(text, max);
    let found = find_break_points(text, fits, in_code);
    let long_code = found
        .code_start
        .filter(|start| !is_code_fitting(&text[*start..], max));
    let splits_code = |point: &BreakPoint| point.in_code && long_code.is_none_or(|start| point.end <= start);
    let rank = |point: &BreakPoint| {
        (
            splits_code(point),
            point.end < fits / 2,
            point.ends,
            Reverse(point.end),
        )
    };
    found.points.into_iter().min_by_key(rank).unwrap_or_else(|| {
        let boundaries = text.grapheme_indices(true).map(|(at, _)| at);
        let within = boundaries.take_while(|at| *at <= fits).last();
        // A single visible character (grapheme) that is longer than a part is split between its code points.
        let end = within.filter(|at| *at > 0).unwrap_or(fits);
        BreakPoint {
            end,
            next: end,
            ends: BreakKind::Character,
            in_code: found.ends_in_code,
        }
    })
}

/// Returns `true` if the block of code that begins at the first line of `text` fits into a part.
fn is_code_fitting(text: &str, max: usize) -> bool {
    let part = &text[..fitting_length(text, max)];
    part.lines().skip(1).any(is_code_fence)
}

/// The places where a text can be split.
struct FoundBreaks {
    points: Vec<BreakPoint>,
    /// `true` if code follows the last examined line.
    ends_in_code: bool,
    /// The place of the fence that begins this code, if it was examined.
    code_start: Option<usize>,
}

/// Returns every place in the first `fits` bytes where white space separates two parts with text. None is beside a fence, within the
/// code.
fn find_break_points(text: &str, fits: usize, mut in_code: bool) -> FoundBreaks {
    let (mut points, mut at): (Vec<BreakPoint>, usize) = (Vec::new(), 0);
    let mut code_start = None;
    for line in text.split_inclusive('\n') {
        if at > fits {
            break;
        }
        let said = line.trim_end();
        if said.is_empty() {
            // The line before was the last line of its paragraph.
            if let Some(before) = points.last_mut().filter(|before| before.next == at) {
                (before.ends, before.next) = (BreakKind::Paragraph, at + line.len());
            }
            at += line.len();
            continue;
        }
        let fence = is_code_fence(said);
        if fence && in_code {
            points.pop_if(|before| before.next == at);
        }
        find_word_breaks(said, at, fits, in_code || fence, &mut points);
        in_code ^= fence;
        code_start = if fence { Some(at) } else { code_start };
        if !(fence && in_code) {
            points.push(BreakPoint {
                end: at + said.len(),
                next: at + line.len(),
                ends: BreakKind::Line,
                in_code,
            });
        }
        at += line.len();
    }
    points.retain(|point| point.end <= fits && point.next < text.len());
    FoundBreaks {
        points,
        ends_in_code: in_code,
        code_start: code_start.filter(|_| in_code),
    }
}

/// Adds the places between the words of `line` to `points`. The line begins at `at`; places after `fits` are left out.
fn find_word_breaks(line: &str, at: usize, fits: usize, in_code: bool, points: &mut Vec<BreakPoint>) {
    let (mut within, mut ended) = (false, None);
    for (place, c) in line.char_indices() {
        if is_breaking_space(c) || (ended.is_some() && c.is_whitespace()) {
            ended = ended.or(within.then_some(place));
            continue;
        }
        if at + place > fits && ended.is_none() {
            break;
        }
        within = true;
        if let Some(end) = ended.take() {
            let ends = if ends_sentence(&line[..end]) {
                BreakKind::Sentence
            } else {
                BreakKind::Word
            };
            points.push(BreakPoint {
                end: at + end,
                next: at + place,
                ends,
                in_code,
            });
        }
    }
}

/// Returns `true` for white space at which a line may be broken, so not for a no-break space.
fn is_breaking_space(c: char) -> bool {
    c.is_whitespace() && !matches!(c, '\u{a0}' | '\u{2007}' | '\u{202f}')
}

/// Returns `true` if `text` ends with a sentence: with a punctuation mark, perhaps followed by a closing quotation mark,
/// bracket or Markdown sign. A number followed by a dot does not count: it usually numbers the text after it.
fn ends_sentence(text: &str) -> bool {
    let text = text.trim_end_matches(['"', '\'', ')', ']', '»', '”', '’', '*', '_']);
    let counts = |before: &str| before.ends_with(|c: char| c.is_ascii_digit());
    text.ends_with(['.', '!', '?', '…', '。', '！', '？']) && !text.strip_suffix('.').is_some_and(counts)
}

#[cfg(test)]
mod tests;
