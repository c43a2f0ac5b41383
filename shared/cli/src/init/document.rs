//! The text of a new configuration.

use recado_domain::provider::Provider;
use serde_json::Value;

/// The parts of a new configuration that follow from answers.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewConfiguration<'a> {
    pub(super) business: &'a str,
    pub(super) tenant: &'a str,
    pub(super) zone: &'a str,
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
        let (business, tenant, zone) = (
            quote_text(self.business),
            quote_text(self.tenant),
            quote_text(self.zone),
        );
        let provider = quote_text(self.provider.as_str());
        // Ids of agents are those of the installation, and it may have other tenants.
        let agent = quote_text(&format!("{}-agent", self.tenant));
        let (number, instance) = (quote_text(self.number), quote_text(self.instance));
        let greeted = business.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        let greeted = greeted.unwrap_or(&business);
        format!(
            r#"# The configuration of Recado. `recado serve` in this folder applies it at each start; `recado apply` brings it to an
# installation that runs, here or on AWS. Keys never stand here: they are variables of the environment.

# Whose it is. Nothing of one tenant is ever seen by another.
[[tenants]]
id = {tenant}
name = {business}
time_zone = {zone}
# budget = {{ amount = "250", currency = "USD" }}   # of each month, told at 80 % and 100 %

# Who answers: a model, and what it is told to be.
[[agents]]
id = {agent}
tenant = {tenant}
model = "claude-sonnet-4-5"
system_prompt = """
You answer for {greeted} on WhatsApp: briefly, warmly, in the language of the customer.
If you do not know something, you say so, and offer that a person answers later.
"""
# What the customer is told when the model fails after all retries.
error_message = "Sorry, something went wrong here. Could you write again in a few minutes?"
# decisions = ["hand_over", "resolve"]   # what the agent may decide by itself; without it, only people do

# The number.
[[instances]]
id = {instance}
tenant = {tenant}
agent = {agent}
provider = {provider}
external_id = {number}
# starts_with_ai = true                  # false: new conversations wait for a person
# typing = true                          # the customer sees "typing…" while the agent thinks

# Outside these hours messages are stored, and answered at the next opening. Without them the agent always answers.
# [instances.opening_hours]
# mon = ["08:00-12:00", "13:30-18:00"]
# tue = ["08:00-18:00"]
# closed_message = "We are closed now."  # the customer is told once while it is closed

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

    #[test]
    fn a_new_configuration_holds_the_answers_whatever_they_are() {
        for provider in Provider::ALL {
            let written = NewConfiguration {
                business: r#"Ana "the best" \ Söhne"#,
                tenant: "ana",
                zone: "America/Sao_Paulo",
                provider,
                number: "100000000000001",
                instance: "100000000000001",
            };
            let text = written.format_document();
            let document: ConfigDocument = toml::from_str(&text).unwrap();
            assert_eq!(
                document.tenants[0].name.as_deref(),
                Some(r#"Ana "the best" \ Söhne"#)
            );
            assert!(
                document.agents[0]
                    .system_prompt
                    .contains(r#"for Ana "the best" \ Söhne on"#)
            );
            assert_eq!(document.instances[0].provider, provider);
            assert_eq!(
                document.instances[0].resolve_external_id().unwrap().as_str(),
                "100000000000001"
            );
        }
    }

    #[test]
    fn what_stands_in_comments_is_right_once_it_is_uncommented() {
        let written = NewConfiguration {
            business: "Ana",
            tenant: "ana",
            zone: "UTC",
            provider: Provider::ALL[0],
            number: "a",
            instance: "a",
        };
        let text = written.format_document();
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
    }
}
