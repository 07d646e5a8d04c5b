"""What the tests share that is not a fixture."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FORMULA = "wage[0..60] ~ educ[0..20] + exper[0..45] + union{no,yes}"
