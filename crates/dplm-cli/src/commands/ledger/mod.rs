//! `dplm ledger`: the privacy budget of data sets, kept in a file.

mod export;
mod text;

use dplm::{
    Charge,
    privacy::{Neighbours, Promise, Provenance, Rho},
};
use dplm_ledger::{Account, Amount, Attribution, Kept, Ledger, LedgerError};

use crate::{
    args::{
        LedgerBackupArgs, LedgerCommand, LedgerExportArgs, LedgerGrantArgs, LedgerInitArgs, LedgerLimitArgs,
        LedgerRecordArgs, LedgerReportArgs, LedgerReverseArgs, LedgerShowArgs, LedgerVerifyArgs, PromiseOf,
    },
    commands::fit,
    exit::Failure,
    output::{Destination, Format, Output},
    printer::Printer,
};

/// Does what is asked of a ledger.
pub fn run(asked: LedgerCommand, printer: &Printer) -> Result<(), Failure> {
    match asked {
        LedgerCommand::Init(args) => init(&args, printer),
        LedgerCommand::Grant(args) => grant(&args, printer),
        LedgerCommand::Limit(args) => limit(&args, printer),
        LedgerCommand::Record(args) => record(&args, printer),
        LedgerCommand::Reverse(args) => reverse(&args, printer),
        LedgerCommand::Check(args) => fit::check(*args, printer),
        LedgerCommand::Show(args) => show(&args, printer),
        LedgerCommand::Report(args) => report(&args),
        LedgerCommand::Export(args) => export(&args),
        LedgerCommand::Backup(args) => back_up(&args, printer),
        LedgerCommand::Verify(args) => verify(&args, printer),
    }
}

fn init(args: &LedgerInitArgs, printer: &Printer) -> Result<(), Failure> {
    let conversion = args.promise.mechanisms.conversion();
    let request = args.options.read()?.request;
    let (rho, delta) = request.budget(conversion).map_err(Failure::of_request)?;
    let file = &args.ledger.file;
    let mut ledger = match Ledger::create(file) {
        Err(LedgerError::Exists { .. }) => Ledger::open(file)?,
        made => made?,
    };
    let promise = promise(&args.promise, request.neighbours, Provenance::System).converted_by(conversion, delta);
    ledger.open_account_for(promise, &args.dataset, rho, Some(delta), &args.note)?;
    printer.note(&format!("{} holds rho = {rho} for '{}'", file.display(), args.dataset));
    Ok(())
}

fn grant(args: &LedgerGrantArgs, printer: &Printer) -> Result<(), Failure> {
    let rho = Rho::checked_from_f64(args.rho).map_err(Failure::usage)?;
    let mut ledger = Ledger::open(&args.ledger.file)?;
    ledger.grant(&args.dataset, rho, &args.note)?;
    let Account { left, dataset, .. } = ledger.account(&args.dataset)?;
    printer.note(&format!("rho = {rho} granted; '{dataset}' has {left} left"));
    Ok(())
}

fn limit(args: &LedgerLimitArgs, printer: &Printer) -> Result<(), Failure> {
    let LedgerLimitArgs { ledger, dataset, analyst, others, rho, note } = args;
    let most = Amount::checked_from_f64(*rho).map_err(Failure::usage)?;
    let mut ledger = Ledger::open(&ledger.file)?;
    let who = match (others, analyst.as_str()) {
        (true, _) => "all who have no limit of their own, together,",
        (false, "") => "each who has no limit of their own",
        (false, analyst) => analyst,
    };
    match others {
        true => ledger.limit_others(dataset, most, note)?,
        false => ledger.limit(dataset, analyst, most, note)?,
    }
    printer.note(&format!("{who} may spend rho = {most} of '{dataset}' in all"));
    Ok(())
}

fn record(args: &LedgerRecordArgs, printer: &Printer) -> Result<(), Failure> {
    let LedgerRecordArgs { ledger, dataset, rho, what, options, promise: asked, delta, void, analyst, note } = args;
    let provenance = if *void { Provenance::Seed } else { Provenance::System };
    let neighbours = options.read()?.request.neighbours;
    let promise = promise(asked, neighbours, provenance).converted_by(asked.mechanisms.conversion(), *delta);
    let rho = Rho::checked_from_f64(*rho).map_err(Failure::usage)?;
    let attribution = Attribution { analyst: analyst.clone(), purpose: String::new(), note: note.clone() };
    let mut ledger = Ledger::open(&ledger.file)?.attributed_to(attribution)?;
    let Account { left, dataset, overdrawn, frozen, .. } = ledger.record(dataset, &Charge::new(rho, promise, what))?;
    printer.note(&match (frozen, overdrawn) {
        (Some(why), _) => format!("rho = {rho} recorded as spent; '{dataset}': {why}"),
        (None, true) => format!("rho = {rho} recorded as spent; '{dataset}' is overdrawn and pays for nothing more"),
        (None, false) => format!("rho = {rho} recorded as spent; '{dataset}' has {left} left"),
    });
    Ok(())
}

