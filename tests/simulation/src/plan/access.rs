//! Whom a number's access list lets in.

use super::address;
use crate::executor::Simulation;
use crate::person::{Habit, identity};
use recado_domain::access_list::AccessList;
use recado_domain::contact::ContactAddress;
use serde_json::json;

/// Most numbers let everybody in. Some block one of their `contacts`, under both names; some allow all but one.
pub(super) fn access_list(simulation: &Simulation, contacts: &[(ContactAddress, Habit)]) -> AccessList {
    let entries = |contacts: &mut dyn Iterator<Item = ContactAddress>| -> Vec<String> {
        let both = contacts.flat_map(|number| [identity(&number), number]);
        both.map(|name| name.as_str().to_owned()).collect()
    };
    let mut numbers = contacts.iter().map(|(number, _)| number.clone());
    let written = match simulation.below(20) {
        0 => json!({"block": entries(&mut numbers.take(1))}),
        1 => {
            // A flood comes from ten contacts more.
            let others = (0..10).map(|contact| address(900, contact));
            json!({"allow": entries(&mut numbers.skip(1).chain(others))})
        }
        // Both lists, of which the block list counts first.
        2 => {
            let all = entries(&mut numbers);
            json!({"block": all[..2], "allow": all})
        }
        _ => return AccessList::default(),
    };
    serde_json::from_value(written).expect("an access list")
}
