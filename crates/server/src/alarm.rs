//! One alarm clock for each connection.
//!
//! The server waits for the head of each request until a deadline, and the head nearly always
//! comes. A timer set and taken back for each costs more than reading it; so there is one for
//! the life of a connection, which is let ring early now and then, and only then set anew.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::{Duration, Instant},
};

use hyper::rt::{Sleep, Timer};

#[derive(Clone)]
pub struct Alarm(Arc<Mutex<Pin<Box<tokio::time::Sleep>>>>);

impl Alarm {
    /// Rings after this long for the first time, whether somebody waits then or not.
    pub fn new(first: Duration) -> Self {
        Self(Arc::new(Mutex::new(Box::pin(tokio::time::sleep(first)))))
    }
}

impl Timer for Alarm {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(self.now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(Wait {
            alarm: self.clone(),
            deadline: deadline.into(),
        })
    }

    fn now(&self) -> Instant {
        tokio::time::Instant::now().into()
    }
}

/// Until a deadline, by an alarm that may ring for deadlines long past.
struct Wait {
    alarm: Alarm,
    deadline: tokio::time::Instant,
}

impl Sleep for Wait {}

impl Future for Wait {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut clock = self.alarm.0.lock().unwrap_or_else(PoisonError::into_inner);
        if clock.deadline() > self.deadline {
            clock.as_mut().reset(self.deadline);
        }
        while clock.as_mut().poll(cx).is_ready() {
            if clock.deadline() >= self.deadline {
                return Poll::Ready(());
            }
            clock.as_mut().reset(self.deadline);
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use hyper::{Response, server::conn::http1, service::service_fn};
    use hyper_util::rt::TokioIo;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    const MOST: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn each_wait_ends_at_its_own_deadline_however_the_alarm_is_set() {
        let alarm = Alarm::new(MOST);
        let start = tokio::time::Instant::now();
        for (wait, ends_at) in [(50, 50), (5, 55), (1, 56), (30, 86), (30, 116)] {
            // Most are given up, and leave the alarm set too late or too early.
            let wait = Duration::from_secs(wait);
            for given_up in [wait * 2, wait / 2] {
                let given_up = alarm.sleep(given_up);
                assert!(futures_util::FutureExt::now_or_never(given_up).is_none());
            }
            alarm.sleep(wait).await;
            assert_eq!(start.elapsed().as_secs(), ends_at);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_next_head_of_a_connection_has_the_whole_time_again() {
        let (mut client, server) = tokio::io::duplex(4_096);
        let connection = http1::Builder::new()
            .header_read_timeout(MOST)
            .timer(Alarm::new(MOST))
            .serve_connection(
                TokioIo::new(server),
                service_fn(async |_| Ok::<_, Infallible>(Response::new(String::new()))),
            );
        let served = tokio::spawn(connection);
        let mut answer = [0; 1_024];
        for pause in [20, 29, 29] {
            tokio::time::advance(Duration::from_secs(pause)).await;
            client
                .write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
                .await
                .unwrap();
            assert!(client.read(&mut answer).await.unwrap() > 0);
        }
        let answered = tokio::time::Instant::now();
        client.write_all(b"GET / HT").await.unwrap();
        assert_eq!(client.read(&mut answer).await.unwrap(), 0);
        assert_eq!(answered.elapsed().as_secs(), MOST.as_secs());
        assert!(served.await.unwrap().unwrap_err().is_timeout());
    }
}
