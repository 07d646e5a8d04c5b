//! The coefficients of an event study, by period.

use std::collections::HashSet;

use super::{Event, EventCell, Model, Variable};

/// The coefficients of an event, in the order of its periods; or their averages over cohorts, by
/// periods since each cohort was treated.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EventStudy {
    /// The category that is passed through.
    pub period: String,
    /// Its levels, in the order of the formula; or the numbers of periods since.
    pub levels: Vec<String>,
    /// Which of them is the reference; `None` for averages, since it is another for each cohort.
    pub reference: Option<usize>,
    /// How many of the levels are before the event: those whose effects should be 0.
    pub before: usize,
    /// Whom the coefficients are of, as the formula calls them; `None` if all rows are.
    pub of: Option<String>,
    /// The names of the coefficients of each level; empty at the reference.
    pub coefficients: Vec<Vec<String>>,
    /// What each of them counts in an average; they sum to 1.
    pub weights: Vec<Vec<f64>>,
    /// Whether averages count cohorts by shares that the formula gives, and not alike.
    pub has_shares: bool,
    /// Whether the periods have effects of their own in the model, without which these are no
    /// differences between the treated and others.
    pub has_periods: bool,
}

impl EventStudy {
    /// The coefficients of each level, and what each counts.
    pub fn averages(&self) -> impl Iterator<Item = (&[String], &[f64])> {
        self.coefficients.iter().map(Vec::as_slice).zip(self.weights.iter().map(Vec::as_slice))
    }

    /// Whether these are averages over cohorts.
    pub fn is_average(&self) -> bool {
        self.reference.is_none()
    }
}

impl Model {
    /// What each column of an event is 1 for.
    pub fn event_cells(&self, event: &Event) -> Vec<EventCell> {
        let periods = self.levels_of(&event.period).unwrap_or_default();
        let kept = (0..).zip(periods).filter(|(_, level)| **level != event.reference).map(|(period, _)| period);
        let kept: Vec<u32> = kept.collect();
        let groups: Vec<Option<u32>> = match &event.of {
            None => vec![None],
            Some(of) => {
                (1..).zip(self.levels_of(of).unwrap_or_default().iter().skip(1)).map(|(of, _)| Some(of)).collect()
            }
        };
        groups.into_iter().flat_map(|of| kept.iter().map(move |&period| EventCell { period, of })).collect()
    }

    /// `period::4:treated`, as fixest prints it, or `period::4:cohort::2006` where a category has
    /// more levels than two.
    pub(super) fn event_name(&self, event: &Event, cell: EventCell) -> String {
        let period = &self.levels_of(&event.period).unwrap_or_default()[cell.period as usize];
        let of = self.treated(event, cell.of).map_or(String::new(), |of| format!(":{of}"));
        format!("{}::{period}{of}", event.period)
    }

    fn treated(&self, event: &Event, level: Option<u32>) -> Option<String> {
        let (of, level) = (event.of.as_ref()?, level?);
        let levels = self.levels_of(of).unwrap_or_default();
        Some(if levels.len() == 2 { of.clone() } else { format!("{of}::{}", levels[level as usize]) })
    }

    /// The columns that events read.
    pub fn event_columns(&self) -> HashSet<&str> {
        let variables = self.terms.iter().flat_map(|term| &term.0);
        let events = variables.filter_map(|one| if let Variable::Event(event) = one { Some(event) } else { None });
        events.flat_map(Event::columns).collect()
    }

    /// The event studies of the model: one for each event that is a term, and for each group of
    /// those who are treated; and the averages over such groups that are called as the period from
    /// which they are treated.
    pub fn event_studies(&self) -> Vec<EventStudy> {
        let events = self.terms.iter().filter_map(|term| match &term.0[..] {
            [Variable::Event(event)] => Some(event),
            _ => None,
        });
        events.flat_map(|event| self.studies_of(event)).collect()
    }

    fn studies_of(&self, event: &Event) -> Vec<EventStudy> {
        let levels = self.levels_of(&event.period).unwrap_or_default();
        let reference = levels.iter().position(|level| *level == event.reference).expect("the model was checked");
        let cells = self.event_cells(event);
        let study = |cells: &[EventCell]| {
            let mut coefficients: Vec<Vec<String>> =
                cells.iter().map(|cell| vec![self.event_name(event, *cell)]).collect();
            coefficients.insert(reference, Vec::new());
            EventStudy {
                period: event.period.clone(),
                levels: levels.to_vec(),
                reference: Some(reference),
                before: reference,
                of: self.treated(event, cells[0].of),
                weights: coefficients.iter().map(|names| vec![1.0; names.len()]).collect(),
                has_shares: false,
                coefficients,
                has_periods: self.terms.iter().any(|term| term.as_column() == Some(&event.period)),
            }
        };
        let mut studies: Vec<EventStudy> = cells.chunks(levels.len() - 1).map(study).collect();
        studies.extend(self.average_over_cohorts(event, &studies));
        studies
    }

    /// The averages over cohorts by periods since each was treated (Sun and Abraham 2021), counted
    /// alike or by shares among those that have the period; `None` unless there are several, each
    /// called as the period from which it is treated, and the reference is before all of these.
    fn average_over_cohorts(&self, event: &Event, studies: &[EventStudy]) -> Option<EventStudy> {
        let of = event.of.as_ref()?;
        let levels = self.levels_of(&event.period)?;
        let cohorts = &self.levels_of(of)?[1..];
        let from = |cohort: &String| levels.iter().position(|level| level == cohort);
        let from: Vec<usize> = cohorts.iter().map(from).collect::<Option<_>>()?;
        let (first, last) = (*from.iter().min()?, *from.iter().max()?);
        if cohorts.len() < 2 || first <= studies[0].reference? {
            return None;
        }
        let at = |since: isize| -> Vec<(String, f64)> {
            let of_cohort = |(place, (study, from)): (usize, (&EventStudy, &usize))| -> Vec<(String, f64)> {
                let share = event.shares.get(place).copied().unwrap_or(1.0);
                let period = from.checked_add_signed(since);
                let names = period.and_then(|period| study.coefficients.get(period));
                names.into_iter().flatten().map(|name| (name.clone(), share)).collect()
            };
            let found: Vec<(String, f64)> = studies.iter().zip(&from).enumerate().flat_map(of_cohort).collect();
            let sum: f64 = found.iter().map(|(_, share)| share).sum();
            found.into_iter().map(|(name, share)| (name, share / sum)).collect()
        };
        let range = -last.cast_signed()..(levels.len() - first).cast_signed();
        let all: Vec<(isize, Vec<(String, f64)>)> =
            range.map(|since| (since, at(since))).filter(|(_, found)| !found.is_empty()).collect();
        let levels = all.iter().map(|(since, _)| since.to_string()).collect();
        let before = all.iter().filter(|(since, _)| *since < 0).count();
        let (coefficients, weights) = all.into_iter().map(|(_, found)| found.into_iter().unzip()).unzip();
        Some(EventStudy {
            period: format!("{} since {of}", event.period),
            levels,
            reference: None,
            before,
            of: Some(of.clone()),
            coefficients,
            weights,
            has_shares: !event.shares.is_empty(),
            has_periods: studies[0].has_periods,
        })
    }
}
