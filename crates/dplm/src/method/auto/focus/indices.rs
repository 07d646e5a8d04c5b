//! Coefficients of interest where there are too many controls to tell apart.
//!
//! The controls are then not in the model one by one. What is: an index of them for the response
//! and one for each column of interest, which are linear functions of a row whose weights were
//! released. That is an ordinary regression with a few columns, whose population is defined whether
//! the descents that found the weights came near to anything or not. How far its coefficients are
//! from those given every control is the product of what the two kinds of indices miss.
//!
//! An index that is used on the rows that it was found on has learnt their errors. Rows therefore
//! stand beside a copy that is zero for one half of the units (`lattice/half.rs`): coefficients of
//! the row are those of the first half, and those of the copy what the second half adds. In
//! coordinates with one block for each half, one descent regresses both halves separately: the
//! gradient of a unit is in the block of its half, and as long as it would be alone, so that each
//! half has the noise of one query on all rows. Each half is then given the indices of the other
//! (Chernozhukov et al. 2018).

use faer::Mat;

use super::{
    super::{
        Plan,
        ask::Ask,
        on_assumptions::OnAssumptions,
        on_rows::OnRows,
        sequence::{Response, Sequence},
        start::constant,
        whiten::{Found, Round, White},
    },
    CLIPPED_OF_NUMBER, Focused, LARGEST, RANGE, Wanted,
    split::{OF_INDEX, USUAL_ROUND},
};
use crate::{
    Coefficient, Error, Progress,
    fit::{Index, Left},
    interval::Inference,
    lattice::{Design, Whitening},
    matrix::{dot, times},
    method::{Outcome, Request},
    plan::{Assumed, Planned},
    privacy::{Budget, noise::RandomWords},
    rows::Rows,
    warning::Warning,
};

/// Rounds of whitening: one for the scales of columns, one for what they have in common, and more
/// while some direction is found to be far longer or shorter than others.
const ROUNDS: usize = 2;
const MOST_ROUNDS: usize = 4;

/// Smaller columns would lose their digits on the lattice.
const LEAST_SD: f64 = 1.0 / 64.0;

/// What the controls become.
pub(in crate::method::auto) struct Indices {
    /// How a row and its copy make the columns of the fit given the indices.
    whitening: Whitening,
    /// That fit's columns, and those of interest among them.
    design: Design,
    wanted: Wanted,
}

/// What was found on each half of the units, as weights of the standardised parameters.
type OfHalves = [Vec<f64>; 2];

impl<A: Ask> Sequence<'_, A> {
    /// One index of the controls for the response and one for each column of interest.
    fn indices(&mut self, wanted: &Wanted) -> Result<Indices, Error> {
        let (plan, design) = (self.plan, self.design);
        let rounds = self.rounds()?;
        let found = Found::of(&rounds, plan.floor_of(&rounds, design));
        let radius = rounds.last().expect("there was a first round").radius;
        let (all, is_control) = (0..plan.features, |j: &usize| !wanted.parameters.contains(j));
        let controls = found.coordinates_of(&all.clone().filter(is_control).collect::<Vec<_>>(), radius);
        let whole = found.coordinates_of(&all.collect::<Vec<_>>(), radius);
        let left = self.budget.left();
        let of_model = Response::of_model(design);
        let b = self.regress(&whole.of_halves(None), of_model, left.share(OF_INDEX), "response, by halves")?;
        // Where indices are as large as columns of interest, one round of second moments sees both.
        let scales: Vec<f64> = wanted.parameters.iter().map(|&j| found.scale_of(j, design)).collect();
        let usual = scales.iter().sum::<f64>() / scales.len() as f64;
        let mut weights = vec![controls.index(&whole, &b.estimate.theta, usual, design)];
        for (&j, &scale) in wanted.parameters.iter().zip(&scales) {
            // A level is a large residual of few rows, of which a narrow clip sees nothing.
            let most_clipped = if design.slots()[j].is_level() { CLIPPED_OF_NUMBER } else { 1.0 };
            let response = Response { largest: (RANGE / scale).min(LARGEST), most_clipped };
            let (white, rho) =
                (controls.of_halves(Some((j, scale))), left.share(OF_INDEX / wanted.parameters.len() as f64));
            let g = self.regress(&white, response, rho, &format!("{}, by halves", design.names()[j]))?;
            weights.push(controls.index(&controls, &g.estimate.theta, scale, design));
        }
        Ok(Indices::of(&weights, wanted, design))
    }
}

