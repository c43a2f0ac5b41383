//! `recado init`: asks a few questions, and writes a configuration with comments.

mod document;
mod questions;

use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, ValueEnum};
use document::NewConfiguration;
use jiff::tz::TimeZone;
use questions::{BusinessLanguage, ModelVendor, VENDORS, parse_vendor};
use recado_domain::config::Instance;
use recado_domain::folding::fold_text;
use recado_domain::ids::{InstanceId, TenantId};
use recado_domain::provider::Provider;
use recado_onboarding::{NumberQuestion, describe_number};
use serde_json::json;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write, stdin};
use std::path::{Path, PathBuf};

/// Writes a configuration with comments, after six questions: the name of the business, the provider, the number, the time zone, the
/// language and the vendor of the model. An option answers its question.
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
    /// The time zone of the business, such as `America/Sao_Paulo`. Opening hours and appointments are read in it.
    #[arg(long, value_parser = parse_zone)]
    zone: Option<String>,
    /// The language of the prompt and of what contacts are told.
    #[arg(long)]
    language: Option<BusinessLanguage>,
    /// The vendor of the model: anthropic, openai, gemini, bedrock or ollama.
    #[arg(long, value_parser = parse_vendor)]
    vendor: Option<ModelVendor>,
}

fn parse_zone(text: &str) -> Result<String, String> {
    let known = TimeZone::get(text).map(|_| text.to_owned());
    known.map_err(|_| format!("there is no time zone `{text}`: such as America/Sao_Paulo"))
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
    let ask_for_business = || ask_question("The name of the business", "My business", &check_business);
    let business = arguments.business.map_or_else(ask_for_business, Ok)?;
    check_business(&business)?;
    let provider = arguments.provider.map_or_else(ask_for_provider, Ok)?;
    let question = describe_number(provider);
    let check_number = |number: &str| check_external_id(provider, number);
    let called = format!("{}: {}", question.provider, question.called);
    let ask_for_number = || ask_question(&called, question.example, &check_number);
    let number = arguments.number.map_or_else(ask_for_number, Ok)?;
    check_number(&number)?;
    let zone = arguments.zone.map_or_else(ask_for_zone, Ok)?;
    let ask_for_language = || ask_for_language(BusinessLanguage::guess_for_zone(&zone));
    let language = arguments.language.map_or_else(ask_for_language, Ok)?;
    let vendor = arguments.vendor.map_or_else(ask_for_vendor, Ok)?;
    let tenant = TenantId::parse(&derive_id_of_name(&business, "business"))
        .context("the name of the business makes no id")?;
    let instance = derive_id_of_name(&number, "number");
    InstanceId::parse(&instance).context("the name of the number makes no id")?;
    let written = NewConfiguration {
        business: &business,
        tenant: &tenant,
        zone: &zone,
        language,
        model: vendor.model,
        provider,
        number: &number,
        instance: &instance,
    };
    write_new_file(&arguments.file, &written.format_document())?;
    let steps = format_next_steps(&file.to_string(), &instance, &question, vendor);
    print!("{steps}");
    Ok(())
}

/// Writes a file that is not there yet.
fn write_new_file(path: &Path, text: &str) -> Result<()> {
    let file = path.display();
    let mut opened = match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(opened) => opened,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!("{file} is there already, and stays as it is: name another file")
        }
        Err(error) => return Err(error).with_context(|| format!("cannot write {file}")),
    };
    opened
        .write_all(text.as_bytes())
        .with_context(|| format!("cannot write {file}"))
}

