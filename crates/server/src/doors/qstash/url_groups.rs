//! URL groups: a message to a group is a message to each of its addresses.

use axum::extract::Path;
use serde::Deserialize;
use serde_json::{Value, json};
use steadfast_engine::http::HttpRequest;

use super::{
    AnyBody, Door, Reply,
    documents::{GroupEndpoint, UrlGroup, check_name},
    done,
};
use crate::{
    http::{Json, Problem},
    limits,
};

#[derive(Deserialize)]
struct AddRequest {
    endpoints: Vec<GroupEndpoint>,
}

/// An endpoint to be removed, by its address or its name.
#[derive(Deserialize)]
struct RemovedEndpoint {
    url: Option<String>,
    name: Option<String>,
}

#[derive(Deserialize)]
struct RemoveRequest {
    endpoints: Vec<RemovedEndpoint>,
}

pub async fn list(door: Door) -> Reply {
    let groups = door.list::<UrlGroup>().await?;
    Ok(Json(json!(groups)))
}

pub async fn read(door: Door, Path(name): Path<String>) -> Reply {
    check_name("url group", &name)?;
    let group = door.find::<UrlGroup>(&name).await?;
    let group = group.ok_or_else(|| Problem::not_found(format!("url group {name}")))?;
    Ok(Json(json!(group)))
}

pub async fn delete(door: Door, Path(name): Path<String>) -> Reply {
    check_name("url group", &name)?;
    door.delete::<UrlGroup>(&name).await?;
    done()
}

/// Adds endpoints, or changes those of the same name or address.
pub async fn add(door: Door, Path(name): Path<String>, body: AnyBody) -> Reply {
    check_name("url group", &name)?;
    let AddRequest { endpoints } = body.json()?;
    for endpoint in &endpoints {
        HttpRequest::new(&endpoint.url)?;
        if let Some(name) = &endpoint.name {
            check_name("endpoint", name)?;
        }
    }
    let now = door.now_ms();
    let change = |group: Option<UrlGroup>| {
        let mut group = begin(group, &name, now);
        for endpoint in &endpoints {
            group.endpoints.retain(|known| {
                let is_same_name = known.name.is_some() && known.name == endpoint.name;
                !is_same_name && known.url != endpoint.url
            });
            group.endpoints.push(endpoint.clone());
        }
        let most = limits::QSTASH_GROUP_ENDPOINTS_MAX;
        if group.endpoints.len() > most {
            let detail = format!("url group {name} would have more than {most} endpoints");
            return Err(Problem::invalid("endpoints", detail));
        }
        Ok(group)
    };
    answer(&door.change(&name, change).await?)
}

pub async fn remove(door: Door, Path(name): Path<String>, body: AnyBody) -> Reply {
    check_name("url group", &name)?;
    let RemoveRequest { endpoints } = body.json()?;
    let now = door.now_ms();
    let change = |group: Option<UrlGroup>| {
        let group = group.ok_or_else(|| Problem::not_found(format!("url group {name}")))?;
        let mut group = begin(Some(group), &name, now);
        group.endpoints.retain(|known| {
            !endpoints.iter().any(|removed| {
                removed.url.as_ref() == Some(&known.url)
                    || (removed.name.is_some() && removed.name == known.name)
            })
        });
        Ok(group)
    };
    answer(&door.change(&name, change).await?)
}

fn begin(group: Option<UrlGroup>, name: &str, now: i64) -> UrlGroup {
    let mut group = group.unwrap_or_else(|| UrlGroup {
        name: name.to_owned(),
        created_at: now,
        ..UrlGroup::default()
    });
    group.updated_at = now;
    group
}

fn answer(group: &UrlGroup) -> Reply {
    let body: Value = json!(group);
    Ok(Json(body))
}
