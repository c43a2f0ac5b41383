//! Reads presentations of `PowerPoint`: the slides that are shown, in their order, with the notes of the speaker told apart.

use crate::package::Package;
use crate::story::{CellRows, Story};
use crate::text::{TextBuilder, clean_text_line};
use crate::xml::{Element, XmlReader, XmlToken};
use crate::{DocumentError, TextForm};

/// Maximum number of slides that are read.
const SLIDES_MAX: usize = 1_000;

/// Maximum number of characters of a slide's notes.
const NOTES_MAX: usize = 20_000;

/// Maximum number of characters of a slide's title.
const TITLE_MAX: usize = 300;

/// Elements that hold one shape or several.
const SHAPES: [&str; 5] = ["sp", "grpSp", "graphicFrame", "cxnSp", "pic"];

/// Reads the slides of a presentation.
pub(crate) fn read_presentation(
    package: &mut Package<'_>,
    form: TextForm,
    text: &mut TextBuilder,
) -> Result<(), DocumentError> {
    let document = package.find_document("ppt/presentation.xml")?;
    let slides = list_slides(&package.take_needed_part(&document)?)?;
    let relations = package.take_relations(&document)?;
    for (number, id) in (1..).zip(slides) {
        if text.is_limit_reached() {
            break;
        }
        let Some(slide) = relations.get(&id).filter(|relation| relation.kind == "slide") else {
            continue;
        };
        // Each part is read once, however often it is listed.
        let Some(part) = package.take_package_part(&slide.target)? else {
            continue;
        };
        if !read_shown_slide(&part, number, form, text)? {
            continue;
        }
        let notes = package.take_relations(&slide.target)?;
        let notes = notes.into_values().find(|relation| relation.kind == "notesSlide");
        if let Some(part) = notes
            .map(|relation| package.take_package_part(&relation.target))
            .transpose()?
            .flatten()
        {
            read_note_lines(&part, text)?;
        }
        text.begin_paragraph();
    }
    Ok(())
}

fn list_slides(presentation: &str) -> Result<Vec<String>, DocumentError> {
    let (mut reader, mut slides) = (XmlReader::new(presentation), Vec::new());
    while let Some(element) = reader.read_next_element()? {
        if element.name() == "sldId" && slides.len() < SLIDES_MAX {
            slides.extend(element.relation_id());
        }
    }
    Ok(slides)
}

/// Reads a slide. In Markdown its title is a heading, or its number if it has none. Returns `false` if it is not shown.
fn read_shown_slide(
    part: &str,
    number: usize,
    form: TextForm,
    text: &mut TextBuilder,
) -> Result<bool, DocumentError> {
    if form == TextForm::Plain {
        let mut shapes = ShapeReader::new(part, Story::new(text, form), Wanted::Shapes);
        shapes.read_all_shapes()?;
        return Ok(!shapes.is_left_out);
    }
    let mut read = text.begin_part_text();
    let mut shapes = ShapeReader::new(part, Story::new(&mut read, form), Wanted::Shapes);
    shapes.takes_title = true;
    shapes.read_all_shapes()?;
    let (is_left_out, title) = (shapes.is_left_out, shapes.title);
    text.count_looks_of(&read);
    let read = read.into_document_text();
    let title = title.map(|title| clean_text_line(&title, TITLE_MAX));
    let title = title.filter(|title| !title.is_empty());
    if !read.text.is_empty() || title.is_some() {
        text.append_heading(2, &title.unwrap_or_else(|| format!("slide {number}")));
        text.append_document_text(&read);
    }
    Ok(!is_left_out)
}

fn read_note_lines(part: &str, text: &mut TextBuilder) -> Result<(), DocumentError> {
    let mut notes = TextBuilder::with_limits(NOTES_MAX, NOTES_MAX * 10);
    ShapeReader::new(part, Story::new(&mut notes, TextForm::Plain), Wanted::Notes).read_all_shapes()?;
    text.count_looks(part.len());
    let notes = notes.into_document_text().text;
    let lines: Vec<&str> = notes
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    if !lines.is_empty() {
        text.end_current_line();
        text.append_text_run(&format!("[note] {}\n", lines.join(" / ")));
    }
    Ok(())
}

/// The shapes that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// Those of a slide.
    Shapes,
    /// The speaker's words on a page of notes.
    Notes,
}

