use rand_core::{Rng, SeedableRng};

use super::{
    expression::{Function, Operator},
    term::Term,
    *,
};
use crate::{
    options::{Advised, Interface},
    schema::{Field, Schema, SchemaError, Type},
};

fn standard(name: &str) -> Column {
    Column { name: name.into(), kind: Kind::Standard }
}

fn bounded(name: &str, low: f64, high: f64) -> Column {
    Column { name: name.into(), kind: Kind::Bounded { low, high } }
}

fn levels(name: &str, levels: &[&str]) -> Column {
    Column { name: name.into(), kind: Kind::Levels(levels.iter().map(|level| (*level).to_owned()).collect()) }
}

fn sum(response: Column, columns: Vec<Column>, intercept: bool) -> Formula {
    Formula { model: Box::new(Model::of_columns(response, columns, intercept)), dot: None, except: vec![] }
}

fn formula(response: Column, columns: Vec<Column>) -> Formula {
    sum(response, columns, true)
}

/// With `.` before one of the columns.
fn dotted(columns: Vec<Column>, dot: usize, except: &[&str]) -> Formula {
    let except = except.iter().map(|name| (*name).to_owned()).collect();
    Formula { dot: Some(dot), except, ..formula(standard("y"), columns) }
}

fn refusal(text: &str) -> String {
    Formula::parse(text).expect_err(text).to_string()
}

#[test]
fn grammar_accepts() {
    let y = || standard("y");
    let table: Vec<(&str, Formula)> = vec![
        ("y~x", formula(y(), vec![standard("x")])),
        ("  y\t~\n x + z ", formula(y(), vec![standard("x"), standard("z")])),
        ("y ~ +x", formula(y(), vec![standard("x")])),
        ("y ~ 1", formula(y(), vec![])),
        ("y ~ x + 0", sum(y(), vec![standard("x")], false)),
        ("y ~ 0 + x", sum(y(), vec![standard("x")], false)),
        ("y ~ x - 1", sum(y(), vec![standard("x")], false)),
        ("y ~ -1 + x", sum(y(), vec![standard("x")], false)),
        ("y ~ x + 0 + 1", formula(y(), vec![standard("x")])),
        ("y ~ x - 0", formula(y(), vec![standard("x")])),
        ("y[0..1] ~ x[-1.5e3..1_000]", formula(bounded("y", 0.0, 1.0), vec![bounded("x", -1500.0, 1000.0)])),
        ("y ~ x [ -.5 .. .5 ]", formula(y(), vec![bounded("x", -0.5, 0.5)])),
        ("y ~ x[-.5...5]", formula(y(), vec![bounded("x", -0.5, 0.5)])),
        ("y ~ x[1E-3..+2e+2]", formula(y(), vec![bounded("x", 0.001, 200.0)])),
        ("y ~ x[18.5..90.25]", formula(y(), vec![bounded("x", 18.5, 90.25)])),
        ("y ~ d[2020-01-01 .. 2020-12-31]", {
            formula(y(), vec![Column { name: "d".into(), kind: Kind::Dates { low: 18262, high: 18627 } }])
        }),
        ("y ~ g{a,b,c}", formula(y(), vec![levels("g", &["a", "b", "c"])])),
        ("y ~ g{ New York , -5, >50K, a:b }", formula(y(), vec![levels("g", &["New York", "-5", ">50K", "a:b"])])),
        (r#"y ~ g{"a,b", `c}d`, " e "}"#, formula(y(), vec![levels("g", &["a,b", "c}d", " e "])])),
        (r#"y ~ g{"say \"hi\"", "back\\slash", "a\b"}"#, {
            formula(y(), vec![levels("g", &["say \"hi\"", "back\\slash", "a\\b"])])
        }),
        ("`my y`[0..1] ~ `a+b`{x,y} + `2nd`", {
            formula(bounded("my y", 0.0, 1.0), vec![levels("a+b", &["x", "y"]), standard("2nd")])
        }),
        (r"y ~ `a\`b`", formula(y(), vec![standard("a`b")])),
        ("y ~ ``", formula(y(), vec![standard("")])),
        ("Sepal.Length ~ _x1 + été", formula(standard("Sepal.Length"), vec![standard("_x1"), standard("été")])),
        ("y ~ .", dotted(vec![], 0, &[])),
        ("y ~ . - id - `row no`", dotted(vec![], 0, &["id", "row no"])),
        ("y ~ x[0..1] + . + z", dotted(vec![bounded("x", 0.0, 1.0), standard("z")], 1, &[])),
        ("y ~ x + . - x", dotted(vec![], 0, &["x"])),
        ("y ~ . - x + x", dotted(vec![standard("x")], 0, &[])),
        ("y ~ x + `x`", formula(y(), vec![standard("x")])),
        ("y ~ x + z - x", formula(y(), vec![standard("z")])),
        ("y ~ x + x[0..1]", formula(y(), vec![bounded("x", 0.0, 1.0)])),
        ("y ~ g{a,b,*}", formula(y(), vec![levels("g", &["a", "b", "*"])])),
    ];
    for (text, expected) in table {
        assert_eq!(Formula::parse(text).as_ref(), Ok(&expected), "{text}");
        assert_eq!(Formula::parse(&expected.to_string()), Ok(expected), "printed from {text}");
    }
}

