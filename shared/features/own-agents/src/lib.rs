//! Agents that users run themselves, in the place of a model.
//!
//! Its types and rules are in [`recado_domain::http_agent`].

pub mod http_agent;
