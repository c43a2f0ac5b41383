//! The events of an instance that Evolution is told to send.

use crate::connect::ConnectOptions;

/// Events that Recado cannot work without.
pub(crate) const REQUIRED_EVENTS: [&str; 3] = ["MESSAGES_UPSERT", "MESSAGES_UPDATE", "CONNECTION_UPDATE"];

/// Events that Recado also uses, if Evolution's version has them. Evolution refuses a configuration with an unknown
/// name.
pub(crate) const OPTIONAL_EVENTS: [&str; 2] = ["MESSAGES_EDITED", "MESSAGES_DELETE"];

/// The event that tells who types.
const TYPING_EVENT: &str = "PRESENCE_UPDATE";

/// The event that tells what was sent through Evolution's API.
const SENT_EVENT: &str = "SEND_MESSAGE";

/// Events that Recado reads and does not ask for, since not everybody needs them: each costs requests.
const CHOSEN_EVENTS: [&str; 4] = [TYPING_EVENT, SENT_EVENT, "MESSAGES_SET", "MESSAGES_REACTION"];

/// Returns the events beside those that each instance has: those that are asked for, and those that a person chose for
/// Recado's webhook before. What another program was sent is not Recado's choice. `before` is what was set: URL and events.
pub(crate) fn choose_extra_events(
    options: ConnectOptions,
    before: Option<(&str, &[String])>,
    wanted_url: &str,
) -> Vec<&'static str> {
    let ours = before.filter(|(url, _)| webhook_path(url) == webhook_path(wanted_url));
    let was_chosen = |event: &str| ours.is_some_and(|(_, events)| events.iter().any(|known| known == event));
    let is_wanted = |event: &str| match event {
        TYPING_EVENT => options.typing,
        SENT_EVENT => options.other_senders,
        _ => None,
    };
    let chosen = CHOSEN_EVENTS.into_iter();
    chosen
        .filter(|event| is_wanted(event).unwrap_or_else(|| was_chosen(event)))
        .collect()
}

/// Returns the path of a webhook's URL, without the secret that it may end in. The host may have changed since it was set.
fn webhook_path(url: &str) -> &str {
    let address = url.split_once("://").map_or(url, |(_, address)| address);
    let path = address.find('/').map_or("", |at| &address[at..]);
    path.split("/k/").next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "https://recado.example/webhooks/evolution";

    fn choose(options: ConnectOptions, before: Option<(&str, &[&str])>) -> Vec<&'static str> {
        let (url, events) = before.unzip();
        let events: Option<Vec<String>> =
            events.map(|events| events.iter().map(ToString::to_string).collect());
        choose_extra_events(options, url.zip(events.as_deref()), URL)
    }

    #[test]
    fn what_was_chosen_for_recado_stays_and_what_another_program_got_does_not() {
        let events: &[&str] = &[
            "MESSAGES_UPSERT",
            "CALL",
            "PRESENCE_UPDATE",
            "SEND_MESSAGE",
            "MESSAGES_SET",
        ];
        let kept = ["PRESENCE_UPDATE", "SEND_MESSAGE", "MESSAGES_SET"];
        let default = ConnectOptions::default();
        for url in [
            URL,
            "http://10.0.0.7:8080/webhooks/evolution",
            "https://old.example/webhooks/evolution/k/secret",
        ] {
            assert_eq!(choose(default, Some((url, events))), kept, "{url}");
        }
        for url in ["https://n8n.example/webhook/7", "https://recado.example", ""] {
            assert_eq!(choose(default, Some((url, events))), [""; 0], "{url}");
        }
        assert_eq!(choose(default, None), [""; 0]);
    }

    #[test]
    fn what_is_asked_for_counts_more_than_what_was_there() {
        let options = |typing, other_senders| ConnectOptions {
            typing,
            other_senders,
            ..ConnectOptions::default()
        };
        let both = ["PRESENCE_UPDATE", "SEND_MESSAGE"];
        assert_eq!(choose(options(Some(true), Some(true)), None), both);
        assert_eq!(
            choose(options(Some(false), None), Some((URL, &both))),
            ["SEND_MESSAGE"]
        );
        assert_eq!(
            choose(options(None, Some(false)), Some((URL, &both))),
            ["PRESENCE_UPDATE"]
        );
    }
}
