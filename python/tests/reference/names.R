# The names that R gives to the coefficients of formulas: one formula a line on standard input,
# without bounds and levels, and on standard output the formula and its coefficients, separated by
# tabs. Where R is installed, the tests run it and compare with names.tsv.
suppressPackageStartupMessages(library(splines))

# Any rows will do: names depend on the types and levels of columns alone.
rows <- 400
set.seed(1)
level <- function(...) factor(sample(c(...), rows, replace = TRUE), levels = c(...))
people <- data.frame(
    wage = runif(rows, 1, 100), hours = runif(rows, 5, 80), educ = runif(rows, 0, 20), exper = runif(rows, 0, 60),
    tenure = runif(rows, 0, 40), day = as.Date("2020-01-01") + sample(365, rows, replace = TRUE), member = runif(rows, 0, 1),
    union = level("no", "yes"), female = level("false", "true"), region = level("north", "south", "east"),
    sector = level("public", "private", "*")
)

cat("# ", R.version.string, "\n", sep = "")
formulas <- file("stdin")
for (text in readLines(formulas)) {
    matrix <- model.matrix(as.formula(text), people)
    cat(text, colnames(matrix), sep = "\t")
    cat("\n")
}
close(formulas)
