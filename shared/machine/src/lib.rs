//! What the server and the command line of one machine share: files of the data folder, recordings, and text for people.

#[macro_use]
pub mod output;

pub mod address_file;
pub mod configuration_file;
pub mod help_text;
pub mod kept_token;
pub mod record;
pub mod secret_variable;
pub mod style;
