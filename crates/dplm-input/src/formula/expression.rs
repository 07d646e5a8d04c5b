//! Numbers computed from the cells of one row.

/// A number computed from the cells of one row. `C` identifies a column: by name in a formula, by
/// position where rows are read.
///
/// # Guarantee
/// A row's numbers depend on that row alone and have the same bits on every machine: logarithms and
/// similar functions come from the library's own code, not the platform's.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression<C = String> {
    /// A cell.
    Column(C),
    /// A constant.
    Number(f64),
    /// The negative of a number.
    Negative(Box<Expression<C>>),
    /// Two numbers combined.
    Binary(Operator, Box<Expression<C>>, Box<Expression<C>>),
    /// A constant power.
    Power(Box<Expression<C>>, f64),
    /// A function of a number.
    Call(Function, Box<Expression<C>>),
}

/// The operators of arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// The sum.
    Plus,
    /// The difference.
    Minus,
    /// The product.
    Times,
    /// The quotient.
    Over,
}

/// The functions of one number. `I` is the identity: in a formula, arithmetic stands inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// The number itself.
    Identity,
    /// The natural logarithm.
    Log,
    /// The logarithm to base 2.
    Log2,
    /// The logarithm to base 10.
    Log10,
    /// The natural logarithm of the number plus one.
    Log1p,
    /// The exponential.
    Exp,
    /// The square root.
    Sqrt,
    /// The absolute value.
    Abs,
}

impl Function {
    /// Every function.
    pub const ALL: [Function; 8] = [
        Function::Identity,
        Function::Log,
        Function::Log2,
        Function::Log10,
        Function::Log1p,
        Function::Exp,
        Function::Sqrt,
        Function::Abs,
    ];

    /// Its name in a formula.
    pub fn name(self) -> &'static str {
        match self {
            Function::Identity => "I",
            Function::Log => "log",
            Function::Log2 => "log2",
            Function::Log10 => "log10",
            Function::Log1p => "log1p",
            Function::Exp => "exp",
            Function::Sqrt => "sqrt",
            Function::Abs => "abs",
        }
    }

    /// Its value; inlined, as the next one is, for the crate that encodes cells.
    #[inline]
    pub fn of(self, x: f64) -> f64 {
        match self {
            Function::Identity => x,
            Function::Log => libm::log(x),
            Function::Log2 => libm::log2(x),
            Function::Log10 => libm::log10(x),
            Function::Log1p => libm::log1p(x),
            Function::Exp => libm::exp(x),
            // Correctly rounded on every machine.
            Function::Sqrt => x.sqrt(),
            Function::Abs => x.abs(),
        }
    }
}

impl Operator {
    /// Two numbers combined.
    #[inline]
    pub fn of(self, a: f64, b: f64) -> f64 {
        match self {
            Operator::Plus => a + b,
            Operator::Minus => a - b,
            Operator::Times => a * b,
            Operator::Over => a / b,
        }
    }
}

/// Powers up to this are products; larger ones go through the logarithm.
pub(super) const LARGEST_WHOLE_POWER: f64 = 32.0;

/// A number to a constant power.
#[inline]
pub(crate) fn power(x: f64, exponent: f64) -> f64 {
    if exponent.trunc() != exponent || exponent.abs() > LARGEST_WHOLE_POWER {
        return libm::pow(x, exponent);
    }
    let product = (0..exponent.abs() as u32).fold(1.0, |product, _| product * x);
    if exponent < 0.0 { 1.0 / product } else { product }
}

impl<C> Expression<C> {
    /// Two numbers combined.
    pub(crate) fn binary(operator: Operator, a: Expression<C>, b: Expression<C>) -> Expression<C> {
        Expression::Binary(operator, Box::new(a), Box::new(b))
    }

    /// The value, where `cell` gives the cells of a row.
    pub fn value(&self, cell: &impl Fn(&C) -> f64) -> f64 {
        match self {
            Expression::Column(column) => cell(column),
            Expression::Number(number) => *number,
            Expression::Negative(of) => -of.value(cell),
            Expression::Binary(operator, a, b) => operator.of(a.value(cell), b.value(cell)),
            Expression::Power(of, exponent) => power(of.value(cell), *exponent),
            Expression::Call(function, of) => function.of(of.value(cell)),
        }
    }

    /// Visits the columns, from left to right.
    pub(crate) fn for_each_column<'a>(&'a self, each: &mut impl FnMut(&'a C)) {
        match self {
            Expression::Column(column) => each(column),
            Expression::Number(_) => {}
            Expression::Negative(of) | Expression::Power(of, _) | Expression::Call(_, of) => of.for_each_column(each),
            Expression::Binary(_, a, b) => {
                a.for_each_column(each);
                b.for_each_column(each);
            }
        }
    }

    /// The same expression with columns identified in another way.
    pub fn map<D>(&self, to: &impl Fn(&C) -> D) -> Expression<D> {
        let boxed = |of: &Expression<C>| Box::new(of.map(to));
        match self {
            Expression::Column(column) => Expression::Column(to(column)),
            Expression::Number(number) => Expression::Number(*number),
            Expression::Negative(of) => Expression::Negative(boxed(of)),
            Expression::Binary(operator, a, b) => Expression::Binary(*operator, boxed(a), boxed(b)),
            Expression::Power(of, exponent) => Expression::Power(boxed(of), *exponent),
            Expression::Call(function, of) => Expression::Call(*function, boxed(of)),
        }
    }

    /// The argument of `I(...)`, or the expression itself.
    pub fn inside(&self) -> &Expression<C> {
        match self {
            Expression::Call(Function::Identity, of) => of.inside(),
            other => other,
        }
    }
}

impl Expression {
    /// The columns, from left to right, with repetitions.
    pub fn columns(&self) -> Vec<&str> {
        let mut columns = Vec::new();
        self.for_each_column(&mut |column| columns.push(column.as_str()));
        columns
    }
}
