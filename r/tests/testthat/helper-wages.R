# A small table of wages; some cells are missing.
wages_of <- function(rows = 3000) {
  set.seed(7)
  educ <- sample(8:20, rows, replace = TRUE)
  exper <- runif(rows, 0, 45)
  union <- runif(rows) < 0.3
  wage <- 4 + 1.1 * educ + 0.15 * exper + 2.5 * union + rnorm(rows, 0, 4)
  exper[seq_len(rows) %% 97 == 0] <- NA
  data.frame(
    id = seq_len(rows), wage = wage, educ = educ, exper = exper, union = ifelse(union, "yes", "no"),
    region = factor(sample(c("north", "south"), rows, replace = TRUE)), day = as.Date("2020-01-01") + seq_len(rows) %% 100
  )
}
wages <- wages_of()

wage_formula <- "wage[0..60] ~ educ[0..20] + exper[0..60] + union{no,yes}"

# Most tests fix a seed, and the warning about it has a test of its own.
fitted_wages <- function(data = wages, ..., formula = wage_formula, rho = 0.5, seed = 1) {
  suppressWarnings(dplm(formula, data, rho = rho, seed = seed, ...), classes = "dplm_warning")
}

# Documents that agree to the last bit; a difference would fill the screen.
expect_same <- function(one, other) expect_true(identical(trimws(one), trimws(other)), label = "the documents are the same")

# The command, where the tests are told of one.
command <- function(...) {
  program <- Sys.getenv("DPLM")
  if (program == "") skip("the environment variable DPLM does not name the dplm command")
  found <- suppressWarnings(system2(program, shQuote(c(...)), stdout = TRUE, stderr = FALSE))
  paste(found, collapse = "\n")
}

# A folder that is gone after the test.
temporary_folder <- function(env = parent.frame()) {
  folder <- tempfile("dplm")
  dir.create(folder)
  do.call(on.exit, list(substitute(unlink(folder, recursive = TRUE), list(folder = folder)), add = TRUE), envir = env)
  folder
}

wages_file <- function() {
  path <- file.path(tempdir(), "wages.csv")
  utils::write.csv(wages, path, row.names = FALSE)
  path
}
