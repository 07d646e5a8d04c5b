//! `dplm ledger`: the privacy budget of data sets, kept in a file.

mod export;
mod text;

use dplm::privacy::Rho;
use dplm_ledger::{Account, FitRecord, Ledger, LedgerError};

use crate::{
    args::{LedgerCommand, LedgerExportArgs, LedgerGrantArgs, LedgerInitArgs, LedgerShowArgs, LedgerVerifyArgs},
    exit::Failure,
    output::{Destination, Output},
    printer::Printer,
    settings,
};

/// Opens, grants, shows, exports or verifies.
pub fn run(asked: LedgerCommand, printer: &Printer) -> Result<(), Failure> {
    match asked {
        LedgerCommand::Init(args) => init(&args, printer),
        LedgerCommand::Grant(args) => grant(&args, printer),
        LedgerCommand::Show(args) => show(&args, printer),
        LedgerCommand::Export(args) => export(&args),
        LedgerCommand::Verify(args) => verify(&args, printer),
    }
}

fn init(args: &LedgerInitArgs, printer: &Printer) -> Result<(), Failure> {
    let (rho, delta) = settings::budget(&args.budget)?;
    let file = &args.ledger.file;
    let mut ledger = match Ledger::create(file) {
        Err(LedgerError::Exists { .. }) => Ledger::open(file)?,
        made => made?,
    };
    ledger.open_account(&args.dataset, rho, Some(delta), &args.note)?;
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
    if formats.json.is_some() && formats.json == formats.csv {
        return Err(Failure::usage("JSON and CSV cannot both go to the same place: name two"));
    }
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
    let fits: Vec<FitRecord> = args.against.iter().map(FitRecord::read).collect();
    let verdict = ledger.verify_against(&fits)?;
    if let Some(hash) = &args.since
        && !ledger.entries()?.iter().any(|entry| entry.hash == *hash)
    {
        return Err(Failure::refused(
            "the ledger does not go on from that hash: entries were cut off or written anew, or it is another ledger",
        ));
    }
    let entries = if verdict.entries == 1 { "entry is" } else { "entries are" };
    let kept = match fits.len() {
        0 => String::new(),
        1 => ", and the entry of 1 fit is there".to_owned(),
        fits => format!(", and the entries of {fits} fits are there"),
    };
    printer.result(&format!("{} {entries} in order{kept}; the last hash is {}\n", verdict.entries, verdict.last_hash))
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
