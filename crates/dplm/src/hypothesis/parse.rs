//! Parses text to equations.
//!
//! ```text
//! hypothesis := equation (',' equation)*
//! equation   := sum ['=' sum]
//! sum        := product (('+' | '-') product)*
//! product    := factor (('*' | '/') factor)*
//! factor     := ['+' | '-'] factor  |  name  |  number  |  '(' sum ')'
//! name       := a coefficient's name as it is printed, also in backquotes
//! ```
//!
//! Names contain brackets, commas and signs, as in `poly(exper, 3)1`: where a factor starts, the
//! longest matching name is read.

use super::{Equation, Hypothesis, HypothesisError};

impl Hypothesis {
    /// Reads a hypothesis about coefficients with these names.
    ///
    /// # Errors
    /// When it is not a list of linear equations in these names.
    ///
    /// # Examples
    /// ```
    /// use dplm::Hypothesis;
    /// let names = ["(Intercept)", "educ", "union[yes]"].map(str::to_owned);
    /// let found = Hypothesis::parse("educ = 0.1, 2*educ - union[yes]", &names)?;
    /// assert_eq!(found.equations()[1].weights, [0.0, 2.0, -1.0]);
    /// assert_eq!((found.equations()[0].value, found.equations()[1].value), (0.1, 0.0));
    /// # Ok::<(), dplm::HypothesisError>(())
    /// ```
    pub fn parse(text: &str, names: &[String]) -> Result<Hypothesis, HypothesisError> {
        let mut scanner = Scanner { text, names, position: 0 };
        let mut equations = vec![scanner.equation()?];
        while scanner.eat(',') {
            equations.push(scanner.equation()?);
        }
        if !scanner.rest().is_empty() {
            return Err(scanner.expected("+, -, *, /, = or a comma"));
        }
        Hypothesis::new(equations)
    }
}

/// `constant + weights . coefficients`.
#[derive(Clone)]
struct Linear {
    weights: Vec<f64>,
    constant: f64,
}

impl Linear {
    fn constant(constant: f64, coefficients: usize) -> Linear {
        Linear { weights: vec![0.0; coefficients], constant }
    }

    fn is_constant(&self) -> bool {
        self.weights.iter().all(|&weight| weight == 0.0)
    }

    fn times(mut self, factor: f64) -> Linear {
        self.weights.iter_mut().for_each(|weight| *weight *= factor);
        self.constant *= factor;
        self
    }

    fn plus(mut self, other: &Linear) -> Linear {
        self.weights.iter_mut().zip(&other.weights).for_each(|(sum, weight)| *sum += weight);
        self.constant += other.constant;
        self
    }
}

/// The text and the position reached, in bytes.
struct Scanner<'a> {
    text: &'a str,
    names: &'a [String],
    position: usize,
}

