//! A request as a simulator sees it: what is asked of which records.

use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;

/// The operations that the store uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verb {
    /// `GetItem`.
    Get,
    /// `BatchGetItem`.
    BatchGet,
    /// `TransactGetItems`.
    TransactGet,
    /// `Query`.
    Query,
    /// `Scan`.
    Scan,
    /// `PutItem`.
    Put,
    /// `UpdateItem`.
    Update,
    /// `DeleteItem`.
    Delete,
    /// `TransactWriteItems`.
    Transact,
}

impl Verb {
    /// The operation that the header `x-amz-target` names; `None` if it is none of these.
    pub(crate) fn from_target(target: &str) -> Option<Self> {
        Some(match target.strip_prefix("DynamoDB_20120810.")? {
            "GetItem" => Self::Get,
            "BatchGetItem" => Self::BatchGet,
            "TransactGetItems" => Self::TransactGet,
            "Query" => Self::Query,
            "Scan" => Self::Scan,
            "PutItem" => Self::Put,
            "UpdateItem" => Self::Update,
            "DeleteItem" => Self::Delete,
            "TransactWriteItems" => Self::Transact,
            _ => return None,
        })
    }

    /// Its name, for traces.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::BatchGet => "batch get",
            Self::TransactGet => "transactional get",
            Self::Query => "query",
            Self::Scan => "scan",
            Self::Put => "put",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Transact => "transaction",
        }
    }

    /// Whether it reads without waiting for transactions.
    pub fn reads_plainly(self) -> bool {
        matches!(self, Self::Get | Self::BatchGet | Self::Query | Self::Scan)
    }

    /// Whether it changes records.
    pub fn writes(self) -> bool {
        matches!(self, Self::Put | Self::Update | Self::Delete | Self::Transact)
    }
}

/// A record's key.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordKey {
    /// The partition key.
    pub pk: String,
    /// The sort key.
    pub sk: String,
}

impl fmt::Display for RecordKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.pk, self.sk)
    }
}

/// A request. The same run of a simulation sees the same ones, however the SDK orders the fields of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// Its number among this database's requests, from 1, in the order of their arrival.
    pub number: u64,
    /// What is done.
    pub verb: Verb,
    /// The records that it names: a transaction's in its order, a batch's sorted, a query's none.
    pub keys: Vec<RecordKey>,
    /// The index that is read.
    pub index: Option<String>,
    /// Whether it is a read that sees every write before it.
    pub strong: bool,
}

/// What of a body says which records are meant.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Body {
    key: Option<Keyed>,
    item: Option<Keyed>,
    index_name: Option<String>,
    consistent_read: bool,
    transact_items: Vec<BTreeMap<String, Action>>,
    request_items: BTreeMap<String, Batch>,
}

#[derive(Deserialize)]
struct Keyed {
    pk: Text,
    sk: Text,
}

#[derive(Deserialize)]
struct Text {
    #[serde(rename = "S")]
    text: String,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Action {
    key: Option<Keyed>,
    item: Option<Keyed>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Batch {
    keys: Vec<Keyed>,
    consistent_read: bool,
}

impl From<Keyed> for RecordKey {
    fn from(keyed: Keyed) -> Self {
        Self {
            pk: keyed.pk.text,
            sk: keyed.sk.text,
        }
    }
}

impl Operation {
    /// Reads what a request asks.
    pub(crate) fn read(number: u64, verb: Verb, body: &[u8]) -> Result<Self, serde_json::Error> {
        let body: Body = serde_json::from_slice(body)?;
        let mut strong = body.consistent_read || verb == Verb::TransactGet;
        let single = body.key.into_iter().chain(body.item);
        let actions = body
            .transact_items
            .into_iter()
            .flat_map(BTreeMap::into_values)
            .filter_map(|action| action.key.or(action.item));
        let mut keys: Vec<RecordKey> = single.chain(actions).map(RecordKey::from).collect();
        for batch in body.request_items.into_values() {
            strong |= batch.consistent_read;
            keys.extend(batch.keys.into_iter().map(RecordKey::from));
        }
        if verb == Verb::BatchGet {
            keys.sort_unstable();
        }
        Ok(Self {
            number,
            verb,
            keys,
            index: body.index_name,
            strong,
        })
    }

    /// Whether its answer may be older than the newest write.
    pub fn may_be_stale(&self) -> bool {
        !self.verb.writes() && !self.strong
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.number, self.verb)?;
        if let Some(index) = &self.index {
            write!(f, " {index}")?;
        }
        self.keys.iter().try_for_each(|key| write!(f, " {key}"))
    }
}

/// A record as the table holds it, attributes as DynamoDB's JSON writes them.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Where it lies.
    pub key: RecordKey,
    /// All attributes, `pk` and `sk` too.
    pub attributes: Map<String, Value>,
}
