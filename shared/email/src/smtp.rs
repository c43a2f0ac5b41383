//! Mail servers, over SMTP.
//!
//! The commands are given one by one, because what a failure means depends on the command: until the last byte of the content is
//! written, nothing can have been accepted; after it, only the server's answer tells.

mod message;

use crate::{EmailClients, MailServerReach};
use lettre::Address;
use lettre::transport::smtp::Error;
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{AsyncSmtpConnection, TlsParameters};
use lettre::transport::smtp::commands::{Data, Mail, Noop, Rcpt};
use lettre::transport::smtp::extension::ClientId;
use message::{message_id, write_message};
use recado_domain::config::{EmailSender, ServerParts};
use recado_domain::email::{Email, EmailAddress};
use recado_domain::network_address::is_forbidden_address;
use recado_domain::web_url::{HostScope, scope_of_address};
use recado_http_client::RequestFailure;
use recado_ports::ports::{EmailError, Secrets};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::time::timeout;

/// Port of a server with STARTTLS.
const SUBMISSION_PORT: u16 = 587;

/// Port of a server that begins with TLS.
const SUBMISSIONS_PORT: u16 = 465;

/// Time for taking leave. It is polite and decides nothing.
const QUIT_TIMEOUT: Duration = Duration::from_secs(1);

/// The command that a failure is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Greeting,
    SignIn,
    Sender,
    Recipient,
    Begin,
    Content,
}

impl<S: Secrets> EmailClients<S> {
    /// Gives an e-mail to a mail server. Returns its `Message-ID`.
    pub(crate) async fn send_by_smtp(
        &self,
        sender: &EmailSender,
        email: &Email,
    ) -> Result<String, EmailError> {
        let content = write_message(email)?;
        let preparing = self.announce_email(sender, email);
        let prepared = timeout(self.timeout, preparing).await;
        let not_reached = || EmailError::Unreachable("the mail server did not answer in time".to_owned());
        let mut connection = prepared.unwrap_or_else(|_| Err(not_reached()))?;
        let taken = match timeout(self.timeout, connection.message(&content)).await {
            Ok(Ok(_)) => Ok(message_id(email)),
            Ok(Err(error)) => Err(judge_error(Step::Content, &error)),
            Err(_) => Err(EmailError::Unknown(
                "the mail server did not answer in time".to_owned(),
            )),
        };
        let _ = timeout(QUIT_TIMEOUT, connection.quit()).await;
        taken
    }

    /// Signs in at the server of a sender and leaves.
    pub(crate) async fn check_smtp(&self, sender: &EmailSender) -> Result<String, EmailError> {
        let checking = async {
            let mut connection = self.open_connection(sender).await?;
            let noop = connection.command(Noop).await;
            noop.map_err(|error| judge_error(Step::Greeting, &error))?;
            let _ = timeout(QUIT_TIMEOUT, connection.quit()).await;
            Ok(())
        };
        match timeout(self.timeout, checking).await {
            Ok(checked) => checked.map(|()| match &sender.user {
                Some(_) => "the mail server took the user and the password".to_owned(),
                None => "the mail server answers; it was asked without a user".to_owned(),
            }),
            Err(_) => Err(EmailError::Unreachable(
                "the mail server did not answer in time".to_owned(),
            )),
        }
    }

    /// Gives all commands before the content: nothing of them makes the server accept an e-mail.
    async fn announce_email(
        &self,
        sender: &EmailSender,
        email: &Email,
    ) -> Result<AsyncSmtpConnection, EmailError> {
        let (from, to) = (to_lettre(&email.from.address)?, to_lettre(&email.to)?);
        let mut connection = self.open_connection(sender).await?;
        let said = connection.command(Mail::new(Some(from), Vec::new())).await;
        said.map_err(|error| judge_error(Step::Sender, &error))?;
        let said = connection.command(Rcpt::new(to, Vec::new())).await;
        said.map_err(|error| judge_error(Step::Recipient, &error))?;
        let said = connection.command(Data).await;
        said.map_err(|error| judge_error(Step::Begin, &error))?;
        Ok(connection)
    }

