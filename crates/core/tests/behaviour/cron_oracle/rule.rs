//! A random rule that knows two things: its text, and whether a local time matches.
//!
//! The second does not use the first, so the parser is under test as well.

use std::fmt::Write as _;

use jiff::civil::{Date, Weekday};

/// A small generator of our own, so that a seed means the same for ever.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number in `low..=high`.
    pub fn roll(&mut self, low: i64, high: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        low + i64::try_from(self.0 >> 33).unwrap() % (high - low + 1)
    }

    pub fn one_in(&mut self, n: i64) -> bool {
        self.roll(1, n) == 1
    }
}

#[derive(Clone, Debug)]
enum Item {
    Star,
    StarStep(i64),
    One(i64),
    From(i64, i64),
    Range(i64, i64),
    RangeStep(i64, i64, i64),
}

impl Item {
    fn random(dice: &mut Dice, min: i64, max: i64) -> Self {
        let low = dice.roll(min, max);
        let high = dice.roll(low, max);
        let step = dice.roll(1, (max - min) / 2);
        match dice.roll(1, 10) {
            1..=6 => Self::One(low),
            7 => Self::From(low, step),
            8 | 9 => Self::Range(low, high),
            _ => Self::RangeStep(low, high, step),
        }
    }

    fn matches(&self, value: i64, min: i64) -> bool {
        match *self {
            Self::Star => true,
            Self::StarStep(step) => (value - min) % step == 0,
            Self::One(one) => value == one,
            Self::From(low, step) => value >= low && (value - low) % step == 0,
            Self::Range(low, high) => (low..=high).contains(&value),
            Self::RangeStep(low, high, step) => {
                (low..=high).contains(&value) && (value - low) % step == 0
            }
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Star => "*".to_owned(),
            Self::StarStep(step) => format!("*/{step}"),
            Self::One(one) => one.to_string(),
            Self::From(low, step) => format!("{low}/{step}"),
            Self::Range(low, high) => format!("{low}-{high}"),
            Self::RangeStep(low, high, step) => format!("{low}-{high}/{step}"),
        }
    }
}

/// A field of plain numbers.
#[derive(Clone, Debug)]
struct Plain {
    min: i64,
    items: Vec<Item>,
}

impl Plain {
    /// `stars` in ten are open; the others are drawn from `low..=high`.
    fn random(
        dice: &mut Dice,
        stars: i64,
        (min, max): (i64, i64),
        (low, high): (i64, i64),
    ) -> Self {
        let items = if dice.roll(1, 10) <= stars {
            if dice.one_in(3) {
                vec![Item::StarStep(dice.roll(1, (max - min) / 2))]
            } else {
                vec![Item::Star]
            }
        } else {
            let count = if dice.one_in(3) { dice.roll(2, 3) } else { 1 };
            (0..count).map(|_| Item::random(dice, low, high)).collect()
        };
        Self { min, items }
    }

    fn only(value: i64) -> Self {
        Self {
            min: 0,
            items: vec![Item::One(value)],
        }
    }

    fn matches(&self, value: i64) -> bool {
        self.items.iter().any(|item| item.matches(value, self.min))
    }

    fn is_open(&self) -> bool {
        matches!(self.items[0], Item::Star | Item::StarStep(_))
    }

    fn text(&self) -> String {
        self.items
            .iter()
            .map(Item::text)
            .collect::<Vec<_>>()
            .join(",")
    }
}

#[derive(Clone, Debug)]
enum Special {
    Last,
    BeforeLast(i64),
    LastWeekday,
    Nearest(i64),
    Nth(i64, i64),
    LastOf(i64),
}

impl Special {
    fn matches(&self, date: Date) -> bool {
        let day = i64::from(date.day());
        let days = i64::from(date.days_in_month());
        let weekday = i64::from(date.weekday().to_sunday_zero_offset());
        match *self {
            Self::Last => day == days,
            Self::BeforeLast(n) => day == days - n,
            Self::LastWeekday => Some(date) == nearest_weekday(date, days),
            Self::Nearest(target) => Some(date) == nearest_weekday(date, target),
            Self::Nth(of, n) => weekday == of % 7 && (day + 6) / 7 == n,
            Self::LastOf(of) => weekday == of % 7 && day + 7 > days,
        }
    }

    fn text(&self, dice: &mut Dice) -> String {
        const NAMES: [&str; 8] = ["SUN", "MON", "tue", "WED", "Thu", "FRI", "SAT", "SUN"];
        let name = |of: i64| NAMES[usize::try_from(of).unwrap()];
        match *self {
            Self::Last => "L".to_owned(),
            Self::BeforeLast(n) => format!("L-{n}"),
            Self::LastWeekday => "LW".to_owned(),
            Self::Nearest(day) => format!("{day}W"),
            Self::Nth(of, n) if dice.one_in(2) => format!("{}#{n}", name(of)),
            Self::Nth(of, n) => format!("{of}#{n}"),
            Self::LastOf(of) if dice.one_in(2) => format!("{}L", name(of)),
            Self::LastOf(of) => format!("{of}#L"),
        }
    }
}