#[test]
fn grammar_refuses_saying_where() {
    let table = [
        ("", "formula: expected the response, a column's name (at character 1)"),
        ("~ x", "formula: expected the response, a column's name (at character 1)"),
        ("y", "formula: expected '~' after the response (at character 2)"),
        ("y x", "formula: expected '~' after the response (at character 3)"),
        ("y ~", "formula: expected a column, a function, '.', 0 or 1 (at character 4)"),
        ("y ~ x +", "formula: expected a column, a function, '.', 0 or 1 (at character 8)"),
        ("y ~ x z", "formula: expected '+', '-', '*', ':' or the end of the formula (at character 7)"),
        ("y ~ é[18..90", "formula: expected ']' after the upper bound of 'é' (at character 13)"),
        ("y ~ age[18..90)", "formula: expected ']' after the upper bound of 'age' (at character 15)"),
        ("y ~ age[18.90]", "formula: expected '..' after the lower bound of 'age' (at character 14)"),
        ("y ~ age[..90]", "formula: expected the lower bound of 'age', a number (at character 9)"),
        ("y ~ d[2020-01-01..5]", "formula: expected the last day of 'd', as 2020-12-31 (at character 19)"),
        ("y ~ age[18..]", "formula: expected the upper bound of 'age', a number (at character 13)"),
        ("y ~ age[18..90]{a,b}", "formula: expected '+', '-', '*', ':' or the end of the formula (at character 16)"),
        ("y ~ g{a", "formula: expected ',' or '}' after a level of 'g' (at character 8)"),
        ("y ~ g{a,", "formula: expected a level of 'g' (at character 9)"),
        ("y ~ g{\"a\" b}", "formula: expected ',' or '}' after a level of 'g' (at character 11)"),
        ("y ~ g{\"a", "formula: expected a closing \" after a level of 'g' (at character 9)"),
        ("y ~ `x", "formula: expected a closing backquote after the name (at character 7)"),
        ("y ~ x:", "formula: expected a term after ':' (at character 7)"),
        ("y ~ x % z", "formula: '%' has no meaning here: arithmetic is + - * / ^ inside I(...)"),
        ("y ~ x^2.5", "formula: expected a whole number from 1 after '^'"),
        ("y ~ lag(x)", "formula: there is no function 'lag': use I, log,"),
        ("y ~ x + (a + b", "formula: expected '+' or ')' inside parentheses (at character 15)"),
        ("y ~ I(x + )", "formula: expected a number after the sign (at character 11)"),
        ("y ~ I(x^z)", "formula: expected a number after '^' (at character 9)"),
        ("y ~ poly(x)", "formula: expected ', degree = ' and a whole number inside 'poly(...)' (at character 11)"),
        ("y ~ bs(x, degree = 3)", "formula: expected ', df = ' and a whole number inside 'bs(...)' (at character 11)"),
        ("y ~ x - offset(z)", "formula: expected an offset that is added"),
        ("y ~ 2", "formula: expected a column, a function, '.', 0 or 1 (at character 5)"),
        ("y ~ 12 + x", "formula: expected a term, '.', 0 or 1 (put a name that starts with a digit in backquotes)"),
        ("y ~ x - .", "formula: expected the term to leave out, or 1 (at character 9)"),
        ("y ~ x ~ z", "formula: expected '+', '-', '*', ':' or the end of the formula (at character 7)"),
    ];
    for (text, expected) in table {
        let message = refusal(text);
        assert!(message.starts_with(expected), "{text}: {message}");
    }
}

#[test]
fn facts_that_cannot_hold_are_refused() {
    use FormulaError::*;
    let column = |name: &str| name.to_owned();
    let table = [
        ("y ~ x[2..1]", ReversedBounds { column: column("x"), low: 2.0, high: 1.0 }),
        ("y[2..1] ~ x", ReversedBounds { column: column("y"), low: 2.0, high: 1.0 }),
        ("y ~ x[1..1]", EqualBounds { column: column("x"), bound: 1.0 }),
        ("y ~ x[0..inf]", NonFiniteBounds { column: column("x") }),
        ("y ~ x[-Inf..0]", NonFiniteBounds { column: column("x") }),
        ("y ~ d[2020-12-31..2020-01-01]", ReversedDates { column: column("d") }),
        ("y ~ x[nan..0]", NonFiniteBounds { column: column("x") }),
        ("y ~ x[0..1e999]", NonFiniteBounds { column: column("x") }),
        ("y ~ x[-1e308..1e308]", LargeBounds { column: column("x") }),
        ("y ~ x[0..2] + x[0..1]", TwoFacts { column: column("x") }),
        ("y ~ x[0..1] + x{0,1}", TwoFacts { column: column("x") }),
        ("y ~ . + .", DuplicateDot),
        ("y ~ x + y", ResponseOnRight { column: column("y") }),
        ("y ~ . - y", ResponseOnRight { column: column("y") }),
        ("y{a,b} ~ x", CategoricalResponse { column: column("y") }),
        ("y ~ g{a}", TooFewLevels { column: column("g") }),
        ("y ~ g{}", TooFewLevels { column: column("g") }),
        ("y ~ g{a,b,a}", DuplicateLevel { column: column("g"), level: column("a") }),
        ("y ~ g{a,,b}", EmptyLevel { column: column("g") }),
        ("y ~ g{a,b,}", EmptyLevel { column: column("g") }),
        ("y ~ g{a,\"\"}", EmptyLevel { column: column("g") }),
        ("y ~ 0", NoTerms),
        ("y ~ -1", NoTerms),
        ("y ~ x - z", NothingToRemove { term: column("z") }),
        ("y ~ x + z - x:z", NothingToRemove { term: column("x:z") }),
        ("y ~ log(x)", BoundsNeeded { column: column("x"), expression: column("log(x)") }),
        ("y ~ poly(x, 2)", BoundsNeeded { column: column("x"), expression: column("x") }),
        ("y ~ I(g{a,b} + 1)", CategoryInArithmetic { column: column("g"), expression: column("I(g + 1)") }),
        ("y ~ bs(x[0..1], df = 2)", CurveSize { curve: "bs", least: 3, most: 200 }),
        ("2 * 3 ~ x", ConstantResponse),
        ("log(y[1..2]) ~ I(y^2)", ResponseOnRight { column: column("y") }),
        ("y ~ exp(x[0..1000])", LargeBounds { column: column("exp(x)") }),
        ("y ~ `.`", ReservedName),
    ];
    for (text, expected) in table {
        assert_eq!(Formula::parse(text), Err(expected), "{text}");
    }
}

/// A generator of arbitrary valid formulas.
struct Maker(rand_chacha::ChaCha20Rng);

