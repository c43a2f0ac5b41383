//! Tells one story with its trace: `tell STORY [lambda|machine] [crash|stall|cut STEP] [without SAFEGUARD] [seed N] [alone]`. With
//! `every crash|stall|cut` it is told once for each step, and what is broken is listed.

use recado_simulation::Mutation;
use recado_simulation::embedded::tell;
use recado_simulation::scenario::{Story, Telling, Trouble};
use recado_simulation::simulator::Style;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let after = |word: &str| {
        let at = words.iter().position(|found| found == word)?;
        words.get(at + 1).cloned()
    };
    let step = |word: &str| after(word).and_then(|step| step.parse::<u64>().ok());
    let story = Story::ALL
        .iter()
        .find(|story| words.first() == Some(&format!("{story:?}")));
    let Some(story) = story else {
        println!("stories: {:?}", Story::ALL);
        return;
    };
    let mut telling = Telling::of(*story);
    if words.iter().any(|word| word == "machine") {
        telling.style = Style::Machine;
    }
    telling.reconciles = !words.iter().any(|word| word == "alone");
    telling.seed = step("seed").unwrap_or(1);
    telling.mutation = after("without").and_then(|name| {
        let mut all = Mutation::ALL.iter();
        all.find(|mutation| format!("{mutation:?}") == name).copied()
    });
    if let Some(at) = step("crash") {
        telling.trouble = Trouble::Crash(at);
    }
    if let Some(at) = step("stall") {
        telling.trouble = Trouble::Stall(at, 130_000);
    }
    if let Some(at) = step("cut") {
        telling.trouble = Trouble::PowerCut(at);
    }
    if let Some(trouble) = after("every") {
        tell_every(&telling, &trouble);
        return;
    }
    let outcome = tell(&telling, true);
    for line in &outcome.trace {
        println!("{line}");
    }
    println!("{} steps, broken: {:?}", outcome.steps, outcome.violations);
}

/// Tells the story with the trouble at each of its steps, and lists what is broken.
fn tell_every(telling: &Telling, trouble: &str) {
    let (undisturbed, mut broken) = (tell(telling, false), 0);
    for step in 0..undisturbed.steps {
        let trouble = match trouble {
            "stall" => Trouble::Stall(step, 130_000),
            "cut" => Trouble::PowerCut(step),
            _ => Trouble::Crash(step),
        };
        let outcome = tell(&telling.with(trouble), false);
        broken += usize::from(!outcome.violations.is_empty());
        for violation in outcome.violations {
            println!("{trouble:?}: {violation}");
        }
    }
    println!("{} steps, {broken} of them broken", undisturbed.steps);
}
