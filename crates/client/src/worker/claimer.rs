//! Claims jobs while there are slots for them, with one request at a time.

use std::{pin::pin, sync::Arc, time::Duration};

use steadfast_api::{ClaimJobsRequest, ClaimList};
use tokio::{
    sync::watch,
    time::{Instant, timeout},
};

use super::{
    held::{HeldClaim, HeldClaims},
    slots::Slots,
};
use crate::{
    backoff::Backoff,
    client::Client,
    error::ClientError,
    limits::{CLAIM_EARLY, CLAIM_MARGIN, CLAIM_WAIT, LAST_ANSWER_WAIT},
    transport::NewestConnection,
};

pub struct Claimer {
    /// With a connection of its own, as a claim waits for long.
    pub client: Client,
    pub connection: NewestConnection,
    /// The client that handlers get.
    pub handlers_client: Client,
    pub request: ClaimJobsRequest,
    pub lease: Option<Duration>,
    pub held: Arc<HeldClaims>,
    pub slots: Arc<Slots>,
}

impl Claimer {
    /// Claims until the worker stops, and returns the claims that came too late to be started.
    ///
    /// The error is that of a server which refuses this worker from the start, or which this worker
    /// does not trust: a wrong key, name or certificate would not get better. Later, the server may
    /// be replaced.
    pub async fn run(
        &self,
        stop: &watch::Receiver<bool>,
        mut start: impl FnMut(Vec<Arc<HeldClaim>>),
    ) -> Result<Vec<Arc<HeldClaim>>, ClientError> {
        let mut backoff = Backoff::default();
        let mut is_accepted = false;
        loop {
            let room = tokio::select! {
                biased;
                () = stopping(stop) => return Ok(Vec::new()),
                room = self.slots.room() => room,
            };
            let sent_at = Instant::now();
            let answer = self.claim(room, stop).await;
            if *stop.borrow() {
                return Ok(answer.unwrap_or_default());
            }
            let failure = match answer {
                Ok(claims) => {
                    is_accepted = true;
                    let is_early = claims.is_empty() && sent_at.elapsed() < CLAIM_EARLY;
                    if !claims.is_empty() {
                        start(claims);
                    }
                    if !is_early {
                        backoff.reset();
                        continue;
                    }
                    None
                }
                Err(error)
                    if !is_accepted && (error.is_untrusted() || !error.is_worth_repeating()) =>
                {
                    return Err(error);
                }
                Err(error) => {
                    tracing::warn!(error = error.with_causes(), "cannot claim jobs yet");
                    Some(error)
                }
            };
            tokio::select! {
                () = stopping(stop) => {}
                () = backoff.pause_after(failure.as_ref()) => {}
            }
        }
    }

    /// Sends one request. If the worker stops meanwhile, the server is asked to stop waiting in a
    /// way that does not lose jobs which are already on their way.
    async fn claim(
        &self,
        most: usize,
        stop: &watch::Receiver<bool>,
    ) -> Result<Vec<Arc<HeldClaim>>, ClientError> {
        let request = ClaimJobsRequest {
            max: Some(most),
            ..self.request.clone()
        };
        let call = self
            .client
            .claim_jobs(&request)
            .timeout(CLAIM_WAIT + CLAIM_MARGIN);
        let mut call = pin!(call.into_future());
        let answer = tokio::select! {
            answer = &mut call => answer?,
            () = stopping(stop) => {
                self.connection.end_sending();
                match timeout(LAST_ANSWER_WAIT, call).await {
                    Ok(answer) => answer?,
                    Err(_) => return Ok(Vec::new()),
                }
            }
        };
        Ok(self.accept(answer))
    }

    fn accept(&self, answer: ClaimList) -> Vec<Arc<HeldClaim>> {
        let received = Instant::now();
        let claims = answer.claims.into_iter();
        claims
            .map(|claim| {
                self.held
                    .claim(claim, self.lease, &self.handlers_client, received)
            })
            .collect()
    }
}

/// Returns when the worker stops.
pub async fn stopping(stop: &watch::Receiver<bool>) {
    // The holder of the sender is gone: that is a stop, too.
    let _ = stop.clone().wait_for(|is_stopping| *is_stopping).await;
}