impl Maker {
    fn below(&mut self, bound: u32) -> u32 {
        self.0.next_u32() % bound
    }

    fn flip(&mut self) -> bool {
        self.below(2) == 0
    }

    fn text(&mut self) -> String {
        const LETTERS: &[char] =
            &['a', 'Z', '_', '.', '1', ' ', ',', '"', '`', '\\', '{', '}', '~', 'é', '\n', '-', '\u{1}'];
        (0..1 + self.below(6)).map(|_| LETTERS[self.below(LETTERS.len() as u32) as usize]).collect()
    }

    fn number(&mut self) -> f64 {
        let bits = f64::from_bits(self.0.next_u64());
        let round = f64::from(self.below(2_000)) - 1_000.0;
        if self.flip() && (1e-100..1e100).contains(&bits.abs()) { bits } else { round }
    }

    /// A unique name: it ends in the column's own number.
    fn column(&mut self, index: usize, categorical: bool) -> Column {
        let name = format!("{}{index}", self.text());
        let kind = match self.below(3) {
            0 => Kind::Standard,
            1 if categorical => Kind::Levels((0..2 + self.below(4)).map(|n| format!("{}{n}", self.text())).collect()),
            _ => {
                let (a, b) = (self.number(), self.number());
                if a == b { Kind::Standard } else { Kind::Bounded { low: a.min(b), high: a.max(b) } }
            }
        };
        Column { name, kind }
    }

    fn formula(&mut self) -> Formula {
        let response = self.column(1000, false);
        let count = self.below(5) as usize;
        let columns: Vec<Column> = (0..count).map(|index| self.column(index + 2000, true)).collect();
        let mut except = Vec::new();
        let dot = self.flip().then(|| self.below(count as u32 + 1) as usize);
        if dot.is_some() {
            except = (0..self.below(3)).map(|index| format!("{}{}", self.text(), 3000 + index)).collect();
        }
        let intercept = columns.is_empty() || self.flip();
        let events: Vec<Term> = columns.iter().filter_map(|column| self.event(column)).collect();
        let within = (!columns.is_empty() && self.flip()).then(|| format!("{}4000", self.text()));
        let mut model = Model::of_columns(response, columns, intercept || within.is_some());
        model.terms.extend(events);
        model.within.extend(within);
        Formula { model: Box::new(model), dot, except }
    }

    /// An event study of a category, half of the time.
    fn event(&mut self, column: &Column) -> Option<Term> {
        let Kind::Levels(levels) = &column.kind else { return None };
        let reference = levels[self.below(levels.len() as u32) as usize].clone();
        let of = self.flip().then(|| column.name.clone());
        let shares = if of.is_some() && self.flip() {
            levels[1..].iter().map(|_| 1.0 + f64::from(self.below(8))).collect()
        } else {
            Vec::new()
        };
        let event = Event { period: column.name.clone(), of, reference, shares };
        self.flip().then(|| Term(vec![Variable::Event(event)]))
    }

    /// Arithmetic on two columns that are between 1 and 2.
    fn expression(&mut self, depth: u32) -> Expression {
        let inside = |maker: &mut Self| Box::new(maker.expression(depth - 1));
        match if depth == 0 { self.below(2) } else { self.below(7) } {
            0 => Expression::Column(["a", "b c"][self.below(2) as usize].to_owned()),
            1 => Expression::Number(f64::from(self.below(100)) / 8.0),
            2 => Expression::Negative(inside(self)),
            3 => Expression::Power(inside(self), [2.0, 3.0, 0.5, -1.0][self.below(4) as usize]),
            4 => Expression::Call(Function::ALL[self.below(8) as usize], inside(self)),
            _ => {
                use Operator::{Minus, Over, Plus, Times};
                Expression::binary([Plus, Minus, Times, Over][self.below(4) as usize], *inside(self), *inside(self))
            }
        }
    }
}

#[test]
fn what_is_printed_reads_back_as_the_same() {
    let mut maker = Maker(rand_chacha::ChaCha20Rng::seed_from_u64(1));
    for _ in 0..3_000 {
        let formula = maker.formula();
        assert_eq!(Formula::parse(&formula.to_string()).as_ref(), Ok(&formula), "{formula}");
        let toml = formula.to_toml();
        assert_eq!(Formula::from_toml(&toml).as_ref(), Ok(&formula), "{toml}");
    }
}

#[test]
fn arithmetic_that_is_printed_reads_back_as_the_same() {
    let mut maker = Maker(rand_chacha::ChaCha20Rng::seed_from_u64(2));
    let mut sound = 0;
    for _ in 0..3_000 {
        let expression = maker.expression(4);
        let read = Formula::read(&format!("y ~ I({expression})")).expect("it is in the grammar");
        let Variable::Value(found) = &read.model.terms[0].0[0] else { panic!("{expression} is a number") };
        assert_eq!(found.inside(), expression.inside(), "{expression}");
        let text = format!("y[0..1] ~ I({expression} + a[1..2]):z[0..1] + offset(`b c`[1..2])");
        if let Ok(formula) = Formula::parse(&text) {
            sound += 1;
            assert_eq!(Formula::parse(&formula.to_string()).as_ref(), Ok(&formula), "{formula}");
            assert_eq!(Formula::from_toml(&formula.to_toml()).as_ref(), Ok(&formula), "{formula}");
        }
    }
    assert!(sound > 300, "only {sound} of the formulas are sound");
}