/// The closest Monday to Friday among all days of the month, by trying each.
fn nearest_weekday(date: Date, target: i64) -> Option<Date> {
    let days = i64::from(date.days_in_month());
    if target > days {
        return None;
    }
    (1..=days)
        .map(|day| Date::new(date.year(), date.month(), i8::try_from(day).unwrap()).unwrap())
        .filter(|day| !matches!(day.weekday(), Weekday::Saturday | Weekday::Sunday))
        .min_by_key(|day| (i64::from(day.day()) - target).abs())
}

#[derive(Clone, Debug)]
pub struct RandomRule {
    second: Option<Plain>,
    minute: Plain,
    hour: Plain,
    day_of_month: Plain,
    month: Plain,
    day_of_week: Plain,
    /// Added to the list of the field that it belongs to, with its text.
    special: Option<(Special, String)>,
    pub text: String,
}

impl RandomRule {
    /// Mostly at night, when clocks change, and mostly on every day.
    pub fn random(dice: &mut Dice, seconds: bool) -> Self {
        let mut rule = Self {
            second: seconds.then(|| Plain::random(dice, 2, (0, 59), (0, 59))),
            minute: match dice.roll(1, 4) {
                1 => Plain::only(30 * dice.roll(0, 1)),
                _ => Plain::random(dice, 2, (0, 59), (0, 59)),
            },
            hour: if dice.one_in(2) {
                Plain::random(dice, 2, (0, 23), (0, 4))
            } else {
                Plain::random(dice, 4, (0, 23), (0, 23))
            },
            day_of_month: Plain::random(dice, 8, (1, 31), (1, 31)),
            month: Plain::random(dice, 9, (1, 12), (1, 12)),
            day_of_week: Plain::random(dice, 8, (0, 6), (0, 6)),
            special: None,
            text: String::new(),
        };
        if dice.one_in(5) {
            let special = match dice.roll(1, 6) {
                1 => Special::Last,
                2 => Special::BeforeLast(dice.roll(1, 30)),
                3 => Special::LastWeekday,
                4 => Special::Nearest(dice.roll(1, 31)),
                5 => Special::Nth(dice.roll(0, 7), dice.roll(1, 5)),
                _ => Special::LastOf(dice.roll(0, 7)),
            };
            let text = special.text(dice);
            rule.special = Some((special, text));
        }
        rule.text = rule.render();
        rule
    }

    fn render(&self) -> String {
        let mut text = String::new();
        if let Some(second) = &self.second {
            write!(text, "{} ", second.text()).unwrap();
        }
        let (mut of_month, mut of_week) = (self.day_of_month.text(), self.day_of_week.text());
        if let Some((special, word)) = &self.special {
            let column = match special {
                Special::Nth(..) | Special::LastOf(_) => &mut of_week,
                _ => &mut of_month,
            };
            // A special day alone in its field, or after the plain ones of a list.
            if column.starts_with('*') {
                column.clone_from(word);
            } else {
                write!(column, ",{word}").unwrap();
            }
        }
        let (minute, hour, month) = (self.minute.text(), self.hour.text(), self.month.text());
        write!(text, "{minute} {hour} {of_month} {month} {of_week}").unwrap();
        text
    }

    /// Vixie's word for it is "wildcard".
    pub fn is_interval(&self) -> bool {
        let second = self.second.as_ref().is_some_and(Plain::is_open);
        second || self.minute.is_open() || self.hour.is_open()
    }

    /// `time` is the second of the day.
    pub fn matches_time(&self, time: i64) -> bool {
        let (hour, minute, second) = (time / 3_600, time / 60 % 60, time % 60);
        self.hour.matches(hour)
            && self.minute.matches(minute)
            && (self.second.as_ref()).map_or(second == 0, |field| field.matches(second))
    }

    pub fn matches_day(&self, date: Date) -> bool {
        let weekday = i64::from(date.weekday().to_sunday_zero_offset());
        let mut month_open = self.day_of_month.is_open();
        let mut week_open = self.day_of_week.is_open();
        let mut of_month = self.day_of_month.matches(i64::from(date.day()));
        let mut of_week = self.day_of_week.matches(weekday);
        if let Some((special, _)) = &self.special {
            let (open, matches) = match special {
                Special::Nth(..) | Special::LastOf(_) => (&mut week_open, &mut of_week),
                _ => (&mut month_open, &mut of_month),
            };
            *matches = special.matches(date) || (!*open && *matches);
            *open = false;
        }
        self.month.matches(i64::from(date.month()))
            && if month_open || week_open {
                of_month && of_week
            } else {
                of_month || of_week
            }
    }
}
