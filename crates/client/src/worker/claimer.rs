//! Claims jobs while there are slots for them, with one request at a time.

use std::{pin::pin, sync::Arc, time::Duration};

use steadfast_api::{ClaimBody, ClaimJobsRequest, ClaimList, ClaimSession};
use tokio::{
    sync::watch,
    time::{Instant, timeout},
};

use super::{
    held::{HeldClaim, HeldClaims},
    settler::{self, Settlement, Settler},
    slots::Slots,
};
use crate::{
    backoff::Backoff,
    client::Client,
    error::{ClientError, ErrorKind},
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
    pub settler: Arc<Settler>,
    /// Names this process, so that claims of a response that got lost go back at once.
    pub session: ClaimSession,
}

impl Claimer {
    /// Claims until the worker stops, and returns the claims that came too late to be started.
    ///
    /// The error is that of a server which refuses this worker from the start, or which this worker
    /// does not trust: a wrong key, name or certificate would not get better. Later, the server may
    /// be replaced.
    pub async fn run(
        &mut self,
        stop: &watch::Receiver<bool>,
        mut start: impl FnMut(Vec<Arc<HeldClaim>>),
    ) -> Result<Vec<Arc<HeldClaim>>, ClientError> {
        let mut backoff = Backoff::default();
        let mut is_accepted = false;
        loop {
            let room = tokio::select! {
                biased;
                () = stopping(stop) => {
                    self.settler.wake();
                    return Ok(Vec::new());
                }
                room = self.slots.room() => room,
            };
            let sent_at = Instant::now();
            let outcomes = self.settler.take_along();
            let has_outcomes = !outcomes.is_empty();
            let answer = self.claim(room, outcomes, stop).await;
            if *stop.borrow() {
                return Ok(answer.unwrap_or_default());
            }
            let failure = match answer {
                Ok(claims) => {
                    is_accepted = true;
                    let is_empty = claims.is_empty() && !has_outcomes;
                    let is_early = is_empty && sent_at.elapsed() < CLAIM_EARLY;
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

    /// Sends one request, which reports outcomes as well; with outcomes, the server does not wait.
    async fn claim(
        &mut self,
        most: usize,
        outcomes: Vec<Settlement>,
        stop: &watch::Receiver<bool>,
    ) -> Result<Vec<Arc<HeldClaim>>, ClientError> {
        self.session.sequence += 1;
        let request = ClaimJobsRequest {
            max: Some(most),
            session: Some(self.session.clone()),
            ..self.request.clone()
        };
        let answer = match self.exchange(&request, &outcomes, stop).await {
            Ok(Some(answer)) if answer.settled.len() == outcomes.len() => answer,
            Ok(answer) => {
                if let Some(answer) = answer {
                    let (taken, sent) = (answer.settled.len(), outcomes.len());
                    tracing::warn!("the server returned results for {taken} of {sent} outcomes");
                }
                self.settler.finish_along(outcomes, None);
                return Ok(Vec::new());
            }
            Err(error) => {
                self.settler.finish_along(outcomes, None);
                return Err(error);
            }
        };
        self.session.received = self.session.sequence;
        self.settler.finish_along(outcomes, Some(answer.settled));
        Ok(self.accept(answer.claims))
    }

    /// Sends a request. If the worker stops meanwhile, the server is asked to stop waiting in a way
    /// that does not lose jobs which are already on their way.
    async fn exchange(
        &self,
        request: &ClaimJobsRequest,
        outcomes: &[Settlement],
        stop: &watch::Receiver<bool>,
    ) -> Result<Option<ClaimList>, ClientError> {
        let encode = |error| ClientError::new("claimJobs", ErrorKind::Encode(Box::new(error)));
        let mut body = serde_json::to_string(request).map_err(encode)?;
        if !outcomes.is_empty() {
            body.pop();
            body = format!("{body},{}}}", settler::field_of(outcomes));
        }
        let call = self.client.post("claimJobs", "/claims").json_text(body);
        let call = call.timeout(CLAIM_WAIT + CLAIM_MARGIN);
        let mut call = pin!(call.into_future());
        tokio::select! {
            answer = &mut call => answer.map(Some),
            () = stopping(stop) => {
                self.connection.end_sending();
                match timeout(LAST_ANSWER_WAIT, call).await {
                    Ok(answer) => answer.map(Some),
                    Err(_) => Ok(None),
                }
            }
        }
    }

    fn accept(&self, claims: Vec<ClaimBody>) -> Vec<Arc<HeldClaim>> {
        let received = Instant::now();
        let claims = claims.into_iter();
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
