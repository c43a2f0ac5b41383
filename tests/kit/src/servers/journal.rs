//! What a stand-in saw, and what it is told to do.

use super::behaviour::Behaviour;
use super::dialog360::Files;
use super::notes::Notes;
use super::random_behaviours::RandomBehaviours;
use recado_domain::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// How often a wait looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// A request as it came.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recorded {
    /// Such as `POST`.
    pub method: String,
    /// As written, percent-encoded, without the query.
    pub path: String,
    /// By lower-case name.
    pub headers: BTreeMap<String, String>,
    /// The body as JSON; a body that is none, as a string; an empty one, null.
    pub body: Value,
    /// When it had come in full.
    pub at: Timestamp,
}

/// Returns `true` if a request asks for the state of a connection, which comes at any time: no test queues a behaviour for it.
fn is_state_question(request: &Recorded) -> bool {
    request.path.starts_with("/instance/connectionState/")
}

/// A request that the real server would refuse, or that Recado promises not to make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The request's path.
    pub path: String,
    /// What was wrong.
    pub what: String,
}

/// A message that was accepted: what the contact's phone got.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Delivered {
    /// Evolution's instance name, Meta's `phone_number_id`, or the key that names a number at 360dialog.
    pub instance: String,
    /// As the request had it.
    pub to: String,
    /// The text; of what is none, its kind and what it says.
    pub text: String,
    /// What it is, where it is more than text: as Evolution stores it, or as Meta was given it.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub content: Value,
    /// The id that the provider gave it.
    pub id: String,
    /// Meta's `biz_opaque_callback_data`.
    pub callback: Option<String>,
    /// When it was accepted.
    pub at: Timestamp,
    /// The API's version that the request was written for, where the body tells (Evolution: 1 or 2).
    #[serde(skip)]
    pub(super) version: u8,
}

impl Delivered {
    /// A message as Evolution 2 accepts it, for tests of what reads them.
    pub fn new(instance: &str, to: &str, text: &str, at: Timestamp) -> Self {
        Self {
            instance: instance.to_owned(),
            to: to.to_owned(),
            text: text.to_owned(),
            content: Value::Null,
            id: String::new(),
            callback: None,
            at,
            version: 2,
        }
    }
}

/// Evolution's word for how an instance is connected to WhatsApp.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionState {
    /// It can send; as every instance begins.
    #[default]
    Open,
    /// It cannot.
    Close,
    /// Not yet, or not again.
    Connecting,
}

#[derive(Debug, Default)]
struct Pages {
    requests: Vec<Recorded>,
    violations: Vec<Violation>,
    phone: Vec<Delivered>,
    next: VecDeque<Behaviour>,
    next_for: Vec<(String, Behaviour)>,
    usual: Behaviour,
    behaviours: Option<RandomBehaviours>,
    credential: Option<String>,
    connection: ConnectionState,
    connections: BTreeMap<String, ConnectionState>,
    cached: Vec<String>,
}

/// See the module. Everything in it can be asked and set while the server runs.
#[derive(Debug, Default)]
pub struct Journal {
    pages: Mutex<Pages>,
    /// Whether nothing hangs any more.
    let_go: watch::Sender<bool>,
    /// How many clients gave up while their request hung.
    given_up: AtomicUsize,
    notes: Notes,
    files: Files,
}

impl Journal {
    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it was told beside messages.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// 360dialog: the files of its numbers. Evolution: those of its messages, by the messages' ids.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// All requests so far, in order, wrong ones too.
    pub fn requests(&self) -> Vec<Recorded> {
        self.pages().requests.clone()
    }

    /// All wrong requests so far, in order.
    pub fn violations(&self) -> Vec<Violation> {
        self.pages().violations.clone()
    }

    /// What was accepted, in order.
    pub fn phone(&self) -> Vec<Delivered> {
        self.pages().phone.clone()
    }

    /// Waits until `count` messages were accepted, at most for `limit` of real time. Returns what there is then.
    pub async fn wait_for_phone(&self, count: usize, limit: Duration) -> Vec<Delivered> {
        self.wait(limit, || self.pages().phone.len() >= count).await;
        self.phone()
    }

    /// Waits until `count` requests came, at most for `limit` of real time. Returns what there is then.
    pub async fn wait_for_requests(&self, count: usize, limit: Duration) -> Vec<Recorded> {
        let is_other = |request: &&Recorded| !is_state_question(request);
        let counted = || self.pages().requests.iter().filter(is_other).count();
        self.wait(limit, || counted() >= count).await;
        self.requests()
    }

