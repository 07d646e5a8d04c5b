//! A table as a document of a word processor: three XML parts in a ZIP archive whose entries are
//! stored as they are.

use super::{Line, Table, forms::starred};
use crate::svg::escaped;

const TYPES: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n\
    <Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\">\
    <Default Extension=\"rels\" ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/>\
    <Override PartName=\"/word/document.xml\" \
    ContentType=\"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml\"/></Types>";
const RELATIONS: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n\
    <Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\">\
    <Relationship Id=\"rId1\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument\" \
    Target=\"word/document.xml\"/></Relationships>";

/// The document.
pub(super) fn document(table: &Table) -> Vec<u8> {
    let parts = [("[Content_Types].xml", TYPES), ("_rels/.rels", RELATIONS), ("word/document.xml", &body(table))];
    archive(&parts)
}

fn body(table: &Table) -> String {
    let title = table.title.as_ref().map_or(String::new(), |title| paragraph(title, "left", true));
    let heads = table.heads.iter().enumerate().map(|(at, cells)| {
        let rule = if at == 0 { Rule::Above } else { Rule::None };
        let rule = if at + 1 == table.heads.len() && at > 0 { Rule::Below } else { rule };
        row("", cells, rule)
    });
    let cells = |line: &Line| line.cells.iter().map(starred).collect::<Vec<_>>();
    let body = table.body.iter().map(|line| row(&line.label, &cells(line), Rule::None));
    let foot = table.foot.iter().enumerate().map(|(at, line)| {
        let is_last = at + 1 == table.foot.len();
        row(
            &line.label,
            &cells(line),
            if at == 0 {
                Rule::Above
            } else if is_last {
                Rule::Below
            } else {
                Rule::None
            },
        )
    });
    let notes: String = table.notes.iter().map(|note| paragraph(note, "left", false)).collect();
    let grid = "<w:gridCol/>".repeat(table.width() + 1);
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n\
         <w:document xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\"><w:body>{title}\
         <w:tbl><w:tblPr><w:tblW w:w=\"0\" w:type=\"auto\"/></w:tblPr><w:tblGrid>{grid}</w:tblGrid>{}</w:tbl>{notes}\
         <w:sectPr/></w:body></w:document>",
        heads.chain(body).chain(foot).collect::<String>(),
    )
}

/// Where a line of cells has a rule.
#[derive(Clone, Copy)]
enum Rule {
    None,
    Above,
    Below,
}

fn row(label: &str, cells: &[String], rule: Rule) -> String {
    let borders = match rule {
        Rule::None => "",
        Rule::Above => "<w:tcBorders><w:top w:val=\"single\" w:sz=\"8\"/></w:tcBorders>",
        Rule::Below => "<w:tcBorders><w:bottom w:val=\"single\" w:sz=\"8\"/></w:tcBorders>",
    };
    let cell =
        |text: &str, side: &str| format!("<w:tc><w:tcPr>{borders}</w:tcPr>{}</w:tc>", paragraph(text, side, false));
    let cells: String = cells.iter().map(|text| cell(text, "center")).collect();
    format!("<w:tr>{}{cells}</w:tr>", cell(label, "left"))
}

fn paragraph(text: &str, side: &str, is_bold: bool) -> String {
    let bold = if is_bold { "<w:rPr><w:b/></w:rPr>" } else { "" };
    format!(
        "<w:p><w:pPr><w:spacing w:after=\"0\"/><w:jc w:val=\"{side}\"/></w:pPr><w:r>{bold}<w:t xml:space=\"preserve\">{}</w:t></w:r></w:p>",
        escaped(text)
    )
}

/// The day of every entry, 1 January 1980: the same table is the same bytes.
const DAY: u16 = 0x21;

/// A ZIP archive of files that are stored as they are (PKWARE, APPNOTE 6.3, sections 4.3.7 to
/// 4.3.16).
fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, text) in files {
        let (offset, facts) = (size(bytes.len()), facts(name, text));
        bytes.extend([0x50, 0x4b, 3, 4].iter().chain(&facts));
        bytes.extend(name.bytes().chain(text.bytes()));
        directory.extend([0x50, 0x4b, 1, 2, 20, 0].iter().chain(&facts));
        // No comment, the first disk, no attributes.
        directory.extend([0; 10].iter().chain(&offset.to_le_bytes()));
        directory.extend(name.bytes());
    }
    let (count, start, length) = (files.len() as u16, size(bytes.len()), size(directory.len()));
    bytes.append(&mut directory);
    bytes.extend([0x50, 0x4b, 5, 6, 0, 0, 0, 0].iter().chain(&count.to_le_bytes()).chain(&count.to_le_bytes()));
    bytes.extend(length.to_le_bytes().iter().chain(&start.to_le_bytes()).chain(&[0, 0]));
    bytes
}

/// What the entry and the directory both say of a file: version 2.0, names in UTF-8, stored, the
/// time, the checksum, both sizes, the length of the name, and nothing extra.
fn facts(name: &str, text: &str) -> Vec<u8> {
    let (length, sum) = (size(text.len()).to_le_bytes(), crc32(text.as_bytes()).to_le_bytes());
    let head = [20, 0, 0, 8, 0, 0, 0, 0].into_iter().chain(DAY.to_le_bytes());
    let tail = (name.len() as u16).to_le_bytes().into_iter().chain([0, 0]);
    head.chain(sum).chain(length).chain(length).chain(tail).collect()
}

fn size(length: usize) -> u32 {
    u32::try_from(length).expect("a table is shorter than four gigabytes")
}

/// The checksum of ZIP: the remainder by the polynomial of IEEE 802.3, bits reversed.
fn crc32(bytes: &[u8]) -> u32 {
    let bit = |sum: u32, _| if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 };
    !bytes.iter().fold(!0, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), bit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_published_one() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    /// Read back by the offsets that the directory gives.
    #[test]
    fn an_archive_holds_its_files() {
        let files = [("a.xml", "first"), ("b/c.xml", "and the second")];
        let bytes = archive(&files);
        let number =
            |at: usize, size: usize| (0..size).rev().fold(0usize, |sum, k| 256 * sum + usize::from(bytes[at + k]));
        let end = bytes.len() - 22;
        assert_eq!((number(end, 4), number(end + 10, 2)), (0x0605_4b50, 2));
        let mut entry = number(end + 16, 4);
        for (name, text) in files {
            assert_eq!((number(entry, 4), number(entry + 28, 2)), (0x0201_4b50, name.len()));
            let start = number(entry + 42, 4);
            assert_eq!((number(start, 4), number(start + 14, 4)), (0x0403_4b50, crc32(text.as_bytes()) as usize));
            let from = start + 30 + name.len();
            assert_eq!(&bytes[start + 30..from], name.as_bytes());
            assert_eq!(&bytes[from..from + number(start + 22, 4)], text.as_bytes());
            entry += 46 + name.len();
        }
    }
}
