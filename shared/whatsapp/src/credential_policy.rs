//! Decides to which host an instance's requests may go, and with which secret. A forbidden credential or URL is refused
//! when the instance is configured, and again before each use.

use crate::config::ProviderConfig;
use crate::registry::{base_url, base_url_variable, credential_variable, normalize_external_id};
use recado_domain::config::{ConfigError, CredentialRef, Instance};
use recado_domain::ids::ExternalId;
use recado_domain::network_address::{is_forbidden_address, is_local_or_private};
use recado_domain::provider::Provider;
use recado_http_client::{HostReach, judge_url, url_origin};
use reqwest::Url;
use std::fmt::Display;
use std::net::IpAddr;

/// Returns the reference to an instance's key or token: the instance's own, or else its provider's variable. `None` if
/// AWS's own credentials are used.
pub fn find_credential_ref(instance: &Instance) -> Option<CredentialRef> {
    let of_provider = || {
        Some(CredentialRef::Env(
            credential_variable(instance.provider)?.to_owned(),
        ))
    };
    instance.credential.clone().or_else(of_provider)
}

/// Returns the instance in its stored form, with the same external id that webhooks have. Fails if the instance may not
/// use its credential or base URL.
pub fn normalize(mut instance: Instance) -> Result<Instance, ConfigError> {
    let external = instance.external_id.take();
    instance.external_id = external.map(|id| normalize_external_id(instance.provider, id));
    check_external_id(&instance)?;
    check_credential_and_url(&instance)?;
    Ok(instance)
}

fn refuse(instance: &Instance, why: impl Display) -> Result<(), ConfigError> {
    let of = format_args!("instance `{}`", instance.id);
    Err(ConfigError::of(of, why))
}

/// Checks that Meta's webhooks and requests can name the instance: they know it by the number's id alone.
fn check_external_id(instance: &Instance) -> Result<(), ConfigError> {
    let is_number = |id: &ExternalId| id.as_str().bytes().all(|byte| byte.is_ascii_digit());
    if instance.provider != Provider::Meta || instance.resolve_external_id().is_some_and(|id| is_number(&id))
    {
        return Ok(());
    }
    refuse(
        instance,
        "external_id must be Meta's phone_number_id, a number (WhatsApp Manager, API setup)",
    )
}

/// Checks an instance's credential and base URL, without the installation's settings.
pub fn check_credential_and_url(instance: &Instance) -> Result<(), ConfigError> {
    if let Some(reference) = &instance.credential
        && !may_use_credential(instance, reference)
    {
        let own = credential_variable(instance.provider);
        let tenants = CredentialRef::describe_allowed_for(&instance.tenant);
        let allowed = own.map_or(tenants.clone(), |own| format!("`env:{own}`, {tenants}"));
        return refuse(instance, format_args!("its credential must be {allowed}"));
    }
    check_app_secret(instance)?;
    match instance.base_url.as_deref().map(parse_base_url) {
        Some(Err(why)) => refuse(instance, format_args!("base_url {why}")),
        _ => Ok(()),
    }
}

/// Checks that the instance may have an app of its own, and may use the app's secret.
fn check_app_secret(instance: &Instance) -> Result<(), ConfigError> {
    match &instance.app_secret {
        Some(_) if instance.provider != Provider::Meta => {
            refuse(instance, "app_secret is for instances of Meta's Cloud API")
        }
        Some(reference) if !reference.names_app_secret_of(&instance.tenant) => {
            let allowed = CredentialRef::describe_allowed_app_secret(&instance.tenant);
            refuse(instance, format_args!("its credential must be {allowed}"))
        }
        _ => Ok(()),
    }
}

/// Checks the credential and the base URL, also against the installation's settings. The installation's own key may be
/// sent only to the installation's own URLs.
pub(crate) fn check_with_installation(
    instance: &Instance,
    config: &ProviderConfig,
) -> Result<(), ConfigError> {
    check_credential_and_url(instance)?;
    check_named_host(instance, config)?;
    let (Some(setting), Some(own)) = (
        base_url_variable(instance.provider),
        credential_variable(instance.provider),
    ) else {
        return Ok(());
    };
    let named = instance.credential.as_ref();
    let installations = named.is_none_or(|named| *named == CredentialRef::Env(own.to_owned()));
    if installations && !uses_installation_host(instance, config) {
        let allowed = CredentialRef::describe_allowed_for(&instance.tenant);
        let why = format_args!(
            "its base_url is not the installation's own ({setting}), so the installation's key is not sent there: it \
             needs a `credential` of its own, {allowed}"
        );
        return refuse(instance, why);
    }
    Ok(())
}

