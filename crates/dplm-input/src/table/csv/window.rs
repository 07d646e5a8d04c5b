//! Windows of text, cut between rows and split on all threads.

use memchr::{memchr, memrchr};
use rayon::prelude::*;

use super::{
    Layout,
    decoder::Broken,
    plain::{is_plain, split},
    rows::{batches, broken_row},
    text::{Fault, Text},
};
use crate::table::{
    Block, DataError,
    bytes::Bytes,
    format::{BlockSink, Pieces},
    projection::Projection,
};

/// Segments of a window per thread: several, so that all threads work to the end.
const SEGMENTS: usize = 4;
/// The largest window, however many threads there are.
const LARGEST_WINDOW: usize = 16 << 20;

/// The file and the columns to split it into.
pub(super) struct Split<'a> {
    pub bytes: &'a Bytes,
    pub layout: Layout,
    pub projection: &'a Projection<'a>,
    pub pieces: Pieces,
}

impl Split<'_> {
    /// Goes through the file in windows. Stops at a row that is longer than a window, or at a
    /// fault, and returns the byte at which the row starts.
    pub fn in_windows(&self, sink: &mut BlockSink<'_>) -> Result<Option<u64>, DataError> {
        let segment = self.pieces.bytes;
        let length = segment.saturating_mul(SEGMENTS * rayon::current_num_threads()).min(LARGEST_WINDOW);
        let delimiter = self.layout.delimiter;
        let text = Text::open(self.bytes, 0, delimiter)?;
        let mut reader = Reader { text, delimiter, length, segment, fault: None };
        let (mut now, mut next) = (Window::default(), Window::default());
        reader.fill(&[], &mut now);
        while let Some(&end) = now.cuts.last() {
            // The next window is read while this one is split.
            let ((), blocks) = rayon::join(|| reader.fill(&now.text[end..], &mut next), || self.blocks(&now));
            blocks?.into_iter().try_for_each(|block| sink(block, now.offset + end as u64))?;
            std::mem::swap(&mut now, &mut next);
        }
        match reader.fault {
            Some(fault) if now.text.is_empty() => Err(fault.explain(self.bytes)),
            // The text before a fault may hold a broken row, which is then the first error of the
            // file.
            _ => Ok((!now.text.is_empty()).then_some(now.offset)),
        }
    }

    /// The rows of a window, in order.
    fn blocks(&self, window: &Window) -> Result<Vec<Block>, DataError> {
        let starts = || std::iter::once(0).chain(window.cuts.iter().copied());
        let segments: Vec<(usize, usize)> = starts().zip(window.cuts.iter().copied()).collect();
        let blocks = segments
            .into_par_iter()
            .map(|(start, end)| self.segment(window.offset + start as u64, &window.text[start..end]));
        let blocks = blocks.collect::<Vec<Result<Vec<Block>, DataError>>>();
        // The first error in the order of the file, whichever thread finished first.
        let blocks = blocks.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok(Block::joined(blocks.into_iter().flatten(), self.pieces.rows))
    }

    fn segment(&self, offset: u64, text: &[u8]) -> Result<Vec<Block>, DataError> {
        let broken = |_: Broken| broken_row(self.bytes, self.layout, offset);
        let (indices, rows) = (self.projection.indices(), self.pieces.rows);
        // The other splitter handles the header and anything before it.
        let texts = if offset > 0 && is_plain(text) {
            let text = std::str::from_utf8(text).expect("text was checked before it was cut between characters");
            split(text, self.layout, indices, rows)
        } else {
            batches(text, self.layout, indices, rows, offset == 0)
        };
        texts.map_err(broken)?.iter().map(|texts| self.projection.texts(texts, self.layout)).collect()
    }
}

/// Text that starts with a row.
#[derive(Default)]
struct Window {
    text: Vec<u8>,
    /// The byte of the file at which it starts.
    offset: u64,
    /// Ends of rows, about a segment apart. Empty at the end of the file, or if no row ends.
    cuts: Vec<usize>,
}

