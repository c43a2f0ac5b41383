//! Splits the content of a message into the parts that a page shows apart. The API tells it as one text, for models and people.

use minijinja::context;
use minijinja::value::{Value, ValueKind};

/// The kinds of messages whose content begins with the kind and the name of a file.
const FILE_KINDS: [&str; 6] = ["image", "voice", "audio", "video", "document", "sticker"];

/// The texts that say no more than the kind of a message, which the page names in its own language.
const KIND_TEXTS: [(&str, &str); 4] = [
    ("deletion", "[message deleted]"),
    ("removed", "[message deleted]"),
    ("welcome", "[opened the chat]"),
    ("poll_vote", "[poll vote]"),
];

/// Splits the content of a message: `text` without the marks that the page shows otherwise, `file_name`, and `latitude` and
/// `longitude` of a place. The marks are those of the API: people wrote none of them, as no text of theirs has the kind of a file or
/// of a place.
pub(super) fn split_content(message: &Value) -> Value {
    let field = |name: &str| message.get_attr(name).unwrap_or_default();
    let (content, kind) = (field("content"), field("type"));
    let mut text = content.as_str().unwrap_or_default().to_owned();
    let kind = kind.as_str().unwrap_or_default();
    if field("reply_to").kind() == ValueKind::Map {
        take_mark(&mut text, "in reply to");
    }
    if KIND_TEXTS.contains(&(kind, &*text)) {
        text.clear();
    }
    let mut file_name = None;
    let mut place = None;
    if FILE_KINDS.contains(&kind) {
        file_name = take_mark(&mut text, kind).filter(|name| !name.is_empty());
    } else if kind == "location" {
        place = take_mark(&mut text, kind).and_then(|place| parse_place(&place));
    }
    let (latitude, longitude) = place.unzip();
    context! { text, file_name, latitude, longitude }
}

/// Takes the first mark `[LABEL …]` out of the text, and returns what it says after its label. `None`: there is none.
fn take_mark(text: &mut String, label: &str) -> Option<String> {
    let begin = text.find(&format!("[{label}"))?;
    let end = begin + text.get(begin..)?.find(']')?;
    let said = text.get(begin + 1 + label.len()..end)?.trim().to_owned();
    let (before, after) = (text.get(..begin)?, text.get(end + 1..)?);
    *text = format!("{before}{}", after.trim_start());
    Some(said)
}

/// Reads the degrees of a place.
fn parse_place(text: &str) -> Option<(f64, f64)> {
    let (latitude, longitude) = text.split_once(',')?;
    let place: (f64, f64) = (latitude.trim().parse().ok()?, longitude.trim().parse().ok()?);
    (place.0.abs() <= 90.0 && place.1.abs() <= 180.0).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(kind: &str, content: &str) -> Value {
        split_content(&context! { type => kind, content })
    }

    #[test]
    fn a_file_and_a_place_are_told_apart_from_what_was_written_to_them() {
        let file = split("document", "[forwarded] [document price list.pdf] Here it is");
        assert_eq!(
            file.get_attr("text").unwrap(),
            Value::from("[forwarded] Here it is")
        );
        assert_eq!(file.get_attr("file_name").unwrap(), Value::from("price list.pdf"));
        let image = split("image", "[image]");
        assert_eq!(image.get_attr("text").unwrap(), Value::from(""));
        assert!(image.get_attr("file_name").unwrap().is_none());
        let place = split("location", "[location -23.5,-46.25] Shop");
        assert_eq!(place.get_attr("latitude").unwrap(), Value::from(-23.5));
        assert_eq!(place.get_attr("text").unwrap(), Value::from("Shop"));
        let nowhere = split("location", "[location x\"><script>,1] Shop");
        assert!(nowhere.get_attr("latitude").unwrap().is_none());
    }

    #[test]
    fn a_text_that_says_no_more_than_its_kind_is_left_to_the_page() {
        for (kind, text) in KIND_TEXTS {
            assert_eq!(split(kind, text).get_attr("text").unwrap(), Value::from(""));
            assert_eq!(split("text", text).get_attr("text").unwrap(), Value::from(text));
        }
        let voted = split("poll_vote", "[poll vote] Monday");
        assert_eq!(voted.get_attr("text").unwrap(), Value::from("[poll vote] Monday"));
    }

    #[test]
    fn what_a_person_writes_stays_as_it_is() {
        for text in ["[image] is what I write", "[in reply to: x] y", "[", "]["] {
            assert_eq!(split("text", text).get_attr("text").unwrap(), Value::from(text));
        }
        let reply = context! { type => "text", content => "[in reply to: ok) x] Yes]", reply_to => context! { text => "ok] x" } };
        assert_eq!(
            split_content(&reply).get_attr("text").unwrap(),
            Value::from("Yes]")
        );
    }
}
