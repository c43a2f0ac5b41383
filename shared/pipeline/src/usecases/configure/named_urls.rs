//! Checks the URLs that a token of a tenant names.

use crate::Deps;
use recado_domain::access::Caller;
use recado_domain::config::{ConfigDocument, ConfigError};
use recado_domain::web_url::is_public_https;
use std::collections::BTreeSet;

/// Checks that the URLs which a tenant's token changes lead to public hosts, by https. The installation may allow others. Each
/// is judged again before each request. (Base URLs of instances have a check of their own.) `known` is what is configured.
///
/// # Errors
///
/// One leads elsewhere.
pub(super) fn check_named_urls(
    deps: &impl Deps,
    caller: &Caller,
    change: &ConfigDocument,
    known: &ConfigDocument,
) -> Result<(), ConfigError> {
    if caller.scope.tenant().is_none() || deps.settings().private_tools {
        return Ok(());
    }
    let kept: BTreeSet<(String, &str)> = list_named_urls(known).collect();
    let mut changed = list_named_urls(change).filter(|named| !kept.contains(named));
    let refused = changed.find(|(_, url)| !is_public_https(url));
    match refused {
        Some((entry, _)) => Err(ConfigError::NamedUrl(entry)),
        None => Ok(()),
    }
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
    let endpoints = change.tenants.iter().flat_map(|tenant| {
        let endpoints = tenant.webhooks.iter().flatten();
        endpoints.map(|endpoint| {
            (
                format!("webhook endpoint `{}`: url", endpoint.id),
                endpoint.url.as_str(),
            )
        })
    });
    tools.chain(agents).chain(endpoints)
}
