test_that("a mistake is a condition of its kind, with the sentence of the command line", {
  expect_error(dplm("wage[0..60] ~ ", wages, rho = 1), class = "dplm_request_error")
  expect_error(dplm(wage_formula, wages), "budget", class = "dplm_request_error")
  expect_error(dplm(wage_formula, wages, rho = "much"), "rho must be a number", class = "dplm_request_error")
  expect_error(dplm(wage_formula, wages, rho = 1, level = NULL), "level must be a number", class = "dplm_request_error")
  expect_error(dplm(wage_formula, wages, rho = 1, device = "abacus"), "device must be one of", class = "dplm_request_error")
  expect_error(dplm(wage_formula, wages, rho = 1, family = "poisson"), "there is no private family for counts", class = "dplm_request_error")
  expect_error(dplm(wage_formula, wages, rho = 1, method = "wishart"), "runs in", class = "dplm_request_error")
  expect_error(dplm(wage_formula, wages, rho = 1, steps = 1.5), "steps must be a whole number", class = "dplm_request_error")
  expect_error(dplm(wage_formula, wages, rho = 1, method = "magic"), "auto, dpgd, adassp", class = "dplm_request_error")
  expect_error(dplm(wage_formula, wages, rho = 1, rows_per_person = 3), "person", class = "dplm_request_error")
  expect_error(dplm(wage_formula, wages, rho = 1, group_sizes = c(a = 3)), "by", class = "dplm_request_error")
  expect_error(dplm(wage_formula, wages, rho = 1, ledger = "a.db"), "dataset", class = "dplm_request_error")
  expect_error(dplm(wage_formula, wages, rho = 1, ledger = tempfile(), dataset = "a"), class = "dplm_ledger_error")
  expect_error(confint(fitted_wages(), level = 2), class = "dplm_error")
  expect_error(confint(fitted_wages(), level = "high"), "level must be a number", class = "dplm_request_error")
  expect_error(dplm("wage ~ educ", wages, rho = 1), "add standardised = TRUE", class = "dplm_request_error", fixed = TRUE)
  expect_error(dplm(wage_formula, wages, rho = 1, interval = "batched", target = "population"), "ask for target = \"sample\"", class = "dplm_request_error", fixed = TRUE)
  refused <- tryCatch(dplm(wage_formula, wages, rho = -1), error = identity)
  expect_null(conditionCall(refused))
})

test_that("a seed warns, and what a reader should know does", {
  expect_warning(suppressWarnings(dplm(wage_formula, wages, rho = 0.5, seed = 1), classes = "dplm_fit_warning"), class = "dplm_privacy_warning")
  expect_warning(suppressWarnings(dplm(wage_formula, wages, rho = 0.0005, seed = 1), classes = "dplm_privacy_warning"), "left out|without them", class = "dplm_fit_warning") |>
    suppressWarnings(classes = "dplm_fit_warning")
  caught <- tryCatch(dplm(wage_formula, wages, rho = 0.5, seed = 1), warning = identity)
  expect_s3_class(caught$fit, "dplm")
  old <- options(warn = 2)
  on.exit(options(old))
  expect_s3_class(suppressMessages(dplm(wage_formula, wages, rho = 0.5, seed = 1)), "dplm")
})

test_that("an error of the progress function ends the fit, and is its own", {
  long <- data.frame(y = rnorm(2e5), x = rnorm(2e5))
  slow <- function(progress) dplm("y ~ x", long, rho = 1, method = "dpgd", clip = 0.1, steps = 300000, threads = 1, progress = progress)
  expect_error(suppressWarnings(slow(function(stage, done, total) stop("enough"))), "enough")
  heard <- character()
  try(suppressWarnings(slow(function(stage, done, total) {
    heard <<- c(heard, stage)
    if (stage == "fitting") stop("enough")
  })), silent = TRUE)
  expect_true("fitting" %in% heard)
})

test_that("an interrupt stops the fit, and says what it cost", {
  skip_on_os("windows")
  code <- '
    library(dplm)
    long <- data.frame(y = rnorm(2e5), x = rnorm(2e5))
    interrupted <- FALSE
    # R itself is told of the signal, in the middle of the fit.
    signal <- function(stage, done, total) if (stage == "fitting" && !interrupted) {
      interrupted <<- TRUE
      tools::pskill(Sys.getpid(), tools::SIGINT)
    }
    told <- tryCatch(
      dplm("y ~ x", long, rho = 1, method = "dpgd", clip = 0.1, steps = 200000, threads = 1, progress = signal),
      interrupt = function(e) conditionMessage(e)
    )
    cat("TOLD:", if (is.character(told)) told)
  '
  path <- tempfile(fileext = ".R")
  on.exit(unlink(path))
  writeLines(code, path)
  started <- proc.time()[["elapsed"]]
  out <- suppressWarnings(system2(file.path(R.home("bin"), "Rscript"), path, stdout = TRUE, stderr = TRUE))
  expect_match(paste(out, collapse = "\n"), "TOLD: interrupted before the fit was finished; rho = 1 counts as spent", fixed = TRUE)
})

test_that("progress is a bar that goes away", {
  bar <- dplm:::bar(patience = 0, width = 10)
  drawn <- capture.output(type = "message", {
    bar$tell("reading", 5, 10)
    bar$close()
  })
  expect_match(paste(drawn, collapse = ""), "reading  [=====     ]  50 %", fixed = TRUE)
})
