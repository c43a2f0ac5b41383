//! The in-process DynamoDB, asked and answering in the bodies of its HTTP interface.

use crate::SimulationError;
use crate::operation::{Record, RecordKey, Verb};
use crate::template::{TABLE, make_table};
use dynoxide::DynoxideError;
use dynoxide::storage_backend::ManualClock;
use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The kinds of open records that `reconcile` reads, as the adapter's `list_overdue` names them.
const DUE_KINDS: [char; 6] = ['E', 'O', 'C', 'I', 'P', 'F'];

/// The kinds of the table that `reconcile` asks for what is due.
const DUE_OF_TABLE: [&str; 4] = ["scheduled-messages", "journals", "invitations", "batches"];

/// The kind of the conversations in which a person owes the answer.
const PERSON_OWED: char = 'W';

/// The time after which a return of the agent is overdue, in milliseconds.
const RETURN_OVERDUE_MS: i64 = 120_000;

/// The first time that never comes, in milliseconds since the Unix epoch: the year 9999.
const NEVER_MS: i64 = 253_370_764_800_000;

/// An answer: the status and the JSON that the SDK reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Answer {
    /// The service's refusal with this code.
    pub(crate) fn refusal(code: &str, message: &str) -> Self {
        let kind = format!("com.amazonaws.dynamodb.v20120810#{code}");
        Self {
            status: 400,
            body: json!({"__type": kind, "message": message}).to_string(),
        }
    }

    /// The cancellation of a transaction of `actions` actions, the first of which is why.
    pub(crate) fn cancellation(actions: usize, code: &str, message: &str) -> Self {
        let reason = |action: usize| match action {
            0 => json!({"Code": code, "Message": message}),
            _ => json!({"Code": "None"}),
        };
        let reasons: Vec<Value> = (0..actions.max(1)).map(reason).collect();
        let body = json!({
            "__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
            "Message": format!("Transaction cancelled, please refer cancellation reasons for specific reasons [{code}]"),
            "CancellationReasons": reasons,
        });
        Self {
            status: 400,
            body: body.to_string(),
        }
    }

    fn of(outcome: Result<String, DynoxideError>) -> Self {
        match outcome {
            Ok(body) => Self { status: 200, body },
            Err(error) => Self {
                status: error.status_code(),
                body: error.to_json(),
            },
        }
    }

    pub(crate) fn succeeded(&self) -> bool {
        self.status == 200
    }
}

/// One database with the table.
pub(crate) struct Database {
    inner: dynoxide::Database,
    clock: ManualClock,
}

impl Database {
    pub(crate) fn new() -> Result<Self, SimulationError> {
        let clock = ManualClock::new(0);
        let inner = dynoxide::Database::memory_with_clock(clock.arc())?;
        make_table(&inner)?;
        Ok(Self { inner, clock })
    }

    /// Does what `body` asks, whole, before it returns.
    pub(crate) fn serve(&self, verb: Verb, body: &[u8]) -> Answer {
        let database = &self.inner;
        Answer::of(match verb {
            Verb::Get => call(body, |request| database.get_item(request)),
            Verb::BatchGet => call(body, |request| database.batch_get_item(request)),
            Verb::TransactGet => call(body, |request| database.transact_get_items(request)),
            Verb::Query => call(body, |request| database.query(request)),
            Verb::Scan => call(body, |request| database.scan(request)),
            Verb::Put => call(body, |request| database.put_item(request)),
            Verb::Update => call(body, |request| database.update_item(request)),
            Verb::Delete => call(body, |request| database.delete_item(request)),
            Verb::Transact => call(body, |request| database.transact_write_items(request)),
        })
    }

