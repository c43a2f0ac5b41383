//! `recado dlq`: dead letters of a running installation, here or on AWS.

mod asking;
mod tables;
mod which;

use crate::environment::Environment;
use crate::installation;
use anyhow::Result;
use asking::Installation;
use clap::{Args, Subcommand};
use serde_json::Value;
use tables::{deletions, fields, letters};
use which::Which;

/// Dead letters of a running installation, here or on AWS: list, show, redrive, purge.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Dlq,
    /// Where the installation is.
    #[arg(
        long,
        global = true,
        env = "RECADO_URL",
        default_value = "http://127.0.0.1:8080"
    )]
    url: String,
    /// The operators' token; on the machine that serves, the one kept in the data folder.
    #[arg(long, global = true, env = "RECADO_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// Prints the answer as JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Dlq {
    /// Lists dead letters, the newest first.
    List {
        #[command(flatten)]
        which: Which,
        /// At most so many.
        #[arg(long, default_value_t = 50)]
        limit: usize,
        /// Where the list before ended.
        #[arg(long)]
        cursor: Option<String>,
    },
    /// Shows one dead letter, with what would be done again.
    Show {
        /// Its id.
        id: String,
    },
    /// Puts dead letters back on their way, each conversation's in order.
    Redrive {
        /// These.
        #[arg(conflicts_with_all = ["all", "queue", "reason", "instance", "since", "until"])]
        ids: Vec<String>,
        /// All there are.
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        which: Which,
        /// Only says how many there are, and what a redrive would meet.
        #[arg(long)]
        dry_run: bool,
    },
    /// Deletes dead letters for good. Who did is kept: `recado dlq audit`.
    Purge {
        /// These.
        #[arg(conflicts_with_all = ["all", "queue", "reason", "instance", "since", "until"])]
        ids: Vec<String>,
        /// All there are.
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        which: Which,
        /// Who deletes them.
        #[arg(long, env = "USER", default_value = "operator")]
        by: String,
    },
    /// Lists who deleted which dead letters, the newest first.
    Audit {
        /// At most so many.
        #[arg(long, default_value_t = 50)]
        limit: usize,
    },
}

/// Does what was asked for and prints what came of it, as a table or as JSON.
pub(crate) async fn run(arguments: Arguments, environment: &Environment) -> Result<()> {
    let Arguments {
        command, url, token, ..
    } = arguments;
    installation::warn_of_plain(&url);
    let there = Installation {
        url: &url,
        token: &installation::token(token.as_deref(), environment)?,
    };
    let (answer, table): (Value, fn(&Value) -> String) = match command {
        Dlq::List { which, limit, cursor } => (there.list(&which, limit, cursor).await?, letters),
        Dlq::Show { id } => (there.show(&id).await?, fields),
        Dlq::Redrive {
            ids,
            all,
            which,
            dry_run,
        } => {
            which.named(&ids, all)?;
            (there.redrive(&ids, &which, dry_run).await?, fields)
        }
        Dlq::Purge { ids, all, which, by } => {
            which.named(&ids, all)?;
            (there.purge(&ids, all, &which, &by).await?, fields)
        }
        Dlq::Audit { limit } => (there.audit(limit).await?, deletions),
    };
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&answer)?);
    } else {
        print!("{}", table(&answer));
    }
    Ok(())
}
