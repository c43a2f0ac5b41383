//! Asks the provider about a template before it is sent. Answers are kept for a while, so that few sends ask.

use super::{SendContext, StepResult, Stop, give_up};
use crate::Deps;
use jiff::SignedDuration;
use recado_domain::content::{Content, MessageTemplate};
use recado_domain::message::Outgoing;
use recado_domain::reason::Reason;
use recado_ports::ports::TemplateAnswer;

/// Greatest age of an answer with which a template is sent.
const ANSWER_AGE_MAX: SignedDuration = SignedDuration::from_mins(15);

/// Returns why the provider would refuse the template; `None` if it would take it, or does not tell.
pub(super) async fn explain_unusable(
    deps: &Deps,
    context: SendContext<'_>,
    template: &MessageTemplate,
) -> Option<String> {
    let asked = deps
        .providers()
        .check_template(context.bound, template, ANSWER_AGE_MAX);
    match asked.await {
        TemplateAnswer::NotApproved(why) | TemplateAnswer::Unfit(why) => Some(why),
        TemplateAnswer::Usable | TemplateAnswer::Unclear => None,
    }
}

/// Gives up a message that is a template which the provider would refuse.
pub(super) async fn check_own_template(
    deps: &Deps,
    context: SendContext<'_>,
    message: &Outgoing,
) -> StepResult {
    let Content::Template(template) = &message.content else {
        return Ok(());
    };
    let Some(why) = explain_unusable(deps, context, template).await else {
        return Ok(());
    };
    give_up(deps, message.clone(), Reason::WhatsappPermanentError, Some(why)).await?;
    Err(Stop::Finished)
}
