//! Takes the place of `email` in a program without the client of mail servers: no notification leaves by e-mail, and the error says
//! why.

#![expect(clippy::unused_async, reason = "it has the functions of what it stands for")]

use crate::Notifier;
use recado_domain::alert::Notification;
use recado_domain::config::EmailDestination;
use recado_pipeline::ports::{ChannelError, Secrets};

impl<S: Secrets> Notifier<'_, S> {
    /// Refuses to send the notification by e-mail.
    pub(crate) async fn send_email(
        &self,
        _: &EmailDestination,
        _: &Notification,
    ) -> Result<(), ChannelError> {
        let left_out = "this program was built without SMTP: build it with --features full";
        Err(ChannelError::NotConfigured(left_out.to_owned()))
    }
}
