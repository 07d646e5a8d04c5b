//! Terms of other programs, answered with what to type here.
//!
//! Most of them would be read as something else, or refused with a hint that does not help: Stata's
//! `i.region` is a name, and R's `x^2` is `x`.

use super::{
    FormulaError,
    scan::Scanner,
    write::{Name, after_prefix},
};

/// Functions by which R, patsy and fixest say that a column is a category.
const CATEGORIES: [&str; 5] = ["C", "factor", "as.factor", "as_factor", "ordered"];
/// Functions by which programs say that rows have effects of their own.
const EFFECTS: [&str; 2] = ["fe", "cluster"];
/// Functions that have another name here.
const RENAMED: [(&str, &str); 9] = [
    ("ln", "log"),
    ("np.log", "log"),
    ("np.log2", "log2"),
    ("np.log10", "log10"),
    ("np.log1p", "log1p"),
    ("np.exp", "exp"),
    ("np.sqrt", "sqrt"),
    ("np.abs", "abs"),
    ("cr", "ns"),
];
/// Functions that scale a column by its own mean and spread, by which one row would change all
/// others.
const SCALES: [&str; 3] = ["scale", "center", "standardize"];

impl Scanner<'_> {
    /// The error for text of another program at this position.
    fn foreign(&self, typed: String, instead: String) -> FormulaError {
        FormulaError::Foreign { typed, instead, at: self.at() }
    }

    /// The error for a name before `(` that is not a function here.
    pub(super) fn unknown_function(&self, name: String) -> FormulaError {
        let column = self.column_inside();
        let typed = || format!("{name}({column})");
        match name.as_str() {
            name if CATEGORIES.contains(&name) => {
                self.foreign(typed(), format!("write {}, with its public levels", with_levels(column)))
            }
            name if EFFECTS.contains(&name) => {
                let instead = "persons with several rows are named beside the formula, by the option person";
                self.foreign(typed(), instead.to_owned())
            }
            name if SCALES.contains(&name) => {
                let instead = format!("columns are scaled by their public bounds, so write {}[0..100]", Name(column));
                self.foreign(typed(), instead)
            }
            "relevel" => self.foreign(typed(), format!("write {}, the reference level first", with_levels(column))),
            "interaction" => self.foreign(typed(), "write a:b, or a*b for both and their product".to_owned()),
            "pow" => self.foreign(typed(), format!("write I({}^2)", Name(column))),
            _ => match RENAMED.iter().find(|(other, _)| *other == name) {
                Some((_, here)) => self.foreign(typed(), format!("write {here}({})", Name(column))),
                None => FormulaError::UnknownFunction { name, at: self.at() },
            },
        }
    }

    /// The column that comes first between the parentheses that come next.
    fn column_inside(&self) -> &str {
        let inside = self.text[self.position..].split_once('(').map_or("", |(_, inside)| inside);
        inside.split([',', ')', '{', '[']).next().unwrap_or_default().trim()
    }

    /// The error for a name with a prefix of Stata's.
    pub(super) fn of_stata(&self, name: &str) -> Option<FormulaError> {
        let column = after_prefix(name)?;
        let instead = match name.starts_with('c') {
            true => format!("write {}[0..100], with its public bounds", Name(column)),
            false => format!("write {}, the reference level first", with_levels(column)),
        };
        let instead = format!("{instead}, or `{name}` in backquotes if that is the column's name");
        Some(self.foreign(name.to_owned(), instead))
    }

    /// The error for an operator that stands between terms elsewhere, where one comes next.
    pub(super) fn foreign_operator(&self) -> Option<FormulaError> {
        let rest = &self.text[self.position..];
        let (typed, instead) = match rest {
            _ if rest.starts_with('/') => ("/", "write a + a:b for b within a, and I(a/b) for the ratio"),
            _ if rest.starts_with("##") => ("##", "write a*b for both and their product"),
            _ if rest.starts_with('#') => ("#", "write a:b for the product, and I(a^2) for c.a#c.a"),
            _ if rest.starts_with("%in%") => ("%in%", "write a:b"),
            _ => return None,
        };
        Some(self.foreign(typed.to_owned(), instead.to_owned()))
    }

    /// The error for the power of one variable, which R takes for the variable itself.
    pub(super) fn power_of_one(&self, base: &str, exponent: u32) -> FormulaError {
        let typed = format!("{base}^{exponent}");
        let instead = format!("outside I(...) it would be {base} itself, so write I({typed})");
        self.foreign(typed, instead)
    }

    /// The error for an effect of lme4's, `(1|g)`, where that comes next.
    pub(super) fn random_effect(&self) -> Option<FormulaError> {
        let inside = self.text[self.position..].trim_start().strip_prefix('(')?;
        let inside = &inside[..inside.find(['(', ')'])?];
        let (_, group) = inside.split_once('|')?;
        let group = group.trim();
        let instead = format!(
            "there are no random effects; write {} for the effects of levels, or name the person that several rows belong to \
             beside the formula, by the option person",
            with_levels(group)
        );
        Some(self.foreign(format!("({inside})"), instead))
    }
}

