//! Checks at a start. What is wrong stops the process, with the reason and what to do.

use crate::service_manager;
use anyhow::{Context, Result, anyhow, bail};
use recado_domain::access::Caller;
use recado_domain::config::Instance;
use recado_local::environment::LocalEnvironment;
use recado_pipeline::Deps;

use recado_pipeline::ports::PageRequest;
use std::io::ErrorKind;
use std::net::SocketAddr;
use tokio::net::TcpListener;

/// Refuses a start that would make a new webhook secret for an installation whose providers use the old one.
pub(crate) async fn check_webhook_secret(deps: &Deps, environment: &LocalEnvironment) -> Result<()> {
    let file = environment.data.join("webhook-secret");
    if environment.master.is_some() || file.exists() {
        return Ok(());
    }
    let one = PageRequest::first(1);
    let known =
        recado_configuration::list_visible_entries::<Instance>(deps, &Caller::installation(), None, &one)
            .await?;
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
