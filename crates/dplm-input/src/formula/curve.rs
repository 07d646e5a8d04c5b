//! Families of functions of one number with public bounds: orthogonal polynomials and splines.
//!
//! The bounds and the number of functions determine everything; the data determine nothing. Knots
//! are equally spaced between the bounds.

use super::range::Range;

/// A family of functions of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curve {
    /// `poly(x, k)`: Legendre's polynomials of degree 1 to k, each with mean 0 and variance 1 for
    /// numbers spread evenly between the bounds.
    Poly(u32),
    /// `bs(x, df = k)`: cubic B-splines without the first.
    Bs(u32),
    /// `ns(x, df = k)`: natural cubic splines, linear beyond the bounds, in R's basis.
    Ns(u32),
}

impl Curve {
    /// Its name in a formula.
    pub fn name(self) -> &'static str {
        match self {
            Curve::Poly(_) => "poly",
            Curve::Bs(_) => "bs",
            Curve::Ns(_) => "ns",
        }
    }

    /// The name of the size argument in a formula.
    pub(crate) fn size_word(self) -> &'static str {
        match self {
            Curve::Poly(_) => "degree",
            Curve::Bs(_) | Curve::Ns(_) => "df",
        }
    }

    /// How many functions there are.
    pub fn columns(self) -> u32 {
        match self {
            Curve::Poly(count) | Curve::Bs(count) | Curve::Ns(count) => count,
        }
    }

    /// The smallest and the largest number of functions in a family.
    pub(crate) fn columns_allowed(self) -> (u32, u32) {
        match self {
            Curve::Poly(_) => (1, 20),
            Curve::Bs(_) => (3, 200),
            Curve::Ns(_) => (1, 200),
        }
    }

    /// The divisor of one function after [`CurveShape`] has computed it: polynomials are scaled to
    /// variance 1, `sqrt(2j + 1) P_j`.
    pub fn unit(self, column: u32) -> f64 {
        match self {
            Curve::Poly(_) => (2.0 * f64::from(column) + 3.0).sqrt().recip(),
            Curve::Bs(_) | Curve::Ns(_) => 1.0,
        }
    }

    /// The largest sum of squares of the functions at one number, as [`CurveShape`] has them.
    pub fn norm_sq(self) -> f64 {
        match self {
            Curve::Poly(degree) => f64::from(degree),
            // B-splines are nonnegative and sum to at most 1; natural splines are their
            // image under an orthogonal matrix.
            Curve::Bs(_) | Curve::Ns(_) => 1.0,
        }
    }
}

/// One function of a family, between -1 and 1.
#[derive(Clone, Debug, PartialEq)]
pub struct CurveShape {
    range: Range,
    function: ShapeFunction,
}

#[derive(Clone, Debug, PartialEq)]
enum ShapeFunction {
    Legendre(u32),
    /// The weights of the cubic B-splines on equally spaced knots.
    Spline(Vec<f64>),
}

impl CurveShape {
    /// Legendre's polynomial of a degree on a range.
    pub fn legendre(degree: u32, range: Range) -> CurveShape {
        CurveShape { range, function: ShapeFunction::Legendre(degree) }
    }

    /// The functions of a family on a range.
    pub fn all(curve: Curve, range: Range) -> Vec<CurveShape> {
        let spline = |weights| CurveShape { range, function: ShapeFunction::Spline(weights) };
        match curve {
            Curve::Poly(degree) => (1..=degree).map(|degree| CurveShape::legendre(degree, range)).collect(),
            Curve::Bs(df) => (1..=df as usize).map(|index| spline(unit(df as usize + 1, index))).collect(),
            Curve::Ns(df) => natural_splines(df as usize).into_iter().map(spline).collect(),
        }
    }

    /// The value at a number; beyond the range, the value at the nearer end.
    pub fn value(&self, x: f64) -> f64 {
        let t = ((x - self.range.centre()) / self.range.half_width()).clamp(-1.0, 1.0);
        match &self.function {
            ShapeFunction::Legendre(degree) => legendre(*degree, t),
            ShapeFunction::Spline(weights) => {
                let (first, values) = b_splines((t + 1.0) / 2.0, weights.len());
                values.iter().zip(&weights[first..]).map(|(value, weight)| value * weight).sum()
            }
        }
    }
}

fn unit(length: usize, index: usize) -> Vec<f64> {
    (0..length).map(|entry| if entry == index { 1.0 } else { 0.0 }).collect()
}

