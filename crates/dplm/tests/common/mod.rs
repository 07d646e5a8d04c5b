//! Shared by the integration tests: small data sets and their rows.
#![allow(dead_code, reason = "each test file uses its own part of this")]

pub mod cluster;

use std::sync::Arc;

use dplm::{
    formula::{Column, Formula, Kind, Model},
    lattice::{Clip, ClippedOuter, Design, Ladder, Lattice, Outer, Theta},
    privacy::{Neighbours, Person, Sensitive},
    rows::{Builder, CustomQuery, Encoded, MemoryBuilder, Persons, Rows, Shape, Term, Together},
    table::{Block, Cells, Field, Schema, Type},
};
use dplm_cluster::{BlockId, Packer, pack};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};
use rand_distr::{Distribution, StandardNormal};

use self::cluster::Cluster;

/// A data set in the clear, row by row.
#[derive(Clone)]
pub struct Data {
    pub x: Vec<Vec<f64>>,
    pub y: Vec<f64>,
}

impl Data {
    /// The paper's generative setting with `theta*` along the diagonal and unit error.
    pub fn isotropic(rows: usize, features: usize, seed: u64) -> Data {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        let x: Vec<Vec<f64>> = (0..rows).map(|_| (0..features).map(|_| normal()).collect()).collect();
        let slope = 1.0 / (features as f64).sqrt();
        let y = x.iter().map(|row| slope * row.iter().sum::<f64>() + normal()).collect();
        Data { x, y }
    }

    /// The same setting with columns in pairs of correlation `r`, and slopes of opposite signs.
    pub fn in_pairs(rows: usize, features: usize, r: f64, seed: u64) -> Data {
        let mut data = Data::isotropic(rows, features, seed);
        let slope = 1.0 / (features as f64).sqrt();
        for (row, y) in data.x.iter_mut().zip(&mut data.y) {
            let error = *y - slope * row.iter().sum::<f64>();
            row.chunks_exact_mut(2).for_each(|pair| pair[1] = r * pair[0] + (1.0 - r * r).sqrt() * pair[1]);
            *y = error + slope * row.chunks_exact(2).map(|pair| pair[0] - pair[1]).sum::<f64>();
        }
        data
    }

    /// The same data with cells already on the lattice, so that encoding loses nothing.
    pub fn on_lattice(mut self) -> Data {
        let round = |value: &mut f64| *value = (*value * 4096.0).round() / 4096.0;
        self.x.iter_mut().flatten().for_each(round);
        self.y.iter_mut().for_each(round);
        self
    }

    pub fn features(&self) -> usize {
        self.x.first().map_or(0, Vec::len)
    }

    /// As the table would give it: the response first.
    pub fn block(&self) -> Block {
        let column = |j: usize| Cells::Numbers(self.x.iter().map(|row| row[j]).collect());
        let mut columns = vec![Cells::Numbers(self.y.clone())];
        columns.extend((0..self.features()).map(column));
        Block { rows: self.y.len(), columns }
    }

    pub fn rows(&self) -> Encoded {
        let design = standard_design(self.features());
        let mut builder = MemoryBuilder::new(&design);
        builder.push(&self.block());
        builder.finish()
    }

    /// The same rows in a scratch file.
    pub fn in_a_file(&self) -> Encoded {
        self.within(1)
    }

    /// The same rows within `memory` bytes.
    pub fn within(&self, memory: u64) -> Encoded {
        let design = standard_design(self.features());
        let mut builder = Builder::new(&design, Some(memory));
        builder.push(&self.block()).unwrap();
        builder.finish().unwrap()
    }

    /// The same rows packed into blocks of `rows_in_block` rows, of which `blocks_in_answer` answer
    /// together.
    pub fn on_a_cluster(&self, rows_in_block: usize, blocks_in_answer: usize) -> Encoded {
        let cluster = Cluster { blocks_in_answer, ..Cluster::new(self.packed(rows_in_block)) };
        dplm_cluster::open(Arc::new(cluster), self.features(), None, None).unwrap()
    }

