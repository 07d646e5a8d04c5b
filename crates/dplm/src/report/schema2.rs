//! Documents of the second schema, whose guarantee had no promise: what they hold, in the form of
//! the third.

use serde_json::{Map, Value, json};

/// The fit, or the fits of groups, of such a document. `private: false` was said of seeds alone,
/// and a mark of simulated rows. `None` if a part is missing. Options that a fit does not name
/// itself were not kept, and stay unsaid.
pub(super) fn upgraded(old: &Value, is_pretended: bool) -> Option<Value> {
    let mut fit = old.as_object()?.clone();
    let is_private = match fit.remove("private") {
        Some(private) => private.as_bool()?,
        // The fits of groups said it of each.
        None => !says_seed(&fit),
    };
    let guarantee = promising(&fit, is_private, is_pretended)?;
    fit.insert("guarantee".to_owned(), guarantee);
    fit.insert("request".to_owned(), request(&fit));
    fit.insert("csv".to_owned(), "".into());
    fit.insert("part_of_study".to_owned(), is_part_of_study(&fit).into());
    if let Some(groups) = fit.get_mut("groups") {
        for group in groups.as_array_mut()? {
            if let Some(fitted) = group["outcome"].get_mut("fitted") {
                *fitted = upgraded(fitted, is_pretended)?;
            }
        }
    }
    restate_statistics(&mut fit);
    Some(Value::Object(fit))
}

/// Older versions kept a score in place of estimate over standard error.
fn restate_statistics(fit: &mut Map<String, Value>) {
    for one in fit.get_mut("coefficients").and_then(Value::as_array_mut).into_iter().flatten() {
        let number = |value: &Value| value.as_f64();
        if let (Some(estimate), Some(error)) = (number(&one["estimate"]), number(&one["precision"]["std_error"])) {
            one["precision"]["statistic"] = json!(estimate / error);
        }
    }
}

fn says_seed(fit: &Map<String, Value>) -> bool {
    fit.get("warnings").and_then(Value::as_array).is_some_and(|all| all.contains(&json!("fixed_seed")))
}

/// The guarantee, with what it said itself gathered in its promise.
fn promising(fit: &Map<String, Value>, is_private: bool, is_pretended: bool) -> Option<Value> {
    let mut guarantee = fit.get("guarantee")?.as_object()?.clone();
    let person = fit.get("person").map_or(Value::Null, |person| person["column"].clone());
    let unit =
        guarantee.remove("unit").unwrap_or_else(|| if person.is_null() { "row".into() } else { "person".into() });
    let conversion = guarantee.remove("conversion").unwrap_or_else(|| "exact".into());
    let delta_spent = if conversion == "tested" { guarantee.get("delta")?.as_f64()? / 2.0 } else { 0.0 };
    let provenance = match (is_pretended, is_private) {
        (true, _) => "simulated",
        (false, true) => "system",
        (false, false) => "seed",
    };
    let promise = json!({
        "unit": unit,
        "person": person,
        "neighbours": guarantee.remove("neighbours")?,
        "conversion": conversion,
        "delta_spent": delta_spent,
        "provenance": provenance,
    });
    guarantee.insert("promise".to_owned(), promise);
    Some(Value::Object(guarantee))
}

fn is_part_of_study(fit: &Map<String, Value>) -> bool {
    let warnings = fit.get("warnings").and_then(Value::as_array);
    warnings.is_some_and(|all| all.iter().any(|one| one.get("part_of_study").is_some()))
}

/// What was asked, as far as the fit says it. What was set by hand was not kept: what the paper's
/// method ran with says the same plan, stated or not.
fn request(fit: &Map<String, Value>) -> Value {
    let of = |keys: &[&str]| {
        let first = fit.get(keys[0]).cloned().unwrap_or_default();
        keys[1..].iter().fold(first, |value, key| value.get(key).cloned().unwrap_or_default())
    };
    let by_hand = |key: &str| if of(&["method", "name"]) == "dpgd" { of(&["method", key]) } else { Value::Null };
    let usual = |key: &str, usual: &str| if of(&[key]).is_null() { usual.into() } else { of(&[key]) };
    let by = if of(&["by"]).is_null() { of(&["group", "by"]) } else { of(&["by"]) };
    json!({
        "formula": of(&["formula"]),
        "weights": of(&["weights"]),
        "by": by,
        "rho": of(&["guarantee", "rho"]).as_str().and_then(|rho| rho.parse::<f64>().ok()),
        "delta": of(&["guarantee", "delta"]),
        "neighbours": of(&["guarantee", "promise", "neighbours"]),
        "person": of(&["person", "column"]),
        "rows_per_person": of(&["person", "rows"]),
        "method": of(&["method", "name"]),
        "clip": by_hand("clip"),
        "steps": by_hand("steps"),
        "step_size": by_hand("step_size"),
        "interval": usual("interval", "newton"),
        "level": of(&["level"]),
        "purpose": of(&["purpose"]),
    })
}
