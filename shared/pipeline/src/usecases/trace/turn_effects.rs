//! Finds the effects of the turn that wrote a reply.

use recado_domain::effects::EffectEntry;
use recado_domain::message::Message;
use recado_ports::Deps;
use recado_ports::ports::PortResult;
use recado_ports::records::effects::find_journal;
use serde_json::{Value, json};

/// Lists what tools did for the messages that a reply answers, also in drafts before it. A thread without a journal costs no
/// read.
pub(super) async fn list_turn_effects(deps: &Deps, reply: &Message) -> PortResult<Vec<EffectEntry>> {
    let Some(out) = &reply.out else {
        return Ok(Vec::new());
    };
    let turn = out.turn.as_ref();
    let known = turn.and_then(|turn| Some((turn.effects_upto?, turn.asked_at?)));
    let Some((upto, asked_at)) = known.filter(|(upto, _)| *upto > 0) else {
        return Ok(Vec::new());
    };
    let thread = reply.conversation.thread_id();
    let found = find_journal(deps.store(), &reply.tenant, thread).await?;
    let mut entries = found.map(|found| found.record.entries).unwrap_or_default();
    entries.retain(|entry| entry.is_of_turn(&reply.conversation, (upto, out.covers), asked_at));
    Ok(entries)
}

/// Describes effects for a timeline. Secrets are not among the stored arguments.
pub(super) fn describe_turn_effects(effects: &[EffectEntry]) -> Value {
    let described = effects.iter().map(|entry| {
        json!({
            "number": entry.number,
            "tool": entry.tool.name,
            "arguments": entry.arguments,
            "state": entry.state.as_str(),
            "result": entry.result,
            "begun_at": entry.begun_at,
            "ended_at": entry.ended_at,
        })
    });
    described.collect()
}
