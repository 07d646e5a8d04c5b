//! A table as text: LaTeX, Markdown, HTML and CSV.

use dplm::report::csv_field;

use super::{Cell, Line, Table};
use crate::svg::escaped;

/// With booktabs, notes in a last line as wide as the table.
pub(super) fn latex(table: &Table) -> String {
    let width = table.width();
    let caption = table.title.as_ref().map_or(String::new(), |title| format!("\\caption{{{}}}\n", tex(title)));
    let heads: String =
        table.heads.iter().map(|cells| tex_line("", &cells.iter().map(|text| tex(text)).collect::<Vec<_>>())).collect();
    let lines = |lines: &[Line]| -> String {
        let cells = |line: &Line| line.cells.iter().map(tex_cell).collect::<Vec<_>>();
        lines.iter().map(|line| tex_line(&tex(&line.label), &cells(line))).collect()
    };
    let note = |note: &String| {
        format!(
            "\\multicolumn{{{}}}{{@{{}}p{{0.95\\linewidth}}@{{}}}}{{\\footnotesize {}}} \\\\\n",
            width + 1,
            tex(note)
        )
    };
    format!(
        "% \\usepackage{{booktabs}}\n\\begin{{table}}[htbp]\n\\centering\n{caption}\\begin{{tabular}}{{@{{}}l*{{{width}}}{{c}}@{{}}}}\n\
         \\toprule\n{heads}\\midrule\n{}\\midrule\n{}\\bottomrule\n{}\\end{{tabular}}\n\\end{{table}}\n",
        lines(&table.body),
        lines(&table.foot),
        table.notes.iter().map(note).collect::<String>(),
    )
}

/// A label that begins with a bracket or a star would be taken for an argument of the line break
/// before it.
fn tex_line(label: &str, cells: &[String]) -> String {
    let label = if label.starts_with(['[', '*']) { format!("{{}}{label}") } else { label.to_owned() };
    format!("{label} & {} \\\\\n", cells.join(" & "))
}

fn tex_cell(cell: &Cell) -> String {
    let is_number =
        |text: &str| text.trim_start_matches(['-', '(', '[']).starts_with(|letter: char| letter.is_ascii_digit());
    let text = tex(&cell.text);
    let text = if is_number(&cell.text) { text.replace('-', "$-$") } else { text };
    if cell.stars == 0 { text } else { format!("{text}\\textsuperscript{{{}}}", "*".repeat(cell.stars)) }
}

fn tex(text: &str) -> String {
    let letter = |letter: char| match letter {
        '\\' => "\\textbackslash{}".to_owned(),
        '~' => "\\textasciitilde{}".to_owned(),
        '^' => "\\textasciicircum{}".to_owned(),
        '<' => "\\textless{}".to_owned(),
        '>' => "\\textgreater{}".to_owned(),
        '&' | '%' | '$' | '#' | '_' | '{' | '}' => format!("\\{letter}"),
        other => other.to_string(),
    };
    text.chars().map(letter).collect()
}

/// A table with bars, and a paragraph for each note.
pub(super) fn markdown(table: &Table) -> String {
    let line = |label: &str, cells: &[String]| format!("| {label} | {} |\n", cells.join(" | "));
    let plain = |cells: &[String]| cells.iter().map(|text| marked_down(text)).collect::<Vec<_>>();
    let cells = |line: &Line| line.cells.iter().map(|cell| marked_down(&starred(cell))).collect::<Vec<_>>();
    let title = table.title.as_ref().map_or(String::new(), |title| format!("**{}**\n\n", marked_down(title)));
    // There is one line of heads only; the others are the first of the table.
    let (numbers, others) =
        table.heads.split_first().map_or((&[][..], &[][..]), |(first, others)| (&first[..], others));
    let rule = format!("|---|{}\n", "--:|".repeat(table.width()));
    let others: String = others.iter().map(|cells| line("", &plain(cells))).collect();
    let lines = table.body.iter().chain(&table.foot).map(|one| line(&marked_down(&one.label), &cells(one)));
    let notes = table.notes.iter().map(|note| format!("\n{}\n", marked_down(note)));
    format!(
        "{title}{}{rule}{others}{}{}",
        line("", &plain(numbers)),
        lines.collect::<String>(),
        notes.collect::<String>()
    )
}

fn marked_down(text: &str) -> String {
    let letter = |letter: char| match letter {
        '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '~' => format!("\\{letter}"),
        other => other.to_string(),
    };
    text.chars().map(letter).collect()
}

/// An estimate with its stars.
pub(super) fn starred(cell: &Cell) -> String {
    format!("{}{}", cell.text, "*".repeat(cell.stars))
}

/// An element of a page, without a style.
pub(super) fn html(table: &Table) -> String {
    let head = |cells: &Vec<String>| {
        let cells = cells.iter().map(|text| format!("<th scope=\"col\">{}</th>", escaped(text)));
        format!("<tr><td></td>{}</tr>\n", cells.collect::<String>())
    };
    let line = |line: &Line| {
        let cells = line.cells.iter().map(|cell| format!("<td>{}</td>", escaped(&starred(cell))));
        let label = match line.label.is_empty() {
            true => "<td></td>".to_owned(),
            false => format!("<th scope=\"row\">{}</th>", escaped(&line.label)),
        };
        format!("<tr>{label}{}</tr>\n", cells.collect::<String>())
    };
    let caption =
        table.title.as_ref().map_or(String::new(), |title| format!("<caption>{}</caption>\n", escaped(title)));
    let note = |note: &String| format!("<tr><td colspan=\"{}\">{}</td></tr>\n", table.width() + 1, escaped(note));
    format!(
        "<table>\n{caption}<thead>\n{}</thead>\n<tbody>\n{}</tbody>\n<tbody>\n{}</tbody>\n<tfoot>\n{}</tfoot>\n</table>\n",
        table.heads.iter().map(head).collect::<String>(),
        table.body.iter().map(line).collect::<String>(),
        table.foot.iter().map(line).collect::<String>(),
        table.notes.iter().map(note).collect::<String>(),
    )
}

/// Every line with as many fields, notes in the first of theirs.
pub(super) fn csv(table: &Table) -> String {
    let line = |label: &str, cells: &[String]| {
        let fields = std::iter::once(label).chain(cells.iter().map(String::as_str));
        fields.map(csv_field).collect::<Vec<_>>().join(",") + "\n"
    };
    let none = vec![String::new(); table.width()];
    let alone = |text: &String| line(text, &none);
    let lines = table.body.iter().chain(&table.foot);
    [
        table.title.iter().map(alone).collect::<String>(),
        table.heads.iter().map(|cells| line("", cells)).collect(),
        lines.map(|one| line(&one.label, &one.cells.iter().map(starred).collect::<Vec<_>>())).collect(),
        table.notes.iter().map(alone).collect(),
    ]
    .concat()
}
