//! OpenAPI schemas of core's types, which know nothing of OpenAPI.
//!
//! Each type here stands for a type of [`steadfast_core`] in a `value_type` and is never built.
//! Lists of words are read from core, so that a new word cannot be forgotten here.

use serde_json::json;
use steadfast_core::{
    AlertRule, AlertStatus, AlertSubject, AlertUnit, Backoff, Jitter, Preset, limits,
};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        Ref, RefOr,
        schema::{
            AdditionalProperties, AnyOf, AnyOfBuilder, ArrayBuilder, KnownFormat, Object,
            ObjectBuilder, OneOfBuilder, Schema, SchemaFormat, SchemaType, Type,
        },
    },
};

use crate::duration::DurationText;

macro_rules! schema {
    ($(#[$doc:meta])* $schema:ident as $name:literal $(uses [$($inner:ty),+])?, $build:expr) => {
        $(#[$doc])*
        #[derive(Debug)]
        #[non_exhaustive]
        pub struct $schema;

        impl PartialSchema for $schema {
            fn schema() -> RefOr<Schema> {
                $build.into()
            }
        }

        impl ToSchema for $schema {
            fn name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
                let _ = &schemas;
                $($(
                    schemas.push((<$inner>::name().into_owned(), <$inner>::schema()));
                    <$inner>::schemas(schemas);
                )+)?
            }
        }
    };
}

fn words(all: serde_json::Value) -> Object {
    one_of(all).build()
}

fn one_of(all: serde_json::Value) -> ObjectBuilder {
    let all = all.as_array().cloned().unwrap_or_default();
    ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(all))
}

mod flow;

pub use flow::*;

schema!(
    /// Of [`Unique`](steadfast_core::Unique).
    UniqueSchema as "Unique",
    ObjectBuilder::new()
        .property(
            "key",
            ObjectBuilder::new()
                .schema_type(Type::String)
                .min_length(Some(1))
                .max_length(Some(limits::UNIQUE_KEY_BYTES_MAX))
                .description(Some("The unique key, such as `report:7`.")),
        )
        .required("key")
        .property(
            "while",
            one_of(json!(steadfast_core::UniqueScope::ALL))
                .description(Some("How long the job stays unique: until it starts, or until it ends; `unfinished` by default.")),
        )
        .property(
            "onConflict",
            one_of(json!(steadfast_core::ConflictAction::ALL)).description(Some(
                "What to do with a duplicate: return the existing job, update it, or fail with 409; `keep` by default.",
            )),
        )
        .additional_properties(Some(AdditionalProperties::FreeForm(false)))
        .build()
);

schema!(
    /// Of [`ConfirmSettings`](steadfast_core::ConfirmSettings).
    ConfirmSchema as "Confirm" uses [AnswerPatternSchema, HeaderSourceSchema, DurationText],
    ObjectBuilder::new()
        .description(Some("The question whether an attempt took effect."))
        .property(
            "url",
            ObjectBuilder::new().schema_type(Type::String).description(Some(
                "Address that an HTTP job asks with a GET; required for those, omitted for others. \
                 `{jobId}` and `{idempotencyKey}` stand for those of the job.",
            )),
        )
        .property(
            "headers",
            ObjectBuilder::new()
                .schema_type(Type::Object)
                .additional_properties(Some(reference::<HeaderSourceSchema>()))
                .description(Some("Headers of the GET, with the same placeholders.")),
        )
        .property("timeout", reference::<DurationText>())
        .property("done", reference::<AnswerPatternSchema>())
        .property("notDone", reference::<AnswerPatternSchema>())
        .property("also", rule_match())
        .additional_properties(Some(AdditionalProperties::FreeForm(false)))
        .examples([json!({"url": "https://api.example.com/orders/{jobId}", "timeout": "5s"})])
        .build()
);