    /// Blocks of packed rows, `rows_in_block` in each.
    pub fn packed(&self, rows_in_block: usize) -> Vec<Vec<u8>> {
        let (design, all) = (standard_design(self.features()), self.y.len());
        let part = |start: usize| {
            let end = all.min(start + rows_in_block);
            Data { x: self.x[start..end].to_vec(), y: self.y[start..end].to_vec() }.block()
        };
        let starts = (0..all).step_by(rows_in_block);
        (0..).zip(starts).map(|(place, start)| pack(&part(start), &design, BlockId::new(3, place))).collect()
    }

    /// The same rows by person, each with at most `most` rows; row `i` is of person `persons[i]`.
    pub fn by_person(&self, persons: &[u32], most: u32, memory: u64) -> Encoded {
        let mut of_rows = Persons::new();
        of_rows.push(persons).unwrap();
        self.within(memory).by_person(&of_rows, most, Together::default()).unwrap()
    }

    /// The same less the means of each person.
    pub fn within_persons(&self, persons: &[u32], most: u32, memory: u64) -> Encoded {
        let design = within_design(self.features());
        let (as_read, person) = (design.as_read(), Person::new("person"));
        let mut builder = Builder::new(&as_read, Some(memory));
        builder.push(&self.block()).unwrap();
        let mut of_rows = Persons::new();
        of_rows.push(persons).unwrap();
        builder.finish().unwrap().by_person(&of_rows, most, Together::of(&person, &design)).unwrap()
    }

    /// The same on a cluster, in three parts that are packed a few rows at a time;
    /// `blocks_in_answer` blocks answer together.
    pub fn persons_on_a_cluster(&self, persons: &[u32], most: u32, blocks_in_answer: usize) -> Encoded {
        self.on_a_cluster_by(&standard_design(self.features()), persons, most, blocks_in_answer)
    }

    /// The same by another design.
    pub fn on_a_cluster_by(&self, design: &Design, persons: &[u32], most: u32, blocks_in_answer: usize) -> Encoded {
        let cluster = Cluster { blocks_in_answer, ..self.cluster_by(design, persons, most) };
        dplm_cluster::open(Arc::new(cluster), self.features(), Some(most), None).unwrap()
    }

    /// The same before it is opened.
    pub fn cluster_by(&self, design: &Design, persons: &[u32], most: u32) -> Cluster {
        let mut order: Vec<usize> = (0..persons.len()).collect();
        order.sort_by_key(|&row| persons[row]);
        let person = Person { rows: Some(most), ..Person::new("person") };
        let mut blocks = Vec::new();
        for part in 0..3 {
            let rows: Vec<usize> = order.iter().copied().filter(|&row| persons[row] % 3 == part).collect();
            let mut packer = Packer::new(design.clone(), part, None, Some(&person)).unwrap();
            for rows in rows.chunks(7) {
                let some = Data {
                    x: rows.iter().map(|&row| self.x[row].clone()).collect(),
                    y: rows.iter().map(|&row| self.y[row]).collect(),
                };
                let of_rows: Vec<u128> = rows.iter().map(|&row| persons[row].into()).collect();
                packer.push(some.block(), Some(&of_rows)).unwrap();
            }
            blocks.extend(packer.finish().into_iter().map(|block| block.bytes));
        }
        Cluster::new(blocks)
    }

    /// Row `i` replaced by row `j` of `other`.
    pub fn replaced(&self, i: usize, other: &Data, j: usize) -> Data {
        let mut copy = self.clone();
        copy.x[i].clone_from(&other.x[j]);
        copy.y[i] = other.y[j];
        copy
    }
}

/// `y ~ x0 + x1 + ... + 0`, every column standard.
pub fn standard_model(features: usize) -> Model {
    let column = |name: String| Column { name, kind: Kind::Standard };
    Model::of_columns(column("y".into()), (0..features).map(|j| column(format!("x{j}"))).collect(), false)
}

pub fn standard_design(features: usize) -> Design {
    Design::new(&standard_model(features))
}