/// A column with the form of its levels.
fn with_levels(column: &str) -> String {
    format!("{}{{a,b,c}}", Name(column))
}

#[cfg(test)]
mod tests {
    use super::super::Formula;

    fn refusal(text: &str) -> String {
        Formula::parse(text).expect_err(text).to_string()
    }

    #[test]
    fn terms_of_other_programs_are_answered_with_what_to_type() {
        let table = [
            ("y ~ i.region", "region{a,b,c}, the reference level first", 5),
            ("y ~ x + ib2.region{a,b}", "write region{a,b,c}", 9),
            ("y ~ c.age", "write age[0..100]", 5),
            ("y ~ x##z", "write a*b", 6),
            ("y ~ x#z", "write a:b", 6),
            ("y ~ C(region)", "'C(region)' is written otherwise here: write region{a,b,c}", 5),
            ("y ~ x + factor(g{a,b})", "'factor(g)' is written otherwise here: write g{a,b,c}", 9),
            ("y ~ as.factor(g)", "write g{a,b,c}", 5),
            ("y ~ x + x^2", "it would be x itself, so write I(x^2)", 11),
            ("y ~ x**2", "write I(x^2)", 8),
            ("y ~ a/b", "I(a/b) for the ratio", 6),
            ("y ~ x + (1|g)", "there are no random effects; write g{a,b,c}", 9),
            ("y ~ x + (1 + x | g)", "there are no random effects", 9),
            ("y ~ x %in% z", "write a:b", 7),
            ("y ~ x + cluster(id)", "by the option person", 9),
            ("y ~ ln(x[1..9])", "'ln(x)' is written otherwise here: write log(x)", 5),
            ("y ~ np.log1p(x)", "write log1p(x)", 5),
            ("y ~ scale(x)", "scaled by their public bounds, so write x[0..100]", 5),
            ("y ~ relevel(g, ref = 'b')", "write g{a,b,c}, the reference level first", 5),
            ("y ~ interaction(a, b)", "write a:b", 5),
            ("y ~ pow(x, 2)", "write I(x^2)", 5),
        ];
        for (text, expected, at) in table {
            let error = Formula::parse(text).expect_err(text);
            assert!(error.to_string().contains(expected), "{text}: {error}");
            assert_eq!(error.at(), Some(at), "{text}: {error}");
        }
    }

    /// The names themselves stay possible, and formulas that are written read back.
    #[test]
    fn a_name_in_backquotes_is_no_prefix() {
        let formula = Formula::parse("y ~ `i.region`[0..1] + `c.x`[0..2] + n.x[0..1]").expect("a formula");
        assert_eq!(formula.to_string(), "y ~ `i.region`[0..1] + `c.x`[0..2] + n.x[0..1]");
        assert!(refusal("y ~ i.region[0..1]").contains("`i.region` in backquotes"));
    }

    #[test]
    fn stars_are_a_power() {
        let read = |text| Formula::parse(text).expect("a formula");
        assert_eq!(read("y ~ (a + b)**2 + I(a[0..1]**2)"), read("y ~ (a + b)^2 + I(a[0..1]^2)"));
    }
}
