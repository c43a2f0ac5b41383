//! `recado contact`: finds, exports and erases a contact of a running installation, here or on AWS.

mod export;

use crate::api_command::CommandGroup;
use crate::command_environment::CommandEnvironment;
use crate::confirm::confirm_action;
use crate::installation::{InstallationClient, add_part};
use crate::instant::{format_local_time, wait_until};
use crate::json_fields::{find_text, join_texts, list_items, number_or_zero, text_or_dash};
use anyhow::Result;
use clap::{Args, Subcommand};
use jiff::Timestamp;
use recado_machine::output::print_answer;
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// The subcommands about a contact.
#[derive(Debug, Subcommand)]
pub enum ContactCommand {
    /// Shows the contact's addresses, names and conversations.
    Find {
        #[command(flatten)]
        which: WhichContact,
    },
    /// Writes everything that is stored of the contact into a folder: `contact.json`, and the files that were sent or
    /// received.
    Export {
        #[command(flatten)]
        which: WhichContact,
        /// The folder. It must not exist yet.
        #[arg(long, value_name = "FOLDER")]
        to: PathBuf,
    },
    /// Erases everything that is stored of the contact, for good. Shows what there is, and asks.
    Erase {
        #[command(flatten)]
        which: WhichContact,
        /// Erases without a question.
        #[arg(long)]
        yes: bool,
    },
}

/// The contact that a command is about.
#[derive(Debug, Args)]
pub struct WhichContact {
    /// The phone number in any spelling, or an identity without a number (`…@lid`).
    contact: String,
    /// The tenant whose contact it is, if there are several.
    #[arg(long)]
    tenant: Option<String>,
    /// Only on this instance.
    #[arg(long)]
    instance: Option<String>,
}

impl WhichContact {
    async fn post(&self, there: &InstallationClient, what: &str) -> Result<Value> {
        self.post_from(there, what, None).await
    }

    /// Posts the request for the part that begins at `cursor`.
    async fn post_from(&self, there: &InstallationClient, what: &str, cursor: Option<&str>) -> Result<Value> {
        let tenant = there.resolve_tenant(self.tenant.as_deref()).await?;
        let body = self.write_request(&tenant, cursor);
        there.post_json(&["v1", "contacts", what], &body).await
    }

    /// Writes the body of a request about the contact.
    fn write_request(&self, tenant: &str, cursor: Option<&str>) -> Value {
        let mut body = json!({"tenant": tenant, "contact": self.contact, "instance": self.instance});
        if let Some(cursor) = cursor {
            body["cursor"] = json!(cursor);
        }
        body
    }
}

/// Runs the subcommand and prints its result.
pub(crate) async fn run_contact_command(
    group: CommandGroup<ContactCommand>,
    environment: &CommandEnvironment,
) -> Result<()> {
    let there = group.asked.there.build_client(environment)?;
    let answer = match &group.command {
        ContactCommand::Find { which } => {
            let found = which.post(&there, "find").await?;
            return print_answer(&found, group.asked.json, format_found);
        }
        ContactCommand::Export { which, to } => {
            let export = export::export_parts(&there, which).await?;
            json!({"folder": to, "files": export::write_export(&there, to, export).await?})
        }
        ContactCommand::Erase { which, yes } => {
            let found = which.post(&there, "find").await?;
            eprint!("{}", format_found(&found));
            confirm_action("Erase everything of this contact, for good?", *yes)?;
            erase(&there, which).await?
        }
    };
    print_answer(&answer, group.asked.json, format_counts)
}

/// Requests the erasure until nothing of it has to wait any more. Returns the sum of the counts.
async fn erase(there: &InstallationClient, which: &WhichContact) -> Result<Value> {
    let mut total = Map::new();
    loop {
        let part = which.post(there, "erase").await?;
        add_part(&mut total, &part);
        let until = find_text(&part, "waits_until").map(str::parse::<Timestamp>);
        let Some(until) = until.transpose()? else {
            total.remove("waits_until");
            total.insert("done".to_owned(), json!(true));
            return Ok(Value::Object(total));
        };
        eprintln!("A message is being sent; the rest is erased after {until}.");
        wait_until(until).await;
    }
}

fn format_found(found: &Value) -> String {
    let counts = [
        ("events", "events not applied"),
        ("scheduled", "messages to be sent later"),
        ("guests", "guest of occasions"),
        (
            "opt_outs",
            "opt-outs (an erasure keeps them, without the address)",
        ),
    ];
    let counted = counts.into_iter().filter_map(|(name, title)| {
        let count = number_or_zero(found, name);
        (count > 0).then(|| format!("{title}: {count}\n"))
    });
    let items = list_items(found, "items").iter();
    let text: String = items.map(format_instance).chain(counted).collect();
    if text.is_empty() {
        return "Nothing is stored of this contact.\n".to_owned();
    }
    text
}

/// Formats the person as it is known on one instance.
fn format_instance(item: &Value) -> String {
    let mut lines = vec![
        format!("instance {}", text_or_dash(item, "instance_id")),
        format!("  addresses: {}", join_texts(item, "addresses")),
        format!("  names: {}", join_texts(item, "names")),
    ];
    let conversations = list_items(item, "conversations").iter();
    lines.extend(conversations.map(|conversation| {
        let of = |name: &str| text_or_dash(conversation, name);
        if let Some(at) = find_text(conversation, "erased_at") {
            return format!("  {}  erased {}", of("id"), format_local_time(at));
        }
        let last = format_local_time(of("last_message_at"));
        format!("  {}  {}, last message {last}", of("id"), of("status"))
    }));
    lines.join("\n") + "\n"
}

fn format_counts(answer: &Value) -> String {
    let fields = answer.as_object().into_iter().flatten();
    let lines = fields.map(|(name, value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{}: {text}", name.replace('_', " "))
    });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_names_the_instance_to_which_it_is_limited() {
        let which = WhichContact {
            contact: "+55 11 90000-0001".to_owned(),
            tenant: None,
            instance: Some("loja".to_owned()),
        };
        let expected = json!({"tenant": "clinic", "contact": "+55 11 90000-0001", "instance": "loja"});
        assert_eq!(which.write_request("clinic", None), expected);
        assert_eq!(which.write_request("clinic", Some("2"))["cursor"], "2");
    }

    #[test]
    fn what_is_found_is_shown_with_what_was_erased() {
        let found = json!({"items": [{"instance_id": "loja", "addresses": ["+55"], "names": ["Bia"], "conversations": [
            {"id": "c_1-2", "status": "active", "last_message_at": "t", "erased_at": null},
            {"id": "c_1-1", "status": "resolved", "last_message_at": "t", "erased_at": "u"},
        ]}]});
        let text = format_found(&found);
        assert!(
            text.contains("names: Bia") && text.contains("c_1-2  active, last message t"),
            "{text}"
        );
        assert!(text.contains("c_1-1  erased u"), "{text}");
        let empty = json!({"items": [], "events": 0, "scheduled": 0, "guests": 0, "opt_outs": 0});
        assert!(format_found(&empty).contains("Nothing"));
        let guest = json!({"items": [], "events": 0, "scheduled": 0, "guests": 2, "opt_outs": 0});
        assert_eq!(format_found(&guest), "guest of occasions: 2\n");
    }
}
