use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use recado_domain::provider::Provider;
use recado_onboarding::recognize_provider;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// A recorded webhook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordedWebhook {
    /// The version of the format.
    pub recado_record: u32,
    /// Time at which the webhook came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// The provider that sent the webhook.
    pub provider: Provider,
    /// `true` if names, texts and numbers were replaced.
    #[serde(default)]
    pub redacted: bool,
    /// The body of the webhook.
    pub body: Value,
}

/// The current version of the format.
pub const FORMAT_VERSION: u32 = 1;

/// Reads a file: recorded JSON lines, or one body as a provider posted it.
pub fn read_recording(file: &Path) -> Result<Vec<RecordedWebhook>> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    parse_lines(&text).with_context(|| format!("{} is no recording", file.display()))
}

fn parse_lines(text: &str) -> Result<Vec<RecordedWebhook>> {
    if let Ok(body) = serde_json::from_str::<Value>(text) {
        return Ok(vec![parse_line(body)?]);
    }
    text.lines()
        .enumerate()
        .filter(|(_, text)| !text.trim().is_empty())
        .map(|(number, text)| {
            let body = serde_json::from_str(text).with_context(|| format!("line {}", number + 1))?;
            parse_line(body).with_context(|| format!("line {}", number + 1))
        })
        .collect()
}

/// Parses a recorded line, or a body.
fn parse_line(body: Value) -> Result<RecordedWebhook> {
    if body.get("recado_record").is_some() {
        let line: RecordedWebhook = serde_json::from_value(body)?;
        if line.recado_record != FORMAT_VERSION {
            bail!("it is of another version of Recado");
        }
        return Ok(line);
    }
    Ok(RecordedWebhook {
        recado_record: FORMAT_VERSION,
        at: None,
        provider: recognize_provider(&body).context("no known provider posts such a webhook")?,
        redacted: false,
        body,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_body_is_known_by_its_shape_and_a_line_by_its_version() {
        let meta = parse_lines(r#"{"object": "whatsapp_business_account", "entry": []}"#).unwrap();
        assert_eq!(meta[0].provider, Provider::Meta);
        let two = "{\"event\": \"x\", \"instance\": \"a\"}\n\n{\"recado_record\": 1, \"provider\": \"meta\", \"body\": {}}\n";
        let two = parse_lines(two).unwrap();
        assert_eq!(
            two.iter().map(|line| line.provider).collect::<Vec<_>>(),
            [Provider::Evolution, Provider::Meta]
        );
        for wrong in [
            json!({"hello": 1}).to_string(),
            json!({"recado_record": 2, "provider": "meta", "body": {}}).to_string(),
            "{\"instance\": 1}\nnot json".to_owned(),
        ] {
            assert!(parse_lines(&wrong).is_err(), "{wrong}");
        }
    }
}
