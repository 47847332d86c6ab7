//! Due ranges, and what identifies them.

use steadfast_core::Timestamp;

/// A flow key, as rows name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FlowKeyId {
    /// The number of its lane.
    pub lane: i64,
    /// As [`FlowKey::number`] says.
    pub number: i64,
}

impl FlowKeyId {
    pub(super) const MIN: Self = Self {
        lane: i64::MIN,
        number: i64::MIN,
    };
    pub(super) const MAX: Self = Self {
        lane: i64::MAX,
        number: i64::MAX,
    };
}

/// A priority, first attempts and retries apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Level(u8);

impl Level {
    pub(crate) fn new(priority: u8, is_retry: bool) -> Self {
        Self(priority.saturating_mul(2).saturating_add(is_retry.into()))
    }

    /// As drivers store it.
    pub(crate) fn from_number(number: i64) -> Option<Self> {
        u8::try_from(number).ok().map(Self)
    }

    pub(crate) fn number(self) -> i64 {
        self.0.into()
    }

    pub(crate) fn priority(self) -> u8 {
        self.0 / 2
    }

    pub(crate) fn is_retry(self) -> bool {
        self.0 % 2 == 1
    }
}

/// One level of one flow key: a range of the index of waiting jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct DueRange {
    pub flow_key: FlowKeyId,
    pub level: Level,
}

/// What is known of the first job of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Head {
    /// None waits.
    None,
    /// None is earlier than this.
    At(Timestamp),
    /// Due jobs cannot be taken now, because only a job that is retried may probe the destination, or
    /// the first job of an ordered key is too late. The range is searched again at this time.
    RetryAt(Timestamp),
    /// The first job is due and must not start: another one of its ordered key comes first.
    BlockedByOrder,
}
