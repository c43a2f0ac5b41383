//! Finds which headers and footers are shown.

use crate::xml::Element;

/// The headers and footers that are shown, by the ids of their relations.
#[derive(Debug, Default)]
pub(super) struct Margins {
    pub(super) headers: Vec<String>,
    pub(super) footers: Vec<String>,
}

/// The headers and footers of a section.
#[derive(Debug, Default)]
pub(super) struct SectionMargins {
    /// For each, whether it is a header, its pages, and the id of its relation.
    found: Vec<(bool, String, String)>,
    has_first_page: bool,
}

impl SectionMargins {
    pub(super) fn note(&mut self, element: &Element<'_>) {
        match element.name() {
            "headerReference" | "footerReference" => {
                let pages = element.find_attribute("type").unwrap_or_default();
                let is_header = element.name() == "headerReference";
                let id = element.relation_id();
                self.found.extend(id.map(|id| (is_header, pages, id)));
            }
            "titlePg" => self.has_first_page = element.is_property_on(),
            _ => {}
        }
    }
}

impl Margins {
    /// Adds those of a section. Those of the first page are shown if the section says so; those of even pages are left out, as Word does
    /// unless the whole document has two sides.
    pub(super) fn add_section_margins(&mut self, section: SectionMargins) {
        for (is_header, pages, id) in section.found {
            let is_shown = match pages.as_str() {
                "even" => false,
                "first" => section.has_first_page,
                _ => true,
            };
            let margins = if is_header {
                &mut self.headers
            } else {
                &mut self.footers
            };
            if is_shown {
                margins.push(id);
            }
        }
    }
}
