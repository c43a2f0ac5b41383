//! Reads `recado.toml`, and applies it to a running installation.

use crate::environment::LocalEnvironment;
use crate::installation::InstallationArguments;
use anyhow::{Context, Result, bail};
use clap::Args;
use recado_domain::config::ConfigDocument;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// The sample configuration, which is loaded if there is no other.
const SAMPLE: &str = include_str!("../../../recado.toml");

/// Reads a configuration file.
pub(crate) fn read_configuration(path: &Path) -> Result<ConfigDocument> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    toml::from_str(&text).with_context(|| format!("{} is not a configuration", path.display()))
}

/// Loads the configuration for a start. Also returns the place that it came from. Only with `or_sample` the sample takes
/// the place of a configuration that is not there.
pub(crate) fn load_start_configuration(
    environment: &LocalEnvironment,
    or_sample: bool,
) -> Result<(ConfigDocument, String)> {
    let usual = PathBuf::from("recado.toml");
    match &environment.config {
        Some(path) => Ok((read_configuration(path)?, path.display().to_string())),
        None if usual.exists() => Ok((read_configuration(&usual)?, usual.display().to_string())),
        None if or_sample => Ok((
            toml::from_str(SAMPLE).context("the sample")?,
            "the built-in sample".to_owned(),
        )),
        None => bail!(
            "there is no recado.toml in {}: start in its folder, or name it: --config FILE (RECADO_CONFIG). `recado` alone \
             shows a demonstration without one",
            std::env::current_dir().unwrap_or_default().display()
        ),
    }
}

/// Applies a configuration file to a running installation, here or on AWS, and shows what that changes.
#[derive(Debug, Args)]
pub(crate) struct ApplyArguments {
    /// The configuration file.
    #[arg(default_value = "recado.toml")]
    file: PathBuf,
    #[command(flatten)]
    there: InstallationArguments,
}

/// `recado apply`: sends a configuration file to a running installation and prints what that changes.
pub(crate) async fn apply_configuration(
    command: ApplyArguments,
    environment: &LocalEnvironment,
) -> Result<()> {
    let document = read_configuration(&command.file)?;
    let there = command.there.build_client(environment)?;
    print_applied_changes(&there.apply_configuration(&document).await?);
    Ok(())
}

fn print_applied_changes(body: &Value) {
    for change in list_items(body, "changes") {
        let fields: Vec<&str> = list_items(change, "fields")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let fields = if fields.is_empty() {
            String::new()
        } else {
            format!(" ({})", fields.join(", "))
        };
        let part = |name| get_text(change, name).unwrap_or_default();
        println!("{:<9} {} {}{fields}", part("what"), part("kind"), part("id"));
    }
    for instance in list_items(body, "instances") {
        let part = |name| get_text(instance, name).unwrap_or("-");
        println!("\n{} ({})", part("id"), part("provider"));
        println!("  webhook  {}", part("webhook_url"));
        if let Some(header) = get_text(instance, "secret_header") {
            println!("  header   {header} (or the secret as Basic password)");
        }
        if let Some(secret) = get_text(instance, "secret") {
            println!("  secret   {secret}");
        }
    }
}

fn list_items<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value
        .get(name)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn get_text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_is_sound() {
        let document: ConfigDocument = toml::from_str(SAMPLE).unwrap();
        document.validate_against(&ConfigDocument::default()).unwrap();
        assert!(
            document
                .instances
                .iter()
                .any(|instance| instance.id.as_str() == "suporte-01")
        );
    }
}
