//! Stand-ins steered over HTTP, for tests that run them as a process of their own.
//!
//! | route | what |
//! | --- | --- |
//! | `GET /requests?server=evolution` | what came, in order |
//! | `GET /phone[?server=…]` | what was accepted, by time |
//! | `GET /violations[?server=…]` | wrong requests |
//! | `POST /behaviour` `{"server", "next": […], "default": …}` | see [`Behaviour`]; what is left out stays as it is |
//! | `POST /connection` `{"state", "instance"?}` | Evolution's connection, of all instances or of one |
//! | `POST /reset` | all forgotten |

use super::behaviour::Behaviour;
use super::host::Host;
use super::journal::{ConnectionState, Delivered, Recorded, Violation};
use super::stand_in::{Kind, StandIn, StandIns};
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use std::io;
use std::sync::Arc;

/// The control API, as long as it is kept.
#[derive(Debug)]
pub struct Control {
    host: Host,
}

impl Control {
    /// Serves it for these stand-ins on this port of 127.0.0.1; on any free one for 0.
    pub fn start(port: u16, stand_ins: Arc<StandIns>) -> io::Result<Self> {
        let router = Router::new()
            .route("/requests", get(requests))
            .route("/phone", get(phone))
            .route("/violations", get(violations))
            .route("/behaviour", post(behaviour))
            .route("/connection", post(connection))
            .route("/reset", post(reset))
            .with_state(stand_ins);
        Ok(Self {
            host: Host::start(port, router)?,
        })
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        self.host.url()
    }
}

type Servers = State<Arc<StandIns>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Which {
    server: Option<Kind>,
}

impl Which {
    fn of<'a>(&self, servers: &'a StandIns) -> Vec<&'a StandIn> {
        match self.server {
            Some(kind) => vec![servers.get(kind)],
            None => servers.all().into(),
        }
    }
}

async fn requests(State(servers): Servers, Query(which): Query<Which>) -> Json<Vec<Recorded>> {
    let mut all: Vec<Recorded> = which
        .of(&servers)
        .into_iter()
        .flat_map(|server| server.requests())
        .collect();
    all.sort_by_key(|request| request.at);
    Json(all)
}

async fn phone(State(servers): Servers, Query(which): Query<Which>) -> Json<Vec<Delivered>> {
    let mut all: Vec<Delivered> = which
        .of(&servers)
        .into_iter()
        .flat_map(|server| server.phone())
        .collect();
    all.sort_by_key(|message| message.at);
    Json(all)
}

async fn violations(State(servers): Servers, Query(which): Query<Which>) -> Json<Vec<Violation>> {
    Json(
        which
            .of(&servers)
            .into_iter()
            .flat_map(|server| server.violations())
            .collect(),
    )
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    server: Kind,
    #[serde(default)]
    next: Vec<Behaviour>,
    #[serde(default)]
    default: Option<Behaviour>,
}

async fn behaviour(State(servers): Servers, Json(wanted): Json<Wanted>) -> StatusCode {
    let server = servers.get(wanted.server);
    server.next_all(wanted.next);
    if let Some(usual) = wanted.default {
        server.usually(usual);
    }
    StatusCode::NO_CONTENT
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Connection {
    state: ConnectionState,
    #[serde(default)]
    instance: Option<String>,
}

async fn connection(State(servers): Servers, Json(wanted): Json<Connection>) -> StatusCode {
    match wanted.instance {
        Some(instance) => servers.evolution.set_connection_of(&instance, wanted.state),
        None => servers.evolution.set_connection(wanted.state),
    }
    StatusCode::NO_CONTENT
}

async fn reset(State(servers): Servers) -> StatusCode {
    servers.all().into_iter().for_each(|server| server.reset());
    StatusCode::NO_CONTENT
}
