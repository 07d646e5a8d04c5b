//! Simulated data and experiments.
