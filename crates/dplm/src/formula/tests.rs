use rand_core::{Rng, SeedableRng};

use super::*;
use crate::schema::{Field, Schema, SchemaError, Type};

fn standard(name: &str) -> Column {
    Column { name: name.into(), kind: Kind::Standard }
}

fn bounded(name: &str, low: f64, high: f64) -> Column {
    Column { name: name.into(), kind: Kind::Bounded { low, high } }
}

fn levels(name: &str, levels: &[&str]) -> Column {
    Column { name: name.into(), kind: Kind::Levels(levels.iter().map(|level| (*level).to_owned()).collect()) }
}

fn formula(response: Column, columns: Vec<Column>) -> Formula {
    let terms = columns.into_iter().map(Term::Column).collect();
    Formula { response, terms, except: vec![], intercept: true }
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
        ("y ~ x + 0", Formula { intercept: false, ..formula(y(), vec![standard("x")]) }),
        ("y ~ 0 + x", Formula { intercept: false, ..formula(y(), vec![standard("x")]) }),
        ("y ~ x - 1", Formula { intercept: false, ..formula(y(), vec![standard("x")]) }),
        ("y ~ -1 + x", Formula { intercept: false, ..formula(y(), vec![standard("x")]) }),
        ("y ~ x + 0 + 1", formula(y(), vec![standard("x")])),
        ("y ~ x - 0", formula(y(), vec![standard("x")])),
        ("y[0..1] ~ x[-1.5e3..1_000]", formula(bounded("y", 0.0, 1.0), vec![bounded("x", -1500.0, 1000.0)])),
        ("y ~ x [ -.5 .. .5 ]", formula(y(), vec![bounded("x", -0.5, 0.5)])),
        ("y ~ x[-.5...5]", formula(y(), vec![bounded("x", -0.5, 0.5)])),
        ("y ~ x[1E-3..+2e+2]", formula(y(), vec![bounded("x", 0.001, 200.0)])),
        ("y ~ x[18.5..90.25]", formula(y(), vec![bounded("x", 18.5, 90.25)])),
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
        ("y ~ .", Formula { terms: vec![Term::Others], ..formula(y(), vec![]) }),
        (
            "y ~ . - id - `row no`",
            Formula { terms: vec![Term::Others], except: vec!["id".into(), "row no".into()], ..formula(y(), vec![]) },
        ),
        (
            "y ~ x[0..1] + . + z",
            Formula {
                terms: vec![Term::Column(bounded("x", 0.0, 1.0)), Term::Others, Term::Column(standard("z"))],
                ..formula(y(), vec![])
            },
        ),
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
        ("y ~", "formula: expected a column, '.', 0 or 1 (at character 4)"),
        ("y ~ x +", "formula: expected a column, '.', 0 or 1 (at character 8)"),
        ("y ~ x z", "formula: expected '+', '-' or the end of the formula (at character 7)"),
        ("y ~ é[18..90", "formula: expected ']' after the upper bound of 'é' (at character 13)"),
        ("y ~ age[18..90)", "formula: ')' is not supported"),
        ("y ~ age[18.90]", "formula: expected '..' after the lower bound of 'age' (at character 14)"),
        ("y ~ age[..90]", "formula: expected the lower bound of 'age', a number (at character 9)"),
        ("y ~ age[18..]", "formula: expected the upper bound of 'age', a number (at character 13)"),
        ("y ~ age[18..90]{a,b}", "formula: expected '+', '-' or the end of the formula (at character 16)"),
        ("y ~ g{a", "formula: expected ',' or '}' after a level of 'g' (at character 8)"),
        ("y ~ g{a,", "formula: expected a level of 'g' (at character 9)"),
        ("y ~ g{\"a\" b}", "formula: expected ',' or '}' after a level of 'g' (at character 11)"),
        ("y ~ g{\"a", "formula: expected a closing \" after a level of 'g' (at character 9)"),
        ("y ~ `x", "formula: expected a closing backquote after the name (at character 7)"),
        ("y ~ x:z", "formula: ':' is not supported"),
        ("y ~ x*z", "formula: '*' is not supported"),
        ("y ~ log(x)", "formula: '(' is not supported"),
        ("y ~ 2", "formula: expected a column, '.', 0 or 1 (at character 5)"),
        ("y ~ 12 + x", "formula: expected a column, '.', 0 or 1 (put a name that starts with a digit in backquotes)"),
        ("y ~ x - .", "formula: expected the name of a column to leave out, or 1 (at character 9)"),
        ("y ~ x ~ z", "formula: expected '+', '-' or the end of the formula (at character 7)"),
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
        ("y ~ x[nan..0]", NonFiniteBounds { column: column("x") }),
        ("y ~ x[0..1e999]", NonFiniteBounds { column: column("x") }),
        ("y ~ x[-1e308..1e308]", LargeBounds { column: column("x") }),
        ("y ~ x + x[0..1]", DuplicateColumn { column: column("x") }),
        ("y ~ x + `x`", DuplicateColumn { column: column("x") }),
        ("y ~ . - x - x", DuplicateColumn { column: column("x") }),
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
        ("y ~ x - z", RemovedWithoutDot { column: column("z") }),
        ("y ~ x + . - x", RemovedAndNamed { column: column("x") }),
        ("y ~ `.`", ReservedName),
    ];
    for (text, expected) in table {
        assert_eq!(Formula::parse(text), Err(expected), "{text}");
    }
}

