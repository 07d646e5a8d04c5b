use crate::{
    formula::Formula,
    table::{
        Block, ReadOptions, Source,
        kit::{category, csv, number, read, read_with, refusal, said},
    },
};

#[test]
fn the_dot_is_refused_on_text_whatever_its_cells() {
    for cell in ["3.1", "abc", ""] {
        let source = csv(format!("y,x,note\n1,2,{cell}\n2,3,\n")).unwrap();
        let message = Formula::parse("y ~ .").unwrap().resolve(source.schema()).unwrap_err().to_string();
        assert!(
            message.starts_with("'.' needs columns with declared types, which a text file does not have"),
            "{message}"
        );
    }
}

/// A first line is never shown where it may be a row: `secret` and `77` are cells here.
#[test]
fn a_first_line_that_may_be_a_row_is_not_shown() {
    for line in
        ["77,secret", "secret,2024-01-31", "NA,secret", "secret,12:30", "secret,-1e5", "n/a,secret", "secret,inf"]
    {
        let message = refusal(format!("{line}\n1,2\n"));
        assert!(message.starts_with("the first line of the stream looks like data"), "{line}: {message}");
        assert!(!message.contains("secret") && !message.contains("77"), "{message}");
    }
    assert_eq!(refusal("secret,b\n1,2\n"), "the data have no column 'x': check the formula against the header");
    assert_eq!(refusal("xx,secret\n1,2\n"), "the data have no column 'x': check the formula against the header");
    assert_eq!(
        refusal("secret,b,secret\n1,2,3\n"),
        "columns 1 and 3 of the stream have the same name: rename one of them"
    );
    let columns = [number("y"), number("incme")];
    let known = csv("y,income,1stFloor,2nd-quarter,\n1,2,3,4,5\n").unwrap();
    let message = read_with(&known, &columns, &ReadOptions::default()).unwrap_err().to_string();
    assert_eq!(message, "the data have no column 'incme': did you mean 'income'?", "a header that has 'y' is one");
}

/// Blank lines before the header may fill whole segments and windows.
#[test]
fn the_header_is_found_after_any_number_of_blank_lines() {
    for blank in [1, 14, 500] {
        for mark in ["", "\u{feff}"] {
            let source = csv(format!("{mark}{}x,g\n1,a\n2,b\n", "\r\n\n".repeat(blank))).unwrap();
            for segment_bytes in [1, 4, 1000] {
                let options = ReadOptions { segment_bytes, ..ReadOptions::default() };
                assert_eq!(read_with(&source, &[number("x")], &options).unwrap(), [vec![Some(1.0), Some(2.0)]]);
            }
        }
    }
}

#[test]
fn missing_markers_of_csv() {
    let cells = ["", "NA", "NaN", "nan", "null", "NULL", "-", "1,5", "1_0", "inf", "-inf", "1e999", "0x1"];
    let rows: String = cells.iter().map(|cell| format!("\"{cell}\",\"{cell}\"\n")).collect();
    let source = csv(format!("x,g\n{rows} 1 , b \n+1.5e0,\"b\"\n")).unwrap();
    let said = read(&source, &[number("x"), category("g", &["a", "b"]), category("g", &["*", "b"])]);
    let count = cells.len();
    assert_eq!(said[0][..count], vec![None; count]);
    assert_eq!(said[0][count..], [Some(1.0), Some(1.5)]);
    assert_eq!(said[1][..count], vec![None; count]);
    assert_eq!(said[2][..6], vec![None; 6]);
    assert_eq!(said[2][6..count], vec![Some(0.0); count - 6]);
    assert_eq!(said[1][count..], [Some(1.0), Some(1.0)]);
}

#[test]
fn a_missing_marker_may_be_a_level() {
    let source = csv("x,g\n1,NA\n2,DE\n").unwrap();
    assert_eq!(read(&source, &[category("g", &["DE", "NA"])]), [vec![Some(1.0), Some(0.0)]]);
}

