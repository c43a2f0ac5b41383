//! Reads `recado.toml`: for a start, and for the command that applies it.

use anyhow::{Context, Result, anyhow, bail};
use recado_domain::config::ConfigDocument;
use recado_domain::wrong_value::describe_wrong_value;
use std::fs;
use std::path::{Path, PathBuf};

/// The sample configuration, which is loaded if there is no other.
const SAMPLE: &str = include_str!("../../../recado.toml");

/// Reads a configuration file.
pub fn read_configuration(path: &Path) -> Result<ConfigDocument> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    parse_configuration(&text).with_context(|| format!("{} is not a configuration", path.display()))
}

/// Parses the text of a configuration file.
pub fn parse_configuration(text: &str) -> Result<ConfigDocument> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let plain = describe_wrong_value(error.message(), "a table");
        let told = error.to_string().replace(error.message(), &plain);
        match suggest_key(error.message()) {
            Some(nearest) => anyhow!("{}\ndid you mean `{nearest}`?", told.trim_end()),
            None => anyhow!(told),
        }
    })
}

/// Returns the allowed key that is most like the unknown one of a parser's message. `None`: none is like it.
fn suggest_key(message: &str) -> Option<&str> {
    let (_, told) = message.split_once("unknown field `")?;
    let (unknown, allowed) = told.split_once('`')?;
    // Every second part stands between backquotes.
    let nearest = allowed
        .split('`')
        .skip(1)
        .step_by(2)
        .min_by_key(|key| strsim::osa_distance(key, unknown))?;
    (strsim::osa_distance(nearest, unknown) <= unknown.len() / 3 + 1).then_some(nearest)
}

/// Loads the configuration for a start: the file that is `named`, else `recado.toml` in this folder. Also returns the place that it came from. Only with `or_sample` the sample takes
/// the place of a configuration that is not there.
pub fn load_start_configuration(named: Option<&Path>, or_sample: bool) -> Result<(ConfigDocument, String)> {
    let usual = PathBuf::from("recado.toml");
    match named {
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

    #[test]
    fn the_worked_example_is_sound() {
        let page = include_str!("../../../docs/worked-example.md");
        let text = page
            .split("```toml\n")
            .nth(1)
            .unwrap()
            .split("```")
            .next()
            .unwrap();
        let document = parse_configuration(text).unwrap();
        document.validate_against(&ConfigDocument::default()).unwrap();
        assert!(document.calendars[0].google.is_some());
    }

    #[test]
    fn a_wrong_value_is_told_with_its_line_and_in_plain_words() {
        let text = "[[agents]]\nid = \"ana\"\ntenant = \"demo\"\nmax_tokens = \"many\"\n";
        let told = parse_configuration(text).unwrap_err().to_string();
        let line = told.lines().last().unwrap();
        assert!(told.contains("4 | max_tokens = "), "{told}");
        assert_eq!(
            line,
            "it must be a whole number from 0 to 4294967295, and is the text \"many\""
        );
    }

    #[test]
    fn an_unknown_key_is_told_with_the_nearest_one() {
        let message =
            "unknown field `debounce_second`, expected one of `id`, `tenant`, `debounce_seconds`, `rate`";
        assert_eq!(suggest_key(message), Some("debounce_seconds"));
        assert_eq!(
            suggest_key("unknown field `tenant`, expected `tenants`"),
            Some("tenants")
        );
        assert_eq!(
            suggest_key("unknown field `colour`, expected `id` or `tenant`"),
            None
        );
        assert_eq!(suggest_key("invalid type: string, expected u32"), None);
    }
}
