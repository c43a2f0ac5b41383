//! Agents that users run themselves, in the place of a model.

pub mod http_agent;
