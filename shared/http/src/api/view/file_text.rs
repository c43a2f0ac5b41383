//! The text of a message's file.

use recado_domain::message::Message;
use serde::Serialize;

/// The text of a message's file.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct FileTextView {
    /// `transcript`: what is said in a recording; `document`: what a document says.
    source: &'static str,
    /// The text, at most 20,000 characters. Empty if nobody speaks, or if the document has no text.
    text: String,
    /// `true` if the file has more text than this.
    is_cut: bool,
    /// Name of the model that transcribed; absent for a document.
    model: Option<String>,
}

impl FileTextView {
    /// Returns the text of the message's file; `None` if it is not here.
    pub(super) fn from_message(message: &Message) -> Option<Self> {
        let found = message.file.as_ref()?.found_text()?;
        Some(Self {
            source: found.source.as_str(),
            text: found.text.clone(),
            is_cut: found.is_cut,
            model: found.model.clone(),
        })
    }
}

/// Returns the words that say why a message's file or its text is not here; `None` if nothing is missing. What the business sent
/// by a URL is shown by that until it is here.
pub(super) fn describe_missing_file(message: &Message) -> Option<String> {
    if message.out.is_some() {
        return None;
    }
    let gap = message.file.as_ref()?.describe_gap()?;
    Some(gap.to_owned())
}
