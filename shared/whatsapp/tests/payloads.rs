//! Payloads of the providers: the repository's own, those of a further folder, and random ones.

mod anything;
mod extra_cloud;
mod extra_meta;
mod fixtures;
