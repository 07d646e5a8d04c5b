# What is said of spending is what the ledger has recorded, however a fit ends.

# What a child of R prints, which runs this code.
from_child <- function(code, ...) {
  path <- tempfile(fileext = ".R")
  on.exit(unlink(path))
  writeLines(code, path)
  program <- file.path(R.home("bin"), "Rscript")
  suppressWarnings(system2(program, shQuote(c(path, ...)), stdout = TRUE, stderr = FALSE))
}

# What a sentence says was spent, and NA where it does not say so.
spent_in <- function(sentence) {
  recorded <- "the ledger has recorded rho = ([0-9.]+) as spent$"
  if (grepl("; nothing was spent$", sentence)) return(0)
  if (!grepl(recorded, sentence)) return(NA_real_)
  as.numeric(sub(paste0("^.*", recorded), "\\1", sentence))
}

interrupted_fits <- '
  library(dplm)
  file <- commandArgs(TRUE)
  ledger <- dplm_ledger_init(file, "measured", rho = 0.5)
  # A file of several hundred thousand rows takes some time to read.
  rows <- paste0(file, ".csv")
  cells <- matrix(sprintf("%.3f", rnorm(1.2e6)), ncol = 3)
  writeLines(c("y,x,z", paste(cells[, 1], cells[, 2], cells[, 3], sep = ",")), rows)
  fit <- function(name) suppressWarnings(dplm("y ~ x + z", rows, rho = 0.5, standardised = TRUE, method = "dpgd",
    clip = 0.1, steps = 10000, threads = 1, ledger = ledger, dataset = name, progress = TRUE))
  lasts <- system.time(fit("measured"))[["elapsed"]]
  # Half of them about when rows are read and the ledger pays.
  for (delay in c(seq(0.01, 0.3, length.out = 7), seq(0.35, 1.1, length.out = 7)) * lasts) {
    name <- sprintf("after %g", delay)
    dplm_ledger_init(file, name, rho = 0.5)
    waits <- TRUE
    told <- tryCatch({
      system(sprintf("(sleep %g; kill -INT %d) > /dev/null 2>&1 &", delay, Sys.getpid()))
      fit(name)
      "finished"
    }, interrupt = function(e) {
      waits <<- FALSE
      if (inherits(e, "dplm_interrupt")) conditionMessage(e) else "interrupted outside of the fit"
    })
    # The signal comes for a fit that was finished before it as well.
    if (waits) tryCatch(Sys.sleep(60), interrupt = identity)
    cat("TOLD|", told, "|", dplm_ledger_show(ledger, name)$spent, "\\n", sep = "")
  }
'

test_that("an interrupt at any moment says what the ledger has recorded", {
  skip_on_os("windows")
  out <- from_child(interrupted_fits, file.path(temporary_folder(), "budget.db"))
  found <- do.call(rbind, strsplit(grep("^TOLD", out, value = TRUE), "|", fixed = TRUE))
  expect_identical(nrow(found), 14L)
  told <- found[, 2]
  said <- vapply(told, spent_in, 0, USE.NAMES = FALSE)
  said[told == "finished"] <- 0.5
  said[told == "interrupted outside of the fit"] <- 0
  # R reads 0.00000013 and 1.3e-07 as numbers that may differ in the last bit.
  expect_identical(signif(said, 12), signif(as.numeric(found[, 3]), 12))
  expect_true(any(grepl("^interrupted before the fit was finished; the ledger has recorded", told)))
})

test_that("an interrupt before the ledger paid spends nothing, and says so", {
  skip_on_os("windows")
  code <- '
    library(dplm)
    file <- commandArgs(TRUE)
    ledger <- dplm_ledger_init(file, "long", rho = 1)
    # Rows enough to be read for longer than an interrupt takes to be heard.
    rows <- paste0(file, ".csv")
    writeLines(c("y,x", rep(sprintf("%.3f,%.3f", rnorm(1e5), rnorm(1e5)), 50)), rows)
    signal <- function(stage, done, total) suspendInterrupts({
      if (stage == "reading") tools::pskill(Sys.getpid(), tools::SIGINT)
    })
    told <- tryCatch(
      dplm("y ~ x", rows, rho = 1, standardised = TRUE, method = "dpgd", clip = 0.1, threads = 1, ledger = ledger,
        dataset = "long", progress = signal),
      dplm_interrupt = function(e) conditionMessage(e)
    )
    cat("TOLD|", told, "|", dplm_ledger_show(ledger, "long")$spent, "\\n", sep = "")
  '
  out <- from_child(code, file.path(temporary_folder(), "budget.db"))
  expect_true("TOLD|interrupted while the rows were being read; nothing was spent|0" %in% out)
})

