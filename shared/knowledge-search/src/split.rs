//! Splits a document into blocks by its headings, paragraphs and sentences.

use unicode_segmentation::UnicodeSegmentation;

/// Greatest number of characters of a line that an underline makes a heading.
const UNDERLINED_MAX: usize = 200;

/// Settings of the split of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SplitSettings {
    /// The characters of a block at most.
    pub characters_max: usize,
}

impl Default for SplitSettings {
    fn default() -> Self {
        Self {
            characters_max: 1_000,
        }
    }
}

/// A piece of a document that answers by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The headings above it, outermost first, separated by ` › `; empty before the first heading.
    pub place: String,
    /// The text.
    pub text: String,
}

/// Splits Markdown or plain text into blocks. Paragraphs under one heading are joined as long as they fit; one that is too long
/// is split between sentences, a sentence that is too long between words. Headings that have no text of their own lead the next block, or
/// are the last block.
pub fn split_document(text: &str, settings: SplitSettings) -> Vec<Block> {
    let mut splitter = Splitter {
        characters_max: settings.characters_max.max(1),
        ..Splitter::default()
    };
    let mut fenced = false;
    for line in text.lines().map(str::trim_end) {
        let opens_fence = is_code_fence_line(line);
        fenced ^= opens_fence;
        match parse_heading(line).filter(|_| !fenced && !opens_fence) {
            Some((level, title)) => splitter.begin_new_section(level, title),
            None if line.trim().is_empty() && !fenced => splitter.finish_paragraph(),
            None => {
                let level = parse_underline(line).filter(|_| !fenced);
                match level.and_then(|level| Some((level, splitter.take_underlined_title()?))) {
                    Some((level, title)) => splitter.begin_new_section(level, &title),
                    None => splitter.add_line(line),
                }
            }
        }
    }
    splitter.finish_document();
    splitter.blocks
}

/// Adds a section with this title to a Markdown text. Lines of `body` that would be marks are indented, as Markdown wants it, so that
/// they stay text.
pub fn write_markdown_section(markdown: &mut String, title: &str, body: &str) {
    markdown.push_str("# ");
    markdown.push_str(title);
    markdown.push_str("\n\n");
    for line in body.lines() {
        if parse_heading(line).is_some() || is_code_fence_line(line) || parse_underline(line).is_some() {
            markdown.push_str("    ");
        }
        markdown.push_str(line);
        markdown.push('\n');
    }
    markdown.push('\n');
}

/// Returns `true` for a line that begins or ends a fence of code. Four spaces before it make it text.
fn is_code_fence_line(line: &str) -> bool {
    is_indented_little(line) && line.trim_start_matches(' ').starts_with("```")
}

/// Returns the level and the title of a Markdown heading (`## Title`).
fn parse_heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let rest = line.get(level..)?;
    let is_heading = (1..=6).contains(&level) && rest.starts_with([' ', '\t']);
    let title = rest.trim().trim_end_matches('#').trim_end();
    (is_heading && !title.is_empty()).then_some((level, title))
}

/// Returns the level of the heading that a line of `=` or `-` makes of the line above it.
fn parse_underline(line: &str) -> Option<usize> {
    let marks = line.trim_start_matches(' ').trim_end();
    let first = marks.chars().next()?;
    let level = match first {
        '=' => 1,
        '-' => 2,
        _ => return None,
    };
    let is_underline = marks.len() > 1 && marks.chars().all(|mark| mark == first);
    (is_underline && is_indented_little(line)).then_some(level)
}

/// Returns `true` for a line that an underline makes a heading: it has words, and begins no item, quotation or row of a table.
fn is_title_line(line: &str) -> bool {
    let begins_other = ["- ", "* ", "+ ", ">", "|"];
    let text = line.trim_start_matches(' ');
    is_indented_little(line)
        && !begins_other.iter().any(|mark| text.starts_with(mark))
        && text.chars().any(char::is_alphanumeric)
        && text.chars().count() <= UNDERLINED_MAX
}

/// Returns `false` for a line that four spaces before it make text.
fn is_indented_little(line: &str) -> bool {
    line.len() - line.trim_start_matches(' ').len() < 4
}

#[derive(Debug, Default)]
struct Splitter {
    characters_max: usize,
    headings: Vec<(usize, String)>,
    /// Number of these headings, counted from the first, that a block has.
    told: usize,
    /// The headings before these that no block has, each line with those above it.
    untold: String,
    paragraph: String,
    block: String,
    blocks: Vec<Block>,
}