#[test]
fn strict_refuses_naming_the_column_only() {
    let strict = ReadOptions { strict: true, ..ReadOptions::default() };
    let g = || category("g", &["a", "b"]);
    let refused = |text: &str| read_with(&csv(text).unwrap(), &[number("x"), g()], &strict).unwrap_err().to_string();
    for cell in ["", "NA", "abc", "inf", "nan", "1e999", "\"1,234\"", "1 234", "1'234"] {
        let message = refused(&format!("x,g\n1,a\n{cell},b\n"));
        let expected = "column 'x' has a missing or unusable cell, which strict reading refuses: \
                        give it plain numbers without thousands separators, or turn strict reading off";
        assert_eq!(message, expected, "{cell}");
    }
    for cell in ["", "NA", "c", "A"] {
        let message = refused(&format!("x,g\n1,a\n2,{cell}\n"));
        assert!(message.starts_with("column 'g' has a missing") && message.contains("levels that"), "{cell}");
    }
    let fine = csv("x,g,unused\n1,a,\n2,b,NA\n").unwrap();
    assert_eq!(read_with(&fine, &[number("x"), g()], &strict).unwrap()[1], [Some(0.0), Some(1.0)]);
}

#[test]
fn a_giant_cell_is_unparsable_and_does_no_harm() {
    let giant = "0".repeat((1 << 20) + 1);
    let source = csv(format!("x,g\n1,a\n{giant},\"{giant}\"\n3,b\n")).unwrap();
    let said = read(&source, &[number("x"), category("g", &["a", "b"])]);
    assert_eq!(said, [vec![Some(1.0), None, Some(3.0)], vec![Some(0.0), None, Some(1.0)]]);
}

#[test]
fn a_block_of_giant_rows_is_cut_short() {
    let wide = "\"a\nb\" ".repeat(1 << 18);
    let rows: String = (0..90).map(|row| format!("{row},\"{}\"\r\n", wide.replace('"', ""))).collect();
    let source = csv(format!("x,note\n{rows}")).unwrap();
    let mut sizes = Vec::new();
    let mut next = 0;
    let each = &mut |block: Block| {
        sizes.push(block.rows);
        for cell in said(&block.columns[0]) {
            assert_eq!(cell, Some(f64::from(next)));
            next += 1;
        }
        Ok(())
    };
    source.for_each_block(&[number("x")], &ReadOptions::default(), each).unwrap();
    assert_eq!(next, 90);
    assert!(sizes.len() > 1, "{sizes:?}");
}

#[test]
fn an_open_quote_is_found_before_it_swallows_the_memory() {
    let rows = "1,2\n".repeat((LONGEST_ROW_MIB << 20) / 4 + (1 << 20));
    let message = refusal(format!("x,g\n1,2\n3,\"open\n{rows}"));
    assert!(message.starts_with("the stream, line 3: the row that starts here is over 64 MiB long"), "{message}");
}

/// As the message says it.
const LONGEST_ROW_MIB: usize = 64;