impl Found {
    /// Coordinates of some columns, none of which is judged.
    fn coordinates_of(&self, columns: &[usize], radius: f64) -> White {
        let turn = self.turn(columns);
        let white = White::new(Whitening::new(turn.matrix.as_ref()), columns.to_vec());
        White { moments: turn.moments, radius, ..white }
    }

    /// About the standard deviation of a column.
    fn scale_of(&self, j: usize, design: &Design) -> f64 {
        let constant: &[usize] = if design.has_intercept() { &[0] } else { &[] };
        let column = self.basis.col_as_slice(j);
        self.new_in(j, constant).unwrap_or_else(|| dot(column, column)).sqrt()
    }
}

impl White {
    /// The same coordinates twice, for the rows of each half of the units: `sqrt 2` times as long,
    /// so that second moments are as before. A column may be the response, in units of its scale.
    fn of_halves(&self, response: Option<(usize, f64)>) -> White {
        let matrix = self.whitening.matrix();
        let (p, m, larger) = (matrix.nrows(), matrix.ncols(), std::f64::consts::SQRT_2);
        let entry = |j: usize, k: usize| match (j < p, k < m) {
            (true, true) => larger * matrix[(j, k)],
            (false, true) => -larger * matrix[(j - p, k)],
            (true, false) => 0.0,
            (false, false) => larger * matrix[(j - p, k - m)],
        };
        let doubled = Mat::from_fn(2 * p, 2 * m, entry);
        let whitening = match response {
            None => Whitening::new(doubled.as_ref()),
            Some((j, scale)) => {
                let weights: Vec<f64> = (0..=2 * p).map(|i| if i == j { 1.0 / scale } else { 0.0 }).collect();
                Whitening::with_response(doubled.as_ref(), &weights)
            }
        };
        let kept = &self.coordinates.kept;
        let kept = kept.iter().copied().chain(kept.iter().map(|j| p + j)).collect();
        let moments = [&self.moments[..], &self.moments[..]].concat();
        let white = White::new(whitening.beside_half(), kept);
        White { moments, radius: larger * self.radius, ..white }
    }

    /// The index that a descent in the coordinates of both halves of `of` found, on each of them,
    /// as weights of these controls: without the constant, and with about this standard deviation.
    fn index(&self, of: &White, theta: &[f64], sd: f64, design: &Design) -> OfHalves {
        let (first, second) = theta.split_at(theta.len() / 2);
        let constant = constant(design, self);
        let turned = [first, second].map(|theta| {
            let found = times(&of.whitening.matrix(), theta);
            let of_controls: Vec<f64> = self.coordinates.kept.iter().map(|&j| found[j]).collect();
            let mut turned = times(&self.coordinates.basis, &of_controls);
            if let Some(constant) = &constant {
                let along = dot(constant, &turned);
                turned.iter_mut().zip(constant).for_each(|(entry, one)| *entry -= along * one);
            }
            turned
        });
        let size = turned.iter().map(|turned| dot(turned, turned)).sum::<f64>() / 2.0;
        let larger = sd.clamp(LEAST_SD, 1.0) / size.sqrt().max(f64::MIN_POSITIVE);
        turned.map(|turned| times(&self.whitening.matrix(), &turned).iter().map(|weight| larger * weight).collect())
    }
}