    /// Has the table tell its changes from now on, with the record before and after each.
    pub(crate) fn start_stream(&self) -> Result<(), SimulationError> {
        let request = json!({
            "TableName": TABLE,
            "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        });
        call(request.to_string().as_bytes(), |request| {
            self.inner.update_table(request)
        })?;
        Ok(())
    }

    /// Returns at most `limit` changes behind a place, in the form in which Lambda passes them on, and the place behind them.
    pub(crate) fn changes(
        &self,
        place: Option<&str>,
        limit: usize,
    ) -> Result<(Vec<Value>, Option<String>), SimulationError> {
        let begin = match place {
            Some(place) => place.to_owned(),
            None => self.first_place()?,
        };
        let request = json!({"ShardIterator": begin, "Limit": limit});
        let page = call(request.to_string().as_bytes(), |request| {
            self.inner.get_records(request)
        })?;
        let mut page: Value = serde_json::from_str(&page).map_err(|error| unreadable(&error))?;
        let next = page["NextShardIterator"].as_str().map(str::to_owned);
        Ok(match page["Records"].take() {
            Value::Array(records) => (records, next),
            _ => (Vec::new(), next),
        })
    }

    /// Returns the place before all changes that the table tells.
    fn first_place(&self) -> Result<String, SimulationError> {
        let ask = |found: Result<String, DynoxideError>, name: &str| {
            let found: Value = serde_json::from_str(&found?).map_err(|error| unreadable(&error))?;
            Ok::<_, DynoxideError>(
                found
                    .pointer(name)
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned(),
            )
        };
        let request = json!({"TableName": TABLE}).to_string();
        let listed = call(request.as_bytes(), |request| self.inner.list_streams(request));
        let stream = ask(listed, "/Streams/0/StreamArn")?;
        let request = json!({"StreamArn": stream}).to_string();
        let described = call(request.as_bytes(), |request| self.inner.describe_stream(request));
        let shard = ask(described, "/StreamDescription/Shards/0/ShardId")?;
        let request =
            json!({"StreamArn": stream, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"}).to_string();
        let begun = call(request.as_bytes(), |request| {
            self.inner.get_shard_iterator(request)
        });
        Ok(ask(begun, "/ShardIterator")?)
    }

    /// Removes what has expired by `now`; how many records.
    pub(crate) fn expire(&self, now: Timestamp) -> Result<usize, SimulationError> {
        self.clock.set(u64::try_from(now.as_second()).unwrap_or_default());
        Ok(self.inner.sweep_ttl()?)
    }

    /// When the first of the open records falls due, in milliseconds since the Unix epoch. The index also holds records
    /// that only alerts look at: other kinds, and times that never come.
    pub(crate) fn first_due(&self) -> Result<Option<i64>, SimulationError> {
        let (mut first, mut start) = (None::<i64>, None);
        loop {
            let request = json!({
                "TableName": TABLE,
                "IndexName": "open",
                "ProjectionExpression": "open_shard, open_due, agent_returns_at",
                "ExclusiveStartKey": start,
            });
            let mut page = self.scan(&request)?;
            for item in page["Items"].as_array().into_iter().flatten() {
                let shard = item["open_shard"]["S"].as_str().unwrap_or_default();
                let number = |name: &str| item[name]["N"].as_str().and_then(|text| text.parse::<i64>().ok());
                let is_of_table = || DUE_OF_TABLE.iter().any(|kind| shard.starts_with(kind));
                let is_work = shard.starts_with(DUE_KINDS) || is_of_table();
                let due = number("open_due").filter(|due| is_work && *due < NEVER_MS);
                // Where a person owes the answer, the agent's return falls due, and `reconcile` looks for that, too.
                let returns = number("agent_returns_at").filter(|_| shard.starts_with(PERSON_OWED));
                let overdue = returns.map(|at| at + RETURN_OVERDUE_MS);
                first = first.into_iter().chain(due).chain(overdue).min();
            }
            start = page.get_mut("LastEvaluatedKey").map(Value::take);
            if start.as_ref().is_none_or(Value::is_null) {
                return Ok(first);
            }
        }
    }

    fn scan(&self, request: &Value) -> Result<Value, SimulationError> {
        let page = call(request.to_string().as_bytes(), |request| self.inner.scan(request))?;
        Ok(serde_json::from_str(&page).map_err(|error| unreadable(&error))?)
    }

    /// All records by their keys.
    pub(crate) fn records(&self) -> Result<Vec<Record>, SimulationError> {
        let mut records = Vec::new();
        let mut start = None;
        loop {
            let request = json!({"TableName": TABLE, "ConsistentRead": true, "ExclusiveStartKey": start});
            let mut page = self.scan(&request)?;
            if let Value::Array(items) = page["Items"].take() {
                records.extend(items.into_iter().filter_map(record));
            }
            start = page.get_mut("LastEvaluatedKey").map(Value::take);
            if start.as_ref().is_none_or(Value::is_null) {
                break;
            }
        }
        records.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(records)
    }
}

fn record(item: Value) -> Option<Record> {
    let text = |name: &str| Some(item.get(name)?.get("S")?.as_str()?.to_owned());
    let key = RecordKey {
        pk: text("pk")?,
        sk: text("sk")?,
    };
    match item {
        Value::Object(attributes) => Some(Record { key, attributes }),
        _ => None,
    }
}

/// Reads a request, has it done, and writes the answer.
fn call<Q: DeserializeOwned, A: Serialize>(
    body: &[u8],
    done: impl FnOnce(Q) -> Result<A, DynoxideError>,
) -> Result<String, DynoxideError> {
    let request = serde_json::from_slice(body).map_err(|error| unreadable(&error))?;
    serde_json::to_string(&done(request)?)
        .map_err(|error| DynoxideError::InternalServerError(error.to_string()))
}

/// A request that cannot be read. Its kind stands in the message's prefix, since serde has no other place for it.
fn unreadable(error: &serde_json::Error) -> DynoxideError {
    let message = error.to_string();
    for prefix in ["VALIDATION_AS_READ:", "VALIDATION_REQUEST:", "VALIDATION:"] {
        if let Some(message) = message.strip_prefix(prefix) {
            return DynoxideError::ValidationException(message.to_owned());
        }
    }
    let incomplete = [
        "missing field",
        "unknown variant",
        "invalid type: null",
        "AttributeValue",
    ];
    if incomplete.iter().any(|sign| message.contains(sign)) {
        return DynoxideError::ValidationException(message);
    }
    DynoxideError::SerializationException(message)
}
