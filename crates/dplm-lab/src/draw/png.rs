//! PNG from SVG, with the font built in.

use std::sync::{Arc, OnceLock};

use resvg::{
    tiny_skia::{Pixmap, Transform},
    usvg::{Options, Tree, fontdb::Database},
};

use crate::LabError;

/// Pixels for each point.
const SCALE: f32 = 2.0;

/// The picture of an SVG, twice as many pixels across as it has points.
///
/// # Errors
/// When the text is not SVG.
pub fn png(name: &str, svg: &str) -> Result<Vec<u8>, LabError> {
    let wrong = |reason: String| LabError::Draw { name: name.to_owned(), reason };
    let options = Options { fontdb: fonts(), font_family: "DejaVu Sans".to_owned(), ..Options::default() };
    let tree = Tree::from_str(svg, &options).map_err(|error| wrong(error.to_string()))?;
    let size = tree.size().to_int_size().scale_by(SCALE).ok_or_else(|| wrong("it has no size".to_owned()))?;
    let mut picture = Pixmap::new(size.width(), size.height()).ok_or_else(|| wrong("it has no size".to_owned()))?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut picture.as_mut());
    picture.encode_png().map_err(|error| wrong(error.to_string()))
}

/// How many pixels of a picture have this colour, written as `#0072B2`; edges that are blended do
/// not.
#[cfg(test)]
pub fn pixels_of(png: &[u8], colour: &str) -> usize {
    let [_, red, green, blue] = u32::from_str_radix(&colour[1..], 16).expect("a colour").to_be_bytes();
    let picture = Pixmap::decode_png(png).expect("a picture");
    let is_it = |pixel: &&resvg::tiny_skia::PremultipliedColorU8| {
        (pixel.red(), pixel.green(), pixel.blue(), pixel.alpha()) == (red, green, blue, u8::MAX)
    };
    picture.pixels().iter().filter(is_it).count()
}

/// Only the built-in font, so that pictures do not depend on the machine.
fn fonts() -> Arc<Database> {
    static FONTS: OnceLock<Arc<Database>> = OnceLock::new();
    FONTS
        .get_or_init(|| {
            let mut fonts = Database::new();
            fonts.load_font_data(dejavu::sans::regular().to_vec());
            fonts.load_font_data(dejavu::sans::bold().to_vec());
            fonts.set_sans_serif_family("DejaVu Sans");
            Arc::new(fonts)
        })
        .clone()
}
