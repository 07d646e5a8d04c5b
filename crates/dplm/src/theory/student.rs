//! The normal and Student t distributions, accurate enough to state a level by.
//!
//! `statrs` 0.19 gives the t quantile to only three figures in places (0.9 at a million degrees of
//! freedom) and loses all of them in the far Cauchy tail, so tails are computed here by continued
//! fractions and quantiles by Newton's method on the logarithm of the tail. Reference values and
//! the script that made them are in `reference/`.

use std::f64::consts::{PI, SQRT_2, TAU};

use statrs::function::erf::erfc_inv;

/// The standard Gaussian distribution function `Phi(x)`, to a relative 1e-13 in either tail.
///
/// # Examples
/// ```
/// assert!((dplm::theory::student::normal_cdf(1.96) - 0.975_002_104_851_779_5).abs() < 1e-15);
/// ```
pub fn normal_cdf(x: f64) -> f64 {
    if x > 0.0 { 1.0 - normal_tail(x) } else { normal_tail(-x) }
}

/// The standard Gaussian quantile: the x with `Phi(x) = prob`; infinite at 0 and 1, NaN outside.
pub fn normal_quantile(prob: f64) -> f64 {
    if !(prob > 0.0 && prob < 1.0) {
        return at_the_edge(prob);
    }
    let tail = prob.min(1.0 - prob);
    let mut x = SQRT_2 * erfc_inv(2.0 * tail);
    for _ in 0..2 {
        x += (normal_tail(x) - tail) / normal_density(x);
    }
    if prob < 0.5 { -x } else { x }
}

/// Two-sided p-value of a t statistic: `P(|T| >= |t|)` with `df` degrees of freedom.
///
/// `df` may be fractional, or infinite for the Gaussian distribution; NaN when it is not positive.
///
/// # Examples
/// ```
/// assert!((dplm::theory::student::t_two_sided_p(1.0, 1.0) - 0.5).abs() < 1e-15);
/// ```
pub fn t_two_sided_p(t: f64, df: f64) -> f64 {
    if df.is_nan() || df <= 0.0 || t.is_nan() {
        return f64::NAN;
    }
    if t.is_infinite() {
        return 0.0;
    }
    if df.is_infinite() { 2.0 * normal_tail(t.abs()) } else { student_tails(t.abs(), df) }
}

/// The Student t quantile: the t with `P(T <= t) = prob`; infinite at 0 and 1, NaN outside or when
/// `df` is not positive.
///
/// # Examples
/// A 95 % interval from ten batches uses nine degrees of freedom:
/// ```
/// assert!((dplm::theory::student::t_quantile(0.975, 9.0) - 2.262_157_162_798_205).abs() < 1e-12);
/// ```
pub fn t_quantile(prob: f64, df: f64) -> f64 {
    if df.is_nan() || df <= 0.0 {
        return f64::NAN;
    }
    if !(prob > 0.0 && prob < 1.0) {
        return at_the_edge(prob);
    }
    if prob == 0.5 || df.is_infinite() {
        return normal_quantile(prob);
    }
    let t = upper_t_quantile(prob.min(1.0 - prob), df);
    if prob < 0.5 { -t } else { t }
}

/// The quantile of a probability that is not strictly between 0 and 1.
fn at_the_edge(prob: f64) -> f64 {
    match prob {
        0.0 => f64::NEG_INFINITY,
        1.0 => f64::INFINITY,
        _ => f64::NAN,
    }
}

/// The t > 0 with `P(T > t) = tail`.
///
/// Newton's method in `u = ln t` on `ln P(T > e^u)`, a concave decreasing function: from the left
/// one step lands on the right of the root, and from there the steps descend to it without
/// overshoot. The normal quantile starts on the left.
fn upper_t_quantile(tail: f64, df: f64) -> f64 {
    let mut t = (-normal_quantile(tail)).max(f64::MIN_POSITIVE);
    for _ in 0..200 {
        let upper = t_two_sided_p(t, df) / 2.0;
        let step = (upper / tail).ln() * upper / (t * t_density(t, df));
        if !step.is_finite() {
            break;
        }
        // A tail of a fraction of a degree of freedom can ask for more than the numbers hold.
        t = (t * step.exp()).min(f64::MAX);
        if step.abs() < 1e-15 {
            break;
        }
    }
    t
}

fn t_density(t: f64, df: f64) -> f64 {
    gamma_half_ratio(df / 2.0) / (df * PI).sqrt() * (-(df + 1.0) / 2.0 * (t * t / df).ln_1p()).exp()
}

fn normal_density(x: f64) -> f64 {
    // The square is split exactly, so that the exponential keeps its figures far out.
    let square = x * x;
    let rest = x.mul_add(x, -square);
    (-square / 2.0).exp() * (-rest / 2.0).exp() / TAU.sqrt()
}

/// `P(Z > x)` for x >= 0: a power series near the centre, Mills' ratio as a continued fraction in
/// the tail.
fn normal_tail(x: f64) -> f64 {
    if x.is_nan() {
        return f64::NAN;
    }
    if x > 40.0 {
        return 0.0;
    }
    if x < 2.0 {
        return 0.5 - normal_density(x) * odd_factorial_series(x);
    }
    // x + 1/(x + 2/(x + 3/(...))), evaluated from the inside; 160 levels are ample at x = 2.
    let fraction = (1..=160).rev().fold(x, |inner, k| x + f64::from(k) / inner);
    normal_density(x) / fraction
}