schema!(
    /// Of [`AnswerPattern`](steadfast_core::AnswerPattern).
    AnswerPatternSchema as "AnswerPattern",
    ObjectBuilder::new()
        .description(Some(
            "Responses with one meaning. `notDone` is compared first, and is status 404 and 410 by \
             default; `done` is status 2xx by default. Any other response is `unknown`.",
        ))
        .property("status", one_or_many(status()))
        .property(
            "body",
            ObjectBuilder::new()
                .schema_type(Type::String)
                .max_length(Some(limits::RULE_PATTERN_BYTES_MAX))
                .description(Some("Pattern for the whole body; * matches any characters")),
        )
        .additional_properties(Some(AdditionalProperties::FreeForm(false)))
        .examples([json!({"status": 200, "body": "*\"state\":\"paid\"*"})])
        .build()
);

schema!(
    /// Of [`Preset`].
    PresetSchema as "Preset",
    words(json!(Preset::ALL))
);

fn reference<T: ToSchema>() -> Ref {
    Ref::from_schema_name(T::name())
}

fn text() -> Object {
    Object::with_type(Type::String)
}

fn time() -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
}

fn time_or_null() -> ObjectBuilder {
    time().schema_type(SchemaType::from_iter([Type::String, Type::Null]))
}

fn number(kind: Type, least: f64, most: f64) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(kind)
        .minimum(Some(least))
        .maximum(Some(most))
}

fn text_or_null() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(SchemaType::from_iter([Type::String, Type::Null]))
}

fn one_or_many(one: impl Into<Schema>) -> OneOfBuilder {
    let one: Schema = one.into();
    let many = ArrayBuilder::new()
        .items(RefOr::T(one.clone()))
        .min_items(Some(1));
    OneOfBuilder::new().item(one).item(many)
}

impl PartialSchema for DurationText {
    fn schema() -> RefOr<Schema> {
        let text = ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some("^([0-9]{1,6}(d|h|m|s|ms|us))+$"))
            .examples([json!("30s")]);
        let millis = ObjectBuilder::new()
            .schema_type(SchemaType::from(Type::Integer))
            .minimum(Some(0));
        OneOfBuilder::new()
            .item(text)
            .item(millis)
            .description(Some(
                "Text such as 30s, 5m or 1h30m, or a number of milliseconds",
            ))
            .into()
    }
}

impl ToSchema for DurationText {
    fn name() -> std::borrow::Cow<'static, str> {
        "Duration".into()
    }
}

schema!(
    /// Of [`HeaderSource`](steadfast_core::HeaderSource).
    HeaderSourceSchema as "HeaderSource" uses [SecretReferenceSchema],
    OneOfBuilder::new()
        .item(text())
        .item(reference::<SecretReferenceSchema>())
        .description(Some("The value of a header: a text, or a named secret."))
);

schema!(
    /// Of [`SecretReference`](steadfast_core::SecretReference).
    SecretReferenceSchema as "SecretReference",
    ObjectBuilder::new()
        .description(Some(
            "A named secret of the same tenant; its value is looked up when the request is sent.",
        ))
        .property(
            "secret",
            ObjectBuilder::new()
                .schema_type(Type::String)
                .min_length(Some(1))
                .max_length(Some(limits::NAME_BYTES_MAX))
                .description(Some("Name of the secret.")),
        )
        .required("secret")
        .property(
            "prefix",
            ObjectBuilder::new()
                .schema_type(Type::String)
                .max_length(Some(limits::SECRET_PREFIX_BYTES_MAX))
                .description(Some("Text in front of the value, such as `Bearer `.")),
        )
        .additional_properties(Some(AdditionalProperties::FreeForm(false)))
        .build()
);

schema!(
    /// The name of a kind.
    KindSchema as "Kind",
    ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some(r"^[A-Za-z0-9_.:/\\@#-]+$"))
        .min_length(Some(1))
        .max_length(Some(limits::KIND_BYTES_MAX))
);

schema!(
    /// The name of a queue, a tenant, a schedule or a worker.
    NameSchema as "Name",
    ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some("^[A-Za-z0-9_.:/@-]+$"))
        .min_length(Some(1))
        .max_length(Some(limits::NAME_BYTES_MAX))
);

schema!(
    /// Of [`steadfast_core::FailureFingerprint`].
    FingerprintSchema as "Fingerprint",
    ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some("^[0-9a-f]{16}$"))
        .description(Some("Fingerprint shared by failures with the same cause"))
);

