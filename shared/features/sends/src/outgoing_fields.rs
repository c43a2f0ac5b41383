//! The fields of a request that describe an outgoing message: a text, or content of another kind.

use recado_domain::content::Content;
use recado_domain::options::SendOptions;
use recado_domain::outgoing::TEXT_MAX;
use recado_domain::wrong_value::describe_wrong_value;
use recado_http::problem::HttpProblem;
use serde_json::Value;

/// The longest text, in characters, of which a refusal tells the exact length.
const TEXT_READ_MAX: usize = 65_536;

/// The request's fields about the message's content, unchecked.
#[derive(Debug)]
pub struct OutgoingFields {
    pub text: Option<String>,
    pub content: Option<Value>,
    pub reply_to: Option<String>,
    pub mentions: Vec<String>,
    pub link_preview: Option<bool>,
}

impl OutgoingFields {
    /// Parses and checks the content and the options of the message. Content that WhatsApp would not accept is refused
    /// with a 400 now, so that it does not become a dead letter later.
    pub fn parse_outgoing(self) -> Result<(Content, SendOptions), HttpProblem> {
        let content = match (self.text, self.content) {
            (Some(text), None) => Content::from_text(check_text(text)?),
            (None, Some(content)) => parse_content(content)?,
            (Some(_), Some(_)) => {
                return Err(HttpProblem::bad_request(
                    "text and content: only one of them can be sent",
                ));
            }
            (None, None) => return Err(HttpProblem::bad_request("text or content is missing")),
        };
        let options = SendOptions {
            reply_to: self.reply_to,
            mentions: self.mentions,
            link_preview: self.link_preview,
            ..SendOptions::default()
        };
        let checked = content.check_outgoing().and_then(|()| options.check_options());
        checked.map_err(|error| HttpProblem::bad_request(error.to_string()))?;
        Ok((content, options))
    }
}

fn check_text(text: String) -> Result<String, HttpProblem> {
    match text.trim().chars().count() {
        1..=TEXT_MAX => Ok(text),
        length if length > TEXT_MAX && length <= TEXT_READ_MAX => Err(HttpProblem::bad_request(format!(
            "text has {length} characters: WhatsApp takes at most {TEXT_MAX} in one message"
        ))),
        _ => Err(HttpProblem::bad_request(format!(
            "text must have 1 to {TEXT_MAX} characters"
        ))),
    }
}

/// Parses the content. Degrees may also come as numbers: they are stored as text, with the digits of the JSON.
fn parse_content(mut content: Value) -> Result<Content, HttpProblem> {
    for field in ["latitude", "longitude"] {
        if let Some(degrees) = content.get_mut(field).filter(|degrees| degrees.is_number()) {
            *degrees = Value::String(degrees.to_string());
        }
    }
    // The error of serde may quote the request. The client wrote that request itself, so nothing leaks.
    serde_json::from_value(content).map_err(|error| {
        let why = describe_wrong_value(&error.to_string(), "an object");
        HttpProblem::bad_request(format!("content is malformed: {why}"))
    })
}