/// A source of arbitrary formulas; everything it makes is valid.
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

    /// A name no other column has, since it ends in the column's own number.
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
        let mut terms: Vec<Term> = (0..count).map(|index| Term::Column(self.column(index + 2000, true))).collect();
        let mut except = Vec::new();
        if self.flip() {
            terms.insert(self.below(count as u32 + 1) as usize, Term::Others);
            except = (0..self.below(3)).map(|index| format!("{}{}", self.text(), 3000 + index)).collect();
        }
        let intercept = terms.is_empty() || self.flip();
        Formula { response, terms, except, intercept }
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
    assert!(
        !Formula::from_toml("response='y'\nintercept=false\n[columns]\ny={low=0,high=1}\nx={standard=true}")
            .unwrap()
            .intercept
    );
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
            "model file: 'respones' is not known here (line 1): use response, intercept, [columns.NAME]",
        ),
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
        (&format!("{y}[columns.x]\nlow = 'a'\nhigh = 1"), "model file: 'low' must be a number (line 4)"),
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
    assert_eq!(model.features, [bounded("educ", 0.0, 20.0), standard("age")]);
    let model = resolved("y ~ . + region{n,s}").unwrap();
    assert_eq!(model.features, [standard("id"), standard("age"), standard("educ"), levels("region", &["n", "s"])]);
}

#[test]
fn resolving_refuses_what_the_table_cannot_give() {
    let table = [
        ("y ~ agee", "the data have no column 'agee': did you mean 'age'?"),
        ("y ~ AGE", "the data have no column 'AGE': did you mean 'age'?"),
        ("yy ~ age", "the data have no column 'yy': did you mean 'y'?"),
        ("y ~ weight", "the data have no column 'weight': check the formula against the header"),
        ("y ~ . - eduk", "the data have no column 'eduk': did you mean 'educ'?"),
        ("y ~ region", "column 'region' holds text: give its levels, as in region{a,b}"),
        ("y ~ region[0..1]", "column 'region' holds text: give its levels"),
        ("y ~ born[0..1]", "column 'born' holds dates or times"),
        ("y ~ tags{a,b}", "column 'tags' is of a type a model cannot use"),
        ("y ~ . - id - age - educ", "the data have no other numeric column for '.'"),
    ];
    for (text, expected) in table {
        let message = resolved(text).expect_err(text).to_string();
        assert!(message.starts_with(expected), "{text}: {message}");
    }
    resolved("y ~ member + age{1,2}").expect("truth values are numbers, whole numbers can be levels");
}

#[test]
fn columns_without_a_declared_type_are_read_as_the_formula_says() {
    let schema = Schema::new(vec![Field::new("y", Type::Undeclared), Field::new("x", Type::Undeclared)]);
    let resolve = |text: &str| Formula::parse(text).expect("a valid formula").resolve(&schema);
    assert!(resolve("y[0..1] ~ x").is_ok() && resolve("y ~ x{a,b}").is_ok());
    let message = resolve("y ~ .").unwrap_err().to_string();
    assert!(
        message.starts_with("'.' needs columns whose types are declared, and nothing declares that of 'x'"),
        "{message}"
    );
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
    assert_eq!(plain.coefficient_names(), ["region[s]"]);
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
    let text = text.replace("low = \"\"", "low = 0").replace("high = \"\"", "high = 9");
    assert!(refused(&text).contains("levels of 'region'"));
    let text = text.replace("levels = []", "levels = ['a', 'b']");
    let same = "y[0..9] ~ id[0..9] + age[0..9] + region{a,b} + member{a,b} + educ[0..9]";
    assert_eq!(Formula::from_toml(&text), Formula::parse(same));
    assert!(text.contains("# \"born\" is a date or a time that a model cannot use"));
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
