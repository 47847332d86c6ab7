//! Where the flow keys of a tenant, queue, kind or destination are, so that whatever names some does
//! not walk over the others.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    hash::Hash,
};

use steadfast_core::{
    ConcurrencyKey, Destination, FlowKey, GateId, GateScope, Kind, Queue, Tenant,
};

use super::{FlowKeyId, request::ClaimRequest};

type Lists<N> = HashMap<N, HashSet<FlowKeyId>>;

#[derive(Default)]
pub(super) struct FlowKeyLists {
    by_tenant: Lists<Tenant>,
    by_queue: Lists<Queue>,
    by_kind: Lists<Kind>,
    by_destination: Lists<Destination>,
    /// By the number of the concurrency key. There may be as many as flow keys, so they lie in one
    /// tree.
    by_key: BTreeSet<(i64, FlowKeyId)>,
}

impl FlowKeyLists {
    pub(super) fn add(&mut self, flow_key: &FlowKey, id: FlowKeyId) {
        add(&mut self.by_tenant, &flow_key.tenant, id);
        add(&mut self.by_queue, &flow_key.queue, id);
        add(&mut self.by_kind, &flow_key.kind, id);
        if let Some(destination) = &flow_key.destination {
            add(&mut self.by_destination, destination, id);
        }
        self.by_key
            .extend(key_number(flow_key).map(|key| (key, id)));
    }

    pub(super) fn remove(&mut self, flow_key: &FlowKey, id: FlowKeyId) {
        remove(&mut self.by_tenant, &flow_key.tenant, id);
        remove(&mut self.by_queue, &flow_key.queue, id);
        remove(&mut self.by_kind, &flow_key.kind, id);
        if let Some(destination) = &flow_key.destination {
            remove(&mut self.by_destination, destination, id);
        }
        if let Some(key) = key_number(flow_key) {
            self.by_key.remove(&(key, id));
        }
    }

    pub(super) fn of_tenant(&self, tenant: &Tenant) -> impl Iterator<Item = &FlowKeyId> {
        self.by_tenant.get(tenant).into_iter().flatten()
    }

    pub(super) fn count_of(&self, tenant: &Tenant) -> usize {
        self.by_tenant.get(tenant).map_or(0, HashSet::len)
    }

    pub(super) fn of_destination(
        &self,
        destination: &Destination,
    ) -> impl Iterator<Item = &FlowKeyId> {
        self.by_destination.get(destination).into_iter().flatten()
    }

    /// The flow keys that pass a gate. That of a tenant costs no more than the tenant has.
    pub(super) fn at_gate(&self, gate: &GateId) -> Vec<FlowKeyId> {
        let key = gate.key.as_str();
        let named = match gate.scope {
            GateScope::Tenant => of_name(Tenant::new(key), &self.by_tenant),
            GateScope::Queue => of_name(Queue::new(key), &self.by_queue),
            GateScope::Kind => of_name(Kind::new(key), &self.by_kind),
            GateScope::Destination => of_name(Destination::new(key), &self.by_destination),
            GateScope::Key => {
                let key = ConcurrencyKey::new(key).ok();
                let Some((tenant, key)) = gate.tenant.as_ref().zip(key) else {
                    return Vec::new();
                };
                let key = FlowKey::key_number(tenant, &key);
                let (first, last) = (FlowKeyId::MIN, FlowKeyId::MAX);
                let found = self.by_key.range((key, first)..=(key, last));
                return found.map(|(_, id)| *id).collect();
            }
        };
        let Some(named) = named else {
            return Vec::new();
        };
        let Some(tenant) = &gate.tenant else {
            return named.iter().copied().collect();
        };
        let Some(own) = self.by_tenant.get(tenant) else {
            return Vec::new();
        };
        let (few, many) = match named.len() < own.len() {
            true => (named, own),
            false => (own, named),
        };
        few.intersection(many).copied().collect()
    }

    /// At most how many flow keys a request wants; `None` if it names nothing.
    pub(super) fn count(&self, request: &ClaimRequest) -> Option<usize> {
        fn count<N: Hash + Eq>(names: &[N], lists: &Lists<N>) -> Option<usize> {
            let found = names.iter().filter_map(|name| lists.get(name));
            (!names.is_empty()).then(|| found.map(HashSet::len).sum())
        }
        count(request.tenant.as_slice(), &self.by_tenant)
            .into_iter()
            .chain(count(&request.queues, &self.by_queue))
            .chain(count(&request.kinds, &self.by_kind))
            .min()
    }

    /// Flow keys among which are all that a request wants: the shortest list that its names lead to;
    /// `None` if it names nothing.
    pub(super) fn candidates(&self, request: &ClaimRequest) -> Option<Vec<FlowKeyId>> {
        named(request.tenant.as_slice(), &self.by_tenant)
            .into_iter()
            .chain(named(&request.queues, &self.by_queue))
            .chain(named(&request.kinds, &self.by_kind))
            .min_by_key(Vec::len)
    }
}

fn add<N: Hash + Eq + Clone>(lists: &mut Lists<N>, name: &N, id: FlowKeyId) {
    lists.entry(name.clone()).or_default().insert(id);
}

fn remove<N: Hash + Eq>(lists: &mut Lists<N>, name: &N, id: FlowKeyId) {
    if let Some(list) = lists.get_mut(name) {
        list.remove(&id);
        if list.is_empty() {
            lists.remove(name);
        }
    }
}

fn named<N: Hash + Eq>(names: &[N], lists: &Lists<N>) -> Option<Vec<FlowKeyId>> {
    let distinct: HashSet<&N> = names.iter().collect();
    let found = distinct.into_iter().filter_map(|name| lists.get(name));
    (!names.is_empty()).then(|| found.flatten().copied().collect())
}

fn of_name<N: Hash + Eq, E>(name: Result<N, E>, lists: &Lists<N>) -> Option<&HashSet<FlowKeyId>> {
    name.ok().and_then(|name| lists.get(&name))
}

fn key_number(flow_key: &FlowKey) -> Option<i64> {
    let key = flow_key.concurrency_key.as_ref()?;
    Some(FlowKey::key_number(&flow_key.tenant, key))
}
