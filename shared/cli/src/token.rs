//! `recado token`: creates, lists and revokes the tokens of a running installation, here or on AWS.

use crate::command_environment::CommandEnvironment;
use crate::dlq::tables::{collect_rows, format_fields, format_table};
use crate::installation::{InstallationArguments, InstallationClient};
use crate::instant::format_local_time;
use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use recado_domain::Timestamp;
use recado_domain::access::TokenRole;
use recado_domain::millis::add_millis;
use recado_machine::output::print_answer;
use reqwest::Method;
use serde_json::{Value, json};

/// Tokens of a running installation, here or on AWS: create, list, revoke.
#[derive(Debug, Args)]
pub struct TokenArguments {
    #[command(subcommand)]
    command: TokenCommand,
    #[command(flatten)]
    there: InstallationArguments,
    /// Prints the answer as JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum TokenCommand {
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

/// Runs the subcommand and prints its result.
pub(crate) async fn run_token_command(
    arguments: TokenArguments,
    environment: &CommandEnvironment,
) -> Result<()> {
    let there = arguments.there.build_client(environment)?;
    let (answer, text) = match arguments.command {
        TokenCommand::Create {
            name,
            role,
            tenant,
            days,
        } => {
            let expires_at = days.map(|days| add_millis(Timestamp::now(), i64::from(days) * DAY_MS));
            let body = json!({"name": name, "role": role, "tenant": tenant, "expires_at": expires_at});
            let request = there.build_request(Method::POST, &["v1", "tokens"])?.json(&body);
            let answer = there.request_json(request).await?;
            let text = format!(
                "{}\nKeep `secret`: it is shown only here.\n",
                format_fields(&answer)
            );
            (answer, text)
        }
        TokenCommand::List { tenant } => {
            let answer = list_tokens(&there, tenant.as_deref()).await?;
            let columns = ["name", "tenant", "role", "created_at", "created_by", "expires_at"];
            let mut rows = collect_rows(&answer, &columns);
            for row in &mut rows {
                for cell in row.iter_mut().skip(3) {
                    *cell = format_local_time(cell);
                }
            }
            let text = if rows.is_empty() {
                "No tokens but the installation's own.\n".to_owned()
            } else {
                format_table(&columns, rows)
            };
            (answer, text)
        }
        TokenCommand::Revoke { name, tenant } => {
            let request = there.build_request(Method::DELETE, &["v1", "tokens", &name])?;
            let query: Vec<(&str, &str)> = tenant.iter().map(|tenant| ("tenant", tenant.as_str())).collect();
            there
                .request_json(request.query(&query))
                .await
                .with_context(|| format!("{name} was not revoked"))?;
            (json!({"revoked": name}), format!("Revoked {name}.\n"))
        }
    };
    print_answer(&answer, arguments.json, |_| text)
}

/// Lists all tokens, page by page.
async fn list_tokens(there: &InstallationClient, tenant: Option<&str>) -> Result<Value> {
    let (mut items, mut cursor) = (Vec::new(), None);
    loop {
        let mut query = vec![("limit", "200".to_owned())];
        query.extend(tenant.map(|tenant| ("tenant", tenant.to_owned())));
        query.extend(cursor.map(|cursor| ("cursor", cursor)));
        let request = there.build_request(Method::GET, &["v1", "tokens"])?;
        let page = there.request_json(request.query(&query)).await?;
        let found = page.get("items").and_then(Value::as_array).cloned();
        items.extend(found.unwrap_or_default());
        match page.get("next_cursor").and_then(Value::as_str) {
            Some(next) => cursor = Some(next.to_owned()),
            None => return Ok(json!({ "items": items })),
        }
    }
}
