//! The stand-ins for Evolution, Meta, 360dialog and Anthropic as one process, for tests of deployed functions.
//!
//! It prints one line when all of them take connections, `ready evolution=http://… meta=… dialog360=… anthropic=…
//! control=…`, and ends on SIGTERM, on SIGINT, or with `--until-stdin-closes` when whoever started it is gone. The control API is described at
//! [`recado_testkit::servers::Control`].

use anyhow::{Context, Result};
use clap::Parser;
use recado_testkit::servers::{Control, Kind, StandIn, StandIns};
use std::io::{Read, Write};
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

/// Where they listen, on 127.0.0.1; 0 is any free port.
#[derive(Debug, Parser)]
#[command(name = "stand_ins", about)]
struct Args {
    /// Evolution's port.
    #[arg(long, default_value_t = 0)]
    evolution: u16,
    /// Meta's port.
    #[arg(long, default_value_t = 0)]
    meta: u16,
    /// 360dialog's port.
    #[arg(long, default_value_t = 0)]
    dialog360: u16,
    /// Anthropic's port.
    #[arg(long, default_value_t = 0)]
    anthropic: u16,
    /// The control API's port.
    #[arg(long, default_value_t = 0)]
    control: u16,
    /// End when standard input closes.
    #[arg(long)]
    until_stdin_closes: bool,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let start = |kind: Kind, port: u16| {
        StandIn::start(kind, port).with_context(|| format!("{kind:?} on port {port}"))
    };
    let stand_ins = Arc::new(StandIns {
        evolution: start(Kind::Evolution, args.evolution)?,
        meta: start(Kind::Meta, args.meta)?,
        dialog360: start(Kind::Dialog360, args.dialog360)?,
        anthropic: start(Kind::Anthropic, args.anthropic)?,
    });
    let control = Control::start(args.control, stand_ins.clone()).context("the control API")?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        // Signals are caught before the line that invites to send them.
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let closed = stdin_closed(args.until_stdin_closes);
        announce(&stand_ins, &control)?;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            () = closed => {}
        }
        Ok(())
    })
}

fn announce(stand_ins: &StandIns, control: &Control) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let (evolution, meta) = (stand_ins.evolution.url(), stand_ins.meta.url());
    let dialog360 = stand_ins.dialog360.url();
    let (anthropic, control) = (stand_ins.anthropic.url(), control.url());
    writeln!(
        out,
        "ready evolution={evolution} meta={meta} dialog360={dialog360} anthropic={anthropic} control={control}"
    )?;
    Ok(out.flush()?)
}

/// Ends when standard input does, if that is wanted. Reading it blocks, so a thread does it.
async fn stdin_closed(wanted: bool) {
    let (sender, closed) = oneshot::channel::<()>();
    if wanted {
        std::thread::spawn(move || {
            let mut stdin = std::io::stdin().lock();
            let mut chunk = [0; 256];
            while stdin.read(&mut chunk).is_ok_and(|read| read > 0) {}
            drop(sender);
        });
        closed.await.ok();
    } else {
        std::future::pending::<()>().await;
    }
}
