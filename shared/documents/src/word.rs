//! Reads documents of Word as Word shows them: with tracked changes accepted, without hidden text, and with headers, footers, notes and
//! comments told apart.

mod margins;
mod styles;
mod symbols;
mod tables;

use crate::package::Package;
use crate::story::Story;
use crate::text::TextBuilder;
use crate::xml::{Element, XmlReader, XmlToken};
use crate::{DocumentError, TextForm};
use margins::{Margins, SectionMargins};
use std::collections::HashMap;
use styles::WordStyles;
use symbols::read_symbol;

/// Elements whose content is not shown: what was deleted or moved away, the pronunciation of a word, and descriptions of what is shown.
const NOT_SHOWN: [&str; 7] = ["del", "moveFrom", "rt", "tblPr", "tblGrid", "sdtPr", "numbering"];

/// Maximum number of characters of a header, a footer, a note or a comment.
const PART_MAX: usize = 20_000;

/// Reads a document.
pub(crate) fn read_word_document(
    package: &mut Package<'_>,
    form: TextForm,
    text: &mut TextBuilder,
) -> Result<(), DocumentError> {
    let document = package.find_document("word/document.xml")?;
    let body = package.take_needed_part(&document)?;
    let relations = package.take_relations(&document)?;
    let styles = package.take_related_part(&relations, "styles")?;
    let styles = WordStyles::parse_styles(&styles.unwrap_or_default())?;
    let mut notes = HashMap::new();
    for (kind, element) in [
        ("footnotes", "footnote"),
        ("endnotes", "endnote"),
        ("comments", "comment"),
    ] {
        if let Some(part) = package.take_related_part(&relations, kind)? {
            read_note_lines(&part, element, &styles, &mut notes, text)?;
        }
    }
    let mut read = text.begin_part_text();
    let mut reader = WordReader::new(&body, &styles, notes, Story::new(&mut read, form));
    reader.read_whole_part()?;
    let margins = reader.margins;
    text.count_looks_of(&read);
    let read = read.into_document_text();
    let mut told = Vec::new();
    let mut tell_margins = |label: &str, ids: &[String], text: &mut TextBuilder| {
        for id in ids {
            let relation = relations.get(id).filter(|relation| relation.kind == label);
            let part = relation.map(|relation| package.take_package_part(&relation.target));
            let Some(part) = part.transpose()?.flatten() else {
                continue;
            };
            let line = read_part_line(&part, &styles, text)?;
            if !line.is_empty() && !told.contains(&line) {
                text.append_text_run(&format!("[{label}] {line}\n"));
                told.push(line);
            }
        }
        Ok::<_, DocumentError>(())
    };
    tell_margins("header", &margins.headers, text)?;
    text.append_document_text(&read);
    text.end_current_line();
    tell_margins("footer", &margins.footers, text)
}

/// Reads a header or a footer as one line.
fn read_part_line(part: &str, styles: &WordStyles, text: &mut TextBuilder) -> Result<String, DocumentError> {
    let mut read = TextBuilder::with_limits(PART_MAX, PART_MAX * 10);
    WordReader::new(
        part,
        styles,
        HashMap::new(),
        Story::new(&mut read, TextForm::Plain),
    )
    .read_whole_part()?;
    text.count_looks(part.len());
    Ok(join_text_lines(&read.into_document_text().text))
}

fn join_text_lines(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" / ")
}

/// The place where a note is referred to: the element that does so, and the id.
type NoteKey = (&'static str, String);

/// Reads the notes of a part, each as a line.
fn read_note_lines(
    part: &str,
    element_name: &'static str,
    styles: &WordStyles,
    notes: &mut HashMap<NoteKey, String>,
    text: &mut TextBuilder,
) -> Result<(), DocumentError> {
    let label = if element_name == "comment" {
        "comment"
    } else {
        "note"
    };
    let mut reader = XmlReader::new(part);
    while let Some(element) = reader.read_next_element()? {
        if element.name() != element_name {
            continue;
        }
        let id = element.find_attribute("id").unwrap_or_default();
        let mut read = TextBuilder::with_limits(PART_MAX, PART_MAX * 10);
        let story = Story::new(&mut read, TextForm::Plain);
        let mut inner = WordReader::with_reader(reader, styles, HashMap::new(), story);
        inner.read_element()?;
        reader = inner.reader;
        let line = join_text_lines(&read.into_document_text().text);
        // Lines between the text and the notes are notes, too.
        let is_own = matches!(element.find_attribute("type").as_deref(), None | Some("normal"));
        if !line.is_empty() && is_own {
            notes.insert((element_name, id), format!("[{label}] {line}"));
        }
    }
    text.count_looks(part.len());
    Ok(())
}

/// The properties of the paragraph and the run that are being read.
#[derive(Debug, Default, Clone, Copy)]
struct Properties {
    /// The run is hidden.
    is_hidden: bool,
    /// The paragraph is hidden by its style.
    is_paragraph_hidden: bool,
    /// The end of the paragraph was deleted: the next one goes on in the same line.
    is_end_deleted: bool,
    /// The row was deleted.
    is_row_deleted: bool,
}

/// Reads a part of a document.
struct WordReader<'a, 's, 't> {
    reader: XmlReader<'a>,
    styles: &'s WordStyles,
    notes: HashMap<NoteKey, String>,
    story: Story<'t>,
    margins: Margins,
    properties: Properties,
    /// The properties around each box.
    around: Vec<Properties>,
    is_text: bool,
    /// For each alternative that is open, whether one of its branches was read.
    alternatives: Vec<bool>,
}