/// For cells within their bounds, the value lies within the range that interval arithmetic gives.
#[test]
fn computed_numbers_keep_to_their_bounds() {
    let mut maker = Maker(rand_chacha::ChaCha20Rng::seed_from_u64(3));
    let bounds = [Range { low: -0.5, high: 1.25 }, Range { low: 0.75, high: 3.0 }];
    let of = |name: &str| bounds[usize::from(name != "a")];
    let mut sound = 0;
    for _ in 0..20_000 {
        let expression = maker.expression(3);
        let Ok(range) = expression.range(&of) else { continue };
        sound += 1;
        for _ in 0..20 {
            let mut cell = |Range { low, high }: Range| match maker.below(4) {
                0 => low,
                1 => high,
                _ => low + (high - low) * f64::from(maker.below(1 << 20)) / f64::from(1u32 << 20),
            };
            let cells = bounds.map(&mut cell);
            let value = expression.value(&|name| cells[usize::from(name != "a")]);
            assert!(range.low <= value && value <= range.high, "{expression}: {value} outside {range:?} at {cells:?}");
        }
    }
    assert!(sound > 5_000, "only {sound} of the expressions are defined");
}

#[test]
fn products_are_multiplied_out_as_r_does() {
    let facts = "y[0..1] ~ a[0..1] + b[0..1] + c[0..1] + g{u,v,w} + h{p,q}";
    let table = [
        ("a*b", "a + b + a:b"),
        ("a:b", "a:b"),
        ("a:a", "a"),
        ("b:a + a", "b:a + a"),
        ("a + b:a + a:b", "a + a:b"),
        ("c + b:a:c", "c + c:b:a"),
        ("(a + b + c)^2", "a + b + c + a:b + a:c + b:c"),
        ("(a + b)^5", "a + b + a:b"),
        ("(a + b + c)^3 - a:b:c", "a + b + c + a:b + a:c + b:c"),
        ("a*b*c", "a + b + a:b + c + a:c + b:c + a:b:c"),
        ("(a + b):c", "a - a + b - b + a:c + b:c"),
        ("a*b - a", "a - a + b + a:b"),
        ("a*b*c - a - a:b", "a - a + b + c + a:c + b:c + a:b:c"),
        ("a:c + b:c - a:c + a:b", "a - a + c:b + a:b"),
        ("a + a + I(a^2)", "a + I(a^2)"),
        ("poly(a, degree=2)*g", "poly(a, 2) + g + poly(a, 2):g"),
        ("ns(log( a+1 ),df=4)", "ns(log(a + 1), df = 4)"),
        ("I(-a^2)+I((a+b)*c/2)", "I(-a^2) + I((a + b) * c/2)"),
        ("a + offset( b ) + offset(c)", "a + offset(b) + offset(c)"),
    ];
    for (text, expected) in table {
        let facts = Formula::parse(facts).unwrap();
        let described = |text: &str| {
            let mut formula = Formula::read(&format!("y ~ {text}")).expect(text);
            let mut columns = formula.model.columns();
            for column in &mut columns {
                column.kind = facts.model.columns.iter().find(|one| one.name == column.name).unwrap().kind.clone();
            }
            formula.model.columns = model::Facts::of(columns);
            formula.checked().expect(text)
        };
        assert_eq!(described(text).without_facts(), format!("y ~ {expected}"), "{text}");
        assert_eq!(described(text), described(expected), "{text}");
    }
}

/// As `colnames(model.matrix(...))` gives them in R 4, without the brackets around levels.
#[test]
fn names_are_those_of_r() {
    let table: [(&str, &[&str]); 17] = [
        ("union{no,yes}*female{no,yes}", &["(Intercept)", "union[yes]", "female[yes]", "union[yes]:female[yes]"]),
        ("poly(a[1..2], 3)", &["(Intercept)", "poly(a, 3)1", "poly(a, 3)2", "poly(a, 3)3"]),
        ("poly(a[1..2], 1)", &["(Intercept)", "poly(a, 1)"]),
        ("bs(a[1..2], df=3) - 1", &["bs(a, df = 3)1", "bs(a, df = 3)2", "bs(a, df = 3)3"]),
        ("log(a[1..2]) + I(a^2) + I(a/2)", &["(Intercept)", "log(a)", "I(a^2)", "I(a/2)"]),
        ("a[1..2]:g{u,v} + a", &["(Intercept)", "a", "a:g[v]"]),
        (
            "g{u,v,w}:h{p,q,r} + g + h",
            &["(Intercept)", "g[v]", "g[w]", "h[q]", "h[r]", "g[v]:h[q]", "g[w]:h[q]", "g[v]:h[r]", "g[w]:h[r]"],
        ),
        ("0 + g{u,v} + h{p,q}", &["g[u]", "g[v]", "h[q]"]),
        ("a[1..2]:g{u,v}", &["(Intercept)", "a:g[u]", "a:g[v]"]),
        ("g{u,v}:h{p,q}", &["(Intercept)", "g[u]:h[p]", "g[v]:h[p]", "g[u]:h[q]", "g[v]:h[q]"]),
        ("g{u,v} + g:h{p,q}", &["(Intercept)", "g[v]", "g[u]:h[q]", "g[v]:h[q]"]),
        ("a[1..2]:(g{u,v} + h{p,q})", &["(Intercept)", "a:g[u]", "a:g[v]", "a:h[q]"]),
        ("a[1..2] + g{u,v}:a", &["(Intercept)", "a", "a:g[v]"]),
        ("a[1..2]*g{u,v} - a", &["(Intercept)", "g[v]", "a:g[u]", "a:g[v]"]),
        ("0 + a[1..2] + g{u,v}", &["a", "g[u]", "g[v]"]),
        ("h{p,q} + a[1..2]:b[0..1] + b", &["(Intercept)", "h[q]", "b", "a:b"]),
        ("`odd name`[0..1] + I(`odd name`^2)", &["(Intercept)", "odd name", "I(`odd name`^2)"]),
    ];
    for (text, expected) in table {
        let formula = Formula::parse(&format!("y[0..1] ~ {text}")).expect(text);
        assert_eq!(formula.into_model().unwrap().coefficient_names(), expected, "{text}");
    }
}

