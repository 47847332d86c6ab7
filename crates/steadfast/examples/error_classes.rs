//! Which errors are retried?
//!
//! Retried is all that may pass with time: errors that `?` returns, panics, timeouts, and every
//! class of your own. Not retried are permanent failures: `JobError::permanent`, `not_found`,
//! HTTP 403 and so on. Rules of the policy overrule both, and `JobError::retry_after` sets the
//! least delay.
//!
//! `cargo run -p steadfast --example error_classes`

#![expect(clippy::print_stdout, reason = "an example prints what it does")]

use std::time::Duration;

use serde::{Deserialize, Serialize};
use steadfast::{
    Context, Engine, Failure, JobError, JobKind, MemoryStore, PolicyPatch, explain,
    job::PageRequest,
    policy::{Jitter, RetryRule, RuleAction},
};

#[derive(Serialize, Deserialize)]
struct Charge(String);

impl JobKind for Charge {
    const KIND: &'static str = "charge";

    fn retry() -> PolicyPatch {
        // The first rule that matches decides, whatever the class means otherwise.
        let rules = vec![
            RetryRule::on_class("fraud", RuleAction::Fail),
            RetryRule::on_class("not_found", RuleAction::Retry),
            RetryRule::on_class(
                "bank_closed",
                RuleAction::RetryAfter(Duration::from_millis(300)),
            ),
        ];
        let policy = PolicyPatch::fixed(Duration::from_millis(50)).max_retries(1);
        policy.jitter(Jitter::None).rules(rules)
    }
}

async fn charge(Charge(what): Charge, _: Context) -> Result<(), JobError> {
    Err(match what.as_str() {
        "any error with ?" => {
            let amount: u32 = "ten".parse()?;
            JobError::failure("never", format!("{amount} is not reached"))
        }
        "permanent" => JobError::permanent("the card has expired"),
        "HTTP status" => JobError::Failure(Failure::http(403, "not your card")),
        "own class" => JobError::failure("card_reader", "cannot read the chip"),
        "rule: fail" => JobError::failure("fraud", "the same card in two countries"),
        "rule: retry" => JobError::failure("not_found", "the customer is not replicated yet"),
        "rule: delay" => JobError::failure("bank_closed", "out of hours"),
        _ => JobError::retry_after(Duration::from_millis(200), "too many requests"),
    })
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let engine = Engine::builder(MemoryStore::default())
        .handler(charge)
        .start()?;
    let client = engine.client();
    let errors = "any error with ?,permanent,HTTP status,own class,\
                  rule: fail,rule: retry,rule: delay,Retry-After";
    for what in errors.split(',') {
        let id = client.enqueue(Charge(what.to_owned())).await?;
        engine.finished(id).await?;
        println!("{what}");
        // Every attempt leaves a record that explains what followed. The newest comes first.
        let records = client.attempts(id, PageRequest::first(10)).await?.items;
        for record in records.iter().rev() {
            if let (Some(failure), Some(decision)) =
                (&record.failure, explain::decision_brief(record))
            {
                println!("  {failure} -> {decision}");
            }
        }
    }
    engine.stop().await;
    Ok(())
}
