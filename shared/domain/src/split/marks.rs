//! Marks of WhatsApp's that are open where a text is split: they are closed at the end of the part and opened again in the next.

use crate::formatting::is_code_fence;
use std::ops::Range;

/// The fence of a block of code.
const CODE_FENCE: &str = "```";

/// Most UTF-16 code units that are added to a part: three marks and a code within a line, before the part and behind it.
pub(super) const MARKS_UNITS_MAX: usize = 2 * (3 + CODE_FENCE.len());

/// A part of a text between marks, marks included.
struct MarkedSpan {
    place: Range<usize>,
    /// The mark, as it is written on both sides.
    mark: String,
}

/// The marked parts of a text: blocks of code, and spans within lines.
pub(super) struct MarkedSpans {
    blocks: Vec<Range<usize>>,
    /// In the order of their beginnings.
    spans: Vec<MarkedSpan>,
}

impl MarkedSpans {
    /// Finds what is marked in a text.
    pub(super) fn find_marked_spans(text: &str) -> Self {
        let (mut blocks, mut spans, mut code, mut at) = (Vec::new(), Vec::new(), None, 0);
        for line in text.split_inclusive('\n') {
            if is_code_fence(line.trim_end()) {
                match code.take() {
                    Some(start) => blocks.push(start..at + line.len()),
                    None => code = Some(at),
                }
            } else if code.is_none() {
                find_line_spans(line, at, &mut spans);
            }
            at += line.len();
        }
        // A block without an end reaches to the end of the text.
        blocks.extend(code.map(|start| start..text.len()));
        spans.sort_by_key(|span| span.place.start);
        Self { blocks, spans }
    }

    /// Writes the parts of the text, each with what is open at its beginning and at its end.
    pub(super) fn write_marked_parts(&self, text: &str, ranges: &[Range<usize>]) -> Vec<String> {
        let opened = ranges
            .windows(2)
            .map(|pair| self.write_open_marks(text, pair[0].end..pair[1].start));
        let mut opened: Vec<(String, String)> = opened.collect();
        let cut = ranges.last().filter(|last| last.end < text.trim_end().len());
        opened.push(cut.map_or_else(Default::default, |last| {
            self.write_open_marks(text, last.end..last.end)
        }));
        let before = std::iter::once("").chain(opened.iter().map(|(_, begin)| begin.as_str()));
        let parts = ranges.iter().zip(before).zip(&opened);
        parts
            .map(|((range, begin), (end, _))| format!("{begin}{}{end}", &text[range.clone()]))
            .collect()
    }

    /// Returns what ends the part before `between`, and what begins the part behind it.
    fn write_open_marks(&self, text: &str, between: Range<usize>) -> (String, String) {
        let is_around = |place: &Range<usize>| place.start < between.start && between.end < place.end;
        if self.blocks.iter().any(is_around) {
            return (format!("\n{CODE_FENCE}"), format!("{CODE_FENCE}\n"));
        }
        if text[between.clone()].contains('\n') {
            return Default::default();
        }
        let first = self
            .spans
            .partition_point(|span| span.place.start < between.start);
        let open = self.spans[..first].iter().filter(|span| is_around(&span.place));
        let open: Vec<&str> = open.map(|span| span.mark.as_str()).collect();
        (open.iter().rev().copied().collect(), open.concat())
    }
}

/// Adds what is marked in a line to `spans`. The line begins at `start`.
fn find_line_spans(line: &str, start: usize, spans: &mut Vec<MarkedSpan>) {
    let chars: Vec<(usize, char)> = line.char_indices().collect();
    let is_word = |number: Option<usize>| {
        let found = number.and_then(|number| chars.get(number));
        found.is_some_and(|(_, c)| c.is_alphanumeric())
    };
    let is_space = |number: usize| chars.get(number).is_none_or(|(_, c)| c.is_whitespace());
    let mut open: [(char, Option<usize>); 3] = [('*', None), ('_', None), ('~', None)];
    let (mut code, mut number) = (None, 0);
    while let Some((at, c)) = chars.get(number).copied() {
        let ticks = chars[number..].iter().take_while(|(_, c)| *c == '`').count();
        if ticks > 0 {
            match code.take() {
                Some((opened, length)) if length == ticks => spans.push(MarkedSpan {
                    place: start + opened..start + at + ticks,
                    mark: "`".repeat(ticks),
                }),
                Some(other) => code = Some(other),
                None => code = (ticks <= CODE_FENCE.len()).then_some((at, ticks)),
            }
            number += ticks;
            continue;
        }
        if let Some((_, opened)) = open.iter_mut().find(|(sign, _)| *sign == c && code.is_none()) {
            let before = number.checked_sub(1);
            let after_text = before.is_some_and(|before| !is_space(before));
            match opened.take() {
                Some(place) if after_text && !is_word(Some(number + 1)) => spans.push(MarkedSpan {
                    place: start + place..start + at + c.len_utf8(),
                    mark: c.to_string(),
                }),
                Some(place) => *opened = Some(place),
                None if !is_word(before) && !is_space(number + 1) => *opened = Some(at),
                None => {}
            }
        }
        number += 1;
    }
}