/// Legendre's polynomial by Bonnet's recursion: `(j + 1) P_(j+1) = (2j + 1) t P_j - j P_(j-1)`.
fn legendre(degree: u32, t: f64) -> f64 {
    let (mut before, mut now) = (0.0, 1.0);
    for j in 0..degree {
        let j = f64::from(j);
        (before, now) = (now, ((2.0 * j + 1.0) * t * now - j * before) / (j + 1.0));
    }
    now
}

/// The coefficients of Legendre's polynomial of `(x - centre) / half` in powers of `x`, the
/// constant first.
pub fn legendre_in_powers(degree: u32, range: Range) -> Vec<f64> {
    let (centre, half) = (range.centre(), range.half_width());
    // t p(x) for a polynomial p in powers of x.
    let times_t = |p: &[f64]| {
        let mut product = vec![0.0; p.len() + 1];
        for (power, coefficient) in p.iter().enumerate() {
            product[power + 1] += coefficient / half;
            product[power] -= coefficient * (centre / half);
        }
        product
    };
    let (mut before, mut now) = (vec![0.0], vec![1.0]);
    for j in 0..degree {
        let j = f64::from(j);
        let mut next = times_t(&now);
        next.iter_mut().for_each(|coefficient| *coefficient *= (2.0 * j + 1.0) / (j + 1.0));
        next.iter_mut().zip(&before).for_each(|(coefficient, before)| *coefficient -= before * (j / (j + 1.0)));
        (before, now) = (now, next);
    }
    now
}

/// The order of cubic splines.
const ORDER: usize = 4;

/// The four of `count` cubic B-splines on the unit interval that may be nonzero at `u`, and the
/// index of the first (de Boor 1978).
fn b_splines(u: f64, count: usize) -> (usize, [f64; ORDER]) {
    let pieces = count - (ORDER - 1);
    let first = ((u * pieces as f64) as usize).min(pieces - 1);
    // Knots are repeated at the ends.
    let knot = |index: usize| index.saturating_sub(ORDER - 1).min(pieces) as f64 / pieces as f64;
    let mut values = [1.0, 0.0, 0.0, 0.0];
    let at = first + ORDER - 1;
    for order in 1..ORDER {
        let mut carried = 0.0;
        for (index, value) in values.iter_mut().enumerate().take(order) {
            let (left, right) = (knot(at + 1 + index - order), knot(at + 1 + index));
            let share = *value / (right - left);
            *value = carried + (right - u) * share;
            carried = (u - left) * share;
        }
        values[order] = carried;
    }
    (first, values)
}

/// The weights that combine cubic B-splines into `df` natural splines: splines that are 0 at the
/// lower bound, projected by Householder reflections onto those without a second derivative at the
/// bounds, as R does.
fn natural_splines(df: usize) -> Vec<Vec<f64>> {
    let count = df + 3;
    // The second derivative at a bound is proportional to c0 / a - c1 (1 / a + 1 / b) + c2 / b, at
    // knots 0, a, b.
    let pieces = (count - (ORDER - 1)) as f64;
    let (a, b) = (1.0 / pieces, (2.0 / pieces).min(1.0));
    let mut at_low = vec![0.0; count - 1];
    at_low[0] = -(1.0 / a + 1.0 / b);
    at_low[1] = 1.0 / b;
    let mut at_high = vec![0.0; count - 1];
    let last = count - 2;
    at_high[last] = 1.0 / a;
    at_high[last - 1] = -(1.0 / a + 1.0 / b);
    at_high[last - 2] = 1.0 / b;
    let first = reflector(&at_low, 0);
    let second = reflector(&reflected(&at_high, &first, 0), 1);
    let turned = |index: usize| {
        let spline = reflected(&unit(count - 1, index), &first, 0);
        reflected(&spline, &second, 1)
    };
    let turned: Vec<Vec<f64>> = (0..count - 1).map(turned).collect();
    let weights = |function: usize| std::iter::once(0.0).chain(turned.iter().map(move |spline| spline[function]));
    (2..count - 1).map(|function| weights(function).collect()).collect()
}

/// The Householder vector that reflects the entries from `from` on to a multiple of the first of
/// them.
fn reflector(vector: &[f64], from: usize) -> Vec<f64> {
    let norm = vector[from..].iter().map(|entry| entry * entry).sum::<f64>().sqrt().copysign(vector[from]);
    let mut reflector = vec![0.0; vector.len()];
    reflector[from..].iter_mut().zip(&vector[from..]).for_each(|(to, entry)| *to = entry / norm);
    reflector[from] += 1.0;
    reflector
}

