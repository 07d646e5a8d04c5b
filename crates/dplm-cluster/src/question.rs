//! Questions as bytes.
//!
//! A question is flat: which one it is, up to two points of parameters, and whole numbers. Before
//! it come the released matrices that rows are re-encoded through, and the clip. What is read back
//! is checked so far that no question can make the arithmetic inexact.

use dplm::{
    lattice::{Clip, ClippedOuter, Ladder, Lattice, Link, Number, Outer, Theta, Whitening},
    rows::engine::{Each, Region, Sum},
};

use crate::bytes::{Kind, Reader, Writer};

/// What blocks are asked.
pub(crate) enum Ask<'a> {
    /// Nothing but that they are there.
    Presence,
    /// A sum over all rows.
    Sum(Sum<'a>),
    /// What is known over a region; undecided rows are not sent if more than `most` in 2^16 rows
    /// are.
    Sorted { region: &'a Region, lattice: &'a Lattice, most: u64 },
    /// About one row in `one_in`.
    Sample { one_in: u64 },
}

/// What comes before a question: how rows are re-encoded, and how they are clipped.
pub(crate) struct Setting<'a> {
    /// Coefficients of a packed row.
    pub(crate) features: usize,
    /// Who is asked.
    pub(crate) of: Of,
    pub(crate) whitenings: &'a [Whitening],
    pub(crate) clip: Option<&'a Clip>,
}

/// Who is asked: the units of one group or all, and, where these are persons, the most rows that
/// one has.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Of {
    pub(crate) group: Option<u32>,
    pub(crate) rows_in_unit: Option<u32>,
}

impl Of {
    /// None are written as a number that neither can be.
    fn write(self, writer: &mut Writer) {
        writer.u32(self.group.unwrap_or(u32::MAX));
        writer.u32(self.rows_in_unit.unwrap_or(0));
    }

    fn read(reader: &mut Reader<'_>) -> Option<Of> {
        let (group, rows) = (reader.u32()?, reader.u32()?);
        Some(Of { group: (group != u32::MAX).then_some(group), rows_in_unit: (rows != 0).then_some(rows) })
    }
}

/// Which question the numbers belong to.
mod kind {
    pub(crate) const PRESENCE: u8 = 0;
    pub(crate) const GRADIENT: u8 = 1;
    pub(crate) const SQUARE: u8 = 2;
    pub(crate) const IS_CLIPPED: u8 = 3;
    pub(crate) const SHRUNK: u8 = 6;
    pub(crate) const UNCLIPPED: u8 = 7;
    pub(crate) const WITHIN: u8 = 8;
    pub(crate) const GRADIENTS: u8 = 9;
    pub(crate) const MOMENTS: u8 = 10;
    pub(crate) const TALLY_NORMS: u8 = 11;
    pub(crate) const TALLY_GRADIENTS: u8 = 12;
    pub(crate) const TALLY_RESIDUALS: u8 = 13;
    pub(crate) const SORTED: u8 = 14;
    pub(crate) const SAMPLE: u8 = 15;
    pub(crate) const BEND: u8 = 16;
    pub(crate) const OUTCOME: u8 = 17;
    pub(crate) const VARIANCE: u8 = 18;
    pub(crate) const ENTROPY: u8 = 19;
}

/// A question taken apart.
struct Flat<'a> {
    kind: u8,
    theta_bits: u32,
    points: Vec<&'a Theta>,
    numbers: Vec<u64>,
}