/// `y ~ x0 + x1 + ... | person`.
pub fn within_design(features: usize) -> Design {
    let names: Vec<String> = (0..features).map(|j| format!("x{j}")).collect();
    let formula = Formula::parse(&format!("y ~ {} | person", names.join(" + "))).unwrap();
    let fields = ["y"].into_iter().chain(names.iter().map(String::as_str)).chain(["person"]);
    let schema = Schema::new(fields.map(|name| Field::new(name, Type::Undeclared)).collect());
    Design::new(&formula.resolve(&schema).unwrap())
}

/// A query without its noise.
pub fn values(query: Sensitive) -> Vec<i128> {
    query.into_not_private().into_inner().values
}

pub fn gradient_sum(rows: &mut dyn Rows, clip: Clip, theta: &Theta, lattice: &Lattice) -> Vec<i128> {
    let mut rows = rows.clipped(clip, None).unwrap();
    values(rows.negative_gradient_sum(theta, lattice, Neighbours::ReplaceOne).unwrap())
}

pub fn square_sum(rows: &mut dyn Rows, clip: Clip, theta: &Theta, lattice: &Lattice) -> Vec<i128> {
    values(rows.clipped(clip, None).unwrap().square_sum(theta, lattice, Neighbours::ReplaceOne).unwrap())
}

pub fn clipped_count(rows: &mut dyn Rows, clip: Clip, theta: &Theta, lattice: &Lattice) -> u64 {
    rows.clipped(clip, None).unwrap().clipped_count(theta, lattice).unwrap().into_inner()
}

/// The upper triangle, column by column, under a clip.
pub fn clipped_outer_sum(rows: &mut dyn Rows, clip: Clip, outer: &ClippedOuter<'_>) -> Vec<i128> {
    let rows = rows.clipped(clip, None).unwrap();
    values(rows.outer_sum(outer, Neighbours::ReplaceOne).unwrap().into_matrix())
}

/// The upper triangle, column by column.
pub fn outer_sum(rows: &dyn Rows, outer: &Outer<'_>) -> Vec<i128> {
    values(rows.outer_sum(outer, Neighbours::ReplaceOne).unwrap().into_matrix())
}

pub fn tail_counts(rows: &dyn Rows, ladder: &Ladder<'_>) -> Vec<i128> {
    let counts = rows.tail_counts(ladder, Neighbours::ReplaceOne).unwrap();
    (0..counts.len()).flat_map(|threshold| values(counts.above(threshold))).collect()
}

/// Terms of a query of another crate, many of them of another shape than it says: too long by one,
/// negative, with a place twice, or beyond the sum.
pub struct Hostile {
    pub shape: Shape,
}

impl Hostile {
    fn most(&self) -> i64 {
        let (Shape::Vector { norm: most } | Shape::Nonnegative { norm: most } | Shape::Number { most }) = self.shape;
        most as i64
    }
}

impl CustomQuery for Hostile {
    fn len(&self, features: usize) -> usize {
        if matches!(self.shape, Shape::Number { .. }) { 1 } else { features + 1 }
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn term(&self, row: &[i64], term: &mut Term) {
        assert!(row.iter().any(|cell| *cell != 0), "rows of zeros are not asked about");
        let (most, hash) =
            (self.most(), row.iter().fold(7u64, |hash, cell| hash.wrapping_mul(31) ^ cell.unsigned_abs()));
        let place = if matches!(self.shape, Shape::Number { .. }) { 0 } else { hash as usize / 16 % row.len() };
        match hash % 12 {
            0..4 => term.push((place, most)),
            4..6 => term.push((place, -most)),
            6 => term.push((place, most + 1)),
            7 => term.push((place, i64::MIN)),
            8 => term.extend([(place, most), (place, most)]),
            9 => term.push((row.len(), most)),
            10 => term.extend((0..row.len()).rev().map(|place| (place, most))),
            _ => term.extend(row.iter().copied().enumerate()),
        }
    }
}

/// The three shapes of terms, with this for their largest number.
pub fn hostile(most: u64) -> [Hostile; 3] {
    let most = u128::from(most);
    [Shape::Vector { norm: most }, Shape::Nonnegative { norm: most }, Shape::Number { most }]
        .map(|shape| Hostile { shape })
}
