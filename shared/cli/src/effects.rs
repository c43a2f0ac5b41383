//! `recado effects`: shows what an agent's tools did for a contact, and says how an effect ended that nobody could find out.

use crate::api_command::{ApiCommand, CommandGroup, name_choice};
use crate::command_environment::CommandEnvironment;
use crate::dlq::tables::{AnswerTable, format_fields};
use crate::json_fields::list_items;
use anyhow::{Context, Result};
use clap::{Subcommand, ValueEnum};
use recado_machine::output::print_answer;
use serde_json::{Value, json};

/// The subcommands about effects.
#[derive(Debug, Subcommand)]
pub enum EffectCommand {
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
pub enum SettledState {
    /// The effect happened.
    Done,
    /// The effect did not happen.
    Failed,
    /// The thing that it was about is gone.
    Void,
}

/// The list of effects, within 80 columns where the tool's name allows. Below each are its arguments, and the answer of the tool.
const EFFECTS: AnswerTable = AnswerTable {
    nothing: "No effects.",
    headings: &["begun", "number", "tool", "state"],
    fields: &["begun_at", "number", "tool", "state"],
    below: &["conversation_id", "arguments", "result"],
    ..AnswerTable::EMPTY
};

/// Runs `recado effects`.
pub(crate) async fn run_effect_command(
    group: CommandGroup<EffectCommand>,
    environment: &CommandEnvironment,
) -> Result<()> {
    let there = group.asked.there.build_client(environment)?;
    let as_json = group.asked.json;
    let (EffectCommand::List { conversation, .. }
    | EffectCommand::Show { conversation, .. }
    | EffectCommand::Settle { conversation, .. }) = &group.command;
    let path = ["v1", "conversations", conversation, "effects"];
    match &group.command {
        EffectCommand::List { unknown, .. } => {
            let mut answer = there.get_json(&path, &[]).await?;
            if *unknown {
                keep_unknown(&mut answer);
            }
            print_answer(&answer, as_json, |answer| EFFECTS.format(answer))
        }
        EffectCommand::Show { number, .. } => {
            let answer = there.get_json(&path, &[]).await?;
            let effect = find_effect(&answer, *number)
                .with_context(|| format!("there is no effect {number} for this contact"))?;
            print_answer(effect, as_json, format_fields)
        }
        EffectCommand::Settle { number, state, .. } => {
            let body = json!({"state": name_choice(state)});
            let number = number.to_string();
            let path = ["v1", "conversations", conversation, "effects", &number];
            ApiCommand::post(&path, body).run(&there, as_json).await
        }
    }
}

fn keep_unknown(answer: &mut Value) {
    if let Some(items) = answer.get_mut("items").and_then(Value::as_array_mut) {
        items.retain(|item| item["state"] == "unknown");
    }
}

fn find_effect(answer: &Value, number: u64) -> Option<&Value> {
    let items = list_items(answer, "items");
    items.iter().find(|item| item["number"] == number)
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
        let shown = EFFECTS.format(&answer);
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
        assert_eq!(EFFECTS.format(&json!({"items": []})), "No effects.\n");
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