impl<'a> Flat<'a> {
    fn plain(kind: u8, numbers: Vec<u64>) -> Flat<'a> {
        Flat { kind, theta_bits: 0, points: Vec::new(), numbers }
    }

    fn at(kind: u8, theta: &'a Theta, theta_unit: f64, numbers: Vec<u64>) -> Flat<'a> {
        Flat { kind, theta_bits: bits_of(theta_unit), points: vec![theta], numbers }
    }

    fn of(ask: &Ask<'a>) -> Flat<'a> {
        match ask {
            Ask::Presence => Flat::plain(kind::PRESENCE, Vec::new()),
            Ask::Sum(sum) => Flat::of_sum(sum),
            Ask::Sorted { region, lattice, most } => Flat {
                kind: kind::SORTED,
                theta_bits: lattice.theta_bits(),
                points: vec![&region.from, &region.to],
                numbers: vec![region.radius.to_bits(), *most],
            },
            Ask::Sample { one_in } => Flat::plain(kind::SAMPLE, vec![*one_in]),
        }
    }

    fn of_sum(sum: &Sum<'a>) -> Flat<'a> {
        match sum {
            Sum::Each(each, (theta, lattice), _) => {
                let (kind, numbers) = match each {
                    Each::Gradient => (kind::GRADIENT, Vec::new()),
                    Each::Bend => (kind::BEND, Vec::new()),
                    Each::Number(Number::Outcome) => (kind::OUTCOME, Vec::new()),
                    Each::Number(Number::Variance) => (kind::VARIANCE, Vec::new()),
                    Each::Number(Number::Entropy) => (kind::ENTROPY, Vec::new()),
                    Each::Square => (kind::SQUARE, Vec::new()),
                    Each::IsClipped => (kind::IS_CLIPPED, Vec::new()),
                };
                Flat::at(kind, theta, lattice.theta_unit(), numbers)
            }
            Sum::Outer(outer) => Flat::of_outer(outer),
            Sum::ClippedOuter(outer, _) => Flat::of_clipped_outer(outer),
            Sum::Moments => Flat::plain(kind::MOMENTS, Vec::new()),
            Sum::Tally(ladder) => Flat::of_ladder(ladder),
            Sum::Custom(_) => unreachable!("`Rows::custom` refuses rows on other machines"),
        }
    }

    fn of_outer(outer: &'a Outer<'a>) -> Flat<'a> {
        match outer {
            Outer::Shrunk { radius } => Flat::plain(kind::SHRUNK, vec![*radius]),
            Outer::Within { theta, theta_unit, radius, residual } => {
                Flat::at(kind::WITHIN, theta, *theta_unit, vec![*radius, *residual])
            }
        }
    }

    fn of_clipped_outer(outer: &'a ClippedOuter<'a>) -> Flat<'a> {
        match outer {
            ClippedOuter::Unclipped { theta, theta_unit, radius } => {
                Flat::at(kind::UNCLIPPED, theta, *theta_unit, vec![*radius])
            }
            ClippedOuter::Gradient { theta, theta_unit } => Flat::at(kind::GRADIENTS, theta, *theta_unit, Vec::new()),
        }
    }

    fn of_ladder(ladder: &'a Ladder<'a>) -> Flat<'a> {
        match ladder {
            Ladder::Norms { radii } => Flat::plain(kind::TALLY_NORMS, radii.to_vec()),
            Ladder::Gradients { theta, theta_unit, clips } => {
                Flat::at(kind::TALLY_GRADIENTS, theta, *theta_unit, clips.iter().map(gamma).collect())
            }
            Ladder::Residuals { theta, theta_unit, sizes } => {
                Flat::at(kind::TALLY_RESIDUALS, theta, *theta_unit, sizes.to_vec())
            }
        }
    }
}

/// The unit of parameters is a power of two.
fn bits_of(theta_unit: f64) -> u32 {
    theta_unit.log2() as u32
}

fn gamma(clip: &Clip) -> u64 {
    clip.gamma().try_into().expect("a clip is below 2^63")
}

/// The bytes of a question.
pub(crate) fn written(setting: &Setting<'_>, ask: &Ask<'_>) -> Vec<u8> {
    let mut writer = Writer::new(Kind::Question);
    writer.count(setting.features);
    setting.of.write(&mut writer);
    writer.count(setting.whitenings.len());
    for whitening in setting.whitenings {
        let (integers, unit_bits) = whitening.integers();
        writer.count(whitening.outputs());
        writer.u32(unit_bits.cast_unsigned());
        writer.u8(whitening.is_beside_half().into());
        writer.f64s(integers);
        writer.u8(whitening.response().is_some().into());
        writer.f64s(whitening.response().unwrap_or(&[]));
        writer.u8(whitening.tilt().is_some().into());
        if let Some((theta, theta_unit)) = whitening.tilt() {
            writer.u32(bits_of(theta_unit));
            writer.f64s(theta.integers());
        }
        writer.u64(whitening.length().unwrap_or(0));
    }
    writer.u8(setting.clip.is_some().into());
    writer.u64(setting.clip.map_or(0, gamma));
    let flat = Flat::of(ask);
    writer.u8(flat.kind);
    writer.u32(flat.theta_bits);
    writer.u8(flat.points.iter().any(|theta| theta.link() == Link::Logistic).into());
    writer.count(flat.points.len());
    flat.points.iter().for_each(|theta| writer.f64s(theta.integers()));
    writer.count(flat.numbers.len());
    flat.numbers.iter().for_each(|number| writer.u64(*number));
    writer.finish()
}

