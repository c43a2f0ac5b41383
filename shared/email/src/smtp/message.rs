//! Writes an e-mail in the format of mail servers.

use lettre::Message;
use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox as LettreMailbox, MultiPart, SinglePart};
use recado_domain::email::{Email, Mailbox};
use recado_ports::ports::EmailError;

/// Returns the `Message-ID` of an e-mail. Every attempt has the same, by which some mail programs show a repeat once.
pub(crate) fn message_id(email: &Email) -> String {
    format!("<{}@{}>", email.id, email.from.address.host())
}

/// Writes an e-mail. Its text is encoded so that every mail server takes it.
pub(crate) fn write_message(email: &Email) -> Result<Vec<u8>, EmailError> {
    let unfit = || EmailError::Refused("the e-mail cannot be written for a mail server".to_owned());
    let mut message = Message::builder()
        .from(to_lettre(&email.from)?)
        .to(to_lettre(&Mailbox::from(email.to.clone()))?)
        .subject(email.subject.clone())
        .message_id(Some(message_id(email)))
        .date_now();
    if let Some(reply_to) = &email.reply_to {
        message = message.reply_to(to_lettre(reply_to)?);
    }
    for (name, value) in email.unsubscribe_headers() {
        let name = HeaderName::new_from_ascii(name.to_owned()).map_err(|_| unfit())?;
        message = message.raw_header(HeaderValue::new(name, value));
    }
    let written = match &email.html {
        Some(html) => message.multipart(MultiPart::alternative_plain_html(
            email.text.clone(),
            html.clone(),
        )),
        None => message.singlepart(SinglePart::plain(email.text.clone())),
    };
    Ok(written.map_err(|_| unfit())?.formatted())
}

fn to_lettre(mailbox: &Mailbox) -> Result<LettreMailbox, EmailError> {
    let refused = || EmailError::Refused("an address cannot be written for a mail server".to_owned());
    let address = mailbox.address.as_str().parse().map_err(|_| refused())?;
    Ok(LettreMailbox::new(mailbox.name.clone(), address))
}
