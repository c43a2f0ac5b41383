//! `recado-sim`: plays histories.

fn main() {
    let seed = std::env::args()
        .nth(1)
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(1);
    let n: u64 = std::env::args()
        .nth(2)
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(1);
    let mut bad = 0;
    let began = std::time::Instant::now();
    for seed in seed..seed + n {
        let at = std::time::Instant::now();
        let outcome = recado_simulation::embedded::history(seed, None, n == 1);
        if n == 1 {
            for line in &outcome.trace {
                println!("{line}");
            }
        }
        if at.elapsed().as_millis() > 300 {
            println!(
                "slow {seed}: {} ms, {} polls, {} virtual s",
                at.elapsed().as_millis(),
                outcome.polls,
                outcome.virtual_ms / 1000
            );
        }
        if !outcome.violations.is_empty() {
            bad += 1;
            println!(
                "seed {seed}: {:?}",
                &outcome.violations[..outcome.violations.len().min(3)]
            );
        }
    }
    println!(
        "{n} histories, {bad} bad, {:.1}/s",
        n as f64 / began.elapsed().as_secs_f64()
    );
}