impl Indices {
    fn of(weights: &[OfHalves], wanted: &Wanted, design: &Design) -> Indices {
        let p = design.features();
        let own: Vec<usize> =
            design.has_intercept().then_some(0).into_iter().chain(wanted.parameters.clone()).collect();
        let mut matrix = Mat::zeros(2 * p, own.len() + weights.len());
        own.iter().enumerate().for_each(|(place, &j)| matrix[(j, place)] = 1.0);
        for (place, [first, second]) in (own.len()..).zip(weights) {
            // A row of the first half gets what the second found, and the copy makes the rows of
            // the second half get what the first found.
            for j in 0..p {
                matrix[(j, place)] = second[j];
                matrix[(p + j, place)] = first[j] - second[j];
            }
        }
        let names = design.names();
        let told =
            std::iter::once(design.model().response()).chain(wanted.parameters.iter().map(|&j| names[j].clone()));
        let told: Vec<String> = told.map(|name| format!("index for {name}")).collect();
        let place = |j: &usize| own.iter().position(|one| one == j).expect("it is one of these");
        Indices {
            whitening: Whitening::new(matrix.as_ref()).beside_half(),
            wanted: Wanted {
                coefficients: wanted.coefficients.iter().map(place).collect(),
                parameters: wanted.parameters.iter().map(place).collect(),
            },
            design: design.given_indices(&own, &told),
        }
    }

    /// The same assumptions, in which indices are uncorrelated with the columns of interest.
    fn assumed(&self, assumed: &Assumed, own: &Wanted, features: usize) -> Assumed {
        let all = assumed.moments(features);
        let first = self.wanted.parameters[0];
        let before = |place: usize| match place.checked_sub(first) {
            None => Some(0),
            Some(place) => own.parameters.get(place).copied(),
        };
        let entry = |i: usize, j: usize| match (before(i), before(j)) {
            (Some(one), Some(other)) => all[(one, other)],
            _ => f64::from(u8::from(i == j)),
        };
        let size = self.design.features();
        assumed.clone().with_moments(Mat::from_fn(size, size, entry))
    }

    /// All of them, with the weights of rows and of their copies.
    fn all(&self) -> impl Iterator<Item = Index> {
        let (matrix, own) = (self.whitening.matrix(), self.wanted.parameters[0] + self.wanted.parameters.len());
        let index = move |(place, name): (usize, &String)| Index {
            name: name.clone(),
            weights: matrix.col_as_slice(place).to_vec(),
        };
        self.design.names().iter().enumerate().skip(own).map(index)
    }

    /// What rows became for their mean score, of a row and its copy.
    fn left(&self, left: Left, own: &Wanted) -> Left {
        let matrix = self.whitening.matrix();
        let (of_cells, of_response) = left.response.split_at(matrix.ncols());
        let parameters = left.parameters.iter().map(|j| own.parameters[j - self.wanted.parameters[0]]).collect();
        let response = times(&matrix, of_cells).into_iter().chain(of_response.iter().copied()).collect();
        Left { matrix: &matrix * &left.matrix, response, parameters, ..left }
    }
}

impl Plan {
    /// The share of another round of whitening, if it is needed.
    pub(in crate::method::auto) fn next_round_for_indices(&self, rounds: &[Round]) -> Option<f64> {
        let last = rounds.last().expect("there was a first round");
        let is_needed = rounds.len() < ROUNDS || rounds.len() < MOST_ROUNDS && last.is_uneven();
        is_needed.then_some(USUAL_ROUND)
    }

    /// What cross-fitting adds to the variance of each mean score, which is 1 over the rows.
    ///
    /// What the errors `e` of one half make of the index for the response there meets what is new
    /// in the column, `v`, in the other: `(sum e c)' S^-1 (sum v c) 2 / n`. Half by half the
    /// sandwich has this variance of the scores, but the same product is in the scores of both: its
    /// variance, `p` over the square of the rows, counts four times and not twice, for each of the
    /// two ways.
    pub(super) fn added_by_crossing(&self) -> f64 {
        4.0 * self.crossed as f64 / (self.rows as f64).powi(2)
    }

    /// The plan of the fit given the indices, on what is left of the budget.
    fn given(&self, indices: &Indices, budget: &Budget) -> Plan {
        let request = Request { rho: budget.left(), ..self.request.clone() };
        let (features, wanted) = (indices.design.features(), Some(indices.wanted.clone()));
        Plan { request, features, wanted, by_indices: false, crossed: self.features, ..self.clone() }
    }