/// A change of coordinates of rows with this many cells.
fn read_whitening(reader: &mut Reader<'_>, cells: usize) -> Option<Whitening> {
    let (outputs, unit_bits) = (reader.count()?, reader.u32()?.cast_signed());
    let is_beside_half = reader.u8()? != 0;
    let inputs = if is_beside_half { cells.checked_mul(2)? } else { cells };
    let integers = reader.f64s(inputs.checked_mul(outputs)?)?;
    let response = match reader.u8()? {
        0 => None,
        _ => Some(reader.f64s(inputs.checked_add(1)?)?),
    };
    let whitening = Whitening::of_integers(inputs, outputs, integers, response, unit_bits)?;
    let whitening = match reader.u8()? {
        0 => whitening,
        _ => {
            let lattice = Lattice::of_bits(outputs, reader.u32()?)?.of_link(Link::Logistic);
            whitening.tilted(lattice.theta_of(reader.f64s(outputs)?)?, &lattice)
        }
    };
    let length = Some(reader.u64()?).filter(|&length| length > 0 && length < MOST_RADIUS);
    let whitening = whitening.shortened_to(length);
    Some(if is_beside_half { whitening.beside_half() } else { whitening })
}

/// A question that was read.
pub(crate) struct Question {
    pub(crate) features: usize,
    pub(crate) of: Of,
    pub(crate) whitenings: Vec<Whitening>,
    pub(crate) clip: Option<Clip>,
    kind: u8,
    lattice: Option<Lattice>,
    points: Vec<Theta>,
    numbers: Vec<u64>,
}

/// Larger radii are not asked for, and their squares fit no integer.
const MOST_RADIUS: u64 = 1 << 62;

impl Question {
    pub(crate) fn read(bytes: &[u8]) -> Result<Question, crate::RemoteError> {
        let mut reader = Reader::new(bytes, Kind::Question)?;
        let question = Question::read_body(&mut reader).filter(|_| reader.is_at_end());
        // What cannot be asked is found here, before a row is looked at.
        question.filter(|question| question.with_ask(|_| ()).is_some()).ok_or(Kind::Question.malformed())
    }

    fn read_body(reader: &mut Reader<'_>) -> Option<Question> {
        let (features, of) = (reader.count()?, Of::read(reader)?);
        let (mut whitenings, mut inputs) = (Vec::new(), features);
        for _ in 0..reader.count()? {
            let whitening = read_whitening(reader, inputs)?;
            inputs = whitening.outputs();
            whitenings.push(whitening);
        }
        let (is_clipped, gamma) = (reader.u8()?, reader.u64()?);
        let clip = match is_clipped {
            0 => None,
            _ => Some(checked_clip(gamma)?),
        };
        let (kind, theta_bits) = (reader.u8()?, reader.u32()?);
        let link = if reader.u8()? == 0 { Link::Identity } else { Link::Logistic };
        let lattice = Lattice::of_bits(inputs, theta_bits).map(|lattice| lattice.of_link(link));
        let count = reader.count().filter(|count| *count <= 2)?;
        let points = (0..count).map(|_| lattice?.theta_of(reader.f64s(inputs)?)).collect::<Option<Vec<Theta>>>()?;
        let count = reader.count()?;
        let numbers = reader.u64s(count)?;
        Some(Question { features, of, whitenings, clip, kind, lattice, points, numbers })
    }

    /// Coefficients of a row once it is re-encoded.
    pub(crate) fn outputs(&self) -> usize {
        self.whitenings.last().map_or(self.features, Whitening::outputs)
    }

    fn at(&self) -> Option<(&Theta, &Lattice)> {
        Some((self.points.first()?, self.lattice.as_ref()?))
    }