#[test]
fn a_function_that_is_not_defined_within_the_bounds_is_refused_with_the_bound_to_change() {
    let table = [
        ("log(x[0..5])", "'log(x)' needs 'x' to be above 0, but the bounds allow 0 to 5: raise the lower bound of 'x'"),
        ("sqrt(x[-1..5])", "'sqrt(x)' needs 'x' to be not below 0, but the bounds allow -1 to 5: raise the lower"),
        ("I(1/x[-1..5])", "'1/x' needs 'x' to be never 0, but the bounds allow -1 to 5: change the bounds of 'x'"),
        ("log1p(x[-1..5])", "'log1p(x)' needs 'x' to be above -1"),
        ("I(x[-1..5]^0.5)", "'x^0.5' needs 'x' to be not below 0"),
        ("log(x[0..5] - z[0..1])", "'log(x - z)' needs 'x - z' to be above 0, but the bounds allow"),
    ];
    for (text, expected) in table {
        let message = refusal(&format!("y[0..1] ~ {text}"));
        assert!(message.starts_with(&format!("formula: {expected}")), "{message}");
    }
    let message = refusal("log(y[0..1]) ~ x[0..1]");
    assert!(message.ends_with("raise the lower bound of 'y'"), "{message}");
}

#[test]
fn what_no_stack_and_no_memory_holds_is_refused() {
    let deep = format!("y ~ I({}x{})", "(".repeat(100_000), ")".repeat(100_000));
    assert!(refusal(&deep).contains("fewer parentheses"));
    assert!(refusal(&format!("y ~ I({}x)", "-".repeat(100_000))).contains("fewer parentheses"));
    assert!(refusal(&format!("y ~ I({}x)", "log(".repeat(100_000))).contains("fewer parentheses"));
    assert!(
        refusal(&format!("y ~ I(x[0..1]{})", "+x".repeat(100_000)))
            .contains("compute arithmetic this long in the data")
    );
    let many: Vec<String> = (0..1000).map(|j| format!("x{j}")).collect();
    assert_eq!(refusal(&format!("y ~ ({})^9", many.join("+"))), FormulaError::TooManyTerms.to_string());
    let levels: Vec<String> = (0..2000).map(|j| j.to_string()).collect();
    let levels = levels.join(",");
    assert_eq!(refusal(&format!("y ~ g{{{levels}}}:h{{{levels}}}")), FormulaError::TooManyTerms.to_string());
}

#[test]
fn toml_states_the_same_facts() {
    let text = r#"
        response = "earnings"
        [columns.zone]
        levels = [1, 2, true, "x y"]
        [columns.earnings]
        low = 0
        high = 2e5
        [columns."odd name"]
        standard = true
        [columns."."]
        except = ["id"]
        [columns.age]
        low = -1_8.5
        high = 0x5A
    "#;
    let same = r#"earnings[0..200000] ~ zone{1,2,true,x y} + `odd name` + . + age[-18.5..90] - id"#;
    assert_eq!(Formula::from_toml(text), Formula::parse(same));
    let no_intercept = "response='y'\nintercept=false\n[columns]\ny={low=0,high=1}\nx={standard=true}";
    assert_eq!(Formula::from_toml(no_intercept), Formula::parse("y[0..1] ~ x + 0"));
    let text = "formula = 'log(y) ~ x*g'\n[columns]\nx = {low=0,high=1}\ny = {low=1,high=9}\ng = {levels=['a','b']}\n\
                unused = {low=0,high=1}";
    assert_eq!(Formula::from_toml(text), Formula::parse("log(y[1..9]) ~ x[0..1] * g{a,b}"));
    let text = "formula = 'y ~ d + e'\n[columns]\nd = {low=2020-01-01,high=2020-12-31}\ne = {low='1969-12-31',high=1970-01-01}";
    let same = Formula::parse("y ~ d[2020-01-01..2020-12-31] + e[1969-12-31..1970-01-01]").unwrap();
    assert_eq!(Formula::from_toml(text).as_ref(), Ok(&same));
    assert_eq!(Formula::from_toml(&same.to_toml()), Ok(same));
}

#[test]
fn toml_refusals_say_what_to_do() {
    let y = "response = 'y'\ncolumns.y.standard = true\n";
    let table = [
        ("response = ", "model file: not valid TOML at line 1"),
        ("columns.y.standard = true", "model file: fill in the response, as in response = \"earnings\""),
        ("response = ''", "model file: fill in the response, as in response = \"earnings\""),
        ("response = 3", "model file: 'response' must be text in quotes (line 1)"),
        ("response = 'y'", "model file: the response 'y' has no [columns] table: add one with its bounds"),
        (
            "respones = 'y'",
            "model file: 'respones' is not known here (line 1): use formula, or response and intercept, and",
        ),
        (&format!("formula = 'y ~ x'\n{y}"), "model file: write either formula, or response and intercept (line 1)"),
        ("formula = 'y[0..1] ~ x'\ncolumns.y = {low=0,high=2}", "formula: two different bounds or levels"),
        (
            &format!("{y}[columns.x]\nlow = ''\nhigh = ''"),
            "model file: fill in both bounds of 'x' from public knowledge",
        ),
        (&format!("{y}[columns.x]\nlow = 1"), "model file: fill in both bounds of 'x' from public knowledge"),
        (
            &format!("{y}[columns.x]\nlow = 1\nhigh = ' '"),
            "model file: fill in both bounds of 'x' from public knowledge",
        ),
        (&format!("{y}[columns.x]\nlevels = []"), "model file: fill in the levels of 'x' from public knowledge"),
        (
            &format!("{y}[columns.x]\nlow = 'a'\nhigh = 1"),
            "model file: 'low' must be a number, or a date as 2020-12-31 (line 4)",
        ),
        (&format!("{y}[columns.x]\nlevels = [1.5]"), "model file: 'levels' must be a list of texts (line 4)"),
        (&format!("{y}[columns.x]\nlevels = 'a'"), "model file: 'levels' must be a list of texts (line 4)"),
        (&format!("{y}[columns.x]\nlower = 1"), "model file: 'lower' is not known here (line 4): use low and high,"),
        (&format!("{y}[columns.x]"), "model file: 'x' needs exactly one of"),
        (&format!("{y}[columns.x]\nstandard = false"), "model file: 'x' needs exactly one of"),
        (&format!("{y}[columns.x]\nstandard = true\nlow = 1\nhigh = 2"), "model file: 'x' needs exactly one of"),
        (&format!("{y}[columns.x]\nlow = 2\nhigh = 1"), "formula: the bounds of 'x' are reversed (2 is above 1)"),
        (&format!("{y}[columns.x]\nlow = 0\nhigh = inf"), "formula: the bounds of 'x' must be finite"),
        (&format!("{y}columns.x = 1"), "model file: 'x' must be a table (line 3)"),
        (&format!("{y}[columns.'.']\nonly = ['a']"), "model file: 'only' is not known here (line 4): use except"),
    ];
    for (text, expected) in table {
        let message = Formula::from_toml(text).expect_err(text).to_string();
        assert!(message.starts_with(expected), "{text}: {message}");
    }
}

