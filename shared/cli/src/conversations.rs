//! `recado conversations`: lists and shows conversations of a running installation, and does what people do in them.

mod annotations;
mod changes;
mod list;

use crate::command_environment::CommandEnvironment;
use crate::conversation_thread::{format_thread, read_thread};
use crate::installation::InstallationArguments;
use anyhow::Result;
use clap::{Args, Subcommand};
use list::ListArguments;
use recado_machine::output::print_answer;

/// Conversations of a running installation, here or on AWS: list, show, answer, take, give back, resolve, label, note. Without a
/// command: lists them, the most recently active first, or who waits for a person.
#[derive(Debug, Args)]
pub struct ConversationArguments {
    #[command(subcommand)]
    command: Option<ConversationCommand>,
    #[command(flatten)]
    list: ListArguments,
    #[command(flatten)]
    there: InstallationArguments,
    /// Prints the answer as JSON.
    #[arg(long, global = true)]
    json: bool,
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
    let there = arguments.there.build_client(environment)?;
    let json = arguments.json;
    let change = match arguments
        .command
        .unwrap_or(ConversationCommand::List(arguments.list))
    {
        ConversationCommand::List(wanted) => {
            let page = list::list_conversations(&there, &wanted).await?;
            return print_answer(&page, json, |page| {
                list::format_conversations(page, wanted.waiting)
            });
        }
        ConversationCommand::Show { id, limit } => {
            let thread = read_thread(&there, &id, limit).await?;
            return print_answer(&thread, json, format_thread);
        }
        ConversationCommand::Answer { id, text, seen } => {
            let sent = changes::answer_contact(&there, &id, &text, seen).await?;
            return print_answer(&sent, json, |sent| changes::format_answer(sent, &id));
        }
        ConversationCommand::Take { id } => changes::change_mode(&there, &id, "manual").await?,
        ConversationCommand::GiveBack { id } => changes::change_mode(&there, &id, "ai").await?,
        ConversationCommand::Resolve { id, seen } => changes::resolve_conversation(&there, &id, seen).await?,
        ConversationCommand::Label { id, add, remove } => {
            let labels = annotations::change_labels(&there, &id, &add, &remove).await?;
            return print_answer(&labels, json, annotations::format_labels);
        }
        ConversationCommand::Note { id, text, delete } => {
            if let Some(text) = text {
                annotations::add_note(&there, &id, &text).await?;
            }
            if let Some(number) = delete {
                annotations::delete_note(&there, &id, number).await?;
            }
            let notes = annotations::list_notes(&there, &id).await?;
            return print_answer(&notes, json, annotations::format_notes);
        }
    };
    print_answer(&change, json, crate::conversation_thread::format_head)
}
