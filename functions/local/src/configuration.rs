//! `recado.toml`: reading it, and bringing it to an installation.

use crate::environment::Environment;
use crate::installation::{Where, warn_of_plain};
use anyhow::{Context, Result, bail};
use clap::Args;
use recado_domain::config::Document;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// The sample that a start without any configuration loads.
const SAMPLE: &str = include_str!("../../../recado.toml");

/// Reads a configuration file.
pub(crate) fn read(path: &Path) -> Result<Document> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    toml::from_str(&text).with_context(|| format!("{} is not a configuration", path.display()))
}

/// The configuration of a start, and where it comes from.
pub(crate) fn at_start(environment: &Environment) -> Result<(Document, String)> {
    let usual = PathBuf::from("recado.toml");
    match &environment.config {
        Some(path) => Ok((read(path)?, path.display().to_string())),
        None if usual.exists() => Ok((read(&usual)?, usual.display().to_string())),
        None => Ok((
            toml::from_str(SAMPLE).context("the sample")?,
            "the built-in sample".to_owned(),
        )),
    }
}

/// Brings a configuration file to a running installation, here or on AWS, and shows what that changes.
#[derive(Debug, Args)]
pub(crate) struct Apply {
    /// The file.
    #[arg(default_value = "recado.toml")]
    file: PathBuf,
    #[command(flatten)]
    there: Where,
}

/// `recado apply`: sends a file to a running installation and prints what that changes.
pub(crate) async fn apply(command: Apply, environment: &Environment) -> Result<()> {
    let document = read(&command.file)?;
    let (url, token) = (&command.there.url, command.there.token(environment)?);
    warn_of_plain(url);
    let answer = recado_ai::http_client()?
        .put(format!("{}/v1/config", url.trim_end_matches('/')))
        .bearer_auth(token.expose())
        .json(&document)
        .timeout(std::time::Duration::from_secs(30))
        .send()
        .await
        .with_context(|| format!("{url} cannot be reached: is Recado running there?"))?;
    let status = answer.status();
    let body: Value = answer.json().await.unwrap_or_default();
    if !status.is_success() {
        bail!(
            "{status}: {}",
            text(&body, "detail").unwrap_or("the configuration was not applied")
        );
    }
    print_applied(&body);
    Ok(())
}

fn print_applied(body: &Value) {
    for change in list(body, "changes") {
        let fields: Vec<&str> = list(change, "fields").iter().filter_map(Value::as_str).collect();
        let fields = if fields.is_empty() {
            String::new()
        } else {
            format!(" ({})", fields.join(", "))
        };
        let part = |name| text(change, name).unwrap_or_default();
        println!("{:<9} {} {}{fields}", part("what"), part("kind"), part("id"));
    }
    for instance in list(body, "instances") {
        let part = |name| text(instance, name).unwrap_or("-");
        println!("\n{} ({})", part("id"), part("provider"));
        println!("  webhook  {}", part("webhook_url"));
        if let Some(header) = text(instance, "secret_header") {
            println!("  header   {header} (or the secret as Basic password)");
        }
        if let Some(secret) = text(instance, "secret") {
            println!("  secret   {secret}");
        }
    }
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value
        .get(name)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_is_sound() {
        let document: Document = toml::from_str(SAMPLE).unwrap();
        document.check(&Document::default()).unwrap();
        assert!(
            document
                .instances
                .iter()
                .any(|instance| instance.id.as_str() == "suporte-01")
        );
    }
}
