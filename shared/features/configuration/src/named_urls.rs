//! Checks the URLs and the mail servers that a token of a tenant names.

use recado_domain::access::Caller;
use recado_domain::config::{ConfigDocument, ConfigError};
use recado_domain::web_url::{is_public_host, is_public_https};
use recado_pipeline::Deps;
use std::collections::BTreeSet;

/// The reason why what may be named is limited.
const NAMED_BY_TENANT: &str = "a token of the tenant names it";

/// Checks that the URLs and mail servers which a tenant's token changes lead to public hosts, URLs by https. The installation may allow
/// others. Each is judged again before each request. (Base URLs of instances have a check of their own.) The URLs of webhook endpoints are checked
/// whoever changes them: to another one nothing would ever be posted. `known` is what is configured.
///
/// # Errors
///
/// One leads elsewhere.
pub(super) fn check_named_urls(
    deps: &Deps,
    caller: &Caller,
    change: &ConfigDocument,
    known: &ConfigDocument,
) -> Result<(), ConfigError> {
    let is_of_tenant = caller.scope.tenant().is_some();
    if is_of_tenant && !deps.settings().private_mail_servers {
        let (changed, kept) = (list_mail_servers(change), list_mail_servers(known));
        if let Some(entry) = find_other_host(changed, kept, is_public_host) {
            return Err(ConfigError::new(format!(
                "{entry} must be a public host, unless RECADO_PRIVATE_MAIL_SERVERS allows others: {NAMED_BY_TENANT}"
            )));
        }
    }
    if deps.settings().private_tools {
        return Ok(());
    }
    if is_of_tenant {
        let (changed, kept) = (list_named_urls(change), list_named_urls(known));
        let refused = find_other_host(changed, kept, is_public_https);
        return refuse_url(refused, |entry| {
            format!(
                "{entry} must be https to a public host, unless RECADO_PRIVATE_TOOLS allows others: {NAMED_BY_TENANT}"
            )
        });
    }
    let (changed, kept) = (list_endpoint_urls(change), list_endpoint_urls(known));
    let refused = find_other_host(changed, kept, is_public_https);
    refuse_url(refused, |entry| {
        format!(
            "{entry} must be https to a public host: nothing is posted to this machine or a private network unless \
             RECADO_PRIVATE_TOOLS is true"
        )
    })
}

fn refuse_url(refused: Option<String>, explain: impl FnOnce(String) -> String) -> Result<(), ConfigError> {
    refused.map_or(Ok(()), |entry| Err(ConfigError::new(explain(entry))))
}

/// Returns the place of a changed URL or host that is not allowed; `None`: there is none.
fn find_other_host<'a>(
    mut changed: impl Iterator<Item = (String, &'a str)>,
    kept: impl Iterator<Item = (String, &'a str)>,
    is_allowed: fn(&str) -> bool,
) -> Option<String> {
    let kept: BTreeSet<(String, &str)> = kept.collect();
    let refused = changed.find(|named| !kept.contains(named) && !is_allowed(named.1));
    refused.map(|(entry, _)| entry)
}

/// Lists the hosts of the mail servers of a document, each behind the words for its place.
fn list_mail_servers(change: &ConfigDocument) -> impl Iterator<Item = (String, &str)> {
    change.tenants.iter().flat_map(|tenant| {
        tenant.email_senders.iter().filter_map(move |sender| {
            let place = format!("tenant `{}`: email sender `{}`: server", tenant.id, sender.id);
            Some((place, sender.server_parts()?.host))
        })
    })
}

/// Lists the URLs of a document, each behind the words for its place.
fn list_named_urls(change: &ConfigDocument) -> impl Iterator<Item = (String, &str)> {
    let tools = change.tools.iter().flat_map(|tool| {
        let named = move |field: &str| format!("tool `{}`: {field}", tool.id);
        let http = tool
            .http
            .iter()
            .map(move |http| (named("http.url"), http.url.as_str()));
        let asked = tool.http.iter().filter_map(|http| http.ask.as_ref());
        let asked = asked.map(move |ask| (named("http.ask.url"), ask.url.as_str()));
        let servers = tool
            .mcp
            .iter()
            .map(move |server| (named("mcp.url"), server.url.as_str()));
        http.chain(asked).chain(servers)
    });
    let agents = change.agents.iter().filter_map(|agent| {
        let endpoint = agent.http.as_ref()?;
        Some((format!("agent `{}`: http.url", agent.id), endpoint.url.as_str()))
    });
    tools.chain(agents).chain(list_endpoint_urls(change))
}

/// Lists the URLs of webhook endpoints, each behind the words for its place.
fn list_endpoint_urls(change: &ConfigDocument) -> impl Iterator<Item = (String, &str)> {
    change.tenants.iter().flat_map(|tenant| {
        let endpoints = tenant.webhooks.iter().flatten();
        endpoints.map(|endpoint| {
            (
                format!("webhook endpoint `{}`: url", endpoint.id),
                endpoint.url.as_str(),
            )
        })
    })
}
