//! Text without quotes, split by looking for delimiters and line feeds.

use memchr::{memchr, memchr_iter, memchr2_iter};

use super::{Layout, rows::Broken};

/// Cells of text: for each wanted column, where its cells are.
pub(in crate::table) struct Texts<'a> {
    text: &'a str,
    rows: usize,
    columns: Vec<Vec<(u32, u32)>>,
}

impl<'a> Texts<'a> {
    fn empty(text: &'a str, columns: usize) -> Self {
        Self { text, rows: 0, columns: vec![Vec::new(); columns] }
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The cells of a wanted column; an empty one says nothing.
    pub fn column(&self, index: usize) -> impl Iterator<Item = Option<&'a str>> {
        let text = self.text;
        self.columns[index].iter().map(move |&(start, end)| (start < end).then(|| &text[start as usize..end as usize]))
    }
}

/// Whether line feeds and delimiters alone decide where cells are: no quotes, and no carriage return but before a line feed.
pub(super) fn is_plain(text: &[u8]) -> bool {
    u32::try_from(text.len()).is_ok()
        && memchr(b'"', text).is_none()
        && memchr_iter(b'\r', text).all(|place| text.get(place + 1) == Some(&b'\n'))
}

/// Splits plain text that ends with a row, at most `most_rows` rows at a time. Blank lines are passed over.
pub(super) fn split<'a>(
    text: &'a str,
    layout: Layout,
    indices: &[usize],
    most_rows: usize,
) -> Result<Vec<Texts<'a>>, Broken> {
    let mut splitter = Splitter {
        bytes: text.as_bytes(),
        slots: slots(layout.width, indices),
        now: Texts::empty(text, indices.len()),
        start: 0,
        column: 0,
    };
    let mut done = Vec::new();
    for end in memchr2_iter(layout.delimiter, b'\n', text.as_bytes()) {
        splitter.cell(end)?;
        if splitter.now.rows == most_rows {
            done.push(std::mem::replace(&mut splitter.now, Texts::empty(text, indices.len())));
        }
    }
    if splitter.start < text.len() || splitter.column > 0 {
        splitter.last_cell()?;
    }
    done.extend((splitter.now.rows > 0).then_some(splitter.now));
    Ok(done)
}

/// For each column of the text, its place among the wanted ones.
fn slots(width: usize, indices: &[usize]) -> Vec<Option<usize>> {
    let mut slots = vec![None; width];
    indices.iter().enumerate().for_each(|(slot, &index)| slots[index] = Some(slot));
    slots
}

struct Splitter<'a> {
    bytes: &'a [u8],
    slots: Vec<Option<usize>>,
    now: Texts<'a>,
    /// Where the cell at hand starts, and in which column it is.
    start: usize,
    column: usize,
}

impl Splitter<'_> {
    /// The cell at hand ends before `end`, at which there is a delimiter or a line feed.
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
            self.now.columns[slot].push((self.start as u32, end as u32));
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
        self.now.rows += 1;
        self.column = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;

    use super::*;
    use crate::table::csv::rows::batches;

    fn by_either(text: &str, layout: Layout) -> [Result<Vec<Vec<Option<String>>>, Broken>; 2] {
        let indices: Vec<usize> = (0..layout.width).step_by(2).collect();
        let plain = split(text, layout, &indices, 7).map(|parts| {
            let column =
                |index: usize| parts.iter().flat_map(move |part| part.column(index).map(|c| c.map(str::to_owned)));
            (0..indices.len()).map(|index| column(index).collect()).collect()
        });
        let arrow = batches(text.as_bytes(), layout, &indices, 5, false).map(|parts| {
            let cells = |part: &arrow_array::RecordBatch, index: usize| {
                let cells = part.column(index).as_string::<i32>().iter().map(|cell| cell.map(str::to_owned));
                cells.collect::<Vec<_>>()
            };
            (0..indices.len()).map(|index| parts.iter().flat_map(|part| cells(part, index)).collect()).collect()
        });
        [plain, arrow]
    }

    /// Random texts of few different characters: every short combination of them comes up.
    #[test]
    fn plain_text_is_split_as_by_the_other_splitter() {
        let mut state = 1u64;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let (mut whole, mut broken) = (0, 0);
        for _ in 0..20_000 {
            let width = 1 + next(3);
            let mut text = String::new();
            for _ in 0..next(6) {
                let cells = if next(20) == 0 { 1 + next(4) } else { width };
                let row: Vec<&str> = (0..cells).map(|_| ["", "1", " é", "\u{feff}x"][next(4)]).collect();
                text += &row.join(",");
                text += ["\n", "\r\n", "\n\n", "\n\r\n"][next(4)];
            }
            if next(3) == 0 {
                text += &["1", "", ","][..width].join(",");
            }
            assert!(is_plain(text.as_bytes()));
            let [plain, arrow] = by_either(&text, Layout { delimiter: b',', width });
            assert_eq!(plain, arrow, "{text:?}");
            *if plain.is_ok() { &mut whole } else { &mut broken } += 1;
        }
        assert!(whole > 1000 && broken > 1000, "{whole} {broken}");
    }

    #[test]
    fn quotes_and_lone_returns_are_not_plain() {
        for (text, expected) in [("a,b\r\n", true), ("a\rb\n", false), ("a\"b\n", false), ("a\r", false)] {
            assert_eq!(is_plain(text.as_bytes()), expected, "{text:?}");
        }
    }
}
