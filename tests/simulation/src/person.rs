//! One person's two names: an address with a number, and an identity without one. Both have the same digits, so whose phone
//! a message reaches is known without asking.

use crate::executor::Simulation;
use recado_domain::contact::ContactAddress;

/// What the number's digits begin with; the identity's begin otherwise, and are no phone number.
const NUMBER: &str = "5500";
const IDENTITY: &str = "9900";

/// The identity without a number of the person who has this number.
pub fn identity(number: &ContactAddress) -> ContactAddress {
    let digits = number.as_str().split('@').next().unwrap_or_default();
    let rest = digits.strip_prefix(NUMBER).unwrap_or(digits);
    ContactAddress::parse(&format!("{IDENTITY}{rest}@lid")).expect("an identity")
}

/// Whose phone it is: the address with the number.
pub fn phone(of: &ContactAddress) -> ContactAddress {
    let digits = of
        .as_str()
        .strip_suffix("@lid")
        .and_then(|digits| digits.strip_prefix(IDENTITY));
    match digits {
        Some(rest) => ContactAddress::parse(&format!("{NUMBER}{rest}@s.whatsapp.net")).expect("an address"),
        None => of.clone(),
    }
}

/// How a message shows whose chat it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shows {
    /// By the number.
    Number,
    /// By the identity without one.
    Identity,
    /// By both.
    Both,
}

impl Shows {
    /// The address, and what stands beside it, in the chat of the person who has this number.
    pub fn names(self, number: &ContactAddress) -> (ContactAddress, Option<ContactAddress>) {
        match self {
            Self::Number => (number.clone(), None),
            Self::Identity => (identity(number), None),
            Self::Both => (number.clone(), Some(identity(number))),
        }
    }
}

/// Under which of their names a person appears, message after message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Habit {
    /// By the number, always.
    Plain,
    /// By the identity alone for so many messages, then by both.
    IdentityFirst(u64),
    /// By the number alone for so many messages, then by both.
    NumberFirst(u64),
    /// By either alone or both, as it comes.
    Mixed,
}

impl Habit {
    /// Six in ten have two names.
    pub fn of_chance(simulation: &Simulation) -> Self {
        let first = simulation.below(4);
        match simulation.below(10) {
            0..=1 => Self::IdentityFirst(first),
            2 => Self::NumberFirst(first),
            3..=5 => Self::Mixed,
            _ => Self::Plain,
        }
    }

    /// How the message number `nth` shows whose it is, from 0.
    pub fn shows(self, simulation: &Simulation, nth: u64) -> Shows {
        match self {
            Self::Plain => Shows::Number,
            Self::IdentityFirst(first) if nth < first => Shows::Identity,
            Self::NumberFirst(first) if nth < first => Shows::Number,
            Self::IdentityFirst(_) | Self::NumberFirst(_) => Shows::Both,
            Self::Mixed => self.shows_now(simulation),
        }
    }

    /// How something else shows whose chat it is in.
    pub fn shows_now(self, simulation: &Simulation) -> Shows {
        if self == Self::Plain {
            return Shows::Number;
        }
        simulation.pick(&[Shows::Number, Shows::Identity, Shows::Identity, Shows::Both])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::address;

    #[test]
    fn both_names_of_a_person_are_of_one_phone() {
        let number = address(2, 17);
        assert!(identity(&number).is_numberless());
        assert_eq!(phone(&identity(&number)), number);
        assert_eq!(phone(&number), number);
    }
}
