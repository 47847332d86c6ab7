//! Who goes next: futures that are polled one at a time, in an order that is chosen.
//!
//! A node that crashes is a set of futures that are dropped where they stand, which is at some
//! await; a node that is frozen is a set that is not polled.

use std::{
    pin::{Pin, pin},
    sync::{Arc, Mutex},
    task::{Context, Poll, Wake, Waker},
    thread::Thread,
};

pub type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

struct Task {
    node: usize,
    work: Work,
}

/// Futures under way, by the node they belong to. Clones are the same.
#[derive(Clone, Default)]
pub struct Inbox(Arc<Mutex<Vec<(usize, Work)>>>);

impl Inbox {
    pub fn spawn(&self, node: usize, work: impl Future<Output = ()> + Send + 'static) {
        self.0.lock().unwrap().push((node, Box::pin(work)));
    }
}

#[derive(Default)]
pub struct Tasks {
    running: Vec<Task>,
    inbox: Inbox,
}

impl Tasks {
    pub fn inbox(&self) -> Inbox {
        self.inbox.clone()
    }

    /// Those that could be polled now: indexes for [`Tasks::poll`].
    pub fn ready(&mut self, is_awake: impl Fn(usize) -> bool) -> Vec<usize> {
        let new = std::mem::take(&mut *self.inbox.0.lock().unwrap());
        let new = new.into_iter().map(|(node, work)| Task { node, work });
        self.running.extend(new);
        let indexes = 0..self.running.len();
        indexes
            .filter(|index| is_awake(self.running[*index].node))
            .collect()
    }

    /// Polls once. Wakers do not matter: a future that is polled too early waits on.
    pub fn poll(&mut self, index: usize, context: &mut Context<'_>) {
        if self.running[index].work.as_mut().poll(context).is_ready() {
            drop(self.running.swap_remove(index));
        }
    }

    /// Drops all that a node was doing.
    pub fn crash(&mut self, node: usize) {
        self.ready(|_| true);
        self.running.retain(|task| task.node != node);
    }
}

/// Lets others go first.
pub async fn pause() {
    let mut paused = false;
    std::future::poll_fn(|_| match std::mem::replace(&mut paused, true) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
    .await;
}

/// Runs a future to its end on this thread. Stores with threads of their own answer in an order
/// that cannot be repeated, unless the caller waits for each answer.
pub fn at_once<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}
