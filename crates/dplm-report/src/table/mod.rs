//! Several results side by side, as a table to paste into a paper.
//!
//! Columns are fits, those of groups, or the specifications of a study; they are read from the
//! documents that each interface already has, so that there is one implementation for all. Notes
//! below the table state the guarantee, what the intervals are for, and what is void.

mod forms;
mod docx;
mod picture;

use dplm::{
    Coefficient, Fit, GroupOutcome, Precision, choice,
    number::{grouped, significant},
    options::Family,
    privacy::{Guarantee, Provenance, Rho},
    report::{
        FitFileError, Saved,
        text::{fitted_rows, in_place_of_numbers, percent},
    },
};

use crate::study::names;

choice! {
    "to";
    /// What a table is written as.
    #[derive(Default)]
    #[non_exhaustive]
    pub enum TableForm {
        /// LaTeX, with the package booktabs.
        Latex = "latex" | "tex",
        /// Markdown, as GitHub and Quarto read it.
        #[default]
        Markdown = "markdown" | "md",
        /// The element of a page.
        Html = "html" | "htm",
        /// A table of texts for a spreadsheet.
        Csv = "csv",
        /// A document of a word processor.
        Docx = "docx" | "word",
        /// A picture of the coefficients with their intervals.
        Svg = "svg",
    }
}

/// How a table is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// What stands above it.
    pub title: Option<String>,
    /// What each column is called; without them, columns have numbers, and those of groups and
    /// studies the names they have there.
    pub names: Vec<String>,
    /// Stars at small p-values.
    pub stars: bool,
    /// Intervals below the estimates, in place of standard errors.
    pub intervals: bool,
}

/// Why there is no table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// Nothing to show.
    #[error("a table needs at least one fit: give what 'dplm fit --json' or 'dplm study --json' has written")]
    Empty,
    /// Other names than columns.
    #[error("the table has {columns} columns, and {names} were named: give one name for each")]
    Names {
        /// How many columns there are.
        columns: usize,
        /// How many names were given.
        names: usize,
    },
    /// A document that holds no result.
    #[error("result {place}: {error}")]
    File {
        /// Its place among those that were given, from 1.
        place: usize,
        /// What is wrong with it.
        error: FitFileError,
    },
}

/// P-values below each of these have this number of stars.
const STARS: [(f64, usize); 3] = [(0.001, 3), (0.01, 2), (0.05, 1)];

/// A table as it is laid out, before it is written in one of the [`TableForm`]s.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    title: Option<String>,
    /// Lines of heads: a cell for each column.
    heads: Vec<Vec<String>>,
    /// The coefficients, each on two lines.
    body: Vec<Line>,
    /// What is said of each column as a whole.
    foot: Vec<Line>,
    notes: Vec<String>,
    /// The same numbers as a picture.
    picture: String,
}

/// A line: what it is about, and a cell for each column.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    label: String,
    cells: Vec<Cell>,
}

/// A text, and how many stars follow it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Cell {
    text: String,
    stars: usize,
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell { text, stars: 0 }
    }
}

/// A fit, as a column.
struct Column {
    /// What it is called in its document: a level, or a specification.
    name: String,
    fit: Fit,
    /// Which document it is from: those of one have one guarantee together.
    document: usize,
}

impl Table {
    /// The table of the results in these documents, in their order.
    ///
    /// # Errors
    /// When a document is no result, there is none, or there are more or fewer names than columns.
    pub fn of<S: AsRef<str>>(documents: &[S], options: &TableOptions) -> Result<Table, TableError> {
        let mut columns = Vec::new();
        for (index, document) in documents.iter().enumerate() {
            let of_document = |(name, fit)| Column { name, fit, document: index };
            let unread = |error| TableError::File { place: index + 1, error };
            columns.extend(columns_of(document.as_ref()).map_err(unread)?.into_iter().map(of_document));
        }
        match options.names.len() {
            _ if columns.is_empty() => Err(TableError::Empty),
            names if names > 0 && names != columns.len() => Err(TableError::Names { columns: columns.len(), names }),
            _ => Ok(Table::laid_out(&columns, options)),
        }
    }

    fn laid_out(columns: &[Column], options: &TableOptions) -> Table {
        let fits = || columns.iter().map(|column| &column.fit);
        Table {
            title: options.title.clone(),
            heads: heads(columns, options),
            body: names_shown(columns).iter().flat_map(|name| lines(fits(), name, options)).collect(),
            foot: foot(columns),
            notes: notes(columns, options),
            picture: picture::draw(columns, options),
        }
    }

    /// How many columns there are beside the labels.
    fn width(&self) -> usize {
        self.heads.first().map_or(0, Vec::len)
    }

    /// The table as the bytes of a file.
    pub fn to_bytes(&self, form: TableForm) -> Vec<u8> {
        match form {
            TableForm::Docx => docx::document(self),
            text => self.to_text(text).unwrap_or_default().into_bytes(),
        }
    }