impl<'a> Scanner<'a> {
    /// The remaining text, without leading blanks.
    fn rest(&mut self) -> &'a str {
        let rest = self.text[self.position..].trim_start();
        self.position = self.text.len() - rest.len();
        rest
    }

    fn eat(&mut self, sign: char) -> bool {
        let found = self.rest().starts_with(sign);
        self.position += if found { sign.len_utf8() } else { 0 };
        found
    }

    /// The position of the next character that is not blank, counted from 1.
    fn at(&mut self) -> usize {
        self.rest();
        self.text[..self.position].chars().count() + 1
    }

    fn expected(&mut self, what: &'static str) -> HypothesisError {
        HypothesisError::Expected { what, at: self.at() }
    }

    fn equation(&mut self) -> Result<Equation, HypothesisError> {
        self.rest();
        let start = self.position;
        let mut left = self.sum()?;
        if self.eat('=') {
            left = left.plus(&self.sum()?.times(-1.0));
        }
        let text = self.text[start..self.position].trim_end().to_owned();
        Ok(Equation { text, weights: left.weights, value: -left.constant })
    }

    fn sum(&mut self) -> Result<Linear, HypothesisError> {
        let mut sum = self.product()?;
        loop {
            let sign = if self.eat('+') {
                1.0
            } else if self.eat('-') {
                -1.0
            } else {
                return Ok(sum);
            };
            sum = sum.plus(&self.product()?.times(sign));
        }
    }

    fn product(&mut self) -> Result<Linear, HypothesisError> {
        let mut product = self.factor()?;
        loop {
            let at = self.at();
            if self.eat('*') {
                let factor = self.factor()?;
                product = match (product.is_constant(), factor.is_constant()) {
                    (true, _) => factor.times(product.constant),
                    (_, true) => product.times(factor.constant),
                    _ => return Err(HypothesisError::NotLinear { at }),
                };
            } else if self.eat('/') {
                let divisor = self.factor()?;
                if !divisor.is_constant() || divisor.constant == 0.0 {
                    return Err(HypothesisError::NotLinear { at });
                }
                product = product.times(1.0 / divisor.constant);
            } else {
                return Ok(product);
            }
        }
    }

    fn factor(&mut self) -> Result<Linear, HypothesisError> {
        if let Some(coefficient) = self.name()? {
            let mut one = Linear::constant(0.0, self.names.len());
            one.weights[coefficient] = 1.0;
            return Ok(one);
        }
        if let Some(number) = self.number() {
            return Ok(Linear::constant(number, self.names.len()));
        }
        if self.eat('+') {
            return self.factor();
        }
        if self.eat('-') {
            return Ok(self.factor()?.times(-1.0));
        }
        if self.eat('(') {
            let inner = self.sum()?;
            return if self.eat(')') { Ok(inner) } else { Err(self.expected("a closing parenthesis")) };
        }
        Err(self.unknown())
    }

    /// The coefficient whose name comes next: in backquotes, or the longest that fits.
    fn name(&mut self) -> Result<Option<usize>, HypothesisError> {
        let rest = self.rest();
        if let Some(quoted) = rest.strip_prefix('`') {
            let Some((quoted, _)) = quoted.split_once('`') else { return Err(self.expected("a closing backquote")) };
            let found = self.names.iter().position(|name| name == quoted);
            self.position += quoted.len() + 2;
            return found.map(Some).ok_or_else(|| self.not_a_name(quoted));
        }
        let stands = |name: &&String| rest.strip_prefix(name.as_str()).is_some_and(|after| is_whole(name, after));
        let longest = self.names.iter().filter(stands).max_by_key(|name| name.len());
        self.position += longest.map_or(0, String::len);
        Ok(longest.and_then(|longest| self.names.iter().position(|name| name == longest)))
    }

    fn number(&mut self) -> Option<f64> {
        let rest = self.rest();
        // A word such as `inf` is not a number here.
        if !rest.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
            return None;
        }
        let is_part = |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | 'e' | 'E' | '+' | '-');
        let longest = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        let length = (1..=longest).rev().find(|&length| rest[..length].parse::<f64>().is_ok())?;
        self.position += length;
        rest[..length].parse().ok()
    }

    /// The error for text that is not a factor.
    fn unknown(&mut self) -> HypothesisError {
        let word: String = self.rest().chars().take_while(|&letter| continues_word(letter)).collect();
        if word.is_empty() { self.expected("a coefficient's name or a number") } else { self.not_a_name(&word) }
    }

    fn not_a_name(&self, word: &str) -> HypothesisError {
        HypothesisError::NoSuchName { name: word.to_owned(), names: self.names.to_vec() }
    }
}

/// Whether a name ends here, rather than being the beginning of a longer word.
fn is_whole(name: &str, after: &str) -> bool {
    !(name.ends_with(continues_word) && after.starts_with(continues_word))
}

