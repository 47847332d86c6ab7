//! When a changed gate applies.

use steadfast_core::{Gate, GateDefaults, GateLimits, GateScope, Payload};

use super::flow::{at_most, gate, gates};
use crate::conformance::fixture::Fixture;
use crate::{Document, DocumentKind, GateSettings, Outbox};

pub async fn a_changed_gate_applies_to_the_next_claim(f: Fixture) {
    f.enqueue(f.jobs(3)).await;
    assert_eq!(f.claim(1).await.len(), 1, "the gates are known");
    let one = gate(None, GateScope::Queue, "default", at_most(1));
    let save = |revision, gate: &Gate| {
        let document = gate_document(gate, revision);
        f.store.save_document(document, Outbox::default())
    };
    save(0, &one).await.unwrap();
    assert_eq!(f.claim(10).await.len(), 0);
    let limits = at_most(2);
    let two = Gate {
        limits,
        ..one.clone()
    };
    save(1, &two).await.unwrap();
    assert_eq!(f.claim(10).await.len(), 1);
    assert_eq!(f.store.gates().await.unwrap().own(), [two]);
    let id = one.id.to_string();
    let deleted = f
        .store
        .delete_document(DocumentKind::Gate, id, None, None)
        .await;
    assert!(deleted.unwrap());
    assert_eq!(f.claim(10).await.len(), 1);
}

pub async fn a_stored_gate_overrides_one_of_the_program(f: Fixture) {
    f.enqueue(f.jobs(6)).await;
    let named = gate(None, GateScope::Queue, "default", at_most(2));
    let kinds = GateLimits {
        max_running: Some(3),
        ..GateLimits::default()
    };
    f.store.set_gate_settings(GateSettings {
        defaults: GateDefaults {
            kind: kinds,
            ..GateDefaults::default()
        },
        gates: vec![named.clone()],
    });
    assert_eq!(f.claim(10).await.len(), 2);
    assert_eq!(f.store.gates().await.unwrap().own(), [named]);
    // It is raised, and then the default of its kind closes.
    let raised = gate(None, GateScope::Queue, "default", at_most(5));
    f.use_gates(&gates([raised.clone()])).await;
    assert_eq!(f.claim(10).await.len(), 1);
    assert_eq!(f.store.gates().await.unwrap().own(), [raised]);
    f.store.set_gate_settings(GateSettings::default());
    assert_eq!(f.claim(10).await.len(), 2);
}

/// How a gate is stored, in place of one of this revision.
pub(crate) fn gate_document(gate: &Gate, revision: u64) -> Document {
    Document {
        kind: DocumentKind::Gate,
        id: gate.id.to_string(),
        body: Payload::encode(gate).unwrap(),
        revision,
    }
}