    /// The table as text; none for a form that is not text.
    pub fn to_text(&self, form: TableForm) -> Option<String> {
        match form {
            TableForm::Latex => Some(forms::latex(self)),
            TableForm::Markdown => Some(forms::markdown(self)),
            TableForm::Html => Some(forms::html(self)),
            TableForm::Csv => Some(forms::csv(self)),
            TableForm::Svg => Some(self.picture.clone()),
            TableForm::Docx => None,
        }
    }
}

/// The fits that a document holds, with their names in it.
fn columns_of(document: &str) -> Result<Vec<(String, Fit)>, FitFileError> {
    Ok(match Saved::from_json(document)? {
        Saved::One(fit) => vec![(String::new(), *fit)],
        Saved::Study(parts) => parts,
        Saved::Groups(groups) => {
            let fitted = groups.groups.into_iter().filter_map(|group| match group.outcome {
                GroupOutcome::Fitted(fit) => Some((group.level, *fit)),
                GroupOutcome::NotFitted(_) => None,
            });
            fitted.collect()
        }
    })
}

/// The numbers of columns, their names if there are any, and what is explained.
fn heads(columns: &[Column], options: &TableOptions) -> Vec<Vec<String>> {
    let names = columns_named(columns, options);
    let numbers = (1..=columns.len()).map(number).collect();
    let responses = columns.iter().map(|column| column.fit.design.model().response()).collect();
    let has_names = names.iter().any(|name| !name.is_empty());
    [numbers].into_iter().chain(has_names.then_some(names)).chain([responses]).collect()
}

/// What columns are called, as far as they have names.
fn columns_named(columns: &[Column], options: &TableOptions) -> Vec<String> {
    match options.names.is_empty() {
        true => columns.iter().map(|column| column.name.clone()).collect(),
        false => options.names.clone(),
    }
}

/// The coefficients that some column shows.
fn names_shown(columns: &[Column]) -> Vec<&str> {
    let fits = || columns.iter().map(|column| &column.fit);
    let is_shown = |name: &&str| fits().any(|fit| shown(fit).any(|one| one.name == **name));
    names(fits()).into_iter().filter(is_shown).collect()
}

/// What a column is called in notes.
fn number(place: usize) -> String {
    format!("({place})")
}

/// The line of a coefficient's estimates, and that of their errors or intervals.
fn lines<'a>(fits: impl Iterator<Item = &'a Fit>, name: &str, options: &TableOptions) -> [Line; 2] {
    let (above, below): (Vec<Cell>, Vec<Cell>) = fits.map(|fit| cells(fit, name, options)).unzip();
    [Line { label: name.to_owned(), cells: above }, Line { label: String::new(), cells: below }]
}

/// The coefficients that a column shows: not controls, which have no numbers.
fn shown(fit: &Fit) -> impl Iterator<Item = &Coefficient> {
    fit.reported().filter(|one| fit.first_stage.is_none() || one.estimate.is_some())
}

/// The estimate of a coefficient, and what is below it; words, or nothing, where there is none.
fn cells(fit: &Fit, name: &str, options: &TableOptions) -> (Cell, Cell) {
    let Some(one) = shown(fit).find(|one| one.name == name) else { return Default::default() };
    let Coefficient { estimate: Some(estimate), precision, .. } = one else {
        return (in_place_of_numbers(fit, one).to_owned().into(), Cell::default());
    };
    let stars =
        |found: &Precision| STARS.iter().find(|(below, _)| found.p_value < *below).map_or(0, |(_, stars)| *stars);
    let stars = precision.as_ref().filter(|_| options.stars).map_or(0, stars);
    let below = precision.as_ref().map_or(String::new(), |found| match options.intervals {
        true => format!("[{}, {}]", significant(found.low), significant(found.high)),
        false => format!("({})", significant(found.std_error)),
    });
    (Cell { text: significant(*estimate), stars }, below.into())
}

/// What is said of whole columns, without lines that would be empty.
fn foot(columns: &[Column]) -> Vec<Line> {
    let of = |label: &str, cell: &dyn Fn(&Fit) -> String| Line {
        label: label.to_owned(),
        cells: columns.iter().map(|column| cell(&column.fit).into()).collect(),
    };
    let all = [
        of("Observations", &fitted_rows),
        of("Used", &|fit| {
            fit.rows_used.map_or(String::new(), |rows| format!("about {}", grouped(rows.estimate as u64)))
        }),
        of("Controls", &|fit| {
            let count = fit.coefficients.len() - shown(fit).count();
            if count == 0 { String::new() } else { count.to_string() }
        }),
        of("Fixed effects", &|fit| fit.design.model().within().map_or(String::new(), str::to_owned)),
        of("Clustered by", &|fit| fit.person.as_ref().map_or(String::new(), |person| person.column.clone())),
        of("Weights", &|fit| fit.weights.as_ref().map_or(String::new(), |weights| weights.name().to_owned())),
        of("R-squared", &|fit| explained(fit, Family::Gaussian)),
        of("Pseudo R-squared", &|fit| explained(fit, Family::Binomial)),
        of("Residual std. error", &|fit| fit.residual_sd.map_or(String::new(), |one| significant(one.estimate))),
        of("Target", &|fit| fit.target.to_string()),
        of("Privacy budget (rho)", &|fit| fit.guarantee.rho.to_string()),
        of("Epsilon", &|fit| fit.guarantee.epsilon.to_string()),
    ];
    all.into_iter().filter(|line| line.cells.iter().any(|cell| !cell.text.is_empty())).collect()
}