fn reflected(vector: &[f64], reflector: &[f64], from: usize) -> Vec<f64> {
    let product: f64 = vector.iter().zip(reflector).map(|(a, b)| a * b).sum();
    let share = product / reflector[from];
    vector.iter().zip(reflector).map(|(entry, along)| entry - share * along).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE: Range = Range { low: -2.0, high: 8.0 };

    fn at(u: f64) -> f64 {
        RANGE.low + u * (RANGE.high - RANGE.low)
    }

    /// The midpoint rule on a fine grid; Gaussian quadrature would need fewer points.
    fn mean(f: impl Fn(f64) -> f64) -> f64 {
        (0..20_000).map(|i| f(at((f64::from(i) + 0.5) / 20_000.0))).sum::<f64>() / 20_000.0
    }

    #[test]
    fn polynomials_are_orthogonal_on_the_range() {
        let shapes = CurveShape::all(Curve::Poly(5), RANGE);
        for (j, one) in shapes.iter().enumerate() {
            assert!(mean(|x| one.value(x)).abs() < 1e-6);
            for (k, other) in shapes.iter().enumerate() {
                let expected = if j == k { 1.0 / (2.0 * j as f64 + 3.0) } else { 0.0 };
                assert!((mean(|x| one.value(x) * other.value(x)) - expected).abs() < 1e-6, "{j} {k}");
            }
        }
    }

    #[test]
    fn polynomials_are_what_their_powers_say() {
        for degree in 0..8 {
            let powers = legendre_in_powers(degree, RANGE);
            for x in [-2.0, -0.3, 3.0, 5.5, 8.0] {
                let sum = powers.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient);
                assert!((sum - CurveShape::legendre(degree, RANGE).value(x)).abs() < 1e-9, "{degree} {x}");
            }
        }
    }

    /// A cubic polynomial is a spline, so the spline through four of its points must equal it;
    /// B-splines sum to 1.
    #[test]
    fn b_splines_add_up_to_one_and_are_smooth() {
        for count in [4, 5, 9] {
            for i in 0..=100 {
                let (first, values) = b_splines(f64::from(i) / 100.0, count);
                assert!((values.iter().sum::<f64>() - 1.0).abs() < 1e-12 && values.iter().all(|v| *v >= -1e-15));
                assert!(first + ORDER <= count);
            }
        }
        let shapes = CurveShape::all(Curve::Bs(6), RANGE);
        assert!(shapes.iter().all(|shape| shape.value(RANGE.low) == 0.0));
        assert!((shapes[5].value(RANGE.high) - 1.0).abs() < 1e-12);
        let knot = at(0.5);
        for shape in &shapes {
            let second = |x: f64| (shape.value(x + 1e-3) - 2.0 * shape.value(x) + shape.value(x - 1e-3)) / 1e-6;
            assert!((second(knot - 2e-3) - second(knot + 2e-3)).abs() < 1e-2);
        }
    }

    /// Without inner knots a B-spline is a Bernstein polynomial.
    #[test]
    fn without_knots_b_splines_are_polynomials() {
        let shapes = CurveShape::all(Curve::Bs(3), RANGE);
        let u: f64 = 0.3;
        let expected = [3.0 * u * (1.0 - u).powi(2), 3.0 * u * u * (1.0 - u), u.powi(3)];
        for (shape, expected) in shapes.iter().zip(expected) {
            assert!((shape.value(at(u)) - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn natural_splines_have_no_curvature_at_the_bounds() {
        for df in [1, 2, 3, 6] {
            let shapes = CurveShape::all(Curve::Ns(df), RANGE);
            assert_eq!(shapes.len(), df as usize);
            for shape in &shapes {
                assert_eq!(shape.value(RANGE.low), 0.0);
                for (end, step) in [(RANGE.low, 1e-3), (RANGE.high, -1e-3)] {
                    let third = |x: f64| shape.value(x + step) - 2.0 * shape.value(x) + shape.value(x - step);
                    // The second derivative is linear there, so extrapolate from one and two steps
                    // inside.
                    let at_end = 2.0 * third(end + step) - third(end + 2.0 * step);
                    assert!((at_end / (step * step)).abs() < 1e-4, "{df}");
                }
                assert!((0..=50).all(|i| shape.value(at(f64::from(i) / 50.0)).abs() <= 1.0));
            }
        }
        // One function is linear.
        let line = &CurveShape::all(Curve::Ns(1), RANGE)[0];
        assert!((line.value(at(0.5)) / line.value(at(1.0)) - 0.5).abs() < 1e-12);
    }
}