schema!(
    /// Of [`steadfast_core::Failure`].
    FailureSchema as "Failure" uses [FingerprintSchema],
    ObjectBuilder::new()
        .description(Some("The failure"))
        .property("class", text())
        .required("class")
        .property("message", text())
        .required("message")
        .property("httpStatus", Object::with_type(Type::Integer))
        .property("retryAfter", text())
        .property(
            "retryAfterHeader",
            ObjectBuilder::new()
                .schema_type(Type::String)
                .description(Some("The header that requested the wait, if it was not `Retry-After`")),
        )
        .property(
            "trace",
            ObjectBuilder::new()
                .schema_type(Type::String)
                .description(Some("The stack trace; only in the attempts of a job")),
        )
        .property(
            "permanent",
            ObjectBuilder::new()
                .schema_type(Type::Boolean)
                .description(Some("Whether the worker marked the failure as permanent, regardless of its class")),
        )
        .property(
            "unsent",
            ObjectBuilder::new()
                .schema_type(Type::Boolean)
                .description(Some("Whether it is certain that nothing was sent")),
        )
        .property(
            "questions",
            ObjectBuilder::new().schema_type(Type::Integer).description(Some(
                "While it is open whether the attempt took effect: how often that was asked",
            )),
        )
        .property("fingerprint", reference::<FingerprintSchema>())
);

schema!(
    /// Of [`steadfast_core::PolicyPatch`].
    PolicyPatchSchema as "RetryPolicyInput" uses [PresetSchema, PolicyFieldsSchema],
    OneOfBuilder::new()
        .item(reference::<PresetSchema>())
        .item(reference::<PolicyFieldsSchema>())
        .description(Some(
            "A retry policy: a preset name, or an object with any of its fields. Omitted fields \
             come from the next level: schedule, queue, tenant, server."
        ))
);

fn policy_fields() -> ObjectBuilder {
    let retries = f64::from(limits::MAX_RETRIES);
    let duration = reference::<DurationText>;
    let rules = ArrayBuilder::new()
        .items(reference::<RuleSchema>())
        .max_items(Some(limits::RULES_MAX))
        .description(Some("Rules in order; the first match decides"));
    let delays = ArrayBuilder::new()
        .items(duration())
        .description(Some("Explicit delays; the last one repeats"));
    ObjectBuilder::new()
        .property("preset", reference::<PresetSchema>())
        .property(
            "maxRetries",
            number(Type::Integer, 0.0, retries)
                .description(Some("Maximum number of retries after the first attempt")),
        )
        .property(
            "maxAttempts",
            number(Type::Integer, 1.0, retries + 1.0)
                .description(Some("The same as maxRetries + 1")),
        )
        .property("backoff", reference::<Backoff>())
        .property("baseDelay", duration())
        .property(
            "factor",
            number(Type::Number, limits::FACTOR_MIN, limits::FACTOR_MAX)
                .description(Some("Factor of exponential backoff")),
        )
        .property("maxDelay", duration())
        .property("delays", delays)
        .property("jitter", reference::<Jitter>())
        .property("jitterFactor", number(Type::Number, 0.0, 1.0))
        .property("maxElapsed", duration())
        .property("rules", rules)
}

schema!(
    /// Of [`steadfast_core::PolicyPatch`], as an object.
    PolicyFieldsSchema as "RetryPolicyFields"
        uses [PresetSchema, Backoff, Jitter, DurationText, RuleSchema],
    policy_fields()
);

schema!(
    /// Of [`steadfast_core::RetryRule`].
    RuleSchema as "RetryRule" uses [DurationText],
    ObjectBuilder::new()
        .description(Some("A rule: an action for matching failures"))
        .property("match", rule_match())
        .required("match")
        .property("then", rule_action())
        .required("then")
        .examples([
            json!({"match": {"status": [429, "5xx"]}, "then": "retry"}),
            json!({"match": {"class": "validation"}, "then": "fail"}),
            json!({"match": {"message": "*quota*"}, "then": {"retry": "1h"}}),
        ])
);

fn status() -> AnyOf {
    AnyOfBuilder::new()
        .item(number(Type::Integer, 100.0, 599.0))
        .item(text())
        .description(Some("503, \"5xx\" or \"500-504\""))
        .build()
}

