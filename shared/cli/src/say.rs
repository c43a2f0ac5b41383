//! `recado say`: writes as a simulated customer, and shows the reply.

use crate::command_environment::CommandEnvironment;
use crate::installation::InstallationArguments;
use crate::instant::format_seconds;
use crate::message_lines::{AnswerDetail, format_message};
use crate::simulated_customer::{MessageOutcome, SimulatedCustomer};
use anyhow::{Result, bail};
use clap::Args;
use recado_machine::output::print_answer;
use recado_machine::style::{Paint, paint_text};
use serde_json::json;
use std::time::{Duration, Instant};

/// Writes to a simulated instance as a customer would, and shows the reply, or why there is none.
#[derive(Debug, Args)]
pub struct SayArguments {
    /// The text of the message.
    #[arg(required = true)]
    text: Vec<String>,
    /// The customer's number, with the country code.
    #[arg(long = "as", value_name = "PHONE", default_value = "+55 11 90000-0002")]
    phone: String,
    /// The customer's name.
    #[arg(long, default_value = "Maria")]
    name: String,
    /// The instance's id. Absent: the first one that is simulated.
    #[arg(long)]
    instance: Option<String>,
    /// The longest time to wait, in seconds. 0: does not wait.
    #[arg(long, default_value_t = 60)]
    wait: u64,
    #[command(flatten)]
    there: InstallationArguments,
    /// Prints the message and its reply as JSON.
    #[arg(long)]
    json: bool,
}

/// Posts the message, and shows what became of it. It is an error if the time is over before that is known.
pub(crate) async fn say_text(arguments: SayArguments, environment: &CommandEnvironment) -> Result<()> {
    let phone: String = arguments.phone.chars().filter(char::is_ascii_digit).collect();
    if phone.len() < 8 {
        let given = arguments.phone;
        bail!("--as {given} is no number with its country code, such as +55 11 90000-0002");
    }
    let there = arguments.there.build_client(environment)?;
    let instance = arguments.instance.as_deref();
    let customer = SimulatedCustomer::find_instance(there, instance, &phone, &arguments.name).await?;
    let begun = Instant::now();
    let posted = customer.post_message(&arguments.text.join(" ")).await?;
    if arguments.wait == 0 {
        let (instance, id) = (customer.instance_id(), &posted.id);
        let told = json!({"provider_message_id": id, "instance_id": instance});
        return print_answer(&told, arguments.json, |_| {
            format!("{instance} took it. What becomes of it: recado find {id}\n")
        });
    }
    let limit = Duration::from_secs(arguments.wait);
    let Some(outcome) = customer.wait_for_answer(&posted, limit).await? else {
        let (wait, id) = (arguments.wait, &posted.id);
        bail!("no reply came within {wait} s. What becomes of it: recado find {id}");
    };
    let told = json!({"message": outcome.message, "reply": outcome.reply});
    print_answer(&told, arguments.json, |_| {
        format_outcome(&outcome, &arguments.name, begun.elapsed())
    })
}

/// Formats a message with its reply, or with the reason why there is none.
pub(crate) fn format_outcome(outcome: &MessageOutcome, name: &str, took: Duration) -> String {
    let Some(reply) = &outcome.reply else {
        return format_message(&outcome.message, name, AnswerDetail::All);
    };
    let after = format!("after {}", format_seconds(took.as_secs_f64()));
    format!(
        "{}{}{:17}{}\n",
        format_message(&outcome.message, name, AnswerDetail::OnlyMissing),
        format_message(reply, name, AnswerDetail::Nothing),
        "",
        paint_text(Paint::Quiet, &after)
    )
}
