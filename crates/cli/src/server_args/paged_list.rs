//! Lists that the API answers with in pages, put together again.

use steadfast_api::{
    AlertList, DestinationList, EndpointList, GateList, KeptCertificateList, KeyList, NodeList,
    QueueList, SecretList, StatsBody, WorkerList,
};

/// A page of a list, and the list that its pages add up to.
pub trait PagedList {
    /// Takes out where the next page begins; `None` at the end of the list.
    fn take_cursor(&mut self) -> Option<String>;

    /// Puts the page that follows behind those before it.
    fn append(&mut self, page: Self);
}

macro_rules! paged_lists {
    ($($list:ident { $items:ident })+) => {
        $(impl PagedList for $list {
            fn take_cursor(&mut self) -> Option<String> {
                self.next_cursor.take()
            }

            fn append(&mut self, page: Self) {
                self.$items.extend(page.$items);
                self.next_cursor = page.next_cursor;
            }
        })+
    };
}

paged_lists! {
    AlertList { alerts }
    DestinationList { destinations }
    EndpointList { endpoints }
    GateList { gates }
    KeptCertificateList { certificates }
    KeyList { keys }
    NodeList { nodes }
    QueueList { queues }
    SecretList { secrets }
    StatsBody { lanes }
    WorkerList { workers }
}
