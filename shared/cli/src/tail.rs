//! `recado tail`: shows each message in and out as it comes.

use crate::command_environment::CommandEnvironment;
use crate::installation::InstallationArguments;
use crate::json_fields::text_at;
use crate::message_follower::{FollowedMessage, MessageFollower};
use crate::message_lines::{format_addressed_message, name_contact};
use anyhow::Result;
use clap::Args;
use recado_machine::output;
use serde_json::json;
use std::time::Duration;

/// Shows each message of a running installation as it comes, in and out, until Ctrl-C.
#[derive(Debug, Args)]
pub struct TailArguments {
    /// Only of this instance.
    #[arg(long)]
    instance: Option<String>,
    /// Seconds between two looks where there is no stream of events, as on AWS, and after a failure.
    #[arg(long, default_value_t = 1.0, value_parser = parse_interval)]
    every: f64,
    #[command(flatten)]
    there: InstallationArguments,
    /// Prints each message as a line of JSON, with its conversation.
    #[arg(long)]
    json: bool,
}

fn parse_interval(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().ok();
    let within = seconds.filter(|seconds| (0.1..=3600.0).contains(seconds));
    within.ok_or_else(|| "from 0.1 to 3600".to_owned())
}

/// Follows the messages, until Ctrl-C or until nobody reads any more. An installation that cannot be reached for a while is
/// waited for.
pub(crate) async fn tail_messages(arguments: TailArguments, environment: &CommandEnvironment) -> Result<()> {
    let there = arguments.there.build_client(environment)?;
    let url = there.url.clone();
    let pause = Duration::from_secs_f64(arguments.every);
    let follower = MessageFollower::start_following(there, arguments.instance.clone(), pause).await?;
    eprintln!("Each message of {url} appears here. Ctrl-C ends.");
    tokio::select! {
        () = output::wait_until_nobody_reads() => {}
        () = show_messages(follower, pause, |one| {
            print_message(one, arguments.json, arguments.instance.is_none());
        }) => {}
    }
    Ok(())
}

/// Shows each message, for ever. An error is told once, until it is over.
pub(crate) async fn show_messages(
    mut follower: MessageFollower,
    pause: Duration,
    show: impl Fn(&FollowedMessage),
) {
    let mut is_told = false;
    loop {
        match follower.wait_for_messages().await {
            Ok(messages) => {
                is_told = false;
                messages.iter().for_each(&show);
            }
            Err(error) => {
                if !is_told {
                    is_told = true;
                    let told = output::end_sentence(&output::format_error(&error));
                    eprintln!("recado: {told} It is waited for.");
                }
                tokio::time::sleep(pause).await;
            }
        }
    }
}

/// Prints a message as it is known now.
fn print_message(one: &FollowedMessage, json: bool, names_instance: bool) {
    if json {
        let told = json!({"conversation": one.conversation, "message": one.message});
        println!("{told}");
    } else {
        print!("{}", format_followed(one, names_instance));
    }
}

/// Formats a message with the contact's name and number.
pub(crate) fn format_followed(one: &FollowedMessage, names_instance: bool) -> String {
    let at = |pointer: &str| text_at(&one.conversation, pointer);
    let name = name_contact(&one.conversation);
    let phone = at("/contact/phone").filter(|phone| *phone != name);
    let mut who = phone.map_or_else(|| name.to_owned(), |phone| format!("{name} {phone}"));
    if let Some(instance) = at("/instance_id").filter(|_| names_instance) {
        who = format!("{who} on {instance}");
    }
    format_addressed_message(&one.message, &who)
}