impl Splitter {
    fn begin_new_section(&mut self, level: usize, title: &str) {
        self.finish_section();
        self.end_headings(self.headings.partition_point(|(above, _)| *above < level));
        self.headings.push((level, title.to_owned()));
    }

    /// Ends the headings from the one at `first`, and keeps their words if no block has them.
    fn end_headings(&mut self, first: usize) {
        let is_told = self.told >= self.headings.len();
        let ended = self.headings.split_off(first);
        if !ended.is_empty() && !is_told {
            self.untold.push_str(&join_titles(&ended));
            self.untold.push('\n');
        }
        self.told = self.told.min(first);
    }

    fn finish_document(&mut self) {
        self.finish_section();
        self.end_headings(self.told);
        self.paragraph = std::mem::take(&mut self.untold);
        self.finish_section();
    }

    /// Takes the line above an underline as the title of a section. `None`: it is no title, or more lines stand above it.
    fn take_underlined_title(&mut self) -> Option<String> {
        let is_title = !self.paragraph.contains('\n') && is_title_line(&self.paragraph);
        is_title.then(|| std::mem::take(&mut self.paragraph).trim().to_owned())
    }

    fn add_line(&mut self, line: &str) {
        if !self.paragraph.is_empty() {
            self.paragraph.push('\n');
        }
        self.paragraph.push_str(line);
    }

    fn finish_paragraph(&mut self) {
        let paragraph = std::mem::take(&mut self.paragraph);
        if paragraph.trim().is_empty() {
            return;
        }
        let paragraph = std::mem::take(&mut self.untold) + paragraph.trim();
        if self.fits_into_block(&paragraph, 2) {
            self.append(&paragraph, "\n\n");
            return;
        }
        self.push_finished_block();
        for sentence in paragraph.unicode_sentences() {
            self.append_sentence(sentence.trim_end());
        }
    }

    fn append_sentence(&mut self, sentence: &str) {
        if sentence.is_empty() {
            return;
        }
        if !self.fits_into_block(sentence, 1) {
            self.push_finished_block();
        }
        if self.fits_into_block(sentence, 0) {
            self.append(sentence, " ");
            return;
        }
        for word in sentence.split_word_bounds() {
            if !self.fits_into_block(word, 0) {
                self.push_finished_block();
            }
            // A word longer than a block is cut.
            for character in word.chars() {
                if self.block.chars().count() >= self.characters_max {
                    self.push_finished_block();
                }
                self.block.push(character);
            }
        }
    }

    /// Returns whether `text` fits into the block, with so many characters between.
    fn fits_into_block(&self, text: &str, between: usize) -> bool {
        let held = self.block.chars().count();
        let between = if held == 0 { 0 } else { between };
        held + between + text.chars().count() <= self.characters_max
    }

    fn append(&mut self, text: &str, between: &str) {
        if !self.block.is_empty() {
            self.block.push_str(between);
        }
        self.block.push_str(text);
    }

    fn finish_section(&mut self) {
        self.finish_paragraph();
        self.push_finished_block();
    }

    fn push_finished_block(&mut self) {
        let text = std::mem::take(&mut self.block);
        let text = text.trim();
        if !text.is_empty() {
            self.told = self.headings.len();
            self.blocks.push(Block {
                place: join_titles(&self.headings),
                text: text.to_owned(),
            });
        }
    }
}

