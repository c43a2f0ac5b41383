//! Asks providers for the pictures of contacts that wrote lately, some in each pass, apart from the way of any message.

use crate::Deps;
use crate::deps::capabilities;
use crate::ports::{
    ConversationFilter, Conversations, InstanceStates, PageRequest, PictureAnswer, PortResult, Providers,
    System, WriteOutcome,
};
use crate::steps::enabled_instance::find_enabled_instance;
use crate::steps::save_conversation::save_conversation;
use recado_domain::conversation::{Conversation, ConversationStatus};
use recado_domain::ids::InstanceId;
use recado_domain::instance::ConnectionStatus;
use std::collections::BTreeSet;

/// Number of conversations, the most recently active ones, among which a pass looks for pictures that are due.
const LOOKED_AT: usize = 50;

/// Greatest number of pictures that a pass asks for.
const ASKED_MAX: usize = 10;

/// Asks for the pictures that are due. An instance that does not tell is not asked again in this pass. Returns the number of
/// answers that were stored.
pub(super) async fn fetch_due_pictures(deps: &impl Deps) -> PortResult<usize> {
    let refresh = deps.settings().picture_refresh;
    if !refresh.is_positive() {
        return Ok(0);
    }
    let filter = ConversationFilter {
        status: Some(ConversationStatus::Active),
        ..ConversationFilter::default()
    };
    let page = PageRequest {
        limit: LOOKED_AT,
        cursor: None,
    };
    let newest = deps.store().search_conversations(&filter, &page).await?;
    let (mut stored, mut asked, mut unclear) = (0, 0, BTreeSet::<InstanceId>::new());
    for conversation in newest.items {
        let is_due = conversation.picture_is_due(refresh, deps.system().now());
        if !is_due || asked == ASKED_MAX || unclear.contains(&conversation.instance) {
            continue;
        }
        let instance = conversation.instance.clone();
        match ask_for_picture(deps, &conversation).await? {
            None => continue,
            Some(PictureAnswer::Url(url)) => stored += store_picture(deps, conversation, Some(url)).await?,
            Some(PictureAnswer::None) => stored += store_picture(deps, conversation, None).await?,
            Some(PictureAnswer::Unclear) => {
                unclear.insert(instance);
            }
        }
        asked += 1;
    }
    Ok(stored)
}

/// Asks for a contact's picture; `None` if its instance cannot be asked.
async fn ask_for_picture(deps: &impl Deps, conversation: &Conversation) -> PortResult<Option<PictureAnswer>> {
    let Some(bound) = find_enabled_instance(deps, &conversation.instance).await? else {
        return Ok(None);
    };
    if !capabilities(deps, &bound).has_pictures {
        return Ok(None);
    }
    let state = deps.store().read_instance_state(&bound.instance.id).await?;
    if state.connection != ConnectionStatus::Open {
        return Ok(None);
    }
    let answer = deps
        .providers()
        .fetch_picture(&bound, &conversation.address)
        .await;
    Ok(Some(answer))
}

/// Stores an answer, unless the conversation was changed meanwhile: then a later pass asks again. Returns the number of
/// records that were written.
async fn store_picture(
    deps: &impl Deps,
    mut conversation: Conversation,
    url: Option<String>,
) -> PortResult<usize> {
    conversation.record_picture(url, deps.system().now());
    let written = save_conversation(deps, &mut conversation).await?;
    Ok(usize::from(written == WriteOutcome::Written))
}