/// Reads the shapes of a slide.
struct ShapeReader<'a, 't> {
    reader: XmlReader<'a>,
    story: Story<'t>,
    wanted: Wanted,
    is_text: bool,
    /// For each shape that is open, whether it is shown.
    shapes: Vec<bool>,
    /// For each alternative that is open, whether one of its branches was read.
    alternatives: Vec<bool>,
    /// The title of the slide is taken out of the text.
    takes_title: bool,
    /// Number of shapes that are open where the title is read.
    title_depth: Option<usize>,
    title: Option<String>,
    /// The slide is not shown.
    is_left_out: bool,
}

impl<'a, 't> ShapeReader<'a, 't> {
    fn new(part: &'a str, story: Story<'t>, wanted: Wanted) -> Self {
        Self {
            reader: XmlReader::new(part),
            story,
            wanted,
            is_text: false,
            shapes: Vec::new(),
            alternatives: Vec::new(),
            takes_title: false,
            title_depth: None,
            title: None,
            is_left_out: false,
        }
    }

    fn read_all_shapes(&mut self) -> Result<(), DocumentError> {
        while let Some(token) = self.reader.read_next_token()? {
            if self.story.is_limit_reached() || self.is_left_out {
                break;
            }
            match token {
                XmlToken::Open(element) => self.begin_element(&element)?,
                XmlToken::Close(end) => self.end_element(end.name()),
                XmlToken::Text(words) if self.is_text && self.is_shown() => {
                    self.story.push_paragraph_text(&words);
                }
                XmlToken::Text(_) => {}
            }
        }
        Ok(())
    }

    fn is_shown(&self) -> bool {
        // A page of notes has a picture of its slide, the number and the date beside them.
        self.shapes
            .last()
            .copied()
            .unwrap_or(self.wanted == Wanted::Shapes)
    }

    /// Returns `true` if another branch of these alternatives was read. From now on one was.
    fn is_branch_read(&mut self) -> bool {
        self.alternatives
            .last_mut()
            .is_some_and(|is_read| std::mem::replace(is_read, true))
    }

    fn begin_element(&mut self, element: &Element<'_>) -> Result<(), DocumentError> {
        match element.name() {
            "sld" => {
                let show = element.find_attribute("show");
                self.is_left_out = show.is_some_and(|show| show == "0" || show == "false");
            }
            "AlternateContent" => self.alternatives.push(false),
            "Choice" | "Fallback" if self.is_branch_read() => self.reader.skip_element()?,
            name if SHAPES.contains(&name) => {
                let is_shown = self.is_shown() || (self.wanted == Wanted::Notes && self.shapes.is_empty());
                self.shapes.push(is_shown);
            }
            "cNvPr" if element.is_attribute_set("hidden") => self.hide_last_shape(),
            "ph" => self.read_placeholder(element),
            "tbl" => self.story.begin_table(),
            "tc" if element.is_attribute_set("vMerge") => self.story.set_cell_span(1, CellRows::FromAbove),
            "tc" => {
                let below = element
                    .find_number("rowSpan")
                    .unwrap_or(1_usize)
                    .saturating_sub(1);
                self.story.set_cell_span(1, CellRows::Below(below));
            }
            "t" => self.is_text = true,
            "br" if self.is_shown() => self.story.push_paragraph_text("\n"),
            _ => {}
        }
        Ok(())
    }

    fn hide_last_shape(&mut self) {
        if let Some(is_shown) = self.shapes.last_mut() {
            *is_shown = false;
        }
    }

    fn read_placeholder(&mut self, element: &Element<'_>) {
        let kind = element.find_attribute("type").unwrap_or_default();
        match self.wanted {
            Wanted::Notes if kind != "body" => self.hide_last_shape(),
            Wanted::Shapes if kind == "sldNum" => self.hide_last_shape(),
            Wanted::Shapes if matches!(kind.as_str(), "title" | "ctrTitle") => {
                let is_wanted = self.takes_title && self.title_depth.is_none() && self.title.is_none();
                if is_wanted && self.is_shown() {
                    self.title_depth = Some(self.shapes.len());
                    self.story.begin_text_box();
                }
            }
            _ => {}
        }
    }

    fn end_element(&mut self, name: &str) {
        match name {
            "AlternateContent" => {
                self.alternatives.pop();
            }
            "t" => self.is_text = false,
            "p" if self.is_shown() => self.story.end_paragraph(),
            "tc" => self.story.end_table_cell(),
            "tr" => self.story.end_table_row(),
            "tbl" => self.story.end_whole_table(),
            name if SHAPES.contains(&name) => {
                if self.title_depth == Some(self.shapes.len()) {
                    self.title_depth = None;
                    self.title = Some(self.story.end_text_box().join(" "));
                }
                self.shapes.pop();
            }
            _ => {}
        }
    }
}