fn rule_match() -> AnyOfBuilder {
    let conditions = ObjectBuilder::new()
        .property("class", one_or_many(text()))
        .property("status", one_or_many(status()))
        .property(
            "message",
            ObjectBuilder::new()
                .schema_type(Type::String)
                .description(Some(
                    "Pattern for the whole message; * matches any characters",
                )),
        )
        .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)));
    AnyOfBuilder::new()
        .item(words(json!(["any"])))
        .item(conditions)
        .description(Some(
            "\"any\", or an object with class, status and message; all given fields must match",
        ))
}

fn rule_action() -> AnyOfBuilder {
    let after = ObjectBuilder::new()
        .property("retry", reference::<DurationText>())
        .required("retry")
        .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)));
    AnyOfBuilder::new()
        .item(words(json!(["retry", "fail"])))
        .item(after)
        .description(Some("Retry, fail, or retry after this delay"))
}

schema!(
    /// Of [`steadfast_core::RetryPolicy`].
    PolicySchema as "RetryPolicy" uses [Backoff, Jitter, RuleSchema],
    ObjectBuilder::new()
        .description(Some("The complete effective policy"))
        .property("maxRetries", Object::with_type(Type::Integer))
        .required("maxRetries")
        .property("backoff", reference::<Backoff>())
        .required("backoff")
        .property("baseDelay", text())
        .required("baseDelay")
        .property("factor", Object::with_type(Type::Number))
        .required("factor")
        .property("maxDelay", text())
        .required("maxDelay")
        .property("delays", ArrayBuilder::new().items(text()))
        .property("jitter", reference::<Jitter>())
        .required("jitter")
        .property("jitterFactor", Object::with_type(Type::Number))
        .required("jitterFactor")
        .property("maxElapsed", text())
        .property("rules", ArrayBuilder::new().items(reference::<RuleSchema>()))
);

schema!(
    /// Of [`steadfast_core::AlertState`].
    AlertSchema as "Alert"
    uses [AlertRule, AlertSubject, AlertStatus, AlertUnit, AlertAcknowledgementSchema, FingerprintSchema],
    alert()
);

schema!(
    /// Of [`steadfast_core::AlertAcknowledgement`].
    AlertAcknowledgementSchema as "AlertAcknowledgement",
    ObjectBuilder::new()
        .description(Some("Who works on a firing alert; it sends no reminders"))
        .property("by", text())
        .property("at", time())
        .required("at")
);

fn alert() -> ObjectBuilder {
    let fields: [(&str, RefOr<Schema>); 14] = [
        ("rule", reference::<AlertRule>().into()),
        ("tenant", text().into()),
        ("subject", reference::<AlertSubject>().into()),
        ("status", reference::<AlertStatus>().into()),
        (
            "since",
            time()
                .description(Some("Time of the last change of state"))
                .into(),
        ),
        ("firedAt", time_or_null().into()),
        ("notifiedAt", time_or_null().into()),
        ("resolvedAt", time_or_null().into()),
        ("updatedAt", time().into()),
        ("unit", reference::<AlertUnit>().into()),
        (
            "value",
            ObjectBuilder::new()
                .schema_type(Type::Number)
                .description(Some(
                    "The measured value, in `unit`: a number of jobs, a fraction of attempts from 0 to 1, \
                     or seconds",
                ))
                .into(),
        ),
        (
            "threshold",
            ObjectBuilder::new()
                .schema_type(Type::Number)
                .description(Some("The threshold, in `unit`"))
                .into(),
        ),
        (
            "queue",
            text_or_null()
                .description(Some(
                    "The queue that contributes most to the value",
                ))
                .into(),
        ),
        ("message", text().into()),
    ];
    let object =
        ObjectBuilder::new().description(Some("The state of an alert rule for one tenant"));
    let acknowledged = reference::<AlertAcknowledgementSchema>();
    let object = object.property("acknowledged", acknowledged).property(
        "silencedUntil",
        time().description(Some("No notifications are sent before this time")),
    );
    let object = object.property(
        "destination",
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some("The destination, if the rule is `destination`")),
    );
    let object = object.property("fingerprint", reference::<FingerprintSchema>());
    fields.into_iter().fold(object, |object, (name, schema)| {
        object.property(name, schema).required(name)
    })
}
