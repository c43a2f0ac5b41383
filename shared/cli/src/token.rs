//! `recado token`: creates, lists and revokes the tokens of a running installation, here or on AWS.

use crate::api_command::ApiCommand;
use crate::dlq::tables::{AnswerTable, format_fields};
use clap::Subcommand;
use recado_domain::Timestamp;
use recado_domain::access::TokenRole;
use recado_domain::millis::add_millis;
use serde_json::json;

/// The subcommands about tokens.
#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Creates a token and prints it. It can never be read again.
    Create {
        /// A name that no other token of the same tenant has. The audit shows it with all that was done with the token.
        name: String,
        /// viewer (reads), operator (answers, takes over, resolves, sends), sender (only sends), manager (configures) or
        /// admin (everything).
        #[arg(long, value_parser = parse_role)]
        role: TokenRole,
        /// The tenant that the token is limited to. Default: what your own token opens.
        #[arg(long)]
        tenant: Option<String>,
        /// The number of days after which the token is refused. Default: never.
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=36_500))]
        days: Option<u32>,
    },
    /// Lists tokens, without their texts.
    List {
        /// Only those of this tenant.
        #[arg(long)]
        tenant: Option<String>,
    },
    /// Revokes a token. On AWS it may be accepted for another 30 seconds (`RECADO_CONFIG_TTL_SECONDS`).
    Revoke {
        /// The token's name.
        name: String,
        /// The tenant that the token is limited to.
        #[arg(long)]
        tenant: Option<String>,
    },
}

fn parse_role(text: &str) -> Result<TokenRole, String> {
    TokenRole::parse(text).ok_or_else(|| {
        let known: Vec<&str> = TokenRole::ALL.iter().map(|role| role.as_str()).collect();
        format!("there is {}", known.join(", "))
    })
}

const DAY_MS: i64 = 86_400_000;

/// The list of tokens.
const TOKENS: AnswerTable = AnswerTable {
    nothing: "No tokens but the installation's own.",
    fields: &["name", "tenant", "role", "created_at", "created_by", "expires_at"],
    times: &["created_at", "expires_at"],
    ..AnswerTable::EMPTY
};

/// Returns the request of a subcommand.
pub(crate) fn describe_token_command(command: TokenCommand) -> ApiCommand {
    match command {
        TokenCommand::Create {
            name,
            role,
            tenant,
            days,
        } => {
            let expires_at = days.map(|days| add_millis(Timestamp::now(), i64::from(days) * DAY_MS));
            let body = json!({"name": name, "role": role, "tenant": tenant, "expires_at": expires_at});
            ApiCommand::post(&["v1", "tokens"], body)
                .show(|answer| format_fields(answer) + "\nKeep `secret`: it is shown only here.\n")
        }
        TokenCommand::List { tenant } => ApiCommand::get(&["v1", "tokens"])
            .query("tenant", tenant)
            .up_to(usize::MAX)
            .show(|answer| TOKENS.format(answer)),
        TokenCommand::Revoke { name, tenant } => ApiCommand::delete(&["v1", "tokens", &name])
            .query("tenant", tenant)
            .or_fail(format!("{name} was not revoked"))
            .tell_done("revoked", "Revoked", &name),
    }
}