impl<'a, 's, 't> WordReader<'a, 's, 't> {
    fn new(part: &'a str, styles: &'s WordStyles, notes: HashMap<NoteKey, String>, story: Story<'t>) -> Self {
        Self::with_reader(XmlReader::new(part), styles, notes, story)
    }

    fn with_reader(
        reader: XmlReader<'a>,
        styles: &'s WordStyles,
        notes: HashMap<NoteKey, String>,
        story: Story<'t>,
    ) -> Self {
        Self {
            reader,
            styles,
            notes,
            story,
            margins: Margins::default(),
            properties: Properties::default(),
            around: Vec::new(),
            is_text: false,
            alternatives: Vec::new(),
        }
    }

    /// Reads the whole part.
    fn read_whole_part(&mut self) -> Result<(), DocumentError> {
        while let Some(token) = self.reader.read_next_token()? {
            // What stands behind the limit may still name a header, but it is not worth the time.
            if self.story.is_limit_reached() {
                return Ok(());
            }
            self.read_story_token(&token)?;
        }
        Ok(())
    }

    /// Reads the rest of the element that began last.
    fn read_element(&mut self) -> Result<(), DocumentError> {
        let mut depth = 1_u32;
        while let Some(token) = self.reader.read_next_token()? {
            match &token {
                XmlToken::Close(_) if depth == 1 => return Ok(()),
                XmlToken::Close(_) => depth -= 1,
                XmlToken::Open(_) | XmlToken::Text(_) => {}
            }
            depth += u32::from(self.read_story_token(&token)?);
        }
        Ok(())
    }

    /// Reads a token. Returns `true` if it began an element that is not over.
    fn read_story_token(&mut self, token: &XmlToken<'_>) -> Result<bool, DocumentError> {
        match token {
            XmlToken::Open(element) => return self.begin_element(element),
            XmlToken::Close(end) => self.end_element(end.name()),
            XmlToken::Text(words) if self.is_text && !self.is_hidden() => {
                self.story.push_paragraph_text(words);
            }
            XmlToken::Text(_) => {}
        }
        Ok(false)
    }

    fn is_hidden(&self) -> bool {
        self.properties.is_hidden || self.properties.is_paragraph_hidden
    }

    /// Returns `true` if another branch of these alternatives was read. From now on one was.
    fn is_branch_read(&mut self) -> bool {
        self.alternatives
            .last_mut()
            .is_some_and(|is_read| std::mem::replace(is_read, true))
    }

    /// Begins an element. Returns `false` if its content was read or skipped.
    fn begin_element(&mut self, element: &Element<'_>) -> Result<bool, DocumentError> {
        match element.name() {
            "pPr" => return self.read_paragraph_properties().map(|()| false),
            "rPr" => return self.read_run_properties().map(|()| false),
            "trPr" => return self.read_row_properties().map(|()| false),
            "tcPr" => return self.read_cell_properties().map(|()| false),
            "sectPr" => return self.read_section().map(|()| false),
            "AlternateContent" => self.alternatives.push(false),
            // Both branches say the same.
            "Choice" | "Fallback" if self.is_branch_read() => {
                return self.reader.skip_element().map(|()| false);
            }
            "txbxContent" => {
                self.story.begin_text_box();
                self.around.push(std::mem::take(&mut self.properties));
            }
            "tbl" => self.story.begin_table(),
            "r" => self.properties.is_hidden = false,
            "t" => self.is_text = true,
            "footnoteReference" => self.push_note_line("footnote", element),
            "endnoteReference" => self.push_note_line("endnote", element),
            "commentReference" => self.push_note_line("comment", element),
            "sym" if !self.is_hidden() => {
                if let Some(sign) = read_symbol(element) {
                    self.story.push_paragraph_text(sign.encode_utf8(&mut [0; 4]));
                }
            }
            name if NOT_SHOWN.contains(&name) => return self.reader.skip_element().map(|()| false),
            name if !self.is_hidden() => {
                let shown = match name {
                    "tab" | "ptab" => "\t",
                    "br" | "cr" => "\n",
                    "noBreakHyphen" => "-",
                    _ => "",
                };
                self.story.push_paragraph_text(shown);
            }
            _ => {}
        }
        Ok(true)
    }

