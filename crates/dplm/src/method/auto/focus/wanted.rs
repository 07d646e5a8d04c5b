//! Which coefficients are of interest.

use crate::{Focus, lattice::Design, method::ConfigError};

/// The coefficients of interest of a model.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::method::auto) struct Wanted {
    /// Their places among the coefficients, ascending.
    pub coefficients: Vec<usize>,
    /// The standardised parameters that they are made of, ascending.
    pub parameters: Vec<usize>,
}

impl Wanted {
    /// Those that texts name: coefficients, or terms with all of theirs; several are separated by
    /// commas.
    pub(super) fn of(texts: &[String], design: &Design) -> Result<Wanted, ConfigError> {
        let coefficients = places_of(texts, design.names())?;
        let contrasts = design.contrasts();
        let is_part = |parameter: &usize| coefficients.iter().any(|&one| contrasts[one].weights[*parameter] != 0.0);
        let parameters: Vec<usize> = (0..design.features()).filter(is_part).collect();
        if parameters.contains(&0) && design.has_intercept() {
            return Err(ConfigError::FocusOnConstant);
        }
        if parameters.len() == design.features() - usize::from(design.has_intercept()) {
            return Err(ConfigError::FocusOnAll);
        }
        Ok(Wanted { coefficients, parameters })
    }
}

impl Wanted {
    /// What a fit says of them, and of the controls that are not in the model.
    pub(super) fn told(&self, design: &Design, not_controlled_for: Vec<String>) -> Focus {
        let names = self.coefficients.iter().map(|&place| design.names()[place].clone());
        Focus::new(names.collect(), not_controlled_for)
    }
}

/// The places of the coefficients that texts name, ascending.
pub(crate) fn places_of(texts: &[String], names: &[String]) -> Result<Vec<usize>, ConfigError> {
    let mut places = Vec::new();
    for (place, name) in texts.iter().flat_map(|text| names_in(text)).enumerate() {
        let found = named(&name, names);
        if found.is_empty() {
            return Err(ConfigError::NoSuchFocus { place: place + 1, known: names.join(", ") });
        }
        places.extend(found);
    }
    places.sort_unstable();
    places.dedup();
    Ok(places)
}

/// The names of a list: commas within parentheses, brackets and backquotes separate nothing.
fn names_in(text: &str) -> Vec<String> {
    let (mut names, mut depth, mut is_quoted) = (vec![String::new()], 0i32, false);
    for sign in text.chars() {
        match sign {
            '`' => is_quoted = !is_quoted,
            '(' | '[' if !is_quoted => depth += 1,
            ')' | ']' if !is_quoted => depth -= 1,
            _ => {}
        }
        match (sign, depth, is_quoted) {
            (',', 0, false) => names.push(String::new()),
            ('`', ..) => {}
            _ => names.last_mut().expect("there is one").push(sign),
        }
    }
    names.iter().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

/// The coefficients of this name, or of the term of this name.
fn named(name: &str, names: &[String]) -> Vec<usize> {
    let places = |of: &dyn Fn(&str) -> String| {
        let wanted = bare(name);
        (0..names.len()).filter(|&place| of(&names[place]) == wanted).collect::<Vec<usize>>()
    };
    let exact = places(&bare);
    if exact.is_empty() { places(&term_of) } else { exact }
}

/// A name without blanks.
fn bare(name: &str) -> String {
    name.chars().filter(|sign| !sign.is_whitespace()).collect()
}

/// The term that a coefficient belongs to: `region` for `region[north]`, `poly(x,2)` for
/// `poly(x, 2)1`, and so for each factor of a product.
fn term_of(name: &str) -> String {
    let factors = bare(name);
    factors.split(':').map(without_level).collect::<Vec<&str>>().join(":")
}

fn without_level(factor: &str) -> &str {
    let whole = factor.trim_end_matches(|sign: char| sign.is_ascii_digit());
    match factor.strip_suffix(']').and_then(|inside| inside.split_once('[')) {
        Some((column, _)) => column,
        None if whole.ends_with(')') => whole,
        None => factor,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_and_coefficients_are_found_by_name() {
        let names = ["(Intercept)", "x", "poly(z, 2)1", "poly(z, 2)2", "g[b]", "g[c]", "x:g[b]", "x:g[c]"];
        let names = names.map(str::to_owned);
        for (name, places) in [
            ("x", &[1][..]),
            ("poly(z,2)", &[2, 3]),
            ("poly(z, 2)2", &[3]),
            ("g", &[4, 5]),
            ("g[c]", &[5]),
            ("x:g", &[6, 7]),
            ("g:x", &[]),
            ("h", &[]),
        ] {
            assert_eq!(named(name, &names), places, "{name}");
        }
        assert_eq!(names_in("x, poly(z, 2),g[b, c] , `a, b`"), ["x", "poly(z, 2)", "g[b, c]", "a, b"]);
    }
}
