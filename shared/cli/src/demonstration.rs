//! The demonstration at start: a burst gets one reply, a repeated webhook changes nothing, and a person silences the agent.
//! Then each message appears as it comes.

use crate::answer_note::describe_answer;
use crate::installation::InstallationClient;
use crate::instant::format_seconds;
use crate::json_fields::{find_text, list_items, number_or_zero, text_at, text_or_dash};
use crate::message_follower::MessageFollower;
use crate::simulated_customer::{MessageOutcome, PostedMessage, SimulatedCustomer, TakenWebhook};
use crate::tail::{format_followed, show_messages};
use anyhow::{Context, Result, bail};
use recado_domain::config::Instance;
use recado_domain::secret::Secret;
use recado_machine::address_file;
use recado_machine::output;
use recado_machine::style::{Paint, paint_text};
use recado_onboarding::{WebhookCredentials, authenticate, example_webhook, example_webhook_in_shell};
use recado_whatsapp::SimulatedInbound;
use reqwest::Method;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

const CONTACT: &str = "5511900000001";
const NAME: &str = "João";
const BURST: [&str; 3] = ["Oi!", "Queria marcar uma consulta", "Pode ser na terça de manhã?"];

/// The words of the person, and what the customer writes after them.
const PERSON: &str = "Aqui é a Carla. Terça às 9h está bom?";
const AFTER_PERSON: &str = "Está ótimo! Qual é o endereço?";

/// Time between two messages of the burst.
const BURST_PAUSE: Duration = Duration::from_millis(400);

/// The longest time that a reply may take: debounce, model and send, with a reserve.
const REPLY_TIMEOUT: Duration = Duration::from_secs(60);

/// Time until new messages are asked for again after a failure, once the demonstration is over.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// Returns a `curl` command line that posts a message as the provider of one of `instances` would. The message goes to
/// the installation at `url`. `None` if no instance has webhooks that can be signed here.
pub(crate) fn format_curl_line<'i>(
    url: &str,
    proofs: &WebhookCredentials,
    mut instances: impl Iterator<Item = &'i Instance>,
) -> Option<String> {
    let sample = SimulatedInbound {
        phone: "5511900000002",
        name: "Maria",
        text: "Qual o horario de funcionamento?",
        id: "",
        at: jiff::Timestamp::now(),
    };
    instances.find_map(|instance| {
        let data = example_webhook_in_shell(instance, &sample)?;
        let signed = authenticate(instance.provider, example_webhook(instance, &sample)?, proofs).ok()?;
        let headers = signed.headers.iter();
        let shown = headers.map(|(name, proof)| format!("-H '{name}: {proof}' "));
        let shown: String = shown.collect();
        let path = signed.path;
        Some(format!(
            "curl -sS {url}{path} -H 'Content-Type: application/json' {shown}-d '{data}'"
        ))
    })
}

/// Runs the demonstration on the first instance that is simulated: nothing is ever sent to the invented number. Then shows each
/// message of that instance, for as long as somebody reads. The server listens at `address`, and `token` opens its API.
pub async fn run_demonstration(address: SocketAddr, token: Secret, is_simulated: bool) -> Result<()> {
    if !is_simulated {
        println!("\nThere is no demonstration, since no instance is simulated. Serving. Ctrl-C stops.");
        return Ok(());
    }
    let url = address_file::local_url(address);
    let there = InstallationClient::connect_to(&url, token)?;
    let customer = SimulatedCustomer::find_instance(there.clone(), None, CONTACT, NAME).await?;
    let story = Demonstration {
        there: &there,
        customer: &customer,
    };
    if let Err(error) = story.show_promises().await {
        eprintln!("The demonstration did not come to its end: {error:#}");
    }
    let instance = customer.instance_id().to_owned();
    let follower = MessageFollower::start_following(there, Some(instance), LOOK_INTERVAL).await?;
    print_next_steps();
    tokio::select! {
        () = output::wait_until_nobody_reads() => {}
        () = show_messages(follower, LOOK_INTERVAL, |one| print!("{}", format_followed(one, false))) => {}
    }
    Ok(())
}

/// Prints what somebody may try after the demonstration.
fn print_next_steps() {
    println!();
    // `cargo run` sets it: the program is not installed then.
    let program = match std::env::var_os("CARGO") {
        Some(_) => "cargo run --quiet --",
        None => "recado",
    };
    println!("  {:<14} {program} say \"Vocês abrem hoje?\"", "Your turn");
    println!("  {:<14} (in another terminal, in this folder)", "");
    println!("\nServing. Ctrl-C stops. Each message appears here:");
}

/// The story that the demonstration tells.
struct Demonstration<'a> {
    there: &'a InstallationClient,
    customer: &'a SimulatedCustomer,
}

