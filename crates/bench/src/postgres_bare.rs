//! The yardstick on PostgreSQL: batched SQL on the product's own tables, with nothing around it.

use std::{
    error::Error,
    sync::atomic::{AtomicUsize, Ordering},
};

use steadfast::store::tokio_postgres::{
    self, Client, NoTls, Statement,
    types::{FromSql, IsNull, ToSql, Type, accepts, private::BytesMut, to_sql_checked},
};

/// The statements here are nests of index searches too, and must not be planned otherwise.
const SETTINGS: &str = "SET jit = off; SET plan_cache_mode = force_generic_plan;
    SET enable_seqscan = off; SET enable_bitmapscan = off;
    SET enable_hashjoin = off; SET enable_mergejoin = off;";

/// The shared values of the rows of one lane.
#[derive(Clone, Copy, Debug)]
pub struct Lane {
    pub lane: i64,
    pub policy: i64,
}

/// One connection that inserts, claims and settles.
pub struct Bare {
    pub client: Client,
    insert: Statement,
    claim: Statement,
    settle: Statement,
    lane: Lane,
    now: i64,
}

impl Bare {
    pub async fn open(url: &str, schema: &str, lane: Lane, now: i64) -> anyhow::Result<Self> {
        let client = connect(url).await?;
        client.batch_execute(SETTINGS).await?;
        let text = |sql: &str| in_schema(sql, schema);
        let insert = text(include_str!("sql/bare_insert.sql"));
        let claim = text(include_str!("sql/bare_claim.sql"));
        let settle = text(include_str!("sql/bare_settle.sql"));
        Ok(Self {
            insert: client.prepare(&insert).await?,
            claim: client.prepare(&claim).await?,
            settle: client.prepare(&settle).await?,
            client,
            lane,
            now,
        })
    }

    /// Stores jobs whose ids count up from `first`.
    pub async fn insert(
        &self,
        first: u128,
        jobs: usize,
        batch: usize,
        payload: &str,
    ) -> anyhow::Result<()> {
        let mut next = first;
        for start in (0..jobs).step_by(batch) {
            let size = batch.min(jobs - start);
            let ids: Vec<Id> = (next..).take(size).map(Id).collect();
            next += size as u128;
            let payloads = vec![payload; size];
            let Lane { lane, policy } = self.lane;
            let params: [&(dyn ToSql + Sync); 5] = [&ids, &payloads, &lane, &policy, &self.now];
            self.client.execute(&self.insert, &params).await?;
        }
        Ok(())
    }

    /// Claims a batch in one transaction and settles it in another, until `wanted` were settled
    /// by all who count together.
    pub async fn drain(
        &self,
        batch: usize,
        settled: &AtomicUsize,
        wanted: usize,
    ) -> anyhow::Result<()> {
        while settled.load(Ordering::Relaxed) < wanted {
            let params: [&(dyn ToSql + Sync); 3] = [&self.lane.lane, &self.now, &(batch as i64)];
            let claimed = self.client.query(&self.claim, &params).await?;
            let mut ids: Vec<Id> = Vec::with_capacity(claimed.len());
            let mut fences: Vec<i64> = Vec::with_capacity(claimed.len());
            for row in &claimed {
                ids.push(row.try_get(0)?);
                fences.push(row.try_get(1)?);
                let _payload: &str = row.try_get(3)?;
            }
            let params: [&(dyn ToSql + Sync); 3] = [&ids, &fences, &self.now];
            let done = self.client.query(&self.settle, &params).await?;
            anyhow::ensure!(done.len() == claimed.len(), "the bare loop lost jobs");
            settled.fetch_add(done.len(), Ordering::Relaxed);
        }
        Ok(())
    }
}

/// A new connection.
pub async fn connect(url: &str) -> anyhow::Result<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// A statement with the schema's name in its place.
pub fn in_schema(sql: &str, schema: &str) -> String {
    sql.replace("steadfast.", &format!("{schema}."))
}

/// A UUID in a column.
#[derive(Clone, Copy, Debug)]
struct Id(u128);

impl ToSql for Id {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.extend_from_slice(&self.0.to_be_bytes());
        Ok(IsNull::No)
    }

    accepts!(UUID);
    to_sql_checked!();
}

impl<'a> FromSql<'a> for Id {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(u128::from_be_bytes(raw.try_into()?)))
    }

    accepts!(UUID);
}