    /// The fit, of rows.
    pub(in crate::method::auto) fn run_by_indices<R: RandomWords>(
        &self,
        rows: &mut dyn Rows,
        (design, wanted): (&Design, &Wanted),
        rng: &mut R,
        progress: Progress<'_>,
    ) -> Result<Outcome, Error> {
        let mut budget = Budget::new(self.request.rho);
        let ask = &mut OnRows::new(self, design, rows, rng);
        let indices = self.sequence(design, &mut budget, ask, progress).indices(wanted)?;
        let (plan, mut given) = (self.given(&indices, &budget), rows.whitened(&indices.whitening)?);
        let ask = &mut OnRows::new(&plan, &indices.design, given.as_mut(), rng);
        let focused = plan.fit_given(&indices, &mut budget, ask, progress)?;
        let outcome = focused.outcome(ask, &indices.wanted, budget.releases())?;
        Ok(indices.told(outcome, (design, wanted)))
    }

    /// The results if columns are as assumed.
    pub(in crate::method::auto) fn foreseen_by_indices(
        &self,
        (design, wanted): (&Design, &Wanted),
        assumed: &Assumed,
    ) -> Result<Planned, Error> {
        let mut budget = Budget::new(self.request.rho);
        let ask = &mut OnAssumptions::new(self, assumed);
        let indices = self.sequence(design, &mut budget, ask, Progress::NONE).indices(wanted)?;
        let (plan, assumed) = (self.given(&indices, &budget), indices.assumed(assumed, wanted, self.features));
        let ask = &mut OnAssumptions::new(&plan, &assumed);
        let focused = plan.fit_given(&indices, &mut budget, ask, Progress::NONE)?;
        let planned = focused.planned(ask, &indices.wanted, budget.releases())?;
        let of_interest = Some(wanted.coefficients.clone());
        Ok(Planned { kept: (0..self.features).collect(), left_out: Vec::new(), of_interest, ..planned })
    }

    fn fit_given<A: Ask>(
        &self,
        indices: &Indices,
        budget: &mut Budget,
        ask: &mut A,
        progress: Progress<'_>,
    ) -> Result<Focused<A>, Error> {
        let mut part = budget.part(budget.left())?;
        let focused = self.sequence(&indices.design, &mut part, ask, progress).partialled_out(&indices.wanted)?;
        budget.join(part, |release| format!("{release}, given the indices"));
        Ok(focused)
    }
}

impl Indices {
    /// The outcome of the fit given the indices, as one of the model.
    fn told(&self, outcome: Outcome, (design, wanted): (&Design, &Wanted)) -> Outcome {
        let Outcome { coefficients, inference, left_out, focus, warnings, .. } = outcome;
        let blank =
            |name: &String| Coefficient { name: name.clone(), estimate: None, precision: None, identified: false };
        let found = |name: &String| coefficients.iter().find(|one| one.name == *name && design.names().contains(name));
        let focus = focus.map(|focus| {
            let is_in_model = |index: &Index| !focus.not_controlled_for.contains(&index.name);
            let indices = self.all().filter(is_in_model).collect();
            let left = focus.left.map(|left| self.left(left, wanted));
            wanted.told(design, Vec::new()).given_indices(indices, left)
        });
        let left_out: Vec<_> = left_out.into_iter().filter(|one| design.names().contains(&one.name)).collect();
        let warnings = warnings.into_iter().filter_map(|warning| match warning {
            Warning::LeftOut { .. } => (!left_out.is_empty()).then(|| Warning::LeftOut { columns: left_out.clone() }),
            other => Some(other),
        });
        let first = self.wanted.parameters[0];
        let placed = |j: usize| j.checked_sub(first).and_then(|place| wanted.parameters.get(place).copied());
        let inference = inference.map(|inference| match inference {
            Inference::Newton(newton) => newton.placed(design.features(), placed).into(),
            other => other,
        });
        Outcome {
            coefficients: design
                .names()
                .iter()
                .map(|name| found(name).cloned().unwrap_or_else(|| blank(name)))
                .collect(),
            warnings: warnings.collect(),
            inference,
            left_out,
            focus,
            ..outcome
        }
    }
}