/// The promise that was typed.
fn promise(typed: &PromiseOf, neighbours: Neighbours, provenance: Provenance) -> Promise {
    Promise { neighbours, provenance, ..Promise::about(typed.person.as_deref()) }
}

fn reverse(args: &LedgerReverseArgs, printer: &Printer) -> Result<(), Failure> {
    let taken_back = Ledger::open(&args.ledger.file)?.reverse(args.entry, &args.reason)?;
    printer.note(&match taken_back {
        Amount(0) => format!("entry {} is marked as a mistake; what was spent stays spent", args.entry),
        left => format!("entry {} is marked as a mistake, and rho = {left} of its grant is taken back", args.entry),
    });
    Ok(())
}

fn report(args: &LedgerReportArgs) -> Result<(), Failure> {
    args.out.check_format(Format::Html)?;
    let ledger = Ledger::open(&args.ledger.file)?;
    let accounts = accounts(&ledger, args.dataset.as_deref())?;
    written(&args.out, &dplm_ledger::to_html(&accounts, &ledger.verify()?.last_hash))
}

fn back_up(args: &LedgerBackupArgs, printer: &Printer) -> Result<(), Failure> {
    let verdict = Ledger::open(&args.ledger.file)?.back_up(&args.copy)?;
    printer.note(&format!(
        "{} holds {} entries; the last hash is {}",
        args.copy.display(),
        verdict.entries,
        verdict.last_hash
    ));
    Ok(())
}

fn show(args: &LedgerShowArgs, printer: &Printer) -> Result<(), Failure> {
    let ledger = Ledger::open(&args.ledger.file)?;
    let accounts = accounts(&ledger, args.dataset.as_deref())?;
    match (&args.json, accounts.as_slice()) {
        (None, accounts) => printer.result(&text::accounts(accounts, &ledger.verify()?.last_hash)),
        (Some(json), [account]) => written(json, &export::account_json(account)),
        (Some(_), _) => Err(Failure::refused(
            "the ledger does not have exactly one data set: name one with --dataset, or use 'dplm ledger export --json'",
        )),
    }
}

fn export(args: &LedgerExportArgs) -> Result<(), Failure> {
    let formats = &args.formats;
    let ledger = Ledger::open(&args.ledger.file)?;
    let accounts = accounts(&ledger, args.dataset.as_deref())?;
    if let Some(json) = &formats.json {
        written(json, &export::accounts_json(&accounts, &ledger.verify()?))?;
    }
    match &formats.csv {
        Some(csv) => written(csv, &export::csv(&accounts)),
        None => Ok(()),
    }
}

fn verify(args: &LedgerVerifyArgs, printer: &Printer) -> Result<(), Failure> {
    let ledger = Ledger::open(&args.ledger.file)?;
    let kept: Vec<Kept> = args.against.iter().map(Kept::read).collect();
    let verdict = ledger.verify_against(&kept)?;
    if let Some(hash) = &args.since
        && !ledger.entries()?.iter().any(|entry| entry.hash == *hash)
    {
        return Err(Failure::refused(
            "the ledger does not go on from that hash: entries were cut off or written anew, or it is another ledger",
        ));
    }
    let entries = if verdict.entries == 1 { "entry is" } else { "entries are" };
    let agreement = match kept.len() {
        0 => String::new(),
        1 => ", and agree with 1 kept record".to_owned(),
        count => format!(", and agree with {count} kept records"),
    };
    printer
        .result(&format!("{} {entries} in order{agreement}; the last hash is {}\n", verdict.entries, verdict.last_hash))
}

/// One data set, or all.
fn accounts(ledger: &Ledger, dataset: Option<&str>) -> Result<Vec<Account>, Failure> {
    let names = match dataset {
        Some(name) => vec![name.to_owned()],
        None => ledger.datasets()?,
    };
    Ok(names.iter().map(|name| ledger.account(name)).collect::<Result<_, _>>()?)
}

fn written(to: &Destination, text: &str) -> Result<(), Failure> {
    Output::open(to)?.finish_with(text)
}
