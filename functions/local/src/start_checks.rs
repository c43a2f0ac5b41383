//! Checks at a start. What is wrong stops the process, with the reason and what to do.

use crate::service_manager;
use anyhow::{Context, Result, anyhow, bail};
use recado_domain::access::Caller;
use recado_domain::config::{Calendar, ConfigDocument, CredentialRef, Instance};
use recado_domain::tools::Tool;
use recado_local::compose::LocalDeps;
use recado_local::environment::LocalEnvironment;
use recado_machine::secret_variable::read_secret_variable;
use recado_pipeline::configure;
use recado_pipeline::ports::PageRequest;
use std::io::ErrorKind;
use std::net::SocketAddr;
use tokio::net::TcpListener;

/// Refuses a start that would make a new webhook secret for an installation whose providers use the old one.
pub(crate) async fn check_webhook_secret(deps: &LocalDeps, environment: &LocalEnvironment) -> Result<()> {
    let file = environment.data.join("webhook-secret");
    if environment.master.is_some() || file.exists() {
        return Ok(());
    }
    let one = PageRequest {
        limit: 1,
        cursor: None,
    };
    let known = configure::list_instances(deps, &Caller::installation(), None, &one).await?;
    if known.items.is_empty() {
        return Ok(());
    }
    let file = file.display();
    bail!(
        "{file} is missing, though instances are configured here: with another secret, every webhook of their \
         providers would be refused. Put the file back from a backup, or set RECADO_WEBHOOK_SECRET as it was. If it is \
         lost, make a new one (umask 077; openssl rand -hex 32 > {file}), start again, and run `recado connect` for each \
         instance"
    )
}

/// Refuses a configuration whose enabled instances, or whose calendars or tools, name secrets that are not here. With `simulated` they need none.
pub(crate) fn check_named_credentials(document: &ConfigDocument, simulated: bool) -> Result<()> {
    if simulated {
        return Ok(());
    }
    let find_problem = |(of, named): (&str, &CredentialRef)| match named {
        CredentialRef::Env(name) if read_secret_variable(name).is_some() => None,
        CredentialRef::Env(name) => Some(format!("\n  {of}: {name} is not set: set it here")),
        CredentialRef::Ssm(name) => Some(format!(
            "\n  {of}: {name} is a parameter of AWS: name a variable, env:NAME"
        )),
    };
    let problems: Vec<String> = document
        .enabled_instances()
        .flat_map(list_named_secrets)
        .chain(document.calendars.iter().filter_map(find_calendar_secret))
        .chain(document.tools.iter().filter_map(find_tool_secret))
        .filter_map(find_problem)
        .collect();
    if problems.is_empty() {
        return Ok(());
    }
    bail!(
        "these instances, calendars and tools name a credential or an app secret that is not here:{}",
        problems.concat()
    )
}

/// Lists the secrets that an instance names.
fn list_named_secrets(instance: &Instance) -> impl Iterator<Item = (&str, &CredentialRef)> {
    let named = instance.credential.iter().chain(&instance.app_secret);
    named.map(move |named| (instance.id.as_str(), named))
}

/// Returns the secret that a calendar names.
fn find_calendar_secret(calendar: &Calendar) -> Option<(&str, &CredentialRef)> {
    Some((calendar.id.as_str(), calendar.credential()?))
}

/// Returns the secret that a tool names.
fn find_tool_secret(tool: &Tool) -> Option<(&str, &CredentialRef)> {
    Some((tool.id.as_str(), tool.credential()?))
}

/// Listens on the socket that the service manager hands over, or else on `address`.
pub(crate) async fn listen(address: SocketAddr) -> Result<TcpListener> {
    if let Some(listener) = service_manager::take_handed_socket()? {
        return Ok(listener);
    }
    let error = match TcpListener::bind(address).await {
        Ok(listener) => return Ok(listener),
        Err(error) => error,
    };
    let remedy = match error.kind() {
        ErrorKind::AddrInUse => {
            let next = SocketAddr::new(address.ip(), address.port().checked_add(1).unwrap_or(8081));
            format!("stop what listens there, or choose another: --addr {next} (RECADO_ADDR)")
        }
        ErrorKind::AddrNotAvailable => "it is not an address of this machine (RECADO_ADDR)".to_owned(),
        ErrorKind::PermissionDenied => {
            "ports below 1024 belong to root: choose another (RECADO_ADDR), with a proxy in front".to_owned()
        }
        _ => return Err(error).with_context(|| format!("cannot listen on {address} (RECADO_ADDR)")),
    };
    Err(anyhow!(
        "cannot listen on {address}: {error}. To mend it: {remedy}"
    ))
}
