//! What a stand-in was told beside messages: webhooks, what came in from WhatsApp, templates.

use recado_domain::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// See the module.
#[derive(Debug, Default)]
pub struct Notes {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    webhooks: BTreeMap<String, Value>,
    remembered: Vec<(String, Value)>,
    subscribed: Vec<String>,
    templates: Vec<Value>,
    seen: Vec<(String, bool)>,
}

impl Notes {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Evolution: a text came in from WhatsApp and is remembered, whether or not its webhook arrived anywhere.
    pub fn remember(&self, instance: &str, jid: &str, id: &str, text: &str, at: Timestamp) {
        let record = json!({
            "id": format!("row-{id}"),
            "key": {"remoteJid": jid, "fromMe": false, "id": id},
            "pushName": "Carla Nunes",
            "messageType": "conversation",
            "message": {"conversation": text},
            "messageTimestamp": at.as_second(),
            "instanceId": super::evolution::instance_id(instance),
            "source": "android",
            "contextInfo": null,
            "MessageUpdate": [],
        });
        self.kept().remembered.push((instance.to_owned(), record));
    }

    /// Evolution: the webhook of an instance as it was set. 360dialog: that of a number, by its key.
    pub fn webhook(&self, instance: &str) -> Option<Value> {
        self.kept().webhooks.get(instance).cloned()
    }

    /// Meta: a template of the account.
    pub fn template(&self, name: &str, language: &str, status: &str) {
        let template = json!({"name": name, "language": language, "status": status, "id": "1"});
        self.kept().templates.push(template);
    }

    /// Meta: the accounts that the app is subscribed to.
    pub fn subscribed(&self) -> Vec<String> {
        self.kept().subscribed.clone()
    }

    /// Meta and 360dialog: the messages that were marked as read, and whether "typing…" was shown with it, in order.
    pub fn seen(&self) -> Vec<(String, bool)> {
        self.kept().seen.clone()
    }

    pub(super) fn see(&self, id: &str, typing: bool) {
        self.kept().seen.push((id.to_owned(), typing));
    }

    pub(super) fn subscribe(&self, account: &str) {
        self.kept().subscribed.push(account.to_owned());
    }

    pub(super) fn templates(&self) -> Vec<Value> {
        self.kept().templates.clone()
    }

    pub(super) fn set_webhook(&self, instance: &str, webhook: Value) {
        self.kept().webhooks.insert(instance.to_owned(), webhook);
    }

    /// What came in on an instance, in the order in which it did.
    pub(super) fn remembered(&self, instance: &str) -> Vec<Value> {
        let kept = self.kept();
        let own = kept.remembered.iter().filter(|(name, _)| name == instance);
        own.map(|(_, record)| record.clone()).collect()
    }

    pub(super) fn forget(&self) {
        *self.kept() = Kept::default();
    }
}