    async fn wait(&self, limit: Duration, reached: impl Fn() -> bool) {
        let began = Instant::now();
        while !reached() && began.elapsed() < limit {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Adds `behaviour` to what the next requests meet, one each.
    pub fn next(&self, behaviour: Behaviour) {
        self.pages().next.push_back(behaviour);
    }

    /// Sets what the next request meets whose body contains `text`, whatever comes beside it.
    pub fn next_for(&self, text: &str, behaviour: Behaviour) {
        self.pages().next_for.push((text.to_owned(), behaviour));
    }

    /// Adds several, see [`Journal::next`].
    pub fn next_all(&self, behaviours: impl IntoIterator<Item = Behaviour>) {
        self.pages().next.extend(behaviours);
    }

    /// Sets what requests meet when nothing is queued for them.
    pub fn usually(&self, behaviour: Behaviour) {
        self.pages().usual = behaviour;
    }

    /// From now on each request's behaviour is drawn, when nothing is queued for it. `None`: as [`Journal::usually`] says.
    pub fn at_random(&self, behaviours: Option<RandomBehaviours>) {
        self.pages().behaviours = behaviours;
    }

    /// Lets in only requests with this key or token; others are answered 401, which is no violation. Until then every
    /// one is good that is there.
    pub fn expect_credential(&self, credential: &str) {
        self.pages().credential = Some(credential.to_owned());
    }

    /// Evolution: sets the connection of every instance. What is sent while it is not open is refused as Evolution does, with "Connection Closed".
    pub fn set_connection(&self, state: ConnectionState) {
        let mut pages = self.pages();
        pages.connections.clear();
        pages.connection = state;
    }

    /// Evolution: sets the connection of one instance.
    pub fn set_connection_of(&self, instance: &str, state: ConnectionState) {
        self.pages().connections.insert(instance.to_owned(), state);
    }

    /// Lets what hangs go on, and hangs no more.
    pub fn let_go(&self) {
        self.let_go.send_replace(true);
    }

    /// How many clients gave up while their request hung.
    pub fn given_up(&self) -> usize {
        self.given_up.load(Ordering::SeqCst)
    }

    pub(super) fn note_given_up(&self) {
        self.given_up.fetch_add(1, Ordering::SeqCst);
    }

    /// Waits as long as a request is to hang, unless it is let go before.
    pub(super) async fn hang(&self, wait: Duration) {
        let mut told = self.let_go.subscribe();
        let _ = tokio::time::timeout(wait, told.wait_for(|let_go| *let_go)).await;
    }

    /// Forgets everything that was seen or set.
    pub fn reset(&self) {
        *self.pages() = Pages::default();
        self.let_go.send_replace(false);
        self.notes.forget();
        self.files.forget();
    }

    pub(super) fn record(&self, request: Recorded) {
        self.pages().requests.push(request);
    }

    pub(super) fn violate(&self, path: &str, what: &str) {
        self.pages().violations.push(Violation {
            path: path.to_owned(),
            what: what.to_owned(),
        });
    }

    pub(super) fn deliver(&self, message: Delivered) {
        self.pages().phone.push(message);
    }

    pub(super) fn take_behaviour(&self, request: &Recorded) -> Behaviour {
        let mut pages = self.pages();
        if !pages.next_for.is_empty() {
            let body = request.body.to_string();
            let named = pages.next_for.iter().position(|(text, _)| body.contains(text));
            if let Some(named) = named {
                return pages.next_for.remove(named).1;
            }
        }
        if !is_state_question(request)
            && let Some(next) = pages.next.pop_front()
        {
            return next;
        }
        let drawn = pages
            .behaviours
            .as_mut()
            .map(|behaviours| behaviours.draw(request));
        drawn.unwrap_or_else(|| pages.usual.clone())
    }

    pub(super) fn is_credential(&self, shown: &str) -> bool {
        self.pages()
            .credential
            .as_deref()
            .is_none_or(|expected| expected == shown)
    }

    pub(super) fn connection(&self, instance: &str) -> ConnectionState {
        let pages = self.pages();
        pages
            .connections
            .get(instance)
            .copied()
            .unwrap_or(pages.connection)
    }

    /// Anthropic: whether this prompt was cached before; it is from now on.
    pub(super) fn cache(&self, prompt: &str) -> bool {
        let mut pages = self.pages();
        let known = pages.cached.iter().any(|cached| cached == prompt);
        if !known {
            pages.cached.push(prompt.to_owned());
        }
        known
    }
}