fn continues_word(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '.')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NAMES: [&str; 8] = [
        "(Intercept)",
        "educ",
        "educ2",
        "union[yes]",
        "union[yes]:female[yes]",
        "I(age^2)",
        "poly(exper, 3)1",
        "a - b",
    ];

    fn names() -> Vec<String> {
        NAMES.map(str::to_owned).to_vec()
    }

    /// For each equation, its nonzero weights with their names, and its value.
    fn read(text: &str) -> Vec<(Vec<(f64, &'static str)>, f64)> {
        let found = Hypothesis::parse(text, &names()).unwrap_or_else(|error| panic!("{text}: {error}"));
        let parts = |one: &Equation| {
            let weighed = one.weights.iter().copied().zip(NAMES).filter(|(weight, _)| *weight != 0.0);
            (weighed.collect(), one.value)
        };
        found.equations().iter().map(parts).collect()
    }

    fn refused(text: &str) -> String {
        Hypothesis::parse(text, &names()).expect_err(text).to_string()
    }

    #[test]
    fn equations_are_read_as_they_are_meant() {
        for (text, weights, value) in [
            ("educ = 0", vec![(1.0, "educ")], 0.0),
            ("educ", vec![(1.0, "educ")], 0.0),
            ("2*educ - educ2/4 = -1.5e-1", vec![(2.0, "educ"), (-0.25, "educ2")], -0.15),
            ("educ = educ2 + 3", vec![(1.0, "educ"), (-1.0, "educ2")], 3.0),
            ("-(educ - 2*(educ2 + 1)) = 1", vec![(-1.0, "educ"), (2.0, "educ2")], -1.0),
            ("(Intercept) - 3 * I(age^2) = .5", vec![(1.0, "(Intercept)"), (-3.0, "I(age^2)")], 0.5),
            ("union[yes] = union[yes]:female[yes]", vec![(1.0, "union[yes]"), (-1.0, "union[yes]:female[yes]")], 0.0),
            ("`a - b` + a - b = 1", vec![(2.0, "a - b")], 1.0),
            ("educ*(2 + 3)/10 = 0", vec![(0.5, "educ")], 0.0),
            ("  +educ=--7  ", vec![(1.0, "educ")], 7.0),
        ] {
            assert_eq!(read(text), [(weights, value)], "{text}");
        }
    }

    #[test]
    fn commas_part_equations_but_not_names() {
        let joint = read("poly(exper, 3)1 = 0, educ = 1,`union[yes]`");
        assert_eq!(joint.len(), 3);
        assert_eq!(joint[0], (vec![(1.0, "poly(exper, 3)1")], 0.0));
        let found = Hypothesis::parse(" educ = 1 , educ2", &names()).unwrap();
        assert_eq!(found.to_string(), "educ = 1, educ2");
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_its_place() {
        assert_eq!(refused("educ = "), "hypothesis: expected a coefficient's name or a number (at character 8)");
        assert!(refused("educ educ2").contains("(at character 6)"));
        assert!(refused("educ * educ2 = 0").contains("only numbers may multiply"));
        assert!(refused("educ / 0").contains("only numbers"));
        assert!(refused("1 / educ").contains("only numbers"));
        assert!(refused("exper = 0").contains("no coefficient is named 'exper': the names are '(Intercept)', 'educ'"));
        assert!(refused("educ3 = 0").contains("'educ3'"), "not educ and then 3");
        assert!(refused("`educ = 0").contains("a closing backquote") && refused("`edu` = 0").contains("'edu'"));
        assert!(refused("educ - educ = 0").contains("has no coefficient"));
        assert!(refused("educ = 1e999").contains("not finite"));
        assert!(refused("(educ = 0").contains("closing parenthesis"));
        assert!(refused("").contains("(at character 1)") && refused("educ,").contains("(at character 6)"));
    }

    const PIECES: [&str; 18] = [
        "educ",
        "a - b",
        "poly(exper, 3)",
        "1",
        "é",
        "2.5e",
        "9e9",
        " ",
        "+",
        "-",
        "*",
        "/",
        "=",
        "(",
        ")",
        ",",
        "`",
        "[",
    ];

    proptest! {
        /// Any sum of names and numbers is read back as the weights it was written from.
        #[test]
        fn what_is_written_is_read_back(weights in prop::collection::vec(-100i32..100, NAMES.len()), value in -1000i32..1000) {
            let terms = weights.iter().zip(NAMES).map(|(weight, name)| format!("{weight}*`{name}`"));
            let text = format!("{} = {value}", terms.collect::<Vec<_>>().join(" + "));
            match Hypothesis::parse(&text, &names()) {
                Ok(found) => {
                    let expected: Vec<f64> = weights.iter().map(|&weight| f64::from(weight)).collect();
                    prop_assert_eq!(&found.equations()[0].weights, &expected);
                    prop_assert_eq!(found.equations()[0].value, f64::from(value));
                }
                Err(_) => prop_assert!(weights.iter().all(|&weight| weight == 0)),
            }
        }

        /// No text makes the reader panic.
        #[test]
        fn any_text_is_read_or_refused(pieces in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..12)) {
            let _ = Hypothesis::parse(&pieces.concat(), &names());
        }
    }
}
