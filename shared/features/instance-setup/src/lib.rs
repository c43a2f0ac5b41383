//! Sets an instance up at its provider, and shows what is to be entered there.

pub mod instance_webhook;
pub mod onboarding_routes;