#[test]
fn broken_text_is_refused_by_line() {
    let long = "1,2\n".repeat(70_000);
    let table = [
        ("x,g\n1,2\n1\n", "the stream, line 3: the row does not have the 2 cells of the header"),
        ("x,g\n1,2,3\n", "the stream, line 2: the row does not have the 2 cells of the header"),
        ("x,g\n\n1,2\n\n1,2,3\n", "the stream, line 5: the row does not have the 2 cells of the header"),
        ("x,g\n1,\"two\nlines\"\n1,\"two\r\nmore", "the stream, line 4: a quote opens a cell here and is never closed"),
        ("x,g\n1,\"two\nlines\"\n\"3\n\n", "the stream, line 4: a quote opens a cell here and is never closed"),
        ("x,g\n1,2\n3,\"so\" said\n", "the stream, line 3: text follows the quote that closes a cell"),
        ("x,g\n1,\"very good\n3,\"b\"\n", "the stream, line 3: text follows the quote that closes a cell"),
        ("x,\"note\n1,2\n2,3\"\n3,4\n", "the first line of the stream looks like data"),
        ("x,g\r1,2\r3\r", "the stream, line 3: the row does not have the 2 cells of the header"),
        (&format!("x,g\n{long}3\n4,5\n"), "the stream, line 70002: the row does not have the 2 cells"),
        ("", "the stream is empty: it needs a header and rows"),
        ("\n\n", "the stream is empty: it needs a header and rows"),
        ("\u{feff}", "the stream is empty: it needs a header and rows"),
        ("x,g\n", "the stream has a header but no rows: check that it is the right file"),
        ("x,g", "the stream has a header but no rows: check that it is the right file"),
        ("x,g,x\n1,2,3\n", "columns 1 and 3 of the stream have the same name: rename one of them"),
        ("x, x\n1,2\n", "columns 1 and 2 of the stream have the same name: rename one of them"),
        ("x\n1\n\n3\n", "the stream, line 3: a blank line among the rows of a one-column file"),
        ("x\r1\r\r3\r", "the stream, line 3: a blank line among the rows of a one-column file"),
        ("x\r\n1\r\n\r\n\r\n3\r\n", "the stream, line 3: a blank line among the rows of a one-column file"),
    ];
    for (text, expected) in table {
        let message = refusal(text);
        assert!(message.starts_with(expected), "{}: {message}", &text[..text.len().min(40)]);
    }
    assert_eq!(read(&csv("x\n1\n3\n\n\n").unwrap(), &[number("x")]), [vec![Some(1.0), Some(3.0)]]);
}

#[test]
fn text_in_another_encoding_is_refused_by_line() {
    let late = [b"x,g\n".as_slice(), &b"1,2\n".repeat(300_000), b"3,caf\xe9\n"].concat();
    let table: [(&[u8], &str); 6] = [
        (b"x,caf\xe9\n1,2\n", "the stream, line 1: the text is not UTF-8"),
        (b"x,g\n1,2\n3,caf\xe9\n", "the stream, line 3: the text is not UTF-8"),
        (b"x,g\n1,\xc3,\xa9\n", "the stream, line 2: the text is not UTF-8"),
        (b"x,g\n1,2\n3,caf\xc3", "the stream, line 3: the text is not UTF-8"),
        (b"\xff\xfex\0,\0", "the stream, line 1: the text is not UTF-8"),
        (&late, "the stream, line 300002: the text is not UTF-8"),
    ];
    for (text, expected) in table {
        let message = refusal(text);
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn characters_cut_by_the_edge_of_a_chunk_are_put_together() {
    // One byte more each time, so that the boundary at 1 MiB falls on every part of a character.
    for lead in 0..5 {
        let text = format!("x,g{}\n{}", "g".repeat(lead), "1,é€😀\n".repeat(200_000));
        let source = csv(&text).unwrap();
        let name = format!("g{}", "g".repeat(lead));
        let said = read(&source, &[category(&name, &["a", "é€😀"])]);
        assert_eq!(said, [vec![Some(1.0); 200_000]]);
    }
}

#[test]
fn a_kept_stream_can_be_read_again_and_by_several_at_once() {
    let source = csv(format!("x\n{}", "1\n2\n".repeat(100_000))).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let said = read(&source, &[number("x")]);
                assert_eq!(said[0].len(), 200_000);
                assert!(said[0].chunks(2).all(|pair| pair == [Some(1.0), Some(2.0)]));
            });
        }
    });
}

#[test]
fn a_stream_that_breaks_off_is_refused() {
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::ConnectionReset.into())
        }
    }
    let message = Source::from_csv_stream(&mut Broken, "standard input").err().unwrap().to_string();
    assert!(message.starts_with("standard input could not be stored in a temporary file"), "{message}");
}

