//! The form in which a message leaves: usually its own content.

use crate::Deps;
use crate::steps::sending::{SendContext, StepResult};
use async_trait::async_trait;
use recado_domain::content::Content;
use recado_domain::message::Outgoing;

/// The form of a message. The default is its own content as it is stored.
#[derive(Debug, Default)]
pub struct MessageForm {
    /// Content that is sent in place of the message's own.
    pub instead: Option<Replacement>,
    /// The message's own content with the bytes of its file, as the provider takes it.
    pub with_bytes: Option<Content>,
}

/// A content that is sent in place of the message's own.
#[derive(Debug)]
pub struct Replacement {
    pub content: Content,
    /// Text in the message's history.
    pub why: &'static str,
}

/// Gives a message the form in which it leaves.
#[async_trait]
pub trait SendForm: Send + Sync {
    /// Changes the form, after those before it in the list. Stops a message that can leave in no form.
    async fn shape(
        &self,
        deps: &Deps,
        context: SendContext<'_>,
        message: &mut Outgoing,
        form: &mut MessageForm,
    ) -> StepResult;
}