/// The share explained of a fit of this family, of others nothing.
fn explained(fit: &Fit, family: Family) -> String {
    let found = fit.r_squared.filter(|_| fit.family() == family);
    found.map_or(String::new(), |one| format!("{:.3}", one.estimate))
}

fn notes(columns: &[Column], options: &TableOptions) -> Vec<String> {
    let below = match options.intervals {
        false => "Standard errors in brackets, privacy noise included.".to_owned(),
        true => format!("{} % intervals in brackets.", levels(columns)),
    };
    let stars = options.stars.then(|| "* p < 0.05, ** p < 0.01, *** p < 0.001.".to_owned());
    notes_after(columns, std::iter::once(below).chain(stars))
}

/// Those of a picture, which has intervals and no brackets.
fn notes_of_picture(columns: &[Column]) -> Vec<String> {
    notes_after(columns, [format!("{} % intervals, privacy noise included.", levels(columns))])
}

fn levels(columns: &[Column]) -> String {
    let mut levels: Vec<String> = columns.iter().map(|column| percent(column.fit.level)).collect();
    levels.dedup();
    levels.join(", ")
}

/// What is void, what the numbers are, and what they are for and cost.
fn notes_after(columns: &[Column], numbers: impl IntoIterator<Item = String>) -> Vec<String> {
    let fits: Vec<&Fit> = columns.iter().map(|column| &column.fit).collect();
    let voids = said_of(&fits, |fit| void(fit.guarantee.promise.provenance).map(str::to_owned));
    let targets = said_of(&fits, |fit| Some(format!("{}.", fit.target_text())));
    let promises = said_of(&fits, |fit| Some(promised(&fit.guarantee)));
    voids.into_iter().chain(numbers).chain(targets).chain(promises).chain(together(columns)).collect()
}

/// What is said of columns, once for all of which it is the same, behind their numbers.
fn said_of(fits: &[&Fit], say: impl Fn(&Fit) -> Option<String>) -> Vec<String> {
    let mut said: Vec<(String, Vec<String>)> = Vec::new();
    for (place, words) in (1..).zip(fits).filter_map(|(place, fit)| Some((place, say(fit)?))) {
        match said.iter_mut().find(|(known, _)| *known == words) {
            Some((_, places)) => places.push(number(place)),
            None => said.push((words, vec![number(place)])),
        }
    }
    said.into_iter().map(|(words, places)| format!("{}: {words}", places.join(", "))).collect()
}

fn void(provenance: Provenance) -> Option<&'static str> {
    match provenance {
        Provenance::System => None,
        Provenance::Seed => Some("NOT PRIVATE, the noise came from a fixed seed and can be removed."),
        Provenance::Simulated => Some("PRETEND, the rows were simulated and the numbers say nothing about anybody."),
    }
}

/// The guarantee of a column, short enough for a note.
fn promised(guarantee: &Guarantee) -> String {
    let Guarantee { promise, rho, epsilon, delta, .. } = guarantee;
    let unit = match &promise.person {
        Some(column) => format!("each person (column {column}) with all their rows"),
        None => format!("each {}", promise.unit),
    };
    format!(
        "differentially private for {unit}: {rho}-zCDP for {} neighbours, which is ({epsilon}, {delta:e})-differential privacy.",
        promise.neighbours
    )
}

/// What columns of several documents cost together, if they are of the same data.
fn together(columns: &[Column]) -> Option<String> {
    let mut guarantees: Vec<(usize, &Guarantee)> =
        columns.iter().map(|column| (column.document, &column.fit.guarantee)).collect();
    guarantees.dedup_by_key(|(document, _)| *document);
    let (_, first) = guarantees.first()?;
    let add_up = guarantees.iter().all(|(_, one)| one.promise == first.promise);
    let total = || Rho::from_units(guarantees.iter().map(|(_, one)| one.rho.units()).sum());
    match guarantees.len() {
        1 => None,
        _ if !add_up => Some("If these results are of the same people, their guarantees do not add up.".to_owned()),
        _ => Some(format!("If these results are of the same data, they cost rho = {} together.", total()?)),
    }
}

#[cfg(test)]
mod tests;