/// Returns the hosts that requests to the instance may reach. The installation may name what it likes. What a token of the
/// tenant named is public, unless the installation lists the host or uses it itself.
pub(crate) fn find_host_reach(instance: &Instance, config: &ProviderConfig) -> HostReach {
    let is_public = instance.named_by_tenant
        && !uses_installation_host(instance, config)
        && !is_listed_host(instance, config);
    if is_public {
        HostReach::Public
    } else {
        HostReach::Private
    }
}

/// Checks that a base URL of a tenant's token is https to a public or a listed host.
fn check_named_host(instance: &Instance, config: &ProviderConfig) -> Result<(), ConfigError> {
    let Some(base) = instance.base_url.as_deref() else {
        return Ok(());
    };
    let is_public = || judge_url(base, HostReach::Public).is_ok_and(|url| url.scheme() == "https");
    if find_host_reach(instance, config) == HostReach::Private || is_public() {
        return Ok(());
    }
    refuse(
        instance,
        "base_url must be https to a public host, or to one of RECADO_ONBOARDING_HOSTS: a token of the tenant named it",
    )
}

/// Returns `true` if the installation lists the host of the instance's base URL (`RECADO_ONBOARDING_HOSTS`).
pub fn is_listed_host(instance: &Instance, config: &ProviderConfig) -> bool {
    let named = instance.base_url.as_deref().and_then(url_origin);
    let is_named = |listed: &String| url_origin(&with_scheme(listed)) == named;
    named.is_some() && config.listed_hosts.iter().any(is_named)
}

/// Returns a host as a URL: without a scheme, HTTPS is meant.
fn with_scheme(host: &str) -> String {
    if host.contains("://") {
        host.to_owned()
    } else {
        format!("https://{host}")
    }
}

/// Returns `true` if the instance's requests go to the host in the installation's own configuration.
pub fn uses_installation_host(instance: &Instance, config: &ProviderConfig) -> bool {
    let origin = |text: &str| parse_base_url(text).ok().map(|url| url.origin());
    match (&instance.base_url, base_url(instance.provider, config)) {
        (None, _) => true,
        (Some(its), Some(ours)) => origin(its).is_some_and(|its| origin(ours) == Some(its)),
        (Some(_), None) => false,
    }
}

/// Returns `true` if an instance may use this secret: the installation's own key for the provider, or a secret of the
/// tenant.
fn may_use_credential(instance: &Instance, reference: &CredentialRef) -> bool {
    let own = credential_variable(instance.provider).map(|own| CredentialRef::Env(own.to_owned()));
    own.as_ref() == Some(reference) || reference.belongs_to_tenant(&instance.tenant)
}

/// Parses a base URL exactly as requests use it. The error says why nothing is sent to that URL.
pub(crate) fn parse_base_url(text: &str) -> Result<Url, &'static str> {
    // URL parsers disagree about these characters, so the host could be misread.
    if text.contains(|c: char| c == '\\' || c.is_control()) {
        return Err("must hold no backslash and no control character");
    }
    let url = Url::parse(text.trim()).map_err(|_| "must begin with https:// (or http://) and name a host")?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("must begin with https:// (or http://)");
    }
    let host = url.host_str().filter(|host| !host.is_empty());
    let host = host.ok_or("must name a host")?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("must hold no user and no password");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("must hold no query (?) and no fragment (#)");
    }
    let near = match host.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(address) if is_forbidden_address(address) => return Err("must not be a link-local address"),
        Ok(address) => is_local_or_private(address),
        Err(_) => is_local_name(host),
    };
    if url.scheme() == "http" && !near {
        return Err(
            "must begin with https://: http is for this machine, private addresses and names without a dot",
        );
    }
    Ok(url)
}

fn is_local_name(host: &str) -> bool {
    let name = host.strip_suffix('.').unwrap_or(host);
    !name.contains('.') || name.ends_with(".localhost")
}

#[cfg(test)]
mod tests;
