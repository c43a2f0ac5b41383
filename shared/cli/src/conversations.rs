//! `recado conversations`: lists and shows conversations of a running installation, and does what people do in them.

mod annotations;
mod list;

use crate::api_command::{ApiCommand, AskedArguments};
use crate::command_environment::CommandEnvironment;
use crate::conversation_thread::{format_head, format_thread, read_thread};
use crate::message_lines::{AnswerDetail, format_message};
use annotations::{format_labels, format_notes};
use anyhow::Result;
use clap::{Args, Subcommand};
use list::{ListArguments, describe_list};
use recado_machine::output::print_answer;
use reqwest::Method;
use serde_json::{Value, json};

/// Conversations of a running installation, here or on AWS: list, show, answer, take, give back, resolve, label, note. Without a
/// command: lists them, the most recently active first, or who waits for a person.
#[derive(Debug, Args)]
pub struct ConversationArguments {
    #[command(subcommand)]
    command: Option<ConversationCommand>,
    #[command(flatten)]
    list: ListArguments,
    #[command(flatten)]
    asked: AskedArguments,
}

#[derive(Debug, Subcommand)]
enum ConversationCommand {
    /// Lists conversations, the most recently active first, or who waits for a person.
    List(ListArguments),
    /// Shows a conversation message by message: time, who, text, ticks, and why one is not answered.
    Show {
        /// The conversation's id.
        id: String,
        /// Shows at most so many of the newest messages: 1 to 200.
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=200))]
        limit: u16,
    },
    /// Answers as a person. The person has the conversation from then on, and the agent is silent.
    Answer {
        /// The conversation's id.
        id: String,
        /// The text of the answer.
        text: String,
        /// The ordinal of the newest message that you have read: later ones stay unanswered. Absent: all are answered.
        #[arg(long)]
        seen: Option<u64>,
    },
    /// Takes a conversation over: the agent is silent.
    Take {
        /// The conversation's id.
        id: String,
    },
    /// Gives a conversation back to the agent, which answers what is unanswered.
    GiveBack {
        /// The conversation's id.
        id: String,
    },
    /// Resolves a conversation: nothing is owed any more. The contact's next message begins a new one.
    Resolve {
        /// The conversation's id.
        id: String,
        /// The ordinal of the newest message that you have read. A later one keeps the conversation active.
        #[arg(long)]
        seen: Option<u64>,
    },
    /// Adds labels to a conversation and removes others: words by which lists find it.
    Label {
        /// The conversation's id.
        id: String,
        /// A label to add: one word of letters, digits, `-` and `_`. May be given several times.
        #[arg(long)]
        add: Vec<String>,
        /// A label to remove. May be given several times.
        #[arg(long)]
        remove: Vec<String>,
    },
    /// Writes a note beside a conversation, which no contact and no model reads. Without a text: shows the notes.
    Note {
        /// The conversation's id.
        id: String,
        /// The text of the note.
        text: Option<String>,
        /// Deletes the note of this number.
        #[arg(long, conflicts_with = "text")]
        delete: Option<u64>,
    },
}

/// Runs the subcommand and prints its result.
pub(crate) async fn run_conversation_command(
    arguments: ConversationArguments,
    environment: &CommandEnvironment,
) -> Result<()> {
    let there = arguments.asked.there.build_client(environment)?;
    let as_json = arguments.asked.json;
    let command = arguments.command;
    let command = match command.unwrap_or(ConversationCommand::List(arguments.list)) {
        ConversationCommand::List(wanted) => describe_list(wanted),
        ConversationCommand::Show { id, limit } => {
            let thread = read_thread(&there, &id, limit).await?;
            return print_answer(&thread, as_json, format_thread);
        }
        ConversationCommand::Answer { id, text, seen } => {
            let body = add_seen(json!({ "text": text }), seen);
            let answer = ApiCommand::post(&["v1", "conversations", &id, "messages"], body);
            answer.show(move |sent| format_answer(sent, &id))
        }
        ConversationCommand::Take { id } => change_conversation(&id, json!({"mode": "manual"})),
        ConversationCommand::GiveBack { id } => change_conversation(&id, json!({"mode": "ai"})),
        ConversationCommand::Resolve { id, seen } => {
            change_conversation(&id, add_seen(json!({"status": "resolved"}), seen))
        }
        ConversationCommand::Label { id, add, remove } => {
            let body = json!({"add": add, "remove": remove});
            ApiCommand::post(&["v1", "conversations", &id, "labels"], body).show(format_labels)
        }
        ConversationCommand::Note { id, text, delete } => {
            let path = ["v1", "conversations", &id, "notes"];
            if let Some(text) = text {
                there.post_json(&path, &json!({ "text": text })).await?;
            }
            if let Some(number) = delete {
                let number = number.to_string();
                let delete = ApiCommand::delete(&["v1", "conversations", &id, "notes", &number]);
                delete.ask(&there).await?;
            }
            ApiCommand::get(&path).show(format_notes)
        }
    };
    command.run(&there, as_json).await
}

/// Returns the request that changes a conversation.
fn change_conversation(id: &str, body: Value) -> ApiCommand {
    let change = ApiCommand::new(Method::PATCH, &["v1", "conversations", id]);
    change.body(body).show(format_head)
}

/// Adds to a body the ordinal of the newest message that was read, if it is known.
fn add_seen(mut body: Value, seen: Option<u64>) -> Value {
    if let Some(seen) = seen {
        body["seen"] = json!(seen);
    }
    body
}

/// Formats a person's answer, and how the agent gets the conversation again.
fn format_answer(sent: &Value, id: &str) -> String {
    format!(
        "{}You have the conversation now. Give it back to the agent:\n  recado conversations give-back {id}\n",
        format_message(sent, "contact", AnswerDetail::Nothing)
    )
}
