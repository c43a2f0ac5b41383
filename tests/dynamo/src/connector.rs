//! The way to the database: what the SDK would send over HTTPS is done here, between the simulator's two pauses.

use crate::SimulationError;
use crate::database::{Answer, Database};
use crate::hooks::{Fault, Hooks};
use crate::operation::{Operation, Record, RecordKey, Verb};
use crate::readers::Readers;
use crate::replica::Replica;
use crate::template::TABLE;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use serde_json::{Value, json};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The database, its late copy, and the hooks. Clones are the same one.
#[derive(Clone)]
pub(crate) struct Connector(Arc<Inner>);

struct Inner {
    hooks: Hooks,
    arrived: AtomicU64,
    /// The read units that were consumed, once somebody counts them.
    read: Mutex<Option<f64>>,
    /// The write units, likewise.
    written: Mutex<Option<f64>>,
    state: Mutex<State>,
}

struct State {
    database: Database,
    replica: Replica,
    readers: Readers,
    /// When the first open record falls due, if somebody looked since something was written.
    first_due: FirstDue,
}

#[derive(Clone, Copy)]
enum FirstDue {
    Unknown,
    Known(Option<i64>),
}

impl Connector {
    pub(crate) fn new(hooks: Hooks) -> Result<Self, SimulationError> {
        let state = State {
            database: Database::new()?,
            replica: Replica::default(),
            readers: Readers::default(),
            first_due: FirstDue::Unknown,
        };
        Ok(Self(Arc::new(Inner {
            hooks,
            arrived: AtomicU64::new(0),
            read: Mutex::new(None),
            written: Mutex::new(None),
            state: Mutex::new(state),
        })))
    }

