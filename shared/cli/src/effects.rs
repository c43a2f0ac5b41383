//! `recado effects`: shows what an agent's tools did for a contact, and says how an effect ended that nobody could find out.

use crate::command_environment::CommandEnvironment;
use crate::dlq::tables::{collect_rows, format_fields, format_with_lines_below};
use crate::installation::{InstallationArguments, InstallationClient};
use anyhow::{Context, Result};
use clap::{Args, Subcommand, ValueEnum};
use recado_machine::output::print_answer;
use reqwest::Method;
use serde_json::{Value, json};

/// Shows what an agent's tools did for a contact, and says how an effect ended that nobody could find out.
#[derive(Debug, Args)]
pub struct EffectArguments {
    #[command(subcommand)]
    command: EffectCommand,
    #[command(flatten)]
    there: InstallationArguments,
    /// Prints the answer as JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum EffectCommand {
    /// Lists the effects for the contact of a conversation, the newest first, also of earlier conversations.
    List {
        /// Id of the conversation.
        conversation: String,
        /// Only those of which nobody knows how they ended.
        #[arg(long)]
        unknown: bool,
    },
    /// Shows one effect with its arguments and the answer of the tool.
    Show {
        /// Id of the conversation.
        conversation: String,
        /// Number of the effect.
        number: u64,
    },
    /// Says how an effect ended that is unknown. Its time of a calendar is kept or freed, and the agent goes on if it owes an answer.
    Settle {
        /// Id of the conversation.
        conversation: String,
        /// Number of the effect.
        number: u64,
        /// The end of the effect.
        state: SettledState,
    },
}

/// The end of an effect, as a person says.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum SettledState {
    /// The effect happened.
    Done,
    /// The effect did not happen.
    Failed,
    /// The thing that it was about is gone.
    Void,
}

impl SettledState {
    fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Void => "void",
        }
    }
}

/// Runs `recado effects`.
pub(crate) async fn run_effect_command(
    arguments: EffectArguments,
    environment: &CommandEnvironment,
) -> Result<()> {
    let there = arguments.there.build_client(environment)?;
    let (answer, shown) = match arguments.command {
        EffectCommand::List {
            conversation,
            unknown,
        } => {
            let mut answer = list_effects(&there, &conversation).await?;
            if unknown {
                keep_unknown(&mut answer);
            }
            let shown = format_effects(&answer);
            (answer, shown)
        }
        EffectCommand::Show { conversation, number } => {
            let answer = list_effects(&there, &conversation).await?;
            let effect = find_effect(&answer, number)
                .with_context(|| format!("there is no effect {number} for this contact"))?;
            (effect.clone(), format_fields(effect))
        }
        EffectCommand::Settle {
            conversation,
            number,
            state,
        } => {
            let number = number.to_string();
            let path = ["v1", "conversations", &conversation, "effects", &number];
            let request = there.build_request(Method::POST, &path)?;
            let body = json!({"state": state.as_str()});
            let answer = there.request_json(request.json(&body)).await?;
            let shown = format_fields(&answer);
            (answer, shown)
        }
    };
    print_answer(&answer, arguments.json, |_| shown)
}

async fn list_effects(there: &InstallationClient, conversation: &str) -> Result<Value> {
    let path = ["v1", "conversations", conversation, "effects"];
    let request = there.build_request(Method::GET, &path)?;
    there.request_json(request).await
}

fn keep_unknown(answer: &mut Value) {
    if let Some(items) = answer.get_mut("items").and_then(Value::as_array_mut) {
        items.retain(|item| item["state"] == "unknown");
    }
}

fn find_effect(answer: &Value, number: u64) -> Option<&Value> {
    let items = answer.get("items").and_then(Value::as_array)?;
    items.iter().find(|item| item["number"] == number)
}

/// Formats a list of effects within 80 columns where the tool's name allows. Below each are its arguments, and the answer of the
/// tool.
fn format_effects(answer: &Value) -> String {
    let rows = collect_rows(answer, &["begun_at", "number", "tool", "state"]);
    if rows.is_empty() {
        return "No effects.\n".to_owned();
    }
    let below = collect_rows(answer, &["conversation_id", "arguments", "result"]);
    format_with_lines_below(&["begun", "number", "tool", "state"], rows, below)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONVERSATION: &str = "c_9c2b68278bc5d12270dad71f1da5c3f1-1";

    fn effect(number: u64, state: &str, result: Option<&str>) -> Value {
        json!({"number": number, "id": "741djej20m1sea599h7untljso", "conversation_id": CONVERSATION, "tool": "agenda_book",
            "arguments": {"start": "2026-01-12T10:00:00-03:00", "title": "Ana"}, "state": state,
            "begun_at": "2026-01-05T12:00:00Z", "ended_at": null, "result": result})
    }

    #[test]
    fn effects_are_listed_with_arguments_and_answers_within_eighty_columns() {
        let long = "booked\nfor Ana ".repeat(20);
        let answer = json!({"items": [effect(2, "unknown", None), effect(1, "done", Some(&long))]});
        let shown = format_effects(&answer);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines.len(), 8, "{shown}");
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{shown}");
        assert!(
            lines[1].contains("agenda_book") && lines[1].trim_end().ends_with("unknown"),
            "{shown}"
        );
        assert_eq!(lines[2], format!("  {CONVERSATION}"));
        assert!(lines[3].contains("\"title\":\"Ana\""), "{shown}");
        assert!(
            lines[7].starts_with("  booked for Ana") && lines[7].ends_with('…'),
            "{shown}"
        );
        assert_eq!(format_effects(&json!({"items": []})), "No effects.\n");
    }

    #[test]
    fn those_that_are_unknown_can_be_listed_alone_and_one_is_found_by_its_number() {
        let mut answer = json!({"items": [effect(2, "unknown", None), effect(1, "done", None)]});
        assert_eq!(
            find_effect(&answer, 1).map(|effect| &effect["state"]),
            Some(&json!("done"))
        );
        assert!(find_effect(&answer, 3).is_none());
        keep_unknown(&mut answer);
        assert_eq!(answer["items"].as_array().map(Vec::len), Some(1));
        let shown = format_fields(find_effect(&answer, 2).unwrap());
        assert!(
            shown.contains("state") && shown.contains("\"title\": \"Ana\""),
            "{shown}"
        );
    }
}
