//! Options that are words. Each is defined once; every interface and JSON take its words from here.

/// An option whose value is one of a few words; [`choice!`](crate::choice) defines one.
pub trait Choice: std::str::FromStr<Err = UnknownWord> + Copy + Send + Sync + 'static {
    /// What the option is called.
    const OPTION: &'static str;
    /// Every value, in the order in which they are listed.
    const ALL: &'static [Self];

    /// The word for this value.
    fn word(self) -> &'static str;

    /// What to do instead of a value that people look for and that there is not.
    const INSTEAD: Option<&'static str> = None;

    /// Other words that mean the same, accepted and never printed.
    fn synonyms(self) -> &'static [&'static str];
}

/// A word that an option does not know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{option} must be one of {}", words.join(", "))]
pub struct UnknownWord {
    /// The option.
    pub option: &'static str,
    /// The words it knows.
    pub words: Vec<&'static str>,
}

/// The value that a word, or a synonym of it, stands for.
///
/// # Errors
/// Lists the words there are.
#[doc(hidden)]
pub fn chosen<T: Choice>(word: &str) -> Result<T, UnknownWord> {
    let is_meant = |value: &&T| value.word() == word || value.synonyms().contains(&word);
    let words = || T::ALL.iter().map(|value| value.word()).collect();
    T::ALL.iter().find(is_meant).copied().ok_or_else(|| UnknownWord { option: T::OPTION, words: words() })
}

/// Defines an enum whose values are words: `FromStr` reads a word or a synonym, `Display` and serde write the word.
#[doc(hidden)]
#[macro_export]
macro_rules! choice {
    (
        $option:literal $(, $instead:literal)?;
        $(#[$about:meta])*
        pub enum $name:ident {
            $($(#[$meaning:meta])* $value:ident = $word:literal $(| $synonym:literal)*,)+
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$meaning])* $value,)+
        }

        impl $name {
            /// The word used on the command line and in reports.
            pub const fn name(self) -> &'static str {
                match self {
                    $($name::$value => $word,)+
                }
            }
        }

        impl $crate::options::Choice for $name {
            const OPTION: &'static str = $option;
            const ALL: &'static [$name] = &[$($name::$value),+];
            $(const INSTEAD: Option<&'static str> = Some($instead);)?

            fn word(self) -> &'static str {
                self.name()
            }

            fn synonyms(self) -> &'static [&'static str] {
                match self {
                    $($name::$value => &[$($synonym),*],)+
                }
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = $crate::options::UnknownWord;

            fn from_str(word: &str) -> Result<$name, Self::Err> {
                $crate::options::chosen(word)
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                let word = <::std::string::String as ::serde::Deserialize>::deserialize(deserializer)?;
                word.parse().map_err(::serde::de::Error::custom)
            }
        }
    };
}

choice! {
    "target";
    /// What an interval is for.
    #[derive(Default)]
    pub enum Target {
        /// The least-squares coefficients of the population.
        #[default]
        Population = "population",
        /// The coefficients that fit this data set best.
        Sample = "sample" | "empirical" | "ols",
        /// The robust (Huber) coefficients of the population.
        Robust = "robust",
        /// The least-squares coefficients of the population where each person counts once, whatever their number of rows.
        Person = "person",
    }
}

choice! {
    "interval";
    /// How an interval is made.
    #[derive(Default)]
    pub enum IntervalMethod {
        /// One Newton step from the mean iterate, with noise of known scale.
        #[default]
        Newton = "newton",
        /// Means of batches of iterates.
        Batched = "batched",
        /// Iterates far apart.
        Checkpoints = "checkpoints",
        /// The ends of independent runs.
        Independent = "independent",
    }
}

choice! {
    "family",
    "there is no private family for counts; a logit of whether there are any, or log1p(count) by least squares, can be fitted";
    /// What a response is.
    #[derive(Default)]
    pub enum Family {
        /// A number, fitted by least squares.
        #[default]
        Gaussian = "gaussian",
        /// One of two outcomes, whose probability is fitted by logistic regression.
        Binomial = "binomial" | "logit",
    }
}

impl Family {
    /// What its fit is called.
    pub const fn regression(self) -> &'static str {
        match self {
            Family::Gaussian => "linear regression",
            Family::Binomial => "logistic regression",
        }
    }
}

choice! {
    "device";
    /// What computes sums over rows; results do not depend on it.
    #[derive(Default)]
    pub enum Device {
        /// The processor.
        #[default]
        Cpu = "cpu",
        /// The first NVIDIA GPU of the machine.
        Cuda = "cuda",
    }
}

choice! {
    "purpose";
    /// What the fit is for.
    #[derive(Default)]
    pub enum Purpose {
        /// Estimates with intervals.
        #[default]
        Inference = "inference",
        /// Estimates only: nothing is spent on intervals and none is given.
        Prediction = "prediction",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Choice + PartialEq + std::fmt::Debug + serde::Serialize + for<'a> serde::Deserialize<'a>>() {
        for &value in T::ALL {
            assert_eq!(value.word().parse(), Ok(value));
            let json = serde_json::to_string(&value).expect("a word");
            assert_eq!(json, format!("\"{}\"", value.word()));
            assert_eq!(serde_json::from_str::<T>(&json).expect("read back"), value);
        }
        let refusal = "no such word".parse::<T>().unwrap_err().to_string();
        assert!(refusal.starts_with(T::OPTION) && refusal.contains(T::ALL[0].word()), "{refusal}");
    }

    #[test]
    fn words_are_read_back() {
        check::<Target>();
        check::<IntervalMethod>();
        check::<Purpose>();
    }

    #[test]
    fn old_words_are_accepted_and_new_ones_printed() {
        for word in ["empirical", "ols", "sample"] {
            assert_eq!(word.parse::<Target>().expect("accepted").to_string(), "sample");
        }
    }
}
