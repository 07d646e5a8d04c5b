//! The coefficients of an event study, by period.

use std::collections::HashSet;

use super::{Event, EventCell, Model, Variable};

/// The coefficients of an event, in the order of its periods.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventStudy {
    /// The category that is passed through.
    pub period: String,
    /// Its levels, in the order of the formula.
    pub levels: Vec<String>,
    /// Which of them is the reference.
    pub reference: usize,
    /// Whom the coefficients are of, as the formula calls them; `None` if all rows are.
    pub of: Option<String>,
    /// The name of the coefficient of each level; none of the reference.
    pub coefficients: Vec<Option<String>>,
    /// Whether the periods have effects of their own in the model, without which these are no
    /// differences between the treated and others.
    pub has_periods: bool,
}

impl EventStudy {
    /// The coefficients of the periods before the reference, in the order in which the formula
    /// lists its levels.
    pub fn before(&self) -> impl Iterator<Item = &str> {
        self.coefficients[..self.reference].iter().flatten().map(String::as_str)
    }
}

impl Model {
    /// What each column of an event is 1 for.
    pub(crate) fn event_cells(&self, event: &Event) -> Vec<EventCell> {
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
    pub(crate) fn event_columns(&self) -> HashSet<&str> {
        let variables = self.terms.iter().flat_map(|term| &term.0);
        let events = variables.filter_map(|one| if let Variable::Event(event) = one { Some(event) } else { None });
        events.flat_map(Event::columns).collect()
    }

    /// The event studies of the model: one for each event that is a term, and for each group of
    /// those who are treated.
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
            let mut coefficients: Vec<Option<String>> =
                cells.iter().map(|cell| Some(self.event_name(event, *cell))).collect();
            coefficients.insert(reference, None);
            EventStudy {
                period: event.period.clone(),
                levels: levels.to_vec(),
                reference,
                of: self.treated(event, cells[0].of),
                coefficients,
                has_periods: self.terms.iter().any(|term| term.as_column() == Some(&event.period)),
            }
        };
        cells.chunks(levels.len() - 1).map(study).collect()
    }
}