fn join_titles(headings: &[(usize, String)]) -> String {
    let titles: Vec<&str> = headings.iter().map(|(_, title)| title.as_str()).collect();
    titles.join(" › ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(text: &str, characters_max: usize) -> Vec<(String, String)> {
        split_document(text, SplitSettings { characters_max })
            .into_iter()
            .map(|block| (block.place, block.text))
            .collect()
    }

    fn pair(place: &str, text: &str) -> (String, String) {
        (place.to_owned(), text.to_owned())
    }

    #[test]
    fn each_heading_begins_a_block_that_knows_the_headings_above() {
        let text = "Before.\n\n# Prices\nAll in euros.\n## Courses\nA1 costs 200.\n\nA2 costs 220.\n## Exams\nFree.\n# Times\n9 to 5.";
        assert_eq!(
            split(text, 100),
            [
                pair("", "Before."),
                pair("Prices", "All in euros."),
                pair("Prices › Courses", "A1 costs 200.\n\nA2 costs 220."),
                pair("Prices › Exams", "Free."),
                pair("Times", "9 to 5."),
            ]
        );
    }

    #[test]
    fn a_heading_without_text_leads_the_next_block_or_is_the_last_one() {
        assert_eq!(
            split("# Closed on 24/12\n# Times\n9 to 5.\n\nAnd 7 to 9.", 100),
            [pair("Times", "Closed on 24/12\n9 to 5.\n\nAnd 7 to 9.")]
        );
        assert_eq!(
            split(
                "# Clinic\n## Adults\n# Prices\n## Exams\nFree.\n## Other\n# Times\n9 to 5.\n## Sundays\n## Feasts\n### Closed",
                100
            ),
            [
                pair("Prices › Exams", "Clinic › Adults\nFree."),
                pair("Times", "Prices › Other\n9 to 5."),
                pair("Times", "Sundays\nFeasts › Closed"),
            ]
        );
        assert_eq!(
            split("# Slide one\n# Slide two", 100),
            [pair("", "Slide one\nSlide two")]
        );
        assert_eq!(
            split("# Closed\n# Times\nOne two. Three four.", 16),
            [pair("Times", "Closed One two."), pair("Times", "Three four.")]
        );
    }

    #[test]
    fn a_long_paragraph_is_split_between_sentences_and_a_long_sentence_between_words() {
        assert_eq!(
            split("One two. Three four. Five six seven eight nine ten.", 21),
            [
                pair("", "One two. Three four."),
                pair("", "Five six seven eight"),
                pair("", "nine ten."),
            ]
        );
    }

    #[test]
    fn a_hash_in_a_fence_or_without_a_space_is_no_heading() {
        assert_eq!(
            split("#tag\n```\n# comment\n```", 100),
            [pair("", "#tag\n```\n# comment\n```")]
        );
    }

    #[test]
    fn a_line_with_an_underline_is_a_heading() {
        let text = "Before.\n\nPrices\n======\nAll in euros.\n\n  **Courses**\n---\nA1 costs 200.\nTimes\n==\n9 to 5.";
        assert_eq!(
            split(text, 100),
            [
                pair("", "Before."),
                pair("Prices", "All in euros."),
                pair("Prices › **Courses**", "A1 costs 200.\nTimes\n==\n9 to 5."),
            ]
        );
    }

    #[test]
    fn rules_items_and_lines_in_a_fence_are_no_headings() {
        for text in [
            "One.\n\n---\n\nTwo.",
            "---\ntitle: Prices\n---\nFree.",
            "- one\n---\n\n> two\n---",
            "| Name |\n|---|\n| Ana |",
            "```\nOne\n===\n```",
            "One\n    ====",
            "One\n=",
            "----\n----",
        ] {
            assert_eq!(split(text, 100), [pair("", text)], "{text}");
        }
        let long = format!("{}\n---", "a".repeat(UNDERLINED_MAX + 1));
        assert_eq!(split(&long, 300), [pair("", &long)]);
    }

    #[test]
    fn the_text_of_a_section_begins_no_heading_and_no_fence() {
        let mut markdown = String::new();
        write_markdown_section(&mut markdown, "page 1", "# 7 rooms\n```\n   ```");
        write_markdown_section(&mut markdown, "page 2", "Two.\n---\nThree.");
        assert_eq!(
            split(&markdown, 100),
            [
                pair("page 1", "# 7 rooms\n    ```\n       ```"),
                pair("page 2", "Two.\n    ---\nThree."),
            ]
        );
    }

    proptest! {
        #[test]
        fn no_block_is_too_long_and_no_letter_is_lost(text in "[a-zé#.\n ]{0,300}", characters_max in 1_usize..60) {
            let blocks = split_document(&text, SplitSettings { characters_max });
            let mut kept = String::new();
            for block in &blocks {
                prop_assert!(block.text.chars().count() <= characters_max, "{block:?}");
                prop_assert!(!block.text.is_empty());
                kept.push_str(&block.text);
            }
            let letters = |text: &str| text.chars().filter(|letter| letter.is_alphabetic()).collect::<String>();
            let places = letters(&blocks.iter().map(|block| block.place.as_str()).collect::<String>());
            let (kept, mut in_lines) = (letters(&kept), 0);
            for line in text.lines() {
                match parse_heading(line.trim_end()) {
                    Some((_, title)) => {
                        let title = letters(title);
                        prop_assert!(kept.contains(&title) || places.contains(&title), "{title:?}: {blocks:?}");
                    }
                    None => in_lines += letters(line).chars().count(),
                }
            }
            prop_assert!(kept.chars().count() >= in_lines, "{blocks:?}");
        }
    }
}