test_that("an interrupt after the fit was made says what it spent", {
  lost <- tryCatch(
    dplm:::telling_what_was_spent("rho = 1 counts as spent", stop(structure(
      list(message = "", call = NULL),
      class = c("interrupt", "condition")
    ))),
    dplm_interrupt = identity
  )
  expect_identical(conditionMessage(lost), "interrupted before the fit was finished; rho = 1 counts as spent")
})

test_that("a fit that its own progress function ended says what was spent", {
  ledger <- dplm_ledger_init(file.path(temporary_folder(), "budget.db"), "long", rho = 1)
  long <- data.frame(y = rnorm(4e5), x = rnorm(4e5))
  ended <- function(stage, done, total) if (stage == "fitting") stop("enough")
  said <- capture.output(type = "message", {
    expect_error(suppressWarnings(dplm("y ~ x", long, rho = 1,
      standardised = TRUE, method = "dpgd", clip = 0.1, steps = 200000,
      threads = 1, ledger = ledger, dataset = "long", progress = ended
    )), "^enough$")
  })
  told <- grep("^the fit was ended by its progress function; ", said, value = TRUE)
  expect_identical(spent_in(told), dplm_ledger_show(ledger, "long")$spent)
})

# Empties the scratch file in which the rows of a fit are: it has no name.
cut_scratch_file <- function(folder) {
  opened <- list.files("/proc/self/fd", full.names = TRUE)
  named <- Sys.readlink(opened)
  scratch <- opened[which(startsWith(named, folder) & endsWith(named, "(deleted)"))]
  for (one in scratch) close(file(one, "wb"))
  length(scratch) > 0
}

test_that("an error after the ledger paid is of the fit, and says what was spent", {
  skip_if_not(dir.exists("/proc/self/fd"), "finds the scratch file in /proc")
  folder <- normalizePath(temporary_folder())
  old <- Sys.getenv("TMPDIR")
  on.exit(if (nzchar(old)) Sys.setenv(TMPDIR = old) else Sys.unsetenv("TMPDIR"), add = TRUE)
  Sys.setenv(TMPDIR = folder)
  ledger <- dplm_ledger_init(file.path(folder, "budget.db"), "rows", rho = 100)
  rows <- data.frame(y = rnorm(1.5e6), x = rnorm(1.5e6))
  cut <- function(stage, done, total) if (stage == "fitting") cut_scratch_file(folder)
  failed <- tryCatch(
    dplm("y ~ x", rows, rho = 50, standardised = TRUE, method = "dpgd", clip = 0.1, steps = 200, threads = 1, memory = 2^20,
      ledger = ledger, dataset = "rows", progress = cut),
    dplm_error = identity
  )
  expect_s3_class(failed, "dplm_fit_error")
  expect_identical(spent_in(conditionMessage(failed)), dplm_ledger_show(ledger, "rows")$spent)
  expect_gt(spent_in(conditionMessage(failed)), 0)
})

test_that("a group that was not fitted does not say that nothing was spent", {
  ledger <- dplm_ledger_init(file.path(temporary_folder(), "budget.db"), "wages", rho = 1)
  fit <- suppressWarnings(dplm("wage[0..60] ~ educ[0..20]", wages, rho = 0.5, by = "region{north,south,east}",
    group_sizes = c(north = sum(wages$region == "north"), south = sum(wages$region == "south"), east = 0),
    ledger = ledger, dataset = "wages"
  ))
  expect_identical(names(fit$not_fitted), "east")
  expect_false(grepl("nothing was spent", paste(fit$not_fitted, fit$json, collapse = "\n")))
  expect_identical(dplm_ledger_show(ledger, "wages")$spent, 0.5)
})
