//! Text without quotes, split at delimiters and line feeds.

use memchr::{memchr, memchr_iter, memchr2_iter};

use super::{Layout, decoder::Broken, texts::Texts};

/// Whether line feeds and delimiters alone determine the cells: no quotes, and no carriage return
/// except before a line feed.
pub(super) fn is_plain(text: &[u8]) -> bool {
    u32::try_from(text.len()).is_ok()
        && memchr(b'"', text).is_none()
        && memchr_iter(b'\r', text).all(|place| text.get(place + 1) == Some(&b'\n'))
}

/// Splits plain text that ends with a row, at most `most_rows` rows at a time. Blank lines are
/// skipped.
pub(super) fn split<'a>(
    text: &'a str,
    layout: Layout,
    indices: &[usize],
    most_rows: usize,
) -> Result<Vec<Texts<'a>>, Broken> {
    let mut splitter = Splitter {
        bytes: text.as_bytes(),
        slots: slots(layout.width, indices),
        rows: 0,
        columns: vec![Vec::new(); indices.len()],
        start: 0,
        column: 0,
    };
    let mut done = Vec::new();
    for end in memchr2_iter(layout.delimiter, b'\n', text.as_bytes()) {
        splitter.cell(end)?;
        if splitter.rows == most_rows {
            done.push(splitter.take(text));
        }
    }
    if splitter.start < text.len() || splitter.column > 0 {
        splitter.last_cell()?;
    }
    done.extend((splitter.rows > 0).then(|| splitter.take(text)));
    Ok(done)
}

/// For each column of the text, its position among the wanted columns.
fn slots(width: usize, indices: &[usize]) -> Vec<Option<usize>> {
    let mut slots = vec![None; width];
    indices.iter().enumerate().for_each(|(slot, &index)| slots[index] = Some(slot));
    slots
}

struct Splitter<'a> {
    bytes: &'a [u8],
    slots: Vec<Option<usize>>,
    /// The rows since the last batch, and the positions of their wanted cells.
    rows: usize,
    columns: Vec<Vec<(u32, u32)>>,
    /// The start of the current cell, and its column.
    start: usize,
    column: usize,
}

impl Splitter<'_> {
    fn take<'a>(&mut self, text: &'a str) -> Texts<'a> {
        let none = vec![Vec::new(); self.columns.len()];
        Texts::new(text, std::mem::take(&mut self.rows), std::mem::replace(&mut self.columns, none))
    }

    /// The current cell ends before `end`, which holds a delimiter or a line feed.
    #[inline(always)]
    fn cell(&mut self, end: usize) -> Result<(), Broken> {
        if self.bytes[end] == b'\n' {
            return self.end_row(end);
        }
        self.keep(end)?;
        self.start = end + 1;
        Ok(())
    }

    #[inline(always)]
    fn keep(&mut self, end: usize) -> Result<(), Broken> {
        let slot = self.slots.get(self.column).ok_or(Broken)?;
        if let Some(slot) = *slot {
            self.columns[slot].push((self.start as u32, end as u32));
        }
        self.column += 1;
        Ok(())
    }

    fn end_row(&mut self, end: usize) -> Result<(), Broken> {
        let has_return = end > self.start && self.bytes[end - 1] == b'\r';
        let cell_end = end - usize::from(has_return);
        if self.column > 0 || cell_end > self.start {
            self.keep(cell_end)?;
            self.finish_row()?;
        }
        self.start = end + 1;
        Ok(())
    }

    /// The last row of a file need not have a line end.
    fn last_cell(&mut self) -> Result<(), Broken> {
        self.keep(self.bytes.len())?;
        self.finish_row()
    }

    fn finish_row(&mut self) -> Result<(), Broken> {
        if self.column != self.slots.len() {
            return Err(Broken);
        }
        self.rows += 1;
        self.column = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*, sample::select};

    use super::*;
    use crate::table::csv::rows::batches;

    fn by_either(text: &str, layout: Layout) -> [Result<Vec<Vec<Option<String>>>, Broken>; 2] {
        let indices: Vec<usize> = (0..layout.width).step_by(2).collect();
        let cells = |parts: Vec<Texts<'_>>| {
            let column =
                |index: usize| parts.iter().flat_map(move |part| part.column(index).map(|c| c.map(str::to_owned)));
            (0..indices.len()).map(|index| column(index).collect()).collect()
        };
        [split(text, layout, &indices, 7), batches(text.as_bytes(), layout, &indices, 5, false)]
            .map(|parts| parts.map(cells))
    }

    /// A row of `width` cells, occasionally of another number, and the end of its line.
    fn row(width: usize) -> impl Strategy<Value = String> {
        let cells = prop_oneof![19 => Just(width), 1 => 1..5usize];
        let cells = cells.prop_flat_map(|count| vec(select(&["", "1", " é", "\u{feff}x"][..]), count));
        (cells, select(&["\n", "\r\n", "\n\n", "\n\r\n"][..])).prop_map(|(cells, end)| cells.join(",") + end)
    }

    fn texts() -> impl Strategy<Value = (usize, String)> {
        (1..4usize).prop_flat_map(|width| {
            let last = prop_oneof![2 => Just(String::new()), 1 => Just(["1", "", ","][..width].join(","))];
            (Just(width), vec(row(width), 0..6), last).prop_map(|(width, rows, last)| (width, rows.concat() + &last))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        #[test]
        fn plain_text_is_split_as_by_the_other_splitter((width, text) in texts()) {
            prop_assert!(is_plain(text.as_bytes()));
            let [plain, other] = by_either(&text, Layout { delimiter: b',', width, decimal_comma: false });
            prop_assert_eq!(plain, other);
        }
    }

    #[test]
    fn quotes_and_lone_returns_are_not_plain() {
        for (text, expected) in [("a,b\r\n", true), ("a\rb\n", false), ("a\"b\n", false), ("a\r", false)] {
            assert_eq!(is_plain(text.as_bytes()), expected, "{text:?}");
        }
    }
}
