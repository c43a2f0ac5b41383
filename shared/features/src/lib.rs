//! Joins the features of Recado. Each is a crate of its own in a folder beside this one. The path of a message asks [`FEATURES`], and
//! [`api_routes`] serves their routes. Every program has the same ones.

mod description;
mod feature_list;
mod routes;
mod simulator;

pub use feature_list::FEATURES;
pub use routes::{api_router, api_routes};

#[cfg(test)]
mod tests;