/// `x + x^3/3 + x^5/(3*5) + ...`
fn odd_factorial_series(x: f64) -> f64 {
    let (mut term, mut sum, mut odd) = (x, x, 1.0);
    while term.abs() > sum.abs() * 1e-17 {
        odd += 2.0;
        term *= x * x / odd;
        sum += term;
    }
    sum
}

/// `P(|T| > t) = I_x(df/2, 1/2)` with `x = df / (df + t^2)`, for finite t >= 0.
///
/// Both forms below have positive terms only, so nothing cancels, however many degrees of freedom
/// there are.
fn student_tails(t: f64, df: f64) -> f64 {
    let a = df / 2.0;
    let ratio = t * t / df;
    // x^a / B(a, 1/2), with x written through the ratio so that it loses no figures near 1.
    let front = (-a * ratio.ln_1p()).exp() * gamma_half_ratio(a) / PI.sqrt();
    if t < 2.0 && ratio < 1.0 {
        let y = ratio / (1.0 + ratio);
        1.0 - 2.0 * front * y.sqrt() * centre_series(a, y)
    } else {
        front / a * (1.0 + 1.0 / ratio).sqrt() / tail_fraction(a, 1.0 / ratio)
    }
}

/// `F(a + 1/2, 1; 3/2; y)`, the sum of `(a+1/2)_k / (3/2)_k y^k`.
fn centre_series(a: f64, y: f64) -> f64 {
    let (mut term, mut sum, mut k) = (1.0, 1.0, 0.0);
    while term > sum * 1e-17 {
        term *= (a + 0.5 + k) / (1.5 + k) * y;
        sum += term;
        k += 1.0;
    }
    sum
}

/// `1 / F(1/2, 1; a+1; -w)`, by Gauss's continued fraction `1 + k_1 w/(1 + k_2 w/(1 + ...))` from
/// the inside.
///
/// As a grows with `a w` fixed this becomes Mills' ratio, so the same 200 levels do.
fn tail_fraction(a: f64, w: f64) -> f64 {
    (0..100).rev().map(f64::from).fold(1.0, |inner, m| {
        let even = (m + 1.0) * (a + 0.5 + m) / ((a + 2.0 * m + 1.0) * (a + 2.0 * m + 2.0));
        let odd = (0.5 + m) * (a + m) / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        1.0 + odd * w / (1.0 + even * w / inner)
    })
}

/// `Gamma(a + 1/2) / Gamma(a)`, to full precision for every a > 0.
fn gamma_half_ratio(a: f64) -> f64 {
    let (mut z, mut factor) = (a, 1.0);
    while z < 16.0 {
        factor *= z / (z + 0.5);
        z += 1.0;
    }
    let w = 1.0 / (z * z);
    let series = -1.0 / 8.0 + w * (1.0 / 192.0 + w * (-1.0 / 640.0 + w * (17.0 / 14336.0 - w * 31.0 / 18432.0)));
    factor * z.sqrt() * (series / z).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (function, argument, df, value) of every reference line.
    fn reference() -> Vec<(&'static str, f64, f64, f64)> {
        let number = |text: &str| text.parse::<f64>().expect("a number in the reference file");
        include_str!("reference/student.csv")
            .lines()
            .skip(1)
            .map(|line| {
                let cells: Vec<&'static str> = line.split(',').collect();
                (cells[0], number(cells[1]), number(cells[2]), number(cells[3]))
            })
            .collect()
    }

    #[test]
    fn reference_values() {
        assert_eq!(reference().len(), 234);
        for (function, argument, df, value) in reference() {
            let found = match function {
                "t_quantile" => t_quantile(argument, df),
                "t_two_sided_p" => t_two_sided_p(argument, df),
                "normal_quantile" => normal_quantile(argument),
                _ => normal_cdf(argument),
            };
            // 0.99999 and 0.499 as doubles already differ from the decimals by a relative 5e-12 of
            // the tail.
            let tolerance = if function.ends_with("quantile") { 1e-11 } else { 2e-13 };
            let error = (found - value).abs() - f64::MIN_POSITIVE;
            assert!(error <= tolerance * value.abs(), "{function}({argument}, {df}) = {found}, should be {value}");
        }
    }

    #[test]
    fn quantile_inverts_the_tail() {
        for df in [0.5, 1.5, 3.7, 29.0, 1e5, 1e9, 1e13, f64::INFINITY] {
            for tail in [1e-60, 1e-20, 1e-12, 1e-4, 0.05, 0.3, 0.49] {
                let t = t_quantile(tail, df);
                let back = t_two_sided_p(t, df) / 2.0;
                assert!((back / tail - 1.0).abs() < 1e-11, "df {df}, tail {tail}: {back}");
            }
        }
    }

    #[test]
    fn edges() {
        assert_eq!(t_quantile(0.0, 3.0), f64::NEG_INFINITY);
        assert_eq!(t_quantile(1.0, 3.0), f64::INFINITY);
        assert_eq!(t_quantile(0.5, 3.0), 0.0);
        assert!(t_quantile(0.9, 0.0).is_nan() && t_quantile(1.1, 2.0).is_nan() && normal_quantile(f64::NAN).is_nan());
        assert_eq!(t_two_sided_p(f64::INFINITY, 4.0), 0.0);
        assert_eq!(t_two_sided_p(0.0, 4.0), 1.0);
        assert_eq!(normal_cdf(f64::INFINITY), 1.0);
        assert_eq!(normal_cdf(f64::NEG_INFINITY), 0.0);
    }
}
