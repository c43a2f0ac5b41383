//! Invitations to occasions: guests, what they answer, and what they are sent.

mod guest_answer;

pub use guest_answer::{GuestAnswer, recognize_answer};
