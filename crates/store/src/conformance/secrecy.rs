//! A store with one word in every value that is encrypted, for tests that search its files for it.

use std::sync::Arc;

use steadfast_core::{
    Actor, AuditId, AuditRecord, EventType, JobId, KeyRotation, LogLevel, LogLine, LogLines,
    Operation, OperationId, OperationStatus, Outcome, Payload, PolicyPatch, Timestamp, Webhook,
    WebhookSecret, WebhookTarget,
};

use super::fixture::{Fixture, json, step};
use crate::{
    AttemptOwner, Document, DocumentKind, JobFilter, NewLogLines, OperationChange, OperationRecord,
    OperationStep, Outbox,
};

fn webhook(word: &str) -> Webhook {
    Webhook {
        target: WebhookTarget::Url {
            url: format!("https://example.com/{word}"),
            secret: Some(WebhookSecret::new(word)),
        },
        events: EventType::OF_JOBS.to_vec(),
        retry: PolicyPatch::default(),
    }
}

impl Fixture {
    /// Writes the word into payloads, a webhook, a result, a step, a log, a document and a schedule. Answers the
    /// job that has ended.
    pub async fn write_everywhere(&self, word: &str) -> JobId {
        let text = format!(r#"{{"word": "{word}"}}"#);
        let large = format!(r#"{{"word": "{word}{}"}}"#, "x".repeat(100_000));
        let job = self.job_with(|job| {
            job.payload = json(&text);
            job.webhook = Some(Arc::new(webhook(word)));
        });
        let claim = self.claimed(job).await;
        let (id, fence) = (claim.job().id, claim.fence());
        self.save_step(id, step("charge"), json(&text)).await;
        let line = LogLine {
            at: Timestamp::EPOCH,
            level: LogLevel::Info,
            text: word.to_owned(),
        };
        let lines = LogLines {
            from: 0,
            lines: vec![line],
        };
        let lines = NewLogLines {
            job: id,
            fence,
            lines,
        };
        assert_eq!(self.store.append_logs(vec![lines]).await.unwrap(), [true]);
        let output = Some(json(&text));
        self.end(claim, Outcome::Success { output }).await;
        self.enqueue_one(self.job_with(|job| job.payload = json(&large)))
            .await;
        // Events of jobs have the messages of failures.
        for kind in [DocumentKind::Endpoint, DocumentKind::Feed] {
            let document = Document {
                kind,
                id: "ep_1".to_owned(),
                revision: 0,
                body: json(&text),
            };
            self.store
                .save_document(document, Outbox::default())
                .await
                .unwrap();
        }
        let mut schedule = self.schedule("nightly");
        schedule.template.payload = json(&text);
        self.store
            .save_schedule(schedule, None, None)
            .await
            .unwrap();
        id
    }

    /// The word, wherever [`write_everywhere`](Self::write_everywhere) has put it for this job.
    pub async fn reads_everywhere(&self, id: JobId, word: &str) {
        let has_word = |payload: &Payload| payload.as_str().contains(word);
        let job = self.read(id).await;
        assert!(has_word(&job.payload));
        assert_eq!(job.webhook.as_deref(), Some(&webhook(word)));
        assert!(has_word(
            &self.step_result(id, step("charge")).await.unwrap()
        ));
        let attempts = self.attempts(AttemptOwner::Job(id)).await;
        assert!(attempts[0].output.as_ref().is_some_and(has_word));
        let logs = self.store.attempt_logs(id, 1, 0).await.unwrap();
        let lines = LogLines::from(logs.into_iter().next().unwrap().log);
        assert_eq!(lines.lines[0].text, word);
        let large = self.claim(1).await.remove(0);
        assert!(has_word(&large.job().payload));
        let endpoint = self
            .store
            .get_document(DocumentKind::Endpoint, "ep_1".to_owned())
            .await
            .unwrap();
        assert!(has_word(&endpoint.unwrap().body));
    }

    /// Stores a rotation of the encryption key.
    pub async fn create_rotation(&self, rotation: KeyRotation) -> OperationRecord {
        let (now, by) = (self.now(), Actor::named("cli"));
        let record = OperationRecord {
            id: OperationId::new(now, self.next_number()),
            tenant: None,
            by: by.clone(),
            created_at: now,
            finished_at: None,
            filter: JobFilter::default(),
            is_named: false,
            operation: Operation::rotate_encryption(rotation, now),
            revision: 0,
        };
        let audit = AuditId::new(now, self.next_number());
        let audit = AuditRecord::new(audit, now, by, "encryption.rotate", record.id.to_string());
        let create = self
            .store
            .create_operation(record.clone(), Vec::new(), 10, audit);
        assert!(create.await.unwrap());
        record
    }

    /// Works on one part of a rotation.
    pub async fn work_rotation(&self, record: &OperationRecord) -> OperationRecord {
        let revision = record.revision;
        let step = OperationStep::Rotate { revision };
        let work = self.store.change_operation(record.id, step);
        match work.await.unwrap() {
            OperationChange::Done(record) => *record,
            other => panic!("{other:?}"),
        }
    }

    /// Works on a rotation until it has ended.
    pub async fn finish_rotation(&self, mut record: OperationRecord) -> Operation {
        while record.operation.progress.status == OperationStatus::Running {
            record = self.work_rotation(&record).await;
        }
        record.operation
    }

    /// Encrypts everything with the newest key of the store.
    pub async fn rotate(&self) -> Operation {
        let rotation = self.store.new_rotation().await.unwrap().unwrap();
        let record = self.create_rotation(rotation).await;
        self.finish_rotation(record).await
    }
}
