//! The commands that ask a running installation, and what runs each.

use crate::api_command::{CommandGroup, TenantGroup};
use crate::command_environment::CommandEnvironment;
use crate::{
    alerts, api_request, audit, catch_up, configuration, connect, contact, conversations, deliveries, dlq,
    effects, find, guests, init, knowledge, mcp, record, replay, say, secret, status, tail, tenant, token,
    trends, try_command, usage, webhooks,
};
use anyhow::Result;
use clap::Subcommand;
use futures::future::LocalBoxFuture;
use std::process::ExitCode;

/// A command that asks a running installation, or needs none.
#[derive(Debug, Subcommand)]
pub enum ClientCommand {
    Init(init::InitArguments),
    Apply(configuration::ApplyArguments),
    Status(status::StatusArguments),
    Tail(tail::TailArguments),
    Find(find::FindArguments),
    Say(say::SayArguments),
    Try(try_command::TryArguments),
    Connect(connect::ConnectArguments),
    CatchUp(catch_up::CatchUpArguments),
    /// Dead letters of a running installation, here or on AWS: list, show, redrive, purge.
    Dlq(CommandGroup<dlq::DeadLetterCommand>),
    /// Tenants of a running installation, here or on AWS: remove one.
    Tenant(CommandGroup<tenant::TenantCommand>),
    /// Tokens of a running installation, here or on AWS: create, list, revoke.
    Token(CommandGroup<token::TokenCommand>),
    /// All that is stored of one contact: find, export, erase.
    Contact(CommandGroup<contact::ContactCommand>),
    Conversations(conversations::ConversationArguments),
    /// Invitations and reminders of a running installation, here or on AWS: send one, show its status, handle batches, export the log.
    Deliver(TenantGroup<deliveries::DeliveryCommand>),
    /// Guests of occasions of a running installation, here or on AWS: list them, add them from a file, show one.
    Guests(TenantGroup<guests::GuestCommand>),
    /// Shows what an agent's tools did for a contact, and says how an effect ended that nobody could find out.
    Effects(CommandGroup<effects::EffectCommand>),
    Trends(trends::TrendArguments),
    Usage(usage::UsageArguments),
    Alerts(alerts::AlertArguments),
    Audit(audit::AuditArguments),
    /// The webhook secret of an instance: rotate.
    Secret(CommandGroup<secret::SecretCommand>),
    Webhooks(webhooks::WebhookArguments),
    /// The documents of the business that an agent answers from, of a running installation here or on AWS.
    Knowledge(CommandGroup<knowledge::KnowledgeCommand>),
    Replay(replay::ReplayArguments),
    Record(record::RecordArguments),
    Api(api_request::ApiArguments),
    Mcp(mcp::McpArguments),
}

/// Runs a command. The future is boxed here, so that the commands are compiled with this crate.
pub fn run_client_command(
    command: ClientCommand,
    environment: &CommandEnvironment,
) -> LocalBoxFuture<'_, Result<ExitCode>> {
    Box::pin(async move {
        if let ClientCommand::Api(command) = command {
            return api_request::send_api_request(command, environment).await;
        }
        run_until_done(command, environment).await?;
        Ok(ExitCode::SUCCESS)
    })
}

/// Runs a command whose exit status says no more than whether it was done.
async fn run_until_done(command: ClientCommand, environment: &CommandEnvironment) -> Result<()> {
    match command {
        ClientCommand::Init(command) => init::write_configuration(command),
        ClientCommand::Apply(command) => configuration::apply_configuration(command, environment).await,
        ClientCommand::Status(command) => status::show_status(command, environment).await,
        ClientCommand::Tail(command) => tail::tail_messages(command, environment).await,
        ClientCommand::Find(command) => find::find_any_record(command, environment).await,
        ClientCommand::Say(command) => say::say_text(command, environment).await,
        ClientCommand::Try(command) => try_command::print_try_request(command, environment).await,
        ClientCommand::Connect(command) => connect::run_connect(command, environment).await,
        ClientCommand::CatchUp(command) => catch_up::run_catch_up(command, environment).await,
        ClientCommand::Dlq(command) => dlq::run_dead_letter_command(command, environment).await,
        ClientCommand::Tenant(command) => tenant::run_tenant_command(command, environment).await,
        ClientCommand::Token(group) => {
            let command = token::describe_token_command(group.command);
            group.asked.run(command, environment).await
        }
        ClientCommand::Contact(command) => contact::run_contact_command(command, environment).await,
        ClientCommand::Conversations(command) => {
            conversations::run_conversation_command(command, environment).await
        }
        ClientCommand::Deliver(command) => deliveries::run_delivery_command(command, environment).await,
        ClientCommand::Guests(command) => guests::run_guest_command(command, environment).await,
        ClientCommand::Effects(command) => effects::run_effect_command(command, environment).await,
        ClientCommand::Trends(command) => trends::run_trends(command, environment).await,
        ClientCommand::Usage(command) => {
            let request = usage::describe_usage(&command);
            command.asked.run(request, environment).await
        }
        ClientCommand::Alerts(command) => alerts::run_alert_command(command, environment).await,
        ClientCommand::Audit(command) => {
            let request = audit::describe_audit(&command);
            command.asked.run(request, environment).await
        }
        ClientCommand::Secret(command) => secret::run_secret_command(command, environment).await,
        ClientCommand::Webhooks(command) => webhooks::run_webhook_command(command, environment).await,
        ClientCommand::Knowledge(command) => knowledge::run_knowledge_command(command, environment).await,
        ClientCommand::Replay(command) => replay::run_replay(command, environment).await,
        ClientCommand::Record(command) => record::run_record_command(command),
        // It runs in `run_client_command`.
        ClientCommand::Api(_) => Ok(()),
        ClientCommand::Mcp(command) => mcp::serve_tools(command, environment).await,
    }
}
