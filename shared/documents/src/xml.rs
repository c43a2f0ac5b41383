//! Reads the XML of office documents, token by token. Entities that a document defines are not resolved.

use crate::DocumentError;
use quick_xml::Reader;
use quick_xml::escape::{resolve_xml_entity, unescape};
use quick_xml::events::attributes::Attribute;
use quick_xml::events::{BytesEnd, BytesStart, Event};
use std::borrow::Cow;
use std::str::FromStr;

/// A piece of a document, to which the reader comes next.
#[derive(Debug)]
pub(crate) enum XmlToken<'a> {
    /// An element begins. One without content ends at once.
    Open(Element<'a>),
    /// An element ends.
    Close(ElementEnd<'a>),
    /// Text.
    Text(Cow<'a, str>),
}

/// The beginning of an element.
#[derive(Debug)]
pub(crate) struct Element<'a>(BytesStart<'a>);

/// The end of an element.
#[derive(Debug)]
pub(crate) struct ElementEnd<'a>(BytesEnd<'a>);

impl Element<'_> {
    /// Returns the name, without its prefix.
    pub(crate) fn name(&self) -> &str {
        self.0.local_name().into_inner()
    }

    /// Returns the name with its prefix.
    pub(crate) fn full_name(&self) -> &str {
        self.0.name().into_inner()
    }

    /// Returns the first attribute with this name, whatever its prefix.
    pub(crate) fn find_attribute(&self, name: &str) -> Option<String> {
        self.find_attribute_by(|attribute| attribute.key.local_name().into_inner() == name)
    }

    /// Returns the number that the attribute holds; `None` if it holds none.
    pub(crate) fn find_number<N: FromStr>(&self, name: &str) -> Option<N> {
        self.find_attribute(name)?.parse().ok()
    }

    /// Returns the attribute `id` with a prefix, which names a relation of the part.
    pub(crate) fn relation_id(&self) -> Option<String> {
        self.find_attribute_by(|attribute| {
            attribute.key.prefix().is_some() && attribute.key.local_name().into_inner() == "id"
        })
    }

    /// Returns `true` if the attribute says so.
    pub(crate) fn is_attribute_set(&self, name: &str) -> bool {
        self.find_attribute(name).is_some_and(|value| is_on(&value))
    }

    /// Returns `true` unless the attribute `val` says that the property does not hold.
    pub(crate) fn is_property_on(&self) -> bool {
        self.find_attribute("val").is_none_or(|value| is_on(&value))
    }

    fn find_attribute_by(&self, is_wanted: impl Fn(&Attribute<'_>) -> bool) -> Option<String> {
        let mut attributes = self.0.attributes();
        // Names that stand twice are looked for by comparing each with each.
        let found = attributes.with_checks(false).flatten().find(is_wanted)?;
        Some(unescape(&found.value).ok()?.into_owned())
    }
}

impl ElementEnd<'_> {
    /// Returns the name, without its prefix.
    pub(crate) fn name(&self) -> &str {
        self.0.local_name().into_inner()
    }
}

fn is_on(value: &str) -> bool {
    matches!(value, "1" | "true" | "on")
}

/// Reads XML.
#[derive(Debug)]
pub(crate) struct XmlReader<'a> {
    reader: Reader<&'a [u8]>,
}

impl<'a> XmlReader<'a> {
    /// Begins to read.
    pub(crate) fn new(xml: &'a str) -> Self {
        let mut reader = Reader::from_str(xml);
        reader.config_mut().expand_empty_elements = true;
        Self { reader }
    }

    /// Returns what comes next; `None` at the end.
    pub(crate) fn read_next_token(&mut self) -> Result<Option<XmlToken<'a>>, DocumentError> {
        loop {
            let event = self.reader.read_event().map_err(|_| DocumentError::Unreadable)?;
            return Ok(Some(match event {
                Event::Start(start) => XmlToken::Open(Element(start)),
                Event::End(end) => XmlToken::Close(ElementEnd(end)),
                Event::Text(words) => XmlToken::Text(words.into_inner()),
                Event::CData(words) => XmlToken::Text(words.into_inner()),
                Event::GeneralRef(name) => {
                    if let Ok(Some(character)) = name.resolve_char_ref() {
                        XmlToken::Text(Cow::Owned(character.to_string()))
                    } else if let Some(text) = resolve_xml_entity(&name) {
                        XmlToken::Text(Cow::Borrowed(text))
                    } else {
                        continue;
                    }
                }
                Event::Eof => return Ok(None),
                _ => continue,
            }));
        }
    }

    /// Returns the element that begins next, whatever stands before it; `None` at the end.
    pub(crate) fn read_next_element(&mut self) -> Result<Option<Element<'a>>, DocumentError> {
        while let Some(token) = self.read_next_token()? {
            if let XmlToken::Open(element) = token {
                return Ok(Some(element));
            }
        }
        Ok(None)
    }

    /// Skips the rest of the element that began last.
    pub(crate) fn skip_element(&mut self) -> Result<(), DocumentError> {
        let mut depth = 1_u32;
        while depth > 0 {
            match self.read_next_token()? {
                Some(XmlToken::Open(_)) => depth = depth.saturating_add(1),
                Some(XmlToken::Close(_)) => depth -= 1,
                Some(XmlToken::Text(_)) => {}
                None => return Ok(()),
            }
        }
        Ok(())
    }
}