    fn state<T>(&self, with: impl FnOnce(&mut State) -> T) -> T {
        with(&mut self.0.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn hooks(&self) -> &Hooks {
        &self.0.hooks
    }

    pub(crate) fn requests(&self) -> u64 {
        self.0.arrived.load(Ordering::Relaxed)
    }

    /// Counts read units from here on. Returns those that were counted before.
    pub(crate) fn count_read_units(&self) -> f64 {
        let mut read = self.0.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.replace(0.0).unwrap_or_default()
    }

    /// Counts write units from here on. Returns those that were counted before.
    pub(crate) fn count_write_units(&self) -> f64 {
        let mut written = self.0.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.replace(0.0).unwrap_or_default()
    }

    /// Adds what a read consumes, if somebody counts. The database tells it when it is asked once more.
    fn add_read_units(&self, database: &Database, operation: &Operation, body: &[u8]) {
        let mut read = self.0.read.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(units) = read.as_mut().filter(|_| !operation.verb.writes()) else {
            return;
        };
        *units += consumed_units(&database.serve(operation.verb, &ask_for_units(body)));
    }

    /// Does what a request asks. If somebody counts, a write also tells what it consumes: of the table and its indexes, twice in a
    /// transaction.
    fn serve_counted(&self, database: &Database, verb: Verb, body: &[u8]) -> Answer {
        let mut written = self.0.written.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(units) = written.as_mut().filter(|_| verb.writes()) else {
            return database.serve(verb, body);
        };
        let answer = database.serve(verb, &ask_for_units(body));
        *units += consumed_units(&answer);
        answer
    }

    pub(crate) fn expire(&self) -> Result<usize, SimulationError> {
        let now = self.0.hooks.now();
        self.state(|state| {
            let count = state.database.expire(now)?;
            state.replica.expired(now);
            state.readers.expired(now)?;
            state.first_due = FirstDue::Unknown;
            Ok(count)
        })
    }

    pub(crate) fn start_stream(&self) -> Result<(), SimulationError> {
        self.state(|state| state.database.start_stream())
    }

    pub(crate) fn changes(
        &self,
        place: Option<&str>,
        limit: usize,
    ) -> Result<(Vec<Value>, Option<String>), SimulationError> {
        self.state(|state| state.database.changes(place, limit))
    }

    pub(crate) fn records(&self) -> Result<Vec<Record>, SimulationError> {
        self.state(|state| state.database.records())
    }

    pub(crate) fn damage(&self, key: &RecordKey, attribute: &str) -> Result<(), SimulationError> {
        let body = json!({
            "TableName": TABLE,
            "Key": {"pk": {"S": key.pk}, "sk": {"S": key.sk}},
            "UpdateExpression": "SET #damaged = :damaged",
            "ExpressionAttributeNames": {"#damaged": attribute},
            "ExpressionAttributeValues": {":damaged": {"S": "damaged"}},
        });
        let body = body.to_string().into_bytes();
        self.state(|state| {
            let answer = state.database.serve(Verb::Update, &body);
            assert!(answer.succeeded(), "{answer:?}");
            state.readers.written(Verb::Update, &body)
        })
    }

    pub(crate) fn put_items(&self, items: &[Value]) -> Result<(), SimulationError> {
        for item in items {
            let body = json!({"TableName": TABLE, "Item": item}).to_string().into_bytes();
            self.state(|state| {
                let answer = state.database.serve(Verb::Put, &body);
                assert!(answer.succeeded(), "{answer:?}");
                state.first_due = FirstDue::Unknown;
                state.readers.written(Verb::Put, &body)
            })?;
        }
        Ok(())
    }

    pub(crate) fn first_due(&self) -> Result<Option<i64>, SimulationError> {
        self.state(|state| {
            if let FirstDue::Known(known) = state.first_due {
                return Ok(known);
            }
            let first = state.database.first_due()?;
            state.first_due = FirstDue::Known(first);
            Ok(first)
        })
    }

    async fn answer(self, request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
        let verb = request.headers().get("x-amz-target").and_then(Verb::from_target);
        let (Some(verb), Some(body)) = (verb, request.body().bytes()) else {
            return response(Answer::refusal("UnknownOperationException", "not simulated"));
        };
        let number = self.0.arrived.fetch_add(1, Ordering::Relaxed) + 1;
        let operation = match Operation::read(number, verb, body) {
            Ok(operation) => operation,
            Err(error) => return response(Answer::refusal("SerializationException", &error.to_string())),
        };
        (self.0.hooks.before)(&operation).await;
        let fault = (self.0.hooks.fault)(&operation);
        let answer = match fault {
            Fault::Torn(order) if verb == Verb::Transact => self.perform_torn(&operation, body, order).await,
            fault => self.perform(&operation, body, fault),
        };
        (self.0.hooks.after)(&operation).await;
        response(answer?)
    }

    /// A transaction, done item by item as plain reads see it.
    async fn perform_torn(
        &self,
        operation: &Operation,
        body: &[u8],
        order: u64,
    ) -> Result<Answer, ConnectorError> {
        let number = operation.number;
        let (answer, records) = self.state(|state| {
            if state.readers.holds(&operation.keys) {
                return Ok((collision(operation), 0));
            }
            let answer = state.database.serve(operation.verb, body);
            if !answer.succeeded() {
                return Ok((answer, 0));
            }
            let now = self.0.hooks.now();
            state.replica.written(now, operation.verb, body);
            state.first_due = FirstDue::Unknown;
            let begun = state.readers.begin(number, body, &operation.keys, order);
            begun.map(|records| (answer, records)).map_err(broken)
        })?;
        // A caller that dies in one of the pauses does not stop what has begun.
        let finish = Finish(self, number);
        for _ in 0..records {
            (self.0.hooks.between)(operation).await;
            self.state(|state| state.readers.reveal(number));
        }
        drop(finish);
        Ok(answer)
    }

    /// What happens between the pauses, at once.
    fn perform(&self, operation: &Operation, body: &[u8], fault: Fault) -> Result<Answer, ConnectorError> {
        let now = self.0.hooks.now();
        if let Some(refusal) = refusal(fault, operation) {
            return Ok(refusal);
        }
        self.state(|state| {
            let collides = operation.verb.writes() || operation.verb == Verb::TransactGet;
            if collides && state.readers.holds(&operation.keys) {
                return Ok(collision(operation));
            }
            if let Fault::StaleIndex(age) = fault
                && operation.may_be_stale()
            {
                let time = now.checked_sub(age).unwrap_or(jiff::Timestamp::MIN);
                return state
                    .replica
                    .serve_as_of(time, operation.verb, body)
                    .map_err(broken);
            }
            let torn = if operation.verb.reads_plainly() {
                state.readers.serve(operation.verb, body)
            } else {
                None
            };
            self.add_read_units(&state.database, operation, body);
            let answer = torn.unwrap_or_else(|| self.serve_counted(&state.database, operation.verb, body));
            if operation.verb.writes() && answer.succeeded() {
                state.replica.written(now, operation.verb, body);
                state.readers.written(operation.verb, body).map_err(broken)?;
                state.first_due = FirstDue::Unknown;
            }
            match fault {
                Fault::FailAfter => Err(ConnectorError::io("the answer was lost".into())),
                Fault::StillInProgress if operation.verb == Verb::Transact => Ok(Answer::refusal(
                    "TransactionInProgressException",
                    "The transaction with the given request token is already in progress",
                )),
                _ => Ok(answer),
            }
        })
    }
}

/// What is left of a transaction appears when its caller is gone.
struct Finish<'a>(&'a Connector, u64);

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        self.0.state(|state| state.readers.finish(self.1));
    }
}