/// Says what is to be done after the file is written.
fn format_next_steps(file: &str, instance: &str, question: &NumberQuestion, vendor: ModelVendor) -> String {
    let settings = vendor.key.iter().chain(question.settings);
    let mut settings = settings.copied().collect::<Vec<_>>().join(", ");
    if settings.is_empty() {
        "no key: none is asked for".clone_into(&mut settings);
    }
    let other = Some(file).filter(|file| *file != "recado.toml");
    let config = other.map_or_else(String::new, |file| format!(" --config {file}"));
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

/// Asks for the time zone. That of this machine is usual, but not UTC: servers have it, and no business.
fn ask_for_zone() -> Result<String> {
    let zone = TimeZone::system();
    let own = zone.iana_name().filter(|_| !zone.is_unknown());
    let own = own.filter(|name| name.contains('/') && !name.starts_with("Etc/"));
    let check = |text: &str| parse_zone(text).map(drop).map_err(anyhow::Error::msg);
    let question = "The time zone of the business, such as America/Sao_Paulo";
    ask_question(question, own.unwrap_or_default(), &check)
}

fn ask_for_language(usual: BusinessLanguage) -> Result<BusinessLanguage> {
    let find = |text: &str| {
        let found = BusinessLanguage::from_str(text, false).ok();
        found.with_context(|| format!("there is no text in `{text}`: en, pt or es"))
    };
    let question = "The language of its customers: en, pt or es";
    find(&ask_question(question, usual.as_str(), &|text| {
        find(text).map(drop)
    })?)
}

fn ask_for_vendor() -> Result<ModelVendor> {
    let known = VENDORS.map(|vendor| vendor.name).join(", ");
    let check = |text: &str| parse_vendor(text).map(drop).map_err(anyhow::Error::msg);
    let question = format!("The vendor of the model: {known}");
    let answer = ask_question(&question, VENDORS[0].name, &check)?;
    parse_vendor(&answer).map_err(anyhow::Error::msg)
}

/// Asks on the terminal, or reads the next line of standard input, until an answer can be used. An empty line
/// is the answer `usual`, if there is one.
fn ask_question(question: &str, usual: &str, check: &dyn Fn(&str) -> Result<()>) -> Result<String> {
    loop {
        if usual.is_empty() {
            eprint!("{question}: ");
        } else {
            eprint!("{question} [{usual}]: ");
        }
        let mut line = String::new();
        if stdin().read_line(&mut line)? == 0 {
            bail!(
                "nothing was written: there is no answer to \"{question}\". The options answer, too: recado init --help"
            );
        }
        let answer = Some(line.trim()).filter(|line| !line.is_empty()).unwrap_or(usual);
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

/// Checks the name of a number by the rules of its provider.
fn check_external_id(provider: Provider, number: &str) -> Result<()> {
    let named = json!({"id": "number", "tenant": "business", "agent": "agent", "provider": provider, "external_id": number});
    let instance: Instance = serde_json::from_value(named).map_err(|error| anyhow!("{error}"))?;
    recado_whatsapp::normalize(instance)?;
    Ok(())
}

/// Makes an id of a name: its letters and digits as ASCII in lower case, with `-` between the words. So variables and parameters can
/// be named after it.
fn derive_id_of_name(name: &str, otherwise: &str) -> String {
    let plain = fold_text(name);
    let words = plain
        .split(|character: char| !character.is_ascii_alphanumeric())
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
            ("Clínica São José", "clinica-sao-jose"),
            ("李医生", "business"),
            ("suporte-01", "suporte-01"),
            ("  A & B: Ltda. ", "a-b-ltda"),
            ("***", "business"),
        ] {
            assert_eq!(derive_id_of_name(name, "business"), id);
        }
    }

    #[test]
    fn the_next_steps_name_the_keys_of_the_provider() {
        let told = format_next_steps(
            "clinic.toml",
            "suporte-01",
            &describe_number(Provider::ALL[0]),
            VENDORS[0],
        );
        assert!(
            told.contains("ANTHROPIC_API_KEY, EVOLUTION_API_URL, EVOLUTION_API_KEY"),
            "{told}"
        );
        assert!(told.contains("recado serve --config clinic.toml"), "{told}");
        assert!(told.lines().all(|line| line.len() <= 80), "{told}");
    }
}
