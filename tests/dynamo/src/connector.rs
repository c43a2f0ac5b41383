//! The way to the database: what the SDK would send over HTTPS is done here, between the simulator's two pauses.

use crate::SimulationError;
use crate::database::{Answer, Database};
use crate::hooks::{Fault, Hooks};
use crate::operation::{Operation, Record, Verb};
use crate::replica::Replica;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The database, its late copy, and the hooks. Clones are the same one.
#[derive(Clone)]
pub(crate) struct Connector(Arc<Inner>);

struct Inner {
    hooks: Hooks,
    arrived: AtomicU64,
    state: Mutex<State>,
}

struct State {
    database: Database,
    replica: Replica,
    /// When the first open record falls due, unless something was written since somebody looked.
    first_due: Option<Option<i64>>,
}

impl Connector {
    pub(crate) fn new(hooks: Hooks) -> Result<Self, SimulationError> {
        let state = State {
            database: Database::new()?,
            replica: Replica::default(),
            first_due: None,
        };
        Ok(Self(Arc::new(Inner {
            hooks,
            arrived: AtomicU64::new(0),
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

    pub(crate) fn expire(&self) -> Result<usize, SimulationError> {
        let now = self.0.hooks.now();
        self.state(|state| {
            let count = state.database.expire(now)?;
            state.replica.expired(now);
            state.first_due = None;
            Ok(count)
        })
    }

    pub(crate) fn records(&self) -> Result<Vec<Record>, SimulationError> {
        self.state(|state| state.database.records())
    }

    pub(crate) fn first_due(&self) -> Result<Option<i64>, SimulationError> {
        self.state(|state| {
            if let Some(known) = state.first_due {
                return Ok(known);
            }
            let first = state.database.first_due()?;
            state.first_due = Some(first);
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
        let answer = self.perform(&operation, body);
        (self.0.hooks.after)(&operation).await;
        response(answer?)
    }

    /// What happens between the pauses, at once.
    fn perform(&self, operation: &Operation, body: &[u8]) -> Result<Answer, ConnectorError> {
        let fault = (self.0.hooks.fault)(operation);
        let now = self.0.hooks.now();
        if let Some(refusal) = refusal(fault, operation) {
            return Ok(refusal);
        }
        self.state(|state| {
            if let Fault::StaleIndex(age) = fault
                && operation.may_be_stale()
            {
                let time = now.checked_sub(age).unwrap_or(jiff::Timestamp::MIN);
                return state
                    .replica
                    .serve_as_of(time, operation.verb, body)
                    .map_err(|error| ConnectorError::other(error.into(), None));
            }
            let answer = state.database.serve(operation.verb, body);
            if operation.verb.writes() && answer.succeeded() {
                state.replica.written(now, operation.verb, body);
                state.first_due = None;
            }
            match fault {
                Fault::FailAfter => Err(ConnectorError::io("the answer was lost".into())),
                _ => Ok(answer),
            }
        })
    }
}

/// What is refused without being tried.
fn refusal(fault: Fault, operation: &Operation) -> Option<Answer> {
    let actions = operation.keys.len();
    match (fault, operation.verb) {
        (Fault::ThrottleBefore, Verb::Transact) => Some(Answer::cancellation(
            actions,
            "ThrottlingError",
            "Throughput exceeds the current capacity for one or more global secondary indexes",
        )),
        (Fault::ThrottleBefore, _) => Some(Answer::refusal(
            "ProvisionedThroughputExceededException",
            "The level of configured provisioned throughput for the table was exceeded",
        )),
        (Fault::TransactionConflict, Verb::Transact) => Some(Answer::cancellation(
            actions,
            "TransactionConflict",
            "Transaction is ongoing for the item",
        )),
        (Fault::TransactionConflict, verb) if verb.writes() => Some(Answer::refusal(
            "TransactionConflictException",
            "Transaction is ongoing for the item",
        )),
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
