//! E-mail over SMTP.

use crate::Notifier;
use lettre::message::header::ContentType;
use lettre::message::{Mailbox, MessageBuilder};
use lettre::transport::smtp::authentication::Credentials;
use lettre::{AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};
use recado_domain::alert::Notification;
use recado_domain::config::EmailDestination;
use recado_http_client::RequestFailure;
use recado_pipeline::ports::{ChannelError, Secrets};
use std::time::Duration;

/// An e-mail of plain text.
#[derive(Debug, Clone)]
pub(crate) struct PlainEmail<'a> {
    /// Id by which a receiver recognizes a repeat.
    pub(crate) id: &'a str,
    /// Address of the sender.
    pub(crate) from: &'a str,
    /// Addresses of the recipients.
    pub(crate) to: &'a [String],
    /// Subject, one line.
    pub(crate) subject: String,
    pub(crate) text: String,
}

impl PlainEmail<'_> {
    fn into_message(self) -> Result<Message, ChannelError> {
        let refused =
            |what: &'static str| ChannelError::NotConfigured(format!("{what} is not an e-mail address"));
        let from: Mailbox = self.from.parse().map_err(|_| refused("`from`"))?;
        let host = from.email.domain().to_owned();
        let mut message: MessageBuilder = Message::builder().from(from);
        for address in self.to {
            message = message.to(address.parse().map_err(|_| refused("an address in `to`"))?);
        }
        message
            .subject(self.subject)
            .message_id(Some(format!("<{}@{host}>", self.id)))
            .header(ContentType::TEXT_PLAIN)
            .body(self.text)
            .map_err(|_| ChannelError::Failed("the e-mail cannot be written".to_owned()))
    }
}

type Transport = AsyncSmtpTransport<Tokio1Executor>;

/// Sends e-mails through one server.
#[derive(Debug)]
pub(crate) struct Mailer {
    transport: Transport,
}

impl Mailer {
    /// Creates a mailer. Without TLS it speaks only to this machine.
    pub(crate) fn new(
        server: &EmailDestination,
        credentials: Option<Credentials>,
        timeout: Duration,
    ) -> Result<Self, ChannelError> {
        let unusable = || ChannelError::NotConfigured("its server is not usable".to_owned());
        let parts = server.server_parts().ok_or_else(unusable)?;
        let built = if parts.tls {
            Transport::relay(parts.host)
        } else if parts.is_local {
            Ok(Transport::builder_dangerous(parts.host))
        } else {
            Transport::starttls_relay(parts.host)
        };
        let mut built = built.map_err(|_| unusable())?.timeout(Some(timeout));
        if let Some(port) = parts.port {
            built = built.port(port);
        }
        if let Some(credentials) = credentials {
            built = built.credentials(credentials);
        }
        Ok(Self {
            transport: built.build(),
        })
    }

    /// Sends an e-mail.
    pub(crate) async fn send_email(&self, email: PlainEmail<'_>) -> Result<(), ChannelError> {
        let sent = self.transport.send(email.into_message()?).await;
        sent.map(drop)
            .map_err(|error| ChannelError::Failed(describe_failure(&error)))
    }
}

/// Describes why the server did not take the e-mail. Its own words are left out: they may repeat addresses.
fn describe_failure(error: &lettre::transport::smtp::Error) -> String {
    match error.status() {
        Some(code) => format!("the mail server answered {code}"),
        None if error.is_timeout() => "the mail server did not answer in time".to_owned(),
        None => match RequestFailure::from_causes(error) {
            Some(why) => format!("the mail server: {why}"),
            None if error.is_tls() => "the mail server's TLS was refused".to_owned(),
            None => "the mail server could not be reached".to_owned(),
        },
    }
}

impl<S: Secrets> Notifier<'_, S> {
    /// Sends the notification by e-mail.
    pub(crate) async fn send_email(
        &self,
        destination: &EmailDestination,
        notification: &Notification,
    ) -> Result<(), ChannelError> {
        let credentials = match (&destination.user, &destination.password) {
            (Some(user), Some(password)) => {
                let password = self.resolve_secret(password).await?;
                Some(Credentials::new(
                    user.clone(),
                    password.expose_secret().to_owned(),
                ))
            }
            _ => None,
        };
        let email = PlainEmail {
            id: &notification.id,
            from: &destination.from,
            to: &destination.to,
            subject: notification.subject_line(),
            text: notification.body_text(),
        };
        Mailer::new(destination, credentials, self.timeout)?
            .send_email(email)
            .await
    }
}
