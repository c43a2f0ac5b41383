//! The use of models: one item of each tenant, day, agent, model and country, in a few shards, since each reply adds to one of them.

use super::expression::UpdateChange;
use super::item::{number_attribute, text_attribute};
use super::keys::TableKey;
use super::transaction::TransactionAction;
use recado_domain::delivery::DeliveryKey;
use recado_domain::ids::ThreadId;
use recado_domain::message::Message;
use recado_domain::usage::{UsageSum, usage_of_reply};

/// Returns the writes that add what a reply used, one for each model. Replies of different threads rarely write the same item.
pub(super) fn add_usage_of_reply(parts: &[Message], thread: &ThreadId) -> Vec<TransactionAction> {
    let sums = usage_of_reply(parts);
    sums.iter().map(|sum| add_usage_to_sum(sum, thread)).collect()
}

/// Returns the write that adds to a sum what was used in a thread.
pub(super) fn add_usage_to_sum(sum: &UsageSum, thread: &ThreadId) -> TransactionAction {
    add_to_sum_record(sum, TableKey::for_usage_of_model(sum, thread.as_str()))
}

/// Returns the write that adds the charge of a message. The many deliveries of a batch are spread over the items of the sum.
pub(super) fn add_charge_to_sum(sum: &UsageSum, delivery: &DeliveryKey) -> TransactionAction {
    add_to_sum_record(sum, TableKey::for_usage_of_model(sum, delivery.as_str()))
}

fn add_to_sum_record(sum: &UsageSum, key: TableKey) -> TransactionAction {
    let counts = [
        ("replies", sum.replies),
        ("input_tokens", sum.tokens.input_tokens),
        ("output_tokens", sum.tokens.output_tokens),
        ("cache_read_tokens", sum.tokens.cache_read_tokens),
        ("cache_write_tokens", sum.tokens.cache_write_tokens),
    ];
    // Most sums have none of these, and an item leaves them out then.
    let rare = [
        ("discarded_drafts", sum.discarded_drafts),
        ("recordings", sum.recordings),
        ("audio_millis", sum.audio_millis),
        ("charged_messages", sum.charged_messages),
    ];
    let names = [
        ("tenant", sum.tenant.as_str().to_owned()),
        ("agent", sum.agent.as_str().to_owned()),
        ("day", sum.day.to_string()),
        ("model", sum.model.clone()),
    ];
    let country = sum.country.map(|country| ("country", country.to_string()));
    let mut change = UpdateChange::default()
        .set_value("ttl", number_attribute(sum.expires_at().as_second()))
        .with_value(":none", number_attribute(0));
    for (name, text) in names.into_iter().chain(country) {
        change = change.set_value(name, text_attribute(text));
    }
    for (name, count) in counts
        .into_iter()
        .chain(rare.into_iter().filter(|(_, count)| *count > 0))
    {
        let term = format!("if_not_exists(#{name}, :none) + :{name}");
        change = change
            .set_to_term(name, &term)
            .with_value(&format!(":{name}"), number_attribute(count));
    }
    TransactionAction::Update(key, change, None)
}
