//! Paths of items, as a `use` and as other code names them.

use proc_macro2::TokenTree;

/// A path, and the name that a `use` gives it.
type NamedPath = (Vec<String>, Option<String>);

/// What a `use` imports, of which `trees` is what follows the keyword.
pub fn imported(trees: &[TokenTree]) -> Vec<NamedPath> {
    let is_end = |tree: &TokenTree| is_sign(tree, ';');
    let end = trees.iter().position(is_end).unwrap_or(trees.len());
    let mut found = Vec::new();
    leaves(&trees[..end], &[], &mut found);
    found
}

fn leaves(trees: &[TokenTree], prefix: &[String], found: &mut Vec<NamedPath>) {
    for branch in trees.split(|tree| is_sign(tree, ',')) {
        let mut segments = prefix.to_vec();
        let mut alias = None;
        let mut words = branch.iter();
        let mut is_leaf = false;
        while let Some(tree) = words.next() {
            match tree {
                TokenTree::Group(group) => {
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    leaves(&inner, &segments, found);
                    is_leaf = false;
                }
                TokenTree::Ident(name) if name == "as" => alias = words.next(),
                // `a::{self}` is `a`.
                TokenTree::Ident(name) if name == "self" && !segments.is_empty() => is_leaf = true,
                TokenTree::Ident(name) => {
                    segments.push(name.to_string());
                    is_leaf = true;
                }
                _ if is_sign(tree, '*') => {
                    segments.push("*".to_owned());
                    is_leaf = true;
                }
                _ => {}
            }
        }
        if is_leaf {
            let alias = alias.map(ToString::to_string);
            let alias = alias.or_else(|| segments.last().cloned());
            found.push((segments, alias));
        }
    }
}

/// The path of several segments that begins at a place in other code.
pub fn used(trees: &[TokenTree], at: usize) -> Option<NamedPath> {
    // `pub(in path)`
    let is_visibility = at == 1 && trees[0].to_string() == "in";
    let mut segments = vec![trees[at].to_string()];
    let mut rest = &trees[at + 1..];
    while let [first, second, TokenTree::Ident(name), after @ ..] = rest
        && is_sign(first, ':')
        && is_sign(second, ':')
    {
        segments.push(name.to_string());
        rest = after;
    }
    (segments.len() > 1 && !follows_separator(trees, at) && !is_visibility)
        .then_some((segments, None))
}

/// True behind the `::` of `a::b`, and false behind the colon of `name: b`.
pub fn follows_separator(trees: &[TokenTree], at: usize) -> bool {
    let [.., first, second] = &trees[..at] else {
        return false;
    };
    is_sign(first, ':') && is_sign(second, ':')
}

fn is_sign(tree: &TokenTree, sign: char) -> bool {
    matches!(tree, TokenTree::Punct(punct) if punct.as_char() == sign)
}
