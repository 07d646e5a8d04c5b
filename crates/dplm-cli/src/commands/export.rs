//! `dplm export`: the guarantee of a saved result in the words of other libraries.

use dplm::{
    privacy::{Guarantee, Mechanism, Neighbours, Provenance, Release, Unit, convert::Conversion},
    report::SavedGuarantee,
};
use serde_json::{Value, json};

use crate::{
    args::{ExportArgs, Library},
    commands::saved::unread,
    exit::Failure,
    output::{Destination, Format, Output},
};

/// Reads the guarantee of a fit, of several groups or of a study, and writes it as asked.
pub fn run(args: &ExportArgs) -> Result<(), Failure> {
    let out = args.out.clone().unwrap_or(Destination::Stdout);
    out.check_format(Format::Json)?;
    let SavedGuarantee { guarantee, .. } = SavedGuarantee::load(&args.fit).map_err(|error| unread(&args.fit, error))?;
    check_holds(&guarantee, args)?;
    let written = match args.library {
        Library::DpAccounting => {
            check_events(&guarantee)?;
            dp_accounting(&guarantee)
        }
        Library::OpenDp => opendp(&guarantee),
    };
    Output::open(&out)?.finish_with(&(serde_json::to_string_pretty(&written).expect("plain data serialises") + "\n"))
}

/// An accountant assumes that a guarantee that it composes holds, so one that does not is not given
/// to it.
fn check_holds(guarantee: &Guarantee, args: &ExportArgs) -> Result<(), Failure> {
    let path = args.fit.display();
    match guarantee.promise.provenance {
        Provenance::System => Ok(()),
        Provenance::Seed => Err(Failure::Usage(format!(
            "the noise of {path} came from a fixed seed, so it has no guarantee to export: fit again without a seed"
        ))),
        Provenance::Simulated => Err(Failure::Usage(format!(
            "{path} was made of simulated rows, so it costs nobody anything to account for: export a fit of data"
        ))),
    }
}

/// None of the events has a delta of its own, so that what is said with them would leave out the
/// delta of a test.
fn check_events(guarantee: &Guarantee) -> Result<(), Failure> {
    match guarantee.promise.conversion {
        Conversion::Exact | Conversion::Cks | Conversion::Simple => Ok(()),
        Conversion::Tested => Err(Failure::usage(
            "dp-accounting has no event for a test that may fail to protect: add the fit's epsilon and delta yourself, or export for opendp",
        )),
    }
}

/// The events that an accountant of Google's dp-accounting composes, by the names of its classes.
fn dp_accounting(guarantee: &Guarantee) -> Value {
    json!({
        "library": "dp-accounting",
        "event": event(guarantee),
        "neighbours": guarantee.promise.neighbours,
        "unit": guarantee.promise.unit,
        "promise": guarantee.promise,
        "note": "distances are those between neighbours of this result: use an accountant of its default relation, which does not double them",
        "epsilon": guarantee.epsilon,
        "delta": guarantee.delta,
    })
}

/// A Gaussian release of rho has noise of `1 / sqrt(2 rho)` times what neighbours can move; for any
/// other mechanism rho is all there is to say.
fn event(guarantee: &Guarantee) -> Value {
    let events: Vec<Value> = guarantee.releases.iter().map(event_of).collect();
    json!({ "class": "ComposedDpEvent", "events": events })
}

fn event_of(release: &Release) -> Value {
    let rho = release.rho.to_f64_up();
    match release.mechanism {
        Mechanism::Gaussian => {
            json!({ "class": "GaussianDpEvent", "noise_multiplier": 1.0 / (2.0 * rho).sqrt() })
        }
        Mechanism::Laplace | Mechanism::Exponential | Mechanism::Test => {
            json!({ "class": "ZCDpEvent", "rho": rho, "xi": 0.0 })
        }
    }
}

/// What OpenDP would say of the result as one measurement.
fn opendp(guarantee: &Guarantee) -> Value {
    let (promise, rho) = (&guarantee.promise, guarantee.rho.to_f64_up());
    let mechanism = |release: &Release| json!({ "what": release.what, "mechanism": release.mechanism, "d_out": release.rho.to_f64_up() });
    let mechanisms: Vec<Value> = guarantee.releases.iter().map(mechanism).collect();
    // OpenDP has no metric for a row that contributes nothing, nor for persons with several rows.
    let metric = match (promise.neighbours, promise.unit) {
        (Neighbours::ReplaceOne, Unit::Row) => Some("ChangeOneDistance"),
        (Neighbours::ZeroOut, _) | (_, Unit::Person) => None,
    };
    let (measure, distance) = match promise.conversion {
        Conversion::Exact | Conversion::Cks | Conversion::Simple => ("ZeroConcentratedDivergence", json!(rho)),
        Conversion::Tested => ("Approximate<ZeroConcentratedDivergence>", json!([rho, promise.delta_spent])),
    };
    json!({
        "library": "OpenDP",
        "input_metric": metric,
        "output_measure": measure,
        "d_in": 1,
        "d_out": distance,
        "neighbours": promise.neighbours,
        "unit": promise.unit,
        "promise": promise,
        "mechanisms": mechanisms,
        "approximate": { "epsilon": guarantee.epsilon, "delta": guarantee.delta },
    })
}
