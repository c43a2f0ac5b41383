use crate::{OperateError, find_conversation, list_messages};
use recado_domain::access::Caller;
use recado_domain::conversation::Conversation;
use recado_domain::ids::ConversationId;
use recado_pipeline::Deps;
use recado_pipeline::steps::message_view::MessageView;
use recado_ports::ports::{Page, PageRequest, PortError};
use std::collections::{BTreeMap, VecDeque};

const WHAT: &str = "listing a person's messages";

/// The rest of one conversation while the pages of several are merged.
struct ConversationRest {
    id: ConversationId,
    messages: VecDeque<MessageView>,
    /// The position from which on the next page goes on: before this ordinal. `None`: from the newest message on.
    position: Option<u64>,
    /// `true` if the store has more behind `messages`.
    has_more: bool,
}

impl ConversationRest {
    /// Takes the newest message that is left.
    fn take_newest(&mut self) -> Option<MessageView> {
        let taken = self.messages.pop_front()?;
        self.position = Some(taken.message.ordinal.0);
        Some(taken)
    }

    /// Returns the part of the cursor; `None` if nothing is left of the conversation.
    fn cursor_part(&self) -> (bool, String) {
        let is_open = self.has_more || !self.messages.is_empty();
        let position = if is_open { self.position } else { Some(0) };
        let position = position.map_or_else(String::new, |position| position.to_string());
        (is_open, format!("{}:{position}", self.id))
    }
}

/// Lists the messages of a conversation together with those of the person's other conversations. These are the ones that it
/// replaced, and the one that replaced it. The newest come first, each conversation in its own order.
pub async fn list_joined_messages(
    deps: &Deps,
    caller: &Caller,
    id: &ConversationId,
    page: &PageRequest,
) -> Result<Page<MessageView>, OperateError> {
    let conversation = find_conversation(deps, caller, id).await?;
    let positions = parse_positions(page.cursor.as_deref())?;
    let mut parts = Vec::new();
    for id in [&conversation.id]
        .into_iter()
        .chain(conversation.history_conversations())
    {
        parts.extend(read_part(deps, caller, &conversation, id, &positions, page.limit).await?);
    }
    let mut items = Vec::new();
    while items.len() < page.limit {
        let heads = parts.iter().enumerate();
        let newest = heads
            .filter_map(|(number, part)| Some((part.messages.front()?.message.written_at, number)))
            .max_by_key(|(at, number)| (*at, std::cmp::Reverse(*number)));
        let Some((_, number)) = newest else { break };
        items.extend(parts.get_mut(number).and_then(ConversationRest::take_newest));
    }
    let cursors: Vec<(bool, String)> = parts.iter().map(ConversationRest::cursor_part).collect();
    let is_open = cursors.iter().any(|(is_open, _)| *is_open);
    let cursors: Vec<String> = cursors.into_iter().map(|(_, cursor)| cursor).collect();
    Ok(Page {
        items,
        next_cursor: is_open.then(|| cursors.join("|")),
    })
}

/// Reads the next page of one conversation; `None` if it is no longer there.
async fn read_part(
    deps: &Deps,
    caller: &Caller,
    own: &Conversation,
    id: &ConversationId,
    positions: &BTreeMap<ConversationId, Option<u64>>,
    limit: usize,
) -> Result<Option<ConversationRest>, OperateError> {
    let position = positions.get(id).copied().flatten();
    let page = PageRequest {
        limit,
        cursor: position.map(|position| position.to_string()),
    };
    let found = match list_messages(deps, caller, id, &page).await {
        Ok(found) => found,
        Err(OperateError::NotFound(_)) if *id != own.id => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(Some(ConversationRest {
        id: id.clone(),
        has_more: found.next_cursor.is_some(),
        messages: found.items.into(),
        position,
    }))
}

/// Parses a cursor: for each conversation the ordinal before which the page begins.
fn parse_positions(cursor: Option<&str>) -> Result<BTreeMap<ConversationId, Option<u64>>, OperateError> {
    let malformed = || PortError::invalid(WHAT, "not a cursor");
    let Some(cursor) = cursor else {
        return Ok(BTreeMap::new());
    };
    let mut positions = BTreeMap::new();
    for part in cursor.split('|') {
        let (id, position) = part.split_once(':').ok_or_else(malformed)?;
        let id = ConversationId::parse(id).map_err(|_| malformed())?;
        let position = match position {
            "" => None,
            number => Some(number.parse().map_err(|_| malformed())?),
        };
        positions.insert(id, position);
    }
    Ok(positions)
}
