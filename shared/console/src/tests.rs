//! Pages over a stand-in API that answers what a test wants.

mod day_lines;
mod described_api;
mod forms;
mod page_forms;
mod pages;
mod routes;
mod sessions;
mod stand_in;
mod texts;