    /// Shows what is asked; `None` if that makes no sense.
    pub(crate) fn with_ask<R>(&self, see: impl FnOnce(&Ask<'_>) -> R) -> Option<R> {
        match self.kind {
            kind::PRESENCE => Some(see(&Ask::Presence)),
            kind::SAMPLE => {
                self.clip?;
                let &[one_in] = &self.numbers[..] else { return None };
                Some(see(&Ask::Sample { one_in }))
            }
            kind::SORTED => self.with_region(see),
            kind::GRADIENT..=kind::IS_CLIPPED | kind::BEND..=kind::ENTROPY => self.with_term(see),
            kind::SHRUNK..=kind::GRADIENTS => self.with_outer(see),
            kind::MOMENTS => Some(see(&Ask::Sum(Sum::Moments))),
            kind::TALLY_NORMS..=kind::TALLY_RESIDUALS => self.with_ladder(see),
            _ => None,
        }
    }

    fn with_region<R>(&self, see: impl FnOnce(&Ask<'_>) -> R) -> Option<R> {
        let &[radius, most] = &self.numbers[..] else { return None };
        let [from, to] = &self.points[..] else { return None };
        let radius = Some(f64::from_bits(radius)).filter(|radius| radius.is_finite() && *radius >= 0.0)?;
        let region = Region::new(from.clone(), to.clone(), radius, self.clip.as_ref()?);
        Some(see(&Ask::Sorted { region: &region, lattice: self.lattice.as_ref()?, most }))
    }

    fn with_term<R>(&self, see: impl FnOnce(&Ask<'_>) -> R) -> Option<R> {
        let (at, clip) = (self.at()?, self.clip.as_ref()?);
        let see = |term| Some(see(&Ask::Sum(Sum::Each(term, at, clip))));
        match self.kind {
            kind::GRADIENT => see(Each::Gradient),
            kind::SQUARE => see(Each::Square),
            kind::IS_CLIPPED => see(Each::IsClipped),
            // Of rows that stand for themselves, and of binary responses.
            kind::BEND if self.of.rows_in_unit.is_some() || at.1.link() == Link::Identity => None,
            kind::BEND => see(Each::Bend),
            kind::OUTCOME => see(Each::Number(Number::Outcome)),
            kind::VARIANCE => see(Each::Number(Number::Variance)),
            _ => see(Each::Number(Number::Entropy)),
        }
    }

    fn with_outer<R>(&self, see: impl FnOnce(&Ask<'_>) -> R) -> Option<R> {
        let radius = || self.numbers.first().copied().filter(|radius| *radius <= MOST_RADIUS);
        let at = || self.at().map(|(theta, lattice)| (theta, lattice.theta_unit()));
        let see = |sum| Some(see(&Ask::Sum(sum)));
        match self.kind {
            kind::SHRUNK => see(Sum::Outer(&Outer::Shrunk { radius: radius()? })),
            // Bounds on single residuals are for rows.
            kind::WITHIN if self.of.rows_in_unit.is_some() => None,
            kind::WITHIN => {
                let ((theta, theta_unit), radius) = (at()?, radius()?);
                see(Sum::Outer(&Outer::Within { theta, theta_unit, radius, residual: *self.numbers.get(1)? }))
            }
            kind::UNCLIPPED => {
                let ((theta, theta_unit), radius, clip) = (at()?, radius()?, self.clip.as_ref()?);
                see(Sum::ClippedOuter(&ClippedOuter::Unclipped { theta, theta_unit, radius }, clip))
            }
            _ => {
                let ((theta, theta_unit), clip) = (at()?, self.clip.as_ref()?);
                see(Sum::ClippedOuter(&ClippedOuter::Gradient { theta, theta_unit }, clip))
            }
        }
    }

    fn with_ladder<R>(&self, see: impl FnOnce(&Ask<'_>) -> R) -> Option<R> {
        let see = |ladder: &Ladder<'_>| see(&Ask::Sum(Sum::Tally(ladder)));
        let at = || self.at().map(|(theta, lattice)| (theta, lattice.theta_unit()));
        match self.kind {
            kind::TALLY_NORMS => Some(see(&Ladder::Norms { radii: &self.numbers })),
            kind::TALLY_RESIDUALS => {
                let (theta, theta_unit) = at()?;
                Some(see(&Ladder::Residuals { theta, theta_unit, sizes: &self.numbers }))
            }
            _ => {
                let (theta, theta_unit) = at()?;
                let clips = self.numbers.iter().map(|gamma| checked_clip(*gamma)).collect::<Option<Vec<Clip>>>()?;
                Some(see(&Ladder::Gradients { theta, theta_unit, clips: &clips }))
            }
        }
    }
}

fn checked_clip(gamma: u64) -> Option<Clip> {
    (gamma < 1 << 63).then(|| Clip::new(gamma.into()))
}