    /// Connects, with TLS, and signs in.
    async fn open_connection(&self, sender: &EmailSender) -> Result<AsyncSmtpConnection, EmailError> {
        let not_ready = |what: &str| EmailError::SenderNotReady(what.to_owned());
        let parts = sender
            .server_parts()
            .ok_or_else(|| not_ready("its server is none"))?;
        let addresses = self.find_server(parts).await?;
        let greeting = |error: Error| judge_error(Step::Greeting, &error);
        let tls = || {
            TlsParameters::new(parts.host.to_owned()).map_err(|_| not_ready("its server has no name for TLS"))
        };
        let name = ClientId::Domain(sender.address().host().to_owned());
        let implicit = if parts.tls { Some(tls()?) } else { None };
        let connecting =
            AsyncSmtpConnection::connect_tokio1(&*addresses, Some(self.timeout), &name, implicit, None);
        let mut connection = connecting.await.map_err(greeting)?;
        if !connection.is_encrypted() && !parts.is_local {
            if !connection.can_starttls() {
                return Err(not_ready("its mail server offers no TLS"));
            }
            connection.starttls(tls()?, &name).await.map_err(greeting)?;
        }
        if let Some((user, reference)) = sender.user.as_ref().zip(sender.credential.as_ref()) {
            let password = self.resolve_credential(reference).await?;
            let credentials = Credentials::new(user.clone(), password.expose_secret().to_owned());
            let signed_in = connection
                .auth(&[Mechanism::Plain, Mechanism::Login], &credentials)
                .await;
            signed_in.map_err(|error| judge_error(Step::SignIn, &error))?;
        }
        Ok(connection)
    }

    /// Looks a server up. The connection goes to an address that was judged here, so that no second look-up returns another.
    async fn find_server(&self, parts: ServerParts<'_>) -> Result<Vec<SocketAddr>, EmailError> {
        let usual = if parts.tls {
            SUBMISSIONS_PORT
        } else {
            SUBMISSION_PORT
        };
        let port = parts.port.unwrap_or(usual);
        let unknown = |_| EmailError::Unreachable(RequestFailure::UnknownHost.to_string());
        let found = tokio::net::lookup_host((parts.host, port))
            .await
            .map_err(unknown)?;
        let is_allowed = |address: &SocketAddr| {
            let is_public = scope_of_address(address.ip()) == HostScope::Public;
            !is_forbidden_address(address.ip())
                && (is_public || self.carriers.mail_servers == MailServerReach::Private)
        };
        let allowed: Vec<SocketAddr> = found.filter(is_allowed).collect();
        if allowed.is_empty() {
            let why = "its mail server is on this machine or in a private network, which is not asked";
            return Err(EmailError::SenderNotReady(why.to_owned()));
        }
        Ok(allowed)
    }
}

fn to_lettre(address: &EmailAddress) -> Result<Address, EmailError> {
    let parsed = address.as_str().parse();
    parsed.map_err(|_| EmailError::Refused("an address cannot be written for a mail server".to_owned()))
}

/// Tells what the failure of a command means. The server's own words are left out: they may repeat addresses.
fn judge_error(step: Step, error: &Error) -> EmailError {
    let told = describe_error(error);
    let Some(code) = error.status() else {
        // No answer, or none that is SMTP.
        return match step {
            Step::Content => EmailError::Unknown(told),
            Step::SignIn if error.is_client() => EmailError::SenderNotReady(
                "its mail server offers no way to sign in with a password".to_owned(),
            ),
            _ => EmailError::Unreachable(told),
        };
    };
    let code = u16::from(code);
    if error.is_transient() {
        return EmailError::Later {
            why: told,
            after: None,
        };
    }
    match (step, code) {
        (Step::SignIn, _) | (_, 530 | 535) => EmailError::NeedsCredentials(told),
        (Step::Greeting, _) => EmailError::SenderNotReady(told),
        // 552: too large. Other refusals of the sender concern every e-mail of it.
        (Step::Sender, code) if code != 552 => EmailError::SenderNotReady(told),
        _ => EmailError::Refused(told),
    }
}

fn describe_error(error: &Error) -> String {
    match error.status() {
        Some(code) => format!("the mail server answers {code}"),
        None if error.is_timeout() => "the mail server did not answer in time".to_owned(),
        None => match RequestFailure::from_causes(error) {
            Some(why) => format!("the mail server: {why}"),
            None if error.is_tls() => "the mail server's TLS was refused".to_owned(),
            None => "the connection to the mail server failed".to_owned(),
        },
    }
}