fn survey() -> Schema {
    let fields = [
        ("id", Type::Number),
        ("y", Type::Number),
        ("age", Type::Number),
        ("region", Type::Text),
        ("member", Type::Boolean),
        ("born", Type::Date),
        ("tags", Type::Unsupported),
        ("educ", Type::Number),
    ];
    Schema::new(fields.map(|(name, kind)| Field::new(name, kind)).into())
}

fn resolved(text: &str) -> Result<Model, SchemaError> {
    Formula::parse(text).expect("a valid formula").resolve(&survey())
}

#[test]
fn the_dot_stands_for_every_other_numeric_column_in_file_order() {
    let model = resolved("y ~ educ[0..20] + . - id").unwrap();
    assert_eq!(model.columns()[1..], [bounded("educ", 0.0, 20.0), standard("age")]);
    let model = resolved("y ~ . + region{n,s}").unwrap();
    let expected = [standard("id"), standard("age"), standard("educ"), levels("region", &["n", "s"])];
    assert_eq!(model.columns()[1..], expected);
    let model = resolved("y ~ . + age[0..9]:educ").unwrap();
    assert_eq!(model.coefficient_names(), ["(Intercept)", "id", "age:educ"]);
}

#[test]
fn resolving_refuses_what_the_table_cannot_give() {
    let table = [
        ("y ~ agee", "the data have no column 'agee': did you mean 'age'?"),
        ("y ~ AGE", "the data have no column 'AGE': did you mean 'age'?"),
        ("yy ~ age", "the data have no column 'yy': did you mean 'y'?"),
        ("y ~ weight", "the data have no column 'weight': check the formula against the header"),
        ("y ~ . - eduk", "the data have no column 'eduk': did you mean 'educ'?"),
        ("y ~ region", "column 'region' holds text or categories: give its levels, as in region{a,b}"),
        ("y ~ region[0..1]", "column 'region' holds text or categories: give its levels"),
        ("y ~ born[0..1]", "column 'born' holds dates: write its bounds as dates, as in born[2020-01-01..2020-12-31]"),
        ("y ~ age[1970-01-01..1980-01-01]", "column 'age' holds numbers, not dates"),
        ("y ~ tags{a,b}", "column 'tags' has a type that a model cannot use"),
        ("y ~ . - id - age - educ", "the data have no other numeric column for '.'"),
    ];
    for (text, expected) in table {
        let message = resolved(text).expect_err(text).sentence(Interface::Rust);
        assert!(message.starts_with(expected), "{text}: {message}");
    }
    resolved("y ~ poly(born[1970-01-01..1980-01-01], 2)").expect("days can be computed with");
    resolved("y ~ member + age{1,2}").expect("booleans are numbers, whole numbers can be levels");
}

#[test]
fn columns_without_a_declared_type_are_read_as_the_formula_says() {
    let schema = Schema::new(vec![Field::new("y", Type::Undeclared), Field::new("x", Type::Undeclared)]);
    let resolve = |text: &str| Formula::parse(text).expect("a valid formula").resolve(&schema);
    assert!(resolve("y[0..1] ~ x").is_ok() && resolve("y ~ x{a,b}").is_ok());
    let message = resolve("y ~ .").unwrap_err().to_string();
    assert!(message.starts_with("'.' needs columns with declared types, and 'x' has none"), "{message}");
}

#[test]
fn bounds_that_cannot_be_scaled_by_are_refused() {
    let close = ["0..5e-324", "0..1e-300", "1..1.0000000000000002", "-1e-200..1e-200", "1e9..1000000000.1"];
    for bounds in close {
        let message = Formula::parse(&format!("y[0..1] ~ x[{bounds}]")).expect_err(bounds).to_string();
        assert!(message.starts_with("formula: the bounds of 'x' are too close"), "{bounds}: {message}");
    }
    for bounds in ["-1e308..1e308", "0..1e151", "-1e200..0"] {
        let message = Formula::parse(&format!("y[{bounds}] ~ x")).expect_err(bounds).to_string();
        assert!(message.starts_with("formula: the bounds of 'y' are beyond 1e150"), "{bounds}: {message}");
    }
    for bounds in ["0..1e-149", "-1e150..1e150", "1e9..1000000001", "0.1..0.3"] {
        Formula::parse(&format!("y[{bounds}] ~ x[{bounds}] + 0")).expect(bounds);
    }
}

#[test]
fn a_model_names_its_columns_and_coefficients() {
    let model = resolved("y ~ age[18..90] + region{n,s,e} + educ").unwrap();
    assert_eq!(model.coefficient_names(), ["(Intercept)", "age", "region[s]", "region[e]", "educ"]);
    let names: Vec<String> = model.columns().into_iter().map(|column| column.name).collect();
    assert_eq!(names, ["y", "age", "region", "educ"]);
    assert_eq!(model.assumed_standard().collect::<Vec<_>>(), ["y", "educ"]);
    assert!(model.has_bounds());
    let plain = resolved("y ~ region{n,s} + 0").unwrap();
    assert_eq!(plain.coefficient_names(), ["region[n]", "region[s]"]);
    assert!(!plain.has_bounds());
    assert_eq!(resolved("y ~ 1").unwrap().coefficient_names(), ["(Intercept)"]);
}

