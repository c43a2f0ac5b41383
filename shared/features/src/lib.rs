//! The features of Recado, each a crate of its own in a folder beside this one, and what is made of all of them: [`FEATURES`] is asked by
//! the path of a message, and [`api_routes`] serves their routes. Every program has the same ones.

mod description;
mod feature_list;
mod routes;
mod simulator;

pub use feature_list::FEATURES;
pub use routes::{api_router, api_routes};

#[cfg(test)]
mod tests;
