//! Durations and formulas as QStash writes them.

use std::time::Duration;

use steadfast_core::limits::DELAY_MAX;

use crate::{http::Problem, limits};

/// `90s`, `1h30m`, `3d`, or a number of seconds.
pub fn duration(field: &str, text: &str) -> Result<Duration, Problem> {
    let invalid = || {
        let detail =
            format!("{field} is {text:?}: must be a duration such as 10s, 2m, 1h30m or 7d");
        Problem::invalid(field, detail)
    };
    let text = text.trim();
    if let Ok(seconds) = text.parse() {
        return Ok(Duration::from_secs(seconds));
    }
    let (mut total, mut number) = (0_u64, String::new());
    for c in text.chars() {
        let unit = match c {
            '0'..='9' => {
                number.push(c);
                continue;
            }
            's' => 1,
            'm' => 60,
            'h' => 60 * 60,
            'd' => 24 * 60 * 60,
            _ => return Err(invalid()),
        };
        let count: u64 = number.parse().map_err(|_| invalid())?;
        let part = count.checked_mul(unit).ok_or_else(invalid)?;
        total = total.checked_add(part).ok_or_else(invalid)?;
        number.clear();
    }
    match text.is_empty() || !number.is_empty() {
        true => Err(invalid()),
        false => Ok(Duration::from_secs(total)),
    }
}

/// What a formula for delays gives: milliseconds, where `retried` is the number of retries before.
pub fn retry_delay(formula: &str, retried: u32) -> Result<Duration, Problem> {
    let invalid = |why: String| {
        let detail = format!("Upstash-Retry-Delay is {formula:?}: {why}");
        Problem::invalid("Upstash-Retry-Delay", detail)
    };
    if formula.len() > limits::QSTASH_FORMULA_BYTES_MAX {
        let most = limits::QSTASH_FORMULA_BYTES_MAX;
        let detail = format!("Upstash-Retry-Delay must have at most {most} bytes");
        return Err(Problem::invalid("Upstash-Retry-Delay", detail));
    }
    let mut parser = Parser {
        rest: formula,
        retried: f64::from(retried),
        depth: 0,
    };
    let millis = parser.sum().map_err(|why| invalid(why.to_owned()))?;
    if !parser.rest.trim().is_empty() {
        return Err(invalid(format!("unexpected {:?}", parser.rest.trim())));
    }
    if millis.is_nan() {
        return Err(invalid(format!("is no number if retried is {retried}")));
    }
    let seconds = (millis / 1_000.0).clamp(0.0, DELAY_MAX.as_secs_f64());
    Ok(Duration::from_secs_f64(seconds))
}

struct Parser<'a> {
    rest: &'a str,
    retried: f64,
    depth: usize,
}

type Number = Result<f64, &'static str>;

impl Parser<'_> {
    fn take(&mut self, c: char) -> bool {
        let rest = self.rest.trim_start().strip_prefix(c);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn sum(&mut self) -> Number {
        self.depth += 1;
        if self.depth > limits::QSTASH_FORMULA_DEPTH_MAX {
            return Err("is nested too deeply");
        }
        let mut value = self.product()?;
        loop {
            if self.take('+') {
                value += self.product()?;
            } else if self.take('-') {
                value -= self.product()?;
            } else {
                self.depth -= 1;
                return Ok(value);
            }
        }
    }

    fn product(&mut self) -> Number {
        let mut value = self.factor()?;
        loop {
            if self.take('*') {
                value *= self.factor()?;
            } else if self.take('/') {
                value /= self.factor()?;
            } else if self.take('%') {
                value %= self.factor()?;
            } else {
                return Ok(value);
            }
        }
    }

    fn factor(&mut self) -> Number {
        let mut sign = 1.0;
        while self.take('-') {
            sign = -sign;
        }
        if self.take('(') {
            let value = self.sum()?;
            return self.closed(sign * value);
        }
        let rest = self.rest.trim_start();
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        self.rest = after;
        if word == "retried" {
            return Ok(sign * self.retried);
        }
        if word.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            let number = word.parse::<f64>();
            return number.map(|it| sign * it).map_err(|_| "has a wrong number");
        }
        if word.is_empty() || !self.take('(') {
            return Err("must be numbers, retried, + - * / %, brackets and functions");
        }
        let value = self.function(word)?;
        self.closed(sign * value)
    }

    fn closed(&mut self, value: f64) -> Number {
        match self.take(')') {
            true => Ok(value),
            false => Err("lacks a closing bracket"),
        }
    }

    fn function(&mut self, name: &str) -> Number {
        let first = self.sum()?;
        let one: Option<fn(f64) -> f64> = match name {
            "sqrt" => Some(f64::sqrt),
            "abs" => Some(f64::abs),
            "exp" => Some(f64::exp),
            "floor" => Some(f64::floor),
            "ceil" => Some(f64::ceil),
            "round" => Some(f64::round),
            _ => None,
        };
        if let Some(function) = one {
            return Ok(function(first));
        }
        let two: fn(f64, f64) -> f64 = match name {
            "pow" => f64::powf,
            "min" => f64::min,
            "max" => f64::max,
            _ => return Err("has an unknown function"),
        };
        if !self.take(',') {
            return Err("has a function that lacks its second value");
        }
        Ok(two(first, self.sum()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_numbers_with_units() {
        for (text, seconds) in [
            ("10s", 10),
            ("90", 90),
            ("1h30m3s", 5_403),
            ("7d", 7 * 24 * 60 * 60),
            ("0s", 0),
        ] {
            let read = duration("Upstash-Delay", text).unwrap();
            assert_eq!(read.as_secs(), seconds, "{text}");
        }
        for text in ["", "s", "10x", "1h30", "-5s", "99999999999999999999d"] {
            assert!(duration("Upstash-Delay", text).is_err(), "{text}");
        }
    }

    #[test]
    fn formulas_are_calculated_for_each_retry() {
        for (formula, retried, millis) in [
            ("1000", 0, 1_000),
            ("1000 * (1 + retried)", 2, 3_000),
            ("pow(2, retried)", 10, 1_024),
            ("max(10, pow(2, retried))", 2, 10),
            ("min(5000, 1000 + -500)", 0, 500),
            ("round(sqrt(abs(-16.4)))", 0, 4),
            ("floor(7 / 2) + ceil(0.5) - 7 % 4", 0, 1),
            ("exp(0)", 0, 1),
            ("-1000", 0, 0),
        ] {
            let delay = retry_delay(formula, retried).unwrap();
            assert_eq!(delay.as_millis(), millis, "{formula}");
        }
        assert_eq!(retry_delay("pow(10, 300)", 0).unwrap(), DELAY_MAX);
        let deep = "(".repeat(100);
        for formula in [
            "", "1 +", "(1", "1)", "two", "pow(2)", "run(1)", "0 / 0", "1.2.3", "1 2", &deep,
        ] {
            assert!(retry_delay(formula, 0).is_err(), "{formula}");
        }
    }
}