#[test]
fn a_template_is_refused_until_filled_in() {
    let text = template(&survey());
    let refused = |text: &str| Formula::from_toml(text).expect_err("blanks are left").to_string();
    assert!(refused(&text).starts_with("model file: fill in the response"));
    let text = text.replacen("response = \"\"", "response = \"y\"", 1);
    assert!(refused(&text).contains("both bounds of 'id'"));
    let days =
        |text: &str| text.replacen("low = \"\"", "low = 2020-01-01", 1).replacen("high = \"\"", "high = 2020-12-31", 1);
    let (before, born) = text.split_at(text.find("[columns.born]").expect("a table for the dates"));
    let text = before.to_owned() + &days(born);
    let text = text.replace("low = \"\"", "low = 0").replace("high = \"\"", "high = 9");
    assert!(refused(&text).contains("levels of 'region'"));
    let text = text.replace("levels = []", "levels = ['a', 'b']");
    let same = "y[0..9] ~ id[0..9] + age[0..9] + region{a,b} + member{a,b} + born[2020-01-01..2020-12-31] + educ[0..9]";
    assert_eq!(Formula::from_toml(&text), Formula::parse(same));
    assert!(text.contains("# \"tags\" is of a type that a model cannot use"));
}

#[test]
fn a_template_survives_odd_names() {
    let names = ["a b", "", "x\"y", "tab\there", "dotted.name"];
    let schema = Schema::new(names.map(|name| Field::new(name, Type::Undeclared)).into());
    let text = template(&schema).replace("response = \"\"", "response = 'a b'");
    let filled = |low: &str, levels: &str| {
        let numbers =
            text.replace("low = \"\"", low).replace("high = \"\"", low.replace("low = 0", "high = 1").as_str());
        Formula::from_toml(&numbers.replace("# levels = []", levels))
    };
    assert_eq!(filled("low = 0", "").map(|formula| formula.names().map(|names| names.len())), Ok(Some(5)));
    let refusal = filled("", "levels = ['a', 'b']").unwrap_err();
    assert_eq!(refusal, FormulaError::CategoricalResponse { column: "a b".into() });
}

fn names(text: &str) -> Vec<String> {
    Formula::parse(text).expect(text).into_model().expect("no dot").coefficient_names()
}

#[test]
fn persons_and_categories_stand_after_a_bar() {
    let text = "y[0..1] ~ x[0..1] + wave{1,2,3} | id";
    let formula = Formula::parse(text).unwrap();
    assert_eq!((formula.within(), formula.to_string().as_str()), (Some("id"), text));
    assert_eq!(names(text), ["x", "wave[2]", "wave[3]"]);
    // Categories are terms, wherever their levels are listed, and a constant is there by default.
    for same in ["y[0..1] ~ x[0..1] | id + wave{1,2,3}", "y[0..1] ~ x[0..1] + wave{1,2,3} + 0 | wave + id"] {
        assert_eq!(Formula::parse(same).unwrap(), formula, "{same}");
    }
    let toml = "formula = 'y ~ x | id + wave'\n[columns.y]\nlow = 0\nhigh = 1\n[columns.x]\nlow = 0\nhigh = 1\n\
                [columns.wave]\nlevels = ['1', '2', '3']";
    assert_eq!(Formula::from_toml(toml).unwrap(), formula);
    assert_eq!(names("y[0..1] ~ x[0..1] | g{a,b}"), ["(Intercept)", "x", "g[b]"]);
    for (wrong, why) in [
        ("y ~ x | id + firm", "not both 'id' and 'firm'"),
        ("y ~ x | z[0..1]", "'z' is a number"),
        ("y ~ x + id | id", "where it identifies persons"),
        ("y ~ 1 | id", "name a column"),
        ("y ~ x |", "after '|'"),
        ("y ~ x | id - wave", "expected '+' or the end"),
    ] {
        assert!(refusal(wrong).contains(why), "{wrong}: {}", refusal(wrong));
    }
}

/// Cohorts that are called as the period from which they are treated are averaged.
#[test]
fn cohorts_are_averaged_by_periods_since() {
    let studies =
        |text: &str| Formula::parse(text).expect(text).into_model().expect("no dots in the formula").event_studies();
    let mut found = studies("y ~ i(t{1,2,3,4,5}, cohort{never,3,4}, ref = 2)");
    let average = found.pop().unwrap();
    assert_eq!((found.len(), average.is_average(), average.before), (2, true, 3));
    assert_eq!((average.period.as_str(), average.of.as_deref()), ("t since cohort", Some("cohort")));
    assert_eq!(average.levels, ["-3", "-2", "-1", "0", "1", "2"]);
    let names = ["t::1:cohort::4", "t::1:cohort::3", "t::3:cohort::4", "t::3:cohort::3", "t::4:cohort::4"];
    assert_eq!(average.coefficients[..2].concat(), names[..2]);
    // The reference is the period before that of the one cohort, and says nothing of the other.
    assert_eq!(average.coefficients[2], names[2..3]);
    assert_eq!(average.coefficients[3], [names[3], names[4]]);
    assert_eq!(average.coefficients[5], ["t::5:cohort::3"]);
    assert_eq!((&average.weights[3], average.has_shares), (&vec![0.5, 0.5], false));
    // Shares are among the cohorts that have the period.
    let text = "y ~ i(t{1,2,3,4,5}, cohort{never,3,4}, ref = 2, shares = {1,3})";
    let average = studies(text).pop().unwrap();
    assert_eq!((&average.weights[3], &average.weights[5], average.has_shares), (&vec![0.25, 0.75], &vec![1.0], true));
    assert_eq!(Formula::parse(text).unwrap().to_string(), text);
    for alone in [
        "y ~ i(t{1,2,3,4,5}, cohort{never,3}, ref = 2)",
        "y ~ i(t{1,2,3,4,5}, cohort{never,3,late}, ref = 2)",
        "y ~ i(t{1,2,3,4,5}, cohort{never,3,4}, ref = 3)",
        "y ~ i(t{1,2,3,4,5}, ref = 3)",
    ] {
        assert!(studies(alone).iter().all(|study| !study.is_average()), "{alone}");
    }
}