/// Returns a request that also asks what it consumes.
fn ask_for_units(body: &[u8]) -> Vec<u8> {
    let mut asked: Value = serde_json::from_slice(body).unwrap_or_default();
    asked["ReturnConsumedCapacity"] = json!("TOTAL");
    asked.to_string().into_bytes()
}

/// Returns the units that an answer tells, of all tables. A refusal tells none.
fn consumed_units(answer: &Answer) -> f64 {
    let told: Value = serde_json::from_str(&answer.body).unwrap_or_default();
    let told = &told["ConsumedCapacity"];
    let of_tables = told.as_array().cloned().unwrap_or_else(|| vec![told.clone()]);
    let units = |table: &Value| table["CapacityUnits"].as_f64();
    of_tables.iter().filter_map(units).sum()
}

fn broken(error: SimulationError) -> ConnectorError {
    ConnectorError::other(error.into(), None)
}

/// The refusal of what another transaction holds.
fn collision(operation: &Operation) -> Answer {
    let why = "Transaction is ongoing for the item";
    match operation.verb {
        Verb::Transact | Verb::TransactGet => {
            Answer::cancellation(operation.keys.len(), "TransactionConflict", why)
        }
        _ => Answer::refusal("TransactionConflictException", why),
    }
}

/// What is refused without being tried.
fn refusal(fault: Fault, operation: &Operation) -> Option<Answer> {
    let actions = operation.keys.len();
    match (fault, operation.verb) {
        (Fault::ThrottleBefore, Verb::Transact | Verb::TransactGet) => Some(Answer::cancellation(
            actions,
            "ThrottlingError",
            "Throughput exceeds the current capacity for one or more global secondary indexes",
        )),
        (Fault::ThrottleBefore, _) => Some(Answer::refusal(
            "ProvisionedThroughputExceededException",
            "The level of configured provisioned throughput for the table was exceeded",
        )),
        (Fault::TransactionConflict, verb) if verb.writes() || verb == Verb::TransactGet => {
            Some(collision(operation))
        }
        _ => None,
    }
}

fn response(answer: Answer) -> Result<HttpResponse, ConnectorError> {
    let status =
        StatusCode::try_from(answer.status).map_err(|error| ConnectorError::other(error.into(), None))?;
    let mut response = HttpResponse::new(status, SdkBody::from(answer.body));
    response
        .headers_mut()
        .insert("content-type", "application/x-amz-json-1.0");
    Ok(response)
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        HttpConnectorFuture::new(self.clone().answer(request))
    }
}

impl HttpClient for Connector {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").finish_non_exhaustive()
    }
}
