//! Every limit of this crate, with its reason.

use std::time::Duration;

/// Text of one answer. A model reads all of it with each later step; this is about 8,000 tokens.
pub const ANSWER_BYTES_MAX: usize = 32 * 1024;
/// One text inside an answer, such as a message, a stack trace or a payload's field.
pub const TEXT_BYTES_MAX: usize = 2 * 1024;
/// Items of a list, if the caller names no limit. A person reads 50; a model pays for each.
pub const ITEMS_DEFAULT: u64 = 20;
/// A message of the protocol. Arguments are names, filters and policies.
pub const REQUEST_BYTES_MAX: usize = 256 * 1024;
/// Name and version of an agent, in the audit log.
pub const AGENT_NAME_BYTES_MAX: usize = 100;
/// How long a dry run may be confirmed: enough to ask a person, too short to be forgotten.
pub const CONFIRM_WITHIN: Duration = Duration::from_secs(300);

const _: () = assert!(TEXT_BYTES_MAX < ANSWER_BYTES_MAX);