impl Demonstration<'_> {
    /// Shows what Recado promises, each of it by an example.
    async fn show_promises(&self) -> Result<()> {
        let last = self.show_answered_burst().await?;
        println!("\nThe provider posts the last message again:");
        let again = self.customer.repeat_message(&last).await?;
        if number_or_zero(&again.body, "duplicates") != 1 {
            bail!(
                "the repeated webhook was answered {}: {}",
                again.status,
                again.body
            );
        }
        let taken = format_taking(&again);
        println!("  ↻ {taken}: known already, nothing is sent");
        println!("\nA person answers, and the customer writes on:");
        let conversation = self.find_conversation(&last).await?;
        self.answer_as_person(&conversation).await?;
        let open = self.customer.post_message(AFTER_PERSON).await?;
        print_posted_message(AFTER_PERSON, &open);
        self.show_silent_agent(&open).await?;
        println!("\nThe person gives the conversation back:");
        self.give_back_to_agent(&conversation).await?;
        let begun = Instant::now();
        let outcome = self.wait_for_reply(&open).await?;
        let after = format_time_since(begun);
        print_reply_line(
            &outcome,
            &format!("the agent answers what is open, after {after}"),
        );
        Ok(())
    }

    /// Posts a burst, and shows the one reply to it. Returns the last message of the burst.
    async fn show_answered_burst(&self) -> Result<PostedMessage> {
        self.return_to_agent().await?;
        println!("\nA burst comes in on {}:", self.customer.instance_id());
        let begun = Instant::now();
        let mut burst = Vec::new();
        for text in BURST {
            let posted = self.customer.post_message(text).await?;
            print_posted_message(text, &posted);
            burst.push(posted);
            tokio::time::sleep(BURST_PAUSE).await;
        }
        println!("  … waiting for the rest of the burst");
        let last = burst.pop().context("the burst has no message")?;
        let outcome = self.wait_for_reply(&last).await?;
        let told = format!("after {}", format_time_since(begun));
        for posted in &burst {
            if find_id_of_reply(&self.wait_for_reply(posted).await?) != find_id_of_reply(&outcome) {
                bail!("the burst got more than one reply");
            }
        }
        let told = format!("one reply to {} messages, {told}", BURST.len());
        print_reply_line(&outcome, &told);
        Ok(last)
    }

    /// Gives the contact's conversation back to the agent if people have it, as after a demonstration that was cut off.
    async fn return_to_agent(&self) -> Result<()> {
        let query = [
            ("mode", "manual".to_owned()),
            ("instance", self.customer.instance_id().to_owned()),
            ("limit", "200".to_owned()),
        ];
        let page = self.there.get_json(&["v1", "conversations"], &query).await?;
        let is_ours = |one: &&Value| {
            let phone = text_at(one, "/contact/phone");
            phone.is_some_and(|phone| phone.trim_start_matches('+') == CONTACT)
        };
        let ours = list_items(&page, "items").iter().filter(is_ours);
        for id in ours.filter_map(|one| find_text(one, "id")) {
            self.give_back_to_agent(id).await?;
        }
        Ok(())
    }

    async fn find_conversation(&self, posted: &PostedMessage) -> Result<String> {
        let stored = tokio::time::timeout(REPLY_TIMEOUT, self.customer.wait_for_message(&posted.id));
        let id = stored.await.context("the message was not stored")??;
        let message = self.there.get_json(&["v1", "messages", &id], &[]).await?;
        let conversation =
            find_text(&message, "conversation_id").context("the message has no conversation")?;
        Ok(conversation.to_owned())
    }

    async fn answer_as_person(&self, conversation: &str) -> Result<()> {
        let path = ["v1", "conversations", conversation, "messages"];
        self.there.post_json(&path, &json!({ "text": PERSON })).await?;
        println!("  ☎ {PERSON}");
        Ok(())
    }

    async fn give_back_to_agent(&self, conversation: &str) -> Result<()> {
        let path = ["v1", "conversations", conversation];
        let request = self.there.build_request(Method::PATCH, &path)?;
        let request = request.json(&json!({"mode": "ai"}));
        self.there.request_json(request).await.map(drop)
    }

    /// Shows that the agent does not answer while a person has the conversation.
    async fn show_silent_agent(&self, posted: &PostedMessage) -> Result<()> {
        let outcome = self.customer.wait_for_answer(posted, REPLY_TIMEOUT).await?;
        let outcome = outcome.context("the installation does not say who has the conversation")?;
        let reason = text_at(&outcome.message, "/answer/reason");
        if reason != Some("manual") {
            bail!("the agent did not keep silent: {}", reason.unwrap_or("-"));
        }
        let told = "the agent keeps silent: a person has the conversation";
        println!("    {}", paint_text(Paint::Quiet, told));
        Ok(())
    }

    async fn wait_for_reply(&self, posted: &PostedMessage) -> Result<MessageOutcome> {
        let outcome = self.customer.wait_for_answer(posted, REPLY_TIMEOUT).await?;
        let outcome =
            outcome.with_context(|| format!("no reply came within {} s", REPLY_TIMEOUT.as_secs()))?;
        if outcome.reply.is_none() {
            let note = describe_answer(&outcome.message["answer"]);
            bail!(note.map_or_else(|| "no reply came".to_owned(), |note| note.text));
        }
        Ok(outcome)
    }
}

/// Returns the id of the message that answers.
fn find_id_of_reply(outcome: &MessageOutcome) -> Option<&str> {
    outcome.reply.as_ref().and_then(|reply| find_text(reply, "id"))
}

fn print_posted_message(text: &str, posted: &PostedMessage) {
    let taken = format_taking(&posted.taken);
    println!("  → {text:<34} {}", paint_text(Paint::Quiet, &taken));
}

fn print_reply_line(outcome: &MessageOutcome, told: &str) {
    let reply = outcome.reply.as_ref();
    let text = reply.map_or("-", |reply| text_or_dash(reply, "content"));
    println!("  ← {}", paint_text(Paint::Good, text));
    println!("    {}", paint_text(Paint::Quiet, told));
}

/// Formats the answer to a webhook: its status, and how long it took.
fn format_taking(taken: &TakenWebhook) -> String {
    format!("{} in {} ms", taken.status, taken.took.as_millis())
}

fn format_time_since(begun: Instant) -> String {
    format_seconds(begun.elapsed().as_secs_f64())
}
