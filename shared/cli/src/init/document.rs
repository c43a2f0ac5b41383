//! The text of a new configuration.

use super::questions::BusinessLanguage;
use recado_domain::ids::TenantId;
use recado_domain::provider::Provider;
use serde_json::Value;

/// The parts of a new configuration that follow from answers.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewConfiguration<'a> {
    pub(super) business: &'a str,
    pub(super) tenant: &'a TenantId,
    pub(super) zone: &'a str,
    /// The language of the prompt and of what contacts are told.
    pub(super) language: BusinessLanguage,
    /// The name of the model, with its vendor.
    pub(super) model: &'a str,
    pub(super) provider: Provider,
    /// The provider's name for the number.
    pub(super) number: &'a str,
    pub(super) instance: &'a str,
}

/// Quotes a text. The escapes of JSON are those of TOML, too.
fn quote_text(text: &str) -> String {
    Value::from(text).to_string()
}

impl NewConfiguration<'_> {
    /// Formats the configuration with its comments.
    pub(super) fn format_document(&self) -> String {
        let [business, tenant, zone] = [self.business, self.tenant.as_str(), self.zone].map(quote_text);
        let [model, provider] = [self.model, self.provider.as_str()].map(quote_text);
        let [number, instance] = [self.number, self.instance].map(quote_text);
        let variable = self.tenant.variable_part();
        // Ids of agents are those of the installation, and it may have other tenants.
        let agent = quote_text(&format!("{}-agent", self.tenant));
        let greeted = business.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        let words = self.language.words();
        let prompt = words.prompt.replace("{business}", greeted.unwrap_or(&business));
        let [error_message, closed] = [words.error_message, words.closed_message].map(quote_text);
        format!(
            r#"# The configuration of Recado. `recado serve` in this folder applies what was edited here since its last start;
# `recado apply` brings the file to an installation that runs, here or on AWS. What people change in the console stays so:
# `recado apply --pull` writes it back into this file. Keys never stand here: they are variables of the environment.

# Whose it is. Nothing of one tenant is ever seen by another.
[[tenants]]
id = {tenant}
name = {business}
time_zone = {zone}   # opening hours, closures and calendars are read by its clocks
# budget = {{ amount = "250", currency = "USD" }}   # of each month, told at 80 % and 100 %

# Who answers: a model, and what it is told to be.
[[agents]]
id = {agent}
tenant = {tenant}
model = {model}
system_prompt = """
{prompt}
"""
# What the customer is told when the model fails after all retries.
error_message = {error_message}
# decisions = ["hand_over", "resolve"]   # what the agent may decide by itself; without it, only people do

# The number.
[[instances]]
id = {instance}
tenant = {tenant}
agent = {agent}
provider = {provider}
external_id = {number}
# credential = "env:RECADO_CREDENTIAL_{variable}_KEY"   # a key of this number alone, not the installation's
# starts_with_ai = true                  # false: new conversations wait for a person
# typing = true                          # the customer sees "typing…" while the agent thinks

# Outside these hours messages are stored, and answered at the next opening. Without them the agent always answers.
# [instances.opening_hours]
# mon = ["08:00-12:00", "13:30-18:00"]
# tue = ["08:00-18:00"]
# closed_message = {closed}  # the customer is told once while it is closed

# Who is told when something is wrong. `recado alerts test` tries it.
# [[alerts.destinations]]
# id = "pager"
# webhook = {{ url = "https://pager.example.org/in", secret = "env:RECADO_ALERT_PAGER" }}
"#
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::config::ConfigDocument;

    fn write_with(business: &str, provider: Provider, language: BusinessLanguage) -> String {
        let written = NewConfiguration {
            business,
            tenant: &TenantId::parse("ana").unwrap(),
            zone: "America/Sao_Paulo",
            language,
            model: "openai::gpt-4.1",
            provider,
            number: "100000000000001",
            instance: "100000000000001",
        };
        written.format_document()
    }

    #[test]
    fn a_new_configuration_holds_the_answers_whatever_they_are() {
        let name = r#"Ana "the best" \ Söhne"#;
        for provider in Provider::ALL {
            for (language, greeting) in [
                (BusinessLanguage::English, "You answer for "),
                (BusinessLanguage::Portuguese, "Você atende por "),
                (BusinessLanguage::Spanish, "Atiendes por "),
            ] {
                let document: ConfigDocument = toml::from_str(&write_with(name, provider, language)).unwrap();
                assert_eq!(document.tenants[0].name.as_deref(), Some(name));
                let prompt = &document.agents[0].system_prompt;
                assert!(prompt.starts_with(&format!("{greeting}{name} ")), "{prompt}");
                assert_eq!(document.agents[0].model, "openai::gpt-4.1");
                assert_eq!(document.instances[0].provider, provider);
                assert_eq!(
                    document.instances[0].resolve_external_id().unwrap().as_str(),
                    "100000000000001"
                );
                document.validate_against(&ConfigDocument::default()).unwrap();
            }
        }
    }

    #[test]
    fn what_stands_in_comments_is_right_once_it_is_uncommented() {
        let text = write_with("Ana", Provider::ALL[0], BusinessLanguage::Portuguese);
        let is_setting = |line: &&str| {
            line.starts_with("# [") || line.trim_start_matches("# ").split(' ').nth(1) == Some("=")
        };
        let uncommented: Vec<&str> = text
            .lines()
            .map(|line| {
                if is_setting(&line) {
                    line.trim_start_matches("# ")
                } else {
                    line
                }
            })
            .collect();
        let document: ConfigDocument = toml::from_str(&uncommented.join("\n")).unwrap();
        assert!(document.instances[0].opening_hours.is_some());
        assert!(!document.agents[0].decisions.is_empty());
        document.validate_against(&ConfigDocument::default()).unwrap();
    }
}