/// Reads windows one after the other.
struct Reader {
    text: Text,
    delimiter: u8,
    length: usize,
    segment: usize,
    /// What stopped the reading; the text before it is split first.
    fault: Option<Fault>,
}

impl Reader {
    /// Reads a window that starts with the rest of the previous one.
    fn fill(&mut self, rest: &[u8], window: &mut Window) {
        window.offset = self.text.offset - rest.len() as u64;
        window.text.clear();
        window.text.extend_from_slice(rest);
        let mut at_end = false;
        while window.text.len() < self.length && self.fault.is_none() && !at_end {
            match self.text.fill() {
                Ok(chunk) => {
                    let used = chunk.len().min(self.length);
                    at_end = used == 0;
                    window.text.extend_from_slice(&chunk[..used]);
                    self.text.consume(used);
                }
                Err(fault) => self.fault = Some(fault),
            }
        }
        window.cuts = cuts(&window.text, self.segment, self.delimiter, window.offset == 0);
        // The last row of a file need not have a line end.
        if at_end && window.cuts.last().copied().unwrap_or(0) < window.text.len() {
            window.cuts.push(window.text.len());
        }
    }
}

/// Ends of rows: the first after every `segment` bytes, and the last. At the start of the file, the
/// header comes before all of them.
fn cuts(text: &[u8], segment: usize, delimiter: u8, is_first: bool) -> Vec<usize> {
    let unquoted = Unquoted::new(text, delimiter, is_first);
    let blank = if is_first { unquoted.blank_lines() } else { 0 };
    let (mut cuts, mut wanted, mut last) = (Vec::new(), blank.saturating_add(segment), 0);
    for (start, end) in unquoted {
        while let Some(found) = text.get(wanted.max(start)..end).and_then(|rest| memchr(b'\n', rest)) {
            let cut = wanted.max(start) + found + 1;
            cuts.push(cut);
            wanted = cut.saturating_add(segment);
        }
        let found = memrchr(b'\n', &text[start..end]).map(|found| start + found + 1);
        last = found.filter(|&found| found > blank).unwrap_or(last);
    }
    if last > cuts.last().copied().unwrap_or(0) {
        cuts.push(last);
    }
    cuts
}

/// The parts of a text outside quotes; the text starts with a row. A quote opens only at the start
/// of a cell; two within quotes are a literal one.
struct Unquoted<'a> {
    text: &'a [u8],
    delimiter: u8,
    /// The start of the text, where a quote may open.
    start: usize,
    /// The start of the next part; `None` at the end, or if quotes are left open.
    next: Option<usize>,
}

impl<'a> Unquoted<'a> {
    fn new(text: &'a [u8], delimiter: u8, is_first: bool) -> Self {
        const MARK: &[u8] = "\u{feff}".as_bytes();
        let start = if is_first && text.starts_with(MARK) { MARK.len() } else { 0 };
        Self { text, delimiter, start, next: Some(start) }
    }

    /// The end of the blank lines with which the text starts.
    fn blank_lines(&self) -> usize {
        let filled = self.text[self.start..].iter().position(|byte| !matches!(byte, b'\n' | b'\r'));
        filled.map_or(self.text.len(), |place| self.start + place)
    }

    /// The first quote from `from` on that opens a cell.
    fn opening(&self, mut from: usize) -> Option<usize> {
        loop {
            let place = from + memchr(b'"', &self.text[from..])?;
            let before = self.text[self.start..place].last();
            if before.is_none_or(|&before| before == self.delimiter || matches!(before, b'\n' | b'\r')) {
                return Some(place);
            }
            from = place + 1;
        }
    }

    /// The position after the quotes that were opened before `from`.
    fn closing(&self, mut from: usize) -> Option<usize> {
        loop {
            let place = from + memchr(b'"', self.text.get(from..)?)?;
            if self.text.get(place + 1) != Some(&b'"') {
                return Some(place + 1);
            }
            from = place + 2;
        }
    }
}

impl Iterator for Unquoted<'_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        let start = self.next?;
        let opening = self.opening(start);
        self.next = opening.and_then(|place| self.closing(place + 1));
        Some((start, opening.unwrap_or(self.text.len())))
    }
}
