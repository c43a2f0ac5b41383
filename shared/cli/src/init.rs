//! `recado init`: asks three questions, and writes a configuration with comments.

mod document;

use anyhow::{Context, Result, bail};
use clap::Args;
use document::NewConfiguration;
use jiff::tz::TimeZone;
use recado_domain::ids::{ExternalId, InstanceId, TenantId};
use recado_domain::provider::Provider;
use recado_onboarding::{NumberQuestion, describe_number};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write, stdin};
use std::path::PathBuf;

/// Writes a configuration with comments, after three questions: the name of the business, the provider and the number. An
/// option answers its question.
#[derive(Debug, Args)]
pub struct InitArguments {
    /// The file. It must not exist yet.
    #[arg(default_value = "recado.toml")]
    file: PathBuf,
    /// The name of the business.
    #[arg(long)]
    business: Option<String>,
    /// The provider: evolution, meta, 360dialog or aws-social.
    #[arg(long, value_parser = parse_provider)]
    provider: Option<Provider>,
    /// The provider's name for the number: an instance of Evolution API, or a `phone_number_id`.
    #[arg(long)]
    number: Option<String>,
}

fn parse_provider(text: &str) -> Result<Provider, String> {
    Provider::parse(text).map_err(|error| error.to_string())
}

/// Asks what the options leave open, writes the file, and says what comes next.
pub(crate) fn write_configuration(arguments: InitArguments) -> Result<()> {
    let file = arguments.file.display();
    if arguments.file.exists() {
        bail!("{file} is there already, and stays as it is: name another file");
    }
    let business = match arguments.business {
        Some(business) => business,
        None => ask_question("The name of the business", "My business", &check_business)?,
    };
    check_business(&business)?;
    let provider = match arguments.provider {
        Some(provider) => provider,
        None => ask_for_provider()?,
    };
    let question = describe_number(provider);
    let number = if let Some(number) = arguments.number {
        number
    } else {
        let called = format!("{}: {}", question.provider, question.called);
        ask_question(&called, question.example, &check_external_id)?
    };
    check_external_id(&number)?;
    let zone = TimeZone::system();
    let (tenant, instance) = (
        derive_id_of_name(&business, "business"),
        derive_id_of_name(&number, "number"),
    );
    let written = NewConfiguration {
        business: &business,
        tenant: &tenant,
        zone: zone.iana_name().filter(|_| !zone.is_unknown()).unwrap_or("UTC"),
        provider,
        number: &number,
        instance: &instance,
    };
    TenantId::parse(written.tenant).context("the name of the business makes no id")?;
    InstanceId::parse(written.instance).context("the name of the number makes no id")?;
    let mut opened = match OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&arguments.file)
    {
        Ok(opened) => opened,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!("{file} is there already, and stays as it is: name another file")
        }
        Err(error) => return Err(error).with_context(|| format!("cannot write {file}")),
    };
    let text = written.format_document();
    opened
        .write_all(text.as_bytes())
        .with_context(|| format!("cannot write {file}"))?;
    print!(
        "{}",
        format_next_steps(&file.to_string(), written.instance, &question)
    );
    Ok(())
}

/// Says what is to be done after the file is written.
fn format_next_steps(file: &str, instance: &str, question: &NumberQuestion) -> String {
    let settings = ["ANTHROPIC_API_KEY"].iter().chain(question.settings);
    let settings = settings.copied().collect::<Vec<_>>().join(", ");
    let config = if file == "recado.toml" {
        String::new()
    } else {
        format!(" --config {file}")
    };
    format!(
        "Wrote {file}. What now?\n  1. Write the agent's prompt there.\n  2. Set {settings}\n  3. recado \
         serve{config}\n  4. In another terminal: recado connect {instance}, then recado doctor\n"
    )
}

fn ask_for_provider() -> Result<Provider> {
    let known = Provider::ALL
        .map(|provider| format!("{} ({})", provider.as_str(), describe_number(provider).provider));
    eprintln!("The providers: {}", known.join(", "));
    let is_known = |text: &str| Provider::parse(text).map(drop).map_err(anyhow::Error::from);
    let answer = ask_question("The provider of the number", Provider::ALL[0].as_str(), &is_known)?;
    Ok(Provider::parse(&answer)?)
}

/// Asks on the terminal, or reads the next line of standard input, until an answer can be used. An empty line
/// is the answer `usual`.
fn ask_question(question: &str, usual: &str, check: &dyn Fn(&str) -> Result<()>) -> Result<String> {
    loop {
        eprint!("{question} [{usual}]: ");
        let mut line = String::new();
        if stdin().read_line(&mut line)? == 0 {
            bail!(
                "nothing was written: there is no answer to \"{question}\". The options answer, too: recado init --help"
            );
        }
        let answer = if line.trim().is_empty() {
            usual
        } else {
            line.trim()
        };
        match check(answer) {
            Ok(()) => return Ok(answer.to_owned()),
            Err(error) => eprintln!("{error:#}"),
        }
    }
}

fn check_business(name: &str) -> Result<()> {
    if name.trim().is_empty() || name.len() > 200 || name.contains(char::is_control) {
        bail!("a name of 1 to 200 characters is needed");
    }
    Ok(())
}

fn check_external_id(number: &str) -> Result<()> {
    ExternalId::parse(number)?;
    Ok(())
}

/// Makes an id of a name: its letters and digits in lower case, with `-` between the words.
fn derive_id_of_name(name: &str, otherwise: &str) -> String {
    let lower = name.to_lowercase();
    let words = lower
        .split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty());
    let id: String = words.collect::<Vec<_>>().join("-").chars().take(40).collect();
    match id.trim_end_matches('-') {
        "" => otherwise.to_owned(),
        id => id.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_makes_an_id() {
        for (name, id) in [
            ("Clínica São José", "clínica-são-josé"),
            ("suporte-01", "suporte-01"),
            ("  A & B: Ltda. ", "a-b-ltda"),
            ("***", "business"),
        ] {
            assert_eq!(derive_id_of_name(name, "business"), id);
        }
    }

    #[test]
    fn the_next_steps_name_the_keys_of_the_provider() {
        let told = format_next_steps("clinic.toml", "suporte-01", &describe_number(Provider::ALL[0]));
        assert!(
            told.contains("ANTHROPIC_API_KEY, EVOLUTION_API_URL, EVOLUTION_API_KEY"),
            "{told}"
        );
        assert!(told.contains("recado serve --config clinic.toml"), "{told}");
        assert!(told.lines().all(|line| line.len() <= 80), "{told}");
    }
}