    fn end_element(&mut self, name: &str) {
        match name {
            "AlternateContent" => {
                self.alternatives.pop();
            }
            "txbxContent" => {
                self.properties = self.around.pop().unwrap_or_default();
                let lines = self.story.end_text_box();
                if !self.is_hidden() {
                    for line in lines {
                        self.story.push_line_after(line);
                    }
                }
            }
            "t" => self.is_text = false,
            "r" => self.properties.is_hidden = false,
            "p" => {
                let ended = std::mem::take(&mut self.properties);
                if !ended.is_end_deleted {
                    self.story.end_paragraph();
                }
                self.properties.is_row_deleted = ended.is_row_deleted;
            }
            "tc" => self.story.end_table_cell(),
            "tr" => {
                if std::mem::take(&mut self.properties.is_row_deleted) {
                    self.story.drop_table_row();
                } else {
                    self.story.end_table_row();
                }
            }
            "tbl" => self.story.end_whole_table(),
            _ => {}
        }
    }

    fn push_note_line(&mut self, kind: &'static str, element: &Element<'_>) {
        let id = element.find_attribute("id").unwrap_or_default();
        // Each is told once, however often it is referred to.
        if let Some(note) = self.notes.remove(&(kind, id))
            && !self.is_hidden()
        {
            self.story.push_line_after(note);
        }
    }

    /// Calls `read` for each element within the one that began last.
    fn read_inner_elements(
        &mut self,
        mut read: impl FnMut(&mut Self, &Element<'_>, &[Box<str>]),
    ) -> Result<(), DocumentError> {
        let mut names: Vec<Box<str>> = Vec::new();
        loop {
            match self.reader.read_next_token()? {
                Some(XmlToken::Open(element)) => {
                    read(self, &element, &names);
                    names.push(element.name().into());
                }
                Some(XmlToken::Close(_)) => {
                    if names.pop().is_none() {
                        return Ok(());
                    }
                }
                Some(XmlToken::Text(_)) => {}
                None => return Ok(()),
            }
        }
    }

    fn read_paragraph_properties(&mut self) -> Result<(), DocumentError> {
        let (mut style, mut own_level, mut section) = (None, None, SectionMargins::default());
        self.read_inner_elements(|reader, element, around| match (element.name(), around) {
            ("pStyle", []) => style = element.find_attribute("val"),
            ("outlineLvl", []) => own_level = element.find_number("val"),
            ("del" | "moveFrom", [within]) if &**within == "rPr" => reader.properties.is_end_deleted = true,
            (_, [within]) if &**within == "sectPr" => section.note(element),
            _ => {}
        })?;
        self.margins.add_section_margins(section);
        let style = style
            .map(|id| self.styles.find_word_style(&id))
            .unwrap_or_default();
        let level = own_level.map_or(style.level, styles::level_of_outline);
        self.properties.is_paragraph_hidden = style.is_hidden;
        self.story.set_heading(level);
        Ok(())
    }

    fn read_run_properties(&mut self) -> Result<(), DocumentError> {
        let (mut own, mut style) = (None, None);
        self.read_inner_elements(|_, element, around| match (element.name(), around) {
            ("vanish", []) => own = Some(element.is_property_on()),
            ("rStyle", []) => style = element.find_attribute("val"),
            _ => {}
        })?;
        let of_style = || style.is_some_and(|id| self.styles.find_word_style(&id).is_hidden);
        self.properties.is_hidden = own.unwrap_or_else(of_style);
        Ok(())
    }

    fn read_section(&mut self) -> Result<(), DocumentError> {
        let mut section = SectionMargins::default();
        self.read_inner_elements(|_, element, _| section.note(element))?;
        self.margins.add_section_margins(section);
        Ok(())
    }
}