/// Text with everything that makes a cut hard: quotes that hold line ends and delimiters, literal
/// quotes, blank lines, line ends of all kinds.
fn tricky_csv(rows: usize, quotes: bool) -> String {
    let mut text = "\u{feff}\"x\",note,y\n".to_owned();
    for row in 0..rows {
        let note = match row % 7 {
            0 if quotes => "\"a,\nb\r\n\"\"c\"\" \"",
            1 if quotes => "6\" pipe",
            2 if quotes => "\"\"",
            3 => "\u{feff}é",
            4 => "",
            _ => " plain ",
        };
        let end = if row % 3 == 0 { "\r\n" } else { "\n" };
        let blank = if row % 11 == 0 { end } else { "" };
        let filler = "0".repeat(row % 40);
        text += &format!("{row}.{filler},{note},{}{end}{blank}", row % 5);
    }
    text
}

#[test]
fn a_text_says_the_same_wherever_it_is_cut() {
    let columns = [number("x"), category("note", &["plain", "é", "\u{feff}é", "6\" pipe"]), number("y")];
    for quotes in [false, true] {
        let text = tricky_csv(120_000, quotes);
        assert!(text.len() > 3 << 20, "several segments");
        let source = csv(&text).unwrap();
        // The window's length depends on the number of threads, so cuts fall elsewhere.
        let in_pool = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| read(&source, &columns))
        };
        let said = in_pool(1);
        assert_eq!(said[0].len(), 120_000);
        assert!(said[0].iter().enumerate().all(|(row, cell)| *cell == Some(row as f64)));
        let mark = said[1].iter().step_by(7).skip(1).count();
        assert!(
            mark > 0 && (3..120_000).step_by(7).all(|row| said[1][row] == Some(2.0)),
            "a mark is kept within a file"
        );
        assert!(in_pool(2) == said && in_pool(3) == said);
    }
}

#[test]
fn a_broken_row_far_into_a_text_is_found_by_line() {
    for (bad, quotes) in [("1,2\n", false), ("1,2\n", true), ("1,2,3,4\r\n", false)] {
        let mut text = tricky_csv(100_000, quotes);
        let line = {
            let ends = text.replace("\r\n", "\n");
            ends.matches(['\n', '\r']).count() + 1
        };
        text += bad;
        text += &tricky_csv(100_000, quotes)["\u{feff}\"x\",note,y\n".len()..];
        let message = refusal(&text);
        assert!(
            message.starts_with(&format!("the stream, line {line}: the row does not have the 3 cells")),
            "{message}"
        );
    }
}

/// A byte-order mark is one only at the start of a file: elsewhere it is text, wherever pieces are
/// cut.
#[test]
fn a_row_that_starts_with_a_mark_is_found_by_line() {
    let source = csv("x,g\n1,2\n\u{feff}\n1,2\n3\n").unwrap();
    for segment_bytes in [1, 4, 1000] {
        let options = ReadOptions { segment_bytes, ..ReadOptions::default() };
        let message = read_with(&source, &[number("x")], &options).unwrap_err().to_string();
        assert!(message.starts_with("the stream, line 3: the row does not have"), "{segment_bytes}: {message}");
    }
}

/// A broken row that ends in a carriage return, and text that is not UTF-8 after it.
#[test]
fn the_first_of_two_faults_is_named_wherever_the_text_is_cut() {
    let source = csv(b"x,g\n1,2\n1,2,3\r4,\"\"\xf0").unwrap();
    for segment_bytes in [1, 4, 1000] {
        let options = ReadOptions { segment_bytes, ..ReadOptions::default() };
        let message = read_with(&source, &[number("x")], &options).unwrap_err().to_string();
        assert!(message.starts_with("the stream, line 3: the row does not have"), "{segment_bytes}: {message}");
    }
}

#[test]
fn a_row_longer_than_a_window_is_read_by_itself() {
    let long = format!("1,\"{}\"\n", "a\n".repeat(10 << 20));
    let rows: String = (0..300_000).map(|row| format!("{row},b\n")).collect();
    let source = csv(format!("x,note\n{rows}{long}{rows}")).unwrap();
    let said = read(&source, &[number("x")]);
    assert_eq!(said[0].len(), 600_001);
    assert_eq!(said[0][300_000..300_003], [Some(1.0), Some(0.0), Some(1.0)]);
}
