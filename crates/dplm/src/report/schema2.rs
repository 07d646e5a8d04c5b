//! Documents of the second schema, whose guarantee had no promise: what they hold, in the form of
//! the third.

use serde_json::{Map, Value, json};

/// The fit, or the fits of groups, of such a document. `private: false` was said of seeds alone,
/// and a mark of simulated rows. None where a part is missing. What was asked beside what a fit
/// names itself was not kept, and stays unsaid.
pub(super) fn upgraded(old: &Value, is_pretended: bool) -> Option<Value> {
    let mut fit = old.as_object()?.clone();
    let is_private = match fit.remove("private") {
        Some(private) => private.as_bool()?,
        // The fits of groups said it of each.
        None => !says_seed(&fit),
    };
    let guarantee = promising(&fit, is_private, is_pretended)?;
    fit.insert("guarantee".to_owned(), guarantee);
    if fit.contains_key("design") {
        fit.insert("particulars".to_owned(), particulars(&fit));
    }
    if let Some(groups) = fit.get_mut("groups") {
        for group in groups.as_array_mut()? {
            if let Some(fitted) = group["outcome"].get_mut("fitted") {
                *fitted = upgraded(fitted, is_pretended)?;
            }
        }
    }
    Some(Value::Object(fit))
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

fn particulars(fit: &Map<String, Value>) -> Value {
    let warnings = fit.get("warnings").and_then(Value::as_array);
    let part = warnings.is_some_and(|all| all.iter().any(|one| one.get("part_of_study").is_some()));
    // What was set by hand was not kept. What the paper's method ran with says the same plan, stated or not.
    let method = fit.get("method").filter(|method| method["name"] == "dpgd");
    let ran_with = |key: &str| method.map_or(Value::Null, |method| method[key].clone());
    json!({
        "csv": "", "standardised": false, "batches": 10, "burn_in": null, "moments": null, "part_of_study": part,
        "tuning": { "clip": ran_with("clip"), "steps": ran_with("steps"), "step_size": ran_with("step_size") },
    })
}
