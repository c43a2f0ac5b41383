//! Prints at a start where Recado listens and the state of each instance.

use recado_checks::key_check::{FoundKeys, InstanceKeys};
use recado_domain::config::{ConfigDocument, KeptEntry};
use recado_domain::http_agent::HTTP_AGENT_MODEL;
use recado_local::environment::LocalEnvironment;
use recado_pipeline::ports::CredentialState;
use std::collections::BTreeSet;
use std::net::SocketAddr;

/// Prints where Recado listens.
pub(crate) fn print_address(address: SocketAddr) {
    println!("Recado listens on http://{address}");
}

/// The facts that a start prints after the address. It prints no secret: standard output may go to a log.
pub(crate) struct Welcome<'a> {
    pub(crate) environment: &'a LocalEnvironment,
    /// The place that the configuration came from.
    pub(crate) source: &'a str,
    pub(crate) keys: &'a FoundKeys,
    pub(crate) document: &'a ConfigDocument,
    /// Entries of the configuration that stayed as they were changed otherwise.
    pub(crate) kept: &'a [KeptEntry],
}

impl Welcome<'_> {
    pub(crate) fn print(&self) {
        let token = match &self.environment.token {
            Some(_) => "token as RECADO_TOKEN says".to_owned(),
            None => "operators' token in operator-token".to_owned(),
        };
        print_row("Data", &format!("{} ({token})", self.environment.data.display()));
        print_row("Configuration", self.source);
        if !self.kept.is_empty() {
            print_row("", &describe_kept(self.kept));
            print_row(
                "",
                "`recado apply --pull` writes them into the file; `recado apply` applies the file",
            );
        }
        for (number, keys) in self.keys.first.iter().enumerate() {
            let title = if number == 0 { "Instances" } else { "" };
            let (id, provider) = (&keys.instance.id, keys.instance.provider);
            print_row(
                title,
                &format!(
                    "{:<12} {:<10} {}",
                    id.as_str(),
                    provider.as_str(),
                    describe_keys(keys)
                ),
            );
        }
        if self.keys.more > 0 {
            print_row("", &format!("and {} more (recado doctor)", self.keys.more));
        }
        print_row("Model", &self.describe_model());
        let left_out = list_left_out_parts();
        if !left_out.is_empty() {
            print_row(
                "Left out",
                &format!("{} (built without --features full)", left_out.join(", ")),
            );
        }
        // What is simulated reaches no phone, so doctor would find that bad.
        if self.keys.all_simulated && !self.keys.first.is_empty() {
            print_row("Next", "recado init, for a number of your own");
        } else {
            print_row("Doctor", "recado doctor");
        }
    }

    fn describe_model(&self) -> String {
        let names: BTreeSet<&str> = self
            .document
            .agents
            .iter()
            .map(|agent| {
                if agent.http.is_some() {
                    HTTP_AGENT_MODEL
                } else {
                    agent.model.as_str()
                }
            })
            .collect();
        let names = names.into_iter().collect::<Vec<_>>().join(", ");
        if self.keys.first.is_empty() && names.is_empty() {
            "no agent yet".to_owned()
        } else if self.keys.first.is_empty() {
            names
        } else if self.keys.all_simulated {
            "simulated".to_owned()
        } else if self.keys.model_key_missing {
            format!("{names}: ANTHROPIC_API_KEY is not set")
        } else {
            names
        }
    }
}

/// The number of entries that are named at most.
const NAMED_MAX: usize = 5;

/// Names the entries that stayed as they were changed otherwise.
fn describe_kept(kept: &[KeptEntry]) -> String {
    let name = |kept: &KeptEntry| {
        let removed = if kept.is_removed { " (removed)" } else { "" };
        format!("{}{removed}", kept.name)
    };
    let named: Vec<String> = kept.iter().take(NAMED_MAX).map(name).collect();
    let more = match kept.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more (see the log)"),
    };
    format!(
        "changed otherwise since it was applied, and left so: {}{more}",
        named.join(", ")
    )
}

/// Lists the parts that this program was built without.
fn list_left_out_parts() -> Vec<&'static str> {
    let parts = [
        (cfg!(feature = "documents"), "PDF and office documents"),
        (cfg!(feature = "mcp"), "MCP"),
        (cfg!(feature = "smtp"), "SMTP"),
        (cfg!(feature = "traces"), "traces"),
    ];
    let left_out = parts.into_iter().filter(|(is_built, _)| !is_built);
    left_out.map(|(_, part)| part).collect()
}

fn print_row(title: &str, text: &str) {
    println!("  {title:<14} {text}");
}

/// Describes how an instance sends, and what it lacks.
pub(crate) fn describe_keys(keys: &InstanceKeys) -> String {
    const NO_MODEL: &str = "ANTHROPIC_API_KEY is not set";
    match (&keys.credential, keys.model_key_missing) {
        (CredentialState::Simulated, _) => "simulated: replies go to no phone".to_owned(),
        (CredentialState::Present, false) => "sends for real".to_owned(),
        (CredentialState::Present, true) => {
            format!("sends for real, but has no model: {NO_MODEL}. Its messages wait.")
        }
        (CredentialState::Missing(why), false) => {
            format!("has a model, but cannot send: {why}. Its messages wait.")
        }
        (CredentialState::Missing(why), true) => {
            format!("can neither answer nor send: {NO_MODEL}; {why}. Its messages wait.")
        }
        (CredentialState::Unclear, _) => "its credential cannot be read. Its messages wait.".to_owned(),
    }
}