#[test]
fn events_have_a_coefficient_for_each_period_but_one() {
    let text = "y[0..1] ~ i(period{1,2,3,4}, treated{0,1}, ref = 2) + period | id";
    assert_eq!(Formula::parse(text).unwrap().to_string(), text);
    let treated = ["period::1:treated", "period::3:treated", "period::4:treated"];
    let periods = ["period[2]", "period[3]", "period[4]"];
    assert_eq!(names(text), [treated, periods].concat());
    assert_eq!(names("y ~ i(t{a,b,c}, ref = c)"), ["(Intercept)", "t::a", "t::b"]);
    let cohorts = "y ~ i(t{1,2}, cohort{never,2004,2006}, ref = \"1\")";
    assert_eq!(names(cohorts), ["(Intercept)", "t::2:cohort::2004", "t::2:cohort::2006"]);
    let studies = Formula::parse(cohorts).unwrap().into_model().unwrap().event_studies();
    assert_eq!(studies.len(), 2);
    assert_eq!((studies[1].of.as_deref(), studies[1].reference), (Some("cohort::2006"), Some(0)));
    assert_eq!(studies[1].coefficients, [vec![], vec!["t::2:cohort::2006".to_owned()]]);
    let odd = "y ~ i(t{\"a)\",b}, ref = \"a)\")";
    assert_eq!(Formula::parse(odd).unwrap().to_string(), "y ~ i(t{a),b}, ref = \"a)\")");
    for (wrong, why) in [
        ("y ~ i(t{1,2}, ref = 3)", "'3' of i(...) is not a level of 't'"),
        ("y ~ i(t{1,2,3}, g{0,2,3}, ref = 1, shares = {1})", "there are 2"),
        ("y ~ i(t{1,2,3}, g{0,2,3}, ref = 1, shares = {1,0})", "positive number"),
        ("y ~ i(t{1,2,3}, ref = 1, shares = {1})", "there are 0"),
        ("y ~ i(t{1,2}, ref = 1, by = 3)", "'shares = {'"),
        ("y ~ i(t[1..2], ref = 1)", "list the levels of 't'"),
        ("y ~ i(t{1,2}, g[0..1], ref = 1)", "list the levels of 'g'"),
        ("y ~ i(t{1,2})", "', ref = '"),
        ("y ~ i(t{1,2}, g{0,1})", "', ref = '"),
        ("y ~ i(t{1,2}, ref = )", "the level that is the reference"),
    ] {
        assert!(refusal(wrong).contains(why), "{wrong}: {}", refusal(wrong));
    }
}

#[test]
fn an_instrument_stands_after_the_last_bar() {
    for text in [
        "y[0..1] ~ w[0..1] | x[0..2] ~ z[0..3]",
        "y[0..1] ~ w[0..1] | id | x[0..2] ~ z{a,b}",
        "y[0..1] ~ 1 | log(x[1..2]) ~ I(z[1..3]^2)",
        "y[0..1] ~ 0 | x[0..2] ~ z[0..3]",
        "y[0..1] ~ w[0..1] | id | x[0..2] ~ z[0..3] + g{a,b,c} + log(v[1..2])",
        "y[0..1] ~ w[0..1] + g{a,b} + w:g | id | x[0..2] ~ z[0..3]",
    ] {
        let formula = Formula::parse(text).expect(text);
        assert_eq!(formula.to_string(), text);
        assert_eq!(Formula::from_toml(&formula.to_toml()).as_ref(), Ok(&formula), "{text}");
    }
    assert_eq!(names("y[0..1] ~ w[0..1] + a[0..1]:b[0..1] | x[0..2] ~ z[0..3]"), ["(Intercept)", "w", "x", "a:b"]);
    assert_eq!(names("y[0..1] ~ w[0..1] | id + g{a,b} | x[0..2] ~ z{a,b}"), ["w", "g[b]", "x"]);
    let model = Formula::parse("y[0..1] ~ w[0..1] | `x x`[0..2] ~ z{a,b,c} + v[0..1]").unwrap().into_model().unwrap();
    assert_eq!(model.instruments(), ["z", "v"]);
    let (names, all) = (model.moment_names().unwrap(), model.with_moments().unwrap());
    assert_eq!(names.instruments, ["z[b]", "z[c]", "v"]);
    assert_eq!((names.regressor.as_str(), names.response.as_str()), ("x x", "y"));
    assert_eq!(all.coefficient_names(), ["(Intercept)", "w", "z[b]", "z[c]", "v", "x x", "y"]);
    for (wrong, why) in [
        ("y ~ w | x ~ z + z", "stands there twice"),
        ("y ~ w | x[0..1] + v[0..1] ~ z", "'x' and 'v' stand before '~'"),
        ("y ~ w | id | x + v ~ z", "one regressor has instruments"),
        ("y ~ w | x ~ z + ", "an instrument, after '+'"),
        ("y ~ w | x ~ z{1,2,3,4,5,6,7,8,9,10,11,12}", "11 columns"),
        ("y ~ w | x{a,b} ~ z", "'x' is not"),
        ("y ~ w + 0 | x ~ z{a,b}", "'z' is neither"),
        ("y ~ w | x ~ w", "'w' also stands before"),
        ("y ~ w | x ~ y", "'y' also stands before"),
        ("y[0..1] ~ w[0..1] | x[0..1] ~ I(z[0..1] + w)", "also stands before"),
        ("y ~ w + x | x ~ z", "'x' is instrumented"),
        ("y ~ w | id | firm", "'~' and the instrument"),
        ("y ~ w | x ~ z | id", "has no meaning here"),
    ] {
        assert!(refusal(wrong).contains(why), "{wrong}: {}", refusal(wrong));
    }
}
