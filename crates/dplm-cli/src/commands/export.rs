//! `dplm export`: the guarantee of a saved result in the words of other libraries.

use std::fs;

use dplm_simulate::pretend;
use serde_json::{Value, json};

use crate::{
    args::{ExportArgs, Library},
    exit::Failure,
    output::{Destination, Format, Output},
};

/// Reads the guarantee of a fit, of several groups or of a study, and writes it as asked.
pub fn run(args: &ExportArgs) -> Result<(), Failure> {
    let out = args.out.clone().unwrap_or(Destination::Stdout);
    out.check_format(Format::Json)?;
    let document = document(args)?;
    let written = match args.library {
        Library::DpAccounting => dp_accounting(&document),
        Library::OpenDp => opendp(&document),
    };
    let written = written.ok_or_else(|| not_a_result(args))?;
    let text = serde_json::to_string_pretty(&written).expect("plain data serialises") + "\n";
    let is_pretended = document.get(pretend::KEY).is_some();
    Output::open(&out)?.finish_with(&pretend::marked_if(is_pretended, text, pretend::mark_json))
}

fn document(args: &ExportArgs) -> Result<Value, Failure> {
    let bytes = fs::read(&args.fit).map_err(|error| {
        Failure::Refused(format!("{} could not be read ({}): check the path", args.fit.display(), error.kind()))
    })?;
    serde_json::from_slice(&bytes).map_err(|_| not_a_result(args))
}

fn not_a_result(args: &ExportArgs) -> Failure {
    Failure::Refused(format!("{} is not what 'dplm fit --json' or 'dplm study --json' writes", args.fit.display()))
}

/// The events that an accountant of Google's dp-accounting composes, by the names of its classes. A Gaussian release of rho has noise of
/// `1 / sqrt(2 rho)` times what neighbours can move; for any other mechanism rho is all there is to say.
fn dp_accounting(document: &Value) -> Option<Value> {
    let guarantee = &document["guarantee"];
    let event = |release: &Value| {
        let rho = release["rho"].as_f64()?;
        Some(match mechanism(release) {
            "gaussian" => json!({ "class": "GaussianDpEvent", "noise_multiplier": 1.0 / (2.0 * rho).sqrt() }),
            _ => json!({ "class": "ZCDpEvent", "rho": rho, "xi": 0.0 }),
        })
    };
    let events = guarantee["releases"].as_array()?.iter().map(event).collect::<Option<Vec<_>>>()?;
    Some(json!({
        "library": "dp-accounting",
        "event": { "class": "ComposedDpEvent", "events": events },
        "neighbours": guarantee["neighbours"],
        "unit": document["units"]["unit"],
        "note": "distances are those between neighbours of this result: use an accountant of its default relation, which does not double them",
        "epsilon": guarantee["epsilon"],
        "delta": guarantee["delta"],
    }))
}

/// What OpenDP would say of the result as one measurement.
fn opendp(document: &Value) -> Option<Value> {
    let (guarantee, unit) = (&document["guarantee"], document["units"]["unit"].as_str()?);
    let mechanism =
        |release: &Value| json!({ "what": release["what"], "mechanism": mechanism(release), "d_out": release["rho"] });
    let mechanisms: Vec<Value> = guarantee["releases"].as_array()?.iter().map(mechanism).collect();
    // OpenDP has no metric for a row that contributes nothing, nor for persons with several rows.
    let metric = (guarantee["neighbours"] == "replace-one" && unit == "row").then_some("ChangeOneDistance");
    Some(json!({
        "library": "OpenDP",
        "input_metric": metric,
        "output_measure": "ZeroConcentratedDivergence",
        "d_in": 1,
        "d_out": guarantee["rho"],
        "neighbours": guarantee["neighbours"],
        "unit": unit,
        "mechanisms": mechanisms,
        "approximate": { "epsilon": guarantee["epsilon"], "delta": guarantee["delta"] },
    }))
}

fn mechanism(release: &Value) -> &str {
    release["mechanism"].as_str().unwrap_or("gaussian")
}
