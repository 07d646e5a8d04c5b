//! Quotes around cells, tracked through a text.

use memchr::memchr;

/// Tracks the quotes of a text in which a quote opens only at the start of a cell, two quotes
/// within quotes are a literal one, and a closing quote ends its cell.
///
/// A CSV splitter would accept more: text after a closing quote, and a last quote that is never
/// closed. One cell with a stray quote could then silently merge many people's rows into one.
pub(super) struct Quotes {
    delimiter: u8,
    state: State,
    /// The byte before the next text; `None` at the start of a row.
    last: Option<u8>,
}

#[derive(Clone, Copy)]
enum State {
    Outside,
    /// In quotes that opened at this byte of the file.
    Inside {
        opened: u64,
    },
    /// The last byte was a quote within quotes: it closes them, or is the first of two.
    Closing {
        opened: u64,
    },
}

/// A byte-order mark, which a file may start with and which is not text.
const MARK: &[u8] = "\u{feff}".as_bytes();

impl Quotes {
    /// At the start of a row.
    pub fn new(delimiter: u8) -> Self {
        Self { delimiter, state: State::Outside, last: None }
    }

    /// The position in the file of quotes that are still open.
    pub fn opened(&self) -> Option<u64> {
        match self.state {
            State::Inside { opened } => Some(opened),
            State::Outside | State::Closing { .. } => None,
        }
    }

    /// Continues through text that starts at byte `offset` of the file; gives the position of the
    /// first byte that follows a closing quote and does not end a cell.
    pub fn pass(&mut self, text: &[u8], offset: u64) -> Option<usize> {
        let start = if offset == 0 && text.starts_with(MARK) { MARK.len() } else { 0 };
        let mut at = start;
        loop {
            match self.state {
                State::Outside | State::Inside { .. } => match memchr(b'"', &text[at..]) {
                    None => break,
                    Some(found) => {
                        let place = at + found;
                        let before = if place > start { Some(text[place - 1]) } else { self.last };
                        self.state = self.after_quote(before, offset + place as u64);
                        at = place + 1;
                    }
                },
                State::Closing { opened } => match text.get(at) {
                    None => break,
                    Some(b'"') => {
                        self.state = State::Inside { opened };
                        at += 1;
                    }
                    Some(&byte) if self.ends_cell(byte) => self.state = State::Outside,
                    Some(_) => return Some(at),
                },
            }
        }
        self.last = text[start..].last().copied().or(self.last);
        None
    }

    /// The state after a quote at a byte of the file.
    fn after_quote(&self, before: Option<u8>, place: u64) -> State {
        match self.state {
            State::Inside { opened } => State::Closing { opened },
            _ if before.is_none_or(|before| self.ends_cell(before)) => State::Inside { opened: place },
            other => other,
        }
    }

    fn ends_cell(&self, byte: u8) -> bool {
        byte == self.delimiter || matches!(byte, b'\n' | b'\r')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The position of the fault, and of quotes left open, when the text is passed in two pieces.
    fn followed(text: &str) -> (Option<usize>, Option<u64>) {
        let outcome = |cut: usize| {
            let mut quotes = Quotes::new(b',');
            let (first, second) = text.as_bytes().split_at(cut);
            let fault = quotes.pass(first, 0);
            let fault = fault.or_else(|| quotes.pass(second, cut as u64).map(|place| cut + place));
            (fault, quotes.opened())
        };
        let whole = outcome(text.len());
        for cut in (1..text.len()).filter(|&cut| text.is_char_boundary(cut)) {
            assert_eq!(outcome(cut), whole, "{text:?} cut at {cut}");
        }
        whole
    }

    #[test]
    fn quotes_go_around_whole_cells() {
        for text in [
            "",
            "a,b\n",
            "\"a\",\"b\"\n",
            "\"a\"\"b\"\r\n\"\"",
            "5\" pipe,\"x\"",
            "\u{feff}\"a\nb\",c\n",
            "a\"b\"c\n",
            "\"\"\"\"\r",
        ] {
            assert_eq!(followed(text), (None, None), "{text:?}");
        }
    }

    #[test]
    fn text_after_a_closing_quote_is_found() {
        for (text, place) in
            [("\"a\"b\n", 3), ("x,\"a\" ,y", 5), ("\"very good\n1,2,\"b\"\n", 16), ("\u{feff}\"a\"b", 6)]
        {
            assert_eq!(followed(text).0, Some(place), "{text:?}");
        }
    }

    #[test]
    fn an_open_quote_is_found_where_it_opens() {
        for (text, place) in [("1,\"2\n3,4\n", 2), ("\"a\",\"\"\"b\n", 4), ("\u{feff}\"a", 3)] {
            assert_eq!(followed(text), (None, Some(place)), "{text:?}");
        }
    }
}
