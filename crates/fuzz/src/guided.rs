//! The long run: libFuzzer calls, and sees what each input reaches.

use std::cell::RefCell;

use steadfast_sim::prove;

use crate::Target;

/// Checks one input on libFuzzer's behalf. libFuzzer ends the process by itself, so the
/// counts of the run are reported when the values of its thread are dropped.
pub fn guided(target: Target, input: &[u8]) {
    COUNT.with_borrow_mut(|count| {
        count.target = target.name;
        count.executions += 1;
    });
    let taken = (target.check)(input);
    COUNT.with_borrow_mut(|count| count.taken += u64::from(taken));
}

#[derive(Default)]
struct Count {
    target: &'static str,
    executions: u64,
    taken: u64,
}

impl Drop for Count {
    fn drop(&mut self) {
        let figures = [
            ("executions", self.executions),
            ("inputs taken", self.taken),
        ];
        prove::tell(&format!("fuzz: {}, guided", self.target), &figures);
    }
}

thread_local! {
    static COUNT: RefCell<Count> = RefCell::default();
}
